"""What a tool's result says about itself: failed, worked, and with which error."""

import json
import re
from typing import Any

from siltstone.hindsight.quoting import cut, window

_STRONG = re.compile(
    r"Traceback \(most recent call last\)"
    r"|\bE(?:CONNREFUSED|CONNRESET|CONNABORTED|TIMEDOUT|NOTFOUND|HOSTUNREACH|NETUNREACH|ADDRINUSE|NOENT|ACCES"
    r"|PERM|EXIST|NOSPC|PIPE|AI_AGAIN|RESOLVE)\b"
    r"|command not found|: not found$|No such file or directory|Permission denied"
    r"|[Cc]onnection (?:was )?refused"
    r"|[Cc]onnection reset|[Cc]onnection timed out|[Cc]ould not resolve host|Operation timed out"
    r"|EXECUTION TIMED OUT|Segmentation fault|core dumped|[Oo]ut of memory|OOMKilled|CrashLoopBackOff"
    r"|(?:^|[\s(\[>])(?:[a-z_][\w.]*\.)?[A-Z]?\w*(?:Error|Exception)(?::|$)"
    r"|^(?:\[?(?:error|ERROR|Error|fatal|FATAL|panic|ERR!)\]?)[:\s]|npm ERR!|\b[Ee]rror: "
    r"|HTTP/\d(?:\.\d)?\"? [45]\d\d\b|\bHTTP (?:status |code |error )*[45]\d\d\b"
    r"|[Ss]tatus(?: ?[Cc]ode)?[:= ]+[45]\d\d\b"
    r"|^[45]\d\d [A-Z][a-z]+"
    r"|\b[Ee]xit(?:ed)?(?: with)?(?: (?:code|status))?[:= ]+\(?[1-9]\d*"
    r"|curl: \(\d+\)|^(?:FAILED|FAIL)\b|\b[1-9]\d* (?:failed|failures?|errors?)\b"
    r"|^Answer is INCORRECT|^Could not find|^Invalid Action"
    r"|拒绝连接|连接被拒绝|拒绝了连接|连接超时|找不到命令|未找到命令|没有那个文件|权限不[够足]|报错"
    r"|错误[:：]|退出码[:： ]*[1-9]"
)
_WEAK = re.compile(
    r"\b(?:failed|failure|error|unable to|cannot|could not|timed out|unhealthy)\b|not found[.!]?$|错误"
    r"|失败|异常|超时|无法",
    re.IGNORECASE,
)
_HARMLESS = re.compile(
    r"\b(?:0|no|zero|without(?: any)?)\s+(?:\w+\s+)?(?:errors?|failures?|failed|exceptions?)\b"
    r"|\b(?:errors?|failures?|failed)\b\"?\s*[:=]\s*(?:0\b|none\b|null\b|false\b|\[\])"
    r"|\berror[- ]?(?:handling|handler|rate|log|page)s?\b|\b(?:if|on|when|after"
    r"|in case of) (?:an? )?(?:errors?|failure)\b"
    r"|(?:没有|并无|未见|未发现|未出现|不再|没)(?:出现|发现|有|任何|再)*(?:错误|报错|异常|失败|超时)"
    r"|无(?:错误|报错|异常|失败)|(?:\b0|零)\s*个?(?:测试)?(?:错误|失败|异常)|(?:错误|失败"
    r"|异常)(?:数)?\s*[:：]\s*0\b"
    r"|^(?:WARNING|Warning|warning|WARN|DEBUG|\[?(?:warn|info|debug)\]?)\b.*",
    re.IGNORECASE,
)
_WORKED = re.compile(
    r"HTTP/\d(?:\.\d)?\"? 2\d\d\b|\b20[0-4] (?:OK|Created|No Content)|^20[0-4]$"
    r"|\b[Ss]tatus(?: ?[Cc]ode)?[:= ]+2\d\d\b"
    r"|\b[1-9]\d* passed\b|\bPASS(?:ED)?\b|\bOK\b|^ok\b|\"(?:status|result|health)\"\s*:\s*\"(?:ok|up"
    r"|healthy|success)\""
    r"|\bsuccess(?:ful(?:ly)?)?\b|\bsucceeded\b|\bhealthy\b|\b[Ee]xit(?:ed)?(?: with)?(?: (?:code"
    r"|status))?[:= ]+\(?0\b"
    r"|no errors\b|^Answer is CORRECT|测试通过|全部通过|\d+ 个?通过|成功|已恢复|恢复正常|运行正常"
    r"|一切正常|没有错误|没有报错"
)
# Words in lower case without one of which `_STRONG` and `_WEAK` match nothing but a status at a line's start.
_SIGNS = (
    *("traceback", "econn", "etimedout", "enotfound", "ehostun", "enetun", "eaddrinuse", "enoent", "eacces"),
    *("eperm", "exist", "enospc", "epipe", "eai_again", "eresolve", "not found", "no such file", "denied"),
    *("connection", "resolve host", "timed out", "segmentation", "core dumped", "out of memory", "oomkilled"),
    *("crashloop", "error", "exception", "fatal", "panic", "err!", "http", "status", "exit", "curl:", "fail"),
    *(
        "incorrect",
        "could not",
        "invalid action",
        "unable to",
        "cannot",
        "unhealthy",
        "拒绝",
        "超时",
        "找不到",
    ),
    *("未找到", "没有那个", "权限", "报错", "错误", "退出码", "失败", "异常", "无法"),
)
_WORKED_SIGNS = (
    *("http", "20", "status", "pass", "ok", "success", "succeed", "healthy", "exit", "no errors", "correct"),
    *("通过", "成功", "恢复", "正常", "没有错误", "没有报错"),
)
_NUMBERED = re.compile(r"^\s*\d+[:|\t]")
_READS = re.compile(
    r"^(?:cat|sed -n|head|less|more|grep|rg|ag|ls|find|git (?:diff|log|show)|open|bat|nl|awk|jq)\b"
)
_READ_TOOLS = re.compile(
    r"(?:^|_)(?:read|open|view|cat|grep|search|list|glob|lookup|scroll)(?:_|$)", re.IGNORECASE
)
_RAISED = re.compile(r"^(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Exit|Interrupt|Warning)\b")
_CODES = re.compile(
    r"\bE[A-Z]{3,}(?:_[A-Z]+)?\b|\b[A-Z][A-Za-z]+(?:Error|Exception)\b"
    r"|\bHTTP(?:/\d(?:\.\d)?)? [45]\d\d\b|\b[A-Z]{1,4}\d{3,5}\b"
)
_NOT_CODES = re.compile(r"^E(?:RROR|RRORS|XIT|XECUTION|NOUGH|VERY|ACH|NSURE|XAMPLE|DIT|CHO|NV|OF|ND)")
_COUNT = re.compile(r"^\W*(?:[Ff]ound )?\d+ (?:errors?|failed|failures?)\b.{0,40}$")
_MOST_LINES = 400
_LONG_LINE = 200


