"""Prosecutor, journalist and marketer against the textbook, and against counts."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import voile
from voile.attack.linkage import JournalistAttack, MarketerAttack, ProsecutorAttack
from voile.publish.clustered_laplace import ClusteredLaplace
from voile.publish.dp_generalization import DPGeneralization
from voile.publish.generalization import Generalization
from voile.publish.ke_anonymity import KEAnonymity
from voile.publish.m_shuffle import MShuffle
from voile.schema.plan import parse_plan
from voile.table.opening import open_frame, open_table, published_rows
from voile_base.errors import InputError, TableError
from voile_base.randomness import Randomness
from voile_testing.plugin import examples
from voile_tests.attack.by_definition import release_of
from voile_tests.attack.small_releases import METHODS, SCORES, small_plan, small_release, words
from voile_tests.releases import described, promised

ATTACKS = (ProsecutorAttack, JournalistAttack, MarketerAttack)


def textbook(published, population):
    """Risks by their definitions, from the combinations of all rows and of all people.

    Largest and mean of 1 / f for the prosecutor; of 1 / F for the journalist, whose mean is that
    of the marketer.
    """
    f, everybody = Counter(published), Counter(population)
    largest = max(Fraction(1, count) for count in f.values())
    journalist = [Fraction(1, everybody[shown]) for shown in published]
    mean = sum(journalist) / len(published)
    return (largest, Fraction(len(f), len(published))), (max(journalist), mean)


# --- generalized rows


@settings(max_examples=examples(40))
@given(st.data())
def test_risks_are_those_of_the_textbook(data):
    """Any table, any rows left out, a population that is larger still, with a link and without."""
    town = st.sampled_from("abc")
    count = data.draw(st.integers(1, 12))
    towns = data.draw(st.lists(town, min_size=count, max_size=count))
    others = data.draw(st.lists(town, max_size=6))
    kept = data.draw(st.lists(st.integers(0, count - 1), min_size=1, unique=True))
    shown = [towns[i] for i in kept]
    release = release_of({"town": shown, "id": kept}, known=("town",))
    original = pl.DataFrame({"town": towns, "id": range(count)})
    wider = pl.DataFrame({"town": towns + others, "id": range(count + len(others))})
    for link, blind in (("id", release), (None, release_of({"town": shown}, known=("town",)))):
        attacked = {"release": blind, "original": original, "randomness": Randomness.seeded(1)}
        (most, mean), journalist = textbook(shown, towns)
        found = ProsecutorAttack(targets=None, link=link).run(**attacked)
        assert found.checked
        assert found.worst.probability == pytest.approx(float(most))
        assert found.success.value == found.probability.value == pytest.approx(float(mean))
        assert found.baseline == 1 / len(shown)
        for attack in (JournalistAttack, MarketerAttack):
            for population, people in ((None, towns), (wider, towns + others)):
                found = attack(targets=None, link=link, population=population).run(**attacked)
                most, mean = textbook(shown, people)[1]
                assert found.checked
                assert found.worst.probability == pytest.approx(float(most))
                assert found.success.value == pytest.approx(float(mean))
                assert found.baseline == 1 / len(people)
        assert journalist == textbook(shown, towns)[1]


ADULT = ("sex", "age", "race", "marital-status", "education", "native-country", "workclass")


@pytest.fixture(scope="module")
def adult(shared_data):
    """The 30,162 complete rows and the plan with their hierarchies."""
    census = shared_data / "census"
    files = census / "hierarchies" / "adult-arx"
    plan = parse_plan(
        {
            "roles": {"quasi_identifiers": list(ADULT), "sensitive": ["salary-class"]},
            "columns": {name: {"hierarchy": str(files / f"{name}.csv")} for name in ADULT},
        }
    )
    return census / "adult-arx.csv", plan


@pytest.mark.parametrize(
    ("algorithm", "limit"),
    [("flash", 0.02), pytest.param("mondrian", 0.0, marks=pytest.mark.slow)],
)
def test_adult_is_as_risky_as_its_groups_are_small(adult, algorithm, limit):
    """With k = 5: largest risk 1 / smallest group, mean risk groups / rows, by counting groups.

    Both are also what ARX and sdcMicro call the prosecutor's risk: the largest, and the mean over
    rows, of 1 / f.
    """
    path, plan = adult
    table = open_table(path, plan)
    release = Generalization(k=5, algorithm=algorithm, suppression_limit=limit).publish(table)
    shown = release.to_native()
    known = [name for name in shown.columns if name.rpartition(".")[0] in ADULT or name in ADULT]
    sizes = np.array(list(Counter(shown.select(known).iter_rows()).values()))
    original = pl.read_csv(path, separator=";")
    found = ProsecutorAttack(targets=None).run(release, original, plan)
    assert found.checked
    assert found.targets == release.rows == sizes.sum()
    assert found.worst.probability == pytest.approx(1 / sizes.min())
    assert found.exact
    assert found.success.value == found.success.low == len(sizes) / sizes.sum()
    assert found.notes[0].endswith(f"the rarest stands in {sizes.min():,} of the rows")
    found = MarketerAttack(targets=300).run(release, original, plan)
    assert found.checked
    assert found.exact, "closed forms draw no targets"
    assert found.targets == found.drawn_from == release.rows
    assert found.success.value == len(sizes) / sizes.sum()
    assert found.worst.probability == 1 / sizes.min()


def test_whoever_does_not_know_the_sample_finds_fewer():
    """Sampled rows: the prosecutor has 1 / f, who knows of the sample, the journalist 1 / F."""
    age = 20 + words("age", 300) % 30
    plan = parse_plan({"roles": {"quasi_identifiers": ["age"]}})
    frame = pl.DataFrame({"age": age.astype(int)})
    release = DPGeneralization(k=2, epsilon=5).publish(
        open_frame(frame, plan), Randomness.seeded(3)
    )
    shown = release.to_native()
    ends = (
        list(zip(shown["age.low"], shown["age.high"], strict=True))
        if "age.low" in shown
        else [(value, value) for value in shown["age"]]
    )
    f = Counter(ends)
    fits = {pair: int(((age >= pair[0]) & (age <= pair[1])).sum()) for pair in f}
    assert any(fits[pair] > f[pair] for pair in f)
    run = {"release": release, "original": frame, "plan": plan}
    prosecutor, journalist = (a(targets=None).run(**run) for a in ATTACKS[:2])
    assert prosecutor.success.value == pytest.approx(len(f) / len(ends))
    assert journalist.success.value == pytest.approx(np.mean([1 / fits[pair] for pair in ends]))
    assert journalist.worst.probability == pytest.approx(1 / min(fits.values()))
    assert prosecutor.worst.probability == pytest.approx(1 / min(f.values()))


def test_groups_that_overlap_are_counted_with_a_link_only():
    """A row in [1, 3], one in [3, 5]: for the 3 both fit, and nothing tells which is his."""
    columns = {"age.low": [1, 3, 3], "age.high": [3, 5, 5], "id": [0, 1, 2]}
    linked = described(
        table=published_rows(pl.DataFrame(columns)),
        method={"name": "by hand"},
        guarantee=promised("ranking", {}, "as stated"),
        roles={"ranking": ("age.low", "age.high")},
        release_id="0" * 32,
        publishable=True,
    )
    people = pl.DataFrame({"age": [3, 3, 5, 4], "id": [0, 1, 2, 3]})
    found = ProsecutorAttack(link="id").run(linked, people)
    assert found.checked
    assert found.success.value == pytest.approx((1 / 3 + 1 / 3 + 1 / 2) / 3)
    assert found.notes == ("2 of the targets fit rows of several groups, which overlap",)
    blind = linked.table.to_native().drop("id")
    found = ProsecutorAttack().run(
        described(published_rows(blind), linked.method, linked.guarantee, linked.roles),
        people.drop("id"),
        randomness=Randomness.seeded(1),
    )
    assert not found.checked
    assert "no count of right guesses" in found.assumptions[-1]
    # The row in [1, 3] fits two people, those in [3, 5] all four.
    found = JournalistAttack(link="id").run(linked, people)
    assert found.success.value == pytest.approx((1 / 2 + 1 / 4 + 1 / 4) / 3)


# --- closed forms

VISITS = parse_plan({"roles": {"person": "who", "quasi_identifiers": ["age", "town"]}})


def persons_by_hand(rows):
    """The risk of each person of (who, age, town), whose rows are all published, by definition."""
    fit = {row[1:]: {who for who, *rest in rows if tuple(rest) == row[1:]} for row in rows}
    risks = {}
    for who, *known in rows:
        risks.setdefault(who, []).append(Fraction(1, len(fit[tuple(known)])))
    mean = sum(sum(each) / len(each) for each in risks.values()) / len(risks)
    return mean, max(max(each) for each in risks.values()), len(risks)


@settings(max_examples=examples(60))
@given(
    st.lists(
        st.tuples(st.sampled_from("xyz"), st.integers(1, 2), st.sampled_from("ab")),
        min_size=1,
        max_size=9,
    )
)
def test_persons_are_looked_for_among_persons(rows):
    """A person with many rows is one: 1 over the persons who fit, and the mean over persons."""
    frame = pl.DataFrame(rows, ["who", "age", "town"], orient="row")
    release = release_of(frame.drop("who").to_dict(as_series=False), known=("age", "town"))
    mean, most, persons = persons_by_hand(rows)
    for attack in ATTACKS:
        found = attack(targets=1).run(release, frame, VISITS)
        assert found.exact
        assert found.aimed_at == "person"
        assert found.targets == found.drawn_from == persons
        assert found.success.value == float(mean)
        assert found.worst.probability == float(most)
        assert found.baseline == 1 / persons
        assert f"all {persons} person" in found.told_targets or persons == 1


def test_a_group_of_one_person_gives_that_person_away():
    """Six rows that look alike, five of them one person's: 1 in 2, not 1 in 6; alone, certain."""
    rows = [("x", 1, "a")] * 5 + [("y", 1, "a")] + [("z", 2, "b")] * 6
    frame = pl.DataFrame(rows, ["who", "age", "town"], orient="row")
    release = release_of(frame.drop("who").to_dict(as_series=False), known=("age", "town"))
    found = ProsecutorAttack().run(release, frame, VISITS)
    assert found.worst.probability == 1
    assert found.success.value == float(Fraction(2, 3))
    assert "one row of a person" in found.assumptions[0]
    blind = ProsecutorAttack().run(release, frame)
    assert blind.worst.probability == 1 / 6, "rows alone make it look safe"


