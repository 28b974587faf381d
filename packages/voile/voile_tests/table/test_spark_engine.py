"""What Spark refuses and with which words, and what becomes of its files."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from click.testing import CliRunner

from voile.release.folder import manifest_of
from voile.table.arrays import array_of
from voile.table.engines import engine_of
from voile.table.engines.spark import rows as spark_rows
from voile.table.engines.spark import session
from voile.table.engines.spark.engine import SparkEngine
from voile.table.engines.spark.session import _require_installed, _require_reachable
from voile.table.reading import read_frame
from voile_base.errors import InputError, TableError
from voile_base.main import command as voile
from voile_base.randomness import Randomness
from voile_tests.table.kernel_contract import awkward
from voile_tests.table.spark import WARNINGS, engine, needs_spark, settings_of_spark, spark

pytestmark = [*map(pytest.mark.filterwarnings, WARNINGS)]
with_java = pytest.mark.usefixtures("java")


@pytest.fixture
def java() -> None:
    """Skips where Spark cannot run."""
    (mark,) = needs_spark.args
    if mark:
        pytest.skip(needs_spark.kwargs["reason"])


@pytest.mark.parametrize("master", ["spark://127.0.0.1:1", "sc://127.0.0.1:1/;token=secret"])
def test_a_master_that_does_not_answer_is_named(
    master: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At once, before Spark waits for it, and without what else its address holds."""
    monkeypatch.setattr(session, "_has_java", lambda: True)
    with pytest.raises(InputError, match=r"127\.0\.0\.1:1/?: nobody answers there") as caught:
        _require_reachable(master)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("master", ["cluster", "http://host:7077", "local[", ""])
