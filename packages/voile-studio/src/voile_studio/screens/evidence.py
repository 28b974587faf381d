"""Evidence: what attacks found, the policy beside it, and what humans have made sure of.

A file of another make, judged against the table of the project.

Signatures and dossiers of releases that stand.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import Response

from voile.policy.checking import VERDICT, Verdict, narrowly_met
from voile.policy.ruling import ASSUMPTIONS, CONFIRMED, tally_of
from voile.policy.stated import Policy, StatedPolicy
from voile.report.words import column_losses, lost_shares, reidentified
from voile.study.documents import read_record
from voile.study.record import AttackDocument, StudyRecord, rates_of
from voile_base.errors import InputError, RefusedError
from voile_base.values import Document, Json
from voile_studio import commands
from voile_studio.jobs import told_as_command
from voile_studio.planning import capabilities_of, policies, policy_of, require_policy
from voile_studio.project import Project, json_of, rulings_of, verdict_of
from voile_studio.screens.confirming import (
    AskedStatement,
    asked_statements,
    confirmed_before,
    is_withdrawn,
    keep_ticks,
    label_of,
    made_by,
    role_of,
    table_of,
    waits_told,
    withdraw,
)
from voile_studio.screens.data import found_in, tells_rows, unpublished
from voile_studio.screens.pages import Pages
from voile_studio.screens.remedying import changes_of, search_of, text_of, tip_of
from voile_studio.screens.trying import tries
from voile_studio.words import remedy_of

__all__ = ["check_new_releases", "foreign_routes", "releases", "routes", "signing_routes"]


def foreign_routes(pages: Pages) -> APIRouter:
    """The addresses of the screen."""
    router = APIRouter(prefix="/p/{name}/audit")

    @router.get("")
    def audits(name: str) -> Response:
        project = pages.project(name)
        files = project.other_files
        job = project.jobs.latest("audit")
        command = told_as_command(job.arguments) if job else ""
        found = [one for folder in project.numbered("audits") if (one := _audit(project, folder))]
        return pages.show(
            "audit.html", project, files=files, audits=found, job=job, command=command
        )

    @router.post("")
    def start(
        name: str,
        released: Annotated[str, Form(max_length=4096)],
        control: Annotated[str, Form(max_length=4096)] = "",
    ) -> Response:
        project = pages.project(name)
        path = pages.start.relative(pages.start.inside(released))
        out = project.new_numbered("audits")
        project.run("audit", commands.audit(project, path, out, _control_of(project, control)))
        return pages.to(project, "audit")

    return router


def _control_of(project: Project, named: str) -> str | None:
    """The file of a control, as commands name it; raises ``InputError`` where it leads out."""
    return project.start.relative(project.start.inside(named)) if named else None


def _audit(project: Project, folder: Path) -> Mapping[str, object] | None:
    """What ``audit.json`` of a folder says, its number and of what; None where there is none."""
    try:
        found = json.loads((folder / "audit.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    named = project.named(folder)
    commands_of = (job.arguments for job in project.jobs.all() if named in job.arguments)
    released = next((arguments[1] for arguments in commands_of), "")
    return {**found, "number": int(folder.name), "released": released}


_HALF = 0.5
"""The share of a column's information from which on its loss is marked."""
_MOST = 200


def routes(pages: Pages) -> APIRouter:
    """The addresses of the screen."""
    router = APIRouter(prefix="/p/{name}")

    @router.get("/evidence")
    def evidence(name: str) -> Response:
        project = pages.project(name)
        check_new_releases(project)
        return pages.show("evidence.html", project, **_evidence_page(project, None))

    @router.post("/releases/{release}/check")
    def check(name: str, release: str, policy: Annotated[str, Form(max_length=4096)]) -> Response:
        project = pages.project(name)
        require_policy(project, policy)
        _hold_against(project, project.release(release), policy)
        return pages.to(project, f"evidence#policy-{release}")

    @router.post("/releases/{release}/risks")
    def count(
        name: str, release: str, control: Annotated[str, Form(max_length=4096)] = ""
    ) -> Response:
        project = pages.project(name)
        folder = project.release(release)
        out = project.new_numbered("audits")
        command = commands.audit(
            project,
            project.named(folder / "release"),
            out,
            control=_control_of(project, control),
            plan=commands.plan_of_release(project, folder),
            original=project.start.relative(project.start.inside(table_of(project, folder))),
        )
        project.run(f"risks-{release}", command)
        return pages.to(project, f"evidence#risks-{release}")

    _add_confirmations(router, pages)

    @router.get("/releases/{release}/report")
    def report(name: str, release: str) -> Response:
        project = pages.project(name)
        path = project.release(release) / "private" / "report.html"
        return pages.report(project, path, f"evidence#release-{release}")

    return router


