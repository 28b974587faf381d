"""Parties, each alone or both by one program, and the file that their keys stand in."""

from __future__ import annotations

import json
import stat

import pytest
from starlette.testclient import TestClient

from share_tests.scene import DAY, HOME
from voile_base.errors import InputError
from voile_base.randomness import Randomness
from voile_share import protocol
from voile_share.parties import Parties, Party, PlatformClient
from voile_share.service import Options, application

PARCEL = b"3SABCD"


@pytest.fixture
def client(scene):
    with TestClient(application(scene.platform, Options())) as client:
        yield client


def seen(scene, truck, link):
    """What the holder of a link reads in the truck's last report."""
    report = scene.platform.last_report(scene.platform.link_of(link[0])).message
    return protocol.Reader(link[1]).read(report, int(scene.clock.now))[1]


@pytest.mark.slow
def test_each_party_alone_gives_its_half(scene, client):
    """The reports are about the parcel when the truck has both halves, and both links read them."""
    agreed = Parties.draw()
    sender, receiver = (
        Party(role, agreed.keys, Randomness.secure().key("own").secret) for role in protocol.Role
    )
    company = scene.company()
    truck, device = scene.truck(company)
    scene.platform.add_parcel(company, truck.truck, PARCEL, sender.signer, receiver.signer, HOME)
    links = []
    for party in (sender, receiver):
        number, _ = scene.platform.add_link(company, truck.truck, 24)
        opened, card = PlatformClient(client, number), scene.card(truck)
        links.append((number, party.submit(opened, PARCEL, DAY, days=2, card=card)))
        scene.drive(device, 1)
        is_complete = party is receiver
        assert all((seen(scene, truck, link) is not None) is is_complete for link in links)
    assert links[0][1] == links[1][1]
    assert [links[0][1].key(day * 86_400) for day in (DAY, DAY + 1)] == list(links[0][1].days)


def test_both_parties_by_one_program(scene, client):
    """One call gives both halves, again with the same file; the keys of a day read its reports."""
    parties = Parties.draw()
    company = scene.company()
    truck, device = scene.truck(company)
    scene.platform.add_parcel(company, truck.truck, PARCEL, *parties.signers, HOME)
    for _ in range(2):
        number, _ = scene.platform.add_link(company, truck.truck, 24)
        link = parties.submit(PlatformClient(client, number), PARCEL, DAY, card=scene.card(truck))
    scene.drive(device, 1)
    assert seen(scene, truck, (number, link)) is not None


def test_submissions_of_one_parcel_to_two_trucks_have_nothing_alike(scene):
    """Nor have those of two programs that opened one file: nobody sees that it is one parcel."""
    parties, company = Parties.draw(), scene.company()
    cards = [scene.card(scene.truck(company)[0]) for _ in range(2)]
    again = Parties(parties.keys, parties.seeds, Randomness.secure())
    sealed = [
        those.party(protocol.Role.SENDER).halves(card, PARCEL, DAY, 1)[0].encode()
        for those, card in ((parties, cards[0]), (parties, cards[1]), (again, cards[0]))
    ]
    after_the_truck = [message[3 + 16 :] for message in sealed]
    pieces = [{one[at : at + 8] for at in range(len(one) - 7)} for one in after_the_truck]
    assert not pieces[0] & pieces[1]
    assert not pieces[0] & pieces[2]


def test_keys_come_back_from_their_file(tmp_path):
    """The file is its owner's alone, holds what was drawn, and is never written over."""
    parties = Parties.draw()
    parties.save(tmp_path / "keys")
    assert stat.S_IMODE((tmp_path / "keys").stat().st_mode) == 0o600
    opened = Parties.open(tmp_path / "keys")
    assert (opened.keys, opened.seeds) == (parties.keys, parties.seeds)
    assert opened.signers == parties.signers
    with pytest.raises(InputError, match="something is here already"):
        Parties.draw().save(tmp_path / "keys")
    assert Parties.open(tmp_path / "keys").keys == parties.keys
    assert Parties.draw().keys != parties.keys


def without_a_key(kept):
    del kept["k_b"]


def with_a_short_key(kept):
    kept["sender"] = kept["sender"][:-1]


def with_another_encoding(kept):
    kept["sender"] += "="


def with_no_text(kept):
    kept["receiver"] = 7


def of_something_else(kept):
    kept["voile"] = "release"


@pytest.mark.parametrize(
    "broken",
    [without_a_key, with_a_short_key, with_another_encoding, with_no_text, of_something_else],
)
def test_a_file_that_is_another_one_is_refused(tmp_path, broken):
    """The message names the file, and nothing of what is in it."""
    path = tmp_path / "keys"
    Parties.draw().save(path)
    kept = json.loads(path.read_text())
    broken(kept)
    path.write_text(json.dumps(kept))
    with pytest.raises(InputError, match="this is no file of `voile share party init`") as refused:
        Parties.open(path)
    assert str(path) in str(refused.value)
    assert kept["k_a"] not in str(refused.value)


@pytest.mark.usefixtures("usual_limits")
@pytest.mark.parametrize("text", ["", "[]", "7", "{", "[" * 100_000])
def test_a_file_that_is_no_document_is_refused(tmp_path, text):
    """Whatever is in it, the answer is one sentence."""
    path = tmp_path / "keys"
    path.touch(0o600)
    path.write_text(text)
    with pytest.raises(InputError, match="this is no file of `voile share party init`"):
        Parties.open(path)


def test_a_file_of_a_newer_voile_is_told_apart(tmp_path):
    """Its keys are not wrong; the program is too old."""
    path = tmp_path / "keys"
    Parties.draw().save(path)
    path.write_text(path.read_text().replace('"version": 1', '"version": 2'))
    with pytest.raises(InputError, match="update Voile"):
        Parties.open(path)


def test_a_file_that_others_may_read_is_refused(tmp_path):
    """The message says how to mend it."""
    path = tmp_path / "keys"
    Parties.draw().save(path)
    path.chmod(0o640)
    with pytest.raises(InputError, match="chmod 600"):
        Parties.open(path)
