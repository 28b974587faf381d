"""The publisher of tables of noisy counts; see the package's docstring."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from itertools import product
from math import prod
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from voile.disclosure.counted import Aggregate, Label
from voile.disclosure.shown import Disclosure
from voile.proposal.writing import OF_BUDGET, MethodProposal
from voile.publish.contribution import Contribution, RowsPerPerson
from voile.publish.measuring import (
    Measured,
    NoiseBudget,
    TableShare,
    measured,
    shared_evenly,
)
from voile.publish.publisher import Capabilities, SingleRelease, refuse_ranking
from voile.release.claims import CountedPrivately, MeasuredTable
from voile.release.consistent_cells import (
    COUNT,
    TABLE,
    TOTAL,
    Key,
    consistent_cells,
    noisy_marginals,
    stated_labels,
    tables_by_name,
)
from voile.release.history import History
from voile.release.payment import Pay, Price, unaccounted
from voile.release.release import Guarantee, PrivateRecord, Publication, Release
from voile.schema.domain import ColumnDomain, public_domain
from voile.schema.numbers import json_number, plain_text
from voile.schema.plan import Plan
from voile.table.domains import TableCounts
from voile.table.private import PrivateTable
from voile_base.errors import PlanError, nearest
from voile_base.randomness import Randomness
from voile_base.values.value import Number, Says, Several, checked

__all__ = ["DPTables"]

_NAME = "dp-tables"
_MOST_TABLES, _MOST_CELLS = 1_000, 2_000_000
_CONFIDENCE = Decimal("0.95")
_PROPOSAL = MethodProposal(
    f"""\
