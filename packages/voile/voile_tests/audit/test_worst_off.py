"""The few are looked at: by sets of columns that others know, in small groups, at few mistakes."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import polars as pl
import pytest

from voile.audit.beside import DistinctRows, JointCodes
from voile.audit.copying import copying
from voile.audit.drift import ComparedSides
from voile.audit.excess import Excess
from voile.audit.foreign import as_release
from voile.audit.recognition import recognise
from voile.audit.record import ROWS_OF_NOBODY
from voile.audit.risk import FewFalsePositives, Risk, Setting, effect_of_units
from voile.audit.scenarios import (
    THE_PLAN,
    GroupDisclosure,
    ReIdentification,
    _counted_alike,
    _fitting_rows,
    _KnownColumn,
    known_sets,
)
from voile.release.reading import People
from voile_base.randomness import Randomness
from voile_tests.audit.tables import marginals, people

ORIGINAL, CONTROL = people(1500, 1), people(1500, 2)
KNOWN = {THE_PLAN: ("age", "sex", "town", "education")}


def _beside(released: pl.DataFrame, original: pl.DataFrame, *control: pl.DataFrame) -> JointCodes:
    foreign = as_release(released, recognise(released, People(original)), {})
    return JointCodes.of(foreign, [original, *control], None)


def _setting(released: pl.DataFrame, *control: pl.DataFrame) -> Setting:
    beside = _beside(released, ORIGINAL, *control)
    return Setting(beside, ("income",), None, 400, Randomness.seeded(3), known=KNOWN)


def test_sets_of_what_others_know_follow_names_and_are_told_once() -> None:
    """A neighbour knows disabilities, an employer wages; what an insurer knows is told before."""
    names = ["AGEP", "SEX", "PUMA", "PINCP", "DREM", "INDP_CAT", "name", "x"]
    sets = known_sets(names, ["AGEP", "SEX"], ["name"])
    assert sets[THE_PLAN] == ("AGEP", "SEX")
    assert sets["a reader of the voter roll"] == ("AGEP", "SEX", "PUMA")
    assert "PINCP" in sets["an employer"]
    assert "DREM" in sets["a neighbour"]
    assert "an insurer" not in sets
    assert "PINCP" not in sets["a neighbour"]
    assert not any({"name", "x"} & set(columns) for columns in sets.values())
    assert len(set(sets.values())) == len(sets)
    french = ["Age", "Commune", "Profession", "Diagnostic", "CoûtTraitement_EUR"]
    elsewhere = known_sets(french, [])
    assert elsewhere["a reader of the voter roll"] == ("Age", "Commune")
    assert elsewhere["an employer"] == ("Age", "Commune", "Profession")
    assert elsewhere["an insurer"] == ("Age", "Commune", "Diagnostic", "CoûtTraitement_EUR")


def test_the_probability_of_each_set_is_that_of_counting_rows_and_the_worst_pair_is_found() -> None:
    """Against all columns and pairs of a small file; the worst triple is no better than a pair."""
    own = people(60, 5)
    beside = _beside(own, own)
    setting = Setting(beside, (), None, 60, Randomness.seeded(1), known={"all": ("age", "town")})
    risks = {one.of.split(":")[0]: one for one in ReIdentification().risks(setting)}

    def counted(names: tuple[str, ...]) -> float:
        sizes = own.select(pl.len().over(names)).to_series()
        return float((1 / sizes).mean())

    assert risks["all"].main.value == pytest.approx(counted(("age", "town")))
    assert risks["all"].main.is_exact
    best = max(counted(pair) for pair in combinations(own.columns, 2))
    assert risks["whoever knows the worst pair"].main.value == pytest.approx(best)
    alone = max(counted((name,)) for name in own.columns)
    assert risks["whoever knows the worst column"].main.value == pytest.approx(alone)
    assert risks["whoever knows the worst triple"].main.value >= best
    sizes = own.select(pl.len().over("age", "town")).to_series()
    assert risks["all"].worst == pytest.approx(1 / sizes.min())


@pytest.mark.slow
def test_rows_are_counted_by_combinations_as_they_are_by_all_pairs() -> None:
    """Of values with one cell each, some without any; a value with two cells has no short way."""
    banded = ORIGINAL.with_columns(
        pl.format("[{}, {})", (low := pl.col("age") // 10 * 10), low + 10).alias("age")
    )
    beside = _beside(banded[:900], ORIGINAL)
    people = np.arange(ORIGINAL.height)
    for columns in combinations(beside.columns, 2):
        rows = DistinctRows.of(columns)
        ((_, fitting),) = _fitting_rows(columns, rows, 0, people)
        fitting = fitting.toarray()
        known = [_KnownColumn.of(column) for column in columns]
        np.testing.assert_array_equal(_counted_alike(known, people), fitting @ rows.count)
    overlapping = ORIGINAL.with_columns(
        pl.when(pl.col("sex") == "f").then(pl.lit("*")).otherwise(pl.col("town")).alias("town")
    )
    several = [_KnownColumn.of(one) for one in _beside(overlapping, ORIGINAL).columns]
    assert _counted_alike(several, people) is None


@pytest.mark.slow
def test_numbers_of_which_thousands_differ_find_their_own_rows_alone() -> None:
    """Counted with nothing taken together, alone and beside a column of two cells a value."""
    draws = np.random.default_rng(5)
    own = pl.DataFrame(
        {"cost": draws.permutation(5_000)[draws.integers(0, 5_000, 6_000)] + 0.25}
    ).with_columns(town=pl.Series(draws.choice(["a", "b", "c"], 6_000)))
    seen = own.with_columns(
        town=pl.when(pl.int_range(6_000) % 2 == 0).then(pl.lit("*")).otherwise(pl.col("town"))
    )
    setting = Setting(_beside(seen, own), (), None, 6_000, Randomness.seeded(1), known={})
    risks = {one.of: one.main.value for one in ReIdentification().risks(setting)}
    alone = own.select((1 / pl.len().over("cost")).mean()).item()
    assert risks["whoever knows the worst column: cost"] == pytest.approx(alone)
    of_cost = dict(seen.group_by("cost").agg("town").iter_rows())
    fits = [sum(cell in {"*", town} for cell in of_cost[cost]) for cost, town in own.iter_rows()]
    pair = risks["whoever knows the worst pair: cost, town"]
    assert pair == pytest.approx(np.mean(1 / np.array(fits)), rel=0.02)


@pytest.mark.slow
def test_rows_of_nobody_are_no_ones_to_be_re_identified() -> None:
    """That is refused with a reason; so is group disclosure without a sensitive column."""
    assert ReIdentification().refusal(_setting(marginals(ORIGINAL, 4), CONTROL)) == ROWS_OF_NOBODY
    beside = _beside(ORIGINAL, ORIGINAL)
    bare = Setting(beside, (), None, 10, Randomness.seeded(1), known=KNOWN)
    assert "sensitive" in (GroupDisclosure().refusal(bare) or "")


def test_small_groups_are_told_of_by_their_own_rows_and_not_by_columns_drawn_alone() -> None:
    """Of a copy each small group's income is told, beyond the control; of marginals it is not."""
    (own,) = GroupDisclosure().risks(_setting(ORIGINAL, CONTROL))
    assert own.found
    assert own.main.value > 0.7
    drawn = list(GroupDisclosure().risks(_setting(marginals(ORIGINAL, 4), CONTROL)))
    assert not any(one.found for one in drawn)


