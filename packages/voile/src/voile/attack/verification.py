"""Whether what an adversary claims is true: a comparison with the private original.

Private: it reads private rows without protection.  It tells counts only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import polars as pl

from voile.attack.result import Victim
from voile.schema.numbers import ExactNumbers
from voile.table.alignment import Codes, common_places, joint_codes
from voile.table.binding import exact_numbers
from voile_base.errors import TableError

__all__ = ["VictimCounts", "verify"]


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

    def document(self) -> dict[str, Any]:
        """The counts for JSON."""
        return {**asdict(self), "share": self.share}


def verify(victims: Sequence[Victim], original: pl.DataFrame, sensitive: str) -> VictimCounts:
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
        [exact_numbers(rows[sensitive])] + [ExactNumbers.of(victim.values) for victim in victims]
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
