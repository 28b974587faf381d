"""What somebody outside may know of a person, by who that is: whom it finds, and what it tells.

What others know is not one list of columns.  A set is the quasi-identifiers of the plan; what a
reader of the voter roll, a neighbour, an employer, a reader of social media and an insurer know, by
the names of columns (``scenarios.toml``, which has the sources); what a second table that was named
shares with the original; and, for re-identification in a file whose rows are people's, the column,
the pair and the triple of columns that find most, whoever knows them.

Re-identification, where rows are people's: the risk of a set is the prosecutor's, a person whose
values r rows fit is picked with probability 1 / r (Elliot and Dale 1999; Dankar and El Emam, "A
method for evaluating marketer re-identification risk", EDBT workshops 2010, for the mean of it).
Where rows are of nobody, no row is a person's: copying judges who stands in them by each set.
Pairs are tried all, triples of the best ``_BEST`` pairs with each other column: of all triples that
may miss the worst.  All people are looked at where each value has one cell at most, or where that
is affordable; else so many targets as the audit has, drawn.

Group disclosure, where sensitive columns are shown: of each small group, people who share the
values of a set with fewer than ``_SMALL`` others on both sides together, the rows that fit are
looked at.  Where at least ``_NEARLY`` of them show one cell of a sensitive column, that value is
told of all of the group, whoever of them is meant: the homogeneity of Machanavajjhala et al.,
"l-diversity" (ICDE 2006), and group disclosure in Duncan, Elliot and Salazar-Gonzalez, "Statistical
Confidentiality" (2011).  It succeeds where the value is the person's.  The same of small groups of
the control is what the file tells of everybody; guessing tells the most frequent cell of all rows.
Of several sets that one is named which finds most; their intervals hold together (``risk``).  The
same rows tell of all people of a group: intervals are those of as many independent people as vary
as much as whole groups do.

Cost: t g look-ups a column of a set, for t targets and g different rows in it; of groups, for each
sensitive column, the pairs of a person and a row that fits, too.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from importlib.resources import files
from itertools import combinations
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from voile.attack.protocol import Estimate
from voile.audit.beside import DistinctRows, JointCodes, JointColumn
from voile.audit.copying import rows_of_people
from voile.audit.record import DOES_NOT_APPLY, RE_IDENTIFICATION, ROWS_OF_NOBODY
from voile.audit.risk import ORIGINAL, Question, Risk, Setting, effect_of_units, share_of
from voile.disclosure.evidence import places_of_bits
from voile.schema.names import fits, meaning_of, words_of
from voile.table.codes import Combinations
from voile_base.ondemand import dataclass, on_demand
from voile_base.randomness import Draws
from voile_base.values import Document

if TYPE_CHECKING:
    from scipy import sparse
else:
    sparse = on_demand("scipy.sparse")

__all__ = [
    "THE_HOLDER",
    "THE_PLAN",
    "GroupDisclosure",
    "ReIdentification",
    "holds_fact",
    "known_sets",
    "who_may_know",
]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

THE_PLAN = "whoever knows the quasi-identifiers"
"""Who knows what the plan says."""
THE_HOLDER = "whoever holds the auxiliary table"
"""Who knows the columns that a second table shares with the original."""
_BEST = 10
_AFFORDABLE = 300_000_000
"""Of different people, different rows and columns, that are compared so that nobody is drawn."""
_PAIRS = 1 << 24
"""Of a person and a row, that are compared at a time."""
_SMALL = 10
_NEARLY = 0.8
"""The share of the rows that fit a group from which on their cell is taken for the group's."""
_TOLD = 10
"""Rows of people at most who are told to be worst off."""
_NEAR = 0.9
"""How near a number is from which on it counts as told."""


def known_sets(
    names: Sequence[str], quasi_identifiers: Collection[str], identifiers: Collection[str] = ()
) -> dict[str, tuple[str, ...]]:
    """Columns of ``names`` that somebody may know, by who that is; at least one of each.

    ``identifiers`` are left out: they are never published.  Of two who know the same the first is
    told.
    """
    open_names = [name for name in names if name not in identifiers]
    found = {THE_PLAN: tuple(name for name in open_names if name in quasi_identifiers)}
    for scenario in _document()["scenario"]:
        found[scenario["who"]] = tuple(
            name for name in open_names if any(holds_fact(name, fact) for fact in scenario["knows"])
        )
    once: dict[tuple[str, ...], str] = {}
    for who, columns in found.items():
        once.setdefault(columns, who)
    return {who: columns for columns, who in once.items() if columns}


