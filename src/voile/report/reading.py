"""The documents of a record as values with names; numbers may be texts where JSON had decimals.

What a record lacks is None, never 0 and never a default: a report says that it is not there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from voile.report.words import as_number
from voile.study.rates import Rates, rates_of
from voile.study.record import StudyRecord

__all__ = [
    "Attack",
    "Measure",
    "Person",
    "attacks_of",
    "may_be_published",
    "measures_of",
    "pairs_of",
]

_DIRECTIONS = {"lower": True, "higher": False}


@dataclass(frozen=True)
class Person:
    """One target of an attack: what was known, and the probability given to the truth."""

    known: Mapping[str, Any]
    probability: float | None
    """None where the record lacks it."""


@dataclass(frozen=True)
class Attack:
    """The outcome of one attack; rates are between 0 and 1."""

    name: str
    goal: str
    rates: Rates | None
    """None where the record lacks one of them: the attack was not measured."""
    probability: float | None
    worst: Person | None
    typical: Person | None
    assumptions: tuple[str, ...]
    notes: tuple[str, ...]
    untried: tuple[str, ...]
    """Adversaries who were left out though they may learn more."""
    rehearsed: bool
    """Whether it looked at a release made like this one of fewer rows."""


@dataclass(frozen=True)
class Measure:
    """One measure of utility."""

    name: str
    title: str
    value: float | None
    """None where it is no number."""
    lower_is_better: bool | None
    """None where the record does not say."""
    meaning: str
    untouched: float | None
    useless: float | None
    parts: Mapping[str, float]
    notes: tuple[str, ...]
    rehearsed: bool

    @property
    def lost(self) -> float | None:
        """The way from untouched (0) to useless (1).

        None where an end of it or its direction is not known, or where useless is no worse than
        untouched: of a value that cannot be predicted from the original either.
        """
        if self.value is None or self.untouched is None or self.useless is None:
            return None
        if self.lower_is_better is None:
            return None
        scale = self.useless - self.untouched
        sensible = scale > 0 if self.lower_is_better else scale < 0
        return (self.value - self.untouched) / scale if sensible else None


def attacks_of(record: StudyRecord) -> tuple[Attack, ...]:
    """The attacks of a study, in the order of the record."""
    rehearsed = set(record.evidence.get("rehearsed") or ())
    return tuple(_attack(document, rehearsed) for document in record.attacks)


def measures_of(record: StudyRecord) -> tuple[Measure, ...]:
    """The measures of a study, in the order of the record."""
    rehearsed = set(record.evidence.get("rehearsed") or ())
    return tuple(_measure(document, rehearsed) for document in record.utility)


def may_be_published(record: StudyRecord) -> bool | None:
    """Whether the release may be published; None where the record does not say."""
    said = record.release.get("publishable")
    return said if isinstance(said, bool) else None


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


def _attack(document: Mapping[str, Any], rehearsed: set[str]) -> Attack:
    probability = document.get("probability") or {}
    return Attack(
        name=str(document["attack"]),
        goal=str(document.get("goal", "")),
        rates=rates_of(document),
        probability=as_number(probability.get("value")),
        worst=_person(document.get("worst")),
        typical=_person(document.get("typical")),
        assumptions=_texts(document.get("assumptions")),
        notes=_texts(document.get("notes")),
        untried=_texts(document.get("untried")),
        rehearsed=document["attack"] in rehearsed,
    )


def _person(document: Mapping[str, Any] | None) -> Person | None:
    if not document:
        return None
    return Person(document.get("known") or {}, as_number(document.get("probability")))


def _measure(document: Mapping[str, Any], rehearsed: set[str]) -> Measure:
    parts = {str(k): as_number(v) for k, v in (document.get("parts") or {}).items()}
    return Measure(
        name=str(document["measure"]),
        title=str(document.get("title") or document["measure"]),
        value=as_number(document.get("value")),
        lower_is_better=_DIRECTIONS.get(str(document.get("better"))),
        meaning=str(document.get("meaning", "")),
        untouched=as_number(document.get("untouched")),
        useless=as_number(document.get("useless")),
        parts={part: value for part, value in parts.items() if value is not None},
        notes=_texts(document.get("notes")),
        rehearsed=any(f"{document['measure']}-".startswith(f"{name}-") for name in rehearsed),
    )


def _texts(texts: Iterable[object] | None) -> tuple[str, ...]:
    return tuple(map(str, texts or ()))
