"""What a series of generalizations asks, promises in words, refuses, and tells of rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from voile.models.l_diversity import LDiversity
from voile.publish.generalization.statement import assumptions
from voile.publish.generalization.terms import Demands, Diversity
from voile.release.claims import KAnonymityClaim
from voile.release.history import SeriesTerms
from voile.release.release import Guarantee
from voile.table.private import PrivateTable
from voile_base.errors import PlanError

if TYPE_CHECKING:  # deciding takes compiled code
    from voile.publish.generalization.lasting import LastingGroups

__all__ = [
    "TIMES_K",
    "lasting_guarantee",
    "number_of_rows",
    "refuse_criteria_of_series",
    "refuse_parameters_of_series",
    "refuse_series",
    "series_terms",
    "told_of_members",
    "told_of_withheld",
]


_ATTEMPTS = (
    "nobody knows of attempts that ended without a release, because the values of the rows broke "
    "what is asked of them"
)
TIMES_K = 16
"""Of k, the rows of a new group; see benchmarks/RESULTS.md."""


def series_terms(
    series: str,
    record_key: str,
    method: Mapping[str, str],
    table: PrivateTable,
    demands: Demands,
) -> SeriesTerms:
    """What stays the same over all releases of a series whose groups last."""
    roles = table.plan.roles
    words = {"criteria": demands.words} if demands.words else {}
    named = ("ranking", "quasi_identifiers", "sensitive", "keep")
    stated = {name: tuple(sorted(getattr(roles, name))) for name in named}
    if not roles.ranking:
        del stated["ranking"]
    return SeriesTerms(
        name=series,
        method={**method, **words},
        columns=dict(table.kinds(roles.published)),
        roles=stated,
        record_key=record_key,
    )


def lasting_guarantee(k: int, demands: Demands, series: str) -> Guarantee:
    """What a release of a series promises, alone and with all earlier ones."""
    statement = (
        f"{k}-anonymous: every published row shares its published quasi-identifiers with at least "
        f"{k - 1} others{demands.words}. The same holds over all releases of series {series!r}: "
        "whoever intersects and subtracts their groups, and knows when each person joined and "
        f"left, is left with rows of at least {k} people{_of_what_is_left(demands)}, those who "
        "left included"
    )
    claim = KAnonymityClaim(k=k, suppression_limit=Decimal(1), **demands.claims())
    implied = ("no other published data", "nobody reasons backwards")
    unasked = [one for one in assumptions(demands) if not one.startswith(implied)]
    return Guarantee(
        (claim,),
        statement,
        (
            *unasked,
            *([_ATTEMPTS] if demands.words else []),
            "the record key names the same person in every release, and each person once",
            "no other published data is derived from the same rows than the releases of the series",
        ),
    )


def refuse_parameters_of_series(
    algorithm: str,
    *,
    limited: bool,
    diversity: Diversity | None,
    t: object,
    criteria: Sequence[Any],
) -> None:
    """Raise ``PlanError`` for what a series has no use for, or cannot promise."""
    if algorithm not in ("auto", "mondrian"):
        msg = (
            f'series: algorithm = "{algorithm}" finds levels for all rows at once, and a series '
            'keeps the groups that it has published; choose "mondrian", or leave algorithm out'
        )
        raise PlanError(msg)
    if limited:
        msg = (
            "series: leave suppression_limit out; how many rows go depends on who leaves the table"
        )
        raise PlanError(msg)
    refuse_criteria_of_series(diversity, criteria, t)


def refuse_criteria_of_series(
    diversity: Diversity | None, criteria: Sequence[Any], t: object = None
) -> None:
    """Raise ``PlanError`` for criteria that a series of groups that last cannot promise."""
    asked = [] if diversity is None else [diversity.of("any")]
    if t is not None or not all(_is_distinct(one) for one in (*asked, *criteria)):
        msg = (
            "series: it keeps k and l different values. Whether other criteria hold of those who "
            "leave together depends on who they are, and t compares with all rows of the table, "
            "which are others in every release; leave them out"
        )
        raise PlanError(msg)


def refuse_series(table: PrivateTable, record_key: str | None) -> None:
    """Raise ``PlanError`` where rows cannot be followed from release to release."""
    if record_key is None:
        msg = (
            "[method] series needs record_key: people come and go, and only a column that tells "
            "rows apart shows who left, who came back and whose row changed"
        )
        raise PlanError(msg)
    if table.plan.roles.unit is not None:
        msg = (
            "[method] series: the plan names persons or households with several rows. These arrive "
            "in different months and stand in different groups, which whoever knows a person could "
            "intersect; make one row of each person, or leave series out"
        )
        raise PlanError(msg)


def told_of_members(made: LastingGroups, k: int) -> Iterator[str]:
    """What a custodian is told of the rows that are not shown; private."""
    yield from told_of_withheld(made.withheld, k)
    if made.waiting:
        yield (
            f"{number_of_rows(made.waiting)} new and too few for a group of {k}; a later release "
            "shows them when more have come"
        )
    if made.refused:
        yield (
            f"{number_of_rows(made.refused)} new and will never be shown: their groups break what "
            "is asked of the sensitive values, and showing them with others would tell that"
        )


def told_of_withheld(rows: int, k: int) -> Iterator[str]:
    """The same of rows that are in the table and shown no more."""
    if rows:
        yield (
            f"{number_of_rows(rows)} in the table and not shown, for good: those went with others "
            f"who left their group, so that at least {k} went at once, or have changed since they "
            "were first published, or have left and come back"
        )


def number_of_rows(rows: int) -> str:
    """A number of rows, and the verb."""
    return "1 row is" if rows == 1 else f"{rows:,} rows are"


def _is_distinct(criterion: object) -> bool:
    return isinstance(criterion, LDiversity) and criterion.kind == "distinct"


def _of_what_is_left(demands: Demands) -> str:
    return ", whose sensitive values are as diverse as those of a group" if demands.words else ""
