"""``POST /v1/{Rpc}`` as any HTTP client sees it."""

import json
from typing import Any

import httpx2
import pytest
from siltstone import errors
from siltstone.errors import BY_STATUS
from siltstone.gateway import Gateway
from siltstone.operations import OPERATIONS


def error_of(answer: httpx2.Response, status: int) -> dict[str, str]:
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    error: dict[str, str] = answer.json()["error"]
    assert set(error) == {"status", "reason", "field", "message", "request_id"}
    assert error["request_id"] == answer.headers["x-request-id"]
    return error


def test_a_memory_goes_in_and_comes_out_word_for_word(http: httpx2.Client) -> None:
    content = "上周三 MySQL 8.0 登录失败 🚑\n“引号” \\ \u2028"
    draft = {
        "content": content,
        "attributes": {"mysql": "8.0"},
        "ttl": "30d",
        "event_time": "2026-04-01T00:00:00Z",
    }
    written = http.post("/v1/WriteMemories", json={"drafts": [draft], "namespace": "团队/甲"})
    assert written.status_code == 200
    assert "上周三" in written.content.decode()  # readable as it travels
    memory = written.json()["receipts"][0]["memory"]
    assert (memory["content"], memory["namespace"]) == (content, "团队/甲")
    assert memory["event_time"] == "2026-04-01T00:00:00.000000Z"
    found = http.post(
        "/v1/SearchMemories",
        json={"query": "MySQL", "namespaces": ["团队/甲"], "filter": {"not": {"outcome": "FAILURE"}}},
    )
    assert found.json()["hits"][0]["memory"] == memory
    read = http.post("/v1/GetMemories", json={"ids": [memory["id"]]})
    assert read.json() == {"memories": [memory], "tokens_used": 5, "truncated_ids": []}


def test_every_unary_operation_is_served_and_no_streaming_one(http: httpx2.Client) -> None:
    for rpc, operation in OPERATIONS.items():
        answer = http.post(f"/v1/{rpc}", json={"no_such_field": 1})
        if operation.request_stream or operation.response_stream:
            assert "streams" in error_of(answer, 501)["message"]
        else:
            assert error_of(answer, 400)["reason"] == "UNKNOWN_FIELD", rpc


def test_an_operation_the_service_lacks_is_501(http: httpx2.Client) -> None:
    assert error_of(http.post("/v1/ListTokens", json={}), 501)["status"] == "UNIMPLEMENTED"


def test_an_unknown_rpc_is_404_and_lists_those_there_are(http: httpx2.Client) -> None:
    error = error_of(http.post("/v1/AddMemory", json={}), 404)
    assert error["reason"] == "UNKNOWN_RPC"
    assert "WriteMemories" in error["message"]


def test_get_is_405_and_names_post(http: httpx2.Client) -> None:
    answer = http.get("/v1/SearchMemories")
    assert error_of(answer, 405)["reason"] == "METHOD_NOT_ALLOWED"
    assert answer.headers["allow"] == "POST"


def test_another_path_is_404_and_says_what_is_served(http: httpx2.Client) -> None:
    assert "/v1/{Rpc}" in error_of(http.get("/v2/anything"), 404)["message"]
    assert error_of(http.post("/healthz"), 405)["field"] == "path"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"query",
        b"[1]",
        b'"x"',
        b"null",
        b'{"a": NaN}',
        b'{"query": "x", "query": "y"}',
        b'{"filter": {"ids": [], "ids": []}}',
        b"\xff\xfe{}",
        b"{" * 5,
        b"[" * 100_000,
        b"9" * 9999,
    ],
)
def test_a_body_that_is_no_json_object_is_400(http: httpx2.Client, body: bytes) -> None:
    answer = http.post("/v1/SearchMemories", content=body, headers={"content-type": "application/json"})
    error = error_of(answer, 400)
    assert (error["reason"], error["field"]) == ("NOT_JSON", "body")


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_a_content_type_that_a_foreign_page_could_send_is_415(http: httpx2.Client, content_type: str) -> None:
    answer = http.post("/v1/SearchMemories", content=b"{}", headers={"content-type": content_type})
    assert error_of(answer, 415)["reason"] == "UNSUPPORTED_MEDIA_TYPE"


def test_a_charset_after_the_content_type_is_fine(http: httpx2.Client) -> None:
    headers = {"content-type": "application/json; charset=utf-8"}
    answer = http.post("/v1/ListNamespaces", content=b"{}", headers=headers)
    assert answer.json()["namespaces"][0]["name"] == "default"


@pytest.mark.parametrize("declared", [True, False])
def test_a_body_over_the_limit_is_413(fake: Any, declared: bool) -> None:
    body = json.dumps({"query": "长" * 2000}).encode()
    content = body if declared else iter([body[:900], body[900:]])
    json_type = {"content-type": "application/json"}
    with Gateway(address="127.0.0.1:0", connect=lambda: fake, max_body_bytes=1000) as gateway:
        answer = httpx2.post(
            f"http://{gateway.address}/v1/SearchMemories", content=content, headers=json_type, timeout=20
        )
    error = error_of(answer, 413)
    assert error["reason"] == "BODY_TOO_LARGE"
    assert "1,000 bytes (max_body_bytes)" in error["message"]


def test_a_lone_surrogate_is_refused_and_the_answer_can_still_be_read(http: httpx2.Client) -> None:
    headers = {"content-type": "application/json"}
    answer = http.post("/v1/SearchMemories", content=b'{"query": "\\ud83d"}', headers=headers)
    assert error_of(answer, 400)["reason"] == "INVALID_UNICODE"
    answer = http.post("/v1/SearchMemories", content=b'{"\\ud83d": 1}', headers=headers)
    assert error_of(answer, 400)["reason"] == "UNKNOWN_FIELD"


@pytest.mark.parametrize(
    ("status", "code"),
    [
        ("INVALID_ARGUMENT", 400),
        ("FAILED_PRECONDITION", 400),
        ("UNAUTHENTICATED", 401),
        ("PERMISSION_DENIED", 403),
        ("NOT_FOUND", 404),
        ("ALREADY_EXISTS", 409),
        ("ABORTED", 409),
        ("RESOURCE_EXHAUSTED", 429),
        ("INTERNAL", 500),
        ("UNIMPLEMENTED", 501),
        ("UNAVAILABLE", 503),
        ("DEADLINE_EXCEEDED", 504),
    ],
)
def test_each_status_of_the_service_has_its_http_code(
    http: httpx2.Client, fake: Any, status: str, code: int
) -> None:
    fake.failure = BY_STATUS[status]("坏了", reason="BROKEN", field="query")
    error = error_of(http.post("/v1/SearchMemories", json={"query": "x"}), code)
    assert (error["status"], error["reason"], error["field"]) == (status, "BROKEN", "query")
    assert "坏了" in error["message"]


def test_an_unforeseen_failure_is_500_and_shows_nothing_of_the_inside(http: httpx2.Client, fake: Any) -> None:
    fake.failure = KeyError("secret")
    assert "secret" not in error_of(http.post("/v1/GetStats", json={}), 500)["message"]


def test_every_status_is_mapped() -> None:
    from siltstone.gateway.answers import HTTP_STATUS

    assert HTTP_STATUS.keys() == {cls.status for cls in errors.SiltstoneError.__subclasses__()}
