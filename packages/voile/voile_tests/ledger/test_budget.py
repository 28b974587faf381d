"""The ledger adds up what a data set spends, keeps its limit, and keeps the rows of its pool."""

from __future__ import annotations

import datetime as dt
import sqlite3
import tempfile
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voile.dp.accounting import PrivacyEvent, spent
from voile.ledger import BudgetState, CarriedRows, Charge, Ledger, budget
from voile.schema.budget import BudgetPlan
from voile.table.engines import AUTO, engine_of
from voile.table.keeping import KeptRows
from voile_base.errors import LedgerError, PlanError, RefusedError
from voile_testing.plugin import examples


@pytest.fixture
def ledger(tmp_path) -> Ledger:
    """A ledger that does not exist yet."""
    return Ledger(tmp_path / "ledger.db")


def commit(ledger: Ledger, charge: Charge) -> BudgetState:
    """The state after a charge is committed."""
    ledger.commit(None, None, charge)
    state = ledger.budget(charge.limit.data_set)
    assert state is not None
    return state


def parcels(release_id: str, rows: int) -> KeptRows:
    """Rows that say which release left them out, and nothing else."""
    return KeptRows.of_table(pa.table({"parcel": pa.array([f"left by {release_id}"] * rows)}))


def left_by(carried: CarriedRows) -> list[str]:
    """Which release left each row out."""
    if not carried.rows:
        return []
    texts = carried.kept.open(engine_of(AUTO)).to_arrow()["parcel"].to_pylist()
    return [text.removeprefix("left by ") for text in texts]


def bytes_beside(ledger: Ledger) -> bytes:
    """All that stands in the files beside a ledger."""
    files = ledger.path.with_name("ledger.db.rows").rglob("*.parquet")
    return b"".join(file.read_bytes() for file in files)


_numbers = st.decimals(0, 5, places=3)
_events = st.lists(
    st.builds(
        PrivacyEvent,
        mechanism=st.text(max_size=8),
        epsilon=_numbers,
        delta=st.just(Decimal(0)) | st.just(Decimal("1e-30")),
    ),
    max_size=3,
).map(tuple)
_pools = st.none() | st.integers(0, 20)


@pytest.mark.slow
@settings(max_examples=examples(40))
@given(
    releases=st.lists(st.tuples(_events, _pools), min_size=1, max_size=4),
    name=st.text("aé'\0 ", min_size=1),
)
def test_round_trip(releases, name):
    """Whatever releases are committed, the same entries and the last waiting rows are loaded."""
    limit = BudgetPlan(name, Decimal(1000), Decimal("0.1"))
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger(Path(folder) / "ledger.db")
        state, waiting = None, None
        for number, (events, pool) in enumerate(releases, start=1):
            release_id = f"{number:032x}"
            left_out = None if pool is None else CarriedRows(release_id, parcels(release_id, pool))
            state = commit(ledger, Charge(limit, state, release_id, events, left_out))
            if left_out:
                waiting = left_out
                ledger.settle(name, release_id)
                state = ledger.budget(name)
        assert state.limit == limit
        assert [entry.events for entry in state.entries] == [events for events, _ in releases]
        assert [entry.number for entry in state.entries] == list(range(1, len(releases) + 1))
        assert state.taken_up is None
        assert (state.waiting is None) == (waiting is None)
        if waiting:
            assert (state.waiting.release_id, state.waiting.rows) == (
                waiting.release_id,
                waiting.rows,
            )
            assert left_by(state.waiting) == [waiting.release_id] * waiting.rows
        assert ledger.verify() == []


def test_an_unknown_data_set(ledger, grown, charged):
    """A data set that no release was charged to has no account; asking makes no file."""
    assert ledger.budget("parcels") is None
    assert not ledger.path.exists()
    ledger.commit(None, grown(None))
    assert ledger.budget("parcels") is None
    assert ledger.data_sets() == []
    commit(ledger, charged(None, "1"))
    assert ledger.budget("letters") is None
    assert [state.limit.data_set for state in ledger.data_sets()] == ["parcels"]


def test_what_is_spent_adds_up(ledger, charged):
    """All events of all releases count, and the limit can be spent to its end."""
    state = commit(ledger, charged(None, "1", "0.5"))
    assert (state.spent, state.left) == (Decimal("1.5"), Decimal("1.5"))
    state = commit(ledger, charged(state, "1.5"))
    assert (state.spent, state.left) == (3, 0)
    assert ledger.verify() == []


