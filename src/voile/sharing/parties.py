"""Sender and receiver of a parcel as programs: agree on keys, tell the truck, make the address.

What a web shop's or a carrier's program does for both of them, or each party's for itself: keys
stay here, the platform sees sealed submissions, and the fragment of the address that is made goes
to nobody but the party.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import httpx2 as httpx

from voile.errors import InputError
from voile.randomness import Randomness
from voile.sharing import protocol
from voile.sharing.protocol.base64url import from_base64url
from voile.sharing.protocol.signing import verifying_key

__all__ = ["Door", "Parties"]


@dataclass(frozen=True)
class Door:
    """A link to a truck's reports: who has its number may read them and submit keys."""

    client: httpx.Client
    """Its base address is the platform's."""
    number: str = field(repr=False)

    def card(self) -> protocol.TruckCard:
        """The truck's card; raises ``InputError``."""
        text = self._ask("GET", "/api/v1/card").json()["card"]
        return protocol.TruckCard.decode(from_base64url(text))

    def submit(self, sealed: protocol.SealedSubmission) -> None:
        """Hand a submission to the truck; raises ``InputError``."""
        kind = {"content-type": "application/octet-stream"}
        self._ask("POST", "/api/v1/mail", headers=kind, content=sealed.encode())

    def _ask(self, method: str, path: str, **given: Any) -> httpx.Response:
        headers = {"authorization": f"Bearer {self.number}", **given.pop("headers", {})}
        try:
            answer = self.client.request(method, path, headers=headers, **given)
        except httpx.TransportError as error:
            msg = f"the platform does not answer ({type(error).__name__})"
            raise InputError(msg) from None
        if answer.is_error:
            msg = f"the platform refuses (status {answer.status_code})"
            raise InputError(msg)
        return answer


@dataclass(frozen=True)
class Parties:
    """Sender and receiver after Protocol 1."""

    keys: protocol.PairKeys = field(repr=False)
    seeds: dict[protocol.Role, bytes] = field(repr=False)
    """Ed25519, by which each signs."""
    randomness: Randomness = field(repr=False)

    @classmethod
    def agree(cls, pair: protocol.Pair, randomness: Randomness) -> Self:
        """Run Protocol 1 between both, where one program speaks for them."""
        receiver = protocol.Receiver.begin(pair, randomness.within("receiver"))
        sender = protocol.Sender(pair, randomness.within("sender")).receive(receiver.challenge)
        established = receiver.receive(sender.response)
        assert established.completion is not None
        assert sender.receive(established.completion).keys == established.keys
        seeds = {role: randomness.key("signing", role.name).secret for role in protocol.Role}
        return cls(established.keys, seeds, randomness)

    @property
    def signers(self) -> tuple[bytes, bytes]:
        """The keys by which sender and receiver sign: what the parcel is registered with."""
        return (
            verifying_key(self.seeds[protocol.Role.SENDER]),
            verifying_key(self.seeds[protocol.Role.RECEIVER]),
        )

    def submit(self, door: Door, parcel: bytes, first_day: int, days: int = 1) -> protocol.Link:
        """Tell the truck the keys of some days, for both parties; what readers need of them.

        Raises ``InputError``.
        """
        card, suite = door.card(), protocol.suite_named()
        secrets = [
            suite.tracking_secret(self.keys, parcel, first_day + later) for later in range(days)
        ]
        for day, secret in enumerate(secrets, first_day):
            for role, seed in self.seeds.items():
                half = protocol.Submission.of(suite, card.truck, role, parcel, day, secret)
                drawn = self.randomness.within("submission", parcel.hex(), f"{day}", role.name)
                door.submit(protocol.SealedSubmission.seal(half.signed(seed).encode(), card, drawn))
        return protocol.Link.to(suite, card, first_day, secrets)
