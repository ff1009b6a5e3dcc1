"""Lessons by a language model behind an OpenAI-compatible endpoint; the only room that speaks to one.

Nothing here is needed: without settings the rules of `siltstone.hindsight` extract, and whenever the model
does not give lessons that the log proves, they do, and the answer says so.
"""

from siltstone.config import SettingError, Settings
from siltstone.hindsight.extractor import Extractor, Rules
from siltstone.llm.chat import ChatEndpoint
from siltstone.llm.extraction import ModelExtractor
from siltstone.llm.spending import TokenBudget

__all__ = ["ModelExtractor", "open_extractor"]


def open_extractor(settings: Settings) -> Extractor:
    """The model's extractor where `llm_base_url` is set, else the rules. Connects to nothing yet.

    Raises SettingError when only one of `llm_base_url` and `llm_model` is set.
    """
    if not settings.llm_base_url and not settings.llm_model:
        return Rules()
    if not settings.llm_model:
        raise SettingError("llm_model: is missing; name the model of llm_base_url", field="llm_model")
    if not settings.llm_base_url:
        raise SettingError(
            "llm_base_url: is missing; give the endpoint of llm_model, or take llm_model away",
            field="llm_base_url",
        )
    return ModelExtractor(
        ChatEndpoint(settings.llm_model, base_url=settings.llm_base_url, api_key=settings.llm_api_key),
        timeout_s=settings.llm_timeout_s,
        max_input_tokens=settings.llm_max_input_tokens,
        max_output_tokens=settings.llm_max_output_tokens,
        budget=TokenBudget(settings.llm_daily_tokens),
    )