def test_a_delta_makes_room(ledger, charged):
    """With a delta, many small releases cost less than their sum, as the accountant says."""
    limit = BudgetPlan("parcels", Decimal(3), Decimal("0.00001"))
    charge = charged(None, *["0.1"] * 40, limit=limit)
    state = commit(ledger, charge)
    assert state.spent == spent(charge.events, limit.delta) < 3
    with pytest.raises(RefusedError, match="is left of the limit"):
        ledger.commit(None, None, charged(None, *["0.1"] * 40))


def test_a_limit_is_kept(ledger, charged):
    """What would exceed the limit is refused with what is spent, left and asked for."""
    with pytest.raises(RefusedError, match=r"would spend 3\.5, and 3 is left"):
        ledger.commit(None, None, charged(None, "3", "0.5"))
    assert not ledger.path.exists()
    state = commit(ledger, charged(None, "2.2"))
    with pytest.raises(RefusedError) as caught:
        ledger.commit(None, None, charged(state, "1"))
    assert str(caught.value).startswith(
        "data set 'parcels': this release would spend 1, and 0.8 is left of the limit epsilon = 3 "
        "at delta = 0: 2.2 is spent, and together it would be 3.2."
    )
    assert caught.value.exit_status == 4
    assert ledger.budget("parcels").seal == state.seal


def test_a_delta_is_kept(ledger, charged):
    """No epsilon is enough for releases whose delta is beyond that of the limit."""
    careless = PrivacyEvent("sampling", Decimal("0.1"), delta=Decimal("0.001"))
    with pytest.raises(RefusedError, match="smaller delta"):
        ledger.commit(None, None, replace(charged(None), events=(careless,)))
    assert not ledger.path.exists()


@pytest.mark.parametrize(
    "other",
    [
        BudgetPlan("parcels", Decimal(4)),
        BudgetPlan("parcels", Decimal(3), Decimal("0.0001")),
        BudgetPlan("parcels", Decimal(3), neighbours="replace"),
    ],
    ids=["epsilon", "delta", "neighbours"],
)
def test_a_limit_is_for_good(ledger, charged, other):
    """A later plan with another limit is refused, naming both; in other digits it is the same."""
    state = commit(ledger, charged(None, "1"))
    with pytest.raises(RefusedError) as caught:
        ledger.commit(None, None, charged(state, limit=other))
    assert str(state.limit) in str(caught.value)
    assert str(other) in str(caught.value)
    assert caught.value.exit_status == 4
    same = BudgetPlan("parcels", "3.00", "0e-5")
    assert commit(ledger, charged(state, "1", limit=same)).spent == 2


def test_neighbours_of_events(ledger, charged):
    """Adding a row and removing one make a replacement; nothing follows the other way round."""
    event = PrivacyEvent("exponential", Decimal(1), neighbours="replace")
    with pytest.raises(PlanError, match=r"\[budget\] data set 'parcels'.*'exponential'"):
        ledger.commit(None, None, replace(charged(None), events=(event,)))
    assert not ledger.path.exists()
    twice = BudgetPlan("parcels", Decimal(3), neighbours="replace")
    assert commit(ledger, charged(None, "1", limit=twice)).spent == 2
    with pytest.raises(RefusedError, match="would spend 2, and 1 is left"):
        ledger.commit(None, None, charged(ledger.budget("parcels"), "1", limit=twice))


def test_a_release_that_spends_nothing(ledger, charged):
    """A method without events may leave rows in a pool whose limit is zero."""
    limit = BudgetPlan("parcels", 0)
    state = commit(ledger, charged(None, limit=limit, rows=2))
    assert (state.spent, state.left, state.waiting.rows) == (0, 0, 2)
    assert ledger.verify() == []


def test_the_last_of_a_budget_is_spent_once(ledger, charged):
    """Of two releases that both found enough left, only the first is committed."""
    state = commit(ledger, charged(None, "2"))
    winner, loser = charged(state, "1"), charged(state, "1")
    ledger.commit(None, None, winner)
    with pytest.raises(LedgerError, match="data set 'parcels' was committed meanwhile"):
        ledger.commit(None, None, loser)
    assert [entry.release_id for entry in ledger.budget("parcels").entries[1:]] == [
        winner.release_id
    ]


def test_a_data_set_is_begun_once(ledger, charged):
    """Two publishers that both found no account cannot both begin it, whatever their limits."""
    ledger.commit(None, None, charged(None, "1"))
    other = BudgetPlan("parcels", Decimal(100))
    with pytest.raises(LedgerError, match="committed meanwhile"):
        ledger.commit(None, None, charged(None, "50", limit=other))
    assert ledger.budget("parcels").spent == 1


