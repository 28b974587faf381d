"""A command of somebody else: ``voile columns DIR`` names what a release shows, and how."""

from __future__ import annotations

from pathlib import Path

import click

from voile.release.release import read_release


@click.command("columns")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
def columns(folder: Path) -> None:
    """Name the columns of a release, and how each is shown."""
    for name, shown in read_release(folder).disclosure.columns.items():
        click.echo(f"{name}: {shown.kind}")
