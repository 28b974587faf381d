"""Clusters of M-Shuffle are clusters of persons, and each person counts once in what is chosen."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from fractions import Fraction
from math import isclose, lgamma
from typing import Any

import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from voile.publish.m_shuffle import MShuffle
from voile.release.check import GuaranteeBrokenError, check_release, check_units_of_groups
from voile.release.release import Publication
from voile.schema.plan import Plan, parse_plan
from voile.schema.roles import Roles
from voile.study.run import make_release
from voile.table.decisions import Grouping, Treatment
from voile.table.opening import open_frame
from voile_base.errors import InfeasibleError, InputError
from voile_base.randomness import Randomness
from voile_tests.models.small_persons import Row, all_tables, many_tables, persons
from voile_tests.publish.m_shuffle.tables import opened

ROLES = Roles(quasi_identifiers=("quasi",), sensitive=("illness",), person="patient")


def frame_of(table: Sequence[Row]) -> pl.DataFrame:
    """The rows of a small table."""
    return pl.DataFrame(table, schema=["patient", "quasi", "illness"], orient="row")


def clusters_of(table: Sequence[Row]) -> list[list[Row]]:
    """Rows by their illness."""
    return [[row for row in table if row[2] == v] for v in sorted({row[2] for row in table})]


def mixes(table: Sequence[Row]) -> bool:
    """Whether a release hides anything: two patients everywhere, and somewhere two values."""
    clusters = clusters_of(table)
    return all(persons(c) >= 2 for c in clusters) and any(
        one[0] != other[0] and one[1] != other[1] for c in clusters for one in c for other in c
    )


def arrangements(table: Sequence[Row]) -> float:
    """Log of the arrangements of as many persons as rows weigh, from the definition."""
    of_person: defaultdict[str, int] = defaultdict(int)
    for person, _, _ in table:
        of_person[person] += 1
    weight: defaultdict[Any, Fraction] = defaultdict(Fraction)
    for person, quasi, illness in table:
        weight[illness] += Fraction(1, of_person[person])
        weight[illness, quasi] -= Fraction(1, of_person[person])
    return sum((1 if w > 0 else -1) * lgamma(abs(float(w)) + 1) for w in weight.values())


def assert_published_as_defined(table: Sequence[Row], times: Sequence[int] = (1, 2)) -> None:
    """Published exactly where it mixes persons, in the same way when all rows are repeated."""
    publisher = MShuffle(columns=["quasi"])
    found = []
    for rows in ([row for row in table for _ in range(each)] for each in times):
        private = open_frame(frame_of(rows), Plan(ROLES))
        if not mixes(table):
            with pytest.raises((InputError, InfeasibleError)):
                publisher.prepare(private, Randomness.seeded(1))
            return
        found.append(publisher.prepare(private, Randomness.seeded(1)))
    once, twice = found[0], found[-1]
    check_release(once.release)
    assert once.release.guarantee.claims[0].unit == "person"
    assert once.release.table.columns == ("group", "quasi", "illness")
    assert once.private.decision == twice.private.decision
    assert isclose(once.private.decision["log_probability"], -arrangements(table), abs_tol=1e-9)
    sizes = [cluster["rows"] for cluster in once.release.method["decision"]["clusters"]]
    assert sizes == [len(cluster) for cluster in clusters_of(table)]


@pytest.mark.slow
def test_small_tables() -> None:
    """A sample of them."""
    for table in all_tables(5)[11::60]:
        assert_published_as_defined(table)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_all_small_tables(part: int) -> None:
    """Tables of up to seven rows up to renaming, and an eighth of them with rows repeated."""
    for number, table in enumerate(many_tables(9)[part::4]):
        assert_published_as_defined(table, (1, 2) if number % 8 == 0 else (1,))


STAYS = st.lists(
    st.tuples(
        st.sampled_from("abcdefgh"),
        st.sampled_from("stuvw"),
        st.sampled_from("xyz"),
        st.integers(0, 6),
    ),
    min_size=8,
    max_size=30,
)


def chosen(rows: list[tuple[str, str, str, int]], method: dict[str, Any]) -> Publication:
    """A release of stays with a number for each."""
    frame = pl.DataFrame(rows, schema=["patient", "town", "ward", "days"], orient="row")
    roles = {"person": "patient", "quasi_identifiers": ["town", "ward"], "sensitive": ["days"]}
    plan = parse_plan({"roles": roles, "method": {"name": "m-shuffle", **method}})
    return make_release(frame, plan, seed=1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "method",
    [
        {"clusters": 2, "columns": 1},
        {"clusters": 3, "columns": ["town", "ward"]},
        {"clusters": 2, "entropy_threshold": 0.5},
        {"max_divergence": 1.5, "max_log_probability": -4},
        {"max_divergence": 3, "max_log_probability": -20, "probability": "paper"},
    ],
)
@given(rows=STAYS)
@settings(max_examples=10)
def test_repeating_all_rows_changes_no_choice(
    rows: list[tuple[str, str, str, int]], method: dict[str, Any]
) -> None:
    """Whatever chooses clusters and columns; and each cluster has two patients."""
    try:
        once = chosen(rows, method)
    except (InputError, InfeasibleError) as error:
        with pytest.raises(type(error)):
            chosen(rows * 2, method)
        return
    twice = chosen(rows * 2, method)
    assert once.private.decision == twice.private.decision
    shown = once.release.to_native()
    groups = dict(shown.select("days", "group").iter_rows())
    again = dict(twice.release.to_native().select("days", "group").iter_rows())
    assert groups == again
    patients: defaultdict[int, set[str]] = defaultdict(set)
    for patient, _, _, days in rows:
        patients[groups[days]].add(patient)
    assert all(len(here) >= 2 for here in patients.values())


@pytest.mark.slow
@given(rows=STAYS)
@settings(max_examples=10)
def test_persons_of_one_row_each_are_rows(rows: list[tuple[str, str, str, int]]) -> None:
    """Where nobody has a second row, naming persons changes no published row."""
    frame = pl.DataFrame(
        [row[1:] for row in rows], schema=["town", "ward", "days"], orient="row"
    ).with_columns(patient=pl.arange(len(rows)))
    publisher = MShuffle(max_divergence=3, max_log_probability=-4)
    named = Roles(quasi_identifiers=("town", "ward"), sensitive=("days",), person="patient")
    try:
        of_persons = publisher.publish(open_frame(frame, Plan(named)), Randomness.seeded(1))
    except InfeasibleError:
        assume(False)
    of_rows = publisher.publish(opened(frame.drop("patient"), ["days"]), Randomness.seeded(1))
    if all(cluster["rows"] > 1 for cluster in of_rows.method["decision"]["clusters"]):
        assert of_persons.to_native().equals(of_rows.to_native())
        assert of_persons.method == of_rows.method


def test_a_cluster_of_one_persons_rows_is_refused() -> None:
    """Three rows of one patient are no cluster, however many values they hold."""
    rows = [("A", "p", "x"), ("A", "q", "x"), ("A", "q", "x"), ("B", "p", "y"), ("C", "q", "y")]
    table = open_frame(frame_of(rows), Plan(ROLES))
    with pytest.raises(InfeasibleError, match=r"of 2 clusters .*'illness', 1 has .* one person"):
        MShuffle(columns=["quasi"]).publish(table, Randomness.seeded(1))
    household = Roles(**{**vars(ROLES), "household": "home"})
    homes = frame_of(rows).with_columns(home=pl.Series(["f", "f", "f", "g", "g"]))
    with pytest.raises(InfeasibleError, match="2 have the rows of one household alone"):
        MShuffle(columns=["quasi"]).publish(
            open_frame(homes, Plan(household)), Randomness.seeded(1)
        )


def test_the_guarantee_names_its_adversary() -> None:
    """Who knows one row, and who knows several; nobody takes a row for a person."""
    rows = [("A", "p", "x"), ("A", "q", "x"), ("B", "p", "x"), ("C", "q", "x")]
    release = MShuffle(columns=["quasi"]).publish(
        open_frame(frame_of(rows), Plan(ROLES)), Randomness.seeded(1)
    )
    said = release.guarantee.document()
    assert said["unit"] == "person"
    assert "at least 2 persons" in said["statement"]
    assert "two rows of one person hides nothing" in said["statement"]
    assert any("knows one of its rows" in assumed for assumed in said["assumes"])
    assert "each person is one row" not in said["assumes"]


def test_the_check_counts_the_persons_of_what_is_published() -> None:
    """A cluster of one patient's rows is caught before it is published."""
    rows = [("A", "p", "x"), ("A", "q", "x"), ("B", "p", "y"), ("C", "q", "y")]
    table = open_frame(frame_of(rows), Plan(ROLES))
    counts = table.count_combinations(["illness"])
    by_illness = Treatment((), Grouping.of_counts(counts, counts.codes[:, 0].astype("int64")))
    _, whose = table.apply_counted(by_illness, Randomness.seeded(1))
    assert whose is not None
    with pytest.raises(GuaranteeBrokenError, match="1 groups"):
        check_units_of_groups(whose, "group", 2)
