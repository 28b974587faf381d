"""Groups of generalized releases are groups of persons, whatever the algorithm and criterion."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voile.disclosure.shown import Disclosure, GroupNumbering
from voile.models.criteria import Criterion
from voile.models.k_anonymity import KAnonymity
from voile.models.l_diversity import DistinctDiversity, EntropyDiversity, RecursiveDiversity
from voile.models.t_closeness import EqualCloseness
from voile.publish.assembled import exactly
from voile.publish.generalization import Generalization
from voile.publish.generalization.evaluation import Evaluator
from voile.release.check import GuaranteeBrokenError, check_against_counts, check_release
from voile.release.release import Guarantee, Release
from voile.schema.plan import Method, Plan, parse_plan
from voile.schema.roles import Roles
from voile.study.run import make_release
from voile.table.decisions import Grouping, Treatment
from voile.table.opening import open_frame
from voile.table.private import PrivateTable
from voile.table.summaries import CombinationCounts, PublishedUnits
from voile_base.errors import InfeasibleError
from voile_base.randomness import Randomness
from voile_testing.plugin import examples, some_slow
from voile_tests.models.small_persons import (
    Row,
    all_tables,
    different,
    distance,
    entropy_reaches,
    persons,
    recursive,
)

ALGORITHMS = ("auto", "flash", "ola", "datafly", "k-optimize", "mondrian")
ROLES = Roles(quasi_identifiers=("quasi",), sensitive=("illness",), person="patient")

Valid = Callable[[Sequence[Row], Sequence[Row]], bool]
CRITERIA: dict[str, tuple[dict[str, Any], Valid]] = {
    "k": ({"k": 2}, lambda rows, table: persons(rows) >= 2),
    "k3": ({"k": 3}, lambda rows, table: persons(rows) >= 3),
    "l": ({"k": 2, "l": 2}, lambda rows, table: different(rows) >= 2),
    "entropy": (
        {"k": 2, "l": {"value": 2, "kind": "entropy"}},
        lambda rows, table: entropy_reaches(rows, 2),
    ),
    "recursive": (
        {"k": 2, "l": {"value": 2, "kind": "recursive", "c": 2}},
        lambda rows, table: recursive(rows, Fraction(2), 2),
    ),
    "t": (
        {"k": 2, "t": 0.25},
        lambda rows, table: persons(rows) >= 2 and distance(rows, table) <= Fraction(1, 4),
    ),
}


def frame_of(table: Sequence[Row]) -> pl.DataFrame:
    """The rows of a small table."""
    return pl.DataFrame(table, schema=["patient", "quasi", "illness"], orient="row")


def groups_of(release: Release) -> list[list[str]]:
    """The sensitive values of each group."""
    rows = release.to_native().group_by("group").agg("illness")["illness"].to_list()
    return sorted(sorted(group) for group in rows)


def expected(table: Sequence[Row], valid: Valid) -> list[list[Row]] | None:
    """The groups as fine as they can be, by trying both ways to group two values."""
    fine = [[row for row in table if row[1] == value] for value in "pq"]
    fine = [group for group in fine if group]
    for division in (fine, [list(table)]):
        if all(valid(group, table) for group in division):
            return division
    return None


def assert_published_as_defined(
    table: Sequence[Row], private: PrivateTable, algorithm: Any, criterion: str
) -> None:
    """The groups are the finest that the definition allows, or there is no release."""
    parameters, valid = CRITERIA[criterion]
    publisher = Generalization(algorithm=algorithm, **parameters)
    wanted = expected(table, valid)
    if wanted is None:
        with pytest.raises(InfeasibleError):
            publisher.publish(private, Randomness.seeded(1))
        return
    release = publisher.publish(private, Randomness.seeded(1))
    check_release(release)
    assert "patient" not in release.table.columns
    assert groups_of(release) == sorted(sorted(row[2] for row in group) for group in wanted)


@pytest.mark.parametrize("algorithm", some_slow(ALGORITHMS, {"flash", "ola", "k-optimize"}))
@pytest.mark.parametrize("criterion", CRITERIA)
def test_small_tables(algorithm: str, criterion: str) -> None:
    """A sample of them."""
    for table in all_tables(5)[11::150]:
        private = open_frame(frame_of(table), Plan(ROLES))
        assert_published_as_defined(table, private, algorithm, criterion)


@pytest.mark.slow
def test_small_tables_through_files(tmp_path: Path) -> None:
    """An eightieth of those of up to seven rows, from a file to a file, each by one way in turn.

    What is read again is divided as the definition says; ``test_small_tables`` has all decisions.
    """
    ways = list(product(ALGORITHMS, CRITERIA))
    published = 0
    for number, table in enumerate(all_tables(7)[7::80]):
        algorithm, criterion = ways[number % len(ways)]
        parameters, valid = CRITERIA[criterion]
        plan = Plan(ROLES, Method("generalization", {"algorithm": algorithm, **parameters}))
        source, folder = tmp_path / "stays.csv", tmp_path / str(number)
        frame_of(table).write_csv(source)
        wanted = expected(table, valid)
        if wanted is None:
            with pytest.raises(InfeasibleError):
                make_release(source, plan, folder, seed=1)
            assert not folder.exists()
            continue
        make_release(source, plan, folder, seed=1)
        shown = pl.read_csv(folder / "data.csv")
        assert "patient" not in shown.columns
        found = shown.group_by("group").agg("illness")["illness"].to_list()
        assert sorted(map(sorted, found)) == sorted(sorted(r[2] for r in group) for group in wanted)
        published += 1
    assert published > 50


@cache
def sound() -> Release:
    """A release that is what it says."""
    frame = frame_of([("a", "p", "flu"), ("b", "p", "hiv")])
    return Generalization(k=2).publish(open_frame(frame, Plan(ROLES)), Randomness.seeded(1))


PEOPLE = "bcdefgh"
ONE_IN_MANY: tuple[Row, ...] = (
    *((who, "p", "flu") for who in PEOPLE),
    ("a", "p", "hiv"),
    *((who, "q", value) for who in PEOPLE for value in ("flu", "hiv", "flu", "hiv", "hiv", "flu")),
)
"""A group of seven with flu and one with hiv; the seven have six other rows each elsewhere."""
APART: tuple[Row, ...] = (
    ("a", "p", "flu"),
    ("b", "p", "hiv"),
    ("c", "q", "flu"),
    *[("a", "q", "hiv")] * 3,
)
"""Two groups of two values half and half each, of which all rows together are not."""


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("criterion", ["entropy", "recursive"])
def test_rows_in_other_groups_make_nobody_lighter(algorithm: str, criterion: str) -> None:
    """A person weighs one in each group, however many rows the person has elsewhere."""
    assert distance(ONE_IN_MANY[:8], ONE_IN_MANY) > 0.3
    private = open_frame(frame_of(ONE_IN_MANY), Plan(ROLES))
    assert_published_as_defined(ONE_IN_MANY, private, algorithm, criterion)
    assert len(expected(ONE_IN_MANY, CRITERIA[criterion][1]) or ()) < 2


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_groups_may_do_of_which_all_rows_do_not(algorithm: str) -> None:
    """Weighed persons are not monotone, and no search takes them for it."""
    private = open_frame(frame_of(APART), Plan(ROLES))
    assert not CRITERIA["entropy"][1](APART, APART)
    assert_published_as_defined(APART, private, algorithm, "entropy")
    assert len(expected(APART, CRITERIA["entropy"][1]) or ()) == 2


CHECKED: dict[str, tuple[Criterion, Valid]] = {
    "k = 2": (KAnonymity(2), lambda rows, table: persons(rows) >= 2),
    "k = 3": (KAnonymity(3), lambda rows, table: persons(rows) >= 3),
    "l = 2": (DistinctDiversity(2, "illness"), lambda rows, table: different(rows) >= 2),
    "l = 3": (DistinctDiversity(3, "illness"), lambda rows, table: different(rows) >= 3),
    "entropy": (EntropyDiversity(2, "illness"), CRITERIA["entropy"][1]),
    "recursive": (RecursiveDiversity(2, 2, "illness"), CRITERIA["recursive"][1]),
    "t": (EqualCloseness("0.2", "illness"), lambda rows, table: distance(rows, table) <= 0.2),
}


@pytest.mark.slow
def test_the_check_counts_and_weighs_the_persons_of_each_group() -> None:
    """Of a release by quasi-identifiers it says what definitions say, whatever decided on it."""
    found = dict.fromkeys(CHECKED, 0)
    for table in (ONE_IN_MANY, APART, *all_tables(6)[40::60]):
        forged, counts, whose = by_quasi_identifier(table)
        groups = [[row for row in table if row[1] == value] for value in {row[1] for row in table}]
        for name, (criterion, valid) in CHECKED.items():
            broken = sum(not valid(rows, table) for rows in groups)
            found[name] += broken
            if not broken:
                check_against_counts(forged, [criterion], counts, whose)
                continue
            with pytest.raises(GuaranteeBrokenError, match=f"^{broken} groups of the release"):
                check_against_counts(forged, [criterion], counts, whose)
    assert min(found.values()) > 10


def by_quasi_identifier(
    table: Sequence[Row],
) -> tuple[Release, CombinationCounts, PublishedUnits | None]:
    """A release of each value as a group by itself, which nobody decided on."""
    private = open_frame(frame_of(table), Plan(ROLES))
    counts = private.count_combinations(["quasi", "illness"])
    grouping = Grouping.of_counts(counts, counts.codes[:, 0].astype("int64"))
    shown, whose = private.apply_counted(Treatment((), grouping), Randomness.seeded(1))
    columns = exactly(["quasi", "illness"])
    forged = replace(
        sound(),
        table=shown,
        disclosure=Disclosure(
            columns=columns, groups=GroupNumbering(column="group", made="alike", by=("quasi",))
        ),
    )
    return forged, counts, whose


STAYS = st.lists(
    st.tuples(
        st.sampled_from("abcdef"), st.integers(0, 5), st.sampled_from("uvw"), st.sampled_from("xyz")
    ),
    min_size=3,
    max_size=24,
)


def two_columns(rows: list[tuple[str, int, str, str]]) -> pl.DataFrame:
    """Stays of patients, with two quasi-identifiers."""
    return pl.DataFrame(rows, schema=["patient", "age", "town", "illness"], orient="row")


def plan_of(**method: Any) -> Plan:
    """A plan for them."""
    return parse_plan(
        {
            "roles": {
                "quasi_identifiers": ["age", "town"],
                "sensitive": ["illness"],
                "person": "patient",
            },
            "columns": {"age": {"bounds": [0, 9], "intervals": {"widths": [2, 5]}}},
            "method": {"name": "generalization", **method},
        }
    )


def shown_groups(release: pl.DataFrame, rows: list[tuple[str, int, str, str]]) -> list[set[str]]:
    """The patients who may be in each group that a release shows, found by what it shows."""
    columns = ["age.low", "age.high"] if "age.low" in release.columns else ["age"]
    found = []
    for shown in release.select("group", *columns, "town").unique().to_dicts():
        low, high = (shown.get(name, shown.get("age")) for name in ("age.low", "age.high"))
        found.append(
            {
                patient
                for patient, age, town, _ in rows
                if (low is None or low <= age <= high)
                and (shown["town"] == "*" or town in shown["town"].split("|"))
            }
        )
    return found


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", [*ALGORITHMS, "relaxed"])
@given(rows=STAYS, k=st.integers(2, 3))
@settings(max_examples=examples(15))
def test_groups_have_k_persons_and_duplicates_change_nothing(
    algorithm: str, rows: list[tuple[str, int, str, str]], k: int
) -> None:
    """Whoever tries all finds k patients for each group; twice the rows show twice the same."""
    method: dict[str, Any] = {"k": k, "algorithm": algorithm}
    if algorithm == "relaxed":
        method = {"k": k, "algorithm": "mondrian", "relaxed": True}
    elif algorithm not in {"auto", "mondrian"}:
        method["suppression_limit"] = 0.5
    plan = plan_of(**method)
    try:
        once = make_release(two_columns(rows), plan, seed=1).release.to_native()
    except InfeasibleError:
        with pytest.raises(InfeasibleError):
            make_release(two_columns(rows * 2), plan, seed=1)
        return
    assert all(len(patients) >= k for patients in shown_groups(once, rows))
    twice = make_release(two_columns(rows * 2), plan, seed=1).release.to_native()
    both = pl.concat([once, once])
    assert twice.sort(twice.columns).equals(both.sort(both.columns))


WEIGHED: list[dict[str, Any]] = [
    {"l": {"value": 2, "kind": "entropy"}},
    {"l": {"value": 2, "kind": "recursive", "c": 1}},
    {"t": 0.3},
]


@pytest.mark.slow
@pytest.mark.parametrize("asked", WEIGHED, ids=str)
@pytest.mark.parametrize("algorithm", ["flash", "ola"])
@given(rows=STAYS, share=st.sampled_from([0, 0.3]))
@settings(max_examples=examples(25))
def test_no_level_of_weighed_persons_is_better(
    algorithm: Any, asked: dict[str, Any], rows: list[tuple[str, int, str, str]], share: float
) -> None:
    """The best levels are those that looking at every node finds, or there are none."""
    plan = plan_of(k=2)
    table = open_frame(two_columns(rows), plan)
    publisher = Generalization(k=2, algorithm=algorithm, suppression_limit=share, **asked)
    if table.units < 2:
        return
    problem = publisher._problem_of_all_rows(table, publisher._demands(table))
    evaluator = Evaluator(problem)
    nodes = product(*(range(height + 1) for height in evaluator.lattice.heights))
    best = min(evaluator.evaluate(node).loss for node in nodes)
    found = publisher._decide()(problem)
    assert best == (float("inf") if found is None else pytest.approx(found.loss))


def test_rows_of_one_person_are_no_group() -> None:
    """Six rows, three of them of one patient, are not published as two groups of three."""
    rows = [("A", 1, "u", "x"), ("A", 1, "u", "y"), ("A", 1, "u", "z")]
    rows += [(who, 7, "u", "x") for who in "BCD"]
    release = make_release(two_columns(rows), plan_of(k=3), seed=1).release
    assert release.to_native()["group"].n_unique() == 1
    claim = release.guarantee.document()
    assert claim["unit"] == "person"
    assert "other persons" in claim["statement"]
    assert any("one of its rows" in assumed for assumed in claim["assumes"])
    assert any("one of its rows" in limit for limit in claim["leaves_open"])
    assert Guarantee.of_document(claim).leaves_open == tuple(claim["leaves_open"])
    with pytest.raises(InfeasibleError, match=r"4 persons.* largest k that it allows is 4"):
        make_release(two_columns(rows), plan_of(k=5), seed=1)


def test_the_check_counts_the_persons_of_what_is_published() -> None:
    """A decision that makes a group of one patient's rows is caught before it is published."""
    rows = [("A", 1, "u", "x")] * 3 + [(who, 7, "u", "y") for who in "BCD"]
    table = open_frame(two_columns(rows), plan_of(k=2))
    sound = Generalization(k=2).publish(table, Randomness.seeded(1))
    counts = table.count_combinations(["age", "town"])
    by_age = Treatment((), Grouping.of_counts(counts, counts.codes[:, 0].astype("int64")))
    shown, whose = table.apply_counted(by_age, Randomness.seeded(1))
    assert whose is not None
    assert sorted(whose.in_groups(["group"]).tolist()) == [1, 3]
    forged = Release(
        table=shown,
        method=sound.method,
        disclosure=Disclosure(
            columns=exactly(["age", "town", "illness"]),
            groups=GroupNumbering(column="group", made="alike", by=("age", "town")),
        ),
        guarantee=sound.guarantee,
        roles={"quasi_identifiers": ("age", "town"), "sensitive": ("illness",)},
        release_id="0",
        publishable=False,
    )
    check_release(forged)  # rows alone do not show it
    with pytest.raises(GuaranteeBrokenError, match="1 groups of the release break"):
        check_against_counts(forged, [KAnonymity(2)], counts, whose)


