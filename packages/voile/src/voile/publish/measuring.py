"""Which tables are measured, what of the budget each gets, and the noisy counts.

Budget.  One-way tables share a tenth of it evenly, pairs the rest by a power of their numbers of
cells: with rho by cells^(2/3), which has the least sum of standard deviations over all cells for
Gaussian noise, and with pure epsilon by cells^(1/2), which has it for Laplace noise.  Weights are
whole numbers, rounded to a quarter of a power of two, so that shares are exact fractions and sum to
the budget exactly, and few different variances are drawn with.

Price.  Somebody's rows, at most m, change the cells of one table by m at most in all: squared, and
together, by m^2, where all of them stand in one cell; and the counts of several tables are several
vectors.  Discrete Gaussian noise of variance m^2 / (2 rho_t) on each cell of table t is
rho_t-zero-concentrated private, discrete Laplace noise of scale m / epsilon_t epsilon_t-private,
and both add up over tables (``voile.dp``).  A cell of a sum is changed by at most ``parts`` for
each row, so that the same holds with m times ``parts`` in place of m.  Proof:
``publish.dp_synthesis``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from itertools import combinations
from math import floor, log, log2, prod, sqrt
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from voile.dp.accounting import Neighbours, PrivacyEvent, epsilon_of, rho_within
from voile.dp.discrete_noise import DiscreteGaussian, DiscreteLaplace
from voile.schema.numbers import json_number, plain_text
from voile_base.errors import PlanError
from voile_base.randomness import Key

__all__ = [
    "Measured",
    "Measurements",
    "NoiseBudget",
    "TableShare",
    "measured",
    "proportion_of",
    "shared_evenly",
    "shares_of",
    "tables_of",
]

_DELTA = Decimal("1e-6")
"""At which the epsilon of a rho is stated where the plan names none."""
_DIGITS = 9
"""Of a converted epsilon as people read it, rounded upwards."""
_UP = Context(prec=15, rounding=ROUND_CEILING)
"""Digits of an epsilon that a number of JSON gives back."""
_ONE_WAY = Fraction(1, 10)
_LADDER = 4
"""Steps of a weight in a doubling."""

ColumnSet = tuple[int, ...]


@dataclass(frozen=True)
class NoiseBudget:
    """What noise may cost in all; neither a row nor a person enters."""

    rho: Fraction | None
    """None: pure."""
    epsilon: Decimal
    """Of rho at delta, or of pure noise."""
    delta: Decimal | None
    """None: pure."""

    @classmethod
    def of(
        cls, epsilon: Decimal | float | None, delta: Decimal | float | None, rho: str | None
    ) -> NoiseBudget:
        """The budget that a plan states; raises ``PlanError`` unless it is one of the two."""
        if (epsilon is None) == (rho is None):
            msg = "one of epsilon and rho is needed, and not both"
            raise PlanError(msg)
        at = None if delta is None else Decimal(delta)
        if rho is not None:
            exact, at = _fraction(rho), at or _DELTA
            return cls(exact, _UP.plus(epsilon_of(exact, at)), at)
        assert epsilon is not None
        whole = Decimal(epsilon)
        return cls(None if at is None else rho_within(whole, at), whole, at)

    @property
    def pure(self) -> bool:
        """Whether it is spent on Laplace noise, with no delta."""
        return self.rho is None

    @property
    def total(self) -> Fraction:
        """Rho or epsilon."""
        return Fraction(self.epsilon) if self.rho is None else self.rho

    @property
    def words(self) -> str:
        """What it promises."""
        if self.rho is None:
            return f"{plain_text(self.epsilon)}-differentially private"
        epsilon = Context(prec=_DIGITS, rounding=ROUND_CEILING).plus(self.epsilon)
        return (
            f"rho = {self.rho} zero-concentrated differentially private, "
            f"({plain_text(epsilon)}, {self.delta:.3g})-differentially private"
        )

    def document(self) -> Mapping[str, str | int | float | None]:
        """As ``release.json`` states it."""
        return {
            "epsilon": json_number(self.epsilon),
            "delta": None if self.delta is None else json_number(self.delta),
            "rho": None if self.rho is None else str(self.rho),
        }

    def events(self, neighbours: Neighbours) -> tuple[PrivacyEvent, ...]:
        """What a release spends."""
        if self.rho is None:
            return (PrivacyEvent("discrete-laplace", self.epsilon, neighbours=neighbours),)
        return (PrivacyEvent.concentrated("discrete-gaussian", self.rho, neighbours),)

    def narrower(self, tables: int, confidence: Decimal) -> NoiseBudget:
        """Itself, or its epsilon without delta, if that has narrower intervals of so many tables.

        A public rule: it knows how many tables share the budget evenly, and nothing of rows.
        """
        laplace = NoiseBudget(None, self.epsilon, None)
        if laplace.half_width(tables, confidence) < self.half_width(tables, confidence):
            return laplace
        return self

    def half_width(self, tables: float, confidence: Decimal) -> float:
        """Of an interval of a count, of so many tables that share the budget evenly."""
        if self.rho is None:
            return -tables / float(self.epsilon) * log(float(1 - confidence))
        quantile = NormalDist().inv_cdf(float((1 + confidence) / 2))
        return quantile * sqrt(tables / float(2 * self.rho))


@dataclass(frozen=True)
class TableShare:
    """One table, and what of a budget it gets."""

    columns: ColumnSet
    """By their places."""
    cells: int
    share: Fraction
    """Rho or epsilon."""
    pure: bool
    """Whether it is epsilon."""
    parts: int = 1
    """What one row changes a cell by at most: 1 of a count; see ``SumOfNumbers`` for sums."""

    def stated(self, rows: int) -> str:
        """The variance of Gaussian noise, or the scale of Laplace noise, as claims state it."""
        return str(self._noise(rows))

    def noise(self, rows: int) -> DiscreteGaussian | DiscreteLaplace:
        """The noise of each cell, where somebody has so many rows at most."""
        if self.pure:
            return DiscreteLaplace((self._noise(rows),))
        return DiscreteGaussian(self._noise(rows))

    def _noise(self, rows: int) -> Fraction:
        changed = Fraction(rows * self.parts)
        return changed / self.share if self.pure else changed**2 / (2 * self.share)


@dataclass(frozen=True, eq=False)
class Measured:
    """The noisy counts of one table, all that is known of it."""

    columns: ColumnSet
    counts: NDArray[np.int64]
    variance: Fraction
    """Of the noise of each cell: the parameter of the Gaussian, twice the squared Laplace scale."""


@dataclass(frozen=True, eq=False)
class Measurements:
    """All that leaves the private table: whatever is made of it costs nothing more."""

    sizes: tuple[int, ...]
    """Cells of each column."""
    tables: tuple[Measured, ...]

    @property
    def total(self) -> float:
        """How many rows there are, by all tables weighed by their precision; at least 1."""
        weights = np.array([float(1 / (it.variance * it.counts.size)) for it in self.tables])
        totals = np.array([float(it.counts.sum()) for it in self.tables])
        return max(float((weights * totals).sum() / weights.sum()), 1.0)


def tables_of(columns: int, together: Sequence[Sequence[int]] | None) -> list[ColumnSet]:
    """Each column by itself; then all pairs, or those that stand together in some set."""
    sets = [range(columns)] if together is None else together
    pairs = {tuple(sorted(pair)) for one in sets for pair in combinations(one, 2)}
    return [*((place,) for place in range(columns)), *sorted(pairs)]


def shares_of(
    tables: Sequence[ColumnSet], sizes: Sequence[int], budget: Fraction, *, pure: bool
) -> tuple[TableShare, ...]:
    """What each table gets; the sum is the budget exactly."""
    cells = [prod(sizes[place] for place in columns) for columns in tables]
    power = 1 / 2 if pure else 2 / 3
    weights = [
        1 if len(columns) == 1 else _rounded(count**power)
        for columns, count in zip(tables, cells, strict=True)
    ]
    single = [len(columns) == 1 for columns in tables]
    whole = {
        kind: sum(w for w, one in zip(weights, single, strict=True) if one is kind)
        for kind in (True, False)
    }
    parts = {True: _ONE_WAY if whole[False] else Fraction(1), False: 1 - _ONE_WAY}
    return tuple(
        TableShare(columns, count, budget * parts[one] * Fraction(weight, whole[one]), pure)
        for columns, count, weight, one in zip(tables, cells, weights, single, strict=True)
    )


def shared_evenly(
    tables: Sequence[ColumnSet],
    cells: Sequence[int],
    budget: NoiseBudget,
    parts: Sequence[int] | None = None,
    rest: Fraction = Fraction(1),
) -> tuple[TableShare, ...]:
    """The same for each table; the sum is the budget exactly, or ``rest`` of it.

    ``parts`` has what one row changes a cell of each by at most; None: 1, as of counts.
    """
    share = budget.total * rest / len(tables)
    return tuple(
        TableShare(columns, count, share, budget.pure, changed)
        for columns, count, changed in zip(tables, cells, parts or [1] * len(tables), strict=True)
    )


def proportion_of(text: str, key: str) -> Fraction:
    """A share of a budget, between 0 and 1, as plans state it; raises ``PlanError``."""
    try:
        share = Fraction(text)
    except (ValueError, ZeroDivisionError):
        share = Fraction(0)
    if not 0 < share < 1 or "e" in text.casefold():
        msg = f'{key} must be a fraction between 0 and 1 as a text, such as "1/10", not {text!r}'
        raise PlanError(msg)
    return share


def _fraction(text: str) -> Fraction:
    try:
        rho = Fraction(text)
    except (ValueError, ZeroDivisionError):
        rho = Fraction(0)
    if rho <= 0 or "e" in text.casefold():
        msg = f'rho must be a fraction above 0 as a text, such as "1/64" or "0.02", not {text!r}'
        raise PlanError(msg)
    return rho


def _rounded(weight: float) -> int:
    """A whole number within a tenth of 64 times the weight, one of few."""
    return floor(64 * 2 ** (round(_LADDER * log2(weight)) / _LADDER))


def measured(
    shares: Sequence[TableShare],
    counts: Sequence[NDArray[np.int64]],
    rows: int,
    key: Key,
) -> tuple[Measured, ...]:
    """The counts, or sums, with noise; all tables of one noise are drawn by one call.

    ``rows`` are those of a person that take part at most.  The word of a cell is its place among
    all cells of all tables, so no two share one.
    """
    first = np.cumsum([0, *(count.size for count in counts)])
    noise = np.zeros(int(first[-1]), dtype=np.int64)
    alike: dict[str, list[int]] = {}
    for place, one in enumerate(shares):
        alike.setdefault(one.stated(rows), []).append(place)
    for places in alike.values():
        words = np.concatenate([np.arange(first[it], first[it + 1]) for it in places])
        noise[words] = _drawn(shares[places[0]].noise(rows), words.astype(np.uint64), key)
    return tuple(
        Measured(
            one.columns,
            np.asarray(count + noise[first[it] : first[it + 1]].reshape(count.shape)),
            _variance_of(one, rows),
        )
        for it, (one, count) in enumerate(zip(shares, counts, strict=True))
    )


def _variance_of(share: TableShare, rows: int) -> Fraction:
    """Of the noise of each cell, as ``Measured`` states it."""
    noise = Fraction(share.stated(rows))
    return 2 * noise**2 if share.pure else noise


def _drawn(
    noise: DiscreteGaussian | DiscreteLaplace, words: NDArray[np.uint64], key: Key
) -> NDArray[np.int64]:
    if isinstance(noise, DiscreteGaussian):
        return noise.draw(words, key)
    return noise.draw(np.zeros(len(words), dtype=np.int64), words, key)
