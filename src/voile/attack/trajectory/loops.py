"""The loops of the inference over all pairs of pieces of which one is reached from the other.

Arguments they share: ``rows`` of ``reach``; ``distribution``, metres that can be driven, how likely
each distance is by the band of speeds before (bins, v), how likely each band stands (v,), the band
of each distance (bins,), and the sum of weights from each piece that is believed in (a, v);
``near``, the place of each piece among those of the report, or -1, and how likely these are to
arrive at and to stay on; ``pair`` of ``factors``.  What is believed are pieces, their places among
those of the report before, and a number for each piece and band.

Cost: 3 to 10 ns a pair, and some 2 ns for each run of pieces that is reached.
"""

from __future__ import annotations

import numpy as np

from voile.attack.trajectory.factors import pair_factor
from voile.attack.trajectory.reach import room_for_spans, spans_of
from voile.compiled import njit

__all__ = ["BIN", "carry_backward", "carry_forward", "sum_weights"]

BIN = 10.0
"""Metres: distances along roads are told apart to this."""


@njit(cache=True, nogil=True, error_model="numpy")
def sum_weights(new, rows, most, weights, traffic, totals):  # type: ignore[no-untyped-def]
    """Write the sums of weights from new pieces, times how much is driven there, to totals."""
    spans = room_for_spans(rows)
    starts, stops, fars, steps = spans
    driven = np.zeros(len(weights))
    for i in new:
        driven[:] = 0.0
        for k in range(spans_of(i, most, rows, spans)):
            for j in range(starts[k], stops[k]):
                driven[int((fars[k] + (j - starts[k]) * steps[k]) / BIN)] += traffic[j]
        for b in range(len(weights)):
            if driven[b] > 0:
                for v in range(weights.shape[1]):
                    totals[i, v] += weights[b, v] * driven[b]


@njit(cache=True, nogil=True, error_model="numpy")
def carry_forward(believed, rows, distribution, near, pair, carried):  # type: ignore[no-untyped-def]
    """Add what comes to each piece and band, by a belief (a, v), to carried (m, v)."""
    most, weights, standing, band, totals = distribution
    slot, arriving, staying = near
    spans = room_for_spans(rows)
    starts, stops, fars, steps = spans
    moves = np.empty(len(standing))
    active, formers, belief = believed
    for a, i in enumerate(active):
        former, stays = formers[a], 0.0
        for v in range(len(standing)):
            stays += belief[a, v] * standing[v]
            moves[v] = belief[a, v] * (1 - standing[v]) / totals[a, v]
        if slot[i] >= 0:
            carried[slot[i], 0] += stays * staying[slot[i]] * pair_factor(pair, former, slot[i])
        chance = weights @ moves
        for k in range(spans_of(i, most, rows, spans)):
            for j in range(starts[k], stops[k]):
                at = slot[j]
                if at >= 0:
                    b = int((fars[k] + (j - starts[k]) * steps[k]) / BIN)
                    factor = arriving[at] * pair_factor(pair, former, at)
                    carried[at, band[b]] += chance[b] * factor


@njit(cache=True, nogil=True, error_model="numpy")
def carry_backward(believed, rows, distribution, near, pair, carried):  # type: ignore[no-untyped-def]
    """Add what follows each belief, by what is after the report (m, v), to carried (a, v)."""
    most, weights, standing, band, totals = distribution
    slot, arriving, staying = near
    spans = room_for_spans(rows)
    starts, stops, fars, steps = spans
    later = np.empty(len(weights))
    active, formers, after = believed
    for a, i in enumerate(active):
        former = formers[a]
        later[:] = 0.0
        for k in range(spans_of(i, most, rows, spans)):
            for j in range(starts[k], stops[k]):
                at = slot[j]
                if at >= 0:
                    b = int((fars[k] + (j - starts[k]) * steps[k]) / BIN)
                    factor = arriving[at] * pair_factor(pair, former, at)
                    later[b] += factor * after[at, band[b]]
        stays = 0.0
        if slot[i] >= 0:
            stays = staying[slot[i]] * pair_factor(pair, former, slot[i]) * after[slot[i], 0]
        for b in range(len(later)):
            if later[b] > 0:
                for v in range(len(standing)):
                    carried[a, v] += weights[b, v] * later[b]
        for v in range(len(standing)):
            moved = (1 - standing[v]) * carried[a, v] / totals[a, v]
            carried[a, v] = standing[v] * stays + moved
