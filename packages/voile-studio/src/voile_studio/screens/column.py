"""Levels of one column: its hierarchy as a tree that can be merged, split, widened and renamed.

Edits of a hierarchy: values below groups below larger groups, up to everything.

A hierarchy is a table of texts, a row for each value: the value, its group at level 1, 2 and so on.
Groups of one level nest in those of the next.  The last level is ``*``, everything.  Every edit
returns a new one and keeps it nested.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from hashlib import blake2b

from fastapi import APIRouter, Request
from fastapi.responses import Response

from voile.proposal.editing import with_column_key
from voile.schema.hierarchy.generalized import DistinctValues
from voile.schema.hierarchy.ranges import PERIODS
from voile.schema.hierarchy.taxonomy import read_lines
from voile.schema.names import UNORDERED
from voile.schema.numbers import ExactNumbers
from voile.schema.plan import Plan
from voile.schema.roles import Roles
from voile.table.opening import open_table
from voile_base.durable import replace_private_file
from voile_base.errors import InputError, PlanError, VoileError
from voile_base.values import Json
from voile_studio.pictures import levels_of
from voile_studio.planning import (
    ColumnLine,
    cuts_groups,
    file_named,
    file_of_plan,
    plan_of,
    problem_of,
    refuse_breaking,
)
from voile_studio.project import Project
from voile_studio.screens.data import (
    columns_of,
    found_in,
    has_more_values,
    is_read_at_once,
    values_of,
)
from voile_studio.screens.pages import Pages
from voile_studio.screens.plan import column_of, numbers_published
from voile_studio.words import numbers_of

__all__ = ["routes"]


EVERYTHING = "*"
_LONGEST = 200


@dataclass(frozen=True)
class _LevelGroup:
    """A group of a level, and what is in it."""

    level: int
    name: str
    """Its name among those of the level."""
    rows: int
    """Rows of the table in it."""
    groups: tuple[_LevelGroup, ...] = ()
    """Of the level below; empty for a value, and for a group that is one value and called so."""


@dataclass(frozen=True)
class _EditedLevels:
    """A hierarchy of v values in n levels above them, the last of which is everything."""

    paths: tuple[tuple[str, ...], ...]
    """Shape (v, n + 1): a value and its groups, in the order in which they are shown."""
    rows: Mapping[str, int] = field(default_factory=dict)
    """How many rows hold each value; 0 where it is not known."""

    @property
    def height(self) -> int:
        """Levels above the values."""
        return len(self.paths[0]) - 1

    def tree(self) -> tuple[_LevelGroup, ...]:
        """The groups below everything."""
        return tuple(self._below(self.paths, self.height - 1))

    def merged(self, level: int, names: Sequence[str], called: str) -> _EditedLevels:
        """With groups of a level as one, which lies where the first of them did.

        Of values (level 0) the groups that hold them at level 1 are changed: the values named get
        a group of their own.
        """
        called = _name(called)
        if level == 0:
            return self._gathered(names, called)
        chosen = [path for path in self.paths if path[level] in set(names)]
        if len({path[level] for path in chosen}) < 2:
            msg = "choose two groups or more of one level to merge"
            raise InputError(msg)
        self._refuse_taken(level, called, names)
        above = chosen[0][level + 1 :]
        return self._with(
            lambda path: (*path[:level], called, *above) if path[level] in set(names) else path
        )

    def split(self, level: int, name: str) -> _EditedLevels:
        """With the groups or values of the level below in the place of a group."""
        if not 1 <= level < self.height:
            msg = "only a group between the values and everything can be split"
            raise InputError(msg)
        others = {path[level] for path in self.paths if path[level] != name}
        below = {path[level - 1] for path in self.paths if path[level] == name}
        if taken := others & below:
            msg = f"a group of that level is called {min(taken)!r} already; rename it first"
            raise InputError(msg)
        return self._with(
            lambda path: (
                (*path[:level], path[level - 1], *path[level + 1 :])
                if path[level] == name
                else path
            )
        )

    def renamed(self, level: int, name: str, called: str) -> _EditedLevels:
        """With another name for a group; values keep theirs."""
        called = _name(called)
        if not 1 <= level < self.height:
            msg = "values keep their names, and everything is called *"
            raise InputError(msg)
        self._refuse_taken(level, called, [name])
        return self._with(
            lambda path: (
                (*path[:level], called, *path[level + 1 :]) if path[level] == name else path
            )
        )

    def widened(self) -> _EditedLevels:
        """With one level more, below everything, in which each group stands alone."""
        return self._with(lambda path: (*path[:-1], path[-2], path[-1]))

    def narrowed(self, level: int) -> _EditedLevels:
        """Without a level between the values and everything."""
        if not 1 <= level < self.height:
            msg = "values and everything stay; choose a level between them"
            raise InputError(msg)
        return self._with(lambda path: (*path[:level], *path[level + 1 :]))

    def moved(self, level: int, name: str, steps: int) -> _EditedLevels:
        """With a group or value one place up (-1) or down (1) among its neighbours."""
        groups = list(dict.fromkeys(path[level : level + 2] for path in self.paths))
        at = next((i for i, group in enumerate(groups) if group[0] == name), None)
        if at is None or not 0 <= at + steps < len(groups):
            return self
        if groups[at][1:] != groups[at + steps][1:]:
            return self
        groups[at], groups[at + steps] = groups[at + steps], groups[at]
        rank = {group[0]: place for place, group in enumerate(groups)}
        return _EditedLevels(
            tuple(sorted(self.paths, key=lambda path: rank[path[level]])), self.rows
        )

    def is_called(self, level: int, above: int, name: str) -> bool:
        """Whether a group of a level above stands for one of this level of the same name."""
        return {path[level] for path in self.paths if path[above] == name} <= {name}

    def csv(self) -> str:
        """As the file that a plan names."""
        out = io.StringIO()
        csv.writer(out, delimiter=";", lineterminator="\n").writerows(self.paths)
        return out.getvalue()

    def _gathered(self, names: Sequence[str], called: str) -> _EditedLevels:
        chosen = [path for path in self.paths if path[0] in set(names)]
        if not chosen:
            msg = "choose values to put in a group"
            raise InputError(msg)
        if self.height == 1:
            return self.widened()._gathered(names, called)
        left = {path[1] for path in self.paths if path[0] not in set(names)}
        if called in left:
            msg = f"a group is called {called!r} already; choose another name"
            raise InputError(msg)
        above = chosen[0][2:]
        return self._with(lambda path: (path[0], called, *above) if path[0] in set(names) else path)

    def _refuse_taken(self, level: int, called: str, but: Sequence[str]) -> None:
        if any(path[level] == called for path in self.paths if path[level] not in but):
            msg = f"a group of that level is called {called!r} already; choose another name"
            raise InputError(msg)

    def _with(self, change: object) -> _EditedLevels:
        assert callable(change)
        paths = [change(path) for path in self.paths]
        first: dict[tuple[str, ...], int] = {}
        for path in paths:
            for level in range(len(path)):
                first.setdefault(path[level:], len(first))
        # Those of one group stand together, in the order in which the first of them stood.
        ranked = sorted(
            paths, key=lambda path: [first[path[level:]] for level in reversed(range(len(path)))]
        )
        return _EditedLevels(tuple(ranked), self.rows)

    def _below(self, paths: Sequence[tuple[str, ...]], level: int) -> Iterator[_LevelGroup]:
        for name in dict.fromkeys(path[level] for path in paths):
            inside = [path for path in paths if path[level] == name]
            rows = sum(self.rows.get(path[0], 0) for path in inside)
            alone = len(inside) == 1 and set(inside[0][: level + 1]) == {name}
            groups = tuple(self._below(inside, level - 1)) if level and not alone else ()
            yield _LevelGroup(level, name, rows, groups)


def _levels_of_values(rows: Mapping[str, int]) -> _EditedLevels:
    """A hierarchy of values and everything, in the order given; raises ``InputError`` for none."""
    if not rows:
        msg = "the column has no values that can be grouped"
        raise InputError(msg)
    return _EditedLevels(tuple((value, EVERYTHING) for value in rows), dict(rows))


def _levels_of_paths(paths: Sequence[Sequence[str]], rows: Mapping[str, int]) -> _EditedLevels:
    """The hierarchy of a file's lines; values of the table that it lacks stand alone in it."""
    found = [tuple(path) for path in paths]
    if any(path[-1] != EVERYTHING for path in found):
        found = [(*path, EVERYTHING) for path in found]
    there = {path[0] for path in found}
    lacking = [value for value in rows if value not in there]
    found += [(value,) * (len(found[0]) - 1) + (EVERYTHING,) for value in lacking]
    return _EditedLevels(tuple(found), dict(rows))


