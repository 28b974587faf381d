"""No door to a table lets rows in that contradict that each of them is another person."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile.schema.plan import Plan, parse_plan
from voile.schema.roles import Roles
from voile.table.decisions import Grouping
from voile.table.keeping import KeptRows
from voile.table.looking import count_occurrences, count_repeats
from voile.table.opening import open_frame, open_table, scan_frame, scan_table
from voile_base.errors import PlanError, TableError

PlatformClient = Callable[[pl.DataFrame, Plan, Path], Any]


def of_file(open_: Callable[[Path, Plan], Any], name: str) -> PlatformClient:
    """A door that reads a file of this name."""

    def door(frame: pl.DataFrame, plan: Plan, folder: Path) -> Any:
        write = {
            ".csv": frame.write_csv,
            ".parquet": frame.write_parquet,
            ".arrow": frame.write_ipc,
        }
        write[Path(name).suffix](folder / name)
        return open_(folder / name, plan)

    return door


DOORS: dict[str, PlatformClient] = {
    "CSV": of_file(open_table, "t.csv"),
    "Parquet": of_file(open_table, "t.parquet"),
    "Arrow": of_file(open_table, "t.arrow"),
    "frame": lambda frame, plan, _: open_frame(frame, plan),
    "pandas": lambda frame, plan, _: open_frame(frame.to_pandas(), plan),
    "scanned CSV": of_file(scan_table, "t.csv"),
    "scanned Parquet": of_file(scan_table, "t.parquet"),
    "scanned Arrow": of_file(scan_table, "t.arrow"),
    "scanned frame": lambda frame, plan, _: scan_frame(frame, plan),
}
PEOPLE = pl.DataFrame(
    {
        "patient": ["A", "A", "A", "B", "C", "D"],
        "age": [31, 32, 34, 62, 64, 65],
        "score": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
        "town": ["x", "x", "y", "y", "z", "z"],
    }
)
NAMED = Roles(identifiers=("patient",), ranking=("score",))


def kept(*columns: str, unique: tuple[str, ...] = ()) -> Roles:
    """Roles in which these columns are kept."""
    return Roles(ranking=("score",), keep=columns, keep_unique=unique)


@pytest.mark.parametrize("door", DOORS)
def test_an_identifier_that_repeats_is_refused(door: str, tmp_path: Path) -> None:
    """Whatever the table stands in, and however it is read."""
    with pytest.raises(
        PlanError, match=r"\[roles\] identifiers: column 'patient' repeats \(6 rows"
    ):
        DOORS[door](PEOPLE, Plan(NAMED), tmp_path)
    said = Plan(Roles(**{**vars(NAMED), "person": "row"}))
    assert DOORS[door](PEOPLE, said, tmp_path).rows == 6
    distinct = PEOPLE.with_columns(patient=pl.Series(list("ABCDEF")))
    assert DOORS[door](distinct, Plan(NAMED), tmp_path).rows == 6


@pytest.mark.parametrize("door", DOORS)
def test_a_kept_column_that_singles_out_rows_is_refused(door: str, tmp_path: Path) -> None:
    """Three of four patients stand once; of the ages all do; of the towns none."""
    with pytest.raises(
        PlanError, match=r"keep: column 'patient' .*\(3 of its 4 .*'age' .*\(6 of its"
    ):
        DOORS[door](PEOPLE, Plan(kept("patient", "age", "town")), tmp_path)
    said = kept("patient", "age", "town", unique=("age", "patient"))
    assert DOORS[door](PEOPLE, Plan(said), tmp_path).rows == 6
    assert DOORS[door](PEOPLE, Plan(kept("town")), tmp_path).rows == 6


VALUES = st.lists(st.sampled_from(["a", "b", "c", "d", "e", "?", None]), min_size=1, max_size=9)


@given(VALUES, VALUES, st.sampled_from(["category", "drop"]))
def test_the_doors_agree_with_counting_one_by_one(
    ids: list[Any], keep: list[Any], nulls: Any
) -> None:
    """Both ways into memory refuse exactly what the rule refuses, also with missing values."""
    rows = min(len(ids), len(keep))
    frame = pl.DataFrame(
        {"id": ids[:rows], "kept": keep[:rows], "score": range(rows)},
        schema={"id": pl.String, "kept": pl.String, "score": pl.Int64},
    )
    roles = {"identifiers": ["id"], "keep": ["kept"], "ranking": ["score"]}
    plan = parse_plan({"nulls": nulls, "missing": ["?"], "roles": roles})
    there = [v for v in ids[:rows] if v not in {"?", None}]
    shown = [None if v == "?" else v for v in keep[:rows]]
    if nulls == "drop":
        shown = [v for v in shown if v is not None]
    counts = Counter(shown)
    repeats = len(set(there)) < len(there)
    singles_out = 2 * sum(n == 1 for n in counts.values()) > len(counts)
    for open_ in (open_frame, scan_frame):
        if repeats or singles_out:
            with pytest.raises(PlanError, match="identifiers" if repeats else "keep: "):
                open_(frame, plan)
        elif shown:
            open_(frame, plan)


@pytest.mark.parametrize(
    ("values", "repeats"),
    [
        (pl.Series([1, 2, 3]), False),
        (pl.Series([1, 2, 1]), True),
        (pl.Series([0.0, -0.0]), True),
        (pl.Series([float("nan"), float("nan")]), True),
        (pl.Series([None, None, 1]), False),
        (pl.Series([], dtype=pl.Int64), False),
        (pl.Series(["", "", "a"]), False),  # an empty text tells nobody apart
        (pl.Series(["?", "?", "a"]), False),
        (pl.Series(["-", "-", "a"]), True),
        (pl.Series(["a", "b", "a"], dtype=pl.Categorical), True),
        (pl.Series(["a", "b", "?"], dtype=pl.Enum(["a", "b", "?"])), False),
        (pl.Series([date(2020, 1, 1)] * 2), True),
        (pl.Series([[1], [2], [1]]), True),
        (pl.Series([{"a": 1}, {"a": 2}]), False),
        (pl.Series([b"a", b"b"]), False),
    ],
)
def test_identifiers_of_any_type(values: pl.Series, repeats: bool) -> None:
    """Values are compared as values of their type; what is missing repeats nothing."""
    assert count_repeats(values.alias("id"), ("?",)).repeat == repeats


def test_alike_hashes_are_not_taken_for_alike_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where all hashes collide the values themselves are counted."""
    monkeypatch.setattr(pl.Series, "hash", lambda self: pl.Series([7] * len(self), dtype=pl.UInt64))
    assert not count_repeats(pl.Series("id", ["a", "b", "c"]), ()).repeat
    assert count_repeats(pl.Series("id", ["a", "b", "a"]), ()).repeat


