"""Counters and gauges for Prometheus, and who may fetch them.

A service of several processes keeps its counters in files of a private folder, as the library does
it (``PROMETHEUS_MULTIPROC_DIR``), so that whichever process is asked answers for all.  Gauges are
set when they are fetched and, so that other processes can answer, every few seconds.
"""

from __future__ import annotations

import asyncio
import hmac
import os
from typing import TYPE_CHECKING

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

from voile_share.service.context import context_of
from voile_share.service.problems import ProblemError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["SEVERAL", "Measures", "router"]

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
async def metrics(request: Request) -> Response:
    """For the holder of the token; without one there is no such page."""
    measures: Measures | None = request.app.state.measures
    if measures is None:
        raise ProblemError("not-found")
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    if scheme.lower() != "bearer" or not measures.opens(token.strip()):
        context_of(request).refused(request, "token-refused")
        raise ProblemError("token-refused")
    return Response(measures.shown(), media_type=_TYPE)
