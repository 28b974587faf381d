"""Cells from the evidence, under the strongest assumption that the files do not contradict.

- Growing: nobody leaves and nothing changes, so a release holds everybody of the older ones.
  Then whatever a release lacks of the newest is known exactly, value by value.
- Otherwise people may have left, but nobody's value or published attributes changed, and equal
  tuples in two releases are the same people, as far as their numbers allow.  Then only how many
  people are missing from a release is known, not which values they have.

A release that contradicts even that with the newer ones is left out.  So is one whose tuples are
too common to tell cells apart.  Both only weaken what is inferred; both are noted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from voile.attack.cells import ContradictionError, Placement, TokenCells, TooManyPairsError
from voile.attack.evidence import SeenRelease, SeriesEvidence, TokenCounts
from voile.table.alignment import Codes

__all__ = ["Inference", "infer"]

_GROWING = (
    "between the releases nobody left, and nobody's value or published attributes changed; the "
    "files do not contradict this"
)
_LEAVING = (
    "people may have left between the releases, but nobody's value or published attributes "
    "changed, and people who look the same in two releases are the same people"
)

_CONTRADICTION = (
    "the releases contradict each other if nobody left between them, so people left or were "
    "changed, and less is certain"
)
_CHANGED = (
    "is left out: values or people changed between it and the newer releases, so nothing follows "
    "from comparing them"
)
_TOO_COMMON = (
    "is left out: its people and values are too common to compare it with the newer releases in "
    "memory; more could follow from it"
)


@dataclass(frozen=True, eq=False)
class Inference:
    """Everything that follows from the evidence."""

    evidence: SeriesEvidence
    """The releases that were used."""
    cells: TokenCells
    tuple_rows: Codes
    """How many people have each tuple, in all used releases together."""
    assumptions: tuple[str, ...]
    notes: tuple[str, ...]


class _Contradicted(Exception):  # noqa: N818 - a branch of the search, never seen outside
    def __init__(self, release: SeenRelease) -> None:
        self.release = release


def infer(evidence: SeriesEvidence) -> Inference:
    """Combine all releases; the newest comes first in the evidence and is always used."""
    held = evidence.only(_by_age(evidence.releases))
    losses = _losses(held)
    notes: list[str] = []
    while True:
        try:
            cells, used = _combined(held, growing=not losses)
            break
        except _Contradicted as contradicted:
            if not losses:
                losses = [_CONTRADICTION]
                continue
            notes.append(f"{contradicted.release.name} {_CHANGED}")
            held = held.only([one for one in held.releases if one is not contradicted.release])
            losses = _losses(held)
    notes += losses
    notes += [f"{one.name} {_TOO_COMMON}" for one in held.releases if one not in used]
    return Inference(
        evidence=held.only(used),
        cells=cells,
        tuple_rows=_tuple_rows(used, held.tuples),
        assumptions=(_LEAVING if losses else _GROWING,) if len(used) > 1 else (),
        notes=tuple(notes),
    )


def _tuple_rows(releases: Sequence[SeenRelease], tuples: int) -> Codes:
    """How many people there are at least with each tuple, in all releases together."""
    most: Codes = np.max([release.people.totals(tuples) for release in releases], axis=0)
    return most


def _by_age(releases: tuple[SeenRelease, ...]) -> list[SeenRelease]:
    """The newest release, then the others from the largest to the smallest.

    Where nobody leaves, the smaller of two releases is the older.
    """
    return [releases[0], *sorted(releases[1:], key=lambda release: -release.rows)]


def _losses(evidence: SeriesEvidence) -> list[str]:
    """What releases show that the next newer one does not; empty if nobody can have left."""
    notes = []
    releases = evidence.releases
    for older, newer in zip(releases[1:], releases, strict=False):
        people = _missing(older.people, newer.people, evidence.tuples)
        values = _missing(older.values, newer.values, len(evidence.levels))
        if people or values:
            notes.append(
                f"of the people and the values of {older.name}, {people:,} and {values:,} are "
                f"missing in {newer.name}: people left or were changed, and less is certain"
            )
    return notes


def _missing(older: TokenCounts, newer: TokenCounts, items: int) -> int:
    return int(np.maximum(older.totals(items) - newer.totals(items), 0).sum())


def _combined(evidence: SeriesEvidence, *, growing: bool) -> tuple[TokenCells, list[SeenRelease]]:
    """Cells of all releases under one assumption, and the releases that could be used.

    Raises ``_Contradicted`` for the first release, from the newest to the oldest, that cannot be
    reconciled with those before it.
    """
    tuple_rows = _tuple_rows(evidence.releases, evidence.tuples)
    everybody = int(tuple_rows.sum())
    newest = evidence.releases[0].values
    levels = len(evidence.levels)
    value_rows = newest.totals(levels) if growing else np.full(levels, everybody)
    cells = TokenCells.undivided(value_rows, tuple_rows, growing=growing)
    tuples_left, values_left = tuple_rows, value_rows
    used: list[SeenRelease] = []
    for release in evidence.releases:
        tuples_here = release.people.totals(evidence.tuples)
        values_here = release.values.totals(levels)
        tuples_gone = tuples_left - tuples_here
        # Where people leave, anything may be the value of somebody who is not in the release.
        least = values_left - values_here if growing else np.zeros(levels, np.int64)
        most = least if growing else np.full(levels, everybody - release.rows)
        width = len(release.labels) + 1
        try:
            cells = cells.refined(
                _placement(release.values, value_rows - values_left, (least, most), width),
                _placement(release.people, tuple_rows - tuples_left, (tuples_gone,) * 2, width),
            )
        except ContradictionError:
            raise _Contradicted(release) from None
        except TooManyPairsError:
            continue  # what the other releases tell stays true
        used.append(release)
        if growing:
            tuples_left, values_left = tuples_here, values_here
    return cells, used


def _placement(seen: TokenCounts, never: Codes, gone: tuple[Codes, Codes], width: int) -> Placement:
    """Sightings in groups, and both ways of being absent; see ``Placement``.

    ``never`` tokens are not in the newer release either; of those that are, at least ``gone[0]``
    and at most ``gone[1]`` are absent.
    """
    before, away = np.flatnonzero(never), np.flatnonzero(gone[1])
    item = np.concatenate((seen.item, before, away))
    group = np.concatenate((seen.group, np.zeros_like(before), np.full_like(away, width - 1)))
    order = np.argsort(item * width + group)
    return Placement(
        item=item[order],
        group=group[order],
        least=np.concatenate((seen.rows, never[before], gone[0][away]))[order],
        most=np.concatenate((seen.rows, never[before], gone[1][away]))[order],
        width=width,
    )
