"""The suites of ciphers that there are: Voile's, which is the one to use, and the paper's.

Both publish three positions of a truck, one for each level of precision, so that the parties of
each parcel open the one of their level, and nobody else anything.  They are known by their names,
and by their codes in messages.

**Voile's suite**: one R per report, everything authenticated, every report of a like size.

What it does: publishes three positions of a truck, one for each level of precision, so that the
parties of each parcel open the one of their level, and nobody else anything.

Source: "Trajectory Hiding and Sharing for Supply Chains with Differential Privacy" (ESORICS 2023),
Protocols 1 to 3; its remedies for the weaknesses of the published form are Voile's.

Claim: whoever holds everything that is published, and the truck's TK and K_b of other parcels,
learns from a report its truck, its slot and its bucket.  That two items are for one receiver, or
that an item is a dummy, is hidden if Diffie-Hellman on Curve25519 is decisionally hard and the
hashes are random functions: to whom S is unknown, a tag and a box are 68 uniform bytes, as dummies
are.  (Appendix A.1 of the source argues from discrete logarithms, with one
r for two addresses; what is needed are the computational and decisional problems.  One r for
several addresses is safe because each has another TK.)

Algorithm, for truck and slot, with r fresh and R = r G in coordinates of X25519:

- tk = HKDF(k_a; parcel, day), TK = tk G;  K_b = H_s(HKDF(k_b; parcel, day)) G: keys of one day.
- S = r TK = tk R by X25519;  P = F_S(R, truck, slot, K_b), a tag of 32 bytes; F is keyed BLAKE2b.
- A seed for each level; its position under AES-256-GCM with a key from the seed, and suite, truck,
  slot, level and R as associated data.
- An item for each parcel: P, and (level, remaining distance, seed of the level) under AES-256-GCM
  with a key from S and K_b, and suite, truck, slot, R and P as associated data.
- Dummy items up to the next bucket: uniform bytes.  Items ascend by P.

Every key has a single use, since r is a function of the truck's secret randomness and all that the
report says; nonces come with the keys.  A seed has 128 bits, the strength of the group.

Cost: a report takes one multiplication of the base and one X25519 for each parcel; dummies take
none.  Recognition takes one X25519 per report, whatever its size.  A body has 130 + 68 b bytes.

Departures from the source: those above.  P is no point: what the source's H_s(S) G + K_b does here
is to be recognised by who knows S and K_b, and to look like nothing to all others, which a
pseudorandom function of both does without a multiplication, for dummies too.  Nobody computes with
P.  HKDF in place of PBKDF2, whose
input is uniform already;
S in coordinates of X25519, so that a browser computes it with WebCrypto, and then tries the items.
Content keys are wrapped from S and not by HPKE, which would cost an ephemeral point of 32 bytes
and a second exchange for each item, and draws its own randomness.

The suites that there are, by their names and by their codes in messages.

**The suite as published**: for comparison and study alone.

What it does: what the suite above does, in the paper's way.

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
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b, pbkdf2_hmac, sha3_256, sha3_512, sha256, sha512
from operator import lt
from types import MappingProxyType
from typing import Self

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.padding import PKCS7

from voile_base.errors import InputError, nearest
from voile_base.randomness import Randomness
from voile_share.protocol import primitives
from voile_share.protocol.primitives import (
    TAG_BYTES,
    Reason,
    RejectedError,
    SingleUse,
    drawn,
    framed,
    hkdf,
    number,
    tampered,
)
from voile_share.protocol.suite import (
    LEVELS,
    POSITION_BYTES,
    Carried,
    Content,
    Materials,
    PairKeys,
    Position,
    Sighting,
    Suite,
    TrackingPublic,
    TrackingSecret,
    TruckSlot,
    check_parcel_and_day,
    decoded_remaining,
    encoded_remaining,
)

__all__ = [
    "BUCKETS",
    "ITEM_BYTES",
    "ITERATIONS",
    "WRAPPED_BYTES",
    "suite_named",
    "suite_of_code",
    "unwrap",
    "wrap",
]

ITERATIONS = 100_000
_BLOCK, _MAC_BYTES = 16, 32
WRAPPED_BYTES = primitives.POINT_BYTES + 2 * _BLOCK + _MAC_BYTES
"""A key of 16 bytes under ECIES."""
_PAPER_POSITION_BYTES = _BLOCK + POSITION_BYTES + _BLOCK
_ITEM_BYTES = 2 * primitives.POINT_BYTES + WRAPPED_BYTES + 1
_MOST_ITEMS = 2**16 - 1


@dataclass(frozen=True)
class _PaperBody:
    boxes: tuple[bytes, ...]
    items: tuple[_Item, ...]

    @classmethod
    def of(cls, body: bytes) -> Self:
        positions = int.from_bytes(body[:1], "big")
        middle = 1 + positions * _PAPER_POSITION_BYTES
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
            tuple(_pieces(body[1:middle], _PAPER_POSITION_BYTES)),
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
class _PaperSuite:
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
        parts = _PaperBody.of(body)
        if any(item.level >= len(parts.boxes) for item in parts.items):
            msg = "an item of a report opens a position that is not there"
            raise RejectedError(Reason.FIELD, msg)

    def recognise(self, secret: TrackingSecret, at: TruckSlot, body: bytes) -> int | None:
        """An exchange for each item."""
        for number_of_item, item in enumerate(_PaperBody.of(body).items):
            if self.expected_address(secret, item.ephemeral, at) == item.address:
                return number_of_item
        return None

    def open(self, secret: TrackingSecret, at: TruckSlot, body: bytes, item: int) -> Sighting:
        """The position that the item points to, authentic or not."""
        self.check_body(body)
        parts = _PaperBody.of(body)
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


BUCKETS = (10, 30, 100, 300, 1000)
"""Numbers of items that a report may have."""
_SEED_BYTES = 16
_BOX_BYTES = 1 + 3 + _SEED_BYTES + TAG_BYTES
ITEM_BYTES = primitives.POINT_BYTES + _BOX_BYTES
_POSITION_BOX_BYTES = POSITION_BYTES + TAG_BYTES
_HEAD_BYTES = primitives.POINT_BYTES + LEVELS * _POSITION_BOX_BYTES
_COUNT_BYTES = 2
_NONCE_BYTES = 12
_LEVEL_LABEL = "voile 1 position"


@dataclass(frozen=True)
class _Body:
    """The parts of a report's body; raises ``RejectedError`` where it has not the right size."""

    ephemeral: bytes
    boxes: tuple[bytes, ...]
    items: tuple[bytes, ...]

    @classmethod
    def of(cls, body: bytes) -> Self:
        _count(body)
        start = _HEAD_BYTES + _COUNT_BYTES
        return cls(
            body[: primitives.POINT_BYTES],
            tuple(_pieces(body[primitives.POINT_BYTES : _HEAD_BYTES], _POSITION_BOX_BYTES)),
            tuple(_pieces(body[start:], ITEM_BYTES)),
        )


