"""Exact Bayesian inference of where a truck was, from all its reports at once.

What it does: the posterior over pieces of roads at each report, by the forward-backward algorithm
of a hidden Markov model.

Model: a truck moves from piece to piece by a law of distances along the roads (``Movement``); its
reports follow the mechanism's own law (``laws``).  Where noise is drawn afresh, a report depends on
the piece alone.  Where noise remembers, its density given the report before depends on both pieces,
because either noise follows from the piece and the published position; such factors are taken for
every pair of pieces in consecutive reports.

Source: "Trajectory Hiding and Sharing for Supply Chains with Differential Privacy" (ESORICS 2023),
section 5, argues with an adversary who averages; this one knows the mechanism.

Claim: exact for the model, but for pieces whose probability given the reports so far is below
``IGNORED`` of the most likely one's: these are dropped.  Where no piece explains a report the
inference begins anew there, and says so.

Cost: for a active pieces in each of n reports and b pieces in reach of each, O(n a b) twice, 10 to
20 ns a pair.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numba import njit

from voile.attack.trajectory.laws import Factors, NoiseLaw, pair_factor
from voile.attack.trajectory.states import Reach
from voile.geodesy import Floats
from voile.roads.network import Places

__all__ = ["IGNORED", "Movement", "Posterior", "infer"]

IGNORED = 1e-9
_BIN = 10.0
"""Metres: distances along roads are told apart to this."""


@dataclass(frozen=True)
class Movement:
    """How far trucks get: what the adversary supposes of speeds along the roads, in m/s."""

    usual: float = 8.0
    deviation: float = 6.0
    fastest: float = 25.0
    standing: float = 0.15
    """The probability of standing still from one report to the next."""

    def reach(self, elapsed: float) -> float:
        """The farthest that a truck gets in some seconds, in metres."""
        return self.fastest * elapsed

    def weights(self, elapsed: float, limit: float) -> Floats:
        """Weights of the bins of distances up to a limit; the last has all that is farther."""
        middle = (np.arange(int(limit / _BIN) + 2) + 0.5) * _BIN
        speed = middle / max(elapsed, 1e-3)
        bell = np.exp(-0.5 * ((speed - self.usual) / self.deviation) ** 2)
        return np.where(speed <= max(self.fastest, _BIN / max(elapsed, 1e-3)), 0.02 + bell, 0.0)


@dataclass(frozen=True, eq=False)
class Posterior:
    """Where the truck was at each of n reports: pieces with their probabilities."""

    piece: Sequence[Places]
    """For each report, the pieces that are possible."""
    probability: Sequence[Floats]
    """For each report, their probabilities, which sum to 1."""
    lost: int
    """At how many reports the inference began anew."""


def infer(time: Floats, law: NoiseLaw, reach: Reach, movement: Movement) -> Posterior:
    """The posterior at each of n reports; ``time`` (n,) in seconds."""
    steps = _Steps(reach, movement)
    factors = [law.factors(i) for i in range(len(time))]
    filtered = [_normalized(factors[0].density)]
    lost = 0
    for i in range(1, len(time)):
        ahead = steps.forward(filtered[-1], float(time[i] - time[i - 1]), factors[i - 1 : i + 1])
        if not ahead.any():
            ahead, lost = factors[i].density, lost + 1
        filtered.append(_normalized(ahead))
    after = np.ones(len(reach.start) - 1)
    pieces: list[Places] = []
    probabilities: list[Floats] = []
    for i in range(len(time) - 1, -1, -1):
        joint = filtered[i] * after
        if not joint.any():
            joint = filtered[i]
        active = np.flatnonzero(joint)
        pieces.append(active)
        probabilities.append(joint[active] / joint[active].sum())
        if i:
            elapsed = float(time[i] - time[i - 1])
            after = steps.backward(filtered[i - 1], after, elapsed, factors[i - 1 : i + 1])
    return Posterior(pieces[::-1], probabilities[::-1], lost)


def _normalized(belief: Floats) -> Floats:
    """A belief that sums to 1, without what is ignored; 0 everywhere where it is."""
    kept = np.where(belief > IGNORED * belief.max(), belief, 0.0)
    total = kept.sum()
    return np.asarray(kept / total if total > 0 else kept)


@dataclass(eq=False)
class _Steps:
    """Beliefs carried from one report to the next, and back."""

    reach: Reach
    movement: Movement
    _laws: dict[float, tuple[Floats, Floats]] = field(default_factory=dict)

    def forward(self, belief: Floats, elapsed: float, factors: Sequence[Factors]) -> Floats:
        """The belief after a report, not normalized."""
        return self._carry(_forward, belief, elapsed, factors)

    def backward(
        self, belief: Floats, after: Floats, elapsed: float, factors: Sequence[Factors]
    ) -> Floats:
        """How likely later reports are from each piece that is believed in, up to a factor."""
        carried = self._carry(_backward, belief, elapsed, factors, after)
        largest = carried.max()
        return np.asarray(carried / largest if largest > 0 else carried)

    def _carry(
        self,
        loop: Callable[..., None],
        belief: Floats,
        elapsed: float,
        factors: Sequence[Factors],
        *after: Floats,
    ) -> Floats:
        before, now = factors
        weights, totals = self._law(elapsed)
        carried = np.zeros(len(belief))
        arrays = (self.reach.start, self.reach.piece, self.reach.distance)
        pair = (now.kind, now.memory, now.precision, now.turns, before.noise, now.noise)
        active = np.flatnonzero(belief)
        moves = (weights, totals, self.movement.standing)
        loop(active, belief, *after, arrays, moves, now.density, pair, carried)
        return carried

    def _law(self, elapsed: float) -> tuple[Floats, Floats]:
        """Weights of distances, and their sum over what each piece reaches."""
        if elapsed not in self._laws:
            weights = self.movement.weights(elapsed, self.reach.limit)
            totals = np.empty(len(self.reach.start) - 1)
            _total(self.reach.start, self.reach.distance, weights, totals)
            self._laws[elapsed] = weights, totals
        return self._laws[elapsed]


@njit(cache=True, nogil=True)
def _total(start, distance, weights, totals):  # type: ignore[no-untyped-def]
    for i in range(len(start) - 1):
        total = 0.0
        for k in range(start[i], start[i + 1]):
            total += weights[int(distance[k] / 10.0)]
        totals[i] = total


@njit(cache=True, nogil=True, error_model="numpy")
def _forward(active, belief, reach, moves, density, pair, carried):  # type: ignore[no-untyped-def]
    start, piece, distance = reach
    weights, totals, standing = moves
    for i in active:
        moving = (1 - standing) / totals[i]
        for k in range(start[i], start[i + 1]):
            j = piece[k]
            if density[j] > 0:
                chance = moving * weights[int(distance[k] / 10.0)]
                if k == start[i]:
                    chance += standing
                if chance > 0:
                    carried[j] += belief[i] * chance * density[j] * pair_factor(pair, i, j)


@njit(cache=True, nogil=True, error_model="numpy")
def _backward(  # type: ignore[no-untyped-def] # noqa: PLR0913
    active, belief, after, reach, moves, density, pair, carried
):
    start, piece, distance = reach
    weights, totals, standing = moves
    for i in active:
        moving = (1 - standing) / totals[i]
        total = 0.0
        for k in range(start[i], start[i + 1]):
            j = piece[k]
            if density[j] > 0 and after[j] > 0:
                chance = moving * weights[int(distance[k] / 10.0)]
                if k == start[i]:
                    chance += standing
                if chance > 0:
                    total += chance * density[j] * after[j] * pair_factor(pair, i, j)
        carried[i] = total
