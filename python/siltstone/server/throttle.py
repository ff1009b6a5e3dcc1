"""How often an address may fail to show a good token.

Two buckets of attempts (a token bucket each, RFC 2697) stand before the look at a token that was not seen to
be good before: one for the caller's address, and one, larger, for the peer that the connection comes from,
since a gateway says for whom it calls and could say anything. Callers whose token is known to be good are
never held up, so nobody locks out others who come from the same address.
"""

import ipaddress
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from siltstone.errors import ResourceExhaustedError

FAILURES = 10  # at once, of one caller
PEER_FAILURES = 100  # at once, of one peer
EVERY_S = 6.0  # seconds until a caller may fail once more; a peer may ten times
KEPT = 10_000  # addresses; beyond, the least recent are forgotten


class Throttle:
    """For any thread. `clock` gives seconds."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._callers = _Buckets(FAILURES, 1 / EVERY_S)
        self._peers = _Buckets(PEER_FAILURES, 10 / EVERY_S)

    def check(self, peer: str, caller: str = "") -> None:
        """ResourceExhaustedError (TOO_MANY_ATTEMPTS) when this caller, or this peer, failed too often."""
        now = self._clock()
        with self._lock:
            wait = max(
                self._callers.wait((network(peer), network(caller)), now),
                self._peers.wait(network(peer), now),
            )
        if wait > 0:
            raise ResourceExhaustedError(
                f"authorization: too many tokens that are not good came from this address; try again in "
                f"{wait:.0f} s with one that is",
                reason="TOO_MANY_ATTEMPTS",
                field="authorization",
            )

    def failed(self, peer: str, caller: str = "") -> None:
        now = self._clock()
        with self._lock:
            self._callers.take((network(peer), network(caller)), now)
            self._peers.take(network(peer), now)


class _Buckets:
    """One bucket a key: how much is left of it, and when that was so."""

    def __init__(self, size: float, a_second: float) -> None:
        self._size = size
        self._a_second = a_second
        self._left: OrderedDict[object, tuple[float, float]] = OrderedDict()

    def wait(self, key: object, now: float) -> float:
        """Seconds until something is left; 0 when something is."""
        left = self._now(key, now)
        return 0.0 if left >= 1 else max(1.0, (1 - left) / self._a_second)

    def take(self, key: object, now: float) -> None:
        self._left[key] = max(0.0, self._now(key, now) - 1), now
        self._left.move_to_end(key)
        if len(self._left) > KEPT:
            self._left.popitem(last=False)

    def _now(self, key: object, now: float) -> float:
        left, since = self._left.get(key, (self._size, now))
        return min(self._size, left + (now - since) * self._a_second)


def network(address: str) -> str:
    """What counts as one address: of IPv6 a /64, of which one machine has all addresses."""
    try:
        ip = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return address[:64]
    if ip.version == 6 and ip.ipv4_mapped is not None:
        return str(ip.ipv4_mapped)
    return str(ipaddress.ip_network((ip, 64), strict=False)) if ip.version == 6 else str(ip)
