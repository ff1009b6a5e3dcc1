"""The rules of memories against a plain model of them: random writes, merges, supersessions, reports,
forgetting, erasing, other clocks, crashes and reopenings.

Short by default; `make soak` runs it long.
"""

import os
import shutil
import tempfile
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import siltstone
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, initialize, invariant, multiple, rule
from siltstone.config import Settings

HASHING = Settings(embedding_model="hashing", sweep_every_s=0.0, expired_grace_days=1.0, hindsight_workers=0)
LONG = bool(os.environ.get("SILTSTONE_SOAK"))
HOUR, DAY = timedelta(hours=1), timedelta(days=1)

# Texts without a word in common, so that only equal ones say the same and none is in conflict.
TEXTS = [
    "容器之间用服务名互相访问",
    "Sherlock played violin loudly",
    "珍珠奶茶少冰半糖",
]
texts = st.sampled_from(TEXTS)
namespaces = st.sampled_from(["default", "团队/乙"])
verdicts = st.sampled_from(["WORKED", "FAILED"])
moments = st.sampled_from([timedelta(0), 2 * HOUR, 2 * DAY])


@dataclass
class Known:
    """A memory as the rules say it must be."""

    id: str
    namespace: str
    content: str
    confidence: float
    valid_until: datetime | None = None
    pieces: dict[str, str] = field(default_factory=dict)  # task, "" for none → verdict
    reviews: list[str] = field(default_factory=list)
    authors: set[str] = field(default_factory=set)
    invalidated: bool = False
    superseded_by: str = ""

    @property
    def verification(self) -> str:
        if self.reviews:
            return {"CONFIRM": "CONFIRMED", "REFUTE": "REFUTED"}[self.reviews[-1]]
        good = sum(verdict != "FAILED" for verdict in self.pieces.values())
        bad = sum(verdict == "FAILED" for task, verdict in self.pieces.items() if task)
        if bad >= 2 and bad > 2 * good:
            return "REFUTED"
        return "CONFIRMED" if good >= 2 and "FAILED" not in self.pieces.values() else "PENDING"

    def observe(self, task: str, verdict: str) -> None:
        worth = {"FAILED": 0.0}
        n = len(self.pieces)
        if task in self.pieces:
            moved = (worth.get(verdict, 1.0) - worth.get(self.pieces.pop(task), 1.0)) / (2 + min(n, 8))
        else:
            moved = (worth.get(verdict, 1.0) - self.confidence) / (3 + min(n, 7))
        self.pieces[task] = verdict
        after = self.confidence + moved
        self.confidence = max(self.confidence, min(after, 0.95)) if moved > 0 else max(after, 0.0)

    def seen(self, now: datetime, *, expired: bool = False, refuted: bool = False, old: bool = False) -> bool:
        return (
            not self.invalidated
            and (old or not self.superseded_by)
            and (refuted or self.verification != "REFUTED")
            and (expired or self.valid_until is None or self.valid_until > now)
        )