def who_may_know(names: Sequence[str]) -> str:
    """Who outside may know columns of these names, a clause; empty where nobody does.

    Each column stands with the first who may: "an employer may know 'income', and an insurer
    'icd10', 'smoker'".
    """
    told, found = set[str](), list[str]()
    for who, columns in known_sets(names, ()).items():
        if known := [name for name in columns if name not in told]:
            verb = "" if found else "may know "
            found.append(f"{who} {verb}{', '.join(map(repr, known))}")
            told.update(known)
    return ", and ".join(found)


def holds_fact(name: str, fact: str) -> bool:
    """Whether a column of this name holds a fact of ``scenarios.toml`` that somebody may know."""
    document, meaning = _document(), meaning_of(name)
    if meaning is not None and meaning.reason in document["meanings"].get(fact, ()):
        return True
    return fits(document["facts"][fact], (*words_of(name), name.casefold()))


@cache
def _document() -> Document:
    text = files("voile.audit").joinpath("scenarios.toml").read_text(encoding="utf-8")
    document: Document = tomllib.loads(text)
    return document


@dataclass(frozen=True)
class ReIdentification:
    """How often each set of columns finds a person's row, as audits count it."""

    name: ClassVar[str] = RE_IDENTIFICATION

    def refusal(self, setting: Setting) -> str | None:
        """It asks for rows that are people's."""
        return None if rows_of_people(setting) else ROWS_OF_NOBODY

    def risks(self, setting: Setting) -> Iterator[Risk]:
        """One for each set, then those of the worst column, pair and triple."""
        setting.progress("re-identification by what others know")
        beside = setting.beside
        draws = setting.randomness.key("re-identification").generator()
        people = beside.drawn(ORIGINAL, min(setting.targets, beside.people(ORIGINAL)), draws)
        columns = {column.name: _KnownColumn.of(column) for column in beside.columns}
        every = tuple(columns.values())
        asked = {
            who: [columns[name] for name in names if name in columns]
            for who, names in setting.known.items()
        }
        asked = {who: known for who, known in asked.items() if known}
        alone = max(every, key=lambda one: _mean((one,), people), default=None)
        if alone is not None:
            asked["whoever knows the worst column"] = [alone]
        pairs = sorted(combinations(every, 2), key=lambda pair: -_mean(pair, people))
        if pairs:
            asked["whoever knows the worst pair"] = list(pairs[0])
        triples = [
            (*pair, third)
            for pair in pairs[:_BEST]
            for third in every
            if third.name not in {one.name for one in pair}
        ]
        if triples:
            worst = max(triples, key=lambda triple: _mean(triple, people))
            asked["whoever knows the worst triple"] = list(worst)
        for who, known in asked.items():
            yield _risk(beside, who, known, people)


