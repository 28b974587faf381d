"""A sharing service that is asked for twice what it can do: what is answered, and how soon after.

How many reports a second it keeps up with is found first, in the same run, so that the load is
twice that of this machine, with whatever else works on it.  Beside the trackers somebody asks
whether the service is alive and ready, twenty times a second.
"""

from __future__ import annotations

import http.client
import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from threading import Event, Thread

import numpy as np

from benchmarks.process_tree import machine_busy
from benchmarks.record import Measurement, Table, Target
from benchmarks.sharing_ingest import Case, made, serve_told
from benchmarks.sharing_load import Answer, Load, Sent, send_all

__all__ = ["run"]

TRUCKS = 2_400
"""Each has slots of a second, and sends at most once in one."""
CONNECTIONS = 1_500
"""Enough for the load to stay open: as many positions may be under way."""
STEPS = (150, 225, 300, 400, 500, 650, 800, 1_000, 1_200)
"""Reports a second that are tried in turn."""
STEP_SECONDS = 8.0
OVERLOAD_SECONDS = 20.0
AFTER_SECONDS = 15.0
SOON = 1.0
"""Seconds: the p99 of a service that keeps up, and what is late after the load."""
ASKED, ASKED_P99 = 2_000, 0.25
MOST_P99, MOST_HEALTH, MOST_RECOVERY = 1.0, 0.1, 5.0
_HEALTH = ("/healthz", "/readyz")
_EVERY = 0.05


def run() -> Measurement:
    """Find what is kept up with, send twice as much, and then half as much."""
    case = Case("default", TRUCKS)
    with tempfile.TemporaryDirectory(prefix="voile-overload-") as place:
        folder = Path(place) / "service"
        tokens = made(folder, case)
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        service = context.Process(target=serve_told, args=(folder, theirs))
        service.start()
        port = ours.recv()
        with ProcessPoolExecutor(1, mp_context=context) as pool:

            def send(rate: float, seconds: float) -> Sent:
                period = TRUCKS / rate
                rounds = max(1, round(seconds / period))
                load = Load(port, tokens, period, rounds, CONNECTIONS, drives=True)
                return pool.submit(send_all, load).result()

            send(100, 1)
            began, busy = time.monotonic(), machine_busy()
            tried = _kept_up_with(send)
            kept = max((rate for rate, sent in tried if _keeps_up(sent)), default=STEPS[0])
            probe = _Probe(port)
            above = send(2 * kept, OVERLOAD_SECONDS)
            health = probe.end()
            after = send(kept / 2, AFTER_SECONDS)
            cores = os.cpu_count() or 1
            share = (machine_busy() - busy) / ((time.monotonic() - began) * cores)
        service.terminate()
        service.join()
    return _measurement(tried, kept, above, health, after, share)


class _Probe:
    """Asks whether the service is alive and ready, until it ends."""

    def __init__(self, port: int) -> None:
        self._port, self._ended = port, Event()
        self._latencies: dict[str, list[float]] = {path: [] for path in _HEALTH}
        self._threads = [Thread(target=self._ask, args=(path,)) for path in _HEALTH]
        for each in self._threads:
            each.start()

    def end(self) -> dict[str, list[float]]:
        """Seconds that each answer took."""
        self._ended.set()
        for each in self._threads:
            each.join()
        return self._latencies

    def _ask(self, path: str) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        while not self._ended.wait(_EVERY):
            began = time.monotonic()
            connection.request("GET", path)
            connection.getresponse().read()
            self._latencies[path].append(time.monotonic() - began)
        connection.close()


def _kept_up_with(send: Callable[[float, float], Sent]) -> list[tuple[float, Sent]]:
    """What came of one rate after another, up to the first that is too much."""
    tried: list[tuple[float, Sent]] = []
    for rate in STEPS:
        tried.append((rate, send(rate, STEP_SECONDS)))
        if not _keeps_up(tried[-1][1]):
            break
    return tried


def _keeps_up(sent: Sent) -> bool:
    return not sent.refused and float(np.quantile(sent.latencies, 0.99)) < SOON


