"""The frontier of studies: what no other beats in both risk and loss."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile.attack.protocol import Estimate
from voile.study.frontier import (
    FrontierRisk,
    _loss_of,
    _risk_of,
    frontier,
    most_common_loss,
    usual_risk,
)
from voile_base.errors import InputError
from voile_tests.report.records import attack, measurement, slim

COORDINATES = st.integers(0, 5).map(float)


def beaten(name, places):
    """Whether another has less loss and no more risk, or no more loss and clearly less risk."""
    risk, loss = places[name]
    return any(
        (other_loss < loss and other.value <= risk.value)
        or (other_loss <= loss and other.value < risk.value and not tied(other, risk))
        for other, other_loss in places.values()
    )


def tied(one, other):
    """Whether the square-and-add interval of the difference holds 0."""
    if one.value < other.value:
        one, other = other, one
    reach = ((one.value - one.low) ** 2 + (other.high - other.value) ** 2) ** 0.5
    return one.value - other.value - reach <= 0


RISKS = st.tuples(COORDINATES, st.sampled_from([0.0, 0.5, 1.5])).map(
    lambda pair: FrontierRisk(pair[0], pair[0] - pair[1], pair[0] + pair[1])
)


@given(st.lists(st.tuples(RISKS, COORDINATES), max_size=12))
def test_frontier_is_what_nobody_beats(points):
    """The frontier is what comparing every pair leaves, by ascending risk; ties stand together."""
    places = {f"p{i}": place for i, place in enumerate(points)}
    found = frontier(places)
    assert set(found) == {name for name in places if not beaten(name, places)}
    risks = [places[name][0].value for name in found]
    assert risks == sorted(risks)


@given(st.lists(st.tuples(COORDINATES, COORDINATES), max_size=12))
def test_counted_risks_are_compared_as_they_are(points):
    """Without intervals, what is beaten has another that is no worse in both and better in one."""
    places = {f"p{i}": (FrontierRisk.exactly(risk), loss) for i, (risk, loss) in enumerate(points)}
    assert set(frontier(places)) == {
        f"p{i}"
        for i, (risk, loss) in enumerate(points)
        if not any(r <= risk and held <= loss and (r, held) != (risk, loss) for r, held in points)
    }


def test_a_difference_within_the_interval_is_a_tie():
    """Of 1,000 targets, 2.1 % and 2.4 % are tied, 2.1 % and 6 % are not; counts never are."""
    few, more, many = (
        FrontierRisk(one.value, one.low, one.high)
        for one in (Estimate.of_total(found, 1000) for found in (21, 24, 60))
    )
    assert few.is_tied_with(more)
    assert more.is_tied_with(few)
    assert not few.is_tied_with(many)
    assert not many.is_tied_with(few)
    assert not FrontierRisk.exactly(0.021).is_tied_with(FrontierRisk.exactly(0.024))
    assert FrontierRisk.exactly(0.021).is_tied_with(FrontierRisk.exactly(0.021))
    alike = {"first": (few, 0.3), "second": (more, 0.3), "third": (many, 0.3)}
    assert frontier(alike) == ("first", "second")


def test_only_the_ends_that_face_each_other_count_for_a_tie():
    """How far the lower risk reaches up, and the higher one down, as of independent estimates."""
    less, more = FrontierRisk(0.2, 0.0, 0.22), FrontierRisk(0.3, 0.28, 0.6)
    assert not less.is_tied_with(more)
    assert not more.is_tied_with(less)
    assert FrontierRisk(0.2, 0.19, 0.28).is_tied_with(FrontierRisk(0.3, 0.23, 0.31))
    assert not FrontierRisk(0.2, 0.19, 0.26).is_tied_with(FrontierRisk(0.3, 0.24, 0.31))


def record(attacks=(), utility=()):
    """A record of attacks (name, success, baseline) and measures (name, value, better)."""
    return slim(
        attacks=[attack(name, success, baseline) for name, success, baseline in attacks],
        utility=[measurement(name, value, better=better) for name, value, better in utility],
    )


def test_measures_of_risk():
    """Gain puts attacks with different baselines on one scale; worst and a name read success."""
    found = record([("easy", 0.8, 0.75), ("hard", 0.4, 0.1), ("sure", 1.0, 1.0)])
    assert _risk_of(found, "worst").value == 1.0
    hard = _risk_of(found, "hard")
    assert hard.value == 0.4
    assert hard.low < 0.4 < hard.high
    gain = _risk_of(found, "gain")
    assert gain.value == pytest.approx((0.4 - 0.1) / 0.9)
    assert gain.low == pytest.approx((hard.low - 0.1) / 0.9)
    assert _risk_of(record([("unlucky", 0.2, 0.5)]), "gain").value == 0
    assert _risk_of(found, "other") is None
    assert _risk_of(record(), "gain") is None


@pytest.mark.parametrize(
    "lacking",
    [{"success": {"value": None, "low": 0.0, "high": 1.0}}, {"baseline": None}, {"targets": 0}],
)
def test_a_figure_that_is_missing_is_no_safety(lacking):
    """A study that lacks a figure has no risk: what is not known is not taken for 0."""
    whole = record([("easy", 0.8, 0.75), ("hard", 0.4, 0.1)])
    hard = {**whole.attacks[1], **lacking}
    broken = replace(whole, attacks=(whole.attacks[0], hard))
    assert [_risk_of(broken, risk) for risk in ("gain", "worst", "hard")] == [None] * 3
    assert _risk_of(broken, "easy").value == 0.8
    assert _risk_of(replace(whole, attacks=({**hard, "attack": "easy"},)), "gain") is None


def test_the_usual_risk_tells_studies_apart():
    """The prosecutor's where all studies have it and it differs, and else the gain."""
    five, ten = (record([("prosecutor", risk, 0.01), ("skew", 0.5, 0.1)]) for risk in (0.2, 0.1))
    assert usual_risk([five, ten]) == usual_risk([ten]) == "prosecutor"
    assert usual_risk([ten, ten]) == usual_risk([five, record([("skew", 0.5, 0.1)])]) == "gain"


