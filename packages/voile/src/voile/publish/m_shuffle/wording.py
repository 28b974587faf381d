"""What is said of permutation within clusters: its promise in words, its choice, and notices.

What it promises, and what it does not, and what ``release.json`` says of the choice, are public;
notices are told to the custodian alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from voile.models.permutation import whole_column_log_probability
from voile.publish.contribution import assumed_of_units, stated_unit
from voile.publish.m_shuffle.clustering import Labels, SensitiveValues
from voile.publish.m_shuffle.decision import ClusteredColumn, Division, ShuffleChoice
from voile.release.claims import PermutationWithinClusters
from voile.release.release import Guarantee
from voile.schema.numbers import json_number, unscaled
from voile.schema.roles import Protected, Roles
from voile_base.errors import InfeasibleError

__all__ = ["guarantee", "named", "notices", "one_alone", "published_decision"]

_ASSUMES = (
    "{whose}",
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
    choice: ShuffleChoice,
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
        unit=stated_unit(roles.protected),
    )
    statement = (
        f"{_permuted(roles, choice, arrangements)}{_among_whom(roles.protected)}. "
        f"{_what_remains(roles, choice)}"
    )
    assumes = [each.replace("{whose}", assumed_of_units(roles.protected)) for each in _ASSUMES]
    if chosen:
        assumes.append(_CHOSEN)
    if roles.protected != "row":
        assumes.append(_known_rows(roles.protected))
    return Guarantee((claim,), statement, tuple(assumes))


def one_alone(roles: Roles, alone: int, labels: Labels) -> InfeasibleError:
    """Clusters of the rows of one person hide nothing of that person."""
    clusters, protected = int(labels.max()) + 1, roles.protected
    return InfeasibleError(
        f"of {clusters:,} clusters of like values of {named(roles.sensitive)}, {alone:,} "
        f"{'has' if alone == 1 else 'have'} the rows of one {protected} alone, within which "
        "permuting hides nothing; ask for fewer clusters, make categories coarser, or leave these "
        "rows out"
    )


def _among_whom(protected: Protected) -> str:
    """Whose rows stand in a cluster, where they may be of one person."""
    if protected == "row":
        return ""
    return (
        f"; each cluster has rows of at least 2 {protected}s, and a value that moves between two "
        f"rows of one {protected} hides nothing"
    )


def _known_rows(protected: Protected) -> str:
    """What those learn who know rows of a person."""
    return (
        f"who knows a {protected} knows one of its rows: somebody who knows several finds a "
        f"cluster for each, and can intersect what stands in these clusters on what stays the same "
        f"for the {protected}; nothing is promised of what that leaves"
    )


def _permuted(roles: Roles, choice: ShuffleChoice, arrangements: float) -> str:
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


def _what_remains(roles: Roles, choice: ShuffleChoice) -> str:
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


def published_decision(values: SensitiveValues, choice: ShuffleChoice, rows: int) -> dict[str, Any]:
    """What the release shows of the choice anyway: it is all computed from counts in clusters."""
    columns, kinds, permuted = choice.division.columns, choice.kinds, choice.permuted
    return {
        "clusters": _clusters(values, choice.division),
        "permuted": list(permuted),
        "log_p_table": round(len(permuted) * whole_column_log_probability(rows), 6),
        "columns": {
            column.name: column.document(kinds[column.name], permuted=column.name in permuted)
            for column in columns
        },
    }


def notices(choice: ShuffleChoice) -> Iterator[str]:
    """What a custodian should know about the choice."""
    clusters = choice.division.clusters
    for column in choice.division.columns:
        kind = choice.kinds[column.name]
        if column.distinct == 1:
            yield f"column {column.name!r} holds one value only: there is nothing to permute"
        elif column.name not in choice.permuted:
            continue
        elif kind == "QIA":
            yield (
                f"column {column.name!r} is permuted though it is QIA (tie {column.tie:.3g}, "
                f"entropy {column.entropy:.3g}): what it tells about the sensitive columns "
                "within clusters is lost"
            )
        elif kind == "QIB":
            yield (
                f"column {column.name!r} is permuted though it holds two values (QIB): a row "
                f"gets its own back with probability {column.chance_per_row:.3g} on average"
            )
        if column.distinct > 1 and column.constant_clusters:
            yield (
                f"column {column.name!r} holds one value in {column.constant_clusters} of "
                f"{clusters} clusters, where everybody's value stays known"
            )


def _clusters(values: SensitiveValues, division: Division) -> list[dict[str, Any]]:
    """Rows of each cluster and its sensitive values, which the release shows."""
    counts = values.counts
    rows = np.bincount(division.labels, weights=counts.rows).astype(np.int64)
    described: list[dict[str, Any]] = [{"rows": count, "values": {}} for count in rows.tolist()]
    order = np.argsort(division.labels, kind="stable")
    first = np.searchsorted(division.labels[order], np.arange(division.clusters))
    for index, name in enumerate(counts.columns):
        codes = counts.codes[order, index]
        ends = (np.minimum.reduceat(codes, first), np.maximum.reduceat(codes, first))
        for cluster, (low, high) in enumerate(zip(*(e.tolist() for e in ends), strict=True)):
            described[cluster]["values"][name] = _shown(values, index, low, high)
    return described


def _shown(values: SensitiveValues, index: int, low: int, high: int) -> Any:
    """The range of a numeric column, or the category."""
    distinct = values.counts.values[index]
    if distinct.numbers is None:
        return distinct.texts[low]
    scale = distinct.numbers.scale
    low, high = (int(distinct.numbers.units[code]) for code in (low, high))
    return {"low": json_number(unscaled(low, scale)), "high": json_number(unscaled(high, scale))}
