"""The law of the discrete Laplace sampler, fast path and slow, and what a draw depends on."""

from __future__ import annotations

import functools
import math
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from voile.dp import discrete_noise
from voile.dp.discrete_noise import DiscreteLaplace
from voile_base.errors import PlanError
from voile_base.randomness import Key, Randomness
from voile_testing.plugin import some_slow
from voile_testing.statistics import FALSE_ALARM, p_value

SIZE = 200_000


def drawn(noise: DiscreteLaplace, size: int = SIZE, seed: int = 1) -> NDArray[np.int64]:
    """Draws of the first law for rows 0, 1, 2, ..."""
    words = np.arange(size, dtype=np.uint64)
    return noise.draw(np.zeros(size, dtype=np.int64), words, key_of(seed))


def key_of(seed: int) -> Key:
    return Randomness.seeded(seed).key("noise")


def fit(values: NDArray[np.int64], scale: float) -> float:
    """P-value of draws against the law of a scale, cell by cell, both tails pooled."""
    reach = max(1, min(2000, int(20 * scale)))
    z = np.arange(-reach, reach + 1)
    q = math.exp(-1 / scale)
    law = (1 - q) / (1 + q) * np.exp(-np.abs(z) / scale)
    counts = np.bincount(
        np.clip(values, -reach - 1, reach + 1) + reach + 1, minlength=2 * reach + 3
    )
    tail = q ** (reach + 1) / (1 + q)
    return p_value(counts, [tail, *law, tail])


@pytest.mark.parametrize("scale", ["1/3", "1", "22/7", "50"])
def test_the_law_is_exact_and_no_other(scale: str) -> None:
    """200,000 draws fit each integer's probability and not those of a scale 30 % off; 1e-6."""
    values = drawn(DiscreteLaplace((Fraction(scale),)))
    assert fit(values, float(Fraction(scale))) > FALSE_ALARM
    assert fit(values, 1.3 * float(Fraction(scale))) < FALSE_ALARM
    assert fit(values, 0.7 * float(Fraction(scale))) < FALSE_ALARM


@pytest.mark.parametrize("scale", [10**3, 10**6, 10**12, 2**53 + 1])
def test_on_a_fine_grid_the_law_is_laplace(scale: int) -> None:
    """200,000 draws of a large scale pass Kolmogorov's test against Laplace, not 30 % off; 1e-6.

    At scale 1000 the two laws differ by 0.0005, an eighth of what the test can see.
    """
    values = drawn(DiscreteLaplace((Fraction(scale),)))
    assert stats.kstest(values / scale, "laplace").pvalue > FALSE_ALARM
    assert stats.kstest(values / (1.3 * scale), "laplace").pvalue < FALSE_ALARM
    # Low digits are fair coins there: a fit of the whole would not see a stuck one.
    for lane in range(min(scale.bit_length() - 8, 40)):
        ones = int((values >> lane & 1).sum())
        assert p_value([ones, SIZE - ones], [0.5, 0.5]) > FALSE_ALARM / 40


def test_a_tiny_scale_draws_hardly_any_noise() -> None:
    """With scale 1/10 a draw is not 0 with probability 9.08e-5; with 1/50, with 4e-22."""
    exact = 2 * math.exp(-10) / (1 + math.exp(-10))
    others = np.count_nonzero(drawn(DiscreteLaplace((Fraction(1, 10),)), 1_000_000))
    assert p_value([others, 1_000_000 - others], [exact, 1 - exact]) > FALSE_ALARM
    assert p_value([others, 1_000_000 - others], [1.7 * exact, 1 - 1.7 * exact]) < FALSE_ALARM
    assert not drawn(DiscreteLaplace((Fraction(1, 50),))).any()
    assert not drawn(DiscreteLaplace((Fraction(1, 10**40),)), 10).any()