def _evidence_page(project: Project, refused: Document | None) -> Json:
    """The values of the screen; ``refused`` are ticks that were not kept, and why."""
    return {
        "releases": releases(project),
        "tries": tries(project),
        "policies": policies(project),
        "policy": policy_of(project),
        "remedy_of": remedy_of,
        "files": project.other_files,
        "refused": refused,
    }


def _add_confirmations(router: APIRouter, pages: Pages) -> None:
    """What a person confirms of a release."""

    @router.post("/releases/{release}/assumptions")
    async def tick(name: str, release: str, request: Request) -> Response:
        form = await request.form(max_files=0, max_fields=_MOST)
        project = pages.project(name)
        folder = project.release(release)
        said, given = (map(str, form.getlist(key)) for key in ("asked", "knowing"))
        asked = {
            one: " ".join(words.split()) for one, words in zip_longest(said, given, fillvalue="")
        }
        ticked = {str(one) for one in form.getlist("ticked")} | {one for one in asked if asked[one]}
        if form.get("as_before"):
            before = confirmed_before(project, folder, asked_statements(project, folder))
            ticked |= set(before[2]) if before else set()
            shown = {"release": release, "message": "", "ticked": ticked, "knowing": asked}
            return pages.show("evidence.html", project, **_evidence_page(project, shown))
        try:
            keep_ticks(project, folder, asked, ticked, str(form.get("by", "")).strip())
        except InputError as error:
            refused = {
                "release": release, "message": str(error), "ticked": ticked, "knowing": asked
            }  # fmt: skip
            return pages.show(
                "evidence.html", project, status=400, **_evidence_page(project, refused)
            )
        job = project.jobs.latest(f"check-{release}")
        if job is not None:
            _hold_against(project, folder, job.about)
        return pages.to(project, f"evidence#policy-{release}")


def releases(project: Project) -> list[Json]:
    """Every release that stands, with its evidence, the newest first."""
    return [
        found for folder in project.numbered("releases") if (found := _release(project, folder))
    ]


def check_new_releases(project: Project) -> None:
    """Check releases that stand, and that nobody has checked, against the policy of the project."""
    chosen = policy_of(project)
    if chosen is None:
        return
    for folder in project.numbered("releases"):
        checked = verdict_of(folder) or project.jobs.latest(f"check-{folder.name}")
        if project.stands(folder) and not checked:
            _hold_against(project, folder, chosen.named)


def _hold_against(project: Project, folder: Path, policy: str) -> None:
    command = commands.hold_against(project, folder, policy)
    project.run(f"check-{folder.name}", command, policy)


def _hints(
    failed: Sequence[Document], otherwise: Mapping[str, str], *, in_series: bool
) -> Counter[str]:
    """How many criteria each remedy is for, of those that nothing contradicts."""
    left = (one for one in failed if not otherwise.get(one["asks"]))
    return Counter(remedy_of(one, in_series=in_series)[0] for one in left)


def _release(project: Project, folder: Path) -> dict[str, object] | None:
    try:
        record = read_record(folder / "private" / "record.json")
        statement = json.loads((folder / "release" / "release.json").read_text(encoding="utf-8"))
        statements = asked_statements(project, folder)
    except (InputError, OSError, ValueError):
        return None
    in_series = bool(statement.get("series"))
    return {
        "name": folder.name,
        "folder": project.named(folder),
        "record": record,
        "attacks": [(attack, rates_of(attack)) for attack in record.attacks],
        "worst": _worst(record),
        "reidentified": (risk := reidentified(record)),
        "smallest": risk.persons if risk and record.release.get("groups") else 0,
        "alone": _alone(project, record),
        "trips": json_of(folder / "private" / "trips.json"),
        "counting": project.jobs.latest(f"risks-{folder.name}"),
        "risks": project.jobs.found(f"risks-{folder.name}"),
        "made": made_by(project, folder),
        "publishable": bool(statement.get("publishable")),
        "report": (folder / "private" / "report.html").is_file(),
        "columns": list(statement.get("types") or {}),
        "left_out": _left_out(project, folder, statement),
        "losses": _losses(record),
        "attempts": {(risk["risk"], risk["of"]): risk["targets"] for risk in record.risks},
        "in_series": in_series,
        "leavers": _leavers(record) if in_series else 0,
        "files": sorted(path.name for path in (folder / "release").glob("*")),
        "narrow": _narrow(folder) if in_series else (),
        "known": {one.says: one.contradiction for one in statements if not one.is_refused},
        "statements": statements,
        "before": (before := confirmed_before(project, folder, statements)),
        "role": role_of(statements) or (before[1] if before else ""),
        "contradicted": [one for one in statements if one.is_contradicted],
        "withdrawn": is_withdrawn(project, folder),
        "signatures": (signatures := _signatures(folder)),
        "afterwards": _afterwards(project, folder, statements) if signatures else None,
        "signing": project.jobs.latest(f"sign-{folder.name}"),
        "drawing": project.jobs.latest(f"dossier-{folder.name}"),
        "dossier": project.dossier_of(folder).is_file(),
        "outdated": _is_outdated(project, folder, statements),
        **_judged(project, folder, statements, in_series=in_series),
    }