def test_a_lost_ledger_is_not_begun_anew(ledger, charged):
    """A publisher whose ledger disappears does not begin another, in which nothing is spent."""
    state = commit(ledger, charged(None, "2"))
    ledger.path.unlink()
    with pytest.raises(LedgerError, match="there is no such ledger"):
        ledger.commit(None, None, charged(state, "1"))
    assert not ledger.path.exists()


def test_a_release_id_is_used_once(ledger, grown, charged):
    """An id that a seed repeats is refused, wherever the ledger knows it from."""
    history = grown(None)
    ledger.commit(None, history)
    known = history.latest.release_id
    with pytest.raises(LedgerError, match="already knows a release with this id"):
        ledger.commit(None, None, charged(None, "1", release_id=known))
    state = commit(ledger, charged(None, "1", release_id="0" * 32))
    with pytest.raises(LedgerError, match="already knows a release with this id"):
        ledger.commit(None, None, charged(state, "1", release_id="0" * 32))


def test_a_version_and_what_it_spends_are_one_commit(ledger, grown, charged, monkeypatch):
    """A release of a series that spends is known to both accounts or to none."""
    history = grown(None)
    both = charged(None, "1", release_id=history.latest.release_id)
    with monkeypatch.context() as patched:
        patched.setattr(budget, "_update_head", _fail)
        with pytest.raises(ZeroDivisionError):
            ledger.commit(None, history, both)
    assert ledger.load("salaries") is None
    assert ledger.budget("parcels") is None
    ledger.commit(None, history, both)
    assert ledger.load("salaries").latest.release_id == both.release_id
    assert ledger.budget("parcels").entries[0].release_id == both.release_id
    with pytest.raises(ValueError, match="about one release"):
        ledger.commit(history, grown(history), charged(ledger.budget("parcels"), "1"))


def _fail(*_):
    raise ZeroDivisionError


def test_no_release_is_lost_to_a_refusal(ledger, grown, charged):
    """Where the budget is refused, the version of the series is not committed either."""
    history = grown(None)
    asked = charged(None, "4", release_id=history.latest.release_id)
    with pytest.raises(RefusedError):
        ledger.commit(None, history, asked)
    assert not ledger.path.exists()


def test_rows_go_from_pool_to_pool(ledger, charged):
    """Rows left out wait; the next release takes them up, and they are kept until it stands."""
    first, second = charged(None, rows=3), None
    state = commit(ledger, first)
    assert (state.waiting.rows, state.unsettled, state.taken_up.rows) == (3, first.release_id, 0)
    ledger.settle("parcels", first.release_id)
    state = ledger.budget("parcels")
    assert (state.unsettled, state.taken_up) == (None, None)

    second = charged(state, rows=5)
    state = commit(ledger, second)
    assert left_by(state.waiting) == [second.release_id] * 5
    assert left_by(state.taken_up) == [first.release_id] * 3
    assert first.release_id.encode() in bytes_beside(ledger)
    ledger.settle("parcels", second.release_id)
    assert ledger.verify() == []
    # Published rows are gone from the files themselves.
    assert first.release_id.encode() not in bytes_beside(ledger)
    assert second.release_id.encode() in bytes_beside(ledger)


@pytest.mark.parametrize("rows", [None, 3], ids=["the first release", "a later release"])
def test_rows_of_a_lost_release_wait_again(ledger, charged, rows):
    """Taking a release back restores the pool as it was before; what it spent stays spent."""
    before = None
    if rows is not None:
        first = charged(None, rows=rows)
        commit(ledger, first)
        ledger.settle("parcels", first.release_id)
        before = ledger.budget("parcels")
    lost = charged(before, "1", rows=7)
    commit(ledger, lost)
    ledger.take_back("parcels", lost.release_id)
    state = ledger.budget("parcels")
    assert state.taken_up is None
    assert left_by(state.waiting) == (left_by(before.waiting) if before else [])
    assert state.spent == 1
    assert [entry.kind for entry in state.entries[-2:]] == ["release", "taken back"]
    assert lost.release_id.encode() not in bytes_beside(ledger)
    assert ledger.verify() == []
    assert commit(ledger, charged(state, "1", rows=1)).spent == 2


