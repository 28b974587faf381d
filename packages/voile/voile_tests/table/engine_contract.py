"""What every engine must do, whatever it is made of: inherit ``EngineContract`` and make tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile.schema.plan import ColumnPlan, Plan
from voile.schema.roles import Roles
from voile.table.decisions import Grouping
from voile.table.keeping import KeptRows
from voile.table.private import PrivateTable
from voile.table.published import PublishedTable
from voile.table.summaries import KnownRows, RowMatch
from voile_base.errors import PlanError, TableError
from voile_base.randomness import Randomness
from voile_tests.table.engine import ROLES, ROWS, frame_of, grouping
from voile_tests.table.generalization_contract import GeneralizationContract
from voile_tests.table.perturbation_contract import PerturbationContract
from voile_tests.table.ranking_contract import RankingContract
from voile_tests.table.relocation_contract import RelocationContract
from voile_tests.table.shuffle_contract import (
    FALSE_ALARM,
    ShuffleContract,
    arrangements,
    naive_arrangements,
    uniform,
)

KEY = bytes(range(32))


def known(released: list[tuple[KeptRows, KeptRows]]) -> KnownRows:
    """Marks of earlier releases as an engine expects them."""
    held = released[-1][1] if released else KeptRows()
    return KnownRows(tuple(published for published, _ in released), held, len(released))


class EngineContract(
    GeneralizationContract,
    PerturbationContract,
    RankingContract,
    RelocationContract,
    ShuffleContract,
):
    """Promises of ``PrivateTable`` and of the ``PublishedTable`` that it makes."""

    def one_block(
        self, table: PrivateTable, seed: int, match: RowMatch | None = None
    ) -> PublishedTable:
        """Everything in one block."""
        counts = table.count_values("salary", match)
        block = np.zeros(counts.present().shape, dtype=np.int64)
        return self.permuted(table, counts, block, Randomness.seeded(seed))

    def fours(self, times: int) -> Iterator[pl.DataFrame]:
        """Releases of 100 blocks of 4 rows; rows and values of all of them are numbered alike."""
        table = self.table([(i, "Aix", float(i)) for i in range(400)])
        counts = table.count_values("salary")
        block = np.arange(400).reshape(-1, 1) // 4
        for seed in range(times):
            yield self.rows_of(self.permuted(table, counts, block, Randomness.seeded(seed)))

    @given(rows=ROWS)
    def test_values_are_counted(self, rows: list[tuple[int, str | None, float]]) -> None:
        """Distinct values ascend, with their rows."""
        counts = self.table(rows).count_values("salary")
        expected = Counter(row[2] for row in rows)
        assert [float(value) for value in counts.values.decimals()] == sorted(expected)
        assert counts.total.tolist() == [expected[value] for value in sorted(expected)]

    @given(rows=ROWS, cut=st.integers(0, 4), seed=st.integers(0, 3))
    def test_a_release_keeps_every_block_and_every_marginal(
        self, rows: list[tuple[int, str | None, float]], cut: int, seed: int
    ) -> None:
        """In each block the quasi-identifiers and the values are those of the private rows."""
        table = self.table(rows)
        counts = table.count_values("salary")
        below = np.array([float(value) < cut for value in counts.values.decimals()])
        block = np.where(below | below.all() | ~below.any(), 0, 1).reshape(-1, 1)
        published = self.rows_of(self.permuted(table, counts, block, Randomness.seeded(seed)))
        numbers = zip(counts.values.decimals(), (block[:, 0] + 1).tolist(), strict=True)
        number = {float(value): group for value, group in numbers}
        for columns, of_row in (
            (("group", "age", "town"), lambda row: (number[row[2]], row[0], row[1])),
            (("group", "salary"), lambda row: (number[row[2]], row[2])),
        ):
            shown = Counter(published.select(columns).rows())
            assert shown == Counter(of_row(row) for row in rows)
        assert published.columns == ["group", "age", "town", "salary"]

    @given(rows=ROWS, seed=st.integers(0, 3), data=st.data())
    def test_the_order_of_the_rows_changes_nothing(
        self, rows: list[tuple[int, str | None, float]], seed: int, data: st.DataObject
    ) -> None:
        """Under one seed, a table in another order gives the same release, in the same order."""
        shuffled = data.draw(st.permutations(rows))
        one = self.rows_of(self.one_block(self.table(rows), seed))
        other = self.rows_of(self.one_block(self.table(shuffled), seed))
        assert one.equals(other)

    def test_a_permutation_is_uniform(self) -> None:
        """30 releases of 100 blocks of 4 rows hit all 24 arrangements alike (false alarm 1e-6).

        The same test rejects a shuffle that exchanges each place with any other place.
        """
        seen = [
            arrangement
            for shown in self.fours(30)
            for arrangement in arrangements(shown.sort("age")["salary"], 4)
        ]
        assert len(seen) == 3_000
        assert uniform(seen, 24) > FALSE_ALARM
        assert uniform(naive_arrangements(4, 3_000), 24) < FALSE_ALARM

    def test_no_order_tells_who_had_which_value(self) -> None:
        """The first published row of 400 blocks had each of 4 values alike (alarm 1e-6)."""
        first = [shown[0] for it in self.fours(4) for shown in arrangements(it["salary"], 4)]
        assert uniform(first, 4) > FALSE_ALARM

    def test_two_unseeded_releases_differ(self) -> None:
        """Secure randomness never repeats: 50 rows agree twice with probability 1 / 50!."""
        table = self.table([(i, "Aix", float(i)) for i in range(50)])
        counts = table.count_values("salary")
        block = np.zeros((50, 1), dtype=np.int64)
        one, other = (
            self.rows_of(self.permuted(table, counts, block, Randomness.secure())) for _ in range(2)
        )
        assert not one.equals(other)

    @given(rows=ROWS, more=ROWS, data=st.data())
    def test_rows_of_earlier_releases_are_found(
        self,
        rows: list[tuple[int, str | None, float]],
        more: list[tuple[int, str | None, float]],
        data: st.DataObject,
    ) -> None:
        """Appended rows are fresh, the others keep their class, in any order, also duplicates."""
        released, table = self._publish_all(rows)
        assert table.match_rows(known([released]), KEY, None).fresh == 0
        grown = self.table(data.draw(st.permutations(rows + more)))
        match = grown.match_rows(known([released]), KEY, None)
        assert (match.missing, match.changed, match.fresh) == (0, 0, len(more))
        counts = grown.count_values("salary", match)
        fresh = Counter(row[2] for row in more)
        values = [float(value) for value in counts.values.decimals()]
        assert counts.fresh.tolist() == [fresh[value] for value in values]

    @given(rows=ROWS, data=st.data())
    def test_missing_rows_are_counted(
        self, rows: list[tuple[int, str | None, float]], data: st.DataObject
    ) -> None:
        """Rows that disappeared or changed are missing, and a changed row counts as fresh too."""
        released, _ = self._publish_all(rows)
        gone = data.draw(st.integers(0, len(rows) - 1))
        changed = [*rows[gone:], (99, "Aix", 1.0)]
        match = self.table(changed).match_rows(known([released]), KEY, None)
        assert (match.missing, match.fresh) == (gone, 1)

    def test_a_record_key_finds_changes(self) -> None:
        """With a record key, a changed row is told from one that is gone."""
        plan = Plan(ROLES)
        frame = frame_of([(20, "Aix", 1.0), (21, "Aix", 2.0), (22, "Aix", 3.0)])
        table = self.open(frame, plan, record_key="name")
        match = table.match_rows(known([]), KEY, "name")
        released = table.mark_rows(self._all_in_one(table, match), match)
        later = frame.with_columns(salary=pl.Series([1.0, 2.5, 3.0])).head(2)
        match = self.open(later, plan, record_key="name").match_rows(known([released]), KEY, "name")
        assert (match.missing, match.changed, match.fresh) == (1, 1, 0)

    @pytest.mark.parametrize(
        ("names", "words"), [(["a", "a", "b"], "row 1 shares"), (["a", None, "b"], "row 2 has no")]
    )
    def test_a_bad_record_key_is_refused(self, names: list[str | None], words: str) -> None:
        """A record key identifies each row, and the message names one that it does not."""
        frame = pl.DataFrame({"id": names, "salary": [1, 2, 3]})
        plan = Plan(Roles(sensitive=("salary",)), nulls="category")
        table = self.open(frame, plan, record_key="id")
        with pytest.raises(TableError, match=words):
            table.match_rows(known([]), KEY, "id")

    def test_numbers_match_by_value(self) -> None:
        """A column of integers may become decimal when the table grows."""
        plan = Plan(Roles(sensitive=("salary",)))
        table = self.open(pl.DataFrame({"salary": [1, 2]}), plan)
        match = table.match_rows(known([]), KEY, None)
        released = table.mark_rows(self._all_in_one(table, match), match)
        grown = self.open(pl.DataFrame({"salary": [0.5, 2.0, 1.0]}), plan)
        match = grown.match_rows(known([released]), KEY, None)
        assert (match.missing, match.fresh) == (0, 1)

    def test_held_rows_are_marked_and_not_published(self) -> None:
        """Rows that a decision leaves out are marked as held, and known when they withdraw."""
        rows: list[tuple[int, str | None, float]] = [(20, "Aix", 1.0), (21, "Aix", 2.0)]
        table = self.table(rows)
        match = table.match_rows(known([]), KEY, None)
        counts = table.count_values("salary", match)
        block = np.array([[0], [-1]])
        released = table.mark_rows(grouping(counts, block), match)
        assert [marks.height for marks in released] == [1, 1]
        published = self.permuted(table, counts, block, Randomness.seeded(0))
        assert self.rows_of(published)["age"].to_list() == [20]
        assert self.table(rows).match_rows(known([released]), KEY, None).withdrawn == 0
        assert self.table(rows[:1]).match_rows(known([released]), KEY, None).withdrawn == 1

    @pytest.mark.parametrize("policy", ["refuse", "category", "drop"])
    def test_missing_values_are_treated_as_declared(self, policy: Any) -> None:
        """Missing values are refused with their row, kept as a value, or dropped and counted."""
        frame = frame_of([(20, "Aix", 1.0), (21, None, 2.0)])
        plan = Plan(ROLES, nulls=policy)
        if policy == "refuse":
            with pytest.raises(TableError, match=r"'town'.*1 of 2 rows.*row 2"):
                self.open(frame, plan)
            return
        table = self.open(frame, plan)
        assert (table.rows, table.dropped) == ((2, 0) if policy == "category" else (1, 1))

    def test_row_numbers_count_dropped_rows(self) -> None:
        """A message names the row of the input, also when rows before it were dropped."""
        frame = frame_of([(20, None, 1.0), (21, "Aix", float("nan"))])
        table = self.open(frame, Plan(ROLES, nulls="drop"))
        with pytest.raises(TableError, match="row 2 is NaN"):
            table.count_values("salary")

    @pytest.mark.parametrize(
        ("values", "words"),
        [
            (["1", "x", "3"], "row 2 is not a number"),
            ([1.0, float("inf"), 2.0], "row 2 is NaN or infinite"),
            ([1.0, None, 2.0], "row 2"),
            ([True, False, True], "not numbers|not a number"),
        ],
    )
    def test_a_column_that_is_not_numeric_is_refused(self, values: list[Any], words: str) -> None:
        """Counting needs finite numbers; the message names column and row, never the value."""
        table = self.open(
            pl.DataFrame({"salary": values}), Plan(Roles(sensitive=("salary",)), nulls="category")
        )
        with pytest.raises(TableError, match=words) as caught:
            table.count_values("salary")
        assert "salary" in str(caught.value)

    def test_values_outside_public_bounds_are_refused(self) -> None:
        """The message counts them and names the first row."""
        plan = Plan(ROLES, columns={"age": ColumnPlan(bounds=(20, 30))})  # type: ignore[arg-type]
        with pytest.raises(TableError, match=r"'age': 1 values.*row 2"):
            self.open(frame_of([(20, "Aix", 1.0), (31, "Aix", 2.0)]), plan)

    def test_a_text_column_may_be_declared(self) -> None:
        """Codes stay text when the plan says so; a number may be declared too."""
        plan = Plan(
            Roles(sensitive=("salary",), keep=("zip",)), columns={"zip": ColumnPlan(type="text")}
        )
        table = self.open(pl.DataFrame({"zip": [120, 340] * 2, "salary": [1, 2, 3, 4]}), plan)
        assert table.kinds(["zip", "salary"]) == {"zip": "text", "salary": "number"}

    def test_a_record_key_that_is_not_there_is_named(self) -> None:
        """The message suggests the nearest column."""
        with pytest.raises(PlanError, match=r"'nam'.*'name'"):
            self.open(frame_of([(20, "Aix", 1.0)]), Plan(ROLES), record_key="nam")

    def test_nothing_private_shows(self) -> None:
        """``repr`` of a private table shows how large it is and nothing else."""
        shown = repr(self.table([(20, "Aix", 1.0)]))
        assert "Aix" not in shown
        assert "planted" not in shown

    def test_identifiers_do_not_reach_a_release(self) -> None:
        """Identifiers stay behind."""
        published = self.rows_of(self.one_block(self.table([(20, "Aix", 1.0)]), 0))
        assert "planted" not in str(published.rows())

    def _publish_all(self, rows: list[Any]) -> tuple[tuple[KeptRows, KeptRows], PrivateTable]:
        table = self.table(rows)
        match = table.match_rows(known([]), KEY, None)
        return table.mark_rows(self._all_in_one(table, match), match), table

    @staticmethod
    def _all_in_one(table: PrivateTable, match: RowMatch) -> Grouping:
        counts = table.count_values("salary", match)
        return grouping(counts, np.zeros(counts.present().shape, dtype=np.int64))
