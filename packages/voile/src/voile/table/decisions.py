"""What a publisher hands back to be applied: pure decisions, in terms of what was counted.

A ``Treatment`` says all of it at once: which group each combination of values gets, if there are
groups, and what becomes of each column that does not stay as it is.  Another package adds a kind of
treatment by an entry point of the group ``voile.treatments``: a subclass of ``GroupColumn`` or of
``RowColumn``, which engines apply without knowing it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from voile.schema.hierarchy.generalized import GeneralizedValues
from voile.schema.numbers import ExactNumbers
from voile.schema.trajectory import Zoning
from voile.table.binding import number_series
from voile.table.summaries import CombinationCounts, CountedRows, ValueCounts
from voile_base.ondemand import dataclass
from voile_base.registry import Registry

if TYPE_CHECKING:  # reading a release needs no mechanism
    from voile.dp.discrete_noise import DiscreteLaplace
    from voile.dp.exact import Categorical
    from voile.table.published import PublishedTable
    from voile_base.randomness import Randomness
    from voile_geo.planar.noise import LocationNoise
    from voile_geo.planar.pricing import TripPrice

__all__ = [
    "TREATMENTS",
    "BlankedColumn",
    "BlockAssignment",
    "Drawn",
    "ExchangedColumns",
    "GroupColumn",
    "Grouping",
    "NoisyColumns",
    "NumberColumn",
    "PermutedColumn",
    "Perturbation",
    "RankedColumns",
    "RecodedColumn",
    "RedrawnColumn",
    "Relocated",
    "Relocation",
    "RowColumn",
    "Treated",
    "Treatment",
    "TripAccounts",
]


@dataclass(frozen=True, eq=False)
class Grouping:
    """The group of each combination of values that was counted."""

    of: CountedRows
    group: NDArray[np.int64]
    """Shape (g,): the group of each combination, from 0; -1 leaves its rows out."""

    @classmethod
    def of_counts(cls, counts: CombinationCounts, group: NDArray[np.int64]) -> Grouping:
        """Groups of counted combinations; raises ``ValueError`` for counts that are made up."""
        if counts.of is None or len(group) != len(counts.of.counted.rows):
            msg = "groups are of the combinations that were counted in a table"
            raise ValueError(msg)
        return cls(counts.of, group)


class GroupColumn(ABC):
    """A column of which each of p groups shows one thing: a treatment that applies itself.

    Another package's method hands back its own subclass.
    """

    what: ClassVar[str] = "recoded"
    column: str
    codes: NDArray[np.int32]
    """Shape (p,): for each group, an index into the cells."""

    @abstractmethod
    def cells(self, own: Callable[[], pa.Array]) -> Mapping[str, pa.Array]:
        """The published columns in its place, by name: the d things that groups show, in each.

        ``own`` counts the column's own values, missing ones first, and gives them by their codes.
        """


@dataclass(frozen=True, eq=False)
class RecodedColumn(GroupColumn):
    """A column of which each group shows one value, perhaps a generalized one."""

    column: str
    values: GeneralizedValues | None
    """None: the column's own values, named by their codes."""
    codes: NDArray[np.int32]

    def cells(self, own: Callable[[], pa.Array]) -> Mapping[str, pa.Array]:
        """Values, labels, or both ends of intervals."""
        values, name = self.values, self.column
        if values is None or (values.texts is None and values.low is None):
            return {name: own()}
        if values.texts is not None:
            return {name: pl.Series(values.texts, dtype=pl.String).to_arrow()}
        assert values.low is not None
        assert values.high is not None
        missing = int(values.missing)
        ends = (end.to_arrow() for end in number_series([values.low, values.high]))
        return {
            f"{name}.{which}": pa.concat_arrays([pa.nulls(missing, end.type), end])
            for which, end in zip(("low", "high"), ends, strict=True)
        }


@dataclass(frozen=True, eq=False)
class NumberColumn(GroupColumn):
    """A column of which each group shows a number that need be no value of it."""

    column: str
    codes: NDArray[np.int32]
    numbers: NDArray[np.float64]

    def cells(self, own: Callable[[], pa.Array]) -> Mapping[str, pa.Array]:
        """The numbers."""
        del own
        return {self.column: pl.Series(self.numbers).to_arrow()}


@dataclass(frozen=True, eq=False)
class BlankedColumn(GroupColumn):
    """A column of which each group shows its own value, or a missing one."""

    what: ClassVar[str] = "blanked"
    column: str
    codes: NDArray[np.int32]
    """0 for a blank, and the code of the own value, from 1."""

    def cells(self, own: Callable[[], pa.Array]) -> Mapping[str, pa.Array]:
        """A missing value, then the column's own."""
        values = own()
        return {self.column: pa.concat_arrays([pa.nulls(1, values.type), values])}


@dataclass(frozen=True)
class PermutedColumn:
    """A column whose values are permuted uniformly within each group, by itself."""

    what: ClassVar[str] = "permuted"
    column: str


