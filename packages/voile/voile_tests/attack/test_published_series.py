"""The differencing adversary against what the publisher really publishes."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from voile.attack.differencing import AttackResult, DifferencingAttack
from voile.publish.ke_anonymity import KEAnonymity
from voile.release.history import History
from voile.release.release import Release
from voile.schema.plan import Plan
from voile.schema.roles import Roles
from voile.table.opening import open_frame
from voile_base.errors import InfeasibleError
from voile_base.randomness import Randomness

PLAN = Plan(Roles(quasi_identifiers=("person",), sensitive=("salary",)))


def series_of(batches: list[list[int]], publisher: KEAnonymity) -> list[Release]:
    """The releases of a growing table, newest first; without a series, each by itself."""
    history: History | None = None
    releases: list[Release] = []
    salaries: list[int] = []
    for batch in batches:
        salaries += batch
        frame = pl.DataFrame({"person": range(len(salaries)), "salary": salaries})
        publication = publisher.prepare(
            open_frame(frame, PLAN), Randomness.seeded(len(releases)), history
        )
        history = publication.history
        releases.insert(0, publication.release)
    return releases


def attacked(releases: list[Release]) -> AttackResult:
    """What the adversary finds with all releases."""
    return DifferencingAttack(most=None).run(releases[0], releases[1:])


@pytest.mark.slow
@pytest.mark.parametrize("search", ["full-cover", "sealed-batches", "narrow-batches"])
@given(
    batches=st.lists(st.lists(st.integers(0, 30), min_size=1, max_size=8), min_size=2, max_size=4),
    k=st.integers(2, 3),
    e=st.integers(0, 6),
)
def test_nobody_is_exposed_by_a_series(
    search: Any, batches: list[list[int]], k: int, e: int
) -> None:
    """Against the union rule the adversary finds nobody, whatever was appended and held back."""
    first = batches[0]
    assume(len(set(first)) >= k and max(first) - min(first) >= e)
    assert attacked(series_of(batches, KEAnonymity(k, e, "s", search=search, batch=k))).exposed == 0


def test_releases_made_without_a_series_expose_people() -> None:
    """Publishing twice without a series gives new people away, with their true salaries."""
    batches = [[10, 20, 30, 40], [50, 35]]
    result = attacked(series_of(batches, KEAnonymity(2, 5)))
    truth = dict(enumerate([*batches[0], *batches[1]]))
    assert result.exposed > 0
    assert result.exposed_alone == 0
    for victim in result.victims:
        assert truth[victim.quasi_identifiers["person"]] in victim.values
    assert any(len(victim.values) == 1 for victim in result.victims)


def test_the_pairwise_rule_leaves_the_union_attack_open() -> None:
    """The notes' example: a release that is safe block by block gives 6 away; ours holds it."""
    batches = [[1, 2, 3, 10, 11, 12], [6]]
    pairwise = attacked(series_of(batches, KEAnonymity(3, 2, "s", adversary="pairwise")))
    assert [(v.quasi_identifiers["person"], v.values) for v in pairwise.victims] == [(6, (6,))]
    assert attacked(series_of(batches, KEAnonymity(3, 2, "s"))).exposed == 0


@pytest.mark.slow
@given(
    batches=st.lists(st.lists(st.integers(0, 30), min_size=2, max_size=8), min_size=2, max_size=2),
    search=st.sampled_from(["full-cover", "exact"]),
)
def test_two_pairwise_releases_expose_nobody_block_by_block(
    batches: list[list[int]], search: Any
) -> None:
    """What the pairwise rule leaves open needs three blocks: with one old block, nobody."""
    publisher = KEAnonymity(2, 1, "s", adversary="pairwise", search=search)
    assume(len(set(batches[0])) >= 2)
    try:
        new, old = series_of(batches, publisher)
    except InfeasibleError:
        assume(False)
        return
    assume(old.method["decision"] == {"blocks": 1})
    assert attacked([new, old]).exposed == 0
