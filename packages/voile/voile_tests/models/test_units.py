"""Persons are counted as their definitions say: on all small tables, by every engine."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from voile.models.criteria import Groups
from voile.models.k_anonymity import KAnonymity
from voile.models.l_diversity import DistinctDiversity, EntropyDiversity, RecursiveDiversity
from voile.models.t_closeness import EqualCloseness
from voile.models.units import GroupedUnits
from voile.schema.plan import Plan
from voile.schema.roles import Roles
from voile.table.engines.duckdb import DuckDBEngine
from voile.table.engines.polars import PolarsEngine
from voile.table.opening import open_frame
from voile.table.protocol import Engine
from voile.table.summaries import CombinationCounts
from voile_tests.models.small_persons import (
    Row,
    all_tables,
    different,
    distance,
    entropy_reaches,
    persons,
    recursive,
    weights,
)
from voile_tests.others.plain_others.engine import PlainEngine
from voile_tests.table.spark import engine as spark_engine
from voile_tests.table.spark import ignoring_warnings_of_spark, needs_spark

TABLES = all_tables(5)
ROLES = Roles(quasi_identifiers=("table", "quasi"), sensitive=("illness",), person="patient")


def counted(tables: Sequence[Sequence[Row]], engine: Engine) -> CombinationCounts:
    """Many tables as one whose persons are those of one table each, counted at once."""
    rows = [(number, *row) for number, table in enumerate(tables) for row in table]
    frame = pl.DataFrame(
        {
            "patient": [f"{row[0]}{row[1]}" for row in rows],
            "table": [row[0] for row in rows],
            "quasi": [row[2] for row in rows],
            "illness": [row[3] for row in rows],
        }
    ).sample(fraction=1, shuffle=True, seed=3)
    table = open_frame(frame, Plan(ROLES), engine=engine)
    return table.count_combinations(["table", "quasi", "illness"])


class Groupings:
    """Each table by its quasi-identifier, and each as one group."""

    def __init__(self, tables: Sequence[Sequence[Row]], engine: Engine) -> None:
        self.tables = tables
        self.counts = counted(tables, engine)
        number, quasi, _ = self.counts.codes.T.astype(np.int64)
        self.whole = number
        self.fine = number * 2 + quasi
        self.present, self.fine = np.unique(self.fine, return_inverse=True)

    def units(self, label: np.ndarray, groups: int) -> GroupedUnits:
        """What criteria may ask of a grouping."""
        assert self.counts.units is not None
        values = {"illness": self.counts.codes[:, 2]}
        return GroupedUnits(self.counts.units, label, groups, values)

    def both(self) -> list[tuple[GroupedUnits, list[list[Row]]]]:
        """Groups as they are counted, and their rows."""
        quasi = self.counts.values[1].texts
        fine = [
            [row for row in self.tables[key // 2] if row[1] == quasi[key % 2]]
            for key in self.present.tolist()
        ]
        whole = [list(table) for table in self.tables]
        return [
            (self.units(self.fine, len(fine)), fine),
            (self.units(self.whole, len(whole)), whole),
        ]


def assert_counted(tables: Sequence[Sequence[Row]], engine: Engine) -> None:
    """Counts, matchings and weights are those of the definitions."""
    groupings = Groupings(tables, engine)
    counts = groupings.counts.units
    assert counts is not None
    combination, unit = counts.pairs
    assert np.bincount(combination).tolist() == counts.within.tolist()
    assert len(np.unique(np.column_stack([combination, unit]), axis=0)) == len(unit)
    for units, groups in groupings.both():
        found = [persons(rows) for rows in groups]
        assert units.count().tolist() == found
        for k in (1, 2, 3, 4):
            assert units.at_least(k).tolist() == [n >= k for n in found]
        most = [different(rows) for rows in groups]
        for least in (1, 2, 3, 4):
            asked = units.different("illness", least)
            assert asked.tolist() == [n >= least for n in most]
        assert weighed_in(units, groupings.counts) == [weights(rows) for rows in groups]
    totals = np.zeros(len(tables))
    np.add.at(totals, groupings.whole, counts.weight / counts.whole)
    assert np.allclose(totals, [persons(table) for table in tables])


def weighed_in(units: GroupedUnits, counts: CombinationCounts) -> list[dict[str, Fraction]]:
    """What each value weighs in each group, in persons, as it is counted."""
    texts = counts.values[2].texts
    cells = units.weigh("illness", np.ones(len(texts), dtype=np.int64))
    found: list[dict[str, Fraction]] = [{} for _ in range(units.groups)]
    for group, value, part in zip(cells.group, cells.value, cells.rows.tolist(), strict=True):
        found[group][str(texts[value])] = Fraction(part, units.counts.whole)
    return found


@pytest.mark.parametrize(
    "engine", [PolarsEngine(), DuckDBEngine(), PlainEngine()], ids=lambda engine: engine.name
)
def test_persons_of_small_tables(engine: Engine) -> None:
    """Every table of up to five rows, or a fortieth of them in other engines."""
    assert_counted(TABLES if isinstance(engine, PolarsEngine) else TABLES[::40], engine)


@needs_spark
@pytest.mark.slow
@ignoring_warnings_of_spark
def test_persons_of_small_tables_on_spark() -> None:
    """A fortieth of them."""
    assert_counted(TABLES[::40], spark_engine())


@pytest.mark.slow
def test_persons_of_all_tables() -> None:
    """Every table of up to seven rows, up to renaming."""
    tables = all_tables(7)
    assert len(tables) > 4000
    assert_counted(tables, PolarsEngine())


def cells(table: Sequence[Row]) -> tuple[Groups, list[list[Row]]]:
    """A table by its quasi-identifier as criteria see it, from the engine's counts."""
    groupings = Groupings([table], PolarsEngine())
    units, groups = groupings.both()[0]
    counts = groupings.counts
    assert counts.units is not None
    total = np.bincount(counts.codes[:, 2], counts.units.weight).astype(np.int64)
    sizes = np.array([len(rows) for rows in groups])
    return units.seen(sizes, {"illness": total}), groups