@dataclass(frozen=True, eq=False)
class Perturbation:
    """A decision on how the values of one numeric column are perturbed, row by row.

    A row with the i-th distinct value draws a cluster j with probability
    ``membership.probability(i, j)`` and shows ``start[i, j]`` plus the noise of cluster j, in
    units of the grid, clamped; the interval around it has the half-width of the cluster.
    """

    what: ClassVar[str] = "perturbed"
    column: str
    values: ExactNumbers
    """The d distinct values that ``count_values`` gave."""
    membership: Categorical
    """The distribution by which each of the d values draws one of c clusters."""
    start: NDArray[np.int64]
    """Shape (d, c): where the noise is added, in units of the grid."""
    noise: DiscreteLaplace
    """c discrete Laplace distributions, one for each cluster."""
    exponent: int
    """The grid: multiples of 2**exponent."""
    half_width: NDArray[np.int64]
    """Shape (c,), in units of the grid."""
    clamp: tuple[int, int] | None = None
    """Least and largest published value, in units of the grid."""


class RowColumn(ABC):
    """A column of which each row shows a function of its own value; it applies itself.

    It needs no groups and draws nothing; rows stand in the order of what they show.  Another
    package's method hands back its own subclass.
    """

    what: ClassVar[str] = "changed"
    column: str

    @abstractmethod
    def type_of(self, own: pa.DataType) -> pa.DataType:
        """The type of what is shown; raises ``TableError`` where that of the column is wrong."""

    @abstractmethod
    def cells(self, own: pa.Array) -> pa.Array:
        """What n rows show, shape (n,), by their own values; batches come in any order and size."""


Treated = GroupColumn | RowColumn | PermutedColumn | Perturbation
"""What becomes of a column that does not stay as it is."""

TREATMENTS: Registry[Treated] = Registry(
    group="voile.treatments",
    what="a treatment",
    own={
        "recoded": "voile.table.decisions:RecodedColumn",
        "numbers": "voile.table.decisions:NumberColumn",
        "blanked": "voile.table.decisions:BlankedColumn",
        "permuted": "voile.table.decisions:PermutedColumn",
        "perturbed": "voile.table.decisions:Perturbation",
    },
    offers=("what", "cells"),
)


@dataclass(frozen=True, eq=False)
class RedrawnColumn:
    """A column of which each row shows a value that is drawn by its own one.

    ``counted`` are the column, and then those ``within`` whose values draws differ.
    """

    column: str
    within: tuple[str, ...]
    distribution: NDArray[np.int64]
    """Shape (g,): which of the distributions each counted combination draws from."""
    outcomes: Categorical
    """Of the values of the column, by their codes."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The one that is drawn."""
        return (self.column,)

    @property
    def reads(self) -> tuple[str, ...]:
        """What the draws of a row depend on, in the order in which it was counted."""
        return (self.column, *self.within)


@dataclass(frozen=True, eq=False)
class NoisyColumns:
    """Columns of numbers, all of which get noise at once; missing ones stay missing."""

    columns: tuple[str, ...]
    noisy: Callable[[NDArray[np.float64], NDArray[np.uint64], Randomness], NDArray[np.float64]]
    """Of n rows their m numbers (n, m), their words (n,), and by what noise is drawn: the numbers
    that they show, NaN where one is missing."""
    decimals: tuple[int, ...]
    """Of what each column shows; 0 shows whole numbers."""

    @property
    def reads(self) -> tuple[str, ...]:
        """The numbers themselves."""
        return self.columns


@dataclass(frozen=True, eq=False)
class RankedColumns:
    """Columns whose values are dealt out anew by rank, within strata.

    The rows of a stratum are put in an order for each column, by ``scores``; what stands at place i
    of that order gets the value of place ``partners`` (i) among the values of the stratum, in their
    own order.
    """

    columns: tuple[str, ...]
    reads: tuple[str, ...]
    """What was counted, ``columns`` first."""
    place: NDArray[np.int64]
    """Shape (g, m): where the value of each counted combination stands among those of its column;
    -1 leaves the row as it is."""
    stratum: NDArray[np.int64]
    """Shape (g,): from 0."""
    scores: (
        Callable[[NDArray[np.int64], NDArray[np.uint64], Randomness], NDArray[np.float64]] | None
    )
    """Of n rows their combinations (n,) and words (n,): what orders them, (n, m); None: ``place``,
    and equal ones at random."""
    partners: Callable[[NDArray[np.int64], Randomness], NDArray[np.int64]] | None
    """Of the sizes of strata, one behind the other: whose value each place gets; None: its own."""


@dataclass(frozen=True, eq=False)
class ExchangedColumns:
    """Columns whose cells some rows exchange with those of others, whole tuples at a time.

    Rows, or persons or households with all their rows, are counted by what they have in ``reads``;
    of each combination some, drawn at random, get the tuple of another.
    """

    columns: tuple[str, ...]
    reads: tuple[str, ...]
    """What was counted, ``columns`` first."""
    giver: NDArray[np.int64]
    """Shape (e,): the combination whose tuple is shown."""
    first: NDArray[np.int64]
    """Shape (g + 1,): where the givers of each combination begin; the j-th of its rows gets the
    tuple of the j-th giver, and those behind the last keep their own."""


