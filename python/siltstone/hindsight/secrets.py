"""What a secret looks like: by the name it goes by, by the field it is typed into, by its own shape."""

import re
from collections.abc import Iterator
from typing import Any

_WORDS = (
    r"pass(?:word|wd|phrase|code|wort)|contraseña|mot de passe|pwd|secret|credential|bearer"
    r"|(?:api|access|private|secret|account|encryption|license)[_\- ]?key|connection[_\- ]?string"
    r"|card[_\- ]?number|(?:security|verification)[_\- ]code"
    # a count of tokens is no secret
    r"|token(?!s?[\"'\\]*[ \t]*[:=][ \t]*\d{1,8}(?:\W|$))"
)
_CHINESE = r"密码|口令|令牌|密钥|私钥|验证码|授权码|安全码|卡号"
_ANY = f"{_WORDS}|{_CHINESE}"
_KEY = re.compile(
    rf"(?:^|[_\-. ])(?:{_WORDS}|pw|pass|authorization|auth|cookie|otp|cvv|cvc|pin|jwt)s?$|(?:{_CHINESE})$",
    re.IGNORECASE,
)
_COUNTS = re.compile(r"(?:max|min|num|total|used|count|input|output|completion|prompt)[_\-. ]?tokens?$", re.I)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

# A field into which a secret is typed, from what describes it: a label, a selector, its type.
_FIELD = re.compile(rf"{_WORDS}|\b(?:pw|pass|otp|cvv|cvc|pin)\b|{_CHINESE}", re.IGNORECASE)
_DESCRIBES = (
    *("element", "label", "name", "selector", "xpath", "css", "locator", "placeholder", "field", "target"),
    *("id", "type", "aria-label", "ariaLabel", "ref", "title", "key", "字段", "元素", "输入框"),
)
_TYPED = ("text", "value", "input", "keys", "characters", "input_text", "content", "内容", "文本", "值")
_LONGEST_TYPED = 400

_QUOTE = "[\"'`“‘「『]"
_END = "\"'`”’」』"


def _compiled(*patterns: str) -> list[re.Pattern[str]]:
    return [re.compile(pattern, re.IGNORECASE) for pattern in patterns]


