"""Choosing parameters under a policy: the least loss, or what stands in the way."""

from __future__ import annotations

import json
import tomllib
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from voile.cli import choose
from voile.policy import choosing, trying
from voile.policy.choosing import Choice, paragraph_of
from voile.policy.remedies import (
    PlanChange,
    changes_for,
    grouping_beyond,
    mildest,
    remedy_text,
    strides,
    untried_text,
)
from voile.policy.ruling import Ruling
from voile.policy.stated import StatedPolicy
from voile.policy.trying import PlanSearch, TriedPlan
from voile.schema.plan import Plan, parse_plan
from voile.study.evidence import gather
from voile.study.plans import StatedPlan
from voile.study.run import prepare_release
from voile_base.errors import InfeasibleError, InputError
from voile_base.randomness import Randomness
from voile_tests.policy.cases import voile

PLAN = """
[roles]
quasi_identifiers = ["age", "town", "sex"]
sensitive = ["illness"]

[columns.age]
kind = "number"
bounds = [0, 100]
intervals = { origin = 0, widths = [5, 20] }

[method]
name = "generalization"
k = 2
algorithm = "flash"
"""


def _people(seed: int, rows: int = 90) -> pl.DataFrame:
    draws = Randomness.seeded(seed).key("people").generator()
    return pl.DataFrame(
        {
            "age": draws.integers(20, 80, rows),
            "town": draws.choice(["Zug", "Ulm", "Bath"], rows, p=[0.6, 0.3, 0.1]),
            "sex": draws.choice(["f", "m"], rows),
            "illness": draws.choice(["flu", "tb", "none"], rows, p=[0.2, 0.1, 0.7]),
        }
    )


def _plan(folder: Path, text: str = PLAN) -> Path:
    path = folder / "plan.toml"
    path.write_text(text, encoding="utf-8")
    return path


def _policy(*criteria: str) -> StatedPolicy:
    tables = "".join(f"\n[[criteria]]\n{one}\n" for one in criteria)
    return StatedPolicy.of_text(f'name = "board"\n{tables}', "policy")


def _worst(most: float) -> str:
    return f'kind = "attack"\nname = "prosecutor"\nfigure = "worst"\nmost = {most}'


def _loss(frame: pl.DataFrame, plan: Plan) -> float:
    """The information loss of the plan's release, made by hand."""
    made = prepare_release(frame, plan, randomness=Randomness.seeded(1)).publication
    return float(made.private.objective)


@pytest.mark.slow
@pytest.mark.parametrize(("seed", "most"), [(0, 0.2), (1, 0.09), (2, 0.3)])
def test_the_choice_has_the_least_loss_of_all_k(tmp_path: Path, seed: int, most: float) -> None:
    """Every k from 2 to 15, with no row or some left out, is published by hand: none loses less."""
    frame, stated = _people(seed), StatedPlan.of(_plan(tmp_path))
    found = Choice.of_policy(
        frame, _plan(tmp_path), _policy(_worst(most)), PlanSearch(seed=1)
    ).found
    assert found is not None
    assert found.worst is not None
    assert found.worst <= most
    losses = [
        _loss(frame, PlanChange({"k": k, "suppression_limit": share}).applied_to(stated).plan)
        for share in (0, 0.01, 0.05)
        for k in range(2, 16)
        if 1 / k <= most
    ]
    assert found.objective is not None
    assert found.objective <= min(losses) + 1e-12


@pytest.mark.slow
def test_a_plan_that_meets_the_policy_stays_as_it_is(tmp_path: Path) -> None:
    """Nothing is changed where nothing has to be."""
    plan = _plan(tmp_path, PLAN.replace("k = 2", "k = 5"))
    choice = Choice.of_policy(_people(1), plan, _policy(_worst(0.2)), PlanSearch(seed=1))
    assert choice.found is not None
    assert choice.found.change.text == "the plan as it is"


