"""What every publisher offers, whatever its method."""

from __future__ import annotations

from typing import ClassVar, Literal, Protocol

from voile.publish.capabilities import Capabilities
from voile.release.history import History
from voile.release.payment import Pay, unaccounted
from voile.release.release import Publication, Release
from voile.release.trips import FleetTerms
from voile.table.private import PrivateTable
from voile_base.errors import PlanError
from voile_base.randomness import Randomness

__all__ = [
    "Publisher",
    "SingleRelease",
    "Suppressed",
    "refuse_ranking",
    "refuse_telling_quasi_identifiers",
]

Suppressed = Literal["drop", "carry"]
"""What becomes of rows that are not published: nothing, or the next pool takes them up."""


class Publisher(Protocol):
    """An immutable object whose fields are the parameters of its method, already validated."""

    capabilities: ClassVar[Capabilities]
    """What the method can do, whatever its parameters."""

    @property
    def series(self) -> str | None:
        """The name that ties the releases of one growing table together, if they are tied."""

    @property
    def record_key(self) -> str | None:
        """The column that identifies a row across versions, if one does."""

    @property
    def carries(self) -> bool:
        """Whether rows that the method leaves out are to join the next pool of the data set."""

    @property
    def ranks(self) -> bool:
        """Whether the method asks a table for its best rows first, and for none of the others."""

    @property
    def trip_budget(self) -> FleetTerms | None:
        """What each trip of a fleet may spend over all releases, if trips have budgets."""

    def get_ready(self) -> None:
        """Do what needs no table, such as loading compiled code, while the table is read."""

    def prepare(
        self,
        table: PrivateTable,
        randomness: Randomness,
        history: History | None,
        pay: Pay = unaccounted,
    ) -> Publication:
        """Make a release, and with it what must stay private and what a ledger must know.

        ``history`` is that of the series, None before its first release and without a series.  A
        method that spends calls ``pay`` once, before its first draw and after all that it refuses
        for other reasons than its draws.
        """

    def publish(self, table: PrivateTable, randomness: Randomness | None = None) -> Release:
        """Make a single release that no ledger knows of."""


class SingleRelease:
    """What publishers share whose releases belong to no series, or need not.

    Releases of one data set are tied by their budget, if it has one.
    """

    capabilities: ClassVar[Capabilities] = Capabilities()

    @property
    def series(self) -> str | None:
        """No name ties releases together, unless a method offers it."""
        return None

    @property
    def record_key(self) -> str | None:
        """No column identifies a row, unless a method offers it."""
        return None

    @property
    def carries(self) -> bool:
        """Whether rows that are left out join the next pool: not unless a method offers it."""
        return False

    @property
    def ranks(self) -> bool:
        """All rows are asked for, unless a method is about the best of them."""
        return False

    @property
    def trip_budget(self) -> FleetTerms | None:
        """Trips have no budgets, unless a method publishes trips."""
        return None

    def get_ready(self) -> None:
        """Do what needs no table while a table is read."""

    def prepare(
        self,
        table: PrivateTable,
        randomness: Randomness,
        history: History | None = None,
        pay: Pay = unaccounted,
    ) -> Publication:
        """Make a release, and with it what must stay private and what a ledger must know."""
        raise NotImplementedError

    def publish(self, table: PrivateTable, randomness: Randomness | None = None) -> Release:
        """Make a single release that no ledger knows of; see ``prepare``.

        Raises ``PlanError`` for a series, which needs a ledger: use ``voile.make_release``.
        """
        if self.series:
            msg = "a series needs a ledger; use voile.make_release(..., ledger=...)"
            raise PlanError(msg)
        return self.prepare(table, randomness or Randomness.secure()).release


def refuse_telling_quasi_identifiers(table: PrivateTable) -> None:
    """Raise ``PlanError`` for names, numbers and positions, of a method that shows them exactly.

    A plan without a method is a program's own: who calls a publisher by hand is asked nothing.
    """
    if table.plan.method is not None:
        table.refuse_telling_quasi_identifiers()


def refuse_ranking(table: PrivateTable, method: str) -> None:
    """Raise ``PlanError`` where a plan names ranking columns and its method does not rank.

    They would be published as they are, though the plan asks for ranges.
    """
    if table.plan.roles.ranking:
        msg = (
            f'[roles] ranking is of use for method "ranking" alone, not for {method}; give these '
            "columns another role"
        )
        raise PlanError(msg)
