"""What the figures of the papers are computed with: the naive algorithm, routes, parcels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from benchmarks.data import NotHereError
from benchmarks.incremental_speed import Step
from benchmarks.papers import bin_packing, incremental_ke, trajectories
from benchmarks.parcel_results import Results
from voile.publish.ke_anonymity.searches import exact_blocks, optimal_blocks
from voile_testing.plugin import examples


@given(
    old=st.lists(st.integers(0, 25), min_size=3, max_size=9),
    fresh=st.lists(st.integers(0, 25), min_size=1, max_size=6),
)
def test_the_naive_algorithm_costs_what_the_exact_search_does(
    old: list[int], fresh: list[int]
) -> None:
    """Both are the optimum against all releases; the naive one may also split equal values."""
    k, e = 2, 3
    values = np.unique(old)
    blocks = optimal_blocks(values, k, e)
    assume(blocks is not None)
    borders = np.column_stack((values[blocks[:, 0]], values[blocks[:, 1] - 1]))
    step = Step(k, e, np.array(old), np.array(fresh), borders)
    naive = incremental_ke.naive_blocks(step, [borders])
    both, new, at = step.counts
    births = np.array([np.isin(both, old), new])
    found = exact_blocks(both, births, [at], k, e)
    assert (naive is None) == (found is None) or found is None
    if naive is not None and found is not None:
        exact = sum(int(both[j - 1] - both[i]) for i, j in found.tolist())
        assert sum(high - low for low, high in naive) <= exact


def test_pairs_that_the_overlap_test_discards_are_counted_by_rows() -> None:
    """Of 15 pairs of five rows, those that split {10, 20, 20, 30} strictly are discarded."""
    step = Step(2, 5, np.array([10, 20, 20, 30]), np.array([15]), np.array([[10, 30]]))
    rows = sorted([10, 20, 20, 30, 15])
    refused = sum(low > 10 and high < 30 for i, low in enumerate(rows) for high in rows[i:])
    assert incremental_ke.discarded(step) == pytest.approx(refused / 15)


def test_routes_follow_the_streets_of_paris() -> None:
    """Reports are 30 s of driving apart at most, and lie on streets."""
    try:
        roads = trajectories.paris()
    except NotHereError as reason:
        pytest.skip(str(reason))
    points = trajectories.route(roads, 1)
    steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
    assert steps.max() <= trajectories.EVERY * trajectories.SPEED + 1e-6
    assert 3_000 < steps.sum() < 30_000


def test_an_instance_of_figure_5_is_a_table_published_whole() -> None:
    """Algorithm 1 on a sample: rows are left out by suppression alone, and bins hold upper ends."""
    figure = bin_packing.FIGURES_OF[0]
    few = bin_packing._Figure(figure.label, "k", figure.make, (0,), ("mean", "upper"))
    parcels = next(bin_packing._instances(few, "II", 1))
    runs = Results(
        [
            bin_packing._run(few, "0", "II", 2, few.make(0), parcels, number)
            for number in range(examples(5))
        ]
    )
    assert runs.feasible("upper") == 1
    assert 0.3 < runs.share <= 1
