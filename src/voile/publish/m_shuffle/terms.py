"""Parameters of M-Shuffle, checked."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal

from voile.errors import PlanError
from voile.publish.m_shuffle.columns import RuleName
from voile.schema.keys import number
from voile.schema.plan import one_of

__all__ = ["check_limits", "checked_columns", "checked_number", "checked_rule"]


def checked_columns(given: object) -> tuple[str, ...] | int | None:
    """Names of columns to permute, or how many, or nothing; raises ``PlanError``."""
    if given is None:
        return None
    if isinstance(given, int) and not isinstance(given, bool) and given >= 1:
        return given
    names = tuple(given) if isinstance(given, list | tuple) else ()
    texts = all(isinstance(name, str) for name in names)
    if not names or not texts or len(set(names)) < len(names):
        msg = (
            "columns must be names of different quasi-identifiers, such as "
            '["zip", "age"], or how many of them to permute, at least 1'
        )
        raise PlanError(msg)
    return names


def checked_number(name: str, value: object, low: int | None, high: int | None) -> Decimal:
    """The value as an exact number between limits, both included; raises ``PlanError``."""
    exact = number(value)
    within = exact is not None and (low is None or exact >= low) and (high is None or exact <= high)
    if exact is None or not within:
        allowed = {
            (0, 1): "from 0 to 1",
            (0, None): "of at least 0",
            (None, 0): "of at most 0",
        }[low, high]
        msg = f"{name} must be a number {allowed}"
        raise PlanError(msg)
    return exact


def checked_rule(
    rule: RuleName | None, tie_threshold: object | None, entropy_threshold: object | None
) -> RuleName:
    """The rule that is named, or that the threshold belongs to; raises ``PlanError``."""
    if rule is None:
        rule = "mutual-information" if entropy_threshold is None else "entropy"
    one_of("rule", rule, RuleName)
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
