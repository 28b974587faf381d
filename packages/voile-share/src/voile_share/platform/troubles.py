"""Why a truck publishes nothing, and what helps: the sentences for its operator.

What a tracker sends and is not published for stays in memory, of each truck the last reason, until
its next report.  Reasons are those of ``ingest.REASONS`` and ``Outcome``; sentences name no truck,
since notices hold nothing of any request: the operator's page shows them beside the truck.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from voile_share.ingest import REASONS

__all__ = ["REMEDIES", "THROWN_AWAY", "Trouble", "trouble_text"]

REMEDIES: Mapping[str, str] = MappingProxyType(
    {
        "behind": "A tracker's positions are earlier than its truck's last report: set the clock "
        "of the tracker",
        "budget-spent": "A truck has spent its budget of this day (UTC), and publishes no more "
        "until it is over: see budget under [platform] in share.toml",
        "time-in-the-future": "A tracker's clock is more than 5 minutes ahead: set the clock of "
        "the tracker, or of this machine",
        "time-too-old": "A tracker's positions are older than 7 days: set the clock of the "
        "tracker, or of this machine",
        "token-refused": "A tracker's token was refused: issue another to the device, or look who "
        "tries tokens",
        "truck-ahead": "A truck's last report is ahead of the clock of this machine: set this "
        "clock, or take the report back by voile share set-back",
    }
)
"""Sentences of the reasons that somebody can do something about."""

THROWN_AWAY = frozenset({"behind", "superseded", "budget-spent"})
"""Outcomes whose positions nobody will publish any more."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """What a truck's tracker was last told instead of that a report was published."""

    reason: str
    since: float
    """The first time, seconds since 1970."""


def trouble_text(reason: str) -> str:
    """What is wrong and what helps, for people."""
    return REMEDIES.get(reason) or f"{REASONS.get(reason, reason)}: see docs/trackers.md"
