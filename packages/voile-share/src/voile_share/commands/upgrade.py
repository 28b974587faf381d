"""``voile share upgrade``: lead a store to the format of this Voile."""

from __future__ import annotations

from pathlib import Path

import click

from voile_base.terminal import as_json as json_option
from voile_base.terminal import print_json, say, telling_what_is_done

__all__ = ["upgrade"]


@click.command(short_help="lead a store to the format of this Voile")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--check", "only_check", is_flag=True, help="Say the formats, and change nothing.")
@json_option
def upgrade(folder: Path, *, only_check: bool, as_json: bool) -> None:
    """Lead the store of FOLDER to the format of this Voile.

    Stop the service first, and make a backup: an older Voile refuses the store afterwards. Each
    step is whole or not at all; whoever is interrupted goes on by the same command, or by `voile
    share serve`, which upgrades, too.
    """
    from voile_share.service.care import formats  # noqa: PLC0415
    from voile_share.service.care import upgrade as lead  # noqa: PLC0415
    from voile_share.service.folder import Configuration  # noqa: PLC0415

    configuration = Configuration.read(folder)
    before, present = formats(folder, configuration)
    if not only_check:
        lead(folder, configuration)
    with telling_what_is_done("the store was upgraded"):
        match only_check, before == present:
            case _, True:
                say(f"{folder}: the store has format {present}, that of this Voile")
            case True, _:
                say(f"{folder}: the store has format {before}; this Voile writes {present}")
            case _:
                say(f"{folder}: the store had format {before}, and has {present} now")
        if as_json:
            print_json({"before": before, "format": present})