@pytest.mark.parametrize("how", ["infeasible", "abandoned"])
def test_an_attempt_that_came_to_nothing_stays_charged(ledger, charged, how):
    """Its end is written down once, under its own release, and gives nothing back."""
    asked, _ = ledger.charge(charged(None, "2"))
    assert asked is not None
    assert asked.receipt().startswith("this release spends 2; together 2 of epsilon = 3 ")
    for _ in range(2):
        ledger.end(asked.release_id, how)
    state = ledger.budget("parcels")
    assert [(entry.kind, entry.release_id) for entry in state.entries] == [
        ("release", asked.release_id),
        (how, asked.release_id),
    ]
    assert state.spent == 2
    assert ledger.verify() == []


def test_rows_wait_where_the_draw_was_charged_before(ledger, charged):
    """A commit of a charge that was entered leaves its pool; one that others overtook does not."""
    first, _ = ledger.charge(charged(None, "1", rows=3))
    ledger.commit(None, None, first)
    ledger.settle("parcels", first.release_id)
    one, _ = ledger.charge(charged(ledger.budget("parcels"), "1", rows=2))
    other, _ = ledger.charge(charged(ledger.budget("parcels"), "1", rows=4))
    ledger.commit(None, None, one)
    assert left_by(ledger.budget("parcels").waiting) == [one.release_id] * 2
    with pytest.raises(LedgerError, match="data set 'parcels' was committed meanwhile"):
        ledger.commit(None, None, other)
    assert left_by(ledger.budget("parcels").waiting) == [one.release_id] * 2


def test_an_unsettled_pool_is_not_touched(ledger, charged):
    """Until a release is settled, another may spend, and none may take rows up."""
    lost = charged(None, "1", rows=7)
    state = commit(ledger, lost)
    with pytest.raises(RefusedError, match=r"not known whether.*voile ledger settle parcels"):
        ledger.commit(None, None, charged(state, rows=0))
    state = commit(ledger, charged(state, "1"))
    assert (state.unsettled, state.spent) == (lost.release_id, 2)
    ledger.settle("parcels", lost.release_id)
    assert ledger.budget("parcels").seal == state.seal  # who only spends is not overtaken by it
    commit(ledger, charged(ledger.budget("parcels"), rows=0))


@pytest.mark.parametrize("deed", [Ledger.settle, Ledger.take_back])
def test_only_the_unsettled_release_is_settled(ledger, charged, deed):
    """A release that does not wait for it, or that nobody knows, is not settled."""
    first = charged(None, rows=1)
    state = commit(ledger, first)
    for data_set, release_id in (("parcels", "0" * 32), ("letters", first.release_id)):
        with pytest.raises(LedgerError, match=r"has no release .* that waits to be settled"):
            deed(ledger, data_set, release_id)
    assert ledger.budget("parcels").seal == state.seal
    ledger.settle("parcels", first.release_id)
    with pytest.raises(LedgerError, match="waits to be settled"):
        deed(ledger, "parcels", first.release_id)


def test_rows_of_every_type_wait(ledger, charged):
    """Texts, dates, times with and without zones, decimals and missing values come back as are."""
    moment = dt.datetime(2026, 3, 29, 1, 30, 0, 123456)
    rows = pa.table(
        {
            "text": ["a", None, "é\0"],
            "day": [dt.date(1900, 1, 1), None, dt.date(2999, 12, 31)],
            "moment": pa.array([moment, None, moment], pa.timestamp("ns")),
            "zoned": pa.array([moment, None, moment], pa.timestamp("us", "Europe/Paris")),
            "lasted": pa.array([dt.timedelta(1), None, dt.timedelta(0)], pa.duration("us")),
            "time": pa.array([dt.time(1, 2, 3), None, dt.time(0)], pa.time64("ns")),
            "price": pa.array([Decimal("1.50"), None, Decimal("-2")], pa.decimal128(10, 2)),
            "true": [True, None, False],
            "number": pa.array([1.5, None, float("nan")]),
            "large": pa.array([2**64 - 1, None, 0], pa.uint64()),
            "nothing": pa.nulls(3),
        }
    )
    before = KeptRows.of_table(rows)
    charge = charged(None, rows=3)
    charge = replace(charge, left_out=replace(charge.left_out, kept=before))
    engine = engine_of(AUTO)
    after = commit(ledger, charge).waiting.kept.open(engine).to_arrow()
    expected = before.open(engine).to_arrow()
    assert after.schema == expected.schema
    assert str(after.to_pydict()) == str(expected.to_pydict())


