"""The probability of overload: laws of true numbers, and bounds on their sums.

Statistical tests draw from the laws themselves, by inverting distribution functions written here.
Each states its sample size; a true bound is rejected with probability below 1e-9.
"""

from __future__ import annotations

from math import comb, exp, factorial, floor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voile_base.errors import InputError
from voile_pack.distributions import Distributions, NoisyValues, PublishedNoise, _NoisyCluster
from voile_pack.robust import _overload_bound, _overload_bounds
from voile_testing.plugin import examples, some_slow

SAMPLE = 200_000


def noisy(values, scale, most=1000.0) -> Distributions:
    values = np.asarray(values, float)
    full = np.full(len(values), most)
    return Distributions(values, np.full(len(values), 1 / scale), np.zeros(len(values)), full)


def draw(laws: Distributions, count: int, generator: np.random.Generator) -> np.ndarray:
    """``count`` independent draws of all n numbers, (count, n), by inversion."""
    drawn = np.empty((count, len(laws)))
    for j in range(len(laws)):
        piece = generator.choice(len(laws.weight), count, p=laws.weight[:, j])
        centre, rate, least, most = (
            part[piece, j] for part in (laws.centre, laws.rate, laws.least, laws.most)
        )
        share = generator.random(count)
        flat = np.where(rate > 0, rate, 1.0)
        left = np.where(rate > 0, -np.expm1(-flat * (centre - least)), 0.0)
        right = np.where(rate > 0, -np.expm1(-flat * (most - centre)), 0.0)
        aim = share * (left + right) - left
        curved = centre - np.sign(aim) * np.log1p(-np.abs(aim)) / flat
        drawn[:, j] = np.where(rate > 0, curved, least + share * (most - least))
    return drawn


def spread_of(share: float, count: int) -> float:
    """Six standard errors of a share of ``count`` draws: beyond with probability below 1e-8."""
    return 6 * np.sqrt(share * (1 - share) / count) + 1e-6


CASES = {
    "one noisy": noisy([30.0], 20.0, 200.0),
    "noisy near zero": noisy([0.0, 3.0, 8.0, 200.0], 25.0),
    "many noisy": noisy(np.linspace(10, 400, 40), 60.0),
    "two intervals": Distributions.uniform(np.array([0.0, 5.0]), np.array([10.0, 9.0])),
    "intervals": Distributions.uniform(np.arange(12.0), np.arange(12.0) + 7),
    "mixtures": Distributions(
        centre=np.array([[5.0, 50.0, 80.0], [0.0, 0.0, 100.0], [0.0, 7.0, 0.0]]),
        rate=np.array([[0.3, 0.1, 0.05], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]),
        least=np.array([[0.0, 0.0, 0.0], [20.0, 90.0, 100.0], [0.0, 7.0, 0.0]]),
        most=np.array([[20.0, 90.0, 100.0], [90.0, 100.0, 200.0], [20.0, 7.0, 0.0]]),
        weight=np.array([[3.0, 1.0, 1.0], [1.0, 1.0, 2.0], [0.0, 1.0, 0.0]]),
    ),
}


@pytest.mark.parametrize("case", some_slow(CASES, {"many noisy"}))
def test_bounds_hold_and_are_tight(case):
    """200,000 draws: the bound is not below the share of overloads, nor above it by much."""
    laws = CASES[case]
    sums = draw(laws, SAMPLE, np.random.default_rng(1)).sum(axis=1)
    for aim in (0.5, 0.1, 0.01):
        capacity = float(np.quantile(sums, 1 - aim))
        share = float((sums > capacity).mean())
        bound = _overload_bound(laws, capacity)
        assert share - spread_of(share, SAMPLE) <= bound <= share + spread_of(share, SAMPLE) + 1e-4


@pytest.mark.slow
def test_a_wrong_scale_would_be_seen():
    """The same test rejects laws whose noise is 30 % narrower than what is drawn."""
    drawn = draw(CASES["many noisy"], SAMPLE, np.random.default_rng(1)).sum(axis=1)
    capacity = float(np.quantile(drawn, 0.95))
    wrong = noisy(np.linspace(10, 400, 40), 60.0 * 0.7)
    assert _overload_bound(wrong, capacity) < 0.05 - spread_of(0.05, SAMPLE)


@pytest.mark.parametrize("count", [2, 3, 7, 20])
def test_uniform_sums_are_exact(count):
    """Sums of uniform numbers follow the law of Irwin and Hall."""
    laws = Distributions.uniform(np.zeros(count), np.ones(count))
    for capacity in np.linspace(0.3, 0.8, 6) * count:
        below = sum(
            (-1) ** k * comb(count, k) * (capacity - k) ** count for k in range(floor(capacity) + 1)
        ) / factorial(count)
        bound = _overload_bound(laws, float(capacity))
        slack = 5e-4 if count == 2 else 1e-5
        assert 1 - below - 1e-9 <= bound <= 1 - below + slack


def test_certain_cases():
    """Numbers known exactly, limits out of reach, and no numbers at all."""
    exact = Distributions.exact(np.array([3.0, 4.0]))
    assert (_overload_bound(exact, 7.0), _overload_bound(exact, 6.5)) == (0.0, 1.0)
    assert _overload_bound(Distributions.uniform(np.zeros(3), np.ones(3)), 3.0) == 0.0
    assert _overload_bound(Distributions.uniform(np.ones(3), np.ones(3) + 1), 2.5) == 1.0
    assert _overload_bound(exact[np.array([], np.int64)], 1.0) == 0.0
    assert list(_overload_bounds(exact, np.array([0, 1]), 3.5)) == [0.0, 1.0]


