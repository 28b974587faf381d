"""Twelve months of Adult as a series of generalizations, beside publishing it afresh each month."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import voile
from benchmarks.adult import COLUMNS, adult
from benchmarks.record import Measurement, Table, Target
from voile.schema.plan import Plan, parse_plan

__all__ = ["run"]

SEED, K, MONTHS = 17, 5, 12
LEAVE = JOIN = 0.05
START = 19_000
SIZES = (20, 40, 80, 160)
DEFAULT = 80
SENSITIVE = "salary-class"
IDENTITY, SERIAL = "id", "serial"


@dataclass(frozen=True)
class Month:
    """One release, and the same rows published afresh."""

    rows: int
    shown: int
    loss: float
    afresh: float


def run() -> Measurement:
    """Publish the same months in groups of several first sizes, and follow every row by its serial.

    Afresh is measured once: it is the same whatever the groups of the series.
    """
    tables = list(_months())
    afresh = [_published(table, _plan(), Path()) for table in tables]
    by_size, smallest = {}, {}
    for size in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            series = _plan(series="adult", record_key=IDENTITY, group_size=size)
            made = [
                _published(table, series, Path(folder), number)
                for number, table in enumerate(tables, 1)
            ]
        by_size[size] = [
            Month(table.height, release.height, loss, other)
            for table, (release, loss), (_, other) in zip(tables, made, afresh, strict=True)
        ]
        smallest[size] = _smallest([release for release, _ in made])
    alone = _smallest([release for release, _ in afresh])
    default, last = by_size[DEFAULT], by_size[DEFAULT][-1]
    lost = float(np.mean([month.loss for month in default]))
    fresh = float(np.mean([month.afresh for month in default]))
    return Measurement(
        question="What does it cost to promise k over all months of a table whose people come and "
        "go?",
        data=f"Adult as ARX ships it, 30,162 rows: {START:,} drawn to begin with, all columns but "
        f"{SENSITIVE} quasi-identifiers",
        seeds=f"{SEED} draws who begins, leaves and joins; releases draw with secret keys",
        protocol=f"k = {K}; each month {LEAVE:.0%} drawn to leave and as many others to join; "
        "Mondrian with sets. A kept serial number lets every row be followed through all releases, "
        "which is the most that anybody could link by: rows that stood in the same groups of all "
        "releases are counted. Loss is the product of losses over all rows of the table, those "
        "not shown included",
        answer=f"In the series nobody has fewer than {min(smallest.values())} rows that share all "
        f"groups; publishing afresh leaves {alone}. The mean loss over {MONTHS} months is "
        f"{lost:.3f} with groups of {DEFAULT} rows at first, the default at k = {K}, against "
        f"{fresh:.3f} afresh; {1 - last.shown / last.rows:.1%} of the rows are not shown in the "
        "last month.",
        targets=[
            Target(
                f"rows that share all groups of {MONTHS} months with a row, least of all",
                f"at least k = {K}",
                f"{min(smallest.values())} (published afresh: {alone})",
                min(smallest.values()) >= K,
            )
        ],
        tables=[
            Table(
                "Loss, and rows that are not shown, by the first size of groups",
                ("month", "rows", "afresh", *(f"{size} rows" for size in SIZES)),
                [
                    [
                        str(number),
                        f"{default[number - 1].rows:,}",
                        f"{default[number - 1].afresh:.3f}",
                        *(_told(by_size[size][number - 1]) for size in SIZES),
                    ]
                    for number in range(1, MONTHS + 1)
                ],
            )
        ],
    )


def _told(month: Month) -> str:
    return f"{month.loss:.3f} ({1 - month.shown / month.rows:.1%} not shown)"


def _months() -> Iterator[pl.DataFrame]:
    """The table of each month."""
    draw = np.random.default_rng(SEED)
    people = adult().sample(fraction=1, shuffle=True, seed=SEED)
    numbers = pl.Series(IDENTITY, np.arange(people.height))
    people = people.with_columns(numbers, numbers.alias(SERIAL))
    table, pool = people[:START], people[START:]
    for _ in range(MONTHS):
        yield table
        stay = pl.Series(draw.random(table.height) >= LEAVE)
        join = round(JOIN * table.height)
        table, pool = pl.concat([table.filter(stay), pool[:join]]), pool[join:]


def _plan(**method: Any) -> Plan:
    known = [name for name in COLUMNS if name != SENSITIVE]
    roles = {
        "identifiers": [IDENTITY],
        "quasi_identifiers": known,
        "sensitive": [SENSITIVE],
        "keep": [SERIAL],
        "keep_unique": [SERIAL],
    }
    asked = {"name": "generalization", "algorithm": "mondrian", "sets": True, "k": K, **method}
    return parse_plan({"roles": roles, "method": asked})


def _published(
    table: pl.DataFrame, plan: Plan, folder: Path, number: int | None = None
) -> tuple[pl.DataFrame, float]:
    """Serial and group of each row that is shown, and the loss."""
    if number is None:
        made = voile.make_release(table, plan)
    else:
        made = voile.make_release(table, plan, folder / f"{number}", ledger=folder / "ledger")
    shown: pl.DataFrame = made.release.to_native()
    assert made.private.objective is not None
    return shown.select(SERIAL, "group"), float(made.private.objective)


def _smallest(releases: Sequence[pl.DataFrame]) -> int:
    """The least number of rows that stood in the same groups of all releases."""
    where: dict[int, list[int]] = defaultdict(lambda: [0] * len(releases))
    for number, release in enumerate(releases):
        for serial, group in release.iter_rows():
            where[serial][number] = group
    _, rows = np.unique(np.array(list(where.values())), axis=0, return_counts=True)
    return int(rows.min())
