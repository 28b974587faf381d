"""What generalization needs of an engine: samples, combinations, recoding, rows carried over."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from voile.schema.hierarchy.generalized import GeneralizedValues
from voile.schema.numbers import ExactNumbers
from voile.schema.plan import Plan
from voile.schema.roles import Roles
from voile.table.decisions import Grouping, RecodedColumn, Treatment
from voile.table.engines.polars import PolarsEngine
from voile.table.keeping import KeptRows
from voile.table.opening import open_published
from voile.table.private import PrivateTable
from voile.table.summaries import CombinationCounts
from voile_base.errors import TableError
from voile_base.randomness import Randomness
from voile_tests.table.engine import ROLES, ROWS, Engine, Row, frame_of

HALF = Decimal("0.5")
DECADES = GeneralizedValues(
    share=np.array([0.5, 0.5]), low=ExactNumbers.of([20, 22]), high=ExactNumbers.of([21, 29])
)
"""Ages 20 and 21, and 22 to 29."""
COUNTRIES = GeneralizedValues(share=np.ones(3) / 3, texts=("Moravia", "*", "France"))


def values_of(counts: CombinationCounts, combination: int) -> tuple[str | None, ...]:
    """What a combination shows, as texts."""
    pairs = zip(counts.values, counts.codes[combination].tolist(), strict=True)
    return tuple(values.texts[code] for values, code in pairs)


def as_texts(row: Row) -> tuple[str | None, ...]:
    """A row as its values read in a file."""
    return str(row[0]), row[1], str(int(row[2]))


def shown(row: Row) -> tuple[int, int, str]:
    """What ``coarse`` makes of a row's age and town."""
    low, high = (20, 21) if row[0] < 22 else (22, 29)
    return low, high, {"Aix": "France", "Brno": "Moravia"}.get(str(row[1]), "*")


