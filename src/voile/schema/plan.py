"""The plan: what a custodian decides before any row is read, in TOML under version control.

    nulls   = "refuse"              # or "category", "drop"; may be set per column
    missing = ["?"]                 # texts that stand for a missing value

    [roles]
    quasi_identifiers = ["age", "sex"]
    sensitive = ["salary"]

    [columns.age]
    bounds = [17, 90]

    [method]
    name = "ke-anonymity"
    k = 3
    e = 2000

The parameters below ``[method]`` belong to the publisher, which validates them; everything else
is validated here.  Every mistake is a ``PlanError`` that names the file, the table and the key.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, get_args

from voile.errors import PlanError, nearest
from voile.schema.roles import Roles

__all__ = ["ColumnPlan", "Method", "Nulls", "Plan", "one_of", "read_plan"]

Nulls = Literal["refuse", "category", "drop"]
"""What becomes of missing values: an error, a value of their own, or their rows are left out."""

ColumnType = Literal["text", "number"]

_TOP_LEVEL = ("nulls", "missing", "roles", "columns", "method")


@dataclass(frozen=True)
class ColumnPlan:
    """What is publicly known about one column, and how its missing values are treated."""

    bounds: tuple[Decimal, Decimal] | None = None
    """Public facts, never computed from the data; a value outside is an error."""
    nulls: Nulls | None = None
    """None: as the plan says for all columns."""
    type: ColumnType | None = None
    """None: as the file says; "text" keeps codes such as zip codes from being numbers."""


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

    def bind(self, columns: Iterable[str]) -> None:
        """Check the plan's names against a table's columns; raises ``PlanError``."""
        known = list(columns)
        self.roles.bind(known)
        for name in self.columns:
            if name not in known:
                msg = (
                    f"[columns.{name}] describes a column that the table does not have"
                    f"{nearest(name, known)}"
                )
                raise PlanError(msg)

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
        return parse_plan(document)
    except PlanError as error:
        msg = f"{path}: {error}"
        raise PlanError(msg) from None


def parse_plan(document: Mapping[str, Any]) -> Plan:
    """A plan from a parsed TOML document; raises ``PlanError``."""
    _known_keys("the plan", document, _TOP_LEVEL)
    roles = _table("[roles]", document.get("roles", {}))
    _known_keys("[roles]", roles, [f.name for f in fields(Roles)])
    columns = _table("[columns]", document.get("columns", {}))
    return Plan(
        roles=Roles(**roles),
        method=_method(document["method"]) if "method" in document else None,
        nulls=one_of("nulls", document.get("nulls", "refuse"), Nulls),
        missing=_texts("missing", document.get("missing", [])),
        columns={name: _column(name, column) for name, column in columns.items()},
    )


def one_of(where: str, value: object, choices: Any) -> Any:
    """The value, if a ``Literal`` type allows it; raises ``PlanError`` with the nearest one."""
    allowed = get_args(choices)
    if value not in allowed:
        hint = nearest(value, allowed) if isinstance(value, str) else ""
        msg = f"{where} must be one of {', '.join(map(repr, allowed))}{hint}"
        raise PlanError(msg)
    return value


def _method(value: object) -> Method:
    table = _table("[method]", value)
    for key in ("nulls", "missing"):
        if key in table:
            msg = f"[method] {key} belongs at the top of the plan, above the first [table]"
            raise PlanError(msg)
    if not isinstance(table.get("name"), str):
        msg = '[method] needs a name, for example name = "ke-anonymity"'
        raise PlanError(msg)
    return Method(table["name"], {key: table[key] for key in table if key != "name"})


def _column(name: str, value: object) -> ColumnPlan:
    where = f"[columns.{name}]"
    table = _table(where, value)
    _known_keys(where, table, [f.name for f in fields(ColumnPlan)])
    return ColumnPlan(
        bounds=_bounds(f"{where} bounds", table["bounds"]) if "bounds" in table else None,
        nulls=one_of(f"{where} nulls", table["nulls"], Nulls) if "nulls" in table else None,
        type=one_of(f"{where} type", table["type"], ColumnType) if "type" in table else None,
    )


def _bounds(where: str, value: object) -> tuple[Decimal, Decimal]:
    match value:
        case [int() | Decimal() as low, int() | Decimal() as high] if not (
            isinstance(low, bool) or isinstance(high, bool)
        ):
            low, high = Decimal(low), Decimal(high)
        case _:
            msg = f"{where} must be two numbers, the lowest and the highest possible value"
            raise PlanError(msg)
    if not (low.is_finite() and high.is_finite() and low < high):
        msg = f"{where} are the wrong way round: the first must be below the second"
        raise PlanError(msg)
    return low, high


def _table(where: str, value: object) -> dict[str, Any]:
    if not isinstance(value, dict):
        msg = f"{where} must be a table of keys and values"
        raise PlanError(msg)
    return value


def _known_keys(where: str, table: Mapping[str, Any], known: Iterable[str]) -> None:
    known = list(known)
    for key in table:
        if key not in known:
            msg = f"{where}: unknown key {key!r}{nearest(key, known)} (known: {', '.join(known)})"
            raise PlanError(msg)


def _texts(where: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        msg = f'{where} must be a list of texts, for example ["?"]'
        raise PlanError(msg)
    return tuple(value)