def _name(called: str) -> str:
    called = " ".join(called.split())
    if not called or called == EVERYTHING:
        msg = "a group needs a name"
        raise InputError(msg)
    if len(called) > _LONGEST:
        msg = f"a name has at most {_LONGEST} characters"
        raise InputError(msg)
    return called


_MOST_RANKS = 60
_PREVIEWED = 5
"""Groups of a level that are told."""
_NUMBERS = frozenset({"integer", "decimal", "float", "number"})
_PRIVATE = 0o700
_MOST_FIELDS = 2_000
_DIGEST = 6


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
        text = with_column_key(project.plan_text, line.name, key, value)
        if deed == "order":
            _refuse_unranked(values_of(project, line.name), value)
            text = with_column_key(text, line.name, "kind", "ordinal")
        refuse_breaking(project.plan, text, line.name)
        project.keep_plan(text, f"levels of {line.name}")
        return
    values = values_of(project, line.name)
    if deed == "begin":
        levels = _levels_of_values(values)
    else:
        standing = _levels(project, line, values)
        if standing is None:
            msg = "begin a hierarchy first"
            raise InputError(msg)
        levels = _edited(standing, deed, said)
    named = _keep(project, line, levels.csv())
    text = with_column_key(project.plan_text, line.name, "hierarchy", named)
    project.keep_plan(text, f"levels of {line.name}")


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


