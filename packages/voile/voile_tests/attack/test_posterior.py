"""Probabilities of rows and of people by Bayes' rule, and the drawing of targets."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voile.attack import posterior
from voile.attack.joining import Owners
from voile.attack.posterior import (
    Candidates,
    Crowd,
    _SampledColumn,
    draw_rows,
    draw_targets,
    near_weights,
    owner_posteriors,
    plain_weights,
    posteriors,
    rows_of_people,
    sightings_near,
    worst_and_typical,
)
from voile.disclosure.foreign import Perturbed
from voile.release.reading import People, PublishedRows, Sightings
from voile_base.errors import InputError
from voile_base.randomness import Randomness
from voile_testing.plugin import examples
from voile_tests.attack.by_definition import release_of

KNOWN = ("town", "job")


def seen(data, least=1):
    """Drawn people and rows of two columns, one of them perhaps permuted within groups."""
    counts = st.integers(least, 7)
    people, rows = data.draw(counts), data.draw(counts)

    def column(count, values):
        return data.draw(st.lists(st.sampled_from(values), min_size=count, max_size=count))

    shown = {"group": column(rows, (1, 2)), "town": column(rows, "ab"), "job": column(rows, "xyz")}
    known = pl.DataFrame({"town": column(people, "ab"), "job": column(people, "xyz")})
    permuted = data.draw(st.sampled_from([(), ("job",)]))
    release = release_of(shown, known=KNOWN, permuted=permuted)
    return PublishedRows.of(release), People(known)


def weight(published, person, row):
    """How well one row fits one person: as stated in ``release.reading``, by a loop over rows."""
    rows = published.frame.to_dicts()
    if rows[row]["town"] != person["town"]:
        return 0.0
    if not published.permuted:
        return float(rows[row]["job"] == person["job"])
    jobs = [one["job"] for one in rows if one["group"] == rows[row]["group"]]
    usual = [one["job"] for one in rows].count(person["job"]) / len(rows)
    return jobs.count(person["job"]) / len(jobs) / usual if usual else 0.0


def all_weights(sightings, which, weights):
    """Weights of all published rows, from those of the sightings at some places."""
    every = np.zeros((len(weights), len(sightings.rows)))
    every[:, which] = weights
    return every[:, sightings.place]


@pytest.mark.slow
@settings(max_examples=examples(80))
@given(st.data())
def test_rows_and_people_are_weighed_by_bayes_rule(data):
    """Weights of all pairs by definition, normalized over rows or over people, in chunks or not."""
    published, people = seen(data)
    persons = people.frame.to_dicts()
    rows = range(published.frame.height)
    table = np.array([[weight(published, person, row) for row in rows] for person in persons])
    pairs = data.draw(st.sampled_from([1, 5, 1000]))
    sightings = Sightings.of(published, people, KNOWN, np.arange(len(persons)))

    found = np.zeros_like(table)
    for chunk, which, weights in posteriors(sightings, len(persons), pairs=pairs):
        fits = table[chunk].any(axis=1).astype(float)
        assert weights @ sightings.rows[which] == pytest.approx(fits)
        found[chunk] = all_weights(sightings, which, weights)
    total = table.sum(axis=1, keepdims=True)
    assert found == pytest.approx(table / np.where(total > 0, total, 1))

    for chunk, weights in plain_weights(sightings, len(persons), pairs):
        assert weights[:, sightings.place] == pytest.approx(table[chunk])
    for chunk, which, weights in near_weights(sightings, len(persons), pairs):
        assert all_weights(sightings, which, weights) == pytest.approx(table[chunk])

    mean = table.mean(axis=0)
    informed = table / np.where(mean > 0, mean, 1)
    total = informed.sum(axis=1, keepdims=True)
    for chunk, which, weights in posteriors(sightings, len(persons), population=True, pairs=pairs):
        expected = (informed / np.where(total > 0, total, 1))[chunk]
        assert all_weights(sightings, which, weights) == pytest.approx(expected)

    crowd = Crowd.of(people, KNOWN)
    sightings = Sightings.of(published, people, KNOWN, crowd.first)
    every = np.zeros((len(crowd.count), len(sightings.rows)))
    for chunk, who, weights in owner_posteriors(sightings, crowd.count, pairs):
        every[who[:, None], np.arange(chunk.start, chunk.stop)] = weights
    total = table.sum(axis=0)
    found = every[crowd.number][:, sightings.place]
    assert found == pytest.approx(table / np.where(total > 0, total, 1))


@given(st.data())
def test_owners_fit_their_rows_and_are_drawn_with_their_probabilities(data):
    """Nobody who does not fit is ever drawn, and nobody is left out where somebody fits."""
    published, people = seen(data)
    persons, rows = people.frame.to_dicts(), np.arange(published.frame.height)
    key = Randomness.seeded(data.draw(st.integers(0, 99))).key("owners")
    owners = Owners.drawn(published, people, rows, key)
    for row, owner in zip(rows, owners.person, strict=True):
        fits = [weight(published, person, row) > 0 for person in persons]
        assert fits[owner] if owner >= 0 else not any(fits)


def test_owners_are_drawn_by_how_well_they_fit():
    """4,000 equal rows of one town are owned in turns by all who fit, and by nobody else."""
    release = release_of({"town": ["a"] * 4000}, known=("town",))
    people = People(pl.DataFrame({"town": ["b", "a", "a"], "born": [1, 2, 3]}))
    shown = release_of(
        {"group": [1] * 2000 + [2] * 2000, "born": [2] * 2000 + [3] * 1000 + [2] * 1000},
        known=("born",),
        permuted=("born",),
    )
    key = Randomness.seeded(5).key("owners")
    rows = np.arange(4000)
    plain = Owners.drawn(PublishedRows.of(release), people, rows, key).person
    assert np.bincount(plain).tolist() == [0, 2000, 2000]  # two fit alike, and take turns
    born = Owners.drawn(PublishedRows.of(shown), people, rows, key).person
    # Born 2: weights 1 / (3/4) and (1/2) / (3/4); born 3: 0 and (1/2) / (1/4).
    assert (born[:2000] == 1).all()
    expected = 2000 * (2 / 3) / (2 / 3 + 2)
    assert abs((born[2000:] == 1).sum() - expected) < 4 * np.sqrt(2000 * 0.25 * 0.75)


def noisy(draws, rows, people):
    """Rows and people of a town, a grade and a number with noise."""
    towns, grades = draws.integers(0, 4, rows), draws.integers(0, 30, rows)
    release = release_of(
        {"town": towns, "grade": grades, "pay": draws.normal(100, 30, rows).round()},
        known=("town", "grade", "pay"),
    )
    columns = {**release.disclosure.columns, "pay": Perturbed(scale=10.0)}
    disclosure = release.disclosure.model_copy(update={"columns": columns})
    crowd = pl.DataFrame(
        {
            "town": draws.integers(0, 4, people),
            "grade": draws.integers(0, 30, people),
            "pay": draws.normal(100, 30, people).round(),
        }
    )
    return PublishedRows.of(replace(release, disclosure=disclosure)), People(crowd)


def test_who_fits_is_told_of_no_more_pairs_at_a_time_than_stay_in_the_caches(monkeypatch):
    """Rows are found by 512 pairs at a time, and they are those found by all at once."""
    published, people = noisy(np.random.default_rng(4), 300, 200)
    names, rows = ("town", "grade", "pay"), np.array([3, 70, 3, 251])

    def found() -> list[np.ndarray]:
        near = sightings_near(published, people, names, rows[:2])
        return [Candidates.of(published, people, names, rows).there, near.place]

    whole, asked, bits_of = found(), [], _SampledColumn.bits_of

    def counted(column: _SampledColumn, some: np.ndarray) -> np.ndarray:
        asked.append(len(some) * len(column.cell))
        return bits_of(column, some)

    monkeypatch.setattr(posterior, "_BITS", 512)
    monkeypatch.setattr(_SampledColumn, "bits_of", counted)
    for one, other in zip(whole, found(), strict=True):
        np.testing.assert_array_equal(one, other)
    assert 0 < max(asked) <= 512


def test_beside_noise_only_those_are_weighed_who_fit_in_other_columns():
    """Owners' weights, and those of rows, are those of all people and of all rows; few are left."""
    published, people = noisy(np.random.default_rng(4), 300, 200)
    names, rows = ("town", "grade", "pay"), np.array([3, 70, 3, 251])
    found = Candidates.of(published, people, names, rows)
    assert 0 < len(found.there) < 40
    every = Sightings.of(published, people, names, np.arange(200))
    expected = np.zeros((200, 300))
    for chunk, which, weights in posteriors(every, 200):
        expected[chunk] = all_weights(every, which, weights)[:, :300]
    plain = np.concatenate([weights for _, weights in plain_weights(every, 200)])[:, every.place]
    near = np.zeros((len(found.crowd.count), len(found.sightings.rows)))
    for chunk, who, weights in owner_posteriors(found.sightings, found.crowd.count):
        near[who[:, None], np.arange(chunk.start, chunk.stop)] = weights
    own = np.zeros((200, 4))
    own[found.there] = near[found.crowd.number][:, found.sightings.place]
    total = plain[:, rows].sum(axis=0)
    np.testing.assert_allclose(own, plain[:, rows] / np.where(total > 0, total, 1), atol=1e-12)
    some = np.array([5, 8, 199])
    sightings = sightings_near(published, people, names, some)
    assert 0 < (sightings.place >= 0).sum() < 60
    for chunk, which, weights in posteriors(sightings, 3):
        held = np.zeros((3, len(sightings.rows) + 1))
        held[chunk.start : chunk.stop, which] = weights
        np.testing.assert_allclose(held[:, sightings.place], expected[some], atol=1e-12)


