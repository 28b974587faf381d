"""The best rows of real tables, and the boxes in which they are published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.patheffects import withStroke
from numpy.typing import NDArray

__all__ = ["Map", "draw"]

_BEST, _FALSE, _OTHER, _BOX, _TEXT = "#1d4e89", "#d55e00", "#c3c8ce", "#333333", "#333333"


@dataclass(frozen=True, eq=False)
class Map:
    """A table of n rows ranked by the sum of two columns."""

    title: str
    columns: tuple[str, str]
    values: NDArray[np.float64]
    """Shape (n, 2)."""
    is_best: NDArray[np.bool_]
    is_published: NDArray[np.bool_]
    boxes: NDArray[np.float64]
    """Shape (p, 4): low and high of each column."""
    border: float
    """The least score of the best rows."""


def draw(maps: Sequence[Map], path: Path) -> None:
    """Draw the maps side by side."""
    style = {"font.size": 9, "axes.edgecolor": _TEXT, "text.color": _TEXT}
    with rc_context(style):
        figure = Figure(figsize=(5.2 * len(maps), 5.6), layout="constrained")
        axes = figure.subplots(1, len(maps), squeeze=False)[0]
        for axis, shown in zip(axes, maps, strict=True):
            _draw_map(axis, shown)
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
        path.parent.mkdir(exist_ok=True)
        figure.savefig(path, dpi=110)


def _draw_map(axis: Axes, shown: Map) -> None:
    values, best, published = shown.values, shown.is_best, shown.is_published
    layers = (
        ("other rows", ~best & ~published, {"color": _OTHER, "s": 6}),
        ("in a box and not among the best", ~best & published, {"color": _FALSE, "marker": "X"}),
        ("among the best, published", best & published, {"color": _BEST}),
        (
            "among the best, not published",
            best & ~published,
            {"facecolors": "none", "edgecolors": _BEST},
        ),
    )
    for number, (label, rows, look) in enumerate(layers):
        keywords = {"s": 22, "linewidths": 0.8 if "facecolors" in look else 0, **look}
        axis.scatter(*values[rows].T, label=label, zorder=2 + number, **keywords)
    for number, (left, right, low, high) in enumerate(shown.boxes.tolist(), 1):
        box = Rectangle((left, low), right - left, high - low)
        box.set(facecolor=_BOX, alpha=0.07, zorder=1)
        edge = Rectangle((left, low), right - left, high - low)
        edge.set(facecolor="none", edgecolor=_BOX, linewidth=0.9, zorder=1.5)
        axis.add_patch(box)
        axis.add_patch(edge)
        axis.annotate(
            str(number),
            (left, high),
            (1, 1),
            textcoords="offset points",
            va="bottom",
            fontweight="bold",
            path_effects=[withStroke(linewidth=2.5, foreground="white")],
            zorder=9,
        )
    span = np.array([values[best].min(axis=0), values[best].max(axis=0)])
    margin = 0.08 * (span[1] - span[0])
    (left, low), (right, high) = span[0] - margin, span[1] + margin
    ends = np.array([left, right])
    axis.plot(
        ends,
        shown.border - ends,
        color=_BOX,
        linestyle=(0, (4, 3)),
        linewidth=0.8,
        label="score of the last of the best",
    )
    axis.set(xlim=(left, right), ylim=(low, high))
    axis.set(xlabel=shown.columns[0], ylabel=shown.columns[1])
    recall = (best & published).sum() / best.sum()
    said = f"{recall:.0%} of the best {best.sum()} in {len(shown.boxes)} boxes"
    axis.set_title(f"{shown.title}: {said}", loc="left", fontsize=11, fontweight="bold")
    axis.spines[["top", "right"]].set_visible(False)
