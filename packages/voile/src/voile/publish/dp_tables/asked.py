"""Noisy tables as a pure function of a plan: what is measured, what it costs, what is published.

This is the seam for whoever publishes tables with noise, ``dp-tables`` and others: with a plan and
``TableTerms``,

    asked = NoisyTables.of(plan, terms)       # all that follows from the plan: refuses, sees no row
    pay(asked.budget.events(...))             # before anything is drawn
    counts = asked.counted(table, randomness) # the engine's one pass over the rows: private
    cells = asked.noisy(counts, key)          # counts and sums with noise: public from here on
    asked.cells(table.measured(cells))        # consistent cells of all tables, with intervals

``noisy`` sees arrays alone, and ``cells`` the measurements alone, so both can be called on counts
of any origin, in the order of ``sets`` and ``sums``.

What measures need: a sum or mean the bounds of its column, a quantile its ranges.  Each is
measured for the same tables, at all levels, and for all rows; a quantile by tables with its column.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import product
from math import prod, sqrt
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from voile.disclosure.counted import Aggregate, Label
from voile.disclosure.shown import Disclosure
from voile.publish.contribution import Contribution
from voile.publish.measuring import (
    NO_SEARCH,
    BoundsSearch,
    ColumnSet,
    NoiseBudget,
    TableShare,
    measured,
    weights_for_cells,
)
from voile.release.consistent_cells import (
    COUNT,
    TABLE,
    TOTAL,
    cell_measures,
    consistent_cells,
    noisy_marginals,
    stated_labels,
    tables_by_name,
)
from voile.release.method_claims import ClampedSums, CountedPrivately, MeasuredTable
from voile.release.release import Guarantee
from voile.schema.domain import ColumnDomain, public_domain
from voile.schema.plan import Plan
from voile.table.domains import NoisyCells, SumOfNumbers, TableCounts
from voile.table.private import PrivateTable
from voile.table.published import PublishedTable
from voile_base.errors import PlanError, nearest
from voile_base.ondemand import dataclass
from voile_base.randomness import Key, Randomness
from voile_base.values import usable_number

__all__ = ["NoisyTables", "TableTerms"]

_MOST_TABLES, _MOST_CELLS = 1_000, 2_000_000
_PARTS = 1_000
"""Of half a range, in which sums are measured: rounding errs by a thousandth of what a row adds."""
_ASSUMES = (
    "tables, domains, bounds, edges, hierarchies and the budget are public facts and were chosen "
    "without looking at the rows",
)
_MEASURE = re.compile(r"\s*(?P<kind>sum|mean|quantiles)\s*\((?P<inside>.+)\)\s*", re.DOTALL)
_SHOWN = 'such as "sum(income)", "mean(income)" or "quantiles(income, 0.25, 0.5, 0.75)"'
Levels = tuple[int, ...]


@dataclass(frozen=True)
class TableTerms:
    """What is asked of tables with noise."""

    tables: Sequence[Sequence[str]]
    """The columns of each; each is published at all levels of their hierarchies."""
    budget: NoiseBudget
    measures: Sequence[str] = ()
    """Beside the counts: ``sum(x)``, ``mean(x)``, ``quantiles(x, share, ...)``."""
    rows_per_person: int | None = None
    """Rows of a person, or household, that take part at most; None: each row is a person."""
    confidence: Decimal = Decimal("0.95")
    """Of intervals, between 0 and 1."""
    show_from: Decimal | None = None
    """The least estimated count that is shown; None: all are."""
    widest: bool = False
    """Whether noise stays Gaussian where Laplace noise has narrower intervals."""
    precise: Literal["tables", "cells"] = "tables"
    """What noise is shared for: each table alike, or the mean error of all cells."""
    search: BoundsSearch = NO_SEARCH
    """Of numbers without public bounds."""


@dataclass(frozen=True)
class _Measure:
    """What is published of the numbers of a column."""

    kind: Literal["sum", "mean", "quantile"]
    column: str
    share: Decimal | None = None

    @property
    def name(self) -> str:
        """Its column in a release."""
        share = "" if self.share is None else f", {self.share:f}"
        return f"{self.kind}({self.column}{share})"


@dataclass(frozen=True, eq=False)
class NoisyTables:
    """All that follows from a plan, before a row is looked at; public."""

    domain: tuple[ColumnDomain, ...]
    """Of all columns of tables, and of those of quantiles."""
    shares: tuple[TableShare, ...]
    """Of each measured table: of counts first, then of sums."""
    levels: tuple[Levels, ...]
    """Of the columns of each share."""
    summed: tuple[SumOfNumbers | None, ...]
    """What each share adds up, over the cells of its columns; None: rows are counted."""
    measures: tuple[_Measure, ...]
    contribution: Contribution
    budget: NoiseBudget
    terms: TableTerms

    @classmethod
    def of(cls, plan: Plan, terms: TableTerms) -> NoisyTables:
        """What a plan asks for; raises ``PlanError``, and knows nothing of rows."""
        try:
            return cls._of(plan, terms)
        except PlanError as error:
            raise plan.located(error) from None

    @classmethod
    def _of(cls, plan: Plan, terms: TableTerms) -> NoisyTables:
        names = _columns(plan, terms.tables)
        measures = _measures(plan, terms.measures)
        spread = [it.column for it in measures if it.kind == "quantile"]
        names = list(dict.fromkeys([*names, *spread]))
        _refuse_taken(names, [COUNT, *(it.name for it in measures)])
        domain = public_domain(plan, names)
        _refuse_total(domain)
        _refuse_unordered(domain, spread)
        sets = [tuple(map(names.index, dict.fromkeys(one))) for one in terms.tables]
        named = _at_all_levels(sets, domain)
        tables = dict.fromkeys(named)
        for place in dict.fromkeys(map(names.index, spread)):
            tables |= dict.fromkeys(
                _with_column(key, place) for key in named if place not in key[0]
            )
        sums = [
            (columns, levels, _sum_of(plan, columns, column))
            for column in dict.fromkeys(it.column for it in measures if it.kind != "quantile")
            for columns, levels in named
        ]
        each = [*((*key, None) for key in tables), *sums]
        sizes = [
            prod(len(domain[at].labels_at(level)) for at, level in zip(*it[:2], strict=True))
            for it in each
        ]
        _require_few(sizes)
        budget, weights = _shared_out(terms, each, domain)
        parts = [1 if of is None else of.parts for _, _, of in each]
        shares = _shared_by_weights(
            [columns for columns, _, _ in each], sizes, budget, weights, parts, terms.search.rest
        )
        contribution = Contribution.by_plan(plan, terms.rows_per_person)
        _refuse_too_much_noise(shares, contribution.rows)
        levels, summed = tuple(it[1] for it in each), tuple(it[2] for it in each)
        return cls(domain, shares, levels, summed, tuple(measures), contribution, budget, terms)

    @property
    def sets(self) -> list[tuple[int, ...]]:
        """The tables of counts that the engine makes, by the places of their columns."""
        pairs = zip(self.shares, self.summed, strict=True)
        return sorted({share.columns for share, of in pairs if of is None and share.columns})

    @property
    def sums(self) -> list[SumOfNumbers]:
        """The sums that the engine makes."""
        return list(dict.fromkeys(of for of in self.summed if of is not None))

    def counted(self, table: PrivateTable, randomness: Randomness) -> TableCounts:
        """What the engine counts and adds up, in one pass; private."""
        most = self.contribution.rows
        return table.count_tables(self.domain, self.sets, most, randomness, self.sums)

    def noisy(self, counts: TableCounts, key: Key) -> tuple[NoisyCells, ...]:
        """All tables at all levels with noise; what is made of them costs nothing more."""
        of_set = dict(zip(self.sets, counts.counts, strict=True))
        of_sum = dict(zip(self.sums, counts.sums, strict=True))
        whole = np.array(counts.rows, dtype=np.int64)
        cells = []
        for share, levels, of in zip(self.shares, self.levels, self.summed, strict=True):
            finest = of_sum[of] if of is not None else of_set.get(share.columns, whole)
            cells.append(_at_levels(finest, share.columns, levels, self.domain))
        noisy = measured(self.shares, cells, self.contribution.rows, key)
        return tuple(
            NoisyCells(
                [self.domain[at] for at in one.columns],
                levels,
                one.counts,
                str(one.variance),
                None if of is None else of.column,
            )
            for one, levels, of in zip(noisy, self.levels, self.summed, strict=True)
        )

    def cells(self, measurements: PublishedTable) -> Mapping[str, Sequence[str | float | None]]:
        """All cells of all tables of counts, as columns, consistent and with intervals."""
        disclosure, claim = self.disclosure, self.claim
        floor = self.terms.show_from
        return consistent_cells(
            noisy_marginals(measurements, claim, disclosure),
            stated_labels(disclosure),
            tables_by_name(
                key for key, of in zip(self._keys, self.summed, strict=True) if of is None
            ),
            float(self.terms.confidence),
            None if floor is None else float(floor),
            cell_measures(measurements, claim, disclosure),
        )

    @property
    def _keys(self) -> list[tuple[tuple[str, int], ...]]:
        """The columns of each table, with their levels."""
        return [
            tuple((self.domain[at].name, level) for at, level in zip(one.columns, of, strict=True))
            for one, of in zip(self.shares, self.levels, strict=True)
        ]

    @property
    def claim(self) -> CountedPrivately:
        """What is spent, and on which tables."""
        budget, tables = self.budget, []
        for share, key, of in zip(self.shares, self._keys, self.summed, strict=True):
            levels = tuple(level for _, level in key)
            tables.append(
                MeasuredTable(
                    columns=tuple(name for name, _ in key),
                    levels=levels if any(levels) else None,
                    cells=share.cells,
                    noise=share.stated(self.contribution.rows),
                    sums=None if of is None else _stated_sums(of),
                )
            )
        return CountedPrivately(
            epsilon=budget.epsilon,
            delta=budget.delta,
            rho=None if budget.rho is None else str(budget.rho),
            neighbours=self.contribution.neighbours("add-remove"),
            rows_per_person=self.contribution.stated,
            tables=tuple(tables),
            searched=self.terms.search.tables(budget, self.contribution),
        )

    @property
    def guarantee(self) -> Guarantee:
        """What a release promises."""
        what = "counts and sums" if self.sums else "counts"
        statement = (
            f"{self.budget.words} for {self.contribution.somebody} more or less: {what} follow "
            f"from {len(self.shares):,} tables with noise{self.contribution.taking_part}"
        )
        return Guarantee((self.claim,), statement, (self.contribution.assumed, *_ASSUMES))

    @property
    def disclosure(self) -> Disclosure:
        """What cells are of, and what is published of each."""
        count = Aggregate(
            family="discrete-laplace" if self.budget.pure else "discrete-gaussian",
            confidence=float(self.terms.confidence),
            show_from=None if self.terms.show_from is None else float(self.terms.show_from),
        )
        more = {
            it.name: count.model_copy(
                update={
                    "measure": it.kind,
                    "of": it.column,
                    "share": None if it.share is None else float(it.share),
                }
            )
            for it in self.measures
        }
        labels = {column.name: _label(column) for column in self.domain}
        return Disclosure(columns={TABLE: Label(), **labels, COUNT: count, **more})


def _shared_by_weights(
    tables: Sequence[ColumnSet],
    cells: Sequence[int],
    budget: NoiseBudget,
    weights: Sequence[Fraction],
    parts: Sequence[int],
    rest: Fraction = Fraction(1),
) -> tuple[TableShare, ...]:
    """What each table gets by its weight, above 0; the sum is the budget, or ``rest`` of it.

    ``parts`` has what one row changes a cell of each by at most: 1 of counts.
    """
    whole = budget.total * rest / sum(weights)
    return tuple(
        TableShare(columns, count, whole * weight, budget.pure, changed)
        for columns, count, weight, changed in zip(tables, cells, weights, parts, strict=True)
    )


def _columns(plan: Plan, tables: Sequence[Sequence[str]]) -> list[str]:
    """The columns of all tables, each once; raises ``PlanError``."""
    names = list(dict.fromkeys(name for one in tables for name in one))
    for name in names:
        _require_published(plan, name, "tables")
    if any(not one for one in tables):
        msg = "[method] tables: a table needs a column; the number of all rows is always there"
        raise PlanError(msg)
    return names


def _refuse_taken(names: Sequence[str], measures: Sequence[str]) -> None:
    """Raise ``PlanError`` for columns that are called as those of what is measured."""
    taken = {TABLE, *(f"{it}{end}" for it in measures for end in ("", ".low", ".high"))}
    for name in names:
        if name in taken:
            msg = f"[method] tables: {name!r} is a column of the release; rename yours"
            raise PlanError(msg)


def _require_published(plan: Plan, name: str, key: str) -> None:
    published = plan.roles.published
    if name not in published:
        msg = (
            f"[method] {key} names the column {name!r}, which has no role in which it is "
            f"published{nearest(name, published)}"
        )
        raise PlanError(msg)


def _measures(plan: Plan, stated: Sequence[str]) -> list[_Measure]:
    """What a plan asks for of numbers, each once; raises ``PlanError``."""
    found: dict[_Measure, None] = {}
    for text in stated:
        read = _MEASURE.fullmatch(text)
        if read is None:
            msg = f"[method] measures: {text!r} cannot be read; write texts {_SHOWN}"
            raise PlanError(msg)
        column, *shares = (part.strip() for part in read["inside"].split(","))
        _require_published(plan, column, "measures")
        if read["kind"] == "quantiles":
            found |= {_Measure("quantile", column, share): None for share in _shares(text, shares)}
        elif shares:
            msg = f"[method] measures: {text!r} names more than a column; write texts {_SHOWN}"
            raise PlanError(msg)
        else:
            found[_Measure("sum" if read["kind"] == "sum" else "mean", column)] = None
    return list(found)


def _shares(text: str, stated: Sequence[str]) -> list[Decimal]:
    shares = [usable_number(one, texts=True) for one in stated]
    wrong = [one for one in shares if one is None or not 0 < one < 1]
    if wrong or not shares:
        msg = f"[method] measures: {text!r} needs shares between 0 and 1, {_SHOWN}"
        raise PlanError(msg)
    return [Decimal(one).normalize() for one in shares if one is not None]


def _sum_of(plan: Plan, columns: tuple[int, ...], name: str) -> SumOfNumbers:
    """The sums of a column over a table; raises ``PlanError`` where it has no public bounds."""
    declared = plan.column(name)
    if declared.bounds is None:
        msg = (
            f"[columns.{name}] nothing states its public bounds: the noise of a sum or a mean has "
            "to hide the largest number that there could be. Say bounds = [lowest, highest]; "
            "numbers beyond count at their end"
        )
        raise PlanError(msg)
    if plan.nulls_of(name) == "category":
        msg = (
            f'[columns.{name}] nulls = "category" counts missing numbers, and a sum or a mean has '
            "none of them; leave it out: rows without the number are then left out of all tables"
        )
        raise PlanError(msg)
    low, high = declared.bounds
    return SumOfNumbers(columns, name, low, high, _PARTS)


def _stated_sums(of: SumOfNumbers) -> ClampedSums:
    low, high = (str(Fraction(bound)) for bound in (of.low, of.high))
    return ClampedSums(column=of.column, low=low, high=high, parts=of.parts)


def _refuse_unordered(domain: Sequence[ColumnDomain], spread: Sequence[str]) -> None:
    """Raise ``PlanError`` where a column of quantiles has no numbers, or groups of them."""
    for column in domain:
        if column.name in spread and (column.kind != "number" or column.groups):
            msg = (
                f"[columns.{column.name}] quantiles need ranges of numbers: say bounds, with edges "
                "or intervals"
            )
            raise PlanError(msg)


def _with_column(key: tuple[tuple[int, ...], Levels], place: int) -> tuple[tuple[int, ...], Levels]:
    """A table with one column more, by its cells."""
    columns, levels = key
    return (*columns, place), (*levels, 0)


def _at_all_levels(
    sets: Sequence[tuple[int, ...]], domain: Sequence[ColumnDomain]
) -> list[tuple[tuple[int, ...], Levels]]:
    """Each table at all levels, and the total; each once."""
    found = dict.fromkeys(
        (columns, levels)
        for columns in sets
        for levels in product(*(range(len(domain[at].coarser) + 1) for at in columns))
    )
    return [*found, ((), ())]


def _shared_out(
    terms: TableTerms,
    each: Sequence[tuple[tuple[int, ...], Levels, SumOfNumbers | None]],
    domain: Sequence[ColumnDomain],
) -> tuple[NoiseBudget, list[Fraction]]:
    """The budget with the narrower noise, and the weight of each table; all public."""
    if terms.precise == "tables":
        alike, measured_in_all = [Fraction(1)] * len(each), len(each) + len(terms.search.columns)
        if terms.widest:
            return terms.budget, alike
        return terms.budget.narrower(measured_in_all, terms.confidence), alike
    found = [(terms.budget, *_weights(each, domain, terms.budget))]
    if not terms.widest and not terms.budget.pure:
        laplace = NoiseBudget(None, terms.budget.epsilon, None)
        found.append((laplace, *_weights(each, domain, laplace)))
    budget, weights, _ = min(found, key=lambda one: one[2])
    return budget, weights


def _weights(
    each: Sequence[tuple[tuple[int, ...], Levels, SumOfNumbers | None]],
    domain: Sequence[ColumnDomain],
    budget: NoiseBudget,
) -> tuple[list[Fraction], float]:
    """By which the cells of counts, and of each sum, err least; and how much counts do."""
    widths = [
        [len(one.labels_at(level)) for level in range(len(one.coarser) + 1)] for one in domain
    ]
    weights, errors = [Fraction(0)] * len(each), []
    for kind in dict.fromkeys(of for _, _, of in each):
        places = [at for at, (_, _, of) in enumerate(each) if of == kind]
        keys = [each[at][:2] for at in places]
        own, error = weights_for_cells(keys, widths, pure=budget.pure)
        errors.append(error)
        for at, weight in zip(places, own, strict=True):
            weights[at] = Fraction(len(places) * weight, sum(own))
    spent = float(budget.epsilon) if budget.rho is None else sqrt(2 * budget.rho)
    return weights, errors[0] / spent


def _at_levels(
    counts: NDArray[np.int64],
    columns: tuple[int, ...],
    levels: Levels,
    domain: Sequence[ColumnDomain],
) -> NDArray[np.int64]:
    """Counts of cells, added up to those of coarser levels."""
    for axis, (at, level) in enumerate(zip(columns, levels, strict=True)):
        if level:
            above = domain[at].coarser[level - 1]
            summed = np.zeros((len(above.labels), *np.delete(counts.shape, axis)), dtype=np.int64)
            np.add.at(summed, above.groups, np.moveaxis(counts, axis, 0))
            counts = np.moveaxis(summed, 0, axis)
    return counts


def _label(column: ColumnDomain) -> Label:
    """How a column is shown: all that its labels stand for."""
    return Label(
        values=_kind(column),
        cells=column.labels,
        groups=column.groups or None,
        levels=tuple(
            tuple(above.labels[group] for group in above.groups.tolist())
            for above in column.coarser
        ),
    )


def _kind(column: ColumnDomain) -> Literal["integer", "decimal", "date", "text"]:
    if column.kind != "number":
        return column.kind
    if column.listed is not None:
        return "decimal" if any("." in text for text in column.listed) else "integer"
    return "decimal" if column.scale else "integer"


def _refuse_total(domain: Sequence[ColumnDomain]) -> None:
    for column in domain:
        labels = (label for at in range(len(column.coarser) + 1) for label in column.labels_at(at))
        if TOTAL in labels:
            msg = (
                f"[columns.{column.name}] the value {TOTAL!r} cannot be counted, for in the "
                "release it stands for all of them; call the value otherwise"
            )
            raise PlanError(msg)


def _refuse_too_much_noise(shares: Sequence[TableShare], rows: int) -> None:
    try:
        for share in shares:
            share.noise(rows)
    except PlanError:
        msg = (
            f"[method] the budget is too small for {len(shares):,} tables, at all levels: their "
            "noise would cover everything; raise it, or name fewer tables and measures"
        )
        raise PlanError(msg) from None


def _require_few(sizes: Sequence[int]) -> None:
    if len(sizes) > _MOST_TABLES or sum(sizes) > _MOST_CELLS:
        msg = (
            f"[method] {len(sizes):,} tables with {sum(sizes):,} cells, at all levels, are too "
            f"many, and {_MOST_TABLES:,} tables with {_MOST_CELLS:,} cells are the most; name "
            "fewer columns in a table, or coarsen them by edges or a hierarchy of fewer levels"
        )
        raise PlanError(msg)
