"""k, l and t: how many rows show the same, and what their groups tell of sensitive columns.

They are counted on the published rows, whoever made them.  Where persons have several rows, nobody
sees whose rows are published: k, l and t are then what the release promises of persons, which its
publisher counted with the persons beside, and a file that promises nothing has no figure.  A file
that shows people several times hides nobody better for it: where it has more rows than the
original, its groups count for so many fewer persons, and rows that repeat others count for none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import ceil
from typing import Annotated, Literal

from pydantic import Field

from voile.audit.record import AuditRecord
from voile.policy.case import Case
from voile.policy.criteria import PolicyCriterion, Share
from voile.policy.ruling import MeasuredFigure, Ruling, ShownRows, Tick
from voile.release.claims import GroupClaim

__all__ = ["ClosenessCriterion", "DiversityCriterion", "GroupSize"]


class GroupSize(PolicyCriterion):
    """At least so many persons show the same in all quasi-identifiers: k."""

    kind: Literal["group-size"] = "group-size"
    least: Annotated[int, Field(ge=1)]

    def rulings(self, case: Case, ticks: tuple[Tick, ...]) -> Iterator[Ruling]:
        """One: the smallest group."""
        del ticks
        asks = f"at least {self.least:,} persons share their quasi-identifiers (k)"
        yield Ruling.at_least(self.kind, asks, _smallest(case), self.least)


class DiversityCriterion(PolicyCriterion):
    """At least so many different sensitive values in each group: distinct l-diversity."""

    kind: Literal["diversity"] = "diversity"
    least: Annotated[int, Field(ge=1)]
    column: str | None = None
    """A published column; None: each sensitive one."""

    def rulings(self, case: Case, ticks: tuple[Tick, ...]) -> Iterator[Ruling]:
        """One for each sensitive column."""
        del ticks
        asks = f"at least {self.least:,} different values in each group (l)"
        for found in _of_columns(case, self.column, lambda rows: rows.least_diverse, _values):
            yield Ruling.at_least(self.kind, asks, found, self.least)


class ClosenessCriterion(PolicyCriterion):
    """Sensitive values of a group are distributed nearly as in all rows: t-closeness."""

    kind: Literal["closeness"] = "closeness"
    most: Share
    column: str | None = None
    """A published column; None: each sensitive one."""

    def rulings(self, case: Case, ticks: tuple[Tick, ...]) -> Iterator[Ruling]:
        """One for each sensitive column."""
        del ticks
        asks = f"groups at most {self.most} from all rows (t)"
        for found in _of_columns(case, self.column, lambda rows: rows.furthest, _distance):
            yield Ruling.at_most(self.kind, asks, found, float(self.most))


def _smallest(case: Case) -> MeasuredFigure | str:
    promised = [claim for claim in case.claims if isinstance(claim, GroupClaim)]
    units = next((claim.unit for claim in promised if claim.unit), None)
    if units is None and case.whose == "row":
        return _of_persons(case.rows.smallest_group(), case)
    whose = units or case.whose
    of_units = [claim for claim in promised if claim.unit]
    if case.release is None or not of_units:
        return f"{whose}s have several rows, and nothing is promised of how many show the same"
    for claim in of_units:
        for breach in claim.breaches(case.release):
            return f"the release does not hold what it promises: {breach}"
    least = min(claim.k for claim in of_units)
    return MeasuredFigure.exactly(
        least, f"{whose}s, as the release promises: rows do not show whose"
    )


def _values(case: Case, claim: GroupClaim, column: str) -> float | None:
    """How many values of as many persons are promised, by l of each kind."""
    del case
    return None if claim.l is None or column not in claim.l.columns else ceil(claim.l.value)


def _distance(case: Case, claim: GroupClaim, column: str) -> float | None:
    """The distance that is promised; an equal one is no less than one along an order."""
    if claim.t is None or column not in claim.t.columns:
        return None
    numbers = case.rows.table.kinds()[column] in {"integer", "decimal", "single"}
    fits = claim.t.kind == "equal" or (numbers and claim.t.kind == "ordered")
    return float(claim.t.value) if fits else None


def _promised(
    case: Case, column: str, figure: Callable[[Case, GroupClaim, str], float | None]
) -> MeasuredFigure | str:
    """What a release promises of a column of persons with several rows; why there is no figure."""
    for claim in case.claims:
        if not isinstance(claim, GroupClaim) or claim.unit is None or case.release is None:
            continue
        found = figure(case, claim, column)
        if found is not None:
            for breach in claim.breaches(case.release):
                return f"the release does not hold what it promises: {breach}"
            why = f"of {column!r} by {claim.unit}s, as the release promises: rows do not show whose"
            return MeasuredFigure.exactly(found, why)
    return f"{case.whose}s have several rows, and nothing is promised of {column!r} in their groups"


def _of_persons(found: MeasuredFigure | str, case: Case) -> MeasuredFigure | str:
    """The same of persons, where a file of another make has more rows than there are persons."""
    if isinstance(found, str) or not isinstance(case.record, AuditRecord):
        return found
    record, least, why = case.record, int(found.value), found.why
    rows, persons = record.rows["released"], record.rows["original"]
    if rows > persons:
        why = f"{found.why} has {least:,}, where {rows:,} rows show {persons:,} persons"
        least = least * persons // rows
    if record.fewest is not None and record.fewest < least:
        why = f"{found.why} has {int(found.value):,}, and {record.repeated:,} rows repeat others"
        return MeasuredFigure.exactly(record.fewest, why, of_original=True)
    return found if rows <= persons else MeasuredFigure.exactly(least, why)


def _of_columns(
    case: Case,
    column: str | None,
    measure: Callable[[ShownRows], Callable[[str], MeasuredFigure | str]],
    promised: Callable[[Case, GroupClaim, str], float | None],
) -> Iterator[MeasuredFigure | str]:
    """A figure of each sensitive column, or of one; why there is none."""
    names = case.rows.sensitive if column is None else (column,)
    if not names:
        yield "no published column is sensitive; say which in the plan"
    elif case.whose != "row":
        yield from (_about(_promised(case, name, promised), name) for name in names)
    else:
        yield from (_about(measure(case.rows)(name), name) for name in names)


def _about(found: MeasuredFigure | str, name: str) -> MeasuredFigure | str:
    """A figure that says of which column it is."""
    return found if isinstance(found, str) else replace(found, columns=(name,))
