"""What every bound hierarchy promises, whatever its kind: nested levels, shares, missing values."""

from __future__ import annotations

import datetime
from bisect import bisect_right
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile.schema.hierarchy.declared import Hierarchy, plain
from voile.schema.hierarchy.generalized import BoundHierarchy, DistinctValues
from voile.schema.hierarchy.ranges import PERIODS, Dates, Intervals, Prefixes
from voile.schema.hierarchy.taxonomy import Taxonomy
from voile.schema.numbers import ExactNumbers


def distinct(kind: str, values: Sequence[Any], missing: bool) -> DistinctValues:
    """Distinct values, with a missing one or without."""
    first = [None] if missing else []
    if kind == "number":
        numbers = ExactNumbers.of([Decimal(number) for number in sorted(values)])
        return DistinctValues(kind, (*first, *numbers.texts()), numbers)
    return DistinctValues(kind, (*first, *sorted(values)))


def ascending(elements: st.SearchStrategy[Any], least: int = 1, most: int = 4):
    """Strictly ascending lists."""
    lists = st.lists(elements, min_size=least, max_size=most, unique=True)
    return lists.map(sorted).map(tuple)


@st.composite
def taxonomies(draw) -> tuple[Hierarchy, DistinctValues, None]:
    """A list of values whose levels merge groups at random, and some of the values."""
    leaves = draw(st.lists(st.text("abc", min_size=1, max_size=3), min_size=1, unique=True))
    columns = [list(range(len(leaves)))]
    for _ in range(draw(st.integers(1, 3))):
        size = max(3, len(leaves))
        merged = draw(st.lists(st.integers(0, 2), min_size=size, max_size=size))
        columns.append([merged[group] for group in columns[-1]])
    paths = tuple(
        (leaf, *(f"level {level}, {column[place]}" for level, column in enumerate(columns[1:])))
        for place, leaf in enumerate(leaves)
    )
    some = draw(st.lists(st.sampled_from(leaves), unique=True))
    return Taxonomy(paths), distinct("text", some, draw(st.booleans())), None


@st.composite
def trees(draw) -> tuple[Hierarchy, DistinctValues, None]:
    """Nested tables with branches of unequal depth, and all their values."""
    leaves: list[str] = []

    def branch(depth: int) -> Any:
        if depth == 0 or draw(st.booleans()):
            listed = [f"leaf {len(leaves) + i}" for i in range(draw(st.integers(1, 3)))]
            leaves.extend(listed)
            return listed
        return {f"{len(leaves)} at {depth}, {i}": branch(depth - 1) for i in range(2)}

    tree = {"a": branch(2), "b": branch(2), "alone": []}
    values = distinct("text", [*leaves, "alone"], draw(st.booleans()))
    return Taxonomy.of_tree(tree), values, None


@st.composite
def intervals(draw) -> tuple[Hierarchy, DistinctValues, tuple[Decimal, Decimal] | None]:
    """Widths that nest or do not, in units or continuous, with bounds or without."""
    unit = draw(st.sampled_from([Decimal(1), Decimal("0.5"), Decimal("0.01"), None, Decimal(0)]))
    step = unit or Decimal(1)
    widths = draw(ascending(st.integers(1, 40)).map(lambda ws: tuple(w * step for w in ws)))
    origin = draw(st.integers(-50, 50)) * step
    steps = draw(st.lists(st.integers(-300, 300), max_size=30, unique=True))
    finer = Decimal("0.3") if unit == 0 else step
    numbers = [origin + n * finer for n in steps]
    bounds = None
    if draw(st.booleans()):
        slack = draw(st.integers(1, 30))
        bounds = (min(numbers, default=origin) - slack, max(numbers, default=origin) + slack)
    values = distinct("number", numbers, draw(st.booleans()))
    return Intervals(widths, origin, unit), values, bounds


@st.composite
def prefixes(draw) -> tuple[Hierarchy, DistinctValues, None]:
    """Texts of any length, those with asterisks too."""
    kept = draw(ascending(st.integers(1, 6)))[::-1]
    some = draw(st.lists(st.text("01*", max_size=7), unique=True))
    return Prefixes(kept), distinct("text", some, draw(st.booleans())), None


@st.composite
def periods(draw, shortest: int) -> tuple[str, ...]:
    """Longer and longer periods; no other lies behind a week."""
    chosen = [PERIODS[i] for i in draw(ascending(st.integers(shortest, len(PERIODS) - 1)))]
    longer = chosen[-1] != "week"
    return tuple(period for period in chosen if not (longer and period == "week"))


