"""Hierarchies of dates and times: the hour, day, month, quarter, year or decade they lie in.

``dates = ["month", "year"]`` makes of ``2020-02-28`` first ``2020-02``, then ``2020``, then ``*``.
A quarter reads ``2020-Q1``, a decade ``2020s``, an hour ``2020-02-28T14``, a week ``2020-W09``, as
ISO 8601 counts weeks.  A week may lie in two months and in two years, so that nothing but ``*``
stands above it.

The public domain of dates is not declared, so shares are a convention: that of a century.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from itertools import pairwise
from typing import Annotated, Literal

import numpy as np
from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from voile.schema.hierarchy.generalized import BoundHierarchy, DistinctValues
from voile.schema.hierarchy.levels import as_they_are, bind_levels, everything, labelled, present
from voile_base.errors import PlanError, TableError
from voile_base.values.value import Says, Several, checked

__all__ = ["PERIODS", "Dates", "Periods"]

_DAYS = 36_525  # of a century
_SHARES = {
    "second": 1 / (_DAYS * 86_400),
    "hour": 1 / (_DAYS * 24),
    "day": 1 / _DAYS,
    "week": 7 / _DAYS,
    "month": 1 / 1200,
    "quarter": 1 / 400,
    "year": 1 / 100,
    "decade": 1 / 10,
}


def _week(text: str) -> str:
    year, week, _ = date.fromisoformat(text[:10]).isocalendar()
    return f"{year}-W{week:02}"


_LABELS: dict[str, Callable[[str], str]] = {
    "hour": lambda text: f"{text[:10]}T{text[11:13]}",
    "day": lambda text: text[:10],
    "week": _week,
    "month": lambda text: text[:7],
    "quarter": lambda text: f"{text[:4]}-Q{(int(text[5:7]) + 2) // 3}",
    "year": lambda text: text[:4],
    "decade": lambda text: f"{text[:3]}0s",
}
PERIODS = tuple(_LABELS)
"""Names of the levels, ascending."""

_FORMS = {
    "date": re.compile(r"\d{4}-\d{2}-\d{2}"),
    "datetime": re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}.*"),
}


def _ascending(periods: tuple[str, ...]) -> tuple[str, ...]:
    indices = [PERIODS.index(period) for period in periods]
    if any(shorter >= longer for shorter, longer in pairwise(indices)):
        raise PydanticCustomError("ascending", "each longer than the one before")
    if "week" in periods[:-1]:
        raise PydanticCustomError("week", "none behind week")
    return periods


Periods = Annotated[
    Several[Literal["hour", "day", "week", "month", "quarter", "year", "decade"]],
    Field(min_length=1),
    AfterValidator(_ascending),
    Says(
        "a list of periods, each longer than the one before and none behind week, which may lie in "
        'two months, such as ["month", "year"]'
    ),
]


@checked(PlanError)
@dataclass(frozen=True)
class Dates:
    """The periods that the levels show, each longer than the one before.

    Raises ``PlanError`` for a period that is unknown or out of order.
    """

    periods: Periods

    def bind(
        self, column: str, values: DistinctValues, bounds: tuple[Decimal, Decimal] | None = None
    ) -> BoundHierarchy:
        """The hierarchy of the d distinct dates of a column; ``bounds`` are of no use here.

        Raises ``PlanError`` for a column of other values, ``TableError`` for years that do not
        have four digits.
        """
        texts = present(values)
        self._require_dates(column, values.kind, texts)
        leaf = _SHARES["day" if values.kind == "date" else "second"]
        levels = [as_they_are(len(texts), leaf)]
        for period in self.periods:
            share = np.full(len(texts), _SHARES[period])
            levels.append(labelled([_LABELS[period](text) for text in texts], share))
        return bind_levels(column, values, [*levels, everything(len(texts))], leaf)

    def _require_dates(self, column: str, kind: str, texts: tuple[str, ...]) -> None:
        if not texts:
            return
        if kind not in _FORMS:
            msg = (
                f"column {column!r} holds values of kind {kind!r}, not dates; say how they "
                'are written, such as format = "%m/%d/%Y", or choose another hierarchy'
            )
            raise PlanError(msg)
        if kind == "date" and self.periods[0] in {"hour", "day"}:
            msg = f"column {column!r} holds days already; let `dates` begin with a longer period"
            raise PlanError(msg)
        odd = sum(_FORMS[kind].fullmatch(text) is None for text in texts)
        if odd:
            msg = (
                f"column {column!r}: {odd:,} distinct values are not of the years 1000 to 9999; "
                "mend them, or leave the column out"
            )
            raise TableError(msg)
