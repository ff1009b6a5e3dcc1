"""The words by which a text tells a secret: "password: x", 密码改为 x, "x" typed into the password field.

Patterns run over text in lower case. Each group of one is a value; what the value looks like decides whether
it is a secret, for most of what follows such words is ordinary text: "password reset page", "the token count
is 512", 密码错误.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from siltstone.hindsight.secret_values import (
    as_assigned,
    as_chinese,
    as_last_word,
    as_paired,
    as_quoted,
    as_random,
    as_secret,
    as_told,
    as_word,
)
from siltstone.hindsight.windows import windows

Accepts = Callable[[str, str], bool]

WORDS = (
    r"(?:api|access|private|secret|account|encryption|license|auth|signing|master|storage|shared|service"
    r"|subscription)[_\- ]?key|pass(?:word|wd|phrase|code|wort)|contraseña|mot de passe|pwd"
    r"|(?<!\d:)secret"  # arn:aws:secretsmanager:…:123:secret:name is a name
    r"|credential"
    r"|bearer|connection[_\- ]?string|card[_\- ]?number|(?:security|verification)[_\- ]code"
    # a count of tokens is no secret
    r"|token(?!s?[\"'\\]*[ \t]*[:=][ \t]*\d{1,8}(?:\W|$))"
)
CHINESE = r"密码|口令|令牌|密钥|秘钥|私钥|验证码|校验码|动态码|授权码|安全码|提取码|访问码|卡号|凭据|凭证"
HAN = r"\u3400-\u9fff"
Q, E = "\"'`“‘「『", "\"'`”’」』"  # quotes that open, that close
BARE = rf"([^\s{E},;]{{3,200}})"
LATIN = rf"((?:(?![{E},;])[\x21-\x7e]){{3,200}})"
_ANY = f"{WORDS}|{CHINESE}"
_SHORT = r"\b(?:pw|pass|pin|otp|creds?)\b|_(?:pw|pass|pin|auth|otp|creds?)(?![a-z0-9])"
_ANCHOR = re.compile(f"{_ANY}|{_SHORT}")
_IS = r"[\"'\\*`]*[ \t]*(?:=>|:=|->|:(?!:)|[=：＝])[ \t*]*"  # stars are of Markdown
_TAIL = (  # between the word and what says that a value follows: API_KEY_V2=, password_confirmation:
    r"s?(?:[_-]?(?:base|confirm(?:ation)?|again|repeat|new|old|prod(?:uction)?|dev|test|staging|live|value"
    r"|string|hash|plain|v?\d{1,3}))?(?:[ \t]*[(（][^)）\r\n]{1,24}[)）])?(?: (?:for|of) [^\s:=]{1,40})?"
)


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern over text in lower case, and which of its values, as written and before what, are secrets."""

    accepts: Accepts
    pattern: re.Pattern[str]
    needs: tuple[str, ...] = ()  # one of them stands in all that matches: looked for before the pattern


def rule(accepts: Accepts, pattern: str, *needs: str) -> Rule:
    return Rule(accepts, re.compile(pattern, re.MULTILINE), needs)


def quoted(least: int, most: int) -> str:
    """A value in quotes; inside of one kind of quotes another may stand."""
    size = f"{{{least},{most}}}"
    return (
        rf"(?:\\?\"([^\"\\\r\n]{size})(?:\\?\"|$)|\\?'([^'\\\r\n]{size})(?:\\?'|$)|`([^`\r\n]{size})(?:`|$)"
        rf"|“([^”\r\n]{size})(?:”|$)|‘([^’\r\n]{size})(?:’|$)|「([^」\r\n]{size})(?:」|$)|『("
        rf"[^』\r\n]{size})(?:』|$))"
    )


# --- what follows an English word: name = value, "name": "value", name is value, name set to value

