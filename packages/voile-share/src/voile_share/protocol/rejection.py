"""Why a message is not accepted: the only error that decoders and machines raise about one.

A reason is a word that programs can act upon; the message of the error says it in a sentence.
Neither carries a key, a location, a parcel or a name of a party.
"""

from __future__ import annotations

from enum import StrEnum

from voile_base.errors import InputError

__all__ = ["Reason", "RejectedError"]


class Reason(StrEnum):
    """What is wrong with a message."""

    TRUNCATED = "truncated"
    """It ends before its last field."""
    TRAILING = "trailing"
    """Something follows its last field."""
    VERSION = "version"
    """It is of another version of the protocol."""
    KIND = "kind"
    """It is another message than the one awaited."""
    SUITE = "suite"
    """It is of an unknown suite, or of another one than the machine's."""
    FIELD = "field"
    """A field has a value that no honest party writes."""
    POINT = "point"
    """A point is not canonical, not in the group of prime order, or the identity."""
    TAMPERED = "tampered"
    """A ciphertext does not open: changed, reflected, moved, or under another key."""
    SIGNATURE = "signature"
    """The signature is not that of the truck or the party."""
    NONCE = "nonce"
    """It answers another run of key establishment."""
    IDENTITY = "identity"
    """It is meant for another party."""
    REPLAYED = "replayed"
    """Its slot is not later than the last one accepted."""
    FUTURE = "future"
    """Its slot has not begun."""
    FOREIGN = "foreign"
    """It comes from, or is meant for, another truck."""
    EXPIRED = "expired"
    """It is of a day for which there is no key."""
    UNEXPECTED = "unexpected"
    """It names a parcel that the truck does not carry."""
    DISAGREEMENT = "disagreement"
    """Sender and receiver, or one of them twice, submit different keys."""
    CHAIN = "chain"
    """It does not follow the record before it."""


class RejectedError(InputError):
    """A message is not accepted; ``reason`` says why, for programs."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
