"""How important a class of roads is: what the page draws first, wider, and from farther away."""

from __future__ import annotations

__all__ = ["RANKS", "rank_of"]

RANKS = ("motorway", "primary", "secondary", "tertiary", "street", "service")
"""From the most important one; each is named for a class of OpenStreetMap's key ``highway``."""
_ALIKE = {"trunk": "motorway"}
_USUAL, _RAMP = RANKS.index("street"), RANKS.index("tertiary")


def rank_of(road_class: str | None) -> int:
    """The rank of a class of roads: its place in ``RANKS``.

    Classes that are unknown, or not named, are streets; ramps are tertiary at most.
    """
    name = road_class or ""
    # Ramps are short and narrow, and would crowd the crossings of motorways.
    least = _RAMP if name.endswith("_link") else 0
    name = name.removesuffix("_link")
    name = _ALIKE.get(name, name)
    return max(least, RANKS.index(name) if name in RANKS else _USUAL)
