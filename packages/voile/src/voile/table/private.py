"""A private table: what a publisher may ask of it, over the rows of any engine.

A publisher asks for counts (``counting``), decides on them, and hands the decision back to be
applied row by row.  No row, and no array with one entry per row, comes out.

At most m rows of each person or household take part where a differentially private method asks for
it (``bounded``).  Each row gets 64 pseudorandom bits, a function of a key, of whose it is, of what
it would show, and of its number among equal rows of the same person; the m rows of a person with
the least bits take part.  So each set of m of its rows is as likely as any other, and what is
drawn of one person does not depend on the rows of another: where a person comes or goes, or all
its rows are replaced, the rows of everybody else that take part are the same.  That is what
carries a promise for m rows over to persons.  (Two rows of a person get equal bits with
probability 2**-64; the engine then decides between them.)

Between the steps of a chain
----------------------------
Each step is asked as if the table had come in so.  What a step publishes stays here, beside the
private columns that later steps need, and is seen by nobody before the last one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from voile.schema.coding import Coding, coded_values, described_after
from voile.schema.domain import ColumnDomain
from voile.schema.persons import uncounted
from voile.schema.plan import ColumnPlan, Plan
from voile.schema.roles import EACH_ROW, Roles
from voile.table.applying import applied
from voile.table.arrays import array_of, kind_of_arrow, may_hold_dates, polars_type, series_of
from voile.table.best_rows import BestRows, BestRowsQuery, RowScore, UnusualError
from voile.table.binding import (
    UNPUBLISHABLE,
    BoundTable,
    coded_series,
    distinct_values,
    require_finite,
)
from voile.table.counting import (
    CountedTable,
    find_in_bound,
    find_in_source,
    require_ranked,
    require_scores,
)
from voile.table.decisions import (
    Charge,
    FlowBounds,
    FlowCounts,
    Grouping,
    Relocated,
    Relocation,
    Treatment,
)
from voile.table.domains import (
    MadeRows,
    NoisyCells,
    SumOfNumbers,
    TableCounts,
    measured_table,
    table_of_made_rows,
)
from voile.table.keeping import WORDS, KeptRows, with_row_words, words_of
from voile.table.looking import (
    refuse_kept_that_single_out,
    refuse_published_ids,
    rows_that_may_be_published,
)
from voile.table.matching import Held, Members, mark_rows, match_rows
from voile.table.protocol import Rows
from voile.table.published import GROUP, PublishedTable
from voile.table.summaries import (
    CombinationCounts,
    CountedRows,
    KnownRows,
    PublishedUnits,
    RowMatch,
    RowSample,
)
from voile_base.ondemand import dataclass, on_demand
from voile_base.randomness import Key, Randomness
from voile_base.values.expressions import Call, Column, Literal

if TYPE_CHECKING:
    from voile.table import matching as table_matching
    from voile.table.trips import relocating as trips_relocating
    from voile.table.trips import reports as trips_reports
else:
    table_matching = on_demand("voile.table.matching")
    trips_reports = on_demand("voile.table.trips.reports")
    trips_relocating = on_demand("voile.table.trips.relocating")

__all__ = ["ChainedTable", "PrivateTable", "RowTexts", "TopRows"]

_DRAWN, _GROUP = "\1drawn", "\1group"
_DRAW, _RANK = "\1draw", "\1rank of draw"
"""No file has columns whose names begin so."""


@dataclass(frozen=True, eq=False)
class TopRows:
    """The best rows of a table, and all others in the box around them; private."""

    table: PrivateTable
    """Those rows alone."""
    tops: int
    """How many of them are best; all that share a score are, or none."""


@dataclass(frozen=True, eq=False)
class RowTexts:
    """Rows to be shown to the custodian, of n rows; private."""

    combination: NDArray[np.int64]
    """Shape (n,): which of the counted combinations each row has."""
    _rows: pa.Table

    def at(self, places: NDArray[np.int64]) -> dict[str, list[str | None]]:
        """The published columns of the rows of these places, as texts; None: missing."""
        chosen = self._rows.take(array_of(places))
        return {
            name: [None if value is None else str(value) for value in chosen[name].to_pylist()]
            for name in chosen.column_names
        }


class PrivateTable(CountedTable):
    """A table of real people's rows with the roles of its columns; nothing in it may leave."""

    def require_persons(self) -> None:
        """Raise ``PlanError`` where rows contradict that each is another person.

        Of a table that can be scanned no more is read for that than the columns to keep.
        """
        if self._bound_rows is None and _can_be_scanned(self._source.rows.schema, self.plan):
            rows = rows_that_may_be_published(self._source.rows, self.plan)
            refuse_kept_that_single_out(rows, self.plan)
            refuse_published_ids(rows, self.plan, self._source.names)
        else:
            self.read()

    def refuse_telling_quasi_identifiers(self) -> None:
        """Raise ``PlanError`` for one that tells persons, things or places apart.

        It is for methods that show quasi-identifiers exactly.  What ``keep_unique`` lets through
        becomes one of the notes.
        """
        bound, names = self._bound, self._source.names
        exact = refuse_published_ids(bound.rows, self.plan, names, ("quasi_identifiers",))
        self._bound_rows = replace(bound, notes=(*bound.notes, *exact))

    def kinds(self, columns: Sequence[str]) -> Mapping[str, str]:
        """Kind of the values of each column: number, text, boolean, date, datetime, ..."""
        if self._bound_rows is None and _can_be_scanned(self._source.rows.schema, self.plan):
            schema = self._source.rows.schema
            declared = {name: self.plan.column(name).reads_as for name in columns}
            return {name: declared[name] or _kind(schema.field(name).type) for name in columns}
        return {name: _kind(self._rows.schema.field(name).type) for name in columns}

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

    def bounded(self, most: int, randomness: Randomness) -> PrivateTable:
        """The table of at most so many rows of each person or household; see the module.

        What it is about are rows: it counts no persons any more.
        """
        unit = self.plan.roles.unit
        if unit is None:
            return self
        rows = self._rows
        if self.rows_beyond(most):
            rows = _at_most_rows(
                rows, unit, self._identifying, most, randomness.key("rows of each")
            )
        roles = replace(self.plan.roles, person=EACH_ROW, household=None)
        source = replace(self._source, plan=replace(self.plan, roles=roles))
        return PrivateTable(source, replace(self._bound, rows=rows))

    def match_rows(self, known: KnownRows, key: bytes, record_key: str | None) -> RowMatch:
        """Find the rows of earlier releases; raises ``TableError`` for a bad record key."""
        engine = self._source.engine
        return match_rows(self._rows, self._identifying, known, engine, Key(key), record_key)

    def arrivals(
        self,
        known: KnownRows,
        key: bytes,
        record_key: str | None,
        name: str,
    ) -> Any:
        """A data frame of what rows publish, and before which release each arrived; private.

        For adversaries who know it, and no publisher; see ``table.matching``.
        """
        engine = self._source.engine
        marks = known, engine, Key(key), record_key
        return table_matching.arrivals(self._rows, self._identifying, *marks, name)

    def match_members(
        self, known: KnownRows, key: bytes, record_key: str, criteria: Sequence[str]
    ) -> Members:
        """Find who is new, still there, or gone; raises ``TableError`` for a bad record key.

        ``criteria`` are the columns whose values criteria compare.
        """
        rows, engine = self._rows, self._source.engine
        return Members.match(rows, self._identifying, criteria, known, engine, Key(key), record_key)

    def count_members(
        self, members: Members, columns: Sequence[str]
    ) -> tuple[CombinationCounts, NDArray[np.int64]]:
        """Rows by class and combination of values of some columns, and each one's class.

        Otherwise as ``count_combinations``.
        """
        self._require_finite(columns)
        counted, number = members.count(columns)
        counts = CombinationCounts(
            columns=tuple(columns),
            values=tuple(distinct_values(series_of(each)) for each in counted.values[1:]),
            codes=counted.codes[:, 1:],
            rows=counted.rows,
            of=CountedRows(members.rows, counted),
        )
        return counts, number

    def mark_rows(
        self, groups: Grouping, match: RowMatch, held: Held = "waiting"
    ) -> tuple[KeptRows, KeptRows]:
        """Marks of the fresh rows that a decision publishes, and of those it holds back.

        ``held`` says what becomes of the latter, beside which stand those set aside before.
        """
        return mark_rows(groups, match, self._source.engine, held)

    def top_rows(self, score: RowScore, top: int, *, ties: bool) -> TopRows:
        """The ``top`` rows of the highest scores, and the rows in the box around them.

        A row is in the box where in every column of the score its value lies between the least
        and the most of the best rows.  Rows that tie with the last of the best are all among them
        with ``ties``; else none of them is, unless they fit.  There may then be no best row.
        Where there are fewer rows than ``top``, all are best.  Where the plan names persons or
        households, ``top`` counts them, each by the best row: the best rows are all those that
        score no less than the last of the ``top``.

        Scores are compared exactly.  Raises ``TableError`` where a row misses a value to be ranked
        by, or holds one that is not finite, that its order does not name, or that has no score.
        """
        asked = BestRowsQuery(score, top, ties)
        if self._bound_rows is None and _can_be_scanned(self._source.rows.schema, self.plan):
            try:
                return self._scanned(*find_in_source(self._source.rows, self.plan, asked))
            except UnusualError as unusual:
                self._refuse(unusual.column, score)
        self._sizes = None
        for name in score.columns:
            require_ranked(self._rows, self.plan, name)
        of_units = None
        if self.plan.roles.unit is not None:
            found, of_units = self.rows_of_best_units(asked), self._of_units
            if not found:
                bound = replace(self._bound, rows=self._rows.filter(Literal(value=False)))
                return TopRows(PrivateTable(self._source, bound, of_units), 0)
            asked = BestRowsQuery(score, found, ties=True)
        try:
            rows, tops = find_in_bound(self._rows, self.plan, asked, rounded=True)
        except UnusualError as unusual:
            require_scores(self._rows, self.plan, unusual.column, score)
            rows, tops = find_in_bound(self._rows, self.plan, asked, rounded=False)
        bound = replace(self._bound, rows=rows)
        return TopRows(PrivateTable(self._source, bound, of_units), tops)

    def row_texts(self, counts: CombinationCounts) -> RowTexts:
        """The rows that were counted, in their order, for the custodian's eyes."""
        assert counts.of is not None
        place = array_of(np.arange(len(counts.rows), dtype=np.int64))
        published = self.plan.roles.published
        rows = counts.of.rows.join(counts.of.counted, {_GROUP: place}).select([*published, _GROUP])
        found = rows.to_arrow()
        return RowTexts(found[_GROUP].to_numpy().astype(np.int64), found.select(list(published)))

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
        self._refuse_units_of_trips()
        made = trips_relocating.relocate(self._rows, self.plan, relocation, randomness, charge)
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
        self._refuse_units_of_trips()
        return trips_reports.count_flows(self._rows, self.plan, bounds, randomness, pay)

    def count_tables(
        self,
        domain: Sequence[ColumnDomain],
        sets: Sequence[tuple[int, ...]],
        most: int,
        randomness: Randomness,
        sums: Sequence[SumOfNumbers] = (),
    ) -> TableCounts:
        """Rows by cell of public domains, at most so many of each person, in one pass.

        ``sets`` has the columns of each table by their places in the domain, and ``sums`` what
        numbers are added up over the cells of tables.  Nothing about rows
        is refused, whether they were bound to the plan or not; see ``domains``.
        """
        source = self._source.rows if self._bound_rows is None else self._bound_rows.rows
        names = {column.name for column in domain} | {it.column for it in sums}
        unit = self.plan.roles.unit
        taking_part = source
        if unit is not None:
            key = randomness.key("rows of each")
            taking_part = _at_most_rows(source, unit, sorted(names), most, key)
        counts = TableCounts.count(taking_part, self.plan, domain, sets, sums)
        beyond = 0 if unit is None else source.height - counts.rows - counts.left_out
        return replace(counts, beyond=beyond)

    def made_rows(self, domain: Sequence[ColumnDomain], made: MadeRows) -> PublishedTable:
        """A table of rows that are made up, for the engine of this one."""
        source = self._source
        return table_of_made_rows(source.engine, domain, made, source.convert)

    def measured(self, tables: Sequence[NoisyCells]) -> PublishedTable:
        """Noisy tables to be published; see ``domains``."""
        return measured_table(tables)

    def published_cells(self, columns: Mapping[str, Sequence[object]]) -> PublishedTable:
        """A table of columns that are public, for the engine of this one."""
        return trips_reports.table_of_cells(self._source.engine, columns)

    # -- how --------------------------------------------------------------------------------------

    def _refuse_units_of_trips(self) -> None:
        """Refuse persons of trips: whoever drives is protected by trip, or as a vehicle."""
        if self.plan.roles.unit is not None:
            raise uncounted(self.plan, "trips are protected by trip or by [roles] vehicle")

    @property
    def _identifying(self) -> list[str]:
        """The columns by which a row is recognised where no record key identifies it."""
        return sorted(self.plan.roles.published)

    def _scanned(self, found: BestRows, rows_in: int) -> TopRows:
        """The best rows of a table that was gone through once, bound by themselves."""
        source, box = self._source, found.box
        rows = source.engine.of_arrow(box.rows.to_arrow(), box.places)
        bound = BoundTable.bind(rows, source.plan, source.names)
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
            require_ranked(table._rows, alone, column)
            require_scores(table._rows, alone, column, score)


