"""DuckDB keeps the contract of all engines, and reads files as Polars does."""

from __future__ import annotations

import stat
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from voile.schema.persons import Occurrences
from voile.schema.plan import Plan
from voile.table import published
from voile.table.engines.duckdb import DuckDBEngine, memory_limit, session
from voile.table.engines.duckdb import rows as duckdb_rows
from voile.table.engines.duckdb.rows import DuckDBRows
from voile.table.engines.duckdb.session import DuckDBHandle
from voile.table.engines.polars import PolarsEngine
from voile.table.keeping import KeptRows
from voile.table.opening import open_frame
from voile.table.private import PrivateTable
from voile.table.published import PublishedTable, compact_frame
from voile_base.errors import InputError, OutOfMemoryError, TableError
from voile_base.values.expressions import Call, Column, Literal
from voile_tests.table.engine_contract import EngineContract
from voile_tests.table.kernel_contract import awkward

ENGINE = DuckDBEngine()


@pytest.mark.slow
class TestDuckDBTable(EngineContract):
    """Rows in a database."""

    quick_examples = 4

    def open(
        self,
        frame: pl.DataFrame,
        plan: Plan,
        *,
        record_key: str | None = None,
        carried: KeptRows | None = None,
    ) -> PrivateTable:
        return open_frame(frame, plan, record_key=record_key, carried=carried, engine=ENGINE)

    def rows_of(self, published: PublishedTable) -> pl.DataFrame:
        shown: pl.DataFrame = published.to_native()
        return shown


MORE = {
    "fine": pl.Datetime("ns"),
    "coarse": pl.Datetime("ms"),
}


def files(rows: int) -> pl.DataFrame:
    """All kinds of values that a file may hold."""
    frame = awkward(rows)
    more = [frame["moment"].cast(dtype).alias(name) for name, dtype in MORE.items()]
    texts = frame["text"].cast(pl.Categorical).alias("category")
    return frame.with_columns(*more, texts, pl.Series("nothing", [None] * rows))


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv"])
def test_a_file_is_read_as_polars_reads_it(tmp_path: Path, ending: str) -> None:
    """Values, types and numbers of rows, before the file is read and after."""
    path = tmp_path / f"table.{ending}"
    frame = files(500)
    if ending == "csv":
        frame.drop("duration", "zoned", "nothing").write_csv(path)
    else:
        (frame.write_parquet if ending == "parquet" else frame.write_ipc)(path)
    one, other = (engine.scan(path) for engine in (ENGINE, PolarsEngine()))
    assert (one.names, one.format, one.notes) == (other.names, other.format, other.notes)
    for read in (False, True):
        rows, expected = (it.rows.read() if read else it.rows for it in (one, other))
        assert rows.schema == expected.schema
        shown, known = (pl.DataFrame(it.numbered("n").to_arrow()) for it in (rows, expected))
        assert shown.equals(known)


@pytest.mark.parametrize("read", [False, True])
@pytest.mark.parametrize("text", ["{}", "{x", "'", "a'; DROP TABLE x --", "\0", 'say "hi"', "%"])
def test_texts_are_found_whatever_they_hold(tmp_path: Path, text: str, read: bool) -> None:
    """A literal is a value, numbered or not, and never a part of a statement."""
    path = tmp_path / "table.parquet"
    pl.DataFrame({"t": ["a", text, None, text]}).write_parquet(path)
    rows = ENGINE.scan(path).rows
    rows = rows.read() if read else rows
    assert rows.tally(Call("=", (Column("t"), Literal(text)))).rows == 2
    assert rows.filter(Call("in", (Column("t"), Literal(text), Literal("b")))).height == 2
    assert rows.occurrences("t", [text]) == Occurrences(1, 1, 1)


@pytest.mark.parametrize("name", ["plain", "what's [1] {x} *?"])
def test_a_folder_is_read_in_the_order_of_its_files(tmp_path: Path, name: str) -> None:
    """Rows are numbered through all of them, whatever the folder is called."""
    tmp_path = tmp_path / name
    tmp_path.mkdir()
    parts = [pl.DataFrame({"x": [i, None, -i], "t": [f"t{i}", None, ""]}) for i in range(12)]
    for number, part in enumerate(parts):
        part.write_parquet(tmp_path / f"part-{number}.parquet")
    shown = pl.DataFrame(ENGINE.scan(tmp_path).rows.read().numbered("n").to_arrow())
    assert shown.select("x", "t").equals(pl.concat(parts))
    assert shown["n"].to_list() == list(range(1, 37))


