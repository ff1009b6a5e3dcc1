"""Words by which an agent states a cause, a fix, a doubt, a policy, an end. English and Chinese."""

import re

_CAUSE = [
    (
        3,
        re.compile(
            r"\broot cause\b|\bthe (?:real |actual |underlying )?(?:cause|culprit|reason) (?:is|was)\b"
            r"|\bcaused by\b"
            r"|\bturn(?:s|ed) out\b|\bthe (?:real |actual |underlying )?(?:problem|issue|bug) (?:is|was"
            r"|lies)\b(?! (?:now |been )?(?:resolved|fixed|solved|gone|in\b))"
            r"|\b(?:that|this|which) (?:is|was) why\b|\bthat's why\b|根本原因|根因|原因(?:是|在于|为|："
            r"|:)|问题(?:就)?出?在于?"
            r"|问题是|症结|根源|原来(?:是|，|,)|是因为",
            re.IGNORECASE,
        ),
    ),
    (
        2,
        re.compile(
            r"\bbecause\b|\bdue to\b|\bwhich means\b|\bthis means\b|\bmeans that\b|\bas a result of\b"
            r"|\bstems from\b"
            r"|\bresults? from\b|\b(?:only |just )?(?:listen(?:s|ing)?|bound|binds) (?:on|to)\b|因为"
            r"|由于|导致|造成|说明|意味着"
            r"|(?:只|仅)(?:监听|绑定|在)",
            re.IGNORECASE,
        ),
    ),
    (
        1,
        re.compile(
            r"\b(?:since|so that)\b|\b(?:is|are|was|were|be|seems?|looks?) (?:\w+ )?(?:off|wrong"
            r"|missing|incorrect|broken|stale"
            r"|outdated|misspelled|undefined|empty|too (?:small|low|short|old))\b|缺少|写错|不对|有误"
            r"|不匹配|不一致|太小|过期",
            re.IGNORECASE,
        ),
    ),
]
_FIX = [
    (
        3,
        re.compile(
            r"\bthe (?:fix|solution) (?:is|was)\b|\b(?:fixed|solved|resolved) (?:it |this "
            r"|the \w+ )?by\b|\bfix(?:ed)?:"
            r"|\b(?:I|we)(?:'ve| have)? (?:now )?(?:changed|replaced|switched|bound|rewrote|wrapped"
            r"|renamed|increased|raised"
            r"|pinned|downgraded|upgraded|reverted)\b|\binstead of\b|\brather than\b"
            r"|解决(?:方法|办法|方案)|修复(?:方法|方式)|改为|改成|改用|换成|改到|调整为|调到|修改为"
            r"|设置为|设为",
            re.IGNORECASE,
        ),
    ),
    (
        2,
        re.compile(
            r"\b(?:I|we)(?:'ve| have)? (?:now )?(?:fixed|added|removed|updated|set|installed|moved"
            r"|created|corrected|adjusted)\b"
            r"|\b\w+ing\b[^.;,]{2,60}\b(?:fixed|solved|resolved|cured) (?:it|this|that|the \w+)\b"
            r"|\bby (?:changing|adding|setting|binding|removing|replacing|using|installing|upgrading)\b"
            r"|修复|加上|增加了|删除了|去掉|把.{1,40}(?:改|换|设|调)|最终|安装了|重新安装",
            re.IGNORECASE,
        ),
    ),
    (
        1,
        re.compile(
            r"\b(?:need(?:s)? to|should|must|has to|let me|I'll|I will|I am going to|let's) (?:be "
            r"|now )?(?:change|fix|bind|listen|set"
            r"|replace|wrap|add|remove|update|use|install|modify|edit|increase|raise|pin|switch|move"
            r"|rename|create)"
            r"|\bshould be\b|需要|应该|应当|必须|要让",
            re.IGNORECASE,
        ),
    ),
]
_WHY = re.compile(r"\bwhy\b|\b(?:cause|reason)s?\b|为什么|为何|为啥|怎么会|原因|根因", re.IGNORECASE)
_CLAUSE_END = re.compile(r"[,;](?=\s)|[，；]")
_DOUBT = re.compile(
    r"\b(?:maybe|perhaps|might|possibly|could be|may be|probably|suspect|guess|wonder|not sure"
    r"|hypothesis|if the)\b"
    r"|可能|也许|怀疑|大概|猜|会不会|是不是|是否|估计|先看|看看",
    re.IGNORECASE,
)
_DENIED = re.compile(
    r"\b(?:not|isn't|wasn't|rules? out|ruled out|unlikely) (?:because|due to|caused|the (?:cause"
    r"|problem|issue|culprit))\b"
    r"|\b(?:did not|didn't|does not|doesn't) (?:help|work|change anything|fix)\b|\bno (?:effect|change)\b"
    r"|不是(?:因为|由于)|没有?(?:用|效果|帮助)|没用|无效|排除|不管用|并非",
    re.IGNORECASE,
)
_NO_FIX = re.compile(
    r"\bnow that\b|\bclean(?:ed|ing)? up\b(?!.{1,60}\b(?:fixed|solved|resolved)\b)|no longer needed"
    r"|\bshould (?:now )?(?:be fixed|work)\b|清理(?!.{1,20}(?:修复|解决|恢复|[修治]?好了))|不再需要",
    re.IGNORECASE,
)
_PLAN = re.compile(
    r"\b(?:let me|let's|I'll|I will|we can|I can|next step|in order to|now that)\b|接下来|让我|我先"
    r"|现在来|下一步",
    re.IGNORECASE,
)
_GAVE_UP = re.compile(
    r"\b(?:could not|couldn't|was not able to|wasn't able to|unable to|did not manage to|failed to) "
    r"(?:\w+ ){0,3}(?:fix|solve|resolve|find|complete|finish|reproduce|get|make|determine|build|install)"
    r"|\b(?:I|we) give up\b|\bgiving up\b|\bstill (?:fails?|failing|broken|not|refused|unreachable"
    r"|getting)\b|\bno luck\b|\bnot solved\b"
    r"|没能|未能|没有解决|没解决|未解决|仍然(?:不|无|失败|报错)|还是(?:不行|失败|报错|连不上)|放弃"
    r"|没有成功|不成功",
    re.IGNORECASE,
)
_SOLVED = re.compile(
    r"\b(?:fixed|solved|resolved|works? now|now works?|working (?:now|again)|reachable (?:now|again)"
    r"|passes|passed|succeeded"
    r"|successfully|done|verified|confirmed|returns? 200|tests? (?:now |all )?pass)\b"
    r"|[改修弄搞调配装]好|处理好|已修复|修复了|解决了|已解决|恢复|正常了|通了|成功|可以访问|搞定|通过|不再报错",
    re.IGNORECASE,
)
_UNSOLVED = re.compile(
    r"\b(?:not|never|cannot|\w+n't) (?:(?:yet|been|be|get|fully|really|quite) )?(?:fixed|solved|resolved"
    r"|work(?:s|ing)?|pass(?:es|ed)?|succeed(?:ed)?|done|verified|confirmed)\b"
    r"|(?:没有?|未|不)(?:能|被|有)?(?:[改修弄搞调配装]好|处理好|修复|解决|恢复|成功|通过|搞定|正常)",
    re.IGNORECASE,
)
_AROUND_CLAIM = re.compile(
    r"\b(?:now|all|everything|been|has|have|should|issue|problem|bug|error|test|tests)\b"
    r"|已经?|现在|都|全部|问题|一切|应该|任务",
    re.IGNORECASE,
)
_POLICY = [
    (
        2,
        re.compile(
            r"\b(?:since|because|due to|only if|which means|as (?:it|this|your|the))\b|\bwithout\b|由于"
            r"|因为|根据|只有|按照",
            re.I,
        ),
    ),
    (
        2,
        re.compile(
            r"\b(?:cannot|can't|can not|not (?:allowed|eligible|possible|permitted)|unable"
            r"|non-?refundable|ineligible|eligible"
            r"|entitled|allowed)\b|不能|无法|不可以?|不支持|不符合|符合|不允许|有权|可享",
            re.IGNORECASE,
        ),
    ),
    (
        1,
        re.compile(
            r"\b(?:policy|policies|rules?|must|require[sd]?|regardless)\b|政策|规定|规则|必须|需要",
            re.IGNORECASE,
        ),
    ),
]
_CONCLUSION = re.compile(
    r"\b(?:success(?:ful(?:ly)?)?|has been|have been|completed|cancell?ed|booked|updated|total"
    r"|refund\w*|transferr\w+|unable"
    r"|cannot|not possible|so the answer|therefore|the answer is)\b|已经|已为|成功|完成|总共|共计|退款"
    r"|因此|所以|答案",
    re.IGNORECASE,
)
_COURTESY = re.compile(
    r"you're welcome|feel free|have a (?:great|nice|good|wonderful)|if you (?:have|need|would)"
    r"|let me know|safe travels|"
    r"would you like|please (?:confirm|provide|let|hold)|glad (?:to|I)|anything else|thank"
    r"|is there anything|happy to help"
    r"|here are the|the details|to (?:proceed|assist)|一路平安|不客气|祝您|祝你|如有|如果您?还|请问"
    r"|请提供|请确认|感谢|谢谢|还有其他|很高兴",
    re.IGNORECASE,
)
_ANSWER = re.compile(
    r"(?:so|therefore|thus|hence)?,? ?(?:the|my) (?:final )?answer is\b"
    r"|(?:所以|因此|那么)?[，,]?(?:最终)?答案(?:是|为)",
    re.IGNORECASE,
)
_SCREEN = re.compile(
    r"\b(?:screenshots?|labell?ed|with (?:the )?(?:numerical )?labels?|elements? (?:\[?\d|is\b|label)"
    r"|text ?box(?:es)?|input (?:field|box|element))\b|\[\d+\]|截图|标号|编号为|元素",
    re.IGNORECASE,
)
_REQUIREMENT = re.compile(
    r"\b(?:I|we) (?:will |would |do |still )?(?:need|require)\b|\b(?:is|are) (?:required|needed|necessary)\b"
    r"|需要您?(?:的|提供)|必须(?:先|提供)",
    re.IGNORECASE,
)
_REQUEST = re.compile(
    r"\b(?:want|need|would like|'d like|hoping|looking (?:to|for|into)|interested in|plan(?:ning)? to|wish"
    r"|trying to|help me|can (?:you|I|we)|could (?:you|I"
    r"|we)|is (?:there|it possible)"
    r"|how (?:many|much|do|can)|due to|because|the reason|instead)\b|想|要|需要|能不能|可不可以|可以"
    r"|麻烦|希望|因为|怎么|为什么|帮",
    re.IGNORECASE,
)
_FILLER = re.compile(
    r"\b(?:can|could|would|will|is|are|do|does|there|it|you|i|we|me|us|my|your|please|just|really|still|maybe|be"
    r"|able|possible|possibly|any|some|way|help|assist\w*|check|look|see|into|up|in|on|of|with|to|for|and|a|an|the"
    r"|that|this|these|those|them|here|out|get|again|sorted|something|anything|else|if|need|want|like|hoping|know"
    r"|let|so|but|though|understand|done|option|options|case|again|double|sure|due|because|i'd|i'm|d|m|s|hi|hello"
    r"|how|what|much|good|great)\b|能不能|可不可以|可以|麻烦|帮我?|请|一下|您|你|我|吗|吧|呢|的|了|这个|那个|看看|查查",
    re.IGNORECASE,
)
_ASSENT = re.compile(
    r"^(?:yes|no|sure|ok(?:ay)?|great|thanks?|thank you|confirm\w*|got it|i see|hi|hello"
    r"|good)\b[^.!?]{0,25}[.!?,]*$"
    r"|^(?:yes|sure|ok(?:ay)?|please (?:proceed|go ahead)|confirming)\b.*(?:proceed|go ahead|correct|confirm)"
    r"|(?:my|the) (?:user |reservation )?ids? (?:is|are)\b|^(?:好的?|是的?|行|可以|谢谢|嗯|对|没问题"
    r"|你好|您好)[，。,.!！~ ]*.{0,6}$",
    re.IGNORECASE,
)


