"""What places tell of a truck of the sharing service: a known door, a depot, and restarts.

The service's own stream with its default settings and a key for each truck, in one period.  Noise
is what is shown less the truth, east and north.

- **A door**: a recipient knows where the truck was on ``VISITS`` days, and so the mean noise there.
  Of a report some metres away on another day he takes off the multiple of that mean which fits all
  trucks best, and is off by what is left.
- **A depot**: the mean of the first reports of ``DAYS`` days.
- **Restarts**: the truck stands and reports each hour, and before each report the service was
  started again, from what it keeps on disk; the mean of all reports.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.record import Measurement, Table
from voile_base.randomness import Key, Randomness
from voile_geo.geodesy import Floats, displaced, east_north
from voile_share.platform import Settings
from voile_share.positions import PositionStream

__all__ = ["away_from_a_door", "depot", "restarts", "run"]

SEED, TRUCKS = 2031, 1_500
VISITS, DAYS, RESTARTS = 4, 20, 24
AWAY = (0.0, 100.0, 300.0, 600.0)
NAMES = ("near", "middle", "far")
_DOOR, _ELSEWHERE = (52.01, 4.36), (52.1, 4.36)
_DAY, _HOUR = 86_400, 3_600
_PERIOD = 28 * _DAY
_BEGIN = 720 * _PERIOD
"""Where a period begins, so that no truck leaves it."""


def _stream(truck: int) -> PositionStream:
    return PositionStream(Settings().levels, _key(truck))


def _key(truck: int) -> Key:
    return Randomness.seeded(SEED).key("truck", str(truck))


def _noise(stream: PositionStream, place: tuple[float, float], slot: int) -> Floats:
    """The noise of a report at a place, (levels, 2) metres."""
    shown = stream.report(*place, float(slot), slot)
    true = (np.full(len(shown), degrees) for degrees in place)
    sides = (np.array([getattr(one, side) for one in shown]) for side in ("latitude", "longitude"))
    return np.stack(east_north(*true, *sides), axis=1)


def away_from_a_door(truck: int) -> Floats:
    """The mean noise at the door, and that at each of ``AWAY``; (1 + distances, levels, 2)."""
    stream = _stream(truck)
    ways = np.random.default_rng([SEED, truck]).uniform(0, 2 * np.pi, len(AWAY))
    places = [_DOOR] * VISITS + [
        displaced(*_DOOR, metres * np.sin(way), metres * np.cos(way))
        for metres, way in zip(AWAY, ways.tolist(), strict=True)
    ]
    found = []
    for day, place in enumerate(places):
        slot = _BEGIN + day * _DAY + 8 * _HOUR
        _noise(stream, _ELSEWHERE, slot - _HOUR)
        found.append(_noise(stream, place, slot))
    return np.stack([np.mean(found[:VISITS], axis=0), *found[VISITS:]])


def depot(truck: int) -> Floats:
    """The noise of the first reports of ``DAYS`` days at one place, (days, levels, 2)."""
    stream, found = _stream(truck), []
    for day in range(DAYS):
        slot = _BEGIN + day * _DAY + 8 * _HOUR
        found.append(_noise(stream, _DOOR, slot))
        _noise(stream, _ELSEWHERE, slot + _HOUR)
    return np.stack(found)


def restarts(truck: int) -> Floats:
    """The noise of each hour's report, between which the service starts again."""
    stream, found = _stream(truck), []
    for hour in range(RESTARTS + 1):
        if hour:
            stream = PositionStream(Settings().levels, _key(truck), state=stream.kept)
        found.append(_noise(stream, _DOOR, _BEGIN + 8 * _HOUR + hour * _HOUR))
    return np.stack(found)


def run() -> Measurement:
    """All trucks, each by itself."""
    doors, depots, again = (_of_all(one) for one in (away_from_a_door, depot, restarts))
    left = [_left(doors[:, 0], doors[:, 1 + i]) for i in range(len(AWAY))]
    mornings, restarted = _averaged(depots), _averaged(again)
    near = [cells[0] for cells in left]
    return Measurement(
        question="What do a known door, a depot that is seen daily, and restarts of the service "
        "tell of a truck under noise that stays with places?",
        data=f"{TRUCKS:,} trucks with the service's default settings",
        seeds=f"{SEED}, a key for each truck",
        protocol=f"mean metres off, over those of one report by itself, with normal 95 % intervals "
        f"over trucks. Door: {VISITS} visits on as many days, all of one period, are known; a "
        "report so far away on another day less the multiple of their mean noise that fits all "
        f"trucks best. Depot: the mean of the first reports of {DAYS} days. Restarts: a truck that "
        f"stands and reports each hour, before each of which but the first the service was "
        f"started again; the mean of {RESTARTS + 1} reports",
        answer=f"At the near level who knows a door is left with {near[1]} of one report's error "
        f"100 m from it and with {near[3]} at 600 m; {DAYS} first reports at a depot leave "
        f"{mornings[0]}, and {RESTARTS} restarts {restarted[0]}.",
        tables=[
            Table("What is left of one report's error", ("what is known", *NAMES),
                  [*([f"a door, {metres:g} m away", *cells]
                     for metres, cells in zip(AWAY, left, strict=True)),
                   [f"a depot, {DAYS} first reports", *mornings],
                   [f"a stop with {RESTARTS} restarts", *restarted]]),
        ],
    )  # fmt: skip


def _of_all(look: Callable[[int], Floats]) -> Floats:
    return np.stack([look(truck) for truck in range(TRUCKS)])


def _left(known: Floats, target: Floats) -> Sequence[str]:
    """Of noise (trucks, levels, 2), when the best multiple of what is known is taken off."""
    cells = []
    for level in range(known.shape[1]):
        at, here = known[:, level], target[:, level]
        rest = here - (at * here).sum() / (at * at).sum() * at
        cells.append(_ratio(np.hypot(*rest.T), np.hypot(*here.T)))
    return cells


def _averaged(noise: Floats) -> Sequence[str]:
    """Of the mean over reports, for noise (trucks, reports, levels, 2)."""
    mean = np.hypot(*np.moveaxis(noise.mean(axis=1), -1, 0))
    each = np.hypot(*np.moveaxis(noise, -1, 0)).mean(axis=1)
    return [_ratio(mean[:, level], each[:, level]) for level in range(mean.shape[1])]


def _ratio(over: Floats, under: Floats) -> str:
    """Of two means over trucks, with its interval (to the first order)."""
    ratio = over.mean() / under.mean()
    varies = (over - ratio * under) / under.mean()
    return f"{ratio:.2f} \u00b1 {1.96 * varies.std(ddof=1) / len(varies) ** 0.5:.2f}"
