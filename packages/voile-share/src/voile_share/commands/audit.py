"""``voile share audit``: who did what on the operator's page, and whether that was changed."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click

from voile_base.terminal import as_json as json_option
from voile_base.terminal import print_json, print_table, say

__all__ = ["audit"]


@click.command(short_help="show what people did, and whether the log was changed")
@click.argument("folder", type=click.Path(path_type=Path))
@json_option
def audit(folder: Path, *, as_json: bool) -> None:
    """Show the audit log of FOLDER, and look whether an entry was changed or taken out.

    Keep the last digest elsewhere: with it, a log that was written anew is found, too.
    """
    from voile_share.service.care import users_of  # noqa: PLC0415
    from voile_share.service.folder import Configuration  # noqa: PLC0415

    with users_of(folder, Configuration.read(folder)) as users:
        done = list(users.journal.all())
    if as_json:
        print_json(
            [
                {
                    "number": one.number,
                    "at": one.at,
                    "who": one.who,
                    "what": one.what,
                    "about": one.about,
                    "company": one.company,
                    "digest": one.digest.hex(),
                }
                for one in done
            ]
        )
        return
    print_table(
        ("number", "when", "who", "what", "about"),
        [
            (
                one.number,
                f"{datetime.fromtimestamp(one.at, UTC):%Y-%m-%d %H:%M}",
                one.who,
                one.what,
                one.about,
            )
            for one in done
        ],
    )
    if done:
        say(f"{len(done)} entries follow one another; the last digest is {done[-1].digest.hex()}")
