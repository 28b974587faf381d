"""``voile share party``: keys in a file, and links that open, over a service that runs."""

from __future__ import annotations

import socket
import stat
import sys
from datetime import UTC, datetime, timedelta
from io import StringIO

import pytest

from share_tests.parties.malicious import PLACE, Malicious
from share_tests.scene import HOME, Clock, Scene
from share_tests.service.server import Company, serving
from voile_share import protocol

PARCEL = "3SABCD"
DAY = datetime.now(UTC).date() + timedelta(1)
"""Tomorrow, so that it is not over before these tests are."""


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """A service on whose clock it is noon of ``DAY``."""
    noon = datetime(DAY.year, DAY.month, DAY.day, 12, tzinfo=UTC).timestamp()
    folder = tmp_path_factory.mktemp("service")
    with serving(folder, scene=Scene(folder, clock=Clock(noon))) as running:
        yield running


@pytest.fixture
def company(service):
    with service.client() as http:
        yield service.company(http)


@pytest.fixture
def keys(desk):
    """The file of a parcel's parties."""
    assert desk.run("share", "party", "init", desk / "keys").status == 0
    return desk / "keys"


def waybill_of(desk, keys) -> dict:
    return desk.run("share", "party", "show", keys, "--json").document


def address_of(service, company: Company, truck: str, hours: float = 24) -> str:
    number = company.link(truck, hours)
    return f"{service.address}/t#{number}."


def loaded(desk, company, keys) -> tuple[str, str]:
    """A truck that carries the parcel, and its tracker's token."""
    truck, device = company.truck()
    place = dict(zip(("latitude", "longitude"), HOME, strict=True))
    waybill = {**waybill_of(desk, keys), "destination": place}
    put = company.call("PUT", f"/trucks/{truck}/parcels/{PARCEL}", json=waybill)
    assert put.status_code == 204
    return truck, device


def link(keys, address, *more) -> list[object]:
    """The arguments that make a link for ``DAY``."""
    if "--card" not in more:
        more = ("--trust-platform", *more)
    return ["share", "party", "link", keys, address, "--parcel", PARCEL, "--date", DAY, *more]


@pytest.mark.slow
def test_a_platform_that_shows_a_card_of_its_own_gets_no_keys(
    desk, service, company, keys, monkeypatch
):
    """With the company's card nothing is submitted to another; without a card nothing is made.

    Who says --trust-platform submits to it, and gets a link that believes what it forges.
    """
    truck, _ = loaded(desk, company, keys)
    other, _ = company.truck()
    cards = {one["truck"]: one["card"] for one in company.call("GET", "/trucks").json()["trucks"]}
    bare = address_of(service, company, truck)
    assert "--card" in desk.fails(
        2, *[one for one in link(keys, bare) if one != "--trust-platform"]
    )
    assert "no card" in fails(desk, *link(keys, bare, "--card", "AAAA"))
    malicious = Malicious.between(monkeypatch)
    assert "another card" in fails(desk, *link(keys, bare, "--card", cards[truck]))
    assert "another card" in fails(desk, *link(keys, bare, "--card", cards[other]))
    assert malicious.told == []
    forgeable = desk.run(*link(keys, bare)).stdout.strip()
    assert len(malicious.mail) == 4
    monkeypatch.undo()
    right = desk.run(*link(keys, bare, "--card", cards[truck])).stdout.strip()
    slot = int(service.now)
    forged = malicious.forged(malicious.secrets(bytes.fromhex(truck)), slot)
    believes, pinned = (
        protocol.Reader(protocol.ReaderLink.from_fragment(one.partition("#")[2].partition(".")[2]))
        for one in (forgeable, right)
    )
    assert believes.read(forged, slot)[1].position.latitude == PLACE[0]
    with pytest.raises(protocol.RejectedError, match="not signed"):
        pinned.read(forged, slot)


def test_keys_are_drawn_for_their_owner_alone(desk):
    """The file is private, the public keys are printed as `show` prints them, and none twice."""
    drawn = desk.run("share", "party", "init", desk / "keys", "--json")
    assert stat.S_IMODE((desk / "keys").stat().st_mode) == 0o600
    assert drawn.document == waybill_of(desk, desk / "keys")
    assert sorted(drawn.document) == ["receiver", "sender"]
    other = desk.run("share", "party", "init", desk / "other")
    for role, key in drawn.document.items():
        assert role in other.stdout
        assert key not in other.stdout
    assert "can read the reports" in other.stderr
    assert desk.hidden() == []
    assert "something is here already" in desk.fails(2, "share", "party", "init", desk / "keys")


