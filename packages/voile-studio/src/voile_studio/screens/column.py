"""Levels of one column: its hierarchy as a tree that can be merged, split, widened and renamed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from hashlib import blake2b
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from voile.schema.hierarchy.files import read_lines
from voile_base.durable import replace_private_file
from voile_base.errors import InputError, PlanError
from voile_studio.levels import EditedLevels, levels_of_paths, levels_of_values
from voile_studio.planning import ColumnLine, file_named, file_of_plan, with_column_key
from voile_studio.project import Project
from voile_studio.screens.data import values_of
from voile_studio.screens.pages import Pages
from voile_studio.screens.plan import column_of
from voile_studio.words import numbers_of

__all__ = ["routes"]

_PRIVATE = 0o700
_MOST_FIELDS = 2_000
_DIGEST = 6
_PERIODS = ("day", "week", "month", "quarter", "year")


def routes(pages: Pages) -> APIRouter:
    """The addresses of the screen."""
    router = APIRouter(prefix="/p/{name}/plan/column/{index}")

    def answer(
        project: Project, index: int, refusal: str | None = None, ticked: Collection[str] = ()
    ) -> Response:
        status = 200 if refusal is None else 409
        page = _page(project, index, refusal)
        return pages.show("column.html", project, status=status, ticked=ticked, **page)

    @router.get("")
    def column(name: str, index: int) -> Response:
        return answer(pages.project(name), index)

    @router.post("/levels")
    async def edit(name: str, index: int, request: Request) -> Response:
        form = await request.form(max_files=0, max_fields=_MOST_FIELDS)
        said = {key: [str(value) for value in form.getlist(key)] for key in form}
        project = pages.project(name)
        ticked = said.get("group", [])
        if _one(said, "digest") != project.digest:
            told = "the plan was changed elsewhere meanwhile: look, and make your change again"
            return answer(project, index, told, ticked)
        try:
            _edit(project, column_of(project, index), said)
        except InputError as error:
            return answer(project, index, str(error), ticked)
        if request.headers.get("hx-request") == "true":
            return answer(project, index, ticked=_ticked_after(said))
        return pages.to(project, f"plan/column/{index}")

    return router


def _ticked_after(said: Mapping[str, Sequence[str]]) -> Sequence[str]:
    """What stays ticked: a group that was moved or renamed, and may be so again."""
    ticked, deed = said.get("group", ()), _one(said, "deed")
    if deed in {"up", "down"}:
        return ticked
    if deed == "rename" and ticked:
        return (f"{ticked[0].partition(':')[0]}:{' '.join(_one(said, 'called').split())}",)
    return ()


def _edit(project: Project, line: ColumnLine, said: Mapping[str, Sequence[str]]) -> None:
    """Do what a form asks for."""
    deed = _one(said, "deed")
    if deed in _STEPS:
        key, value = _steps(deed, said)
        project.keep_plan(with_column_key(project.plan_text, line.name, key, value))
        return
    values = values_of(project, line.name)
    if deed == "begin":
        levels = levels_of_values(values)
    else:
        standing = _levels(project, line, values)
        if standing is None:
            msg = "begin a hierarchy first"
            raise InputError(msg)
        levels = _edited(standing, deed, said)
    named = _keep(project, line, levels.csv())
    project.keep_plan(with_column_key(project.plan_text, line.name, "hierarchy", named))


def _keep(project: Project, line: ColumnLine, text: str) -> str:
    """Write a hierarchy to a file that no other has been in; how plans name it.

    So a plan that was tried, or that a release was made by, keeps its meaning.
    """
    folder = project.folder / "hierarchies"
    folder.mkdir(exist_ok=True, mode=_PRIVATE)
    digest = blake2b(text.encode(), digest_size=_DIGEST).hexdigest()
    file = folder / f"{line.index:03}-{digest}.csv"
    replace_private_file(file, text)
    return file.relative_to(project.folder).as_posix()


_STEPS = ("intervals", "prefix", "dates", "none")


def _steps(deed: str, said: Mapping[str, Sequence[str]]) -> tuple[str, Any]:
    """The key of the plan and its value, of a hierarchy that lists no values."""
    if deed == "none":
        return "hierarchy", None
    if deed == "dates":
        chosen = [period for period in _PERIODS if period in said.get("period", ())]
        if not chosen:
            msg = "choose at least one period"
            raise InputError(msg)
        return "dates", chosen
    numbers = numbers_of(_one(said, "steps"), "the steps")
    if not numbers:
        msg = "write numbers with commas between, for example 5, 10, 20"
        raise InputError(msg)
    return (deed, {"widths": numbers}) if deed == "intervals" else (deed, numbers)


def _edited(levels: EditedLevels, deed: str, said: Mapping[str, Sequence[str]]) -> EditedLevels:
    """The hierarchy after one edit; groups are named "LEVEL:NAME"."""
    chosen = [group.partition(":") for group in said.get("group", ())]
    if deed == "widen":
        return levels.widened()
    if not chosen:
        msg = "choose a group or a value first"
        raise InputError(msg)
    if len({level for level, _, _ in chosen}) > 1:
        msg = "choose groups of one level"
        raise InputError(msg)
    level, names = _number(chosen[0][0]), [name for _, _, name in chosen]
    called, first = _one(said, "called"), names[0]
    edits: dict[str, Callable[[], EditedLevels]] = {
        "merge": lambda: levels.merged(level, names, called),
        "split": lambda: levels.split(level, first),
        "rename": lambda: levels.renamed(level, first, called),
        "up": lambda: levels.moved(level, first, -1),
        "down": lambda: levels.moved(level, first, 1),
        "narrow": lambda: levels.narrowed(level),
    }
    if deed not in edits:
        msg = "there is no such edit"
        raise InputError(msg)
    return edits[deed]()


def _levels(project: Project, line: ColumnLine, values: Mapping[str, int]) -> EditedLevels | None:
    """The groups of a column that the plan names in a file; None where it names none."""
    found = file_named(project.plan_text, line.name)
    if found is None:
        return None
    key, named = found
    try:
        where = f"[columns.{line.name}] {key}"
        lines = read_lines(file_of_plan(project.folder, named, project.start, where))
    except PlanError as error:
        raise InputError(str(error)) from None
    longest = max(len(line.fields) for line in lines)
    # A branch that ends early stands for itself up to everything.
    paths = [(*one.fields, *[one.fields[-1]] * (longest - len(one.fields))) for one in lines]
    return levels_of_paths(paths, values)


def _page(project: Project, index: int, refusal: str | None) -> dict[str, Any]:
    line = column_of(project, index)
    levels, why_not = None, None
    try:
        values = values_of(project, line.name)
        levels = _levels(project, line, values)
    except InputError as error:
        why_not = str(error)
    return {
        "line": line,
        "digest": project.digest,
        "tree": levels.tree() if levels else (),
        "height": levels.height if levels else 0,
        "why_not": why_not,
        "refusal": refusal,
        "periods": _PERIODS,
    }


def _one(said: Mapping[str, Sequence[str]], key: str) -> str:
    return next(iter(said.get(key, ())), "")


def _number(text: str) -> int:
    return int(text) if text.isdigit() else -1