def _weigh(table: list[tuple[int, re.Pattern[str]]], sentence: str) -> int:
    return max((weight for weight, pattern in table if pattern.search(sentence)), default=0)


def is_question(sentence: str) -> bool:
    return sentence.rstrip(" \"')”」").endswith(("?", "？"))


def asks_why(goal: str) -> bool:
    return _WHY.search(goal) is not None


def cause_weight(sentence: str) -> int:
    """How plainly a sentence states a cause: 3 by name, 2 by "because", 1 by a diagnosis, 0 not at all."""
    if is_question(sentence) or _DENIED.search(sentence):
        return 0
    return _weigh(_CAUSE, sentence)


def fix_weight(sentence: str) -> int:
    """How plainly a sentence states what was changed: 3 … 1 (an intention), 0 not at all."""
    if is_question(sentence) or _DENIED.search(sentence) or _NO_FIX.search(sentence):
        return 0
    return _weigh(_FIX, sentence)


def cause_and_fix(sentence: str) -> list[str]:
    """A sentence that names a cause and then says what was done about it ("原因是磁盘满，清理后好了。")
    as the two, each a slice of it; any other one as it is."""
    for match in _CLAUSE_END.finditer(sentence):
        cause, fix = sentence[: match.end()].rstrip(), sentence[match.end() :].lstrip()
        if cause_weight(cause) == 3 > cause_weight(fix) and fix_weight(fix) >= 2 > fix_weight(cause):
            return [cause.rstrip(",;，；"), fix]
    return [sentence]


