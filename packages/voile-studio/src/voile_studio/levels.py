"""Edits of a hierarchy: values below groups below larger groups, up to everything.

A hierarchy is a table of texts, a row for each value: the value, its group at level 1, 2 and so on.
Groups of one level nest in those of the next.  The last level is ``*``, everything.  Every edit
returns a new one and keeps it nested.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from voile_base.errors import InputError

__all__ = ["EditedLevels", "LevelGroup", "levels_of_paths", "levels_of_values"]

EVERYTHING = "*"
_LONGEST = 200


@dataclass(frozen=True)
class LevelGroup:
    """A group of a level, and what is in it."""

    level: int
    name: str
    """Its name among those of the level."""
    rows: int
    """Rows of the table in it."""
    groups: tuple[LevelGroup, ...] = ()
    """Of the level below; empty for a value."""


@dataclass(frozen=True)
class EditedLevels:
    """A hierarchy of v values in n levels above them, the last of which is everything."""

    paths: tuple[tuple[str, ...], ...]
    """Shape (v, n + 1): a value and its groups, in the order in which they are shown."""
    rows: Mapping[str, int] = field(default_factory=dict)
    """How many rows hold each value; 0 where it is not known."""

    @property
    def height(self) -> int:
        """Levels above the values."""
        return len(self.paths[0]) - 1

    def tree(self) -> tuple[LevelGroup, ...]:
        """The groups below everything."""
        return tuple(self._below(self.paths, self.height - 1))

    def merged(self, level: int, names: Sequence[str], called: str) -> EditedLevels:
        """With groups of a level as one, which lies where the first of them did.

        Of values (level 0) the groups that hold them at level 1 are changed: the values named get
        a group of their own.
        """
        called = _name(called)
        if level == 0:
            return self._gathered(names, called)
        chosen = [path for path in self.paths if path[level] in set(names)]
        if len({path[level] for path in chosen}) < 2:
            msg = "choose two groups or more of one level to merge"
            raise InputError(msg)
        self._refuse_taken(level, called, names)
        above = chosen[0][level + 1 :]
        return self._with(
            lambda path: (*path[:level], called, *above) if path[level] in set(names) else path
        )

    def split(self, level: int, name: str) -> EditedLevels:
        """With the groups or values of the level below in the place of a group."""
        if not 1 <= level < self.height:
            msg = "only a group between the values and everything can be split"
            raise InputError(msg)
        others = {path[level] for path in self.paths if path[level] != name}
        below = {path[level - 1] for path in self.paths if path[level] == name}
        if taken := others & below:
            msg = f"a group of that level is called {min(taken)!r} already; rename it first"
            raise InputError(msg)
        return self._with(
            lambda path: (
                (*path[:level], path[level - 1], *path[level + 1 :])
                if path[level] == name
                else path
            )
        )

    def renamed(self, level: int, name: str, called: str) -> EditedLevels:
        """With another name for a group; values keep theirs."""
        called = _name(called)
        if not 1 <= level < self.height:
            msg = "values keep their names, and everything is called *"
            raise InputError(msg)
        self._refuse_taken(level, called, [name])
        return self._with(
            lambda path: (
                (*path[:level], called, *path[level + 1 :]) if path[level] == name else path
            )
        )

    def widened(self) -> EditedLevels:
        """With one level more, below everything, in which each group stands alone."""
        return self._with(lambda path: (*path[:-1], path[-2], path[-1]))

    def narrowed(self, level: int) -> EditedLevels:
        """Without a level between the values and everything."""
        if not 1 <= level < self.height:
            msg = "values and everything stay; choose a level between them"
            raise InputError(msg)
        return self._with(lambda path: (*path[:level], *path[level + 1 :]))

    def moved(self, level: int, name: str, steps: int) -> EditedLevels:
        """With a group or value one place up (-1) or down (1) among its neighbours."""
        groups = list(dict.fromkeys(path[level : level + 2] for path in self.paths))
        at = next((i for i, group in enumerate(groups) if group[0] == name), None)
        if at is None or not 0 <= at + steps < len(groups):
            return self
        if groups[at][1:] != groups[at + steps][1:]:
            return self
        groups[at], groups[at + steps] = groups[at + steps], groups[at]
        rank = {group[0]: place for place, group in enumerate(groups)}
        return EditedLevels(
            tuple(sorted(self.paths, key=lambda path: rank[path[level]])), self.rows
        )

    def csv(self) -> str:
        """As the file that a plan names."""
        out = io.StringIO()
        csv.writer(out, delimiter=";", lineterminator="\n").writerows(self.paths)
        return out.getvalue()

    def _gathered(self, names: Sequence[str], called: str) -> EditedLevels:
        chosen = [path for path in self.paths if path[0] in set(names)]
        if not chosen:
            msg = "choose values to put in a group"
            raise InputError(msg)
        if self.height == 1:
            return self.widened()._gathered(names, called)
        left = {path[1] for path in self.paths if path[0] not in set(names)}
        if called in left:
            msg = f"a group is called {called!r} already; choose another name"
            raise InputError(msg)
        above = chosen[0][2:]
        return self._with(lambda path: (path[0], called, *above) if path[0] in set(names) else path)

    def _refuse_taken(self, level: int, called: str, but: Sequence[str]) -> None:
        if any(path[level] == called for path in self.paths if path[level] not in but):
            msg = f"a group of that level is called {called!r} already; choose another name"
            raise InputError(msg)

    def _with(self, change: object) -> EditedLevels:
        assert callable(change)
        paths = [change(path) for path in self.paths]
        first: dict[tuple[str, ...], int] = {}
        for path in paths:
            for level in range(len(path)):
                first.setdefault(path[level:], len(first))
        # Those of one group stand together, in the order in which the first of them stood.
        ranked = sorted(
            paths, key=lambda path: [first[path[level:]] for level in reversed(range(len(path)))]
        )
        return EditedLevels(tuple(ranked), self.rows)

    def _below(self, paths: Sequence[tuple[str, ...]], level: int) -> Iterator[LevelGroup]:
        for name in dict.fromkeys(path[level] for path in paths):
            inside = [path for path in paths if path[level] == name]
            rows = sum(self.rows.get(path[0], 0) for path in inside)
            groups = tuple(self._below(inside, level - 1)) if level else ()
            yield LevelGroup(level, name, rows, groups)


def levels_of_values(rows: Mapping[str, int]) -> EditedLevels:
    """A hierarchy of values and everything, in the order given; raises ``InputError`` for none."""
    if not rows:
        msg = "the column has no values that can be grouped"
        raise InputError(msg)
    return EditedLevels(tuple((value, EVERYTHING) for value in rows), dict(rows))


def levels_of_paths(paths: Sequence[Sequence[str]], rows: Mapping[str, int]) -> EditedLevels:
    """The hierarchy of a file's lines; values of the table that it lacks stand alone in it."""
    found = [tuple(path) for path in paths]
    if any(path[-1] != EVERYTHING for path in found):
        found = [(*path, EVERYTHING) for path in found]
    there = {path[0] for path in found}
    lacking = [value for value in rows if value not in there]
    found += [(value,) * (len(found[0]) - 1) + (EVERYTHING,) for value in lacking]
    return EditedLevels(tuple(found), dict(rows))


def _name(called: str) -> str:
    called = " ".join(called.split())
    if not called or called == EVERYTHING:
        msg = "a group needs a name"
        raise InputError(msg)
    if len(called) > _LONGEST:
        msg = f"a name has at most {_LONGEST} characters"
        raise InputError(msg)
    return called
