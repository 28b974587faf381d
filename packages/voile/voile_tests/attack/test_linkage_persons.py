"""Risks of persons against a recount that knows whose each published row is.

The recount is of small tables by plain loops.  It reads a number that rows carry to tell whose they
are; the adversaries do not see it, unless a test says so.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voile.attack.linkage import JournalistAttack, MarketerAttack, ProsecutorAttack
from voile.publish.generalization import Generalization
from voile.publish.m_shuffle import MShuffle
from voile.release.release import Release
from voile.schema.plan import Plan, parse_plan
from voile.table.opening import open_frame
from voile_base.errors import TableError
from voile_base.randomness import Randomness
from voile_testing.plugin import examples
from voile_tests.attack.by_definition import release_of

TREE = {"north": ["a", "b"], "south": ["c", "d", "e"]}
"""Towns in a tree, whose small branches Mondrian leaves together under the tree's own name."""
NODES = {**{town: {town} for towns in TREE.values() for town in towns}, "*": set("abcde")}
NODES |= {name: set(towns) for name, towns in TREE.items()}


def plan_of(*keep: str, nulls: str = "category") -> Plan:
    """Persons with ages, towns in a tree and jobs; ``keep`` are columns that are kept."""
    return parse_plan(
        {
            "nulls": nulls,
            "roles": {
                "person": "who",
                "quasi_identifiers": ["age", "town", "job"],
                "keep": list(keep),
                "keep_unique": list(keep),
            },
            "columns": {
                "age": {"bounds": [0, 9], "intervals": {"widths": [2, 5]}},
                "town": {"tree": TREE},
            },
        }
    )


def frame_of(rows: list[tuple[int, int | None, str, str]]) -> pl.DataFrame:
    """Rows of (who, age, town, job) with their numbers."""
    frame = pl.DataFrame(rows, ["who", "age", "town", "job"], orient="row")
    return frame.with_columns(pl.col("age").cast(pl.Int64)).with_row_index("id")


def cell_of(shown: dict) -> tuple:
    """What a published row shows of its quasi-identifiers."""
    return tuple(shown.get(name) for name in ("age", "age.low", "age.high", "town", "job"))


def covers(shown: dict, row: dict, *, levels: bool, mixed: set) -> bool:
    """Whether a published row may be that of a row of the table, by its quasi-identifiers.

    ``mixed``: groups that show no age and mix missing and other ages, as Mondrian's may; with
    ``levels``, in a full domain, a missing age is missing, or one of all that are possible.
    """
    low, high = (shown.get(f"age.{end}", shown.get("age")) for end in ("low", "high"))
    if low is None:
        age = cell_of(shown) in mixed or row["age"] is None
    elif row["age"] is None:
        age = levels and (low, high) == (0, 9)
    else:
        age = low <= row["age"] <= high
    town = any(row["town"] in NODES[name] for name in shown["town"].split("|"))
    return age and town and (shown["job"] == "*" or row["job"] in shown["job"].split("|"))


def recount(release: Release, frame: pl.DataFrame) -> dict[str, tuple[Fraction, Fraction]]:
    """Mean and worst risk of the prosecutor and of the journalist, by definition.

    That is the greatest of each row, however missing cells are read, but not so that fewer people
    fit than are needed for the rows.
    """
    held = sorted(Counter(frame["who"].to_list()).values(), reverse=True)
    published, levels = release.to_native(), "levels" in release.method["decision"]
    people = frame.to_dicts()
    whose = {row["id"]: row["who"] for row in people}
    shown = published.to_dicts()
    own = {row["id"]: row for row in shown}
    risks: dict[str, dict[int, list[Fraction]]] = {
        "prosecutor": defaultdict(list),
        "journalist": defaultdict(list),
    }
    for row in people:
        if row["id"] not in own:
            continue
        # Of all linkers the one who reads the own cell alone as standing for other values, too.
        mixed = {cell_of(own[row["id"]])} if row["age"] is not None else set()
        among = {whose[one["id"]] for one in shown if covers(one, row, levels=levels, mixed=mixed)}
        risks["prosecutor"][row["who"]].append(Fraction(1, len(among)))
        fitting = {
            other["who"]
            for other in people
            if covers(own[row["id"]], other, levels=levels, mixed=mixed)
        }
        alike = sum(cell_of(one) == cell_of(own[row["id"]]) for one in shown)
        least = next(many for many in itertools.count(1) if sum(held[:many]) >= alike)
        risks["journalist"][row["who"]].append(Fraction(1, max(len(fitting), least)))
    return {
        name: (
            sum(sum(each) / len(each) for each in found.values()) / len(found),
            max(max(each) for each in found.values()),
        )
        for name, found in risks.items()
    }


