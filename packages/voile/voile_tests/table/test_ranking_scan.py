"""Tables whose best rows are found in a scan: the same answers as from all rows, without them."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

import voile
from voile.publish.ranking import Ranking
from voile.publish.ranking.scoring import Scoring, parse
from voile.schema.numbers import ExactNumbers
from voile.schema.plan import ColumnPlan, Plan, parse_plan
from voile.schema.roles import Roles
from voile.table import best_rows
from voile.table.best_rows import Batch, BestRows, BestRowsQuery, Taker, ValueScores
from voile.table.codes import DictionaryColumn
from voile.table.counting import TableSource
from voile.table.engines.polars import PolarsEngine, PolarsRows
from voile.table.engines.polars.columns import PolarsColumn
from voile.table.keeping import KeptRows
from voile.table.opening import open_frame, open_table, scan_frame, scan_table
from voile.table.private import PrivateTable, TopRows
from voile.table.published import PublishedTable
from voile_base.errors import PlanError, TableError
from voile_base.randomness import Randomness
from voile_tests.table.ranking_contract import RankingContract, Sum


class TestScannedTable(RankingContract):
    """What every engine promises of best rows."""

    def open(
        self,
        frame: pl.DataFrame,
        plan: Plan,
        *,
        record_key: str | None = None,
        carried: KeptRows | None = None,
    ) -> PrivateTable:
        assert record_key is carried is None
        return scan_frame(frame, plan)

    def rows_of(self, published: PublishedTable) -> pl.DataFrame:
        rows: pl.DataFrame = published.to_native()
        return rows


@dataclass(frozen=True)
class Weighted:
    """A weighted sum of columns; a ``RowScore``."""

    weights: Mapping[str, Fraction]

    @property
    def columns(self) -> Sequence[str]:
        """The columns that have a weight."""
        return tuple(self.weights)

    def exact(self, column: str, values: ExactNumbers) -> ValueScores:
        """Values times the weight."""
        weight = self.weights[column]
        units = values.units.astype(object) * weight.numerator
        return ValueScores(units, weight.denominator * 10**values.scale)

    def near(self, column: str, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """The same in double precision."""
        with np.errstate(over="ignore"):
            return float(self.weights[column]) * values

    def error(self, column: str, low: float, high: float, relative: float) -> float:
        """That of the double, of the weight and of their product."""
        largest = max(abs(low), abs(high)) * abs(float(self.weights[column]))
        return largest * (relative + 4 * 2.0**-53)


class Pieces:
    """Rows in pieces of some size; it counts how often they were gone through."""

    def __init__(self, frame: pl.DataFrame, size: int) -> None:
        self.passes = 0
        self._frame = frame
        self._size = size

    def __call__(self, taker: Taker) -> None:
        """All rows."""
        self.passes += 1
        names = tuple(self._frame.columns)
        for start in range(0, self._frame.height, self._size):
            rows = self._frame.slice(start, self._size)
            taker.take(Batch(rows, names, np.arange(start, start + rows.height)))


def by_sorting(
    frame: pl.DataFrame, score: Weighted, top: int, *, ties: bool
) -> tuple[int, list[int]]:
    """How many rows are best, and the places of the rows in their box, in fractions."""
    rows = [[_fraction(value) for value in row] for row in frame.rows()]
    weights = list(score.weights.values())
    scores = [sum(w * v for w, v in zip(weights, row, strict=True)) for row in rows]
    border = sorted(scores, reverse=True)[min(top, len(rows)) - 1]
    best = [row for row, s in zip(rows, scores, strict=True) if s >= border]
    if len(best) > top and not ties:
        best = [row for row, s in zip(rows, scores, strict=True) if s > border]
    if not best:
        return 0, []
    sides = [(min(side), max(side)) for side in zip(*best, strict=True)]
    return len(best), [
        place
        for place, row in enumerate(rows)
        if all(low <= value <= high for value, (low, high) in zip(row, sides, strict=True))
    ]


def _fraction(value: Any) -> Fraction:
    """The decimal that a reader sees."""
    return Fraction(repr(value) if isinstance(value, float) else value)


SUMS = st.sampled_from([0.1, 0.2, 0.3, 0.1 + 0.2, 0.7, 0.8, 0.1 * 8, -0.3, 0.0, -0.0])
"""Floats whose sums tie in decimals and not in binary, and the other way round."""
COLUMNS: Mapping[str, tuple[pl.DataType, st.SearchStrategy[Any]]] = {
    "doubles": (pl.Float64(), SUMS),
    "any doubles": (pl.Float64(), st.floats(allow_nan=False, allow_infinity=False)),
    "singles": (pl.Float32(), SUMS),
    "decimals": (pl.Decimal(20, 2), st.decimals(-9, 9, places=2)),
    "bytes": (pl.UInt8(), st.integers(0, 9)),
    "large": (pl.Int64(), st.integers(2**62, 2**62 + 9)),
    "positive": (pl.UInt64(), st.integers(2**64 - 9, 2**64 - 1)),
}
WEIGHTS = st.sampled_from([Fraction(1), Fraction(-1), Fraction(1, 3), Fraction(-7, 10)])


@st.composite
def tables(draw: st.DrawFn) -> pl.DataFrame:
    """Two columns of any numeric types; singles as they read in decimals."""
    height = draw(st.integers(1, 12))
    columns = {}
    for name in "ab":
        dtype, values = COLUMNS[draw(st.sampled_from(sorted(COLUMNS)))]
        drawn = draw(st.lists(values, min_size=height, max_size=height))
        columns[name] = pl.Series(name, drawn, dtype=dtype)
    return pl.DataFrame(columns)


def readable(frame: pl.DataFrame) -> pl.DataFrame:
    """Singles as the doubles that read alike."""
    return frame.with_columns(pl.col(pl.Float32).cast(pl.String).cast(pl.Float64))


@pytest.fixture
def tight(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prune all the time, and hold next to nothing."""
    monkeypatch.setattr(best_rows, "_FIRST_PRUNE", 1)
    monkeypatch.setattr(best_rows, "_HELD", 3)


