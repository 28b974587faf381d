"""The kernel: what every engine does with rows, wherever they are.

A method never meets a row.  It asks for small answers, decides on them, and has its decision
applied; all of that is written once, in ``private`` and ``published``, over the few verbs below.
An engine is a class that has these verbs (``Rows``) and one that opens tables (``Engine``), and
nothing else: it knows no plan, no method and no guarantee.

What crosses this wall is Arrow, or arrays whose size does not grow with rows: distinct values,
counts, columns of a small table, expressions (``voile_base.values.expressions``), and functions of
record batches.  A data set that is as large as the table stays an engine's, behind an immutable
handle: the rows themselves, marks of rows, rows left out.  Rows of a release are not private;
``PublishedTable.to_arrow`` may hold them, and nothing here hands out any others, but for the few
that a ``Fold`` keeps.

Terms, the same for every engine:

- **Order of values**: missing first; false before true; numbers by value, NaN last, minus zero is
  zero; texts by code points; dates, times and durations by time.
- **Equality**: as that order says, within the one type that a column has.  Missing equals missing.
- **A function** given to ``map`` depends on the values of its row and on nothing else, so that it
  may be asked in any order and batch, again, or only once for rows that agree.  It may get any
  column as a dictionary array, and may return one.
- **A draw** is a function of a key and of a row, or of a group and a place in it; so no verb draws
  anything but ``permuted``, whose every step is laid down.

Cost: each verb is one pass, or a sort where it orders; what an engine does better, it says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Generic, Literal, Protocol, Self, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from voile.schema.persons import Occurrences
from voile.table.formats.registry import Format
from voile.table.places import Place
from voile_base.ondemand import dataclass
from voile_base.randomness import Key
from voile_base.values.expressions import Expression

__all__ = [
    "Counted",
    "Engine",
    "EngineSource",
    "Fold",
    "Format",
    "Function",
    "GroupFunction",
    "How",
    "Rows",
    "Source",
    "Tally",
]

How = Literal["inner", "left", "anti"]
"""Of rows that have a partner: both; of those that have none, too, with missing values in its
place; or the latter alone."""

Function = Callable[[pa.RecordBatch], Sequence[pa.Array]]
"""The new columns of some rows, each as long as the batch."""


GroupFunction = Callable[[pa.RecordBatch], tuple[Sequence[pa.Array], Sequence[pa.Array]]]
"""The new columns of the rows of some groups, and columns of the groups as they stand."""


@dataclass(frozen=True, eq=False)
class Counted:
    """How many rows have each of the g distinct combinations of values of m columns.

    A value is named by its code, its rank among the distinct values of its column.  Combinations
    ascend by their codes, the first column first.
    """

    columns: tuple[str, ...]
    values: tuple[pa.Array, ...]
    """The distinct values of each column, ascending; some may stand in no counted row."""
    codes: NDArray[np.int32]
    """Shape (g, m)."""
    rows: NDArray[np.int64]
    """Shape (g,): at least 1."""
    handle: Any = None
    """The engine's own: where it finds the combination of each row again, if it kept that."""


@dataclass(frozen=True)
class Tally:
    """How many rows an expression holds for."""

    rows: int
    first: int | None
    """The number of the first of them in its source, from 1; None where no row has a number."""


class Fold(Protocol):
    """Goes through rows and keeps what does not grow with their number.

    An engine that works in several places makes a fold in each, of a fresh copy, and merges them.
    """

    def take(self, batch: pa.RecordBatch, first: int) -> bool | None:
        """Consecutive rows of a source; ``first`` is the number of their first, from 0.

        True where no further row changes what it keeps: an engine may then stop.
        """

    def merge(self, other: Self) -> None:
        """Take what another fold has kept of other rows."""


