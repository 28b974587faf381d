"""The loops of the inference over all pairs of pieces of which one is reached from the other.

Arguments they share: ``rows`` of ``reach``; ``distribution``, metres that can be driven, how likely
each distance is by the band of speeds before (bins, v), how likely each band stands (v,), the band
of each distance (bins,), and the sum of weights from each piece that is believed in (a, v);
``near``, a ``NearbyPieces`` as ``NearbyPieces.arrays`` has it; ``pair`` of ``factors``, whose
pieces at this report are those of ``near``.  What is believed are pieces, their places among those
of the report before, and a number for each piece and band.  What comes to or from pieces of
``near`` is held band by band, shape (v, m): reached in the order of distance, those of a band stand
together.

Near pieces are listed once for each run that holds what is believed (``_list``), and then taken one
after another in loops that hardly branch.  Runs have one or two pieces: to go through near runs
from each piece anew takes longer than what is to be done there.

Cost: some nanoseconds a pair, whatever the noise, and some 2 ns for each run of pieces that is
reached, from each run that holds what is believed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.attack.trajectory.factors import ALONE, pair_factor, times_pair_factors
from voile.attack.trajectory.reach import among
from voile_base.compiled import njit
from voile_geo.geodesy import Floats
from voile_geo.roads.network import Indices

__all__ = ["BIN", "NearbyPieces", "carry_backward", "carry_forward"]

BIN = 10.0
"""Metres: distances along roads are told apart to this."""


@dataclass(frozen=True, eq=False)
class NearbyPieces:
    """Pieces that a report may be from, in the order of driving, and what lies between them.

    Of each run of pieces, m pieces in all from the first to the last that are wanted.
    """

    run: NDArray[np.int32]
    """Shape (c,): for each run of the map a number from 0 if it holds any of them, otherwise -1."""
    start: Indices
    """Shape (w + 1,): where those of each numbered run begin."""
    first: Indices
    """Shape (w,): the first of these pieces of each run."""
    lead: Floats
    """Shape (w,): metres to it from the run's first piece."""
    step: Floats
    """Shape (w,): metres from each piece to the next."""
    place: Indices
    """Shape (q,): where the q pieces that are wanted stand among the m."""

    @classmethod
    def of(cls, pieces: Indices, rows: tuple[Any, ...]) -> NearbyPieces:
        """Of some pieces, ascending, by the ``rows`` of a reach."""
        run, first, step = rows[:3]
        own = run[pieces]
        head = np.flatnonzero(np.diff(own, prepend=-1))
        runs = own[head]
        low, high = pieces[head], pieces[np.append(head[1:], len(pieces)) - 1]
        number = np.full(len(step), -1, dtype=np.int32)
        number[runs] = np.arange(len(runs))
        start = np.concatenate(([0], np.cumsum(high - low + 1)))
        place = start[number[own]] + pieces - low[number[own]]
        return cls(number, start, low, (low - first[runs]) * step[runs], step[runs], place)

    def __len__(self) -> int:
        return int(self.start[-1])

    def spread(self, values: Floats) -> Floats:
        """Values of the pieces that are wanted, (q,) or (q, n), among all m, with 0 for others."""
        among_all = np.zeros((len(self), *values.shape[1:]))
        among_all[self.place] = values
        return among_all

    def arrays(self, arriving: Floats, staying: Floats) -> tuple[Any, ...]:
        """For the loops, with how likely one arrives at, and stays on, those that are wanted."""
        return (
            self.run, self.start, self.first, self.lead, self.step,
            self.spread(arriving), self.spread(staying),
        )  # fmt: skip


@njit(cache=True, nogil=True, error_model="numpy")
def carry_forward(believed, rows, distribution, near, pair, carried):  # type: ignore[no-untyped-def]
    """Add what comes to each piece and band, by a belief (a, v), to carried (v, m)."""
    most, weights, standing, band, totals = distribution
    arriving, staying, pairs = near[5], near[6], pair[0] != ALONE
    room = _room(rows, near, pair)
    place, bins, factor = room[2], room[4], room[5]
    flat, row = carried.reshape(-1), (band * carried.shape[1]).astype(np.uint32)
    moves = np.empty(len(standing))
    active, formers, belief = believed
    run, listed = -1, 0
    for a, i in enumerate(active):
        former, stays = formers[a], 0.0
        for v in range(len(standing)):
            stays += belief[a, v] * standing[v]
            moves[v] = belief[a, v] * (1 - standing[v]) / totals[a, v]
        at = _place(i, rows[0][i], near)
        if at >= 0 and staying[at] > 0:  # others have no factor
            carried[0, at] += stays * staying[at] * pair_factor(pair, former, at)
        chance = weights @ moves
        if rows[0][i] != run:
            run = rows[0][i]
            listed, around = _list(run, rows, most, near, pair, room)
        count = _bins(i, rows, (most, len(weights) - 1), near, pair, (listed, around), room)
        for k in range(count):
            factor[k] = arriving[place[k]] * chance[bins[k]]
        if pairs:
            times_pair_factors(pair, former, room[6], room[7:], count, factor)
        for k in range(count):
            flat[row[bins[k]] + place[k]] += factor[k]


