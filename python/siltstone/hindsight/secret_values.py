"""What a value must look like to be a secret, where the words around it do not settle that.

The functions ``as_…`` judge a value as it is written and the text after it, by how it was told.
"""

import base64
import binascii
import re

_HOLDER = re.compile(
    r"^(?:[*•.xX#-]+|\$.*|<.*|\{.*|\[.*|%\w+%|(?:os|process|self|this|config|settings|env|request|window"
    r"|document|data|module|local|var|args|opts|options|cfg|ctx|req)\..*"
    r"|[A-Za-z_][\w.:]*\(.*|(?:your|my|the|some)[_-][\w-]*|(?:\w+[_-])?(?:here|placeholder)|changeme|example"
    # an expression, a variable, a type of a program
    r"|[A-Za-z_][\w.]*\[\w*\]?|&?(?:str|string|text|int|integer|bool|bytes|number|object|any|char|array|list"
    r"|dict)[)\]>?|,;]*|await|async|lambda|typeof|(?:option|optional|vec|promise)<.*|&?'static"
    r"|(?:\w+\.){1,4}(?:\w*_)?(?:token|key|secret|password|passwd|pwd|s?id)"
    r"|(?:new|old|current|user|access|refresh|api|auth|db|hashed|raw|plain|reset|csrf|client)_"
    r"(?:token|key|secret|password|passwd|pwd)|(?-i:(?:[A-Z][a-z]+)+(?:Str|Bytes|Field|Type|Token|Provider))"
    r"|(?-i:[a-z]+(?:_[a-z]+)+(?:\.[a-z_]+){2,})|[\"'`]?(?:bearer|basic|digest)|,\s.*"
    r"|\??(?:required|unset)|!(?:vault|env|ref|sub|getatt|secret|include|binary|str)\b.*"
    r"|(?:password|passwd|token|secret|api_?key)[)\]>;]*|same-origin|include|omit"
    r"|(?:redacted|removed|hidden|masked|required|expected|unexpected|incorrect|invalid|missing|wrong"
    r"|empty|optional|expired|undefined|unknown|none|null|nil|true|false|pass|return|str|string|text"
    r"|int|integer|bool"
    r"|field|fields|input|value|must|should|cannot|is|not|the|and|error|reset|change|changed|ok|failed|here"
    r"|below|above)[.!?]*)$",
    re.IGNORECASE | re.DOTALL,
)
_ABOUT = frozenset(
    re.findall(
        r"\S+",
        "a about access account accounts active after again ago all alone already also always an and any "
        "api app are as ask at attempt attempts auth authentication automatically available bad basic be "
        "because been before behind being below between blank bcrypt both box bucket bug but button by "
        "bytes call can case case-sensitive change changer changes char character characters check "
        "checker client code codes column combination complexity config confirmation contains correct "
        "count counts could create credentials cred currently data database date days default dialog did "
        "different digest do does doesn't don't down during each easy either else email empty encrypted "
        "encryption end endpoint enforcement entry env error errors even every example exists expert "
        "expiration expires expiry fail failed failure feature field fields file fine first flow for form "
        "format forgot found from function generation generator generators get good grant guess half "
        "handler hard has hash hashes hashing have header headers here hidden hint hints history hours "
        "how id identical if ignored in incorrect incorrectly inside instead into invalid is issue issuer "
        "it its json jwt just keeper key keys label last later leak leaks left length less let letters "
        "level like limit limits link list local locally lock log login logic long longer look lookup "
        "lost mail manager managers match matches may me mechanism mess message method middleware min "
        "minimum minutes mismatch missing model module more most must my name names need needed needs "
        "never new next no none not nothing notice now null number numbers of off oauth object ok okay "
        "old on once one only open optional options or other our out outside over own page pages pair "
        "parameter params parser parsing part passed per phrase plain please point policies policy pool "
        "present problem prompt prompts proper properly protected protection provider public random rate "
        "reader recovery redacted refresh remains reminder request requests required requirement "
        "requirements reset resets response result retrieval returned revoked right role rotation rsa "
        "rule rules safe same save saved screen sent sequence serious server service session sessions set "
        "setting settings setup short should shown sign simple since so some source state status step "
        "steps still storage store stored strength string strings strong strongly such support system "
        "table temporarily test text than that the their them then there these they this three through "
        "time timeout times to today together too tool trial true twice two type types unchanged under "
        "unique unknown until unset up update upper uppercase usage used user username users using utils "
        "val valid validation validator validity value values vault vector verification version very via "
        "visible wallet was way weak well were what when where whether which while who why will window "
        "with within without work works would wrong yes yet you your yours base64 utf-8 ascii varchar "
        "pbkdf2 argon2 scrypt hmac aes saml 1password lastpass ldap sso otp totp continue proceed protect "
        "secure gain avoid prevent pass ui url uri sdk http https header-based html xml yaml csv sql ",
    )
)
_ENDINGS = re.compile(
    r"(?:ed|ing|ly|tion|sion|able|ible|ment|ness|ance|ence|ity|ous|ive|less|ful|izer|ation)s?$"
)
_UNIT = re.compile(
    r"^[~≥≤<>+-]?\d+(?:[.,:/-]\d+)*[-–]?(?:st|nd|rd|th|s|ms|secs?|mins?|h|hrs?|hours?|minutes?"
    r"|seconds?|d|days?|k|m|g"
    r"|kb|mb|gb|b|bits?|bytes?|x|px|pt|%|am|pm|chars?|characters?|digits?|letters?|words?|tokens?"
    r"|times|fa|factor"
    r"|years?|months?|weeks?|kg|km|cm|mm|usd|p|d)?[)\].,;:!?%]*$",
    re.IGNORECASE,
)
_ALGORITHM = re.compile(
    r"^(?:sha|md|hs|rs|es|ps|aes|rsa|des|base|utf|oauth|x|ipv|http|ec|ed|p|v|s|k|step|field|test"
    r"|user|page|item|line|id|"
    r"version|part|row|col|level|phase|day|week|option|section|input|textbox|button|e)[-_.]?\d{1,4}"
    r"(?:[-_.]\w{1,6})*$",
    re.IGNORECASE,
)
_FILE = re.compile(
    r"^(?:\.{0,2}/|~/|\w:\\)|://|^[\w./-]+\.(?:py|js|ts|tsx|jsx|go|rs|java|rb|php|html?|css|json"
    r"|ya?ml|toml|md|txt|csv|sh"
    r"|c|h|cpp|cs|sql|log|xml|pem|key|crt|com|org|net|io|dev|cn|example|internal|local)(?:"
    r"[/:#?].*)?$|^[\w.+-]+@[\w-]+(?:\.[\w-]+)+$",
    re.IGNORECASE,
)
# a folder or file without any letter in upper case, which base64 never is: PWD=/home/ann/work
_PATH = re.compile(r"^(?:(?:~|\.{1,2})?(?:/[a-z0-9._-]{1,40})+/?|//.*)$")
_SYMBOL = re.compile(r"[!@#$%^&*+=~?]")
_COUNTED = re.compile(
    r"\s*(?:位|个|次|字|种|分|小时|天|年|月|秒|条|~|～|至|到\d|-\s*\d"
    r"|(?:chars?|characters?|digits?|letters?|bits?|bytes?|times|words?|seconds?|minutes?|hours?"
    r"|days?|attempts?"
    r"|users?|accounts?|requests?|tokens?|errors?|failed|passed|of|or more|to \d)\b)",
    re.IGNORECASE,
)
_SENTENCE_ENDS = re.compile(r"[\"'`)]*(?:[.!,;][\"'`)]*(?:\s|$)|\s*$|\s*[\r\n，。；]|\s+and\b)")
# 密码 reset 页面: a word before another, or before what kind of thing it is
_KIND = re.compile(
    r"\s*(?:类型|格式|加密|算法|编码|方式|字段|哈希|页面?|接口|桶|机制|长度|校验|验证|认证|登录|[a-z])",
    re.IGNORECASE,
)
# Chinese that goes on about a secret: 密码是错误的, 密码为空, 密码是一样的吗
_PLAIN_CHINESE = re.compile(
    r"^(?:错|正确|详?见|未|已|必填|必须|必要|空|否|什么|多少|不|没|无|过期|失效|由|指|一[样个种致串段]|您|你|我|他|她|它|要|需|可"
    r"|从|通过|加密|明文|强|弱|相同|随机|自动|默认|用户|系统|登录|存|保|在|对|和|与|怎|哪|如|这|那|啥|几|何|谁|同|另"
    r"|安全|长度|至少|最|字母|数字|大小写|符号|手机|身份|银行|支付|生日|发|收|输|请|有|唯一|重要|个人|敏感|新的|旧的"
    r"|[一二两三四五六七八九十]+[位个次])"
    r"|[吗么呢的了]$|错误|正确|失败|成功|无效|有效|过期|不能|不要|无法|如何|怎么|什么|为空|长度|位数|字符|多少"
)
_HAN = re.compile(r"[\u3400-\u9fff]+\Z")
_COLON = re.compile(r"\\?[\"']?\s*[:：]")
_HAPPENED = re.compile(
    r"[\"'`]?\s+(?:created|deleted|updated|configured|unchanged|not found|already|does not|is forbidden)\b"
)
_WORDS = re.compile(r"(?:[A-Z]?[a-z]+|[A-Z]+)(?:[-_+](?:[A-Z]?[a-z]+|[A-Z]+))+\Z")
_COOKIE_ATTRIBUTE = re.compile(r"\s*(?:path|domain|expires|max-age|samesite)\s*\Z", re.IGNORECASE)
_SESSION = re.compile(r"se?ss|sid|tok|auth|jwt|csrf|xsrf|login|remember|secret|key", re.IGNORECASE)
_PROVIDERS = frozenset(
    re.findall(
        r"\S+",
        "google facebook apple github gitlab twitter email phone wechat alipay microsoft linkedin sso "
        "passkey saml oauth ldap password logout register signup sign-up signin mobile telephone username "
        "slack discord ",
    )
)
_TRIM = ".,;:!?)]}>'\"`，。；、*_"


