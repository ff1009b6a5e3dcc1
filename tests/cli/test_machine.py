"""`siltstone doctor` and `siltstone mcp install`."""

import json
import os
import socket
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from siltstone.cli import main
from siltstone.config import Settings
from siltstone.engine import Engine
from siltstone.server import serve


@pytest.fixture(autouse=True)
def _free_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings of a machine where nothing is wrong: free ports, a model that needs no loading."""
    monkeypatch.setenv("SILTSTONE_EMBEDDING_MODEL", "hashing")
    for name in ("ADDRESS", "GATEWAY_ADDRESS"):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            monkeypatch.setenv(f"SILTSTONE_{name}", f"127.0.0.1:{listener.getsockname()[1]}")


@pytest.fixture
def taken() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"127.0.0.1:{listener.getsockname()[1]}"


def examined(capsys: Any, *flags: str) -> tuple[int, dict[str, Any]]:
    code = main(["doctor", "--json", *flags])
    answer = json.loads(capsys.readouterr().out)
    assert answer["ok"] == (code == 0)
    return code, {check["name"]: check for check in answer["checks"]}


def test_on_a_good_machine_nothing_is_wrong(capsys: Any) -> None:
    code, checks = examined(capsys)
    assert code == 0
    assert {name: check["state"] for name, check in checks.items()} == {
        "python": "ok",
        "core": "ok",
        "model": "ok",
        "data": "ok",
        "settings": "ok",
        "address": "note",
        "gateway": "note",
    }
    assert "siltstone up" in checks["address"]["remedy"]
    assert main(["doctor", "--lang", "zh"]) == 0
    assert "一切正常" in capsys.readouterr().out


def test_a_model_that_does_not_load_is_wrong(capsys: Any) -> None:
    code, checks = examined(capsys, "--embedding-model", "nonesuch")
    assert code == 1
    assert checks["model"]["state"] == "bad"
    assert "nonesuch" in checks["model"]["detail"]
    assert "SILTSTONE_EMBEDDING_MODEL" in checks["model"]["remedy"]
    assert main(["doctor", "--embedding-model", "nonesuch"]) == 1
    assert "What is wrong: 1." in capsys.readouterr().out


def test_a_native_core_that_is_missing_is_wrong(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    import siltstone

    monkeypatch.delattr(siltstone, "rust_core", raising=False)
    monkeypatch.setitem(sys.modules, "siltstone.rust_core", None)
    code, checks = examined(capsys)
    assert code == 1
    assert checks["core"]["state"] == "bad"
    assert "make setup" in checks["core"]["remedy"]


def test_a_data_directory_that_is_no_directory_is_wrong(capsys: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    code, checks = examined(capsys, "--data", str(tmp_path / "file" / "below"))
    assert code == 1
    assert "not a directory" in checks["data"]["detail"]
    assert "--data" in checks["data"]["remedy"]


def test_a_running_server_is_found_with_its_hold_on_the_data(capsys: Any, tmp_path: Path) -> None:
    engine = Engine.open(tmp_path / "d", Settings(embedding_model="hashing"))
    server = serve(engine, address="127.0.0.1:0")
    try:
        code, checks = examined(capsys, "--data", str(tmp_path / "d"), "--address", server.address)
    finally:
        server.stop()
        engine.close()
    assert code == 0
    assert checks["address"]["state"] == "ok"
    assert checks["data"]["state"] == "note"
    assert str(os.getpid()) in checks["data"]["detail"]
    assert examined(capsys, "--data", str(tmp_path / "d"))[1]["data"]["state"] == "ok"


def test_a_port_that_another_program_holds_is_wrong(
    monkeypatch: pytest.MonkeyPatch, capsys: Any, taken: str
) -> None:
    monkeypatch.setattr("siltstone.cli.doctor.TIMEOUT_S", 0.3)
    code, checks = examined(capsys, "--address", taken, "--gateway-address", taken)
    assert code == 1
    assert checks["address"]["state"] == checks["gateway"]["state"] == "bad"
    assert "--address" in checks["address"]["remedy"]
    assert "--gateway-address" in checks["gateway"]["remedy"]


def test_misspelt_variables_are_noted(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setenv("SILTSTONE_MAX_TOPK", "3")
    code, checks = examined(capsys)
    assert code == 0
    assert "SILTSTONE_MAX_TOPK" in checks["settings"]["detail"]


@pytest.mark.parametrize(
    ("client", "key"), [("generic", "mcpServers"), ("cursor", "mcpServers"), ("vscode", "servers")]
)
def test_install_prints_the_snippet_and_writes_nothing(
    capsys: Any, tmp_path: Path, client: str, key: str
) -> None:
    before = sorted(tmp_path.iterdir())
    flags = ["--address", "127.0.0.1:7", "--namespace", "团队", "--token", "t", "--config", "s.toml"]
    (tmp_path / "s.toml").write_text("", encoding="utf-8")
    assert main(["mcp", "install", "--client", client, "--json", *flags]) == 0
    entry = json.loads(capsys.readouterr().out)[key]["siltstone"]
    assert Path(entry["command"]).is_absolute()
    assert entry["args"][-8:] == [
        "gateway",
        "--stdio",
        "--address",
        "127.0.0.1:7",
        "--namespace",
        "团队",
        "--config",
        str(tmp_path / "s.toml"),
    ]
    assert entry["env"] == {"SILTSTONE_TOKEN": "t"}
    assert sorted(tmp_path.iterdir()) == [*before, tmp_path / "s.toml"]


def test_install_passes_on_what_the_client_cannot_see(
    capsys: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SILTSTONE_ADDRESS", "127.0.0.1:7")
    (tmp_path / "siltstone.toml").write_text('namespace = "团队"', encoding="utf-8")
    assert main(["mcp", "install", "--json"]) == 0
    args = json.loads(capsys.readouterr().out)["mcpServers"]["siltstone"]["args"]
    assert args[-6:] == ["gateway", "--stdio", "--address", "127.0.0.1:7", "--namespace", "团队"]
    assert main(["mcp", "install", "--lang", "zh"]) == 0
    assert capsys.readouterr().out.startswith("把下面的内容放入 MCP 客户端的配置文件：")


def test_doctor_says_whether_there_is_a_file_of_settings(capsys: Any, tmp_path: Path) -> None:
    assert examined(capsys)[1]["settings"]["detail"] == "no siltstone.toml here: variables and defaults"
    (tmp_path / "siltstone.toml").write_text("", encoding="utf-8")
    assert examined(capsys)[1]["settings"]["detail"] == "siltstone.toml"


def test_install_takes_the_files_of_tls_along_by_absolute_paths(capsys: Any, tmp_path: Path) -> None:
    (tmp_path / "siltstone.toml").write_text(
        'tls_ca = "ca.pem"\ntls_client_cert = "c.pem"\n', encoding="utf-8"
    )
    assert main(["mcp", "install", "--json", "--tls-client-key", "c.key"]) == 0
    arguments = json.loads(capsys.readouterr().out)["mcpServers"]["siltstone"]["args"]
    given = dict(pairwise(arguments))
    assert given["--tls-ca"] == str(tmp_path / "ca.pem")
    assert given["--tls-client-cert"] == str(tmp_path / "c.pem")
    assert given["--tls-client-key"] == str(tmp_path / "c.key")
    assert main(["mcp", "install", "--json", "--tls-ca", "system"]) == 0
    assert "system" in json.loads(capsys.readouterr().out)["mcpServers"]["siltstone"]["args"]


def test_install_changes_only_its_own_entry_of_a_file(capsys: Any, tmp_path: Path) -> None:
    file = tmp_path / "mcp.json"
    file.write_text(
        '{"theme": "深色", "mcpServers": {"other": {"command": "x"}, "siltstone": 1}}', encoding="utf-8"
    )
    file.chmod(0o600)
    assert main(["mcp", "install", "--write", "mcp.json"]) == 0
    assert "mcp.json" in capsys.readouterr().out
    written = json.loads(file.read_text(encoding="utf-8"))
    assert written["theme"] == "深色"
    assert written["mcpServers"]["other"] == {"command": "x"}
    assert "--stdio" in written["mcpServers"]["siltstone"]["args"]
    assert file.stat().st_mode & 0o777 == 0o600
    assert main(["mcp", "install", "--client", "vscode", "--write", "new.json"]) == 0
    assert json.loads((tmp_path / "new.json").read_text(encoding="utf-8")).keys() == {"servers"}


@pytest.mark.parametrize("content", ["{", "[]", '{"mcpServers": []}', "// comment\n{}"])
def test_install_leaves_a_file_alone_that_it_does_not_understand(
    capsys: Any, tmp_path: Path, content: str
) -> None:
    (tmp_path / "mcp.json").write_text(content, encoding="utf-8")
    assert main(["mcp", "install", "--write", "mcp.json"]) != 0
    assert "mcp.json" in capsys.readouterr().err
    assert (tmp_path / "mcp.json").read_text(encoding="utf-8") == content
