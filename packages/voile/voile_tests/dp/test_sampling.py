"""Delta of sampling and publishing large groups, against enumeration in exact fractions."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from itertools import product
from math import ceil, comb, floor, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from voile.dp.exact import decay
from voile.dp.sampling import delta_of, smallest_k
from voile_base.errors import PlanError
from voile_testing.plugin import examples

Floats = NDArray[np.float64]
betas = st.integers(2, 18).map(lambda n: Decimal(n) / 20)
BELOW_LN2 = Decimal("0.6931471805599453094172321214")
ABOVE_LN2 = Decimal("0.6931471805599453094172321215")


def tail(n: int, j: int, beta: Fraction) -> Fraction:
    """P[Bin(n, beta) >= j]."""
    return sum((comb(n, i) * beta**i * (1 - beta) ** (n - i) for i in range(j, n + 1)), Fraction(0))


def brute_force(k: int, beta: Fraction, gamma: Fraction, largest: int) -> tuple[Fraction, int]:
    """The maximum over all n up to a largest one, as eq. 14 states it, and where it is attained."""
    first = max(0, ceil(k / gamma - 1))
    return max((tail(n, floor(gamma * n) + 1, beta), n) for n in range(first, largest))


def assert_barely_above(answer: Decimal, exact: Fraction) -> None:
    assert exact <= Fraction(answer) <= exact * (1 + Fraction(1, 10**20))


@given(st.integers(1, 12), betas)
def test_delta_is_the_maximum_over_all_group_sizes(k: int, beta: Decimal) -> None:
    """With the smallest excess gamma is 1 - (1 - beta)^2; all n up to k / gamma + 60 are tried."""
    exact = Fraction(beta)
    gamma = 1 - (1 - exact) ** 2
    delta, _ = brute_force(k, exact, gamma, ceil(k / gamma) + 60)
    assert_barely_above(delta_of(k, beta), delta)


@given(st.integers(1, 12), betas, st.integers(0, 300))
def test_delta_for_any_excess(k: int, beta: Decimal, more: int) -> None:
    """Any legal excess gives its gamma; one below -ln(1 - beta) is refused."""
    excess = Decimal(more) / 100
    exact = Fraction(beta)
    if more == 0 or decay(Fraction(excess), 40)[0] > 1 - exact:
        with pytest.raises(PlanError, match="epsilon must exceed"):
            delta_of(k, beta, excess)
        return
    gamma = 1 - (1 - exact) * decay(Fraction(excess), 60)[0]
    delta, _ = brute_force(k, exact, gamma, ceil(k / gamma) + 60)
    assert_barely_above(delta_of(k, beta, excess), delta)


def test_the_example_of_the_source() -> None:
    """For beta = 0.7, k = 40 delta is 6.790237e-4, attained at n = 45; the first n has 2.526e-4."""
    assert float(delta_of(40, Decimal("0.7"))) == pytest.approx(6.790237e-4, rel=1e-6)
    beta, gamma = Fraction(7, 10), Fraction(91, 100)
    assert brute_force(40, beta, gamma, 120)[1] == 45
    assert ceil(40 / gamma - 1) == 43
    assert float(tail(43, 40, beta)) == pytest.approx(2.526e-4, rel=1e-3)


@pytest.mark.parametrize(
    ("epsilon", "delta", "k"),
    [
        ("1", "1e-5", 61),
        ("1", "1e-6", 74),
        ("2", "1e-6", 131),
        ("0.5", "1e-6", 63),
        ("3", "1e-5", 226),
    ],
)
def test_smallest_groups_for_the_largest_sample(epsilon: str, delta: str, k: int) -> None:
    """Worked numbers for beta = 1 - e^-epsilon."""
    assert smallest_k(Decimal(epsilon), Decimal(delta)) == k


@given(betas, st.integers(1, 12), st.integers(0, 100))
def test_the_smallest_k_suffices_and_a_smaller_one_does_not(
    beta: Decimal, power: int, more: int
) -> None:
    """delta_of is within the bound at k, and beyond it at k - 1; the choice's budget counts."""
    least = -(1 - beta).ln()
    excess = (least + Decimal(more) / 100).quantize(Decimal("1e-6")) + Decimal("1e-6")
    bound = Decimal(10) ** -power
    k = smallest_k(excess + 2, bound, beta, choice_budget=Decimal(2))
    assert delta_of(k, beta, excess) <= bound
    assert k == 1 or delta_of(k - 1, beta, excess) > bound


