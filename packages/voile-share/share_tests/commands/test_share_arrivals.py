"""``voile share arrivals``: from how many tours arrivals are told, and how often they held."""

from __future__ import annotations

import json

import pytest

from voile_base.errors import InputError
from voile_share.arrival import SharedPosition
from voile_share.carrier import fitted
from voile_share.platform.arrivals import drive_document
from voile_share.service.folder import Configuration, open_platform

DAY = 86_400


@pytest.fixture
def folder(desk):
    """A service that was set up."""
    assert desk.run("share", "init", desk / "service").status == 0
    return desk / "service"


def drives(days: int, truck: bytes = b"T") -> list[dict]:
    return [
        drive_document([SharedPosition(at - 600.0 - day, 5_000.0)], at, truck)
        for day in range(days)
        for at in (1_000_000.0 + day * DAY + 600 * parcel for parcel in range(10))
    ]


def test_the_coverage_of_each_tour_left_out_is_printed(desk, folder):
    """After five tours all fifty parcels are forecast from the other four; in JSON, too."""
    platform = open_platform(folder, Configuration.read(folder))
    company, _ = platform.open_company("Post of Delft")
    for one in drives(5):
        shown = [
            SharedPosition(one["arrived"] - seconds, metres) for seconds, metres, _ in one["shown"]
        ]
        platform.learn(company.company, shown, one["arrived"], b"T")
    platform.close()
    done = desk.run("share", "arrivals", folder, company.company)
    assert done.status == 0
    assert "50 past drives, 5 tours that are over" in done.stderr
    assert "each of 5 tours left out: 50 of 50 arrivals with a figure held (100 %" in done.stderr
    told = desk.run("share", "arrivals", folder, company.company, "--json").document
    assert (told["tours"], told["left_out"]["coverage"]) == (5, 1.0)


def test_a_company_without_tours_is_told_how_many_it_takes(desk, folder):
    """Nothing is made up: no coverage, and what it takes; an unknown company is an error."""
    platform = open_platform(folder, Configuration.read(folder))
    company, _ = platform.open_company("Post of Delft")
    platform.close()
    assert "it takes 4 tours" in desk.run("share", "arrivals", folder, company.company).stderr
    refused = desk.run("share", "arrivals", folder, "0" * 32)
    assert refused.status == 2
    assert "voile share list" in refused.stderr


def test_histories_are_fitted_by_tours_and_count_once():
    """The same history twice is one; one of an earlier Voile is that of one truck."""
    now = 1_000_000.0 + 99 * DAY
    text = json.dumps({"drives": drives(3)})
    table, tried = fitted([text, text], now)
    assert (table.tours, tried.tours) == (3, 3)
    old = [{key: one[key] for key in ("arrived", "shown")} for one in drives(3)]
    table, _ = fitted([json.dumps({"drives": old}), text], now)
    assert table.tours == 6
    with pytest.raises(InputError, match="2 tours that are over are too few"):
        fitted([json.dumps({"drives": drives(2)})], now)
    with pytest.raises(InputError, match="0 tours"):
        fitted([text], 1_000_000.0)
