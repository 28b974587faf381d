"""Measures of survey microdata, held against plain formulas and another library's regressions."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from scipy.stats import wasserstein_distance
from sklearn.linear_model import LinearRegression, LogisticRegression

from voile.publish.microaggregation import Microaggregation
from voile.release.reading import People, PublishedRows
from voile.schema.plan import parse_plan
from voile.table.opening import open_frame
from voile.utility import protocol, survey
from voile.utility.aggregate_queries import _Query, _Table
from voile.utility.covering import coverings
from voile.utility.protocol import Comparison, measure_named, sampled_rows
from voile.utility.survey import _logistic
from voile_base.randomness import Randomness
from voile_tests.attack.by_definition import release_of


def _people(rows: int = 150) -> pl.DataFrame:
    draws = np.random.default_rng(8)
    wage = draws.lognormal(8, 0.4, rows).round()
    return pl.DataFrame(
        {
            "id": np.arange(rows),
            "wage": wage,
            "rent": (wage * draws.uniform(0.2, 0.4, rows)).round(),
            "town": draws.choice(["a", "b", "c"], rows),
            "w": draws.integers(5, 50, rows),
        }
    )


def _compared(k: int = 5, keep: tuple[str, ...] = ("id", "w")) -> tuple[Comparison, pl.DataFrame]:
    """A release with averaged wages, and its rows in the order of the original."""
    roles = {"quasi_identifiers": ["wage"], "sensitive": ["rent"], "keep": ["town", *keep]}
    if "id" in keep:
        roles["keep_unique"] = ["id"]
    if "w" in keep:
        roles["weight"] = "w"
    plan = parse_plan({"roles": {"person": "row", **roles}})
    frame = _people()
    release = Microaggregation(k=k, columns=("wage",)).publish(
        open_frame(frame, plan), Randomness.seeded(1)
    )
    shown = pl.DataFrame(release.table.to_arrow())
    if "id" in keep:
        shown = shown.sort("id")
    original = People(frame, plan)
    return Comparison(PublishedRows.of(release), original, Randomness.seeded(2)), shown


def _measured(comparison: Comparison, name: str):
    measure = measure_named(name)
    assert measure.refusal(comparison) is None
    return measure.measure(comparison)


def _of_many(monkeypatch: pytest.MonkeyPatch, rows: int) -> None:
    """Take tables of more than so many rows for large ones."""
    for module in (protocol, survey):
        monkeypatch.setattr(module, "MOST_ROWS", rows)


@pytest.mark.parametrize("keep", [("id",), ("id", "w")])
def test_regressions_of_large_tables_are_those_of_all_rows(
    monkeypatch: pytest.MonkeyPatch, keep: tuple[str, ...]
) -> None:
    """Sums of products over blocks of rows give what the rows give at once, weighted or not."""
    comparison, _ = _compared(keep=keep)
    (whole,) = _measured(comparison, "interval-overlap")
    _of_many(monkeypatch, 60)
    monkeypatch.setattr(survey, "_BLOCK", 32)
    (counted,) = _measured(comparison, "interval-overlap")
    assert counted.value == pytest.approx(whole.value, rel=1e-9)
    assert counted.parts == pytest.approx(whole.parts, rel=1e-9)
    assert counted.notes == whole.notes


def test_propensity_scores_of_large_tables_state_their_sample(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """How many rows of how many, and what as few rows bring by chance; small tables have none."""
    comparison, _ = _compared(keep=("id",))
    assert sampled_rows(comparison) is protocol.EVERY_ROW
    assert not any("sample" in note for one in _measured(comparison, "propensity-score")
                   for note in one.notes)  # fmt: skip
    _of_many(monkeypatch, 100)
    before, after = sampled_rows(comparison)
    again = sampled_rows(comparison)
    for side, other in zip((before, after), again, strict=True):
        assert isinstance(side, np.ndarray)
        assert len(np.unique(side)) == 100
        assert (side == other).all(), "every measure sees the same rows"
    for one in _measured(comparison, "propensity-score"):
        assert "100 of 150 original rows and 100 of 150 published ones" in one.notes[0]
        assert "by chance" in one.notes[1] or "chance alone" in one.notes[1]
    whole = _measured(comparison, "propensity-score")[0]
    assert whole.parts["expected by chance"] == pytest.approx(
        (_coefficients(comparison) - 1) / 8 / 200, rel=1e-12
    )


def test_rows_of_which_a_block_stands_at_a_time_are_those_of_the_whole_matrix() -> None:
    """Rows, products with a vector and weighted sums, of a sample of both sides."""
    comparison, _ = _compared()
    some = np.array([3, 1, 4, 1]), np.array([5, 9, 2])
    found = survey._features(comparison)
    whole, heights = survey._design(found, some)
    coded = survey._CodedDesign.of(found, some)
    draws = np.random.default_rng(2)
    vector, weight = draws.normal(size=whole.shape[1]), draws.uniform(size=7)
    assert list(coded.heights) == heights
    np.testing.assert_array_equal(np.vstack([coded[:5], coded[5:9]]), whole)
    np.testing.assert_allclose(coded @ vector, whole @ vector)
    np.testing.assert_allclose(coded.sums(weight), whole.T @ weight)


def _coefficients(comparison: Comparison) -> int:
    """Of the regression that tells rows apart."""
    design, _ = survey._design(survey._features(comparison), sampled_rows(comparison))
    return int(np.linalg.matrix_rank(design))


def test_il1s_is_the_mean_distance_of_paired_rows() -> None:
    """Rows that a published number tells apart are paired by it, and by nothing else."""
    comparison, shown = _compared()
    frame = _people()
    (found,) = _measured(comparison, "il1s")
    own, published = frame["wage"].to_numpy(), shown["wage"].to_numpy()
    expected = np.abs(own - published).mean() / (np.sqrt(2) * own.std(ddof=1))
    assert found.parts["wage"] == pytest.approx(expected, rel=1e-12)
    assert found.parts["rent"] == 0
    assert "100%" in found.notes[0]


def test_il1s_without_a_key_is_no_more_than_the_loss_of_any_pairing() -> None:
    """Pairs in the order of the numbers lose the least."""
    (with_key,) = _measured(_compared()[0], "il1s")
    (without,) = _measured(_compared(keep=())[0], "il1s")
    assert 0 < without.parts["wage"] <= with_key.parts["wage"]


def test_eigenvalues_are_those_of_the_weighted_covariances() -> None:
    """Held against numpy's covariance of rows repeated as often as they weigh."""
    comparison, shown = _compared()
    (found,) = _measured(comparison, "eigenvalue-ratio")
    frame = _people()
    names = ["id", "wage", "rent"]
    own = frame.select(names).to_numpy().astype(float)
    middle, spread = own.mean(axis=0), own.std(axis=0)
    ratios = []
    for side in (frame, shown):
        rows = (side.select(names).to_numpy().astype(float) - middle) / spread
        repeated = np.repeat(rows, side["w"].to_numpy(), axis=0)
        matrix = np.cov(repeated.T, bias=True)
        ratios.append(np.sort(np.linalg.eigvalsh(matrix))[::-1])
    expected = ratios[1] / ratios[0]
    assert list(found.parts.values()) == pytest.approx(expected.tolist(), rel=1e-2)
    assert found.value == pytest.approx(np.abs(1 - expected).mean(), abs=2e-3)


