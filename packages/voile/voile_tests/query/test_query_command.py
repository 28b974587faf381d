"""``voile query`` on a release folder."""

import json

import polars as pl
import pytest
from click.testing import CliRunner

from voile.cli.query import _query
from voile.release.folder import write_release
from voile.table.opening import published_rows
from voile_base.errors import QueryError, TableError
from voile_tests.releases import described, permuted


@pytest.fixture(params=["csv", "parquet"])
def folder(request, tmp_path):
    """A release of four people in two groups."""
    frame = pl.DataFrame({"group": [1, 1, 2, 2], "age": [1, 2, 3, 4], "pay": [0.5, 2, 7, 9000]})
    release = described(
        table=published_rows(frame),
        method={"name": "ke-anonymity"},
        guarantee=permuted(2, 1, "pay"),
        roles={"quasi_identifiers": ("age",), "sensitive": ("pay",), "keep": ()},
        release_id="0" * 32,
        publishable=True,
        voile="0",
    )
    return str(write_release(release, tmp_path / "out", request.param))


def run(*arguments):
    return CliRunner().invoke(_query, arguments, catch_exceptions=True)


def test_people_see_bounds_estimate_and_rows(folder):
    """A small table on standard output holds all four numbers."""
    result = run(folder, "SUM(pay)", "--where", "age BETWEEN 2 AND 3")
    assert result.exit_code == 0
    for text in ("SUM(pay) where age BETWEEN 2 AND 3", "7.5", "9,002", "4,504.75", "2"):
        assert text in result.stdout


def test_nobody_matching_is_said(folder):
    """No matching row: the table has no bounds, and a sentence says why."""
    result = run(folder, "MIN(pay)", "--where", "age > 99")
    assert result.exit_code == 0
    assert "none" in result.stdout
    assert "No published row matches" in result.stdout


def test_programs_read_json(folder):
    """With --json standard output is one JSON document."""
    result = run(folder, "avg(pay)", "--where", "age = 1", "--json")
    assert json.loads(result.stdout) == {
        "aggregate": "AVG",
        "column": "pay",
        "where": "age = 1",
        "matching_rows": 1,
        "lower": 0.5,
        "upper": 2,
        "estimate": 1.25,
    }


def test_mistakes_are_errors_of_voile(folder, tmp_path):
    """Errors reach the caller, who turns them into exit codes."""
    assert isinstance(run(folder, "SUM(pay)", "--where", "pay > 3").exception, QueryError)
    assert isinstance(run(str(tmp_path / "absent"), "SUM(pay)").exception, TableError)
