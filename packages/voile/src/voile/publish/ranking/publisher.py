"""The publisher of k-anonymous rankings.

What it publishes: groups of at least k rows around the best rows of a table.  A group shows the
smallest box around the ranking attributes of its rows and the range of scores in it; their
quasi-identifiers are generalized to the least that covers them.

Source: "K-ARQ: k-Anonymous Ranking Query" (POSTECH, 2011).

Guarantee: each published row shares all that is shown of its quasi-identifiers and ranking
attributes with k - 1 others, and of the rows of the table in a published box a share of at least
``precision`` is among the best ``top``.  Both are measured again on what is published
(``measuring``).  With ``l`` the sensitive values of each group are diverse as well.

Persons with several rows: a group has rows of at least k persons, l values are those of l different
ones, and the check counts both anew.  ``top`` counts persons, by the best row of each: the best
rows are all that score no less than the last of these.  Precision, recall and the searches count
appearances: a person once in each place, however many of the rows stand there.  So repeating all
rows changes nothing, and whoever knows one row of a person finds k persons in its group.  Who knows
several finds a group for each, and intersects them (``schema.persons``).

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

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field, Strict

from voile.models.k_anonymity import KAnonymity
from voile.publish.generalization.statement import refuse_series, series_terms
from voile.publish.generalization.terms import AskedCriteria, AskedDiversity, Demands, Diversity
from voile.publish.publisher import Capabilities, MethodCard, Parameter, SingleRelease
from voile.publish.ranking.decision import CountedTop, Ranked, follow, rank, shown_columns
from voile.publish.ranking.groups import Remnant, Search, SearchTerms, Ties
from voile.publish.ranking.lasting import LastingQuery, lasting_boxes
from voile.publish.ranking.local_search import (
    LIMITED,
    PARAMETERS,
    Candidates,
    Elements,
    SearchName,
    search,
)
from voile.publish.ranking.measuring import disclosure, document, exact_json, measure, texts_of
from voile.publish.ranking.scoring import Scoring, parse
from voile.publish.ranking.statement import (
    RankingPromise,
    nothing_found,
    refuse_of_series,
    told_of_boxes,
    told_of_search,
)
from voile.publish.shown import shown_roles
from voile.release.check import check_against_counts, check_departures
from voile.release.history import History, Version, now
from voile.release.release import Pay, PrivateRecord, Publication, Release, SeriesPlace, unaccounted
from voile.schema.numbers import json_number
from voile.schema.plan import Plan
from voile.schema.roles import Protected
from voile.table.decisions import Grouping, Treatment
from voile.table.private import PrivateTable, TopRows
from voile_base.errors import InfeasibleError, PlanError, TableError
from voile_base.randomness import Randomness
from voile_base.values.value import Exact, KeptAs, Number, Says, checked

__all__ = ["Ranking"]

_NAME = "ranking"
_ALPHA = (
    "a whole number, at least 1: how many rows are on the list of grasp (a share is slack, of "
    "growing-exchange)"
)


@checked(PlanError)
@dataclass(frozen=True)
class Ranking(SingleRelease):
    """Publish what the best rows look like, in boxes of at least k rows.

    Raises ``PlanError`` for parameters that cannot be.
    """

    capabilities: ClassVar[Capabilities] = Capabilities(
        persons=True,
        card=MethodCard(
            "ranking",
            "Show the best, none singled out",
            "Each published row looks like at least k - 1 others; most in a group are among "
            "the best.",
            "Rows that are not among the best, and detail.",
            "no column ranks the rows.",
            (
                Parameter(
                    "k",
                    "k",
                    ("2", "3", "5", "10", "20", "50", "100"),
                    ("5",),
                    "rows in a group, at least",
                ),
                Parameter(
                    "top",
                    "top",
                    ("10", "50", "100"),
                    ("50", "100"),
                    "how many of the best are shown",
                ),
            ),
        ),
    )

    k: Annotated[int, Field(ge=2)]
    """Least number of rows in a group, or of persons where these have several; at least 2."""
    top: Annotated[int, Field(ge=1)]
    """How many rows are best, or persons by their best row; at least k."""
    precision: Number = Decimal("0.7")
    """Least share of best rows among all rows in a box, above 0 and at most 1; rows of a person
    that agree in what is ranked by count once."""
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
    theta: Number | None = None
    """Of ``theta`` and ``theta-rapid``: how far below the best precision a candidate may lie, from
    0 to 1; None: 0.04."""
    alpha: Annotated[int, Field(ge=1), Says(_ALPHA)] | None = None
    """Of ``grasp``: how many rows are on the list that it draws from; None: 3."""
    iterations: Annotated[int, Field(ge=1)] | None = None
    """Of ``theta``: draws; None: 3.  Of ``theta-rapid``: the same; None: 6.  Of ``grasp`` and
    ``growing-exchange``: how often it starts anew; None: 1 and 32."""
    exchange: (
        Annotated[tuple[int, int], Strict(False), Says("two whole numbers, such as [2, 2]")] | None
    ) = None
    """Of ``grasp`` and ``theta``: how many rows leave a set and how many enter it; None: 1 and 1.
    Of ``growing-exchange``: layers taken off a box, and rows put in at most; None: 2 and 2."""
    candidates: Candidates | None = None
    """Of ``grasp``, ``theta`` and ``theta-rapid``: whether sets of fewer than k rows are left out
    ("feasible") or compared as well ("all"); None: left out."""
    elements: Elements | None = None
    """Of the same: whether a set is of the rows that were "chosen", or of all top rows "in-box";
    None: chosen for ``grasp``, in the box for the others."""
    lift: Number | None = None
    """Of ``peeling-lift``: the least gain in precision of a step; None: 0.04."""
    slack: Number | None = None
    """Of ``growing-exchange``: 0 takes the best row, 1 any; None: 0.3."""
    work: Annotated[int, Field(ge=1)] | None = None
    """Of ``exact`` and ``auto``: how many boxes are looked at for a group, on any machine; None:
    100,000.  Of ``grasp``, ``theta`` and ``theta-rapid``: for an attempt; None: a million."""
    seconds: Number | None = None
    """Of ``exact`` and ``auto``: a limit of time besides; what it allows depends on the machine."""
    series: Annotated[str, Field(min_length=1)] | None = None
    """Name that ties the releases of one table together whose people come and go; see
    ``lasting``."""
    record_key: Annotated[str, Field(min_length=1)] | None = None
    """Of a series: the column that tells its rows apart, in every release."""

    def __post_init__(self) -> None:
        if self.k > self.top:
            msg = (
                f"k = {self.k:,} is above top = {self.top:,}: a group would have more rows than "
                "are best; lower k, or raise top"
            )
            raise PlanError(msg)
        if isinstance(self.by, str):
            parse(self.by)
        self._search()
        self._terms()
        assert self.l is None or isinstance(self.l, Diversity)
        refuse_of_series(self.series, self.record_key, self.search, self.l, self.criteria)

    @property
    def ranks(self) -> bool:
        """A single ranking is about the best rows alone; a series follows all."""
        return not self.series

    def get_ready(self) -> None:
        """Load the compiled searches, half a second that can pass while a table is read."""
        values = np.arange(8).reshape(4, 2)
        remnant = Remnant.of_rows(values, values.sum(axis=1), 2)
        self._search()(remnant, SearchTerms(2, Fraction(1)), Randomness.seeded(0).key("ready"))

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
        if self.series:
            refuse_series(table, self.record_key)
            return self._next_of_series(table, randomness, history)
        plan, terms = table.plan, self._terms()
        scoring, demands = self._scoring(plan), self._demands(plan)
        best = self._best(table, scoring)
        columns = [*scoring.columns, *plan.roles.quasi_identifiers, *demands.columns]
        counts = best.table.count_combinations(columns)
        criteria = demands.criteria(dict(zip(counts.columns, counts.values, strict=True)), plan)
        top = CountedTop.of(counts, best.tops, scoring, plan)
        ranked = rank(top, terms, self._search(), criteria, randomness.key(_NAME))
        if not ranked.kept:
            raise self._nothing(ranked, terms, plan.roles.protected)
        columns_shown = shown_columns(ranked, counts, plan)
        grouping = Grouping.of_counts(counts, ranked.group)
        shown, whose = best.table.apply_counted(Treatment(columns_shown, grouping), randomness)
        groups = measure(shown, columns_shown, ranked, top, plan, terms, whose)
        decision = {
            "groups": [document(group, scoring.expression.shift) for group in groups],
            "recall": round(float(ranked.recall), 6),
        }
        release = Release(
            table=shown,
            method={**self._method(scoring, plan), "decision": decision},
            disclosure=disclosure(plan, counts, columns_shown),
            guarantee=self._promise(plan, terms, demands).guarantee(),
            roles=shown_roles(plan.roles, shown.columns),
            release_id=randomness.token("release"),
            publishable=randomness.publishable,
        )
        if whose is not None:
            check_against_counts(release, [KAnonymity(self.k), *criteria], counts, whose)
        notices = (
            *best.table.notes,
            *told_of_search(ranked, self.search, self.top, plan.roles.protected),
        )
        return Publication(release, self._record(table, release, ranked, notices))

    def _next_of_series(
        self, table: PrivateTable, randomness: Randomness, history: History | None
    ) -> Publication:
        """Make the next release of a series; see ``lasting``."""
        assert self.series is not None
        assert self.record_key is not None
        plan, terms = table.plan, self._terms()
        scoring, demands = self._scoring(plan), self._demands(plan)
        method = texts_of(self._method(scoring, plan)) | {"boxes": "last"}
        agreed = series_terms(self.series, self.record_key, method, table, demands)
        history = history or History(agreed, randomness.key("series", self.series).secret)
        history.terms.refuse_difference(agreed)
        history.refuse_earlier_clock(now())
        number = history.next_number
        draw = randomness.key("departures", self.series, str(number))
        tops = self._best(table.read(), scoring).tops
        found = follow(table, tops, history, scoring, demands, draw)
        asked = LastingQuery(terms, self._search(), found.criteria, randomness.key(_NAME))
        made = lasting_boxes(found.members, found.top, found.number, asked, plan)
        latest, counts = history.latest, found.top.counts
        check_departures(latest.blocks if latest else None, made.blocks, self.k)
        grouping = Grouping.of_counts(counts, made.ranked.group)
        shown = table.apply(Treatment(made.columns, grouping), randomness)
        groups = measure(shown, made.columns, made.ranked, found.top, plan, terms)
        shift, promised = scoring.expression.shift, Decimal(self.precision)
        decision = {"groups": [document(group, shift, promised) for group in groups]}
        release = Release(
            table=shown,
            method={**self._method(scoring, plan), "decision": decision},
            disclosure=disclosure(plan, counts, made.columns),
            guarantee=self._promise(plan, terms, demands).guarantee(),
            roles=shown_roles(plan.roles, shown.columns),
            release_id=randomness.token("release", self.series, str(number)),
            publishable=randomness.publishable,
            series=SeriesPlace(name=self.series, version=number),
        )
        check_against_counts(release, [KAnonymity(self.k), *found.criteria], counts)
        version = Version(
            number, release.release_id, now(), made.blocks, made.published, made.retired
        )
        notices = (*table.notes, *told_of_boxes(made, self.k))
        private = PrivateRecord(
            rows_in=table.rows + table.dropped,
            rows_out=release.rows,
            suppressed=table.dropped + table.rows - release.rows - made.waiting,
            held=made.waiting,
            objective=_text(made.recall),
            decision={"groups": len(groups), "best": tops, "stop": made.ranked.found.stop},
            notices=notices,
            summary=_summary(len(groups), made.recall, tops),
        )
        return Publication(release, private, history.appended(version))

    def _promise(self, plan: Plan, terms: SearchTerms, demands: Demands) -> RankingPromise:
        return RankingPromise(
            terms,
            self.top,
            self.ties,
            demands,
            plan.roles.protected,
            sensitive=bool(plan.roles.sensitive),
            thresholded=self.search == "perfect-precision",
            series=self.series,
        )

    def _terms(self) -> SearchTerms:
        limits = dict(self._given) if self.search in LIMITED else {}
        if self.seconds is not None and limits:
            limits["seconds"] = float(self.seconds)
        batch = 2 * self.k if self.batch is None else self.batch
        return SearchTerms(k=self.k, precision=Fraction(self.precision), batch=batch, **limits)

    def _search(self) -> Search:
        return search(self.search, **self._given)

    @property
    def _given(self) -> Mapping[str, Any]:
        """The parameters of a search that the plan sets."""
        given = {name: getattr(self, name) for name in PARAMETERS}
        return {
            name: Fraction(value) if isinstance(value, Decimal) else value
            for name, value in given.items()
            if value is not None
        }

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
        if self.top > table.units:
            who = table.plan.roles.protected
            msg = f"top = {self.top:,} is above the number of {who}s, {table.units:,}; lower it"
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
                f"more than top = {self.top:,} {table.plan.roles.protected}s share the best score, "
                'and ties = "none" counts none of them; use ties = "top", or a larger top'
            )
            raise InfeasibleError(msg)
        return best

    def _demands(self, plan: Plan) -> Demands:
        """What is asked of the sensitive columns."""
        assert self.l is None or isinstance(self.l, Diversity)
        return Demands.of(plan.roles, self.l, None, self.criteria)

    def _nothing(self, ranked: Ranked, terms: SearchTerms, protected: Protected) -> InfeasibleError:
        if ranked.found.groups:
            return InfeasibleError(
                "groups were found, but none whose sensitive values are as diverse as l and the "
                "other criteria ask; lower l, or raise k or top"
            )
        return nothing_found(ranked.found, terms, self.search, protected)

    def _method(self, scoring: Scoring, plan: Plan) -> Mapping[str, Any]:
        """Name and parameters, with all that a reader needs to compute a score."""
        signed = {m.column: exact_json(weight) for m, weight in scoring.expression.weights.items()}
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
            objective=_text(ranked.recall),
            decision={"groups": groups, "best": ranked.found.tops, "stop": ranked.found.stop},
            notices=notices,
            summary=_summary(groups, ranked.recall, ranked.found.tops),
        )


def _text(share: Fraction) -> str:
    return format(Decimal(repr(float(share))), "f")


def _summary(groups: int, recall: Fraction, best: int) -> str:
    return (
        f"in {groups:,} group{'s' * (groups != 1)}, which show {float(recall):.1%} of the best "
        f"{best:,}"
    )
