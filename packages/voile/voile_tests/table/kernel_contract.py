"""What every engine must do with rows: inherit ``KernelContract`` and say which engine.

Values are of all awkward kinds, and expectations are computed here, from lists of Python's values.
"""

from __future__ import annotations

import datetime as dt
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile.table.arrays import array_of, numbers_of, of_type, series_of
from voile.table.protocol import Engine, Rows
from voile.table.reading import read_frame
from voile_base.errors import QueryError
from voile_base.randomness import Randomness
from voile_base.values.expressions import (
    Call,
    Column,
    Expression,
    Literal,
    both,
    evaluate,
    is_missing,
    negated,
    order_key,
)

KINDS: dict[str, tuple[Any, list[Any]]] = {
    "small": (pl.Int8, [-128, 0, 127]),
    "large": (pl.Int64, [2**53, 2**53 + 1, -(2**63), 2**63 - 1]),
    "unsigned": (pl.UInt64, [0, 2**63, 2**64 - 1]),
    "decimal": (pl.Decimal(20, 2), [Decimal("-1.10"), Decimal("0.00"), Decimal("99999999999.99")]),
    "double": (pl.Float64, [0.0, -0.0, 0.1, -1e300, float("inf"), float("nan")]),
    "single": (pl.Float32, [0.5, -0.25, 3.0]),
    "truth": (pl.Boolean, [True, False]),
    "text": (pl.String, ["", "a", "B", "Z\u00fcrich", "\u5317\u4eac", "\U0001f600", "a b", "'"]),
    "date": (pl.Date, [dt.date(1600, 2, 29), dt.date(2020, 1, 1)]),
    "time": (pl.Time, [dt.time(0), dt.time(23, 59, 59, 999999)]),
    "duration": (pl.Duration("us"), [dt.timedelta(days=-1), dt.timedelta(microseconds=1)]),
    "moment": (pl.Datetime("us"), [dt.datetime(1969, 12, 31, 23), dt.datetime(2020, 6, 1)]),
    "zoned": (
        pl.Datetime("us", "Europe/Paris"),
        [dt.datetime(2020, 6, 1, 12, tzinfo=dt.UTC), dt.datetime(1969, 1, 1, tzinfo=dt.UTC)],
    ),
}
"""Types, and some values of each; a missing one is added."""


def awkward(rows: int, seed: int = 0) -> pl.DataFrame:
    """A table of all kinds of values."""
    rng = np.random.default_rng(seed)
    columns = [
        pl.Series(name, [([None, *values])[i] for i in rng.integers(0, len(values) + 1, rows)])
        if name in ("zoned",)
        else pl.Series(
            name, [([None, *values])[i] for i in rng.integers(0, len(values) + 1, rows)], dtype
        )
        for name, (dtype, values) in KINDS.items()
    ]
    return pl.DataFrame(columns).with_columns(
        pl.col("zoned").cast(pl.Datetime("us", "Europe/Paris"))
    )


TABLES = st.sampled_from([awkward(rows, seed) for rows in (0, 1, 2, 30) for seed in (0, 1)])
NAMES = st.lists(st.sampled_from(sorted(KINDS)), min_size=1, max_size=3, unique=True)


def keys(frame: pl.DataFrame, names: Sequence[str]) -> list[tuple[Any, ...]]:
    """For each row, what orders it by some columns."""
    return [tuple(map(order_key, row)) for row in frame.select(names).rows()]


