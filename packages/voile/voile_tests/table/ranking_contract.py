"""What rankings need of an engine: the best rows, and all others in the box around them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from voile.schema.numbers import ExactNumbers
from voile.schema.plan import ColumnPlan, Nulls, Plan
from voile.schema.roles import Roles
from voile.table.best_rows import ValueScores
from voile.table.private import PrivateTable, TopRows
from voile_base.errors import TableError
from voile_tests.table.engine import Engine

RANKED = ("math", "speed")
Applicant = tuple[int, float, str | None]
"""Two ranking attributes and a town."""
APPLICANTS = st.lists(
    st.tuples(
        # Doubles cannot tell the largest of these from each other.
        st.integers(0, 5) | st.integers(2**53, 2**53 + 5),
        st.integers(0, 5).map(lambda half: half / 2),
        st.sampled_from(["Aix", "Brno", None]),
    ),
    min_size=1,
    max_size=14,
)
SIGNS = st.tuples(st.sampled_from([-1, 1]), st.sampled_from([-1, 1]))


@dataclass(frozen=True)
class Sum:
    """A sum of columns, some of them negative; a ``RowScore``."""

    columns: Sequence[str] = RANKED
    signs: Sequence[int] = (1, 1)

    def exact(self, column: str, values: ExactNumbers) -> ValueScores:
        """Values, or the negatives of them."""
        return ValueScores(self._sign(column) * values.units, 10**values.scale)

    def near(self, column: str, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """The same in double precision."""
        return self._sign(column) * values

    def error(self, column: str, low: float, high: float, relative: float) -> float:
        """The error of the double itself."""
        return max(abs(low), abs(high)) * relative

    def _sign(self, column: str) -> int:
        return self.signs[list(self.columns).index(column)]


def best_of(points: Sequence[tuple[float, ...]], top: int, *, ties: bool) -> list[int]:
    """Places of the best rows, found by sorting."""
    scores = [sum(each) for each in points]
    border = sorted(scores, reverse=True)[top - 1]
    best = [place for place, score in enumerate(scores) if score >= border]
    if len(best) > top and not ties:
        best = [place for place in best if scores[place] > border]
    return best


class RankingContract(Engine):
    """Promises of ``top_rows``."""

    def applicants(self, rows: list[Applicant]) -> PrivateTable:
        """A table of applicants, known by their towns."""
        math, speed, town = zip(*rows, strict=True)
        frame = pl.DataFrame(
            {"math": math, "speed": speed, "town": town}, schema_overrides={"town": pl.String}
        )
        plan = Plan(Roles(quasi_identifiers=("town",), ranking=RANKED), nulls="category")
        return self.open(frame, plan)

    def rows_in(self, top: TopRows) -> Counter[tuple[str | None, ...]]:
        """The rows in the box, as texts."""
        counts = top.table.count_combinations([*RANKED, "town"])
        rows = {
            tuple(v.texts[c] for v, c in zip(counts.values, codes, strict=True)): n
            for codes, n in zip(counts.codes.tolist(), counts.rows.tolist(), strict=True)
        }
        assert sum(rows.values()) == top.table.rows
        return Counter(rows)

    @given(rows=APPLICANTS, signs=SIGNS, top=st.integers(1, 14), ties=st.booleans())
    def test_the_best_rows_and_their_box_are_found(
        self, rows: list[Applicant], signs: tuple[int, int], top: int, ties: bool
    ) -> None:
        """Ties are all in or all out; with the best come all rows between their extremes."""
        top = min(top, len(rows))
        # Twice the speed is whole, so that scores of Python's integers are exact.
        points = [(2 * signs[0] * math, signs[1] * round(2 * speed)) for math, speed, _ in rows]
        best = best_of(points, top, ties=ties)
        found = self.applicants(rows).top_rows(Sum(signs=signs), top, ties=ties)
        assert found.tops == len(best)
        sides = [sorted(points[i][j] for i in best) for j in (0, 1)]
        texts = [
            (str(math), format(speed, "g"), town)
            for (math, speed, town), point in zip(rows, points, strict=True)
            if best and all(s[0] <= p <= s[-1] for p, s in zip(point, sides, strict=True))
        ]
        assert self.rows_in(found) == Counter(texts)

    @given(rows=APPLICANTS, signs=SIGNS, ties=st.booleans(), data=st.data())
    def test_the_order_of_the_rows_ranks_nobody(
        self, rows: list[Applicant], signs: tuple[int, int], ties: bool, data: st.DataObject
    ) -> None:
        """Rows in any order give the same best ones."""
        top = data.draw(st.integers(1, len(rows)))
        shuffled = data.draw(st.permutations(rows))
        one, other = (
            self.applicants(each).top_rows(Sum(signs=signs), top, ties=ties)
            for each in (rows, shuffled)
        )
        assert (one.tops, self.rows_in(one)) == (other.tops, self.rows_in(other))

    @pytest.mark.parametrize("rows", [1, 2000])
    def test_many_rows_rank_like_few(self, rows: int) -> None:
        """Each of 50 rows that stands 2,000 times over is best, or in the box, as often."""
        rng = np.random.default_rng(rows)
        values = rng.integers(0, 100, (50, 2))
        frame = pl.DataFrame(values, schema=RANKED).with_columns(town=pl.lit("Aix"))
        plan = Plan(Roles(quasi_identifiers=("town",), ranking=RANKED))
        repeated = pl.concat([frame] * rows).sample(fraction=1, shuffle=True, seed=1)
        found = self.open(repeated, plan).top_rows(Sum(), 7 * rows, ties=True)
        scores = values.sum(axis=1)
        best = values[scores >= np.sort(scores)[-7]]
        inside = ((values >= best.min(axis=0)) & (values <= best.max(axis=0))).all(axis=1)
        assert (found.tops, found.table.rows) == (len(best) * rows, int(inside.sum()) * rows)

    def test_texts_rank_by_their_declared_places(self) -> None:
        """Good is above fair, whatever the alphabet says."""
        frame = pl.DataFrame({"grade": ["good", "poor", "fair", "good"], "age": [1, 2, 3, 4]})
        plan = Plan(
            Roles(quasi_identifiers=("age",), ranking=("grade",)),
            columns={"grade": ColumnPlan(order=("poor", "fair", "good"))},
        )
        for sign, ages in ((1, ("1", "4")), (-1, ("2",))):
            score = Sum(("grade",), (sign,))
            found = self.open(frame, plan).top_rows(score, 1, ties=True)
            (age,) = found.table.count_combinations(["age"]).values
            assert age.texts == ages

    def test_where_there_are_fewer_rows_all_are_best(self) -> None:
        """A top of ten among three rows is three."""
        rows: list[Applicant] = [(1, 1.0, "Aix"), (5, 2.0, "Brno"), (3, 0.0, None)]
        found = self.applicants(rows).top_rows(Sum(), 10, ties=False)
        assert (found.tops, found.table.rows) == (3, 3)

    def test_the_table_itself_stays_whole(self) -> None:
        """The best rows are another table; the first one still has all of its rows and plan."""
        table = self.applicants([(1, 1.0, "Aix"), (5, 2.0, "Brno"), (3, 0.0, None)])
        best = table.top_rows(Sum(), 1, ties=True)
        assert (best.table.rows, table.rows) == (1, 3)
        assert best.table.plan == table.plan
        assert int(table.count_combinations(["town"]).rows.sum()) == 3

    def test_values_that_no_best_row_has_are_forgotten(self) -> None:
        """The dictionary of the best rows' table tells nothing of the other rows."""
        table = self.applicants([(5, 1.0, "Aix"), (0, 0.0, "Brno"), (1, 0.5, None)])
        (town,) = table.top_rows(Sum(), 1, ties=True).table.count_combinations(["town"]).values
        assert town.texts == ("Aix",)

    @pytest.mark.parametrize(
        ("speed", "nulls", "words"),
        [
            ([1.0, float("nan"), 2.0], "refuse", "'speed': row 2 is NaN or infinite"),
            ([1.0, float("-inf"), 2.0], "refuse", "'speed': row 2 is NaN or infinite"),
            ([1.0, 2.0, None], "category", "'speed'.*row 3"),
            ([1.0, 2.0, None], "refuse", "'speed' misses its value in 1 of 3 rows.*row 3"),
        ],
    )
    def test_a_row_without_a_score_is_refused(
        self, speed: list[Any], nulls: Nulls, words: str
    ) -> None:
        """The message names column and row, also of a row that would not be among the best."""
        frame = pl.DataFrame({"math": [9, 0, 8], "speed": speed})
        plan = Plan(Roles(ranking=RANKED), nulls=nulls)
        with pytest.raises(TableError, match=words):
            self.open(frame, plan).top_rows(Sum(), 1, ties=True)

    def test_rows_without_a_value_may_be_dropped(self) -> None:
        """They are counted, and rank nowhere."""
        frame = pl.DataFrame({"math": [9, 1, 8], "speed": [None, 1.0, 2.0]})
        table = self.open(frame, Plan(Roles(ranking=RANKED), nulls="drop"))
        found = table.top_rows(Sum(), 1, ties=True)
        assert (found.tops, found.table.rows, table.rows, table.dropped) == (1, 1, 2, 1)

    def test_messages_about_the_best_rows_count_rows_of_the_input(self) -> None:
        """Behind rows that were filtered out, a row number is still that of the input."""
        frame = pl.DataFrame(
            {"math": [0, 9, 8], "speed": [0.0, 1.0, 0.5], "age": [1.0, 2.0, float("nan")]}
        )
        plan = Plan(Roles(quasi_identifiers=("age",), ranking=RANKED))
        best = self.open(frame, plan).top_rows(Sum(), 2, ties=True)
        with pytest.raises(TableError, match="'age': row 3 is NaN"):
            best.table.count_combinations(["age"])
