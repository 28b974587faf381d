"""Every decision of (k,e)-anonymity against a search over all partitions of a few rows.

The search knows rows, sets and the definitions; it shares nothing with the package.
"""

import os
from dataclasses import dataclass, field
from itertools import combinations, combinations_with_replacement, pairwise, product

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from voile.publish.ke_anonymity.searches import exact_blocks, full_cover_blocks, optimal_blocks
from voile_testing.plugin import examples

EVERY_WAY = bool(os.environ.get("EVERY_WAY"))
# A row is (number, value); a partition is a list of frozensets of rows.


@dataclass
class Series:
    """A growing table, the partitions published so far, and the rows of each."""

    k: int
    e: int
    rows: list = field(default_factory=list)
    history: list = field(default_factory=list)

    def append(self, batch):
        self.rows += [(len(self.rows) + n, value) for n, value in enumerate(batch)]

    @property
    def fresh(self):
        return [row for row in self.rows if not any(row in a for old in self.history for a in old)]

    @property
    def values(self):
        return sorted({value for _, value in self.rows})

    def is_valid(self, rows):
        values = {value for _, value in rows}
        return len(values) >= self.k and max(values) - min(values) >= self.e

    def keeps_definition_5(self, new, old):
        return all(
            not part or self.is_valid(part)
            for a in old
            for b in new
            for part in (a - b, b - a, a & b)
        )

    def keeps_pairwise(self, new):
        return all(self.is_valid(b) for b in new) and all(
            self.keeps_definition_5(new, old) for old in self.history
        )

    def keeps_union(self, new):
        """Every atom is valid: rows with the same place in every release, or absent from it."""
        releases = [*self.history, new]
        atoms = {}
        for row in self.rows:
            place = tuple(
                next((m for m, block in enumerate(release) if row in block), None)
                for release in releases
            )
            atoms.setdefault(place, set()).add(row)
        atoms.pop((None,) * len(releases), None)
        return all(self.is_valid(atom) for atom in atoms.values())

    def covers_fully(self, new):
        return not self.history or all(any(a <= b for b in new) for a in self.history[-1])

    def index_ranges(self, partition):
        values = self.values
        ranges = sorted(
            (values.index(min(v for _, v in block)), values.index(max(v for _, v in block)) + 1)
            for block in partition
        )
        return np.array(ranges, np.int64).reshape(-1, 2)

    def partition(self, blocks, rows):
        """The rows that lie in each index range."""
        values = self.values
        return [
            frozenset(row for row in rows if start <= values.index(row[1]) < stop)
            for start, stop in blocks.tolist()
        ]

    def full_cover(self, adversary):
        """The package's decision as (partition, held rows), or None."""
        values, fresh = self.values, {value for _, value in self.fresh}
        decision = full_cover_blocks(
            np.array(values),
            np.array([value in fresh for value in values]),
            self.index_ranges(self.history[-1] if self.history else []),
            self.k,
            self.e,
            adversary,
        )
        if decision is None:
            return None
        held = self.fresh if decision.held else []
        return self.partition(decision.blocks, [r for r in self.rows if r not in held]), held

    def exact(self, kind=np.int64):
        """The package's optimum against all earlier releases as a partition, or None."""
        values, births, seen = self.values, [], set()
        for release in [*self.history, [frozenset(self.rows)]]:
            born = set().union(*release) - seen
            seen |= born
            births.append([value in {v for _, v in born} for value in values])
        blocks = exact_blocks(
            np.array(values, kind),
            np.array(births),
            [self.index_ranges(old) for old in self.history],
            self.k,
            self.e,
        )
        return None if blocks is None else self.partition(blocks, self.rows)


def cost(partition):
    return sum(max(v for _, v in block) - min(v for _, v in block) for block in partition)


def all_partitions(rows):
    """Every set partition of the rows."""
    if not rows:
        yield []
        return
    first, rest = rows[0], rows[1:]
    for smaller in all_partitions(rest):
        yield [frozenset({first}), *smaller]
        for n, block in enumerate(smaller):
            yield [*smaller[:n], block | {first}, *smaller[n + 1 :]]


