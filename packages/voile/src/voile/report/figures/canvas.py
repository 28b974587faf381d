"""The sheet on which charts are drawn: colours of the page, fonts, and the way to SVG.

Matplotlib draws with stand-in colours, which become variables of the page's style sheet, so that a
chart follows the reader's light or dark screen and the printer.  Text stays text.  Identifiers are
made unique to the chart, because many charts stand in one page.  The same numbers give the same
bytes: no date, hashed identifiers with a fixed salt, and none of the user's own settings.

Sizes are in units of the drawing, of which the page shows little more than one per pixel.
"""

from __future__ import annotations

import io
import math
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any

from voile.report.words import clipped, percent, printable, short_number, width_of
from voile_base.ondemand import dataclass, on_demand, require_plotting
from voile_base.values import Json

if TYPE_CHECKING:
    from matplotlib import figure as matplotlib_figure
    from matplotlib import ticker as matplotlib_ticker
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
else:
    matplotlib_figure = on_demand("matplotlib.figure")
    matplotlib_ticker = on_demand("matplotlib.ticker")

__all__ = [
    "FONT",
    "SERIES",
    "SMALL",
    "Cell",
    "Chart",
    "Ink",
    "Margins",
    "Words",
    "at_least",
    "drawing",
    "head_row",
    "headed_rows",
    "number_axis",
    "rate_axis",
    "sheet",
]

FONT = 13.0
SMALL = 11.5
_SHOWN = 0.8, 1.3
"""How much smaller and larger than drawn a chart may be shown."""
_BROAD = 480.0
"""A chart that is wider stands alone in its row."""
_WIDTH = 540.0
_ROW = 46.0
_SIDE = 16.0
_TICKS = 32.0
"""Of sheets whose rows have heads."""


class Ink:
    """Stand-ins for the colours of the page; each becomes a variable of its style sheet."""

    TEXT = "#010101"
    SOFT = "#010102"
    GRID = "#010103"
    PAPER = "#010104"
    BEFORE = "#010105"
    BEFORE_FILL = "#010106"
    AFTER = "#010107"
    GUESS = "#010108"
    HEAT = "#010109"


SERIES = tuple(f"#0201{index:02x}" for index in range(1, 9))
"""Eight colours that people tell apart, in order; markers and dashes tell them apart as well."""

_VARIABLES = {
    **{
        stand_in: f"var(--{name.lower().replace('_', '-')})"
        for name, stand_in in vars(Ink).items()
        if name.isupper()
    },
    **{stand_in: f"var(--series-{index})" for index, stand_in in enumerate(SERIES, 1)},
}

_STAND_IN = re.compile(r"#0[12]01[0-9a-f]{2}")

_STYLE: Json = {
    "svg.fonttype": "none",
    "svg.hashsalt": "voile",
    "text.parse_math": False,
    "font.family": "DejaVu Sans",
    "font.size": SMALL,
    "text.color": Ink.TEXT,
    "axes.labelcolor": Ink.SOFT,
    "axes.edgecolor": Ink.SOFT,
    "axes.facecolor": "none",
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.unicode_minus": True,
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "grid.color": Ink.GRID,
    "grid.linewidth": 1.0,
    "xtick.color": Ink.SOFT,
    "ytick.color": Ink.SOFT,
    "xtick.labelcolor": Ink.SOFT,
    "ytick.labelcolor": Ink.SOFT,
    "hatch.color": Ink.BEFORE,
    "path.simplify": False,
}

_UNDATED = {"Date": None, "Creator": None, "Format": None, "Type": None}

Cell = str | int | float | None
"""Of the table beside a chart: a text, a number (a ``Share`` is shown in percent), or nothing."""


