"""Differencing as one attack among others: a release against the earlier ones of its table.

``DifferencingAttack`` needs no original and tells each victim's story.  Here it has the form that
all attacks share, so that a study can put it beside them: an ``AttackOutcome``, whose targets are
all people of the releases, and in whose notes the worst claims are checked against the original.

Whether what an adversary claims is true: a comparison with the private original.

Private: it reads private rows without protection.  It tells counts only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, field, replace
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl

from voile.attack.asking import asks
from voile.attack.differencing import AttackResult, DifferencingAttack, Victim, permutes_sensitive
from voile.attack.protocol import Attack, AttackOutcome, check_names, require_sense
from voile.release.reading import People
from voile.release.release import Release
from voile.schema.numbers import ExactNumbers
from voile.schema.plan import Plan
from voile.table.alignment import Codes, common_places, joint_codes
from voile.table.arrays import frame_of, from_native
from voile.table.binding import exact_numbers
from voile_base.errors import TableError
from voile_base.ondemand import dataclass
from voile_base.randomness import Randomness
from voile_base.values import Json

__all__ = [
    "AgainstEarlierReleases",
    "VictimCounts",
]


@dataclass(frozen=True)
class VictimCounts:
    """Private counts of victims, as described by the attack."""

    victims: int
    right: int
    """Victims whose true values are among those that the attack left to them."""
    unknown: int
    """Victims whose quasi-identifiers are not in the original."""

    @property
    def share(self) -> float:
        """Share of the claims that are true, of those that can be checked."""
        checked = self.victims - self.unknown
        return self.right / checked if checked else 1.0

    def document(self) -> Json:
        """The counts for JSON."""
        return {**asdict(self), "share": self.share}

    @staticmethod
    def of(victims: Sequence[Victim], original: pl.DataFrame, sensitive: str) -> VictimCounts:
        """Count the victims whose true values are among the narrowed ones.

        Victims are found in the original by their quasi-identifiers, in columns of the same names.
        A victim who stands for several people is right if the original has at least as many rows
        that fit; the original may hold more rows than were published.  Raises ``TableError`` where
        the original lacks one of the columns, or its sensitive column is not numeric.
        """
        if not victims:
            return VictimCounts(0, 0, 0)
        known = list(victims[0].quasi_identifiers)
        _require(original, [*known, sensitive])
        rows = original.filter(pl.col(sensitive).is_not_null())
        claimed = pl.DataFrame(
            [dict(victim.quasi_identifiers) for victim in victims], infer_schema_length=None
        )
        victim_person, row_person = common_places([claimed, rows.select(known)])
        _, value_codes = joint_codes(
            [exact_numbers(rows[sensitive])]
            + [ExactNumbers.of(victim.values) for victim in victims]
        )
        order = np.argsort(row_person, kind="stable")
        people = row_person[order]
        start = np.searchsorted(people, victim_person)
        stop = np.searchsorted(people, victim_person, side="right")
        true: Codes = value_codes[0][order]
        fitting = [
            int(np.isin(true[first:last], claims).sum())
            for first, last, claims in zip(start, stop, value_codes[1:], strict=True)
        ]
        right = sum(fits >= victim.people for fits, victim in zip(fitting, victims, strict=True))
        return VictimCounts(len(victims), right, int((start == stop).sum()))


def _require(original: pl.DataFrame, columns: Sequence[str]) -> None:
    for column in columns:
        if column not in original.columns:
            msg = f"the private original has no column {column!r}, by which the victims are found"
            raise TableError(msg)
    if not original[columns[-1]].dtype.is_numeric():
        msg = f"column {columns[-1]!r} of the private original does not hold numbers"
        raise TableError(msg)


@dataclass(frozen=True)
class AgainstEarlierReleases(Attack):
    """An adversary who compares a release with earlier ones of the same table.

    Raises ``InputError`` where there is not one name for each release, and as
    ``DifferencingAttack`` does.
    """

    earlier: Sequence[Release] = ()
    """In any order; without any, the groups of the newest are held to its own promise."""
    names: Sequence[str] | None = None
    """Names of the newest and of the earlier releases, for people; made up if None."""
    k: int | None = field(
        default=None,
        metadata=asks("--k"),
    )
    """Fewer distinct values than this expose; None: what the newest release guarantees."""
    e: Decimal | None = field(
        default=None,
        metadata=asks("--e"),
    )
    """A range below this exposes; None: what the newest release guarantees."""
    most: int = field(
        default=10,
        metadata=asks("--most"),
    )
    """How many victims, the worst first, are checked against the original."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "earlier", tuple(self.earlier))
        check_names(self.names, self.earlier)
        _ = self._adversary  # which validates the rest

    @property
    def name(self) -> str:
        """The name by which a command or a study asks for the attack."""
        return "differencing"

    def refusal(self, release: Release, plan: Plan | None = None) -> str | None:
        """Why the attack makes no sense for a release, as a clause; None where it does."""
        if not permutes_sensitive(release):
            return (
                "it compares groups within which sensitive values are permuted, and the release "
                "permutes none"
            )
        return None

    def run(
        self,
        release: Release,
        original: Any,
        plan: Plan | None = None,
        randomness: Randomness | None = None,
    ) -> AttackOutcome:
        """Attack a release of a table, given as a data frame of any kind; private.

        Everybody is a target, so nothing is drawn.  Raises ``InputError`` or ``TableError`` where
        the releases and the original disagree, or where the attack makes no sense.
        """
        require_sense(self.name, self.refusal(release, plan))
        result = self._adversary.run(release, self.earlier, self.names)
        people = People(from_native(original)[0], plan)
        outcome = result.outcome()
        return replace(outcome, notes=(*outcome.notes, *_checked(result, people)))

    @property
    def _adversary(self) -> DifferencingAttack:
        return DifferencingAttack(k=self.k, e=self.e, most=self.most)


def _checked(result: AttackResult, people: People) -> list[str]:
    """A sentence on the claims about the worst victims, if there are any."""
    if not result.victims:
        return []
    wanted = (*result.victims[0].quasi_identifiers, result.sensitive)
    there = [name for name in wanted if name in people.frame.columns]
    original = frame_of(people.column(name) for name in there)
    found = VictimCounts.of(result.victims, original, result.sensitive)
    unknown = f"; {found.unknown:,} are not in the original" if found.unknown else ""
    claims = (
        "the claim about the worst victim"
        if found.victims == 1
        else (f"of the claims about the {found.victims:,} worst victims {found.right:,}")
    )
    verb = "is" if found.victims == 1 else "are"
    truth = "true" if found.victims > 1 or found.right else "false"
    return [f"{claims} {verb} {truth}{unknown}"]
