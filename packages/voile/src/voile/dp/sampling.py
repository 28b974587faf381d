"""What it costs to sample rows and to publish only the groups that are large in the sample.

What it does: each row enters a sample with probability beta; of the sample, groups of at least k
rows are published under a recoding that was chosen with a budget of its own.  Computes the delta
of this (beta, epsilon, delta)-DPS, and the smallest k for a delta.

Source: Li, Qardaji, Su, "On sampling, anonymization, and differential privacy" (ASIACCS 2012),
Theorem 5; "Privacy-Preserving Bin-Packing With Differential Privacy" (OJ-CS 2022), eq. 14.

Claim: let the excess x = epsilon - epsilon_1 be what the total budget has beyond that of the
choice, x >= -ln(1 - beta), and gamma = 1 - (1 - beta) e^-x.  Then delta is the maximum of
P[Bin(n, beta) > gamma n] over all n >= k / gamma - 1.  Answers err on the safe side: a delta is
rounded upwards, by less than 1e-20 of itself; a ``smallest_k`` suffices.

Several rows.  Where neighbours differ by m rows, let x = m x_1 and gamma that of x_1.  Say j of the
m rows fall into one group, of n rows with them and n - j without, and let P_n = Bin(n, beta).
- Without them no size is more than (1 - beta)^-j <= e^(j x_1) times as likely: P_n(i) counts all
  that P_(n - j)(i) does, with none of the j drawn.  Nor is it that fewer than k are drawn.
- With them P_n(i) / P_(n - j)(i) = (1 - beta)^j times the product of (n - t) / (n - t - i) over
  t < j, of which the last factor is the largest.  So it is at most e^(j x_1) unless
  i > gamma (n - j + 1).  That fewer than k are drawn is no more likely than without.
So that group is (j x_1, delta_j)-indistinguishable with delta_j the maximum over N = n - j + 1 of
P[Bin(N + j - 1, beta) >= max(k, floor(gamma N) + 1)].  Groups are drawn independently, so epsilons
and deltas of those that the m rows fall into add up: to x, and to at most the largest sum of
delta_j over the ways to write m as a sum of j's.  For m = 1 that is Theorem 5; it is less than what
m steps of one row cost, delta (e^x - 1) / (e^x_1 - 1).  Sampling persons whole would need an excess
of -ln(1 - beta) only and has no such delta: where all others of a group have two rows, the parity
of its size shows that somebody with one is in it.

Algorithm: among the n with floor(gamma n) = j - 1 the tail P[Bin(n, beta) >= j] is largest at the
largest one, n_j = ceil(j / gamma) - 1; j = k, k + 1, ... are all that matter.  The search stops
where Chernoff's bound e^(-n KL(gamma || beta)), which falls with n, is below what was found.  A
tail is summed from its largest term on, rounded upwards, and closed by a geometric series.
gamma is bounded from both sides, more closely as long as n_j depends on it.

Cost: 0.1 ms for each j; as a rule some ten to fifty of them.

Departure from the source: the maximum need not be at the first n, where the sources look, and
binary rounding of gamma moves the answer where gamma n is nearly whole, as at epsilon = ln 2; and
several rows, which the sources leave to m steps of one.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import cached_property, lru_cache
from math import comb

from voile.dp.exact import decay
from voile_base.errors import PlanError
from voile_base.ondemand import dataclass

__all__ = ["delta_of", "smallest_k"]

_DIGITS = 50
_UP = Context(prec=_DIGITS, rounding=ROUND_CEILING)
_DOWN = Context(prec=_DIGITS, rounding=ROUND_FLOOR)
_NEAR = Context(prec=_DIGITS, rounding=ROUND_HALF_EVEN)
_NEGLIGIBLE = Decimal("1e-30")
_SAFETY = 1 - Decimal("1e-20")  # far above the rounding of the few operations it stands for
_ALL_SUMS = 16
"""Rows of which all ways to fall into groups are tried."""


def delta_of(k: int, beta: Decimal, excess: Decimal | None = None, rows: int = 1) -> Decimal:
    """Delta of sampling with probability ``beta`` and publishing groups of at least ``k`` rows.

    ``excess`` is epsilon - epsilon_1, at least -ln(1 - beta) for each of the ``rows`` rows by which
    neighbours differ, which it is where it is None.
    Raises ``PlanError`` where it is less, and unless 0 < beta < 1, k >= 1 and rows >= 1.
    """
    if rows < 1:
        raise PlanError(f"neighbours differ by at least one row, not {rows}")
    of_each = excess if excess is None or rows == 1 else _DOWN.divide(excess, Decimal(rows))
    distribution = _distribution(beta, of_each)
    _require_k(k)
    return _delta_of_rows(distribution, k, rows)


@lru_cache(maxsize=4096)
def _delta_of_rows(distribution: _Distribution, k: int, rows: int) -> Decimal:
    """The largest sum of what groups cost that the rows fall into, at most 1.

    Of many rows an upper bound, less than twice what all in one group cost where that is the worst:
    j counts as the next power of two, and a sum as ``rows`` times the worst that one of them costs.
    """
    if rows > _ALL_SUMS:
        powers = [1 << power for power in range((rows - 1).bit_length() + 1)]
        costs = (_delta_of_group(distribution, k, min(power, rows)) for power in powers)
        of_one = (
            _UP.divide(cost, power // 2 + 1) for cost, power in zip(costs, powers, strict=True)
        )
        return min(_UP.multiply(rows, max(of_one)), Decimal(1))
    together = [_delta_of_group(distribution, k, number) for number in range(1, rows + 1)]
    worst = [Decimal(0)]
    for number in range(1, rows + 1):
        worst.append(max(_UP.add(together[j - 1], worst[number - j]) for j in range(1, number + 1)))
    return min(worst[rows], Decimal(1))


def _delta_of_group(distribution: _Distribution, k: int, rows: int) -> Decimal:
    """Delta of a group that ``rows`` rows come to, or leave, at as many times the excess of one.

    Where it is at least one half it counts as 1, which promises nothing.
    """
    best, j, others = Decimal(0), k, rows - 1
    while not distribution.negligible(distribution.group_size(j), best, others):
        size = distribution.group_size(j) + others
        if distribution.expects(size) >= j:
            return Decimal(1)
        best = max(best, distribution.tail(size, j))
        j += 1
    return best


def smallest_k(
    epsilon: Decimal,
    delta: Decimal,
    beta: Decimal | None = None,
    choice_budget: Decimal = Decimal(0),
    rows: int = 1,
) -> int:
    """The smallest k whose delta is at most ``delta``, for a total of ``epsilon``.

    Without ``beta`` it is 1 - e^(-excess), the largest that the excess epsilon - choice_budget
    allows; of several ``rows`` it must be given.  Raises ``PlanError`` as ``delta_of`` does, and
    unless 0 < delta < 1.
    """
    excess = _DOWN.subtract(epsilon, choice_budget)
    _require_delta(delta)
    if rows > 1:
        assert beta is not None, "of several rows it must be given"
        return _smallest(lambda k: delta_of(k, beta, excess, rows) <= delta)
    distribution = _largest_sample(excess) if beta is None else _distribution(beta, excess)
    j = 1
    while not distribution.negligible(distribution.group_size(j), delta):
        j *= 2
    # From j on no tail exceeds delta; the last that does comes before.
    low = j // 2
    while j - low > 1:
        middle = (low + j) // 2
        low, j = (
            (low, middle)
            if distribution.negligible(distribution.group_size(middle), delta)
            else (middle, j)
        )
    while j > 1 and distribution.tail(distribution.group_size(j - 1), j - 1) <= delta:
        j -= 1
    return j


def _smallest(holds: Callable[[int], bool]) -> int:
    """The smallest k >= 1 for which something holds that holds for all larger ones, too."""
    low, high = 0, 1
    while not holds(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


@dataclass(frozen=True)
class _Distribution:
    """Sampling with probability beta, known through bounds that can be drawn closer."""

    beta: Decimal | None
    """None: 1 - e^-excess."""
    excess: Decimal | None
    """None: -ln(1 - beta)."""

    def kept_out(self, digits: int) -> tuple[Fraction, Fraction]:
        """Bounds of 1 - beta."""
        if self.beta is None:
            return decay(Fraction(self.excess or 0), digits)
        return 1 - Fraction(self.beta), 1 - Fraction(self.beta)

    def gamma(self, digits: int) -> tuple[Fraction, Fraction]:
        """Bounds of gamma."""
        low, high = self.kept_out(digits)
        if self.excess is None:
            return 1 - high * high, 1 - low * low
        least, most = decay(Fraction(self.excess), digits)
        return 1 - high * most, 1 - low * least

    def group_size(self, j: int) -> int:
        """The largest n with gamma n < j."""
        digits = _DIGITS
        least, most = self._gamma
        while True:
            large, small = -(-j // least) - 1, -(-j // most) - 1
            if large == small:
                return large
            digits *= 2
            least, most = self.gamma(digits)

    def tail(self, n: int, j: int) -> Decimal:
        """P[Bin(n, beta) >= j], rounded upwards; j is above beta n."""
        if j > n:
            return Decimal(0)
        beta, kept_out, odds = self._rounded_up
        term = _UP.multiply(_power_up(beta, j), _power_up(kept_out, n - j))
        term = _UP.multiply(term, _UP.create_decimal(comb(n, j)))
        total, i = Decimal(0), j
        while True:
            total = _UP.add(total, term)
            ratio = _UP.multiply(_UP.divide(Decimal(n - i), Decimal(i + 1)), odds)
            term = _UP.multiply(term, ratio)
            i += 1
            # Ratios fall, so what is left is below term (1 + ratio + ratio^2 + ...).
            rest = _UP.divide(term, _DOWN.subtract(Decimal(1), ratio))
            if rest <= total * _NEGLIGIBLE:
                return _UP.add(total, rest)

    def expects(self, n: int) -> Decimal:
        """The expected beta n, rounded upwards."""
        return _UP.multiply(self._rounded_up[0], n)

    def negligible(self, n: int, probability: Decimal, others: int = 0) -> bool:
        """Whether P[Bin(m + others, beta) > gamma m] is at most ``probability`` for all m >= n.

        Chernoff's bound at the exponent that is best for gamma grows by (1 - beta) / (1 - gamma),
        e^excess, with each of the others.
        """
        if probability == 0:
            return False
        beyond = others * self._growth if others else Decimal(0)
        return n * self._chernoff - beyond >= -_NEAR.ln(probability)

    @cached_property
    def _gamma(self) -> tuple[Fraction, Fraction]:
        return self.gamma(_DIGITS)

    @cached_property
    def _rounded_up(self) -> tuple[Decimal, Decimal, Decimal]:
        """beta, 1 - beta and their ratio."""
        low, high = self.kept_out(_DIGITS)
        return _decimal(1 - low, _UP), _decimal(high, _UP), _decimal((1 - low) / low, _UP)

    @cached_property
    def _growth(self) -> Decimal:
        """ln((1 - beta) / (1 - gamma)), rounded upwards."""
        kept_out, beyond = self.kept_out(_DIGITS)[1], 1 - self._gamma[1]
        return _NEAR.divide(_NEAR.ln(_decimal(kept_out / beyond, _UP)), _SAFETY)

    @cached_property
    def _chernoff(self) -> Decimal:
        """KL(gamma || beta), rounded downwards."""
        beta = _decimal(1 - self.kept_out(_DIGITS)[0], _NEAR)
        gamma = _decimal(self._gamma[0], _NEAR)
        shown = _NEAR.multiply(gamma, _NEAR.ln(_NEAR.divide(gamma, beta)))
        beyond = _NEAR.divide(_NEAR.subtract(1, gamma), _NEAR.subtract(1, beta))
        hidden = _NEAR.multiply(_NEAR.subtract(1, gamma), _NEAR.ln(beyond))
        return _NEAR.multiply(_NEAR.add(shown, hidden), _SAFETY)


def _distribution(beta: Decimal, excess: Decimal | None) -> _Distribution:
    _require_beta(beta)
    if excess is not None and not _allowed(beta, excess):
        least = -(1 - beta).ln()
        msg = (
            f"with beta = {beta}, epsilon must exceed the budget of the choice by at least "
            f"-ln(1 - beta) = {least:.6f}, not {excess}; raise epsilon, or lower beta"
        )
        raise PlanError(msg)
    return _Distribution(beta, excess)


def _largest_sample(excess: Decimal) -> _Distribution:
    if not excess > 0:
        raise PlanError("epsilon must exceed the budget of the choice, and be above 0")
    return _Distribution(None, excess)


def _allowed(beta: Decimal, excess: Decimal) -> bool:
    """Whether excess >= -ln(1 - beta), in exact arithmetic."""
    if excess <= 0:
        return False
    digits = _DIGITS
    while True:
        low, high = decay(Fraction(excess), digits)
        if high <= 1 - Fraction(beta):
            return True
        if low > 1 - Fraction(beta):
            return False
        digits *= 2


def _require_beta(beta: Decimal) -> None:
    if not 0 < beta < 1:
        raise PlanError(f"beta must lie between 0 and 1, both excluded, not {beta}")


def _require_delta(delta: Decimal) -> None:
    if not 0 < delta < 1:
        raise PlanError(f"delta must lie between 0 and 1, both excluded, not {delta}")


def _require_k(k: int) -> None:
    if k < 1:
        raise PlanError(f"k must be at least 1, not {k}")


def _power_up(base: Decimal, exponent: int) -> Decimal:
    """The power, rounded upwards, of numbers of at least 0."""
    power = Decimal(1)
    while exponent:
        if exponent & 1:
            power = _UP.multiply(power, base)
        base = _UP.multiply(base, base)
        exponent >>= 1
    return power


def _decimal(number: Fraction, context: Context) -> Decimal:
    return context.divide(Decimal(number.numerator), Decimal(number.denominator))
