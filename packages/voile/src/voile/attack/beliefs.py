"""What an adversary believes of a sensitive value, and how good his best guess is.

Arrays over t targets and the v different values that a release shows of the column.  Cost: O(t v).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile.attack.wanted import Wanted

__all__ = ["ROUNDING", "Beliefs", "Judged", "chance_of_best", "given_to", "is_certain", "share_of"]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

ROUNDING = 1e-9
"""Relative difference up to which two probabilities count as equal: sums differ by rounding."""


@dataclass(frozen=True, eq=False)
class Beliefs:
    """What the adversary believes of some targets, and what is true of them; private."""

    wanted: Wanted
    """The column whose values they are about."""
    posterior: Floats
    """Shape (t, v): the probability of each value with the release; rows add up to 1."""
    prior: Floats
    """Shape (v,): the share of each value in all published rows."""
    right: Mask
    """Shape (t, v): whether naming the value is right about the target."""
    fits: Mask
    """Shape (t,): whether any published row fits; of others he believes what he did before."""

    @property
    def certain(self) -> Mask:
        """Shape (t,): of whom all rows that fit show one value."""
        return self.fits & is_certain(self.posterior)


@dataclass(frozen=True, eq=False)
class Judged:
    """What an attack came to for t targets, shape (t,) each; private."""

    success: Floats
    """The chance that it succeeds."""
    probability: Floats
    """What the adversary gives to the truth."""
    baseline: Floats
    """The chance that guessing without the release succeeds."""
    remarks: Mapping[str, Floats]
    """Whatever the notes of the attack are about, by name."""

    @classmethod
    def joined(cls, parts: Sequence[Judged]) -> Judged:
        """The targets of all parts."""
        return cls(
            success=np.concatenate([part.success for part in parts]),
            probability=np.concatenate([part.probability for part in parts]),
            baseline=np.concatenate([part.baseline for part in parts]),
            remarks={
                name: np.concatenate([part.remarks[name] for part in parts])
                for name in parts[0].remarks
            },
        )


def chance_of_best(scores: Floats, right: Mask) -> Floats:
    """The chance that the best-scored value is right, shape (t,); of equals one is drawn.

    ``scores`` is (t, v), or (v,) for the same scores of everybody.
    """
    top = scores.max(axis=-1, keepdims=True)
    best = np.broadcast_to(scores >= top * (1 - ROUNDING), right.shape)
    chance: Floats = (best & right).sum(axis=1) / best.sum(axis=1)
    return chance


def given_to(belief: Floats, right: Mask) -> Floats:
    """The probability that beliefs, (t, v) or (v,), give to what is right, shape (t,)."""
    given: Floats = np.minimum(np.where(right, belief, 0.0).sum(axis=1), 1.0)  # of many parts
    return given


def is_certain(belief: Floats) -> Mask:
    """Whether only one value is believed, shape (t,)."""
    certain: Mask = belief.max(axis=1) >= 1 - ROUNDING
    return certain


def share_of(marked: Floats) -> str:
    """How many targets a mark (t,) singles out, in words."""
    count = int(np.count_nonzero(marked))
    return f"{count:,} of {len(marked):,} targets ({count / len(marked):.1%})"
