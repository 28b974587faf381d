"""Ingest of the sharing service: reports a second, durable, over loopback, on this machine."""

from __future__ import annotations

import json
import multiprocessing
import os
import resource
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

from benchmarks.record import Measurement, Table, Target
from benchmarks.sharing_load import Load, Sent, send_all
from voile.randomness import Randomness
from voile.sharing import protocol
from voile.sharing.parties import Parties
from voile.sharing.platform import Platform
from voile.sharing.service import serve
from voile.sharing.service.folder import Configuration, create, open_platform
from voile.sharing.store import SQLiteStore

__all__ = ["run"]

SEED = 2023
ROUNDS, WARM = 15, 3
CONNECTIONS = 48
MOST_P99 = 0.25
SLOTS = 300
"""Seconds between two reports of a truck in the paper."""
PAPERS_TRUCKS = 450


@dataclass(frozen=True)
class Case:
    """How many reports, of trucks with how many parcels."""

    name: str
    asked: int
    """Reports a second that the service must take."""
    rate: int
    """Reports a second; as many trucks, each with a slot of a second."""
    parcels: int
    room: int
    """What reports are padded to."""


CASES = (
    Case("no parcels", 1_000, 1_020, 0, 0),
    Case("30 parcels each", 300, 306, 30, 30),
)


@dataclass(frozen=True)
class Run:
    """One case, measured."""

    case: Case
    sent: Sent
    stored: int
    processor: float
    """Seconds of the service."""
    memory: int
    """Largest resident size in bytes."""


def run() -> Measurement:
    """Each case on a service and a folder of its own."""
    return _measurement([_measure(case) for case in CASES])


def _measure(case: Case) -> Run:
    with tempfile.TemporaryDirectory(prefix="voile-ingest-") as place:
        folder = Path(place) / "service"
        tokens = _set_up(folder, case)
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        service = context.Process(target=_serve, args=(folder, theirs))
        service.start()
        port = ours.recv()
        with ProcessPoolExecutor(1, mp_context=context) as pool:
            pool.submit(send_all, Load(port, tokens, 10.0, 1, CONNECTIONS)).result()
            pool.submit(send_all, Load(port, tokens, 1.0, WARM, CONNECTIONS)).result()
            before = _reports(folder)
            sent = pool.submit(send_all, Load(port, tokens, 1.0, ROUNDS, CONNECTIONS)).result()
        service.terminate()
        processor, memory = ours.recv()
        service.join()
        return Run(case, sent, _reports(folder) - before, processor, memory)


def _set_up(folder: Path, case: Case) -> Sequence[str]:
    """A folder with trucks and parcels; the tokens of the trucks' devices."""
    create(folder)
    rates = "[rates]\nfailures = [1000, 1000]\n"
    settings = f"[platform]\nslot_seconds = 1\nroom = {case.room}\n"
    (folder / "share.toml").write_text(f"[service]\nport = 0\n{settings}{rates}", "utf-8")
    with closing(open_platform(folder, Configuration.read(folder))) as platform:
        return _trucks(platform, case)


def _trucks(platform: Platform, case: Case) -> Sequence[str]:
    company, _ = platform.open_company("Benchmark")
    drawn, tokens = Randomness.seeded(SEED), []
    parties = Parties.agree(protocol.Pair(b"shop", b"customer", bytes(32)), drawn)
    today = protocol.day_of(int(time.time()))
    for _ in range(case.rate):
        truck, _ = platform.add_truck(company)
        tokens.append(platform.add_device(company, truck.truck, "truck"))
        number, _ = platform.add_link(company, truck.truck, 24)
        link, card = platform.link_of(number), protocol.TruckCard.decode(truck.card)
        for parcel in range(case.parcels):
            name = f"parcel {parcel}".encode()
            platform.add_parcel(company, truck.truck, name, *parties.signers, (52.4, 4.36))
            secret = protocol.suite_named().tracking_secret(parties.keys, name, today)
            for role, seed in parties.seeds.items():
                half = protocol.Submission.of(
                    protocol.suite_named(), truck.truck, role, name, today, secret
                ).signed(seed)
                sealed = protocol.SealedSubmission.seal(half.encode(), card, drawn)
                platform.submit(link, sealed.encode())
    return tokens