def test_noise_on_a_grid_is_covered():
    """200,000 sums of discrete Laplace noise on a coarse grid stay below the bound."""
    step, scale, count = 5.0, 20.0, 6
    generator = np.random.default_rng(2)
    chance = 1 - exp(-step / scale)
    noise = generator.geometric(chance, (SAMPLE, count)) - generator.geometric(
        chance, (SAMPLE, count)
    )
    sums = 500.0 * count + step * noise.sum(axis=1)
    laws = Distributions(
        np.full(count, 500.0),
        np.full(count, 1 / scale),
        np.zeros(count),
        np.full(count, 1000.0),
        step=step,
    )
    for capacity in (3000.0, 3050.0, 3100.0, 3150.0):
        share = float((sums > capacity).mean())
        assert _overload_bound(laws, capacity) >= share - spread_of(share, SAMPLE)


@pytest.mark.slow
@given(
    st.floats(0, 100),
    st.floats(0.01, 3),
    st.floats(0, 50),
    st.floats(0.5, 60),
    st.floats(0.01, 0.99),
)
@settings(max_examples=examples(30))
def test_laws_agree_with_numerical_integrals(centre, rate, least, width, share):
    """Means, tails, quantiles and both transforms agree with sums over a fine grid."""
    laws = Distributions(*(np.array([x]) for x in (centre, rate, least, least + width)))
    grid = least + width * (np.arange(200_000) + 0.5) / 200_000
    density = np.exp(-rate * (np.abs(grid - centre) - np.abs(grid - centre).min()))
    density /= density.sum()
    mean = float(density @ grid)
    assert laws.mean[0] == pytest.approx(mean, rel=1e-4, abs=1e-4)
    limit = least + share * width
    assert laws.above(limit)[0] == pytest.approx(density[grid > limit].sum(), abs=1e-3)
    quantile = laws.quantile(share)
    assert laws.above(quantile)[0] == pytest.approx(1 - share, abs=1e-6)
    for tilt in (0.05, -0.05):
        moment = np.log(density @ np.exp(tilt * (grid - mean)))
        found = laws.log_moments(np.array([tilt]), np.array([mean]))
        assert found[0, 0] == pytest.approx(moment, abs=1e-4)
    transform = density @ np.exp(0.3j * (grid - mean))
    found = laws.transforms(np.array([0.3]), np.array([mean]))
    assert found[0, 0] == pytest.approx(transform, abs=1e-4)


def test_bad_laws_are_refused():
    """Limits in the wrong order, negative rates and infinite numbers are errors."""
    one = np.ones(1)
    for parts in [(one, one, 2 * one, one), (one, -one, one, one), (one, one, one, np.inf * one)]:
        with pytest.raises(InputError, match="distributions need"):
            Distributions(*parts)


CLUSTERS = PublishedNoise(
    clusters=(
        _NoisyCluster(20.0, 24.0, 0.5, 0.6, 0.2, (0.0, 30.0)),
        _NoisyCluster(40.0, 48.0, 0.3, 0.6, 0.2, (30.0, 90.0)),
        _NoisyCluster(90.0, 108.0, 0.2, 0.6, 0.2, (90.0, 200.0)),
    ),
    step=0.0,
)


def publish(count, generator) -> tuple[np.ndarray, NoisyValues]:
    """True values and what a release of ``CLUSTERS`` shows of them."""
    clusters = CLUSTERS.clusters
    borders = np.array([cluster.borders for cluster in clusters])
    own = generator.choice(3, count, p=[cluster.share for cluster in clusters])
    true = borders[own, 0] + generator.random(count) * (borders[own, 1] - borders[own, 0])
    stays = generator.random(count) < clusters[0].own / (clusters[0].own + 2 * clusters[0].other)
    drawn = np.where(stays, own, (own + generator.integers(1, 3, count)) % 3)
    start = np.clip(true, borders[drawn, 0], borders[drawn, 1])
    scale = np.array([cluster.scale for cluster in clusters])[drawn]
    half = np.array([cluster.half_width for cluster in clusters])[drawn]
    value = np.clip(start + generator.laplace(0, scale), 0, 200)
    ends = np.clip(value - half, 0, 200), np.clip(value + half, 0, 200)
    return true, NoisyValues(value, *ends)


@pytest.mark.slow
def test_posterior_laws_are_calibrated():
    """10,000 published values: true ones lie below every quantile of their laws as often as said.

    A false alarm has a probability below 1e-8 for each quantile.
    """
    count = 10_000
    true, shown = publish(count, np.random.default_rng(3))
    laws = shown.distributions(CLUSTERS, 1000.0)
    for share in (0.05, 0.3, 0.5, 0.8, 0.97):
        below = float((true <= laws.quantile(share)).mean())
        assert below == pytest.approx(share, abs=spread_of(share, count))
    assert laws.mean.mean() == pytest.approx(true.mean(), abs=6 * true.std() / np.sqrt(count))


def test_posterior_of_an_impossible_value():
    """Values whose true ones cannot fit into a bin are refused, by number."""
    shown = NoisyValues(np.array([150.0]), np.array([42.0]), np.array([200.0]))
    only = PublishedNoise((_NoisyCluster(90.0, 108.0, 1.0, 1.0, 0.0, (90.0, 200.0)),), 0.0)
    assert shown.distributions(only, 100.0).limits[1][0] == 100.0
    with pytest.raises(InputError, match="1 published values come from true ones beyond"):
        shown.distributions(only, 80.0)
