"""Remedies and criteria by hand, on figures that no command need count."""

from __future__ import annotations

import tomllib
from decimal import Decimal
from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from voile.audit.record import COPYING, RE_IDENTIFICATION, ROWS_OF_NOBODY, ROWS_OF_PEOPLE
from voile.policy.checking import _is_narrow, _narrow_text
from voile.policy.choosing import Choice, paragraph_of
from voile.policy.criteria.identifiers import _Cells
from voile.policy.criteria.measured import AttackRate, PrivacyBudget, Utility
from voile.policy.criteria.risks import Copies, ReIdentified, ThreeRisks, WorstOff
from voile.policy.remedies import (
    PlanChange,
    changes_for,
    is_unseen,
    ladder,
    least_k,
    remedies,
    remedy_text,
    untried_text,
)
from voile.policy.ruling import (
    MeasuredFigure,
    Ruling,
    ShownRows,
    Tick,
    Waiver,
    read_ticks,
    read_waivers,
    ticked,
    with_form,
)
from voile.policy.stated import StatedPolicy
from voile.policy.trying import TriedPlan, _shares_rulings, order_of
from voile.release.method_claims import DifferentialPrivacy
from voile.schema.plan import parse_plan
from voile.table.opening import published_rows
from voile_base.errors import InputError


def unmet(
    kind: str, limit: float | None, subject: str = "", why: str = "", **figures: Any
) -> Ruling:
    """A criterion that is not met."""
    return Ruling(kind, kind, passed=False, why=why, limit=limit, subject=subject, **figures)


def found_by(of: str, worst: float, mean: float) -> Any:
    """How surely somebody finds a person's row."""
    return {"risk": RE_IDENTIFICATION, "of": of, "worst": worst, "main": {"value": mean}}


MEAN, WORST, OTHER = "prosecutor", "homogeneity", "membership"
NEAR = {"value": 0.3, "distance": "ordered"}


@pytest.mark.parametrize(
    ("ruling", "given", "changes"),
    [
        (unmet("group-size", 11.0), {"k": 5}, [{"k": 11}]),
        (unmet("group-size", 5.0), {"k": 5}, []),
        (unmet("diversity", 2.5), {"k": 5}, [{"l": 3}]),
        (unmet("closeness", 0.2), {"k": 5}, [{"t": 0.2}]),
        (unmet("attack", 0.1, MEAN), {"k": 5}, [{"k": 10}]),
        (unmet("attack", 0.1, MEAN), {}, [{"k": 10}]),
        (unmet("attack", 0.1, MEAN), {"k": 10}, [{"k": 20}]),
        (unmet("attack", 0.005, MEAN), {"k": 10}, [{"k": 200}]),
        (unmet("attack", 0.004, MEAN), {"k": 10}, [{"k": 20}]),
        (unmet("attack", 0.0, MEAN), {"k": 150}, [{"k": 200}]),
        (unmet("attack", 0.0, MEAN), {"k": 200}, []),
        (unmet("attack", 0.5, WORST), {"k": 5, "l": 2}, [{"l": 3}, {"k": 10}]),
        (unmet("attack", 0.5, WORST), {"k": 5}, [{"l": 2}, {"k": 10}]),
        (unmet("attack", 0.5, WORST), {"l": "many"}, [{"k": 4}]),
        (unmet("attack", 0.6, OTHER), {"k": 5}, [{"k": 10}]),
        (unmet("risk", 0.1, "inference"), {"t": 0.4}, [{"k": 4}, {"t": 0.2}]),
        (unmet("risk", 0.1, "inference"), {}, [{"k": 4}, {"t": 0.3}]),
        (unmet("risk", 0.1, "inference"), {"t": 0}, [{"k": 4}, {"t": 0.3}]),
        (
            unmet("risk", 0.1, "inference"),
            {"t": NEAR},
            [{"k": 4}, {"t": {"value": 0.15, "distance": "ordered"}}],
        ),
        (unmet("closeness", 0.2), {"t": NEAR}, [{"t": {"value": 0.2, "distance": "ordered"}}]),
        (
            unmet("attack", 0.5, WORST),
            {"k": 5, "l": {"value": 2, "kind": "entropy"}},
            [{"l": {"value": 3, "kind": "entropy"}}, {"k": 10}],
        ),
        (unmet("risk", 0.1, "linkability"), {"t": 0.4}, [{"k": 4}]),
        (unmet("privacy-budget", 1.0), {"epsilon": 2}, [{"epsilon": 1.0}]),
        (unmet("privacy-budget", 1.0), {"k": 2}, []),
        (unmet("utility", 0.9), {"k": 5}, [{"k": 2}]),
        (unmet("utility", 0.9), {"k": 4}, [{"k": 2}]),
        (unmet("utility", 0.9), {"k": 3}, []),
        (unmet("copies", 0.0), {"k": 3}, []),
        (unmet("group-size", None), {"k": 3}, []),
    ],
)
def test_each_remedy_is_computed_from_the_limit_and_the_plan(ruling, given, changes) -> None:
    """k, l, t and epsilon that the limit asks for; else twice, half, or one more; none beyond."""
    assert [one.parameters for one in remedies(ruling, given)] == changes
    assert remedies(ruling, None) == ()


