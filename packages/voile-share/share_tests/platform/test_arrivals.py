"""Arrivals are learnt from deliveries, kept sealed for a company, told to its links, forgotten."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

from share_tests.scene import HOME, Parties
from voile_base.errors import InputError
from voile_geo.geodesy import displaced, metres_between
from voile_share.arrival import ArrivalTable, SharedPosition
from voile_share.platform import AccessError, Vault
from voile_share.platform.arrivals import (
    Learning,
    Trail,
    _with_drive,
    drive_document,
    past_of,
    shown_at,
)
from voile_share.platform.core import PlatformCore, Settings
from voile_share.protocol import Position


def deliver(scene, company, truck, token, name=b"P1", reports=4, **more):
    """A parcel that comes nearer, and is delivered in the slot after the last report."""
    scene.platform.add_parcel(company, truck.truck, name, *Parties().keys, HOME)
    for left in range(reports, 0, -1):
        scene.drive(token, 1, place=displaced(*HOME, 0.0, 1_500.0 * left))
    scene.platform.end_parcel(company, truck.truck, name, delivered=True, **more)


def test_a_delivery_teaches_what_was_shown(scene):
    """Of each report how far it was shown to be, and how long it still took; no place is kept."""
    company = scene.company()
    truck, token = scene.truck(company)
    began = scene.clock.now
    deliver(scene, company, truck, token, stops=(2, began + 600))
    (drive,) = scene.platform.past_drives(company)
    assert drive["arrived"] == scene.clock.now
    assert [seconds for seconds, _, _ in drive["shown"]] == [1200, 900, 600, 300]
    assert [stops for _, _, stops in drive["shown"]] == [None, None, 2, 2]
    shown = [metres for _, metres, _ in drive["shown"]]
    # Noise of 150 to 600 m on average: not the true distances, and not far from them.
    assert all(
        0 < abs(metres - 1_500 * left) < 6_000
        for metres, left in zip(shown, (4, 3, 2, 1), strict=True)
    )
    assert set(drive) == {"truck", "arrived", "shown"}
    assert drive["truck"] not in truck.truck.hex()


def test_what_is_learnt_is_what_the_party_was_told(scene):
    """The distance of the trail is the remaining distance that the report held for the parcel."""
    settings = Settings()
    trail = Trail()
    places = [displaced(*HOME, 900.0, north) for north in (9_000.0, 5_000.0, 1_000.0)]
    for place in places:
        trail.add([Position(*place, 1_700_000_000, 0.01)] * 3)
    shown = trail.shown(settings.levels, HOME, 0.0)
    for one, place in zip(shown, places, strict=True):
        assert one.metres == pytest.approx(metres_between(*place, *HOME), abs=1)
    again = Trail(trail.octets)
    assert again.shown(settings.levels, HOME, 0.0) == shown
    assert Trail(trail.octets[:-3]).shown(settings.levels, HOME, 0.0) == shown[:-1]


def test_reports_from_before_the_parcel_was_aboard_teach_nothing(scene):
    """Only what its parties were shown enters; what is taken off undelivered teaches nothing."""
    company = scene.company()
    truck, token = scene.truck(company)
    scene.drive(token, 3)
    deliver(scene, company, truck, token, reports=2)
    assert len(scene.platform.past_drives(company)[0]["shown"]) == 2
    scene.platform.add_parcel(company, truck.truck, b"P2", *Parties().keys, HOME)
    scene.drive(token, 2)
    scene.platform.end_parcel(company, truck.truck, b"P2")
    assert len(scene.platform.past_drives(company)) == 1


DAY = 86_400


def drive_days(scene, company, days, seconds=600, truck=b"T", parcels=20):
    """Tours of a truck, a day each, whose parcels take as long at 5 km; then all is over."""
    for _ in range(days):
        for at in range(parcels):
            arrived = scene.clock.now + 600 * at
            shown = [SharedPosition(arrived - seconds - at, 5_000.0)]
            scene.platform.learn(company.company, shown, arrived, truck)
        scene.clock.now += DAY
    scene.platform.tidy()
    scene.clock.now += 60


@pytest.mark.slow
def test_links_are_given_a_table_from_three_tours_on(scene):
    """None after two tours of 20 parcels; after three a table, which tells what those took."""
    company = scene.company()
    drive_days(scene, company, 2)
    assert scene.platform.arrival_table(company.company) is None
    drive_days(scene, company, 1)
    table = ArrivalTable.read(scene.platform.arrival_table(company.company))
    interval = table.forecast(SharedPosition(scene.clock.now, 5_000.0))
    assert interval.tours == 3
    assert 540 < interval.low < 600
    assert 620 < interval.high < 700
    assert table.forecast(SharedPosition(scene.clock.now, 400_000.0)) is None
    assert table.forecast(SharedPosition(scene.clock.now, 5_000.0, stands=1_800.0)) is None
    assert scene.platform.arrival_table(scene.company("Post of Leiden").company) is None
    tried = scene.platform.tried_arrivals(company)
    assert (tried.tours, tried.forecasts, tried.figures) == (3, 60, 0)


@pytest.mark.slow
def test_a_tour_that_is_under_way_teaches_nothing_yet(scene):
    """Its early parcels are no sample of it; 16 hours after its first delivery it counts."""
    company = scene.company()
    drive_days(scene, company, 3)
    before = scene.platform.arrival_table(company.company)
    for at in range(8):
        arrived = scene.clock.now + 3_600 * at
        scene.platform.learn(
            company.company, [SharedPosition(arrived - 9_000, 5_000.0)], arrived, b"T"
        )
    scene.clock.now += 9 * 3_600
    scene.platform.tidy()
    assert scene.platform.arrival_table(company.company) == before
    scene.clock.now += 7 * 3_600
    scene.platform.tidy()
    assert scene.platform.arrival_table(company.company)["tours"] == 4
    assert scene.platform.arrivals(company).tours == 4


@pytest.mark.parametrize("hour", [0, 6, 12, 18])
def test_a_tour_is_one_whatever_the_clock_says_at_midnight(scene, hour):
    """Ten hours of deliveries are one tour, wherever on Earth; two trucks have two."""
    began = 20_000 * DAY + hour * 3_600
    drives = [
        {"truck": truck, "arrived": began + day * DAY + 1_800 * at, "shown": [[300, 900, None]]}
        for day in range(3)
        for at in range(20)
        for truck in "ab"
    ]
    past = past_of(drives, began + 9 * DAY)
    assert len({one.tour for one in past}) == 6
    assert len(past) == 120


def test_drives_that_name_no_truck_are_one_tour_a_day(scene):
    """As an earlier Voile kept them: never taken for more evidence than they are."""
    old = [
        {"arrived": 1_000_000 + DAY * day + 600 * at, "shown": [[300 + at, 2_000, None]]}
        for day in range(4)
        for at in range(50)
    ]
    company = scene.company()
    learning = Learning(scene.platform._core)
    parcels = {"voile": "arrival table", "version": 1, "drives": 200, "rows": {"all": []}}
    change = {"drives": old, "fitted": parcels, "published": parcels}
    learning._change(company.company, lambda held: {**held, **change})
    assert scene.platform.arrival_table(company.company) is None
    scene.platform.tidy()
    kept = scene.platform.arrivals(company)
    assert (kept.drives, kept.tours, kept.published, kept.table.tours) == (200, 4, False, 4)


def test_the_past_is_sealed_for_its_company_and_forgotten_with_its_key(scene):
    """Nothing of it stands in the store in the clear; another key opens none; after: no trace."""
    company, other = scene.company(), scene.company("Post of Leiden")
    truck, token = scene.truck(company)
    deliver(scene, company, truck, token)
    row = scene.store.arrival_past(company.company)
    on_disk = b"".join(one.read_bytes() for one in scene.folder.glob("share.db*"))
    assert b'"arrived"' not in on_disk
    assert b'"shown"' not in on_disk
    guessed = Vault(b"guessed key of 32 bytes, no luck")
    thief = PlatformCore(scene.store, scene.store, guessed)
    with pytest.raises(InputError, match="another key"):
        Learning(thief).past_drives(company)
    with pytest.raises(InputError, match="another key"):
        # Sealed for one company, it is none of another's.
        scene.vault.unseal(b"key of past arrivals" + other.company.encode(), row.secret)
    assert scene.platform.forget_arrivals(company) is True
    assert scene.platform.past_drives(company) == []
    assert scene.platform.arrival_table(company.company) is None
    assert scene.store.arrival_past(company.company) is None
    assert scene.platform.forget_arrivals(company) is False


def test_a_company_publishes_a_table_that_it_has_fitted_itself(scene):
    """It stands in the place of the platform's own, which goes on learning; others are refused."""
    company = scene.company()
    past = [{"arrived": DAY * at, "shown": [[300 + at, 2_000, None]]} for at in range(50)]
    table = ArrivalTable.fit(past_of(past, 99 * DAY), 5.0)
    scene.platform.publish_arrivals(company, table.document())
    assert scene.platform.arrival_table(company.company) == table.document()
    truck, token = scene.truck(company)
    deliver(scene, company, truck, token)
    assert scene.platform.arrivals(company).published
    assert scene.platform.arrivals(company).drives == 1
    assert scene.platform.arrival_table(company.company) == table.document()
    document = table.document()
    changes = (
        {"version": 1},
        {"rows": {"all": [[5, 1, 9]]}},
        {"rows": {"all": [["a", 1, 9]]}},
        {"more": "x" * 300_000},
    )
    for odd in (None, [], {}, *({**document, **change} for change in changes)):
        with pytest.raises(AccessError):
            scene.platform.publish_arrivals(company, odd)


