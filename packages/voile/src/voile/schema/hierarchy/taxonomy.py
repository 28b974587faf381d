"""Hierarchies that list every value: from each value to ever wider groups.

    Federal-gov      Government       *
    Local-gov        Government       *
    Private          Non-Government   *

The values listed are the public domain of the column, so a group covers the share of the listed
values that lie below it (the loss of ARX).  If the last level holds several groups, these are the
widest: no level is added.

Values are compared as texts; numbers that read differently (``37`` and ``37.0``) as exact
numbers, truth values in any case.

Cost: one pass over the list when it is made, one look-up for each distinct value to bind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.schema.hierarchy.generalized import BoundHierarchy, DistinctValues
from voile.schema.hierarchy.levels import (
    and_others,
    as_they_are,
    bind_levels,
    present,
    used_texts,
)
from voile_base.errors import PlanError

__all__ = ["Taxonomy"]


@dataclass(frozen=True)
class Taxonomy:
    """The path of each value: the value, its group, the group of that, and so on.

    Raises ``PlanError`` where there is no value, a value is repeated, paths are not of one length
    of at least two, or a level is no coarsening of the one below it.
    """

    paths: tuple[tuple[str, ...], ...] = field(repr=False)
    source: str = field(default="the hierarchy", compare=False)
    """Where it was read, for messages."""

    _indices: dict[str, int] = field(init=False, repr=False, compare=False)
    _groups: tuple[_Groups, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        lengths = {len(path) for path in self.paths}
        if len(lengths) != 1 or min(lengths) < 2:
            msg = f"{self.source}: every value needs a path of the same length, at least one group"
            raise PlanError(msg)
        leaves = [path[0] for path in self.paths]
        indices = {leaf: index for index, leaf in enumerate(leaves)}
        if len(indices) < len(leaves):
            repeated = next(leaf for index, leaf in enumerate(leaves) if indices[leaf] != index)
            msg = f"{self.source}: the value {repeated!r} is repeated; each has one path"
            raise PlanError(msg)
        levels = list(zip(*self.paths, strict=True))
        for level in range(1, len(levels) - 1):
            self._require_coarsening(level, levels[level], levels[level + 1], leaves)
        object.__setattr__(self, "_indices", indices)
        object.__setattr__(self, "_groups", tuple(map(_group, levels[1:])))

    def bind(
        self, column: str, values: DistinctValues, bounds: tuple[Decimal, Decimal] | None = None
    ) -> BoundHierarchy:
        """The hierarchy of the d distinct values of a column; ``bounds`` are of no use here.

        Raises ``PlanError`` that names the first value which is not listed.
        """
        indices = self._indices_of(column, values)
        leaf_share = 1 / len(self.paths)
        levels = [as_they_are(len(indices), leaf_share)]
        levels += [
            used_texts(group.codes[indices], group.texts, group.share) for group in self._groups
        ]
        return bind_levels(column, values, levels, leaf_share)

    def missed(self, column: str, values: DistinctValues) -> list[str]:
        """The values of a column that are not listed."""
        texts = present(values)
        found = zip(texts, self._found(column, values), strict=True)
        return [text for text, index in found if index < 0]

    def _require_coarsening(
        self, level: int, lower: Sequence[str], upper: Sequence[str], leaves: Sequence[str]
    ) -> None:
        first: dict[str, int] = {}
        for index, group in enumerate(lower):
            other = first.setdefault(group, index)
            if upper[index] != upper[other]:
                msg = (
                    f"{self.source}: level {level + 1} is no coarsening of level {level}: "
                    f"{group!r} becomes {upper[other]!r} for the value {leaves[other]!r} and "
                    f"{upper[index]!r} for {leaves[index]!r}; let it become one of them, or give "
                    "one of the two groups another name"
                )
                raise PlanError(msg)

    def _indices_of(self, column: str, values: DistinctValues) -> NDArray[np.int64]:
        """For each value that is not missing, which of the listed values it is."""
        texts, indices = present(values), self._found(column, values)
        if -1 in indices:
            # The one place where a message quotes the table: without the value nobody could
            # complete the hierarchy, and a value alone says nothing about a person.
            missed = [text for text, index in zip(texts, indices, strict=True) if index < 0]
            others = and_others(len(missed) - 1)
            msg = (
                f"column {column!r}: {self.source} misses the value {missed[0]!r}{others}; add a "
                "line for each, or name the text in `missing` if it stands for a missing value"
            )
            raise PlanError(msg)
        return np.array(indices, dtype=np.int64)

    def _found(self, column: str, values: DistinctValues) -> list[int]:
        """For each value that is not missing, which of the listed values it is; -1: none."""
        texts = present(values)
        indices = [self._indices.get(text, -1) for text in texts]
        if -1 in indices and values.kind in _READINGS:
            return self._indices_by_meaning(column, texts, values.kind)
        return indices

    def _indices_by_meaning(self, column: str, texts: Sequence[str], kind: str) -> list[int]:
        reading = _READINGS[kind]
        indices: dict[Any, int] = {}
        for leaf, index in self._indices.items():
            meaning = reading(leaf)
            if meaning is None:
                continue
            other = indices.setdefault(meaning, index)
            if other != index:
                msg = (
                    f"{self.source}: {self.paths[other][0]!r} and {leaf!r} are the same value of "
                    f"column {column!r}; keep one of them"
                )
                raise PlanError(msg)
        return [indices.get(reading(text), -1) for text in texts]


@dataclass(frozen=True, eq=False)
class _Groups:
    """The groups of one level: which of them each listed value belongs to, names, shares."""

    codes: NDArray[np.int32]
    texts: tuple[str, ...]
    share: NDArray[np.float64]


def _group(names: Sequence[str]) -> _Groups:
    indices: dict[str, int] = {}
    codes = np.array([indices.setdefault(name, len(indices)) for name in names], np.int32)
    return _Groups(codes, tuple(indices), np.bincount(codes) / len(codes))


def _number(text: str) -> Decimal | None:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


_READINGS = {"number": _number, "boolean": str.casefold}
