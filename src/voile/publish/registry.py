"""Publishers by the name that a plan gives them."""

from __future__ import annotations

from dataclasses import MISSING, fields

from voile.errors import PlanError, nearest
from voile.publish.ke_anonymity import KEAnonymity
from voile.schema.plan import Method

__all__ = ["publisher_of"]

_PUBLISHERS = {"ke-anonymity": KEAnonymity}


def publisher_of(method: Method | None) -> KEAnonymity:
    """The publisher that a plan asks for, its parameters validated; raises ``PlanError``."""
    if method is None:
        msg = "the plan has no [method] table; say how to publish"
        raise PlanError(msg)
    if method.name not in _PUBLISHERS:
        msg = (
            f"[method] there is no method {method.name!r}{nearest(method.name, _PUBLISHERS)} "
            f"(known: {', '.join(_PUBLISHERS)})"
        )
        raise PlanError(msg)
    publisher = _PUBLISHERS[method.name]
    known = [field.name for field in fields(publisher)]
    for name in method.parameters:
        if name not in known:
            msg = (
                f"[method] {method.name} has no parameter {name!r}{nearest(name, known)} "
                f"(known: {', '.join(known)})"
            )
            raise PlanError(msg)
    for field in fields(publisher):
        if field.default is MISSING and field.name not in method.parameters:
            msg = f"[method] {method.name} needs the parameter {field.name}"
            raise PlanError(msg)
    try:
        return publisher(**method.parameters)
    except PlanError as error:
        msg = f"[method] {error}"
        raise PlanError(msg) from None
