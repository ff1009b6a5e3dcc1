"""An optional reranker: a model behind HTTP that reads query and texts together."""

from siltstone.config import Settings
from siltstone.rerank.endpoint import Reranker, RerankError

__all__ = ["RerankError", "Reranker", "open_reranker"]


def open_reranker(settings: Settings) -> Reranker | None:
    """The one the settings name; None without. Nothing is asked yet."""
    if not settings.rerank_base_url:
        return None
    return Reranker(
        settings.rerank_base_url,
        model=settings.rerank_model,
        api_key=settings.rerank_api_key,
        timeout_s=settings.rerank_timeout_s,
    )
