"""Parameters of M-Shuffle, checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from voile.errors import PlanError
from voile.publish.m_shuffle.columns import RuleName
from voile.values.value import KeptAs, Says, Several

__all__ = ["Columns", "check_limits", "checked_rule"]


def _different(names: tuple[str, ...] | int) -> tuple[str, ...] | int:
    if isinstance(names, tuple) and len(set(names)) < len(names):
        raise PydanticCustomError("different", "different columns")
    return names


Columns = Annotated[
    Sequence[str] | int,
    KeptAs(
        Annotated[
            Annotated[Several[str], Field(min_length=1)] | Annotated[int, Field(ge=1)],
            AfterValidator(_different),
        ]
    ),
    Says(
        'names of different quasi-identifiers, such as ["zip", "age"], or how many of them to '
        "permute, at least 1"
    ),
]
"""Names of columns to permute, or how many."""


def checked_rule(
    rule: RuleName | None, tie_threshold: object | None, entropy_threshold: object | None
) -> RuleName:
    """The rule that is named, or that the threshold belongs to; raises ``PlanError``."""
    if rule is None:
        rule = "mutual-information" if entropy_threshold is None else "entropy"
    if rule == "entropy" and entropy_threshold is None:
        msg = 'rule = "entropy" needs entropy_threshold, in nats'
        raise PlanError(msg)
    other = entropy_threshold if rule == "mutual-information" else tie_threshold
    if other is not None:
        name = "entropy_threshold" if rule == "mutual-information" else "tie_threshold"
        msg = f'{name} is not of use with rule = "{rule}"; leave one of them out'
        raise PlanError(msg)
    return rule


def check_limits(given: Mapping[str, object]) -> None:
    """Raise ``PlanError`` unless clusters and columns are either given or chosen by two limits."""
    limits = [given["max_divergence"] is None, given["max_log_probability"] is None]
    if any(limits) and not all(limits):
        msg = (
            "max_divergence and max_log_probability choose clusters and columns together; give "
            "both, or neither"
        )
        raise PlanError(msg)
    also = [name for name in ("clusters", "columns") if given[name] is not None]
    if also and not any(limits):
        msg = (
            "max_divergence and max_log_probability choose clusters and columns; leave out "
            f"{' and '.join(also)}, or the two limits"
        )
        raise PlanError(msg)
