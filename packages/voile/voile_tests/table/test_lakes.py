"""Tables of many files in and out: Hive folders, patterns, Delta and Iceberg."""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import voile
from voile.release.recounting import read_recounted
from voile.table import lakes
from voile.table.lakes import HIVE_MISSING, LakeTable, brought
from voile.table.opening import rows_in_memory
from voile.table.published import PublishedTable, part
from voile_base.errors import InputError, TableError, VoileError
from voile_base.main import main
from voile_tests.table import spark

needs_delta = pytest.mark.skipif(not find_spec("deltalake"), reason="deltalake is absent")
needs_iceberg = pytest.mark.skipif(not find_spec("pyiceberg"), reason="pyiceberg is absent")
HOSTILE = ["../../out", "a=b", "a b", "..", "é/ü", "100%", "00120", "%2F", "a\\b", "'\"", "x\ty"]
ROWS = pl.DataFrame(
    {
        "age": list(range(48)),
        "sex": [["f", "m"][n % 2] for n in range(48)],
        "pay": [7 * n for n in range(48)],
    }
)
PLAN = """
[roles]
quasi_identifiers = ["age", "sex"]
sensitive = ["pay"]
[columns.age]
bounds = [0, 50]
intervals = { widths = [10, 50] }
[method]
name = "generalization"
k = 3
"""


@pytest.fixture(name="plan")
def plan_fixture(tmp_path):
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN)
    return plan


def _hive(root: Path, frame: pl.DataFrame, by: str) -> Path:
    """A Hive folder of a frame, as this module's own writer makes it."""
    root.mkdir(parents=True)
    frame.write_parquet(root / "data.parquet")
    part(root, ["data.parquet"], [by])
    return root / "data"


def _sorted(frame: pl.DataFrame, names: list[str]) -> list[tuple[object, ...]]:
    return sorted(frame.select(names).rows(), key=repr)


def _run(arguments: list[str]) -> object:
    with pytest.raises(SystemExit) as left:
        main(arguments)
    return left.value.code


# -- Hive folders and patterns --------------------------------------------------------------------


def test_hostile_values_and_missing_ones_come_back_from_folders(tmp_path):
    """Whatever a value holds, it makes one folder inside its place, and is read back as it was."""
    frame = pl.DataFrame({"place": [*HOSTILE, None], "n": list(range(len(HOSTILE) + 1))})
    folder = _hive(tmp_path / "hive", frame, "place")
    assert len([*folder.iterdir()]) == len(HOSTILE) + 1
    assert {each.name for each in tmp_path.iterdir()} == {"hive"}
    found, _ = rows_in_memory(folder)
    assert _sorted(found, ["place", "n"]) == _sorted(frame, ["place", "n"])


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(st.lists(st.none() | st.text(st.characters(codec="utf-8"), max_size=12), min_size=1))
def test_any_text_is_a_folder_or_is_refused(tmp_path_factory, texts):
    """A text comes back whole from the name of its folder, or is refused before it is written."""
    frame = pl.DataFrame({"place": pl.Series(texts, dtype=pl.String), "n": range(len(texts))})
    root = tmp_path_factory.mktemp("texts")
    try:
        folder = _hive(root / "hive", frame, "place")
    except InputError:
        assert set(texts) & {"", "__HIVE_DEFAULT_PARTITION__"}
        return
    assert {each.name for each in root.iterdir()} == {"hive"}
    plain = root / "plain"
    plain.mkdir()
    found = pl.read_parquet(lakes.flattened(folder, plain, texts=["place"]) / "*.parquet")
    assert _sorted(found, ["place", "n"]) == _sorted(frame, ["place", "n"])


def test_other_readers_find_the_same_rows_in_our_folders(tmp_path):
    """Polars and DuckDB read a folder that was parted here as the table that it was made of."""
    duckdb = pytest.importorskip("duckdb")
    frame = pl.DataFrame({"place": ["a b", "x=y", "../z", "é", None], "n": list(range(5))})
    folder = _hive(tmp_path / "hive", frame, "place")
    types = {"place": pl.String}
    found = pl.scan_parquet(folder, hive_partitioning=True, hive_schema=types).collect()
    assert _sorted(found, ["place", "n"]) == _sorted(frame, ["place", "n"])
    said = f"SELECT place, n FROM read_parquet('{folder}/**/*.parquet', hive_partitioning = true)"
    assert sorted(duckdb.sql(said).fetchall(), key=repr) == _sorted(frame, ["place", "n"])


