"""Discrete Laplace noise for many rows at once, with exactly the stated distribution.

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
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from voile.dp.accuracy import Sides, radius
from voile.dp.exact import bernoulli, decay, leading_digits
from voile_base.errors import PlanError
from voile_base.randomness import Key, parts

__all__ = ["DiscreteLaplace"]

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