@pytest.mark.slow
def test_a_release_that_was_not_kept_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of large tables none is, and the plan found is the same."""
    call = (_people(1), _plan(tmp_path), _policy(_worst(0.2)), PlanSearch(seed=1))
    whole = Choice.of_policy(*call).found
    monkeypatch.setattr(trying, "_KEPT_ROWS", 0)
    again = Choice.of_policy(*call).found
    assert whole is not None
    assert again is not None
    assert (again.change, again.objective, again.rulings) == (
        whole.change,
        whole.objective,
        whole.rulings,
    )


def test_a_plan_without_a_release_has_its_problem_as_a_clause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is told has no full stop, and what follows it has."""

    def refuse(*_: object) -> None:
        raise InfeasibleError("ten people are too few.")

    monkeypatch.setattr(choosing._Trial, "_made", refuse)
    call = (_people(1, 10), _plan(tmp_path), _policy(_worst(0.2)), PlanSearch(seed=1))
    problems = {one.problem for one in Choice.of_policy(*call).tried}
    assert problems == {"ten people are too few"}


@pytest.mark.slow
def test_what_no_plan_meets_is_said_with_what_stands_in_the_way(tmp_path: Path) -> None:
    """No method of groups has a budget: the criterion fails in each plan, and it is named."""
    policy = _policy(_worst(0.2), 'kind = "privacy-budget"\nepsilon = 1')
    choice = Choice.of_policy(_people(2), _plan(tmp_path), policy, PlanSearch(seed=1))
    assert choice.found is None
    assert {one.kind for one in choice.nearest.unmet} == {"privacy-budget"}
    assert "None of them meets the policy" in paragraph_of(choice)
    assert "without column" in choice.strictest
    assert len(choice.tried) <= PlanSearch().most(met=True)


@pytest.mark.slow
def test_diversity_is_asked_of_the_method_where_the_policy_asks_it(tmp_path: Path) -> None:
    """Whatever k would do it, too, l = 2 at the k that the risk asks for loses no more."""
    policy = _policy(_worst(0.2), 'kind = "diversity"\nleast = 2')
    choice = Choice.of_policy(_people(3), _plan(tmp_path), policy, PlanSearch(seed=1))
    assert choice.found is not None
    assert choice.found.objective is not None
    stated = StatedPlan.of(_plan(tmp_path))
    asked = PlanChange({"k": 5, "l": 2}).applied_to(stated).plan
    assert choice.found.objective <= _loss(_people(3), asked) + 1e-12


@pytest.mark.slow
def test_columns_that_a_policy_forbids_are_left_out(tmp_path: Path) -> None:
    """A city is a geographic subdivision of safe harbor: without it the policy is met."""
    frame = _people(4).rename({"town": "city"})
    text = PLAN.replace('"age", "town", "sex"', '"age", "sex"')
    plan = _plan(tmp_path, text.replace('["illness"]', '["illness", "city"]'))
    policy = _policy('kind = "identifiers"\nabsent = ["B"]')
    choice = Choice.of_policy(frame, plan, policy, PlanSearch(seed=1))
    assert choice.found is not None
    assert choice.found.change.without == ("city",)
    assert choice.found.objective is not None
    assert choice.found.objective >= 1 / 3


def test_the_only_sensitive_column_is_not_left_out_to_meet_a_policy() -> None:
    """A table without what it is published for is of no use; one of two such columns may go."""
    why = "illness: 43% against control 7%"
    unmet = Ruling("risk", "inference finds", passed=False, why=why, value=0.4, low=0.3, limit=0.2)
    unmet = replace(unmet, subject="inference", columns=("illness",))
    plan = parse_plan(tomllib.loads(PLAN))
    two = parse_plan(tomllib.loads(PLAN.replace('["illness"]', '["illness", "cost"]')))
    gone = [
        [change.without for change in changes_for([unmet], PlanChange(), one, ()) if change.without]
        for one in (plan, two)
    ]
    assert gone == [[], [("illness",)]]
    grouped = PlanChange(grouped=("cost",))  # no sensitive column any more
    assert not any(change.without for change in changes_for([unmet], grouped, two, ()))


