"""What a step's action is: its command, whether it changes something, how it reads in a lesson."""

import re
from typing import Any

from siltstone.hindsight.masking import is_secret_name
from siltstone.hindsight.quoting import Piece, cut
from siltstone.model import Step

_COMMAND_KEYS = ("command", "cmd", "script", "shell_command")
_SHELL = re.compile(r"(?:^|_)(?:bash|shell|sh|terminal|exec(?:ute)?|run|command|console|powershell)(?:_|$)")
_EDIT = re.compile(
    r"(?:^|_)(?:edit|write|patch|replace|insert|str_replace\w*|apply|append|overwrite|update|set|modify"
    r"|configure)(?:_|$)"
)
_ACT = re.compile(
    r"(?:^|_)(?:create|delete|remove|install|deploy|restart|start|stop|save|rename|move|add|cancel|book"
    r"|send|enable|disable"
    r"|put|upload|rollback|scale|reset|grant|revoke|submit|approve|pay|refund|transfer|modify|exchange"
    r"|return)(?:_|$)"
)
_EDIT_COMMAND = re.compile(
    r"\A\s*edit \d+:\d+\s|\bsed\s+(?:-\w+\s+)*-i|\bperl\s+-\w*i|>>?\s*[\w./~$-]+\s*(?:<<|$)|\btee\b|\bpatch\b"
    r"|\bgit (?:apply|revert|checkout|cherry-pick)\b"
    r"|\bcat\s*>|\bkubectl (?:set|patch|edit|apply)\b|\b(?:ALTER|CREATE|UPDATE|INSERT|DELETE|GRANT|SET)\s+\w+"
    r"|\bgit config\b|\bsysctl -w\b|\bchmod\b|\bchown\b|\busermod\b|\bexport \w+="
)
_ACT_COMMAND = re.compile(
    r"\b(?:pip3?|npm|yarn|pnpm|apt(?:-get)?|brew|conda|cargo|gem|go|apk|dnf|yum"
    r"|uv)\s+(?:-\w+\s+)*(?:install|add|i|get|upgrade|update|ci|remove"
    r"|uninstall)\b|\b(?:mv|cp|rm|mkdir|ln|kill|pkill|mount)\s|\bdocker (?:network|volume) (?:create|rm"
    r"|connect|prune)\b"
    r"|\bmigrat\w+\b|\b(?:alembic|flyway|liquibase) (?:up|down|mig)\w+"
    r"|\bgit (?:pull|merge|rebase|reset|stash)\b|\bmodprobe\b|\bufw\b|\biptables -[AID]\b"
)
_RESTART_COMMAND = re.compile(
    r"\b(?:restart|reload)\b|\bsystemctl (?:start|stop|enable)\b|\bdocker(?:[ -]compose)? (?:up|down"
    r"|build|start|stop|run)\b"
    r"|\bservice \S+ (?:start|stop)\b|\bkubectl (?:rollout|delete pod|scale)\b|\bmake\b|\bnpm run build\b"
)
_MAKES = re.compile(r"(?:^|[\s_])(?:create|write|touch|tee)(?:[\s_]|$)|>\s*[\w./~$]")
_REMOVES = re.compile(r"(?:sudo )?rm\s+(?:-\w+\s+)*([\w./~-]+(?:[ \t]+[\w./~-]+)*)")
_EXPLORE = re.compile(r"(?:^|_)(?:search|lookup|finish|answer|think|google|bing|browse|wiki\w*)(?:_|$)")
_BROWSE = re.compile(
    r"(?:^|_)(?:click|type|fill|scroll|go_?back|wait|press|hover|select|navigate|goto|type_?text)(?:_|$)"
)
_ANSWERS = re.compile(r"^(?:finish|answer|submit|done|final_answer)$")
_PATH_KEYS = ("path", "file_path", "filepath", "filename", "file", "target_file", "url")
_NEW_KEYS = (
    *("new_string", "new_str", "new_text", "new", "replacement", "replace", "content", "file_text", "text"),
    *("patch", "diff", "insert_text", "value"),
)
_OLD_KEYS = ("old_string", "old_str", "old_text", "old", "search", "find")
_TOKEN = re.compile(r"[^\s'\"|;&<>(){},]+")
_MAX_ARGUMENT = 48
_MOST_ARGUMENTS = 4
_MAX_COMMAND = 4_000  # no rule needs more of a script


