"""Feature hashing: no model at all."""

import re
import unicodedata
from collections.abc import Iterator, Sequence
from hashlib import blake2b

import numpy as np

from siltstone.embed.protocol import Vectors
from siltstone.embed.texts import check_texts

# Han, kana, bopomofo, Hangul: scripts where a pair of characters says what a word says elsewhere.
_CJK = r"\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff\u3100-\u318f\u31a0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
_CJK += r"\uac00-\ud7af\uf900-\ufaff\U00020000-\U000323af"
_RUN = re.compile(rf"([{_CJK}]+)|[^\W{_CJK}]+")


class HashingEmbedder:
    """384 dimensions of likeness in letters: texts are near when they share words or parts of words.

    It knows nothing of meaning ("car" and "automobile" are unrelated, so are two languages). For tests and
    very small machines. Signed feature hashing after Weinberger et al. 2009, "Feature Hashing for Large
    Scale Multitask Learning": words (weight 1), character trigrams of words (0.5), and pairs (1) and single
    characters (0.5) of Chinese, Japanese and Korean.
    """

    model = "hashing-384/1"
    dimension = 384
    background = 0.1  # English, by its function words, .15; Chinese .02
    merge_threshold = 0.5  # derived by benches/duplicates.py: function words move these vectors far
    passage_tokens = 256

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        checked = check_texts(texts)
        vectors = np.zeros((len(checked), self.dimension), dtype=np.float32)
        for row, text in enumerate(checked):
            vectors[row] = self._embed(text)
        return vectors

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        return self.embed_passages(texts)

    def query_problem(self, text: str) -> str:
        return ""

    def close(self) -> None:
        pass

    def _embed(self, text: str) -> Vectors:
        vector = np.zeros(self.dimension, dtype=np.float32)
        # Only punctuation or emoji: its characters. Nothing, or features that cancel out: the whole text.
        for features in (_features(text), ((c, 1.0) for c in text), [(text, 1.0)]):
            for feature, weight in features:
                slot, sign = self._slot(feature)
                vector[slot] += sign * weight
            if vector.any():
                break
        return vector / np.linalg.norm(vector)

    def _slot(self, feature: str) -> tuple[int, float]:
        digest = int.from_bytes(blake2b(feature.encode(), digest_size=8).digest(), "little")
        return (digest >> 1) % self.dimension, 1.0 if digest & 1 else -1.0


def _features(text: str) -> Iterator[tuple[str, float]]:
    for match in _RUN.finditer(unicodedata.normalize("NFKC", text).casefold()):
        run = match[0]
        if match[1]:
            yield from ((c, 0.5) for c in run)
            yield from ((run[i : i + 2], 1.0) for i in range(len(run) - 1))
        else:
            yield f"w:{run}", 1.0
            padded = f"<{run}>"
            yield from ((padded[i : i + 3], 0.5) for i in range(len(padded) - 2))
