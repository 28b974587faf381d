"""The guarantee of a (k,e)-anonymous release in words, and why there may be none.

What custodians are told about rows that wait, and what a series refuses because of its rule.

The rule itself is ``models.waiting``.  It is part of the terms of a series: neither its batch nor
the rule can change, because what earlier looks told was told under theirs.
"""

from __future__ import annotations

from collections.abc import Iterator

from voile.models.waiting import GROWTH
from voile.publish.ke_anonymity.as_printed import AS_PRINTED
from voile.publish.ke_anonymity.decision import Decision, KETerms
from voile.publish.ke_anonymity.searches import largest_feasible
from voile.release.claims import KEAnonymityClaim
from voile.release.history import SeriesTerms
from voile.release.release import Guarantee
from voile.schema.numbers import ExactNumbers, unscaled
from voile.table.summaries import ValueCounts
from voile_base.errors import InfeasibleError, RefusedError

__all__ = [
    "BATCH_OF_K",
    "guarantee",
    "held_back",
    "infeasible_first",
    "infeasible_next",
    "refuse_other_rule",
]


_ASSUMPTIONS = (
    "nobody but the custodian knows any of the sensitive values",
    "no other published data is derived from the same values",
)
_BORDERS = "the adversary does not reason backwards from the choice of the groups' borders"
_DAYS = (
    "neither the days on which releases are made nor which rows leave the table depend on the "
    "sensitive values"
)
_BEGINNING = (
    "nobody knows of attempts to begin the series that ended without a release, because the rows "
    "were too few or too much alike"
)
_HELD = {
    "union": "the adversary does not reason from which rows were held back, which tells about "
    "their values: rows wait as long as all that wait have, together, fewer than k values or a "
    "range below e. For example, at k = 2 and e = 1000, Eva (3300) and Fay (3500) are held back "
    "until Gus (9000) comes: subtracting the releases leaves 3300, 3500 and 9000 for the three, "
    "and because Eva and Fay had to wait, they span less than 1000, so that Gus has 9000",
    "pairwise": "the adversary does not reason from when there was no release",
}
_SINGLED_OUT = {
    "union": "every set of rows that can be singled out by intersecting and subtracting groups of "
    "any number of releases",
    "pairwise": "every intersection and difference of one group of an earlier release and one "
    "group of this one",
}
_PRINTED = {
    "lemma-1": "beside other releases of its series nothing is promised, since the rule of Lemma 1 "
    "as the paper prints it lets a group touch an old border: at k = 2 and e = 4, the groups "
    "{1, 7} and {13, 19} after {7, 13} single out 7 and 13",
    "figure-13": "beside other releases of its series nothing is promised, since the algorithm of "
    "Fig. 13 as the paper prints it looks at the latest release alone: at k = 2 and e = 2, after "
    "{6, 9} and {3, 6, 9, 12} the groups {3, 6, 6, 8} and {9, 12} single out 6 and 9",
}


def guarantee(column: str, terms: KETerms, series: str | None, earlier: int) -> Guarantee:
    """What a release promises, ``earlier`` releases of its series having gone before."""
    statement = (
        f"({terms.k}, {terms.e:f})-anonymous: within each group, the values of {column!r} number "
        f"at least {terms.k} distinct ones, span at least {terms.e:f}, and are permuted uniformly "
        "at random, so nobody's value can be narrowed down further than to their group"
    )
    assumes: tuple[str, ...] = _ASSUMPTIONS
    if terms.search in AS_PRINTED:
        statement += f"; {_PRINTED[terms.search]}"
        return Guarantee(
            (KEAnonymityClaim(k=terms.k, e=terms.e, adversary=None),), statement, assumes
        )
    if series and earlier:
        releases = "release" if earlier == 1 else f"{earlier} releases"
        statement += (
            f"; compared with the earlier {releases} of series {series!r}, the same holds for "
            f"{_SINGLED_OUT[terms.adversary]}"
        )
    if series:
        assumes += _assumed_of_series(terms, earlier)
    claim = KEAnonymityClaim(k=terms.k, e=terms.e, adversary=terms.adversary if series else None)
    return Guarantee((claim,), statement, assumes)


def _assumed_of_series(terms: KETerms, earlier: int) -> tuple[str, ...]:
    """What the promise of a series takes for granted besides; see ``models.waiting``."""
    if terms.batch is not None:
        return (_DAYS, _BEGINNING)
    borders = (_BORDERS,) if terms.adversary == "pairwise" else ()
    return (*borders, _HELD[terms.adversary]) if earlier else ()


