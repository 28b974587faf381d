"""Queries on synthetic rows: answered from the noisy counts, with intervals that hold."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from math import prod

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

import voile
from voile.cli.query import _query
from voile.dp.discrete_noise import DiscreteGaussian, DiscreteLaplace
from voile.dp.marginals import NoisyMarginals, NoisyTable
from voile.study.run import make_release
from voile_base.errors import QueryError
from voile_base.randomness import Randomness
from voile_tests.publish.dp_synthesis.test_dp_synthesis import people, plan_of

SIZES = {"a": 3, "b": 2, "c": 4}
TABLES = [(n,) for n in SIZES] + list(combinations(SIZES, 2))
VARIANCES = dict(zip(TABLES, (2, 2, 2, 18, 32, 50), strict=True))
JOINT = np.random.default_rng(2).integers(0, 60, tuple(SIZES.values()))


def margin_of(table):
    """The true counts of a table."""
    across = tuple(place for place, name in enumerate(SIZES) if name not in table)
    return JOINT.sum(axis=across)


def marginals_of(counts, *, excess=0.0, stated=1.0):
    """Noisy tables of which variances are stated, right ones by default."""
    labels = {name: tuple(map(str, range(size))) for name, size in SIZES.items()}
    tables = tuple(NoisyTable(t, counts[t], stated * VARIANCES[t]) for t in TABLES)
    return NoisyMarginals(labels, tables, excess)


def design():
    """Which joint cells each measured cell sums up, and the standard deviation of its noise."""
    cells, deviations = [], []
    for table in TABLES:
        places = [list(SIZES).index(name) for name in table]
        for cell in np.ndindex(*(SIZES[name] for name in table)):
            met = np.ones(JOINT.shape, dtype=bool)
            for place, value in zip(places, cell, strict=True):
                met &= np.indices(JOINT.shape)[place] == value
            cells.append(met.ravel())
            deviations.append(VARIANCES[table] ** 0.5)
    return np.array(cells, dtype=float), np.array(deviations)


@pytest.mark.parametrize("columns", [(), ("a",), ("c",), ("a", "b"), ("b", "c")])
def test_estimates_are_those_of_generalized_least_squares(columns):
    """Value, variance and covariance equal those of one large regression, to nine digits."""
    dice = np.random.default_rng(3)
    counts = {t: margin_of(t) + dice.integers(-9, 9, margin_of(t).shape) for t in TABLES}
    cells, deviations = design()
    inverse = np.linalg.pinv(cells / deviations[:, np.newaxis])
    noisy = np.concatenate([counts[t].ravel() for t in TABLES]) / deviations
    shape = tuple(SIZES[name] for name in columns)
    weights = [dice.normal(size=shape), dice.normal(size=shape)]
    order = [name for name in SIZES if name in columns]
    shown = [SIZES[name] if name in order else 1 for name in SIZES]
    asked = [np.broadcast_to(one.reshape(shown), JOINT.shape).ravel() @ inverse for one in weights]
    marginals = marginals_of(counts)
    found = marginals.estimates(columns, weights)
    for one, row in zip(found, asked, strict=True):
        assert one.value == pytest.approx(row @ noisy, rel=1e-9)
        assert one.variance == pytest.approx(row @ row, rel=1e-9)
    assert marginals.covariance(columns, *weights) == pytest.approx(asked[0] @ asked[1], rel=1e-9)


def test_answers_add_up():
    """Cells of a pair sum to those of each column, and these to the total."""
    dice = np.random.default_rng(4)
    marginals = marginals_of({t: dice.integers(0, 90, margin_of(t).shape) for t in TABLES})

    def estimate(columns, weights):
        return marginals.estimates(columns, [weights])[0].value

    total = estimate((), np.ones(()))
    for place in range(3):
        one = np.eye(3)[place]
        alone = estimate(("a",), one)
        assert alone == pytest.approx(estimate(("a", "c"), np.outer(one, np.ones(4))), rel=1e-9)
        assert alone == pytest.approx(estimate(("a", "b"), np.outer(one, np.ones(2))), rel=1e-9)
    assert total == pytest.approx(estimate(("b", "c"), np.ones((2, 4))), rel=1e-9)


QUERIES = {
    "total": [((), np.ones(()))],
    "cells of a column": [(("c",), np.eye(4)[place]) for place in range(4)],
    "half of a column": [(("c",), np.array([1.0, 1, 0, 0])), (("a",), np.array([1.0, 0, 1]))],
    "cells of a pair": [
        (("a", "c"), np.outer(np.eye(3)[x], np.eye(4)[y])) for x in (0, 2) for y in (0, 3)
    ],
    "ranges of a pair": [(("b", "c"), np.outer(np.eye(2)[x], [1.0, 1, 0, 0])) for x in (0, 1)],
    "sums": [(("a",), np.array([5.0, 20, 70])), (("a", "b"), np.outer([5.0, 20, 70], [1, 0]))],
}
DRAWS = 600


def _noisy(*, pure):
    """So many draws of the noise of all tables, of the package's own samplers."""
    drawn = {}
    for number, table in enumerate(TABLES):
        count = DRAWS * prod(SIZES[name] for name in table)
        key = Randomness.seeded(7).key(f"table {number}")
        words = np.arange(count, dtype=np.uint64)
        if pure:
            scale = Fraction(round(1000 * (VARIANCES[table] / 2) ** 0.5), 1000)
            noise = DiscreteLaplace((scale,)).draw(np.zeros(count, dtype=np.int64), words, key)
        else:
            noise = DiscreteGaussian(Fraction(VARIANCES[table])).draw(words, key)
        drawn[table] = noise.reshape(DRAWS, *margin_of(table).shape)
    return drawn


