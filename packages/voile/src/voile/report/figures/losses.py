"""Measures of utility, each on its own scale between a release that is untouched and one useless.

Every scale is brought to the same length: untouched on the left, useless on the right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from voile.report.figures.canvas import (
    Chart,
    Ink,
    Words,
    drawing,
    finished,
    head_row,
    headed_rows,
)
from voile.report.words import Share, number, percent

__all__ = ["Loss", "draw_losses"]

_BEYOND = 0.06
"""How far a mark stands beyond the scale whose value does."""


@dataclass(frozen=True)
class Loss:
    """One measure with both ends of its scale, which differ."""

    name: str
    value: float
    untouched: float
    useless: float

    @property
    def share(self) -> float:
        """0 where the release is untouched, 1 where it is useless; may lie beyond both."""
        return (self.value - self.untouched) / (self.useless - self.untouched)


def draw_losses(name: str, title: str, losses: Sequence[Loss]) -> Chart:
    """The chart of at least one measure, in the given order from the top."""
    with drawing():
        figure, [axes] = headed_rows([len(losses)])
        axes.set_xlim(-_BEYOND, 1 + _BEYOND)
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["untouched", "", "half way", "", "useless"])
        for row, loss in enumerate(losses):
            said = (
                f"{number(loss.value)} (untouched {number(loss.untouched)}, "
                f"useless {number(loss.useless)})"
            )
            line = head_row(axes, row, loss.name, said)
            drawn = min(max(loss.share, -_BEYOND), 1 + _BEYOND)
            marker = "o" if drawn == loss.share else "<" if drawn < 0 else ">"
            axes.plot([0, drawn], [line, line], color=Ink.AFTER, linewidth=2.4, clip_on=False)
            axes.plot([drawn], [line], marker, color=Ink.AFTER, markersize=9, clip_on=False)
        return finished(figure, _words(name, title, losses))


def _words(name: str, title: str, losses: Sequence[Loss]) -> Words:
    return Words(
        name,
        title,
        " ".join(f"{loss.name}: {number(loss.value)}, {_place(loss.share)}." for loss in losses),
        ("measure", "value", "untouched", "useless", "way from untouched to useless"),
        tuple(
            (loss.name, loss.value, loss.untouched, loss.useless, Share(loss.share))
            for loss in losses
        ),
    )


def _place(share: float) -> str:
    if share < 0:
        return "better than untouched"
    if share > 1:
        return "worse than useless"
    return f"{percent(share)} of the way from untouched to useless"
