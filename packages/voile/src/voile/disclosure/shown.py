"""What every kind offers that says how a column is shown.

Whoever reads a release asks a kind, and never which one it is: what of a cell fits a value that
somebody knows (``evidence``), what a cell stands for and how much of the domain that leaves open
(``covered``), what the cells contradict (``breaches``), and what the private original shows of
them (``against``).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Self

from voile.disclosure.known import CheckedCells, DistinctCells, Domain, Known
from voile_base.values.value import Value

if TYPE_CHECKING:
    from decimal import Decimal

    from voile.disclosure.covering import Covered
    from voile.disclosure.evidence import Evidence
    from voile.disclosure.original import ComparedColumn, OriginalSide
    from voile.disclosure.stated_noise import StatedNoise

__all__ = ["ShownColumn"]


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
