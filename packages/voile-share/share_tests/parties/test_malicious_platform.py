"""A platform that swaps trucks' cards, on each path by which a party comes to a link."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace

import pytest
from starlette.testclient import TestClient

from share_tests.parties.malicious import PLACE, Malicious
from share_tests.scene import DAY, HOME
from voile_base.errors import InputError
from voile_share import protocol
from voile_share.carrier import carrier_folder, new_carrier
from voile_share.parties import Parties, PlatformClient, PlatformClientError, TrackingAddress
from voile_share.protocol import Role, Stage
from voile_share.service import Options, application

PARCEL = b"3SABCD"
ORIGIN = "https://share.example.org"


@pytest.fixture
def client(scene):
    with TestClient(application(scene.platform, Options(address=ORIGIN))) as client:
        yield client


def seen_by(reader, message, slot):
    """The place that a reader believes."""
    position = reader.read(message, slot)[1].position
    return position.latitude, position.longitude


def opened_link(scene, client):
    """A truck that carries a parcel, its parties, and the platform by a link."""
    parties, company = Parties.draw(), scene.company()
    truck, _ = scene.truck(company)
    scene.platform.add_parcel(company, truck.truck, PARCEL, *parties.signers, HOME)
    number, _ = scene.platform.add_link(company, truck.truck, 24)
    return scene.card(truck), parties, PlatformClient(client, number)


@pytest.mark.parametrize("who", ["both", *Role])
def test_nothing_is_submitted_to_a_card_that_the_company_did_not_give(
    scene, client, monkeypatch, who
):
    """One program for both parties, or one for each: no half of a key leaves it."""
    card, parties, opened = opened_link(scene, client)
    party = parties if who == "both" else parties.party(who)
    malicious = Malicious.between(monkeypatch)
    with pytest.raises(PlatformClientError, match="ask the company which truck") as refused:
        party.submit(opened, PARCEL, DAY, days=2, card=card)
    assert refused.value.reason == "card-foreign"
    assert malicious.told == malicious.mail == []
    monkeypatch.undo()
    party.submit(opened, PARCEL, DAY, days=2, card=card)


@pytest.mark.slow
def test_who_trusts_the_platform_is_shown_what_it_forges(scene, client, monkeypatch):
    """With the platform's own card in place of the company's it writes what the link believes."""
    card, parties, opened = opened_link(scene, client)
    malicious = Malicious.between(monkeypatch)
    link = parties.submit(opened, PARCEL, DAY, card=opened.card())
    mine, slot = malicious.secrets(card.truck), int(scene.clock.now) // 300 * 300
    assert len(malicious.mail) == 2
    assert seen_by(protocol.Reader(link), malicious.forged(mine, slot), slot) == PLACE
    pinned = replace(link, verifying=card.verifying)
    with pytest.raises(protocol.RejectedError) as refused:
        protocol.Reader(pinned).read(malicious.forged(mine, slot), slot)
    assert refused.value.reason is protocol.Reason.SIGNATURE


class Depot:
    """A company whose carrier has taken a parcel on, and one truck."""

    def __init__(self, scene, client, folder):
        self.scene, self.client, self.folder = scene, client, folder
        self.company, token = scene.platform.open_company("Post of Delft")
        key = new_carrier(folder, ORIGIN, token)
        parties = Parties.draw()
        with self.carrier() as carrier:
            addresses = carrier.take(parties.consign(key, PARCEL, DAY, 2), 48, "", HOME)
        self.number = TrackingAddress.of(addresses[Role.RECEIVER]).number
        link = parties.party(Role.RECEIVER).parcel_link(key, PARCEL, DAY, 2)
        self.reader = protocol.ParcelReader(link)

    @contextmanager
    def carrier(self):
        with carrier_folder(self.folder, self.client) as opened:
            yield replace(opened, carrier=replace(opened.carrier, clock=self.scene.clock))

    def truck(self, *, own_keys):
        """Its card, as the company has it; its keys are the platform's, or its own."""
        secrets = protocol.TruckSecrets(b"own-keys-1".ljust(16), b"k" * 32, b"l" * 32)
        if not own_keys:
            return self.scene.card(self.scene.platform.add_truck(self.company)[0])
        self.scene.platform.add_truck(self.company, secrets.card().encode())
        return secrets.card()

    def refuses(self, card, words, malicious, **more):
        """To load says why, and what to do; nothing is told to anybody, and nothing changes."""
        with self.carrier() as carrier:
            with pytest.raises(InputError, match=words):
                carrier.load(PARCEL, card.truck, **more)
            assert carrier.parcel(PARCEL).at.stage is Stage.AWAITED
        assert malicious.told == malicious.mail == []


