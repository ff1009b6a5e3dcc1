"""Watching the service: the request at hand, figures, logs, traces."""

from siltstone.watching.logs import logging_to
from siltstone.watching.metrics import Figure, Metrics, serve_metrics
from siltstone.watching.request import REQUEST_ID_HEADER, Request, current, request_id, taken_or_new
from siltstone.watching.tracing import TRACE_HEADERS, carrier, span, start_tracing, stop_tracing

__all__ = [
    "REQUEST_ID_HEADER",
    "TRACE_HEADERS",
    "Figure",
    "Metrics",
    "Request",
    "carrier",
    "current",
    "logging_to",
    "request_id",
    "serve_metrics",
    "span",
    "start_tracing",
    "stop_tracing",
    "taken_or_new",
]