_STEPS = ("intervals", "prefix", "dates", "order", "none")


def _steps(deed: str, said: Mapping[str, Sequence[str]]) -> tuple[str, object]:
    """The key of the plan and its value, of a hierarchy that lists no values."""
    if deed == "none":
        return "hierarchy", None
    if deed == "dates":
        chosen = [period for period in PERIODS if period in said.get("period", ())]
        if not chosen:
            msg = "choose at least one period"
            raise InputError(msg)
        return "dates", chosen
    if deed == "order":
        ranks = [rank for line in _one(said, "ranks").splitlines() if (rank := line.strip())]
        if len(ranks) < 2:
            msg = "write each value on a line of its own, the lowest first"
            raise InputError(msg)
        return "order", ranks
    numbers = numbers_of(_one(said, "steps"), "the steps")
    if not numbers:
        msg = "write numbers with commas between, for example 5, 10, 20"
        raise InputError(msg)
    if deed == "prefix":
        return deed, numbers
    unit = numbers_of(_one(said, "unit"), "the step in which it is measured")
    if len(unit) > 1:
        msg = "the step in which it is measured is one number, such as 0.01; 0 is continuously"
        raise InputError(msg)
    return deed, {"widths": numbers, **({"unit": unit[0]} if unit else {})}


def _refuse_unranked(values: Mapping[str, int], ranks: object) -> None:
    """Raise ``InputError`` where a value of the table has no place in an order."""
    assert isinstance(ranks, list)
    lacking = sum(bool(value.strip()) and value not in ranks for value in values)
    if lacking:
        values_have = "1 value of the table has" if lacking == 1 else f"{lacking:,} values have"
        msg = f"{values_have} no place in this order: write each, as the table has it"
        raise InputError(msg)