def test_the_smallest_k_for_several_rows() -> None:
    """With three rows it needs 1 - beta to the third of epsilon, and a larger k."""
    beta, bound = Decimal("0.2"), Decimal("1e-5")
    for rows in (1, 2, 3):
        k = smallest_k(Decimal(2), bound, beta, rows=rows)
        assert (
            delta_of(k, beta, Decimal(2), rows) <= bound < delta_of(k - 1, beta, Decimal(2), rows)
        )
    with pytest.raises(PlanError, match="epsilon must exceed"):
        delta_of(9, Decimal("0.5"), Decimal(2), 3)
    with pytest.raises(PlanError, match="at least one row"):
        delta_of(9, Decimal("0.5"), Decimal(2), 0)


def test_no_rounding_of_gamma_where_it_matters() -> None:
    """At epsilon = ln 2 gamma is 3/4, and the two decimals of 28 digits around ln 2 differ.

    Below, P[Bin(n, beta) > gamma n] counts one more success where 3/4 n is whole.  Binary
    floating point cannot tell the two apart.
    """
    assert float(BELOW_LN2) == float(ABOVE_LN2)
    assert smallest_k(BELOW_LN2, Decimal("1e-6")) == 67
    assert smallest_k(ABOVE_LN2, Decimal("1e-6")) == 66
    half = Decimal("0.5")
    assert delta_of(66, half) <= Decimal("1e-6") < delta_of(65, half)
    assert float(delta_of(66, half, ABOVE_LN2)) == float(delta_of(66, half))
    with pytest.raises(PlanError, match="must exceed"):
        delta_of(66, half, BELOW_LN2)


@settings(max_examples=examples(25))
@given(st.integers(1, 8), betas)
def test_delta_bounds_the_divergence_of_the_sizes_of_one_group(k: int, beta: Decimal) -> None:
    """Summing all positive differences of the two laws of its sizes gives no more."""
    exact = Fraction(beta)
    factor = 1 / (1 - exact)

    def law(n: int, size: int) -> list[Fraction]:
        sizes = [comb(n, i) * exact**i * (1 - exact) ** (n - i) for i in range(n + 1)]
        sizes += [Fraction(0)] * (size - n)
        return [sum(sizes[:k], Fraction(0)), *sizes[k:]]

    divergence = Fraction(0)
    for n in range(1, 2 * k + 25):
        with_row, without = law(n, n), law(n - 1, n)
        for one, other in ((with_row, without), (without, with_row)):
            excess = (p - factor * q for p, q in zip(one, other, strict=True))
            divergence = max(divergence, sum((x for x in excess if x > 0), Fraction(0)))
    assert divergence <= Fraction(delta_of(k, beta))


def partitions(number: int, most: int | None = None) -> Iterator[tuple[int, ...]]:
    """The ways to write a number as a sum."""
    if number == 0:
        yield ()
    for part in range(1, min(number, most or number) + 1):
        yield from ((part, *rest) for rest in partitions(number - part, part))


@pytest.mark.slow
@settings(max_examples=examples(25))
@given(st.integers(1, 8), betas, st.integers(2, 4))
def test_delta_of_several_rows_is_the_largest_over_the_groups_they_fall_into(
    k: int, beta: Decimal, rows: int
) -> None:
    """A group of N - 1 others that j rows come to counts by P[Bin(N + j - 1) > gamma N]."""
    exact = Fraction(beta)
    gamma = 1 - (1 - exact) ** 2
    largest = ceil(k / gamma) + 40 + 20 * rows

    def of_group(j: int) -> Fraction:
        return max(tail(n + j - 1, max(k, floor(gamma * n) + 1), exact) for n in range(1, largest))

    alone = {j: of_group(j) for j in range(1, rows + 1)}
    delta = max(sum((alone[j] for j in parts), Fraction(0)) for parts in partitions(rows))
    answer = delta_of(k, beta, rows=rows)
    if answer < 1:
        assert_barely_above(answer, delta)
    else:
        assert delta >= Fraction(1, 2)


