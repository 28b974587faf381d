"""What the distribution of one report says of pieces, and of pairs of pieces at two reports.

Where noise is drawn afresh, a report depends on the piece alone; where it remembers, turns or stays
with places, on the piece at the report before too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from voile.attack.trajectory.exponentials import exponentials
from voile_base.compiled import njit
from voile_geo.geodesy import Floats
from voile_geo.roads.network import Indices

__all__ = [
    "ALONE",
    "REMEMBERING",
    "STAYING",
    "TURNING",
    "Factors",
    "most_of_pairs",
    "pair_factor",
    "pair_of",
    "square",
    "times_pair_factors",
]

ALONE, TURNING, REMEMBERING, STAYING = range(4)
_NOTHING = np.zeros((1, 2))
_LEVEL = np.ones((1, 1))


@dataclass(frozen=True, eq=False)
class Factors:
    """The distribution of one report: a factor for each piece, and perhaps for each pair."""

    piece: Indices
    """Shape (m,), ascending: the pieces from which the report is not all but impossible."""
    density: Floats
    """Shape (m,): of the report from each of these, at most 1."""
    kind: int = ALONE
    memory: float = 0.0
    """How much of the noise before is left, for remembering noise; for noise that stays, what two
    reports have in common of the fresh part, in square metres."""
    precision: float = 0.0
    """Half the inverse variance of what is new in remembering noise; for noise that stays, one over
    its length."""
    turns: Floats = field(default_factory=lambda: _LEVEL)
    """Shape (q, b): for turning noise, the density of a turn in b equal parts of the circle.

    By how much of what is seen of a turn is the mechanism's own, in q equal steps up to all.
    """
    noise: Floats = field(default_factory=lambda: _NOTHING)
    """Shape (m, 2), as pairs need it: the noise from each piece; or its direction in turns, and the
    variance of that because a truck is not in the middle, in units of the variance of a turn; or,
    shape (m, 6), what is not known of noise that stays (``Staying``)."""


def pair_of(before: Factors, now: Factors) -> tuple[Any, ...]:
    """What ``pair_factor`` needs of two reports in a row."""
    return now.kind, now.memory, now.precision, now.turns, before.noise, now.noise


@njit(cache=True, nogil=True, error_model="numpy")
def pair_factor(pair: Any, i: int, j: int) -> float:
    """The factor of going from piece i at the report before to piece j at this one.

    These are places among the pieces of each report's ``Factors``.
    """
    kind, memory, precision, turns, before, now = pair
    if kind == TURNING:
        turn = now[j, 0] - before[i, 0]
        place = int((turn - math.floor(turn)) * turns.shape[1]) % turns.shape[1]
        own = 1 / (1 + before[i, 1] + now[j, 1])
        return float(turns[int(own * (len(turns) - 1) + 0.5), place])
    if kind == REMEMBERING:
        east = now[j, 0] - memory * before[i, 0]
        north = now[j, 1] - memory * before[i, 1]
        return math.exp(-precision * (east * east + north * north))
    if kind == STAYING:
        x, y = now[j, 4] - before[i, 4], now[j, 5] - before[i, 5]
        far = math.sqrt(x * x + y * y)
        common = memory + before[i, 3] * now[j, 3] * math.exp(-far * precision)
        kept = common / before[i, 2]
        variance = now[j, 2] - common * kept
        east = now[j, 0] - kept * before[i, 0]
        north = now[j, 1] - kept * before[i, 1]
        return float(math.exp(-0.5 * (east * east + north * north) / variance) / variance)
    return 1.0


@njit(cache=True, nogil=True, error_model="numpy")
def times_pair_factors(pair, i, noise, room, count, product):  # type: ignore[no-untyped-def]
    """Multiply the first ``count`` numbers of ``product`` (k,) by factors of going from piece i.

    ``noise`` (c, k) is what pairs need of the pieces one goes to, and ``room`` are arrays (k,) to
    work in.  What is 0 stays so, whatever the factor.
    """
    kind, memory, precision, turns, before, _ = pair
    powers = room[0]
    if kind == TURNING:
        steps, parts = len(turns) - 1, turns.shape[1]
        for k in range(count):
            turn = noise[0, k] - before[i, 0]
            place = int((turn - math.floor(turn)) * parts) % parts
            own = 1 / (1 + before[i, 1] + noise[1, k])
            product[k] *= turns[int(own * steps + 0.5), place]
        return
    if kind == REMEMBERING:
        east, north = memory * before[i, 0], memory * before[i, 1]
        for k in range(count):
            x, y = noise[0, k] - east, noise[1, k] - north
            powers[k] = -precision * (x * x + y * y)
    else:
        _staying(before[i], memory, precision, noise, room, count, product)
    exponentials(powers, room[1], count)
    for k in range(count):
        product[k] *= powers[k]


@njit(cache=True, nogil=True, error_model="numpy")
def _staying(before, memory, precision, noise, room, count, product):  # type: ignore[no-untyped-def]
    """Divide by variances given the noise before, and leave in ``room`` what is to be a power."""
    powers = room[0]
    for k in range(count):
        x, y = noise[4, k] - before[4], noise[5, k] - before[5]
        powers[k] = -precision * math.sqrt(x * x + y * y)
    exponentials(powers, room[1], count)
    for k in range(count):
        common = memory + before[3] * noise[3, k] * powers[k]
        kept = common / before[2]
        variance = noise[2, k] - common * kept
        # Pieces that no report can be from have none.
        inverse = 1 / variance if variance > 0 else 0.0
        east, north = noise[0, k] - kept * before[0], noise[1, k] - kept * before[1]
        powers[k] = -0.5 * (east * east + north * north) * inverse
        product[k] *= inverse


def most_of_pairs(before: Factors, now: Factors, former: Indices) -> Floats:
    """Bounds from above, shape (m,), of each piece's factors.

    Each is its density times the factor of any pair with a piece before, among those at the places
    ``former`` of the report before.
    """
    if now.kind == TURNING:
        return np.asarray(now.density * now.turns.max())
    if now.kind == REMEMBERING:
        expected = now.memory * before.noise[former]
        centre = (expected.min(axis=0) + expected.max(axis=0)) / 2
        around = float(np.sqrt(square(expected - centre).max()))
        off = np.maximum(0.0, np.sqrt(square(now.noise - centre)) - around)
        return np.asarray(now.density * np.exp(-now.precision * off * off))
    if now.kind == STAYING:
        return now.density * _most_staying(before.noise[former], now)
    return now.density


def _most_staying(before: Floats, now: Factors) -> Floats:
    """By the farthest noise before, the nearest piece before, and what is least sure there."""
    apart = np.maximum(before[:, 4:].min(axis=0) - now.noise[:, 4:], 0.0)
    apart = np.maximum(apart, now.noise[:, 4:] - before[:, 4:].max(axis=0))
    alike = np.exp(-np.sqrt(square(apart)) * now.precision)
    least, variance = before[:, 2].min(), now.noise[:, 2]
    common = now.memory + before[:, 3].max() * now.noise[:, 3] * alike
    kept = common / least * np.sqrt(square(before[:, :2]).max())
    off = np.maximum(0.0, np.sqrt(square(now.noise[:, :2])) - kept)
    # Whatever is known, a piece is some metres long.
    sure = np.maximum(variance - common * common / least, 1.0)
    return np.asarray(np.exp(-0.5 * off * off / variance) / sure)


def square(vectors: Floats) -> Floats:
    """Squared lengths of s vectors; written out, which is five times as fast as a sum of pairs."""
    east, north = vectors.T
    return np.asarray(east * east + north * north)