def test_a_file_that_changes_while_it_is_read_is_refused(tmp_path: Path) -> None:
    """The message names the file and says what to do."""
    path = tmp_path / "table.parquet"
    pl.DataFrame({"x": [1, 2, 3]}).write_parquet(path)
    rows = ENGINE.scan(path).rows
    pl.DataFrame({"x": [1, 2, 3, 4]}).write_parquet(path)
    with pytest.raises(TableError, match=r"table\.parquet.*changed while it was read"):
        rows.read()


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    """A file that is broken in its middle is named, and nothing of it is quoted."""
    path = tmp_path / "table.parquet"
    pl.DataFrame({"x": [f"planted-{i}" for i in range(20_000)]}).write_parquet(path)
    content = bytearray(path.read_bytes())
    content[200:4000] = bytes(3800)
    path.write_bytes(content)
    with pytest.raises(TableError, match=r"table\.parquet") as caught:
        ENGINE.scan(path).rows.read()
    assert "planted" not in str(caught.value)


def test_parts_with_different_columns_are_refused(tmp_path: Path) -> None:
    """As with any engine."""
    pl.DataFrame({"x": [1]}).write_parquet(tmp_path / "a.parquet")
    pl.DataFrame({"x": ["1"]}).write_parquet(tmp_path / "b.parquet")
    with pytest.raises(TableError, match="same columns of the same types"):
        ENGINE.scan(tmp_path)


def test_temporary_data_is_for_its_owner_and_goes(tmp_path: Path) -> None:
    """A folder that nobody else may enter, removed with the last data set."""
    engine = DuckDBEngine(tmp_path)
    rows = engine.of_arrow(pl.DataFrame({"x": [1, 2]}).to_arrow())
    (folder,) = tmp_path.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert rows.height == 2
    del rows, engine
    assert not list(tmp_path.iterdir())


def test_folders_of_ended_processes_are_removed(tmp_path: Path) -> None:
    """What a process that was killed has left behind, and never that of one that lives."""
    orphan = tmp_path / ".voile-duckdb-orphan"
    orphan.mkdir()
    (orphan / "lock").touch()
    living = DuckDBEngine(tmp_path).of_arrow(pl.DataFrame({"x": [1]}).to_arrow())
    assert not orphan.exists()
    (own,) = tmp_path.iterdir()
    other = DuckDBHandle(tmp_path, 64 << 20)
    assert own.exists()
    assert other.folder.exists()
    assert living.height == 1


@pytest.mark.parametrize(
    ("said", "error", "means"),
    [
        ("Out of Memory Error: failed to pin block", OutOfMemoryError, "VOILE_DUCKDB_MEMORY"),
        ("IO Error: No space left on device", InputError, "disk with the temporary data"),
        ("IO Error: could not read", TableError, "files are whole"),
    ],
)
def test_what_fails_while_rows_stream_is_told(
    tmp_path: Path, said: str, error: type[Exception], means: str
) -> None:
    """Whichever rows came before, as Arrow hands on what DuckDB says, and without its words."""
    session = DuckDBHandle(tmp_path, 256 << 20)
    failing = f"CASE WHEN range = 900000 THEN error('{said} of people') ELSE '' END"
    rows = session.stream(f"SELECT {failing} FROM range(1000000)", 2048)
    with pytest.raises(error, match=means) as caught:
        list(rows)
    assert "people" not in str(caught.value)
    session.close()


@pytest.mark.parametrize(("mebibytes", "threads"), [(64, 1), (256, 2), (1000, 8), (8000, 8)])
def test_threads_are_as_many_as_memory_is_enough_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mebibytes: int, threads: int
) -> None:
    """On a machine with many processors, too."""
    monkeypatch.setattr("os.cpu_count", lambda: 64)
    session = DuckDBHandle(tmp_path, mebibytes << 20)
    assert session.rows("SELECT current_setting('threads')") == [(threads,)]
    session.close()


@pytest.mark.parametrize(
    ("asked", "size"), [("4GiB", 4 << 30), ("512MB", 512 << 20), ("1.5g", 3 << 29)]
)
def test_memory_may_be_limited(monkeypatch: pytest.MonkeyPatch, asked: str, size: int) -> None:
    """By the environment, in usual words."""
    monkeypatch.setenv("VOILE_DUCKDB_MEMORY", asked)
    assert memory_limit() == size


@pytest.mark.parametrize("asked", ["much", "1", "-4GiB", "4 apples"])
def test_a_limit_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch, asked: str) -> None:
    """With an example."""
    monkeypatch.setenv("VOILE_DUCKDB_MEMORY", asked)
    with pytest.raises(InputError, match="such as 4GiB"):
        memory_limit()


def test_a_frame_comes_back_as_it_came() -> None:
    """A relation of DuckDB as a relation, with types and names of its own."""
    import duckdb  # noqa: PLC0415

    relation = duckdb.sql("SELECT DATE '2020-01-01' AS \"a b\", 'x' AS t, 1.5::DECIMAL(4, 1) AS d")
    source = ENGINE.of_native(relation)
    assert source.convert is not None
    back = source.convert(source.rows)
    assert back.columns == ["a b", "t", "d"]
    assert back.fetchall() == relation.fetchall()


