"""``voile share backup``: a service in one file, while it runs."""

from __future__ import annotations

from pathlib import Path

import click

from voile_base.terminal import as_json as json_option
from voile_base.terminal import print_json, say, telling_what_is_done

__all__ = ["backup"]


@click.command(short_help="write a service to one file, while it runs")
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option(
    "--new-key",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Make the recovery key, which opens what backups hold sealed, in a new FILE: to be kept "
    "elsewhere. Once for a folder.",
)
@json_option
def backup(folder: Path, file: Path | None, new_key: Path | None, *, as_json: bool) -> None:
    """Write the service of FOLDER to a new FILE, while it runs.

    The store is that of one instant, of SQLite or PostgreSQL. share.toml, keys and passwords are
    sealed for the recovery key, whose secret half this machine need not have. `voile share
    restore` makes a folder of it.
    """
    from voile_share.service.backup import new_recovery_key, write_backup  # noqa: PLC0415
    from voile_share.service.folder import Configuration  # noqa: PLC0415

    if file is None and new_key is None:
        msg = "name the file of the backup, or --new-key for a recovery key"
        raise click.UsageError(msg)
    configuration = Configuration.read(folder)
    if new_key is not None:
        new_recovery_key(folder, new_key)
        say(f"{new_key}: the recovery key. Keep it elsewhere: without it no backup gives keys back")
    if file is None:
        return
    made = write_backup(folder, configuration, file)
    size = file.stat().st_size
    with telling_what_is_done(f"the backup stands in {file}"):
        say(f"{file}: {size / 1e6:,.1f} MB")
        if as_json:
            print_json({"file": str(file), "bytes": size, "made": made.made})
