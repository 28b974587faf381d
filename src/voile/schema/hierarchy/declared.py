"""Hierarchies as a plan declares them: one key in the table of a column says which kind.

    key         what it declares                                            described in
    hierarchy   a file of values and their groups: "age.csv"                ``files``
    tree        the same with branches of unequal depth: a file, or tables  ``tree``
    intervals   of numbers: { origin = 0, widths = [5, 10, 20] }            ``intervals``
    prefix      characters that are kept of a text: [3, 1]                  ``prefixes``
    dates       periods of a date or time: ["month", "year"]                ``dates``

Files are looked for in the folder of the plan, read once, and checked before any row is read.
Every kind is an immutable value with the same ``bind``; without any, ``plain`` does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

from voile.errors import PlanError
from voile.schema.hierarchy.dates import Dates
from voile.schema.hierarchy.files import read_taxonomy
from voile.schema.hierarchy.generalized import BoundHierarchy, DistinctValues
from voile.schema.hierarchy.intervals import Intervals
from voile.schema.hierarchy.levels import SMALLEST_SHARE, as_they_are, bind_levels, everything
from voile.schema.hierarchy.prefixes import Prefixes
from voile.schema.hierarchy.taxonomy import Taxonomy
from voile.schema.hierarchy.tree import read_tree, tree_of
from voile.schema.keys import known_keys, table_of

__all__ = ["HIERARCHY_KEYS", "Hierarchy", "plain", "read_hierarchy"]

Hierarchy = Taxonomy | Intervals | Prefixes | Dates


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
    top = everything(count, bounds if values.numbers is not None else None)
    return bind_levels(column, values, [as_they_are(count, share), top], share)


def read_hierarchy(where: str, keys: Mapping[str, Any], folder: Path) -> Hierarchy | None:
    """The hierarchy among the keys of a column's table, or None; raises ``PlanError``.

    ``where`` is the name of the table, for messages.
    """
    named = [key for key in HIERARCHY_KEYS if key in keys]
    if not named:
        return None
    if len(named) > 1:
        msg = f"{where} declares {' and '.join(named)}; a column has one hierarchy"
        raise PlanError(msg)
    (key,) = named
    try:
        return _READERS[key](keys[key], folder)
    except PlanError as error:
        msg = f"{where} {key}: {error}"
        raise PlanError(msg) from None


def _file(value: object, folder: Path) -> Hierarchy:
    if not isinstance(value, str) or not value:
        msg = 'must be the name of a file, for example "age.csv"'
        raise PlanError(msg)
    return read_taxonomy(folder / value)


def _tree(value: object, folder: Path) -> Hierarchy:
    if isinstance(value, str) and value:
        return read_tree(folder / value)
    if not isinstance(value, dict):
        msg = "must be the name of a file, or a table of groups"
        raise PlanError(msg)
    return tree_of(value)


def _intervals(value: object, folder: Path) -> Hierarchy:
    keys = table_of("it", value)
    known_keys("it", keys, ("origin", "widths", "unit"))
    if "widths" not in keys:
        msg = "needs widths, for example { origin = 0, widths = [5, 10, 20] }"
        raise PlanError(msg)
    return Intervals(**keys)


_READERS: Mapping[str, Callable[[Any, Path], Hierarchy]] = {
    "hierarchy": _file,
    "intervals": _intervals,
    "prefix": lambda value, folder: Prefixes(value),
    "dates": lambda value, folder: Dates(value),
    "tree": _tree,
}
HIERARCHY_KEYS = tuple(_READERS)
"""Keys of a column's table that declare a hierarchy; at most one of them may stand there."""
