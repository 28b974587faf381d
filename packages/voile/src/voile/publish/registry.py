"""Publishers by the name that a plan gives them, each imported when it is asked for.

Another package adds a method by an entry point of the group ``voile.methods``.
"""

from __future__ import annotations

import re
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from voile.publish.publisher import Publisher
from voile.schema.plan import Method, Plan, PlanDocument, PlanStep
from voile.schema.plan import read_plan as read_stated_plan
from voile.schema.trajectory import TrajectoryColumns
from voile_base.errors import PlanError, nearest
from voile_base.ondemand import on_demand
from voile_base.registry import Registry
from voile_base.values import Document, Json
from voile_base.values.value import InPlanFolder, checked, json_schema

if TYPE_CHECKING:
    from voile.publish import chain as publish_chain
    from voile.publish import coding as publish_coding
    from voile.publish.chain import ChainStep
else:
    publish_chain = on_demand("voile.publish.chain")
    publish_coding = on_demand("voile.publish.coding")

__all__ = [
    "METHODS",
    "completed",
    "method_names",
    "parameter_types",
    "plan_schema",
    "publisher_for",
    "publisher_of",
    "read_plan",
]

METHODS: Registry[Publisher] = Registry(
    group="voile.methods",
    what="a method",
    own={
        "generalization": "voile.publish.generalization:Generalization",
        "ke-anonymity": "voile.publish.ke_anonymity:KEAnonymity",
        "dp-generalization": "voile.publish.dp_generalization:DPGeneralization",
        "dp-synthesis": "voile.publish.dp_synthesis:DPSynthesis",
        "dp-tables": "voile.publish.dp_tables:DPTables",
        "clustered-laplace": "voile.publish.clustered_laplace:ClusteredLaplace",
        "ranking": "voile.publish.ranking:Ranking",
        "m-shuffle": "voile.publish.m_shuffle:MShuffle",
        "local-suppression": "voile.publish.local_suppression:LocalSuppression",
        "microaggregation": "voile.publish.microaggregation:Microaggregation",
        "pram": "voile.publish.pram:PRAM",
        "noise": "voile.publish.noise:Noise",
        "rank-swapping": "voile.publish.exchanging:RankSwapping",
        "record-swapping": "voile.publish.exchanging:RecordSwapping",
        "shuffling": "voile.publish.exchanging:Shuffling",
        "flows": "voile.publish.flows:Flows",
        "geo-indistinguishability": (
            "voile.publish.geo_indistinguishability:GeoIndistinguishability"
        ),
    },
    offers=(
        *("prepare", "publish", "get_ready", "series", "record_key", "carries", "capabilities"),
        "following",
    ),
    error=PlanError,
    typed=checked(PlanError),
)


def method_names() -> tuple[str, ...]:
    """The names of all methods."""
    return METHODS.names


def publisher_of(method: Method) -> Publisher:
    """The publisher that a plan asks for, its parameters validated; raises ``PlanError``."""
    try:
        _refuse_names_of_the_field(method.name)
        _refuse_criteria(method)
        _refuse_series(method)
        _refuse_rows_per_person(method)
        return METHODS.make(method.name, method.parameters)
    except PlanError as error:
        msg = f"[method] {error}"
        raise PlanError(msg) from None