def test_folders_of_other_writers_are_read(tmp_path):
    """What Polars, DuckDB and pyarrow have parted is read as the table that it was."""
    duckdb = pytest.importorskip("duckdb")
    import pyarrow.parquet as pq  # noqa: PLC0415 - of this test alone

    frame = pl.DataFrame({"zip": ["00120", "12", None], "year": [2024, 2025, 2025], "n": [1, 2, 3]})
    frame.write_parquet(pl.PartitionBy(tmp_path / "polars", key=["year"]), mkdir=True)
    pq.write_to_dataset(frame.to_arrow(), tmp_path / "arrow", partition_cols=["zip", "year"])
    duckdb.register("frame", frame.to_arrow())
    duckdb.sql(f"COPY frame TO '{tmp_path}/duck' (FORMAT parquet, PARTITION_BY (zip))")
    for name in ("polars", "arrow", "duck"):
        found, _ = rows_in_memory(tmp_path / name)
        assert _sorted(found, ["zip", "year", "n"]) == _sorted(frame, ["zip", "year", "n"]), name


def test_numbers_and_days_in_names_have_their_types_and_codes_stay_texts(tmp_path):
    """A column of folders is a number or a day only where each is written as its type writes it."""
    for by, values, kind in (
        ("n", [3, 10, None], pl.Int64),
        ("day", ["2025-01-02", "2025-01-10", None], pl.Date),
        ("zip", ["00120", "12", None], pl.String),
        ("price", ["1.50", "2", None], pl.String),
    ):
        frame = pl.DataFrame({by: values, "x": [1, 2, 3]})
        found, _ = rows_in_memory(_hive(tmp_path / by, frame, by))
        assert found[by].dtype == kind
        texts = [each.with_columns(pl.col(by).cast(pl.String)) for each in (found, frame)]
        assert _sorted(texts[0], [by, "x"]) == _sorted(texts[1], [by, "x"])


def test_patterns_name_files_of_this_disk(tmp_path):
    """Files that a pattern names are one table, with numbers in their names as numbers."""
    for number in (10, 2):
        pl.DataFrame({"n": [number]}).write_parquet(tmp_path / f"part-{number}.parquet")
    (tmp_path / "notes.csv").write_text("n\n7\n")
    assert rows_in_memory(str(tmp_path / "part-*.parquet"))[0]["n"].to_list() == [2, 10]
    assert rows_in_memory(tmp_path / "*.csv")[0]["n"].to_list() == [7]
    with pytest.raises(TableError, match="no file of such a name"):
        rows_in_memory(tmp_path / "nobody-*.parquet")
    with pytest.raises(TableError, match="a pattern names Parquet files"):
        rows_in_memory(tmp_path / "*")


def _put(root: Path, name: str, **columns: list[object]) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    pl.DataFrame(columns).write_parquet(root / name)


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        (("a=1/x.parquet", {"n": [1]}), ("b=1/x.parquet", {"n": [1]}), "name other columns"),
        (("a=1/x.parquet", {"n": [1]}), ("x.parquet", {"n": [1]}), "name other columns"),
        (("a=1/x.parquet", {"n": [1]}), ("a=2/c/x.parquet", {"n": [1]}), "not named COLUMN=VALUE"),
        (("a=1/x.parquet", {"n": [1]}), ("a=2/x.parquet", {"n": ["1"]}), "'n' is text"),
        (("a=1/x.parquet", {"n": [1]}), ("a=2/x.parquet", {"m": [1]}), "'n' is not there"),
        (("a=1/x.parquet", {"a": [1]}), ("a=2/x.parquet", {"a": [1]}), "holds another value"),
        (("a=1/a=2/x.parquet", {"n": [1]}), ("a=2/a=2/x.parquet", {"n": [1]}), "other columns"),
    ],
)
def test_folders_that_do_not_agree_are_refused(tmp_path, first, second, said):
    """Mixed levels, schemas and values are told by file, and no row is read."""
    root = tmp_path / "hive"
    for name, columns in (first, second):
        _put(root, name, **columns)
    with pytest.raises(TableError, match=said):
        rows_in_memory(root)


