"""What commands share: options, and how they print what several of them find.

Tables as commands are told of them: files, parts of files, and addresses of databases.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from voile.table.engines import AUTO
from voile.table.places import Place, place_of
from voile_base.errors import InputError
from voile_base.terminal import print_table

if TYPE_CHECKING:
    from voile.study.record import EstimateDocument, MeasureDocument, RiskDocument, Skipped

__all__ = [
    "TABLE",
    "believed_apart",
    "engine_option",
    "held_out_option",
    "known_option",
    "ledger_option",
    "names_of",
    "names_of_skipped",
    "renderer",
    "show_risks",
    "targets_option",
    "tell_left_out",
    "utility_row",
]


_MASTER = "voile.master"

ledger_option = click.option(
    "--ledger",
    envvar="VOILE_LEDGER",
    type=click.Path(dir_okay=False),
    help="The file that remembers the releases of each series.",
)

known_option = click.option(
    "--known",
    metavar="DIR",
    multiple=True,
    type=click.Path(path_type=Path),
    help="A release, or a folder of releases, beside those beside OUT: one of the same series or "
    "data set that the ledger does not know is refused. May be repeated.",
)


def engine_option(command: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say which engine holds the rows, and where; one parameter, ``engine``."""
    engine = click.option(
        "--engine",
        metavar="NAME",
        default=AUTO,
        show_default=True,
        callback=_engine_at,
        help="What holds the rows: polars, duckdb, spark, or an engine of another package; auto "
        "takes duckdb where the file is large for this machine's memory.",
    )
    master = click.option(
        "--master",
        metavar="URL",
        is_eager=True,  # known before the engine is
        expose_value=False,
        callback=_noted_master,
        help="Where Spark works, with --engine spark: local[4], spark://host:7077, or "
        "sc://host:15002 for Spark Connect; by default this machine.",
    )
    return engine(master(command))


def _noted_master(context: click.Context, _: click.Parameter, master: str | None) -> None:
    context.meta[_MASTER] = master


def _engine_at(context: click.Context, _: click.Parameter, engine: str) -> str:
    """The engine with its place, as ``engine_of`` takes it."""
    master = context.meta.get(_MASTER)
    if master is None:
        return engine
    if engine != "spark":
        raise InputError("--master says where Spark works, and goes with --engine spark")
    return f"{engine}@{master}"


class _Table(click.ParamType[Place]):
    """Where a table stands; see ``table.places``."""

    name = "path"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> Place:
        """The place; raises ``InputError`` for an address that cannot be."""
        del param, ctx
        return place_of(value)  # type: ignore[arg-type]


TABLE = _Table()


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
