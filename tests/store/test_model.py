"""The store against a dictionary that does the same."""

import tempfile
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule
from siltstone.errors import NotFoundError
from siltstone.model import HindsightJob, JobState, Memory, Step, Task
from siltstone.store import Store, content_digest, records

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
contents = st.sampled_from(["一", "二", "三", "four", "a\0b", ""])
seeds = st.integers(1, 5)


class Undo(Exception):
    """Raised by an operation that must leave nothing."""


class StoreModel(RuleBasedStateMachine):
    memories = Bundle("memories")
    namespaces = Bundle("namespaces")
    tasks = Bundle("tasks")

    def __init__(self):
        super().__init__()
        self.directory = tempfile.TemporaryDirectory()
        self.numbers = {"default": 1, "public": 2}
        self.expected: dict[str, Memory] = {}
        self.vectors: dict[str, np.ndarray] = {}
        self.revisions: dict[str, list[Memory]] = {}
        self.steps: dict[str, list[Step]] = {}
        self.jobs: dict[str, HindsightJob] = {}
        self.index: dict[int, dict[bytes, tuple[bytes, bytes]]] = {}
        self.seqs: list[int] = []
        self.open()

    def open(self):
        self.store = Store(
            Path(self.directory.name) / "data", applier=self.apply, map_size=256 << 10, retention=20
        )

    def apply(self, changes):
        for change in changes:
            self.seqs.append(change.seq)
            index = self.index.setdefault(change.namespace, {})
            for id in change.removes:
                index.pop(id, None)
            for record, packed in change.puts:
                index[records.unpack(record)["id"]] = (record, packed)

    def teardown(self):
        self.store.close()
        self.directory.cleanup()

    @initialize(target=namespaces)
    def start(self):
        return multiple("default", "public")

    @rule(target=namespaces)
    def default(self):
        return "default"

    @rule(target=namespaces, name=st.sampled_from(["团队/甲", "team/b"]))
    def create_namespace(self, name):
        if name in self.numbers:
            return multiple()
        record = self.store.commit(lambda w: w.create_namespace(name))
        assert record.number > max(self.numbers.values())
        self.numbers[name] = record.number
        self.store.commit(lambda w: w.bind_model(record.number, "m", 2))
        return name

    @rule(name=consumes(namespaces))
    def delete_namespace(self, name):
        if name not in self.numbers:
            return
        number = self.numbers.pop(name)
        self.store.commit(lambda w: w.delete_namespace(number))
        self.index.pop(number, None)
        for kept in (self.expected, self.jobs):
            for id in [id for id, thing in kept.items() if thing.namespace == name]:
                del kept[id]
        if name in ("default", "public"):
            with self.store.read() as reader:
                self.numbers[name] = reader.namespace(name).number

    @rule(target=memories, name=namespaces, content=contents, seed=st.none() | seeds)
    def create(self, name, content, seed):
        if name not in self.numbers:
            return multiple()

        def operation(w):
            w.bind_model(w.namespace(name).number, "m", 2)
            return w.put_memory(Memory(content=content, namespace=name), seed and [[seed, 1]])

        stored = self.store.commit(operation)
        self.expected[stored.id] = stored
        self.revisions[stored.id] = []
        if seed:
            self.vectors[stored.id] = np.array([[seed, 1]], np.float32)
        return stored.id

    @rule(
        id=memories,
        content=contents,
        seed=st.none() | seeds,
        gone=st.booleans(),
        former=st.sampled_from(["", "updated"]),
    )
    def update(self, id, content, seed, gone, former):
        old = self.expected.get(id)
        if old is None:
            return
        new = replace(old, content=content, invalidate_time=LONG_AGO if gone else None)
        stored = self.store.commit(lambda w: w.put_memory(new, seed and [[seed, 2]], former=former))
        assert stored.revision == old.revision + 1
        if former:
            self.revisions[id].append(old)
        if seed:
            self.vectors[id] = np.array([[seed, 2]], np.float32)
        self.expected[id] = stored

    @rule(id=consumes(memories))
    def erase(self, id):
        assert self.store.commit(lambda w: w.erase_memory(id)) == (id in self.expected)
        self.expected.pop(id, None)

    @rule(id=memories, content=contents)
    def fail_halfway(self, id, content):
        def operation(w):
            w.put_memory(Memory(content=content), None)
            w.erase_memory(id)
            w.create_namespace("nowhere")
            raise Undo

        try:
            self.store.commit(operation)
        except Undo:
            return
        raise AssertionError("the error was lost")

    @rule(target=tasks, name=namespaces)
    def create_task(self, name):
        if name not in self.numbers:
            return multiple()
        task = self.store.commit(lambda w: w.put_task(Task(goal="目标", namespace=name)))
        self.steps[task.id] = []
        return task.id

    @rule(id=tasks, texts=st.lists(contents, max_size=3))
    def append_steps(self, id, texts):
        with self.store.read() as reader:
            exists = reader.task(id) is not None
        if exists:
            self.steps[id] += self.store.commit(
                lambda w: w.append_steps(id, [Step(text=text) for text in texts])
            )
        else:
            with pytest.raises(NotFoundError):
                self.store.commit(lambda w: w.append_steps(id, [Step()]))

    @rule(name=namespaces, state=st.sampled_from(JobState))
    def put_job(self, name, state):
        if name in self.numbers:
            job = self.store.commit(lambda w: w.put_job(HindsightJob(namespace=name, state=state)))
            self.jobs[job.id] = job

    @rule()
    def reopen(self):
        seq = self.store.info().seq
        self.store.close()
        self.open()
        assert self.store.info().seq == seq

    @rule(namespace=namespaces, data=st.data())
    def replay(self, namespace, data):
        """An index that stopped at any seq the log reaches catches up to what a rebuild gives."""
        if namespace not in self.numbers:
            return
        number = self.numbers[namespace]
        with self.store.read() as reader:
            changes = reader.changes(number, data.draw(st.integers(0, reader.seq)))
            rebuilt = {records.unpack(record)["id"]: (record, v) for record, v in reader.scan_records(number)}
            touched = set()
            for change in changes or []:
                for record, packed in change.puts:
                    assert rebuilt[records.unpack(record)["id"]] == (record, packed)
                    touched.add(records.unpack(record)["id"])
                assert rebuilt.keys().isdisjoint(change.removes)
            assert len(touched) == sum(len(change.puts) for change in changes or [])

    @invariant()
    def agrees(self):
        with self.store.read() as reader:
            assert {n.name: n.number for n in reader.namespaces()} == self.numbers
            assert self.seqs == sorted(self.seqs)
            for name, number in self.numbers.items():
                here = {id: m for id, m in self.expected.items() if m.namespace == name}
                live = {id: m for id, m in here.items() if m.invalidate_time is None}
                assert {m.id: m for m in reader.scan_memories(number)} == here
                assert reader.count_memories(number) == len(live)
                indexed = {id for id in live if id in self.vectors}
                scanned = {records.unpack(r)["id"]: (r, v) for r, v in reader.scan_records(number)}
                assert {records.decode(r, Memory).id for r, _ in scanned.values()} == indexed
                assert self.index.get(number, {}) == scanned
                for content in {m.content for m in here.values()}:
                    same = [id for id, m in live.items() if m.content == content]
                    assert reader.by_content_hash(number, content_digest(content)) == min(same, default=None)
            for id, memory in self.expected.items():
                assert reader.memory(id) == memory
                assert [r.memory for r in reader.revisions(id)] == self.revisions[id]
                found = reader.vectors(id)
                assert (found is None) == (id not in self.vectors)
                assert found is None or np.array_equal(found, self.vectors[id])
            for id, steps in self.steps.items():
                if reader.task(id):
                    assert list(reader.steps(id)) == steps
                    assert reader.task(id).step_count == len(steps)
            assert {job.id: job for job in reader.jobs()} == self.jobs
            waiting = {JobState.QUEUED, JobState.RUNNING}
            assert {j.id for j in reader.jobs(states=waiting)} == {
                id for id, job in self.jobs.items() if job.state in waiting
            }


StoreModel.TestCase.settings = settings(
    max_examples=25,
    stateful_step_count=40,
    deadline=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)
test_the_store_does_what_a_dictionary_does = StoreModel.TestCase
