"""What a plan says of each column, where in its text an error stands, and which policy it is for.

A plan on disk may be wrong while somebody works on it; nothing is published with it then, because
every command reads it anew.
"""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, Self, get_args

from voile.policy.criteria.risks import ThreeRisks
from voile.policy.remedies import least_k
from voile.policy.stated import StatedPolicy
from voile.policy.templates import template_names
from voile.proposal.editing import ONE_COLUMN_ROLES, ROLE_LISTS
from voile.publish.publisher import Capabilities, Parameter
from voile.publish.registry import METHODS, publisher_for, read_plan
from voile.schema.hierarchy.declared import HIERARCHY_KEYS
from voile.schema.names import Kind
from voile.schema.persons import Occurrences, identifying_columns
from voile.schema.plan import Plan, parse_plan
from voile_base.errors import InputError, PlanError, VoileError
from voile_base.values import Document
from voile_studio.project import Project, Start

__all__ = [
    "KINDS",
    "PUBLISHED",
    "ROLES",
    "ROLE_PROPOSED",
    "ColumnLine",
    "PolicyChoice",
    "capabilities_of",
    "change_told",
    "column_lines",
    "cuts_groups",
    "file_named",
    "file_of_plan",
    "keep_policy",
    "levels_told",
    "own_values",
    "plan_of",
    "policies",
    "policy_of",
    "problem_in",
    "problem_of",
    "refuse_breaking",
    "require_policy",
    "series_gone_on",
    "steps_of",
    "usual_values",
    "without_step",
]

KINDS: tuple[str, ...] = get_args(Kind)
ROLES: Mapping[str, str] = {
    "person": "tells persons apart",
    "household": "tells households apart",
    "identifiers": "direct identifier",
    "quasi_identifiers": "quasi-identifier",
    "sensitive": "sensitive attribute",
    "ranking": "ranks rows",
    "weight": "survey weight",
    "keep": "publish unchanged",
    "": "leave out",
}
"""The roles of a column, in plain words; none leaves it out."""
PUBLISHED = frozenset({"quasi_identifiers", "sensitive", "ranking", "keep"})
"""The roles of columns that a release shows."""
ROLE_PROPOSED = {"identifier": "identifiers", "quasi": "quasi_identifiers", "drop": ""}
"""Roles of a proposal whose key in a plan is another."""

_PLACE = re.compile(r"\[(?P<table>[^\[\]]+)\](?:\s+(?P<key>[\w-]+))?")
_FILES = frozenset({"hierarchy", "tree", "zones", "roads"})
"""Keys that may name a file."""
_NO_METHOD = "the plan has no [method] table"
_LINE = re.compile(r"at line (\d+)")


@dataclass(frozen=True)
class _PlanProblem:
    """What is wrong with a plan."""

    message: str
    line: int | None = None
    """Where, from 1; None: it cannot be told."""
    lacks_method: bool = False
    repeating: tuple[str, ...] = ()
    """The direct identifiers that repeat, where the plan does not say whose their rows are."""


@dataclass(frozen=True)
class ColumnLine:
    """What a plan says of one column of the table."""

    index: int
    name: str
    role: str
    """A key of ``ROLES``."""
    kind: str
    """A kind; empty: what the values look like."""
    hierarchy: str
    """The key that declares one, and what it says; empty: none."""
    bounds: str
    """"lowest, highest"; empty: none."""


def problem_of(
    path: Path,
    columns: Sequence[str],
    start: Start | None = None,
    looked: Document | None = None,
) -> _PlanProblem | None:
    """What would keep the plan from being used on a table of these columns; None: nothing.

    With a start folder, files that the plan names must stand in it.  With what was found when the
    table was looked at, a direct identifier that repeats is a problem until persons are told.
    """
    try:
        if start is not None:
            _refuse_files_outside(path, start)
        plan = read_plan(path)
        if columns:
            plan.bind(columns)
        if repeating := _repeating(plan, looked or {}):
            return repeating
        publisher_for(plan)
    except VoileError as error:
        message = str(error).removeprefix(f"{path}: ")
        if message.startswith(_NO_METHOD):
            chosen = "The plan has no method yet: choose one on the screen Try."
            return _PlanProblem(chosen, lacks_method=True)
        return _PlanProblem(message, _line_of(path, message))
    return None


def problem_in(project: Project) -> _PlanProblem | None:
    """What keeps the plan of a project from being used on its table; None: nothing."""
    looked = project.jobs.found("inspect")
    return problem_of(project.plan, project.columns, project.start, looked)


