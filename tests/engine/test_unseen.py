import pytest
from siltstone.engine.unseen import unseen_difference
from siltstone.local import Local


@pytest.mark.parametrize(
    ("a", "b", "cosine"),
    [
        ("联系人李𠮷", "联系人李𠮶", 1.0),
        ("联系人李𠮷。", "联系人李𠮶", 0.99),  # hidden, but something else differs too
        ("he is 𓀀", "he is 𓂀", 1.0),
        ("ᚠᚢᚦ", "ᛏᛒᛖ", 1.0),
        ("x²", "x2", 1.0),
        ("the key is \ue000", "the key is \ue001", 1.0),
        ("\0", "\u200b", 1.0),
    ],
)
def test_texts_that_the_model_cannot_tell_apart_are_not_the_same(a: str, b: str, cosine: float) -> None:
    assert unseen_difference(a, b, cosine)
    assert unseen_difference(b, a, cosine)


@pytest.mark.parametrize(
    ("a", "b", "cosine"),
    [
        ("the same", "the same.", 1.0),
        ("容器, 网络", "容器,网络", 1.0),
        ("café", "cafe\u0301", 1.0),
        ("李𠮷 is here", "李𠮷 is here!", 0.99),
        ("restart the web server", "restart the webserver", 0.985),  # the core's gate looks at these
    ],
)
def test_texts_that_differ_in_marks_or_in_what_it_sees_are_left_to_the_vectors(
    a: str, b: str, cosine: float
) -> None:
    assert not unseen_difference(a, b, cosine)


def test_a_name_with_another_rare_character_is_a_memory_of_its_own(
    mem: Local, monkeypatch: pytest.MonkeyPatch
) -> None:
    embed = mem.engine.embedder.embed_passages
    monkeypatch.setattr(  # as a model does that knows neither
        mem.engine.embedder,
        "embed_passages",
        lambda texts: embed([text.replace("𠮷", "?").replace("𠮶", "?") for text in texts]),
    )
    mem.write("联系人是李𠮷")
    assert mem.write("联系人是李𠮶").action == "CREATED"
    assert mem.write("联系人是李𠮷。").action == "MERGED"