def test_a_release_of_one_row_has_no_variance_left() -> None:
    """Each eigenvalue is lost whole, with weights and without."""
    comparison, _ = _compared()
    for weighed in ((), ("w",)):
        first = release_of(
            _people().head(1).select("wage", "rent", *weighed), known=["wage"], sensitive=["rent"]
        )
        (found,) = _measured(
            replace(comparison, published=PublishedRows.of(first)), "eigenvalue-ratio"
        )
        assert found.value == pytest.approx(1)


def test_hellinger_is_that_of_the_two_distributions() -> None:
    """A column as it is has none; averaged wages have that of their bins."""
    comparison, _ = _compared()
    (found,) = _measured(comparison, "hellinger")
    assert found.parts["rent"] == pytest.approx(0, abs=1e-7)
    assert found.parts["town"] == pytest.approx(0, abs=1e-7)
    assert 0 < found.parts["wage"] < 0.5


def test_scores_are_those_of_another_librarys_regression() -> None:
    """Fitted probabilities equal scikit-learn's without a penalty, weighted too."""
    draws = np.random.default_rng(3)
    rows = draws.normal(size=(200, 3))
    target = (rows[:, 0] + draws.normal(size=200) > 0).astype(float)
    weight = draws.uniform(0.5, 2, 200)
    ours, rank = _logistic(np.hstack([np.ones((200, 1)), rows]), target, weight)
    fitted = LogisticRegression(C=1e12, tol=1e-10, max_iter=1000).fit(rows, target, weight)
    assert rank == 4
    assert ours == pytest.approx(fitted.predict_proba(rows)[:, 1], abs=1e-5)


