"""The README is true: its commands run, its lists are the code's."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from siltstone import errors
from siltstone.config import SETTINGS, Settings, default_text, load
from siltstone.operations import OPERATIONS

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)

# Commands of the README that a test cannot run, and why. Every other line of a shell block runs.
NOT_RUN = {
    "make run": "serves until it is stopped",
    "make test": "is what runs this test",
    "grpcurl ": "is no part of the set-up; the method it calls is checked instead",
}


def blocks(kind: str) -> list[str]:
    return [text for language, text in BLOCKS if language == kind]


def commands() -> list[str]:
    lines = [line.partition("  #")[0].strip() for text in blocks("sh") for line in text.splitlines()]
    return [line for line in lines if line]


RUN = [line for line in commands() if not line.startswith(tuple(NOT_RUN))]


def test_every_block_has_a_language_that_is_handled_here() -> None:
    assert {language for language, _ in BLOCKS} == {"sh", "python", "toml"}
    assert len(RUN) >= 6
    for prefix in NOT_RUN:
        assert any(line.startswith(prefix) for line in commands()), f"{prefix!r} stands nowhere any more"


def test_the_files_of_settings_in_the_readme_can_be_used(tmp_path: Path) -> None:
    for text in blocks("toml"):
        (tmp_path / "siltstone.toml").write_text(text, encoding="utf-8")
        assert load({}, {}, directory=tmp_path) != Settings()


def test_the_readme_opens_with_the_two_commands_which_are_targets() -> None:
    assert commands()[:2] == ["make run", "make test"]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in ("setup", "run", "test", "check", "bench", "conformance", "fmt", "generate"):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """`siltstone up` with the model that needs no loading; its addresses."""
    directory = tmp_path_factory.mktemp("docs")
    environment = {
        **os.environ,
        "SILTSTONE_DATA": str(directory / "data"),
        "SILTSTONE_EMBEDDING_MODEL": "hashing",
        "SILTSTONE_ADDRESS": "127.0.0.1:0",
        "SILTSTONE_GATEWAY_ADDRESS": "127.0.0.1:0",
    }
    with (directory / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "siltstone.cli", "up", "--json"],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=log,
        )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line, (directory / "log").read_text(encoding="utf-8")
        yield json.loads(line)
    finally:
        process.terminate()
        process.communicate(timeout=30)


@pytest.mark.parametrize("command", RUN)
def test_the_commands_of_the_readme_run(service: dict[str, str], command: str) -> None:
    if command.startswith("curl "):
        assert shutil.which("curl"), "this test needs curl"
    command = command.replace(".venv/bin/siltstone", f"{sys.executable} -m siltstone.cli")
    command = command.replace("127.0.0.1:8765", service["gateway_address"])
    for made in ("./backups", "./restored", "./all.jsonl", "./team-data"):
        command = command.replace(made, str(Path(service["data"]).parent / made))
    environment = {**os.environ, "SILTSTONE_ADDRESS": service["address"], "no_proxy": "127.0.0.1"}
    done = subprocess.run(
        ["bash", "-ec", command], cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    assert not re.search("No memory matches|没有匹配|No lesson|没有找到经验", done.stdout)
    if command.startswith("curl "):
        assert json.loads(done.stdout)["hits"], "the lessons written above are found"


@pytest.mark.parametrize("block", blocks("python"))
def test_the_python_of_the_readme_runs(service: dict[str, str], tmp_path: Path, block: str) -> None:
    hashing = f"{str(tmp_path / 'data')!r}, settings=siltstone.Settings(embedding_model='hashing')"
    code = block.replace('"./data"', hashing).replace("127.0.0.1:50051", service["address"])
    assert code != block
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()
    if "caching_sha2" in block:
        assert "caching_sha2_password" in done.stdout
    if "finish_task" in block:
        assert "DONE" in done.stdout
        assert "full disk" in done.stdout


def test_the_settings_of_the_documents_are_those_of_the_code() -> None:
    page = (ROOT / "docs/settings.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| (?:`(.*?)`)? ?\| (.*) \|$", page, re.MULTILINE)
    assert rows == [(n, default_text(n), s.metadata["doc"]) for n, s in SETTINGS.items()]


def test_the_words_for_time_that_the_readme_names_give_a_window(mem: object) -> None:
    line = re.search(r"Words for time in the query \((.*?)\)", README, re.DOTALL)
    assert line
    examples = [text.strip().strip('"') for text in line[1].split(",")]
    assert len(examples) >= 4
    for words in examples:
        result = mem.search(f"what did we change {words}")  # type: ignore[attr-defined]
        assert result.time_window is not None, words
        assert result.nothing_in_window


def test_the_rpcs_that_the_readme_names_exist() -> None:
    for service, rpc in re.findall(r"siltstone\.v1\.(\w+)/(\w+)", README):
        assert OPERATIONS[rpc].service == service
    for rpc in re.findall(r"/v1/(\w+)", README):
        assert rpc in OPERATIONS


def test_the_tools_that_the_readme_names_are_the_gateways() -> None:
    from siltstone.gateway import memory_tools, task_tools

    source = Path(memory_tools.__file__).read_text("utf-8") + Path(task_tools.__file__).read_text("utf-8")
    offered = set(re.findall(r'"((?:memory|task)_(?!type)\w+)"', source)) - {"task_id", "memory_ids"}
    named = set(re.findall(r"`((?:memory|task)_\w+)`", README)) - SETTINGS.keys() - {"task_id"}
    assert named == offered


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "ARCHITECTURE.md"])
def test_the_files_that_the_documents_name_exist(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    for path in re.findall(r"`([\w.-]+(?:/[\w.-]+)+/?|[A-Z]+\.md|Dockerfile)`", text):
        candidates = (ROOT / path, ROOT / "python/siltstone" / path, ROOT / "rust_core/src" / path)
        made_by_setup = path.startswith((".venv/", "./"))
        assert made_by_setup or any(c.exists() for c in candidates), f"{name} names {path}"


def test_every_error_class_says_in_the_tree_when_it_is_met() -> None:
    tree = errors.__doc__ or ""
    for kind in errors.SiltstoneError.__subclasses__():
        if kind.__module__ == errors.__name__:
            assert re.search(rf"{kind.__name__} +\S", tree)


def test_every_version_in_the_changelog_is_dated_or_current() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    version = re.search(r'^version = "(.+)"', (ROOT / "Cargo.toml").read_text("utf-8"), re.MULTILINE)
    assert version
    assert f"## [{version[1]}]" in changelog