@pytest.mark.parametrize(
    ("ruling", "given", "text"),
    [
        (unmet("attack", 0.5, WORST), {"k": 5}, "try l = 2 or k = 10; voile choose tells whether"),
        (unmet("copies", 0.0), {"k": 3}, "no parameter of this method meets it; choose another"),
        (unmet("recipient", None), {"k": 3}, "confirm it in assumptions.toml, if it holds"),
        (unmet("publishable", None), {"k": 3}, "publish without --seed"),
        (unmet("evidence", None), None, "audit without --seed"),
        (unmet("column", None), None, "leave the column out"),
        (unmet("identifiers", 0.0), None, "leave out the columns that are named, or make them"),
        (unmet("risk", 0.1, countable=True), {"k": 3}, "count it first, as said"),
        (unmet("risk", 0.1, "inference"), {"t": NEAR}, "try k = 4 or t = { value = 0.15, distance"),
        (unmet("roles", 0.0), None, "name the column under quasi_identifiers, or waive this by"),
        (unmet("risk", 0.1, why="not counted"), {"k": 3}, "try k = 6; voile choose tells"),
        (unmet("risk", 0.1, value=0.2), None, "make a release of the original by a plan"),
    ],
)
def test_a_remedy_is_told_in_the_words_of_a_plan(ruling, given, text: str) -> None:
    """Or what humans, commands and other plans must do."""
    assert remedy_text(ruling, given).startswith(text)


PLAN = """
[roles]
identifiers = ["name"]
person = "row"
quasi_identifiers = ["age", "zip", "zip.old"]
sensitive = ["pay"]

[method]
name = "generalization"
k = 5
"""


def test_no_k_is_advised_against_a_column_that_no_group_hides() -> None:
    """Who is singled out by values of their own of a column needs the column hidden or gone."""
    asks = ThreeRisks(name="singling out", most=Decimal("0.3"))
    counted = [risk("singling out", of="predicates of one column")]
    (ruling,) = asks.rulings(case(risks=counted, unhidden=("pay",)), ())
    assert remedy_text(ruling, {"k": 11}) == (
        "'pay' is published unchanged, and many rows have a value of their own there, which no k "
        "hides: in the plan give it the role quasi-identifier, or leave it out"
    )
    assert remedies(ruling, {"k": 11}) == ()
    (grouped,) = asks.rulings(case(risks=counted), ())
    assert [one.text for one in remedies(grouped, {"k": 11})] == ["k = 22"]


def test_no_k_is_advised_where_the_figure_passes_and_its_interval_does_not() -> None:
    """More people make the interval narrower."""
    near = {"value": -0.09, "low": -0.9, "high": 0.35, "side": "most"}
    told = remedy_text(unmet("risk", 0.3, "inference", **near), {"k": 20})
    assert "more people make the interval narrower" in told
    assert "k =" not in told


def test_a_limit_that_is_met_narrowly_is_told_with_its_figure() -> None:
    """Where the figure or its interval lies within a tenth; no figure that groups promise."""
    near = MeasuredFigure(0.25, 0.2, 0.283, "pay")
    narrow = Ruling.at_most("risk", "asks", near, 0.3, "inference")
    assert _is_narrow(narrow)
    assert (
        _narrow_text(narrow) == "asks (pay): met, narrowly: 25 % (20 % to 28.3 %) of at most 30 %"
    )
    counted = MeasuredFigure.exactly(0.283, "")
    told = _narrow_text(Ruling.at_most("attack", "asks", counted, 0.3, WORST))
    assert told == "asks: met, narrowly: 28.3 % of at most 30 %"
    assert not _is_narrow(Ruling.at_most("risk", "asks", near, 0.4, "inference"))
    assert not _is_narrow(Ruling.at_most("risk", "asks", near, 0.28, "inference"))
    assert not _is_narrow(Ruling.at_most("attack", "asks", counted, 0.283, MEAN))
    useful = MeasuredFigure(0.92, 0.91, 0.93, "")
    assert _is_narrow(Ruling.at_least("utility", "asks", useful, 0.9))
    assert not _is_narrow(Ruling.at_least("utility", "asks", useful, 0.8))


def test_nothing_is_advised_that_a_series_does_not_take() -> None:
    """No t, and of a later release no parameter at all."""
    missed = unmet("risk", 0.1, "inference", value=0.4, side="most")
    of_series = {"k": 5, "series": "s"}
    assert remedy_text(missed, of_series).startswith("try k = 10; ")
    later = remedy_text(missed, of_series, later=True)
    assert "stay as in the first release" in later
    assert "try" not in later


def policy(*criteria: str) -> StatedPolicy:
    """Of the lines of criteria."""
    text = 'name = "p"\n' + "".join(f"[[criteria]]\n{one}\n" for one in criteria)
    return StatedPolicy.of_text(text, "here")


def attack(name: str, figure: str, most: float) -> str:
    """The lines of a limit of an attack."""
    return f'kind = "attack"\nname = "{name}"\nfigure = "{figure}"\nmost = {most}'


