"""Links: what a company lets readers in by, to a truck or to a parcel.

A link to a truck ends with the truck.  One to a parcel follows it: the company says on which truck
the parcel is now, and hands over what it has to say to the reader, sealed
(``protocol.parcel_link``).  The platform sees which truck the reports are to come from, as it must
to send them, and when that changes; whether a parcel that is on no truck waits, lies in a depot or
was delivered it does not.

A label is how operators know whose link it is.  It is kept sealed, as it may hold a name; to search
is to unseal those of one company.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from voile_share.ingest import token_hash
from voile_share.platform.core import AccessError, PlatformCore, printable
from voile_share.protocol import SealedNotice
from voile_share.store import Company, TrackingLink

__all__ = ["LabelledLink", "Linking", "label_context"]

_HOUR = 3_600.0
_LEAST_HOURS, _MOST_HOURS = 1 / 60, 31 * 24.0
_MOST_LABEL = 200


def label_context(hash_: bytes) -> bytes:
    """What the sealed label of a link is bound to."""
    return b"label of a link" + hash_


@dataclass(frozen=True, slots=True)
class LabelledLink:
    """A link, and how its company calls it."""

    link: TrackingLink
    label: str


class Linking:
    """The links of companies."""

    def __init__(self, core: PlatformCore, moved: Callable[[bytes], None]) -> None:
        """``moved`` is told the hash of a link that shows another truck now."""
        self._core = core
        self._moved = moved

    def add_link(
        self, company: Company, truck: bytes | None, hours: float, label: str = ""
    ) -> tuple[str, TrackingLink]:
        """The number of a new link; raises ``AccessError``.

        To the reports of a truck, or, where that is None, to a parcel that is on no truck yet.
        """
        if truck is not None:
            self._core.own_truck(company, truck)
        number, now = self._core.new_token(), self._core.clock()
        hash_ = token_hash(number)
        link = TrackingLink(
            hash_,
            truck,
            now,
            now + _checked(hours) * _HOUR,
            company=company.company,
            follows_parcel=truck is None,
            label=self._sealed(hash_, label),
        )
        self._core.directory.add_link(link)
        return number, link

    def links(self, company: Company, truck: bytes) -> Sequence[TrackingLink]:
        """Links to a truck that have not expired, revoked ones too; raises ``AccessError``."""
        self._core.own_truck(company, truck)
        now = self._core.clock()
        return [
            link
            for link in self._core.directory.links(truck)
            if now < link.expires and not link.follows_parcel
        ]

    def links_of(self, company: Company, search: str = "") -> Sequence[LabelledLink]:
        """All links of a company that have not expired and whose label holds some words.

        Capital letters are as good as small ones.
        """
        now, wanted = self._core.clock(), search.strip().casefold()
        those = [
            LabelledLink(link, self.label(link))
            for link in self._core.directory.links_of(company.company)
            if now < link.expires
        ]
        return [one for one in those if wanted in one.label.casefold()]

    def label(self, link: TrackingLink) -> str:
        """How its company calls a link; empty where it has none."""
        if link.label is None:
            return ""
        return self._core.vault.unseal(label_context(link.hash), link.label).decode()

    def move_link(
        self, company: Company, identity: str, truck: bytes | None, notice: bytes
    ) -> None:
        """Let a link that follows a parcel show another truck, or none; raises ``AccessError``.

        ``notice`` is what its reader is told (``SealedNotice``); raises ``RejectedError`` where it
        is none.
        """
        SealedNotice.decode(notice)
        if truck is not None:
            self._core.own_truck(company, truck)
        links = [
            link
            for link in self._core.directory.links_beginning(bytes.fromhex(identity))
            if link.follows_parcel and self._is_of(company, link)
        ]
        if not links:
            raise AccessError("link-unknown")
        for link in links:
            self._core.directory.move_link(link.hash, truck, notice)
            self._moved(link.hash)

    def revoke_link(self, company: Company, number: str) -> None:
        """Close a link from now on; raises ``AccessError``."""
        link = self._core.directory.link(token_hash(number))
        self._revoke(company, [] if link is None else [link])

    def revoke_link_of(self, company: Company, identity: str) -> None:
        """The same for the link of an ``identity``, where nobody knows its number any more.

        Raises ``AccessError``.
        """
        self._revoke(company, self._core.directory.links_beginning(bytes.fromhex(identity)))

    def _revoke(self, company: Company, links: Sequence[TrackingLink]) -> None:
        own = [link for link in links if self._is_of(company, link)]
        if not own:
            raise AccessError("link-unknown")
        for link in own:
            self._core.directory.revoke_link(link.hash, self._core.clock())
            self._moved(link.hash)

    def _is_of(self, company: Company, link: TrackingLink) -> bool:
        return self._core.company_behind(link) == company.company

    def _sealed(self, hash_: bytes, label: str) -> bytes | None:
        if not label.strip():
            return None
        name = printable(label, _MOST_LABEL, "label-unfit")
        return self._core.vault.seal(label_context(hash_), name.encode())


def _checked(hours: float) -> float:
    if not (math.isfinite(hours) and _LEAST_HOURS <= hours <= _MOST_HOURS):
        raise AccessError("hours-out-of-range", f"from a minute to {_MOST_HOURS:.0f} hours")
    return hours
