"""Low-level actions in a browser: which they are, what they act on, what they type."""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from siltstone.hindsight.actions import command_of, tool_key
from siltstone.hindsight.secrets import is_secret_field, is_secret_name
from siltstone.model import Step


class Verb(StrEnum):
    OPEN = "open"
    BACK = "back"
    CLICK = "click"
    TYPE = "type"
    SELECT = "select"
    PRESS = "press"
    LOOK = "look"  # scroll, hover, wait, screenshot: changes nothing
    NOTE = "note"  # the agent's own verdict about the actions before it


@dataclass(slots=True)
class Action:
    verb: Verb
    label: str = ""  # what was acted on, in words; ids, paths and coordinates of the page are none
    value: str = ""  # what was typed or chosen; "" for a secret
    secret: bool = False  # a secret was typed
    submits: bool = False
    note: str = ""


_VERBS = {
    Verb.OPEN: "navigate goto go_to go_to_url open_url visit tab_new new_tab open_tab open browse_to",
    Verb.BACK: "back go_back navigate_back forward go_forward navigate_forward",
    Verb.CLICK: "click double_click dblclick left_click right_click middle_click triple_click click_element"
    " click_element_by_index tap mouse_click_xy mouse_click check uncheck toggle drag mouse_drag_xy"
    " left_click_drag handle_dialog",
    Verb.TYPE: "fill type type_text input input_text set_value fill_form enter_text clear clear_text"
    " append_text file_upload upload_file",
    Verb.SELECT: "select select_option select_dropdown_option choose choose_option",
    Verb.PRESS: "press press_key keypress key send_keys hotkey keyboard_press press_keys hold_key",
    Verb.LOOK: "scroll scroll_down scroll_up scroll_to scroll_to_text hover wait wait_for wait_for_selector"
    " wait_for_element wait_for_navigation screenshot take_screenshot snapshot mouse_move mouse_move_xy move"
    " focus blur resize zoom get_dropdown_options console_messages network_requests take_snapshot",
}
_VERB_OF = {name: verb for verb, names in _VERBS.items() for name in names.split()}
_PREFIX = re.compile(
    r"\A(?:mcp_)?(?:\w+?_)?(?:browser|page|puppeteer|playwright|chrome_devtools|computer|web)_"
)
# Names that other tools have, too: they need an argument that only a page has.
_COMMON = {
    "open",
    "select",
    "check",
    "key",
    "input",
    "type",
    "move",
    "focus",
    "clear",
    "wait",
    "load_url",
    "press",
}
_COMMON |= {
    "back",
    "forward",
    "zoom",
    "toggle",
    "choose",
    "drag",
    "resize",
    "snapshot",
    "visit",
    "go_to",
    "tap",
}
_OF_PAGES = {
    "xpath",
    "selector",
    "element",
    "ref",
    "index",
    "coordinate",
    "coordinates",
    "css",
    "locator",
    "label",
}
_OF_PAGES |= {
    "x",
    "y",
    "uid",
    "key",
    "url",
    "direction",
    "value",
    "element_id",
    "input",
    "role",
    "text",
    "time",
    "ms",
}
_OF_PAGES |= {"target", "keys"}
_LABELS = (
    "element",
    "label",
    "name",
    "aria-label",
    "ariaLabel",
    "placeholder",
    "field",
    "title",
    "target",
    "text",
)
_VALUES = ("text", "value", "values", "option", "input_text", "content", "keys", "key", "paths")
_QUOTED = re.compile(r"(?:text=|has-text\(|name[:=]\s*|label[:=]\s*)[\"'`]?([^\"'`)\]]{1,60})")
_NOT_WORDS = re.compile(r"\A(?:[\d\s.,:#\[\]()/_-]*|[eEsS]?\d+(?:e\d+)?)\Z")
_MARKUP = re.compile(r"^(?://|/html|[#.][\w-]+|\w+\[|xpath=|css=|.*[>{}])")
_SET_OF_MARKS = re.compile(r"\A\[[\w ]+\](?:;\s*(.*))?\Z", re.DOTALL)
_SUBMIT = re.compile(
    r"\b(?:submit|save|log ?in|sign ?in|sign ?up|register|create|add|send|search|apply|confirm|continue"
    r"|update|next|finish|pay|checkout|place order|publish|ok)\b|登录|登入|提交|保存|确定|确认|注册|发送|搜索"
    r"|查询|创建|新增|添加|下一步|支付|发布|更新|完成",
    re.IGNORECASE,
)
_LONGEST_LABEL = 80