def is_placeholder(value: str) -> bool:
    """Whether a value only stands for a secret (``$TOKEN``, ``<password>``) or is a word about one."""
    value = value.strip()
    return not value or _HOLDER.match(value) is not None


def is_word_about(value: str) -> bool:
    """Whether a word is one of those that go on about a secret: "password reset", "token expired"."""
    word = value.strip(_TRIM).casefold()
    plain = [part for part in re.split(r"[-/'’]", word) if part]
    if all(part in _ABOUT for part in plain):
        return True
    return (word.isalpha() and len(word) > 5 and _ENDINGS.search(word) is not None) or _FILE.search(
        word
    ) is not None


def looks_secret(value: str) -> bool:
    """Whether a value is no word: digits among letters, symbols inside, digits alone of four and more."""
    word = value.strip(_TRIM)
    if (
        len(word) < 4
        or (_UNIT.match(word) and not word.isdigit())
        or _ALGORITHM.match(word)
        or _FILE.search(word)
    ):
        return False
    if "(" in word or is_placeholder(word) or word.casefold() in _ABOUT:
        return False
    if word.isdigit():
        return len(word) <= 20
    return any(c.isdigit() for c in word) or _SYMBOL.search(word.strip("#@$%&*+=~?!")) is not None


def is_number_of(value: str, after: str) -> bool:
    """Whether digits count something, as the text after them says: 密码8888位, "password 1024 characters"."""
    return value.strip(_TRIM)[-1:].isdigit() and _COUNTED.match(after) is not None


