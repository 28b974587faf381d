"""A session of Spark that one set of tables lives in, and what a data set in it is.

A process has one: that of the data frame that is published, that which is active, or one that is
made, for the master that was asked for or for this machine alone (``local[*]``).  One that is made
here listens on this machine only where it works on this machine, shows no pages of its own, and
keeps what it spills in a private folder.  A server of Connect outlives this process, and with it
what was kept for it, so that is let go of at the end of the process.

Spark's own messages may quote values and statements, so they are neither shown nor chained
(``told``).  What is kept in the memory of workers is let go of before the next action.

Which Java, which master and which workers there are is the business of whoever starts Voile; what
is missing is said before Spark would wait for it.

Data sets
---------
A data set is a data frame, and the columns that say where a row stands.  Nothing of it has run.
Rows of a data frame have no order of their own, and no number that stays
when a task is tried again; so where they stand is a column from the beginning: the number of a row
in its source, or the group and rank that a permutation gave it.  Nothing reads the number of a
partition.  A function of whole groups is asked of rows that a task has sorted by group.

Columns are permuted within groups by Spark and keyed words; see ``Rows.permuted``.  A value's place
among all is where its group starts, which the driver adds up from the counts of groups, and its
rank in the group.  Its word is a function of the key and of that place alone, and where it goes is
the rank of the word.  So a task that is tried again, or computes a part of the rows that another
had, gives the same; equal values have different words and are one value.

Cost for n rows: a shuffle by group and two sorts for each column.  A group is the work of one task,
which spills what does not fit into its memory.
"""

from __future__ import annotations

import atexit
import json
import os
import re
import shutil
import socket
import sys
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import field, replace
from functools import reduce
from itertools import count
from operator import and_
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pyarrow as pa

from voile.table.arrays import array_of, numbers_of
from voile.table.engines.shared import SpillFolder
from voile.table.engines.spark.functions import MARK, AskedOfGroups, AskedOfRows, SparkColumn
from voile.table.formats.registry import library
from voile.table.protocol import GroupFunction
from voile_base import errors
from voile_base.errors import InputError, OutOfMemoryError, TableError, VoileError
from voile_base.ondemand import dataclass, on_demand
from voile_base.randomness import Key
from voile_base.values import Document
from voile_base.version import VERSION

if TYPE_CHECKING:
    import pyspark
    from pyspark import sql as pyspark_sql
else:
    pyspark = on_demand("pyspark")
    pyspark_sql = on_demand("pyspark.sql")

__all__ = [
    "Size",
    "SparkHandle",
    "SparkRelation",
    "alike",
    "ascending",
    "asked_of_columns",
    "told",
]

Frame = Any
"""A data frame of Spark, classic or of Connect."""

_LOCAL = "local[*]"
_LEAST = (4, 1)
"""The version of PySpark from which functions of Arrow arrays can be asked of columns."""
_PATIENCE = 5.0
"""Seconds for which a master may take to answer."""
_BATCH_ROWS = 1 << 16
_ADDRESS = re.compile(r"(?:spark|sc)://(?P<hosts>[^/;?]+)")
_PORTS = {"spark": 7077, "sc": 15002}
_DISK_IS_FULL = ("no space left", "disk full", "disk quota")
_NO_MEMORY = ("outofmemoryerror", "java heap space", "memoryerror", "exit code 137", "oom")
_numbers = count()


_PACKED = pa.schema([("b", pa.binary())])


class _PersistedFrame:
    """A data frame that stays where it was computed, for as long as somebody holds this."""

    def __init__(self, session: SparkHandle, frame: Frame) -> None:
        self.frame = frame
        session.held.add(self)
        weakref.finalize(self, session.abandoned.append, frame)


