"""Secrets that stand in places of their own: in commands, headers, addresses, files of settings, log-ins."""

from collections.abc import Iterator

from siltstone.hindsight.secret_values import (
    as_assigned,
    as_basic,
    as_cookies,
    as_of_user,
    as_query,
    as_random,
    as_secret,
    as_setting,
    as_told,
    as_word,
)
from siltstone.hindsight.secret_words import Rule, rule, searched
from siltstone.hindsight.windows import windows

_CODES = [
    rule(
        as_secret,
        r"\b(?:(?:verification|security|one[- ]time|otp|2fa|mfa|login|auth(?:entication)?|sms|pass|backup"
        r"|recovery)[- ]?(?:code|passcode)s?|otp)\s*(?:is|was|of|=|[:：]|为|是)?\s*[\"'`]?"
        r"([a-z0-9][a-z0-9-]{3,11})(?![\w.])",
    ),
    rule(
        as_told,
        r"\bpin(?:[ -]?(?:code|number))?s?\s*(?:码)?\s*(?:is|was|to|=|[:：]|为|是|改为)?\s*"
        r"[\"'`]?(\d{3,8})(?![\w.]*\w)",
    ),
]
_PAIR = r"[\"'`]?[\w.@+-]{2,60}[\"'`]?\s*"
_LOGINS = [
    rule(
        as_of_user,
        r"\b(?:log(?:ged|ging)?[ -]?in|sign(?:ed|ing)?[ -]?in|login|authenticat\w{1,5})(?: \w{1,20})?\s+"
        rf"(?:with|as|using)\s+(?:the )?{_PAIR}(?:/|,?(?: and| with)(?: the)? (?:password|passwd|pw)\b)"
        r"\s*[\"'`]?([^\s\"'`,;/]{3,})",
    ),
    rule(
        as_of_user, rf"\bcred(?:ential)?s?\b\s*(?:are|is|=|[:：]|为|是)?\s*{_PAIR}[/:]\s*([^\s/\"'`,;]{{3,}})"
    ),
    rule(as_secret, rf"\blog ?in\s*[:：]?\s+{_PAIR}[/:]\s*([^\s/\"'`,;]{{3,}})"),
    rule(as_of_user, rf"(?:用|使用|以)[ \t]*{_PAIR}/[ \t]*([\x21-\x7e]{{3,60}})[ \t]*来?(?:登录|登陆|登入)"),
    rule(
        as_of_user,
        rf"(?:登录|登陆|登入|账密)(?:账号|帐号|信息|时用)?[ \t]*[:：为是用]?[ \t]*"
        rf"{_PAIR}/[ \t]*([\x21-\x7e]{{3,60}})",
    ),
]
_NO_PORT = r"(?!\d{1,5}[/?#])"
_ADDRESSES = [
    # up to the last @, for a password may hold one, and a slash; but also to the first
    rule(as_told, rf"://[^/\s:@\"'<>]{{0,100}}:({_NO_PORT}[^\s\"'<>]{{1,200}})@(?=[\w\[.-])", "@"),
    rule(as_told, rf"://[^/\s:@\"'<>]{{0,100}}:({_NO_PORT}[^@\s/\"'<>]{{1,200}})@", "@"),
    rule(
        as_told,
        r"//(?:hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)"
        r"|(?:\w{1,20}\.)?discord(?:app)?\.com/api(?:/v\d+)?/webhooks|"
        r"[\w-]{1,60}\.webhook\.office\.com/webhookb2"
        r"|open\.(?:feishu\.cn|larksuite\.com)/open-apis/bot/v2/hook|hooks\.zapier\.com/hooks/catch"
        r"|outlook\.office\.com/webhook)/((?:[\w@.+-]{1,200}/){0,6}([\w@.+-]{6,200}))",
        "hook",
    ),
    rule(as_told, r"/bot(\d{6,12}:([\w-]{20,}))", "/bot"),
]
_QUERIES = [
    rule(
        as_query,
        r"[?&](?:sig|signature|key|auth|session|sid|code|x-amz-(?:signature|credential|security-token))="
        r"([^&\s\"'#]{8,})",
        "=",
    ),
]
_COMMANDS = [
    rule(
        as_told,
        r"\b(?:curl|wget|http)\b[^\r\n|]{0,200}?\s(?:-u|--user)[= ]?[\"']?[^\s:\"']{1,80}:([^\s\"']{3,})",
        *(" -u", " --user"),
    ),
    rule(as_told, r"\bmysql\w*\b[^\n|]{0,200}?\s-p([^\s\"']{2,})", "mysql"),
    rule(as_told, r"\bsshpass\s+-p\s*[\"']?([^\s\"']{3,})", "sshpass"),
    rule(
        as_told,
        r"\b(?:docker|podman|helm|az)\b[^\n|]{0,80}\blogin\b[^\n|]{0,120}?\s-p[= ][\"']?([^\s\"']{3,})",
        "login",
    ),
    rule(as_told, r"\bredis-cli\b[^\n|]{0,120}?\s-a\s+[\"']?([^\s\"']{3,})", "redis-cli"),
    rule(as_word, r"\b(?:requirepass|masterauth)\s+[\"']?([^\s\"']{3,})", "requirepass", "masterauth"),
    rule(
        as_told,
        r"\b(?:echo|printf)\s+(?:-\w+\s+)?[\"']?([^\s\"'|]{3,100})[\"']?\s*\|\s*"
        r"(?:sudo\s+(?:-\w+\s+)*-s\b|[^\r\n|]{0,120}--(?:password-stdin|with-token|stdin)\b)",
        "|",
    ),
    rule(
        as_told,
        r"\becho\s+[\"']?[^\s:\"'|]{1,80}:([^\s\"'|]{3,100})[\"']?\s*\|\s*(?:sudo\s+)?chpasswd\b",
        "chpasswd",
    ),
    rule(
        as_told,
        r"(?:--password-stdin|--with-token|--stdin|\bsudo\b[^\r\n]{0,40}-s|\blogin\b|\bpasswd\b)"
        r"[^\r\n]{0,80}"
        r"<<<\s*[\"']?([^\s\"']{3,})",
        "<<<",
    ),
    rule(
        as_told,
        r"\bidentified\s+(?:with\s+\S{1,60}\s+)?by\s+(?:password\s+)?[\"'`]([^\"'`\r\n]{3,200})",
        "identified",
    ),
    rule(
        as_word,
        r"\b(?:user|role|grant)\b[^\r\n]{0,160}?\bidentified\s+by\s+([^\s\"'`;]{3,200})",
        "identified",
    ),
    rule(
        as_word,
        r"\b(?:set|setx|setenv|env|put)\s+(?:-\w+\s+)*([a-z][a-z0-9]*_)+key\s+[\"']?([^\s\"'=-]"
        r"[^\s\"']{5,})",
        "_key",
    ),
]
_NETRC = [
    rule(
        as_word,
        r"\b(?:machine\s+\S{1,200}|default)\s+(?:(?:login|account)\s+\S{1,100}\s+){1,2}password"
        r"\s+(\S{3,200})",
        "password",
    ),
]
_SCHEMES = r"(?:bearer|basic|token|apikey|api-key|key|jwt|oauth|ssws|negotiate|ntlm|hawk|aws4-hmac-sha256)"
_AUTHORIZATION = r"\b(?:proxy-)?authorization[\"'\\]*\s*[:=]\s*[\"'\\]*"
_HEADERS = [
    rule(as_random, r"\b(?:bearer|digest)\s+([a-z0-9._~+/=-]{8,})", "bearer", "digest"),
    rule(as_basic, r"\bbasic\s+([a-z0-9+/=-]{8,})", "basic"),
    rule(as_told, rf"{_AUTHORIZATION}{_SCHEMES}\s+([^\r\n\"']{{3,800}})", "authorization"),
    rule(as_told, rf"{_AUTHORIZATION}digest\s+([^\r\n]{{4,500}})", "digest"),
    rule(
        as_assigned,
        rf"{_AUTHORIZATION}(?!(?:digest|{_SCHEMES})\s)([^\s\"'*,;]{{4,800}})",
        "authorization",
    ),
    rule(
        as_told,
        r"(?:-h|--header)[ =]*[\"']?[\w-]{0,40}(?:auth|token|key|secret|session|password)[\w-]{0,20}\s*:\s*"
        r"(?:[a-z]{1,20}\s+)?([^\s\"']{3,800})",
        *("-h", "--header"),
    ),
    rule(
        as_assigned,
        r"\b(?:x-[\w-]{0,30}(?:auth|token|key|secret)|(?:private|access|auth|session)-token)[\"'\\]*\s*:\s*"
        r"[\"'\\]*(?:bearer\s+|token\s+)?([^\s\"'\\,;]{3,800})",
        *("x-", "-token"),
    ),
    rule(
        as_cookies,
        r"\b(?:set-)?cookies?[\"'\\]*\s*(?:[:=：]|is|为|是)\s*[\"'\\]*([^\s\r\n\"'=;]{1,100}="
        r"[^\r\n\"']{1,4000})",
        "cookie",
    ),
    rule(as_told, r"\s(?:-b|--cookie)[= ][\"']?([^\s\"'=]{1,80}=[^\r\n\"']{1,2000})", " -b", "--cookie"),
    # the file of cookies of curl
    rule(
        as_told,
        r"\t(?:true|false)\t/[^\t\r\n]{0,200}\t(?:true|false)\t\d{1,20}\t[^\t\r\n]{1,200}\t(\S{3,4000})",
        *("\ttrue\t", "\tfalse\t"),
    ),
]
_SETTINGS = [
    rule(
        as_setting,
        r"(?:session[_-]?(?:id|key|token)|sessionid|jsessionid|phpsessid|connect\.sid|\bsid|[cx]srf"
        r"[_-]?token)"
        r"[\"'\\]*[ \t]*[=:][ \t]*[\"'\\]*([\w.%+/=-]{4,400})",
    ),
    rule(
        as_setting,
        r"\b(?!(?:primary|foreign|sort|partition|cache|public|hash|range|row|object|group|unique"
        r"|index|shard"
        r"|routing|lookup|map|dict|order|natural|composite|surrogate|hot|registry|translation|i18n|config"
        r"|event|state|short_?cut|query|item|field|column|search|data|file|bucket|s3|idempotency|redis)_)"
        r"[a-z][a-z0-9_]{0,40}_key[\"'\\]*[ \t]*[=:][ \t]*[\"'\\]*([^\s\"'\\,;&)}]{3,400})",
        "_key",
    ),
]

