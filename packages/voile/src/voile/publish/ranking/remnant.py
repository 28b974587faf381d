"""The rows that matter to a ranking: the top rows, and the others in the box around them.

Larger is better: the caller has turned attributes where lower is better, and has computed the
scores, as whole numbers.  A row that lies outside the box of all top rows lies in no box that top
rows span, so it is left out before anything is searched.

Persons with several rows: the remnant has a row for each person and each different ranking
attributes, so that rows of a person that agree in these count once; ``unit`` says whose each is.

Ties: all rows that share the score at the border count as top (``ties="top"``), or none of them
(``ties="none"``).  The order of the rows of a table decides nothing: rows are sorted by score and
then by values, so that only equal rows, which are in the same boxes, can change places.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal, Self

import numpy as np
from numpy.typing import NDArray

from voile.publish.ranking.boxes import BoxQuestion, Field, bits_of, field_of
from voile.publish.ranking.terms import SearchTerms
from voile_base.errors import PlanError

__all__ = ["Remnant", "Ties"]

Ties = Literal["top", "none"]
_EACH = np.zeros(0, dtype=np.int32)


@dataclass(frozen=True, eq=False)
class Remnant:
    """n rows of m ranking attributes, best first.  Private: it holds rows of the table."""

    values: NDArray[np.int64]
    """(n, m): larger is better."""
    scores: NDArray[np.int64]
    """(n,): falling."""
    tops: int
    """The first so many rows are top."""
    fresh: NDArray[np.bool_]
    """(n,): rows that no group has published."""
    row: NDArray[np.int64]
    """(n,): where each row stood in the arrays that were given."""
    field: Field
    unit: NDArray[np.int32] | None = None
    """(n,): whose each row is, from 0; None: each is another person's."""

    @classmethod
    def of_table(
        cls,
        values: NDArray[np.int64],
        scores: NDArray[np.int64],
        top: int,
        ties: Ties = "top",
    ) -> Self:
        """The remnant of a whole table: values (n, m), scores (n,), the ``top`` best are asked for.

        Raises ``PlanError`` where the table has fewer rows, or where ties leave no top row or no
        other.
        """
        if not 1 <= top <= len(scores):
            msg = f"top must be from 1 to the number of rows, {len(scores)}"
            raise PlanError(msg)
        border = np.partition(scores, len(scores) - top)[len(scores) - top]
        is_top = scores >= border
        if ties == "none" and np.count_nonzero(is_top) > top:
            is_top = scores > border
        if not is_top.any():
            msg = "all of the best rows share one score, so there is no top; let ties count as top"
            raise PlanError(msg)
        best = values[is_top]
        kept = np.arange(len(scores))
        for column, low, high in zip(values.T, best.min(axis=0), best.max(axis=0), strict=True):
            own = column[kept]
            kept = kept[(own >= low) & (own <= high)]
        found = cls.of_rows(values[kept], scores[kept], int(is_top.sum()))
        return replace(found, row=kept[found.row])

    @classmethod
    def of_rows(
        cls,
        values: NDArray[np.int64],
        scores: NDArray[np.int64],
        tops: int,
        unit: NDArray[np.int64] | None = None,
    ) -> Self:
        """The remnant from rows that were filtered already; ``unit`` (n,) says whose each is.

        The rows must be all rows of the table in some box that holds the top rows, usually the
        box around them; ``tops`` counts the top rows, ties settled.  Raises ``PlanError`` where
        ``tops`` would part rows of equal score, or there are not so many.
        """
        if not 1 <= tops <= len(scores):
            msg = f"the number of top rows must be from 1 to the number of rows, {len(scores)}"
            raise PlanError(msg)
        row = np.lexsort((*(-values.T[::-1]), -scores))
        values, scores = np.ascontiguousarray(values[row]), scores[row]
        if tops < len(scores) and scores[tops - 1] == scores[tops]:
            msg = "rows of equal score must all be top or none: count them so"
            raise PlanError(msg)
        fresh = np.ones(len(scores), dtype=np.bool_)
        whose = None
        if unit is not None:
            whose = np.unique(unit[row], return_inverse=True)[1].astype(np.int32)
        return cls(values, scores, tops, fresh, row, field_of(values, tops), whose)

    def __len__(self) -> int:
        return len(self.scores)

    def published(self, members: NDArray[np.int64]) -> Self:
        """The same rows after a group was published; they still count in the boxes of others."""
        fresh = self.fresh.copy()
        fresh[members] = False
        return replace(self, fresh=fresh)

    def persons(self, rows: NDArray[np.int64]) -> int:
        """Whose some rows are, given by their numbers: how many different persons."""
        return len(rows) if self.unit is None else len(np.unique(self.unit[rows]))

    def targets(self, batch: int | None) -> NDArray[np.bool_]:
        """Which top rows, shape (tops,), a search starts from: the best fresh ones and all ties.

        ``batch`` counts persons, each by the best of their rows.
        """
        left = self.fresh[: self.tops]
        ranked = np.flatnonzero(left)
        if self.unit is not None:
            ranked = ranked[np.sort(np.unique(self.unit[ranked], return_index=True)[1])]
        if batch is None or batch >= len(ranked):
            return left
        chosen: NDArray[np.bool_] = left & (
            self.scores[: self.tops] >= self.scores[ranked[batch - 1]]
        )
        return chosen

    def question(self, terms: SearchTerms) -> BoxQuestion:
        """What compiled searches are asked."""
        return BoxQuestion(
            self.field,
            bits_of(self.targets(terms.batch)),
            bits_of(self.fresh),
            terms.k,
            terms.precision.numerator,
            terms.precision.denominator,
            _EACH if self.unit is None else self.unit,
            np.zeros(1 if self.unit is None else int(self.unit.max()) + 2, dtype=np.int64),
        )
