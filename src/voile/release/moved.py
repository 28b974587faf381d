"""What a release of moved trajectories lets one see of its own claim.

- it shows positions on the grid of degrees that it states, which can be positions; or none, and
  then whole metres of at least 0;
- its trips have as many reports as the costliest one that it states, or there is none such;
- it promises nothing for trajectories where angles were selected, or zones are those of true
  positions.

That noise was drawn, and from which law, cannot be seen in an output.

Cost: a count of the distinct values of each coordinate.
"""

from __future__ import annotations

from collections.abc import Iterator

from voile.release.release import Release

__all__ = ["moved_breaches"]

_LIMITS = {"latitude": 90, "longitude": 180}


def moved_breaches(release: Release) -> Iterator[str]:
    """What a moved release claims and does not have; nothing where it is sound.

    Raises ``KeyError``, ``TypeError`` or ``ValueError`` where it does not say what it claims.
    """
    parameters = release.guarantee.parameters
    by_distance = parameters["mechanism"] == "remaining-distance"
    within_zones = release.guarantee.kind.endswith("within-zones")
    if parameters["trajectory"] and (parameters["mechanism"] == "angle-selection" or within_zones):
        yield "it promises for trajectories what holds for single reports"
    if by_distance:
        if {"latitude", "longitude"} & release.roles.keys():
            yield "it shows positions beside remaining distances"
        yield from _misplaced(release, "remaining", 0, None)
    else:
        decimals = int(release.method["decision"]["decimals"])
        for role, limit in _LIMITS.items():
            yield from _misplaced(release, role, decimals, limit)
    if "costliest_trip" in parameters:
        reports = release.table.group_sizes(release.roles["trip"])
        if int(parameters["costliest_trip"]["reports"]) not in reports:
            yield "no trip has as many reports as the costliest one that it states"


def _misplaced(release: Release, role: str, decimals: int, limit: int | None) -> Iterator[str]:
    """Whether values of a column have more decimals, or are larger, than they may."""
    (column,) = release.roles[role]
    numbers = release.table.cells(release.roles["trip"], column).values.numbers
    if numbers is None or numbers.scale > decimals:
        yield f"column {column!r} does not lie on the grid that it states"
    elif limit is not None and abs(numbers.units).max() > limit * 10**numbers.scale:
        yield f"column {column!r} shows what cannot be a {role}"
    elif limit is None and numbers.units.min() < 0:
        yield f"column {column!r} shows distances below 0"
