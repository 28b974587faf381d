"""What published rows show of known values: permuted columns, shares, and evidence put together."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from datetime import datetime

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import voile
from voile.disclosure.evidence import IntervalEvidence, Labels
from voile.release.reading import People, PublishedRows, Sightings, exact_labels_as_one
from voile.release.recounting import _seconds
from voile.table.opening import published_rows
from voile_testing.plugin import examples
from voile_tests.releases import described, promised


def published_of(
    columns, *, permuted=(), kind="permutation-within-clusters", roles=None, method=()
):
    """Published rows made by hand; all columns but the group are quasi-identifiers."""
    frame = pl.DataFrame(columns)
    known = tuple(name for name in frame.columns if name != "group")
    release = described(
        table=published_rows(frame),
        method={"name": "by hand", "decision": {"permuted": list(permuted)}, **dict(method)},
        guarantee=promised(kind, {}, "as stated"),
        roles=roles or {"quasi_identifiers": known},
        release_id="0" * 32,
        publishable=True,
    )
    return PublishedRows.of(release)


def log_weights(sightings, targets):
    """The weights of all published rows for all targets, by row."""
    every = slice(0, targets)
    total = sum(seen.log_weights(every) for seen in sightings.evidence)
    return total[:, sightings.place]


def chance_of_multiset(values, prior):
    """How probable it is to draw these values, in any order, one after the other."""
    orders = set(itertools.permutations(values))
    return len(orders) * math.prod(prior[value] for value in values)


@settings(max_examples=examples(60))
@given(st.data())
def test_permuted_values_are_weighed_by_bayes_rule(data):
    """The chance of what each group holds, given that a row of it is the target's, by definition.

    Values of two columns are independent draws with any law; between the rows of a target the law
    makes no difference.
    """
    rows = data.draw(st.integers(1, 7))
    of_rows = st.lists(st.integers(0, 2), min_size=rows, max_size=rows)
    group, u, b, c = (data.draw(of_rows) for _ in range(4))
    published = published_of({"group": group, "u": u, "b": b, "c": c}, permuted=["b", "c"])
    person = {name: data.draw(st.integers(0, 2)) for name in "ubc"}
    prior = {name: dict(enumerate(data.draw(st.permutations([0.2, 0.3, 0.5])))) for name in "bc"}

    expected = []
    for row in range(rows):
        weight = float(u[row] == person["u"])
        for name, shown in (("b", b), ("c", c)):
            values = [shown[i] for i in range(rows) if group[i] == group[row]]
            if person[name] not in values:
                weight = 0.0
                break
            values.remove(person[name])
            with_others = chance_of_multiset(values, prior[name])
            unaware = chance_of_multiset([*values, person[name]], prior[name])
            weight *= with_others / unaware
        expected.append(weight)
    people = People(pl.DataFrame({name: [value] for name, value in person.items()}))
    sightings = Sightings.of(published, people, ["u", "b", "c"], np.arange(1))
    found = np.exp(log_weights(sightings, 1))[0]
    assert (found.sum() > 0) == (sum(expected) > 0)
    if sum(expected):
        assert found / found.sum() == pytest.approx(np.array(expected) / sum(expected))


def test_between_people_a_rare_value_fits_its_group_the_better():
    """The share in the group over the share in the release: 1/2 over 1/4, and 1/2 over 3/4."""
    published = published_of({"group": [1, 1, 2, 2], "b": ["x", "y", "y", "y"]}, permuted=["b"])
    people = People(pl.DataFrame({"b": ["x", "y", "z", None]}))
    sightings = Sightings.of(published, people, ["b"], np.arange(4))
    assert len(sightings.rows) == 2
    found = np.exp(log_weights(sightings, 4))
    assert found[:, [0, 2]] == pytest.approx(np.array([[2, 0], [2 / 3, 4 / 3], [0, 0], [0, 0]]))


def test_which_value_stands_in_a_row_of_its_group_makes_no_difference():
    """Two arrangements of a permuted column are read alike, and differ once nothing is permuted."""
    people = People(pl.DataFrame({"u": [1, 2], "b": [1, 2]}))

    def read(b, permuted):
        published = published_of({"group": [1, 1], "u": [1, 2], "b": b}, permuted=permuted)
        sightings = Sightings.of(published, people, ["u", "b"], np.arange(2))
        return log_weights(sightings, 2).tolist()

    assert read([1, 2], ["b"]) == read([2, 1], ["b"])
    assert read([1, 2], []) != read([2, 1], [])


def test_the_sensitive_column_of_ke_anonymity_is_permuted():
    """The release need not say so: it is what the guarantee means."""
    columns = {"group": [1, 1], "u": [1, 2], "s": [1, 2]}
    roles = {"quasi_identifiers": ("u",), "sensitive": ("s",)}
    assert published_of(columns, kind="ke-anonymity", roles=roles).permuted == {"s"}
    assert published_of(columns, kind="k-anonymity", roles=roles).permuted == frozenset()


def test_permuted_columns_need_their_groups():
    """A release whose values are permuted within groups that nobody numbers cannot be made."""
    with pytest.raises(ValueError, match="no groups are stated"):
        published_of({"b": [1, 2]}, permuted=["b"])


@settings(max_examples=examples(60))
@given(st.data())
def test_shares_are_those_of_rows_or_of_their_groups(data):
    """Of a column that stays, over the rows that show a sighting; else over their groups."""
    rows = data.draw(st.integers(1, 8))
    of_rows = st.lists(st.integers(0, 2), min_size=rows, max_size=rows)
    group, u, s = (data.draw(of_rows) for _ in range(3))
    permuted = data.draw(st.sampled_from([[], ["s"], ["s", "u"]]))
    by_group = data.draw(st.booleans())
    published = published_of({"group": group, "u": u, "s": s}, permuted=permuted)
    people = People(pl.DataFrame({"u": [0, 1]}))
    sightings = Sightings.of(published, people, ["u"], np.arange(2), by_group=by_group)
    apart = len({(u[i] if "u" not in permuted else 0, group[i]) for i in range(rows)})
    expected = apart if by_group or "u" in permuted else len(set(u))
    assert len(sightings.rows) == expected
    values, shares = published.shares(sightings, "s")
    shares = shares.toarray()
    assert list(values.texts) == [str(value) for value in sorted(set(s))]
    for sighting in range(len(sightings.rows)):
        seen = [row for row in range(rows) if sightings.place[row] == sighting]
        for i, text in enumerate(values.texts):
            chances = []
            for row in seen:
                alike = (
                    [row] if not permuted else [r for r in range(rows) if group[r] == group[row]]
                )
                chances.append(np.mean([s[r] == int(text) for r in alike]))
            assert shares[sighting, i] == pytest.approx(np.mean(chances))


@settings(max_examples=examples(40))
@given(st.data())
def test_columns_of_texts_are_compared_as_one(data):
    """Joined labels fit where all of them do; missing texts are texts of their own."""
    targets, rows, columns = (data.draw(st.integers(1, 5)) for _ in range(3))
    text = st.sampled_from(["a", "b", None])
    labels = [
        Labels.of(
            [data.draw(st.lists(text, min_size=targets, max_size=targets))],
            data.draw(st.lists(text, min_size=rows, max_size=rows)),
        )
        for _ in range(columns)
    ]
    together = np.logical_and.reduce([label.covers(slice(0, targets)) for label in labels])
    joined = exact_labels_as_one(labels)
    assert np.array_equal(joined.covers(slice(0, targets)), together)
    assert np.array_equal(joined.fits_some_row(), together.any(axis=1))
    assert np.array_equal(joined.fits_some_target(np.arange(targets)), together.any(axis=0))


def test_a_text_that_may_stand_for_anything_is_never_ruled_out():
    """Short lists of those who fit keep the rows and the targets that wild texts fit."""
    labels = Labels.of([["a", "b"]], ["c", "*"], {"*"})
    assert not labels.is_exact
    assert labels.covers(slice(0, 2)).tolist() == [[False, True], [False, True]]
    assert labels.fits_some_row().tolist() == [True, True]
    assert labels.fits_some_target(slice(0, 1)).tolist() == [False, True]


def test_some_sightings_are_read_like_all():
    """A part of the sightings has the evidence of the whole, also if permuted or noisy."""
    clusters = [{"scale": 2.0, "half_width": 4.0}, {"scale": 5.0, "half_width": 9.0}]
    noisy = published_of(
        {
            "u": [1, 2, 1, 2],
            "w": [5.0, 8, 20, 9],
            "w.low": [1.0, 4, 11, 0],
            "w.high": [9.0, 12, 29, 18],
        },
        method={"decision": {"columns": {"w": {"step": 1.0, "clusters": clusters}}}},
    )
    permuted = published_of(
        {"group": [1, 2, 3, 3], "u": [1, 1, 2, 2], "w": [5, 6, 7, 8]}, permuted=["w"]
    )
    people = People(pl.DataFrame({"u": [1, 2, 1], "w": [6, 7, 8]}))
    for published in (noisy, permuted):
        whole = Sightings.of(published, people, ["u", "w"], np.arange(3))
        assert len(whole.evidence) == 2
        chosen = np.array([2, 0])
        part = whole.only(chosen)
        for one, other in zip(whole.evidence, part.evidence, strict=True):
            every = one.log_weights(slice(0, 3))
            assert np.array_equal(other.log_weights(slice(0, 3)), every[:, chosen])
            assert np.array_equal(one.log_weights(np.array([2, 0])), every[[2, 0]])
        assert part.rows.tolist() == whole.rows[chosen].tolist()
        back = {2: 0, 0: 1}
        assert part.place.tolist() == [back.get(place, -1) for place in whole.place.tolist()]


def test_ranges_of_a_declared_order_hold_the_texts_between():
    """``C to A`` holds B; a text alone holds itself; what the order lacks fits nowhere."""
    roles = {"ranking": ("grade",)}
    orders = {"orders": {"grade": ["D", "C", "B", "A"]}}
    shown = {"grade": ["C to A", "B", "D to C"]}
    published = published_of(shown, kind="ranking", roles=roles, method=orders)
    plan = voile.Plan(
        roles=voile.Roles(ranking=("grade",)),
        columns={"grade": voile.ColumnPlan(order=("D", "C", "B", "A"))},
    )
    people = People(pl.DataFrame({"grade": ["A", "B", "C", "E"]}), plan)
    sightings = Sightings.of(published, people, ["grade"], np.arange(4))
    fits = np.isfinite(log_weights(sightings, 4))
    assert fits.tolist() == [
        [True, False, False],
        [True, True, False],
        [True, False, True],
        [False, False, False],
    ]


def test_people_are_known_by_what_they_are_ranked_by():
    """A ranking supposes that its ranking attributes are known, beside quasi-identifiers."""
    roles = {"quasi_identifiers": ("town",), "ranking": ("math.low", "math.high")}
    columns = {"town": ["Oslo"], "math.low": [1], "math.high": [3]}
    published = published_of(columns, kind="ranking", roles=roles)
    people = People(pl.DataFrame({"math": [2], "town": ["Oslo"]}))
    assert published.known_columns(people, None, None) == ("town", "math")
    assert published.known_columns(people, None, "town") == ("math",)


def test_missing_numbers_are_covered_by_missing_ones():
    """Or by anything where groups that mix show it so."""
    low = high = np.array([np.nan, 3.0])
    known = np.array([np.nan, 3.0, 4.0])
    plain, mixed = (
        IntervalEvidence(known, low, high, missing_is_anything=m) for m in (False, True)
    )
    every = slice(0, 3)
    assert plain.covers(every).tolist() == [[True, False], [False, True], [False, False]]
    assert mixed.covers(every).tolist() == [[True, False], [True, True], [True, False]]


def test_categories_of_what_somebody_knows_are_texts():
    """However a data frame stores them, they compare as the texts of a file do."""
    ages = pl.Series("age", ["30", None, "40"], dtype=pl.Categorical)
    frame = pl.DataFrame([ages, pl.Series("sex", ["f", "m", "f"], dtype=pl.Enum(["f", "m"]))])
    for plan in (None, voile.Plan(voile.Roles(quasi_identifiers=("age", "sex")))):
        people = People(frame, plan)
        assert people.column("age").equals(pl.Series("age", ["30", None, "40"]))
        assert people.column("sex").equals(pl.Series("sex", ["f", "m", "f"]))


def test_a_release_shows_the_columns_that_its_disclosure_is_about():
    """One that is not there and one that nobody speaks of are named."""
    release = published_of({"group": [1, 1], "age": [30, 40]}).release
    with pytest.raises(ValueError, match="lacks 'age', though its disclosure speaks of it"):
        replace(release, table=published_rows(pl.DataFrame({"group": [1, 1]})))
    more = pl.DataFrame({"group": [1], "age": [30], "zip": [1]})
    with pytest.raises(ValueError, match="nothing says how 'zip' came about"):
        replace(release, table=published_rows(more))


def test_times_of_reports_are_seconds_however_they_are_written():
    """Texts, moments, milliseconds and seconds; a text that is no time is none."""
    texts = pl.Series(["2024-01-01 00:00:10", "soon"])
    moments = pl.Series([datetime(2024, 1, 1, 0, 0, 10), None])
    numbers = pl.Series([1_704_067_210, None])
    for written in (texts, moments, numbers, numbers * 1000):
        assert _seconds(written).to_list() == [1_704_067_210.0, None]
