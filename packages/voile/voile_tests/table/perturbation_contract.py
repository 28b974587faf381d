"""What noise needs of an engine: draws by row, exact arithmetic, an order that tells nothing."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from voile.dp.discrete_noise import DiscreteLaplace
from voile.dp.exact import Categorical
from voile.schema.plan import Plan
from voile.schema.roles import Roles
from voile.table.decisions import Perturbation, Treatment
from voile.table.private import PrivateTable
from voile_base.errors import TableError
from voile_base.randomness import Key, Randomness
from voile_tests.table.engine import ROWS, Engine, Row, frame_of

LARGEST = 2**63 - 1


@dataclass(frozen=True)
class Constant:
    """Noise that is known beforehand, for each of c laws."""

    steps: tuple[int, ...]

    def draw(self, law: NDArray[Any], words: NDArray[np.uint64], key: Key) -> NDArray[np.int64]:
        return np.array(self.steps)[law]


@dataclass(frozen=True)
class Spread:
    """Noise from 0 to 2**40 - 1 by identity and key: no two rows share it by chance."""

    def draw(self, law: NDArray[Any], words: NDArray[np.uint64], key: Key) -> NDArray[np.int64]:
        drawn = key.words(words, np.zeros(len(words), dtype=np.uint64))
        return (drawn >> np.uint64(24)).astype(np.int64)


def perturbation(
    table: PrivateTable, noise: Any, column: str = "salary", **changes: Any
) -> Perturbation:
    """Noise on a grid of quarters; every second distinct value is of the second cluster."""
    values = table.count_values(column).values
    steps = 4 * values.units.astype(np.int64)
    settings: dict[str, Any] = {
        "column": column,
        "values": values,
        "membership": Categorical.certain(np.arange(len(values)) % 2, 2),
        "start": np.column_stack((steps, steps)),
        "noise": noise,
        "exponent": -2,
        "half_width": np.array([2, 6]),
    }
    return Perturbation(**{**settings, **changes})


class PerturbationContract(Engine):
    """Promises of noise in columns."""

    @given(rows=ROWS, clamp=st.sampled_from([None, (0, 12), (2, 5)]))
    def test_noise_is_added_on_the_grid(
        self, rows: list[Row], clamp: tuple[int, int] | None
    ) -> None:
        """Each row shows its value plus the noise of its cluster, and the interval around it."""
        table = self.table(rows)
        published = self.rows_of(
            table.apply(
                Treatment((perturbation(table, Constant((3, -5)), clamp=clamp),)),
                Randomness.seeded(0),
            )
        )
        assert published.columns == ["age", "town", "salary", "salary.low", "salary.high"]
        distinct = sorted({row[2] for row in rows})
        low, high = clamp or (-LARGEST, LARGEST)
        expected: Counter[tuple[Any, ...]] = Counter()
        for age, town, salary in rows:
            cluster = distinct.index(salary) % 2
            value = min(max(int(4 * salary) + (3, -5)[cluster], low), high)
            ends = max(value - (2, 6)[cluster], low), min(value + (2, 6)[cluster], high)
            expected[age, town, value / 4, ends[0] / 4, ends[1] / 4] += 1
        assert Counter(published.rows()) == expected
        names = ["age", "town", "salary", "salary.high", "salary.low"]
        assert published.equals(published.sort(names, descending=[False] * 4 + [True]))

    @given(rows=ROWS, seed=st.integers(0, 3), data=st.data())
    def test_draws_are_functions_of_the_rows(
        self, rows: list[Row], seed: int, data: st.DataObject
    ) -> None:
        """In any order and any number of times, a table gives the same rows in the same order."""
        one, other = self.table(rows), self.table(data.draw(st.permutations(rows)))
        released = [
            self.rows_of(
                table.apply(Treatment((perturbation(table, Spread()),)), Randomness.seeded(seed))
            )
            for table in (one, other, one)
        ]
        assert released[0].equals(released[1])
        assert released[0].equals(released[2])

    def test_equal_rows_draw_for_themselves(self) -> None:
        """Of 1,000 equal rows no two show the same (false alarm below 1e-6)."""
        table = self.table([(20, "Aix", 1.0)] * 1_000)
        released = table.apply(Treatment((perturbation(table, Spread()),)), Randomness.seeded(0))
        assert self.rows_of(released)["salary"].n_unique() == 1_000

    def test_columns_draw_for_themselves(self) -> None:
        """Two columns of the same numbers get different noise, under keys of their own."""
        table = self._parcels([(1, 1), (2, 2)])
        both = [perturbation(table, Spread(), name) for name in ("weight", "volume")]
        published = self.applied(table, Treatment(tuple(both)))
        assert not set(published["weight"]) & set(published["volume"])

    def test_noise_has_its_scale(self) -> None:
        """The variance of 20,000 values fits a scale of 40 steps (false alarm 1e-6).

        A fifth of the rows has noise of scale 8, as its cluster says.  The same test rejects a
        scale that is 30 % off.
        """
        table = self._parcels([(value, 0) for value in range(20_000)])
        values = table.count_values("weight").values
        membership = Categorical.of_weights(np.tile([4, 1], (20_000, 1)))
        start = np.tile([0, 10**6], (20_000, 1))
        noise = DiscreteLaplace((Fraction(40), Fraction(8)))
        drawn = perturbation(
            table, noise, "weight", values=values, membership=membership, start=start
        )
        shown = self.applied(table, Treatment((drawn,)), Randomness.seeded(3))["weight"].to_numpy()
        second = shown * 4 > 500_000
        assert stats.binomtest(int(second.sum()), 20_000, 0.2).pvalue > 1e-6
        for steps, scale in ((shown[~second] * 4, 40.0), (shown[second] * 4 - 10**6, 8.0)):
            accepted, *rejected = (
                stats.norm.sf(abs(self._excess(steps, factor * scale))) * 2
                for factor in (1.0, 0.7, 1.3)
            )
            assert accepted > 1e-6
            assert max(rejected) < 1e-6

    @pytest.mark.parametrize("noise", [LARGEST, -LARGEST - 1])
    @pytest.mark.parametrize(
        ("exponent", "clamp", "ends", "dtype"),
        [
            (-2, None, (-(2.0**51), 2.0**51), pl.Float64),
            (3, None, (-(2**61), 2**61), pl.Int64),
            (3, (-7, 9), (-56, 72), pl.Int64),
        ],
    )
    def test_noise_beyond_all_measure_does_not_overflow(
        self, noise: int, exponent: int, clamp: Any, ends: tuple[Any, Any], dtype: Any
    ) -> None:
        """The largest noise shows the end of the clamp, or of what the type holds exactly."""
        table = self.table([(20, "Aix", 1.0)])
        drawn = perturbation(
            table,
            Constant((noise, noise)),
            exponent=exponent,
            clamp=clamp,
            half_width=np.array([LARGEST, LARGEST]),
        )
        published = self.applied(table, Treatment((drawn,)))
        end = ends[int(noise > 0)]
        assert published.select("salary", "salary.low", "salary.high").rows() == [(end, *ends)]
        assert published.dtypes[2:] == [dtype] * 3

    def test_the_order_of_the_rows_does_not_tell_their_clusters(self) -> None:
        """Where clamping makes the intervals of two clusters alike, exchanging them shows nothing.

        Sorting by the half-widths themselves would put the rows of the first cluster first.
        """
        table = self._parcels([(1, 2), (2, 1)])
        released = []
        for clusters in ([0, 1], [1, 0]):
            weight = perturbation(
                table,
                Constant((0, 0)),
                "weight",
                membership=Categorical.certain(np.array(clusters), 2),
                start=np.full((2, 2), 5),
                half_width=np.array([50, 90]),
                clamp=(0, 10),
            )
            volume = perturbation(table, Constant((0, 0)), "volume", start=np.full((2, 2), 7))
            released.append(
                self.rows_of(
                    table.apply(
                        Treatment(
                            (
                                weight,
                                volume,
                            )
                        ),
                        Randomness.seeded(0),
                    )
                )
            )
        assert released[0].n_unique("volume.low") == 2
        assert released[0].equals(released[1])

    def test_many_wide_columns_are_sorted_too(self) -> None:
        """Rows that do not fit in a machine word stand in the order of what they show."""
        rng = np.random.default_rng(5)
        table = self._parcels(rng.integers(0, 2**45, (50, 2)).tolist())
        both = [perturbation(table, Constant((0, 0)), name) for name in ("weight", "volume")]
        published = self.applied(table, Treatment(tuple(both)))
        assert published.rows() == sorted(published.rows())
        assert len(published) == 50

    @pytest.mark.parametrize("taken", ["salary.low", "salary.high"])
    def test_a_name_that_noise_makes_is_refused(self, taken: str) -> None:
        """No column of the table is overwritten; there are no groups, so that name is free."""
        roles = Roles(quasi_identifiers=("age", "group"), sensitive=("salary",))
        frame = frame_of([(20, "Aix", 1.0)] * 2).with_columns(group=pl.lit("A"))
        table = self.open(frame, Plan(roles))
        drawn = perturbation(table, Constant((0, 0)))
        released = self.applied(table, Treatment((drawn,)))
        assert released["group"].to_list() == ["A", "A"]
        kept = Roles(sensitive=("salary",), keep=(taken,))
        table = self.open(frame.with_columns(pl.lit(1).alias(taken)), Plan(kept))
        with pytest.raises(TableError, match=f"column '{taken}'.*rename"):
            table.apply(Treatment((drawn,)), Randomness.seeded(0))

    @pytest.mark.parametrize("value", [None, float("nan")])
    def test_a_value_that_is_no_number_is_refused(self, value: float | None) -> None:
        """Noise cannot be added to what is not there; the message names the row."""
        decided = self.table([(20, "Aix", 1.0)])
        drawn = perturbation(decided, Constant((0, 0)))
        frame = frame_of([(20, "Aix", 1.0), (21, "Aix", 2.0)]).with_columns(
            salary=pl.Series([1.0, value])
        )
        plan = Plan(Roles(sensitive=("salary",)), nulls="category")
        with pytest.raises(TableError, match=r"'salary'.*row 2"):
            self.open(frame, plan).apply(Treatment((drawn,)), Randomness.seeded(0))

    @pytest.mark.parametrize(
        "changes",
        [
            {"start": np.full((1, 2), 2**53 + 1)},
            {"exponent": 0, "start": np.full((1, 2), -(2**61) - 1)},
            {"clamp": (5, 4)},
            {"clamp": (0, 2**53 + 1)},
            {"half_width": np.array([-1, 1])},
            {"exponent": -1023},
            {"exponent": 62},
        ],
    )
    def test_a_decision_that_does_not_fit_its_grid_is_a_mistake(self, changes: Any) -> None:
        """What cannot be shown exactly is refused, not rounded."""
        table = self.table([(20, "Aix", 1.0)])
        with pytest.raises(ValueError, match="grid"):
            table.apply(
                Treatment((perturbation(table, Constant((0, 0)), **changes),)), Randomness.seeded(0)
            )

    def _parcels(self, rows: list[Any]) -> PrivateTable:
        frame = pl.DataFrame(rows, schema=["weight", "volume"], orient="row")
        return self.open(frame, Plan(Roles(sensitive=("weight", "volume"))))

    @staticmethod
    def _excess(steps: NDArray[Any], scale: float) -> float:
        """How many standard deviations the mean magnitude is away from that of a scale."""
        # Magnitudes of Laplace noise have mean and standard deviation ``scale``; on the grid
        # the mean is less by 3 in a thousand at a scale of 8 steps, and by less above.
        return float((np.abs(steps).mean() / scale - 1) * np.sqrt(len(steps)))
