"""The search core. Every call releases the interpreter lock, none calls back into Python.

Ids are the 16 bytes of a UUID. Times are integers, microseconds since 1970-01-01 UTC. Vectors are packed
little-endian float32; they need not be normalised. A *collection* is the derived index of one namespace,
named by the namespace's number; all of it can be rebuilt from the store.

Errors: every bad argument raises ValueError naming the field and the value; a collection that is not loaded
raises KeyError; a snapshot that cannot be read is no error (see `load`); I/O raises OSError. A panic inside
is caught at the border and raises RuntimeError.
"""

from typing import Self, final

__all__ = [
    "E5",
    "CollectionStatus",
    "CoreHit",
    "Index",
    "SearchOutput",
    "count_tokens",
    "facts_differ",
    "statements_differ",
    "truncate_tokens",
]

@final
class Index:
    """All collections of one data directory. Safe to call from any number of threads."""

    def __new__(cls, directory: str | None = None) -> Self:
        """Open an index whose snapshots live in `directory` (created when missing; None: never on disk)."""

    def create(self, collection: int, dimension: int, applied_seq: int) -> None:
        """Make an empty collection of vectors with `dimension` (1..=4096) that has applied the store up to
        `applied_seq`; replaces one of the same number. OSError when that one's snapshot cannot be deleted:
        the new collection is there all the same."""

    def load(self, collection: int, dimension: int) -> int | None:
        """Load a collection from its snapshot and return its applied_seq. None, and nothing loaded, when the
        file is missing, of another format version or dimension, or fails its checksum: rebuild it then."""

    def snapshot(self, collection: int) -> int:
        """Write the collection's snapshot (temporary file, sync, atomic rename) and return its applied_seq.
        Searches go on meanwhile."""

    def drop(self, collection: int, *, delete_snapshot: bool = False) -> None:
        """Forget a collection; no error when it is not loaded. OSError when its snapshot cannot be deleted:
        it is forgotten all the same."""

    def loaded(self, collection: int) -> bool: ...
    def apply(self, collection: int, seq: int, puts: list[tuple[bytes, bytes]], removes: list[bytes]) -> None:
        """Apply one commit: first `removes` (ids; an unknown one is ignored), then `puts`.

        A put is (record, vectors): the memory's msgpack record as the store keeps it, and its vectors, one
        for each passage, `n · dimension` float32 with n ≥ 1. A put replaces the memory of the same id.
        `seq` not above the collection's applied_seq: nothing happens (already applied). All or nothing: when
        a put is refused (not finite, zero or wrong-sized vector, unreadable record) nothing changed and the
        ValueError names the position, as ``puts[3]: …``. Visible to the next search on return.

        Fields read from a record (a msgpack map; others are ignored, absent ones are empty): id (bin 16),
        content (str), tags, tools_used ([str]), task_type, outcome, memory_type, verification, sequence
        (str), position (int or nil), attributes ({str: str | int | float | bool | {"time": int}}),
        confidence (float), create_time, update_time, event_time (int), valid_until (int or nil),
        superseded_by (str, "" = none).
        """

    def search(self, requests: bytes) -> list[SearchOutput]:
        """Answer a batch of searches, in order. `requests` is a msgpack list of maps:

        - targets: [{collection: int, vector: bin | nil, background: float}], one a namespace searched;
          vector is the query's in that collection's dimension, background the embedding model's usual
          cosine of unrelated texts (blended into μ for small collections)
        - text: str, the lexical query ("" = none)
        - filter: map | nil, see `select`
        - now: int
        - weights: {similarity, recency, confidence, lexical, neighbours, gate: float, calibrate: bool,
          half_life: int (µs, > 0)}; finite and not negative
        - top_k: int, 1..=10_000
        - min_score: float | nil
        - include_superseded, include_expired, include_refuted: bool
        - window: [int | nil, int | nil] | nil: hits with event_time inside come first, marked in_window
        - explain: bool
        - exact: bool, absent = false: scan, whatever the size; the answer is then that of the formulas over
          every allowed memory, cosines being within 2e-4 of float32

        Several searches in one call are answered in blocks on all cores, one pass over the vectors a block
        where they look at the same memories; the answers are those of one call each.

        Without vector and text every similarity is 0 and the gate 1: recency and confidence order. The
        answer is the top_k by score (ties: newer event_time, then smaller id). A request that is refused
        refuses the whole call with ValueError naming it, as ``requests[2].weights.gate: …``.
        """

    def select(
        self,
        collection: int,
        filter: bytes,
        now: int,
        *,
        include_superseded: bool = True,
        include_expired: bool = True,
        include_refuted: bool = True,
    ) -> list[bytes]:
        """Ids of the memories that a filter lets through, ascending.

        `filter` is msgpack: nil or a map of tags_any, tags_all, task_type, tools_used, outcome,
        verification, memory_type ([str]), ids ([bin 16]), attributes ({name: {eq, gt, gte, lt, lte: value}}),
        event_time, create_time, update_time ({gt, gte, lt, lte: int}), confidence ({gt, …: float}),
        not (a filter), any_of ([filter]). Every part given must hold; an empty list or absent key is "not
        given"; an unknown key is refused; nesting at most 16. Text attributes compare as versions under
        gt/gte/lt/lte when both sides look like one (``8.0``, ``v1.10.2``, ``3.11-rc1``), else as text; a
        value of another kind than the bound does not match.
        """

    def nearest(self, collection: int, vectors: bytes, k: int) -> list[list[tuple[bytes, float]]]:
        """For each vector (packed, any number) the `k` memories with the highest plain cosine, best first,
        over all live memories, superseded, expired and refuted ones included: the dedup candidates."""

    def status(self, collection: int) -> CollectionStatus: ...
    def vectors_of(self, collection: int, id: bytes) -> bytes | None:
        """The normalised vectors of one memory as the index holds them, packed float32, each number within
        2e-5 of what was put; None if absent."""

    def digest(self, collection: int) -> bytes:
        """16 bytes over everything a search can see, the same for equal content however it came about
        (order of writes, removed memories, snapshot or rebuild do not matter)."""

