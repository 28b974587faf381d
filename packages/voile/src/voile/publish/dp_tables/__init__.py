"""Differentially private tables: counts, sums, means and quantiles of all cells, with intervals.

Publishes: for each table that the plan names, and for each combination of levels of its columns,
the estimated count of every cell of the public domain, with an interval; the number of all rows;
where the plan asks for them the sums, means and quantiles of numbers (``release.cell_measures``);
and the noisy counts and sums behind them (``measurements``).

Who publishes tables with noise by another command calls ``NoisyTables``, whose docstring says how.

Guarantee: rho-zero-concentrated differential privacy for one row, or one person with at most m
rows, more or less, by discrete Gaussian noise; or pure epsilon by discrete Laplace noise.  Proof of
the price: as that of ``publish.dp_synthesis``, whose measuring it shares.  A sum is of numbers that
are clamped to public bounds; measured from their middle in p parts of half their width and rounded
once, after it was added up, it changes by at most p for each row (``table.domains``): m p for m.
Domains, levels, tables and shares follow from the plan alone, and cells, intervals and what is
suppressed from the measurements and the plan.

Source: consistency over levels after Hay, Rastogi, Miklau and Suciu, "Boosting the accuracy of
differentially private histograms through consistency" (VLDB 2010), over shared margins after Barak
et al. (PODS 2007); both at once by the decomposition of ``voile.dp.marginals``.

Algorithm.  (1) The engine counts the tables in one pass; coarser levels are sums of that.  (2) All
tables at all levels, and the total, get even shares of the budget and noise: Laplace noise, or,
with a delta, Gaussian noise if its intervals are narrower, which a public rule decides by the
number of tables, those of sums counted: a person changes one cell of each, so that Laplace noise
grows with that number and Gaussian noise with its root.  (3) Cells are estimated from all tables,
with their variances.
(4) ``show_from`` suppresses estimates below it, and widens the intervals of the others.

Departure from the field: negative estimates are published as they are.  Counts that are raised to 0
are biased, and no longer add up.

Cost: the count; see ``voile.dp.marginals``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import cached_property
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from voile.proposal.writing import OF_BUDGET, MethodProposal
from voile.publish.contribution import RowsPerPerson
from voile.publish.dp_tables.asked import NoisyTables, TableTerms
from voile.publish.measuring import BoundsSearch, BoundsShare, FindBounds, NoiseBudget
from voile.publish.publisher import (
    Capabilities,
    MethodCard,
    Parameter,
    SingleRelease,
    refuse_ranking,
)
from voile.release.history import History
from voile.release.release import Pay, Price, PrivateRecord, Publication, Release, unaccounted
from voile.schema.numbers import json_number, plain_text
from voile.table.domains import TableCounts
from voile.table.private import PrivateTable
from voile_base.errors import PlanError
from voile_base.ondemand import dataclass
from voile_base.randomness import Randomness
from voile_base.values.value import Number, Says, Several, checked

__all__ = ["DPTables", "NoisyTables", "TableTerms"]

_NAME = "dp-tables"
_CONFIDENCE = Decimal("0.95")
_PROPOSAL = MethodProposal(
    f"""\
