"""The skewness attack: a value that is rare in the table is likely in a group.

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
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from voile.attack.asking import asks
from voile.attack.attribute import AttributeAttack
from voile.attack.beliefs import ROUNDING, Beliefs, Judged, given_to, share_of
from voile.attack.wanted import Wanted
from voile_base.errors import InputError

__all__ = ["SkewnessAttack", "ordered_distance", "tree_distance", "variation"]

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

    def _goal(self, wanted: Wanted) -> str:
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
            remarks["ordered"] = ordered_distance(posterior, prior)
        if (levels := beliefs.wanted.tree) is not None:
            remarks["hierarchical"] = tree_distance(posterior, prior, levels)
        return Judged(
            success=success,
            probability=np.where(success > 0, own, 0.0),
            baseline=np.where(bets, prior, 0.0).sum(axis=1),
            remarks=remarks,
        )

    def _notes(self, judged: Judged, wanted: Wanted) -> Iterator[str]:
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


def ordered_distance(posterior: Floats, prior: Floats) -> Floats:
    """Earth mover's distance where the v values are in order, shape (t,), between 0 and 1."""
    surplus = np.cumsum(posterior - prior, axis=1)
    distances: Floats = np.abs(surplus).sum(axis=1) / max(len(prior) - 1, 1)
    return distances


def tree_distance(posterior: Floats, prior: Floats, levels: NDArray[np.int64]) -> Floats:
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