def _judged(
    project: Project, folder: Path, statements: Sequence[AskedStatement], *, in_series: bool
) -> Json:
    """What a policy says of a release, with the ways to what it misses."""
    rulings = rulings_of(verdict := verdict_of(folder))
    failed = [ruling for ruling in rulings if not ruling["passed"]]
    missed = [ruling for ruling in failed if ruling["kind"] not in CONFIRMED]
    waiting = [ruling for ruling in failed if ruling["kind"] in CONFIRMED]
    in_order = (*missed, *waiting, *(ruling for ruling in rulings if ruling["passed"]))
    labelled = [(one, label_of(one, statements)) for one in in_order]
    otherwise = {one.says: one.contradiction for one in statements if not one.is_settled}
    settled = {one.says for one in statements if one.is_settled}
    left = [one for one in failed if one["asks"] not in settled]
    search, stated = search_of(project, folder), _policy_in(verdict)
    return {
        "verdict": verdict,
        "audience": stated.audience if stated else "",
        "legal_questions": stated.legal_questions if stated else (),
        "check": project.jobs.latest(f"check-{folder.name}"),
        "missed": missed,
        "waiting": waiting,
        "waits": waits_told(waiting, statements),
        "changes": changes_of(project, failed),
        "hints": _hints(left, otherwise, in_series=in_series),
        "search": search,
        "tips": {one["asks"]: tip_of(search, one["asks"]) for one in missed},
        "labelled": labelled,
        "otherwise": otherwise,
        "tally": tally_of([label for _, label in labelled]),
    }


def _left_out(project: Project, folder: Path, statement: Document) -> dict[str, str]:
    """The columns of the table that a release does not show, each with why not."""
    stated = statement.get("columns") or {}
    shown = {name for name, one in stated.items() if _is_shown(one)} | {*statement.get("types", ())}
    plan = text_of(commands.plan_of_release(project, folder)) or project.plan_text
    return unpublished(project, plan, shown)


def _is_shown(disclosure: object) -> bool:
    return not (isinstance(disclosure, dict) and disclosure.get("kind") == "withheld")


def _afterwards(
    project: Project, folder: Path, statements: Sequence[AskedStatement]
) -> Json | None:
    """What a signed release was held against after its verdict: that stays what was signed."""
    job = project.jobs.latest(f"check-{folder.name}")
    if job is None or job.state in ("running", "interrupted", "cancelled"):
        return None
    document = job.output()
    if not isinstance(document, dict) or document.get("rulings") == verdict_of(folder).get(
        "rulings"
    ):
        return None
    rulings = rulings_of(document)
    return {
        "policy": document["policy"],
        "tally": tally_of([label_of(one, statements) for one in rulings]),
        "missed": [one for one in rulings if not one["passed"]],
    }


def _leavers(record: StudyRecord) -> int:
    """How many rows leave a group of a series at once, at least: 0 where its method says none."""
    method = record.plan["method"]
    together = method.get(capabilities_of(method["name"]).leave_at_once)
    return together if isinstance(together, int) else 0


def _losses(record: StudyRecord) -> list[tuple[str, str, bool]]:
    """By column what share of its information is lost, in words, the greatest first.

    Beside it whether that is half of it, or more.
    """
    shares, told = lost_shares(record), column_losses(record)
    inorder = sorted(shares, key=lambda name: -shares[name])
    return [(name, told[name], shares[name] >= _HALF) for name in inorder]


def _narrow(folder: Path) -> tuple[str, ...]:
    """What the release meets so narrowly that a later one of its series may miss it."""
    try:
        return narrowly_met(Verdict.read(folder / "private" / VERDICT).rulings)
    except InputError:
        return ()


