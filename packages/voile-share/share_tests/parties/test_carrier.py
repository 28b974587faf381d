"""A carrier moves a parcel over trucks and depots; its reader follows by one link."""

from __future__ import annotations

import json
import stat
from base64 import urlsafe_b64decode
from contextlib import contextmanager
from dataclasses import asdict, replace

import pytest
from starlette.testclient import TestClient

from share_tests.scene import DAY, HOME
from voile_base.errors import InputError
from voile_share import protocol
from voile_share.carrier import carrier_folder, new_carrier
from voile_share.parties import (
    Consignment,
    Parties,
    PlatformClient,
    PlatformClientError,
    TrackingAddress,
)
from voile_share.platform import AccessError
from voile_share.protocol import Role, Stage
from voile_share.service import Options, application

PARCEL = b"3S/ABCD 0123"
ORIGIN = "https://share.example.org"


class Day:
    """A company with a carrier's folder, and a customer who follows by the link of the morning."""

    def __init__(self, scene, client, folder):
        self.scene, self.client, self.folder = scene, client, folder
        self.company, self.token = scene.platform.open_company("Post of Delft")
        self.key = new_carrier(folder, ORIGIN, self.token)
        self.parties = Parties.draw()
        consigned = self.parties.consign(self.key, PARCEL, DAY, 14)
        self.consigned = Consignment.decode(json.dumps(consigned.document()))
        with self.carrier() as carrier:
            addresses = carrier.take(self.consigned, 336, "Ms Vermeer, 4711", HOME)
        self.numbers = {role: TrackingAddress.of(one).number for role, one in addresses.items()}
        self.readers = {
            role: protocol.ParcelReader(
                self.parties.party(role).parcel_link(self.key, PARCEL, DAY, 14)
            )
            for role in Role
        }

    @contextmanager
    def carrier(self):
        with carrier_folder(self.folder, self.client) as opened:
            yield replace(opened, carrier=replace(opened.carrier, clock=self.scene.clock))

    def link(self, role=Role.RECEIVER):
        return self.scene.platform.link_of(self.numbers[role])

    def look(self, role=Role.RECEIVER):
        """What a reader is sent now: the stage of the parcel, and whether it is seen."""
        link = self.link(role)
        reader = self.readers[role].receive(link.notice)
        last, sighting = self.scene.platform.last_report(link), None
        if last is not None:
            try:
                reader, sighting = reader.read(last.message, int(self.scene.clock.now))
            except protocol.RejectedError as error:
                assert error.reason is protocol.Reason.REPLAYED  # noqa: PT017
        self.readers[role] = reader
        return reader.notice.stage, sighting is not None


@pytest.fixture
def day(scene, tmp_path):
    with TestClient(application(scene.platform, Options(address=ORIGIN))) as client:
        yield Day(scene, client, tmp_path / "carrier")


@pytest.mark.slow
def test_a_parcel_is_followed_over_three_trucks_and_two_depots(day):
    """Without an action of the customer; each truck shows it while it is aboard, and no longer."""
    scene, seen = day.scene, [day.look()]
    for depot in ("Hamburg", "", None):
        truck, device = scene.truck(day.company)
        scene.drive(device, 1)
        with day.carrier() as carrier:
            carrier.load(PARCEL, truck.truck, stops=2, trust_platform=True)
        scene.drive(device, 1)
        seen += [day.look(), day.look(Role.SENDER)]
        with day.carrier() as carrier:
            if depot is None:
                carrier.unload(PARCEL, Stage.DELIVERED)
            else:
                carrier.unload(PARCEL, Stage.DEPOT, depot)
        scene.drive(device, 1)
        seen.append(day.look())
        assert day.readers[Role.RECEIVER].notice.depot == (depot or "")
        assert scene.store.parcels(truck.truck) == []
        scene.clock.now += 86_400
    aboard, depot = [(Stage.ABOARD, True)] * 2, [(Stage.DEPOT, False)]
    delivered = [(Stage.DELIVERED, False)]
    assert seen == [(Stage.AWAITED, False), *aboard, *depot, *aboard, *depot, *aboard, *delivered]
    assert day.readers[Role.RECEIVER].notice.destination == pytest.approx(HOME, abs=1e-7)


@pytest.mark.slow
def test_a_parcel_goes_from_truck_to_truck(day):
    """Loaded on another truck it is off the first, also where that was done by halves before."""
    scene = day.scene
    (first, one), (second, other) = (scene.truck(day.company, name) for name in ("t-1", "t-2"))
    with day.carrier() as carrier:
        for truck in (first, second):
            carrier.pin(scene.card(truck), own_keys=False)
        carrier.load(PARCEL, first.truck)
        whole = carrier.carrier.platform
        broken = replace(carrier.carrier, platform=Failing(whole.client, whole.number))
        with pytest.raises(PlatformClientError):
            replace(carrier, carrier=broken).load(PARCEL, second.truck)
        scene.drive(other, 1, device="t-2")
        assert day.look() == (Stage.ABOARD, True)
        assert len(scene.store.parcels(first.truck)) == 1
        carrier.load(PARCEL, second.truck)
    assert scene.store.parcels(first.truck) == []
    scene.drive(one, 1, device="t-1")
    scene.drive(other, 1, device="t-2")
    assert day.look() == (Stage.ABOARD, True)


