"""Auditors see who published what and when, notice every change, and learn nothing else."""

from __future__ import annotations

import dataclasses

import pytest

from share_tests.protocol.scenes import (
    NOON,
    PAPER,
    RANDOMNESS,
    SLOT_SECONDS,
    VOILE,
    carried,
    content,
    positions,
    publisher,
    record_of,
    report,
    reports,
    truck,
)
from voile_base.errors import InputError
from voile_share.protocol import (
    Auditor,
    Content,
    Reason,
    Record,
    RejectedError,
    Report,
    ReportPublisher,
)


def rejected(auditor, record):
    with pytest.raises(RejectedError) as error:
        auditor.follow(record)
    return error.value.reason


def records(count):
    return [record_of(message) for message in reports(count)]


def test_a_chain_is_followed_from_the_first_record():
    """The auditor ends with the number, the slot and the digest of the last record."""
    auditor = Auditor(truck().card())
    for record in records(5):
        auditor = auditor.follow(record)
    assert (auditor.sequence, auditor.last) == (5, NOON + 4 * SLOT_SECONDS)


@pytest.mark.slow
def test_every_flipped_bit_is_rejected():
    """A record is its signature's; the header and the truck have their own reasons."""
    (record,) = records(1)
    auditor = Auditor(truck().card())
    for bit in range(8 * len(record)):
        changed = bytearray(record)
        changed[bit // 8] ^= 1 << bit % 8
        reason = rejected(auditor, bytes(changed))
        if bit >= 8 * 19:
            assert reason == Reason.SIGNATURE
        elif bit >= 8 * 3:
            assert reason == Reason.FOREIGN


def test_left_out_reordered_doubled_and_foreign_records_are_rejected():
    """Only the very next record of the truck is followed."""
    first, second, third = records(3)
    start = Auditor(truck().card())
    one = start.follow(first)
    for auditor, record in ((start, second), (one, first), (one, third)):
        assert rejected(auditor, record) == Reason.CHAIN
    foreign = publisher(name=b"another truck 99").publish(NOON, content(VOILE), RANDOMNESS)[1]
    assert rejected(start, record_of(foreign)) == Reason.FOREIGN


def test_a_record_of_another_history_is_rejected():
    """Its number is next and its signature good: what it follows is not what was seen."""
    first, _ = records(2)
    state, _ = publisher().publish(NOON, content(VOILE, level=2), RANDOMNESS)
    other = state.publish(NOON + SLOT_SECONDS, content(VOILE), RANDOMNESS)[1]
    assert rejected(Auditor(truck().card()).follow(first), record_of(other)) == Reason.CHAIN


def test_a_truck_cannot_go_back_in_time():
    """A truck that signs an earlier slot next is found out."""
    state, message = publisher().publish(NOON, content(VOILE), RANDOMNESS)
    back = dataclasses.replace(state, last=-1)
    earlier = back.publish(NOON - SLOT_SECONDS, content(VOILE), RANDOMNESS)[1]
    auditor = Auditor(truck().card()).follow(record_of(message))
    assert rejected(auditor, record_of(earlier)) == Reason.REPLAYED


def test_two_stories_of_one_slot_are_proof_against_the_truck():
    """Equivocation shows in two signed records, and honest records are none."""
    one, other = (
        record_of(
            ReportPublisher.new(truck()).publish(NOON, content(VOILE, level=n), RANDOMNESS)[1]
        )
        for n in (0, 1)
    )
    card = truck().card()
    assert card.is_equivocation(one, other)
    assert not card.is_equivocation(one, one)
    assert not card.is_equivocation(*records(2))
    forged = dataclasses.replace(Record.decode(other), body=bytes(32)).encode()
    with pytest.raises(RejectedError):
        card.is_equivocation(one, forged)


def test_a_report_is_the_one_recorded_or_not():
    """With the report at hand the auditor compares the record that it makes."""
    assert record_of(report()) == record_of(report())
    assert Report.decode(report()).record() != Report.decode(report(parcels=2)).record()


def test_a_record_holds_neither_places_nor_parties():
    """Its bytes are the truck, the time, a number, digests and a signature, for any content."""
    one, other = (
        record_of(publisher().publish(NOON, Content(where, [carried(VOILE, n)] * 1), RANDOMNESS)[1])
        for n, where in enumerate((positions(), positions(-33.9, 18.4)))
    )
    assert len(one) == len(other) == 155
    assert one[:27] == other[:27]
    assert one[59:91] == other[59:91] == bytes(32)


def test_the_paper_suite_has_no_records():
    """Nobody signs there, so nothing can be audited."""
    with pytest.raises(InputError, match="paper"):
        Report.decode(report(PAPER)).record()
