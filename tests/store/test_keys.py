import pytest
from hypothesis import given
from hypothesis import strategies as st
from siltstone.errors import InvalidArgumentError
from siltstone.store import keys

u32 = st.integers(0, 2**32 - 1)
u64 = st.integers(0, 2**64 - 1)
ids = st.binary(min_size=16, max_size=16)

CODECS = {
    "namespace": (keys.namespace, (u32,)),
    "member": (keys.member, (u32, ids)),
    "part": (keys.part, (u32, ids, u32)),
    "pair": (keys.pair, (u32, ids, ids)),
    "change": (keys.change, (u32, u64)),
    "audit": (keys.audit, (u64, u32)),
    "timed": (keys.timed, (u64, st.binary(min_size=32, max_size=32))),
}


@pytest.mark.parametrize("codec", CODECS)
@given(data=st.data())
def test_the_order_of_the_bytes_is_the_order_of_the_tuples(codec, data):
    encode, parts = CODECS[codec]
    a, b = (data.draw(st.tuples(*parts)) for _ in range(2))
    assert (encode(*a) < encode(*b)) == (a < b)
    assert (encode(*a) == encode(*b)) == (a == b)


@given(u32, ids, u32)
def test_a_key_starts_with_the_key_of_what_it_belongs_to(number, id, index):
    assert keys.part(number, id, index).startswith(keys.member(number, id))
    assert keys.member(number, id).startswith(keys.namespace(number))
    assert keys.pair(number, id, id).startswith(keys.member(number, id))


@given(u32, ids, u32, u64)
def test_what_a_key_was_made_of_is_read_back(number, id, index, seq):
    assert keys.parse_namespace(keys.member(number, id)) == number
    assert keys.parse_part(keys.part(number, id, index)) == index
    assert keys.parse_change(keys.change(number, seq)) == seq
    assert keys.parse_timed(keys.timed(seq, id)) == (seq, id)
    assert keys.parse_number(keys.number(seq)) == seq


@given(ids)
def test_an_id_survives_its_text(raw):
    assert keys.parse_id(keys.format_id(raw)) == raw
    assert keys.parse_id(keys.format_id(raw).upper()) == raw


@pytest.mark.parametrize(
    "text",
    [
        "",
        "none",
        "01890a5dac96774bbcceb302099a8057",
        "01890a5d-ac96-774b-bcce-b302099a805",
        "01890a5d-ac96-774b-bcce-b302099a80577",
        "01890a5dxac96-774b-bcce-b302099a8057",
        "g1890a5d-ac96-774b-bcce-b302099a8057",
        "01890a5d-ac96-774b-bcce-b302099 8057",
        "01890a5d-ac9 -774b-bcce-b302099a8 57",
    ],
)
def test_an_id_that_is_none_is_refused_by_name(text):
    with pytest.raises(InvalidArgumentError, match=r"supersedes\[0\]") as caught:
        keys.parse_id(text, "supersedes[0]")
    assert caught.value.field == "supersedes[0]"


@pytest.mark.parametrize("name", ["a", "团队/助手", "x" * 256, "语" * 85])
def test_a_name_of_up_to_256_bytes_is_its_own_key(name):
    assert keys.name(name) == name.encode()


@pytest.mark.parametrize("name", ["", "x" * 257, "语" * 86, "\ud800"])
def test_an_empty_long_or_broken_name_is_refused(name):
    with pytest.raises(InvalidArgumentError, match="namespace: "):
        keys.name(name)


@given(st.text(max_size=8), st.text(max_size=8), st.text(max_size=8))
def test_an_answers_key_tells_where_one_part_ends(a, b, c):
    assert len(keys.answer(a, b, c)) == 32
    assert keys.answer(a + "x", b, c) != keys.answer(a, "x" + b, c)
    assert keys.answer(a, b + "x", c) != keys.answer(a, b, "x" + c)


def test_no_key_is_longer_than_lmdb_takes():
    longest = [
        keys.name("x" * 256),
        keys.pair(1, b"i" * 16, b"j" * 16),
        keys.following(keys.timed(1, keys.answer("p" * 9999, "m", "r"))),
    ]
    assert max(map(len, longest)) <= 511
