"""From plans with lists to the points of a grid.

    [method]
    name = "generalization"
    k = [2, 3, 5, 10]
    algorithm = ["flash", "mondrian"]

A list in the place of a parameter of ``[method]`` tries each of its values, and several lists try
every combination.  A parameter that takes a list itself, such as ``shares``, is left alone when it
is given one; to try several, give a list of lists.  No other table of a plan is swept: give several
plans.

Cost: that of the product; nothing is read or published.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import product
from math import prod
from types import UnionType
from typing import Any, Union, get_args, get_origin

from voile.publish.registry import parameter_types, publisher_of
from voile.schema.numbers import plain_text
from voile.study.plans import StatedPlan, json_value
from voile_base.errors import PlanError

__all__ = ["GridPoint", "PlanGrid", "expand"]

_LARGEST = 10_000
"""Points of a grid; more are a mistake in a plan."""

_PLAN = "plan"


@dataclass(frozen=True)
class GridPoint:
    """One plan of a grid."""

    stated: StatedPlan
    """Without lists; its name tells it from all other points."""
    parameters: Mapping[str, Any]
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


def expand(plans: Sequence[StatedPlan]) -> PlanGrid:
    """The points of some plans: all combinations of the lists of each, one plan after the other.

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


def _is_one_value(value: list[Any], annotation: Any) -> bool:
    """Whether a list is one value of a parameter that takes lists."""
    return any(_holds(kind, value) for kind in _kinds(annotation))


def _holds(kind: Any, value: list[Any]) -> bool:
    """Whether a type is that of lists of such items."""
    made = get_origin(kind) or kind
    if not isinstance(made, type) or not issubclass(made, Collection) or made is str:
        return False
    if issubclass(made, Mapping):
        return False
    items = [item for argument in get_args(kind) for item in _kinds(argument)]
    return all(any(_is_a(item, one) for one in items) for item in value) if items else True


def _is_a(value: Any, kind: Any) -> bool:
    """Whether a value of a TOML file may be of a type, as far as lists are concerned."""
    made = get_origin(kind) or kind
    if made in (float, Decimal):
        return isinstance(value, int | float | Decimal)
    return kind is Ellipsis or not isinstance(made, type) or isinstance(value, made)


def _kinds(annotation: Any) -> tuple[Any, ...]:
    """The types that a type is a choice of."""
    if get_origin(annotation) in (Union, UnionType):
        return get_args(annotation)
    return () if annotation is None else (annotation,)


def _require_different(plan: StatedPlan, name: str, values: Sequence[Any]) -> None:
    if not values:
        msg = f"{plan.source}: [method] {name} is an empty list; give the values to try"
        raise PlanError(msg)
    (text, count), *_ = Counter(_shown(json_value(value)) for value in values).most_common(1)
    if count > 1:
        msg = f"{plan.source}: [method] {name} lists {text} more than once; give each value once"
        raise PlanError(msg)


def _swept(
    plans: Sequence[StatedPlan], combinations: Sequence[Sequence[Mapping[str, Any]]]
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


def _different(points: Sequence[Mapping[str, Any]]) -> dict[str, tuple[Any, ...]]:
    """The keys under which points have more than one value, and these in their order."""
    values: dict[str, dict[str, Any]] = {}
    for point in points:
        for key, value in point.items():
            plain = json_value(value)
            values.setdefault(key, {}).setdefault(_shown(plain), plain)
    return {key: tuple(tried.values()) for key, tried in values.items() if len(tried) > 1}


def _points(
    plan: StatedPlan, combinations: Sequence[Mapping[str, Any]], swept: Mapping[str, Any]
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
