"""What methods of survey microdata promise: claims that are measured on the published rows.

microaggregation       that k rows share what is shown of the columns; of persons, what rows can
show of it
local-suppression      that k rows match what a row shows
pram                   that the matrix tells no more than is said, and that values stand as often
                       as it allows
noise, rank-swapping, record-swapping, shuffling
                       that their columns are stated to be shown so; how values were drawn, no
                       output shows
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from voile.disclosure.masked import NoiseAdded, Randomized, RankSwapped, Shuffled, Swapped
from voile.disclosure.shown import ShownColumn
from voile.models.population import matching
from voile.release.claim_checks import Least, PublicRelease
from voile.release.claims import Claim

__all__ = [
    "MatchedRows",
    "MicroaggregatedRows",
    "NoiseOfSurvey",
    "RedrawnValues",
    "ShuffledValues",
    "SwappedRanks",
    "SwappedRecords",
    "ratio_of_matrices",
]

Columns = Annotated[tuple[str, ...], Field(min_length=1)]


class _OfPersons(Claim):
    """A claim about at least ``k`` rows, or rows of as many persons."""

    k: Least
    unit: Literal["person", "household"] | None = None
    """Who is counted, where they may have several rows; None: each row is another person."""

    @property
    def unseen(self) -> tuple[str, ...]:
        """Of whom the rows are."""
        return () if self.unit is None else (f"of which {self.unit} a row is: rows were counted",)


class MicroaggregatedRows(_OfPersons):
    """What is shown of some columns together is shown by at least ``k`` rows."""

    kind: Literal["microaggregation"] = "microaggregation"
    columns: Columns

    def breaches(self, published: PublicRelease) -> Iterator[str]:
        """Combinations of fewer rows."""
        if few := int((published.table.count(self.columns).rows < self.k).sum()):
            names = ", ".join(map(repr, self.columns))
            yield f"{few} combinations of {names} are shown by fewer than {self.k} rows"


class MatchedRows(_OfPersons):
    """What a row shows of some columns is matched by ``k`` rows, a missing value by anything."""

    kind: Literal["local-suppression"] = "local-suppression"
    columns: Columns
    within: tuple[str, ...] = ()
    """Columns whose missing values match nothing but each other."""

    def breaches(self, published: PublicRelease) -> Iterator[str]:
        """Rows that fewer match, counted for each pair of combinations that may."""
        counted = published.table.count([*self.columns, *self.within])
        some = len(self.columns)
        nulls = [values.null_count > 0 for values in counted.values[:some]]
        blank = (counted.codes[:, :some] == 0) & np.array(nulls)
        found = matching(counted.codes, blank, counted.rows.astype(np.float64))
        if few := int(counted.rows[found < self.k].sum()):
            names = ", ".join(map(repr, self.columns))
            yield f"{few} rows show what fewer than {self.k} rows match in {names}"


_RATIO_DIGITS = 1e-6


def ratio_of_matrices(shown: Randomized) -> float | None:
    """The largest logarithm of a ratio in a column of the matrices, rounded up; None: infinite."""
    found = 0.0
    for number in range(len(shown.strata)) if shown.strata else (None,):
        matrix = shown.probabilities(number)
        own = np.array([value is not None for value in shown.values])
        shows = matrix[own][:, own]
        shows = shows[:, shows.max(axis=0) > 0]
        if (shows == 0).any():
            return None
        found = max(found, float(np.log(shows.max(axis=0) / shows.min(axis=0)).max()))
    return math.ceil(found / _RATIO_DIGITS) * _RATIO_DIGITS


class RedrawnValues(Claim):
    """Values were redrawn by published matrices, whatever other rows hold."""

    kind: Literal["pram"] = "pram"
    epsilon: Annotated[Mapping[str, float | None], Field(min_length=1)]
    """By column, the most that a cell changes the logarithm of the odds of two values; None where
    nothing limits it."""
    unit: Literal["person", "household"] | None = None
    """Whose rows with one value show one; None: each row is drawn for by itself."""

    @property
    def unseen(self) -> tuple[str, ...]:
        """How values were drawn."""
        return ("that values were drawn by the matrices: a property of the draws",)

    def breaches(self, published: PublicRelease) -> Iterator[str]:
        """Columns without a matrix, or with one that tells more than is said."""
        for name, stated in self.epsilon.items():
            stated_column = published.disclosure.columns.get(name)
            shown = None if stated_column is None else stated_column.behind
            if not isinstance(shown, Randomized):
                yield f"column {name!r} is said to be redrawn, and no matrix is stated"
                continue
            found = ratio_of_matrices(shown)
            if stated is not None and (found is None or found > stated + _RATIO_DIGITS):
                yield f"the matrix of column {name!r} tells more than epsilon = {stated:g}"


class _Drawn(Claim):
    """A claim about how cells of some columns were drawn, which only the draws keep."""

    columns: Columns

    @property
    def unseen(self) -> tuple[str, ...]:
        """How values were drawn."""
        return ("how values were drawn: a property of the draws",)

    def breaches(self, published: PublicRelease) -> Iterator[str]:
        """Columns that are shown otherwise."""
        for name in self.columns:
            shown = published.disclosure.columns.get(name)
            if shown is None or not self._shows(shown.behind):
                yield f"column {name!r} is not shown as the claim {self.kind} says"

    def _shows(self, shown: ShownColumn) -> bool:
        """Whether a column is shown as it is promised."""
        raise NotImplementedError


class NoiseOfSurvey(_Drawn):
    """Numbers have noise of a stated distribution."""

    kind: Literal["noise"] = "noise"

    def _shows(self, shown: ShownColumn) -> bool:
        return isinstance(shown, NoiseAdded)


class SwappedRanks(_Drawn):
    """Values were exchanged for such of ranks that are at most ``distance`` of all away."""

    kind: Literal["rank-swapping"] = "rank-swapping"
    distance: Annotated[float, Field(gt=0, le=1)]
    within: tuple[str, ...] = ()
    """Columns within whose values ranks were exchanged."""

    def _shows(self, shown: ShownColumn) -> bool:
        if not isinstance(shown, RankSwapped):
            return False
        return (shown.within, shown.distance) == (self.within, self.distance)


class ShuffledValues(_Drawn):
    """Values were dealt out anew, by what the columns ``by`` tell of them."""

    kind: Literal["shuffling"] = "shuffling"
    by: tuple[str, ...] = ()

    def _shows(self, shown: ShownColumn) -> bool:
        return isinstance(shown, Shuffled) and shown.by == self.by


class SwappedRecords(_Drawn):
    """Some rows exchanged these columns with others that agree in the columns ``match``."""

    kind: Literal["record-swapping"] = "record-swapping"
    match: tuple[str, ...] = ()

    def _shows(self, shown: ShownColumn) -> bool:
        return isinstance(shown, Swapped)