def test_concurrent_deliveries_are_all_learnt(scene):
    """A change that another process has overtaken is made again, on what that has written."""
    company = scene.company()
    first, second = (Learning(scene.platform._core) for _ in range(2))
    replace = scene.store.replace_arrival_past
    overtaken = []

    def late(past):
        if not overtaken:
            overtaken.append(True)
            scene.store.replace_arrival_past = replace
            second.learn(company.company, [SharedPosition(100.0, 900.0)], 200.0)
        return replace(past)

    scene.store.replace_arrival_past = late
    first.learn(company.company, [SharedPosition(100.0, 800.0)], 200.0)
    drives = first.past_drives(company)
    assert sorted(one["shown"][0][1] for one in drives) == [800, 900]


def test_standing_trucks_are_seen_to_stand():
    """For how long the same place was shown; a party is told nothing after half an hour."""
    levels = Settings().levels
    there = [displaced(*HOME, 0.0, north) for north in (900.0, 500.0)]
    reports = [(300.0 * at, [there[at > 1]] * 3) for at in range(9)]
    shown = shown_at(levels, reports, HOME)
    assert [one.stands for one in shown] == [0, 300, 0, 300, 600, 900, 1200, 1500, 1800]
    assert [one.tells for one in shown] == [True] * 8 + [False]


