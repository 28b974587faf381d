"""A column of intervals: a cell has two ends, and the value lies between them, both included.

    columns   numbers: the two columns ``NAME.low`` and ``NAME.high``
    text      numbers: one column of texts ``[low, high]``
    period    dates and times: ``2020-02-01/2020-02-28``, or one alone
    range     texts of a declared order: ``B to A``, or one alone

Periods are compared by their indices among all dates that are named, ranges by their indices in the
order.  Where groups differ in detail, a missing value may be a group that mixes it with others.
"""

from __future__ import annotations

import re
from itertools import chain
from typing import TYPE_CHECKING, Literal

import numpy as np

from voile.disclosure.generalized import Labelled
from voile.disclosure.known import DistinctCells, Domain, Floats, Known, Texts
from voile_base.errors import TableError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voile.disclosure.covering import Covered
    from voile.disclosure.evidence import Evidence, IntervalEvidence

__all__ = ["Interval", "ends_of_texts"]

_INTERVAL = re.compile(r"\[([^,\[\]]*), ([^,\[\]]*)\]")
_PERIOD = re.compile(r"(\d{4}-\d{2}-\d{2}\S*?)/(\d{4}-\d{2}-\d{2}\S*)")


class Interval(Labelled):
    """Each row shows two ends between which its own value lies."""

    kind: Literal["interval"] = "interval"
    ends: Literal["columns", "text", "period", "range"] = "columns"
    """How a cell shows its ends."""

    @property
    def coarse(self) -> bool:
        """Whether an interval may hold several values."""
        return True

    @property
    def needs_hierarchy(self) -> bool:
        """Ends that are no numbers are read by the order that a plan declares."""
        return not self.numeric

    @property
    def numeric(self) -> bool:
        """Whether the ends are numbers, which everybody can read."""
        return self.ends in {"columns", "text"}

    def published(self, name: str) -> tuple[str, ...]:
        """Two columns for the two ends, or one of texts."""
        return (f"{name}.low", f"{name}.high") if self.ends == "columns" else (name,)

    def with_intervals_as_text(self) -> Interval:
        """The same in one column of texts."""
        return self.model_copy(update={"ends": "text"}) if self.ends == "columns" else self

    def evidence(self, known: Known, cells: DistinctCells) -> Evidence:
        """A cell fits the values between its ends."""
        return self._intervals(known, cells) or super().evidence(known, cells)

    def notes(self, known: Known, cells: DistinctCells) -> list[str]:
        """That ranges were not understood, where nobody tells their order."""
        understood = self.ends != "range" or known.order is not None
        return [] if understood else super().notes(known, cells)

    def covered(self, domain: Domain, cells: DistinctCells) -> Covered:
        """A cell stands for the values between its ends."""
        from voile.disclosure.covering import intervals_covered  # noqa: PLC0415 - of readers

        found = self._intervals(domain.known, cells)
        if found is None:
            return super().covered(domain, cells)
        return intervals_covered(domain, cells, found, self.one_level)

    def _intervals(self, known: Known, cells: DistinctCells) -> IntervalEvidence | None:
        """What is known beside the ends; None where nobody tells an order of texts."""
        from voile.disclosure.evidence import IntervalEvidence  # noqa: PLC0415 - of readers

        match self.ends:
            case "columns":
                low, high = (cells.numbers(column) for column in self.published(cells.name))
                values = known.numbers
            case "text":
                low, high = ends_of_texts(cells.name, cells.texts(cells.name))
                values = known.numbers
            case "period":
                values, low, high = _by_date(known.texts, cells.texts(cells.name))
            case "range":
                if known.order is None:
                    return None
                values, low, high = _by_order(known.order, known.texts, cells.texts(cells.name))
        fixed = self.one_level is not None
        whole = fixed and self.numeric and _is_whole(known, low, high)
        return IntervalEvidence(values, low, high, missing_is_anything=not fixed, whole=whole)


def _is_whole(known: Known, low: Floats, high: Floats) -> bool:
    """Whether all cells show the public bounds, to which missing values are generalized too."""
    if known.bounds is None or not len(low):
        return False
    least, most = map(float, known.bounds)
    return bool((low <= least).all() and (high >= most).all())


def ends_of_texts(name: str, shown: Texts) -> tuple[Floats, Floats]:
    """The ends of intervals written as ``[low, high]``; NaN for an end that is missing.

    Raises ``TableError`` where a text is no interval.
    """
    matches = [_INTERVAL.fullmatch(text) if text is not None else None for text in shown]
    strange = sum(m is None and text is not None for m, text in zip(matches, shown, strict=True))
    if strange:
        msg = (
            f"column {name!r} holds {strange:,} different texts that are no intervals, though the "
            "release says that it shows intervals; it was changed"
        )
        raise TableError(msg)
    low, high = (
        np.array([np.nan if m is None else _number(m[end]) for m in matches], dtype=np.float64)
        for end in (1, 2)
    )
    return low, high


def _by_date(known: Texts, shown: Texts) -> tuple[Floats, Floats, Floats]:
    """Known dates and the ends of periods, as their indices among all that are named."""
    matches = [_PERIOD.fullmatch(text or "") for text in shown]
    ends = [m.groups() if m else (text, text) for m, text in zip(matches, shown, strict=True)]
    named = sorted({text for text in chain(known, *ends) if text is not None})
    index: dict[str | None, float] = {text: i for i, text in enumerate(named)}
    index[None] = np.nan
    low, high = (np.array([index[end[side]] for end in ends], dtype=np.float64) for side in (0, 1))
    return np.array([index[text] for text in known], dtype=np.float64), low, high


def _by_order(order: Sequence[str], known: Texts, shown: Texts) -> tuple[Floats, Floats, Floats]:
    """Known texts and the ends of ranges, as their indices in an order."""
    index: dict[str | None, float] = {text: i for i, text in enumerate(order)}
    ends: dict[str | None, tuple[float, float]] = {
        f"{order[low]} to {order[high]}": (low, high)
        for high in range(len(order))
        for low in range(high)
    }
    ends |= {text: (i, i) for text, i in index.items()}
    pairs = np.array([ends.get(text, (np.nan, np.nan)) for text in shown], dtype=np.float64)
    low, high = pairs.reshape(-1, 2).T
    return np.array([index.get(text, np.nan) for text in known], dtype=np.float64), low, high


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return np.nan
