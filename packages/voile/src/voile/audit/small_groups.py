"""Group disclosure: what a file tells of the few who share what others know of them; private.

Of each small group, people who share the values of a set of columns (``scenarios``) with fewer than
``_SMALL`` others on both sides together, the rows that fit are looked at.  Where at least
``_NEARLY`` of them show one cell of a sensitive column, that value is told of all of the group,
whoever of them is meant: the homogeneity of Machanavajjhala et al., "l-diversity" (ICDE 2006), and
group disclosure in Duncan, Elliot and Salazar-Gonzalez, "Statistical Confidentiality" (2011).  It
succeeds where the value is the person's.  The same of small groups of the control is what the file
tells of everybody; guessing tells the most frequent cell of all rows.

Of several sets that one is named which finds most; their intervals hold together (``risk``).

Cost: t g look-ups a column for t targets and g different rows in a set, and for each sensitive
column the pairs of a person and a row that fits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from voile.audit.beside import DistinctRows, JointCodes, JointColumn
from voile.audit.record import DOES_NOT_APPLY
from voile.audit.risk import ORIGINAL, Question, Risk, Setting
from voile.audit.scenarios import fitting_rows
from voile.table.codes import combine
from voile_base.ondemand import dataclass
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
        won: dict[str, list[dict[str, Floats]]] = {
            name: [{} for _ in setting.beside.units] for name in setting.sensitive
        }
        guessed: dict[str, Floats] = {}
        for (who, names), sensitive in _sets(setting).items():
            known = [columns[name] for name in names]
            people = _small(setting.beside, known, setting.targets, draws)
            if not all(map(len, people)):
                continue
            asked = [columns[name] for name in sensitive]
            for group, some in enumerate(people):
                for name, told in _told(known, asked, group, some).items():
                    won[name][group][who] = told
            for column in asked:
                guessed.setdefault(column.name, _guessed(column, people[ORIGINAL]))
        goal = "what nearly all rows of a small group show is the person's value"
        for name, own in guessed.items():
            yield Question(self.name, name, goal).answered(won[name], own)


def _sets(setting: Setting) -> dict[tuple[str, tuple[str, ...]], list[str]]:
    """The sensitive columns that are asked for by each set of columns, and by whom it is known."""
    found: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for name in setting.sensitive:
        for who, known in _asked(setting, name).items():
            found.setdefault((who, tuple(column.name for column in known)), []).append(name)
    return found


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
    known: Sequence[JointColumn], asked: Sequence[JointColumn], group: int, people: Indices
) -> dict[str, Floats]:
    """Shape (t,) by sensitive column: 1 where nearly all rows that fit show the person's value."""
    rows = DistinctRows.of(known)
    shown = [_cells_of(rows, column) for column in asked]
    won = {column.name: np.zeros(len(people)) for column in asked}
    for some, fitting in fitting_rows(known, rows, group, people):
        fits = csr_array(fitting)
        every = fits @ rows.count
        for column, cells in zip(asked, shown, strict=True):
            alike = (fits @ cells).tocoo()
            whose, cell = alike.row, alike.col
            told = alike.data >= _NEARLY * every[whose]
            value = column.value[group][people[some]][whose]
            right = column.covers[value, cell] | (column.near[value, cell] >= _NEAR)
            part = np.zeros(len(fitting))
            part[whose[told & right]] = 1
            won[column.name][some] = part
    return won


def _cells_of(rows: DistinctRows, column: JointColumn) -> csr_array:
    """Shape (g, kinds): how many of each of the different rows show each cell of a column."""
    shape = len(rows.count), column.covers.shape[1]
    each = np.ones(len(rows.place))
    return coo_array((each, (rows.place, column.cell.astype(np.int64))), shape=shape).tocsr()


def _guessed(sensitive: JointColumn, people: Indices) -> Floats:
    """Shape (t,): 1 where the most frequent cell of all rows is a person's."""
    cell = int(np.bincount(sensitive.cell).argmax())
    return np.asarray(sensitive.covers[sensitive.value[ORIGINAL][people], cell], np.float64)
