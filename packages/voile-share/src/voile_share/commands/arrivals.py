"""``voile share arrivals``: what a company's past tours teach, and how well it held on them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from voile_base.errors import InputError
from voile_base.terminal import as_json as json_option
from voile_base.terminal import print_json, say

if TYPE_CHECKING:
    from voile_share.arrival import LeftOut

__all__ = ["arrivals", "coverage_text"]


@click.command(short_help="what a company's past tours teach, and how well that held")
@click.argument("folder", type=click.Path(path_type=Path))
@click.argument("company_number", metavar="COMPANY")
@json_option
def arrivals(folder: Path, company_number: str, *, as_json: bool) -> None:
    """Show from how many tours arrivals of COMPANY are told, and how often they held.

    Each tour is left out in turn and forecast from all the others, nominally for 9 of 10 arrivals.
    What is printed tells of the company's tours: it is private.
    """
    from voile_share.service.folder import Configuration, open_platform  # noqa: PLC0415

    platform = open_platform(folder, Configuration.read(folder))
    try:
        found = [one.company for one in platform.companies()]
        found = [one for one in found if one.company == company_number]
        if not found:
            msg = f"there is no company {company_number}: see voile share list {folder}"
            raise InputError(msg)
        kept, tried = platform.arrivals(found[0]), platform.tried_arrivals(found[0])
    finally:
        platform.close()
    if as_json:
        names = ("tours", "forecasts", "figures", "held", "coverage")
        left_out = {name: getattr(tried, name) for name in names}
        shown = {"drives": kept.drives, "tours": kept.tours, "published": kept.published}
        print_json({**shown, "left_out": left_out})
        return
    say(f"{kept.drives} past drives, {kept.tours} tours that are over")
    if kept.published:
        say("links are given the table that the company has fitted itself")
    say(coverage_text(tried))


def coverage_text(tried: LeftOut) -> str:
    """How often intervals held on tours that were left out, in a sentence."""
    if tried.coverage is None:
        return "no coverage: it takes 4 tours that are over to leave one out"
    return (
        f"each of {tried.tours} tours left out: {tried.held} of {tried.figures} arrivals with a "
        f"figure held ({100 * tried.coverage:.0f} %, nominally 90 %); a figure for "
        f"{tried.figures} of {tried.forecasts} forecasts"
    )
