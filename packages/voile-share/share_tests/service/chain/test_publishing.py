"""Positions in, reports out by the link, and read from the chain alone."""

from __future__ import annotations

import pytest

from share_tests.scene import Parties
from share_tests.service.chain.scenes import MODES, OnChain, away
from share_tests.service.server import own_secrets
from voile_base.errors import InputError
from voile_base.randomness import Randomness
from voile_share import protocol
from voile_share.chain import (
    ChainReadings,
    ChainSigner,
    Contract,
    Deployment,
    EmbeddedChain,
    Inclusion,
    Mode,
    RevertedError,
    address_of,
    audit,
    check_anchored,
    published,
)
from voile_share.chain.contract import transaction
from voile_share.ingest import Request
from voile_share.platform import AccessError, SlotOutcome
from voile_share.store import StoreError
from voile_testing.plugin import some_slow
from voile_testing.processes import PATIENCE


@pytest.mark.slow
@pytest.mark.parametrize("mode", MODES)
def test_a_position_comes_out_by_the_link_and_stands_on_the_chain(on, node, mode):
    """What the link reads on the platform is what anybody proves with card, contract and node."""
    scene = on(mode)
    company = scene.company()
    truck, token = scene.truck(company)
    scene.platform.settle()
    parties = Parties()
    link = scene.parcel(company, truck, b"3SABCD", parties)
    scene.drive(token, 2)
    number, _ = scene.platform.add_link(company, truck.truck, hours=24)
    opened = scene.platform.link_of(number)
    entries = scene.platform.reports_after(opened, -1, 10)
    assert len(entries) == 2
    now = int(scene.clock.now)
    _, sighting = protocol.Reader(link).read(entries[0].message, now)
    assert sighting is not None
    records = scene.platform.records(truck.truck, 0, 10)
    if mode == Mode.ANCHOR:
        for entry, record in zip(entries, records, strict=True):
            proof = scene.log.inclusion(truck.truck, entry.slot).encode()
            check_anchored(node, scene.deployment, record, Inclusion.decode(proof))
        return
    found = list(published(node, scene.deployment, truck.truck))
    assert [one.message for one in found] == [entry.message for entry in entries]
    assert len(ChainReadings.read(protocol.Reader(link), found, now).sightings) == 2
    audited = list(audit(node, scene.deployment, scene.platform.card(truck.truck)))
    assert [one.slot for one in audited] == [entry.slot for entry in entries]
    assert [one.number for one in audited] == [0, 1]


@pytest.mark.slow
def test_an_audit_finds_what_does_not_belong(on, node):
    """An unsigned report, another card, and a truck that nobody registered are found."""
    scene = on("log")
    truck, token = scene.truck(scene.company())
    scene.platform.settle()
    scene.drive(token, 1)
    card = scene.platform.card(truck.truck)
    [honest] = published(node, scene.deployment, truck.truck)
    forged = bytearray(honest.message)
    forged[19:23] = (honest.at.slot + 300).to_bytes(4, "big")
    node.fund(scene.fleet.address(truck.truck), 1)
    sender = scene.fleet.account(truck.truck)
    send(node, scene.deployment, sender, Contract.publish(bytes(forged)))
    steps = audit(node, scene.deployment, card)
    assert next(steps).number == 0
    with pytest.raises(protocol.RejectedError):
        next(steps)
    other = protocol.TruckSecrets(truck.truck, b"s" * 32, b"t" * 32).card().encode()
    with pytest.raises(InputError, match="another card"):
        next(audit(node, scene.deployment, other))
    unknown = protocol.TruckSecrets(b"u" * 16, b"s" * 32, b"t" * 32).card().encode()
    with pytest.raises(InputError, match="no such truck"):
        next(audit(node, scene.deployment, unknown))


def send(node: EmbeddedChain, deployment: Deployment, sender: ChainSigner, data: bytes) -> None:
    """Whatever an account likes to send."""
    mine = address_of(sender)
    fields = {"nonce": node.nonce(mine), "chainId": node.identity(), "gas": 2_000_000}
    made = transaction(fields, deployment.address, data, node.fee())
    assert node.receipt(node.send(bytes(sender.sign_transaction(made).raw_transaction))).succeeded


@pytest.mark.slow
def test_a_truck_that_is_not_registered_stops_no_other(on, node):
    """Its reports are refused for now, those of others are taken; later its own, too."""
    scene = on("log")
    company = scene.company()
    _, early = scene.truck(company, "early")
    scene.platform.settle()
    woken = []
    scene.platform.when_behind(lambda: woken.append(1))
    late_truck, late = scene.truck(company, "late")
    assert woken == [1]
    futures = [
        scene.platform.receive(token, request(scene, device))
        for token, device in ((early, "early"), (late, "late"))
    ]
    assert futures[0].result(PATIENCE).outcome is SlotOutcome.PUBLISHED
    with pytest.raises(RevertedError, match="unregistered") as refusal:
        futures[1].result(PATIENCE)
    assert isinstance(refusal.value, StoreError)
    scene.platform.settle()
    assert scene.send(late, device="late") is SlotOutcome.PUBLISHED
    assert len(list(published(node, scene.deployment, late_truck.truck))) == 1


def request(scene: OnChain, device: str) -> Request:
    """A position, now."""
    query = f"id={device}&lat=52.01&lon=4.36&timestamp={scene.clock.now:.0f}"
    return Request(query=query)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["log", "anchor"])
def test_what_a_crash_left_behind_is_sent_at_the_next_start(on, node, mode, monkeypatch):
    """A report that was put away, and not sent, is on the chain after a restart, once."""
    scene = on(mode)
    truck, token = scene.truck(scene.company())
    scene.platform.settle()
    scene.drive(token, 1)
    with away(scene), pytest.raises(StoreError):
        scene.send(token)
    assert scene.log.waiting() == 1
    again = scene.reopened()
    try:
        again.platform.settle()
        assert again.log.waiting() == 0
        again.clock.now += again.settings.slot_seconds
        assert again.send(token) is SlotOutcome.PUBLISHED
        records = again.platform.records(truck.truck, 0, 10)
        assert len(records) == 3
        if mode == Mode.LOG:
            numbers = [one.number for one in audit(node, again.deployment, truck.card)]
            assert numbers == [0, 1, 2]
    finally:
        again.platform.close()


@pytest.mark.parametrize("mode", some_slow(MODES, {"anchor"}))
def test_trucks_with_keys_of_their_own(on, node, mode):
    """They are refused where their reports could not be sent, and anchored where they can."""
    scene = on(mode)
    company = scene.company()
    secrets = own_secrets(Randomness.seeded(9))
    card = secrets.card().encode()
    if mode != Mode.ANCHOR:
        with pytest.raises(AccessError, match="anchor") as refusal:
            scene.platform.add_truck(company, card)
        assert refusal.value.reason == "own-keys"
        assert scene.platform.trucks(company) == []
        return
    truck, _ = scene.platform.add_truck(company, card)
    scene.platform.settle()
    slot = scene.settings.slot(scene.clock.now)
    place = tuple(protocol.Position(52.0, 4.3, slot, 2.0**-level) for level in (6, 8, 10))
    content = protocol.Content(place, [], room=30)
    _, report = protocol.ReportPublisher.new(secrets).publish(slot, content, Randomness.seeded(2))
    assert scene.platform.publish(truck, report).result(PATIENCE) == "new"
    proof = scene.log.inclusion(truck.truck, slot)
    [record] = scene.platform.records(truck.truck, 0, 5)
    check_anchored(node, scene.deployment, record, proof)
