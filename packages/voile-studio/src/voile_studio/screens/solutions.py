"""Solutions: the lattice around the plan, or its groups; each with risk, loss and its rows.

What is shown comes from one command, which tells what some rows read at every level of every
column; so a click on a node asks the table nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from fastapi import APIRouter, Form, Query
from fastapi.responses import Response

from voile.proposal.editing import with_method
from voile_base.durable import replace_private_file
from voile_base.errors import InputError
from voile_base.values import Document, Json
from voile_studio import commands
from voile_studio.jobs import told_as_command
from voile_studio.pictures import levels_of
from voile_studio.planning import plan_of, problem_in, steps_of
from voile_studio.project import Project
from voile_studio.screens.pages import Pages

__all__ = ["_RowsBeside", "routes", "rows_beside"]

_PURPOSE = "solutions"
_NODE = re.compile(r"[0-9]{1,4}(,[0-9]{1,4}){0,200}")
_WIDTH, _LAYER = 880.0, 42.0
_DRAWN = 61
"""Nodes of one layer that are drawn: of more, those of the least loss."""
_LEFT_OUT = "\1left out"
Levels = tuple[int, ...]


@dataclass(frozen=True)
class _NodeSpot:
    """A node in the picture."""

    address: str
    """Its levels with commas between."""
    x: float
    y: float
    radius: float
    state: str
    """"feasible", "infeasible"."""
    chosen: bool
    selected: bool
    told: str


@dataclass(frozen=True)
class _LatticePicture:
    """The nodes, the finest at the bottom; edges of the selected one."""

    width: float
    height: float
    spots: tuple[_NodeSpot, ...]
    edges: tuple[tuple[float, float, float, float], ...]
    hidden: int
    """Nodes that are not drawn."""


@dataclass(frozen=True)
class _LadderStep:
    """A level of a column, and the node that has it in the place of the selected one's."""

    level: int
    told: str
    """The level in a word or two."""
    distinct: int
    address: str | None
    """None: that node was not looked at."""
    selected: bool
    feasible: bool


@dataclass(frozen=True)
class _RowsBeside:
    """Rows before and after: of each the cells before, those after, and whether it is left out."""

    columns: tuple[str, ...]
    lines: tuple[tuple[tuple[str | None, ...], tuple[tuple[str | None, bool], ...], bool], ...]
    """Of each cell after, whether it differs from the one before."""

    @property
    def changed(self) -> int:
        """Cells that differ, of rows that are not left out."""
        return sum(differs for _, after, _ in self.lines for _, differs in after)


def routes(pages: Pages) -> APIRouter:
    """The addresses of the screen."""
    router = APIRouter(prefix="/p/{name}/solutions")

    @router.get("")
    def solutions(
        name: str,
        node: Annotated[str, Query(max_length=1000)] = "",
        group: Annotated[int, Query(ge=0, le=1000)] = -1,
    ) -> Response:
        project = pages.project(name)
        page = _page(project, _levels_of(node), group)
        return pages.show("solutions.html", project, **page)

    @router.post("")
    def look(name: str, node: Annotated[str, Form(max_length=1000)] = "") -> Response:
        project = pages.project(name)
        levels = _levels_of(node)
        _look(project, levels)
        return pages.to(project, f"solutions?node={node}" if levels else "solutions")

    @router.post("/use")
    def use(name: str, node: Annotated[str, Form(max_length=1000)]) -> Response:
        project = pages.project(name)
        levels = _levels_of(node)
        if levels is None:
            msg = "choose a solution first"
            raise InputError(msg)
        project.keep_plan(_at(project, levels), "solution taken")
        _look(project, None)
        return pages.to(project, "solutions")

    return router


def _levels_of(node: str) -> Levels | None:
    """The levels that an address names; None for none; raises ``InputError`` for no levels."""
    if not node:
        return None
    if not _NODE.fullmatch(node):
        msg = "that address names no solution; choose one in the picture"
        raise InputError(msg)
    return tuple(int(level) for level in node.split(","))


def _look(project: Project, around: Levels | None) -> None:
    """Look at the solutions of the plan, or of the plan at other levels."""
    if wrong := problem_in(project):
        raise InputError(wrong.message)
    plan = project.plan
    if around is not None:
        text = _at(project, around)
        plan = project.folder / "around.toml"
        replace_private_file(plan, text)
    project.run(_PURPOSE, commands.solutions(project, plan), project.digest)