class Rules(RuleBasedStateMachine):
    memories = Bundle("memories")
    tasks = Bundle("tasks")

    def __init__(self) -> None:
        super().__init__()
        self.root = tempfile.TemporaryDirectory()
        self.lives = 0
        self.known: dict[str, Known] = {}
        self.shown: dict[str, set[str]] = {}
        self.blind: set[str] = set()  # tasks whose log a crash may have cut
        self.gone: set[str] = set()
        self.actions: dict[str, list[str]] = {}
        self.start = datetime.now(UTC)
        self.mem = siltstone.open(self.path, settings=HASHING)

    @property
    def path(self) -> Path:
        return Path(self.root.name) / str(self.lives)

    def teardown(self) -> None:
        self.mem.close()
        self.root.cleanup()

    def note(self, id: str, action: str) -> None:
        self.actions.setdefault(id, []).append(action)

    @initialize(target=tasks)
    def first_tasks(self):
        return multiple(self.begin(), self.begin(), self.begin())

    @rule(target=tasks)
    def start_task(self):
        return self.begin()

    def begin(self) -> str:
        task = self.mem.start_task("目标").id
        self.shown[task] = set()
        return task

    def unaided(self, task: str, id: str) -> bool:
        return task not in self.blind and id not in self.shown[task]

    @rule(target=memories, namespace=namespaces, text=texts, task=st.none() | tasks, short=st.booleans())
    def write(self, namespace, text, task, short):
        return self.say(namespace, text, task, short)

    @rule(id=memories, task=tasks, read_first=st.booleans())
    def repeat(self, id, task, read_first):
        """A task says what a memory says, after reading it or unaided."""
        memory = self.known.get(id)
        if memory is not None and memory.content in TEXTS:
            if read_first:
                self.mem.get(id, task_id=task)
                self.shown[task].add(id)
            self.say(memory.namespace, memory.content, task, False)

    def say(self, namespace, text, task, short):
        valid_until = self.start + HOUR if short else None
        receipt = self.mem.write(
            text, namespace=namespace, task_id=task, confidence=0.6, valid_until=valid_until
        )
        id = receipt.memory.id
        same = [
            m
            for m in self.known.values()
            if (m.namespace, m.content, m.invalidated) == (namespace, text, False)
        ]
        current = min((m.id for m in same if not m.superseded_by), default=None)
        if current is not None:
            assert (receipt.action, id) == ("MERGED", current)
            old = self.known[current]
            old.valid_until = valid_until or old.valid_until
            if task and old.verification != "REFUTED" and task not in old.pieces and self.unaided(task, id):
                old.observe(task, "REACHED")
            self.note(id, "merged")
        else:
            assert id not in self.known
            assert receipt.action in ("CREATED", "CONFLICT")
            self.known[id] = Known(id, namespace, text, 0.6, valid_until)
            self.note(id, "created")
            for rival in receipt.memory.conflicts_with:
                self.note(rival, "conflict")
        if task:
            self.known[id].authors.add(task)
            self.shown[task].add(id)
        return id

    @rule(target=memories, id=memories, number=st.integers(0, 10**6))
    def supersede(self, id, number):
        """By a text of its own, which nothing else says."""
        old = self.known.get(id)
        if old is None or old.invalidated or old.superseded_by:
            return multiple()
        text = "".join(chr(0x4E00 + (number * 7919 + i * 104_729) % 20_000) for i in range(12))
        receipt = self.mem.write(
            text, namespace=old.namespace, supersedes=[id], confidence=0.5, on_duplicate="KEEP"
        )
        assert receipt.action == "SUPERSEDED"
        new = receipt.memory.id
        self.known[new] = Known(new, old.namespace, text, 0.5)
        old.superseded_by = new
        self.note(new, "created")
        self.note(id, "superseded")
        return new

    @rule(id=memories, task=tasks, how=st.sampled_from(["get", "search"]))
    def show(self, id, task, how):
        memory = self.known.get(id)
        if memory is None:
            return
        if how == "get":
            self.mem.get(id, task_id=task)
            self.shown[task].add(id)
        else:
            found = self.mem.search(memory.content, namespace=memory.namespace, task_id=task, top_k=3)
            self.shown[task] |= {hit.memory.id for hit in found.hits}

    @rule(id=memories, reports=st.lists(st.tuples(st.none() | tasks, verdicts), min_size=1, max_size=4))
    def report(self, id, reports):
        for task, verdict in reports:
            self.tell(id, task, verdict)

    def tell(self, id, task, verdict):
        memory = self.known.get(id)
        if memory is None or memory.invalidated:
            with pytest.raises((siltstone.NotFoundError, siltstone.FailedPreconditionError)):
                self.mem.verify(id, verdict, task_id=task)
            return
        self.mem.verify(id, verdict, task_id=task)
        self.note(id, verdict.lower())
        mine = memory.pieces.get(task or "")
        if verdict == "WORKED":
            if task and task not in memory.authors and mine != "WORKED":
                memory.observe(task, "WORKED")
        elif mine != "FAILED":
            memory.observe(task or "", "FAILED")

    @rule(id=memories, verdict=st.sampled_from(["CONFIRM", "REFUTE"]))
    def review(self, id, verdict):
        memory = self.known.get(id)
        if memory is None or memory.invalidated:
            return
        self.mem.verify(id, verdict, reviewer="审计员")
        memory.reviews.append(verdict)
        confirmed = verdict == "CONFIRM"
        memory.confidence = max(memory.confidence, 0.95) if confirmed else min(memory.confidence, 0.05)
        self.note(id, "confirmed" if confirmed else "refuted")

    @rule(id=memories)
    def forget(self, id):
        memory = self.known.get(id)
        if memory is None:
            return
        assert self.mem.forget(ids=id).count == (not memory.invalidated)
        if not memory.invalidated:
            memory.invalidated = True
            self.note(id, "invalidated")

    @rule(id=memories)
    def restore(self, id):
        memory = self.known.get(id)
        if memory is None:
            return
        if memory.invalidated:
            memory.invalidated = False
        elif memory.superseded_by:
            self.note(memory.superseded_by, "restored")
            memory.superseded_by = ""
        else:
            with pytest.raises(siltstone.FailedPreconditionError):
                self.mem.restore_memory(id)
            return
        self.mem.restore_memory(id)
        self.note(id, "restored")

    @rule(id=memories)
    def erase_what_replaced_it(self, id):
        if id in self.known and self.known[id].superseded_by:
            self.erase_one(self.known[id].superseded_by)

    @rule(id=consumes(memories))
    def erase(self, id):
        self.erase_one(id)

    def erase_one(self, id):
        if id not in self.known:
            with pytest.raises(siltstone.NotFoundError):
                self.mem.forget(ids=id, mode="ERASE")
            return
        assert self.mem.forget(ids=id, mode="ERASE").ids == [id]
        self.remove(id, "erased")

    def remove(self, id: str, action: str) -> None:
        gone = self.known.pop(id)
        self.gone.add(id)
        for other in self.known.values():
            if other.superseded_by == id:
                other.superseded_by = gone.superseded_by
        self.note(id, action)

    @rule(after=moments)
    def sweep(self, after):
        now = datetime.now(UTC) + after
        due = [m.id for m in self.known.values() if m.valid_until and m.valid_until < now - DAY]
        assert self.mem.engine.sweeper.sweep(now) == len(due)
        for id in due:
            self.remove(id, "expired")

    @rule()
    def reopen(self):
        self.mem.close()
        self.mem = siltstone.open(self.path, settings=HASHING)

    @rule()
    def crash(self):
        """Go on with what the disk holds while the store is open."""
        before = self.path
        self.lives += 1
        shutil.copytree(before, self.path)
        self.mem.close()
        shutil.rmtree(before)
        self.mem = siltstone.open(self.path, settings=HASHING)
        self.blind |= self.shown.keys()

    @rule(
        after=moments, expired=st.booleans(), refuted=st.booleans(), old=st.booleans(), namespace=namespaces
    )
    def look(self, after, expired, refuted, old, namespace):
        if namespace not in {n.name for n in self.mem.namespaces()}:
            with pytest.raises(siltstone.NotFoundError):
                self.mem.search(namespace=namespace)
            return
        now = self.start + after
        asked = {"include_expired": expired, "include_refuted": refuted, "include_superseded": old}
        for query in (None, TEXTS[0]):
            found = self.mem.search(query, namespace=namespace, now=now, top_k=1000, **asked)
            expected = {
                m.id
                for m in self.known.values()
                if m.namespace == namespace and m.seen(now, expired=expired, refuted=refuted, old=old)
            }
            assert {hit.memory.id for hit in found.hits} == expected

    @rule(namespace=namespaces)
    def count(self, namespace):
        if namespace in {n.name for n in self.mem.namespaces()}:
            live = {m.id for m in self.known.values() if m.namespace == namespace and not m.invalidated}
            assert {m.id for m in self.mem.list(namespace, page_size=1000)} == live
            assert self.mem.stats(namespace).memories == len(live)

    @rule()
    def read_the_log(self):
        found: dict[str, list[str]] = {}
        token = ""
        while True:
            page = self.mem.audit_log(page_size=1000, page_token=token)
            for event in page:
                if event.action != "unlinked":
                    found.setdefault(event.memory_id, []).append(event.action)
            if not (token := page.next_page_token):
                break
        assert {id: sorted(actions) for id, actions in found.items()} == {
            id: sorted(actions) for id, actions in self.actions.items()
        }

    @rule()
    def check(self):
        assert self.mem.check().problems == []

    @invariant()
    def every_memory_is_as_the_rules_say(self):
        if self.known:
            for memory in self.mem.get(list(self.known)):
                known = self.known[memory.id]
                assert (memory.namespace, memory.content) == (known.namespace, known.content)
                assert memory.confidence == pytest.approx(known.confidence)
                assert memory.verification == known.verification
                assert memory.superseded_by == known.superseded_by
                assert (memory.invalidate_time is not None) == known.invalidated
                assert memory.valid_until == known.valid_until
                pieces = {e.task_id: e.verdict for e in memory.evidence if not e.reviewer}
                assert pieces == known.pieces
        for id in self.gone:
            with pytest.raises(siltstone.NotFoundError):
                self.mem.get(id)


Rules.TestCase.settings = settings(
    max_examples=300 if LONG else 15,
    stateful_step_count=80 if LONG else 40,
    # Shrinking opens a store for each try, for minutes: `make soak` does it.
    phases=tuple(Phase) if LONG else (Phase.explicit, Phase.reuse, Phase.generate),
    deadline=None,
    print_blob=True,
    suppress_health_check=list(HealthCheck),
)
test_memories_follow_their_rules = pytest.mark.timeout(36_000 if LONG else 120)(Rules.TestCase)