def opens_prose(value: str, after: str) -> bool:
    """Whether a word after "password:" begins a sentence: "Password: Stored in the vault"."""
    word = value.strip(_TRIM)
    if not re.match(r"\**[.,]?\s+(?!(?:and|or)\b)[a-z(\[]", after):
        return False
    return is_word_about(word) or (word.isalpha() and word.istitle())


def as_told(value: str, after: str) -> bool:
    """After words that leave no doubt: whatever stands for no secret itself."""
    return not is_placeholder(value)


def as_assigned(value: str, after: str) -> bool:
    """After "password:", which may also open a sentence, or name a folder or an address."""
    if is_placeholder(value) or opens_prose(value, after) or _PATH.match(value):
        return False
    return not (_HAN.match(value) and _PLAIN_CHINESE.search(value))


def as_quoted(value: str, after: str) -> bool:
    """In quotes behind the mere word, unless it is the name of one: secret "db" created."""
    return not is_placeholder(value) and not _HAPPENED.match(after)


def as_query(value: str, after: str) -> bool:
    """In the query of an address: not words with hyphens between them."""
    return not is_placeholder(value) and not _WORDS.match(value)


def as_paired(value: str, after: str) -> bool:
    """Behind a name and a comma, where the name of the next pair may stand: "password", "scope": …"""
    return not is_placeholder(value) and not _COLON.match(after)