@njit(cache=True, nogil=True, error_model="numpy")
def carry_backward(believed, rows, distribution, near, pair, carried):  # type: ignore[no-untyped-def]
    """Add what follows each belief, by what is after the report (v, m), to carried (a, v)."""
    most, weights, standing, band, totals = distribution
    arriving, staying, pairs = near[5], near[6], pair[0] != ALONE
    room = _room(rows, near, pair)
    place, bins, factor = room[2], room[4], room[5]
    later = np.empty(len(weights))
    active, formers, after = believed
    flat, row = after.reshape(-1), (band * after.shape[1]).astype(np.uint32)
    run, listed = -1, 0
    for a, i in enumerate(active):
        former = formers[a]
        later[:] = 0.0
        if rows[0][i] != run:
            run = rows[0][i]
            listed, around = _list(run, rows, most, near, pair, room)
        count = _bins(i, rows, (most, len(weights) - 1), near, pair, (listed, around), room)
        for k in range(count):
            factor[k] = arriving[place[k]] * flat[row[bins[k]] + place[k]]
        if pairs:
            times_pair_factors(pair, former, room[6], room[7:], count, factor)
        for k in range(count):
            later[bins[k]] += factor[k]
        at, stays = _place(i, run, near), 0.0
        if at >= 0 and staying[at] > 0:
            stays = staying[at] * pair_factor(pair, former, at) * after[0, at]
        moved = later @ weights
        for v in range(len(standing)):
            moved[v] *= (1 - standing[v]) / totals[a, v]
            carried[a, v] = standing[v] * stays + moved[v]


@njit(cache=True, nogil=True)
def _room(rows, near, pair):  # type: ignore[no-untyped-def]
    """Arrays for what is found from one run, and from one piece.

    Near runs and metres to each, from ``among``; near pieces by their places, metres to each, and
    the bin of each distance; a factor for each, what pairs need of it, and room to work.
    """
    most, size = 1 + (rows[4] - rows[3]).max(), near[1][-1]
    noise = np.empty((pair[5].shape[1], size if pair[0] != ALONE else 0))
    return (
        np.empty(most, dtype=np.int32), np.empty(most, dtype=np.float32),
        # Unsigned, since each use of a number that may be negative asks whether it is.
        np.empty(size, dtype=np.uint32), np.empty(size),
        np.empty(size, dtype=np.uint32), np.empty(size),
        noise, np.empty(size), np.empty(size, dtype=np.int64),
    )  # fmt: skip


@njit(cache=True, nogil=True)
def _place(piece, own, near):  # type: ignore[no-untyped-def]
    """Where a piece of a run stands among those that are near, or -1."""
    run, start, first = near[0], near[1], near[2]
    if run[own] < 0:
        return -1
    at = start[run[own]] + piece - first[run[own]]
    return at if start[run[own]] <= at < start[run[own] + 1] else -1


@njit(cache=True, nogil=True)
def _list(own, rows, most, near, pair, room):  # type: ignore[no-untyped-def]
    """List the near pieces of other runs that the end of a run reaches; how many.

    And metres to the run's own first piece, on the way round: infinite if there is none.
    """
    number, start, lead, step = near[0], near[1], near[3], near[4]
    some, metres, place, far = room[:4]
    listed, around = 0, np.inf
    for k in range(among(own, rows, most, number, some, metres)):
        there = some[k]
        if there == number[own]:
            around = metres[k]
            continue
        onward = metres[k] + lead[there]
        for j in range(start[there], start[there + 1]):
            place[listed], far[listed] = j, onward
            onward += step[there]
            listed += 1
    if pair[0] != ALONE:
        _read_noise(pair, place, 0, listed, room[6])
    return listed, around


@njit(cache=True, nogil=True, error_model="numpy")
def _bins(piece, rows, last, near, pair, listed, room):  # type: ignore[no-untyped-def]
    """The bin of the distance from a piece to each near one, those of its own run behind; how many.

    ``last`` are the farthest metres that count, and the bin of all beyond, which is unlikely;
    ``listed`` what ``_list`` tells.
    """
    run, first, step = rows[:3]
    place, far, bins = room[2:5]
    most, beyond = last
    count, around = listed
    own = run[piece]
    offset = (first[own + 1] - 1 - piece) * step[own]
    for k in range(count):
        metres = far[k] + offset
        bins[k] = np.uint32(metres / BIN if metres <= most else beyond)
    here = near[0][own]
    if here < 0:
        return count
    used, start = count, near[1][here]
    for j in range(start, near[1][here + 1]):
        ahead = near[2][here] + j - start - piece
        metres = ahead * step[own]
        if ahead < 0:
            metres = offset + around + near[3][here] + (j - start) * step[own]
        if metres <= most:
            place[used], bins[used] = j, np.uint32(metres / BIN)
            used += 1
    if pair[0] != ALONE:
        _read_noise(pair, place, count, used, room[6])
    return used


@njit(cache=True, nogil=True)
def _read_noise(pair, place, begin, end, noise):  # type: ignore[no-untyped-def]
    """Put what pairs need of listed pieces into columns (c, k)."""
    now = pair[5]
    for k in range(begin, end):
        for c in range(now.shape[1]):
            noise[c, k] = now[place[k], c]
