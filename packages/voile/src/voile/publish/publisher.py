"""What every publisher offers, whatever its method.

What a method can do, as one value that its class declares, and its card for people who choose.

Commands, plans and Studio ask a class this and nothing else; whatever depends on the parameters of
one release (its series, its budget) is asked of the publisher.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol, Self

from voile.release.history import History
from voile.release.release import Pay, Publication, Release, unaccounted
from voile.release.trips import FleetTerms
from voile.schema.hierarchy.forms import Postcodes
from voile.schema.plan import Plan
from voile.table.private import PrivateTable
from voile_base.errors import PlanError
from voile_base.ondemand import dataclass
from voile_base.randomness import Randomness

if TYPE_CHECKING:
    from voile.proposal.writing import MethodProposal

__all__ = [
    "Capabilities",
    "MethodCard",
    "Parameter",
    "Publisher",
    "SingleRelease",
    "Suppressed",
    "refuse_ranking",
    "refuse_telling_quasi_identifiers",
    "refuse_whole_postcodes",
]


@dataclass(frozen=True)
class Parameter:
    """A parameter of a method that Studio asks for."""

    name: str
    label: str
    offered: tuple[str, ...]
    """Values to tick; others may be typed."""
    tried: tuple[str, ...]
    """Those that are ticked where nobody says others."""
    hint: str
    needed: bool = True
    sets: bool = False
    """Whether it takes sets of published columns, and no numbers."""
    in_series: bool = True
    """Whether a series of the method keeps it."""


@dataclass(frozen=True)
class MethodCard:
    """One method in plain words: what it promises, what it costs, and when it is the wrong one."""

    name: str
    title: str
    promises: str
    costs: str
    not_when: str
    parameters: tuple[Parameter, ...]
    errors: Callable[[float, int], str] | None = None
    """How far counts are off at an epsilon and a number of published columns, in words."""


@dataclass(frozen=True, kw_only=True)
class Capabilities:
    """What a method can do; what is left out says the least."""

    persons: bool = False
    """Whether what is promised is promised of persons or households with several rows.

    A plan that names them is refused otherwise."""
    trips: bool = False
    """Whether what is published are the reports of trips."""
    any_rows: bool = False
    """Whether nothing about rows is refused, so that a table is read and not bound to its plan."""
    exact_quasi_identifiers: bool = False
    """Whether quasi-identifiers are published exactly, and must tell nobody by themselves."""
    exact_kept: bool = False
    """Whether columns to keep are published row by row as they are, for rows of the table.

    A rehearsal then gives rows their numbers, by which right guesses are counted."""
    followed: bool = False
    """Whether further steps of a chain may follow: what it leaves are rows of the table."""
    no_criteria: str = "it makes no groups of rows that share what they show"
    """Why criteria cannot be asked of it, where it has no such parameter; as the next two."""
    no_series: str = (
        "what its releases tell together is bounded by the budget of their data set, with [budget]"
    )
    rows_in_series: bool = False
    """Whether its series follow one row of each person, and refuse plans that name persons."""
    one_level: Mapping[str, str] = field(default_factory=dict)
    """Parameters by which all rows show each column in equal detail; empty: none are needed."""
    leave_at_once: str = ""
    """The parameter that says how many rows leave a group of a series together; empty: none."""
    no_rows_per_person: str = (
        "it is not differentially private: where it counts persons, all their rows take part"
    )
    proposal: MethodProposal | None = None
    """What ``voile plan`` proposes of the method; None: it proposes another."""
    card: MethodCard | None = None
    """What Studio says of the method; None: it does not offer it."""

    def reason_without(self, parameter: str) -> str:
        """Why the method has no criteria, series or rows_per_person, as a clause."""
        reasons: Mapping[str, str] = {
            "criteria": self.no_criteria,
            "series": self.no_series,
            "rows_per_person": self.no_rows_per_person,
        }
        return reasons[parameter]


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

    def following(self, earlier: Sequence[Path] | None) -> Publisher:
        """Itself, as it follows the releases of its data set that are found, the newest first.

        None: nothing accounts for them.
        """

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

    def following(self, earlier: Sequence[Path] | None) -> Self:
        """Itself: what was published before is of no use, unless a method begins with it."""
        del earlier
        return self

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


def refuse_whole_postcodes(plan: Plan, method: str) -> None:
    """Raise ``PlanError`` where a method shows values of columns that the plan calls postcodes."""
    for name in plan.roles.quasi_identifiers:
        declared = plan.columns.get(name)
        if declared is not None and isinstance(declared.hierarchy, Postcodes):
            msg = (
                f"[columns.{name}] postcode says that no whole postcode is published, and {method} "
                'publishes values as they stand; take method "generalization", or give the file a '
                "column of districts in its place"
            )
            raise plan.error(msg)
