"""Tables and plans by which engines are compared: all methods, all awkward kinds of values."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Iterator
from contextlib import ExitStack
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow.parquet as pq

__all__ = ["METHODS", "SEED", "make_large_file", "make_tables", "plan_of", "table_of"]

SEED = 2026
_AT_ONCE = 250_000
_KEPT = ["large", "unsigned", "decimal", "truth", "day", "span", "moment", "naive", "town", "zero"]
_ODD = ["ratio", "single"]
_NOTES = 200_000
"""How many different long texts there are."""


def _people(rng: np.random.Generator, rows: int, pool: pl.Series | None) -> pl.DataFrame:
    """Values of all kinds that every engine holds, some missing, NaN or zeros with a sign."""

    def some(name: str, values: list[Any], dtype: Any = None) -> pl.Series:
        distinct = pl.Series(name, values, dtype)
        return distinct.gather(rng.integers(0, len(values), rows))

    moments = [dt.datetime(2020, 1, 1, 12), dt.datetime(1969, 7, 20), dt.datetime(2021, 3, 28, 1)]
    towns = ["Z\u00fcrich", "Aix", "\u5317\u4eac", "\U0001f600", "z", "Z", None, "", "\uffee"]
    frame = pl.DataFrame(
        [
            pl.Series("age", rng.integers(18, 60, rows)),
            some("large", [2**53, 2**53 + 1, -(2**62)]),
            some("unsigned", [2**64 - 1, 2**63, 5], pl.UInt64),
            some("decimal", [Decimal("1.10"), Decimal("-2.05"), None], pl.Decimal(10, 2)),
            some("truth", [True, False, None]),
            some("day", [dt.date(2020, 1, day) for day in range(1, 9)]),
            some("span", [dt.timedelta(seconds=3), dt.timedelta(days=-1)]),
            some("moment", moments)
            .dt.replace_time_zone("UTC")
            .dt.convert_time_zone("Europe/Paris"),
            some("naive", [*moments, None]),
            some("town", towns),
            some("zero", [0.0, -0.0, 1.5, -2.25]),
            some("ratio", [float("nan"), -0.0, 0.5, float("inf"), None], pl.Float64),
            some("single", [0.1, 0.2, -0.0, 3.0], pl.Float32),
            pl.Series("salary", (rng.beta(2, 6, rows) * 50_000).astype(int) / 4),
            some("illness", [f"illness {number}" for number in range(30)]),
        ]
    )
    return frame.with_columns(_notes(rng, rows, pool))


def _trips(rng: np.random.Generator, first: int, rows: int, pool: pl.Series | None) -> pl.DataFrame:
    """Reports of trucks, a hundred a trip, some of them at one time, in no order within a part."""
    number = np.arange(first, first + rows)
    frame = pl.DataFrame(
        {
            "trip": [f"trip {trip}" for trip in number // 100],
            "time": (number % 100) // 2 * 30 + number // 100 * 7,
            "latitude": 48.85 + rng.normal(0, 0.1, rows),
            "longitude": 2.35 + rng.normal(0, 0.1, rows),
            "load": rng.integers(0, 5, rows),
        }
    )
    frame = frame.with_columns(_notes(rng, rows, pool))
    return frame[rng.permutation(rows)]


def _notes(rng: np.random.Generator, rows: int, pool: pl.Series | None) -> list[pl.Series]:
    return [] if pool is None else [pool.gather(rng.integers(0, len(pool), rows))]


def _pool(size: int) -> pl.Series | None:
    """Different texts of so many bytes, which no compression makes much smaller."""
    if not size:
        return None
    letters = np.frombuffer(bytes(range(48, 112)), np.uint8)
    drawn = np.random.default_rng(SEED).integers(0, 64, _NOTES * size, dtype=np.uint8)
    content = letters[drawn].tobytes().decode("ascii")
    return pl.Series("note", [content[at : at + size] for at in range(0, len(content), size)])


_PLANS: dict[str, dict[str, Any]] = {
    "ke-anonymity": {
        "roles": {"quasi_identifiers": ["age", *_KEPT, *_ODD], "sensitive": ["salary"]},
        "method": {"k": 5, "e": 100},
    },
    "generalization": {
        "roles": {
            "quasi_identifiers": ["age", "truth", "decimal"],
            "keep": ["town", "zero", "ratio", "unsigned", "moment", "naive"],
            "sensitive": ["illness"],
        },
        "columns": {"age": {"intervals": {"widths": [5, 10, 50]}}, "decimal": {"bounds": [-9, 9]}},
        "method": {"k": 5, "algorithm": "flash", "suppression_limit": 0.1},
    },
    "dp-generalization": {
        "roles": {"quasi_identifiers": ["age", "truth", "day", "town"]},
        "columns": {"age": {"intervals": {"widths": [5, 10, 50]}}},
        "method": {"k": 100, "epsilon": 2},
    },
    "m-shuffle": {
        "roles": {
            "quasi_identifiers": ["age", "town", "truth", "day", "large"],
            "keep": ["decimal", "zero", *_ODD, "unsigned", "moment", "naive", "span"],
            "sensitive": ["salary"],
        },
        "method": {"clusters": 40, "columns": ["age", "town", "large"]},
    },
    "clustered-laplace": {
        "roles": {"quasi_identifiers": ["age", "salary"], "keep": [*_KEPT, *_ODD]},
        "columns": {"age": {"bounds": [0, 120]}, "salary": {"bounds": [0, 20000]}},
        "method": {"epsilon": 1},
    },
    "ranking": {
        "roles": {
            "quasi_identifiers": ["age", "town"],
            "ranking": ["salary", "zero"],
            "keep": ["truth", "moment", "ratio"],
        },
        "method": {"k": 3, "top": 20, "precision": 0.3},
    },
    "geo-indistinguishability": {
        "roles": {"keep": ["load"], "trip": "trip", "time": "time"},
        "method": {"mechanism": "planar-laplace", "epsilon": 0.01},
    },
}
METHODS = tuple(_PLANS)


def table_of(method: str) -> str:
    """Which table a method publishes."""
    return "trips" if method.startswith("geo") else "people"


def plan_of(method: str, *, note: bool = False) -> str:
    """The plan of a method in TOML; with ``note`` it publishes the long texts if it keeps any."""
    plan = json.loads(json.dumps(_PLANS[method]))
    plan["method"] = {"name": method, **plan["method"]}
    if table_of(method) == "people":
        plan["nulls"] = "category"
    if note and method != "dp-generalization":
        plan["roles"]["keep"] = [*plan["roles"].get("keep", []), "note"]
    return "".join(f"{name} = {_toml(value)}\n" for name, value in plan.items())


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {_toml(it)}" for name, it in value.items()) + "}"
    return json.dumps(value)


def make_tables(folder: Path, rows: int) -> None:
    """Folders ``people`` and ``trips`` of Parquet files, of so many rows each."""
    for name in ("people", "trips"):
        (folder / name).mkdir()
        for number, part in enumerate(_parts(name, rows, 0)):
            part.write_parquet(folder / name / f"part-{number:04}.parquet", row_group_size=100_000)


def make_large_file(path: Path, table: str, rows: int, note: int) -> None:
    """One Parquet file of a table with long texts, of so many bytes, in one more column."""
    with ExitStack() as stack:
        writer = None
        for part in _parts(table, rows, note):
            arrow = part.to_arrow()
            if writer is None:
                made = pq.ParquetWriter(path, arrow.schema, compression="snappy")
                writer = stack.enter_context(made)
            writer.write_table(arrow, row_group_size=50_000)


def _parts(table: str, rows: int, note: int) -> Iterator[pl.DataFrame]:
    pool = _pool(note)
    rng = np.random.default_rng(SEED + (table == "trips"))
    for first in range(0, rows, _AT_ONCE):
        fewer = min(_AT_ONCE, rows - first)
        yield _people(rng, fewer, pool) if table == "people" else _trips(rng, first, fewer, pool)
