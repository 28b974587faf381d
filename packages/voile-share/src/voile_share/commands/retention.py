"""``voile share retention``: for how long a company's data are kept."""

from __future__ import annotations

from pathlib import Path

import click

from voile_base.terminal import as_json as json_option
from voile_base.terminal import print_json, print_table, say, telling_what_is_done

__all__ = ["retention"]


@click.command(short_help="for how many days a company's data are kept")
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("company_number", metavar="[COMPANY]", required=False)
@click.option("--days", type=click.IntRange(1, 3_660), help="From 1 to 3660.")
@click.option("--default", "default", is_flag=True, help="As keep_days of share.toml says, again.")
@json_option
def retention(
    folder: Path, company_number: str | None, days: int | None, *, default: bool, as_json: bool
) -> None:
    """Say for how many DAYS reports, submissions, ended parcels and links of COMPANY are kept.

    COMPANY is its number; without it, what holds for each is shown. Signed records, which say when
    trucks published, stay. A service that runs drops what is older within an hour.
    """
    from voile_share.service.folder import Configuration, open_platform  # noqa: PLC0415

    if company_number is None and (days is not None or default):
        msg = "name the company; that of all others is keep_days in share.toml"
        raise click.UsageError(msg)
    if company_number is not None and (days is None) is not default:
        msg = "say either --days or --default"
        raise click.UsageError(msg)
    platform = open_platform(folder, Configuration.read(folder))
    try:
        if company_number is not None:
            platform.set_retention(company_number, days)
        held = platform.retentions()
    finally:
        platform.close()
    with telling_what_is_done("it was set"):
        if as_json:
            print_json([{"company": one, "name": name, "days": n} for one, name, n in held])
        elif company_number is None:
            print_table(("company", "name", "days"), held)
        else:
            kept = next(number for one, _, number in held if one == company_number)
            say(f"company {company_number}: {kept} days")