@pytest.mark.parametrize("algorithm", ["flash", "mondrian"])
def test_published_persons_are_recounted(algorithm):
    """Releases of 300 visits of 90 persons, k = 4: an independent recount of every group."""
    count = 300
    frame = pl.DataFrame(
        {
            "who": words("who", count) % 90,
            "age": (18 + words("age", count) % 40).astype(int),
            "town": _TOWNS[words("town", count) % 3],
        }
    )
    plan = parse_plan(
        {
            "roles": {"person": "who", "quasi_identifiers": ["age", "town"]},
            "columns": {"age": {"bounds": [18, 57], "intervals": {"widths": [10, 40]}}},
        }
    )
    release = Generalization(k=4, algorithm=algorithm).publish(open_frame(frame, plan))
    shown = release.with_intervals_as_text().to_native().select("age", "town")
    fits = [
        {group for group in shown.unique().iter_rows() if covers(group, row)}
        for row in frame.drop("who").iter_rows()
    ]
    assert all(len(groups) == 1 for groups in fits)
    rows = [(who, *next(iter(groups))) for who, groups in zip(frame["who"], fits, strict=True)]
    mean, most, persons = persons_by_hand(rows)
    found = ProsecutorAttack().run(release, frame, plan)
    assert found.exact
    assert (found.success.value, found.worst.probability) == (float(mean), float(most))
    assert found.targets == persons
    assert most <= Fraction(1, 4)


