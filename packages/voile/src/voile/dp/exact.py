"""Choices and draws with exactly the stated probabilities.

Exact decisions about probabilities that no binary fraction equals.

What it does: bounds e^-x for rational x as tightly as asked, and from such bounds decides what a
mechanism needs to know: the binary digits of a probability, the outcome of a coin, the sign of a
difference.  Precision grows until the decision is certain, so that no decision is rounded.

Guarantee: every answer is the exact one.  ``Decimal.exp`` is correctly rounded, so that the true
value lies strictly between its neighbours.

Why it ends: a probability is given here as bounds that shrink to a point around it.  Comparing
it with another number ends if the two differ.  Mechanisms compare rational numbers with rational
functions of e^-x, x rational and not 0; these are irrational (Lindemann), so the two differ.

Randomness is an iterator over independent uniform words of 64 bits; each is used once.

Cost: about 10 microseconds a bound at 40 digits.

Draws from categorical distributions with exactly the stated probabilities, for many rows.

What it does: distribution i is given by c whole-number weights; a draw shows outcome j with
probability weight[i, j] / sum of weight[i], no more and no less.

Guarantee: the distribution is exact, given that the words of the key are uniform.  So the privacy
loss between two distributions is the largest logarithm of a ratio of two rational numbers.

Algorithm: the outcome is the number of cumulative probabilities that a uniform u in [0, 1)
reaches.  The first 64 bits of u are compared with those of each cumulative probability.  Where
they are equal, with probability below c 2^-64, further words are drawn and compared in turn.

A distribution that knows one outcome only is kept as that outcome, and draws nothing.

Cost: two words of memory for each distribution, and c for each distribution with several outcomes;
some 5 ns a row, and 10 + 2c more for a row with several outcomes.

The exponential mechanism, with exactly the stated probabilities, over millions of candidates.

What it does: of n candidates with whole-number utilities u_i and multiplicities m_i, draws i with
probability proportional to m_i exp(rate u_i).

Source: McSherry, Talwar, "Mechanism Design via Differential Privacy" (FOCS 2007).

Guarantee: the draw is epsilon-differentially private if no u_i differs by more than the
sensitivity between neighbouring data sets, with rate = epsilon / (2 sensitivity).  For
``monotone`` utilities rate = epsilon / sensitivity is enough: of any two neighbours, one has all
its utilities at least as high as the other.  (Then all weights grow by factors between 1 and
e^epsilon, and so does their sum.)  Counts are monotone when one row is added or removed; a
distance to a wanted rank is not, and nothing that counts is when a row is replaced.
Multiplicities must be public.  A draw by floating-point weights has no such guarantee: rounding
can make the weight of a candidate 0 in one data set and not in the other (Ilvento, CCS 2020).

Algorithm: rejection from a whole-number envelope.
1. In floating point, a_i = m_i exp(rate (u_i - max u)) with an error bound; whole numbers
   W_i >= s a_i above the bound, for a scale s such that the sum of W_i stays below 2^61.
2. Draw i with probability W_i / sum of W, exactly, with whole numbers only.
3. Accept i with probability s a_i / W_i, exactly (``voile.dp.exact``); else go to 2.
Proof: a round accepts i with probability (W_i / sum W) (s a_i / W_i), proportional to a_i, whatever
the W_i are.  The floating-point numbers decide how often a round fails (about n 2^-59), never the
distribution.  Assumption: ``numpy.exp`` errs by less than 64 units in the last place; its tests
allow 4.

Cost: 60 ns a candidate, and 0.2 ms for each round.

Departure from the source: none in the distribution.

Private quantiles of numbers with public bounds, for borders that split rows by given shares.

What it does: for each share a/b draws a border r on a grid such that about that share of the rows
is below r.

Source: Smith, "Privacy-preserving statistical estimation with optimal convergence rates" (STOC
2011), Algorithm 2: the exponential mechanism on ranks.

Guarantee: the borders together are epsilon-differentially private; each of m borders gets
epsilon / m (sequential composition), and sorting them is post-processing.  The utility of r is
-|b C(r) - a N|, C(r) the number of rows below r and N that of all rows.  If one row is replaced,
N stays and C(r) moves by at most 1: the sensitivity is b.  If one row is added, b C(r) - a N
moves by b - a or by -a: the sensitivity is max(a, b - a).  If m rows are replaced or added, all of
them may move C(r) alike: m times as much.  Assumption: bounds and grid are public.

Algorithm: all borders between two neighbouring distinct values have the same utility, so
the mechanism draws a gap with its number of borders as multiplicity, then a border in it
uniformly.  Both draws are exact (``voile.dp.exact``).

Cost: some 100 ns a distinct value for each border, apart from sorting.

Departure from the source: borders are whole numbers of a grid instead of reals, which makes an
exact draw possible.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from voile.schema.budget import Change
from voile_base.errors import PlanError
from voile_base.ondemand import dataclass
from voile_base.randomness import Key, parts

__all__ = [
    "Bounds",
    "Categorical",
    "ExponentialMechanism",
    "PrivateQuantiles",
    "bernoulli",
    "decay",
    "leading_digits",
    "positive",
    "uniform_words",
]


Bounds = Callable[[int], tuple[Fraction, Fraction]]
"""From a number of decimal digits to a lower and an upper bound; more digits, closer bounds."""

WORD = 64
_GUARD = 20
_START = 40
_AT_ONCE = 8


def decay(exponent: Fraction, digits: int) -> tuple[Fraction, Fraction]:
    """Lower and upper bound of e^-exponent, exponent >= 0, to some ``digits`` decimal digits.

    What is below 10**-(10 digits + 1000) is bounded from below by 0.
    """
    if exponent == 0:
        return Fraction(1), Fraction(1)
    least = -(1000 + 10 * digits)  # keeps the denominators of the answer within reason
    down = Context(prec=digits, rounding=ROUND_FLOOR, Emin=least, traps=[])
    up = Context(prec=digits, rounding=ROUND_CEILING, Emin=least, traps=[])
    numerator, denominator = Decimal(-exponent.numerator), Decimal(exponent.denominator)
    low = down.next_minus(down.exp(down.divide(numerator, denominator)))
    high = up.next_plus(up.exp(up.divide(numerator, denominator)))
    return max(Fraction(low), Fraction(0)), min(Fraction(high), Fraction(1))


def leading_digits(probability: Bounds, count: int) -> int:
    """floor(p 2**count): the first ``count`` binary digits of a probability p below 1."""
    digits = count // 3 + _GUARD
    while True:
        low, high = (int(bound * (1 << count)) for bound in probability(digits))
        if low == high:
            return low
        digits *= 2


def positive(difference: Bounds) -> bool:
    """Whether a number that is not 0 is above 0."""
    digits = _START
    while True:
        low, high = difference(digits)
        if low > 0 or high < 0:
            return low > 0
        digits *= 2


def bernoulli(probability: Bounds, words: Iterator[int]) -> bool:
    """True with exactly the given probability p, 0 < p < 1.

    The digits of a uniform number u, drawn as far as needed, are compared with those of p: u < p.
    """
    count, drawn = 0, 0
    while True:
        drawn = (drawn << WORD) | next(words)
        count += WORD
        expected = leading_digits(probability, count)
        if drawn != expected:
            return drawn < expected


def uniform_words(key: Key) -> Iterator[int]:
    """The words of the key's stream, in order."""
    for first in itertools.count(0, _AT_ONCE):
        yield from key.stream(_AT_ONCE, first).tolist()


