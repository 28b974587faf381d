"""What stands in the report of a grid of studies: values for its template, and its charts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from voile.report.figures.canvas import Chart
from voile.report.figures.curves import Line, draw_curves, draw_key
from voile.report.figures.frontier import FrontierAxes, Placed, draw_frontier
from voile.report.grid import (
    GridSeries,
    Sweep,
    comparison_summary,
    findings_of,
    loss_title,
    panels_of,
    parameter_name,
    placed_points,
    risk_title,
    study_summary,
    sweep_of,
)
from voile.report.study_page import promise_of
from voile.report.words import NOTHING, listed, value_text
from voile.study.record import Point, StudyComparison
from voile_base.values.toml import toml_text

__all__ = ["comparison_page"]

_MOST_LINES = 32
"""Beyond so many lines nobody can tell them apart; the others stand in the tables."""


@dataclass(frozen=True)
class _Row:
    """One point of the grid, as its table and its details show it."""

    point: Point
    settings: tuple[str, ...]
    placed: Placed | None
    summary: tuple[str, ...]
    promise: str
    results: tuple[tuple[str, float], ...]
    """What each attack and each measure came to; rates are ``Share``."""


@dataclass(frozen=True)
class _Winner:
    """Which points are best by one attack or one measure."""

    finding: GridSeries
    value: float
    names: str


def comparison_page(comparison: StudyComparison) -> Mapping[str, Any]:
    """The values of the template ``comparison.html.j2``."""
    findings = findings_of(comparison)
    loss = loss_title(comparison, findings)
    placed = placed_points(comparison)
    sweep = sweep_of(comparison)
    swept = tuple(comparison.swept)
    return {
        "name": comparison.name,
        "comparison": comparison,
        "summary": comparison_summary(comparison, loss, placed),
        "risk": risk_title(comparison),
        "loss": loss,
        "frontier_chart": _frontier_chart(comparison, loss, placed),
        "failed": tuple(_failed(comparison)),
        "unplaced": tuple(
            point.name
            for place, point in enumerate(comparison.points)
            if point.record is not None and place not in placed
        ),
        "sweep": sweep,
        "key_chart": _key_chart(sweep),
        "curve_charts": tuple(_curve_charts(findings, sweep)),
        "parameters": tuple(map(parameter_name, swept)),
        "rows": tuple(_rows(comparison, placed, findings, swept)),
        "winners": tuple(_winners(comparison, findings)),
        "plans": tuple(map(toml_text, comparison.plans)),
        "command": _command(comparison),
        "versions": tuple(comparison.versions.items()),
    }


def _failed(comparison: StudyComparison) -> Iterator[tuple[str, str, str]]:
    """Names of the points without a release, with status and reason; alike ones together."""
    alike: dict[tuple[str, str], list[str]] = {}
    for point in comparison.points:
        if point.record is None:
            alike.setdefault((point.status, point.message), []).append(point.name)
    for (status, message), names in alike.items():
        yield listed(names, len(names), "; "), status, message


def _command(comparison: StudyComparison) -> str:
    """How to make the comparison again, as far as it is known."""
    plans = range(1, len(comparison.plans) + 1)
    names = ["plan.toml"] if len(plans) == 1 else [f"plan-{place}.toml" for place in plans]
    records = [point.record for point in comparison.points if point.record is not None]
    targets = {record.evidence.get("targets") for record in records} - {None}
    seeds = {record.seed for record in records} - {None}
    words = ["voile compare INPUT", *names, "--out DIR", f"--risk {comparison.risk}"]
    if comparison.loss:
        words.append(f"--loss {comparison.loss}")
    if len(targets) == 1:
        words.append(f"--targets {targets.pop()}")
    if len(seeds) == 1:
        words.append(f"--seed {seeds.pop()}")
    return " ".join(words)


def _frontier_chart(
    comparison: StudyComparison, loss: str, placed: Mapping[int, Placed]
) -> Chart | None:
    if not placed:
        return None
    axes = FrontierAxes(risk_title(comparison), loss, comparison.loss_better == "higher")
    title = "Risk against loss: no other release beats those on the dashed line in both"
    return draw_frontier("frontier", title, axes, tuple(dict.fromkeys(placed.values())))


def _curve_charts(
    findings: Sequence[GridSeries], sweep: Sweep | None
) -> Iterator[tuple[GridSeries, Chart]]:
    if sweep is None:
        return
    for finding, panel in panels_of(findings, sweep):
        yield finding, draw_curves(panel, sweep.parameter, _MOST_LINES)


def _key_chart(sweep: Sweep | None) -> Chart | None:
    if sweep is None or len(sweep.lines) < 2:
        return None
    lines = [Line(name, style, ()) for style, name in enumerate(sweep.lines[:_MOST_LINES])]
    return draw_key("key", "Lines of the charts", lines)


def _rows(
    comparison: StudyComparison,
    placed: Mapping[int, Placed],
    findings: Sequence[GridSeries],
    swept: Sequence[str],
) -> Iterator[_Row]:
    for place, point in enumerate(comparison.points):
        yield _Row(
            point,
            tuple(
                value_text(point.parameters[name]) if name in point.parameters else NOTHING
                for name in swept
            ),
            placed.get(place),
            study_summary(point.record) if point.record else (),
            promise_of(point.record) if point.record else "",
            tuple((f.title, f.shown(f.values[place])) for f in findings if place in f.values),
        )


def _winners(comparison: StudyComparison, findings: Sequence[GridSeries]) -> Iterator[_Winner]:
    for finding in findings:
        value, places = finding.best()
        names = [comparison.points[place].name for place in places]
        yield _Winner(finding, finding.shown(value), listed(names, 3, "; "))
