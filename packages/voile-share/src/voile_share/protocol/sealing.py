"""Submissions under seal: only the truck they are meant for reads them.

What it does: encrypts a submission to the truck's public key.  The two parties of a parcel submit
the same keys: whoever carries their messages in the open would learn who ships with whom.

Algorithm: an ephemeral X25519 key, HKDF-SHA256 and AES-256-GCM, which is what HPKE's base mode
does.  HPKE of ``cryptography`` is not used, since it draws its ephemeral key by itself and takes no
associated data, and is there in recent versions only.

Claim: confidential against everybody without the truck's key; who has sealed it is not shown, which
is what the signature inside is for.  All sealed submissions of a suite have one size.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Self

from voile_base.errors import InputError
from voile_base.randomness import Randomness
from voile_share.protocol import group
from voile_share.protocol.derivation import TAG_BYTES, SingleUse, drawn
from voile_share.protocol.rejection import Reason, RejectedError
from voile_share.protocol.suites import suite_of_code
from voile_share.protocol.tracking import Submission
from voile_share.protocol.truck import TruckCard, TruckSecrets
from voile_share.protocol.wire import TRUCK_BYTES, Kind, header, opened

__all__ = ["SealedSubmission"]


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
        ephemeral = group.x25519_public(secret)
        shared = group.x25519(secret, card.sealing)
        head = header(Kind.SEALED, inside.suite.code) + card.truck + ephemeral
        box = _cipher(shared, ephemeral, card).seal(submission, head)
        return cls(inside.suite.code, card.truck, ephemeral, box)

    def open(self, secrets: TruckSecrets) -> bytes:
        """The encoded submission; raises ``RejectedError``."""
        if self.truck != secrets.truck:
            msg = "the sealed submission is meant for another truck"
            raise RejectedError(Reason.FOREIGN, msg)
        shared = group.x25519(secrets.sealing, self.ephemeral)
        cipher = _cipher(shared, self.ephemeral, secrets.card())
        return cipher.open(self.box, self._head(), "the sealed submission")

    def _head(self) -> bytes:
        return header(Kind.SEALED, self.suite) + self.truck + self.ephemeral

    def encode(self) -> bytes:
        """A header, the truck, R, the ciphertext."""
        return self._head() + self.box

    @classmethod
    def decode(cls, message: bytes) -> Self:
        """Raises ``RejectedError``."""
        sealed = cls.stored(message)
        group.check_coordinate(sealed.ephemeral)
        return sealed

    @classmethod
    def stored(cls, message: bytes) -> Self:
        """What was decoded before it was put away: its R is looked at by ``open`` alone.

        Raises ``RejectedError``.
        """
        code, fields = opened(message, Kind.SEALED)
        size = Submission.size(suite_of_code(code)) + TAG_BYTES
        truck, ephemeral = fields.take(TRUCK_BYTES), fields.take(group.POINT_BYTES)
        box = fields.take(size)
        fields.finish()
        return cls(code, truck, ephemeral, box)


def _cipher(shared: bytes, ephemeral: bytes, card: TruckCard) -> SingleUse:
    return SingleUse(shared, "voile 1 sealed", card.encode(), salt=ephemeral)
