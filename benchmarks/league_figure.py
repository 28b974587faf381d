"""The pictures of the league: the risk of everybody, and of the worst-off, against utility."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

if TYPE_CHECKING:
    from benchmarks.league import Placed

__all__ = ["draw", "draw_panels"]

FOLDER = Path(__file__).parent / "figures"
_MARKS = {"ours": ("o", "#0072b2"), "peer": ("s", "#d55e00"), "end": ("D", "#555555")}
_TOUCH = 0.03, 18.0
"""How near marks are whose numbers stand together: in risk, and in score."""


class _Scored(Protocol):
    """A file with its utility."""

    @property
    def name(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def score(self) -> float: ...


_Interval = tuple[float, float, float]
"""A figure, and its interval."""
_Panel = Mapping[str, _Interval]
"""What is drawn of files, by their names."""


def draw(placed: Sequence[Placed]) -> None:
    """Draw the league, each file by a number; the same figures give the same bytes."""
    everybody = {one.name: (one.risk,) * 3 for one in placed}
    draw_panels("league", placed, {"largest excess of the three risks over the control": everybody})


def draw_panels(file: str, placed: Sequence[_Scored], panels: Mapping[str, _Panel]) -> None:
    """Draw some measures of risk, each in a panel that has the files of which it tells."""
    style: Any = {"svg.hashsalt": file, "svg.fonttype": "none", "font.size": 9}
    ordered = sorted(placed, key=lambda one: (-one.score, one.name))
    widths = *(3 / len(panels) for _ in panels), 1.15
    with mpl.rc_context(style):
        figure = Figure(figsize=(9, 5), layout="constrained")
        *drawn, names = figure.subplots(1, len(panels) + 1, width_ratios=widths)
        for axes, (label, panel) in zip(drawn, panels.items(), strict=True):
            _panel(axes, ordered, panel, panels=len(panels))
            axes.set_xlabel(label)
        drawn[0].set_ylabel("score of triples, of 1000")
        drawn[-1].legend(frameon=False, loc="lower right")
        names.axis("off")
        for number, one in enumerate(ordered, 1):
            height = 1 - number / (len(ordered) + 1)
            names.text(0.08, height, f"{number}", ha="right", transform=names.transAxes)
            names.text(0.12, height, one.name, color=_MARKS[one.kind][1],
                       transform=names.transAxes)  # fmt: skip
        figure.savefig(FOLDER / f"{file}.svg", metadata={"Date": None})


def _panel(axes: Axes, ordered: Sequence[_Scored], panel: _Panel, *, panels: int) -> None:
    """One measure of risk against utility, with intervals where there are any."""
    widest = max((high for *_, high in panel.values()), default=1.0)
    for kind, (marker, color) in _MARKS.items():
        some = [one for one in ordered if one.kind == kind and one.name in panel]
        if not some:
            continue
        values = np.array([panel[one.name] for one in some]).reshape(-1, 3)
        apart = np.abs(values[:, 1:] - values[:, :1]).T
        axes.errorbar(values[:, 0], [one.score for one in some], xerr=apart, fmt=marker,
                      color=color, ecolor=color, elinewidth=0.6, label=kind)  # fmt: skip
    for label, risk, score in _numbers(ordered, panel, _TOUCH[0] * panels * widest):
        axes.annotate(label, (risk, score), (7, 3), textcoords="offset points")
    axes.set_xlim(-0.05 * widest, 1.15 * widest)
    axes.set_ylim(*_heights(ordered))
    axes.grid(visible=True, linewidth=0.3)
    axes.spines[["top", "right"]].set_visible(False)


def _heights(ordered: Sequence[_Scored]) -> tuple[float, float]:
    scores = [one.score for one in ordered]
    return min(scores) - 40, max(scores) + 40


def _numbers(
    ordered: Sequence[_Scored], panel: _Panel, touch: float
) -> list[tuple[str, float, float]]:
    """The numbers at each mark, and at the rightmost of marks that touch each other."""
    left = [
        (number, panel[one.name][0], one.score)
        for number, one in enumerate(ordered, 1)
        if one.name in panel
    ]
    found = []
    while left:
        _, risk, score = left[0]
        near = [
            one for one in left if abs(one[1] - risk) < touch and abs(one[2] - score) < _TOUCH[1]
        ]
        left = [one for one in left if one not in near]
        label = ", ".join(str(number) for number, _, _ in near)
        found.append((label, max(one[1] for one in near), score))
    return found
