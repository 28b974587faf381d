"""What a criterion of a policy finds, and when that is a pass; private.

A figure comes with an interval, of confidence 95 % where it was estimated and of no width where it
was counted.  It passes where the whole interval does: one that straddles the limit is no pass, and
neither is a figure that is missing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field

from voile_base.errors import InputError, nearest
from voile_base.values.value import Several, checked

__all__ = ["MeasuredFigure", "Ruling", "at_least", "at_most", "missing"]

Limit = Annotated[float, Field(allow_inf_nan=False)]


@dataclass(frozen=True)
class MeasuredFigure:
    """A figure, and how it came about."""

    value: float
    low: float
    high: float
    why: str
    """A clause: "of 12 groups of rows that show the same, the smallest"."""
    of_original: bool = True
    """Whether it was computed with the private original."""
    notes: tuple[str, ...] = ()

    @classmethod
    def exactly(
        cls, value: float, why: str, *notes: str, of_original: bool = False
    ) -> MeasuredFigure:
        """A figure that was counted."""
        return cls(value, value, value, why, of_original, notes)


@checked(InputError)
@dataclass(frozen=True)
class Ruling:
    """One criterion, with its figure and whether it is met."""

    kind: str
    asks: str
    """What is asked, as a clause."""
    passed: bool
    why: str
    """How the figure came about, or why there is none; a clause."""
    value: Limit | None = None
    low: Limit | None = None
    high: Limit | None = None
    limit: Limit | None = None
    side: Literal["least", "most"] | None = None
    """On which side of the limit a figure passes."""
    of_original: bool = True
    """Whether it was computed with the private original, and must stay private."""
    notes: Several[str] = ()

    @property
    def told(self) -> Literal["pass", "FAIL", "STRADDLES", "MISSING"]:
        """The ruling in one word."""
        if self.passed:
            return "pass"
        if self.value is None:
            return "MISSING" if self.limit is not None else "FAIL"
        assert self.limit is not None
        within = self.value <= self.limit if self.side == "most" else self.value >= self.limit
        return "STRADDLES" if within else "FAIL"


def at_most(kind: str, asks: str, found: MeasuredFigure | str, limit: float) -> Ruling:
    """A figure that must not lie above a limit, or why there is none."""
    return _held(kind, asks, found, limit, "most")


def at_least(kind: str, asks: str, found: MeasuredFigure | str, limit: float) -> Ruling:
    """A figure that must not lie below a limit, or why there is none."""
    return _held(kind, asks, found, limit, "least")


def missing(what: str, name: str, known: Sequence[str]) -> str:
    """Why there is no figure, where what was looked for was not measured."""
    if not known:
        return f"{what} {name} was not measured: there is no evidence beside the release"
    return f"{what} {name} was not measured{nearest(name, known)}"


def _held(
    kind: str, asks: str, found: MeasuredFigure | str, limit: float, side: Literal["least", "most"]
) -> Ruling:
    if isinstance(found, str):
        return Ruling(kind, asks, passed=False, why=found, limit=limit, side=side)
    return Ruling(
        kind,
        asks,
        passed=found.high <= limit if side == "most" else found.low >= limit,
        why=found.why,
        value=found.value,
        low=found.low,
        high=found.high,
        limit=limit,
        side=side,
        of_original=found.of_original,
        notes=found.notes,
    )
