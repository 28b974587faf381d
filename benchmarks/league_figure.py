"""The picture of the league: risk against utility."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from benchmarks.league import Placed

__all__ = ["draw"]

FILE = Path(__file__).parent / "figures" / "league.svg"
_MARKS = {"ours": ("o", "#0072b2"), "peer": ("s", "#d55e00"), "end": ("D", "#555555")}


def draw(placed: Sequence[Placed]) -> None:
    """Draw the league; the same figures give the same bytes."""
    style: Any = {"svg.hashsalt": "league", "svg.fonttype": "none", "font.size": 9}
    with mpl.rc_context(style):
        figure = Figure(figsize=(8, 5), layout="constrained")
        axes = figure.subplots()
        for kind, (marker, color) in _MARKS.items():
            some = [one for one in placed if one.kind == kind]
            axes.plot([one.risk for one in some], [one.score for one in some], marker,
                      color=color, label=kind, linestyle="")  # fmt: skip
        for one in placed:
            axes.annotate(one.name, (one.risk, one.score), (6, 3), textcoords="offset points")
        axes.set_xlabel("largest excess of the three risks over the control")
        axes.set_ylabel("score of triples, of 1000")
        axes.set_xlim(-0.05, 1.35)
        axes.grid(visible=True, linewidth=0.3)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False)
        figure.savefig(FILE, metadata={"Date": None})
