"""How many tokens may go to the endpoint in a day."""

import threading
from collections.abc import Callable
from datetime import UTC, date, datetime


class TokenBudget:
    """Counts tokens, in and out, for each UTC day of this process.

    Args:
        daily: the most for one day; None: no limit.
    """

    def __init__(
        self, daily: int | None, *, today: Callable[[], date] = lambda: datetime.now(UTC).date()
    ) -> None:
        self._daily = daily
        self._today = today
        self._lock = threading.Lock()
        self._day: date | None = None
        self._spent = 0

    def reserve(self, tokens: int) -> bool:
        """Take `tokens` from today's budget; False, and nothing taken, where they do not fit."""
        with self._lock:
            self._turn_day()
            if self._daily is not None and self._spent + tokens > self._daily:
                return False
            self._spent += tokens
            return True

    def settle(self, reserved: int, used: int) -> None:
        """Replace a reservation by what was used."""
        with self._lock:
            self._turn_day()
            self._spent = max(0, self._spent - reserved + used)

    def _turn_day(self) -> None:
        today = self._today()
        if today != self._day:
            self._day, self._spent = today, 0
