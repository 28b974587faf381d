"""Plan: a line for each column and the text beside it, either of which changes the other."""

from __future__ import annotations

import csv
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Form, Request
from fastapi.responses import Response

from voile.proposal.editing import (
    asks_for_marks,
    asks_for_persons,
    asks_for_values,
    columns_not_understood,
    date_formats_asked,
    role_asked_for,
    with_answer,
    with_column_key,
    with_input,
    with_method,
    with_missing,
    with_role,
    with_row_as_person,
)
from voile.schema.plan import OpenQuestion, open_questions
from voile_base.errors import InputError, RefusedError
from voile_base.values import Json
from voile_studio import commands
from voile_studio.jobs import told_as_command
from voile_studio.planning import (
    KINDS,
    PUBLISHED,
    ROLE_PROPOSED,
    ROLES,
    ColumnLine,
    capabilities_of,
    column_lines,
    cuts_groups,
    keep_policy,
    plan_of,
    policies,
    policy_of,
    problem_in,
    refuse_breaking,
    series_gone_on,
    steps_of,
    without_step,
)
from voile_studio.project import Project
from voile_studio.screens.data import columns_of, found_in, look, looks_of, refused_persons
from voile_studio.screens.pages import Pages
from voile_studio.words import numbers_of

__all__ = ["changing_routes", "column_of", "numbers_published", "routes"]

_LONGEST = 1_000_000
_MOST_COLUMNS = 20_000
_OUT = "out"

_Short = Annotated[str, Form(max_length=200)]
_Perhaps = Annotated[str | None, Form(max_length=200)]


def routes(pages: Pages) -> APIRouter:
    """The addresses of the screen."""
    router = APIRouter(prefix="/p/{name}")

    answer = partial(_screen, pages)

    @router.get("/plan")
    def plan(name: str, request: Request) -> Response:
        return answer(request, pages.project(name))

    @router.post("/plan/text")
    def plan_text(
        name: str,
        request: Request,
        text: Annotated[str, Form(max_length=_LONGEST)],
        digest: _Short,
    ) -> Response:
        project = pages.project(name)
        refusal = _keep(project, digest, text.replace("\r\n", "\n"), "text of the plan")
        return answer(request, project, refusal)

    @router.post("/plan/column/{index}")
    def plan_column(
        name: str,
        index: int,
        request: Request,
        digest: _Short,
        role: _Perhaps = None,
        kind: _Perhaps = None,
        bounds: _Perhaps = None,
    ) -> Response:
        project = pages.project(name)
        line = column_of(project, index)
        text = _changed(project.plan_text, line, role, kind, bounds)
        refuse_breaking(project.plan, text, line.name)
        deed = "role" if role is not None else "kind" if kind is not None else "bounds"
        return answer(request, project, _keep(project, digest, text, f"{deed} of {line.name}"))

    @router.post("/plan/rows")
    def rows_as_persons(name: str, request: Request, digest: _Short) -> Response:
        project = pages.project(name)
        refusal = _keep(project, digest, with_row_as_person(project.plan_text), _EACH_ROW)
        return answer(request, project, refusal)

    _answer_routes(router, pages)
    _command_routes(router, pages)
    return router


def _answer_routes(router: APIRouter, pages: Pages) -> None:
    """The addresses of answers to questions: as proposed, and how dates are written."""
    answer = partial(_screen, pages)

    @router.post("/plan/dates/{index}")
    def dates(name: str, index: int, request: Request, digest: _Short, written: _Short) -> Response:
        project = pages.project(name)
        column = column_of(project, index).name
        text = with_column_key(project.plan_text, column, "format", written)
        return answer(request, project, _keep(project, digest, text, f"dates of {column}"))

    @router.post("/plan/answers")
    def all_answered(name: str, request: Request, digest: _Short) -> Response:
        project = pages.project(name)
        refusal = _keep(
            project, digest, with_answer(project.plan_text, None), "answers as proposed"
        )
        return answer(request, project, refusal)

    @router.post("/plan/answer/{index}")
    def answered(name: str, index: int, request: Request, digest: _Short) -> Response:
        project = pages.project(name)
        asked = open_questions(project.plan_text)[index : index + 1]
        about = next((f" about {one.column}" for one in asked if one.column), "")
        text = with_answer(project.plan_text, index)
        refusal = _keep(project, digest, text, f"answer{about}" if about else "answer as proposed")
        return answer(request, project, refusal)


