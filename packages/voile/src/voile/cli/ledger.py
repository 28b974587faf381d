"""``voile ledger``: what a ledger holds, whether it can be relied on, and what to do after a crash.

What stands in it is private: numbers of held and waiting rows are no part of any release.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from voile_base.errors import LedgerError
from voile_base.ondemand import on_demand
from voile_base.terminal import as_json as json_option
from voile_base.terminal import print_json

if TYPE_CHECKING:
    from voile import ledger as voile_ledger
    from voile.cli import ledger_shown
    from voile.ledger import FleetState, LedgerFault
    from voile.release import folder as release_folder
else:
    voile_ledger = on_demand("voile.ledger")
    ledger_shown = on_demand("voile.cli.ledger_shown")
    release_folder = on_demand("voile.release.folder")

__all__: list[str] = []

_path_option = click.option(
    "--ledger",
    "path",
    type=click.Path(path_type=Path),
    envvar="VOILE_LEDGER",
    show_envvar=True,
    required=True,
    help="The ledger's file.",
)


def _common_options(command: Callable[..., None]) -> Callable[..., None]:
    return _path_option(json_option(command))


@click.group("ledger")
def _ledger() -> None:
    """Show, verify or settle the ledger, which remembers releases and what they spent.

    It is private.
    """


@_ledger.command("show")
@_common_options
def _show(path: Path, *, as_json: bool) -> None:
    """Show every series, every data set with its budget and pool, and every fleet."""
    opened = voile_ledger.Ledger(path)
    summaries, data_sets, fleets = opened.series(), opened.data_sets(), opened.fleets()
    if as_json:
        print_json(
            {
                "series": [ledger_shown.series_document(summary) for summary in summaries],
                "data_sets": [ledger_shown.data_set_document(state) for state in data_sets],
                "fleets": [ledger_shown.fleet_document(state) for state in fleets],
            }
        )
        return
    for summary in summaries:
        ledger_shown.show_series(summary)
    for state in data_sets:
        ledger_shown.show_data_set(state)
    for fleet in fleets:
        ledger_shown.show_fleet(fleet)
    if not summaries and not data_sets and not fleets:
        click.echo(f"{path}: no release has been committed to this ledger", err=True)


@_ledger.command("verify")
@click.argument("releases", nargs=-1, type=click.Path(path_type=Path), metavar="[RELEASE_DIR]...")
@_common_options
def _verify(path: Path, releases: tuple[Path, ...], *, as_json: bool) -> None:
    """Check that the ledger is sound, and that it knows the releases in the folders named.

    Name the folders of all releases that exist: only they show that a ledger was replaced by an
    older copy.
    """
    opened = voile_ledger.Ledger(path)
    findings = opened.verify()
    for folder in releases:
        findings += opened.verify_release(folder)
    if as_json:
        details = [{"where": finding.where, "what": finding.what} for finding in findings]
        print_json({"sound": not findings, "findings": details})
    if findings:
        raise LedgerError(_unsound(path, findings))
    summaries, data_sets, fleets = opened.series(), opened.data_sets(), opened.fleets()
    versions = [version for summary in summaries for version in summary.versions]
    entries = sum(len(state.entries) for state in data_sets)
    click.echo(
        f"{path}: sound. Checked: {len(summaries)} series, {len(versions)} versions with "
        f"{sum(version.blocks for version in versions)} blocks and "
        f"{sum(version.new_rows for version in versions)} published rows, "
        f"{_counted(fleets)}{len(data_sets)} data sets with {entries} entries, "
        f"{len(releases)} release folders",
        err=True,
    )


@_ledger.command("settle")
@click.argument("name")
@click.option(
    "--release",
    "folder",
    type=click.Path(path_type=Path),
    help="The folder of the release, which stands: the rows that it took up from a pool are "
    "forgotten.",
)
@click.option(
    "--lost",
    is_flag=True,
    help="The release never appeared: its series forgets it, rows that it took up from a pool wait "
    "again, and what it spent stays spent.",
)
@click.option(
    "--of",
    type=click.Choice(["series", "data-set"]),
    help="What NAME is, where a series and a data set have it.",
)
@_path_option
def _settle(path: Path, name: str, folder: Path | None, of: str | None, *, lost: bool) -> None:
    """Say what became of the newest release of NAME, whose publisher was stopped before its end.

    NAME is a series, or a data set whose newest release took rows up from its pool. Say --lost only
    if nobody has seen the release: the next one is then not compared with it, and rows that it
    published may be published again.
    """
    if lost == (folder is not None):
        msg = "say either --release FOLDER or --lost"
        raise click.UsageError(msg)
    opened = voile_ledger.Ledger(path)
    if folder is not None:
        document = release_folder.release_document(folder)
        told = _settled(opened, name, document, of)
    else:
        told = _lost(opened, name, of)
    click.echo(f"{path}: {told}", err=True)


def _settled(
    opened: voile_ledger.Ledger, name: str, document: Mapping[str, object], of: str | None
) -> str:
    """Note that a release stands; what to say of it."""
    release_id, series = str(document.get("release_id")), document.get("series")
    if of == "series" or (of is None and isinstance(series, Mapping)):
        opened.settle_series(name, release_id)
        return "the release stands, and cannot be lost any more"
    opened.settle(name, release_id)
    return "the release stands; the rows that it took up are forgotten"


def _lost(opened: voile_ledger.Ledger, name: str, of: str | None) -> str:
    """Note that a release never appeared; what to say of it."""
    state = None if of == "series" else opened.budget(name)
    series = [] if of == "data-set" else [s for s in opened.series() if s.terms.name == name]
    waiting = state.unsettled if state else None
    newest = series[0].versions[-1] if series and series[0].versions else None
    if waiting and newest and not newest.stands:
        msg = f"a series and a data set are named {name!r}; say which, with --of"
        raise click.UsageError(msg)
    if waiting:
        opened.take_back(name, waiting)
        return "the rows that the lost release took up wait again"
    if newest is None:
        msg = (
            f"{opened.path}: nothing named {name!r} has a release that waits to be settled; "
            "`voile ledger show` says what does"
        )
        raise LedgerError(msg)
    lost = opened.lose(name, newest.release_id)
    left = (
        f"the next release is compared with release {lost.number - 1}"
        if lost.number > 1
        else "the series begins anew"
    )
    return (
        f"release {lost.number} of series {name!r} ({lost.release_id}, of {lost.created[:10]}) is "
        f"forgotten: {left}"
    )


def _unsound(path: Path, findings: list[LedgerFault]) -> str:
    listed = "".join(f"\n  {finding}" for finding in findings)
    return (
        f"{path}: the ledger is not sound, or does not know a release:{listed}\n"
        "Publish nothing from it. Restore the newest backup that knows all releases"
    )


def _counted(fleets: list[FleetState]) -> str:
    found = dict.fromkeys(("trip", "vehicle"), 0)
    for state in fleets:
        found[state.terms.unit] += state.accounts
    counted = " and ".join(f"{count} {unit}s" for unit, count in found.items() if count)
    return f"{len(fleets)} fleets with {counted or 'no trips'}, " if fleets else ""