@given(
    frame=tables(),
    weights=st.tuples(WEIGHTS, WEIGHTS),
    top=st.integers(1, 6),
    ties=st.booleans(),
    size=st.integers(1, 5),
    held=st.sampled_from([1, 3, 1 << 20]),
)
def test_a_scan_finds_what_sorting_exact_scores_finds(
    frame: pl.DataFrame,
    weights: tuple[Fraction, Fraction],
    top: int,
    ties: bool,
    size: int,
    held: int,
) -> None:
    """In any pieces, of any numeric types, however little is held; ties are those of decimals."""
    score = Weighted(dict(zip("ab", weights, strict=True)))
    expected = by_sorting(readable(frame), score, top, ties=ties)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(best_rows, "_FIRST_PRUNE", held)
        patch.setattr(best_rows, "_HELD", held)
        for rounded in (True, False):
            try:
                found = BestRows.find(
                    Pieces(frame, size), BestRowsQuery(score, top, ties), rounded=rounded
                )
            except best_rows.UnusualError:
                assert rounded
                numbers = np.abs(np.concatenate([c.cast(pl.Float64).to_numpy() for c in frame]))
                assert numbers.max() > 1e299 or 0 < numbers[numbers > 0].min() < 1e-307
                continue
            assert found.seen == frame.height
            assert found.tops == expected[0]
            if found.tops:
                assert found.box.places.tolist() == expected[1]
                assert found.box.rows.equals(frame[expected[1]])


def uniform(rows: int, columns: int = 3) -> pl.DataFrame:
    """Numbers between 0 and 1."""
    values = np.random.default_rng(7).random((rows, columns))
    return pl.DataFrame(values, schema=list("abc")[:columns])


