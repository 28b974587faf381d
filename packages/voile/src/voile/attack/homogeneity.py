"""The homogeneity attack: to know a person's sensitive value, the person's row is not needed.

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
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from voile.attack.attribute import AttributeAttack
from voile.attack.beliefs import Beliefs, Judged, chance_of_best, given_to, share_of
from voile.attack.knowledge import WITHIN
from voile.attack.wanted import Wanted, check_distance

__all__ = ["HomogeneityAttack"]


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

    def _goal(self, wanted: Wanted) -> str:
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

    def _notes(self, judged: Judged, wanted: Wanted) -> Iterator[str]:
        certain, right = judged.remarks["certain"], judged.remarks["certain and right"]
        if certain.any():
            yield (
                f"all rows that fit show one value of {wanted.name!r} for {share_of(certain)}; "
                f"of these {right.sum():,.0f} have that value"
            )
        else:
            yield f"for none of the targets do all rows that fit show one value of {wanted.name!r}"
