"""What custodians are told about rows that wait, and what a series refuses because of its rule.

The rule itself is ``models.waiting``.  It is part of the terms of a series: neither its batch nor
the rule can change, because what earlier looks told was told under theirs.
"""

from __future__ import annotations

from collections.abc import Iterator

from voile.models.waiting import GROWTH
from voile.publish.ke_anonymity.decision import Decision, KETerms
from voile.release.history import SeriesTerms
from voile_base.errors import RefusedError

__all__ = ["BATCH_OF_K", "held_back", "refuse_other_rule"]

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
