"""Draws from categorical distributions with exactly the stated probabilities, for many rows.

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
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from voile_base.randomness import Key, parts

__all__ = ["Categorical"]

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
    def _of(cls, only: NDArray[Any], weights: NDArray[Any]) -> Self:
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
