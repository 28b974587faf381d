"""What permutation within clusters promises, in words, and what it does not."""

from __future__ import annotations

from collections.abc import Sequence

from voile.publish.m_shuffle.columns import ClusteredColumn
from voile.publish.m_shuffle.decision import Choice
from voile.release.claims import PermutationWithinClusters
from voile.release.release import Guarantee
from voile.schema.roles import Roles

__all__ = ["guarantee", "named"]

_ASSUMES = (
    "each person is one row",
    "no other published data is derived from the same rows: a second shuffle with other clusters "
    "narrows down which values belong together",
    "permuted columns do not follow from columns that stay, nor from each other: a city beside a "
    "permuted zip code, or a permuted education beside its code, puts the two together again",
)
_CHOSEN = (
    "how many clusters and columns there are was chosen by how the rows go together; what the "
    "choice itself tells about them is not protected"
)


def guarantee(
    roles: Roles,
    choice: Choice,
    permuted: Sequence[ClusteredColumn],
    sizes: Sequence[int],
    *,
    chosen: bool,
) -> Guarantee:
    """What the release promises; ``chosen`` where the numbers of clusters and columns were.

    ``sizes`` are the rows of each cluster.
    """
    arrangements = sum(column.log_arrangements for column in permuted)
    claim = PermutationWithinClusters(
        clusters=choice.division.clusters,
        permuted=choice.permuted,
        log_arrangements=arrangements,
        sizes=tuple(sizes),
    )
    statement = f"{_permuted(roles, choice, arrangements)}. {_what_remains(roles, choice)}"
    assumes = (*_ASSUMES, _CHOSEN) if chosen else _ASSUMES
    return Guarantee((claim,), statement, assumes)


def _permuted(roles: Roles, choice: Choice, arrangements: float) -> str:
    """What was done, and how likely each outcome is."""
    clusters = choice.division.clusters
    were = "were each permuted" if len(choice.permuted) > 1 else "were permuted"
    independently = " and independently of each other" if len(choice.permuted) > 1 else ""
    within = (
        f"within {clusters} clusters of rows with like values of {named(roles.sensitive)}"
        if clusters > 1
        else "over all rows"
    )
    return (
        f"the values of {named(choice.permuted)} {were} uniformly{independently} {within}: each "
        f"of their e^{arrangements:.6g} distinct arrangements is equally likely"
    )


def _what_remains(roles: Roles, choice: Choice) -> str:
    """What an adversary who knows all columns that stay still learns."""
    stays = [name for name in roles.quasi_identifiers if name not in choice.permuted]
    found = (
        f"who knows a person's {named(stays)} finds the rows that share them exactly as in the "
        f"private table, with the true {named([*roles.sensitive, *roles.keep])} beside them,"
        if stays
        else f"who knows a person's {named(roles.sensitive)} finds the cluster"
    )
    return (
        f"This is NOT k-anonymity and NOT differential privacy: {found} and learns which values of "
        f"{named(choice.permuted)} stand in that cluster and how often; where all rows of a "
        "cluster hold the same one, it is everybody's"
    )


def named(columns: Sequence[str]) -> str:
    """Names of columns as a sentence holds them."""
    *first, last = map(repr, columns)
    return f"{', '.join(first)} and {last}" if first else last