def coarse(counts: CombinationCounts, order: list[int], hidden: set[int]) -> Treatment:
    """Ages as intervals and towns as countries, the groups numbered in some order.

    ``order`` gives the numbers of up to six groups; combinations of ``hidden`` are left out.
    """
    ages = np.array([int(str(text)) >= 22 for text in counts.values[0].texts], dtype=np.int32)
    countries = [{"Aix": 2, "Brno": 0}.get(str(text), 1) for text in counts.values[1].texts]
    towns = np.array(countries, dtype=np.int32)
    cells = 3 * ages[counts.codes[:, 0]] + towns[counts.codes[:, 1]]
    group = np.array(order)[cells]
    group[[i for i in range(len(group)) if i in hidden]] = -1
    of_group = np.argsort(order).astype(np.int32)
    return recoding(
        counts,
        group,
        (
            RecodedColumn("age", DECADES, of_group // 3),
            RecodedColumn("town", COUNTRIES, of_group % 3),
        ),
    )


def recoding(
    counts: CombinationCounts, group: NDArray[np.int64], columns: tuple[RecodedColumn, ...]
) -> Treatment:
    """A treatment that recodes columns."""
    return Treatment(columns, Grouping.of_counts(counts, group))


def kept_rows(kept: KeptRows) -> list[tuple[Any, ...]]:
    """The rows that a table has left out, of whichever engine they are."""
    return pl.DataFrame(kept.open(PolarsEngine()).to_arrow()).rows()


class GeneralizationContract(Engine):
    """Promises of the methods that generalization uses."""

    @given(rows=ROWS)
    def test_combinations_are_counted(self, rows: list[Row]) -> None:
        """Each combination of values stands with its rows, and they ascend by their codes."""
        counts = self.table(rows).count_combinations(["age", "town", "salary"])
        found = {values_of(counts, i): rows for i, rows in enumerate(counts.rows.tolist())}
        assert found == Counter(map(as_texts, rows))
        codes = counts.codes.tolist()
        assert codes == sorted(codes)
        assert counts.columns == ("age", "town", "salary")

    @given(rows=ROWS)
    def test_rows_are_rolled_up(self, rows: list[Row]) -> None:
        """Values that count as another are counted as that, and named as in the whole table."""
        table = self.table(rows)
        ages = table.count_combinations(["age"]).values[0]
        rolled = np.arange(len(ages), dtype=np.int32) // 2 * 2
        counts = table.count_combinations(["age", "town"], rolled={"age": rolled})
        assert [values.texts for values in counts.values] == [
            values.texts for values in table.count_combinations(["age", "town"]).values
        ]
        found = {values_of(counts, i): rows for i, rows in enumerate(counts.rows.tolist())}
        counts_as = {text: ages.texts[rolled[code]] for code, text in enumerate(ages.texts)}
        assert found == Counter((counts_as[str(row[0])], row[1]) for row in rows)
        assert counts.codes.tolist() == sorted(counts.codes.tolist())

    @given(rows=ROWS)
    def test_distinct_values_ascend(self, rows: list[Row]) -> None:
        """Values stand in their order, a missing one first, numbers exactly as well."""
        age, town, salary = self.table(rows).count_combinations(["age", "town", "salary"]).values
        towns = {row[1] for row in rows}
        assert list(town.texts) == sorted(towns, key=lambda name: (name is not None, name))
        assert town.missing == (None in towns)
        assert (age.kind, town.kind, salary.kind) == ("number", "text", "number")
        assert age.numbers is not None
        assert age.numbers.texts() == sorted({str(row[0]) for row in rows}) == list(age.texts)

    def test_values_read_as_in_a_file(self) -> None:
        """Numbers are in plain notation and dates in ISO 8601; a missing number has no number."""
        frame = pl.DataFrame(
            {
                "number": [1e-7, 1e16, -2.50, None],
                "day": pl.Series(["2020-02-29"] * 4).str.to_date(),
                "flag": [True, False, True, True],
            }
        )
        plan = Plan(Roles(quasi_identifiers=("number", "day", "flag")), nulls="category")
        number, day, flag = self.open(frame, plan).count_combinations(frame.columns).values
        assert number.texts == (None, "-2.5", "0.0000001", "10000000000000000")
        assert number.numbers is not None
        assert number.numbers.texts() == list(number.texts[1:])
        assert (day.kind, day.texts) == ("date", ("2020-02-29",))
        assert (flag.kind, flag.texts) == ("boolean", ("false", "true"))

    def test_numbers_that_are_not_finite_are_refused(self) -> None:
        """The message names the row, also behind rows that were dropped."""
        frame = pl.DataFrame({"age": [None, 1.0, float("nan")]})
        table = self.open(frame, Plan(Roles(quasi_identifiers=("age",)), nulls="drop"))
        with pytest.raises(TableError, match=r"'age': row 3 is NaN or infinite"):
            table.count_combinations(["age"])

    @given(rows=ROWS, seed=st.integers(0, 5), data=st.data())
    def test_a_sample_is_a_function_of_the_rows(
        self, rows: list[Row], seed: int, data: st.DataObject
    ) -> None:
        """In any order and any number of times, the same rows are drawn."""
        tables = [self.table(rows), self.table(data.draw(st.permutations(rows)))]
        samples = [
            table.count_combinations(
                ["age", "town", "salary"], table.sample_rows(HALF, Randomness.seeded(seed))
            )
            for table in (*tables, tables[0])
        ]
        one, *others = [
            {values_of(counts, i): n for i, n in enumerate(counts.rows.tolist())}
            for counts in samples
        ]
        assert others == [one, one]
        whole = Counter(map(as_texts, rows))
        assert all(0 < n <= whole[values] for values, n in one.items())

    @pytest.mark.parametrize("distinct", [40_000, 3])
    def test_a_sample_has_its_probability(self, distinct: int) -> None:
        """40,000 rows at 0.3, all different or nearly all equal (false alarm 1e-6 each).

        The same test rejects probabilities that are 30 % off.
        """
        n = 40_000
        frame = pl.DataFrame({"age": np.arange(n) % distinct})
        table = self.open(frame, Plan(Roles(quasi_identifiers=("age",))))
        sample = table.sample_rows(Decimal("0.3"), Randomness.seeded(7))
        drawn = int(table.count_combinations(["age"], sample).rows.sum())
        assert stats.binomtest(drawn, n, 0.3).pvalue > 1e-6
        for wrong in (0.21, 0.39):
            assert stats.binomtest(drawn, n, wrong).pvalue < 1e-6

    def test_rows_are_drawn_independently(self) -> None:
        """In 40 samples of 100 times two equal rows and another, all 8 outcomes fit (alarm 1e-6).

        Equal rows are told apart, so the frequencies are those of independent draws; draws in
        which equal rows go together are rejected.
        """
        ages = np.array([[2 * i, 2 * i, 2 * i + 1] for i in range(100)]).ravel()
        table = self.open(pl.DataFrame({"age": ages}), Plan(Roles(quasi_identifiers=("age",))))
        seen: Counter[tuple[int, int]] = Counter()
        for seed in range(40):
            sample = table.sample_rows(HALF, Randomness.seeded(seed))
            counts = table.count_combinations(["age"], sample)
            drawn = np.zeros(200, dtype=int)
            texts = counts.values[0].texts
            drawn[[int(str(texts[code])) for code in counts.codes[:, 0]]] = counts.rows
            seen.update(map(tuple, drawn.reshape(-1, 2).tolist()))
        assert seen.total() == 4_000
        cells = [(equal, other) for equal in (0, 1, 2) for other in (0, 1)]
        expected = [4_000 * (1, 2, 1)[equal] / 8 for equal, _ in cells]
        assert stats.chisquare([seen[cell] for cell in cells], expected).pvalue > 1e-6
        together = [2_000 * (equal != 1) + 1e-9 for equal, _ in cells]
        scaled = np.array(together) * 4_000 / sum(together)
        assert stats.chisquare(scaled, expected).pvalue < 1e-6

    @pytest.mark.parametrize("probability", ["0", "1", "-0.5", "1.5"])
    def test_a_probability_lies_between_0_and_1(self, probability: str) -> None:
        """A sample of nobody or of everybody is a mistake."""
        with pytest.raises(ValueError, match="between 0 and 1"):
            self.table([(20, "Aix", 1.0)]).sample_rows(Decimal(probability), Randomness.seeded(0))

    @given(rows=ROWS, order=st.permutations(range(6)), hidden=st.sets(st.integers(0, 9)))
    def test_rows_are_recoded(self, rows: list[Row], order: list[int], hidden: set[int]) -> None:
        """Rows show what their group shows; what stays stays, and the hidden are not there."""
        table = self.table(rows)
        counts = table.count_combinations(["age", "town"])
        published = self.applied(table, coarse(counts, order, hidden))
        gone = {values_of(counts, i) for i in range(len(counts.rows)) if i in hidden}
        kept = [row for row in rows if as_texts(row)[:2] not in gone]
        expected = sorted((*shown(row), row[2]) for row in kept)
        assert published.columns == ["group", "age.low", "age.high", "town", "salary"]
        assert [row[1:] for row in published.rows()] == expected
        numbers = {contents: i + 1 for i, contents in enumerate(sorted(set(map(shown, kept))))}
        assert published["group"].to_list() == [numbers[row[:3]] for row in expected]

    @given(
        rows=ROWS,
        orders=st.tuples(st.permutations(range(6)), st.permutations(range(6))),
        data=st.data(),
    )
    def test_neither_rows_nor_groups_show_their_order(
        self, rows: list[Row], orders: tuple[list[int], list[int]], data: st.DataObject
    ) -> None:
        """Rows in another order and groups by other numbers give the same release."""
        released = []
        for order, arranged in zip(orders, (rows, data.draw(st.permutations(rows))), strict=True):
            table = self.table(arranged)
            sample = table.sample_rows(HALF, Randomness.seeded(1))
            counts = table.count_combinations(["age", "town"], sample)
            released.append(self.applied(table, coarse(counts, order, set())))
        assert released[0].equals(released[1])
        assert released[0].schema == released[1].schema

    def test_groups_that_show_the_same_are_one(self) -> None:
        """A boundary between groups that nobody can see is not published."""
        table = self.table([(20, "Aix", 1.0), (21, "Aix", 2.0), (22, "Aix", 3.0)])
        counts = table.count_combinations(["age", "town"])
        every = GeneralizedValues(share=np.ones(2), texts=("*", "*"))
        recoded = recoding(
            counts, np.array([5, 2, 0]), (RecodedColumn("age", every, np.arange(6) % 2),)
        )
        published = self.applied(table, recoded)
        assert published["group"].to_list() == [1, 1, 1]
        assert published["salary"].to_list() == [1.0, 2.0, 3.0]

    def test_values_may_stay_as_they_are(self) -> None:
        """A level without generalized values shows the column's own, in their own type."""
        day = pl.Series(["2020-02-01", "2020-01-01"]).str.to_date()
        frame = pl.DataFrame({"day": day, "salary": [1, 2]})
        roles = Roles(quasi_identifiers=("day",), sensitive=("salary",))
        table = self.open(frame, Plan(roles))
        counts = table.count_combinations(["day"])
        itself = GeneralizedValues(share=np.ones(2) / 2)
        for values in (None, itself):
            columns = (RecodedColumn("day", values, counts.codes[:, 0]),)
            recoded = recoding(counts, np.arange(2), columns)
            published = self.applied(table, recoded)
            assert published["day"].to_list() == sorted(day.to_list())
            assert published.schema["day"] == pl.Date
            assert published["salary"].to_list() == [2, 1]

    @pytest.mark.parametrize(
        ("low", "high", "missing", "expected", "dtype"),
        [
            (["1"], ["3.0"], False, [(1, 3)], pl.Int64),
            (["1"], ["3"], True, [(None, None), (1, 3)], pl.Int64),
            (["1"], ["2.5"], False, [(1.0, 2.5)], pl.Float64),
            (["1"], ["9223372036854775808"], False, [(1.0, 2.0**63)], pl.Float64),
        ],
    )
    def test_intervals_are_numbers(
        self, low: list[str], high: list[str], missing: bool, expected: list[Any], dtype: Any
    ) -> None:
        """Whole borders are integers where they fit, others floats; a missing value is missing."""
        table = self.open(
            pl.DataFrame({"age": [None, 1][: 1 + missing] if missing else [1]}),
            Plan(Roles(quasi_identifiers=("age",)), nulls="category"),
        )
        counts = table.count_combinations(["age"])
        values = GeneralizedValues(
            share=np.ones(len(expected)),
            low=ExactNumbers.of(low),
            high=ExactNumbers.of(high),
            missing=missing,
        )
        codes = np.arange(len(expected), dtype=np.int32)
        recoded = recoding(counts, codes.astype(np.int64), (RecodedColumn("age", values, codes),))
        published = self.applied(table, recoded)
        assert published.select("age.low", "age.high").rows() == expected
        assert published.dtypes[1:] == [dtype, dtype]

    @pytest.mark.parametrize("taken", ["group", "age.low", "age.high"])
    def test_a_name_that_the_release_makes_is_refused(self, taken: str) -> None:
        """No column of the table is overwritten or published under a made name."""
        plan = Plan(Roles(quasi_identifiers=("age", "town"), sensitive=("salary",), keep=(taken,)))
        frame = frame_of([(20, "Aix", 1.0)] * 2).with_columns(pl.lit(1).alias(taken))
        table = self.open(frame, plan)
        counts = table.count_combinations(["age", "town"])
        with pytest.raises(TableError, match=f"column '{taken}'.*rename"):
            table.apply(coarse(counts, list(range(6)), set()), Randomness.seeded(0))

    def test_a_column_that_is_not_published_is_not_recoded(self) -> None:
        """Its values would show in how rows are grouped."""
        table = self.open(frame_of([(20, "Aix", 1.0)]), Plan(ROLES), record_key="name")
        counts = table.count_combinations(["age", "name"])
        columns = (RecodedColumn("name", None, counts.codes[:, 1]),)
        with pytest.raises(ValueError, match="'name' is recoded and not published"):
            table.apply(
                recoding(counts, np.zeros(1, dtype=np.int64), columns), Randomness.seeded(0)
            )

    def test_a_release_may_be_empty(self) -> None:
        """A decision that leaves everybody out publishes columns without rows."""
        table = self.table([(20, "Aix", 1.0), (22, None, 2.0)])
        counts = table.count_combinations(["age", "town"])
        recoded = coarse(counts, list(range(6)), {0, 1})
        published = table.apply(recoded, Randomness.seeded(0))
        assert published.rows == 0
        assert published.columns == ("group", "age.low", "age.high", "town", "salary")
        assert recoded.groups is not None
        assert table.left_out(recoded.groups).height == 2

    @given(rows=ROWS, more=ROWS, hidden=st.sets(st.integers(0, 9)), sampled=st.booleans())
    def test_rows_left_out_are_carried_over(
        self, rows: list[Row], more: list[Row], hidden: set[int], sampled: bool
    ) -> None:
        """Published rows and those left out are all rows, and the next table has the latter."""
        table = self.table(rows)
        sample = table.sample_rows(HALF, Randomness.seeded(2)) if sampled else None
        counts = table.count_combinations(["age", "town"], sample)
        treatment = coarse(counts, list(range(6)), hidden)
        assert treatment.groups is not None
        carried = KeptRows.of(table.left_out(treatment.groups, sample))
        left = kept_rows(carried)
        made = self.applied(table, treatment)
        published = [row[1:] for row in made.rows()]
        recoded = [(*shown(row), row[2]) for row in left]
        assert sorted(published + recoded) == sorted((*shown(row), row[2]) for row in rows)
        assert not Counter(left) - Counter(rows)
        pool = self.open(frame_of(more), Plan(ROLES, nulls="category"), carried=carried)
        together = self.table([*more, *left])
        assert pool.rows == together.rows == len(more) + len(left)
        for one, other in ((pool, together), (together, pool)):
            assert self._tally(one) == self._tally(other)

    @given(rows=ROWS)
    def test_published_groups_are_counted(self, rows: list[Row]) -> None:
        """Sizes and cells of a release are those of its rows."""
        published = self._salaries_shown(self.table(rows))
        expected = Counter(shown(row) for row in rows)
        order = sorted(expected)
        columns = ["age.low", "age.high", "town"]
        assert published.group_sizes(columns).tolist() == [expected[values] for values in order]
        cells = published.cells(columns, "salary")
        found = {
            (order[group], float(str(cells.values.texts[value]))): n
            for group, value, n in zip(
                cells.group.tolist(), cells.value.tolist(), cells.rows.tolist(), strict=True
            )
        }
        assert found == Counter((shown(row), row[2]) for row in rows)
        pairs = list(zip(cells.group.tolist(), cells.value.tolist(), strict=True))
        assert pairs == sorted(pairs)
        totals = Counter(row[2] for row in rows)
        assert cells.total.tolist() == [totals[salary] for salary in sorted(totals)]

    @pytest.mark.parametrize("file_format", ["csv", "parquet"])
    def test_published_groups_are_counted_in_a_folder(
        self, tmp_path: Path, file_format: Any
    ) -> None:
        """What is read back from a release folder counts as the release did, nulls as well."""
        rows: list[Row] = [(20, "Aix", 1.0), (21, None, 2.0), (22, None, 2.0), (22, "Brno", 1.0)]
        table = self.table(rows)
        counts = table.count_combinations(["town"])
        columns = (RecodedColumn("town", None, counts.codes[:, 0]),)
        made = table.apply(
            recoding(counts, np.arange(len(counts.rows)), columns), Randomness.seeded(0)
        )
        made.write(tmp_path, file_format)
        read = open_published(tmp_path)
        for published in (made, read):
            assert published.group_sizes(["town"]).tolist() == [2, 1, 1]
            assert published.group_sizes(["town", "age"]).tolist() == [1, 1, 1, 1]
            cells = published.cells(["salary"], "town")
            assert cells.values.texts == (None, "Aix", "Brno")
            assert cells.total.tolist() == [2, 1, 1]
            assert (cells.group.tolist(), cells.value.tolist()) == ([0, 0, 1], [1, 2, 0])
            assert cells.rows.tolist() == [1, 1, 2]

    def _salaries_shown(self, table: PrivateTable) -> Any:
        counts = table.count_combinations(["age", "town"])
        return table.apply(coarse(counts, list(range(6)), set()), Randomness.seeded(0))

    @staticmethod
    def _tally(table: PrivateTable) -> dict[tuple[str | None, ...], int]:
        counts = table.count_combinations(["age", "town", "salary"])
        return {values_of(counts, i): rows for i, rows in enumerate(counts.rows.tolist())}
