"""How the endpoint is asked, and how its moods are met."""

import time

import pytest
from siltstone.errors import InvalidArgumentError
from siltstone.llm.chat import ChatEndpoint, ChatError

from .conftest import KEY, ChatServer, Raw, chat

SCHEMA = {"type": "object"}
MESSAGES = [{"role": "user", "content": "你好"}]


@pytest.fixture
def endpoint(server: ChatServer):
    endpoint = ChatEndpoint("tiny", base_url=server.base_url + "/", api_key=KEY)
    yield endpoint
    endpoint.close()


def ask(endpoint, seconds=10.0):
    return endpoint.complete(MESSAGES, schema=SCHEMA, max_tokens=7, deadline=time.monotonic() + seconds)


def test_it_asks_at_temperature_zero_for_json_of_the_schema(server, endpoint):
    server.replies = [{**chat("{}"), "usage": {"total_tokens": 12}}]
    completion = ask(endpoint)
    assert (completion.text, completion.tokens, completion.cut_off) == ("{}", 12, False)
    (sent,) = server.requests
    assert (sent["model"], sent["temperature"], sent["max_tokens"]) == ("tiny", 0, 7)
    assert sent["messages"] == MESSAGES
    assert sent["response_format"]["json_schema"]["schema"] == SCHEMA
    assert server.authorizations == [f"Bearer {KEY}"]


def test_an_endpoint_without_schemas_is_asked_for_an_object_then_for_text_and_that_is_remembered(
    server, endpoint
):
    def picky(request):
        return (400, "response_format is not supported") if "response_format" in request else "{}"

    server.replies = [picky]
    assert ask(endpoint).text == "{}"
    formats = [request.get("response_format", {}).get("type") for request in server.requests]
    assert formats == ["json_schema", "json_object", None]
    ask(endpoint)
    assert len(server.requests) == 4


def test_an_endpoint_that_wants_other_parameters_gets_them(server, endpoint):
    def modern(request):
        if "max_tokens" in request:
            return 400, "use max_completion_tokens instead of max_tokens"
        return (400, "temperature does not support 0") if "temperature" in request else "{}"

    server.replies = [modern]
    ask(endpoint)
    assert server.requests[-1]["max_completion_tokens"] == 7
    assert server.requests[-1]["response_format"]["type"] == "json_schema"


def test_a_refusal_that_no_other_way_of_asking_helps_ends_after_all_of_them(server, endpoint):
    server.replies = [(400, "context length exceeded")]
    with pytest.raises(ChatError, match="HTTP 400") as caught:
        ask(endpoint)
    assert not caught.value.again
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("status", "again"), [(429, True), (500, True), (503, True), (401, False), (404, False), (302, False)]
)
def test_a_status_tells_whether_to_try_again(server, endpoint, status, again):
    server.headers = {"Retry-After": "3"}
    server.replies = [(status, f"no, {KEY}")]
    with pytest.raises(ChatError, match=f"HTTP {status}") as caught:
        ask(endpoint)
    assert (caught.value.again, caught.value.wait_s) == (again, 3.0)
    assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    "body",
    [
        Raw(""),
        Raw("nonsense"),
        Raw("[]"),
        Raw('{"choices": NaN}'),
        Raw("[" * 100_000),
        Raw("\ud800"),
        {"choices": []},
        {"choices": [{}]},
        chat(None),
        chat("  "),
        chat([1]),
    ],
)
def test_an_answer_that_is_none_is_said_to_be_none(server, endpoint, body):
    server.replies = [body]
    with pytest.raises(ChatError, match=r"not a chat answer|an empty answer") as caught:
        ask(endpoint)
    assert caught.value.again


def test_no_answer_in_time_ends_in_time(server, endpoint):
    server.hang = True
    with pytest.raises(ChatError, match="no answer within") as caught:
        ask(endpoint, 0.2)
    assert not caught.value.again


def test_an_answer_that_trickles_without_end_ends_in_time(server, endpoint):
    server.replies, server.trickle = ["x" * 5000], True
    with pytest.raises(ChatError, match="no whole answer within"):
        ask(endpoint, 0.3)


def test_an_answer_without_end_is_cut_off(server, endpoint):
    server.replies = ["x" * (5 << 20)]
    with pytest.raises(ChatError, match="answer above"):
        ask(endpoint)


def test_nobody_there_is_worth_another_try(server):
    server.close()
    endpoint = ChatEndpoint("tiny", base_url=server.base_url)
    with pytest.raises(ChatError, match="connection failed") as caught:
        ask(endpoint)
    assert caught.value.again
    endpoint.close()


def test_a_key_or_address_that_cannot_be_sent_is_refused_without_showing_it():
    with pytest.raises(InvalidArgumentError, match="llm_api_key") as caught:
        ChatEndpoint("tiny", base_url="http://x/v1", api_key="schlüssel\n")
    assert "schl" not in str(caught.value)
    with pytest.raises(InvalidArgumentError, match="llm_base_url"):
        ChatEndpoint("tiny", base_url="http://[::1")