def test_one_pass_is_enough_and_few_rows_are_held() -> None:
    """Of 200,000 uniform rows only those near the corner are kept for the box."""
    frame = uniform(200_000)
    pieces, held = Pieces(frame, 10_000), []
    scan = best_rows._Scan
    with pytest.MonkeyPatch.context() as patch:

        class Watched(scan):
            def likely(self) -> Batch:
                found = super().likely()
                held.append(sum(len(part.scores) for part in self._held))
                return found

        patch.setattr(best_rows, "_Scan", Watched)
        score = Weighted(dict.fromkeys("abc", Fraction(1)))
        found = BestRows.find(pieces, BestRowsQuery(score, 20, ties=True))
    assert pieces.passes == 1
    assert len(found.box.places) < held[0] < 2_000
    assert (found.tops, found.box.places.tolist()) == by_double_precision(frame, 20)


def by_double_precision(frame: pl.DataFrame, top: int) -> tuple[int, list[int]]:
    """As ``by_sorting`` for a plain sum, where rounding decides nothing."""
    values = frame.to_numpy()
    scores = values.sum(axis=1)
    best = values[scores >= np.sort(scores)[-top]]
    inside = ((values >= best.min(axis=0)) & (values <= best.max(axis=0))).all(axis=1)
    return len(best), np.flatnonzero(inside).tolist()


def test_a_late_outlier_costs_a_second_pass_and_no_row() -> None:
    """A row that could not lie in the box, so far, does after larger values have come."""
    rows = [(0.9, 0.9)] * 9 + [(0.75, 0.1)] + [(0.7, 5.0), (6.0, 0.05)]
    frame = pl.DataFrame(rows, schema=["a", "b"], orient="row")
    score = Weighted({"a": Fraction(1), "b": Fraction(1)})
    pieces = Pieces(frame, 2)
    found = BestRows.find(pieces, BestRowsQuery(score, 2, ties=True))
    assert pieces.passes == 2
    assert found.box.places.tolist() == list(range(12))


@pytest.mark.parametrize("descending", [False, True])
def test_sorted_rows_are_ranked_like_any(descending: bool) -> None:
    """In a table that ascends by score, all rows are among the best for a while."""
    frame = uniform(50_000).sort(pl.sum_horizontal("a", "b", "c"), descending=descending)
    score = Weighted(dict.fromkeys("abc", Fraction(1)))
    found = BestRows.find(Pieces(frame, 1_000), BestRowsQuery(score, 10, ties=True))
    assert (found.tops, found.box.places.tolist()) == by_double_precision(frame, 10)


@pytest.mark.usefixtures("tight")
def test_a_box_that_is_too_large_to_hold_is_read_in_a_second_pass() -> None:
    """What one column gains the other loses: nearly every row is in the box."""
    gain = np.random.default_rng(3).random(5_000)
    frame = pl.DataFrame({"a": gain, "b": 1 - gain + np.linspace(0, 0.001, 5_000)})
    pieces = Pieces(frame, 500)
    score = Weighted({"a": Fraction(1), "b": Fraction(1)})
    found = BestRows.find(pieces, BestRowsQuery(score, 50, ties=True))
    assert pieces.passes == 2
    assert len(found.box.places) > 4_000
    assert (found.tops, found.box.places.tolist()) == by_double_precision(frame, 50)


def test_a_score_that_is_rounded_wrongly_would_be_noticed() -> None:
    """Were the error of singles ignored, 0.3 + 0 would beat 0.1 + 0.2, with which it ties."""

    class Careless(Weighted):
        def error(self, column: str, low: float, high: float, relative: float) -> float:
            return 0.0

    frame = pl.DataFrame({"a": [0.1, 0.3], "b": [0.2, 0.0]}).cast(pl.Float32)
    weights = {"a": Fraction(1), "b": Fraction(1)}
    asked = BestRowsQuery(Weighted(weights), 1, ties=True)
    assert BestRows.find(Pieces(frame, 2), asked).tops == 2
    asked = BestRowsQuery(Careless(weights), 1, ties=True)
    assert BestRows.find(Pieces(frame, 2), asked).tops == 1


