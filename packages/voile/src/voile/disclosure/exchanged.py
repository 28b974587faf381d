"""Columns whose values stand in other rows than their own: by rank, by a regression, by place.

    rank-swapped   a value was exchanged for one whose rank is near
    shuffled       all values were dealt out anew, in the order of what a regression and noise tell
    swapped        some rows exchanged what they show of places with others

Each cell is a value of the table.  Where each row is another person, all values stand in the file
as often as before.  What a cell tells of a value that somebody knows follows from their ranks in
the file, which are those of the table.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from voile.disclosure.evidence import Chosen, DistinctCells, Domain, Floats, Known
from voile.disclosure.exact import AsItReads
from voile.disclosure.foreign import usual_text
from voile_base.ondemand import on_demand

if TYPE_CHECKING:
    from voile.disclosure import covering as disclosure_covering
    from voile.disclosure.covering import Covered
    from voile.disclosure.evidence import Evidence
    from voile.disclosure.shown import ComparedColumn, OriginalSide
else:
    disclosure_covering = on_demand("voile.disclosure.covering")

scipy_special = on_demand("scipy.special")

__all__ = ["RankSwapped", "Shuffled", "Swapped"]

_SUPPOSED = 0.1
"""The share of swapped rows that an intruder supposes: none is published."""
_UNLIKELY = 1e-3
"""What a pair of values weighs whose ranks are too far apart, where ranks are those of strata."""


class _Exchanged(AsItReads):
    """What kinds share whose cells are values of other rows."""

    margin: Literal["kept"] | None = None
    """Whether each value stands in the file as often as in the table."""

    @property
    def set_refusal(self) -> str:
        """A cell need not be of the person whose row it seems to be."""
        return "values of other rows stand for no set of values"

    def against(self, name: str, compare: OriginalSide) -> ComparedColumn | None:
        """Whether the original holds the values."""
        if self.margin is None:
            return compare.not_compared(name, "values were exchanged between persons, not rows")
        return compare.values(name)

    def _wider(self, domain: Domain, cells: DistinctCells, size: float) -> Covered:
        """A cell stands for the value that it reads like, and leaves open this share of them."""
        covered = disclosure_covering.labels_covered(
            domain, cells, AsItReads.evidence(self, domain.known, cells), level=0
        )
        return replace(covered, size=np.maximum(covered.size, size), level=None)


class RankSwapped(_Exchanged):
    """Each row shows a value whose rank is at most ``distance`` of all ranks from that of its own.

    Within strata, whose ranks are those of a stratum, where ``within`` names columns.
    """

    kind: Literal["rank-swapped"] = "rank-swapped"
    distance: Annotated[float, Field(gt=0, le=1)]
    """As a share of the rows."""
    within: tuple[str, ...] = ()

    @property
    def graded(self) -> bool:
        """A value fits the better the nearer its rank is."""
        return True

    @property
    def size_basis(self) -> str:
        """See ``covered``."""
        return "the share of ranks between which values were exchanged"

    def evidence(self, known: Known, cells: DistinctCells) -> _RankEvidence:
        """A cell fits the better the nearer its rank is, and not beyond the distance."""
        bounded = not self.within and self.margin == "kept"
        return _RankEvidence(*_ranks(known, cells), self.distance, bounded=bounded)

    def covered(self, domain: Domain, cells: DistinctCells) -> Covered:
        """A cell stands for the value that it reads like, and for those of near ranks."""
        return self._wider(domain, cells, self.distance)


class Shuffled(_Exchanged):
    """Each row shows the value whose rank is that of what a regression and noise tell of it."""

    kind: Literal["shuffled"] = "shuffled"
    explained: Annotated[float, Field(ge=0, le=1)]
    """The share of the variance that the regression explains, in normal scores, to two digits."""
    by: tuple[str, ...] = ()
    """The columns that explain it."""

    @property
    def graded(self) -> bool:
        """A value fits the better the nearer it is, as far as the other columns tell it."""
        return True

    @property
    def size_basis(self) -> str:
        """See ``covered``."""
        return "the share of the variance that other columns do not explain"

    def evidence(self, known: Known, cells: DistinctCells) -> _ScoreEvidence:
        """Own and shown value agree as far as the regression explains both."""
        own, shown = (ranks.mean(axis=1) for ranks in _ranks(known, cells))
        to_scores = scipy_special.ndtri
        return _ScoreEvidence(to_scores(own), to_scores(shown), min(self.explained, 0.999))

    def covered(self, domain: Domain, cells: DistinctCells) -> Covered:
        """A cell stands for the value that it reads like, and for any as far as none tells it."""
        return self._wider(domain, cells, 1 - self.explained)


class Swapped(_Exchanged):
    """Some rows, nobody says how many, show what others had; with all columns of their exchange."""

    kind: Literal["swapped"] = "swapped"

    @property
    def graded(self) -> bool:
        """A row that shows another value fits less, and may be the right one."""
        return True

    @property
    def size_basis(self) -> str:
        """See ``covered``."""
        return "the share of swapped rows that is supposed, since none is published"

    def evidence(self, known: Known, cells: DistinctCells) -> Evidence:
        """A cell fits the value that it reads like best, and any other one less."""
        return usual_text(known, cells, _SUPPOSED)

    def covered(self, domain: Domain, cells: DistinctCells) -> Covered:
        """A cell stands for the value that it reads like, and for any in the supposed share."""
        return self._wider(domain, cells, _SUPPOSED)


def _ranks(known: Known, cells: DistinctCells) -> tuple[Floats, Floats]:
    """Where the ranks of t known values and of g cells begin and end, as shares: (t, 2), (g, 2).

    Values that no cell shows stand between their neighbours; missing ones and those of no order
    may be anywhere.
    """
    texts = cells.texts(cells.name)
    line, own = _line(known, cells, texts)
    there = np.isfinite(line)
    order = np.argsort(line[there], kind="stable")
    ascending, rows = line[there][order], np.asarray(cells.rows)[there][order]
    ends = np.concatenate([[0], np.cumsum(rows)]) / max(int(rows.sum()), 1)

    def between(points: Floats) -> Floats:
        found = np.stack(
            [ends[np.searchsorted(ascending, points, side)] for side in ("left", "right")], axis=1
        )
        found[~np.isfinite(points)] = 0.0, 1.0
        return np.asarray(found)

    return between(own), between(line)


def _line(known: Known, cells: DistinctCells, texts: list[str | None]) -> tuple[Floats, Floats]:
    """Points of g cells and of t known values on a line: numbers, or places in an order."""
    numbers, own = cells.numbers(cells.name), known.numbers
    if np.isfinite(numbers).any() and known.order is None:
        return numbers, own
    every = sorted({text for text in (*texts, *known.texts) if text is not None})
    place: dict[str | None, int] = {
        text: number for number, text in enumerate(known.order or every)
    }
    return tuple(  # type: ignore[return-value]
        np.array([place.get(text, np.nan) for text in side], dtype=np.float64)
        for side in (texts, known.texts)
    )


@dataclass(frozen=True, eq=False)
class _RankEvidence:
    """The ranks of t known values and n shown ones, and how far apart they may be."""

    known: Floats
    """Shape (t, 2)."""
    shown: Floats
    """Shape (n, 2)."""
    distance: float
    bounded: bool
    """Whether no value is farther."""

    def log_weights(self, targets: Chosen) -> Floats:
        """How well each row fits each of some targets, shape (targets, n); -inf rules it out."""
        own = self.known[targets]
        above = self.shown[np.newaxis, :, 0] - own[:, 1, np.newaxis]
        below = own[:, 0, np.newaxis] - self.shown[np.newaxis, :, 1]
        gap = np.maximum(np.maximum(above, below), 0.0)
        # What ranks within windows of up to one distance can be: the nearer, the more windows.
        near = np.maximum(1 - gap / (self.distance + 1e-12), 0.0 if self.bounded else _UNLIKELY)
        near = np.where((gap <= self.distance) & (near <= 0), _UNLIKELY, near)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(near))

    def only(self, rows: NDArray[np.int64]) -> Self:
        """The same about some of the rows."""
        return replace(self, shown=self.shown[rows])


@dataclass(frozen=True, eq=False)
class _ScoreEvidence:
    """Normal scores of t known values and n shown ones, whose correlation is known."""

    known: Floats
    shown: Floats
    correlation: float

    def log_weights(self, targets: Chosen) -> Floats:
        """Logarithm of their density together over that apart, shape (targets, n)."""
        own, r = self.known[targets, np.newaxis], self.correlation
        squares = r * r * (own**2 + self.shown**2) - 2 * r * own * self.shown
        found: Any = -squares / (2 * (1 - r * r))
        return np.asarray(np.nan_to_num(found, nan=0.0, posinf=0.0, neginf=-700.0))

    def only(self, rows: NDArray[np.int64]) -> Self:
        """The same about some of the rows."""
        return replace(self, shown=self.shown[rows])
