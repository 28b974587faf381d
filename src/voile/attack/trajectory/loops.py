"""The loops of the inference over all pairs of pieces of which one is reached from the other.

Arguments they share: ``rows`` of ``reach``; ``distribution``, metres that can be driven, how likely
each distance is by the band of speeds before (bins, v), how likely each band stands (v,), the band
of each distance (bins,), and the sum of weights from each piece that is believed in (a, v);
``near``, a ``Near`` as ``Near.arrays`` has it; ``pair`` of ``factors``, whose pieces at this report
are those of ``near``.  What is believed are pieces, their places among those of the report before,
and a number for each piece and band.  What comes to or from pieces of ``near`` is held band by
band, shape (v, m): reached in the order of distance, those of a band stand together.

Cost: 3 to 6 ns a pair, more for noise that stays, and some 2 ns for each run of pieces that is
reached, from each run that holds what is believed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.attack.trajectory.factors import ALONE, pair_factor
from voile.attack.trajectory.reach import among, room_for_spans
from voile.compiled import njit
from voile.geodesy import Floats
from voile.roads.network import Indices

__all__ = ["BIN", "Near", "carry_backward", "carry_forward"]

BIN = 10.0
"""Metres: distances along roads are told apart to this."""


@dataclass(frozen=True, eq=False)
class Near:
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
    def of(cls, pieces: Indices, rows: tuple[Any, ...]) -> Near:
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
    found, spans = _room_for_found(rows), room_for_spans(rows)
    starts, stops, fars, steps = spans
    moves = np.empty(len(standing))
    active, formers, belief = believed
    run, count = -1, 0
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
            count = among(run, rows, most, near[0], found[0], found[1])
        for k in range(_spans_of(i, most, rows, near, found, count, spans)):
            for j in range(starts[k], stops[k]):
                b = int((fars[k] + (j - starts[k]) * steps[k]) / BIN)
                factor = arriving[j] * chance[b]
                if pairs and factor > 0:
                    factor *= pair_factor(pair, former, j)
                carried[band[b], j] += factor


@njit(cache=True, nogil=True, error_model="numpy")
def carry_backward(believed, rows, distribution, near, pair, carried):  # type: ignore[no-untyped-def]
    """Add what follows each belief, by what is after the report (v, m), to carried (a, v)."""
    most, weights, standing, band, totals = distribution
    arriving, staying, pairs = near[5], near[6], pair[0] != ALONE
    found, spans = _room_for_found(rows), room_for_spans(rows)
    starts, stops, fars, steps = spans
    later = np.empty(len(weights))
    active, formers, after = believed
    run, count = -1, 0
    for a, i in enumerate(active):
        former = formers[a]
        later[:] = 0.0
        if rows[0][i] != run:
            run = rows[0][i]
            count = among(run, rows, most, near[0], found[0], found[1])
        for k in range(_spans_of(i, most, rows, near, found, count, spans)):
            for j in range(starts[k], stops[k]):
                b = int((fars[k] + (j - starts[k]) * steps[k]) / BIN)
                factor = arriving[j] * after[band[b], j]
                if pairs and factor > 0:
                    factor *= pair_factor(pair, former, j)
                later[b] += factor
        at, stays = _place(i, run, near), 0.0
        if at >= 0 and staying[at] > 0:
            stays = staying[at] * pair_factor(pair, former, at) * after[0, at]
        moved = later @ weights
        for v in range(len(standing)):
            moved[v] *= (1 - standing[v]) / totals[a, v]
            carried[a, v] = standing[v] * stays + moved[v]


@njit(cache=True, nogil=True)
def _room_for_found(rows):  # type: ignore[no-untyped-def]
    """Arrays that hold what ``among`` finds from any run."""
    most = 1 + (rows[4] - rows[3]).max()
    return np.empty(most, dtype=np.int32), np.empty(most, dtype=np.float32)


@njit(cache=True, nogil=True)
def _place(piece, own, near):  # type: ignore[no-untyped-def]
    """Where a piece of a run stands among those that are near, or -1."""
    run, start, first = near[0], near[1], near[2]
    if run[own] < 0:
        return -1
    at = start[run[own]] + piece - first[run[own]]
    return at if start[run[own]] <= at < start[run[own] + 1] else -1


@njit(cache=True, nogil=True, error_model="numpy")
def _spans_of(piece, most, rows, near, found, count, spans):  # type: ignore[no-untyped-def]
    """Which near pieces one reaches within some metres, as ``reach.spans_of`` has them.

    ``found`` are the runs that its own run reaches, and how many; places are those of ``near``.
    """
    run, start, first, lead, step = near[:5]
    some, metres = found
    starts, stops, fars, steps = spans
    own = rows[0][piece]
    offset, own_near, used = (rows[1][own + 1] - 1 - piece) * rows[2][own], run[own], 0
    if own_near >= 0:
        at = start[own_near] + piece - first[own_near]
        starts[0] = max(at, start[own_near])
        stops[0] = min(start[own_near + 1], at + 1 + int(most / step[own_near]))
        fars[0], steps[0] = (starts[0] - at) * step[own_near], step[own_near]
        used += starts[0] < stops[0]
    for k in range(count):
        there = some[k]
        far = offset + metres[k] + lead[there]
        starts[used], fars[used], steps[used] = start[there], far, step[there]
        stop = start[there + 1]
        if far + (stop - start[there] - 1) * step[there] > most:
            stop = min(stop, start[there] + 1 + int((most - far) / step[there]))
        if there == own_near:
            stop = min(stop, start[there] + max(0, piece - first[there]))
        stops[used] = stop
        used += far <= most and start[there] < stop
    return used