def _command_routes(router: APIRouter, pages: Pages) -> None:
    """The addresses of commands about the plan."""

    @router.post("/plan/check")
    def check(name: str) -> Response:
        project = pages.project(name)
        project.run("check", commands.check(project), project.digest)
        return pages.to(project, "plan#check")

    @router.post("/plan/policy")
    def policy(
        name: str, request: Request, policy: Annotated[str, Form(max_length=4096)] = ""
    ) -> Response:
        project = pages.project(name)
        keep_policy(project, policy)
        return _screen(pages, request, project)

    @router.post("/plan/one-level")
    def one_level(name: str, request: Request, digest: _Short) -> Response:
        project = pages.project(name)
        plan = plan_of(project.plan)
        if plan is None or plan.method is None or not cuts_groups(plan):
            msg = "the method of the plan gives all rows one level already, or none"
            raise InputError(msg)
        parameters = {**plan.method.parameters, **capabilities_of(plan.method.name).one_level}
        text = with_method(project.plan_text, plan.method.name, parameters)
        if refusal := _keep(project, digest, text, "one level for all rows"):
            raise RefusedError(refusal)
        return pages.back(request, project)

    @router.post("/plan/missing")
    def missing(
        name: str, digest: _Short, marks: Annotated[str, Form(max_length=2000)] = ""
    ) -> Response:
        project = pages.project(name)
        text = with_missing(project.plan_text, _marks_of(marks))
        if refusal := _keep(project, digest, text, "missing marks"):
            raise RefusedError(refusal)
        look(project)
        return pages.to(project, "data#missing")

    @router.post("/propose")
    def propose(name: str) -> Response:
        project = pages.project(name)
        if project.plan_text:
            msg = "there is a plan already; change it, or empty its text first"
            raise InputError(msg)
        project.plan.unlink(missing_ok=True)
        project.run("propose", commands.propose(project))
        return pages.to(project, "plan")


def _screen(
    pages: Pages, request: Request, project: Project, refusal: str | None = None
) -> Response:
    """The whole screen; a script of ours puts its parts in place."""
    del request
    status = 200 if refusal is None else 409
    return pages.show("plan.html", project, status=status, **_page(project, refusal))


def changing_routes(pages: Pages) -> APIRouter:
    """The addresses of changes of the whole plan: many columns, undo, redo."""
    router = APIRouter(prefix="/p/{name}")
    answer = partial(_screen, pages)

    @router.post("/plan/roles")
    def roles_of_many(
        name: str,
        request: Request,
        digest: _Short,
        role: _Short,
        column: Annotated[list[int] | None, Form(max_length=_MOST_COLUMNS)] = None,
    ) -> Response:
        project = pages.project(name)
        chosen = [column_of(project, index).name for index in column or ()]
        if not chosen:
            msg = "tick the columns that are to get the role first"
            raise InputError(msg)
        text = with_role(project.plan_text, chosen, _role_of(role))
        deed = f"role of {chosen[0] if len(chosen) == 1 else f'{len(chosen)} columns'}"
        return answer(request, project, _keep(project, digest, text, deed))

    @router.post("/plan/step/{index}")
    def step_away(name: str, index: int, request: Request, digest: _Short) -> Response:
        project = pages.project(name)
        text = without_step(project.plan_text, index)
        return answer(request, project, _keep(project, digest, text, "step taken away"))

    @router.post("/plan/marks")
    def marks(name: str, request: Request, digest: _Short, key: _Short) -> Response:
        project = pages.project(name)
        if key not in {"decimal", "thousands"}:
            msg = "a comma parts decimals or thousands"
            raise InputError(msg)
        text = with_input(project.plan_text, key, ",")
        return answer(request, project, _keep(project, digest, text, "how numbers are written"))

    @router.post("/undo")
    def undo(name: str, request: Request) -> Response:
        project = pages.project(name)
        project.step(-1)
        return pages.back(request, project)

    @router.post("/redo")
    def redo(name: str, request: Request) -> Response:
        project = pages.project(name)
        project.step(1)
        return pages.back(request, project)

    return router


