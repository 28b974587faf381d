"""The exponential mechanism, with exactly the stated probabilities, over millions of candidates.

What it does: of n candidates with whole-number utilities u_i and multiplicities m_i, draws i with
probability proportional to m_i exp(rate u_i).

Source: McSherry, Talwar, "Mechanism Design via Differential Privacy" (FOCS 2007).

Guarantee: the draw is epsilon-differentially private if no u_i differs by more than the
sensitivity between neighbouring data sets, with rate = epsilon / (2 sensitivity).  For
``monotone`` utilities rate = epsilon / sensitivity is enough: of any two neighbours, one has all
its utilities at least as high as the other.  (Then all weights grow by factors between 1 and
e^epsilon, and so does their sum.)  Counts are monotone when one row is added or removed; a
distance to a wanted rank is not, and nothing that counts is when a row is replaced.
Multiplicities must be public.  A draw by floating-point weights has no such guarantee: rounding
can make the weight of a candidate 0 in one data set and not in the other (Ilvento, CCS 2020).

Algorithm: rejection from a whole-number envelope.
1. In floating point, a_i = m_i exp(rate (u_i - max u)) with an error bound; whole numbers
   W_i >= s a_i above the bound, for a scale s such that the sum of W_i stays below 2^61.
2. Draw i with probability W_i / sum of W, exactly, with whole numbers only.
3. Accept i with probability s a_i / W_i, exactly (``voile.dp.exact``); else go to 2.
Proof: a round accepts i with probability (W_i / sum W) (s a_i / W_i), proportional to a_i, whatever
the W_i are.  The floating-point numbers decide how often a round fails (about n 2^-59), never the
distribution.  Assumption: ``numpy.exp`` errs by less than 64 units in the last place; its tests
allow 4.

Cost: 60 ns a candidate, and 0.2 ms for each round.

Departure from the source: none in the distribution.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.dp.exact import bernoulli, decay, uniform_below
from voile_base.errors import PlanError

__all__ = ["ExponentialMechanism"]

_TOTAL = 2.0**59  # of the envelope, before it is rounded upwards
_UNIT_ROUNDOFF = 2.0**-52
_EXP_ERROR = 80.0  # units in the last place: 64 of exp, and what the products around it add
_INT64_SAFE = 2**62


@dataclass(frozen=True)
class ExponentialMechanism:
    """A choice among candidates that is epsilon-differentially private.

    Raises ``PlanError`` unless ``epsilon`` and ``sensitivity`` are above 0.
    """

    epsilon: Decimal | Fraction
    sensitivity: Fraction
    """The most by which one row moves a utility, in the units in which utilities are given."""
    monotone: bool = False
    """Whether one row moves no two utilities in opposite directions."""

    def __post_init__(self) -> None:
        if not self.epsilon > 0 or not self.sensitivity > 0:
            msg = "the exponential mechanism needs an epsilon and a sensitivity above 0"
            raise PlanError(msg)

    @property
    def rate(self) -> Fraction:
        """The factor of a utility in the exponent."""
        return Fraction(self.epsilon) / self.sensitivity / (1 if self.monotone else 2)

    def draw(
        self,
        utilities: NDArray[Any],
        words: Iterator[int],
        multiplicities: NDArray[Any] | None = None,
    ) -> int:
        """The index of the chosen candidate.

        ``utilities`` are whole numbers, shape (n,), int64 or object.  ``multiplicities`` are whole
        numbers of at least 0, not all 0; 1 by default.  ``words`` are independent uniform words
        of 64 bits, such as ``voile.dp.exact.uniform_words`` gives.
        """
        if multiplicities is None:
            multiplicities = np.ones(len(utilities), dtype=np.int64)
        below = _below_best(utilities, multiplicities)
        envelope, scale = _envelope(below, multiplicities, float(self.rate))
        reached = np.cumsum(envelope)
        while True:
            drawn = uniform_below(int(reached[-1]), words)
            index = int(np.searchsorted(reached, drawn, side="right"))
            ratio = scale * int(multiplicities[index]) / int(envelope[index])
            if self._accepts(int(below[index]), ratio, words):
                return index

    def _accepts(self, below: int, ratio: Fraction, words: Iterator[int]) -> bool:
        """A coin of probability ratio exp(-rate below), which is below 1."""

        def probability(digits: int) -> tuple[Fraction, Fraction]:
            low, high = decay(self.rate * below, digits)
            return ratio * low, ratio * high

        return bernoulli(probability, words)


def _below_best(utilities: NDArray[Any], multiplicities: NDArray[Any]) -> NDArray[Any]:
    """By how much each utility is below the best of those that can be drawn; others get 0."""
    offered = multiplicities > 0
    if not offered.any() or (multiplicities < 0).any():
        raise ValueError("multiplicities must be at least 0, and one of them above 0")
    best = int(utilities[offered].max())
    if max(abs(best), abs(int(utilities.min()))) >= _INT64_SAFE:
        utilities = utilities.astype(object)
    below: NDArray[Any] = np.where(offered, best - utilities, 0)
    return below


def _envelope(
    below: NDArray[Any], multiplicities: NDArray[Any], rate: float
) -> tuple[NDArray[np.int64], Fraction]:
    """Whole numbers above s m exp(-rate below), 0 where m is 0, with a sum below 2^61; and s.

    The relative error of exp(-x) is that of exp, plus 2 units in the last place for each unit of
    x, which is itself the product of two rounded numbers.  What is too small for a double is
    below the 2 that is added.
    """
    if below.dtype == np.object_:
        below = np.minimum(below, 10**300)
    exponent = below.astype(np.float64) * rate
    times = multiplicities.astype(np.float64)
    weight = np.exp(-exponent) * times
    scale = _TOTAL / float(weight.sum())
    weight *= scale
    weight *= 1 + _UNIT_ROUNDOFF * (_EXP_ERROR + 4 * exponent)
    envelope: NDArray[np.int64] = np.where(times > 0, np.floor(weight) + 2, 0).astype(np.int64)
    return envelope, Fraction(scale)