@pytest.fixture
def depot(scene, client, tmp_path):
    return Depot(scene, client, tmp_path / "carrier")


@pytest.mark.slow
@pytest.mark.parametrize("own_keys", [True, False])
def test_a_carrier_vouches_for_pinned_trucks_alone(depot, monkeypatch, own_keys):
    """Of one that was not pinned it takes no card, and of one that was no other."""
    card, malicious = depot.truck(own_keys=own_keys), Malicious.between(monkeypatch)
    depot.refuses(card, "voile share carrier pin", malicious)
    with depot.carrier() as carrier:
        carrier.pin(card, own_keys=own_keys)
        with pytest.raises(InputError, match="another card"):
            carrier.pin(malicious.secrets(card.truck).card(), own_keys=own_keys)
    depot.refuses(card, "another card", malicious)
    depot.refuses(card, "another card", malicious, trust_platform=True)
    monkeypatch.undo()
    with depot.carrier() as carrier:
        carrier.load(PARCEL, card.truck)
    reader = depot.reader.receive(depot.scene.platform.link_of(depot.number).notice)
    assert reader.notice.card == card


@pytest.mark.slow
def test_who_holds_a_trucks_keys_is_the_companys_word(depot, monkeypatch):
    """Else a platform that says it held them is sent the parcel's exact destination."""
    card = depot.truck(own_keys=True)
    with depot.carrier() as carrier:
        carrier.pin(card, own_keys=True)
    malicious = Malicious.between(monkeypatch, claims_keys=True)
    monkeypatch.setattr(malicious, "secrets", lambda truck: Shown(card))
    depot.refuses(card, "says that the platform holds its keys", malicious)
    depot.refuses(card, "says that the platform holds", malicious, trust_platform=True)


class Shown:
    """Keys that it has not, under the true card."""

    def __init__(self, card):
        self.card = lambda: card


@pytest.mark.slow
def test_trust_in_the_platform_is_never_for_a_truck_with_its_own_keys(depot, monkeypatch):
    """There is a card of its own to be had, so the platform's is not taken."""
    card, malicious = depot.truck(own_keys=True), Malicious.between(monkeypatch)
    depot.refuses(card, "give the one that the company has", malicious, trust_platform=True)


@pytest.mark.slow
def test_a_carrier_that_trusts_the_platform_vouches_for_what_it_forges(depot, monkeypatch):
    """Its readers believe a truck of the platform's: that is what --trust-platform says."""
    card, malicious = depot.truck(own_keys=False), Malicious.between(monkeypatch)
    with depot.carrier() as carrier:
        carrier.load(PARCEL, card.truck, trust_platform=True)
    mine, slot = malicious.secrets(card.truck), int(depot.scene.clock.now) // 300 * 300
    reader = depot.reader.receive(depot.scene.platform.link_of(depot.number).notice)
    assert seen_by(reader, malicious.forged(mine, slot), slot) == PLACE


@pytest.mark.parametrize("answer", [[], {}, {"trucks": 7}, {"trucks": [{"card": "A"}]}, "x"])
def test_a_carrier_refuses_answers_of_nonsense_in_words(depot, monkeypatch, answer):
    """Whatever the platform shows for its trucks, there is one sentence and no fault."""

    class Nonsense(PlatformClient):
        def ask(self, method, path, **given):
            monkeypatch.setattr(shown := super().ask(method, path, **given), "json", lambda: answer)
            return shown

    with depot.carrier() as carrier:
        whole = carrier.carrier
        there = replace(whole, platform=Nonsense(whole.platform.client, whole.platform.number))
        with pytest.raises(PlatformClientError, match="no sharing service"):
            replace(carrier, carrier=there).load(PARCEL, b"t" * 16)