def test_an_address_that_is_none_is_refused(master: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With examples."""
    monkeypatch.setattr(session, "_has_java", lambda: True)
    with pytest.raises(InputError, match=r"such as local\[4\], spark://host:7077"):
        _require_reachable(master)


def test_without_java_it_says_what_installs_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Spark would say that its gateway exited."""
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(InputError, match=r"Java 17 or later.*apt-get install openjdk"):
        _require_reachable("local[2]")


@pytest.mark.parametrize("version", ["3.5.4", "4.0.1"])
def test_an_old_version_is_refused(version: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the one that would do."""
    old = SimpleNamespace(__version__=version)
    monkeypatch.setattr(session, "library", lambda *_: old)
    with pytest.raises(InputError, match=rf"PySpark 4\.1 or later, and {version}"):
        _require_installed()


def test_a_master_goes_with_spark() -> None:
    """On every command that reads a table."""
    said = CliRunner().invoke(voile, ["inspect", "x.csv", "--master", "local"])
    assert "goes with --engine spark" in f"{said.output}{said.exception}"
    assert isinstance(engine_of("spark@local[3]"), SparkEngine)
    with pytest.raises(InputError, match="only spark has a --master"):
        engine_of("duckdb@local")


def test_parts_with_different_columns_are_refused(tmp_path: Path) -> None:
    """As with any engine, before a session is made."""
    pl.DataFrame({"x": [1]}).write_parquet(tmp_path / "a.parquet")
    pl.DataFrame({"x": ["1"]}).write_parquet(tmp_path / "b.parquet")
    with pytest.raises(TableError, match="same columns of the same types"):
        SparkEngine("local[2]").scan(tmp_path)


@pytest.mark.parametrize("first", [0, 1, 7])
def test_words_of_a_stream_are_found_by_their_places(first: int) -> None:
    """In any order: what a task asks for that has some places of many."""
    key = Randomness.seeded(1).key("x")
    places = np.random.default_rng(0).permutation(np.arange(first, first + 50))
    assert np.array_equal(key.stream_at(places), key.stream(first + 50)[places])


@pytest.mark.slow
@with_java
def test_workers_without_a_package_are_said() -> None:
    """A function that workers cannot import, as where they have no Voile."""
    absent = ModuleType("nowhere_to_be_found")
    exec("def function(batch): return [batch[0]]", absent.__dict__)
    sys.modules[absent.__name__] = absent
    try:
        rows = engine().of_arrow(pl.DataFrame({"x": [1]}).to_arrow())
        made = rows.map(absent.function, ["x"], pa.schema([("y", pa.int64())]))
        with pytest.raises(InputError, match=r"Spark have no Voile.*ship an environment"):
            made.to_arrow()
    finally:
        del sys.modules[absent.__name__]


@pytest.mark.slow
@with_java
@pytest.mark.parametrize("error", [ValueError, TableError])
def test_what_a_worker_raises_quotes_no_value(error: type[Exception]) -> None:
    """Errors of Voile are told as they are, all others by where they were raised."""

    def function(batch: pa.RecordBatch) -> list[Any]:
        message = "column 'x': row 1 is wrong" if error is TableError else str(batch[0][0])
        raise error(message)

    rows = engine().of_arrow(pl.DataFrame({"x": ["planted"]}).to_arrow())
    made = rows.map(function, ["x"], pa.schema([("y", pa.int64())]))
    with pytest.raises(RuntimeError if error is ValueError else TableError) as caught:
        made.to_arrow()
    assert "planted" not in str(caught.value)
    assert ("row 1 is wrong" if error is TableError else "ValueError in") in str(caught.value)


@pytest.mark.slow
@with_java
def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    """Before it is read, and before a release of it is written."""
    path = tmp_path / "table.parquet"
    frame = pl.DataFrame({"x": [1, 2, 3]})
    frame.write_parquet(path)
    rows, read = engine().scan(path).rows, engine().scan(path).rows.read()
    pl.concat([frame, frame]).write_parquet(path)
    with pytest.raises(TableError, match=r"table\.parquet.*changed while it was read"):
        rows.read()
    with pytest.raises(TableError, match="changed while it was read"):
        read.ordered(["x"]).write(tmp_path, "csv")


@pytest.mark.slow
@with_java
@pytest.mark.parametrize("shared", [True, False])
def test_a_release_may_be_several_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared: bool
) -> None:
    """In the order of the rows, by workers; through the driver where they do not see the folder."""
    if not shared:
        part = spark_rows._Part
        elsewhere = lambda folder, kinds: part(folder / "elsewhere", kinds)  # noqa: E731
        monkeypatch.setattr(spark_rows, "_Part", elsewhere)
    frame = awkward(400).drop("duration")
    rows = engine().of_arrow(frame.to_arrow()).map(_doubled, ["small"], _DOUBLED).ordered(["large"])
    with settings_of_spark(shuffle_partitions=4):
        files = rows.write(tmp_path, "parquet")
    assert (len(files) > 1) == shared
    assert manifest_of(tmp_path, files)
    beside = {str(each.relative_to(tmp_path)) for each in tmp_path.rglob("*") if each.is_file()}
    assert beside == set(files)
    assert not list(tmp_path.glob(".*"))
    read = pl.concat([pl.read_parquet(tmp_path / name) for name in files])
    assert read.equals(pl.DataFrame(rows.to_arrow()))
    if shared:
        assert read_frame(tmp_path / "data").frame.equals(read)


def _doubled(batch: pa.RecordBatch) -> list[pa.Array]:
    small = pl.Series(batch[0]).fill_null(0).cast(pl.Int64).to_numpy()
    return [array_of(small * 2)]


_DOUBLED = pa.schema([("twice", pa.int64())])


@pytest.mark.slow
@with_java
def test_a_frame_of_spark_stays_one() -> None:
    """With types and names of its own, lazily; types that Voile does not have are named."""
    made = spark_frame(
        "SELECT DATE'2020-01-01' AS `a b`, 'x' AS t, CAST(1.5 AS DECIMAL(4, 1)) AS d"
    )
    source = engine().of_native(made)
    assert source.convert is not None
    back = source.convert(source.rows)
    assert back.schema == made.schema
    assert back.collect() == made.collect()
    with pytest.raises(TableError, match=r"column 'm'.*map<string,int>.*drop it"):
        engine().of_native(spark_frame("SELECT map('a', 1) AS m"))


def spark_frame(statement: str) -> Any:
    engine()
    return spark().sql(statement)


@pytest.mark.slow
@with_java
def test_another_thread_works_with_the_same_session() -> None:
    """Commands work in threads of their own, where Spark names no active session."""
    here = spark()
    with ThreadPoolExecutor(1) as pool:
        there = pool.submit(lambda: SparkEngine(None)._session.spark).result()
    assert there.sparkContext is here.sparkContext
    assert spark().conf.get("spark.master") == "local[2]"
