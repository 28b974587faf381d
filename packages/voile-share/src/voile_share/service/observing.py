"""Around every request: how it is counted and traced, by its route and never by its path."""

from __future__ import annotations

import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from voile_share.service.measures import Measures

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SpanExporter

    from voile_share.service.telemetry import Telemetry

__all__ = ["Observed", "tracing"]

_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})
_OUTCOME = b"voile-outcome"


def tracing(telemetry: Telemetry, exporter: SpanExporter | None = None) -> TracerProvider | None:
    """What makes spans and sends them; ``exporter`` takes the place of OTLP in tests.

    What the environment says of resources is left out: it may name people and machines.
    """
    if not telemetry.traces:
        return None
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415 - an extra
        OTLPSpanExporter,
    )
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    from opentelemetry.sdk.trace.sampling import TraceIdRatioBased  # noqa: PLC0415

    provider = TracerProvider(
        sampler=TraceIdRatioBased(telemetry.sampled),
        resource=Resource({"service.name": "voile-share"}),
        shutdown_on_exit=False,
    )
    provider.add_span_processor(
        BatchSpanProcessor(exporter or OTLPSpanExporter(endpoint=telemetry.traces))
    )
    return provider


class Observed:
    """Middleware of ASGI; without measures and traces requests pass untouched."""

    def __init__(
        self, app: ASGIApp, measures: Measures | None, provider: TracerProvider | None
    ) -> None:
        self._app = app
        self._measures = measures
        self._tracer = None if provider is None else provider.get_tracer("voile")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand on a request."""
        if scope["type"] != "http" or (self._measures is None and self._tracer is None):
            await self._app(scope, receive, send)
            return
        began, answer = time.perf_counter(), dict[str, Any]()

        async def send_on(message: Message) -> None:
            if message["type"] == "http.response.start" and not answer:
                answer["status"] = message["status"]
                answer["seconds"] = time.perf_counter() - began
                answer["outcome"] = dict(message.get("headers", ())).get(_OUTCOME)
            await send(message)

        # Nothing of the caller's: neither its traceparent nor what an exception says.
        spanning = (
            nullcontext()
            if self._tracer is None
            else self._tracer.start_as_current_span(
                "request", context=_empty(), record_exception=False, set_status_on_exception=False
            )
        )
        with spanning as span:
            try:
                await self._app(scope, receive, send_on)
            finally:
                route, method = _route(scope), _method(scope)
                status = answer.get("status", 500)
                if span is not None:
                    span.update_name(f"{method} {route}")
                    span.set_attribute("http.request.method", method)
                    span.set_attribute("http.route", route)
                    span.set_attribute("http.response.status_code", status)
                if self._measures is not None:
                    _count(self._measures, method, route, status, answer)


def _count(
    measures: Measures, method: str, route: str, status: int, answer: dict[str, Any]
) -> None:
    measures.requests.labels(method, route, str(status)).inc()
    if "seconds" in answer:
        measures.seconds.labels(route).observe(answer["seconds"])
    if answer.get("outcome"):
        measures.positions.labels(answer["outcome"].decode()).inc()


def _empty() -> Any:
    from opentelemetry.context import Context  # noqa: PLC0415 - an extra

    return Context()


def _method(scope: Scope) -> str:
    return scope["method"] if scope["method"] in _METHODS else "other"


def _route(scope: Scope) -> str:
    """As it is declared: a path may hold the token of a tracker, or the number of a parcel."""
    if (path := scope["path"]) == "/ingest" or path.startswith("/ingest/"):
        return "/ingest"
    route = getattr(scope.get("route"), "path_format", None)
    return route if isinstance(route, str) else "other"
