"""Which roads of a map are for cars, and how fast these drive where no sign says it.

Classes are the values of OpenStreetMap's key ``highway``.  Speeds without a sign are rough
European values in km/h, for travel times and nothing else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

__all__ = ["DRIVABLE", "Ways", "is_drivable", "said_ways", "speed_of"]

Ways = Literal["both", "forward", "backward"]
"""Which ways a road can be driven, seen along its line."""

_SPEEDS: Mapping[str, float] = {
    "motorway": 110,
    "trunk": 90,
    "primary": 60,
    "secondary": 50,
    "tertiary": 45,
    "unclassified": 40,
    "residential": 30,
    "service": 20,
    "living_street": 10,
    "road": 40,
}
_LINK_SPEED = 40.0
_WALKING = 7.0
_USUAL = 40.0
_MILE = 1.609344
_NUMBER = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)\s*(mph|knots|km/h|kmh|kph)?(?![\w.])")

DRIVABLE = (
    *_SPEEDS,
    "motorway_link",
    "trunk_link",
    "primary_link",
    "secondary_link",
    "tertiary_link",
)
"""The classes that cars use."""


def is_drivable(tags: Mapping[str, str]) -> bool:
    """Whether the tags of a way say that the public may drive there."""
    barred = {"no", "private"}
    use = tags.get("motor_vehicle", tags.get("vehicle", tags.get("access", "yes")))
    return tags.get("highway") in DRIVABLE and use not in barred and tags.get("area") != "yes"


def said_ways(tags: Mapping[str, str]) -> Ways | None:
    """Which ways a road can be driven, by its key ``oneway``; None where it has none."""
    said = tags.get("oneway")
    if said in {"-1", "reverse"}:
        return "backward"
    if said in {"yes", "1", "true"}:
        return "forward"
    return None if said is None else "both"


def speed_of(sign: str | None, road_class: str | None) -> float:
    """Speed in km/h: as signed, where a sign can be read ("50", "30 mph"), else as usual."""
    for text in (sign or "").split(";"):
        if text.strip() == "walk":
            return _WALKING
        if (found := _NUMBER.search(text)) and float(found[1]) > 0:
            factor = {"mph": _MILE, "knots": 1.852}.get(found[2] or "", 1.0)
            return float(found[1]) * factor
    name = road_class or ""
    return _LINK_SPEED if name.endswith("_link") else _SPEEDS.get(name, _USUAL)