def action_of(step: Step, *, browsing: bool = False) -> Action | None:
    """The low-level action of a step; None for everything else. `browsing`: others of its run are."""
    if not step.tool or (command_of(step) and tool_key(step) not in _VERB_OF):
        return None
    key, arguments = tool_key(step), step.arguments
    if key == "finish" and "reason" in arguments:
        return Action(Verb.NOTE, note=step.text or str(arguments["reason"]))
    if key in ("computer", "computer_use") and isinstance(arguments.get("action"), str):
        key, prefixed = arguments["action"].casefold(), True
    else:
        bare = _PREFIX.sub("", key)
        key, prefixed = bare, bare != key
    verb = _VERB_OF.get(key)
    if verb is None:
        return None
    plain = prefixed or key not in _COMMON or (browsing and verb is Verb.LOOK)
    if not plain and not _acts_on_page(verb, arguments):
        return None
    label = _label(arguments, verb)
    value, secret = _typed(arguments)
    if verb in (Verb.CLICK, Verb.LOOK, Verb.BACK, Verb.NOTE):
        value, secret = "", False
    if verb is Verb.OPEN:
        value = next((str(arguments[n]) for n in ("url", "input", "href") if arguments.get(n)), value)
    enter = verb is Verb.PRESS and value.strip().casefold() in ("enter", "return", "numpadenter")
    submits = arguments.get("submit") is True or enter or (verb is Verb.CLICK and bool(_SUBMIT.search(label)))
    return Action(verb, label, value, secret, submits)


def _acts_on_page(verb: Verb, arguments: dict[str, Any]) -> bool:
    if verb is Verb.OPEN:
        return "url" in arguments
    return not arguments or bool(_OF_PAGES & arguments.keys())


def _label(arguments: dict[str, Any], verb: Verb) -> str:
    """The words for what was acted on: a name people see, never an id, a path or a number."""
    for name in _LABELS:
        text = arguments.get(name)
        if name == "text" and verb is not Verb.CLICK:
            continue
        if isinstance(text, str) and _is_wording(text):
            return " ".join(text.split())
    for name in ("selector", "locator", "css", "target"):
        quoted = _QUOTED.search(arguments[name][:400]) if isinstance(arguments.get(name), str) else None
        if quoted and _is_wording(quoted[1]):
            return quoted[1].strip()
    return ""


def _is_wording(text: str) -> bool:
    text = text.strip()
    return 0 < len(text) <= _LONGEST_LABEL and not _NOT_WORDS.match(text) and not _MARKUP.match(text)


def _typed(arguments: dict[str, Any]) -> tuple[str, bool]:
    """What was typed or chosen, and whether a secret was among it."""
    fields = arguments.get("fields")
    if isinstance(fields, list):
        parts = [(_label(f, Verb.TYPE), *_typed(f)) for f in fields if isinstance(f, dict)]
        shown = [f"{label} = {value}" if label else value for label, value, _ in parts if value]
        return "; ".join(shown), any(secret for _, _, secret in parts)
    if any(is_secret_name(name) for name in arguments) or is_secret_field(arguments):
        return "", True
    mark = _SET_OF_MARKS.match(arguments["input"]) if isinstance(arguments.get("input"), str) else None
    if mark:
        return (mark[1] or "").strip(), False
    for name in _VALUES:
        value = arguments.get(name)
        if isinstance(value, list):
            value = ", ".join(str(item) for item in value)
        if isinstance(value, str | int | float) and not isinstance(value, bool) and str(value).strip():
            return str(value).strip(), False
    return "", False
