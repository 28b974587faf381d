"""Hierarchies as a plan declares them: one key in the table of a column says which kind.

    key         what it declares                                            described in
    hierarchy   a file of values and their groups: "age.csv"                ``taxonomy``
    tree        the same with branches of unequal depth: a file, or tables  ``taxonomy``
    intervals   of numbers: { origin = 0, widths = [5, 10, 20] }            ``ranges``
    prefix      characters that are kept of a text: [3, 1]                  ``ranges``
    dates       periods of a date or time: ["month", "year"]                ``ranges``
    postcode    whose postcodes of a few houses: "uk", "nl", "ca"           ``forms``
    year        where it stands in days of other calendars: "first", "last"  ``forms``
    code_list   a public list that ships with the package: "icd-9-cm"       ``taxonomy``

Files are looked for in the folder of the plan, read once, and checked before any row is read.
Every kind is an immutable value with the same ``bind``; without any, ``plain`` does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import core_schema

from voile.schema.hierarchy.forms import Postcodes, PostcodeSystem, WrittenDays, YearAt
from voile.schema.hierarchy.generalized import SMALLEST_SHARE, BoundHierarchy, DistinctValues, Level
from voile.schema.hierarchy.ranges import Dates, Intervals, Kept, Periods, Prefixes
from voile.schema.hierarchy.taxonomy import CODE_LISTS, CodeList, CodeListName, Taxonomy
from voile_base.errors import PlanError
from voile_base.ondemand import dataclass
from voile_base.values import Document, Json
from voile_base.values.value import Says, adapter, checked

__all__ = [
    "HIERARCHY_KEYS",
    "Hierarchy",
    "HierarchyKeys",
    "WhenMet",
    "plain",
]

Hierarchy = Taxonomy | Intervals | Prefixes | Dates | Postcodes | WrittenDays | CodeList
FileName = Annotated[str, Field(min_length=1), Says('the name of a file, for example "age.csv"')]


def plain(
    column: str, values: DistinctValues, bounds: tuple[Decimal, Decimal] | None = None
) -> BoundHierarchy:
    """Two levels: the values as they are, then everything.

    Everything is the public bounds of a numeric column that has them, and ``*`` otherwise.  A
    truth value covers half of its domain; of a domain that nobody declared, a value covers too
    little to count.
    """
    count = len(values) - values.missing
    share = 0.5 if values.kind == "boolean" else SMALLEST_SHARE
    top = Level.everything(count, bounds if values.numbers is not None else None)
    return BoundHierarchy.of_levels(column, values, [Level.as_they_are(count, share), top], share)


@dataclass(frozen=True)
class WhenMet:
    """Marks a class whose schema is made when a table of it is read; most plans have few tables."""

    kind: object

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        del source, handler  # which would make the schema now
        return core_schema.no_info_plain_validator_function(self._read)

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> Document:
        del schema
        return handler(adapter(self.kind).core_schema)

    def _read(self, held: object) -> object:
        if isinstance(self.kind, type) and isinstance(held, self.kind):
            return held
        return adapter(self.kind).validate_python(held)


@checked(PlanError)
@dataclass(frozen=True)
class HierarchyKeys:
    """The keys of a column's table that declare a hierarchy, of which one may stand there."""

    hierarchy: FileName | None = None
    tree: Annotated[FileName | Json | None, Says("the name of a file, or a table of groups")] = None
    intervals: Annotated[Intervals, WhenMet(Intervals)] | None = None
    prefix: Kept | None = None
    dates: Periods | None = None
    postcode: PostcodeSystem | None = None
    year: YearAt | None = None
    code_list: Annotated[
        CodeListName | CodeList | None,
        Says(f"the name of a public list, one of {', '.join(CODE_LISTS)}", within=False),
    ] = None

    def read(self, folder: Path) -> Hierarchy | None:
        """The hierarchy among the keys of a column's table, or None; raises ``PlanError``."""
        named = [key for key in HIERARCHY_KEYS if getattr(self, key) is not None]
        if not named:
            return None
        if len(named) > 1:
            msg = f"declares {' and '.join(named)}; a column has one hierarchy"
            raise PlanError(msg)
        (key,) = named
        try:
            return _READERS[key](getattr(self, key), folder)
        except PlanError as error:
            msg = f"{key}: {error}"
            raise PlanError(msg) from None


HIERARCHY_KEYS = tuple(key.name for key in fields(HierarchyKeys))


def _tree(value: str | Json, folder: Path) -> Hierarchy:
    return Taxonomy.read_tree(folder / value) if isinstance(value, str) else Taxonomy.of_tree(value)


_READERS: Mapping[str, Callable[[Any, Path], Hierarchy]] = {
    "hierarchy": lambda name, folder: Taxonomy.read(folder / name),
    "tree": _tree,
    "intervals": lambda intervals, folder: intervals,
    "prefix": lambda kept, folder: Prefixes(kept),
    "dates": lambda periods, folder: Dates(periods),
    "postcode": lambda system, folder: Postcodes(system),
    "year": lambda at, folder: WrittenDays(at),
    "code_list": lambda said, folder: said if isinstance(said, CodeList) else CodeList(said),
}