def tool_key(step: Step) -> str:
    """The tool's name in one spelling: ``str_replace``, ``goBack`` and ``go-back`` alike."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[-. /]+", "_", step.tool).casefold().strip("_")


def command_of(step: Step) -> str:
    """The shell command (or editor command) of a step, its first 4,000 characters; "" where there is none."""
    return _command(step)[:_MAX_COMMAND]


def _command(step: Step) -> str:
    for key in _COMMAND_KEYS:
        value = step.arguments.get(key)
        if isinstance(value, str):
            return value
        if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
            return str(max(value, key=len))
    if _SHELL.search(tool_key(step)):
        texts = [value for value in step.arguments.values() if isinstance(value, str)]
        return max(texts, key=len, default="")
    return ""


def change_strength(step: Step) -> int:
    """How much an action changes: 3 edits, 2 installs or moves, 1 restarts, 0 only looks."""
    if not step.tool or is_exploring(step) or is_browsing(step) or is_answer(step):
        return 0
    key, command = tool_key(step), command_of(step)
    by_name = 3 if _EDIT.search(key) else 2 if _ACT.search(key) and not _SHELL.search(key) else 0
    if by_name:
        return by_name
    for strength, pattern in ((3, _EDIT_COMMAND), (2, _ACT_COMMAND), (1, _RESTART_COMMAND)):
        if pattern.search(command):
            return strength
    return 1 if re.search(r"(?:^|_)(?:restart|reload|redeploy)(?:_|$)", key) else 0


def makes_file(step: Step) -> bool:
    """Whether an action may make a file that was not there."""
    return _MAKES.search(f"{tool_key(step)} {command_of(step)}") is not None


def removed_names(command: str) -> list[str]:
    """The names of the files that a command removes, where it does nothing else."""
    match = _REMOVES.fullmatch(command.strip())
    return [name.rsplit("/", 1)[-1] for name in match[1].split()] if match else []


def is_exploring(step: Step) -> bool:
    """Search, look-up and answer actions of question answering."""
    return _EXPLORE.search(tool_key(step)) is not None


def is_browsing(step: Step) -> bool:
    """Low-level actions in a browser: click, type, scroll."""
    return _BROWSE.search(tool_key(step)) is not None and not command_of(step)


def is_answer(step: Step) -> bool:
    """The action that hands in the answer: Finish, ANSWER, submit."""
    return _ANSWERS.match(tool_key(step)) is not None


def is_thinking(step: Step) -> bool:
    return tool_key(step) in {"think", "reflect", "thought"}


def signature(step: Step) -> frozenset[str]:
    """What an action acts on, to see the same check again: its words without flags and numbers."""
    text = command_of(step) or " ".join(_texts(step.arguments))
    words = [word for word in _TOKEN.findall(text[:600]) if not word.startswith("-") and not word.isdigit()]
    return frozenset([step.tool.casefold(), *words])


def alike(a: frozenset[str], b: frozenset[str]) -> bool:
    return len(a & b) >= 0.7 * len(a | b)


def action_piece(step: Step, words: int = 30) -> Piece:
    """An action as it reads in a lesson, quoted from its arguments."""
    command = command_of(step)
    path = _first(step, _PATH_KEYS)
    new = _first(step, _NEW_KEYS)[:_MAX_COMMAND]
    if command:
        lines = [line.strip() for line in command.strip().splitlines() if line.strip()]
        lines = [line for line in lines if not re.fullmatch(r"end_of_\w+|EOF", line)]
        editor = bool(lines) and re.match(r"edit \d", lines[0]) is not None
        shown = lines[1:] if editor and len(lines) > 1 else lines
        text, quotes = _lines_within(step, shown, words)
        first = lines[0].split(maxsplit=1)[0] if lines else ""
        label = "" if step.tool == first and shown is lines else f"{step.tool}: "
        return Piece(label + text, step.number, quotes)
    if new:
        old = set(_first(step, _OLD_KEYS).splitlines())
        changed = [line.strip() for line in new.splitlines() if line.strip() and line not in old]
        if any(line.startswith("+") for line in changed):
            changed = [line[1:].strip() for line in changed if re.match(r"\+(?!\+\+)", line)] or changed
        text, quotes = _lines_within(
            step, changed or [new.strip().splitlines()[0] if new.strip() else ""], words
        )
        where = f" {path}" if path else ""
        return Piece(f"{step.tool}{where}: {text}", step.number, quotes)
    return call_piece(step)


def call_piece(step: Step) -> Piece:
    """A call with its short arguments: ``cancel_reservation(reservation_id=9HBUV8)``, ``Search[Creed]``."""
    shown: list[str] = []
    quotes: list[tuple[int, str]] = []
    essential = [(name, value) for name, value in step.arguments.items() if _is_essential(name, value)][
        :_MOST_ARGUMENTS
    ]
    for name, value in essential:
        text = str(value).strip()
        shown.append(text if list(step.arguments) == ["input"] else f"{name}={text}")
        quotes.append((step.number, text))
    bare = list(step.arguments) == ["input"] and len(essential) == 1
    brackets = ("[", "]") if bare else ("(", ")")
    text = step.tool + (brackets[0] + ", ".join(shown) + brackets[1] if shown else "")
    if not quotes:
        quotes = [(step.number, cut(text, 12)) for _, text in _leaves(step.arguments)][:1]
    if not quotes and step.result.strip():
        quotes = [(step.number, cut(step.result.strip().splitlines()[0][:200], 20))]
    return Piece(text, step.number, quotes)


def retry_piece(failed: Step, worked: Step) -> Piece:
    """A call that worked where an earlier one did not, shown by the arguments that differ."""
    before = set(_leaves(failed.arguments))
    changed = [(name, text) for name, text in _leaves(worked.arguments) if (name, text) not in before][:4]
    if command_of(worked) or not changed:
        return action_piece(worked)
    shown = ", ".join(f"{name}={cut(text, 12)}" for name, text in changed)
    return Piece(
        f"{worked.tool}({shown})", worked.number, [(worked.number, cut(text, 12)) for _, text in changed]
    )


def answer_piece(step: Step) -> Piece:
    """The answer that was handed in, with its words."""
    text = cut(next((text.strip() for text in _texts(step.arguments) if text.strip()), ""), 40)
    return Piece(f"{step.tool}: {text}" if text else step.tool, step.number, [(step.number, text)])


def path_piece(steps: list[Step], *, arguments: bool = True, most: int = 12) -> Piece | None:
    """The calls of several steps as one path, ``a → b(x=1) → c``; repeats in a row once."""
    shown: list[str] = []
    quotes: list[tuple[int, str]] = []
    for step in steps:
        if not step.tool or is_thinking(step):
            continue
        full = arguments or change_strength(step) > 0 or is_answer(step)
        piece = call_piece(step)
        text = piece.text if full else step.tool
        if shown and (shown[-1] == text):
            continue
        shown.append(text)
        quotes += (piece.quotes or [])[:1]
    if not shown:
        return None
    if len(shown) > most:
        shown = [*shown[: most // 2], "…", *shown[-(most - most // 2) :]]
    return Piece(" → ".join(shown), steps[0].number, quotes)


def _is_essential(name: str, value: Any) -> bool:
    if isinstance(value, bool) or name == "xpath" or is_secret_name(name):
        return False
    return (
        isinstance(value, str) and 0 < len(value.strip()) <= _MAX_ARGUMENT and "\n" not in value.strip()
    ) or (isinstance(value, int | float))


def _lines_within(step: Step, lines: list[str], words: int) -> tuple[str, list[tuple[int, str]]]:
    shown: list[str] = []
    quotes: list[tuple[int, str]] = []
    left = words
    for line in lines[:6]:
        part = cut(line, left)
        if not part:
            break
        shown.append(part)
        quotes.append((step.number, part))
        left -= len(part.split())
        if left <= 2 or part != line:
            break
    return " ".join(shown), quotes


def _first(step: Step, keys: tuple[str, ...]) -> str:
    for key in keys:
        value = step.arguments.get(key)
        if isinstance(value, str) and value.strip():
            return value
    return ""


def _leaves(value: Any, name: str = "") -> list[tuple[str, str]]:
    if isinstance(value, dict):
        return [
            leaf for key, inner in value.items() if not is_secret_name(key) for leaf in _leaves(inner, key)
        ]
    if isinstance(value, list):
        return [leaf for inner in value for leaf in _leaves(inner, name)]
    return [(name, str(value).strip())] if str(value).strip() else []


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    if isinstance(value, dict):
        return [text for inner in value.values() for text in _texts(inner)]
    if isinstance(value, list):
        return [text for inner in value for text in _texts(inner)]
    return [str(value)]
