"""Treatments of another package: engines apply what is announced, and nothing else."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from voile.schema.plan import Plan, parse_plan
from voile.table.decisions import TREATMENTS, Grouping, PermutedColumn, RowColumn, Treatment
from voile.table.engines.duckdb import DuckDBEngine
from voile.table.engines.polars import PolarsEngine
from voile.table.opening import open_frame
from voile.table.private import PrivateTable
from voile.table.protocol import Engine
from voile_base.errors import InputError, TableError
from voile_base.randomness import Randomness
from voile_tests.installed import others_installed
from voile_tests.others.plain_others.engine import PlainEngine

ENGINES = (PolarsEngine, DuckDBEngine, PlainEngine)
PAY = [17, 5, None, 2, 1999, -1, 17, 40]
AGE = [30, 40, 30, 40, 30, 40, 30, 40]


def plan() -> Plan:
    document = {"roles": {"quasi_identifiers": ["age", "pay"]}, "nulls": "category"}
    return parse_plan(document)


@pytest.fixture
def rounded() -> Iterator[type]:
    """The treatment, found by its name."""
    with others_installed():
        yield TREATMENTS.class_of("rounded")


def table(engine: type[Engine]) -> PrivateTable:
    return open_frame(pl.DataFrame({"age": AGE, "pay": PAY}), plan(), engine=engine())


def shown(table: PrivateTable, treatment: Treatment) -> list[dict[str, object]]:
    published = table.apply(treatment, Randomness.seeded(3))
    return published.to_arrow().to_pylist()


@pytest.mark.parametrize("engine", ENGINES)
def test_each_engine_applies_a_treatment_of_rows(engine: type[Engine], rounded: type) -> None:
    """Every row shows what the treatment makes of its value, in an order of what rows show."""
    rows = shown(table(engine), Treatment((rounded("pay", 10),)))
    wanted = [
        (age, None if pay is None else pay // 10 * 10) for age, pay in zip(AGE, PAY, strict=True)
    ]
    found = [(row["age"], row["pay"]) for row in rows]
    assert Counter(found) == Counter(wanted)
    again = open_frame(pl.DataFrame({"age": AGE, "pay": PAY})[::-1], plan(), engine=engine())
    assert shown(again, Treatment((rounded("pay", 10),))) == rows


def test_it_stands_beside_groups_and_permutations(rounded: type) -> None:
    """Ages are permuted within groups of equal pay, which then shows rounded."""
    of = table(PolarsEngine)
    counts = of.count_combinations(["pay"])
    groups = Grouping.of_counts(counts, np.arange(len(counts.rows)))
    rows = shown(of, Treatment((rounded("pay", 10), PermutedColumn("age")), groups))
    assert {row["pay"] for row in rows} == {None, 10, 0, 1990, -10, 40}
    assert sorted(row["age"] for row in rows) == sorted(AGE)
    assert len({row["group"] for row in rows}) == len(set(PAY))


@dataclass(frozen=True)
class Unknown(RowColumn):
    """A treatment that nobody announces."""

    column: str

    def type_of(self, own: pa.DataType) -> pa.DataType:
        """Its own."""
        return own

    def cells(self, own: pa.Array) -> pa.Array:
        """As they are."""
        return own


def test_a_treatment_that_nobody_announces_is_refused() -> None:
    """By its class, with the group of entry points that it belongs to."""
    with pytest.raises(InputError, match=r"column 'pay': .*Unknown.*voile\.treatments"):
        shown(table(PolarsEngine), Treatment((Unknown("pay"),)))


def test_what_it_cannot_treat_and_what_it_shows_wrongly_is_refused(rounded, monkeypatch) -> None:
    """A text, by its own words; fewer cells than rows, or others than it says, as a fault."""
    texts = open_frame(pl.DataFrame({"age": AGE, "pay": list("abcdefgh")}), plan())
    with pytest.raises(TableError, match="column 'pay': only whole numbers are rounded"):
        shown(texts, Treatment((rounded("pay", 10),)))
    for wrong in (lambda _, own: own[:1], lambda _, own: own.cast(pa.float64())):
        monkeypatch.setattr(rounded, "cells", wrong)
        with pytest.raises(ValueError, match="shows other cells than it says"):
            shown(table(PolarsEngine), Treatment((rounded("pay", 10),)))


def test_own_treatments_stand_in_the_registry() -> None:
    """Under their names, each where it is said to be."""
    assert [TREATMENTS.class_of(name).what for name in TREATMENTS.own] == [
        "recoded",
        "recoded",
        "blanked",
        "permuted",
        "perturbed",
    ]