TAMPERINGS = {
    "an event": (
        """UPDATE spending SET events = replace(events, '"epsilon": "1"', '"epsilon": "0"')""",
        "entry 1: its seal does not match it and the entries before it",
    ),
    "the limit": (
        """UPDATE data_set SET limits = replace(limits, '"3"', '"300"')""",
        "entry 1: its seal does not match it",
    ),
    "the neighbours": (
        "UPDATE data_set SET limits = replace(limits, 'add-remove', 'replace')",
        "entry 1: its seal does not match it",
    ),
    "the name": (
        "UPDATE data_set SET name = 'another'",
        "entry 1: its seal does not match it",
    ),
    "a date": (
        "UPDATE spending SET created = '1970-01-01' WHERE number = 1",
        "entry 1: its seal does not match it",
    ),
    "a release": (
        "UPDATE spending SET release_id = 'another' WHERE number = 2",
        "entry 2: its seal does not match it",
    ),
    "a kind": (
        "UPDATE spending SET kind = 'taken back' WHERE number = 2",
        "entry 2: its seal does not match it",
    ),
    "the newest entry": (
        "DELETE FROM spending WHERE number = 3",
        "its head does not match its newest entry and its pool",
    ),
    "an older entry": (
        "DELETE FROM spending WHERE number = 2",
        "entry 3: its seal does not match it",
    ),
    "all entries": (
        "DELETE FROM spending",
        "its head does not match its newest entry and its pool",
    ),
    "the waiting rows": (
        "UPDATE row_set SET seal = zeroblob(32) WHERE pool = "
        "(SELECT id FROM pool WHERE state = 'waiting');"
        "UPDATE row_set SET rows = rows + 1 WHERE pool = "
        "(SELECT id FROM pool WHERE state = 'waiting')",
        "the record of its rows waiting was changed",
    ),
    "the rows taken up": (
        "UPDATE row_set SET rows = rows + 1 WHERE pool = "
        "(SELECT id FROM pool WHERE state = 'taken up')",
        "the record of its rows taken up was changed",
    ),
    "their number": (
        "UPDATE pool SET rows = rows + 1 WHERE state = 'waiting'",
        "the record of its rows waiting was changed",
    ),
    "their release": (
        "UPDATE pool SET release_id = 'another' WHERE state = 'waiting'",
        "the record of its rows waiting was changed",
    ),
    "lost rows": ("DELETE FROM row_set", "the record of its rows waiting was changed"),
    "rows of another place": (
        "UPDATE row_set SET name = '../ledger.db' WHERE pool = "
        "(SELECT id FROM pool WHERE state = 'waiting')",
        "a record names no folder of rows",
    ),
    "a lost pool": (
        "DELETE FROM pool WHERE state = 'taken up'",
        "its head does not match its newest entry and its pool",
    ),
    "exchanged pools": (
        "UPDATE pool SET data_set = -1 WHERE state = 'waiting';"
        "UPDATE pool SET state = 'waiting' WHERE state = 'taken up';"
        "UPDATE pool SET state = 'taken up', data_set = 1 WHERE data_set = -1",
        "its head does not match its newest entry and its pool",
    ),
    "unreadable events": ("UPDATE spending SET events = '[{}]'", "what it spent cannot be read"),
    "an unreadable limit": ("UPDATE data_set SET limits = '{}'", "its limit cannot be read"),
}


@pytest.mark.parametrize("what", TAMPERINGS)
def test_each_edit_is_found(ledger, charged, what):
    """An edited or removed record of an account or a pool is found, and no publisher uses it."""
    state = commit(ledger, charged(None, "1", rows=3))
    ledger.settle("parcels", state.unsettled)
    state = commit(ledger, charged(ledger.budget("parcels"), "0.5", rows=4))
    commit(ledger, charged(state, "0.25"))
    assert ledger.verify() == []
    edits, found = TAMPERINGS[what]
    with closing(sqlite3.connect(ledger.path)) as connection:
        for edit in edits.split(";"):
            assert connection.execute(edit).rowcount != 0, "the edit must hit something"
        connection.commit()
    findings = [str(finding) for finding in ledger.verify()]
    assert any(found in finding for finding in findings), findings
    name = "another" if what == "the name" else "parcels"
    with pytest.raises(LedgerError, match=rf"cannot vouch for data set '{name}'.*Restore"):
        ledger.budget(name)


def test_an_overspent_account_behind_intact_seals_is_found(ledger, charged, monkeypatch):
    """More than the limit is found even where it was committed in due form."""
    state = commit(ledger, charged(None, "2"))
    monkeypatch.setattr(Charge, "refuse", lambda self: None)
    commit(ledger, charged(state, "2"))
    assert [str(finding) for finding in ledger.verify()] == [
        "data set 'parcels': 4 is spent, and its limit is 3"
    ]