def ordered_partitions(rows):
    """Every partition into value ranges that splits no equal values."""
    values = sorted({value for _, value in rows})
    for size in range(len(values)):
        for cuts in combinations(values[1:], size):
            edges = [values[0], *cuts, values[-1] + 1]
            yield [frozenset(r for r in rows if a <= r[1] < b) for a, b in pairwise(edges)]


def smallest_cost(partitions, is_allowed):
    """The smallest sum of ranges among the allowed partitions, or None."""
    best = None
    for partition in partitions:
        here = cost(partition)
        if (best is None or here < best) and is_allowed(partition):
            best = here
    return best


def fewest_held(series):
    """(rows held, sum of ranges) of the best union release of any subset of fresh rows."""
    fresh = series.fresh
    for number in range(len(fresh) + 1):
        costs = []
        for held in combinations(fresh, number):
            rows = [row for row in series.rows if row not in held]
            if rows:
                costs.append(smallest_cost(all_partitions(rows), series.keeps_union))
        found = [c for c in costs if c is not None]
        if found:
            return number, min(found)
    return None


@st.composite
def batches(draw, rows=8, appended=(1, 3), largest=16):
    """A first batch and some appended ones, of at most ``rows`` values together.

    The first batch is large and values are far apart, so that most histories have two blocks
    or more: only then can a decision go wrong.
    """
    value = st.integers(-2, largest)
    plan = [draw(st.lists(value, min_size=4, max_size=6))]
    for _ in range(draw(st.integers(*appended))):
        room = rows - sum(map(len, plan))
        if room:
            plan.append(draw(st.lists(value, min_size=1, max_size=min(3, room))))
    return plan


parameters = st.sampled_from(
    [(2, 0), (2, 1), (2, 1), (2, 2), (2, 2), (2, 3), (2, 5), (3, 0), (3, 2)]
)


def check_full_cover(series):
    """The pairwise decision equals the best of all partitions that cover fully; returns it."""
    decision = series.full_cover("pairwise")
    best = smallest_cost(
        all_partitions(series.rows),
        lambda new: series.covers_fully(new) and series.keeps_pairwise(new),
    )
    if decision is None:
        assert best is None
        return None
    new, held = decision
    assert not held
    assert series.keeps_pairwise(new)
    assert series.covers_fully(new)
    assert cost(new) == best
    return new


def check_union(series):
    """The union decision equals the best over all held sets and partitions; returns it."""
    decision = series.full_cover("union")
    best = fewest_held(series)
    if decision is None:
        assert best is None
        return None
    new, held = decision
    assert series.keeps_union(new)
    assert series.keeps_pairwise(new)
    assert (len(held), cost(new)) == best
    return new


def check_exact(series):
    """The exact decision equals the best of all partitions; returns it."""
    new = series.exact()
    best = smallest_cost(all_partitions(series.rows), series.keeps_pairwise)
    assert (new is None) == (best is None)
    if new is not None:
        assert series.keeps_pairwise(new)
        assert cost(new) == best
    assert series.exact(object) == new
    return new


def run(plan, parameters, check):
    """Publish the batches one after the other, every decision checked."""
    series = Series(*parameters)
    for batch in plan:
        series.append(batch)
        new = check(series)
        if new is not None:
            series.history.append(new)


@settings(deadline=None, max_examples=examples(80))
@given(st.lists(st.integers(-5, 9), min_size=1, max_size=8), parameters)
def test_static_optimum_is_the_best_of_all_partitions(batch, parameters):
    """No partition of rows, with ties and negative values, is cheaper than the static blocks."""
    series = Series(*parameters)
    series.append(batch)
    blocks = optimal_blocks(np.array(series.values), *parameters)
    best = smallest_cost(all_partitions(series.rows), series.keeps_pairwise)
    assert (None if blocks is None else cost(series.partition(blocks, series.rows))) == best


@pytest.mark.slow
@settings(deadline=None, max_examples=examples(60))
@given(batches(), parameters)
def test_full_cover_is_safe_against_all_releases_and_best_of_its_kind(plan, parameters):
    """Pairwise: safe against every earlier release, and no partition with full cover is cheaper."""
    run(plan, parameters, check_full_cover)


