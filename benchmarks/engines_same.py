"""One plan, table and key on every engine: whether the releases are equal, row for row."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree

import numpy as np
import polars as pl

from benchmarks.engines_cluster import cluster, connect_server, require_spark, surroundings
from benchmarks.engines_tables import METHODS, SEED, make_tables, plan_of, table_of
from benchmarks.record import Measurement, Table, Target

__all__ = ["first_difference", "run"]

ROWS = int(os.environ.get("VOILE_BENCHMARK_ROWS", "1_000_000"))
WANTED = tuple(os.environ.get("VOILE_BENCHMARK_METHODS", ",".join(METHODS)).split(","))
ENGINES = ("duckdb", "spark local", "spark standalone", "spark connect")
_MOST_SECONDS = 1800
ASKED = tuple(os.environ.get("VOILE_BENCHMARK_ENGINES", ",".join(ENGINES)).split(","))
MINUTES = float(os.environ.get("VOILE_BENCHMARK_MINUTES", "inf"))
"""After so many no further release is made; those that are missing are said."""


def run() -> Measurement:
    """Generate both tables in a temporary folder and publish them on each engine."""
    require_spark()
    cells: dict[tuple[str, str], str] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_tables(folder, ROWS)
        until = time.monotonic() + MINUTES * 60
        for method in METHODS:
            cells[method, "polars"] = _published(folder, method, _base(folder, method), "polars")
        for engine in ENGINES:
            with _master(folder, engine) as master:
                for method in METHODS:
                    late = time.monotonic() > until or {method, engine} - {*WANTED, *ASKED}
                    said = "not run" if late else _compared(folder, method, engine, master)
                    cells[method, engine] = said
                    print(f"{method}, {engine}: {said}", file=sys.stderr, flush=True)
    lines = [[method, *(cells[method, each] for each in ("polars", *ENGINES))]
             for method in METHODS]  # fmt: skip
    verdicts = [cell for line in lines for cell in line[2:]]
    equal = sum(cell.startswith("equal") for cell in verdicts)
    left_out = verdicts.count("not run")
    got = f"{equal} of {len(verdicts) - left_out} that were made"
    if left_out:
        got += f"; {left_out} were not made"
    return Measurement(
        question="Are the releases of one plan, table and key equal on every engine?",
        data=f"{ROWS:,} rows of 15 columns in {ROWS // 250_000 or 1} files: integers beyond 2**53, "
        "unsigned ones beyond 2**63, decimals, booleans, dates, spans, moments with a zone and "
        "without, texts with umlauts, ideographs and emoji, an empty and a missing one, floats "
        "of 64 and 32 bits with NaN, infinity and both zeros; reports of trips for "
        "geo-indistinguishability",
        seeds=f"tables {SEED}, releases {SEED}",
        protocol="voile publish as a process on each engine; the rows of the release of Polars "
        "and of each other are compared in their order: names and types of columns, values, "
        "missing ones and the bits of floats; and what release.json says of the method. Spark "
        "4 locally, on a master with two workers, and through Connect; seconds of one run on a "
        "machine that others used",
        answer=f"Releases equal to those of Polars: {got}.",
        targets=[Target("releases equal to those of Polars", "all", got, equal == len(verdicts))],
        tables=[Table("Compared with Polars", ("method", "polars", *ENGINES), lines)],
    )


def first_difference(one: Path, other: Path) -> str | None:
    """What tells one release from another; None where nothing does."""
    documents = [json.loads((out / "release.json").read_text()) for out in (one, other)]
    frames = [
        pl.concat(pl.read_parquet(out / part["file"], glob=False) for part in document["data"])
        for out, document in zip((one, other), documents, strict=True)
    ]
    if frames[0].schema != frames[1].schema:
        return f"columns {frames[1].schema} for {frames[0].schema}"
    if frames[0].height != frames[1].height:
        return f"{frames[1].height:,} rows for {frames[0].height:,}"
    for name in frames[0].columns:
        alike = _alike(frames[0][name], frames[1][name])
        if not alike.all():
            return f"column {name!r}, row {int(np.argmin(alike)) + 1:,}"
    for key in ("method", "guarantee"):
        if documents[0].get(key) != documents[1].get(key):
            return f"{key} in release.json"
    return None


def _alike(one: pl.Series, other: pl.Series) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    """Which values are the same, to the bit."""
    if not one.dtype.is_float():
        return one.eq_missing(other).to_numpy()
    missing = [each.is_null().to_numpy() for each in (one, other)]
    bits = f"i{8 if one.dtype == pl.Float64 else 4}"
    values = [each.fill_null(0).fill_nan(7.5e30).to_numpy().view(bits) for each in (one, other)]
    nan = [each.is_nan().fill_null(value=False).to_numpy() for each in (one, other)]
    return (values[0] == values[1]) & (missing[0] == missing[1]) & (nan[0] == nan[1])


@contextmanager
def _master(folder: Path, engine: str) -> Iterator[str | None]:
    """The address of Spark, which runs as long as it is needed."""
    if engine not in ASKED:
        yield None
    elif engine == "spark standalone":
        with cluster(folder) as made:
            yield made.master
    elif engine == "spark connect":
        with connect_server(folder) as address:
            yield address
    else:
        yield "local[2]" if engine == "spark local" else None


def _base(folder: Path, method: str) -> Path:
    return folder / f"polars-{method}"


def _compared(folder: Path, method: str, engine: str, master: str | None) -> str:
    out = folder / "other"
    said = _published(folder, method, out, engine.partition(" ")[0], master)
    if not out.exists():
        return said
    different = first_difference(_base(folder, method), out)
    rmtree(out)
    return f"equal, {said}" if different is None else f"different: {different}"


def _published(folder: Path, method: str, out: Path, engine: str, master: str | None = None) -> str:
    """Publish once; how long it took, or what was said."""
    plan = folder / "plan.toml"
    plan.write_text(plan_of(method))
    voile = Path(sys.executable).parent / "voile"
    options = ["--engine", engine, *(["--master", master] if master else [])]
    command = [f"{voile}", "publish", f"{folder / table_of(method)}", "--plan", f"{plan}"]
    started = time.perf_counter()
    try:
        made = subprocess.run(
            [*command, "--out", f"{out}", "--seed", f"{SEED}", *options],
            env=surroundings(folder),
            check=False,
            capture_output=True,
            timeout=_MOST_SECONDS,
        )
    except subprocess.TimeoutExpired:
        return f"not done in {_MOST_SECONDS:,} s"
    if made.returncode:
        return f"refused: {made.stderr.decode().strip().splitlines()[-1].rpartition('/')[2]}"
    return f"{time.perf_counter() - started:.0f} s"
