"""What the published form gets wrong, shown on the suite that rebuilds it, beside ours."""

from __future__ import annotations

import dataclasses

import pytest

from share_tests.protocol.scenes import (
    DAY,
    NOON,
    PAPER,
    RANDOMNESS,
    SLOT_SECONDS,
    TRUCK,
    VOILE,
    carried,
    content,
    link,
    positions,
    publisher,
    report,
    secret_of,
)
from voile_share.protocol import (
    Content,
    Position,
    Reader,
    Reason,
    RejectedError,
    Report,
    TruckSlot,
    primitives,
)
from voile_share.protocol.suites import WRAPPED_BYTES, unwrap, wrap

PLACE = TruckSlot(TRUCK, NOON)


@pytest.mark.slow
def test_ecies_opens_for_its_key_alone():
    """A wrapped key is 96 bytes, opens for k_a, and not changed or for another."""
    secret = secret_of(PAPER).opening
    wrapped = wrap(primitives.multiple_of_base(secret), b"location key 123", b"e" * 32)
    assert len(wrapped) == WRAPPED_BYTES == 96
    assert unwrap(secret, wrapped) == b"location key 123"
    for bit in range(8 * len(wrapped)):
        changed = bytearray(wrapped)
        changed[bit // 8] ^= 1 << bit % 8
        with pytest.raises(RejectedError) as error:
            unwrap(secret, bytes(changed))
        assert error.value.reason in (Reason.TAMPERED, Reason.POINT)
    with pytest.raises(RejectedError):
        unwrap(secret_of(PAPER, 1).opening, wrapped)


def test_the_truck_encrypts_for_the_public_key_and_readers_decrypt_with_the_secret():
    """K_a and k_a are two keys (the paper has one name for both, and swaps who does what)."""
    secret = secret_of(PAPER)
    public = PAPER.tracking_public(secret)
    assert public.encryption == primitives.multiple_of_base(secret.opening)
    assert public.tracking == primitives.multiple_of_base(secret.tracking)
    assert secret.opening not in (public.tracking, public.address, public.encryption)


def test_a_flipped_bit_moves_the_truck_unnoticed():
    """CBC without a MAC: one bit of the initial block is one bit of the latitude; GCM rejects."""
    body = PAPER.compose(PLACE, content(PAPER, level=0), RANDOMNESS)
    moved = body[:1] + bytes([body[1], body[2] ^ 0x10]) + body[3:]
    true, shown = (
        PAPER.open(secret_of(PAPER), PLACE, one, 0).position.latitude for one in (body, moved)
    )
    assert abs(true - shown) == pytest.approx(2**20 / 1e7)
    ours = VOILE.compose(PLACE, content(VOILE, level=0), RANDOMNESS)
    item = VOILE.recognise(secret_of(VOILE), PLACE, ours)
    with pytest.raises(RejectedError, match="does not open"):
        VOILE.open(secret_of(VOILE), PLACE, ours[:33] + bytes([ours[33] ^ 0x10]) + ours[34:], item)


@pytest.mark.parametrize(("suite", "matches"), [(PAPER, True), (VOILE, False)])
def test_what_was_published_once_matches_again(suite, matches):
    """A replayed (R, P) is recognised in another slot of another truck; ours is bound to both."""
    body = suite.compose(PLACE, content(suite), RANDOMNESS)
    elsewhere = TruckSlot(b"another truck 99", NOON + SLOT_SECONDS)
    assert (suite.recognise(secret_of(suite), elsewhere, body) is not None) == matches


def test_whoever_holds_the_public_half_can_forge_a_match():
    """TK, K_b and K_a make a report that the paper's reader believes."""
    lie = tuple(Position(0, 0, NOON, 2.0**-7) for _ in range(3))
    eve = publisher(PAPER)
    message = eve.publish(NOON, Content(lie, [carried(PAPER)]), RANDOMNESS.within("eve"))[1]
    assert Reader(link(PAPER)).read(message, NOON)[1].position == lie[0]


def test_a_key_of_yesterday_opens_today():
    """TK lives as long as the parcel; ours has a day."""
    tomorrow = secret_of(PAPER, day=DAY + 1)
    assert tomorrow == secret_of(PAPER)
    assert secret_of(VOILE, day=DAY + 1).tracking != secret_of(VOILE).tracking


def test_reports_tell_the_number_of_parcels():
    """Each parcel adds 161 bytes: the size says how many there are."""
    sizes = [len(report(PAPER, parcels=parcels)) for parcels in (0, 1, 2, 7)]
    assert [(size - sizes[0]) // 161 for size in sizes] == [0, 1, 2, 7]


def test_the_papers_layout_costs_more_than_ecies_alone_for_short_locations():
    """Lemma 3 counts 16 bytes for a wrapped key: with what it takes, hybrid is the longer form."""
    parcels, levels, location = 30, 3, 16
    whole = len(PAPER.compose(PLACE, content(PAPER, parcels), RANDOMNESS))
    # ECIES of the location itself: as long as that of a key, which has 16 bytes, too.
    alone = parcels * (64 + WRAPPED_BYTES)
    assert whole > alone
    assert location < 16 + levels * (28 + location) / parcels


def test_one_r_for_two_addresses_is_safe_for_two_tracking_keys_alone():
    """A.1 uses one r twice: for one TK the addresses would be equal, in a report they never are."""
    first, second = (carried(VOILE, number).keys for number in range(2))
    addresses = {VOILE.address(keys, b"r" * 32, PLACE) for keys in (first, first, second)}
    assert len(addresses) == 2


def test_items_that_open_nothing_are_rejected():
    """An item that points to a position that is not there is no report."""
    message = bytearray(report(PAPER))
    message[-1] = 3
    with pytest.raises(RejectedError) as error:
        Report.decode(bytes(message))
    assert error.value.reason == Reason.FIELD


def test_a_hostile_point_in_an_item_is_rejected():
    """R of small order is refused before tk meets it."""
    plain = Report.decode(report(PAPER))
    start = 3 + 3 * 48
    hostile = plain.body[:start] + (1).to_bytes(32, "little") + plain.body[start + 32 :]
    message = dataclasses.replace(plain, body=hostile).encode()
    with pytest.raises(RejectedError) as error:
        Reader(link(PAPER)).read(message, NOON)
    assert error.value.reason == Reason.POINT


def test_all_three_positions_are_in_the_report():
    """Each level's parcel reads its position."""
    for level in range(3):
        body = PAPER.compose(PLACE, content(PAPER, level=level), RANDOMNESS)
        assert PAPER.open(secret_of(PAPER), PLACE, body, 0).position == positions()[level]
