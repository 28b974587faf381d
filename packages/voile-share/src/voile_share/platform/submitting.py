"""Submissions of parties to trucks: read at once, or kept for a truck that holds its keys."""

from __future__ import annotations

from voile_share.platform.access import AccessError
from voile_share.platform.core import PlatformCore
from voile_share.platform.receiving import Admission
from voile_share.platform.trucks import Trucks
from voile_share.protocol import Reason, RejectedError, SealedSubmission
from voile_share.store import Company, Mail, MailBounds, TrackingLink

__all__ = ["Submitting"]

_MOST_MAIL = 10_000
"""Submissions that wait for a truck that holds its keys."""
_MOST_OF_LINK = 200
"""Submissions that come by one link: of both parties of three parcels for a month."""
_FULL = (
    "a link brings 200 submissions at most, and a truck's box holds 10,000, each for 31 days; ask "
    "the company for another link, or try again later"
)


class Submitting:
    """What parties send to trucks.  Threads may share it."""

    def __init__(self, core: PlatformCore, admission: Admission, trucks: Trucks) -> None:
        self._core = core
        self._admission = admission
        self._trucks = trucks

    def submit(self, link: TrackingLink, message: bytes) -> None:
        """Take a party's sealed submission to the truck of a link.

        Raises ``RejectedError``, as far as the platform can see: it reads what is meant for trucks
        whose keys it holds; and ``AccessError``.
        """
        sealed = SealedSubmission.decode(message)
        if sealed.truck != link.truck:
            msg = "the submission is meant for another truck than that of the link"
            raise RejectedError(Reason.FOREIGN, msg)
        self._submit(sealed.truck, message, link.hash)

    def submit_by_company(self, company: Company, number: bytes, message: bytes) -> None:
        """Take what parties have signed for their carrier, and it has sealed for a truck of its.

        Raises the same.
        """
        truck = self._core.own_truck(company, number)
        if SealedSubmission.decode(message).truck != truck.truck:
            msg = "the submission is meant for another truck"
            raise RejectedError(Reason.FOREIGN, msg)
        self._submit(truck.truck, message, None)

    def _submit(self, number: bytes, message: bytes, link: bytes | None) -> None:
        truck, now = self._admission.served(number), self._core.clock()
        if truck.own_keys:
            bounds = MailBounds(link, _MOST_OF_LINK, _MOST_MAIL)
            if self._core.directory.add_mail(Mail(truck.truck, message, now), bounds) is None:
                raise AccessError("mail-box-full", _FULL)
            return
        held = self._trucks.of(truck.truck)
        with held.lock:
            held.present(truck, now).accept(message, now)
