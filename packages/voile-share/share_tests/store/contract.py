"""What every directory and every log of reports must do; stores inherit these tests.

A class that inherits ``ReportLogContract`` gives a fixture ``logs``: a function that opens a new,
empty log at each call.  ``DirectoryContract`` asks for ``directory``.
"""

from __future__ import annotations

import contextlib
import threading
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from hypothesis import settings
from hypothesis.stateful import run_state_machine_as_test

from share_tests.store.model import LogMachine
from share_tests.store.reports import (
    Driver,
    all_reports,
    audited,
    chain,
    next_entry,
    number_of,
    record_of,
    slot_of,
)
from voile_base.errors import InputError
from voile_share.ingest.fixes import DeviceToken
from voile_share.store import (
    AccessToken,
    Appended,
    ArrivalPast,
    Company,
    ConflictError,
    Device,
    Directory,
    Entry,
    Mail,
    Parcel,
    ReportLog,
    TokenRole,
    TrackingLink,
    Truck,
)

COMPANY = Company("c" * 32, "Vervoer Émile & Zn. 🚚", 1000.5)
TRUCK = Truck(number_of(1), COMPANY.company, b"card \x00\xff", b"sealed \x00 secrets", 1001.25)


def hash_of(text: str) -> bytes:
    """32 bytes, as of a token."""
    return text.encode().ljust(32, b"#")


def token(
    text: str, role: TokenRole = TokenRole.COMPANY, holder: str = COMPANY.company
) -> AccessToken:
    return AccessToken(hash_of(text), role, holder, 1000.0)


def device(text: str, name: str = "phone", truck: bytes = TRUCK.truck) -> Device:
    return Device(DeviceToken(name, hash_of(text), 1000.0, 2000.0), truck)


def link(text: str, truck: bytes = TRUCK.truck) -> TrackingLink:
    return TrackingLink(hash_of(text), truck, 1000.0, 2000.0)


def parcel(number: bytes, truck: bytes = TRUCK.truck) -> Parcel:
    return Parcel(number, truck, b"s" * 32, b"r" * 32, b"sealed destination", 1000.0)


def bare(entries: list[Entry] | tuple[Entry, ...]) -> list[Entry]:
    """Entries as they are read back: without states."""
    return [replace(entry, state=None) for entry in entries]


