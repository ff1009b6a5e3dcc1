"""Commits, refusals, snapshots and digests."""

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

AXIS = np.eye(8)


def fill(core: Any, numbers: Any, collection: int = 1) -> None:
    rng = np.random.default_rng(1)
    vectors = {number: rng.normal(size=(1 + number % 3, 8)) for number in range(200)}
    core.apply(
        [
            (
                core.record(
                    number,
                    f"记忆 {number} 数据库",
                    tags=["甲", "乙"][: number % 3],
                    attributes={"mysql": f"8.0.{number}"},
                    sequence="会话",
                    position=number,
                ),
                core.pack(vectors[number]),
            )
            for number in numbers
        ],
        collection=collection,
    )


def test_a_commit_is_visible_at_once_and_applied_once(core: Any) -> None:
    core.put(1, "one", AXIS[0])
    assert core.found(AXIS[0]) == [1]
    core.index.apply(1, core.seq, [(core.record(2), core.pack(AXIS[1]))], [core.id(1)])
    assert core.found(AXIS[0]) == [1]
    assert core.index.status(1).applied_seq == core.seq


def test_removes_come_before_puts_and_the_last_put_wins(core: Any) -> None:
    core.put(1, "one", AXIS[0])
    core.apply(
        [
            (core.record(1, "middle", tags=["m"]), core.pack(AXIS[1])),
            (core.record(1, "last", tags=["l"]), core.pack(AXIS[2])),
        ],
        removes=[core.id(1), core.id(77)],
    )
    status = core.index.status(1)
    assert (status.memories, status.vectors) == (1, 1)
    assert core.select({"tags_any": ["l"]}) == [1]
    assert core.select({"tags_any": ["m"]}) == []
    assert core.index.vectors_of(1, core.id(1)) == core.pack(AXIS[2])


@pytest.mark.parametrize(
    ("fields", "vectors", "message"),
    [
        ({}, [float("nan")] + [0.0] * 7, r"puts\[1\]: vectors\[0\]: element 0 is NaN"),
        ({}, [[1.0] * 8, [0.0] * 7 + [float("inf")]], r"puts\[1\]: vectors\[1\]: element 7 is inf"),
        ({}, [0.0] * 8, r"puts\[1\]: vectors\[0\]: all zero"),
        ({}, [1.0] * 7, r"puts\[1\]: vectors: 28 bytes; must be n · 32"),
        ({}, [], r"puts\[1\]: vectors: 0 bytes"),
        ({"id": b"short"}, [1.0] * 8, r"puts\[1\]: record.id: "),
        ({"id": bytes(16)}, [1.0] * 8, r"puts\[1\]: record.id: missing"),
        ({"tags": "db"}, [1.0] * 8, r"puts\[1\]: record.tags: "),
        ({"confidence": 1.5}, [1.0] * 8, r"puts\[1\]: record.confidence: 1.5 is outside 0..1"),
        ({"confidence": float("nan")}, [1.0] * 8, r"puts\[1\]: record.confidence: NaN"),
        ({"event_time": "now"}, [1.0] * 8, r"puts\[1\]: record.event_time: "),
        ({"attributes": {"a": [1]}}, [1.0] * 8, r"puts\[1\]: record.attributes.a: "),
    ],
)
def test_a_refused_put_changes_nothing(core: Any, fields: Any, vectors: Any, message: str) -> None:
    core.put(1, "one", AXIS[0])
    before = core.index.digest(1)
    with pytest.raises(ValueError, match=message):
        core.apply(
            [
                (core.record(2), core.pack(AXIS[1])),
                (core.record(3, **fields), core.pack(vectors)),
            ],
            removes=[core.id(1)],
        )
    assert core.index.digest(1) == before
    assert core.index.status(1).applied_seq == core.seq - 1
    assert core.found(AXIS[0]) == [1]


def test_unknown_fields_and_absent_ones_are_no_error(core: Any) -> None:
    core.put(1, "one", AXIS[0], lesson={"problem": "?"}, revision=3, source=None)
    assert core.select({"confidence": {"gte": 0.5}}) == [1]


