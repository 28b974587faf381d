"""Bounds of numbers that nobody knows publicly, found privately at a stated share of the budget.

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
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from math import floor, log10, sqrt
from statistics import NormalDist
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from voile.publish.contribution import Contribution
from voile.publish.measuring import NoiseBudget, TableShare, measured, proportion_of
from voile.release.claims import MeasuredTable
from voile.schema.domain import ColumnDomain, public_domain
from voile.schema.numbers import plain_text
from voile.schema.plan import ColumnPlan, Plan
from voile.table.private import PrivateTable
from voile_base.errors import PlanError
from voile_base.randomness import Randomness
from voile_base.values.value import Says, Several

__all__ = ["NO_SEARCH", "BoundsSearch", "BoundsShare", "FindBounds"]

FindBounds = Annotated[
    Several[str], Says('a list of names of columns of numbers, such as ["income"]')
]
BoundsShare = Annotated[
    str, Field(min_length=1), Says('a share of the budget as a text, for example "1/10"')
]

_STEPS = [Decimal(step).scaleb(ten) for ten in range(-2, 10) for step in (1, 2, 5)]
_LADDER = (*(-step for step in reversed(_STEPS)), Decimal(0), *_STEPS)
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
        part = proportion_of(share, "[method] bounds_share")
        for name in columns:
            declared = plan.columns.get(name, ColumnPlan())
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
        laddered = _with_edges(plan, dict.fromkeys(self.columns, _LADDER), missing=True)
        return public_domain(laddered, self.columns)

    def _shares(self, budget: NoiseBudget) -> tuple[TableShare, ...]:
        if not self.columns:
            return ()
        each = budget.total * self.share / len(self.columns)
        cells = len(_LADDER)  # ranges, and missing values
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
        return _LADDER[:: len(_LADDER) // _RANGES][: _RANGES + 1]
    first, last = int(filled[0]), int(filled[-1])
    low, high = _LADDER[first], _LADDER[last + 1]
    inside = np.where(counts > threshold, counts, 0)[first : last + 1]
    ends = np.append(0, np.cumsum(inside)) / inside.sum()
    borders = [float(border) for border in _LADDER[first : last + 2]]
    wanted = np.interp(np.arange(1, _RANGES) / _RANGES, ends, borders)
    inner = {_rounded(float(one)) for one in wanted}
    edges = (low, *sorted(one for one in inner if low < one < high), high)
    if len(edges) > 2:
        return edges
    return (*edges, _LADDER[last + 2]) if last + 2 < len(_LADDER) else (_LADDER[first - 1], *edges)


def _rounded(number: float) -> Decimal:
    """To two digits; a number within a hundredth of 0 is 0."""
    if abs(number) < float(_STEPS[0]):
        return Decimal(0)
    places = 1 - floor(log10(abs(number)))
    return Decimal(repr(round(number, places))).normalize() + 0
