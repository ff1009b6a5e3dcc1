import threading
import uuid
from itertools import pairwise

from siltstone.store.ids import IdFactory


def test_an_id_is_a_uuid_of_version_7_with_its_time():
    id = uuid.UUID(bytes=IdFactory().make(1_700_000_000_123_456))
    assert (id.version, id.variant) == (7, uuid.RFC_4122)
    assert id.int >> 80 == 1_700_000_000_123


def test_ids_increase_within_a_millisecond_and_when_the_clock_is_set_back():
    factory = IdFactory()
    times = [5_000_000] * 20_000 + [1_000_000] * 1000 + [6_000_000]
    ids = [factory.make(time) for time in times]
    assert all(a < b for a, b in pairwise(ids))
    assert {uuid.UUID(bytes=id).version for id in ids} == {7}


def test_ids_of_a_full_millisecond_go_on_in_the_next():
    factory = IdFactory()
    first = factory.make(1_000)
    factory._tail = (1 << 74) - 1
    second = factory.make(1_000)
    assert second > first
    assert uuid.UUID(bytes=second).int >> 80 == 2
    assert uuid.UUID(bytes=second).version == 7


def test_threads_get_different_ids():
    factory = IdFactory()
    ids: list[bytes] = []
    threads = [
        threading.Thread(target=lambda: ids.extend([factory.make(1) for _ in range(500)])) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert len(set(ids)) == 4000