@final
class SearchOutput:
    hits: list[CoreHit]
    plan: str  # all | scan | graph | none, joined by "+" over collections
    allowed: int
    candidates: int
    elapsed_us: int
    stages: dict[str, int]
    """With explain, the µs spent in each stage: filter, candidates (graph, words, newest, most confident),
    scan, score. Else empty."""

@final
class CoreHit:
    """One hit. `score` = similarity-weight · similarity + gate · (recency-weight · recency +
    confidence-weight · confidence), to 1e-6 from these parts."""

    collection: int
    id: bytes
    score: float
    similarity: float
    gate: float
    recency: float
    confidence: float
    cosine: float
    lexical: float
    support: float
    passage: int  # which vector of the memory scored best
    in_window: bool

@final
class E5:
    """multilingual-e5-small from a model file in 4 bits. Safe for any number of threads; a call uses one."""

    def __new__(cls, path: str) -> Self:
        """Load the file. ValueError when it is no model file or damaged, OSError when it cannot be read."""

    @property
    def dimension(self) -> int: ...
    def embed(self, texts: list[str], *, query: bool) -> bytes:
        """The vectors of `texts`, packed float32 (n · dimension), each of length one, the same bits in any
        batch and on any processor.

        `query`: the texts ask rather than tell. A text of more tokens than the model reads at once (510) is
        read in windows, their mean weighted by length.
        """

    def token_count(self, text: str, *, query: bool) -> int:
        """Tokens that the model reads of `text`, its prefix and marks included."""

@final
class CollectionStatus:
    applied_seq: int
    dimension: int
    memories: int
    vectors: int
    removed: int  # slots of removed vectors not yet reclaimed
    in_graph: int
    bytes: int

def facts_differ(a: str, b: str) -> str | None:
    """Why two texts must not be merged however near their vectors are: the second gate of dedup.

    None when both carry the same numbers, versions, addresses, identifiers and negations; else a short
    reason such as ``numbers: 8.0 / 5.7`` or ``negation: not``. English and Chinese.
    """

def statements_differ(a: str, b: str) -> str | None:
    """Why two texts are not one statement; None when who says the one after the other says nothing new.

    `facts_differ`, and the wording: the same words in the same order, but for words that carry nothing
    (articles, 的), words that mean the same (restart, reboot), and a condition that stands first or last. In
    texts of 30 words and more one in twenty may be left over. Reasons such as ``wording: hot / none``.
    """

def count_tokens(text: str) -> int:
    """Tokens of `text` in o200k_base."""

def truncate_tokens(text: str, max_tokens: int) -> str:
    """The longest prefix of `text` with at most `max_tokens` tokens, cut at a character."""
