"""What a person confirms or accepts of a release, and what Studio knows to be otherwise.

Statements count by their words, as in ``assumptions.toml``.  Three sorts of them are told apart:
what a person can make sure of, what the promise leaves open and a person accepts, and what the
project itself contradicts.  Of the last, that no other data are published of the same rows is
refused as long as other releases of the project stand that nobody has withdrawn.  That parameters
were chosen without looking is accepted only with what Studio has shown before, and that nothing
else is published with the signed releases of other projects whose tables have these columns; both
then stand beside the role in the verdict, on the dossier and under the signature.

A withdrawn release is one of which a person has said that it was never handed over; a file beside
its plan says so.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import tomlkit

from voile.audit.record import DOES_NOT_APPLY
from voile.policy.ruling import (
    ASSUMPTIONS,
    CONFIRMED,
    KNOWING,
    UNPUBLISHED,
    Tick,
    read_ticks,
    tally_of,
)
from voile.report.words import listed, spoken
from voile_base.durable import replace_private_file
from voile_base.errors import InputError, RefusedError
from voile_base.values import Document, Json
from voile_studio.jobs import Job
from voile_studio.project import Project, json_of, release_json, rulings_of, verdict_of
from voile_studio.screens.trying import compared, is_rehearsal, plans_searched

__all__ = [
    "AskedStatement",
    "asked_statements",
    "confirmed_before",
    "is_withdrawn",
    "keep_ticks",
    "label_of",
    "made_by",
    "other_releases",
    "release_line",
    "role_of",
    "statements_of",
    "table_of",
    "waits_told",
    "withdraw",
]

_UNSEEN = re.compile(r"without looking at")
_TOLD = ("k", "l", "t", "e", "m", "epsilon")
"""Parameters that a list of releases names."""


@dataclass(frozen=True)
class AskedStatement:
    """One statement that a policy asks a person about."""

    says: str
    ticked: bool
    by: str
    """The role, and what it knew beside it."""
    is_limit: bool
    """Whether it says what the promise leaves open, which is accepted and not confirmed."""
    contradiction: str
    """What Studio knows to be otherwise, a clause; empty: nothing."""
    is_refused: bool
    """Whether no tick is taken while the contradiction stands."""

    @property
    def knowing(self) -> str:
        """What the person said is not so, a clause; empty where it was confirmed."""
        return "" if self.contradiction else self.by.partition(KNOWING)[2]

    @property
    def is_settled(self) -> bool:
        """Whether a person has ticked it, knowing what contradicts it."""
        return self.ticked and (
            not self.contradiction or (not self.is_refused and KNOWING in self.by)
        )

    @property
    def is_contradicted(self) -> bool:
        """Whether it was ticked, and the project has come to know otherwise."""
        return self.ticked and not self.is_settled


def statements_of(project: Project, folder: Path, ticks: Sequence[Tick]) -> list[AskedStatement]:
    """The statements of ticks, with what the project knows of each."""
    others = other_releases(project, folder)
    looks, alike = _looks_before(project, folder), _signed_elsewhere(project)
    left_open = (release_json(folder).get("guarantee") or {}).get("leaves_open") or ()
    found = []
    for tick in ticks:
        alone = UNPUBLISHED in tick.says
        refused = others if alone else ""
        known = refused or (alike if alone else looks if _UNSEEN.search(tick.says) else "")
        limit = tick.says in left_open and not known
        by = tick.by or ""
        found.append(AskedStatement(tick.says, tick.ticked, by, limit, known, bool(refused)))
    return found


def asked_statements(project: Project, folder: Path) -> list[AskedStatement]:
    """The statements that the policy of the verdict asks about, not what others asked before it.

    All that were ever asked where it asks none; raises ``InputError`` where they cannot be read.
    """
    asked = {one["asks"] for one in rulings_of(verdict_of(folder)) if one["kind"] in CONFIRMED}
    ticks = read_ticks(folder / "private" / ASSUMPTIONS)
    return statements_of(project, folder, [one for one in ticks if one.says in asked] or ticks)


def confirmed_before(
    project: Project, folder: Path, statements: Sequence[AskedStatement]
) -> tuple[str, str, tuple[str, ...]] | None:
    """What the newest signed release before this one had confirmed, and waits here to be again.

    The number of that release, the role, and the statements, in the same words; not those that
    anything contradicts, then or now.  None where there is nothing.
    """
    again = [one.says for one in statements if not (one.ticked or one.contradiction)]
    if not again:
        return None
    earlier = [one for one in project.numbered("releases") if one.name < folder.name]
    signed = next((one for one in earlier if _is_signed(one) and project.stands(one)), None)
    if signed is None:
        return None
    before = [one for one in asked_statements(project, signed) if one.ticked]
    said = {one.says for one in before if not one.contradiction and KNOWING not in one.by}
    found = tuple(one for one in again if one in said)
    return (signed.name, role_of(before), found) if found else None


def role_of(statements: Sequence[AskedStatement]) -> str:
    """The role in which statements were ticked; empty where none was."""
    return next((one.by.partition(KNOWING)[0] for one in statements if one.ticked), "")


def other_releases(project: Project, folder: Path) -> str:
    """The other releases of the same rows, a clause; empty where none stands beside this one.

    Releases of one series are made with each other in view, and releases with a seed are not fit
    for publication: neither of them counts.
    """
    series = _series(folder)
    standing = [
        one
        for one in reversed(project.numbered("releases"))
        if one.name != folder.name
        and project.stands(one)
        and not (series and _series(one) == series)
    ]
    if not standing:
        return ""
    many = len(standing) > 1
    unsigned = [one for one in standing if not _is_signed(one)]
    verb, plural = ("are", "s") if many else ("is", "")
    told = f"release{plural} {_numbers(standing)} of this project {verb} made of the same table"
    if unsigned:
        each = "each of them" if many and unsigned == standing else f"release {_numbers(unsigned)}"
        told += f": withdraw {each} on Sign off, if it was never handed over"
    if unsigned != standing:
        told += "; what was signed counts as handed over: releases of its series alone follow it"
    return told


def _signed_elsewhere(project: Project) -> str:
    """Other projects of tables with the same columns that have signed a release, a clause."""
    found = [
        one.name
        for one in project.relatives
        if any(_is_signed(each) and one.stands(each) for each in one.numbered("releases"))
    ]
    if not found:
        return ""
    verb = "has" if len(found) == 1 else "have"
    return (
        f"project{'s' * (len(found) > 1)} {listed(found)} in this folder {verb} signed a release "
        "of a table with the same columns: if this is a later state of it, publish it there, in "
        "the series: on Data of that project choose this file as the new state of the table"
    )


def _numbers(releases: Sequence[Path]) -> str:
    return listed([str(int(one.name)) for one in releases], most=len(releases))


def _is_signed(folder: Path) -> bool:
    return (folder / "release" / "signatures.json").exists()


def _series(folder: Path) -> str:
    series = release_json(folder).get("series")
    return str(series.get("name") or "") if isinstance(series, dict) else ""


def release_line(project: Project, folder: Path) -> Json | None:
    """What a list of releases says of one; None where it cannot be read."""
    document = release_json(folder)
    method = document.get("method")
    if not isinstance(method, dict):
        return None
    parameters = [f"{key} = {method[key]}" for key in _TOLD if key in method]
    signatures = json_of(folder / "release" / "signatures.json").get("signatures") or []
    verdict = verdict_of(folder)
    statements = asked_statements(project, folder)
    labels = [label_of(one, statements) for one in rulings_of(verdict)]
    against = any(one.is_contradicted for one in statements)
    state = (
        "withdrawn"
        if is_withdrawn(project, folder)
        else f"signed by {', '.join(str(one['role']) for one in signatures)}"
        f"{', but not to hand over: Studio knows otherwise than was ticked' if against else ''}"
        if signatures
        else "not signed"
        if document.get("publishable")
        else "made with a seed, not fit for publication"
    )
    return {
        "name": folder.name,
        "release_id": document.get("release_id"),
        "method": ", ".join([spoken(str(method.get("name"))), *parameters]),
        "series": _series(folder),
        "rows": document.get("rows", 0),
        "policy": verdict.get("policy", ""),
        "tally": tally_of(labels).partition(":")[0].rstrip(".") if labels else "",
        "state": state,
        "file": table_of(project, folder),
        "stands": project.stands(folder),
    }


def made_by(project: Project, folder: Path) -> Job | None:
    """The command that has made a release."""
    named = project.named(folder)
    made = (job for job in project.jobs.all() if job.purpose == "release")
    return next((job for job in made if named in job.arguments), None)


def table_of(project: Project, folder: Path) -> str:
    """The file that a release was made of, by its path from the start folder."""
    made = made_by(project, folder)
    named = "".join(made.arguments[1:2]) if made else ""
    return named.removeprefix("./") or project.source_name


def _looks_before(project: Project, folder: Path) -> str:
    """What Studio has shown of the rows before a release was made, a clause; empty for nothing."""
    made = made_by(project, folder)
    before = [one for one in project.jobs.all() if made is None or one.number < made.number]
    done = [one for one in before if one.state == "done"]
    plans = sum(_plans_tried(project, purpose) for purpose in {one.purpose for one in done})
    plans += sum(plans_searched(one) for one in before if one.purpose.startswith("choose-"))
    explored = any(one.purpose == "solutions" for one in done)
    earlier = len({tuple(one.arguments) for one in done if one.purpose == "release"})
    shown = [
        *([f"tried {plans} plan{'s' * (plans > 1)}"] if plans else []),
        *(["shown rows before and after, or solutions around the plan"] if explored else []),
        *([f"examined {earlier} earlier release{'s' * (earlier > 1)}"] if earlier else []),
    ]
    if not shown:
        return ""
    return f"before this release was made, Studio had {' and '.join(shown)} on these rows"


def _plans_tried(project: Project, purpose: str) -> int:
    """How many plans a command has tried on a table that is neither public nor synthetic."""
    attempt = purpose.removeprefix("try-")
    if attempt == purpose or is_rehearsal(project, attempt):
        return 0
    comparison = compared(project, attempt)
    return len(comparison.points) if comparison else 0


def keep_ticks(
    project: Project, folder: Path, asked: Mapping[str, str], ticked: Collection[str], by: str
) -> None:
    """Write down what a role has made sure of, and what it has not, of what a page has asked.

    ``asked`` gives for each statement what the role says is not so; empty where it confirms it.
    Raises ``RefusedError`` where the release is signed, and ``InputError`` where no role is named
    or a statement is ticked that the project contradicts.
    """
    if _is_signed(folder):
        msg = "somebody has signed this: what they have seen is not changed any more"
        raise RefusedError(msg)
    path = folder / "private" / ASSUMPTIONS
    ticks = read_ticks(path)  # which tells what is wrong with it
    if not ticks:
        msg = "hold the release against a policy first: it asks what is to be ticked"
        raise InputError(msg)
    if ticked and not by:
        msg = "say in which role you have made sure of it, for example data protection officer"
        raise InputError(msg)
    statements = {one.says: one for one in statements_of(project, folder, ticks)}
    document = tomlkit.parse(path.read_text(encoding="utf-8"))
    for one in document["assumption"]:
        statement, now = statements[one["says"]], one["says"] in ticked
        if now and statement.is_refused:
            msg = f"this cannot be confirmed, since {statement.contradiction}"
            raise InputError(msg)
        if now or one["says"] in asked or statement.is_refused:
            known = statement.contradiction or asked.get(one["says"], statement.knowing)
            said = f"{by}{KNOWING}{known}" if known else by
            told = known != (statement.contradiction or statement.knowing)
            if now != statement.ticked or (now and (told or not statement.is_settled)):
                one["ticked"], one["by"] = now, said if now else ""
    replace_private_file(path, tomlkit.dumps(document))


def label_of(ruling: Document, statements: Sequence[AskedStatement]) -> str:
    """A ruling in a word or two: what was measured, what a person says, what does not apply."""
    asked = next((one for one in statements if one.says == ruling["asks"]), None)
    if ruling["kind"] in CONFIRMED:
        if asked is not None and asked.contradiction and not asked.is_settled:
            return "contradicted" if asked.ticked or asked.is_refused else "not accepted"
        if not ruling["passed"] and not (asked and asked.is_settled):
            return "not confirmed"
        limit = asked is not None and (asked.is_limit or asked.contradiction or asked.knowing)
        return "accepted" if limit else "confirmed"
    if ruling.get("waived"):
        return "waived"
    if ruling["passed"] and str(ruling["why"]).startswith(DOES_NOT_APPLY):
        return "not applicable"
    return "met" if ruling["passed"] else "not met"


def waits_told(waiting: Sequence[Document], statements: Sequence[AskedStatement]) -> str:
    """What keeps rulings that nobody has confirmed: a tick, or another release that stands."""
    refused = {one.says for one in statements if one.is_refused}
    blocked = sum(ruling["asks"] in refused for ruling in waiting)
    settled = {one.says for one in statements if one.is_settled}
    ticks = sum(ruling["asks"] not in refused | settled for ruling in waiting)
    told = [
        f"{many} {'statement waits' if many == 1 else 'statements wait'} for {what}"
        for many, what in (
            (ticks, "a tick on Evidence"),
            (blocked, "other releases to be withdrawn, and cannot be ticked before"),
        )
        if many
    ]
    return " and ".join(told)


def is_withdrawn(project: Project, folder: Path) -> bool:
    """Whether a person has said that a release was never handed over and will not be."""
    return project.withdrawal_of(folder).is_file()


def withdraw(project: Project, folder: Path, *, back: bool) -> None:
    """Mark a release as never handed over, or take that ``back``.

    Raises ``RefusedError`` where it is signed.
    """
    if _is_signed(folder):
        msg = "a signed release may have been handed over: it is not withdrawn"
        raise RefusedError(msg)
    if back:
        project.withdrawal_of(folder).unlink(missing_ok=True)
    else:
        replace_private_file(project.withdrawal_of(folder), "")
