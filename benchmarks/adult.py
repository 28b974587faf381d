"""The Adult table of 30,162 rows as ARX ships it, with its hierarchies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import polars as pl

from benchmarks.data import shared_file
from voile.models.criteria import Criterion
from voile.publish.generalization.problem import Problem
from voile.schema.plan import ColumnPlan, Method, Plan, parse_plan
from voile.table.private import PrivateTable

__all__ = ["COLUMNS", "adult", "adult_file", "hierarchy_file", "plan_for", "problem_of"]

COLUMNS = (
    "sex",
    "age",
    "race",
    "marital-status",
    "education",
    "native-country",
    "workclass",
    "occupation",
    "salary-class",
)


def adult_file() -> Path:
    """The file: nine columns, separated by semicolons."""
    return shared_file("census/adult-arx.csv")


def adult() -> pl.DataFrame:
    """The rows in the order of the file."""
    return pl.read_csv(adult_file(), separator=";")


def hierarchy_file(column: str) -> Path:
    """The generalization hierarchy of a column."""
    return shared_file(f"census/hierarchies/adult-arx/{column}.csv")


def plan_for(sensitive: Sequence[str] = (), method: Method | None = None) -> Plan:
    """All columns that are not sensitive are quasi-identifiers with their hierarchies."""
    known = [column for column in COLUMNS if column not in sensitive]
    columns = {column: {"hierarchy": f"{hierarchy_file(column)}"} for column in known}
    roles = {"quasi_identifiers": known, "sensitive": list(sensitive)}
    return replace(parse_plan({"roles": roles, "columns": columns}), method=method)


def problem_of(table: PrivateTable, criteria: Sequence[Criterion], suppressible: int) -> Problem:
    """What a generalization algorithm is given of a table: counts and hierarchies."""
    plan = table.plan
    sensitive = [criterion.column for criterion in criteria if criterion.column]
    counts = table.count_combinations([*plan.roles.quasi_identifiers, *sensitive])
    values = dict(zip(counts.columns, counts.values, strict=True))
    hierarchies = tuple(
        plan.columns.get(column, ColumnPlan()).bind_hierarchy(column, values[column])
        for column in plan.roles.quasi_identifiers
    )
    return Problem(counts, hierarchies, tuple(criteria), suppressible)
