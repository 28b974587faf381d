"""Plans as a study writes them down: what a TOML file states, beside what was made of it.

A record repeats the plan in the words of its file.  A plan made in Python is put in the same words;
only a hierarchy that lists every value is named there and not repeated.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, fields, replace
from decimal import Decimal
from hashlib import blake2b
from pathlib import Path
from typing import Any

from voile.publish.registry import publisher_for, read_plan
from voile.schema.budget import BudgetPlan
from voile.schema.hierarchy.code_lists import CodeList
from voile.schema.hierarchy.dates import Dates
from voile.schema.hierarchy.declared import Hierarchy
from voile.schema.hierarchy.intervals import Intervals
from voile.schema.hierarchy.prefixes import Prefixes
from voile.schema.hierarchy.taxonomy import Taxonomy
from voile.schema.numbers import json_number
from voile.schema.plan import ColumnPlan, Method, Plan

__all__ = ["StatedPlan", "json_value", "needs_ledger", "single_release", "state_plan"]

_SERIES_PARAMETERS = ("series", "record_key", "batch", "group_size", "fleet", "budget")


@dataclass(frozen=True)
class StatedPlan:
    """A plan, and how a file states it."""

    name: str
    """The file without its ending, or the method."""
    plan: Plan
    document: Mapping[str, Any]
    """Tables and keys; what JSON can hold."""

    @property
    def source(self) -> str:
        """Where it stands, for messages."""
        return self.plan.source

    def with_parameters(self, name: str, parameters: Mapping[str, Any]) -> StatedPlan:
        """The same plan with other parameters of its method, under another name."""
        assert self.plan.method is not None
        method = Method(self.plan.method.name, dict(parameters))
        return replace(
            self,
            name=name,
            plan=replace(self.plan, method=method),
            document={**self.document, "method": _method_document(method)},
        )

    def digest(self) -> str:
        """Tells plans apart by all that they say, hierarchies in files included."""
        listed = {
            name: column.hierarchy.paths
            for name, column in self.plan.columns.items()
            if isinstance(column.hierarchy, Taxonomy)
        }
        said = repr(json_value([self.document, listed]))
        return blake2b(said.encode(), digest_size=16).hexdigest()


def state_plan(plan: Plan | str | Path) -> StatedPlan:
    """A plan from a file or from Python; raises ``PlanError`` where it is wrong or has no method.

    Parameters of the method are not validated: a grid has lists in their place.
    """
    if isinstance(plan, Plan):
        name = plan.method.name if plan.method else ""
        read = plan if plan.source else replace(plan, source=f"the plan of method {name!r}")
        stated = _document(plan)
    else:
        path = Path(plan)
        read, name = read_plan(path), path.stem
        stated = tomllib.loads(path.read_text(encoding="utf-8-sig"), parse_float=Decimal)
    if read.method is None:
        raise read.error(read.without_method)
    return StatedPlan(name, read, json_value(stated))


def single_release(plan: Plan) -> Plan:
    """The plan of a release that belongs to no series, charges nobody and leaves no rows over.

    It publishes as the first release of a series would.
    """
    if plan.method is None:
        return plan
    parameters = {
        key: value
        for key, value in plan.method.parameters.items()
        if key not in _SERIES_PARAMETERS and (key, value) != ("suppressed", "carry")
    }
    return replace(plan, budget=None, method=replace(plan.method, parameters=parameters))


def needs_ledger(plan: Plan) -> bool:
    """Whether releases of the plan are entered in a ledger; raises ``PlanError``."""
    publisher = publisher_for(plan)
    accounts = (plan.budget, publisher.series, publisher.trip_budget)
    return publisher.carries or any(account is not None for account in accounts)


def json_value(value: Any) -> Any:
    """A value as JSON holds it: numbers that are not finite become None, others stay as written."""
    if hasattr(value, "item"):
        value = value.item()  # a number of NumPy
    match value:
        case float() | Decimal():
            if not math.isfinite(value):
                return None
            return json_number(value) if isinstance(value, Decimal) else value
        case None | bool() | int() | str():
            return value
        case Mapping():
            return {str(key): json_value(item) for key, item in value.items()}
        case Sequence() | AbstractSet():
            return [json_value(item) for item in value]
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def _document(plan: Plan) -> dict[str, Any]:
    """A plan in the words of a TOML file, without what says nothing."""
    columns = {name: _column(column) for name, column in plan.columns.items()}
    roles = {field.name: getattr(plan.roles, field.name) for field in fields(plan.roles)}
    stated = {
        "nulls": plan.nulls,
        "missing": list(plan.missing),
        "roles": {
            **json_value({key: said for key, said in roles.items() if said}),
            **json_value(plan.trajectory.document() if plan.trajectory else {}),
        },
        "columns": {name: column for name, column in columns.items() if column},
        "method": _method_document(plan.method) if plan.method else {},
        "budget": _budget(plan.budget) if plan.budget else {},
    }
    return {key: value for key, value in stated.items() if value}


def _method_document(method: Method) -> dict[str, Any]:
    return {"name": method.name, **json_value(method.parameters)}


def _budget(budget: BudgetPlan) -> dict[str, Any]:
    return {"data_set": budget.data_set, **budget.document()}


def _column(column: ColumnPlan) -> dict[str, Any]:
    default = ColumnPlan()
    stated = {
        field.name: getattr(column, field.name)
        for field in fields(column)
        if field.name != "hierarchy" and getattr(column, field.name) != getattr(default, field.name)
    }
    hierarchy = {} if column.hierarchy is None else _hierarchy(column.hierarchy)
    return json_value({**stated, **hierarchy})  # type: ignore[no-any-return]


def _hierarchy(hierarchy: Hierarchy) -> dict[str, Any]:
    match hierarchy:
        case Taxonomy():
            return {"hierarchy": hierarchy.source}
        case Intervals():
            stated = {field.name: getattr(hierarchy, field.name) for field in fields(hierarchy)}
            return {"intervals": {key: value for key, value in stated.items() if value is not None}}
        case Prefixes():
            return {"prefix": hierarchy.kept}
        case Dates():
            return {"dates": hierarchy.periods}
        case CodeList():
            stated = {field.name: getattr(hierarchy, field.name) for field in fields(hierarchy)}
            return {"code_list": stated}
