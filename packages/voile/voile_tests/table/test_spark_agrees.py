"""Spark gives the rows that Polars gives, whatever its settings and however rows are spread."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from voile.schema.plan import Plan, parse_plan
from voile.table.engines.polars import PolarsEngine
from voile_tests.table.kernel_contract import awkward
from voile_tests.table.spark import WARNINGS, engine, needs_spark, settings_of_spark, spark
from voile_tests.table.test_engines_agree import PLANS, people, released, trips

pytestmark = [needs_spark, *map(pytest.mark.filterwarnings, WARNINGS)]


def planned(name: str) -> tuple[pl.DataFrame, Plan]:
    """A table and a plan, as for the other engines."""
    plan: dict[str, Any] = {"nulls": "category", **PLANS[name]}
    if name.startswith("geo"):
        del plan["nulls"]
    plan["method"] = {"name": name.split(maxsplit=1)[0], **plan["method"]}
    return trips() if name.startswith("geo") else people(), parse_plan(plan)


def require_equal(name: str, frame: pl.DataFrame | None = None) -> None:
    """Contents, types and order of rows; the method's decision; the private record."""
    given, plan = planned(name)
    frame = given if frame is None else frame
    one, other = (released(frame, plan, it) for it in (PolarsEngine(), engine()))
    assert one[0].schema == other[0].schema
    assert one[0].equals(other[0])
    assert one[1:] == other[1:]


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANS)
def test_a_release_is_the_same_on_spark(name: str) -> None:
    """All methods."""
    require_equal(name)


SETTINGS = {
    "ansi and plans in steps": {"ansi_enabled": True, "adaptive_enabled": True},
    "no ansi, one partition": {"ansi_enabled": False, "shuffle_partitions": 1},
    "seven partitions, another zone": {
        "shuffle_partitions": 7,
        "session_timeZone": "America/St_Johns",
    },
    "code of its own": {"codegen_wholeStage": True, "codegen_factoryMode": "FALLBACK"},
}


@pytest.mark.slow
@pytest.mark.parametrize("values", SETTINGS.values(), ids=list(SETTINGS))
def test_no_setting_of_spark_changes_a_release(values: dict[str, Any]) -> None:
    """ANSI mode, adaptive plans, numbers of partitions, zones and compiled code."""
    with settings_of_spark(**values):
        require_equal("ke-anonymity")


@pytest.mark.slow
def test_neither_do_the_partitions_of_its_source(tmp_path: Path) -> None:
    """A data frame of Spark whose rows were dealt to many tasks in another order."""
    names = ["age", "truth", "day", "town", "zero", "salary", "moment", "large", "unsigned"]
    frame = people().select(names).with_columns(pl.col("unsigned").cast(pl.Decimal(20, 0)))
    plan = parse_plan(
        {
            "nulls": "category",
            "roles": {"quasi_identifiers": names[:5], "keep": names[6:], "sensitive": ["salary"]},
            "method": {"name": "ke-anonymity", "k": 3, "e": 20},
        }
    )
    expected = released(frame, plan, PolarsEngine())[0]
    path = tmp_path / "people.parquet"
    frame.write_parquet(path)
    read = spark().read.parquet(str(path))
    for dealt in (read.repartition(11), read.orderBy("town").coalesce(1)):
        shown = released(dealt, plan, engine())[0]
        assert shown.drop("moment").equals(expected.drop("moment"))
        instants = [it["moment"].dt.convert_time_zone("UTC") for it in (shown, expected)]
        assert instants[0].equals(instants[1])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["one file", "a folder", "csv"])
def test_files_are_read_as_polars_reads_them(tmp_path: Path, kind: str) -> None:
    """Values, types and numbers of rows, those of a folder through all of its files."""
    frame = awkward(60).with_columns(
        pl.col("moment").cast(pl.Datetime("ms")).alias("coarse"),
        pl.Series("nothing", [None] * 60),
        pl.col("text").cast(pl.Categorical).alias("category"),
    ).drop("time")  # fmt: skip
    path = tmp_path / "table"
    if kind == "a folder":
        path.mkdir()
        for number, start in enumerate(range(0, 60, 6)):
            frame.slice(start, 6).write_parquet(path / f"part-{number}.parquet")
    elif kind == "csv":
        path = path.with_suffix(".csv")
        frame.drop("duration", "zoned", "nothing").write_csv(path)
    else:
        frame.write_parquet(path)
    with settings_of_spark(session_timeZone="Asia/Kathmandu"):
        one, other = (it.scan(path) for it in (engine(), PolarsEngine()))
        assert (tuple(one.names), one.format, one.notes) == (
            tuple(other.names),
            other.format,
            other.notes,
        )
        for read in (False, True):
            rows, expected = (it.rows.read() if read else it.rows for it in (one, other))
            assert rows.schema == expected.schema
            shown, known = (pl.DataFrame(it.numbered("n").to_arrow()) for it in (rows, expected))
            assert shown.equals(known)
