"""The application: routes, what stands around them and counts them, and what runs beside them.

What a log such as a chain could not do at once is done while the service runs.

The outermost layer adds the headers that every answer has.  An exception that nobody expected may
quote a position or a token, so neither the caller nor a log ever sees its message: the caller gets
a problem with status 500, and the operator is told the kind of the exception and the line that
raised it.

Around every request it is counted and traced, by its route and never by its path.  Counters and
gauges are for Prometheus, and for whom the operator lets fetch them.  A service of several
processes keeps its counters in files of a private folder, as the library does it
(``PROMETHEUS_MULTIPROC_DIR``), so that whichever process is asked answers for all.  Gauges are set
when they are fetched and, so that other processes can answer, every few seconds.
"""

from __future__ import annotations

import asyncio
import hmac
import os
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, nullcontext, suppress
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import APIRoute
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
    multiprocess,
)
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from voile_base.errors import VoileError
from voile_base.ondemand import on_demand
from voile_base.values import Document, Json
from voile_base.version import VERSION
from voile_share.ingest import IngestError
from voile_share.platform import AccessError, BusyError, Platform
from voile_share.protocol import RejectedError
from voile_share.service import company, devices, exchange, models, public
from voile_share.service import hooks as hooks_of
from voile_share.service import operator as operator_pages
from voile_share.service.context import ServiceContext
from voile_share.service.devices import Bodies, Trackers
from voile_share.service.feed import Feeds
from voile_share.service.hooks import LetterMeters, deliver
from voile_share.service.mqtt import Broker, subscribe
from voile_share.service.options import HookOptions, Options, Telemetry
from voile_share.service.problems import (
    COMMON,
    Mistake,
    Notices,
    ProblemDetails,
    ProblemError,
    documented,
)
from voile_share.store import ConflictError, StoreError

if TYPE_CHECKING:
    from opentelemetry import context as opentelemetry_context
    from opentelemetry.exporter.otlp.proto.http import trace_exporter as http_trace_exporter
    from opentelemetry.sdk import resources as sdk_resources
    from opentelemetry.sdk import trace as sdk_trace
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace import export as trace_export
    from opentelemetry.sdk.trace import sampling as trace_sampling
    from opentelemetry.sdk.trace.export import SpanExporter

    from voile_share.map import MapFile
else:
    opentelemetry_context = on_demand("opentelemetry.context")
    http_trace_exporter = on_demand("opentelemetry.exporter.otlp.proto.http.trace_exporter")
    sdk_resources = on_demand("opentelemetry.sdk.resources")
    sdk_trace = on_demand("opentelemetry.sdk.trace")
    trace_export = on_demand("opentelemetry.sdk.trace.export")
    trace_sampling = on_demand("opentelemetry.sdk.trace.sampling")

__all__ = ["SEVERAL", "Measures", "application", "description", "router", "tracing"]

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
        ServiceContext.of(request).refused(request, "token-refused")
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


class _Observed:
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


_TIDY_SECONDS = 3_600.0
_TRY_SECONDS = 15.0
_ABOUT = """Live locations for the parties of a parcel, and for nobody else.

Tokens go in the header Authorization as Bearer. Errors are problems of RFC 9457, with a `reason`
that keeps its meaning."""
_PARTS = ("path", "query", "header", "body")
_NO_TELEMETRY: Json = {
    # FastAPI can export requests, with the tokens in the paths of trackers and the inputs that
    # failed validation, wherever the environment says.
    "telemetry": {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}
}
_SETTLE_SECONDS = 15.0
_HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cache-control": "no-store",
}
_STRICT_TRANSPORT = "max-age=31536000"


class _Handlers:
    """Exceptions as answers; which names may be said stands in ``fields``."""

    def __init__(self, fields: frozenset[str], notices: Notices) -> None:
        self._fields = fields
        self._notices = notices

    async def problem(self, request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, ProblemError)
        return error.response()

    async def of_voile(self, request: Request, error: Exception) -> JSONResponse:
        if isinstance(error, StoreError):
            self._notices.say(str(error))
        return ProblemError.of(error).response()

    async def invalid(self, request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, RequestValidationError)
        mistakes = [self._mistake(one) for one in error.errors()]
        return ProblemError("invalid-request", errors=mistakes).response()

    def _mistake(self, error: Document) -> Mistake:
        """Names of fields that the caller made up are not repeated."""
        steps = [
            str(step) if isinstance(step, int) or step in self._fields else "?"
            for step in error["loc"]
        ]
        return Mistake(where=".".join(steps), what=str(error["msg"]))

    async def http(self, request: Request, error: Exception) -> JSONResponse:
        assert isinstance(error, HTTPException)
        reason = {404: "not-found", 405: "method-not-allowed", 413: "too-large"}.get(
            error.status_code, "invalid-request" if error.status_code < 500 else "fault"
        )
        return ProblemError(reason, headers=error.headers).response()