def without_numbers(release: Release, frame: pl.DataFrame) -> tuple[Release, pl.DataFrame]:
    """What the adversary is given who is not told whose rows are whose."""
    return release.without("id"), frame.drop("id")


TABLES = st.lists(
    st.tuples(
        st.integers(0, 5),
        st.one_of(st.none(), st.integers(0, 9)),
        st.sampled_from("abcde"),
        st.sampled_from("xyz"),
    ),
    min_size=4,
    max_size=24,
).filter(lambda rows: len({row[0] for row in rows}) > 1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "algorithm", ["mondrian", "flash", pytest.param("auto", marks=pytest.mark.slow)]
)
@settings(max_examples=examples(15))
@given(rows=TABLES)
def test_generalized_persons_are_recounted(algorithm: str, rows: list) -> None:
    """Sets, trees, missing values that mix with others: exact with the link.

    Without it, whatever is called exact is so, and what is not, is not called so.
    """
    frame = frame_of(rows)
    release = Generalization(k=2, algorithm=algorithm).publish(open_frame(frame, plan_of("id")))
    expected = recount(release, frame)
    attacks = {
        "prosecutor": ProsecutorAttack,
        "journalist": JournalistAttack,
        "marketer": MarketerAttack,
    }
    for name, attack in attacks.items():
        mean, worst = expected["prosecutor" if name == "prosecutor" else "journalist"]
        found = attack(link="id", columns=["age", "town", "job"]).run(release, frame, plan_of("id"))
        assert found.aimed_at == "person"
        assert found.exact
        assert found.success.value == float(mean)
        assert found.worst.probability == float(worst)
        blind = attack().run(*without_numbers(release, frame), plan_of(), Randomness.seeded(1))
        assert blind.aimed_at == "person"
        if blind.exact:
            assert blind.success.value == float(mean)
            assert blind.worst.probability == float(worst)
        else:
            assert not blind.checked, "several ways of filling the groups are possible"


def test_groups_that_overlap_are_counted_in_full() -> None:
    """A town too small for a group stays under its tree's name, which others fit as well.

    Whose rows stand where is told by how many each group has: the figure is exact without a link.
    """
    rows = [(who, 5, "a", "x") for who in range(6)]
    rows += [(6 + who, 5, "c", "x") for who in range(6)]
    rows += [(12, 5, "d", "x"), (13, 5, "e", "x"), (12, 5, "d", "x")]
    frame = frame_of(rows)
    plan = plan_of("id")
    release = Generalization(k=2).publish(open_frame(frame, plan))
    assert set(release.to_native()["town"]) == {"a", "c", "south"}
    mean, worst = recount(release, frame)["prosecutor"]
    found = ProsecutorAttack().run(*without_numbers(release, frame), plan_of())
    assert (found.exact, found.checked, found.targets) == (True, True, 14)
    assert (found.success.value, found.worst.probability) == (float(mean), float(worst))
    assert worst == Fraction(1, 2)
    assert any("overlap" in note for note in found.notes)


