"""The curves of ``shuffle`` over K and over M."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from benchmarks.shuffle_curves import Point

__all__ = ["Curves", "draw"]

_M_COLORS = [mpl.colormaps["viridis"](place) for place in np.linspace(0.0, 0.8, 6)]
_M_MARKERS = ("o", "s", "^", "D", "v", "P")
_ONE, _MOST, _PAPER = "#0072b2", "#d55e00", "#555555"
_SIZE, _WIDTH = 4, 1.3
_DASHED: Any = {"color": _PAPER, "linestyle": "--", "linewidth": _WIDTH}


@dataclass(frozen=True, eq=False)
class Curves:
    """Columns in one order, for all K and M."""

    points: Sequence[Point]
    expected: NDArray[np.float64]
    """Shape (K, M): expected divergence."""

    def over_clusters(self, number: int, of: Callable[[Point], float]) -> list[float]:
        """A measure of releases with M columns, by K."""
        return [of(point) for point in self.points if point.number == number]

    def over_columns(self, clusters: int, of: Callable[[Point], float]) -> list[float]:
        """A measure of releases with K clusters, by M."""
        return [of(point) for point in self.points if point.clusters == clusters]


def draw(by_tie: Curves, by_entropy: Curves, path: Path) -> None:
    """Draw both orders to a file; the same curves give the same bytes of SVG."""
    style: Any = {"svg.hashsalt": "shuffle", "svg.fonttype": "none", "font.size": 9}
    with mpl.rc_context(style):
        figure = Figure(figsize=(11.5, 8), layout="constrained")
        parts: Any = figure.subfigures(2, 1, hspace=0.04)
        over_clusters, over_columns = (part.subplots(1, 3) for part in parts)
        _over_clusters(over_clusters, by_tie)
        orders = {"weakest tie first": by_tie, "highest entropy first": by_entropy}
        _over_columns(over_columns, orders)
        for part, axes in zip(parts, (over_clusters, over_columns), strict=True):
            handles, labels = axes[0].get_legend_handles_labels()
            place = {"loc": "outside lower center", "ncols": len(labels), "frameon": False}
            part.legend(handles, labels, **place)
        for axis in (*over_clusters, *over_columns):
            axis.grid(visible=True, linewidth=0.3)
            axis.spines[["top", "right"]].set_visible(False)
        path.parent.mkdir(exist_ok=True)
        figure.savefig(path, dpi=110, metadata={"Date": None} if path.suffix == ".svg" else {})


def _over_clusters(axes: Sequence[Axes], curves: Curves) -> None:
    clusters = sorted({point.clusters for point in curves.points})
    numbers = sorted({point.number for point in curves.points})
    for number, color, marker in zip(numbers, _M_COLORS, _M_MARKERS, strict=True):
        look: Any = {"color": color, "marker": marker, "markersize": _SIZE, "linewidth": _WIDTH}
        label = f"M = {number}"
        expected = curves.expected[:, number - 1]
        axes[0].plot(clusters, expected / expected[0], label=label, **look)
        hidden = np.array(curves.over_clusters(number, lambda point: point.log_probability))
        axes[1].plot(clusters, hidden / hidden[0], label=label, **look)
        traced = curves.over_clusters(number, lambda point: float(np.mean(point.traced)))
        axes[2].plot(clusters, traced, label=label, **look)
    axes[1].axhline(1.0, **_DASHED)
    axes[1].annotate("the paper's P_table", (clusters[-1], 0.998), ha="right", va="top")
    axes[0].set_title("Divergence of the table, expected", loc="left")
    axes[1].set_title("Log of the chance to guess the columns", loc="left")
    axes[2].set_title("Rows put together again", loc="left")
    axes[0].set_ylabel("share of its value at K = 1")
    axes[1].set_ylabel("share of its value at K = 1")
    axes[2].set(ylabel="share of rows, mean of draws", ylim=(0, 1))
    for axis in axes:
        axis.set(xlabel="K clusters (columns: weakest tie first)", xticks=clusters)


def _over_columns(axes: Sequence[Axes], orders: Mapping[str, Curves]) -> None:
    for (order, curves), line in zip(orders.items(), ("-", ":"), strict=True):
        numbers = sorted({point.number for point in curves.points})
        most = max(point.clusters for point in curves.points)
        for clusters, color, marker in ((1, _ONE, "o"), (most, _MOST, "x")):
            look: Any = {"color": color, "linestyle": line, "marker": marker, "markersize": _SIZE}
            look |= {"linewidth": _WIDTH, "label": f"K = {clusters}, {order}"}
            axes[0].plot(numbers, curves.expected[clusters - 1], **look)
            hidden = curves.over_columns(clusters, lambda point: point.log_probability / 1000)
            axes[1].plot(numbers, hidden, **look)
            chance = curves.over_columns(clusters, lambda point: point.chance)
            axes[2].plot(numbers, chance, **look | {"marker": ""})
            traced = curves.over_columns(clusters, lambda point: float(np.mean(point.traced)))
            shown = [value or np.nan for value in traced]  # the axis is logarithmic
            axes[2].plot(numbers, shown, **look | {"linestyle": ""})
    _compared(axes, next(iter(orders.values())))
    axes[0].set_title("Divergence of the table, expected", loc="left")
    axes[0].set(ylabel="nats", ylim=(0, None))
    axes[1].set_title("Log of the chance to guess the columns", loc="left")
    axes[1].set(ylabel="thousand nats")
    axes[2].set_title("Rows put together again (lines: expected)", loc="left")
    axes[2].set(ylabel="share of rows", yscale="log")
    for axis in axes:
        axis.set(xlabel="M columns permuted", xticks=numbers)


def _compared(axes: Sequence[Axes], curves: Curves) -> None:
    """What else stands in the panels over M: one draw, and the paper's P."""
    numbers = sorted({point.number for point in curves.points})
    drawn = curves.over_columns(1, lambda point: float(np.mean(point.kullback_leibler)))
    axes[0].plot(numbers, drawn, **_DASHED)
    axes[0].annotate("of one draw, smoothed", (numbers[-1], 0.75), ha="right", va="bottom")
    paper = curves.over_columns(1, lambda point: point.paper_log_probability / 1000)
    axes[1].plot(numbers, paper, **_DASHED)
    axes[1].annotate("the paper's P_table, any K", (numbers[0], paper[-2]), ha="left")
