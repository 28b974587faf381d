"""The suite as published: for comparison and study alone.

What it does: what ``voile_suite`` does, in the paper's way.

Source: "Trajectory Hiding and Sharing for Supply Chains with Differential Privacy" (ESORICS 2023),
section 6 and appendix; its diagrams are lost in the text that we have.  Curve25519, SHA-3,
AES-128-CBC, ECIES, PBKDF2, one R per item.

Claim: none.  Known weaknesses, each with a test: a flipped bit of a ciphertext moves the truck
unnoticed; what was published once is recognised again in any other slot; parcels that share a
ciphertext are seen to; K_b and TK are the same on all days; nobody signs.

Algorithm, with k_a, k_b from PBKDF2 and K_a = k_a G, K_b = k_b G:

- tk = H_s(parcel, k_a), TK = tk G.
- For each item r fresh, R = r G, P = H_s(r TK) G + K_b.
- Positions under AES-128-CBC with a key each; for each item R, P, the key of its position under
  ECIES for K_a, and which position it opens.

Slips of the paper that are not copied: the public key is K_a and the secret inside tk is k_a,
where the paper has one name for both; who publishes encrypts, and who reads decrypts, where Table 1
has it the other way round; a key wrapped by ECIES takes 96 bytes and not the 16 of Lemma 3, so that
this layout pays off only for positions longer than 16 + N_L (28 + m) / N_P bytes, and A.2's
condition must read N_L < N_P; 15 transactions a second make 4,500 trucks in five minutes and not
450, and what bounds their number is gas.

Cost: recognition takes two multiplications for each item.  A body has 3 + 48 N_L + 161 N_P bytes.

Departures from the source, where it leaves things open: 100,000 iterations; E_K and ECIES carry
HMAC-SHA3-256, since mechanism 6 of ISO/IEC 11770-2 and ECIES need authenticated encryption.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import pbkdf2_hmac, sha3_256, sha3_512
from typing import Self

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.padding import PKCS7

from voile_base.errors import InputError
from voile_base.randomness import Randomness
from voile_share.protocol import primitives
from voile_share.protocol.primitives import Reason, RejectedError, drawn, framed, number, tampered
from voile_share.protocol.suite import (
    POSITION_BYTES,
    Content,
    Materials,
    PairKeys,
    Position,
    Sighting,
    TrackingPublic,
    TrackingSecret,
    TruckSlot,
    check_parcel_and_day,
)

__all__ = ["ITERATIONS", "WRAPPED_BYTES", "PaperSuite", "unwrap", "wrap"]

ITERATIONS = 100_000
_BLOCK, _MAC_BYTES = 16, 32
WRAPPED_BYTES = primitives.POINT_BYTES + 2 * _BLOCK + _MAC_BYTES
"""A key of 16 bytes under ECIES."""
_POSITION_BOX_BYTES = _BLOCK + POSITION_BYTES + _BLOCK
_ITEM_BYTES = 2 * primitives.POINT_BYTES + WRAPPED_BYTES + 1
_MOST_ITEMS = 2**16 - 1


@dataclass(frozen=True)
class _Body:
    boxes: tuple[bytes, ...]
    items: tuple[_Item, ...]

    @classmethod
    def of(cls, body: bytes) -> Self:
        positions = int.from_bytes(body[:1], "big")
        middle = 1 + positions * _POSITION_BOX_BYTES
        start = middle + 2
        count = int.from_bytes(body[middle:start], "big")
        surplus = len(body) - start - count * _ITEM_BYTES
        if surplus < 0:
            msg = "the report ends before its last item"
            raise RejectedError(Reason.TRUNCATED, msg)
        if surplus:
            msg = "the report goes on after its last item"
            raise RejectedError(Reason.TRAILING, msg)
        return cls(
            tuple(_pieces(body[1:middle], _POSITION_BOX_BYTES)),
            tuple(_Item.of(item) for item in _pieces(body[start:], _ITEM_BYTES)),
        )


@dataclass(frozen=True)
class _Item:
    ephemeral: bytes
    address: bytes
    key: bytes
    level: int

    @classmethod
    def of(cls, item: bytes) -> Self:
        return cls(item[:32], item[32:64], item[64:-1], item[-1])


@dataclass(frozen=True)
class PaperSuite:
    """The suite ``paper``: not for use."""

    name = "paper"
    code = 2
    signs = False
    encryption_bytes = primitives.POINT_BYTES

    # Key establishment

    def protected_size(self, plaintext: int) -> int:
        """An initial block, the padded ciphertext, a MAC."""
        return _BLOCK + (plaintext // _BLOCK + 1) * _BLOCK + _MAC_BYTES

    def protect(
        self, key: bytes, context: bytes, plaintext: bytes, randomness: Randomness
    ) -> bytes:
        """AES-128-CBC, then HMAC-SHA3-256."""
        purpose = sha3_256(framed(context, plaintext)).hexdigest()
        initial = drawn(randomness, _BLOCK, "establishment initial block", purpose)
        return _seal(_hash(b"establishment", key, context), initial, plaintext)

    def unprotect(self, key: bytes, context: bytes, box: bytes) -> bytes:
        """The plaintext; raises ``RejectedError``."""
        keys = _hash(b"establishment", key, context)
        return _unseal(keys, box[:_BLOCK], box[_BLOCK:], "the message of key establishment")

    def pair_keys(self, materials: Materials) -> PairKeys:
        """PBKDF2-HMAC-SHA3-512, split into two scalars."""
        secret = materials.sender_material + materials.receiver_material
        salt = materials.sender_nonce + materials.receiver_nonce
        keys = pbkdf2_hmac("sha3_512", secret, salt, ITERATIONS, 64)
        return PairKeys(_scalar(b"a", keys[:32]), _scalar(b"b", keys[32:]))

    # Tracking keys

    def tracking_secret(self, pair: PairKeys, parcel: bytes, day: int) -> TrackingSecret:
        """Keys of one parcel, the same on all days; K_b is the same for all parcels of the pair."""
        check_parcel_and_day(parcel, day)
        tracking = _scalar(b"tracking", parcel, pair.a)
        return TrackingSecret(tracking, primitives.multiple_of_base(pair.b), pair.a)

    def tracking_public(self, secret: TrackingSecret) -> TrackingPublic:
        """TK, K_b and K_a."""
        tracking, encryption = map(primitives.multiple_of_base, (secret.tracking, secret.opening))
        return TrackingPublic(tracking, secret.address, encryption)

    def check_public(self, public: TrackingPublic) -> None:
        """All three must be in the group of prime order."""
        for point in (public.tracking, public.address, public.encryption):
            primitives.check_point(point)

    def check_secret(self, secret: TrackingSecret) -> None:
        """K_b must be in the group of prime order, and there must be a k_a."""
        primitives.check_point(secret.address)
        if len(secret.opening) != primitives.POINT_BYTES:
            msg = "the key of the parcel has no k_a"
            raise RejectedError(Reason.FIELD, msg)

    # Stealth addresses

    def ephemeral(self, secret: bytes) -> bytes:
        """R = r G; r is 32 bytes, hashed to a scalar."""
        return primitives.multiple_of_base(_scalar(b"ephemeral", secret))

    def address(self, public: TrackingPublic, secret: bytes, at: TruckSlot) -> bytes:
        """P = H_s(r TK) G + K_b; the slot plays no part."""
        shared = primitives.multiple(_scalar(b"ephemeral", secret), public.tracking)
        return self._address(shared, public.address)

    def expected_address(self, secret: TrackingSecret, ephemeral: bytes, at: TruckSlot) -> bytes:
        """P' = H_s(tk R) G + K_b; the slot plays no part."""
        return self._address(primitives.multiple(secret.tracking, ephemeral), secret.address)

    def _address(self, shared: bytes, address: bytes) -> bytes:
        return primitives.added(primitives.multiple_of_base(_scalar(b"stealth", shared)), address)

    # Reports

    def compose(self, at: TruckSlot, content: Content, randomness: Randomness) -> bytes:
        """The positions, the number of items, the items: as many as there are parcels.

        Raises ``InputError`` for more than 65,535 parcels.
        """
        if len(content.parcels) > _MOST_ITEMS:
            msg = f"a report has room for {_MOST_ITEMS:,} parcels"
            raise InputError(msg)
        own = randomness.within("report", sha3_256(at.encode() + content.encode()).hexdigest())
        keys = [drawn(own, _BLOCK, "key", f"{level}") for level in range(len(content.positions))]
        boxes = []
        for level, position in enumerate(content.positions):
            initial = drawn(own, _BLOCK, "initial block", f"{level}")
            boxes.append(initial + _encrypted(keys[level], initial, position.encode()))
        items = []
        for item, one in enumerate(content.parcels):
            secret = drawn(own, 32, "ephemeral", f"{item}")
            wrapped = wrap(one.keys.encryption, keys[one.level], drawn(own, 32, "ecies", f"{item}"))
            address = self.address(one.keys, secret, at)
            items.append(self.ephemeral(secret) + address + wrapped + number(one.level, 1))
        counts = number(len(boxes), 1), number(len(items), 2)
        return counts[0] + b"".join(boxes) + counts[1] + b"".join(items)

    def check_body(self, body: bytes) -> None:
        """Sizes, and that every item opens a position that is there."""
        parts = _Body.of(body)
        if any(item.level >= len(parts.boxes) for item in parts.items):
            msg = "an item of a report opens a position that is not there"
            raise RejectedError(Reason.FIELD, msg)

    def recognise(self, secret: TrackingSecret, at: TruckSlot, body: bytes) -> int | None:
        """An exchange for each item."""
        for number_of_item, item in enumerate(_Body.of(body).items):
            if self.expected_address(secret, item.ephemeral, at) == item.address:
                return number_of_item
        return None

    def open(self, secret: TrackingSecret, at: TruckSlot, body: bytes, item: int) -> Sighting:
        """The position that the item points to, authentic or not."""
        self.check_body(body)
        parts = _Body.of(body)
        found = parts.items[item]
        key = unwrap(secret.opening, found.key)
        box = parts.boxes[found.level]
        position = _decrypted(key, box[:_BLOCK], box[_BLOCK:], "the position")
        return Sighting(at, found.level, Position.decode(position), None)


