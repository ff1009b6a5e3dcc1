from datetime import UTC, datetime

import pytest
from siltstone.errors import AlreadyExistsError
from siltstone.model import AuditEvent, Memory, Token
from siltstone.store import Created

HOUR = 3_600_000_000


class Clock:
    def __init__(self):
        self.time = 1_700_000_000_000_000

    def __call__(self):
        return self.time


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def store(open_store, clock):
    return open_store(clock=clock)


def answer(store, request_id, digest=b"d", principal="代理", method="Write"):
    with store.read() as reader:
        return reader.answer(principal, method, request_id, digest)


def put(store, request_id, value=b"answer", digest=b"d"):
    store.commit(lambda w: w.put_answer("代理", "Write", request_id, digest, value))


def test_an_answer_is_found_by_caller_method_and_request_id_only(store):
    put(store, "r1")
    assert answer(store, "r1") == b"answer"
    assert answer(store, "r2") is None
    assert answer(store, "r1", principal="other") is None
    assert answer(store, "r1", method="Update") is None


def test_the_same_request_id_with_another_request_is_an_error(store):
    put(store, "r1")
    with pytest.raises(AlreadyExistsError, match="request_id: 'r1'") as caught:
        answer(store, "r1", digest=b"other")
    assert caught.value.reason == "REQUEST_ID_REUSED"
    assert caught.value.field == "request_id"


def test_answers_are_kept_for_24_hours_and_then_trimmed_by_later_ones(store, clock):
    for i in range(6):
        put(store, f"old{i}")
    clock.time += 24 * HOUR - 1_000_000
    put(store, "new0")
    assert store.info().entries["answers"] == 7
    clock.time += 2_000_000
    put(store, "new1")
    assert answer(store, "old0") is None
    assert answer(store, "new0") == b"answer"
    put(store, "new2")
    assert store.info().entries["answers"] == store.info().entries["answer_times"] == 3


def test_an_answer_given_again_is_kept_from_then_on(store, clock):
    put(store, "r")
    clock.time += 23 * HOUR
    put(store, "r", b"second")
    clock.time += 2 * HOUR
    put(store, "other")
    assert answer(store, "r") == b"second"
    assert store.info().entries["answer_times"] == 2


def test_audit_events_carry_their_commit_and_come_oldest_first(store):
    given = AuditEvent(
        seq=0,
        time=datetime(2000, 1, 1, tzinfo=UTC),
        namespace="default",
        memory_id="01890a5d-ac96-774b-bcce-b302099a8057",
        action="合并",
        note="备注",
    )
    first = store.commit(lambda w: [w.put_audit(given), w.put_audit(given)])
    second = store.commit(lambda w: (w.put_audit(given), w.seq + 1, w.now))
    assert [(e.seq, e.place) for e in first] == [(first[0].seq, 0), (first[0].seq, 1)]
    assert (second[0].seq, second[0].time) == second[1:]
    assert second[0].seq == first[0].seq + 1 == store.info().seq
    with store.read() as reader:
        assert list(reader.audit()) == [*first, second[0]]
        assert list(reader.audit(after_seq=first[0].seq)) == [second[0]]
        assert list(reader.audit(limit=1)) == first[:1]
        assert list(reader.audit(after_seq=first[0].seq, after_place=0)) == [first[1], second[0]]


def test_a_token_is_kept_with_its_digest_and_never_with_its_secret(store, tmp_path):
    token = Token(id="t1", name="审计员", namespaces=["team/*"], roles=["auditor"], secret="geheim-wort-1234")
    store.commit(lambda w: w.put_token(b"digest", token))
    with store.read() as reader:
        [(digest, found)] = reader.tokens()
        assert digest == b"digest"
        assert (found.id, found.name, found.secret) == ("t1", "审计员", "")
        assert found.create_time is not None
        assert found.revoke_time is None
    assert b"geheim-wort-1234" not in (tmp_path / "data" / "data.mdb").read_bytes()


def test_a_revoked_token_stays_and_knows_since_when(store):
    store.commit(lambda w: w.put_token(b"digest", Token(id="t1", name="a")))
    assert store.commit(lambda w: w.revoke_token("t2")) is None
    first = store.commit(lambda w: w.revoke_token("t1"))
    assert first.revoke_time is not None
    assert store.commit(lambda w: w.revoke_token("t1")) == first
    with store.read() as reader:
        assert reader.tokens() == [(b"digest", first)]


def test_what_a_caller_created_is_counted_by_its_name(store):
    def write(writer):
        writer.create_namespace("团队/甲")
        writer.put_memory(Memory(namespace="团队/甲", content="a"))
        writer.put_memory(Memory(namespace="团队/甲", content="b"))
        return writer.add_created("张三")

    assert store.commit(write) == Created(memories=2, namespaces=1)
    with store.read() as reader:
        assert reader.created_by("张三") == Created(memories=2, namespaces=1)
        assert reader.created_by("李四") == Created()