@st.composite
def dates(draw) -> tuple[Hierarchy, DistinctValues, None]:
    """Days or times, in some of the periods."""
    days = st.datetimes(datetime.datetime(1000, 1, 1), datetime.datetime(9999, 12, 31))
    some = draw(st.lists(days, unique=True))
    missing = draw(st.booleans())
    if draw(st.booleans()):
        chosen = draw(periods(2))
        return (
            Dates(chosen),
            distinct("date", {d.date().isoformat() for d in some}, missing),
            None,
        )
    return (
        Dates(draw(periods(0))),
        distinct("datetime", {d.isoformat() for d in some}, missing),
        None,
    )


KINDS = st.one_of(taxonomies(), trees(), intervals(), prefixes(), dates())


def shown(bound: BoundHierarchy, level: int, value: int) -> Any:
    """What a distinct value shows at a level: itself, a text, an interval, or nothing."""
    values, code = bound.values[level], int(bound.codes[level][value])
    if values.missing and code == 0:
        return None
    if values.texts is not None:
        return values.texts[code]
    if values.low is not None and values.high is not None:
        place = code - values.missing
        return values.low.decimals()[place], values.high.decimals()[place]
    return ("itself", value)


@given(KINDS)
def test_levels_are_nested_and_cover_every_value(kind):
    """Values that agree at one level agree at all above; every value has a code; none is idle."""
    hierarchy, values, bounds = kind
    bound = hierarchy.bind("x", values, bounds)
    assert bound.column == "x"
    assert bound.height >= 1
    for level, (codes, generalized) in enumerate(zip(bound.codes, bound.values, strict=True)):
        assert codes.dtype == np.int32
        assert codes.shape == (len(values),)
        assert set(codes.tolist()) <= set(range(len(generalized)))
        if len(values):
            assert set(codes.tolist()) == set(range(len(generalized)))
        if level:
            pairs = set(zip(bound.codes[level - 1].tolist(), codes.tolist(), strict=True))
            assert len(pairs) == len({lower for lower, _ in pairs})


@given(KINDS)
def test_shares_lie_above_0_and_grow(kind):
    """A share is above 0 and at most 1; what a value becomes covers at least what it was."""
    hierarchy, values, bounds = kind
    bound = hierarchy.bind("x", values, bounds)
    previous = np.zeros(len(values))
    for codes, generalized in zip(bound.codes, bound.values, strict=True):
        assert ((generalized.share > 0) & (generalized.share <= 1)).all()
        covered = generalized.share[codes]
        assert (covered >= previous * (1 - 1e-12)).all()
        previous = covered


@given(KINDS)
def test_level_0_tells_all_values_apart(kind):
    """The lowest level leaves every value as it is."""
    hierarchy, values, bounds = kind
    bound = hierarchy.bind("x", values, bounds)
    assert bound.codes[0].tolist() == list(range(len(values)))
    assert bound.values[0].texts is None
    assert bound.values[0].low is None


@given(KINDS)
def test_a_missing_value_is_a_value_of_its_own_below_the_top(kind):
    """It shares its code with none, unless the top level is one value for the whole domain."""
    hierarchy, values, bounds = kind
    bound = hierarchy.bind("x", values, bounds)
    for level, generalized in enumerate(bound.values):
        assert generalized.missing == (values.missing and shown(bound, level, 0) is None)
        if generalized.missing:
            assert (bound.codes[level][1:] > 0).all()
            assert bound.codes[level][0] == 0
        elif values.missing:
            assert level == bound.height
            assert len(generalized) == 1
            assert generalized.share.tolist() == [1]
            assert generalized.texts is None or None not in generalized.texts


@given(KINDS)
def test_texts_and_intervals_are_distinct(kind):
    """Two generalized values of one level never read alike."""
    hierarchy, values, bounds = kind
    bound = hierarchy.bind("x", values, bounds)
    for level, codes in enumerate(bound.codes):
        read = {int(code): shown(bound, level, value) for value, code in enumerate(codes)}
        assert len(set(read.values())) == len(read)


