"""What tenants do to each other: attacks that are legal, and how much they delay anybody else.

Nothing here measures time.  The thread that publishes is held while things are sent, and then let
go: what is looked at is the order in which reports are stored.
"""

from __future__ import annotations

import pytest

from share_tests.ingest.messages import as_gpx
from share_tests.platform.test_publishing import own_truck
from share_tests.scene import DAY, Parties, Scene
from voile_base.randomness import Randomness
from voile_share import protocol
from voile_share.ingest import Fix, Request
from voile_share.platform import AccessError, BusyError, SlotOutcome, receiving
from voile_share.platform import publishing as publishing_module
from voile_testing.processes import PATIENCE, wait_until

FILES, SLOTS = 12, 300
MOST_BEFORE = publishing_module._MOST_AT_ONCE
"""Reports of others that may be stored before one of a company that has just come."""


class Order:
    """A log that notes whose reports come, in which order."""

    def __init__(self, log) -> None:
        self._log = log
        self.trucks: list[bytes] = []

    def append(self, entries):
        self.trucks += [entry.truck for entry in entries]
        return self._log.append(entries)

    def __getattr__(self, name):
        return getattr(self._log, name)


def trip(until: float, device: str) -> Request:
    """A file of a trip with a position in each slot of a day."""
    times = sorted(until - 300 * slot for slot in range(SLOTS))
    fixes = [Fix(device, 52.01, 4.36, time) for time in times]
    return Request("application/gpx+xml", body=as_gpx(fixes))


def position(scene: Scene, device: str = "truck-7") -> Request:
    return Request(query=f"id={device}&lat=52&lon=4&timestamp={scene.clock.now:.0f}")


@pytest.mark.slow
@pytest.mark.parametrize("trackers", [1, FILES])
def test_files_of_one_company_delay_another_by_one_piece_of_work(scene, trackers):
    """Twelve legal files of trips wait; the next position of another company is not behind them."""
    order = scene.platform._committer._log = Order(scene.store)
    loud, quiet = scene.company("Loud"), scene.company("Quiet")
    sending = [scene.truck(loud) for _ in range(trackers)]
    truck, token = scene.truck(quiet)
    scene.send(token)
    for _, other in sending:
        scene.send(other)
    scene.clock.now += 2 * 86_400
    order.trucks.clear()
    queue = scene.platform._queue
    with scene.platform._trucks.of(truck.truck).lock:
        # The thread that publishes waits for this truck, as it would for a long piece of work.
        begun = scene.platform.receive(token, position(scene))
        wait_until(lambda: queue.waited() == 0 and not queue._queues)
        files = [
            scene.platform.receive(sending[one % trackers][1], trip(scene.clock.now, "truck-7"))
            for one in range(FILES)
        ]
        wait_until(lambda: len(queue._queues.get(loud.company, ())) == FILES)
        scene.clock.now += 300
        late = scene.platform.receive(token, position(scene))
    for answer in (begun, late, files[0]):
        assert answer.result(PATIENCE).outcome is SlotOutcome.PUBLISHED
    for answer in files:
        answer.result(PATIENCE)
    own = [place for place, one in enumerate(order.trucks) if one == truck.truck]
    assert len(order.trucks) >= SLOTS
    assert own[1] - own[0] - 1 <= MOST_BEFORE


def test_who_sends_without_end_is_refused_and_others_are_not(scene, monkeypatch):
    """A company that fills what may wait hears that it is busy; another one is let in."""
    monkeypatch.setattr(scene.platform._queue, "_most", 20)
    loud, quiet = scene.company("Loud"), scene.company("Quiet")
    (truck, token), (_, other) = scene.truck(loud), scene.truck(quiet)
    for one in (token, other):
        scene.send(one)
    queue = scene.platform._queue
    scene.clock.now += 300
    answers = []
    with scene.platform._trucks.of(truck.truck).lock:
        answers.append(scene.platform.receive(token, position(scene)))
        wait_until(lambda: not queue._queues)
        answers += [scene.platform.receive(token, position(scene)) for _ in range(20)]
        with pytest.raises(BusyError):
            scene.platform.receive(token, position(scene))
        answers.append(scene.platform.receive(other, position(scene)))
    assert answers[-1].result(PATIENCE).outcome is SlotOutcome.PUBLISHED
    for answer in answers:
        answer.result(PATIENCE)


def test_one_link_cannot_fill_the_box_of_a_truck(scene, monkeypatch):
    """Whoever has a link brings so many submissions; those of another link still find room."""
    monkeypatch.setattr(receiving, "_MOST_OF_LINK", 4)
    company = scene.company()
    _, truck, _ = own_truck(scene, company)
    card = scene.card(truck)
    first, second = (
        scene.platform.link_of(scene.platform.add_link(company, truck.truck, 24)[0])
        for _ in range(2)
    )

    def submission(seed: int) -> bytes:
        half = protocol.Submission.of(
            *(protocol.suite_named(), card.truck, protocol.Role.SENDER, b"P1", DAY),
            Parties().secret(b"P1", DAY),
        ).signed(Parties()._bytes("sender"))
        drawn = Randomness.seeded(seed)
        return protocol.SealedSubmission.seal(half.encode(), card, drawn).encode()

    for seed in (0, 1, 2, 3, 3):  # the same again counts once
        scene.platform.submit(first, submission(seed))
    with pytest.raises(AccessError, match="31 days") as refused:
        scene.platform.submit(first, submission(4))
    assert refused.value.reason == "mail-box-full"
    scene.platform.submit(second, submission(5))
    assert len(scene.platform.mail(truck, 0)) == 5


def test_no_party_submits_keys_for_days_without_end(scene):
    """Keys are taken for as many days as a link may last, and not beyond."""
    company = scene.company()
    truck, _ = scene.truck(company)
    parties, number = Parties(), scene.platform.add_link(company, truck.truck, 24)[0]
    link, card = scene.platform.link_of(number), scene.card(truck)
    scene.platform.add_parcel(company, truck.truck, b"P1", *parties.keys)
    scene.platform.submit(link, parties.submissions(card, b"P1", DAY + 31)[0])
    with pytest.raises(protocol.RejectedError) as rejected:
        scene.platform.submit(link, parties.submissions(card, b"P1", DAY + 32)[0])
    assert rejected.value.reason == "future"


@pytest.mark.slow
def test_submissions_are_opened_once_however_many_parcels_follow(scene, monkeypatch):
    """To put many parcels on a truck takes as many openings as there are submissions."""
    from voile_share.platform import trucks as trucks_module  # noqa: PLC0415

    company = scene.company()
    truck, _ = scene.truck(company)
    opened = []
    real = trucks_module.UnderWay._opened
    monkeypatch.setattr(
        trucks_module.UnderWay,
        "_opened",
        lambda self, message: opened.append(message) or real(self, message),
    )
    for number in range(12):
        scene.parcel(company, truck, b"P%d" % number, Parties(f"{number}"))
    # Once as it comes, and once more as the store is read the next time.
    assert len(opened) <= 2 * 2 * 12
