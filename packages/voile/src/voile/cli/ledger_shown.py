"""What ``voile ledger show`` prints, as tables and as JSON; private."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import get_args

import click

from voile.dp.accounting import PrivacyEvent
from voile.ledger import BudgetState, End, FleetState, SeriesSummary, VersionSummary
from voile.ledger.budget import BudgetEntry, shown
from voile.ledger.trips import FleetEntry
from voile.schema.numbers import json_number
from voile_base.terminal import print_table

__all__ = [
    "data_set_document",
    "fleet_document",
    "series_document",
    "show_data_set",
    "show_fleet",
    "show_series",
]

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


def show_series(summary: SeriesSummary) -> None:
    """A series: its terms, its releases, and those that never appeared."""
    click.echo(_heading(summary))
    if summary.terms.people_leave:  # its groups are no ranges of values
        print_table(_LASTING, [_row(version)[: len(_LASTING)] for version in summary.versions])
    else:
        print_table(_COLUMNS, [_row(version) for version in summary.versions])
    for line in _outcomes(summary):
        click.echo(line)


def show_data_set(state: BudgetState) -> None:
    """A data set: its limit, what is spent and left, and by what."""
    click.echo(_account(state))
    ended = _ended(state.entries)
    print_table(_ACCOUNT, [_line(entry, ended) for entry in state.entries])


def show_fleet(state: FleetState) -> None:
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


def series_document(summary: SeriesSummary) -> dict[str, object]:
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
        "sum_of_ranges": json_number(version.sum_of_ranges),
        "mean_width": version.mean_width,
        "max_width": json_number(version.max_width),
        "stands": version.stands,
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
    return {entry.release_id for entry in entries if entry.kind in get_args(End)}


def _what(entry: BudgetEntry | FleetEntry, ended: Collection[str]) -> str:
    """What an entry is: a release of which nothing came was an attempt."""
    attempted = entry.kind == "release" and entry.release_id in ended
    return "attempt" if attempted else entry.kind


def fleet_document(state: FleetState) -> dict[str, object]:
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
    return f"{event.mechanism} {shown(event.epsilon)}{delta}"


def data_set_document(state: BudgetState) -> dict[str, object]:
    """A data set with its account, for JSON."""
    ended = _ended(state.entries)
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
                "what": _what(entry, ended),
                "release_id": entry.release_id,
                "created": entry.created,
                "events": [event.document() for event in entry.events],
            }
            for entry in state.entries
        ],
    }
