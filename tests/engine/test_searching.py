import math
import threading
from datetime import UTC, datetime, timedelta

import pytest
import siltstone
from siltstone.local import Local

NOW = datetime(2026, 6, 1, tzinfo=UTC)


def test_an_unknown_namespace_is_an_error_and_never_an_empty_answer(mem: Local) -> None:
    for call in (
        lambda: mem.search("x", namespace="nowhere"),
        lambda: mem.list("nowhere"),
        lambda: mem.forget(filter={"tags_any": ["x"]}, namespace="nowhere"),
        lambda: mem.delete_namespace("nowhere"),
        lambda: mem.stats("nowhere"),
    ):
        with pytest.raises(siltstone.NotFoundError) as caught:
            call()
        assert caught.value.reason == "NAMESPACE_NOT_FOUND"


def test_the_lasting_namespaces_exist_and_are_empty_at_first(mem: Local) -> None:
    assert mem.search("x").hits == []
    assert mem.search("x", namespace="public").hits == []
    assert {n.name for n in mem.namespaces()} == {"default", "public"}


def test_public_is_searched_too_unless_told_otherwise_and_others_never(mem: Local) -> None:
    mine = mem.write("the moon is made of cheese", namespace="me").memory.id
    public = mem.write("the moon is made of rock", namespace="public").memory.id
    mem.write("the moon is made of secrets", namespace="other")
    assert {h.memory.id for h in mem.search("moon", namespace="me").hits} == {mine, public}
    assert {h.memory.id for h in mem.search("moon", namespace="me", include_public=False).hits} == {mine}


def test_several_namespaces_are_one_ranking(mem: Local) -> None:
    a = mem.write("green tea from Hangzhou", namespace="a").memory.id
    b = mem.write("green tea", namespace="b").memory.id
    hits = mem.search("green tea", namespace=["b", "a"]).hits
    assert {h.memory.id for h in hits} == {a, b}
    assert [h.score for h in hits] == sorted((h.score for h in hits), reverse=True)


def test_the_score_is_made_of_the_parts_that_are_returned(mem: Local) -> None:
    for i in range(30):
        mem.write(
            f"note {i} about containers and ports", event_time=NOW - timedelta(days=i), on_duplicate="KEEP"
        )
    for profile, (s, r, c) in {
        "balanced": (0.5, 0.3, 0.2),
        "troubleshooting": (0.4, 0.45, 0.15),
        "knowledge": (0.7, 0.1, 0.2),
    }.items():
        for hit in mem.search("containers and ports", profile=profile, now=NOW, top_k=30).hits:
            parts = s * hit.similarity + hit.gate * (r * hit.recency + c * hit.confidence)
            assert hit.score == pytest.approx(parts, abs=1e-6)


def test_the_plain_formula_is_half_cosine_and_three_tenths_recency_and_two_tenths_confidence(
    mem: Local,
) -> None:
    mem.write("a", namespace="v", vector=[1.0, 0.0], event_time=NOW - timedelta(days=30), confidence=0.9)
    mem.write("b", namespace="v", vector=[0.6, 0.8], event_time=NOW, confidence=0.1)
    plain = {"calibrate": False, "lexical": 0, "neighbours": 0, "gate": 0}
    hits = mem.search(vector=[1.0, 0.0], namespace="v", weights=plain, now=NOW).hits
    assert [h.memory.summary for h in hits] == ["a", "b"]
    assert hits[0].score == pytest.approx(0.5 * 1.0 + 0.3 * 0.5 + 0.2 * 0.9, abs=2e-4)
    assert hits[1].score == pytest.approx(0.5 * 0.6 + 0.3 * 1.0 + 0.2 * 0.1, abs=2e-4)


def test_a_fresh_confident_unrelated_memory_never_outranks_a_clearly_relevant_old_one(mem: Local) -> None:
    old = mem.write(
        "docker compose service name does not resolve: listen on 0.0.0.0",
        event_time=NOW - timedelta(days=900),
        confidence=0.4,
    ).memory.id
    for i in range(20):
        mem.write(f"birthday cake recipe number {i} with cherries", event_time=NOW, confidence=1.0)
    hits = mem.search("docker compose service name does not resolve", now=NOW).hits
    assert hits[0].memory.id == old


