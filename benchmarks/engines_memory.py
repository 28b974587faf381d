"""Files that are larger than the memory that a process may take."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree

import polars as pl

from benchmarks.engines_tables import METHODS, SEED, make_large_file, plan_of, table_of
from benchmarks.record import Measurement, Table, Target

__all__ = ["Limited", "run"]

ROWS = int(os.environ.get("VOILE_BENCHMARK_ROWS", "6_000_000"))
NOTE = int(os.environ.get("VOILE_BENCHMARK_NOTE", "380"))
WANTED = tuple(os.environ.get("VOILE_BENCHMARK_METHODS", ",".join(METHODS)).split(","))
LIMIT = int(os.environ.get("VOILE_BENCHMARK_LIMIT", f"{2 << 30}"))
"""Bytes that a process may hold with all that it starts."""
ENGINE_LIMIT = "768MiB"
_PAUSE = 0.01
_PAGE = os.sysconf("SC_PAGE_SIZE")
COPY = """
import sys, duckdb
source, copy, folder = sys.argv[1:]
held = duckdb.connect(config={"memory_limit": "768MiB", "temp_directory": folder, "threads": "2"})
held.execute(f"COPY (SELECT * FROM read_parquet('{source}')) TO '{copy}' (FORMAT parquet)")
"""


def run() -> Measurement:
    """Make a table in a temporary folder, publish it under the limit, then make the other."""
    with tempfile.TemporaryDirectory() as name:
        lines = [line for table in ("people", "trips") for line in _of_table(Path(name), table)]
    methods = [line for line in lines if not line[0].startswith("bare")]
    done = sum(line[1].startswith("published") for line in methods)
    bare = all(line[1].startswith("done") for line in lines if line[0].startswith("bare"))
    return Measurement(
        question="Is a file published that is larger than the memory which the process may take?",
        data=f"{ROWS:,} rows of all kinds of values (benchmark engines_same) with a text of "
        f"{NOTE} bytes, of which there are 200,000, that all methods publish but "
        "dp-generalization, which keeps nothing; one Parquet file of each table",
        seeds=f"tables {SEED}, releases {SEED}",
        protocol=f"whole processes; a watcher adds the resident sets of a process and all that it "
        f"has started every {_PAUSE * 1000:.0f} ms and ends them above {LIMIT / 2**30:g} GiB; "
        f"VOILE_DUCKDB_MEMORY={ENGINE_LIMIT}, and as much for bare DuckDB; peaks as watched",
        answer=f"{done} of {len(methods)} methods publish it on DuckDB.",
        targets=[
            Target("bare DuckDB copies the file within the limit", "yes", "yes" if bare else "no",
                   bare),
            Target("methods that publish on DuckDB within the limit", "all",
                   f"{done} of {len(methods)}", done == len(methods)),
        ],
        tables=[Table(f"Within {LIMIT / 2**30:g} GiB",
                      ("method", "DuckDB", "peak, DuckDB", "Polars", "peak, Polars"), lines)],
    )  # fmt: skip


@dataclass(frozen=True)
class Limited:
    """What became of a process under a limit."""

    status: int | None
    """None: it was ended, since it held more."""
    memory: int
    """The most that was seen, in bytes."""
    wall: float
    said: str

    @classmethod
    def of(cls, command: Sequence[str], limit: int, more: dict[str, str]) -> Limited:
        """Run a command, and end it with all that it has started where these hold too much."""
        started, most, ended = time.monotonic(), 0, False
        with tempfile.TemporaryFile() as said:
            process = subprocess.Popen(
                command,
                env=os.environ | more,
                stdout=subprocess.DEVNULL,
                stderr=said,
                start_new_session=True,
            )
            while process.poll() is None:
                most = max(most, sum(map(_resident, _group(process.pid))))
                if most > limit and not ended:
                    ended = True
                    with suppress(ProcessLookupError):
                        os.killpg(process.pid, signal.SIGKILL)
                time.sleep(_PAUSE)
            said.seek(0)
            lines = said.read().decode(errors="replace").strip().splitlines() or [""]
        status = None if ended else process.returncode
        return cls(status, most, time.monotonic() - started, lines[-1].rpartition("/")[2])

    def told(self, done: str) -> str:
        """In words."""
        if self.status is None:
            return f"ended after {self.wall:.0f} s"
        return f"{done}, {self.wall:.0f} s" if self.status == 0 else f"refused: {self.said}"

    @property
    def peak(self) -> str:
        """In MiB."""
        return f"{self.memory / 2**20:,.0f} MiB"


def _group(pid: int) -> Iterator[int]:
    yield pid
    with suppress(OSError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in (task / "children").read_text().split():
                yield from _group(int(child))


def _resident(pid: int) -> int:
    with suppress(OSError, IndexError):
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * _PAGE
    return 0


def _of_table(folder: Path, table: str) -> Iterator[list[str]]:
    source = folder / f"{table}.parquet"
    wanted = [method for method in WANTED if table_of(method) == table]
    if not wanted:
        return
    make_large_file(source, table, ROWS, NOTE)
    size = f"{source.stat().st_size / 2**30:.2f} GiB"
    copy = folder / "copy.parquet"
    bare = Limited.of([sys.executable, "-c", COPY, f"{source}", f"{copy}", f"{folder}"], LIMIT, {})
    copy.unlink(missing_ok=True)
    yield [f"bare copy of {table}, {size}", bare.told("done"), bare.peak, "", ""]
    for method in wanted:
        line = [method]
        for engine in ("duckdb", "polars"):
            made = _published(folder, source, method, engine)
            line += [made.told("published"), made.peak]
        print(*line, file=sys.stderr, flush=True)
        yield line
    source.unlink()


def _published(folder: Path, source: Path, method: str, engine: str) -> Limited:
    plan, out = folder / "plan.toml", folder / "release"
    plan.write_text(plan_of(method, note=True))
    voile = Path(sys.executable).parent / "voile"
    command = [f"{voile}", "publish", f"{source}", "--plan", f"{plan}", "--out", f"{out}"]
    more = {"VOILE_DUCKDB_MEMORY": ENGINE_LIMIT, "TMPDIR": f"{folder}"}
    made = Limited.of([*command, "--seed", f"{SEED}", "--engine", engine], LIMIT, more)
    if made.status == 0:
        parts = pl.scan_parquet(out / "data.parquet")
        assert parts.select(pl.len()).collect().item() > 0
    for left in (out, *folder.glob(".voile-*")):
        rmtree(left, ignore_errors=True)
    return made
