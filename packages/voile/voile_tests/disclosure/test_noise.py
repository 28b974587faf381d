"""How well noisy values fit known ones: against Bayes' rule, integrated step by step."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest

from voile.disclosure.noise import NoisyEvidence
from voile.disclosure.replaced import Cluster, Noisy
from voile_base.errors import TableError
from voile_tests.disclosure.sides import Knows, Shows

WIDE = Noisy(step=1, clusters=(Cluster(scale=4, half_width=6, share=1),))
TWO = Noisy(
    step=1,
    clusters=(
        Cluster(scale=2, half_width=3, share=0.5, low=0, high=20, own=0.9, other=0.2),
        Cluster(scale=5, half_width=8, share=0.5, low=20, high=60, own=0.8, other=0.1),
    ),
)


def shown(values, half_widths, limits=(-np.inf, np.inf), counts=None):
    """Cells with their intervals, cut short at limits."""
    value, half = np.array(values, float), np.array(half_widths, float)
    low, high = (np.clip(value + way * half, *limits) for way in (-1, 1))
    columns = {"pay": values, "pay.low": low.tolist(), "pay.high": high.tolist()}
    return Shows("pay", columns, counts)


def density(y, x, b, bounds=(-np.inf, np.inf)):
    """Of the law at y for noise around x, or the mass of a tail at a bound; equation 30."""
    height = 0.5 if y in bounds else 0.5 / b
    return height * np.exp(-np.abs(y - x) / b)


def integrated(function, low, high, parts=400_000):
    """By the midpoints of many parts."""
    at = low + (np.arange(parts) + 0.5) * (high - low) / parts
    return function(at).mean() * (high - low)


def test_without_bounds_it_is_equation_30():
    """(1 / 2b) exp(-|y - x| / b) for each pair, for values on the grid; missing ones fit none."""
    known = Knows([3, 10.4, 9.5, None])
    found = WIDE.evidence(known, shown([0, 7, 12], [6, 6, 6])).log_weights(slice(None))
    for target, x in enumerate((3, 10, 10)):
        expected = [np.log(density(y, x, 4)) for y in (0, 7, 12)]
        assert found[target] == pytest.approx(expected, abs=1e-12)
    assert (found[3] == -np.inf).all()


def test_some_targets_and_rows_are_weighed_as_among_all():
    """Whichever are asked for, in their order."""
    found = TWO.evidence(Knows([3, 30, 55]), shown([1, 25, 40, 7], [3, 8, 8, 3]))
    whole = found.log_weights(slice(None))
    assert found.log_weights(np.array([2, 0])) == pytest.approx(whole[[2, 0]])
    assert found.only(np.array([3, 1])).log_weights(slice(1, 3)) == pytest.approx(
        whole[1:3][:, [3, 1]]
    )
    assert found.half_width.tolist() == [3, 8, 8, 3]


@pytest.mark.parametrize("declared", [True, False], ids=["declared", "seen"])
def test_bounds_divide_by_what_anybody_would_show(declared):
    """Values are uniform between the bounds; at a bound a whole tail lies, and known ones are cut.

    Bounds are declared, or seen where intervals are cut short.
    """
    limits = (0.0, 30.0)
    bounds = (Decimal(0), Decimal(30)) if declared else None
    known, values = Knows([-4, 5, 30], bounds=bounds), [0, 2, 17, 30]
    found = WIDE.evidence(known, shown(values, [6] * 4, limits)).log_weights(slice(None))
    for row, y in enumerate(values):
        mean = integrated(lambda x, y=y: density(y, x, 4, limits), *limits)
        for target, x in enumerate((0, 5, 30)):
            expected = np.log(density(y, x, 4, limits) / mean)
            assert found[target, row] == pytest.approx(expected, abs=1e-4)


def test_bounds_are_seen_only_where_intervals_are_cut_short():
    """On one side, both or none."""
    for values, limits in (
        ([10, 20], (-np.inf, np.inf)),
        ([2, 20], (0.0, np.inf)),
        ([10, 28], (-np.inf, 30.0)),
        ([2, 28], (0.0, 30.0)),
    ):
        found = WIDE.evidence(Knows([1]), shown(values, [6, 6], limits))
        assert found.bounds == limits


def test_noise_as_good_as_none_is_a_step_wide_at_most():
    """A scale of 0 is taken for a 64th of a step, so that logarithms stay numbers."""
    still = Noisy(step=2, clusters=(Cluster(scale=0, half_width=6, share=1),))
    found = still.evidence(Knows([4]), shown([4, 6], [6, 6])).log_weights(slice(None))
    assert found[0, 0] - found[0, 1] == pytest.approx(64)


def shares(published):
    """The shares of values in both clusters that show rows so published: 10 : 30, solved by hand.

    s0 * 0.9 + s1 * 0.2 = p0 and s0 + s1 = 1.
    """
    first = (published[0] - 0.2) / 0.7
    return first, 1 - first


def test_borders_move_values_into_their_cluster():
    """Each law is averaged over where values lie, which cluster they draw and where it moves them.

    25 of 40 rows were published in the first cluster.
    """
    cells = shown([1, 9, 25, 70], [3, 3, 8, 8], counts=[15, 10, 10, 5])
    found = TWO.evidence(Knows([3, 18, 30, 59]), cells).log_weights(slice(None))
    ends, scales, chance = [(0, 20), (20, 60)], [2, 5], [[0.9, 0.1], [0.2, 0.8]]
    holds = shares((25 / 40, 15 / 40))
    for row, (y, cluster) in enumerate(((1, 0), (9, 0), (25, 1), (70, 1))):
        b = scales[cluster]

        def law(x, y=y, b=b, cluster=cluster):
            return density(y, np.clip(x, *ends[cluster]), b)

        mean = sum(
            holds[own] / (ends[own][1] - ends[own][0]) * chance[own][cluster]
            * integrated(law, *ends[own])
            for own in (0, 1)
        )  # fmt: skip
        for target, (x, own) in enumerate(((3, 0), (18, 0), (30, 1), (59, 1))):
            expected = np.log(chance[own][cluster] * law(x) / mean)
            assert found[target, row] == pytest.approx(expected, abs=1e-4)


def test_a_value_between_clusters_belongs_to_the_upper_one():
    """The border itself is where the next cluster begins."""
    cells = shown([1, 25], [3, 8], counts=[30, 30])
    found = TWO.evidence(Knows([19, 20, 21]), cells).log_weights(slice(None))
    # In the first cluster's rows all three start from at most 20, with other chances: .9 and .2.
    assert found[1, 0] - found[0, 0] == pytest.approx(np.log(0.2 / 0.9) - 19 / 2 + 18 / 2)
    assert found[2, 0] == pytest.approx(found[1, 0])


def test_one_cluster_with_borders_is_always_drawn():
    """Its own probability says nothing where there is no other."""
    laws = Noisy(
        step=1, clusters=(Cluster(scale=2, half_width=3, share=1, low=0, high=9, own=0.5),)
    )
    found = laws.evidence(Knows([4]), shown([4, 20], [3, 3])).log_weights(slice(None))
    for row, y in enumerate((4, 20)):
        mean = integrated(lambda x, y=y: density(y, x, 2), 0, 9) / 9
        assert found[0, row] == pytest.approx(np.log(density(y, 4, 2) / mean), abs=1e-4)


def test_rows_of_several_clusters_add_up_their_laws():
    """Where both sides of an interval are cut short, every cluster that is wide enough is possible.

    One that reaches 3 to each side is not, where the interval reaches 5; of the two that are, the
    wider one says how far it may reach.
    """
    laws = Noisy(
        step=1,
        clusters=tuple(
            Cluster(scale=b, half_width=w, share=0.3) for b, w in ((1, 3), (4, 20), (9, 25))
        ),
    )
    cells = shown([5, 2], [20, 3], (0.0, 10.0))
    limits = (Decimal(0), Decimal(10))
    found = laws.evidence(Knows([6], bounds=limits), cells)
    assert found.fits.tolist() == [[False, True, True], [True, False, False]]
    assert found.half_width.tolist() == [25, 3]
    likely = sum(density(5, 6, b) for b in (4, 9))
    mean = sum(integrated(lambda x, b=b: density(5, x, b), 0, 10) for b in (4, 9))
    assert found.log_weights(slice(None))[0, 0] == pytest.approx(np.log(likely / mean), abs=1e-4)


def test_clusters_are_told_apart_by_half_a_step():
    """An interval may be off by rounding, and no more; one that fits none was changed."""
    two = Noisy(
        step=1, clusters=tuple(Cluster(scale=w, half_width=w, share=0.5) for w in (3.0, 8.0))
    )
    cells = shown([0, 0, 50, -50], [3.5, 7.5, 8, 8])
    assert two.evidence(Knows([0]), cells).fits.tolist() == [
        [True, False], [False, True], [False, True], [False, True],
    ]  # fmt: skip
    for strange in ([3.6, 8, 8], [7.4, 8, 8], [9, 8, 8]):
        cells = shown([0, 50, -50], strange)
        with pytest.raises(TableError, match="'pay': its intervals are not those"):
            two.evidence(Knows([0]), cells)


def test_intervals_may_be_in_texts():
    """The same evidence as from two columns."""
    texts = WIDE.with_intervals_as_text()
    cells = Shows("pay", {"pay": [0, 7], "pay.interval": ["[-6, 6]", "[1, 13]"]})
    found = texts.evidence(Knows([3]), cells).log_weights(slice(None))
    plain = WIDE.evidence(Knows([3]), shown([0, 7], [6, 6])).log_weights(slice(None))
    assert found == pytest.approx(plain)


def test_stated_clamps_are_bounds_that_nobody_has_to_declare():
    """Those that somebody declares come first."""
    clamped = WIDE.model_copy(update={"clamp": (0.0, 30.4)})
    cells = shown([10, 20], [6, 6])
    assert isinstance(clamped.evidence(Knows([1]), cells), NoisyEvidence)
    assert clamped.evidence(Knows([1]), cells).bounds == (0, 30)
    declared = Knows([1], bounds=(Decimal(-5), Decimal(40)))
    assert clamped.evidence(declared, cells).bounds == (-5, 40)
