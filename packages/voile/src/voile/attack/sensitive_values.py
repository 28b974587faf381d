"""Adversaries after a sensitive value: homogeneity, skewness and background knowledge.

The homogeneity attack: to know a person's sensitive value, the person's row is not needed.

What it does: for people whose quasi-identifiers are known exactly, finds how probable each
sensitive value is, and guesses the most probable one.  Where all rows that fit a person show one
value, it is certain, however many rows they are.

Source: Machanavajjhala, Kifer, Gehrke and Venkitasubramaniam, "l-diversity: privacy beyond
k-anonymity" (TKDD 2007), section 2.1; beliefs by its section 3.2 where the adversary knows nothing
beforehand.  A guess within a distance of the value counts where ``within`` says so: close values
give away as much as equal ones (Zhang, Koudas, Srivastava and Yu, "Aggregate query answering on
anonymized tables", ICDE 2007, section 1).

Adversary, beliefs, algorithm and cost: ``attribute``.

Success: the guess is the person's own value.  Baseline: always guessing the value that is most
common in the whole published column, for the same people.

Departures: the paper's adversary has a table of groups; this one weighs rows by all that a release
shows, noise and permuted columns included.

The skewness attack: a value that is rare in the table is likely in a group.

What it does: for people whose quasi-identifiers are known exactly, compares how probable each
sensitive value is with its share in the whole published column, and bets on all values that became
more than ``gain`` times as probable.  Somebody of whom one expects a disease of 1 % of all people
with 50 % is harmed, however diverse the group is.

Source: Li, Li and Venkatasubramanian, "t-closeness: privacy beyond k-anonymity and l-diversity"
(ICDE 2007), section 3.1, the skewness attack; beliefs before and after, and distances, by its
section 3.2 and 4.  The paper has no rate of success; this bet gives it one.

Adversary, beliefs and algorithm: ``attribute``; he knows the shares of the whole column beforehand.

Success: the person's own value is one that he bets on, so that the belief in the truth has grown
more than ``gain`` times.  Baseline: the same bets where values have the shares of the whole column,
as they do for somebody about whom the release tells nothing.

Claim: with P the beliefs about a person, Q the shares of the column and D their total variation,
bets on a set A of values with P(A) > gain Q(A) have P(A) - Q(A) <= D.  So where beliefs are the
shares of groups that are t-close by equal distances,

- in every group the bets succeed at most t more often than the baseline says;
- with ``gain`` above 1 they succeed for a share below t gain / (gain - 1); below 2 t by default;
- with ``gain`` = 1, over all people of the release, success - baseline is the mean of D.

The notes give the largest distance of a target's beliefs from the column: the total variation, the
earth mover's distance between the places of numbers in ascending order and, where the plan has a
hierarchy of the column, that on its tree.  On a t-close release the distance of its kind is at
most t.  The largest is over the targets, not over all groups: aim at all people to compare.

Cost: as ``attribute``; O(t v) for the distances, and once more for each level of a hierarchy.

The background knowledge attack: somebody who can rule out values learns the one that is left.

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

Algorithm and cost: ``attribute``, and a selection of the largest beliefs, O(t v) for each value
that is ruled out.

Departure: statements about single people; implications ("if Ann has flu, then Bob") are not known.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import field

import numpy as np
from numpy.typing import NDArray

from voile.attack.asking import asks
from voile.attack.attribute import (
    ROUNDING,
    AttributeAttack,
    Beliefs,
    Judged,
    SensitiveTarget,
    chance_of_best,
    check_distance,
    given_to,
    is_certain,
    share_of,
)
from voile.attack.protocol import WITHIN
from voile.release.release import Release
from voile.schema.plan import Plan
from voile_base.errors import InputError
from voile_base.ondemand import dataclass

__all__ = ["BackgroundKnowledgeAttack", "HomogeneityAttack", "SkewnessAttack", "variation"]


@dataclass(frozen=True)
class HomogeneityAttack(AttributeAttack):
    """An adversary who guesses the most probable sensitive value of a person.

    Raises ``InputError`` where no target is asked for, or ``within`` is not a finite
    number of at least 0.
    """

    within: float | None = field(
        default=None,
        metadata=WITHIN,
    )
    """For a numeric column: how far from the own value a guess is right; None: it is the value."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_distance(self.within)

    @property
    def name(self) -> str:
        """The name by which a command or a study asks for the attack."""
        return "homogeneity"

    @property
    def distance(self) -> float | None:
        """How far from the own value a guess is right."""
        return self.within

    def _goal(self, wanted: SensitiveTarget) -> str:
        return wanted.goal

    def _judged(self, beliefs: Beliefs) -> Judged:
        nearby = beliefs.wanted.nearby
        success = chance_of_best(nearby(beliefs.posterior), beliefs.right)
        certain = beliefs.certain.astype(np.float64)
        return Judged(
            success=success,
            probability=given_to(beliefs.posterior, beliefs.right),
            baseline=chance_of_best(nearby(beliefs.prior[np.newaxis]), beliefs.right),
            remarks={"certain": certain, "certain and right": certain * success},
        )

    def _notes(self, judged: Judged, wanted: SensitiveTarget) -> Iterator[str]:
        certain, right = judged.remarks["certain"], judged.remarks["certain and right"]
        if certain.any():
            yield (
                f"all rows that fit show one value of {wanted.name!r} for {share_of(certain)}; "
                f"of these {right.sum():,.0f} have that value"
            )
        else:
            yield f"for none of the targets do all rows that fit show one value of {wanted.name!r}"


