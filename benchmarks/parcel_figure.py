"""The series of ``parcel_experiments`` as a figure: ``python -m benchmarks.parcel_figure``.

Drawn from what was recorded in ``results.jsonl``; nothing is run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

__all__ = ["draw"]

HERE = Path(__file__).parent
FIGURE = HERE / "figures" / "parcel_experiments.svg"
TITLES = ("k varied", "epsilon varied", "confidence varied")
STYLES = {
    "dp-generalization": ("#0072b2", "o"),
    "dp-generalization, the seed's": ("#56b4e9", "o"),
    "flash": ("#d55e00", "s"),
    "ola": ("#e69f00", "x"),
    "k-optimize": ("#009e73", "^"),
    "clusters from data, the seed's": ("#cc79a7", "D"),
    "one cluster from data": ("#999999", "v"),
    "clusters, public bounds": ("#000000", "P"),
}

LABELS = {"off 1, mean": "mean |o/o_n - 1|"}

Lines = Sequence[Mapping[str, str]]


def main() -> None:
    """Draw what was recorded last."""
    records = map(json.loads, (HERE / "results.jsonl").read_text(encoding="utf-8").splitlines())
    (record,) = (one for one in records if one["name"] == "parcel_experiments")
    draw(record["tables"], FIGURE)


def draw(tables: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Draw the three series of recorded tables."""
    by_k, by_epsilon, by_confidence = (_lines(tables, title) for title in TITLES)
    figure = Figure(figsize=(11, 7), layout="constrained")
    axes = figure.subplots(2, 3)
    for column, what in enumerate(("off 1, mean", "feasible, mean", "rows published")):
        _panel(axes[0, column], by_k, "k", what)
    for column, what in enumerate(("off 1, mean", "feasible, mean")):
        _panel(axes[1, column], by_epsilon, "epsilon", what)
    _panel(axes[1, 2], by_confidence, "o/o_n, upper end", "feasible, upper end")
    axes[1, 2].set_title("confidence 0 to 0.9", fontsize=9)
    handles = {
        label: handle
        for axis in (axes[0, 0], axes[1, 0])
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncols=4, frameon=False
    )
    path.parent.mkdir(exist_ok=True)
    with mpl.rc_context({"svg.hashsalt": "parcels", "svg.fonttype": "none"}):
        figure.savefig(path, metadata={"Date": None})


def _lines(tables: Sequence[Mapping[str, Any]], title: str) -> Lines:
    (table,) = (table for table in tables if table["title"].startswith(title))
    return [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]


def _panel(axis: Axes, lines: Lines, across: str, what: str) -> None:
    for method, (color, marker) in STYLES.items():
        points = [
            (_number(line[across]), _number(line[what]))
            for line in lines
            if line["method"] == method and line[across] and line[what]
        ]
        if points:
            x, y = zip(*points, strict=True)
            axis.plot(x, y, label=method, color=color, marker=marker, markersize=4, linewidth=1.2)
    axis.set_xlabel(across)
    axis.set_ylabel(LABELS.get(what, what))
    axis.grid(visible=True, linewidth=0.3)
    axis.spines[["top", "right"]].set_visible(False)


def _number(text: str) -> float:
    return float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)


if __name__ == "__main__":
    main()
