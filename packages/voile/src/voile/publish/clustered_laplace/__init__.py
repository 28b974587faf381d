"""Laplace noise within clusters of similar values.

Publishes: each numeric quasi-identifier with noise, as ``NAME`` and as an interval from
``NAME.low`` to ``NAME.high`` that holds the value with a stated confidence; other columns as they
are, all rows, in an order that tells nothing.

Source: "Privacy-Preserving Bin-Packing With Differential Privacy" (IEEE OJ-CS 2022), Algorithm 2
and eqs. 21 to 23.

Guarantee, with ``bounds = "public"`` (the default): epsilon-differential privacy of the perturbed
values for one row replaced by another within the public bounds.  The budget of a column is spent
on the borders of the clusters (private quantiles, a tenth), on drawing the cluster of each row
(randomized response), and on noise of scale width / budget around the value, which is first moved
into the drawn cluster.  Given the borders and its cluster, a row's start differs by at most the
width from that of any other row, so the three budgets add up (sequential composition).

Persons with several rows (``rows_per_person = m``): at most m rows of each are published
(``publish.contribution``), and neighbours differ in the values of all rows of a person: in m rows
at most, in as many on both sides.  A row gets an m-th of the budget; ``columns`` says why.

With ``bounds = "data"``, the seed's algorithm, each value is only indistinguishable from the
others of its own cluster.  Borders and ranges come from the data: one row can change the scale of
every other, and the privacy loss is unbounded (50 rows, a range that one value moves from 1 to
10, epsilon 1: a loss of 116).

Algorithm: the engine counts distinct values; ``columns`` decides clusters, split and grid;
the engine draws a cluster and noise for each row, as a function of a key and the row's identity.
Noise is an exact discrete Laplace draw on a power-of-two grid (``voile.dp.discrete_noise``).

Cost: one pass over n rows to count, some 0.1 microseconds a row and column to draw; O(d c) memory
for d distinct values and c clusters.

Departures from the source: the formal variant; exact noise in place of floating point; rows of
one value stay in one cluster; clusters of a single value, which the seed publishes without any
noise, join a neighbour.  The interval's half-width r has P(noise within r) >= confidence on both
sides together (eq. 23); an upper end alone is right with probability (1 + confidence) / 2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import ROUND_FLOOR, Decimal
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from voile.disclosure.shown import Disclosure
from voile.dp.exact import uniform_words
from voile.publish.assembled import exactly, shown_roles
from voile.publish.clustered_laplace.decision import ColumnTerms, NoisyColumn
from voile.publish.contribution import Contribution, RowsPerPerson, refuse_carrying
from voile.publish.publisher import (
    Capabilities,
    MethodCard,
    Parameter,
    SingleRelease,
    Suppressed,
    refuse_ranking,
)
from voile.release.history import History
from voile.release.method_claims import DifferentialPrivacy, IndistinguishabilityWithinClusters
from voile.release.release import (
    Guarantee,
    LeftOpen,
    Pay,
    Price,
    PrivateRecord,
    Publication,
    Release,
    unaccounted,
)
from voile.schema.numbers import json_number, plain_text
from voile.table.decisions import Treatment
from voile.table.private import PrivateTable
from voile_base.errors import PlanError
from voile_base.ondemand import dataclass
from voile_base.randomness import Randomness
from voile_base.values.value import Exact, KeptAs, Number, Says, Several, checked

__all__ = ["Bounds", "ClusteredLaplace"]

_NAME = "clustered-laplace"
_SHARES = tuple(Decimal(share) for share in ("0.05", "0.3", "0.3", "0.3", "0.05"))
_STEP = Decimal("1e-12")

Bounds = Literal["public", "data"]
"""Where clusters come from: public bounds and private quantiles, or the data, as in the seed."""
_COMMON = (
    LeftOpen("that a person is in the table is not hidden, nor is the number of rows"),
    "columns published as they are tell nothing about the perturbed ones",
)


def _whole(shares: tuple[Decimal, ...]) -> tuple[Decimal, ...]:
    if sum(shares) != 1:
        raise PydanticCustomError("whole", "whose sum is 1")
    return shares


@checked(PlanError)
@dataclass(frozen=True)
class ClusteredLaplace(SingleRelease):
    """Publish numeric quasi-identifiers with noise, each as a value and an interval around it.

    Exactly one of ``epsilon`` and ``error`` is needed.  Raises ``PlanError`` for parameters that
    cannot be.
    """

    capabilities: ClassVar[Capabilities] = Capabilities(
        persons=True,
        exact_kept=True,
        no_series=(
            "each release draws its noise anew, and what releases with public bounds tell together "
            "is bounded by the budget of their data set, with [budget]"
        ),
        card=MethodCard(
            "clustered-laplace",
            "Add Laplace noise to numbers, with a budget",
            "Differential privacy for the numbers of a row; every number comes with an interval.",
            "Precision, and a budget that does not come back. All other columns stay as they are.",
            "the columns that others may know are not numbers with public bounds.",
            (
                Parameter(
                    "epsilon",
                    "epsilon",
                    ("0.1", "0.5", "1", "2", "4"),
                    ("0.5", "1", "2"),
                    "the loss of privacy: smaller is safer and less exact",
                ),
            ),
        ),
    )

    epsilon: Annotated[Number, Field(gt=0)] | None = None
    """The budget of a row, or of a person, shared equally by the columns; above 0."""
    shares: Annotated[
        Sequence[Decimal | float],
        KeptAs(Annotated[Several[Annotated[Exact, Field(gt=0)]], AfterValidator(_whole)]),
        Says("a list of numbers above 0 whose sum is 1, for example [0.05, 0.3, 0.3, 0.3, 0.05]"),
    ] = _SHARES
    """Shares of the rows in the clusters, ascending by value; above 0, their sum is 1."""
    confidence: Annotated[Number, Field(ge=0, lt=1)] = Decimal("0.7")
    """The probability with which an interval holds the value it was drawn around; 0 to below 1."""
    error: Annotated[Number, Field(gt=0)] | None = None
    """Instead of ``epsilon``: the half-width that the widest interval may have, above 0."""
    bounds: Bounds = "public"
    """Where clusters come from."""
    suppressed: Suppressed = "drop"
    """Whether rows that earlier releases of the data set left waiting join this one ("carry")."""
    rows_per_person: RowsPerPerson | None = None
    """Rows of a person, or of a household, that take part at most; None: persons have one row."""

    def __post_init__(self) -> None:
        if self.carries:
            refuse_carrying(self.rows_per_person)
        if (self.epsilon is None) == (self.error is None):
            msg = "either epsilon or error is needed, and not both"
            raise PlanError(msg)
        if self.error is not None and not self.confidence:
            msg = "error is a half-width at a confidence; give a confidence above 0"
            raise PlanError(msg)
        if self.error is not None and self.bounds == "public" and len(self.shares) > 1:
            msg = (
                "error is of use where the ranges of the clusters are known beforehand: with "
                'shares = [1.0], or with bounds = "data"; otherwise give epsilon'
            )
            raise PlanError(msg)

    @property
    def carries(self) -> bool:
        """Whether rows that are left out join the next pool of the data set."""
        return self.suppressed == "carry"

    def prepare(
        self,
        table: PrivateTable,
        randomness: Randomness,
        history: History | None = None,
        pay: Pay = unaccounted,
    ) -> Publication:
        """Make a release, and with it what must stay private and what it spends.

        Raises ``PlanError`` where bounds are missing or no column can be perturbed, and
        ``TableError`` for bad input, before anything is drawn; ``InfeasibleError`` where clusters
        come from data of one value.
        """
        refuse_ranking(table, _NAME)
        contribution = Contribution.of(table, self.rows_per_person, _NAME)
        columns = table.plan.roles.quasi_identifiers
        _refuse_unusable(table, columns)
        terms = [self._terms(table, column, contribution) for column in columns]
        counts = [table.count_values(column) for column in columns]
        events = tuple(
            event for pair in zip(terms, counts, strict=True) for event in ColumnTerms.price(*pair)
        )
        price = Price(randomness.token("release"), events)
        pay(price)
        everybody, table = table, contribution.bounded(table, randomness)
        if contribution.beyond:
            counts = [table.count_values(column) for column in columns]
        decided = [
            asked.decide(found, uniform_words(randomness.key("borders", asked.column)))
            for asked, found in zip(terms, counts, strict=True)
        ]
        perturbations = [
            noisy.perturbation(found.values, _declared(table, noisy.column))
            for noisy, found in zip(decided, counts, strict=True)
        ]
        shown = table.apply(Treatment(tuple(perturbations)), randomness)
        release = Release(
            table=shown,
            method=self._method(decided),
            disclosure=self._disclosure(table, decided),
            guarantee=self._promise(decided),
            roles=shown_roles(table.plan.roles, shown.columns),
            release_id=price.release_id,
            publishable=randomness.publishable,
        )
        widest = max(noisy.widest for noisy in decided)
        private = PrivateRecord(
            rows_in=table.rows + table.dropped,
            rows_out=shown.rows,
            suppressed=table.dropped,
            held=0,
            objective=plain_text(widest),
            decision={"clusters": {noisy.column: len(noisy.clusters) for noisy in decided}},
            notices=(*table.notes, *self._notices(decided)),
            summary=f"with noise; the widest interval reaches {widest:,.6g} to either side",
        )
        publication = Publication(release, private, events=price.events)
        return contribution.told(publication, everybody.rows)

    def _terms(self, table: PrivateTable, column: str, contribution: Contribution) -> ColumnTerms:
        parts = contribution.rows * len(table.plan.roles.quasi_identifiers)
        assert isinstance(self.confidence, Decimal)
        declared = table.plan.column(column).bounds
        if self.bounds == "public" and declared is None:
            msg = (
                f"column {column!r} needs bounds in the plan, publicly known ones: [columns."
                f"{column}] bounds = [low, high]. They are never taken from the data; "
                'bounds = "data" in [method] takes the clusters from there, as the source does, '
                "and is not differentially private"
            )
            raise PlanError(msg)
        return ColumnTerms(
            column=column,
            shares=tuple(Decimal(share) for share in self.shares),
            confidence=self.confidence,
            epsilon=None if self.epsilon is None else _share_of(Decimal(self.epsilon), parts),
            error=None if self.error is None else Decimal(self.error),
            bounds=declared if self.bounds == "public" else None,
            contribution=contribution,
        )

    def _promise(self, decided: Sequence[NoisyColumn]) -> Guarantee:
        if self.bounds == "data":
            epsilon = max(noisy.split.noise for noisy in decided)
            rows = decided[0].contribution.rows
            return _guarantee_within_clusters(rows * epsilon * len(decided), decided)
        events = [event for noisy in decided for event in noisy.events]
        return _formal_guarantee(sum((event.epsilon for event in events), Decimal(0)), decided)

    def _method(self, decided: Sequence[NoisyColumn]) -> Mapping[str, object]:
        name, asked = ("error", self.error) if self.epsilon is None else ("epsilon", self.epsilon)
        assert isinstance(asked, Decimal)
        return {
            "name": _NAME,
            name: json_number(asked),
            "shares": [json_number(Decimal(share)) for share in self.shares],
            "confidence": json_number(Decimal(self.confidence)),
            "bounds": self.bounds,
            **({"rows_per_person": self.rows_per_person} if self.rows_per_person else {}),
            "decision": {"columns": {noisy.column: noisy.document() for noisy in decided}},
        }

    def _disclosure(self, table: PrivateTable, decided: Sequence[NoisyColumn]) -> Disclosure:
        """The perturbed columns with their noise, and all others as they are."""
        shares = [Decimal(share) for share in self.shares]
        noisy = {
            column.column: column.shown(shares, _declared(table, column.column))
            for column in decided
        }
        return Disclosure(columns=exactly(table.plan.roles.published) | noisy)

    def _notices(self, decided: Sequence[NoisyColumn]) -> Iterator[str]:
        if self.bounds == "data":
            yield (
                "the clusters were taken from the data: this is not differential privacy, no "
                "budget is spent, and a single extreme value shows in the width of its interval"
            )
        for noisy in decided:
            if len(noisy.clusters) < len(self.shares):
                yield (
                    f"column {noisy.column!r}: {len(noisy.clusters)} instead of "
                    f"{len(self.shares)} clusters were used, which promises less error or avoids "
                    "clusters of a single value"
                )


def _refuse_unusable(table: PrivateTable, columns: Sequence[str]) -> None:
    if not columns:
        msg = f"[roles] quasi_identifiers names no column; {_NAME} perturbs those"
        raise PlanError(msg)
    for column, kind in table.kinds(columns).items():
        if kind != "number":
            msg = (
                f"[roles] the quasi-identifier {column!r} holds no numbers, but values of kind "
                f"{kind}, and {_NAME} perturbs numbers only; leave it out of the plan, or use "
                "another method"
            )
            raise PlanError(msg)


def _declared(table: PrivateTable, column: str) -> tuple[Decimal, Decimal] | None:
    return table.plan.column(column).bounds


def _share_of(epsilon: Decimal, parts: int) -> Decimal:
    return (epsilon / parts).quantize(_STEP, rounding=ROUND_FLOOR) if parts > 1 else epsilon


def _formal_guarantee(epsilon: Decimal, columns: Sequence[NoisyColumn]) -> Guarantee:
    """With public bounds: differential privacy of the perturbed values of a row or a person."""
    budget, contribution = plain_text(epsilon), columns[0].contribution
    statement = (
        f"{budget}-differentially private for {_named(columns)}: replacing {contribution.values} "
        "by any others within the public bounds changes the probability of every possible release "
        f"by a factor of at most e^{budget}{contribution.taking_part}"
    )
    claim = DifferentialPrivacy(
        epsilon=epsilon,
        neighbours=contribution.neighbours("replace"),
        rows_per_person=contribution.stated,
        budget={
            column.column: {event.mechanism: event.epsilon for event in column.events}
            for column in columns
        },
    )
    assumes = (
        contribution.assumed,
        *_COMMON,
        "the bounds in the plan are public facts; values outside them count as the nearest bound",
    )
    return Guarantee((claim,), statement, assumes)


def _guarantee_within_clusters(epsilon: Decimal, columns: Sequence[NoisyColumn]) -> Guarantee:
    """With clusters taken from the data, as in the seed: what holds is much less."""
    contribution = columns[0].contribution
    budget, named = plain_text(epsilon), _named(columns)
    if contribution.protected == "row":
        what = (
            f"each value of {named} is {budget}-indistinguishable from every other value of its "
            "own cluster"
        )
    else:
        what = (
            f"{contribution.values} of {named} are together {budget}-indistinguishable from any "
            "others of their own clusters"
        )
    statement = (
        f"{what}, for an adversary who knows the clusters and who is in which. This is NOT "
        "differential privacy: the borders and ranges of the clusters, and who is in which, come "
        "from the data without protection, so one row can change the noise of many"
        f"{contribution.taking_part}"
    )
    claim = IndistinguishabilityWithinClusters(
        epsilon=epsilon, within="clusters", rows_per_person=contribution.stated
    )
    assumes = (
        contribution.assumed,
        *_COMMON,
        "the range of each cluster, and who is in it, are known to everybody",
    )
    return Guarantee((claim,), statement, assumes)


def _named(columns: Sequence[NoisyColumn]) -> str:
    return " and ".join(repr(column.column) for column in columns)