class ReportLogContract:
    """Inherited by the tests of every log."""

    forgets = True
    """Whether it can drop bodies of reports."""
    examples = 15
    """Runs of the state machine."""

    @pytest.fixture
    def logs(self) -> Callable[[], ReportLog]:
        """Open new, empty logs."""
        raise NotImplementedError

    @pytest.fixture
    def log(self, logs: Callable[[], ReportLog]) -> Iterator[ReportLog]:
        with contextlib.closing(logs()) as log:
            yield log

    @pytest.mark.slow
    def test_it_answers_as_a_plain_list_does(self, logs):
        """Whatever arrives in whatever batches, outcomes and all that is read equal the model's."""
        run_state_machine_as_test(
            type("Machine", (LogMachine,), {"logs": staticmethod(logs), "forgets": self.forgets}),
            settings=settings(max_examples=self.examples, stateful_step_count=15),
        )

    def test_an_empty_log(self, log):
        """A log without reports gives nothing, and an empty batch changes nothing."""
        assert list(log.append([])) == []
        assert log.last(number_of(1)) is None
        assert list(log.after(number_of(1), -1, 10)) == []
        assert list(log.in_slots(0, 2**32 - 1, 10)) == []
        assert list(log.records(number_of(1), 0, 10)) == []
        assert log.forget(2**32 - 1) == 0

    def test_a_chain_in_one_batch(self, log):
        """Several reports of one truck in a batch are taken in order, and read back as written."""
        entries = chain(1, 5)
        assert list(log.append(entries)) == [Appended.NEW] * 5
        assert log.last(number_of(1)) == bare(entries)[-1]
        assert all_reports(log, 1) == bare(entries)
        assert [record.sequence for record in audited(log, 1)] == [0, 1, 2, 3, 4]
        assert list(log.records(number_of(1), 2, 2)) == [record_of(one) for one in entries[2:4]]

    def test_what_is_there_is_known(self, log):
        """The same message again, within a batch or later, is known and changes nothing."""
        first, second = chain(1, 2)
        outcomes = log.append([first, first, second, first])
        assert list(outcomes) == [Appended.NEW, Appended.KNOWN, Appended.NEW, Appended.KNOWN]
        assert list(log.append([second, first])) == [Appended.KNOWN] * 2
        assert all_reports(log, 1) == bare([first, second])

    def test_another_report_of_a_past_slot_is_late(self, log):
        """A rival of a stored report, or one before it, is late, in the same batch too."""
        driver = Driver(1)
        first, second = driver.publish(1), driver.publish(5)
        rivals = [driver.publish(time, after=1) for time in (5, 4)] + [driver.publish(0, after=0)]
        assert (
            list(log.append([first, second, *rivals])) == [Appended.NEW] * 2 + [Appended.LATE] * 3
        )
        assert list(log.append(rivals)) == [Appended.LATE] * 3
        assert all_reports(log, 1) == bare([first, second])

    def test_what_does_not_continue_the_chain_is_not_taken(self, log):
        """A wrong number or digest before: unchained, and so is what comes after it."""
        driver = Driver(1)
        first, second, third = (driver.publish(time) for time in range(3))
        fork = driver.publish(7, after=1)  # number 1 again, after number 1 was taken
        assert list(log.append([second])) == [Appended.UNCHAINED]
        assert list(log.append([first, third])) == [Appended.NEW, Appended.UNCHAINED]
        assert list(log.append([second, fork])) == [Appended.NEW, Appended.UNCHAINED]
        foreign = Driver(1)
        foreign.publish(10)
        foreign.publish(11)
        other_past = foreign.publish(12)  # the right number after another record
        assert list(log.append([other_past])) == [Appended.UNCHAINED]
        assert list(log.append([third])) == [Appended.NEW]
        assert len(audited(log, 1)) == 3

    def test_a_first_report_may_come_in_any_slot(self, log):
        """A chain that begins late is no gap: records are numbered, slots are not."""
        assert list(log.append(chain(4, 2, first=50))) == [Appended.NEW] * 2
        assert list(log.append([chain(5, 3)[1]])) == [Appended.UNCHAINED]
        assert log.last(number_of(5)) is None

    def test_an_entry_must_be_its_report(self, log):
        """Truck or slot of another report, or no report at all: the whole batch is refused."""
        first, second = chain(1, 2)
        wrong = [
            replace(second, slot=second.slot + 1),
            replace(second, truck=number_of(2)),
            replace(second, message=second.message[:-1]),
            replace(second, message=b""),
        ]
        for entry in wrong:
            with pytest.raises(InputError):
                log.append([first, entry])
        assert log.last(number_of(1)) is None

    def test_slots_are_read_in_pages(self, log):
        """Pages of any size give every report of the slots once, ascending by slot and truck."""
        names = (9, 3, 255, 256, 70_000)
        entries = [one for name in names for one in chain(name, 4, first=name % 3)]
        log.append(entries)
        expected = sorted(
            (one for one in bare(entries) if slot_of(1) <= one.slot <= slot_of(4)),
            key=lambda one: (one.slot, one.truck),
        )
        assert len(expected) < len(entries)
        for limit in (1, 3, 100):
            found, after = [], None
            while page := log.in_slots(slot_of(1), slot_of(4), limit, after):
                assert len(page) <= limit
                assert after is None or (page[0].slot, page[0].truck) > after
                found += page
                after = (page[-1].slot, page[-1].truck)
            assert found == expected

    def test_forgetting_keeps_records_and_last_reports(self, log):
        """What was forgotten is known still, its record is there, and the chain goes on."""
        if not self.forgets:
            pytest.skip("this log cannot forget")
        entries, other = chain(1, 6), chain(2, 2)
        log.append([*entries[:5], *other])
        assert log.forget(slot_of(3)) == 3 + 1
        assert all_reports(log, 1) == bare(entries[3:5])
        assert all_reports(log, 2) == bare(other[1:])
        assert log.forget(slot_of(3)) == 0
        assert len(audited(log, 1)) == 5
        assert list(log.append(entries[:2])) == [Appended.KNOWN] * 2
        assert list(log.append([Driver(1).publish(2)])) == [Appended.LATE]
        assert list(log.append([entries[5]])) == [Appended.NEW]
        assert log.forget(2**32 - 1) == 2
        assert log.last(number_of(1)) == bare(entries)[5]

    def test_the_end_of_a_chain_is_taken_back(self, log):
        """Reports later than a slot go with their records, and the chain goes on before them."""
        entries, other = chain(1, 6), chain(2, 2)
        log.append([*entries[:5], *other])
        if type(log).take_back is ReportLog.take_back:  # on a chain
            with pytest.raises(InputError, match="for ever"):
                log.take_back(number_of(1), slot_of(2))
            assert all_reports(log, 1) == bare(entries[:5])
            return
        assert log.take_back(number_of(1), slot_of(2)) == 2
        assert all_reports(log, 1) == bare(entries[:3])
        assert all_reports(log, 2) == bare(other)
        assert len(audited(log, 1)) == 3
        assert log.take_back(number_of(1), slot_of(2)) == 0
        assert list(log.append(entries[3:5])) == [Appended.NEW] * 2
        assert log.take_back(number_of(2), -1) == 2
        assert log.last(number_of(2)) is None
        assert list(log.append(other)) == [Appended.NEW] * 2
        assert log.take_back(number_of(9), 0) == 0

    def test_threads_never_fork_a_chain(self, log):
        """Threads that race for the slots of one truck: the log takes one story, and says which."""
        rounds, racers = 12, 4
        together = threading.Barrier(racers)

        def race(racer: int) -> list[Appended]:
            outcomes = []
            for _ in range(rounds):
                entry = next_entry(log, 1, ahead=1 + racer)
                together.wait()
                outcomes += log.append([entry])
                together.wait()
            return outcomes

        with ThreadPoolExecutor(racers) as pool:
            outcomes = [one for outcome in pool.map(race, range(racers)) for one in outcome]
        # All continue the same record; so in each round one is taken and the others are not.
        assert outcomes.count(Appended.NEW) == rounds
        assert outcomes.count(Appended.KNOWN) == 0
        assert len(audited(log, 1)) == rounds
        assert len(all_reports(log, 1)) == rounds

    def test_threads_that_cross_finish(self, log):
        """Batches that name the same trucks in opposite orders do not wait for each other."""
        names = range(1, 9)
        stories = [chain(name, 6) for name in names]

        def work(order: int) -> list[Appended]:
            outcomes = []
            for time in range(6):
                batch = [story[time] for story in stories[::order]]
                outcomes += log.append(batch)
            return outcomes

        with ThreadPoolExecutor(4) as pool:
            outcomes = [one for some in pool.map(work, (1, -1, 1, -1)) for one in some]
        assert outcomes.count(Appended.NEW) == 6 * len(names)
        assert set(outcomes) == {Appended.NEW, Appended.KNOWN}
        for name in names:
            assert len(audited(log, name)) == 6

    def test_reading_beside_writing(self, log):
        """Who reads while others append sees a chain without holes, which only grows."""
        entries = chain(3, 40)
        done = threading.Event()

        def read() -> int:
            seen, looks = 0, 0
            while not done.wait(0.001):  # who reads without a pause takes the writer's processor
                found = all_reports(log, 3)
                assert found == bare(entries[: len(found)])
                assert len(found) >= seen
                seen, looks = len(found), looks + 1
            return looks

        with ThreadPoolExecutor(2) as pool:
            readers = [pool.submit(read) for _ in range(2)]
            try:
                for at in range(0, 40, 2):
                    log.append(entries[at : at + 2])
            finally:
                done.set()
            assert all(reader.result() > 0 for reader in readers)