# Patterns that look at one line, and the words without one of which a line is not looked at: logs are long,
# and most of their lines speak of nothing of the kind.
_BY_WORD: list[tuple[tuple[str, ...], list[re.Pattern[str]]]] = [
    (
        (
            *(
                "pass",
                "pwd",
                "contraseña",
                "secret",
                "credential",
                "bearer",
                "key",
                "connection",
                "card",
                "code",
            ),
            *("token", *_CHINESE.split("|")),
        ),
        _compiled(
            # name = value, "name": "value", --name value, name is value
            rf"(?:{_WORDS})s?[\"'\\]*[ \t]*[:=][ \t]*\\?[\"'`]([^\"'`\\\r\n]{{3,200}})",
            rf"(?:{_WORDS})s?[\"'\\]*[ \t]*[:=][ \t]*[\"'\\]*([^\s\"'\\,;&)}}]{{3,}})",
            rf"--?(?:{_WORDS})[= ][\"']?([^\s\"']{{3,}})",
            r"\bpassword\s+(?:is|was)\s+[\"'`]?((?=[^\s\"'`]*[\d!@#$%^&*])[^\s\"'`]{3,})",
            r"\bwith (?:the )?password\s+((?=[^\s\"'`]*[\d!@#$%^&*])[^\s\"'`]{3,})",
            rf"(?:{_CHINESE})\s*(?:是|为|：|:|=)\s*{_QUOTE}?([^\s，。；,;{_END}]{{3,}})",
            # typed: "x" into the password field; password 'x'; 在密码框输入 x; 输入“x”作为密码
            rf"{_QUOTE}([^\r\n{_END}]{{3,100}})[{_END}]\s*(?:(?:was|is|has been|have been|successfully|typed"
            r"|entered|filled|input)\s+){0,4}(?:in|into|as|for|to)\s+(?:[\w-]+\s+){0,3}"
            rf"{_QUOTE}?(?:[\w-]+\s+)?(?:{_WORDS})\b",
            rf"\b(?:{_WORDS})(?:\s+field|\s+value)?(?:\s+(?:is|of|was|as|to|with))?\s*"
            rf"{_QUOTE}([^\s{_END}]{{3,100}})[{_END}]",
            rf"(?:{_CHINESE})(?:输入框|字段|框|栏)?(?:中|里|内)?(?:输入|填入|填写|写入|填)(?:了|为)?\s*{_QUOTE}?"
            rf"([^\s，。；,;{_END}]{{3,}})",
            rf"(?:{_CHINESE})\s*{_QUOTE}([^\s{_END}]{{3,100}})[{_END}]",
            rf"{_QUOTE}([^\s{_END}]{{3,100}})[{_END}]\s*(?:填|输|写)?(?:入|到|进|在|作为|当作|为)(?:了)?"
            rf"[^，。；\s]{{0,6}}(?:{_CHINESE})",
            rf"(?:输入|填写|填入|使用|用)\s*([\x21-\x7e]{{4,100}})\s*(?:作为|当作|当)(?:{_CHINESE})",
            # scripts of a browser, and the page as a tree
            rf"\.(?:fill|type|pressSequentially|sendKeys)\(\s*[\"'`][^\"'`\r\n]{{0,200}}(?:{_ANY})"
            r"[^\"'`\r\n]{0,100}[\"'`]\s*,\s*[\"'`]([^\"'`\r\n]{3,200})[\"'`]",
            rf"(?:{_ANY})[^\r\n]{{0,80}}\)\.(?:fill|type|pressSequentially)\(\s*[\"'`]([^\"'`\r\n]{{3,200}})",
            rf"\btextbox \"[^\"\r\n]{{0,80}}(?:{_ANY})[^\"\r\n]{{0,40}}\""
            r"[^:\r\n]{0,80}:[ ]+([^\r\n]{3,200})",
            # pairs of user and password
            r"(?:user(?:name)?|login|账号|帐号|用户名?)\s*/\s*(?:pass(?:word)?|pwd|密码)\s*[:：=]?\s*"
            r"[^\s/]{1,80}\s*/\s*([^\s/，。,;]{3,})",
        ),
    ),
    (
        ("://",),
        _compiled(
            r"://[^/\s:@]{0,100}:([^@\s/]{1,200})@",
        ),
    ),
    (
        (" -u", " --user", "mysql", "sshpass", " login ", "redis-cli", "sudo", "chpasswd"),
        _compiled(
            r"\b(?:curl|wget|http)\b[^\r\n|]{0,200}?\s(?:-u|--user)[= ][\"']?[^\s:\"']{1,80}:([^\s\"']{3,})",
            r"\bmysql\w*\b[^\n|]{0,200}?\s-p([^\s\"']{2,})",
            r"\bsshpass\s+-p\s*[\"']?([^\s\"']{3,})",
            r"\b(?:docker|podman|helm|az)\b[^\n|]{0,80}\blogin\b[^\n|]{0,120}?\s-p[= ][\"']?([^\s\"']{3,})",
            r"\bredis-cli\b[^\n|]{0,120}?\s-a\s+[\"']?([^\s\"']{3,})",
            r"\becho\s+[\"']?([^\s\"'|]{3,100})[\"']?\s*\|\s*sudo\s+(?:-\w+\s+)*-S\b",
            r"\becho\s+[\"']?[^\s:\"'|]{1,80}:([^\s\"'|]{3,100})[\"']?\s*\|\s*(?:sudo\s+)?chpasswd\b",
        ),
    ),
    (
        ("bearer", "basic", "digest", "authorization", "cookie", " -b"),
        _compiled(
            r"\b(?:bearer|basic|digest)\s+([A-Za-z0-9._~+/=-]{8,})",
            r"\b(?:proxy-)?authorization[\"'\\]*\s*[:=]\s*[\"'\\]*(?!\s*digest)([^\r\n\"']{4,500})",
            r"\b(?:proxy-)?authorization\s*:\s*digest\s+([^\r\n]{4,500})",
            r"\b(?:set-)?cookies?[\"'\\]*\s*[:=]\s*[\"'\\]*([^\s\r\n\"'=;]{1,100}=[^\r\n\"']{1,4000})",
            r"\s(?:-b|--cookie)[= ][\"']?([^\s\"'=]{1,80}=[^\r\n\"']{1,2000})",
        ),
    ),
    (
        ("?", "&"),
        _compiled(
            r"[?&](?:sig|signature|key|auth|session|sid|code|x-amz-(?:signature|credential|security-token))"
            r"=([^&\s\"'#]{8,})",
        ),
    ),
]
_SHAPES = [
    re.compile(
        r"\b(sk-[A-Za-z0-9_-]{8,}|(?:sk|rk|pk|whsec)_(?:live|test)?_?[A-Za-z0-9]{12,}|gh[pousr]_[A-Za-z0-9]{16,}"
        r"|github_pat_\w{20,}|glpat-[\w-]{8,}|(?:AKIA|ASIA)[0-9A-Z]{12,}|AIza[\w-]{20,}|ya29\.[\w-]{10,}"
        r"|xox[abeprs]-[\w-]{8,}|hf_[A-Za-z0-9]{16,}|npm_[A-Za-z0-9]{20,}|pypi-[\w-]{16,}|dop_v1_\w{16,}"
        r"|SG\.[\w-]{10,}\.[\w-]{10,}|eyJ[\w-]{10,}\.[\w-]+\.[\w-]*|LTAI[A-Za-z0-9]{12,})"
    ),
    re.compile(
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(.{1,20000}?)(?:-----END|\Z)", re.DOTALL
    ),
]
_CARD = re.compile(r"(?<![\w.-])[3-6]\d{3}(?:[ -]?\d){9,15}(?![\w-])")
_HOLDER = re.compile(
    r"^(?:[*•.xX#-]+|\$.*|<.*|\{.*|\[.*|%\w+%|(?:os|process|self|this|config|settings|env|request)\..*"
    r"|\w+\(.*|(?:redacted|removed|hidden|masked|required|expected|unexpected|incorrect|invalid|missing|wrong"
    r"|empty|optional|expired|undefined|unknown|none|null|nil|true|false|str|string|text|int|integer|bool"
    r"|field|fields|input|value|must|should|cannot|is|not|the|and|error|reset|change|changed|ok|failed|here"
    r"|below|above)[.!?]*)$",
    re.IGNORECASE,
)


