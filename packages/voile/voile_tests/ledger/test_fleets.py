"""The ledger adds up what each trip spends, keeps its budget, and knows no id."""

from __future__ import annotations

import json
import math
import secrets
import sqlite3
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from voile.cli.ledger import _ledger as command
from voile.ledger import FleetCharge, FleetState, Ledger, TripSums
from voile_base.errors import LedgerError, RefusedError
from voile_geo.planar.costs import LossDistribution, composed_epsilon, gaussian_epsilon
from voile_tests.ledger.fleets import TERMS, charge_trips
from voile_tests.release.listing import write_listed


@pytest.fixture
def ledger(tmp_path) -> Ledger:
    """A ledger that does not exist yet."""
    return Ledger(tmp_path / "ledger.db")


def commit(ledger: Ledger, charge: FleetCharge) -> FleetState:
    """The state after a charge is committed."""
    ledger.commit(None, None, trips=charge)
    state = ledger.fleet(charge.terms.name)
    assert state is not None
    return state


def test_what_is_spent_adds_up(ledger):
    """By trip, over releases, each kind for itself; a budget can be spent to its end."""
    state = commit(ledger, charge_trips(None, {1: (1.0, 0.0), 2: (0.1, 0.04)}))
    state = commit(ledger, charge_trips(state, {3: (0.5, 0.0), 2: (0.2, 0.05)}))
    assert state.spent.marks.tolist() == [1, 2, 3]
    assert state.spent.epsilon == pytest.approx([1.0, 0.3, 0.5])
    assert state.spent.squared_mu == pytest.approx([0.0, 0.09, 0.0])
    expected = [1.0, 0.3 + gaussian_epsilon(0.3, TERMS.delta), 0.5]
    assert state.spent.totals(TERMS.delta) == pytest.approx(expected, rel=1e-6)
    assert [(entry.number, entry.trips) for entry in state.entries] == [(1, 2), (2, 2)]
    state = commit(ledger, charge_trips(state, {1: (2.0, 0.0)}))
    assert state.quantiles[1] == 3.0
    assert ledger.verify() == []


@given(
    releases=st.lists(
        st.dictionaries(st.integers(0, 2**64 - 1) | st.integers(0, 3), st.floats(0, 1), max_size=4),
        max_size=4,
    )
)
def test_sums_are_those_of_a_dictionary(releases):
    """Whatever trips meet in whatever releases, each has the sum of its own."""
    spent, expected = TripSums.none(), {}
    for costs in releases:
        marks = np.array(list(costs), dtype=np.uint64)
        values = np.array(list(costs.values()), dtype=np.float64)
        spent = spent.plus(TripSums(marks, values, 2 * values))
        for mark, cost in costs.items():
            expected[mark] = expected.get(mark, 0.0) + cost
    assert spent.marks.tolist() == sorted(expected)
    assert spent.epsilon == pytest.approx([expected[mark] for mark in sorted(expected)])
    assert spent.squared_mu == pytest.approx(2 * spent.epsilon)


def test_a_budget_is_kept(ledger):
    """What one trip would exceed is refused for all, with counts and a row, and nothing is kept."""
    with pytest.raises(RefusedError, match=r"1 of 2 trips would spend more.*begins in row 20"):
        ledger.commit(None, None, trips=charge_trips(None, {1: (1.0, 0.0), 2: (3.1, 0.0)}))
    assert not ledger.path.exists()
    state = commit(ledger, charge_trips(None, {1: (2.9, 0.0), 2: (0.0, 0.01)}))
    content = ledger.path.read_bytes()
    for costs in ({1: (0.2, 0.0)}, {2: (0.0, 4.0)}, {2: (2.9, 0.1)}, {2: (0.0, math.inf)}):
        with pytest.raises(RefusedError, match="1 of them have reports in earlier releases"):
            ledger.commit(None, None, trips=charge_trips(state, costs))
    assert ledger.path.read_bytes() == content


