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
_TOUCH = 0.03, 15.0
"""How near marks are whose numbers stand together: in risk, and in score."""


def draw(placed: Sequence[Placed]) -> None:
    """Draw the league, each file by a number; the same figures give the same bytes."""
    style: Any = {"svg.hashsalt": "league", "svg.fonttype": "none", "font.size": 9}
    ordered = sorted(placed, key=lambda one: (-one.score, one.risk))
    with mpl.rc_context(style):
        figure = Figure(figsize=(9, 5), layout="constrained")
        axes, names = figure.subplots(1, 2, width_ratios=(3, 1.15))
        for kind, (marker, color) in _MARKS.items():
            some = [one for one in placed if one.kind == kind]
            axes.plot([one.risk for one in some], [one.score for one in some], marker,
                      color=color, label=kind, linestyle="")  # fmt: skip
        for label, risk, score in _numbers(ordered):
            axes.annotate(label, (risk, score), (7, 3), textcoords="offset points")
        axes.set_xlabel("largest excess of the three risks over the control")
        axes.set_ylabel("score of triples, of 1000")
        axes.set_xlim(-0.05, 1.15)
        axes.grid(visible=True, linewidth=0.3)
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, loc="lower right")
        names.axis("off")
        for number, one in enumerate(ordered, 1):
            height = 1 - number / (len(ordered) + 1)
            names.text(0.08, height, f"{number}", ha="right", transform=names.transAxes)
            names.text(0.12, height, one.name, color=_MARKS[one.kind][1],
                       transform=names.transAxes)  # fmt: skip
        figure.savefig(FILE, metadata={"Date": None})


def _numbers(ordered: Sequence[Placed]) -> list[tuple[str, float, float]]:
    """The numbers at each mark, and at the rightmost of marks that touch each other."""
    left = list(enumerate(ordered, 1))
    found = []
    while left:
        first = left[0][1]
        near = [
            (number, one)
            for number, one in left
            if abs(one.risk - first.risk) < _TOUCH[0] and abs(one.score - first.score) < _TOUCH[1]
        ]
        left = [one for one in left if one not in near]
        label = ", ".join(str(number) for number, _ in near)
        found.append((label, max(one.risk for _, one in near), first.score))
    return found
