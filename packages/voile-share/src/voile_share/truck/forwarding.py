"""Between a truck's device and the platform: reports go out, submissions come in.

The platform is asked which report it has last, and those that are later go out in the order of
their slots; so it is after every time that it did not answer, since it may have been restored from
a backup.  The same report twice is no error there.  What the platform refuses for good stops the
truck, for its chain of records could not go on.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import httpx2 as httpx

from voile_base.errors import InputError, VoileError
from voile_share.protocol import Reason, RejectedError
from voile_share.protocol.base64url import from_base64url
from voile_share.truck.own import OwnTruck

__all__ = ["AwayError", "Forwarding", "check_address"]

_SECONDS = 20.0
_REFUSED = (400, 401, 403, 404, 409, 410, 413, 415, 422)


class AwayError(VoileError):
    """The platform does not answer, or is busy; reports wait here, and one may try again."""

    def __init__(self, what: str, wait: float | None = None) -> None:
        """``wait``: after so many seconds, where the platform has said so."""
        super().__init__(what)
        self.wait = wait


def check_address(platform: str) -> None:
    """Raise ``InputError`` for what is no address of a platform."""
    try:
        parts = urlsplit(platform)
        fit = parts.scheme in {"http", "https"} and parts.hostname and parts.port != 0
    except ValueError:
        fit = False
    if not fit or parts.path not in {"", "/"} or parts.query or parts.fragment or parts.username:
        msg = "the address of the platform must be like https://share.example.org"
        raise InputError(msg)


class Forwarding:
    """One truck's talk with the platform.  Not to be shared between threads."""

    def __init__(
        self, truck: OwnTruck, platform: str, token: str, client: httpx.Client | None = None
    ) -> None:
        """``platform`` is its address; ``token`` the truck's own, given when it was registered.

        Raises ``InputError`` for what is no address.
        """
        check_address(platform)
        self._truck = truck
        self._client = client or httpx.Client(base_url=platform, timeout=_SECONDS)
        self._headers = {"authorization": f"Bearer {token}"}
        self._sent: int | None = None
        """The last slot that the platform holds; None: ask it."""
        self._read = 0

    def send(self) -> int:
        """Send the reports that the platform has not yet; how many it took.

        Raises ``AwayError``, and ``InputError`` where the platform refuses for good.
        """
        taken = 0
        if self._sent is None:
            slot = self._ask("GET", "/api/v1/reports/last")[1]["slot"]
            self._sent = self._truck.sent = -1 if slot is None else slot
        last = self._sent
        try:
            for entry in self._truck.reports(last):
                status, _ = self._ask("POST", "/api/v1/reports", content=entry.message)
                taken += status == httpx.codes.CREATED
                last = entry.slot
        finally:
            self._truck.sent = last
            if self._sent is not None:
                self._sent = last
        return taken

    def fetch(self) -> int:
        """Take what parties have submitted since the last call; how many were accepted.

        Raises the same.
        """
        accepted = 0
        while True:
            mail = self._ask("GET", f"/api/v1/mail?after={self._read}")[1]["mail"]
            for one in mail:
                try:
                    self._truck.accept(from_base64url(one["message"]))
                    accepted += 1
                except RejectedError:
                    pass  # of a parcel that is not on board, or of a day that is over
                self._read = one["number"]
            if not mail:
                return accepted

    def forget_what_was_read(self) -> None:
        """Fetch all submissions again: a parcel came on board after its parties had submitted."""
        self._read = 0

    def close(self) -> None:
        """Close connections."""
        self._client.close()

    def _ask(self, method: str, path: str, **given: Any) -> tuple[int, dict[str, Any]]:
        """Status and document of what is answered where all is well."""
        headers = {**self._headers, "content-type": "application/octet-stream"}
        try:
            answer = self._client.request(method, path, headers=headers, **given)
        except httpx.TransportError as error:
            self._sent = None
            msg = f"the platform does not answer ({type(error).__name__})"
            raise AwayError(msg) from None
        if answer.status_code in _REFUSED:
            msg = f"the platform refuses: {_reason(answer)}"
            if (_document(answer) or {}).get("reason") == Reason.FUTURE.value:
                msg += "; set the clock of this device, then: voile share truck set-back FOLDER"
            raise InputError(msg)
        document = _document(answer) if answer.is_success else None
        if document is None:
            raise self._away(answer)
        return answer.status_code, document

    def _away(self, answer: httpx.Response) -> AwayError:
        """What to make of an answer that is neither one of the platform's nor a refusal."""
        status = answer.status_code
        if status == httpx.codes.TOO_MANY_REQUESTS:
            said = answer.headers.get("retry-after", "")
            wait = float(said) if said.isascii() and said.isdigit() else None
            return AwayError("the platform takes no more at once", wait)
        self._sent = None
        if status >= httpx.codes.BAD_REQUEST:
            return AwayError(f"the platform is busy (status {status})")
        # Networks for guests answer whatever is asked, until somebody has signed in.
        return AwayError(f"what answers is not the platform (status {status}): check its address")


def _document(answer: httpx.Response) -> dict[str, Any] | None:
    try:
        document = answer.json()
    except ValueError:
        return None
    return document if isinstance(document, dict) else None


def _reason(answer: httpx.Response) -> str:
    """The sentence of a problem (RFC 9457), or its status."""
    problem = _document(answer) or {}
    said = problem.get("detail") or problem.get("title") or problem.get("reason")
    return str(said or f"status {answer.status_code}")
