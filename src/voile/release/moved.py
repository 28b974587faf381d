"""What a release of moved trajectories lets one see of its own claim.

- it promises nothing for trajectories where angles were selected, or zones are those of true
  positions;
- it shows no positions beside remaining distances;
- its trips have as many reports as the costliest one that it states, or there is none such.

Positions themselves are checked by their kind of disclosure (``voile.disclosure.moved``).  That
noise was drawn, and from which distribution, cannot be seen in an output.

Cost: a count of the trips.
"""

from __future__ import annotations

from collections.abc import Iterator

from voile.disclosure.moved import Moved, Remaining, TurningLaplace
from voile.release.published import Published

__all__ = ["moved_breaches"]


def moved_breaches(
    published: Published, *, protects_trajectories: bool, within_zones: bool, reports: int | None
) -> Iterator[str]:
    """What a moved release claims and does not have; nothing where it is sound.

    ``reports`` are those of the costliest trip, where one is stated.
    """
    shown = published.disclosure.columns.values()
    moved = [one for one in shown if isinstance(one, Moved)]
    turning = any(isinstance(one.law, TurningLaplace) for one in moved)
    if protects_trajectories and (turning or within_zones):
        yield "it promises for trajectories what holds for single reports"
    if moved and any(isinstance(one, Remaining) for one in shown):
        yield "it shows positions beside remaining distances"
    if reports is not None and reports not in published.table.group_sizes(published.roles["trip"]):
        yield "no trip has as many reports as the costliest one that it states"