def test_people_are_numbered_by_what_tells_them_apart():
    """One place and the number of each different person; missing values are values."""
    crowd = Crowd.of(People(pl.DataFrame({"a": [2, None, 2, 1], "b": list("xyxx")})), ["a", "b"])
    assert crowd.count[crowd.number].tolist() == [2, 1, 2, 1]
    assert crowd.number[crowd.first].tolist() == [0, 1, 2]
    assert crowd.first[crowd.number].tolist() == [0, 1, 0, 3]


def test_targets_and_rows_are_drawn_by_what_they_hold():
    """The same ones in any order; all where no number is given; others with another seed."""
    frame = pl.DataFrame(
        {"town": [str(i % 7) for i in range(90)], "job": [i // 2 for i in range(90)]}
    )
    backwards = frame.reverse()

    def drawn(rows, seed, count=20):
        places = draw_targets(People(rows), KNOWN, count, Randomness.seeded(seed))
        assert places.tolist() == sorted(places.tolist())
        return sorted(rows[places].rows())

    def picked(rows, seed, count=20):
        published = PublishedRows.of(release_of(rows, known=KNOWN))
        return sorted(rows[draw_rows(published, count, Randomness.seeded(seed))].rows())

    for draw in (drawn, picked):
        assert len(draw(frame, 1)) == 20
        assert draw(frame, 1) == draw(backwards, 1)
        assert draw(frame, 1) != draw(frame, 2)
        assert draw(frame, 1, None) == sorted(frame.rows())


def test_a_link_tells_rows_apart_or_is_none():
    """Rows by their link, -1 where not published; a column that repeats links nobody."""
    published = PublishedRows.of(release_of({"id": [5, 3, 4], "x": [1, 1, 2]}, known=("x",)))
    people = People(pl.DataFrame({"id": [3, 4, 9], "x": [1, 2, 3]}))
    assert rows_of_people(published, people, "id", np.arange(3)).tolist() == [1, 2, -1]
    assert Owners.linked(published, people, np.array([0, 1, 2]), "id").person.tolist() == [-1, 0, 1]
    with pytest.raises(InputError, match="does not tell rows apart"):
        rows_of_people(published, people, "x", np.arange(3))


def test_worst_and_typical_targets():
    """The largest, and the lower of both medians."""
    assert worst_and_typical(np.array([0.2, 0.9, 0.1, 0.4])) == (1, 0)
    assert worst_and_typical(np.array([0.5])) == (0, 0)
