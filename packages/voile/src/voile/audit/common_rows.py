"""Which rows of a released file are of whom, in columns whose cells are values; private.

A row whose values nobody has together is of nobody.  A row that stands in the file more often than
there are people who have its values repeats somebody, and hides nobody better for it: a person
counts once, however many rows repeat him.

Cost: a sort a column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile.release.reading.rows import People, distinct_texts_of
from voile.table.arrays import Values

__all__ = ["CommonRows"]

Codes = NDArray[np.int64]

_RARE = 0.02
"""The share of rows whose values may be more or less frequent than in the original."""
_FOUND = 0.9
"""The share of rows that are of somebody, from which on the file shows rows of the original."""
_FEWER = 0.9
"""The share of the different rows to be expected, below which rows are repeated."""


@dataclass(frozen=True, eq=False)
class CommonRows:
    """Rows of the file and of the original in columns whose cells are values, as codes."""

    shown: Mapping[str, NDArray[np.int32]]
    own: Mapping[str, NDArray[np.int32]]
    missing: Mapping[str, int]
    """The code of a missing value, of the columns that lack some."""

    @classmethod
    def of(cls, columns: Mapping[str, Values], original: People) -> CommonRows:
        """Both sides, coded alike; ``columns`` are those of the file, by the original's names."""
        shown: dict[str, NDArray[np.int32]] = {}
        own: dict[str, NDArray[np.int32]] = {}
        missing: dict[str, int] = {}
        for name, cells in columns.items():
            codes: dict[str | None, int] = {}
            for side, values in ((own, original.column(name)), (shown, cells)):
                texts, place = distinct_texts_of(values)
                each = [codes.setdefault(text, len(codes)) for text in texts]
                side[name] = np.array(each, dtype=np.int32)[place]
            if None in codes:
                missing[name] = codes[None]
        return cls(shown, own, missing)

    def places(self, names: Sequence[str]) -> tuple[Codes, Codes]:
        """The code of each row in some columns, in the original and in the file."""
        people = len(self.own[names[0]])
        rows = np.zeros(people + len(self.shown[names[0]]), dtype=np.int64)
        for name in names:
            codes = np.concatenate((self.own[name], self.shown[name]))
            # Fewer rows than 2 ** 31 have fewer combinations and fewer codes than that.
            _, rows = np.unique(rows * (int(codes.max()) + 1) + codes, return_inverse=True)
        return rows[:people], rows[people:]

    def counts(self, names: Sequence[str]) -> tuple[Codes, Codes]:
        """How often each row of either side is there, in the original and in the file."""
        return _counted(*self.places(names))

    def shared(self, names: Sequence[str], least: int) -> tuple[float, float]:
        """The shares of the original's and of the file's rows that ``least`` rows or more show.

        Of a file of more rows than the original as many more, for it may repeat all of them.
        """
        own, seen = self.counts(names)
        most = least * max(1.0, float(seen.sum() / own.sum()))
        return float(own[own >= least].sum() / own.sum()), float(
            seen[seen >= most].sum() / seen.sum()
        )

    def found(self, names: Sequence[str]) -> float:
        """The share of the file's rows whose values somebody has, each person once."""
        own, seen = self.counts(names)
        return float(np.minimum(own, seen).sum() / seen.sum())

    def of_nobody(self, names: Sequence[str]) -> str:
        """Which rows are of nobody, as the beginning of "... has"."""
        share = 1 - self.found(names)
        return f"{share:.1%} of the rows nobody"

    def strangers(self, names: Sequence[str]) -> float:
        """The share of the file's rows beyond those that people have; cells may be missing.

        Where the file repeats rows, of those only whose values nobody has.
        """
        own, seen = self.places(names)
        known, shown = _counted(own, seen)
        complete = np.ones(len(seen), dtype=bool)
        for name in names:
            complete &= self.shown[name] != self.missing.get(name, -1)
        whole = np.bincount(seen[complete], minlength=len(known))
        beyond = np.maximum(whole - known, 0)
        if shown.sum() > known.sum() or self.are_repeated(names):
            beyond = np.where(known == 0, whole, 0)
        return float(beyond.sum() / len(seen))

    def are_of_somebody(self, names: Sequence[str]) -> bool:
        """Whether nearly all rows are of somebody."""
        return self.found(names) >= _FOUND

    def are_repeated(self, names: Sequence[str]) -> bool:
        """Whether rows are of somebody, and fewer are different than of people drawn at random.

        Permuted and synthetic values make more rows different, never fewer.
        """
        own, seen = self.counts(names)
        if seen[own > 0].sum() < _FOUND * seen.sum():
            return False
        drawn = min(float(seen.sum() / own.sum()), 1.0)
        expected = float((1 - (1 - drawn) ** own[own > 0]).sum())
        return int((seen > 0).sum()) < _FEWER * expected

    def persons(self, names: Sequence[str]) -> NDArray[np.float64]:
        """Shape (n,): of how many persons each row of the file is, at most, for rows that repeat.

        That is 1, or the share q / r for each of r rows whose values q < r people have; rows whose
        values nobody has count 1, for they repeat nobody.
        """
        places = self.places(names)
        own, seen = _counted(*places)
        share = np.where(own > 0, np.minimum(own, seen) / np.maximum(seen, 1), 1.0)
        each: NDArray[np.float64] = share[places[1]]
        return each

    def permuted(self, names: Sequence[str]) -> set[str] | None:
        """The fewest columns without which rows are of somebody; None where there are none.

        One after another, always that without which most rows are found; at most half of them, and
        only such as hold the values of the original as often.
        """
        left, gone = list(names), set[str]()
        can = {name for name in names if self._as_often(name)}
        while not self.are_of_somebody(left):
            if len(left) < 3 or len(gone) + 1 > len(names) / 2:
                return None
            rates = {
                name: self.found([n for n in left if n != name]) for name in left if name in can
            }
            if not rates:
                return None
            best = max(rates, key=lambda name: rates[name])
            left.remove(best)
            gone.add(best)
            can.discard(best)
        return gone

    def _as_often(self, name: str) -> bool:
        own, shown = self.counts([name])
        apart = np.abs(own - own.sum() / shown.sum() * shown).sum()
        return bool(apart <= 2 * _RARE * own.sum())


def _counted(own: Codes, shown: Codes) -> tuple[Codes, Codes]:
    kinds = int(max(own.max(), shown.max())) + 1
    return np.bincount(own, minlength=kinds), np.bincount(shown, minlength=kinds)