@dataclass(frozen=True, eq=False)
class _KnownColumn:
    """One column of a set; numbers of which thousands differ are not taken together.

    Where they are shown as they are, each finds the rows that show it, and none beside them.
    """

    name: str
    value: Indices
    """Shape (p,): the value of each row of the original."""
    values: int
    """How many different values there are."""
    cell: Indices
    """Shape (n,): the cell of each published row."""
    cells: int
    """How many different cells there are."""
    covers: NDArray[np.bool_] | None
    """Shape (values, cells); None where a value is covered by the cell of its own number alone."""
    only_cell: Indices | None
    """Shape (values,): the cell that covers each value, -1 without; None where one has several."""

    @classmethod
    def of(cls, column: JointColumn) -> _KnownColumn:
        """A column as it stands beside the original."""
        if column.whole is None or column.how != "exact":
            return cls(
                column.name,
                column.value[ORIGINAL],
                column.values,
                column.cell,
                column.covers.shape[1],
                column.covers,
                column.only_cell,
            )
        own, shown = column.whole[0][ORIGINAL], column.whole[1]
        numbers, place = np.unique(np.concatenate((shown, own)), return_inverse=True)
        cell, value = np.split(place.astype(np.int64), [len(shown)])
        every = np.arange(len(numbers))
        return cls(column.name, value, len(every), cell, len(every), None, every)

    def fits(self, people: Indices, cells: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Shape (people, cells): whether each cell covers the value of each row of the original."""
        value = self.value[people]
        if self.covers is None:
            return np.asarray(value[:, np.newaxis] == cells)
        return self.covers[value][:, cells]


def _mean(columns: Sequence[_KnownColumn], people: Indices) -> float:
    return float(_chances(columns, people).mean())


def _chances(columns: Sequence[_KnownColumn], people: Indices) -> Floats:
    """Shape (t,): 1 over the rows that fit a person, 0 where none does."""
    alike = _counted_alike(columns, people)
    if alike is None:
        alike = np.zeros(len(people))
        rows = Combinations.of([(column.cell, column.cells) for column in columns])
        count = rows.rows.astype(np.float32)
        for some in _some_of(people, len(count)):
            fitting = columns[0].fits(people[some], rows.codes[0])
            for column, cell in zip(columns[1:], rows.codes[1:], strict=True):
                fitting &= column.fits(people[some], cell)
            alike[some] = fitting.astype(np.float32) @ count
    return np.where(alike > 0, 1 / np.maximum(alike, 1), 0)


def _counted_alike(columns: Sequence[_KnownColumn], people: Indices) -> Floats | None:
    """Shape (t,): the rows that fit a person; None where a value has several cells in a column.

    Where each value has one cell at most, rows that fit are those of the same combination.
    """
    both: list[tuple[Indices, int]] = []
    for column in columns:
        if (cell := column.only_cell) is None:
            return None
        own = cell[column.value[people]]
        both.append((np.concatenate((column.cell, own)) + 1, column.cells + 1))
    place = Combinations.of(both).index.astype(np.int64)
    rows, own = np.split(place, [len(columns[0].cell)])
    return np.bincount(rows, minlength=int(place.max(initial=0)) + 1)[own].astype(np.float64)


def _of_everybody(beside: JointCodes, columns: Sequence[_KnownColumn]) -> tuple[Floats, bool]:
    """The chances of all persons, each by the row that tells most, where that is affordable."""
    found = Combinations.of([(column.value, column.values) for column in columns])
    if any(column.only_cell is None for column in columns):
        rows = Combinations.of([(column.cell, column.cells) for column in columns])
        if len(found.rows) * len(rows.rows) * len(columns) > _AFFORDABLE:
            return np.zeros(0), False
    place = found.index.astype(np.int64)
    first = np.unique(place, return_index=True)[1]
    chance = np.zeros(beside.people(ORIGINAL))
    np.maximum.at(chance, beside.units[ORIGINAL], _chances(columns, first)[place])
    return chance, True


def _some_of(people: Indices, rows: int) -> Iterator[slice]:
    """Some people at a time, who are compared with so many different rows."""
    step = max(1, _PAIRS // max(rows, 1))
    return (slice(first, first + step) for first in range(0, len(people), step))


def _fitting_rows(
    columns: Sequence[JointColumn], rows: DistinctRows, group: int, people: Indices
) -> Iterator[tuple[slice, sparse.csr_array]]:
    """For some people at a time, shape (people, g): 1 where a different row fits a person.

    Each value that a person has is compared once, and rows are bits until they are told apart.
    """
    for some in _some_of(people, len(rows.count)):
        bits: NDArray[np.uint8] | None = None
        for column, cell in zip(columns, rows.cells, strict=False):
            held, place = np.unique(column.value[group][people[some]], return_inverse=True)
            packed = np.packbits(column.covers[held][:, cell], axis=1)[place]
            bits = packed if bits is None else np.bitwise_and(bits, packed, out=bits)
        assert bits is not None, "a set has a column"
        whose, row = places_of_bits(bits)
        shape = len(bits), len(rows.count)
        yield some, sparse.csr_array((np.ones(len(row), np.float32), (whose, row)), shape=shape)


def _risk(beside: JointCodes, who: str, columns: Sequence[_KnownColumn], people: Indices) -> Risk:
    chance, every = _of_everybody(beside, columns)
    if not every:
        chance = _chances(columns, people)
    mean = float(chance.mean())
    worst = float(chance.max(initial=0))
    found = np.flatnonzero(chance == worst) if worst else np.zeros(0, np.int64)
    first = np.unique(beside.units[ORIGINAL], return_index=True)[1] if every else people
    return Risk(
        RE_IDENTIFICATION,
        f"{who}: {', '.join(column.name for column in columns)}",
        "the row that is picked for a person is the person's",
        len(chance),
        Estimate.exactly(mean) if every else Estimate.of_total(float(chance.sum()), len(chance)),
        None,
        Estimate.exactly(1 / max(beside.rows, 1)),
        (f"{(chance >= 1).mean():.1%} of the targets are alone in the file",),
        rows=tuple(first[found[:_TOLD]].tolist()),
        worst=worst,
    )


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
        # Who knows a sensitive column of two has other columns for the other: groups of each.
        groups: dict[str, list[dict[str, Indices]]] = {
            name: [{} for _ in setting.beside.units] for name in setting.sensitive
        }
        guessed: dict[str, Estimate] = {}
        for (who, names), sensitive in _sets(setting).items():
            known = [columns[name] for name in names]
            people, alike = _small(setting.beside, known, setting.targets, draws)
            if not all(map(len, people)):
                continue
            asked = [columns[name] for name in sensitive]
            for group, some in enumerate(people):
                for name, told in _told_of_groups(known, asked, group, some).items():
                    won[name][group][who] = told
                    groups[name][group][who] = alike[group]
            for column in asked:
                guess = _guess_of(column, people[ORIGINAL])
                effect = effect_of_units(guess, alike[ORIGINAL])
                guessed.setdefault(column.name, share_of(guess, effect=effect))
        goal = "what nearly all rows of a small group show is the person's value"
        for name, own in guessed.items():
            yield Question(self.name, name, goal).answered(won[name], own, groups[name])


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
) -> tuple[list[Indices], list[Indices]]:
    """Rows of people of small groups of each side, at most so many, drawn at random.

    Besides, the number of the group of each.
    """
    ends = np.cumsum([len(unit) for unit in beside.units])[:-1]
    both = [(np.concatenate(column.value), column.values) for column in columns]
    found = Combinations.of(both)
    sizes = np.split(found.rows[found.index], ends)
    small = [np.flatnonzero(size <= _SMALL) for size in sizes]
    chosen = [some[draws.permutation(len(some))[:most]] for some in small]
    groups = np.split(found.index.astype(np.int64), ends)
    return chosen, [one[some] for one, some in zip(groups, chosen, strict=True)]


def _told_of_groups(
    known: Sequence[JointColumn], asked: Sequence[JointColumn], group: int, people: Indices
) -> dict[str, Floats]:
    """Shape (t,) by sensitive column: 1 where nearly all rows that fit show the person's value."""
    rows = DistinctRows.of(known)
    shown = [_cells_of(rows, column) for column in asked]
    won = {column.name: np.zeros(len(people)) for column in asked}
    for some, fitting in _fitting_rows(known, rows, group, people):
        every = fitting @ rows.count
        for column, cells in zip(asked, shown, strict=True):
            alike = (fitting @ cells).tocoo()
            whose, cell = alike.row, alike.col
            told = alike.data >= _NEARLY * every[whose]
            value = column.value[group][people[some]][whose]
            right = _is_right(column, value, cell)
            part = np.zeros(len(every))
            part[whose[told & right]] = 1
            won[column.name][some] = part
    return won


def _cells_of(rows: DistinctRows, column: JointColumn) -> sparse.csr_array:
    """Shape (g, kinds): how many of each of the different rows show each cell of a column."""
    shape = len(rows.count), column.covers.shape[1]
    each = np.ones(len(rows.place))
    return sparse.coo_array((each, (rows.place, column.cell.astype(np.int64))), shape=shape).tocsr()


def _guess_of(sensitive: JointColumn, people: Indices) -> Floats:
    """Shape (t,): 1 where the most frequent cell of all rows is a person's."""
    cell = np.full(len(people), np.bincount(sensitive.cell).argmax())
    return _is_right(sensitive, sensitive.value[ORIGINAL][people], cell).astype(np.float64)


def _is_right(column: JointColumn, value: Indices, cell: Indices) -> NDArray[np.bool_]:
    """Whether each cell covers the value beside it, or shows a number that is near."""
    return np.asarray(column.covers[value, cell] | (column.near[value, cell] >= _NEAR))