def test_values_that_cannot_be_compared_are_refused() -> None:
    """Objects of Python may be anybody's."""
    with pytest.raises(TableError, match=r"column 'id' holds objects that cannot be compared"):
        count_occurrences(pl.Series("id", [object(), object()], dtype=pl.Object))


def test_identifiers_are_compared_as_they_are_written(tmp_path: Path) -> None:
    """In a CSV file 1.0 and 1.00 are two texts, whatever they would be as numbers."""
    (tmp_path / "t.csv").write_text("patient,score\n1.0,1\n1.00,2\n")
    assert open_table(tmp_path / "t.csv", Plan(NAMED)).rows == 2


@pytest.mark.parametrize("door", ["Parquet", "Arrow", "scanned Parquet", "frame"])
def test_identifiers_that_no_release_could_show_are_compared_all_the_same(
    door: str, tmp_path: Path
) -> None:
    """Lists and structs cannot be encoded, and an identifier need not be: it is only compared."""
    of_lists = PEOPLE.with_columns(patient=pl.Series([[i] for i in range(6)]))
    of_structs = PEOPLE.with_columns(patient=pl.struct("patient"))
    assert DOORS[door](of_lists, Plan(NAMED), tmp_path).rows == 6
    with pytest.raises(PlanError, match="'patient' repeats"):
        DOORS[door](of_structs, Plan(NAMED), tmp_path)


def test_a_record_key_answers_for_itself() -> None:
    """It must be unique in every version of a series anyway, and is told so in its own words."""
    roles = Roles(identifiers=("patient",), sensitive=("age",))
    table = open_frame(PEOPLE, Plan(roles), record_key="patient")
    assert table.rows == 6
    with pytest.raises(PlanError, match="'patient' repeats"):
        open_frame(PEOPLE, Plan(roles))


def test_carried_rows_do_not_need_the_identifiers() -> None:
    """Rows that wait in a ledger have no identifier; those of the table are looked at alone."""
    plan = Plan(Roles(identifiers=("patient",), quasi_identifiers=("age",), sensitive=("town",)))
    first = open_frame(PEOPLE.with_columns(patient=pl.Series(list("ABCDEF"))), plan)
    counts = first.count_combinations(["age"])
    waiting = KeptRows.of(first.left_out(Grouping.of_counts(counts, counts.rows * 0 - 1)))
    more = pl.DataFrame({"patient": ["A"], "age": [20], "town": ["x"]})
    assert open_frame(more, plan, carried=waiting).rows == 7
    with pytest.raises(PlanError, match="'patient' repeats"):
        open_frame(pl.concat([more, more]), plan, carried=waiting)
