"""The kernel in Spark: rows as a data frame, which runs when somebody asks it something.

Choosing, joining, ranking and grouping are Spark's; functions of record batches are asked of the
columns that they read, as functions of Arrow arrays, so that Spark leaves out those that nobody
wants.  An order is kept beside the rows and said last, behind every join.  What is read, permuted,
mapped by whole groups or ordered is kept by the workers once it was computed, since it is asked
several times; what a lost worker had kept is computed again, and is the same: ties are broken by
where rows stand, else by all that they hold, and what is drawn is a function of keys and rows.

Only counts and rows of small tables are collected.  A fold goes through rows on the driver, a part
of them in memory at a time.

Cost: that of Spark's shuffles and sorts, and of the passage of columns through Python where a
function reads them.  A group of ``rank`` or ``permuted`` is the work of one task, which spills what
does not fit; it has less than 2**31 rows.

Rows of Spark as files: several parts where workers can write to the folder, else one.

Workers write Parquet to a folder of attempts inside that of the release, each attempt of a task a
file of its own; the driver gives those that were heard of as done their places, in the order of the
rows, and removes the folder with whatever else is in it.  So a task that is tried again, or that
runs twice, or whose worker was lost, leaves nothing: a late attempt finds no folder to write to.

Workers that do not share the folder find none either.  Then, and for formats of one file, rows
stream through the driver, a part of them in memory at a time.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa

from voile.schema.persons import Occurrences
from voile.table.arrays import array_of, kind_of_values, series_of
from voile.table.codes import encode
from voile.table.engines.expressions import CHOSEN, condition, marking
from voile.table.engines.shared import Fault, write_arrow
from voile.table.engines.spark.functions import (
    SPARK,
    AskedOfRows,
    SparkColumn,
    guarded,
    loaded_array,
    stored_array,
)
from voile.table.engines.spark.session import (
    Frame,
    Size,
    SparkHandle,
    SparkRelation,
    alike,
    ascending,
    asked_of_columns,
    told,
)
from voile.table.protocol import (
    Counted,
    Fold,
    Format,
    Function,
    GroupFunction,
    How,
    Rows,
    Tally,
)
from voile_base.durable import sync
from voile_base.errors import TableError
from voile_base.ondemand import dataclass, on_demand
from voile_base.randomness import Key
from voile_base.values.expressions import Expression, columns_of
from voile_base.version import VERSION

__all__ = ["SparkRows"]


_WRITTEN = pa.schema([("file", pa.string()), ("rows", pa.int64())])


_IN_MICROSECONDS = {"ms": "* 1000", "us": "", "ns": "DIV 1000"}


def _write_rows(
    session: SparkHandle,
    frame: Frame,
    columns: Mapping[str, SparkColumn],
    folder: Path,
    file_format: Format,
) -> tuple[str, ...]:
    """Write the rows of a sorted data frame; returns the names of the files in their order.

    Raises ``OSError`` where a disk refuses.
    """
    kinds = [(name, column.type) for name, column in columns.items()]
    if file_format == "parquet":
        parts = _in_parts(session, frame, kinds, folder)
        if parts is not None:
            return parts
    batches = (_loaded(batch, kinds) for batch in session.stream(frame))
    return (write_arrow(batches, pa.schema(kinds), folder, file_format),)


def _in_parts(
    session: SparkHandle, frame: Frame, kinds: Sequence[tuple[str, pa.DataType]], folder: Path
) -> tuple[str, ...] | None:
    """Have workers write; None where they cannot write here, or there are no rows."""
    attempts = Path(tempfile.mkdtemp(prefix=".attempts-", dir=folder.absolute()))
    try:
        written = frame.mapInArrow(_Part(attempts, kinds).__call__, "file string, rows bigint")
        listed = session.arrow(written)["file"].to_pylist()
        if len(listed) < 2:
            return (
                tuple(_placed(attempts / name, folder / "data.parquet") for name in listed) or None
            )
        (folder / "data").mkdir()
        width = len(str(len(listed)))
        names = [f"data/part-{place:0{width}}.parquet" for place in range(len(listed))]
        for name, part in zip(listed, names, strict=True):
            _placed(attempts / name, folder / part)
        sync(folder / "data")
        return tuple(names)
    except (FileNotFoundError, PermissionError, NotADirectoryError):
        shutil.rmtree(folder / "data", ignore_errors=True)
        return None
    finally:
        shutil.rmtree(attempts, ignore_errors=True)


def _placed(file: Path, place: Path) -> str:
    file.rename(place)
    return place.name


def _loaded(batch: pa.RecordBatch, kinds: Sequence[tuple[str, pa.DataType]]) -> pa.RecordBatch:
    arrays = [loaded_array(array, dtype) for array, (_, dtype) in zip(batch, kinds, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, names=[name for name, _ in kinds])


@dataclass(frozen=True)
class _Part:
    """Writes the rows of a task to a file of its own."""

    attempts: Path
    kinds: Sequence[tuple[str, pa.DataType]]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """What was written, if there were rows."""
        there = (batch for batch in batches if batch.num_rows)
        first = next(there, None)
        if first is None:
            return
        name, rows = guarded(lambda: self._written(chain([first], there)))
        yield pa.RecordBatch.from_arrays([pa.array([name]), pa.array([rows])], schema=_WRITTEN)

    def _written(self, batches: Iterable[pa.RecordBatch]) -> tuple[str, int]:
        own = Path(tempfile.mkdtemp(dir=self.attempts))
        rows = 0

        def loaded() -> Iterator[pa.RecordBatch]:
            nonlocal rows
            for batch in batches:
                rows += batch.num_rows
                yield _loaded(batch, self.kinds)

        file = write_arrow(loaded(), pa.schema(self.kinds), own, "parquet")
        return f"{own.name}/{file}", rows


functions = on_demand("pyspark.sql.functions")
window = on_demand("pyspark.sql.window")

_SIDE, _PLACE = pa.int8(), pa.int64()


class SparkRows:
    """Rows as a data frame; see ``Rows``."""

    def __init__(
        self,
        relation: SparkRelation,
        columns: Mapping[str, SparkColumn],
        *,
        order: Sequence[tuple[SparkColumn, bool]] = (),
        fault: Fault | None = None,
    ) -> None:
        self._relation = relation
        self._columns = dict(columns)
        self._order = tuple(order)
        """Columns by which rows are ordered, and whether they descend."""
        self._fault = fault
        """What is wrong with the files that they come from."""

    def __repr__(self) -> str:
        return f"SparkRows({', '.join(self._columns)})"

    @classmethod
    def of_frame(cls, frame: pl.DataFrame, session: SparkHandle, numbers: Any = None) -> SparkRows:
        """The rows of a frame; ``numbers`` says where they stand in their source, from 0."""
        columns = {s.name: SparkColumn(session.name(), kind_of_values(s)) for s in frame}
        stored = {c: stored_array(frame[name].to_arrow(), c.type) for name, c in columns.items()}
        place = SparkColumn(session.name(), _PLACE)
        numbers = np.arange(frame.height) if numbers is None else numbers
        stored[place] = array_of(np.asarray(numbers, np.int64) + 1)
        size = Size(frame.height)
        made = session.frame(_table_of(stored))
        return cls(SparkRelation(session, made, (place.ident,), place.ident, size), columns)

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns."""
        return pa.schema([pa.field(name, column.type) for name, column in self._columns.items()])

    @property
    def height(self) -> int:
        """How many rows there are."""
        return self._relation.height

    # -- small answers ----------------------------------------------------------------------------

    def count(self, by: Sequence[str], *, keep: bool = False) -> Counted:
        """Rows by distinct combination of values of some columns; see ``Rows``."""
        columns = [self._columns[name] for name in by]
        grouped = self._frame.groupBy(*(column.ident for column in columns)).count()
        found = self._session.arrow(grouped)
        rows = pl.Series(found.column(len(by))).to_numpy().astype(np.int64)
        values, codes = [], np.empty((len(rows), len(by)), dtype=np.int32)
        for place, column in enumerate(columns):
            encoded = encode(pl.Series("", column.full(found.column(place))))
            values.append(encoded.values.to_arrow())
            codes[:, place] = encoded.codes
        order = np.lexsort(codes.T[::-1])
        return Counted(tuple(by), tuple(values), codes[order], rows[order])

    def tally(self, holds: Expression) -> Tally:
        """How many rows an expression holds for."""
        rows, said = self._told(holds)
        number = rows._relation.number
        first = functions.min(number) if number else functions.lit(None)
        chosen = rows._frame.where(functions.expr(said)).agg(
            functions.count(functions.lit(1)), first
        )
        count, least = self._session.row(chosen)
        return Tally(int(count), None if least is None else int(least))

    def occurrences(self, column: str, ignored: Sequence[str] | None = None) -> Occurrences:
        """How often the values of a column stand in it; see ``Rows``."""
        held, frame = self._columns[column], self._frame
        if ignored is not None:
            frame = frame.where(functions.col(held.ident).isNotNull())
            if pa.types.is_large_string(held.type):
                frame = frame.where(~functions.col(held.ident).isin("", *ignored))
        times = functions.col("count")
        counted = frame.groupBy(held.ident).count()
        once = functions.count(functions.when(times == 1, times))
        found = self._session.row(
            counted.agg(functions.coalesce(functions.sum(times), functions.lit(0)),
                        functions.count(times), once)
        )  # fmt: skip
        rows_there, values, single = map(int, found)
        return Occurrences(rows_there, values, single)

    def fold(self, columns: Sequence[str], fold: Fold) -> None:
        """Go through some columns of all rows, in the order of their source."""
        wanted = [self._columns[name] for name in columns]
        frame = self._sorted().select(*(column.ident for column in wanted))
        first = 0
        for batch in self._session.stream(frame):
            arrays = [c.full(pa.chunked_array([a])) for c, a in zip(wanted, batch, strict=True)]
            fold.take(pa.RecordBatch.from_arrays(arrays, names=list(columns)), first)
            first += batch.num_rows

    # -- rows from rows ---------------------------------------------------------------------------

    def read(self) -> SparkRows:
        """The same rows, kept by the workers."""
        if self._fault is None:
            return self
        read = self._like(relation=self._relation.keeping())
        try:
            read.height  # noqa: B018 - has them read
        except TableError:
            if found := self._fault(reading=True):
                raise found from None
            raise
        self.require_unchanged()
        return read

    def require_unchanged(self) -> None:
        """Raise ``TableError`` where somebody has written to the files that rows come from."""
        if self._fault and (changed := self._fault(reading=False)):
            raise changed

    def select(self, columns: Sequence[str]) -> SparkRows:
        """Some columns, in this order."""
        return self._like({name: self._columns[name] for name in columns})

    def filter(self, holds: Expression) -> SparkRows:
        """The rows for which an expression holds."""
        rows, said = self._told(holds)
        return self._like(relation=rows._relation.where(said))

    def map(self, function: Function, reads: Sequence[str], gives: pa.Schema) -> SparkRows:
        """More columns, a function of some; it is asked when these are."""
        made = {field.name: SparkColumn(self._session.name(), field.type) for field in gives}
        columns = {name: self._columns[name] for name in reads}
        asked = AskedOfRows(
            VERSION,
            function,
            reads=[(name, column.type) for name, column in columns.items()],
            gives=[(column.ident, column.type) for column in made.values()],
        )
        whole = self._session.name()
        given = asked_of_columns(asked, [column.ident for column in columns.values()])
        relation = self._relation.with_columns({whole: given})
        fields = {c.ident: functions.col(f"{whole}.{c.ident}") for c in made.values()}
        relation = relation.with_columns(fields)
        return self._like(self._columns | made, relation=relation)

    def map_groups(
        self,
        function: GroupFunction,
        within: str,
        by: Sequence[str],
        gives: pa.Schema,
        of_groups: pa.Schema,
    ) -> tuple[SparkRows, SparkRows]:
        """More columns, a function of whole groups of rows."""
        asked = self._relation.mapped_by_groups(
            self._columns, (within, *by), self._ties(), (function, gives, of_groups)
        )
        order = [(self._columns[n], False) for n in (within, *by)]
        rows = self._like(self._columns | asked.made, relation=asked.rows, order=order)
        return rows, SparkRows(asked.groups, {within: self._columns[within]} | asked.of_groups)

    def numbered(self, name: str) -> SparkRows:
        """One more column, the number of each row in its source, from 1."""
        column = SparkColumn(self._session.name(), _PLACE)
        number = self._relation.number
        said = functions.col(number) if number else functions.lit(None).cast("bigint")
        relation = self._relation.with_columns({column.ident: said})
        return self._like(self._columns | {name: column}, relation=relation)

    def join(self, counted: Counted, columns: Mapping[str, pa.Array]) -> SparkRows:
        """More columns, by combination of values: a join with a small table."""
        session = self._session
        keys: dict[str, str] = {}
        stored: dict[SparkColumn, pa.Array] = {}
        codes = counted.codes.T
        for name, values, code in zip(counted.columns, counted.values, codes, strict=True):
            own = self._columns[name]
            key = SparkColumn(session.name(), own.type)
            keys[own.ident] = key.ident
            stored[key] = stored_array(values, own.type).take(array_of(code))
        made = {}
        for name, array in columns.items():
            given = series_of(array)
            made[name] = SparkColumn(session.name(), kind_of_values(given))
            stored[made[name]] = stored_array(given.to_arrow(), made[name].type)
        relation = self._relation.with_small(_table_of(stored), keys)
        return self._like(self._columns | made, relation=relation)

    def join_rows(self, other: Rows, on: Sequence[str], how: How) -> SparkRows:
        """The rows with the columns of the row of another data set that agrees in some columns."""
        assert isinstance(other, SparkRows)
        session = self._session
        renamed = {n: SparkColumn(session.name(), c.type) for n, c in other._columns.items()}
        frame = other._relation.frame.select(
            *(functions.col(c.ident).alias(renamed[n].ident) for n, c in other._columns.items())
        )
        keys = {self._columns[name].ident: renamed[name].ident for name in on}
        verb = {"left": "left", "inner": "inner", "anti": "left_anti"}[how]
        relation = self._relation
        joined = relation.frame.join(_unbroadcast(frame), alike(keys), verb)
        if how != "anti":
            joined = joined.drop(*keys.values())
        rest = {name: column for name, column in renamed.items() if name not in on}
        kept = (*relation.kept, *other._relation.kept)
        size = relation.size if how == "left" else Size()
        relation = replace(relation, frame=joined, kept=kept, size=size)
        return self._like(self._columns | (rest if how != "anti" else {}), relation=relation)

    def union(self, other: Rows) -> SparkRows:
        """The rows of both; those of the other stand behind, and have no number."""
        assert isinstance(other, SparkRows)
        session = self._session
        own = {name: SparkColumn(session.name(), c.type) for name, c in self._columns.items()}
        side, number = session.name(), session.name()
        most = max(len(self._relation.places), len(other._relation.places))
        places = [session.name() for _ in range(most)]

        def of(rows: SparkRows, which: int) -> Frame:
            relation = rows._relation
            column, missing = functions.col, functions.lit(None).cast("bigint")
            shown = [column(rows._columns[name].ident).alias(c.ident) for name, c in own.items()]
            standing = [column(place).cast("bigint") for place in relation.places]
            standing += [missing] * (most - len(standing))
            numbered = column(relation.number) if relation.number and not which else missing
            return relation.frame.select(
                *shown,
                functions.lit(which).cast("bigint").alias(side),
                *(said.alias(name) for said, name in zip(standing, places, strict=True)),
                numbered.alias(number),
            )

        frame = of(self, 0).unionByName(of(other, 1))
        kept = (*self._relation.kept, *other._relation.kept)
        relation = SparkRelation(session, frame, (side, *places), number, kept=kept)
        return SparkRows(relation, own, fault=self._fault or other._fault)

    def distinct(self, by: Sequence[str], rows: str) -> SparkRows:
        """A row for each combination of values of some columns, and how many rows had it."""
        session = self._session
        own = {name: SparkColumn(session.name(), self._columns[name].type) for name in by}
        counted = SparkColumn(session.name(), _PLACE)
        grouped = self._frame.groupBy(*(self._columns[name].ident for name in by)).count()
        shown = [
            functions.col(self._columns[name].ident).alias(column.ident)
            for name, column in own.items()
        ]
        frame = grouped.select(*shown, functions.col("count").alias(counted.ident))
        relation = SparkRelation(session, frame, kept=self._relation.kept)
        return SparkRows(relation, own | {rows: counted}, fault=self._fault)

    def rank(self, name: str, within: Sequence[str], by: Sequence[str]) -> SparkRows:
        """One more column, the rank of each row among those that agree in some columns."""
        column = SparkColumn(self._session.name(), _PLACE)
        groups = [self._columns[each].ident for each in within]
        order = [self._columns[each].ident for each in by]
        standing = ascending([*order, *self._ties()])
        over = window.Window.partitionBy(*groups).orderBy(*standing)
        rank = functions.row_number().over(over).cast("bigint") - 1
        relation = self._relation.with_columns({column.ident: rank})
        return self._like(self._columns | {name: column}, relation=relation)

    def permuted(self, within: str, keys: Mapping[str, Key]) -> SparkRows:
        """The rows with some columns permuted within groups; see ``Rows``."""
        session, relation = self._session, self._relation
        group = self._columns[within].ident
        stay = [self._columns[name].ident for name in self._columns if name not in keys]
        rank = session.name()
        over = window.Window.partitionBy(group).orderBy(*ascending(stay))
        standing = functions.row_number().over(over).cast("bigint") - 1
        frame = relation.frame.select(*stay, standing.alias(rank))
        starts = relation.starts_of_groups(group)
        for name, key in keys.items():
            drawn, alike_in = relation.drawn_values(starts, self._columns[name].ident, key)
            keyed = {group: alike_in.group, rank: alike_in.place}
            frame = frame.join(_unbroadcast(drawn), alike(keyed), "inner").drop(*keyed.values())
        made = replace(relation, frame=frame, places=(group, rank), number=None).keeping()
        return SparkRows(made, self._columns, fault=self._fault)

    def ordered(self, by: Sequence[str], descending: Sequence[str] = ()) -> SparkRows:
        """The rows in the order of the values of some columns, which is said last."""
        order = [(self._columns[name], name in descending) for name in by]
        return self._like(relation=self._relation.keeping(), order=order)

    # -- out --------------------------------------------------------------------------------------

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All rows, which are collected here at once."""
        return iter(self.to_arrow().to_batches())

    def to_arrow(self) -> pa.Table:
        """All rows, which are sorted here: there are few."""
        idents = [column.ident for column in self._columns.values()]
        order = [*((c.ident, down) for c, down in self._order), *((n, False) for n in self._places)]
        wanted = list(dict.fromkeys([*idents, *(name for name, _ in order)]))
        found = self._session.arrow(self._frame.select(*wanted))
        if order:
            down = [descends for _, descends in order]
            names = [name for name, _ in order]
            frame = pl.DataFrame(found.select(list(dict.fromkeys(names))))
            place = "\1place"
            frame = frame.with_row_index(place).sort(names, descending=down, nulls_last=down)
            found = found.take(frame[place].to_arrow())
        arrays = [column.full(found.column(column.ident)) for column in self._columns.values()]
        return pa.Table.from_arrays(arrays, schema=self.schema)

    def write(self, folder: Path, file_format: Format) -> tuple[str, ...]:
        """Write the rows, in their order, durably; see ``spark_writing``."""
        columns = self._columns
        frame = self._sorted().select(*(column.ident for column in columns.values()))
        files = _write_rows(self._session, frame, columns, folder, file_format)
        self.require_unchanged()
        return files

    def to_native(self) -> Any:
        """The rows as a data frame of Spark, lazily, in their order."""
        with told():
            shown = [
                functions.expr(_native(column)).alias(name)
                for name, column in self._columns.items()
            ]
            return self._sorted().select(*shown)

    # -- how --------------------------------------------------------------------------------------

    @property
    def _session(self) -> SparkHandle:
        return self._relation.session

    @property
    def _frame(self) -> Frame:
        return self._relation.frame

    @property
    def _places(self) -> tuple[str, ...]:
        return self._relation.places

    def _ties(self) -> list[str]:
        """What tells rows apart that agree in an order: where they stand, or all that they hold."""
        return list(self._places) or [column.ident for column in self._columns.values()]

    def _sorted(self) -> Frame:
        order = [
            functions.col(c.ident).desc_nulls_last()
            if down
            else functions.col(c.ident).asc_nulls_first()
            for c, down in self._order
        ]
        return self._frame.orderBy(*order, *ascending(self._ties()))

    def _told(self, holds: Expression) -> tuple[SparkRows, str]:
        """These rows, perhaps with a column more, and whether an expression holds, in SQL."""
        said = condition(holds, self._columns, SPARK)
        if said is not None:
            return self, said
        names = list(dict.fromkeys(columns_of(holds))) or list(self._columns)[:1]
        marked = self.map(marking(holds, names), names, pa.schema([pa.field(CHOSEN, pa.bool_())]))
        return marked, marked._columns[CHOSEN].ident

    def _like(
        self,
        columns: Mapping[str, SparkColumn] | None = None,
        *,
        relation: SparkRelation | None = None,
        order: Sequence[tuple[SparkColumn, bool]] | None = None,
    ) -> SparkRows:
        """The same rows with other columns."""
        return SparkRows(
            relation or self._relation,
            self._columns if columns is None else columns,
            order=self._order if order is None else order,
            fault=self._fault,
        )


def _native(column: SparkColumn) -> str:
    """An expression that gives the values of a column in Spark's own types.

    Times of a day stay nanoseconds: Spark has had a type for them since 4.1, and few files.
    """
    name, dtype = column.ident, column.type
    if pa.types.is_null(dtype):
        return "CAST(NULL AS VOID)"
    if pa.types.is_uint64(dtype):
        return f"(CAST({name} AS DECIMAL(20, 0)) + 9223372036854775808)"
    if pa.types.is_date32(dtype):
        return f"date_from_unix_date({name})"
    if pa.types.is_timestamp(dtype) and dtype.tz is not None:
        return f"timestamp_micros({name} {_IN_MICROSECONDS[dtype.unit]})"
    if pa.types.is_timestamp(dtype) or pa.types.is_duration(dtype):
        micros = f"CAST({name} {_IN_MICROSECONDS[dtype.unit]} AS DECIMAL(20, 0))"
        span = f"make_dt_interval(0, 0, 0, CAST({micros} * 0.000001 AS DECIMAL(18, 6)))"
        epoch = "TIMESTAMP_NTZ'1970-01-01 00:00:00'"
        return span if pa.types.is_duration(dtype) else f"({epoch} + {span})"
    return name


def _unbroadcast(frame: Any) -> Any:
    """Rows that are joined where they are: Spark would collect up to some MiB in its driver."""
    return frame.hint("merge")


def _table_of(columns: Mapping[SparkColumn, pa.Array]) -> pa.Table:
    """A table of arrays that are stored."""
    names = [column.ident for column in columns]
    return pa.Table.from_arrays(list(columns.values()), names=names)
