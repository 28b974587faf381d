"""Studio on a large table: how soon the Data screen stands, how large pages are, what it holds."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx2 as httpx

from benchmarks.process import Usage
from benchmarks.record import Measurement, Table, Target

__all__ = ["run"]

ROWS = 1_000_000
SECONDS, PAGE = 3.0, 500_000
PATIENCE = 900.0
_RARELY = 0.1
"""Seconds between two looks at a page, which cost the processors something, too."""
SCREENS = ("data", "plan", "try", "evidence", "sign", "ledger", "audit", "plan/column/2")

GENERATE = """
import sys, numpy as np, polars as pl
rows, folder = int(sys.argv[1]), sys.argv[2]
rng = np.random.default_rng(2026)
def named(word, count, size=rows):
    return np.array([f"{word} {i:03d}" for i in range(count)])[rng.integers(0, count, size)]
people = rng.integers(0, rows * 2 // 3, rows)
frame = pl.DataFrame({
    "patient_id": np.char.add("P", np.char.zfill(people.astype(str), 7)),
    "age": rng.integers(0, 101, rows), "sex": named("sex", 2), "town": named("town", 900),
    "born": np.datetime64("1920-01-01") + rng.integers(0, 36_000, rows),
    "admitted": np.datetime64("2026-01-01") + rng.integers(0, 365, rows),
    "profession": named("profession", 300), "ward": named("ward", 24),
    "diagnosis": named("diagnosis", 700), "days": rng.geometric(0.2, rows),
    "cost": np.round(rng.lognormal(7, 1, rows), 2), "insurer": named("insurer", 40),
})
frame.write_csv(folder + "/patients.csv")
"""


@dataclass(frozen=True)
class Found:
    """What was measured of Studio."""

    after_reading: float
    """Seconds from the end of reading until the Data screen has the columns."""
    pages: dict[str, int]
    """Bytes of each."""
    server: float
    """Peak resident set of the server in MiB."""


def run() -> Measurement:
    """Open the table in Studio, look at every screen, and run the commands by themselves."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subprocess.run([sys.executable, "-c", GENERATE, str(ROWS), name], check=True)
        found = _studio(folder / "patients.csv")
        plan = str(folder / "patients.voile" / "plan.toml")
        looking = [sys.executable, "-m", "voile", "inspect", str(folder / "patients.csv")]
        options = ["--plan", plan, "--values", "200", "--rows", "50", "--json"]
        alone = Usage.of([*looking, *options])
    largest = max(found.pages, key=lambda page: found.pages[page])
    return Measurement(
        question="Is Studio quick and small on a table of a million rows?",
        data=f"{ROWS:,} rows made up, 12 columns, two thirds as many persons, as CSV",
        seeds="2026",
        protocol="voile studio on the file; the Data screen is asked for every 0.1 s; reading ends "
        "when the command tells its next stage; every screen is then asked for; the peak resident "
        "set of the server, beside that of the command that it runs, alone",
        answer=f"The Data screen stands {found.after_reading:.1f} s after reading; the largest "
        f"page ({largest}) has {found.pages[largest] / 1000:,.0f} kB; the server holds "
        f"{found.server:,.0f} MiB at most, and voile inspect {alone.memory:,.0f} MiB.",
        targets=[
            Target(
                "Data screen after reading", f"within {SECONDS:.0f} s",
                f"{found.after_reading:.2f} s", found.after_reading <= SECONDS,
            ),
            Target(
                "largest page", f"at most {PAGE // 1000} kB",
                f"{found.pages[largest] / 1000:,.0f} kB", found.pages[largest] <= PAGE,
            ),
            Target(
                "memory of the server", "not above that of the command",
                f"{found.server:,.0f} of {alone.memory:,.0f} MiB", found.server <= alone.memory,
            ),
        ],
        tables=[
            Table(
                "Pages", ("screen", "kB"),
                [[page, f"{size / 1000:,.1f}"] for page, size in found.pages.items()],
            ),
            Table(
                "voile inspect alone", ("wall", "processor", "memory"),
                [[f"{alone.wall:.1f} s", f"{alone.processor:.1f} s", f"{alone.memory:,.0f} MiB"]],
            ),
        ],
    )  # fmt: skip


def _studio(table: Path) -> Found:
    """Open Studio on the table and look at its screens."""
    with _serving(table) as (browser, server):
        read = _wait(lambda: _stage_of_looking(table) not in {None, "starting", "reading"})
        shown = _wait(lambda: "<h2>Columns</h2>" in browser.get("/p/patients/data").text, _RARELY)
        pages = {page: len(browser.get(f"/p/patients/{page}").content) for page in SCREENS}
        status = Path(f"/proc/{server}/status").read_text(encoding="utf-8")
        peak = re.search(r"VmHWM:\s+(\d+)", status)
    assert peak is not None
    return Found(shown - read, pages, int(peak[1]) / 1024)


@contextmanager
def _serving(table: Path) -> Iterator[tuple[httpx.Client, int]]:
    """Studio as a process, a browser that it let in, and its number; the table is looked at."""
    command = [sys.executable, "-m", "voile", "studio", str(table), "--no-browser"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as studio:
        assert studio.stderr is not None
        address = re.search(r"http\S+", studio.stderr.readline())
        assert address is not None
        home = address[0].split("/enter")[0]
        with httpx.Client(base_url=home, timeout=PATIENCE) as browser:
            browser.get(address[0])
            browser.get("/p/patients/data")
            _wait((table.with_name("patients.voile") / "plan.toml").is_file)
            _wait(lambda: _looks(browser, table))
            yield browser, studio.pid
        studio.terminate()


def _looks(browser: httpx.Client, table: Path) -> bool:
    """Ask for the Data screen until it has begun to look at the table."""
    browser.get("/p/patients/data")
    return _looking(table) is not None


def _looking(table: Path) -> Path | None:
    """The folder of the command that looks at the table."""
    for path in (table.with_name("patients.voile") / "jobs").glob("[0-9]*/job.json"):
        if json.loads(path.read_text(encoding="utf-8"))["purpose"] == "inspect":
            return path.parent
    return None


def _stage_of_looking(table: Path) -> str | None:
    folder = _looking(table)
    told = folder / "progress" if folder else None
    if told is None or not told.is_file():
        return None
    return told.read_text(encoding="utf-8").rstrip("\n").rpartition("\n")[2] or None


def _wait(condition: object, pause: float = 0.02) -> float:
    """When something came to hold, looked at every so many seconds."""
    assert callable(condition)
    ends = time.perf_counter() + PATIENCE
    while not condition():
        if time.perf_counter() > ends:
            msg = "Studio did not come so far"
            raise RuntimeError(msg)
        time.sleep(pause)
    return time.perf_counter()