def test_scale_zero_is_no_noise() -> None:
    """A cluster of one value may have scale 0, beside others that have noise."""
    noise = DiscreteLaplace((Fraction(0), Fraction(100)))
    law = np.arange(1000) % 2
    values = noise.draw(law, np.arange(1000, dtype=np.uint64), key_of(1))
    assert not values[law == 0].any()
    assert np.count_nonzero(values[law == 1]) > 450
    assert noise.radius(Decimal("0.999"))[0] == 0


@pytest.mark.slow
def test_the_law_is_that_of_an_independent_sampler() -> None:
    """40,000 draws and 40,000 of OpenDP pass a two-sample test, not with ours 30 % off; 1e-6."""
    prelude = pytest.importorskip("opendp.prelude")
    prelude.enable_features("contrib")
    space = prelude.vector_domain(prelude.atom_domain(T="i64")), prelude.l1_distance(T="i64")
    theirs = np.array(prelude.m.make_laplace(*space, scale=7.5)([0] * 40_000))
    for scale, right in ((Fraction(15, 2), True), (Fraction(39, 4), False)):
        ours = drawn(DiscreteLaplace((scale,)), 40_000)
        counts = np.array(
            [np.bincount(np.clip(v, -40, 40) + 40, minlength=81) for v in (ours, theirs)]
        )
        p = stats.chi2_contingency(counts[:, counts.sum(axis=0) >= 40]).pvalue
        assert bool(p > FALSE_ALARM) is right


def test_digits_and_sign_are_independent() -> None:
    """The signs and digits of 200,000 draws of scale 8 are pairwise uncorrelated; 1e-6 in all."""
    values = drawn(DiscreteLaplace((Fraction(8),)))
    values = values[values != 0]
    digits = [values > 0, *((np.abs(values) - 1 >> lane & 1).astype(bool) for lane in range(6))]
    for i, first in enumerate(digits):
        for second in digits[:i]:
            table = np.bincount(2 * first + second, minlength=4).reshape(2, 2)
            assert stats.chi2_contingency(table).pvalue > FALSE_ALARM / 21


def test_every_law_of_several_is_its_own() -> None:
    """Rows of three laws, mixed, fit their own law each, 100,000 draws; 1e-6."""
    scales = (Fraction(1, 2), Fraction(3), Fraction(20))
    law = np.arange(300_000) % 3
    values = DiscreteLaplace(scales).draw(law, np.arange(300_000, dtype=np.uint64), key_of(3))
    for i, scale in enumerate(scales):
        assert fit(values[law == i], float(scale)) > FALSE_ALARM


@pytest.mark.parametrize("digits", some_slow([0, 1, 3], {0, 1}))
def test_the_slow_path_has_the_law(monkeypatch: pytest.MonkeyPatch, digits: int) -> None:
    """With 0, 1 or 3 digits of their own all else goes the slow path: 10,000 draws fit; 1e-6."""
    monkeypatch.setattr(discrete_noise, "_digit_count", lambda scale: digits)
    values = drawn(DiscreteLaplace((Fraction(4),)), 10_000)
    assert np.abs(values).max() > 2**digits
    assert fit(values, 4.0) > FALSE_ALARM
    assert fit(values, 5.2) < FALSE_ALARM
    assert fit(values, 2.8) < FALSE_ALARM


@pytest.mark.parametrize("prepared", [0, 1, 7, 9])
def test_digits_computed_late_are_the_prepared_ones(
    monkeypatch: pytest.MonkeyPatch, prepared: int
) -> None:
    """Draws do not depend on how many digits of the probabilities were computed beforehand."""
    expected = drawn(DiscreteLaplace((Fraction(10),)), 500)
    monkeypatch.setattr(discrete_noise, "_PREPARED", prepared)
    assert np.array_equal(drawn(DiscreteLaplace((Fraction(10),)), 500), expected)


@pytest.mark.parametrize("blocks", [1, 2, 8])
def test_draws_do_not_depend_on_when_rows_are_put_aside(
    monkeypatch: pytest.MonkeyPatch, blocks: int
) -> None:
    """The comparison of digits goes on where it stopped, however early rows are sorted out."""
    expected = drawn(DiscreteLaplace((Fraction(10**6),)), 5000)
    monkeypatch.setattr(discrete_noise, "_BLOCKS", blocks)
    assert np.array_equal(drawn(DiscreteLaplace((Fraction(10**6),)), 5000), expected)


