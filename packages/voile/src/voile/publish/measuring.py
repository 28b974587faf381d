"""Which tables are measured, what of the budget each gets, the noisy counts, bounds from them.

Budget.  One-way tables share a tenth of it evenly, pairs the rest by a power of their numbers of
cells: with rho by cells^(2/3), which has the least sum of standard deviations over all cells for
Gaussian noise, and with pure epsilon by cells^(1/2), which has it for Laplace noise.  Weights are
whole numbers, rounded to a quarter of a power of two, so that shares are exact fractions and sum to
the budget exactly, and few different variances are drawn with.  Tables that are published at all
levels share it evenly, or by the weights by which their cells err least (``weights_for_cells``).

Price.  Somebody's rows, at most m, change the cells of one table by m at most in all: squared, and
together, by m^2, where all of them stand in one cell; and the counts of several tables are several
vectors.  Discrete Gaussian noise of variance m^2 / (2 rho_t) on each cell of table t is
rho_t-zero-concentrated private, discrete Laplace noise of scale m / epsilon_t epsilon_t-private,
and both add up over tables (``voile.dp``).  A cell of a sum is changed by at most ``parts`` for
each row, so that the same holds with m times ``parts`` in place of m.  Proof:
``publish.dp_synthesis``.

Bounds of numbers that nobody knows publicly
--------------------------------------------
They are found privately at a stated share of the budget.

[method]
    find_bounds  = ["income"]     # instead of bounds and edges in [columns.income]
    bounds_share = "1/10"         # of the budget, for all of these columns together

Mechanism.  Every column is counted over one public ladder of ranges, whose borders are 0 and 1, 2
and 5 times the powers of ten from a hundredth to five thousand millions, of either sign; the counts
get the noise of a table that has its share of the budget.  What follows is made of these noisy
counts and the number of rows: the bounds are those of the outermost ranges whose count is too large
for noise to reach in one of twenty searches, and the edges are where the noisy counts between them
reach twentieths of their sum, within a range in proportion, rounded to two digits.

Price: that of a one-way table (``publish.measuring``).  Rows that are counted afterwards, over the
bounds that were found, pay by the rest; both add up to the budget exactly.  Adaptive: the domain of
the second count follows from the first, to which composition of either kind of privacy extends (Bun
and Steinke 2016, Lemma 1.7; Dwork and Roth 2014, Theorem 3.16).

Nothing is refused that depends on rows: where noise covers every range, all of the ladder remains.

Source of the idea: histograms over a geometric ladder find ranges without prior knowledge (Smith,
"Privacy-preserving statistical estimation with optimal convergence rates", STOC 2011); the counts
are those of any table here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import ROUND_CEILING, Context, Decimal
from fractions import Fraction
from itertools import combinations, product
from math import floor, log, log2, log10, prod, sqrt
from statistics import NormalDist
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from voile.dp.accounting import Neighbours, PrivacyEvent, epsilon_of, rho_within
from voile.dp.discrete_noise import DiscreteGaussian, DiscreteLaplace
from voile.publish.contribution import Contribution
from voile.release.method_claims import MeasuredTable
from voile.schema.domain import ColumnDomain, public_domain
from voile.schema.numbers import json_number, plain_text
from voile.schema.plan import ColumnPlan, Plan
from voile.table.private import PrivateTable
from voile_base.errors import PlanError
from voile_base.ondemand import dataclass
from voile_base.randomness import Key, Randomness
from voile_base.values.value import Says, Several

__all__ = [
    "NO_SEARCH",
    "BoundsSearch",
    "BoundsShare",
    "FindBounds",
    "Measured",
    "Measurements",
    "NoiseBudget",
    "TableShare",
    "measured",
    "shares_of",
    "tables_of",
    "weights_for_cells",
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

_FINEST_WEIGHT, _POWERS = 4096, (0.0, 1 / 2, 2 / 3, 1.0, 2.0, 4.0, 8.0)
"""Weights of tables are whole parts of that of the finest, by powers of their numbers of cells."""
_MOST_PAIRS = 4_000_000
"""Of tables and effects, whose errors are compared."""

ColumnSet = tuple[int, ...]
Levels = tuple[int, ...]
"""Of the columns of a table, 0 the finest."""


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
            msg = (
                "one of epsilon and rho is needed, and not both: say epsilon = 1 and delta = 1e-6, "
                'or rho = "1/64"'
            )
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


def weights_for_cells(
    tables: Sequence[tuple[ColumnSet, Levels]], widths: Sequence[Sequence[int]], *, pure: bool
) -> tuple[tuple[int, ...], float]:
    """Weights of tables by which their cells err least, all of them together; and that error.

    ``widths`` has the cells of each column at each of its levels, the finest first.  The
    error is the mean over all cells of all tables of the standard deviation of a consistent
    estimate, at an epsilon of 1, or at a rho of 1/2.  Weights are powers of numbers of cells, of
    which the best of a few is taken; even weights are among them.

    Estimates from all tables together are those of generalized least squares.  Where the groups of
    a level are equally large, they divide into effects, one for each choice of a level, or of no
    value, in every column: a table tells of the effects that are as coarse as it is or coarser, and
    so of each with the precision (N / n) / v, n being its cells, v its noise and N all cells.
    Groups of different sizes make this an approximation.

    Cost: tables times effects, for each of seven powers; where these are above four millions, the
    finest tables get nearly all.
    """
    columns = sorted({at for one, _ in tables for at in one})
    absent = {at: len(widths[at]) for at in columns}
    own = np.array(
        [[dict(zip(*key, strict=True)).get(at, absent[at]) for at in columns] for key in tables],
        dtype=np.int64,
    ).reshape(len(tables), len(columns))
    sizes = np.array([_product(widths, columns, of) for of in own.tolist()])
    effects = _effects(tables, absent, columns)
    if len(effects) * len(tables) > _MOST_PAIRS:
        return _by_power(sizes, _POWERS[-1]), float("inf")
    tells = (own[:, None, :] <= effects[None, :, :]).all(axis=2)
    free = np.array([_freedom(widths, columns, of) for of in effects.tolist()])
    found = []
    for power in _POWERS:
        weights = _by_power(sizes, power)
        shares = np.array(weights) / sum(weights)
        noise = 2 / shares**2 if pure else 1 / shares
        precision = (tells / (sizes * noise)[:, None]).sum(axis=0)
        variance = (tells * (free / precision)[None, :]).sum(axis=1) / sizes**2
        found.append((weights, float((sizes * np.sqrt(variance)).sum() / sizes.sum())))
    return min(found, key=lambda one: one[1])


def _effects(
    tables: Sequence[tuple[ColumnSet, Levels]], absent: Mapping[int, int], columns: Sequence[int]
) -> NDArray[np.int64]:
    """All that some table tells of: a level of each column, or no value of it."""
    found: dict[Levels, None] = {}
    for one in dict.fromkeys(of for of, _ in tables):
        steps = (
            range(absent[at] + 1) if at in one else range(absent[at], absent[at] + 1)
            for at in columns
        )
        found |= dict.fromkeys(product(*steps))
        if len(found) * len(tables) > _MOST_PAIRS:
            break
    return np.array([*found], dtype=np.int64).reshape(len(found), len(columns))


def _product(
    widths: Sequence[Sequence[int]], columns: Sequence[int], levels: Sequence[int]
) -> float:
    pairs = zip(columns, levels, strict=True)
    return float(prod(([*widths[at], 1])[level] for at, level in pairs))


def _freedom(
    widths: Sequence[Sequence[int]], columns: Sequence[int], levels: Sequence[int]
) -> float:
    """Of an effect: what its level of each column has more than the next coarser one."""
    stated = [([*widths[at], 1, 0], level) for at, level in zip(columns, levels, strict=True)]
    return float(prod(of[level] - of[level + 1] for of, level in stated))


def _by_power(sizes: NDArray[np.float64], power: float) -> tuple[int, ...]:
    parts = _FINEST_WEIGHT * (sizes / sizes.max()) ** power
    return tuple(max(1, floor(part)) for part in parts.tolist())


def _proportion_of(text: str, key: str) -> Fraction:
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


FindBounds = Annotated[
    Several[str], Says('a list of names of columns of numbers, such as ["income"]')
]
BoundsShare = Annotated[
    str, Field(min_length=1), Says('a share of the budget as a text, for example "1/10"')
]

_STEPS = [Decimal(step).scaleb(ten) for ten in range(-2, 10) for step in (1, 2, 5)]
_BORDERS = (*(-step for step in reversed(_STEPS)), Decimal(0), *_STEPS)
_RANGES = 20
"""That are made between the bounds at most."""
_FALSE_ALARM = 0.05
"""The chance that noise alone lets some empty range count."""


@dataclass(frozen=True)
class BoundsSearch:
    """The columns whose bounds are found, and what of the budget that costs; public."""

    columns: tuple[str, ...] = ()
    share: Fraction = Fraction(0)
    """Of the budget, for all of them; 0 where there are none."""

    @classmethod
    def of(cls, plan: Plan, columns: Sequence[str], share: str) -> BoundsSearch:
        """What a plan asks for; raises ``PlanError``, and knows nothing of rows."""
        try:
            return cls._of(plan, columns, share)
        except PlanError as error:
            raise plan.located(error) from None

    @classmethod
    def _of(cls, plan: Plan, columns: Sequence[str], share: str) -> BoundsSearch:
        part = _proportion_of(share, "[method] bounds_share")
        for name in columns:
            declared = plan.column(name)
            stated = ("bounds", "edges", "values", "order", "hierarchy")
            known = next((key for key in stated if getattr(declared, key) is not None), None)
            if name not in plan.roles.published:
                msg = (
                    f"[method] find_bounds names the column {name!r}, which is not published; give "
                    "it a role, or leave it out"
                )
                raise PlanError(msg)
            if known is not None:
                what = "intervals, a tree or a hierarchy" if known == "hierarchy" else known
                msg = (
                    f"[method] find_bounds names the column {name!r}, of which [columns.{name}] "
                    f"states {what}: what is public costs nothing. Leave one of the two out"
                )
                raise PlanError(msg)
            if declared.reads_as not in {None, "number"} or declared.dated:
                msg = f"[method] find_bounds names the column {name!r}, which holds no numbers"
                raise PlanError(msg)
        return cls(tuple(dict.fromkeys(columns)), part) if columns else cls()

    @property
    def rest(self) -> Fraction:
        """What of the budget remains for what is published."""
        return 1 - self.share

    def widest(self, plan: Plan) -> Plan:
        """A plan that stands for all that may come of the search, in the number of its ranges."""
        edges = tuple(map(Decimal, range(_RANGES + 1)))
        return _with_edges(plan, dict.fromkeys(self.columns, edges))

    def tables(self, budget: NoiseBudget, contribution: Contribution) -> tuple[MeasuredTable, ...]:
        """What is measured for it, as claims state it."""
        return tuple(
            MeasuredTable(columns=(name,), cells=share.cells, noise=share.stated(contribution.rows))
            for name, share in zip(self.columns, self._shares(budget), strict=True)
        )

    def found(
        self,
        table: PrivateTable,
        budget: NoiseBudget,
        contribution: Contribution,
        randomness: Randomness,
    ) -> Plan:
        """The plan of a table with bounds and edges that were found; whoever calls it has paid."""
        plan = table.plan
        if not self.columns:
            return plan
        domain, shares = self._domain(plan), self._shares(budget)
        sets = [share.columns for share in shares]
        counts = table.count_tables(domain, sets, contribution.rows, randomness)
        noisy = measured(shares, counts.counts, contribution.rows, randomness.key("bounds"))
        edges = {
            name: _edges_of(one.counts[:-1], sqrt(float(one.variance)), pure=budget.pure)
            for name, one in zip(self.columns, noisy, strict=True)
        }
        return _with_edges(plan, edges)

    def told(self, plan: Plan) -> list[str]:
        """What of a plan was found, for the custodian."""
        bounds = ((name, plan.columns[name].bounds) for name in self.columns)
        return [
            f"bounds of {name} were found at {self.share} of the budget, all searches together: "
            f"{plain_text(ends[0])} to {plain_text(ends[1])}"
            for name, ends in bounds
            if ends is not None
        ]

    def _domain(self, plan: Plan) -> tuple[ColumnDomain, ...]:
        """The ladder, with a cell for missing values, so that no row is left out."""
        laddered = _with_edges(plan, dict.fromkeys(self.columns, _BORDERS), missing=True)
        return public_domain(laddered, self.columns)

    def _shares(self, budget: NoiseBudget) -> tuple[TableShare, ...]:
        if not self.columns:
            return ()
        each = budget.total * self.share / len(self.columns)
        cells = len(_BORDERS)  # ranges, and missing values
        return tuple(
            TableShare((place,), cells, each, budget.pure) for place in range(len(self.columns))
        )


NO_SEARCH = BoundsSearch()


def _with_edges(
    plan: Plan, edges: Mapping[str, Sequence[Decimal]], *, missing: bool = False
) -> Plan:
    columns = dict(plan.columns)
    for name, borders in edges.items():
        declared = columns.get(name, ColumnPlan())
        columns[name] = replace(
            declared,
            bounds=(borders[0], borders[-1]),
            edges=tuple(borders),
            nulls="category" if missing else declared.nulls,
        )
    return replace(plan, columns=columns)


def _edges_of(counts: NDArray[np.int64], deviation: float, *, pure: bool) -> tuple[Decimal, ...]:
    """Bounds and edges between them, of the noisy counts of all ranges of the ladder."""
    chance = _FALSE_ALARM / len(counts)
    if pure:  # Laplace noise, whose deviation is the root of 2 of its scale
        threshold = -deviation / sqrt(2) * np.log(2 * chance)
    else:
        threshold = deviation * NormalDist().inv_cdf(1 - chance)
    filled = np.flatnonzero(counts > threshold)
    if not len(filled):
        return _BORDERS[:: len(_BORDERS) // _RANGES][: _RANGES + 1]
    first, last = int(filled[0]), int(filled[-1])
    low, high = _BORDERS[first], _BORDERS[last + 1]
    inside = np.where(counts > threshold, counts, 0)[first : last + 1]
    ends = np.append(0, np.cumsum(inside)) / inside.sum()
    borders = [float(border) for border in _BORDERS[first : last + 2]]
    wanted = np.interp(np.arange(1, _RANGES) / _RANGES, ends, borders)
    inner = {_to_two_digits(float(one)) for one in wanted}
    edges = (low, *sorted(one for one in inner if low < one < high), high)
    if len(edges) > 2:
        return edges
    return (
        (*edges, _BORDERS[last + 2]) if last + 2 < len(_BORDERS) else (_BORDERS[first - 1], *edges)
    )


def _to_two_digits(number: float) -> Decimal:
    """To two digits; a number within a hundredth of 0 is 0."""
    if abs(number) < float(_STEPS[0]):
        return Decimal(0)
    places = 1 - floor(log10(abs(number)))
    return Decimal(repr(round(number, places))).normalize() + 0
