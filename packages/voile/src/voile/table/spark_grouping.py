"""Functions of whole groups asked of rows of Spark, which a task has sorted by group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from voile.table.protocol import GroupFunction
from voile.table.spark_columns import SparkColumn
from voile.table.spark_functions import AskedOfGroups
from voile.table.spark_relation import SparkRelation, ascending
from voile_base.ondemand import on_demand
from voile_base.version import VERSION

__all__ = ["Mapped", "mapped_by_groups"]

functions = on_demand("pyspark.sql.functions")


@dataclass(frozen=True, eq=False)
class Mapped:
    """What a function gave."""

    rows: SparkRelation
    made: dict[str, SparkColumn]
    """The new columns of the rows."""
    groups: SparkRelation
    """A row for each group, which has the column that tells groups, too."""
    of_groups: dict[str, SparkColumn]


def mapped_by_groups(
    relation: SparkRelation,
    columns: Mapping[str, SparkColumn],
    by: Sequence[str],
    ties: Sequence[str],
    asked: tuple[GroupFunction, pa.Schema, pa.Schema],
) -> Mapped:
    """Rows with more columns, and a row for each group, both of what stays with the workers.

    ``by`` begins with the column that tells groups, and ``ties`` are the session's columns by which
    rows stand that agree in it; ``asked`` is a function with the columns that it gives of the rows
    and of the groups.
    """
    session = relation.session
    function, gives, of_groups = asked
    made = {field.name: SparkColumn(session.name(), field.type) for field in gives}
    group = {field.name: SparkColumn(session.name(), field.type) for field in of_groups}
    first = session.name()
    leading = [column.ident for column in columns.values()]
    names = [*leading, *(name for name in relation.own if name not in leading)]
    order = [columns[name].ident for name in by]
    frame = relation.frame.select(*names).repartition(functions.col(order[0]))
    frame = frame.sortWithinPartitions(*ascending([*order, *ties]))
    asking = AskedOfGroups(
        VERSION,
        function,
        within=list(columns).index(by[0]),
        reads=[(name, column.type) for name, column in columns.items()],
        gives=[(c.ident, c.type) for c in made.values()],
        of_groups=[(c.ident, c.type) for c in group.values()],
        first=first,
        names=names,
    )
    kinds = {name: kind for name, kind in frame.dtypes}  # noqa: C416 - of pairs
    fields = [f"{name} {kinds[name]}" for name in names]
    fields += [f"{c.ident} {c.sql_type}" for c in (*made.values(), *group.values())]
    mapped = frame.mapInArrow(asking.__call__, ", ".join([*fields, f"{first} boolean"]))
    whole = replace(relation, frame=mapped).keeping()
    few = replace(whole.where(first), places=(order[0],), number=None)
    return Mapped(whole, made, few, group)