def _coverage(kind, drawn, excess, stated):
    """Which share of the intervals of a kind of query encloses the truth."""
    inside = []
    for columns, weights in QUERIES[kind]:
        names = [name for name in SIZES if name in columns]
        truth = float((weights * margin_of(tuple(names))).sum())
        for draw in range(DRAWS):
            counts = {t: margin_of(t) + drawn[t][draw] for t in TABLES}
            (found,) = marginals_of(counts, excess=excess, stated=stated).estimates(
                columns, [weights]
            )
            inside.append(abs(found.value - truth) <= found.margin(0.95))
    return np.mean(inside)


@pytest.mark.slow
@pytest.mark.parametrize("pure", [False, True], ids=["Gaussian", "Laplace"])
def test_intervals_cover_what_they_say(pure):
    """95 % intervals cover 94 to 96 % of totals, columns, pairs, ranges and sums.

    Each share is of 600 draws of all noise; its standard error is at most .89 percentage points,
    so two of these are allowed beyond the ends.  Stated variances half as large as those of the
    noise fail, for every kind of query.
    """
    drawn = _noisy(pure=pure)
    room = 2 * (0.05 * 0.95 / DRAWS) ** 0.5
    for kind in QUERIES:
        covered = _coverage(kind, drawn, 3.0 if pure else 0.0, 1.0)
        assert 0.94 - room <= covered <= 0.96 + room, (kind, covered)
        wrong = _coverage(kind, drawn, 3.0 if pure else 0.0, 0.5)
        assert wrong < 0.94 - room, (kind, wrong)


@pytest.fixture(scope="module")
def precise(tmp_path_factory):
    """A release with so much budget that its counts are exact."""
    out = tmp_path_factory.mktemp("release") / "out"
    plan = plan_of(nulls="category", rho="500")
    frame = people().with_columns(sex=pl.when(pl.col("age") < 90).then(pl.col("sex")))
    make_release(frame, plan, out, seed=1)
    return frame, out


@pytest.mark.parametrize(
    ("where", "interval"),
    [
        (None, True),
        ("age < 30", True),
        ("age >= 15 AND age <= 59", True),
        ("NOT (age BETWEEN 15 AND 29)", True),
        ("age >= 60 OR sex = 'F'", True),
        ("sex IS NULL", True),
        ("sex <> 'F' AND size IN (2, 3)", True),
        ("size * 2 > 3", True),
        ("upper(sex) = 'M'", True),
        ("age > -(5)", True),
        ("age < 20", False),
        ("age <> 7", False),
        ("age % 15 = 3", False),
        ("age < 30 AND sex = 'F' AND size = 1", False),
    ],
)
def test_counts_are_those_of_the_table(precise, where, interval):
    """By brute force; with an interval where no range is divided and two columns are asked for."""
    frame, out = precise
    truth = frame.sql(f"SELECT COUNT(*) AS n FROM self WHERE {where or 'TRUE'}").item()
    found = voile.answer(voile.read_release(out), "COUNT(*)", where)
    assert (found.lower is not None) is interval
    assert found.estimate == pytest.approx(truth, abs=3 if interval else 250)
    if interval:
        assert found.lower <= truth <= found.upper
        assert found.upper - found.lower <= 4
        assert "confidence interval" in found.source
    else:
        assert "no interval" in found.source
    assert any("too small" in note for note in found.notes)