def _policy_in(verdict: Document) -> Policy | None:
    """The policy of a verdict; None where its text cannot be read."""
    try:
        return StatedPolicy.of_text(str(verdict.get("text", "")), "the policy").policy
    except InputError:
        return None


def _signatures(folder: Path) -> list[Document]:
    """The signatures of a release; none where there are none, or they cannot be read."""
    found = json_of(folder / "release" / "signatures.json").get("signatures")
    return found if isinstance(found, list) else []


def _is_outdated(project: Project, folder: Path, statements: Sequence[AskedStatement]) -> bool:
    """Whether a release was judged, ticked or signed after its dossier was drawn.

    Or whether the project has come to contradict what was ticked.
    """
    if any(one.is_contradicted for one in statements):
        return True
    private, public = folder / "private", folder / "release"
    told = (private / VERDICT, private / ASSUMPTIONS, public / "signatures.json")
    try:
        drawn = project.dossier_of(folder).stat().st_mtime_ns
        return any(path.stat().st_mtime_ns > drawn for path in told if path.is_file())
    except OSError:
        return True


def _refuse_contradicted(project: Project, folder: Path) -> None:
    """Raise ``RefusedError`` where a release is withdrawn, or the project contradicts a tick."""
    if is_withdrawn(project, folder):
        msg = "this release is withdrawn: it is not signed and not handed over"
        raise RefusedError(msg)
    for one in asked_statements(project, folder):
        if one.is_contradicted:
            msg = f"“{one.says}” is confirmed, but {one.contradiction}; see Evidence"
            raise RefusedError(msg)


def _alone(project: Project, record: StudyRecord) -> list[str]:
    """Columns that a release shows unchanged, of which many rows have a value of their own."""
    found = found_in(project)
    shown = record.release.get("columns") or {}
    rows = found.get("rows") or 1
    return [
        one["name"]
        for one in found.get("columns", [])
        if (shown.get(one["name"]) or {}).get("kind") == "exact" and tells_rows(one, rows)
    ]


def _worst(record: StudyRecord) -> list[AttackDocument]:
    """The attacks that name whom they find most surely, the surest first."""
    found = [
        (worst["probability"], attack)
        for attack in record.attacks
        if (worst := attack["worst"]) is not None and worst["probability"] is not None
    ]
    return [attack for _, attack in sorted(found, key=lambda one: -one[0])]


def signing_routes(pages: Pages) -> APIRouter:
    """The addresses of what is done with a release."""
    router = APIRouter(prefix="/p/{name}")

    @router.post("/releases/{release}/sign")
    def sign(
        name: str, release: str, role: Annotated[str, Form(max_length=200, min_length=1)]
    ) -> Response:
        project = pages.project(name)
        folder = project.release(release)
        if not project.key.is_file():
            msg = "make a key first"
            raise InputError(msg)
        if not role.strip():
            msg = "say in which role you sign, for example data protection officer"
            raise InputError(msg)
        _refuse_contradicted(project, folder)
        if role.strip() not in {one["role"] for one in _signatures(folder)}:  # else a second click
            project.run(f"sign-{release}", commands.sign(project, folder, role.strip()), role)
        return pages.to(project, f"sign#release-{release}")

    @router.post("/releases/{release}/withdraw")
    def take_back(
        name: str, release: str, back: Annotated[str, Form(max_length=3)] = ""
    ) -> Response:
        project = pages.project(name)
        withdraw(project, project.release(release), back=bool(back))
        return pages.to(project, f"sign#release-{release}")

    @router.post("/key")
    def key(name: str, release: Annotated[str, Form(pattern=r"^[0-9]{0,6}$")] = "") -> Response:
        project = pages.project(name)
        project.run("key", commands.make_key(project))
        return pages.to(project, f"sign#release-{release}" if release else "sign")

    @router.post("/releases/{release}/dossier")
    def draw(name: str, release: str) -> Response:
        project = pages.project(name)
        folder = project.release(release)
        out = project.dossier_of(folder)
        out.unlink(missing_ok=True)
        project.run(f"dossier-{release}", commands.dossier(project, folder, out))
        return pages.to(project, f"sign#release-{release}")

    @router.get("/releases/{release}/dossier")
    def dossier(name: str, release: str) -> Response:
        project = pages.project(name)
        path = project.dossier_of(project.release(release))
        return pages.report(project, path, f"sign#release-{release}")

    return router
