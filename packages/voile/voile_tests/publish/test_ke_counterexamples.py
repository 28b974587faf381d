"""The counterexamples to the statements of the 2015 paper, each as a test of its own name.

Histories are written as values, one list per block, as a reader of the paper would.
"""

import numpy as np
import pytest

from voile.models.ke_anonymity import atom_breaches, pairwise_breaches
from voile.publish.ke_anonymity import searches as exact_module
from voile.publish.ke_anonymity.searches import exact_blocks, full_cover_blocks
from voile_base.errors import PlanError


def born_at(releases):
    """For each release, the sorted values of the rows that it was the first to publish."""
    born, seen = [], []
    for release in releases:
        shown = sorted(value for block in release for value in block)
        fresh = list(shown)
        for value in seen:
            fresh.remove(value)
        born.append(fresh)
        seen = shown
    return born


def cells_of(releases):
    """Units and blocks of one cell per row; rows of one value keep the order of their births."""
    rows = [(value, birth) for birth, fresh in enumerate(born_at(releases)) for value in fresh]
    blocks = np.full((len(releases), len(rows)), -1)
    for r, release in enumerate(releases):
        for number, block in enumerate(release):
            for value in block:
                taken = (blocks[r] >= 0) | [unit != value for unit, _ in rows]
                blocks[r, np.argmin(taken)] = number
    return np.array([unit for unit, _ in rows]), blocks


def pairwise(releases, k, e):
    """Breaches of the newest release as (kind, earlier release, distinct, range)."""
    found = pairwise_breaches(*cells_of(releases), k, e)
    return {(breach.kind, breach.releases[0], breach.distinct, breach.spread) for breach in found}


def atoms(releases, k, e):
    """Distinct count and range of each atom that is not valid."""
    return {(a.distinct, a.spread) for a in atom_breaches(*cells_of(releases), k, e)}


def ranges(values, release):
    return np.array([[values.index(block[0]), values.index(block[-1]) + 1] for block in release])


def full_cover(releases, new, k, e, adversary):
    """The next release as lists of distinct values per block, or None, or "held"."""
    old = sorted(value for block in releases[-1] for value in block)
    values = sorted({*old, *new})
    fresh = np.array([value in new for value in values])
    old_blocks = ranges(values, releases[-1])
    decision = full_cover_blocks(np.array(values), fresh, old_blocks, k, e, adversary)
    if decision is None:
        return None
    if decision.held:
        assert decision.blocks.tolist() == old_blocks.tolist()
        return "held"
    return [values[i:j] for i, j in decision.blocks]


def exact(releases, new, k, e):
    """The optimum against all releases as lists of distinct values per block, or None."""
    born = [*born_at(releases), new]
    values = sorted({value for fresh in born for value in fresh})
    births = np.array([[value in fresh for value in values] for fresh in born])
    old = [ranges(values, release) for release in releases]
    blocks = exact_blocks(np.array(values), births, old, k, e)
    return None if blocks is None else [values[i:j] for i, j in blocks]


def test_lemma_1_with_strict_inequalities_leaks_the_border_values():
    """A block may not end at an old border value: 7 and 13 would stand alone."""
    old = [[7, 13]]
    assert pairwise([old, [[1, 7], [13, 19]]], 2, 4) == {
        ("a&b", 0, 1, 0),
        ("a-b", 0, 1, 0),
        ("b-a", 0, 1, 0),
    }
    whole = [[1, 7, 13, 19]]
    assert pairwise([old, whole], 2, 4) == set()
    assert exact([old], [1, 19], 2, 4) == whole
    assert full_cover([old], [1, 19], 2, 4, "pairwise") == whole
    assert full_cover([old], [1, 19], 2, 4, "union") == whole


def test_lemma_1c_a_block_strictly_inside_an_old_one_may_be_safe():
    """{1, 51} and {0, 52} out of {0, 1, 51, 52} reveal nothing, though one lies inside."""
    assert pairwise([[[0, 1, 51, 52]], [[1, 51], [0, 52]]], 2, 50) == set()


def test_theorem_1_a_cover_may_leave_an_invalid_rest():
    """A block that covers one old block and adds a single row leaves that row alone."""
    old = [[10, 20, 30]]
    assert pairwise([old, [[10, 20, 25, 30]]], 3, 20) == {("b-a", 0, 1, 0)}
    assert full_cover([old], [25], 3, 20, "pairwise") is None
    assert exact([old], [25], 3, 20) is None
    assert full_cover([old], [25], 3, 20, "union") == "held"


def test_theorem_1_needs_its_premise_for_every_old_block_covered():
    """With two old blocks inside, the new row is safe in pairs, and from their union it is not."""
    old = [[10, 20, 30], [40, 50, 60]]
    assert pairwise([old, [[10, 20, 25, 30, 40, 50, 60]]], 3, 20) == set()
    assert pairwise([old, [[10, 20, 25, 30], [40, 50, 60]]], 3, 20) == {("b-a", 0, 1, 0)}
    assert full_cover([old], [25], 3, 20, "pairwise") == [[10, 20, 25, 30, 40, 50, 60]]
    assert full_cover([old], [25], 3, 20, "union") == "held"


def test_the_latest_release_alone_is_not_enough_without_full_cover():
    """Safe against the second release, and a leak of 6 and 9 against the first."""
    first, second = [[6, 9]], [[3, 6, 9, 12]]
    third = [[3, 6, 6, 8], [9, 12]]
    assert pairwise([second, third], 2, 2) == set()
    assert ("a&b", 0, 1, 0) in pairwise([first, second, third], 2, 2)
    assert pairwise([first, second], 2, 2) == set()
    safe = [[3, 6, 8, 9, 12]]
    assert full_cover([first, second], [6, 8], 2, 2, "pairwise") == safe
    assert full_cover([first, second], [6, 8], 2, 2, "union") == safe
    assert exact([first, second], [6, 8], 2, 2) == safe


