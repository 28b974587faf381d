"""Publishers by the name that a plan gives them, each imported when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, fields
from importlib import import_module
from typing import Any, get_type_hints

from voile.errors import PlanError, nearest
from voile.publish.publisher import Publisher
from voile.schema.plan import Method

__all__ = ["method_names", "parameter_types", "publisher_of"]

_PUBLISHERS = {
    "ke-anonymity": "voile.publish.ke_anonymity:KEAnonymity",
    "generalization": "voile.publish.generalization:Generalization",
    "dp-generalization": "voile.publish.dp_generalization:DPGeneralization",
    "clustered-laplace": "voile.publish.clustered_laplace:ClusteredLaplace",
    "ranking": "voile.publish.ranking.publisher:Ranking",
    "m-shuffle": "voile.publish.m_shuffle:MShuffle",
    "flows": "voile.publish.flows:Flows",
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
    known = [field.name for field in fields(made)]
    for name in method.parameters:
        if name not in known:
            msg = (
                f"[method] {method.name} has no parameter {name!r}{nearest(name, known)} "
                f"(known: {', '.join(known)})"
            )
            raise PlanError(msg)
    for field in fields(made):
        required = field.default is MISSING and field.default_factory is MISSING
        if required and field.name not in method.parameters:
            msg = f"[method] {method.name} needs the parameter {field.name}"
            raise PlanError(msg)
    try:
        publisher: Publisher = made(**method.parameters)
    except PlanError as error:
        msg = f"[method] {error}"
        raise PlanError(msg) from None
    return publisher


def parameter_types(method: str) -> Mapping[str, Any]:
    """The types of the parameters of a method by name; raises ``PlanError`` where there is none."""
    made = _class_of(method)
    types = get_type_hints(made)
    return {field.name: types[field.name] for field in fields(made)}


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
