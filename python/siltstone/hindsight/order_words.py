"""How text gives orders to a model that reads it, English and Chinese: patterns, and the words they need."""

import re

_RULES = (
    r"(?:instruction|prompt|rule|guideline|direction|directive|command|polic(?:y|ie)|message"
    r"|order|guardrail)s?"
)
_VAGUE = (
    r"(?:guidance|context|constraint|restriction|training|conversation|text|content|programming"
    r"|limit|limitation)s?"
)
_BEFORE = r"(?:prior|previous|earlier|preceding|above|existing|original|initial)"
_OF = (
    r"(?:\s+(?:all|any|every|everything|the|your|my|of|these|those|above|prior|previous|earlier|preceding"
    r"|existing|original|initial|system|safety|developer'?s?)){1,5}"
)
_DROP = (
    r"(?<!n't )(?<!not )(?<!never )\b(?:ignore|disregard|forget|override|bypass|pay no attention to"
    r"|stop following)\b"
)
_YOU_WERE = (
    r"(?:you(?:'ve| have)? (?:were|was|been|are)|(?:i|we|they|the (?:user"
    r"|system|developer)) )"
)
_TOLD = r"\b[^.\n]{0,24}\b(?:told|said|say|instructed|given|asked|taught|learned|know|wrote)\b"
_WHO = (
    r"(?:system|developer|admin(?:istrator)?)(?: (?:prompt|message|override|note|notice|alert"
    r"|instruction|command))?s?"
)
_NOW_DO = (
    r"(?:you (?:must|should|shall|will|are|have to|need to)|ignore|disregard|forget|override"
    r"|from now|always|never"
    r"|do (?:not )?|stop|execute|send|delete|reply|respond)\b"
)

