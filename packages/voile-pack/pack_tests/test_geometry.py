"""Box packing: what is accepted as a packing, what is proved, and how good packings are."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voile_base.errors import InputError
from voile_pack.geometry import BoxInstance, BoxOutcome, _require_valid_boxes
from voile_pack.instance import Packing, Stop
from voile_testing.plugin import examples

ENOUGH = Stop.by_work(60)


def boxes(sizes, box=(4, 4, 4), turns="any", weights=None, capacity=1) -> BoxInstance:
    weights = np.zeros(len(sizes), np.int64) if weights is None else np.array(weights)
    return BoxInstance(np.array(sizes), np.array(box), weights, capacity, turns)


def standing(sizes, corners, bin_of) -> BoxOutcome:
    return BoxOutcome(Packing(np.array(bin_of)), 1, "", "", 0.0, np.array(corners), np.array(sizes))


def fit_in_one(sizes, box, turns) -> bool:
    """Whether boxes fit into one bin: every cell of a small grid is tried for every corner."""
    filled = np.zeros(box, bool)

    def place(item) -> bool:
        if item == len(sizes):
            return True
        ways = permutations(range(3)) if turns == "any" else [(0, 1, 2)]
        for size in {tuple(sizes[item][k] for k in way) for way in ways}:
            for corner in product(*(range(b - s + 1) for b, s in zip(box, size, strict=True))):
                cells = tuple(slice(c, c + s) for c, s in zip(corner, size, strict=True))
                if not filled[cells].any():
                    filled[cells] = True
                    if place(item + 1):
                        return True
                    filled[cells] = False
        return False

    return place(0)


sides = st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 3))


@pytest.mark.slow
@given(st.lists(sides, min_size=1, max_size=4), st.sampled_from(["any", "none"]))
@settings(max_examples=examples(60))
def test_bounds_and_packings_agree_with_all_placements(sizes, turns):
    """A bound above one bin is true, and a packing into one bin is possible."""
    outcome = boxes(sizes, (3, 3, 4), turns).solve(Stop.by_work(0.3))
    fits = fit_in_one(sizes, (3, 3, 4), turns)
    if fits:
        assert outcome.lower_bound == 1
    if not fits:
        assert outcome.bins > 1


@given(st.lists(st.tuples(*[st.integers(1, 30)] * 3), min_size=1, max_size=40))
@settings(max_examples=examples(40))
def test_every_packing_is_checked(sizes):
    """Packings of all kinds of boxes pass the independent check, with any allowed turns."""
    for turns in ("any", "upright", "none"):
        case = boxes(sizes, (30, 40, 50), turns, np.arange(len(sizes)), 100)
        outcome = case.solve(Stop.by_work(0))
        _require_valid_boxes(outcome, case)
        assert 1 <= outcome.lower_bound <= outcome.bins


GOOD = standing([(2, 4, 4), (2, 4, 4)], [(0, 0, 0), (2, 0, 0)], [0, 0])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"corners": np.array([(0, 0, 0), (1, 0, 0)])}, "overlap"),
        ({"corners": np.array([(0, 0, 0), (0, 0, 0)])}, "overlap"),
        ({"corners": np.array([(0, 0, 0), (3, 0, 0)])}, "stands in a wall"),
        ({"corners": np.array([(0, 0, 0), (-1, 0, 0)])}, "stands in a wall"),
        ({"placed": np.array([(2, 4, 4), (1, 4, 4)])}, "another size"),
        ({"placed": np.array([(2, 4, 4), (2, 2, 4)])}, "another size"),
        ({"packing": Packing(np.array([0, 2]))}, "bin empty"),
    ],
)
def test_bad_packings_are_rejected(change, words):
    """Overlaps, walls, changed sizes and empty bins are seen by the check."""
    case = boxes([(2, 4, 4), (2, 4, 4)])
    _require_valid_boxes(GOOD, case)
    with pytest.raises(AssertionError, match=words):
        _require_valid_boxes(replace(GOOD, **change), case)


def test_turns_that_are_not_allowed_are_rejected():
    """A box on its side is refused where boxes stay upright, and so is a heavy bin."""
    lying = standing([(4, 2, 4)], [(0, 0, 0)], [0])
    _require_valid_boxes(lying, boxes([(2, 4, 4)]))
    with pytest.raises(AssertionError, match="turned"):
        _require_valid_boxes(lying, boxes([(2, 4, 4)], turns="upright"))
    with pytest.raises(AssertionError, match="overfilled"):
        _require_valid_boxes(GOOD, boxes([(2, 4, 4)] * 2, weights=[1, 1], capacity=1))


def test_turning_saves_bins():
    """Boxes that fit only when turned are turned."""
    tall = [(1, 1, 4)] * 16
    assert boxes(tall, (4, 4, 4), "none").solve(ENOUGH).bins == 1
    assert boxes(tall, (4, 4, 1), "any").solve(ENOUGH).bins == 4
    with pytest.raises(InputError, match="16 boxes have no way to fit"):
        boxes(tall, (4, 4, 1), "none")


def test_a_full_bin_is_filled():
    """27 cubes fill a bin of 3 x 3 x 3 exactly, and the 28th needs another: both proved."""
    full = boxes([(1, 1, 1)] * 27, (3, 3, 3)).solve(ENOUGH)
    more = boxes([(1, 1, 1)] * 28, (3, 3, 3)).solve(ENOUGH)
    assert (full.bins, full.proved, more.bins, more.proved) == (1, True, 2, True)


def test_rows_are_seen_by_the_bound():
    """Boxes too wide to stand side by side are bounded by the rows they must form."""
    outcome = boxes([(3, 3, 3)] * 5, (4, 4, 7), "none").solve(ENOUGH)
    assert (outcome.lower_bound, outcome.bound_by, outcome.bins) == (3, "rows", 3)


def test_weight_limits_a_bin():
    """Small heavy boxes are packed by weight."""
    outcome = boxes([(1, 1, 1)] * 6, weights=[3] * 6, capacity=7).solve(ENOUGH)
    assert (outcome.bins, outcome.bound_by) == (3, "weight")


@pytest.mark.slow
def test_packings_are_good():
    """200 random boxes fill their bins to at least 80 % on average, and repacking never harms."""
    sizes = np.random.default_rng(1).integers(10, 60, (200, 3))
    case = boxes(sizes, (100, 100, 100))
    first, better = case.solve(Stop.by_work(0)), case.solve(Stop.by_work(2))
    assert better.bins <= first.bins
    assert case.volumes.sum() / (better.bins * 100**3) > 0.8


@pytest.mark.parametrize(
    ("case", "words"),
    [
        (lambda: boxes([(0, 1, 1)]), "1 box has a side that is not positive"),
        (lambda: boxes([(1, 1, 1), (5, 1, 1)]), "no way to fit into a bin .the first is item 2"),
        (lambda: boxes([(1, 1, 1)], box=(4, 0, 4)), "a height, a width and a length"),
        (lambda: boxes([(1, 1, 1)], turns="some"), "turns must be one of"),
        (lambda: boxes([(1, 1, 1)], weights=[2]), "heavier than a bin"),
        (lambda: boxes([(1, 1, 1)], weights=[0, 0]), "every box needs a weight"),
    ],
)
def test_impossible_boxes(case, words):
    """What cannot be packed is refused, with the place of the first box."""
    with pytest.raises(InputError, match=words):
        case()
