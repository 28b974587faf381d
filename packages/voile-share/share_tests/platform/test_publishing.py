"""What becomes of what devices, trucks and parties send."""

from __future__ import annotations

import json
import threading
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from share_tests.scene import DAY, HOME, NOON, Parties, Scene
from voile_base.errors import InputError
from voile_base.randomness import Randomness
from voile_geo.geodesy import metres_between
from voile_share import protocol
from voile_share.ingest import IngestError, Request
from voile_share.platform import AccessError, BusyError, Settings, SlotOutcome, receiving
from voile_share.positions import PositionStream
from voile_share.store import Appended, StoreError
from voile_testing.plugin import examples
from voile_testing.processes import PATIENCE


def all_reports(scene: Scene, truck):
    return scene.store.after(truck.truck, -1, 1000)


def test_both_parties_see_their_truck_and_how_far_it_is(scene):
    """A position that a tracker sends reaches the holders of the parcel's link, perturbed."""
    company = scene.company()
    truck, token = scene.truck(company)
    link = scene.parcel(company, truck, b"P1", Parties())
    assert scene.send(token) is SlotOutcome.PUBLISHED
    (entry,) = all_reports(scene, truck)
    _, sighting = protocol.Reader(link).read(entry.message, int(scene.clock.now))
    assert sighting.level == 0
    place = (sighting.position.latitude, sighting.position.longitude)
    assert 0 < metres_between(52.01, 4.36, *place) < 1_500
    assert sighting.remaining == round(metres_between(*place, *HOME))
    assert sighting.position.time == NOON


@pytest.mark.slow
def test_records_of_a_truck_satisfy_an_auditor_over_restarts(scene, tmp_path):
    """Records form one signed chain, although the process was started again on the way."""
    truck, token = scene.truck(scene.company())
    scene.drive(token, 3)
    again = scene.reopened()
    again.drive(token, 3)
    auditor = protocol.Auditor(again.card(truck))
    for record in again.platform.records(truck.truck, 0, 100):
        auditor = auditor.follow(record)
    assert auditor.last == NOON + 5 * 300
    again.platform.close()


def test_noise_goes_on_over_restarts(tmp_path):
    """A restart neither repeats noise that is all fresh nor forgets what was spent."""
    scene = Scene(tmp_path, Settings(mechanism="correlated-gaussian"))
    company = scene.company()
    truck, token = scene.truck(company)
    assert scene.platform.spent(company, truck.truck) == 0
    link = scene.parcel(company, truck, b"P1", Parties())
    scene.drive(token, 2)
    again = scene.reopened()
    again.drive(token, 2)
    reader, shown = protocol.Reader(link), []
    for entry in all_reports(again, truck):
        reader, sighting = reader.read(entry.message, int(again.clock.now))
        shown.append((sighting.position.latitude, sighting.position.longitude))
    assert len(set(shown)) == 4
    state = again.platform._trucks.of(truck.truck).under_way.state
    stream = PositionStream(scene.settings.levels, Randomness.seeded(1).key("any"), state=state)
    assert stream.time == NOON + 900
    assert again.platform.spent(company, truck.truck) == pytest.approx(8.67, abs=0.01)
    again.platform.close()


def test_a_slot_is_published_once(scene):
    """However often a device repeats itself within a slot, one report is made, of its first."""
    truck, token = scene.truck(scene.company())
    assert scene.send(token) is SlotOutcome.PUBLISHED
    assert scene.send(token) is SlotOutcome.KNOWN_SLOT
    scene.clock.now += 100
    assert scene.send(token, place=(52.1, 4.4)) is SlotOutcome.KNOWN_SLOT
    assert len(all_reports(scene, truck)) == 1


def traccar(*fixes: tuple[float, float, float]) -> Request:
    """The batch of Traccar Client 9 that holds positions of (time, latitude, longitude)."""
    locations = [
        {"timestamp": time * 1000, "coords": {"latitude": latitude, "longitude": longitude}}
        for time, latitude, longitude in fixes
    ]
    body = [{"device_id": "truck-7", "location": location} for location in locations]
    return Request("application/json", body=json.dumps(body).encode())


def outcome(scene: Scene, token: str, request: Request) -> SlotOutcome:
    return scene.platform.receive(token, request).result(PATIENCE).outcome


