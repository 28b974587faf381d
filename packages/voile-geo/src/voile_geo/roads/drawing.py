"""Paths on a map: where a truck was, what is published of it, and what somebody makes of that.

North is up and metres are the same across and along.  Roads in view are grey, wider for arterial
ones.  Paths differ by colour, line and marker, so that they can be told apart without colours; the
colours are those of Okabe and Ito.

Needs matplotlib (``pip install 'voile-geo[plot]'``).  Cost: O(roads in view).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from voile_base.ondemand import dataclass, on_demand, require_plotting
from voile_base.values import Json
from voile_geo.geodesy import Floats
from voile_geo.roads.network import RoadNetwork

if TYPE_CHECKING:
    import matplotlib
    from matplotlib import figure as matplotlib_figure
    from matplotlib import patches as matplotlib_patches
    from matplotlib import path as matplotlib_path
else:
    matplotlib = on_demand("matplotlib")
    matplotlib_figure = on_demand("matplotlib.figure")
    matplotlib_patches = on_demand("matplotlib.patches")
    matplotlib_path = on_demand("matplotlib.path")

__all__ = ["DrawnPath", "draw_paths"]

_STYLES = (
    ("#000000", "-", "o"),
    ("#d55e00", ":", "x"),
    ("#0072b2", "--", "s"),
    ("#009e73", "-.", "^"),
    ("#cc79a7", "-", "D"),
    ("#e69f00", "--", "v"),
)
_ROAD, _TEXT = "#c4c8ce", "#333333"
_WIDTHS = {"motorway": 1.8, "trunk": 1.8, "primary": 1.3, "secondary": 1.1, "tertiary": 0.8}
_NARROW, _WIDTH_UNKNOWN = 0.4, 0.7
_LEAST_VIEW = 500.0
_FLATTEST, _STEEPEST = 0.4, 1.2
"""How high a map is for its width: a path that is longer in one way shows more on both sides."""
ATTRIBUTION = "\N{COPYRIGHT SIGN} OpenStreetMap contributors"
"""What must be said of maps whose roads are OpenStreetMap's."""


@dataclass(frozen=True, eq=False)
class DrawnPath:
    """One path of n points."""

    name: str
    """As the legend says it."""
    points: Floats
    """Shape (n, 2): metres of the plane of the road network."""
    joined: bool = True
    """Whether points are joined by a line; others are larger, and above the lines."""


def draw_paths(
    path: Path | IO[bytes],
    roads: RoadNetwork,
    paths: Sequence[DrawnPath],
    title: str = "",
    attribution: str = ATTRIBUTION,
) -> None:
    """Draw up to six paths over the roads around them, to a PNG or SVG file by its name.

    To an open file it is SVG.

    Raises ``InputError`` where matplotlib is missing, ``ValueError`` where there is nothing to
    draw, or too much to be told apart.
    """
    if not 1 <= len(paths) <= len(_STYLES) or not any(len(one.points) for one in paths):
        msg = f"a map shows 1 to {len(_STYLES)} paths, with at least one point"
        raise ValueError(msg)
    require_plotting()

    view = _view(np.concatenate([one.points for one in paths]))
    style: Any = {
        "font.size": 9,
        "text.color": _TEXT,
        "svg.fonttype": "none",
        "svg.hashsalt": "voile",
    }
    with matplotlib.rc_context(style):
        across, along = view[1] - view[0]
        height = 0.9 + 7.0 * along / across
        figure = matplotlib_figure.Figure(figsize=(7.4, height + 0.5), layout="constrained")
        axis = figure.subplots()
        _draw_roads(axis, roads, view)
        for one, (color, line, marker) in zip(paths, _STYLES, strict=False):
            axis.plot(
                *one.points.T,
                color=color,
                linestyle=line if one.joined else "none",
                linewidth=1.5,
                marker=marker,
                markersize=4 if one.joined else 9,
                markerfacecolor="white" if one.joined and marker not in "x" else color,
                markeredgecolor=color if one.joined else "white",
                zorder=2 if one.joined else 3,
                label=one.name,
            )
        axis.set_aspect("equal")
        axis.set_xlim(*view[:, 0])
        axis.set_ylim(*view[:, 1])
        axis.set_xticks([])
        axis.set_yticks([])
        axis.spines[:].set_color(_ROAD)
        if title:
            axis.set_title(title, loc="left", fontweight="bold")
        _draw_scale(axis, view)
        axis.set_xlabel(attribution, loc="right", fontsize=7.5)
        figure.legend(loc="outside lower center", ncols=2, frameon=False)
        kind = path.suffix.lower().removeprefix(".") if isinstance(path, Path) else "svg"
        dated: Json = {"Date": None} if kind == "svg" else {}
        figure.savefig(path, format=kind or None, dpi=120, metadata=dated)


def _view(points: Floats) -> Floats:
    """South-western and north-eastern corner of what is shown, with a margin."""
    low, high = points.min(axis=0), points.max(axis=0)
    across, along = np.maximum(high - low, _LEAST_VIEW) + 0.12 * float((high - low).max())
    across, along = max(across, along / _STEEPEST), max(along, across * _FLATTEST)
    middle, half = (low + high) / 2, np.array([across, along]) / 2
    return np.stack((middle - half, middle + half))


def _draw_roads(axis: Any, roads: RoadNetwork, view: Floats) -> None:
    """Each road in view once, arterial ones above the others; one shape for each width."""
    twin = roads.reverse
    ends = roads.plane[roads.source], roads.plane[roads.target]
    low, high = np.minimum(*ends), np.maximum(*ends)
    inside = ((high > view[0]) & (low < view[1])).all(axis=1)
    shown = np.flatnonzero(inside & ((twin < 0) | (twin > np.arange(roads.edges))))
    if roads.class_of is None:
        width = np.full(len(shown), _WIDTH_UNKNOWN)
    else:
        known = [_WIDTHS.get(name.removesuffix("_link"), _NARROW) for name in roads.classes]
        width = np.array(known)[roads.class_of[shown]]
    lines = np.stack((ends[0][shown], ends[1][shown]), axis=1).round(1)
    for each in np.unique(width):
        points = lines[width == each].reshape(-1, 2)
        codes = np.tile(
            [matplotlib_path.Path.MOVETO, matplotlib_path.Path.LINETO], len(points) // 2
        )
        one = matplotlib_patches.PathPatch(
            matplotlib_path.Path(points, codes),
            facecolor="none",
            edgecolor=_ROAD,
            linewidth=each,
            zorder=1,
        )
        axis.add_patch(one)


def _draw_scale(axis: Any, view: Floats) -> None:
    """A bar of a round length, about a fifth of the view, and an arrow to the north."""
    across, along = view[1] - view[0]
    power = 10.0 ** math.floor(math.log10(across / 4))
    metres = next(power * step for step in (5, 2, 1) if power * step <= across / 4)
    name = f"{metres / 1000:g} km" if metres >= 1000 else f"{metres:g} m"
    backed = {"facecolor": "white", "alpha": 0.8, "edgecolor": "none", "pad": 2.5}
    left, below = view[0] + 0.04 * across
    axis.plot(
        [left, left + metres], [below, below], color=_TEXT, linewidth=3, solid_capstyle="butt"
    )
    axis.text(left + metres / 2, below + 0.015 * along, name, ha="center", va="bottom", bbox=backed)
    top = view[1] - 0.03 * across
    axis.annotate(
        "N",
        xy=(top[0], top[1]),
        xytext=(top[0], top[1] - 0.08 * across),
        ha="center",
        va="top",
        bbox=backed,
        arrowprops={"arrowstyle": "-|>", "color": _TEXT},
    )
