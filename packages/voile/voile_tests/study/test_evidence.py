"""Evidence about a release: what is left out, what is rehearsed, and what draws what."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from voile.schema.plan import Plan, parse_plan
from voile.study import evidence as evidence_of_studies
from voile.study import rehearsal
from voile.study.evidence import EvidenceTerms, gather
from voile.study.record import Skipped
from voile.study.rehearsal import (
    SplitRows,
    Staged,
    can_link,
    fingerprint,
    hold_rows_out,
    rehearsed_rows,
)
from voile.study.run import prepare_release
from voile.study.single import make_study, run_study
from voile.table import published
from voile.table.engines.duckdb.rows import DuckDBRows
from voile_base.errors import InputError, TableError
from voile_base.randomness import Randomness
from voile_tests.study.instruments import (
    Absentee,
    Crowd,
    Drawn,
    Fails,
    HeldOut,
    Linked,
    Refuses,
    Rows,
    distributions,
    instruments,
)

PEOPLE = pl.DataFrame(
    {
        "age": [float(20 + i % 20) for i in range(60)],
        "city": ["York", "Bath", "Leeds", "York", "Leeds"] * 12,
        "salary": [1000 + 70 * i for i in range(60)],
    }
)
ROLES = {"quasi_identifiers": ["age"], "sensitive": ["salary"], "keep": ["city"]}
MEASURES = (Rows(), HeldOut())
METHODS = {
    "generalization": {"k": 4},
    "ke-anonymity": {"k": 3, "e": 10},
    "clustered-laplace": {"epsilon": 1},
    "dp-generalization": {"k": 2, "epsilon": 20},
    "m-shuffle": {"clusters": 3, "columns": ["age"]},
}
SEED = Randomness.seeded(3)


def plan_of(method: str) -> Plan:
    """A plan of a method for the people."""
    roles = {"quasi_identifiers": ["age"]} if method == "dp-generalization" else ROLES
    return parse_plan(
        {
            "roles": roles,
            "columns": {"age": {"bounds": [16, 80]}},
            "method": {"name": method, **METHODS[method]},
        }
    )


def staged(method="generalization", frame=PEOPLE) -> Staged:
    """A release of the people."""
    plan = plan_of(method)
    return Staged(prepare_release(frame, plan, randomness=SEED).publication.release, plan, frame)


def found(*attacks, measures=MEASURES, method="generalization", **terms):
    """The evidence of these adversaries and measures."""
    tools = instruments(*attacks, measures=measures)
    return gather(staged(method), tools, EvidenceTerms(**terms), SEED)


def test_what_is_left_out_has_its_reason():
    """An attack that makes no sense or fails with a plain error is left out, and spoils nothing."""
    evidence = found(Refuses(), Crowd(), Fails())
    assert [attack.attack for attack in evidence.attacks] == ["crowd"]
    assert [(one.name, one.reason) for one in evidence.attacks_skipped] == [
        ("refuses", "it never makes sense"),
        ("fails", "column 'age' and the plan disagree"),
    ]
    assert evidence.distributions == distributions(None)


def test_a_fault_is_no_finding():
    """An error that no caller can act upon ends the study."""
    with pytest.raises(KeyError):
        found(Fails(faulty=True))


def test_measures_that_fail():
    """A measure or a comparison of distributions that fails is left out with its reason."""

    class Failing(Rows):
        def measure(self, comparison):
            raise TableError("there are no groups")

    def compare(comparison):
        raise TableError("no column is shown")

    tools = replace(instruments(measures=(Failing("odd"), Rows())), distributions=compare)
    evidence = gather(staged(), tools, EvidenceTerms(), SEED)
    assert [one.name for one in evidence.utility_skipped] == ["odd", "distributions"]
    assert [one.measure for one in evidence.utility] == ["class-size", "rows", "nothing"]
    assert evidence.distributions == ()


def test_rehearsal_leaves_rows_out():
    """Attacks and measures that need people who are not in a release look at one of fewer rows."""
    evidence = found(Crowd(), Absentee(), held_out=0.3)
    assert evidence.rehearsed == ("absentee", "held-out")
    assert evidence.held_out == 18
    assert evidence.attacks[1].notes == ("42 published, 42 in, 18 out",)
    assert evidence.utility[-1].value == 18
    assert "rehearsal" in evidence.seconds


def test_no_rehearsal_without_need():
    """Where nothing needs a rehearsal none is made."""
    evidence = found(Crowd(), measures=(Rows(),))
    assert evidence.rehearsed == ()
    assert evidence.held_out == 0
    assert "rehearsal" not in evidence.seconds


def test_risks_are_counted_on_the_rehearsal_and_their_time_is_told():
    """With as many targets as are asked for; a count that fails is left out with its reason."""

    def count(rehearsal, targets, randomness, progress):
        return [Skipped(f"{targets:,} of {rehearsal.release.rows:,}", "none was counted")]

    def fail(*given):
        raise TableError("no column is shown.")

    for counting, left_out in (
        (count, Skipped("7 of 42", "none was counted")),
        (fail, Skipped("three risks", "no column is shown")),
    ):
        tools = replace(instruments(measures=(Rows(),)), risks=counting)
        evidence = gather(staged(), tools, EvidenceTerms(targets=7, held_out=0.3), SEED)
        assert (evidence.risks, evidence.risks_skipped) == ((), (left_out,))
        assert set(evidence.seconds) == {"rehearsal", "risks", "utility"}


@pytest.mark.parametrize("chosen", ["flash", "datafly", "mondrian"])
def test_a_rehearsal_is_made_by_the_algorithm_that_the_release_chose(chosen):
    """Fewer rows might choose another, of which the risks are not those of the release."""
    plan = plan_of("generalization")
    loose = {**plan.method.parameters, "suppression_limit": 0.1}
    plan = replace(plan, method=replace(plan.method, parameters=loose))
    release = prepare_release(PEOPLE, plan, randomness=SEED).publication.release
    method = {**release.method, "decision": {"algorithm": chosen}}
    seen = []

    def count(rehearsal, targets, randomness, progress):
        seen.append(rehearsal)
        return ()

    tools = replace(instruments(measures=(Rows(),)), risks=count)
    subject = Staged(replace(release, method=method), plan, PEOPLE)
    gather(subject, tools, EvidenceTerms(held_out=0.3), SEED)
    (made,) = seen
    assert made.release.method["algorithm"] == chosen
    stated = {**loose, "algorithm": chosen}
    if chosen == "mondrian":
        stated = {**loose, "algorithm": chosen, "sets": True, "suppression_limit": 0}
    explicit = replace(plan, method=replace(plan.method, parameters=stated))
    again = SplitRows(made.original.drop(made.link), None).rehearse(explicit, SEED)
    assert fingerprint(again.release) == fingerprint(made.release)


def test_no_rows_held_out():
    """Without rows that were held out, what needs them is left out."""
    evidence = found(Absentee(), held_out=0)
    assert evidence.attacks == ()
    assert [one.reason for one in evidence.attacks_skipped] == ["no rows were held out"]
    assert [one.reason for one in evidence.utility_skipped] == ["no rows were held out"]


def test_a_rehearsal_that_cannot_be():
    """Where fewer rows are too few for the plan, what needs it is left out or believed."""
    few = staged("ke-anonymity", PEOPLE.head(3).with_columns(city=pl.lit("York")))
    evidence = gather(few, instruments(Absentee(), Linked()), EvidenceTerms(held_out=0.4), SEED)
    (reason,) = (one.reason for one in evidence.attacks_skipped)
    assert reason.startswith("no rehearsal could be made")
    assert [attack.checked for attack in evidence.attacks] == [False]  # believed, at least


@pytest.mark.parametrize("method", METHODS)
def test_links_are_counted_where_rows_can_be_told(method):
    """An attack that can only believe is counted where rows keep their numbers.

    On the release itself, of all 60 rows, where making it once more shows the same; else on a
    rehearsal of fewer.
    """
    evidence = found(Linked(), measures=(), method=method)
    (attack,) = evidence.attacks
    assert attack.checked == can_link(plan_of(method)) == (method != "dp-generalization")
    same = method == "generalization"
    assert attack.targets == (60 if same else 48 if attack.checked else 1)
    assert evidence.rehearsed == (("linked",) if attack.checked and not same else ())


def test_a_link_takes_a_free_name():
    """The column of row numbers does not take the place of one that is there."""
    frame = PEOPLE.rename({"city": "row"})
    plan = plan_of("generalization")
    plan = replace(plan, roles=replace(plan.roles, keep=("row",)))
    rehearsed = hold_rows_out(frame, 0.5, SEED).rehearse(plan, SEED)
    assert rehearsed.link == "row'"
    assert rehearsed.release.to_native()["row'"].n_unique() == 30
    seen = rehearsed.comparison(SEED)
    assert seen.original.frame.columns == frame.columns
    assert seen.published.frame.columns == ["group", "age.low", "age.high", "salary", "row"]


def test_rows_are_held_out_at_random():
    """The same draws hold the same rows out; kept and held out together are the table."""
    first, same, other = (
        hold_rows_out(PEOPLE, 0.25, draws) for draws in (SEED, SEED, SEED.within("other"))
    )
    assert first.held_out.equals(same.held_out)
    assert not first.held_out.equals(other.held_out)
    assert pl.concat([first.kept, first.held_out]).sort("salary").equals(PEOPLE)
    assert hold_rows_out(PEOPLE.head(2), 0.2, SEED).held_out is None


def test_attacks_draw_by_themselves():
    """What one attack draws does not depend on which others are run."""
    alone = found(Crowd()).attacks[0]
    assert found(Absentee(), Linked(), Crowd()).attacks[2] == alone


def test_publishing_the_same_rows_again_does_not_draw_other_evidence(tmp_path):
    """Draws follow from the published files: of the same rows they are the same, of others not."""
    tools = instruments(Drawn(), measures=())

    def success(out: str, frame: pl.DataFrame) -> float:
        made = make_study(frame, plan_of("generalization"), tmp_path / out, instruments=tools)
        return made.record.attacks[0]["success"]["value"]

    first = success("first", PEOPLE)
    assert success("again", PEOPLE) == first
    assert success("other", PEOPLE.head(50)) != first


@pytest.mark.parametrize(
    ("terms", "message"),
    [
        ({"targets": 0}, "at least 1"),
        ({"targets": True}, "at least 1"),
        ({"held_out": 1.0}, "below 1"),
        ({"held_out": -0.1}, "at least 0"),
        ({"held_out": float("nan")}, "at least 0"),
    ],
)
def test_terms_that_cannot_be(terms, message):
    """Wrong numbers of a study are met before anything is published."""
    with pytest.raises(InputError, match=message):
        EvidenceTerms(**terms)


@pytest.mark.slow
def test_a_rehearsal_has_the_weights_that_are_not_published(tmp_path):
    """A file with a column that is only [roles] weight: what learns from rows still can."""
    PEOPLE.with_columns(w=pl.lit(3)).write_csv(tmp_path / "people.csv")
    plan = tmp_path / "plan.toml"
    plan.write_text(
        '[roles]\nperson = "row"\nquasi_identifiers = ["age"]\nsensitive = ["city"]\nweight = "w"\n'
        '[columns.age]\nbounds = [16, 80]\n[method]\nname = "generalization"\nk = 4\n'
    )
    record = run_study(tmp_path / "people.csv", plan, seed=1, attacks=["membership"])
    assert "membership" in record.evidence["rehearsed"]
    reasons = [one.reason for one in (*record.attacks_skipped, *record.utility_skipped)]
    assert not any("'w'" in reason for reason in reasons)


MANY_PEOPLE = pl.DataFrame(
    {
        "age": [20 + i * 7 % 40 for i in range(400)],
        "city": [["York", "Bath", None, "Leeds"][i * i % 4] for i in range(400)],
        "salary": [1000 + 10 * (i * 11 % 37) for i in range(400)],
        "illness": [f"illness {i % 7 * i % 5}" for i in range(400)],
    }
)
PLAN_OF_MANY = parse_plan(
    {
        "roles": {"quasi_identifiers": ["age", "city"], "sensitive": ["salary", "illness"]},
        "columns": {"age": {"bounds": [16, 80]}},
        "method": {"name": "generalization", "k": 4},
    }
)


def study_of_many(folder):
    """A study of many people, which DuckDB reads from a file and holds."""
    source = folder / "people.parquet"
    MANY_PEOPLE.write_parquet(source)
    return make_study(source, PLAN_OF_MANY, seed=1, engine="duckdb").record


@pytest.fixture
def many(monkeypatch):
    """As if 100 rows were many."""
    for module in (published, rehearsal, evidence_of_studies):
        monkeypatch.setattr(module, "MANY", 100)
    monkeypatch.setattr(published, "LARGE", 100)


@pytest.fixture
def never_at_once(monkeypatch):
    """DuckDB gives more than 100 rows to nobody at once; how often it was asked for few."""
    asked, whole = [], DuckDBRows.to_arrow

    def to_arrow(rows):
        assert rows.height <= 100, "the table was collected"
        asked.append(rows.height)
        return whole(rows)

    monkeypatch.setattr(DuckDBRows, "to_arrow", to_arrow)
    return asked


@pytest.mark.slow
def test_figures_of_many_rows(tmp_path, request):
    """Of many rows all is counted as of few, and what needs a rehearsal looks at a stated sample.

    No table crosses at once, and rates from the sample agree with those of all rows.
    """
    few = study_of_many(tmp_path)
    request.getfixturevalue("many")
    request.getfixturevalue("never_at_once")
    found = study_of_many(tmp_path)
    assert found.fingerprint == few.fingerprint
    assert found.distributions == few.distributions
    rehearsed = set(found.evidence["rehearsed"])
    assert rehearsed == set(few.evidence["rehearsed"]) == {"membership", "machine-learning"}
    for one, whole in zip(found.utility, few.utility, strict=True):
        if one["measure"].startswith("machine-learning"):
            assert one["notes"][-1].startswith("of a rehearsal made of 50 of 400 rows, a sample")
        else:
            assert one == whole
    for one, whole in zip(found.attacks, few.attacks, strict=True):
        if one["attack"] not in rehearsed:
            assert one == whole
            continue
        assert one["notes"][-1].startswith("of a rehearsal made of 50 of 400 rows, a sample")
        assert not any("sample" in note for note in whole["notes"])
        assert one["success"]["low"] <= whole["success"]["high"]
        assert whole["success"]["low"] <= one["success"]["high"]


def test_a_rehearsal_of_many_rows_has_whole_persons(many):
    """Of many rows a rehearsal is made of half as many as are many: of persons, all their rows."""
    assert rehearsed_rows(PEOPLE, SEED) is PEOPLE
    assert rehearsed_rows(MANY_PEOPLE, SEED).height == 50
    persons = MANY_PEOPLE.with_columns(person=pl.int_range(400) // 4)
    some = rehearsed_rows(persons, SEED, "person")
    assert set(some.group_by("person").len()["len"]) == {4}
    assert abs(some.height - 50) <= 2
