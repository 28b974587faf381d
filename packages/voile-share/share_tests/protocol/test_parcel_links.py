"""A link that belongs to a parcel opens on every truck, and tells each attacker what is written."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from voile_base.errors import InputError
from voile_base.randomness import Randomness
from voile_share import protocol
from voile_share.parties import Consignment, Parties
from voile_share.protocol import (
    Notice,
    Reason,
    RejectedError,
    Role,
    SealedNotice,
    SealedSubmission,
    Stage,
)
from voile_share.protocol.primitives import verifying_key

DAY = 20_000
NOON = DAY * 86_400 + 43_200
SEED = b"seed of the carrier, 32 bytes..!"
CARRIER = verifying_key(SEED)
PARCEL = b"3SABCD0123456"
SUITE = protocol.suite_named()
RANDOM = Randomness.seeded(11)


@pytest.fixture(scope="module")
def parties() -> Parties:
    drawn = Randomness.seeded(5)
    return Parties.agree(protocol.Pair(b"shop", b"customer", drawn.key("pair").secret), drawn)


@pytest.fixture(scope="module")
def consigned(parties) -> Consignment:
    return parties.consign(CARRIER, PARCEL, DAY, 3)


def truck(name: bytes) -> protocol.TruckSecrets:
    return protocol.TruckSecrets.draw(name.ljust(16, b"."), RANDOM)


def link(parties: Parties, role: Role = Role.RECEIVER) -> protocol.ParcelLink:
    return parties.party(role).parcel_link(CARRIER, PARCEL, DAY, 3)


def loaded(consigned: Consignment, its: protocol.TruckSecrets) -> protocol.TrackingKeys:
    """What a truck holds after the carrier has handed it the halves, under seal."""
    number, held = protocol.carrier_number(CARRIER), protocol.TrackingKeys(its.truck)
    held = held.carrying(consigned.waybill)
    for half in consigned.halves:
        sealed = SealedSubmission.seal(half.encode(), its.card(), RANDOM, number)
        held = held.receive(SealedSubmission.decode(sealed.encode()).open(its), today=DAY)
    return held


def report(its: protocol.TruckSecrets, held: protocol.TrackingKeys, slot: int) -> bytes:
    """Of a truck in a slot, about all that it carries."""
    place = protocol.Position(52.0, 4.0, slot, 2.0**-6)
    day = protocol.day_of(slot)
    carried = [protocol.Carried(keys, 0, 900) for _, keys in held.addressed(day)]
    content = protocol.Content((place, place, place), carried, 10)
    return protocol.ReportPublisher.new(its).publish(slot, content, RANDOM)[1]


def notice(
    reader: protocol.ParcelLink, number: int, its: protocol.TruckSecrets | None = None, **more
) -> bytes:
    """What the carrier says to a reader, sealed."""
    stage = Stage.DEPOT if its is None else Stage.ABOARD
    card = None if its is None else its.card()
    said = Notice(reader.root.box, number, NOON, more.pop("stage", stage), card, **more)
    return SealedNotice.seal(said, SEED, RANDOM).encode()


def test_one_link_reads_three_trucks_and_days_without_one(parties, consigned):
    """The link of the first day opens each truck in its turn, and nothing while there is none."""
    reader = protocol.ParcelReader(link(parties))
    with pytest.raises(RejectedError) as refused:
        reader.read(report(truck(b"1"), loaded(consigned, truck(b"1")), NOON), NOON)
    assert refused.value.reason is Reason.FOREIGN
    for number, name in enumerate((b"1", b"2", b"3")):
        its, slot = truck(name), NOON + 86_400 * number
        reader = reader.receive(notice(reader.link, 2 * number + 1, its))
        reader, sighting = reader.read(report(its, loaded(consigned, its), slot), slot)
        assert sighting is not None
        assert sighting.remaining == 900
        reader = reader.receive(notice(reader.link, 2 * number + 2, depot="Hamburg"))
        assert (reader.notice.stage, reader.notice.depot) == (Stage.DEPOT, "Hamburg")
        with pytest.raises(RejectedError):
            reader.read(report(its, loaded(consigned, its), slot + 300), slot + 300)


def test_a_party_sees_a_truck_only_while_the_parcel_is_aboard(parties, consigned):
    """Before it is loaded and after it is unloaded, a truck's reports hold nothing for its link.

    Also where the reader's program takes them: nobody addresses the parcel.
    """
    its = truck(b"1")
    reader = protocol.ParcelReader(link(parties)).receive(notice(link(parties), 1, its))
    before = protocol.TrackingKeys(its.truck)
    aboard = loaded(consigned, its)
    after = aboard.delivered(PARCEL)
    seen = []
    for slot, held in ((NOON, before), (NOON + 300, aboard), (NOON + 600, after)):
        reader, sighting = reader.read(report(its, held, slot), slot)
        seen.append(sighting is not None)
    assert seen == [False, True, False]


def test_a_former_truck_follows_the_parcel_no_further(consigned):
    """All that it was given recognises no item of the next truck: of 6 keys and both roles none.

    What it holds are public halves; whoever tries them as secrets finds nothing either.
    """
    former, following = loaded(consigned, truck(b"1")), truck(b"2")
    message = report(following, loaded(consigned, following), NOON)
    opened = protocol.Report.decode(message)
    for _, keys in former.addressed(DAY):
        for guess in (keys.tracking, keys.address):
            secret = protocol.TrackingSecret(guess, keys.address)
            assert SUITE.recognise(secret, opened.at, opened.body) is None


def test_sender_and_receiver_read_by_keys_of_their_own(parties, consigned):
    """Neither link opens what the other does: other items, other notices, no common key."""
    its = truck(b"1")
    links = {role: link(parties, role) for role in Role}
    message = report(its, loaded(consigned, its), NOON)
    opened = protocol.Report.decode(message)
    items = {
        role: SUITE.recognise(one.root.day(DAY), opened.at, opened.body)
        for role, one in links.items()
    }
    assert None not in items.values()
    assert items[Role.SENDER] != items[Role.RECEIVER]
    for role, other in ((Role.SENDER, Role.RECEIVER), (Role.RECEIVER, Role.SENDER)):
        with pytest.raises(RejectedError) as refused:
            protocol.ParcelReader(links[other]).receive(notice(links[role], 1, its))
        assert refused.value.reason is Reason.TAMPERED
    assert links[Role.SENDER].root != links[Role.RECEIVER].root


def test_the_platform_cannot_put_in_a_truck_of_its_own(parties, consigned):
    """A card that the carrier has not signed is refused, and so are the reports of such a truck.

    The platform knows N of no reader by itself; here it is given even that.
    """
    reader = protocol.ParcelReader(link(parties))
    mine = truck(b"platform's")
    forged = Notice(reader.link.root.box, 9, NOON, Stage.ABOARD, mine.card())
    sealed = SealedNotice.seal(forged, b"seed of the platform, 32 bytes!!", RANDOM).encode()
    with pytest.raises(RejectedError) as refused:
        reader.receive(sealed)
    assert refused.value.reason is Reason.SIGNATURE
    reader = reader.receive(notice(reader.link, 1, truck(b"1")))
    with pytest.raises(RejectedError) as refused:
        reader.read(report(mine, loaded(consigned, mine), NOON), NOON)
    assert refused.value.reason is Reason.FOREIGN
    # With the number of the right truck, and its own key.
    posing = replace(mine, truck=truck(b"1").truck)
    with pytest.raises(RejectedError) as refused:
        reader.read(report(posing, loaded(consigned, posing), NOON), NOON)
    assert refused.value.reason is Reason.SIGNATURE


def test_an_older_notice_and_one_of_another_parcel_are_refused(parties):
    """Who carries notices cannot bring back an old one, nor bring one of another parcel."""
    mine = link(parties)
    first, second = notice(mine, 1, truck(b"1")), notice(mine, 2)
    reader = protocol.ParcelReader(mine).receive(first)
    assert reader.receive(first) is reader
    reader = reader.receive(second)
    with pytest.raises(RejectedError) as refused:
        reader.receive(first)
    assert refused.value.reason is Reason.REPLAYED
    # The carrier's own words for another reader, sealed again for this one.
    other = Notice(b"\x09" + bytes(31), 3, NOON, Stage.DELIVERED)
    message = other.signed(SEED)
    with pytest.raises(RejectedError) as refused:
        resealed(message, mine.root.box, reader)
    assert refused.value.reason is Reason.IDENTITY


def resealed(message: bytes, box: bytes, reader: protocol.ParcelReader) -> protocol.ParcelReader:
    """A signed notice under a seal that somebody else has made."""

    class Signed:
        def __init__(self) -> None:
            self.box = box

        def signed(self, seed: bytes) -> bytes:
            return message

    return reader.receive(SealedNotice.seal(Signed(), SEED, RANDOM).encode())


def test_who_carries_notices_sees_neither_stage_nor_depot(parties):
    """All have one size, and without a root none opens; the same words twice look different."""
    mine = link(parties)
    sealed = [notice(mine, 1, truck(b"1"), stops=3, destination=(52.0, -4.0))]
    sealed += [notice(mine, 1, stage=stage) for stage in Stage if stage is not Stage.ABOARD]
    sealed += [notice(mine, 1, depot="x" * 64)]
    assert {len(one) for one in sealed} == {316}
    again = SealedNotice.seal(
        Notice(mine.root.box, 1, NOON, Stage.DEPOT), SEED, Randomness.seeded(12)
    ).encode()
    assert again[:35] != notice(mine, 1)[:35]


def test_changed_notices_and_links_are_refused(parties):
    """Each octet of a sealed notice counts; a link has one form."""
    mine = link(parties)
    whole = notice(mine, 1, truck(b"1"), stops=3, destination=(-52.0, 4.0), depot="")
    assert protocol.ParcelReader(mine).receive(whole).notice.destination == (-52.0, 4.0)
    for at in range(len(whole)):
        changed = whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :]
        with pytest.raises(RejectedError):
            protocol.ParcelReader(mine).receive(changed)
    for odd in (b"", whole[:-1], whole + b"\0"):
        with pytest.raises(RejectedError):
            protocol.ParcelReader(mine).receive(odd)
    assert protocol.ParcelLink.from_fragment(mine.fragment()) == mine
    assert len(mine.fragment()) == 96
    for fragment in ("", mine.fragment()[:-1], mine.fragment() + "A", "!" + mine.fragment()[1:]):
        with pytest.raises(RejectedError):
            protocol.ParcelLink.from_fragment(fragment)


def test_what_cannot_be_said_is_refused(parties):
    """A truck's card belongs to a parcel that is aboard; names of depots and stops have bounds."""
    box, card = link(parties).root.box, truck(b"1").card()
    for more in (
        {"stage": Stage.ABOARD},
        {"stage": Stage.DEPOT, "card": card},
        {"stage": Stage.DEPOT, "depot": "x" * 65},
        {"stage": Stage.DEPOT, "depot": "a\nb"},
        {"stage": Stage.DEPOT, "stops": 255},
        {"stage": Stage.DEPOT, "destination": (91.0, 0.0)},
        {"stage": Stage.DEPOT, "destination": (float("nan"), 0.0)},
    ):
        with pytest.raises(InputError):
            Notice(box, 1, NOON, **more)


