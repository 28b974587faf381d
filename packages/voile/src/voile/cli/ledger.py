"""``voile ledger``: what a ledger holds, whether it can be relied on, and what to do after a crash.

What stands in it is private: numbers of held and waiting rows are no part of any release.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import click

from voile_base.errors import LedgerError
from voile_base.ondemand import on_demand
from voile_base.terminal import as_json as json_option
from voile_base.terminal import print_json, print_table

if TYPE_CHECKING:
    from voile import ledger as voile_ledger
    from voile.dp.accounting import PrivacyEvent
    from voile.ledger import BudgetState, FleetState, LedgerFault, SeriesSummary, VersionSummary
    from voile.ledger import budget as ledger_budget
    from voile.ledger.budget import BudgetEntry
    from voile.ledger.trips import FleetEntry
    from voile.release import folder as release_folder
    from voile.schema import numbers as schema_numbers
else:
    ledger_budget = on_demand("voile.ledger.budget")
    schema_numbers = on_demand("voile.schema.numbers")
    voile_ledger = on_demand("voile.ledger")
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
                "series": [_series_document(summary) for summary in summaries],
                "data_sets": [_data_set_document(state) for state in data_sets],
                "fleets": [_fleet_document(state) for state in fleets],
            }
        )
        return
    for summary in summaries:
        _show_series(summary)
    for state in data_sets:
        _show_data_set(state)
    for fleet in fleets:
        _show_fleet(fleet)
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


# --- what is printed of a series, a data set and a fleet

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


_LASTING = ("version", "date", "groups that last", "rows", "new", "not shown again")
_ACCOUNT = ("entry", "date", "what", "release", "spent")
_FLEET = ("entry", "date", "what", "release", "trips")


def _show_series(summary: SeriesSummary) -> None:
    """A series: its terms, its releases, and those that never appeared."""
    click.echo(_heading(summary))
    if summary.terms.people_leave:  # its groups are no ranges of values
        print_table(_LASTING, [_row(version)[: len(_LASTING)] for version in summary.versions])
    else:
        print_table(_COLUMNS, [_row(version) for version in summary.versions])
    for line in _outcomes(summary):
        click.echo(line)


def _show_data_set(state: BudgetState) -> None:
    """A data set: its limit, what is spent and left, and by what."""
    click.echo(_account(state))
    ended = _ended(state.entries)
    print_table(_ACCOUNT, [_line(entry, ended) for entry in state.entries])


def _show_fleet(state: FleetState) -> None:
    """A fleet: its terms, what its trips have spent, and by what."""
    click.echo(_fleet(state))
    ended = _ended(state.entries)
    print_table(_FLEET, [_fleet_line(entry, ended) for entry in state.entries])


def _heading(summary: SeriesSummary) -> str:
    terms = summary.terms
    method = ", ".join(f"{name} = {value}" for name, value in terms.method.items())
    matched = f"by {terms.record_key!r}" if terms.record_key else "by their contents"
    return f"series {terms.name!r} (private): {method}; rows are matched {matched}"


def _outcomes(summary: SeriesSummary) -> Iterator[str]:
    """Which releases were lost, and whether the newest is known to stand."""
    for lost in summary.lost:
        yield (
            f"release {lost.number} of {lost.created[:10]} ({lost.release_id}) never appeared: it "
            f"was settled as lost on {lost.settled[:10]}"
        )
    newest = summary.unsettled
    if newest:
        yield (
            f"release {newest.number} ({newest.release_id}) is not known to stand: see "
            "`voile ledger settle`"
        )


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


def _series_document(summary: SeriesSummary) -> dict[str, object]:
    """A series with its releases, for JSON."""
    terms = summary.terms
    return {
        "name": terms.name,
        "method": dict(terms.method),
        "people_leave": terms.people_leave,
        "record_key": terms.record_key,
        "versions": [_version_json(version) for version in summary.versions],
        "lost": [
            {
                "version": lost.number,
                "release_id": lost.release_id,
                "created": lost.created,
                "settled": lost.settled,
            }
            for lost in summary.lost
        ],
    }


def _version_json(version: VersionSummary) -> dict[str, object]:
    return {
        "version": version.number,
        "release_id": version.release_id,
        "created": version.created,
        "blocks": version.blocks,
        "rows": version.rows,
        "new_rows": version.new_rows,
        "held": version.held,
        "sum_of_ranges": schema_numbers.json_number(version.sum_of_ranges),
        "mean_width": version.mean_width,
        "max_width": schema_numbers.json_number(version.max_width),
        "stands": version.stands,
    }


def _account(state: BudgetState) -> str:
    waiting = state.waiting.rows if state.waiting else 0
    lines = [
        f"data set {state.limit.data_set!r} (private): {state.limit}",
        f"spent {ledger_budget.shown(state.spent)}, left {ledger_budget.shown(state.left)}; "
        f"rows waiting in its pool: {waiting:,}",
    ]
    if state.unsettled:
        lines.append(f"release {state.unsettled} waits to be settled: see `voile ledger settle`")
    return "\n".join(lines)


def _fleet(state: FleetState) -> str:
    median, most = state.quantiles
    unit, days = state.terms.unit, state.terms.days
    within = "" if days is None else f" in {days} days on end"
    return (
        f"fleet {state.terms.name!r} (private): {state.terms}\n"
        f"{unit}s: {state.accounts:,}; a {unit} has spent {median:.6g} in the median, {most:.6g} "
        f"at most{within}"
    )


def _fleet_line(entry: FleetEntry, ended: Collection[str]) -> list[object]:
    what = _what(entry, ended)
    return [entry.number, entry.created[:10], what, entry.release_id, entry.trips]


def _ended(entries: Iterable[BudgetEntry | FleetEntry]) -> Collection[str]:
    """The ids of releases of which nothing came."""
    return {entry.release_id for entry in entries if entry.kind in get_args(voile_ledger.End)}


def _what(entry: BudgetEntry | FleetEntry, ended: Collection[str]) -> str:
    """What an entry is: a release of which nothing came was an attempt."""
    attempted = entry.kind == "release" and entry.release_id in ended
    return "attempt" if attempted else entry.kind


def _fleet_document(state: FleetState) -> dict[str, object]:
    """A fleet with its account, for JSON."""
    median, most = state.quantiles
    ended = _ended(state.entries)
    return {
        "name": state.terms.name,
        "budget": state.terms.budget,
        "distance": state.terms.distance,
        "delta": state.terms.delta,
        "differences": state.terms.differences,
        "days": state.terms.days,
        f"{state.terms.unit}s": state.accounts,
        "median_spent": float(f"{median:.9g}"),
        "largest_spent": float(f"{most:.9g}"),
        "entries": [
            {
                "entry": entry.number,
                "what": _what(entry, ended),
                "release_id": entry.release_id,
                "created": entry.created,
                "trips": entry.trips,
            }
            for entry in state.entries
        ],
    }


def _line(entry: BudgetEntry, ended: Collection[str]) -> list[object]:
    spent = ", ".join(map(_event, entry.events)) or "nothing"
    what = _what(entry, ended)
    return [entry.number, entry.created[:10], what, entry.release_id, spent]


def _event(event: PrivacyEvent) -> str:
    delta = f" (delta {event.delta:.3g})" if event.delta else ""
    return f"{event.mechanism} {ledger_budget.shown(event.epsilon)}{delta}"


def _data_set_document(state: BudgetState) -> dict[str, object]:
    """A data set with its account, for JSON."""
    ended = _ended(state.entries)
    return {
        "name": state.limit.data_set,
        "epsilon": schema_numbers.json_number(state.limit.epsilon),
        "delta": schema_numbers.json_number(state.limit.delta),
        "neighbours": state.limit.neighbours,
        "spent": schema_numbers.json_number(state.spent) if state.spent.is_finite() else None,
        "left": schema_numbers.json_number(state.left),
        "waiting": state.waiting.rows if state.waiting else 0,
        "unsettled": state.unsettled,
        "entries": [
            {
                "entry": entry.number,
                "what": _what(entry, ended),
                "release_id": entry.release_id,
                "created": entry.created,
                "events": [event.document() for event in entry.events],
            }
            for entry in state.entries
        ],
    }