@given(KINDS, st.data())
def test_what_a_value_becomes_does_not_depend_on_the_others(kind, data):
    """Borders, groups and shares are public: fewer distinct values change none of them."""
    hierarchy, values, bounds = kind
    first = 1 if values.missing else 0
    kept = data.draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values)))
    places = [place for place, keep in enumerate(kept) if keep]
    texts = tuple(values.texts[place] for place in places)
    present = np.array([place - first for place in places if place >= first], dtype=np.int64)
    numbers = None if values.numbers is None else values.numbers[present]
    all_bound = hierarchy.bind("x", values, bounds)
    some_bound = hierarchy.bind("x", DistinctValues(values.kind, texts, numbers), bounds)
    assert all_bound.height == some_bound.height
    for level in range(1, all_bound.height + 1):
        for value, place in enumerate(places):
            assert shown(some_bound, level, value) == shown(all_bound, level, place)
            shares = [
                bound.values[level].share[bound.codes[level][i]]
                for bound, i in ((some_bound, value), (all_bound, place))
            ]
            assert shares[0] == pytest.approx(shares[1], rel=1e-12)


@given(KINDS)
def test_equal_declarations_are_equal(kind):
    """A hierarchy is a value: equal to its copy, and usable as a key."""
    hierarchy, _, _ = kind
    copies = {
        Taxonomy: lambda: Taxonomy(hierarchy.paths, "elsewhere"),
        Intervals: lambda: Intervals(hierarchy.widths, hierarchy.origin, hierarchy.unit),
        Prefixes: lambda: Prefixes(hierarchy.kept),
        Dates: lambda: Dates(hierarchy.periods),
    }
    copy = copies[type(hierarchy)]()
    assert copy == hierarchy
    assert hash(copy) == hash(hierarchy)


@given(intervals())
def test_intervals_contain_their_values_and_no_others(case):
    """A value lies in its interval; intervals of a level meet only where unit = 0."""
    hierarchy, values, bounds = case
    bound = hierarchy.bind("x", values, bounds)
    numbers = values.numbers.decimals()
    for level in range(1, bound.height + 1):
        generalized = bound.values[level]
        if generalized.low is None:
            assert (level, bounds, set(generalized.texts) - {None}) == (bound.height, None, {"*"})
            continue
        lows, highs = generalized.low.decimals(), generalized.high.decimals()
        codes = bound.codes[level][values.missing :] - int(generalized.missing)
        for number, code in zip(numbers, codes.tolist(), strict=True):
            assert lows[code] <= number <= highs[code]
            if hierarchy.unit == 0 and number == highs[code]:
                assert number == bounds[1], "a border belongs to the interval above"
        for high, following in zip(highs, lows[1:], strict=False):
            assert high <= following if hierarchy.unit == 0 else high < following
        if bounds is not None:
            assert all(
                bounds[0] <= low <= high <= bounds[1] for low, high in zip(lows, highs, strict=True)
            )


@given(intervals())
def test_borders_move_down_to_the_level_below(case):
    """Against brute force: all borders in reach listed, each moved down to one that is below."""
    hierarchy, values, bounds = case
    bound = hierarchy.bind("x", values, bounds)
    numbers = values.numbers.decimals()
    if not numbers:
        return
    borders: list[Decimal] = []
    for level, width in enumerate(hierarchy.widths, 1):
        raw = [hierarchy.origin + j * width for j in range(-800, 800)]
        if borders:  # those beyond the reach of the level below have nowhere to move
            moved = [borders[bisect_right(borders, b) - 1] for b in raw if b >= borders[0]]
            borders = sorted(set(moved))
        else:
            borders = raw
        if level >= bound.height:
            break
        for number, place in zip(numbers, range(values.missing, len(values)), strict=True):
            above = bisect_right(borders, number)
            low, end = borders[above - 1], borders[above]
            if bounds is not None:
                low = max(low, bounds[0])
            told = shown(bound, level, place)
            assert told[0] == low
            high = end - (1 if hierarchy.unit is None else hierarchy.unit)
            assert told[1] == (high if bounds is None else min(high, bounds[1]))


@given(st.booleans(), st.lists(st.integers(-5, 5), unique=True), st.booleans())
def test_plain_hierarchies_have_two_levels(missing, numbers, bounded):
    """The values, then everything: the bounds where there are any."""
    bounds = (Decimal(-5), Decimal(5)) if bounded else None
    bound = plain("x", distinct("number", numbers, missing), bounds)
    assert bound.height == 1
    assert len(bound.values[1]) == 1
    if numbers or missing:
        assert shown(bound, 1, 0) == (bounds or "*")
    assert bound.values[1].share.tolist() == [1]