def _keep(project: Project, digest: str, text: str, deed: str) -> str | None:
    """Keep a plan that a deed has changed; what to say where it changed meanwhile elsewhere."""
    if digest != project.digest:
        return "the plan was changed elsewhere meanwhile: look at it, and make your change again"
    project.keep_plan(text, deed)
    return None


def _marks_of(written: str) -> list[str]:
    """Texts with commas between, in quotes where one holds a comma itself."""
    row = next(csv.reader([" ".join(written.splitlines())], skipinitialspace=True), [])
    return list(dict.fromkeys(one.strip() for one in row if one.strip()))


def _role_of(sent: str) -> str:
    """The role that a form names; an empty field would be taken for none that was sent."""
    return "" if sent == _OUT else sent


def column_of(project: Project, index: int) -> ColumnLine:
    """The column of an index; raises ``InputError`` where there is none."""
    lines = column_lines(project.plan_text, columns_of(project))
    if not 0 <= index < len(lines):
        msg = "there is no such column"
        raise InputError(msg)
    return lines[index]


def _changed(
    text: str, line: ColumnLine, role: str | None, kind: str | None, bounds: str | None
) -> str:
    """The text of the plan with what a form says of a column."""
    if role is not None:  # the role that it has already answers what is asked about it
        text = with_role(text, [line.name], _role_of(role))
    if kind is not None and kind != line.kind:
        if kind and kind not in KINDS:
            msg = "there is no such kind"
            raise InputError(msg)
        text = with_column_key(text, line.name, "kind", kind or None)
    if bounds is not None and bounds.strip() != line.bounds:
        said = numbers_of(bounds, "bounds, lowest and highest", "0, 120") or None
        if said is not None and len(said) != 2:
            msg = "bounds are two numbers, the lowest and the highest possible value: 0, 120"
            raise InputError(msg)
        text = with_column_key(text, line.name, "bounds", said)
    return text


@dataclass(frozen=True)
class _Asked:
    """A question as the screen puts it, with a button for each answer."""

    column: str | None
    text: str
    index: int | None
    """Of its column in the table; None: it is about none."""
    by: str
    """What answers it: "persons", "marks", "dates", "values" or "role"."""
    proposed: str
    """What the plan says now, which an answer as proposed leaves so; empty: nothing in a word."""
    role: str
    """The role that its column has by the plan, as forms name it."""
    formats: Mapping[str, str]
    """Of dates: each format that fits, with how it writes a day."""
    place: int
    """Among the questions of the text, from 0."""
    columns: Mapping[int, str]
    """Those of which it asks whether they have a role, by their indices in the table."""
    asked_for: str
    """That role; empty where it asks of no columns."""

    @property
    def is_proposed_elsewhere(self) -> bool:
        """Whether another button of the question says the same as its answer as proposed."""
        if self.by == "persons" and self.index is not None:
            return self.proposed in {_EACH_ROW, f"persons by {self.column}"}
        return self.by == "dates" or (self.by == "marks" and self.proposed in _SAME_MARKS)


_EACH_ROW = "each row another person"
_SAME_MARKS = {"decimal ,", "thousands ,"}


