"""Local suppression: the survey of sdcMicro, brute force, limits, persons, bad input."""

from __future__ import annotations

import json
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
from voile.publish.local_suppression import Cells, LocalSuppression
from voile.release.check import check_release
from voile.release.reading import People, PublishedRows
from voile.release.release import Publication
from voile.table.opening import published_rows
from voile.utility.protocol import Comparison, measures
from voile_base.errors import InfeasibleError, PlanError
from voile_base.randomness import Randomness

SURVEY = ("urbrur", "roof", "walls", "water", "electcon", "relat", "sex")
KEYS = ("town", "work", "sex")


def _plan(roles: dict) -> voile.Plan:
    """A plan in which missing work is a value."""
    columns = {"work": voile.ColumnPlan(nulls="category")}
    return voile.Plan(voile.Roles(**roles), columns=columns if "work" in str(roles) else {})


def _published(frame: pl.DataFrame, roles: dict, **parameters) -> Publication:
    table = voile.open_frame(frame, _plan(roles))
    return LocalSuppression(**parameters).prepare(table, Randomness.seeded(1))


def _shown(made: Publication) -> pl.DataFrame:
    return pl.DataFrame(made.release.table.to_arrow())


def _people(rows: int = 120, seed: int = 5) -> pl.DataFrame:
    draws = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "town": draws.choice(list("abcdefgh"), rows, p=[0.3, 0.3, 0.2, *[0.04] * 5]),
            "work": draws.choice(["office", "farm", "sea", None], rows, p=[0.6, 0.3, 0.05, 0.05]),
            "sex": draws.choice(["f", "m"], rows),
            "ill": draws.choice(["flu", "cold"], rows),
            "who": draws.integers(0, 50, rows),
        }
    )


def _matches(frame: pl.DataFrame, names) -> np.ndarray:
    """For each row, how many rows match it: every pair is compared, a missing value is anything."""
    match = np.ones((frame.height, frame.height), dtype=bool)
    for name in names:
        column = frame[name].rank("dense").fill_null(0).to_numpy()
        blank = column == 0
        match &= (column[:, None] == column) | blank[:, None] | blank
    return match.sum(axis=1)


@pytest.mark.parametrize(("k", "ours"), [(2, 157), (3, 283), (5, 461)])
def test_the_household_survey_needs_no_more_cells_than_in_sdcmicro(
    shared_data: Path, k: int, ours: int
) -> None:
    """Every row is matched by k, counted by brute force, with at most as many cells, proved."""
    golden = json.loads((shared_data / "tables" / "golden.json").read_text())["household_testdata"]
    frame = pl.read_csv(
        shared_data / "census" / "household-testdata.csv", infer_schema_length=None
    ).select(SURVEY)
    made = _published(frame, {"quasi_identifiers": SURVEY, "person": "row"}, k=k)
    shown = _shown(made).select(SURVEY)
    cells = sum(shown.null_count().row(0))
    assert cells == ours <= golden[f"local_suppression_k{k}"]["suppressed_cells"]
    assert made.private.decision["bound"] == cells
    assert _matches(shown, SURVEY).min() >= k
    check_release(made.release)


TABLES = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 1), st.integers(0, 1), st.integers(1, 2)),
    min_size=1,
    max_size=5,
    unique_by=lambda one: one[:3],
)


def _cells(rows, cost=(1.0, 1.0, 1.0)) -> Cells:
    codes = np.array([one[:3] for one in rows], dtype=np.int64)
    weight = np.array([one[3] for one in rows], dtype=np.int64)

    def held(label, groups):
        inside = label >= 0
        return np.bincount(label[inside], weight[inside], groups).astype(np.int64)

    return Cells(codes, np.zeros(codes.shape, dtype=np.bool_), weight, cost, held)


def _alike(cells: Cells, hidden: np.ndarray, k: int) -> bool:
    """Whether k rows of the table agree with each combination where it is not blanked."""
    for place, own in enumerate(hidden):
        same = (cells.codes[:, ~own] == cells.codes[place, ~own]).all(axis=1)
        if cells.rows[same].sum() < k:
            return False
    return True


@pytest.mark.slow
@given(TABLES, st.integers(2, 3), st.sampled_from([None, 0, 1, 2]))
def test_no_other_choice_of_cells_costs_less(rows, k, limit):
    """All choices of all sets of columns are tried, also where a column has a limit."""
    cells = _cells(rows, (1.0, 1.5, 2.0))
    if cells.rows.sum() < k:
        return
    sets = np.array(list(product([False, True], repeat=3)))
    best = np.inf
    for chosen in product(range(8), repeat=len(rows)):
        hidden = sets[list(chosen)]
        cost = float(cells.rows @ (hidden @ np.array(cells.cost)))
        within = limit is None or (hidden[:, 0] @ cells.rows) <= limit
        if cost < best and within and _alike(cells, hidden, k):
            best = cost
    if not np.isfinite(best):
        with pytest.raises(InfeasibleError, match="limits"):
            cells.blanked_by_match(k, [limit, None, None])
        return
    found = cells.blanked_by_match(k, [limit, None, None])
    assert _alike(cells, found.hidden, k)
    assert found.cost == pytest.approx(best)
    assert found.least


@given(TABLES, st.integers(2, 4))
def test_as_a_value_of_its_own_k_rows_show_the_same(rows, k):
    """Published combinations, blanks included, have k rows; the bound is below the cost."""
    cells = _cells(rows)
    if cells.rows.sum() < k:
        return
    found = cells.blanked_by_value(k)
    shown = np.where(found.hidden, -1, cells.codes)
    label = np.unique(shown, axis=0, return_inverse=True)[1].reshape(-1)
    assert np.bincount(label, cells.rows).min() >= k
    assert found.bound <= found.cost + 1e-9


