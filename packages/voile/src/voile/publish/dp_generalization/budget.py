"""The budget of a release, and what of it goes into the choice of the node.

The release costs ``epsilon = epsilon_choice + excess``: the choice of the node is
epsilon_choice-differentially private, and publishing a sample through a fixed node is (excess,
delta)-differentially private, where delta falls as the excess grows and the excess is at least
-ln(1 - beta) (``voile.dp.sampling``).  A plan names the total, the choice, or both:

- the total and a bound on delta: the choice gets all that the bound leaves;
- the total alone: the choice gets the most that it can, and delta is what comes of it;
- the choice alone: the excess is the least that keeps delta within its bound;
- both: the excess is their difference.

Where neighbours differ by several rows, budgets are those of all of them together, so the excess is
at least -ln(1 - beta) for each.

Numbers are exact decimals; what is computed is rounded to the safe side.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal, localcontext

from voile.dp.sampling import delta_of
from voile.schema.numbers import plain_text
from voile_base.errors import PlanError

__all__ = ["Sampling", "SplitBudget", "least_excess", "split_budget"]

_STEP = Decimal("1e-9")
_COARSE = Decimal("1e-6")
_LARGEST_EXCESS = 40
"""Of a row.  Beyond it gamma is 1 for all purposes, and delta as small as it can be: beta**k."""


@dataclass(frozen=True)
class SplitBudget:
    """What a release spends."""

    choice: Decimal
    """Budget of the choice of the node, above 0."""
    excess: Decimal
    """Budget of publishing a sample, at least -ln(1 - beta) a row."""
    delta: Decimal
    """For the excess, rounded upwards."""

    @property
    def epsilon(self) -> Decimal:
        """The whole."""
        return self.choice + self.excess


def least_excess(beta: Decimal) -> Decimal:
    """-ln(1 - beta), rounded upwards to a billionth."""
    with localcontext() as context:
        context.prec = 40
        exact = -(1 - beta).ln()
        return (exact + Decimal("1e-35")).quantize(_STEP, rounding=ROUND_CEILING)


@dataclass(frozen=True)
class Sampling:
    """How rows are sampled and published, and by how many of them neighbours differ."""

    k: int
    """Least number of published rows that look alike."""
    beta: Decimal
    """The probability with which a row is sampled."""
    rows: int = 1
    """By which neighbours differ."""

    @property
    def least_excess(self) -> Decimal:
        """The least that publishing a sample costs."""
        return self.rows * least_excess(self.beta)

    def delta_of(self, excess: Decimal) -> Decimal:
        """Delta at an excess, rounded upwards."""
        return delta_of(self.k, self.beta, excess, self.rows)


def split_budget(
    sampling: Sampling, epsilon: Decimal | None, choice: Decimal | None, delta: Decimal | None
) -> SplitBudget:
    """Divide a budget; raises ``PlanError`` where it cannot be had.

    At least one of ``epsilon`` and ``choice`` is given; ``delta`` is an upper bound, if given.
    """
    least = sampling.least_excess
    if delta is not None and (epsilon is None or least < epsilon):
        least = _excess_within(sampling, delta)
    if epsilon is None:
        assert choice is not None
        return _split(sampling, choice, least)
    k, beta, rows = sampling.k, sampling.beta, sampling.rows
    at = "" if rows == 1 else f" for {rows:,} rows of a person"
    at += "" if delta is None else f" at delta = {delta:.3g}"
    excess = least if choice is None else epsilon - choice
    if excess >= epsilon:
        msg = (
            f"epsilon = {plain_text(epsilon)} leaves nothing for the choice: publishing a sample "
            f"of beta = {plain_text(beta)} with k = {k} alone costs {plain_text(least)}{at}; raise "
            f"epsilon or k, or lower beta{_or_fewer(rows)}"
        )
        raise PlanError(msg)
    if choice is not None and excess < least:
        msg = (
            f"epsilon_choice = {plain_text(choice)} leaves {plain_text(excess)} of epsilon = "
            f"{plain_text(epsilon)} for publishing the sample, which costs at least "
            f"{plain_text(least)}{at}; raise epsilon, or lower epsilon_choice or beta"
            f"{_or_fewer(rows)}"
        )
        raise PlanError(msg)
    return _split(sampling, epsilon - excess, excess)


def _split(sampling: Sampling, choice: Decimal, excess: Decimal) -> SplitBudget:
    """Both parts with their delta; one of several rows may be 1, which promises nothing."""
    delta = sampling.delta_of(excess)
    if delta >= 1:
        msg = (
            f"k = {sampling.k} is too small for {sampling.rows:,} rows of a person at beta = "
            f"{plain_text(sampling.beta)}: delta would be 1, which promises nothing; raise k, or "
            f"lower beta{_or_fewer(sampling.rows)}"
        )
        raise PlanError(msg)
    return SplitBudget(choice, excess, delta)


def _or_fewer(rows: int) -> str:
    return "" if rows == 1 else " or rows_per_person"


def _excess_within(sampling: Sampling, delta: Decimal) -> Decimal:
    """The least excess that keeps delta within its bound, to a millionth; delta falls with it."""
    least = sampling.least_excess
    if sampling.delta_of(least) <= delta:
        return least
    low, high = 0, int(sampling.rows * _LARGEST_EXCESS / _COARSE)
    if sampling.delta_of(least + high * _COARSE) > delta:
        msg = (
            f"no budget keeps delta within {delta:.3g} at k = {sampling.k} and beta = "
            f"{plain_text(sampling.beta)}; raise k, or lower beta{_or_fewer(sampling.rows)}"
        )
        raise PlanError(msg)
    while high - low > 1:
        middle = (low + high) // 2
        fits = sampling.delta_of(least + middle * _COARSE) <= delta
        low, high = (low, middle) if fits else (middle, high)
    return least + high * _COARSE
