"""What a person or household contributes at most, where neighbouring tables differ in one.

Differentially private methods meet persons with several rows by ``rows_per_person = m``: at most m
rows of each person (of each household, where the plan names them) take part, drawn by a keyed
function (``voile.table.private``), and the rest is left out.

Claim: let tables be neighbours where one has all rows of one more person (or other values in all
rows of one), however many these are.  What a mechanism publishes of at most m rows of each person
is as private for such neighbours as it is for tables that differ by m rows.  Proof: which rows of
somebody else take part does not depend on that person's, so given all other draws the bounded
tables differ by at most m rows, and a mixture over the draws keeps an (epsilon, delta).  Where
values are replaced, the rows of the person that take part are any m of them with equal chances on
both sides, whatever their values, so that both draws can be taken to be the same.

How many rows a person has and how many were left out stays private: m alone is published.

What guarantees say of those who are protected: rows, persons of several rows, households.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal
from typing import Annotated, Literal, Self

from pydantic import Field

from voile.dp.accounting import PrivacyEvent
from voile.release.release import LeftOpen, Publication
from voile.schema.budget import Change, Neighbours, neighbours_of
from voile.schema.plan import Plan
from voile.schema.roles import EACH_ROW, Protected
from voile.table.domains import TableCounts
from voile.table.private import PrivateTable
from voile_base.errors import PlanError
from voile_base.ondemand import dataclass
from voile_base.randomness import Randomness

__all__ = [
    "EACH_PERSON_A_ROW",
    "Contribution",
    "RowsPerPerson",
    "assumed_of_units",
    "known_rows",
    "refuse_carrying",
    "stated_unit",
]


def stated_unit(protected: Protected) -> Literal["person", "household"] | None:
    """Who is counted as a claim states it; None where each row is another person."""
    return None if protected == "row" else protected


def assumed_of_units(protected: Protected) -> str:
    """What must be true of the rows for a promise about persons."""
    if protected == "row":
        return "each person is one row"
    apart = f"the plan's column of {protected}s tells them apart: all rows of a {protected} name it"
    if protected == "household":
        return f"{apart}, and a household holds all rows of its persons"
    return apart


def known_rows(protected: Protected) -> str:
    """Against whom counts of persons hold, and against whom they do not."""
    return LeftOpen(
        f"who knows a {protected} knows the quasi-identifiers of one of its rows: somebody who "
        f"knows several can intersect their groups on what stays the same for the {protected}, and "
        "nothing is promised of what that leaves"
    )


RowsPerPerson = Annotated[int, Field(ge=1)]


@dataclass(frozen=True)
class Contribution:
    """How many rows of a person or household take part in a release."""

    protected: Protected = "row"
    """Who is protected."""
    rows: int = 1
    """m; 1 where each row is another person."""
    beyond: int = 0
    """Private: rows that are left out."""

    @classmethod
    def of(cls, table: PrivateTable, asked: int | None, method: str) -> Self:
        """What a plan says of a table.

        Raises ``PlanError`` where it names no persons to bound, or persons that have several rows
        and no bound.
        """
        plan = table.plan
        protected = plan.roles.protected
        if plan.roles.unit is None:
            if asked is not None:
                msg = (
                    f"[method] rows_per_person = {asked}: the plan names no column that tells "
                    'persons apart. Say which it is, person = "COLUMN" in [roles], or leave '
                    "rows_per_person out, if each row is another person"
                )
                raise plan.error(msg)
            return cls()
        beyond = table.rows_beyond(asked or 1)
        if asked is None and beyond:
            msg = (
                f"[method] rows_per_person is missing: some {protected}s have several rows, and "
                f"{method} hides what so many of them change. Say rows_per_person = m in [method]: "
                f"at most m rows of each {protected} then take part, the noise is that of m rows, "
                f'and the others are left out. Or say person = "{EACH_ROW}" in [roles], if a '
                "promise about rows is what you mean"
            )
            raise plan.error(msg)
        return cls(protected, asked or 1, beyond)

    @classmethod
    def by_plan(cls, plan: Plan, asked: int | None) -> Self:
        """What a plan says, whatever rows there are: how many persons have tells about them.

        Raises ``PlanError``.
        """
        protected = plan.roles.protected
        if protected == "row" and asked is not None:
            msg = (
                f"[method] rows_per_person = {asked}: the plan names no column that tells persons "
                'apart. Say which it is, person = "COLUMN" in [roles], or leave rows_per_person out'
            )
            raise PlanError(msg)
        if protected != "row" and asked is None:
            msg = (
                f"[method] rows_per_person is missing: say how many rows of each {protected} take "
                "part at most; 1 where each has one row"
            )
            raise PlanError(msg)
        return cls(protected, asked or 1)

    def left_out(self, counts: TableCounts) -> list[str]:
        """What the custodian is told of rows that were not counted; private."""
        notices = []
        if counts.left_out:
            notices.append(
                "rows left out, because a value is missing or not in the domain of its column "
                f'(list "other", or say nulls = "category"): {counts.left_out:,}'
            )
        if counts.beyond:
            notices.append(
                f"rows that did not take part, because at most {self.rows:,} of each "
                f"{self.protected} do (rows_per_person): {counts.beyond:,}"
            )
        return notices

    def bounded(self, table: PrivateTable, randomness: Randomness) -> PrivateTable:
        """The rows that take part."""
        return table.bounded(self.rows, randomness)

    @property
    def stated(self) -> int | None:
        """The bound as a claim states it; None where each row is another person."""
        return None if self.protected == "row" else self.rows

    def replaced(self, spent: Mapping[str, Decimal]) -> tuple[PrivacyEvent, ...]:
        """What mechanisms spend, each so much on a row, where the rows of somebody are replaced."""
        neighbours = self.neighbours("replace")
        return tuple(
            PrivacyEvent(mechanism, self.rows * epsilon, neighbours=neighbours)
            for mechanism, epsilon in spent.items()
            if epsilon
        )

    def neighbours(self, change: Change) -> Neighbours:
        """Which tables are neighbours."""
        return neighbours_of(change, self.protected)

    @property
    def assumed(self) -> str:
        """What must be true of the rows, and of other releases."""
        return (
            f"{assumed_of_units(self.protected)}, and no other published data is derived from the "
            "same rows"
        )

    def told(self, publication: Publication, rows: int) -> Publication:
        """A publication of the rows that take part, of so many, with what its custodian is told."""
        if not self.beyond:
            return publication
        private = publication.private
        notice = (
            f"rows that did not take part, because at most {self.rows:,} of each {self.protected} "
            f"do (rows_per_person): {self.beyond:,} of {rows:,}"
        )
        told = replace(
            private,
            rows_in=private.rows_in + self.beyond,
            suppressed=private.suppressed + self.beyond,
            notices=(*private.notices, notice),
        )
        return replace(publication, private=told)

    @property
    def somebody(self) -> str:
        """Whose coming and going is hidden."""
        return "one row" if self.protected == "row" else f"one {self.protected} with all its rows"

    @property
    def values(self) -> str:
        """Whose values are hidden."""
        if self.protected == "row":
            return "the values of one row"
        return f"the values in all rows of one {self.protected}"

    @property
    def taking_part(self) -> str:
        """How many rows take part, as a clause that ends a sentence; nothing for single rows."""
        if self.protected == "row":
            return ""
        rows = "row takes" if self.rows == 1 else "rows take"
        return (
            f"; of the rows of each {self.protected} at most {self.rows:,} {rows} part, drawn at "
            "random, and the others are left out of the release"
        )


EACH_PERSON_A_ROW = Contribution()


def refuse_carrying(rows_per_person: int | None) -> None:
    """Raise ``PlanError`` where rows of persons are to wait for the next pool.

    Which rows wait follows from whose were published beside them: with or without one person,
    rows of others wait or not, and of these again at most m may take part.
    """
    if rows_per_person is not None:
        msg = (
            'suppressed = "carry" cannot be had with rows_per_person: which rows would wait then '
            "depends on the rows of several persons, and no promise for one covers it; leave one "
            "of the two out"
        )
        raise PlanError(msg)