def _uniform_below(limit: int, words: Iterator[int]) -> int:
    """A uniform integer from 0 to ``limit`` - 1, by rejection; ``limit`` is at least 1."""
    length = (limit - 1).bit_length()
    while True:
        drawn = 0
        for _ in range(-(-length // WORD)):
            drawn = (drawn << WORD) | next(words)
        drawn >>= -length % WORD
        if drawn < limit:
            return drawn


_WORD = 64
_COUNTER = 2**63  # apart from the counters of ``DiscreteLaplace``, which may share a key


@dataclass(frozen=True, eq=False)
class Categorical:
    """d distributions on the outcomes 0 to c - 1; make one by ``of_weights`` or ``certain``."""

    outcomes: int
    """c."""
    only: NDArray[np.int32]
    """Shape (d,): the only outcome of a distribution; where it has several, -1 - its index."""
    weights: NDArray[Any]
    """Shape (r, c): whole weights of the distributions with several outcomes; int64 or object."""
    thresholds: NDArray[np.uint64]
    """Shape (r, c - 1): the first 64 bits of the cumulative probabilities; 1 becomes 2^64 - 1."""

    @classmethod
    def certain(cls, outcome: NDArray[np.integer], outcomes: int) -> Self:
        """Distributions with one outcome each, shape (d,), from 0 to ``outcomes`` - 1."""
        return cls._of(outcome, np.empty((0, outcomes), dtype=np.int64))

    @classmethod
    def of_weights(cls, weights: NDArray[Any]) -> Self:
        """Distributions by whole weights of any size, at least 0, not all 0 in a row, shape (d, c).

        Raises ``ValueError`` otherwise.
        """
        if weights.ndim != 2 or (weights < 0).any() or not (weights > 0).any(axis=1).all():
            raise ValueError("each distribution needs weights of at least 0, and one above 0")
        several = (weights > 0).sum(axis=1) > 1
        only = np.argmax(weights > 0, axis=1)
        only[several] = -1 - np.arange(int(several.sum()))
        return cls._of(only, weights[several])

    @classmethod
    def _of(cls, only: NDArray[np.generic], weights: NDArray[np.generic]) -> Self:
        thresholds = np.array(
            [_thresholds(distribution) for distribution in weights.tolist()], dtype=np.uint64
        )
        shape = (len(weights), weights.shape[1] - 1)
        return cls(weights.shape[1], only.astype(np.int32), weights, thresholds.reshape(shape))

    def __len__(self) -> int:
        return len(self.only)

    def probability(self, distribution: int, outcome: int) -> Fraction:
        """The exact probability that a distribution shows an outcome."""
        only = int(self.only[distribution])
        if only >= 0:
            return Fraction(int(only == outcome))
        weights = self.weights[-1 - only].tolist()
        return Fraction(weights[outcome], sum(weights))

    def draw(
        self, row: NDArray[np.integer], words: NDArray[np.uint64], key: Key
    ) -> NDArray[np.int32]:
        """An outcome for each of n rows, shape (n,), by each row's distribution, 0 to d - 1.

        ``words`` are the identities of the rows, shape (n,): rows with one word and one
        distribution draw alike.  A key serves one column of one release; ``DiscreteLaplace.draw``
        may share it.
        """
        drawn: NDArray[np.int32] = self.only[row]
        if len(self.weights):
            for part in parts(len(drawn)):
                several = np.flatnonzero(drawn[part] < 0)
                distribution = -1 - drawn[part][several]
                drawn[part][several] = self._draw_part(distribution, words[part][several], key)
        return drawn

    def _draw_part(
        self, distribution: NDArray[np.integer], words: NDArray[np.uint64], key: Key
    ) -> NDArray[np.int64]:
        uniform = key.blocks(words, _COUNTER)[:, 0]
        drawn = np.zeros(len(words), dtype=np.int64)
        tied = np.zeros(len(words), dtype=np.bool_)
        for threshold in self.thresholds.T:
            bound = threshold[distribution]
            drawn += uniform > bound
            tied |= uniform == bound
        for index in np.flatnonzero(tied):
            drawn[index] = _outcome(
                self.weights[distribution[index]].tolist(),
                _row_words(key, words[index : index + 1]),
            )
        return drawn


def _thresholds(weights: Sequence[int]) -> list[int]:
    total, largest = sum(weights), 2**_WORD - 1
    reached = itertools.accumulate(weights[:-1])
    return [min((weight << _WORD) // total, largest) for weight in reached]


def _row_words(key: Key, word: NDArray[np.uint64]) -> Iterator[int]:
    """Uniform words for a row, shape (1,); the first is the one that the fast path compares."""
    for counter in itertools.count(_COUNTER):
        yield key.blocks(word, counter)[0, 0].item()


def _outcome(weights: Sequence[int], words: Iterator[int], length: int = _WORD) -> int:
    """The outcome that a uniform number shows whose digits are words of ``length`` bits."""
    total = sum(weights)
    edges = [Fraction(reached, total) for reached in itertools.accumulate(weights)]
    drawn, unit = Fraction(0), Fraction(1)
    while True:
        unit /= 2**length
        drawn += next(words) * unit
        # u lies in [drawn, drawn + unit): decided where no edge lies strictly inside.
        first = next(index for index, edge in enumerate(edges) if edge > drawn)
        if edges[first] >= drawn + unit:
            return first


_TOTAL = 2.0**59  # of the envelope, before it is rounded upwards
_UNIT_ROUNDOFF = 2.0**-52
_EXP_ERROR = 80.0  # units in the last place: 64 of exp, and what the products around it add
_INT64_SAFE = 2**62


@dataclass(frozen=True)
class ExponentialMechanism:
    """A choice among candidates that is epsilon-differentially private.

    Raises ``PlanError`` unless ``epsilon`` and ``sensitivity`` are above 0.
    """

    epsilon: Decimal | Fraction
    sensitivity: Fraction
    """The most by which one row moves a utility, in the units in which utilities are given."""
    monotone: bool = False
    """Whether one row moves no two utilities in opposite directions."""

    def __post_init__(self) -> None:
        if not self.epsilon > 0 or not self.sensitivity > 0:
            msg = "the exponential mechanism needs an epsilon and a sensitivity above 0"
            raise PlanError(msg)

    @property
    def rate(self) -> Fraction:
        """The factor of a utility in the exponent."""
        return Fraction(self.epsilon) / self.sensitivity / (1 if self.monotone else 2)

    def draw(
        self,
        utilities: NDArray[np.generic],
        words: Iterator[int],
        multiplicities: NDArray[np.generic] | None = None,
    ) -> int:
        """The index of the chosen candidate.

        ``utilities`` are whole numbers, shape (n,), int64 or object.  ``multiplicities`` are whole
        numbers of at least 0, not all 0; 1 by default.  ``words`` are independent uniform words
        of 64 bits, such as ``voile.dp.exact.uniform_words`` gives.
        """
        if multiplicities is None:
            multiplicities = np.ones(len(utilities), dtype=np.int64)
        below = _below_best(utilities, multiplicities)
        envelope, scale = _envelope(below, multiplicities, float(self.rate))
        reached = np.cumsum(envelope)
        while True:
            drawn = _uniform_below(int(reached[-1]), words)
            index = int(np.searchsorted(reached, drawn, side="right"))
            ratio = scale * int(multiplicities[index]) / int(envelope[index])
            if self._accepts(int(below[index]), ratio, words):
                return index

    def _accepts(self, below: int, ratio: Fraction, words: Iterator[int]) -> bool:
        """A coin of probability ratio exp(-rate below), which is below 1."""

        def probability(digits: int) -> tuple[Fraction, Fraction]:
            low, high = decay(self.rate * below, digits)
            return ratio * low, ratio * high

        return bernoulli(probability, words)


def _below_best(utilities: NDArray[Any], multiplicities: NDArray[Any]) -> NDArray[Any]:
    """By how much each utility is below the best of those that can be drawn; others get 0."""
    offered = multiplicities > 0
    if not offered.any() or (multiplicities < 0).any():
        raise ValueError("multiplicities must be at least 0, and one of them above 0")
    best = int(utilities[offered].max())
    if max(abs(best), abs(int(utilities.min()))) >= _INT64_SAFE:
        utilities = utilities.astype(object)
    below: NDArray[Any] = np.where(offered, best - utilities, 0)
    return below


def _envelope(
    below: NDArray[np.generic], multiplicities: NDArray[np.generic], rate: float
) -> tuple[NDArray[np.int64], Fraction]:
    """Whole numbers above s m exp(-rate below), 0 where m is 0, with a sum below 2^61; and s.

    The relative error of exp(-x) is that of exp, plus 2 units in the last place for each unit of
    x, which is itself the product of two rounded numbers.  What is too small for a double is
    below the 2 that is added.
    """
    if below.dtype == np.object_:
        below = np.minimum(below, 10**300)
    exponent = below.astype(np.float64) * rate
    times = multiplicities.astype(np.float64)
    weight = np.exp(-exponent) * times
    scale = _TOTAL / float(weight.sum())
    weight *= scale
    weight *= 1 + _UNIT_ROUNDOFF * (_EXP_ERROR + 4 * exponent)
    envelope: NDArray[np.int64] = np.where(times > 0, np.floor(weight) + 2, 0).astype(np.int64)
    return envelope, Fraction(scale)


@dataclass(frozen=True)
class PrivateQuantiles:
    """Borders that split rows by cumulative shares, drawn with a total budget of ``epsilon``.

    Raises ``PlanError`` unless ``epsilon`` is above 0, shares ascend between 0 and 1, both
    excluded, and ``low`` is below ``high``.
    """

    shares: tuple[Fraction, ...]
    """Of rows below each of m borders, ascending."""
    low: int
    """Public bounds of the values, in steps of the grid, both inclusive."""
    high: int
    epsilon: Decimal
    change: Change = "add-remove"
    """Whether rows come and go between neighbours, or are replaced."""
    rows: int = 1
    """By how many rows neighbours differ; at least 1."""

    def __post_init__(self) -> None:
        edges = (Fraction(0), *self.shares, Fraction(1))
        if any(share >= following for share, following in pairwise(edges)):
            raise PlanError("cumulative shares must ascend between 0 and 1, both excluded")
        if self.low >= self.high:
            raise PlanError("the lower public bound must be below the upper one")
        if not self.epsilon > 0:
            raise PlanError(f"the epsilon of quantiles must be above 0, not {self.epsilon}")
        if self.rows < 1:
            raise PlanError(f"neighbours differ by at least one row, not {self.rows}")

    def sensitivity(self, share: Fraction) -> int:
        """By how much the utility of a border can differ between neighbours."""
        part, whole = share.numerator, share.denominator
        return self.rows * (whole if self.change == "replace" else max(part, whole - part))

    def draw(
        self, values: NDArray[np.int64], rows: NDArray[np.int64], words: Iterator[int]
    ) -> NDArray[np.int64]:
        """Borders in steps of the grid, shape (m,), ascending, from ``low`` + 1 to ``high``.

        A border r splits the rows into those below r and those from r on; two borders may be
        equal.  ``values`` are d values in steps, not descending, shape (d,), and are clamped to
        the bounds; ``rows`` the number of rows of each; ``words`` independent uniform words.
        """
        ends = np.clip(values, self.low, self.high)
        edges = np.concatenate(([self.low], ends, [self.high]))
        below = np.concatenate(([0], np.cumsum(rows)))
        borders = [self._border(share, edges, below, words) for share in self.shares]
        return np.sort(np.array(borders, dtype=np.int64))

    def _border(
        self,
        share: Fraction,
        edges: NDArray[np.int64],
        below: NDArray[np.int64],
        words: Iterator[int],
    ) -> int:
        """One border: gap i has the candidates edges[i] + 1 to edges[i + 1]."""
        part, whole = share.numerator, share.denominator
        total = int(below[-1])
        counts: NDArray[Any] = below if whole * total < _INT64_SAFE else below.astype(object)
        mechanism = ExponentialMechanism(
            Fraction(self.epsilon) / len(self.shares), Fraction(self.sensitivity(share))
        )
        sizes = np.diff(edges)
        gap = mechanism.draw(-abs(whole * counts - part * total), words, sizes)
        return int(edges[gap]) + 1 + _uniform_below(int(sizes[gap]), words)