def test_weights_named_in_a_dict_are_laid_over_the_profile(mem: Local) -> None:
    mem.write("x y z", event_time=NOW - timedelta(days=7))
    [hit] = mem.search("x y z", profile="troubleshooting", weights={"confidence": 0}, now=NOW).hits
    assert hit.recency == pytest.approx(0.5, abs=1e-6)
    assert hit.score == pytest.approx(0.4 * hit.similarity + hit.gate * 0.45 * hit.recency, abs=1e-6)


def test_without_query_and_vector_recency_and_confidence_order(mem: Local) -> None:
    for days in (3, 1, 2):
        mem.write(f"{days} days ago", event_time=NOW - timedelta(days=days))
    hits = mem.search(now=NOW).hits
    assert [h.memory.summary for h in hits] == ["1 days ago", "2 days ago", "3 days ago"]
    assert all(h.similarity == 0 and h.gate == 1 for h in hits)


def test_an_event_in_the_future_has_full_recency(mem: Local) -> None:
    mem.write("tomorrow's meeting", event_time=NOW + timedelta(days=1))
    assert mem.search("meeting", now=NOW).hits[0].recency == 1.0


@pytest.mark.parametrize("count", [1, 2, 1000])
def test_tiny_and_single_topic_namespaces_rank_the_exact_match_first(mem: Local, count: int) -> None:
    mem.write_many(
        [
            {"content": f"nginx worker {i} handles tenant {i * 7919 % 100003}", "on_duplicate": "KEEP"}
            for i in range(count)
        ]
    )
    wanted = count - 1
    hits = mem.search(f"nginx worker {wanted} handles tenant {wanted * 7919 % 100003}").hits
    assert hits[0].memory.summary.startswith(f"nginx worker {wanted} ")
    assert hits[0].similarity > 0.3


def test_chinese_is_found_by_chinese(mem: Local) -> None:
    wanted = mem.write("容器之间无法通过服务名互相访问,因为服务只监听 127.0.0.1").memory.id
    mem.write("今天中午吃了红烧肉和米饭")
    mem.write("数据库备份每天凌晨两点执行")
    hits = mem.search("为什么容器不能用服务名访问").hits
    assert hits[0].memory.id == wanted
    assert hits[0].lexical > 0


def test_filters_let_through_only_what_they_say(mem: Local) -> None:
    mem.write("one", tags=["x", "y"], attributes={"mysql": "8.0"}, task_type="ops", event_time=NOW)
    mem.write("two", tags=["x"], attributes={"mysql": "10.1"}, outcome="FAILURE", confidence=0.2)
    mem.write("three", tags=["z"], tools_used=["curl"], memory_type="EPISODIC")

    def found(filter: dict[str, object]) -> set[str]:
        listed = {m.content for m in mem.list(filter=filter)}
        searched = {h.memory.summary for h in mem.search(filter=filter, include_expired=True).hits}
        assert listed == searched
        return listed

    assert found({"tags_any": ["x"]}) == {"one", "two"}
    assert found({"tags_all": ["x", "y"]}) == {"one"}
    assert found({"tags_any": "z"}) == {"three"}
    assert found({"task_type": "ops"}) == {"one"}
    assert found({"outcome": "FAILURE"}) == {"two"}
    assert found({"tools_used": ["curl", "wget"]}) == {"three"}
    assert found({"memory_type": "EPISODIC"}) == {"three"}
    assert found({"attributes": {"mysql": "8.0"}}) == {"one"}
    assert found({"attributes": {"mysql": {"gte": "9"}}}) == {"two"}
    assert found({"attributes": {"mysql": {"gte": "8.0", "lt": "9"}}}) == {"one"}
    assert found({"confidence": {"lt": 0.5}}) == {"two"}
    assert found({"event_time": {"lte": NOW}}) == {"one"}
    assert found({"not": {"tags_any": ["x"]}}) == {"three"}
    assert found({"any_of": [{"tags_any": ["y"]}, {"tags_any": ["z"]}]}) == {"one", "three"}
    assert found({"tags_any": ["nothing"]}) == set()


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ({"query": " "}, "query"),
        ({"top_k": 0}, "top_k"),
        ({"top_k": 10_001}, "top_k"),
        ({"top_k": "5"}, "top_k"),
        ({"filter": {"tag": "x"}}, "filter.tag"),
        ({"filter": {"attributes": {"a": {}}}}, "filter.attributes.a"),
        ({"filter": {"ids": ["x"]}}, "filter.ids[0]"),
        ({"weights": {"recency": -1}}, "weights.recency"),
        ({"weights": {"lexical": 2}}, "weights.lexical"),
        ({"weights": {"gate": math.inf}}, "weights.gate"),
        ({"weights": {"half_life": "0s"}}, "weights.half_life"),
        ({"profile": "best"}, "profile"),
        ({"vector": [math.nan]}, "vector[0]"),
        ({"max_tokens": 0}, "max_tokens"),
        ({"min_score": 1.5}, "min_score"),
        ({"time_zone": "Mars/Olympus"}, "time_zone"),
        ({"time_zone": "../../etc/passwd"}, "time_zone"),
        ({"now": "2026-01-01T00:00:00"}, "now"),
    ],
)
def test_a_bad_search_names_the_field(mem: Local, arguments: dict[str, object], field: str) -> None:
    with pytest.raises(siltstone.InvalidArgumentError) as caught:
        mem.search(**{"query": "x", **arguments})  # type: ignore[arg-type]
    assert caught.value.field == field


