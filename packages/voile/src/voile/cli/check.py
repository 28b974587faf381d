"""``voile check``: hold a release's evidence against a risk appetite."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from voile.policy.templates import template_names, template_text
from voile_base.errors import InputError, RefusedError
from voile_base.ondemand import dataclass, on_demand
from voile_base.terminal import (
    as_json,
    print_json,
    print_table,
    progress,
    say,
    telling_what_is_done,
)
from voile_base.values import Document

if TYPE_CHECKING:
    from voile import signing
    from voile.audit import examine as audit_examine
    from voile.audit import record
    from voile.policy import case as policy_case
    from voile.policy import checking
    from voile.policy import remedies as policy_remedies
    from voile.policy import stated as policy_stated
    from voile.policy.case import Case
    from voile.policy.checking import Verdict
    from voile.policy.ruling import Ruling
    from voile.policy.stated import Policy
    from voile.study import record as study_record
else:
    audit_examine = on_demand("voile.audit.examine")
    record = on_demand("voile.audit.record")
    policy_case = on_demand("voile.policy.case")
    checking = on_demand("voile.policy.checking")
    policy_remedies = on_demand("voile.policy.remedies")
    policy_stated = on_demand("voile.policy.stated")
    signing = on_demand("voile.signing")
    study_record = on_demand("voile.study.record")

__all__: list[str] = []


def _moved(side: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """The option that says where an input of an audit is now."""
    return click.option(
        f"--{side}",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help=f"With --again: where the {side} of the audit is now [default: where it was].",
    )


@click.command("check", short_help="Hold a release's evidence against a risk appetite.")
@click.argument("folder", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@click.option(
    "--policy",
    metavar="POLICY",
    help="A policy in TOML, or the name of a template; without it, the one that signers name.",
)
@click.option(
    "--template",
    metavar="NAME",
    help=f"Print a template, to be changed, and do no more: {', '.join(template_names())}.",
)
@click.option(
    "--again",
    is_flag=True,
    help="Of an audit: run it again on its inputs, and refuse a record with other figures.",
)
@_moved("original")
@_moved("control")
@_moved("plan")
@_moved("auxiliary")
@click.option(
    "--beside",
    metavar="FILE",
    type=click.Path(path_type=Path),
    multiple=True,
    help="With --again: where a file of --beside of the audit is now. May be said several times.",
)
@click.option(
    "--auditor",
    metavar="KEY",
    help="The public key of the auditor, or a file that holds it: a record that it has not signed "
    "is refused.",
)
@as_json
def _check_command(
    folder: Path | None,
    policy: str | None,
    template: str | None,
    again: bool,
    original: Path | None,
    control: Path | None,
    plan: Path | None,
    auxiliary: Path | None,
    beside: tuple[Path, ...],
    auditor: str | None,
    as_json: bool,
) -> None:
    """Hold what `voile study` or `voile audit` found, in DIR, against a policy.

    Each criterion is told with its figure, its interval and a ruling. An interval that straddles a
    limit is not a pass, and neither is a figure that is missing. Of each that is not met it is told
    which change would meet it, or that no parameter of the method does. Exit status 0 where all is
    met and all who must sign have signed, 4 otherwise.

    The verdict is kept beside the evidence, in verdict.json, for `voile sign`; and what only humans
    can make sure of in assumptions.toml, to be ticked there. Both are private. Once somebody has
    signed, neither is written. DIR may be a release alone: it has no evidence, and nothing is
    written.

    A record that was edited is refused, and so is a file that nobody has judged, or a link. The
    seal of a record has no key, so that whoever edits all of it can seal it again: --again tells,
    and so does --auditor of an audit that was made with --key. An audit with --seed passes no
    policy.

    This is evidence, and no legal advice.
    """
    if template is not None:
        click.echo(template_text(template), nl=False)
        return
    if folder is None:
        what = "DIR, the folder of a study, an audit or a release"
        msg = f"voile check needs {what}; or --template NAME alone, which prints a policy"
        raise InputError(msg)
    case = policy_case.Case.open(folder)
    found = _signatures_of(folder, case)
    stated = _signed_policy(found) if policy is None else policy_stated.StatedPolicy.read(policy)
    _require_auditor(case, auditor)
    moved = {"original": original, "control": control, "plan": plan, "auxiliary": auxiliary}
    _run_again(case, moved, beside, again=again)
    form = None if found else checking.form_of(case, stated)
    verdict = checking.judge(case, stated)
    kept = None if found else checking.keep(case, verdict)
    unsigned = _who_has_not_signed(stated.policy, found)
    told = _Checked(verdict, case, found, unsigned)
    with telling_what_is_done(f"the verdict stands at {kept}" if kept else "nothing was written"):
        _tell(told, as_json=as_json)
        for path in filter(None, (form, kept)):
            say(f"{path}: private.")
    if not verdict.passed or unsigned:
        sys.stdout.flush()
        name = policy or stated.policy.name
        raise RefusedError(f"{folder}: {_refusal(told, name)}")


def _signed_policy(found: signing.Verification | None) -> policy_stated.StatedPolicy:
    """The policy that those who have signed a release say it has passed."""
    if found is None or found.policy is None:
        who = "nobody has signed what stands there" if found is None else "its signers name none"
        msg = f"voile check needs --policy, since {who}; --template NAME alone prints one"
        raise InputError(msg)
    return found.policy


def _refusal(told: _Checked, policy: str) -> str:
    """How much of a policy is not met; of a release alone, what its files cannot show is apart."""
    verdict = told.verdict
    failed = [one for one in verdict.rulings if not one.passed]
    if not failed:
        return f"all criteria of {policy} are met, and not all have signed who must"
    unseen = sum(map(told.is_unseen, failed))
    seen, unmet = len(verdict.rulings) - unseen, len(failed) - unseen
    if not unseen:
        return f"{unmet} of {seen} criteria of {policy} are not met"
    shown = f"{unmet} of the {seen} that its files can show are not met" if unmet else ""
    shown = shown or f"the {seen} that its files can show are met" * bool(seen)
    rest = f"{unseen} cannot be seen from here, since the custodian has their evidence"
    return f"of the criteria of {policy}, {'; '.join(filter(None, (shown, rest)))}"


def _require_auditor(case: Case, auditor: str | None) -> None:
    """Refuse an audit that its auditor has not signed as it is, or another than who is named."""
    if not isinstance(case.record, record.AuditRecord) or case.private is None:
        if auditor is not None:
            msg = "--auditor says who has made an audit, and this is none"
            raise InputError(msg)
        return
    found = signing.auditor_of(case.private)
    if auditor is None or found == signing.public_key(auditor):
        return
    who = "nobody has signed it" if found is None else f"it is signed by {found}"
    msg = f"{case.private}: this is no audit by {signing.public_key(auditor)}: {who}"
    raise RefusedError(msg)


def _run_again(
    case: Case, places: Mapping[str, Path | None], beside: Sequence[Path], *, again: bool
) -> None:
    """Run an audit again, where that was asked for; raises ``RefusedError`` for other figures."""
    moved = {side: path for side, path in places.items() if path is not None}
    if not again:
        if given := [*moved, *(("beside",) if beside else ())]:
            msg = f"--{given[0]} says where an input of the audit is; give --again, too"
            raise InputError(msg)
        return
    if not isinstance(case.record, record.AuditRecord):
        msg = (
            "--again runs an audit again, and this is none: a study draws a new release each time; "
            "audit what it has published, with voile audit"
        )
        raise InputError(msg)
    with progress() as stage:
        audit_examine.require_same_again(case.record, case.data, moved, beside, stage)


def _signatures_of(folder: Path, case: Case) -> signing.Verification | None:
    """What holds of the signatures; None where nobody has signed.  Refuses what was changed."""
    if not (case.public / policy_case.SIGNATURES).is_file():
        return None
    found = signing.verify(folder)
    if found.changes:
        raise RefusedError(f"{folder}: not as it was signed: {'; '.join(found.changes)}")
    return found


def _who_has_not_signed(policy: Policy, found: signing.Verification | None) -> list[str]:
    """Roles that a policy asks to sign, whose signature is not there or does not hold."""
    if found is None:
        return [signer.role for signer in policy.signers]
    there = {(one.role, one.key) for one in found.signatures}
    roles = {role for role, _ in there}
    return [
        one.role
        for one in policy.signers
        if (one.role not in roles if one.key is None else (one.role, one.key) not in there)
    ]


@dataclass(frozen=True)
class _Checked:
    """A verdict, and what is told beside it."""

    verdict: Verdict
    case: Case
    found: signing.Verification | None
    """What holds of the signatures; None where nobody has signed."""
    unsigned: Sequence[str]
    """Roles that the policy asks to sign, and that have not."""

    @property
    def public(self) -> bool:
        """Whether only what is published was read, so that nothing told is private."""
        return self.case.private is None

    @property
    def method(self) -> Document | None:
        """The method and its parameters of a release; None of a file of another make."""
        document = self.case.document
        return None if document is None else document.get("method", {})

    def remedy_of(self, ruling: Ruling) -> str:
        """What would meet a criterion, for whoever has what was read here."""
        if self.is_unseen(ruling):
            return policy_remedies.UNSEEN
        return policy_remedies.remedy_text(ruling, self.method)

    def is_unseen(self, ruling: Ruling) -> bool:
        """Whether a criterion is not met only since published files alone do not show it."""
        return self.public and policy_remedies.is_unseen(ruling)

    def row(self, ruling: Ruling) -> list[object]:
        """A ruling as a line of the table."""
        if self.is_unseen(ruling):
            return ["not seen", ruling.asks, "", ""]
        why = ruling.why.removeprefix("not confirmed").removeprefix("; ")
        return [ruling.told, ruling.asks, ruling.figure, why]

    def signature_lines(self) -> Iterator[str]:
        """Who has signed, and what they say; of a release alone, too, that nobody has."""
        if self.found is None:
            if self.public:
                yield (
                    "Nobody has signed this release: whether it was changed since it was made "
                    "cannot be told from it. Ask whom you have it from for the signed one"
                )
            return
        for one in self.found.signatures:
            yield f"{one.words[:1].upper()}{one.words[1:]}"
        own = self.found.policy
        if own is not None:
            same = own.text == self.verdict.text
            which = "this policy" if same else f"another than this policy: {own.policy.name!r}"
            yield f"Whoever signed it says that it has passed {which}; the evidence is private"
        for assumed in self.found.untrue:
            yield f"Its signers know that this is not so, and have accepted it: {assumed}"


def _tell(told: _Checked, *, as_json: bool) -> None:
    """Print a verdict, what would meet criteria that are not met, and who has not signed."""
    if as_json:
        passed = told.verdict.passed and not told.unsigned
        by = [] if told.found is None else told.found.signatures
        more = {
            "remedies": _remedies(told),
            "signatures": [{"role": one.role, "key": one.key} for one in by],
            "unsigned": told.unsigned,
            "passed": passed,
        }
        print_json({**told.verdict.document(), **more})
        return
    _show(told)
    _show_remedies(told)
    for role in told.unsigned:
        click.echo(f"Not signed: the policy asks a {role!r} to sign.")


def _show(told: _Checked) -> None:
    verdict = told.verdict
    if told.public:
        click.echo("From the published files alone; nothing of the original was read")
    else:
        click.echo(study_record.PRIVATE)
    for line in told.signature_lines():
        click.echo(f"{line}.")
    click.echo(f"{verdict.policy}\n")
    print_table(["ruling", "asked", "figure", "how"], list(map(told.row, verdict.rulings)))
    click.echo()
    for ruling in verdict.rulings:
        if ruling.waived:
            click.echo(f"Not assessed, {ruling.waived} ({ruling.asks}).")
    for question in verdict.stated_policy().legal_questions:
        click.echo(f"A lawyer must still decide: {question}.")
    for note in dict.fromkeys(note for one in verdict.rulings for note in one.notes):
        click.echo(f"Note: {note}.")
    for sentence in (*verdict.rests_on, verdict.advice):
        click.echo(f"{sentence}.")


def _remedies(told: _Checked) -> list[dict[str, object]]:
    """What would meet each criterion that is not met, for programs; empty where none does."""
    return [
        {
            "asks": one.asks,
            "remedy": told.remedy_of(one),
            "changes": [dict(change.parameters) for change in changes],
        }
        for one in told.verdict.rulings
        if not one.passed
        for changes in [policy_remedies.remedies(one, told.method)]
    ]


def _show_remedies(told: _Checked) -> None:
    """What would meet each criterion that is not met, or that no parameter does."""
    failed = [ruling for ruling in told.verdict.rulings if not ruling.passed]
    unmet = [ruling for ruling in failed if not told.is_unseen(ruling)]
    by_remedy: dict[str, dict[str, None]] = {}
    for ruling in unmet:
        by_remedy.setdefault(told.remedy_of(ruling), {})[ruling.asks] = None
    if unmet:
        click.echo("\nWhat would meet what is not met:")
    for remedy, asked in by_remedy.items():
        for one in asked:
            click.echo(f"  {one}:" if len(asked) > 1 else f"  {one}: {remedy}.")
        if len(asked) > 1:
            click.echo(f"    {remedy}.")
    if unseen := len(failed) - len(unmet):
        click.echo(f"\nNot seen, of {unseen} criteria: {policy_remedies.UNSEEN}.")
