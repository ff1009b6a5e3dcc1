"""The formats that can be read, the most telling first: what one matches, later ones never see."""

from siltstone.hindsight.adapters import (
    agent_runs,
    anthropic_messages,
    browser_use,
    claude_code,
    codex,
    langchain,
    mcp_calls,
    openai_messages,
    openai_responses,
    own_format,
    swe_agent,
    tau_bench,
)
from siltstone.hindsight.adapters.log import Adapter, Found, Log, Skipped, holds_a_run, log_of

ADAPTERS: tuple[Adapter, ...] = (
    codex.ADAPTER,
    claude_code.ADAPTER,
    swe_agent.ADAPTER,
    browser_use.ADAPTER,
    tau_bench.ADAPTER,
    mcp_calls.ADAPTER,
    langchain.ADAPTER,
    openai_responses.ADAPTER,
    anthropic_messages.ADAPTER,
    openai_messages.ADAPTER,
    agent_runs.ADAPTER,
    own_format.ADAPTER,
)
KNOWN = "; ".join(adapter.looks for adapter in ADAPTERS)


def adapter_of(log: Log) -> Adapter | None:
    """The format of a log; None where it is none of the known ones."""
    return next((adapter for adapter in ADAPTERS if adapter.matches(log)), None)


__all__ = [
    "ADAPTERS",
    "KNOWN",
    "Adapter",
    "Found",
    "Log",
    "Skipped",
    "adapter_of",
    "holds_a_run",
    "log_of",
]