def test_a_broken_file_is_told_without_its_content(tmp_path):
    """What is no Parquet file is named, and nothing of it is quoted."""
    root = tmp_path / "hive"
    _put(root, "a=1/x.parquet", n=[1])
    (root / "a=2").mkdir()
    (root / "a=2" / "x.parquet").write_text("private words")
    with pytest.raises(TableError, match="cannot be read as Parquet") as caught:
        rows_in_memory(root)
    assert "private" not in str(caught.value)


def test_a_folder_that_grows_while_it_is_read_is_refused(tmp_path, monkeypatch):
    """A release is of one state of its table: a file that comes or changes meanwhile ends it."""
    root = tmp_path / "hive"
    _put(root, "a=1/x.parquet", n=[1])
    plain = lakes._with_values

    def growing(*of):
        plain(*of)
        _put(root, "a=2/x.parquet", n=[2])

    monkeypatch.setattr(lakes, "_with_values", growing)
    with pytest.raises(TableError, match="changed while they were read"):
        rows_in_memory(root)


def test_a_copy_goes_with_the_call_and_is_for_its_owner_alone(tmp_path, monkeypatch):
    """Private rows that were copied are readable by nobody else, and are removed."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    root = _hive(tmp_path / "hive", ROWS, "sex")
    with brought(root) as here:
        (top,) = tmp_path.glob("voile-remote-*")
        assert top in here.parents
        assert top.stat().st_mode & 0o077 == 0
    assert not here.exists()


# -- releases in parts ----------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_a_release_is_parted_by_what_it_shows(tmp_path, plan, engine):
    """Its parts have the rows of a release in one file, and it is recounted, read and queried."""
    pytest.importorskip(engine)
    whole, parted = tmp_path / "whole", tmp_path / "parted"
    voile.make_release(ROWS, plan, whole, file_format="parquet", seed=1, engine=engine)
    voile.make_release(ROWS, plan, parted, partition_by=["sex"], seed=1, engine=engine)
    names = [each["file"] for each in json.loads((parted / "release.json").read_text())["data"]]
    assert all(name.startswith("data/sex=") for name in names)
    assert read_recounted(parted, engine=engine).rows == len(ROWS)
    rows = [voile.read_release(each, engine=engine).table for each in (whole, parted)]
    frames = [pl.DataFrame(each.to_arrow()) for each in rows]
    assert _sorted(frames[1], frames[0].columns) == _sorted(frames[0], frames[0].columns)


def test_a_part_that_is_missing_altered_or_added_is_told(tmp_path, plan):
    """Readers of a parted release believe release.json alone."""
    voile.make_release(ROWS, plan, tmp_path / "r", partition_by=["sex"], seed=1)
    some = next((tmp_path / "r" / "data").rglob("*.parquet"))
    bytes_of, extra = some.read_bytes(), some.parent.parent / "sex=x" / "part-0.parquet"
    extra.parent.mkdir()
    for spoil, mend in (
        (some.unlink, lambda: some.write_bytes(bytes_of)),
        (lambda: some.write_bytes(bytes_of + b"x"), lambda: some.write_bytes(bytes_of)),
        (lambda: extra.write_bytes(bytes_of), lambda: None),
    ):
        spoil()
        with pytest.raises(VoileError, match=r"missing|was changed|does not list"):
            voile.read_release(tmp_path / "r")
        mend()


@pytest.mark.parametrize(
    ("columns", "file_format", "said"),
    [
        (["admitted"], None, "the plan does not publish this column"),
        (["sex"], "csv", "leave out --format csv"),
        (["sex", "sex"], None, "names a column twice"),
    ],
)
def test_only_published_columns_part_a_release(tmp_path, plan, columns, file_format, said):
    """A column that is not published parts nothing, and nothing stands at the place then."""
    table = ROWS.with_columns(pl.lit("2025-01-01").alias("admitted"))
    with pytest.raises(InputError, match=said):
        voile.make_release(
            table, plan, tmp_path / "r", partition_by=columns, file_format=file_format
        )
    assert [each.name for each in tmp_path.iterdir()] == ["plan.toml"]


def test_a_column_that_is_not_published_costs_nothing(tmp_path, plan):
    """It is refused before a method that spends a budget draws: no ledger is made."""
    text = plan.read_text().partition("[method]")[0]
    plan.write_text(
        f'{text}[budget]\ndata_set = "clinic"\nepsilon = 10\n\n[method]\nname = "dp-synthesis"\n'
        "epsilon = 1\n"
    )
    table = ROWS.with_columns(pl.lit("2025-01-01").alias("admitted"))
    with pytest.raises(InputError, match="the plan does not publish this column"):
        voile.make_release(
            table, plan, tmp_path / "r", partition_by=["admitted"], ledger=tmp_path / "ledger.db"
        )
    assert [each.name for each in tmp_path.iterdir()] == ["plan.toml"]


def test_what_a_name_cannot_say_is_refused(tmp_path):
    """An empty text, a long one, fractions, and too many folders are refused with the reason."""
    for values, said in (
        (["", "x"], "holds an empty text"),
        (["x" * 300], "too long"),
        ([1.5], "holds others"),
        (list(range(10_001)), "more than 10,000"),
    ):
        folder = tmp_path / said.replace(" ", "-").replace(",", "")
        with pytest.raises(InputError, match=said):
            _hive(folder, pl.DataFrame({"x": values, "n": [1] * len(values)}), "x")


# -- Delta and Iceberg ----------------------------------------------------------------------------


@pytest.fixture(name="catalogue")
def catalogue_fixture(tmp_path, monkeypatch):
    """A catalogue in SQLite with a namespace."""
    catalogs = pytest.importorskip("pyiceberg.catalog")
    (tmp_path / "warehouse").mkdir()
    monkeypatch.setenv("PYICEBERG_CATALOG__OFFICE__URI", f"sqlite:///{tmp_path}/catalogue.db")
    monkeypatch.setenv("PYICEBERG_CATALOG__OFFICE__WAREHOUSE", f"file://{tmp_path}/warehouse")
    monkeypatch.setattr(catalogs, "_ENV_CONFIG", type(catalogs._ENV_CONFIG)())
    made = catalogs.load_catalog("office")
    made.create_namespace("clinic")
    yield made
    made.close()


def _delta(place: Path, frame: pl.DataFrame, **options: object) -> Path:
    deltalake = pytest.importorskip("deltalake")
    deltalake.write_deltalake(str(place), frame.to_arrow(), **options)
    return place


@needs_delta
def test_a_delta_table_is_read_in_its_states(tmp_path):
    """Deleted rows are not read, whether in files or by marks; an earlier state is, by number."""
    deltalake = pytest.importorskip("deltalake")
    for name, options in (
        ("files", {"partition_by": ["sex"]}),
        ("marks", {"configuration": {"delta.enableDeletionVectors": "true"}}),
    ):
        place = _delta(tmp_path / name, ROWS, **options)
        deltalake.DeltaTable(str(place)).delete("age < 10")
        left = ROWS.filter(pl.col("age") >= 10)
        for address in (place, f"delta:{place}", f"{place}#version=1"):
            found, _ = rows_in_memory(address)
            assert _sorted(found, ROWS.columns) == _sorted(left, ROWS.columns)
        found, _ = rows_in_memory(f"{place}#version=0")
        assert _sorted(found, ROWS.columns) == _sorted(ROWS, ROWS.columns)
        with pytest.raises(TableError, match="number behind #"):
            rows_in_memory(f"{place}#version=9")


@needs_iceberg
def test_an_iceberg_table_is_read_in_its_states(catalogue):
    """A table of a catalogue, or of a folder, has the rows of its snapshot."""
    table = catalogue.create_table("clinic.stays", ROWS.to_arrow().schema)
    table.append(ROWS.to_arrow())
    first = table.current_snapshot().snapshot_id
    table.delete("age < 10")
    left = ROWS.filter(pl.col("age") >= 10)
    for address in ("iceberg:office/clinic.stays", table.location().removeprefix("file://")):
        found, _ = rows_in_memory(address)
        assert _sorted(found, ROWS.columns) == _sorted(left, ROWS.columns)
    found, _ = rows_in_memory(f"iceberg:office/clinic.stays#snapshot={first}")
    assert _sorted(found, ROWS.columns) == _sorted(ROWS, ROWS.columns)


@pytest.mark.slow
@needs_delta
@needs_iceberg
def test_the_same_rows_in_on_engines(tmp_path, plan, catalogue):
    """With one seed, a Hive folder, Delta and Iceberg give the release of the plain file."""
    catalogue.create_table("clinic.stays", ROWS.to_arrow().schema).append(ROWS.to_arrow())
    sources = {
        "delta": _delta(tmp_path / "delta", ROWS),
        "iceberg": "iceberg:office/clinic.stays",
        "hive": _hive(tmp_path / "hive", ROWS, "sex"),
    }
    _same_on(["polars", "duckdb"], sources, tmp_path, plan)


def _hive_of_csv(root, rows, by, separator=","):
    for (value,), having in rows.partition_by(by, as_dict=True, include_key=False).items():
        folder = root / f"{by}={HIVE_MISSING if value is None else value}"
        folder.mkdir(parents=True)
        having.write_csv(folder / "a.csv", separator=separator)
    return root


@pytest.mark.parametrize("separator", [",", ";"])
@pytest.mark.parametrize("engine", ["polars", "duckdb"])
def test_a_hive_folder_of_csv_files_has_the_rows_of_one_file(tmp_path, engine, separator):
    """Types come from all files together, a missing value of the folder is one, texts stay."""
    rows = pl.DataFrame(
        {
            "zip": ["001", "001", None, "012", "012"],
            "pay": [1.5, None, 3.0, 4.0, 5.0],
            "said": ["a,b", 'c"d', "e;f", None, "g"],
        }
    )
    place = _hive_of_csv(tmp_path / "hive", rows, "zip", separator)
    (place / "zip=7").mkdir()
    (place / "zip=7" / "none.csv").write_text(separator.join(["pay", "said"]) + "\n")
    found, _ = rows_in_memory(place, engine=engine)
    assert _sorted(found, rows.columns) == _sorted(rows, rows.columns)


def test_hive_folders_of_csv_files_that_do_not_agree_are_refused(tmp_path):
    """Other columns, other separators, Parquet among them, a value that its folder denies."""
    rows = pl.DataFrame({"sex": ["f", "m"], "age": [1, 2], "pay": [3, 4]})
    for number, (text, said) in enumerate(
        (
            ("age,wage\n1,2\n", "other columns"),
            ("age;pay\n1;2\n", "other separators"),
            ("age,pay,sex\n1,2,m\n", "other columns"),
            ("age,pay\n1,2,3\n", "line 2"),
        )
    ):
        place = _hive_of_csv(tmp_path / str(number), rows, "sex")
        (place / "sex=m" / "b.csv").write_text(text)
        with pytest.raises(TableError, match=said):
            rows_in_memory(place)
    (place / "sex=m" / "b.csv").unlink()
    rows.write_parquet(place / "sex=m" / "c.parquet")
    with pytest.raises(TableError, match="of one format"):
        rows_in_memory(place)
    denied = tmp_path / "denied" / "sex=f"
    denied.mkdir(parents=True)
    (denied / "a.csv").write_text("sex,pay\nf,1\nm,2\n")
    with pytest.raises(TableError, match="another value than the name"):
        rows_in_memory(denied.parent)


@pytest.mark.slow
@needs_delta
@needs_iceberg
@spark.needs_spark
@spark.ignoring_warnings_of_spark
def test_the_same_rows_in_on_spark(tmp_path, plan, catalogue):
    """Spark gives the releases of the embedded engine, of all three."""
    catalogue.create_table("clinic.stays", ROWS.to_arrow().schema).append(ROWS.to_arrow())
    sources = {
        "delta": _delta(tmp_path / "delta", ROWS),
        "iceberg": "iceberg:office/clinic.stays",
        "hive": _hive(tmp_path / "hive", ROWS, "sex"),
        "csv": _hive_of_csv(tmp_path / "csv", ROWS, "sex"),
    }
    _same_on([spark.engine()], sources, tmp_path, plan)


def _same_on(engines, sources, tmp_path, plan):
    ROWS.write_parquet(tmp_path / "plain.parquet")
    usual = voile.make_release(tmp_path / "plain.parquet", plan, seed=1).release
    wanted = pl.DataFrame(usual.table.to_arrow())
    for number, engine in enumerate(engines):
        for name, source in sources.items():
            out = tmp_path / f"{name}-{number}"
            voile.make_release(source, plan, out, partition_by=["sex"], seed=1, engine=engine)
            found = pl.DataFrame(voile.read_release(out, engine=engine).table.to_arrow())
            columns = [each for each in wanted.columns if each != "group"]
            assert _sorted(found, columns) == _sorted(wanted, columns), (name, engine)


@pytest.mark.slow
@needs_delta
@needs_iceberg
def test_a_release_is_put_into_tables_in_one_commit(tmp_path, plan, catalogue, capsys):
    """What stands there are the published rows; again changes nothing, and another is refused."""
    for name in ("one", "two"):
        voile.make_release(ROWS, plan, tmp_path / name)
    for table in (f"delta:{tmp_path / 'lake'}", "iceberg:office/clinic.published"):
        assert _run(["export", str(tmp_path / "one"), table]) == 0
        found, _ = rows_in_memory(table)
        shown = pl.DataFrame(voile.read_release(tmp_path / "one").table.to_arrow())
        assert _sorted(found, shown.columns) == _sorted(shown, shown.columns)
        assert _run(["export", str(tmp_path / "one"), table]) == 0
        assert "already" in capsys.readouterr().err
        assert _run(["export", str(tmp_path / "two"), table]) == 2
        assert _run(["export", str(tmp_path / "two"), table, "--replace"]) == 0
        assert rows_in_memory(table)[0].height == shown.height
    del catalogue


@pytest.mark.slow
@needs_delta
@needs_iceberg
def test_tables_that_cannot_be_are_told(tmp_path, plan, catalogue):
    """No table, no namespace, no catalogue and a secret in an address: a sentence, and no trace."""
    del catalogue
    voile.make_release(ROWS, plan, tmp_path / "r")
    for address, said in (
        ("delta:" + str(tmp_path / "nobody"), "no such table"),
        ("iceberg:office/clinic.nobody", "no such table"),
        ("iceberg:nobody/clinic.stays", "no catalogue is configured"),
        ("iceberg:office/secret@x.y", "names a catalogue and a table"),
        ("delta:s3://user:secret@bucket/x", "holds a password"),
    ):
        with pytest.raises(VoileError, match=said) as caught:
            rows_in_memory(address)
        assert "secret" not in str(caught.value)
    shown = voile.read_release(tmp_path / "r")
    with pytest.raises(VoileError, match="no such namespace"):
        LakeTable.of("iceberg:office/nobody.x").put(
            shown.table.to_arrow().to_reader(), "id", "said", replacing=False
        )


@pytest.mark.slow
@needs_delta
@needs_iceberg
def test_rows_are_put_some_at_a_time_and_a_full_disk_leaves_none(
    tmp_path, plan, catalogue, monkeypatch
):
    """Neither table is handed all rows at once; where there is no room, a sentence and no table."""
    del catalogue
    voile.make_release(ROWS, plan, tmp_path / "r")
    tables = f"delta:{tmp_path / 'lake'}", "iceberg:office/clinic.published"
    with monkeypatch.context() as patch:
        patch.setattr(PublishedTable, "to_arrow", lambda table: pytest.fail("all rows at once"))
        for table in tables:
            assert _run(["export", str(tmp_path / "r"), table]) == 0

    def full(table, folder, file_format):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(PublishedTable, "write", full)
    place = f"delta:{tmp_path / 'other'}"
    assert _run(["export", str(tmp_path / "r"), place]) == 2
    with pytest.raises(TableError, match="no such table"):
        rows_in_memory(place)


@needs_delta
def test_a_release_with_a_seed_is_not_exported(tmp_path, plan):
    """What is unfit for publication gets into no table."""
    voile.make_release(ROWS, plan, tmp_path / "r", seed=1)
    assert _run(["export", str(tmp_path / "r"), f"delta:{tmp_path / 'lake'}"]) == 4
    assert not (tmp_path / "lake").exists()


@needs_delta
def test_an_export_that_is_cut_off_leaves_no_row(tmp_path, plan, monkeypatch):
    """Rows without their commit are seen by no reader, and the same command finishes the work."""
    deltalake = pytest.importorskip("deltalake")
    voile.make_release(ROWS, plan, tmp_path / "r")
    place, real = f"delta:{tmp_path / 'lake'}", deltalake.write_deltalake

    def dying(where, *of, **named):
        (tmp_path / "lake").mkdir(exist_ok=True)
        ROWS.write_parquet(tmp_path / "lake" / "part-orphan.parquet")
        raise KeyboardInterrupt

    monkeypatch.setattr(deltalake, "write_deltalake", dying)
    assert _run(["export", str(tmp_path / "r"), place]) == 130
    monkeypatch.setattr(deltalake, "write_deltalake", real)
    with pytest.raises(TableError, match="no such table"):
        rows_in_memory(place)
    assert _run(["export", str(tmp_path / "r"), place]) == 0
    assert rows_in_memory(place)[0].height == voile.read_release(tmp_path / "r").rows