class DirectoryContract:
    """Inherited by the tests of every directory."""

    @pytest.fixture
    def directory(self) -> Directory:
        """An empty directory."""
        raise NotImplementedError

    @pytest.fixture
    def known(self, directory: Directory) -> Directory:
        """A directory with a company and two trucks."""
        directory.add_company(COMPANY, token("first"))
        directory.add_truck(TRUCK)
        directory.add_truck(replace(TRUCK, truck=number_of(2), secrets=None))
        return directory

    def test_an_empty_directory(self, directory):
        """Nothing is known; what changes nothing says so."""
        nothing = number_of(9)
        found = (
            directory.company("x"),
            directory.token(hash_of("x")),
            directory.truck(nothing),
            directory.device(hash_of("x")),
            directory.link(hash_of("x")),
            directory.state(nothing),
        )
        assert set(found) == {None}
        assert not directory.companies()
        assert not directory.tokens(TokenRole.AUDITOR)
        assert not directory.links_beginning(b"x")
        assert not directory.trucks()
        assert not directory.mail(nothing, 0, 10)
        assert directory.revoke_tokens("company", "x", 1.0) == 0
        assert directory.revoke_device(nothing, "x", 1.0) == 0
        assert directory.drop_mail(1e12) == 0
        assert directory.revoke_link(hash_of("x"), 1.0) is False
        assert directory.end_parcel(nothing, b"x", 1.0) is False
        directory.close_company("x", 1.0)
        directory.retire_truck(nothing, 1.0)
        directory.save_states([])

    def test_companies(self, directory):
        """Companies come back whole, in the order of creation, and close once."""
        other = Company("a" * 32, "Other", 900.0)
        directory.add_company(COMPANY, token("first"))
        directory.add_company(other, token("second", holder=other.company))
        assert directory.company(COMPANY.company) == COMPANY
        assert list(directory.companies()) == [COMPANY, other]
        assert directory.token(hash_of("first")) == token("first")
        directory.close_company(other.company, 5.5)
        directory.close_company(other.company, 6.5)
        assert directory.company(other.company) == replace(other, closed=5.5)
        assert directory.company(COMPANY.company) == COMPANY

    def test_a_company_comes_with_its_token_or_not_at_all(self, directory):
        """Where number or token is taken, neither is added."""
        directory.add_company(COMPANY, token("first"))
        with pytest.raises(ConflictError):
            directory.add_company(replace(COMPANY, name="again"), token("second"))
        assert directory.token(hash_of("second")) is None
        with pytest.raises(ConflictError):
            directory.add_company(Company("d" * 32, "new", 1.0), token("first"))
        assert list(directory.companies()) == [COMPANY]

    def test_tokens(self, known):
        """Tokens of all roles come back as they are; a holder's are revoked together, once."""
        tokens = [
            AccessToken(hash_of("a"), TokenRole.AUDITOR, "Ann", 1.0, expires=9.0),
            AccessToken(hash_of("b"), TokenRole.AUDITOR, "Ann", 2.0),
            AccessToken(hash_of("c"), TokenRole.AUDITOR, "Ben", 3.0, revoked=4.0),
            AccessToken(hash_of("d"), TokenRole.TRUCK, "Ann", 5.0),
        ]
        for one in tokens:
            known.add_token(one)
        assert [known.token(one.hash) for one in tokens] == tokens
        assert type(known.token(hash_of("a")).role) is TokenRole
        with pytest.raises(ConflictError):
            known.add_token(replace(tokens[1], holder="Cas"))
        assert known.revoke_tokens(TokenRole.AUDITOR, "Ann", 7.0) == 2
        assert known.revoke_tokens("auditor", "Ann", 8.0) == 0
        assert [known.token(one.hash).revoked for one in tokens] == [7.0, 7.0, 4.0, None]
        assert [one.hash for one in known.tokens("auditor")] == [one.hash for one in tokens[:3]]
        assert list(known.tokens(TokenRole.TRUCK)) == [tokens[3]]

    def test_a_token_replaces_those_of_its_holder(self, known):
        """The old ones are revoked when it was created; where it cannot be added, none is."""
        new = replace(token("new"), created=1500.0)
        known.replace_tokens(new)
        assert known.token(hash_of("first")).revoked == 1500.0
        assert known.token(new.hash) == new
        other = token("other", TokenRole.AUDITOR, "Ann")
        known.add_token(other)
        with pytest.raises(ConflictError):
            known.replace_tokens(replace(other, holder=COMPANY.company, role=TokenRole.COMPANY))
        assert list(known.tokens(TokenRole.COMPANY))[1:] == [new]
        assert list(known.tokens(TokenRole.AUDITOR)) == [other]

    def test_trucks(self, known):
        """Trucks come back whole, by company or all, in the order of creation."""
        other = Company("0" * 32, "Other", 1.0)
        known.add_company(other, token("other", holder=other.company))
        its = Truck(number_of(0), other.company, b"card", None, 3.0, own_keys=True)
        own = AccessToken(hash_of("own"), TokenRole.TRUCK, its.truck.hex(), 3.0)
        known.add_truck(its, own)
        assert known.truck(its.truck) == its
        assert known.token(own.hash) == own
        assert known.truck(TRUCK.truck) == TRUCK
        assert [one.truck for one in known.trucks()] == [number_of(n) for n in (1, 2, 0)]
        assert list(known.trucks(other.company)) == [its]
        assert list(known.trucks("nobody")) == []

    def test_a_truck_comes_with_its_token_or_not_at_all(self, known):
        """A taken number, a taken token or an unknown company: nothing is added."""
        with pytest.raises(ConflictError):
            known.add_truck(TRUCK, token("new"))
        with pytest.raises(ConflictError):
            known.add_truck(replace(TRUCK, truck=number_of(7)), token("first"))
        with pytest.raises(ConflictError):
            known.add_truck(replace(TRUCK, truck=number_of(7), company="nobody"))
        assert known.token(hash_of("new")) is None
        assert known.truck(number_of(7)) is None

    def test_a_retired_truck_has_neither_secrets_nor_state(self, known):
        """Retiring forgets secrets and state, once, and a late state does not come back."""
        known.save_states([(TRUCK.truck, b"state"), (number_of(2), b"other")])
        known.retire_truck(TRUCK.truck, 50.0)
        known.retire_truck(TRUCK.truck, 60.0)
        assert known.truck(TRUCK.truck) == replace(TRUCK, secrets=None, retired=50.0)
        assert known.state(TRUCK.truck) is None
        known.save_states([(TRUCK.truck, b"late")])
        assert known.state(TRUCK.truck) is None
        assert known.state(number_of(2)) == b"other"
        assert [one.retired for one in known.trucks()] == [50.0, None]

    def test_devices(self, known):
        """Tokens of devices, in the order of issue; a device's are revoked together."""
        tokens = [device("a"), device("b", "tracker"), device("c"), device("d", truck=number_of(2))]
        for one in tokens:
            known.add_device(one)
        assert [known.device(one.token.hash) for one in tokens] == tokens
        assert list(known.devices(TRUCK.truck)) == tokens[:3]
        with pytest.raises(ConflictError):
            known.add_device(device("a", truck=number_of(2)))
        with pytest.raises(ConflictError):
            known.add_device(device("e", truck=number_of(9)))
        assert known.revoke_device(TRUCK.truck, "phone", 5.0) == 2
        assert known.revoke_device(TRUCK.truck, "phone", 6.0) == 0
        revoked = [known.device(one.token.hash).token.revoked for one in tokens]
        assert revoked == [5.0, None, 5.0, None]

    def test_devices_by_name(self, known):
        """A company's devices of exactly this name, on any of its trucks; no other company's."""
        other = Company("0" * 32, "Other", 1.0)
        known.add_company(other, token("other", holder=other.company))
        known.add_truck(Truck(number_of(3), other.company, b"card", None, 3.0))
        tokens = [device("b"), device("a", truck=number_of(2)), device("c")]
        for one in (*tokens, device("d", "Phone"), device("e", truck=number_of(3))):
            known.add_device(one)
        assert list(known.devices_named(COMPANY.company, "phone")) == tokens
        known.revoke_device(number_of(2), "phone", 5.0)
        revoked = [one.token.revoked for one in known.devices_named(COMPANY.company, "phone")]
        assert revoked == [None, 5.0, None]
        assert [one.truck for one in known.devices_named(other.company, "phone")] == [number_of(3)]
        assert not known.devices_named("nobody", "phone")
        assert not known.devices_named(COMPANY.company, "phone' OR ''='")

    def test_parcels(self, known):
        """A number is taken while it is carried; ended ones are gone from the list for good."""
        first, second = parcel(b"3S\x00A"), parcel(b"3SB")
        known.add_parcel(first)
        known.add_parcel(second)
        known.add_parcel(parcel(b"3S\x00A", number_of(2)))
        with pytest.raises(ConflictError):
            known.add_parcel(replace(first, sender=b"x" * 32))
        with pytest.raises(ConflictError):
            known.add_parcel(parcel(b"3SC", number_of(9)))
        assert list(known.parcels(TRUCK.truck)) == [first, second]
        assert known.end_parcel(TRUCK.truck, first.parcel, 7.0) is True
        assert known.end_parcel(TRUCK.truck, first.parcel, 8.0) is False
        again = replace(first, destination=None, created=9.0)
        known.add_parcel(again)
        assert list(known.parcels(TRUCK.truck)) == [second, again]
        assert len(known.parcels(number_of(2))) == 1

    def test_mail(self, known):
        """Numbers ascend, the same message keeps its own, and none is used twice."""
        letters = [Mail(TRUCK.truck, b"letter %d" % n, 100.0 + n) for n in range(5)]
        numbers = [known.add_mail(letter) for letter in letters]
        assert numbers == sorted(set(numbers))
        assert numbers[0] > 0
        assert known.add_mail(replace(letters[2], received=999.0)) == numbers[2]
        other = known.add_mail(replace(letters[2], truck=number_of(2)))
        assert other not in numbers
        expected = [replace(one, number=n) for one, n in zip(letters, numbers, strict=True)]
        assert list(known.mail(TRUCK.truck, 0, 100)) == expected
        assert list(known.mail(TRUCK.truck, numbers[1], 2)) == expected[2:4]
        with pytest.raises(ConflictError):
            known.add_mail(Mail(number_of(9), b"letter", 1.0))
        assert known.drop_mail(1000.0) == 6
        assert list(known.mail(TRUCK.truck, 0, 100)) == []
        assert known.add_mail(letters[0]) > max(*numbers, other)

    def test_mail_is_not_missed(self, known):
        """A truck that asks from its last number on gets all that threads submit meanwhile."""
        senders, letters = 3, 20
        found: list[Mail] = []
        done = threading.Event()

        def send(sender: int) -> None:
            for letter in range(letters):
                known.add_mail(Mail(TRUCK.truck, b"%d %d" % (sender, letter), 1.0))

        def fetch() -> None:
            last = False
            while not last:
                last = done.is_set()
                found.extend(known.mail(TRUCK.truck, found[-1].number if found else 0, 100))

        with ThreadPoolExecutor(senders + 1) as pool:
            fetching = pool.submit(fetch)
            try:
                list(pool.map(send, range(senders)))
            finally:
                done.set()
            fetching.result()
        assert len({mail.message for mail in found}) == len(found) == senders * letters

    def test_links(self, known):
        """Links of a truck in the order of creation; revoked once."""
        links = [link("z"), link("a"), link("m", number_of(2))]
        for one in links:
            known.add_link(one)
        assert known.link(hash_of("a")) == links[1]
        assert list(known.links(TRUCK.truck)) == links[:2]
        with pytest.raises(ConflictError):
            known.add_link(link("m"))
        with pytest.raises(ConflictError):
            known.add_link(link("n", number_of(9)))
        assert list(known.links_beginning(b"a")) == [links[1]]
        assert list(known.links_beginning(b"a####")) == [links[1]]
        assert not known.links_beginning(b"b")
        assert known.revoke_link(hash_of("a"), 5.0) is True
        assert known.revoke_link(hash_of("a"), 6.0) is True
        assert [one.revoked for one in known.links(TRUCK.truck)] == [None, 5.0]

    def test_links_that_follow_parcels(self, known):
        """They move from truck to truck and to none, with what is said; others never do."""
        of_truck = replace(link("z"), company=COMPANY.company, label=b"sealed \x00 label")
        of_parcel = TrackingLink(
            hash_of("p"), None, 1000.0, 2000.0, company=COMPANY.company, follows_parcel=True
        )
        for one in (of_truck, of_parcel):
            known.add_link(one)
        assert list(known.links_of(COMPANY.company)) == [of_truck, of_parcel]
        assert list(known.links_of("x" * 32)) == []
        for truck, said in ((TRUCK.truck, b"first \xff"), (None, b"second")):
            assert known.move_link(of_parcel.hash, truck, said) is True
            moved = known.link(of_parcel.hash)
            assert moved == replace(of_parcel, truck=truck, notice=said)
        assert known.move_link(of_truck.hash, None, b"third") is False
        assert known.move_link(hash_of("none"), None, b"third") is False
        assert known.link(of_truck.hash) == of_truck
        with pytest.raises(ConflictError):
            known.move_link(of_parcel.hash, number_of(9), b"fourth")

    def test_past_drives(self, known):
        """They change by one version at a time, and are forgotten with their key."""
        past = ArrivalPast(COMPANY.company, 1, b"key", b"past \x00", None)
        assert known.arrival_past(COMPANY.company) is None
        assert known.forget_arrivals(COMPANY.company) is False
        assert known.replace_arrival_past(replace(past, version=2)) is False
        assert known.replace_arrival_past(past) is True
        assert known.replace_arrival_past(past) is False
        after = replace(past, version=2, past=b"more", fitted=b"table")
        assert known.replace_arrival_past(after) is True
        assert known.replace_arrival_past(replace(after, past=b"late")) is False
        other = replace(after, version=3, secret=b"of another past")
        assert known.replace_arrival_past(other) is False
        assert known.arrival_past(COMPANY.company) == after
        assert known.forget_arrivals(COMPANY.company) is True
        assert known.arrival_past(COMPANY.company) is None

    def test_states(self, known):
        """The last state of each truck stays, of trucks nobody knows too."""
        known.save_states([(number_of(9), b"old"), (number_of(1), b"\x00"), (number_of(9), b"new")])
        assert known.state(number_of(9)) == b"new"
        known.save_states([(number_of(9), b"")])
        assert known.state(number_of(9)) == b""
        assert known.state(number_of(1)) == b"\x00"

    def test_one_of_many_gets_a_number(self, known):
        """Threads that add the same: one succeeds, the others hear of a conflict."""

        def add(n: int) -> bool:
            try:
                known.add_truck(replace(TRUCK, truck=number_of(8)), token(f"racer {n}"))
            except ConflictError:
                return False
            return True

        with ThreadPoolExecutor(4) as pool:
            added = list(pool.map(add, range(8)))
        assert sum(added) == 1
        tokens = [known.token(hash_of(f"racer {n}")) is not None for n in range(8)]
        assert tokens == added

    def test_texts_that_not_every_database_keeps(self, known):
        """A zero character or half a surrogate is refused, where it would be kept or sought."""
        for text in ("a\0b", "a\ud800b"):
            with pytest.raises(InputError):
                known.add_company(Company("e" * 32, text, 1.0), token("new"))
            with pytest.raises(InputError):
                known.add_device(device("new", text))
            with pytest.raises(InputError):
                known.add_token(token("new", holder=text))
            lookups = [
                lambda text=text: known.company(text),
                lambda text=text: known.trucks(text),
                lambda text=text: known.close_company(text, 1.0),
                lambda text=text: known.revoke_tokens("company", text, 1.0),
                lambda text=text: known.revoke_device(TRUCK.truck, text, 1.0),
                lambda text=text: known.devices_named(COMPANY.company, text),
                lambda text=text: known.devices_named(text, "phone"),
            ]
            for lookup in lookups:
                with pytest.raises(InputError):
                    lookup()

    def test_errors_and_names_show_no_secret(self, known):
        """Neither conflicts nor the store's name quote hashes, secrets or states."""
        calls = [
            lambda: known.add_token(token("first")),
            lambda: known.add_truck(TRUCK),
            lambda: known.add_device(device("first", truck=number_of(9))),
            lambda: known.add_link(link("first", number_of(9))),
        ]
        texts = [repr(known), str(known)]
        for call in calls:
            with pytest.raises(ConflictError) as caught:
                call()
            texts += traceback.format_exception(caught.value)
        for secret in (hash_of("first"), TRUCK.secrets):
            for text in texts:
                assert secret.hex() not in text
                assert repr(secret)[2:-1] not in text


