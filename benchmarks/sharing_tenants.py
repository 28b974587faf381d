"""What one company's legal traffic does to another's: latencies alone, and beside an attack.

The attack is what an operator has seen: twelve files of trips of one tracker, sent at once.  The
ratio of the two latencies is what is looked at; both are of one machine in one run, so that other
work on it matters less.
"""

from __future__ import annotations

import http.client
import multiprocessing
import os
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import numpy as np

from benchmarks.process_tree import machine_busy
from benchmarks.record import Measurement, Table, Target
from benchmarks.sharing_ingest import serve_told
from benchmarks.sharing_load import Load, Sent, send_all
from voile_share.service.folder import Configuration, create, open_platform

__all__ = ["run"]

TRUCKS = 20
RATE = 10
"""Positions a second of the company that does nothing wrong."""
SECONDS = 20
FILES = 12
POINTS = 30_000
MOST_RATIO = 2.0


def run() -> Measurement:
    """The quiet company alone, and then beside the files of the loud one."""
    with tempfile.TemporaryDirectory(prefix="voile-tenants-") as place:
        folder = Path(place) / "service"
        quiet, loud = _set_up(folder)
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        service = context.Process(target=serve_told, args=(folder, theirs))
        service.start()
        port = ours.recv()
        with ProcessPoolExecutor(1, mp_context=context) as pool, ThreadPoolExecutor(FILES) as files:
            load = Load(port, quiet, TRUCKS / RATE, SECONDS * RATE // TRUCKS, TRUCKS)
            pool.submit(send_all, Load(port, quiet, TRUCKS / RATE, 2, TRUCKS)).result()
            busy = machine_busy()
            alone = pool.submit(send_all, load).result()
            body = _trip()
            later = pool.submit(send_all, load)
            sent = [files.submit(_send, port, loud, body) for _ in range(FILES)]
            beside = later.result()
            began = time.monotonic()
            statuses = [one.result() for one in sent]
            left = time.monotonic() - began
            share = (machine_busy() - busy) / (2 * SECONDS * (os.cpu_count() or 1))
        service.terminate()
        service.join()
    return _measurement(alone, beside, statuses, left, share)


def _set_up(folder: Path) -> tuple[Sequence[str], str]:
    """Tokens of the quiet company's trackers, and that of the loud one's."""
    create(folder)
    settings = "[platform]\nslot_seconds = 1\n"
    (folder / "share.toml").write_text(f"[service]\nport = 0\n{settings}", "utf-8")
    with closing(open_platform(folder, Configuration.read(folder))) as platform:
        quiet, loud = (platform.open_company(name)[0] for name in ("Quiet", "Loud"))
        trucks = [platform.add_truck(quiet)[0] for _ in range(TRUCKS)]
        tokens = [platform.add_device(quiet, truck.truck, "truck") for truck in trucks]
        other = platform.add_truck(loud)[0]
        return tokens, platform.add_device(loud, other.truck, "truck")


def _trip() -> bytes:
    now = int(time.time())
    points = "".join(
        f'<trkpt lat="52.{one:06}" lon="4.36"><time>'
        f"{time.strftime('%Y-%m-%dT%H:%M:%SZ', time.gmtime(now - POINTS + one))}</time></trkpt>"
        for one in range(POINTS)
    )
    return f'<gpx version="1.1" creator="x"><trk><trkseg>{points}</trkseg></trk></gpx>'.encode()


def _send(port: int, token: str, body: bytes) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    headers = {"content-type": "application/gpx+xml", "authorization": f"Bearer {token}"}
    connection.request("POST", "/ingest", body, headers)
    status = connection.getresponse().status
    connection.close()
    return status


def _measurement(
    alone: Sent, beside: Sent, statuses: Sequence[int], left: float, share: float
) -> Measurement:
    quantiles = [
        [1000 * float(np.quantile(one.latencies, at)) for at in (0.5, 0.99, 1)]
        for one in (alone, beside)
    ]
    ratio = quantiles[1][1] / quantiles[0][1]
    rows = [
        [name, *(f"{value:,.0f}" for value in values), f"{one.refused}"]
        for name, values, one in zip(
            ("alone", f"beside {FILES} files"), quantiles, (alone, beside), strict=True
        )
    ]
    return Measurement(
        question="By how much does one company's legal traffic delay another's positions?",
        data=f"{TRUCKS} trucks of one company, {RATE} positions a second for {SECONDS} s; {FILES} "
        f"files of {POINTS:,} points each, of one tracker of another company, at once",
        seeds="none: the service draws from the system",
        protocol=f"a service with SQLite on {os.cpu_count()} cores, of which all work took "
        f"{share:.0%}; latency from when a position was due to its answer",
        answer=f"p99 {quantiles[0][1]:,.0f} ms alone, {quantiles[1][1]:,.0f} ms beside the files, "
        f"{ratio:.1f} times; the last file was answered {left:.0f} s after the last position "
        f"({sum(one == 200 for one in statuses)} of {FILES} taken).",
        targets=[Target("p99 beside, to p99 alone", f"at most {MOST_RATIO:g}", f"{ratio:.1f}",
                        ratio <= MOST_RATIO)],
        tables=[Table("The quiet company", ("when", "p50, ms", "p99, ms", "slowest, ms",
                                            "refused"), rows)],
    )  # fmt: skip
