"""The plan: what a custodian decides before any row is read, in TOML under version control.

    nulls   = "refuse"              # or "category", "drop"; may be set per column
    missing = ["?"]                 # texts that stand for a missing value

    [input]                         # how the file is laid out; see ``schema.layout``
    header = 3

    [roles]
    identifiers = ["name"]
    quasi_identifiers = ["age", "sex"]
    sensitive = ["salary"]
    person = "patient"              # or "row": each row is another; see ``schema.persons``

    [columns.age]
    bounds = [17, 90]
    outside = "clamp"               # or "refuse": a value outside the bounds is an error
    intervals = { widths = [5, 10] }  # or another hierarchy; see ``hierarchy.declared``

    [method]
    name = "ke-anonymity"
    k = 3
    e = 2000

    [budget]                        # of methods that spend one; see ``schema.budget``
    data_set = "payroll-2026"
    epsilon = 3

A line that begins with ``# ?`` is an open question, as ``voile plan`` asks them.  A plan with one
publishes nothing until the line is removed, which answers it, or the plan says
``accept_questions = true`` at its top, which the release shows.  A seed changes nothing of that:
what is drawn from one is unfit for publication, and shows the same columns.

The parameters below ``[method]`` belong to the publisher, which validates them; everything else
is validated here.  Every mistake is a ``PlanError`` that names the file, the table and the key.

Open questions of a plan: lines of its text that begin with ``# ?``, and where they stand.

    [roles]
    # ? "code": what does it hold? Nothing was understood of it: give it a role, or leave it
    #   Lines such as this one go on with what the line before asks.

A question about a column begins with its name in quotes.  One that stands right above the head of a
table belongs to that table, any other to the table whose head stands above it.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, fields
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    Strict,
    model_validator,
)
from pydantic_core import PydanticCustomError

from voile.schema.budget import BudgetPlan
from voile.schema.hierarchy.declared import Hierarchy, HierarchyKeys, WhenMet, plain
from voile.schema.hierarchy.generalized import BoundHierarchy, DistinctValues
from voile.schema.hierarchy.ranges import DateFormat, Ranks
from voile.schema.layout import USUAL, InputLayout
from voile.schema.names import UNORDERED, ColumnType, Kind, ShownAs, type_of
from voile.schema.roles import Roles
from voile.schema.tabulation import Protection, TablePlan
from voile.schema.trajectory import TrajectoryColumns
from voile_base.errors import PlanError, nearest
from voile_base.ondemand import dataclass, pattern_on_demand
from voile_base.values import Document, of_valid
from voile_base.values.value import Exact, Says, Several, Value, checked, read

__all__ = [
    "ASKS",
    "ColumnPlan",
    "Method",
    "Nulls",
    "OpenQuestion",
    "Outside",
    "Plan",
    "PlanDocument",
    "PlanStep",
    "open_questions",
    "parse_plan",
    "read_plan",
]


ASKS = "# ?"
"""How lines of a plan begin that ask."""
_QUOTED = 3
"""Questions that a message quotes."""
_ASKING = pattern_on_demand(r"\s*#\s*\?")
_CONTINUES = pattern_on_demand(r"\s*#   \S")
"""A line of a comment that goes on with what the line before asks."""
_HEAD = pattern_on_demand(r"\s*(\[[^\[\]].*\])\s*(?:#.*)?")
_NAMED = pattern_on_demand(r"""("(?:[^"\\]|\\.)*"|'[^']*')\s*:\s*""")


