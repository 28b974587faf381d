"""What methods of survey microdata promise: claims that are measured on the published rows.

microaggregation       that k rows share what is shown of the columns; of persons, what rows can
show of it
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

import numpy as np
from pydantic import Field

from voile.models.population import matching
from voile.release.claims import Claim
from voile.release.group_checks import Least, PublicRelease

__all__ = ["MatchedRows", "MicroaggregatedRows"]

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
