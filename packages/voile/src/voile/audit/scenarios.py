"""What somebody outside may know of a person, by who that is, and how often it finds the person.

What others know is not one list of columns.  A set is the quasi-identifiers of the plan; what a
reader of the voter roll, a neighbour, an employer, a reader of social media and an insurer know, by
the names of columns (``scenarios.toml``, which has the sources); what a second table that was named
shares with the original; and, in a file whose rows are
people's, the pair and the triple of columns that find most, whoever knows them.

Where rows are people's, the risk of a set is the prosecutor's: a person whose values r rows fit is
picked with probability 1 / r (Elliot and Dale 1999; Dankar and El Emam, "A method for evaluating
marketer re-identification risk", EDBT workshops 2010, for the mean of it).  Where rows are of
nobody, no row is a person's: copying judges who stands in them by each set.

Pairs are tried all, triples of the best ``_BEST`` pairs with each other column: of all triples that
may miss the worst.

All people are looked at where that is affordable, else so many targets as the audit has, drawn.

Cost: t g look-ups a column of a set, for t targets and g different rows in it.
"""

from __future__ import annotations

import tomllib
from collections.abc import Collection, Iterator, Sequence
from functools import cache
from importlib.resources import files
from itertools import combinations
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from voile.attack.protocol import Estimate
from voile.audit.beside import DistinctRows, JointCodes, JointColumn
from voile.audit.copying import rows_of_people
from voile.audit.record import RE_IDENTIFICATION, ROWS_OF_NOBODY
from voile.audit.risk import ORIGINAL, Risk, Setting
from voile.schema.names import fits, words_of
from voile.table.codes import combine
from voile_base.ondemand import dataclass
from voile_base.values import Document

__all__ = ["THE_HOLDER", "THE_PLAN", "ReIdentification", "fitting_rows", "known_sets"]

THE_PLAN = "whoever knows the quasi-identifiers"
"""Who knows what the plan says."""
THE_HOLDER = "whoever holds the auxiliary table"
"""Who knows the columns that a second table shares with the original."""
_BEST = 10
_AFFORDABLE = 300_000_000
"""Of different people, different rows and columns, that are compared so that nobody is drawn."""
_PAIRS = 1 << 24
"""Of a person and a row, that are compared at a time."""


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
        patterns = [one for fact in scenario["knows"] for one in _document()["facts"][fact]]
        known = (name for name in open_names if fits(patterns, (*words_of(name), name.casefold())))
        found[scenario["who"]] = tuple(known)
    once: dict[tuple[str, ...], str] = {}
    for who, columns in found.items():
        once.setdefault(columns, who)
    return {who: columns for columns, who in once.items() if columns}


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
        """One for each set, then those of the worst pair and triple."""
        setting.progress("re-identification by what others know")
        beside = setting.beside
        draws = setting.randomness.key("re-identification").generator()
        people = beside.drawn(ORIGINAL, min(setting.targets, beside.people(ORIGINAL)), draws)
        columns = {column.name: column for column in beside.columns}
        asked = {
            who: [columns[name] for name in names if name in columns]
            for who, names in setting.known.items()
        }
        asked = {who: known for who, known in asked.items() if known}
        pairs = sorted(combinations(beside.columns, 2), key=lambda pair: -_mean(pair, people))
        if pairs:
            asked["whoever knows the worst pair"] = list(pairs[0])
        triples = [
            (*pair, third)
            for pair in pairs[:_BEST]
            for third in beside.columns
            if third.name not in {one.name for one in pair}
        ]
        if triples:
            worst = max(triples, key=lambda triple: _mean(triple, people))
            asked["whoever knows the worst triple"] = list(worst)
        for who, known in asked.items():
            yield _risk(beside, who, known, people)


def _mean(columns: Sequence[JointColumn], people: NDArray[np.int64]) -> float:
    return float(_chances(columns, people).mean())


def _chances(columns: Sequence[JointColumn], people: NDArray[np.int64]) -> NDArray[np.float64]:
    """Shape (t,): 1 over the rows that fit a person, 0 where none does."""
    found = np.zeros(len(people))
    rows = DistinctRows.of(columns)
    for some, fitting in fitting_rows(columns, rows, ORIGINAL, people):
        alike = fitting @ rows.count.astype(np.float32)
        found[some] = np.where(alike > 0, 1 / np.maximum(alike, 1), 0)
    return found


def _of_everybody(
    beside: JointCodes, columns: Sequence[JointColumn]
) -> tuple[NDArray[np.float64], bool]:
    """The chances of all persons, each by the row that tells most, where that is affordable."""
    found = combine([(column.value[ORIGINAL], column.values) for column in columns])
    rows = DistinctRows.of(columns)
    if len(found.rows) * len(rows.count) * len(columns) > _AFFORDABLE:
        return np.zeros(0), False
    place = found.index.astype(np.int64)
    first = np.unique(place, return_index=True)[1]
    chance = np.zeros(beside.people(ORIGINAL))
    np.maximum.at(chance, beside.units[ORIGINAL], _chances(columns, first)[place])
    return chance, True


def fitting_rows(
    columns: Sequence[JointColumn], rows: DistinctRows, group: int, people: NDArray[np.int64]
) -> Iterator[tuple[slice, NDArray[np.float32]]]:
    """For some people at a time, shape (people, g): 1 where a different row fits a person."""
    step = max(1, _PAIRS // max(len(rows.count), 1))
    for first in range(0, len(people), step):
        some = slice(first, first + step)
        fitting: NDArray[np.bool_] | None = None
        for column, cell in zip(columns, rows.cells, strict=False):
            covered = column.covers[column.value[group][people[some]]][:, cell]
            fitting = covered if fitting is None else fitting & covered
        assert fitting is not None, "a set has a column"
        yield some, fitting.astype(np.float32)


def _risk(
    beside: JointCodes, who: str, columns: Sequence[JointColumn], people: NDArray[np.int64]
) -> Risk:
    chance, every = _of_everybody(beside, columns)
    if not every:
        chance = _chances(columns, people)
    mean = float(chance.mean())
    worst = float(chance.max(initial=0))
    return Risk(
        RE_IDENTIFICATION,
        f"{who}: {', '.join(column.name for column in columns)}",
        "the row that is picked for a person is the person's",
        len(chance),
        Estimate.exactly(mean) if every else Estimate.of_total(float(chance.sum()), len(chance)),
        None,
        Estimate.exactly(1 / max(beside.rows, 1)),
        (f"{(chance >= 1).mean():.1%} of the targets are alone in the file",),
        worst=worst,
    )