_NAMED = [
    rule(as_told, _TAIL + _IS + quoted(3, 400)),
    rule(as_assigned, rf"{_TAIL}{_IS}[\"'\\]*([^\s\"'\\,;&)}}，。；”’」]{{3,400}})"),
    rule(
        as_word, rf"s?\s+(?:\w+\s+){{0,3}}?(?:set|changed|reset|updated|switched|rotated) to:? [{Q}]?{BARE}"
    ),
    rule(as_secret, rf"s?\s+(?:\w+\s+){{0,3}}?from [{Q}]?{BARE}[{E}]? (?:in)?to [{Q}]?{BARE}"),
    rule(
        as_quoted,
        rf"(?: field| value)?(?: (?:is|of|was|as|to|with))?\s*\(?[{Q}]([^\s{E}]{{3,100}})[{E}]",
    ),
]
# 密码是 x, 密码改成了 x, pwd为x, 密码从 x 改为 y, 新密码 x, 验证码493817, 密码框中输入 x
_WAS = r"(?:现在|目前|当前|已经?|被|就|应该|应|都|统一|默认|暂时|临时|重新|可能|分别|我|先){0,3}[ \t]*"
_BECAME = r"(?:(?:改|换|变|变更|更新|更改|修改|重置|设|设置|设定|定|写|填|调整|初始化)?(?:为|成|到|作)"
_ZH_IS = rf"[ \t]*(?:的值)?{_WAS}{_BECAME}|用的是|等于|就是|是|叫|：|:|=|＝)了?[ \t]*[:：]?[ \t]*"
_FROM = (
    rf"[ \t]*[从由][ \t]*[{Q}]?{LATIN}[{E}]?[ \t]*(?:改|换|变|更|修|重|设)[{HAN}]{{0,3}}[ \t]*[{Q}]?{LATIN}"
)
_HAN_BARE = rf"([{HAN}][^\s，。；、！？,;{E}]{{2,40}})"
_NAMED += [
    rule(as_chinese, rf"{_TAIL}[ \t]*(?:的值)?{_WAS}{_BECAME}|是|：)了?[ \t]*[{Q}]?{LATIN}"),
    rule(as_chinese, _FROM),
]
_PASSWORD = [
    *_NAMED,
    rule(
        as_last_word,
        rf"(?: again| now| here| (?:for|of) [^\s:=]{{1,40}})? (?:is|was|equals) (?:now )?[{Q}]?("
        rf"[^\s{E},;]{{3,}}?)(?=[.!?]?(?:[\s{E},;]|$))",
    ),
    rule(as_secret, rf"s?,?[ \t]+[{Q}]?{BARE}"),
]
_TOKEN = [*_NAMED, rule(as_random, rf"s?[ \t]+(?:(?:is|was)[ \t]+)?[{Q}]?{BARE}")]
_ABBREVIATED = [
    rule(as_told, _IS + quoted(3, 200)),
    rule(as_secret, rf"{_IS}[\"'\\]*([^\s\"'\\,;&)}}]{{3,200}})"),
    rule(as_secret, rf"[ \t]+(?:(?:is|was)[ \t]+)?{BARE}"),
    rule(as_chinese, rf"码?[ \t]*{_WAS}{_BECAME}|是|：)了?[ \t]*[{Q}]?{LATIN}"),
]
_BOX = r"(?:输入框|字段|框|栏)?(?:[ \t]*[(（][^)）\r\n]{1,24}[)）])?"
_INTO = rf"{_BOX}[中里内]?(?:输入|填入|填写|写入|填)[了为]?\s*"
_HANS = [
    rule(as_told, _BOX + _ZH_IS + quoted(3, 200)),
    rule(as_told, rf"s?{_IS}{quoted(3, 200)}"),
    rule(as_chinese, _BOX + _ZH_IS + LATIN),
    rule(as_chinese, _BOX + _ZH_IS + _HAN_BARE),
    rule(as_chinese, rf" (?:is|was) [{Q}]?{LATIN}"),
    rule(as_chinese, _FROM),
    rule(as_chinese, rf"[ \t]+{LATIN}"),
    rule(as_secret, r"([\x21-\x7e]{4,100})"),
    rule(as_told, _INTO + quoted(3, 100)),
    rule(as_chinese, rf"{_INTO}([^\s，。；、,;{E}]{{3,}})"),
    rule(as_told, rf"\s*{quoted(3, 100)}"),
]