class KernelContract(ABC):
    """Promises of ``Rows`` and ``Engine``."""

    @abstractmethod
    def engine(self) -> Engine:
        """The engine."""

    def rows(self, frame: pl.DataFrame) -> Rows:
        """A data set of the engine."""
        return self.engine().of_arrow(frame.to_arrow())

    def frame(self, rows: Rows) -> pl.DataFrame:
        """The rows of a data set, as they stand."""
        return pl.DataFrame(rows.to_arrow())

    def holding(self, rows: Rows, holds: Expression) -> list[Any]:
        """The numbers of the rows for which an expression holds."""
        return self.frame(rows.numbered("n").filter(holds).select(["n"]))["n"].to_list()

    @pytest.mark.parametrize("rows", [0, 1, 50])
    def test_values_and_types_go_in_and_out(self, rows: int) -> None:
        """Whatever a column holds, that it holds; minus zero is zero."""
        frame = awkward(rows)
        data = self.rows(frame)
        assert data.height == rows
        assert data.schema.names == frame.columns
        shown = self.frame(data)
        assert keys(shown, frame.columns) == keys(frame, frame.columns)
        assert [str(t) for t in shown.dtypes] == [str(t) for t in frame.dtypes]
        assert not any(np.signbit(v) for v in shown["double"].drop_nulls() if v == 0)

    @pytest.mark.parametrize("rows", [0, 1, 50])
    def test_batches_hold_all_rows(self, rows: int) -> None:
        """Rows that are given some at a time are those that are given at once."""
        data = self.rows(awkward(rows))
        found = [
            [of_type(array, field.type) for array, field in zip(batch, data.schema, strict=True)]
            for batch in data.batches()
        ]
        shown = [pa.RecordBatch.from_arrays(arrays, schema=data.schema) for arrays in found]
        frame = pl.DataFrame(pa.Table.from_batches(shown, data.schema))
        assert keys(frame, data.schema.names) == keys(self.frame(data), data.schema.names)

    @given(frame=TABLES, names=NAMES, keep=st.booleans())
    def test_combinations_are_counted(
        self, frame: pl.DataFrame, names: list[str], keep: bool
    ) -> None:
        """Values ascend, missing first; combinations ascend by their codes, each with its rows."""
        counted = self.rows(frame).count(names, keep=keep)
        assert counted.columns == tuple(names)
        values = [[order_key(v) for v in array.to_pylist()] for array in counted.values]
        for place, name in enumerate(names):
            assert values[place] == sorted(set(values[place])) == sorted(set(keys_of(frame, name)))
        codes = counted.codes.tolist()
        assert codes == sorted(codes)
        found = {
            tuple(of[code] for of, code in zip(values, row, strict=True)): rows
            for row, rows in zip(codes, counted.rows.tolist(), strict=True)
        }
        assert found == Counter(keys(frame, names))

    @given(frame=TABLES, names=NAMES, data=st.data())
    def test_columns_are_joined_by_combination(
        self, frame: pl.DataFrame, names: list[str], data: st.DataObject
    ) -> None:
        """Each row gets what its combination gets, one that was not counted nothing."""
        rows = self.rows(frame)
        some = data.draw(st.sampled_from([None, *names]))
        counted_rows = rows if some is None else rows.filter(negated(is_missing(some)))
        counted = counted_rows.count(names, keep=data.draw(st.booleans()))
        numbers = np.arange(len(counted.rows)) * 10
        texts = pl.Series([f"t{number}" for number in numbers], dtype=pl.String)
        columns = {"made": array_of(numbers), "text": texts.to_arrow()}
        joined = self.frame(rows.join(counted, columns))
        values = [[order_key(v) for v in array.to_pylist()] for array in counted.values]
        place = {
            tuple(of[code] for of, code in zip(values, row, strict=True)): index
            for index, row in enumerate(counted.codes.tolist())
        }
        expected = [place.get(key) for key in keys(frame, names)]
        assert joined["made"].to_list() == [None if p is None else 10 * p for p in expected]
        assert joined["text"].to_list() == [None if p is None else f"t{10 * p}" for p in expected]
        assert joined.columns == [*frame.columns, "made"]

    @pytest.mark.parametrize(
        "holds",
        [
            is_missing("text"),
            Call("=", (Column("text"), Literal("B"))),
            Call(">", (Column("text"), Literal("Z"))),
            negated(Call("=", (Column("text"), Literal("B")))),
            Call(">=", (Column("large"), Literal(2**53 + 1))),
            Call("=", (Column("unsigned"), Literal(2**64 - 1))),
            Call("<", (Column("small"), Literal(0))),
            Call("<", (Column("double"), Literal(0.1))),
            Call("=", (Column("double"), Literal(0.0))),
            negated(Call("finite", (Column("double"),))),
            Call("=", (Column("date"), Literal(dt.date(2020, 1, 1)))),
            Call(">", (Column("moment"), Literal(dt.datetime(1970, 1, 1)))),
            Column("truth"),
            Call("holds", (negated(Column("truth")),)),
            both(Column("truth"), Call("<>", (Column("text"), Literal("a")))),
            Call(
                "or",
                (Column("truth"), is_missing("date"), Call("=", (Column("small"), Literal(0)))),
            ),
            Call("in", (Column("text"), Literal("a"), Literal("\u5317\u4eac"))),
            negated(Call("in", (Column("text"), Literal("a"), Literal(None)))),
            Call("same", (Column("single"), Literal(None))),
            Call("other", (Column("truth"), Literal(value=True))),
            Call("like", (Column("text"), Literal("%\u00fc_ich"))),
            Call("alike", (Column("text"), Literal("b"))),
            Call("=", (Call("%", (Call("integer", (Column("small"),)), Literal(3))), Literal(-2))),
            Call(
                ">",
                (Call("+", (Call("integer", (Column("large"),)), Literal(1))), Literal(2**63 - 1)),
            ),
            Call("=", (Call("length", (Column("text"),)), Literal(2))),
            Call("=", (Call("year", (Column("date"),)), Literal(1600))),
            Call("case", (Column("truth"), Column("truth"), Literal(value=False))),
            Literal(value=True),
            Literal(value=False),
        ],
    )
    def test_rows_are_chosen_by_expressions(self, holds: Expression) -> None:
        """An expression means what ``evaluate`` says, and what is missing does not hold."""
        frame = awkward(60)
        rows = self.rows(frame)
        there = [n for n, row in enumerate(frame.to_dicts(), 1) if evaluate(holds, row) is True]
        assert self.holding(rows, holds) == there
        tally = rows.tally(holds)
        assert (tally.rows, tally.first) == (len(there), there[0] if there else None)

    def test_an_expression_that_makes_no_sense_is_refused(self) -> None:
        """Texts are not numbers."""
        with pytest.raises(QueryError, match="cannot be evaluated"):
            self.rows(awkward(5)).filter(Call(">", (Column("text"), Literal(3)))).height  # noqa: B018

    def test_numbers_of_rows_are_those_of_the_source(self) -> None:
        """Behind rows that were left out, and where the source said so."""
        frame = pl.DataFrame({"x": [5, 1, 5, 2, 5]})
        rows = self.rows(frame).filter(Call("=", (Column("x"), Literal(5))))
        assert self.frame(rows.numbered("n"))["n"].to_list() == [1, 3, 5]
        last = rows.filter(Call(">", (Column("x"), Literal(0)))).numbered("n")
        assert last.tally(Call(">", (Column("n"), Literal(1)))).first == 3
        numbered = self.engine().of_arrow(frame.to_arrow(), np.array([10, 20, 30, 40, 50]))
        assert numbered.tally(Call("<", (Column("x"), Literal(3)))).first == 21

    @given(frame=TABLES)
    def test_functions_see_batches_of_rows(self, frame: pl.DataFrame) -> None:
        """What they give stands beside what they read, missing values and dictionaries too."""
        words = pl.Series(["none", "some"]).to_arrow()

        def function(batch: pa.RecordBatch) -> list[Any]:
            numbers, texts = series_of(batch["small"]), series_of(batch["text"])
            there = texts.is_not_null()
            codes = array_of(there.cast(pl.UInt8).to_numpy())
            made = (numbers.cast(pl.Int64) * 2).to_arrow()
            return [made, there.to_arrow(), pa.DictionaryArray.from_arrays(codes, words)]

        fields = [("twice", pa.int64()), ("there", pa.bool_()), ("word", pa.large_string())]
        rows = self.rows(frame).map(function, ["small", "text"], pa.schema(fields))
        shown = self.frame(rows)
        assert shown.columns == [*frame.columns, "twice", "there", "word"]
        small, text = frame["small"].to_list(), frame["text"].to_list()
        assert shown["twice"].to_list() == [None if v is None else 2 * v for v in small]
        assert shown["there"].to_list() == [v is not None for v in text]
        assert shown["word"].to_list() == ["none" if v is None else "some" for v in text]
        if frame.height:
            assert rows.count(["word", "there"]).rows.sum() == frame.height

    def test_a_function_of_one_column_may_take_its_place(self) -> None:
        """Values that become equal are one value afterwards, in their order."""
        rows = self.rows(pl.DataFrame({"x": [3, 1, -3, 2]}))
        gives = pa.schema([pa.field("x", pa.int64())])
        halved = rows.map(lambda b: [(-series_of(b["x"]).abs() // 2).to_arrow()], ["x"], gives)
        assert self.frame(halved)["x"].to_list() == [-2, -1, -2, -1]
        counted = halved.count(["x"])
        assert (counted.values[0].to_pylist(), counted.rows.tolist()) == ([-2, -1], [2, 2])
        assert self.frame(rows)["x"].to_list() == [3, 1, -3, 2]

    @given(frame=TABLES, within=NAMES, by=NAMES)
    def test_ranks_count_from_0_in_each_group(
        self, frame: pl.DataFrame, within: list[str], by: list[str]
    ) -> None:
        """They ascend with the values, and no two of a group are the same; with no group, one."""
        for groups, order in ((within, by), (within, []), ([], by)):
            shown = self.frame(self.rows(frame).rank("rank", groups, order))
            assert shown.select(frame.columns).equals(self.frame(self.rows(frame)))
            members: dict[Any, list[Any]] = {}
            rows = zip(keys(frame, groups) if groups else [()] * frame.height,
                       keys(frame, order) if order else [()] * frame.height,
                       shown["rank"].to_list(), strict=True)  # fmt: skip
            for group, value, rank in rows:
                members.setdefault(group, []).append((rank, value))
            for group_members in members.values():
                ranks, values = zip(*sorted(group_members), strict=True)
                assert list(ranks) == list(range(len(ranks)))
                assert list(values) == sorted(values)

    @given(frame=TABLES, names=NAMES)
    def test_distinct_rows_are_what_was_counted(
        self, frame: pl.DataFrame, names: list[str]
    ) -> None:
        """As a data set, which can go on."""
        shown = self.frame(self.rows(frame).distinct(names, "rows"))
        assert shown.columns == [*names, "rows"]
        found = dict(zip(keys(shown, names), shown["rows"].to_list(), strict=True))
        assert found == Counter(keys(frame, names))
        assert shown.height == len(found)

    @pytest.mark.parametrize("how", ["left", "inner", "anti"])
    @given(frame=TABLES, name=st.sampled_from(sorted(KINDS)))
    def test_rows_are_joined_with_rows(self, how: Any, frame: pl.DataFrame, name: str) -> None:
        """By equal values, a missing one too, in the order of the first."""
        rows = self.rows(frame)
        partners = rows.distinct([name], "rows").filter(Call(">", (Column("rows"), Literal(3))))
        shown = self.frame(rows.join_rows(partners, [name], how))
        often = {key: n for key, n in Counter(keys_of(frame, name)).items() if n > 3}
        found = [often.get(key) for key in keys_of(frame, name)]
        if how == "left":
            assert shown["rows"].to_list() == found
        else:
            there = [(n is not None) == (how == "inner") for n in found]
            expected = frame.filter(pl.Series(there, dtype=pl.Boolean))
            assert keys(shown, frame.columns) == keys(expected, frame.columns)

    @given(one=TABLES, other=TABLES)
    def test_rows_stand_behind_others(self, one: pl.DataFrame, other: pl.DataFrame) -> None:
        """All of both."""
        shown = self.frame(self.rows(one).union(self.rows(other)))
        assert keys(shown, one.columns) == keys(one, one.columns) + keys(other, one.columns)

    @given(frame=TABLES, names=NAMES, data=st.data())
    def test_rows_are_ordered(
        self, frame: pl.DataFrame, names: list[str], data: st.DataObject
    ) -> None:
        """By each column in turn, up or down; also where these are all columns."""
        down = data.draw(st.sets(st.sampled_from(names)))
        for columns in (frame.columns, names):
            shown = self.frame(self.rows(frame.select(columns)).ordered(names, sorted(down)))
            assert Counter(keys(shown, columns)) == Counter(keys(frame, columns))
            expected = list(range(frame.height))
            for name in reversed(names):
                column = keys_of(frame, name)
                expected.sort(key=column.__getitem__, reverse=name in down)
            assert keys(shown, names) == [keys(frame, names)[i] for i in expected]

    @given(frame=TABLES, names=NAMES, seed=st.integers(0, 2))
    def test_columns_are_permuted_by_their_words(
        self, frame: pl.DataFrame, names: list[str], seed: int
    ) -> None:
        """The i-th value of all goes where the i-th word ranks in its group."""
        groups = pl.Series("group", np.arange(frame.height) % 3, dtype=pl.Int32)
        stay = [name for name in ("date", "small") if name not in names]
        table = frame.select(names + stay).with_columns(groups)
        drawn = {name: Randomness.seeded(seed).key(name) for name in names}
        shown = self.frame(self.rows(table).permuted("group", drawn))
        assert shown.columns == table.columns
        kept = sorted(keys(table, ["group", *stay]))
        assert keys(shown, ["group", *stay]) == kept
        for name in names:
            pairs = sorted(keys(table, ["group", name]))
            words = drawn[name].stream(frame.height).tolist()
            ranked = sorted(range(frame.height), key=lambda i: (pairs[i][0], words[i]))
            assert keys_of(shown, name) == [pairs[i][1] for i in ranked]

    def test_groups_that_were_joined_are_permuted_alike(self) -> None:
        """Where an engine kept which combination each row has, nothing else comes out."""
        frame = awkward(40).select("text", "small", "truth")
        rows = self.rows(frame)
        key = Randomness.seeded(3).key("x")
        found = []
        for keep in (True, False):
            counted = rows.count(["text", "small"], keep=keep)
            group = array_of(np.arange(len(counted.rows)) % 4)
            joined = rows.join(counted, {"group": group})
            found.append(self.frame(joined.permuted("group", {"text": key})))
        assert found[0].equals(found[1])

    def test_whole_groups_are_mapped(self) -> None:
        """In the order that is asked for, each group at once, and a row for each group."""
        frame = pl.DataFrame({"g": ["b", "a", None, "b", "a", "b"], "x": [3, 5, 1, 1, 4, 2]})

        def function(batch: pa.RecordBatch) -> tuple[list[Any], list[Any]]:
            group, x = series_of(batch["g"]), numbers_of(batch["x"])
            starts = [0, *(i for i in range(1, len(x)) if not group[i : i + 1].eq_missing(
                group[i - 1 : i])[0])]  # fmt: skip
            before = np.diff(x, prepend=0)
            return [array_of(before)], [array_of(np.add.reduceat(x, starts))]

        rows, groups = self.rows(frame).map_groups(
            function,
            "g",
            ["x"],
            pa.schema([("step", pa.int64())]),
            pa.schema([("sum", pa.int64())]),
        )
        shown = self.frame(rows)
        assert shown.select("g", "x").rows() == [
            (None, 1), ("a", 4), ("a", 5), ("b", 1), ("b", 2), ("b", 3)
        ]  # fmt: skip
        assert shown.filter(g="b")["step"].to_list()[1:] == [1, 1]
        assert self.frame(groups).rows() == [(None, 1), ("a", 9), ("b", 6)]
        assert keys(self.frame(rows.ordered(["g", "x", "step"])), ["g", "x"]) == keys(
            shown, ["g", "x"]
        )

    @given(frame=TABLES)
    def test_a_fold_sees_every_row_once(self, frame: pl.DataFrame) -> None:
        """Consecutive rows, with the number of their first, in the order of the source."""
        seen: list[tuple[int, Any]] = []

        class Collected:
            def take(self, batch: pa.RecordBatch, first: int) -> None:
                values = series_of(batch["large"]).to_list()
                seen.extend((first + i, value) for i, value in enumerate(values))

            def merge(self, other: Any) -> None:
                raise AssertionError

        self.rows(frame).fold(["large", "text"], Collected())
        assert seen == list(enumerate(frame["large"].to_list()))

    @given(frame=TABLES, least=st.integers(0, 3))
    def test_a_fold_that_has_enough_has_seen_the_first_rows(
        self, frame: pl.DataFrame, least: int
    ) -> None:
        """Engines may stop once a fold says so, or go on."""
        seen: list[Any] = []

        class First:
            def take(self, batch: pa.RecordBatch, first: int) -> bool:
                assert first == len(seen)
                seen.extend(series_of(batch["large"]).to_list())
                return len(seen) >= least

            def merge(self, other: Any) -> None:
                raise AssertionError

        self.rows(frame).fold(["large"], First())
        assert seen == frame["large"].to_list()[: len(seen)]
        assert len(seen) >= min(least, frame.height)

    @pytest.mark.parametrize("file_format", ["csv", "parquet"])
    def test_rows_are_written_in_their_order(self, tmp_path: Path, file_format: Any) -> None:
        """What was written is read back, from all of its files."""
        names = ["text", "large", "truth"]
        frame = awkward(40).select(names).with_columns(pl.col("text").replace("", "x"))
        rows = self.rows(frame).ordered(names)
        files = rows.write(tmp_path, file_format)
        read = pl.concat([read_frame(tmp_path / name, texts=["text"]).frame for name in files])
        assert keys(read, names) == sorted(keys(frame, names))

    @pytest.mark.parametrize("missing", [None, "missing"])
    def test_a_file_names_no_text_that_none_of_its_rows_has(
        self, tmp_path: Path, missing: str | None
    ) -> None:
        """Texts of rows that were left out stand nowhere in it, not in its dictionaries either."""
        texts = [missing, "kept", "Kept", ""] * 50 + ["left out"] * 100
        frame = pl.DataFrame({"t": texts, "n": range(300)})
        rows = self.engine().of_arrow(frame.to_arrow()).read()
        left = rows.filter(Call("<", (Column("n"), Literal(200)))).ordered(["t", "n"])
        files = left.write(tmp_path, "parquet")
        assert all(b"left out" not in (tmp_path / name).read_bytes() for name in files)
        read = pl.concat([pl.read_parquet(tmp_path / name) for name in files])
        assert read["t"].to_list() == sorted(texts[:200], key=order_key)

    @pytest.mark.parametrize("name", ["a b", 'say "hi"', "semi;colon", "\u00e9", "a.b", "^a$", "*"])
    def test_names_may_be_anything(self, name: str) -> None:
        """Whatever a column is called, it is that column."""
        rows = self.rows(pl.DataFrame({name: [2, 1, 2], "a": [1, 1, 1]}))
        assert rows.count([name, "a"]).rows.tolist() == [1, 2]
        assert rows.tally(Call("=", (Column(name), Literal(2)))).rows == 2
        assert self.frame(rows.ordered([name, "a"]))[name].to_list() == [1, 2, 2]

    def test_data_sets_do_not_change(self) -> None:
        """Whatever is made of them."""
        frame = awkward(20)
        rows = self.rows(frame)
        before = self.frame(rows)
        rows.filter(is_missing("text"))
        rows.ordered(["text", "double"])
        rows.rank("rank", ["text"], []).numbered("n")
        rows.count(["double", "single"], keep=True)
        rows.union(rows)
        assert self.frame(rows).equals(before)


def keys_of(frame: pl.DataFrame, name: str) -> list[Any]:
    """For each row, what orders it by one column."""
    return [order_key(value) for value in frame[name].to_list()]
