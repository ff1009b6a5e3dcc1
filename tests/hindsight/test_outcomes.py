"""How a run ended, told from its log alone."""

import pytest
from siltstone.hindsight import look_back
from siltstone.hindsight.extraction import observed_outcome
from siltstone.model import Outcome, Role

BOOKED = {"tool": "book", "arguments": {"flight": "HAT271", "amount": 305}, "gives": '{"id": "R1"}'}


@pytest.mark.parametrize(
    ("verdict", "outcome"), [("CORRECT", Outcome.SUCCESS), ("INCORRECT", Outcome.FAILURE)]
)
def test_a_graded_answer_tells_it(run_of, verdict, outcome):
    finish = {"tool": "Finish", "arguments": {"input": "1912"}, "gives": f"Answer is {verdict}"}
    assert observed_outcome(run_of("Which year?", finish)) is outcome


def test_a_log_that_ends_in_an_error_of_nobody_failed(run_of):
    trajectory = run_of(
        "Save the shelf",
        {"tool": "click", "arguments": {"label": "Save"}},
        {"role": Role.TOOL, "gives": "Failed at step 1", "is_error": True},
    )
    assert observed_outcome(trajectory) is Outcome.FAILURE


def test_a_failing_last_action_alone_tells_nothing_as_the_run_may_go_on(run_of):
    assert (
        observed_outcome(run_of("Fetch it", {"do": "curl x", "gives": "curl: (7) refused"}))
        is Outcome.UNKNOWN
    )


@pytest.mark.parametrize(
    "last", ["HAT271 has been booked successfully.", "I am unable to find a cheaper flight."]
)
def test_a_service_dialogue_does_not_tell_it(run_of, last):
    trajectory = run_of(
        "Book a flight",
        {"role": Role.USER, "text": "I want to book HAT271."},
        {
            "tool": "book",
            "arguments": {"flight": "HAT271", "amount": 255},
            "gives": "Error: total price is 305",
        },
        {"role": Role.USER, "text": "Then take the full price."},
        BOOKED,
        {"role": Role.USER, "text": "Thanks!"},
        {"text": last},
    )
    assert observed_outcome(trajectory) is Outcome.UNKNOWN
    assert look_back(trajectory)[0].outcome is Outcome.UNKNOWN


def test_a_call_that_worked_in_another_way_does_not_prove_the_run(run_of):
    trajectory = run_of(
        "Move the meeting",
        {"tool": "update_event", "arguments": {"id": 1, "at": "25:00"}, "gives": "Error: no such time"},
        {"tool": "update_event", "arguments": {"id": 1, "at": "15:00"}, "gives": '{"ok": true}'},
        {"text": "Let me see whether the others have been told."},
    )
    assert observed_outcome(trajectory) is Outcome.UNKNOWN