def result_failed(result: str, *, reading: bool = False) -> bool:
    """Whether a result says that its action failed.

    Structured results are judged by their own fields (``error``, ``success``, ``exit_code``, ``status``),
    text by its lines. With `reading` the result is the content of a file or a search, which may well be about
    errors: only a short answer that is itself an error counts.
    """
    text = result.strip()
    if not text:
        return False
    structured = _structured_verdict(text)
    if structured is not None:
        return structured
    lines = _lines(text)
    if reading:
        return len(lines) <= 2 and len(text) <= 300 and any(_STRONG.search(_judged(line)) for line in lines)
    return any(_line_failed(line) for line in _suspects(lines))


def result_worked(result: str) -> bool:
    """Whether a result says in so many words that it worked: HTTP 2xx, passed, healthy, 成功."""
    text = window(result.strip()).lower()
    if not any(sign in text for sign in _WORKED_SIGNS):
        return False
    return not result_failed(result) and any(_WORKED.search(line) for line in _lines(result.strip()))


def is_reading(tool: str, command: str) -> bool:
    """Whether an action only shows content: a file viewer, a search, ``cat``."""
    if command:
        last = re.split(r"&&|;|\|\|", command)[-1].strip()
        return _READS.match(last) is not None
    return _READ_TOOLS.search(re.sub(r"(?<=[a-z])(?=[A-Z])", "_", tool)) is not None