def test_a_queue_fills_the_slots_that_were_missed(scene):
    """Positions that a device kept fill their slots, one each, in the order of time."""
    truck, token = scene.truck(scene.company())
    scene.drive(token, 1)
    scene.clock.now = NOON + 3_000
    late = traccar(*((NOON + after, 52.01, 4.36) for after in (2_990, 650, 310, 620)))
    assert outcome(scene, token, late) is SlotOutcome.PUBLISHED
    assert [entry.slot - NOON for entry in all_reports(scene, truck)] == [0, 300, 600, 2_700]


def test_a_clock_that_goes_backwards_publishes_nothing_twice(scene):
    """While the platform's clock is behind the last slot nothing is published; then it goes on."""
    truck, token = scene.truck(scene.company())
    scene.drive(token, 3)
    scene.clock.now -= 7_200
    with pytest.raises(IngestError, match="ahead of the clock of the service"):
        scene.send(token)
    scene.clock.now += 9_000
    assert scene.send(token) is SlotOutcome.PUBLISHED
    slots = [entry.slot for entry in all_reports(scene, truck)]
    assert slots == sorted(set(slots))
    assert len(slots) == 4


def test_a_position_before_the_last_one_is_superseded(scene):
    """A position that is not later than the one published is not shown in a later slot."""
    truck, token = scene.truck(scene.company())
    scene.clock.now = NOON + 290
    assert scene.send(token) is SlotOutcome.PUBLISHED
    scene.clock.now = NOON + 300
    early = traccar((NOON + 250, 52.01, 4.36))
    assert outcome(scene, token, early) is SlotOutcome.KNOWN_SLOT
    assert len(all_reports(scene, truck)) == 1


def test_a_truck_whose_budget_is_spent_publishes_no_more_on_that_day(tmp_path):
    """The device is answered, nothing is published; the next day it goes on."""
    scene = Scene(tmp_path, Settings(budget=12.0, mechanism="correlated-gaussian"))
    truck, token = scene.truck(scene.company())
    seen = []
    while SlotOutcome.BUDGET_SPENT not in seen:
        seen.append(scene.send(token))
        scene.clock.now += 300
    assert seen[:-1] == [SlotOutcome.PUBLISHED] * len(all_reports(scene, truck))
    assert len(seen) > 2
    scene.clock.now += 86_400
    assert scene.send(token) is SlotOutcome.PUBLISHED
    scene.platform.close()


def test_messages_without_a_position_are_answered(scene):
    """OwnTracks' other messages are taken, and forgotten."""
    truck, token = scene.truck(scene.company(), device="fleet/truck-7")
    status = Request("application/json", body=b'{"_type":"status"}', query="u=fleet&d=truck-7")
    receipt = scene.platform.receive(token, status).result(PATIENCE)
    assert (receipt.outcome, receipt.body) == (SlotOutcome.NOTHING, b"[]")
    assert not all_reports(scene, truck)


@pytest.mark.parametrize("ended", ["revoked", "expired", "retired", "closed", "wrong", "foreign"])
def test_tokens_that_do_not_open_are_refused_alike(scene, ended):
    """Whatever is wrong with a token, the reason is one and the same."""
    company = scene.company()
    truck, token = scene.truck(company)
    device = "truck-7"
    if ended == "revoked":
        scene.platform.revoke_device(company, truck.truck, device)
    elif ended == "expired":
        token = scene.platform.add_device(company, truck.truck, device, days=1)
        scene.clock.now += 86_400
    elif ended == "retired":
        scene.platform.retire_truck(company, truck.truck)
    elif ended == "closed":
        scene.platform.close_company(company.company)
    elif ended == "wrong":
        token = "a" * 32
    else:
        device = "truck-8"
    with pytest.raises(IngestError) as refused:
        scene.send(token, device=device)
    assert refused.value.reason == "token-refused"
    assert not all_reports(scene, truck)


