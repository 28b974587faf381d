"""Protocol 1: sender and receiver, who share a long-term key, agree on fresh keys.

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
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Self

from voile_base.errors import InputError
from voile_base.randomness import Randomness
from voile_share.protocol.primitives import drawn
from voile_share.protocol.suite import Materials, PairKeys, Suite
from voile_share.protocol.voile_suite import suite_named, suite_of_code
from voile_share.protocol.wire import (
    Kind,
    Reason,
    RejectedError,
    checked_bytes,
    framed,
    header,
    opened,
)

__all__ = ["Established", "Pair", "Receiver", "Sender"]

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
        return framed(header(kind, self.suite.code), self.sender, self.receiver)


@dataclass(frozen=True)
class _Challenge:
    """Message 1."""

    suite: Suite
    nonce: bytes

    def encode(self) -> bytes:
        """19 bytes."""
        return header(Kind.CHALLENGE, self.suite.code) + self.nonce

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
        return header(Kind.RESPONSE, self.suite.code) + self.box

    @classmethod
    def decode(cls, message: bytes) -> Self:
        """Raises ``RejectedError``."""
        return cls._read(message, Kind.RESPONSE, _RESPONSE_BYTES)


@dataclass(frozen=True)
class _Completion(_Protected):
    """Message 3."""

    def encode(self) -> bytes:
        """95 bytes; 131 in suite ``paper``."""
        return header(Kind.COMPLETION, self.suite.code) + self.box

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
