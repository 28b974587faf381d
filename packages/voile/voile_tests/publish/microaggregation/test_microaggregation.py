"""Microaggregation: the losses of the field's reference data, brute force, persons, bad input."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import voile
from voile.attack.registry import attack_named
from voile.publish.microaggregation import Microaggregation
from voile.publish.microaggregation.decision import Points
from voile.release.check import check_release
from voile.release.reading import People, PublishedRows
from voile.release.release import Publication, Release
from voile.table.opening import published_rows
from voile.utility.protocol import Comparison, measures
from voile_base.errors import InfeasibleError, PlanError, TableError
from voile_base.randomness import Randomness

NUMBERS = ("age", "pay")


def _points(values, rows=None):
    values = np.asarray(values, dtype=np.float64)
    rows = np.ones(len(values), dtype=np.int64) if rows is None else np.asarray(rows)
    return Points.of(values, np.zeros(values.shape[1], dtype=np.bool_), rows)


def _published(frame: pl.DataFrame, roles: dict, **parameters) -> Publication:
    table = voile.open_frame(frame, voile.Plan(voile.Roles(**roles)))
    return Microaggregation(**parameters).prepare(table, Randomness.seeded(1))


def _people(rows: int = 90, seed: int = 3) -> pl.DataFrame:
    draws = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": draws.integers(18, 90, rows),
            "pay": draws.lognormal(8, 0.6, rows).round(2),
            "town": draws.choice(["Ulm", "Bonn", "Kiel"], rows),
            "ill": draws.choice(["flu", "cold", "gout"], rows),
            "who": draws.integers(0, rows // 2, rows),
        }
    )


@pytest.mark.slow
@pytest.mark.parametrize("k", [3, 5, 10])
def test_the_losses_on_the_reference_data_are_those_of_sdcmicro(shared_data: Path, k: int) -> None:
    """MDAV loses what sdcMicro's loses, to nine digits, and V-MDAV no more."""
    golden = json.loads((shared_data / "tables" / "golden.json").read_text())
    stated = golden["mdav_on_casc_reference"][f"mdav {k}"]["information_loss_percent"]
    frame = pl.read_csv(shared_data / "census" / "casc-reference.csv")
    points = _points(frame.to_numpy())
    assert 100 * points.loss(points.grouped(k, Points.mdav)) == pytest.approx(stated, rel=1e-9)
    better = points.grouped(k, Points.v_mdav)
    assert 100 * points.loss(better) < stated
    assert np.bincount(better).min() >= k


def test_the_release_of_the_reference_data_states_its_loss(shared_data: Path) -> None:
    """Whole way: the loss is told to the custodian, and the claims hold on the rows."""
    frame = pl.read_csv(shared_data / "census" / "casc-reference.csv")
    made = _published(frame, {"quasi_identifiers": tuple(frame.columns)}, k=3)
    assert made.private.objective.startswith("5.692186")
    check_release(made.release)
    assert made.release.guarantee.kind == "k-anonymity"
    shown = pl.DataFrame(made.release.table.to_arrow()).drop("group")
    assert shown.group_by(shown.columns).len()["len"].min() >= 3
    assert shown.mean().row(0) == pytest.approx(frame.mean().row(0), rel=1e-6)


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.integers(0, 12), st.integers(1, 3)), min_size=1, max_size=8),
    st.integers(2, 4),
)
def test_one_column_is_grouped_as_no_other_way_betters(pairs, k):
    """All ways to cut the ascending values are tried: none has less squares."""
    rows: Counter[int] = Counter()
    for value, count in pairs:
        rows[value] += count
    values = np.array(sorted(rows), dtype=np.float64)
    weight = np.array([rows[value] for value in sorted(rows)])
    if weight.sum() < k:
        return
    points = Points(values[:, np.newaxis], np.zeros(1, dtype=np.bool_), weight)

    def squares(label):
        mean = np.bincount(label, values * weight) / np.bincount(label, weight)
        return float(((values - mean[label]) ** 2 * weight).sum())

    every = []
    for cuts in product([0, 1], repeat=len(values) - 1):
        label = np.concatenate([[0], np.cumsum(np.array(cuts, dtype=np.int64))]).astype(np.int64)
        if np.bincount(label, weight).min() >= k:
            every.append(squares(label))
    found = points.best_of_column(k)
    assert np.bincount(found, weight).min() >= k
    assert squares(found) == pytest.approx(min(every), abs=1e-9)


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 5), st.integers(1, 4)), min_size=1, max_size=40
    ),
    st.integers(2, 6),
    st.sampled_from([Points.mdav, Points.v_mdav]),
    st.booleans(),
)
def test_groups_have_k_rows_whatever_the_points_are(points, k, heuristic, mixed):
    """Every group has k rows or more, of numbers and of codes, where the table has as many."""
    values = np.array([one[:2] for one in points], dtype=np.float64)
    rows = np.array([one[2] for one in points])
    made = Points.of(values, np.array([mixed, False]), rows)
    label = made.grouped(k, heuristic)
    held = np.bincount(label, rows)
    assert held.min() >= min(k, rows.sum())
    assert (held > 0).all()