_OF_THE_FIELD = {
    "k-anonymity": 'method "generalization" with k promises it',
    "k-map": 'method "generalization" with k promises k-anonymity, which is stronger',
    "l-diversity": 'method "generalization" with k and l promises it',
    "t-closeness": 'method "generalization" with k and t promises it',
    "differential-privacy": (
        'method "dp-generalization" promises it of rows, "clustered-laplace" of numbers, and '
        '"geo-indistinguishability" of positions'
    ),
    "microaggregation": 'method "microaggregation" does it: MDAV and others are its heuristics',
    "suppression": (
        'method "local-suppression" blanks cells, and "generalization" with suppression_limit '
        "leaves rows out"
    ),
    "mondrian": 'it is an algorithm of method "generalization": algorithm = "mondrian"',
    "laplace": 'method "clustered-laplace" adds such noise to numbers',
    "noise": (
        'method "noise" adds noise to numbers without a formal promise, "clustered-laplace" with '
        "one"
    ),
    "swapping": (
        'method "rank-swapping" exchanges near values, and "record-swapping" places of rows'
    ),
    "permutation": 'method "m-shuffle" shuffles values, and "shuffling" does by a regression',
    "post-randomisation": 'method "pram" redraws values by a matrix that is published',
}
"""What the field calls a promise or a technique, and the method that has it."""
_ALSO = {
    **dict.fromkeys(("k-anonymization", "k-anonymisation", "anonymity", "k"), "k-anonymity"),
    **dict.fromkeys(("dp", "epsilon-differential-privacy"), "differential-privacy"),
    **dict.fromkeys(("ldiversity", "distinct-l-diversity", "l"), "l-diversity"),
    **dict.fromkeys(("t", "tcloseness"), "t-closeness"),
    **dict.fromkeys(("mdav", "micro-aggregation"), "microaggregation"),
    **dict.fromkeys(("local-suppression", "cell-suppression"), "suppression"),
    **dict.fromkeys(
        ("gaussian-noise", "additive-noise", "laplace-mechanism", "noise-addition"), "noise"
    ),
    **dict.fromkeys(("data-swapping", "rank-swap", "record-swap"), "swapping"),
    **dict.fromkeys(("post-randomization", "randomized-response"), "post-randomisation"),
    "kanonymity": "k-anonymity",
    "differentialprivacy": "differential-privacy",
}


def _refuse_names_of_the_field(name: str) -> None:
    """Raise ``PlanError`` where a plan names a promise or a technique; says which method has it."""
    if name in METHODS:
        return
    plain = re.sub(r"[\s_-]+", "-", name.strip().casefold())
    leads = _OF_THE_FIELD.get(_ALSO.get(plain, plain))
    if leads is not None:
        known = ", ".join(METHODS.names)
        msg = f"name = {name!r} is not the name of a method: {leads} (known: {known})"
        raise PlanError(msg)


def _refuse_criteria(method: Method) -> None:
    """Raise ``PlanError`` where criteria are asked of a method that takes none, with the reason."""
    asked = [name for name in ("criteria", "l", "t") if name in method.parameters]
    if asked and "criteria" not in METHODS.fields_of(method.name):
        takes = "takes no criteria, since {why}; methods that take them"
        _refuse(method, asked[0], "criteria", takes)


def _refuse_series(method: Method) -> None:
    """Raise ``PlanError`` where a series is asked of a method that keeps none, with the reason."""
    _refuse(method, "series", "series", "keeps none, since {why}; methods that keep series")


def _refuse_rows_per_person(method: Method) -> None:
    """Raise ``PlanError`` where a method protects others than persons with rows, or all of them."""
    if method.name in METHODS.own:
        key = "rows_per_person"
        _refuse(method, key, key, "takes none, since {why}; methods that take it")


def _refuse(method: Method, asked: str, key: str, words: str) -> None:
    """Raise ``PlanError`` where a method has no parameter that a plan asks of it.

    Why is what its class declares; methods that have the parameter are named.
    """
    takes = METHODS.fields_of(method.name)
    if asked not in method.parameters or asked in takes:
        return
    reason = METHODS.class_of(method.name).capabilities.reason_without(key)
    able = [name for name in METHODS.own if key in METHODS.fields_of(name)]
    msg = f"{asked}: {method.name} {words.format(why=reason)}: {', '.join(able)}"
    raise PlanError(msg)


def publisher_for(plan: Plan) -> Publisher:
    """The publisher of a plan, with its steps; ``PlanError`` names its file."""
    if plan.method is None:
        raise plan.error(plan.without_method)
    try:
        method = publisher_of(plan.method)
        if not plan.steps:
            return method
        made = [
            (step.after, _step_of(step, f"[[steps]] {number} ({step.kind})"))
            for number, step in enumerate(plan.steps, 1)
        ]
        before, after = ([step for late, step in made if late is is_after]
                         for is_after in (False, True))  # fmt: skip
        return publish_chain.chained(plan.method.name, method, before, after)
    except PlanError as error:
        raise plan.error(str(error)) from None