def _can_be_scanned(schema: pa.Schema, plan: Plan) -> bool:
    """Whether the best rows of a table can be found before it is bound.

    That is so where columns to rank by hold numbers, or texts that the plan gives an order, and
    each row is another person.
    """
    if plan.roles.unit is not None:
        return False
    types = {field.name: polars_type(field.type) for field in schema}
    published, ranking = plan.roles.published, plan.roles.ranking
    if not set(published) <= set(types):
        return False
    if any(types[name].is_nested() or types[name] in UNPUBLISHABLE for name in published):
        return False
    declared = {name: plan.column(name) for name in published}
    if any(it.dated and may_hold_dates(types[name]) for name, it in declared.items()):
        return False
    return bool(ranking) and all(_can_rank(types[name], plan.column(name)) for name in ranking)


def _can_rank(dtype: pl.DataType, declared: ColumnPlan) -> bool:
    if declared.order is None:
        return dtype.is_numeric() and declared.reads_as != "text"
    return dtype == pl.String and declared.reads_as != "number" and declared.bounds is None


def _at_most_rows(rows: Rows, unit: str, shown: Sequence[str], most: int, key: Key) -> Rows:
    """``most`` rows of each value of the column ``unit``, or all where it has no more.

    Rows that agree in the columns ``shown`` show the same: which of them is drawn does not matter.
    """

    def drawn(batch: pa.RecordBatch) -> list[pa.Array]:
        return [array_of(np.asarray(words_of(batch, key)))]

    named = with_row_words(rows, [unit, *shown], key)
    worded = named.map(drawn, WORDS, pa.schema([pa.field(_DRAW, pa.uint64())]))
    ranked = worded.rank(_RANK, [unit], [_DRAW])
    return ranked.filter(Call("<", (Column(_RANK), Literal(most)))).select(rows.schema.names)


