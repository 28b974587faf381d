"""The group's operations: answers of the RFCs, and points that nobody honest has."""

from __future__ import annotations

import hmac
from hashlib import sha512

import pytest
from nacl import bindings

from share_tests.protocol.scenes import BOTH, NOON, PAPER, TRUCK, VOILE, link, secret_of, submission
from voile_base.errors import InputError
from voile_share.protocol import (
    ReaderLink,
    Reason,
    RejectedError,
    Role,
    Submission,
    TruckCard,
    TruckSlot,
    primitives,
)
from voile_share.protocol.primitives import check_signature, framed, hkdf, sign, verifying_key
from voile_share.protocol.suite import TrackingPublic

PRIME = 2**255 - 19


def little(number):
    return number.to_bytes(32, "little")


TORSION = bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05")
"""A point of order 8 of the curve."""
HOSTILE_POINTS = {
    "identity": little(1),
    "identity, not canonical": little(PRIME + 1),
    "order 2": little(PRIME - 1),
    "order 4": little(0),
    "order 4, not canonical": little(PRIME),
    "order 8": TORSION,
    "all ones": b"\xff" * 32,
    "not on the curve": little(2),
    "in a larger group": bindings.crypto_core_ed25519_add(
        bindings.crypto_scalarmult_ed25519_base_noclamp(little(7)), TORSION
    ),
}
HOSTILE_COORDINATES = {
    "zero": little(0),
    "one": little(1),
    "minus one": little(PRIME - 1),
    "zero, not canonical": little(PRIME),
    "one, not canonical": little(PRIME + 1),
    "with the top bit": little(9 + 2**255),
    "order 8": bytes.fromhex("e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800"),
    "order 8, the other": bytes.fromhex(
        "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157"
    ),
}


def rejected(call, *arguments):
    with pytest.raises(RejectedError) as error:
        call(*arguments)
    return error.value.reason


@pytest.mark.parametrize("point", HOSTILE_POINTS.values(), ids=HOSTILE_POINTS)
def test_hostile_points_are_rejected(point):
    """Whatever does not generate the group of prime order is refused, and never multiplied."""
    assert rejected(primitives.check_point, point) == Reason.POINT
    assert rejected(primitives.multiple, little(5), point) == Reason.POINT


@pytest.mark.parametrize("point", HOSTILE_COORDINATES.values(), ids=HOSTILE_COORDINATES)
def test_hostile_coordinates_are_rejected(point):
    """Points of small order and second spellings are no public keys of X25519."""
    assert rejected(primitives.check_coordinate, point) == Reason.POINT


def test_points_of_wrong_size_are_rejected():
    """31 and 33 bytes are no point, in either form."""
    for size in (0, 31, 33):
        assert rejected(primitives.check_point, bytes(size)) == Reason.POINT
        assert rejected(primitives.check_coordinate, bytes(size)) == Reason.POINT


@pytest.mark.parametrize("suite", BOTH, ids=lambda suite: suite.name)
def test_hostile_points_in_messages_are_rejected(suite):
    """Submissions, links and cards with a hostile point are refused where they are read."""
    valid = submission(Role.SENDER, suite)
    for place in range(89, 89 + 64 + suite.encryption_bytes, 32):
        hostile = (
            HOSTILE_COORDINATES if suite is VOILE and place == 89 else HOSTILE_POINTS
        ).values()
        for point in hostile:
            changed = valid[:place] + point + valid[place + 32 :]
            assert rejected(Submission.decode, changed) == Reason.POINT
    whole = link(suite).encode()
    for point in HOSTILE_POINTS.values():
        for place in (19, 88):
            changed = whole[:place] + point + whole[place + 32 :]
            assert rejected(ReaderLink.decode, changed) == Reason.POINT
        card = bytes([1, 9, 0]) + bytes(16) + point + little(9)
        assert rejected(TruckCard.decode, card) == Reason.POINT


