"""Differentially private releases of tables, audited for neighbours that differ in a person.

The person has more rows than take part.  What is compared with a claim is a lower bound of the
privacy loss at an event that was chosen beforehand (``least_loss``), right with a probability of
99.9 % (``FALSE_ALARM``).  Passing proves nothing, failing does.  So each audit is also given two
wrong mechanisms, which it must catch: one that protects a single row, and one that lets all rows of
a person take part.

Many neighbours stand in one table: towns that have nothing to do with each other, of which each is
sampled for itself, or persons whose noise is drawn for each.
"""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl
import pytest
from numpy.typing import NDArray

from voile.dp.exact import PrivateQuantiles, uniform_words
from voile.dp.sampling import delta_of
from voile.publish.clustered_laplace import ClusteredLaplace
from voile.publish.dp_generalization import DPGeneralization
from voile.publish.dp_generalization.decision import ChoiceTerms, NodeChoice, _least_excess
from voile.release.release import Release
from voile.schema.plan import parse_plan
from voile.table.opening import open_frame
from voile_base.randomness import Randomness
from voile_testing.statistics import least_loss
from voile_tests.publish.dp_generalization.small import Row, problem_of

FALSE_ALARM = 1e-3
BETA = Decimal("0.2")
Events = NDArray[np.bool_]


def claim_of(release: Release) -> tuple[float, float]:
    """Epsilon and delta as a release states them."""
    stated = release.guarantee.parameters
    return stated["epsilon"], stated.get("delta", 0.0)