[method]
name = "{_NAME}"  # counts with noise and intervals: docs/methods/dp-tables.md
{OF_BUDGET}""",
    over_domains=True,
    names_tables=True,
)
_ASSUMES = (
    "tables, domains, bounds, edges, hierarchies and the budget are public facts and were chosen "
    "without looking at the rows",
)
Levels = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class _Asked:
    """All that follows from a plan, before a row is looked at; public."""

    domain: tuple[ColumnDomain, ...]
    shares: tuple[TableShare, ...]
    levels: tuple[Levels, ...]
    """Of the columns of each share."""
    contribution: Contribution
    budget: NoiseBudget

    @property
    def keys(self) -> tuple[Key, ...]:
        """The columns of each table, with their levels."""
        return tuple(
            tuple((self.domain[at].name, level) for at, level in zip(one.columns, of, strict=True))
            for one, of in zip(self.shares, self.levels, strict=True)
        )

    @property
    def claim(self) -> CountedPrivately:
        """What is spent, and on which tables."""
        budget, tables = self.budget, []
        for share, key in zip(self.shares, self.keys, strict=True):
            levels = tuple(level for _, level in key)
            tables.append(
                MeasuredTable(
                    columns=tuple(name for name, _ in key),
                    levels=levels if any(levels) else None,
                    cells=share.cells,
                    noise=share.stated(self.contribution.rows),
                )
            )
        return CountedPrivately(
            epsilon=budget.epsilon,
            delta=budget.delta,
            rho=None if budget.rho is None else str(budget.rho),
            neighbours=self.contribution.neighbours("add-remove"),
            rows_per_person=self.contribution.stated,
            tables=tuple(tables),
        )

    @property
    def guarantee(self) -> Guarantee:
        """What a release promises."""
        statement = (
            f"{self.budget.words} for {self.contribution.somebody} more or less: counts follow "
            f"from {len(self.shares):,} tables with noise{self.contribution.taking_part}"
        )
        return Guarantee((self.claim,), statement, (self.contribution.assumed, *_ASSUMES))


@checked(PlanError)
@dataclass(frozen=True)
class DPTables(SingleRelease):
    """Publish tables of counts with noise, consistent at all levels, with intervals.

    One of ``epsilon`` and ``rho`` is needed.  Raises ``PlanError`` for parameters that cannot be.
    """

    capabilities: ClassVar[Capabilities] = Capabilities(
        persons=True, any_rows=True, proposal=_PROPOSAL
    )

    tables: Annotated[
        Several[Several[str]],
        Field(min_length=1),
        Says('a list of lists of column names, such as [["county", "sex"], ["age"]]'),
    ]
    """The columns of each table; each is published at all levels of their hierarchies."""
    epsilon: Annotated[Number, Field(gt=0)] | None = None
    """The budget, above 0; with ``delta`` noise is Laplace or Gaussian, whichever is narrower."""
    delta: Annotated[Number, Field(gt=0, lt=1)] | None = None
    """Between 0 and 1; None: pure epsilon, or one in a million beside ``rho``."""
    rho: Annotated[str, Says('a fraction above 0 as a text, for example "1/64"')] | None = None
    """The budget in zero-concentrated differential privacy, exactly."""
    rows_per_person: RowsPerPerson | None = None
    """Rows of a person, or of a household, that take part at most; None: persons have one row."""
    confidence: Annotated[Number, Field(gt=0, lt=1)] = _CONFIDENCE
    """With which an interval encloses the count of its cell, between 0 and 1."""
    show_from: Annotated[Number, Field(gt=0)] | None = None
    """The least estimated count that is shown; None: all are."""

    def __post_init__(self) -> None:
        self._budget  # noqa: B018 - it is checked

    def prepare(
        self,
        table: PrivateTable,
        randomness: Randomness,
        history: History | None = None,
        pay: Pay = unaccounted,
    ) -> Publication:
        """Make a release, and with it what must stay private and what it spends.

        Raises ``PlanError`` for a plan that does not say what is needed, and nothing about rows.
        """
        refuse_ranking(table, _NAME)
        asked = self._asked(table.plan)
        neighbours = asked.contribution.neighbours("add-remove")
        price = Price(randomness.token("release"), asked.budget.events(neighbours))
        pay(price)
        most = asked.contribution.rows
        sets = sorted({share.columns for share in asked.shares if share.columns})
        counted = table.count_tables(asked.domain, sets, most, randomness)
        of_set = dict(zip(sets, counted.counts, strict=True))
        counts = [
            _at_levels(of_set[share.columns], share.columns, levels, asked.domain)
            if share.columns
            else np.array(counted.rows, dtype=np.int64)
            for share, levels in zip(asked.shares, asked.levels, strict=True)
        ]
        noisy = measured(asked.shares, counts, most, randomness.key("measured"))
        release = self._release(table, asked, noisy, randomness, price)
        return Publication(release, _private(table, asked, counted, release), events=price.events)

    @cached_property
    def _budget(self) -> NoiseBudget:
        return NoiseBudget.of(self.epsilon, self.delta, self.rho)

    def _asked(self, plan: Plan) -> _Asked:
        """What a plan asks for; raises ``PlanError``."""
        try:
            names = self._columns(plan)
            domain = public_domain(plan, names)
            _refuse_total(domain)
            sets, levels = _measured_tables(
                [tuple(map(names.index, dict.fromkeys(one))) for one in self.tables], domain
            )
            sizes = [
                prod(len(domain[at].labels_at(level)) for at, level in zip(*one, strict=True))
                for one in zip(sets, levels, strict=True)
            ]
            _require_few(sizes)
            budget = self._budget
            if self.rho is None:
                budget = budget.narrower(len(sets), Decimal(self.confidence))
            shares = shared_evenly(sets, sizes, budget)
            contribution = Contribution.by_plan(plan, self.rows_per_person)
            for share in shares:
                share.noise(contribution.rows)
        except PlanError as error:
            raise plan.located(error) from None
        return _Asked(domain, shares, tuple(levels), contribution, budget)

    def _columns(self, plan: Plan) -> list[str]:
        """The columns of all tables, each once; raises ``PlanError``."""
        names = list(dict.fromkeys(name for one in self.tables for name in one))
        published = plan.roles.published
        for name in names:
            if name not in published:
                msg = (
                    f"[method] tables names the column {name!r}, which has no role in which it is "
                    f"published{nearest(name, published)}"
                )
                raise PlanError(msg)
            if name in {TABLE, COUNT, f"{COUNT}.low", f"{COUNT}.high"}:
                msg = f"[method] tables: {name!r} is a column of the release; rename yours"
                raise PlanError(msg)
        if any(not one for one in self.tables):
            msg = "[method] tables: a table needs a column; the number of all rows is always there"
            raise PlanError(msg)
        return names

    def _release(
        self,
        table: PrivateTable,
        asked: _Asked,
        noisy: Sequence[Measured],
        randomness: Randomness,
        price: Price,
    ) -> Release:
        """What is made of measurements; of the table nothing but its engine is used."""
        measurements = table.measured(
            [
                ([asked.domain[at] for at in one.columns], levels, one.counts, str(one.variance))
                for one, levels in zip(noisy, asked.levels, strict=True)
            ]
        )
        disclosure = self._disclosure(asked)
        guarantee = asked.guarantee
        marginals = noisy_marginals(measurements, asked.claim, disclosure)
        floor = None if self.show_from is None else float(self.show_from)
        cells = consistent_cells(
            marginals,
            stated_labels(disclosure),
            tables_by_name(asked.keys),
            float(self.confidence),
            floor,
        )
        return Release(
            table=table.published_cells(cells),
            method=self._method(asked),
            disclosure=disclosure,
            guarantee=guarantee,
            roles={},
            release_id=price.release_id,
            publishable=randomness.publishable,
            measurements=measurements,
        )

    def _disclosure(self, asked: _Asked) -> Disclosure:
        labels = {column.name: _label(column) for column in asked.domain}
        count = Aggregate(
            family="discrete-laplace" if asked.budget.pure else "discrete-gaussian",
            confidence=float(self.confidence),
            show_from=None if self.show_from is None else float(self.show_from),
        )
        return Disclosure(columns={TABLE: Label(), **labels, COUNT: count})

    def _method(self, asked: _Asked) -> Mapping[str, Any]:
        given: dict[str, Any] = {
            "tables": [list(one) for one in self.tables],
            **asked.budget.document(),
            "rows_per_person": self.rows_per_person,
            "confidence": json_number(Decimal(self.confidence)),
            "show_from": None if self.show_from is None else json_number(Decimal(self.show_from)),
        }
        shown = {name: value for name, value in given.items() if value is not None}
        return {"name": _NAME, **shown, "decision": {}}


def _measured_tables(
    sets: Sequence[tuple[int, ...]], domain: Sequence[ColumnDomain]
) -> tuple[list[tuple[int, ...]], list[Levels]]:
    """Each table at all levels, and the total; each once."""
    found = dict.fromkeys(
        (columns, levels)
        for columns in sets
        for levels in product(*(range(len(domain[at].coarser) + 1) for at in columns))
    )
    each = [*found, ((), ())]
    return [columns for columns, _ in each], [levels for _, levels in each]


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


def _require_few(sizes: Sequence[int]) -> None:
    if len(sizes) > _MOST_TABLES or sum(sizes) > _MOST_CELLS:
        msg = (
            f"[method] {len(sizes):,} tables with {sum(sizes):,} cells, at all levels, are too "
            f"many, and {_MOST_TABLES:,} tables with {_MOST_CELLS:,} cells are the most; name "
            "fewer columns in a table, or coarsen them by edges or a hierarchy of fewer levels"
        )
        raise PlanError(msg)


def _private(
    table: PrivateTable, asked: _Asked, counts: TableCounts, release: Release
) -> PrivateRecord:
    """What the custodian may know."""
    beyond = counts.left_out + counts.beyond
    return PrivateRecord(
        rows_in=counts.rows + beyond,
        rows_out=release.rows,
        suppressed=beyond,
        held=0,
        objective=plain_text(asked.budget.epsilon),
        decision={"tables": len(asked.shares)},
        notices=(*table.notes, *asked.contribution.left_out(counts)),
        summary=f"by {len(asked.shares):,} tables with noise",
        published="cells",
    )
