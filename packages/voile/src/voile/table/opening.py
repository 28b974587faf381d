"""Opening tables: the one place that chooses an engine for a file or a data frame.

Whatever the engine and the method, no table comes in whose rows contradict that each of them is
another person, unless its plan says so; see ``persons``.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl

from voile.schema.persons import identifying_columns
from voile.schema.plan import Plan
from voile.table.carrying import with_carried
from voile.table.counting import TableSource
from voile.table.engines import AUTO, engine_for, engine_of
from voile.table.formats.registry import WRITTEN
from voile.table.keeping import KeptRows
from voile.table.persons import require_rows_of_persons
from voile.table.places import Place, place_of
from voile.table.private import PrivateTable
from voile.table.protocol import Engine, Source
from voile.table.published import PublishedTable
from voile.table.reading import read_frame
from voile.table.value_types import with_missing
from voile_base.errors import TableError

__all__ = [
    "open_any_rows",
    "open_frame",
    "open_published",
    "open_table",
    "published_rows",
    "rows_in_memory",
    "scan_frame",
    "scan_table",
]


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

    Raises ``TableError`` where the file cannot be read, ``PlanError`` where the plan names columns
    that the table does not have.
    """
    engine = engine_for(engine, source)
    found = _scanned(engine, source, plan) if of_file else engine.of_native(source)
    plan.bind(found.names)
    rows = found.rows.select(list(plan.used)).read()
    opened = TableSource(
        engine, rows, plan, found.names, (), found.format, found.notes, found.convert
    )
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


def scan_frame(frame: Any, plan: Plan, *, engine: Engine | str = AUTO) -> PrivateTable:
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
    their names; None: ``data.parquet`` or ``data.csv``.  ``engine`` holds the rows, or is its name.
    """
    if files is None:
        usual = [f"data.{name}" for name in WRITTEN]
        files = [name for name in usual if (folder / name).is_file()][:1]
    if not files:
        msg = f"{folder}: the release has no data: neither data.parquet nor data.csv, nor any other"
        raise TableError(msg)
    place = folder / files[0]
    whole = place if len(files) == 1 else place.parent
    source = engine_for(engine, whole).scan(whole, texts=tuple(texts))
    return PublishedTable(source.rows, source.convert)


def published_rows(frame: Any, engine: Engine | str = AUTO) -> PublishedTable:
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
) -> tuple[Any, tuple[str, ...]]:
    """The rows of a table as adversaries and measures compare them, and what was assumed.

    A data frame of Polars, read by the engine that is named.  Raises ``TableError`` as
    ``read_frame`` does.
    """
    if engine == AUTO:
        read = read_frame(place_of(path), missing=missing, columns=columns, texts=texts)
        return read.frame, read.notes
    source = engine_of(engine).scan(place_of(path), columns=columns, missing=missing, texts=texts)
    rows = source.rows
    if columns is not None:
        rows = rows.select([name for name in rows.schema.names if name in set(columns)])
    frame = pl.DataFrame(rows.to_arrow())
    return frame.with_columns(with_missing(each, missing) for each in frame), source.notes


def _scanned(
    engine: Engine, path: str | Place, plan: Plan, record_key: str | None = None
) -> Source:
    identifying = identifying_columns(plan.roles, record_key)
    columns = [*plan.used, *([record_key] if record_key else []), *identifying]
    texts = [*plan.texts, *identifying]
    return engine.scan(place_of(path), columns=columns, missing=plan.missing, texts=texts)


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
        opened = replace(opened, rows=with_carried(opened.rows, pool, plan, used))
    return PrivateTable(opened)
