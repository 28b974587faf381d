"""The best rows of a table, and those in the box around them, in one pass over its rows.

Exact scores of all rows would cost more than reading them, and only a few decide.  So each batch of
rows is scored in double precision, with a bound on the error, and rows are left out that provably
matter to nothing:

- With border b, the least of the best scores so far, a row below b by more than two errors is not
  among the best.
- Write P_j for the largest term of column j so far.  A best row scores at least b, so that its term
  j is at least c_j = b - (the sum of the other P).  A row below c_j in some column lies outside the
  box around the best rows found so far.

The rows that may be best are then scored exactly, which gives the border, the best rows and their
box.  Later rows may have raised some P_j after rows were left out; so the box is compared with the
largest c_j that was ever used.  If it reaches beyond, or if too many rows had to be held, the rows
in the box are read in a second pass.  In tables without outliers at their end that is rare.

Cost for n rows and m columns: one pass with some 5 m operations of double precision a row;
8 (2 m + 2) bytes and the row itself for each held row, of at most ``_HELD`` rows, unless more share
the score at the border.  On uniform data the box of the best t rows holds some thousand rows.

How rows are ranked: what values add to a score, exactly and nearly.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import inf, lcm
from typing import Any, Protocol, Self

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voile.schema.numbers import ExactNumbers
from voile.table.binding import exact_numbers
from voile.table.codes import encode
from voile_base.ondemand import dataclass

__all__ = [
    "Batch",
    "BestRows",
    "BestRowsQuery",
    "Pass",
    "RowScore",
    "Taker",
    "UnusualError",
    "ValueScores",
    "in_one_unit",
]


_SAFE = 2**61


@dataclass(frozen=True, eq=False)
class ValueScores:
    """What d values add to a score: the exact numbers ``units / denominator``."""

    units: NDArray[Any]
    """Shape (d,): ``int64``, or Python integers where these do not fit."""
    denominator: int
    """Above 0."""


class RowScore(Protocol):
    """How rows are ranked: by a sum of functions, each rising or falling with one column.

    Where the plan declares an order of texts, a text counts as its place in it, from 1; all other
    columns hold numbers.
    """

    @property
    def columns(self) -> Sequence[str]:
        """The m columns that are ranked by."""

    def exact(self, column: str, values: ExactNumbers) -> ValueScores:
        """What values of a column add; raises ``TableError`` where one cannot be scored."""

    def near(self, column: str, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """What values of a column add, rounded; NaN or infinite where that is not possible."""

    def error(self, column: str, low: float, high: float, relative: float) -> float:
        """The most by which ``near`` of a double differs from ``exact`` of what it stands for.

        The double lies in [``low``, ``high``], and within a share ``relative`` of its magnitude of
        the number that it stands for.  Infinite where no bound is known.
        """


def in_one_unit(scores: Sequence[ValueScores]) -> tuple[list[NDArray[Any]], int]:
    """The units of each column over one denominator, and that denominator.

    They are ``int64`` where every sum of one unit a column fits, and Python integers where not.
    """
    common = lcm(*(score.denominator for score in scores))
    units = [score.units.astype(object) * (common // score.denominator) for score in scores]
    if sum(max(abs(int(each.min())), abs(int(each.max()))) for each in units) < _SAFE:
        units = [each.astype(np.int64) for each in units]
    return units, common


_HELD = 1 << 21
"""Held rows above which rows in the box are left to a second pass."""
_FIRST_PRUNE = 1 << 18
_LARGEST = 1e300
"""Below it sums of terms and errors cannot overflow."""
_ROUNDING = 2.0**-53
"""Relative error of one operation in double precision."""
_OF_SINGLES = (2.0**-24, 1e-37)
_OF_OTHERS = (4 * _ROUNDING, 1e-307)
"""Relative error of a double that stands for a value, and the least magnitude from which on it
holds.  A float stands for the shortest decimal that reads back as it."""

Floats = NDArray[np.float64]


class UnusualError(Exception):
    """A column holds something that approximate scores cannot deal with; the engine says what."""

    def __init__(self, column: str) -> None:
        super().__init__(column)
        self.column = column


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows of a table."""

    rows: pl.DataFrame
    key_names: tuple[str, ...]
    """For each column of the score, the column with the numbers that it is ranked by."""
    places: NDArray[np.int64]
    """Where the rows stand in the input, ascending."""

    @property
    def keys(self) -> list[pl.Series]:
        """The numbers that the rows are ranked by."""
        return [self.rows[name] for name in self.key_names]

    def only(self, chosen: NDArray[np.int64]) -> Batch:
        """The rows with these numbers, ascending."""
        if len(chosen) == len(self.places):
            return self
        wanted = pl.Series(chosen)
        # Column by column: a gather of the whole frame would wait for threads that read.
        rows = pl.DataFrame([_apart(column.gather(wanted)) for column in self.rows])
        return Batch(rows, self.key_names, self.places[chosen])

    @classmethod
    def joined(cls, batches: Sequence[Batch]) -> Batch:
        """The rows of all of them; there must be one."""
        rows = pl.concat([batch.rows for batch in batches])
        places = np.concatenate([batch.places for batch in batches])
        return cls(rows, batches[0].key_names, places)


