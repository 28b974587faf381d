"""``voile ledger``: what a ledger holds, whether it can be relied on, and what to do after a crash.

What stands in it is private: numbers of held and waiting rows are no part of any release.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from voile.cli.show import as_json as json_option
from voile.cli.show import print_json, print_table
from voile.dp.events import PrivacyEvent
from voile.errors import LedgerError
from voile.ledger import BudgetState, Finding, FleetState, Ledger, SeriesSummary, VersionSummary
from voile.ledger.audit import release_document
from voile.ledger.budget import Entry, shown
from voile.ledger.trips import FleetEntry
from voile.schema.numbers import json_number

__all__ = ["ledger"]

_COLUMNS = (
    "version",
    "date",
    "blocks",
    "rows",
    "new",
    "held",
    "sum of ranges",
    "mean width",
    "max width",
)


_ACCOUNT = ("entry", "date", "what", "release", "spent")
_FLEET = ("entry", "date", "release", "trips")


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


@click.group()
def ledger() -> None:
    """Show, verify or settle the ledger, which remembers releases and what they spent.

    It is private.
    """


@ledger.command()
@_common_options
def show(path: Path, *, as_json: bool) -> None:
    """Show every series, every data set with its budget and pool, and every fleet."""
    opened = Ledger(path)
    summaries, data_sets, fleets = opened.series(), opened.data_sets(), opened.fleets()
    if as_json:
        print_json(
            {
                "series": [_series_json(summary) for summary in summaries],
                "data_sets": [_data_set_json(state) for state in data_sets],
                "fleets": [_fleet_json(state) for state in fleets],
            }
        )
        return
    for summary in summaries:
        click.echo(_heading(summary))
        print_table(_COLUMNS, [_row(version) for version in summary.versions])
    for state in data_sets:
        click.echo(_account(state))
        print_table(_ACCOUNT, [_line(entry) for entry in state.entries])
    for fleet in fleets:
        click.echo(_fleet(fleet))
        print_table(_FLEET, [_fleet_line(entry) for entry in fleet.entries])
    if not summaries and not data_sets and not fleets:
        click.echo(f"{path}: no release has been committed to this ledger", err=True)


@ledger.command()
@click.argument("releases", nargs=-1, type=click.Path(path_type=Path), metavar="[RELEASE_DIR]...")
@_common_options
def verify(path: Path, releases: tuple[Path, ...], *, as_json: bool) -> None:
    """Check that the ledger is sound, and that it knows the releases in the folders named.

    Name the folders of all releases that exist: only they show that a ledger was replaced by an
    older copy.
    """
    opened = Ledger(path)
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


@ledger.command()
@click.argument("data_set")
@click.option(
    "--release",
    "folder",
    type=click.Path(path_type=Path),
    help="The folder of the release, which stands: the rows that it took up are forgotten.",
)
@click.option(
    "--lost",
    is_flag=True,
    help="The release never appeared: the rows that it took up wait again, and what it spent "
    "stays spent.",
)
@_path_option
def settle(path: Path, data_set: str, folder: Path | None, *, lost: bool) -> None:
    """Say what became of a release of DATA_SET whose publisher was stopped before its end.

    Only a release that took rows up from the pool of a data set waits to be settled. Say --lost
    only if nobody has seen the release: publishing rows twice may give them away.
    """
    if lost == (folder is not None):
        msg = "say either --release FOLDER or --lost"
        raise click.UsageError(msg)
    opened = Ledger(path)
    if folder is not None:
        opened.settle(data_set, str(release_document(folder).get("release_id")))
        click.echo(f"{path}: the release stands; the rows that it took up are forgotten", err=True)
        return
    state = opened.budget(data_set)
    opened.take_back(data_set, str(state.unsettled if state else None))
    click.echo(f"{path}: the rows that the lost release took up wait again", err=True)


def _unsound(path: Path, findings: list[Finding]) -> str:
    listed = "".join(f"\n  {finding}" for finding in findings)
    return (
        f"{path}: the ledger is not sound, or does not know a release:{listed}\n"
        "Publish nothing from it. Restore the newest backup that knows all releases"
    )


def _heading(summary: SeriesSummary) -> str:
    terms = summary.terms
    method = ", ".join(f"{name} = {value}" for name, value in terms.method.items())
    matched = f"by {terms.record_key!r}" if terms.record_key else "by their contents"
    return f"series {terms.name!r} (private): {method}; rows are matched {matched}"


def _row(version: VersionSummary) -> list[object]:
    return [
        version.number,
        version.created[:10],
        version.blocks,
        version.rows,
        version.new_rows,
        version.held,
        version.sum_of_ranges,
        float(f"{version.mean_width:.6g}"),
        version.max_width,
    ]


def _series_json(summary: SeriesSummary) -> dict[str, Any]:
    terms = summary.terms
    return {
        "name": terms.name,
        "method": dict(terms.method),
        "record_key": terms.record_key,
        "versions": [_version_json(version) for version in summary.versions],
    }


def _version_json(version: VersionSummary) -> dict[str, Any]:
    return {
        "version": version.number,
        "release_id": version.release_id,
        "created": version.created,
        "blocks": version.blocks,
        "rows": version.rows,
        "new_rows": version.new_rows,
        "held": version.held,
        "sum_of_ranges": json_number(version.sum_of_ranges),
        "mean_width": version.mean_width,
        "max_width": json_number(version.max_width),
    }


def _account(state: BudgetState) -> str:
    waiting = state.waiting.rows if state.waiting else 0
    lines = [
        f"data set {state.limit.data_set!r} (private): {state.limit}",
        f"spent {shown(state.spent)}, left {shown(state.left)}; "
        f"rows waiting in its pool: {waiting:,}",
    ]
    if state.unsettled:
        lines.append(f"release {state.unsettled} waits to be settled: see `voile ledger settle`")
    return "\n".join(lines)


def _counted(fleets: list[FleetState]) -> str:
    trips = sum(len(state.spent) for state in fleets)
    return f"{len(fleets)} fleets with {trips} trips, " if fleets else ""


def _fleet(state: FleetState) -> str:
    median, most = state.quantiles
    return (
        f"fleet {state.terms.name!r} (private): {state.terms}\n"
        f"trips: {len(state.spent):,}; a trip has spent {median:.6g} in the median, {most:.6g} at "
        "most"
    )


def _fleet_line(entry: FleetEntry) -> list[object]:
    return [entry.number, entry.created[:10], entry.release_id, entry.trips]


def _fleet_json(state: FleetState) -> dict[str, Any]:
    median, most = state.quantiles
    return {
        "name": state.terms.name,
        "budget": state.terms.budget,
        "distance": state.terms.distance,
        "delta": state.terms.delta,
        "differences": state.terms.differences,
        "trips": len(state.spent),
        "median_spent": float(f"{median:.9g}"),
        "largest_spent": float(f"{most:.9g}"),
        "entries": [
            {
                "entry": entry.number,
                "release_id": entry.release_id,
                "created": entry.created,
                "trips": entry.trips,
            }
            for entry in state.entries
        ],
    }


def _line(entry: Entry) -> list[object]:
    spent = ", ".join(map(_event, entry.events)) or "nothing"
    return [entry.number, entry.created[:10], entry.kind, entry.release_id, spent]


def _event(event: PrivacyEvent) -> str:
    delta = f" (delta {event.delta:.3g})" if event.delta else ""
    return f"{event.mechanism} {shown(event.epsilon)}{delta}"


def _data_set_json(state: BudgetState) -> dict[str, Any]:
    return {
        "name": state.limit.data_set,
        "epsilon": json_number(state.limit.epsilon),
        "delta": json_number(state.limit.delta),
        "neighbours": state.limit.neighbours,
        "spent": json_number(state.spent) if state.spent.is_finite() else None,
        "left": json_number(state.left),
        "waiting": state.waiting.rows if state.waiting else 0,
        "unsettled": state.unsettled,
        "entries": [
            {
                "entry": entry.number,
                "what": entry.kind,
                "release_id": entry.release_id,
                "created": entry.created,
                "events": [event.document() for event in entry.events],
            }
            for entry in state.entries
        ],
    }
