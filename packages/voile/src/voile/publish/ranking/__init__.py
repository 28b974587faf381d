"""Top-k rankings as boxes of at least k rows.

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

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Annotated, ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, Strict

from voile.models.criteria import Criterion
from voile.models.k_anonymity import KAnonymity
from voile.publish.assembled import shown_roles
from voile.publish.contribution import assumed_of_units, known_rows, stated_unit
from voile.publish.generalization.lasting import settled
from voile.publish.generalization.problem import (
    AskedCriteria,
    AskedDiversity,
    Demands,
    Diversity,
    demanded,
)
from voile.publish.generalization.statement import (
    number_of_rows,
    refuse_criteria_of_series,
    refuse_series,
    series_terms,
    told_of_withheld,
)
from voile.publish.publisher import Capabilities, MethodCard, Parameter, SingleRelease
from voile.publish.ranking.decision import CountedTop, LastingBoxes, LastingQuery, Ranked
from voile.publish.ranking.groups import RankedBoxes, Remnant, Search, SearchTerms, Ties
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
from voile.release.check import check_against_counts, check_departures
from voile.release.history import History, Version, now
from voile.release.method_claims import RankingClaim
from voile.release.release import (
    Guarantee,
    LeftOpen,
    Pay,
    PrivateRecord,
    Publication,
    Release,
    SeriesPlace,
    unaccounted,
)
from voile.schema.numbers import json_number
from voile.schema.persons import others_told, units_told
from voile.schema.plan import Plan
from voile.schema.roles import Protected
from voile.table.decisions import Grouping, Treatment
from voile.table.matching import Members
from voile.table.private import PrivateTable, TopRows
from voile_base.errors import InfeasibleError, PlanError, TableError
from voile_base.ondemand import dataclass
from voile_base.randomness import Key, Randomness
from voile_base.values import Document
from voile_base.values.value import Exact, KeptAs, Number, Says, checked

if TYPE_CHECKING:
    from voile.publish.ranking.decision import LastingBoxes

__all__ = [
    "Ranking",
]

_ASSUMES = (
    "what anybody knows of a person beforehand stands in the quasi-identifiers and ranking "
    "attributes, and in no other published column",
    "{whose}",
    "k, top, precision and the weights were chosen without looking at the rows",
    "nobody reasons backwards from the choice of the boxes, nor from who is left out",
    "no other published data is derived from the same rows",
)
_ASSUMES_OF_SERIES = (
    "what anybody knows of a person beforehand stands in the quasi-identifiers and ranking "
    "attributes, and in no other published column",
    "which boxes are shown, and when, tells nothing new of ranking attributes: they are known of "
    "everybody",
    "k, top, precision and the weights were chosen without looking at the rows",
    "nobody knows of attempts that ended without a release",
    "the record key names the same person in every release, and each person once",
    "no other published data is derived from the same rows than the releases of the series",
)
_SENSITIVE = LeftOpen(
    "a group says nothing about the sensitive values of its rows only as long as they differ: if "
    "they are all alike, everybody learns them (l asks that they differ)"
)
_THRESHOLD = (
    "nobody reasons from the least score of a group: it is the exact score of a person, and cuts "
    "corners off the box in which k rows lie"
)


@dataclass(frozen=True)
class _RankingPromise:
    """What a ranking was asked for."""

    terms: SearchTerms
    top: int
    ties: Ties
    demands: Demands
    protected: Protected
    sensitive: bool
    """Whether sensitive columns are published."""
    thresholded: bool
    """Whether groups have a least score besides their box."""
    series: str | None = None

    def guarantee(self) -> Guarantee:
        """What it promises."""
        k = self.terms.k
        border = "all" if self.ties == "top" else "none"
        threshold = " and whose score is not below the least of its group" * self.thresholded
        who = self.protected
        hidden = (
            f"at least {others_told('row', k - 1)}, so that nobody who knows them can tell which "
            f"of {k} or more rows is a person's"
            if who == "row"
            else f"rows of at least {others_told(who, k - 1)}, so that nobody who knows those "
            f"of one row of a {who} can tell whose of {k} or more {who}s the row is"
        )
        best = (
            f"among the best {self.top:,} ({border} of the rows that tie at the border are)"
            if who == "row"
            else f"of a score that the best {self.top:,} {who}s reach with their best rows "
            f"({border} of the {who}s that tie at the border are among them); rows of one {who} "
            "that agree in all ranking attributes count once"
        )
        statement = (
            f"every published row shares all that is shown of its quasi-identifiers and ranking "
            f"attributes with {hidden}; of all rows of the table whose ranking attributes lie in a "
            f"published box{threshold}, a share of at least {float(self.terms.precision):.6g} is "
            f"{best}"
        )
        statement += self.demands.words_of(who)
        if self.series:
            statement += self._over_time
        stated = _ASSUMES_OF_SERIES if self.series else _ASSUMES
        assumes = [each.replace("{whose}", assumed_of_units(who)) for each in stated]
        if self.sensitive and not self.demands.words:
            assumes.append(_SENSITIVE)
        if self.thresholded:
            assumes.append(_THRESHOLD)
        if who != "row":
            assumes.append(known_rows(who))
        return Guarantee((self._claim(),), statement, tuple(assumes))

    @property
    def _over_time(self) -> str:
        diverse = (
            ", and for nobody, shown or not, with fewer different sensitive values than a group has"
        )
        return (
            f". Over all releases of series {self.series!r}: whoever intersects and subtracts "
            "their groups, knows how they are made, and when each person joined and left, is left "
            f"with rows of at least {self.terms.k} people{diverse * bool(self.demands.words)}"
        )

    def _claim(self) -> RankingClaim:
        return RankingClaim(
            k=self.terms.k,
            precision=float(self.terms.precision),
            top=self.top,
            ties=self.ties,
            unit=stated_unit(self.protected),
            **self.demands.claims(),
        )


def _told_of_boxes(made: LastingBoxes, k: int) -> Iterator[str]:
    """What a custodian is told of the rows that a series does not show; private."""
    yield from told_of_withheld(made.withheld, k)
    if made.waiting:
        yield (
            f"{number_of_rows(made.waiting)} among the best and in no box: a later release shows "
            "such rows when enough others like them have come"
        )
    if made.imprecise:
        yield (
            f"{number_of_rows(made.imprecise)} in boxes that are not precise today, and shown "
            "again when they are"
        )
    if made.refused:
        yield (
            f"{number_of_rows(made.refused)} in boxes that break what is asked of the sensitive "
            "values, and will never be shown: showing them with others would tell that"
        )


def _told_of_search(ranked: Ranked, search: str, top: int, protected: Protected) -> Iterator[str]:
    """What a custodian is told of a ranking that belongs to no series; private."""
    best = ranked.found.remnant.persons(np.arange(ranked.found.tops))
    if best != top:
        yield (
            f"{best:,} {protected}s instead of {top:,} count as best, because {protected}s share "
            "the score at the border"
        )
    if fewer := len(ranked.found.groups) - len(ranked.kept):
        groups = "1 group was" if fewer == 1 else f"{fewer:,} groups were"
        yield f"{groups} left out, whose sensitive values are not diverse enough"
    if ranked.found.stop == "not found":
        remedy = (
            "work allows a longer search"
            if search in {"auto", "exact"}
            else 'search = "exact" would tell, and "auto" may find one'
        )
        yield f"no further group was found, though one may exist; {remedy}"
    if search == "perfect-precision":
        yield (
            "each box comes with a least score: whoever knows a row's score and attributes can "
            "tell whether it is published"
        )


def _refuse_of_series(
    series: str | None,
    record_key: str | None,
    search: str,
    diversity: Diversity | None,
    criteria: Sequence[object],
) -> None:
    """Raise ``PlanError`` for what a series of rankings has no use for, or cannot promise."""
    if not series:
        if record_key is not None:
            msg = "record_key is of use in a series only; name the series too, or leave it out"
            raise PlanError(msg)
        return
    if search == "perfect-precision":
        msg = (
            'series: search = "perfect-precision" shows the exact score of a person, who may '
            "leave; choose another search"
        )
        raise PlanError(msg)
    refuse_criteria_of_series(diversity, criteria)


def _nothing_found(
    found: RankedBoxes, terms: SearchTerms, search: str, protected: Protected
) -> InfeasibleError:
    """No group was found; says whether none exists."""
    share = f"{float(terms.precision):.6g}"
    rows = f"{'rows of ' * (protected != 'row')}{units_told(protected, terms.k)}"
    remedy = "lower k or precision, or ask for more of the best rows (top)"
    if found.stop == "impossible":
        return InfeasibleError(
            f"no ranking exists: no box between the extremes of the best {found.tops:,} rows holds "
            f"{rows} or more of which a share of {share} is among them (proved); {remedy}"
        )
    if search in {"auto", "exact"}:
        limit = "" if terms.seconds is None else f" or seconds = {terms.seconds:g}"
        return InfeasibleError(
            f"no ranking was found, and one may exist: the search ended at its limit, work = "
            f"{terms.work:,}{limit}. Raise it; or {remedy}"
        )
    return InfeasibleError(
        f'no ranking was found with search = "{search}", and one may exist. Use search = "exact", '
        f'which can tell, or "auto"; or {remedy}'
    )


_NAME = "ranking"
_ALPHA = (
    "a whole number, at least 1: how many rows are on the list of grasp (a share is slack, of "
    "growing-exchange)"
)


@dataclass(frozen=True, eq=False)
class _Followed:
    """All rows of a table, and what earlier releases made of them; private."""

    members: Members
    top: CountedTop
    number: NDArray[np.int64]
    """Shape (g,): the class of each counted combination; see ``table.matching``."""
    criteria: Sequence[Criterion]


def _follow(
    table: PrivateTable, tops: int, history: History, scoring: Scoring, demands: Demands, draw: Key
) -> _Followed:
    """Match and count the rows, without those who left and those that go with them.

    ``tops`` rows are among the best; ``draw`` is of this release alone.  Raises ``TableError``.
    """
    plan, record_key = table.plan, history.terms.record_key
    assert record_key is not None
    members = table.match_members(history.known, history.key, record_key, demands.columns)
    columns = [*scoring.columns, *plan.roles.quasi_identifiers, *demands.columns]
    values = table.count_combinations(columns)
    criteria = demands.criteria(dict(zip(values.columns, values.values, strict=True)), plan)
    members = settled(members, criteria, int(history.terms.method["k"]), draw)
    counts, number = table.count_members(members, columns)
    return _Followed(members, CountedTop.of(counts, tops, scoring, plan), number, criteria)


@checked(PlanError)
@dataclass(frozen=True)
class Ranking(SingleRelease):
    """Publish what the best rows look like, in boxes of at least k rows.

    Raises ``PlanError`` for parameters that cannot be.
    """

    capabilities: ClassVar[Capabilities] = Capabilities(
        rows_in_series=True,
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
    l: AskedDiversity | None = None
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
    ``decision``."""
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
        _refuse_of_series(self.series, self.record_key, self.search, self.l, self.criteria)

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
        ranked = top.rank(terms, self._search(), criteria, randomness.key(_NAME))
        if not ranked.kept:
            raise self._nothing(ranked, terms, plan.roles.protected)
        columns_shown = ranked.shown_columns(counts, plan)
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
            *_told_of_search(ranked, self.search, self.top, plan.roles.protected),
        )
        return Publication(release, self._record(table, release, ranked, notices))

    def _next_of_series(
        self, table: PrivateTable, randomness: Randomness, history: History | None
    ) -> Publication:
        """Make the next release of a series; see ``decision``."""
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
        found = _follow(table, tops, history, scoring, demands, draw)
        asked = LastingQuery(terms, self._search(), found.criteria, randomness.key(_NAME))
        made = LastingBoxes.find(found.members, found.top, found.number, asked, plan)
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
        notices = (*table.notes, *_told_of_boxes(made, self.k))
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

    def _promise(self, plan: Plan, terms: SearchTerms, demands: Demands) -> _RankingPromise:
        return _RankingPromise(
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
    def _given(self) -> Document:
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
        return _nothing_found(ranked.found, terms, self.search, protected)

    def _method(self, scoring: Scoring, plan: Plan) -> Document:
        """Name and parameters, with all that a reader needs to compute a score."""
        signed = {m.column: exact_json(weight) for m, weight in scoring.expression.weights.items()}
        orders = {
            name: plan.columns[name].order for name in scoring.columns if name in plan.columns
        }
        return {
            "name": _NAME,
            "k": self.k,
            **dict(demanded(self.l, None, self.criteria)),
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
