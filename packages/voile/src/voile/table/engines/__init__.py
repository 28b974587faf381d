"""Engines by the names that ``--engine`` gives them, each imported when it is asked for.

A name may say where the engine works, behind ``@``: ``spark@spark://host:7077``.

Another package adds an engine by an entry point of the group ``voile.engines``: a class whose
constructor takes nothing, and that has the verbs of ``protocol.Engine``.

Whose a data frame is, told by the names of its class: nothing is loaded to find out.

How much memory this process may still take, as the machine and its limits have it.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from voile_base.errors import InputError, TableError
from voile_base.ondemand import on_demand
from voile_base.operating_system import available_memory
from voile_base.registry import Registry

if TYPE_CHECKING:
    from voile.table import places as table_places
    from voile.table import reading as table_reading
    from voile.table.protocol import Engine
else:
    table_places = on_demand("voile.table.places")
    table_reading = on_demand("voile.table.reading")

__all__ = [
    "AUTO",
    "ENGINES",
    "engine_for",
    "engine_of",
    "is_of_duckdb",
    "is_of_spark",
]


def is_of_duckdb(frame: object) -> bool:
    """Whether something is a relation of DuckDB."""
    return type(frame).__name__ == "DuckDBPyRelation"


def is_of_spark(frame: object) -> bool:
    """Whether something is a data frame of Spark."""
    kind = type(frame)
    return kind.__name__ == "DataFrame" and kind.__module__.startswith("pyspark.")


ENGINES: Registry[Engine] = Registry(
    group="voile.engines",
    what="an engine",
    own={
        "polars": "voile.table.engines.polars:PolarsEngine",
        "duckdb": "voile.table.engines.duckdb:DuckDBEngine",
        "spark": "voile.table.engines.spark.engine:SparkEngine",
    },
    offers=("scan", "of_native", "of_arrow"),
)

AUTO = "auto"
"""The engine that Voile chooses: see ``engine_for``."""

_SPREAD = 8
"""How much larger a table of Parquet is taken to be in memory, with what is done with it."""
_GIGABYTE = 1e9


def engine_of(asked: Engine | str, folder: Path | None = None) -> Engine:
    """An engine, or the one of a name; raises ``InputError`` where there is none.

    ``folder`` is where an engine may put temporary data.
    """
    if not isinstance(asked, str):
        return asked
    name, _, place = asked.partition("@")
    if name == "spark":
        spark: Callable[..., Engine] = ENGINES.class_of(name)
        return spark(place or None, folder)
    if place:
        raise InputError(f"the engine {name!r} works in this process; only spark has a --master")
    return ENGINES.make("polars" if name == AUTO else name, {})


def engine_for(asked: Engine | str, source: object, folder: Path | None = None) -> Engine:
    """The engine that holds a table: the one that is asked for, or one that has room for it.

    ``source`` is a place, or a data frame.  A table in Parquet files whose size, eight times over,
    exceeds the memory that this process may take is held by DuckDB, where that is installed, and
    so is a relation of DuckDB; a data frame of Spark by Spark; every other table by Polars.
    ``folder`` is where an engine may put temporary data.

    Raises ``InputError`` where there is no engine of a name.
    """
    note = None
    if asked == AUTO:
        large = _too_large(source)
        if is_of_spark(source):
            return engine_of("spark", folder)
        installed = find_spec("duckdb") is not None
        asked = "duckdb" if is_of_duckdb(source) or (large and installed) else "polars"
        if large and installed:
            note = f"{large}, so the engine duckdb holds it (--engine polars asks for the other)"
    if isinstance(asked, str) and asked == "duckdb":
        duckdb: Callable[..., Engine] = ENGINES.class_of(asked)
        return duckdb(folder, note)
    return engine_of(asked, folder)


def _too_large(source: object) -> str | None:
    """Why a table does not fit into memory comfortably; None where it does, or no file tells."""
    if not isinstance(source, str | Path):
        return None

    try:
        files = table_reading.files_of_table(table_places.place_of(source))
    except TableError:  # which is said where the table is read
        return None
    size = sum(file.stat().st_size for file in files or ())
    free = available_memory()
    if size * _SPREAD <= free:
        return None
    return (
        f"the table is {size / _GIGABYTE:.1f} GB of Parquet, and {free / _GIGABYTE:.1f} GB of "
        "memory are free"
    )
