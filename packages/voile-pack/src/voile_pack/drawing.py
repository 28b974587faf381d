"""A picture of packed bins: what each carries, the capacity, and what is uncertain.

Up to 160 bins are drawn one by one as stacked parcels, the largest at the bottom, in rows of 40;
parcels beyond the 12 largest of a bin are one block.  More bins are drawn as one profile of loads,
fullest first.  For intervals a band reaches from the sum of lower ends to the sum of upper ends.

Needs matplotlib (``pip install 'voile-pack[plot]'``).  Cost: independent of the number of parcels
but for one sort.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from voile_base.ondemand import dataclass, on_demand, require_plotting

if TYPE_CHECKING:
    import matplotlib
    from matplotlib import figure as matplotlib_figure
else:
    matplotlib = on_demand("matplotlib")
    matplotlib_figure = on_demand("matplotlib.figure")

__all__ = ["DrawnMeasure", "draw_bins"]

_LAYERS = 12
_ROW = 40
_ONE_BY_ONE = 160
_TINTS = ("#1d4e89", "#5b8fc7", "#a9c8e8")
_REST = "#d9dde2"
_UNCERTAIN = "#e08a1e"
_LIMIT = "#b3202c"
_TEXT = "#333333"
_BAND = "sum of lower to sum of upper ends"

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class DrawnMeasure:
    """One measure of n parcels, in units of its column."""

    name: str
    values: Floats
    """Shape (n,): what was planned with."""
    capacity: float
    """What a bin holds."""
    planned: float
    """What may be planned in a bin; less than ``capacity`` where there is a margin."""
    low: Floats | None = None
    high: Floats | None = None
    """Ends of the intervals, or None where the values are exact."""


def draw_bins(
    path: Path, measures: Sequence[DrawnMeasure], bin_of: NDArray[np.int64], title: str
) -> None:
    """Draw the bins of a packing to a PNG or SVG file, by the name of ``path``.

    ``bin_of`` (n,) numbers the bins from 0.  With several measures each has a panel of its own.
    """
    require_plotting()

    bins = int(bin_of.max(initial=-1)) + 1
    rows = ceil(bins / _ROW) if bins <= _ONE_BY_ONE else 1
    panels = max(rows, 1) * len(measures)
    style: Any = {
        "font.size": 9,
        "axes.edgecolor": _TEXT,
        "text.color": _TEXT,
        "svg.fonttype": "none",
        "svg.hashsalt": "voile",
    }
    with matplotlib.rc_context(style):
        width = 11.0 if bins > 12 else 7.5
        height = 1.3 + (3.4 if panels == 1 else 2.5) * panels
        figure = matplotlib_figure.Figure(figsize=(width, height), layout="constrained")
        axes = figure.subplots(panels, 1, squeeze=False)[:, 0]
        figure.suptitle(title, fontsize=11, fontweight="bold", x=0.01, ha="left")
        for k, measure in enumerate(measures):
            mine = list(axes[k * max(rows, 1) : (k + 1) * max(rows, 1)])
            loads = _Loads.of(measure, bin_of, bins)
            if bins <= _ONE_BY_ONE:
                _draw_each(mine, measure, loads, bin_of)
            else:
                _draw_profile(mine[0], measure, loads)
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(
            handles, labels, loc="outside lower left", ncols=5 if bins > 12 else 2, frameon=False
        )
        figure.savefig(path, dpi=150, metadata=_undated(path))


def _undated(path: Path) -> dict[str, None]:
    """The same packing gives the same file: an SVG would hold its date."""
    return {"Date": None} if path.suffix.lower() == ".svg" else {}


@dataclass(frozen=True, eq=False)
class _Loads:
    """What each bin carries, (bins,)."""

    planned: Floats
    low: Floats | None
    high: Floats | None

    @classmethod
    def of(cls, measure: DrawnMeasure, bin_of: NDArray[np.int64], bins: int) -> _Loads:
        def summed(values: Floats | None) -> Floats | None:
            return None if values is None else np.bincount(bin_of, values, bins).astype(np.float64)

        planned = summed(measure.values)
        assert planned is not None
        return cls(planned, summed(measure.low), summed(measure.high))

    @property
    def top(self) -> float:
        """The highest thing to draw."""
        highest = self.planned if self.high is None else np.maximum(self.planned, self.high)
        return float(highest.max(initial=0.0))


def _draw_each(
    axes: Sequence[Any], measure: DrawnMeasure, loads: _Loads, bin_of: NDArray[np.int64]
) -> None:
    """Bins as stacked parcels, in rows."""
    layers = _layers(measure.values, bin_of, len(loads.planned))
    for row, axis in enumerate(axes):
        indices = np.arange(row * _ROW, min((row + 1) * _ROW, len(loads.planned)))
        bottom = np.zeros(len(indices))
        for number, layer in enumerate(layers):
            last = number == len(layers) - 1
            color = _REST if last else _TINTS[number % len(_TINTS)]
            if last and not layer.any():
                continue
            label = "smaller parcels" if last else None
            label = "parcels, largest first" if number == 0 else label
            heights = layer[indices]
            axis.bar(
                indices + 1,
                heights,
                bottom=bottom,
                width=0.84,
                color=color,
                edgecolor="white",
                linewidth=np.where(heights > 0.004 * loads.top, 0.5, 0.0),
                label=label,
            )
            bottom += heights
        if loads.low is not None and loads.high is not None:
            axis.bar(
                indices + 1,
                (loads.high - loads.low)[indices],
                bottom=loads.low[indices],
                width=0.84,
                facecolor=(*_rgb(_UNCERTAIN), 0.28),
                edgecolor=_UNCERTAIN,
                hatch="////",
                linewidth=0.6,
                label=_BAND,
            )
            ends = indices + 1 - 0.42, indices + 1 + 0.42
            axis.hlines(bottom, *ends, color=_TEXT, linewidth=1.2, label="planned load")
        _finish(axis, measure, loads.top)
        shown = _ROW if len(axes) > 1 else len(indices)
        axis.set_xlim(row * _ROW + 0.4, row * _ROW + shown + 0.6)
        step = 1 if shown <= 20 else 5
        first = row * _ROW + 1
        ticks = [
            index for index in range(first, first + shown) if index % step == 0 or index == first
        ]
        axis.set_xticks([tick for tick in ticks if tick <= len(loads.planned)])
    axes[-1].set_xlabel("bin")


def _layers(values: Floats, bin_of: NDArray[np.int64], bins: int) -> Floats:
    """The largest parcel of each bin, the next, ..., and the sum of the others: (13, bins)."""
    order = np.lexsort((-values, bin_of))
    sorted_bins = bin_of[order]
    index = np.arange(len(order)) - np.searchsorted(sorted_bins, sorted_bins)
    layers = np.zeros((_LAYERS + 1, bins))
    np.add.at(layers, (np.minimum(index, _LAYERS), sorted_bins), values[order])
    return layers


def _draw_profile(axis: Any, measure: DrawnMeasure, loads: _Loads) -> None:
    """The loads of many bins as one profile, fullest first."""
    order = np.argsort(-loads.planned, kind="stable")
    edges = np.arange(len(order) + 1) + 0.5
    axis.stairs(loads.planned[order], edges, fill=True, color=_TINTS[2], label="load of each bin")
    axis.stairs(loads.planned[order], edges, color=_TINTS[0], linewidth=0.8, baseline=None)
    if loads.low is not None and loads.high is not None:
        axis.stairs(
            loads.high[order],
            edges,
            baseline=loads.low[order],
            fill=True,
            color=(*_rgb(_UNCERTAIN), 0.35),
            label=_BAND,
        )
    _finish(axis, measure, loads.top)
    axis.set_xlim(0.5, len(order) + 0.5)
    axis.set_xlabel(f"{len(order):,} bins, fullest first")


def _finish(axis: Any, measure: DrawnMeasure, top: float) -> None:
    """The lines of the capacity, and everything around the bars."""
    axis.axhline(measure.capacity, color=_LIMIT, linewidth=1.4, label="capacity")
    if measure.planned < measure.capacity:
        axis.axhline(
            measure.planned,
            color=_LIMIT,
            linewidth=1,
            linestyle=(0, (4, 3)),
            label="less the margin",
        )
    axis.set_ylim(0, 1.08 * max(top, measure.capacity))
    axis.set_ylabel(f"load: {measure.name}")
    axis.yaxis.set_major_formatter(lambda value, _: f"{value:,.10g}")
    axis.spines[["top", "right"]].set_visible(False)
    axis.grid(axis="y", color="#e4e6ea", linewidth=0.6)
    axis.set_axisbelow(True)


def _rgb(color: str) -> tuple[float, float, float]:
    red, green, blue = (int(color[index : index + 2], 16) / 255 for index in (1, 3, 5))
    return red, green, blue
