"""Whether people of one side score higher than those of another by more than chance; private.

Where a file tells of its own people what it tells of everybody, people of the original and of the
control are exchangeable. Of the m highest scores of both sides, m = 8, 11, 16, 22, ..., it is
asked how many are the original's, and held against a binomial distribution under which its people
are ``_TIMES`` as likely to be there: a control of another year is not found. The least
probability is held against ``_ALARM`` over the number of questions (Bonferroni). One person alone
is told where the score lies so far beyond the control's highest that a tail that falls like the
control's (exponentially) reaches it with less than that probability.

Cost: a sort a score.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from voile.attack.protocol import Estimate

__all__ = ["Excess", "excess_of", "least_seen"]

Floats = NDArray[np.float64]

_ALARM = 0.002
"""The probability with which people are told who are beyond the control by chance alone."""
_TIMES = 1.5
"""How many times as often people of one side may score high who differ as two years do."""
_FIRST = 8
"""How many of the highest scores are looked at first."""
_TAIL, _TAIL_OF = 0.05, 100
"""The share of the control that tells how fast its scores fall, and of how many people at least."""


@dataclass(frozen=True)
class Excess:
    """People of the original from some score on, beside those of the control."""

    own: int = 0
    other: int = 0
    sizes: tuple[int, int] = (0, 0)
    """How many people were looked at on both sides."""
    probability: float = 1.0
    """That chance tells as much, of one question."""

    @property
    def rates(self) -> tuple[Estimate, Estimate]:
        """The shares of both sides."""
        first, second = self.sizes
        return Estimate.of_total(self.own, first), Estimate.of_total(self.other, second)

    @property
    def at_least(self) -> int:
        """How many people of the original the control does not explain, as far as is sure."""
        return max(1, int(self.own - self.sizes[0] * self.rates[1].high))


def excess_of(scores: Mapping[str, tuple[Floats, Floats]]) -> tuple[Excess, bool]:
    """What tells most of several scores, of the original and of the control, and whether surely."""
    asked = [one for own, other in scores.values() for one in _asked(own, other)]
    if not asked:
        return Excess(sizes=next((len(a), len(b)) for a, b in scores.values())), False
    sure = [one for one in asked if one.probability * len(asked) < _ALARM]
    if sure:
        return max(sure, key=lambda one: one.at_least), True
    return min(asked, key=lambda one: one.probability), False


def _asked(own: Floats, other: Floats) -> Iterator[Excess]:
    """Each question of one score."""
    both = np.sort(np.concatenate((own, other)))[::-1]
    sizes = len(own), len(other)
    if not min(sizes):
        return
    share = _TIMES * sizes[0] / (_TIMES * sizes[0] + sizes[1])
    tops = [int(_FIRST * 2 ** (step / 2)) for step in range(2 * len(both).bit_length())]
    for limit in dict.fromkeys(float(both[top - 1]) for top in tops if top <= len(both) // 2):
        a, b = int((own >= limit).sum()), int((other >= limit).sum())
        yield Excess(a, b, sizes, float(special.bdtrc(a - 1, a + b, share)) if a else 1.0)
    if len(other) >= _TAIL_OF:
        tail = np.sort(other)[::-1][: max(20, int(len(other) * _TAIL))]
        falls = float((tail - tail[-1]).mean())
        beyond = (float(own.max()) - float(tail[0])) / falls if falls > 0 else 0.0
        chance = float(np.exp(-max(beyond, 0))) * _TIMES * sizes[0] / sizes[1]
        yield Excess(int((own > tail[0]).sum()), 0, sizes, min(chance, 1.0))


def least_seen(sizes: tuple[int, int]) -> int:
    """How many people of the original, all above the control, are the fewest to be told."""
    first, second = sizes
    if not min(sizes):
        return first + 1
    share = _TIMES * first / (_TIMES * first + second)
    fewest = int(np.ceil(np.log(_ALARM / 50) / np.log(share)))
    return max(_FIRST, int(1.5 * fewest))