def is_secret_name(name: str) -> bool:
    """Whether an argument of this name holds a secret: ``password``, ``api_key``, ``accessToken``, 密码."""
    plain = _CAMEL.sub("_", name)
    return _KEY.search(plain) is not None and _COUNTS.search(plain) is None


def is_secret_field(arguments: dict[str, Any]) -> bool:
    """Whether what an action types goes into a secret's field, by how the field is described."""
    described = [arguments.get(name) for name in _DESCRIBES]
    return any(isinstance(text, str) and _FIELD.search(_CAMEL.sub("_", text[:400])) for text in described)


def named_secrets(value: Any, secret: bool = False) -> Iterator[str]:
    """The secrets among arguments: by their own name, or typed into a field that is described as one."""
    if isinstance(value, dict):
        typed = is_secret_field(value)
        for name, inner in value.items():
            into_field = typed and name in _TYPED and len(str(inner)) <= _LONGEST_TYPED
            yield from named_secrets(inner, secret or into_field or is_secret_name(str(name)))
    elif isinstance(value, list):
        for inner in value:
            yield from named_secrets(inner, secret)
    elif secret and not isinstance(value, bool) and value is not None and not is_placeholder(str(value)):
        yield str(value).strip()


def secret_spans(text: str) -> Iterator[tuple[int, int]]:
    """Where secrets stand in a text, by the words around them or by their shape."""
    for start, stop in _spans_by_word(text):
        if not is_placeholder(text[start:stop]):
            yield start, stop
    for pattern in _SHAPES:
        for match in pattern.finditer(text):
            yield match.span(1)
    for match in _CARD.finditer(text):
        if _luhn(match.group()):
            yield match.span()


def _spans_by_word(text: str) -> Iterator[tuple[int, int]]:
    lowered = text.lower()
    groups = [(words, patterns) for words, patterns in _BY_WORD if any(word in lowered for word in words)]
    if not groups:
        return
    start = 0
    for line in text.splitlines(keepends=True):
        low = line.lower()
        for words, patterns in groups:
            if any(word in low for word in words):
                for pattern in patterns:
                    yield from ((start + m.start(1), start + m.end(1)) for m in pattern.finditer(line))
        start += len(line)


def is_placeholder(value: str) -> bool:
    """Whether a value only stands for a secret (``$TOKEN``, ``<password>``) or is a word about one."""
    value = value.strip()
    return not value or _HOLDER.match(value) is not None


def _luhn(number: str) -> bool:
    """The check digit of card numbers (ISO/IEC 7812-1)."""
    digits = [int(character) for character in reversed(number) if character.isdigit()]
    doubled = [digit * 2 - 9 * (digit > 4) for digit in digits[1::2]]
    return 13 <= len(digits) <= 19 and (sum(digits[::2]) + sum(doubled)) % 10 == 0
