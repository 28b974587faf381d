"""What averaging tells of a truck that stands still: hours at one place, or the same place daily.

The adversary has one link to a truck of the sharing service with its default settings, or a table
that was published with the default noise.  He knows neither a map nor the law of the noise, and
takes the mean of all positions that were shown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from voile_base.randomness import Randomness
from voile_geo.geodesy import Floats, displace, separation
from voile_geo.planar.field import Trips
from voile_geo.planar.noise import LocationNoise, perturb
from voile_share.platform.core import Settings
from voile_share.positions import PositionStream

__all__ = ["DAYS", "HOURS", "SEED", "TRUCKS", "Missed", "in_a_table", "through_a_link"]

SEED = 2026
TRUCKS = 400
HOURS, DAYS = 8, 20
LEVELS = ("near", "middle", "far")
_HOME = (39.9, 116.4)
_HOUR, _DAY = 3_600, 86_400


@dataclass(frozen=True, eq=False)
class Missed:
    """Metres by which each of t trucks is missed, shape (t,)."""

    who: str
    """What the adversary sees."""
    gap: float
    """Seconds between reports of a stop."""
    one: Floats
    """By one report, the mean over those of a stop."""
    stop: Floats
    """By the mean of all reports of a stop of ``HOURS`` hours."""
    mornings: Floats
    """By the mean of the first reports of ``DAYS`` days, or trips, that begin at one place."""

    @classmethod
    def of(cls, who: str, gap: float, parked: Floats, daily: Floats) -> Missed:
        """From what is shown of each truck, (t, n, 2) degrees: in a stop, and every morning."""
        one = np.mean([_away(parked[:, i]) for i in range(parked.shape[1])], axis=0)
        return cls(who, gap, one, _away(parked.mean(axis=1)), _away(daily.mean(axis=1)))


def through_a_link(settings: Settings, trucks: int = TRUCKS) -> list[Missed]:
    """By which a link misses a truck of the service, at each level."""
    gap = settings.slot_seconds
    parked = _streamed(settings, range(0, HOURS * _HOUR, gap), trucks)
    daily = _streamed(settings, range(0, DAYS * _DAY, _DAY), trucks)
    return [
        Missed.of(f"a link, {level} level", gap, parked[:, :, i], daily[:, :, i])
        for i, level in enumerate(LEVELS)
    ]


def in_a_table(
    noise: LocationNoise, gap: int, trucks: int = TRUCKS, *, receiver: float = 0.0
) -> Missed:
    """By which a table misses a truck that has a report every ``gap`` seconds in a stop.

    ``receiver`` is what true positions are off by, per axis, in metres: normal errors.
    """
    parked = _published(noise, (trucks, 1), np.arange(0.0, HOURS * _HOUR, gap), "stop", receiver)
    daily = _published(noise, (trucks, DAYS), np.zeros(1), "mornings", receiver)
    return Missed.of("a published table", gap, parked, daily.reshape(trucks, DAYS, 2))


def _streamed(settings: Settings, slots: Sequence[int], trucks: int) -> Floats:
    """What the service shows of trucks in some slots, (trucks, slots, levels, 2) degrees."""
    shown = np.empty((trucks, len(slots), len(LEVELS), 2))
    for truck in range(trucks):
        key = Randomness.seeded(SEED).key(f"truck {truck}")
        stream = PositionStream(
            settings.levels, key, distance=settings.distance, delta=settings.delta
        )
        for i, slot in enumerate(slots):
            places = stream.report(*_HOME, time=slot, slot=slot)
            shown[truck, i] = [(place.latitude, place.longitude) for place in places]
    return shown


def _published(
    noise: LocationNoise, fleet: tuple[int, int], time: Floats, purpose: str, receiver: float
) -> Floats:
    """What a table shows of trips with reports at some times, (trips, times, 2) degrees.

    The fleet is so many trucks, each with a trip on so many days.
    """
    trucks, days = fleet
    trips = trucks * days
    reports = trips * len(time)
    home = (np.full(reports, degrees) for degrees in _HOME)
    off = np.random.default_rng(SEED).normal(0, receiver, (2, reports))
    start, each = np.arange(trips + 1) * len(time), np.arange(trips, dtype=np.uint64)
    when = np.repeat(np.tile(np.arange(days) * float(_DAY), trucks), len(time))
    table = Trips(
        *displace(*home, *off),
        np.tile(time, trips) + when,
        start,
        each,
        vehicle=each // np.uint64(days),
    )
    moved = perturb(noise, table, Randomness.seeded(SEED).key(purpose))
    return np.stack((moved.latitude, moved.longitude), axis=-1).reshape(trips, len(time), 2)


def _away(shown: Floats) -> Floats:
    """Metres from home of t places, (t, 2) degrees."""
    home = (np.full(len(shown), degrees) for degrees in _HOME)
    return separation(*home, *shown.T)
