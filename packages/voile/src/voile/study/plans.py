"""Plans as a study writes them down: what a TOML file states, beside what was made of it.

A record repeats the plan in the words of its file.  A plan made in Python is put in the same words;
only a hierarchy that lists every value is named there and not repeated.

From plans with lists to the points of a grid.

    [method]
    name = "generalization"
    k = [2, 3, 5, 10]
    algorithm = ["flash", "mondrian"]

A list in the place of a parameter of ``[method]`` tries each of its values, and several lists try
every combination.  A parameter that takes a list itself, such as ``shares``, is left alone when it
is given one; to try several, give a list of lists.  No other table of a plan is swept: give several
plans.

Cost: that of the product; nothing is read or published.

Messages that name the file they are about: the plan's, with its key, or the table's.

Methods, criteria and hierarchies say what is wrong and with which column or parameter; they know
no files.  Here, where both files are known, each message is led by the file in which the reader
mends it.
"""

from __future__ import annotations

import math
import tomllib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import fields, replace
from decimal import Decimal
from hashlib import blake2b
from itertools import product
from math import prod
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin

from voile.publish.registry import parameter_types, publisher_for, publisher_of, read_plan
from voile.schema.budget import BudgetPlan
from voile.schema.hierarchy.declared import Hierarchy
from voile.schema.hierarchy.forms import Postcodes, WrittenDays
from voile.schema.hierarchy.ranges import Dates, Intervals, Prefixes
from voile.schema.hierarchy.taxonomy import CodeList, Taxonomy
from voile.schema.numbers import json_number, plain_text
from voile.schema.plan import ColumnPlan, Method, Plan
from voile.table.places import is_place, place_of
from voile_base.errors import InfeasibleError, OutOfMemoryError, PlanError, TableError, VoileError
from voile_base.ondemand import dataclass, pattern_on_demand
from voile_base.values import Document, Json

__all__ = [
    "OF_SERIES",
    "GridPoint",
    "PlanGrid",
    "StatedPlan",
    "file_of",
    "json_value",
    "naming_files",
    "needs_ledger",
    "of_no_account",
    "single_release",
]


OF_SERIES = ("series", "record_key", "batch", "group_size")
"""Parameters of methods that say of which series a release is, and how it is made therefore."""
_OF_FLEET = ("fleet", "budget")


