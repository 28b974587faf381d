"""Ingest of the sharing service: what a report costs, and how many a second it keeps up with.

The processor time is that of the service and of the processes that it begins for the cryptography,
over the measured reports alone.  Trucks are in the default configuration (30 dummies a report)
unless a case says otherwise.  Wall-clock figures are judged only where nothing else worked on the
machine; processor time means something beside other work, too.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

from benchmarks.process_tree import Taken, machine_busy
from benchmarks.record import Measurement, Table, Target
from benchmarks.sharing_load import Load, Sent, send_all
from benchmarks.sharing_plain import count, serve_plain, set_up_plain
from voile_base.randomness import Randomness
from voile_share import protocol
from voile_share.parties import Parties
from voile_share.platform import Platform, Settings
from voile_share.service import serve
from voile_share.service.folder import Configuration, create, open_platform
from voile_share.store import SQLiteStore

__all__ = ["CASES", "Case", "made", "run", "serve_told"]

SEED = 2023
SECONDS = 20.0
"""Of the measured reports of a case, about."""
WARM = 3
MOST_BEGINNINGS = 10
"""Rounds until the first report of each truck was taken."""
CONNECTIONS = 48
MOST_P99 = 0.25
MOST_OF_OTHERS = 0.05
"""Of the machine's processor time, for wall-clock figures to be judged."""
PAUSE = 10.0
"""Seconds after which nothing is believed of a truck that was looked up before its last report."""
DEFAULT_ROOM = Settings().room
_MEMORY = Path("/dev/shm")


@dataclass(frozen=True)
class Case:
    """How many reports, of trucks with how many parcels."""

    name: str
    rate: int
    """Reports a second, offered."""
    asked: int | None = None
    """Reports a second that the service must take."""
    parcels: int = 0
    room: int = DEFAULT_ROOM
    """What reports are padded to."""
    period: float = 1.0
    """Seconds between two reports of a truck; more than 5 and its devices and parcels are looked up
    for each report, as they are where trucks report every five minutes."""

    most: float | None = None
    """Milliseconds of processor that a report may cost."""
    drives: bool = False
    """Whether trucks move between reports: one that stands is shown where it was shown, which takes
    no noise."""

    is_plain: bool = False
    """Of a service that keeps positions in the open, to compare with."""

    @property
    def trucks(self) -> int:
        """Each has slots of a second."""
        return round(self.rate * self.period)

    @property
    def rounds(self) -> int:
        """Reports of each truck that are measured."""
        return max(2, round(SECONDS / self.period))


CASES = (
    Case("default, every 10 s", 300, period=PAUSE, most=0.4),
    Case("default, driving, every 10 s", 300, period=PAUSE, drives=True),
    Case("default, every second", 306, asked=300),
    Case("default, 10 parcels each, every 10 s", 100, parcels=10, period=PAUSE, most=0.8),
    Case("default, 30 parcels each, every second", 306, asked=300, parcels=30),
    Case("room 0, every second", 1_020, asked=1_000, room=0),
    Case("without privacy, every 10 s", 300, period=PAUSE, is_plain=True),
)
"""The default configuration first; with ``PAUSE`` as at a report in five minutes."""

FORMER = (
    ("room 0, every second; service's process alone", "1,020", "94", "1,020 a second kept up with"),
    ("30 parcels each, every second; service's process alone", "306", "147", "306 kept up with"),
)
"""Recorded on 2026-11-21 at commit 59be945 on 2 cores with nothing else on them: what was said of
the service before the processes beside it were counted."""


@dataclass(frozen=True)
class Run:
    """One case, measured."""

    case: Case
    sent: Sent
    first: float
    """Seconds of processor up to where each truck had sent once, for each truck."""
    stored: int
    processor: float
    """Seconds of the service and of the processes that it began, for what was stored."""
    memory: int
    """Largest resident sizes of them in bytes."""
    processes: int
    others: float
    """Share of the machine's processor time that others had."""


def run() -> Measurement:
    """Each case on a service and a folder of its own."""
    return _measurement([_measure(case) for case in CASES])


def _measure(case: Case) -> Run:
    with tempfile.TemporaryDirectory(prefix="voile-ingest-") as place:
        folder = Path(place) / "service"
        tokens = made(folder, case)
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        service = context.Process(
            target=serve_plain if case.is_plain else serve_told, args=(folder, theirs)
        )
        service.start()
        assert service.pid is not None
        port = ours.recv()
        with ProcessPoolExecutor(1, mp_context=context) as pool:

            def send(period: float, rounds: int) -> Sent:
                load = Load(port, tokens, period, rounds, CONNECTIONS, case.drives)
                return pool.submit(send_all, load).result()

            beginning = Taken.by(service.pid)
            # A first report reads what the truck carries; those that are shed come again.
            for _ in range(MOST_BEGINNINGS):
                if not send(PAUSE, 1).refused:
                    break
            begun = Taken.by(service.pid).processor - beginning.processor
            if case.period < PAUSE:
                send(case.period, WARM)
            held = count if case.is_plain else _reports
            stored, before = held(folder), Taken.by(service.pid)
            began, busy, sending = time.monotonic(), machine_busy(), Taken.by(os.getpid())
            sent = send(case.period, case.rounds)
            after = Taken.by(service.pid)
            # This process, the generator and the service are its tree.
            mine = Taken.by(os.getpid()).processor - sending.processor
            whole = (time.monotonic() - began) * (os.cpu_count() or 1)
            others = max(0.0, machine_busy() - busy - mine) / whole
        service.terminate()
        service.join()
        stored = held(folder) - stored
        processor = after.processor - before.processor
        first = begun / case.trucks
        return Run(case, sent, first, stored, processor, after.memory, after.processes, others)