def covers(group, row):
    """Whether published texts, "[18, 27]" or "a|b" or "*", cover an age and a town."""
    age, town = group
    low, high = (float(end) for end in str(age).strip("[]").split(",")) if age != "*" else (0, 99)
    return low <= row[0] <= high and (town == "*" or row[1] in town.split("|"))


# --- weak and ideal releases


def test_an_identity_release_gives_everybody_away():
    """Everybody is different and every value is published: all are found, by all three."""
    ages = pl.DataFrame({"age": range(200)})
    release = release_of({"age": list(reversed(range(200)))}, known=("age",))
    for attack in ATTACKS:
        found = attack().run(release, ages)
        assert found.success.value == found.worst.probability == found.typical.probability == 1
        assert found.success.low > 0.98
        assert found.advantage == pytest.approx(200)


@pytest.mark.parametrize("attack", ATTACKS)
def test_ideal_releases_leave_guessing(attack):
    """One group for all: the baseline, exactly.  Rows of somebody else: within the interval.

    In the second, 400 rows of random ages of 40 are linked to people of other random ages; the
    interval of 95 % would miss a true rate of guessing in one table of twenty.
    """
    everybody = release_of(
        {"age.low": [0] * 50, "age.high": [99] * 50}, known=("age.low", "age.high")
    )
    found = attack().run(everybody, pl.DataFrame({"age": range(50)}))
    assert found.success.value == found.probability.value == found.baseline == 1 / 50

    shown, own = (words(label, 400).astype(int) % 40 for label in ("shown", "own"))
    strange = release_of({"age": shown, "id": range(400)}, known=("age",))
    found = attack(link="id").run(strange, pl.DataFrame({"age": own, "id": range(400)}))
    assert found.success.value == pytest.approx(found.baseline, rel=0.2, abs=0.01)