ORDERS: list[tuple[tuple[str, ...], re.Pattern[str]]] = [
    # "ignore all previous instructions", "disregard prior guidance", "forget what you were told before"
    (
        ("ignore", "disregard", "forget", "override", "bypass", "attention", "follow", "obey"),
        re.compile(
            rf"{_DROP}{_OF}\s+{_RULES}\b|{_DROP}(?:\s+(?:all|any|the|your|of|my)){{0,3}}"
            rf"\s+{_BEFORE}\s+{_VAGUE}\b"
            rf"|{_DROP}(?:\s+(?:all|any|the|your))?\s+(?:{_RULES}|{_VAGUE})\s+(?:above|before this"
            rf"|given|you (?:were|have))"
            rf"|{_DROP} (?:everything|all|anything) (?:above|before|so far|you (?:were|have been))"
            rf"|{_DROP} (?:everything|anything|all|whatever|what)(?: that)? "
            rf"(?:you (?:know|learned|read)\b|{_YOU_WERE}{_TOLD})"
            r"|\b(?:do not|don't) (?:follow|obey) (?:any |all |the |your )*(?:prior|previous|earlier"
            r"|original|system)\b",
            re.IGNORECASE,
        ),
    ),
    # a new role, or a false system message
    (
        (
            *("you are n", "instruction", "prompt", "your new", "your real", "your actual", "your true"),
            *("system", "developer", "im_start", "im_end", "inst]"),
        ),
        re.compile(
            r"\byou are now (?:an?|in|the|my)\b.{0,60}\b(?:mode|assistant|agent|admin\w*|root"
            r"|unrestricted|DAN)\b"
            r"|\byou are no longer (?:an?|bound|the|required|restricted)\b"
            r"|\b(?:new|updated|real|secret|hidden) (?:system )?(?:instructions?|prompt) ?(?::"
            r"|follow|are\b)"
            r"|\byour (?:new|real|actual|true) (?:task|goal|objective|instructions?|purpose|mission"
            r"|role) (?::|(?:is|are) (?:now|to)\b)"
            r"|<\|?(?:im_start|im_end|system|endofprompt)\|?>|\[/?INST\]|</?(?:system|instructions?)>"
            r"|^\s*(?:#+\s*)?(?:system|developer) ?(?:prompt|message|override)? ?:\s*(?:you|ignore"
            r"|from now|do )",
            re.IGNORECASE | re.MULTILINE,
        ),
    ),
    (
        ("system", "developer", "admin"),
        # in the middle of a line only in capitals or brackets: "the file system: you must mount it"
        re.compile(
            rf"(?:\b(?-i:SYSTEM|DEVELOPER|ADMIN(?:ISTRATOR)?)(?: (?:prompt|message|override|note"
            rf"|notice|alert"
            rf"|instruction|command))?s?|[\[(<*]{{1,2}}{_WHO}[\])>*]{{0,2}})\s*[:：\])>*]+\s*[*\"']*"
            rf"(?:important[:,]? )?{_NOW_DO}"
            r"|\b(?:system|developer) ?(?:prompt|message|override)?\s*[:：]\s*(?:you (?:must"
            r"|will) now|you are now"
            r"|(?:ignore|disregard|forget) (?:all|any|the|your|every|prev|prior|what))",
            re.IGNORECASE,
        ),
    ),
    # orders to a model by name, secrecy, exfiltration
    (
        (
            *("tell ", "inform ", "mention ", "reveal", "alert ", "llm", "language model", "prompt"),
            *("instructions", "secret key", " ai ", "ai agent", "ai assist", "ai model", "ais ", "ai must"),
        ),
        re.compile(
            r"\b(?:do not|don't|never) (?:tell|inform|mention (?:this|it) to|reveal (?:this|it) to|alert) "
            r"(?:the )?(?:user|human|operator|anyone)\b"
            r"|\b(?:AI|LLM|language model)s?(?: (?:agent|assistant|model)s?)?\b[^.\n]{0,40}"
            r"\b(?:must|should now|shall|are (?:required|instructed|ordered) to)\b"
            r"|\b(?:print|reveal|output|send|repeat|leak|show)\b[^.\n]{0,30}\b(?:your|the) "
            r"(?:system prompt|hidden prompt|initial instructions|secret keys?)\b",
            re.IGNORECASE,
        ),
    ),
    (
        ("memory", "memories"),
        re.compile(
            r"\b(?:store|save|write|remember|record)\b[^.\n]{0,30}\b(?:in|into|to) your "
            r"(?:long-?term )?memor(?:y|ies)\b",
            re.IGNORECASE,
        ),
    ),
    (
        (
            "忽略",
            "无视",
            "忘",
            "抛",
            "理会",
            "绕过",
            "别管",
            "不要管",
            "推翻",
            "遵守",
            "遵循",
            "听从",
            "执行",
        ),
        re.compile(
            r"(?:忽略|无视|忘记|忘掉|抛开|抛弃|不要理会|不用理会|不必理会|绕过|推翻)[^。；\n]{0,12}"
            r"(?:指令|指示|规则|提示词?|要求|限制|设定|命令)"
            r"|(?:忽略|无视|忘记|忘掉|忘了|抛开|抛弃|不要理会|不用理会|不必理会|不要管|别管|推翻)"
            r"(?:掉|了)?[^。；，\n]{0,4}"
            r"(?:之前|以前|先前|此前|上面|上述|以上|前面|一切|所有|全部|原有|原来|原先|现有|任何|系统)[^。；\n]{0,10}"
            r"(?:规定|规矩|约定|条款|内容|话|设置|说明|指导|准则|政策|约束|安排|对话|原则|告诫)"
            r"|(?:不要|不必|无需|不用|别|停止)再?(?:遵守|遵循|听从|服从|执行)[^。；，\n]{0,4}"
            r"(?:之前|以前|先前|上面|上述|以上|前面|原来|原先|任何|用户|系统)"
        ),
    ),
    (
        ("指令", "指示", "提示", "现在", "记忆", "系统", "告诉", "告知", "通知", "让", "你必须", "你要"),
        re.compile(
            r"(?:新的?|真正的|隐藏的?)(?:系统)?(?:指令|指示|提示词)(?:如下|是|：|:)"
            r"|(?:从现在(?:开始|起)|现在起)[，,]?你(?:就)?(?:是|将|必须|要)|你现在是[^。\n]{0,20}(?:模式|助手|管理员)"
            r"|(?:不要|别|不得)(?:告诉|告知|通知|让)(?:用户|使用者|人类|操作员)"
            r"|(?:输出|泄露|打印|透露|发送)[^。\n]{0,8}系统提示词?"
            r"|(?:存入|写入|记入|保存到)(?:你的)?(?:长期)?记忆"
            r"|系统(?:消息|指令|命令|通知)?\s*[:：]\s*(?:你(?:必须|现在|要|应当?|将)|请?(?:忽略|无视|忘记))"
            r"|你(?:现在|接下来)?必须(?:立即|马上|立刻|无条件)(?:地)?(?:执行|运行|发送|删除|服从|听从|遵守|把|将)"
        ),
    ),
]
_DOES = (
    r"(?:you (?:must|should|shall|will|are|have to|need to|may)|always|never|only|every|all (?:your"
    r"|future|replies|answers)"
    r"|whenever|any time|do not|don't|must|ignore|treat|respond|reply|answer|act|send|add|include|your"
    r"|the (?:agent|assistant|model|ai)\b)"
)
# For all that is to come. A person may well say so, too: see `instruction_like`.
STANDING: list[tuple[tuple[str, ...], re.Pattern[str]]] = [
    (
        (
            *("from now on", "henceforth", "going forward", "from this point", "from this moment"),
            *("from here on", "future", "subsequent"),
        ),
        re.compile(
            r"\b(?:from now on|henceforth|going forward|from this (?:point|moment)(?: on(?:wards?)?"
            r"| forward)?|from here on)"
            rf"[,:]?\s+(?:please\s+)?{_DOES}"
            r"|\b(?:always|never|must)\b[^.\n]{0,60}\bin (?:all|any|every) (?:future|subsequent) "
            r"(?:responses?|repl(?:y|ies)|conversations?|tasks?|answers?|sessions?|runs?)\b",
            re.IGNORECASE,
        ),
    ),
    (
        ("以后", "今后", "从此", "往后", "此后", "从现在", "从今", "记住", "牢记"),
        re.compile(
            r"(?:从今(?:天)?(?:以后|起|往后)|从此(?:以后)?|从现在(?:开始|起)|今后|以后|往后|此后)[，,]?[^。；\n]{0,10}?"
            r"(?:一律|永远|始终|总是|每次都|务必都?|不得再|只准|凡是)"
            r"|(?:记住|牢记|记下|遵守)[^。；，\n]{0,4}(?:这[条个些一]|此|该|以下|下面|下列)[^。；，\n]{0,4}(?:规则|指令|规定|命令|原则)"
        ),
    ),
]
