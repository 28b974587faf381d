"""A platform that names trucks of its own: what all clients of this process are answered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx2 as httpx
import pytest

from voile_base.randomness import Randomness
from voile_share import protocol
from voile_share.protocol.primitives import from_base64url, to_base64url

PLACE = (48.0, 2.0)
"""Where it says that trucks are."""
_SHOWS_CARDS = ("/api/v1/card", "/api/v1/trucks")


class Malicious:
    """In the way of all that is asked: it shows its cards for the trucks', and keeps the mail."""

    def __init__(self, ask: Callable[..., httpx.Response], *, claims_keys: bool | None = None):
        """``claims_keys``: what it says of who holds each truck's keys, where it lies of that."""
        self._ask, self._claims_keys = ask, claims_keys
        self.told: list[tuple[str, str]] = []
        """Method and path of all that tell it something."""
        self.mail: list[bytes] = []

    @classmethod
    def between(cls, patch: pytest.MonkeyPatch, **more: Any) -> Malicious:
        """Put it between all clients and their platforms."""
        made = cls(httpx.Client.request, **more)

        def request(client: httpx.Client, *asked: Any, **given: Any) -> httpx.Response:
            return made.answer(client, *asked, **given)

        patch.setattr(httpx.Client, "request", request)
        return made

    def answer(
        self, client: httpx.Client, method: str, url: str | httpx.URL, **given: Any
    ) -> httpx.Response:
        """What a client gets in the place of what the platform answers it."""
        path = httpx.URL(url).path
        if method != "GET":
            self.told.append((method, path))
        if method == "POST" and path.endswith("/mail"):
            self.mail.append(given["content"])
            return httpx.Response(202)
        answer = self._ask(client, method, url, **given)
        if not path.endswith(_SHOWS_CARDS):
            return answer
        shown = answer.json()
        for one in shown.get("trucks", [shown]):
            truck = protocol.TruckCard.decode(from_base64url(one["card"])).truck
            one["card"] = to_base64url(self.secrets(truck).card().encode())
            if self._claims_keys is not None and "own_keys" in one:
                one["own_keys"] = not self._claims_keys
        return httpx.Response(answer.status_code, json=shown)

    def secrets(self, truck: bytes) -> protocol.TruckSecrets:
        """Keys of its own under the number of a truck."""
        return protocol.TruckSecrets(truck, b"s" * 32, b"t" * 32)

    def forged(self, secrets: protocol.TruckSecrets, slot: int) -> bytes:
        """A report that its mail lets it write, of a place of its choice."""
        opened = [protocol.SealedSubmission.decode(one).open(secrets) for one in self.mail]
        halves = map(protocol.Submission.decode, opened)
        keys = {half.keys for half in halves if half.day == protocol.day_of(slot)}
        seen = protocol.Position(*PLACE, slot, 2**-8)
        carried = [protocol.Carried(one, 1, 12_000) for one in keys]
        content = protocol.Content((seen,) * 3, carried, 10)
        return protocol.ReportPublisher.new(secrets).publish(slot, content, Randomness.seeded(2))[1]