def _repeating(plan: Plan, looked: Document) -> _PlanProblem | None:
    """The direct identifiers that repeat, by the same rule as each method refuses them."""
    key = plan.method.parameters.get("record_key") if plan.method else None
    watched = identifying_columns(plan.roles, str(key) if key else None)
    found = {
        one["name"]: Occurrences(looked["rows"] - one["missing"], one["distinct"], one["once"])
        for one in looked.get("columns", [])
        if one["name"] in watched
    }
    told = {name: one for name, one in found.items() if one.repeat}
    if not told:
        return None
    counts = "; ".join(
        f"{name}: {one.values:,} different values in {one.rows:,} rows"
        for name, one in told.items()
    )
    message = (
        f"A direct identifier repeats ({counts}): are the rows of one value one person's, or is "
        "each row another person?"
    )
    return _PlanProblem(message, repeating=tuple(told))


def refuse_breaking(plan: Path, after: str, column: str) -> None:
    """Raise ``InputError`` where a change says of a column what no plan can say.

    What was wrong before stays as it was: it is mended by other changes.
    """
    message = _broken(after, plan.parent)
    if message is None or f"[columns.{column}]" not in message.replace('"', ""):
        return
    if message != _broken(plan.read_text(encoding="utf-8-sig"), plan.parent):
        raise InputError(f"not changed: {message}")


def _broken(text: str, folder: Path) -> str | None:
    """Why a text is no plan; None where it is one."""
    try:
        parse_plan(tomllib.loads(text), folder)
    except (tomllib.TOMLDecodeError, PlanError) as error:
        return str(error)
    return None


def _refuse_files_outside(path: Path, start: Start) -> None:
    """Raise ``InputError`` where the plan names a file that is not in the start folder."""
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except (OSError, ValueError):
        return  # which is told by who reads it as a plan
    said = [
        (f"[columns.{name}] {key}", keys[key])
        for name, keys in _table(document, "columns").items()
        if isinstance(keys, dict)
        for key in _FILES & keys.keys()
    ]
    method = _table(document, "method")
    said += [(f"[method] {key}", method[key]) for key in _FILES & method.keys()]
    for where, named in said:
        if isinstance(named, str):
            file_of_plan(path.parent, named, start, where)


def file_of_plan(folder: Path, named: str, start: Start, where: str) -> Path:
    """The path of a file that a plan in the folder names.

    Raises ``InputError`` where it is not in the start folder.
    """
    try:
        return start.inside(os.path.relpath(folder / named, start.folder.resolve()))
    except (InputError, ValueError):
        msg = f"{where}: there is no such file in the folder that Studio was started in"
        raise InputError(msg) from None


def cuts_groups(plan: Plan) -> bool:
    """Whether groups are cut each by itself, and do not all have the level that the plan gives."""
    if plan.method is None:
        return False
    asked = capabilities_of(plan.method.name).one_level
    return any(plan.method.parameters.get(key) != value for key, value in asked.items())


def capabilities_of(method: str) -> Capabilities:
    """What a method can do; that of one that is not installed is nothing."""
    own = METHODS.class_of(method) if method in METHODS.names else None
    return getattr(own, "capabilities", Capabilities())


def plan_of(path: Path) -> Plan | None:
    """The plan; None where it cannot be read."""
    try:
        return read_plan(path)
    except PlanError:
        return None


def series_gone_on(project: Project) -> str:
    """The series of the plan, of which the ledger has a release: it goes on; empty for none."""
    plan = plan_of(project.plan)
    series = str(plan.method.parameters.get("series") or "") if plan and plan.method else ""
    return series if series and project.releases_of_series(series)[0] > 0 else ""


def column_lines(text: str, columns: Sequence[str]) -> list[ColumnLine]:
    """What a plan says of each column; of a text that is no TOML, nothing."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        document = {}
    roles = _table(document, "roles")
    taken = {name: role for role in ROLE_LISTS[:-1] for name in _texts(roles.get(role))}
    one_each = {name: key for key in ONE_COLUMN_ROLES if isinstance(name := roles.get(key), str)}
    taken |= {name: key for name, key in one_each.items() if key != "weight" or name not in taken}
    said = _table(document, "columns")
    return [
        _line(index, name, taken.get(name, ""), _table(said, name))
        for index, name in enumerate(columns)
    ]


def steps_of(text: str) -> list[str]:
    """What each step of a plan's chain is, in its order; of a text that is no TOML, nothing."""
    try:
        said = tomllib.loads(text).get("steps", [])
    except tomllib.TOMLDecodeError:
        return []
    return [_told_step(one) for one in said if isinstance(one, dict)]