@pytest.mark.slow
def test_persons_of_sampled_rows_are_drawn() -> None:
    """Of 400 rows of 100 persons each was published with 1/2: drawn persons stand for the true.

    Which rows were sampled is drawn, so that the figure is none in closed form.  30 samples: the
    difference of the means is within 4 of its standard deviations, and what counts rows is not.
    """
    rng = np.random.default_rng(1)
    frame = pl.DataFrame(
        {"id": range(400), "who": rng.integers(0, 100, 400), "age": rng.integers(0, 40, 400)}
    )
    plan = parse_plan({"roles": {"person": "who", "quasi_identifiers": ["age"]}})
    told, drawn, rows = [], [], []
    for seed in range(30):
        sample = frame.filter(pl.Series(rng.random(400) < 0.5))
        release = release_of({"age": sample["age"].to_list()}, known=("age",), sensitive=())
        persons = dict(sample.group_by("age").agg(pl.col("who").n_unique()).iter_rows())
        risks = defaultdict(list)
        for who, age in sample.select("who", "age").iter_rows():
            risks[who].append(1 / persons[age])
        told.append(np.mean([np.mean(each) for each in risks.values()]))
        run = (release, frame.drop("id"))
        found = ProsecutorAttack().run(*run, plan, Randomness.seeded(seed))
        assert (found.exact, found.aimed_at, found.checked) == (False, "person", True)
        assert any("were drawn" in note for note in found.notes)
        drawn.append(found.success.value)
        rows.append(ProsecutorAttack().run(*run).success.value)

    def differ(first: list[float], second: list[float]) -> float:
        apart = np.subtract(first, second)
        return float(abs(apart.mean()) / (apart.std(ddof=1) / np.sqrt(len(apart))))

    assert differ(drawn, told) < 4
    assert differ(rows, told) > 4


def recount_of_shuffle(shown: list[dict], people: list[dict]) -> float:
    """The best guess of who knows town and job, of which jobs were permuted within clusters."""
    whose = {row["id"]: row["who"] for row in people}
    groups = jobs_of(shown)
    risks = defaultdict(list)
    for row in people:
        weight = {
            one["id"]: share(groups, one, row["job"]) * (one["town"] == row["town"])
            for one in shown
        }
        best = {whose[n] for n in weight if weight[n] == max(weight.values())}
        risks[row["who"]].append(Fraction(row["who"] in best, len(best)))
    return float(sum(sum(each) / len(each) for each in risks.values()) / len(risks))


def jobs_of(shown: list[dict]) -> dict[int, list[str]]:
    """The jobs of each cluster."""
    groups = defaultdict(list)
    for row in shown:
        groups[row["group"]].append(row["job"])
    return groups


def share(groups: dict[int, list[str]], shown: dict, job: str) -> Fraction:
    """How many of the rows of a published row's cluster have a job."""
    jobs = groups[shown["group"]]
    return Fraction(jobs.count(job), len(jobs))


def recount_among(shown: list[dict], table: list[dict], population: list[dict]) -> float:
    """The best guess of who looks for the person of each published row in a population.

    A person who has a job is in a cluster with the share of all rows with that job that it holds.
    """
    groups, own, right = jobs_of(shown), {row["id"]: row for row in shown}, []
    for row in table:
        one = own[row["id"]]
        jobs = groups[one["group"]]
        weights: dict[int, Fraction] = defaultdict(Fraction)
        for other in population:
            of_job = sum(each.count(other["job"]) for each in groups.values())
            if one["town"] == other["town"] and of_job:
                held = Fraction(jobs.count(other["job"]), of_job)
                weights[other["who"]] = max(weights[other["who"]], held)
        best = {who for who, held in weights.items() if held == max(weights.values()) > 0}
        right.append(Fraction(row["who"] in best, max(len(best), 1)))
    return float(sum(right) / len(right))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, *(pytest.param(n, marks=pytest.mark.slow) for n in (1, 2))])
def test_shuffled_persons_are_recounted(seed: int) -> None:
    """M-Shuffle: a best guess is one among the persons whose rows weigh most.

    Rows of a person are alike here, so that it does not matter which of them is drawn to be known.
    With a link it is the recount; without, whose rows are whose is drawn, and the mean is near it.
    """
    rng = np.random.default_rng(seed)
    who = rng.integers(0, 40, 150)
    town, job, ill = (rng.choice(list(values), 40) for values in ("ab", "uvw", "xyz"))
    columns = {"town": town[who], "job": job[who], "ill": ill[who]}
    frame = pl.DataFrame({"id": range(150), "who": who, **columns})
    plan = parse_plan(
        {
            "roles": {
                "person": "who",
                "quasi_identifiers": ["town", "job"],
                "sensitive": ["ill"],
                "keep": ["id"],
                "keep_unique": ["id"],
            }
        }
    )
    release = MShuffle(clusters=3, columns=("job",)).publish(
        open_frame(frame, plan), Randomness.seeded(seed)
    )
    expected = recount_of_shuffle(release.to_native().to_dicts(), frame.to_dicts())
    found = ProsecutorAttack(link="id").run(release, frame, plan)
    assert (found.aimed_at, found.drawn_from) == ("person", frame["who"].n_unique())
    assert found.success.value == pytest.approx(expected)
    known = ["town", "job"]
    blind = ProsecutorAttack(columns=known).run(*without_numbers(release, frame), plan_free(plan))
    assert blind.aimed_at == "person"
    assert blind.success.value == pytest.approx(expected, rel=0.2)
    rows = ProsecutorAttack(columns=known, link="id").run(release, frame)
    assert rows.success.value < 0.6 * expected, "what counts rows says much less"


