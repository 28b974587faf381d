"""How wrong the answers of a release are."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from voile.release.reading import People, PublishedRows
from voile.utility import aggregate_queries
from voile.utility.aggregate_queries import RelativeQueryError, _random_queries
from voile.utility.covering import OriginalDomain, columns_in_role, coverings
from voile_base.errors import InputError
from voile_base.randomness import Randomness
from voile_testing.plugin import some_slow
from voile_tests.releases import promised
from voile_tests.utility.adult_samples import over_samples
from voile_tests.utility.releases import (
    METHODS,
    PEOPLE,
    as_it_is,
    nothing_left,
    published,
    shown_by_hand,
)

BOTH_ROLES = {"quasi_identifiers": ("a",), "sensitive": ("y",)}


def both(comparison, **parameters):
    """The median and the mean."""
    return RelativeQueryError(**parameters).measure(comparison)


def domain_of(values) -> OriginalDomain:
    """A column of an original."""
    return OriginalDomain.of(People(pl.DataFrame({"a": values})), "a")


def drawn(*domains, sensitive=(), count=1, queries=200, selectivity=0.1, seed=1):
    """Queries that each ask for ``count`` columns."""
    return _random_queries(
        domains,
        sensitive,
        counts=[count] * queries,
        selectivity=selectivity,
        key=Randomness.seeded(seed).key("queries"),
    )


# --- answers


@pytest.mark.parametrize(
    "method", some_slow(METHODS, {"k-optimize", "clustered-laplace", "mondrian"})
)
@pytest.mark.parametrize(("several", "bits"), [(1, 1 << 28), (10**9, 1 << 28), (10**9, 0)])
def test_rows_that_show_the_same_are_counted_once(method, several, bits, monkeypatch):
    """A large release, or original of rows that all differ, answers as its rows do one by one.

    So it does whether the bits of each value are kept or would be too many.
    """
    measures = both(published(method), queries=60)
    monkeypatch.setattr(aggregate_queries, "_MOST_BITS", bits)
    monkeypatch.setattr(aggregate_queries, "MOST_ROWS", 10)
    monkeypatch.setattr(aggregate_queries, "_SEVERAL", several)
    counted = aggregate_queries._Table._counted
    by_bits = list[object]()
    monkeypatch.setattr(
        aggregate_queries._Table, "_counted", lambda *it: by_bits.append(it) or counted(*it)
    )
    made = list[object]()
    of_table = aggregate_queries._Cells.of
    monkeypatch.setattr(
        aggregate_queries._Cells, "of", lambda *of: made.append(of_table(*of)) or made[-1]
    )
    for found, expected in zip(both(published(method), queries=60), measures, strict=True):
        assert found.value == pytest.approx(expected.value, rel=1e-9, abs=1e-12)
        assert found.parts == pytest.approx(expected.parts, rel=1e-9, abs=1e-12)
    assert bool(by_bits) == (several > 1)
    assert any(cells is not None for cells in made) == (several == 1)


@pytest.mark.parametrize("method", [name for name in METHODS if name != "dp-generalization"])
def test_answers_are_those_of_rows_spread_one_by_one(method):
    """Brute force over rows and values for releases of every method that publishes all rows."""
    comparison, measure = published(method), RelativeQueryError(queries=12)
    known, sensitive = (
        columns_in_role(comparison, role) for role in ("quasi_identifiers", "sensitive")
    )
    columns = coverings(comparison, [*known, *sensitive])
    queries = _random_queries(
        [columns[name].domain for name in known],
        [columns[name].domain for name in sensitive],
        counts=[1 + number % min(3, len(known)) for number in range(12)],
        selectivity=measure.selectivity,
        key=comparison.randomness.key("utility", measure.name),
    )
    laws = {name: c.shares.toarray()[c.entry] for name, c in columns.items()}
    exact = {name: np.eye(len(c.domain))[c.own] for name, c in columns.items()}
    summed = next((name for name in sensitive if columns[name].points is not None), None)

    def answers(rows, query):
        def matching(predicates):
            return np.prod([rows[name] @ chosen for name, chosen in predicates.items()], axis=0)

        found = {"COUNT": matching(query.counted).sum()}
        if summed is not None:
            weight = matching(query.known)
            numbers = rows[summed] @ columns[summed].points
            found["SUM"] = weight @ numbers
            if weight.sum() > 1e-9:
                found["AVG"] = weight @ numbers / weight.sum()
        return found

    n = len(next(iter(exact.values())))
    whole = {"COUNT": n}
    if summed is not None:
        true_numbers = np.abs(exact[summed] @ columns[summed].points)
        whole |= {"SUM": true_numbers.sum(), "AVG": true_numbers.mean()}
        overall = (laws[summed] @ columns[summed].points).mean()
    errors = []
    for query in queries:
        truth, given = answers(exact, query), answers(laws, query)
        for name, right in truth.items():
            answer = given[name] if summed is None else given.get(name, overall)
            errors.append(abs(answer - right) / max(abs(right), 0.001 * whole[name]))
    median, mean = measure.measure(comparison)
    assert median.value == pytest.approx(np.median(errors), abs=1e-9)
    assert mean.value == pytest.approx(np.mean(errors), abs=1e-9)
    assert median.value > 0 or method == "ranking"


def test_the_original_answers_every_query_rightly():
    """A release of the table as it is has no error in any part."""
    table = PEOPLE.select("work", "since", "age", "salary").to_dict()
    roles = {"quasi_identifiers": ("work", "since", "age"), "sensitive": ("salary",)}
    for found in both(shown_by_hand(table, table, roles=roles)):
        assert found.value == found.untouched == 0
        assert set(found.parts.values()) == {0.0}
        assert len(found.parts) == 9


def test_a_release_that_shows_nothing_is_as_good_as_none():
    """Its errors are those that stand for uselessness."""
    for found in both(nothing_left()):
        assert found.value == pytest.approx(found.useless)
        assert found.useless > 0.2


def test_a_worked_example():
    """Ten rows in two groups of five values each: a query for the least value expects a fifth."""
    shown = {"a.low": [0] * 5 + [5] * 5, "a.high": [4] * 5 + [9] * 5, "y": [10.0] * 10}
    roles = {"quasi_identifiers": ("a.low", "a.high"), "sensitive": ("y",)}
    original = {"a": [0, 0, 1, 3, 4, 5, 5, 7, 7, 9], "y": [10.0] * 10}
    comparison = shown_by_hand(shown, original, roles=roles)
    ((query,),) = [
        _random_queries(
            [coverings(comparison)["a"].domain],
            [coverings(comparison)["y"].domain],
            counts=[1],
            selectivity=0.2,
            key=comparison.randomness.key("utility", "query-error"),
        )
    ]
    values = np.array([0, 1, 3, 4, 5, 7, 9])
    median, _ = both(comparison, queries=1, selectivity=0.2)
    truth = np.isin(original["a"], values[query.known["a"]]).sum() * 10.0
    # Of the line, each value has what is nearer to it than to others.
    widths = np.array([1, 1.5, 1.5, 1, 1.5, 2, 2])
    share = np.where(values < 5, widths / widths[:4].sum(), widths / widths[4:].sum())
    answer = 5 * share[query.known["a"]].sum() * 10.0
    assert median.parts["SUM, 1 quasi-identifier"] == pytest.approx(abs(answer - truth) / truth)
    assert median.parts["AVG, 1 quasi-identifier"] == pytest.approx(0)


@pytest.mark.slow
def test_a_sample_of_stated_rate_is_scaled_up():
    """Every second row at beta = 0.5 gives right sums; without beta they are half of the truth."""
    original = {"a": ["x", "x", "z", "z"] * 10, "y": [1, 1, 2, 2] * 10}
    half = {name: values[::2] for name, values in original.items()}
    plain = shown_by_hand(half, original, roles=BOTH_ROLES)
    sampled = replace(
        plain.published.release, guarantee=promised("by hand", {"beta": 0.5}, "as stated")
    )
    scaled = replace(plain, published=PublishedRows.of(sampled))
    assert both(scaled)[0].value == 0
    assert both(plain)[0].parts["SUM, 1 quasi-identifier"] == pytest.approx(0.5)
    assert both(plain)[0].parts["AVG, 1 quasi-identifier"] == pytest.approx(0)


def test_averages_of_nothing_are_the_average_of_all():
    """No published row has z, of which 2.5 is the truth: the answer is that for all rows, 5 / 3."""
    original = {"a": ["x", "z", "z"], "y": [1.0, 2.0, 3.0]}
    shown = {"a": ["x"] * 3, "y": [1.0, 2.0, 2.0]}
    comparison = shown_by_hand(shown, original, roles=BOTH_ROLES)
    errors = set()
    for seed in range(12):
        (median, _) = both(replace(comparison, randomness=Randomness.seeded(seed)), queries=1)
        errors.add(round(median.parts["AVG, 1 quasi-identifier"], 6))
    assert errors == {round(2 / 3, 6), round(1 / 3, 6)}


def test_missing_numbers_add_nothing():
    """They count neither in a sum nor in an average."""
    table = {"a": ["x"] * 4, "y": [1.0, None, 3.0, None]}
    comparison = shown_by_hand(table, {**table, "y": [1.0, None, 2.0, None]}, roles=BOTH_ROLES)
    median, _ = both(comparison, queries=1)
    # 3 is no value of the original: it stands for the nearest one, 2.
    assert median.parts["SUM, 1 quasi-identifier"] == 0
    assert median.parts["AVG, 1 quasi-identifier"] == 0


@pytest.mark.slow
def test_small_truths_are_bounded_from_below():
    """With sanity = 1 every error is relative to all rows."""
    comparison = nothing_left()
    _, mean = both(comparison)
    _, bounded = both(comparison, sanity=1)
    assert bounded.value < mean.value
    assert bounded.value < 1


@pytest.mark.slow
def test_errors_grow_with_groups(shared_data):
    """Adult, mean of 3 samples of 1,500 rows: k = 2, 25, 300."""
    small, middle, large = over_samples(shared_data, lambda c: both(c)[0].value, (2, 25, 300))
    assert 0 < small < middle < large


@pytest.mark.slow
def test_the_same_randomness_asks_the_same():
    """And another one other things."""
    comparison = published("flash")
    again, other = (replace(comparison, randomness=Randomness.seeded(seed)) for seed in (11, 12))
    assert both(comparison)[1].value == both(again)[1].value != both(other)[1].value


# --- queries


@pytest.mark.parametrize("count", [1, 2, 3])
def test_predicates_have_the_selectivity_that_was_asked_for(count):
    """Uniform independent columns of 1,000 rows, 200 queries: mean share within 10 % of it."""
    draws = np.random.default_rng(3)
    rows = 1000
    tables = [
        draws.permutation(rows),
        [f"t{i}" for i in draws.permutation(rows) // 10],
        draws.permutation(rows) / 7,
    ]
    domains = [
        OriginalDomain.of(People(pl.DataFrame({n: t})), n)
        for n, t in zip("abc", tables, strict=True)
    ]
    shares = []
    for query in drawn(*domains, count=count):
        assert len(query.known) == count
        matching = np.ones(rows, dtype=bool)
        for domain in domains:
            if domain.name in query.known:
                matching &= query.known[domain.name][domain.column.codes]
        shares.append(matching.mean())
    assert np.mean(shares) == pytest.approx(0.1, rel=0.1)


def test_numbers_are_asked_for_in_ranges_and_texts_in_sets():
    """A range has no gap and no missing number; each asks for a value at least."""
    numbers = domain_of([None, *range(50), *[7] * 30])
    gaps = 0
    for query in drawn(numbers):
        chosen = query.known["a"]
        assert chosen.any()
        assert not chosen[0]
        assert np.ptp(np.flatnonzero(chosen)) + 1 == chosen.sum()
    for query in drawn(domain_of([f"t{i:02}" for i in range(50)])):
        chosen = np.flatnonzero(query.known["a"])
        assert len(chosen) == 5
        gaps += int(np.ptp(chosen) + 1 > len(chosen))
    assert gaps > 150


def test_every_value_can_be_asked_for():
    """400 ranges of a tenth reach all of 50 numbers; texts as well."""
    for values in (list(range(50)), [f"t{i}" for i in range(50)]):
        asked = np.any([q.known["a"] for q in drawn(domain_of(values), queries=400)], axis=0)
        assert asked.all()


def test_counts_have_a_sensitive_predicate_and_sums_do_not():
    """As in the source; without a sensitive column they have the same columns."""
    secret = OriginalDomain.of(People(pl.DataFrame({"y": [1, 2, 3]})), "y")
    (query,) = drawn(domain_of([1, 2, 3]), sensitive=[secret], queries=1)
    assert (set(query.known), set(query.counted)) == ({"a"}, {"a", "y"})
    (query,) = drawn(domain_of([1, 2, 3]), queries=1)
    assert set(query.known) == set(query.counted) == {"a"}


def test_releases_without_quasi_identifiers_are_refused():
    """There is nothing to ask for."""
    table = {"y": [1, 2]}
    comparison = shown_by_hand(table, table, roles={"sensitive": ("y",)})
    assert "no quasi-identifier" in str(RelativeQueryError().refusal(comparison))
    assert RelativeQueryError().refusal(as_it_is()) is None


@pytest.mark.parametrize(
    "parameters",
    [{"queries": 0}, {"most": 0}, {"selectivity": 0}, {"selectivity": 1.5}, {"sanity": 0}],
)
def test_parameters_that_cannot_be(parameters):
    """They are refused at once."""
    with pytest.raises(InputError, match="must be"):
        RelativeQueryError(**parameters)