@pytest.mark.parametrize(
    "columns", [["small"], ["text", "small"], ["truth", "date"], ["double"], ["large"]]
)
def test_a_rank_is_that_of_all_rows(columns: list[str]) -> None:
    """Whoever is left out before somebody asks for it, and whichever columns tell equals."""
    shown = []
    for engine in (ENGINE, PolarsEngine()):
        rows = engine.of_arrow(awkward(300).to_arrow()).numbered("n").rank("rank", columns, [])
        left = rows.filter(Call(">", (Column("small"), Literal(-100)))).ordered(["n"], ["n"])
        shown += [pl.DataFrame(it.select(["n", "rank"]).to_arrow()) for it in (left, rows)]
    assert shown[0].equals(shown[2])
    assert shown[1].equals(shown[3])
    assert shown[0].sort("n").equals(shown[1].filter(pl.col("n").is_in(shown[0]["n"])))


def test_few_values_that_stand_often_are_permuted_some_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What is repeated at once does not grow with the rows: whole groups, one at the least."""
    monkeypatch.setattr(duckdb_rows, "_AT_ONCE", 100)
    rows = {
        "g": [0, 0, 1, 2, 2, 3, 4, 4, 4],
        "v": [7, 8, 7, 7, 9, 8, 1, 2, 3],
        "n": [30, 20, 50, 10, 10, 300, 40, 40, 40],
    }
    counted = pl.DataFrame(rows).to_arrow()

    for size in range(1, 10):
        found = list(duckdb_rows._whole_groups(counted.to_batches(size)))
        assert all(len(set(group)) == 1 or sum(counts) <= 100 for group, _, counts in found)
        for place, expected in enumerate(rows.values()):
            assert np.concatenate([np.asarray(part[place]) for part in found]).tolist() == expected


def test_numbers_of_rows_survive_functions_and_choices(tmp_path: Path) -> None:
    """A row has the number that it has in its files, whatever tables are made on the way."""
    for part in range(3):
        x = pl.Series("x", range(part * 70_000, (part + 1) * 70_000))
        pl.DataFrame([x]).write_parquet(tmp_path / f"{part}.parquet", row_group_size=9_000)
    rows = ENGINE.scan(tmp_path).rows.read()
    chosen = rows.filter(Call(">", (Column("x"), Literal(1_000))))
    double = pa.schema([pa.field("y", pa.int64())])
    made = chosen.map(lambda batch: [pc.multiply(batch[0], 2)], ["x"], double)
    for each in (rows, chosen, made, made.ordered(["y"], ["y"])):
        shown = pl.DataFrame(each.numbered("number").to_arrow())
        assert (shown["number"] == shown["x"] + 1).all()
    large = made.filter(Call(">", (Column("y"), Literal(200_000))))
    assert pl.DataFrame(large.numbered("n").to_arrow())["n"].to_list() == [*range(100_002, 210_001)]


@pytest.mark.slow
def test_a_table_that_is_large_for_the_memory_is_made_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the folder of what is spilled, with the same rows, and gone with it; others are not."""
    frame = pl.DataFrame(
        {"t": ["b", None, "a"] * 100_000, "x": range(300_000), "y": [0.5, None, 1.5] * 100_000}
    )
    frame.write_parquet(tmp_path / "t.parquet")
    spilled = tmp_path / "spilled"
    spilled.mkdir()
    monkeypatch.setenv("VOILE_DUCKDB_MEMORY", "64MiB")
    for share, on_disk in ((1 / 4, False), (1 / 20, True)):
        monkeypatch.setattr(session, "_LARGE", share)
        engine = DuckDBEngine(spilled)
        rows = engine.scan(tmp_path / "t.parquet").rows.read().ordered(["t", "x"])
        (folder,) = spilled.iterdir()
        assert (folder / "tables").exists() is on_disk
        kept = rows.filter(Call(">=", (Column("x"), Literal(7))))
        assert kept.union(kept).height == 2 * (300_000 - 7)
        assert pl.DataFrame(rows.to_arrow()).equals(frame.sort("t", "x"))
        del kept, rows, engine
        assert not list(spilled.iterdir())


def test_a_frame_of_many_rows_keeps_no_batch_that_it_was_read_from(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its numbers are copies: one column of a batch would hold the texts of all others."""
    monkeypatch.setattr(published, "LARGE", 10)
    whole = pl.DataFrame({"number": range(100), "text": ["a", "b"] * 50})
    rows, held = ENGINE.of_arrow(whole.to_arrow()), list[pa.RecordBatch]()
    read = type(rows).batches

    def watched(self: DuckDBRows, *told: int) -> Iterator[pa.RecordBatch]:
        for batch in read(self, *told):
            held.append(batch)
            yield batch

    monkeypatch.setattr(type(rows), "batches", watched)
    frame = compact_frame(rows)
    assert frame["number"].equals(whole["number"])
    assert frame["text"].cast(pl.String).equals(whole["text"])
    of_batches = {one.column("number").buffers()[1].address for one in held}
    kept = {chunk.to_arrow().buffers()[1].address for chunk in frame["number"].get_chunks()}
    assert of_batches
    assert not kept & of_batches
