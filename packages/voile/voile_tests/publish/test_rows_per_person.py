"""Differentially private methods and plans that name persons: what is bounded, said and refused."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import numpy as np
import polars as pl
import pytest

from voile.dp.sampling import delta_of
from voile.publish.dp_generalization.decision import _least_excess
from voile.publish.registry import publisher_of
from voile.release.check import check_release
from voile.release.release import Publication
from voile.schema.plan import Plan, parse_plan
from voile.study.run import make_release
from voile.table.opening import open_frame
from voile_base.errors import PlanError
from voile_base.randomness import Randomness

METHODS: dict[str, dict[str, Any]] = {
    "dp-generalization": {"k": 8, "beta": 0.3, "epsilon_choice": 1},
    "clustered-laplace": {"epsilon": 6},
}
BETA = Decimal("0.3")
methods = pytest.mark.parametrize("name", METHODS)


def stays(rows: int = 400, patients: int = 80) -> pl.DataFrame:
    """Stays of patients, who are of some families."""
    rng = np.random.default_rng(3)
    patient = np.sort(rng.integers(0, patients, rows))
    return pl.DataFrame(
        {"patient": patient, "family": patient // 3, "age": rng.integers(0, 100, rows)}
    )


def plan_of(name: str, person: dict[str, str], **method: Any) -> Plan:
    """A plan for them."""
    return parse_plan(
        {
            "roles": {"quasi_identifiers": ["age"], **person},
            "columns": {"age": {"bounds": [0, 100], "intervals": {"widths": [25, 50]}}},
            "method": {"name": name, **METHODS[name], **method},
        }
    )


def publish(frame: pl.DataFrame, plan: Plan, seed: int = 1) -> Publication:
    """A release, made with a seed."""
    return publisher_of(plan.method).prepare(open_frame(frame, plan), Randomness.seeded(seed), None)


@methods
def test_persons_of_one_row_change_nothing(name: str) -> None:
    """Where each person is one row, the release is that of the rows, asked for or not."""
    frame = stays().with_row_index("one")
    rows = publish(frame, plan_of(name, {})).release.to_native()
    for said in ({}, {"rows_per_person": 1}):
        made = publish(frame, plan_of(name, {"person": "one"}, **said))
        assert made.release.to_native().equals(rows)
        assert made.release.guarantee.parameters["rows_per_person"] == 1
        assert {event.neighbours for event in made.events} <= {"person", "replace-person"}


@methods
def test_more_rows_than_anybody_has_leave_nothing_out(name: str) -> None:
    """All rows take part, and the custodian is told of none that does not."""
    made = publish(stays(), plan_of(name, {"person": "patient"}, rows_per_person=20, **_room(name)))
    assert not any("did not take part" in notice for notice in made.private.notices)
    assert made.private.rows_in == 400


def _room(name: str) -> dict[str, Any]:
    """Parameters at which there is a release all the same."""
    return {"k": 40, "epsilon_choice": 90} if name == "dp-generalization" else {}


@methods
def test_rows_beyond_are_left_out_and_only_the_custodian_is_told(name: str) -> None:
    """At most two rows of each family; the release names m, and no count of what was left out."""
    frame = stays()
    plan = plan_of(name, {"person": "patient", "household": "family"}, rows_per_person=2)
    families = frame["family"].n_unique()
    made = make_release(frame, plan, seed=1)
    most = 2 * families if name == "clustered-laplace" else 0.5 * 2 * families
    assert 0 < made.release.rows <= most
    assert made.private.rows_in == 400
    assert made.private.suppressed == 400 - made.release.rows
    beyond = 400 - 2 * families
    (told,) = [notice for notice in made.private.notices if "did not take part" in notice]
    assert f"at most 2 of each household do (rows_per_person): {beyond:,} of 400" in told
    check_release(made.release)
    claim = made.release.guarantee.document()
    assert claim["rows_per_person"] == 2
    assert claim["neighbours"] in {"household", "replace-household"}
    assert "of the rows of each household at most 2 rows take part" in claim["statement"]
    assert "a household holds all rows of its persons" in claim["assumes"][0]
    assert str(beyond) not in str(claim)
    assert {"patient", "family"}.isdisjoint(made.release.table.columns)


def test_the_sample_of_several_rows_costs_as_many_times_the_excess() -> None:
    """Excess and delta are those of three rows, in the guarantee and in what is charged."""
    made = publish(stays(), plan_of("dp-generalization", {"person": "patient"}, rows_per_person=3))
    excess = 3 * _least_excess(BETA)
    choice, sample = made.events
    assert (choice.epsilon, sample.epsilon) == (1, excess)
    assert sample.delta == delta_of(8, BETA, excess, 3)
    stated = made.release.guarantee.parameters
    assert stated["epsilon"] == float(1 + excess)
    assert stated["delta"] == pytest.approx(float(sample.delta))
    assert made.release.method["rows_per_person"] == 3


def test_the_noise_of_several_rows_has_as_many_times_the_scale() -> None:
    """Of epsilon = 6 for a person, three rows get 2 each: noise as of epsilon = 2 for a row."""
    said: dict[str, Any] = {"shares": [1.0]}
    of_person = {"person": "patient"}
    three = publish(stays(), plan_of("clustered-laplace", of_person, rows_per_person=3, **said))
    one = publish(stays(), plan_of("clustered-laplace", {}, **{**said, "epsilon": 2}))
    scales = [
        made.release.method["decision"]["columns"]["age"]["clusters"][0]["scale"]
        for made in (three, one)
    ]
    assert scales[0] == pytest.approx(scales[1])
    assert sum(event.epsilon for event in three.events) == 6
    data = publish(
        stays(), plan_of("clustered-laplace", of_person, rows_per_person=3, bounds="data", **said)
    )
    assert data.release.guarantee.parameters["epsilon"] == 6
    assert "together 6-indistinguishable" in data.release.guarantee.statement


def test_an_error_buys_as_many_times_the_epsilon() -> None:
    """The half-width of an interval is that asked for, and a person pays for each row."""
    method = {"name": "clustered-laplace", "error": 20, "shares": [1.0]}
    spent = []
    for person, extra in (({}, {}), ({"person": "patient"}, {"rows_per_person": 3})):
        plan = plan_of("clustered-laplace", person)
        parameters = {**method, **extra}
        publisher = publisher_of(type(plan.method)(parameters.pop("name"), parameters))
        made = publisher.prepare(open_frame(stays(), plan), Randomness.seeded(1), None)
        spent.append(sum(event.epsilon for event in made.events))
    assert spent[1] == 3 * spent[0]


@methods
@pytest.mark.parametrize(
    ("person", "method", "message"),
    [
        ({}, {"rows_per_person": 0}, "rows_per_person must be a whole number of at least 1"),
        ({}, {"rows_per_person": -3}, "rows_per_person must be a whole number of at least 1"),
        ({}, {"rows_per_person": 2.5}, "rows_per_person must be a whole number of at least 1"),
        ({}, {"rows_per_person": "3"}, "rows_per_person must be a whole number of at least 1"),
        ({}, {"rows_per_person": True}, "rows_per_person must be a whole number of at least 1"),
        ({}, {"rows_per_person": 2}, "names no column that tells persons apart"),
        ({"person": "row"}, {"rows_per_person": 2}, "names no column that tells persons apart"),
        ({"person": "patient"}, {}, r"rows_per_person = m in \[method\]"),
        ({"household": "family"}, {}, "some households have several rows"),
        (
            {"person": "patient"},
            {"rows_per_person": 2, "suppressed": "carry"},
            'suppressed = "carry" cannot be had with rows_per_person',
        ),
    ],
)
def test_what_cannot_be_is_refused(
    name: str, person: dict[str, str], method: dict[str, Any], message: str
) -> None:
    """Each names the key, and what to say instead."""
    with pytest.raises(PlanError, match=message) as refused:
        publish(stays(), plan_of(name, person, **method))
    assert "[method]" in str(refused.value)


def test_a_group_that_one_person_may_fill_promises_nothing() -> None:
    """With as many rows of a person as a group needs, delta is 1: refused, with what helps."""
    plan = plan_of("dp-generalization", {"person": "patient"}, rows_per_person=60)
    with pytest.raises(PlanError, match=r"k = 8 is too small for 60 rows of a person.*raise k"):
        publish(stays(), plan)
    plan = plan_of(
        "dp-generalization", {"person": "patient"}, rows_per_person=4, epsilon=2, beta=0.5
    )
    with pytest.raises(PlanError, match=r"for 4 rows of a person.*lower .*rows_per_person"):
        publish(stays(), plan)


@pytest.mark.parametrize(
    ("name", "said", "reason"),
    [
        ("flows", {"epsilon": 1}, "protects vehicles"),
        ("geo-indistinguishability", {"epsilon": 0.01}, "protects trips, and vehicles"),
        ("generalization", {"k": 3}, "all their rows take part"),
        ("ke-anonymity", {"k": 3, "e": 1}, "all their rows take part"),
    ],
)
def test_other_methods_say_why_they_take_none(name: str, said: dict[str, Any], reason: str) -> None:
    """And which methods do."""
    plan = parse_plan(
        {
            "roles": {"quasi_identifiers": ["age"]},
            "method": {"name": name, **said, "rows_per_person": 2},
        }
    )
    with pytest.raises(PlanError, match=re.escape(reason)) as refused:
        publisher_of(plan.method)
    assert "dp-generalization, dp-synthesis, dp-tables, clustered-laplace" in str(refused.value)
