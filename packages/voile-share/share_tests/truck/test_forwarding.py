"""A truck that holds its keys, the platform that does not, and a network that fails."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from contextlib import closing

import httpx2 as httpx
import pytest
from starlette.testclient import TestClient

from share_tests.scene import DAY, HOME, NOON, Clock, Parties, Scene
from voile_base.errors import InputError
from voile_base.randomness import Randomness
from voile_geo.geodesy import metres_between
from voile_share import protocol
from voile_share.ingest import Request
from voile_share.parties import Parties as Consignors
from voile_share.platform import Settings, SlotOutcome
from voile_share.protocol.primitives import verifying_key
from voile_share.service import Options, application
from voile_share.service.options import Rate, RequestRates
from voile_share.store import SQLiteStore
from voile_share.truck import AwayError, Forwarding, OwnTruck


class Road:
    """A platform, a truck of its own keys that is registered there, and what is between them."""

    def __init__(self, folder, scene: Scene, options: Options | None = None) -> None:
        OwnTruck.create(folder / "truck").close()
        self.scene, self.folder, self.clock = scene, folder / "truck", scene.clock
        self.truck = OwnTruck(self.folder, Settings(), scene.clock)
        self.company = scene.company()
        self.registered, self.token = scene.platform.add_truck(self.company, self.truck.card)
        assert self.token is not None
        self.client = TestClient(
            application(scene.platform, options or Options()), raise_server_exceptions=False
        )
        self.forwarding = Forwarding(self.truck, "http://testserver", self.token, self.client)

    def report(self, place=(52.01, 4.36)) -> SlotOutcome:
        query = f"id=truck&lat={place[0]}&lon={place[1]}&timestamp={self.clock.now:.0f}"
        outcome = self.truck.receive(Request(query=query))
        self.clock.now += 300
        return outcome

    def close(self) -> None:
        self.client.close()
        self.truck.close()


@pytest.fixture
def road(tmp_path):
    (tmp_path / "platform").mkdir()
    scene = Scene(tmp_path / "platform")
    made = Road(tmp_path, scene)
    yield made
    made.close()
    scene.platform.close()


def submitted(road: Road, parcel: bytes, parties: Parties) -> protocol.ReaderLink:
    """The parties of a parcel have sent their keys to the platform."""
    number, _ = road.scene.platform.add_link(road.company, road.truck.truck, 24)
    card = protocol.TruckCard.decode(road.truck.card)
    for sealed in parties.submissions(card, parcel):
        road.scene.platform.submit(road.scene.platform.link_of(number), sealed)
    return protocol.ReaderLink.to(protocol.suite_named(), card, DAY, [parties.secret(parcel)])


def sightings(road: Road, link: protocol.ReaderLink):
    """What the holder of a link reads at the platform."""
    reader, seen = protocol.Reader(link), []
    for entry in road.scene.store.after(road.truck.truck, -1, 100):
        reader, sighting = reader.read(entry.message, int(road.clock.now))
        seen.append(sighting)
    return seen


@pytest.mark.slow
def test_parties_see_a_truck_that_the_platform_cannot_read(road):
    """Keys come to the truck and reports go out by way of a platform that holds no key of it."""
    parties = Parties()
    link = submitted(road, b"3SABCD0123456", parties)
    road.truck.load(b"3SABCD0123456", *parties.keys, HOME)
    assert road.forwarding.fetch() == 2
    assert road.report() is SlotOutcome.PUBLISHED
    assert road.forwarding.send() == 1
    (sighting,) = sightings(road, link)
    place = (sighting.position.latitude, sighting.position.longitude)
    assert sighting.level == 0
    assert sighting.remaining == round(metres_between(*place, *HOME))
    assert road.registered.secrets is None
    files = [path for path in road.scene.folder.iterdir() if path.name.startswith("share.db")]
    assert all(b"3SABCD0123456" not in path.read_bytes() for path in files)


def test_reports_wait_while_the_platform_is_away(road):
    """What could not be sent is sent later, in order, each once."""
    answers = road.client.request
    road.client.request = lambda *_, **__: (_ for _ in ()).throw(httpx.ConnectError("no network"))
    for _ in range(3):
        road.report()
        with pytest.raises(AwayError, match="does not answer"):
            road.forwarding.send()
    road.client.request = answers
    assert road.forwarding.send() == 3
    assert road.forwarding.send() == 0
    assert len(road.scene.store.after(road.truck.truck, -1, 100)) == 3


def test_a_truck_goes_on_after_its_device_was_off(road):
    """What was not sent before it was switched off is sent by the next start; the chain goes on."""
    road.report()
    road.forwarding.send()
    road.report()
    road.truck.close()
    road.truck = OwnTruck(road.folder, Settings(), road.clock)
    again = Forwarding(road.truck, "http://testserver", road.token, road.client)
    road.report()
    assert again.send() == 2
    auditor = protocol.Auditor(protocol.TruckCard.decode(road.truck.card))
    for record in road.scene.platform.records(road.truck.truck, 0, 10):
        auditor = auditor.follow(record)
    assert auditor.sequence == 3


def posted(road: Road) -> list[str]:
    """Notes the reports that are sent from now on."""
    answers, sent = road.client.request, []

    def noting(method, path, **given):
        if method == "POST":
            sent.append(path)
        return answers(method, path, **given)

    road.client.request = noting
    return sent


def test_a_new_start_sends_only_what_the_platform_lacks(road):
    """What the platform says it has last is not sent again, by this process or by the next."""
    for _ in range(3):
        road.report()
    assert road.forwarding.send() == 3
    sent = posted(road)
    road.truck.close()
    road.truck = OwnTruck(road.folder, Settings(), road.clock)
    assert (road.truck.sent, road.truck.waiting) == (road.clock.now - 300, 0)
    road.report()
    assert road.truck.waiting == 1
    again = Forwarding(road.truck, "http://testserver", road.token, road.client)
    assert again.send() == 1
    assert sent == ["/api/v1/reports"]
    assert road.truck.waiting == 0


@pytest.mark.slow
def test_a_platform_that_has_lost_reports_gets_them_again(road, monkeypatch):
    """After it was away the platform is asked anew: it may have been restored from a backup."""
    for _ in range(3):
        road.report()
        road.forwarding.send()
    sent, answers = posted(road), road.client.request
    monkeypatch.setattr(
        road.client, "request", lambda *_, **__: (_ for _ in ()).throw(httpx.ReadError("lost"))
    )
    road.report()
    with pytest.raises(AwayError):
        road.forwarding.send()
    monkeypatch.setattr(road.client, "request", answers)
    last = road.scene.store.last(road.truck.truck)
    first = road.scene.store.after(road.truck.truck, -1, 1)[0]
    monkeypatch.setattr(road.scene.store, "last", lambda _: first)
    assert road.forwarding.send() == 1
    assert len(sent) == 3
    monkeypatch.undo()
    assert road.scene.store.last(road.truck.truck).slot == last.slot + 300


def test_a_month_without_a_network_is_sent_in_one_piece(road):
    """Reports that the platform lacks are never dropped, those that it has after a month."""
    road.report()
    road.clock.now += 40 * 86_400
    road.truck.close()
    road.truck = OwnTruck(road.folder, Settings(), road.clock)
    road.report()
    assert road.truck.waiting == 2
    again = Forwarding(road.truck, "http://testserver", road.token, road.client)
    assert again.send() == 2
    road.clock.now += 40 * 86_400
    road.report()
    road.truck.close()
    road.truck = OwnTruck(road.folder, Settings(), road.clock)
    assert [entry.slot for entry in road.truck.reports(-1)] == [road.clock.now - 300]


def test_submissions_of_past_days_are_dropped(road):
    """What parties have submitted for days that are over is not kept for ever."""
    parties = Parties()
    submitted(road, b"P1", parties)
    road.truck.load(b"P1", *parties.keys)
    assert road.forwarding.fetch() == 2
    road.clock.now += 40 * 86_400
    road.truck.close()
    road.truck = OwnTruck(road.folder, Settings(), road.clock)
    with closing(SQLiteStore.open(road.folder / "truck.db")) as store:
        assert list(store.mail(road.truck.truck, 0, 10)) == []


@pytest.mark.slow
def test_a_platform_that_wants_a_pause_says_how_long(tmp_path):
    """At 429 nothing is sent twice, and the time to wait is known."""
    scene = Scene(tmp_path)
    (tmp_path / "truck").mkdir()
    made = Road(tmp_path / "truck", scene, Options(rates=RequestRates(truck=Rate(0.001, 3))))
    try:
        for _ in range(3):
            made.report()
        sent = posted(made)
        with pytest.raises(AwayError) as error:
            made.forwarding.send()
        assert 100 <= error.value.wait <= 1000
        assert made.truck.waiting == 1
        assert sent == ["/api/v1/reports"] * 3
        assert [entry.slot for entry in made.truck.reports(made.truck.sent)] == [NOON + 600]
    finally:
        made.close()
        scene.platform.close()


@pytest.mark.parametrize(
    ("status", "body"), [(200, b"<p>Sign in"), (301, b""), (200, b"[]"), (502, b"{}")]
)
def test_a_network_that_answers_for_the_platform_takes_nothing(road, status, body):
    """What is no answer of the platform is no success: reports go on waiting."""
    road.report()
    answers = road.client.request
    road.client.request = lambda *_, **__: httpx.Response(status, content=body)
    with pytest.raises(AwayError):
        road.forwarding.send()
    assert road.truck.waiting == 1
    road.client.request = answers
    assert road.forwarding.send() == 1


@pytest.mark.parametrize(
    "address",
    ["ftp://share.example.org", "share.example.org", "https://", "https://x:y", "https://a@x", ""],
)
def test_what_is_no_address_is_refused(road, address):
    """An address that cannot be one is said to be none before anything is asked."""
    with pytest.raises(InputError, match="must be like https"):
        Forwarding(road.truck, address, "token")


def test_commands_beside_a_running_truck_do_not_disturb_it(road):
    """Whoever opens the folder and closes it again ends nothing of those who have it open."""
    assert road.report() is SlotOutcome.PUBLISHED
    OwnTruck(road.folder, Settings(), road.clock).close()
    road.clock.now += 60
    assert road.report() is SlotOutcome.PUBLISHED


def test_a_device_is_made_once(road):
    """Opening a folder adds no device to it, but for one that an older Voile has left without."""
    with closing(SQLiteStore.open(road.folder / "truck.db")) as store:
        for _ in range(3):
            OwnTruck(road.folder, Settings(), road.clock).close()
        (device,) = store.devices(road.truck.truck)
        store.revoke_device(road.truck.truck, device.token.device, road.clock.now)
        for _ in range(3):
            OwnTruck(road.folder, Settings(), road.clock).close()
        assert len(store.devices(road.truck.truck)) == 2
    road.truck.close()
    road.truck = OwnTruck(road.folder, Settings(), road.clock)
    assert road.report() is SlotOutcome.PUBLISHED


def test_submissions_before_the_parcel_are_read_again(road):
    """A parcel that comes on board after its parties have submitted is in the reports, too."""
    parties = Parties()
    link = submitted(road, b"P1", parties)
    assert road.forwarding.fetch() == 0
    road.truck.load(b"P1", *parties.keys)
    road.forwarding.forget_what_was_read()
    assert road.forwarding.fetch() == 2
    road.report()
    road.forwarding.send()
    assert [sighting is not None for sighting in sightings(road, link)] == [True]
    assert road.truck.parcels() == [b"P1"]
    road.truck.unload(b"P1")
    assert road.truck.parcels() == []


def test_what_the_platform_refuses_for_good_is_said(road):
    """A token that opens nothing is no reason to try again."""
    road.report()
    refused = Forwarding(road.truck, "http://testserver", "wrong", road.client)
    with pytest.raises(InputError, match="refuses"):
        refused.send()


def test_a_folder_holds_one_truck(tmp_path):
    """A folder that holds something is not taken, and one without a truck is no truck's."""
    OwnTruck.create(tmp_path / "truck").close()
    with pytest.raises(InputError, match="already"):
        OwnTruck.create(tmp_path / "truck")
    with pytest.raises(InputError, match="init"):
        OwnTruck(tmp_path / "other", clock=Clock())
    assert urlsafe_b64encode(OwnTruck(tmp_path / "truck").card)


