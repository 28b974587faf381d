"""Who may do what with the contract; everything else reverts with its reason."""

from __future__ import annotations

import pytest

from share_tests.chain.scenes import Stage, account
from share_tests.store.reports import FIRST, SLOT, chain, number_of
from voile_share.chain import RevertedError
from voile_share.chain.contract import ChainSigner, Contract, Registration, address_of

TRUCK = number_of(1)
OTHER = account("other company")


def refused(stage: Stage, who: ChainSigner, data: bytes) -> str:
    """With which word the contract refuses a transaction, which is not sent."""
    stage.chain.fund(address_of(who), 0.1)  # it hears nobody who could not pay
    with pytest.raises(RevertedError) as caught:
        stage.chain.call(address_of(who), stage.deployment.address, data)
    assert caught.value.reason in str(caught.value)
    return caught.value.reason


def message_of(truck: bytes, slot: int, body: bytes = bytes(40), head: bytes = b"\1\6\1") -> bytes:
    """What the contract sees of a report."""
    return head + truck + slot.to_bytes(4, "big") + len(body).to_bytes(3, "big") + body


@pytest.fixture
def another(stage: Stage) -> Stage:
    """A second company is certified, too."""
    stage.chain.fund(address_of(OTHER))
    stage.registry(stage.owner).certify(address_of(OTHER))
    return stage


@pytest.mark.slow
@pytest.mark.parametrize("call", [Contract.publish, Contract.store])
def test_only_a_registered_truck_publishes_and_only_forward(stage: Stage, call) -> None:
    """Unregistered senders, other trucks' reports, replayed and earlier slots, and rubbish."""
    truck = stage.account_of(TRUCK)
    first, second = (entry.message for entry in chain(1, 2))
    for stranger in (stage.owner, stage.company, account("nobody"), stage.account_of(number_of(2))):
        expected = (
            "foreign-report"
            if stranger.address == stage.account_of(number_of(2)).address
            else "unregistered"
        )
        assert refused(stage, stranger, call(first)) == expected
    stage.send(truck, call(second))
    assert refused(stage, truck, call(second)) == "replayed"
    assert refused(stage, truck, call(message_of(TRUCK, FIRST + SLOT))) == "replayed"
    assert refused(stage, truck, call(first)) == "backward"
    later = FIRST + 2 * SLOT
    for rubbish in (
        b"",
        first[:34],
        message_of(TRUCK, later, head=b"\1\7\1"),
        message_of(TRUCK, later, head=b"\2\6\1"),
    ):
        assert refused(stage, truck, call(rubbish)) == "malformed"
    assert stage.contract.least(TRUCK) == FIRST + SLOT + 1
    stage.chain.call(address_of(truck), stage.deployment.address, call(message_of(TRUCK, later)))


def test_slots_of_the_whole_range_are_taken(stage: Stage) -> None:
    """Slot 0, and the last one that a report can name; nothing comes after it."""
    truck = stage.account_of(TRUCK)
    stage.send(truck, Contract.publish(message_of(TRUCK, 0)))
    assert refused(stage, truck, Contract.publish(message_of(TRUCK, 0))) == "replayed"
    stage.send(truck, Contract.publish(message_of(TRUCK, 2**32 - 1)))
    assert refused(stage, truck, Contract.publish(message_of(TRUCK, 2**32 - 1))) == "replayed"
    assert refused(stage, truck, Contract.publish(message_of(TRUCK, 2**32 - 2))) == "backward"


@pytest.mark.slow
def test_only_the_owner_certifies(stage: Stage) -> None:
    """Neither companies nor strangers certify, withdraw or hand over; the owner may be followed."""
    for who in (stage.company, OTHER):
        for data in (
            Contract.certify(address_of(OTHER)),
            Contract.withdraw(address_of(stage.company)),
            Contract.offer(address_of(OTHER)),
        ):
            assert refused(stage, who, data) == "not-owner"
    assert refused(stage, OTHER, Contract.accept()) == "not-offered"
    stage.registry(stage.owner).offer(address_of(OTHER))
    assert refused(stage, stage.company, Contract.accept()) == "not-offered"
    assert stage.contract.owner() == address_of(stage.owner)
    stage.chain.fund(address_of(OTHER))
    stage.registry(OTHER).accept()
    assert stage.contract.owner() == address_of(OTHER)
    assert refused(stage, stage.owner, Contract.certify(address_of(OTHER))) == "not-owner"


