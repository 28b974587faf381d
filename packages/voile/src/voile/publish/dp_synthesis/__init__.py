"""Differentially private synthesis: made-up rows that count like the rows of the table.

Publishes: rows of nobody over public domains, and the noisy tables that they were made from
(``measurements``), of which whoever wants intervals computes them.

Guarantee: rho-zero-concentrated differential privacy for one row, or one person with at most m
rows, more or less, by discrete Gaussian noise; or, without a delta, pure epsilon by discrete
Laplace noise.  Source of both: ``voile.dp``; price of each table: ``measuring``.

Proof of the price.  The domain, the tables, the shares and the noise follow from the plan alone.
Which cell a row counts in is a function of its own values, and which rows of a person take part
is one of that person's rows and a key (``publish.contribution``), so neighbours' counts of table
t differ by a vector of whole numbers whose absolute values sum to at most m: its squared length
is at most m^2.  With variance m^2 / (2 rho_t) the noisy table is rho_t-concentrated private
(Canonne, Kamath and Steinke 2020, Theorem 4); tables are drawn independently, so all of them
together are sum rho_t = rho (Bun and Steinke 2016, Lemma 1.7), and (epsilon, delta)-private by
one conversion of the sum.  Everything after ``measured`` sees the measurements, the plan and a
key: the fit (``mixture`` can import no table), the number of rows, the rows.  So it costs nothing
more, can be repeated by anybody, and takes a number of steps that tells nothing.

What ends a call before a charge depends on the plan alone: values beyond the domain, missing ones,
an empty table or ids that are missing are counted somewhere, or left out, and refuse nothing.

Algorithm: (1) the engine counts all one-way tables and all pairs in one pass; (2) noise; (3) a
mixture of products is fitted (``mixture``); (4) rows are drawn from it, part by part.

Departure from the field's select-measure-generate: nothing is selected.  All pairs are measured
once, their precision set by their size, which beat every selection that was tried.

Cost: the count; a V x V array for V cells of all columns; 600 steps.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import cached_property
from math import comb
from pathlib import Path
from typing import Annotated, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from voile.disclosure.counted import Synthetic
from voile.disclosure.shown import Disclosure
from voile.dp.accounting import PrivacyEvent
from voile.proposal.writing import OF_BUDGET, MethodProposal
from voile.publish.assembled import shown_roles
from voile.publish.contribution import Contribution, RowsPerPerson
from voile.publish.dp_synthesis.mixture import DrawnRows, Mixture, PublicFacts
from voile.publish.measuring import (
    BoundsSearch,
    BoundsShare,
    FindBounds,
    Measurements,
    NoiseBudget,
    TableShare,
    measured,
    shares_of,
    tables_of,
)
from voile.publish.publisher import (
    Capabilities,
    MethodCard,
    Parameter,
    SingleRelease,
    refuse_ranking,
)
from voile.release.history import History
from voile.release.method_claims import MeasuredTable, SynthesizedPrivately
from voile.release.release import (
    Guarantee,
    Pay,
    Price,
    PrivateRecord,
    Publication,
    Release,
    read_release,
    unaccounted,
)
from voile.schema.domain import ColumnDomain, public_domain
from voile.schema.numbers import plain_text
from voile.schema.plan import Plan
from voile.table.domains import NoisyCells, TableCounts
from voile.table.private import PrivateTable
from voile_base.errors import InputError, PlanError, nearest
from voile_base.ondemand import dataclass
from voile_base.randomness import Randomness
from voile_base.values.value import InPlanFolder, Number, Says, Several, checked

__all__ = ["DPSynthesis"]

_NAME = "dp-synthesis"
_MOST_PAIRS, _MOST_CELLS, _MOST_ROWS = 1_000, 2_000_000, 100_000_000
_MOST_OF_TABLE = 1_000_000
_LAST = "last"
_TIMES = re.compile(r"[1-9][0-9]{0,3}x")
_PROPOSAL = MethodProposal(
    f"""\
