"""PRAM: probabilities of draws, margins, corrected answers, persons, bad input."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from pydantic import ValidationError

import voile
from voile.attack.registry import attack_named
from voile.disclosure.masked import Randomized
from voile.publish.pram import PRAM
from voile.query.answer import answer
from voile.release.check import check_release, column_breaches
from voile.table.opening import published_rows
from voile_base.errors import InfeasibleError, PlanError, QueryError
from voile_tests.publish.drawn_cases import FAR, people, published, shown

PEOPLE = people()
TOWNS = {
    "Bonn": {"Bonn": 0.6, "Kiel": 0.4},
    "Kiel": {"Kiel": 1.0},
    "Ulm": {"Ulm": 0.5, "Bonn": 0.5},
}


def _seen(publication, column="town"):
    """Rows by own and shown value."""
    pairs = (
        shown(publication).select("row", column).join(PEOPLE.select("row", own=column), on="row")
    )
    return {(own, drawn): rows for own, drawn, rows in pairs.group_by("own", column).len().rows()}


def _statistic(seen, stated):
    """The largest distance of a share from its stated probability, in standard deviations."""
    worst = 0.0
    for own, row in zip(stated.values, stated.probabilities(), strict=True):
        total = sum(seen.get((own, other), 0) for other in stated.values)
        for other, chance in zip(stated.values, row, strict=True):
            apart = abs(seen.get((own, other), 0) - total * chance)
            deviation = np.sqrt(total * chance * (1 - chance))
            worst = max(worst, apart / deviation if deviation else apart)
    return worst


@pytest.mark.parametrize(
    "publisher",
    [PRAM(columns=("town",), retain=0.6), PRAM(columns=("town",), matrices={"town": TOWNS})],
)
def test_draws_have_the_stated_probabilities_and_others_are_rejected(publisher):
    """Of 4,000 rows each share is within 5 deviations (false alarm: 6 in a million).

    A matrix that is 0.1 off is not.
    """
    made = published(publisher)
    stated = made.release.disclosure.columns["town"]
    seen = _seen(made)
    assert _statistic(seen, stated) < FAR
    other = PRAM(columns=("town",), retain=0.7)
    wrong = published(other).release.disclosure.columns["town"]
    assert _statistic(seen, wrong) > FAR


def test_an_invariant_matrix_leaves_the_margin_as_it_is():
    """V P = v in exact numbers up to rounding, within each stratum; and a given one does not."""
    made = published(PRAM(columns=("town",), retain=0.5, strata=("sex",)))
    stated = made.release.disclosure.columns["town"]
    assert isinstance(stated, Randomized)
    assert [stratum.at for stratum in stated.strata] == [("f",), ("m",)]
    for number, stratum in enumerate(stated.strata):
        own = PEOPLE.filter(pl.col("sex") == stratum.at[0])["town"].value_counts().sort("town")
        share = own["count"].to_numpy() / own["count"].sum()
        assert share @ stated.probabilities(number) == pytest.approx(share, abs=1e-12)
    given = published(PRAM(columns=("town",), matrices={"town": TOWNS}))
    own = PEOPLE["town"].value_counts().sort("town")["count"].to_numpy()
    moved = own @ given.release.disclosure.columns["town"].probabilities()
    assert np.abs(moved - own).max() > 100


def test_columns_are_drawn_independently():
    """Whether one column changed tells nothing of the other, within 5 deviations."""
    rows = shown(published(PRAM(columns=("town", "sex"), retain=0.5)))
    changed = [(rows[name] != PEOPLE[name]).to_numpy() for name in ("town", "sex")]
    # Which value stays likelier depends on the value, so that rows of one kind are compared.
    kind = ((PEOPLE["town"] == "Bonn") & (PEOPLE["sex"] == "f")).to_numpy()
    correlation = np.corrcoef(changed[0][kind], changed[1][kind])[0, 1]
    assert abs(correlation) < FAR / np.sqrt(kind.sum())


@pytest.mark.slow
def test_answers_are_unbiased_and_intervals_cover():
    """Of 60 releases the 95 % intervals of four queries cover 49 times or more (false alarm.

    1 in a thousand each); what readers would count without the matrix is far off.
    """
    asked = [
        ("COUNT(*)", "town = 'Ulm' AND age > 60", pl.len()),
        ("SUM(pay)", "town = 'Ulm'", pl.col("pay").sum()),
        ("AVG(pay)", "sex = 'm' AND town = 'Ulm'", pl.col("pay").mean()),
        ("COUNT(*)", "sex = 'f' OR town = 'Kiel'", pl.len()),
    ]
    old = PEOPLE.with_columns(
        town=pl.when(pl.col("age") > 60).then(pl.lit("Ulm")).otherwise("town")
    )
    context = pl.SQLContext(people=old)
    truth = [
        context.execute(f"SELECT {call} FROM people WHERE {where}").collect().item()
        for call, where, _ in asked
    ]
    covered, estimates = np.zeros(len(asked)), []
    for seed in range(60):
        publisher = PRAM(columns=("town", "sex"), retain=0.6)
        release = published(publisher, old, seed).release
        found = [answer(release, call, where) for call, where, _ in asked]
        estimates.append([one.estimate for one in found])
        covered += [one.lower <= own <= one.upper for one, own in zip(found, truth, strict=True)]
    assert (covered >= 49).all(), covered
    mean, spread = np.mean(estimates, axis=0), np.std(estimates, axis=0)
    assert (np.abs(mean - truth) < FAR * spread / np.sqrt(60)).all()
    naive = shown(published(PRAM(columns=("town", "sex"), retain=0.6), old))
    plain = naive.filter((pl.col("town") == "Ulm") & (pl.col("age") > 60)).height
    assert abs(plain - truth[0]) > FAR * spread[0]


@pytest.mark.slow
def test_answers_within_strata_take_the_matrix_of_each():
    """The mean of 40 estimates is the truth within 5 of its deviations."""
    truth = PEOPLE.filter((pl.col("town") == "Ulm") & (pl.col("sex") == "m")).height
    found = [
        answer(
            published(PRAM(columns=("town",), retain=0.4, strata=("sex",)), seed=seed).release,
            "COUNT(*)",
            "town = 'Ulm' AND sex = 'm'",
        ).estimate
        for seed in range(40)
    ]
    assert abs(np.mean(found) - truth) < FAR * np.std(found) / np.sqrt(40)


@pytest.mark.parametrize(
    ("call", "where", "said"),
    [
        ("MAX(pay)", None, "may have been redrawn"),
        ("SUM(town)", None, "is not a column of numbers"),
        ("COUNT(*)", "nowhere = 1", "no column 'nowhere'"),
    ],
)
def test_what_has_no_answer_is_refused(call, where, said):
    """With the reason."""
    release = published(PRAM(columns=("town",))).release
    with pytest.raises(QueryError, match=said):
        answer(release, call, where)


def test_a_matrix_without_an_inverse_answers_nothing():
    """Both values are shown alike: nothing follows, and the column is named."""
    half = {"f": {"f": 0.5, "m": 0.5}, "m": {"f": 0.5, "m": 0.5}}
    release = published(PRAM(columns=("sex",), matrices={"sex": half})).release
    with pytest.raises(QueryError, match="'sex' has no inverse"):
        answer(release, "COUNT(*)", "sex = 'f'")


def test_rows_of_a_person_that_agree_show_the_same():
    """So that nobody averages over them; another value of the same person is drawn for itself."""
    made = published(PRAM(columns=("sex",), retain=0.2), person="who")
    rows = shown(made).join(PEOPLE.select("row", "who", own="sex"), on="row")
    by = rows.group_by("who", "own").agg(pl.col("sex").n_unique(), pl.len())
    assert by["sex"].max() == 1 < by["len"].max()
    assert (rows["sex"] != rows["own"]).any()
    (claim,) = made.release.guarantee.claims
    assert claim.unit == "person"
    assert answer(made.release, "COUNT(*)", "sex = 'f'").lower is None


def test_epsilon_is_the_largest_ratio_of_the_matrix():
    """By brute force; a stated one that is smaller is told."""
    release = published(PRAM(columns=("town",), retain=0.6)).release
    check_release(release)
    (claim,) = release.guarantee.claims
    matrix = release.disclosure.columns["town"].probabilities()
    worst = max(
        np.log(matrix[a, b] / matrix[c, b]) for a in range(3) for b in range(3) for c in range(3)
    )
    assert claim.epsilon["town"] == pytest.approx(worst, abs=2e-6)
    less = claim.model_copy(update={"epsilon": {"town": worst / 2}})
    assert "tells more than epsilon" in next(less.breaches(release))
    none = claim.model_copy(update={"epsilon": {"age": 1.0}})
    assert "no matrix is stated" in next(none.breaches(release))


def test_values_that_were_not_drawn_by_the_matrix_are_told():
    """A planted file that shows one value throughout contradicts its matrix, and no right one."""
    release = published(PRAM(columns=("town",), matrices={"town": TOWNS})).release
    assert list(column_breaches(release)) == []
    frame = pl.DataFrame(release.table.to_arrow())
    planted = replace(release, table=published_rows(frame.with_columns(town=pl.lit("Ulm"))))
    told = list(column_breaches(planted))
    assert "column 'town' shows 'Ulm' more often than its matrix allows" in told
    strange = replace(release, table=published_rows(frame.with_columns(town=pl.lit("Rom"))))
    assert "column 'town' shows 'Rom', which is no value of its matrix" in list(
        column_breaches(strange)
    )


def test_a_weak_matrix_is_found_by_attacks():
    """Who knows age, sex and town finds more people where nearly nothing is redrawn."""
    frame = people(600)
    plan = voile.Plan(voile.Roles(quasi_identifiers=("age", "sex", "town"), sensitive=("pay",)))
    found = {}
    for retain in (0.1, 0.999):
        release = PRAM(columns=("sex", "town"), retain=retain).publish(
            voile.open_frame(frame, plan), voile.Randomness.seeded(1)
        )
        result = attack_named("identification", targets=None).run(release, frame, plan)
        found[retain] = result.success.value
    assert found[0.999] > 1.5 * found[0.1]


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"retain": 1}, "retain must be"),
        ({"columns": ("toun",)}, r"columns names the column 'toun'.*did you mean 'town'"),
        ({"columns": ("town",), "strata": ("town",)}, "name different columns"),
        (
            {"matrices": {"sex": {"f": {"f": 0.9}, "m": {"m": 1.0}}}},
            r"matrices\.sex\.f adds up to 0\.9; the probabilities",
        ),
        ({"matrices": {"sex": {"f": {"f": 0.9, "x": 0.1}}}}, "shows 'x', which has no row"),
        ({"matrices": {"sex": {"f": {"f": 1.0}}}}, "no row for 1 of the 2 values"),
        (
            {"matrices": {"sex": {v: {v: 1.0} for v in "fmx"}}},
            "has the value 'x', which no row of the table has; leave it out",
        ),
        ({"columns": ("pay",)}, "at most 100,000 are published; recode the column"),
    ],
)
def test_bad_parameters_are_refused_with_a_way_out(parameters, said):
    """By key and column; private values are not named."""
    with pytest.raises(PlanError, match=said):
        published(PRAM(**parameters))


def test_a_column_of_one_value_and_small_strata_are_refused():
    """Nothing would hide either."""
    with pytest.raises(PlanError, match="'sex' has one value in all rows"):
        published(PRAM(columns=("sex",)), PEOPLE.with_columns(sex=pl.lit("f")))
    with pytest.raises(InfeasibleError, match=r"strata of 'age' have fewer than 10 rows.*leave"):
        published(PRAM(columns=("sex",), strata=("age",)), people(200))


def test_a_matrix_that_does_not_add_up_is_no_statement():
    """A release that states one is refused when it is read."""
    with pytest.raises(ValidationError, match="add up to 1"):
        Randomized(values=("f", "m"), matrix=((0.5, 0.4), (0.5, 0.5)))