HOSPITAL = "census/diabetes-hospitals.parquet"


def test_hospital_stays_weigh_one_a_patient(shared_data: Path) -> None:
    """A recount finds the patients of every group within .3 of all patients."""
    columns = ["gender", "time_in_hospital", "number_diagnoses", "num_procedures"]
    plan = parse_plan(
        {
            "roles": {
                "person": "patient_nbr",
                "quasi_identifiers": columns,
                "sensitive": ["readmitted"],
            },
            "columns": {
                "time_in_hospital": {"bounds": [1, 14]},
                "number_diagnoses": {"bounds": [1, 16]},
                "num_procedures": {"bounds": [0, 6]},
            },
            "method": {"name": "generalization", "k": 5, "algorithm": "mondrian", "t": 0.3},
        }
    )
    made = make_release(shared_data / HOSPITAL, plan, seed=1)
    shown = made.release.to_native().drop("readmitted").unique()
    stays = pl.read_parquet(
        shared_data / HOSPITAL, columns=["patient_nbr", "readmitted", *columns]
    ).with_columns(pl.col("gender").cast(pl.String))
    ends = [name for name in columns if f"{name}.low" in shown.columns]
    of_cell = (
        stays.select(columns)
        .unique()
        .join(shown.with_columns(pl.col("gender").cast(pl.String)), how="cross", suffix=".shown")
        .filter(
            *(pl.col(name).is_between(f"{name}.low", f"{name}.high") for name in ends),
            (pl.col("gender.shown") == "*") | (pl.col("gender.shown") == pl.col("gender")),
        )
        .select(*columns, "group")
    )
    found = stays.join(of_cell, on=columns)
    assert found.height == stays.height
    everybody = shares(found.with_columns(group=pl.lit(0))).drop("group")
    groups = found.select("group").unique().join(everybody, how="cross")
    both = groups.join(shares(found), on=["group", "readmitted"], how="left", suffix=".here")
    off = (pl.col("share.here").fill_null(0) - pl.col("share")).abs().sum() / 2
    distances = both.group_by("group").agg(off.alias("distance"))["distance"]
    assert len(distances) > 500
    assert distances.max() <= 0.3 + 1e-9  # type: ignore[operator]


