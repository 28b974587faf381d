"""What every kind offers that says how a column is shown.

Whoever reads a release asks a kind, and never which one it is: what of a cell fits a value that
somebody knows (``evidence``), what a cell stands for and how much of the domain that leaves open
(``covered``), what the cells contradict (``breaches``), and what the private original shows of
them (``against``).

What the private original shows of a column that is published: a kind asks, and is answered.

The comparisons themselves stand in ``voile.release.recounting``, where the rows are.

The kinds of showing a column, by the names that documents give them.

Another package adds a kind by an entry point of the group ``voile.shown``.

What a release says of every column: the one value that all who read it dispatch on.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Literal, Protocol, Self

from pydantic import Field, model_validator

from voile.disclosure.evidence import CheckedCells, DistinctCells, Domain, Known
from voile_base.ondemand import dataclass
from voile_base.registry import Registry
from voile_base.values.value import ByKind, Exact, Value

if TYPE_CHECKING:
    from decimal import Decimal

    from voile.disclosure.covering import Covered
    from voile.disclosure.evidence import Evidence
    from voile.disclosure.noise import StatedNoise
    from voile.schema.coding import Coding

__all__ = [
    "SHOWN",
    "ComparedColumn",
    "Disclosure",
    "GroupNumbering",
    "OriginalSide",
    "Shown",
    "ShownColumn",
]


class ShownColumn(Value):
    """How a column of a table is shown: a public statement, which a release carries."""

    kind: str
    """The name by which documents tell kinds apart, and by which a kind is registered."""

    @property
    def promises(self) -> bool:
        """Whether its cells are checked before a release leaves its publisher, too."""
        return False

    def breaches(self, cells: CheckedCells, confidence: Decimal | None = None) -> Iterator[str]:
        """What the cells contradict of what is stated, in sentences.

        ``confidence`` is that of intervals, where the release states it.  Checked before
        publication where the kind ``promises``, and whenever a release is recounted.
        """
        del cells, confidence
        return iter(())

    def against(self, name: str, compare: OriginalSide) -> ComparedColumn | None:
        """What the private original shows of a column; None where nothing can be compared."""
        del name, compare
        return None

    @property
    def behind(self) -> ShownColumn:
        """How the column is shown behind its codings, where it has any; else itself."""
        return self

    @property
    def as_it_is(self) -> bool:
        """Whether each row shows its own value."""
        return False

    @property
    def permuted(self) -> bool:
        """Whether values stand in rows of others of their group: see ``shuffled``."""
        return False

    @property
    def graded(self) -> bool:
        """Whether cells fit known values more or less, and not simply or not at all.

        Whose a row is, is then a belief, and never told by what it shows.
        """
        return False

    @property
    def noise(self) -> StatedNoise | None:
        """The Laplace noise on its numbers, where it is noise that has a stated distribution."""
        return None

    @property
    def made_up(self) -> float:
        """The share of the rows that are nobody's, where most of them are; else 0."""
        return 0.0

    @property
    def needs_hierarchy(self) -> bool:
        """Whether only the hierarchy of the plan tells what its texts stand for."""
        return False

    @property
    def weighed(self) -> bool:
        """Whether a cell by itself tells how well it fits a known value; see ``evidence``."""
        return True

    @property
    def coarse(self) -> bool:
        """Whether cells may show less than the values themselves, though nothing that is false."""
        return False

    @property
    def mixes_missing(self) -> bool:
        """Whether a cell that shows a missing value may stand for others, too."""
        return False

    @property
    def set_refusal(self) -> str | None:
        """Why its cells stand for no set of values, as a clause; None where they do."""
        return None

    @property
    def size_refusal(self) -> str | None:
        """Why nobody can tell how much of the domain its cells leave open; None where one can."""
        return None

    @property
    def size_basis(self) -> str | None:
        """By what the sizes of cells that stand for no set are told, as a noun; None for others."""
        return None

    @property
    def altered(self) -> bool:
        """Whether cells are not simply the values of their rows."""
        return self.coarse or self.set_refusal is not None

    def published(self, name: str) -> tuple[str, ...]:
        """The columns of the release that show a column of the table, in their order."""
        return (name,)

    def with_intervals_as_text(self) -> Self:
        """The same with each interval in one column of texts."""
        return self

    def coded(self, coding: Coding) -> ShownColumn | None:
        """How the column is shown once its cells are coded; None where nobody could read them."""
        del coding
        return None

    def treated(self, then: ShownColumn) -> ShownColumn | None:
        """How a column is shown that a further method shows as ``then``; None as above."""
        return self if then.as_it_is else None

    @abstractmethod
    def evidence(self, known: Known, cells: DistinctCells) -> Evidence:
        """What each of g cells says of each of t known values.

        Raises ``TableError`` where the cells are not what is stated, ``InputError`` where what is
        known does not fit them.
        """

    def notes(self, known: Known, cells: DistinctCells) -> list[str]:
        """What could not be compared, in sentences."""
        del known, cells
        return []

    @abstractmethod
    def covered(self, domain: Domain, cells: DistinctCells) -> Covered:
        """What each cell stands for among the values of a column.

        Raises ``TableError`` where nothing explains a cell.
        """


@dataclass(frozen=True)
class ComparedColumn:
    """What came of looking at a column; private."""

    holds: bool | None
    """None: it cannot be told."""
    what: str
    """A clause that names the column."""