def test_plans_that_are_tried_first_have_the_k_that_limits_ask_for() -> None:
    """Besides 3, 5, 11 and 20, without that of the plan; of epsilon half, a quarter, a tenth."""
    asked = policy(
        'kind = "group-size"\nleast = 7',
        attack("prosecutor", "worst", 0.09),
        attack("journalist", "mean", 0.04),
        attack("membership", "worst", 0.01),
    )
    assert least_k(asked) == 11
    assert least_k(policy(attack("marketer", "worst", 0.01))) == 1
    assert least_k(policy(attack("prosecutor", "worst", 0))) == 1
    tried = [one.parameters for one in ladder(parse_plan(tomllib.loads(PLAN)), asked)]
    assert tried == [{}, {"k": 3}, {"k": 11}, {"k": 20}, {"k": 25}]
    noisy = PLAN.replace('"generalization"\nk = 5', '"dp-synthesis"\nepsilon = 2')
    noisy = [one.parameters for one in ladder(parse_plan(tomllib.loads(noisy)), asked)]
    assert noisy == [{}, {"epsilon": 1.0}, {"epsilon": 0.5}, {"epsilon": 0.2}]


def test_what_a_criterion_names_is_left_out_but_not_the_only_sensitive_column() -> None:
    """Whatever its sentences say; of risks the column that is to be left out first, too."""
    plan, made = parse_plan(tomllib.loads(PLAN)), PlanChange({"k": 9}, ("name",))
    about = unmet("column", None, why="age is fine", columns=("zip.old", "pay"))
    changes = [one.text for one in changes_for([about], made, plan, ["age", "zip"])]
    assert changes == ["k = 9, without column 'name', without column 'zip.old'"]
    about = unmet("column", None, columns=("age", "zip"))
    changes = [one.text for one in changes_for([about], PlanChange(), plan, ["age", "zip"])]
    assert changes == ["without column 'age'", "without column 'zip'"]
    risk = unmet("risk", 0.1, "linkability", value=0.3)
    changes = [one.text for one in changes_for([risk], PlanChange(), plan, ["age", "zip"])]
    assert changes == ["k = 10", "without column 'age'"]
    alone = changes_for([risk], PlanChange(without=("zip",)), plan, ["age", "zip"])
    assert [one.text for one in alone] == ["k = 10, without column 'zip'"]
    budget = unmet("privacy-budget", 1.0, value=2.0)
    assert list(changes_for([budget], PlanChange({"epsilon": 2}), plan, ["age"])) == []
    assert PlanChange().text == "the plan as it is"


def test_no_closeness_is_tried_of_a_plan_in_which_nothing_is_sensitive() -> None:
    """Of it no method takes ``t`` or ``l``: a plan that asks for them gives no release."""
    near = unmet("closeness", 0.3)
    plan = parse_plan(tomllib.loads(PLAN))
    assert [one.parameters for one in changes_for([near], PlanChange(), plan, ["age"])] == [
        {"t": 0.3}
    ]
    made = PlanChange(grouped=plan.roles.sensitive)
    assert list(changes_for([near], made, plan, ["age"])) == []


def test_columns_that_no_group_hides_stay_out_of_every_further_plan() -> None:
    """Unless they are made quasi-identifiers: with them a plan misses the policy still."""
    text = PLAN.replace(', "zip.old"]', ']\nkeep = ["zip.old", "room"]')
    plan = parse_plan(tomllib.loads(text))
    hidden = unmet("risk", 0.1, "singling out", value=0.9, columns=("zip", "room", "zip.old"))
    other = unmet("risk", 0.1, "linkability", value=0.3)
    changes = [*changes_for([hidden, other], PlanChange({"k": 9}), plan, ["age", "zip"])]
    grouped, *others = changes
    assert grouped.text == "k = 9, 'room' a quasi-identifier, 'zip.old' a quasi-identifier"
    assert others[0].text == "k = 9, without column 'room', without column 'zip.old'"
    assert all({"room", "zip.old"} <= {*one.without} for one in others)


def test_what_was_tried_is_not_advised() -> None:
    """It is told to be not enough; what was not tried may help."""
    made, given = PlanChange(), {"k": 5}
    missed = unmet("risk", 0.1, "linkability", value=0.3, side="most")
    assert untried_text(missed, made, given, {"k = 10"}) == "k = 10: tried, and not enough"
    assert untried_text(missed, made, given, set()) == "k = 10 may help, and was not tried"
    wide = unmet("risk", 0.3, "inference", value=0.1, low=-0.2, high=0.4, side="most")
    assert "more people make the interval narrower" in untried_text(wide, made, given, set())


def test_only_what_needs_the_original_or_a_person_is_unseen_by_a_recipient() -> None:
    """Figures of published files that miss a limit are seen, and so is what is met."""
    assert is_unseen(unmet("attack", 0.3, "membership"))
    assert is_unseen(unmet("question", None))
    assert not is_unseen(unmet("group-size", 5.0))
    assert not is_unseen(unmet("attack", 0.3, "prosecutor", value=0.5))


# --- what criteria find


def rate(value: float | None, low: float | None = None, high: float | None = None) -> Any:
    """A rate with its interval."""
    return {"value": value, "low": value if low is None else low, "high": high or value}


