"""What a result says about itself."""

import pytest
from siltstone.hindsight.failure import error_codes, error_line, is_reading, result_failed, result_worked


@pytest.mark.parametrize(
    "result",
    [
        "exit code 1",
        "Process exited with status 127",
        "Traceback (most recent call last):\n  File 'a.py'\nValueError: bad",
        "Error: flight HAT030 not available on date 2024-05-13",
        "connect ECONNREFUSED 172.20.0.3:3000",
        "bash: ss: command not found",
        "HTTP/1.1 503 Service Unavailable",
        "status code: 404",
        "2 failed, 3 passed",
        "Build failed",
        "npm ERR! code E404",
        "构建失败",
        "错误：磁盘已满",
        "启动时报错",
        "curl: (7) 连接被拒绝",
        '{"error": "no such user"}',
        '{"exit_code": 2, "stdout": ""}',
        '{"success": false}',
        "0 errors in a.py\n3 errors in b.py",
    ],
)
def test_a_failed_result_is_an_error(result):
    assert result_failed(result)


@pytest.mark.parametrize(
    "result",
    [
        "",
        "0 errors, 12 passed",
        "no error",
        "Compiled without errors",
        "errors: 0",
        "tests failed: 0",
        "exit code 0",
        "没有错误",
        "未发现异常",
        "0 个错误",
        "无报错",
        "HTTP/1.1 200 OK",
        '{"error": null, "ok": true}',
        '{"status": "cancelled", "notes": "the error was ours, it failed"}',
        "WARNING: could not find terminfo database",
        "Their second album failed to chart, and a third " + "was never made by the band " * 10,
    ],
)
def test_a_result_that_only_speaks_of_errors_is_none(result):
    assert not result_failed(result)


def test_the_content_of_a_file_is_no_error_but_a_failing_reader_is():
    source = "def load():\n    raise ValueError('failed')\n" * 3 + "Error: x\n"
    assert is_reading("read_file", "")
    assert is_reading("run_command", "cd app && cat main.py")
    assert not is_reading("run_command", "python main.py")
    assert not result_failed(source, reading=True)
    assert result_failed("cat: main.py: No such file or directory", reading=True)


def test_the_error_line_is_the_one_that_names_the_error():
    traceback = "Traceback (most recent call last):\n  File \"a.py\", line 3, in f\nKeyError: '端口'"
    assert error_line(traceback) == "KeyError: '端口'"
    assert error_line("starting\nerror: 端口被占用\nbye") == "error: 端口被占用"
    assert error_line("Found 2 errors.\nF401 unused import") == "F401 unused import"


def test_error_codes_are_found_in_any_language():
    assert error_codes("连接 api 时 ECONNREFUSED，HTTP/1.1 502，然后 ValueError") == [
        "ECONNREFUSED",
        "HTTP 502",
        "ValueError",
    ]


@pytest.mark.parametrize("result", ["HTTP/1.1 200 OK", "5 passed", "exit code 0", "启动成功", "没有错误"])
def test_a_result_that_says_so_worked(result):
    assert result_worked(result)


@pytest.mark.parametrize("result", ["", "a.py b.py", "5 passed, 1 failed"])
def test_a_result_that_does_not_say_so_did_not_prove_anything(result):
    assert not result_worked(result)
