"""One numbered thing of a paper, with what the paper prints and what is measured here."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from benchmarks.record import Table, Target

__all__ = ["PaperItem", "beside_paper", "departures"]

Verdict = Literal["agrees", "departs", "lost"]


@dataclass(frozen=True)
class PaperItem:
    """A table, figure, theorem or claim of a paper."""

    label: str
    """As the paper numbers it, such as "Figure 12" or "Table 2"."""
    about: str
    """What it shows, in our words."""
    printed: str
    """The paper's figure; where a picture is lost in the text, what the text says of it."""
    measured: str
    """Ours."""
    verdict: Verdict
    """"lost": neither the picture nor a sentence gives a figure to compare with."""
    why: str = ""
    """Of a departure: the cause, as far as it is known."""


def beside_paper(items: Sequence[PaperItem]) -> Table:
    """All items, in the order of the paper."""
    return Table(
        "Beside the paper",
        ("item", "shows", "the paper", "here", "verdict"),
        [
            [
                item.label,
                item.about,
                item.printed,
                item.measured,
                f"{item.verdict}: {item.why}" if item.why else item.verdict,
            ]
            for item in items
        ],
    )


def departures(items: Sequence[PaperItem]) -> Target:
    """Whether each item that departs from the paper says why."""
    departing = [item for item in items if item.verdict == "departs"]
    unexplained = [item.label for item in departing if not item.why]
    got = f"{len(unexplained)} of {len(departing)}"
    if unexplained:
        got += f" ({', '.join(unexplained)})"
    return Target("departures from the paper without a cause", "0", got, not unexplained)