def _handlers(fields: frozenset[str], notices: Notices) -> dict[Any, Any]:
    """For FastAPI; ``fields`` are the names of fields that mistakes may be reported of."""
    those = _Handlers(fields, notices)
    of_voile = (IngestError, AccessError, RejectedError, StoreError, ConflictError, BusyError)
    return {
        ProblemError: those.problem,
        RequestValidationError: those.invalid,
        HTTPException: those.http,
        **dict.fromkeys(of_voile, those.of_voile),
    }


def application(
    platform: Platform,
    options: Options | None = None,
    *,
    roads: MapFile | None = None,
    broker: Broker | None = None,
    telemetry: Telemetry | None = None,
    hooks: HookOptions | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> FastAPI:
    """The service over a platform, which stays its caller's to close.

    ``roads`` is the map of the page; ``broker`` is where devices publish by MQTT, of which one
    process of a service takes what they send; ``telemetry`` says what is measured, ``hooks`` how
    companies are told of their parcels; ``tell`` is told of troubles that the operator should know
    of, in sentences that hold nothing of any request.
    """
    observing = telemetry or Telemetry()
    measures = _measures(observing)
    chosen, notices = options or Options(), Notices(_telling(tell, measures))
    context = ServiceContext(platform, chosen, notices.say)
    traces = tracing(observing)
    telling = hooks or HookOptions()
    beside = [lambda: deliver(context, notices, telling)]
    if broker is not None:
        beside.append(lambda: subscribe(context, notices, broker))
    if measures is not None:
        beside.append(measures.go_on)
    app = _described(notices, lambda app: _running(context, notices, beside, traces))
    app.state.context = context
    app.state.hook_options = telling
    app.state.writing = public.Writing(platform, notices.say)
    app.state.letter_meters = LetterMeters()
    app.state.measures = measures
    app.state.feeds = Feeds(context)
    app.state.roads = roads
    operator_pages.add_operator_pages(app, notices)
    if measures is not None:
        _watch(measures, context, app.state.feeds)
        beside.append(lambda: _try_writing(app.state.writing, measures))
    app.around = lambda inner: _Observed(
        _OutermostMiddleware(
            Bodies(
                Trackers(inner, _handlers(_fields(), notices)),
                most_waiting=chosen.body_bytes_waiting,
            ),
            notices=notices,
            is_encrypted=chosen.is_encrypted,
        ),
        measures,
        traces,
    )
    return app


def _measures(telemetry: Telemetry) -> Measures | None:
    token = telemetry.token()
    return None if token is None else Measures(token)


def _telling(tell: Callable[[str], None], measures: Measures | None) -> Callable[[str], None]:
    if measures is None:
        return tell

    def told(message: str) -> None:
        measures.told(message)
        tell(message)

    return told


def _watch(measures: Measures, context: ServiceContext, feeds: Feeds) -> None:
    waited = context.platform.waited
    measures.watch("voile_waited_seconds", "How long the oldest work waits", "max", waited)
    measures.watch("voile_feeds", "Feeds that are open", "livesum", lambda: feeds.count)


def description() -> Json:
    """The OpenAPI document, without a platform."""
    return _described(Notices(lambda _: None), None).openapi()


class _Application(FastAPI):
    """FastAPI with what stands around all of it: a tracker's request passes nothing else."""

    around: Callable[[ASGIApp], ASGIApp] = staticmethod(lambda inner: inner)

    def build_middleware_stack(self) -> ASGIApp:
        return self.around(super().build_middleware_stack())


def _described(notices: Notices, lifespan: Any) -> _Application:
    app = _Application(
        title="Voile share",
        summary="Live locations for the parties of a parcel, and for nobody else.",
        description=_ABOUT,
        version=VERSION,
        docs_url=None,  # these pages load scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,  # an address with a token is not repeated in a header
        generate_unique_id_function=_name,
        exception_handlers={**_handlers(_fields(), notices), Exception: _fault},
        lifespan=lifespan,
        responses=documented(*COMMON),
        **_NO_TELEMETRY,
    )
    routers = (
        *(company.router, exchange.links_router, exchange.router, exchange.readers_router),
        *(public.router, hooks_of.router, router, operator_pages.router),
    )
    for part in routers:
        app.include_router(part)
    public.add_page(app)
    _describe_problems(app)
    return app


async def _fault(request: Request, error: Exception) -> Response:
    """What the caller is told; the exception goes on, and the outermost tells the operator."""
    return ProblemError("fault").response()


def _name(route: APIRoute) -> str:
    return route.name.removeprefix("_")


def _fields() -> frozenset[str]:
    """Names of parts and fields that stand in the description of the API."""
    shapes = [getattr(models, name) for name in models.__all__]
    names = {
        name
        for shape in shapes
        if isinstance(shape, type) and issubclass(shape, BaseModel)
        for name in shape.model_fields
    }
    more = (
        "truck",
        "hook",
        "parcel",
        "device",
        "slot",
        "after",
        "from",
        "search",
        "outcome",
        "stops",
        "since",
        "last-event-id",
    )
    return frozenset({*names, *_PARTS, *more})


def _describe_problems(app: FastAPI) -> None:
    """Every route may end in the common problems, beside its own of the same status."""
    original = app.openapi

    def described() -> Json:
        if app.openapi_schema is None:
            document = original()
            devices.describe(document)
            shapes = document["components"]["schemas"]
            for name in ("HTTPValidationError", "ValidationError"):
                shapes.pop(name, None)
            template = "#/components/schemas/{model}"
            problem = ProblemDetails.model_json_schema(ref_template=template)
            problem.pop("$defs", None)
            shapes["Problem"] = problem
            shapes["Mistake"] = Mistake.model_json_schema(ref_template=template)
            for operations in document["paths"].values():
                for operation in operations.values():
                    _add_common(operation["responses"])
            app.openapi_schema = document
        return app.openapi_schema

    app.openapi = described  # type: ignore[method-assign]


def _add_common(answers: Json) -> None:
    for status, common in documented(*COMMON).items():
        content = answers.setdefault(str(status), common)["content"]
        shown = content["application/problem+json"]
        shown["examples"] = {
            **common["content"]["application/problem+json"]["examples"],
            **shown["examples"],
        }


@asynccontextmanager
async def _running(
    context: ServiceContext,
    notices: Notices,
    more: Sequence[Callable[[], Coroutine[Any, Any, None]]],
    traces: TracerProvider | None,
) -> AsyncIterator[None]:
    """While the application runs: what is old is dropped, what waits for a chain is sent.

    ``more`` goes on beside it, such as taking messages of MQTT; faults of tasks are told.
    """
    asyncio.get_running_loop().set_exception_handler(
        # What asyncio would log may quote anything.
        lambda _, details: notices.fault(details.get("exception") or RuntimeError())
    )
    beside = [
        asyncio.create_task(_tidy(context, notices)),
        asyncio.create_task(_settle(context, notices)),
    ]
    beside += [asyncio.create_task(one()) for one in more]
    try:
        yield
    finally:
        context.closing.set()
        for task in beside:
            task.cancel()
        await asyncio.wait(beside)
        if traces is not None:
            await asyncio.to_thread(traces.shutdown)


async def _try_writing(writing: public.Writing, measures: Measures) -> None:
    """Say in the metrics, within a slot, that the store takes nothing."""
    while True:
        measures.store.set(float(await writing.works()))
        await asyncio.sleep(_TRY_SECONDS)


async def _tidy(context: ServiceContext, notices: Notices) -> None:
    while True:
        try:
            await context.do(context.platform.tidy)
        except VoileError as error:
            notices.say(str(error))
        await asyncio.sleep(_TIDY_SECONDS)


async def _settle(context: ServiceContext, notices: Notices) -> None:
    """At start, now and then, and as soon as the platform says so; troubles are told."""
    behind, loop = asyncio.Event(), asyncio.get_running_loop()

    def wake() -> None:
        with suppress(RuntimeError):  # the service has ended
            loop.call_soon_threadsafe(behind.set)

    context.platform.when_behind(wake)
    while True:
        behind.clear()
        try:
            await context.do(context.platform.settle)
        except VoileError as error:
            notices.say(str(error))
        with suppress(TimeoutError):
            await asyncio.wait_for(behind.wait(), _SETTLE_SECONDS)


class _OutermostMiddleware:
    """Middleware of ASGI."""

    def __init__(self, app: ASGIApp, notices: Notices, *, is_encrypted: bool) -> None:
        """``is_encrypted``: whether people use https."""
        self._app = app
        self._notices = notices
        headers = dict(_HEADERS)
        if is_encrypted:
            headers["strict-transport-security"] = _STRICT_TRANSPORT
        self._headers = [(name.encode(), value.encode()) for name, value in headers.items()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand on a request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def send_on(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                given = message["headers"] = list(message.get("headers", ()))
                names = {name for name, _ in given}
                given += [one for one in self._headers if one[0] not in names]
            await send(message)

        try:
            await self._app(scope, receive, send_on)
        except Exception as error:
            self._notices.fault(error)
            if not started:
                await ProblemError("fault").response()(scope, receive, send_on)