def without_step(text: str, index: int) -> str:
    """The text of a plan without one of its steps, from 0; as it was where there is no such."""
    lines = text.splitlines(keepends=True)
    heads = [at for at, line in enumerate(lines) if _HEAD_OF_TABLE.match(line)]
    steps = [at for at in heads if lines[at].strip().startswith("[[steps]]")]
    if index >= len(steps):
        return text
    end = next((at for at in heads if at > steps[index]), len(lines))
    return "".join((*lines[: steps[index]], *lines[end:]))


_HEAD_OF_TABLE = re.compile(r"\s*\[\[?[^\[\]=,]+\]\]?\s*(#.*)?$")


def _told_step(step: Document) -> str:
    columns = ", ".join(_texts(step.get("columns")))
    when = " (after the method)" if step.get("after") else ""
    return f"{step.get('kind', '')}{' of ' if columns else ''}{columns}{when}"


def change_told(before: str, after: str) -> str:
    """What differs between two texts of a plan, in a few words; empty where nothing does."""
    try:
        was, now = tomllib.loads(before), tomllib.loads(after)
    except tomllib.TOMLDecodeError:
        return "text of the plan"
    if was == now:
        if before == after:
            return ""
        return "answer to a question" if before.count("# ?") > after.count("# ?") else "comments"
    names = {**_table(was, "columns"), **_table(now, "columns"), **_role_of(was), **_role_of(now)}
    moved = [name for name in names if _role_of(was).get(name) != _role_of(now).get(name)]
    if moved:
        return f"role of {moved[0]}" if len(moved) == 1 else f"roles of {len(moved)} columns"
    if was.get("method") != now.get("method"):
        return "method"
    said = [_table(each, "columns") for each in (was, now)]
    changed = [name for name in names if said[0].get(name) != said[1].get(name)]
    return f"column {changed[0]}" if changed else "text of the plan"


def _role_of(document: Mapping[str, object]) -> dict[str, str]:
    roles = _table(document, "roles")
    lists = {name: role for role in ROLE_LISTS for name in _texts(roles.get(role))}
    return lists | {
        name: f"{lists.get(name, '')} {key}".strip()
        for key in ONE_COLUMN_ROLES
        if isinstance(name := roles.get(key), str)
    }


def levels_told(hierarchy: str) -> str:
    """The levels of a column in a few words; ``hierarchy`` is what ``ColumnLine`` has of them."""
    key, _, text = hierarchy.partition(" ")
    try:
        said = json.loads(text)
    except ValueError:
        said = None
    if key == "dates" and isinstance(said, list):
        return ", ".join(map(str, said))
    if key == "prefix" and isinstance(said, list):
        return f"first {', '.join(map(str, said))} characters"
    if key == "intervals" and isinstance(said, dict) and isinstance(said.get("widths"), list):
        return f"intervals of {', '.join(map(str, said['widths']))}"
    told = {"hierarchy": "groups of values", "tree": "a tree of values", "order": "ranks in order"}
    return told.get(key, key)


def file_named(text: str, column: str) -> tuple[str, str] | None:
    """The key and the file in which a plan says that a column's hierarchy stands."""
    try:
        said = _table(_table(tomllib.loads(text), "columns"), column)
    except tomllib.TOMLDecodeError:
        return None
    found = ((key, said[key]) for key in ("hierarchy", "tree") if key in said)
    return next(((key, named) for key, named in found if isinstance(named, str)), None)


def _line(index: int, name: str, role: str, said: Document) -> ColumnLine:
    declared = next((key for key in (*HIERARCHY_KEYS, "order") if key in said), None)
    bounds = said.get("bounds")
    listed = isinstance(bounds, list) and len(bounds) == 2
    return ColumnLine(
        index,
        name,
        role,
        str(said.get("kind", "")),
        "" if declared is None else f"{declared} {_told(said[declared])}",
        f"{bounds[0]}, {bounds[1]}" if listed and bounds else "",
    )


def _told(value: Any) -> str:
    told = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return told if len(told) <= 80 else f"{told[:77]}..."


def _table(document: Mapping[str, object], key: str) -> Document:
    found = document.get(key)
    return found if isinstance(found, dict) else {}


