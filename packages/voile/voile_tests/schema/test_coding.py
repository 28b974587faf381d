"""Codings of values: exact arithmetic held against fractions, hierarchies, and what cells show."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile.disclosure.exact import Coded, Exact
from voile.release.reading import KnownValues, People, ShownCells
from voile.schema.coding import (
    BottomCoded,
    Recoded,
    Rounded,
    TopCoded,
    coded_values,
    described_after,
    strays,
)
from voile.schema.hierarchy.ranges import Intervals
from voile.schema.numbers import ExactNumbers
from voile.schema.plan import ColumnPlan, Plan
from voile.schema.roles import Roles
from voile.table.binding import distinct_values
from voile.utility.covering import OriginalDomain
from voile_base.errors import PlanError

numbers = st.decimals(-9999, 9999, places=3, allow_nan=False)
bases = st.decimals("0.001", 500, places=3).filter(lambda base: base > 0)


@st.composite
def codings(draw):
    """Any numeric codings in any order."""
    made = []
    for kind in draw(st.lists(st.sampled_from("tbr"), min_size=1, max_size=4)):
        bound = draw(numbers)
        if kind == "t":
            made.append(TopCoded(bound=bound, shown=bound + abs(draw(numbers))))
        elif kind == "b":
            made.append(BottomCoded(bound=bound, shown=bound - abs(draw(numbers))))
        else:
            made.append(Rounded(base=draw(bases)))
    return tuple(made)


def _by_fractions(number: Decimal, made) -> Fraction:
    value = Fraction(number)
    for coding in made:
        if isinstance(coding, TopCoded):
            value = Fraction(coding.shown) if value > Fraction(coding.bound) else value
        elif isinstance(coding, BottomCoded):
            value = Fraction(coding.shown) if value < Fraction(coding.bound) else value
        else:
            base = Fraction(coding.base)
            value = math.floor(value / base + Fraction(1, 2)) * base
    return value


@given(st.lists(numbers, min_size=1, max_size=20), codings(), st.booleans())
def test_codings_equal_those_of_fractions(own, made, missing) -> None:
    """Every value becomes what exact fractions say, missing ones stay, and none is a stray."""
    series = pl.Series([None] * missing + [str(n) for n in own]).cast(pl.Decimal(20, 3))
    values = distinct_values(series.unique().sort(nulls_last=False))
    found = coded_values("x", ColumnPlan(), values, made)
    assert found.values.missing is values.missing
    for text, code in zip(values.texts, found.codes.tolist(), strict=True):
        after = found.values.texts[code]
        if text is None:
            assert after is None
        else:
            assert Fraction(after) == _by_fractions(Decimal(text), made)
    assert found.values.numbers is not None
    assert list(found.values.numbers.units) == sorted(set(found.values.numbers.units))
    assert strays(found.values.numbers, made) == 0


def test_a_stray_is_seen() -> None:
    """A number above the bound, one that is no multiple: each is one that no coding leaves."""
    made = (TopCoded(bound=Decimal(80), shown=Decimal("83.5")), BottomCoded(bound=3, shown=2))
    shown = ExactNumbers.of([Decimal("83.5"), 81, 79, 2, 1])
    assert strays(shown, made) == 2
    assert strays(ExactNumbers.of([5, 10, 12]), (Rounded(base=5),)) == 1


def test_large_numbers_are_exact() -> None:
    """Numbers that no machine word holds in the unit of the base are coded by long integers."""
    values = distinct_values(pl.Series([2**61 + 1, 2**62 + 3]))
    found = coded_values("x", ColumnPlan(), values, [Rounded(base=Decimal("0.5"))])
    assert found.values.texts == (str(2**61 + 1), str(2**62 + 3))


def test_facts_follow_the_codings() -> None:
    """Bounds are those of the coded numbers; nodes of a hierarchy are names."""
    facts = ColumnPlan(bounds=(Decimal(17), Decimal(93)), outside="clamp")
    cut = described_after(facts, [TopCoded(bound=80, shown=84), Rounded(base=10)])
    assert cut.bounds == (20, 80)
    assert described_after(facts, [Recoded(level=1)]).kind == "nominal"
    with pytest.raises(PlanError, match="hierarchy"):
        coded_values("x", facts, distinct_values(pl.Series([20, 30])), [Recoded(level=1)])


@pytest.mark.parametrize(
    "made",
    [
        (TopCoded(bound=60, shown=71),),
        (BottomCoded(bound=30, shown=30), Rounded(base=7)),
        (Recoded(level=1),),
        (TopCoded(bound=60, shown=60), Recoded(level=2)),
    ],
    ids=str,
)
def test_cells_fit_and_cover_the_values_that_became_them(made) -> None:
    """Evidence and covering, held against coding each value of the table by itself."""
    own = pl.Series("age", [18, 22, 25, 25, 31, 44, 60, 61, 77, 90])
    described = ColumnPlan(
        bounds=(Decimal(0), Decimal(100)), hierarchy=Intervals(origin=Decimal(0), widths=(10, 20))
    )
    plan = Plan(Roles(quasi_identifiers=("age",)), columns={"age": described})
    people = People(own.to_frame(), plan)
    values = distinct_values(own.unique().sort())
    found = coded_values("age", described, values, made)
    became = {text: found.values.texts[code]
              for text, code in zip(values.texts, found.codes.tolist(), strict=True)}  # fmt: skip
    texts = sorted(set(became.values()))
    cells = ShownCells("age", pl.DataFrame({"age": texts}), np.ones(len(texts), dtype=np.int64))
    shown = Coded(codings=made, then=Exact())
    known = KnownValues(people, "age", np.arange(len(own)))
    fits = shown.evidence(known, cells).log_weights(slice(None)) == 0
    expected = [[became[str(age)] == text for text in texts] for age in own.to_list()]
    assert fits.tolist() == expected
    domain = OriginalDomain.of(people, "age")
    covered = shown.covered(domain, cells).spread.matrix.toarray() > 0
    assert covered.T.tolist() == [[became[text] == cell for cell in texts] for text in values.texts]


def test_nothing_is_ruled_out_without_the_hierarchy() -> None:
    """Whoever does not know the plan learns nothing from nodes of its hierarchy."""
    people = People(pl.DataFrame({"age": [18, 22]}))
    cells = ShownCells("age", pl.DataFrame({"age": ["[10, 19]"]}), np.ones(1, dtype=np.int64))
    shown = Coded(codings=(Recoded(level=1),), then=Exact())
    known = KnownValues(people, "age", np.arange(2))
    assert (shown.evidence(known, cells).log_weights(slice(None)) == 0).all()
    assert "plan" in shown.notes(known, cells)[0]