# --- what has the word elsewhere

_TYPED = r"(?:(?:was|is|has been|have been|successfully|typed|entered|filled|input)\s+){0,4}"
_HEADER = rf"\\?[\"'](?:[\w.-]{{0,30}}(?:{WORDS}|authorization|cookie)|x-auth)\\?[\"']"
_FILLED = r"\.(?:fill|type|presssequentially|sendkeys)\("
_FILLS = (".fill(", ".type(", ".presssequentially(", ".sendkeys(")
_USERS = r"\b(?:username|user[ _-]?id|login|user(?=\s*[:=]))\s*[:=]?\s*"
_ZH_USER = r"(?:账号|帐号|账户|帐户|用户名?|登录名)"
_AROUND = [
    rule(
        as_told,
        rf"(?<![\w-])--?[\w.-]{{0,30}}(?:{WORDS}|pass)[= ][\"']?([^\s\"'-][^\s\"']{{2,}})",
        "--",
        " -",
    ),
    rule(
        as_word,
        rf"\b(?:set|changed?|reset|updated?|switched?|rotated?) (?:\w+ ){{0,4}}?(?:{WORDS}) (?:(?:of"
        rf"|for) \S+ )?to:? [{Q}]?{BARE}",
        " to",
    ),
    rule(
        as_word,
        r"\b(?:set|setx|setenv|export|env|put|add|config)\b[^\r\n]{0,80}?[\w/]{1,40}[._:/-]"
        rf"_?(?:\w{{1,30}}_)?(?:{WORDS})s?\s+[\"']?([^\s\"'=-][^\s\"']{{2,}})",
        *("set", "export", "env", "put", "add", "config"),
    ),
    # typed: "x" into the password field
    rule(
        as_told,
        rf"{quoted(3, 100)}\s*{_TYPED}(?:in|into|as|for|to)\s+(?:[\w-]+\s+){{0,3}}[{Q}]?(?:[\w-]+\s+)?"
        rf"(?:{WORDS})\b",
        *("in", "as ", "for ", "to "),
    ),
    rule(as_told, rf"\bpass ?phrase(?: is| was| of|:)? {quoted(3, 200)}", "phrase"),
    # a row of a table
    rule(
        as_word,
        rf"^[ \t]*\|[^|\r\n]{{0,60}}(?:{_ANY})[^|\r\n]{{0,20}}\|\s*`?([^\s|`]{{3,200}})`?\s*\|\s*$",
        "|",
    ),
    # scripts of a browser, and the page as a tree
    rule(
        as_told,
        rf"{_FILLED}\s*[\"'`][^\"'`\r\n]{{0,200}}(?:{_ANY})[^\"'`\r\n]{{0,100}}[\"'`]\s*,"
        rf"\s*{quoted(3, 200)}",
        *_FILLS,
    ),
    rule(as_told, rf"(?:{_ANY})[^\r\n]{{0,80}}?\){_FILLED}\s*{quoted(3, 200)}", *_FILLS),
    rule(
        as_told,
        rf"\btextbox \"[^\"\r\n]{{0,80}}(?:{_ANY})[^\"\r\n]{{0,40}}\"[^:\r\n]{{0,80}}:[ ]+("
        rf"[^\r\n]{{3,200}})",
        "textbox",
    ),
    # headers as pairs: ["authorization", "token x"], {"name": "x-api-key", "value": "x"}
    rule(as_paired, rf"{_HEADER}\s*,\s*(?:\\?\"value\\?\"\s*:\s*)?\\?[\"']([^\"'\\\r\n]{{3,2000}})", ","),
    rule(
        as_told,
        rf"\\?\"value\\?\"\s*:\s*\\?\"([^\"\\\r\n]{{3,2000}})\\?\"\s*,\s*\\?\"(?:name|key"
        rf"|header)\\?\"\s*:\s*{_HEADER}",
        "value",
    ),
    # user and password
    rule(
        as_told,
        r"(?:user(?:name)?|login|账号|帐号|用户名?)\s*/\s*(?:pass(?:word)?|pwd|密码)\s*[:：=]?\s*"
        r"[^\s/]{1,80}\s*/\s*([^\s/，。,;]{3,})",
        "/",
    ),
    rule(
        as_word,
        rf"{_USERS}(?!(?:and|or|the|field|with|is|as|page|form)\b)[^\s,;:=]{{2,80}}[\s,;]+(?:and\s+"
        rf"|with\s+)?"
        rf"(?:the\s+)?(?:password|passwd|pass|pwd|pw)\b\s*[:=]?\s*[{Q}]?{BARE}",
        *("user", "login"),
    ),
    rule(
        as_chinese,
        rf"{_ZH_USER}[和及与、/]?(?:密码|口令)?[ \t]*(?:分别)?[是为：:]?[ \t]*"
        rf"[\w.@+-]{{2,60}}[ \t]*[/、，,][ \t]*{LATIN}",
        *("账", "帐", "用户", "登录名"),
    ),
    rule(
        as_told,
        rf"{quoted(3, 100)}\s*[填输写]?(?:入|到|进|在|作为|当作|为)了?[^，。；\s]{{0,6}}(?:{CHINESE})",
        *("入", "到", "进", "在", "为", "当作"),
    ),
    rule(
        as_told,
        rf"(?:输入|填写|填入|使用|用)\s*([\x21-\x7e]{{4,100}})\s*(?:作为?|当作?)(?:{CHINESE})",
        "作",
        "当",
    ),
]

