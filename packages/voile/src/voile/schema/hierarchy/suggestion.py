"""Hierarchies to begin with, from what is publicly known about a column.

    numbers with bounds     intervals of widths 1, 2 or 5 times a power of ten, each a multiple of
                            the one before: the smallest cuts the bounds into about twenty
    texts of digits         prefixes, where all texts are equally long
    dates and times         months and years, for times days as well
    codes of a public list  that list (``taxonomy``)
    other texts             a file or a tree has to be written: only people know what is alike

Bounds are never taken from the data: without them nothing is suggested for numbers.  No value of
the table is needed either, only the kind of the column and the length of its codes.

A suggestion is the whole table of the column, together with what the plan says already, in TOML.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from decimal import Decimal
from itertools import count

from voile.schema.hierarchy.ranges import has_time
from voile.schema.hierarchy.taxonomy import CodeList, public_list
from voile.schema.numbers import json_number
from voile.schema.plan import ColumnPlan
from voile_base.ondemand import dataclass
from voile_base.values import Document, Json
from voile_base.values.toml import toml_text

__all__ = ["Suggestion"]

_INTERVALS = 20
_PREFIXES = 4


@dataclass(frozen=True)
class Suggestion:
    """What may be written about a column, and what its custodian should know or do."""

    column: str
    keys: Document | None
    """The table of the column; None where nothing can be suggested."""
    note: str

    def text(self) -> str:
        """A suggestion to paste into a plan; as a comment where there is none."""
        note = f"# {self.note}\n"
        if self.keys is None:
            empty = toml_text({"columns": {self.column: {}}})
            return f"# {empty}{note}"
        return note + toml_text({"columns": {self.column: self.keys}})

    @staticmethod
    def of(
        column: str,
        kind: str,
        digits: int | None,
        declared: ColumnPlan,
        code_list: CodeList | None = None,
    ) -> Suggestion:
        """A hierarchy for a column of this kind, such as "integer" or "text".

        ``digits`` is the length of its texts where all are digits and equally long; ``code_list``
        the public list that they seem to be from.  Where only the kind of the values is known, that
        is the table.
        """
        if declared.hierarchy is not None:
            return Suggestion(column, None, "the plan has a hierarchy for this column")
        if declared.reads_as == "text":
            kind = "text"
        elif declared.reads_as == "number" and kind != "integer":
            kind = "decimal"
        elif declared.format:
            kind = "datetime" if has_time(declared.format) else "date"
        found, note = _hierarchy(kind, digits, declared)
        if code_list is not None and kind in {"text", "integer"}:
            found, note = _of_list(code_list)
        keys = {**_declared_keys(declared), **found}
        return Suggestion(column, keys if found or declared.kind else None, note)


def _of_list(code_list: CodeList) -> tuple[Json, str]:
    listed = public_list(code_list.name)
    if code_list.unlisted == "refuse":
        return {"code_list": code_list.name}, f"{listed.title}; {listed.source}"
    said = {"name": code_list.name, "unlisted": code_list.unlisted}
    note = f"{listed.title}; {listed.source}; some values are not in the list, and make one group"
    return {"code_list": said}, note


def _hierarchy(kind: str, digits: int | None, declared: ColumnPlan) -> tuple[Json, str]:
    match kind:
        case "integer" | "decimal":
            return _intervals(kind, declared.bounds)
        case "date" | "datetime":
            periods = [*(["day"] if kind == "datetime" else []), "month", "year", "decade"]
            return {"dates": periods}, "periods of the calendar; week and quarter are others"
        case "text" if digits and digits > 1 and declared.kind != "nominal":
            step = -(-(digits - 1) // _PREFIXES)
            kept = list(range(digits - step, 0, -step))
            typed = {} if declared.kind else {"type": "text"}
            note = f"codes of {digits} digits, of which the first ones are kept"
            return {**typed, "prefix": kept}, note
        case "text":
            alone = 'published as it is or as "*"; for groups between, ' * bool(declared.kind)
            return {}, (
                f'{alone}write hierarchy = "FILE", a line such as Paris;France;* for each possible '
                "value, or list the values in a tree"
            )
        case "boolean":
            return {}, "two values: published as they are or not at all, without a hierarchy"
        case _:
            return {}, f"values of kind {kind} cannot be generalized; leave the column out"


def _intervals(kind: str, bounds: tuple[Decimal, Decimal] | None) -> tuple[Json, str]:
    if bounds is None:
        return {}, (
            "declare bounds = [lowest, highest]: what is publicly possible, not what the table "
            "holds; then ask again"
        )
    low, high = bounds
    widths: list[Decimal] = []
    least = max((high - low) / _INTERVALS, Decimal(2 if kind == "integer" else 0))
    for width in _round_numbers(least):
        if width > (high - low) / 2:
            break
        if not widths or width % widths[-1] == 0:
            widths.append(width)
    if not widths:
        return {}, "few values lie within the bounds: they do without a hierarchy"
    intervals: Json = {"origin": 0, "widths": [json_number(width) for width in widths]}
    if kind == "integer":
        return {"intervals": intervals}, "intervals from the declared bounds"
    intervals["unit"] = 0
    return {"intervals": intervals}, (
        "intervals from the declared bounds; unit = 0 is measured continuously, for steps write "
        "for example 0.01"
    )


def _round_numbers(least: Decimal) -> Iterator[Decimal]:
    """1, 2 and 5 times powers of ten, ascending, from ``least`` on."""
    for exponent in count(least.adjusted()):
        for digit in (1, 2, 5):
            width = Decimal((0, (digit,), exponent))
            if width >= least:
                yield width


def _declared_keys(declared: ColumnPlan) -> Json:
    """What the plan says about the column, as it may be written."""
    said = {
        field.name: getattr(declared, field.name)
        for field in fields(declared)
        if getattr(declared, field.name) != field.default
    }
    if declared.bounds:
        said["bounds"] = [json_number(bound) for bound in declared.bounds]
    return said