class TestSampling:
    """Towns of 12 rows that look alike, with and without a person: whether a town is published."""

    OTHERS, MOST, ROWS, SAID = 12, 5, 20, {"k": 10, "beta": 0.3, "epsilon_choice": 0.01}
    PLAN: Mapping[str, Any] = {"sensitive": ["town"]}

    def release(self, towns: int, rows: int, *, most: int | None, seed: int) -> Release:
        """Towns with so many rows of one more person; with ``most`` None each row is a person."""
        alone, person = np.arange(towns * self.OTHERS), np.repeat(np.arange(towns), rows)
        frame = pl.DataFrame(
            {
                "town": np.concatenate([alone // self.OTHERS, person]),
                "patient": np.concatenate([-1 - alone, person]),
            }
        )
        said = {**self.PLAN, "person": "row" if most is None else "patient"}
        of_rows = 1 if most is None else most
        method = DPGeneralization(
            epsilon=Decimal("0.01") + of_rows, rows_per_person=most, **self.SAID
        )
        table = open_frame(frame, parse_plan({"roles": said}))
        return method.publish(table, Randomness.seeded(seed))

    def published(self, towns: int, release: Release) -> Events:
        """Which towns are."""
        there = np.zeros(towns, dtype=np.bool_)
        there[release.to_native()["town"].unique().to_numpy()] = True
        return there

    def losses(self, towns: int) -> dict[str, tuple[float, tuple[float, float]]]:
        """The loss of each mechanism at the event, and what it claims."""
        right = self.release(towns, self.ROWS, most=self.MOST, seed=1)
        without = self.release(towns, 0, most=self.MOST, seed=2)
        one_row = self.release(towns, self.MOST, most=None, seed=3)
        all_rows = self.release(towns, self.ROWS, most=None, seed=4)
        claims = {
            "right": (right, claim_of(right)),
            "one row": (one_row, claim_of(one_row)),
            "all rows": (all_rows, claim_of(right)),
        }
        rare = self.published(towns, without)
        return {
            name: (
                least_loss(self.published(towns, release), rare, claim[1], FALSE_ALARM),
                claim,
            )
            for name, (release, claim) in claims.items()
        }

    def assert_audited(self, towns: int) -> None:
        """The claim holds, and the wrong ones are caught."""
        found = self.losses(towns)
        loss, (epsilon, delta) = found["right"]
        assert epsilon == 5.01
        assert 0 < delta < 0.02
        assert loss <= epsilon
        for wrong in ("one row", "all rows"):
            loss, (epsilon, _) = found[wrong]
            assert loss > epsilon

    @pytest.mark.slow
    def test_the_claim_holds_and_wrong_ones_are_caught(self):
        """8,000 towns."""
        self.assert_audited(8_000)

    @pytest.mark.slow
    def test_the_same_of_many_more(self):
        """50,000 towns."""
        self.assert_audited(50_000)


class TestChoice:
    """How often each node is drawn, for a table with and without a person of five rows."""

    ROWS: tuple[Row, ...] = ((2, 0), (2, 1), (3, 0), (3, 0))
    PERSON: tuple[Row, ...] = ((3, 0),) * 5
    EPSILON = Decimal(2)

    def loss(self, most: int, draws: int) -> float:
        """At the event that both columns are coarsened, which the person makes needless."""
        shown = []
        for seed, rows in enumerate((self.ROWS, (*self.ROWS, *self.PERSON))):
            terms = ChoiceTerms(3, Decimal("0.6"), self.EPSILON, "expected", most)
            choice = NodeChoice.of(problem_of(list(rows)), terms)
            key = Randomness.seeded(seed)
            drawn = [choice.draw(key.key("node", str(i))).levels for i in range(draws)]
            shown.append(np.array([levels in {(1, 1), (2, 1)} for levels in drawn]))
        return least_loss(shown[0], shown[1], false_alarm=FALSE_ALARM)

    @pytest.mark.slow
    def test_the_claim_holds_and_one_row_is_caught(self):
        """1,000 draws."""
        assert 0 < self.loss(5, 1_000) <= float(self.EPSILON) < self.loss(1, 1_000)

    @pytest.mark.slow
    def test_the_same_of_many_more(self):
        """5,000 draws."""
        assert 0 < self.loss(5, 5_000) <= float(self.EPSILON) < self.loss(1, 5_000)


class TestNoise:
    """Persons of nine rows, all of them low or all of them high: how many are shown as lowest."""

    EPSILON, MOST, ROWS = 3, 3, 9

    def zeros(
        self, persons: int, most: int | None, rows: int, epsilon: int, **said: Any
    ) -> tuple[tuple[NDArray[np.int64], NDArray[np.int64]], Release]:
        """By person, how many of its rows show the lower bound: of low and of high persons."""
        who = np.repeat(np.arange(2 * persons), rows)
        value = np.where(who < persons, 0, 100)
        plan: dict[str, Any] = {
            "roles": {
                "person": "row" if most is None else "who",
                "quasi_identifiers": ["value"],
                "keep": ["shown"],
                "keep_unique": ["shown"],
            },
            "columns": {"value": {"bounds": [0, 100]}},
        }
        frame = pl.DataFrame({"who": who, "shown": who, "value": value})
        method = ClusteredLaplace(epsilon=epsilon, rows_per_person=most, **said)
        release = method.publish(open_frame(frame, parse_plan(plan)), Randomness.seeded(5))
        lowest = release.to_native().filter(pl.col("value") == 0)["shown"].to_numpy()
        counted = np.bincount(lowest, minlength=2 * persons)
        return (counted[:persons], counted[persons:]), release

    def loss(self, persons: int, most: int | None, rows: int, least: int, epsilon: int) -> float:
        """At the event that at least so many rows of a person show the lower bound."""
        (low, high), _ = self.zeros(persons, most, rows, epsilon, shares=[1.0])
        return least_loss(low >= least, high >= least, false_alarm=FALSE_ALARM)

    def assert_audited(self, persons: int) -> None:
        """The claim holds and is nearly reached, and the wrong ones are caught."""
        epsilon, most = self.EPSILON, self.MOST
        assert 0.7 * epsilon < self.loss(persons, most, self.ROWS, most, epsilon) <= epsilon
        assert self.loss(persons, None, most, most, epsilon) > epsilon
        # Noise of epsilon / m a row, and nine rows of it.
        assert self.loss(persons, None, self.ROWS, 7, epsilon // most) > epsilon

    def test_the_claim_holds_and_wrong_ones_are_caught(self):
        """6,000 persons of either kind."""
        self.assert_audited(6_000)

    @pytest.mark.slow
    def test_the_same_of_many_more(self):
        """30,000 persons of either kind."""
        self.assert_audited(30_000)

    @pytest.mark.slow
    def test_the_claim_holds_within_clusters(self):
        """With five clusters, whose borders are those of all: what a row spends on the rest."""
        (low, high), release = self.zeros(30_000, self.MOST, self.ROWS, self.EPSILON)
        epsilon, _ = claim_of(release)
        assert epsilon == self.EPSILON
        loss = least_loss(low >= self.MOST, high >= self.MOST, false_alarm=FALSE_ALARM)
        assert 0.4 * epsilon < loss <= 0.9 * epsilon
        (low, high), _ = self.zeros(30_000, None, self.MOST, self.EPSILON)
        assert least_loss(low >= 3, high >= 3, false_alarm=FALSE_ALARM) > 0.9 * epsilon


class TestBorders:
    """A median between two gaps, for a table in which the rows of a person are low or high."""

    EPSILON = Decimal(3)

    def loss(self, rows: int, draws: int) -> float:
        """At the event that the border lies in the lower half."""
        shown = []
        for seed, person in enumerate((0, 100)):
            values = np.sort([0] * 2 + [50] * 6 + [100] * 5 + [person] * 3)
            distinct, numbers = np.unique(values, return_counts=True)
            quantiles = PrivateQuantiles((Fraction(1, 2),), 0, 100, self.EPSILON, "replace", rows)
            words = uniform_words(Randomness.seeded(seed).key("borders"))
            drawn = [quantiles.draw(distinct, numbers, words)[0] for _ in range(draws)]
            shown.append(np.array(drawn) <= 50)
        return least_loss(shown[0], shown[1], false_alarm=FALSE_ALARM)

    @pytest.mark.slow
    def test_the_claim_holds_and_one_row_is_caught(self):
        """1,000 draws."""
        assert 1 < self.loss(3, 1_000) <= float(self.EPSILON) < self.loss(1, 1_000)

    @pytest.mark.slow
    def test_the_same_of_many_more(self):
        """5,000 draws."""
        assert 1 < self.loss(3, 5_000) <= float(self.EPSILON) < self.loss(1, 5_000)


@pytest.mark.slow
class TestWholeReleases:
    """Whether a release shows any row, of small tables that are published again and again."""

    TIMES, MOST = 150, 4

    def releases(self, rows: int, most: int | None) -> Events:
        """Of seven persons who are alike, and one more with so many rows."""
        frame = pl.DataFrame({"patient": [*range(7), *[7] * rows], "town": ["Aix"] * (7 + rows)})
        roles = {"quasi_identifiers": ["town"], "person": "patient" if most else "row"}
        plan = parse_plan({"roles": roles})
        method = DPGeneralization(k=8, beta=BETA, epsilon_choice=1, rows_per_person=most)
        there = np.ones(self.TIMES, dtype=np.bool_)
        for seed in range(self.TIMES):
            made = method.publish(open_frame(frame, plan), Randomness.seeded(seed))
            there[seed] = made.rows > 0
        return there

    def test_a_person_of_many_rows_is_hidden_and_without_a_bound_is_not(self):
        """90 rows of a person make rows appear where there were none, unless four take part."""
        epsilon = 1 + 4 * float(_least_excess(BETA))
        delta = float(delta_of(8, BETA, 4 * _least_excess(BETA), 4))
        without = self.releases(0, self.MOST)
        right, wrong = self.releases(90, self.MOST), self.releases(90, None)
        assert not without.any()
        assert least_loss(right, without, delta, FALSE_ALARM) <= epsilon
        assert least_loss(wrong, without, delta, FALSE_ALARM) > epsilon