def shares(stays: pl.DataFrame) -> pl.DataFrame:
    """How often each value is met in a group by who draws a patient and then one of the stays."""
    own = 1 / pl.len().over("group", "patient_nbr")
    weighed = (
        stays.with_columns(own.alias("own"))
        .group_by("group", "readmitted")
        .agg(pl.col("own").sum())
    )
    return weighed.select("group", "readmitted", share=pl.col("own") / pl.sum("own").over("group"))


@pytest.mark.parametrize("algorithm", ["flash", "mondrian"])
def test_hospital_stays(shared_data: Path, algorithm: str) -> None:
    """101,766 stays of 71,518 patients: a recount finds at least 5 patients in every group."""
    columns = ["gender", "time_in_hospital", "number_diagnoses", "num_procedures"]
    limit = {} if algorithm == "mondrian" else {"suppression_limit": 0.02}
    plan = parse_plan(
        {
            "roles": {
                "person": "patient_nbr",
                "quasi_identifiers": columns,
                "sensitive": ["readmitted"],
            },
            "columns": {
                "time_in_hospital": {"bounds": [1, 14], "intervals": {"widths": [2, 7]}},
                "number_diagnoses": {"bounds": [1, 16], "intervals": {"widths": [4, 8]}},
                "num_procedures": {"bounds": [0, 6], "intervals": {"widths": [2]}},
            },
            "method": {"name": "generalization", "k": 5, "algorithm": algorithm, **limit},
        }
    )
    path = shared_data / HOSPITAL
    made = make_release(path, plan, seed=1)
    shown = made.release.to_native()
    stays = pl.read_parquet(path, columns=["patient_nbr", *columns])
    assert stays.height == 101_766
    assert stays["patient_nbr"].n_unique() == 71_518
    ranges = [c for c in columns if f"{c}.low" in shown.columns]
    texts = [c for c in columns if c not in ranges]
    groups = shown.group_by([c for c in shown.columns if c != "readmitted"]).len("rows")
    cells = stays.group_by(columns).agg("patient_nbr", pl.len().alias("stays"))
    met = cells.join(groups, how="cross", suffix=".shown").filter(
        *(pl.col(c).is_between(f"{c}.low", f"{c}.high") for c in ranges),
        *(
            (pl.col(f"{c}.shown").cast(pl.String) == "*")
            | (pl.col(f"{c}.shown").cast(pl.String) == pl.col(c).cast(pl.String))
            for c in texts
        ),
    )
    found = met.group_by("group").agg(
        pl.col("patient_nbr").list.explode().n_unique().alias("patients"),
        pl.col("stays").sum(),
        pl.col("rows").first(),
    )
    assert found.height == groups.height > 20
    assert (found["stays"] == found["rows"]).all()
    assert found["patients"].min() >= 5
    assert (found["patients"] < found["stays"]).any()
