"""A pair, a truck and a parcel, as the tests of the protocol use them."""

from __future__ import annotations

from dataclasses import dataclass

from voile_base.randomness import Randomness
from voile_share.protocol import (
    Carried,
    Content,
    Pair,
    PairKeys,
    Position,
    ReaderLink,
    Receiver,
    Report,
    ReportPublisher,
    Role,
    SealedSubmission,
    Sender,
    Submission,
    Suite,
    TrackingKeys,
    TrackingSecret,
    TruckSecrets,
    Waybill,
    suite_named,
)
from voile_share.protocol.primitives import verifying_key

DAY = 20_000
NOON = DAY * 86_400 + 43_200
SLOT_SECONDS = 300
TRUCK = b"truck 1 of Delft"
PARCEL = b"3SABCD0123456"
VOILE, PAPER = suite_named("voile"), suite_named("paper")
BOTH = (VOILE, PAPER)
SENDER_SEED, RECEIVER_SEED = b"s" * 32, b"r" * 32
RANDOMNESS = Randomness.seeded(2023)


def positions(latitude: float = 52.0116, longitude: float = 4.3571) -> tuple[Position, ...]:
    """One place at three levels: here the levels differ by a known step."""
    return tuple(
        Position(latitude + level, longitude - level, NOON + level, 2.0 ** -(6 + level))
        for level in range(3)
    )


def pair_keys(number: int = 0) -> PairKeys:
    """The keys of a pair of parties, without a run of key establishment."""
    drawn = RANDOMNESS.within("pair", f"{number}")
    # Below the order of the group, as suite ``paper`` has them.
    a, b = (drawn.key(name).secret[:31] + b"\x01" for name in "ab")
    return PairKeys(a, b)


def secret_of(suite: Suite, number: int = 0, parcel: bytes = PARCEL, day: int = DAY):
    """The secrets of a parcel of a pair."""
    return suite.tracking_secret(pair_keys(number), parcel, day)


def carried(suite: Suite, number: int = 0, level: int = 1, remaining: int | None = 12_345):
    """A parcel of a pair on the truck."""
    return Carried(suite.tracking_public(secret_of(suite, number)), level, remaining)


def truck(name: bytes = TRUCK) -> TruckSecrets:
    """A truck with keys of its own."""
    return TruckSecrets.draw(name, RANDOMNESS)


def publisher(suite: Suite = VOILE, name: bytes = TRUCK) -> ReportPublisher:
    """A truck that has published nothing."""
    return ReportPublisher.new(truck(name), suite)


def content(suite: Suite, parcels: int = 1, level: int = 1, room: int = 0) -> Content:
    """Three positions for parcels of so many pairs."""
    return Content(positions(), [carried(suite, n, level) for n in range(parcels)], room)


def report(suite: Suite = VOILE, slot: int = NOON, parcels: int = 1) -> bytes:
    """A report of a truck."""
    return publisher(suite).publish(slot, content(suite, parcels), RANDOMNESS)[1]


def reports(count: int, suite: Suite = VOILE) -> list[bytes]:
    """Reports of a truck in slots one after another."""
    state, written = publisher(suite), []
    for number in range(count):
        slot = NOON + number * SLOT_SECONDS
        state, message = state.publish(slot, content(suite), RANDOMNESS)
        written.append(message)
    return written


def link(suite: Suite = VOILE, number: int = 0, days: int = 1) -> ReaderLink:
    """A link to the parcel of a pair."""
    secrets = [secret_of(suite, number, day=DAY + day) for day in range(days)]
    return ReaderLink.to(suite, truck().card(), DAY, secrets)


def submission(role: Role, suite: Suite = VOILE, secret: TrackingSecret | None = None) -> bytes:
    """What a party submits to the truck."""
    keys = secret or secret_of(suite)
    seed = SENDER_SEED if role is Role.SENDER else RECEIVER_SEED
    return Submission.of(suite, TRUCK, role, PARCEL, DAY, keys).signed(seed).encode()


def tracking_keys(suite: Suite = VOILE) -> TrackingKeys:
    """A truck with the waybill of the parcel."""
    waybill = Waybill(PARCEL, verifying_key(SENDER_SEED), verifying_key(RECEIVER_SEED))
    return TrackingKeys(TRUCK, suite).carrying(waybill)


@dataclass(frozen=True)
class Run:
    """A whole run of key establishment."""

    bob: Receiver
    alice: object
    challenge: bytes
    response: bytes
    completion: bytes
    keys: tuple[PairKeys, PairKeys]


def run(suite: Suite = VOILE, name: str = "a run", pair: Pair | None = None) -> Run:
    """Key establishment from the first message to the last."""
    pair = pair or Pair(b"alice", b"bob", b"k" * 32, suite)
    bob = Receiver.begin(pair, RANDOMNESS.within(name, "bob"))
    alice = Sender(pair, RANDOMNESS.within(name, "alice")).receive(bob.challenge)
    end = bob.receive(alice.response)
    completion = end.completion
    keys = (end.keys, alice.receive(completion).keys)
    return Run(bob, alice, bob.challenge, alice.response, completion, keys)


def every_message() -> dict[str, bytes]:
    """A valid message of each kind and suite, by names such as ``report voile``."""
    messages = {"card": truck().card().encode()}
    for suite in BOTH:
        whole = run(suite)
        plain = submission(Role.SENDER, suite)
        messages |= {
            f"challenge {suite.name}": whole.challenge,
            f"response {suite.name}": whole.response,
            f"completion {suite.name}": whole.completion,
            f"submission {suite.name}": plain,
            f"sealed {suite.name}": SealedSubmission.seal(
                plain, truck().card(), RANDOMNESS
            ).encode(),
            f"report {suite.name}": report(suite, parcels=2),
            f"link {suite.name}": link(suite, days=2).encode(),
        }
    return messages | {"record": record_of(report())}


def record_of(message: bytes) -> bytes:
    """What an auditor is given of a report."""
    return Report.decode(message).record().encode()