@pytest.mark.slow
def test_foreign_registrations_revert(another: Stage) -> None:
    """No company takes another's truck or account, registers without certificate, or retires it."""
    account_of = another.account_of(TRUCK)
    new = address_of(account("new"))

    def registering(truck: bytes, sender: bytes) -> bytes:
        return Contract.register(truck, Registration(b"", sender, bytes(32)))

    assert refused(another, OTHER, registering(TRUCK, new)) == "foreign-truck"
    assert (
        refused(another, OTHER, registering(number_of(9), address_of(account_of)))
        == "foreign-account"
    )
    assert refused(another, OTHER, Contract.retire(TRUCK)) == "foreign-truck"
    assert refused(another, account("nobody"), registering(number_of(9), new)) == "not-certified"
    assert refused(another, another.owner, registering(number_of(9), new)) == "not-certified"
    assert refused(another, OTHER, registering(number_of(9), bytes(20))) == "no-account"
    another.registry(another.company).retire(TRUCK)
    assert refused(another, OTHER, registering(TRUCK, new)) == "foreign-truck"
    assert (
        refused(another, OTHER, registering(number_of(9), address_of(account_of)))
        == "foreign-account"
    )


@pytest.mark.slow
def test_a_company_moves_a_truck_to_another_account(stage: Stage) -> None:
    """The account before is out, slots go on from where they were, and moving back works."""
    before, after = stage.account_of(TRUCK), account("after")
    first, second = (entry.message for entry in chain(1, 2))
    stage.send(before, Contract.publish(first))
    stage.chain.fund(address_of(after))
    registry = stage.registry(stage.company)
    registry.register(TRUCK, address_of(after), b"new card")
    found = stage.contract.registration(TRUCK)
    assert found == Registration(
        address_of(stage.company), address_of(after), Registration.digest(b"new card")
    )
    assert refused(stage, before, Contract.publish(second)) == "unregistered"
    assert refused(stage, after, Contract.publish(first)) == "replayed"
    stage.send(after, Contract.publish(second))
    registry.register(TRUCK, address_of(before), b"card")
    assert refused(stage, before, Contract.publish(second)) == "replayed"
    assert refused(stage, after, Contract.publish(second)) == "unregistered"


@pytest.mark.slow
def test_retired_trucks_and_withdrawn_companies_are_silent(stage: Stage) -> None:
    """Both stop at once, and come back with their slots when they are let in again."""
    truck = stage.account_of(TRUCK)
    first, second = (entry.message for entry in chain(1, 2))
    stage.send(truck, Contract.publish(first))
    registry, owner = stage.registry(stage.company), stage.registry(stage.owner)
    registry.retire(TRUCK)
    assert refused(stage, truck, Contract.publish(second)) == "unregistered"
    registry.register(TRUCK, address_of(truck), b"card")
    assert refused(stage, truck, Contract.publish(first)) == "replayed"
    owner.withdraw(address_of(stage.company))
    assert not stage.contract.is_open(TRUCK)
    assert refused(stage, truck, Contract.publish(second)) == "not-certified"
    assert refused(stage, stage.company, Contract.anchor(0, FIRST, bytes(32))) == "not-certified"
    owner.certify(address_of(stage.company))
    assert stage.contract.is_open(TRUCK)
    stage.send(truck, Contract.publish(second))


@pytest.mark.slow
def test_roots_are_numbered_and_only_go_forward(another: Stage) -> None:
    """No number twice or early, no slot before the last one's; companies count apart."""
    company, root = another.company, b"r" * 32
    assert refused(another, account("nobody"), Contract.anchor(0, FIRST, root)) == "not-certified"
    assert refused(another, company, Contract.anchor(1, FIRST, root)) == "replayed"
    another.send(company, Contract.anchor(0, FIRST, root))
    assert refused(another, company, Contract.anchor(0, FIRST, root)) == "replayed"
    assert refused(another, company, Contract.anchor(1, FIRST - 1, root)) == "backward"
    another.send(company, Contract.anchor(1, FIRST, root))
    assert another.contract.anchored(address_of(company)) == (2, FIRST)
    assert another.contract.anchored(address_of(OTHER)) == (0, 0)
    another.send(OTHER, Contract.anchor(0, FIRST - SLOT, root))


@pytest.mark.slow
def test_what_is_done_already_is_not_paid_again(stage: Stage) -> None:
    """Certifying, registering and retiring twice sends one transaction."""
    owner, company = stage.registry(stage.owner), stage.registry(stage.company)
    truck = address_of(stage.account_of(TRUCK))
    for again in (
        lambda: owner.certify(address_of(stage.company)),
        lambda: company.register(TRUCK, truck, b"card"),
    ):
        head = stage.chain.head()
        again()
        assert stage.chain.head() == head
    company.retire(TRUCK)
    head = stage.chain.head()
    company.retire(TRUCK)
    assert stage.chain.head() == head
    assert stage.contract.registration(number_of(77)) is None
