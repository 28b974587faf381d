"""Transactions land once, whatever mempools, miners and nodes do to them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from share_tests.chain.fake_chain import CONTRACT, FakeChain, FakeSigner
from voile_share.chain import ChainError, TransactionTerms
from voile_share.chain.delivery import Delivery, Look, Outgoing, _Delivered


def looking(chain: FakeChain, wanted: Sequence[Outgoing]) -> Callable[[], Look]:
    """Sees what the contract has taken."""
    return lambda: Look.at(wanted, chain.done())


def deliver(by: Delivery, chain: FakeChain, wanted: Sequence[Outgoing]) -> _Delivered:
    """All of it."""
    return by.deliver(looking(chain, wanted), [one.key for one in wanted])


Event = Callable[[FakeChain], object]

EVENTS: dict[str, Event] = {
    "nothing happens": lambda chain: None,
    "a block of one": lambda chain: chain.mine(1),
    "a block of all": lambda chain: chain.mine(),
    "an empty block": lambda chain: chain.mine(0),
    "the mempool is forgotten": lambda chain: chain.waiting.clear(),
    "two blocks are replaced": lambda chain: chain.reorganise(2, lost=False),
    "two blocks are lost": lambda chain: chain.reorganise(2, lost=True),
    "gas gets dearer": lambda chain: setattr(chain, "base", chain.base * 2),
    "the node is silent": lambda chain: setattr(chain, "silent", 3),
}
scripts = st.lists(st.sampled_from(sorted(EVENTS)), max_size=25)


def outgoing(accounts: int = 2, each: int = 3) -> list[Outgoing]:
    """Some things for each of some accounts."""
    return [
        Outgoing(b"%d/%d" % (account, number), FakeSigner(account), b"%d/%d" % (account, number), 1)
        for number in range(each)
        for account in range(accounts)
    ]


def delivery(chain: FakeChain, script: Sequence[str] = (), **terms: float) -> Delivery:
    """While it waits, what the script says happens; afterwards a block of all each second."""
    steps = iter(script)

    def sleep(seconds: float) -> None:
        chain.now += 1
        event = next(steps, None)
        EVENTS[event](chain) if event else chain.mine()

    given_terms = TransactionTerms(**{"poll": 1, "raise_after": 5, "patience": 200, **terms})
    return Delivery(chain, CONTRACT, given_terms, clock=lambda: chain.now, sleep=sleep)


@given(scripts, st.integers(1, 3))
def test_everything_lands_once_whatever_happens(script: list[str], confirmations: int) -> None:
    """All is on the chain, deep enough, in the order of each account, and nothing failed."""
    chain, wanted = FakeChain(), outgoing()
    done = deliver(delivery(chain, script, confirmations=confirmations), chain, wanted)
    assert not done.refused
    places = chain.done()
    assert set(places) == {one.key for one in wanted}
    assert max(places.values()) + confirmations <= len(chain.blocks)
    assert chain.failed() == 0
    mined = [one.data for block in chain.blocks for one, _ in block]
    for account in (b"0", b"1"):
        assert [data for data in mined if data.startswith(account)] == [
            one.data for one in wanted if one.data.startswith(account)
        ]


@given(scripts, st.integers(0, 12))
def test_a_process_that_dies_is_followed_by_one_that_finishes(script: list[str], dies: int) -> None:
    """The next run knows nothing of the first one's transactions, and still nothing lands twice."""
    chain, wanted = FakeChain(), outgoing()
    left = iter(range(dies))

    class Death(BaseException):
        pass

    def look() -> Look:
        if next(left, None) is None:
            raise Death
        return Look.at(wanted, chain.done())

    try:
        delivery(chain, script).deliver(look, [one.key for one in wanted])
    except Death:
        deliver(delivery(chain, script[dies:]), chain, wanted)
    assert set(chain.done()) == {one.key for one in wanted}
    assert chain.failed() == 0


