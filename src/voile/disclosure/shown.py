"""What every kind offers that says how a column is shown."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import TYPE_CHECKING, Self

from voile.disclosure.known import Cells, Domain, Known
from voile.schema.hierarchy.generalized import DistinctValues
from voile.values.value import Value

if TYPE_CHECKING:
    from voile.disclosure.covering import Covered
    from voile.disclosure.evidence import Evidence

__all__ = ["ShownColumn"]


class ShownColumn(Value):
    """How a column of a table is shown: a public statement, which a release carries."""

    kind: str
    """The name by which documents tell kinds apart."""

    @property
    def promises(self) -> bool:
        """Whether something of its cells can be checked: see ``breaches``."""
        return False

    def breaches(self, column: str, values: DistinctValues) -> Iterator[str]:
        """What the distinct values of a published column contradict, in sentences."""
        del column, values
        return iter(())

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
    def evidence(self, known: Known, cells: Cells) -> Evidence:
        """What each of g cells says of each of t known values.

        Raises ``TableError`` where the cells are not what is stated, ``InputError`` where what is
        known does not fit them.
        """

    def notes(self, known: Known, cells: Cells) -> list[str]:
        """What could not be compared, in sentences."""
        del known, cells
        return []

    @abstractmethod
    def covered(self, domain: Domain, cells: Cells) -> Covered:
        """What each cell stands for among the values of a column.

        Raises ``TableError`` where nothing explains a cell.
        """
