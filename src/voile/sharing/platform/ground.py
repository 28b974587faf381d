"""What every part of the platform stands on, and its two doors: tokens and links."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count

from voile.randomness import Randomness
from voile.sharing.ingest import issue, token_hash
from voile.sharing.platform.access import AccessError
from voile.sharing.platform.settings import Settings
from voile.sharing.platform.vault import Vault
from voile.sharing.store import (
    AccessToken,
    Company,
    Directory,
    ReportLog,
    Role,
    TrackingLink,
    Truck,
)

__all__ = ["Ground"]


@dataclass(frozen=True)
class Ground:
    """Stores, key, terms, entropy and clock of a platform."""

    directory: Directory
    log: ReportLog
    vault: Vault
    settings: Settings = field(default_factory=Settings)
    randomness: Randomness = field(default_factory=Randomness.secure)
    clock: Callable[[], float] = time.time
    _drawn: Iterator[int] = field(default_factory=count, repr=False)

    def fresh(self, purpose: str) -> Randomness:
        """Randomness that no other call has been given."""
        return self.randomness.within(purpose, str(next(self._drawn)))

    def new_token(self) -> str:
        """160 random bits in 32 letters and digits: of a company, a truck, an auditor, a link."""
        return issue("", 0.0, randomness=self.fresh("token"))[0]

    def open_token(self, token: str, role: Role) -> AccessToken:
        """What is kept of a token; raises ``AccessError`` in one way for whatever is wrong."""
        kept = self.directory.token(token_hash(token))
        if kept is None or kept.role is not role or not kept.is_open(self.clock()):
            raise AccessError("token-refused")
        return kept

    def company_of(self, token: str) -> Company:
        """The company of a token; raises ``AccessError``."""
        company = self.directory.company(self.open_token(token, Role.COMPANY).holder)
        if company is None or company.closed is not None:
            raise AccessError("token-refused")
        return company

    def truck_of(self, token: str) -> Truck:
        """The truck that publishes by itself with a token; raises ``AccessError``."""
        truck = self.directory.truck(bytes.fromhex(self.open_token(token, Role.TRUCK).holder))
        if truck is None or truck.retired is not None or not self.is_served(truck):
            raise AccessError("token-refused")
        return truck

    def auditor_of(self, token: str) -> str:
        """The auditor's name; raises ``AccessError``."""
        return self.open_token(token, Role.AUDITOR).holder

    def link_of(self, number: str) -> TrackingLink:
        """An open link; raises ``AccessError`` and says whether it is unknown or has ended.

        Whoever has the number of a link has had the link, so that gives nothing away.
        """
        link = self.directory.link(token_hash(number))
        if link is None:
            raise AccessError("link-unknown", "copy the whole address, or ask for a new one")
        if link.revoked is not None and link.revoked <= self.clock():
            raise AccessError("link-revoked", "ask for a new one")
        truck = self.directory.truck(link.truck)
        ended = truck is None or truck.retired is not None or not self.is_served(truck)
        if ended or not link.is_open(self.clock()):
            raise AccessError("link-expired", "ask for a new one")
        return link

    def is_served(self, truck: Truck) -> bool:
        """Whether the company of a truck is open."""
        company = self.directory.company(truck.company)
        return company is not None and company.closed is None

    def own_truck(self, company: Company, number: bytes) -> Truck:
        """A truck of the company; another company's is unknown to it.  Raises ``AccessError``."""
        truck = self.directory.truck(number)
        if truck is None or truck.company != company.company:
            raise AccessError("truck-unknown")
        if truck.retired is not None:
            raise AccessError("truck-retired")
        return truck
