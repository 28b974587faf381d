"""One small table, published by every method and by hand as it is."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import polars as pl

from voile.publish.clustered_laplace import ClusteredLaplace
from voile.publish.dp_generalization import DPGeneralization
from voile.publish.generalization import Generalization
from voile.publish.geo_indistinguishability import GeoIndistinguishability
from voile.publish.ke_anonymity import KEAnonymity
from voile.publish.m_shuffle import MShuffle
from voile.publish.ranking import Ranking
from voile.release.reading import People, PublishedRows
from voile.release.release import Release
from voile.schema.plan import Plan, parse_plan
from voile.schema.trajectory import TrajectoryColumns
from voile.table.opening import open_frame, published_rows
from voile.utility.protocol import Comparison
from voile_base.randomness import Randomness
from voile_tests.releases import described, promised

__all__ = [
    "ALL_METHODS",
    "METHODS",
    "PEOPLE",
    "as_it_is",
    "nothing_left",
    "plan_of",
    "published",
    "shown_by_hand",
]

ROWS = 120
_DRAWS = np.random.default_rng(7)


def _people() -> pl.DataFrame:
    age = _DRAWS.integers(18, 60, ROWS)
    missing = _DRAWS.random(ROWS) < 0.1
    return pl.DataFrame(
        {
            "id": np.arange(ROWS),
            "age": age,
            "work": [
                ("federal", "local", "private", "alone")[i] for i in _DRAWS.integers(0, 4, ROWS)
            ],
            "income": pl.Series(age * 100 + _DRAWS.integers(0, 900, ROWS)).cast(pl.Float64),
            "hours": pl.Series(_DRAWS.integers(1, 80, ROWS)).scatter(np.flatnonzero(missing), None),
            "since": [
                datetime.date(2015, 1, 1) + datetime.timedelta(days=int(day))
                for day in _DRAWS.integers(0, 2000, ROWS)
            ],
            "salary": _DRAWS.permutation(ROWS) * 10 + 1000,
        }
    )


PEOPLE = _people()
REPORTS = PEOPLE.with_columns(
    trip=np.arange(ROWS) // 20,
    time=np.arange(ROWS) % 20 * 60,
    latitude=39.9 + np.arange(ROWS) / 1e4,
    longitude=116.3 + np.arange(ROWS) / 1e4,
)
"""The same people, each as the report of a trip."""

_COLUMNS: Mapping[str, Any] = {
    "age": {"bounds": [0, 99], "intervals": {"widths": [10, 50]}},
    "work": {
        "nulls": "category",
        "tree": {"government": ["federal", "local"], "other": ["private", "alone"]},
    },
    "income": {"bounds": [0, 10_000]},
    "hours": {"nulls": "category"},
    "since": {"dates": ["month", "year"]},
}


def plan_of(quasi_identifiers: tuple[str, ...], **roles: Any) -> Plan:
    """A plan for some columns of the table; ``id`` is kept."""
    kept = {"keep": ["id"], "keep_unique": ["id"]}
    return parse_plan(
        {
            "roles": {"quasi_identifiers": list(quasi_identifiers), **kept, **roles},
            "columns": {
                name: described
                for name, described in _COLUMNS.items()
                if name in {*quasi_identifiers, *(c for names in roles.values() for c in names)}
            },
        }
    )


_ALL = ("age", "work", "hours", "since")


def _generalized(*columns: str, **parameters: Any) -> tuple[Any, Plan]:
    plan = plan_of(columns or _ALL, sensitive=["salary"])
    return Generalization(k=3, **parameters), plan


METHODS: Mapping[str, Callable[[], tuple[Any, Plan]]] = {
    "flash": lambda: _generalized(algorithm="flash"),
    "auto": _generalized,
    "suppressing": lambda: _generalized(algorithm="flash", suppression_limit=0.2),
    "k-optimize": lambda: _generalized("age", "work", algorithm="k-optimize"),
    "mondrian": lambda: _generalized(algorithm="mondrian"),
    "dp-generalization": lambda: (DPGeneralization(k=3, epsilon=3), _without_id("age", "work")),
    "clustered-laplace": lambda: (
        ClusteredLaplace(epsilon=20),
        plan_of(("age", "income"), sensitive=["salary"]),
    ),
    "ke-anonymity": lambda: (KEAnonymity(k=3, e=20), plan_of(_ALL, sensitive=["salary"])),
    "m-shuffle": lambda: (
        MShuffle(clusters=3, columns=["age", "work"]),
        plan_of(("age", "work"), sensitive=["income"]),
    ),
    "ranking": lambda: (
        Ranking(k=3, top=40, precision=0.5),
        plan_of(("work", "age"), ranking=["income"]),
    ),
}
"""For each method, how to make it with its plan."""
ALL_METHODS: Mapping[str, Callable[[], tuple[Any, Plan]]] = {
    **METHODS,
    "geo-indistinguishability": lambda: (
        GeoIndistinguishability(epsilon=0.005),
        replace(plan_of(("age", "work"), sensitive=["salary"]), trajectory=TrajectoryColumns()),
    ),
}
"""With the method whose rows are reports of trips, and not people."""


@cache
def published(name: str) -> Comparison:
    """A release of the table by a method, beside the table."""
    method, plan = ALL_METHODS[name]()
    people = PEOPLE if plan.trajectory is None else REPORTS
    release = method.publish(open_frame(people, plan), Randomness.seeded(3))
    return _compared(release, people, plan)


def shown_by_hand(
    shown: Mapping[str, Any],
    original: Mapping[str, Any],
    plan: Plan | None = None,
    *,
    kind: str = "k-anonymity",
    decision: Mapping[str, Any] | None = None,
    orders: Mapping[str, Any] | None = None,
    roles: Mapping[str, tuple[str, ...]] | None = None,
) -> Comparison:
    """A release whose rows are given, beside its original."""
    frame = pl.DataFrame(shown, strict=False)
    known = tuple(name for name in frame.columns if name != "group")
    release = described(
        table=published_rows(frame),
        method={"name": "by hand", "decision": dict(decision or {}), "orders": dict(orders or {})},
        guarantee=promised(kind, {"k": 2}, "as stated"),
        roles=roles or {"quasi_identifiers": known},
        release_id="0" * 32,
        publishable=True,
    )
    return _compared(release, pl.DataFrame(original, strict=False), plan)


def as_it_is(kind: str = "k-anonymity") -> Comparison:
    """The table published without any change."""
    shown = PEOPLE.drop("id")
    plan = plan_of(_ALL, sensitive=["salary", "income"])
    levels = dict.fromkeys(shown.columns, 0)
    return shown_by_hand(
        shown.to_dict(), PEOPLE.to_dict(), plan, kind=kind, decision={"levels": levels}
    )


def nothing_left() -> Comparison:
    """The table with every value of its quasi-identifiers replaced by the whole domain."""
    plan = plan_of(_ALL)
    shown = {
        "age.low": [0] * ROWS,
        "age.high": [99] * ROWS,
        "work": ["*"] * ROWS,
        "hours": ["*"] * ROWS,
        "since": ["*"] * ROWS,
    }
    return shown_by_hand(
        shown,
        PEOPLE.to_dict(),
        plan,
        decision={"levels": {"age": 3, "work": 2, "hours": 1, "since": 3}},
    )


def _without_id(*columns: str) -> Plan:
    """Where every published column is generalized."""
    return parse_plan(
        {
            "roles": {"quasi_identifiers": list(columns)},
            "columns": {name: _COLUMNS[name] for name in columns},
        }
    )


def _compared(release: Release, original: pl.DataFrame, plan: Plan | None) -> Comparison:
    return Comparison(PublishedRows.of(release), People(original, plan), Randomness.seeded(11))
