"""``voile query``: an aggregate from a release, with bounds or with an interval."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from voile.cli.options import engine_option
from voile_base.ondemand import on_demand
from voile_base.terminal import as_json as json_option
from voile_base.terminal import print_json, print_table

if TYPE_CHECKING:
    from voile import query as answering
    from voile.query import Answer, EstimatedAnswer
    from voile.release import recounting as release_recounting
else:
    answering = on_demand("voile.query")
    release_recounting = on_demand("voile.release.recounting")

__all__: list[str] = []


@click.command("query")
@click.argument("release", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("aggregate")
@click.option("--where", metavar="PREDICATE", help="SQL predicate over the published columns.")
@click.option(
    "--confidence",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="Of the interval of an answer from noisy counts; that of the release by default, or 0.95.",
)
@click.option(
    "--weight",
    metavar="COLUMN",
    help="The published column of sampling weights: the answer is that of the population.",
)
@engine_option
@json_option
def _query(
    release: Path,
    aggregate: str,
    where: str | None,
    confidence: float | None,
    weight: str | None,
    engine: str,
    as_json: bool,
) -> None:
    """Answer AGGREGATE from the release in DIR, with guaranteed bounds or a confidence interval.

    Of a (k,e)-anonymous release AGGREGATE is COUNT(*), or SUM, AVG, MIN or MAX of the sensitive
    column, such as "SUM(salary)". The true answer lies between the bounds.

    Of a release of dp-synthesis or dp-tables it is COUNT, SUM or AVG of any column, estimated from
    the noisy counts in measurements.parquet, with a confidence interval where a table has all the
    columns that are asked for.

    With --weight, AGGREGATE is COUNT, SUM or AVG over columns that are published as they are, or
    redrawn: each row counts as the people that it stands for.

    In a predicate, a text stands in single quotes, and a column whose name is no plain word in
    double quotes.
    """
    opened = release_recounting.read_recounted(release, engine=engine)
    found = answering.answer(opened, aggregate, where, confidence=confidence, weight=weight)
    if as_json:
        print_json(found.document())
    elif isinstance(found, answering.EstimatedAnswer):
        _show_estimate(found)
    else:
        _show(found)


def _show_estimate(found: EstimatedAnswer) -> None:
    click.echo(_asked(found))
    numbers = [found.estimate, found.lower, found.upper]
    shown = ["none" if number is None else round(number, 2) for number in numbers]
    print_table(["estimate", "lower bound", "upper bound"], [shown])
    for sentence in (found.source, *found.notes):
        click.echo(f"{sentence[:1].upper()}{sentence[1:]}.")


def _show(found: Answer) -> None:
    click.echo(_asked(found))
    numbers = [found.lower, found.upper, found.estimate]
    print_table(
        ["lower bound", "upper bound", "estimate", "matching rows"],
        [["none" if number is None else number for number in numbers] + [found.matching_rows]],
    )
    if found.matching_rows == 0:
        click.echo("No published row matches the predicate.")


def _asked(found: Answer | EstimatedAnswer) -> str:
    asked = f"{found.aggregate}({found.column or '*'})"
    return f"{asked} where {found.where}" if found.where else asked