def case(**said: Any) -> Any:
    """A case with nothing but this."""
    nothing = {
        "attacks": (),
        "risks": (),
        "measures": (),
        "claims": (),
        "skipped": {},
        "unhidden": (),
    }
    return SimpleNamespace(**{**nothing, "record": None, "is_measured": False, **said})


def attacked(**said: Any) -> Any:
    """A case with one attack."""
    given = {
        "attack": "prosecutor",
        "targets": 50,
        "checked": True,
        "success": rate(0.3, 0.2, 0.4),
        "baseline": 0.1,
        "worst": {"probability": 0.5},
    }
    return case(attacks=[{**given, **said}])


def figures(criterion: Any, judged: Any) -> tuple[Any, ...]:
    """Value, ends and limit of the one ruling."""
    (ruling,) = criterion.rulings(judged, ())
    return ruling.value, ruling.low, ruling.high, ruling.limit


def why(criterion: Any, judged: Any) -> str:
    """Why the one ruling has no figure, or what it is of."""
    (ruling,) = criterion.rulings(judged, ())
    return ruling.why


def test_figures_of_an_attack_are_the_mean_the_worst_and_what_is_above_guessing() -> None:
    """The worst of drawn targets reaches to 1, and two decimals of it stand for a group."""
    mean, worst, above = (
        AttackRate(name="prosecutor", figure=one, most=Decimal("0.09"))
        for one in ("mean", "worst", "above-guessing")
    )
    assert figures(mean, attacked()) == (0.3, 0.2, 0.4, 0.09)
    assert figures(worst, attacked()) == (0.5, 0.5, 1.0, 1 / 11)
    for everybody in ({"exact": True}, {"drawn_from": 50}):
        assert figures(worst, attacked(**everybody)) == (0.5, 0.5, 0.5, 1 / 11)
    value, low, high, limit = figures(above, attacked())
    assert (value, low, high, limit) == pytest.approx((0.2 / 0.9, 0.1 / 0.9, 0.3 / 0.9, 0.09))
    assert figures(above, attacked(baseline=1.0)) == (0, 0, 0, 0.09)
    assert "names no worst target" in why(worst, attacked(worst=None))
    assert "a figure of it is null" in why(mean, attacked(success=rate(None)))
    for one in (mean, worst, above):
        assert "was not assessed: missing cells" in why(one, attacked(bounded=False))
        bound = "; a bound: who reads missing cells best succeeds at most so often"
        assert (bound in why(one, attacked()), bound in why(one, attacked(upper_bound=True))) == (
            False,
            True,
        )
    assert "was left out: too few" in why(mean, case(skipped={"prosecutor": "too few"}))
    assert "there is no evidence beside the release" in why(mean, case())
    assert "did you mean" in why(AttackRate(name="prosecutr", most=1), attacked())
    (ruling,) = mean.rulings(attacked(checked=False, untried=["one"]), ())
    assert ruling.notes == ("successes are what the adversary believes", "one")
    (ruling,) = mean.rulings(attacked(), ())
    assert ruling.asks == "the attack prosecutor succeeds for at most 0.09 of the targets"


def test_a_measure_is_held_against_its_side() -> None:
    """At least or at most; what has no value or was left out passes nowhere."""
    judged = case(measures=[{"measure": "m", "value": 0.5, "meaning": "The mean."}])
    least, most = (
        Utility(measure="m", least=Decimal("0.4")),
        Utility(measure="m", most=Decimal("0.4")),
    )
    for criterion, passed, asks in (
        (least, True, "the measure m is at least 0.4"),
        (most, False, "the measure m is at most 0.4"),
    ):
        (ruling,) = criterion.rulings(judged, ())
        assert (ruling.passed, ruling.asks, ruling.value) == (passed, asks, 0.5)
        assert (ruling.why, ruling.of_original) == ("The mean", True)
    null = case(measures=[{"measure": "m", "value": None, "meaning": ""}])
    assert "has no value: it is null" in why(least, null)
    assert why(least, case(skipped={"m": "no numbers"})) == "the measure m was left out: no numbers"
    for none in ({}, {"least": Decimal(1), "most": Decimal(1)}):
        with pytest.raises(ValueError, match="either least or most must be said"):
            Utility(measure="m", **none)


def test_epsilon_and_delta_of_all_claims_are_added_and_held_against_the_budget() -> None:
    """Delta must be 0 where none is allowed."""
    claims = [
        DifferentialPrivacy(epsilon=Decimal("0.5"), delta=Decimal("0.01"), neighbours="add-remove"),
        DifferentialPrivacy(epsilon=Decimal("1"), neighbours="add-remove"),
    ]
    wide, narrow = (
        PrivacyBudget(epsilon=Decimal("1.5"), delta=Decimal("0.01")),
        PrivacyBudget(epsilon=Decimal("1")),
    )
    first, second = wide.rulings(case(claims=claims), ())
    assert (first.value, first.limit, first.passed) == (1.5, 1.5, True)
    assert (second.value, second.limit, second.passed) == (0.01, 0.01, True)
    told = "stated by release.json; neighbours: add-remove"
    assert (first.why, second.why) == (told, told)
    assert first.notes == second.notes
    assert second.notes[0].startswith("of this release alone")
    first, second = narrow.rulings(case(claims=claims), ())
    assert (first.asks, first.passed) == ("epsilon is at most 1", False)
    assert (second.asks, second.limit, second.passed) == ("delta is at most 0", 0.0, False)
    for ruling in narrow.rulings(case(), ()):
        assert (ruling.value, ruling.why) == (None, "no differential privacy is promised")


