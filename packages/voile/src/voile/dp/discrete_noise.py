"""Discrete Laplace and Gaussian noise for many rows at once, with exactly the stated distribution.

Numbers stand on a power-of-two grid, and noise is a whole number of its steps: what is promised of
integers holds of the numbers, and no rounding of binary fractions gives a value away.

Discrete Laplace noise
----------------------
What it does: draws integers Z with P(Z = z) proportional to exp(-|z| / t), the scale t being any
rational number.  An integer counts steps of a grid, so Z is noise on a power-of-two grid.

Source: the distribution is the two-sided geometric mechanism of Ghosh, Roughgarden, Sundararajan,
"Universally utility-maximizing privacy mechanisms" (STOC 2009).  That the binary digits of a
geometric variable are independent is folklore; the proof is below.

Guarantee: values that differ by at most s steps, s a whole number, are told apart with privacy
loss at most s / t.  The distribution is exact, given that the words of the key are uniform.  A
Laplace draw in floating point does not have this: which doubles it can return depends on the value
it is added to, so that its low bits give the value away (Mironov, CCS 2012).

Algorithm.  Let q = e^(-1/t).
1. Z = 0 with probability (1 - q)/(1 + q).  Otherwise |Z| = 1 + G, with a uniform sign, where
   P(G = g) = (1 - q) q^g.  Proof: P(Z = z) = (2q/(1 + q)) (1/2) (1 - q) q^(|z| - 1)
   = ((1 - q)/(1 + q)) q^|z|, which is the distribution.
2. The binary digits of G are independent.  Proof: g = sum of g_i 2^i, so that q^g is the product
   of q^(g_i 2^i), one factor for each digit.  Hence digit i is 1 with probability
   q^(2^i) / (1 + q^(2^i)) = 1 / (1 + e^(2^i / t)).
3. Digits 0 to I - 1 are drawn one by one.  The rest, floor(G / 2^I), is geometric with ratio
   q^(2^I) and independent of them.  I is chosen so that this ratio is below 2^-64: the rest is
   above 0 with that probability, and then an exact and slow path counts successes of a coin of
   probability q^(2^I) until the first failure.
4. Every coin of 1 to 3 is a lane of a word of 64 bits.  A coin of probability p shows u < p for
   a uniform u; the binary digits of u and p are compared from the first on, all lanes at once,
   until the last lane is decided.  Digits of p are exact (``voile.dp.exact``) and computed as far
   as any lane needs them.

The draw of a row is a function of the key and of the row's word alone.  Results are clamped to 64
bits, which is post-processing and happens with probability below 2^-500.

Cost: some 50 ns a value on one core, of which 4 or 5 blocks of AES take 15; 1 ms to prepare a
distribution.

Departure from the source: none in the distribution.  Known samplers draw one value at a time, with
a number of coins that depends on it.

How far discrete Laplace noise goes
-----------------------------------
What it does: for noise Z with P(Z = z) proportional to q^|z|, q = e^(-1/t), answers which radius
holds with a confidence, and which scale or epsilon has a radius.  All in steps of a grid.

Two promises are told apart.  With two sides the noise stays within the radius in both directions:
P(|Z| <= r) >= c.  Then an upper end "value + r" is right with probability (1 + c)/2 or so.  With
one side only that is promised: P(Z <= r) >= c.

Claim: answers are exact.  P(|Z| > r) = 2 q^(r + 1) / (1 + q), and P(Z > r) is half of it; which of
two such numbers is larger is decided in exact arithmetic.  On a fine grid the radius tends to
t ln(sides / (2 (1 - c))), which for continuous noise of scale b = sensitivity/epsilon is the
-b ln(1 - c) of two sides, and b ln(1/(2 (1 - c))) of one.

Cost: a millisecond an answer.

The grid
--------
What it does: rounds exact numbers to whole multiples of 2^exponent, so that noise can be drawn
from the integers, and turns them back without loss.

How rounding is accounted: a number becomes floor(x / step + 1/2), halves upwards.  For numbers
that differ by at most D, the results differ by at most ceil(D / step) steps: with x <= y <= x + D
the rounded y is at most floor(x/step + 1/2 + ceil(D/step)).  So the sensitivity in steps is
``steps(D)``, with nothing to add.  (Rounding halves to the even would break this: 0.5 and 1.5 are
one apart and become 0 and 2.)  Rounding never swaps two numbers, so numbers clamped to [low, high]
stay within the rounded ends: there the sensitivity is unit(high) - unit(low), which may be less.

A grid is fine enough when one step is at most 2^-10 of the scale of the noise: rounding then
adds an error below a thousandth of the noise.  It is chosen from public facts only.

Cost: some 10 ns a number where 64 bits hold the products, a microsecond elsewhere.

Discrete Gaussian noise
-----------------------
What it does: draws integers Z with P(Z = z) proportional to exp(-z^2 / (2 v)), the variance
parameter v being any rational number.

Source: Canonne, Kamath and Steinke, "The discrete Gaussian for differential privacy" (NeurIPS
2020), Algorithm 3.

Guarantee: a vector of whole numbers whose squared Euclidean distance between neighbours is at most
s, each number with noise of its own, is rho-zero-concentrated differentially private with rho =
s / (2 v) (their Theorem 4; ``voile.dp.accounting`` adds such rhos up and converts them).  The
distribution is exact, given that the words of the key are uniform; floating point has no part in
which noise a cell gets, but for speed where its digits are certain.

Algorithm.  With t = floor(sqrt(v)) + 1, a discrete Laplace draw Y of scale t (as above)
is accepted with probability exp(-(|Y| - v/t)^2 / (2 v)), else drawn again.  P(Y = y and accepted)
is proportional to exp(-|y|/t - y^2/(2v) + |y|/t - v/(2t^2)), which is the distribution up to a
constant.  The coin of a row compares a word of 64 bits with the first 64 binary digits of the
probability, which are computed exactly once for each size of Y that occurs; where all 64 agree,
which has a probability of 2^-64, an exact and slow path goes on.

The draw of a row is a function of the key and of the row's word alone.

Cost: less than two rounds of discrete Laplace draws a value on average (the acceptance is above
.66), and 15 microseconds for each size of Y that occurs, of which there are some 20 sqrt(v).

Departure from the source: rounds for all rows at once, each with a key of its own.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from functools import cached_property, partial
from typing import Any, Literal, Self

import numpy as np
from numpy.typing import NDArray

from voile.dp.exact import bernoulli, decay, leading_digits, positive, uniform_words
from voile.schema.numbers import ExactNumbers
from voile_base.errors import PlanError
from voile_base.ondemand import dataclass
from voile_base.randomness import Key, parts

__all__ = ["DiscreteGaussian", "DiscreteLaplace", "Grid", "Sides", "epsilon_for", "radius"]

Sides = Literal[1, 2]

_SCALE_DIGITS = 40  # binary ones
_EPSILON_DIGITS = 12  # decimal ones


def radius(scale: Fraction, confidence: Decimal, sides: Sides = 2) -> int:
    """The smallest r >= 0 that noise of this scale keeps to with this confidence.

    Raises ``ValueError`` unless 0 <= confidence < 1.
    """
    if not 0 <= confidence < 1:
        raise ValueError("the confidence must be at least 0 and below 1")
    miss = 1 - Fraction(confidence)
    if not _exceeds(scale, 0, miss, sides):
        return 0
    low, high = 0, 1
    while _exceeds(scale, high, miss, sides):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _exceeds(scale, middle, miss, sides) else (low, middle)
    return high


def _scale_for(radius: int, confidence: Decimal, sides: Sides = 2) -> Fraction:
    """The largest scale whose radius is at most ``radius``, to 12 digits and rounded down.

    Raises ``ValueError`` unless ``radius`` >= 0 and 0 < confidence < 1; with one side, 1/2 <
    confidence < 1, since noise of any scale is at most 0 half of the time.
    """
    if radius < 0 or not 1 - Fraction(sides, 2) < confidence < 1:
        raise ValueError("the radius must be at least 0, and the confidence within its limits")
    miss = 1 - Fraction(confidence)
    low, high = Fraction(0), Fraction(1)
    while not _exceeds(high, radius, miss, sides):
        low, high = high, 2 * high
    while high - low > high / 2**_SCALE_DIGITS:
        middle = (low + high) / 2
        low, high = (low, middle) if _exceeds(middle, radius, miss, sides) else (middle, high)
    return low


def epsilon_for(sensitivity: int, radius: int, confidence: Decimal, sides: Sides = 2) -> Decimal:
    """The smallest epsilon whose noise has this radius, to 12 digits and rounded up.

    ``sensitivity`` is in steps of the grid.  Noise of scale sensitivity/epsilon keeps the promise.
    Raises ``ValueError`` as ``_scale_for`` does.
    """
    least = sensitivity / _scale_for(radius, confidence, sides)
    up = Context(prec=_EPSILON_DIGITS, rounding=ROUND_CEILING)
    return up.divide(Decimal(least.numerator), Decimal(least.denominator))


def _exceeds(scale: Fraction, radius: int, miss: Fraction, sides: int) -> bool:
    """Whether the noise leaves the radius with a probability above ``miss``."""
    if scale == 0:
        return False

    def difference(digits: int) -> tuple[Fraction, Fraction]:
        low, high = decay(1 / scale, digits)
        far_low, far_high = decay((radius + 1) / scale, digits)
        return sides * far_low - miss * (1 + high), sides * far_high - miss * (1 + low)

    return positive(difference)


_LARGEST_SCALE = 2**54
_TAIL = 45  # e^-45 < 2^-64
_SIGN, _NONZERO, _REST = 61, 62, 63  # lanes beside those of the digits of G, from 0 on
_MAGNITUDE = np.uint64(2**_SIGN - 1)
_PREPARED = 64  # binary digits of each probability
_BLOCKS = 4  # of 128 bits before rows whose lanes are all decided are put aside
_REST_COUNTER = 2**62  # first counter of the slow path
_LARGEST = 2**63 - 1


@dataclass(frozen=True)
class DiscreteLaplace:
    """c discrete Laplace distributions: P(z) proportional to exp(-abs(z) / scale) on the integers.

    Raises ``PlanError`` for a scale below 0, or of 2**54 steps and more.
    """

    scales: tuple[Fraction, ...]
    """Scale of each distribution in steps of the grid; 0 stands for no noise."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "scales", tuple(Fraction(scale) for scale in self.scales))
        if not all(0 <= scale < _LARGEST_SCALE for scale in self.scales):
            msg = "a scale of noise must be at least 0 and below 2**54 steps; use a coarser grid"
            raise PlanError(msg)

    def draw(
        self, distribution: NDArray[np.integer], words: NDArray[np.uint64], key: Key
    ) -> NDArray[np.int64]:
        """Noise in steps of the grid for n rows, shape (n,), by each row's distribution, below c.

        ``words`` are the identities of the rows, shape (n,): rows with one word draw alike.  A key
        serves one column of one release; ``Categorical.draw`` may share it.
        """
        noise = np.empty(len(words), dtype=np.int64)
        for part in parts(len(words)):
            noise[part] = self._draw_part(distribution[part].astype(np.intp), words[part], key)
        return noise

    def radius(self, confidence: Decimal, *, sides: Sides = 2) -> tuple[int, ...]:
        """By distribution, the smallest r >= 0 such that P(abs(Z) <= r) >= confidence, exactly.

        With one side the promise is P(Z <= r) >= confidence.  Raises ``ValueError`` unless
        0 <= confidence < 1.
        """
        return tuple(radius(scale, confidence, sides) for scale in self.scales)

    @cached_property
    def _digits(self) -> NDArray[np.uint64]:
        """Shape (64, c): the first binary digits of the probabilities of all lanes."""
        digits = [_digit_words(scale, 0, _PREPARED) for scale in self.scales]
        return np.array(digits, dtype=np.uint64).T.copy()

    @cached_property
    def _lanes(self) -> NDArray[np.uint64]:
        """Shape (c,): the lanes that have to be compared."""
        return np.array([_lane_mask(scale) for scale in self.scales], dtype=np.uint64)

    def _digits_of(self, turn: int) -> NDArray[np.uint64]:
        """Shape (c,): the binary digits that are compared in one turn."""
        if turn < len(self._digits):
            prepared: NDArray[np.uint64] = self._digits[turn]
            return prepared
        return np.array([_digit_words(t, turn, 1)[0] for t in self.scales], dtype=np.uint64)

    def _draw_part(
        self, distribution: NDArray[np.intp], words: NDArray[np.uint64], key: Key
    ) -> NDArray[np.int64]:
        lanes = self._toss(distribution, words, key)
        noise = (lanes & _MAGNITUDE).astype(np.int64)
        noise += 1
        noise *= _lane(lanes, _NONZERO)
        sign = _lane(lanes, _SIGN)
        np.negative(noise, out=noise, where=sign.astype(np.bool_))
        for row in np.flatnonzero(lanes >> np.uint64(_REST)):
            if noise[row] != 0:
                stream = _slow_words(key, words[row : row + 1])
                noise[row] = _with_rest(int(noise[row]), self.scales[distribution[row]], stream)
        return noise

    def _toss(
        self, distribution: NDArray[np.intp], words: NDArray[np.uint64], key: Key
    ) -> NDArray[np.uint64]:
        """All coins of n rows, shape (n,): a word of 64 lanes for each row."""
        shown = np.zeros(len(words), dtype=np.uint64)
        rows: NDArray[np.intp] | slice = slice(None)
        undecided = self._lanes.take(distribution)
        turn = 0
        while True:
            heads = np.zeros(len(words), dtype=np.uint64)
            for _ in range(_BLOCKS):
                blocks = key.blocks(words, turn // 2)
                if turn == 0:
                    heads |= blocks[:, 0] & np.uint64(1 << _SIGN)
                for half in (0, 1):
                    expected = self._digits_of(turn).take(distribution)
                    # u and p part at the first digit where they differ; u < p if it is p's.
                    parted = blocks[:, half] ^ expected
                    parted &= undecided
                    undecided ^= parted
                    parted &= expected
                    heads |= parted
                    turn += 1
            shown[rows] |= heads
            left = np.flatnonzero(undecided)
            if len(left) == 0:
                return shown
            rows = left if isinstance(rows, slice) else rows[left]
            distribution, words, undecided = distribution[left], words[left], undecided[left]


def _lane(lanes: NDArray[np.uint64], lane: int) -> NDArray[np.int64]:
    return ((lanes >> np.uint64(lane)) & np.uint64(1)).astype(np.int64)


def _digit_count(scale: Fraction) -> int:
    """I, the number of binary digits of G with a lane of their own: the least with 2^I >= 45 t."""
    return (-(-_TAIL * scale.numerator // scale.denominator) - 1).bit_length() if scale else 0


def _lane_mask(scale: Fraction) -> int:
    if scale == 0:
        return 0
    return (1 << _digit_count(scale)) - 1 | 1 << _NONZERO | 1 << _REST


def _probability(scale: Fraction, lane: int, digits: int) -> tuple[Fraction, Fraction]:
    """Bounds of the probability that a lane shows heads."""
    if lane == _REST:
        return decay(2 ** _digit_count(scale) / scale, digits)
    if lane == _NONZERO:
        low, high = decay(1 / scale, digits)
        return 2 * low / (1 + low), 2 * high / (1 + high)
    low, high = decay(2**lane / scale, digits)
    return low / (1 + low), high / (1 + high)


def _digit_words(scale: Fraction, first: int, count: int) -> list[int]:
    """Digits from ``first`` on of the probabilities of all lanes: ``count`` words."""
    words = [0] * count
    mask = _lane_mask(scale)
    for lane in (lane for lane in range(64) if mask >> lane & 1):
        digits = leading_digits(partial(_probability, scale, lane), first + count)
        for index in range(count):
            words[count - 1 - index] |= (digits >> index & 1) << lane
    return words


def _slow_words(key: Key, word: NDArray[np.uint64]) -> Iterator[int]:
    """Uniform words for the slow path of the row with this word, shape (1,)."""
    for counter in itertools.count(_REST_COUNTER):
        yield from key.blocks(word, counter)[0].tolist()


def _with_rest(noise: int, scale: Fraction, words: Iterator[int]) -> int:
    """The draw of a row whose first I digits gave ``noise``, given that the rest is above 0."""
    rest = 1  # a geometric variable that is above 0 is 1 plus another one
    while bernoulli(partial(_probability, scale, _REST), words):
        rest += 1
    size = min(abs(noise) + (rest << _digit_count(scale)), _LARGEST)
    return size if noise > 0 else -size


_FINENESS = 10
_SAFE = 2**62


@dataclass(frozen=True)
class Grid:
    """All whole multiples of 2**exponent."""

    exponent: int

    @classmethod
    def finer_than(cls, scale: Fraction) -> Self:
        """The coarsest grid whose step is at most ``scale`` / 2**10; ``scale`` is above 0."""
        bits = scale.numerator.bit_length() - scale.denominator.bit_length()
        power = bits if scale >= _power(bits) else bits - 1  # 2**power <= scale < 2**(power + 1)
        return cls(power - _FINENESS)

    @property
    def step(self) -> Fraction:
        """The distance between neighbours."""
        return _power(self.exponent)

    def unit(self, number: Fraction | Decimal | int) -> int:
        """The multiple nearest to a number, in steps; halves are rounded upwards."""
        return (Fraction(number) / self.step + Fraction(1, 2)).__floor__()

    def steps(self, distance: Fraction | Decimal | int) -> int:
        """By how many steps two numbers at most ``distance`` apart differ, once rounded."""
        return (Fraction(distance) / self.step).__ceil__()

    def number(self, unit: int) -> Decimal:
        """The number of a multiple, exactly."""
        if self.exponent >= 0:
            return Decimal(unit << self.exponent)
        # 2^-e = 5^e / 10^e
        digits = tuple(map(int, str(abs(unit) * 5**-self.exponent)))
        return Decimal((int(unit < 0), digits, self.exponent))

    def units(self, numbers: ExactNumbers) -> NDArray[np.int64]:
        """The multiples nearest to n numbers, shape (n,), in steps.

        Raises ``PlanError`` where one is 2**62 steps or more away from 0.
        """
        # number = units / 10^scale = (units * factor / divisor) steps
        factor = 2 ** max(-self.exponent, 0)
        divisor = 10**numbers.scale * 2 ** max(self.exponent, 0)
        if not len(numbers):
            return np.empty(0, dtype=np.int64)
        largest = max(-int(numbers.units.min()), int(numbers.units.max()))
        if largest * factor // divisor + 1 >= _SAFE:
            msg = "the numbers are too large for a grid this fine; allow more noise or clamp them"
            raise PlanError(msg)
        units: NDArray[Any] = numbers.units
        if units.dtype != np.int64 or 2 * divisor * factor >= _SAFE:
            units = units.astype(object)
        whole, rest = units // divisor, units % divisor
        rounded: NDArray[np.int64] = (
            whole * factor + (2 * factor * rest + divisor) // (2 * divisor)
        ).astype(np.int64)
        return rounded


def _power(exponent: int) -> Fraction:
    return Fraction(2) ** exponent


_LARGEST_VARIANCE = 2**40
_WORD = 64
_ACCEPT, _LAPLACE, _SLOW = "accept", "laplace", "slow"


@dataclass(frozen=True)
class DiscreteGaussian:
    """One distribution: P(z) proportional to exp(-z^2 / (2 ``variance``)) on the integers.

    Raises ``PlanError`` for a variance below 0, or of 2**40 and more.
    """

    variance: Fraction
    """The parameter v, which the variance of the noise falls short of by next to nothing; 0 stands
    for no noise."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "variance", Fraction(self.variance))
        if not 0 <= self.variance < _LARGEST_VARIANCE:
            msg = "a variance of noise must be at least 0 and below 2**40; use a coarser grid"
            raise PlanError(msg)

    @property
    def deviation(self) -> float:
        """The square root of the variance."""
        return math.sqrt(self.variance)

    def draw(self, words: NDArray[np.uint64], key: Key) -> NDArray[np.int64]:
        """Noise for n rows or cells, shape (n,), by their words; rows with one word draw alike.

        A key serves one table of one release.
        """
        noise = np.zeros(len(words), dtype=np.int64)
        if not self.variance:
            return noise
        rows = np.arange(len(words))
        laplace = DiscreteLaplace((Fraction(self._scale),))
        known: dict[int, int] = {}
        turn = 0
        while len(rows):
            drawn = key.within(f"{turn}")
            some = words[rows]
            proposed = laplace.draw(np.zeros(len(rows), np.int64), some, drawn.within(_LAPLACE))
            accepted = self._accept(np.abs(proposed), some, drawn, known)
            noise[rows[accepted]] = proposed[accepted]
            rows = rows[~accepted]
            turn += 1
        return noise

    @property
    def _scale(self) -> int:
        """t, the scale of the discrete Laplace draws: floor(sqrt(v)) + 1."""
        return math.isqrt(math.floor(self.variance)) + 1

    def _accept(
        self, size: NDArray[np.int64], words: NDArray[np.uint64], key: Key, known: dict[int, int]
    ) -> NDArray[np.bool_]:
        """Which of n draws are accepted, shape (n,), by their sizes."""
        sizes, place = np.unique(size, return_inverse=True)
        for one in sizes.tolist():
            if one not in known:
                known[one] = self._digits(one)
        digits = np.array([known[one] for one in sizes.tolist()], dtype=np.uint64)[place]
        coins = key.within(_ACCEPT).blocks(words, 0)[:, 0]
        accepted = coins < digits
        for row in np.flatnonzero(coins == digits).tolist():
            accepted[row] = self._tie(int(size[row]), int(words[row]), key)
        return np.asarray(accepted)

    def _digits(self, size: int) -> int:
        """The first 64 binary digits of the probability that a draw of this size is accepted."""
        if self._exponent(size) == 0:
            return int(2**_WORD) - 1  # certain; a coin of 64 ones ties, and is accepted there
        return leading_digits(partial(self._probability, size), _WORD)

    def _tie(self, size: int, word: int, key: Key) -> bool:
        """The outcome where the first 64 digits of coin and probability agree."""
        if self._exponent(size) == 0:
            return True
        words = uniform_words(key.within(_SLOW, f"{word}"))

        def rest(digits: int) -> tuple[Fraction, Fraction]:
            """Bounds of the digits after the 64 that agree, as a probability."""
            low, high = self._probability(size, digits + _WORD)
            first = self._digits(size)
            return max(low * 2**_WORD - first, Fraction(0)), min(
                high * 2**_WORD - first, Fraction(1)
            )

        return bernoulli(rest, words)

    def _probability(self, size: int, digits: int) -> tuple[Fraction, Fraction]:
        return decay(self._exponent(size), digits)

    def _exponent(self, size: int) -> Fraction:
        """(|Y| - v / t)^2 / (2 v)."""
        return (size - self.variance / self._scale) ** 2 / (2 * self.variance)
