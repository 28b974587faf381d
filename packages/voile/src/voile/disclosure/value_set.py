r"""A column of sets: a cell names the values among which the row's own is, as ``A|B|C``.

A value alone reads as it is.  ``|`` stands between values, a missing value is nothing before or
behind it, a backslash stands before ``|`` and ``\`` within a value, an empty text is ``\0``, and
``*`` is a set too large to be written, which may stand for any value (a text that is ``*`` itself
is ``\*``).  Nobody needs a hierarchy to read it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

import numpy as np

from voile.disclosure.known import DistinctCells, Domain, Known
from voile.disclosure.shown import ShownColumn

if TYPE_CHECKING:
    from voile.disclosure.covering import Covered
    from voile.disclosure.evidence import Evidence

__all__ = ["ANYTHING", "ValueSet", "named_values", "set_text"]

ANYTHING = "*"
"""A set that is not written out."""

_PART = re.compile(r"(?:[^|\\]|\\.)*", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)


class ValueSet(ShownColumn):
    """Each row shows a set of values that holds its own."""

    kind: Literal["set"] = "set"

    @property
    def coarse(self) -> bool:
        """Whether a set may hold several values."""
        return True

    def evidence(self, known: Known, cells: DistinctCells) -> Evidence:
        """A cell fits the values that it names."""
        from voile.disclosure.evidence import Sets  # noqa: PLC0415 - of readers, not publishers

        texts = cells.texts(cells.name)
        different = {text: place for place, text in enumerate(dict.fromkeys(texts))}
        sets = Sets.of(known.texts, [named_values(text) for text in different])
        return sets.only(np.array([different[text] for text in texts], dtype=np.int64))

    def covered(self, domain: Domain, cells: DistinctCells) -> Covered:
        """A cell stands for the values that it names."""
        from voile.disclosure.covering import sets_covered  # noqa: PLC0415 - of readers

        texts = cells.texts(cells.name)
        named = {text: named_values(text) for text in dict.fromkeys(texts)}
        return sets_covered(domain, [named[text] for text in texts])


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