@pytest.mark.slow
def test_who_knows_one_of_two_sensitive_columns_is_judged_by_the_groups_of_each() -> None:
    """The risk of a column is the same whether or not another is asked for beside it."""
    known = {"an employer": ("age", "sex", "education", "income")}

    def risks(*sensitive: str) -> dict[str, Risk]:
        beside = _beside(ORIGINAL, ORIGINAL, CONTROL)
        setting = Setting(beside, sensitive, None, 9000, Randomness.seeded(3), known=known)
        return {one.of: one for one in GroupDisclosure().risks(setting)}

    assert risks("income", "education") == {**risks("income"), **risks("education")}


def test_people_of_one_group_count_as_the_one_draw_that_they_are() -> None:
    """200 groups of four of whom all or none is told vary as 200 people do, not as 800."""
    draws = np.random.default_rng(7)
    unit = np.repeat(np.arange(200), 4)
    told = np.repeat(draws.random(200) < 0.3, 4).astype(float)
    assert effect_of_units(told, unit) == pytest.approx(4, rel=0.05)
    apart = np.mean([effect_of_units(draws.permutation(told), unit) or 0 for _ in range(20)])
    assert apart == pytest.approx(1, abs=0.1)
    assert effect_of_units(told, None) is None
    assert effect_of_units(np.ones(4), unit[:4]) == 1
    assert effect_of_units(np.ones(0), unit[:0]) == 1


