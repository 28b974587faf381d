"""How keys are agreed: those of sender and receiver (protocol 1), those of a parcel (protocol 2).

Protocol 1
----------
Sender and receiver, who share a long-term key, agree on fresh keys.

What it does: three messages between Bob (the receiver, who begins) and Alice (the sender), after
which both hold k_a and k_b, and each knows that the other took part in this run.

Source: ISO/IEC 11770-2 mechanism 6, as "Trajectory Hiding and Sharing for Supply Chains with
Differential Privacy" (ESORICS 2023), Protocol 1, uses it; the diagram with its
messages is lost in the text that we have:

1. Bob to Alice: N_B
2. Alice to Bob: E_K(N_A, N_B, ID_B, F_AB)
3. Bob to Alice: E_K(N_B, N_A, F_BA)

Claim: against whoever reads, changes, drops and replays messages and does not hold K, both end with
the same keys of their own run, or reject.  It has no forward secrecy against the loss of K with a
record of the run.

E_K authenticates suite, step and both names with every message, so that none can be reflected or
moved to another step, pair or suite.  ID_B travels as its SHA-256, which makes sizes fixed.

Each machine is a value with one method for the one message it awaits, and gives its successor:
``Receiver`` -> ``Established``; ``Sender`` -> ``_AwaitingCompletion`` -> ``Established``.
Use fresh randomness for each run: ``randomness.within("run", ...)`` with a name never used before.

Protocol 2
----------
The truck learns the keys of a parcel, if sender and receiver agree on them.

What it does: each party submits (parcel, TK, K_b, and K_a in suite ``paper``) for one truck and one
day; the truck takes what both submit alike.

Source: "Trajectory Hiding and Sharing for Supply Chains with Differential Privacy" (ESORICS 2023),
Protocol 2.

Claim: in suite ``voile`` a parcel gets keys only if both parties named in the truck's waybill have
signed the same keys, for this truck, this parcel and this day.  In suite ``paper`` nobody signs,
and whoever sends both halves sets the keys.

Where a parcel goes by several trucks, its parties sign for its carrier and not for a truck: the
submission names the carrier's number (``parcel_link.carrier_number``), the waybill does, too, and
the carrier hands it to each truck in turn.  Sender and receiver may read by keys of their own: both
sign the public halves of either, and the truck addresses each by itself.

Departures: signatures, days, a check of every point.  The truck's public half, TK and K_b, lets
address the parcel and not recognise it.

Submissions under seal: only the truck they are meant for reads them.

What it does: encrypts a submission to the truck's public key.  The two parties of a parcel submit
the same keys: whoever carries their messages in the open would learn who ships with whom.

Algorithm: an ephemeral X25519 key, HKDF-SHA256 and AES-256-GCM, which is what HPKE's base mode
does.  HPKE of ``cryptography`` is not used, since it draws its ephemeral key by itself and takes no
associated data, and is there in recent versions only.

Claim: confidential against everybody without the truck's key; who has sealed it is not shown, which
is what the signature inside is for.  All sealed submissions of a suite have one size.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from enum import IntEnum
from hashlib import sha256
from types import MappingProxyType
from typing import Self

from voile_base.errors import InputError
from voile_base.randomness import Randomness
from voile_share.protocol import primitives
from voile_share.protocol.primitives import (
    SIGNATURE_BYTES,
    TAG_BYTES,
    TRUCK_BYTES,
    Kind,
    Reason,
    RejectedError,
    SingleUse,
    check_signature,
    check_verifying_key,
    checked_bytes,
    drawn,
    framed,
    number,
    opened,
    sign,
)
from voile_share.protocol.suite import (
    MOST_PARCEL_BYTES,
    Materials,
    PairKeys,
    Suite,
    TrackingPublic,
    TrackingSecret,
    check_parcel_and_day,
)
from voile_share.protocol.suites import suite_named, suite_of_code
from voile_share.protocol.truck import TruckCard, TruckSecrets

__all__ = [
    "Established",
    "Pair",
    "Readers",
    "Receiver",
    "Role",
    "SealedSubmission",
    "Sender",
    "Submission",
    "TrackingKeys",
    "Waybill",
]

_NONCE, _MATERIAL, _NAME = 16, 32, 32
_RESPONSE_BYTES = 2 * _NONCE + _NAME + _MATERIAL
_COMPLETION_BYTES = 2 * _NONCE + _MATERIAL


@dataclass(frozen=True)
class Pair:
    """Who wants to agree, and by which long-term key; raises ``InputError``."""

    sender: bytes
    """Name of Alice, 1 to 64 bytes."""
    receiver: bytes
    """Name of Bob, another one."""
    key: bytes = field(repr=False)
    """K, 32 bytes."""
    suite: Suite = field(default_factory=suite_named)

    def __post_init__(self) -> None:
        checked_bytes("the sender's name", self.sender, 1, 64)
        checked_bytes("the receiver's name", self.receiver, 1, 64)
        checked_bytes("the long-term key", self.key, 32)
        if self.sender == self.receiver:
            msg = "sender and receiver must have two names"
            raise InputError(msg)

    def protect(self, kind: Kind, plaintext: bytes, randomness: Randomness) -> bytes:
        """E_K for one step."""
        return self.suite.protect(self.key, self._context(kind), plaintext, randomness)

    def unprotect(self, kind: Kind, box: bytes) -> bytes:
        """The plaintext of one step; raises ``RejectedError``."""
        return self.suite.unprotect(self.key, self._context(kind), box)

    def check_suite(self, suite: Suite) -> None:
        """Raise ``RejectedError`` for a message of another suite."""
        if suite.code != self.suite.code:
            msg = f"the message is of suite {suite.name}, and the run of suite {self.suite.name}"
            raise RejectedError(Reason.SUITE, msg)

    def _context(self, kind: Kind) -> bytes:
        return framed(kind.header(self.suite.code), self.sender, self.receiver)


@dataclass(frozen=True)
class _Challenge:
    """Message 1."""

    suite: Suite
    nonce: bytes

    def encode(self) -> bytes:
        """19 bytes."""
        return Kind.CHALLENGE.header(self.suite.code) + self.nonce

    @classmethod
    def decode(cls, message: bytes) -> Self:
        """Raises ``RejectedError``."""
        code, fields = opened(message, Kind.CHALLENGE)
        suite, nonce = suite_of_code(code), fields.take(_NONCE)
        fields.finish()
        return cls(suite, nonce)


@dataclass(frozen=True)
class _Protected:
    """A header and E_K of a plaintext of fixed size."""

    suite: Suite
    box: bytes

    @classmethod
    def _read(cls, message: bytes, kind: Kind, plaintext: int) -> Self:
        code, fields = opened(message, kind)
        suite = suite_of_code(code)
        box = fields.take(suite.protected_size(plaintext))
        fields.finish()
        return cls(suite, box)


@dataclass(frozen=True)
class _Response(_Protected):
    """Message 2."""

    def encode(self) -> bytes:
        """127 bytes; 163 in suite ``paper``."""
        return Kind.RESPONSE.header(self.suite.code) + self.box

    @classmethod
    def decode(cls, message: bytes) -> Self:
        """Raises ``RejectedError``."""
        return cls._read(message, Kind.RESPONSE, _RESPONSE_BYTES)


@dataclass(frozen=True)
class _Completion(_Protected):
    """Message 3."""

    def encode(self) -> bytes:
        """95 bytes; 131 in suite ``paper``."""
        return Kind.COMPLETION.header(self.suite.code) + self.box

    @classmethod
    def decode(cls, message: bytes) -> Self:
        """Raises ``RejectedError``."""
        return cls._read(message, Kind.COMPLETION, _COMPLETION_BYTES)


@dataclass(frozen=True)
class Established:
    """The end of a run: the keys, and for Bob the message that he still has to send."""

    keys: PairKeys
    completion: bytes | None = None


@dataclass(frozen=True)
class Receiver:
    """Bob, who has sent his challenge and awaits the response."""

    pair: Pair
    challenge: bytes
    """Message 1, to be sent."""
    randomness: Randomness = field(repr=False)

    @classmethod
    def begin(cls, pair: Pair, randomness: Randomness) -> Self:
        """Draw N_B."""
        nonce = drawn(randomness, _NONCE, "receiver's nonce")
        return cls(pair, _Challenge(pair.suite, nonce).encode(), randomness)

    def receive(self, message: bytes) -> Established:
        """Judge message 2, derive the keys and write message 3; raises ``RejectedError``."""
        response = _Response.decode(message)
        self.pair.check_suite(response.suite)
        plaintext = self.pair.unprotect(Kind.RESPONSE, response.box)
        own = _Challenge.decode(self.challenge).nonce
        theirs, ours, name, material = _cut(plaintext, _NONCE, _NONCE, _NAME, _MATERIAL)
        _check_nonce(ours, own)
        if not hmac.compare_digest(name, _named(self.pair.receiver)):
            msg = "the response is meant for another receiver"
            raise RejectedError(Reason.IDENTITY, msg)
        run = sha256(plaintext).hexdigest()
        mine = drawn(self.randomness, _MATERIAL, "receiver's material", run)
        box = self.pair.protect(Kind.COMPLETION, own + theirs + mine, self.randomness)
        keys = _keys(self.pair, theirs, own, material, mine)
        return Established(keys, _Completion(self.pair.suite, box).encode())


@dataclass(frozen=True)
class Sender:
    """Alice, who awaits a challenge."""

    pair: Pair
    randomness: Randomness = field(repr=False)

    def receive(self, message: bytes) -> _AwaitingCompletion:
        """Answer message 1 by message 2; raises ``RejectedError``."""
        challenge = _Challenge.decode(message)
        self.pair.check_suite(challenge.suite)
        run = challenge.nonce.hex()
        nonce = drawn(self.randomness, _NONCE, "sender's nonce", run)
        material = drawn(self.randomness, _MATERIAL, "sender's material", run)
        plaintext = nonce + challenge.nonce + _named(self.pair.receiver) + material
        box = self.pair.protect(Kind.RESPONSE, plaintext, self.randomness)
        response = _Response(self.pair.suite, box).encode()
        return _AwaitingCompletion(self.pair, response, nonce, challenge.nonce, material)


@dataclass(frozen=True)
class _AwaitingCompletion:
    """Alice, who has sent her response."""

    pair: Pair
    response: bytes
    """Message 2, to be sent."""
    nonce: bytes
    receiver_nonce: bytes
    material: bytes = field(repr=False)

    def receive(self, message: bytes) -> Established:
        """Judge message 3 and derive the keys; raises ``RejectedError``."""
        completion = _Completion.decode(message)
        self.pair.check_suite(completion.suite)
        plaintext = self.pair.unprotect(Kind.COMPLETION, completion.box)
        theirs, ours, material = _cut(plaintext, _NONCE, _NONCE, _MATERIAL)
        _check_nonce(theirs + ours, self.receiver_nonce + self.nonce)
        return Established(_keys(self.pair, self.nonce, theirs, self.material, material))


def _keys(
    pair: Pair, sender_nonce: bytes, receiver_nonce: bytes, sent: bytes, received: bytes
) -> PairKeys:
    names = (pair.sender, pair.receiver)
    return pair.suite.pair_keys(Materials(*names, sender_nonce, receiver_nonce, sent, received))


def _named(name: bytes) -> bytes:
    return sha256(framed(b"voile name", name)).digest()


def _cut(whole: bytes, *sizes: int) -> list[bytes]:
    parts, place = [], 0
    for size in sizes:
        parts.append(whole[place : place + size])
        place += size
    return parts


def _check_nonce(found: bytes, sent: bytes) -> None:
    if not hmac.compare_digest(found, sent):
        msg = "the message answers another run of key establishment: it is replayed or mixed up"
        raise RejectedError(Reason.NONCE, msg)


_LABEL = "voile 1 submission"
_READERS_UNIT = 16
"""One byte says who signs, and in its upper half who reads."""
MOST_DAYS_AHEAD = 31
"""For which a truck takes keys: as long as a link lasts, so nobody fills its memory."""


class Role(IntEnum):
    """Which party of a parcel submits."""

    SENDER = 1
    RECEIVER = 2


class Readers(IntEnum):
    """Who reads by the keys that are submitted."""

    BOTH = 0
    SENDER = 1
    RECEIVER = 2


_Which = tuple[bytes, int, Readers, Role]
"""Of which parcel and day, for whom, and from whom."""
_Submitted = dict[_Which, TrackingPublic]


@dataclass(frozen=True)
class Submission:
    """One party's half of Protocol 2."""

    suite: Suite
    truck: bytes
    """The truck's number, or the carrier's where any truck of it may have the keys."""
    role: Role
    """Who signs."""
    parcel: bytes
    day: int
    """Days since 1970."""
    keys: TrackingPublic
    signature: bytes = b""
    readers: Readers = Readers.BOTH

    @classmethod
    def of(
        cls, suite: Suite, truck: bytes, role: Role, parcel: bytes, day: int, secret: TrackingSecret
    ) -> Self:
        """Not signed yet; raises ``InputError``."""
        checked_bytes("the truck's number", truck, TRUCK_BYTES)
        check_parcel_and_day(parcel, day)
        return cls(suite, truck, role, parcel, day, suite.tracking_public(secret))

    def of_readers(self, readers: Readers, keys: TrackingPublic) -> Self:
        """The same about the keys by which one party alone reads; not signed."""
        return replace(self, readers=readers, keys=keys, signature=b"")

    def signed(self, seed: bytes) -> Self:
        """The same, signed by the party's Ed25519 seed; as it is in suite ``paper``."""
        if not self.suite.signs:
            return self
        return replace(self, signature=sign(seed, _LABEL, self._unsigned()))

    @staticmethod
    def size(suite: Suite) -> int:
        """Bytes of every submission of a suite."""
        fixed = 3 + TRUCK_BYTES + 1 + 4 + 1 + MOST_PARCEL_BYTES + 2 * primitives.POINT_BYTES
        return fixed + suite.encryption_bytes + (SIGNATURE_BYTES if suite.signs else 0)

    def _unsigned(self) -> bytes:
        return (
            Kind.SUBMISSION.header(self.suite.code)
            + self.truck
            + number(_READERS_UNIT * self.readers + self.role, 1)
            + number(self.day, 4)
            + number(len(self.parcel), 1)
            + self.parcel.ljust(MOST_PARCEL_BYTES, b"\0")
            + self.keys.tracking
            + self.keys.address
            + self.keys.encryption
        )

    def encode(self) -> bytes:
        """``size`` bytes; raises ``InputError`` where the signature is missing."""
        if self.suite.signs and not self.signature:
            msg = "sign the submission before it is sent"
            raise InputError(msg)
        return self._unsigned() + self.signature

    @classmethod
    def decode(cls, message: bytes) -> Self:
        """Raises ``RejectedError``, for hostile points, too."""
        submission = cls.read(message)
        submission.suite.check_public(submission.keys)
        return submission

    @classmethod
    def read(cls, message: bytes) -> Self:
        """``decode`` for ``TrackingKeys``, which looks at the points by itself, once."""
        code, fields = opened(message, Kind.SUBMISSION)
        suite = suite_of_code(code)
        truck, both, day = fields.take(TRUCK_BYTES), fields.number(1), fields.number(4)
        readers, role = divmod(both, _READERS_UNIT)
        parcel = fields.padded(MOST_PARCEL_BYTES)
        points = [fields.take(size) for size in (32, 32, suite.encryption_bytes)]
        signature = fields.take(SIGNATURE_BYTES if suite.signs else 0)
        fields.finish()
        if role not in tuple(Role):
            fields.reject(Reason.FIELD, f"names role {role}, which is neither party")
        if readers not in tuple(Readers):
            fields.reject(Reason.FIELD, f"names readers {readers}, which are nobody")
        keys = TrackingPublic(*points)
        return cls(suite, truck, Role(role), parcel, day, keys, signature, Readers(readers))

    def check_signature(self, key: bytes) -> None:
        """Raise ``RejectedError`` unless the party with this Ed25519 key has signed."""
        if self.suite.signs:
            check_signature(key, _LABEL, self._unsigned(), self.signature, "the submission")


