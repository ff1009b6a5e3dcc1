"""Words for time in a query, read as a window of time. Pure functions: no clock, no I/O."""

from siltstone.timephrase.reading import Found, find_window

__all__ = ["Found", "find_window"]
