"""Items by their weight, patterns (how many of each weight one bin holds), and prices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from voile_pack.instance import Instance

__all__ = ["Demand", "Pattern", "Prices", "Relaxation"]

Pattern = NDArray[np.int64]
"""(m,): how many items of each type a bin holds."""


@dataclass(frozen=True, eq=False)
class Demand:
    """How many items there are of each of m types: ``weights`` (m,) descending, ``counts`` (m,)."""

    weights: NDArray[np.int64]
    counts: NDArray[np.int64]
    capacity: int

    @classmethod
    def of(cls, core: Instance) -> Demand:
        """The items of an instance, whose weights are positive."""
        weights, counts = np.unique(core.weights, return_counts=True)
        return cls(weights[::-1].copy(), counts[::-1].astype(np.int64), core.capacity)

    @property
    def items(self) -> int:
        """How many items there are."""
        return int(self.counts.sum())

    def without(self, patterns: Sequence[Pattern]) -> Demand:
        """What is left when bins are packed by these patterns; types without items stay."""
        return Demand(self.weights, self.counts - sum(patterns, np.int64(0)), self.capacity)

    def present(self) -> tuple[Demand, NDArray[np.int64]]:
        """Only the types that have items, and which those are."""
        types = np.flatnonzero(self.counts)
        return Demand(self.weights[types], self.counts[types], self.capacity), types

    def core(self) -> Instance:
        """The items as an instance, weights descending."""
        return Instance(np.repeat(self.weights, self.counts), self.capacity)

    def patterns_of(self, bin_of: NDArray[np.int64]) -> list[Pattern]:
        """A packing of ``core()`` as patterns."""
        table = np.zeros((int(bin_of.max(initial=-1)) + 1, len(self.weights)), np.int64)
        np.add.at(table, (bin_of, np.repeat(np.arange(len(self.weights)), self.counts)), 1)
        return list(table)

    def bins_of(self, patterns: Sequence[Pattern]) -> NDArray[np.int64]:
        """The bin (n,) of each item of ``core()``, given patterns that hold at least all items.

        Patterns that hold no item any more, because others hold them all, get no bin.
        """
        left = self.counts.copy()
        next_item = np.cumsum(self.counts) - self.counts
        bin_of = np.full(self.items, -1, np.int64)
        number = 0
        for pattern in patterns:
            taken = np.minimum(pattern, left)
            for kind in np.flatnonzero(taken).tolist():
                bin_of[next_item[kind] : next_item[kind] + taken[kind]] = number
                next_item[kind] += taken[kind]
            left -= taken
            number += bool(taken.any())
        assert not left.any(), "the patterns leave items unpacked"
        return bin_of


@dataclass(frozen=True, eq=False)
class Prices:
    """Prices of the types (m,), and what no pattern exceeds: together a proof of the bound."""

    prices: NDArray[np.int64]
    pattern_at_most: int

    def total(self, demand: Demand) -> int:
        """What all items of ``demand`` are worth."""
        return sum(map(int.__mul__, self.prices.tolist(), demand.counts.tolist()))

    def missing(self, demand: Demand, bins: int) -> int:
        """What the items of ``demand`` leave of what so many bins are worth at most."""
        return bins * self.pattern_at_most - self.total(demand)

    def bound(self, demand: Demand) -> int:
        """How many bins the items of ``demand`` need at least."""
        return -(-self.total(demand) // self.pattern_at_most)


@dataclass(frozen=True, eq=False)
class Relaxation:
    """What the linear programme told.

    ``columns`` is (p, m): a pattern in each row, used ``amounts`` (p,) times; ``solved`` is
    False where time ran out before the optimum of the programme.
    """

    prices: Prices
    bound: int
    columns: NDArray[np.int64]
    amounts: NDArray[np.float64]
    solved: bool
