"""Figures that are drawn here: bars of a column, and risk against loss with a point a study.

Places are computed; the templates write the drawing, so that texts are escaped as all others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from voile.report.grid import risk_title
from voile.report.words import spoken
from voile.study.record import StudyComparison
from voile_base.values import Document

__all__ = ["Bars", "bars_of", "few", "risk_and_loss"]

_FEW, _MOST = 12, 20
_WIDTH, _HEIGHT = 640.0, 360.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 64.0, 16.0, 16.0, 48.0


@dataclass(frozen=True)
class _PictureBar:
    """One bar: heights and places are shares of the picture."""

    label: str
    rows: int
    x: float
    width: float
    height: float


@dataclass(frozen=True)
class Bars:
    """How a column is spread."""

    bars: tuple[_PictureBar, ...]
    binned: bool
    others: int


@dataclass(frozen=True)
class _Spot:
    """One study in the picture."""

    index: int
    name: str
    x: float
    y: float
    best: bool
    told: str

    @property
    def on_the_right(self) -> bool:
        """Whether its name has more room on its left."""
        return self.x > _WIDTH * 0.7


@dataclass(frozen=True)
class _AxisTick:
    """A mark of an axis."""

    at: float
    told: str


@dataclass(frozen=True)
class _FrontierPicture:
    """Risk (upwards) against loss (to the right); both are better where they are smaller."""

    width: float
    height: float
    left: float
    bottom: float
    spots: tuple[_Spot, ...]
    across: tuple[_AxisTick, ...]
    upwards: tuple[_AxisTick, ...]
    risk: str
    loss: str


def bars_of(document: Document | None) -> Bars | None:
    """The bars of a column, as ``voile inspect --values`` tells them."""
    if not document or not document.get("bars"):
        return None
    said = document["bars"]
    most = max(bar["rows"] for bar in said) or 1
    step = 100 / len(said)
    bars = tuple(
        _PictureBar(
            str(bar["value"]), int(bar["rows"]), i * step, step * 0.86, 100 * bar["rows"] / most
        )
        for i, bar in enumerate(said)
    )
    return Bars(bars, bool(document.get("binned")), int(document.get("others", 0)))


def few(document: Document | None, *, ordered: bool) -> Document | None:
    """The same in as few bars as a small picture holds.

    Of numbers and times (``ordered``) neighbours share a bar; of others the most frequent stay.
    """
    if document is None or document["binned"]:
        return document
    if ordered and not document["others"]:
        return {**document, "binned": True, "bars": _neighbours(document["bars"])}
    bars, rest = document["bars"][:_FEW], document["bars"][_FEW:]
    return {**document, "bars": bars, "others": document["others"] + sum(b["rows"] for b in rest)}


def _neighbours(bars: Sequence[Document]) -> list[Document]:
    """Values in their order, the same number of them in each bar."""
    inorder = sorted(bars, key=lambda bar: _as_number(bar["value"]))
    size = math.ceil(len(inorder) / _MOST)
    parts = [inorder[at : at + size] for at in range(0, len(inorder), size)]
    return [
        {
            "value": part[0]["value"] + (f" to {part[-1]['value']}" if len(part) > 1 else ""),
            "rows": sum(bar["rows"] for bar in part),
        }
        for part in parts
    ]


def _as_number(text: str) -> tuple[float, str]:
    try:
        return float(text), text
    except ValueError:
        return 0.0, text  # a time, whose text is in its order


def risk_and_loss(comparison: StudyComparison) -> _FrontierPicture | None:
    """The picture of a comparison; None where no study has both a risk and a loss."""
    placed = [
        (index, point.name, point.risk, point.loss)
        for index, point in enumerate(comparison.points)
        if point.risk is not None and point.loss is not None
    ]
    if not placed:
        return None
    risks = _scale([risk for *_, risk, _ in placed])
    losses = _scale([loss for *_, loss in placed])
    spots = tuple(
        _Spot(
            index,
            name,
            _across(loss, losses),
            _upwards(risk, risks),
            name in comparison.frontier,
            f"{name}: risk {100 * risk:.3g} %, loss {loss:.3g}",
        )
        for index, name, risk, loss in placed
    )
    return _FrontierPicture(
        _WIDTH,
        _HEIGHT,
        _LEFT,
        _HEIGHT - _BOTTOM,
        spots,
        tuple(_AxisTick(_across(value, losses), f"{value:.3g}") for value in _ticks(losses)),
        tuple(_AxisTick(_upwards(value, risks), f"{100 * value:.3g} %") for value in _ticks(risks)),
        risk_title(comparison),
        spoken(comparison.loss).lower() if comparison.loss else "loss",
    )


def _scale(values: Sequence[float]) -> tuple[float, float]:
    low, high = min(0.0, *values), max(values)
    return low, high if high > low else low + 1.0


def _ticks(scale: tuple[float, float]) -> list[float]:
    low, high = scale
    return [low + (high - low) * step / 4 for step in range(5)]


def _across(value: float, scale: tuple[float, float]) -> float:
    low, high = scale
    return _LEFT + 8 + (value - low) / (high - low) * (_WIDTH - _LEFT - _RIGHT - 24)


def _upwards(value: float, scale: tuple[float, float]) -> float:
    low, high = scale
    return _HEIGHT - _BOTTOM - 8 - (value - low) / (high - low) * (_HEIGHT - _TOP - _BOTTOM - 24)