def test_threads_that_send_for_one_truck_do_not_fork_its_chain(scene):
    """Twenty threads send positions of twenty slots: each slot is published once, in one chain."""
    truck, token = scene.truck(scene.company())
    scene.clock.now = NOON + 20 * 300
    requests = [traccar((NOON + 300 * slot + 7, 52.01, 4.36)) for slot in range(20)]
    futures: list = []
    threads = [
        threading.Thread(target=lambda one=one: futures.append(scene.platform.receive(token, one)))
        for one in requests * 3
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert {future.result(PATIENCE).outcome for future in futures} <= set(SlotOutcome)
    auditor = protocol.Auditor(scene.card(truck))
    for record in scene.platform.records(truck.truck, 0, 100):
        auditor = auditor.follow(record)


@pytest.mark.slow
def test_two_platforms_on_one_store_do_not_fork_a_chain(scene, tmp_path):
    """Two processes that publish for one truck in turn keep one chain between them."""
    truck, token = scene.truck(scene.company())
    other = Scene(tmp_path, clock=scene.clock)
    for one in (scene, other, scene, other, other, scene):
        assert one.send(token) is SlotOutcome.PUBLISHED
        scene.clock.now += 300
    auditor = protocol.Auditor(scene.card(truck))
    for record in scene.platform.records(truck.truck, 0, 100):
        auditor = auditor.follow(record)
    assert auditor.sequence == 6
    other.platform.close()


class _Failing:
    """A log that fails so many times, and then is what it stands for."""

    def __init__(self, log, times: int) -> None:
        self._log, self._times = log, times

    def append(self, entries):
        if self._times:
            self._times -= 1
            msg = "there is no room on the disk: make room and try again"
            raise StoreError(msg)
        return self._log.append(entries)

    def __getattr__(self, name):
        return getattr(self._log, name)


def test_a_store_that_fails_loses_nothing_that_was_acknowledged(scene):
    """The device hears of the failure, may send again, and the chain goes on unbroken."""
    truck, token = scene.truck(scene.company())
    scene.drive(token, 2)
    committer = scene.platform._committer
    committer._log = _Failing(scene.store, times=2)
    for _ in range(2):
        with pytest.raises(StoreError, match="no room"):
            scene.send(token)
    assert scene.send(token) is SlotOutcome.PUBLISHED
    assert [entry.slot - NOON for entry in all_reports(scene, truck)] == [0, 300, 600]


class _Slow:
    """A log that appends when it is let."""

    def __init__(self, log) -> None:
        self._log = log
        self.begun, self.go_on = threading.Event(), threading.Event()
        self.fails = False

    def append(self, entries):
        self.begun.set()
        assert self.go_on.wait(PATIENCE)
        if self.fails:
            msg = "there is no room on the disk: make room and try again"
            raise StoreError(msg)
        return self._log.append(entries)

    def __getattr__(self, name):
        return getattr(self._log, name)


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("later", [0, -60], ids=["the same again", "an earlier one"])
def test_nothing_is_known_before_it_is_durable(scene, fails, later):
    """Who sends again while the first sending is being stored hears what became of that."""
    truck, token = scene.truck(scene.company())
    slow = scene.platform._committer._log = _Slow(scene.store)
    slow.fails = fails
    first = scene.platform.receive(token, traccar((NOON + 100, 52.01, 4.36)))
    assert slow.begun.wait(PATIENCE)
    scene.clock.now = NOON + 310
    again = scene.platform.receive(token, traccar((NOON + 100 + later, 52.01, 4.36)))
    with pytest.raises(TimeoutError):
        again.result(0.3)
    slow.go_on.set()
    if fails:
        assert isinstance(first.exception(30), StoreError)
        assert isinstance(again.exception(30), StoreError)
    else:
        assert (first.result(PATIENCE).outcome, again.result(PATIENCE).outcome) == (
            "published",
            "known-slot",
        )
    assert len(all_reports(scene, truck)) == (not fails)


def test_a_submission_that_changes_nothing_is_not_stored(scene):
    """However often a party seals what the truck knows, its box does not grow."""
    company = scene.company()
    truck, _ = scene.truck(company)
    parties = Parties()
    scene.parcel(company, truck, b"P1", parties)
    number, _ = scene.platform.add_link(company, truck.truck, 24)
    link, card = scene.platform.link_of(number), scene.card(truck)
    before = len(scene.store.mail(truck.truck, 0, 10))
    for seed in range(5):
        half = protocol.Submission.of(
            *(protocol.suite_named(), card.truck, protocol.Role.SENDER, b"P1", DAY),
            parties.secret(b"P1", DAY),
        ).signed(parties._bytes("sender"))
        sealed = protocol.SealedSubmission.seal(half.encode(), card, Randomness.seeded(seed))
        scene.platform.submit(link, sealed.encode())
    assert len(scene.store.mail(truck.truck, 0, 10)) == before == 2


def test_too_much_work_is_refused_at_once(scene, monkeypatch):
    """Where too much waits, a call is refused before anything of it is done."""
    _, token = scene.truck(scene.company())
    monkeypatch.setattr(scene.platform._queue, "_most", 0)
    with pytest.raises(BusyError, match="try again"):
        scene.send(token)


def own_truck(scene: Scene, company):
    """A truck that holds its keys itself, and its token."""
    secrets = protocol.TruckSecrets.draw(bytes(range(16)), Randomness.seeded(11))
    truck, token = scene.platform.add_truck(company, secrets.card().encode())
    assert token is not None
    return secrets, truck, token


def content():
    place = protocol.Position(52.01, 4.36, NOON, 2.0**-6)
    return protocol.Content((place, place, place), [], room=10)


def test_a_truck_that_holds_its_keys_publishes_ciphertext(scene):
    """Its report is stored as it is, once; nobody else's is."""
    secrets, truck, token = own_truck(scene, scene.company())
    assert scene.platform.truck_of(token) == truck
    publisher, report = protocol.ReportPublisher.new(secrets).publish(
        NOON, content(), Randomness.seeded(1)
    )
    assert scene.platform.publish(truck, report).result(PATIENCE) is Appended.NEW
    assert scene.platform.publish(truck, report).result(PATIENCE) is Appended.KNOWN
    assert [entry.message for entry in all_reports(scene, truck)] == [report]
    for wrong, reason in (
        (publisher.publish(NOON + 300 * 24, content(), Randomness.seeded(1))[1], "future"),
        (report[:-1] + bytes([report[-1] ^ 1]), "signature"),
        (report[:-1], "truncated"),
    ):
        with pytest.raises(protocol.RejectedError) as rejected:
            scene.platform.publish(truck, wrong).result(PATIENCE)
        assert rejected.value.reason == reason
    other = protocol.TruckSecrets.draw(bytes(16), Randomness.seeded(12))
    _, foreign = protocol.ReportPublisher.new(other).publish(NOON, content(), Randomness.seeded(1))
    with pytest.raises(protocol.RejectedError) as rejected:
        scene.platform.publish(truck, foreign).result(PATIENCE)
    assert rejected.value.reason == "foreign"
    odd = publisher.publish(NOON + 7, content(), Randomness.seeded(1))[1]
    with pytest.raises(AccessError) as refused:
        scene.platform.publish(truck, odd).result(PATIENCE)
    assert refused.value.reason == "slot-unfit"


def test_mail_waits_for_a_truck_that_holds_its_keys(scene):
    """The platform keeps what parties submit to such a truck, and cannot read it."""
    company = scene.company()
    _, truck, _ = own_truck(scene, company)
    parties = Parties()
    scene.parcel(company, truck, b"P1", parties)
    mail = scene.platform.mail(truck, 0)
    assert [one.message for one in mail] == list(parties.submissions(scene.card(truck), b"P1"))
    assert not scene.platform.mail(truck, mail[-1].number)
    with pytest.raises(AccessError) as refused:
        scene.platform.add_device(company, truck.truck, "phone")
    assert refused.value.reason == "own-keys"


def test_mail_of_a_truck_that_holds_its_keys_is_bounded(scene, monkeypatch):
    """Nobody fills the disk by a link: what is beyond the bound is refused, and is not kept."""
    monkeypatch.setattr(receiving, "_MOST_MAIL", 6)
    company = scene.company()
    _, truck, _ = own_truck(scene, company)
    parties, number = Parties(), scene.platform.add_link(company, truck.truck, 24)[0]
    link, card = scene.platform.link_of(number), scene.card(truck)
    for day in range(DAY, DAY + 3):
        for sealed in parties.submissions(card, b"P1", day):
            scene.platform.submit(link, sealed)
    for sealed in parties.submissions(card, b"P1", DAY + 3):
        with pytest.raises(AccessError) as refused:
            scene.platform.submit(link, sealed)
        assert refused.value.reason == "mail-box-full"
    assert len(scene.platform.mail(truck, 0)) == 6


def test_submissions_that_are_not_accepted_say_why(scene):
    """Submissions of strangers, for other trucks or past days are rejected and not kept."""
    company = scene.company()
    truck, _ = scene.truck(company)
    other, _ = scene.truck(company)
    parties, number = Parties(), scene.platform.add_link(company, truck.truck, 24)[0]
    link, card = scene.platform.link_of(number), scene.card(truck)
    scene.platform.add_parcel(company, truck.truck, b"P1", *parties.keys)
    for sealed, reason in (
        (Parties("B").submissions(card, b"P1")[0], "signature"),
        (parties.submissions(scene.card(other), b"P1")[0], "foreign"),
        (parties.submissions(card, b"P1", DAY - 1)[0], "expired"),
        (parties.submissions(card, b"P2")[0], "unexpected"),
        (b"nonsense", "version"),
    ):
        with pytest.raises(protocol.RejectedError) as rejected:
            scene.platform.submit(link, sealed)
        assert rejected.value.reason == reason
    assert not scene.store.mail(truck.truck, 0, 10)


def test_a_parcel_that_is_delivered_is_in_no_later_report(scene):
    """After delivery its link opens the old reports and finds nothing in new ones."""
    company = scene.company()
    truck, token = scene.truck(company)
    link = scene.parcel(company, truck, b"P1", Parties())
    scene.drive(token, 1)
    scene.platform.end_parcel(company, truck.truck, b"P1")
    scene.drive(token, 1)
    reader, seen = protocol.Reader(link), []
    for entry in all_reports(scene, truck):
        reader, sighting = reader.read(entry.message, int(scene.clock.now))
        seen.append(sighting is not None)
    assert seen == [True, False]


def test_parcels_are_taken_over_from_another_process(scene, tmp_path):
    """A parcel and its submissions that another process took are in the reports of this one."""
    company = scene.company()
    truck, token = scene.truck(company)
    scene.drive(token, 1)
    other = Scene(tmp_path, clock=scene.clock, seed=9)
    link = other.parcel(company, truck, b"P1", Parties())
    scene.drive(token, 1)
    (entry,) = scene.store.after(truck.truck, NOON, 10)
    _, sighting = protocol.Reader(link).read(entry.message, int(scene.clock.now))
    assert sighting is not None
    other.platform.close()


@pytest.mark.slow
@given(
    drawn=st.lists(
        st.tuples(st.integers(0, 4_000), st.integers(-400, 400)), min_size=1, max_size=12
    )
)
@hypothesis_settings(
    max_examples=examples(20),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_whatever_arrives_slots_ascend_and_times_do(tmp_path_factory, drawn):
    """Slots of a truck ascend, and none is later than the clock was, in whatever order it runs."""
    scene = Scene(tmp_path_factory.mktemp("scene"))
    truck, token = scene.truck(scene.company())
    latest = 0.0
    for now, offset in drawn:
        scene.clock.now = NOON + now
        latest = max(latest, scene.clock.now)
        with suppress(IngestError):  # of a device whose clock is ahead by more than is allowed
            outcome(scene, token, traccar((scene.clock.now + offset, 52.01, 4.36)))
    slots = [entry.slot for entry in all_reports(scene, truck)]
    assert slots == sorted(set(slots))
    assert all(slot <= latest for slot in slots)
    scene.platform.close()


def test_listeners_hear_of_reports_after_they_are_durable(scene):
    """Whoever follows a truck is told of each new report once, and no more after leaving."""
    truck, token = scene.truck(scene.company())
    heard: list[int] = []
    leave = scene.platform.subscribe(
        truck.truck, lambda entry: heard.append(scene.store.last(entry.truck).slot)
    )
    scene.drive(token, 2)
    leave()
    scene.drive(token, 1)
    assert heard == [NOON, NOON + 300]


class _Choosy:
    """A log that refuses whole batches in which one truck is."""

    def __init__(self, log, truck: bytes) -> None:
        self._log, self._truck = log, truck

    def append(self, entries):
        if any(entry.truck == self._truck for entry in entries):
            msg = "no truck is registered with this account"
            raise InputError(msg)
        return self._log.append(entries)

    def __getattr__(self, name):
        return getattr(self._log, name)


def test_a_report_that_a_log_refuses_does_not_stop_others(scene):
    """Reports that wait together are stored one by one where the log refuses one of them."""
    company = scene.company()
    trucks = [scene.truck(company) for _ in range(4)]
    scene.platform._committer._log = _Choosy(scene.store, trucks[1][0].truck)
    request = traccar((NOON, 52.01, 4.36))
    futures = [scene.platform.receive(token, request) for _, token in trucks]
    refused = [type(future.exception(PATIENCE)) for future in futures]
    assert refused == [type(None), InputError, type(None), type(None)]
    assert [len(all_reports(scene, truck)) for truck, _ in trucks] == [1, 0, 1, 1]


def test_a_truck_is_read_once_and_then_believed_until_somebody_writes(scene, tmp_path, monkeypatch):
    """Reports five minutes apart read nothing, but the first after others have written does."""
    truck, token = scene.truck(scene.company())
    scene.drive(token, 2)
    reads: list[str] = []
    read = scene.store._engine.read
    monkeypatch.setattr(
        scene.store._engine, "read", lambda *given: reads.append(given[0]) or read(*given)
    )
    scene.drive(token, 5)
    assert reads == []
    other = Scene(tmp_path, clock=scene.clock, seed=9)
    other.company("Another")
    other.platform.close()
    scene.drive(token, 1)
    assert reads
    assert len(all_reports(scene, truck)) == 8