class SparkHandle:
    """Makes data frames and asks them; see the module."""

    def __init__(self, spark: Any) -> None:
        self.spark = spark
        self.abandoned: list[Frame] = []
        """Kept data frames that nobody holds any more."""
        self.held: weakref.WeakSet[_PersistedFrame] = weakref.WeakSet()
        """Those that somebody holds."""

    def __repr__(self) -> str:
        return "Session(private)"

    @staticmethod
    def name() -> str:
        """A name that no column has yet."""
        return f"x{next(_numbers)}"

    def frame(self, table: pa.Table) -> Frame:
        """A table of this process as a data frame."""
        with self._asking():
            return self.spark.createDataFrame(table)

    def kept(self, frame: Frame) -> _PersistedFrame:
        """A data frame that is kept once it was computed, on disk where memory ends."""
        with self._asking():
            return _PersistedFrame(self, frame.persist())

    def arrow(self, frame: Frame) -> pa.Table:
        """All that a data frame holds."""
        with self._asking():
            return frame.toArrow()

    def row(self, frame: Frame) -> Sequence[Any]:
        """The only row of a data frame."""
        with self._asking():
            return tuple(frame.collect()[0])

    def height(self, frame: Frame) -> int:
        """How many rows a data frame has."""
        with self._asking():
            return int(frame.count())

    def stream(self, frame: Frame) -> Iterator[pa.RecordBatch]:
        """What a data frame holds, in its order; a part of it at a time is in memory."""
        with self._asking():
            rows = frame.mapInArrow(_packed, "b binary").toLocalIterator()
            while True:
                row = next(rows, None)
                if row is None:
                    return
                yield from _unpacked(bytes(row[0]))

    def let_go(self) -> None:
        """Have nothing kept any more, as far as Spark still answers."""
        held = [each.frame for each in self.held]
        with suppress(Exception):  # the process ends, and who is asked may be gone
            for frame in (*held, *self.abandoned):
                frame.unpersist()

    @contextmanager
    def _asking(self) -> Iterator[None]:
        with told():
            while self.abandoned:
                self.abandoned.pop().unpersist()
            yield

    @staticmethod
    def of(spark: Any) -> SparkHandle:
        """What works on a session of Spark that somebody has made."""
        found = _sessions.get(id(spark))
        if found is None or found.spark is not spark:
            found = _sessions[id(spark)] = SparkHandle(spark)
            if _is_remote(spark):
                atexit.register(found.let_go)
            warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas")
        return found

    @staticmethod
    def for_master(master: str | None, folder: Path | None = None) -> SparkHandle:
        """The session of this process, for a master if one is asked for.

        ``folder`` is where one that is made spills to.  Raises ``InputError`` where PySpark or Java
        is absent, the master does not answer, or this process works with another.
        """
        _require_installed()

        active = pyspark_sql.SparkSession.getActiveSession() or _in_another_thread(
            pyspark_sql.SparkSession
        )
        if active is None or (_asked_for and _is_stopped(active)):
            wanted = master or _LOCAL
            _require_reachable(wanted)
            with told(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                active = _made(pyspark_sql.SparkSession, wanted, folder)
            _asked_for[:] = [wanted]
        elif master is not None and master not in (*_asked_for, _master_of(active)):
            msg = (
                "--master: this process works with another master of Spark already; stop its "
                "session, or ask in a process of its own"
            )
            raise InputError(msg)
        return SparkHandle.of(active)


def _packed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Batches as rows of one column of bytes, which may stream to the driver."""
    for batch in batches:
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, batch.schema) as stream:
            stream.write_batch(batch)
        held = pa.array([sink.getvalue().to_pybytes()], pa.binary())
        yield pa.RecordBatch.from_arrays([held], schema=_PACKED)


def _unpacked(row: bytes) -> Iterator[pa.RecordBatch]:
    """The batches of such a row."""
    with pa.ipc.open_stream(row) as stream:
        yield from stream


_sessions: dict[int, SparkHandle] = {}
_asked_for: list[str] = []
"""The master for which a session was made here."""


def _in_another_thread(session: Any) -> Any:
    """The session that this process works with, where Spark knows it in another thread only."""
    if pyspark.SparkContext._active_spark_context is not None:
        return session.builder.getOrCreate()
    return next((each.spark for each in reversed(_sessions.values())), None)


def _require_installed() -> None:
    """Raise ``InputError`` where PySpark is absent or too old, with what would do."""
    found = library("pyspark", "spark", "the engine spark").__version__
    if tuple(int(part) for part in re.findall(r"\d+", found)[:2]) < _LEAST:
        msg = (
            f"the engine spark needs PySpark {'.'.join(map(str, _LEAST))} or later, and {found} is "
            "installed: pip install --upgrade 'voile[spark]'"
        )
        raise InputError(msg)


def _require_reachable(master: str) -> None:
    """Raise ``InputError`` where nobody answers at a master's address, or no Java is here."""
    remote = master.startswith("sc://")
    if not remote and not _has_java():
        msg = (
            "the engine spark needs Java 17 or later, and there is none; install it (for example "
            "apt-get install openjdk-17-jre-headless) or say in JAVA_HOME where it is"
        )
        raise InputError(msg)
    match = _ADDRESS.match(master)
    if match is None:
        if not re.fullmatch(r"local(\[[^\]]+\])?|local-cluster\[.+\]|yarn|k8s://.+", master):
            msg = (
                "--master is an address of Spark such as local[4], spark://host:7077 or "
                f"sc://host:15002; not {master!r}"
            )
            raise InputError(msg)
        return
    port = _PORTS[master.partition(":")[0]]
    if not any(_answers(each, port) for each in match["hosts"].split(",")):
        msg = (
            f"--master {master.partition(';')[0]}: nobody answers there; see that "
            f"{'a Spark Connect server' if remote else 'the master'} runs and that this machine "
            "may reach it"
        )
        raise InputError(msg)


def _answers(host: str, port: int) -> bool:
    name, _, given = host.partition(":")
    if given and not given.isdigit():
        return False
    try:
        with socket.create_connection((name, int(given or port)), _PATIENCE):
            return True
    except OSError:
        return False


def _has_java() -> bool:
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=f"{home}/bin" if home else None) is not None


