"""How much a store may hold."""

from collections.abc import Mapping

from siltstone.errors import ResourceExhaustedError

# Table → what one entry of it is, as the setting that limits it has it, and what makes room.
_COUNTED = {
    "names": ("namespaces", "delete one"),
    "memories": ("memories", "forget some with mode ERASE"),
}


def refuse_when_full(before: Mapping[str, int], after: Mapping[str, int], limits: Mapping[str, int]) -> None:
    """ResourceExhaustedError when an operation added to a table that now holds more than it may. What takes
    away, or changes what is there, is done also in a store that is over a limit set later."""
    for table, most in limits.items():
        if after[table] > most and after[table] > before[table]:
            counted, remedy = _COUNTED[table]
            raise ResourceExhaustedError(
                f"this would make {after[table]:,} {counted} of {most:,} that the store may hold "
                f"(max_{counted}); {remedy}, or raise the limit",
                reason=f"TOO_MANY_{counted.upper()}",
            )