def risk(name: str, **said: Any) -> dict[str, Any]:
    """A counted risk."""
    given = {
        "risk": name,
        "of": "columns a",
        "main": rate(0.5, 0.4, 0.6),
        "control": rate(0.2),
        "guess": rate(0.1),
        "excess": {"value": 0.375, "low": 0.25, "high": 0.5},
        "notes": ["a note"],
    }
    return {**given, **said}


def test_a_risk_is_its_excess_over_the_control_or_over_guessing() -> None:
    """Each figure by itself; without a control only where the policy asks for none."""
    asks, free = (
        ThreeRisks(name="linkability", most=Decimal("0.3"), control=one) for one in (True, False)
    )
    judged = case(risks=[risk("linkability"), risk("inference")])
    (ruling,) = asks.rulings(judged, ())
    assert (ruling.value, ruling.low, ruling.high, ruling.passed) == (0.375, 0.25, 0.5, False)
    assert (ruling.why, ruling.notes) == ("columns a: 50% against control 20%", ("a note",))
    alone = case(risks=[risk("linkability", control=None)])
    assert why(asks, alone).startswith("columns a: no control was given")
    assert why(free, alone) == "columns a: 50% against guessing 10%"
    null = case(risks=[risk("linkability", control=rate(None))])
    assert why(asks, null) == "columns a: a rate of it is null"
    full = case(risks=[risk("linkability", main=rate(1.0), control=rate(1.0), guess=rate(0.5))])
    assert figures(asks, full) == (0, 0, 0, 0.3)
    assert "which leaves nothing open: of what guessing leaves open" in why(asks, full)
    assert "linkability was not counted: run voile study with --risks" in why(asks, case())
    assert why(asks, case(skipped={"three risks": "few"})) == "linkability was not counted: few"
    left_out = case(skipped={"linkability": "does not apply: no pairs"})
    assert figures(asks, left_out) == (0, 0, 0, 0.3)


def test_copies_are_the_persons_who_fit_better_than_the_control_explains() -> None:
    """None where rows are of people, or where what is promised is measured."""
    copies = Copies(most=3)
    counted = case(risks=[risk(COPYING, persons=4)])
    assert figures(copies, counted) == (4, 4, 4, 3)
    assert why(copies, counted) == "50.00% of the original are close, and 20.00% of the control"
    beside = case(risks=[risk(COPYING, persons=4, control=None)])
    assert why(copies, beside).endswith("and 10.00% of the control")
    assert figures(copies, case(skipped={COPYING: ROWS_OF_PEOPLE})) == (0, 0, 0, 3)
    assert figures(copies, case(is_measured=True)) == (0, 0, 0, 3)
    assert why(copies, case(skipped={"three risks": "few"})) == "copying was not counted: few"
    assert figures(copies, case(skipped={COPYING: "few"}, is_measured=True))[0] is None
    assert "run voile study with --risks" in why(copies, case(risks=[risk(COPYING)]))


def test_who_is_worst_off_is_told_at_the_share_of_mistakes_that_is_asked_for() -> None:
    """Or which shares were counted."""
    rates = [
        {"false_positives": 0.01, "beyond": rate(0.1, 0.05, 0.2), "share": rate(0.3)},
        {"false_positives": 0.001, "beyond": rate(0.02, 0.01, 0.03), "share": rate(0.04)},
    ]
    judged = case(risks=[risk(COPYING, rates=rates)])
    assert figures(WorstOff(most=Decimal("0.05")), judged) == (0.02, 0.01, 0.03, 0.05)
    wide = WorstOff(most=Decimal("0.05"), false_positives=Decimal("0.01"))
    assert figures(wide, judged) == (0.1, 0.05, 0.2, 0.05)
    assert why(wide, judged) == "30.00% of the original are told, by the best score"
    other = WorstOff(most=Decimal("0.05"), false_positives=Decimal("0.5"))
    assert why(other, judged) == "it was counted at 0.01, 0.001 of mistakes alone"
    assert "copying was not counted" in why(other, case())
    assert "copying was not counted" in why(other, case(risks=[risk(COPYING)]))