@dataclass(frozen=True)
class OpenQuestion:
    """What a plan asks, and its lines."""

    column: str | None
    """None: it is about the whole table."""
    text: str
    """What it asks, without the name of its column."""
    table: str
    """The head of the table in which it stands, such as ``[roles]``; empty: the top of the plan."""
    first: int
    """Its first line, from 1."""
    last: int
    """Its last line."""

    @property
    def quoted_text(self) -> str:
        """What it asks, with the name of its column."""
        return self.text if self.column is None else f'"{self.column}": {self.text}'

    @property
    def quoted(self) -> str:
        """Where it stands, and what it asks, as ``line 12, [roles] "code": what is it?`` does."""
        table = f", {self.table}" if self.table else ""
        if self.column is None:
            return f"line {self.first:,}{table}: {self.text}"
        name = json.dumps(self.column, ensure_ascii=False)
        return f"line {self.first:,}{table} {name}: {self.text}"


def open_questions(text: str) -> tuple[OpenQuestion, ...]:
    """The open questions of a plan, in its order."""
    lines, found = text.splitlines(), []
    for number, line in enumerate(lines):
        if not _ASKING.match(line):
            continue
        end = number + 1
        while end < len(lines) and _CONTINUES.match(lines[end]):
            end += 1
        said = " ".join(one.lstrip().lstrip("#").strip() for one in lines[number:end])
        column, asked = _column_of(said.removeprefix("?").strip())
        found.append(OpenQuestion(column, asked, _table_at(lines, number), number + 1, end))
    return tuple(found)


def _questions_quoted(questions: Sequence[OpenQuestion]) -> str:
    """The first questions with their lines, and how many more there are."""
    more = f" and {len(questions) - _QUOTED:,} more" if len(questions) > _QUOTED else ""
    return "; ".join(one.quoted.rstrip(".") for one in questions[:_QUOTED]) + more


def _column_of(said: str) -> tuple[str | None, str]:
    """The column that a question begins with, and the rest."""
    quoted = _NAMED.match(said)
    if quoted is None:
        return None, said
    try:
        return str(tomllib.loads(f"x = {quoted[1]}")["x"]), said[quoted.end() :]
    except tomllib.TOMLDecodeError:
        return None, said


def _table_at(lines: Sequence[str], number: int) -> str:
    """The head of the table that a line of comment belongs to."""
    below = next((one for one in lines[number:] if not one.lstrip().startswith("#")), "")
    above = (found for one in reversed(lines[:number]) if (found := _HEAD.fullmatch(one)))
    head = _HEAD.fullmatch(below) or next(above, None)
    return "" if head is None else head[1]


T = TypeVar("T", Roles, TrajectoryColumns)

Nulls = Literal["refuse", "category", "drop"]
"""What becomes of missing values: an error, a value of their own, or their rows are left out."""

Better = Literal["higher", "lower"]
"""Which of two values of a ranking column is the better one."""

Outside = Literal["refuse", "clamp"]
"""What becomes of values outside public bounds: an error, or the nearest value within."""


V = TypeVar("V")


def _different(order: tuple[V, ...]) -> tuple[V, ...]:
    if len(set(map(str, order))) < len(order):
        raise PydanticCustomError("different", "different texts")
    return order


def _day(edge: object) -> object:
    """The day that a text in ISO 8601 names; anything else is left to be refused."""
    try:
        return date.fromisoformat(edge) if isinstance(edge, str) else edge
    except ValueError:
        return edge


Edge = Annotated[Exact | date, BeforeValidator(_day, json_schema_input_type=int | float | str)]
"""A public border: a number, or a day."""


