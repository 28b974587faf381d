"""Publishing with Laplace noise within clusters."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import kstest, laplace

import voile
from voile.dp.exact import uniform_words
from voile.publish.clustered_laplace import ClusteredLaplace
from voile.publish.clustered_laplace.decision import ColumnTerms
from voile.release.release import Publication
from voile.schema.numbers import ExactNumbers
from voile.table.summaries import ValueCounts
from voile_base.errors import InfeasibleError, PlanError
from voile_base.randomness import Randomness
from voile_testing.plugin import examples


def published(
    weights: Sequence[float] | NDArray[np.float64],
    declared: tuple[int, int] | None = None,
    **parameters: Any,
) -> Publication:
    """A release of one column of weights, made with a seed; ``declared`` are its public bounds."""
    columns = {"weight": voile.ColumnPlan(bounds=declared)} if declared else {}
    plan = voile.Plan(roles=voile.Roles(quasi_identifiers=("weight",)), columns=columns)
    table = voile.open_frame(pl.DataFrame({"weight": weights}), plan)
    return ClusteredLaplace(**parameters).prepare(table, Randomness.seeded(5))


@pytest.mark.slow
def test_noise_has_the_stated_law() -> None:
    """Noise in 20,000 rows is Laplace of scale range / epsilon, and of no scale 30 % off.

    Kolmogorov-Smirnov; false-alarm rate 1e-4.
    """
    weights = np.tile([0.0, 10.0], 10_000)
    frame = published(weights, epsilon=2, shares=[1.0], bounds="data")
    noisy = np.sort(frame.release.to_native()["weight"].to_numpy())
    # Half of the rows start at 0 and half at 10.
    law = lambda x, s: (laplace.cdf(x, 0, s) + laplace.cdf(x, 10, s)) / 2  # noqa: E731
    assert kstest(noisy, lambda x: law(x, 5.0)).pvalue > 1e-4
    for wrong in (5.0 * 0.7, 5.0 * 1.3):
        assert kstest(noisy, lambda x, s=wrong: law(x, s)).pvalue < 1e-4


def test_intervals_hold_their_values_with_the_stated_confidence() -> None:
    """Of 20,000 intervals at 70 %, 70 % hold the value; 4.5 standard deviations of room."""
    weights = np.repeat([0.0, 10.0], 10_000)
    plan = voile.Plan(roles=voile.Roles(quasi_identifiers=("weight",), keep=("true",)))
    table = voile.open_frame(pl.DataFrame({"weight": weights, "true": weights}), plan)
    method = ClusteredLaplace(epsilon=1, shares=[1.0], confidence=0.7, bounds="data")
    frame = method.publish(table, Randomness.seeded(3)).to_native()
    inside = frame["true"].is_between(frame["weight.low"], frame["weight.high"]).mean()
    assert abs(inside - 0.7) < 4.5 * np.sqrt(0.7 * 0.3 / 20_000)


@settings(max_examples=examples(40))
@given(
    st.lists(st.integers(0, 100), min_size=2, max_size=12, unique=True).map(sorted),
    st.decimals("0.1", "12", places=1),
    st.integers(1, 5),
)
def test_what_a_row_shows_keeps_to_its_budget(
    values: list[int], epsilon: Decimal, clusters: int
) -> None:
    """Between any two values of a row, the cluster drawn and the noise cost epsilon at most.

    Exactly: the largest ratio of the probabilities of a cluster, and the largest difference of
    two starts in steps over the scale of the noise, from what the engine is given.
    """
    shares = (Decimal(1) / 5,) * (clusters - 1)
    shares += (1 - sum(shares),)
    counts = ValueCounts.of_matrix(
        ExactNumbers.of(values), np.ones((len(values), 1), dtype=np.int64)
    )
    bounds = (Decimal(0), Decimal(100))
    terms = ColumnTerms("weight", shares, Decimal("0.7"), epsilon, None, bounds)
    noisy = terms.decide(counts, uniform_words(Randomness.seeded(1).key("borders")))
    decided = noisy.perturbation(counts.values, bounds)
    assert sum(event.epsilon for event in noisy.events) == epsilon
    for cluster, scale in enumerate(decided.noise.scales):
        starts = decided.start[:, cluster]
        assert Fraction(int(starts.max() - starts.min())) <= scale * Fraction(noisy.split.noise)
        chances = [decided.membership.probability(v, cluster) for v in range(len(values))]
        most = Fraction(noisy.split.membership.exp()) * (1 + Fraction(1, 10**24))
        assert max(chances) <= min(chances) * most


def test_an_error_buys_its_epsilon_and_an_epsilon_its_error() -> None:
    """The half-width asked for is had, with the epsilon -range ln(1 - confidence) / error."""
    publication = published(
        [1.0, 2.0, 9.0], declared=(0, 10), error=2, shares=[1.0], confidence=0.9
    )
    epsilon = publication.release.guarantee.parameters["epsilon"]
    assert epsilon == pytest.approx(10 * np.log(10) / 2, rel=1e-3)
    (cluster,) = publication.release.method["decision"]["columns"]["weight"]["clusters"]
    assert 1.99 < cluster["half_width"] <= 2
    again = published(
        [1.0, 2.0, 9.0], declared=(0, 10), epsilon=epsilon, shares=[1.0], confidence=0.9
    )
    assert float(again.private.objective) == pytest.approx(2, rel=1e-3)


def test_what_is_published_lies_within_public_bounds() -> None:
    """Values and both ends of intervals are clamped to the bounds, and intervals hold values."""
    frame = published(list(range(200)), declared=(0, 500), epsilon=0.5).release.to_native()
    for name in ("weight", "weight.low", "weight.high"):
        assert frame[name].is_between(0, 500).all()
    assert (frame["weight.low"] <= frame["weight"]).all()
    assert (frame["weight"] <= frame["weight.high"]).all()


@pytest.mark.slow
def test_public_bounds_are_an_epsilon_and_data_are_not() -> None:
    """The statement says differential privacy only where the clusters do not come from the data."""
    formal = published(list(range(50)), declared=(0, 100), epsilon=1)
    assert formal.release.guarantee.kind == "differential-privacy"
    assert sum(event.epsilon for event in formal.events) == 1
    assert all(event.neighbours == "replace" for event in formal.events)
    seed = published(list(range(50)), epsilon=1, bounds="data")
    assert seed.release.guarantee.kind == "indistinguishability-within-clusters"
    assert "NOT differential privacy" in seed.release.guarantee.statement
    assert not seed.events


def test_several_columns_share_the_budget() -> None:
    """Two columns get half of epsilon each."""
    bounds = {name: voile.ColumnPlan(bounds=(0, 10)) for name in ("weight", "volume")}
    plan = voile.Plan(roles=voile.Roles(quasi_identifiers=("weight", "volume")), columns=bounds)
    frame = pl.DataFrame({"weight": [1, 2, 3], "volume": [4.5, 5.5, 6.5]})
    table = voile.open_frame(frame, plan)
    publication = ClusteredLaplace(epsilon=3, shares=[1.0]).prepare(table, Randomness.seeded(1))
    assert [event.epsilon for event in publication.events] == [Decimal("1.5")] * 2


def test_bounds_are_never_taken_from_the_data() -> None:
    """A column without bounds in the plan is refused, with the way to declare them."""
    with pytest.raises(PlanError, match=r"\[columns.weight\] bounds = \[low, high\]"):
        published([1.0, 2.0], epsilon=1)


def test_one_value_gives_no_range_for_noise() -> None:
    """Clusters from data of one value would publish it: no release, and the remedy."""
    with pytest.raises(InfeasibleError, match="public"):
        published([7.0, 7.0, 7.0], epsilon=1, bounds="data")


def test_only_numbers_are_perturbed() -> None:
    """A quasi-identifier that is no number is refused by name."""
    plan = voile.Plan(roles=voile.Roles(quasi_identifiers=("city",)))
    table = voile.open_frame(pl.DataFrame({"city": ["a", "b"]}), plan)
    with pytest.raises(PlanError, match="'city' holds no numbers"):
        ClusteredLaplace(epsilon=1).publish(table)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({}, "either epsilon or error"),
        ({"epsilon": 1, "error": 2}, "either epsilon or error"),
        ({"epsilon": 0}, "epsilon must be a number above 0"),
        ({"epsilon": -1}, "epsilon must be a number above 0"),
        ({"epsilon": float("inf")}, "epsilon must be a number above 0"),
        ({"epsilon": 1, "shares": []}, "shares must be a list"),
        ({"epsilon": 1, "shares": [0.5, 0.6]}, "whose sum is 1"),
        ({"epsilon": 1, "shares": [1.5, -0.5]}, "above 0"),
        ({"epsilon": 1, "confidence": 1}, "confidence must be"),
        ({"epsilon": 1, "confidence": -0.1}, "confidence must be"),
        ({"epsilon": 1, "bounds": "guess"}, "bounds must be one of"),
        ({"error": 1}, "shares = "),
        ({"error": 1, "shares": [1.0], "confidence": 0}, "confidence above 0"),
    ],
)
def test_parameters_that_cannot_be_are_refused(parameters: dict[str, Any], message: str) -> None:
    """Each impossible parameter is named, with what is allowed."""
    with pytest.raises(PlanError, match=message):
        ClusteredLaplace(**parameters)