@pytest.mark.parametrize("missing", ["matches", "value"])
def test_the_release_keeps_what_it_promises_and_other_columns(missing):
    """Recounted by brute force on a table with values that were missing before."""
    frame = _people()
    roles = {"quasi_identifiers": KEYS, "sensitive": ("ill",), "person": "row"}
    made = _published(frame, roles, k=4, missing=missing)
    check_release(made.release)
    shown = _shown(made)
    assert sorted(shown["ill"]) == sorted(frame["ill"])
    if missing == "matches":
        assert _matches(shown, KEYS).min() >= 4
        assert made.release.guarantee.kind == "local-suppression"
        assert "NOT k-anonymity" in made.release.guarantee.statement
    else:
        assert shown.group_by(KEYS).len()["len"].min() >= 4
        assert made.release.guarantee.kind == "k-anonymity"
    for name in KEYS:
        kept = shown[name].drop_nulls().value_counts(sort=True)
        own = dict(frame[name].drop_nulls().value_counts().iter_rows())
        assert all(count <= own[value] for value, count in kept.iter_rows())


def test_persons_are_counted_where_they_have_several_rows():
    """Of each row, k different persons agree with it in all that it shows; by brute force."""
    frame = _people().with_columns(row=pl.Series(range(120)))
    roles = {"quasi_identifiers": KEYS, "person": "who", "keep": ("row",), "keep_unique": ("row",)}
    made = _published(frame, roles, k=4)
    shown = _shown(made).sort("row")
    for row in shown.select(KEYS).iter_rows(named=True):
        same = frame
        for name, value in row.items():
            if value is not None:
                same = same.filter(pl.col(name) == value)
        assert same["who"].n_unique() >= 4


def test_a_column_that_costs_more_is_blanked_less():
    """Importance moves blanks away from a column, and limits hold."""
    frame = _people()
    roles = {"quasi_identifiers": KEYS, "person": "row"}
    blanks = [
        _published(frame, roles, k=5, importance=cost).release.method["decision"]["blanked"]
        for cost in ({}, {"town": 9.0})
    ]
    assert blanks[1]["town"] < blanks[0]["town"]
    most = blanks[0]["town"] - 1
    limited = _published(frame, roles, k=5, limits={"town": most})
    assert limited.release.method["decision"]["blanked"]["town"] <= most


def test_a_row_that_stands_out_breaks_the_claim():
    """A planted row with a value of its own is told by the recount."""
    roles = {"quasi_identifiers": KEYS, "person": "row"}
    release = _published(_people(), roles, k=3).release
    frame = pl.DataFrame(release.table.to_arrow())
    odd = {name: pl.Series(["zz", *frame[name][1:]]) for name in KEYS}
    changed = frame.with_columns(**odd)
    (claim,) = release.guarantee.claims
    assert list(claim.breaches(release)) == []
    (told,) = claim.breaches(replace(release, table=published_rows(changed)))
    assert "rows show what fewer than 3 rows match in 'town', 'work', 'sex'" in told


def test_who_knows_a_blanked_value_finds_people_unless_blanks_are_values():
    """The prosecutor knows all columns: found is 1 of 4 at most where blanks are values."""
    frame = _people(300)
    roles = {"quasi_identifiers": KEYS, "person": "row"}
    plan = _plan(roles)
    found = {}
    for missing in ("matches", "value"):
        release = _published(frame, roles, k=4, missing=missing).release
        attack = attack_named("identification", targets=None)
        result = attack.run(release, frame, plan)
        found[missing] = result.success.value
    assert found["value"] <= 1 / 4
    assert found["value"] < found["matches"]


def test_every_measure_measures_it_or_says_why_not():
    """And a blanked cell is lost: the penalty is above nothing, and far from everything."""
    frame = _people(200)
    roles = {"quasi_identifiers": KEYS, "sensitive": ("ill",), "person": "row"}
    plan = _plan(roles)
    release = _published(frame, roles, k=6).release
    beside = Comparison(PublishedRows.of(release), People(frame, plan), Randomness.seeded(2))
    found = {one.name: one for one in measures() if one.refusal(beside) is None}
    for measure in found.values():
        assert all(np.isfinite(each.value) for each in measure.measure(beside))
    (penalty,) = found["normalized-certainty-penalty"].measure(beside)
    assert 0 < penalty.value < 0.3


@pytest.mark.parametrize(
    ("parameters", "error", "told"),
    [
        ({"k": 121}, InfeasibleError, "the largest k that it allows is 120"),
        ({"k": 3, "importance": {"twon": 2}}, PlanError, "importance names the column 'twon'"),
        ({"k": 3, "limits": {"ill": 2}}, PlanError, "which it cannot be about"),
        ({"k": 3, "limits": {"town": 2}, "missing": "value"}, PlanError, 'where missing = "mat'),
        ({"k": 9, "limits": dict.fromkeys(KEYS, 0)}, InfeasibleError, r"\[method\] limits"),
        ({"k": 20, "strata": ("ill",), "columns": ("ill",)}, PlanError, "no column that strata"),
        ({"k": 80, "strata": ("ill",)}, InfeasibleError, "strata of 'ill' have fewer than k = 80"),
    ],
)
def test_what_cannot_be_is_refused_with_the_way_out(parameters, error, told):
    """The key, the column and the remedy stand in the message."""
    roles = {"quasi_identifiers": KEYS, "sensitive": ("ill",), "person": "row"}
    with pytest.raises(error, match=told):
        _published(_people(), roles, **parameters)
