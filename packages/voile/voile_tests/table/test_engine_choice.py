"""Which engine holds a table when nobody says so, and what is said of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from voile.schema.plan import parse_plan
from voile.study.run import make_release
from voile.table import engines
from voile.table.engines import AUTO, engine_for
from voile.table.engines.duckdb import DuckDBEngine
from voile.table.engines.duckdb.session import DuckDBHandle
from voile.table.engines.polars import PolarsEngine
from voile.table.opening import open_table
from voile_base.errors import InputError

PLAN = parse_plan(
    {
        "roles": {"quasi_identifiers": ["age"], "sensitive": ["salary"]},
        "method": {"name": "ke-anonymity", "k": 2, "e": 1},
    }
)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "table.parquet"
    frame = pl.DataFrame({"age": [n % 7 for n in range(60)], "salary": [n % 5 for n in range(60)]})
    frame.write_parquet(path)
    frame.write_csv(tmp_path / "table.csv")
    return path


def short_of_memory(monkeypatch: pytest.MonkeyPatch, free: int) -> None:
    monkeypatch.setattr(engines, "available_memory", lambda: free)


def test_polars_holds_what_fits_comfortably(table: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight times the size of a Parquet file; nothing is said."""
    short_of_memory(monkeypatch, 8 * table.stat().st_size)
    assert isinstance(engine_for(AUTO, table), PolarsEngine)
    assert open_table(table, PLAN).notes == ()


def test_duckdb_holds_what_does_not_and_says_so(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One byte less is too little; the custodian reads why, and what would do otherwise."""
    short_of_memory(monkeypatch, 8 * table.stat().st_size - 1)
    assert isinstance(engine_for(AUTO, table), DuckDBEngine)
    (note,) = open_table(table, PLAN).notes
    assert "the engine duckdb holds it (--engine polars" in note


def test_other_files_frames_and_names_are_not_second_guessed(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """CSV is read as a whole by either; whoever names an engine gets it."""
    short_of_memory(monkeypatch, 1)
    assert isinstance(engine_for(AUTO, table.with_suffix(".csv")), PolarsEngine)
    assert isinstance(engine_for(AUTO, pl.read_parquet(table)), PolarsEngine)
    assert isinstance(engine_for("polars", table), PolarsEngine)
    assert isinstance(engine_for("duckdb", pl.read_parquet(table)), DuckDBEngine)


def test_without_duckdb_polars_holds_everything(
    table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is an extra; asking for it by name says which line installs it."""
    short_of_memory(monkeypatch, 1)
    monkeypatch.setattr(engines, "find_spec", lambda name: None)
    assert isinstance(engine_for(AUTO, table), PolarsEngine)

    def missing(name: str, extra: str, what: str) -> Any:
        msg = f"{what} needs {name}: pip install 'voile[{extra}]'"
        raise InputError(msg)

    monkeypatch.setattr("voile.table.engines.duckdb.session.library", missing)
    with pytest.raises(InputError, match=r"pip install 'voile\[duckdb\]'"):
        open_table(table, PLAN, engine=DuckDBEngine(table.parent))


def test_temporary_data_stands_beside_the_release_and_goes(table: Path, tmp_path: Path) -> None:
    """The same rows as with Polars, and nothing else is left in the folder."""
    place = tmp_path / "releases"
    place.mkdir()
    for engine in ("polars", "duckdb"):
        made = make_release(table, PLAN, place / engine, seed=1, engine=engine)
        del made
    assert sorted(each.name for each in place.iterdir()) == ["duckdb", "polars"]
    one, other = (pl.read_parquet(place / e / "data.parquet") for e in ("polars", "duckdb"))
    assert one.equals(other)


@pytest.mark.slow
def test_a_full_disk_of_temporary_data_is_said(tmp_path: Path) -> None:
    """What to do, and no fault of Voile."""
    session = DuckDBHandle(tmp_path, 64 << 20, 1)
    session.run("SET max_temp_directory_size = '1MiB'")
    with pytest.raises(InputError, match=r"temporary data .* is full.*TMPDIR"):
        session.created("SELECT range AS x, hash(range) AS y FROM range(8000000) ORDER BY y")
