"""Estimates over levels of hierarchies: against one large regression, with variances that hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from voile.dp.discrete_noise import DiscreteGaussian, DiscreteLaplace
from voile.dp.marginals import LAPLACE_KURTOSIS, NoisyMarginals, NoisyTable
from voile_base.randomness import Randomness

SIZES = {"town": 6, "sex": 2, "age": 4}
EVEN = {"town": [np.array([0, 0, 1, 1, 2, 2])], "age": [np.array([0, 1, 0, 1])]}
UNEVEN = {
    "town": [np.array([0, 1, 1, 1, 2, 2]), np.array([0, 0, 0, 0, 1, 1])],
    "age": [np.array([0, 1, 1, 1])],
}
TABLES = [
    (("town", "age"), (0, 0), 98),
    (("town", "age"), (1, 0), 32),
    (("town", "age"), (1, 1), 18),
    (("age", "sex"), (0, 0), 50),
    (("town",), (0,), 8),
    ((), (), 72),
]
JOINT = np.random.default_rng(5).integers(0, 60, tuple(SIZES.values()))


def summed(joint, groups, columns, levels):
    """The counts of a table, by brute force."""
    level_of = dict(zip(columns, levels, strict=True))
    for axis, name in enumerate(SIZES):
        codes = np.arange(SIZES[name])
        if name not in level_of:
            codes = np.zeros(SIZES[name], dtype=int)
        elif level_of[name]:
            codes = groups[name][level_of[name] - 1]
        onto = (codes == np.arange(codes.max() + 1)[:, np.newaxis]).astype(float)
        joint = np.moveaxis(np.tensordot(onto, joint, axes=(1, axis)), 0, axis)
    order = [name for name in SIZES if name in columns]
    joint = joint.reshape([s for s, name in zip(joint.shape, SIZES, strict=True) if name in order])
    return np.transpose(joint, [order.index(name) for name in columns])


def marginals_of(groups, counts=None, *, excess=0.0):
    """All tables, by true counts unless others are given."""
    labels = {name: tuple(map(str, range(size))) for name, size in SIZES.items()}
    tables = tuple(
        NoisyTable(columns, summed(JOINT, groups, columns, levels), float(v), levels)
        for columns, levels, v in TABLES
    )
    if counts is not None:
        tables = tuple(replace(t, counts=c) for t, c in zip(tables, counts, strict=True))
    return NoisyMarginals(labels, tables, excess, groups)


def coefficients(groups, columns, levels):
    """What each cell of each table counts in each estimated cell, shape (estimated, measured)."""
    shapes = [table.counts.shape for table in marginals_of(groups).tables]
    found = []
    for number, shape in enumerate(shapes):
        for cell in np.ndindex(*shape):
            counts = [np.zeros(other) for other in shapes]
            counts[number][cell] = 1
            found.append(marginals_of(groups, counts).cells(columns, levels).ravel())
    return np.array(found).T


def deviations(groups):
    """The standard deviation of each measured cell."""
    tables = marginals_of(groups).tables
    return np.concatenate([np.full(t.counts.size, t.variance**0.5) for t in tables])


@pytest.mark.parametrize(("columns", "levels"), [table[:2] for table in TABLES])
def test_estimates_of_even_levels_are_those_of_generalized_least_squares(columns, levels):
    """All cells of a table equal those of one large regression, to nine digits."""
    units = np.eye(JOINT.size).reshape(JOINT.size, *JOINT.shape)
    design = np.concatenate(
        [[summed(one, EVEN, *table[:2]).ravel() for one in units] for table in TABLES], axis=1
    ).T
    scaled = np.linalg.pinv(design / deviations(EVEN)[:, np.newaxis]) / deviations(EVEN)
    wanted = np.array([summed(one, EVEN, columns, levels).ravel() for one in units]).T @ scaled
    assert coefficients(EVEN, columns, levels) == pytest.approx(wanted, abs=1e-9)


@pytest.mark.parametrize("groups", [EVEN, UNEVEN], ids=["even", "uneven"])
@pytest.mark.parametrize(("columns", "levels"), [table[:2] for table in TABLES])
def test_estimates_are_right_on_average_and_vary_as_they_say(groups, columns, levels):
    """True counts give true cells; half widths are those of the coefficients, of every cell."""
    cells = marginals_of(groups).cells(columns, levels)
    assert cells == pytest.approx(summed(JOINT, groups, columns, levels), rel=1e-9)
    own = (coefficients(groups, columns, levels) * deviations(groups)) ** 2
    margins = marginals_of(groups).margins(columns, levels, 0.95)
    assert margins.ravel() == pytest.approx(1.959964 * own.sum(axis=1) ** 0.5, rel=1e-6)


@pytest.mark.parametrize("groups", [EVEN, UNEVEN], ids=["even", "uneven"])
def test_levels_add_up(groups):
    """Whatever is measured, cells sum to the groups that they are in, to nine digits."""
    dice = np.random.default_rng(6)
    counts = [dice.integers(-50, 90, t.counts.shape) for t in marginals_of(groups).tables]
    marginals = marginals_of(groups, counts)
    cells = marginals.cells(("town", "age"), (0, 0))
    for level, codes in enumerate(groups["town"], 1):
        sums = np.array([cells[codes == group].sum() for group in range(codes.max() + 1)])
        assert marginals.cells(("town",), (level,)) == pytest.approx(sums, rel=1e-9)
        both = marginals.cells(("age", "town"), (1, level)).sum(axis=0)
        assert both == pytest.approx(sums, rel=1e-9)
    assert marginals.cells((), ()) == pytest.approx(cells.sum(), rel=1e-9)


DRAWS = 4000


def noise_of(groups, *, pure):
    """So many draws of the noise of all tables, of the package's own samplers, by measured cell."""
    drawn = []
    for number, table in enumerate(marginals_of(groups).tables):
        count, key = DRAWS * table.counts.size, Randomness.seeded(8).key(f"table {number}")
        words = np.arange(count, dtype=np.uint64)
        if pure:
            noise = DiscreteLaplace((int((table.variance / 2) ** 0.5),))
            own = noise.draw(np.zeros(count, dtype=np.int64), words, key)
        else:
            own = DiscreteGaussian(int(table.variance)).draw(words, key)
        drawn.append(own.reshape(DRAWS, -1))
    return np.concatenate(drawn, axis=1)