@checked(PlanError)
@dataclass(frozen=True)
class ColumnFacts:
    """What is publicly known about one column, and how its missing values are treated.

    Raises ``PlanError`` where bounds do not ascend, or values are to be clamped to bounds that are
    not there.
    """

    bounds: Annotated[
        tuple[Exact, Exact] | None,
        Strict(False),
        Says("two numbers, the lowest and the highest possible value"),
    ] = None
    """Public facts, never computed from the data."""
    nulls: Nulls | None = None
    """None: as the plan says for all columns."""
    type: ColumnType | None = None
    """None: as the kind says, or the file; "text" keeps codes such as zip codes from being
    numbers."""
    kind: Kind | None = None
    """What the values mean; None: what they look like.  See ``schema.names``."""
    format: DateFormat | None = None
    """How dates are written that are not in ISO 8601; see ``schema.hierarchy.ranges``."""
    outside: Outside = "refuse"
    """What becomes of values outside the bounds."""
    better: Better = "higher"
    """Which values rank rows first."""
    order: Annotated[
        Annotated[Several[str], Field(min_length=2), AfterValidator(_different)] | None,
        Says('a list of different texts, the lowest first: ["C", "B", "A"]'),
    ] = None
    """Of texts that have ranks: all of them, the lowest first.  They rank rows by it, and without
    another hierarchy are generalized to ranges of neighbours (``schema.hierarchy.ranks``)."""
    values: Annotated[
        Annotated[Several[str | int], Field(min_length=1), AfterValidator(_different)] | None,
        Says('a list of different texts or whole numbers: ["F", "M"]'),
    ] = None
    """All values that the column may have, where these are publicly known; see ``domain``."""
    edges: Annotated[
        Annotated[Several[Edge], Field(min_length=2)] | None,
        Says('a list of at least two numbers, or of days such as "2026-01-31", ascending'),
    ] = None
    """Public borders of ranges of numbers or days, the first and the last included."""
    shown: ShownAs | None = None
    """How a released file of another make shows the column, for ``voile audit``; None: that is
    found out."""

    def __post_init__(self) -> None:
        if self.bounds is not None and self.bounds[0] >= self.bounds[1]:
            msg = "bounds are the wrong way round: the first must be below the second"
            raise PlanError(msg)
        if self.outside == "clamp" and self.bounds is None:
            msg = 'outside = "clamp" needs the bounds that values are clamped to'
            raise PlanError(msg)
        if self.type and type_of(self.kind) not in {None, self.type}:
            msg = (
                f'kind = "{self.kind}" and type = "{self.type}" contradict each other; the kind '
                "alone will do"
            )
            raise PlanError(msg)
        if self.format and (self.type or self.kind not in {None, "date"}):
            msg = 'format is that of dates; leave type and kind out, or say kind = "date"'
            raise PlanError(msg)
        if self.bounds is not None and self.kind in UNORDERED:
            msg = f'bounds are those of numbers, and no value of kind = "{self.kind}" is one'
            raise PlanError(msg)

    @property
    def dated(self) -> bool:
        """Whether the column is said to hold dates or times."""
        return self.kind == "date" or self.format is not None

    @property
    def reads_as(self) -> ColumnType | None:
        """How the values are read, by type or kind; None: as the file says."""
        if any(isinstance(one, str) for one in self.values or ()):
            return self.type or type_of(self.kind) or "text"
        return self.type or type_of(self.kind)


@checked(PlanError)
@dataclass(frozen=True)
class ColumnPlan(ColumnFacts):
    """What a plan says about one column."""

    hierarchy: Hierarchy | None = None
    """What values are generalized to; None: a value stays as it is, or nothing is said of it."""

    def bind_hierarchy(self, column: str, values: DistinctValues) -> BoundHierarchy:
        """What the distinct values of the column become at each level; see ``declared``.

        Raises ``PlanError`` or ``TableError`` where values and hierarchy disagree.
        """
        if self.hierarchy is None and self.order is not None:
            return Ranks(self.order).bind(column, values)
        if self.hierarchy is None:
            return plain(column, values, self.bounds)
        return self.hierarchy.bind(column, values, self.bounds)


_NOTHING_STATED = of_valid(ColumnPlan)
"""Not validated, which would have a schema made for each release that says nothing of a column."""


@checked(PlanError)
@dataclass(frozen=True)
class ColumnTable(ColumnFacts, HierarchyKeys):
    """The same as a table of a file states it."""

    def in_folder(self, folder: Path) -> ColumnPlan:
        """With the hierarchy that is declared, read from its file if it stands in one."""
        facts = {said.name: getattr(self, said.name) for said in fields(ColumnFacts)}
        return of_valid(ColumnPlan, **facts, hierarchy=self.read(folder))