@pytest.mark.slow
def test_quasi_identifiers_alone_are_told_where_their_combinations_are_copied() -> None:
    """Rare people have their quasi-identifiers in the file, all else drawn by itself."""
    detailed = ORIGINAL.with_columns(code=pl.int_range(1500).map_elements(lambda i: i % 97))
    control = CONTROL.with_columns(code=pl.int_range(1500).map_elements(lambda i: i * 7 % 97))
    base = marginals(detailed, 6)
    known = ("age", "sex", "town", "education", "code")
    planted = base[:60].with_columns(detailed[:60].select(known).get_columns())
    sides = ComparedSides(_beside(pl.concat([base[60:], planted]), detailed, control))
    blind = copying(sides, Randomness.seeded(1))
    risk = copying(sides, Randomness.seeded(1), {"anybody": known})
    assert risk.found
    assert len(set(risk.rows) & set(range(60))) > 0.8 * len(risk.rows)
    assert (risk.persons or 0) > (blind.persons or 0)


def _rates(released: pl.DataFrame) -> tuple[FewFalsePositives, ...]:
    return copying(ComparedSides(_beside(released, ORIGINAL, CONTROL)), Randomness.seeded(1)).rates


@pytest.mark.slow
def test_rates_at_few_mistakes_hold_what_the_control_does_not_explain() -> None:
    """A tenth copied whole are told at 1 % and 0.1 % of mistakes; nobody of marginals is."""
    base = marginals(ORIGINAL, 5)
    copied = pl.concat([base[150:], ORIGINAL[:150]])
    for rate in _rates(copied):
        assert rate.beyond.low <= 0.1
        assert rate.beyond.high >= 0.05
    for rate in _rates(base):
        assert rate.beyond.low <= 0


def test_sides_of_one_population_are_alike_and_of_another_are_not() -> None:
    """A control whose ages are shifted by three years is told from the original."""
    drawn = marginals(ORIGINAL, 5)
    assert ComparedSides(_beside(drawn, ORIGINAL, CONTROL)).are_alike
    older = CONTROL.with_columns(pl.col("age") + 3)
    assert not ComparedSides(_beside(drawn, ORIGINAL, older)).are_alike


def test_a_control_of_another_year_may_be_found_half_as_often_by_what_others_know() -> None:
    """Sets of columns of sides that are not alike get the allowance that all columns get."""
    draws = np.random.default_rng(1)
    own, other = draws.normal(size=1000), draws.normal(size=1000)
    own[:90] += 6
    other[:60] += 6
    scores = {"what is known to anybody": (own, other)}
    assert not Excess.of(scores)[1]
    own[90:150] += 6
    assert Excess.of(scores, alike=True)[1]