@dataclass(frozen=True)
class _VoileSuite:
    """The suite ``voile``."""

    name = "voile"
    code = 1
    signs = True
    encryption_bytes = 0

    # Key establishment

    def protected_size(self, plaintext: int) -> int:
        """A nonce, the ciphertext, a tag."""
        return _NONCE_BYTES + plaintext + TAG_BYTES

    def protect(
        self, key: bytes, context: bytes, plaintext: bytes, randomness: Randomness
    ) -> bytes:
        """AES-256-GCM under a key for this context, with a drawn nonce."""
        purpose = sha256(framed(context, plaintext)).hexdigest()
        nonce = drawn(randomness, _NONCE_BYTES, "establishment nonce", purpose)
        return nonce + self._long_term(key, context).encrypt(nonce, plaintext, context)

    def unprotect(self, key: bytes, context: bytes, box: bytes) -> bytes:
        """The plaintext; raises ``RejectedError``."""
        nonce, sealed = box[:_NONCE_BYTES], box[_NONCE_BYTES:]
        try:
            return self._long_term(key, context).decrypt(nonce, sealed, context)
        except InvalidTag:
            what = "the message of key establishment"
            raise tampered(what) from None

    def _long_term(self, key: bytes, context: bytes) -> AESGCM:
        return AESGCM(hkdf(key, 32, "voile 1 establishment", context))

    def pair_keys(self, materials: Materials) -> PairKeys:
        """HKDF of both materials, salted with both nonces, for these two names."""
        keys = hkdf(
            materials.sender_material + materials.receiver_material,
            64,
            "voile 1 pair",
            materials.sender,
            materials.receiver,
            salt=materials.sender_nonce + materials.receiver_nonce,
        )
        return PairKeys(keys[:32], keys[32:])

    # Tracking keys

    def tracking_secret(self, pair: PairKeys, parcel: bytes, day: int) -> TrackingSecret:
        """Keys of one parcel for one day: from those of a day none of another day follow."""
        check_parcel_and_day(parcel, day)
        context = (parcel, number(day, 4))
        tracking = hkdf(pair.a, 32, "voile 1 tracking", *context)
        address = primitives.reduced(hkdf(pair.b, 64, "voile 1 address", *context))
        return TrackingSecret(tracking, primitives.multiple_of_base(address))

    def tracking_public(self, secret: TrackingSecret) -> TrackingPublic:
        """TK in coordinates of X25519, and K_b."""
        return TrackingPublic(primitives.x25519_public(secret.tracking), secret.address)

    def check_public(self, public: TrackingPublic) -> None:
        """TK must be of large order, K_b in the group of prime order."""
        primitives.check_coordinate(public.tracking)
        primitives.check_point(public.address)

    def check_secret(self, secret: TrackingSecret) -> None:
        """K_b must be in the group of prime order; any 32 bytes are a tk."""
        primitives.check_point(secret.address)

    # Stealth addresses

    def ephemeral(self, secret: bytes) -> bytes:
        """R in coordinates of X25519."""
        return primitives.x25519_public(secret)

    def address(self, public: TrackingPublic, secret: bytes, at: TruckSlot) -> bytes:
        """P = F(r TK; R, truck, slot, K_b)."""
        shared = primitives.x25519(secret, public.tracking)
        return _tag(shared, public.address, self.ephemeral(secret), at)

    def expected_address(self, secret: TrackingSecret, ephemeral: bytes, at: TruckSlot) -> bytes:
        """P' = F(tk R; R, truck, slot, K_b)."""
        shared = primitives.x25519(secret.tracking, ephemeral)
        return _tag(shared, secret.address, ephemeral, at)

    def _item_box(
        self, shared: bytes, address: bytes, ephemeral: bytes, at: TruckSlot
    ) -> SingleUse:
        return SingleUse.of(shared, framed(b"voile 1 item", at.encode(), address), ephemeral)

    # Reports

    def compose(self, at: TruckSlot, content: Content, randomness: Randomness) -> bytes:
        """R, three positions, the number of items, the items.

        Raises ``InputError`` for more parcels than the largest bucket has room for.
        """
        own = randomness.within("report", sha256(at.encode() + content.encode()).hexdigest())
        count = _bucket(max(len(content.parcels), content.room))
        dummies = (count - len(content.parcels)) * ITEM_BYTES
        draws = drawn(own, 32 + LEVELS * _SEED_BYTES + dummies, "report")
        secret, rest = draws[:32], draws[32:]
        seeds = [*_pieces(rest[: LEVELS * _SEED_BYTES], _SEED_BYTES)]
        ephemeral = self.ephemeral(secret)
        boxes = self._level_boxes(content, at, ephemeral, seeds)
        items = self._items(content.parcels, secret, ephemeral, at, seeds)
        # Items for nobody: uniform bytes, as a tag and a box are to all others.
        items += _pieces(rest[LEVELS * _SEED_BYTES :], ITEM_BYTES)
        return ephemeral + b"".join(boxes) + number(count, _COUNT_BYTES) + b"".join(sorted(items))

    def _level_boxes(
        self, content: Content, at: TruckSlot, ephemeral: bytes, seeds: Sequence[bytes]
    ) -> list[bytes]:
        """A box for each position; what their derivations have in common is framed once."""
        label = framed(_LEVEL_LABEL.encode(), at.encode()) + number(1, 4)
        bound = self._bound(at, ephemeral, b"")[:-4] + number(1, 4)
        levels = [number(level, 1) for level in range(LEVELS)]
        return [
            SingleUse.of(seed, label + level, ephemeral).seal(position.encode(), bound + level)
            for level, seed, position in zip(levels, seeds, content.positions, strict=True)
        ]

    def _items(
        self,
        parcels: Sequence[Carried],
        secret: bytes,
        ephemeral: bytes,
        at: TruckSlot,
        seeds: Sequence[bytes],
    ) -> list[bytes]:
        """An item for each; what their derivations have in common is framed once."""
        said = ephemeral + at.encode()
        label = framed(b"voile 1 item", at.encode()) + number(primitives.POINT_BYTES, 4)
        bound = self._bound(at, ephemeral, b"")[:-4] + number(primitives.POINT_BYTES, 4)
        items = []
        for one in parcels:
            shared, key = primitives.x25519(secret, one.keys.tracking), one.keys.address
            address = _pseudorandom(shared, said + key)
            plaintext = number(one.level, 1) + encoded_remaining(one.remaining) + seeds[one.level]
            box = SingleUse.of(shared, label + key, ephemeral)
            items.append(address + box.seal(plaintext, bound + address))
        return items

    def _level_box(self, seed: bytes, at: TruckSlot, level: int, ephemeral: bytes) -> SingleUse:
        context = (at.encode(), number(level, 1))
        return SingleUse(seed, _LEVEL_LABEL, *context, salt=ephemeral)

    def _bound(self, at: TruckSlot, ephemeral: bytes, last: bytes) -> bytes:
        """Associated data: suite, truck, slot, R, and the level or P."""
        return framed(number(self.code, 1), at.encode(), ephemeral, last)

    def check_body(self, body: bytes) -> None:
        """Size, bucket, a canonical R and ascending items.

        P is not looked at: it is compared and never computed with.
        """
        count = _count(body)
        if count not in BUCKETS:
            msg = f"a report has {count} items, which is none of the buckets"
            raise RejectedError(Reason.FIELD, msg)
        places = range(_HEAD_BYTES + _COUNT_BYTES, len(body), ITEM_BYTES)
        tags = [body[at : at + primitives.POINT_BYTES] for at in places]
        if not all(map(lt, tags, tags[1:])):
            msg = "the items of a report do not ascend"
            raise RejectedError(Reason.FIELD, msg)
        if not primitives.canonical_coordinate(body[: primitives.POINT_BYTES]):
            msg = "the R of a report is not canonical"
            raise RejectedError(Reason.POINT, msg)

    def recognise(self, secret: TrackingSecret, at: TruckSlot, body: bytes) -> int | None:
        """One exchange, and a binary search for the tag, or for what stood for it formerly."""
        ephemeral = body[: primitives.POINT_BYTES]
        shared = primitives.x25519(secret.tracking, ephemeral)
        given = shared, secret.address, ephemeral, at
        found = _place_of(_tag(*given), body)
        return _place_of(_former_address(*given), body) if found is None else found

    def open(self, secret: TrackingSecret, at: TruckSlot, body: bytes, item: int) -> Sighting:
        """The position of the one level whose seed the item holds."""
        parts = _Body.of(body)
        shared = primitives.x25519(secret.tracking, parts.ephemeral)
        address, box = (
            parts.items[item][: primitives.POINT_BYTES],
            parts.items[item][primitives.POINT_BYTES :],
        )
        plaintext = self._item_box(shared, secret.address, parts.ephemeral, at).open(
            box, self._bound(at, parts.ephemeral, address), "the item of the parcel"
        )
        level, remaining, seed = plaintext[0], plaintext[1:4], plaintext[4:]
        if level >= LEVELS:
            msg = f"the item of the parcel names level {level}, of {LEVELS}"
            raise RejectedError(Reason.FIELD, msg)
        position = self._level_box(seed, at, level, parts.ephemeral).open(
            parts.boxes[level],
            self._bound(at, parts.ephemeral, number(level, 1)),
            "the position",
        )
        return Sighting(at, level, Position.decode(position), decoded_remaining(remaining))