def policy_weight(sentence: str) -> int:
    """How plainly a sentence gives a rule or a verdict with its reason, 0..5; less than 2 is none."""
    if is_question(sentence) or _COURTESY.search(sentence):
        return 0
    return sum(weight for weight, pattern in _POLICY if pattern.search(sentence))


def is_doubt(sentence: str) -> bool:
    return _DOUBT.search(sentence) is not None


def is_plan(sentence: str) -> bool:
    """Whether a sentence says what comes next rather than what is so."""
    return _PLAN.search(sentence) is not None


def gave_up(sentence: str) -> bool:
    return _GAVE_UP.search(sentence) is not None


def claims_success(sentence: str) -> bool:
    return not (gave_up(sentence) or _UNSOLVED.search(sentence)) and _SOLVED.search(sentence) is not None


def is_bare_claim(sentence: str) -> bool:
    """Whether a sentence claims success and tells nothing else: "Fixed it.", 改好了。"""
    if not claims_success(sentence):
        return False
    rest = sentence
    for pattern in (_SOLVED, _AROUND_CLAIM, _FILLER):
        rest = pattern.sub(" ", rest)
    return re.search(r"[a-zA-Z]\w+|[\u3400-\u9fff]{2}|\d", rest) is None


def is_conclusion(sentence: str) -> bool:
    return not is_question(sentence) and _CONCLUSION.search(sentence) is not None


def is_courtesy(sentence: str) -> bool:
    return _COURTESY.search(sentence) is not None


def is_request(sentence: str) -> bool:
    """Whether a customer asks for something in it, and says what: "Can you help with that?" does not."""
    plain = _FILLER.sub(" ", sentence)
    return (
        _REQUEST.search(sentence) is not None
        and _ASSENT.search(sentence) is None
        and (
            len(re.findall(r"[a-zA-Z]\w+", plain)) >= 2 or re.search(r"[\u3400-\u9fff]{2}", plain) is not None
        )
    )


def repeats_answer(sentence: str) -> bool:
    """Whether a sentence only hands in again what was found: "So the answer is 2004."."""
    return _ANSWER.match(sentence) is not None


def describes_screen(sentence: str) -> bool:
    """Whether a sentence is about where something stands on a screenshot; the next page has it elsewhere."""
    return _SCREEN.search(sentence) is not None


def is_requirement(sentence: str) -> bool:
    """Whether an agent says in it what it needs before it can go on."""
    return not is_question(sentence) and _REQUIREMENT.search(sentence) is not None