def test_a_column_by_which_others_find_a_person_becomes_a_quasi_identifier(tmp_path: Path) -> None:
    """Also where it is the only sensitive one, which is never left out; a reader is told so."""
    unmet = Ruling("re-identification", "nobody outside", passed=False, why="", value=1, limit=0.2)
    unmet = replace(unmet, columns=("age", "illness"))
    plan = parse_plan(tomllib.loads(PLAN))
    asked = list(changes_for([unmet], PlanChange(), plan, ("age", "sex")))
    assert PlanChange(grouped=("illness",)) in asked
    assert all("illness" not in one.without for one in asked)
    stated = StatedPlan.of(_plan(tmp_path))
    roles = PlanChange(grouped=("illness",)).applied_to(stated).plan.roles
    assert roles.quasi_identifiers == ("age", "town", "sex", "illness")
    assert roles.sensitive == ()
    assert "'illness'" in remedy_text(unmet, {"k": 5})


def test_what_is_asked_of_sensitive_columns_goes_with_the_last_of_them(tmp_path: Path) -> None:
    """People are singled out by several columns together: all are grouped, and l has no meaning."""
    unmet = Ruling("risk", "singling out", passed=False, why="", value=1, limit=0.1)
    unmet = replace(unmet, subject="singling out", columns=("predicates of several columns",))
    stated = StatedPlan.of(_plan(tmp_path, PLAN + "l = 2\n"))
    first, *_ = changes_for([unmet], PlanChange({"k": 5}), stated.plan, ())
    assert first.text == "k = 5, without l, 'illness' a quasi-identifier"
    method = first.applied_to(stated).plan.method
    assert method is not None
    assert (method.parameters["k"], "l" in method.parameters) == (5, False)


@pytest.mark.slow
def test_a_salary_that_an_employer_knows_is_grouped_where_a_policy_asks_it(tmp_path: Path) -> None:
    """Each has a salary of their own: no k meets the limit, a plan that groups salaries does."""
    rows = 90
    frame = _people(6, rows).drop("illness").with_columns(salary=pl.int_range(rows) * 7 + 900)
    text = (
        PLAN.replace('["illness"]', '["salary"]')
        + """
[columns.salary]
kind = "number"
bounds = [900, 1600]
intervals = { origin = 900, widths = [100, 350] }
"""
    )
    policy = _policy('kind = "re-identification"\nfigure = "mean"\nmost = 0.2')
    choice = Choice.of_policy(frame, _plan(tmp_path, text), policy, PlanSearch(seed=1))
    assert choice.found is not None
    assert choice.found.change.grouped == ("salary",)
    assert choice.roles.sensitive == ()
    assert "become quasi-identifiers for it: salary" in paragraph_of(choice)


