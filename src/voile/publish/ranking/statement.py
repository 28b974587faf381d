"""The guarantee of a ranking in words, and why there may be none."""

from __future__ import annotations

from dataclasses import dataclass

from voile.errors import InfeasibleError
from voile.publish.generalization.terms import Demands
from voile.publish.ranking.groups import Groups
from voile.publish.ranking.remnant import Ties
from voile.publish.ranking.terms import SearchTerms
from voile.release.claims import Ranking
from voile.release.release import Guarantee

__all__ = ["Promise", "nothing_found"]

_ASSUMES = (
    "what anybody knows of a person beforehand stands in the quasi-identifiers and ranking "
    "attributes, and in no other published column",
    "each person is one row",
    "k, top, precision and the weights were chosen without looking at the rows",
    "nobody reasons backwards from the choice of the boxes, nor from who is left out",
    "no other published data is derived from the same rows",
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
class Promise:
    """What a ranking was asked for."""

    terms: SearchTerms
    top: int
    ties: Ties
    demands: Demands
    sensitive: bool
    """Whether sensitive columns are published."""
    thresholded: bool
    """Whether groups have a least score besides their box."""

    def guarantee(self) -> Guarantee:
        """What it promises."""
        k = self.terms.k
        border = "all" if self.ties == "top" else "none"
        threshold = " and whose score is not below the least of its group" * self.thresholded
        statement = (
            f"every published row shares all that is shown of its quasi-identifiers and ranking "
            f"attributes with at least {k - 1} others, so that nobody who knows them can tell "
            f"which of {k} or more rows is a person's; of all rows of the table whose ranking "
            f"attributes lie in a published box{threshold}, a share of at least "
            f"{float(self.terms.precision):.6g} is among the best {self.top:,} ({border} of the "
            "rows that tie at the border are)"
        )
        statement += self.demands.words
        assumes = list(_ASSUMES)
        if self.sensitive and not self.demands.words:
            assumes.append(_SENSITIVE)
        if self.thresholded:
            assumes.append(_THRESHOLD)
        return Guarantee((self._claim(),), statement, tuple(assumes))

    def _claim(self) -> Ranking:
        return Ranking(
            k=self.terms.k,
            precision=float(self.terms.precision),
            top=self.top,
            ties=self.ties,
            **self.demands.claims(),
        )


def nothing_found(found: Groups, terms: SearchTerms, search: str) -> InfeasibleError:
    """No group was found; says whether none exists."""
    share = f"{float(terms.precision):.6g}"
    remedy = "lower k or precision, or ask for more of the best rows (top)"
    if found.stop == "impossible":
        return InfeasibleError(
            f"no ranking exists: no box between the extremes of the best {found.tops:,} rows holds "
            f"{terms.k:,} rows or more of which a share of {share} is among them (proved); {remedy}"
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
