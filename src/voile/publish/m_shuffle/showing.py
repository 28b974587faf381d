"""What ``release.json`` says of a choice, and what only its custodian is told."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from voile.publish.m_shuffle.columns import Rule
from voile.publish.m_shuffle.decision import Choice, Division
from voile.publish.m_shuffle.sensitive import SensitiveValues
from voile.schema.numbers import json_number, unscaled

__all__ = ["notices", "published_decision"]


def published_decision(values: SensitiveValues, choice: Choice, rule: Rule) -> dict[str, Any]:
    """What the release shows of the choice anyway: it is all computed from counts in clusters."""
    columns = choice.division.columns
    return {
        "clusters": _clusters(values, choice.division),
        "permuted": list(choice.permuted),
        "columns": {
            column.name: column.document(rule.kind(column), permuted=column.name in choice.permuted)
            for column in columns
        },
    }


def notices(choice: Choice, rule: Rule) -> Iterator[str]:
    """What a custodian should know about the choice."""
    clusters = choice.division.clusters
    for column in choice.division.columns:
        kind = rule.kind(column)
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