def test_the_risk_of_the_worst_person_is_that_of_all():
    """Where every person was tried; the worst of some that were drawn bounds nobody's risk."""
    counted = slim(attacks=(attack("prosecutor", 0.05, exact=True),))
    drawn = slim(attacks=(attack("prosecutor", 0.05),))
    assert _risk_of(counted, "worst-person") == FrontierRisk.exactly(0.2)
    assert _risk_of(drawn, "worst-person") is None
    assert _risk_of(slim(attacks=(attack("skewness", 0.5, exact=True),)), "worst-person") is None


def test_measure_of_loss():
    """The loss is what most studies have, or what is asked for; a wrong name is met with a hint."""
    records = [
        record(utility=[("penalty", 0.5, "lower"), ("accuracy", 0.8, "higher")]),
        record(utility=[("penalty", None, "lower"), ("accuracy", 0.7, "higher")]),
    ]
    assert most_common_loss(records) == ("accuracy", "higher")
    assert most_common_loss(records, "penalty") == ("penalty", "lower")
    assert most_common_loss([record()]) == ("", "lower")
    both = [("penalty", 0.5, "lower"), ("pair-total-variation", 0.1, "lower")]
    assert most_common_loss([record(utility=both)])[0] == "pair-total-variation"
    assert most_common_loss([record(utility=both), records[0]])[0] == "penalty"
    moved = [*both, ("trip-displacement", 400.0, "lower")]
    assert most_common_loss([record(utility=moved)])[0] == "trip-displacement"
    late = record(utility=[*moved, ("trip-arrival", 0.3, "lower")])
    assert most_common_loss([late])[0] == "trip-arrival"
    assert most_common_loss([late, record(utility=moved)])[0] == "trip-displacement"
    assert most_common_loss([late, record(utility=both)])[0] == "pair-total-variation"
    assert [_loss_of(one, "penalty") for one in records] == [0.5, None]
    with pytest.raises(InputError, match=r"no study has the measure 'acuracy'; did you mean 'acc"):
        most_common_loss(records, "acuracy")
