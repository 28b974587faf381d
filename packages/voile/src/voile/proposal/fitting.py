"""What fits badly between a whole table and a plan: columns alone, and who its persons are.

Columns are held against what the plan says of them by the engine (``table.profile``).  Here is
added what only the table as a whole tells: identifiers that repeat, columns that single out rows,
digits that the plan leaves to be numbers though they look like names of groups, persons whom it
does not name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from voile.proposal.columns import ColumnProposal
from voile.proposal.whole import Proposal
from voile.schema.names import UNORDERED
from voile.schema.persons import Occurrences
from voile.schema.plan import ColumnPlan, Plan
from voile.table.profile import Inspected, PlanDoubt

__all__ = ["misfits"]


def misfits(
    table: Inspected,
    plan: Plan,
    proposal: Proposal,
    *,
    bounds_rows: bool = False,
    exact_quasi_identifiers: bool = False,
) -> Sequence[PlanDoubt]:
    """Everything that fits badly, refusals first, then by column.

    Of the plan's method ``bounds_rows`` says that it takes ``rows_per_person``, and
    ``exact_quasi_identifiers`` that it publishes these exactly.
    """
    order = {name: place for place, name in enumerate(table.columns)}
    found = [
        *table.findings(plan),
        *_telling_apart(table, plan),
        *(table.published_as_ids(plan, ("quasi_identifiers",)) if exact_quasi_identifiers else ()),
        *table.doubts_of_units(plan),
        *_rows_per_person(table, plan, bounds_rows=bounds_rows),
        *(one for column in proposal.columns for one in _looks(column, plan)),
    ]
    return sorted(found, key=lambda one: (not one.refused, order.get(one.column, -1)))


def _telling_apart(table: Inspected, plan: Plan) -> Iterator[PlanDoubt]:
    if plan.roles.person is None and plan.roles.unit is None:
        for name, counts in table.identifiers_that_repeat(plan).items():
            yield PlanDoubt(name, "person", counts.told_of_identifier(name), refused=True)
    yield from table.published_as_ids(plan)
    for name, counts in table.kept_that_single_out(plan).items():
        told = counts.told_of_kept(name)
        yield PlanDoubt(name, "keep", told, refused=name not in plan.roles.keep_unique)


def _rows_per_person(table: Inspected, plan: Plan, *, bounds_rows: bool) -> Iterator[PlanDoubt]:
    """That a differentially private method does not know how many rows of a person take part."""
    assert plan.method is not None or not bounds_rows
    if not bounds_rows or plan.method is None or "rows_per_person" in plan.method.parameters:
        return
    units = table.units(plan)
    if units is not None and units.most_rows > 1:
        told = (
            f"it is missing, and {units.protected}s of column {units.column!r} have up to "
            f"{units.most_rows:,} rows: say how many rows of each may take part"
        )
        yield PlanDoubt(units.column, "rows_per_person", told, refused=True)


def _looks(column: ColumnProposal, plan: Plan) -> Iterator[PlanDoubt]:
    """What a column looks like, where the plan says something else or nothing."""
    name, declared = column.name, plan.columns.get(column.name, ColumnPlan())
    roles, profile = plan.roles, column.details.profile
    silent = roles.person is None and roles.unit is None
    if name in roles.quasi_identifiers:
        counts = Occurrences(column.details.rows, profile.distinct, profile.once)
        if counts.single_out and declared.hierarchy is None and column.kind in UNORDERED:
            told = f"{counts.told_of_kept(name)}, and without a hierarchy little of it will be left"
            yield PlanDoubt(name, "hierarchy", told, refused=False)
        bare = declared.kind is None and declared.type is None and declared.hierarchy is None
        if bare and profile.type == "integer" and column.kind in UNORDERED:
            told = f'its digits look like names; if they are, say kind = "{column.kind}"'
            yield PlanDoubt(name, "kind", told, refused=False)
    elif column.role == "person" and column.several_rows and silent:
        told = "it seems to tell persons apart, who have several rows each, and person does not say"
        yield PlanDoubt(name, "person", told, refused=False)
    elif column.role == "identifier" and name in roles.published:
        told = f"it is to be published, and may be an identifier: {column.why}"
        yield PlanDoubt(name, "identifiers", told, refused=False)