@checked(PlanError)
@dataclass(frozen=True)
class Method:
    """The name of a method and its parameters, not yet validated."""

    name: str
    parameters: Document = field(default_factory=dict)


@checked(PlanError)
@dataclass(frozen=True)
class PlanStep:
    """A step of a chain before the method of a plan, or after it, not yet validated."""

    kind: str
    """A coding, or the name of a method."""
    parameters: Document = field(default_factory=dict)
    after: bool = False
    """Whether it follows the method."""

    def document(self) -> Document:
        """The step as a file states it."""
        return {"kind": self.kind, **self.parameters, **({"after": True} if self.after else {})}


@checked(PlanError)
@dataclass(frozen=True)
class Plan:
    """Everything a custodian decided."""

    roles: Annotated[Roles, WhenMet(Roles)]
    method: Method | None = None
    """None: a plan that is only good for inspecting."""
    steps: tuple[PlanStep, ...] = ()
    """What is done before the method, and after it, in this order."""
    nulls: Nulls = "refuse"
    missing: Several[str] = ()
    columns: Mapping[str, Annotated[ColumnPlan, WhenMet(ColumnPlan)]] = field(default_factory=dict)
    budget: Annotated[BudgetPlan, WhenMet(BudgetPlan)] | None = None
    """None: what releases spend is not accounted."""
    trajectory: Annotated[TrajectoryColumns, WhenMet(TrajectoryColumns)] | None = None
    """None: the rows are not reports of trips."""
    tables: tuple[Annotated[TablePlan, WhenMet(TablePlan)], ...] = ()
    """Tables of counts and sums, for ``voile table``."""
    protection: Annotated[Protection, WhenMet(Protection)] | None = None
    """What protects their cells."""
    input: Annotated[InputLayout, WhenMet(InputLayout)] = USUAL
    """How the table is laid out in its file."""
    accept_questions: bool = False
    """Whether it may be published though questions are open."""
    questions: tuple[OpenQuestion, ...] = field(default=(), compare=False)
    """Open questions, as they stand in its file."""
    source: str = field(default="", compare=False)
    """Where it stands, for messages; empty for a plan made in Python."""

    def __post_init__(self) -> None:
        for name in self.roles.quasi_identifiers:
            if (column := self.columns.get(name)) is not None and column.kind == "text":
                msg = (
                    f'[columns.{name}] kind = "text": free text cannot be a quasi-identifier: '
                    "hardly two people write the same, so nothing of it would be left, and what "
                    "they wrote may name anybody. Leave the column out; or, if it holds names of "
                    'groups, say kind = "nominal"'
                )
                raise PlanError(msg)
        if self.trajectory is None:
            return
        taken = {name: role for role, names in self.roles.by_role.items() for name in names}
        for what, name in self.trajectory.named.items():
            if name in taken:
                msg = (
                    f"[roles] column {name!r} is named in {taken[name]} and is the {what} of a "
                    "trajectory; give it one role"
                )
                raise PlanError(msg)

    @property
    def used(self) -> tuple[str, ...]:
        """Columns that a table is read with: what may be published, trajectories, and persons."""
        names = (*self.roles.published, *(self.trajectory.names if self.trajectory else ()))
        return tuple(dict.fromkeys((*names, *self.roles.named_units.values())))

    def column(self, name: str) -> ColumnPlan:
        """What is said of a column; where nothing is, a plan that says nothing."""
        return self.columns.get(name, _NOTHING_STATED)

    @property
    def texts(self) -> tuple[str, ...]:
        """Columns whose values are texts, whatever they look like."""
        declared = (name for name, column in self.columns.items() if column.reads_as == "text")
        return tuple(dict.fromkeys((*declared, *self.roles.named_units.values())))

    def error(self, message: str) -> PlanError:
        """What is wrong with the plan, beginning with the file that it stands in."""
        return PlanError(f"{self.source}: {message}" if self.source else message)

    def located(self, error: PlanError) -> PlanError:
        """An error that begins with the file that the plan stands in, if it does not yet."""
        text = str(error)
        return error if self.source and text.startswith(self.source) else self.error(text)

    @property
    def questions_open(self) -> str | None:
        """How many questions are open that the plan does not accept, as a clause; None for none."""
        count = len(self.questions)
        if not count or self.accept_questions:
            return None
        return f"{count:,} question{'s are' if count > 1 else ' is'} open"

    def refuse_open_questions(self) -> None:
        """Raise ``PlanError`` where questions are open that the plan does not accept."""
        if (said := self.questions_open) is None:
            return
        msg = (
            f'{said}, in lines that begin with "{ASKS}": '
            f"{_questions_quoted(self.questions)}. Answer each and remove its line, or "
            "say accept_questions = true at the top of the plan, which the release shows"
        )
        raise self.error(msg)

    @property
    def without_method(self) -> str:
        """That the plan has no method, and which of its questions to answer first."""
        if not self.questions:
            return "the plan has no [method] table; say how to publish"
        return (
            "the plan has no [method] table, and accepting its open questions gives it none. "
            f"Answer them, and say how to publish: {_questions_quoted(self.questions)}"
        )

    def bind(self, columns: Iterable[str]) -> None:
        """Check the plan's names against a table's columns; raises ``PlanError``."""
        known = list(columns)
        for number, table in enumerate(self.tables, 1):
            for name in (name for level in table.levels for name in level):
                if name not in known:
                    msg = (
                        f"[[tables]] dimensions of {table.name or f'table {number}'} name the "
                        f"column {name!r}, which the table does not have{nearest(name, known)}"
                    )
                    raise self.error(msg)
        try:
            self.roles.bind(known)
        except PlanError as error:
            raise self.error(str(error)) from None
        for what, name in (self.trajectory.named if self.trajectory else {}).items():
            if name not in known:
                msg = (
                    f"[roles] {what} is the column {name!r}, which the table does not have"
                    f"{nearest(name, known)}"
                )
                raise self.error(msg)
        for name in self.columns:
            if name not in known:
                msg = (
                    f"[columns.{name}] describes a column that the table does not have"
                    f"{nearest(name, known)}"
                )
                raise self.error(msg)

    def with_valid(self, **fields_: object) -> Plan:
        """The plan with fields that are valid, as ``of_valid`` has them."""
        return of_valid(
            Plan, **{one.name: getattr(self, one.name) for one in fields(Plan)} | fields_
        )

    def nulls_of(self, column: str) -> Nulls:
        """What becomes of the missing values of a column."""
        stated = self.columns.get(column)
        return self.nulls if stated is None else stated.nulls or self.nulls