@pytest.mark.parametrize("scale", ["1/7", "1", "1000", "1000000007/3"])
def test_prepared_digits_are_those_of_the_probabilities(scale: str) -> None:
    """64 digits of each lane agree with its probability computed to 60 decimal digits."""
    t = Fraction(scale)
    wide = Context(prec=60)
    words = discrete_noise._digit_words(t, 0, 64)
    count = discrete_noise._digit_count(t)
    assert 2**count >= 45 * t
    assert count == 0 or 2 ** (count - 1) < 45 * t

    def power(exponent: Fraction) -> Fraction:
        return Fraction(
            wide.exp(wide.divide(Decimal(-exponent.numerator), Decimal(exponent.denominator)))
        )

    q = power(1 / t)
    exact = {62: 2 * q / (1 + q), 63: power(2**count / t)}
    exact |= {i: power(2**i / t) / (1 + power(2**i / t)) for i in range(count)}
    for lane in range(64):
        shown = int("".join(str(word >> lane & 1) for word in words), 2)
        assert shown == int(exact.get(lane, Fraction(0)) * 2**64)


@given(st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=20))
def test_a_draw_is_a_function_of_the_row(rows: list[int]) -> None:
    """Rows draw the same in any order, alone or with others, and under another key differently."""
    noise = DiscreteLaplace((Fraction(10**9), Fraction(10**10)))
    words = np.array(rows, dtype=np.uint64)
    law = (words % np.uint64(2)).astype(np.int64)
    together = noise.draw(law, words, key_of(1))
    order = np.argsort(words, kind="stable")[::-1]
    assert np.array_equal(noise.draw(law[order], words[order], key_of(1)), together[order])
    alone = [noise.draw(law[i : i + 1], words[i : i + 1], key_of(1))[0] for i in range(len(rows))]
    assert alone == together.tolist()
    assert not np.array_equal(noise.draw(law, words, key_of(2)), together)


def test_a_draw_does_not_depend_on_the_size_of_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """70,000 rows drawn in parts of 1,000 are those drawn in parts of the usual size."""
    noise = DiscreteLaplace((Fraction(100),))
    expected = drawn(noise, 70_000)
    small = functools.partial(map, lambda i: slice(i, i + 1000))
    monkeypatch.setattr(discrete_noise, "parts", lambda rows: small(range(0, rows, 1000)))
    assert np.array_equal(drawn(noise, 70_000), expected)


def test_the_rest_is_clamped_to_64_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A draw beyond 64 bits, which nobody will see, is the largest number of its sign."""
    monkeypatch.setattr(discrete_noise, "_digit_count", lambda scale: 63)
    never = iter([2**64 - 1])
    assert discrete_noise._with_rest(-5, Fraction(2**50), never) == -(2**63) + 1


def test_scales_out_of_range_are_refused() -> None:
    """A negative scale, or one beyond what 64 bits can hold, is an error of the plan."""
    for scale in (Fraction(-1), Fraction(2**54)):
        with pytest.raises(PlanError, match="scale of noise"):
            DiscreteLaplace((scale,))


def test_the_radius_holds_for_draws() -> None:
    """Of 200,000 draws the stated share keeps to the radius, on two sides and on one; 1e-6."""
    noise = DiscreteLaplace((Fraction(37),))
    values = drawn(noise)
    for sides, size in ((2, np.abs(values)), (1, values)):
        radius = noise.radius(Decimal("0.9"), sides=sides)[0]  # type: ignore[arg-type]
        assert radius == discrete_noise.radius(Fraction(37), Decimal("0.9"), sides)  # type: ignore[arg-type]
        q = math.exp(-1 / 37)
        exact = 1 - sides * q ** (radius + 1) / (1 + q)
        inside = int(np.count_nonzero(size <= radius))
        assert p_value([inside, SIZE - inside], [exact, 1 - exact]) > FALSE_ALARM