def test_the_truck_multiplies_no_hostile_point():
    """Even where a key did not come through a decoder, r meets no point of small order."""
    for suite, hostile in ((VOILE, HOSTILE_COORDINATES["order 8"]), (PAPER, TORSION)):
        own = suite.tracking_public(secret_of(suite))
        public = TrackingPublic(hostile, own.address, own.encryption)
        assert rejected(suite.check_public, public) == Reason.POINT
        assert rejected(suite.address, public, b"r" * 32, TruckSlot(TRUCK, NOON)) == Reason.POINT


@pytest.mark.parametrize("suite", BOTH, ids=lambda suite: suite.name)
def test_the_reader_multiplies_no_hostile_point(suite):
    """A hostile R is rejected and says nothing about tk."""
    hostile = HOSTILE_COORDINATES["order 8"] if suite is VOILE else TORSION
    place = TruckSlot(TRUCK, NOON)
    assert rejected(suite.expected_address, secret_of(suite), hostile, place) == Reason.POINT


def test_x25519_gives_the_answers_of_rfc_7748():
    """Section 6.1: both public keys and the shared secret."""
    alice, alice_public, bob, bob_public, shared = map(
        bytes.fromhex,
        (
            "77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a",
            "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a",
            "5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb",
            "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f",
            "4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742",
        ),
    )
    assert primitives.x25519_public(alice) == alice_public
    assert primitives.x25519_public(bob) == bob_public
    assert primitives.x25519(alice, bob_public) == primitives.x25519(bob, alice_public) == shared


def test_signing_keys_are_those_of_rfc_8032_in_both_libraries():
    """Section 7.1, test 1: the key that ``cryptography`` finds is a multiple of PyNaCl's base."""
    seed = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
    public = "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"
    scalar = bytearray(sha512(seed).digest()[:32])
    scalar[0] &= 248
    scalar[31] = scalar[31] & 127 | 64
    assert verifying_key(seed).hex() == public
    assert primitives.multiple_of_base(bytes(scalar)).hex() == public


def test_both_forms_are_one_group():
    """X25519 of a scalar is the Edwards multiple, mapped to its coordinate."""
    scalar = bytes([8]) + b"\x17" * 30 + bytes([64])
    point = primitives.multiple_of_base(scalar)
    assert bindings.crypto_sign_ed25519_pk_to_curve25519(point) == primitives.x25519_public(scalar)


def extract_and_expand(secret, salt, info, size):
    """RFC 5869 by its two equations."""
    pseudorandom = hmac.digest(salt, secret, "sha256")
    block, output = b"", b""
    while len(output) < size:
        count = bytes([len(output) // 32 + 1])
        block = hmac.digest(pseudorandom, block + info + count, "sha256")
        output += block
    return output[:size]


def test_hkdf_is_that_of_rfc_5869():
    """Test case 1 by its equations, and ours by the same equations with framed labels as info."""
    expected = (
        "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865"
    )
    info = bytes(range(0xF0, 0xFA))
    assert extract_and_expand(b"\x0b" * 22, bytes(range(13)), info, 42).hex() == expected
    ours = hkdf(b"secret", 77, "label", b"one", b"two", salt=b"salt")
    framed_info = framed(b"label", b"one", b"two")
    assert ours == extract_and_expand(b"secret", b"salt", framed_info, 77)


def test_a_signature_holds_for_its_label_alone():
    """What was signed as one thing is not signed as another, or by another."""
    signature = sign(b"a" * 32, "record", b"text")
    check_signature(verifying_key(b"a" * 32), "record", b"text", signature, "it")
    for key, label, message in (
        (verifying_key(b"b" * 32), "record", b"text"),
        (verifying_key(b"a" * 32), "submission", b"text"),
        (verifying_key(b"a" * 32), "record", b"texts"),
        (b"\xff" * 32, "record", b"text"),
    ):
        assert rejected(check_signature, key, label, message, signature, "it") == Reason.SIGNATURE


def test_without_pynacl_one_is_told_what_to_install(monkeypatch):
    """The protocol is an optional part, and says so where its library is absent."""
    primitives._sodium.cache_clear()

    def absent(name):
        raise ImportError(name)

    monkeypatch.setattr(primitives, "import_module", absent)
    with pytest.raises(InputError, match=r"pip install voile-share"):
        primitives.multiple_of_base(little(5))
    monkeypatch.undo()
    assert primitives.multiple_of_base(little(5))