def _at(project: Project, levels: Levels) -> str:
    """The text of the plan with these levels in the place of a search."""
    plan = plan_of(project.plan)
    names = plan.roles.quasi_identifiers if plan else ()
    if plan is None or plan.method is None or len(names) != len(levels):
        msg = "the plan says other things of the columns now: look at the solutions again"
        raise InputError(msg)
    others = {"algorithm", "relaxed", "sets", "levels"}
    kept = {key: value for key, value in plan.method.parameters.items() if key not in others}
    chosen = dict(zip(names, levels, strict=True))
    return with_method(project.plan_text, plan.method.name, {**kept, "levels": chosen})


def _page(project: Project, node: Levels | None, group: int) -> Json:
    job = project.jobs.latest(_PURPOSE)
    known = job is not None and job.about == project.digest
    document = job.output() if known and job and job.state == "done" else None
    found = document if isinstance(document, dict) else {}
    wrong = problem_in(project)
    plan = plan_of(project.plan)
    page: Json = {
        "job": job if known else None,
        "wrong": wrong,
        "method": plan.method if plan else None,
        "series": plan.method.parameters.get("series") if plan and plan.method else None,
        "found": found,
        "steps": _step_costs(project, found),
        "command": told_as_command(commands.solutions(project, project.plan)),
        "node": "",
        "seen": None,
        "picture": None,
        "ladders": [],
        "beside": rows_beside(found, None),
        "group": None,
        "best": "",
    }
    if "nodes" not in found:
        return page
    nodes = {tuple(one["levels"]): one for one in found["nodes"]}
    chosen = found["chosen"]
    now = node if node in nodes else None
    if now is None and chosen and chosen["levels"] and group < 0:
        now = tuple(chosen["levels"])
    feasible = [levels for levels, one in nodes.items() if one["feasible"]]
    best = min(feasible, key=lambda levels: nodes[levels]["loss"], default=None)
    picked = found["groups"][group] if 0 <= group < len(found["groups"]) else None
    return page | {
        "node": _address(now) if now else "",
        "seen": nodes.get(now) if now else None,
        "missed": node is not None and node not in nodes,
        "asked": _address(node) if node else "",
        "best": _address(best) if best else "",
        "picture": _picture(nodes, now, chosen),
        "ladders": _ladders(found["columns"], nodes, now or best, levels_of(project.plan_text)),
        "beside": _group_rows(picked) if picked else rows_beside(found, now),
        "group": picked,
        "group_number": group,
    }


def _step_costs(project: Project, found: Document) -> list[Json]:
    """Each step of the chain, and what the release would keep without it."""
    names, kept = steps_of(project.plan_text), found.get("kept", {})
    costs = []
    for one in found.get("steps", []):
        gained = {
            name: share - kept.get(name, 0.0)
            for name, share in one["kept"].items()
            if share > kept.get(name, 0.0)
        }
        rows = one["rows"] - found["rows_out"]
        told = names[one["step"]] if one["step"] < len(names) else ""
        costs.append({"told": told, "gained": gained, "rows": rows})
    return costs


def _address(levels: Sequence[int]) -> str:
    return ",".join(map(str, levels))


def _told(node: Document) -> str:
    """A node in a line, for those who point at it or hear it."""
    levels = _address(node["levels"])
    if not node["groups"]:
        return f"levels {levels}: nothing could be published"
    risk = 100 / max(1, node["smallest"])
    told = f"levels {levels}: coarseness {100 * node['loss']:.3g} %"
    told += f", re-identification risk (worst person) {risk:.3g} %"
    if not node["feasible"]:
        told += f", leaves out {node['suppressed']:,} rows, more than the plan allows"
    return told