def test_full_cover_is_not_always_the_optimum_after_two_releases():
    """A merged block could be split again: 17 in place of 25, and the union rule forbids it."""
    first = [[4, 8], [21, 29]]
    second = [[4, 8, 21, 26, 29]]
    assert full_cover([first], [26], 2, 3, "pairwise") == second
    assert exact([first], [26], 2, 3) == second
    history, new = [first, second], [16, 29]
    assert full_cover(history, new, 2, 3, "pairwise") == [[4, 8, 16, 21, 26, 29]]
    assert exact(history, new, 2, 3) == [[4, 8], [16, 21, 26, 29]]
    split = [[4, 8], [16, 21, 26, 29, 29]]
    assert pairwise([*history, split], 2, 3) == set()
    assert (1, 0) in atoms([*history, split], 2, 3)
    assert full_cover([first], [26], 2, 3, "union") == "held"


def test_there_may_be_no_solution_at_all():
    """A single row beside a single block cannot be published, however blocks are cut."""
    old = [[1, 2, 3]]
    assert full_cover([old], [2], 3, 2, "pairwise") is None
    assert exact([old], [2], 3, 2) is None
    assert full_cover([old], [2], 3, 2, "union") == "held"


def test_a_difference_has_the_values_of_the_remaining_rows():
    """As sets of values {1, 2, 2, 3} - {1, 2, 3} is empty; the remaining row has the value 2."""
    assert pairwise([[[1, 2, 3]], [[1, 2, 2, 3]]], 3, 2) == {("b-a", 0, 1, 0)}


def test_pairs_of_blocks_are_not_all_that_can_be_combined():
    """One block of seven minus both old blocks is {6}: no pair shows it, the atom does."""
    old, whole = [[1, 2, 3], [10, 11, 12]], [[1, 2, 3, 6, 10, 11, 12]]
    assert full_cover([old], [6], 3, 2, "pairwise") == whole
    assert exact([old], [6], 3, 2) == whole
    assert pairwise([old, whole], 3, 2) == set()
    assert atoms([old, whole], 3, 2) == {(1, 0)}
    assert full_cover([old], [6], 3, 2, "union") == "held"


def test_rows_with_enough_company_elsewhere_may_still_not_stand_alone_in_a_block():
    """6 and {100, 101, 102} are valid together: union puts them in one block, pairwise does not."""
    old, new = [[1, 2, 3], [10, 11, 12]], [6, 100, 101, 102]
    apart = [[1, 2, 3, 6, 10, 11, 12], [100, 101, 102]]
    together = [[1, 2, 3], [6, 10, 11, 12, 100, 101, 102]]
    assert full_cover([old], new, 3, 2, "pairwise") == apart
    assert atoms([old, apart], 3, 2) == {(1, 0)}
    assert full_cover([old], new, 3, 2, "union") == together
    assert atoms([old, together], 3, 2) == set()


def test_held_rows_are_published_when_company_has_arrived():
    """6 is held at first; with 5 and 7 it is a valid block of its own."""
    old = [[1, 2, 3], [10, 11, 12]]
    assert full_cover([old], [6], 3, 2, "union") == "held"
    assert full_cover([old], [5, 6, 7], 3, 2, "union") == [[1, 2, 3], [5, 6, 7], [10, 11, 12]]


@pytest.mark.parametrize("adversary", ["union", "pairwise"])
def test_without_an_earlier_release_the_static_optimum_or_nothing(adversary):
    """With no old blocks every value is fresh; an invalid table has nothing to hold on to."""
    none, fresh = np.empty((0, 2), np.int64), np.ones(4, np.bool_)
    values = np.array([1, 2, 8, 9])
    decision = full_cover_blocks(values, fresh, none, 2, 1, adversary)
    assert decision.blocks.tolist() == [[0, 2], [2, 4]]
    assert not decision.held
    assert full_cover_blocks(values, fresh, none, 5, 1, adversary) is None
    assert full_cover_blocks(values[:0], fresh[:0], none, 2, 1, adversary) is None


@pytest.mark.parametrize("adversary", ["union", "pairwise"])
def test_without_fresh_rows_the_blocks_stay(adversary):
    """Publishing the same rows again repeats the blocks, and holds nothing."""
    values, fresh = np.array([1, 2, 8, 9]), np.zeros(4, np.bool_)
    decision = full_cover_blocks(values, fresh, np.array([[0, 2], [2, 4]]), 2, 1, adversary)
    assert decision.blocks.tolist() == [[0, 2], [2, 4]]
    assert not decision.held


def test_old_blocks_of_another_table_are_refused():
    """A value that is neither fresh nor in an old block is a fault of the caller and raises."""
    with pytest.raises(ValueError, match="neither fresh nor in a block"):
        full_cover_blocks(np.arange(4), np.zeros(4, np.bool_), np.array([[0, 3]]), 2, 1, "union")


def test_exact_refuses_what_it_cannot_afford_and_names_the_way_out(monkeypatch):
    """Beyond the stated number of tests the plan is refused, with the size and full-cover."""
    monkeypatch.setattr(exact_module, "MAXIMUM_TESTS", 15)
    values, births = np.arange(4), np.array([[True] * 4, [False, True, True, False]])
    with pytest.raises(PlanError, match=r'4 distinct .* 1 earlier .* 15 tests.*"full-cover"'):
        exact_blocks(values, births, [np.array([[0, 4]])], 2, 1)
    monkeypatch.setattr(exact_module, "MAXIMUM_TESTS", 16)
    assert exact_blocks(values, births, [np.array([[0, 4]])], 2, 1).tolist() == [[0, 4]]
