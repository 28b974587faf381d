"""Publishers by the name that a plan gives them, each imported when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from importlib import import_module
from pathlib import Path
from typing import Any, get_args, get_type_hints

from voile.errors import PlanError, nearest
from voile.publish.publisher import Publisher
from voile.schema.plan import Method, Plan, PlanDocument
from voile.schema.plan import read_plan as read_stated_plan
from voile.schema.trajectory import TrajectoryColumns
from voile.values.value import InPlanFolder, json_schema

__all__ = [
    "completed",
    "method_names",
    "parameter_types",
    "plan_schema",
    "publisher_of",
    "read_plan",
]

_PUBLISHERS = {
    "ke-anonymity": "voile.publish.ke_anonymity:KEAnonymity",
    "generalization": "voile.publish.generalization:Generalization",
    "dp-generalization": "voile.publish.dp_generalization:DPGeneralization",
    "clustered-laplace": "voile.publish.clustered_laplace:ClusteredLaplace",
    "ranking": "voile.publish.ranking.publisher:Ranking",
    "m-shuffle": "voile.publish.m_shuffle:MShuffle",
    "geo-indistinguishability": "voile.publish.geo_indistinguishability:GeoIndistinguishability",
}


def method_names() -> tuple[str, ...]:
    """The names of all methods."""
    return tuple(_PUBLISHERS)


def publisher_of(method: Method | None) -> Publisher:
    """The publisher that a plan asks for, its parameters validated; raises ``PlanError``."""
    if method is None:
        msg = "the plan has no [method] table; say how to publish"
        raise PlanError(msg)
    made = _class_of(method.name)
    try:
        publisher: Publisher = made(**method.parameters)
    except PlanError as error:
        msg = f"[method] {error}"
        raise PlanError(msg) from None
    return publisher


def parameter_types(method: str) -> Mapping[str, Any]:
    """The types of the parameters of a method by name; raises ``PlanError`` where there is none."""
    return _types(_class_of(method), marks=False)


def _types(made: Any, *, marks: bool) -> dict[str, Any]:
    """The types of the parameters of a class, or of all its variants, perhaps with their marks."""
    return {
        field.name: types[field.name]
        for variant in (*getattr(made, "variants", {}).values(), made)
        for types in [get_type_hints(variant, include_extras=marks)]
        for field in fields(variant)
    }


def completed(plan: Plan, folder: str | Path) -> Plan:
    """A plan as a file states it, with what its method takes for granted.

    A method of trips has the usual columns of trajectories, and files that parameters name are
    looked for in the folder of the plan.
    """
    if plan.method is None or plan.method.name not in _PUBLISHERS:
        return plan  # ``publisher_of`` says what is wrong
    types = _types(_class_of(plan.method.name), marks=True)
    given = {
        name: str(Path(folder) / value)
        if isinstance(value, str) and _is_file(types.get(name))
        else value
        for name, value in plan.method.parameters.items()
    }
    trips = getattr(_class_of(plan.method.name), "of_trips", False) and plan.trajectory is None
    return replace(
        plan,
        method=replace(plan.method, parameters=given),
        trajectory=TrajectoryColumns() if trips else plan.trajectory,
    )


def _is_file(kind: Any) -> bool:
    marks = (*getattr(kind, "__metadata__", ()), *get_args(kind))
    return any(
        isinstance(mark, InPlanFolder) or (mark is not kind and _is_file(mark)) for mark in marks
    )


def read_plan(path: str | Path) -> Plan:
    """Read and validate a plan, but for the parameters of its method; raises ``PlanError``."""
    plan = read_stated_plan(path)
    try:
        return completed(plan, Path(path).parent)
    except PlanError as error:
        raise plan.error(str(error)) from None


def _class_of(method: str) -> Any:
    """The class of a publisher; raises ``PlanError`` where no method has the name."""
    if method not in _PUBLISHERS:
        msg = (
            f"[method] there is no method {method!r}{nearest(method, _PUBLISHERS)} "
            f"(known: {', '.join(_PUBLISHERS)})"
        )
        raise PlanError(msg)
    # Methods differ in what they load: compiled code costs half a second.
    module, name = _PUBLISHERS[method].split(":")
    return getattr(import_module(module), name)


def plan_schema() -> dict[str, Any]:
    """The JSON Schema of the files of plans, the parameters of every method included."""
    schema = json_schema(PlanDocument)
    methods = []
    for name in method_names():
        made = _class_of(name)
        for variant in getattr(made, "variants", {}).values() or (made,):
            stated = json_schema(variant)
            schema["$defs"].update(stated.pop("$defs", {}))
            stated["properties"] = {"name": {"const": name}, **stated["properties"]}
            stated["required"] = ["name", *stated.get("required", ())]
            methods.append(stated)
    del schema["$defs"]["MethodTable"]
    schema["properties"]["method"] = {"anyOf": methods}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
