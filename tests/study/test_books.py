"""The corridor and the ledger: what releases spend, and rows that go from pool to pool."""

from __future__ import annotations

import os
from decimal import Decimal

import polars as pl
import pytest

import voile
from tests.study.small_groups import known_to_the_corridor
from voile.errors import InputError, LedgerError, PlanError, RefusedError
from voile.ledger import Ledger
from voile.release import folder
from voile.schema.budget import BudgetPlan
from voile.study.run import make_release

BUDGET = BudgetPlan("parcels", Decimal(3))


@pytest.fixture(autouse=True)
def corridor():
    """The corridor knows the method of the tests."""
    with known_to_the_corridor():
        yield


def parcels(*zips: str) -> pl.DataFrame:
    """One parcel for each letter, which is its zip code."""
    return pl.DataFrame({"zip": [z for text in zips for z in text]})


def plan(budget: BudgetPlan | None = BUDGET, **parameters) -> voile.Plan:
    """A plan for parcels."""
    roles = voile.Roles(quasi_identifiers=["zip"])
    return voile.Plan(roles, voile.Method("small-groups", parameters), budget=budget)


CARRY = plan(k=2, suppressed="carry")


@pytest.fixture
def desk(tmp_path):
    """Publishes parcels with one ledger."""
    return Desk(tmp_path)


class Desk:
    def __init__(self, path) -> None:
        self.path = path
        self.ledger = Ledger(path / "ledger.db")
        self.count = 0

    def publish(self, frame, chosen, **options):
        self.count += 1
        out = self.path / f"out{self.count}"
        options = {"ledger": self.ledger.path, **options}
        return make_release(frame, chosen, out, **options)

    @property
    def state(self):
        return self.ledger.budget("parcels")


def published(publication) -> str:
    """The letters of the published parcels, in order."""
    return "".join(sorted(publication.release.to_native()["zip"].to_list()))


def test_what_is_spent(desk):
    """Each release is charged before it appears, and its publisher told what is left."""
    notices = desk.publish(parcels("aa"), plan(epsilon=1)).private.notices
    told = "data set 'parcels': this release spends 1; together 1 of epsilon = 3 at delta = 0 "
    assert any(notice.startswith(told) and "2 is left" in notice for notice in notices)
    desk.publish(parcels("aa"), plan(epsilon="1.5"))
    assert desk.state.spent == Decimal("2.5")
    with pytest.raises(RefusedError, match=r"would spend 1, and 0\.5 is left") as caught:
        desk.publish(parcels("aa"), plan(epsilon=1))
    assert caught.value.exit_status == 4
    assert not (desk.path / "out3").exists()
    assert desk.state.spent == Decimal("2.5")
    assert desk.ledger.verify_release(desk.path / "out2") == []


def test_a_limit_cannot_be_raised(desk):
    """A plan with another limit is refused before its table is read."""
    desk.publish(parcels("aa"), plan(epsilon=3))
    generous = plan(BudgetPlan("parcels", 30), epsilon=1)
    with pytest.raises(RefusedError, match=r"epsilon = 3, .* and the plan says epsilon = 30, "):
        desk.publish(desk.path / "no such file", generous)


def test_a_budget_needs_a_ledger(desk):
    """A plan with a budget and no ledger is wrong, and so is a pool without a name."""
    with pytest.raises(PlanError, match=r"\[budget\] data set 'parcels' needs a ledger"):
        desk.publish(parcels("aa"), plan(), ledger=None)
    with pytest.raises(PlanError, match=r"'carry'|\"carry\" needs a \[budget\]"):
        desk.publish(parcels("aa"), plan(None, suppressed="carry"))
    assert list(desk.path.iterdir()) == []


def test_what_is_not_accounted_is_said(desk):
    """Without a budget a release may spend, and its publisher is told that nothing adds it up."""
    (notice,) = desk.publish(parcels("aa"), plan(None, epsilon=9), ledger=None).private.notices
    assert "was not accounted" in notice
    *_, unused, unaccounted = desk.publish(parcels("aa"), plan(None, epsilon=9)).private.notices
    assert "the ledger was not used" in unused
    assert "was not accounted" in unaccounted
    assert not desk.ledger.path.exists()


def test_what_spends_nothing(desk):
    """A method without events leaves the account alone, and says so."""
    (notice,) = desk.publish(parcels("aa"), plan()).private.notices
    assert "was charged nothing" in notice
    assert not desk.ledger.path.exists()


def test_other_neighbours(desk):
    """A budget about replaced rows does not add up guarantees about added ones."""
    with pytest.raises(PlanError, match="only protects against a row being replaced"):
        desk.publish(parcels("aa"), plan(epsilon=1, neighbours="replace"))
    assert list(desk.path.iterdir()) == []


def test_a_seeded_release_spends(desk):
    """An experiment is entered like any release, and its draws are not entered twice."""
    desk.publish(parcels("aa"), plan(epsilon=1), seed=7)
    assert desk.state.spent == 1
    with pytest.raises(LedgerError, match="already knows a release with this id"):
        desk.publish(parcels("aa"), plan(epsilon=1), seed=7)


