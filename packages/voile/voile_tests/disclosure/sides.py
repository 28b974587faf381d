"""The two sides that a kind compares, made by hand: what is known, and what is shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import numpy as np

from voile.disclosure.evidence import Evidence

__all__ = ["Knows", "Shows", "fits"]


def numbers(values: Sequence[Any]) -> np.ndarray:
    """As numbers; NaN for what is none."""

    def number(value: Any) -> float:
        try:
            return np.nan if value is None else float(value)
        except ValueError:
            return np.nan

    return np.array([number(value) for value in values])


@dataclass
class Knows:
    """Values that somebody knows of one column."""

    values: Sequence[Any]
    levels: list[list[str | None]] | None = None
    """What the values become at each level of the hierarchy; None: nobody tells it."""
    order: Sequence[str] | None = None
    bounds: tuple[Decimal, Decimal] | None = None
    asked: list[int | None] = field(default_factory=list)
    """The levels that were asked for."""

    @property
    def texts(self) -> list[str | None]:
        """As texts."""
        return [None if value is None else str(value) for value in self.values]

    @property
    def numbers(self) -> np.ndarray:
        """As numbers."""
        return numbers(self.values)

    @property
    def vocabulary(self) -> set[str | None]:
        """All of them."""
        return set(self.texts)

    @property
    def has_hierarchy(self) -> bool:
        """Whether levels are known."""
        return self.levels is not None

    def generalized(self, level: int | None) -> list[list[str | None]] | None:
        """Those of one level, or of all."""
        self.asked.append(level)
        if self.levels is None or level is None:
            return self.levels
        return [self.levels[level]]

    def coded(self, codings: Sequence[Any]) -> None:
        """Nothing: what codings need is not known."""
        del codings


@dataclass
class Shows:
    """What the published columns of one column show, cell by cell."""

    name: str
    columns: Mapping[str, Sequence[Any]]
    counts: Sequence[int] | None = None

    @property
    def rows(self) -> np.ndarray:
        """One row for each cell, where nothing else is said."""
        cells = len(next(iter(self.columns.values())))
        return np.ones(cells, dtype=int) if self.counts is None else np.array(self.counts)

    def texts(self, column: str) -> list[str | None]:
        """As texts."""
        return [None if value is None else str(value) for value in self.columns[column]]

    def numbers(self, column: str) -> np.ndarray:
        """As numbers."""
        return numbers(self.columns[column])


def fits(evidence: Evidence, targets: Any = slice(None)) -> list[list[int]]:
    """Which cells each known value may belong to, of evidence that weighs none of them."""
    weights = evidence.log_weights(targets)
    assert set(np.unique(weights)) <= {0.0, -np.inf}
    return [np.flatnonzero(row == 0).tolist() for row in weights]