def test_the_row_of_a_person_is_found_as_surely_as_by_the_worst_set_of_columns() -> None:
    """The mean or the worst person; searched sets only where they are asked for."""
    known = risk(RE_IDENTIFICATION, worst=0.7)
    sure = risk(RE_IDENTIFICATION, main=rate(0.4), worst=0.6, of="columns b")
    searched = risk(RE_IDENTIFICATION, main=rate(0.9), worst=0.9, of="whoever knows the worst pair")
    judged = case(risks=[known, sure, searched, risk("linkability")])
    mean = ReIdentified(most=Decimal("0.1"))
    assert figures(mean, judged) == (0.5, 0.4, 0.6, 0.1)
    assert why(mean, judged) == "columns a; the person who is worst off with 0.7"
    assert figures(ReIdentified(most=Decimal("0.1"), searched=True), judged) == (0.9, 0.9, 0.9, 0.1)
    worst = ReIdentified(most=Decimal("0.1"), figure="worst")
    assert figures(worst, judged) == (0.7, 0.7, 1.0, 0.1)
    assert figures(worst, case(risks=[sure])) == (0.6, 0.6, 0.6, 0.1)
    nobody = case(risks=[risk(RE_IDENTIFICATION)])
    assert figures(worst, nobody) == (1, 1, 1, 0.1)
    null = case(risks=[risk(RE_IDENTIFICATION, main={"value": None, "low": None, "high": None})])
    assert figures(mean, null) == (0, 0, 0, 0.1)
    apart = case(skipped={RE_IDENTIFICATION: ROWS_OF_NOBODY})
    assert figures(mean, apart) == (0, 0, 0, 0.1)
    assert why(mean, case(skipped={"three risks": "few"})) == (
        "re-identification was not counted: few"
    )
    assert why(mean, case()) == (
        "re-identification was not counted: run voile study with --risks, or voile audit"
    )
    for criterion, how in ((mean, "on average"), (worst, "for the worst-off person")):
        (ruling,) = criterion.rulings(judged, ())
        asks = "nobody outside picks a person's row with a probability above 0.1"
        assert (ruling.kind, ruling.asks) == ("re-identification", f"{asks}, {how}")


# --- rulings, ticks and waivers


def test_a_ruling_is_told_in_one_word() -> None:
    """An interval that reaches over the limit is no pass, and neither is a missing figure."""
    found = MeasuredFigure(0.5, 0.4, 0.6, "of all")
    said = {
        limit: (
            Ruling.at_most("k", "a", found, limit).told,
            Ruling.at_least("k", "a", found, limit).told,
        )
        for limit in (0.3, 0.4, 0.5, 0.6, 0.7)
    }
    assert said == {
        0.3: ("FAIL", "pass"),
        0.4: ("FAIL", "pass"),
        0.5: ("STRADDLES", "STRADDLES"),
        0.6: ("pass", "FAIL"),
        0.7: ("pass", "FAIL"),
    }
    near = Ruling.at_most("k", "a", MeasuredFigure(0.12, 0.04, 0.20004, "of all"), 0.2)
    assert near.figure == "0.12 (0.04 to 0.20004)", "no end is rounded to the limit that it misses"
    assert Ruling.at_most("k", "a", "none", 0.3).told == "MISSING"
    assert Ruling("k", "a", passed=False, why="").told == "FAIL"


def test_only_a_missing_figure_is_waived_by_its_words() -> None:
    """With who does and why."""
    missing = Ruling.at_most("k", "what is asked", "none", 0.3)
    waiver = Waiver(criterion="what is asked", reason="no control", by="officer")
    waived = waiver.of(missing)
    assert (waived.passed, waived.told) == (True, "waived")
    assert waived.waived == "waived by officer: no control"
    failed = Ruling.at_most("k", "what is asked", MeasuredFigure.exactly(1, "of all"), 0.3)
    other = Ruling.at_most("k", "something else", "none", 0.3)
    assert waiver.of(failed) is failed
    assert waiver.of(other) is other


def test_the_form_keeps_what_stands_there_and_asks_for_the_rest_once(tmp_path) -> None:
    """What is ticked says by whom; a file that is none is refused with its place."""
    path = tmp_path / "assumptions.toml"
    assert read_ticks(path) == read_waivers(path) == ()
    asked = with_form(path, ["one", "two", "one"])
    assert [one.says for one in asked] == ["one", "two"]
    assert path.read_text().startswith("# What no machine can see.")
    text = path.read_text().replace('ticked = false\nby = ""', 'ticked = true\nby = "board"', 1)
    text += '\n[[waiver]]\ncriterion = "c"\nreason = "r"\nby = "b"\n'
    path.write_text(text)
    assert [one.says for one in with_form(path, ["two", "three"])] == ["one", "two", "three"]
    assert path.read_text().startswith(text.rstrip("\n") + "\n\n[[assumption]]\n")
    ticks = read_ticks(path)
    assert (ticked("one", ticks), ticked("two", ticks), ticked("four", ticks)) == (
        "board",
        None,
        None,
    )
    assert read_waivers(path) == (Waiver(criterion="c", reason="r", by="b"),)
    before = path.read_text()
    with_form(path, ["one"])
    assert path.read_text() == before
    for wrong, told in (
        ("says =", "not valid TOML at"),
        ('[[assumption]]\nsays = "a"\nticked = true\nby = " "', "says by whom"),
    ):
        path.write_text(wrong)
        with pytest.raises(InputError, match=told):
            read_ticks(path)
    path.write_bytes(b"\xff")
    with pytest.raises(InputError, match="cannot be read as a UTF-8 text file"):
        read_ticks(path)
    assert ticked("a", [Tick(says="a", by="board")]) is None


# --- plans that were tried