def test_terms_are_kept(ledger):
    """Other terms than those a fleet was begun with are refused, whatever is spent."""
    state = commit(ledger, charge_trips(None, {1: (1.0, 0.0)}))
    for changed in ({"budget": 9.0}, {"distance": 50.0}, {"delta": 1e-3}):
        with pytest.raises(RefusedError, match="was begun with budget = 3 at distance = 100 m"):
            ledger.commit(
                None, None, trips=charge_trips(state, {}, terms=replace(TERMS, **changed))
            )


def test_an_overtaken_publisher_is_refused(ledger):
    """Who loaded another state than what is stored commits nothing, also of two beginners."""
    first, second = (charge_trips(None, {1: (2.0, 0.0)}) for _ in range(2))
    state = commit(ledger, first)
    with pytest.raises(LedgerError, match="fleet 'vans' was committed meanwhile"):
        ledger.commit(None, None, trips=second)
    commit(ledger, charge_trips(state, {2: (1.0, 0.0)}))
    with pytest.raises(LedgerError, match="committed meanwhile"):
        ledger.commit(None, None, trips=charge_trips(state, {3: (1.0, 0.0)}))
    assert [entry.number for entry in ledger.fleet("vans").entries] == [1, 2]


def test_a_release_is_entered_whole(ledger, grown, charged):
    """A series, a data set and a fleet are committed together or not at all."""
    history = grown(None)
    release_id = history.latest.release_id
    charge = charged(None, "1", release_id=release_id)
    ledger.commit(None, history, charge, charge_trips(None, {1: (1.0, 0.0)}, release_id=release_id))
    assert ledger.fleet("vans").entries[0].release_id == release_id
    before = ledger.budget("parcels")
    again = charged(before, "1")
    stale = charge_trips(None, {1: (1.0, 0.0)}, release_id=again.release_id)
    with pytest.raises(LedgerError, match="committed meanwhile"):
        ledger.commit(None, None, again, stale)
    assert len(ledger.budget("parcels").entries) == 1


def test_a_release_is_known_once(ledger):
    """The id of a release that the ledger knows is refused for any fleet."""
    charge = charge_trips(None, {1: (1.0, 0.0)})
    commit(ledger, charge)
    again = charge_trips(
        None, {1: (1.0, 0.0)}, terms=replace(TERMS, name="carts"), release_id=charge.release_id
    )
    with pytest.raises(LedgerError, match="already knows a release with this id"):
        ledger.commit(None, None, trips=again)


@pytest.mark.parametrize(
    ("statement", "finding"),
    [
        ("UPDATE trip_chunk SET bytes = zeroblob(length(bytes))", "entry 1: its seal"),
        ("UPDATE trip_chunk SET bytes = substr(bytes, 1, 24)", "entry 1: .* is incomplete"),
        ("UPDATE fleet SET terms = replace(terms, '3.0', '9.0')", "entry 1: its seal"),
        ("UPDATE fleet SET terms = '[1]'", "its terms cannot be read"),
        ("UPDATE fleet SET key = randomblob(32)", "entry 1: its seal"),
        ("UPDATE trip_entry SET release_id = release_id || 1", "entry 1: its seal"),
        ("DELETE FROM trip_entry WHERE number = 2", "its head does not match"),
        ("UPDATE trip_entry SET number = 3 WHERE number = 2", "entries are missing|its seal"),
    ],
)
def test_changed_records_are_found(ledger, statement, finding):
    """Whatever is changed, ``verify`` finds it, and no release is checked against it."""
    state = commit(ledger, charge_trips(None, {1: (1.0, 0.0), 2: (1.0, 0.0)}))
    commit(ledger, charge_trips(state, {2: (1.0, 0.0)}))
    with closing(sqlite3.connect(ledger.path)) as connection, connection:
        connection.execute(statement)
    found = "\n".join(map(str, ledger.verify()))
    assert "fleet 'vans'" in found
    with pytest.raises(LedgerError, match=f"cannot vouch for fleet 'vans': .*({finding})"):
        ledger.fleet("vans")