@pytest.mark.slow
def test_a_plan_is_found_that_keeps_limits_of_risks_in_three_draws(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A release is put to the test with other people drawn, until it fails or has passed."""
    whole = []

    def counted(staged, instruments, terms, randomness):
        if instruments.risks is not None:
            whole.append(randomness)
        return gather(staged, instruments, terms, randomness)

    monkeypatch.setattr(trying, "gather", counted)
    risk = 'kind = "risk"\nname = "linkability"\nmost = '
    for most, times in (("1.0", 3), ("0.0", 1)):
        whole.clear()
        plan = _plan(tmp_path, PLAN.replace("k = 2", "k = 5"))
        Choice.of_policy(_people(2), plan, _policy(risk + most), PlanSearch(effort=1, seed=1))
        drawn = {float(one.key("x").generator().uniform()) for one in whole}
        assert len(drawn) == len(whole) == times


@pytest.mark.slow
def test_ties_are_said(tmp_path: Path) -> None:
    """Where nobody has to be left out, allowing it gives the same release."""
    choice = Choice.of_policy(_people(5), _plan(tmp_path), _policy(_worst(0.2)), PlanSearch(seed=1))
    same = [one for one in choice.tried if one.is_tied_with(choice.nearest)]
    assert set(choice.ties) == {one for one in same if one is not choice.found}


def test_the_effort_bounds_what_is_tried(tmp_path: Path) -> None:
    """No more plans than that, and that it was at its end is said."""
    choice = Choice.of_policy(
        _people(6), _plan(tmp_path), _policy(_worst(0.001)), PlanSearch(effort=3, seed=1)
    )
    assert len(choice.tried) == 3
    assert choice.exhausted
    with pytest.raises(InputError, match="effort"):
        PlanSearch(effort=0)


def test_strides_grow_stricter_until_one_column_is_left_beside_the_secret() -> None:
    """Each leaves out what the one before it does, and what most criteria name goes first."""
    unmet = Ruling("risk", "linkability", passed=False, why="", limit=0.1, columns=("sex",))
    plan = parse_plan(tomllib.loads(PLAN))
    found = strides([unmet], PlanChange(), plan, ("age", "town", "sex"), 90)
    sizes = [one.parameters["k"] for one in found]
    assert sizes == sorted(sizes)
    assert sizes[-1] == 90 // 4
    assert found[0].without == ("sex",)
    assert found[-1].without == ("sex", "age")
    assert found[-1].roles_of(plan.roles).published == ("town", "illness")


@pytest.mark.parametrize("meets", [1, 3, 6, 8])
def test_the_mildest_stride_that_meets_gives_back_what_it_may(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, meets: int
) -> None:
    """It is found by bisection, and a column that did not stand in the way is published again."""
    asked: list[PlanChange] = []

    def judged(_: object, change: PlanChange) -> bool:
        asked.append(change)
        return change.parameters["k"] >= sizes[meets - 1] and "age" in change.without

    stated = parse_plan(tomllib.loads(PLAN))
    named = Ruling("risk", "linkability", passed=False, why="", limit=0.1, columns=("age",))
    steps = strides([named], PlanChange(), stated, ("age", "town", "sex"), 90)
    sizes = [one.parameters["k"] for one in steps]
    monkeypatch.setattr(choosing, "strides", lambda *_: steps)
    monkeypatch.setattr(choosing._Trial, "_meets", judged)
    monkeypatch.setattr(choosing._Trial, "climb", lambda trial: trial._try(PlanChange()))
    for later in ("_look", "mend"):
        monkeypatch.setattr(choosing._Trial, later, lambda _: None)
    policy = _policy('kind = "privacy-budget"\nepsilon = 1')
    Choice.of_policy(_people(1), _plan(tmp_path), policy, PlanSearch(effort=20, seed=1))
    kept = [one for one in [*asked] if judged(None, one)]
    assert steps[meets - 1] in kept
    assert any(one.without == ("age",) for one in kept)


@pytest.mark.parametrize(
    ("meeting", "is_found"), [((), True), (("town",), True), (("age",), False)]
)
def test_a_plan_with_grouped_columns_is_tried_whole_or_without_what_it_fails_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, meeting: tuple[str, ...], *, is_found: bool
) -> None:
    """So that columns go that are in the way, and not all that an order puts first."""
    asked: list[PlanChange] = []

    def judged(trial: choosing._Trial, tried: TriedPlan) -> TriedPlan:
        asked.append(tried.change)
        unmet = () if set(tried.change.without) == {*meeting} else (_beyond("town"),)
        return trial._replaced(tried, replace(tried, rulings=(), unmet=unmet))

    monkeypatch.setattr(choosing._Trial, "_judged", judged)
    met: list[PlanChange | None] = []
    monkeypatch.setattr(
        choosing._Trial,
        "search",
        lambda trial: met.append(trial._fewer(PlanChange({"k": 3}, grouped=("illness",)))),
    )
    Choice.of_policy(_people(1), _plan(tmp_path), _policy(_worst(0.2)), PlanSearch(seed=1))
    assert [one.without for one in asked] == ([()] if not meeting else [(), ("town",)])
    assert (met[0] is not None) is is_found
    assert met[0] is None or met[0].without == meeting


def test_an_interruption_keeps_the_plans_that_were_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever stops a search has its findings so far; before the first plan there are none."""
    usual = choosing._Trial._try

    def stopped(trial: choosing._Trial, change: PlanChange) -> TriedPlan | None:
        if len(trial.tried) == least:
            raise KeyboardInterrupt
        return usual(trial, change)

    monkeypatch.setattr(choosing._Trial, "_try", stopped)
    asked = (_people(6), _plan(tmp_path), _policy(_worst(0.001)), PlanSearch(seed=1))
    least = 2
    assert len(Choice.of_policy(*asked).tried) == 2
    least = 0
    with pytest.raises(KeyboardInterrupt):
        Choice.of_policy(*asked)


def test_the_strictest_plan_counts_persons_and_not_their_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Groups of a quarter of all persons, each of whom has three rows, are its largest."""
    frame = _people(6, 60)
    frame = pl.concat([frame.with_columns(who=pl.Series(range(60)))] * 3)
    asked: list[int] = []

    def strides_of(*given: object) -> tuple[PlanChange, ...]:
        asked.append(int(str(given[-1])))
        return ()

    monkeypatch.setattr(choosing, "strides", strides_of)
    plan = _plan(tmp_path, PLAN.replace("[roles]", '[roles]\nperson = "who"'))
    Choice.of_policy(frame, plan, _policy(_worst(0.001)), PlanSearch(effort=12, seed=1))
    assert asked == [60]


def test_a_limit_within_the_interval_of_an_attack_has_its_remedy() -> None:
    """Where larger groups were tried, people or another limit decide."""
    asks = "the attack membership finds at most 0.2 above guessing"
    unmet = Ruling("attack", asks, passed=False, why="", value=0.1, low=0.0, high=0.31, limit=0.2)
    unmet = replace(unmet, subject="membership", side="most")
    said = untried_text(unmet, PlanChange(), {"k": 5}, {"k = 10"})
    assert said.startswith("k = 10: tried, and not enough; undecided")
    assert "a limit of 0.31" in said


def test_more_plans_are_tried_while_none_meets_the_policy() -> None:
    """An effort that is said bounds both; the usual one goes on where nothing was found."""
    assert PlanSearch().most(met=False) > PlanSearch().most(met=True) > 1
    assert [PlanSearch(effort=7).most(met=met) for met in (True, False)] == [7, 7]


@pytest.mark.slow
def test_survey_weights_lower_the_risk_in_the_population(tmp_path: Path) -> None:
    """Rows that stand for one person each are all there is; of fifty each, risk is far less."""
    plan, policy = _plan(tmp_path), _policy(_worst(0.2))
    found = {}
    for weight in (1, 50):
        frame = _people(1).with_columns(w=pl.lit(weight))
        terms = PlanSearch(effort=1, seed=1, weight="w")
        (found[weight],) = Choice.of_policy(frame, plan, policy, terms).tried
    assert found[1].population_worst == pytest.approx(found[1].worst)
    assert found[1].population_mean == pytest.approx(found[1].mean)
    assert found[50].population_worst is not None
    assert found[50].population_worst < 0.1 * (found[1].worst or 0)
    assert found[50].worst == found[1].worst


@pytest.mark.slow
def test_weights_of_rows_are_set_aside_where_persons_have_several(tmp_path: Path) -> None:
    """Where the plan states them, so that a search has a way on; by name they are refused."""
    frame = _people(1).with_columns(w=pl.lit(50), who=pl.int_range(pl.len()) // 2)
    text = PLAN.replace("[roles]", '[roles]\nperson = "who"\nweight = "w"')
    plan, policy = _plan(tmp_path, text), _policy(_worst(0.2))
    (tried,) = Choice.of_policy(frame, plan, policy, PlanSearch(effort=1, seed=1)).tried
    assert tried.worst is not None
    with pytest.raises(InputError, match="leave --weight out"):
        Choice.of_policy(frame, plan, policy, PlanSearch(effort=1, seed=1, weight="w"))


@pytest.mark.parametrize(
    ("worst", "kept"),
    [(1 / 2, ()), (1 / 3, (0.33,)), (1 / 5, (0.33, 0.2)), (1 / 11, (0.33, 0.2, 0.09))],
)
def test_thresholds_are_those_of_groups(worst: float, kept: tuple[float, ...]) -> None:
    """3, 5 and 11 persons keep .33, .2 and .09, as practice reads two decimals."""
    assert TriedPlan(PlanChange(), worst=worst).met_thresholds() == kept


@pytest.mark.parametrize(
    ("ruling", "says"),
    [
        (("group-size", "at least 11 persons", 5.0, 11.0), "k = 11"),
        (("attack", "the attack prosecutor finds nobody above 0.09", 0.2, 0.09), "k = 11"),
        (("diversity", "at least 3 different values", 1.0, 3.0), "l = 3"),
        (("closeness", "groups at most 0.2", 0.5, 0.2), "t = 0.2"),
        (("privacy-budget", "epsilon at most 1", None, 1.0), "no parameter of this method"),
        (("copies", "0 people are copied", 4.0, 0.0), "no parameter of this method"),
        (("question", "means were considered", None, None), "assumptions.toml"),
        (("identifiers", "no names", 1.0, 0.0), "leave out"),
    ],
)
def test_each_unmet_criterion_has_its_change_or_none(ruling, says: str) -> None:
    """What the remedy of a criterion is, in the words of a plan."""
    kind, asks, value, limit = ruling
    unmet = Ruling(kind, asks, passed=False, why="", value=value, low=value, limit=limit)
    unmet = replace(unmet, subject="prosecutor" if kind == "attack" else "")
    assert says in remedy_text(unmet, {"k": 5})


def test_what_a_file_of_another_make_fails_is_met_by_a_release_of_the_original() -> None:
    """It has no k that could be raised."""
    asks = "the attack prosecutor finds nobody above 0.09"
    unmet = Ruling("attack", asks, passed=False, why="", value=0.2, low=0.2, limit=0.09)
    assert remedy_text(unmet, None) == (
        "make a release of the original by a plan, which voile choose finds"
    )


@pytest.mark.slow
def test_the_command_prints_the_choice_and_ends_with_3_where_there_is_none(tmp_path: Path) -> None:
    """A table, thresholds with their source, a paragraph; JSON for programs; no file is written."""
    table, plan = tmp_path / "people.csv", _plan(tmp_path)
    _people(1).write_csv(table)
    call = ("choose", table, "--plan", plan, "--policy", "ema", "--seed", "1")
    done = voile(*call)
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("PRIVATE")
    assert "The least change that meets EMA: policy 0070: k = " in done.stdout
    assert "El Emam and Malin" in done.stdout
    assert 'by = "ROLE, knowing that ' in done.stdout
    assert "can be accepted, and not confirmed" in done.stdout
    document = json.loads(voile(*call, "--json").stdout)
    assert document["found"] in {one["change"] for one in document["plans"] if one["meets"]}
    assert all(one["meets"] or not one["narrow"] for one in document["plans"])
    strict = tmp_path / "strict.toml"
    strict.write_text(f'name = "strict"\n[[criteria]]\n{_worst(0.001)}\n', encoding="utf-8")
    none = voile("choose", table, "--plan", plan, "--policy", strict, "--effort", "2")
    assert none.exit_code == 3
    assert "In the way:" in none.stdout
    told = voile("choose", table, "--plan", plan, "--policy", strict, "--effort", "2", "--json")
    assert [one["remedy"] for one in json.loads(told.stdout)["remedies"]]
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "people.csv",
        "plan.toml",
        "strict.toml",
    ]


@pytest.mark.slow
def test_only_a_plan_that_was_judged_on_all_rows_is_found(tmp_path: Path) -> None:
    """Plans are tried on one sample, and the figures of the one that is found are of all rows."""
    frame, stated = _people(8, rows=300), StatedPlan.of(_plan(tmp_path))
    terms = PlanSearch(seed=1, sample=100)
    choice = Choice.of_policy(frame, _plan(tmp_path), _policy(_worst(0.2)), terms)
    assert choice.sample == 100
    assert choice.found is not None
    assert not choice.found.sampled
    assert choice.found.worst is not None
    assert choice.found.worst <= 0.2
    by_hand = choice.found.change.applied_to(stated).plan
    assert choice.found.objective == pytest.approx(_loss(frame, by_hand))
    assert "a sample of 100 records" in paragraph_of(choice)
    assert sum(not one.sampled for one in choice.tried) <= 3


@pytest.mark.slow
def test_a_sample_holds_all_rows_of_a_person_or_none(tmp_path: Path) -> None:
    """A person with two rows is drawn with both, so that groups of persons stay what they are."""
    frame = pl.concat([_people(9, rows=200), _people(10, rows=200)]).with_columns(
        who=pl.concat([pl.arange(200, eager=True)] * 2).cast(pl.String)
    )
    plan = _plan(tmp_path, PLAN.replace("[roles]", '[roles]\nperson = "who"'))
    choice = Choice.of_policy(
        frame, plan, _policy(_worst(0.3)), PlanSearch(effort=2, seed=1, sample=50)
    )
    assert choice.sample == 100


@pytest.mark.slow
def test_no_sample_is_drawn_of_a_small_table_or_where_none_is_asked(tmp_path: Path) -> None:
    """All figures are of all rows then."""
    for sample in (0, 90):
        terms = PlanSearch(effort=2, seed=1, sample=sample)
        choice = Choice.of_policy(_people(11), _plan(tmp_path), _policy(_worst(0.2)), terms)
        assert choice.sample is None
        assert not any(one.sampled for one in choice.tried)


SECRETS = PLAN.replace('sensitive = ["illness"]', 'sensitive = ["illness", "debt", "score"]')


def _beyond(name: str, high: float = 1.0) -> Ruling:
    found = Ruling("risk", "inference finds", passed=False, why="", value=high, low=high)
    return replace(found, high=high, limit=0.2, side="most", subject="inference", columns=(name,))


def test_sensitive_columns_beyond_a_limit_go_before_quasi_identifiers() -> None:
    """What other sensitive columns of its row tell of one, no larger group hides."""
    plan = parse_plan(tomllib.loads(SECRETS))
    unmet = [_beyond("illness"), _beyond("debt")]
    columns = ("age", "town", "sex", "debt", "score", "illness")
    found = strides(unmet, PlanChange(), plan, columns, 90)
    assert found[0].without == ("debt",)
    assert found[-1].without == ("debt", "age", "town", "score")
    unhidden = replace(_beyond("x"), subject="singling out", columns=("predicates", "score"))
    assert strides([unhidden], PlanChange(), plan, columns, 90)[0].without == ("score",)


def test_sensitive_columns_beyond_a_limit_become_quasi_identifiers() -> None:
    """The last, unless its own values single people out, and those within limits stay."""
    unmet = [_beyond("illness"), _beyond("debt")]
    assert grouping_beyond(unmet, ("debt", "score", "illness")).grouped == ("debt",)
    assert grouping_beyond(unmet, ("illness",)).grouped == ()
    unhidden = replace(_beyond("x"), subject="singling out", columns=("predicates", "illness"))
    assert grouping_beyond([unhidden], ("debt", "illness")).grouped == ("illness",)


@pytest.mark.parametrize(("least", "most"), [(1, 8), (3, 8), (5, 6), (6, 6), (7, 7)])
def test_bisection_begins_anew_where_the_strictest_cannot_be_judged(least: int, most: int) -> None:
    """Nothing is left there to be asked of, and a milder plan may meet the policy all the same."""
    steps = tuple(PlanChange({"k": k}) for k in range(1, 9))
    found = mildest(steps, lambda one: least <= one.parameters["k"] <= most)
    assert found == (None if least == 7 else steps[least - 1])


def test_what_is_no_better_at_the_end_of_the_ladder_is_not_judged_between(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plans of the least and of the greatest loss fail alike: two are judged, and no other."""
    judged: list[PlanChange] = []

    def failing(trial: choosing._Trial, tried: TriedPlan) -> TriedPlan:
        if tried.rulings is None:
            judged.append(tried.change)
            now = replace(tried, rulings=(), unmet=(_beyond("illness"),))
            return trial._replaced(tried, now)
        return tried

    monkeypatch.setattr(choosing._Trial, "_judged", failing)
    for later in ("stride", "mend"):
        monkeypatch.setattr(choosing._Trial, later, lambda _: None)
    policy = _policy('kind = "risk"\nname = "inference"\nmost = 0.2')
    choice = Choice.of_policy(_people(1), _plan(tmp_path), policy, PlanSearch(seed=1))
    assert len(judged) == 2
    assert not any("suppression_limit" in one.change.parameters for one in choice.tried)


def test_publishing_without_any_sensitive_column_is_told_and_not_found(tmp_path: Path) -> None:
    """A table without what it is published for is a last remedy, with its loss."""
    stated = StatedPlan.of(_plan(tmp_path))
    failing = TriedPlan(PlanChange(), objective=0.1, rulings=(), unmet=(_beyond("illness"),))
    bare = TriedPlan(PlanChange(without=("illness",)), objective=0.4, rulings=())
    choice = Choice(stated, _policy(_worst(0.2)), 9, (failing, bare), 24, exhausted=False)
    assert choice.found is None
    assert choice.nearest is failing
    assert choice.last_remedy is bare
    said = "\n".join(choose._findings(choice))
    assert "Without any sensitive column it is met: without column 'illness'" in said


def test_limits_within_intervals_are_told_apart_from_limits_that_are_missed(
    tmp_path: Path,
) -> None:
    """Where each unmet limit lies within its interval, more people held out may decide it."""
    stated, policy = StatedPlan.of(_plan(tmp_path)), _policy(_worst(0.2))
    near = replace(_beyond("illness"), value=0.1, low=0.0, high=0.3)
    for unmet, told in (((near,), True), ((near, _beyond("illness")), False)):
        tried = TriedPlan(PlanChange(), objective=0.1, rulings=(), unmet=unmet)
        choice = Choice(stated, policy, 9, (tried,), 24, exhausted=False)
        assert choice.is_undecided is told
        assert any("--held-out 0.5" in line for line in choose._findings(choice)) is told
    with pytest.raises(InputError, match="held out"):
        PlanSearch(held_out=1.0)


def test_a_sensitive_column_that_is_grouped_is_warned_of(tmp_path: Path) -> None:
    """All persons of a group may have one illness, which nobody counts any more."""
    stated, policy = StatedPlan.of(_plan(tmp_path)), _policy(_worst(0.2))
    for grouped, told in ((("illness",), True), (("town",), False)):
        tried = TriedPlan(PlanChange(grouped=grouped), objective=0.1, rulings=())
        choice = Choice(stated, policy, 9, (tried,), 24, exhausted=False)
        for text in ("\n".join(choose._findings(choice)), paragraph_of(choice)):
            assert ("ensitive columns become quasi-identifiers: 'illness'" in text) is told
            assert ("leave it out" in text) is told
