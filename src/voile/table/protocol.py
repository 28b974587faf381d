"""What every engine offers, wherever its rows are.

A publisher sees a private table through ``PrivateTable`` only: it asks for counts, decides on
them, and hands the decision back to be applied row by row.  No row, and no array with one entry
per row, ever crosses this wall; ``Rows`` is an opaque handle that only the engine that made it
can read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voile.randomness import Randomness
from voile.schema.hierarchy.generalized import DistinctValues, GeneralizedValues
from voile.schema.numbers import ExactNumbers
from voile.schema.plan import Plan

if TYPE_CHECKING:  # reading a release needs no mechanism
    from voile.dp.categorical import Categorical
    from voile.dp.discrete_laplace import DiscreteLaplace
    from voile.dp.planar.noise import LocationNoise
    from voile.dp.planar.pricing import TripPrice

__all__ = [
    "BlockAssignment",
    "ColumnProfile",
    "CombinationCounts",
    "Format",
    "GroupCounts",
    "GroupedValues",
    "KnownRows",
    "Perturbation",
    "PrivateTable",
    "PublishedCells",
    "PublishedTable",
    "RecodedColumn",
    "Recoding",
    "Relocated",
    "Relocation",
    "RowMarks",
    "RowMatch",
    "RowSample",
    "RowScore",
    "Shuffle",
    "TopRows",
    "TripAccounts",
    "ValueCounts",
    "Worth",
]

Format = Literal["csv", "parquet"]


@dataclass(frozen=True)
class ColumnProfile:
    """Private facts about one column, for the custodian's eyes."""

    name: str
    type: str
    missing: int
    distinct: int
    """Different values; a missing one is none."""
    once: int
    """Those of them that stand in one row only."""
    placeholder: str | None = None
    """A text such as "?" that seems to stand for a missing value."""
    placeholders: int = 0


@dataclass(frozen=True, eq=False)
class ValueCounts:
    """Private counts of one numeric column: rows by distinct value and by class of rows."""

    values: ExactNumbers
    """The d distinct values, ascending."""
    rows: NDArray[np.int64]
    """Shape (d, c): rows of class j that hold value i; c is 1 where rows have no class."""


@dataclass(frozen=True, eq=False)
class GroupedValues:
    """How often each value stands in each group of a published table.

    Parallel arrays over the distinct pairs, ascending by group, then by value.
    """

    group: NDArray[np.int64]
    values: ExactNumbers
    rows: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class PublishedCells:
    """How often each value of one column stands in each combination of published values.

    Parallel arrays over the c distinct pairs of combination and value, ascending by combination,
    then by value.  Combinations are numbered as ``group_sizes`` counts them.
    """

    group: NDArray[np.int64]
    value: NDArray[np.int64]
    """A place in ``values``."""
    rows: NDArray[np.int64]
    values: DistinctValues
    """The v distinct values of the column; a missing value is one of them."""
    total: NDArray[np.int64]
    """Shape (v,): rows of each value in the whole release."""


def _no_marks() -> NDArray[np.uint64]:
    return np.empty(0, dtype=np.uint64)


@dataclass(frozen=True, eq=False)
class RowMarks:
    """Marks of rows, ascending by identity.

    A row is marked by 64 bits of a keyed pseudorandom function of its identity and, where a
    record key identifies it, by 64 bits of its contents; otherwise ``contents`` is empty.
    """

    identities: NDArray[np.uint64] = field(default_factory=_no_marks)
    contents: NDArray[np.uint64] = field(default_factory=_no_marks)

    def __len__(self) -> int:
        return len(self.identities)


@dataclass(frozen=True, eq=False)
class KnownRows:
    """Marks of rows that earlier releases of a series saw.

    ``identities`` ascends; ``classes`` has the version, from 0, in which each row was first
    published; ``contents`` is empty where no record key identifies rows.
    """

    identities: NDArray[np.uint64]
    contents: NDArray[np.uint64]
    classes: NDArray[np.int64]
    held: NDArray[np.uint64]
    """Identities of the rows that were held back by the newest release, ascending."""
    versions: int
    """Number of earlier releases."""


@dataclass(frozen=True, eq=False)
class RowMatch:
    """How the rows of a table relate to those that earlier releases saw; private."""

    rows: Any
    """The engine's own handle: the class of each row."""
    classes: int
    """Number of classes: one for each earlier release, and the last for fresh rows."""
    missing: int
    """Published rows that the table no longer holds."""
    changed: int
    """Published rows whose contents are not what they were (with a record key)."""
    fresh: int
    """Rows that no release has published."""
    withdrawn: int
    """Rows held back by the newest release that the table no longer holds."""


