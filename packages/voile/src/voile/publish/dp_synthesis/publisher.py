"""The publisher of synthetic rows; see the package's docstring."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from typing import Annotated, Any, ClassVar

from pydantic import Field

from voile.disclosure.counted import Synthetic
from voile.disclosure.shown import Disclosure
from voile.dp.events import PrivacyEvent
from voile.dp.zcdp import epsilon_of, rho_within
from voile.publish.capabilities import Capabilities
from voile.publish.contribution import Contribution, RowsPerPerson
from voile.publish.dp_synthesis.drawing import DrawnRows
from voile.publish.dp_synthesis.facts import PublicFacts
from voile.publish.dp_synthesis.fitting import fitted
from voile.publish.dp_synthesis.measuring import (
    Measurements,
    TableShare,
    measured,
    shares_of,
    tables_of,
)
from voile.publish.publisher import SingleRelease, refuse_ranking
from voile.publish.shown import shown_roles
from voile.release.claims import MeasuredTable, SynthesizedPrivately
from voile.release.history import History
from voile.release.payment import Pay, Price, unaccounted
from voile.release.release import Guarantee, PrivateRecord, Publication, Release
from voile.schema.domain import ColumnDomain, public_domain
from voile.schema.numbers import json_number, plain_text
from voile.schema.plan import Plan
from voile.schema.roles import Protected
from voile.table.domains import TableCounts
from voile.table.private import PrivateTable
from voile_base.errors import PlanError, nearest
from voile_base.randomness import Randomness
from voile_base.values.value import Number, Says, Several, checked

__all__ = ["DPSynthesis"]

_NAME = "dp-synthesis"
_MOST_PAIRS, _MOST_CELLS, _MOST_ROWS = 1_000, 2_000_000, 100_000_000
_DELTA = Decimal("1e-6")
"""At which the epsilon of a rho is stated where the plan names none."""
_TIMES = re.compile(r"[1-9][0-9]{0,3}x")
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
    rho: Fraction | None
    """None: pure."""
    epsilon: Decimal
    delta: Decimal | None

    @property
    def events(self) -> tuple[PrivacyEvent, ...]:
        """What a release spends."""
        neighbours = self.contribution.neighbours("add-remove")
        if self.rho is None:
            return (PrivacyEvent("discrete-laplace", self.epsilon, neighbours=neighbours),)
        return (PrivacyEvent.concentrated("discrete-gaussian", self.rho, neighbours),)

    @property
    def guarantee(self) -> Guarantee:
        """What a release promises."""
        who, epsilon = self.contribution.somebody, plain_text(self.epsilon)
        tables = tuple(
            MeasuredTable(
                columns=tuple(self.domain[place].name for place in share.columns),
                cells=share.cells,
                noise=str(_noise_of(share, self.contribution.rows)),
            )
            for share in self.shares
        )
        claim = SynthesizedPrivately(
            epsilon=self.epsilon,
            delta=self.delta,
            rho=None if self.rho is None else str(self.rho),
            neighbours=self.contribution.neighbours("add-remove"),
            rows_per_person=self.contribution.stated,
            tables=tables,
        )
        kind = (
            f"{epsilon}-differentially private"
            if self.rho is None
            else f"rho = {self.rho} zero-concentrated differentially private, "
            f"({epsilon}, {self.delta:.3g})-differentially private"
        )
        statement = (
            f"{kind} for {who} more or less: the rows are made up from {len(tables):,} tables of "
            "counts with noise, and are nobody's; a made-up row may equal a real one by chance"
            f"{self.contribution.taking_part}"
        )
        return Guarantee((claim,), statement, (self.contribution.assumed, *_ASSUMES))


def _noise_of(share: TableShare, rows: int) -> Fraction:
    """The variance of Gaussian noise, or the scale of Laplace noise."""
    return rows / share.share if share.pure else Fraction(rows) ** 2 / (2 * share.share)


@checked(PlanError)
@dataclass(frozen=True)
class DPSynthesis(SingleRelease):
    """Publish made-up rows that count like the rows of the table.

    One of ``epsilon`` and ``rho`` is needed.  Raises ``PlanError`` for parameters that cannot be.
    """

    capabilities: ClassVar[Capabilities] = Capabilities(persons=True, any_rows=True)

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
    """Public facts: combinations of values that no row has; see ``facts``."""
    together: (
        Annotated[
            Several[Several[str]],
            Field(min_length=1),
            Says('a list of lists of column names, such as [["age", "sex"]]'),
        ]
        | None
    ) = None
    """Sets of columns all pairs of which are measured; None: all pairs of all columns."""

    def __post_init__(self) -> None:
        if (self.epsilon is None) == (self.rho is None):
            msg = "one of epsilon and rho is needed, and not both"
            raise PlanError(msg)
        if (
            isinstance(self.rows, str)
            and self.rows != "estimated"
            and not _TIMES.fullmatch(self.rows)
        ):
            msg = 'rows must be "estimated", a whole number, or a multiple such as "10x"'
            raise PlanError(msg)
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
        price = Price(randomness.token("release"), asked.events)
        pay(price)
        sets = [share.columns for share in asked.shares]
        counts = table.count_tables(asked.domain, sets, asked.contribution.rows, randomness)
        sizes = tuple(map(len, asked.domain))
        noisy = measured(
            asked.shares, counts.counts, asked.contribution.rows, randomness.key("measured")
        )
        measurements = Measurements(sizes, noisy)
        release = self._release(table, asked, measurements, randomness, price)
        return Publication(release, _private(table, asked, counts, release), events=price.events)

    @cached_property
    def _budget(self) -> tuple[Fraction | None, Decimal, Decimal | None]:
        """Rho, None for a pure budget; epsilon; delta."""
        delta = None if self.delta is None else Decimal(self.delta)
        if self.rho is not None:
            rho, delta = _fraction(self.rho), delta or _DELTA
            return rho, epsilon_of(rho, delta), delta
        assert self.epsilon is not None
        epsilon = Decimal(self.epsilon)
        return (None if delta is None else rho_within(epsilon, delta)), epsilon, delta

    def _asked(self, plan: Plan) -> _Asked:
        """What a plan asks for; raises ``PlanError``."""
        try:
            self._refuse_roles(plan)
            domain = public_domain(plan)
            rho, epsilon, delta = self._budget
            tables = self._tables(domain)
            sizes = list(map(len, domain))
            budget = Fraction(epsilon) if rho is None else rho
            shares = shares_of(tables, sizes, budget, pure=rho is None)
            _require_few(shares)
            contribution = _contribution(plan, self.rows_per_person)
            for share in shares:
                share.noise(contribution.rows)
            facts = PublicFacts.of(self.zeros, domain)
        except PlanError as error:
            text = str(error)
            raise (
                error if plan.source and text.startswith(plan.source) else plan.error(text)
            ) from None
        return _Asked(domain, shares, facts, contribution, rho, epsilon, delta)

    def _refuse_roles(self, plan: Plan) -> None:
        if plan.roles.keep:
            msg = (
                f"[roles] keep names {', '.join(map(repr, plan.roles.keep))}, and made-up rows "
                "keep nothing of a row; give the column another role, or leave it out"
            )
            raise PlanError(msg)
        if len(plan.roles.published) < 2:
            msg = "[roles] names fewer than two columns to publish, and synthesis is about several"
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
        randomness: Randomness,
        price: Price,
    ) -> Release:
        """What is made of measurements; of the table nothing but its engine is used."""
        mixture = fitted(measurements, asked.facts.impossible(asked.domain))
        rows = self._rows(mixture.total)
        key = randomness.key("made-up rows")
        drawn = DrawnRows(mixture, asked.domain, asked.facts, rows, key)
        shown = table.made_rows(asked.domain, drawn)
        noise = [
            ([asked.domain[place] for place in one.columns], one.counts, str(one.variance))
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
            method=self._method(asked),
            disclosure=Disclosure(columns=columns),
            guarantee=asked.guarantee,
            roles=shown_roles(table.plan.roles, shown.columns),
            release_id=price.release_id,
            publishable=randomness.publishable,
            measurements=table.measured(noise),
        )

    def _rows(self, total: float) -> int:
        if isinstance(self.rows, int):
            return self.rows
        times = 1 if self.rows == "estimated" else int(self.rows.removesuffix("x"))
        return min(max(round(total * times), 1), _MOST_ROWS)

    def _method(self, asked: _Asked) -> Mapping[str, Any]:
        given: dict[str, Any] = {
            "epsilon": json_number(asked.epsilon),
            "delta": None if asked.delta is None else json_number(asked.delta),
            "rho": None if asked.rho is None else str(asked.rho),
            "rows_per_person": self.rows_per_person,
            "rows": self.rows,
            "zeros": list(self.zeros) or None,
            "together": self.together and [list(one) for one in self.together],
        }
        shown = {name: value for name, value in given.items() if value is not None}
        return {"name": _NAME, **shown, "decision": {}}


def _fraction(text: str) -> Fraction:
    try:
        rho = Fraction(text)
    except (ValueError, ZeroDivisionError):
        rho = Fraction(0)
    if rho <= 0 or "e" in text.casefold():
        msg = f'rho must be a fraction above 0 as a text, such as "1/64" or "0.02", not {text!r}'
        raise PlanError(msg)
    return rho


def _contribution(plan: Plan, rows: int | None) -> Contribution:
    """Who is protected, by the plan alone: how many rows persons have tells about them."""
    protected: Protected = plan.roles.protected
    if protected == "row" and rows is not None:
        msg = (
            f"[method] rows_per_person = {rows}: the plan names no column that tells persons "
            'apart. Say which it is, person = "COLUMN" in [roles], or leave rows_per_person out'
        )
        raise PlanError(msg)
    if protected != "row" and rows is None:
        msg = (
            f"[method] rows_per_person is missing: say how many rows of each {protected} take "
            "part at most; 1 where each has one row"
        )
        raise PlanError(msg)
    return Contribution(protected, rows or 1)


def _require_few(shares: Sequence[TableShare]) -> None:
    pairs = [share for share in shares if len(share.columns) > 1]
    cells = sum(share.cells for share in shares)
    if len(pairs) > _MOST_PAIRS:
        msg = (
            f"[method] {len(pairs):,} pairs of columns are too many, and {_MOST_PAIRS:,} are the "
            "most; publish fewer columns, or say together = [[...], [...]]"
        )
        raise PlanError(msg)
    if cells > _MOST_CELLS:
        largest = max(shares, key=lambda share: share.cells)
        msg = (
            f"[method] {cells:,} cells of all tables are too many, and {_MOST_CELLS:,} are the "
            f"most (the largest table has {largest.cells:,}); coarsen the columns with most "
            "values by edges or a hierarchy, or say together = [[...], [...]]"
        )
        raise PlanError(msg)


def _private(
    table: PrivateTable, asked: _Asked, counts: TableCounts, release: Release
) -> PrivateRecord:
    """What the custodian may know."""
    notices = list(table.notes)
    if counts.left_out:
        notices.append(
            "rows left out, because a value is missing or not in the domain of its column "
            f'(list "other", or say nulls = "category"): {counts.left_out:,}'
        )
    if counts.beyond:
        notices.append(
            f"rows that did not take part, because at most {asked.contribution.rows:,} of each "
            f"{asked.contribution.protected} do (rows_per_person): {counts.beyond:,}"
        )
    notices.append(
        "what is computed from made-up rows has larger errors than its formulas say: "
        "measurements.parquet has the noisy counts and their variances"
    )
    return PrivateRecord(
        rows_in=counts.rows + counts.left_out + counts.beyond,
        rows_out=release.rows,
        suppressed=counts.left_out + counts.beyond,
        held=0,
        objective=plain_text(asked.epsilon),
        decision={"tables": len(asked.shares)},
        notices=tuple(notices),
        summary=f"by {len(asked.shares):,} tables with noise",
        published="made-up rows",
    )
