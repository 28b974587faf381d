"""Rows carried over stand behind those of any input, in the type of the column, or are refused."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from voile.schema.plan import ColumnPlan, Plan
from voile.schema.roles import Roles
from voile.table.engines.polars import PolarsEngine
from voile.table.keeping import KeptRows
from voile.table.opening import open_frame, open_table
from voile_base.errors import TableError

PLAN = Plan(
    Roles(quasi_identifiers=("town", "day"), sensitive=("weight",)),
    nulls="category",
    columns={"town": ColumnPlan(nulls="category")},
)
POOL = pl.DataFrame(
    {
        "town": ["Aix", None, "Aix"],
        "day": pl.Series(["2020-01-01", "2020-01-02", "2020-01-01"]).str.to_date(),
        "weight": [1, 2, 3],
    }
)


def carried(frame: pl.DataFrame) -> KeptRows:
    return KeptRows.of(PolarsEngine().of_native(frame).rows)


def opened(column: pl.Series, more: pl.Series, declared: ColumnPlan | None = None) -> list[Any]:
    """The distinct values of a column with carried values behind its own."""
    plan = Plan(
        Roles(quasi_identifiers=("c",)),
        nulls="category",
        columns={"c": declared} if declared else {},
    )
    table = open_frame(
        column.alias("c").to_frame(), plan, carried=carried(more.alias("c").to_frame())
    )
    assert table.rows == len(column) + len(more)
    return list(table.count_combinations(["c"]).values[0].texts)


@pytest.mark.parametrize("name", ["pool.csv", "pool.parquet", "pool.arrow", "pool.arrows"])
def test_rows_join_every_format(tmp_path: Path, name: str) -> None:
    """Texts, dates, numbers and missing values go on in each format."""
    path = tmp_path / name
    {
        "csv": POOL.write_csv,
        "parquet": POOL.write_parquet,
        "arrow": POOL.write_ipc,
        "arrows": POOL.write_ipc_stream,
    }[path.suffix[1:]](path)
    more = POOL.with_columns(town=pl.Series(["Brno", None, "Aix"]), weight=pl.Series([4, 5, 1]))
    table = open_table(path, PLAN, carried=carried(more))
    counts = table.count_combinations(["town", "day", "weight"])
    assert counts.values[0].texts == (None, "Aix", "Brno")
    assert counts.values[1].texts == ("2020-01-01", "2020-01-02")
    assert counts.values[2].texts == ("1", "2", "3", "4", "5")
    assert table.rows == 6
    assert sorted(counts.rows.tolist()) == [1, 1, 1, 1, 2]


@pytest.mark.parametrize(
    ("column", "more", "expected"),
    [
        (pl.Series([1, 2]), pl.Series([2.5]), ["1", "2", "2.5"]),
        (pl.Series([2.5]), pl.Series([1, 2]), ["1", "2", "2.5"]),
        (pl.Series([1], dtype=pl.UInt8), pl.Series([300]), ["1", "300"]),
        (pl.Series([Decimal("1.5")]), pl.Series([0.25]), ["0.25", "1.5"]),
        (pl.Series(["a"], dtype=pl.Categorical), pl.Series(["b"]), ["a", "b"]),
        (pl.Series([None, None], dtype=pl.String), pl.Series([7]), [None, "7"]),
        (pl.Series([7]), pl.Series([None], dtype=pl.Null), [None, "7"]),
        (pl.Series([7]), pl.Series([], dtype=pl.String), ["7"]),
    ],
)
def test_types_are_brought_together(
    column: pl.Series, more: pl.Series, expected: list[str | None]
) -> None:
    """Values of one kind keep what they are in the type that holds all of them."""
    assert opened(column, more) == expected


@pytest.mark.parametrize(
    ("column", "more", "declared", "expected"),
    [
        (pl.Series([120]), pl.Series(["340"]), "text", ["120", "340"]),
        (pl.Series([120]), pl.Series(["007"]), "text", ["007", "120"]),
        (pl.Series(["1.5"]), pl.Series([2.0]), "number", ["1.5", "2"]),
    ],
)
def test_declared_types_are_brought_together(
    column: pl.Series, more: pl.Series, declared: Any, expected: list[str]
) -> None:
    """What the plan turned into texts or numbers joins a column that it has yet to turn."""
    assert opened(column, more, ColumnPlan(type=declared)) == expected


@pytest.mark.parametrize(
    ("column", "more", "words"),
    [
        (pl.Series([12345]), pl.Series(["secret"]), "integer in the table and text in the rows"),
        (pl.Series(["secret"]), pl.Series([1.5]), "text in the table and decimal in the rows"),
        (pl.Series([2**53 + 1]), pl.Series([0.5]), "integer in the table and decimal in the rows"),
        (
            pl.Series([dt.datetime(2020, 1, 1)]),
            pl.Series([dt.datetime(2020, 1, 1, tzinfo=dt.UTC)]),
            "datetime in the table and datetime",
        ),
    ],
)
def test_types_that_disagree_are_refused(column: pl.Series, more: pl.Series, words: str) -> None:
    """No value changes silently, and the message holds none."""
    with pytest.raises(TableError, match=f"'c' is {words}") as caught:
        opened(column, more)
    message = str(caught.value)
    assert not any(str(value) in message for value in [*column.to_list(), *more.to_list()])


def test_a_column_that_was_not_carried_is_named() -> None:
    """A plan that needs more columns than the earlier one cannot take the rows."""
    with pytest.raises(TableError, match="column 'weight' is missing in the rows carried over"):
        open_frame(POOL, PLAN, carried=carried(POOL.drop("weight")))