def wrap(public: bytes, key: bytes, secret: bytes) -> bytes:
    """ECIES for a public point: R, AES-128-CBC, HMAC-SHA3-256; ``secret`` is fresh, 32 bytes."""
    scalar = _scalar(b"ecies", secret)
    ephemeral = primitives.multiple_of_base(scalar)
    keys = _hash(b"ecies", ephemeral, primitives.multiple(scalar, public))
    # The initial block may be fixed, since the key has a single use.
    return ephemeral + _seal(keys, bytes(_BLOCK), key)[_BLOCK:]


def unwrap(secret: bytes, wrapped: bytes) -> bytes:
    """The key; raises ``RejectedError``."""
    ephemeral, box = wrapped[: primitives.POINT_BYTES], wrapped[primitives.POINT_BYTES :]
    keys = _hash(b"ecies", ephemeral, primitives.multiple(secret, ephemeral))
    return _unseal(keys, bytes(_BLOCK), box, "the wrapped key")


def _seal(keys: bytes, initial: bytes, plaintext: bytes) -> bytes:
    sealed = initial + _encrypted(keys[:_BLOCK], initial, plaintext)
    return sealed + hmac.digest(keys[_BLOCK:], sealed, "sha3_256")


def _unseal(keys: bytes, initial: bytes, box: bytes, what: str) -> bytes:
    sealed, mac = box[:-_MAC_BYTES], box[-_MAC_BYTES:]
    if not hmac.compare_digest(hmac.digest(keys[_BLOCK:], initial + sealed, "sha3_256"), mac):
        raise tampered(what)
    return _decrypted(keys[:_BLOCK], initial, sealed, what)