def test_noise_is_counted_with_a_link_and_believed_without():
    """Little noise finds people, much noise leaves guessing; both in counts."""
    weights = np.round(words("weight", 300) / 2.0**53 * 100, 2)
    frame = pl.DataFrame({"weight": weights, "id": range(300)})
    roles = voile.Roles(quasi_identifiers=("weight",), keep=("id",), keep_unique=("id",))
    plan = voile.Plan(roles=roles, columns={"weight": voile.ColumnPlan(bounds=(0, 100))})

    def published(epsilon):
        method = ClusteredLaplace(epsilon=epsilon, shares=[1.0])
        return method.publish(open_frame(frame, plan), Randomness.seeded(2))

    quiet, loud = published(20_000), published(0.001)
    for attack in ATTACKS:
        found = attack(link="id").run(quiet, frame, plan)
        assert found.checked
        assert found.success.low > 0.5
        found = attack(link="id").run(loud, frame, plan)
        assert found.success.value == pytest.approx(found.baseline, rel=0.2, abs=0.01)
        believed = attack().run(loud, frame.drop("id"), plan, Randomness.seeded(1))
        assert not believed.checked
        assert believed.probability.value == pytest.approx(believed.baseline, rel=0.1)


# --- permuted columns

_TOWNS = np.array(list("abcdef"))


@cache
@cache
def shuffled(seed, method, rows=150):
    """150 people with numbers, and their release: illness or towns and jobs are permuted."""
    frame = pl.DataFrame(
        {
            "id": range(rows),
            "sex": np.array(["f", "m"])[words("sex", rows, seed) % 2],
            "town": _TOWNS[words("town", rows, seed) % 6],
            "job": _TOWNS[words("job", rows, seed) % 6],
            "ill": (words("ill", rows, seed) % 5).astype(int),
        }
    )
    roles = voile.Roles(
        quasi_identifiers=("sex", "town", "job"),
        sensitive=("ill",),
        keep=("id",),
        keep_unique=("id",),
    )
    table = open_frame(frame, voile.Plan(roles=roles))
    return method.publish(table, Randomness.seeded(seed)), frame


@pytest.mark.slow
@pytest.mark.parametrize("attack", [ProsecutorAttack, JournalistAttack])
@pytest.mark.parametrize(
    ("method", "known"),
    [(MShuffle(clusters=3, columns=2), None), (KEAnonymity(k=2, e=1), ("sex", "town", "ill"))],
)
def test_drawn_owners_stand_for_the_true_ones(attack, method, known):
    """Permuted rows: rates with drawn owners are those that a link counts, on average.

    20 releases of 150 rows.  The difference of the two means is within 4 of its standard
    deviations, as 20 differences show it; a link to wrong people is told apart by as much.
    """
    counted, drawn, wrong = [], [], []
    for seed in range(20):
        release, frame = shuffled(seed, method)
        run = {"release": release, "randomness": Randomness.seeded(seed)}
        linked, blind = attack(columns=known, link="id"), attack(columns=known)
        counted.append(linked.run(original=frame, **run).success.value)
        found = blind.run(original=frame.drop("id"), **run)
        assert found.checked
        drawn.append(found.success.value)
        moved = frame.with_columns(pl.col("id").reverse())
        wrong.append(linked.run(original=moved, **run).success.value)

    def differ(first, second):
        apart = np.subtract(first, second)
        if np.allclose(apart, 0):  # groups of (k,e) are ranges: whoever is drawn counts the same
            return 0
        return abs(apart.mean()) / (apart.std(ddof=1) / np.sqrt(len(apart)))

    assert differ(drawn, counted) < 4
    assert differ(wrong, counted) > 4