def error_line(result: str) -> str:
    """The line of a failed result that names the error, verbatim; "" if no line does."""
    lines = [line.strip() for line in _lines(result)]
    raised = [line for line in lines if _RAISED.match(line)]
    if raised:
        return _short(raised[-1] if "Traceback" in result else raised[0])
    if any(_COUNT.match(line) for line in lines):
        coded = next((line for line in lines if _COUNT.match(line) is None and error_codes(line)), "")
        if coded:
            return _short(coded)
    suspects = _suspects(lines)
    for pattern in (_STRONG, _WEAK):
        for line in suspects:
            judged = _judged(line)
            match = pattern.search(judged)
            if match and not line.startswith("Traceback"):
                return _short(line, line.find(match.group().strip()))
    return _short(lines[-1]) if lines and _structured_verdict(result.strip()) else ""


def error_codes(text: str) -> list[str]:
    """Codes such as ECONNREFUSED, HTTP 502, AttributeError or E999, in order, each once."""
    found = dict.fromkeys(re.sub(r"^HTTP/\S+", "HTTP", match) for match in _CODES.findall(window(text)))
    return [code for code in found if not _NOT_CODES.match(code)]


def _lines(text: str) -> list[str]:
    lines = [line for line in window(text).splitlines() if line.strip() and not _NUMBERED.match(line)]
    return lines if len(lines) <= _MOST_LINES else lines[: _MOST_LINES // 2] + lines[-_MOST_LINES // 2 :]


def _suspects(lines: list[str]) -> list[str]:
    """The lines with a word that may name a failure: the patterns, which are slow, are tried on no others."""
    low = "\n".join(lines).lower()
    signs = [sign for sign in _SIGNS if sign in low]
    found = []
    for line in lines:
        plain = line.lower()
        if line.lstrip()[:1] in ("4", "5") or any(sign in plain for sign in signs):
            found.append(line)
    return found


def _judged(line: str) -> str:
    return _HARMLESS.sub(" ", line.strip())


def _line_failed(line: str) -> bool:
    judged = _judged(line)
    if len(judged) > 4 * _LONG_LINE:  # prose or data, not a message
        return False
    return bool(_STRONG.search(judged) or (len(judged) <= _LONG_LINE and _WEAK.search(judged)))


def _structured_verdict(text: str) -> bool | None:
    """True or False where JSON says so, None for what is not JSON or leaves it to its output."""
    if text[0] not in "{[" or len(text) > 1_000_000:
        return None
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict):
        return False
    for name in ("is_error", "isError", "failed"):
        if value.get(name) is True:
            return True
    for name in ("error", "errors", "err", "exception"):
        if value.get(name):
            return True
    for name in ("success", "ok", "succeeded"):
        if isinstance(value.get(name), bool):
            return not value[name]
    for name in ("exit_code", "exitCode", "returncode", "code"):
        number = value.get(name)
        if isinstance(number, int) and not isinstance(number, bool) and (number != 0 or name != "code"):
            return number != 0 and not (name == "code" and number < 400)
    status = value.get("status", value.get("status_code"))
    if isinstance(status, int) and not isinstance(status, bool):
        return status >= 400
    if isinstance(status, str) and status.casefold() in {"error", "failed", "failure", "fail"}:
        return True
    output = [value.get(name) for name in ("output", "stdout", "stderr")]
    return any(
        _line_failed(line) for text in output if isinstance(text, str) for line in _suspects(_lines(text))
    )


def _short(line: str, at: int = 0) -> str:
    if len(line) > _LONG_LINE + 40:
        line = line[max(0, at - 40) :]
        line = line[line.find(" ") + 1 :] if at > 40 else line
    return cut(line[: _LONG_LINE + 40].strip(), 30)
