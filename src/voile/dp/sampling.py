"""What it costs to sample rows and to publish only the groups that are large in the sample.

What it does: each row enters a sample with probability beta; of the sample, groups of at least k
rows are published under a recoding that was chosen with a budget of its own.  Computes the delta
of this (beta, epsilon, delta)-DPS, the smallest k for a delta, and the largest such budget.

Source: Li, Qardaji, Su, "On sampling, anonymization, and differential privacy" (ASIACCS 2012),
Theorem 5; "Privacy-Preserving Bin-Packing With Differential Privacy" (OJ-CS 2022), eq. 14.

Claim: let the excess x = epsilon - epsilon_1 be what the total budget has beyond that of the
choice, x >= -ln(1 - beta), and gamma = 1 - (1 - beta) e^-x.  Then delta is the maximum of
P[Bin(n, beta) > gamma n] over all n >= k / gamma - 1.  Answers err on the safe side: a delta is
rounded upwards, by less than 1e-20 of itself; a ``smallest_k`` suffices; a budget may be spent.

Algorithm: among the n with floor(gamma n) = j - 1 the tail P[Bin(n, beta) >= j] is largest at the
largest one, n_j = ceil(j / gamma) - 1; j = k, k + 1, ... are all that matter.  The search stops
where Chernoff's bound e^(-n KL(gamma || beta)), which falls with n, is below what was found.  A
tail is summed from its largest term on, rounded upwards, and closed by a geometric series.
gamma is bounded from both sides, more closely as long as n_j depends on it.

Cost: 0.1 ms for each j; as a rule some ten to fifty of them.

Departure from the source: the maximum need not be at the first n, where the sources look, and
binary rounding of gamma moves the answer where gamma n is nearly whole, as at epsilon = ln 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from functools import cached_property
from math import comb

from voile.dp.exact import decay
from voile.errors import PlanError

__all__ = ["delta_of", "largest_choice_budget", "one_group_delta", "smallest_k"]

_DIGITS = 50
_UP = Context(prec=_DIGITS, rounding=ROUND_CEILING)
_DOWN = Context(prec=_DIGITS, rounding=ROUND_FLOOR)
_NEAR = Context(prec=_DIGITS, rounding=ROUND_HALF_EVEN)
_NEGLIGIBLE = Decimal("1e-30")
_SAFETY = 1 - Decimal("1e-20")  # far above the rounding of the few operations it stands for
_BUDGET_STEP = Decimal("1e-9")


def delta_of(k: int, beta: Decimal, excess: Decimal | None = None) -> Decimal:
    """Delta of sampling with probability ``beta`` and publishing groups of at least ``k`` rows.

    ``excess`` is epsilon - epsilon_1, at least -ln(1 - beta), which it is where it is None.
    Raises ``PlanError`` where it is less, and unless 0 < beta < 1 and k >= 1.
    """
    distribution = _distribution(beta, excess)
    _require_k(k)
    best, j = Decimal(0), k
    while not distribution.negligible(distribution.group_size(j), best):
        best = max(best, distribution.tail(distribution.group_size(j), j))
        j += 1
    return best


def one_group_delta(k: int, beta: Decimal, excess: Decimal | None = None) -> Decimal:
    """The delta of the sizes of the published groups, with nothing to spare.

    Two tables that differ by one row differ in one group, of n and n - 1 rows.  With a recoding
    that does not depend on the table, and rows of a group that look alike, only the size that
    this group shows can tell, and delta is the largest sum of what P[Bin(n, beta) = i] exceeds
    e^excess P[Bin(n - 1, beta) = i] by, over i >= k.  Where P is larger i is above gamma n.
    Raises ``PlanError`` as ``delta_of`` does.
    """
    distribution = _distribution(beta, excess)
    _require_k(k)
    best, n = Decimal(0), k
    while n < distribution.group_size(k) or not distribution.negligible(n, best):
        best = max(best, distribution.tail(n, max(k, distribution.first_above(n)), weighted=True))
        n += 1
    return best


def smallest_k(
    epsilon: Decimal,
    delta: Decimal,
    beta: Decimal | None = None,
    choice_budget: Decimal = Decimal(0),
) -> int:
    """The smallest k whose delta is at most ``delta``, for a total of ``epsilon``.

    Without ``beta`` it is 1 - e^(-excess), the largest that the excess epsilon - choice_budget
    allows.  Raises ``PlanError`` as ``delta_of`` does, and unless 0 < delta < 1.
    """
    excess = _DOWN.subtract(epsilon, choice_budget)
    distribution = _largest_sample(excess) if beta is None else _distribution(beta, excess)
    _require_delta(delta)
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


def largest_choice_budget(epsilon: Decimal, beta: Decimal, delta: Decimal, k: int) -> Decimal:
    """The largest epsilon_1 with which ``k`` keeps to ``delta``, in steps of 1e-9.

    Raises ``PlanError`` where no budget above 0 is left, or a parameter is out of its range.
    """
    _require_beta(beta)
    _require_delta(delta)
    _require_k(k)
    low, high = 0, int(epsilon / _BUDGET_STEP) + 1  # in steps; high is too much
    while high - low > 1:
        middle = (low + high) // 2
        excess = _DOWN.subtract(epsilon, middle * _BUDGET_STEP)
        fits = _allowed(beta, excess) and _keeps(_distribution(beta, excess), k, delta)
        low, high = (middle, high) if fits else (low, middle)
    if low == 0:
        msg = (
            f"epsilon = {epsilon} leaves no budget for the choice at beta = {beta}, "
            f"delta = {delta} and k = {k}; raise epsilon or k, or lower beta"
        )
        raise PlanError(msg)
    return low * _BUDGET_STEP


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

    def first_above(self, n: int) -> int:
        """The smallest whole number above gamma n."""
        digits = _DIGITS
        least, most = self._gamma
        while True:
            small, large = n * least // 1 + 1, n * most // 1 + 1
            if large == small:
                return large
            digits *= 2
            least, most = self.gamma(digits)

    def tail(self, n: int, j: int, *, weighted: bool = False) -> Decimal:
        """P[Bin(n, beta) >= j], rounded upwards; j is above beta n.

        Weighted, of P[Bin(n, beta) = i] only what exceeds e^excess P[Bin(n - 1, beta) = i].
        """
        if j > n:
            return Decimal(0)
        beta, kept_out, odds = self._rounded_up
        term = _UP.multiply(_power_up(beta, j), _power_up(kept_out, n - j))
        term = _UP.multiply(term, _UP.create_decimal(comb(n, j)))
        total, i = Decimal(0), j
        while True:
            weight = self._share_beyond(n, i) if weighted else Decimal(1)
            total = _UP.add(total, _UP.multiply(term, weight))
            ratio = _UP.multiply(_UP.divide(Decimal(n - i), Decimal(i + 1)), odds)
            term = _UP.multiply(term, ratio)
            i += 1
            # Ratios fall, so what is left is below term (1 + ratio + ratio^2 + ...).
            rest = _UP.divide(term, _DOWN.subtract(Decimal(1), ratio))
            if rest <= total * _NEGLIGIBLE:
                return _UP.add(total, rest)

    def negligible(self, n: int, probability: Decimal) -> bool:
        """Whether P[Bin(m, beta) > gamma m] is at most ``probability`` for all m >= n."""
        if probability == 0:
            return False
        return n * self._chernoff >= -_NEAR.ln(probability)

    def _share_beyond(self, n: int, i: int) -> Decimal:
        """1 - e^excess P[Bin(n - 1) = i] / P[Bin(n) = i] = 1 - (n - i) / (n (1 - gamma))."""
        beyond = _decimal(1 - self._gamma[0], _UP)
        return _UP.subtract(Decimal(1), _DOWN.divide(Decimal(n - i), _UP.multiply(n, beyond)))

    @cached_property
    def _gamma(self) -> tuple[Fraction, Fraction]:
        return self.gamma(_DIGITS)

    @cached_property
    def _rounded_up(self) -> tuple[Decimal, Decimal, Decimal]:
        """beta, 1 - beta and their ratio."""
        low, high = self.kept_out(_DIGITS)
        return _decimal(1 - low, _UP), _decimal(high, _UP), _decimal((1 - low) / low, _UP)

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


def _keeps(distribution: _Distribution, k: int, delta: Decimal) -> bool:
    """Whether no tail from k on exceeds delta."""
    j = k
    while not distribution.negligible(distribution.group_size(j), delta):
        if distribution.tail(distribution.group_size(j), j) > delta:
            return False
        j += 1
    return True


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
