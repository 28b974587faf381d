"""The law of the exponential mechanism, and that its envelope is one."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile.dp import exact
from voile.dp.exact import ExponentialMechanism, decay, uniform_words
from voile_base.errors import PlanError
from voile_base.randomness import Randomness
from voile_testing.statistics import FALSE_ALARM, p_value

SIZE = 2_500


def words_of(seed: int) -> Iterator[int]:
    return uniform_words(Randomness.seeded(seed).key("choice"))


def law_of(rate: float, utilities: list[int], times: list[int]) -> np.ndarray:
    weights = np.array(times) * np.exp(rate * (np.array(utilities) - max(utilities)))
    return weights / weights.sum()


@pytest.mark.slow
@pytest.mark.parametrize("monotone", [False, True])
def test_the_law_is_that_of_the_stated_epsilon(monotone: bool) -> None:
    """2,500 draws fit rate epsilon/(2 s), or epsilon/s if monotone, and not 30 % off; 1e-6."""
    mechanism = ExponentialMechanism(Decimal("1.5"), Fraction(3), monotone=monotone)
    utilities = [0, 2, 5, 9, 1]
    words = words_of(1)
    draws = [mechanism.draw(np.array(utilities), words) for _ in range(SIZE)]
    counts = np.bincount(draws, minlength=5)
    rate = 0.5 if monotone else 0.25
    assert mechanism.rate == Fraction(rate)
    assert p_value(counts, law_of(rate, utilities, [1] * 5)) > FALSE_ALARM
    assert p_value(counts, law_of(1.3 * rate, utilities, [1] * 5)) < FALSE_ALARM
    assert p_value(counts, law_of(0.7 * rate, utilities, [1] * 5)) < FALSE_ALARM


@pytest.mark.slow
def test_a_candidate_counts_as_often_as_it_stands_for() -> None:
    """2,500 draws fit multiplicities; one of 0 is never drawn, even with the best utility."""
    mechanism = ExponentialMechanism(Decimal(2), Fraction(1))
    utilities, times = [3, 0, 1, 2], [0, 9, 5, 2]
    words = words_of(2)
    draws = [mechanism.draw(np.array(utilities), words, np.array(times)) for _ in range(SIZE)]
    assert p_value(np.bincount(draws, minlength=4), law_of(1.0, utilities, times)) > FALSE_ALARM
    assert 0 not in draws


@pytest.mark.slow
def test_many_candidates_follow_the_law() -> None:
    """500 draws from 20,000 candidates of ten utilities fit the law of the utilities; 1e-6."""
    mechanism = ExponentialMechanism(Decimal(1), Fraction(2))
    utilities = np.arange(20_000) % 10
    words = words_of(3)
    draws = [int(utilities[mechanism.draw(utilities, words)]) for _ in range(500)]
    assert p_value(np.bincount(draws, minlength=10), law_of(0.25, [*range(10)], [1] * 10)) > (
        FALSE_ALARM
    )


@pytest.mark.slow
@pytest.mark.parametrize("looseness", [1.5, 5.0])
def test_the_law_does_not_depend_on_the_envelope(
    monkeypatch: pytest.MonkeyPatch, looseness: float
) -> None:
    """With an envelope that is far too wide for half of the candidates the law is the same."""
    tight = exact._envelope

    def loose(*arguments: object) -> tuple[np.ndarray, Fraction]:
        envelope, scale = tight(*arguments)  # type: ignore[arg-type]
        envelope[::2] = (envelope[::2] / 8 * looseness).astype(np.int64)
        envelope[1::2] //= 8
        return envelope, scale / 16

    monkeypatch.setattr(exact, "_envelope", loose)
    mechanism = ExponentialMechanism(Decimal(1), Fraction(1))
    words = words_of(4)
    draws = [mechanism.draw(np.arange(5), words) for _ in range(SIZE)]
    law = law_of(0.5, [0, 1, 2, 3, 4], [1] * 5)
    assert p_value(np.bincount(draws, minlength=5), law) > FALSE_ALARM


@given(
    st.lists(st.tuples(st.integers(0, 2**70), st.integers(0, 10**20)), min_size=1, max_size=8),
    st.fractions(min_value=Fraction(1, 10**9), max_value=10**6, max_denominator=10**9),
)
def test_the_envelope_is_above_every_weight(
    candidates: list[tuple[int, int]], rate: Fraction
) -> None:
    """Envelopes exceed the exact weights, by little where these are large, and sum within 2^61."""
    below = np.array([0, *(b for b, _ in candidates)], dtype=object)
    times = np.array([1, *(m for _, m in candidates)], dtype=object)
    envelope, scale = exact._envelope(below, times, float(rate))
    assert 0 < envelope.sum() < 2**61
    for b, m, bound in zip(below, times, envelope.tolist(), strict=True):
        low, high = decay(rate * b, 40)
        assert m == bound == 0 or scale * m * high < bound
        assert bound <= scale * m * low * (1 + Fraction(1, 2**34)) + 3


def test_utilities_of_any_size_are_told_apart() -> None:
    """Differences of 1 among numbers beyond 64 bits count; floating point would lose them."""
    mechanism = ExponentialMechanism(Decimal(200), Fraction(1))
    utilities = np.array([2**80, 2**80 + 1, 2**80 - 5], dtype=object)
    assert mechanism.draw(utilities, words_of(5)) == 1
    ends = np.array([-(2**63), 2**63 - 1])
    assert mechanism.draw(ends, words_of(5)) == 1


def test_a_candidate_too_unlikely_for_a_double_can_be_drawn() -> None:
    """Rounding makes no candidate impossible.

    At a utility 1500 below the best, a double holds no weight at all; the envelope is 2, and the
    accepting coin has the exact probability, shown here by words that decide for heads.
    """
    mechanism = ExponentialMechanism(Decimal(2), Fraction(1))
    utilities = np.array([0, 1500])
    envelope, _ = exact._envelope(1500 - utilities, np.ones(2, dtype=np.int64), 1.0)
    assert envelope[0] == 2
    zeros = iter([0] * 40)
    assert mechanism.draw(utilities, zeros) == 0
    assert len(list(zeros)) < 10  # 1500 / ln 2 binary digits, and those of the envelope


def test_impossible_mechanisms_are_refused() -> None:
    """A budget or sensitivity of 0, and candidates of which none can be drawn, are errors."""
    with pytest.raises(PlanError, match="epsilon"):
        ExponentialMechanism(Decimal(0), Fraction(1))
    with pytest.raises(PlanError, match="sensitivity"):
        ExponentialMechanism(Decimal(1), Fraction(0))
    mechanism = ExponentialMechanism(Decimal(1), Fraction(1))
    for times in ([0, 0], [1, -1]):
        with pytest.raises(ValueError, match="multiplicities"):
            mechanism.draw(np.array([1, 2]), words_of(1), np.array(times))


def test_draws_repeat_with_their_words() -> None:
    """The same words give the same candidates, other words others."""
    mechanism = ExponentialMechanism(Decimal(1), Fraction(1000))
    utilities = np.arange(12_960)
    draws = [mechanism.draw(utilities, words_of(seed)) for seed in (1, 1, 2, 3)]
    assert draws[0] == draws[1]
    assert len(set(draws)) == 3
