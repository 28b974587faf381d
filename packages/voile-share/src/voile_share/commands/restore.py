"""``voile share restore``: a folder, and a store, of a backup."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click

from voile_base.terminal import as_json as json_option
from voile_base.terminal import print_json, say, telling_what_is_done

__all__ = ["restore"]


@click.command(short_help="make a folder of a backup")
@click.argument("file", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--key",
    required=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The recovery key.",
)
@click.option(
    "--database",
    metavar="ADDRESS",
    help="Fill this empty database in PostgreSQL, and name it in share.toml; without it the one "
    "that share.toml names, or SQLite.",
)
@json_option
def restore(file: Path, folder: Path, key: Path, database: str | None, *, as_json: bool) -> None:
    """Make a new FOLDER of the backup in FILE, and look whether it is sound.

    What was taken after the backup was made is not in it: trucks whose keys the platform holds
    would begin their chains of records anew from there, and auditors notice. So restore where the
    newer store is lost, and never beside it.
    """
    from voile_share.service.backup import restore as make  # noqa: PLC0415
    from voile_share.service.care import check  # noqa: PLC0415
    from voile_share.service.folder import Configuration  # noqa: PLC0415

    made = make(file, folder, key, database)
    with telling_what_is_done(f"the folder was made: {folder}"):
        found = check(folder, Configuration.read(folder))
        when = datetime.fromtimestamp(made.made, UTC)
        say(
            f"{folder}: as of {when:%Y-%m-%d %H:%M:%S} UTC, of Voile {made.voile}; "
            f"{found.sealed} sealed values open, the records of {found.trucks} trucks are whole"
        )
        if as_json:
            print_json({"folder": str(folder), "made": made.made, "trucks": found.trucks})
