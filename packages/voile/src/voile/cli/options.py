"""Options of the commands that read a table or a ledger.

Tables as commands are told of them: files, parts of files, and addresses of databases.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from voile.table.engines import AUTO
from voile.table.places import Place, place_of
from voile_base.errors import InputError

__all__ = ["TABLE", "engine_option", "known_option", "ledger_option"]


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