PEOPLE = st.lists(
    st.tuples(st.integers(0, 9), st.sampled_from("ab"), st.sampled_from("uvw")), max_size=20
)


@pytest.mark.slow
@pytest.mark.parametrize("attack", [JournalistAttack, MarketerAttack])
@settings(max_examples=examples(30))
@given(everybody=PEOPLE, absent=st.booleans(), seed=st.integers(0, 9))
def test_persons_of_a_population_are_recounted(
    attack: type[JournalistAttack], everybody: list, absent: bool, seed: int
) -> None:
    """M-Shuffle and a population of its own, in which persons have any number of rows.

    Those of the table are among them, or not all.  Repeating rows of the population changes
    nothing, nor does it where its ids are written as texts.
    """
    rng = np.random.default_rng(seed)
    columns = {"town": rng.choice(["a", "b"], 8), "job": rng.choice(["u", "v", "w"], 8)}
    table = pl.DataFrame({"id": range(8), "who": range(8), **columns, "ill": list("xyzxyzxy")})
    plan = parse_plan(
        {
            "roles": {
                "person": "who",
                "quasi_identifiers": ["town", "job"],
                "sensitive": ["ill"],
                "keep": ["id"],
                "keep_unique": ["id"],
            }
        }
    )
    release = MShuffle(clusters=3, columns=("job",)).publish(
        open_frame(table, plan), Randomness.seeded(seed)
    )
    population = pl.DataFrame(everybody, ["who", "town", "job"], orient="row")
    own = table.select("who", "town", "job").head(5 if absent else 8)
    population = pl.concat([own, population], how="vertical_relaxed")
    rows = [each.to_dicts() for each in (release.to_native(), table, population)]
    expected = recount_among(*rows)
    repeated = pl.concat([population, population.filter(pl.col("who") % 2 == 0)] * 2)
    for among in (population, repeated, population.with_columns(pl.col("who").cast(pl.String))):
        found = attack(link="id", population=among).run(release, table, plan)
        assert (found.aimed_at, found.drawn_from, found.targets) == ("person", 8, 8)
        assert found.baseline == 1 / population["who"].n_unique()
        assert found.success.value == pytest.approx(expected)
        outside = set(range(8)) - set(population["who"])
        told = [note for note in found.notes if "not in the population" in note]
        assert told == [told_of(len(outside))] * bool(outside)
    blind = attack(population=population).run(
        *without_numbers(release, table), plan_free(plan), Randomness.seeded(seed)
    )
    assert blind.aimed_at == "person"
    same = attack(link="id", population=table.drop("id")).run(release, table, plan)
    assert same.success == attack(link="id").run(release, table, plan).success


def told_of(absent: int) -> str:
    """What is said of targets whom nobody can find."""
    return f"{absent:,} of the targets are not in the population; for them every guess fails"


def test_a_population_that_lacks_a_column_is_refused() -> None:
    """The column of persons, or one by which they are known: told as a lack of the population."""
    frame = frame_of([(who, who % 5, "a", "x") for who in range(6)])
    release = Generalization(k=2).publish(open_frame(frame, plan_of("id")))
    for missing, why in (("who", "tells persons apart"), ("town", "by which people are known")):
        attack = JournalistAttack(population=frame.drop(missing))
        with pytest.raises(TableError, match=f"the population has no column '{missing}', .*{why}"):
            attack.run(release, frame, plan_of("id"))


def plan_free(plan: Plan) -> Plan:
    """The plan without columns that are kept."""
    return replace(plan, roles=replace(plan.roles, keep=(), keep_unique=()))