def _step_of(step: PlanStep, where: str) -> ChainStep:
    """A step of a chain; raises ``PlanError``."""
    coding = publish_chain.coding_step(step, where)
    if coding is not None:
        return coding
    if step.kind not in METHODS:
        known = (*publish_coding.CODINGS, *METHODS.names)
        msg = (
            f"{where}: there is no step of this kind{nearest(step.kind, known)} "
            f"(known: {', '.join(known)})"
        )
        raise PlanError(msg)
    try:
        method = publisher_of(Method(step.kind, step.parameters))
    except PlanError as error:
        msg = f"{where}: {str(error).removeprefix('[method] ')}"
        raise PlanError(msg) from None
    return publish_chain.ChainStep(step.kind, where, method=method)


def parameter_types(method: str) -> Document:
    """The types of the parameters of a method by name; raises ``PlanError`` where there is none."""
    return _types(_class_of(method), marks=False)


@cache
def _types(made: object, *, marks: bool) -> Document:
    """The types of the parameters of a class, or of all its variants, perhaps with their marks."""
    return {
        field.name: types[field.name]
        for variant in (*getattr(made, "variants", {}).values(), made)
        for types in [get_type_hints(variant, include_extras=marks)]
        for field in fields(variant)
    }


def completed(plan: Plan, folder: str | Path) -> Plan:
    """A plan as a file states it, with what its method takes for granted.

    A method of trips has the usual columns of trajectories, what it chooses by them
    (``chosen_for``), and files that parameters name are looked for in the folder of the plan.
    """
    if plan.method is None or plan.method.name not in METHODS:
        return plan  # ``publisher_of`` says what is wrong
    types = _types(_class_of(plan.method.name), marks=True)
    given = {
        name: str(Path(folder) / value)
        if isinstance(value, str) and _is_file(types.get(name), value)
        else value
        for name, value in plan.method.parameters.items()
    }
    made = _class_of(plan.method.name)
    trips = made.capabilities.trips and plan.trajectory is None
    trajectory = TrajectoryColumns() if trips else plan.trajectory
    if trajectory is not None and hasattr(made, "chosen_for"):
        given |= made.chosen_for(trajectory, given)
    return plan.with_valid(method=replace(plan.method, parameters=given), trajectory=trajectory)


def _is_file(kind: object, value: str) -> bool:
    marks = (*getattr(kind, "__metadata__", ()), *get_args(kind))
    return any(
        value not in mark.words
        if isinstance(mark, InPlanFolder)
        else mark is not kind and _is_file(mark, value)
        for mark in marks
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
    try:
        return METHODS.class_of(method)
    except PlanError as error:
        msg = f"[method] {error}"
        raise PlanError(msg) from None


def plan_schema() -> Json:
    """The JSON Schema of the files of plans, the parameters of every method included."""
    schema = json_schema(PlanDocument)
    methods = []
    for name in METHODS.own:
        made = _class_of(name)
        for variant in getattr(made, "variants", {}).values() or (made,):
            stated = json_schema(variant)
            schema["$defs"].update(stated.pop("$defs", {}))
            stated["properties"] = {"name": {"const": name}, **stated["properties"]}
            stated["required"] = ["name", *stated.get("required", ())]
            methods.append(stated)
    steps = []
    for kind, made in publish_coding.CODINGS.items():
        stated = json_schema(made)
        schema["$defs"].update(stated.pop("$defs", {}))
        stated["properties"] |= {"kind": {"const": kind}, "after": {"type": "boolean"}}
        stated["required"] = ["kind", *stated.get("required", ())]
        steps.append(stated)
    named = {"kind": {"enum": list(METHODS.own)}, "after": {"type": "boolean"}}
    steps.append({"type": "object", "properties": named, "required": ["kind"]})
    schema["properties"]["steps"]["items"] = {"anyOf": steps}
    del schema["$defs"]["StepTable"]
    del schema["$defs"]["MethodTable"]
    schema["properties"]["method"] = {"anyOf": methods}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