@dataclass(frozen=True, eq=False)
class BlockAssignment:
    """A decision on which block each row belongs to.

    ``values`` are those that ``count_values`` gave, perhaps in a finer unit; ``block[i, j]`` is
    the number of the block, from 0, of a row with the i-th distinct value and class j; -1 leaves
    the row out of the release.
    """

    values: ExactNumbers
    block: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class RowSample:
    """Rows drawn each with the same probability, independently of all others; private."""

    probability: Decimal
    rows: Any
    """The engine's own handle."""


@dataclass(frozen=True, eq=False)
class Worth:
    """What d values add to a score: the exact numbers ``units / denominator``."""

    units: NDArray[Any]
    """Shape (d,): ``int64``, or Python integers where these do not fit."""
    denominator: int
    """Above 0."""


class RowScore(Protocol):
    """How rows are ranked: by a sum of functions, each rising or falling with one column.

    Where the plan declares an order of texts, a text counts as its place in it, from 1; all other
    columns hold numbers.
    """

    @property
    def columns(self) -> Sequence[str]:
        """The m columns that are ranked by."""

    def exact(self, column: str, values: ExactNumbers) -> Worth:
        """What values of a column add; raises ``TableError`` where one cannot be scored."""

    def near(self, column: str, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """What values of a column add, rounded; NaN or infinite where that is not possible."""

    def error(self, column: str, low: float, high: float, relative: float) -> float:
        """The most by which ``near`` of a double differs from ``exact`` of what it stands for.

        The double lies in [``low``, ``high``], and within a share ``relative`` of its magnitude of
        the number that it stands for.  Infinite where no bound is known.
        """


@dataclass(frozen=True, eq=False)
class TopRows:
    """The best rows of a table, and all others in the box around them; private."""

    table: PrivateTable
    """Those rows alone."""
    tops: int
    """How many of them are best; all that share a score are, or none."""


@dataclass(frozen=True, eq=False)
class CombinationCounts:
    """Private counts of the g distinct combinations of values of m columns.

    A value is named by its code, its place among the distinct values of its column.  Combinations
    ascend by their codes, the first column first.
    """

    columns: tuple[str, ...]
    values: tuple[DistinctValues, ...]
    """The distinct values of each column; some may stand in no counted row."""
    codes: NDArray[np.int32]
    """Shape (g, m)."""
    rows: NDArray[np.int64]
    """Shape (g,): rows of each combination, at least 1."""
    handle: Any = None
    """The engine's own: which combination each row has, and which rows were counted."""


@dataclass(frozen=True, eq=False)
class GroupCounts:
    """Private counts of one column within groups of rows.

    Parallel arrays over the c distinct pairs of group and value, ascending by group, then by value.
    """

    column: str
    group: NDArray[np.int64]
    value: NDArray[np.int64]
    """A place among the distinct values of the column, as ``CombinationCounts`` has them."""
    rows: NDArray[np.int64]
    """At least 1."""


@dataclass(frozen=True, eq=False)
class RecodedColumn:
    """What a column shows in each of p groups."""

    column: str
    values: GeneralizedValues | None
    """None: the column's own values, named by their codes."""
    codes: NDArray[np.int32]
    """Shape (p,): for each group, a place in ``values``."""


@dataclass(frozen=True, eq=False)
class Recoding:
    """A decision on what the rows of each combination of values become.

    Rows of one group share what the recoded columns show.  All other published columns stay.
    """

    counts: CombinationCounts
    group: NDArray[np.int64]
    """Shape (g,): the group of each combination, from 0; -1 leaves its rows out."""
    columns: tuple[RecodedColumn, ...]


@dataclass(frozen=True, eq=False)
class Perturbation:
    """A decision on how the values of one numeric column are perturbed, row by row.

    A row with the i-th distinct value draws a cluster j with probability
    ``membership.probability(i, j)`` and shows ``start[i, j]`` plus the noise of cluster j, in
    units of the grid, clamped; the interval around it has the half-width of the cluster.
    """

    column: str
    values: ExactNumbers
    """The d distinct values that ``count_values`` gave."""
    membership: Categorical
    """The law by which each of the d values draws one of c clusters."""
    start: NDArray[np.int64]
    """Shape (d, c): where the noise is added, in units of the grid."""
    noise: DiscreteLaplace
    """c discrete Laplace laws, one for each cluster."""
    exponent: int
    """The grid: multiples of 2**exponent."""
    half_width: NDArray[np.int64]
    """Shape (c,), in units of the grid."""
    clamp: tuple[int, int] | None = None
    """Least and largest published value, in units of the grid."""


@dataclass(frozen=True, eq=False)
class Shuffle:
    """A decision on which columns are permuted, each by itself, within which groups of rows."""

    counts: CombinationCounts
    """Of the columns that decide the group of a row."""
    group: NDArray[np.int64]
    """Shape (g,): the group of each combination, from 0; no number is left out."""
    columns: tuple[str, ...]
    """Published columns to permute; none of those that ``counts`` has."""


@dataclass(frozen=True, eq=False)
class Relocation:
    """A decision on how the reports of every trip are moved, or on what takes their place."""

    noise: LocationNoise
    """Its zones have the epsilons that are drawn with."""
    price: TripPrice
    """What reports cost; epsilons are those drawn with."""
    destination: tuple[float, float] | None = None
    """Where all trips are bound for; None: where the plan's columns say, if it names any."""
    remaining: bool = False
    """Whether positions stay away and the noisy distance to the destination takes their place."""
    decimals: int = 6
    """Of published degrees."""
    one_at_a_time: bool = False
    """Whether of several reports of a trip at one time only the first of the table is published."""
    numbered: bool = False
    """Whether trips are published by number, in the order in which they begin."""


class TripAccounts(Protocol):
    """What the published reports of each of t trips cost; private.  All arrays have shape (t,)."""

    @property
    def epsilon(self) -> NDArray[np.float64]:
        """Of independent noise."""

    @property
    def squared_mu(self) -> NDArray[np.float64]:
        """Of Gaussian noise."""

    @property
    def reports(self) -> NDArray[np.int64]:
        """How many are published."""

    @property
    def first_row(self) -> NDArray[np.int64]:
        """Where a trip first stands in the input, from 1."""

    def marks(self, key: bytes) -> NDArray[np.uint64]:
        """64 bits of a keyed pseudorandom function of each trip's id, shape (t,)."""


@dataclass(frozen=True, eq=False)
class Relocated:
    """The reports as they are published, and what is private about them."""

    table: PublishedTable
    trips: TripAccounts
    left_out: int
    """Reports that are not published."""
    notices: tuple[str, ...]
    """What was done with reports that are out of the ordinary, for the custodian."""


class PublishedTable(Protocol):
    """The rows of a release, wherever they are; nothing in it is private."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns, in order."""

    @property
    def rows(self) -> int:
        """Number of rows."""

    def kinds(self) -> Mapping[str, str]:
        """Kind of the values of each column: integer, decimal, text, boolean, date, ...

        "single" stands for decimals of 32 bits.
        """

    def group_values(self, column: str, group: str) -> GroupedValues:
        """How often each value of a numeric column stands in each group."""

    def group_members(
        self, columns: Sequence[str], group: str
    ) -> tuple[pl.DataFrame, NDArray[np.int64], NDArray[np.int64]]:
        """Which tuples of values of some columns stand in which group.

        Returns the n distinct pairs of tuple and group: a frame with n rows and these columns,
        the group of each (n,), and the number of rows of each (n,).
        """

    def group_sizes(self, columns: Sequence[str]) -> NDArray[np.int64]:
        """Rows of each distinct combination of values of some columns, ascending, shape (p,).

        A missing value is a value like others.
        """

    def cells(self, columns: Sequence[str], sensitive: str) -> PublishedCells:
        """How often each value of a column stands in each combination of values of others.

        Raises ``TableError`` where it is numeric and holds NaN or an infinity.
        """

    def count_matching(self, predicate: str, group: str) -> Mapping[int, int]:
        """Rows of each group for which a predicate in Polars SQL holds."""

    def with_intervals_as_text(self, names: Collection[str] | None = None) -> PublishedTable:
        """The rows with each interval in one column of texts ``[low, high]``.

        Columns ``NAME.low`` and ``NAME.high`` become ``NAME``, or ``NAME.interval`` where there is
        a column ``NAME`` as well; an open end is left empty.  ``names`` are the columns of the
        table that are shown so; None: all that look like it.
        """

    def without(self, columns: Sequence[str]) -> PublishedTable:
        """The rows without some columns."""

    def write(self, folder: Path, file_format: Format) -> Path:
        """Write the rows to ``data.csv`` or ``data.parquet`` in a folder; returns the file."""

    def to_native(self) -> Any:
        """The rows as a data frame of the kind that the private table came from."""


class PrivateTable(Protocol):
    """A table of real people's rows with the roles of its columns; nothing in it may leave."""

    @property
    def plan(self) -> Plan:
        """Roles and what the plan says of the columns; names are those of this table."""

    @property
    def source_format(self) -> Format:
        """The format that a release has unless another is asked for."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What was assumed in reading the file, for the custodian."""

    @property
    def rows(self) -> int:
        """Number of rows after the declared treatment of missing values."""

    @property
    def dropped(self) -> int:
        """Rows left out because the plan says ``nulls = "drop"``."""

    def kinds(self, columns: Sequence[str]) -> Mapping[str, str]:
        """Kind of the values of each column: number, text, boolean, date, datetime, ..."""

    def count_values(self, column: str, match: RowMatch | None = None) -> ValueCounts:
        """Rows by distinct value of a numeric column, and by class where rows were matched.

        Raises ``TableError`` where the column is not numeric, misses values, holds NaN or an
        infinity, or leaves its public bounds.
        """

    def match_rows(self, known: KnownRows, key: bytes, record_key: str | None) -> RowMatch:
        """Find the rows of earlier releases; raises ``TableError`` for a bad record key."""

    def permute_within_blocks(
        self,
        column: str,
        assignment: BlockAssignment,
        match: RowMatch | None,
        randomness: Randomness,
    ) -> PublishedTable:
        """The published columns with the values of one column permuted within each block.

        The permutation is uniform, and rows stand in an order that tells nothing: by block, and
        within a block by their published contents.  The number of the block, from 1, is the column
        ``group``.
        """

    def sample_rows(self, probability: Decimal, randomness: Randomness) -> RowSample:
        """Draw each row with this probability, independently; between 0 and 1, both excluded.

        The draw of a row is a function of the key and of the row's identity.
        """

    def count_combinations(
        self, columns: Sequence[str], sample: RowSample | None = None
    ) -> CombinationCounts:
        """Rows by distinct combination of values of some columns, of all rows or of a sample.

        Numeric columns must be finite; missing values count as a value of their own.  Raises
        ``TableError``.
        """

    def count_in_groups(
        self, counts: CombinationCounts, group: NDArray[np.int64], columns: Sequence[str]
    ) -> tuple[GroupCounts, ...]:
        """Rows by group and distinct value, for each of some columns.

        ``counts`` are of all rows, and ``group`` has the group of each combination, from 0.
        Numeric columns must be finite; raises ``TableError``.
        """

    def recode(self, recoding: Recoding) -> PublishedTable:
        """The published columns with some of them recoded, in an order that tells nothing.

        Rows stand by group, and within a group by their published contents; the number of the
        group, from 1, is the column ``group``.  A column that becomes an interval is published as
        ``NAME.low`` and ``NAME.high``, in its own place.
        """

    def shuffle(self, shuffle: Shuffle, randomness: Randomness) -> PublishedTable:
        """The published columns, some permuted within groups, in an order that tells nothing.

        Each permutation is uniform and independent of all others.  Rows stand by group, and within
        a group by the contents of the columns that are not permuted; the number of the group,
        from 1, is the column ``group``.
        """

    def top_rows(self, score: RowScore, top: int, *, ties: bool) -> TopRows:
        """The ``top`` rows of the highest scores, and the rows in the box around them.

        A row is in the box where in every column of the score its value lies between the least
        and the most of the best rows.  Rows that tie with the last of the best are all among them
        with ``ties``; else none of them is, unless they fit.  There may then be no best row.
        Where there are fewer rows than ``top``, all are best.

        Scores are compared exactly.  Raises ``TableError`` where a row misses a value to be ranked
        by, or holds one that is not finite, that its order does not name, or that has no score.
        """

    def left_out(self, recoding: Recoding) -> bytes:
        """The rows that a recoding does not publish, private: an Arrow IPC stream of all columns.

        Rows outside the sample are among them.
        """

    def perturb(
        self, perturbations: Sequence[Perturbation], randomness: Randomness
    ) -> PublishedTable:
        """The published columns with noise in some of them, in an order that tells nothing.

        A perturbed column is published as ``NAME``, ``NAME.low`` and ``NAME.high``.  The draws
        of a row are a function of the key and of the row's identity.
        """

    def relocate(
        self,
        relocation: Relocation,
        randomness: Randomness,
        charge: Callable[[TripAccounts], None] = lambda accounts: None,
    ) -> Relocated:
        """The reports of the plan's trajectories, moved by noise, with the published columns.

        Trip and time stay as they are; in place of a position there is a noisy one, or the column
        ``remaining`` with the noisy distance in metres.  Rows stand by trip, by time, and then by
        what they show.  The draws of a report are a function of the key, of its trip's id and of
        its number in the trip.  ``charge`` is told what the trips cost at most, before anything is
        drawn; where it raises, nothing is.  Raises ``TableError`` where a report has no time or
        place, or one that cannot be; ``PlanError`` where the plan names no trajectories.
        """

    def mark_rows(
        self, column: str, assignment: BlockAssignment, match: RowMatch
    ) -> tuple[RowMarks, RowMarks]:
        """Marks of the fresh rows that a decision publishes, and of those it holds back."""