def _is_remote(spark: Any) -> bool:
    """Whether a session is one of Connect, whose server outlives this process."""
    return type(spark).__module__.startswith("pyspark.sql.connect.")


def _is_stopped(spark: Any) -> bool:
    """Whether a classic session has lost its context."""
    context = getattr(spark, "_sc", None)
    return context is not None and getattr(context, "_jsc", None) is None


def _master_of(spark: Any) -> str | None:
    with told():
        found: str | None = spark.conf.get("spark.master", None)
    return found


def _made(session: Any, master: str, folder: Path | None) -> Any:
    builder = session.builder.appName("voile")
    settings = {
        "spark.sql.caseSensitive": "true",
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(_BATCH_ROWS),
    }
    if master.startswith("sc://"):
        made = builder.remote(master).getOrCreate()
        for name, value in settings.items():
            made.conf.set(name, value)
        return made
    spilled = SpillFolder(folder, "spark")
    atexit.register(spilled.remove)
    settings |= {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.local.dir": str(spilled.path),
        "spark.python.sql.dataFrameDebugging.enabled": "false",
    }
    if master.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        settings |= {"spark.driver.host": "127.0.0.1", "spark.driver.bindAddress": "127.0.0.1"}
        settings["spark.sql.shuffle.partitions"] = str(2 * (os.cpu_count() or 1))
    builder = builder.master(master)
    for name, value in settings.items():
        builder = builder.config(name, value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("ERROR")
    return made


# -- what is said where Spark fails ----------------------------------------------------------------


@contextmanager
def told() -> Iterator[None]:
    """Turns what Spark says into what may be said."""
    try:
        yield
    except (VoileError, GeneratorExit, KeyboardInterrupt):
        raise
    except Exception as error:
        if not _is_of_spark(error):
            raise
        raise _fault(error) from None


def _is_of_spark(error: Exception) -> bool:
    module = type(error).__module__.partition(".")[0]
    return module in ("pyspark", "py4j", "grpc") or isinstance(error, ConnectionError)


def _fault(error: Exception) -> Exception:
    """What is to be said of a fault of Spark."""
    said = str(error)
    if said_by_worker := _of_worker(said):
        return said_by_worker
    words = said.lower()
    for sign, make in _FAULTS:
        if any(each in words for each in sign):
            return make()
    return TableError(
        f"the engine spark could not read the table or work on it ({type(error).__name__}); see "
        "Spark's own log, that all workers can read the files, and that these did not change; or "
        "ask for --engine duckdb"
    )


def _of_worker(said: str) -> Exception | None:
    """What a function of ours has raised in a worker."""
    start = said.find(MARK[0])
    if start < 0:
        return None
    found = json.loads(said[start + len(MARK[0]) : said.index(MARK[1], start)])
    if found["error"] == OSError.__name__:
        number = int(found["message"])
        return OSError(number, os.strerror(number))
    made = getattr(errors, found["error"], None) if found["error"] in errors.__all__ else None
    if made is None:
        return RuntimeError(found["message"])
    raised: Exception = made(found["message"])
    return raised


def _without_package() -> InputError:
    return InputError(
        "the workers of Spark have no Voile, or lack a library that it needs; install voile[spark] "
        "in the Python that they run, or ship an environment with it (docs/engines.md says how)"
    )


def _of_other_python() -> InputError:
    return InputError(
        "the workers of Spark run another version of Python than this process; say in "
        "PYSPARK_PYTHON which one they are to run, or ship an environment (docs/engines.md)"
    )


def _full_disk() -> InputError:
    return InputError(
        "a disk of the engine spark is full; make room where its workers spill (spark.local.dir) "
        "and where the release is written; nothing was written"
    )


def _no_memory() -> OutOfMemoryError:
    return OutOfMemoryError(
        "the engine spark needs more memory than it was given; raise spark.driver.memory or "
        "spark.executor.memory, or publish fewer columns"
    )


def _lost_master() -> InputError:
    return InputError(
        "the master of Spark does not answer any more, or has no workers left; nothing was "
        "written. See that it runs, and try again"
    )


_FAULTS: Sequence[tuple[Sequence[str], Callable[[], VoileError]]] = (
    (("modulenotfounderror", "no module named", "importerror"), _without_package),
    (("python_version_mismatch", "python in worker has different version"), _of_other_python),
    (_DISK_IS_FULL, _full_disk),
    (_NO_MEMORY, _no_memory),
    (
        ("masters are unresponsive", "connection refused", "unavailable", "stopped sparkcontext"),
        _lost_master,
    ),
)


functions = on_demand("pyspark.sql.functions")

_BROADCAST = 64 << 20
"""Bytes up to which a small table is sent to every worker as a whole."""


@dataclass(eq=False)
class Size:
    """How many rows some data frames have, which is counted once."""

    rows: int | None = None


@dataclass(frozen=True, eq=False)
class SparkRelation:
    """Rows as Spark has them; all columns have names of the session."""

    session: SparkHandle
    frame: Frame
    places: tuple[str, ...] = ()
    """The columns by which rows stand in their order, where nothing else orders them."""
    number: str | None = None
    """The column with the number of a row in its source, from 1."""
    size: Size = field(default_factory=Size)
    kept: tuple[_PersistedFrame, ...] = ()
    """Data frames that must stay."""

    @property
    def height(self) -> int:
        """How many rows there are."""
        if self.size.rows is None:
            self.size.rows = self.session.height(self.frame)
        return self.size.rows

    @property
    def own(self) -> list[str]:
        """The columns that are the session's own."""
        return list(dict.fromkeys([*self.places, *([self.number] if self.number else [])]))

    def with_columns(self, made: Document) -> SparkRelation:
        """More columns, by expressions of Spark."""
        columns = [said.alias(name) for name, said in made.items()]
        return replace(self, frame=self.frame.select("*", *columns))

    def where(self, condition: str) -> SparkRelation:
        """The rows for which a condition of SQL holds."""
        return replace(self, frame=self.frame.where(functions.expr(condition)), size=Size())

    def with_small(self, small: pa.Table, keys: Mapping[str, str]) -> SparkRelation:
        """The rows with the other columns of the row of a table that agrees in some, or without.

        ``keys`` says for each of these columns what it is called in the table.
        """
        other = self.session.frame(small)
        if small.nbytes <= _BROADCAST:
            other = functions.broadcast(other)
        joined = self.frame.join(other, alike(keys), "left").drop(*keys.values())
        return replace(self, frame=joined)

    def keeping(self) -> SparkRelation:
        """The same rows, which stay where they were computed."""
        kept = self.session.kept(self.frame)
        return replace(self, kept=(*self.kept, kept))

    def mapped_by_groups(
        self,
        columns: Mapping[str, SparkColumn],
        by: Sequence[str],
        ties: Sequence[str],
        asked: tuple[GroupFunction, pa.Schema, pa.Schema],
    ) -> _Mapped:
        """Rows with more columns, and a row for each group, both of what stays with the workers.

        ``by`` begins with the column that tells groups, and ``ties`` are the session's columns by
        which rows stand that agree in it; ``asked`` is a function with the columns that it gives of
        the rows and of the groups.
        """
        session = self.session
        function, gives, of_groups = asked
        made = {field.name: SparkColumn(session.name(), field.type) for field in gives}
        group = {field.name: SparkColumn(session.name(), field.type) for field in of_groups}
        first = session.name()
        leading = [column.ident for column in columns.values()]
        names = [*leading, *(name for name in self.own if name not in leading)]
        order = [columns[name].ident for name in by]
        frame = self.frame.select(*names).repartition(functions.col(order[0]))
        frame = frame.sortWithinPartitions(*ascending([*order, *ties]))
        asking = AskedOfGroups(
            VERSION,
            function,
            within=list(columns).index(by[0]),
            reads=[(name, column.type) for name, column in columns.items()],
            gives=[(c.ident, c.type) for c in made.values()],
            of_groups=[(c.ident, c.type) for c in group.values()],
            first=first,
            names=names,
        )
        kinds = {name: kind for name, kind in frame.dtypes}  # noqa: C416 - of pairs
        fields = [f"{name} {kinds[name]}" for name in names]
        fields += [f"{c.ident} {c.sql_type}" for c in (*made.values(), *group.values())]
        mapped = frame.mapInArrow(asking.__call__, ", ".join([*fields, f"{first} boolean"]))
        whole = replace(self, frame=mapped).keeping()
        few = replace(whole.where(first), places=(order[0],), number=None)
        return _Mapped(whole, made, few, group)

    def starts_of_groups(self, group: str) -> _Starts:
        """Count the rows of groups, and add them up."""
        session = self.session
        counted = pl.DataFrame(session.arrow(self.frame.groupBy(group).count())).sort(group)
        rows = counted["count"].to_numpy()
        first = array_of(np.cumsum(rows) - rows)
        groups = counted[group].to_arrow()
        return _Starts(
            group, pa.Table.from_arrays([groups, first], [session.name(), session.name()])
        )

    def drawn_values(self, starts: _Starts, column: str, key: Key) -> tuple[Frame, _DrawnColumns]:
        """The values of a column, each with its group and the place that it goes to."""
        session = self.session
        group, own, number, word, place = (session.name() for _ in range(5))
        column_of, within = functions.col, window.Window.partitionBy
        known, first = starts.table.column_names
        small = functions.broadcast(session.frame(starts.table))
        # Groups are renamed: a data frame that is joined with itself has each column twice.
        frame = self.frame.select(
            column_of(starts.group).alias(group), column_of(column).alias(own)
        )
        frame = frame.join(small, column_of(group) == column_of(known))
        rank = functions.row_number().over(within(group).orderBy(*ascending([own])))
        frame = frame.select(group, own, (column_of(first) + rank - 1).alias(number))
        drawn = _words(key, number, word)
        frame = frame.select(group, own, number, drawn.getField(word).alias(word))
        to = functions.row_number().over(within(group).orderBy(word, number)).cast("bigint") - 1
        values = frame.select(column_of(group), to.alias(place), column_of(own).alias(column))
        return values, _DrawnColumns(group, place)


def alike(keys: Mapping[str, str]) -> Any:
    """Whether columns are equal, missing values too."""
    column = functions.col
    return reduce(and_, (column(one).eqNullSafe(column(two)) for one, two in keys.items()))


def asked_of_columns(asked: AskedOfRows, read: Sequence[Any]) -> Any:
    """What a function gives for the columns that it reads, as one column with fields."""

    def ask(*arrays: pa.Array) -> pa.Array:
        return asked(*arrays)

    kind = ", ".join(f"{name}: {SparkColumn(name, dtype).sql_type}" for name, dtype in asked.gives)
    return functions.arrow_udf(ask, f"struct<{kind}>")(*(read or [functions.lit(1)]))


def ascending(idents: Sequence[str]) -> list[Any]:
    """Terms of an order, in the order of the kernel."""
    return [functions.col(name).asc_nulls_first() for name in idents]


@dataclass(frozen=True, eq=False)
class _Mapped:
    """What a function gave."""

    rows: SparkRelation
    made: dict[str, SparkColumn]
    """The new columns of the rows."""
    groups: SparkRelation
    """A row for each group, which has the column that tells groups, too."""
    of_groups: dict[str, SparkColumn]


window = on_demand("pyspark.sql.window")


@dataclass(frozen=True, eq=False)
class _Starts:
    """Where each group begins, when all rows stand by group."""

    group: str
    """The column that tells the groups of rows."""
    table: pa.Table
    """A row for each group: which one, and the place of its first row, from 0."""


@dataclass(frozen=True)
class _DrawnColumns:
    """The columns that say where a drawn value goes."""

    group: str
    place: str


def _words(key: Key, number: str, word: str) -> Any:
    """A column with a field: the words of the places that a column has."""

    def words(batch: pa.RecordBatch) -> list[pa.Array]:
        return [array_of(key.stream_at(numbers_of(batch[0])))]

    asked = AskedOfRows(VERSION, words, [(number, pa.int64())], [(word, pa.uint64())])
    return asked_of_columns(asked, [number])
