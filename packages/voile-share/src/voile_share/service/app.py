"""The application: routes, what stands around them, and what runs beside them.

What a log such as a chain could not do at once is done while the service runs.

The outermost layer adds the headers that every answer has.  An exception that nobody expected may
quote a position or a token, so neither the caller nor a log ever sees its message: the caller gets
a problem with status 500, and the operator is told the kind of the exception and the line that
raised it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request, Response
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from voile_base.errors import VoileError
from voile_base.values import Json
from voile_base.version import VERSION
from voile_share.platform import Platform
from voile_share.service import company, devices, exchange, models, public
from voile_share.service import hooks as hooks_of
from voile_share.service import observing as measuring
from voile_share.service.context import ServiceContext
from voile_share.service.devices import Bodies, Trackers
from voile_share.service.feed import Feeds
from voile_share.service.hooks import LetterMeters, deliver
from voile_share.service.mqtt import Broker, subscribe
from voile_share.service.observing import Measures, Observed, tracing
from voile_share.service.operator import pages as operator_pages
from voile_share.service.options import HookOptions, Options, Telemetry
from voile_share.service.problems import (
    COMMON,
    Mistake,
    Notices,
    ProblemDetails,
    ProblemError,
    documented,
    handlers,
    response_of,
)

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider

    from voile_share.map import MapFile

__all__ = ["application", "description"]

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
    app.around = lambda inner: Observed(
        _OutermostMiddleware(
            Bodies(
                Trackers(inner, handlers(_fields(), notices)),
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
        exception_handlers={**handlers(_fields(), notices), Exception: _fault},
        lifespan=lifespan,
        responses=documented(*COMMON),
        **_NO_TELEMETRY,
    )
    routers = (
        *(company.router, exchange.links_router, exchange.router, exchange.readers_router),
        *(public.router, hooks_of.router, measuring.router, operator_pages.router),
    )
    for router in routers:
        app.include_router(router)
    public.add_page(app)
    _describe_problems(app)
    return app


async def _fault(request: Request, error: Exception) -> Response:
    """What the caller is told; the exception goes on, and the outermost tells the operator."""
    return response_of(ProblemError("fault"))


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
        asyncio.create_task(settle(context, notices)),
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


async def settle(context: ServiceContext, notices: Notices) -> None:
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
                await response_of(ProblemError("fault"))(scope, receive, send_on)
