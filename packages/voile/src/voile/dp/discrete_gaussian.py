"""Discrete Gaussian noise for many cells at once, with exactly the stated distribution.

What it does: draws integers Z with P(Z = z) proportional to exp(-z^2 / (2 v)), the variance
parameter v being any rational number.

Source: Canonne, Kamath and Steinke, "The discrete Gaussian for differential privacy" (NeurIPS
2020), Algorithm 3.

Guarantee: a vector of whole numbers whose squared Euclidean distance between neighbours is at most
s, each number with noise of its own, is rho-zero-concentrated differentially private with rho =
s / (2 v) (their Theorem 4; ``voile.dp.zcdp`` adds such rhos up and converts them).  The
distribution is exact, given that the words of the key are uniform; floating point has no part in
which noise a cell gets, but for speed where its digits are certain.

Algorithm.  With t = floor(sqrt(v)) + 1, a discrete Laplace draw Y of scale t (``discrete_laplace``)
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

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

import numpy as np
from numpy.typing import NDArray

from voile.dp.discrete_laplace import DiscreteLaplace
from voile.dp.exact import bernoulli, decay, leading_digits, uniform_words
from voile_base.errors import PlanError
from voile_base.randomness import Key

__all__ = ["DiscreteGaussian"]

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
