"""Between a truck's device and the platform: reports go out, submissions come in.

Reports go out in the order of their slots, each again until the platform has answered that it holds
it: the same report twice is no error there.  What the platform refuses for good stops the truck,
for its chain of records could not go on.
"""

from __future__ import annotations

from typing import Any

import httpx2 as httpx

from voile.errors import InputError, VoileError
from voile.sharing.protocol import RejectedError
from voile.sharing.protocol.base64url import from_base64url
from voile.sharing.truck.own import OwnTruck

__all__ = ["AwayError", "Forwarding"]

_SECONDS = 20.0
_MISSING = (400, 401, 403, 404, 409, 410, 413, 415, 422)


class AwayError(VoileError):
    """The platform does not answer, or is busy; reports wait here, and one may try again."""


class Forwarding:
    """One truck's talk with the platform.  Not to be shared between threads."""

    def __init__(
        self, truck: OwnTruck, platform: str, token: str, client: httpx.Client | None = None
    ) -> None:
        """``platform`` is its address; ``token`` the truck's own, given when it was registered."""
        self._truck = truck
        self._client = client or httpx.Client(base_url=platform, timeout=_SECONDS)
        self._headers = {"authorization": f"Bearer {token}"}
        self._sent = -1
        self._read = 0

    def send(self) -> int:
        """Send the reports that the platform has not yet; how many it took.

        Raises ``AwayError``, and ``InputError`` where the platform refuses for good.
        """
        taken = 0
        for entry in self._truck.reports(self._sent):
            answer = self._ask("POST", "/api/v1/reports", content=entry.message)
            taken += answer.status_code == httpx.codes.CREATED
            self._sent = entry.slot
        return taken

    def fetch(self) -> int:
        """Take what parties have submitted since the last call; how many were accepted.

        Raises the same.
        """
        accepted = 0
        while True:
            path = f"/api/v1/mail?after={self._read}"
            mail = self._ask("GET", path).json()["mail"]
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

    def _ask(self, method: str, path: str, **given: Any) -> httpx.Response:
        headers = {**self._headers, "content-type": "application/octet-stream"}
        try:
            answer = self._client.request(method, path, headers=headers, **given)
        except httpx.TransportError as error:
            msg = f"the platform does not answer ({type(error).__name__}): it is tried again"
            raise AwayError(msg) from None
        if answer.status_code in _MISSING:
            msg = f"the platform refuses: {_reason(answer)}"
            raise InputError(msg)
        if answer.status_code >= httpx.codes.BAD_REQUEST:
            msg = f"the platform is busy (status {answer.status_code}): it is tried again"
            raise AwayError(msg)
        return answer


def _reason(answer: httpx.Response) -> str:
    """The sentence of a problem (RFC 9457), or its status."""
    try:
        problem = answer.json()
        return str(problem.get("detail") or problem.get("title") or problem["reason"])
    except (ValueError, KeyError, AttributeError):
        return f"status {answer.status_code}"