class OriginalSide(Protocol):
    """The rows of a release beside those of the original, as a kind compares a column of both."""

    def values(self, name: str) -> ComparedColumn:
        """Whether the original holds each value at least as often."""

    def permuted(self, name: str) -> ComparedColumn:
        """The same, and whether values stand in other rows than the original has them in."""

    def noisy(self, name: str, shown: StatedNoise) -> ComparedColumn:
        """Whether more values are those of the original than noise leaves."""

    def moved(
        self, name: str, coordinate: Literal["latitude", "longitude"], decimals: int
    ) -> ComparedColumn:
        """Whether positions are where they were; on a grid of so many decimals of a degree."""

    def not_compared(self, name: str, why: str) -> ComparedColumn:
        """That nothing was compared, and why, as a clause."""


SHOWN: Registry[ShownColumn] = Registry(
    group="voile.shown",
    what="a kind of showing",
    own={
        "exact": "voile.disclosure.exact:Exact",
        "generalized": "voile.disclosure.interval:Generalized",
        "interval": "voile.disclosure.interval:Interval",
        "set": "voile.disclosure.interval:ValueSet",
        "noisy": "voile.disclosure.replaced:Noisy",
        "perturbed": "voile.disclosure.foreign:Perturbed",
        "permuted": "voile.disclosure.exact:Permuted",
        "blanked": "voile.disclosure.exact:Blanked",
        "averaged": "voile.disclosure.replaced:Averaged",
        "coded": "voile.disclosure.exact:Coded",
        "noise-added": "voile.disclosure.masked:NoiseAdded",
        "randomized": "voile.disclosure.masked:Randomized",
        "rank-swapped": "voile.disclosure.masked:RankSwapped",
        "shuffled": "voile.disclosure.masked:Shuffled",
        "swapped": "voile.disclosure.masked:Swapped",
        "altered": "voile.disclosure.foreign:Altered",
        "typical": "voile.disclosure.foreign:Typical",
        "moved": "voile.disclosure.replaced:Moved",
        "remaining": "voile.disclosure.replaced:Remaining",
        "numbered": "voile.disclosure.exact:Numbered",
        "withheld": "voile.disclosure.exact:Withheld",
        "label": "voile.disclosure.counted:Label",
        "synthetic": "voile.disclosure.counted:Synthetic",
        "aggregate": "voile.disclosure.counted:Aggregate",
    },
    offers=("model_fields", "published", "evidence", "covered", "breaches"),
)


Shown = Annotated[ShownColumn, ByKind(SHOWN)]
"""How a column is shown: one of the kinds of the registry."""


class GroupNumbering(Value):
    """The groups of rows that a release numbers."""

    column: str
    """The published column with the number of each row's group."""
    made: Literal["alike", "clusters", "blocks"]
    """What makes a group: rows that show the same in the columns ``by``; clusters, each of all rows
    of some combinations of values in them; blocks, each of a range of values, of which several may
    hold rows of one value."""
    by: Annotated[tuple[str, ...], Field(min_length=1)]
    """Columns of the table that decide the group of a row."""


class Disclosure(Value):
    """How each column of a table is shown by a release; all of it is public.

    Raises pydantic's ``ValidationError``, a ``ValueError``, where a published column would show two
    columns of the table, or values are permuted within groups that have no numbers.
    """

    columns: Mapping[str, Shown]
    """By name of the table's column, or of one that a method makes, in published order."""
    groups: GroupNumbering | None = None
    """None: rows have no numbers of groups."""
    sampled: Annotated[Exact, Field(gt=0, lt=1)] | None = None
    """The probability with which each row of the table was drawn to be published; None: 1."""

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        shown = self.published
        twice = sorted({name for name in shown if shown.count(name) > 1})
        if twice:
            msg = f"the published column {twice[0]!r} is stated to show several columns"
            raise ValueError(msg)
        if self.permuted and self.groups is None:
            msg = "columns are permuted within groups, and no groups are stated"
            raise ValueError(msg)
        return self

    @property
    def published(self) -> tuple[str, ...]:
        """The columns of the release: the numbers of groups, then what shows each column."""
        groups = () if self.groups is None else (self.groups.column,)
        shown = (column for name in self.columns for column in self.columns_of(name))
        return (*groups, *shown)

    def columns_of(self, name: str) -> tuple[str, ...]:
        """The published columns that show a column of the table; none for one that it lacks."""
        shown = self.columns.get(name)
        return () if shown is None else shown.published(name)

    def owner(self, column: str) -> str | None:
        """The column of the table that a published column shows; None for numbers of groups."""
        return self._owners.get(column)

    @property
    def permuted(self) -> frozenset[str]:
        """The columns whose values were permuted within groups."""
        return frozenset(n for n, shown in self.columns.items() if shown.permuted)

    @property
    def made_up(self) -> float:
        """The share of rows that are nobody's, where most of them are; else 0."""
        return max((one.made_up for one in self.columns.values()), default=0.0)

    @property
    def probability(self) -> float:
        """The probability with which a row of the table is among those that were published from."""
        return 1.0 if self.sampled is None else float(self.sampled)

    def with_intervals_as_text(self) -> Self:
        """The same with each interval in one column of texts."""
        columns = {n: shown.with_intervals_as_text() for n, shown in self.columns.items()}
        return self.model_copy(update={"columns": columns})

    def without(self, names: Collection[str]) -> Self:
        """The same without some columns of the table."""
        columns = {name: shown for name, shown in self.columns.items() if name not in names}
        return self.model_copy(update={"columns": columns})

    @cached_property
    def _owners(self) -> dict[str, str]:
        return {column: name for name in self.columns for column in self.columns_of(name)}