def test_sums_and_averages_count_middles(precise):
    """Those of ranges, which is said; those of single values are exact."""
    frame, out = precise
    release = voile.read_release(out)
    found = voile.answer(release, "SUM(size)", "sex = 'F'")
    assert found.estimate == pytest.approx(frame.filter(sex="F")["size"].sum(), abs=6)
    assert not any("middle" in note for note in found.notes)
    middles = pl.Series([7.0, 22.0, 44.5, 79.5])
    cell = sum((frame["age"] > end).cast(pl.Int64) for end in (14, 29, 59))
    found = voile.answer(release, "AVG(age)", "size = 1")
    wanted = middles.gather(cell.filter(frame["size"] == 1)).mean()
    assert found.lower <= wanted <= found.upper
    assert found.upper - found.lower < 1
    assert any("middle" in note for note in found.notes)
    assert voile.answer(release, "COUNT(sex)").estimate == pytest.approx(
        frame["sex"].count(), abs=3
    )
    assert voile.answer(release, "AVG(size)", "age < 30 AND sex = 'F'").lower is None


@pytest.mark.slow
def test_averages_have_intervals_that_hold():
    """Of 75 releases at 90 %, between 58 and 74 hold: a false alarm once in 1,000."""
    frame, plan = people(800), plan_of(rho="1/20", rows=2)
    truth = frame.filter(pl.col("sex") == "F")["size"].mean()
    inside = 0
    for seed in range(75):
        release = make_release(frame, plan, None, seed=seed).release
        found = voile.answer(release, "AVG(size)", "sex = 'F'", confidence=0.9)
        inside += found.lower <= truth <= found.upper
    assert 58 <= inside <= 74


@pytest.mark.slow
def test_groups_of_a_hierarchy_are_asked_for_by_their_values():
    """A release says what each group stands for; half of one has no interval."""
    tree = {f"g{i}": [f"v{i}.{j}" for j in range(40)] for i in range(4)}
    columns = {"town": {"tree": tree}, "sex": {"values": ["F", "M"]}}
    frame = pl.DataFrame({"town": ["v0.1", "v1.1", "v1.2"] * 200, "sex": ["F", "M", "F"] * 200})
    release = make_release(frame, plan_of(columns, rho="500"), None, seed=1).release
    names = ", ".join(f"'v1.{j}'" for j in range(40))
    found = voile.answer(release, "COUNT(*)", f"town IN ({names}) AND sex = 'M'")
    assert found.lower <= 200 <= found.upper
    assert voile.answer(release, "COUNT(*)", "town = 'v1.1'").lower is None


def test_what_cannot_be_asked(precise):
    """One row's value, sums of texts, other columns, and a confidence beyond its ends."""
    release = voile.read_release(precise[1])
    for asked, told in (
        ("MAX(age)", "value of one row"),
        ("SUM(sex)", "not a column of numbers"),
        ("COUNT(agee)", "did you mean 'age'"),
    ):
        with pytest.raises(QueryError, match=told):
            voile.answer(release, asked)
    with pytest.raises(QueryError, match="between 0 and 1"):
        voile.answer(release, "COUNT(*)", confidence=95)
    with pytest.raises(QueryError, match="bounds of queries"):
        voile.answer(replace(release, measurements=None), "COUNT(*)")


def test_the_command_says_which_interval_it_is(precise):
    """And that errors computed from synthetic rows are too small; JSON has the same."""
    asked = [f"{precise[1]}", "COUNT(*)", "--where", "age < 30", "--confidence", "0.99"]
    shown = CliRunner().invoke(_query, asked, catch_exceptions=False)
    assert "99 % confidence interval over the noise" in shown.stdout
    assert "computed from the synthetic rows are too small" in shown.stdout
    document = json.loads(CliRunner().invoke(_query, [*asked, "--json"]).stdout)
    assert document["confidence"] == 0.99
    assert document["lower"] <= document["estimate"] <= document["upper"]


@pytest.mark.slow
def test_the_confidence_of_a_release_is_that_of_its_answers(precise):
    """Where none is asked for; the interval is that of the same confidence when asked."""
    frame, _ = precise
    for stated, wanted in (({}, 0.95), ({"confidence": 0.8}, 0.8)):
        release = make_release(frame, plan_of(rho="1/20", **stated), None, seed=1).release
        found = voile.answer(release, "COUNT(*)", "size = 1")
        assert found.confidence == wanted
        assert found == voile.answer(release, "COUNT(*)", "size = 1", confidence=wanted)