def _count(body: bytes) -> int:
    """How many items a body has; raises ``RejectedError`` where it has not the size of them."""
    start = _HEAD_BYTES + _COUNT_BYTES
    count = int.from_bytes(body[_HEAD_BYTES:start], "big")
    surplus = len(body) - start - count * ITEM_BYTES
    if surplus < 0:
        msg = "the report ends before its last item"
        raise RejectedError(Reason.TRUNCATED, msg)
    if surplus:
        msg = "the report goes on after its last item"
        raise RejectedError(Reason.TRAILING, msg)
    return count


def _bucket(parcels: int) -> int:
    fitting = [bucket for bucket in BUCKETS if bucket >= parcels]
    if not fitting:
        msg = f"a report has room for {BUCKETS[-1]} parcels, not for {parcels}"
        raise InputError(msg)
    return fitting[0]


def _tag(shared: bytes, address: bytes, ephemeral: bytes, at: TruckSlot) -> bytes:
    """P: a pseudorandom function under S.  All parts have one size each."""
    return _pseudorandom(shared, ephemeral + at.encode() + address)


def _pseudorandom(shared: bytes, said: bytes) -> bytes:
    return blake2b(
        said, key=shared, digest_size=primitives.POINT_BYTES, person=b"voile 1 tag"
    ).digest()