@pytest.mark.parametrize("table", TABLES[7::60], ids=str)
def test_criteria_count_a_person_once(table: tuple[Row, ...]) -> None:
    """k, l of three kinds, and t are what their definitions say where persons weigh one each."""
    groups, rows = cells(table)
    for k in (1, 2, 3):
        assert KAnonymity(k).holds(groups).tolist() == [persons(g) >= k for g in rows]
    for least in (2, 3):
        held = DistinctDiversity(least, "illness").holds(groups)
        assert held.tolist() == [different(g) >= least for g in rows]
        held = EntropyDiversity(least, "illness").holds(groups)
        assert held.tolist() == [entropy_reaches(g, least) for g in rows]
        held = RecursiveDiversity(least, 2, "illness").holds(groups)
        assert held.tolist() == [recursive(g, Fraction(2), least) for g in rows]
    for t in ("0", "0.25", "0.5"):
        held = EqualCloseness(t, "illness").holds(groups)
        assert held.tolist() == [distance(g, table) <= Fraction(t) for g in rows]


def test_several_values_of_one_person_are_one() -> None:
    """A person with three values and another with one make two different values, not three."""
    one = [("a", "p", "x"), ("a", "p", "y"), ("a", "p", "z")]
    assert different(one) == 1
    assert different([*one, ("b", "p", "x")]) == 2
    groups, _ = cells((*one, ("b", "p", "x")))
    assert DistinctDiversity(2, "illness").holds(groups).all()
    assert not DistinctDiversity(3, "illness").holds(groups).any()
    assert not EntropyDiversity("2.1", "illness").holds(groups).any()


def test_a_group_of_one_person_is_never_valid() -> None:
    """However many rows and values a person has."""
    groups, _ = cells(tuple(("a", "p", value) for value in "xyzxyz"))
    assert not KAnonymity(2).holds(groups).any()
    assert not DistinctDiversity(2, "illness").holds(groups).any()
    assert not EntropyDiversity(2, "illness").holds(groups).any()
    assert not RecursiveDiversity(2, 100, "illness").holds(groups).any()


@pytest.mark.parametrize("rows", [(1, 2, 3), (999_983, 999_979, 1)])
def test_weights_of_persons_with_many_rows(rows: tuple[int, ...]) -> None:
    """Weights are exact where they can be, and a millionth off at most where not."""
    from voile.table.summaries import UnitCounts, rows_of_units  # noqa: PLC0415 - this test alone

    engine = PolarsEngine()
    people = np.repeat(np.arange(len(rows)), rows)
    data = engine.of_arrow(pl.DataFrame({"who": people, "what": people % 2}).to_arrow())
    counts = UnitCounts.of(data, data.count(["what"], keep=True), "who", rows_of_units(data, "who"))
    assert np.allclose(counts.weight / counts.whole, [2, 1], rtol=1e-6)
    assert counts.weight.sum() <= 3 * counts.whole
    if rows == (1, 2, 3):
        assert counts.weight.tolist() == [2 * 6, 6]


def test_duplicated_rows_change_no_count() -> None:
    """Of persons, different values or weights."""
    tables = TABLES[::25]
    one = Groupings(tables, PolarsEngine())
    other = Groupings([[*table, *table] for table in tables], PolarsEngine())
    assert one.counts.units is not None
    assert other.counts.units is not None
    assert (one.counts.units.within == other.counts.units.within).all()
    assert (one.counts.units.alone == other.counts.units.alone).all()
    share = one.counts.units.weight / one.counts.units.whole
    assert np.allclose(share, other.counts.units.weight / other.counts.units.whole)
