"""What a table holds, for its custodian: types, missing values, sizes of groups.

Everything here is private: computed from private rows without protection.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voile.schema.persons import Occurrences
from voile.schema.plan import Plan
from voile.table.distributions import ValueDistribution, distribution_of
from voile.table.engines import AUTO, engine_of
from voile.table.fitting import PlanDoubt, findings
from voile.table.looking import EXACT_ROLES, telling_columns
from voile.table.occurrences import count_occurrences, count_repeats
from voile.table.opening import rows_in_memory
from voile.table.persons import require_units
from voile.table.places import Place
from voile.table.protocol import Engine, Rows
from voile.table.summaries import ColumnDetails, ColumnProfile, UnitsProfile
from voile.table.unit_names import MARKS, doubts_of_units
from voile.table.value_types import kind_of, with_missing
from voile.table.written import details_of
from voile_base.errors import PlanError, TableError, nearest

__all__ = ["Inspected", "inspect_file"]


class Inspected:
    """A table as it stands in its file, before any plan is bound; private."""

    def __init__(
        self, frame: pl.DataFrame, notes: Sequence[str] = (), engine: Engine | str = AUTO
    ) -> None:
        self._frame, self._engine = frame, engine
        self.notes = tuple(notes)
        """What was assumed in reading the file."""

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self._frame.height

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, in order."""
        return tuple(self._frame.columns)

    def profile(self) -> list[ColumnProfile]:
        """Types, missing and distinct values of every column, in one pass over each."""
        return [_profile(column) for column in self._frame]

    def details(self, column: str) -> ColumnDetails:
        """How the values of a column are written; see ``written``."""
        return details_of(self._frame[column], _profile)

    def distribution(self, column: str, most: int) -> ValueDistribution:
        """How the values of a column are spread; see ``distributions``."""
        return distribution_of(self._frame[column], most)

    def first(self, rows: int) -> list[list[str | None]]:
        """The first rows, as texts; None where a value is missing."""
        texts = self._frame.head(rows).select(pl.all().cast(pl.String, strict=False))
        return [list(row) for row in texts.iter_rows()]

    def findings(self, plan: Plan) -> list[PlanDoubt]:
        """Where the columns that a plan publishes and what it says of them fit badly."""
        rows = self._rows
        return [found for name in plan.roles.published for found in findings(rows, plan, name)]

    def identifiers_that_repeat(self, plan: Plan) -> dict[str, Occurrences]:
        """Columns under ``identifiers`` with a value in more than one row; see ``persons``."""
        counted = {n: count_repeats(self._frame[n], plan.missing) for n in plan.roles.identifiers}
        return {name: found for name, found in counted.items() if found.repeat}

    def doubts_of_units(self, plan: Plan) -> list[PlanDoubt]:
        """What publishing refuses or tells of the columns of persons and households."""
        rows = self._rows
        found = [
            PlanDoubt(name, key, doubt.told, doubt.refused, doubt.first)
            for key, name in plan.roles.named_units.items()
            for doubt in doubts_of_units(rows, name, key)  # type: ignore[arg-type]
        ]
        if any(one.refused for one in found):
            return found
        try:
            require_units(rows, plan)
        except TableError as error:
            key, _, told = str(error).partition("[roles] ")[2].partition(": ")
            found.append(PlanDoubt(plan.roles.named_units[key], key, told, refused=True))
        return found

    def published_as_ids(self, plan: Plan, roles: Sequence[str] = EXACT_ROLES) -> list[PlanDoubt]:
        """Columns of roles that are shown exactly which are recognised or look like ids."""
        found = []
        for one in telling_columns(self._rows, plan, self.columns, roles):
            there = self._frame[one.name].is_not_null()
            again = there & ~self._frame[one.name].is_first_distinct()
            row = int((again if again.any() else there).arg_max() or 0) + 1
            where = f", {'again' if again.any() else 'first'} in row {row}"
            refused = one.name not in plan.roles.keep_unique
            found.append(PlanDoubt(one.name, one.role, one.told + where, refused, row))
        return found

    @property
    def _rows(self) -> Rows:
        return engine_of(self._engine).of_native(self._frame).rows

    def kept_that_single_out(self, plan: Plan) -> dict[str, Occurrences]:
        """Columns under ``keep`` most of whose values stand once; see ``persons``."""
        dropping = [name for name in plan.roles.published if plan.nulls_of(name) == "drop"]
        rows = self._frame.drop_nulls(dropping) if dropping else self._frame
        counted = {name: count_occurrences(rows[name]) for name in plan.roles.keep}
        return {name: found for name, found in counted.items() if found.single_out}

    def units(self, plan: Plan) -> UnitsProfile | None:
        """The persons or households that a plan protects; None where each row is another one."""
        unit = plan.roles.unit
        if unit is None:
            return None
        rows = self._frame.group_by(with_missing(self._frame[unit], plan.missing)).len("\0rows")
        told = rows.filter(pl.col(unit).is_not_null())["\0rows"]
        most = told.max()
        return UnitsProfile(
            protected=plan.roles.protected,
            column=unit,
            units=len(told),
            once=int((told == 1).sum()),
            most_rows=most if isinstance(most, int) else 0,
        )

    def group_sizes(self, columns: Sequence[str], unit: str | None = None) -> NDArray[np.int64]:
        """Sizes of the groups of rows that agree in the columns; missing agrees with missing.

        Of the different values of a column of persons or households in them, where one is named.
        Raises ``PlanError`` for a column that the table does not have.
        """
        for name in columns:
            if name not in self._frame.columns:
                hint = nearest(name, self._frame.columns)
                msg = f"the table has no column {name!r}{hint}"
                raise PlanError(msg)
        size = pl.len() if unit is None else pl.col(unit).n_unique()
        sizes = self._frame.group_by(columns).agg(size.alias("\0rows"))["\0rows"]
        return sizes.cast(pl.Int64).to_numpy()


def inspect_file(
    path: str | Place,
    missing: Sequence[str] = (),
    texts: Sequence[str] = (),
    engine: Engine | str = AUTO,
) -> Inspected:
    """Read a table to look at it; raises ``TableError`` where it cannot be read."""
    frame, notes = rows_in_memory(path, missing=missing, texts=texts, engine=engine)
    return Inspected(frame, notes, engine)


def _profile(column: pl.Series) -> ColumnProfile:
    placeholder, count = None, 0
    occurrences = count_occurrences(column.drop_nulls())
    if column.dtype == pl.String:
        found = column.filter(column.is_in(MARKS)).value_counts(sort=True)
        if found.height:
            placeholder, count = found.row(0)
    return ColumnProfile(
        name=column.name,
        type=kind_of(column),
        missing=column.null_count(),
        distinct=occurrences.values,
        once=occurrences.once,
        placeholder=placeholder,
        placeholders=count,
    )
