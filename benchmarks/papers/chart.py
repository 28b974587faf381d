"""Charts of a paper's figures: our curves, and the paper's own where the text gives them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

__all__ = ["FIGURES", "PaperChart", "PaperCurve", "draw"]

FIGURES = Path(__file__).parents[1] / "figures"
_COLOURS = (
    "#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#000000", "#999999",
)  # fmt: skip
_MARKERS = "osD^vPX*"
_PRINTED: Any = {"color": "#555555", "linestyle": (0, (5, 2)), "linewidth": 1.6}
_WIDTH, _HEIGHT = 4.2, 3.6
"""Of one chart, inches."""


@dataclass(frozen=True)
class PaperCurve:
    """One line of a chart."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    printed: bool = False
    """Whether the numbers are the paper's: dashed and grey."""
    markers: bool = True


@dataclass(frozen=True)
class PaperChart:
    """One figure of a paper, or one panel of it."""

    label: str
    """As the paper numbers it."""
    title: str
    across: str
    """What lies along the x axis, with its unit."""
    upright: str
    curves: Sequence[PaperCurve]
    scale: Literal["linear", "log"] = "linear"
    """Of the y axis."""
    across_scale: Literal["linear", "log"] = "linear"
    limits: tuple[float | None, float | None] = (None, None)
    """Of the y axis; None: by the curves."""


def draw(charts: Sequence[PaperChart], path: Path, columns: int = 3) -> None:
    """Draw charts row by row; the same charts give the same bytes of SVG."""
    across = min(columns, len(charts))
    rows = -(-len(charts) // across)
    style: Any = {"svg.hashsalt": path.stem, "svg.fonttype": "none", "font.size": 9}
    with mpl.rc_context(style):
        figure = Figure(figsize=(_WIDTH * across, _HEIGHT * rows), layout="constrained")
        axes = figure.subplots(rows, across, squeeze=False).ravel()
        for axis, chart in zip(axes, charts, strict=False):
            _draw_chart(axis, chart)
        for axis in axes[len(charts) :]:
            axis.set_axis_off()
        path.parent.mkdir(exist_ok=True)
        figure.savefig(path, dpi=110, metadata={"Date": None} if path.suffix == ".svg" else {})


def _draw_chart(axis: Axes, chart: PaperChart) -> None:
    number = 0
    for curve in chart.curves:
        if curve.printed:
            axis.plot(curve.x, curve.y, label=curve.name, **_PRINTED)
            continue
        look: Any = {"color": _COLOURS[number % len(_COLOURS)], "linewidth": 1.4}
        if curve.markers:
            look |= {"marker": _MARKERS[number % len(_MARKERS)], "markersize": 4.5}
        axis.plot(curve.x, curve.y, label=curve.name, **look)
        number += 1
    axis.set(xlabel=chart.across, ylabel=chart.upright)
    axis.set(xscale=chart.across_scale, yscale=chart.scale)
    axis.set_ylim(*chart.limits)
    axis.set_title(f"{chart.label}: {chart.title}", loc="left", fontsize=9, fontweight="bold")
    axis.grid(visible=True, linewidth=0.3)
    axis.spines[["top", "right"]].set_visible(False)
    if len(chart.curves) > 1:
        axis.legend(frameon=False, fontsize=7.5)
