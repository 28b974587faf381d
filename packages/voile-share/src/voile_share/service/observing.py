"""Around every request: how it is counted and traced, by its route and never by its path.

Counters and gauges for Prometheus, and who may fetch them.

A service of several processes keeps its counters in files of a private folder, as the library does
it (``PROMETHEUS_MULTIPROC_DIR``), so that whichever process is asked answers for all.  Gauges are
set when they are fetched and, so that other processes can answer, every few seconds.
"""

from __future__ import annotations

import asyncio
import hmac
import os
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request, Response
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
    multiprocess,
)
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from voile_base.ondemand import on_demand
from voile_base.values import Json
from voile_share.service.context import context_of
from voile_share.service.problems import ProblemError

if TYPE_CHECKING:
    from collections.abc import Callable

    from opentelemetry import context as opentelemetry_context
    from opentelemetry.exporter.otlp.proto.http import trace_exporter as http_trace_exporter
    from opentelemetry.sdk import resources as sdk_resources
    from opentelemetry.sdk import trace as sdk_trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace import export as trace_export
    from opentelemetry.sdk.trace import sampling as trace_sampling
    from opentelemetry.sdk.trace.export import SpanExporter

    from voile_share.service.options import Telemetry
else:
    opentelemetry_context = on_demand("opentelemetry.context")
    http_trace_exporter = on_demand("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    sdk_resources = on_demand("opentelemetry.sdk.resources")
    sdk_trace = on_demand("opentelemetry.sdk.trace")
    trace_export = on_demand("opentelemetry.sdk.trace.export")
    trace_sampling = on_demand("opentelemetry.sdk.trace.sampling")

__all__ = ["SEVERAL", "Measures", "Observed", "router", "tracing"]


SEVERAL = "PROMETHEUS_MULTIPROC_DIR"
_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_EVERY = 5.0

router = APIRouter()


class Measures:
    """What one process measures; values without names of anything."""

    def __init__(self, token: str) -> None:
        self._token = token.encode()
        self._several = SEVERAL in os.environ
        self._registry = CollectorRegistry()
        if not self._several:
            ProcessCollector(registry=self._registry)
        self.requests = Counter(
            "voile_requests",
            "Requests that were answered",
            ("method", "route", "status"),
            registry=self._registry,
        )
        self.seconds = Histogram(
            "voile_request_seconds",
            "Until the answer began",
            ("route",),
            buckets=_SECONDS,
            registry=self._registry,
        )
        self.positions = Counter(
            "voile_positions",
            "Messages of trackers by HTTP, by what became of them",
            ("outcome",),
            registry=self._registry,
        )
        self.notices = Counter(
            "voile_notices",
            "Troubles and faults that the operator was told on standard error",
            ("kind",),
            registry=self._registry,
        )
        self.store = Gauge(
            "voile_store_writable",
            "1 where the store takes what is written",
            registry=self._registry,
            multiprocess_mode="livemin",
        )
        self.store.set(1.0)
        self._gauges: list[tuple[Gauge, Callable[[], float]]] = []

    def watch(self, name: str, what: str, mode: str, value: Callable[[], float]) -> None:
        """Show a value as it is when it is asked for; ``mode``: how processes add up."""
        gauge = Gauge(name, what, registry=self._registry, multiprocess_mode=mode)  # type: ignore[arg-type]
        self._gauges.append((gauge, value))

    def told(self, message: str) -> None:
        """The operator was told something."""
        self.notices.labels("fault" if message.startswith("a fault of Voile") else "trouble").inc()

    def opens(self, token: str) -> bool:
        """Whether it is the token."""
        return hmac.compare_digest(token.encode(), self._token)

    def take(self) -> None:
        """Set the gauges."""
        for gauge, value in self._gauges:
            gauge.set(value())

    async def go_on(self) -> None:
        """Set the gauges now and then, for other processes that are asked."""
        while self._several:
            self.take()
            await asyncio.sleep(_EVERY)

    def shown(self) -> bytes:
        """All of it in the text format."""
        self.take()
        if not self._several:
            return generate_latest(self._registry)
        registry = CollectorRegistry()
        multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
        return generate_latest(registry)


@router.get("/metrics", include_in_schema=False)
async def _metrics(request: Request) -> Response:
    """For the holder of the token; without one there is no such page."""
    measures: Measures | None = request.app.state.measures
    if measures is None:
        raise ProblemError("not-found")
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not measures.opens(token.strip()):
        context_of(request).refused(request, "token-refused")
        raise ProblemError("token-refused")
    return Response(measures.shown(), media_type=_TYPE)


_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})
_OUTCOME = b"voile-outcome"


def tracing(
    telemetry: Telemetry, exporter: SpanExporter | None = None
) -> sdk_trace.TracerProvider | None:
    """What makes spans and sends them; ``exporter`` takes the place of OTLP in tests.

    What the environment says of resources is left out: it may name people and machines.
    """
    if not telemetry.traces:
        return None

    provider = sdk_trace.TracerProvider(
        sampler=trace_sampling.TraceIdRatioBased(telemetry.sampled),
        resource=sdk_resources.Resource({"service.name": "voile-share"}),
        shutdown_on_exit=False,
    )
    provider.add_span_processor(
        trace_export.BatchSpanProcessor(
            exporter or http_trace_exporter.OTLPSpanExporter(endpoint=telemetry.traces)
        )
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
        began, answer = time.perf_counter(), Json()

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


def _count(measures: Measures, method: str, route: str, status: int, answer: Json) -> None:
    measures.requests.labels(method, route, str(status)).inc()
    if "seconds" in answer:
        measures.seconds.labels(route).observe(answer["seconds"])
    if answer.get("outcome"):
        measures.positions.labels(answer["outcome"].decode()).inc()


def _empty() -> Any:
    return opentelemetry_context.Context()


def _method(scope: Scope) -> str:
    return scope["method"] if scope["method"] in _METHODS else "other"


def _route(scope: Scope) -> str:
    """As it is declared: a path may hold the token of a tracker, or the number of a parcel."""
    if (path := scope["path"]) == "/ingest" or path.startswith("/ingest/"):
        return "/ingest"
    route = getattr(scope.get("route"), "path_format", None)
    return route if isinstance(route, str) else "other"