def test_a_link_is_made_that_reads_the_reports(desk, service, company, keys):
    """What is printed is the whole address, whose fragment opens the truck's next report."""
    truck, device = loaded(desk, company, keys)
    bare = address_of(service, company, truck)
    made = desk.run(*link(keys, bare, "--json", "--days", 3)).document
    assert (made["parcel"], made["date"], made["days"]) == (PARCEL, f"{DAY}", 3)
    number, _, fragment = made["address"].removeprefix(f"{service.address}/t#").partition(".")
    assert bare.endswith(f"#{number}.")
    opened = protocol.ReaderLink.from_fragment(fragment)
    assert (opened.truck.hex(), len(opened.days)) == (truck, 3)
    with service.client() as http:
        service.next_slot()
        assert service.send(http, device).status_code == 200
        report = service.scene.platform.last_report(service.scene.platform.link_of(number))
    _, sighting = protocol.Reader(opened).read(report.message, int(service.now))
    assert sighting is not None
    assert sighting.position.latitude == pytest.approx(52.01, abs=0.2)


def test_a_second_link_reads_the_same(desk, service, company, keys, monkeypatch):
    """Sender and receiver get an address each; that of the second came by standard input."""
    truck, _ = loaded(desk, company, keys)
    bare = [address_of(service, company, truck) for _ in range(2)]
    first = desk.run(*link(keys, bare[0]))
    monkeypatch.setattr(sys, "stdin", StringIO(bare[1] + "\n"))
    second = desk.run(*link(keys, "-"))
    assert first.stdout.startswith(bare[0])
    assert second.stdout.startswith(bare[1])
    keys_of = [done.stdout.strip().partition("#")[2].partition(".")[2] for done in (first, second)]
    assert keys_of[0] == keys_of[1] != ""
    assert "whoever" in first.stderr


def fails(desk, *arguments) -> str:
    """What is said where no link is made; neither keys nor the number of a link are repeated."""
    number = str(arguments[4]).partition("#")[2].rstrip(".")
    said = desk.fails(2, *arguments)
    assert not number or number not in said
    return said


def test_a_link_that_does_not_open_is_named(desk, service, company, keys):
    """Unknown, revoked and expired links are told apart, with what to do."""
    truck, _ = loaded(desk, company, keys)
    assert "ask for a new one" in fails(desk, *link(keys, f"{service.address}/t#{'a' * 32}."))
    revoked, expired = (address_of(service, company, truck, hours) for hours in (24, 1))
    number = revoked.partition("#")[2].rstrip(".")
    assert company.call("POST", "/links/revoke", json={"link": number}).status_code == 204
    assert "The link was revoked" in fails(desk, *link(keys, revoked))
    service.scene.clock.now += 3600
    assert "The link has expired" in fails(desk, *link(keys, expired))


def test_a_parcel_that_the_truck_does_not_carry_is_named(desk, service, company, keys):
    """Not on this truck, on it under another key, with another file's keys: each is told."""
    truck, _ = loaded(desk, company, keys)
    bare = address_of(service, company, truck)
    empty, _ = company.truck()
    elsewhere = link(keys, address_of(service, company, empty))
    assert "put the parcel on this truck first" in fails(desk, *elsewhere)
    assert desk.run("share", "party", "init", desk / "other").status == 0
    said = fails(desk, *link(desk / "other", bare))
    assert "other keys than those of this file" in said
    long = [PARCEL * 20 if one == PARCEL else one for one in link(keys, bare)]
    assert "parcel's number" in fails(desk, *long)


def test_a_day_that_is_over_is_named(desk, service, company, keys):
    """By this machine's clock before anything is asked, and else by the platform's."""
    truck, _ = loaded(desk, company, keys)
    bare = address_of(service, company, truck)
    past = ["2024-02-29" if one is DAY else one for one in link(keys, bare)]
    assert "--date 2024-02-29 is over" in fails(desk, *past)
    beyond = ["9999-12-31" if one is DAY else one for one in link(keys, bare)]
    assert "too far ahead" in fails(desk, *beyond)
    before = service.now
    service.scene.clock.now += 86_400
    try:
        later = address_of(service, company, truck)
        assert "look at --date" in fails(desk, *link(keys, later))
    finally:
        service.scene.clock.now = before


def test_a_host_that_is_away_or_another_is_named(desk, service, keys):
    """Nobody there, something else there, and no address at all: exit status 2, in words."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    away = f"http://127.0.0.1:{port}"
    said = fails(desk, *link(keys, f"{away}/t#{'a' * 32}."))
    assert f"{away}: the platform does not answer" in said
    assert "no address of a link" in fails(desk, *link(keys, service.address))


def test_a_file_that_does_not_fit_is_named(desk, keys):
    """Missing, readable by others, or another file: the message says which and what to do."""
    address = f"http://127.0.0.1:1/t#{'a' * 32}."
    assert "cannot be read: No such file" in fails(desk, *link(desk / "missing", address))
    assert "cannot be read" in fails(desk, *link(desk.folder, address))
    desk.file("x", "text").chmod(0o600)
    assert "this is no file of" in fails(desk, *link(desk / "text", address))
    keys.chmod(0o644)
    for command in (link(keys, address), ["share", "party", "show", keys, ""][:4]):
        assert "chmod 600" in desk.fails(2, *command)
