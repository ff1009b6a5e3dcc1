"""Traces, when an exporter is configured; without one every call here costs next to nothing.

Spans carry no text of a caller: names of calls and parts, statuses, counts.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from siltstone.errors import FailedPreconditionError

TRACE_HEADERS = ("traceparent", "tracestate")
"""Metadata of gRPC and headers of HTTP that carry the trace, see https://www.w3.org/TR/trace-context/."""

_tracer: Any = None


def start_tracing(endpoint: str, service: str, exporter: Any = None) -> Any:
    """Send spans from now on. Returns what to `shutdown` at the end, so that the last spans leave.

    Args:
        endpoint: base URL of an OTLP collector over HTTP, such as http://127.0.0.1:4318.
        service: ``service.name`` of the spans.
        exporter: used instead of one for `endpoint`.

    Raises:
        FailedPreconditionError: (TRACING_NOT_INSTALLED) the packages of the extra ``otel`` are missing.
    """
    global _tracer
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor
    except ImportError as error:
        raise FailedPreconditionError(
            f"otlp_endpoint: traces need the packages of siltstone[otel] ({error.name} is missing); install "
            "them, or leave the setting out",
            reason="TRACING_NOT_INSTALLED",
            field="otlp_endpoint",
        ) from None
    provider = TracerProvider(resource=Resource.create({"service.name": service}))
    if exporter is None:
        exporter = OTLPSpanExporter(f"{endpoint.rstrip('/')}/v1/traces")
        provider.add_span_processor(BatchSpanProcessor(exporter))
    else:
        provider.add_span_processor(SimpleSpanProcessor(exporter))
    _tracer = provider.get_tracer("siltstone")
    return provider


def stop_tracing(provider: Any) -> None:
    """Make no more spans, and send those there are."""
    global _tracer
    _tracer = None
    provider.shutdown()


@contextmanager
def span(name: str, *, kind: str = "INTERNAL", headers: Mapping[str, str] | None = None) -> Iterator[Any]:
    """A span around the block, which gets it, or None while no traces are made.

    Args:
        kind: INTERNAL, SERVER or CLIENT.
        headers: of the request it answers; the span continues the trace in them.
    """
    if _tracer is None:
        yield None
        return
    from opentelemetry.propagate import extract
    from opentelemetry.trace import SpanKind

    parent = extract(dict(headers)) if headers else None
    # An exception's text may quote what a caller sent.
    with _tracer.start_as_current_span(
        name, context=parent, kind=SpanKind[kind], record_exception=False, set_status_on_exception=False
    ) as made:
        yield made


def ended(made: Any, status: str) -> None:
    """Note on a span how its request ended."""
    if made is not None:
        from opentelemetry.trace import Status, StatusCode

        made.set_attribute("rpc.status", status)
        if status != "OK":
            made.set_status(Status(StatusCode.ERROR))


def carrier() -> dict[str, str]:
    """Headers that hand the trace at hand on; none outside a trace."""
    if _tracer is None:
        return {}
    from opentelemetry.propagate import inject

    headers: dict[str, str] = {}
    inject(headers)
    return {name: value for name, value in headers.items() if name in TRACE_HEADERS}


def trace_id() -> str:
    """The id of the trace at hand, 32 hex digits; "" outside any."""
    if _tracer is None:
        return ""
    from opentelemetry.trace import get_current_span

    context = get_current_span().get_span_context()
    return f"{context.trace_id:032x}" if context.is_valid else ""
