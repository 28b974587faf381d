"""One report at a time: what each kind of noise does to a position, compiled.

Tables and live streams go through the same step, so that a trip that is published again with the
same key shows the same positions, however it is published.

A report draws up to four words of pseudorandom bits.  The first two give the radius and a uniform
direction, or a pair of normal variables; the other two give the turn of angle selection.  Radii
come from 75 bits, so that none exceeds 52 / epsilon, and directions from 53.

Cost: some 40 ns a report; a turn 15 ns more.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numba import njit

from voile.dp.planar.zones import ZoneArrays, zone_epsilon
from voile.geodesy import Floats, displaced, sine_cosine

__all__ = ["ANGLES", "CORRELATED", "LAPLACE", "Memory", "gaussian_scale", "move_trips", "step"]

LAPLACE, ANGLES, CORRELATED = range(3)
"""Kinds of noise: planar Laplace, with selected angles, and correlated Gaussian."""

Memory = tuple[float, float]
"""What is remembered of the last noise: its direction in turns, or east and north in deviations."""

_UNIT37, _UNIT38, _UNIT53 = 2.0**-37, 2.0**-38, 2.0**-53


@njit(cache=True, nogil=True, error_model="numpy")
def step(  # noqa: PLR0913 - compiled code takes plain numbers
    kind: int,
    parameter: float,
    true: tuple[float, float],
    epsilon: float,
    elapsed: float,
    memory: Memory,
    drawn: Any,
    turned: Any,
) -> tuple[float, float, Memory]:
    """The position to publish for a true one, and what to remember of its noise.

    ``parameter`` is the deviation of a turn, in turns, or the time constant in seconds; ``elapsed``
    are the seconds since the report before, infinite for the first; ``drawn`` and ``turned`` are
    two words each.
    """
    if kind == CORRELATED:
        kept = math.exp(-elapsed / parameter)
        fresh = math.sqrt(1 - kept * kept)
        new = _normal_pair(drawn[0], drawn[1])
        east, north = kept * memory[0] + fresh * new[0], kept * memory[1] + fresh * new[1]
        scale = gaussian_scale(epsilon)
        latitude, longitude = displaced(true[0], true[1], scale * east, scale * north)
        return latitude, longitude, (east, north)
    turns = float(drawn[0] >> np.uint64(11)) * _UNIT53
    if kind == ANGLES and not math.isnan(memory[0]):
        turns = (memory[0] + parameter * _normal_pair(turned[0], turned[1])[0]) % 1.0
    sine, cosine = sine_cosine(turns)
    radius = _scaled_radius(drawn[0], drawn[1]) / epsilon
    latitude, longitude = displaced(true[0], true[1], radius * sine, radius * cosine)
    return latitude, longitude, (turns, 0.0)


@njit(cache=True, nogil=True, error_model="numpy")
def gaussian_scale(epsilon: float) -> float:
    """Standard deviation per axis, in metres, for a mean displacement of 2 / epsilon."""
    return 2 / (epsilon * math.sqrt(math.pi / 2))


@njit(cache=True, nogil=True, error_model="numpy")
def move_trips(  # noqa: PLR0913
    kind: int,
    parameter: float,
    fresh: Memory,
    place: tuple[Floats, Floats, Floats],
    trips: tuple[Any, Floats],
    zones: ZoneArrays,
    words: tuple[Any, Any],
    shown: tuple[Floats, Floats, Floats],
) -> None:
    """Move all reports of many trips.

    ``place`` is latitude, longitude and time; ``trips`` where each begins, and its receiver;
    ``shown`` takes latitude, longitude and epsilon.
    """
    latitude, longitude, time = place
    start, receivers = trips
    epsilons = zones[3]
    epsilon = epsilons[0, 0]
    for trip in range(len(start) - 1):
        memory, elapsed, last, receiver = fresh, math.inf, (0.0, 0.0), receivers[trip]
        for i in range(start[trip], start[trip + 1]):
            first = i == start[trip]
            true = (latitude[i], longitude[i])
            if not first:
                elapsed = time[i] - time[i - 1]
            if epsilons.size > 1:
                epsilon = zone_epsilon(first, true, last, receiver, zones)
            drawn = (words[0][i, 0], words[0][i, 1])
            turned = (words[1][i, 0], words[1][i, 1])
            moved = step(kind, parameter, true, epsilon, elapsed, memory, drawn, turned)
            last, memory = (moved[0], moved[1]), moved[2]
            shown[0][i], shown[1][i], shown[2][i] = moved[0], moved[1], epsilon


@njit(cache=True, nogil=True, error_model="numpy")
def _scaled_radius(first: Any, second: Any) -> float:
    """Epsilon times a radius, from two words: Gamma(2, 1), as the sum of two exponentials."""
    # Both factors lie in (0, 1]; the bits that give the direction are not used again.
    factor = (float(second >> np.uint64(26)) + 1) * _UNIT38
    low = (first & np.uint64(0x7FF)) << np.uint64(26) | (second & np.uint64(0x3FFFFFF))
    return -math.log(factor * (float(low) + 1) * _UNIT37)


@njit(cache=True, nogil=True, error_model="numpy")
def _normal_pair(first: Any, second: Any) -> tuple[float, float]:
    """Two independent standard normal variables from two words (Box and Muller)."""
    length = math.sqrt(-2 * math.log((float(second >> np.uint64(11)) + 1) * _UNIT53))
    sine, cosine = sine_cosine(float(first >> np.uint64(11)) * _UNIT53)
    return length * sine, length * cosine
