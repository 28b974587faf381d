"""The inference against every table that is consistent with the published files."""

import random
from collections import Counter
from decimal import Decimal
from functools import cache
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voile.attack.differencing import DifferencingAttack
from voile.models.ke_anonymity import atom_breaches
from voile_testing.plugin import examples

EVERYBODY = DifferencingAttack(k=10**6, most=None)


@st.composite
def growing_tables(draw, most=6, releases=3, ranges=True, names=None):
    """People as (name, value, first release), and the group of each person in each release.

    Groups are ranges of values, or else anything; entry -1 stands for absence.
    """
    size = draw(st.integers(2, most))
    values = draw(st.lists(st.integers(0, 6), min_size=size, max_size=size))
    first = draw(st.lists(st.integers(0, releases - 1), min_size=size, max_size=size))
    first[0] = 0
    people = draw(
        st.just(list(range(size)))
        if names is None
        else st.lists(st.sampled_from(names), min_size=size, max_size=size)
    )
    groups = []
    for release in range(releases):
        if ranges:
            cuts = sorted(draw(st.sets(st.integers(1, 6), max_size=3)))
            group = np.searchsorted(cuts, values, side="right").tolist()
        else:
            group = draw(st.lists(st.integers(0, 2), min_size=size, max_size=size))
        groups.append([g if f <= release else -1 for g, f in zip(group, first, strict=True)])
    return people, values, groups


def published(publish, people, values, group):
    return publish([row for row in zip(people, values, group, strict=True) if row[2] >= 0])


def attacked(publish, table, attack=EVERYBODY):
    people, values, groups = table
    *earlier, new = (published(publish, people, values, group) for group in groups)
    return attack.run(new, earlier)


def claims(result):
    return {v.quasi_identifiers["person"]: {int(x) for x in v.values} for v in result.victims}


def values_in_all_worlds(people, values, groups):
    """What each person can have: all ways to give out the values that yield the same files."""

    def shown(given_out):
        return [sorted(zip(group, given_out, strict=True)) for group in groups]

    truth = [[pair for pair in release if pair[0] >= 0] for release in shown(values)]
    possible = {person: set() for person in people}
    for world in set(permutations(values)):
        if [[pair for pair in release if pair[0] >= 0] for release in shown(world)] == truth:
            for person, value in zip(people, world, strict=True):
                possible[person].add(value)
    return possible


@pytest.mark.slow
@settings(max_examples=examples(150))
@given(growing_tables())
def test_ranges_and_unique_people_are_narrowed_to_exactly_what_is_possible(publish, table):
    """Not one value too many or too few, over three releases of up to six people."""
    assert claims(attacked(publish, table)) == values_in_all_worlds(*table)


@pytest.mark.slow
@settings(max_examples=examples(150))
@given(growing_tables(ranges=False))
def test_groups_of_any_kind_never_lose_a_possible_value(publish, table):
    """Where values stand in several groups the claims may be wider, and never too narrow."""
    possible = values_in_all_worlds(*table)
    found = claims(attacked(publish, table))
    assert found.keys() == possible.keys()
    assert all(possible[person] <= found[person] for person in possible)


@pytest.mark.slow
@settings(max_examples=examples(150))
@given(st.booleans().flatmap(lambda r: growing_tables(most=14, names="xyz", ranges=r)))
def test_people_who_look_the_same_keep_all_their_true_values(publish, table):
    """With three names among up to fourteen people, no true value is excluded."""
    people, values, _ = table
    result = attacked(publish, table)
    found = claims(result)
    assert result.notes == ()
    assert result.people == len(people)
    assert all(value in found[person] for person, value in zip(people, values, strict=True))


@pytest.mark.slow
@settings(max_examples=examples(150))
@given(growing_tables(most=12), st.data())
def test_true_values_remain_possible_when_people_leave(publish, table, data):
    """People who leave at any time make claims weaker, and not false."""
    people, values, groups = table
    for person in data.draw(st.sets(st.sampled_from(people), max_size=4)):
        for group in groups[data.draw(st.integers(1, 2)) :]:
            group[person] = -1
    if any(max(group) < 0 for group in groups):
        return
    found = claims(attacked(publish, table))
    assert all(values[person] in left for person, left in found.items())


@settings(max_examples=examples(150))
@given(growing_tables(most=20), st.integers(1, 4), st.integers(0, 5))
def test_exposed_are_the_people_of_atoms_that_are_not_valid(publish, table, k, e):
    """For ranges and unique people the adversary finds what the custodian's own check finds.

    In particular nobody is exposed where every atom is (k,e)-valid.
    """
    _, values, groups = table
    breaches = atom_breaches(np.array(values), np.array(groups, np.int64), k, e)
    poor = {breach.blocks for breach in breaches}
    trails = list(zip(*groups, strict=True))
    result = attacked(publish, table, DifferencingAttack(k=k, e=Decimal(e), most=0))
    assert result.exposed == sum(trail in poor for trail in trails)


def fillings(trails, left, one, two):
    """All counts of a value in cells of so many free places, as often as in groups of either."""
    if not trails:
        if not +one and not +two:
            yield ()
        return
    (a, b), *others = trails
    for count in range(min(one[a], two[b], left[0]) + 1):
        gone = Counter({a: count}), Counter({b: count})
        for counts in fillings(others, left[1:], one - gone[0], two - gone[1]):
            yield (count, *counts)


def values_by_search(values, first, second):
    """What each person can have by two releases of one table: all counts of values in cells.

    A cell is a group of either release; which person of a cell has which value is open.
    """
    cells = Counter(zip(first, second, strict=True))
    levels = sorted(set(values))
    groups = {
        level: [
            Counter(g for x, g in zip(values, of, strict=True) if x == level)
            for of in (first, second)
        ]
        for level in levels
    }

    @cache
    def ways(place, left):
        """Counts of a value, and what they leave, from which the others can be placed, too."""
        found = []
        for counts in fillings(list(cells), left, *groups[levels[place]]):
            rest = tuple(free - count for free, count in zip(left, counts, strict=True))
            if ways(place + 1, rest) if place + 1 < len(levels) else not any(rest):
                found.append((counts, rest))
        return found

    possible, states = {trail: set() for trail in cells}, {tuple(cells.values())}
    for place, level in enumerate(levels):
        reached = [way for left in states for way in ways(place, left)]
        states = {rest for _, rest in reached}
        for counts, _ in reached:
            for trail, count in zip(cells, counts, strict=True):
                possible[trail] |= {level} if count else set()
    return [possible[trail] for trail in zip(first, second, strict=True)]


@pytest.mark.slow
@pytest.mark.parametrize("ranges", [True, False])
def test_two_releases_of_thirty_people_tell_what_an_exhaustive_search_finds(publish, ranges):
    """For everybody the very values that are left, and for somebody fewer than by either alone."""
    narrowed = 0
    for seed in range(20):
        dice = random.Random(seed)
        values, groups = [dice.randrange(12) for _ in range(30)], []
        for _ in range(2):
            cuts = dice.sample(range(1, 12), 3)
            groups.append(
                [sum(v >= c for c in cuts) if ranges else dice.randrange(3) for v in values]
            )
        new, old = (published(publish, range(30), values, group) for group in groups)
        found = claims(EVERYBODY.run(new, [old]))
        assert [found[person] for person in range(30)] == values_by_search(values, *groups)
        alone = [claims(EVERYBODY.run(one, [])) for one in (new, old)]
        assert all(found[person] <= one[person] for one in alone for person in found)
        narrowed += any(found[p] < alone[0][p] and found[p] < alone[1][p] for p in found)
    assert narrowed >= 15
