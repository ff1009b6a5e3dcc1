"""The commands that serve, as processes of their own over a real engine with the hashing model."""

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import siltstone
from siltstone.cli import main
from siltstone.cli.context import reachable

Start = Callable[..., "subprocess.Popen[str]"]
FREE = "127.0.0.1:0"


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    started: list[subprocess.Popen[str]] = []

    def run(*arguments: str, **options: Any) -> "subprocess.Popen[str]":
        source = str(Path(siltstone.__path__[0]).parent)  # found from any working directory
        environment = {**os.environ, "SILTSTONE_EMBEDDING_MODEL": "hashing", "PYTHONPATH": source}
        process = subprocess.Popen(
            [sys.executable, "-m", "siltstone.cli", *arguments],
            cwd=tmp_path,
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            **options,
        )
        started.append(process)
        return process

    yield run
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=20)


def first_line(process: "subprocess.Popen[str]") -> str:
    assert process.stdout is not None
    assert process.stderr is not None
    line = process.stdout.readline()
    assert line, process.stderr.read()
    return line


def stopped(process: "subprocess.Popen[str]", how: int = signal.SIGTERM) -> tuple[int, str, str]:
    process.send_signal(how)
    out, err = process.communicate(timeout=20)
    return process.returncode, out, err


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_serve_answers_until_a_signal_and_keeps_what_was_written(
    start: Start, capsys: Any, tmp_path: Path, how: int
) -> None:
    server = start("serve", "--address", FREE, "--data", "d", "--json")
    answer = json.loads(first_line(server))
    assert answer.keys() == {"address", "data"}
    to_server = ["--address", answer["address"], "--namespace", "团队/甲"]
    assert main(["write", "服务要监听 0.0.0.0", *to_server]) == 0
    assert main(["search", "监听", *to_server, "--json"]) == 0
    hits = json.loads(capsys.readouterr().out.splitlines()[-1])["hits"]
    assert [h["memory"]["summary"] for h in hits] == ["服务要监听 0.0.0.0"]

    code, out, err = stopped(server, how)
    assert (code, out) == (0, ""), err
    assert "Traceback" not in err

    assert main(["stats", *to_server]) == 1
    assert "siltstone serve" in capsys.readouterr().err
    environment = {"SILTSTONE_EMBEDDING_MODEL": "hashing"}
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        assert main(["list", "--data", str(tmp_path / "d"), "--namespace", "团队/甲"]) == 0
    assert "服务要监听 0.0.0.0" in capsys.readouterr().out


def test_up_serves_both_and_says_what_to_type_next(start: Start, tmp_path: Path) -> None:
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples/docker-network.zh.json").write_text("{}", encoding="utf-8")
    up = start("up", "--address", FREE, "--gateway-address", FREE, "--data", "d", "--lang", "zh")
    assert up.stdout is not None
    lines = [first_line(up)] + [up.stdout.readline() for _ in range(4)]
    assert lines[0].startswith("gRPC 服务   127.0.0.1:")
    assert lines[3] == "下一步（在另一个终端中）：" + lines[3].partition("：")[2]
    address = lines[0].split()[-1]
    assert lines[3].endswith(f" --address {address} hindsight examples/docker-network.zh.json\n")
    assert "--data" not in lines[3]  # the store is open already
    gateway = lines[2].split()[1].partition("（")[0]
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(f"http://{gateway}/readyz", timeout=10) as response:
        assert response.status == 200
    code, out, err = stopped(up)
    assert (code, out) == (0, "正在停止。\n"), err


def test_a_busy_port_names_the_flag(start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        busy = f"127.0.0.1:{taken.getsockname()[1]}"
        for arguments, flag in (
            (["serve", "--address", busy], "--address"),
            (["up", "--address", FREE, "--gateway-address", busy], "--gateway-address"),
            (["gateway", "--gateway-address", busy], "--gateway-address"),
        ):
            process = start(*arguments, "--json")
            out, err = process.communicate(timeout=30)
            assert process.returncode == 1
            assert out == ""
            error = json.loads(err.splitlines()[-1])["error"]
            assert error["reason"] == "ADDRESS_IN_USE"
            assert busy in error["message"]
            assert f"another with {flag}" in error["message"]


def test_a_data_directory_serves_one_process_and_names_it(start: Start) -> None:
    first = start("serve", "--address", FREE, "--data", "d", "--json")
    first_line(first)
    second = start("serve", "--address", FREE, "--data", "d", "--json")
    out, err = second.communicate(timeout=30)
    assert (second.returncode, out) == (1, "")
    error = json.loads(err.splitlines()[-1])["error"]
    assert error["reason"] == "DATA_LOCKED"
    assert str(first.pid) in error["message"]


def test_the_gateway_over_stdio_ends_with_its_input(start: Start) -> None:
    gateway = start("gateway", "--stdio", "--address", "127.0.0.1:1")
    out, err = gateway.communicate("", timeout=30)
    assert (gateway.returncode, out) == (0, ""), err


def test_nobody_reading_is_quiet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(siltstone.__path__[0]).parent))
    done = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {sys.executable} -m siltstone.cli serve --help | head -n 0"],
        capture_output=True,
        text=True,
        timeout=30,
    )
    assert done.returncode in (0, 130), "0 where the pipe took all of it"
    assert done.stderr == ""


def test_a_new_store_has_no_match_and_no_memories(
    monkeypatch: pytest.MonkeyPatch, capsys: Any, tmp_path: Path
) -> None:
    monkeypatch.setenv("SILTSTONE_EMBEDDING_MODEL", "hashing")
    assert main(["search", "任何东西", "--data", str(tmp_path / "d")]) == 0
    assert capsys.readouterr().out == "No memory matches in namespace default, public.\n"
    assert main(["list", "--data", str(tmp_path / "d")]) == 0
    assert capsys.readouterr().out == "Namespace default has no such memories.\n"


@pytest.mark.parametrize(
    ("address", "reached"),
    [
        ("0.0.0.0:1", "127.0.0.1:1"),
        ("[::]:1", "[::1]:1"),
        ("10.0.0.7:1", "10.0.0.7:1"),
        ("unix:/run/s", "unix:/run/s"),
    ],
)
def test_a_server_on_all_addresses_is_reached_on_loopback(address: str, reached: str) -> None:
    assert reachable(address) == reached


TOLD_AT_ANY_INSTANT = """
import os, signal, sys, threading
from siltstone.cli.serving import _told, _told_to_stop

sys.setswitchinterval(1e-6)
for i in range(500):
    with _told_to_stop() as stop:
        begin = threading.Event()
        def tell(i=i):
            begin.wait()
            for _ in range(i % 50 * 20):
                pass
            os.kill(os.getpid(), signal.SIGTERM)
        teller = threading.Thread(target=tell)
        teller.start()
        begin.set()
        while not _told(stop, 0.001):
            pass
        teller.join()
"""


def test_a_signal_at_any_instant_of_the_wait_is_heard() -> None:
    subprocess.run([sys.executable, "-c", TOLD_AT_ANY_INSTANT], check=True, timeout=100)
