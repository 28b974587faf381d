"""From cells to people: whose candidate values are too few or too close together.

A person is known by quasi-identifiers.  The candidates of a person are the values of every cell
in which somebody with these quasi-identifiers can be; who of several people with the same
quasi-identifiers is meant, the adversary cannot know.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile.attack.evidence import SeenRelease
from voile.attack.inference import Inference
from voile.attack.result import Narrowing, Victim, VictimPosition
from voile.schema.numbers import ExactNumbers
from voile.table.alignment import Codes

__all__ = ["Exposure", "exposure"]


@dataclass(frozen=True, eq=False)
class Exposure:
    """The exposed persons, worst first."""

    inference: Inference
    persons: Codes
    """Codes of the exposed persons: fewest distinct values first, then the smallest range."""
    people: Codes
    """How many people each of them stands for."""
    everybody: int
    """People in all releases together."""
    chance: float
    """Mean over all people of the chance to guess among the values left, or somewhat more: where a
    person is in one of several groups, the richest of them may stand for all."""
    _cells_of: _Grouped
    _values_of: _Grouped

    @property
    def exposed(self) -> int:
        """Number of exposed people."""
        return int(self.people.sum())

    def victims(self, most: int | None = None) -> tuple[Victim, ...]:
        """The worst victims, at most so many; None for all."""
        chosen = self.persons[:most]
        rows = self.inference.evidence.persons[chosen].to_dicts() if len(chosen) else []
        explain = _Explanation(self.inference)
        return tuple(
            Victim(
                quasi_identifiers=row,
                people=int(people),
                values=tuple(self._levels(self._values(cells)).decimals()),
                alone=explain.alone(cells),
                places=explain.places(cells),
            )
            for row, people, cells in zip(
                rows, self.people, map(self._cells_of.members, chosen), strict=False
            )
        )

    def _values(self, cells: Codes) -> Codes:
        return np.unique(np.concatenate([self._values_of.members(cell) for cell in cells]))

    def _levels(self, codes: Codes) -> ExactNumbers:
        return self.inference.evidence.levels[codes]


def exposure(inference: Inference, k: int, e: int) -> Exposure:
    """Find everybody left with fewer than k distinct values or a range below e, in units."""
    evidence, cells = inference.evidence, inference.cells
    persons = len(evidence.persons)
    values_of = _Grouped.of(cells.values.cell, cells.values.item, len(cells.trail))
    shown = cells.trail[cells.people.cell].any(axis=1)  # others are in releases not used
    tuples, cell = cells.people.item[shown], cells.people.cell[shown]
    cells_of = _Grouped.of(evidence.person[tuples], cell, persons)
    people = np.bincount(evidence.person, inference.tuple_rows, persons).astype(np.int64)
    present = np.flatnonzero(cells_of.sizes)
    distinct, spread = _narrowness(cells_of.only(present), values_of, evidence.levels, k)
    poor = np.flatnonzero((distinct < k) | (spread < e).astype(np.bool_))
    worst = poor[np.lexsort((present[poor], spread[poor], distinct[poor]))]
    return Exposure(
        inference=inference,
        persons=present[worst],
        people=people[present[worst]],
        everybody=int(people.sum()),
        chance=float((people[present] / distinct).sum() / max(people.sum(), 1)),
        _cells_of=cells_of,
        _values_of=values_of,
    )


def _narrowness(
    cells_of: _Grouped, values_of: _Grouped, levels: ExactNumbers, k: int
) -> tuple[Codes, NDArray[np.object_] | Codes]:
    """Distinct values of each person, and their range in units.

    Where the range of a person with several cells is large, and one cell alone has k values, the
    distinct values are those of the richest cell: enough to know that the person is safe.
    """
    low = levels.units[values_of.member[values_of.start[:-1]]]
    high = levels.units[values_of.member[values_of.start[1:] - 1]]
    first, cell = cells_of.start[:-1], cells_of.member
    spread = np.maximum.reduceat(high[cell], first) - np.minimum.reduceat(low[cell], first)
    distinct = np.maximum.reduceat(values_of.sizes[cell], first)
    for person in np.flatnonzero((cells_of.sizes > 1) & (distinct < k)).tolist():
        union = [values_of.members(one) for one in cells_of.members(person)]
        distinct[person] = len(np.unique(np.concatenate(union)))
    return distinct, spread


@dataclass(frozen=True, eq=False)
class _Grouped:
    """Distinct members of each of n owners, ascending; ``start`` is (n + 1,)."""

    member: Codes
    start: Codes

    @classmethod
    def of(cls, owner: Codes, member: Codes, owners: int) -> _Grouped:
        width = int(member.max(initial=0)) + 1
        pairs = np.unique(owner * width + member)
        return cls(pairs % width, np.searchsorted(pairs // width, np.arange(owners + 1)))

    @property
    def sizes(self) -> Codes:
        return np.diff(self.start)

    def members(self, owner: int) -> Codes:
        return self.member[self.start[owner] : self.start[owner + 1]]

    def only(self, owners: Codes) -> _Grouped:
        """Some owners in ascending order, which are all that have members."""
        return _Grouped(self.member, np.append(self.start[owners], len(self.member)))


class _Explanation:
    """Why the candidates of a person are what they are, in groups of releases."""

    def __init__(self, inference: Inference) -> None:
        self._evidence = inference.evidence
        self._trail = inference.cells.trail
        # Cells, and values, by group of each release.
        self._cells_in = [
            _Grouped.of(groups, np.arange(len(groups)), len(release.labels))
            for groups, release in zip(self._trail.T, self._evidence.releases, strict=True)
        ]
        self._values_in = [
            _Grouped.of(release.values.group, release.values.item, len(release.labels))
            for release in self._evidence.releases
        ]

    def alone(self, cells: Codes) -> Narrowing:
        """What the newest release that shows the person leaves by itself."""
        release, groups = self._anchor(cells)
        values_in = self._values_in[release]
        values = np.unique(np.concatenate([values_in.members(group) for group in groups]))
        return Narrowing.of(self._evidence.levels[values].decimals())

    def places(self, cells: Codes) -> tuple[VictimPosition, ...]:
        """Where the person stands in each release, and what was subtracted from where."""
        anchor, groups = self._anchor(cells)
        related = np.concatenate([self._cells_in[anchor].members(group) for group in groups])
        return tuple(
            _place(release, self._trail[cells, index], self._trail[related, index])
            for index, release in enumerate(self._evidence.releases)
        )

    def _anchor(self, cells: Codes) -> tuple[int, Codes]:
        """The newest release in which the person can be, and the groups there."""
        shown = self._trail[cells].any(axis=0)
        release = int(np.argmax(shown))
        groups = np.unique(self._trail[cells, release])
        return release, groups[groups > 0]


def _place(release: SeenRelease, own: Codes, related: Codes) -> VictimPosition:
    groups = np.unique(own[own > 0])
    others = np.unique(related[related > 0]) if len(groups) == 0 else groups[:0]
    return VictimPosition(
        release=release.name,
        groups=tuple(release.labels[groups].tolist()),
        absent=bool((own == 0).any()),
        subtracted=tuple(release.labels[others].tolist()),
    )