def _texts(value: object) -> list[str]:
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []


def _line_of(path: Path, message: str) -> int | None:
    """The line of the text that a message is about."""
    if told := _LINE.search(message):
        return int(told[1])
    place = _PLACE.search(message)
    if place is None:
        return None
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    return _line_in(lines, place["table"], place["key"])


def _line_in(lines: Sequence[str], table: str, key: str | None) -> int | None:
    """The line of a key in a table, or of the table's head."""
    heads = [i for i, line in enumerate(lines) if _head_of(line) == _plain(table)]
    if not heads:
        return None
    for index in range(heads[0] + 1, len(lines)):
        if _head_of(lines[index]) is not None:
            break
        if key is not None and re.match(rf"\s*{re.escape(key)}\s*[=.]", lines[index]):
            return index + 1
    return heads[0] + 1


def _head_of(line: str) -> str | None:
    """The name of the table whose head a line is."""
    found = re.match(r"\s*\[([^\[\]]+)\]", line)
    return _plain(found[1]) if found else None


def _plain(name: str) -> str:
    return name.replace('"', "").replace("'", "").replace(" ", "")


@dataclass(frozen=True)
class PolicyChoice:
    """A policy that a release can be checked against, in words by which to choose it."""

    named: str
    """A template, or a file in the start folder."""
    title: str = ""
    about: str = ""
    audience: str = ""
    least_k: int = 1
    """Persons that a group must have by its limits of groups and of the worst risk."""
    risks: tuple[str, ...] = ()
    """Those of the three risks that it asks for."""

    @classmethod
    def of(cls, named: str, stated: StatedPolicy) -> Self:
        """A policy by what states it."""
        policy = stated.policy
        risks = tuple(str(one.name) for one in policy.criteria if isinstance(one, ThreeRisks))
        return cls(named, policy.name, policy.about, policy.audience, least_k(stated), risks)


@cache
def _shipped() -> tuple[PolicyChoice, ...]:
    return tuple(PolicyChoice.of(name, StatedPolicy.read(name)) for name in template_names())


def policies(project: Project) -> list[PolicyChoice]:
    """The shipped policies, and those in the start folder, whose names begin with ``policy``.

    A file that states none is there by its name, and says why when it is checked against.
    """
    folder, own = project.start.folder.resolve(), []
    for path in sorted(folder.glob("policy*.toml")):
        if path.is_symlink():
            continue
        try:
            own.append(PolicyChoice.of(path.name, StatedPolicy.read(path)))
        except InputError:
            own.append(PolicyChoice(path.name, "This file is no policy that can be read"))
    return [*_shipped(), *own]


def policy_of(project: Project) -> PolicyChoice | None:
    """The policy that releases of a project are to meet; None where none is chosen, or it went."""
    chosen = project.policy
    return next((one for one in policies(project) if one.named == chosen), None) if chosen else None


def keep_policy(project: Project, named: str) -> None:
    """Choose the policy that releases are to meet; raises ``InputError`` where there is none."""
    if named:
        require_policy(project, named)
    project.choose_policy(named)


def require_policy(project: Project, named: str) -> None:
    """Raise ``InputError`` where there is no policy of this name."""
    if named not in {one.named for one in policies(project)}:
        msg = "there is no such policy in the folder that Studio was started in"
        raise InputError(msg)


def usual_values(
    parameter: Parameter, policy: PolicyChoice | None, own: Sequence[str] = ()
) -> tuple[str, ...]:
    """The values that are ticked where nothing was tried: the plan's, ``own``, and usual ones.

    Of k those that the policy allows.
    """
    least = policy.least_k if policy and parameter.name == "k" else 1
    if least > 1:
        above = (value for value in parameter.offered if int(value) > least)
        usual = (str(least), *islice(above, len(parameter.tried) - 1))
    else:
        usual = parameter.tried
    return tuple(dict.fromkeys((*(one for one in own if _is_allowed(one, least)), *usual)))


def _is_allowed(value: str, least: int) -> bool:
    """Whether a value is no k below the least that a policy allows."""
    return least <= 1 or not value.isdigit() or int(value) >= least


def own_values(project: Project) -> dict[str, list[str]]:
    """The values of the plan's method, by parameter; a switch, a table and a list are none."""
    plan = plan_of(project.plan)
    if plan is None or plan.method is None:
        return {}
    stated = plan.method.parameters.items()
    return {k: [str(v)] for k, v in stated if isinstance(v, int | float | Decimal | str)}