def _edited(levels: _EditedLevels, deed: str, said: Mapping[str, Sequence[str]]) -> _EditedLevels:
    """The hierarchy after one edit; groups are named "LEVEL:NAME"."""
    chosen = [group.partition(":") for group in said.get("group", ())]
    if deed == "widen":
        return levels.widened()
    if not chosen:
        msg = "choose a group or a value first"
        raise InputError(msg)
    level = min(_number(one) for one, _, _ in chosen)
    names = [name for _, _, name in chosen]
    for place, _, name in chosen:
        if not levels.is_called(level, _number(place), name):
            msg = "choose groups of one level"
            raise InputError(msg)
    called, first = _one(said, "called"), names[0]
    edits: dict[str, Callable[[], _EditedLevels]] = {
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


def _levels(project: Project, line: ColumnLine, values: Mapping[str, int]) -> _EditedLevels | None:
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
    return _levels_of_paths(paths, values)


def _page(project: Project, index: int, refusal: str | None) -> Json:
    line = column_of(project, index)
    levels, why_not = None, None
    values: Mapping[str, int] = {}
    try:
        values = values_of(project, line.name)
        levels = _levels(project, line, values)
    except InputError as error:
        why_not = str(error)
    preview, no_preview = _preview(project, line)
    plan = plan_of(project.plan)
    return {
        "cuts_groups": plan is not None and cuts_groups(plan),
        "numbers": numbers_published(project, [line]),
        "line": line,
        "preview": preview,
        "no_preview": no_preview,
        "digest": project.digest,
        "tree": levels.tree() if levels else (),
        "height": levels.height if levels else 0,
        "why_not": why_not,
        "refusal": refusal,
        "periods": PERIODS,
        "ranks": _ranks(project, line, plan, values),
    }


def _ranks(
    project: Project, line: ColumnLine, plan: Plan | None, values: Mapping[str, int]
) -> Sequence[str]:
    """The values of texts that may be ranked, in the order of the plan; none of numbers."""
    stated = plan.columns[line.name].order if plan and line.name in plan.columns else None
    lacking = [text for text in _inorder(project, line, values) if text not in (stated or ())]
    ranked = [*(stated or ()), *(text for text in lacking if text.strip())]
    texts = not _is_number(project, line) and line.kind not in {"date", "number", "geography"}
    return ranked if texts and 2 < len(ranked) <= _MOST_RANKS else ()


@dataclass(frozen=True)
class _PreviewedLevel:
    """What a level makes of the rows of the table."""

    level: int
    told: str
    """The level in a word or two; empty where the plan has no word for it."""
    groups: int
    smallest: int
    """Rows of its smallest group."""
    examples: tuple[tuple[str, int], ...]
    """Some groups with their rows, the smallest first."""
    largest: tuple[str, int]


def _preview(project: Project, line: ColumnLine) -> tuple[list[_PreviewedLevel], str]:
    """Each level with its groups and their rows, as the plan has them; or why there is none."""
    plan = plan_of(project.plan)
    if plan is None:
        wrong = problem_of(project.plan, columns_of(project))
        told = wrong.message if wrong else "look there"
        return [], f"the plan cannot be read as it is now: {told}"
    try:
        distinct, rows = _counted(project, line, plan)
        levels = plan.column(line.name).bind_hierarchy(line.name, distinct)
    except VoileError as error:
        return [], str(error)
    words = levels_of(project.plan_text).get(line.name, [])
    labels = words if len(words) == len(levels.codes) else [""] * len(levels.codes)
    labels[0] = "as it is" if levels.values[0].shown is None else "the finest that is published"
    labels[-1] = "everything alike"
    found = []
    for level, (codes, values) in enumerate(zip(levels.codes, levels.values, strict=True)):
        named = values.shown or distinct.texts
        sizes: dict[str, int] = {}
        for count, code in zip(rows, codes.tolist(), strict=True):
            name = named[code] or "missing"
            sizes[name] = sizes.get(name, 0) + count
        inorder = sorted(sizes.items(), key=lambda one: one[1])
        smallest = tuple(inorder[:_PREVIEWED])
        found.append(
            _PreviewedLevel(level, labels[level], len(sizes), inorder[0][1], smallest, inorder[-1])
        )
    return found, ""


def _counted(project: Project, line: ColumnLine, plan: Plan) -> tuple[DistinctValues, list[int]]:
    """The distinct values of a column, as its levels are bound to them, with their rows.

    Those of more values than a look tells are counted in the table, if it is small enough to be
    read while somebody waits; raises ``InputError`` where it is not, and for what is masked.
    """
    try:
        rows = values_of(project, line.name)
    except InputError:
        if not has_more_values(project, line.name):
            raise
        return _counted_in_table(project, line, plan)
    texts = _inorder(project, line, rows)
    return _distinct_values(project, line, rows), [rows[text] for text in texts]


def _counted_in_table(
    project: Project, line: ColumnLine, plan: Plan
) -> tuple[DistinctValues, list[int]]:
    if not is_read_at_once(project.source):
        msg = "the column has many values, and the file is too large to be read for this page"
        raise InputError(msg)
    alone = Plan(
        roles=Roles(quasi_identifiers=(line.name,), person="row"),
        nulls="category",
        missing=plan.missing,
        columns={line.name: plan.column(line.name)},
        input=plan.input,
    )
    counts = open_table(project.source, alone).count_combinations([line.name])
    found = dict(zip(counts.codes[:, 0].tolist(), counts.rows.tolist(), strict=True))
    return counts.values[0], [found.get(code, 0) for code in range(len(counts.values[0].texts))]


def _is_number(project: Project, line: ColumnLine) -> bool:
    """Whether the values of a column are bound to its plan as numbers."""
    types = {one["name"]: one["type"] for one in found_in(project).get("columns", [])}
    return types.get(line.name) in _NUMBERS and line.kind not in UNORDERED


def _inorder(project: Project, line: ColumnLine, rows: Mapping[str, int]) -> list[str]:
    """The values of a column, ascending."""
    return sorted(rows, key=Decimal) if _is_number(project, line) else sorted(rows)


def _distinct_values(project: Project, line: ColumnLine, rows: Mapping[str, int]) -> DistinctValues:
    """The values of a column as levels are bound to them."""
    texts = tuple(_inorder(project, line, rows))
    if _is_number(project, line):
        return DistinctValues("number", texts, ExactNumbers.of(texts))
    types = {one["name"]: one["type"] for one in found_in(project).get("columns", [])}
    return DistinctValues("date" if types.get(line.name) == "date" else "text", texts)


def _one(said: Mapping[str, Sequence[str]], key: str) -> str:
    return next(iter(said.get(key, ())), "")


def _number(text: str) -> int:
    return int(text) if text.isdigit() else -1
