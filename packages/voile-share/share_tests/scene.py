"""A platform with a clock that tests turn, a company, trucks, parcels and their parties."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from voile_base.randomness import Randomness
from voile_share import protocol
from voile_share.ingest import Request
from voile_share.platform import Platform, Settings, SlotOutcome, Vault
from voile_share.protocol.primitives import verifying_key
from voile_share.store import SQLiteStore, Truck
from voile_testing.processes import PATIENCE

__all__ = ["DAY", "HOME", "NOON", "Clock", "Parties", "Scene"]

DAY = 20_000
NOON = DAY * 86_400 + 43_200
HOME = (52.0123456, 4.3654321)
"""Where parcels go."""


@dataclass
class Clock:
    """A clock that stands until it is turned."""

    now: float = float(NOON)

    def __call__(self) -> float:
        return self.now


@dataclass(frozen=True)
class Parties:
    """Sender and receiver of a parcel, after they have agreed on keys."""

    name: str = "A"

    @property
    def pair(self) -> protocol.PairKeys:
        return protocol.PairKeys(self._bytes("a"), self._bytes("b"))

    @property
    def keys(self) -> tuple[bytes, bytes]:
        """By which they sign."""
        return verifying_key(self._bytes("sender")), verifying_key(self._bytes("receiver"))

    def secret(self, parcel: bytes, day: int = DAY) -> protocol.TrackingSecret:
        return protocol.suite_named().tracking_secret(self.pair, parcel, day)

    def submissions(
        self, card: protocol.TruckCard, parcel: bytes, day: int = DAY
    ) -> tuple[bytes, bytes]:
        """What both send to a truck."""
        sealed = []
        for role, name in ((protocol.Role.SENDER, "sender"), (protocol.Role.RECEIVER, "receiver")):
            half = protocol.Submission.of(
                protocol.suite_named(), card.truck, role, parcel, day, self.secret(parcel, day)
            ).signed(self._bytes(name))
            drawn = Randomness.seeded(1).within(self.name, name)
            sealed.append(protocol.SealedSubmission.seal(half.encode(), card, drawn).encode())
        return sealed[0], sealed[1]

    def _bytes(self, name: str) -> bytes:
        return Randomness.seeded(5).key(self.name, name).secret


@dataclass
class Scene:
    """Everything in one folder; ``reopened`` is the same after the process was started again."""

    folder: Path
    settings: Settings = field(default_factory=Settings)
    clock: Clock = field(default_factory=Clock)
    seed: int = 3

    def __post_init__(self) -> None:
        key = self.folder / "vault.key"
        self.vault = Vault.open(key) if key.exists() else Vault.create(key)
        self.store = SQLiteStore.open(self.folder / "share.db")
        self.platform = Platform(
            self.store,
            self.store,
            self.vault,
            self.settings,
            Randomness.seeded(self.seed),
            self.clock,
        )

    def reopened(self) -> Scene:
        self.platform.close()
        return Scene(self.folder, self.settings, self.clock, self.seed + 1)

    def company(self, name: str = "Post of Delft"):
        company, _ = self.platform.open_company(name)
        return company

    def truck(self, company, device: str = "truck-7") -> tuple[Truck, str]:
        """A truck with a tracker, and the tracker's token."""
        truck, _ = self.platform.add_truck(company)
        return truck, self.platform.add_device(company, truck.truck, device)

    def card(self, truck: Truck) -> protocol.TruckCard:
        return protocol.TruckCard.decode(self.platform.card(truck.truck))

    def parcel(
        self, company, truck: Truck, name: bytes, parties: Parties, home=HOME, day: int = DAY
    ) -> protocol.ReaderLink:
        """A parcel whose parties have submitted their keys, and the link that follows it."""
        self.platform.add_parcel(company, truck.truck, name, *parties.keys, home)
        number, _ = self.platform.add_link(company, truck.truck, hours=24)
        card = self.card(truck)
        for sealed in parties.submissions(card, name, day):
            self.platform.submit(self.platform.link_of(number), sealed)
        return protocol.ReaderLink.to(
            protocol.suite_named(), card, day, [parties.secret(name, day)]
        )

    def send(
        self, token: str, place=(52.01, 4.36), device: str = "truck-7", time=None
    ) -> SlotOutcome:
        """One position of a tracker, at the time of the clock."""
        time = self.clock.now if time is None else time
        query = f"id={device}&lat={place[0]}&lon={place[1]}&timestamp={time:.0f}"
        return self.platform.receive(token, Request(query=query)).result(PATIENCE).outcome

    def drive(self, token: str, reports: int, **sent) -> None:
        """Positions in slots one after another."""
        for _ in range(reports):
            assert self.send(token, **sent) is SlotOutcome.PUBLISHED
            self.clock.now += self.settings.slot_seconds