[method]
name = "{_NAME}"  # counts with noise and intervals: docs/methods/dp-tables.md
{OF_BUDGET}""",
    over_domains=True,
    names_tables=True,
)
_DELTA = Decimal("0.000001")


def _errors_told(epsilon: float, columns: int) -> str:
    """Half of a 95 % interval of a count, of several numbers of tables, where persons are rows."""
    del columns  # tables are named
    budget = NoiseBudget.of(Decimal(repr(epsilon)), _DELTA, None)
    told = [
        f"{budget.narrower(tables, _CONFIDENCE).half_width(tables, _CONFIDENCE):.3g} in {words}"
        for tables, words in ((1, "a table alone"), (4, "each of 4 tables"), (10, "each of 10"))
    ]
    return ", ".join(told)


_CARD = MethodCard(
    _NAME,
    "Tables with noise and intervals",
    "Differential privacy: whether somebody is in the table hardly changes what is published, "
    "whatever others know. Every count has an interval that holds, and all add up.",
    "No rows, only the tables that are named, and a budget that does not come back.",
    "the questions are not known yet: made-up rows answer more of them, less precisely.",
    (
        Parameter(
            "tables",
            "these columns together",
            (),
            (),
            "each set is a table; more tables share the budget, and each has more noise",
            sets=True,
        ),
        Parameter(
            "epsilon",
            "epsilon",
            ("0.5", "1", "2", "3"),
            ("1",),
            "the loss of privacy: each value that is tried is charged",
        ),
        Parameter(
            "delta",
            "delta",
            ("0.000001",),
            (),
            "the chance that the promise fails; without it noise is Laplace and never fails",
            needed=False,
        ),
        Parameter(
            "show_from",
            "show counts from",
            ("5", "10"),
            (),
            "smaller estimates are suppressed, and the intervals of the others grow",
            needed=False,
        ),
    ),
    _errors_told,
)


@checked(PlanError)
@dataclass(frozen=True)
class DPTables(SingleRelease):
    """Publish tables of counts with noise, consistent at all levels, with intervals.

    One of ``epsilon`` and ``rho`` is needed.  Raises ``PlanError`` for parameters that cannot be.
    """

    capabilities: ClassVar[Capabilities] = Capabilities(
        persons=True, any_rows=True, proposal=_PROPOSAL, card=_CARD
    )

    tables: Annotated[
        Several[Several[str]],
        Field(min_length=1),
        Says('a list of lists of column names, such as [["county", "sex"], ["age"]]'),
    ]
    """The columns of each table; each is published at all levels of their hierarchies."""
    measures: Several[str] = ()
    """What is published of numbers: ``sum(x)``, ``mean(x)``, ``quantiles(x, 0.5, 0.9)``."""
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
    precise: Literal["tables", "cells"] = "tables"
    """Whether each table gets the same noise, or noise by which all cells err least in the mean."""
    find_bounds: FindBounds = ()
    """Columns of numbers without public bounds: these are found, at a share of the budget."""
    bounds_share: BoundsShare = "1/10"
    """What of the budget finding bounds costs, of all these columns together."""

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
        search = BoundsSearch.of(table.plan, self.find_bounds, self.bounds_share)
        terms = replace(self._terms, search=search)
        asked = NoisyTables.of(search.widest(table.plan), terms)
        neighbours = asked.contribution.neighbours("add-remove")
        price = Price(randomness.token("release"), asked.budget.events(neighbours))
        pay(price)
        plan = search.found(table, asked.budget, asked.contribution, randomness)
        asked = NoisyTables.of(plan, terms) if search.columns else asked
        counted = asked.counted(table, randomness)
        noisy = asked.noisy(counted, randomness.key("measured"))
        measurements = table.measured(noisy)
        release = Release(
            table=table.published_cells(asked.cells(measurements)),
            method=self._method(asked),
            disclosure=asked.disclosure,
            guarantee=asked.guarantee,
            roles={},
            release_id=price.release_id,
            publishable=randomness.publishable,
            measurements=measurements,
        )
        return Publication(
            release,
            _private(table, asked, counted, release, search.told(plan)),
            events=price.events,
        )

    @cached_property
    def _budget(self) -> NoiseBudget:
        return NoiseBudget.of(self.epsilon, self.delta, self.rho)

    @property
    def _terms(self) -> TableTerms:
        return TableTerms(
            tables=self.tables,
            budget=self._budget,
            measures=self.measures,
            rows_per_person=self.rows_per_person,
            confidence=Decimal(self.confidence),
            show_from=None if self.show_from is None else Decimal(self.show_from),
            widest=self.rho is not None,
            precise=self.precise,
        )

    def _method(self, asked: NoisyTables) -> Mapping[str, object]:
        given: dict[str, object] = {
            "tables": [list(one) for one in self.tables],
            "measures": list(self.measures) or None,
            **asked.budget.document(),
            "rows_per_person": self.rows_per_person,
            "confidence": json_number(Decimal(self.confidence)),
            "show_from": None if self.show_from is None else json_number(Decimal(self.show_from)),
            "precise": self.precise if self.precise != "tables" else None,
            "find_bounds": list(self.find_bounds) or None,
            "bounds_share": self.bounds_share if self.find_bounds else None,
        }
        shown = {name: value for name, value in given.items() if value is not None}
        return {"name": _NAME, **shown, "decision": {}}


def _private(
    table: PrivateTable,
    asked: NoisyTables,
    counts: TableCounts,
    release: Release,
    found: Sequence[str],
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
        notices=(*table.notes, *found, *asked.contribution.left_out(counts)),
        summary=f"by {len(asked.shares):,} tables with noise",
        published="cells",
    )