[method]
name = "{_NAME}"  # made-up rows that count like the table: docs/methods/dp-synthesis.md
{OF_BUDGET}# zeros = ["age < 15 AND married = 'yes'"] states what cannot be, by public knowledge
""",
    over_domains=True,
)
_DELTA, _CONFIDENCE = Decimal("0.000001"), Decimal("0.95")


def _errors_told(epsilon: float, columns: int) -> str:
    """Half of a 95 % interval of a cell of two columns, of which all pairs have the same share."""
    pairs = comb(columns, 2) / 0.9  # of the budget, a tenth is spent on single columns
    if not pairs:
        return "nothing to tell: synthesis is about several columns"
    half = NoiseBudget.of(Decimal(repr(epsilon)), _DELTA, None).half_width(pairs, _CONFIDENCE)
    return f"{half:.3g} in each cell of two columns"


_CARD = MethodCard(
    _NAME,
    "Made-up rows that count like the table",
    "Differential privacy: whether somebody is in the table hardly changes what is published, "
    "whatever others know. The rows are nobody's.",
    "No row is true, small counts are noise, and a budget that does not come back.",
    "the table has fewer than a few hundred rows, or somebody needs true rows; for counts that are "
    "known beforehand, tables with noise are more precise.",
    (
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
            ("0.000001",),
            "the chance that the promise fails; without it noise is Laplace and never fails",
            needed=False,
        ),
        Parameter(
            "together",
            "these columns together",
            (),
            (),
            "only pairs within a set are counted, each more precisely; none: all pairs",
            needed=False,
            sets=True,
        ),
    ),
    _errors_told,
)
_ASSUMES = (
    "domains, bounds, edges, hierarchies, zeros and the budget are public facts and were chosen "
    "without looking at the rows",
)


@dataclass(frozen=True, eq=False)
class _Asked:
    """All that follows from a plan, before a row is looked at; public."""

    domain: tuple[ColumnDomain, ...]
    shares: tuple[TableShare, ...]
    facts: PublicFacts
    contribution: Contribution
    budget: NoiseBudget
    confidence: float | None
    search: BoundsSearch

    @property
    def events(self) -> tuple[PrivacyEvent, ...]:
        """What a release spends."""
        return self.budget.events(self.contribution.neighbours("add-remove"))

    @property
    def guarantee(self) -> Guarantee:
        """What a release promises."""
        who, budget = self.contribution.somebody, self.budget
        tables = tuple(
            MeasuredTable(
                columns=tuple(self.domain[place].name for place in share.columns),
                cells=share.cells,
                noise=share.stated(self.contribution.rows),
            )
            for share in self.shares
        )
        claim = SynthesizedPrivately(
            epsilon=budget.epsilon,
            delta=budget.delta,
            rho=None if budget.rho is None else str(budget.rho),
            neighbours=self.contribution.neighbours("add-remove"),
            rows_per_person=self.contribution.stated,
            tables=tables,
            searched=self.search.tables(budget, self.contribution),
            confidence=self.confidence,
        )
        statement = (
            f"{budget.words} for {who} more or less: the rows are made up from {len(tables):,} "
            "tables of counts with noise, and are nobody's; a made-up row may equal a real one by "
            f"chance{self.contribution.taking_part}"
        )
        return Guarantee((claim,), statement, (self.contribution.assumed, *_ASSUMES))


@checked(PlanError)
@dataclass(frozen=True)
class DPSynthesis(SingleRelease):
    """Publish made-up rows that count like the rows of the table.

    One of ``epsilon`` and ``rho`` is needed.  Raises ``PlanError`` for parameters that cannot be.
    """

    capabilities: ClassVar[Capabilities] = Capabilities(
        persons=True, any_rows=True, proposal=_PROPOSAL, card=_CARD
    )

    epsilon: Annotated[Number, Field(gt=0)] | None = None
    """The budget, above 0; with ``delta`` it is spent on Gaussian noise, without on Laplace."""
    delta: Annotated[Number, Field(gt=0, lt=1)] | None = None
    """Between 0 and 1; None: pure epsilon, or one in a million beside ``rho``."""
    rho: Annotated[str, Says('a fraction above 0 as a text, for example "1/64"')] | None = None
    """The budget in zero-concentrated differential privacy, exactly."""
    rows_per_person: RowsPerPerson | None = None
    """Rows of a person, or of a household, that take part at most; None: persons have one row."""
    rows: Annotated[
        Annotated[int, Field(ge=1, le=_MOST_ROWS)] | str,
        Says(
            f'"estimated", a whole number from 1 to {_MOST_ROWS:,}, or a multiple such as "10x"',
            within=False,
        ),
    ] = "estimated"
    """How many rows are made: as many as there seem to be, a number, or a multiple of the first."""
    zeros: Several[str] = ()
    """Public facts: combinations of values that no row has; see ``mixture``."""
    start: (
        Annotated[
            str,
            Field(min_length=1),
            Says(f'the folder of an earlier release, or "{_LAST}"'),
            InPlanFolder((_LAST,)),
        ]
        | None
    ) = None
    """An earlier release that the fit begins with, which costs nothing: its folder, or the last one
    of the data set that is found."""
    confidence: Annotated[Number, Field(gt=0, lt=1)] | None = None
    """Of the intervals of answers from the noisy counts, where nobody asks for another."""
    together: (
        Annotated[
            Several[Several[str]],
            Field(min_length=1),
            Says('a list of lists of column names, such as [["age", "sex"]]'),
        ]
        | None
    ) = None
    """Sets of columns all pairs of which are measured; None: all pairs of all columns."""

    find_bounds: FindBounds = ()
    """Columns of numbers without public bounds: these are found, at a share of the budget."""
    bounds_share: BoundsShare = "1/10"
    """What of the budget finding bounds costs, of all these columns together."""

    def __post_init__(self) -> None:
        if (
            isinstance(self.rows, str)
            and self.rows != "estimated"
            and not _TIMES.fullmatch(self.rows)
        ):
            msg = 'rows must be "estimated", a whole number, or a multiple such as "10x"'
            raise PlanError(msg)
        self._budget  # noqa: B018 - it is checked

    def following(self, earlier: Sequence[Path] | None) -> Self:
        """Itself, beginning with the last of these that are made-up rows, where the plan says so.

        Raises ``PlanError`` where nothing accounts for them.
        """
        if self.start != _LAST:
            return self
        if earlier is None:
            msg = (
                f'[method] start = "{_LAST}" is the last release of a data set, and nothing '
                "accounts for one: say [budget] and --ledger, or name the folder of a release"
            )
            raise PlanError(msg)
        made_up = (folder for folder in earlier if _is_made_up(read_release(folder)))
        first = next(made_up, None)
        return replace(self, start=None if first is None else str(first))

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
        asked = self._asked(search.widest(table.plan), search)
        if self.start == _LAST:
            self.following(None)
        earlier = None if self.start is None else _Earlier.of(self.start, table.plan, asked)
        price = Price(randomness.token("release"), asked.events)
        pay(price)
        plan = search.found(table, asked.budget, asked.contribution, randomness)
        if search.columns:
            asked = self._asked(plan, search)
            if self.start is not None:
                earlier = _Earlier.of(self.start, plan, asked)
        sets = [share.columns for share in asked.shares]
        counts = table.count_tables(asked.domain, sets, asked.contribution.rows, randomness)
        sizes = tuple(map(len, asked.domain))
        noisy = measured(
            asked.shares, counts.counts, asked.contribution.rows, randomness.key("measured")
        )
        measurements = Measurements(sizes, noisy)
        release = self._release(table, asked, measurements, earlier, randomness, price)
        return Publication(
            release,
            _private(table, asked, counts, release, search.told(plan)),
            events=price.events,
        )

    @cached_property
    def _budget(self) -> NoiseBudget:
        return NoiseBudget.of(self.epsilon, self.delta, self.rho)

    def _asked(self, plan: Plan, search: BoundsSearch) -> _Asked:
        """What a plan asks for; raises ``PlanError``."""
        try:
            self._refuse_roles(plan)
            domain = public_domain(plan)
            tables = self._tables(domain)
            sizes = list(map(len, domain))
            budget = self._budget
            shares = shares_of(tables, sizes, budget.total * search.rest, pure=budget.pure)
            _require_few(shares)
            contribution = Contribution.by_plan(plan, self.rows_per_person)
            for share in shares:
                share.noise(contribution.rows)
            facts = PublicFacts.of(self.zeros, domain)
            _refuse_facts_of_found(facts, domain, search)
        except PlanError as error:
            raise plan.located(error) from None
        confidence = None if self.confidence is None else float(self.confidence)
        return _Asked(domain, shares, facts, contribution, budget, confidence, search)

    def _refuse_roles(self, plan: Plan) -> None:
        if plan.roles.keep:
            msg = (
                f"[roles] keep names {', '.join(map(repr, plan.roles.keep))}, and made-up rows "
                "keep nothing of a row; give the column another role, or leave it out"
            )
            raise PlanError(msg)
        if len(plan.roles.published) < 2:
            msg = (
                "[roles] names fewer than two columns to publish, and synthesis is about several; "
                'name another one, or publish counts of the one by name = "dp-tables"'
            )
            raise PlanError(msg)

    def _tables(self, domain: Sequence[ColumnDomain]) -> list[tuple[int, ...]]:
        names = [column.name for column in domain]
        for name in (name for one in self.together or () for name in one):
            if name not in names:
                hint = nearest(name, names)
                msg = f"[method] together names the column {name!r}, which is not published{hint}"
                raise PlanError(msg)
        together = (
            None
            if self.together is None
            else [[names.index(name) for name in set(one)] for one in self.together]
        )
        return tables_of(len(names), together)

    def _release(
        self,
        table: PrivateTable,
        asked: _Asked,
        measurements: Measurements,
        earlier: _Earlier | None,
        randomness: Randomness,
        price: Price,
    ) -> Release:
        """What is made of measurements; of the table nothing but its engine is used."""
        known = None if earlier is None else earlier.counts
        mixture = Mixture.fitted(measurements, asked.facts.impossible(asked.domain), known)
        rows = self._rows(mixture.total)
        key = randomness.key("made-up rows")
        drawn = DrawnRows(mixture, asked.domain, asked.facts, rows, key)
        shown = table.made_rows(asked.domain, drawn)
        noise = [
            NoisyCells(
                [asked.domain[place] for place in one.columns],
                [0] * len(one.columns),
                one.counts,
                str(one.variance),
            )
            for one in measurements.tables
        ]
        columns = {
            column.name: Synthetic(
                cells=len(column), values=column.leaves, groups=column.groups or None
            )
            for column in asked.domain
        }
        return Release(
            table=shown,
            method=self._method(asked, earlier),
            disclosure=Disclosure(columns=columns),
            guarantee=asked.guarantee,
            roles=shown_roles(table.plan.roles, shown.columns),
            release_id=price.release_id,
            publishable=randomness.publishable and (earlier is None or earlier.publishable),
            measurements=table.measured(noise),
        )

    def _rows(self, total: float) -> int:
        if isinstance(self.rows, int):
            return self.rows
        times = 1 if self.rows == "estimated" else int(self.rows.removesuffix("x"))
        return min(max(round(total * times), 1), _MOST_ROWS)

    def _method(self, asked: _Asked, earlier: _Earlier | None) -> Mapping[str, object]:
        given: dict[str, object] = {
            **asked.budget.document(),
            "rows_per_person": self.rows_per_person,
            "start": None if earlier is None else earlier.release_id,
            "confidence": None if self.confidence is None else float(self.confidence),
            "rows": self.rows,
            "zeros": list(self.zeros) or None,
            "together": self.together and [list(one) for one in self.together],
            "find_bounds": list(self.find_bounds) or None,
            "bounds_share": self.bounds_share if self.find_bounds else None,
        }
        shown = {name: value for name, value in given.items() if value is not None}
        return {"name": _NAME, **shown, "decision": {}}


@dataclass(frozen=True, eq=False)
class _Earlier:
    """What an earlier release counts; public."""

    release_id: str
    publishable: bool
    counts: tuple[NDArray[np.int64], ...]

    @classmethod
    def of(cls, folder: str, plan: Plan, asked: _Asked) -> _Earlier:
        """The counts of a release in a folder; raises ``PlanError`` where it is no such release."""
        try:
            release = read_release(folder)
        except InputError as error:
            raise plan.error(f"[method] start: {error}") from None
        if not _is_made_up(release):
            msg = (
                f"[method] start = {folder!r} is a release of another kind: synthetic rows begin "
                "with synthetic rows, whose price is paid"
            )
            raise plan.error(msg)
        absent = [it.name for it in asked.domain if it.name not in release.table.columns]
        if absent:
            msg = (
                f"[method] start = {folder!r} is a release without the column {absent[0]!r}; begin "
                "with one of the same columns, or leave start out"
            )
            raise plan.error(msg)
        sets = [share.columns for share in asked.shares]
        counts = TableCounts.count(release.table, plan, asked.domain, sets).counts
        return cls(release.release_id, release.publishable, counts)


def _is_made_up(release: Release) -> bool:
    return any(isinstance(claim, SynthesizedPrivately) for claim in release.guarantee.claims)


def _refuse_facts_of_found(
    facts: PublicFacts, domain: Sequence[ColumnDomain], search: BoundsSearch
) -> None:
    """Raise ``PlanError`` for facts about a column whose ranges are not known before it is paid."""
    named = {domain[place].name for fact in facts.facts for place in fact}
    for name in search.columns:
        if name in named:
            msg = (
                f"zeros states a fact about the column {name!r}, whose bounds are to be found: "
                "state its bounds and edges, or leave the fact out"
            )
            raise PlanError(msg)


def _require_few(shares: Sequence[TableShare]) -> None:
    pairs = [share for share in shares if len(share.columns) > 1]
    cells = sum(share.cells for share in shares)
    if len(pairs) > _MOST_PAIRS:
        msg = (
            f"[method] {len(pairs):,} pairs of columns are too many, and {_MOST_PAIRS:,} are the "
            "most; publish fewer columns, or say together = [[...], [...]]"
        )
        raise PlanError(msg)
    largest = max(shares, key=lambda share: share.cells)
    if largest.cells >= _MOST_OF_TABLE:
        msg = (
            f"[method] the largest table has {largest.cells:,} cells, and fewer than "
            f"{_MOST_OF_TABLE:,} are needed, for noise covers all of them; coarsen its columns by "
            "edges or a hierarchy, or say together = [[...], [...]]"
        )
        raise PlanError(msg)
    if cells > _MOST_CELLS:
        msg = (
            f"[method] {cells:,} cells of all tables are too many, and {_MOST_CELLS:,} are the "
            f"most (the largest table has {largest.cells:,}); coarsen the columns with most "
            "values by edges or a hierarchy, or say together = [[...], [...]]"
        )
        raise PlanError(msg)


def _private(
    table: PrivateTable,
    asked: _Asked,
    counts: TableCounts,
    release: Release,
    found: Sequence[str],
) -> PrivateRecord:
    """What the custodian may know."""
    notices = [*table.notes, *found, *asked.contribution.left_out(counts)]
    notices.append(
        "what is computed from made-up rows has larger errors than its formulas say: "
        "measurements.parquet has the noisy counts and their variances"
    )
    return PrivateRecord(
        rows_in=counts.rows + counts.left_out + counts.beyond,
        rows_out=release.rows,
        suppressed=counts.left_out + counts.beyond,
        held=0,
        objective=plain_text(asked.budget.epsilon),
        decision={"tables": len(asked.shares)},
        notices=tuple(notices),
        summary=f"by {len(asked.shares):,} tables with noise",
        published="made-up rows",
    )