def test_a_further_column_that_says_the_same_adds_no_coefficient() -> None:
    """Columns that follow from others count for nothing."""
    rows = np.random.default_rng(4).normal(size=(80, 2))
    design = np.hstack([np.ones((80, 1)), rows, rows[:, :1] * 2])
    assert _logistic(design, (rows[:, 0] > 0.1).astype(float), np.ones(80))[1] == 3


def test_the_ratio_of_pmse_is_about_one_for_rows_drawn_from_the_original() -> None:
    """200 pairs: the mean lies within four standard errors of 1; moved rows do not."""
    draws = np.random.default_rng(6)

    def ratio(moved: float) -> float:
        own = draws.normal(size=(100, 3))
        both = np.vstack([own, own[draws.integers(0, 100, 100)] + moved])
        design = np.hstack([np.ones((200, 1)), both])
        of_release = np.repeat([0.0, 1.0], 100)
        score, k = _logistic(design, of_release, np.ones(200))
        return float(((score - 0.5) ** 2).mean() / ((k - 1) * 0.125 / 200))

    found = [ratio(0.0) for _ in range(200)]
    error = np.std(found) / np.sqrt(200)
    assert abs(np.mean(found) - 1) < 4 * error
    assert np.mean([ratio(0.3) for _ in range(50)]) > 1 + 10 * error


def test_overlaps_are_those_of_least_squares() -> None:
    """Intervals of scikit-learn's coefficients with the usual errors, overlapped by hand."""
    comparison, shown = _compared(keep=("id",))
    (found,) = _measured(comparison, "interval-overlap")
    frame = _people()
    towns = [town for town, _ in sorted(
        frame["town"].value_counts().rows(), key=lambda pair: (-pair[1], pair[0]))][1:]  # fmt: skip
    intervals = []
    for side in (frame, shown):
        columns = [side["id"], side["wage"], *[(side["town"] == town) for town in towns]]
        rows = np.stack([column.cast(float).to_numpy() for column in columns], axis=1)
        target = side["rent"].to_numpy()
        fit = LinearRegression().fit(rows, target)
        whole = np.hstack([np.ones((len(rows), 1)), rows])
        residual = target - fit.predict(rows)
        variance = residual @ residual / (len(rows) - whole.shape[1])
        errors = np.sqrt(variance * np.diag(np.linalg.inv(whole.T @ whole)))[1:]
        intervals.append((fit.coef_ - 1.959964 * errors, fit.coef_ + 1.959964 * errors))
    low = np.maximum(intervals[0][0], intervals[1][0])
    high = np.minimum(intervals[0][1], intervals[1][1])
    shares = [(high - low) / (right - left) for left, right in intervals]
    expected = np.clip(np.mean(shares, axis=0), 0, 1).mean()
    assert found.parts["rent"] == pytest.approx(expected, rel=1e-5)


def test_totals_and_their_errors_are_those_of_the_formula() -> None:
    """Weighted totals before and after, and the error of sampling with replacement."""
    comparison, shown = _compared()
    (found,) = _measured(comparison, "weighted-totals")
    frame = _people()
    each = (frame["wage"] * frame["w"]).to_numpy()
    n = len(each)
    error = np.sqrt(n / (n - 1) * ((each - each.mean()) ** 2).sum())
    after = float((shown["wage"] * shown["w"]).sum())
    assert found.parts["wage"] == pytest.approx(abs(after - each.sum()) / error, rel=1e-9)
    assert found.parts["rent"] == 0
    assert any("'wage'" in note and "standard error" in note for note in found.notes)


def test_totals_without_published_weights_are_refused_with_the_way_out() -> None:
    """And so are weights that are none: zero, negative or missing."""
    comparison, _ = _compared(keep=("id",))
    why = measure_named("weighted-totals").refusal(comparison)
    assert why is not None
    assert "[roles] weight" in why
    weighed, _ = _compared()
    frame = weighed.original.frame
    for wrong in (0, -3, None):
        bad = frame.with_columns(w=pl.when(pl.int_range(pl.len()) == 0).then(wrong).otherwise("w"))
        people = People(bad, weighed.original.plan)
        assert measure_named("weighted-totals").refusal(replace(weighed, original=people))