@dataclass(frozen=True)
class Words:
    """What a chart says to those who do not see it."""

    name: str
    """Letters, digits and hyphens; unique in the page."""
    title: str
    description: str
    """What the chart shows, in sentences."""
    columns: tuple[str, ...]
    """Of the table of the same numbers."""
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True)
class Chart:
    """A chart as SVG, with what it says in words and numbers."""

    words: Words
    svg: str
    broad: bool
    """Whether it needs the whole width of a page."""

    @staticmethod
    def of(figure: Figure, words: Words, *, halo: bool = True) -> Chart:
        """The figure as SVG to be put into a page; a halo keeps lines from crossing texts."""
        sink = io.StringIO()
        figure.savefig(sink, format="svg", dpi=72, metadata=_UNDATED)
        width, height = (72 * float(inches) for inches in figure.get_size_inches())
        least, most = (factor * width for factor in _SHOWN)
        drawn = sink.getvalue()
        body = drawn[drawn.index(">", drawn.index("<svg")) + 1 : drawn.rindex("</svg>")]
        # A style sheet inside an SVG would hold for the whole page.
        body = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", body, count=1, flags=re.DOTALL)
        body = re.sub(r">\s+<", "><", body)
        body = re.sub(r"<[^>]*>", lambda tag: _tag(tag.group(), words.name), body)
        title, described = escape(printable(words.title)), escape(printable(words.description))
        return Chart(
            words,
            f'<svg class="{"chart halo" if halo else "chart"}" role="img" '
            f'viewBox="0 0 {width:g} {height:g}" '
            f'style="min-width: {least:g}px; max-width: {most:g}px" '
            f'aria-labelledby="{words.name}-title {words.name}-desc">'
            f'<title id="{words.name}-title">{title}</title>'
            f'<desc id="{words.name}-desc">{described}</desc>{body}</svg>',
            broad=width > _BROAD,
        )


@dataclass(frozen=True)
class Margins:
    """Room around the axes for labels."""

    left: float = 12.0
    right: float = 12.0
    top: float = 8.0
    bottom: float = 34.0


@contextmanager
def drawing() -> Iterator[None]:
    """Within it, figures have the style of a report, whatever the user's own settings.

    The settings are as before when it ends.  Raises ``InputError`` where matplotlib is missing.
    """
    require_plotting("a report", "voile[report]")
    import matplotlib.style  # noqa: PLC0415

    with matplotlib.style.context(["default", _STYLE]), warnings.catch_warnings():
        # Texts are drawn by the reader's browser, in fonts that have more glyphs than ours.
        warnings.filterwarnings("ignore", message=".*[Gg]lyph")
        warnings.filterwarnings("ignore", message=".*Matplotlib currently does not support")
        yield


def sheet(width: float, height: float, margins: Margins) -> tuple[Figure, Axes]:
    """An empty figure with one pair of axes; ``width`` and ``height`` hold the margins."""
    figure = _figure(width, height)
    return figure, _axes(figure, margins)


def headed_rows(counts: Sequence[int], top: float = 6.0) -> tuple[Figure, list[Axes]]:
    """A sheet of fields, one below the other, each with so many rows from 0 at its top.

    A row has room for a head and, below it, for marks; a field has ``top`` above it.
    """
    heights = [top + _ROW * count + _TICKS for count in counts]
    figure = _figure(_WIDTH, sum(heights))
    fields = []
    for index, count in enumerate(counts):
        above, below = sum(heights[:index]) + top, sum(heights[index + 1 :]) + _TICKS
        axes = _axes(figure, Margins(_SIDE, _SIDE, above, below))
        axes.set_ylim(count - 0.5, -0.5)
        axes.set_yticks([])
        axes.spines["left"].set_visible(False)
        axes.grid(axis="x")
        fields.append(axes)
    return figure, fields


def _figure(width: float, height: float) -> matplotlib_figure.Figure:
    return matplotlib_figure.Figure(figsize=(width / 72, height / 72), dpi=72)


def _axes(figure: Figure, margins: Margins) -> Axes:
    width, height = (72 * float(inches) for inches in figure.get_size_inches())
    axes = figure.add_axes(
        (
            margins.left / width,
            margins.bottom / height,
            (width - margins.left - margins.right) / width,
            (height - margins.top - margins.bottom) / height,
        )
    )
    axes.tick_params(length=0, pad=5)
    return axes


