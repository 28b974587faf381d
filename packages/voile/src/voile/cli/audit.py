"""``voile audit``: judge a released file of any origin.

What is freed goes back to the system at once here: an audit of large files is a series of steps
that each need much for a moment, and what allocators keep for the next would add up.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from voile.cli.options import (
    believed_apart,
    ledger_option,
    names_of,
    show_risks,
    targets_option,
    tell_left_out,
    utility_row,
)
from voile_base.durable import new_private_folder, write_text
from voile_base.ondemand import leave_pandas_unloaded, on_demand
from voile_base.operating_system import keep_no_freed_memory
from voile_base.terminal import (
    as_json,
    print_json,
    print_table,
    progress,
    say,
    telling_what_is_done,
)

if TYPE_CHECKING:
    from voile import signing
    from voile.audit import examine
    from voile.audit import record as audit_record
    from voile.audit.record import AuditRecord
    from voile.study import documents
    from voile.study import record as study_record
    from voile.study.record import AttackDocument
else:
    signing = on_demand("voile.signing")
    examine = on_demand("voile.audit.examine")
    audit_record = on_demand("voile.audit.record")
    documents = on_demand("voile.study.documents")
    study_record = on_demand("voile.study.record")

__all__: list[str] = []


@click.command("audit", short_help="Judge a released file of any origin.")
@click.argument("released", metavar="RELEASED", type=click.Path(path_type=Path))
@click.option(
    "--original", required=True, type=click.Path(path_type=Path), help="The table it was made from."
)
@click.option(
    "--control",
    type=click.Path(path_type=Path),
    help="People of the same origin who were not in the data.",
)
@click.option(
    "--plan",
    type=click.Path(path_type=Path),
    help="Roles, types and hierarchies, and how columns are shown [default: found out].",
)
@click.option(
    "--auxiliary",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="A table that somebody else holds: its columns that have the names of the original's are "
    "known to him.",
)
@click.option(
    "--beside",
    metavar="FILE",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Another file of the original that is published, too: rows of both are joined, and what "
    "both tell together is judged beside the file. May be said several times.",
)
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    help="A folder that does not exist yet.",
)
@targets_option
@click.option(
    "--attacks", metavar="NAMES", help="The attacks to run, separated by commas [default: all]."
)
@click.option(
    "--first",
    metavar="NAMES",
    help="Columns that one of two people holds who link, separated by commas; the other holds the "
    "rest [default: half of the columns].",
)
@click.option(
    "--seed",
    type=int,
    help="Other draws of targets, for experiments: the audit passes no policy. Without it they "
    "follow from the files, so that running again gives the same figures.",
)
@click.option(
    "--quick",
    is_flag=True,
    help="A quick look: the risks at 200 people of a sample of 5,000 rows, and of attacks and "
    "measures none but those of --attacks. What it leaves out counts as not assessed.",
)
@click.option(
    "--shadow",
    "shadows",
    type=int,
    default=0,
    metavar="N",
    help="Make N releases by the method of --plan, each of another half of original and control, "
    "and learn from them who is in the file: N times the cost of a release [default: none; 32 "
    "tell much].",
)
@ledger_option
@click.option(
    "--key",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The auditor's key, made by voile key: the record is signed with it.",
)
@as_json
def _audit_command(
    released: Path,
    original: Path,
    control: Path | None,
    plan: Path | None,
    auxiliary: Path | None,
    beside: tuple[Path, ...],
    out: Path,
    targets: int,
    attacks: str | None,
    first: str | None,
    seed: int | None,
    quick: bool,
    shadows: int,
    ledger: str | None,
    key: Path | None,
    as_json: bool,
) -> None:
    """Judge the file RELEASED, whoever made it, against the table that it was made from.

    How each column is shown is found out and said: as it is, an interval, a set or a label,
    permuted, noise, averages, or rows of nobody. A plan overrules it, unless rows contradict it:
    [columns.X] shown = "exact", "interval", "set", "permuted", "noisy", "averaged", "synthetic" or
    "withheld".

    Then the three risks that European data protection names are counted: singling out, linkability,
    inference; each beside the same against people of the control, who were not in the data. All
    attacks and measures of a study follow. RELEASED may be a release folder of Voile: it is
    recounted first, as by voile recount, and refused where it is not what it claims.

    The folder holds audit.json, which was computed with the private original and must stay private,
    and in `released` a copy of what was judged, for `voile check` and `voile sign`. With --ledger
    each audit of a file of this original is entered there, so that whoever judges a file under
    several settings cannot show the one that pleases. With --key the record is signed by its
    auditor (auditor.json), which `voile check --auditor` asks for.
    """
    keep_no_freed_memory()
    leave_pandas_unloaded()
    with progress() as stage:
        inquiry = examine.Inquiry(
            targets, names_of(attacks), names_of(first), auxiliary, quick, shadows, beside
        )
        signer = None if key is None else signing.read_key(key)
        with new_private_folder(out) as folder:
            record = examine.audit(
                released, original, control, plan, inquiry=inquiry, seed=seed, progress=stage
            )
            if ledger is not None:
                record = record.entered(ledger)
            stage("keeping a copy of what was judged")
            audit_record.keep_judged(released, folder)
            write_text(folder / "audit.json", documents.json_text(record.document()))
            if signer is not None:
                signing.sign_audit(folder, signer)
    with telling_what_is_done(f"the audit stands at {out}"):
        _tell_notices(record)
        if as_json:
            print_json({**record.document(), "out": str(out)})
        else:
            _show(record)


def _tell_notices(record: AuditRecord) -> None:
    for notice in record.notices:
        say(f"voile: {notice}.")
    if record.other_files:
        say(
            f"voile: the ledger knows {record.other_files:,} other files of this original: what "
            "they tell together was not judged; name those that are published with --beside."
        )


def _show(record: AuditRecord) -> None:
    click.echo(study_record.PRIVATE)
    print_table(
        ["column", "shown", "why"],
        [[column["name"], column["shown"], column["why"]] for column in record.columns],
    )
    show_risks(record.risks)
    if "control" not in record.rows:
        click.echo("No control was given: what a file tells of everybody counts as a risk here.")
    if record.earlier:
        click.echo(
            f"Files of this original were audited {len(record.earlier):,} times before, this one "
            f"{len(record.of_this_file):,} times under other settings."
        )
    if record.attacks:
        click.echo()
        print_table(
            ["attack", "succeeds", "believed", "guessing"], list(map(_attack_row, record.attacks))
        )
    if record.utility:
        click.echo()
        print_table(
            ["utility", "value", "original", "useless", "better"],
            list(map(utility_row, record.utility)),
        )
    skipped = (*record.risks_skipped, *record.attacks_skipped, *record.utility_skipped)
    tell_left_out(skipped)


def _attack_row(attack: AttackDocument) -> list[object]:
    rates = study_record.rates_of(attack)
    if rates is None:
        return [attack["attack"], "not measured", "", ""]
    rate = rates.told(f"{100 * rates.success:.3g}%")
    succeeds = believed_apart(rate, counted=rates.counted)
    return [attack["attack"], *succeeds, f"{100 * rates.baseline:.3g}%"]
