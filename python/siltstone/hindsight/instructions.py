"""Text in a log that reads like orders to whoever reads it. It is data: never followed, told by its step."""

import re
from typing import Any

from siltstone.model import Trajectory

TAG = "instruction-like-text"
_MOST_FLAGS = 20
_MAX_SCANNED = 200_000

_RULES = r"(?:instruction|prompt|rule|guideline|direction|command|polic(?:y|ie)|message)s?"
_PATTERNS = [
    # "ignore all previous instructions"
    re.compile(
        rf"\b(?:ignore|disregard|forget|override|bypass)\b(?:\s+(?:all|any|every|everything|the|your|my|of|these"
        rf"|those|above|prior|previous|earlier|preceding|existing|system|safety)){{1,5}}\s+{_RULES}\b"
        r"|\b(?:ignore|disregard|forget) (?:everything|all|anything) "
        r"(?:above|before|so far|you (?:were|have been))",
        re.IGNORECASE,
    ),
    # A new role, or a false system message
    re.compile(
        r"\byou are now (?:an?|in|the|my)\b.{0,60}\b(?:mode|assistant|agent|admin\w*|root|unrestricted|DAN)\b"
        r"|\b(?:new|updated|real|secret|hidden) (?:system )?(?:instructions?|prompt) ?(?::|follow|are\b)"
        r"|<\|?(?:im_start|im_end|system|endofprompt)\|?>|\[/?INST\]|</?(?:system|instructions?)>"
        r"|^\s*(?:#+\s*)?(?:system|developer) ?(?:prompt|message|override)? ?:\s*(?:you|ignore|from now|do )",
        re.IGNORECASE | re.MULTILINE,
    ),
    # Orders to a model by name, secrecy, exfiltration
    re.compile(
        r"\b(?:do not|don't|never) (?:tell|inform|mention (?:this|it) to|reveal (?:this|it) to|alert) "
        r"(?:the )?(?:user|human|operator|anyone)\b"
        r"|\b(?:AI|LLM|language model)s?(?: (?:agent|assistant|model)s?)?\b[^.\n]{0,40}"
        r"\b(?:must|should now|shall|are (?:required|instructed|ordered) to)\b"
        r"|\b(?:print|reveal|output|send|repeat|leak|show)\b[^.\n]{0,30}\b(?:your|the) "
        r"(?:system prompt|hidden prompt|initial instructions|secret keys?)\b"
        r"|\b(?:store|save|write|remember|record)\b[^.\n]{0,30}\b(?:in|into|to) your "
        r"(?:long-?term )?memor(?:y|ies)\b",
        re.IGNORECASE,
    ),
    re.compile(
        r"(?:忽略|无视|忘记|忘掉|抛开|不要理会|绕过)[^。；\n]{0,12}(?:指令|指示|规则|提示词?|要求|限制|设定|命令)"
        r"|(?:新的?|真正的|隐藏的?)(?:系统)?(?:指令|指示|提示词)(?:如下|是|：|:)"
        r"|(?:从现在(?:开始|起)|现在起)[，,]?你(?:就)?(?:是|将|必须|要)|你现在是[^。\n]{0,20}(?:模式|助手|管理员)"
        r"|(?:不要|别|不得)(?:告诉|告知|通知|让)(?:用户|使用者|人类|操作员)"
        r"|(?:输出|泄露|打印|透露|发送)[^。\n]{0,8}系统提示词?"
        r"|(?:存入|写入|记入|保存到)(?:你的)?(?:长期)?记忆"
    ),
]


def instruction_like(text: str) -> bool:
    """Whether a text tries to give orders to a model that reads it, English or Chinese. A heuristic."""
    return any(pattern.search(text[:_MAX_SCANNED]) for pattern in _PATTERNS)


def flagged_steps(trajectory: Trajectory) -> list[int]:
    """Numbers of the steps that hold instruction-like text, in order."""
    return [
        step.number
        for step in trajectory.steps
        if any(instruction_like(text) for text in (step.text, step.result, *_strings(step.arguments)))
    ]


def flags_of(trajectory: Trajectory) -> list[str]:
    """What a reader of lessons should know of their log, such as ``instruction-like text in step 4``."""
    numbers = flagged_steps(trajectory)
    flags = [f"instruction-like text in step {number}" for number in numbers[:_MOST_FLAGS]]
    if len(numbers) > _MOST_FLAGS:
        flags.append(f"instruction-like text in {len(numbers) - _MOST_FLAGS} more steps")
    return ["instruction-like text in the goal", *flags] if instruction_like(trajectory.goal) else flags


def _strings(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for inner in value.values() for text in _strings(inner)]
    if isinstance(value, list):
        return [text for inner in value for text in _strings(inner)]
    return []