def head_row(axes: Axes, row: int, name: str, said: str) -> float:
    """Write a name and, flush right, its numbers as head of a row; returns the line for marks."""
    room = _WIDTH - 2 * _SIDE - width_of(said, SMALL) - 20
    base: Json = {"transform": axes.get_yaxis_transform(), "va": "center"}
    axes.text(0, row - 0.2, clipped(name, room, FONT), fontsize=FONT, **base)
    axes.text(1, row - 0.2, said, ha="right", color=Ink.SOFT, **base)
    return row + 0.2


def rate_axis(axes: Axes, rates: Sequence[float], *, vertical: bool = False) -> bool:
    """Give an axis the ticks of rates between 0 and 1; true where it is logarithmic.

    It is where the smallest rate above 0 is less than a thirtieth of the largest.  Zero then
    stands at the near end; see ``at_least``.
    """
    axis = axes.yaxis if vertical else axes.xaxis
    limits = axes.set_ylim if vertical else axes.set_xlim
    positive = [rate for rate in rates if rate > 0]
    top = max(positive, default=1.0)
    if positive and min(positive) < top / 30:
        zero = min(rates) <= 0
        floor, ceiling = min(positive) / (3 if zero else 1.6), min(1.15, top * 1.6)
        (axes.set_yscale if vertical else axes.set_xscale)("log")
        limits(floor, ceiling)
        ticks = _decades(floor * 1.7 if zero else floor, ceiling)
        named = [*([(floor, "0")] if zero else []), *((tick, percent(tick)) for tick in ticks)]
        axis.set_ticks(*map(list, zip(*named, strict=True)))
        axis.set_ticks([], minor=True)
        return True
    limits(0.0, min(1.02, top * 1.12) if top > 0 else 1.0)
    axis.set_major_formatter(lambda value, _: percent(round(value, 12)))
    axis.set_major_locator(_few_ticks())
    return False


def at_least(rates: Sequence[float], axes: Axes, *, vertical: bool = False) -> list[float]:
    """Rates as drawn: on a logarithmic axis, zero is its near end."""
    floor = (axes.get_ylim() if vertical else axes.get_xlim())[0]
    return [max(rate, floor) for rate in rates]


def number_axis(axes: Axes, *, vertical: bool = False) -> None:
    """Give an axis a few ticks with numbers as they stand in tables."""
    axis = axes.yaxis if vertical else axes.xaxis
    axis.set_major_formatter(lambda value, _: short_number(round(value, 12)))
    axis.set_major_locator(_few_ticks())


def _decades(floor: float, ceiling: float) -> list[float]:
    """At most six powers of ten on a logarithmic axis, with 3 times each where there are few."""
    exponents = range(math.ceil(math.log10(floor)), math.floor(math.log10(ceiling)) + 1)
    decades = [10.0**exponent for exponent in exponents]
    if len(decades) < 3:
        between = [3 * 10.0 ** (exponent - 1) for exponent in (*exponents, exponents.stop)]
        decades = sorted(decades + [tick for tick in between if floor <= tick <= ceiling])
    return decades[:: math.ceil(len(decades) / 6)]


def _few_ticks() -> Any:
    return matplotlib_ticker.MaxNLocator(nbins=5, steps=[1, 2, 2.5, 5, 10])


def _tag(tag: str, name: str) -> str:
    """One tag with the page's colours and fonts, and identifiers of its own."""
    tag = _STAND_IN.sub(lambda found: _VARIABLES.get(found.group(), found.group()), tag)
    tag = re.sub(r" font-family: [^;\"]*;?", "", tag)
    tag = re.sub(r' transform="rotate\(-0 [^"]*\)"', "", tag)
    if re.match(r"<g |<g>", tag):
        tag = re.sub(r' id="[^"]*"', "", tag)
    tag = tag.replace("xlink:href=", "href=").replace(' id="', f' id="{name}-')
    return tag.replace('"#', f'"#{name}-').replace("url(#", f"url(#{name}-").replace("\n", " ")