def _former_address(shared: bytes, address: bytes, ephemeral: bytes, at: TruckSlot) -> bytes:
    """P as trucks of Voile 0.1 without tags write it: H_s(S, R, truck, slot) G + K_b."""
    hashed = sha512(framed(b"voile 1 stealth", shared, ephemeral, at.encode())).digest()
    return primitives.added(primitives.multiple_of_base(primitives.reduced(hashed)), address)


def _place_of(address: bytes, body: bytes) -> int | None:
    """Which item of a body begins so."""
    start = _HEAD_BYTES + _COUNT_BYTES
    items = range(start, len(body), ITEM_BYTES)
    found = bisect_left(items, address, key=lambda at: body[at : at + primitives.POINT_BYTES])
    return found if body.startswith(address, start + found * ITEM_BYTES) else None


_SUITES: Mapping[str, Suite] = MappingProxyType({"voile": _VoileSuite(), "paper": _PaperSuite()})


def suite_named(name: str = "voile") -> Suite:
    """The suite of that name; raises ``InputError``."""
    if name not in _SUITES:
        msg = f"there is no suite {name!r}{nearest(name, _SUITES)} (known: {', '.join(_SUITES)})"
        raise InputError(msg)
    return _SUITES[name]


def suite_of_code(code: int) -> Suite:
    """The suite that a message names; raises ``RejectedError``."""
    for suite in _SUITES.values():
        if suite.code == code:
            return suite
    msg = f"the message is of suite {code}, which this program does not know"
    raise RejectedError(Reason.SUITE, msg)