@pytest.mark.slow
@settings(deadline=None, max_examples=examples(60))
@given(batches(rows=7), parameters)
def test_union_holds_the_fewest_rows_at_the_smallest_sum(plan, parameters):
    """Union: best over all held sets and all partitions, so full cover loses nothing."""
    run(plan, parameters, check_union)


@settings(deadline=None, max_examples=examples(60))
@given(batches(), parameters)
def test_exact_is_the_best_of_all_partitions_after_exact_releases(plan, parameters):
    """Pairwise exact: optimal among all partitions of rows, in a history of its own making."""
    run(plan, parameters, check_exact)


@pytest.mark.slow
@settings(deadline=None, max_examples=examples(60))
@given(batches(appended=(2, 3)), parameters, st.data())
def test_exact_is_the_best_of_all_partitions_after_any_safe_releases(plan, parameters, data):
    """Pairwise exact: optimal as well where earlier releases were safe and not optimal."""
    series = Series(*parameters)
    for batch in plan[:-1]:
        series.append(batch)
        safe = [new for new in ordered_partitions(series.rows) if series.keeps_pairwise(new)]
        assume(safe)
        series.history.append(data.draw(st.sampled_from(safe)))
    series.append(plan[-1])
    check_exact(series)


@settings(deadline=None, max_examples=examples(200))
@given(batches(rows=14, appended=(1, 1), largest=40), parameters)
def test_full_cover_loses_nothing_after_one_optimal_release(plan, parameters):
    """With a single earlier release, the static optimum, full cover and exact cost the same."""
    series = Series(*parameters)
    series.append(plan[0])
    first = series.full_cover("pairwise")
    assume(first is not None)
    series.history.append(first[0])
    series.append(plan[1])
    decision, exact = series.full_cover("pairwise"), series.exact()
    assert (decision is None) == (exact is None)
    assert decision is None or cost(decision[0]) == cost(exact)


@settings(deadline=None, max_examples=examples(200))
@given(batches(rows=30, appended=(2, 8), largest=60), parameters)
def test_exact_is_never_dearer_than_full_cover(plan, parameters):
    """Over many full-cover releases, full cover stays safe and exact is at most as dear."""
    series = Series(*parameters)
    for batch in plan:
        series.append(batch)
        decision, exact = series.full_cover("pairwise"), series.exact()
        if decision is None:
            continue
        assert series.keeps_pairwise(decision[0])
        assert cost(exact) <= cost(decision[0])
        series.history.append(decision[0])


@settings(deadline=None, max_examples=examples(100))
@given(batches(rows=30, appended=(2, 8), largest=60), parameters)
def test_blocks_only_ever_merge_under_full_cover(plan, parameters):
    """Each old block lies whole in a new one, and stays as it was while rows are held."""
    series = Series(*parameters)
    for batch in plan:
        series.append(batch)
        decision = series.full_cover("union")
        if decision is None:
            continue
        new, held = decision
        assert series.covers_fully(new)
        assert series.keeps_union(new)
        if held:
            assert new == series.history[-1]
        series.history.append(new)


@pytest.mark.slow
@pytest.mark.parametrize("check", [check_full_cover, check_union, check_exact])
def test_every_small_series_of_three_releases(check):
    """Exhaustively: three, then one or two, then one or two rows over four values, e 1 and 2.

    One series in nine; ``make decisions`` takes all.
    """
    appended = [b for size in (1, 2) for b in combinations_with_replacement(range(4), size)]
    first = list(combinations_with_replacement(range(4), 3))
    every = list(product((1, 2), first, appended, appended))
    for e, *plan in every if EVERY_WAY else every[::9]:
        run(plan, (2, e), check)


@pytest.mark.slow
@pytest.mark.parametrize("check", [check_full_cover, check_union, check_exact])
@settings(deadline=None, max_examples=30)
@given(plan=batches(rows=9, appended=(2, 4), largest=20), parameters=parameters)
def test_longer_series(check, plan, parameters):
    """Nine rows in up to five releases: 21,147 partitions each, and all held sets for union."""
    run(plan, parameters, check)