@pytest.mark.slow
@pytest.mark.parametrize("pure", [False, True], ids=["Gaussian", "Laplace"])
def test_intervals_cover_what_they_say_at_every_level(pure):
    """95 % intervals cover 94 to 96 % of the cells of each table at each level.

    Of 4,000 draws of all noise; the standard error is .34 percentage points at most, and two of
    these are allowed beyond the ends.  Margins of half the width fail at every level.
    """
    drawn, room = noise_of(UNEVEN, pure=pure), 2 * (0.05 * 0.95 / DRAWS) ** 0.5
    marginals = marginals_of(UNEVEN, excess=LAPLACE_KURTOSIS if pure else 0.0)
    for columns, levels, _ in TABLES:
        errors = np.abs(drawn @ coefficients(UNEVEN, columns, levels).T)
        margins = marginals.margins(columns, levels, 0.95).ravel()
        covered = (errors <= margins).mean()
        assert 0.94 - room <= covered <= 0.96 + room, (columns, levels, covered)
        assert (errors <= margins / 2).mean() < 0.9


def test_the_example_of_four_levels():
    """Five areas by 40 cells, rho 1/64: at most 10.5 at each level, where leaves alone add up.

    The even share of four tables is 128, a deviation of 11.3; the total of leaves has 87.
    """
    labels = {"area": tuple("abcde"), "cell": tuple(map(str, range(40)))}
    tables = tuple(
        NoisyTable(columns, np.zeros([len(labels[n]) for n in columns], dtype=int), 128.0)
        for columns in (("area", "cell"), ("cell",), ("area",), ())
    )
    marginals = NoisyMarginals(labels, tables, 0.0)
    for table in tables:
        margin = marginals.margins(table.columns, (0,) * len(table.columns), 0.95)
        assert margin.max() / 1.959964 <= 10.5


@pytest.mark.parametrize("pure", [False, True], ids=["Gaussian", "Laplace"])
@pytest.mark.parametrize("variance", [0.5, 2.0, 30.4, 72.0, 40_000.0])
def test_the_interval_of_a_single_count_is_the_least_that_holds(variance, pure):
    """By the probabilities of whole numbers, which a quantile between two of them misses."""
    sizes = np.arange(-20_000, 20_001)
    if pure:
        chances = np.exp(-np.abs(sizes) * (2 / variance) ** 0.5)
    else:
        chances = np.exp(-(sizes.astype(float) ** 2) / (2 * variance))
    chances /= chances.sum()
    kurtosis = LAPLACE_KURTOSIS if pure else 0.0
    one = NoisyTable(("a",), np.zeros(2, dtype=int), variance)
    marginals = NoisyMarginals({"a": ("x", "y")}, (one,), kurtosis)
    for confidence in (0.5, 0.9, 0.95, 0.99):
        (radius,) = set(marginals.margins(("a",), (0,), confidence).tolist())
        assert radius == int(radius)
        assert chances[np.abs(sizes) <= radius].sum() >= confidence - 1e-9
        assert chances[np.abs(sizes) <= radius - 1].sum() < confidence
