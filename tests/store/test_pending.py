import random

import pytest
from siltstone.store.pending import Pending

PREFIXES = [b"", b"a", b"ab", b"b", b"\xff"]


def scan(entries, prefix, start=b"", back=False):
    found = [(k, v) for k, v in sorted(entries.items()) if k.startswith(prefix) and k >= start]
    return found[::-1] if back else found


def test_what_lies_over_stored_entries_reads_as_if_it_were_stored_whatever_was_changed():
    seed = random.randrange(2**32)
    print("seed", seed)
    chance = random.Random(seed)
    names = [bytes(chance.choice(b"ab\xff") for _ in range(chance.randrange(1, 4))) for _ in range(60)]
    for _ in range(100):
        stored = dict.fromkeys(chance.sample(names, 20), b"stored")
        pending, expected = Pending(), dict(stored)
        for _ in range(10):
            before = dict(expected)
            for key in chance.sample(names, 3):
                value = chance.choice([None, b"", b"changed"])
                pending.set("t", key, value)
                expected.pop(key, None)
                if value is not None:
                    expected[key] = value
            if chance.random() < 0.5:
                pending.undo()
                expected = before
            else:
                pending.keep()
        for prefix in PREFIXES:
            start = prefix + chance.choice([b"", b"a"])
            over = pending.over(iter(scan(stored, prefix, start)), "t", prefix, start)
            assert list(over) == scan(expected, prefix, start)
            over = pending.over(iter(scan(stored, prefix, back=True)), "t", prefix, back=True)
            assert list(over) == scan(expected, prefix, back=True)
        for key in names:
            known, value = pending.look("t", key)
            assert (value if known else stored.get(key)) == expected.get(key)


def test_an_operation_that_fails_leaves_what_another_changed_before_it():
    pending = Pending()
    pending.set("t", b"k", b"first")
    pending.keep()
    pending.set("t", b"k", None)
    pending.set("t", b"new", b"1")
    pending.undo()
    assert pending.look("t", b"k") == (True, b"first")
    assert pending.look("t", b"new") == (False, None)


@pytest.mark.parametrize("value", [b"x", None])
def test_what_was_remembered_gives_way_to_what_is_changed(value):
    pending = Pending()
    pending.remember("t", b"k", b"stored")
    assert pending.look("t", b"k") == (True, b"stored")
    pending.set("t", b"k", value)
    assert pending.look("t", b"k") == (True, value)
    pending.undo()
    assert pending.look("t", b"k") == (True, b"stored")