def test_histories_that_are_none_are_refused():
    """Whatever is no list of past drives is an error in words."""
    for odd in (
        [1],
        [{}],
        [{"arrived": 1, "shown": [[1]]}],
        [{"arrived": "x", "shown": [[1, 2, None]]}],
        [{"arrived": 1, "shown": [[1, float("nan"), None]]}],
        [{"arrived": 1, "shown": [[1, 10**400, None]]}],
        [{"arrived": 10**400, "shown": []}],
        [{"arrived": float("nan"), "shown": []}],
    ):
        with pytest.raises(InputError):
            past_of(odd, 9e9)
    assert past_of(json.loads("[]"), 9e9) == []


@pytest.mark.slow
def test_a_shorter_past_has_a_table_of_its_own(scene):
    """What is older is in the table no more, and nothing is said where too few tours are left."""
    company = scene.company()
    began = scene.clock.now
    drive_days(scene, company, 4)
    drive_days(scene, company, 4, seconds=1_200)
    here = SharedPosition(scene.clock.now, 5_000.0)
    assert scene.platform.forecast(company.company, here).low < 600
    assert scene.platform.forget_drives(company.company, began + 4 * DAY) == 80
    assert 1_100 < scene.platform.forecast(company.company, here).low <= 1_200
    assert scene.platform.forget_drives(company.company, began + 4 * DAY) == 0
    assert scene.platform.forget_drives(company.company, began + 6 * DAY) > 0
    assert scene.platform.forecast(company.company, here) is None
    assert scene.platform.forget_drives(scene.company("Post of Leiden").company, 9e9) == 0


def test_a_delivery_waits_for_no_lesson(scene, monkeypatch):
    """Where the past cannot be changed now, the parcel is delivered all the same."""
    company = scene.company()
    truck, token = scene.truck(company)
    monkeypatch.setattr(scene.store, "replace_arrival_past", lambda past: False)
    deliver(scene, company, truck, token)
    assert scene.store.parcels(truck.truck) == []
    assert scene.platform.past_drives(company) == []


@pytest.mark.slow
def test_what_is_kept_is_bounded_by_tours():
    """120 tours of 20 parcels of 12 positions, and none that began more than a year ago."""
    drives = []
    for day in range(130):
        for at in range(45):
            shown = [
                SharedPosition(DAY * day + at * 600 - 60.0 * each, 900.0)
                for each in range(99, -1, -1)
            ]
            drive = drive_document(shown, DAY * day + at * 600.0, b"T")
            drives = _with_drive(drives, drive)
    tours = {one.tour for one in past_of(drives, 999 * DAY)}
    assert (len(tours), len(drives)) == (120, 120 * 20)
    assert all(len(one["shown"]) <= 12 for one in drives)
    assert drives[-1]["shown"][-1] == [0, 900, None]
    first = [one["arrived"] - DAY * 10 for one in drives][:20]
    assert first[0] == 0
    assert max(after - before for before, after in pairwise(first)) <= 4 * 600
    late = drive_document([SharedPosition(DAY * 470.0, 900.0)], DAY * 470.0 + 60, b"T")
    assert _with_drive(drives, late)[0]["arrived"] >= DAY * 104


@pytest.mark.slow
def test_a_day_of_a_large_fleet_is_not_all_that_is_kept():
    """Of 200 vans of one morning 12 tours are kept, whole; the next day's come beside them."""
    drives = []
    for day in range(3):
        for at in range(5):
            for van in range(200):
                arrived = DAY * day + 3_600 * at + van
                document = drive_document(
                    [SharedPosition(arrived - 60.0, 900.0)], arrived, b"%d" % van
                )
                drives = _with_drive(drives, document)
    past = past_of(drives, 9 * DAY)
    tours = [one.tour for one in past]
    assert len(set(tours)) == 36
    assert {tours.count(one) for one in tours} == {5}
