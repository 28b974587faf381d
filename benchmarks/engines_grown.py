"""What DuckDB holds as tables grow whose columns have as many different values as before."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.engines import SEED, generated, methods, published
from benchmarks.record import Measurement, Table, Target

__all__ = ["run"]

GROWN = tuple(
    int(rows)
    for rows in os.environ.get("VOILE_BENCHMARK_GROWN", "50_000_000,200_000_000").split(",")
)
LIMIT = "1GiB"
"""What DuckDB may take: less than it makes of the fewest rows, so that each is on disk in part."""
MOST_GROWTH = 1.1


def run() -> Measurement:
    """Generate tables in a temporary folder and publish each once."""
    with tempfile.TemporaryDirectory() as name:
        grown = list(_grown(Path(name)))
    growth = max(float(line[-1]) for line in grown)
    sizes = [f"{rows:,} rows" for rows in GROWN]
    return Measurement(
        question="Does an engine beyond memory hold more where there are more rows?",
        data="synthetic rows of the benchmark engines, whose columns have the same different "
        "values at each size",
        seeds=f"table {SEED}, releases {SEED}",
        protocol="voile publish --engine duckdb as a process, once each; peak resident set by "
        f"wait4; {LIMIT} for DuckDB by VOILE_DUCKDB_MEMORY, which is not all that the process "
        "takes; processor time in brackets",
        answer=f"At most {growth:.2f} times as much at {sizes[-1]} as at {sizes[0]}.",
        targets=[Target("peak memory as the table grows", f"at most {MOST_GROWTH} times",
                        f"{growth:.2f} times", growth <= MOST_GROWTH)],
        tables=[Table("Peak memory of DuckDB", ("method", *sizes, "ratio"), grown)],
    )  # fmt: skip


def _grown(folder: Path) -> Iterator[list[str]]:
    for method in methods():
        taken = [published(generated(folder, rows), method, "duckdb", LIMIT) for rows in GROWN]
        ratio = taken[-1].memory / taken[0].memory
        cells = [f"{usage.memory:,.0f} MiB ({usage.processor:.0f} s)" for usage in taken]
        line = [method, *cells, f"{ratio:.2f}"]
        print(*line, file=sys.stderr, flush=True)
        yield line