def test_delta_of_many_rows_is_bounded_at_once() -> None:
    """Above it is at least what all rows in one group cost, and less than some times that.

    A number of rows that nobody has is no reason to wait.
    """
    beta, excess = Decimal("0.05"), Decimal("0.3")
    for rows in (17, 30, 40):
        n, j = 0, 100
        gamma = 1 - (1 - Fraction(beta)) * decay(Fraction(excess), 60)[0]
        n = ceil(j / gamma) - 1
        in_one = tail(n + rows - 1, j, Fraction(beta))
        assert in_one <= Fraction(delta_of(100, beta, excess * rows, rows)) <= 4 * in_one
    assert delta_of(100, beta, excess * 10**6, 10**6) == 1


def law_of_sizes(n: int, k: int, beta: float, size: int) -> Floats:
    """Probabilities of what a group of n rows shows: that it is too small, or its sampled rows."""
    sizes = stats.binom.pmf(np.arange(size + 1), n, beta)
    return np.concatenate(([sizes[:k].sum()], sizes[k:]))


def divergence_of_groups(
    groups: list[tuple[int, int]], k: int, beta: float, excess: float
) -> float:
    """The hockey-stick divergence of groups of n rows, j of which are a person's, without them."""
    one = two = np.ones(1)
    for n, j in groups:
        size = max(n for n, _ in groups)
        one = np.outer(one, law_of_sizes(n, k, beta, size)).ravel()
        two = np.outer(two, law_of_sizes(n - j, k, beta, size)).ravel()
    factor = np.exp(excess)
    return float(
        max(np.maximum(one - factor * two, 0).sum(), np.maximum(two - factor * one, 0).sum())
    )


@pytest.mark.parametrize(
    ("k", "beta", "rows", "more"),
    [(2, 0.3, 2, 0.0), (5, 0.3, 3, 0.0), (5, 0.5, 3, 0.3), (8, 0.2, 2, 0.5), (10, 0.4, 3, 0.4)],
)
def test_no_groups_tell_of_several_rows_beyond_delta(
    k: int, beta: float, rows: int, more: float
) -> None:
    """Of all sizes of the groups that the rows may fall into, none has a larger divergence.

    And the delta and excess of one row are not enough for several.
    """
    of_one = round(-log(1 - beta) + more + 1e-6, 6)
    excess = rows * of_one
    worst = broken = 0.0
    for parts in partitions(rows):
        sizes = range(k, k + 14 if len(parts) < 3 else k + 7)
        for chosen in product(sizes, repeat=len(parts)):
            groups = [(n, j) for n, j in zip(chosen, parts, strict=True) if n >= j]
            worst = max(worst, divergence_of_groups(groups, k, beta, excess))
            broken = max(broken, divergence_of_groups(groups, k, beta, of_one))
    delta = float(delta_of(k, Decimal(str(beta)), Decimal(str(round(excess, 6))), rows))
    assert 0 < worst <= delta < 1
    assert broken > float(delta_of(k, Decimal(str(beta)), Decimal(str(of_one))))


def test_the_extremes_end() -> None:
    """Tiny samples, tiny deltas and large k give answers, and k = 1 has a delta too."""
    assert smallest_k(Decimal(2), Decimal("1e-9"), Decimal("0.0001")) == 3
    assert smallest_k(Decimal(2), Decimal("1e-300"), Decimal("0.8")) == 4903
    assert delta_of(1, Decimal("0.5")) >= Decimal("0.5")
    assert delta_of(10_000, Decimal("0.3")) < Decimal("1e-100")


@pytest.mark.parametrize("beta", ["0", "1", "-0.5", "1.5"])
def test_a_share_that_is_none_is_refused(beta: str) -> None:
    """Beta lies between 0 and 1, both excluded."""
    with pytest.raises(PlanError, match="beta must lie"):
        delta_of(5, Decimal(beta))


def test_other_parameters_out_of_range_are_refused() -> None:
    """A k below 1, delta outside (0, 1) and an epsilon that the choice uses up are errors."""
    with pytest.raises(PlanError, match="k must"):
        delta_of(0, Decimal("0.5"))
    with pytest.raises(PlanError, match="delta must"):
        smallest_k(Decimal(1), Decimal(0))
    with pytest.raises(PlanError, match="epsilon must"):
        smallest_k(Decimal(1), Decimal("0.1"), choice_budget=Decimal(1))