class Rows(Protocol):
    """An immutable data set of an engine.

    Its order is not defined, unless it comes from ``ordered``, ``permuted`` or ``map_groups``; then
    ``select``, ``map``, ``join`` and ``filter`` keep it.
    """

    @property
    def schema(self) -> pa.Schema:
        """Names and types of the columns, in their order."""

    @property
    def height(self) -> int:
        """How many rows there are."""

    # -- small answers ----------------------------------------------------------------------------

    def count(self, by: Sequence[str], *, keep: bool = False) -> Counted:
        """Rows by distinct combination of values of some columns, at least one.

        ``keep`` says that columns will be joined to what was counted: an engine may note which
        combination each row has.  To count by coarser values, ``join`` these to each column first:
        then no more combinations are collected than there are coarse ones.
        """

    def tally(self, holds: Expression) -> Tally:
        """How many rows an expression holds for, and which is the first."""

    def occurrences(self, column: str, ignored: Sequence[str] | None = None) -> Occurrences:
        """How often the values of a column stand in it.

        With ``ignored`` these texts and missing values are left out, and empty texts too; without,
        a missing value counts as one.  The column may be one that is never read otherwise, and is
        not kept.  Raises ``TableError`` for values that cannot be compared.
        """

    def fold(self, columns: Sequence[str], fold: Fold) -> None:
        """Go through some columns of all rows, in the order of their source."""

    # -- rows from rows ---------------------------------------------------------------------------

    def read(self) -> Rows:
        """The same rows, in memory where an engine keeps them there.

        Raises ``TableError`` where their files cannot be read.
        """

    def select(self, columns: Sequence[str]) -> Rows:
        """Some columns, in this order."""

    def filter(self, holds: Expression) -> Rows:
        """The rows for which an expression holds."""

    def map(self, function: Function, reads: Sequence[str], gives: pa.Schema) -> Rows:
        """More columns, or others in place of those of the same names: a function of some."""

    def map_groups(
        self,
        function: GroupFunction,
        within: str,
        by: Sequence[str],
        gives: pa.Schema,
        of_groups: pa.Schema,
    ) -> tuple[Rows, Rows]:
        """More columns, a function of whole groups of rows that may look along a group.

        A batch has all columns of the rows of one or several groups, each group complete, its rows
        together and in the order of ``by``; a group is the rows that agree in ``within``.  The
        function gives the columns ``gives`` of the rows and ``of_groups`` of the groups.

        Returns the rows with all columns of its input too, ordered by group and ``by``; and a row
        for each group, by group: ``within``, and the columns of the groups.
        """

    def numbered(self, name: str) -> Rows:
        """One more column, the number of each row in its source, from 1.

        Missing where an engine does not know it.
        """

    def join(self, counted: Counted, columns: Mapping[str, pa.Array]) -> Rows:
        """More columns, or others in place of those of the same names, by combination of values.

        A value is missing where a row's combination was not counted.
        Each array has shape (g,): what rows of each combination get.
        """

    def join_rows(self, other: Rows, on: Sequence[str], how: How) -> Rows:
        """The rows with the columns of the row of another data set that agrees in some columns.

        At most one row of ``other`` may agree with a row; both are of one engine.
        """

    def union(self, other: Rows) -> Rows:
        """The rows of both, which have the same columns."""

    def distinct(self, by: Sequence[str], rows: str) -> Rows:
        """A row for each combination of values of some columns, and how many rows had it.

        What ``count`` gives, as a data set: for combinations that are about as many as rows.
        """

    def rank(self, name: str, within: Sequence[str], by: Sequence[str]) -> Rows:
        """One more column, the rank of each row among those that agree in ``within``, from 0.

        Rows rank by the values of ``by``, ascending; the ranks of rows that agree in these are
        different, and which of them has which is left open.
        """

    def permuted(self, within: str, keys: Mapping[str, Key]) -> Rows:
        """The rows with some columns permuted, each by its key and uniformly, within groups.

        ``within`` names a column of whole numbers, the groups.  Rows stand by group, and then by
        the values of the columns that stay, in the order of these.  A column is permuted by the
        stream of its key: let its values stand by group and ascend within; the i-th of all, from 0,
        gets word i.  In each group, the place of a value is the rank of its word; of equal words
        the earlier goes first.
        """

    def ordered(self, by: Sequence[str], descending: Sequence[str] = ()) -> Rows:
        """The rows in the order of the values of some columns, the first of them first.

        Those of ``descending`` descend, missing values last.
        """

    # -- out --------------------------------------------------------------------------------------

    def to_arrow(self) -> pa.Table:
        """All rows; only for what may be seen, and for data sets known to be small."""

    def batches(self) -> Iterator[pa.RecordBatch]:
        """All rows in one pass, some at a time; texts may stand in dictionaries.

        For what ``to_arrow`` is for, where there are many.
        """

    def write(self, folder: Path, file_format: Format) -> tuple[str, ...]:
        """Write the rows, in their order, durably; returns the names of the files in their order.

        They are ``data.csv`` or ``data.parquet`` and so on, or several parts.  Raises ``OSError``
        where the disk refuses.
        """

    def to_native(self) -> Any:
        """The rows as a data frame of the engine's own kind."""


class Source(Protocol):
    """A table that was found, and may not have been read."""

    @property
    def rows(self) -> Rows:
        """Its rows; columns that are not asked for need not be read."""

    @property
    def names(self) -> Sequence[str]:
        """Names of all its columns; ``rows`` may lack those that were not asked for."""

    @property
    def format(self) -> Format:
        """The format that a release has unless another is asked for."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What was assumed in reading it, one sentence each, without values."""

    @property
    def convert(self) -> Callable[[Rows], Any] | None:
        """Makes of rows a data frame of the kind that this table was; None: the engine's own."""


R = TypeVar("R", bound=Rows)


@dataclass(frozen=True, eq=False)
class EngineSource(Generic[R]):
    """A table in a file, or a frame, as an engine has found it; see ``Source``."""

    rows: R
    names: Sequence[str]
    format: Format = "parquet"
    notes: tuple[str, ...] = ()
    convert: Callable[[Rows], Any] | None = None


class Engine(Protocol):
    """Opens tables and makes data sets."""

    def scan(
        self,
        path: Place,
        *,
        columns: Sequence[str] | None = None,
        missing: Sequence[str] = (),
        texts: Sequence[str] = (),
    ) -> Source:
        """A table in a file, a folder or a database; raises ``TableError`` where it cannot be read.

        ``columns`` limits what has to be read; names that the table does not have are passed over.
        ``missing`` are texts that stand for no value;
        ``texts`` names columns of a CSV file that stay as they are written.
        """

    def of_native(self, frame: object) -> Source:
        """A data frame of a kind that the engine knows; raises ``TableError``."""

    def of_arrow(self, table: pa.Table, numbers: NDArray[np.int64] | None = None) -> Rows:
        """A small table as a data set.

        ``numbers`` says where its rows stand in their source, from 0; None: as they stand here.
        """
