"""The publisher of k-anonymous rankings.

What it publishes: groups of at least k rows around the best rows of a table.  A group shows the
smallest box around the ranking attributes of its rows and the range of their scores; their
quasi-identifiers are generalized to the least that covers them.

Source: "K-ARQ: k-Anonymous Ranking Query" (POSTECH, 2011).

Guarantee: each published row shares all that is shown of its quasi-identifiers and ranking
attributes with k - 1 others, and of the rows of the table in a published box a share of at least
``precision`` is among the best ``top``.  Both are measured again on what is published
(``measuring``).  With ``l`` the sensitive values of each group are diverse as well.

Algorithm: the engine scores the rows by look-up, finds the least score of the best and keeps the
rows in the box around them; from these alone groups are searched until the best are used up, and
shown.  Rows that tie at the border are all best (``ties = "top"``), or none of them.

Cost: a few passes over n rows; the searches say what they cost on what is left.

Departures: an expression of growing functions serves as score, not weights alone.  Groups whose
sensitive values are not diverse enough are left out after the search, which does not see them.
Nothing outside the box around the best rows is looked at, though a box that reaches beyond it may
be a group where none within is: an infeasibility is proved for boxes within.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field, Strict

from voile.disclosure.disclosure import Disclosure, Groups
from voile.errors import InfeasibleError, PlanError, TableError
from voile.publish.generalization.regions import is_ordered
from voile.publish.generalization.terms import AskedCriteria, AskedDiversity, Demands, Diversity
from voile.publish.publisher import SingleRelease
from voile.publish.ranking.decision import CountedTop, Ranked, rank, shown_columns
from voile.publish.ranking.expression import parse
from voile.publish.ranking.measuring import MeasuredGroup, measure
from voile.publish.ranking.remnant import Remnant, Ties
from voile.publish.ranking.scoring import Scoring
from voile.publish.ranking.searches import search
from voile.publish.ranking.statement import Promise, nothing_found
from voile.publish.ranking.terms import SearchTerms
from voile.publish.shown import Spans, exactly, recoded, shown_roles
from voile.randomness import Randomness
from voile.release.history import History
from voile.release.payment import Pay, unaccounted
from voile.release.release import PrivateRecord, Publication, Release
from voile.schema.numbers import json_number
from voile.schema.plan import ColumnPlan, Plan
from voile.table.decisions import Grouping, RecodedColumn, Treatment
from voile.table.private import PrivateTable, TopRows
from voile.table.published import GROUP
from voile.table.summaries import CombinationCounts
from voile.values.value import Exact, KeptAs, Number, Says, checked

__all__ = ["Ranking"]

_NAME = "ranking"

SearchName = Literal[
    "auto",
    "exact",
    "theta",
    "theta-rapid",
    "grasp",
    "insertion",
    "deletion",
    "mondrian",
    "perfect-recall",
    "perfect-precision",
]


@checked(PlanError)
@dataclass(frozen=True)
class Ranking(SingleRelease):
    """Publish what the best rows look like, in boxes of at least k rows.

    Raises ``PlanError`` for parameters that cannot be.
    """

    k: Annotated[int, Field(ge=2)]
    """Least number of rows in a group; at least 2."""
    top: Annotated[int, Field(ge=1)]
    """How many rows are best; at least k."""
    precision: Number = Decimal("0.7")
    """Least share of best rows among all rows in a box, above 0 and at most 1."""
    by: Annotated[
        Mapping[str, Decimal | float] | str | None,
        KeptAs(dict[str, Annotated[Exact, Field(gt=0)]] | str | None),
        Says("a table of weights, or an expression in quotes", within=False),
    ] = None
    """The weight of each ranking column, above 0, or an ``expression``; None: 1 each."""
    search: SearchName = "auto"
    """How groups are found."""
    ties: Ties = "top"
    """Whether rows that share the score of the last of the best are all best, or none is."""
    batch: Annotated[int, Field(ge=1)] | None = None
    """From how many of the best rows left a group is sought, at least 1; None: from 2 k.

    Few give many small boxes, many give few large ones that publish more of the best rows."""
    l: AskedDiversity | None = None  # noqa: E741 - the name that all know
    """Diversity of the sensitive values of a group, as in ``generalization``."""
    criteria: AskedCriteria = ()
    """Further criteria, each of one sensitive column, as in ``generalization``."""
    theta: Number = Decimal("0.04")
    """Of ``theta``: the least gain in precision of a step."""
    alpha: Number = Decimal("0.3")
    """Of ``grasp``: 0 takes the best step, 1 any."""
    iterations: Annotated[int, Field(ge=1)] = 32
    """Of ``grasp``: how often it starts anew."""
    exchange: Annotated[
        tuple[int, int], Strict(False), Says("two whole numbers, such as [2, 2]")
    ] = (2, 2)
    """Of ``grasp``: an exchange takes out up to m layers of a box and puts in up to n rows."""
    work: Annotated[int, Field(ge=1)] = 100_000
    """Of ``exact`` and ``auto``: how many boxes are looked at for a group, on any machine."""
    seconds: Number | None = None
    """Of ``exact`` and ``auto``: a limit of time besides; what it allows depends on the machine."""

    def __post_init__(self) -> None:
        if self.k > self.top:
            msg = (
                f"k = {self.k:,} is above top = {self.top:,}: a group would have more rows than "
                "are best; lower k, or raise top"
            )
            raise PlanError(msg)
        if isinstance(self.by, str):
            parse(self.by)
        self._terms()

    @property
    def ranks(self) -> bool:
        """A ranking is about the best rows alone."""
        return True

    def get_ready(self) -> None:
        """Load the compiled searches, half a second that can pass while a table is read."""
        values = np.arange(8).reshape(4, 2)
        remnant = Remnant.of_rows(values, values.sum(axis=1), 2)
        search(self.search)(remnant, SearchTerms(2, Fraction(1)), Randomness.seeded(0).key("ready"))

    def prepare(
        self,
        table: PrivateTable,
        randomness: Randomness,
        history: History | None = None,
        pay: Pay = unaccounted,
    ) -> Publication:
        """Make a release, and with it what must stay private.

        Raises ``InfeasibleError`` where no group was found, ``PlanError`` and ``TableError`` for
        what cannot be ranked.
        """
        plan, terms = table.plan, self._terms()
        scoring, demands = self._scoring(plan), self._demands(plan)
        best = self._best(table, scoring)
        columns = [*scoring.columns, *plan.roles.quasi_identifiers, *demands.columns]
        counts = best.table.count_combinations(columns)
        criteria = demands.criteria(dict(zip(counts.columns, counts.values, strict=True)), plan)
        top = CountedTop.of(counts, best.tops, scoring, plan)
        ranked = rank(top, terms, search(self.search), criteria, randomness.key(_NAME))
        if not ranked.kept:
            raise self._nothing(ranked, terms)
        columns_shown = shown_columns(ranked, counts, plan)
        grouping = Grouping.of_counts(counts, ranked.group)
        shown = best.table.apply(Treatment(columns_shown, grouping), randomness)
        groups = measure(shown, columns_shown, ranked, top, plan, terms)
        decision = {
            "groups": [_document(group, scoring.expression.shift) for group in groups],
            "recall": round(float(ranked.recall), 6),
        }
        promise = Promise(
            terms,
            self.top,
            self.ties,
            demands,
            sensitive=bool(plan.roles.sensitive),
            thresholded=self.search == "perfect-precision",
        )
        release = Release(
            table=shown,
            method={**self._method(scoring, plan), "decision": decision},
            disclosure=_disclosure(plan, counts, columns_shown),
            guarantee=promise.guarantee(),
            roles=shown_roles(plan.roles, shown.columns),
            release_id=randomness.token("release"),
            publishable=randomness.publishable,
        )
        notices = (*best.table.notes, *self._notices(ranked))
        return Publication(release, self._record(table, release, ranked, notices))

    def _terms(self) -> SearchTerms:
        return SearchTerms(
            k=self.k,
            precision=Fraction(self.precision),
            batch=2 * self.k if self.batch is None else self.batch,
            theta=Fraction(self.theta),
            alpha=Fraction(self.alpha),
            iterations=self.iterations,
            exchange=self.exchange,
            work=self.work,
            seconds=None if self.seconds is None else float(self.seconds),
        )

    def _scoring(self, plan: Plan) -> Scoring:
        if isinstance(self.by, str):
            return Scoring.of_expression(parse(self.by), plan)
        if self.by is None:
            return Scoring.of_weights(None, plan)
        return Scoring.of_weights({name: Decimal(w) for name, w in self.by.items()}, plan)

    def _best(self, table: PrivateTable, score: Scoring) -> TopRows:
        """The best rows, if some are better than others."""
        score.require_kinds(table)
        best = table.top_rows(score, self.top, ties=self.ties == "top")
        if self.top > table.rows:
            msg = f"top = {self.top:,} is above the number of rows, {table.rows:,}; lower it"
            raise PlanError(msg)
        if 0 < best.tops < table.rows:
            return best
        if table.top_rows(score, 1, ties=True).tops == table.rows:
            msg = (
                "all rows have the same score, so that none is better than another; rank by "
                "columns in which they differ"
            )
            raise TableError(msg)
        if not best.tops:
            msg = (
                f'more than top = {self.top:,} rows share the best score, and ties = "none" '
                'counts none of them; use ties = "top", or a larger top'
            )
            raise InfeasibleError(msg)
        return best

    def _demands(self, plan: Plan) -> Demands:
        """What is asked of the sensitive columns."""
        assert self.l is None or isinstance(self.l, Diversity)
        return Demands.of(plan.roles, self.l, None, self.criteria)

    def _nothing(self, ranked: Ranked, terms: SearchTerms) -> InfeasibleError:
        if ranked.found.groups:
            return InfeasibleError(
                "groups were found, but none whose sensitive values are as diverse as l and the "
                "other criteria ask; lower l, or raise k or top"
            )
        return nothing_found(ranked.found, terms, self.search)

    def _method(self, scoring: Scoring, plan: Plan) -> Mapping[str, Any]:
        """Name and parameters, with all that a reader needs to compute a score."""
        signed = {m.column: _json(weight) for m, weight in scoring.expression.weights.items()}
        orders = {
            name: plan.columns[name].order for name in scoring.columns if name in plan.columns
        }
        return {
            "name": _NAME,
            "k": self.k,
            "top": self.top,
            "precision": json_number(Decimal(self.precision)),
            "by": self.by if isinstance(self.by, str) else signed,
            **(
                {"orders": declared} if (declared := {c: o for c, o in orders.items() if o}) else {}
            ),
            "search": self.search,
            "ties": self.ties,
        }

    def _record(
        self, table: PrivateTable, release: Release, ranked: Ranked, notices: tuple[str, ...]
    ) -> PrivateRecord:
        groups = len(ranked.kept)
        return PrivateRecord(
            rows_in=table.rows + table.dropped,
            rows_out=release.rows,
            suppressed=table.dropped + table.rows - release.rows,
            held=0,
            objective=format(Decimal(repr(float(ranked.recall))), "f"),
            decision={"groups": groups, "best": ranked.found.tops, "stop": ranked.found.stop},
            notices=notices,
            summary=(
                f"in {groups:,} group{'s' * (groups != 1)}, which show {float(ranked.recall):.1%} "
                f"of the best {ranked.found.tops:,}"
            ),
        )

    def _notices(self, ranked: Ranked) -> Iterator[str]:
        if ranked.found.tops != self.top:
            yield (
                f"{ranked.found.tops:,} rows instead of {self.top:,} count as best, because rows "
                "share the score at the border"
            )
        if fewer := len(ranked.found.groups) - len(ranked.kept):
            groups = "1 group was" if fewer == 1 else f"{fewer:,} groups were"
            yield f"{groups} left out, whose sensitive values are not diverse enough"
        if ranked.found.stop == "not found":
            remedy = (
                "work allows a longer search"
                if self.search in {"auto", "exact"}
                else 'search = "exact" would tell, and "auto" may find one'
            )
            yield f"no further group was found, though one may exist; {remedy}"
        if self.search == "perfect-precision":
            yield (
                "each box comes with a least score: whoever knows a row's score and attributes "
                "can tell whether it is published"
            )


def _disclosure(
    plan: Plan, counts: CombinationCounts, shown: Sequence[RecodedColumn]
) -> Disclosure:
    """What is ranked by and quasi-identifiers as the groups show them, and the rest as it is."""
    spans: dict[str, Spans] = {}
    values = dict(zip(counts.columns, counts.values, strict=True))
    for name in (column.column for column in shown):
        declared = plan.columns.get(name, ColumnPlan())
        if name in plan.roles.ranking and declared.order is not None:
            spans[name] = "range"
        elif is_ordered(declared.bind_hierarchy(name, values[name]), values[name]):
            spans[name] = "period"
    by = (*plan.roles.quasi_identifiers, *plan.roles.ranking)
    return Disclosure(
        columns=exactly(plan.roles.published) | recoded(shown, None, spans),
        groups=Groups(column=GROUP, made="alike", by=by),
    )


def _document(group: MeasuredGroup, shift: Fraction) -> Mapping[str, object]:
    """What ``release.json`` says of a group."""
    return {
        "group": group.number,
        "rows": group.rows,
        "precision": round(float(group.precision), 6),
        "score": [_json(shift + end) for end in (group.score_low, group.score_high)],
    }


def _json(value: Fraction) -> int | float:
    return int(value) if value.denominator == 1 else float(value)
