"""What is checked is what stands in the files: writers that fail their release."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl
import pytest

import voile
from voile.ledger import Ledger
from voile.release.check import GuaranteeBrokenError, check_release
from voile.release.release import read_release
from voile.study import run
from voile.table.opening import published_rows
from voile.table.published import PublishedTable

ROWS = 60
PEOPLE = pl.DataFrame({"age": range(ROWS), "salary": [i * 37 % 1000 for i in range(ROWS)]})
PLAN = voile.Plan(
    voile.Roles(quasi_identifiers=["age"], sensitive=["salary"]),
    voile.Method("ke-anonymity", {"k": 3, "e": 20, "series": "pay"}),
)
WRITE = PublishedTable.write


def _written(frame: pl.DataFrame, folder: Path, file_format: str) -> tuple[str, ...]:
    return WRITE(published_rows(frame), folder, file_format)


def _one_salary(table, folder, file_format):
    return _written(table.to_native().with_columns(salary=pl.lit(5)), folder, file_format)


def _a_row_short(table, folder, file_format):
    return _written(table.to_native().head(ROWS - 1), folder, file_format)


def _another_name(table, folder, file_format):
    return _written(table.to_native().rename({"age": "years"}), folder, file_format)


def _cut(table, folder, file_format):
    names = WRITE(table, folder, file_format)
    os.truncate(folder / names[0], 30)
    return names


@pytest.mark.parametrize("file_format", ["csv", "parquet"])
@pytest.mark.parametrize("writer", [_one_salary, _a_row_short, _another_name, _cut])
def test_files_that_do_not_hold_what_is_claimed(tmp_path, monkeypatch, writer, file_format):
    """Nothing appears, no ledger learns of the release, and the next one is the first."""
    out, ledger = tmp_path / "out", tmp_path / "ledger.db"

    def publish():
        return voile.make_release(PEOPLE, PLAN, out, ledger=ledger, file_format=file_format)

    with monkeypatch.context() as patched:
        patched.setattr(PublishedTable, "write", writer)
        with pytest.raises(GuaranteeBrokenError):
            publish()
    assert list(tmp_path.iterdir()) == []
    publish()
    (series,) = Ledger(ledger).series()
    assert len(series.versions) == 1
    check_release(read_release(out))


def test_a_study_checks_its_files(tmp_path, monkeypatch):
    """The release of a study is held to its files before anybody attacks it."""
    monkeypatch.setattr(PublishedTable, "write", _one_salary)
    monkeypatch.setattr("voile.study.single.gather", None)
    with pytest.raises(GuaranteeBrokenError):
        voile.run_study(PEOPLE, PLAN, tmp_path / "out", ledger=tmp_path / "ledger.db")
    assert list(tmp_path.iterdir()) == []


def test_what_is_checked_was_written(tmp_path, monkeypatch):
    """The rows that the check sees come from the folder that is about to appear."""
    seen = []

    def check(release):
        (hidden,) = tmp_path.glob(".voile-*")
        seen.append(sorted(path.name for path in hidden.iterdir()))
        check_release(release)

    monkeypatch.setattr(run, "check_release", check)
    voile.make_release(PEOPLE, PLAN, tmp_path / "out", ledger=tmp_path / "ledger.db")
    assert seen == [["data.parquet"]]