def _apart(chosen: pl.Series) -> pl.Series:
    """The same values, whose texts do not keep in memory all those that they were chosen from."""
    if chosen.dtype not in (pl.String, pl.Binary):
        return chosen
    return pl.Series(chosen.name, chosen.to_arrow(compat_level=pl.CompatLevel.oldest()))


class Taker(Protocol):
    """Takes batches of rows, and may be merged with others of its kind that took other rows."""

    def take(self, batch: Batch) -> None:
        """Some rows."""

    def merge(self, other: Self) -> None:
        """What another has kept."""


Pass = Callable[[Taker], None]
"""Gives all rows of a table, each time it is called."""


@dataclass(frozen=True)
class BestRowsQuery:
    """What best rows are."""

    score: RowScore
    top: int
    ties: bool
    """Whether all rows that share the score of the last of the best are among them, or none."""


@dataclass(frozen=True, eq=False)
class BestRows:
    """The rows in the box around the best rows; without best rows, rows that mean nothing."""

    box: Batch
    tops: int
    """How many of them are best."""
    seen: int
    """Rows of the table that may be ranked."""
    ends: _Box | None = None
    """The box itself; None without best rows."""

    @staticmethod
    def find(rows: Pass, asked: BestRowsQuery, *, rounded: bool = True) -> BestRows:
        """The best rows, and all rows whose keys lie between their least and largest ones.

        Where there are fewer rows than are asked for, all are best.  Without ``rounded`` every row
        is scored exactly.  Raises ``UnusualError`` where there is no row, a key is missing or not
        finite, or its scores cannot be rounded with a bounded error.
        """
        scan = _Scan(asked) if rounded else _Everything()
        rows(scan)
        if not scan.seen:
            raise UnusualError(asked.score.columns[0])
        likely = scan.likely()
        chosen = _best_of(likely.keys, asked)
        if not len(chosen):
            return BestRows(likely, 0, scan.seen)
        best = likely.only(chosen)
        inside = _Inside(_Box.around(best.keys))
        held = scan.all_in_box(best.keys)
        if held is None:
            rows(inside)
        else:
            inside.take(held)
        return BestRows(inside.found, len(chosen), scan.seen, inside.box)


def _exact_scores(keys: Sequence[pl.Series], score: RowScore) -> NDArray[Any]:
    """Scores of rows in whole units that are the same for all of them, shape (n,).

    They are ``int64`` where they fit and Python integers where not.
    """
    encoded = [encode(key) for key in keys]
    numbers = [exact_numbers(column.values) for column in encoded]
    worths = [score.exact(*pair) for pair in zip(score.columns, numbers, strict=True)]
    units, _ = in_one_unit(worths)
    scores: NDArray[Any] = units[0][encoded[0].codes]
    for more, column in zip(units[1:], encoded[1:], strict=True):
        scores = scores + more[column.codes]
    return scores


def _best_of(keys: Sequence[pl.Series], asked: BestRowsQuery) -> NDArray[np.int64]:
    """Which of the rows that may be best are so, ascending."""
    scores = _exact_scores(keys, asked.score)
    border = np.sort(scores)[max(0, len(scores) - asked.top)]
    best = np.flatnonzero(scores >= border)
    return best if asked.ties or len(best) <= asked.top else np.flatnonzero(scores > border)


@dataclass(frozen=True, eq=False)
class _Box:
    """The least and the largest key of each column."""

    ends: Sequence[tuple[pl.Series, pl.Series]]
    """Each of one value of the column's own type: doubles could not tell large integers apart."""

    @classmethod
    def around(cls, keys: Sequence[pl.Series]) -> _Box:
        """The smallest box that holds all of these rows."""
        ascending = [key.sort() for key in keys]
        return cls([(key.head(1), key.tail(1)) for key in ascending])

    def holds(self, keys: Sequence[pl.Series]) -> NDArray[np.int64]:
        """Which rows lie between the ends in every column, ascending."""
        inside = np.ones(len(keys[0]), dtype=np.bool_)
        for key, (low, high) in zip(keys, self.ends, strict=True):
            inside &= ((key >= low) & (key <= high)).to_numpy()
        return np.flatnonzero(inside)


