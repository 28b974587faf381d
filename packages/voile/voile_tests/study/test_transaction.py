"""The corridor and the ledger: what releases spend, and rows that go from pool to pool."""

from __future__ import annotations

import os
from decimal import Decimal
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest

import voile
from voile.ledger import Ledger
from voile.release import folder
from voile.release.check import GuaranteeBrokenError
from voile.release.folder import release_document
from voile.release.release import Price, PrivateRecord, Publication
from voile.release.trips import FleetTerms, TripCosts
from voile.schema.budget import BudgetPlan
from voile.study import run
from voile.study.run import ReleaseStaging, make_release, prepare_release
from voile_base.errors import InfeasibleError, InputError, LedgerError, PlanError, RefusedError
from voile_base.randomness import Randomness
from voile_tests.study.small_groups import SmallGroups, known_to_the_corridor

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


def test_a_ledger_that_forgot_a_release_of_the_data_set_is_found(desk):
    """A budget is not spent again from a ledger that does not know what stands beside."""
    desk.publish(parcels("aa"), plan(epsilon=1))
    other = desk.path / "other.db"
    with pytest.raises(RefusedError, match=r"of data set 'parcels', and the ledger .* not know it"):
        desk.publish(parcels("aa"), plan(epsilon=1), ledger=other)
    assert not other.exists()
    desk.publish(parcels("aa"), plan(BudgetPlan("others", 3), epsilon=1), ledger=other)


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


ATTEMPT = {"k": 9, "epsilon": 1, "not_empty": True}


def test_an_attempt_that_finds_nothing_is_charged(desk):
    """It costs as much as a release, says so, and is refused when the budget is spent."""
    with pytest.raises(InfeasibleError) as caught:
        desk.publish(parcels("aa"), plan(**ATTEMPT))
    assert str(caught.value) == (
        "no release was found. Data set 'parcels' was charged for it: together 1 of epsilon = 3 at "
        "delta = 0 is spent, and 2 is left"
    )
    for _ in range(2):
        with pytest.raises(InfeasibleError):
            desk.publish(parcels("aa"), plan(**ATTEMPT))
    with pytest.raises(RefusedError, match="would spend 1, and 0 is left"):
        desk.publish(parcels("aa"), plan(**ATTEMPT))
    assert [entry.kind for entry in desk.state.entries] == ["release", "infeasible"] * 3
    assert sorted(path.name for path in desk.path.iterdir()) == ["ledger.db"]
    assert desk.ledger.verify() == []


def test_an_attempt_that_no_ledger_counts_says_so(desk):
    """Without a budget the message says that nothing stops repetitions."""
    with pytest.raises(InfeasibleError, match="No ledger counts it"):
        desk.publish(parcels("aa"), plan(None, **ATTEMPT), ledger=None)
    with pytest.raises(InfeasibleError) as caught:
        desk.publish(parcels("aa"), plan(None, k=9, not_empty=True), ledger=None)
    assert str(caught.value) == "no release was found"  # nothing was spent


def test_an_attempt_that_finds_nothing_takes_no_rows_up(desk):
    """Rows that waited wait on, and the next release need not be settled."""
    desk.publish(parcels("ab"), CARRY)
    with pytest.raises(InfeasibleError):
        desk.publish(parcels("ab"), plan(**ATTEMPT, suppressed="carry"))
    assert (desk.state.waiting.rows, desk.state.unsettled, desk.state.spent) == (2, None, 1)
    assert published(desk.publish(parcels("ab"), CARRY)) == "aabb"


def test_a_seeded_attempt_is_charged_once(desk):
    """An experiment that is repeated shows the same again, and is not entered twice."""
    with pytest.raises(InfeasibleError):
        desk.publish(parcels("aa"), plan(**ATTEMPT), seed=7)
    with pytest.raises(LedgerError, match="already knows a release with this id"):
        desk.publish(parcels("aa"), plan(**ATTEMPT), seed=7)
    assert desk.state.spent == 1


@pytest.mark.parametrize("error", [KeyboardInterrupt, GuaranteeBrokenError, InputError])
def test_an_attempt_that_is_stopped_stays_charged(desk, monkeypatch, error):
    """Whoever stops a release that was drawn has paid for it, and the account says what it was."""

    def stop(release):
        raise error("stopped")

    monkeypatch.setattr(run, "check_release", stop)
    with pytest.raises(error) as caught:
        desk.publish(parcels("aa"), plan(epsilon=1))
    assert ("and 2 is left" in str(caught.value)) == (error is InputError)
    assert [entry.kind for entry in desk.state.entries] == ["release", "abandoned"]
    assert desk.state.spent == 1
    assert desk.ledger.verify() == []


def test_a_publisher_that_does_not_pay_is_a_fault(desk, monkeypatch):
    """What spends and was not paid before it was drawn never appears."""
    prepare = SmallGroups.prepare
    monkeypatch.setattr(SmallGroups, "prepare", lambda self, *given: prepare(self, *given[:3]))
    with pytest.raises(GuaranteeBrokenError, match="drew before it said"):
        desk.publish(parcels("aa"), plan(epsilon=1))
    assert list(desk.path.iterdir()) == []


