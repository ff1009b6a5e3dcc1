"""What ranking promises, with the default model: English and Chinese, few texts, a few seconds."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import siltstone
from siltstone.config import Settings
from siltstone.local import Local

NOW = datetime(2026, 6, 1, tzinfo=UTC)
OLD = NOW - timedelta(days=900)

UNRELATED = {
    "en": [
        "The birthday cake needs two hundred grams of cherries.",
        "The train to Hamburg leaves from platform nine.",
        "Water the tomatoes in the evening, never at noon.",
        "Grandmother knitted a blue scarf last winter.",
        "The museum is closed on Mondays.",
        "Her violin lesson was moved to Thursday.",
    ],
    "zh": [
        "生日蛋糕需要两百克樱桃。",
        "开往上海的火车从九号站台出发。",
        "番茄要在傍晚浇水，不要在中午浇。",
        "奶奶去年冬天织了一条蓝色的围巾。",
        "博物馆每周一闭馆。",
        "她的小提琴课改到了星期四。",
    ],
}
RELEVANT = {
    "en": "Containers could not reach the api by its service name because it listened on 127.0.0.1 only.",
    "zh": "容器无法通过服务名访问接口，因为它只监听 127.0.0.1。",
}
QUERY = {"en": "Why can the web container not connect to the api?", "zh": "为什么网页容器连不上接口？"}


@pytest.fixture(scope="module")
def mem(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Local]:
    with siltstone.open(Path(tmp_path_factory.mktemp("model")) / "data", settings=Settings()) as opened:
        for language in ("en", "zh"):
            opened.write(RELEVANT[language], namespace=language, event_time=OLD, confidence=0.4)
            for text in UNRELATED[language]:
                opened.write(text, namespace=language, event_time=NOW, confidence=1.0)
        yield opened


@pytest.mark.parametrize("asked", ["en", "zh"])
@pytest.mark.parametrize("kept", ["en", "zh"])
def test_a_fresh_confident_unrelated_memory_never_outranks_a_relevant_old_one(
    mem: Local, asked: str, kept: str
) -> None:
    hits = mem.search(QUERY[asked], namespace=kept, now=NOW).hits
    assert hits[0].memory.summary == RELEVANT[kept]
    assert hits[0].recency < 1e-6
    assert hits[0].gate == 1.0
    # Across languages no word matches, and the margin is that of the vectors alone.
    assert all(hit.gate < 0.5 for hit in hits[1:])


@pytest.mark.parametrize("profile", ["balanced", "troubleshooting", "knowledge"])
@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_part_is_returned_and_makes_the_score(mem: Local, profile: str, language: str) -> None:
    weights = siltstone.model.PROFILES[siltstone.model.Profile(profile)]
    hits = mem.search(QUERY[language], namespace=language, profile=profile, now=NOW).hits
    assert len(hits) == 7
    for hit in hits:
        parts = (hit.similarity, hit.gate, hit.recency, hit.confidence, hit.lexical, hit.support)
        assert all(0 <= part <= 1 for part in parts)
        made = weights.similarity * hit.similarity + hit.gate * (
            weights.recency * hit.recency + weights.confidence * hit.confidence
        )
        assert hit.score == pytest.approx(made, abs=1e-6)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_plain_formula_is_that_of_the_plain_cosine(mem: Local, language: str) -> None:
    plain = {"calibrate": False, "lexical": 0, "neighbours": 0, "gate": 0}
    embed = mem.engine.embedder
    query = embed.embed_queries([QUERY[language]])[0]
    for hit in mem.search(QUERY[language], namespace=language, weights=plain, now=NOW).hits:
        cosine = float(embed.embed_passages([hit.memory.summary])[0] @ query)
        assert hit.cosine == pytest.approx(cosine, abs=2e-4)
        assert hit.similarity == pytest.approx(hit.cosine, abs=1e-6)
        made = 0.5 * hit.cosine + 0.3 * hit.recency + 0.2 * hit.confidence
        assert hit.score == pytest.approx(made, abs=1e-6)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_calibration_spreads_what_the_model_crowds(mem: Local, language: str) -> None:
    hits = mem.search(QUERY[language], namespace=language, now=NOW, weights={"lexical": 0}).hits
    cosines = [hit.cosine for hit in hits]
    assert max(cosines) - min(cosines) < 0.2, "the crowd that calibration is for"
    assert hits[0].similarity > 2.5 * hits[1].similarity
    assert hits[-1].similarity < 0.15


@pytest.mark.parametrize("language", ["en", "zh"])
def test_one_memory_is_found_by_its_question_and_scores_little_for_another(mem: Local, language: str) -> None:
    namespace = f"one/{language}"
    mem.write(RELEVANT[language], namespace=namespace, event_time=NOW)
    [related] = mem.search(QUERY[language], namespace=namespace, now=NOW, include_public=False).hits
    other = UNRELATED[language][1]
    [unrelated] = mem.search(other, namespace=namespace, now=NOW, include_public=False).hits
    assert related.similarity > 2 * unrelated.similarity


@pytest.mark.parametrize("language", ["en", "zh"])
def test_two_memories_are_ordered_by_what_they_say(mem: Local, language: str) -> None:
    namespace = f"two/{language}"
    mem.write(RELEVANT[language], namespace=namespace, event_time=OLD)
    mem.write(UNRELATED[language][0], namespace=namespace, event_time=NOW, confidence=1.0)
    hits = mem.search(QUERY[language], namespace=namespace, now=NOW, include_public=False).hits
    assert [hit.memory.summary for hit in hits] == [RELEVANT[language], UNRELATED[language][0]]


def test_in_a_namespace_about_one_thing_the_exact_one_comes_first(mem: Local) -> None:
    drafts = [
        {"content": text.format(i=i, port=7000 + 37 * i), "on_duplicate": "KEEP", "event_time": NOW}
        for i in range(20)
        for text in (
            "Worker {i} of nginx listens on port {port}.",
            "nginx 的第 {i} 个工作进程监听端口 {port}。",
        )
    ]
    mem.write_many(drafts, namespace="topic")
    for query, wanted in (
        ("which worker of nginx listens on port 7259", "Worker 7 of nginx listens on port 7259."),
        ("监听端口 7259 的是哪个工作进程", "nginx 的第 7 个工作进程监听端口 7259。"),
    ):
        hits = mem.search(query, namespace="topic", now=NOW).hits
        assert hits[0].memory.summary == wanted
        assert len(hits) == 8


def test_near_copies_do_not_fill_the_list(mem: Local) -> None:
    copies = [
        "The login button is disabled until the captcha loads.",
        "The login button stays disabled until the captcha has loaded.",
        "Until the captcha loads, the login button is disabled.",
        "The login button is disabled till the captcha is loaded.",
        "登录按钮在验证码加载完成之前不可用。",
        "验证码加载完成之前，登录按钮不可用。",
    ]
    others = [
        "Login is disabled for users who failed five times.",
        "The captcha of the login page comes from a third party and is slow.",
    ]
    for text in copies + others:
        mem.write(text, namespace="copies", event_time=NOW, on_duplicate="KEEP")
    query = {"query": "Why is the login button disabled?", "namespace": "copies", "now": NOW, "top_k": 4}
    plain = [hit.memory.summary for hit in mem.search(**query, diversity=0).hits]
    shown = [hit.memory.summary for hit in mem.search(**query).hits]
    assert set(plain) <= set(copies[:4])
    assert shown[0] == plain[0]
    assert len(set(copies[:4]) & set(shown)) < 4
    assert set(others) & set(shown)
    assert len(set(shown)) == 4
