"""Secrets of a log never get into a lesson, its evidence or a summary."""

import pytest
from siltstone.hindsight import lesson_text, look_back, summarize_run
from siltstone.hindsight.masking import is_secret_name
from siltstone.model import Outcome


@pytest.mark.parametrize(
    ("said", "arguments"),
    [
        ("The cause was user root; changed it, hunter2xx stays.", {"user": "app", "password": "hunter2xx"}),
        ("The cause was user root; password=hunter2xx stays.", {"user": "app"}),
        ("The cause was the URL mysql://root:hunter2xx@db.", {"user": "app"}),
        ("原因是用户不对，密码是hunter2xx，不用改。", {"用户": "app", "密码": "hunter2xx"}),
        ("The cause was the header Authorization: Bearer hunter2xx.", {"apiKey": "hunter2xx"}),
        ("The cause was the user, hunter2xx is right.", {"auth": [{"clientSecret": "hunter2xx"}]}),
    ],
)
def test_a_secret_is_masked_in_text_evidence_and_summary(run_of, assert_proven, said, arguments):
    connect = {"tool": "connect", "arguments": {"host": "db", **arguments}}
    trajectory = run_of(
        "Log in to db",
        {
            **connect,
            "gives": "Error: access denied for hunter2xx" if "user, hunter" in said else "Error: denied",
        },
        {"text": said, "tool": "update_config", "arguments": arguments, "gives": "saved"},
        {**connect, "gives": "connected OK"},
    )
    lessons = look_back(trajectory)
    assert lessons
    assert lessons[0].lesson.root_cause
    shown = str(lessons) + "".join(map(lesson_text, lessons)) + summarize_run(trajectory, lessons)
    assert "hunter2xx" not in shown
    assert "***" in shown
    assert_proven(trajectory, lessons)


def test_a_secret_in_the_goal_is_masked(run_of):
    trajectory = run_of(
        "Use the key sk-abcdef123456 to call the API",
        {"do": "curl -H 'Authorization: Bearer sk-abcdef123456' http://x", "gives": "HTTP/1.1 200 OK"},
        outcome=Outcome.SUCCESS,
    )
    lessons = look_back(trajectory)
    assert len(lessons) == 1
    assert "sk-abcdef" not in str(lessons) + summarize_run(trajectory, lessons)


def test_a_short_secret_is_masked_as_a_word_only(run_of):
    trajectory = run_of(
        "Open the rooted vault",
        {"tool": "open_vault", "arguments": {"password": "root"}, "gives": "vault is open"},
        {"text": "I opened the vault with root, the rooted one."},
    )
    (found,) = look_back(trajectory)
    assert "with ***, the rooted one" in found.lesson.solution


@pytest.mark.parametrize(
    "name", ["password", "api_key", "apiKey", "API-KEY", "access_token", "db_password", "密码"]
)
def test_names_of_secrets_are_known(name):
    assert is_secret_name(name)


@pytest.mark.parametrize(
    "name", ["max_tokens", "tokens_used", "author", "passenger", "keyboard", "payment_id"]
)
def test_other_names_are_not(name):
    assert not is_secret_name(name)
