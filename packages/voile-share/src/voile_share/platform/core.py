"""The core of the platform, which every part is given: stores, key, clock, tokens and links.

What is read from the directory for every report is believed afterwards (``Watch``): this process
says by itself what it changes, and asks the store now and then whether others have written.

Why a caller may not: reasons for programs, sentences for people, neither with a secret.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import count
from types import MappingProxyType
from typing import NamedTuple

from voile_base.errors import InputError, VoileError
from voile_base.randomness import Randomness
from voile_share.ingest import issue, token_hash
from voile_share.platform.settings import Settings
from voile_share.platform.vault import Vault
from voile_share.store import (
    AccessToken,
    Company,
    Directory,
    ReportLog,
    TokenRole,
    TrackingLink,
    Truck,
)

__all__ = ["REFUSALS", "AccessError", "BusyError", "DirectorySnapshot", "PlatformCore", "printable"]


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


_LOOK_SECONDS = 2.0
"""Between two looks whether others have written."""
_BELIEVED_SECONDS = (3.0, 5.0)
"""For how long something is believed where the store cannot tell whether others have written.  Each
thing has its own time in between, so that those that were read together are not again."""


class DirectorySnapshot(NamedTuple):
    """How the directory was when something was read from it."""

    writes: int | None
    """``Directory.foreign_writes``."""
    time: float
    until: float
    """Up to when it is believed, where nobody can tell."""


class _Watch:
    """Whether what was read from the directory may be believed still.  Threads may share it."""

    def __init__(self, directory: Directory) -> None:
        self._directory = directory
        self._last = DirectorySnapshot(None, -math.inf, -math.inf)

    def look(self, now: float, whose: bytes) -> DirectorySnapshot:
        """How the directory is; to be asked before something of a number is read from it."""
        shortest, longest = _BELIEVED_SECONDS
        patience = shortest + (longest - shortest) * whose[0] / 255
        return DirectorySnapshot(self._writes(now), now, now + patience)

    def is_stale(self, seen: DirectorySnapshot, now: float) -> bool:
        """Whether to read it again, although this process has not changed it."""
        if seen.writes is None:
            return not seen.time <= now < seen.until
        return self._writes(now) != seen.writes

    def _writes(self, now: float) -> int | None:
        if not 0 <= now - self._last.time < _LOOK_SECONDS:
            self._last = DirectorySnapshot(self._directory.foreign_writes(), now, now)
        return self._last.writes


@dataclass(frozen=True)
class PlatformCore:
    """Stores, key, terms, entropy and clock of a platform."""

    directory: Directory
    log: ReportLog
    vault: Vault
    settings: Settings = field(default_factory=Settings)
    randomness: Randomness = field(default_factory=Randomness.secure)
    clock: Callable[[], float] = time.time
    _drawn: Iterator[int] = field(default_factory=count, repr=False)

    @cached_property
    def watch(self) -> _Watch:
        """Whether what was read from the directory still holds."""
        return _Watch(self.directory)

    def fresh(self, purpose: str) -> Randomness:
        """Randomness that no other call has been given."""
        return self.randomness.within(purpose, str(next(self._drawn)))

    def new_token(self) -> str:
        """160 random bits in 32 letters and digits: of a company, a truck, an auditor, a link."""
        return issue("", 0.0, randomness=self.fresh("token"))[0]

    def open_token(self, token: str, role: TokenRole) -> AccessToken:
        """What is kept of a token; raises ``AccessError`` in one way for whatever is wrong."""
        kept = self.directory.token(token_hash(token))
        if kept is None or kept.role is not role or not kept.is_open(self.clock()):
            raise AccessError("token-refused")
        return kept

    def company_of(self, token: str) -> Company:
        """The company of a token; raises ``AccessError``."""
        company = self.directory.company(self.open_token(token, TokenRole.COMPANY).holder)
        if company is None or company.closed is not None:
            raise AccessError("token-refused")
        return company

    def truck_of(self, token: str) -> Truck:
        """The truck that publishes by itself with a token; raises ``AccessError``."""
        truck = self.directory.truck(bytes.fromhex(self.open_token(token, TokenRole.TRUCK).holder))
        if truck is None or truck.retired is not None or not self.is_served(truck):
            raise AccessError("token-refused")
        return truck

    def auditor_of(self, token: str) -> str:
        """The auditor's name; raises ``AccessError``."""
        return self.open_token(token, TokenRole.AUDITOR).holder

    def link_of(self, number: str) -> TrackingLink:
        """An open link; raises ``AccessError`` and says whether it is unknown or has ended.

        Whoever has the number of a link has had the link, so that gives nothing away.
        """
        link = self.directory.link(token_hash(number))
        if link is None:
            raise AccessError("link-unknown", "copy the whole address, or ask for a new one")
        if link.revoked is not None and link.revoked <= self.clock():
            raise AccessError("link-revoked", "ask for a new one")
        if not (link.is_open(self.clock()) and self._leads_somewhere(link)):
            raise AccessError("link-expired", "ask for a new one")
        return link

    def _leads_somewhere(self, link: TrackingLink) -> bool:
        """Whether the company of a link is open, and the truck, where it is to one, not retired."""
        if link.follows_parcel:
            return self._is_open(link.company)
        truck = None if link.truck is None else self.directory.truck(link.truck)
        return truck is not None and truck.retired is None and self.is_served(truck)

    def company_behind(self, link: TrackingLink) -> str:
        """The number of the company that has opened a link."""
        if link.company or link.truck is None:
            return link.company
        truck = self.directory.truck(link.truck)
        return "" if truck is None else truck.company

    def is_served(self, truck: Truck) -> bool:
        """Whether the company of a truck is open."""
        return self._is_open(truck.company)

    def _is_open(self, number: str) -> bool:
        company = self.directory.company(number)
        return company is not None and company.closed is None

    def own_truck(self, company: Company, number: bytes) -> Truck:
        """A truck of the company; another company's is unknown to it.  Raises ``AccessError``."""
        truck = self.directory.truck(number)
        if truck is None or truck.company != company.company:
            raise AccessError("truck-unknown")
        if truck.retired is not None:
            raise AccessError("truck-retired")
        return truck
