"""What the M-Shuffle benchmark measures is what it says."""

import numpy as np
import polars as pl
import pytest

import voile
from benchmarks import shuffle_claims, shuffle_curves, shuffle_figure, shuffle_starts
from benchmarks.shuffle_curves import CLUSTERS, COLUMNS, Coded, Point
from voile.models.permutation import whole_column_log_probability

pytestmark = pytest.mark.slow

NAMES = [f"column {number}" for number in range(6)]


@pytest.fixture(scope="module")
def frame():
    """Sixty people; six columns, the first tied to their pay."""
    draws = np.random.default_rng(3)
    pay = draws.integers(0, 12, 60)
    columns = {name: draws.integers(0, 5, 60) for name in NAMES}
    columns[NAMES[0]] = pay // 3 + draws.integers(0, 2, 60)
    return pl.DataFrame({**columns, "pay": pay})


@pytest.fixture(scope="module")
def points(frame):
    """One release for each K and M."""
    return list(shuffle_curves.measured(frame, "pay", NAMES, draws=1))


def test_divergences_are_those_of_the_automatic_choice(frame):
    """What the publisher reports of a choice is the entry of its K and M, for three limits."""
    table = voile.open_frame(frame, shuffle_curves.plan_of(frame, "pay"))
    coded = Coded.of(frame, "pay")
    for most in (-60, -150, -250):
        method = voile.MShuffle(max_divergence=9, max_log_probability=most, tie_threshold=1)
        decision = method.prepare(table, voile.Randomness.seeded(1)).private.decision
        curve = coded.divergences(decision["permuted"])[decision["clusters"] - 1, -1]
        assert curve == pytest.approx(decision["divergence"], abs=1e-9)


def test_releases_have_what_no_draw_changes(frame, points):
    """Columns keep their distribution in clusters; P_table is linear; all K and M are there."""
    assert [(p.clusters, p.number) for p in points] == [(k, m) for k in CLUSTERS for m in COLUMNS]
    for point in points:
        assert point.of_columns == 0
        paper = point.number * whole_column_log_probability(60)
        assert point.paper_log_probability == pytest.approx(paper)
        assert paper < point.log_probability < 0
        assert 0 < point.jensen_shannon[0] <= np.log(2)
        assert point.kullback_leibler[0] > 0


def test_a_column_that_moves_between_clusters_is_seen(frame):
    """Where a column is permuted over all rows, its distribution in clusters is another."""
    clusters = Coded.of(frame, "pay").segments.labels(3)[frame["pay"].to_numpy()] + 1
    shown = frame.with_columns(pl.Series("group", clusters), pl.col(NAMES[0]).reverse())
    of_columns = shuffle_curves._of_columns(frame, shown, "pay", NAMES[:1])
    whole, *within = of_columns
    assert whole == 0
    assert len(within) == 3
    assert max(within) > 0.01


@pytest.mark.slow
def test_rows_come_back_whole_as_often_as_is_said(frame):
    """Over 150 releases the share of whole rows is near the chance; four standard errors.

    A false alarm has a probability below 1e-4; twice the chance would be told.
    """
    frame, names = frame.with_row_index("row"), NAMES[1:3]
    coded = Coded.of(frame, "pay")
    table = voile.open_frame(frame, shuffle_curves.plan_of(frame, "pay"))
    chance = shuffle_curves._chance(coded, names, 2)
    method = voile.MShuffle(clusters=2, columns=names)
    whole = []
    for seed in range(150):
        shown = method.publish(table, voile.Randomness.seeded(seed)).table.to_native()
        whole.append(frame.join(shown, on=frame.columns, how="semi").height / 60)
    error = np.std(whole) / np.sqrt(len(whole))
    assert abs(np.mean(whole) - chance) < 4 * error < chance / 2


def test_twelve_different_values_in_k_clusters_come_back_k_in_twelve():
    """Of twelve zip codes, K clusters of equal numbers of rows put K / 12 right."""
    frame = pl.DataFrame({"zip": range(12), "pay": [100 * (i // 3) + i for i in range(12)]})
    coded = Coded.of(frame, "pay")
    for clusters in (1, 2, 4):
        assert shuffle_curves._chance(coded, ["zip"], clusters) == pytest.approx(clusters / 12)


def test_a_start_that_cannot_miss_does_not_and_salaries_do():
    """Two far heaps are always found; of twelve salaries in four clusters most starts miss."""
    heaps = np.array([0.0, 1.0, 1000.0, 1001.0])
    found = shuffle_starts.from_random_starts(heaps, np.ones(4), [2], runs=20)
    assert [one.missed for one in found] == [0, 0]
    random, careful = shuffle_starts.from_random_starts(*shuffle_starts.salaries(), [4], runs=40)
    assert min(random.missed, careful.missed) > 20
    assert random.excess > 1


def test_claims_follow_the_numbers(frame, points):
    """Rising with K, falling with M and a column that diverges each refute their claim."""
    falling = np.linspace(2, 1, 6)[:, np.newaxis] + np.arange(6)
    small = [shuffle_claims.Small(50, np.zeros(6))]
    for expected, verdicts in (
        (falling, ("confirmed", "confirmed")),
        (falling[::-1], ("refuted", "confirmed")),
        (falling[:, ::-1], ("confirmed", "refuted")),
    ):
        curves = {"some": shuffle_figure.Curves(points, expected)}
        said = {
            judge: judge(curves).verdict
            for judge in (shuffle_claims._falls_with_clusters, shuffle_claims._rises_with_columns)
        }
        assert tuple(said.values()) == verdicts
    assert shuffle_claims._small(small).verdict == "confirmed"
    changed = Point(**{**vars(points[0]), "of_columns": 0.1})
    curves = {"some": shuffle_figure.Curves([*points, changed], falling)}
    assert shuffle_claims._columns(curves).verdict == "refuted"


@pytest.mark.slow
def test_the_figure_does_not_change_by_itself(points, tmp_path):
    """The same curves give the same bytes."""
    curves = shuffle_figure.Curves(points, np.ones((6, 6)))
    files = [tmp_path / "one" / "a.svg", tmp_path / "b.svg"]
    for file in files:
        shuffle_figure.draw(curves, curves, file)
    assert files[0].read_bytes() == files[1].read_bytes()
    assert b"clusters" in files[0].read_bytes()
