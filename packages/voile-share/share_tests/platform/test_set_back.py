"""A clock that is ahead, or behind: the truck is not silent without a word, and goes on."""

from __future__ import annotations

import pytest

from share_tests.scene import HOME, Parties, Scene
from voile_base.errors import InputError
from voile_geo.geodesy import displaced
from voile_share.ingest import IngestError, Request
from voile_share.platform import Settings, SlotOutcome
from voile_share.protocol import Auditor, Reader

YEAR = 365 * 86_400
PLACE = (52.0130, 4.3660)


def send_undated(scene, token):
    """A position of a tracker that says no time, so that it is of now by our clock."""
    query = f"id=truck-7&lat={PLACE[0]}&lon={PLACE[1]}"
    return scene.platform.receive(token, Request(query=query)).result(10).outcome


def silenced(scene):
    """A truck whose last report was made while the service's clock was a year ahead."""
    company = scene.company()
    truck, token = scene.truck(company)
    assert send_undated(scene, token) is SlotOutcome.PUBLISHED
    scene.clock.now += YEAR
    assert send_undated(scene, token) is SlotOutcome.PUBLISHED
    scene.clock.now -= YEAR
    scene.clock.now += 600
    return company, truck, token


def test_a_truck_whose_last_report_is_ahead_is_refused_and_not_said_to_be_taken(scene):
    """Its tracker hears why, its operator which truck and what to do; nothing is published."""
    _, truck, token = silenced(scene)
    for _ in range(2):
        with pytest.raises(IngestError, match="set-back") as refused:
            send_undated(scene, token)
        assert refused.value.reason == "truck-ahead"
    trouble = scene.platform.trouble(truck.truck)
    assert (trouble.reason, trouble.since) == ("truck-ahead", scene.clock.now)
    assert len(scene.store.records(truck.truck, 0, 10)) == 2


def test_one_call_takes_it_back_and_the_truck_goes_on(scene):
    """The next position is published, continues the chain, and parties read it."""
    company, truck, token = silenced(scene)
    link = scene.parcel(company, truck, b"P1", Parties())
    with pytest.raises(IngestError):
        send_undated(scene, token)
    assert scene.platform.set_back(truck.truck) == 1
    assert send_undated(scene, token) is SlotOutcome.PUBLISHED
    assert scene.platform.trouble(truck.truck) is None
    auditor = Auditor(scene.card(truck))
    for record in scene.store.records(truck.truck, 0, 10):
        auditor = auditor.follow(record)
    assert auditor.sequence == 2
    last = scene.store.last(truck.truck)
    _, sighting = Reader(link).read(last.message, int(scene.clock.now))
    assert sighting is not None


def test_another_process_takes_it_back_while_the_service_runs(scene):
    """The service notices at the next position, though it has the truck in memory."""
    _, truck, token = silenced(scene)
    with pytest.raises(IngestError):
        send_undated(scene, token)
    other = Scene(scene.folder, scene.settings, scene.clock, 99)
    assert other.platform.set_back(truck.truck) == 1
    other.platform.close()
    assert send_undated(scene, token) is SlotOutcome.PUBLISHED


def test_what_stays_with_a_place_stays_after_a_set_back(tmp_path):
    """Within the period the key of the noise is the same: no second field to average with."""
    scene = Scene(tmp_path, Settings(stays=0.999))
    truck, token = scene.truck(scene.company())
    assert send_undated(scene, token) is SlotOutcome.PUBLISHED
    before = scene.platform.shown(truck.truck)
    scene.clock.now += 3_600
    assert send_undated(scene, token) is SlotOutcome.PUBLISHED
    scene.clock.now -= 3_000
    with pytest.raises(IngestError):
        send_undated(scene, token)
    scene.platform.set_back(truck.truck)
    assert send_undated(scene, token) is SlotOutcome.PUBLISHED
    after = scene.platform.shown(truck.truck)
    metres = 111_000 * abs(after.latitude - before.latitude)
    assert metres < 1_000  # of a displacement of 2,400 m on average
    scene.platform.close()


def test_what_is_not_ahead_is_not_taken_back(scene):
    """A second call, another truck, one without reports: an error, and nothing is dropped."""
    company, truck, token = silenced(scene)
    scene.platform.set_back(truck.truck)
    with pytest.raises(InputError, match="not ahead"):
        scene.platform.set_back(truck.truck)
    assert len(scene.store.records(truck.truck, 0, 10)) == 1
    other, _ = scene.truck(company, "truck-8")
    with pytest.raises(InputError, match="not ahead"):
        scene.platform.set_back(other.truck)
    with pytest.raises(InputError, match="no truck"):
        scene.platform.set_back(bytes(16))
    assert send_undated(scene, token) is SlotOutcome.PUBLISHED


def test_a_tracker_that_is_a_little_ahead_silences_nothing(scene):
    """Four minutes ahead, then right: each slot is published, and no report is of the future."""
    truck, token = scene.truck(scene.company())
    for ahead in (240, 0, 240, 0):
        scene.clock.now += 300
        assert scene.send(token, PLACE, time=scene.clock.now + ahead) is SlotOutcome.PUBLISHED
        assert scene.platform.shown(truck.truck).time <= scene.clock.now


def test_a_tracker_that_is_behind_is_told_so(scene):
    """A day behind: thrown away, and said to be; by a slot or two it is only late."""
    truck, token = scene.truck(scene.company())
    scene.clock.now += 86_400
    assert scene.send(token) is SlotOutcome.PUBLISHED
    scene.clock.now += 300
    assert scene.send(token, time=scene.clock.now - 86_400) is SlotOutcome.BEHIND
    assert scene.platform.trouble(truck.truck).reason == "behind"
    assert scene.send(token, time=scene.clock.now - 300) is SlotOutcome.KNOWN_SLOT
    assert scene.platform.trouble(truck.truck).reason == "behind"
    assert scene.send(token, displaced(*HOME, 100.0, 0.0)) is SlotOutcome.PUBLISHED
    assert scene.platform.trouble(truck.truck) is None


def test_a_refused_message_is_a_trouble_of_its_truck(scene):
    """The last reason and since when, for each truck of its own; strangers have none."""
    company = scene.company()
    truck, token = scene.truck(company)
    other, _ = scene.truck(company, "truck-8")
    began = scene.clock.now
    for _ in range(2):
        with pytest.raises(IngestError, match="clock"):
            scene.send(token, time=scene.clock.now + 4_000)
        scene.clock.now += 60
    trouble = scene.platform.trouble(truck.truck)
    assert (trouble.reason, trouble.since) == ("time-in-the-future", began)
    assert scene.platform.trouble(other.truck) is None
    with pytest.raises(IngestError):
        scene.send("a" * 32)
