"""``voile share set-back``: a truck whose last report is ahead of time publishes again."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path

import click

from voile_base.errors import InputError
from voile_base.terminal import as_json as json_option
from voile_base.terminal import print_json, say, telling_what_is_done

__all__ = ["set_back"]


@click.command("set-back", short_help="take back what a truck has published ahead of time")
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("truck")
@json_option
def set_back(folder: Path, truck: str, *, as_json: bool) -> None:
    """Drop the reports of TRUCK, by its number, that are later than the clock of this machine.

    A report that was made while a clock was ahead silences its truck until that time. Look at the
    clock of this machine first: what is later by it is dropped. It may be used while the service
    runs, and stands in the log that `voile share audit` shows. Auditors who have read the dropped
    records find the chain broken there: tell them.
    """
    from voile_share.service.folder import Configuration, open_platform  # noqa: PLC0415
    from voile_share.service.operator.journal import COMMAND_LINE, Journal  # noqa: PLC0415

    number = _number(truck)
    with closing(open_platform(folder, Configuration.read(folder))) as platform:
        now = platform.clock()
        taken = platform.set_back(number)
        known = platform.directory.truck(number)
        journal = Journal(platform.directory, platform.clock)
        company = None if known is None else known.company
        journal.write(COMMAND_LINE, "truck set back", f"{truck}: {taken} reports", company)
    with telling_what_is_done("the truck was set back"):
        if as_json:
            print_json({"truck": truck, "reports": taken, "clock": now})
        at = datetime.fromtimestamp(now, UTC)
        say(f"truck {truck}: {taken} reports later than {at:%Y-%m-%d %H:%M} UTC were taken back")


def _number(text: str) -> bytes:
    try:
        number = bytes.fromhex(text)
    except ValueError:
        number = b""
    if len(number) != 16:
        msg = "the number of a truck is 32 hexadecimal digits: the operator's page shows it"
        raise InputError(msg)
    return number