class _Inside:
    """Holds the rows in a box."""

    def __init__(self, box: _Box) -> None:
        self.box = box
        self._held: list[Batch] = []

    def take(self, batch: Batch) -> None:
        """Hold those of some rows that lie in the box."""
        self._held.append(batch.only(self.box.holds(batch.keys)))

    def merge(self, other: Self) -> None:
        """The rows of another part too."""
        self._held += other._held

    @property
    def found(self) -> Batch:
        """All of them."""
        return Batch.joined(self._held)


class _Everything:
    """Holds all rows: what to do where scores cannot be rounded."""

    def __init__(self) -> None:
        self._held: list[Batch] = []

    @property
    def seen(self) -> int:
        """Rows so far."""
        return sum(len(batch.places) for batch in self._held)

    def take(self, batch: Batch) -> None:
        """Hold all rows of a batch."""
        self._held.append(batch)

    def merge(self, other: Self) -> None:
        """The rows of another part too."""
        self._held += other._held

    def likely(self) -> Batch:
        """The rows that may be best."""
        self._held = [Batch.joined(self._held)]
        return self._held[0]

    def all_in_box(self, best: Sequence[pl.Series]) -> Batch | None:
        """All rows."""
        return self._held[0]


class _Scan:
    """Scores batches of rows in double precision and holds those that may matter."""

    def __init__(self, asked: BestRowsQuery) -> None:
        columns = len(asked.score.columns)
        self.seen = 0
        self._asked = asked
        self._terms = [_Term(name, asked.score) for name in asked.score.columns]
        self._pool = np.empty(0)
        self._border = -inf
        self._corner = np.full(columns, -inf)
        self._strictest = np.full(columns, -inf)
        self._holds_box = True
        self._held: list[_Held] = []
        self._fresh = 0
        """Held rows since the last pruning."""
        self._prune_at = _FIRST_PRUNE

    def take(self, batch: Batch) -> None:
        """Score some rows and hold those of them that may be best or in the box."""
        if not len(batch.places):
            return
        terms = [term.near(key) for term, key in zip(self._terms, batch.keys, strict=True)]
        scores = terms[0] + terms[1] if len(terms) > 1 else terms[0]
        for more in terms[2:]:
            scores += more
        self.seen += len(scores)
        self._raise_border(scores)
        chosen = self._chosen(scores, terms)
        if len(chosen):
            parts = np.stack([term[chosen] for term in terms])
            self._held.append(_Held(batch.only(chosen), scores[chosen], parts))
            self._fresh += len(chosen)
        if self._fresh > self._prune_at:
            self._prune()

    def merge(self, other: Self) -> None:
        """The rows that another part of the table may have among the best or in the box."""
        for own, its in zip(self._terms, other._terms, strict=True):
            own.merge(its)
        self.seen += other.seen
        self._strictest = np.maximum(self._strictest, other._strictest)
        self._holds_box = self._holds_box and other._holds_box
        self._held += other._held
        self._raise_border(other._pool)
        self._prune()

    def likely(self) -> Batch:
        """The rows that may be best: those that do not lie below the border by two errors."""
        if len(self._pool) > self._asked.top:
            self._settle_border()
        self._prune()
        least = self._border - 2 * self._error
        chosen = [np.flatnonzero(held.scores >= least) for held in self._held]
        return Batch.joined([held.batch for held in _only(self._held, chosen)])

    def all_in_box(self, best: Sequence[pl.Series]) -> Batch | None:
        """Rows among which are all of the box around the best; None where some may be missing."""
        pairs = zip(self._terms, best, strict=True)
        corner = np.array([term.near(key).min() - 2 * term.error for term, key in pairs])
        if not self._holds_box or bool((corner < self._strictest).any()):
            return None
        return Batch.joined([held.batch for held in self._held])

    @property
    def _error(self) -> float:
        """By how much a rounded score may differ from the exact one, for all rows so far."""
        magnitude = sum(term.magnitude for term in self._terms)
        adding = 2 * len(self._terms) * _ROUNDING * magnitude
        return sum(term.error for term in self._terms) + adding

    def _raise_border(self, scores: Floats) -> None:
        top = self._asked.top
        better = scores[scores > self._border]
        self._pool = np.concatenate((self._pool, better)) if len(self._pool) else better
        if len(self._pool) >= (top if self._border == -inf else 2 * top):
            self._settle_border()
        if self._border > -inf:
            largest = np.array([term.largest for term in self._terms])
            others = largest.sum() - largest
            self._corner = self._border - others - 8 * self._error

    def _settle_border(self) -> None:
        """Keep the best scores alone; the least of them is the border."""
        first = len(self._pool) - self._asked.top
        self._pool = np.partition(self._pool, first)[first:]
        self._border = float(self._pool[0])

    def _chosen(self, scores: Floats, terms: Sequence[Floats]) -> NDArray[np.int64]:
        """Which rows may be best or in the box."""
        if self._border == -inf:
            return np.arange(len(scores))
        if not self._holds_box:
            return np.flatnonzero(scores >= self._border - 2 * self._error)
        self._strictest = np.maximum(self._strictest, self._corner)
        # Whoever reaches each c_j reaches their sum: one comparison spares most of the others.
        chosen = np.flatnonzero(scores >= self._corner.sum() - 2 * self._error)
        for term, least in zip(terms, self._corner, strict=True):
            chosen = chosen[term[chosen] >= least]
        return chosen

    def _prune(self) -> None:
        """Choose among the held rows again; give up the box where too many are left."""
        held = self._pruned()
        if self._holds_box and sum(len(each.scores) for each in held) > _HELD:
            self._holds_box = False
            held = self._pruned()
        self._held, self._fresh = held, 0
        self._prune_at = max(_FIRST_PRUNE, sum(len(each.scores) for each in held))

    def _pruned(self) -> list[_Held]:
        chosen = [self._chosen(held.scores, list(held.terms)) for held in self._held]
        return list(_only(self._held, chosen))