def test_a_parcel_of_a_carrier_comes_aboard_a_truck_that_holds_its_keys(road):
    """The carrier hands it the halves by the platform, which holds none of its keys."""
    key = verifying_key(b"seed of the carrier, 32 bytes..!")
    parties = Consignors.draw()
    consigned = parties.consign(key, b"P1", DAY, 2)
    number, card = protocol.carrier_number(key), protocol.TruckCard.decode(road.truck.card)
    road.truck.load(b"P1", *parties.signers, HOME, number)
    for half in consigned.halves:
        sealed = protocol.SealedSubmission.seal(half.encode(), card, Randomness.seeded(1), number)
        road.scene.platform.submit_by_company(road.company, card.truck, sealed.encode())
    assert road.forwarding.fetch() == len(consigned.halves) == 8
    road.report()
    assert road.forwarding.send() == 1
    for role in protocol.Role:
        link = parties.party(role).parcel_link(key, b"P1", DAY, 2)
        (sighting,) = sightings(road, link.on(card.truck, card.verifying))
        assert sighting.remaining is not None


def test_a_truck_learns_arrivals_on_its_own_device(road, tmp_path):
    """From what it has published in this process and before, also by a process that delivers."""
    road.truck.load(b"P1", *Parties().keys, HOME)
    for _ in range(3):
        road.report()
    again = OwnTruck(tmp_path / "truck", clock=road.clock)
    again.unload(b"P1", delivered=True)
    (drive,) = again.past_drives()
    assert len(drive["shown"]) == 3
    again.forget_past_drives()
    assert again.past_drives() == []
    again.close()
