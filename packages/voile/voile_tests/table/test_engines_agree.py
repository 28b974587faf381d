"""One plan, one table and one key give one release, row for row, whatever engine holds the rows."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pytest

from voile.publish.registry import publisher_of
from voile.release.check import check_release
from voile.schema.plan import Plan, parse_plan
from voile.table.engines.duckdb import DuckDBEngine
from voile.table.engines.polars import PolarsEngine
from voile.table.opening import open_frame, scan_frame
from voile.table.protocol import Engine
from voile_base.randomness import Randomness
from voile_testing.plugin import some_slow
from voile_tests.others.plain_others.engine import PlainEngine

ROWS = 300


def people() -> pl.DataFrame:
    """Values of all kinds, some of them missing."""
    rng = np.random.default_rng(5)

    def some(name: str, values: list[Any], dtype: Any = None) -> pl.Series:
        return pl.Series(name, [values[i] for i in rng.integers(0, len(values), ROWS)], dtype)

    moments = [dt.datetime(2020, 1, 1, 12), dt.datetime(1969, 7, 20)]
    return pl.DataFrame(
        [
            pl.Series("age", rng.integers(18, 60, ROWS)),
            some("large", [2**53, 2**53 + 1, -(2**62)]),
            some("unsigned", [2**64 - 1, 2**63, 5], pl.UInt64),
            some("decimal", [Decimal("1.10"), Decimal("-2.05"), None], pl.Decimal(10, 2)),
            some("truth", [True, False, None]),
            some("day", [dt.date(2020, 1, day) for day in range(1, 9)]),
            some("clock", [dt.time(1, 2, 3), dt.time(23, 59, 59, 999999)]),
            some("span", [dt.timedelta(seconds=3), dt.timedelta(days=-1)]),
            some("moment", moments).dt.replace_time_zone("Europe/Paris"),
            some("town", ["Z\u00fcrich", "Aix", "\u5317\u4eac", "\U0001f600", "z", "Z", None, ""]),
            some("zero", [0.0, -0.0, 1.5, -2.25]),
            some("single", [0.1, 0.2, 3.0], pl.Float32),
            pl.Series("salary", (rng.beta(2, 6, ROWS) * 5000).astype(int) / 4),
            some("illness", ["a", "b", "c", "d"]),
        ]
    )


def trips() -> pl.DataFrame:
    """Reports of trucks, some of them at one time, in no order."""
    rng = np.random.default_rng(6)
    return pl.DataFrame(
        {
            "trip": np.repeat([f"t{number}" for number in range(6)], 10),
            "time": np.tile([0, 30, 60, 60, 90, 120, 150, 180, 210, 240], 6),
            "latitude": 48.85 + rng.normal(0, 0.01, 60),
            "longitude": 2.35 + rng.normal(0, 0.01, 60),
            "load": rng.integers(0, 5, 60),
        }
    ).sample(fraction=1, shuffle=True, seed=1)


KEPT = ["large", "unsigned", "decimal", "truth", "day", "clock", "span", "moment", "town", "zero"]
PLANS: dict[str, dict[str, Any]] = {
    "ke-anonymity": {
        "roles": {"quasi_identifiers": ["age", *KEPT, "single"], "sensitive": ["salary"]},
        "method": {"k": 3, "e": 20},
    },
    "generalization": {
        "roles": {
            "quasi_identifiers": ["age", "truth", "decimal"],
            "keep": ["town", "zero", "unsigned", "moment"],
            "sensitive": ["illness"],
        },
        "columns": {"age": {"intervals": {"widths": [5, 10, 40]}}, "decimal": {"bounds": [-9, 9]}},
        "method": {"k": 5, "algorithm": "flash", "suppression_limit": 0.1},
    },
    "generalization of persons": {
        "roles": {
            "quasi_identifiers": ["truth", "zero"],
            "sensitive": ["illness"],
            "person": "age",
        },
        "method": {
            "k": 3,
            "algorithm": "flash",
            "l": {"value": 2, "kind": "entropy"},
            "t": 0.4,
            "suppression_limit": 0.1,
        },
    },
    "dp-generalization": {
        "roles": {"quasi_identifiers": ["age", "truth"]},
        "columns": {"age": {"intervals": {"widths": [5, 10, 50]}}},
        "method": {"k": 10, "epsilon": 2},
    },
    "clustered-laplace": {
        "roles": {"quasi_identifiers": ["age", "salary"], "keep": [*KEPT, "single"]},
        "columns": {"age": {"bounds": [0, 100]}, "salary": {"bounds": [0, 2000]}},
        "method": {"epsilon": 1},
    },
    "dp-generalization of persons": {
        "roles": {"quasi_identifiers": ["truth", "decimal"], "person": "age"},
        "columns": {"decimal": {"bounds": [-9, 9]}},
        "method": {"k": 10, "epsilon": 4, "beta": 0.5, "rows_per_person": 4},
    },
    "clustered-laplace of persons": {
        "roles": {"quasi_identifiers": ["salary"], "keep": [*KEPT, "single"], "person": "age"},
        "columns": {"salary": {"bounds": [0, 2000]}},
        "method": {"epsilon": 3, "rows_per_person": 3},
    },
    "m-shuffle": {
        "roles": {
            "quasi_identifiers": ["age", "town", "truth", "day", "large"],
            "keep": ["decimal", "zero", "single", "unsigned", "moment", "span", "clock"],
            "sensitive": ["salary"],
        },
        "method": {"clusters": 4, "columns": ["age", "town", "large"]},
    },
    "ranking": {
        "roles": {
            "quasi_identifiers": ["age", "town"],
            "ranking": ["salary", "zero"],
            "keep": ["truth", "moment"],
        },
        "method": {"k": 3, "top": 20, "precision": 0.3},
    },
    **{
        f"geo-indistinguishability {mechanism}": {
            "roles": {"keep": ["load"], "trip": "trip", "time": "time"},
            "method": {"mechanism": mechanism, "epsilon": 0.01, **more},
        }
        for mechanism, more in (
            ("planar-laplace", {}),
            ("correlated-gaussian", {"trips": "numbered"}),
            ("remaining-distance", {"destination": [48.9, 2.4]}),
        )
    },
}


def released(frame: pl.DataFrame, plan: Plan, engine: Engine) -> tuple[pl.DataFrame, Any, Any]:
    """The rows of a release, what it says of the method, and what the custodian is told."""
    publisher = publisher_of(plan.method)
    open_ = scan_frame if publisher.ranks else open_frame
    made = publisher.prepare(open_(frame, plan, engine=engine), Randomness.seeded(7))
    check_release(made.release)
    return pl.DataFrame(made.release.table.to_arrow()), made.release.method, made.private


@pytest.mark.parametrize("engine", [PlainEngine(), DuckDBEngine()], ids=lambda it: it.name)
@pytest.mark.parametrize(
    "name", some_slow(PLANS, {"clustered-laplace", "clustered-laplace of persons"})
)
def test_a_release_is_the_same_on_any_engine(name: str, engine: Engine) -> None:
    """Contents, types and order of rows; the method's decision; the private record."""
    plan = {"nulls": "category", **PLANS[name]}
    if name.startswith("geo"):
        del plan["nulls"]
    plan["method"] = {"name": name.split(maxsplit=1)[0], **plan["method"]}
    frame = trips() if name.startswith("geo") else people()
    one, other = (released(frame, parse_plan(plan), e) for e in (PolarsEngine(), engine))
    assert one[0].schema == other[0].schema
    assert one[0].equals(other[0])
    assert one[1:] == other[1:]