PLAN = {
    "roles": {"ranking": ["math", "speed"], "quasi_identifiers": ["age", "town"]},
    "columns": {"town": {"nulls": "category"}, "speed": {"better": "lower"}},
}
PEOPLE = pl.DataFrame(
    {
        "name": [f"planted-{i}" for i in range(60)],
        "math": [(7 * i) % 31 for i in range(60)],
        "speed": [((11 * i) % 37) / 8 for i in range(60)],
        "age": [20 + (5 * i) % 9 for i in range(60)],
        "town": [["Aix", "Brno", None, "Kyiv"][i % 4] for i in range(60)],
    }
)
SCORE = Sum(("math", "speed"), (1, -1))


def contents(top: TopRows) -> tuple[int, int, list[tuple[Any, ...]]]:
    """How many are best, how many in the box, and what they are."""
    table = top.table
    counts = table.count_combinations(["math", "speed", "age", "town"])
    texts = [
        tuple(v.texts[c] for v, c in zip(counts.values, codes, strict=True))
        for codes in counts.codes.tolist()
    ]
    return top.tops, table.rows, list(zip(texts, counts.rows.tolist(), strict=True))


def parquet(frame: pl.DataFrame, folder: Path) -> Path:
    """Some rows to a group."""
    frame.write_parquet(folder / "people.parquet", row_group_size=17)
    return folder / "people.parquet"


def ipc(frame: pl.DataFrame, folder: Path) -> Path:
    """As Feather writes it."""
    frame.write_ipc(folder / "people.arrow", compression="zstd")
    return folder / "people.arrow"


def stream(frame: pl.DataFrame, folder: Path) -> Path:
    """An IPC stream."""
    frame.write_ipc_stream(folder / "people.arrows")
    return folder / "people.arrows"


def several(frame: pl.DataFrame, folder: Path) -> Path:
    """A folder of files."""
    for number in range(12):
        frame.slice(5 * number, 5).write_parquet(folder / f"part-{number}.parquet")
    return folder


def csv(frame: pl.DataFrame, folder: Path) -> Path:
    """A text, compressed."""
    (folder / "people.csv.gz").write_bytes(gzip.compress(frame.write_csv().encode()))
    return folder / "people.csv.gz"


def categories(frame: pl.DataFrame, folder: Path) -> Path:
    """Texts as categories."""
    return parquet(frame.with_columns(pl.col("town").cast(pl.Categorical)), folder)


@pytest.mark.parametrize("write", [parquet, ipc, stream, several, csv, categories])
def test_every_format_gives_the_same_rows(
    write: Callable[[pl.DataFrame, Path], Path], tmp_path: Path
) -> None:
    """A file that is scanned, one that is read as a whole, and a frame agree."""
    plan, path = parse_plan(PLAN), write(PEOPLE, tmp_path)
    expected = contents(open_frame(PEOPLE, plan).top_rows(SCORE, 5, ties=True))
    for table in (scan_table(path, plan), open_table(path, plan)):
        assert contents(table.top_rows(SCORE, 5, ties=True)) == expected
        assert (table.rows, table.dropped) == (60, 0)
        assert table.source_format == ("csv" if write is csv else "parquet")


