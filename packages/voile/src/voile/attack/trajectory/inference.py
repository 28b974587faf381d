"""Exact Bayesian inference of where a truck was, from all its reports at once.

What it does: the posterior over pieces of roads at each report, by the forward-backward algorithm
of a hidden Markov model.

Model: a truck moves from piece to piece by a distribution of distances along the roads
(``Movement``), which depends on how fast it was before: a state is a piece with a band of speeds.
Its reports follow the mechanism's own distribution (``distributions``).  Where noise is drawn
afresh, a report depends on the piece alone.  Where noise remembers, or stays with places, its
density given the report before depends on both pieces, because either noise follows from the piece
and the published position; such factors are taken for every pair of pieces in consecutive reports.

Source: "Trajectory Hiding and Sharing for Supply Chains with Differential Privacy" (ESORICS 2023),
section 5, argues with an adversary who averages; this one knows the mechanism.

Claim: exact for the model (noise that stays with places has a longer memory than its distribution
here, see ``distributions.FieldBelief``), but for the least likely pieces, which together hold
``IGNORED`` of the probability given the reports so far, or given all of them: these are dropped.
Beside 1e-9 that moved 8 trips of GeoLife by 0.2 m on average, 2.8 m at most, and no road changed.
A tenth of it may lie on pieces that are never tried, because a bound says that they cannot hold
more (``_Steps.forward``): that moved 13 trips by 0.1 m, 4.8 m at most, and no road changed.
Where no piece explains a report the inference begins anew there, and says so.

Cost: a pass over all that each new piece reaches (``driven``); for a active pieces in each of n
reports and b pieces in reach of each before the next one, O(n a b) twice (``loops``), of pairs that
the next report leaves likely; on the way back, that all reports leave possible.
Bands of speeds cost little: a distance belongs to one.

The loops of the inference over all pairs of pieces of which one is reached from the other.

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

How much is driven within each distance of pieces of roads: what moves are weighed against.

A truck leaves a piece for any other that it reaches, by the distance and by how much is driven
there; what these weights sum to depends on the time between two reports.  How much is driven at
each distance does not: it is summed once from each piece, so that trips with many different times
between reports, and all adversaries who follow them, share it.

Cost: a pass over what a piece reaches, once; then for each time a product of bins and bands.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.attack.trajectory.distributions import (
    ALONE,
    Factors,
    NoiseDistribution,
    pair_factor,
    times_pair_factors,
)
from voile.attack.trajectory.reach import Reach, among, most_reached, with_room
from voile_base.compiled import njit
from voile_base.ondemand import dataclass
from voile_geo.geodesy import Floats
from voile_geo.roads.network import Indices, RoadNetwork

__all__ = ["BIN", "IGNORED", "Driven", "Movement", "Posterior", "infer"]


BIN = 10.0
"""Metres: distances along roads are told apart to this."""


@dataclass(frozen=True, eq=False)
class _NearbyPieces:
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
    def of(cls, pieces: Indices, rows: tuple[Any, ...]) -> _NearbyPieces:
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
def _carry_forward(believed, rows, distribution, near, pair, carried):  # type: ignore[no-untyped-def]
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
        at = _place(i, np.int64(rows[0][i]), near)
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
def _carry_backward(believed, rows, distribution, near, pair, carried):  # type: ignore[no-untyped-def]
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
    most, size = 1 + most_reached(rows), near[1][-1]
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


KEPT = 1 << 23
AHEAD = 2.0
"""Times the distance that is asked for: what is known by then within so many metres is summed."""


class Driven:
    """How much is driven at each distance from s pieces, by the traffic on each piece.

    What was found is kept, 8 bytes for each bin of distance from each piece that was asked for,
    and forgotten where it grows beyond ``KEPT`` of these.  Not to be shared between threads.
    """

    def __init__(self, traffic: Floats) -> None:
        """How much is driven on each piece, shape (s,), in any unit."""
        self.traffic = traffic
        self._limit = np.zeros(len(traffic))
        self._rows = np.zeros((2, len(traffic)), dtype=np.int64)
        self._driven = np.empty(1 << 16)
        self._used = 0

    def sums(self, pieces: Indices, reach: Reach, weights: Floats) -> Floats:
        """Sums over all that each piece reaches, shape (n, v), of weights by distance (bins, v)."""
        if self._used > KEPT:
            self._limit[:], self._used = 0.0, 0
        new = pieces[self._limit[pieces] < reach.limit]
        if len(new):
            rows, known = reach.rows(new), reach.known(new)
            kept = self._rows, self._limit, self._used, self._driven
            # What was searched further is summed as far, so that it is not summed again.
            farthest = AHEAD * reach.limit
            self._driven, self._used = _drive(new, rows, (known, farthest), self.traffic, kept)
        return np.asarray(_sums(pieces, self._rows, self._driven, weights))


@njit(cache=True, nogil=True, error_model="numpy")
def _drive(new, rows, within, traffic, kept):  # type: ignore[no-untyped-def]
    """Write how much is driven in each bin of distance from new pieces behind what is kept.

    ``within`` are metres within which it is known from each, infinite where that is all there is,
    and metres beyond which nothing is written.
    """
    run, first, step = rows[:3]
    where, limit, used, driven = kept
    listed = np.empty(len(run)), np.empty(len(run))
    own, ends = -1, (0, 0.0, 0.0)
    for a, i in enumerate(new):
        most = min(within[0][a], within[1])
        if run[i] != own:
            own = run[i]
            ends = _list_moves(own, rows, within[1], traffic, listed)
        metres = max(ends[2], 0.0) + (first[own + 1] - 1 - first[own]) * step[own]
        if within[0][a] == np.inf and metres <= most:
            most, limit[i] = metres, np.inf
        else:
            limit[i] = most
        bins = int(most / BIN) + 1
        driven = with_room(driven, used + bins + 1)
        some = driven[used : used + bins + 1]  # the last one for all beyond
        some[:] = 0.0
        _drive_from(i, rows, most, traffic, ends, listed, some)
        where[0, i], where[1, i] = used, used + bins
        used += bins
    return driven, used


@njit(cache=True, nogil=True)
def _list_moves(own, rows, most, traffic, listed):  # type: ignore[no-untyped-def]
    """List pieces of other runs that the end of a run reaches: metres, and how much is driven.

    How many; metres to its own first piece, infinite if it is not reached; metres to the farthest,
    infinite if some are beyond ``most``.
    """
    first, step, begin, end, reached, distance = rows[1:]
    far, much = listed
    count, around, farthest = 0, np.inf, 0.0
    for k in range(begin[own], end[own]):
        there, onward = reached[k], np.float64(distance[k])
        if onward > most:
            farthest = np.inf  # farther than was looked
            break
        farthest = max(farthest, onward + (first[there + 1] - 1 - first[there]) * step[there])
        if there == own:
            around = onward
            continue
        for j in range(first[there], first[there + 1]):
            far[count], much[count] = onward + (j - first[there]) * step[there], traffic[j]
            count += 1
    return count, around, farthest


@njit(cache=True, nogil=True, error_model="numpy")
def _drive_from(piece, rows, most, traffic, ends, listed, driven):  # type: ignore[no-untyped-def]
    """Add how much is driven in each bin of distance from a piece, the last bin for all beyond."""
    run, first, step = rows[:3]
    count, around, _ = ends
    far, much = listed
    own, beyond = run[piece], np.uint32(len(driven) - 1)
    offset = (first[own + 1] - 1 - piece) * step[own]
    for k in range(count):
        metres = far[k] + offset
        driven[np.uint32(metres / BIN) if metres <= most else beyond] += much[k]
    for j in range(first[own], first[own + 1]):
        metres = (j - piece) * step[own]
        if j < piece:
            metres = offset + around + (j - first[own]) * step[own]
        if metres <= most:
            driven[int(metres / BIN)] += traffic[j]


@njit(cache=True, nogil=True, error_model="numpy")
def _sums(pieces, where, driven, weights):  # type: ignore[no-untyped-def]
    """What is driven in each bin, times the weight of the bin, summed."""
    sums = np.empty((len(pieces), weights.shape[1]))
    for a, i in enumerate(pieces):
        begin, end = where[0, i], where[1, i]
        end = min(end, begin + len(weights))
        sums[a] = driven[begin:end] @ weights[: end - begin]
    return sums


IGNORED = 1e-4
"""Probability at a report that is left out, on the way there and again on the way back."""
_UNTRIED, _FIRST_TRY = 0.1, 1e-6
"""Which part of this may lie on pieces that are not tried on the way there; and how unlikely,
beside the likeliest, pieces may be that are tried at first."""
_DISTRIBUTIONS = 8
"""For how many different times between reports the distribution of moves is kept."""
_BANDS = np.array([0.0, 3.0, 6.0, 9.0, 12.0, 16.0, 22.0, 29.0, 36.0])
"""m/s: where bands of speeds begin that are told apart; one more, the first, is for standing."""
_BAND_SPEEDS = np.array([0.0, 1.5, 4.5, 7.5, 10.5, 14.0, 19.0, 25.5, 32.5, 40.0])
"""m/s: what stands for each band."""

TRAFFIC: Mapping[str, float] = MappingProxyType(
    {
        "motorway": 4.0,
        "trunk": 4.0,
        "primary": 2.5,
        "secondary": 1.5,
        "tertiary": 0.8,
        "motorway_link": 1.4,
        "trunk_link": 1.3,
        "primary_link": 1.5,
        "secondary_link": 2.0,
        "tertiary_link": 2.0,
        "unclassified": 0.1,
        "residential": 0.1,
        "service": 0.08,
        "living_street": 0.04,
    }
)
"""Time that cars spend on a metre of road of OpenStreetMap's classes, roughly, by 89 drives in
Beijing; classes that were hardly driven on are set to what their neighbours suggest."""


@dataclass(frozen=True)
class Movement:
    """How far trucks get: what the adversary supposes of speeds along the roads, in m/s.

    The speed of a truck that moves is normal, around a mean between the speed before and the usual
    one, as in a first-order autoregressive process; whether it stands is remembered for a while.
    """

    usual: float = 10.0
    deviation: float = 6.0
    memory: float = 120.0
    """Seconds in which the correlation of speeds falls to 1 / e; 0 if speeds do not remember."""
    fastest: float = 28.0
    """No truck is faster than this; where one is, it cannot be followed (``speeds``)."""
    standing: float = 0.08
    """The probability of standing still from one report to the next."""
    stop: float = 35.0
    """Seconds in which the correlation of standing falls to 1 / e."""
    traffic: Mapping[str, float] = field(default_factory=lambda: TRAFFIC)
    """How much is driven on a metre of road of each class, in any unit; classes unnamed count 1."""

    def most(self, elapsed: float, reach: Reach) -> float:
        """The farthest that a truck gets in some seconds, in metres.

        However short the time is, it may pass from its piece to the next.
        """
        return min(reach.limit, max(self.fastest * elapsed, reach.widest + BIN))

    def traffic_of(self, roads: RoadNetwork) -> Floats:
        """How much is driven on a metre of each edge, shape (e,)."""
        if roads.class_of is None:
            return np.ones(roads.edges)
        return np.array([self.traffic.get(name, 1.0) for name in roads.classes])[roads.class_of]

    def first(self) -> Floats:
        """The probability of each band of speeds before the first report, shape (v,)."""
        bell = np.exp(-0.5 * ((_BAND_SPEEDS[1:] - self.usual) / self.deviation) ** 2)
        return np.concatenate(([self.standing], (1 - self.standing) * bell / bell.sum()))

    def moves(self, elapsed: float, reach: Reach) -> _Moves:
        """The distribution of moves within some seconds, for the distances that a reach tells."""
        elapsed = max(elapsed, 1e-3)
        speed = (np.arange(int(reach.limit / BIN) + 2) + 0.5) * BIN / elapsed
        own, blur = self.deviation**2, (reach.coarseness / elapsed) ** 2
        # What is seen of the speed before is off by as much as what is seen of this one.
        kept = _kept(elapsed, self.memory) * own / (own + blur)
        mean = self.usual + kept * (_BAND_SPEEDS - self.usual)
        deviation = math.sqrt((own + blur) * (1 - kept * kept))
        bell = np.exp(-0.5 * ((speed - mean[:, np.newaxis]) / deviation) ** 2)
        stays = _kept(elapsed, self.stop)
        standing = np.full(len(_BAND_SPEEDS), self.standing * (1 - stays))
        standing[0] += stays
        band = np.searchsorted(_BANDS, speed, side="right")
        possible = speed * elapsed <= self.most(elapsed, reach)
        return _Moves(np.where(possible, 0.02 + bell, 0.0), standing, band)


@dataclass(frozen=True, eq=False)
class _Moves:
    """How far a truck gets between two reports, by the band of its speed before: v bands."""

    weights: Floats
    """Shape (v, bins): of distances for a truck that moves; the last bin has all beyond."""
    standing: Floats
    """Shape (v,): the probability of standing still."""
    band: Indices
    """Shape (bins,): the band of speeds that a distance belongs to; standing is band 0."""

    @property
    def most(self) -> float:
        """Metres: below this, distances are possible."""
        return BIN * (1 + float(np.flatnonzero(self.weights[0])[-1]))


def _kept(elapsed: float, memory: float) -> float:
    return math.exp(-elapsed / memory) if memory > 0 else 0.0


@dataclass(frozen=True, eq=False)
class Posterior:
    """Where the truck was at each of n reports: pieces with their probabilities."""

    piece: Sequence[Indices]
    """For each report, the pieces that are possible."""
    probability: Sequence[Floats]
    """For each report, their probabilities, which sum to 1."""
    lost: int
    """At how many reports the inference began anew."""


def infer(
    time: Floats,
    distribution: NoiseDistribution,
    reach: Callable[[float], Reach],
    movement: Movement,
    driven: Driven | None = None,
) -> Posterior:
    """The posterior at each of n reports.

    ``time`` (n,) in seconds; ``reach`` tells which pieces count for a step of so many seconds, the
    same ``Reach`` for the same seconds, so that one long gap does not make all steps slow;
    ``driven`` tells how much is driven on each piece, the same on all if it is not given.
    """
    factors = [distribution.factors(i) for i in range(len(time))]
    driven = driven or Driven(np.ones(len(reach(0.0))))
    traffic, steps = driven.traffic, _Steps(reach, movement, driven)
    first = movement.first()
    filtered = [_anew(factors[0], traffic, first)]
    lost = 0
    for i in range(1, len(time)):
        ahead = steps.forward(filtered[-1], float(time[i] - time[i - 1]), factors[i - 1 : i + 1])
        if not len(ahead.piece):
            ahead, lost = _anew(factors[i], traffic, first), lost + 1
        filtered.append(ahead)
    after = np.ones(filtered[-1].chance.shape)
    pieces: list[Indices] = []
    probabilities: list[Floats] = []
    for i in range(len(time) - 1, -1, -1):
        now = filtered[i]
        joint = (now.chance * after).sum(axis=1)
        if not joint.any():  # the inference began anew at the next report
            joint, after = now.chance.sum(axis=1), np.ones(now.chance.shape)
        kept = _mattering(joint, IGNORED)
        pieces.append(now.piece[kept])
        probabilities.append(joint[kept] / joint[kept].sum())
        if i:
            elapsed = float(time[i] - time[i - 1])
            later = _Belief(now.piece[kept], after[kept])
            after = steps.backward(filtered[i - 1], later, elapsed, factors[i - 1 : i + 1])
    return Posterior(pieces[::-1], probabilities[::-1], lost)


@dataclass(frozen=True, eq=False)
class _Belief:
    """Which pieces are believed in, given the reports so far."""

    piece: Indices
    """Shape (a,), ascending."""
    chance: Floats
    """Shape (a, v): of each piece with each band of speeds; sums to 1."""


def _believed(piece: Indices, chance: Floats) -> _Belief:
    """A belief that sums to 1, without what is ignored; without pieces if nothing is possible."""
    kept = _mattering(chance.sum(axis=1), (1 - _UNTRIED) * IGNORED)
    return _Belief(piece[kept], chance[kept] / chance[kept].sum())


def _mattering(each: Floats, ignored: float) -> Indices:
    """Places of the likeliest pieces, ascending: all but what is ignored of the probability."""
    # What is so faint that all of it may go is not sorted.
    total = each.sum()
    clear = np.flatnonzero(each > ignored * total / len(each))
    order = clear[np.argsort(each[clear])]
    gone = max(0.0, total - each[clear].sum()) + np.cumsum(each[order])
    return np.sort(order[np.searchsorted(gone, ignored * total, side="right") :])


def _anew(factors: Factors, traffic: Floats, first: Floats) -> _Belief:
    """The belief after one report alone."""
    piece = factors.piece
    return _believed(piece, (factors.density * traffic[piece])[:, np.newaxis] * first)


@dataclass(eq=False)
class _Steps:
    """Beliefs carried from one report to the next, and back."""

    reach: Callable[[float], Reach]
    movement: Movement
    driven: Driven
    _distributions: dict[float, _Moves] = field(default_factory=dict)

    def forward(self, belief: _Belief, elapsed: float, factors: Sequence[Factors]) -> _Belief:
        """The belief after a report.

        Pieces that cannot hold more than ``_UNTRIED`` of it together are left out untried: so many
        as their likeliest factor is at least that share of what was found of the others, for all
        ways from a piece together have a probability of 1.
        """
        before, now = factors
        former = np.searchsorted(before.piece, belief.piece)
        rows, moves = self._known(elapsed, belief.piece)
        carried = np.zeros((len(now.piece), belief.chance.shape[1]))
        most = before.most_of_pairs(now, former)
        believed = belief.piece, former, belief.chance
        least, tried = _FIRST_TRY * most.max(), most > np.inf
        while True:
            some = np.flatnonzero((most >= least) & ~tried)
            near, arrays, pair = self._near(rows, before, now, some)
            come = np.zeros((carried.shape[1], len(near)))
            _carry_forward(believed, rows, moves, arrays, pair, come)
            carried[some] = come.T[near.place]
            tried[some] = True
            found = carried.sum() * _UNTRIED * IGNORED
            if not (most[~tried] > found).any():
                return _believed(now.piece, carried)
            least = found

    def backward(
        self, belief: _Belief, later: _Belief, elapsed: float, factors: Sequence[Factors]
    ) -> Floats:
        """How likely later reports are from each piece that is believed in, up to a factor."""
        before, now = factors
        former = np.searchsorted(before.piece, belief.piece)
        rows, moves = self._known(elapsed, belief.piece)
        carried = np.zeros(belief.chance.shape)
        some = np.searchsorted(now.piece, later.piece)
        near, arrays, pair = self._near(rows, before, now, some)
        after = np.ascontiguousarray(near.spread(later.chance).T)
        _carry_backward((belief.piece, former, after), rows, moves, arrays, pair, carried)
        largest = carried.max()
        return np.asarray(carried / largest if largest > 0 else carried)

    def _near(
        self, rows: tuple[object, ...], before: Factors, now: Factors, some: Indices
    ) -> tuple[_NearbyPieces, tuple[Any, ...], tuple[Any, ...]]:
        """Pieces of a report at some places, with what compiled loops need of them and of pairs."""
        pieces, density = now.piece[some], now.density[some]
        near = _NearbyPieces.of(pieces, rows)
        noise = near.spread(now.noise[some]) if now.kind != ALONE else now.noise
        arrays = near.arrays(density * self.driven.traffic[pieces], density)
        return near, arrays, before.pair(replace(now, noise=noise))

    def _known(self, elapsed: float, piece: Indices) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
        """What some pieces reach; moves, and for each piece the sum of weights over that."""
        reach = self.reach(elapsed)
        if elapsed not in self._distributions:
            if (
                len(self._distributions) == _DISTRIBUTIONS
            ):  # times may be irregular, and each takes memory
                del self._distributions[next(iter(self._distributions))]
            self._distributions[elapsed] = self.movement.moves(elapsed, reach)
        moves = self._distributions[elapsed]
        ways = np.ascontiguousarray(moves.weights.T)
        totals, most = self.driven.sums(piece, reach, ways), min(moves.most, reach.limit)
        # Last, for the sums ask for rows too, which may end what was true of former ones.
        return reach.rows(piece), (most, ways, moves.standing, moves.band, totals)
