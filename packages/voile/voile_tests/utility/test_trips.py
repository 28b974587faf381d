"""Errors of trips in a release, against sums by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

import voile
from voile.release.reading import People, PublishedRows
from voile.utility.protocol import Comparison, Measurement, measure_named
from voile.utility.trips import TripErrors
from voile_base.errors import InputError
from voile_base.randomness import Randomness
from voile_geo.geodesy import separation

DOOR = (39.95, 116.4)


def table(trips: int = 4, reports: int = 25) -> pl.DataFrame:
    """Trucks that drive north, their times as texts and their rows mixed."""
    number = np.tile(np.arange(reports), trips)
    rows = pl.DataFrame(
        {
            "trip": np.repeat([f"T{i}" for i in range(trips)], reports),
            "time": [f"2024-05-01T08:{minute:02}:00Z" for minute in number],
            "latitude": 39.8 + 0.002 * number,
            "longitude": np.repeat(116.3 + 0.01 * np.arange(trips), reports),
            "to_latitude": DOOR[0],
            "to_longitude": np.repeat(DOOR[1] + 0.1 * np.arange(trips), reports),
        }
    )
    return rows.sample(fraction=1.0, shuffle=True, seed=2)


def comparison_of(columns: voile.TrajectoryColumns | None = None, **given) -> Comparison:
    """A release of the table beside it."""
    columns = columns or voile.TrajectoryColumns()
    method = voile.Method("geo-indistinguishability", {"epsilon": 0.005, **given})
    plan = voile.Plan(voile.Roles(), method=method, trajectory=columns)
    release = voile.make_release(table(), plan, seed=3).release
    people = People(table(), plan)
    return Comparison(PublishedRows.of(release), people, Randomness.seeded(1))


def by_name(comparison: Comparison, **parameters) -> dict[str, Measurement]:
    measure = TripErrors(**parameters)
    assert measure.refusal(comparison) is None
    return {one.measure: one for one in measure.measure(comparison)}


def sides(comparison: Comparison) -> tuple[np.ndarray, np.ndarray, pl.DataFrame]:
    """Published and true positions of the same reports, by sorting both."""
    shown = comparison.published.frame.sort("trip", "time")
    true = table().sort("trip", "time")
    assert shown["trip"].to_list() == true["trip"].to_list()
    names = ("latitude", "longitude")
    shown_places, true_places = (
        np.array([frame[name].cast(pl.Float64) for name in names]) for frame in (shown, true)
    )
    return shown_places, true_places, true


def far(places: np.ndarray, latitude, longitude) -> np.ndarray:
    """Metres from positions to others."""
    count = places.shape[1]
    others = [np.ascontiguousarray(np.broadcast_to(it, count)) for it in (latitude, longitude)]
    return separation(places[0].copy(), places[1].copy(), *others)


def test_the_displacement_is_the_mean_distance():
    """Without a destination there is nothing else; useless is one place for all."""
    comparison = comparison_of()
    found = by_name(comparison)
    assert list(found) == ["trip-displacement"]
    shown, true, _ = sides(comparison)
    assert found["trip-displacement"].value == pytest.approx(far(shown, *true).mean())
    assert found["trip-displacement"].useless == pytest.approx(
        far(true, *np.median(true, axis=1)).mean()
    )
    assert found["trip-displacement"].untouched == 0


@pytest.mark.parametrize("by_columns", [False, True])
def test_errors_to_a_destination(by_columns):
    """To one place for all trips, or to that of each trip, at a speed that is given."""
    if by_columns:
        ends = ("to_latitude", "to_longitude")
        comparison = comparison_of(voile.TrajectoryColumns(destination=ends))
    else:
        comparison = comparison_of(destination=DOOR)
    found = by_name(comparison, speed=30.0)
    shown, true, rows = sides(comparison)
    to = rows.select("to_latitude", "to_longitude").to_numpy().T if by_columns else DOOR
    error = np.abs(far(shown, *to) - far(true, *to))
    assert found["trip-distance"].value == pytest.approx(error.mean())
    assert found["trip-arrival"].value == pytest.approx((error / (30 / 3.6)).mean() / 60)
    distances = far(true, *to)
    assert found["trip-distance"].useless == pytest.approx(
        np.abs(distances - np.median(distances)).mean()
    )


def test_remaining_distances():
    """Their error is that of the noise, and there is no displacement."""
    comparison = comparison_of(mechanism="remaining-distance", destination=DOOR)
    found = by_name(comparison)
    assert list(found) == ["trip-distance", "trip-arrival"]
    shown = comparison.published.frame.sort("trip", "time")["remaining"].to_numpy()
    true = table().sort("trip", "time").select("latitude", "longitude").to_numpy().T
    assert found["trip-distance"].value == pytest.approx(np.abs(shown - far(true, *DOOR)).mean())


def test_refusals():
    """Trips under new numbers, and tables that are no trips, have no errors; nor has any speed."""
    measure = measure_named("trips")
    assert "numbered anew" in measure.refusal(comparison_of(trips="numbered"))
    comparison = comparison_of()
    plan = replace(comparison.original.plan, trajectory=None)
    others = replace(comparison, original=People(table(), plan))
    assert measure.refusal(others) == "the release does not show trips"
    with pytest.raises(InputError, match="speed"):
        TripErrors(speed=0)
