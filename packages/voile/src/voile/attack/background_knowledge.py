"""The background knowledge attack: somebody who can rule out values learns the one that is left.

What it does: as the homogeneity attack, for an adversary who also knows of each person a number of
sensitive values that the person does not have ("Japanese hardly get heart disease").

Source: Machanavajjhala, Kifer, Gehrke and Venkitasubramaniam, "l-diversity: privacy beyond
k-anonymity" (TKDD 2007), section 2.1 and, for knowledge as a number of values ruled out, section
4.1: in a group whose values are l-diverse, fewer than l - 1 values ruled out never make certain.

Adversary: that of ``attribute``, and for each person ``ruled_out`` values are ruled out that serve
him best: the most probable of those that the person does not have.  That is the worst case, and
stronger than any l - 2 statements that the paper's adversary may happen to know.

Success: the most probable of the values left is the person's own; that is so exactly where the own
value is among the ``ruled_out`` + 1 most probable.  Baseline: an adversary of as much knowledge
who has not seen the release, which is again the knowledge that serves him best: for each person
the most common values of the whole published column are ruled out, but the own one.  The notes
tell how often he is right whose knowledge is that of the attack, chosen by the release.

Algorithm and cost: ``attribute``, and a selection of the largest beliefs, O(t v).

Departure: statements about single people; implications ("if Ann has flu, then Bob") are not known.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from voile.attack.asking import asks
from voile.attack.attribute import AttributeAttack
from voile.attack.beliefs import Beliefs, Judged, chance_of_best, given_to, is_certain, share_of
from voile.attack.wanted import Wanted
from voile.release.release import Release
from voile.schema.plan import Plan
from voile_base.errors import InputError

__all__ = ["BackgroundKnowledgeAttack"]

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class BackgroundKnowledgeAttack(AttributeAttack):
    """An adversary who can rule out sensitive values that a person does not have.

    Raises ``InputError`` where no target or no value to rule out is asked for.
    """

    ruled_out: int = field(
        default=1,
        metadata=asks("--ruled-out"),
    )
    """How many values he can rule out for each target, at least 1."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.ruled_out < 1:
            msg = (
                "ruled_out must be at least 1: it is the number of values that the adversary can "
                "rule out; without any this is the homogeneity attack"
            )
            raise InputError(msg)

    @property
    def name(self) -> str:
        """The name by which a command or a study asks for the attack."""
        return "background-knowledge"

    def refusal_of_column(self, release: Release, plan: Plan | None) -> str | None:
        """Why the attack makes no sense for the column that is named; None where it does."""
        if reason := super().refusal_of_column(release, plan):
            return reason
        name = str(self.sensitive)
        shown = len(release.table.count(list(release.disclosure.columns_of(name))).rows)
        if shown > self.ruled_out + 1:
            return None
        many = "one value" if shown == 1 else f"{shown:,} values"
        return f"{name!r} has {many}, and with {self._values} ruled out one is left in any case"

    def _goal(self, wanted: Wanted) -> str:
        return f"{wanted.goal}, {self._knowledge}"

    def _assumptions(self, wanted: Wanted) -> Iterator[str]:
        yield (
            f"of {wanted.name!r} he can rule out {self._values} that the target does not have, "
            "those that serve him best"
        )

    def _judged(self, beliefs: Beliefs) -> Judged:
        prior = np.broadcast_to(beliefs.prior, beliefs.right.shape)
        out = _worst(beliefs.posterior, beliefs.right, self.ruled_out)
        left = _without(beliefs.posterior, out, prior)
        guessed = _without(prior, _worst(prior, beliefs.right, self.ruled_out), prior)
        certain = beliefs.fits & is_certain(left)
        return Judged(
            success=chance_of_best(left, beliefs.right),
            probability=given_to(left, beliefs.right),
            baseline=chance_of_best(guessed, beliefs.right),
            remarks={
                "certain": certain.astype(np.float64),
                "same knowledge": chance_of_best(_without(prior, out, prior), beliefs.right),
            },
        )

    def _notes(self, judged: Judged, wanted: Wanted) -> Iterator[str]:
        certain = judged.remarks["certain"]
        whom = share_of(certain) if certain.any() else "none of the targets"
        yield f"one value of {wanted.name!r} is left for {whom}, {self._knowledge}"
        same = judged.remarks["same knowledge"].mean()
        yield (
            f"somebody who can rule out the very same values, and has not seen the release, is "
            f"right about {same:.1%} of the targets"
        )

    @property
    def _values(self) -> str:
        return "one value" if self.ruled_out == 1 else f"{self.ruled_out:,} values"

    @property
    def _knowledge(self) -> str:
        return f"with {self._values} ruled out"


def _worst(belief: Floats, right: Mask, count: int) -> Mask:
    """The values, at most so many, that are wrong and believed most, shape (t, v).

    Of equally probable values the first ones: which of them are ruled out changes no rate.
    """
    wrong = np.where(right, -1.0, belief)
    places = np.argsort(-wrong, axis=1, kind="stable")[:, :count]
    out = np.zeros(right.shape, dtype=np.bool_)
    np.put_along_axis(out, places, values=True, axis=1)
    return out & ~right


def _without(belief: Floats, out: Mask, otherwise: Floats) -> Floats:
    """Beliefs (t, v) once values are ruled out, adding up to 1.

    Somebody who believed nothing else believes what remains of ``otherwise``.
    """
    left = np.where(out, 0.0, belief)
    nothing = left.sum(axis=1) <= 0
    left[nothing] = np.where(out[nothing], 0.0, otherwise[nothing])
    total = left.sum(axis=1, keepdims=True)
    left /= np.where(total > 0, total, 1.0)
    return left
