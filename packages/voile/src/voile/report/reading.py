"""What follows from the documents of a record: rates of attacks, places of measures on a scale."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from voile.study.record import AttackDocument, MeasureDocument, Rates, StudyRecord, rates_of

__all__ = [
    "AttackReading",
    "MeasureReading",
    "attacks_of",
    "measures_of",
    "pairs_of",
]


@dataclass(frozen=True)
class AttackReading:
    """The outcome of one attack, with what follows from it."""

    document: AttackDocument
    rates: Rates | None
    """None where one of them is null: the attack was not measured."""
    rehearsed: bool
    """Whether it looked at a release made like this one of fewer rows."""

    @property
    def name(self) -> str:
        """The name of the attack."""
        return self.document["attack"]


@dataclass(frozen=True)
class MeasureReading:
    """One measure of utility, with what follows from it."""

    document: MeasureDocument
    rehearsed: bool

    @property
    def title(self) -> str:
        """The name as a reader sees it."""
        return self.document["title"] or self.document["measure"]

    @property
    def parts(self) -> Mapping[str, float]:
        """Values by column, pair or task, as far as they are numbers."""
        return {part: one for part, one in self.document["parts"].items() if one is not None}

    @property
    def lost(self) -> float | None:
        """The way from untouched (0) to useless (1).

        None where an end of it is not known, or where useless is no worse than untouched: of a
        value that cannot be predicted from the original either.
        """
        value, untouched = self.document["value"], self.document["untouched"]
        useless = self.document["useless"]
        if value is None or untouched is None or useless is None:
            return None
        scale = useless - untouched
        sensible = scale > 0 if self.document["better"] == "lower" else scale < 0
        return (value - untouched) / scale if sensible else None


def attacks_of(record: StudyRecord) -> tuple[AttackReading, ...]:
    """The attacks of a study, in the order of the record."""
    rehearsed = record.evidence["rehearsed"]
    return tuple(
        AttackReading(one, rates_of(one), one["attack"] in rehearsed) for one in record.attacks
    )


def measures_of(record: StudyRecord) -> tuple[MeasureReading, ...]:
    """The measures of a study, in the order of the record."""
    starts = tuple(f"{name}-" for name in record.evidence["rehearsed"])
    return tuple(
        MeasureReading(one, f"{one['measure']}-".startswith(starts)) for one in record.utility
    )


def pairs_of(
    parts: Mapping[str, float], columns: Sequence[str]
) -> Mapping[tuple[str, str], float] | None:
    """Parts by pairs of known columns, where all of them are named "one, another"; else None.

    Names of columns may hold commas: the split is where both sides are known.
    """
    known = set(columns)
    pairs = {}
    for part, value in parts.items():
        pair = next(((a, b) for a, b in _splits(part) if a in known and b in known), None)
        if pair is None or pair[0] == pair[1]:
            return None
        pairs[pair] = value
    return pairs or None


def _splits(part: str) -> Iterable[tuple[str, str]]:
    pieces = part.split(", ")
    for place in range(1, len(pieces)):
        yield ", ".join(pieces[:place]), ", ".join(pieces[place:])