def _encrypted(key: bytes, initial: bytes, plaintext: bytes) -> bytes:
    padder, encryptor = PKCS7(128).padder(), _cipher(key, initial).encryptor()
    padded = padder.update(plaintext) + padder.finalize()
    return encryptor.update(padded) + encryptor.finalize()


def _decrypted(key: bytes, initial: bytes, sealed: bytes, what: str) -> bytes:
    unpadder, decryptor = PKCS7(128).unpadder(), _cipher(key, initial).decryptor()
    try:
        padded = decryptor.update(sealed) + decryptor.finalize()
        return unpadder.update(padded) + unpadder.finalize()
    except ValueError:
        raise tampered(what) from None


def _cipher(key: bytes, initial: bytes) -> Cipher[modes.CBC]:
    return Cipher(algorithms.AES(key), modes.CBC(initial))


def _hash(*parts: bytes) -> bytes:
    """48 bytes: a key of AES-128 and one of HMAC."""
    return sha3_512(framed(*parts)).digest()[: _BLOCK + _MAC_BYTES]


def _scalar(*parts: bytes) -> bytes:
    """H_s."""
    return primitives.reduced(sha3_512(framed(*parts)).digest())


def _pieces(whole: bytes, size: int) -> Iterator[bytes]:
    return (whole[start : start + size] for start in range(0, len(whole), size))
