"""The store: durable, the truth. The only package that knows LMDB."""

from siltstone.store.checking import Checked, Problem, mend, problems, strays
from siltstone.store.dumping import Chunk, Frozen, Replacement, build, entries_of
from siltstone.store.keys import content_digest
from siltstone.store.past import Past, PastRecord
from siltstone.store.reader import Change, Created, Reader, Vectors
from siltstone.store.records import AnswerRecord, NamespaceRecord
from siltstone.store.redacting import ERASED_ANSWER
from siltstone.store.store import Store, StoreInfo
from siltstone.store.upgrades import FORMAT_VERSION
from siltstone.store.writer import Writer

__all__ = [
    "ERASED_ANSWER",
    "FORMAT_VERSION",
    "AnswerRecord",
    "Change",
    "Checked",
    "Chunk",
    "Created",
    "Frozen",
    "NamespaceRecord",
    "Past",
    "PastRecord",
    "Problem",
    "Reader",
    "Replacement",
    "Store",
    "StoreInfo",
    "Vectors",
    "Writer",
    "build",
    "content_digest",
    "entries_of",
    "mend",
    "problems",
    "strays",
]