@dataclass(frozen=True)
class Waybill:
    """A parcel that the truck is to carry, and by which Ed25519 keys its parties sign.

    Raises ``InputError`` for keys that anybody could sign by.
    """

    parcel: bytes
    sender: bytes
    receiver: bytes
    carrier: bytes | None = None
    """The carrier's number, where its parties sign for any truck of it."""

    def __post_init__(self) -> None:
        check_parcel_and_day(self.parcel, 0)
        if self.carrier is not None:
            checked_bytes("the carrier's number", self.carrier, TRUCK_BYTES)
        for name, key in (("sender", self.sender), ("receiver", self.receiver)):
            check_verifying_key(f"the {name}'s verifying key", key)
        if self.sender == self.receiver:
            msg = "sender and receiver must sign by two keys, or one of them agrees with itself"
            raise InputError(msg)

    def party(self, role: Role) -> bytes:
        """The key of one party."""
        return self.sender if role is Role.SENDER else self.receiver


@dataclass(frozen=True)
class TrackingKeys:
    """The truck's side: what it carries, what was submitted, what was agreed."""

    truck: bytes
    suite: Suite = field(default_factory=suite_named)
    waybills: Mapping[bytes, Waybill] = field(default_factory=lambda: MappingProxyType({}))
    submitted: Mapping[_Which, TrackingPublic] = field(default_factory=lambda: MappingProxyType({}))

    def carrying(self, *waybills: Waybill) -> Self:
        """With some parcels more; raises ``InputError`` if one is carried for other parties."""
        carried = dict(self.waybills)
        for waybill in waybills:
            if carried.setdefault(waybill.parcel, waybill) != waybill:
                msg = "the truck carries this parcel for other parties: deliver it first"
                raise InputError(msg)
        return replace(self, waybills=carried)

    def receive(self, message: bytes, today: int) -> Self:
        """With one submission more; the same again changes nothing; raises ``RejectedError``."""
        submitted = dict(self.submitted)
        self._add(Submission.read(message), today, submitted)
        return replace(self, submitted=submitted)

    def receive_all(self, submissions: Iterable[Submission], today: int) -> Self:
        """With each of those that ``Submission.read`` gave and that is not rejected, in turn."""
        submitted = dict(self.submitted)
        for submission in submissions:
            with suppress(RejectedError):
                self._add(submission, today, submitted)
        return replace(self, submitted=submitted)

    def _add(self, submission: Submission, today: int, submitted: _Submitted) -> None:
        """Add one to what was submitted; raises ``RejectedError``."""
        which = submission.parcel, submission.day, submission.readers
        held = [submitted[*which, role] for role in Role if (*which, role) in submitted]
        if submission.keys not in held:  # else they were looked at when the first of them came
            submission.suite.check_public(submission.keys)
        self._check(submission, today)
        if any(keys != submission.keys for keys in held):
            msg = "sender and receiver submit different keys, or one of them has changed them"
            raise RejectedError(Reason.DISAGREEMENT, msg)
        submitted[*which, submission.role] = submission.keys

    def _check(self, submission: Submission, today: int) -> None:
        if submission.suite.code != self.suite.code:
            msg = f"the submission is of suite {submission.suite.name}"
            raise RejectedError(Reason.SUITE, msg)
        waybill = self.waybills.get(submission.parcel)
        carrier = None if waybill is None else waybill.carrier
        if submission.truck != self.truck and (waybill is None or submission.truck != carrier):
            msg = "the submission is meant for another truck"
            raise RejectedError(Reason.FOREIGN, msg)
        if waybill is None:
            msg = "the submission names a parcel that this truck does not carry"
            raise RejectedError(Reason.UNEXPECTED, msg)
        if submission.day < today:
            msg = "the submission is for a day that is over"
            raise RejectedError(Reason.EXPIRED, msg)
        if submission.day > today + MOST_DAYS_AHEAD:
            msg = f"the submission is for a day more than {MOST_DAYS_AHEAD} days ahead"
            raise RejectedError(Reason.FUTURE, msg)
        submission.check_signature(waybill.party(submission.role))

    def agreed(self, day: int, readers: Readers = Readers.BOTH) -> dict[bytes, TrackingPublic]:
        """The keys of a day on which both parties agree, by parcel; those of some readers."""
        return {
            parcel: keys
            for (parcel, its_day, whose, role), keys in self.submitted.items()
            if (its_day, whose, role) == (day, readers, Role.SENDER)
            and (parcel, day, readers, Role.RECEIVER) in self.submitted
        }

    def addressed(self, day: int) -> list[tuple[bytes, TrackingPublic]]:
        """All keys of a day on which both parties agree, each with its parcel."""
        return [one for readers in Readers for one in self.agreed(day, readers).items()]

    def delivered(self, parcel: bytes) -> Self:
        """Without a parcel and all its keys."""
        return replace(
            self,
            waybills={name: bill for name, bill in self.waybills.items() if name != parcel},
            submitted={at: keys for at, keys in self.submitted.items() if at[0] != parcel},
        )

    def from_day(self, today: int) -> Self:
        """Without the keys of days that are over."""
        return replace(
            self, submitted={at: keys for at, keys in self.submitted.items() if at[1] >= today}
        )


