"""The differencing check against Definition 5 and atoms computed on plain sets of rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voile.models.ke_anonymity import _Breach, atom_breaches, pairwise_breaches
from voile_testing.plugin import examples


@st.composite
def any_releases(draw):
    """Values of up to twelve rows and any block of each in one to four releases, or absence."""
    rows, releases = draw(st.integers(1, 12)), draw(st.integers(1, 4))
    units = draw(st.lists(st.integers(-5, 9), min_size=rows, max_size=rows))
    block = st.lists(st.integers(-1, 2), min_size=rows, max_size=rows)
    return units, [draw(block) for _ in range(releases)]


parameters = st.tuples(st.integers(2, 3), st.integers(0, 6))


def measure(units, rows):
    values = {units[row] for row in rows}
    return len(values), max(values) - min(values)


def is_poor(units, rows, k, e):
    """Neither empty nor valid."""
    return bool(rows) and (measure(units, rows)[0] < k or measure(units, rows)[1] < e)


def blocks_as_sets(release):
    return {b: {row for row, at in enumerate(release) if at == b} for b in set(release) - {-1}}


def breaches_by_sets(units, releases, k, e):
    """Definition 5 for the newest release, each pair of blocks that meets; and invalid blocks."""
    found, newest = set(), len(releases) - 1
    for r, release in enumerate(releases):
        for number, block in blocks_as_sets(release).items():
            if is_poor(units, block, k, e):
                found.add(_Breach("block", (r,), (number,), *measure(units, block)))
    for r, release in enumerate(releases[:-1]):
        for m, a in blocks_as_sets(release).items():
            for n, b in blocks_as_sets(releases[-1]).items():
                for kind, part in (("a-b", a - b), ("b-a", b - a), ("a&b", a & b)):
                    if a & b and is_poor(units, part, k, e):
                        found.add(_Breach(kind, (r, newest), (m, n), *measure(units, part)))
    return found


def atoms_by_sets(units, releases, k, e):
    atoms = {}
    for row in range(len(units)):
        atoms.setdefault(tuple(release[row] for release in releases), set()).add(row)
    atoms.pop((-1,) * len(releases), None)
    return {
        _Breach("atom", tuple(range(len(releases))), place, *measure(units, rows))
        for place, rows in atoms.items()
        if is_poor(units, rows, k, e)
    }


@settings(max_examples=examples(300))
@given(any_releases(), parameters)
def test_pairwise_breaches_equal_definition_5_on_sets(releases, parameters):
    """Any blocks, ranges or not, with rows that come and go: the same breaches, measured alike."""
    units, blocks = releases
    found = pairwise_breaches(np.array(units), np.array(blocks), *parameters)
    assert len(found) == len(set(found))
    assert set(found) == breaches_by_sets(units, blocks, *parameters)


@pytest.mark.slow
@settings(max_examples=examples(300))
@given(any_releases(), parameters)
def test_no_breach_is_reported_if_and_only_if_definition_5_holds(releases, parameters):
    """Pairs that do not meet are covered too: the blocks themselves must be valid."""
    units, blocks = releases
    k, e = parameters
    newest = blocks_as_sets(blocks[-1]).values()
    earlier = [a for release in blocks[:-1] for a in blocks_as_sets(release).values()]
    holds = not any(is_poor(units, block, k, e) for block in [*newest, *earlier]) and not any(
        is_poor(units, part, k, e)
        for a in earlier
        for b in newest
        for part in (a - b, b - a, a & b)
    )
    assert holds == (not pairwise_breaches(np.array(units), np.array(blocks), k, e))


@settings(max_examples=examples(300))
@given(any_releases(), parameters)
def test_atom_breaches_equal_grouping_by_place(releases, parameters):
    """Atoms are the rows with one place in every release; never the rows of no release."""
    units, blocks = releases
    found = atom_breaches(np.array(units), np.array(blocks), *parameters)
    assert len(found) == len(set(found))
    assert set(found) == atoms_by_sets(units, blocks, *parameters)


@given(any_releases(), parameters)
def test_huge_integers_breach_as_small_ones_do(releases, parameters):
    """Python integers beyond int64 give the same breaches, with the range scaled."""
    units, blocks = np.array(releases[0]), np.array(releases[1])
    k, e = parameters
    scale = 10**30
    for check in (pairwise_breaches, atom_breaches):
        small, huge = (
            check(units, blocks, k, e),
            check(units.astype(object) * scale, blocks, k, e * scale),
        )
        assert [(b.kind, b.blocks, b.spread * scale) for b in small] == [
            (b.kind, b.blocks, b.spread) for b in huge
        ]


def test_publishing_twice_exposes_the_row_that_was_added():
    """A block that gained one row gives its value away by subtraction."""
    units, blocks = np.array([10, 20, 30, 25]), np.array([[0, 0, 0, -1], [0, 0, 0, 0]])
    assert pairwise_breaches(units, blocks, 3, 20) == [_Breach("b-a", (0, 1), (0, 0), 1, 0)]
    assert atom_breaches(units, blocks, 3, 20) == [_Breach("atom", (0, 1), (-1, 0), 1, 0)]


def test_one_valid_release_has_no_breach():
    """A first release is compared with nothing."""
    units, blocks = np.array([1, 2, 8, 9]), np.array([[0, 0, 1, 1]])
    assert pairwise_breaches(units, blocks, 2, 1) == []
    assert atom_breaches(units, blocks, 2, 1) == []