Floats = NDArray[np.float64]


@dataclass(frozen=True)
class SkewnessAttack(AttributeAttack):
    """An adversary who bets on values that a release makes more probable than they were.

    Raises ``InputError`` where no target is asked for, or for a ``gain`` below 1.
    """

    gain: float = field(
        default=2.0,
        metadata=asks("--gain"),
    )
    """How many times as probable a value must become to be bet on, at least 1."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not (math.isfinite(self.gain) and self.gain >= 1):
            msg = "gain must be a number of at least 1: how many times more probable values become"
            raise InputError(msg)

    @property
    def name(self) -> str:
        """The name by which a command or a study asks for the attack."""
        return "skewness"

    def _goal(self, wanted: SensitiveTarget) -> str:
        return (
            f"the belief that {wanted.name!r} is what it is for the target grew more than "
            f"{self.gain:g} times"
        )

    def _judged(self, beliefs: Beliefs) -> Judged:
        posterior, prior = beliefs.posterior, beliefs.prior
        bets = posterior > prior * self.gain * (1 + ROUNDING)
        own = given_to(posterior, beliefs.right)
        success = given_to(bets.astype(np.float64), beliefs.right).clip(max=1.0)
        remarks = {"equal": variation(posterior, prior)}
        if beliefs.wanted.is_numeric:
            remarks["ordered"] = _ordered_distance(posterior, prior)
        if (levels := beliefs.wanted.tree) is not None:
            remarks["hierarchical"] = _tree_distance(posterior, prior, levels)
        return Judged(
            success=success,
            probability=np.where(success > 0, own, 0.0),
            baseline=np.where(bets, prior, 0.0).sum(axis=1),
            remarks=remarks,
        )

    def _notes(self, judged: Judged, wanted: SensitiveTarget) -> Iterator[str]:
        grown = judged.success
        whom = share_of(grown) if grown.any() else "none of the targets"
        yield f"beliefs in the own value grew more than {self.gain:g} times for {whom}"
        for kind, distances in judged.remarks.items():
            yield (
                f"largest distance of beliefs about {wanted.name!r} from the whole column: "
                f"{distances.max():.4f} ({_KINDS[kind]}); mean {distances.mean():.4f}"
            )


_KINDS = {
    "equal": "total variation: all values equally far apart",
    "ordered": "earth mover's distance of numbers in ascending order",
    "hierarchical": "earth mover's distance on the tree of the hierarchy",
}


def variation(posterior: Floats, prior: Floats) -> Floats:
    """Total variation of beliefs (t, v) from shares (v,), shape (t,), between 0 and 1."""
    distances: Floats = np.abs(posterior - prior).sum(axis=1) / 2
    return distances


def _ordered_distance(posterior: Floats, prior: Floats) -> Floats:
    """Earth mover's distance where the v values are in order, shape (t,), between 0 and 1."""
    surplus = np.cumsum(posterior - prior, axis=1)
    distances: Floats = np.abs(surplus).sum(axis=1) / max(len(prior) - 1, 1)
    return distances


def _tree_distance(posterior: Floats, prior: Floats, levels: NDArray[np.int64]) -> Floats:
    """Earth mover's distance on a tree, shape (t,): the mean of the variations at its levels.

    ``levels`` is (h, v): the node above each value at each level below the root, leaves first.
    """
    total = np.zeros(len(posterior))
    for nodes in levels:
        order = np.argsort(nodes, kind="stable")
        first = np.flatnonzero(np.diff(nodes[order], prepend=-1))
        total += variation(
            np.add.reduceat(posterior[:, order], first, axis=1),
            np.add.reduceat(prior[order], first),
        )
    return total / max(len(levels), 1)


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

    def _goal(self, wanted: SensitiveTarget) -> str:
        return f"{wanted.goal}, {self._knowledge}"

    def _assumptions(self, wanted: SensitiveTarget) -> Iterator[str]:
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

    def _notes(self, judged: Judged, wanted: SensitiveTarget) -> Iterator[str]:
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
    out = np.zeros(right.shape, dtype=np.bool_)
    one = np.arange(len(wrong))
    for _ in range(min(count, wrong.shape[1])):
        most = wrong.argmax(axis=1)
        out[one, most], wrong[one, most] = True, -2.0
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