def _serve(folder: Path, told: Connection) -> None:
    serve(folder, ready=lambda host, port: told.send(port))
    used = resource.getrusage(resource.RUSAGE_SELF)
    told.send((used.ru_utime + used.ru_stime, used.ru_maxrss * 1024))


def _reports(folder: Path) -> int:
    """How many reports the store holds, counted over all trucks."""
    with closing(SQLiteStore.open(folder / "share.db")) as store:
        count, after = 0, None
        while some := store.in_slots(0, 2**32 - 1, 1_000, after):
            count += len(some)
            after = (some[-1].slot, some[-1].truck)
        return count


def _measurement(runs: Sequence[Run]) -> Measurement:
    return Measurement(
        question="How many reports a second does the service take, perturb, encrypt, sign and "
        "store durably?",
        data="synthetic trucks, each in a slot of one second; positions in the format of OsmAnd; "
        f"a set-up of {json.dumps({case.name: case.rate for case in CASES})} trucks",
        seeds=f"{SEED} for keys of parties; the service draws from the system",
        protocol=f"a service in one process with SQLite, synchronous commits, on {os.cpu_count()} "
        f"cores that it shares with the load generator; {CONNECTIONS} connections; each truck has "
        f"sent once in ten seconds and {WARM} times at this rate before; then {ROUNDS} rounds of "
        "one report a truck, evenly spread, open loop; "
        "latency from when a position was due to its answer, which comes after the commit",
        answer="; ".join(
            f"{one.case.name}: {_rate(one):,.0f} reports a second, p99 {_p99(one) * 1000:.0f} ms, "
            f"so {_rate(one) * SLOTS:,.0f} trucks at one report in five minutes"
            for one in runs
        )
        + f" (the paper: {PAPERS_TRUCKS}).",
        targets=[target for one in runs for target in _targets(one)],
        tables=[
            Table(
                "Ingest",
                ("trucks", "reports/s", "p50, ms", "p99, ms", "slowest, ms", "ms of processor",
                 "MiB"),
                [
                    [
                        one.case.name,
                        f"{_rate(one):,.0f}",
                        *_milliseconds(one.sent.latencies),
                        f"{1000 * one.processor / max(one.stored, 1):.2f}",
                        f"{one.memory / 2**20:.0f}",
                    ]
                    for one in runs
                ],
            )
        ],
    )  # fmt: skip


def _targets(one: Run) -> list[Target]:
    due = one.case.rate * ROUNDS
    return [
        Target(f"{one.case.name}: reports a second", f"at least {one.case.asked:,}",
               f"{_rate(one):,.0f}", _rate(one) >= one.case.asked),
        Target(f"{one.case.name}: p99", f"under {MOST_P99 * 1000:.0f} ms",
               f"{_p99(one) * 1000:.0f} ms", _p99(one) < MOST_P99),
        Target(f"{one.case.name}: every report that was acknowledged is stored, once", f"{due:,}",
               f"{one.stored:,}, {one.sent.refused} refused", one.stored == due),
    ]  # fmt: skip


def _milliseconds(latencies: Sequence[float]) -> list[str]:
    """Median, 99 % and slowest."""
    return [f"{1000 * np.quantile(latencies, share):.0f}" for share in (0.5, 0.99, 1)]


def _rate(one: Run) -> float:
    """Reports a second that were stored; the last answer ends the measurement."""
    return one.stored / one.sent.seconds


def _p99(one: Run) -> float:
    return float(np.quantile(one.sent.latencies, 0.99))
