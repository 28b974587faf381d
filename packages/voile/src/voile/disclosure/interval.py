r"""A column of intervals: a cell has two ends, and the value lies between them, both included.

    columns   numbers: the two columns ``NAME.low`` and ``NAME.high``
    text      numbers: one column of texts ``[low, high]``
    period    dates and times: ``2020-02-01/2020-02-28``, or one alone
    range     texts of a declared order: ``B to A``, or one alone

Periods are compared by their indices among all dates that are named, ranges by their indices in the
order.  Where groups differ in detail, a missing cell may be a group that mixes missing values with
others, unless ``missing`` says that none does.

A column of labels that stand for several values: nodes of the column's hierarchy.

A label says what it stands for only to those who know the hierarchy, which a plan tells.  Without
it a label that is a value of the column is taken for that value where groups differ in detail, and
every other one may stand for anything.

A column of sets: a cell names the values among which the row's own is, as ``A|B|C``.

A value alone reads as it is.  ``|`` stands between values, a missing value is nothing before or
behind it, a backslash stands before ``|`` and ``\`` within a value, an empty text is ``\0``, and
``*`` is a set too large to be written, which may stand for any value (a text that is ``*`` itself
is ``\*``).  Nobody needs a hierarchy to read it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import Field

from voile.disclosure.evidence import DistinctCells, Domain, Floats, Known, Texts
from voile.disclosure.shown import ShownColumn
from voile_base.errors import TableError
from voile_base.ondemand import on_demand, pattern_on_demand

if TYPE_CHECKING:
    from collections.abc import Sequence

    from voile.disclosure import covering as disclosure_covering
    from voile.disclosure import evidence as disclosure_evidence
    from voile.disclosure.covering import Covered
    from voile.disclosure.evidence import Evidence
else:
    disclosure_covering = on_demand("voile.disclosure.covering")
    disclosure_evidence = on_demand("voile.disclosure.evidence")

__all__ = [
    "ANYTHING",
    "Generalized",
    "Interval",
    "Level",
    "ValueSet",
    "ends_of_texts",
    "named_values",
    "set_text",
]


Level = Annotated[int, Field(ge=0)]
"""A level of a hierarchy; 0 is that of the values themselves."""


class _Labelled(ShownColumn):
    """What kinds share whose cells may be labels of a hierarchy."""

    level: Level | Literal["differs"]
    """The level at which all rows are shown, unless groups differ in detail."""

    @property
    def coarse(self) -> bool:
        """Whether labels may stand for several values."""
        return self.level != 0

    @property
    def needs_hierarchy(self) -> bool:
        """A label says what it stands for only to those who know the hierarchy."""
        return self.coarse

    @property
    def one_level(self) -> int | None:
        """The level at which all rows are shown; None where groups differ in detail."""
        return None if self.level == "differs" else self.level

    def evidence(self, known: Known, cells: DistinctCells) -> Evidence:
        """A label fits the values that become it at its level, or at any."""
        shown = cells.texts(cells.name)
        if self.level == 0:
            return disclosure_evidence.Labels.of([known.texts], shown)
        # Labels that mix missing values with others are nodes; a missing label of a column without
        # missing values is none.
        unclear: set[str | None] = set() if None in known.vocabulary else {None}
        if self.one_level is not None:
            unclear = set()
        levels = known.generalized(self.one_level)
        if levels is not None:
            return disclosure_evidence.Labels.of(levels, shown, unclear)
        understood = known.vocabulary if self.one_level is None else frozenset()
        return disclosure_evidence.Labels.of(
            [known.texts], shown, unclear | (set(shown) - understood)
        )

    def notes(self, known: Known, cells: DistinctCells) -> list[str]:
        """That labels were not understood, where no hierarchy tells them."""
        if self.level == 0 or known.has_hierarchy:
            return []
        if self.one_level is None and set(cells.texts(cells.name)) <= known.vocabulary:
            return []
        return [
            f"column {cells.name!r} was generalized, and without its hierarchy its texts may "
            "stand for anything; the plan of the original would tell the adversary more"
        ]

    def covered(self, domain: Domain, cells: DistinctCells) -> Covered:
        """A label stands for the values below it."""
        return disclosure_covering.labels_covered(
            domain, cells, self.evidence(domain.known, cells), self.one_level
        )


class Generalized(_Labelled):
    """Each row shows a node of the hierarchy above its own value."""

    kind: Literal["generalized"] = "generalized"


_INTERVAL = pattern_on_demand(r"\[([^,\[\]]*), ([^,\[\]]*)\]")
_PERIOD = pattern_on_demand(r"(\d{4}-\d{2}-\d{2}\S*?)/(\d{4}-\d{2}-\d{2}\S*)")


class Interval(_Labelled):
    """Each row shows two ends between which its own value lies."""

    kind: Literal["interval"] = "interval"
    ends: Literal["columns", "text", "period", "range"] = "columns"
    """How a cell shows its ends."""
    missing: Literal["alone"] | None = None
    """That a missing cell stands for missing values alone; None: where groups differ in detail it
    may be a group that mixes them with others."""

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

    @property
    def mixes_missing(self) -> bool:
        """Where groups differ in detail, unless it is stated that none does."""
        return self.one_level is None and self.missing is None

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
        found = self._intervals(domain.known, cells)
        if found is None:
            return super().covered(domain, cells)
        return disclosure_covering.Covered.intervals(domain, cells, found, self.one_level)

    def _intervals(
        self, known: Known, cells: DistinctCells
    ) -> disclosure_evidence.IntervalEvidence | None:
        """What is known beside the ends; None where nobody tells an order of texts."""
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
        return disclosure_evidence.IntervalEvidence(
            values, low, high, missing_is_anything=self.mixes_missing, whole=whole
        )


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


ANYTHING = "*"
"""A set that is not written out."""

_PART = pattern_on_demand(r"(?:[^|\\]|\\.)*", re.DOTALL)
_ESCAPED = pattern_on_demand(r"\\(.)", re.DOTALL)


class ValueSet(ShownColumn):
    """Each row shows a set of values that holds its own."""

    kind: Literal["set"] = "set"

    @property
    def coarse(self) -> bool:
        """Whether a set may hold several values."""
        return True

    def evidence(self, known: Known, cells: DistinctCells) -> Evidence:
        """A cell fits the values that it names."""
        texts = cells.texts(cells.name)
        different = {text: place for place, text in enumerate(dict.fromkeys(texts))}
        sets = disclosure_evidence.Sets.of(known.texts, [named_values(text) for text in different])
        return sets.only(np.array([different[text] for text in texts], dtype=np.int64))

    def covered(self, domain: Domain, cells: DistinctCells) -> Covered:
        """A cell stands for the values that it names."""
        texts = cells.texts(cells.name)
        named = {text: named_values(text) for text in dict.fromkeys(texts)}
        return disclosure_covering.Covered.sets(domain, [named[text] for text in texts])


def set_text(values: Iterable[str | None]) -> str | None:
    """How a set of values reads, in their order; None for the missing value alone."""
    named = list(values)
    return None if named == [None] else "|".join(map(_written, named))


def named_values(text: str | None) -> tuple[str | None, ...] | None:
    """The values that a cell names; None where it may stand for any."""
    if text == ANYTHING:
        return None
    if text is None:
        return (None,)
    if "\\" not in text:
        return tuple(part or None for part in text.split("|"))
    values, place = [], 0
    while (part := _PART.match(text, place)) is not None:
        values.append(_read(part[0]))
        place = part.end() + 1
        if place > len(text):
            break
    return tuple(values)


def _written(value: str | None) -> str:
    if value is None:
        return ""
    if value in ("", ANYTHING):
        return f"\\{value or 0}"
    return value.replace("\\", "\\\\").replace("|", "\\|")


def _read(part: str) -> str | None:
    if part == "\\0":
        return ""
    return _ESCAPED.sub(r"\1", part) or None