def _kind(dtype: pa.DataType) -> str:
    """Kind of the values of a column, the same for integers and decimals."""
    return "number" if polars_type(dtype).is_numeric() else kind_of_arrow(dtype)


_PLACE = "\1place"
"""No file has a column whose name begins so."""


class ChainedTable(PrivateTable):
    """Rows between two steps; nothing in it may leave."""

    _left: Rows | None = None

    @classmethod
    def of(cls, table: PrivateTable) -> ChainedTable:
        """A table as it was read."""
        return cls(table._source, table._bound, table._of_all_units)

    def coded(self, column: str, codings: Sequence[Coding]) -> ChainedTable:
        """The table with a column coded, and what the plan says of it.

        Raises ``PlanError`` for what cannot be coded, ``TableError`` for NaN or an infinity.
        """
        require_finite(self._rows, column)
        described = self.plan.column(column)
        counted = self._rows.count([column], keep=True)
        values = distinct_values(series_of(counted.values[0]))
        found = coded_values(column, described, values, codings)
        place: NDArray[np.int64] = found.codes[counted.codes[:, 0]]
        becomes = coded_series(found.values).to_arrow()
        rows = self._rows.join(counted, {_PLACE: array_of(place)})
        gives = pa.schema([pa.field(column, becomes.type)])

        def shown(batch: pa.RecordBatch) -> list[pa.Array]:
            return [series_of(becomes).gather(series_of(batch[_PLACE])).to_arrow()]

        names = self._rows.schema.names
        rows = rows.map(shown, [_PLACE], gives).select(names)
        columns = {**self.plan.columns, column: described_after(described, codings)}
        return self._with(rows, replace(self.plan, columns=columns), self.dropped)

    def apply_counted(
        self, treatment: Treatment, randomness: Randomness
    ) -> tuple[PublishedTable, PublishedUnits | None]:
        """As ``PrivateTable`` does; the rows are kept for the next step."""
        roles = self.plan.roles
        private = () if roles.unit is None else (roles.unit,)
        rows = applied(self._rows, roles.published, treatment, randomness, private)
        self._left = rows
        shown = [name for name in rows.schema.names if name not in private]
        table = PublishedTable(rows.select(shown), self._source.convert)
        if roles.unit is None:
            return table, None
        return table, PublishedUnits(rows, roles.unit, self._of_units)

    def after(self, intervals: Mapping[str, ColumnPlan]) -> ChainedTable | None:
        """What the last step left, without its groups; None where it left no rows of this table.

        ``intervals`` are the columns that it shows as two ends, which become texts.
        """
        if self._left is None:
            return None
        names = [name for name in self._left.schema.names if name != GROUP]
        table = PublishedTable(self._left.select(names)).with_intervals_as_text(intervals)
        rows = table._rows.select([n for n in self._rows.schema.names if n in table.columns])
        plan = replace(self.plan, columns={**self.plan.columns, **intervals})
        return self._with(rows, plan, self.dropped + self.rows - rows.height)

    def _with(self, rows: Rows, plan: Plan, dropped: int) -> ChainedTable:
        source = replace(self._source, plan=plan)
        bound = BoundTable(
            rows, dropped, () if self._bound_rows is None else self._bound_rows.notes
        )
        units = self._of_all_units if rows.height == self._rows.height else None
        return ChainedTable(source, bound, units)
