"""``voile check``: hold a release's evidence against a risk appetite."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from voile.cli.show import as_json, print_json, print_table, say, telling_what_is_done
from voile.errors import InputError, RefusedError
from voile.policy.case import SIGNATURES, open_case
from voile.policy.checking import form_of, judge, keep
from voile.policy.ruling import Ruling
from voile.policy.stated import Policy, read_policy, template_names, template_text
from voile.policy.verdict import Verdict, verdict_document
from voile.signing.verifying import verify
from voile.study.record import PRIVATE

__all__ = ["check_command"]


@click.command("check", short_help="Hold a release's evidence against a risk appetite.")
@click.argument("folder", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@click.option("--policy", metavar="POLICY", help="A policy in TOML, or the name of a template.")
@click.option(
    "--template",
    metavar="NAME",
    help=f"Print a template, to be changed, and do no more: {', '.join(template_names())}.",
)
@as_json
def check_command(
    folder: Path | None, policy: str | None, template: str | None, as_json: bool
) -> None:
    """Hold what `voile study` or `voile audit` found, in DIR, against a policy.

    Each criterion is told with its figure, its interval and a ruling. An interval that straddles a
    limit is not a pass, and neither is a figure that is missing. Exit status 0 where all is met and
    all who must sign have signed, 4 otherwise.

    The verdict is kept beside the evidence, in verdict.json, for `voile sign`; and what only humans
    can make sure of in assumptions.toml, to be ticked there. Both are private. Once somebody has
    signed, neither is written. DIR may be a release alone: it has no evidence, and nothing is
    written.

    This is evidence, and no legal advice.
    """
    if template is not None:
        click.echo(template_text(template), nl=False)
        return
    if folder is None or policy is None:
        what = "DIR, the folder of a study, an audit or a release" if folder is None else "--policy"
        msg = f"voile check needs {what}; or --template NAME alone, which prints a policy"
        raise InputError(msg)
    stated = read_policy(policy)
    case = open_case(folder)
    signed = (case.public / SIGNATURES).is_file()
    form = None if signed else form_of(case, stated)
    verdict = judge(case, stated)
    kept = None if signed else keep(case, verdict)
    unsigned = _who_has_not_signed(folder, stated.policy, signed=signed)
    with telling_what_is_done(f"the verdict stands at {kept}" if kept else "nothing was written"):
        if as_json:
            passed = verdict.passed and not unsigned
            print_json({**verdict_document(verdict), "unsigned": unsigned, "passed": passed})
        else:
            _show(verdict)
            for role in unsigned:
                click.echo(f"Not signed: the policy asks a {role!r} to sign.")
        for path in filter(None, (form, kept)):
            say(f"{path}: private.")
    if not verdict.passed:
        sys.stdout.flush()
        failed = sum(not one.passed for one in verdict.rulings)
        msg = f"{folder}: {failed} of {len(verdict.rulings)} criteria of {policy} are not met"
        raise RefusedError(msg)
    if unsigned:
        sys.stdout.flush()
        msg = f"{folder}: all criteria of {policy} are met, and not all have signed who must"
        raise RefusedError(msg)


def _who_has_not_signed(folder: Path, policy: Policy, *, signed: bool) -> list[str]:
    """Roles that a policy asks to sign, whose signature is not there or does not hold."""
    if not signed:
        return [signer.role for signer in policy.signers]
    found = verify(folder)
    if found.changes:
        raise RefusedError(f"{folder}: not as it was signed: {'; '.join(found.changes)}")
    there = {(one.role, one.key) for one in found.signatures}
    roles = {role for role, _ in there}
    return [
        one.role
        for one in policy.signers
        if (one.role not in roles if one.key is None else (one.role, one.key) not in there)
    ]


def _show(verdict: Verdict) -> None:
    click.echo(PRIVATE)
    click.echo(f"{verdict.policy}\n")
    print_table(["ruling", "asked", "figure", "how"], list(map(_row, verdict.rulings)))
    click.echo()
    for note in dict.fromkeys(note for one in verdict.rulings for note in one.notes):
        click.echo(f"Note: {note}.")
    click.echo(f"{verdict.advice}.")


def _row(ruling: Ruling) -> list[object]:
    return [ruling.told, ruling.asks, _figure(ruling), ruling.why]


def _figure(ruling: Ruling) -> str:
    if ruling.value is None or ruling.low is None or ruling.high is None:
        return ""
    value = f"{ruling.value:.4g}"
    return (
        value if ruling.low == ruling.high else f"{value} ({ruling.low:.3g} to {ruling.high:.3g})"
    )
