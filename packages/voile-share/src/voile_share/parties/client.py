"""The platform as parties see it, by the number of a link; and companies, by their token."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any, Self, TypeVar
from urllib.parse import urlsplit

import httpx2 as httpx

from voile_base.errors import InputError
from voile_share import protocol
from voile_share.protocol.wire import from_base64url

__all__ = ["PlatformClient", "PlatformClientError", "TrackingAddress", "card_in"]

_PATIENCE = 30.0
_MOST_SAID = 300
_Taken = TypeVar("_Taken")
_NUMBER = re.compile(r"[A-Za-z2-7]{32}")


class PlatformClientError(InputError):
    """The platform does not let one in, or is not there; ``reason`` is that of its problem."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True)
class TrackingAddress:
    """An address as the platform gives it, without the keys behind its dot."""

    platform: str
    """Such as https://share.example.org."""
    number: str = field(repr=False)

    @classmethod
    def of(cls, text: str) -> Self:
        """Take ``https://HOST/t#NUMBER.`` apart; raises ``InputError``, and repeats nothing."""
        msg = "this is no address of a link: copy the whole of it, https://HOST/t#NUMBER."
        try:
            parts = urlsplit(text.strip())
            host, _ = parts.hostname, parts.port
        except ValueError:
            raise InputError(msg) from None
        number, _, keys = parts.fragment.partition(".")
        is_page = parts.scheme in {"http", "https"} and parts.path == "/t" and not parts.query
        if not (host and is_page and _NUMBER.fullmatch(number)) or "@" in parts.netloc:
            raise InputError(msg)
        if keys:
            msg = "this address has its keys already: it can be opened, or take one without them"
            raise InputError(msg)
        if parts.scheme == "http" and not _is_here(host):
            msg = (
                "a link over http is readable on its way, and browsers decrypt nothing there: the "
                "platform must have an address of https"
            )
            raise InputError(msg)
        return cls(f"{parts.scheme}://{parts.netloc}", number)

    def opening(self, link: protocol.ReaderLink | protocol.ParcelLink) -> str:
        """The whole address, which opens in a browser: whoever has it reads the reports."""
        return f"{self.platform}/t#{self.number}.{link.fragment()}"


def _is_here(host: str) -> bool:
    """Whether a host is this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@dataclass(frozen=True)
class PlatformClient:
    """A link to a truck's reports: who has its number may read them and submit keys.

    With a company's token in its place the company's calls are answered.

    Where the platform asks to wait, ``sleep`` does, for at most some seconds altogether.
    """

    client: httpx.Client
    """Its base address is the platform's."""
    number: str = field(repr=False)
    sleep: Callable[[float], None] = field(default=time.sleep, repr=False)

    def card(self) -> protocol.TruckCard:
        """The card that the platform shows of the truck; raises ``PlatformClientError``.

        Who goes by it trusts the platform: whoever names the card opens what is sealed for it, and
        signs what is believed.
        """
        return self.read("GET", "/api/v1/card", lambda answer: card_in(answer["card"]))

    def check_card(self, given: protocol.TruckCard) -> None:
        """Refuse a platform that shows another card than the truck's company gave.

        Raises ``PlatformClientError``.
        """
        if self.card() != given:
            msg = (
                "the platform shows another card for this link than the truck's company gave: make "
                "no link, and ask the company which truck carries the parcel"
            )
            raise PlatformClientError("card-foreign", msg)

    def submit(self, sealed: protocol.SealedSubmission) -> None:
        """Hand a submission to the truck; raises ``PlatformClientError``."""
        kind = {"content-type": "application/octet-stream"}
        self.ask("POST", "/api/v1/mail", headers=kind, content=sealed.encode())

    def read(
        self, method: str, path: str, taken: Callable[[Any], _Taken], **given: object
    ) -> _Taken:
        """What ``taken`` makes of the document that is answered; raises ``PlatformClientError``."""
        answer = self.ask(method, path, **given)
        try:
            return taken(answer.json())
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError, InputError):
            msg = "what answers is no sharing service of Voile, or not of this version"
            raise PlatformClientError("", msg) from None

    def ask(self, method: str, path: str, **given: Any) -> httpx.Response:
        """What is answered where all is well; raises ``PlatformClientError``.

        Where the platform asks to wait, it is asked again.
        """
        headers = {"authorization": f"Bearer {self.number}", **given.pop("headers", {})}
        left = _PATIENCE
        while True:
            try:
                answer = self.client.request(method, path, headers=headers, **given)
            except httpx.RequestError as error:
                msg = f"the platform does not answer ({type(error).__name__})"
                raise PlatformClientError("", msg) from None
            if answer.is_success:
                return answer
            seconds = _seconds_to_wait(answer)
            if seconds is None or seconds > left:
                raise _refusal(answer)
            left -= seconds
            self.sleep(seconds)


def card_in(text: str) -> protocol.TruckCard:
    """A truck's card in base64url; raises ``InputError``."""
    try:
        return protocol.TruckCard.decode(from_base64url(text.strip()))
    except (ValueError, protocol.RejectedError):
        msg = "this is no card of a truck: copy the whole of it"
        raise InputError(msg) from None


def _seconds_to_wait(answer: httpx.Response) -> float | None:
    """After which one may ask again; None: never."""
    wait = answer.headers.get("retry-after", "")
    busy = answer.status_code in {429, 503}
    return float(max(1, int(wait))) if busy and re.fullmatch(r"[0-9]{1,6}", wait) else None


def _refusal(answer: httpx.Response) -> PlatformClientError:
    """A problem (RFC 9457) in its own words, as far as they can be shown."""
    try:
        problem = answer.json()
        reason = str(problem["reason"])
        said = str(problem.get("detail") or problem.get("title") or reason)[:_MOST_SAID]
    except (ValueError, LookupError, TypeError, AttributeError):
        reason, said = "", ""
    if not (said and said.isprintable()):
        said = f"status {answer.status_code}"
    return PlatformClientError(reason, f"the platform refuses: {said}")
