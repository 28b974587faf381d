"""The types of the parameters of geo-indistinguishability, and which of them go together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BeforeValidator, Field, Strict
from pydantic_core import PydanticCustomError

from voile_base.errors import PlanError
from voile_base.values.exact import usable_number
from voile_base.values.value import KeptAs, Real, Says, Several

__all__ = [
    "Bounds",
    "Mechanism",
    "Metres",
    "Place",
    "Positive",
    "Positives",
    "Seconds",
    "Share",
    "TripIds",
    "ZonesBy",
    "check_together",
]

Mechanism = Literal[
    "correlated-gaussian",
    "gaussian-field",
    "planar-laplace",
    "angle-selection",
    "remaining-distance",
]
ZonesBy = Literal["published", "true"]
TripIds = Literal["kept", "numbered"]

Positive = Annotated[Real, Field(gt=0)]
Share = Annotated[Real, Field(gt=0, lt=1)]


def _listed(given: object) -> object:
    return given if isinstance(given, list | tuple) else (given,)


Positives = Annotated[
    Sequence[float] | float,
    KeptAs(
        Annotated[
            Several[Positive], BeforeValidator(_listed, json_schema_input_type=float | list[float])
        ]
    ),
    Says("a number above 0, or a list of such numbers"),
]
"""One number or a list of them."""


def _in_units(units: Mapping[str, int]) -> Callable[[object], object]:
    """Reads a number, or a text with a number and one of these units, of which the first is 1."""

    def read(given: object) -> object:
        if not isinstance(given, str):
            return given
        text, _, unit = given.strip().partition(" ")
        size = usable_number(text, texts=True)
        if size is None or unit.strip() not in units:
            raise PydanticCustomError("unit", "a unit is needed")
        return float(size) * units[unit.strip()]

    return read


Seconds = Annotated[
    float | str,
    KeptAs(
        Annotated[
            Positive,
            BeforeValidator(
                _in_units({"s": 1, "min": 60, "h": 3_600}), json_schema_input_type=float | str
            ),
        ]
    ),
    Says('a number of seconds above 0, or a text with its unit (s, min, h), such as "60 s"'),
]
Metres = Annotated[
    float | str,
    KeptAs(
        Annotated[
            Positive,
            BeforeValidator(_in_units({"m": 1, "km": 1_000}), json_schema_input_type=float | str),
        ]
    ),
    Says('a number of metres above 0, or a text with its unit (m, km), such as "250 m"'),
]


def _ascending(ends: tuple[float, float]) -> tuple[float, float]:
    if not ends[0] < ends[1]:
        raise PydanticCustomError("ascending", "the smallest comes first")
    return ends


Bounds = Annotated[
    Sequence[float],
    KeptAs(Annotated[tuple[Positive, Positive], Strict(False), AfterValidator(_ascending)]),
    Says("the smallest and the largest radius in metres, such as [100, 2000]"),
]


def _on_earth(place: tuple[float, float]) -> tuple[float, float]:
    latitude, longitude = place
    if abs(latitude) > 90 and abs(latitude) <= 180 and abs(longitude) <= 90:
        msg = "the latitude comes first; latitude and longitude seem to be swapped"
        raise ValueError(msg)
    if abs(latitude) > 90 or abs(longitude) > 180:
        msg = "a latitude lies between -90 and 90, a longitude between -180 and 180 degrees"
        raise ValueError(msg)
    return place


Place = Annotated[
    Sequence[float],
    KeptAs(Annotated[tuple[Real, Real], Strict(False), AfterValidator(_on_earth)]),
    Says("a latitude and a longitude in degrees, for example [48.86, 2.29]"),
]

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