def _recovery(answers: Sequence[Answer]) -> float:
    """Seconds after which every position was taken, and answered soon."""
    begin = min(one.due for one in answers)
    late = [one.due - begin for one in answers if one.status != 200 or one.latency >= SOON]
    return max(late, default=0.0)


def _line(name: str, rate: float, sent: Sent) -> list[str]:
    taken = [one.latency for one in sent.answers if one.status == 200]
    shed = [one.latency for one in sent.answers if one.status != 200]
    return [
        name,
        f"{rate:,.0f}",
        f"{len(taken) / sent.seconds:,.0f}",
        f"{len(shed) / len(sent.answers):.0%}",
        *(f"{1000 * float(np.quantile(taken, at)):,.0f}" if taken else "" for at in (0.5, 0.99)),
        f"{1000 * float(np.quantile(shed, 0.99)):,.0f}" if shed else "",
    ]


def _measurement(
    tried: Sequence[tuple[float, Sent]],
    kept: float,
    above: Sent,
    health: dict[str, list[float]],
    after: Sent,
    share: float,
) -> Measurement:
    taken = [one.latency for one in above.answers if one.status == 200]
    p99 = float(np.quantile(taken, 0.99)) if taken else float("inf")
    usual = float(np.quantile(dict(tried)[kept].latencies, 0.99))
    odd = sorted({one.status for one in above.answers} - {200, 503})
    slowest = {path: max(latencies) for path, latencies in health.items()}
    middle = {path: float(np.quantile(each, 0.99)) for path, each in health.items()}
    recovery = _recovery(after.answers)
    said = ", ".join(
        f"{path} p99 {1000 * middle[path]:.0f} ms, slowest {1000 * slowest[path]:.0f} ms"
        for path in _HEALTH
    )
    return Measurement(
        question="What does a sharing service do that is asked for twice what it can?",
        data=f"{TRUCKS} trucks that drive, of one company, each in a slot of one second; the "
        "default configuration",
        seeds="none: the service draws from the system",
        protocol=f"a service with SQLite on {os.cpu_count()} cores, of which all work, the load "
        f"generator's too, took {share:.0%}; open loop, at most {CONNECTIONS} positions under way; "
        f"rates are tried for {STEP_SECONDS:.0f} s each until p99 is {SOON:g} s or more "
        f"or one is refused; then {OVERLOAD_SECONDS:.0f} s of twice the last that was kept up "
        f"with, and {AFTER_SECONDS:.0f} s of half of it",
        answer=f"{kept:.0f} reports a second were kept up with; of twice as many, p99 of what was "
        f"taken {1000 * p99:,.0f} ms, {above.refused / len(above.answers):.0%} shed; {said}; "
        f"all was well again {recovery:.1f} s later.",
        targets=[
            Target("reports a second that are kept up with", f"at least {ASKED:,}",
                   f"{kept:,.0f}", kept >= ASKED),
            Target("p99 of these", f"under {1000 * ASKED_P99:.0f} ms", f"{1000 * usual:.0f} ms",
                   usual < ASKED_P99),
            Target("p99 of what is taken at twice the load", f"under {MOST_P99:g} s",
                   f"{p99:.2f} s", p99 < MOST_P99),
            Target("answers at twice the load", "200, or 503", f"also {odd}" if odd else "so",
                   not odd),
            *(Target(f"{path}, p99 of answers", f"under {1000 * MOST_HEALTH:.0f} ms",
                     f"{1000 * middle[path]:.0f} ms", middle[path] < MOST_HEALTH)
              for path in _HEALTH),
            Target("recovery", f"within {MOST_RECOVERY:.0f} s", f"{recovery:.1f} s",
                   recovery <= MOST_RECOVERY),
        ],
        tables=[
            Table(
                "Reports",
                ("when", "offered/s", "taken/s", "shed", "p50 of taken, ms", "p99 of taken, ms",
                 "p99 of shed, ms"),
                [
                    *(_line("alone", rate, sent) for rate, sent in tried),
                    _line("twice", 2 * kept, above),
                    _line("after", kept / 2, after),
                ],
            ),
        ],
    )  # fmt: skip
