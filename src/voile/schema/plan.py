"""The plan: what a custodian decides before any row is read, in TOML under version control.

    nulls   = "refuse"              # or "category", "drop"; may be set per column
    missing = ["?"]                 # texts that stand for a missing value

    [roles]
    identifiers = ["name"]
    quasi_identifiers = ["age", "sex"]
    sensitive = ["salary"]
    person = "row"                  # each row is another person; see ``schema.persons``

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

The parameters below ``[method]`` belong to the publisher, which validates them; everything else
is validated here.  Every mistake is a ``PlanError`` that names the file, the table and the key.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, get_args

from voile.errors import PlanError, nearest
from voile.schema.budget import BudgetPlan
from voile.schema.hierarchy.declared import HIERARCHY_KEYS, Hierarchy, plain, read_hierarchy
from voile.schema.hierarchy.generalized import BoundHierarchy, DistinctValues
from voile.schema.keys import known_keys, number, table_of
from voile.schema.roles import Roles
from voile.schema.trajectory import FILE_PARAMETERS, TRAJECTORY_METHODS, TrajectoryColumns

__all__ = [
    "ColumnPlan",
    "Method",
    "Nulls",
    "Outside",
    "Plan",
    "one_of",
    "parse_plan",
    "read_plan",
]

Nulls = Literal["refuse", "category", "drop"]
"""What becomes of missing values: an error, a value of their own, or their rows are left out."""

Better = Literal["higher", "lower"]
"""Which of two values of a ranking column is the better one."""

Outside = Literal["refuse", "clamp"]
"""What becomes of values outside public bounds: an error, or the nearest value within."""

ColumnType = Literal["text", "number"]

_TOP_LEVEL = ("nulls", "missing", "roles", "columns", "method", "budget")
_COLUMN = ("bounds", "outside", "nulls", "type", "better", "order", *HIERARCHY_KEYS)


@dataclass(frozen=True)
class ColumnPlan:
    """What is publicly known about one column, and how its missing values are treated.

    Raises ``PlanError`` where bounds are not two ascending numbers, or values are to be clamped to
    bounds that are not there.
    """

    bounds: tuple[Decimal, Decimal] | None = None
    """Public facts, never computed from the data."""
    nulls: Nulls | None = None
    """None: as the plan says for all columns."""
    type: ColumnType | None = None
    """None: as the file says; "text" keeps codes such as zip codes from being numbers."""
    outside: Outside = "refuse"
    """What becomes of values outside the bounds."""
    hierarchy: Hierarchy | None = None
    """What values are generalized to; None: a value stays as it is, or nothing is said of it."""
    better: Better = "higher"
    """Which values rank rows first."""
    order: tuple[str, ...] | None = None
    """Of texts that rank rows: all of them, the lowest first; None: the column holds numbers."""

    def __post_init__(self) -> None:
        if self.bounds is not None:
            object.__setattr__(self, "bounds", _bounds(self.bounds))
        if self.outside == "clamp" and self.bounds is None:
            msg = 'outside = "clamp" needs the bounds that values are clamped to'
            raise PlanError(msg)
        if self.order is not None:
            object.__setattr__(self, "order", _order(self.order))

    def bind_hierarchy(self, column: str, values: DistinctValues) -> BoundHierarchy:
        """What the distinct values of the column become at each level; see ``declared``.

        Raises ``PlanError`` or ``TableError`` where values and hierarchy disagree.
        """
        if self.hierarchy is None:
            return plain(column, values, self.bounds)
        return self.hierarchy.bind(column, values, self.bounds)


@dataclass(frozen=True)
class Method:
    """The name of a method and its parameters, not yet validated."""

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Plan:
    """Everything a custodian decided."""

    roles: Roles
    method: Method | None = None
    """None: a plan that is only good for inspecting."""
    nulls: Nulls = "refuse"
    missing: tuple[str, ...] = ()
    columns: Mapping[str, ColumnPlan] = field(default_factory=dict)
    budget: BudgetPlan | None = None
    """None: what releases spend is not accounted."""
    trajectory: TrajectoryColumns | None = None
    """None: the rows are not reports of trips."""
    source: str = field(default="", compare=False)
    """Where it stands, for messages; empty for a plan made in Python."""

    def __post_init__(self) -> None:
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
        """Columns that a table is read with: those that may be published, and trajectories."""
        return (*self.roles.published, *(self.trajectory.names if self.trajectory else ()))

    @property
    def texts(self) -> tuple[str, ...]:
        """Columns whose values are texts, whatever they look like."""
        return tuple(name for name, column in self.columns.items() if column.type == "text")

    def error(self, message: str) -> PlanError:
        """What is wrong with the plan, beginning with the file that it stands in."""
        return PlanError(f"{self.source}: {message}" if self.source else message)

    def bind(self, columns: Iterable[str]) -> None:
        """Check the plan's names against a table's columns; raises ``PlanError``."""
        known = list(columns)
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

    def nulls_of(self, column: str) -> Nulls:
        """What becomes of the missing values of a column."""
        return self.columns.get(column, ColumnPlan()).nulls or self.nulls


def read_plan(path: str | Path) -> Plan:
    """Read and validate a plan; raises ``PlanError`` naming the file and the key."""
    path = Path(path)
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8-sig"), parse_float=Decimal)
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
        return replace(parse_plan(document, path.parent), source=str(path))
    except PlanError as error:
        msg = f"{path}: {error}"
        raise PlanError(msg) from None


def parse_plan(document: Mapping[str, Any], folder: str | Path = ".") -> Plan:
    """A plan from a parsed TOML document; raises ``PlanError``.

    Files that the plan names are looked for in ``folder``, the working directory by default.
    """
    known_keys("the plan", document, _TOP_LEVEL)
    roles = table_of("[roles]", document.get("roles", {}))
    of_trajectory = [f.name for f in fields(TrajectoryColumns)]
    known_keys("[roles]", roles, [*(f.name for f in fields(Roles)), *of_trajectory])
    columns = table_of("[columns]", document.get("columns", {}))
    method = _method(document["method"], Path(folder)) if "method" in document else None
    named = {name: roles[name] for name in of_trajectory if name in roles}
    return Plan(
        roles=Roles(**{name: roles[name] for name in roles if name not in named}),
        method=method,
        nulls=one_of("nulls", document.get("nulls", "refuse"), Nulls),
        missing=_texts("missing", document.get("missing", [])),
        columns={name: _column(name, column, Path(folder)) for name, column in columns.items()},
        budget=(
            BudgetPlan.of_table(table_of("[budget]", document["budget"]))
            if "budget" in document
            else None
        ),
        trajectory=(
            TrajectoryColumns(**named)
            if named or (method and method.name in TRAJECTORY_METHODS)
            else None
        ),
    )


def one_of(where: str, value: object, choices: Any) -> Any:
    """The value, if a ``Literal`` type allows it; raises ``PlanError`` with the nearest one."""
    allowed = get_args(choices)
    if value not in allowed:
        hint = nearest(value, allowed) if isinstance(value, str) else ""
        msg = f"{where} must be one of {', '.join(map(repr, allowed))}{hint}"
        raise PlanError(msg)
    return value


def _method(value: object, folder: Path) -> Method:
    table = table_of("[method]", value)
    for key in ("nulls", "missing"):
        if key in table:
            msg = f"[method] {key} belongs at the top of the plan, above the first [table]"
            raise PlanError(msg)
    if not isinstance(table.get("name"), str):
        msg = '[method] needs a name, for example name = "ke-anonymity"'
        raise PlanError(msg)
    parameters = {key: table[key] for key in table if key != "name"}
    if table["name"] in TRAJECTORY_METHODS:
        for key in FILE_PARAMETERS:
            if isinstance(parameters.get(key), str):
                parameters[key] = str(folder / parameters[key])
    return Method(table["name"], parameters)


def _column(name: str, value: object, folder: Path) -> ColumnPlan:
    where = f"[columns.{name}]"
    keys = table_of(where, value)
    known_keys(where, keys, _COLUMN)

    choices = {"nulls": Nulls, "type": ColumnType, "outside": Outside, "better": Better}
    chosen = {
        key: one_of(f"{where} {key}", keys[key], allowed)
        for key, allowed in choices.items()
        if key in keys
    }
    hierarchy = read_hierarchy(where, keys, folder)
    try:
        return ColumnPlan(
            bounds=keys.get("bounds"), hierarchy=hierarchy, order=keys.get("order"), **chosen
        )
    except PlanError as error:
        msg = f"{where} {error}"
        raise PlanError(msg) from None


def _bounds(value: object) -> tuple[Decimal, Decimal]:
    match list(map(number, value)) if isinstance(value, list | tuple) else []:
        case [Decimal() as low, Decimal() as high]:
            pass
        case _:
            msg = "bounds must be two numbers, the lowest and the highest possible value"
            raise PlanError(msg)
    if low >= high:
        msg = "bounds are the wrong way round: the first must be below the second"
        raise PlanError(msg)
    return low, high


def _order(value: object) -> tuple[str, ...]:
    texts = list(value) if isinstance(value, list | tuple) else []
    if (
        len(texts) < 2
        or len(set(map(str, texts))) < len(texts)
        or not all(isinstance(text, str) for text in texts)
    ):
        msg = 'order must be a list of different texts, the lowest first: ["C", "B", "A"]'
        raise PlanError(msg)
    return tuple(texts)


def _texts(where: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        msg = f'{where} must be a list of texts, for example ["?"]'
        raise PlanError(msg)
    return tuple(value)