def test_a_collection_that_is_not_loaded_is_a_key_error(core: Any) -> None:
    calls = [
        lambda: core.index.status(9),
        lambda: core.index.digest(9),
        lambda: core.index.nearest(9, b"", 1),
        lambda: core.index.select(9, b"\xc0", 0),
        lambda: core.index.vectors_of(9, bytes(16)),
        lambda: core.index.apply(9, 1, [], []),
        lambda: core.search(AXIS[0], collections=(1, 9)),
    ]
    for call in calls:
        with pytest.raises(KeyError, match="collection 9 is not loaded"):
            call()
    assert not core.index.loaded(9)
    core.index.drop(9)
    core.index.drop(1)
    assert not core.index.loaded(1)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"top_k": 0}, r"requests\[1\].top_k: 0 is outside 1..=10000"),
        ({"top_k": 10_001}, r"requests\[1\].top_k: 10001"),
        ({"top_k": -1}, r"requests\[1\].top_k: "),
        ({"targets": []}, r"requests\[1\].targets: empty"),
        ({"min_score": float("nan")}, r"requests\[1\].min_score: NaN"),
        ({"window": [1]}, r"requests\[1\].window"),
        ({"text": None}, r"requests\[1\].text: "),
        ({"colour": 1}, r"requests\[1\].colour: unknown field"),
    ],
)
def test_a_bad_request_refuses_the_batch_by_name(core: Any, fields: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        core.search_many([core.request(AXIS[0]), core.request(AXIS[0], **fields)])


def test_bad_weights_and_targets_are_refused_by_name(core: Any) -> None:
    for name in ("similarity", "recency", "confidence", "lexical", "neighbours", "gate"):
        for bad in (-0.1, float("nan"), float("inf")):
            with pytest.raises(ValueError, match=rf"requests\[0\].weights.{name}: "):
                core.search(AXIS[0], weights=core.balanced | {name: bad})
    for half_life in (0, -5):
        with pytest.raises(ValueError, match=r"requests\[0\].weights.half_life: "):
            core.search(AXIS[0], weights=core.balanced | {"half_life": half_life})
    with pytest.raises(
        ValueError, match=r"requests\[0\].targets\[0\].vector: 28 bytes; dimension 8 needs 32"
    ):
        core.search([1.0] * 7)
    with pytest.raises(ValueError, match=r"requests\[0\].targets\[0\].vector: all zero"):
        core.search([0.0] * 8)
    with pytest.raises(ValueError, match=r"requests\[0\].targets\[1\].collection: 1 is named twice"):
        core.search(AXIS[0], collections=(1, 1))
    missing = core.request(AXIS[0])
    del missing["now"]
    with pytest.raises(ValueError, match=r"requests\[0\].*now"):
        core.search_many([missing])


def test_bad_arguments_are_value_errors(core: Any) -> None:
    for call in (
        lambda: core.index.create(2, 0, 0),
        lambda: core.index.create(2, 4097, 0),
        lambda: core.index.create(-1, 8, 0),
        lambda: core.index.create(2**64, 8, 0),
        lambda: core.index.load(1, 0),
        lambda: core.index.nearest(1, b"123", 1),
        lambda: core.index.nearest(1, core.pack(AXIS[0]), 0),
        lambda: core.index.vectors_of(1, b"short"),
        lambda: core.index.apply(1, 99, [], [b"short"]),
        lambda: core.index.snapshot(1),
    ):
        with pytest.raises(ValueError, match=r"\w"):
            call()


def test_the_digest_is_the_same_however_the_content_came_about(core: Any, make_core: Any) -> None:
    fill(core, range(1, 60))
    fill(core, range(100, 150))
    core.apply([], removes=[core.id(number) for number in range(100, 150)])
    other = make_core()
    other.create()
    for number in reversed(range(1, 60)):
        fill(other, [number])
    assert other.index.digest(1) == core.index.digest(1)
    assert other.index.status(1).removed == 0
    before = core.index.digest(1)
    core.put(7, "别的", AXIS[0])
    assert core.index.digest(1) != before
    assert len(before) == 16


def test_a_snapshot_brings_everything_back(tmp_path: Path, make_core: Any) -> None:
    core = make_core(str(tmp_path))
    core.create()
    fill(core, range(1, 100))
    core.apply([], removes=[core.id(number) for number in range(20, 40)])
    assert core.index.snapshot(1) == core.seq
    again = make_core(str(tmp_path))
    assert again.index.load(1, 8) == core.seq
    assert again.index.digest(1) == core.index.digest(1)
    for fields in (
        {"text": "数据库 7"},
        {"vector": AXIS[0]},
        {"vector": AXIS[1], "filter": {"tags_all": ["甲"]}},
    ):
        fields = {"top_k": 99, **fields}
        found = [(hit.id, hit.score, hit.support) for hit in again.search(**fields)]
        assert found == [(hit.id, hit.score, hit.support) for hit in core.search(**fields)]
    again.seq = core.seq
    for one in (core, again):
        one.put(7, "新的数据库", AXIS[2])
        one.apply([], removes=[one.id(8)])
    assert again.index.digest(1) == core.index.digest(1)
    assert again.found(text="新的") == core.found(text="新的")


def test_a_snapshot_of_another_dimension_or_none_at_all_is_not_loaded(tmp_path: Path, make_core: Any) -> None:
    core = make_core(str(tmp_path))
    core.create()
    fill(core, range(1, 5))
    core.index.snapshot(1)
    again = make_core(str(tmp_path))
    assert again.index.load(1, 9) is None
    assert again.index.load(2, 8) is None
    assert not again.index.loaded(1)
    core.index.drop(1, delete_snapshot=True)
    assert list(tmp_path.iterdir()) == []
    assert again.index.load(1, 8) is None


def test_any_damage_to_a_snapshot_is_noticed(tmp_path: Path, make_core: Any) -> None:
    core = make_core(str(tmp_path))
    core.create()
    fill(core, range(1, 30))
    core.index.snapshot(1)
    (file,) = tmp_path.iterdir()
    whole = file.read_bytes()
    again = make_core(str(tmp_path))
    step = max(1, len(whole) // 400)
    for position in [*range(40), *range(40, len(whole), step), len(whole) - 1]:
        damaged = bytearray(whole)
        damaged[position] ^= 1 << (position % 8)
        file.write_bytes(damaged)
        assert again.index.load(1, 8) is None, position
        file.write_bytes(whole[:position])
        assert again.index.load(1, 8) is None, position
    file.write_bytes(whole + b"\0")
    assert again.index.load(1, 8) is None
    file.write_bytes(whole)
    assert again.index.load(1, 8) == core.seq


def test_a_new_collection_leaves_no_old_snapshot_behind(tmp_path: Path, make_core: Any) -> None:
    core = make_core(str(tmp_path))
    core.create()
    fill(core, range(1, 5))
    core.index.snapshot(1)
    core.create()
    assert make_core(str(tmp_path)).index.load(1, 8) is None
    assert core.index.status(1).memories == 0


def test_loading_what_is_loaded_loses_nothing(tmp_path: Path, make_core: Any) -> None:
    core = make_core(str(tmp_path))
    core.create()
    fill(core, range(1, 5))
    core.index.snapshot(1)
    core.put(99, "later", AXIS[0])
    assert core.index.load(1, 8) == core.seq
    assert core.select({"ids": [core.id(99)]}) == [99]


def test_a_directory_that_cannot_be_made_is_an_os_error(tmp_path: Path, make_core: Any) -> None:
    (tmp_path / "file").write_text("here")
    with pytest.raises(OSError, match="file"):
        make_core(str(tmp_path / "file" / "below"))


def test_updates_do_not_grow_a_collection_without_bound(core: Any) -> None:
    for _ in range(30):
        fill(core, range(1, 101))
    status = core.index.status(1)
    assert status.memories == 100
    assert status.removed <= 1_000
    assert core.found(text="记忆 57")[0] == 57
    bytes = []
    for _ in range(40):
        fill(core, range(1, 101))
        bytes.append(core.index.status(1).bytes)
    # it grows up to a compaction, and no further up to the next
    assert max(bytes[20:]) <= max(bytes[:20])


def test_searches_go_on_while_commits_and_snapshots_happen(tmp_path: Path, make_core: Any) -> None:
    core = make_core(str(tmp_path))
    core.create()
    fill(core, range(1, 100))
    stop = threading.Event()
    failures: list[BaseException] = []

    def search() -> None:
        try:
            while not stop.is_set():
                assert len(core.search(AXIS[0], text="数据库", top_k=5)) == 5
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=search) for _ in range(4)]
    for thread in threads:
        thread.start()
    for round in range(20):
        fill(core, range(1 + round, 100 + round))
        core.index.snapshot(1)
    stop.set()
    for thread in threads:
        thread.join(timeout=30)
        assert not thread.is_alive()
    assert failures == []
    again = make_core(str(tmp_path))
    assert again.index.load(1, 8) == core.seq
    assert again.index.digest(1) == core.index.digest(1)
