"""``voile ledger``: what a ledger holds, and whether it can be relied on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from voile.cli.show import as_json as json_option
from voile.cli.show import print_json, print_table
from voile.errors import LedgerError
from voile.ledger import Finding, Ledger, SeriesSummary, VersionSummary
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


def _common_options(command: Callable[..., None]) -> Callable[..., None]:
    for option in (
        json_option,
        click.option(
            "--ledger",
            "path",
            type=click.Path(path_type=Path),
            envvar="VOILE_LEDGER",
            show_envvar=True,
            required=True,
            help="The ledger's file.",
        ),
    ):
        command = option(command)
    return command


@click.group()
def ledger() -> None:
    """Show or verify the ledger, which remembers the releases of each series. It is private."""


@ledger.command()
@_common_options
def show(path: Path, *, as_json: bool) -> None:
    """Show every series with its releases, and how its blocks widen."""
    summaries = Ledger(path).series()
    if as_json:
        print_json({"series": [_series_json(summary) for summary in summaries]})
        return
    for summary in summaries:
        click.echo(_heading(summary))
        print_table(_COLUMNS, [_row(version) for version in summary.versions])
    if not summaries:
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
    summaries = opened.series()
    versions = [version for summary in summaries for version in summary.versions]
    click.echo(
        f"{path}: sound. Checked: {len(summaries)} series, {len(versions)} versions with "
        f"{sum(version.blocks for version in versions)} blocks and "
        f"{sum(version.new_rows for version in versions)} published rows, "
        f"{len(releases)} release folders",
        err=True,
    )


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
