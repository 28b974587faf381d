"""Cards of methods, and what people say and read beside them.

Which change would meet a criterion of a policy that is not met, in a sentence.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from voile.publish.publisher import MethodCard
from voile.publish.registry import METHODS
from voile_base.errors import InputError
from voile_base.values import Document

__all__ = ["method_cards", "most_error", "numbers_of", "odds_told", "remedy_of"]


def method_cards() -> tuple[MethodCard, ...]:
    """The cards that methods carry: ours, then those of other packages."""
    cards = (METHODS.class_of(name).capabilities.card for name in METHODS.names)
    return tuple(card for card in cards if card is not None)


def numbers_of(text: str, what: str) -> list[int | float]:
    """The numbers of a field, with commas between; raises ``InputError`` for anything else."""
    found: list[int | float] = []
    for part in text.replace(";", ",").split(","):
        said = part.strip()
        if not said:
            continue
        try:
            number = float(said)
        except ValueError:
            number = float("nan")
        if not abs(number) < 1e15:
            msg = f"{what}: write numbers with commas between, for example 5, 10, 20"
            raise InputError(msg)
        found.append(int(said) if said.lstrip("+-").isdigit() else number)
    return found


def odds_told(epsilon: float) -> str:
    """What an epsilon means: how sure a bet of one to one may become."""
    if epsilon > 20:
        return "no bound that means something"
    factor = math.exp(epsilon)
    return f"{factor:.3g} to 1: right {100 * factor / (1 + factor):.3g} times out of 100"


def most_error(epsilon: float, widths: Mapping[str, float]) -> Mapping[str, float]:
    """How far noise moves a number of each column on average, at most, in the column's unit.

    ``widths`` are the widths of the public bounds of the columns that share ``epsilon``.  Laplace
    noise of scale width * columns / epsilon is as far on average as its scale; clusters, where they
    help, make it less.  It holds where a person has one row.
    """
    return {name: width * len(widths) / epsilon for name, width in widths.items()}


_TICK = "Tick it below, in the role of whoever has made sure of it."
_MORE_PRIVATE = (
    "Choose larger groups (a larger k), coarser levels or fewer columns; differential privacy "
    "bounds it for certain."
)
_CONCRETE = {
    "group-size": "Set k = {limit:.0f} in [method], and publish again.",
    "diversity": "Set l = {limit:.0f} in [method], and publish again.",
    "closeness": "Set t = {limit:g} in [method], ordered for numbers, and publish again.",
    "privacy-budget": "Use a method with differential privacy, of at most {limit:g} as asked here.",
}
"""Criteria that a parameter of the plan meets."""
_GENERAL = {
    "publishable": "Publish again without a seed.",
    "column": "Take the column out of [roles], or name it in keep, and publish again.",
    "identifiers": "Leave the columns that are named out of the plan, and publish again.",
    "utility": "Less protection keeps more: try a smaller k, finer levels or another method.",
    "copies": _MORE_PRIVATE,
    "risk": _MORE_PRIVATE,
    "attack": _MORE_PRIVATE,
    "worst-off": _MORE_PRIVATE,
    "re-identification": _MORE_PRIVATE,
    "recipient": _TICK,
    "assumptions": _TICK,
    "question": _TICK,
    "unexamined": _TICK,
}
_COUNTED = frozenset({"risk", "attack", "worst-off", "re-identification"})
"""Criteria whose figures evidence has."""
_BY_GROUP = ("prosecutor", "journalist", "marketer")
"""Attacks whose probability is one over those who look alike."""


def remedy_of(ruling: Document) -> str:
    """What would meet a criterion that is not met, as ``verdict.json`` has it; empty if it is met.

    Nothing is known of criteria of other packages but what they say themselves.
    """
    if ruling["passed"]:
        return ""
    kind, limit, value = ruling["kind"], ruling["limit"], ruling["value"]
    if limit is not None and value is None and kind in _COUNTED:
        return _uncounted(ruling["why"])
    if kind == "attack" and limit and any(f" {name} " in ruling["asks"] for name in _BY_GROUP):
        k = math.ceil(1 / limit - 1e-4)
        return f"k = {k:,} in [method] is enough, where groups are of {k:,} persons or more."
    if limit is not None and kind in _CONCRETE:
        return _CONCRETE[kind].format(limit=limit)
    remedy = _GENERAL.get(kind, "")
    within = value is not None and limit is not None and _is_within(ruling)
    if remedy and within:
        return (
            f"The figure passes and its interval does not: more people make it narrower. {remedy}"
        )
    return remedy


def _uncounted(why: str) -> str:
    """What would give a figure that is missing."""
    if "null" in why:
        return "Publish again: the record lacks a figure."
    if "was not counted" in why or "was not measured" in why:
        return "Publish again: each new release is attacked, and its three risks are counted."
    return "What keeps it from being counted is said here: change that in the plan."


def _is_within(ruling: Document) -> bool:
    value, limit = ruling["value"], ruling["limit"]
    return bool(value <= limit if ruling["side"] == "most" else value >= limit)