def test_what_is_on_the_chain_is_not_sent() -> None:
    """Nothing is sent for what has landed, and nothing is waited for."""
    chain, wanted = FakeChain(), outgoing()
    deliver(delivery(chain), chain, wanted)
    sent = chain.sent
    assert sent == len(wanted)
    deliver(delivery(chain, ["nothing happens"] * 10), chain, wanted)
    assert chain.sent == sent


def test_a_fee_that_is_too_low_is_raised_up_to_the_limit() -> None:
    """Dearer gas is paid, an eighth more at least; beyond the limit one waits and gives up."""
    chain, [one] = FakeChain(), outgoing(1, 1)
    script = ["nothing happens", "gas gets dearer"]
    deliver(delivery(chain, script), chain, [one])
    assert chain.sent == 2
    assert chain.highest == 200
    chain = FakeChain()
    with pytest.raises(ChainError, match="200 s"):
        deliver(delivery(chain, script, most_wei_per_gas=150), chain, [one])
    assert chain.highest == 150
    assert chain.done() == {}


def test_patience_ends_and_says_what_the_node_said() -> None:
    """An error after ``patience`` names the last trouble; what was sent lands later."""
    chain, [one] = FakeChain(), outgoing(1, 1)
    with pytest.raises(ChainError, match=r"after 9 s"):
        deliver(delivery(chain, ["nothing happens"] * 20, patience=9), chain, [one])
    chain.mine()
    assert one.key in chain.done()
    silent = FakeChain(silent=10_000)
    with pytest.raises(ChainError, match="does not answer"):
        deliver(delivery(silent, patience=9), silent, [one])


def test_what_the_contract_refuses_after_all_is_told() -> None:
    """A rival lands first: the reason comes back, and the account's other things land."""
    chain, wanted = FakeChain(), outgoing(1, 3)
    rival = Outgoing(b"rival", FakeSigner(7), wanted[1].data, 1)
    delivery(chain).deliver(
        lambda: Look.at([rival], {b"rival": 1} if chain.done() else {}), [b"rival"]
    )

    def look() -> Look:
        own = {key: block for key, block in chain.done().items() if key != wanted[1].key}
        return Look.at(wanted, own)

    done = delivery(chain).deliver(look, [one.key for one in wanted])
    assert done.refused == {wanted[1].key: "replayed"}
    assert chain.failed() == 1
    assert {wanted[0].key, wanted[2].key} <= set(chain.done())


def test_only_what_is_awaited_is_waited_for() -> None:
    """The rest is sent, too."""
    chain, wanted = FakeChain(), outgoing(1, 2)
    delivery(chain, ["a block of one"]).deliver(looking(chain, wanted), [wanted[0].key])
    assert set(chain.done()) == {wanted[0].key}
    chain.mine()
    assert len(chain.done()) == 2


def test_what_the_mempool_forgets_is_sent_again_at_once() -> None:
    """At the next block, without waiting for its fee to be raised."""
    chain, [one] = FakeChain(), outgoing(1, 1)
    script = ["the mempool is forgotten", "an empty block", "a block of all"]
    deliver(delivery(chain, script, raise_after=1000), chain, [one])
    assert chain.sent == 2
    assert chain.now <= len(script)
    assert chain.highest == chain.base


def test_what_comes_back_is_sent_before_what_was_to_follow() -> None:
    """A reorganisation brings back the first of an account's things: it lands before the second."""
    chain, [first, second] = FakeChain(), outgoing(1, 2)
    deliver(delivery(chain), chain, [first])

    def look() -> Look:
        """The first one is not known to be missing until the chain loses it."""
        lost = first.key not in chain.done()
        return Look.at([first, second] if lost else [second], chain.done())

    script = ["two blocks are lost", "nothing happens"]
    delivery(chain, script).deliver(look, [second.key])
    mined = [one.data for block in chain.blocks for one, _ in block]
    assert mined == [first.data, second.data]
    assert chain.failed() == 0
