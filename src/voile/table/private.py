"""A private table: what a publisher may ask of it, over the rows of any engine.

A publisher asks for counts, decides on them, and hands the decision back to be applied row by row.
No row, and no array with one entry per row, comes out.

The rows are bound to the plan when something is asked of them that needs it: of a ranking, only the
best rows are ever bound, and the others not kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from voile.randomness import Key, Randomness
from voile.schema.numbers import ExactNumbers
from voile.schema.ordered import ranks_in_order
from voile.schema.persons import uncounted
from voile.schema.plan import ColumnPlan, Plan
from voile.schema.roles import Roles
from voile.table.applying import applied
from voile.table.arrays import array_of, kind_of_arrow, polars_type, series_of
from voile.table.best_rows import Asked, Found, UnusualError
from voile.table.binding import Bound, bind
from voile.table.decisions import (
    Charge,
    FlowBounds,
    FlowCounts,
    Grouping,
    Relocated,
    Relocation,
    Treatment,
)
from voile.table.identity import WORDS, with_row_words, words_of
from voile.table.keeping import KeptRows
from voile.table.matching import CLASS, mark_rows, match_rows
from voile.table.numeric import (
    distinct_values,
    exact_numbers,
    require_finite,
    require_finite_numbers,
)
from voile.table.persons import (
    refuse_kept_that_single_out,
    require_units,
    rows_that_may_be_published,
)
from voile.table.protocol import Engine, Format, Rows
from voile.table.published import PublishedTable
from voile.table.scores import RowScore
from voile.table.summaries import (
    CombinationCounts,
    CountedRows,
    GroupCounts,
    KnownRows,
    RowMatch,
    RowSample,
    ValueCounts,
)
from voile.table.top_rows import can_be_scanned, find_in_bound, find_in_source
from voile.table.units import UnitCounts, rows_of_units
from voile.table.whose import PublishedUnits
from voile.values.expressions import Column, Literal

__all__ = ["PrivateTable", "TableSource", "TopRows"]

_DRAWN, _GROUP = "\1drawn", "\1group"
"""No file has columns whose names begin so."""


@dataclass(frozen=True, eq=False)
class TableSource:
    """A private table before its plan is bound to it."""

    engine: Engine
    rows: Rows
    plan: Plan
    names: Sequence[str]
    """Of all columns that it has."""
    extra: Sequence[str] = ()
    """Columns without a published role that the method needs."""
    format: Format = "parquet"
    notes: tuple[str, ...] = ()
    convert: Callable[[Rows], Any] | None = None
    """What makes of rows a data frame of the kind that the table was."""


@dataclass(frozen=True, eq=False)
class TopRows:
    """The best rows of a table, and all others in the box around them; private."""

    table: PrivateTable
    """Those rows alone."""
    tops: int
    """How many of them are best; all that share a score are, or none."""


class PrivateTable:
    """A table of real people's rows with the roles of its columns; nothing in it may leave."""

    def __init__(self, source: TableSource, bound: Bound | None = None) -> None:
        source.plan.bind(source.names)
        self._source = source
        self._bound_rows = bound
        self._sizes: tuple[int, int] | None = None

    def __repr__(self) -> str:
        return "PrivateTable(private)"

    @property
    def plan(self) -> Plan:
        """Roles and what the plan says of the columns; names are those of this table."""
        return self._source.plan

    @property
    def source_format(self) -> Format:
        """The format that a release has unless another is asked for."""
        return self._source.format

    @property
    def notes(self) -> tuple[str, ...]:
        """What was assumed in reading the table, and what the plan let happen to values."""
        bound = self._bound_rows
        return (*self._source.notes, *(bound.notes if bound else ()))

    @property
    def rows(self) -> int:
        """Number of rows after the declared treatment of missing values."""
        return self._sizes[0] if self._sizes else self._bound.rows.height

    @property
    def dropped(self) -> int:
        """Rows left out because the plan says ``nulls = "drop"``."""
        return self._sizes[1] if self._sizes else self._bound.dropped

    def read(self) -> PrivateTable:
        """The table itself, bound to its plan; raises ``TableError`` and ``PlanError``."""
        assert self._bound.rows is not None
        return self

    def require_persons(self) -> None:
        """Raise ``PlanError`` where rows contradict that each is another person.

        Of a table that can be scanned no more is read for that than the columns to keep.
        """
        if self._bound_rows is None and can_be_scanned(self._source.rows.schema, self.plan):
            rows = rows_that_may_be_published(self._source.rows, self.plan)
            refuse_kept_that_single_out(rows, self.plan)
        else:
            self.read()

    def kinds(self, columns: Sequence[str]) -> Mapping[str, str]:
        """Kind of the values of each column: number, text, boolean, date, datetime, ..."""
        if self._bound_rows is None and can_be_scanned(self._source.rows.schema, self.plan):
            schema = self._source.rows.schema
            declared = {
                name: self.plan.columns.get(name, ColumnPlan()).reads_as for name in columns
            }
            return {name: declared[name] or _kind(schema.field(name).type) for name in columns}
        return {name: _kind(self._rows.schema.field(name).type) for name in columns}

    # -- counts -----------------------------------------------------------------------------------

    def count_values(self, column: str, match: RowMatch | None = None) -> ValueCounts:
        """Rows by distinct value of a numeric column, and by class where rows were matched.

        Raises ``TableError`` where the column is not numeric, misses values, holds NaN or an
        infinity, or leaves its public bounds.
        """
        require_finite_numbers(self._rows, column)
        rows = match.rows if match else self._rows
        counted = rows.count([column, CLASS] if match else [column], keep=True)
        numbers = exact_numbers(series_of(counted.values[0]))
        cells = np.zeros((len(numbers), match.classes if match else 1), dtype=np.int64)
        if match:
            classes = series_of(counted.values[1]).to_numpy()
            cells[counted.codes[:, 0], classes[counted.codes[:, 1]]] = counted.rows
        else:
            cells[counted.codes[:, 0], 0] = counted.rows
        return ValueCounts(numbers, cells, CountedRows(rows, counted))

    def count_combinations(
        self, columns: Sequence[str], sample: RowSample | None = None
    ) -> CombinationCounts:
        """Rows by distinct combination of values of some columns, of all rows or of a sample.

        Values of a sample are named as those of all rows.  Numeric columns must be finite; missing
        values count as a value of their own.  Raises ``TableError``.
        """
        self._require_finite(columns)
        rows = sample.rows if sample else self._rows
        counted = rows.count(columns, keep=True)
        values, codes = counted.values, counted.codes
        if sample:
            values = tuple(self._rows.count([name]).values[0] for name in columns)
            pairs = zip(values, counted.values, codes.T, strict=True)
            codes = np.column_stack([_places_in(*pair) for pair in pairs])
        return CombinationCounts(
            columns=tuple(columns),
            values=tuple(distinct_values(series_of(each)) for each in values),
            codes=codes,
            rows=counted.rows,
            of=CountedRows(rows, counted),
            units=self.units_of(CountedRows(rows, counted)),
        )

    def units_of(self, found: CountedRows) -> UnitCounts | None:
        """The persons or households of what was counted; None where each row is another person."""
        unit = self.plan.roles.unit
        if unit is None:
            return None
        return UnitCounts.of(found.rows, found.counted, unit, self._of_units)

    @property
    def units(self) -> int:
        """How many persons or households there are; rows, where each is another person."""
        return self.rows if self.plan.roles.unit is None else self._of_units.height

    def count_in_groups(self, groups: Grouping, columns: Sequence[str]) -> tuple[GroupCounts, ...]:
        """Rows by group and distinct value, for each of some columns.

        Numeric columns must be finite; raises ``TableError``.  Raises ``ValueError`` where groups
        leave a row out, or are of a sample.
        """
        counted = groups.of.counted
        if groups.group.min(initial=0) < 0 or counted.rows.sum() != self._rows.height:
            msg = "groups must leave no row out, and be of combinations of all rows of the table"
            raise ValueError(msg)
        self._require_finite(columns)
        rows = groups.of.rows.join(counted, {_GROUP: array_of(groups.group)})
        found = []
        for column in columns:
            cells = rows.count([_GROUP, column])
            numbers = series_of(cells.values[0]).to_numpy()
            group, value = cells.codes.astype(np.int64).T
            found.append(GroupCounts(column, numbers[group], value, cells.rows))
        return tuple(found)

    # -- rows that are chosen ---------------------------------------------------------------------

    def sample_rows(self, probability: Decimal, randomness: Randomness) -> RowSample:
        """Draw each row with this probability, independently; between 0 and 1, both excluded.

        A row is drawn if the 64 pseudorandom bits of its identity, read as a whole number, are
        below floor(probability * 2**64).  The probability is therefore at most the one stated, and
        less by under 2**-64.  The draw is a function of the key and of the row's identity.
        """
        if not 0 < probability < 1:
            msg = "the probability of a sample lies between 0 and 1, both excluded"
            raise ValueError(msg)
        key, threshold = randomness.key("sample"), int(Fraction(probability) * 2**64)

        def drawn(batch: pa.RecordBatch) -> list[pa.Array]:
            return [array_of(words_of(batch, key) < np.uint64(threshold))]

        gives = pa.schema([pa.field(_DRAWN, pa.bool_())])
        rows = with_row_words(self._rows, self._identifying, key).map(drawn, WORDS, gives)
        names = self._rows.schema.names
        rows = rows.select([*names, _DRAWN])
        return RowSample(probability, rows, _DRAWN, names)

    def match_rows(self, known: KnownRows, key: bytes, record_key: str | None) -> RowMatch:
        """Find the rows of earlier releases; raises ``TableError`` for a bad record key."""
        engine = self._source.engine
        return match_rows(self._rows, self._identifying, known, engine, Key(key), record_key)

    def mark_rows(self, groups: Grouping, match: RowMatch) -> tuple[KeptRows, KeptRows]:
        """Marks of the fresh rows that a decision publishes, and of those it holds back."""
        return mark_rows(groups, match)

    def top_rows(self, score: RowScore, top: int, *, ties: bool) -> TopRows:
        """The ``top`` rows of the highest scores, and the rows in the box around them.

        A row is in the box where in every column of the score its value lies between the least
        and the most of the best rows.  Rows that tie with the last of the best are all among them
        with ``ties``; else none of them is, unless they fit.  There may then be no best row.
        Where there are fewer rows than ``top``, all are best.

        Scores are compared exactly.  Raises ``TableError`` where a row misses a value to be ranked
        by, or holds one that is not finite, that its order does not name, or that has no score.
        """
        asked = Asked(score, top, ties)
        if self._bound_rows is None and can_be_scanned(self._source.rows.schema, self.plan):
            try:
                return self._scanned(*find_in_source(self._source.rows, self.plan, asked))
            except UnusualError as unusual:
                self._refuse(unusual.column, score)
        self._sizes = None
        for name in score.columns:
            self._require_ranked(name)
        try:
            rows, tops = find_in_bound(self._rows, self.plan, asked, rounded=True)
        except UnusualError as unusual:
            self._require_scores(unusual.column, score)
            rows, tops = find_in_bound(self._rows, self.plan, asked, rounded=False)
        return TopRows(PrivateTable(self._source, replace(self._bound, rows=rows)), tops)

    # -- what becomes of rows ---------------------------------------------------------------------

    def apply(self, treatment: Treatment, randomness: Randomness) -> PublishedTable:
        """The published columns as a treatment has them, in an order that tells nothing.

        Where there are groups rows stand by group, and then by what they show of their own; the
        number of the group, from 1, is the column ``group``.  Otherwise they stand by what they
        show.  See ``applying``, also for what is raised.

        Raises ``PlanError`` where the plan names persons or households: a method that counts them
        asks ``apply_counted``, and any other would promise of rows what was asked for persons.
        """
        table, units = self.apply_counted(treatment, randomness)
        if units is not None:
            raise uncounted(self.plan, "the method counts rows")
        return table

    def apply_counted(
        self, treatment: Treatment, randomness: Randomness
    ) -> tuple[PublishedTable, PublishedUnits | None]:
        """As ``apply``, and whose the published rows are, in order that they be checked; private.

        None where each row is another person.
        """
        published, unit = self.plan.roles.published, self.plan.roles.unit
        if unit is None:
            rows = applied(self._rows, published, treatment, randomness)
            return PublishedTable(rows, self._source.convert), None
        whose = applied(self._rows, published, treatment, randomness, [unit])
        shown = [name for name in whose.schema.names if name != unit]
        table = PublishedTable(whose.select(shown), self._source.convert)
        return table, PublishedUnits(whose, unit, self._of_units)

    def left_out(self, groups: Grouping, sample: RowSample | None = None) -> Rows:
        """The rows that have no group, and those outside a sample: private, with all columns."""
        gone = array_of(groups.group < 0)
        marked = groups.of.rows.join(groups.of.counted, {_GROUP: gone})
        rows = marked.filter(Column(_GROUP)).select(self._rows.schema.names)
        return rows.union(sample.rest) if sample else rows

    def relocate(
        self,
        relocation: Relocation,
        randomness: Randomness,
        charge: Charge = lambda offers: None,
    ) -> Relocated:
        """The reports of the plan's trajectories, moved by noise, with the published columns.

        Trip and time stay as they are; in place of a position there is a noisy one, or the column
        ``remaining`` with the noisy distance in metres.  Rows stand by trip, by time, and then by
        what they show.  The draws of a report are a function of the key, of its trip's id and of
        its number in the trip.  ``charge`` is told what the trips cost at most, before anything is
        drawn, and says how each is thinned; where it raises, nothing is drawn.

        Raises ``TableError`` where a report has no time or place, or one that cannot be;
        ``PlanError`` where the plan names no trajectories.
        """
        from voile.table.relocating import relocate  # noqa: PLC0415 - compiled code of its own

        self._refuse_units_of_trips()
        made = relocate(self._rows, self.plan, relocation, randomness, charge)
        return Relocated(
            PublishedTable(made.rows, self._source.convert),
            made.trips,
            made.left_out,
            made.thinned,
            made.near,
            made.notices,
        )

    def count_flows(
        self, bounds: FlowBounds, randomness: Randomness, pay: Callable[[], object]
    ) -> FlowCounts:
        """Trips between zones and passages of roads, bounded by vehicle.

        ``pay`` is called before it is drawn which of them count.

        Raises ``TableError`` and ``PlanError`` as ``relocate`` does, and ``PlanError`` where the
        plan names no vehicle.
        """
        from voile.table.flows import count_flows  # noqa: PLC0415 - as above

        self._refuse_units_of_trips()
        return count_flows(self._rows, self.plan, bounds, randomness, pay)

    def published_cells(self, columns: Mapping[str, Sequence[Any]]) -> PublishedTable:
        """A table of columns that are public, for the engine of this one."""
        from voile.table.flows import table_of_cells  # noqa: PLC0415 - as above

        return table_of_cells(self._source.engine, columns)

    # -- how --------------------------------------------------------------------------------------

    @property
    def _bound(self) -> Bound:
        if self._bound_rows is None:
            source = self._source
            bound = bind(source.rows, source.plan, source.names, source.extra)
            require_units(bound.rows, source.plan)
            refuse_kept_that_single_out(bound.rows, source.plan)
            self._bound_rows = bound
            # Encoded columns take the place of those that were read.
            self._source = replace(source, rows=bound.rows)
        return self._bound_rows

    @property
    def _rows(self) -> Rows:
        return self._bound.rows

    @cached_property
    def _of_units(self) -> Rows:
        """The persons or households, and how many rows each has."""
        unit = self.plan.roles.unit
        assert unit is not None
        return rows_of_units(self._rows, unit)

    def _refuse_units_of_trips(self) -> None:
        """Refuse persons of trips: whoever drives is protected by trip, or as a vehicle."""
        if self.plan.roles.unit is not None:
            raise uncounted(self.plan, "trips are protected by trip or by [roles] vehicle")

    @property
    def _identifying(self) -> list[str]:
        """The columns by which a row is recognised where no record key identifies it."""
        return sorted(self.plan.roles.published)

    def _require_finite(self, columns: Sequence[str]) -> None:
        for name in columns:
            require_finite(self._rows, name)

    def _scanned(self, found: Found, rows_in: int) -> TopRows:
        """The best rows of a table that was gone through once, bound by themselves."""
        source, box = self._source, found.box
        rows = source.engine.of_arrow(box.rows.to_arrow(), box.places)
        bound = bind(rows, source.plan, source.names)
        dropped = rows_in - found.seen
        self._sizes = found.seen, dropped
        if not found.tops:
            bound = replace(bound, rows=bound.rows.filter(Literal(value=False)))
        return TopRows(PrivateTable(source, replace(bound, dropped=dropped)), found.tops)

    def _refuse(self, column: str, score: RowScore) -> None:
        """Raise what is to be said of a column, if anything is, without reading the others."""
        plan = self.plan
        described = {name: it for name, it in plan.columns.items() if name == column}
        alone = replace(plan, roles=Roles(ranking=(column,)), columns=described)
        table = PrivateTable(replace(self._source, plan=alone)).read()
        if column in score.columns:
            table._require_ranked(column)
            table._require_scores(column, score)

    def _require_ranked(self, name: str) -> None:
        """Raise ``TableError`` where a column has no numbers to rank by."""
        if self.plan.columns.get(name, ColumnPlan()).order is None:
            require_finite_numbers(self._rows, name)

    def _require_scores(self, name: str, score: RowScore) -> None:
        """Raise ``TableError`` where a value of a column cannot be scored."""
        values = series_of(self._rows.count([name]).values[0])
        order = self.plan.columns.get(name, ColumnPlan()).order
        if order is None:
            score.exact(name, exact_numbers(values))
        else:
            places = ranks_in_order(name, order, distinct_values(values))
            score.exact(name, ExactNumbers.of(places))


def _places_in(values: pa.Array, some: pa.Array, codes: NDArray[np.int32]) -> NDArray[np.int32]:
    """Codes that name some of ascending values, as codes that name them among all."""
    there = series_of(values).is_in(series_of(some).implode(), nulls_equal=True)
    return np.flatnonzero(there.to_numpy()).astype(np.int32)[codes]


def _kind(dtype: pa.DataType) -> str:
    """Kind of the values of a column, the same for integers and decimals."""
    return "number" if polars_type(dtype).is_numeric() else kind_of_arrow(dtype)