def read_plan(path: str | Path) -> Plan:
    """Read and validate a plan; raises ``PlanError`` naming the file and the key."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
        document = tomllib.loads(text, parse_float=Decimal)
    except FileNotFoundError:
        msg = f"{path}: there is no such plan"
        raise PlanError(msg) from None
    except (OSError, UnicodeDecodeError):
        msg = f"{path}: the plan cannot be read as a UTF-8 text file"
        raise PlanError(msg) from None
    except tomllib.TOMLDecodeError as error:
        msg = f"{path}: the plan is not valid TOML: {error}"
        raise PlanError(msg) from None
    try:
        plan = parse_plan(document, path.parent)
    except PlanError as error:
        msg = f"{path}: {error}"
        raise PlanError(msg) from None
    return plan.with_valid(source=str(path), questions=open_questions(text))


def parse_plan(document: Document, folder: str | Path = ".") -> Plan:
    """A plan from a parsed TOML document; raises ``PlanError``.

    Files that the plan names are looked for in ``folder``, the working directory by default.
    """
    stated: PlanDocument = read(PlanDocument, document, "", PlanError, public=True, tables=True)
    columns = {}
    for name, column in stated.columns.items():
        try:
            columns[name] = column.in_folder(Path(folder))
        except PlanError as error:
            msg = f"[columns.{name}] {error}"
            raise PlanError(msg) from None
    return of_valid(
        Plan,
        roles=stated.roles.of(Roles),
        method=None if stated.method is None else stated.method.of(document),
        steps=tuple(
            step.of(given) for step, given in zip(stated.steps, document["steps"], strict=True)
        )
        if stated.steps
        else (),
        nulls=stated.nulls,
        missing=stated.missing,
        accept_questions=stated.accept_questions,
        columns=columns,
        budget=stated.budget,
        tables=stated.tables,
        protection=stated.protection,
        input=stated.input,
        trajectory=(
            stated.roles.of(TrajectoryColumns)
            if {named.name for named in fields(TrajectoryColumns)}
            & document.get("roles", {}).keys()
            else None
        ),
    )


@checked(PlanError)
@dataclass(frozen=True)
class RolesTable(TrajectoryColumns, Roles):
    """The table of roles in a file, in which those of trajectories stand too."""

    def __post_init__(self) -> None:
        Roles.__post_init__(self)
        TrajectoryColumns.__post_init__(self)

    def of(self, kind: type[T]) -> T:
        """The roles of one kind."""
        return of_valid(kind, **{named.name: getattr(self, named.name) for named in fields(kind)})


class MethodTable(Value):
    """The name of a method, beside which its parameters stand."""

    model_config = ConfigDict(extra="allow")

    name: Annotated[str, Says('the name of a method, for example "ke-anonymity"')]

    @model_validator(mode="before")
    @classmethod
    def _belongs_elsewhere(cls, table: Any) -> Any:
        for key in ("nulls", "missing", "accept_questions"):
            of_method = isinstance(table, Mapping) and isinstance(table.get(key), str)
            if isinstance(table, Mapping) and key in table and not (key == "missing" and of_method):
                msg = f"{key} belongs at the top of the plan, above the first [table]"
                raise ValueError(msg)
        return table

    def of(self, document: Document) -> Method:
        """The method, its parameters as the document has them."""
        given = {key: value for key, value in document["method"].items() if key != "name"}
        return Method(self.name, given)


class StepTable(Value):
    """A step of a chain, beside which its parameters stand."""

    model_config = ConfigDict(extra="allow")

    kind: Annotated[str, Says('the kind of a step, for example "top-coding"')]
    """``top-coding``, ``bottom-coding``, ``rounding``, ``recoding``, or the name of a method."""
    after: bool = False
    """Whether the step follows the method."""

    def of(self, given: Document) -> PlanStep:
        """The step, its parameters as the document has them."""
        own = {key: value for key, value in given.items() if key not in {"kind", "after"}}
        return PlanStep(self.kind, own, self.after)


class PlanDocument(Value):
    """What the file of a plan may hold."""

    nulls: Nulls = "refuse"
    missing: Annotated[Several[str], Says('a list of texts, for example ["?"]')] = ()
    accept_questions: bool = False
    input: Annotated[InputLayout, WhenMet(InputLayout)] = USUAL
    roles: RolesTable = Field(default_factory=RolesTable)
    columns: dict[str, Annotated[ColumnTable, WhenMet(ColumnTable)]] = Field(default_factory=dict)
    method: MethodTable | None = None
    steps: Several[StepTable] = ()
    budget: Annotated[BudgetPlan, WhenMet(BudgetPlan)] | None = None
    tables: Several[Annotated[TablePlan, WhenMet(TablePlan)]] = ()
    protection: Annotated[Protection, WhenMet(Protection)] | None = None