class StoreContract(ReportLogContract, DirectoryContract):
    """Where log and directory are one store."""

    @pytest.fixture
    def directory(self, log: ReportLog) -> ReportLog:
        return log

    def test_a_probe_of_writing_leaves_nothing(self, log):
        """It writes, says nothing where that goes well, and no report is there of it."""
        log.append(chain(1, 2))
        log.check_writing()
        log.check_writing()
        assert all_reports(log, 1) == bare(chain(1, 2))
        assert [one.truck for one in log.in_slots(0, 2**32 - 1, 9)] == [number_of(1)] * 2
        assert type(log).check_writing is not Directory.check_writing

    def test_states_come_with_reports(self, log):
        """The last state among the reports taken stays; refused and known ones change none."""
        driver = Driver(1)
        first = driver.publish(0, state=b"0")
        second, third = driver.publish(1, state=b"1"), driver.publish(2)
        log.append([first, second, third, replace(first, state=b"known")])
        assert log.state(number_of(1)) == b"1"
        log.append([replace(third, state=b"again"), driver.publish(2, after=2, state=b"late")])
        log.append([driver.publish(9, after=1, state=b"unchained")])
        assert log.state(number_of(1)) == b"1"
        log.append([driver.publish(5, state=b"5")])
        assert log.state(number_of(1)) == b"5"

    def test_a_report_of_a_retired_truck_brings_no_state(self, known):
        """A report on its way when its truck is retired is kept, and its state is not."""
        first, second = chain(1, 2)
        known.append([replace(first, state=b"state")])
        known.retire_truck(number_of(1), 5.0)
        assert list(known.append([replace(second, state=b"state")])) == [Appended.NEW]
        assert known.state(number_of(1)) is None