# Words without one of which none of the above is tried.
_TRIGGERS = (
    *("pass", "pwd", "contraseña", "secret", "credential", "bearer", "key", "connection", "card", "code"),
    *("token", "pw", "pin", "otp", "_auth", "cred", "authorization", "cookie", "x-auth", *CHINESE.split("|")),
)
_SURELY = ("authorization", "cookie", "x-auth")  # of headers: no anchor


def worded_spans(text: str, low: str) -> Iterator[tuple[int, int]]:
    """Where values stand that a word for a secret tells. They may overlap.

    Args:
        low: `text` in lower case, position by position.
    """
    for start, stop in windows(low, _TRIGGERS):
        piece = low[start:stop]
        anchors = list(_ANCHOR.finditer(piece))
        for anchor in anchors:
            for following in _following(anchor.group()):
                match = following.pattern.match(piece, anchor.end())
                if match:
                    yield from accepted(following, match, text, start)
        if anchors or any(word in piece for word in _SURELY):
            yield from searched(_AROUND, text, piece, start)


def _following(word: str) -> list[Rule]:
    if word[0] > "\u3400":
        return _HANS
    if word[0] == "_" or word in ("pw", "pass", "pin", "otp", "cred", "creds"):
        return _ABBREVIATED
    return _PASSWORD if word.startswith(("pass", "pwd", "contra", "mot")) or word.endswith("key") else _TOKEN


def searched(rules: list[Rule], text: str, piece: str, start: int) -> Iterator[tuple[int, int]]:
    """What the rules find in `piece`, which is `text` from `start` on, in lower case."""
    for each in rules:
        if not each.needs or any(word in piece for word in each.needs):
            for match in each.pattern.finditer(piece):
                yield from accepted(each, match, text, start)


def accepted(found: Rule, match: re.Match[str], text: str, start: int) -> Iterator[tuple[int, int]]:
    """The values of a match that are secrets, as places in `text`."""
    for group in range(1, found.pattern.groups + 1):
        first, last = match.span(group)
        if first >= 0:
            first, last = start + first, start + last
            if found.accepts(text[first:last], text[last : last + 40]):
                yield first, last
