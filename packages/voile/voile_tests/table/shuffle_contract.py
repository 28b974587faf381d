"""What shuffling needs of an engine: whole marginals, uniform draws, rows that come apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from voile.schema.plan import Plan
from voile.schema.roles import Roles
from voile.table.decisions import Grouping, PermutedColumn, Treatment
from voile.table.private import PrivateTable
from voile_base.errors import TableError
from voile_base.randomness import Randomness
from voile_tests.table.engine import ROWS, Engine, Row, frame_of

NAMES = ("age", "town", "salary")
PERMUTED = st.lists(st.sampled_from(["age", "town"]), unique=True).map(tuple)
FALSE_ALARM = 1e-6


def uniform(seen: Iterable[Any], cells: int) -> float:
    """The chance that uniform draws from so many cells are as uneven as these, or more."""
    counts = list(Counter(seen).values())
    return float(stats.chisquare(counts + [0] * (cells - len(counts))).pvalue)


def naive_arrangements(places: int, times: int) -> list[tuple[int, ...]]:
    """What comes of exchanging each place with any place: a shuffle that is not uniform."""
    rng = np.random.default_rng(0)
    arrangements = []
    for _ in range(times):
        values = list(range(places))
        for place in range(places):
            other = int(rng.integers(places))
            values[place], values[other] = values[other], values[place]
        arrangements.append(tuple(values))
    return arrangements


def arrangements(column: pl.Series, size: int) -> list[tuple[int, ...]]:
    """How the numbers of each group are arranged, that come one group of this size after another.

    In the table the groups hold the numbers 0, 1, ... in this order.
    """
    shown = column.to_numpy().reshape(-1, size)
    inside = shown - size * np.arange(len(shown))[:, np.newaxis]
    return [tuple(row) for row in inside.tolist()]


def by_salary(table: PrivateTable, size: float, columns: Sequence[str]) -> Treatment:
    """Groups of salaries: those below ``size``, those from there to twice of it, and so on."""
    counts = table.count_combinations(["salary"])
    salaries = np.array(counts.values[0].texts, dtype=np.float64)[counts.codes[:, 0]]
    groups = Grouping.of_counts(counts, (salaries // size).astype(np.int64))
    return Treatment(tuple(map(PermutedColumn, columns)), groups)


class ShuffleContract(Engine):
    """Promises of columns that are permuted."""

    def shuffled(
        self, rows: list[Row], columns: Sequence[str], *, size: float = 1e9, seed: int = 0
    ) -> pl.DataFrame:
        """The published rows of a small table."""
        return next(self.releases(rows, columns, [seed], size=size))

    def releases(
        self, rows: list[Row], columns: Sequence[str], seeds: Iterable[int], *, size: float = 1e9
    ) -> Iterator[pl.DataFrame]:
        """The published rows of a small table under each seed."""
        table = self.table(rows)
        decision = by_salary(table, size, columns)
        for seed in seeds:
            yield self.rows_of(table.apply(decision, Randomness.seeded(seed)))

    @given(rows=ROWS, columns=PERMUTED, size=st.integers(1, 5), seed=st.integers(0, 3))
    def test_every_group_keeps_its_rows_and_its_marginals(
        self, rows: list[Row], columns: tuple[str, ...], size: int, seed: int
    ) -> None:
        """In each group a permuted column keeps its values, and all others keep whole rows."""
        published = self.shuffled(rows, columns, size=size, seed=seed)
        assert published.columns == ["group", *NAMES]
        numbers = [int(row[2] // size) + 1 for row in rows]
        kept = [name for name in NAMES if name not in columns]
        for shown in (*((name,) for name in columns), kept):
            expected = Counter(
                (number, *(row[NAMES.index(name)] for name in shown))
                for number, row in zip(numbers, rows, strict=True)
            )
            assert Counter(published.select("group", *shown).rows()) == expected
        assert published.select("group", *kept).equals(
            published.select("group", *kept).sort("group", *kept, nulls_last=False)
        )

    @given(rows=ROWS, size=st.integers(1, 5))
    def test_values_are_counted_in_groups(self, rows: list[Row], size: int) -> None:
        """Each pair of group and value that occurs, ascending, with its rows."""
        table = self.table(rows)
        grouped = by_salary(table, size, [])
        assert grouped.groups is not None
        counts = table.count_in_groups(grouped.groups, NAMES)
        combinations = table.count_combinations(NAMES)
        for place, (name, found) in enumerate(zip(NAMES, counts, strict=True)):
            assert found.column == name
            pairs = list(zip(found.group.tolist(), found.value.tolist(), strict=True))
            assert pairs == sorted(set(pairs))
            texts = combinations.values[place].texts
            shown = {
                (group, texts[value]): count
                for (group, value), count in zip(pairs, found.rows.tolist(), strict=True)
            }
            as_text = [
                None if it[place] is None else f"{it[place]}".removesuffix(".0") for it in rows
            ]
            numbers = [int(row[2] // size) for row in rows]
            assert shown == Counter(zip(numbers, as_text, strict=True))

    @given(
        rows=ROWS, columns=PERMUTED, size=st.integers(1, 5), seed=st.integers(0, 3), data=st.data()
    )
    def test_a_shuffle_does_not_know_the_order_of_the_rows(
        self, rows: list[Row], columns: tuple[str, ...], size: int, seed: int, data: st.DataObject
    ) -> None:
        """Under one seed, a table in another order gives the same release, in the same order."""
        others = data.draw(st.permutations(rows))
        one, other = (self.shuffled(it, columns, size=size, seed=seed) for it in (rows, others))
        assert one.equals(other)

    @pytest.mark.slow
    def test_many_rows_keep_their_marginals(self) -> None:
        """50,000 rows, of few and of many distinct values: each multiset is that of its group."""
        rng = np.random.default_rng(1)
        frame = pl.DataFrame(
            {
                "age": rng.integers(18, 90, 50_000),
                "weight": rng.random(50_000),
                "salary": rng.integers(0, 1000, 50_000),
            }
        )
        roles = Roles(keep=("age", "weight"), keep_unique=("weight",), sensitive=("salary",))
        table = self.open(frame, Plan(roles))
        decision = by_salary(table, 300, ["weight", "age"])
        published = self.rows_of(table.apply(decision, Randomness.seeded(0)))
        private = frame.with_columns(group=pl.col("salary") // 300 + 1)
        for name in ("age", "weight", "salary"):
            expected = private.select(pl.col("group").cast(pl.Int32), name).sort("group", name)
            assert published.select("group", name).sort("group", name).equals(expected)
        assert abs(np.corrcoef(published["salary"], published["weight"])[0, 1]) < 0.03

    def test_each_arrangement_is_as_likely(self) -> None:
        """30 releases of 100 groups of 4 rows hit all 24 arrangements alike (false alarm 1e-6).

        The same test rejects a shuffle that exchanges each place with any other place, one that
        permutes nothing, and one that permutes all groups, or a group in all releases, alike.
        """
        rows: list[Row] = [(i, "Aix", float(i)) for i in range(400)]
        releases = self.releases(rows, ["age"], range(30), size=4)
        seen = [arrangement for it in releases for arrangement in arrangements(it["age"], 4)]
        assert len(seen) == 3_000
        assert uniform(seen, 24) > FALSE_ALARM
        assert uniform(seen[:100] * 30, 24) < FALSE_ALARM
        assert uniform([one for one in seen[::100] for _ in range(100)], 24) < FALSE_ALARM
        assert uniform(naive_arrangements(4, 3_000), 24) < FALSE_ALARM
        assert uniform([(0, 1, 2, 3)] * 3_000, 24) < FALSE_ALARM

    def test_columns_and_groups_are_permuted_independently(self) -> None:
        """40 releases of 100 groups hit all 36 pairs of arrangements alike (false alarm 1e-6 each).

        Pairs are of two columns in one group of 3 rows, and of one column in two such groups.  The
        same test rejects columns that are permuted together.
        """
        rows: list[Row] = [(i, f"{i}", float(i)) for i in range(300)]
        first, second, towns = [], [], []
        for it in self.releases(rows, ["age", "town"], range(40), size=3):
            ages = arrangements(it["age"], 3)
            first, second = [*first, *ages[::2]], [*second, *ages[1::2]]
            towns += arrangements(it["town"].cast(pl.Int64), 3)[::2]
        assert len(first) == 2_000
        assert uniform(zip(first, second, strict=True), 36) > FALSE_ALARM
        assert uniform(zip(first, towns, strict=True), 36) > FALSE_ALARM
        assert uniform(zip(first, first, strict=True), 36) < FALSE_ALARM

    def test_the_order_in_which_columns_are_named_changes_nothing(self) -> None:
        """What a column shows at a place depends on the seed and the column alone."""
        rows: list[Row] = [(i, f"{i}", float(i)) for i in range(20)]
        both = self.shuffled(rows, ["age", "town"], size=5)
        assert both.equals(self.shuffled(rows, ["town", "age"], size=5))
        assert both["age"].equals(self.shuffled(rows, ["age"], size=5)["age"])

    def test_rows_come_apart(self) -> None:
        """Of 800 different rows in 80 groups, 80 are put back right by chance, on average.

        The mean of 25 releases is within five standard errors (false alarm 1e-6).  The same test
        rejects a shuffle that permutes nothing, where all 800 are right.
        """
        rows: list[Row] = [(i, "Aix", float(i)) for i in range(800)]

        def right(columns: Sequence[str], times: int) -> list[int]:
            shown = self.releases(rows, columns, range(times), size=10)
            return [len(set(it.select(NAMES).rows()) & set(rows)) for it in shown]

        error = 5 * np.sqrt(80 / 25)
        assert abs(np.mean(right(["age"], 25)) - 80) < error
        assert right([], 1) == [800]

    def test_no_column_leaves_the_rows_whole(self) -> None:
        """Nothing to permute: the private rows with their groups, sorted."""
        rows: list[Row] = [(22, "Brno", 1.0), (20, None, 3.0), (20, "Aix", 1.0)]
        published = self.shuffled(rows, [], size=2)
        expected = [(1, 20, "Aix", 1.0), (1, 22, "Brno", 1.0), (2, 20, None, 3.0)]
        assert published.rows() == expected

    def test_every_published_column_may_be_permuted(self) -> None:
        """Groups may come of a column that is not published: then nothing but groups stays."""
        frame = frame_of([(i, f"{i}", float(i % 2)) for i in range(6)])
        kept = ("age", "town")
        roles = Roles(identifiers=("salary",), keep=kept, keep_unique=kept)
        table = self.open(frame.drop("name"), Plan(roles), record_key="salary")
        decision = by_salary(table, 1, ["age", "town"])
        published = self.rows_of(table.apply(decision, Randomness.seeded(0)))
        assert published.columns == ["group", "age", "town"]
        assert published["group"].to_list() == [1, 1, 1, 2, 2, 2]
        assert sorted(published["age"].to_list()[:3]) == [0, 2, 4]

    @pytest.mark.parametrize(
        "values",
        [
            pl.Series(["a", None, "b", "a", None, "c"]),
            pl.Series([1, None, 3, 1, 5, 6]),
            pl.Series([0.5, 1.5, None, -1.0, 0.5, 2.0]),
            pl.Series([date(2020, 1, day) for day in (3, 1, 2, 5, 4)] + [None]),
            pl.Series([True, False, None, True, True, False]),
        ],
    )
    def test_values_of_all_kinds_are_permuted(self, values: pl.Series) -> None:
        """A column keeps its type, its values and its missing ones, in each group."""
        frame = pl.DataFrame({"value": values, "salary": [1, 1, 2, 1, 2, 2]})
        roles = Roles(keep=("value",), keep_unique=("value",), sensitive=("salary",))
        plan = Plan(roles, nulls="category")
        table = self.open(frame, plan)
        seen = set()
        for seed in range(20):
            decision = by_salary(table, 2, ["value"])
            published = self.rows_of(table.apply(decision, Randomness.seeded(seed)))
            shown = published["value"]
            plain = shown.cast(pl.String) if values.dtype == pl.String else shown
            assert plain.dtype == values.dtype
            for salary in (1, 2):
                expected = frame.filter(salary=salary)["value"].to_list()
                group = plain.filter(published["salary"] == salary).to_list()
                assert Counter(group) == Counter(expected)
            seen.add(tuple(plain))
        assert len(seen) > 1

    def test_a_row_that_is_a_group_stays(self) -> None:
        """There is one permutation of one row."""
        rows: list[Row] = [(20 + i, f"{i}", float(i)) for i in range(5)]
        published = self.shuffled(rows, ["age", "town"], size=1)
        assert published.select(NAMES).rows() == rows
        assert published["group"].to_list() == [1, 2, 3, 4, 5]

    def test_seeds_repeat_and_secrets_do_not(self) -> None:
        """One seed, one release; 50 rows without a seed agree twice with chance 1 / 50!."""
        rows: list[Row] = [(i, "Aix", float(i)) for i in range(50)]
        assert self.shuffled(rows, ["age"], seed=1).equals(self.shuffled(rows, ["age"], seed=1))
        assert not self.shuffled(rows, ["age"], seed=1).equals(self.shuffled(rows, ["age"], seed=2))
        table = self.table(rows)
        one, other = (
            self.rows_of(table.apply(by_salary(table, 1e9, ["age"]), Randomness.secure()))
            for _ in range(2)
        )
        assert not one.equals(other)

    def test_rows_that_do_not_fit_in_a_machine_word_are_arranged(self) -> None:
        """Rows with many wide columns stand in the order of their contents."""
        names = [f"c{i}" for i in range(9)]
        rng = np.random.default_rng(5)
        columns = {name: rng.permutation(600) // 2 for name in names}
        frame = pl.DataFrame(
            {"salary": rng.integers(0, 2, 600), "moved": np.arange(600), **columns}
        )
        roles = Roles(sensitive=("salary",), keep=("moved", *names), keep_unique=("moved",))
        table = self.open(frame, Plan(roles))
        decision = by_salary(table, 1, ["moved"])
        published = self.rows_of(table.apply(decision, Randomness.seeded(0))).drop("moved")
        assert published.rows() == sorted(published.rows())
        assert (
            published.drop("group")
            .sort("c0", "c1")
            .equals(frame.drop("moved").select(published.columns[1:]).sort("c0", "c1"))
        )

    @pytest.mark.parametrize(
        ("columns", "words"),
        [
            (["name"], "'name' is permuted and not published"),
            (["age", "age"], "'age' is permuted twice"),
        ],
    )
    def test_a_column_that_cannot_be_permuted_is_a_mistake(
        self, columns: list[str], words: str
    ) -> None:
        """Groups are decided before values move, and only what is published can be permuted."""
        with pytest.raises(ValueError, match=words):
            self.shuffled([(20, "Aix", 1.0)], columns)

    def test_groups_are_of_what_was_counted(self) -> None:
        """Counts that are made up, or groups for other combinations, group no rows."""
        table = self.table([(20, "Aix", 1.0), (21, "Aix", 2.0)])
        counts = table.count_combinations(["salary"])
        for made_up, group in ((replace(counts, of=None), [0, 0]), (counts, [0, 0, 0])):
            with pytest.raises(ValueError, match="that were counted"):
                Grouping.of_counts(made_up, np.array(group))

    @pytest.mark.parametrize("sampled", [False, True])
    def test_a_row_without_a_group_is_not_counted_silently(self, sampled: bool) -> None:
        """What is counted in groups is all rows: none may be left out, and none be uncounted."""
        table = self.table([(20 + row % 2, "Aix", 1.0) for row in range(40)])
        sample = table.sample_rows(Decimal("0.5"), Randomness.seeded(1)) if sampled else None
        counts = table.count_combinations(["age"], sample)
        groups = Grouping.of_counts(counts, np.array([0, 0 if sampled else -1]))
        with pytest.raises(ValueError, match="leave no row out"):
            table.count_in_groups(groups, ["town"])

    def test_the_name_of_the_groups_must_be_free(self) -> None:
        """A published column called ``group`` is not overwritten."""
        frame = frame_of([(20, "Aix", 1.0)] * 2).with_columns(group=pl.lit("A"))
        table = self.open(frame, Plan(Roles(sensitive=("salary",), keep=("age", "group"))))
        with pytest.raises(TableError, match=r"column 'group'.*rename"):
            table.apply(by_salary(table, 1, ["age"]), Randomness.seeded(0))
