"""Lessons by a model, and by the rules whenever the model does not give any that the log proves."""

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable

from siltstone import rust_core
from siltstone.hindsight.digest import trajectory_digest
from siltstone.hindsight.extractor import Extraction, Rules
from siltstone.hindsight.instructions import flags_of
from siltstone.hindsight.run import Run, numbered
from siltstone.hindsight.watching import Check, unwatched
from siltstone.llm.answer import SCHEMA, Checked, check_answer
from siltstone.llm.chat import ChatEndpoint, ChatError, Message
from siltstone.llm.prompt import corrected, messages_for
from siltstone.llm.spending import TokenBudget
from siltstone.model import Trajectory

log = logging.getLogger(__name__)

VERSION = 1  # of prompt and checks
_RETRIES = 2
_BACKOFF_S = 0.5
_KEPT = 32  # answers
_LOOK_S = 0.1  # between two looks whether the answer is still wanted
_SHARE_OF_TIME = 0.8  # of a call's time; the rest is for the rules and the write


def _wait(seconds: float, check: Check) -> None:
    """Let time pass, unless `check` raises."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        check()
        time.sleep(min(left, _LOOK_S))


class ModelExtractor:
    """Asks a model; what it claims is checked against the log (`check_answer`).

    Two retries, after an answer of which nothing holds or an endpoint that is busy; then the rules, and
    `Extraction.flags` says why. The same run asked again gets the same answer without asking the model, so
    that a dry run shows what will be kept and a repeat changes nothing.
    """

    def __init__(
        self,
        endpoint: ChatEndpoint,
        *,
        timeout_s: float,
        max_input_tokens: int,
        max_output_tokens: int,
        budget: TokenBudget,
        pause: Callable[[float, Check], None] = _wait,
    ) -> None:
        """
        Args:
            timeout_s: for all tries at one run together.
            max_input_tokens: of the log that is sent; a longer one is shortened in its middle.
            max_output_tokens: of one answer.
        """
        self.name = f"llm:{endpoint.model}/{VERSION}"
        self._endpoint = endpoint
        self._timeout_s = timeout_s
        self._max_input = max_input_tokens
        self._max_output = max_output_tokens
        self._budget = budget
        self._pause = pause
        self._rules = Rules()
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[str, ...], Extraction] = OrderedDict()

    def extract(
        self, trajectory: Trajectory, timeout: float | None = None, check: Check = unwatched
    ) -> Extraction:
        key = (trajectory_digest(trajectory), trajectory.outcome.value, trajectory.task_type)
        with self._lock:
            known = self._kept.get(key)
            if known is not None:
                self._kept.move_to_end(key)
                return known
        seconds = self._timeout_s if timeout is None else min(self._timeout_s, _SHARE_OF_TIME * timeout)
        checked, reason = self._asked(Run(numbered(trajectory), check), time.monotonic() + seconds, check)
        if not checked.lessons:
            log.warning("lessons by the rules, not by %s: %s", self.name, reason)
            extraction = self._rules.extract(trajectory, None, check)
            extraction.flags.append(f"by the rules, not by {self.name}: {reason}")
            return extraction
        flags = flags_of(trajectory, check)
        if checked.faults:
            # The faults repeat the model's words, which may be an order that it took from the log.
            flags.append(f"{len(checked.faults)} claims of the model dropped, as the log does not prove them")
        extraction = Extraction(checked.lessons, self.name, flags)
        with self._lock:
            self._kept[key] = extraction
            while len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        return extraction

    def close(self) -> None:
        self._endpoint.close()

    def _asked(self, run: Run, deadline: float, check: Check) -> tuple[Checked, str]:
        """The lessons that hold, or none and why."""
        if not run.steps:
            return Checked(), "the run has no steps"
        messages = question = messages_for(run, self._max_input)
        reason = ""
        for attempt in range(_RETRIES + 1):
            try:
                checked = self._answer(messages, run, deadline, check)
            except ChatError as error:
                reason = str(error)
                # Not what the endpoint said: it may repeat what it was sent.
                log.info("%s: %s", self.name, reason)
                wait_s = _BACKOFF_S * 2**attempt if error.wait_s is None else error.wait_s
                if not error.again or attempt == _RETRIES or time.monotonic() + wait_s >= deadline:
                    break
                self._pause(wait_s, check)
                continue
            if checked.lessons:
                return checked, ""
            reason = checked.reason
            messages = corrected(question, checked.faults)
        return Checked(), reason

    def _answer(self, messages: list[Message], run: Run, deadline: float, check: Check) -> Checked:
        sent = sum(rust_core.count_tokens(message["content"]) for message in messages)
        if not self._budget.reserve(sent + self._max_output):
            raise ChatError("the day's tokens (llm_daily_tokens) are spent", again=False)
        used = sent
        try:
            completion = self._endpoint.complete(
                messages, schema=SCHEMA, max_tokens=self._max_output, deadline=deadline, check=check
            )
            used = completion.tokens or sent + rust_core.count_tokens(completion.text)
        finally:
            self._budget.settle(sent + self._max_output, used)
        checked = check_answer(completion.text, run)
        if completion.cut_off and not checked.lessons:
            checked.faults.append(f"cut off at {self._max_output} tokens; be shorter")
            checked.reason = "its answer was cut off (llm_max_output_tokens)"
        return checked
