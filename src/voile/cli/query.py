"""``voile query``: an aggregate of the sensitive column from a release, with bounds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from voile.cli.options import engine_option
from voile.ondemand import on_demand
from voile.terminal import as_json as json_option
from voile.terminal import print_json, print_table

if TYPE_CHECKING:
    from voile import query as answering
    from voile.query import Answer
    from voile.release import stored
else:
    answering = on_demand("voile.query")
    stored = on_demand("voile.release.stored")

__all__ = ["query"]


@click.command()
@click.argument("release", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("aggregate")
@click.option("--where", metavar="PREDICATE", help="SQL predicate over the published columns.")
@engine_option
@json_option
def query(release: Path, aggregate: str, where: str | None, engine: str, as_json: bool) -> None:
    """Answer AGGREGATE from the release in DIR, with guaranteed bounds.

    AGGREGATE is COUNT(*), or SUM, AVG, MIN or MAX of the sensitive column, such as "SUM(salary)".
    The true answer lies between the bounds.

    In a predicate, a text stands in single quotes, and a column whose name is no plain word in
    double quotes.
    """
    found = answering.answer(stored.read_release(release, engine=engine), aggregate, where)
    if as_json:
        print_json(found.document())
    else:
        _show(found)


def _show(found: Answer) -> None:
    click.echo(_asked(found))
    numbers = [found.lower, found.upper, found.estimate]
    print_table(
        ["lower bound", "upper bound", "estimate", "matching rows"],
        [["none" if number is None else number for number in numbers] + [found.matching_rows]],
    )
    if found.matching_rows == 0:
        click.echo("No published row matches the predicate.")


def _asked(found: Answer) -> str:
    asked = f"{found.aggregate}({found.column or '*'})"
    return f"{asked} where {found.where}" if found.where else asked