def guarded(frame: pl.DataFrame) -> PolarsRows:
    """Rows of which no column must be read as a whole."""

    def nobody_should_ask() -> DictionaryColumn:
        raise AssertionError

    def batches(columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        """A few rows at a time, without the columns that nobody publishes."""
        assert "name" not in columns
        return frame.select(columns).iter_slices(7)

    columns = {
        name: PolarsColumn.later(dtype, nobody_should_ask) for name, dtype in frame.schema.items()
    }
    return PolarsRows(columns, scan=batches)


def test_no_column_is_read_as_a_whole() -> None:
    """Best rows, numbers of rows and kinds come from the scan alone."""
    plan = parse_plan({**PLAN, "nulls": "drop", "columns": {}})
    table = PrivateTable(TableSource(PolarsEngine(), guarded(PEOPLE), plan, PEOPLE.columns))
    assert table.kinds(["math", "speed", "town"]) == {
        "math": "number",
        "speed": "number",
        "town": "text",
    }
    best = table.top_rows(SCORE, 5, ties=True)
    assert (best.tops, table.rows, table.dropped) == (5, 45, 15)
    assert repr(table) == "PrivateTable(private)"


def changed(column: str, row: int, value: Any) -> pl.DataFrame:
    """The people with one other value."""
    there = pl.int_range(pl.len()) == row
    dtype = PEOPLE.schema[column]
    return PEOPLE.with_columns(
        pl.when(there).then(pl.lit(value, dtype=dtype)).otherwise(column).alias(column)
    )


@pytest.mark.parametrize(
    ("column", "value", "declared", "words"),
    [
        ("age", None, {}, "'age' misses its value in 1 of 60 rows, first in row 58"),
        ("math", None, {}, "'math' misses its value in 1 of 60 rows, first in row 58"),
        ("math", None, {"nulls": "category"}, "'math' misses its value in row 58"),
        ("speed", float("nan"), {}, "'speed': row 58 is NaN or infinite"),
        ("speed", float("inf"), {}, "'speed': row 58 is NaN or infinite"),
        ("speed", -1.0, {"bounds": [0, 5]}, "'speed': 1 values lie outside.*first in row 58"),
        ("town", "?", {}, "'town' misses its value in 16 of 60 rows, first in row 3"),
    ],
)
def test_the_whole_table_is_held_to_the_plan(
    column: str, value: Any, declared: dict[str, Any], words: str
) -> None:
    """Also a row far from the best; the message is that of a table that was read as a whole."""
    frame = changed(column, 57, value)
    columns = {"town": {"nulls": "category"}, column: declared}
    plan = parse_plan({**PLAN, "missing": ["?"], "columns": columns})
    messages = []
    for open_ in (scan_frame, open_frame):
        with pytest.raises(TableError, match=words) as refusal:
            open_(frame, plan).top_rows(SCORE, 5, ties=True)
        messages.append(str(refusal.value))
    assert messages[0] == messages[1]


def test_a_text_without_a_place_is_refused() -> None:
    """Wherever its row stands; the message counts and does not tell."""
    frame = pl.DataFrame({"grade": ["good"] * 9 + ["secret"]})
    plan = Plan(
        Roles(ranking=("grade",)), columns={"grade": ColumnPlan(order=("bad", "fair", "good"))}
    )
    messages = []
    for open_ in (scan_frame, open_frame):
        with pytest.raises(TableError, match="1 of the 2 different values") as refusal:
            open_(frame, plan).top_rows(Sum(("grade",), (1,)), 1, ties=True)
        messages.append(str(refusal.value))
    assert messages[0] == messages[1]
    assert "secret" not in messages[0]


def test_values_without_a_score_are_refused() -> None:
    """A logarithm of 0 in the last row, counted over the whole table."""
    frame = pl.DataFrame({"a": [3.0, 2.0, 0.0, 0.0]})
    plan = Plan(Roles(ranking=("a",)))
    score = Scoring.of_expression(parse("ln(a)"), plan)
    for open_ in (scan_frame, open_frame):
        with pytest.raises(TableError, match=r"ln.*1 different values of the column are not"):
            open_(frame, plan).top_rows(score, 1, ties=True)


def test_clamped_values_are_ranked_as_they_are_clamped() -> None:
    """An outlier counts as the bound; the custodian is told."""
    plan = parse_plan(
        {
            **PLAN,
            "columns": {
                "math": {"bounds": [0, 29], "outside": "clamp"},
                "town": {"nulls": "category"},
            },
        }
    )
    frame = changed("math", 3, 1000)
    scanned, whole = (
        open_(frame, plan).top_rows(SCORE, 3, ties=True) for open_ in (scan_frame, open_frame)
    )
    assert contents(scanned) == contents(whole)
    assert any("outside the public bounds" in note for note in scanned.table.notes)


def test_a_table_that_was_read_as_a_whole_once_may_be_scanned_again() -> None:
    """A score that cannot be rounded, between two that can: each counts its own rows."""
    frame = pl.DataFrame({"a": [1.0, 2.0, 3.0], "b": [1e307, 0.0, 1e307], "c": [1, None, 3]})
    roles = Roles(ranking=("a", "b"), keep=("c",), keep_unique=("c",))
    table = scan_frame(frame, Plan(roles, nulls="drop"))
    for column, tops in (("a", 1), ("b", 2), ("a", 1)):
        best = table.top_rows(Sum((column,), (1,)), 1, ties=True)
        assert (best.tops, best.table.rows, best.table.dropped) == (tops, tops, 1)
        assert (table.rows, table.dropped) == (2, 1)


def test_bounds_of_other_columns_are_those_of_rows_in_the_box() -> None:
    """Rows that cannot be published may hold anything; of the others the message has the number."""
    plan = parse_plan(
        {**PLAN, "columns": {"age": {"bounds": [0, 99]}, "town": {"nulls": "category"}}}
    )
    best = PEOPLE["math"].to_numpy() - PEOPLE["speed"].to_numpy()
    far, near = int(best.argmin()), int(best.argmax())
    assert scan_frame(changed("age", far, 120), plan).top_rows(SCORE, 3, ties=True).tops == 3
    with pytest.raises(TableError, match=f"'age': 1 values.*first in row {near + 1};"):
        scan_frame(changed("age", near, 120), plan).top_rows(SCORE, 3, ties=True)


@pytest.mark.parametrize(
    ("columns", "declared"),
    [
        ({"a": ["3", "1", "2"]}, {"type": "number"}),
        ({"a": [3, 1, 2]}, {"order": ["1", "2", "3"]}),
        ({"a": [True, False, False]}, {"order": ["false", "true"]}),
        ({"a": ["3", "1", "2"]}, {"order": ["1", "2", "3"], "type": "text"}),
    ],
)
def test_what_a_scan_does_not_rank_is_read_as_a_whole(
    columns: dict[str, list[Any]], declared: dict[str, Any]
) -> None:
    """Numbers written as texts, and orders of other kinds than texts, rank all the same."""
    plan = parse_plan({"roles": {"ranking": ["a"]}, "columns": {"a": declared}})
    table = scan_frame(pl.DataFrame(columns), plan)
    best = table.top_rows(Sum(("a",), (1,)), 1, ties=True)
    assert (best.tops, best.table.rows, table.rows) == (1, 1, 3)


def test_numbers_that_do_not_fit_a_double_are_ranked_exactly() -> None:
    """Terms that overflow, or that are too small to have a relative error, decide as decimals."""
    plan = Plan(Roles(ranking=("a", "b")))
    for values in ([1e308, 1.5e308, 1.7e308], [1e-320, 2e-320, 3e-320]):
        frame = pl.DataFrame({"a": values, "b": [0.0, *values[:2]]})
        score = Weighted({"a": Fraction(9), "b": Fraction(9)})
        best = scan_frame(frame, plan).top_rows(score, 2, ties=True)
        assert (best.tops, best.table.rows) == (2, 2)


@pytest.mark.parametrize(
    ("frame", "plan", "error", "words"),
    [
        (PEOPLE.head(0), PLAN, TableError, "no row"),
        (PEOPLE.drop("age"), PLAN, PlanError, "'age'"),
        (
            PEOPLE.with_columns(age=pl.lit(None, dtype=pl.Int64)),
            {**PLAN, "nulls": "drop"},
            TableError,
            "leaves no row",
        ),
    ],
)
def test_tables_without_rows_are_refused(
    frame: pl.DataFrame, plan: dict[str, Any], error: type[Exception], words: str, tmp_path: Path
) -> None:
    """As they are where all rows are read."""
    path = parquet(frame, tmp_path)
    with pytest.raises(error, match=words):
        scan_table(path, parse_plan(plan)).top_rows(SCORE, 5, ties=True)


def test_a_damaged_file_is_refused(tmp_path: Path) -> None:
    """Also where the damage shows only while rows are read; no value is told."""
    path = parquet(uniform(5_000).rename({"a": "math", "b": "speed"}), tmp_path)
    whole = path.read_bytes()
    path.write_bytes(whole[:64] + bytes(2_000) + whole[2_064:])
    plan = Plan(Roles(ranking=("math", "speed")))
    with pytest.raises(TableError, match="not whole or not valid Parquet"):
        scan_table(path, plan).top_rows(Sum(("math", "speed"), (1, 1)), 5, ties=True)


def test_a_release_of_a_file_is_that_of_all_of_its_rows(tmp_path: Path) -> None:
    """The corridor scans, a table that is opened by hand is read: one seed gives one release."""
    plan = parse_plan({**PLAN, "method": {"name": "ranking", "k": 3, "top": 9, "precision": 0.5}})
    made = voile.make_release(parquet(PEOPLE, tmp_path), plan, seed=4)
    by_hand = Ranking(3, 9, Decimal("0.5")).prepare(open_frame(PEOPLE, plan), Randomness.seeded(4))
    one, other = (publication.release for publication in (made, by_hand))
    assert one.table.to_native().equals(other.table.to_native())
    assert one.method == other.method
    assert made.private.rows_in == by_hand.private.rows_in == 60


@given(frame=tables(), cut=st.integers(0, 12), top=st.integers(1, 6), ties=st.booleans())
def test_parts_that_are_gone_through_apart_are_ranked_together(
    frame: pl.DataFrame, cut: int, top: int, ties: bool
) -> None:
    """Two scans of different rows, merged, find what one scan of all of them does."""
    score = Weighted({"a": Fraction(1), "b": Fraction(-1)})

    def in_two(taker: Taker) -> None:
        other = type(taker)(*([taker.box] if hasattr(taker, "box") else [taker._asked]))
        rows = [frame.head(cut), frame.slice(cut)]
        for part, side, start in ((rows[0], taker, 0), (rows[1], other, rows[0].height)):
            places = np.arange(start, start + part.height)
            side.take(Batch(part, ("a", "b"), places))
        taker.merge(other)

    asked = BestRowsQuery(score, top, ties)
    try:
        found = BestRows.find(in_two, asked)
    except best_rows.UnusualError:
        return
    whole = BestRows.find(Pieces(frame, 100), asked)
    assert (found.tops, found.seen) == (whole.tops, whole.seen)
    if found.tops:
        assert found.box.places.tolist() == whole.box.places.tolist()


def test_few_rows_of_a_batch_do_not_keep_its_texts() -> None:
    """What is held of a long table is as large as the rows that are held, not as their batches."""
    texts = pl.Series("t", [f"a text that is not short {place % 7}" for place in range(100_000)])
    batch = Batch(texts.to_frame(), ("t",), np.arange(len(texts)))
    held = batch.only(np.array([3, 99_999])).rows["t"]
    buffers = held.to_arrow(compat_level=pl.CompatLevel.newest()).buffers()
    assert held.to_list() == [texts[3], texts[99_999]]
    assert sum(each.size for each in buffers if each is not None) < 1000
