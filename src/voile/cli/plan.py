"""``voile plan``: propose a plan for a table, or hold one against it."""

from __future__ import annotations

from pathlib import Path

import click

from voile.cli.show import as_json, print_json, progress, say
from voile.durable import new_private_file
from voile.errors import InputError
from voile.proposal.whole import Proposal, propose
from voile.proposal.writing import plan_text
from voile.table.profile import inspect_file

__all__ = ["plan_command"]


@click.command("plan", short_help="Propose a plan for a table, or hold one against it.")
@click.argument("source", metavar="INPUT", type=click.Path())
@click.option("--out", type=click.Path(path_type=Path), help="Write the proposal to this new file.")
@as_json
def plan_command(source: str, out: Path | None, as_json: bool) -> None:
    """Propose a plan for the table INPUT: roles, kinds and hierarchies, with a reason each.

    The proposal is made from private rows, from the names of the columns and how their values are
    written. No value of the table stands in it but marks such as "?" for missing ones. Whatever
    could not be told is asked in a comment. Read it, change it, and publish with it.
    """
    if out is None:
        msg = "say where the proposal shall stand: --out plan.toml"
        raise InputError(msg)
    with progress() as stage:
        stage("reading")
        table = inspect_file(source)
        stage("counting")
        proposal = propose([table.details(column) for column in table.columns])
        if not proposal.of_role("quasi") + proposal.of_role("sensitive"):
            msg = (
                f"{source}: no column of the table can be published as a quasi-identifier or a "
                "sensitive attribute, so there is nothing to propose; look at it with voile inspect"
            )
            raise InputError(msg)
        new_private_file(out, plan_text(proposal, Path(source).name))
    for note in table.notes:
        say(f"voile: {note}")
    if as_json:
        print_json({"out": str(out), "rows": table.rows, **_document(proposal)})
    else:
        say(_summary(proposal, out))


def _document(proposal: Proposal) -> dict[str, object]:
    return {
        "missing": list(proposal.marks),
        "columns": [
            {
                "name": column.name,
                "role": column.role,
                "kind": column.kind,
                "why": column.why,
                "question": column.question,
            }
            for column in proposal.columns
        ],
    }


def _summary(proposal: Proposal, out: Path) -> str:
    asked = sum(column.question is not None for column in proposal.columns)
    told = f"{asked} columns are uncertain" if asked != 1 else "1 column is uncertain"
    return (
        f"{out}: a proposal for {len(proposal.columns)} columns, of which {told}. It was made from "
        'private rows; read it before anybody else does. Lines that begin with "# ?" ask.'
    )
