"""What a group of a ranking must satisfy, and how hard a search may try."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from voile.errors import PlanError

__all__ = ["SearchTerms"]

_MOST_ROWS = 2**31


@dataclass(frozen=True)
class SearchTerms:
    """Terms of a group, then the parameters of the searches that read them.

    Raises ``PlanError`` for a value out of its range.
    """

    k: int
    """A group has at least so many rows, or persons, with top rows and others together."""
    precision: Fraction
    """Least share of top rows among all rows of the table in the box, in (0, 1]; exact."""
    batch: int | None = None
    """A search starts from so many of the best top rows that are left, or from those of so many
    persons (and all tied with the last of them); None: from all of them."""
    beyond_top: bool = True
    """``exact``: try boxes spanned by any rows too, not only those spanned by top rows."""
    theta: Fraction = Fraction(4, 100)
    """``theta``: a step must lift the precision by so much, in (0, 1]."""
    alpha: Fraction = Fraction(3, 10)
    """``grasp``: 0 takes the best insertion, 1 any."""
    iterations: int = 32
    """``grasp``: constructions, each followed by a local search."""
    exchange: tuple[int, int] = (2, 2)
    """``grasp``: an exchange takes out up to m layers of the box and puts in up to n rows."""
    work: int = 100_000
    """``exact``, ``auto``: limit of boxes looked at in a round; the same on every machine."""
    seconds: float | None = None
    """``exact``, ``auto``: limit of time in a round.  Whether it strikes depends on the machine."""

    def __post_init__(self) -> None:
        _require(2 <= self.k < _MOST_ROWS, "k", "a whole number, at least 2")
        _require(0 < self.precision <= 1, "precision", "above 0 and at most 1")
        _require(
            self.precision.denominator < _MOST_ROWS, "precision", "a number of at most 9 decimals"
        )
        _require(self.batch is None or self.batch >= 1, "batch", "at least 1")
        _require(0 < self.theta <= 1, "theta", "above 0 and at most 1")
        _require(0 <= self.alpha <= 1, "alpha", "from 0 to 1")
        _require(self.iterations >= 1, "iterations", "at least 1")
        _require(min(self.exchange) >= 1, "exchange", "two whole numbers, at least 1")
        _require(self.work >= 1, "work", "at least 1")
        _require(self.seconds is None or self.seconds > 0, "seconds", "above 0")


def _require(holds: bool, name: str, must: str) -> None:
    if not holds:
        msg = f"{name} must be {must}"
        raise PlanError(msg)