@dataclass(frozen=True)
class StatedPlan:
    """A plan, and how a file states it."""

    name: str
    """The file without its ending, or the method."""
    plan: Plan
    document: Document
    """Tables and keys; what JSON can hold."""

    @property
    def source(self) -> str:
        """Where it stands, for messages."""
        return self.plan.source

    def with_parameters(self, name: str, parameters: Mapping[str, object]) -> StatedPlan:
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

    @staticmethod
    def of(plan: Plan | str | Path) -> StatedPlan:
        """A plan from a file or from Python; raises ``PlanError`` where it is wrong or methodless.

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


def of_no_account(plan: Plan) -> Plan:
    """The plan of a release that charges nobody and leaves no rows over; its series stays."""
    return replace(_without(plan, _OF_FLEET), budget=None)


def single_release(plan: Plan) -> Plan:
    """The same outside its series, in which a method may make other groups than these."""
    return of_no_account(_without(plan, OF_SERIES))


def _without(plan: Plan, gone: Sequence[str]) -> Plan:
    """The plan without some parameters of its method, and without rows that wait for a pool."""
    if plan.method is None:
        return plan
    parameters = {
        key: value
        for key, value in plan.method.parameters.items()
        if key not in gone and (key, value) != ("suppressed", "carry")
    }
    return replace(plan, method=replace(plan.method, parameters=parameters))


def needs_ledger(plan: Plan) -> bool:
    """Whether releases of the plan are entered in a ledger; raises ``PlanError``."""
    publisher = publisher_for(plan)
    accounts = (plan.budget, publisher.series, publisher.trip_budget)
    return publisher.carries or any(account is not None for account in accounts)


def json_value(value: object) -> Any:
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


def _document(plan: Plan) -> Json:
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
        "steps": [json_value(step.document()) for step in plan.steps],
        "budget": _budget(plan.budget) if plan.budget else {},
    }
    return {key: value for key, value in stated.items() if value}


def _method_document(method: Method) -> Json:
    return {"name": method.name, **json_value(method.parameters)}


def _budget(budget: BudgetPlan) -> Json:
    return {"data_set": budget.data_set, **budget.document()}


def _column(column: ColumnPlan) -> Json:
    default = ColumnPlan()
    stated = {
        field.name: getattr(column, field.name)
        for field in fields(column)
        if field.name != "hierarchy" and getattr(column, field.name) != getattr(default, field.name)
    }
    hierarchy = {} if column.hierarchy is None else _hierarchy(column.hierarchy)
    return json_value({**stated, **hierarchy})  # type: ignore[no-any-return]


def _hierarchy(hierarchy: Hierarchy) -> Json:
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
        case Postcodes() | WrittenDays():
            return {hierarchy.key: hierarchy.said}
        case CodeList():
            stated = {field.name: getattr(hierarchy, field.name) for field in fields(hierarchy)}
            return {"code_list": stated}


_LARGEST = 10_000
"""Points of a grid; more are a mistake in a plan."""

_PLAN = "plan"


@dataclass(frozen=True)
class GridPoint:
    """One plan of a grid."""

    stated: StatedPlan
    """Without lists; its name tells it from all other points."""
    parameters: Document
    """By which it differs from others: "plan", "method.k", ...; what JSON can hold."""
    wrong: str = ""
    """Why no publisher can be made of it; empty where one can."""


@dataclass(frozen=True)
class PlanGrid:
    """All plans to be tried."""

    plans: tuple[StatedPlan, ...]
    """With lists, as they were given; their names differ."""
    points: tuple[GridPoint, ...]
    swept: Mapping[str, tuple[Any, ...]]
    """For each parameter that differs, its values in the order in which they are tried."""

    @staticmethod
    def of(plans: Sequence[StatedPlan]) -> PlanGrid:
        """The points of some plans: all combinations of the lists of each, plan by plan.

        Raises ``PlanError`` where there is no plan, a list is empty or repeats a value, none of the
        points of a plan can be published, or the grid is too large.
        """
        if not plans:
            msg = "name at least one plan"
            raise PlanError(msg)
        named = _with_different_names(plans)
        tried = [_tried(plan) for plan in named]
        count = sum(prod(map(len, values.values())) for values in tried)
        if count > _LARGEST:
            msg = f"these plans ask for {count:,} studies, more than {_LARGEST:,}; try fewer values"
            raise PlanError(msg)
        combinations = [
            [dict(zip(values, one, strict=True)) for one in product(*values.values())]
            for values in tried
        ]
        swept = _swept(named, combinations)
        points = tuple(
            point
            for plan, own in zip(named, combinations, strict=True)
            for point in _points(plan, own, swept)
        )
        return PlanGrid(named, points, swept)


def _tried(plan: StatedPlan) -> dict[str, Sequence[Any]]:
    """The values that a plan tries of each parameter; one, where it is given no list."""
    method = plan.plan.method
    assert method is not None, "a plan without a method is not stated"
    types = parameter_types(method.name)
    tried: dict[str, Sequence[Any]] = {}
    for name, value in method.parameters.items():
        if isinstance(value, list) and not _is_one_value(value, types.get(name)):
            _require_different(plan, name, value)
            tried[name] = value
        else:
            tried[name] = [value]
    return tried


def _is_one_value(value: list[Any], annotation: object) -> bool:
    """Whether a list is one value of a parameter that takes lists."""
    return any(_holds(kind, value) for kind in _kinds(annotation))


def _holds(kind: object, value: list[Any]) -> bool:
    """Whether a type is that of lists of such items."""
    made = get_origin(kind) or kind
    if not isinstance(made, type) or not issubclass(made, Collection) or made is str:
        return False
    if issubclass(made, Mapping):
        return False
    items = [item for argument in get_args(kind) for item in _kinds(argument)]
    return all(any(_is_a(item, one) for one in items) for item in value) if items else True


def _is_a(value: object, kind: object) -> bool:
    """Whether a value of a TOML file may be of a type, as far as lists are concerned."""
    made = get_origin(kind) or kind
    if made in (float, Decimal):
        return isinstance(value, int | float | Decimal)
    return kind is Ellipsis or not isinstance(made, type) or isinstance(value, made)


def _kinds(annotation: object) -> tuple[Any, ...]:
    """The types that a type is a choice of."""
    if get_origin(annotation) in (Union, UnionType):
        return get_args(annotation)
    return () if annotation is None else (annotation,)


def _require_different(plan: StatedPlan, name: str, values: Sequence[object]) -> None:
    if not values:
        msg = f"{plan.source}: [method] {name} is an empty list; give the values to try"
        raise PlanError(msg)
    (text, count), *_ = Counter(_shown(json_value(value)) for value in values).most_common(1)
    if count > 1:
        msg = f"{plan.source}: [method] {name} lists {text} more than once; give each value once"
        raise PlanError(msg)


def _swept(
    plans: Sequence[StatedPlan], combinations: Sequence[Sequence[Mapping[str, object]]]
) -> dict[str, tuple[Any, ...]]:
    """The parameters of which points have different values."""
    methods = [plan.plan.method.name for plan in plans if plan.plan.method]
    points = [
        {"method.name": name, **{f"method.{key}": value for key, value in point.items()}}
        for name, tried in zip(methods, combinations, strict=True)
        for point in tried
    ]
    swept = _different(points)
    return ({_PLAN: tuple(plan.name for plan in plans)} if len(plans) > 1 else {}) | swept


def _different(points: Sequence[Mapping[str, object]]) -> dict[str, tuple[Any, ...]]:
    """The keys under which points have more than one value, and these in their order."""
    values: dict[str, Json] = {}
    for point in points:
        for key, value in point.items():
            plain = json_value(value)
            values.setdefault(key, {}).setdefault(_shown(plain), plain)
    return {key: tuple(tried.values()) for key, tried in values.items() if len(tried) > 1}


def _points(
    plan: StatedPlan, combinations: Sequence[Mapping[str, object]], swept: Mapping[str, object]
) -> list[GridPoint]:
    method = plan.plan.method
    assert method is not None
    listed = _different(combinations)
    points = []
    for tried in combinations:
        own = {_PLAN: plan.name, "method.name": method.name}
        own |= {f"method.{key}": json_value(value) for key, value in tried.items()}
        own = {key: value for key, value in own.items() if key in swept}
        named = [plan.name] if _PLAN in swept or not listed else []
        if listed:
            named += [", ".join(f"{key} = {_shown(json_value(tried[key]))}" for key in listed)]
        point = plan.with_parameters(": ".join(named), tried)
        points.append(GridPoint(point, own, _what_is_wrong(point)))
    if all(point.wrong for point in points):
        msg = f"{plan.source}: {points[0].wrong}"
        raise PlanError(msg)
    return points


def _what_is_wrong(point: StatedPlan) -> str:
    assert point.plan.method is not None
    try:
        publisher_of(point.plan.method)
    except PlanError as error:
        return str(error)
    return ""


def _with_different_names(plans: Sequence[StatedPlan]) -> tuple[StatedPlan, ...]:
    """Plans of one name are numbered."""
    names = [plan.name for plan in plans]
    taken: dict[str, int] = {}
    renamed = []
    for plan in plans:
        taken[plan.name] = taken.get(plan.name, 0) + 1
        name = plan.name
        if names.count(name) > 1:
            name = f"{name} ({taken[name]})"
        renamed.append(replace(plan, name=name))
    return tuple(renamed)


def _shown(value: Any) -> str:
    """A value of a parameter for people, as JSON holds it."""
    match value:
        case dict():
            return ", ".join(f"{key} {_shown(item)}" for key, item in value.items())
        case list():
            return f"[{', '.join(map(_shown, value))}]"
        case bool():
            return "true" if value else "false"
        case float():
            return plain_text(Decimal(repr(value)))
    return str(value)


_COLUMN = pattern_on_demand(r"column '([^']+)'(: )?")


def file_of(source: object) -> str:
    """The file or the address of a table, as messages name it; empty for a data frame."""
    return str(place_of(source)) if is_place(source) else ""


@contextmanager
def naming_files(plan: Plan, table: str) -> Iterator[None]:
    """Lead what is wrong with a plan by its file and key, and with a table by its file.

    ``table`` is what ``file_of`` says.  The errors stay what they are.
    """
    try:
        yield
    except OutOfMemoryError:
        raise
    except (PlanError, InfeasibleError) as error:
        _lead(error, plan.source, _with_key)
        raise
    except TableError as error:
        _lead(error, table, str)
        raise


def _lead(error: VoileError, file: str, told: Any) -> None:
    message = str(error)
    if file and file not in message:
        error.args = (f"{file}: {told(message)}",)


def _with_key(message: str) -> str:
    """What is said of a plan, led by the table of the plan that it is about."""
    if message.startswith("["):
        return message
    column = _COLUMN.match(message)
    if column is None:
        return f"[method] {message}"
    rest = message[column.end() :] if column[2] else message
    return f"[columns.{column[1]}] {rest}"
