"""Membership in noisy counts: as sure as theory allows, and no surer unless noise is missing."""

from __future__ import annotations

from dataclasses import replace
from math import erf, sqrt, tanh

import numpy as np
import polars as pl
import pytest

from voile.attack.membership import MembershipAttack
from voile.schema.plan import parse_plan
from voile.study.run import make_release
from voile_base.randomness import Randomness

COLUMNS = {
    "age": {"bounds": [0, 79], "intervals": {"origin": 0, "widths": [10, 40]}},
    "sex": {"values": ["F", "M"]},
    "town": {"values": [f"t{number}" for number in range(12)]},
}


def plan_of(method):
    """A plan of either method."""
    tables = {"tables": [["age", "sex"], ["sex", "town"]]} if method["name"] == "dp-tables" else {}
    return parse_plan(
        {
            "roles": {"quasi_identifiers": list(COLUMNS)},
            "columns": COLUMNS,
            "method": {**method, **tables},
        }
    )


def people(seed, rows=400):
    """Rows over the domain, some of them without a town of it."""
    draws = np.random.default_rng(seed)
    return pl.DataFrame(
        {
            "age": draws.integers(0, 80, rows),
            "sex": draws.choice(["F", "M"], rows),
            "town": draws.choice([f"t{number}" for number in range(12)] + ["elsewhere"], rows),
        }
    )


def advantages(method, releases=20, stated=None):
    """What the adversary finds in as many releases, of halves of as many tables."""
    found = []
    for seed in range(releases):
        table = people(seed)
        half, absent = table.head(200), table.tail(200)
        release = make_release(half, plan_of(method), None, seed=seed).release
        attack = MembershipAttack(absent=absent, targets=None)
        outcome = attack.run(release, half, plan_of(method), Randomness.seeded(seed))
        assert "every other row" in " ".join(outcome.assumptions)
        found.append(2 * outcome.success.value - 1)
    return np.array(found), outcome


@pytest.mark.slow
@pytest.mark.parametrize("name", ["dp-synthesis", "dp-tables"])
def test_the_advantage_is_that_of_theory(name):
    """At rho 1/2 the mean of 20 releases is within 3 standard errors of erf(sqrt(rho) / 2).

    One row in thirteen has no cell and is not told at all.  Noise of rho 2, judged by the limit of
    rho 1/2, is found out.
    """
    limit = erf(sqrt(1 / 2) / 2)
    found, outcome = advantages({"name": name, "rho": "1/2"})
    error = found.std() / sqrt(len(found))
    assert found.mean() <= limit + 3 * error
    assert found.mean() >= limit * 12 / 13 - 0.08
    assert f"above {limit:.3f}" in " ".join(outcome.notes)
    broken, _ = advantages({"name": name, "rho": "2"}, 8)
    assert broken.mean() - 3 * broken.std() / sqrt(len(broken)) > limit


def test_pure_noise_has_its_own_limit():
    """Tanh of half of epsilon, which is told and kept."""
    found, outcome = advantages({"name": "dp-tables", "epsilon": 1}, 6)
    assert found.mean() <= tanh(0.5) + 3 * found.std() / sqrt(6)
    assert f"above {tanh(0.5):.3f}" in " ".join(outcome.notes)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"plan": None}, "without the plan"),
        ({"plan": "other"}, "does not state the domains"),
        ({"person": True}, "only some rows take part"),
        ({"measurements": True}, "no noisy counts"),
        ({"found": True}, "bounds of some column were found"),
    ],
)
def test_what_cannot_be_judged_is_refused(change, told):
    """As a clause, before anything is counted."""
    table = people(1)
    plan = plan_of({"name": "dp-synthesis", "epsilon": 1})
    release = make_release(table, plan, None, seed=1).release
    (claim,) = release.guarantee.claims
    if "person" in change:
        claim = claim.model_copy(update={"rows_per_person": 2})
    if "found" in change:
        claim = claim.model_copy(update={"searched": claim.tables[:1]})
    release = replace(release, guarantee=replace(release.guarantee, claims=(claim,)))
    if "measurements" in change:
        release = replace(release, measurements=None)
    if "plan" in change:
        plan = change["plan"] and replace(plan, columns={})
    why = MembershipAttack(absent=table).refusal(release, plan)
    assert why is not None
    assert told in why