def _asked(question: OpenQuestion, place: int, names: Sequence[str], plan: str) -> _Asked:
    column = question.column
    index = names.index(column) if column in names else None
    by = "role" if index is not None else "values"
    for name, fits in _ANSWERED_BY.items():
        by = name if fits(question) else by
    asked_for = role_asked_for(question)
    text = _WRITES.split(question.text)[0].removeprefix(f"{asked_for}: ")
    role = column_lines(plan, names)[index].role or _OUT if index is not None else ""
    proposed, formats = _proposed(by, index, names, plan), date_formats_asked(question)
    several = columns_not_understood(question)
    columns = {names.index(one): one for one in several if one in names}
    return _Asked(column, text, index, by, proposed, role, formats, place, columns, asked_for)


def _proposed(by: str, index: int | None, names: Sequence[str], plan: str) -> str:
    """What a plan says now of what is asked, in a few words; empty where no word tells it."""
    try:
        said = tomllib.loads(plan)
    except tomllib.TOMLDecodeError:
        return ""
    if by == "marks":
        told = [f"{key} {value}" for key, value in said.get("input", {}).items()]
        return ", ".join(told) or "numbers as they were read"
    if by == "persons":
        person = said.get("roles", {}).get("person")
        return _EACH_ROW if person in {None, "row"} else f"persons by {person}"
    if index is None:
        return ""
    line = column_lines(plan, names)[index]
    bounds = f"bounds {line.bounds}" if line.bounds else ""
    return ", ".join(one for one in (ROLES[line.role], line.kind, bounds) if one)


_ANSWERED_BY = {
    "values": asks_for_values,
    "persons": asks_for_persons,
    "marks": asks_for_marks,
    "dates": date_formats_asked,
}
_WRITES = re.compile(r" (?:Say|If so, say) \w+ = ")
"""Where a question begins to say what to write into the text, for which there are buttons here."""


def _weight_of(plan: str) -> str:
    """The column of survey weights by a plan; empty for none."""
    try:
        return str(tomllib.loads(plan).get("roles", {}).get("weight", ""))
    except (tomllib.TOMLDecodeError, AttributeError):
        return ""


_NUMBERS = frozenset({"integer", "decimal", "float", "number"})


def numbers_published(project: Project, lines: Sequence[ColumnLine]) -> list[int]:
    """The indices of columns that are published and hold numbers, by their kind or their look."""
    types = {one["name"]: one["type"] for one in found_in(project).get("columns", [])}
    return [
        line.index
        for line in lines
        if line.role in PUBLISHED
        and (line.kind in {"number", "ordinal"} or (not line.kind and types[line.name] in _NUMBERS))
    ]


def _page(project: Project, refusal: str | None) -> Json:
    names, text = columns_of(project), project.plan_text
    wrong = problem_in(project) if text else None
    asked = [_asked(one, at, names, text) for at, one in enumerate(open_questions(text))]
    repeating = wrong.repeating if wrong else ()
    lines = column_lines(text, names)
    job = project.jobs.latest("propose")
    proposed = project.jobs.found("propose").get("columns", [])
    return {
        "job": job,
        "looking": project.jobs.latest("inspect"),
        "text": text,
        "steps": steps_of(text),
        "digest": project.digest,
        "lines": lines,
        "numbers": numbers_published(project, lines),
        "questions": [one for one in asked if not repeating or one.by != "persons"],
        "looks": looks_of(project),
        "proposal": {
            column["name"]: {**column, "role": ROLE_PROPOSED.get(column["role"], column["role"])}
            for column in proposed
        },
        "roles": ROLES,
        "weight": _weight_of(text),
        "kinds": KINDS,
        "wrong": wrong,
        "refusal": refusal,
        "doubts": found_in(project).get("rows_as_persons", []),
        "check": project.jobs.latest("check", project.digest),
        "policies": policies(project),
        "policy": policy_of(project),
        "goes_on": series_gone_on(project),
        "no_series": refused_persons(project, plan) if (plan := plan_of(project.plan)) else "",
        "command": told_as_command(commands.check(project)),
    }
