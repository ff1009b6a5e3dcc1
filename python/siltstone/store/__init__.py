"""The store: durable, the truth. The only package that knows LMDB."""

from siltstone.store.keys import content_digest
from siltstone.store.past import Past, PastRecord
from siltstone.store.reader import Change, Reader, Vectors
from siltstone.store.records import AnswerRecord, NamespaceRecord
from siltstone.store.redacting import ERASED_ANSWER
from siltstone.store.store import Store, StoreInfo
from siltstone.store.writer import Writer

__all__ = [
    "ERASED_ANSWER",
    "AnswerRecord",
    "Change",
    "NamespaceRecord",
    "Past",
    "PastRecord",
    "Reader",
    "Store",
    "StoreInfo",
    "Vectors",
    "Writer",
    "content_digest",
]