def as_secret(value: str, after: str) -> bool:
    """After the mere word: only what is no word and counts nothing."""
    return not is_placeholder(value) and looks_secret(value) and not is_number_of(value, after)


def as_random(value: str, after: str) -> bool:
    """After words of many meanings, such as token."""
    return len(value) >= 8 and not value.isdigit() and as_secret(value, after)


def as_word(value: str, after: str) -> bool:
    """Where a word may be a secret, unless it is one of those that go on about it."""
    return as_secret(value, after) or not (is_placeholder(value) or is_word_about(value) or value.isdigit())


def as_last_word(value: str, after: str) -> bool:
    """A word with which a sentence ends: "the password is swordfish."."""
    return as_secret(value, after) or (
        len(value) >= 4 and _SENTENCE_ENDS.match(after) is not None and as_word(value, after)
    )


def as_chinese(value: str, after: str) -> bool:
    """After Chinese words. Han characters go on about a secret more often than they are one."""
    if is_placeholder(value) or is_number_of(value, after):
        return False
    if value.isascii():
        return looks_secret(value) or not (
            _KIND.match(after) or is_word_about(value) or value.strip(_TRIM).isdigit()
        )
    return not _PLAIN_CHINESE.search(value)


def as_of_user(value: str, after: str) -> bool:
    """What stands behind a user and a slash: "log in with bob / x", not "with Google / Facebook"."""
    return value.lower() not in _PROVIDERS and as_word(value, after)


def as_basic(value: str, after: str) -> bool:
    """Whether it is base64 of user:password (RFC 7617)."""
    try:
        decoded = base64.b64decode(value + "=" * (-len(value) % 4), validate=True).decode()
    except (binascii.Error, ValueError):
        return False
    return ":" in decoded and decoded.isprintable()


def as_cookies(value: str, after: str) -> bool:
    """Cookies, one of which looks like a secret or is named as one: not "theme=dark; Path=/"."""
    pairs = [pair.partition("=") for pair in value.split(";")]
    return any(
        _SESSION.search(name) or looks_secret(held) or len(held.strip()) >= 16
        for name, _, held in pairs
        if not _COOKIE_ATTRIBUTE.match(name) and not is_placeholder(held)
    )


def as_setting(value: str, after: str) -> bool:
    """After names that often name something else: no number, no file, and not just a short word."""
    if _PATH.match(value):
        return False
    return not is_placeholder(value) and not value.isdigit() and (len(value) >= 6 or looks_secret(value))
