"""Series of generalizations of a few people, and every table that explains what they show."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from operator import eq
from typing import Any

import polars as pl
import pytest

from voile.publish.generalization import Generalization
from voile.release.history import History
from voile.schema.plan import Plan
from voile.schema.roles import Roles
from voile.table.opening import open_frame
from voile_base.errors import InfeasibleError
from voile_base.randomness import Randomness

K = L = 2
PLAN = Plan(Roles(identifiers=("id",), quasi_identifiers=("age",), sensitive=("illness",)))


@dataclass(frozen=True)
class SmallSeries:
    """When people of some ages come and go, which is known; their illnesses are not."""

    age: Sequence[int]
    comes: Sequence[int]
    """In which release a person is the first time."""
    goes: Sequence[int]
    """In which no more."""
    size: int
    """Of groups at first."""

    @classmethod
    def drawn(cls, draw: random.Random, people: int, releases: int) -> SmallSeries:
        """More than half are there from the beginning; some leave."""
        comes = [0 if i < 4 else draw.randrange(releases) for i in range(people)]
        goes = [draw.choice([releases, releases, draw.randrange(c + 1, releases + 1)])
                for c in comes]  # fmt: skip
        age = [draw.randrange(20, 40) for _ in range(people)]
        return cls(age, comes, goes, draw.choice([2, 2, 3]))

    def play(self, illness: Sequence[str]) -> Iterator[Any]:
        """What each release shows: the rows, in whatever order; None where there is none."""
        publisher = Generalization(
            k=K, l=L, algorithm="mondrian", series="s", record_key="id", group_size=self.size
        )
        history: History | None = None
        for number in range(max(self.goes)):
            there = [i for i in range(len(self.age)) if self.comes[i] <= number < self.goes[i]]
            frame = pl.DataFrame(
                {
                    "id": [f"p{i}" for i in there],
                    "age": [self.age[i] for i in there],
                    "illness": [illness[i] for i in there],
                }
            )
            try:
                made = publisher.prepare(
                    open_frame(frame, PLAN, record_key="id"), Randomness.seeded(1), history
                )
            except InfeasibleError:
                yield None
                continue
            history = made.history
            yield sorted(map(str, made.release.to_native().iter_rows()))

    def narrowed(self, illness: Sequence[str], values: str) -> int:
        """For how many people fewer than l illnesses explain what is seen.

        Tables that differ least from the true one come first, and none is looked at once everybody
        has l illnesses; a table is given up at the first release that shows something else.
        """
        truth = list(self.play(illness))
        left: list[set[str]] = [set() for _ in self.age]
        worlds = sorted(
            product(values, repeat=len(self.age)),
            key=lambda world: sum(a != b for a, b in zip(world, illness, strict=True)),
        )
        for world in worlds:
            if all(len(possible) >= L for possible in left):
                return 0
            if all(map(eq, self.play(world), truth)):
                for possible, one in zip(left, world, strict=True):
                    possible.add(one)
        return sum(len(possible) < L for possible in left)


def check(series: int, seed: int, people: int, releases: int) -> None:
    """Nobody is narrowed down in random series; in some of them groups must have been left aside.

    Nobody knows of attempts that ended without a release: series with such are passed over.
    """
    draw = random.Random(seed)
    done = aside = 0
    while done < series:
        one = SmallSeries.drawn(draw, people, releases)
        illness = [draw.choice("ccf") for _ in range(people)]
        seen = list(one.play(illness))
        if None in seen:
            continue
        assert one.narrowed(illness, "cf") == 0, (one, illness)
        done += 1
        there = sum(c == 0 for c in one.comes)
        aside += len(seen[0]) < there
    assert aside > 0


@pytest.mark.slow
def test_nobody_is_narrowed_by_all_tables_that_explain_the_releases() -> None:
    """Somebody who knows all but the illnesses, and the algorithm, leaves everybody l of them."""
    check(2, seed=3, people=5, releases=2)


@pytest.mark.slow
def test_nobody_is_narrowed_in_longer_series() -> None:
    """The same of more people and releases."""
    check(5, seed=5, people=6, releases=3)


WONG = SmallSeries(age=(20, 21, 35, 36, 37), comes=(0,) * 5, goes=(1,) * 5, size=2)
"""Two young people who are ill alike, and three others: cut in two, the young break l."""
ILL = "ccfgh"


def test_a_group_that_breaks_l_is_left_out_and_no_other_is_cut_for_it() -> None:
    """In one group of five the young would be known to share what is there twice."""
    (shown,) = WONG.play(ILL)
    assert len(shown) == 3
    assert not any("'c'" in row for row in shown)


@pytest.mark.slow
def test_nobody_is_narrowed_by_how_groups_were_cut() -> None:
    """The example of Wong et al., against every table."""
    assert WONG.narrowed(ILL, "cfgh") == 0
