"""Readers with a node of their own: what a link reads from a chain, without any platform."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

import pytest

from share_tests.chain.scenes import Stage
from share_tests.protocol.scenes import (
    NOON,
    PAPER,
    SLOT_SECONDS,
    TRUCK,
    VOILE,
    content,
    link,
    positions,
    publisher,
    reports,
)
from share_tests.protocol.scenes import RANDOMNESS as DRAWN
from voile_share.chain import ChainReadings, Mode, published
from voile_share.chain.contract import Contract
from voile_share.protocol import Reader, Reason
from voile_share.store import Entry

LATER = NOON + 10 * SLOT_SECONDS


def send(stage: Stage, message: bytes) -> None:
    """The truck publishes whatever it likes."""
    stage.send(stage.account_of(TRUCK), Contract.publish(message))


@pytest.mark.slow
@pytest.mark.parametrize("mode", [Mode.LOG, Mode.STORAGE])
def test_a_link_reads_its_parcel_from_the_chain(stage: Stage, mode: Mode) -> None:
    """All reports of the truck, in order, and none of other trucks; from a block on, too."""
    messages = reports(3)
    other = publisher(VOILE, b"truck 2 of Delft").publish(NOON, content(VOILE), DRAWN)[1]
    with closing(stage.log(mode)) as log:
        log.append([Entry(TRUCK, NOON, messages[0]), Entry(b"truck 2 of Delft", NOON, other)])
        log.append([Entry(TRUCK, NOON + k * SLOT_SECONDS, messages[k]) for k in (1, 2)])
    found = list(published(stage.chain, stage.deployment, TRUCK))
    assert [one.message for one in found] == messages
    readings = ChainReadings.read(Reader(link()), found, LATER)
    assert [one.position for one in readings.sightings] == [positions()[1]] * 3
    assert [one.at.slot for one in readings.sightings] == [one.at.slot for one in found]
    assert readings.rejected == ()
    rest = list(published(stage.chain, stage.deployment, TRUCK, found[1].block))
    assert rest == found[1:]
    assert ChainReadings.read(readings.reader, rest, LATER).rejected == tuple(
        (one.at.slot, Reason.REPLAYED) for one in rest
    )


@pytest.mark.slow
def test_a_company_that_forges_a_report_is_not_believed(stage: Stage) -> None:
    """It registers an account of its own for the truck; the truck's signature is missing."""
    good, forged = reports(2)
    changed = forged[:-1] + bytes([forged[-1] ^ 1])
    send(stage, good)
    send(stage, changed)
    found = list(published(stage.chain, stage.deployment, TRUCK))
    readings = ChainReadings.read(Reader(link()), found, LATER)
    assert len(readings.sightings) == 1
    assert readings.rejected == ((NOON + SLOT_SECONDS, Reason.SIGNATURE),)


@pytest.mark.slow
def test_reading_goes_on_after_rubbish(stage: Stage) -> None:
    """What is no report is told by its slot, and the next report is read."""
    first, second, third = reports(3)
    for message in (first, second[:60], third):
        send(stage, message)
    found = list(published(stage.chain, stage.deployment, TRUCK))
    readings = ChainReadings.read(Reader(link()), found, LATER)
    assert len(readings.sightings) == 2
    assert readings.rejected == ((NOON + SLOT_SECONDS, Reason.TRUNCATED),)


@pytest.mark.slow
def test_the_chain_vouches_for_reports_without_signature(stage: Stage) -> None:
    """Suite ``paper`` signs nothing: its reports are believed by their sender, if that is asked."""
    messages = reports(2, PAPER)
    for message in messages:
        send(stage, message)
    found = list(published(stage.chain, stage.deployment, TRUCK))
    readings = ChainReadings.read(Reader(link(PAPER)), found, LATER, vouched=True)
    assert [one.position for one in readings.sightings] == [positions()[1]] * 2
    with closing(stage.log()) as log:
        assert log.last(TRUCK) is None


def test_a_vouched_report_must_name_its_place(stage: Stage) -> None:
    """A message is read at the place of its event, never at one that it claims."""
    [message] = reports(1)
    send(stage, message)
    [found] = published(stage.chain, stage.deployment, TRUCK)
    moved = replace(found, at=replace(found.at, slot=found.at.slot + SLOT_SECONDS))
    readings = ChainReadings.read(Reader(link()), [moved], LATER, vouched=True)
    assert readings.sightings == ()