def test_moving_points_between_groups_never_costs():
    """V-MDAV as it is here loses no more than MDAV, and on clustered points much less."""
    draws = np.random.default_rng(2)
    centres = draws.normal(0, 10, (40, 2))
    sizes = draws.integers(3, 6, 40)
    points = _points(np.repeat(centres, sizes, axis=0) + draws.normal(0, 0.1, (sizes.sum(), 2)))
    plain, better = (points.loss(rule(points, 3)) for rule in (Points.mdav, Points.v_mdav))
    assert better < plain / 3


@pytest.mark.slow
def test_many_points_are_grouped_by_blocks_at_a_small_cost():
    """Ten thousand points in blocks lose at most a tenth more than when all are compared."""
    draws = np.random.default_rng(4)
    points = _points(draws.normal(0, 1, (10_000, 3)))
    whole, blocks = points.mdav(10), points.grouped(10, Points.mdav)
    assert np.bincount(blocks).min() >= 10
    assert points.loss(whole) < points.loss(blocks) < 1.1 * points.loss(whole)


@pytest.mark.parametrize("centre", ["mean", "median", "medoid"])
def test_mixed_columns_show_a_middle_of_their_group(centre):
    """Numbers between the least and the most of the table, texts that stand in the group."""
    frame = _people()
    roles = {"quasi_identifiers": ("age", "town"), "sensitive": ("ill",), "person": "row"}
    made = _published(frame, roles, k=4, centre=centre)
    check_release(made.release)
    shown = pl.DataFrame(made.release.table.to_arrow())
    assert set(shown["town"]) <= set(frame["town"])
    assert shown.group_by("age", "town").len()["len"].min() >= 4
    assert frame["age"].min() <= shown["age"].min() <= shown["age"].max() <= frame["age"].max()
    if centre != "mean":
        assert set(shown["age"]) <= set(frame["age"])
    assert sorted(shown["ill"]) == sorted(frame["ill"])


def test_medoids_and_medians_are_those_of_brute_force():
    """For each published group, by the distances of all pairs and by sorting."""
    frame = pl.DataFrame({"x": [1, 2, 4, 9, 50, 51, 53, 70], "y": [0, 0, 1, 0, 5, 5, 6, 9]})
    roles = {"quasi_identifiers": ("x", "y"), "person": "row"}
    medoids, medians = (
        {row[1:] for row in made.release.table.to_arrow().to_pandas().itertuples(index=False)}
        for made in (_published(frame, roles, k=4, centre=c) for c in ("medoid", "median"))
    )
    standard = (frame.to_numpy() - frame.to_numpy().mean(0)) / frame.to_numpy().std(0)
    right = set()
    for part in (slice(0, 4), slice(4, 8)):
        each = standard[part]
        sums = ((each[:, None] - each[None]) ** 2).sum((1, 2))
        right.add(tuple(frame.to_numpy()[part][sums.argmin()].astype(float)))
    assert medoids == right
    assert medians == {(2.0, 0.0), (51.0, 5.0)}


def test_strata_are_never_mixed():
    """A group lies within one value of the strata, and too small a stratum is refused."""
    frame = _people()
    roles = {"quasi_identifiers": NUMBERS, "sensitive": ("ill",), "keep": ("town",)}
    made = _published(frame, {**roles, "person": "row"}, k=3, strata=("town",))
    shown = pl.DataFrame(made.release.table.to_arrow())
    assert shown.group_by("age", "pay").agg(pl.col("town").n_unique())["town"].max() == 1
    small = frame.with_columns(town=pl.Series(["Rhens", *frame["town"][1:]]))
    with pytest.raises(InfeasibleError, match=r"1 of 4 strata of 'town' have fewer than k = 3"):
        _published(small, {**roles, "person": "row"}, k=3, strata=("town",))


@pytest.mark.parametrize("heuristic", ["mdav", "univariate"])
def test_groups_are_of_k_persons_where_these_have_several_rows(heuristic):
    """Counted from the table by brute force: each shown combination is of k different persons."""
    frame = _people().with_columns(pay=pl.Series(np.arange(90.0)), row=pl.Series(range(90)))
    roles = {"quasi_identifiers": NUMBERS, "person": "who", "keep": ("row",)}
    made = _published(frame, {**roles, "keep_unique": ("row",)}, k=4, heuristic=heuristic)
    check_release(made.release)
    assert made.release.guarantee.parameters["unit"] == "person"
    shown = pl.DataFrame(made.release.table.to_arrow()).join(frame.select("row", "who"), on="row")
    groups = [NUMBERS] if heuristic == "mdav" else [("age",), ("pay",)]
    for names in groups:
        assert shown.group_by(names).agg(pl.col("who").n_unique())["who"].min() >= 4


