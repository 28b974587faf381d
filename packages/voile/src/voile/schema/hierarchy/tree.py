"""Hierarchies as trees whose branches may end at different depths.

Levels are counted from the root, so that a level is a cut through the tree at one depth.  A branch
that ends above that depth repeats its last node, the value itself:

    Private;*                                    Private         Private       *
    Federal-gov;Government;*      stands for     Federal-gov     Government    *
    Local-gov;Government;*                       Local-gov       Government    *

(Repeating the group in its place would make ``Private`` a ``*`` beside ``Government``, two groups
one of which contains the other.)  A tree is read from a file such as the one above, or stands in
the plan:

    [columns.workclass.tree]
    Government = ["Federal-gov", "Local-gov"]
    Private    = []

Keys are groups, lists hold values, tables hold groups of groups; an empty list makes its key a
value.  The root above it all is ``*``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from voile.schema.hierarchy.files import read_lines
from voile.schema.hierarchy.levels import EVERYTHING
from voile.schema.hierarchy.taxonomy import Taxonomy
from voile_base.errors import PlanError
from voile_base.values.exact import usable_number

__all__ = ["read_tree", "tree_of"]


def read_tree(path: Path) -> Taxonomy:
    """Read a file whose lines may have unequally many fields; raises ``PlanError``."""
    return Taxonomy(_filled(line.fields for line in read_lines(path)), str(path))


def tree_of(nested: Mapping[str, Any]) -> Taxonomy:
    """The hierarchy of nested tables; raises ``PlanError``."""
    paths = list(_paths(nested, (EVERYTHING,)))
    if not paths:
        msg = "the tree is empty; name the groups and the values in each"
        raise PlanError(msg)
    return Taxonomy(_filled(paths), "the tree")


def _paths(nested: Mapping[str, Any], above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for name, below in nested.items():
        match below:
            case dict() if below:
                yield from _paths(below, (name, *above))
            case []:
                yield (name, *above)
            case list() | tuple():
                yield from ((_value(name, value), name, *above) for value in below)
            case _:
                msg = (
                    f'{name!r} must hold a list of values, such as ["Paris", "Lyon"], or a table '
                    "of groups"
                )
                raise PlanError(msg)


def _value(group: str, value: object) -> str:
    if isinstance(value, str):
        return value
    exact = usable_number(value)
    if exact is None:
        msg = f"{group!r} must list values as texts or numbers"
        raise PlanError(msg)
    return format(exact, "f")


def _filled(paths: Iterable[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    """Paths of one length: a value repeats itself until its first group."""
    paths = list(paths)
    longest = max(map(len, paths))
    return tuple((path[0],) * (longest - len(path)) + path for path in paths)
