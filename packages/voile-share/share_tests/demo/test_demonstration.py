"""The demonstration: a town that never was, and trucks that are followed through it."""

from __future__ import annotations

import time
from base64 import urlsafe_b64decode
from urllib.parse import urlsplit

import httpx2 as httpx
import numpy as np
import pytest

from share_tests.parties.malicious import Malicious
from voile_base.errors import InputError
from voile_geo.geodesy import metres_between
from voile_share import protocol
from voile_share.demo import Demonstration, Drive, Pace, Town
from voile_share.parties import PlatformClientError
from voile_testing.processes import PATIENCE, wait_until


def test_the_town_is_always_the_same():
    """Roads and drives come from a fixed seed."""
    assert Town().streets.compact().encoded == Town().streets.compact().encoded
    first, again = Town().drives(2)[1], Town().drives(3)[1]
    assert (first.latitude == again.latitude).all()


def test_trucks_of_the_town_drive_on_its_streets():
    """Each position of a drive is within 2 m of a street, and no truck is faster than a van."""
    town = Town()
    source, target = town.streets.source, town.streets.target
    ends = np.stack((town.places[source], town.places[target]))
    for drive in town.drives(3):
        assert drive.duration > 300
        steps = np.array(
            [
                metres_between(*drive.at(second), *drive.at(second + 1))
                for second in range(0, int(drive.duration), 7)
            ]
        )
        assert steps.max() < 15
        east = [metres_between(52.5, 1.8, 52.5, drive.at(s)[1]) for s in range(0, 300, 50)]
        north = [metres_between(52.5, 1.8, drive.at(s)[0], 1.8) for s in range(0, 300, 50)]
        signs = [(1 if drive.at(s)[1] > 1.8 else -1) for s in range(0, 300, 50)]
        for x, y, sign in zip(east, north, signs, strict=True):
            assert _to_nearest((sign * x, y), *ends) < 60


def _to_nearest(place, start, end) -> float:
    along = end - start
    share = np.clip(((place - start) * along).sum(1) / (along**2).sum(1), 0, 1)
    return float(np.hypot(*(place - start - share[:, None] * along).T).min())


@pytest.mark.parametrize("seconds", [[0.0], [0.0, 0.0], [1.0, 0.0]])
def test_what_is_no_drive_is_refused(seconds):
    """A drive needs two positions in the order of time."""
    with pytest.raises(InputError, match="at least two"):
        Drive(np.array(seconds), np.zeros(len(seconds)), np.zeros(len(seconds)))


def sighting(address: str):
    """What the holder of an address reads in the first report about the parcel, however late."""
    parts = urlsplit(address)
    number, _, fragment = parts.fragment.partition(".")
    link = protocol.ReaderLink.from_fragment(fragment)
    headers = {"authorization": f"Bearer {number}", "last-event-id": "0"}
    feeds = f"http://{parts.netloc}/api/v1/feed"
    with httpx.stream("GET", feeds, headers=headers, timeout=PATIENCE) as feed:
        for line in feed.iter_lines():
            if line.startswith("data:") and not line.startswith("data: {"):
                message = urlsafe_b64decode(line[5:].strip() + "==")
                seen = protocol.Reader(link).read(message, int(time.time()))[1]
                if seen is not None:
                    return seen
    return None


@pytest.mark.slow
def test_parties_of_the_demonstration_follow_their_trucks(tmp_path):
    """Both parties of each truck see it, the one with keys of its own too, until it has arrived."""
    town = Town()
    drives = [
        Drive(one.seconds[:60], one.latitude[:60], one.longitude[:60]) for one in town.drives(2)
    ]
    road_map = town.streets.compact().encoded
    with Demonstration(tmp_path / "demo", drives, road_map, Pace(1, 20.0)) as running:
        assert [one.party for one in running.addresses] == ["sender", "receiver"] * 2
        seen = [sighting(one.address) for one in running.addresses]
        wait_until(lambda: running.has_arrived or running.troubles, "a truck does not arrive")
        assert not running.troubles
    for one in seen:
        place = one.position
        assert metres_between(*drives[0].end, place.latitude, place.longitude) < 12_000
        assert one.remaining is not None


@pytest.mark.slow
def test_the_truck_with_its_own_keys_is_pinned_in_the_demonstration(tmp_path, monkeypatch):
    """A platform that lies of all trucks gets the mail of those whose keys it has anyhow."""
    malicious = Malicious.between(monkeypatch)
    town = Town()
    road_map = town.streets.compact().encoded
    with (
        pytest.raises(PlatformClientError, match="another card"),
        Demonstration(tmp_path / "demo", town.drives(2), road_map, Pace(1, 20.0)),
    ):
        pass
    assert len({protocol.SealedSubmission.decode(one).truck for one in malicious.mail}) == 1


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["log", pytest.param("anchor", marks=pytest.mark.slow)])
def test_a_demonstration_on_a_chain_says_what_it_cost(tmp_path, mode):
    """Reports go to the embedded chain, parties follow their truck, and the gas is counted."""
    town = Town()
    drives = [Drive(one.seconds[:9], one.latitude[:9], one.longitude[:9]) for one in town.drives(2)]
    road_map = town.streets.compact().encoded
    pace = Pace(1, 20.0)
    with Demonstration(tmp_path / "demo", drives, road_map, pace, chain=mode) as running:
        assert sighting(running.addresses[-1].address) is not None
        assert not running.troubles
        assert running.spent is None
    spent = running.spent
    assert spent.contract.startswith("0x")
    assert spent.reports >= 2
    assert spent.transactions >= 1
    low, high = {"log": (60_000, 100_000), "anchor": (10_000, 60_000)}[mode]
    assert low < spent.gas / spent.reports < high
