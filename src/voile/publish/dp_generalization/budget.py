"""The budget of a release, and what of it goes into the choice of the node.

The release costs ``epsilon = epsilon_choice + excess``: the choice of the node is
epsilon_choice-differentially private, and publishing a sample through a fixed node is (excess,
delta)-differentially private, where delta falls as the excess grows and the excess is at least
-ln(1 - beta) (``voile.dp.sampling``).  A plan names the total, the choice, or both:

- the total and a bound on delta: the choice gets all that the bound leaves;
- the total alone: the choice gets the most that it can, and delta is what comes of it;
- the choice alone: the excess is the least that keeps delta within its bound;
- both: the excess is their difference.

Numbers are exact decimals; what is computed is rounded to the safe side.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal, localcontext

from voile.dp.sampling import delta_of
from voile.errors import PlanError
from voile.schema.numbers import plain_text

__all__ = ["SplitBudget", "least_excess", "split_budget"]

_STEP = Decimal("1e-9")
_COARSE = Decimal("1e-6")
_LARGEST_EXCESS = 40
"""Beyond it gamma is 1 for all purposes, and delta as small as it can be: beta**k."""


@dataclass(frozen=True)
class SplitBudget:
    """What a release spends."""

    choice: Decimal
    """Budget of the choice of the node, above 0."""
    excess: Decimal
    """Budget of publishing a sample, at least -ln(1 - beta)."""
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


def split_budget(
    k: int, beta: Decimal, epsilon: Decimal | None, choice: Decimal | None, delta: Decimal | None
) -> SplitBudget:
    """Divide a budget; raises ``PlanError`` where it cannot be had.

    At least one of ``epsilon`` and ``choice`` is given; ``delta`` is an upper bound, if given.
    """
    least = least_excess(beta) if delta is None else _excess_within(k, beta, delta)
    if epsilon is None:
        assert choice is not None
        return SplitBudget(choice, least, delta_of(k, beta, least))
    at = "" if delta is None else f" at delta = {delta:.3g}"
    excess = least if choice is None else epsilon - choice
    if excess >= epsilon:
        msg = (
            f"epsilon = {plain_text(epsilon)} leaves nothing for the choice: publishing a sample "
            f"of beta = {plain_text(beta)} with k = {k} alone costs {plain_text(least)}{at}; raise "
            "epsilon or k, or lower beta"
        )
        raise PlanError(msg)
    if choice is not None and excess < least:
        msg = (
            f"epsilon_choice = {plain_text(choice)} leaves {plain_text(excess)} of epsilon = "
            f"{plain_text(epsilon)} for publishing the sample, which costs at least "
            f"{plain_text(least)}{at}; raise epsilon, or lower epsilon_choice or beta"
        )
        raise PlanError(msg)
    return SplitBudget(epsilon - excess, excess, delta_of(k, beta, excess))


def _excess_within(k: int, beta: Decimal, delta: Decimal) -> Decimal:
    """The least excess that keeps delta within its bound, to a millionth; delta falls with it."""
    least = least_excess(beta)
    if delta_of(k, beta, least) <= delta:
        return least
    low, high = 0, int(_LARGEST_EXCESS / _COARSE)
    if delta_of(k, beta, least + high * _COARSE) > delta:
        msg = (
            f"no budget keeps delta within {delta:.3g} at k = {k} and beta = {plain_text(beta)}; "
            "raise k, or lower beta"
        )
        raise PlanError(msg)
    while high - low > 1:
        middle = (low + high) // 2
        fits = delta_of(k, beta, least + middle * _COARSE) <= delta
        low, high = (low, middle) if fits else (middle, high)
    return least + high * _COARSE
