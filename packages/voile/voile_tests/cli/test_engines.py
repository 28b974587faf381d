"""Commands on the engine of another package: the same answers, and no row in one of ours."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner

from voile.table import opening
from voile.table.engines.polars import PolarsEngine
from voile_base.errors import VoileError
from voile_base.main import command as voile
from voile_tests.installed import others_installed
from voile_tests.table.spark import engine as session_for_tests
from voile_tests.table.spark import ignoring_warnings_of_spark, needs_spark

PLAN = """
[roles]
person = "row"
quasi_identifiers = ["age", "town"]
sensitive = ["salary"]

[method]
name = "{method}"
k = 3
{terms}
"""
SERIES = PLAN.format(method="ke-anonymity", terms='e = 50\nseries = "pay"')
ALIKE = PLAN.format(method="generalization", terms='algorithm = "flash"')

Call = Callable[..., Any]


def rows(count: int) -> str:
    lines = [f"{20 + i % 5},{('Aix', 'Brno')[i % 2]},{1000 + 37 * i % 900}" for i in range(count)]
    return "\n".join(["age,town,salary", *lines]) + "\n"


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Two months of a small table, and two plans, where the package of others is installed."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "january.csv").write_text(rows(24))
    (tmp_path / "february.csv").write_text(rows(40))
    (tmp_path / "series.toml").write_text(SERIES)
    (tmp_path / "alike.toml").write_text(ALIKE)
    with others_installed():
        yield tmp_path


def called(*arguments: object) -> Any:
    """What a command answers in JSON."""
    done = CliRunner().invoke(voile, [*map(str, arguments), "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def all_of_it(engine: str) -> dict[str, Any]:
    """Everything that commands say of releases and tables in an engine."""
    on = ("--engine", engine)
    book = ("--ledger", f"{engine}.ledger", "--seed", 3)
    for number, month in enumerate(("january", "february")):
        plan = ("--plan", "series.toml", "--out", f"{engine}-{month}")
        called("publish", f"{month}.csv", *plan, *book[:3], number, *on)
    called("publish", "january.csv", "--plan", "alike.toml", "--out", f"{engine}-alike", *book, *on)
    new, old, alike = f"{engine}-february", f"{engine}-january", f"{engine}-alike"
    against = ("--against", "january.csv", "--seed", 1)
    studied = called(
        *("study", "january.csv", "--plan", "alike.toml", "--out", f"{engine}-study"),
        *("--seed", 2, "--targets", 20, *on),
    )
    verified = called("ledger", "verify", new, old, "--ledger", f"{engine}.ledger")
    packed = ("--capacity", 10_000, "--weight", "salary", "--time-limit", 5)
    return {
        "packed": called("pack", new, *packed, *on)["parcels"],
        "query": called("query", new, "SUM(salary)", "--where", "age > 21", *on),
        "compared": called("attack", new, "--previous", old, *on) | {"releases": []},
        "attacked": called("attack", alike, *against, *on),
        "inspected": called("inspect", "january.csv", "--plan", "alike.toml", *on),
        "studied": [studied["attacks"], [one["value"] for one in studied["utility"]]],
        "verified": verified["sound"],
    }


def refused(*_: object, **__: object) -> None:
    raise AssertionError("a row was about to go through our own engine")


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn")
def test_no_command_leaves_the_engine_that_was_asked_for(desk, monkeypatch):
    """Publish, query, attack, inspect and study say the same, and never fall back on Polars."""
    expected = all_of_it("auto")
    for verb in ("scan", "of_native", "of_arrow"):
        monkeypatch.setattr(PolarsEngine, verb, refused)
    monkeypatch.setattr(opening, "read_frame", refused)
    monkeypatch.setattr("voile.ledger.audit.AUTO", "plain")  # what audits a ledger is our own
    assert all_of_it("plain") == expected


@pytest.mark.slow
@pytest.mark.usefixtures("undrawn", "desk")
@pytest.mark.parametrize(
    "engine", ["duckdb", pytest.param("spark", marks=[needs_spark, pytest.mark.slow])]
)
@ignoring_warnings_of_spark
def test_our_engines_answer_alike(engine):
    """Series with a ledger, query, attack, inspect, study and pack, of CSV and of releases."""
    if engine == "spark":
        session_for_tests()
    expected = all_of_it("auto")
    found = all_of_it(engine)
    for what, said in expected.items():
        assert found[what] == said, what


def in_parts(self: Any, folder: Path, file_format: str) -> tuple[str, ...]:
    """Write rows as an engine does that works in several places."""
    frame = pl.DataFrame(self.to_arrow())
    (folder / "data").mkdir()
    names = []
    for number, start in enumerate(range(0, max(frame.height, 1), 10), start=8):
        names.append(f"data/part-{number}.parquet")
        frame.slice(start, 10).write_parquet(folder / names[-1])
    return tuple(names)


@pytest.fixture
def parts(desk, monkeypatch) -> Path:
    """A release, and marks in its ledger, that are several files each."""
    engine = pytest.importorskip("plain_others.engine")
    monkeypatch.setattr(engine.PlainRows, "write", in_parts)
    for month in ("january", "february"):
        plan = ("--plan", "series.toml", "--out", month, "--ledger", "pay.ledger")
        called("publish", f"{month}.csv", *plan, "--engine", "plain")
    return desk / "february"


@pytest.mark.slow
def test_a_release_in_parts_is_read_by_every_command(parts):
    """In the order of its parts, by our engine and by others; and compared with one before."""
    document = json.loads((parts / "release.json").read_text())
    files = [f"data/part-{number}.parquet" for number in (8, 9, 10, 11)]
    assert [part["file"] for part in document["data"]] == files
    for engine in ("auto", "plain"):
        found = called("query", "february", "COUNT(*)", "--engine", engine)
        assert found["lower"] == found["upper"] == 40
        compared = called("attack", "february", "--previous", "january", "--engine", engine)
        assert compared["exposed"] == 0
        packed = ("--capacity", 10_000, "--weight", "salary", "--time-limit", 5)
        assert called("pack", "february", *packed, "--engine", engine)["parcels"] == 40
    folders = ("february", "january", "--ledger", "pay.ledger")
    assert called("ledger", "verify", *folders)["sound"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda part: part.unlink(), "this part of the release is missing"),
        (lambda part: part.write_bytes(part.read_bytes()[:-1]), "was changed"),
        (
            lambda part: part.with_name("part-99.parquet").write_bytes(part.read_bytes()),
            "the release does not list this file",
        ),
    ],
)
def test_a_release_that_lacks_a_part_is_no_release(parts, damage, said):
    """Nobody takes the rows that are there for all."""
    damage(parts / "data" / "part-9.parquet")
    with pytest.raises(VoileError, match=said):
        called("query", "february", "COUNT(*)")
    with pytest.raises(VoileError, match=said):
        called("ledger", "verify", "february", "--ledger", "pay.ledger")


@pytest.mark.slow
def test_a_changed_byte_of_a_release_is_found_by_its_ledger(parts):
    """The lengths are right, and a hash is not."""
    part = parts / "data" / "part-9.parquet"
    content = bytearray(part.read_bytes())
    content[len(content) // 2] ^= 1
    part.write_bytes(content)
    with pytest.raises(VoileError, match=r"part-9.parquet: this file was changed since"):
        called("ledger", "verify", "february", "--ledger", "pay.ledger")


@pytest.mark.parametrize("name", ["../january/data.csv", "data/../x.parquet", "/etc/passwd", 3])
def test_a_release_lists_no_file_elsewhere(parts, name):
    """What is listed is in the folder."""
    document = json.loads((parts / "release.json").read_text())
    document["data"][0]["file"] = name
    (parts / "release.json").write_text(json.dumps(document))
    with pytest.raises(VoileError, match=r"release\.json: data\[1\]\.file must be the name of a"):
        called("query", "february", "COUNT(*)")