Drawn = RedrawnColumn | NoisyColumns | RankedColumns | ExchangedColumns
"""Columns whose cells are drawn row by row.

Rows of one person or household that agree in what is read are drawn for once, and show the same:
whoever knows which rows are of one learns no more from several."""


@dataclass(frozen=True, eq=False)
class Treatment:
    """A decision on what rows become.

    Columns that are not named stay as they are.  Rows of one group share what recoded columns show,
    and groups that show the same are one.
    """

    columns: tuple[Treated, ...]
    """Published columns; a column is named once."""
    groups: Grouping | None = None
    """None: rows have no groups; then no column is permuted or shows what its group shows."""
    drawn: tuple[Drawn, ...] = ()
    """Columns whose cells are drawn; each by itself."""


@dataclass(frozen=True, eq=False)
class BlockAssignment:
    """A decision on which block each row belongs to.

    ``values`` are those that ``count_values`` gave, perhaps in a finer unit; ``block`` (g,) is the
    number of the block, from 0, of the rows of each pair of value and class that was counted; -1
    leaves them out of the release.
    """

    values: ExactNumbers
    block: NDArray[np.int64]

    def grouping(self, counts: ValueCounts) -> Grouping:
        """The block of each counted pair of value and class; raises ``ValueError``."""
        if counts.of is None or counts.value.shape != self.block.shape:
            msg = "blocks are of the values that were counted in a table"
            raise ValueError(msg)
        return Grouping(counts.of, self.block)


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
    fields: Randomness | None = None
    """By what noise that stays with places is drawn; None: by the randomness of the release."""
    numbered: bool = False
    """Whether trips are published by number, in the order in which they begin."""
    spacings: tuple[float, ...] = (0.0,)
    """Seconds that reports of a trip are apart at least: of these one is chosen for each trip."""
    by_clock: bool = False
    """Whether of each slot of so many seconds the first report is kept, by the clock of the day."""
    at_least: float = 0.0
    """Metres that published positions of a trip are apart at least, one from the one before."""


Charge = Callable[[Sequence["TripAccounts"]], "NDArray[np.int64] | None"]
"""Told what trips cost at most for each spacing, says which of them each trip has; None: the first.

A trip of number -1 is left out.  It may raise; then nothing is drawn."""


class TripAccounts(Protocol):
    """What the published reports of each of t trips cost; private.  All arrays have shape (t,)."""

    @property
    def epsilon(self) -> NDArray[np.float64]:
        """Of independent noise."""

    @property
    def squared_mu(self) -> NDArray[np.float64]:
        """Of Gaussian noise."""

    @property
    def alike(self) -> NDArray[np.int64]:
        """How many reports are priced together, by the distribution of the price."""

    @property
    def reports(self) -> NDArray[np.int64]:
        """How many are published."""

    @property
    def first_row(self) -> NDArray[np.int64]:
        """Where a trip first stands in the input, from 1."""

    @property
    def days(self) -> NDArray[np.int64]:
        """On which day a trip begins, from 1970, UTC."""

    def marks(self, key: bytes) -> NDArray[np.uint64]:
        """64 bits of a keyed pseudorandom function of each trip's id, shape (t,)."""

    def vehicle_marks(self, key: bytes) -> NDArray[np.uint64]:
        """The same of the id of each trip's vehicle; without vehicles each trip is one."""


class _RoadMatcher(Protocol):
    """Finds the road that somebody is on."""

    @property
    def stretches(self) -> int:
        """How many there are."""

    def stretch(
        self, latitude: NDArray[np.float64], longitude: NDArray[np.float64]
    ) -> NDArray[np.int64]:
        """The stretch of road of each position in degrees; -1 for none near it."""


@dataclass(frozen=True, eq=False)
class FlowBounds:
    """Which flows are counted, and how much of a vehicle at most; all of it is public."""

    zoning: Zoning
    hours: Sequence[int]
    """From 1970, on end; or 0 to 23, those of any day."""
    any_day: bool
    trips: int
    """Of a vehicle."""
    roads: _RoadMatcher | None = None
    passages: int = 0
    """Of roads in an hour, of a trip."""


@dataclass(frozen=True, eq=False)
class FlowCounts:
    """Exact counts, bounded by vehicle; private."""

    between: NDArray[np.int64]
    """Shape (hours, zones, zones): trips by hour, origin and destination."""
    on_roads: NDArray[np.int64] | None
    """Shape (hours, stretches): trips that were on a stretch of road in an hour."""
    notices: tuple[str, ...]
    trips: int
    left_out: int
    """Trips that count for nothing."""


@dataclass(frozen=True, eq=False)
class Relocated:
    """The reports as they are published, and what is private about them."""

    table: PublishedTable
    trips: TripAccounts
    left_out: int
    """Reports that are not published."""
    thinned: int
    """Of these, such as came too soon after another one."""
    near: int
    """Of these, such as were shown too near to the one before."""
    notices: tuple[str, ...]
    """What was done with reports that are out of the ordinary, for the custodian."""
