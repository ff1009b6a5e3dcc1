"""The bytes of every key: big-endian, so that the order of the bytes is the order of the tuples.

A key of a namespace's data starts with the namespace's number: reading a namespace is one range scan, and
nothing of another can be met in it. All keys are at most 256 bytes (LMDB's limit is 511).
"""

import struct
from hashlib import blake2b

from siltstone.errors import InvalidArgumentError

NAME_BYTES = 256  # longest namespace name in UTF-8
ID_BYTES = 16
DIGEST_BYTES = 16

_U32 = struct.Struct(">I")
_U64 = struct.Struct(">Q")
_MEMBER = struct.Struct(">I16s")
_PART = struct.Struct(">I16sI")
_PAIR = struct.Struct(">I16s16s")
_CHANGE = struct.Struct(">IQ")
_AUDIT = struct.Struct(">QI")


def parse_id(text: str, field: str = "id") -> bytes:
    """The 16 bytes of a UUID as text; `InvalidArgumentError` naming `field` when it is none."""
    try:
        if len(text) == 36 and text[8] == text[13] == text[18] == text[23] == "-":
            raw = bytes.fromhex(text.replace("-", ""))
            if len(raw) == ID_BYTES:
                return raw
    except ValueError:
        pass
    raise InvalidArgumentError(
        f"{field}: {text!r} is no id; ids look like 01890a5d-ac96-774b-bcce-b302099a8057", field=field
    )


def format_id(raw: bytes) -> str:
    """The text of a 16-byte id, lower case with hyphens."""
    h = raw.hex()
    return f"{h[:8]}-{h[8:12]}-{h[12:16]}-{h[16:20]}-{h[20:]}"


def name(text: str) -> bytes:
    """A namespace's name: 1 to 256 bytes of UTF-8, else `InvalidArgumentError`."""
    try:
        raw = text.encode()
    except UnicodeEncodeError:
        raise InvalidArgumentError(
            f"namespace: {text!r} holds a lone surrogate; send valid Unicode", field="namespace"
        ) from None
    if not 1 <= len(raw) <= NAME_BYTES:
        raise InvalidArgumentError(
            f"namespace: a name has 1 to {NAME_BYTES} bytes of UTF-8, this one has {len(raw)}",
            field="namespace",
        )
    return raw


def content_digest(content: str) -> bytes:
    """16 bytes (BLAKE2b) that are the same for the same text, byte for byte."""
    return blake2b(content.encode(), digest_size=DIGEST_BYTES).digest()


def source_digest(kind: str, id: str) -> bytes:
    """16 bytes for a task or a trajectory, whatever its id looks like."""
    return blake2b(f"{kind}\0{id}".encode(), digest_size=DIGEST_BYTES).digest()


def principal(name: str) -> bytes:
    """16 bytes for a caller, however long its name is."""
    return blake2b(name.encode(), digest_size=DIGEST_BYTES).digest()


def namespace(number: int) -> bytes:
    """Key of a namespace, and the prefix of everything in it."""
    return _U32.pack(number)


def parse_namespace(key: bytes) -> int:
    """The namespace's number at the start of a key."""
    return int(_U32.unpack_from(key)[0])


def member(number: int, id: bytes) -> bytes:
    """Key of a memory, its vectors, a task or a job; prefix of its revisions or steps."""
    return _MEMBER.pack(number, id)


def part(number: int, id: bytes, index: int) -> bytes:
    """Key of a revision of a memory or a step of a task."""
    return _PART.pack(number, id, index)


def parse_part(key: bytes) -> int:
    """The revision or step number at the end of a key made by `part`."""
    return int(_U32.unpack_from(key, 4 + ID_BYTES)[0])


def pair(number: int, first: bytes, second: bytes) -> bytes:
    """Key of two ids, or of a digest and an id: exposures and content hashes."""
    return _PAIR.pack(number, first, second)


def change(number: int, seq: int) -> bytes:
    """Key of one commit in a namespace's change log."""
    return _CHANGE.pack(number, seq)


def parse_change(key: bytes) -> int:
    """The seq at the end of a key made by `change`."""
    return int(_CHANGE.unpack(key)[1])


def audit(seq: int, index: int) -> bytes:
    """Key of an audit event: the commit, then the event's place in it."""
    return _AUDIT.pack(seq, index)


def audit_note(number: int, id: bytes, seq: int, index: int) -> bytes:
    """Key of what a person said about a memory in an audit event."""
    return member(number, id) + audit(seq, index)


def parse_audit(key: bytes) -> tuple[int, int]:
    """The commit and the place of a key made by `audit`."""
    seq, index = _AUDIT.unpack(key)
    return int(seq), int(index)


def answer(principal: str, method: str, request_id: str) -> bytes:
    """Key of a stored answer: 32 bytes over the three, each with its length, so that no two triples meet."""
    digest = blake2b(digest_size=32)
    for text in (principal, method, request_id):
        raw = text.encode()
        digest.update(_U64.pack(len(raw)) + raw)
    return digest.digest()


def timed(time: int, key: bytes) -> bytes:
    """`key` ordered by a time in microseconds (not negative)."""
    return _U64.pack(time) + key


def parse_timed(key: bytes) -> tuple[int, bytes]:
    return int(_U64.unpack_from(key)[0]), key[8:]


def number(value: int) -> bytes:
    """A counter's value."""
    return _U64.pack(value)


def parse_number(value: bytes) -> int:
    return int(_U64.unpack(value)[0])


def following(key: bytes) -> bytes:
    """The smallest key above `key` itself."""
    return key + b"\0"
