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
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np

from voile.attack.trajectory.distributions import NoiseDistribution
from voile.attack.trajectory.driven import Driven
from voile.attack.trajectory.factors import ALONE, Factors, most_of_pairs, pair_of
from voile.attack.trajectory.loops import BIN, NearbyPieces, carry_backward, carry_forward
from voile.attack.trajectory.reach import Reach
from voile_geo.geodesy import Floats
from voile_geo.roads.network import Indices, RoadNetwork

__all__ = ["IGNORED", "Movement", "Moves", "Posterior", "infer"]

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

    def moves(self, elapsed: float, reach: Reach) -> Moves:
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
        return Moves(np.where(possible, 0.02 + bell, 0.0), standing, band)


@dataclass(frozen=True, eq=False)
class Moves:
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
    _distributions: dict[float, Moves] = field(default_factory=dict)

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
        most = most_of_pairs(before, now, former)
        believed = belief.piece, former, belief.chance
        least, tried = _FIRST_TRY * most.max(), most > np.inf
        while True:
            some = np.flatnonzero((most >= least) & ~tried)
            near, arrays, pair = self._near(rows, before, now, some)
            come = np.zeros((carried.shape[1], len(near)))
            carry_forward(believed, rows, moves, arrays, pair, come)
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
        carry_backward((belief.piece, former, after), rows, moves, arrays, pair, carried)
        largest = carried.max()
        return np.asarray(carried / largest if largest > 0 else carried)

    def _near(
        self, rows: tuple[Any, ...], before: Factors, now: Factors, some: Indices
    ) -> tuple[NearbyPieces, tuple[Any, ...], tuple[Any, ...]]:
        """Pieces of a report at some places, with what compiled loops need of them and of pairs."""
        pieces, density = now.piece[some], now.density[some]
        near = NearbyPieces.of(pieces, rows)
        noise = near.spread(now.noise[some]) if now.kind != ALONE else now.noise
        arrays = near.arrays(density * self.driven.traffic[pieces], density)
        return near, arrays, pair_of(before, replace(now, noise=noise))

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
