"""Reports: whom they are for reads the level that is meant, and whatever is wrong is rejected."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from share_tests.protocol.scenes import (
    BOTH,
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
    reports,
    secret_of,
    truck,
)
from voile_base.errors import InputError
from voile_share.protocol import (
    LEVELS,
    Content,
    Position,
    Reader,
    Reason,
    RejectedError,
    Report,
    ReportPublisher,
    TruckSlot,
    search,
)
from voile_share.protocol.suites import BUCKETS, ITEM_BYTES

SUITES = pytest.mark.parametrize("suite", BOTH, ids=lambda suite: suite.name)
LATER = NOON + 10 * SLOT_SECONDS

single = st.floats(2.0**-30, 2.0**10, width=32)
places = st.builds(
    lambda north, east, time, epsilon: Position(north / 1e7, east / 1e7, time, epsilon),
    st.integers(-900_000_000, 900_000_000),
    st.integers(-1_800_000_000, 1_800_000_000),
    st.integers(0, 2**32 - 1),
    single,
)  # fmt: skip


def rejected(reader, message, now=LATER):
    with pytest.raises(RejectedError) as error:
        reader.read(message, now)
    return error.value.reason


@given(st.tuples(places, places, places), st.integers(0, 2), st.integers(0, 2**24 - 2) | st.none())
def test_each_party_reads_its_level_and_distance(three, level, remaining):
    """What goes in for a parcel comes out for its parties: exactly, at one level of three."""
    own = dataclasses.replace(carried(VOILE), level=level, remaining=remaining)
    other = dataclasses.replace(carried(VOILE, 1), level=(level + 1) % 3, remaining=7)
    message = publisher().publish(NOON, Content(three, [other, own]), RANDOMNESS)[1]
    _, seen = Reader(link()).read(message, NOON)
    assert (seen.level, seen.position, seen.remaining) == (level, three[level], remaining)
    _, theirs = Reader(link(number=1)).read(message, NOON)
    assert theirs.position == three[(level + 1) % 3]


@SUITES
@pytest.mark.parametrize("parcels", [1, 10, 11, 40])
def test_every_parcel_of_a_report_is_found(suite, parcels):
    """Each party finds its own item and reads it, and a stranger finds none."""
    message = report(suite, parcels=parcels)
    for number in (0, parcels // 2, parcels - 1):
        _, seen = Reader(link(suite, number)).read(message, NOON)
        assert seen.position == positions()[1]
    assert Reader(link(suite, parcels)).read(message, NOON)[1] is None


def test_a_report_without_parcels_is_read_and_about_nobody():
    """An empty truck publishes, too, and a reader moves on."""
    reader, seen = Reader(link()).read(report(parcels=0), NOON)
    assert seen is None
    assert reader.last == NOON


def test_the_size_tells_the_bucket_and_nothing_else():
    """0 to 10 parcels, any levels and distances: one size; 11 to 30 the next."""
    sizes = {
        len(publisher().publish(NOON, content(VOILE, parcels, level), RANDOMNESS)[1])
        for parcels in range(11)
        for level in range(LEVELS)
    }
    assert sizes == {26 + 130 + 10 * ITEM_BYTES + 100}
    assert len(report(parcels=11)) == len(report(parcels=30)) == 26 + 130 + 30 * ITEM_BYTES + 100
    wide = publisher().publish(NOON, content(VOILE, 1, room=30), RANDOMNESS)[1]
    assert len(wide) == len(report(parcels=30))


def test_more_parcels_than_a_report_has_room_for_are_refused():
    """The largest bucket is the limit."""
    own = carried(VOILE)
    with pytest.raises(InputError, match="1000"):
        VOILE.compose(
            TruckSlot(TRUCK, NOON), Content(positions(), [own] * (BUCKETS[-1] + 1)), RANDOMNESS
        )


@pytest.mark.slow
def test_every_flipped_bit_of_a_report_is_rejected():
    """Header, truck, slot, body, chain and signature: no bit can be changed."""
    message, reader = report(), Reader(link())
    reasons = set()
    for place in range(len(message)):
        for bit in range(8) if place < 200 or place > len(message) - 110 else (place % 8,):
            changed = bytearray(message)
            changed[place] ^= 1 << bit
            reasons.add(rejected(reader, bytes(changed)))
    assert {Reason.SIGNATURE, Reason.FOREIGN, Reason.VERSION, Reason.KIND} <= reasons


@pytest.mark.slow
def test_ciphertexts_are_bound_even_without_the_signature():
    """Where the chain names the sender there is no signature: the ciphers alone reject."""
    place, secret = TruckSlot(TRUCK, NOON), secret_of(VOILE)
    body = VOILE.compose(place, content(VOILE), RANDOMNESS)
    item = VOILE.recognise(secret, place, body)
    start = 130 + item * ITEM_BYTES
    assert VOILE.open(secret, place, body, item).position == positions()[1]
    mine = [*range(32), *range(64, 96), *range(start, start + ITEM_BYTES)]
    for at in mine:
        for bit in range(8):
            changed = bytearray(body)
            changed[at] ^= 1 << bit
            with pytest.raises(RejectedError) as error:
                VOILE.open(secret, place, bytes(changed), item)
            assert error.value.reason in (Reason.TAMPERED, Reason.POINT)
    for elsewhere in (TruckSlot(TRUCK, NOON + 1), TruckSlot(b"t" * 16, NOON)):
        assert VOILE.recognise(secret, elsewhere, body) is None
        with pytest.raises(RejectedError, match="does not open"):
            VOILE.open(secret, elsewhere, body, item)


def test_positions_cannot_change_places_or_reports():
    """A position of another level, or of another report of the same truck and slot, is rejected."""
    place, secret = TruckSlot(TRUCK, NOON), secret_of(VOILE)
    body = VOILE.compose(place, content(VOILE), RANDOMNESS)
    other = VOILE.compose(place, content(VOILE), RANDOMNESS.within("other"))
    item = VOILE.recognise(secret, place, body)
    near, own, far = (body[at : at + 32] for at in (32, 64, 96))
    for boxes in (own + near + far, near + far + own, other[32:128]):
        with pytest.raises(RejectedError) as error:
            VOILE.open(secret, place, body[:32] + boxes + body[128:], item)
        assert error.value.reason == Reason.TAMPERED


def test_a_truck_that_names_a_level_that_is_not_there_is_rejected():
    """What a truck writes into an item is checked like everything else."""
    place, secret, r = TruckSlot(TRUCK, NOON), secret_of(VOILE), b"r" * 32
    bad = SimpleNamespace(keys=VOILE.tracking_public(secret), level=3, remaining=None)
    (item,) = VOILE._items([bad], r, VOILE.ephemeral(r), place, [bytes(16)] * 4)
    body = VOILE.ephemeral(r) + bytes(96) + (1).to_bytes(2, "big") + item
    assert VOILE.recognise(secret, place, body) == 0
    with pytest.raises(RejectedError) as error:
        VOILE.open(secret, place, body, 0)
    assert error.value.reason == Reason.FIELD


def test_replayed_and_reordered_reports_are_rejected():
    """A reader moves forward only; gaps are no offence."""
    first, second, third = reports(3)
    reader, _ = Reader(link()).read(second, LATER)
    assert rejected(reader, second) == Reason.REPLAYED
    assert rejected(reader, first) == Reason.REPLAYED
    assert reader.read(third, LATER)[1] is not None
    assert Reader(link()).read(third, LATER)[1] is not None


def test_reports_of_the_future_are_rejected():
    """A slot that has not begun would shut out all before it."""
    assert rejected(Reader(link()), report(), NOON - 61) == Reason.FUTURE
    assert Reader(link()).read(report(), NOON - 60)[1] is not None


def test_foreign_reports_are_rejected():
    """Another truck's; another truck's in the name of ours; of the other suite."""
    reader = Reader(link())
    foreign = publisher(name=b"another truck 99").publish(NOON, content(VOILE), RANDOMNESS)[1]
    assert rejected(reader, foreign) == Reason.FOREIGN
    impostor = dataclasses.replace(truck(b"another truck 99"), truck=TRUCK)
    forged = ReportPublisher.new(impostor).publish(NOON, content(VOILE), RANDOMNESS)[1]
    assert rejected(reader, forged) == Reason.SIGNATURE
    assert rejected(reader, report(PAPER)) == Reason.SUITE


def test_the_signature_of_another_report_is_rejected():
    """A body, a slot and a signature of the same truck do not mix."""
    first, second = (Report.decode(message) for message in reports(2))
    for mixed in (
        dataclasses.replace(second, body=first.body),
        dataclasses.replace(second, at=first.at),
        dataclasses.replace(second, sequence=0),
        dataclasses.replace(second, previous=first.previous),
        dataclasses.replace(second, signature=first.signature),
    ):
        assert rejected(Reader(link()), mixed.encode()) == Reason.SIGNATURE


def test_a_body_whose_sender_the_chain_names_needs_no_signature():
    """What a chain vouches for is read alike: truck, slot, form and ciphers still count."""
    place, body = TruckSlot(TRUCK, NOON), Report.decode(report()).body
    reader, seen = Reader(link()).read_vouched(place, body, NOON)
    assert seen.position == positions()[1]
    for elsewhere, changed, reason in (
        (place, body, Reason.REPLAYED),
        (TruckSlot(b"t" * 16, NOON + 1), body, Reason.FOREIGN),
        (TruckSlot(TRUCK, LATER), body, Reason.FUTURE),
        (TruckSlot(TRUCK, NOON + 1), body[:-1], Reason.TRUNCATED),
        (TruckSlot(TRUCK, NOON + 1), body + b"\0", Reason.TRAILING),
    ):
        with pytest.raises(RejectedError) as error:
            reader.read_vouched(elsewhere, changed, NOON)
        assert error.value.reason == reason
    # The same body in a later slot is about nobody.
    assert reader.read_vouched(TruckSlot(TRUCK, NOON + 1), body, NOON)[1] is None


def test_a_rejected_report_changes_nothing():
    """After whatever was rejected the reader reads on as before."""
    first, second = reports(2)
    reader, _ = Reader(link()).read(first, LATER)
    for bad in (first, second[:-1], second[:-1] + b"\0", report(PAPER)):
        rejected(reader, bad)
    assert reader.read(second, LATER)[1] is not None


def test_a_link_of_several_days_uses_the_key_of_the_day():
    """Each day has its key; before the first and after the last day there is none."""
    days = link(days=2)
    for day, reason in ((-1, Reason.EXPIRED), (0, None), (1, None), (2, Reason.EXPIRED)):
        public = VOILE.tracking_public(secret_of(VOILE, day=DAY + day))
        parcel = dataclasses.replace(carried(VOILE), keys=public)
        slot = NOON + 86_400 * day
        message = publisher().publish(slot, Content(positions(), [parcel]), RANDOMNESS)[1]
        if reason:
            assert rejected(Reader(days), message, slot) == reason
        else:
            assert Reader(days).read(message, slot)[1].position == positions()[1]


def test_a_publisher_moves_forward_only():
    """The same slot and earlier ones are refused, in one life of the truck and in the next."""
    state, message = publisher().publish(NOON, content(VOILE), RANDOMNESS)
    again = ReportPublisher.after(truck(), Report.decode(message).record())
    assert again == state
    for machine in (state, again):
        for slot in (NOON, NOON - 1, 0):
            with pytest.raises(InputError, match="not later"):
                machine.publish(slot, content(VOILE), RANDOMNESS)
        assert machine.publish(NOON + 1, content(VOILE), RANDOMNESS)[0].sequence == 2
    with pytest.raises(RejectedError):
        ReportPublisher.after(truck(b"another truck 99"), Report.decode(message).record())


@SUITES
def test_a_retry_writes_the_same_report_and_another_content_shares_nothing(suite):
    """A crash between writing and sending gives no second look, and no key is used twice."""
    assert report(suite) == report(suite)
    one = suite.compose(TruckSlot(TRUCK, NOON), content(suite, level=1), RANDOMNESS)
    other = suite.compose(TruckSlot(TRUCK, NOON), content(suite, level=2), RANDOMNESS)
    at = 0 if suite is VOILE else 147
    assert one[at : at + 32] != other[at : at + 32]
    assert one[32:128] != other[32:128]


def test_impossible_contents_are_refused():
    """Positions, levels, distances, trucks and slots that cannot be written."""
    for impossible in (
        lambda: Content(positions()[:2], ()),
        lambda: dataclasses.replace(carried(VOILE), level=3),
        lambda: dataclasses.replace(carried(VOILE), level=True),
        lambda: dataclasses.replace(carried(VOILE), remaining=-1),
        lambda: TruckSlot(b"short", NOON),
        lambda: TruckSlot(TRUCK, 2**32),
        lambda: Position(90.1, 0, 0, 1),
        lambda: Position(0, float("nan"), 0, 1),
        lambda: Position(0, 0, -1, 1),
        lambda: Position(0, 0, 0, 0),
        lambda: VOILE.tracking_secret(None, b"", 0),
        lambda: dataclasses.replace(link(), days=()),
    ):
        with pytest.raises(InputError):
            impossible()


@SUITES
def test_a_parcel_is_found_among_many_trucks(suite):
    """Search finds the one report that is about the parcel."""
    many = [
        publisher(suite, b"truck number %03d" % number).publish(
            NOON, Content(positions(), [carried(suite, number), carried(suite, 100 + number)]),
            RANDOMNESS,
        )[1]
        for number in range(6)
    ]  # fmt: skip
    ((found, _),) = search(secret_of(suite, 4), many)
    assert found.at.truck == b"truck number 004"