@dataclass(frozen=True)
class SealedSubmission:
    """What a party sends to the truck."""

    suite: int
    truck: bytes
    ephemeral: bytes
    box: bytes

    @classmethod
    def seal(
        cls,
        submission: bytes,
        card: TruckCard,
        randomness: Randomness,
        carrier: bytes | None = None,
    ) -> Self:
        """Seal an encoded submission for its truck; raises ``InputError`` for another one's.

        ``carrier`` is the number of the carrier whose truck it is, if the submission may name that.
        """
        inside = Submission.decode(submission)
        if inside.truck not in {card.truck, carrier}:
            msg = "the submission is meant for another truck than the one to seal it for"
            raise InputError(msg)
        purpose = sha256(submission + card.encode()).hexdigest()
        secret = drawn(randomness, 32, "sealing", purpose)
        ephemeral = primitives.x25519_public(secret)
        shared = primitives.x25519(secret, card.sealing)
        head = Kind.SEALED.header(inside.suite.code) + card.truck + ephemeral
        box = _cipher(shared, ephemeral, card).seal(submission, head)
        return cls(inside.suite.code, card.truck, ephemeral, box)

    def open(self, secrets: TruckSecrets) -> bytes:
        """The encoded submission; raises ``RejectedError``."""
        if self.truck != secrets.truck:
            msg = "the sealed submission is meant for another truck"
            raise RejectedError(Reason.FOREIGN, msg)
        shared = primitives.x25519(secrets.sealing, self.ephemeral)
        cipher = _cipher(shared, self.ephemeral, secrets.card())
        return cipher.open(self.box, self._head(), "the sealed submission")

    def _head(self) -> bytes:
        return Kind.SEALED.header(self.suite) + self.truck + self.ephemeral

    def encode(self) -> bytes:
        """A header, the truck, R, the ciphertext."""
        return self._head() + self.box

    @classmethod
    def decode(cls, message: bytes) -> Self:
        """Raises ``RejectedError``."""
        sealed = cls.stored(message)
        primitives.check_coordinate(sealed.ephemeral)
        return sealed

    @classmethod
    def stored(cls, message: bytes) -> Self:
        """What was decoded before it was put away: its R is looked at by ``open`` alone.

        Raises ``RejectedError``.
        """
        code, fields = opened(message, Kind.SEALED)
        size = Submission.size(suite_of_code(code)) + TAG_BYTES
        truck, ephemeral = fields.take(TRUCK_BYTES), fields.take(primitives.POINT_BYTES)
        box = fields.take(size)
        fields.finish()
        return cls(code, truck, ephemeral, box)


def _cipher(shared: bytes, ephemeral: bytes, card: TruckCard) -> SingleUse:
    return SingleUse(shared, "voile 1 sealed", card.encode(), salt=ephemeral)
