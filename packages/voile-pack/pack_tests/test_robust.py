"""Packings that keep each bin's probability of overload below a promise."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest

from voile.schema.numbers import ExactNumbers
from voile_base.errors import InputError
from voile_pack.distributions import Distributions
from voile_pack.instance import Stop
from voile_pack.parcels import Limit, ParcelMeasure, Use
from voile_pack.robust import RobustOutcome, _overload_bound, _overload_bounds


def noisy(values, scale, most=1000.0) -> Distributions:
    values = np.asarray(values, float)
    full = np.full(len(values), most)
    return Distributions(values, np.full(len(values), 1 / scale), np.zeros(len(values)), full)


def spread_of(share: float, count: int) -> float:
    """Six standard errors of a share of ``count`` draws: beyond with probability below 1e-8."""
    return 6 * np.sqrt(share * (1 - share) / count) + 1e-6


@pytest.mark.slow
@pytest.mark.parametrize(
    ("probability", "runs"),
    [
        (0.1, 40),
        pytest.param(0.2, 200, marks=pytest.mark.slow),
        pytest.param(0.02, 300, marks=pytest.mark.slow),
    ],
)
def test_robust_packings_keep_their_promise(probability, runs):
    """Many packings of 60 noisy parcels: bins are overloaded no more often than promised.

    True weights are drawn evenly, as the laws assume, and published with noise.  There are 9
    bins or so in a run; with the promised probability a false alarm has a probability below 1e-8.
    And the promise is not kept by waste: at least a twentieth of what is allowed does happen.
    """
    generator = np.random.default_rng(4)
    capacity, scale, overloaded, bins = 300.0, 8.0, 0, 0
    for _ in range(runs):
        true = generator.uniform(0, 60, 60)
        published = true + generator.laplace(0, scale, 60)
        laws = noisy(published, scale, 60.0)
        outcome = RobustOutcome.solve([laws], [capacity], probability, Stop.by_work(0.03))
        loads = np.bincount(outcome.packing.bin_of, true)
        overloaded += int((loads > capacity).sum())
        bins += len(loads)
        assert outcome.overload.max() <= probability
        assert outcome.lower_bound <= outcome.bins
    share = overloaded / bins
    assert probability / 20 < share <= probability + spread_of(probability, bins)


def test_planning_with_the_mean_breaks_the_promise():
    """The same parcels, planned with published values, overload far more bins than 2 %."""
    generator = np.random.default_rng(4)
    loads = []
    for _ in range(50):
        true = generator.uniform(0, 60, 60)
        published = true + generator.laplace(0, 8.0, 60)
        measure = ParcelMeasure("w", *(ExactNumbers.of(published + a) for a in (0, -9.6, 9.6)))
        planned = measure.plan(Limit(Decimal(300)), Use())
        order = np.argsort(-planned.units, kind="stable")
        bin_of, spaces = np.empty(60, np.int64), []
        for item in order:
            fitting = [b for b, space in enumerate(spaces) if space >= planned.units[item]]
            if not fitting:
                fitting, spaces = [len(spaces)], [*spaces, planned.capacity]
            bin_of[item] = fitting[0]
            spaces[fitting[0]] -= planned.units[item]
        loads += list(np.bincount(bin_of, true))
    assert np.mean(np.array(loads) > 300.0) > 0.2


@pytest.mark.slow
def test_robust_with_weight_and_volume():
    """Two measures share the probability; the check adds both."""
    generator = np.random.default_rng(6)
    weights = noisy(generator.uniform(0, 60, 50), 5.0, 100.0)
    volumes = Distributions.uniform(np.zeros(50), generator.uniform(1, 20, 50))
    outcome = RobustOutcome.solve([weights, volumes], [200.0, 80.0], 0.05, Stop.by_work(0.1))
    both = _overload_bounds(weights, outcome.packing.bin_of, 200.0) + _overload_bounds(
        volumes, outcome.packing.bin_of, 80.0
    )
    assert (both <= 0.05).all()
    assert outcome.overload == pytest.approx(both)


@pytest.mark.slow
def test_robust_lower_bound_is_below_every_packing_that_keeps_the_promise():
    """For small cases all partitions are tried: none that keeps the promise beats the bound."""
    generator = np.random.default_rng(8)

    def partitions(items):
        if not items:
            yield []
            return
        for rest in partitions(items[1:]):
            for place in range(len(rest)):
                yield [*rest[:place], [items[0], *rest[place]], *rest[place + 1 :]]
            yield [[items[0]], *rest]

    for _ in range(5):
        low = generator.uniform(5, 40, 6)
        laws = Distributions.uniform(low, low + generator.uniform(1, 30, 6))
        outcome = RobustOutcome.solve([laws], [90.0], 0.1, Stop.by_work(0.1))
        keeping = [
            len(groups)
            for groups in partitions(list(range(6)))
            if all(_overload_bound(laws[np.array(g)], 90.0) <= 0.1 for g in groups)
        ]
        assert outcome.lower_bound <= min(keeping) <= outcome.bins


def test_robust_refusals():
    """A parcel too uncertain for a bin of its own, and probabilities that are none."""
    wide = Distributions.uniform(np.array([0.0, 0.0]), np.array([1.0, 100.0]))
    with pytest.raises(InputError, match=r"1 parcels would overload .* item 2"):
        RobustOutcome.solve([wide], [50.0], 0.1)
    for probability in (0.0, 1.0, float("nan")):
        with pytest.raises(InputError, match="between 0 and 1"):
            RobustOutcome.solve([wide], [500.0], probability)
