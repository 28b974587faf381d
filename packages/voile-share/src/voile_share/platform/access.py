"""Why a caller may not: reasons for programs, sentences for people, neither with a secret."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from voile_base.errors import InputError, VoileError

__all__ = ["REFUSALS", "AccessError", "BusyError", "printable"]

REFUSALS: Mapping[str, str] = MappingProxyType(
    {
        "arrivals-unfit": "The table of arrivals is none",
        "company-closed": "The company was closed",
        "days-out-of-range": "The number of days cannot be",
        "device-unfit": "The name of the device cannot be used",
        "device-unknown": "The truck has no such device",
        "card-taken": "Another truck has this card",
        "card-unfit": "The card is not that of a truck",
        "hook-unfit": "The hook cannot be",
        "hook-unknown": "There is no such hook",
        "hours-out-of-range": "The number of hours cannot be",
        "key-unfit": "The keys of the parties cannot be",
        "label-unfit": "The label of the link cannot be used",
        "link-expired": "The link has expired",
        "link-revoked": "The link was revoked",
        "link-unknown": "There is no such link",
        "mail-box-full": "Too many submissions are waiting for this truck",
        "name-unfit": "The name cannot be used",
        "not-in-the-chain": "The report does not continue the truck's records",
        "own-keys": "The truck holds its keys itself",
        "parcel-carried": "The truck carries a parcel of this number",
        "parcel-unfit": "The number of the parcel cannot be used",
        "parcel-unknown": "The truck carries no such parcel",
        "place-unfit": "The destination is no position",
        "slot-unfit": "The slot of the report is none of this platform",
        "token-refused": "The token does not open this door",
        "truck-retired": "The truck was retired",
        "truck-unknown": "There is no such truck",
    }
)
"""What each reason means, in words."""


class AccessError(InputError):
    """A call is refused; ``reason`` is one of ``REFUSALS``."""

    def __init__(self, reason: str, advice: str = "") -> None:
        super().__init__(f"{REFUSALS[reason]}{': ' if advice else ''}{advice}")
        self.reason = reason


class BusyError(VoileError):
    """More is waiting than can be done soon; try again in a moment."""


def printable(text: str, most: int, reason: str) -> str:
    """A name without the blanks around it; raises ``AccessError`` where it cannot be shown."""
    name = text.strip()
    if not 1 <= len(name) <= most or not name.isprintable():
        raise AccessError(reason, f"1 to {most} printable characters")
    return name
