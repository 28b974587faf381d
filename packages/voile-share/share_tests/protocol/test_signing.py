"""Keys by which trucks and parties sign: such as anybody could sign by are refused."""

from __future__ import annotations

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from nacl import bindings

from share_tests.protocol.scenes import PARCEL, RECEIVER_SEED
from voile_base.errors import InputError
from voile_share.protocol import RejectedError, TruckCard, Waybill
from voile_share.protocol.primitives import (
    check_signature,
    check_verifying_key,
    framed,
    sign,
    verifying_key,
)

PRIME = 2**255 - 19
EIGHT = ("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",)
EIGHT += ("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",)
# Points of small order are those with these y, of either sign of x; 0 and 1 have a second encoding.
ORDINATES = [0, 1, PRIME - 1, PRIME, PRIME + 1]
ORDINATES += [int.from_bytes(bytes.fromhex(one), "little") for one in EIGHT]
SMALL = [(y + sign * 2**255).to_bytes(32, "little") for y in ORDINATES for sign in (0, 1)]
ANYBODYS = (1).to_bytes(32, "little") + bytes(32)
"""R is the identity and s is 0: the signature of many messages for a key of small order."""
HONEST = verifying_key(RECEIVER_SEED)
MIXED = bindings.crypto_core_ed25519_add(HONEST, bytes.fromhex(EIGHT[0]))
"""A good key and a point of order 8: verifiers disagree on its signatures."""
OUTSIDE = [(2).to_bytes(32, "little"), b"\xff" * 32, (PRIME + 3).to_bytes(32, "little")]


@pytest.mark.parametrize("key", [*SMALL, MIXED, *OUTSIDE], ids=bytes.hex)
def test_keys_that_are_nobodys_are_refused(key):
    """All 14 encodings of small order, what is not canonical or in the group: on no way in."""
    with pytest.raises(InputError, match="small order"):
        check_verifying_key("the key", key)
    for keys in ((key, HONEST), (HONEST, key)):
        with pytest.raises(InputError, match="verifying key is none"):
            Waybill(PARCEL, *keys)
    card = TruckCard(bytes(16), key, bindings.crypto_scalarmult_base(b"s" * 32))
    with pytest.raises(RejectedError):
        TruckCard.decode(card.encode())


def test_a_key_of_small_order_would_let_anybody_sign():
    """Why: for zeros as the key, one signature that nobody made is right for some messages."""
    taken = 0
    for number in range(100):
        try:
            check_signature(bytes(32), "label", number.to_bytes(2, "big"), ANYBODYS, "it")
        except RejectedError:
            continue
        taken += 1
    assert taken > 5


@pytest.mark.parametrize("size", [0, 31, 33])
def test_keys_have_32_bytes(size):
    """Other lengths are refused by the name of the key."""
    with pytest.raises(InputError, match="the key must be 32 bytes"):
        check_verifying_key("the key", HONEST[:1] * size)


def test_keys_of_seeds_are_taken():
    """Whatever the seed, its key is in the group."""
    for number in range(50):
        check_verifying_key("the key", verifying_key(bytes([number]) * 32))


@pytest.mark.parametrize("size", [0, 1, 155, 5_000])
def test_signatures_are_those_of_another_library(size):
    """Ed25519 draws nothing: OpenSSL makes the same 64 bytes, and checks take them."""
    message = bytes(range(256)) * 20
    made = sign(RECEIVER_SEED, "label", message[:size])
    theirs = Ed25519PrivateKey.from_private_bytes(RECEIVER_SEED)
    assert made == theirs.sign(framed(b"label", message[:size]))
    check_signature(HONEST, "label", message[:size], made, "it")
    with pytest.raises(RejectedError):
        check_signature(HONEST, "another label", message[:size], made, "it")
