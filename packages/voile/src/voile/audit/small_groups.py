"""Group disclosure: what a file tells of the few who share what others know of them; private.

Of each small group, people who share the values of a set of columns (``scenarios``) with fewer than
``_SMALL`` others on both sides together, the rows that fit are looked at.  Where at least
``_NEARLY`` of them show one cell of a sensitive column, that value is told of all of the group,
whoever of them is meant: the homogeneity of Machanavajjhala et al., "l-diversity" (ICDE 2006), and
group disclosure in Duncan, Elliot and Salazar-Gonzalez, "Statistical Confidentiality" (2011).  It
succeeds where the value is the person's.  The same of small groups of the control is what the file
tells of everybody; guessing tells the most frequent cell of all rows.

Of several sets that one is named which finds most; their intervals hold together (``risk``).

Cost: t n look-ups a column for t targets and n rows, a set.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from voile.audit.beside import DistinctRows, JointCodes, JointColumn
from voile.audit.record import DOES_NOT_APPLY
from voile.audit.risk import ORIGINAL, Question, Risk, Setting
from voile.audit.scenarios import fitting_rows
from voile.table.codes import combine
from voile_base.randomness import Draws

__all__ = ["GroupDisclosure"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

_SMALL = 10
_NEARLY = 0.8
"""The share of the rows that fit a group from which on their cell is taken for the group's."""
_NEAR = 0.9
"""How near a number is from which on it counts as told."""


@dataclass(frozen=True)
class GroupDisclosure:
    """The risk as audits count it."""

    name: ClassVar[str] = "group disclosure"

    def refusal(self, setting: Setting) -> str | None:
        """It asks for a sensitive column, and for what others know."""
        if not setting.sensitive:
            return f"{DOES_NOT_APPLY}: no sensitive column is shown"
        if not any(_asked(setting, name) for name in setting.sensitive):
            return f"{DOES_NOT_APPLY}: nothing that others may know is shown beside a sensitive one"
        return None

    def risks(self, setting: Setting) -> Iterator[Risk]:
        """One for each sensitive column whose groups are small."""
        setting.progress("group disclosure")
        draws = setting.randomness.key("group disclosure").generator()
        columns = {column.name: column for column in setting.beside.columns}
        for name in setting.sensitive:
            sets = _asked(setting, name)
            won: list[dict[str, Floats]] = [{} for _ in setting.beside.units]
            guessed = np.zeros(0)
            for who, known in sets.items():
                people = _small(setting.beside, known, setting.targets, draws)
                if not all(map(len, people)):
                    continue
                for group, some in enumerate(people):
                    won[group][who] = _told(known, columns[name], group, some)
                if not len(guessed):
                    guessed = _guessed(columns[name], people[ORIGINAL])
            if won[ORIGINAL]:
                goal = "what nearly all rows of a small group show is the person's value"
                yield Question(self.name, name, goal).answered(won, guessed)


def _asked(setting: Setting, sensitive: str) -> dict[str, list[JointColumn]]:
    """Sets of columns that are shown beside a sensitive one, and hold no value of it."""
    columns = {column.name: column for column in setting.beside.columns}
    sets = {
        who: [columns[name] for name in names if name in columns and name != sensitive]
        for who, names in setting.known.items()
    }
    return {who: known for who, known in sets.items() if known} if sensitive in columns else {}


def _small(
    beside: JointCodes, columns: Sequence[JointColumn], most: int, draws: Draws
) -> list[Indices]:
    """Rows of people of small groups of each side, at most so many, drawn at random."""
    ends = np.cumsum([len(unit) for unit in beside.units])[:-1]
    both = [(np.concatenate(column.value), column.values) for column in columns]
    found = combine(both)
    sizes = np.split(found.rows[found.index], ends)
    small = [np.flatnonzero(size <= _SMALL) for size in sizes]
    return [some[draws.permutation(len(some))[:most]] for some in small]


def _told(
    known: Sequence[JointColumn], sensitive: JointColumn, group: int, people: Indices
) -> Floats:
    """Shape (t,): 1 where nearly all rows that fit a person show the person's value."""
    rows = DistinctRows.of([*known, sensitive])
    cell = rows.cells[-1].astype(np.int64)
    kinds = sensitive.covers.shape[1]
    won = np.zeros(len(people))
    for some, fitting in fitting_rows(known, rows, group, people):
        person, row = np.nonzero(fitting)
        pairs, place = np.unique(person * kinds + cell[row], return_inverse=True)
        alike = np.bincount(place.ravel(), rows.count[row], len(pairs))
        whose, shown = np.divmod(pairs, kinds)
        every = np.bincount(whose, alike, len(fitting))
        told = alike >= _NEARLY * every[whose]
        value = sensitive.value[group][people[some]][whose]
        right = sensitive.covers[value, shown] | (sensitive.near[value, shown] >= _NEAR)
        part = np.zeros(len(fitting))
        part[whose[told & right]] = 1
        won[some] = part
    return won


def _guessed(sensitive: JointColumn, people: Indices) -> Floats:
    """Shape (t,): 1 where the most frequent cell of all rows is a person's."""
    cell = int(np.bincount(sensitive.cell).argmax())
    return np.asarray(sensitive.covers[sensitive.value[ORIGINAL][people], cell], np.float64)
