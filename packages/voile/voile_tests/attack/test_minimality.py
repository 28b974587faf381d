"""The adversary who knows by which rule rows wait."""

from __future__ import annotations

import random
from decimal import Decimal
from itertools import permutations, product
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile.attack.chosen_groups import RefusedRows, left_for
from voile.attack.minimality import MinimalityAttack
from voile.attack.registry import attack_named
from voile.models.ke_anonymity import is_valid
from voile.publish.ke_anonymity import KEAnonymity
from voile.publish.ke_anonymity.decision import KETerms, Search
from voile.release.history import History
from voile.release.release import Release
from voile.schema.plan import Plan
from voile.schema.roles import Roles
from voile.table.opening import open_frame
from voile_base.randomness import Randomness
from voile_tests.publish.worlds import Worlds

PLAN = Plan(Roles(quasi_identifiers=("who",), sensitive=("salary",)))
SALARIES = [1000, 2000, 3000, 5000, 6000, 7500, 3300, 3500, 9000, 9400]
JOINED = [1, 1, 1, 1, 1, 1, 2, 2, 3, 3]


def frame_of(salaries: list[int], joined: list[int]) -> pl.DataFrame:
    """People numbered from 0, their salaries, and before which release they arrived."""
    return pl.DataFrame({"who": range(len(salaries)), "salary": salaries, "joined": joined})


def releases_of(salaries: list[int], joined: list[int], publisher: KEAnonymity) -> list[Release]:
    """The releases of a growing table, newest first."""
    history: History | None = None
    releases = []
    for number in range(1, max(joined) + 1):
        frame = frame_of(salaries, joined).filter(pl.col("joined") <= number)
        table = open_frame(frame, PLAN)
        made = publisher.prepare(table, Randomness.seeded(number), history)
        history = made.history
        releases.insert(0, made.release)
    return releases


def attacked(releases: list[Release], original: pl.DataFrame, **knowledge: Any) -> Any:
    """What the adversary finds with all releases."""
    attack = MinimalityAttack(earlier=releases[1:], **knowledge)
    assert attack.refusal(releases[0]) is None
    return attack.run(releases[0], original)


@pytest.mark.slow
@pytest.mark.parametrize("search", ["full-cover", "sealed-batches", "narrow-batches"])
def test_gus_is_found_under_the_old_rule_alone(search: Search) -> None:
    """Eva and Fay waited, so the third newcomer has 9000; in batches nobody is found."""
    salaries, joined = SALARIES[:9], JOINED[:9]
    original = frame_of(salaries, joined)
    old = KEAnonymity(2, 1000, "pay", search=search, batch="until-valid")
    releases = releases_of(salaries, joined, old)
    found = attacked(releases, original, arrived="joined")
    assert found.success.value == pytest.approx(3 / 9)
    assert (found.worst.known, found.worst.probability) == ({"who": 8}, 1.0)
    unknown = attacked(releases, original)
    assert unknown.success.value == 0
    assert "not known who waited" in unknown.notes[-1]
    new = releases_of(SALARIES, JOINED, KEAnonymity(2, 1000, "pay", search=search, batch=2))
    assert new[0].rows == 10
    found = attacked(new, frame_of(SALARIES, JOINED), arrived="joined")
    assert found.success.value == 0
    assert found.notes[0].startswith("2 people are known to have been refused together")


@pytest.mark.slow
def test_it_finds_whom_listing_all_tables_finds() -> None:
    """In random series whose rows wait until they are valid, exactly those who are narrowed."""
    draw = random.Random(5)
    exposed = 0
    for number in range(16):
        search: Search = ("sealed-batches", "full-cover")[number % 2]
        e = draw.choice([1, 2, 3])
        arrivals = [4, *(draw.choice([1, 1, 2]) for _ in range(3))]
        values = [0, 6, 1, 5, *(draw.choice([1, 2, 2, 3, 6]) for _ in range(sum(arrivals) - 4))]
        worlds = Worlds(KETerms(2, Decimal(e), search=search), arrivals, range(7))
        states, _ = worlds.play(values)
        shown = {person for person, born in enumerate(states[-1].born) if born}
        expected = {n.person for n in worlds.narrowed(values, 2, e)} & shown
        joined = [n for n, count in enumerate(arrivals, 1) for _ in range(count)]
        publisher = KEAnonymity(2, e, "pay", search=search, batch="until-valid")
        releases = releases_of(values, joined, publisher)
        found = attacked(releases, frame_of(values, joined), arrived="joined")
        assert found.targets == len(shown)
        assert round(found.success.value * found.targets) == len(expected), (values, arrivals, e)
        exposed += bool(expected)
    assert exposed >= 2


@given(
    groups=st.lists(st.lists(st.integers(0, 4), min_size=1, max_size=4), min_size=1, max_size=2),
    refused=st.sets(st.integers(0, 7)),
    k=st.integers(2, 4),
    e=st.integers(0, 6),
)
def test_what_is_left_is_what_listing_all_arrangements_leaves(
    groups: list[list[int]], refused: set[int], k: int, e: int
) -> None:
    """Values left are those of the arrangements in which the refused are invalid together."""
    groups = [[value + 10 * at for value in group] for at, group in enumerate(groups)]
    values = np.unique(np.concatenate(groups))
    people, shown, first = [], [], 0
    for at, group in enumerate(groups):
        members = np.arange(first, first + len(group))
        people += members.tolist()
        first += len(group)
        places = np.searchsorted(values, group)
        counts = {int(p): int((places == p).sum()) for p in places}
        shown.append(RefusedRows(at, members, counts))
    refused &= set(people)
    worlds = []
    for arrangement in product(*map(set, map(permutations, groups))):
        salaries = [value for group in arrangement for value in group]
        theirs = np.array([salaries[person] for person in sorted(refused)])
        if not refused or not is_valid(theirs, k, e):
            worlds.append(salaries)
    if not worlds:
        return
    left = {
        person: set(values[places].tolist())
        for some, places in left_for(shown, refused, values, k, e)
        for person in some
    }
    assert left == {person: {w[person] for w in worlds} for person in people}


def test_what_it_cannot_reason_about_is_said() -> None:
    """Other methods, other adversaries, and a series with a release missing."""
    assert isinstance(attack_named("minimality"), MinimalityAttack)
    publisher = KEAnonymity(2, 1000, "pay", batch="until-valid")
    releases = releases_of(SALARIES, JOINED, publisher)
    lacking = MinimalityAttack(earlier=releases[2:], arrived="joined")
    assert "all releases" in str(lacking.refusal(releases[0]))
    pairwise = releases_of([1, 9, 2, 8], [1] * 4, KEAnonymity(2, 1, "s", adversary="pairwise"))
    assert "nobody waits" in str(MinimalityAttack().refusal(pairwise[0]))