def test_columns_by_themselves_promise_of_each_alone():
    """Univariate: k rows for each value of each column, and no k-anonymity of both."""
    made = _published(
        _people(), {"quasi_identifiers": NUMBERS, "person": "row"}, k=5, heuristic="univariate"
    )
    kinds = [claim.kind for claim in made.release.guarantee.claims]
    assert kinds == ["microaggregation", "microaggregation"]
    assert "NOT k-anonymity" in made.release.guarantee.statement
    shown = pl.DataFrame(made.release.table.to_arrow())
    for name in NUMBERS:
        assert shown[name].value_counts()["count"].min() >= 5


def _tampered(release: Release) -> Release:
    """The same, whose first row shows an age of its own."""
    frame = pl.DataFrame(release.table.to_arrow())
    changed = frame.with_columns(age=pl.Series([17.5, *frame["age"][1:]]))
    return replace(release, table=published_rows(changed))


def test_a_combination_that_one_row_shows_breaks_the_claim():
    """A planted row of its own is told by the recount."""
    release = _published(_people(), {"quasi_identifiers": NUMBERS, "person": "row"}, k=3).release
    claim = release.guarantee.claims[1]
    assert list(claim.breaches(release)) == []
    told = list(claim.breaches(_tampered(release)))
    assert told
    assert "are shown by fewer than 3 rows" in told[0]


def test_an_adversary_finds_fewer_people_the_larger_k_is():
    """Who knows both numbers: success falls with k, and stays far from that on the table itself."""
    frame = _people(400)
    roles = {"quasi_identifiers": NUMBERS, "person": "row"}
    found = []
    for k in (2, 40):
        release = _published(frame, roles, k=k).release
        attack = attack_named("journalist", targets=None)
        plan = voile.Plan(voile.Roles(**roles))
        found.append(attack.run(release, frame, plan).success.value)
    assert found[0] > 5 * found[1]
    assert found[1] <= 1 / 20


@pytest.mark.slow
def test_every_measure_measures_it_or_says_why_not():
    """Numbers and texts; what is lost of each column grows with k."""
    frame = _people(300)
    roles = {"quasi_identifiers": ("age", "town"), "sensitive": ("pay",), "person": "row"}
    plan = voile.Plan(voile.Roles(**roles))
    lost = []
    for k in (3, 30):
        release = _published(frame, roles, k=k).release
        beside = Comparison(PublishedRows.of(release), People(frame, plan), Randomness.seeded(2))
        found = {one.name: one for one in measures() if one.refusal(beside) is None}
        for measure in found.values():
            assert all(np.isfinite(each.value) for each in measure.measure(beside))
        (penalty,) = found["normalized-certainty-penalty"].measure(beside)
        lost.append(penalty.parts)
        assert {one.refusal(beside) is None or len(one.refusal(beside)) > 9 for one in measures()}
    for name in ("age", "town"):
        assert 0 < lost[0][name] < lost[1][name] < 1


@pytest.mark.parametrize(
    ("parameters", "error", "told"),
    [
        ({"k": 91}, InfeasibleError, "the largest k that it allows is 90"),
        ({"k": 3, "columns": ("agee",)}, PlanError, r"\[method\] columns names the column 'agee'"),
        ({"k": 3, "columns": ("age", "age")}, PlanError, "twice"),
        ({"k": 3, "columns": ("age",), "strata": ("age",)}, PlanError, "no column that strata"),
        (
            {"k": 3, "columns": ("town",), "heuristic": "univariate"},
            PlanError,
            "is for numbers, and column 'town' has none",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_the_way_out(parameters, error, told):
    """The key, the column and the remedy stand in the message."""
    roles = {"quasi_identifiers": NUMBERS, "sensitive": ("ill",), "keep": ("town",)}
    with pytest.raises(error, match=told):
        _published(_people(), {**roles, "person": "row"}, **parameters)


def test_a_missing_number_is_refused_and_a_column_of_one_value_published():
    """Nothing is made up for a missing number; one value is its own mean, and lost nothing."""
    frame = _people().with_columns(pay=pl.lit(7.5), age=pl.Series([None, *range(20, 109)]))
    roles = {"quasi_identifiers": NUMBERS, "person": "row"}
    with pytest.raises(TableError, match="'age'"):
        _published(frame, roles, k=3)
    made = _published(frame.with_columns(age=pl.col("age").fill_null(19)), roles, k=3)
    shown = pl.DataFrame(made.release.table.to_arrow())
    assert set(shown["pay"]) == {7.5}
    assert made.release.disclosure.columns["pay"].kind == "exact"
