"""The operations. It owns the store and the index."""

from siltstone.engine.call import Call
from siltstone.engine.engine import Engine

__all__ = ["Call", "Engine"]
