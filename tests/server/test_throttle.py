"""How often an address may show tokens that are not good, and that others are not held up by it."""

import pytest
from siltstone.errors import ResourceExhaustedError
from siltstone.server.throttle import EVERY_S, FAILURES, PEER_FAILURES, Throttle, network


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def refused(throttle: Throttle, peer: str, caller: str = "") -> bool:
    try:
        throttle.check(peer, caller)
    except ResourceExhaustedError as error:
        return error.reason == "TOO_MANY_ATTEMPTS"
    return False


def fail(throttle: Throttle, times: int, peer: str, caller: str = "") -> None:
    for _ in range(times):
        throttle.failed(peer, caller)


def test_an_address_is_held_up_after_its_failures_and_let_in_again_with_time() -> None:
    clock = Clock()
    throttle = Throttle(clock)
    fail(throttle, FAILURES - 1, "10.0.0.1")
    assert not refused(throttle, "10.0.0.1")
    fail(throttle, 1, "10.0.0.1")
    assert refused(throttle, "10.0.0.1")
    assert not refused(throttle, "10.0.0.2")
    clock.now += EVERY_S + 0.001
    assert not refused(throttle, "10.0.0.1")
    fail(throttle, 1, "10.0.0.1")
    assert refused(throttle, "10.0.0.1")


def test_one_caller_behind_a_gateway_does_not_hold_up_another() -> None:
    throttle = Throttle(Clock())
    fail(throttle, FAILURES + 5, "127.0.0.1", "10.0.0.1")
    assert refused(throttle, "127.0.0.1", "10.0.0.1")
    assert not refused(throttle, "127.0.0.1", "10.0.0.2")
    assert not refused(throttle, "127.0.0.1")


def test_a_peer_that_makes_up_callers_is_held_up_all_the_same() -> None:
    throttle = Throttle(Clock())
    for i in range(PEER_FAILURES):
        throttle.failed("10.0.0.9", f"10.1.{i // 250}.{i % 250}")
    assert refused(throttle, "10.0.0.9", "10.2.0.1")
    assert not refused(throttle, "10.0.0.8", "10.2.0.1")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("2001:db8::1", "2001:db8::ffff:1", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("::ffff:10.0.0.1", "10.0.0.1", True),
        ("10.0.0.1", "10.0.0.2", False),
        ("fe80::1%eth0", "fe80::2", True),
        ("unix", "unix", True),
    ],
)
def test_what_counts_as_one_address(one: str, other: str, same: bool) -> None:
    assert (network(one) == network(other)) is same


def test_addresses_are_forgotten_before_they_fill_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("siltstone.server.throttle.KEPT", 5)
    throttle = Throttle(Clock())
    for i in range(50):
        throttle.failed(f"10.0.0.{i}")
    assert len(throttle._peers._left) == 5
