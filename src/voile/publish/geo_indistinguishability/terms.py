"""The parameters of geo-indistinguishability, checked one by one and against each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from voile.errors import PlanError
from voile.schema.keys import number, number_between

__all__ = [
    "Mechanism",
    "bounds",
    "check_together",
    "metres",
    "numbers",
    "place",
    "positive",
    "seconds",
    "share",
    "share_that_stays",
    "text",
    "whole",
]

Mechanism = Literal[
    "correlated-gaussian",
    "gaussian-field",
    "planar-laplace",
    "angle-selection",
    "remaining-distance",
]

_ONLY_FOR: Mapping[str, tuple[str, ...]] = {
    "tau": ("correlated-gaussian", "gaussian-field"),
    "differences": ("correlated-gaussian", "gaussian-field"),
    "stays": ("gaussian-field",),
    "length": ("gaussian-field",),
    "period": ("gaussian-field",),
    "secret": ("gaussian-field",),
    "epsilon_angle": ("angle-selection",),
    "delta_angle": ("angle-selection",),
    "start": ("angle-selection",),
    "levels": ("correlated-gaussian", "planar-laplace", "angle-selection"),
}
"""Parameters that mean nothing to other mechanisms."""
_ONLY_WITH: Mapping[str, str] = {
    "radii": "levels",
    "level_limits": "levels",
    "radius_limits": "levels",
    "zones_by": "levels",
    "centre": "levels",
    "roads": "levels",
    "roads_nodes": "roads",
    "roads_within": "roads",
    "radius_bounds": "roads",
    "budget": "fleet",
    "budget_days": "budget",
    "reports": "budget",
}
"""Parameters that mean nothing without another one."""


def check_together(given: Mapping[str, Any]) -> None:
    """Refuse parameters that contradict each other; ``given`` are those that are not None."""
    mechanism = given["mechanism"]
    for name, mechanisms in _ONLY_FOR.items():
        if name in given and mechanism not in mechanisms:
            of_use = " and ".join(f'"{other}"' for other in mechanisms)
            msg = (
                f'{name} is of use for mechanism {of_use} only, not for "{mechanism}"; leave it out'
            )
            raise PlanError(msg)
    if ("epsilon" in given) == ("levels" in given):
        msg = (
            "either epsilon (per metre) is needed, or levels and radii (metres), whose quotient it "
            "is, or levels and roads, a map that says the radii; not both"
        )
        raise PlanError(msg)
    for name, other in _ONLY_WITH.items():
        if name in given and other not in given:
            msg = f"{name} is of use with {other} only; give {other} too, or leave {name} out"
            raise PlanError(msg)
    _check_radii(given)
    _check_at_least(given)
    if "fleet" in given and "budget" not in given:
        msg = "fleet needs a budget: the epsilon that a trip may spend over all releases"
        raise PlanError(msg)
    if mechanism == "gaussian-field" and given.get("differences", "shifted") != "shifted":
        msg = (
            'gaussian-field shows when a truck comes back to a place, so that only trips "shifted" '
            "as a whole are hard to tell apart; leave differences out"
        )
        raise PlanError(msg)
    if mechanism == "angle-selection" and "epsilon_angle" not in given:
        msg = "angle-selection needs epsilon_angle, from which the deviation of a turn follows"
        raise PlanError(msg)
    zones = max(len(given.get(name, ())) for name in ("levels", "radii"))
    differ = zones > 1 or "roads" in given
    if given.get("zones_by") == "true" and "budget" in given and differ:
        msg = (
            'zones_by = "true" chooses the noise by the true position, and what that costs at the '
            "border of two zones has no bound; leave out budget and fleet, or zones_by"
        )
        raise PlanError(msg)


def _check_at_least(given: Mapping[str, Any]) -> None:
    """Positions are thinned by what is published, where that is all that others follow from."""
    if "at_least" not in given:
        return
    if given["mechanism"] == "remaining-distance":
        msg = "at_least is about positions, and remaining-distance publishes none; take every"
        raise PlanError(msg)
    if "roads" in given or max(len(given.get(name, ())) for name in ("levels", "radii")) > 1:
        msg = (
            "at_least does not go with levels or radii that differ, which follow from the position "
            "published before; take every"
        )
        raise PlanError(msg)


def _check_radii(given: Mapping[str, Any]) -> None:
    """Radii are numbers, by distance to a centre, or those that a map says."""
    by_distance = [name for name in ("radii", "radius_limits", "centre") if name in given]
    if "roads" in given and by_distance:
        msg = (
            f"roads says the radii by the roads of a map, and {by_distance[0]} by the distance to "
            "a centre; leave one of them out"
        )
        raise PlanError(msg)
    if "levels" in given and not {"radii", "roads"} & given.keys():
        msg = (
            "levels need radii: epsilon is level / radius, with the radius in metres; or roads, a "
            "map that says the radii"
        )
        raise PlanError(msg)


def share_that_stays(name: str, value: object) -> float:
    """A number from 0 to below 1; raises ``PlanError``."""
    found = number(value)
    if found is None or not 0 <= found < 1:
        msg = (
            f"{name} must be a number from 0 to below 1: the share of the noise that stays with "
            "the place; without a fresh part no number bounds what many reports tell"
        )
        raise PlanError(msg)
    return float(found)


def positive(name: str, value: object) -> float:
    """A number above 0; raises ``PlanError``."""
    return float(number_between(name, value, 0))


def share(name: str, value: object) -> float:
    """A number between 0 and 1; raises ``PlanError``."""
    return float(number_between(name, value, 0, 1))


def numbers(name: str, value: object) -> tuple[float, ...]:
    """One number above 0 or a list of them; raises ``PlanError``."""
    listed: Sequence[object] = value if isinstance(value, list | tuple) else (value,)
    return tuple(positive(name, item) for item in listed)


def bounds(name: str, value: object) -> tuple[float, float]:
    """Two ascending numbers above 0; raises ``PlanError``."""
    found = numbers(name, value)
    if len(found) != 2 or not found[0] < found[1]:
        msg = f"{name} must be the smallest and the largest radius in metres, such as [100, 2000]"
        raise PlanError(msg)
    return found[0], found[1]


def seconds(name: str, value: object) -> float:
    """A time above 0, in seconds, or a text with its unit; raises ``PlanError``."""
    return _with_unit(name, value, {"s": 1, "min": 60, "h": 3_600}, "60 s")


def metres(name: str, value: object) -> float:
    """A distance above 0, in metres, or a text with its unit; raises ``PlanError``."""
    return _with_unit(name, value, {"m": 1, "km": 1_000}, "250 m")


def _with_unit(name: str, value: object, units: Mapping[str, int], example: str) -> float:
    size, unit = value, next(iter(units))
    if isinstance(value, str):
        text, _, written = value.strip().partition(" ")
        found = number(text, texts=True)
        if found is None or written.strip() not in units or found <= 0:
            allowed = ", ".join(units)
            msg = f'{name} must be a number above 0 with a unit ({allowed}), such as "{example}"'
            raise PlanError(msg)
        size, unit = found, written.strip()
    return positive(name, size) * units[unit]


def whole(name: str, value: object) -> int:
    """A whole number of at least 1; raises ``PlanError``."""
    found = number(value)
    if found is None or found < 1 or found != int(found):
        msg = f"{name} must be a whole number of at least 1"
        raise PlanError(msg)
    return int(found)


def text(name: str, value: object) -> str:
    """The name of a file; raises ``PlanError``."""
    if not isinstance(value, str) or not value:
        msg = f'{name} must be the name of a file, for example "city.osm.pbf"'
        raise PlanError(msg)
    return value


def place(name: str, value: object) -> tuple[float, float]:
    """A latitude and a longitude in degrees; raises ``PlanError``."""
    listed = [number(item) for item in value] if isinstance(value, list | tuple) else []
    degrees = [float(item) for item in listed if item is not None]
    if len(degrees) != 2 or len(listed) != 2:
        msg = f"{name} must be a latitude and a longitude in degrees, for example [48.86, 2.29]"
        raise PlanError(msg)
    latitude, longitude = degrees
    if abs(latitude) > 90 and abs(latitude) <= 180 and abs(longitude) <= 90:
        msg = f"{name}: the latitude comes first; latitude and longitude seem to be swapped"
        raise PlanError(msg)
    if abs(latitude) > 90 or abs(longitude) > 180:
        msg = (
            f"{name}: a latitude lies between -90 and 90, a longitude between -180 and 180 degrees"
        )
        raise PlanError(msg)
    return latitude, longitude