def _picture(
    nodes: dict[Levels, Document], now: Levels | None, chosen: Document | None
) -> _LatticePicture:
    layers: dict[int, list[Levels]] = {}
    for levels in nodes:
        layers.setdefault(sum(levels), []).append(levels)
    heights = sorted(layers)
    height = _LAYER * len(heights) + 16
    is_chosen = tuple(chosen["levels"]) if chosen and chosen["levels"] else None
    near = _neighbours(now, nodes) if now else []
    places: dict[Levels, tuple[float, float, float]] = {}
    for row, total in enumerate(heights):
        inorder = sorted(
            layers[total], key=lambda one: (nodes[one]["loss"] is None, *_by_loss(nodes[one]))
        )
        shown = [
            one for i, one in enumerate(inorder) if i < _DRAWN or one in (now, is_chosen, *near)
        ]
        step = _WIDTH / (len(shown) + 1)
        y = height - 8 - _LAYER * (row + 0.5)
        for place, one in enumerate(shown):
            places[one] = (step * (place + 1), y, max(3.0, min(8.0, step * 0.34)))
    spots = tuple(
        _NodeSpot(
            _address(one),
            x,
            y,
            radius,
            "feasible" if nodes[one]["feasible"] else "infeasible",
            one == is_chosen,
            one == now,
            _told(nodes[one]),
        )
        for one, (x, y, radius) in places.items()
    )
    edges = (
        tuple(
            (*places[now][:2], *places[one][:2]) for one in near if now in places and one in places
        )
        if now
        else ()
    )
    return _LatticePicture(_WIDTH, height, spots, edges, len(nodes) - len(spots))


def _by_loss(node: Document) -> tuple[float, Sequence[int]]:
    return (node["loss"] or 0.0, node["levels"])


def _neighbours(now: Levels, nodes: dict[Levels, Document]) -> list[Levels]:
    """The nodes that differ from one by one level of one column."""
    steps = ((*now[:j], now[j] + by, *now[j + 1 :]) for j in range(len(now)) for by in (-1, 1))
    return [one for one in steps if one in nodes]


def _ladders(
    columns: Sequence[Document],
    nodes: dict[Levels, Document],
    now: Levels | None,
    declared: Mapping[str, Sequence[str]],
) -> list[tuple[str, list[_LadderStep]]]:
    """For each column its levels, as ways from the selected node to others."""
    if now is None:
        return []
    found = []
    for j, column in enumerate(columns):
        steps = []
        for level, distinct in enumerate(column["distinct"]):
            there = (*now[:j], level, *now[j + 1 :])
            node = nodes.get(there)
            steps.append(
                _LadderStep(
                    level,
                    _level_told(declared.get(column["name"], []), level, len(column["distinct"])),
                    distinct,
                    _address(there),
                    level == now[j],
                    bool(node and node["feasible"]),
                )
            )
        found.append((column["name"], steps))
    return found


def _level_told(names: Sequence[str], level: int, count: int) -> str:
    """The level of a column in words, by the names that its plan declares, if they are all."""
    if len(names) == count:
        return names[level]
    return "as it is" if level == 0 else "*" if level == count - 1 else f"level {level}"


def rows_beside(found: Document, node: Levels | None) -> _RowsBeside | None:
    """The first rows beside what a node makes of them, or the plan; None where nobody can tell."""
    rows = found.get("rows")
    if not rows:
        return None
    before = rows["before"]
    if node is None:
        after = rows["chosen"]
        if after is None:
            return None
        gone = [one is not None for one in after[_LEFT_OUT]]
        return _beside(before, after, gone)
    at = {
        column["name"]: rows["levels"][column["name"]][level]
        for column, level in zip(found["columns"], node, strict=True)
    }
    seen = next(one for one in found["nodes"] if tuple(one["levels"]) == node)
    count = len(next(iter(before.values()), ()))
    return _beside(before, at, [place in seen["left_out"] for place in range(count)])


def _group_rows(group: Document) -> _RowsBeside:
    before = group["before"]
    count = len(next(iter(before.values()), ()))
    after = {name: [value] * count for name, value in group["shows"].items()}
    return _beside(before, after, [False] * count)


def _beside(before: Document, after: Document, gone: Sequence[bool]) -> _RowsBeside:
    """Columns that ``after`` lacks are published as they are."""
    names = tuple(before)
    shown = {name: after.get(name, before[name]) for name in names}
    lines = []
    for place, left_out in enumerate(gone):
        was = tuple(before[name][place] for name in names)
        now = tuple(shown[name][place] for name in names)
        cells = tuple((new, not left_out and new != old) for old, new in zip(was, now, strict=True))
        lines.append((was, cells, left_out))
    return _RowsBeside(names, tuple(lines))
