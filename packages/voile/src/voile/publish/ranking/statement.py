"""The guarantee of a ranking in words, and why there may be none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from voile.publish.contribution import assumed_of_units, known_rows, stated_unit
from voile.publish.generalization.statement import (
    number_of_rows,
    refuse_criteria_of_series,
    told_of_withheld,
)
from voile.publish.generalization.terms import Demands, Diversity
from voile.publish.ranking.groups import RankedBoxes, SearchTerms, Ties
from voile.release.claims import RankingClaim
from voile.release.release import Guarantee
from voile.schema.persons import others_told, units_told
from voile.schema.roles import Protected
from voile_base.errors import InfeasibleError, PlanError

if TYPE_CHECKING:  # deciding takes compiled code
    from voile.publish.ranking.decision import Ranked
    from voile.publish.ranking.lasting import LastingBoxes

__all__ = ["RankingPromise", "nothing_found", "refuse_of_series", "told_of_boxes", "told_of_search"]

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
_SENSITIVE = (
    "a group says nothing about the sensitive values of its rows only as long as they differ: if "
    "they are all alike, everybody learns them (l asks that they differ)"
)
_THRESHOLD = (
    "nobody reasons from the least score of a group: it is the exact score of a person, and cuts "
    "corners off the box in which k rows lie"
)


@dataclass(frozen=True)
class RankingPromise:
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


def told_of_boxes(made: LastingBoxes, k: int) -> Iterator[str]:
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


def told_of_search(ranked: Ranked, search: str, top: int, protected: Protected) -> Iterator[str]:
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


def refuse_of_series(
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


def nothing_found(
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