@dataclass(frozen=True, eq=False)
class _Held:
    """Rows with their rounded scores."""

    batch: Batch
    scores: Floats
    terms: Floats
    """Shape (m, n): what each column adds."""

    def only(self, rows: NDArray[np.int64]) -> _Held:
        if len(rows) == len(self.scores):
            return self
        return _Held(self.batch.only(rows), self.scores[rows], self.terms[:, rows])


def _only(held: Sequence[_Held], chosen: Sequence[NDArray[np.int64]]) -> Iterator[_Held]:
    """The chosen rows of each part that has any."""
    return (part.only(rows) for part, rows in zip(held, chosen, strict=True) if len(rows))


class _Term:
    """What one column adds to the scores, and how large and how wrong that may be so far."""

    def __init__(self, column: str, score: RowScore) -> None:
        self._column = column
        self._score = score
        self._low, self._high = inf, -inf
        self._relative = 0.0
        self.largest = -inf
        """The largest term so far."""
        self.magnitude = 0.0
        """The largest absolute value of a term so far."""
        self.error = 0.0
        """By how much a term may differ from the exact one, for all rows so far."""

    def near(self, key: pl.Series) -> Floats:
        """The terms of some rows; raises ``UnusualError``."""
        if key.null_count():
            raise UnusualError(self._column)
        values = key.cast(pl.Float64).to_numpy()
        low, high = float(values.min()), float(values.max())
        if low < self._low or high > self._high or not low <= high:
            self._relative, least = _OF_SINGLES if key.dtype == pl.Float32 else _OF_OTHERS
            self._widen(min(low, self._low), max(high, self._high), least)
        return self._score.near(self._column, values)

    def merge(self, other: _Term) -> None:
        """Note the extremes that another part of the column has."""
        if other._low <= other._high:
            self._relative = max(self._relative, other._relative)
            self._widen(min(other._low, self._low), max(other._high, self._high), 0.0)

    def _widen(self, low: float, high: float, least: float) -> None:
        """Note new extremes of the column, which are in magnitude not below ``least``."""
        relative = self._relative
        magnitude = max(abs(low), abs(high))
        tiny = 0 < low < least or -least < high < 0 or 0 < magnitude < least
        if tiny or not -inf < low <= high < inf:  # false with NaN as well
            raise UnusualError(self._column)
        ends = self._score.near(self._column, np.array([low, high]))
        error = self._score.error(self._column, low, high, relative)
        if not (np.abs(ends).max() < _LARGEST and error < _LARGEST):
            raise UnusualError(self._column)
        self._low, self._high, self.error = low, high, error
        self.largest = float(ends.max())
        self.magnitude = float(np.abs(ends).max())
