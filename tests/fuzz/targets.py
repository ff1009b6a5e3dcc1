"""What reads bytes of others, as functions of bytes that may raise errors of the service and nothing else.

Run as a program it hands them to a coverage-guided fuzzer: targets.py NAME [corpus and options of libFuzzer];
targets.py --list names them. `scripts/fuzz.sh` runs them all.
"""

import contextlib
import itertools
import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

with contextlib.ExitStack() as _stack:
    if __name__ == "__main__" and "--list" not in sys.argv:
        import atheris

        _stack.enter_context(atheris.instrument_imports(include=["siltstone"]))
    from siltstone.data import from_data, to_data
    from siltstone.engine.pages import decode_token
    from siltstone.errors import InternalError, SiltstoneError
    from siltstone.hindsight import flags_of, read_trajectory, summarize_run
    from siltstone.hindsight.instructions import instruction_like
    from siltstone.model import Filter, HindsightJob, Memory, Revision, Task, Trajectory
    from siltstone.operations import OPERATIONS
    from siltstone.screening import mask, personal_data, secrets
    from siltstone.store import entries_of, keys, records
    from siltstone.timephrase import find_window
    from siltstone.wire import from_proto, to_proto
    from siltstone.wire.contract import METHODS, parse

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
UNREADABLE = "RECORD_UNREADABLE"  # what the store says of a record that a disk changed


def requests(data: bytes) -> None:
    """A message of any RPC, which the first byte chooses; what can be read can be written."""
    rpc = sorted(METHODS)[data[0] % len(METHODS)] if data else "WriteMemories"
    method = METHODS[rpc]
    with refusals():
        request = from_proto(parse(method.request, data[1:]), method.operation.request)
        to_proto(request, method.request)


def json_requests(data: bytes) -> None:
    """The same as JSON."""
    rpc = sorted(OPERATIONS)[data[0] % len(OPERATIONS)] if data else "WriteMemories"
    try:
        value = json.loads(data[1:])
    except (ValueError, RecursionError):
        return
    kind = OPERATIONS[rpc].request
    with refusals():
        request = from_data(kind, value)
        assert from_data(kind, to_data(request)) == request or "nan" in repr(request)


def stored_records(data: bytes) -> None:
    for kind in (Memory, Task, HindsightJob, Revision):
        try:
            records.decode(data, kind)
        except InternalError as error:
            if error.reason != UNREADABLE:
                raise
        except SiltstoneError:
            pass


def stored_chunks(data: bytes) -> None:
    with refusals():
        entries_of(data)


def trajectories(data: bytes) -> None:
    with refusals():
        reading = read_trajectory(data)
        assert isinstance(reading.trajectory, Trajectory)
        summarize_run(reading.trajectory, [])
        flags_of(reading.trajectory)


def words_for_time(data: bytes) -> None:
    text = data.decode(errors="replace")
    found = find_window(text, NOW)
    if found is not None and found.window.start and found.window.end:
        assert found.window.start <= found.window.end


def screened_texts(data: bytes) -> None:
    text = data.decode(errors="replace")
    instruction_like(text)
    for find in (secrets, personal_data):
        found = find(text)
        assert all(0 <= f.start < f.end <= len(text) for f in found)
        assert all(a.end <= b.start for a, b in itertools.pairwise(found))
        mask(text, found)


def page_tokens_and_ids(data: bytes) -> None:
    text = data.decode(errors="replace")
    with refusals():
        decode_token(text, ("ListMemories",))
    with refusals():
        keys.parse_id(text)


def filters(data: bytes) -> None:
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return
    with refusals():
        from_data(Filter, value)


@contextlib.contextmanager
def refusals() -> Any:
    """Errors of the service are answers, but for INTERNAL."""
    try:
        yield
    except InternalError:
        raise
    except SiltstoneError:
        pass


TARGETS: dict[str, Callable[[bytes], None]] = {
    target.__name__: target
    for target in (
        requests,
        json_requests,
        stored_records,
        stored_chunks,
        trajectories,
        words_for_time,
        screened_texts,
        page_tokens_and_ids,
        filters,
    )
}

if __name__ == "__main__":
    if "--list" in sys.argv:
        print("\n".join(TARGETS))
    else:
        name = sys.argv.pop(1)
        atheris.Setup(sys.argv, TARGETS[name])
        atheris.Fuzz()
