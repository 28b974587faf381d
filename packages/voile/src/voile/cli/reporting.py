"""What ``voile study``, ``compare`` and ``audit`` share: options, lines of tables, reports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from voile_base.terminal import print_table

if TYPE_CHECKING:
    from voile.study.record import EstimateDocument, MeasureDocument, RiskDocument, Skipped

__all__ = [
    "believed_apart",
    "held_out_option",
    "names_of",
    "names_of_skipped",
    "renderer",
    "show_risks",
    "targets_option",
    "tell_left_out",
    "utility_row",
]

targets_option = click.option(
    "--targets",
    type=click.IntRange(min=1),
    default=1000,
    show_default=True,
    help="At how many people each attack is aimed.",
)
held_out_option = click.option(
    "--held-out",
    metavar="SHARE",
    type=click.FloatRange(0, 1, max_open=True),
    default=0.2,
    show_default=True,
    help="Share of the rows that a rehearsal leaves out; 0 for none.",
)


def names_of(text: str | None) -> tuple[str, ...] | None:
    """Names separated by commas; None where none were given."""
    if text is None:
        return None
    return tuple(name.strip() for name in text.split(",") if name.strip())


def renderer(name: str) -> Callable[[Any], str]:
    """A function of ``voile.report.html`` that draws a report; what it needs is loaded when called.

    It raises ``InputError`` where that is not installed.
    """

    def render(record: object) -> str:
        draw: Callable[[Any], str] = getattr(import_module("voile.report.html"), name)
        return draw(record)

    return render


def utility_row(measured: MeasureDocument) -> list[object]:
    """A measure of utility as a line of a table."""
    numbers = (measured["value"], measured["untouched"], measured["useless"])
    return [measured["title"], *map(_number, numbers), measured["better"]]


def believed_apart(rate: str, *, counted: bool) -> tuple[str, str]:
    """The cells of the columns "succeeds" and "believed": a belief is no success."""
    return (rate, "") if counted else ("", rate)


def tell_left_out(skipped: Sequence[Skipped]) -> None:
    """What was left out, a line for each reason."""
    for reason in dict.fromkeys(one.reason for one in skipped):
        names = names_of_skipped([one for one in skipped if one.reason == reason])
        click.echo(f"Left out: {names}: {reason}")


def names_of_skipped(skipped: Sequence[Skipped]) -> str:
    """The names of what was left out, in a line."""
    return ", ".join(one.name for one in skipped)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def show_risks(risks: Sequence[RiskDocument]) -> None:
    """The risks as a table, after an empty line; nothing where there are none."""
    if not risks:
        return
    click.echo()
    print_table(
        ["risk", "of", "succeeds", "control", "guessing", "targets", ""],
        [_risk_row(risk) for risk in risks],
    )


def _risk_row(risk: RiskDocument) -> list[object]:
    return [
        risk["risk"],
        risk["of"],
        _estimate(risk["main"]),
        "" if risk["control"] is None else _estimate(risk["control"]),
        _estimate(risk["guess"]),
        f"{risk['targets']:,}",
        _beyond_chance(risk),
    ]


def _beyond_chance(risk: RiskDocument) -> str:
    """What a risk lies beyond by more than chance; of re-identification, that of the worst-off."""
    if (worst := risk.get("worst")) is not None:
        return f"the worst-off: {worst * 100:.3g}%"
    beside = "guessing" if risk["control"] is None else "the control"
    return f"beyond {beside}" if risk["found"] else ""


def _estimate(one: EstimateDocument) -> str:
    low, high = ((one[end] or 0) * 100 for end in ("low", "high"))
    return f"{(one['value'] or 0) * 100:.3g}% ({low:.3g} to {high:.3g})"
