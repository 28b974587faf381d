"""Opening tables: the one place that chooses an engine for a file or a data frame.

Whatever the engine and the method, no table comes in whose rows contradict that each of them is
another person, unless its plan says so; see ``persons``.

Rows that an earlier release left out, carried over into the next pool.

They are appended to the rows of an input.  Carried values went through the plan once (missing
values, declared types), and those of the input have not; so the two are brought to one type
wherever no value changes by it, and refused where one would.

Reading a large file in little memory: some columns at a time, texts in dictionaries; private.

Texts in memory take several times what they take in a file, and an audit holds three files.  Of a
large one some columns are read at a time, and put into dictionaries before the next: one to four
bytes a row and column stay.  What is said of values, types, and what is wrong with them, is what
reading the file at once says.

Cost: a pass over the file for each ``_AT_A_TIME`` bytes of it, at most one a column.

Numeric columns as exact numbers, row by row, for those who pack parcels; private or published.

Unlike a ``PrivateTable`` this gives values with one entry per row: the custodian packs the
custodian's own parcels, and nothing of it is published.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voile.schema.numbers import ExactNumbers
from voile.schema.persons import identifying_columns
from voile.schema.plan import ColumnPlan, Plan
from voile.table.arrays import (
    first_offending_row,
    infer_type,
    kind_of_arrow,
    polars_type,
    with_missing,
)
from voile.table.binding import dated, exact_numbers, flagged, mapped
from voile.table.codes import encode
from voile.table.counting import TableSource
from voile.table.engines import AUTO, engine_for, engine_of
from voile.table.formats.registry import WRITTEN
from voile.table.keeping import KeptRows
from voile.table.lakes import near_parts
from voile.table.looking import require_rows_of_persons
from voile.table.places import Place, laid_out, place_of
from voile.table.private import PrivateTable
from voile.table.protocol import Engine, Rows, Source
from voile.table.published import (
    LARGE,
    PublishedTable,
    compact_frame,
    in_dictionaries,
    in_dictionary,
)
from voile.table.reading import empty_frame, is_whole, list_columns, read_frame
from voile_base.errors import EmptyTableError, TableError, nearest
from voile_base.ondemand import dataclass
from voile_base.operating_system import return_freed_memory
from voile_base.values.expressions import is_missing

__all__ = [
    "NumberColumns",
    "Read",
    "open_any_rows",
    "open_frame",
    "open_published",
    "open_table",
    "plain",
    "published_rows",
    "rows_in_memory",
    "scan_frame",
    "scan_table",
    "write_columns",
]


def _with_carried(rows: Rows, carried: Rows, plan: Plan, columns: Sequence[str]) -> Rows:
    """Some columns of the rows of an input, with carried rows behind its own.

    Raises ``TableError`` where the carried rows lack a column, or have it in another type.
    """
    for name in columns:
        if name not in carried.schema.names:
            msg = (
                f"column {name!r} is missing in the rows carried over from earlier releases; "
                "publish with the columns that those releases had"
            )
            raise TableError(msg)
    rows, carried = rows.select(columns).read(), carried.select(columns)
    if not carried.height:
        return rows
    for name in columns:
        declared = plan.column(name)
        rows = dated(rows, name, declared)[0] if declared.dated else rows
        rows, carried = _alike(rows, carried, name, declared)
    return rows.union(carried)


def _alike(rows: Rows, carried: Rows, name: str, declared: ColumnPlan) -> tuple[Rows, Rows]:
    """Both with a column in the type that it has in one of them."""
    sides = (rows, carried)
    types = [side.schema.field(name).type for side in sides]
    if declared.reads_as or _comparable(rows, carried, name):
        for dtype in map(polars_type, types):
            one, other = (_unchanged(side, name, dtype) for side in sides)
            if one is not None and other is not None:
                return one, other
    kinds = [kind_of_arrow(dtype) for dtype in types]
    msg = (
        f"column {name!r} is {kinds[0]} in the table and {kinds[1]} in the rows carried over from "
        "earlier releases, and some value would change with its type; give the column the type "
        "that it had"
    )
    raise TableError(msg)


def _comparable(rows: Rows, carried: Rows, name: str) -> bool:
    """Whether values of the two may stand in one column: they are of one kind, or all missing."""
    if any(side.tally(is_missing(name)).rows == side.height for side in (rows, carried)):
        return True
    types = [polars_type(side.schema.field(name).type) for side in (rows, carried)]
    zoned = [getattr(dtype, "time_zone", None) is not None for dtype in types]
    numeric = [dtype.is_numeric() for dtype in types]
    kinds = [kind_of_arrow(side.schema.field(name).type) for side in (rows, carried)]
    return zoned[0] == zoned[1] and (all(numeric) or kinds[0] == kinds[1])


def _unchanged(rows: Rows, name: str, dtype: pl.DataType) -> Rows | None:
    """Rows with a column in another type, or None where a value does not come back from it."""
    own = polars_type(rows.schema.field(name).type)
    if own == dtype:
        return rows

    def changes(values: pl.Series) -> pl.Series:
        back = values.cast(dtype, strict=False).cast(own, strict=False)
        return back.ne_missing(values)

    try:
        if flagged(rows, name, changes).rows:
            return None
        return mapped(rows, name, lambda values: values.cast(dtype, strict=False), dtype)
    except pl.exceptions.PolarsError:
        return None


def open_table(
    path: str | Place,
    plan: Plan,
    *,
    record_key: str | None = None,
    carried: KeptRows | None = None,
    engine: Engine | str = AUTO,
) -> PrivateTable:
    """Read a private table from a file, bound to a plan.

    A file of any format that is supported, a folder of Parquet files, or the address of a database
    (``places``); only columns that the plan names are kept.  ``carried`` are rows that an earlier
    release left out (``PrivateTable.left_out``); they follow those of the file.  ``engine`` holds
    the rows, or is its name.

    Raises ``TableError`` where the file or the carried rows cannot be read or the rows break the
    plan, ``PlanError`` where the plan names columns that the table does not have, or takes a person
    for a row.
    """
    engine = engine_for(engine, path)
    source = _scanned(engine, path, plan, record_key)
    return _opened(engine, source, plan, record_key, carried).read()


def open_any_rows(
    source: Any, plan: Plan, *, of_file: bool, engine: Engine | str = AUTO
) -> PrivateTable:
    """A private table that is read and not bound: for methods that no row can refuse.

    A table without a row is one like others, for that it has none is private, too.

    Raises ``TableError`` where the file cannot be read, ``PlanError`` where the plan names columns
    that the table does not have.
    """
    engine = engine_for(engine, source)
    try:
        found = _scanned(engine, source, plan) if of_file else engine.of_native(source)
        written = found.format
        plan.bind(found.names)
        rows = found.rows.select(list(plan.used)).read()
    except EmptyTableError:
        empty = empty_frame(laid_out(place_of(source), plan.input))
        found, written = engine.of_native(empty.frame), empty.written
        plan.bind(found.names)
        rows = found.rows.select(list(plan.used)).read()
    opened = TableSource(engine, rows, plan, found.names, (), written, found.notes, found.convert)
    return PrivateTable(opened)


def scan_table(path: str | Place, plan: Plan, *, engine: Engine | str = AUTO) -> PrivateTable:
    """A private table in a file, for methods that ask for its best rows and no others.

    Where possible only those are held in memory, and what is wrong with rows is said when they are
    asked for.  CSV is read as a whole.  Otherwise as ``open_table``.
    """
    engine = engine_for(engine, path)
    return _held_against_persons(_opened(engine, _scanned(engine, path, plan), plan))


def open_frame(
    frame: Any,
    plan: Plan,
    *,
    record_key: str | None = None,
    carried: KeptRows | None = None,
    engine: Engine | str = AUTO,
) -> PrivateTable:
    """A private table from a data frame of a kind that the engine knows, bound to a plan.

    ``carried`` are rows that an earlier release left out; they follow those of the frame.
    """
    engine = engine_for(engine, frame)
    return _opened(engine, engine.of_native(frame), plan, record_key, carried).read()


def scan_frame(frame: object, plan: Plan, *, engine: Engine | str = AUTO) -> PrivateTable:
    """A private table from a data frame, for methods that ask for its best rows and no others."""
    engine = engine_for(engine, frame)
    return _held_against_persons(_opened(engine, engine.of_native(frame), plan))


def open_published(
    folder: Path,
    texts: Collection[str] = (),
    files: Sequence[str] | None = None,
    engine: Engine | str = AUTO,
) -> PublishedTable:
    """The rows of a release folder; raises ``TableError`` where they cannot be read.

    ``texts`` names the columns that hold texts, also where a CSV file makes them look like
    numbers.  ``files`` has the rows: one file, or all Parquet files of a folder in the order of
    their names, below folders that name values too; None: ``data.parquet`` or ``data.csv``.
    ``engine`` holds the rows, or is its name.
    """
    if files is None:
        usual = [f"data.{name}" for name in WRITTEN]
        files = [name for name in usual if (folder / name).is_file()][:1]
    if not files:
        msg = f"{folder}: the release has no data: neither data.parquet nor data.csv, nor any other"
        raise TableError(msg)
    place = folder / files[0]
    whole = place if len(files) == 1 else folder / "data"
    if "=" in files[0]:  # below folders that name values
        whole = near_parts(folder / "data", [folder / name for name in files], tuple(texts))
    source = engine_for(engine, whole).scan(whole, texts=tuple(texts))
    return PublishedTable(source.rows, source.convert)


def published_rows(frame: object, engine: Engine | str = AUTO) -> PublishedTable:
    """Rows of a data frame that are, or are taken for, those of a release."""
    source = engine_for(engine, frame).of_native(frame)
    return PublishedTable(source.rows, source.convert)


def rows_in_memory(
    path: str | Place,
    *,
    missing: Sequence[str] = (),
    columns: Sequence[str] | None = None,
    texts: Sequence[str] = (),
    engine: Engine | str = AUTO,
    compact: bool = False,
) -> tuple[Any, tuple[str, ...]]:
    """The rows of a table as adversaries and measures compare them, and what was assumed.

    A data frame of Polars, read by the engine that is named; of many rows texts stand in
    dictionaries (``compact_frame``), and of few rows of CSV where that is asked for.  Raises
    ``TableError`` as ``read_frame`` does.
    """
    if engine == AUTO:
        read = read_frame(
            place_of(path), missing=missing, columns=columns, texts=texts, compact=compact
        )
        return in_dictionaries(read.frame), read.notes
    source = engine_of(engine).scan(place_of(path), columns=columns, missing=missing, texts=texts)
    rows = source.rows
    if columns is not None:
        rows = rows.select([name for name in rows.schema.names if name in set(columns)])
    return compact_frame(rows, missing), source.notes


def _scanned(
    engine: Engine, path: str | Place, plan: Plan, record_key: str | None = None
) -> Source:
    identifying = identifying_columns(plan.roles, record_key)
    columns = [*plan.used, *([record_key] if record_key else []), *identifying]
    texts = [*plan.texts, *identifying]
    place = laid_out(place_of(path), plan.input)
    return engine.scan(place, columns=columns, missing=plan.missing, texts=texts)


def _held_against_persons(table: PrivateTable) -> PrivateTable:
    """A table of which only the best rows will be bound, held against its plan as a whole."""
    table.require_persons()
    return table


def _opened(
    engine: Engine,
    source: Source,
    plan: Plan,
    record_key: str | None = None,
    carried: KeptRows | None = None,
) -> PrivateTable:
    plan.bind(source.names)
    require_rows_of_persons(source.rows, plan, record_key)
    identifying = identifying_columns(plan.roles, record_key)
    left = [name for name in source.rows.schema.names if name not in identifying]
    opened = TableSource(
        engine=engine,
        rows=source.rows.select(left),
        plan=plan,
        names=source.names,
        extra=(record_key,) if record_key else (),
        format=source.format,
        notes=source.notes,
        convert=source.convert,
    )
    if carried is not None:
        used = list(dict.fromkeys([*plan.used, *opened.extra]))
        pool = carried.open(engine)
        opened = replace(opened, rows=_with_carried(opened.rows, pool, plan, used))
    return PrivateTable(opened)


_AT_A_TIME = 1 << 27
"""Bytes of a file that are read in one pass: a number for each text stays of them."""
_AT_A_TIME_OF_PARQUET = 1 << 20
"""The same where they are compressed, and a pass reads no others."""


@dataclass(frozen=True, eq=False)
class Read:
    """A table whose texts stand in dictionaries; private."""

    frame: pl.DataFrame
    types: pl.Schema
    """Of the columns as reading the file at once has them."""

    @staticmethod
    def compactly(
        path: Place,
        missing: Sequence[str] = (),
        texts: Sequence[str] = (),
        look: Callable[[pl.DataFrame, Sequence[str]], None] | None = None,
        columns: Collection[str] | None = None,
    ) -> Read:
        """The rows of a table as adversaries and measures compare them; of some columns, or all.

        ``look`` sees columns as they stand in the file, and what was assumed to read them, one
        after the other in their order.  Raises ``TableError`` as ``rows_in_memory`` does.
        """
        types = pl.Schema()
        read: list[pl.Series] = []
        place = place_of(path)
        for names in _parts(place, columns):
            rows, notes = rows_in_memory(
                place, missing=missing, columns=names, texts=texts, compact=True
            )
            some = rows.get_columns()
            del rows
            while some:  # each goes as soon as it stands in a dictionary
                column = some.pop(0)
                types.update(plain(column.head(0)).to_frame().schema)
                if look is not None:
                    look(plain(column).to_frame(), notes)
                read.append(in_dictionary(column))
        if read and len(read[0]) > LARGE:
            return_freed_memory()
        return Read(pl.DataFrame(read), types)

    def without(self, missing: Sequence[str], path: Place) -> Read:
        """The same without texts that stand for missing values: columns that hold some anew."""
        held = [column for column in self.frame if _may_hold(column, missing)]
        if not held:
            return self
        texts = [_without(column, missing) for column in held if _stays_text(column, missing)]
        known = {column.name for column in texts}
        changed = [column.name for column in held if column.name not in known]
        found = Read(self.frame.with_columns(texts), self.types)
        if not changed:
            return found
        anew = Read.compactly(path, missing, columns=changed)
        types = pl.Schema({**self.types, **anew.types})
        return Read(found.frame.with_columns(anew.frame.get_columns()), types)


def in_full(frame: Any) -> Any:
    """A data frame whose texts stand in no dictionary; one without dictionaries as it is."""
    if not isinstance(frame, pl.DataFrame) or pl.Enum not in map(type, frame.dtypes):
        return frame
    return pl.DataFrame(list(map(plain, frame)))


def plain(column: pl.Series) -> pl.Series:
    """A column without its dictionary."""
    return column.cast(pl.String) if isinstance(column.dtype, pl.Enum) else column


def _may_hold(column: pl.Series, marks: Sequence[str]) -> bool:
    """Whether a column that was read without them may have some marks for missing values."""
    if column.dtype.is_numeric():
        numbers = pl.Series(marks, dtype=pl.String).str.strip_chars().cast(pl.Float64, strict=False)
        return numbers.null_count() < len(marks)
    texts = column.dtype.categories if isinstance(column.dtype, pl.Enum) else column
    return texts.dtype != pl.String or bool(texts.is_in(list(marks)).any())


def _stays_text(column: pl.Series, marks: Sequence[str]) -> bool:
    """Whether a column of texts is read as texts without some of them, too: one begins so."""
    if not isinstance(column.dtype, pl.Enum):
        return False
    words = (text for text in column.dtype.categories if text[:1].isalpha() and text not in marks)
    return any(infer_type(pl.Series([word])).dtype == pl.String for word in words)


def _without(column: pl.Series, marks: Sequence[str]) -> pl.Series:
    """A column in a dictionary, without some texts."""
    own = encode(column.alias(""))
    left = own.mapped(with_missing(own.values, marks))
    return left.decode(left.codes).alias(column.name)


def _parts(place: Place, columns: Collection[str] | None) -> Iterator[Sequence[str] | None]:
    """Which columns are read together, in their order; None for all.  ``columns`` are asked for."""
    wanted = None if columns is None else list(columns)
    if is_whole(place) or not isinstance(place, Path) or not place.is_file():
        yield wanted
        return
    most = _AT_A_TIME_OF_PARQUET if place.suffix == ".parquet" else _AT_A_TIME
    if place.stat().st_size < most:
        yield wanted
        return
    names = [name for name in list_columns(place) if columns is None or name in columns]
    passes = min(len(names), place.stat().st_size // most + 1)
    step = -(-len(names) // passes)
    yield from (names[start : start + step] for start in range(0, len(names), step))


@dataclass(frozen=True, eq=False)
class _NumberColumn:
    """The exact numbers of a column, and which rows have none."""

    numbers: ExactNumbers
    """Of the n rows; 0 where the value is missing."""
    missing: NDArray[np.bool_]
    """Shape (n,)."""


@dataclass(frozen=True, eq=False)
class NumberColumns:
    """Some numeric columns of a table with n rows."""

    columns: Mapping[str, _NumberColumn]
    rows: int
    notes: tuple[str, ...] = ()
    """What was assumed in reading the file."""

    @staticmethod
    def read(
        path: Place, names: Sequence[str], engine: Engine | str = AUTO, *, remedy: str = ""
    ) -> NumberColumns:
        """Numeric columns of a private table, from anywhere that tables are read.

        Each name is looked for as ``NAME``, and as the interval ``NAME.low`` and ``NAME.high``;
        what is there is given.  Raises ``TableError`` where neither is, which ends with the
        ``remedy``, or a column does not hold finite numbers.
        """
        found = _found(tuple(list_columns(path)), names, str(path), remedy)
        frame, notes = rows_in_memory(path, columns=found, engine=engine)
        return _numbers(frame, found, notes)

    @staticmethod
    def of_published(
        table: PublishedTable, names: Sequence[str], *, remedy: str = ""
    ) -> NumberColumns:
        """Numeric columns of a release; see ``read``."""
        found = _found(table.columns, names, "the release", remedy)
        return _numbers(pl.DataFrame(table.to_arrow().select(dict.fromkeys(found))), found, ())


def write_columns(path: Path, columns: Mapping[str, NDArray[np.generic]]) -> None:
    """Write columns to a CSV file, or to a Parquet file where the name ends so."""
    frame = pl.DataFrame(dict(columns))
    if path.suffix == ".parquet":
        frame.write_parquet(path)
    else:
        frame.write_csv(path)


def _found(known: Sequence[str], names: Sequence[str], where: str, remedy: str) -> list[str]:
    found = []
    for name in names:
        ends = [f"{name}.low", f"{name}.high"]
        here = [one for one in (name, *ends) if one in known]
        if name not in here and len(here) < 2:
            raise TableError(f"{where}: there is no column {name!r}{nearest(name, known)}{remedy}")
        found += here if set(ends) <= set(here) else [name]
    return found


def _numbers(frame: pl.DataFrame, names: Sequence[str], notes: tuple[str, ...]) -> NumberColumns:
    columns = {name: _number_column(frame[name]) for name in dict.fromkeys(names)}
    return NumberColumns(columns, frame.height, notes)


def _number_column(column: pl.Series) -> _NumberColumn:
    where = f"column {column.name!r}"
    if column.dtype == pl.Null:
        raise TableError(f"{where} holds no values; choose another column")
    if not column.dtype.is_numeric():
        row = first_offending_row(column)
        raise TableError(
            f"{where} must hold numbers, but row {row} is not a number; mend the row or choose "
            "another column"
        )
    missing = column.is_null()
    if column.dtype.is_float() and not column.drop_nulls().is_finite().all():
        row = (~column.fill_null(0).is_finite()).arg_max()
        raise TableError(f"{where}: row {(row or 0) + 1} is NaN or infinite; mend the row")
    return _NumberColumn(exact_numbers(column.fill_null(0)), missing.to_numpy())
