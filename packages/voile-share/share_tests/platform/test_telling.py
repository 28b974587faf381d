"""When companies are told that a parcel arrives: as soon as the page says so, never in its way."""

from __future__ import annotations

import json

import pytest

from share_tests.scene import HOME, Parties, Scene
from voile_geo.geodesy import displaced
from voile_share.arrival import ArrivalTable, Past, SharedPosition
from voile_share.platform.telling import SOON_SECONDS

NEAR, FAR = (displaced(*HOME, 0.0, north) for north in (2_000.0, 60_000.0))


def table(seconds: float) -> dict:
    """Of drives that took so long from anywhere within 20 km."""
    metres = [200.0 * 1.2**step for step in range(26)]
    past = [Past(metres, [seconds] * len(metres))] * 60
    return ArrivalTable.fit(past).document()


@pytest.fixture
def told(scene: Scene):
    """What waits for a company with a hook; its truck and its tracker's token come with it."""
    scene.of = scene.company()
    scene.carrying, scene.token = scene.truck(scene.of)
    scene.platform.telling.add_hook(scene.of, "web", "https://example.org/")
    scene.parcel(scene.of, scene.carrying, b"P", Parties())

    def events() -> list[tuple[str, int]]:
        bodies = scene.store._engine.read("SELECT body FROM outbox ORDER BY seq")
        return [(one["event"], one["slot"]) for one in (json.loads(body) for (body,) in bodies)]

    return events


@pytest.mark.parametrize(("seconds", "is_told"), [(1_799, True), (1_800, True), (1_802, False)])
def test_it_is_told_where_the_interval_begins_within_half_an_hour(scene, told, seconds, is_told):
    """By the interval that the page shows, from the time of the position on."""
    scene.platform.publish_arrivals(scene.of, table(seconds))
    slot = int(scene.clock.now)
    scene.drive(scene.token, 1, place=FAR)
    assert told() == []
    slot += scene.settings.slot_seconds
    scene.drive(scene.token, 1, place=NEAR)
    scene.drive(scene.token, 2, place=NEAR)
    assert told() == ([("arriving", slot)] if is_told else [])


def test_a_position_that_comes_late_counts_from_its_own_time(scene, told):
    """40 minutes from a position that is 20 minutes old are 20 minutes from now."""
    scene.platform.publish_arrivals(scene.of, table(2_400))
    scene.send(scene.token, place=NEAR)
    assert told() == []
    old = scene.clock.now + 300
    scene.clock.now += 1_500
    scene.send(scene.token, place=displaced(*HOME, 900.0, 2_000.0), time=old)
    assert told() == [("arriving", int(old))]


def test_a_truck_that_stands_is_not_said_to_arrive(scene, told):
    """As the page says nothing of one that has stood for half an hour; it is told when it goes."""
    scene.platform.publish_arrivals(scene.of, table(5_000))
    scene.drive(scene.token, 8, place=NEAR)
    scene.platform.publish_arrivals(scene.of, table(300))
    scene.drive(scene.token, 2, place=NEAR)
    assert told() == []
    scene.drive(scene.token, 1, place=displaced(*HOME, 4_000.0, 5_000.0))
    assert [event for event, _ in told()] == ["arriving"]


@pytest.mark.parametrize("broken", ["none", "past", "table", "key", "store"])
def test_without_a_table_nothing_is_told_and_reports_go_on(
    scene, told, broken, monkeypatch, caplog
):
    """Missing, changed, of another Voile, under another key, or not to be read: no event."""
    from voile_share.store import StoreError  # noqa: PLC0415

    company = scene.of.company
    scene.platform.learn(company, [SharedPosition(scene.clock.now, 900.0)], scene.clock.now + 60)
    if broken != "none":
        scene.platform.publish_arrivals(scene.of, table(300))
    if broken in {"past", "key"}:
        column = "past" if broken == "past" else "secret"
        change = f"UPDATE arrivals SET {column} = ?"
        scene.store._engine.write(lambda one: one.change(change, (bytes(60),)))
    if broken == "table":
        learning = scene.platform
        learning._change(company, lambda held: {**held, "published": {"voile": "older"}})
    if broken == "store":

        def fails(company):
            msg = "the disk is full"
            raise StoreError(msg)

        monkeypatch.setattr(scene.store, "arrival_past", fails)
    scene.drive(scene.token, 2, place=NEAR)
    assert told() == []
    if broken != "store":
        shown = SharedPosition(scene.clock.now, 900.0)
        assert scene.platform.forecast(company, shown) is None
    scene.platform.end_parcel(scene.of, scene.carrying.truck, b"P", delivered=True)
    assert [event for event, _ in told()] == ["delivered"]
    assert caplog.records == []


def test_half_an_hour_is_what_the_documentation_says():
    """docs/sharing-service.md and the change log say 30 minutes."""
    assert SOON_SECONDS == 30 * 60
