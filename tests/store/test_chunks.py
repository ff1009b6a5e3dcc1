"""What comes out of a chunk of a backup is pairs of bytes, or it is refused."""

import msgpack
import pytest
from siltstone.errors import FailedPreconditionError
from siltstone.store import entries_of


def test_a_chunk_gives_its_entries_in_order():
    assert entries_of(b"\0" + msgpack.packb([b"a", b"1", "键".encode(), b""])) == [
        (b"a", b"1"),
        ("键".encode(), b""),
    ]


@pytest.mark.parametrize(
    "inside", [{}, {b"a": b"1"}, "文字", b"bytes", 7, None, [b"a"], [b"a", 1], ["a", "b"], [[b"a"], [b"1"]]]
)
def test_whatever_else_a_chunk_holds_is_damage(inside):
    with pytest.raises(FailedPreconditionError, match="cannot be read") as caught:
        entries_of(b"\0" + msgpack.packb(inside))
    assert caught.value.reason == "BACKUP_DAMAGED"
