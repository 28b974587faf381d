"""What a ranking says of itself: how columns are shown, and its boxes in ``release.json``."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from voile.disclosure.disclosure import Disclosure, GroupNumbering
from voile.publish.generalization.regions import is_ordered
from voile.publish.ranking.measuring import MeasuredGroup
from voile.publish.shown import Spans, exactly, recoded
from voile.schema.plan import ColumnPlan, Plan
from voile.table.decisions import RecodedColumn
from voile.table.published import GROUP
from voile.table.summaries import CombinationCounts

__all__ = ["disclosure", "document", "exact_json", "texts_of"]


def disclosure(plan: Plan, counts: CombinationCounts, shown: Sequence[RecodedColumn]) -> Disclosure:
    """What is ranked by and quasi-identifiers as the groups show them, and the rest as it is."""
    spans: dict[str, Spans] = {}
    values = dict(zip(counts.columns, counts.values, strict=True))
    for name in (column.column for column in shown):
        declared = plan.columns.get(name, ColumnPlan())
        if name in plan.roles.ranking and declared.order is not None:
            spans[name] = "range"
        elif is_ordered(declared.bind_hierarchy(name, values[name]), values[name]):
            spans[name] = "period"
    by = (*plan.roles.quasi_identifiers, *plan.roles.ranking)
    return Disclosure(
        columns=exactly(plan.roles.published) | recoded(shown, None, spans),
        groups=GroupNumbering(column=GROUP, made="alike", by=by),
    )


def document(
    group: MeasuredGroup, shift: Fraction, promised: Decimal | None = None
) -> Mapping[str, object]:
    """What ``release.json`` says of a group.

    In a series that is the precision ``promised``: the one that it has changes with one newcomer.
    """
    precision = float(group.precision if promised is None else promised)
    return {
        "group": group.number,
        "rows": group.rows,
        "precision": round(precision, 6),
        "score": [exact_json(shift + end) for end in (group.score_low, group.score_high)],
    }


def texts_of(method: Mapping[str, Any]) -> dict[str, str]:
    """The parameters of a method as a series compares them."""
    return {
        name: value if isinstance(value, str) else json.dumps(value, sort_keys=True)
        for name, value in method.items()
    }


def exact_json(value: Fraction) -> int | float:
    """A number as JSON has it."""
    return int(value) if value.denominator == 1 else float(value)