def test_an_overspent_trip_is_found(ledger, monkeypatch):
    """A ledger whose sums exceed a budget, although each seal holds, is not sound."""
    with monkeypatch.context() as patched:
        patched.setattr(FleetCharge, "refuse", lambda self: None)
        commit(ledger, charge_trips(None, {1: (4.0, 0.0), 2: (1.0, 0.0)}))
    (finding,) = ledger.verify()
    assert "1 of its trips spent more than their budget" in str(finding)


def test_releases_are_vouched_for(ledger, tmp_path):
    """A folder of a release that was charged to a fleet is known, and no other."""
    charge = charge_trips(None, {1: (1.0, 0.0)})
    commit(ledger, charge)
    folder = tmp_path / "out"
    folder.mkdir()
    for release_id, findings in ((charge.release_id, 0), (secrets.token_hex(16), 1)):
        write_listed(folder, {"release_id": release_id})
        assert len(ledger.verify_release(folder)) == findings


def test_fleets_are_shown(ledger):
    """``voile ledger show`` tells how many trips there are and what they spent."""
    commit(ledger, charge_trips(None, {1: (1.0, 0.0), 2: (0.5, 0.0), 3: (2.0, 0.0)}))
    run = CliRunner().invoke
    shown = run(command, ["show", "--ledger", str(ledger.path)])
    assert "fleet 'vans' (private): budget = 3 at distance = 100 m" in shown.stdout
    assert "trips: 3; a trip has spent 1 in the median, 2 at most" in shown.stdout
    document = json.loads(run(command, ["show", "--json", "--ledger", str(ledger.path)]).stdout)
    (fleet,) = document["fleets"]
    assert (fleet["trips"], fleet["median_spent"], fleet["largest_spent"]) == (3, 1.0, 2.0)
    verified = run(command, ["verify", "--ledger", str(ledger.path)])
    assert "1 fleets with 3 trips, 0 data sets" in verified.stderr


LAW = LossDistribution("planar-laplace", 0.5)
WEEK = replace(TERMS, name="days", budget=9.0, days=2)


def charge_days(before: FleetState | None, reports: dict[tuple[int, int], int]) -> FleetCharge:
    """What a release asks of vehicles on days: reports of one law by mark and day."""
    marks, days = np.array(list(reports), dtype=np.int64).T
    counts = np.array(list(reports.values()), dtype=np.int64)
    nothing = np.zeros(len(counts))
    costs = TripSums(marks.astype(np.uint64), nothing, nothing, days, {LAW: counts})
    return replace(
        charge_trips(before, {}, terms=WEEK), costs=costs, first_row=np.arange(len(counts)) + 1
    )


def test_vehicles_spend_by_day(ledger):
    """Reports of one law add up within any days on end, and are kept by mark, day and law."""
    epsilon = composed_epsilon(((LAW, 30),), 0.0, TERMS.delta)
    assert epsilon < 9 < composed_epsilon(((LAW, 40),), 0.0, TERMS.delta)
    state = commit(ledger, charge_days(None, {(7, 1): 20, (7, 2): 10, (8, 5): 20}))
    assert state.spent.days.tolist() == [1, 2, 5]
    assert state.spent.alike[LAW].tolist() == [20, 10, 20]
    assert state.quantiles[1] == epsilon
    with pytest.raises(RefusedError, match=r"1 of 2 vehicles would spend .* in 2 days on end"):
        ledger.commit(None, None, trips=charge_days(state, {(7, 3): 25, (8, 6): 1}))
    state = commit(ledger, charge_days(state, {(7, 4): 30, (8, 6): 10}))
    assert (state.accounts, state.overspent) == (2, 0)
    shown = CliRunner().invoke(command, ["show", "--ledger", str(ledger.path)]).stdout
    assert "of a vehicle in 2 days on end" in shown
    assert "vehicles: 2; a vehicle has spent" in shown
    assert ledger.verify() == []
    with closing(sqlite3.connect(ledger.path)) as connection, connection:
        connection.execute("UPDATE trip_entry SET laws = replace(laws, '0.5', '0.1')")
    assert "entry 1: its seal" in "\n".join(map(str, ledger.verify()))