def made(folder: Path, case: Case) -> Sequence[str]:
    """The folder of a case, made in memory where the machine has such a place; its tokens.

    It takes thousands of commits, none of which is measured; the service then works on the disk.
    """
    memory = _MEMORY if _MEMORY.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="voile-ingest-", dir=memory) as place:
        made = Path(place) / "service"
        tokens = set_up_plain(made, case.trucks, SEED) if case.is_plain else _set_up(made, case)
        shutil.move(made, folder)
    return tokens


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
    for _ in range(case.trucks):
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


def serve_told(folder: Path, told: Connection) -> None:
    """Serve a folder, and tell the port."""
    serve(folder, ready=lambda host, port: told.send(port))


def _reports(folder: Path) -> int:
    """How many reports the store holds, counted over all trucks."""
    with closing(SQLiteStore.open(folder / "share.db")) as store:
        count, after = 0, None
        while some := store.in_slots(0, 2**32 - 1, 1_000, after):
            count += len(some)
            after = (some[-1].slot, some[-1].truck)
        return count


def _measurement(runs: Sequence[Run]) -> Measurement:
    first = runs[0]
    return Measurement(
        question="What does a report cost the service that takes, perturbs, encrypts, signs and "
        "stores it durably, and how many a second does it keep up with?",
        data="synthetic trucks, each in a slot of one second; positions in the format of OsmAnd",
        seeds=f"{SEED} for keys of parties; the service draws from the system",
        protocol=f"a service with SQLite, synchronous commits, on {os.cpu_count()} cores that it "
        f"shares with the load generator; {CONNECTIONS} connections; each truck has sent before; "
        f"then about {SECONDS:g} seconds of reports, evenly spread, open loop. Processor time is "
        "that of the service and of the processes that it began, over these reports. Every 10 s: "
        "trucks are looked up for each report, as at a report in five minutes. Latency is from "
        "when a position was due to its answer, which comes after the commit; it, and reports a "
        f"second, are judged where others had at most {MOST_OF_OTHERS:.0%} of the machine",
        answer=f"A report in the default configuration costs {_each(first):.1f} ms of processor, "
        f"all processes counted ({first.case.name}); "
        + "; ".join(f"{one.case.name}: {_each(one):.1f} ms" for one in runs[1:])
        + ". "
        + _said_of_wall(runs),
        targets=[target for one in runs for target in _targets(one)],
        tables=[
            Table(
                f"Ingest; a report has room for {DEFAULT_ROOM} where nothing else is said",
                ("trucks", "offered/s", "ms of processor", "first report, ms", "processes", "MiB",
                 "stored/s", "p50, ms", "p99, ms", "slowest, ms", "others had"),
                [
                    [
                        one.case.name,
                        f"{one.case.rate:,}",
                        f"{_each(one):.2f}",
                        f"{1000 * one.first:.1f}",
                        f"{one.processes}",
                        f"{one.memory / 2**20:.0f}",
                        f"{_rate(one):,.0f}",
                        *_milliseconds(one.sent.latencies),
                        f"{one.others:.0%}",
                    ]
                    for one in runs
                ],
            ),
            Table(
                "Formerly (2026-11-21, 59be945, nothing else on the machine)",
                ("trucks", "stored/s", "p99, ms", "what was said"),
                FORMER,
            ),
        ],
    )  # fmt: skip


def _said_of_wall(runs: Sequence[Run]) -> str:
    """Whether wall-clock figures mean something."""
    if all(map(_is_alone, runs)):
        return (
            "All were kept up with." if all(map(_keeps_up, runs)) else "Not all were kept up with."
        )
    worst = max(one.others for one in runs)
    return (
        f"Other work had up to {worst:.0%} of the machine: reports a second and latencies of this "
        "record say nothing about the service."
    )


def _targets(one: Run) -> list[Target]:
    due = one.case.trucks * one.case.rounds
    targets = [
        Target(f"{one.case.name}: every report that was acknowledged is stored, once", f"{due:,}",
               f"{one.stored:,}, {one.sent.refused} refused", one.stored == due),
    ]  # fmt: skip
    if one.case.most is not None:
        targets.append(
            Target(f"{one.case.name}: processor time", f"at most {one.case.most:g} ms",
                   f"{_each(one):.2f} ms", _each(one) <= one.case.most),
        )  # fmt: skip
    if _is_alone(one) and one.case.asked is not None:
        targets += [
            Target(f"{one.case.name}: reports a second", f"at least {one.case.asked:,}",
                   f"{_rate(one):,.0f}", _keeps_up(one)),
            Target(f"{one.case.name}: p99", f"under {MOST_P99 * 1000:.0f} ms",
                   f"{_p99(one) * 1000:.0f} ms", _p99(one) < MOST_P99),
        ]  # fmt: skip
    return targets


def _is_alone(one: Run) -> bool:
    return one.others <= MOST_OF_OTHERS


def _keeps_up(one: Run) -> bool:
    return one.case.asked is None or _rate(one) >= one.case.asked


def _each(one: Run) -> float:
    """Milliseconds of processor a report."""
    return 1000 * one.processor / max(one.stored, 1)


def _milliseconds(latencies: Sequence[float]) -> list[str]:
    """Median, 99 % and slowest."""
    return [f"{1000 * np.quantile(latencies, share):,.0f}" for share in (0.5, 0.99, 1)]


def _rate(one: Run) -> float:
    """Reports a second that were stored; the last answer ends the measurement."""
    return one.stored / one.sent.seconds


def _p99(one: Run) -> float:
    return float(np.quantile(one.sent.latencies, 0.99))