def test_halves_for_a_carrier_are_taken_by_its_trucks_alone(parties, consigned):
    """A truck whose waybill names no carrier, or another one, takes none of them."""
    half = consigned.halves[0].encode()
    for number in (None, bytes(16)):
        waybill = replace(consigned.waybill, carrier=number)
        held = protocol.TrackingKeys(truck(b"1").truck).carrying(waybill)
        with pytest.raises(RejectedError) as refused:
            held.receive(half, today=DAY)
        assert refused.value.reason is Reason.FOREIGN
    with pytest.raises(InputError, match="another truck"):
        SealedSubmission.seal(half, truck(b"1").card(), RANDOM)


def test_one_party_alone_lets_no_truck_address_its_reader(parties):
    """The receiver's own keys count once the sender has signed them, too, and not before."""
    receiver, sender = parties.party(Role.RECEIVER), parties.party(Role.SENDER)
    offer = receiver.offer(PARCEL, DAY, 1)
    waybill = protocol.Waybill(PARCEL, *parties.signers, protocol.carrier_number(CARRIER))
    held = protocol.TrackingKeys(truck(b"1").truck).carrying(waybill)
    (mine,) = receiver.signed_offers(CARRIER, PARCEL, [offer])
    held = held.receive(mine.encode(), today=DAY)
    assert held.addressed(DAY) == []
    (theirs,) = sender.signed_offers(CARRIER, PARCEL, [offer])
    assert len(held.receive(theirs.encode(), today=DAY).addressed(DAY)) == 1
    # Signed by the receiver alone, under both names.
    forged = replace(mine, role=Role.SENDER).signed(receiver.seed)
    with pytest.raises(RejectedError) as refused:
        held.receive(forged.encode(), today=DAY)
    assert refused.value.reason is Reason.SIGNATURE
    # Other keys for one reader than the other party has signed.
    other = replace(mine, role=Role.SENDER).of_readers(
        mine.readers, SUITE.tracking_public(protocol.ParcelRoot(bytes(32)).day(DAY))
    )
    with pytest.raises(RejectedError) as refused:
        held.receive(other.signed(sender.seed).encode(), today=DAY)
    assert refused.value.reason is Reason.DISAGREEMENT


def test_a_consignment_is_whole_or_refused(consigned):
    """It is read back as it was written; without a half, or with a changed one, it is not."""
    document = consigned.document()
    assert Consignment.decode(json.dumps(document)) == consigned
    halves = document["halves"]
    for changed in (
        {"halves": halves[1:]},
        {"halves": [halves[0][:-4] + "AAAA", *halves[1:]]},
        {"days": 32},
        {"carrier": "AAAA"},
        {"version": 2},
        {"parcel": 7},
    ):
        with pytest.raises(InputError):
            Consignment.decode(json.dumps({**document, **changed}))
    for text in ("", "[]", "null", "{}"):
        with pytest.raises(InputError):
            Consignment.decode(text)