def infeasible_first(column: str, counts: ValueCounts, terms: KETerms) -> InfeasibleError:
    """No release of this table exists, and none of a series that begins with it."""
    rows = int(counts.count.sum())
    if terms.batch is not None and rows < terms.batch:
        return InfeasibleError(
            f"a series begins with at least batch = {terms.batch:,} rows, which are looked at "
            f"together, and the table has {rows:,}. Publish when more have arrived, or choose a "
            f"smaller batch, of at least k = {terms.k}"
        )
    return _infeasible_single(column, counts.values, terms)


def _infeasible_single(column: str, values: ExactNumbers, terms: KETerms) -> InfeasibleError:
    """No release of this table exists; says what would do."""
    feasible = largest_feasible(values.units)
    if feasible is None:
        return InfeasibleError(
            f"no release exists: all rows hold the same value of {column!r}, and k is at least 2"
        )
    return InfeasibleError(
        f"no ({terms.k}, {terms.e:f})-anonymous release exists: even one group of all rows falls "
        f"short. The largest k that column {column!r} allows is {feasible.k:,}, and the largest e "
        f"is {unscaled(feasible.e, values.scale):f}"
    )


def infeasible_next(terms: KETerms) -> InfeasibleError:
    """No safe next release of a series exists; says what would help."""
    return InfeasibleError(
        "no safe release exists: some group would give away fresh rows when compared with a group "
        f'of an earlier release (adversary = "{terms.adversary}", search = "{terms.search}"). '
        "Publish later, when more rows have arrived; a series begun with adversary = "
        '"union" holds such rows back instead'
    )


BATCH_OF_K = 2
"""The default batch, in k.

Smaller batches are refused more often: of weekly and fortnightly payments of two states (see
``benchmarks.waiting``) none was refused twice, and rows wait hardly longer than in batches of k."""


def held_back(rows: int, aside: int, decision: Decision, terms: KETerms) -> Iterator[str]:
    """Notices about rows that wait, and about rows that are set aside."""
    if rows:
        yield f"{_rows(rows)} held back: {_why(decision, terms)}"
    if aside:
        yield (
            f"{_rows(aside)} set aside and will not be published in this series: a look refused "
            "them, and they are still too much alike with all that came since, or one of them "
            "was withdrawn. Publishing them would tell about those refused"
        )


def _why(decision: Decision, terms: KETerms) -> str:
    alike = (
        f"do not number {terms.k} distinct values with a range of {terms.e:f}, and comparing this "
        "release with earlier ones would single them out. "
    )
    if terms.batch is None:
        return (
            f"alone, the rows not yet published {alike}A later release publishes them when enough "
            "company arrives"
        )
    if decision.fate == "refused":
        return (
            f"the rows not yet published {alike}They are looked at again when they are {GROWTH} "
            "times as many. Until then nothing new is published, whatever arrives"
        )
    return (
        f"rows not yet published are looked at {terms.batch:,} at a time, and once refused, when "
        f"they are {GROWTH} times as many. A later release publishes them when there are that many"
    )


def _rows(rows: int) -> str:
    return "1 row is" if rows == 1 else f"{rows:,} rows are"


def refuse_other_rule(before: SeriesTerms, now: SeriesTerms) -> None:
    """Raise ``RefusedError`` where a series would go on with another rule than it was begun with.

    Other terms that differ are told by ``SeriesTerms.refuse_difference``.
    """
    old, new = before.method.get("batch"), now.method.get("batch")
    follows_rule = before.method.get("adversary") == "union" == now.method.get("adversary")
    others = {"k", "e"} | ({"search"} if old else set())
    if old == new or not follows_rule:
        return
    if any(before.method.get(name) != now.method.get(name) for name in others):
        return
    begun = f"series {before.name!r} was begun with "
    if old is None:
        msg = (
            f'{begun}the rule by which rows wait exactly until they are valid (batch = "until-'
            'valid"), which tells about those who wait. Its releases cannot be brought under '
            'another rule. To go on with it knowingly, write batch = "until-valid" and '
            f'search = "{before.method.get("search")}" in [method]; its releases state what they '
            "assume. Or begin a new series for data about other people"
        )
        raise RefusedError(msg)
    now_says = new or '"until-valid"'
    msg = (
        f"{begun}batch = {old}, and cannot go on with batch = {now_says}: who waited was decided "
        f"by that rule, and another one would tell about them. Write batch = {old} in [method]"
    )
    raise RefusedError(msg)