# Words in lower case, the rules that need one of them, and whether these stay within a line.
_PLACES: list[tuple[tuple[str, ...], list[Rule], bool]] = [
    (("code", "otp", "pin"), _CODES, True),
    (
        ("log in", "login", "sign", "logg", "authenticat", "cred", "登录", "登陆", "登入", "账密"),
        _LOGINS,
        True,
    ),
    (("://",), _ADDRESSES, True),
    (("?", "&"), _QUERIES, True),
    (
        (
            *(" -u", " --user", "mysql", "sshpass", "login", "redis-cli", "sudo", "passwd", "<<<", "stdin"),
            *("with-token", "identified", "requirepass", "masterauth", "_key"),
        ),
        _COMMANDS,
        True,
    ),
    (("machine ", "default login", "default\n"), _NETRC, False),
    (
        (
            *(
                "bearer",
                "basic",
                "digest",
                "authorization",
                "cookie",
                " -b",
                " -h",
                "--header",
                "x-",
                "-token",
            ),
            "\ttrue\t",
        ),
        _HEADERS,
        True,
    ),
    (("session", "sessid", "sid", "csrf", "xsrf", "_key"), _SETTINGS, True),
]


def placed_spans(text: str, low: str) -> Iterator[tuple[int, int]]:
    """Where secrets stand by their place. They may overlap.

    Args:
        low: `text` in lower case, position by position.
    """
    for words, rules, lines in _PLACES:
        for start, stop in windows(low, words, lines=lines):
            yield from searched(rules, text, low[start:stop], start)