def test_columns_that_stay_are_named():
    """Whoever is found by them is found by design; the notes say so, of shuffles and of (k,e)."""
    for method, bare in (("m-shuffle", "sex"), ("ke-anonymity", "age, sex")):
        found = ProsecutorAttack().run(small_release(method), SCORES, small_plan(method))
        assert found.notes[-1].startswith(f"{bare}: published as they are")
    found = ProsecutorAttack().run(
        small_release("generalization"), SCORES, small_plan("generalization")
    )
    assert not any("as they are" in note for note in found.notes)


# --- all methods, results, bad calls


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("attack", ATTACKS)
def test_every_method_can_be_attacked(attack, method):
    """Rates are rates, no target is given away more than wholly, and the k of a method holds."""
    release, plan = small_release(method), small_plan(method)
    assert attack().refusal(release, plan) is None
    found = attack(targets=None).run(release, SCORES, plan, Randomness.seeded(1))
    assert found.targets == release.rows
    assert 0 < found.typical.probability <= found.worst.probability <= 1
    assert found.attack == attack().name
    if method in {"generalization", "dp-generalization", "ranking"}:
        assert found.worst.probability <= 1 / release.guarantee.parameters["k"] + 1e-12


def test_targets_are_drawn_by_what_rows_show():
    """A seed and the rows decide, not the order of rows or of people."""
    release, plan = small_release("m-shuffle"), small_plan("m-shuffle")
    turned = replace(release, table=published_rows(release.to_native().reverse()))
    for attack in ATTACKS:
        one, other = (
            attack(targets=30).run(which, people, plan, Randomness.seeded(4))
            for which, people in ((release, SCORES), (turned, SCORES.reverse()))
        )
        assert one.targets == 30
        # Which of several like people owns a row is drawn; who they may be is not.
        assert one.success.value == pytest.approx(other.success.value, abs=0.1)
        again = attack(targets=30).run(release, SCORES, plan, Randomness.seeded(4))
        assert again == one


def test_rows_of_nobody_fail_and_are_told():
    """A row whose person is not in the population; all rows of nobody leave no target to show."""
    release = release_of({"age": [1, 2, 3], "id": [1, 2, 3]}, known=("age",))
    people = pl.DataFrame({"age": [1, 2], "id": [1, 2]})
    for attack in ATTACKS:
        for link in ("id", None):
            found = attack(link=link).run(release, people)
            assert found.success.value == pytest.approx(2 / 3)
            assert any(note.startswith("1 of the rows belong to nobody") for note in found.notes)
        found = attack().run(release, pl.DataFrame({"age": [7], "id": [9]}))
        assert found.success.value == 0
        assert found.worst is None


def test_attacks_are_refused_where_nobody_is_known():
    """No quasi-identifier: refused, unless columns are named; and bad calls are told."""
    release = release_of({"age": [1, 2]}, known=())
    for attack in ATTACKS:
        assert "no quasi-identifier" in attack().refusal(release)
        with pytest.raises(InputError, match="makes no sense here"):
            attack().run(release, pl.DataFrame({"age": [1, 2]}))
        assert attack(columns=["age"]).refusal(release) is None
        assert (
            attack(columns=["age"]).run(release, pl.DataFrame({"age": [1, 2]})).success.value == 1
        )
        with pytest.raises(InputError, match="at least 1"):
            attack(targets=0)
        with pytest.raises(InputError, match="is the link"):
            attack(columns=["age"], link="age")
        with pytest.raises(InputError, match="no column 'id'"):
            attack(columns=["age"], link="id").run(release, pl.DataFrame({"age": [1, 2]}))
        with pytest.raises(TableError, match="no column 'age'"):
            attack(columns=["age"]).run(release, pl.DataFrame({"town": [1, 2]}))


@pytest.mark.slow
def test_moved_coordinates_tell_nobody_apart():
    """Owners of reports are told by the other columns, and nothing is counted that was not told."""
    release, plan = (
        small_release("geo-indistinguishability"),
        small_plan("geo-indistinguishability"),
    )
    found = ProsecutorAttack(targets=None).run(release, SCORES, plan, Randomness.seeded(1))
    assert not found.checked
    assert not any("nobody who is known" in note for note in found.notes)
    assert found.success.value > 10 * found.baseline
    with pytest.raises(InputError, match="nobody is known by column 'latitude'"):
        ProsecutorAttack(columns=["latitude"]).run(release, SCORES, plan)
