"""The publisher of generalizations, from private tables to releases."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile.publish.generalization import Generalization
from voile.release.release import Publication
from voile.schema.plan import Plan, parse_plan
from voile.table.opening import open_frame
from voile_base.errors import InfeasibleError, PlanError
from voile_base.randomness import Randomness

FULL_DOMAIN = ["flash", "ola", "datafly"]
AGES = [23, 27, 34, 36, 41, 44, 45, 62]
PEOPLE = pl.DataFrame(
    {
        "name": [f"person {i}" for i in range(8)],
        "age": AGES,
        "city": ["Lyon", "Lyon", "Nice", "Nice", "Nice", "Lyon", "Lyon", "Oslo"],
        "illness": ["flu", "flu", "flu", "cold", "gout", "gout", "flu", "cold"],
        "visits": [1, 2, 3, 4, 5, 6, 7, 8],
    }
)
PEOPLE_AND_OSLO = pl.concat([PEOPLE, PEOPLE[-1:].with_columns(name=pl.lit("person 8"))])
COLUMNS = {
    "age": {"bounds": [0, 100], "intervals": {"widths": [10, 20]}},
    "city": {"tree": {"France": ["Lyon", "Nice"], "Norway": ["Oslo", "Bergen"]}},
}


def plan_of(**changes: Any) -> Plan:
    """The plan for ``PEOPLE``."""
    roles = {
        "identifiers": ["name"],
        "quasi_identifiers": ["age", "city"],
        "sensitive": ["illness"],
        "keep": ["visits"],
        "keep_unique": ["visits"],
    }
    return parse_plan({"roles": roles | changes.pop("roles", {}), "columns": COLUMNS} | changes)


def publish(
    publisher: Generalization, frame: pl.DataFrame = PEOPLE, plan: Plan | None = None
) -> Publication:
    """One publication of a frame."""
    return publisher.prepare(open_frame(frame, plan or plan_of()), Randomness.seeded(1))


def rows_of(publication: Publication) -> pl.DataFrame:
    """The published rows."""
    return pl.DataFrame(publication.release.to_native())


@pytest.mark.parametrize("algorithm", FULL_DOMAIN)
def test_levels_are_shared_by_all_rows(algorithm: Any) -> None:
    """Each column stands at one level: intervals as two columns, texts as one; k holds."""
    publication = publish(Generalization(k=2, algorithm=algorithm, suppression_limit=0.125))
    frame = rows_of(publication)
    levels = publication.release.method["decision"]["levels"]
    assert frame.columns == ["group", "age.low", "age.high", "city", "illness", "visits"]
    assert set(levels) == {"age", "city"}
    assert frame.group_by("age.low", "age.high", "city").len()["len"].min() >= 2
    assert frame["group"].n_unique() == frame.n_unique(["age.low", "age.high", "city"])
    assert publication.release.roles["quasi_identifiers"] == ("age.low", "age.high", "city")


def test_the_best_release_of_a_small_table() -> None:
    """Worked by hand: ages in tens, cities as countries, and the man from Oslo left out.

    A ten covers 10 of the 101 ages, France 2 of the 4 cities, so of 8 rows the ages lose
    (7 * 10/101 + 1 - 8/101) / (8 - 8/101) = 163/800, the cities (7/2 + 1 - 2) / (8 - 2) = 5/12.
    """
    publication = publish(
        Generalization(k=2, algorithm="flash", suppression_limit=Decimal("0.125"))
    )
    frame = rows_of(publication)
    assert publication.release.method["decision"] == {"levels": {"age": 1, "city": 1}}
    assert float(publication.private.objective) == pytest.approx((963 / 800 * 17 / 12) ** 0.5 - 1)
    assert publication.private.suppressed == 1
    assert publication.private.rows_out == len(frame) == 7
    assert sorted(set(frame["age.low"])) == [20, 30, 40]
    assert set(frame["city"]) == {"France"}
    assert "1 row was left out of 8" in publication.private.notices[0]
    assert publication.private.decision["groups"] == frame["group"].n_unique() == 3


@pytest.mark.parametrize(
    ("algorithm", "k", "told"),
    [
        ("mondrian", 2, ""),
        ("mondrian", 9, "'age' in 9, 'city' in 18"),
        ("flash", 3, "'age' in 18"),
        ("flash", 9, "'age' in 18, 'city' in 18"),
    ],
)
def test_cells_that_say_nothing_are_counted(algorithm: Any, k: int, told: str) -> None:
    """Those that show "*", the whole range, or nothing where some value is not missing."""
    people = pl.concat([PEOPLE_AND_OSLO.with_columns(pl.col("age") + i) for i in (0, 3)])
    people = people.with_columns(pl.row_index("name"), age=pl.col("age").replace(62, None))
    nulls = {"age": {**COLUMNS["age"], "nulls": "category"}}
    publication = publish(
        Generalization(k=k, algorithm=algorithm), people, plan_of(columns=COLUMNS | nulls)
    )
    notices = [one for one in publication.private.notices if "nothing is said" in one]
    assert notices == [
        f"nothing is said of {told} of 18 rows: any value is possible there ('*', the whole range, "
        "an empty cell); steps between in their hierarchies, fewer quasi-identifiers or a smaller "
        "k show more"
    ] * bool(told)


@pytest.mark.parametrize("algorithm", ["mondrian", "k-optimize"])
def test_partitions_show_what_each_group_needs(algorithm: Any) -> None:
    """Groups have at least k rows, no row is lost, and the decision is the number of groups."""
    publication = publish(Generalization(k=2, algorithm=algorithm))
    frame = rows_of(publication)
    shown = [name for name in frame.columns if name.startswith(("age", "city"))]
    assert frame.group_by(shown).len()["len"].min() >= 2
    assert sorted(frame["visits"]) == sorted(PEOPLE["visits"])
    assert publication.release.method["decision"] == {"groups": frame["group"].n_unique()}


@pytest.mark.slow
@given(
    st.permutations(range(len(PEOPLE))), st.sampled_from([*FULL_DOMAIN, "mondrian", "k-optimize"])
)
def test_the_order_of_rows_changes_nothing(order: list[int], algorithm: Any) -> None:
    """A release tells nothing about where a row stood: any order gives the same one."""
    limit = 0 if algorithm == "mondrian" else 0.25
    publisher = Generalization(k=2, algorithm=algorithm, suppression_limit=limit)
    assert rows_of(publish(publisher, PEOPLE[order])).equals(rows_of(publish(publisher)))


def test_every_other_value_survives() -> None:
    """Kept and sensitive columns are published as they are, identifiers and row numbers never."""
    frame = rows_of(publish(Generalization(k=2, suppression_limit=0)))
    assert sorted(frame["visits"]) == sorted(PEOPLE["visits"])
    pairs = frame.select("illness", "visits").sort("visits")
    assert pairs.equals(PEOPLE.select("illness", "visits"))
    assert not any("person" in str(value) for row in frame.rows() for value in row)


def test_missing_values_are_never_dropped_silently() -> None:
    """With ``nulls = "category"`` a missing value is one of the values: no row disappears."""
    frame = PEOPLE.with_columns(
        city=pl.Series(["Lyon", "Lyon", None, None, "Nice", "Nice", None, None])
    )
    publication = publish(Generalization(k=2), frame, plan_of(nulls="category"))
    assert len(rows_of(publication)) == len(frame)
    assert publication.private.suppressed == 0


@pytest.mark.parametrize(("limit", "left_out"), [(0.29, 29), (Decimal("0.2899"), 0), (1, 29)])
def test_the_suppression_limit_is_exact(limit: Any, left_out: int) -> None:
    """The share is the decimal that one reads: 0.29 of 100 rows are 29 rows."""
    cities = ["Lyon"] * 71 + [f"town {i}" for i in range(29)]
    plan = parse_plan({"roles": {"quasi_identifiers": ["city"]}})
    publisher = Generalization(k=2, algorithm="flash", suppression_limit=limit)
    publication = publish(publisher, pl.DataFrame({"city": cities}), plan)
    assert publication.private.suppressed == left_out
    assert set(rows_of(publication)["city"]) == ({"Lyon"} if left_out else {"*"})


def test_diversity_holds_in_every_group() -> None:
    """With l = 2 each group shows two illnesses, and the guarantee says so."""
    publication = publish(Generalization(k=2, l=2, suppression_limit=0.5))
    frame = rows_of(publication)
    assert frame.group_by("group").agg(pl.col("illness").n_unique())["illness"].min() >= 2
    guarantee = publication.release.guarantee.document()
    assert guarantee["kind"] == "k-anonymity"
    assert (guarantee["k"], guarantee["l"]) == (
        2,
        {"value": 2, "kind": "distinct", "columns": ["illness"]},
    )
    assert "the values of 'illness' number at least 2 different ones" in guarantee["statement"]


def test_closeness_holds_in_every_group() -> None:
    """With t = 0.3 the illnesses of each group are distributed almost as those of all rows."""
    publication = publish(Generalization(k=2, t={"value": 0.3, "distance": "equal"}))
    frame = rows_of(publication)
    whole = {name: share / 8 for name, share in PEOPLE["illness"].value_counts().rows()}
    for _, group in frame.group_by("group"):
        own = {name: rows / len(group) for name, rows in group["illness"].value_counts().rows()}
        assert sum(abs(own.get(name, 0) - share) for name, share in whole.items()) / 2 <= 0.3
    assert publication.release.guarantee.parameters["t"] == {
        "value": 0.3,
        "kind": "equal",
        "columns": ["illness"],
    }


def test_k_alone_says_what_it_does_not_hide() -> None:
    """The guarantee of k-anonymity alone warns that a whole group may share a sensitive value."""
    alone = publish(Generalization(k=2)).release.guarantee
    diverse = publish(Generalization(k=2, l=2)).release.guarantee
    assert any("says nothing about the sensitive values" in text for text in alone.assumes)
    assert not any("says nothing about the sensitive values" in text for text in diverse.assumes)


def test_several_sensitive_columns_are_protected_each() -> None:
    """``l`` holds for each sensitive column by itself."""
    roles = {"sensitive": ["illness", "visits"], "keep": [], "keep_unique": []}
    publication = publish(Generalization(k=2, l=3), plan=plan_of(roles=roles))
    frame = rows_of(publication)
    for column in ("illness", "visits"):
        assert frame.group_by("group").agg(pl.col(column).n_unique())[column].min() >= 3
    assert publication.release.guarantee.parameters["l"]["columns"] == ["illness", "visits"]


@pytest.mark.parametrize("objective", ["loss", "precision", "discernibility", "average-class-size"])
def test_flash_and_ola_publish_the_same(objective: Any) -> None:
    """Both prove the same optimum, and so make the same release."""
    both = [
        Generalization(k=3, algorithm=algorithm, objective=objective, suppression_limit=0.2)
        for algorithm in ("flash", "ola")
    ]
    releases = [rows_of(publish(publisher)) for publisher in both]
    assert releases[0].equals(releases[1])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"k": 1}, "k must be a whole number of at least 2"),
        ({"k": True}, "k must be a whole number of at least 2"),
        ({"k": 2.0}, "k must be a whole number of at least 2"),
        ({"k": 2, "algorithm": "flesh"}, "did you mean 'flash'"),
        ({"k": 2, "objective": "los"}, "did you mean 'loss'"),
        ({"k": 2, "suppression_limit": 1.01}, "suppression_limit must be a number between 0 and 1"),
        ({"k": 2, "suppression_limit": "5%"}, "suppression_limit must be a number between 0 and 1"),
        ({"k": 2, "l": 1}, "l must be a whole number of at least 2"),
        ({"k": 2, "l": {"kind": "entropy"}}, "l: needs 'value'"),
        ({"k": 2, "l": {"value": 2, "kin": "entropy"}}, "did you mean 'kind'"),
        ({"k": 2, "l": {"value": 2, "kind": "entropic"}}, "did you mean 'entropy'"),
        ({"k": 2, "l": {"value": 2, "kind": "recursive"}}, "l needs c where kind"),
        ({"k": 2, "l": {"value": 2, "c": 2}}, "l needs c where kind"),
        ({"k": 2, "l": {"value": 2, "kind": "recursive", "c": 0}}, "c must be"),
        ({"k": 2, "t": 1.5}, "t must be between 0 and 1"),
        ({"k": 2, "t": {"value": 0.2, "distance": "order"}}, "did you mean 'ordered'"),
        ({"k": 2, "relaxed": True}, "relaxed is a parameter of"),
        ({"k": 2, "algorithm": "mondrian", "suppression_limit": 0.1}, "leaves out no rows"),
        ({"k": 2, "algorithm": "mondrian", "objective": "precision"}, "leave objective out"),
    ],
)
def test_parameters_that_cannot_be_are_refused(parameters: Mapping[str, Any], message: str) -> None:
    """The error names the parameter and what it may be."""
    with pytest.raises(PlanError, match=message):
        Generalization(**parameters)


def test_all_forms_of_l_and_t_are_understood() -> None:
    """Every kind and distance can be asked for, in numbers or tables, and repeated from itself."""
    forms: list[Mapping[str, Any]] = [
        {"l": 3},
        {"l": {"value": Decimal("2.5"), "kind": "entropy"}},
        {"l": {"value": 2, "kind": "recursive", "c": 3}},
        {"t": 0},
        {"t": {"value": Decimal("0.4"), "distance": "hierarchical"}},
    ]
    for form in forms:
        publisher = Generalization(k=2, **form)
        again = Generalization(k=2, l=publisher.l, t=publisher.t)
        assert again == publisher


def test_too_few_rows_are_infeasible() -> None:
    """With k above the number of rows the error says which k the table allows."""
    with pytest.raises(InfeasibleError, match=r"8 rows, and k = 9 .*largest k that it allows is 8"):
        publish(Generalization(k=9, suppression_limit=1))


def test_an_infeasible_plan_names_what_would_do(tmp_path: Path) -> None:
    """A hierarchy without a common top may forbid k; the limit and the k named will do."""
    (tmp_path / "city.csv").write_text("Lyon;France\nNice;France\nOslo;Norway\n")
    document = {
        "roles": {"quasi_identifiers": ["city"], "sensitive": ["illness"]},
        "columns": {"city": {"hierarchy": "city.csv"}},
    }
    plan = parse_plan(document, tmp_path)
    with pytest.raises(
        InfeasibleError, match=r"2 of 9 rows .* suppression_limit = 0\.2223 .* k = 2"
    ) as raised:
        publish(Generalization(k=4, algorithm="flash"), PEOPLE_AND_OSLO, plan)
    assert raised.value.exit_status == 3
    for mended in (
        Generalization(k=4, algorithm="flash", suppression_limit=0.2223),
        Generalization(k=2, algorithm="flash"),
        Generalization(k=4),  # groups that differ in detail show "*" above the hierarchy
    ):
        assert len(rows_of(publish(mended, PEOPLE_AND_OSLO, plan))) >= 7
    with pytest.raises(InfeasibleError, match=r"9 of 9 rows .* ask for less"):
        publish(Generalization(k=2, l=4), PEOPLE_AND_OSLO, plan)


def test_roles_are_asked_for() -> None:
    """Without quasi-identifiers there is nothing to generalize; l and t need sensitive columns."""
    kept = {"keep": ["visits", "age", "city"], "keep_unique": ["visits", "age"]}
    none = plan_of(roles={"quasi_identifiers": [], **kept})
    with pytest.raises(PlanError, match="quasi_identifiers names no column"):
        publish(Generalization(k=2), plan=none)
    insensitive = plan_of(roles={"sensitive": []})
    with pytest.raises(PlanError, match="sensitive names no column"):
        publish(Generalization(k=2, t=0.5), plan=insensitive)


def test_distances_need_what_they_measure() -> None:
    """Order means nothing for texts, and a tree must be declared."""
    with pytest.raises(PlanError, match='"ordered" is one of numbers'):
        publish(Generalization(k=2, t={"value": 0.5, "distance": "ordered"}))
    with pytest.raises(PlanError, match=r"declare one in \[columns.illness\]"):
        publish(Generalization(k=2, t={"value": 0.5, "distance": "hierarchical"}))


def test_edges_that_groups_do_not_keep_to_are_told() -> None:
    """Of a quasi-identifier without a hierarchy, and of no other column."""
    edges = {"edges": [0, 30, 100]}
    stated = {"age": edges, "city": COLUMNS["city"], "visits": edges}
    told = publish(Generalization(k=2), plan=plan_of(columns=stated)).private.notices
    assert [one.split(":")[0] for one in told if "edges" in one] == ["column 'age'"]
    assert not [one for one in publish(Generalization(k=2)).private.notices if "edges" in one]


def test_large_lattices_are_refused_before_anything_is_published() -> None:
    """The error says how large the lattice is and which algorithms would do; datafly does."""
    letters = [f"c{i}" for i in range(24)]
    frame = pl.DataFrame({name: ["x", "x", "y", "y"] for name in letters})
    plan = parse_plan({"roles": {"quasi_identifiers": letters}})
    for algorithm in ("flash", "ola"):
        with pytest.raises(PlanError, match=r"16,777,216 nodes.*datafly"):
            publish(Generalization(k=2, algorithm=algorithm), frame, plan)
    assert len(rows_of(publish(Generalization(k=2, algorithm="datafly"), frame, plan))) == 4


def test_a_seeded_release_is_unfit_and_a_secure_one_fit() -> None:
    """Generalization draws nothing, but its release carries the mark of its randomness."""
    table = open_frame(PEOPLE, plan_of())
    publisher = Generalization(k=2)
    publisher.get_ready()
    assert publisher.publish(table).publishable
    assert not publish(publisher).release.publishable
    assert publisher.series is None
    assert publisher.record_key is None