def test_plans_are_ordered_by_loss_then_by_rows_left_out_then_by_how_much_was_changed() -> None:
    """What was not counted stands last."""
    ordered = [
        TriedPlan(PlanChange({"k": 3}), objective=0.1, left_out=0.5),
        TriedPlan(PlanChange({"k": 3}), objective=0.2, left_out=0.1),
        TriedPlan(PlanChange({"k": 3, "t": 0.2}), objective=0.2, left_out=0.1),
        TriedPlan(PlanChange({"k": 3}, ("zip",)), objective=0.2, left_out=0.1),
        TriedPlan(PlanChange(), objective=0.2, left_out=0.2),
        TriedPlan(PlanChange(), objective=0.2),
        TriedPlan(PlanChange(), left_out=0.0),
    ]
    assert all(order_of(one) < order_of(two) for one, two in pairwise(ordered))


def test_a_plan_that_shows_nothing_is_the_nearest_to_no_policy() -> None:
    """Unless no other gives a release."""
    asked = policy('kind = "group-size"\nleast = 11')
    stated = SimpleNamespace(plan=parse_plan(tomllib.loads(PLAN)))
    missed = (unmet("group-size", 11.0),)
    full = TriedPlan(PlanChange(), objective=0.1, rulings=(), unmet=missed * 2)
    empty = TriedPlan(PlanChange({"k": 99}), information_loss=1.0, rulings=(), unmet=missed)
    gone = TriedPlan(PlanChange({"k": 98}), left_out=1.0, rulings=(), unmet=missed)
    choice = Choice(stated, asked, 9, (empty, gone, full), 24, exhausted=True)
    assert choice.nearest is full
    assert Choice(stated, asked, 9, (empty,), 24, exhausted=True).nearest is empty


def test_a_plan_of_a_series_is_told_to_have_been_tried_outside_of_it() -> None:
    """Its figures are none of the series, and its series is no parameter of what was tried."""
    text = PLAN + 'series = "yearly"\nrecord_key = "name"\n'
    stated = SimpleNamespace(plan=parse_plan(tomllib.loads(text)))
    asked = policy('kind = "group-size"\nleast = 11')
    told = paragraph_of(Choice(stated, asked, 9, (TriedPlan(PlanChange()),), 24, exhausted=True))
    assert "publishes in the series 'yearly'" in told
    assert "by generalization (k = 5)." in told


def test_a_release_of_the_same_columns_shares_the_rulings_of_one_that_was_judged() -> None:
    """Not of other columns, not of another release, and not where nothing was judged."""
    judged = TriedPlan(PlanChange({"k": 3}, ("zip",)), fingerprint="f", rulings=())
    same = TriedPlan(PlanChange({"k": 4}, ("zip",)), fingerprint="f")
    assert _shares_rulings(judged, same)
    assert not _shares_rulings(same, judged)
    assert not _shares_rulings(judged, TriedPlan(PlanChange({"k": 4}), fingerprint="f"))
    assert not _shares_rulings(judged, TriedPlan(PlanChange({"k": 4}, ("zip",)), fingerprint="g"))
    nameless = TriedPlan(PlanChange({"k": 3}), rulings=())
    assert not _shares_rulings(nameless, TriedPlan(PlanChange({"k": 4})))


def test_the_ends_of_an_interval_have_the_name_of_their_column() -> None:
    """Names of identifiers are found in each of them."""
    names = ["birth.low", "birth.high", "birth.interval", "birth.other"]
    table = published_rows(pl.DataFrame({name: [1] for name in names}))
    words = [_Cells.of(table, name).words for name in names]
    assert words[:3] == [("birth",)] * 3
    assert words[3] == ("birth", "other")


# --- the paragraph of a choice