def _swapped(weight: int | None) -> tuple[Comparison, pl.DataFrame, pl.DataFrame]:
    """Towns and wages of other rows, all with one weight or, None, with their own."""
    frame = _people().drop("id").with_columns(town="rent").with_columns(pl.col("town") // 700)
    frame = frame if weight is None else frame.with_columns(w=pl.lit(weight))
    shown = frame.with_columns(pl.col("town", "wage").gather([*range(20, 150), *range(20)]))
    roles = {"quasi_identifiers": ["town", "wage"], "sensitive": ["rent"], "keep": ["w"]}
    plan = parse_plan({"roles": {"person": "row", "weight": "w", **roles}})
    release = release_of(shown.to_dict(as_series=False), known=("town", "wage"))
    people = People(frame, plan)
    return Comparison(PublishedRows.of(release), people, Randomness.seeded(2)), frame, shown


def _repeated(frame: pl.DataFrame) -> pl.DataFrame:
    """Each row as often as it weighs."""
    return frame.select(pl.all().repeat_by("w")).explode(pl.all())


def test_correlations_are_those_of_rows_repeated_as_often_as_they_weigh() -> None:
    """The distance of two coefficients, each by numpy."""
    comparison, frame, shown = _swapped(None)
    (found,) = _measured(comparison, "correlation-distance")
    before, after = (
        np.corrcoef(_repeated(side).select("wage", "town").to_numpy().T.astype(float))[0, 1]
        for side in (frame, shown)
    )
    assert found.parts["wage, town"] == pytest.approx(abs(before - after), rel=1e-9)
    assert "rows count by their sampling weights" in found.notes


@pytest.mark.slow
def test_queries_count_people_and_not_rows() -> None:
    """One weight for all changes no relative error; weights of their own do."""
    alike, once = (_measured(_swapped(weight)[0], "query-error") for weight in (7, 1))
    own = _measured(_swapped(None)[0], "query-error")
    for seven, one, other in zip(alike, once, own, strict=True):
        assert seven.value == pytest.approx(one.value, rel=1e-9)
        assert seven.useless == pytest.approx(one.useless, rel=1e-9)
        assert other.value != pytest.approx(one.value, rel=1e-3)
        assert "rows count by their sampling weights" in other.notes


def test_a_weighted_table_answers_as_its_rows_repeated() -> None:
    """COUNT, SUM and AVG of one query."""
    comparison, frame, _ = _swapped(None)
    columns = coverings(comparison, ["town", "wage", "rent"])
    table = replace(_Table.original(columns, "rent"), people=frame["w"].to_numpy().astype(float))
    town = columns["town"].values.numbers
    assert town is not None
    chosen = np.arange(len(columns["town"].values)) < 1
    found = table.answers(_Query({"town": chosen}, {"town": chosen}))
    rows = _repeated(frame.filter(pl.col("town") == pl.col("town").min()))
    assert found["COUNT"] == pytest.approx(rows.height)
    assert found["SUM"] == pytest.approx(rows["rent"].sum())
    assert found["AVG"] == pytest.approx(rows["rent"].mean())


def test_marginals_are_those_of_rows_repeated_as_often_as_they_weigh() -> None:
    """Total variation and Wasserstein of a column, and total variation of a pair, by hand."""
    comparison, frame, shown = _swapped(None)
    marginal = {one.measure: one for one in _measured(comparison, "marginal-divergence")}
    (pair, *_) = _measured(comparison, "pair-divergence")
    town = [_repeated(side)["town"].to_numpy() for side in (frame, shown)]
    values = np.unique(town[0])
    shares = [np.array([(side == value).mean() for value in values]) for side in town]
    assert len(values) <= 10
    expected = np.abs(shares[0] - shares[1]).sum() / 2
    assert expected > 0.01
    assert marginal["marginal-total-variation"].parts["town"] == pytest.approx(expected, rel=1e-9)
    moved = wasserstein_distance(values, values, *shares) / np.ptp(values)
    assert marginal["marginal-wasserstein"].parts["town"] == pytest.approx(moved, rel=1e-9)
    assert pair.parts["wage, town"] >= expected - 1e-12
    for one in (*marginal.values(), pair):
        assert "rows count by their sampling weights" in one.notes