def test_trips_that_were_not_paid_are_a_fault():
    """Costs of trips that no price has stated before the draw: the release never appears."""
    transaction = run.ReleaseTransaction.__new__(run.ReleaseTransaction)
    transaction._price = None
    release = SimpleNamespace(release_id="one")
    publication = SimpleNamespace(release=release, trip_costs=object(), events=())
    with pytest.raises(GuaranteeBrokenError, match="drew before it said"):
        transaction.told(publication)


def test_a_trip_is_charged_for_what_was_published_of_it(tmp_path):
    """It may cost 4 and then costs 2: what is left over comes back to its budget."""
    terms = FleetTerms("vans", 9.0, 100.0, 1e-5, "any")

    def costs(epsilon: float) -> TripCosts:
        one = np.array([1])
        accounts = SimpleNamespace(
            days=one,
            epsilon=np.array([epsilon]),
            squared_mu=np.zeros(1),
            first_row=one,
            marks=lambda key: np.frombuffer(key[:8], np.uint64),
        )
        return TripCosts(terms, [accounts], exact=False)

    publisher = SimpleNamespace(series=None, trip_budget=terms, carries=False)
    transaction = run.ReleaseTransaction(plan(None), publisher, tmp_path / "ledger.db")
    transaction.pay(Price("one", trip_costs=costs(4.0)))
    ledger = Ledger(tmp_path / "ledger.db")
    assert ledger.fleet("vans").spent.epsilon.tolist() == [4]
    release = SimpleNamespace(release_id="one")
    private = PrivateRecord(1, 1, 0, 0, "", {})
    made = transaction.told(Publication(release, private, trip_costs=costs(2.0)))
    told = "fleet 'vans': trips charged: 1; the most that one of them has now spent is 2 of its"
    assert made.private.notices == (f"{told} budget epsilon = 9",)
    transaction.commit(made)
    assert ledger.fleet("vans").spent.epsilon.tolist() == [2]


def test_a_release_that_is_not_written_stays_charged(desk, monkeypatch):
    """A disk that fails costs what was drawn, says so, and the account shows that nothing came."""
    monkeypatch.setattr(folder, "sync", _full)
    with pytest.raises(InputError, match=r"cannot be written.*together 1 of epsilon = 3 "):
        desk.publish(parcels("aa"), plan(epsilon=1))
    assert [entry.kind for entry in desk.state.entries] == ["release", "abandoned"]


def test_a_release_that_stands_is_not_taken_back(desk):
    """What fails once the folder is there does not make its rows wait: somebody may have them."""
    desk.publish(parcels("ab"), CARRY)
    out = desk.path / "stands"

    class Interrupted(ReleaseStaging):
        def appear(self, *release):
            super().appear(*release)
            raise KeyboardInterrupt

    with Interrupted(out) as stage, pytest.raises(KeyboardInterrupt):
        prepare_release(
            parcels("ac"), CARRY, stage, ledger=desk.ledger.path, randomness=Randomness.secure()
        ).appear(stage)
    assert desk.state.unsettled == release_document(out)["release_id"]
    assert [entry.kind for entry in desk.state.entries] == ["release"] * 2
    with pytest.raises(RefusedError, match="not known whether its folder appeared"):
        desk.publish(parcels("ab"), CARRY)


def test_publishers_who_draw_at_once(desk, monkeypatch):
    """Two whose releases took no rows up both publish what they paid for."""
    _between(desk, monkeypatch, lambda: desk.publish(parcels("bb"), plan(epsilon=1)))
    assert published(desk.publish(parcels("aa"), plan(epsilon=1))) == "aa"
    assert desk.state.spent == 2
    assert [entry.kind for entry in desk.state.entries] == ["release"] * 2


def test_rows_taken_up_while_another_draws(desk, monkeypatch):
    """Of two that took up the same rows the later one is refused, though it has paid."""
    desk.publish(parcels("ab"), CARRY)
    costly = plan(k=2, epsilon=1, suppressed="carry")
    _between(desk, monkeypatch, lambda: desk.publish(parcels("a"), CARRY))
    with pytest.raises(LedgerError, match=r"committed meanwhile.*1 of epsilon = 3 .* is spent"):
        desk.publish(parcels("b"), costly)
    assert not (desk.path / "out2").exists()
    assert desk.state.waiting.rows == 1
    assert [entry.kind for entry in desk.state.entries][-1] == "abandoned"
    assert desk.ledger.verify() == []


def _between(desk, monkeypatch, deed):
    """Let a deed happen once, after the next release was drawn and before it is committed."""
    check = run.check_release

    def checked(release):
        monkeypatch.setattr(run, "check_release", check)
        deed()

    monkeypatch.setattr(run, "check_release", checked)


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
    desk.publish(parcels("aa"), plan(epsilon=1, suppressed="carry"), progress=stages.append)
    usual = ["reading", "publishing", "writing", "checking"]
    charged = ["reading", "publishing", "charging the ledger", "drawing", "writing", "checking"]
    carried = [*charged, "committing the ledger"]
    assert stages == [*usual, *charged, *carried]
