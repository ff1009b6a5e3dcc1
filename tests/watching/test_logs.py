import io
import json
import logging
from typing import Any

import pytest
from siltstone.watching import Request, current, logging_to

SECRET = "绝密 hunter2"


def fail() -> None:
    try:
        {}[SECRET]
    except KeyError as error:
        raise ValueError(SECRET) from error


def logged(format: str, level: str = "info", **extra: Any) -> str:
    stream = io.StringIO()
    with logging_to(stream, level, format):
        try:
            fail()
        except ValueError:
            logging.getLogger("siltstone.test").exception("it failed", extra=extra)
        logging.getLogger("siltstone.test").debug("detail")
    return stream.getvalue()


@pytest.mark.parametrize("format", ["text", "json"])
def test_an_exception_shows_types_and_places_and_not_its_text(format: str) -> None:
    text = logged(format)
    for word in SECRET.split():
        assert word not in text
    assert "builtins.ValueError" in text
    assert "builtins.KeyError" in text
    assert "test_logs.py" in text
    assert "in fail" in text


@pytest.mark.parametrize("format", ["text", "json"])
def test_a_failure_of_the_system_keeps_its_text(format: str) -> None:
    stream = io.StringIO()
    with logging_to(stream, "info", format):
        try:
            open("/no/such/文件")  # noqa: SIM115  # it does not open
        except OSError:
            logging.getLogger("siltstone.test").exception("it failed")
    assert "No such file" in stream.getvalue()


def test_json_is_one_object_a_line_with_the_request_id() -> None:
    token = current.set(Request("run-7"))
    try:
        [line] = logged("json", rpc="SearchMemories", status="OK", seconds=0.25).splitlines()
    finally:
        current.reset(token)
    entry = json.loads(line)
    assert (entry["level"], entry["logger"], entry["message"]) == ("error", "siltstone.test", "it failed")
    assert (entry["request_id"], entry["rpc"], entry["seconds"]) == ("run-7", "SearchMemories", 0.25)
    assert entry["time"].endswith("+00:00")
    assert isinstance(entry["exception"], list)


def test_text_has_the_request_id_and_no_line_of_anothers_making() -> None:
    stream = io.StringIO()
    token = current.set(Request("run-7"))
    try:
        with logging_to(stream, "info", "text"):
            logging.getLogger("siltstone.test").warning("first\nERROR forged", extra={"rpc": "GetStats"})
    finally:
        current.reset(token)
    [line] = stream.getvalue().splitlines()
    assert line.endswith("rpc=GetStats request_id=run-7")


def test_the_level_decides_and_what_was_there_before_is_back() -> None:
    before = logging.getLogger().level, len(logging.getLogger().handlers)
    assert "detail" not in logged("text")
    assert "detail" in logged("text", "debug")
    assert (logging.getLogger().level, len(logging.getLogger().handlers)) == before
