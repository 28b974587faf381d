"""Bounds that are found privately: priced exactly, whatever the rows, and of use."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from scipy import stats

from voile.dp.discrete_noise import DiscreteGaussian
from voile.publish.measuring import _BORDERS, _edges_of
from voile.publish.registry import publisher_for
from voile.release.check import GuaranteeBrokenError, check_release
from voile.release.release import read_release
from voile.schema.plan import parse_plan
from voile.study.run import make_release
from voile.table.opening import open_any_rows
from voile_base.errors import PlanError, RefusedError
from voile_base.randomness import Randomness

METHODS = {
    "dp-synthesis": {"name": "dp-synthesis"},
    "dp-tables": {
        "name": "dp-tables",
        "tables": [["sex"]],
        "measures": ["mean(income)", "quantiles(income, 0.5)"],
    },
}
FALSE_ALARM = 1e-6


def plan_of(method, columns=None, **given):
    """A plan that states no bounds of incomes."""
    return parse_plan(
        {
            "roles": {"quasi_identifiers": ["sex", "income"]},
            "columns": {"sex": {"values": ["F", "M"]}, **(columns or {})},
            "method": {**METHODS[method], "find_bounds": ["income"], **given},
        }
    )


def people(rows=4000, seed=1):
    """Rows with incomes over several powers of ten."""
    draws = np.random.default_rng(seed)
    income = np.where(draws.random(rows) < 0.2, 0, draws.lognormal(10, 0.7, rows)).round(2)
    return pl.DataFrame({"sex": draws.choice(["F", "M"], rows), "income": income})


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("budget", "total"),
    [({"rho": "1/8"}, Fraction(1, 8)), ({"epsilon": 1}, Fraction(1))],
    ids=["Gaussian", "Laplace"],
)
def test_bounds_are_priced_with_the_tables(method, budget, total, tmp_path):
    """All noise together costs the budget exactly, of which the search has its share."""
    plan = plan_of(method, bounds_share="1/5", **budget)
    make_release(people(), plan, tmp_path / "out", seed=1)
    release = read_release(tmp_path / "out")
    (claim,) = release.guarantee.claims

    def price(table):
        changed = 1 if table.sums is None else table.sums.parts
        noise = Fraction(table.noise)
        return changed**2 / (2 * noise) if claim.rho else changed / noise

    assert sum(map(price, claim.searched)) == total / 5
    assert sum(map(price, claim.tables)) == total * 4 / 5
    check_release(release)
    free = claim.model_copy(update={"searched": ()})
    cheaper = replace(release, guarantee=replace(release.guarantee, claims=(free,)))
    with pytest.raises(GuaranteeBrokenError, match="costs"):
        check_release(cheaper)


@pytest.mark.parametrize("seed", range(3))
def test_bounds_hold_nearly_all_numbers_and_ranges_are_of_like_size(seed):
    """At epsilon 1 for 4,000 rows: 98 % within, and no range has a third of those above 0."""
    frame = people(seed=seed)
    plan = plan_of("dp-synthesis", epsilon=1, delta=1e-6)
    made = make_release(frame, plan, None, seed=seed)
    cells = made.release.measurements.to_arrow().to_pandas()
    ranges = [
        it.strip("[]").split(", ")
        for it in cells[(cells.column_1 == "income") & cells.column_2.isna()].value_1
    ]
    low, high = float(ranges[0][0]), float(ranges[-1][-1])
    income = frame["income"].to_numpy()
    assert ((income >= low) & (income <= high)).mean() >= 0.98
    above = income[income > 0]
    counts = np.histogram(above, [float(it[0]) for it in ranges] + [high])[0]
    assert len(ranges) >= 8
    assert counts.max() <= len(above) / 3
    assert any("bounds of income were found" in told for told in made.private.notices)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "income",
    [[], [None] * 3, [0.0] * 500, [1e300, -1e300] * 50, ["a", "b"] * 40, [5.0]],
    ids=["no row", "missing", "one value", "beyond the ladder", "no numbers", "one row"],
)
def test_nothing_about_rows_ends_a_search(method, income):
    """There is a release of any rows, at the same price."""
    kind = pl.String if income[:1] == ["a"] else pl.Float64
    frame = pl.DataFrame(
        {"sex": ["F"] * len(income), "income": income},
        schema={"sex": pl.String, "income": kind},
    )
    made = make_release(frame, plan_of(method, epsilon=1), None, seed=1)
    assert [event.epsilon for event in made.events] == [1]


def test_noise_alone_is_seldom_taken_for_rows():
    """Of 400 empty tables one in twenty at most has a range that counts; less noise is told of."""
    variance = Fraction(320)
    draws = DiscreteGaussian(variance).draw(
        np.arange(400 * (len(_BORDERS) - 1), dtype=np.uint64), Randomness.seeded(1).key("x")
    )
    wrong = {True: 0, False: 0}
    for counts in draws.reshape(400, -1):
        for right in wrong:
            deviation = float(variance) ** 0.5 * (1 if right else 0.7)
            edges = _edges_of(counts, deviation, pure=False)
            wrong[right] += edges[0] != _BORDERS[0]
    assert stats.binomtest(wrong[True], 400, 0.05, "greater").pvalue > FALSE_ALARM
    assert stats.binomtest(wrong[False], 400, 0.05, "greater").pvalue < FALSE_ALARM


@pytest.mark.parametrize("counts", [{36: 900}, {0: 900}, {71: 900}, {30: 500, 50: 500}])
def test_edges_ascend_and_make_several_ranges(counts):
    """Also of numbers that all lie in one range of the ladder, at either end of it."""
    filled = np.zeros(len(_BORDERS) - 1, dtype=np.int64)
    for place, count in counts.items():
        filled[place] = count
    edges = _edges_of(filled, 4.0, pure=False)
    assert list(edges) == sorted(set(edges))
    assert 3 <= len(edges) <= 21
    assert all(isinstance(edge, Decimal) for edge in edges)


@pytest.mark.parametrize(
    ("columns", "given", "told"),
    [
        ({"income": {"bounds": [0, 1]}}, {}, "states bounds: what is public costs nothing"),
        ({"income": {"values": [1, 2]}}, {}, "states values"),
        ({"income": {"type": "text"}}, {}, "holds no numbers"),
        ({}, {"find_bounds": ["wage"]}, "'wage', which is not published"),
        ({}, {"bounds_share": "1"}, "bounds_share must be a fraction between 0 and 1"),
        ({}, {"bounds_share": "nan"}, "bounds_share must be"),
        ({}, {"bounds_share": "1e-3"}, "bounds_share must be"),
        ({}, {"zeros": ["income > 3"]}, "a fact about the column 'income'"),
        ({}, {"find_bounds": []}, "nothing states its public domain"),
    ],
)
def test_what_cannot_be_is_told_before_anything_is_paid(columns, given, told):
    """By the plan alone."""
    plan = plan_of("dp-synthesis", columns, epsilon=1, **given)

    def refuse(price):
        raise RefusedError("it was paid")

    with pytest.raises(PlanError, match=told):
        publisher_for(plan).prepare(
            open_any_rows(people(10), plan, of_file=False), Randomness.seeded(1), None, refuse
        )