def test_the_paragraph_says_what_was_chosen_and_what_is_known_of_it() -> None:
    """Each sentence word by word; of a sample, of weights and of thresholds where there are any."""
    stated = SimpleNamespace(plan=parse_plan(tomllib.loads(PLAN)))
    worst = 1 / 11
    best = TriedPlan(
        PlanChange({"k": 11}, ("zip",)),
        worst=worst,
        mean=0.05,
        population_worst=0.01,
        population_mean=0.001,
        information_loss=0.123456,
        left_out=0.0,
        sensitive=(attacked(attack="homogeneity").attacks[0],),
        others=(
            found_by("whoever knows the quasi-identifiers: zip, age", 0.5, 0.2),
            found_by("an employer: age, pay", 1.0, 0.4),
            found_by("whoever knows the worst column: pay", 1.0, 0.6),
        ),
        rulings=(),
    )
    asked = StatedPolicy.of_text(
        'name = "p"\nsource = "s"\n[[criteria]]\nkind = "group-size"\nleast = 11', "here"
    )
    first = TriedPlan(PlanChange(), worst=0.2, rulings=(), unmet=(unmet("group-size", 11.0),))
    choice = Choice(stated, asked, 1234, (first, best), 24, exhausted=False, sample=500)
    assert paragraph_of(choice) == (
        "The table of 1,234 records is to be published by generalization (k = 11). "
        "Columns left out for it: zip. The re-identification risk of the person who is worst off "
        "is 9.09 %, and 5 % on average, against an intruder who knows that the person is in the "
        "release and knows all quasi-identifiers of the plan. In the population that the sample "
        "stands for it is estimated at 1 % and 0.1 %, by survey weights (Franconi and Polettini, "
        "2004). That is 1 in 11, and keeps the threshold of 0.09 (groups of 11: data for the "
        "public, as EMA policy 0070 asks; El Emam and Malin, 2015). That does not "
        "hold for those who know more: an employer, who may also know pay, finds the person who is "
        "worst off with 100 %, and a person with 40 % on average. Who knows the quasi-identifiers "
        "and takes the most probable sensitive value of the group is right (homogeneity) for 30 % "
        "of the persons, and guessing for 10 %. Information loss is 12.3 % "
        "(non-uniform entropy of the quasi-identifiers that are published), from 0 % (the "
        "original) to 100 % (nothing), and 0 % of the records are left out. It was "
        "chosen among 2 plans by the policy 'p' (s). They were tried on a sample of 500 records, "
        "drawn once at random; the figures above are those of all records. Trying "
        "them is looking at the records, so that the assumption of the promise that parameters "
        "were chosen without looking can be accepted, and not confirmed. It meets every "
        "criterion that a machine judges, with the least objective of those. Not counted "
        "here: what recipients may know besides, and what humans are asked."
    )
    none = Choice(stated, asked, 1234, (first,), 24, exhausted=True)
    assert "is 20 %, and not counted on average" in paragraph_of(none)
    told = "None of them meets the policy; this one, which is the nearest, fails: group-size."
    assert told in paragraph_of(none)


# --- policies and published rows


def test_a_file_goes_before_a_template_of_its_name(tmp_path, monkeypatch) -> None:
    """A missing one names the templates; what is wrong is told by the file."""
    monkeypatch.chdir(tmp_path)
    assert StatedPolicy.read("gdpr").policy.name != "mine"
    text = 'name = "mine"\n[[criteria]]\nkind = "group-size"\nleast = 2\n'
    (tmp_path / "gdpr").write_text("\ufeff" + text)
    found = StatedPolicy.read("gdpr")
    assert (found.policy.name, found.text) == ("mine", text)
    (tmp_path / "gdpr").write_text("name =")
    with pytest.raises(InputError, match=r"^gdpr: this is not valid TOML at end of document"):
        StatedPolicy.read("gdpr")
    (tmp_path / "gdpr").write_bytes(b"\xff")
    with pytest.raises(InputError, match=r"^gdpr: the policy cannot be read as a UTF-8 text file"):
        StatedPolicy.read("gdpr")
    with pytest.raises(InputError, match=r"^gdrp: there is no such policy.*did you mean 'gdpr'"):
        StatedPolicy.read("gdrp")


ROWS = pl.DataFrame(
    {
        "age": [1, 1, 1, 2, 2, 2, 2],
        "ill": ["a", "a", "b", "a", "b", "c", "a"],
        "pay": [1, 1, 1, 2, 2, 3, 3],
        "group": [1, 1, 1, 2, 2, 3, 3],
    }
)


def shown(group: str | None = None, permuted: frozenset[str] = frozenset(), **roles: Any) -> Any:
    """The rows under some roles."""
    return ShownRows(published_rows(ROWS), roles, group, permuted)


def test_k_l_and_t_are_counted_on_the_rows_by_hand() -> None:
    """By quasi-identifiers and numbers of groups; by these alone where values were permuted."""
    rows = shown(quasi_identifiers=("age",), sensitive=("ill", "pay"))
    assert rows.sensitive == ("ill", "pay")
    assert rows.smallest_group() == MeasuredFigure.exactly(
        3, "rows of the smallest of 2 groups that show the same"
    )
    assert rows.least_diverse("ill") == MeasuredFigure.exactly(
        2, "values of 'ill' in the poorest of 2 groups"
    )
    far = rows.furthest("ill")
    assert far.value == pytest.approx(1 / 7)
    assert far.why == "equal distance of 'ill' in the furthest of 2 groups from all published rows"
    assert rows.furthest("pay").value == pytest.approx((4 / 7 + 2 / 7) / 2)
    assert rows.furthest("pay").why.startswith("ordered distance of 'pay' in the furthest of 2")
    numbered = shown("group", quasi_identifiers=("age",), sensitive=("ill",))
    assert numbered.smallest_group().value == 2
    assert numbered.least_diverse("ill").value == 2
    apart = shown("group", frozenset({"pay"}), quasi_identifiers=("age",), sensitive=("pay",))
    assert apart.least_diverse("pay").value == 1
    assert apart.least_diverse("pay").why.endswith("of 3 groups")
    nothing = "no published column is a quasi-identifier, so that nothing tells groups"
    alone = shown("group", sensitive=("ill",))
    assert alone.smallest_group() == alone.least_diverse("ill") == nothing
    assert alone.furthest("ill") == nothing
    assert rows.least_diverse("other") == "no published column is 'other'"
    empty = ShownRows(published_rows(ROWS.head(0)), rows.roles, None, frozenset())
    assert empty.smallest_group() == empty.furthest("ill") == "there are no published rows"
