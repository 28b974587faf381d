"""How rows are ranked: what values add to a score, exactly and nearly."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import lcm
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from voile.schema.numbers import ExactNumbers

__all__ = ["RowScore", "ValueScores", "in_one_unit"]

_SAFE = 2**61


@dataclass(frozen=True, eq=False)
class ValueScores:
    """What d values add to a score: the exact numbers ``units / denominator``."""

    units: NDArray[Any]
    """Shape (d,): ``int64``, or Python integers where these do not fit."""
    denominator: int
    """Above 0."""


class RowScore(Protocol):
    """How rows are ranked: by a sum of functions, each rising or falling with one column.

    Where the plan declares an order of texts, a text counts as its place in it, from 1; all other
    columns hold numbers.
    """

    @property
    def columns(self) -> Sequence[str]:
        """The m columns that are ranked by."""

    def exact(self, column: str, values: ExactNumbers) -> ValueScores:
        """What values of a column add; raises ``TableError`` where one cannot be scored."""

    def near(self, column: str, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """What values of a column add, rounded; NaN or infinite where that is not possible."""

    def error(self, column: str, low: float, high: float, relative: float) -> float:
        """The most by which ``near`` of a double differs from ``exact`` of what it stands for.

        The double lies in [``low``, ``high``], and within a share ``relative`` of its magnitude of
        the number that it stands for.  Infinite where no bound is known.
        """


def in_one_unit(scores: Sequence[ValueScores]) -> tuple[list[NDArray[Any]], int]:
    """The units of each column over one denominator, and that denominator.

    They are ``int64`` where every sum of one unit a column fits, and Python integers where not.
    """
    common = lcm(*(score.denominator for score in scores))
    units = [score.units.astype(object) * (common // score.denominator) for score in scores]
    if sum(max(abs(int(each.min())), abs(int(each.max()))) for each in units) < _SAFE:
        units = [each.astype(np.int64) for each in units]
    return units, common