def test_a_batch_answers_as_one_by_one(mem: Local) -> None:
    for i in range(50):
        mem.write(f"entry {i} on topic {i % 5}", on_duplicate="KEEP", event_time=NOW)
    requests = [{"query": f"topic {i}", "top_k": 3, "now": NOW} for i in range(5)]
    batch = mem.search_many(requests)
    single = [mem.search(**request) for request in requests]  # type: ignore[arg-type]
    assert [r.hits for r in batch] == [r.hits for r in single]


def test_max_tokens_is_a_hard_cap_that_includes_the_first_hit(mem: Local) -> None:
    mem.write("alpha " * 40)
    mem.write("alpha beta gamma")
    whole = mem.search("alpha")
    assert not whole.truncated
    assert whole.tokens_used > 20
    cut = mem.search("alpha", max_tokens=20)
    assert cut.truncated
    assert 0 < cut.tokens_used <= 20
    assert mem.search("alpha", max_tokens=1).tokens_used <= 1


def test_summaries_come_first_and_the_whole_on_request(mem: Local) -> None:
    mem.write("First sentence. " + "Then much more. " * 100, lesson={"problem": "p"})
    [brief] = mem.search("first").hits
    [full] = mem.search("first", view="FULL").hits
    assert brief.memory.content == ""
    assert brief.memory.lesson is None
    assert full.memory.lesson is not None
    assert full.memory.content.startswith("First sentence. Then")


def test_get_counts_and_cuts_to_the_budget(mem: Local) -> None:
    a, b = (mem.write(f"{word} " * 50, on_duplicate="KEEP").memory.id for word in ("alpha", "beta"))
    page = mem.get([a, b], max_tokens=60)
    assert page.tokens_used <= 60
    assert page.truncated_ids == [b]
    assert page[0].content == "alpha " * 50


def test_explain_tells_how_it_was_done(mem: Local) -> None:
    mem.write_many([{"content": f"note {i}", "on_duplicate": "KEEP"} for i in range(20)])
    explained = mem.search("note", top_k=5, explain=True).explain
    assert explained is not None
    assert (explained.plan, explained.allowed) == ("scan", 20)
    assert mem.search("note").explain is None


def test_neighbours_in_a_sequence_support_each_other(mem: Local) -> None:
    turns = ["shall we meet?", "yes, at the lighthouse", "good, at nine then", "unrelated: I bought shoes"]
    for i, turn in enumerate(turns):
        mem.write(turn, sequence="chat", position=i, event_time=NOW)
    mem.write("good, at nine then, said another", event_time=NOW)
    hits = {h.memory.summary: h for h in mem.search("lighthouse", now=NOW).hits}
    assert hits["good, at nine then"].support > 0
    assert hits["good, at nine then"].similarity > hits["good, at nine then, said another"].similarity


def test_a_search_waits_for_no_write(mem: Local) -> None:
    """While the writer's transaction is open, as it is during a sync, searches and reads go on."""
    id = mem.write("the lighthouse is red").memory.id
    assert mem.search("lighthouse").hits
    inside, go_on = threading.Event(), threading.Event()

    def slow(writer: object) -> None:
        inside.set()
        assert go_on.wait(60)

    writer = threading.Thread(target=lambda: mem.engine.store.commit(slow))
    writer.start()
    try:
        assert inside.wait(60)
        assert mem.search("lighthouse").hits[0].memory.id == id
        assert mem.search("lighthouse", as_of=datetime.now(UTC)).hits[0].memory.id == id
        assert [m.id for m in mem.list(filter={"ids": [id]})] == [id]
        assert mem.get(id)[0].id == id
        assert writer.is_alive()
    finally:
        go_on.set()
        writer.join(60)