def test_rows_wait_for_company(desk):
    """Rows left out join the next pool, are published with it, and are then forgotten."""
    first = desk.publish(parcels("aab"), CARRY)
    assert published(first) == "aa"
    assert (first.private.carried, first.private.suppressed) == (1, 0)
    assert any(
        "rows left out, which wait" in told and ": 1" in told for told in first.private.notices
    )
    second = desk.publish(parcels("bcc", "d"), CARRY)
    assert published(second) == "bbcc"
    assert second.private.rows_in == 5
    assert any(first.release.release_id in told for told in second.private.notices)
    third = desk.publish(parcels("d"), CARRY)
    assert published(third) == "dd"
    assert (desk.state.waiting.rows, desk.state.unsettled) == (0, None)
    fourth = desk.publish(parcels("ee"), CARRY)
    assert (published(fourth), fourth.private.rows_in) == ("ee", 2)
    assert desk.ledger.verify() == []


def test_files_take_rows_up_too(desk):
    """Rows carried over join a file as they join a data frame."""
    desk.publish(parcels("ab"), CARRY)
    parcels("a").write_csv(desk.path / "parcels.csv")
    assert published(desk.publish(desk.path / "parcels.csv", CARRY)) == "aa"
    assert desk.state.waiting.rows == 1


def test_only_a_method_that_carries_takes_rows_up(desk):
    """Rows wait on while others publish, who are told of them."""
    desk.publish(parcels("ab"), CARRY)
    other = desk.publish(parcels("bb"), plan(k=2, epsilon=1))
    assert published(other) == "bb"
    assert any("rows of data set 'parcels' that wait on" in told for told in other.private.notices)
    assert desk.state.waiting.rows == 2


def test_a_refused_release_takes_nothing_up(desk):
    """Where the budget is spent, the rows that waited wait on."""
    desk.publish(parcels("ab"), CARRY)
    with pytest.raises(RefusedError):
        desk.publish(parcels("ab"), plan(k=2, epsilon=4, suppressed="carry"))
    assert (desk.state.waiting.rows, desk.state.unsettled) == (2, None)


def test_a_release_that_cannot_be_written_gives_rows_back(desk, monkeypatch):
    """Where the disk fails, what the release took up waits again, and what it spent is spent."""
    desk.publish(parcels("ab"), CARRY)
    costly = plan(k=2, epsilon=1, suppressed="carry")
    with monkeypatch.context() as patched:
        patched.setattr(folder, "sync", _full)
        with pytest.raises(InputError, match="cannot be written"):
            desk.publish(parcels("ac"), costly)
    assert (desk.state.waiting.rows, desk.state.unsettled, desk.state.spent) == (2, None, 1)
    assert published(desk.publish(parcels("ac"), costly)) == "aa"
    assert [entry.kind for entry in desk.state.entries] == [
        "release",
        "release",
        "taken back",
        "release",
    ]
    assert desk.state.waiting.rows == 2


def _full(_):
    raise OSError(28, os.strerror(28))


def test_a_ledger_that_fails_after_the_release_stands(desk, monkeypatch):
    """A release that stands is no failure: what could not be noted is told, and asked for later."""
    monkeypatch.setattr(Ledger, "settle", _busy)
    made = desk.publish(parcels("ab"), CARRY)
    assert "voile ledger settle parcels --release" in made.private.notices[-1]
    with pytest.raises(RefusedError, match="not known whether its folder appeared"):
        desk.publish(parcels("ab"), CARRY)
    monkeypatch.undo()
    desk.ledger.settle("parcels", made.release.release_id)
    with known_to_the_corridor():
        assert published(desk.publish(parcels("ab"), CARRY)) == "aabb"


def _busy(*_):
    msg = "another process is using the ledger"
    raise LedgerError(msg)


def test_a_release_in_memory_is_settled(desk):
    """Whoever asks for no folder has the release in hand: it counts as published."""
    make_release(parcels("aab"), CARRY, ledger=desk.ledger.path)
    assert (desk.state.unsettled, desk.state.waiting.rows) == (None, 1)


def test_two_publishers_take_up_rows_once(desk, monkeypatch):
    """Of two publishers that took up the same rows, one publishes them and the other nothing."""
    desk.publish(parcels("ab"), CARRY)
    commit = Ledger.commit

    def overtaken(self, *arguments):
        monkeypatch.setattr(Ledger, "commit", commit)
        desk.publish(parcels("a"), CARRY)
        commit(self, *arguments)

    monkeypatch.setattr(Ledger, "commit", overtaken)
    with pytest.raises(LedgerError, match="committed meanwhile"):
        desk.publish(parcels("b"), CARRY)
    assert not (desk.path / "out2").exists()
    assert (desk.path / "out3").is_dir()
    assert desk.state.waiting.rows == 1


def test_stages_are_told(desk):
    """The ledger is mentioned where there is something to commit."""
    stages: list[str] = []
    desk.publish(parcels("aa"), plan(), progress=stages.append)
    desk.publish(parcels("aa"), plan(epsilon=1), progress=stages.append)
    usual = ["reading", "publishing", "checking"]
    assert stages == [*usual, "writing", *usual, "committing the ledger", "writing"]