class Failing(PlatformClient):
    """A platform that goes away when something is to be deleted."""

    def ask(self, method, path, **given):
        if method == "DELETE":
            raise PlatformClientError("", "the platform does not answer")
        return super().ask(method, path, **given)


@pytest.mark.slow
def test_the_platform_learns_of_a_move_the_truck_and_nothing_more(day):
    """All that it keeps of a link in each stage without a truck differs in random bytes alone.

    Labels and depots are not in its store in the clear, nor is what a link's keys are.
    """
    rows = []
    with day.carrier() as carrier:
        for stage, depot in (
            (Stage.AWAITED, ""), (Stage.DEPOT, "Hamburg"), (Stage.DELIVERED, ""),
            (Stage.RETURNED, ""),
        ):  # fmt: skip
            carrier.unload(PARCEL, stage, depot)
            row = asdict(day.link())
            rows.append({**row, "notice": len(row["notice"])})
    assert all(row == rows[0] for row in rows)
    assert rows[0]["truck"] is None
    on_disk = b"".join(one.read_bytes() for one in day.scene.folder.glob("share.db*"))
    root = day.readers[Role.RECEIVER].link.root
    for secret in (b"Vermeer", b"Hamburg", root.secret, root.notices, root.day(DAY).tracking):
        assert secret not in on_disk
    assert day.numbers[Role.RECEIVER].encode() not in on_disk


@pytest.mark.slow
def test_links_are_found_by_their_labels_and_end(day):
    """A company finds its links by a label, closes one, and sees none of another company."""
    platform = day.scene.platform
    found = platform.links_of(day.company, "vermeer")
    assert [one.label for one in found] == [
        "Ms Vermeer, 4711 (sender)",
        "Ms Vermeer, 4711 (receiver)",
    ]
    assert platform.links_of(day.company, "rembrandt") == []
    other = day.scene.company("Post of Leiden")
    assert platform.links_of(other) == []
    with pytest.raises(AccessError):
        platform.revoke_link_of(other, found[0].link.identity)
    with pytest.raises(AccessError):
        platform.move_link(other, found[0].link.identity, None, day.link().notice)
    platform.revoke_link_of(day.company, found[0].link.identity)
    with pytest.raises(AccessError) as refused:
        day.link(Role.SENDER)
    assert refused.value.reason == "link-revoked"
    assert day.look()[0] is Stage.AWAITED
    day.scene.clock.now += 336 * 3_600
    with pytest.raises(AccessError) as refused:
        day.link()
    assert refused.value.reason == "link-expired"
    assert platform.links_of(day.company) == []


def test_a_link_shows_no_truck_of_another_company(day):
    """Who is to be seen a company says of its own trucks alone, and of its links to parcels."""
    other = day.scene.company("Post of Leiden")
    foreign, _ = day.scene.truck(other)
    platform, notice = day.scene.platform, day.link().notice
    with pytest.raises(AccessError) as refused:
        platform.move_link(day.company, day.link().identity, foreign.truck, notice)
    assert refused.value.reason == "truck-unknown"
    own, _ = day.scene.truck(day.company, "t-9")
    _, to_truck = platform.add_link(day.company, own.truck, 1)
    with pytest.raises(AccessError) as refused:
        platform.move_link(day.company, to_truck.identity, None, notice)
    assert refused.value.reason == "link-unknown"
    assert platform.links(day.company, own.truck) == [to_truck]


@pytest.mark.slow
def test_calls_that_cannot_be_are_refused_in_words(day, tmp_path):
    """Foreign consignments, numbers taken on twice, unknown parcels and trucks: nothing is kept."""
    with day.carrier() as carrier:
        for wrong, words in (
            (lambda: carrier.take(day.consigned, 24), "already"),
            (lambda: carrier.load(b"P9", b"t" * 16), "no truck"),
            (lambda: carrier.load(PARCEL, b"t" * 16), "no truck"),
            (lambda: carrier.unload(b"P9", Stage.DEPOT), "no parcel"),
            (lambda: carrier.unload(PARCEL, Stage.DEPOT, "x" * 65), "64 bytes"),
        ):
            with pytest.raises(InputError, match=words):
                wrong()
            assert carrier.parcel(PARCEL).at.stage is Stage.AWAITED
        elsewhere = day.parties.consign(protocol_key(), b"P2", DAY, 1)
        with pytest.raises(InputError, match="another carrier"):
            carrier.take(elsewhere, 24)
    with pytest.raises(InputError, match="no carrier"), carrier_folder(tmp_path / "none"):
        pass
    private = [one for one in day.folder.rglob("*") if one.is_file()]
    assert all(stat.S_IMODE(one.stat().st_mode) == 0o600 for one in private)
    assert all(b"3S" not in one.name.encode() for one in private)


def protocol_key() -> bytes:
    """Another carrier's."""
    return urlsafe_b64decode("CyU6_QzUuwmfgMUpHsyXVlQz9Rm1HTfzS4VVyqj1d2Q=")
