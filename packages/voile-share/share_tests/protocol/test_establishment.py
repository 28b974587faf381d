"""Protocol 1: both get the keys of their own run, or reject."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from share_tests.protocol.scenes import BOTH, PAPER, RANDOMNESS, VOILE, run
from voile_base.errors import InputError
from voile_share.protocol import Pair, Reason, Receiver, RejectedError, Sender
from voile_share.protocol.primitives import Kind
from voile_testing.plugin import some_slow

SUITES = pytest.mark.parametrize("suite", some_slow(BOTH, {PAPER}), ids=lambda suite: suite.name)


def rejected(machine, message):
    with pytest.raises(RejectedError) as error:
        machine.receive(message)
    return error.value.reason


@SUITES
def test_both_end_with_the_same_fresh_keys(suite):
    """The keys agree, k_a is not k_b, and another run has other keys."""
    one, other = run(suite, "one"), run(suite, "other")
    assert one.keys[0] == one.keys[1]
    assert one.keys[0].a != one.keys[0].b
    assert len({one.keys[0].a, one.keys[0].b, other.keys[0].a, other.keys[0].b}) == 4


@given(
    st.binary(min_size=1, max_size=64),
    st.binary(min_size=1, max_size=64),
    st.binary(min_size=32, max_size=32),
)
def test_any_names_and_any_key_agree(sender, receiver, key):
    """Names of 1 to 64 bytes and keys of 32 bytes all lead to one pair of keys."""
    if sender == receiver:
        with pytest.raises(InputError):
            Pair(sender, receiver, key)
        return
    whole = run(pair=Pair(sender, receiver, key))
    assert whole.keys[0] == whole.keys[1]


@SUITES
def test_every_flipped_bit_is_rejected(suite):
    """Each bit of messages 2 and 3: the header by its reason, the rest as tampered."""
    whole = run(suite)
    for machine, message in ((whole.bob, whole.response), (whole.alice, whole.completion)):
        for bit in range(8 * len(message)):
            changed = bytearray(message)
            changed[bit // 8] ^= 1 << bit % 8
            allowed = (
                {(Reason.VERSION, Reason.KIND, Reason.SUITE)[bit // 8], Reason.TRUNCATED,
                 Reason.TRAILING}
                if bit < 24
                else {Reason.TAMPERED}
            )  # fmt: skip
            assert rejected(machine, bytes(changed)) in allowed


@SUITES
def test_a_changed_challenge_ends_in_nothing(suite):
    """Message 1 is not protected, but the receiver sees that the answer is to another one."""
    whole = run(suite)
    changed = whole.challenge[:-1] + bytes([whole.challenge[-1] ^ 1])
    alice = Sender(whole.bob.pair, RANDOMNESS).receive(changed)
    assert rejected(whole.bob, alice.response) == Reason.NONCE


@SUITES
def test_replayed_messages_are_rejected(suite):
    """What was right in one run is of no use in the next."""
    old, new = run(suite, "yesterday"), run(suite, "today")
    assert rejected(new.bob, old.response) == Reason.NONCE
    assert rejected(new.alice, old.completion) == Reason.NONCE


@SUITES
def test_reflected_messages_are_rejected(suite):
    """Nobody accepts what he has sent, as another step or with a changed header."""
    whole = run(suite)
    assert rejected(whole.bob, whole.completion) == Reason.KIND
    assert rejected(whole.alice, whole.response) == Reason.KIND
    size = len(whole.completion)
    as_completion = whole.completion[:3] + whole.response[3:size]
    assert rejected(whole.alice, as_completion) == Reason.TAMPERED


@SUITES
def test_a_step_is_bound_to_its_ciphertext(suite):
    """What was encrypted for one step opens for no other, whatever its size."""
    pair = run(suite).bob.pair
    box = pair.protect(Kind.RESPONSE, b"text", RANDOMNESS)
    assert pair.unprotect(Kind.RESPONSE, box) == b"text"
    with pytest.raises(RejectedError) as error:
        pair.unprotect(Kind.COMPLETION, box)
    assert error.value.reason == Reason.TAMPERED


@SUITES
def test_roles_cannot_be_mixed_up(suite):
    """The same key with the names exchanged, or other names, opens nothing."""
    whole = run(suite)
    for sender, receiver in ((b"bob", b"alice"), (b"alice", b"bert"), (b"eve", b"bob")):
        bob = Receiver.begin(Pair(sender, receiver, b"k" * 32, suite), RANDOMNESS.within("mixed"))
        alice = Sender(whole.bob.pair, RANDOMNESS).receive(bob.challenge)
        assert rejected(bob, alice.response) == Reason.TAMPERED


@SUITES
def test_a_response_for_another_receiver_is_rejected(suite, monkeypatch):
    """Should the context ever not tell, the name inside the message does."""
    bob = Receiver.begin(Pair(b"alice", b"bob", b"k" * 32, suite), RANDOMNESS.within("named"))
    elsewhere = Pair(b"alice", b"bert", b"k" * 32, suite)
    monkeypatch.setattr(Pair, "_context", lambda _, kind: bytes([kind]))
    alice = Sender(elsewhere, RANDOMNESS).receive(bob.challenge)
    assert rejected(bob, alice.response) == Reason.IDENTITY


@SUITES
def test_another_long_term_key_is_rejected(suite):
    """Who has not K writes no message that is accepted."""
    whole = run(suite)
    eve = Sender(Pair(b"alice", b"bob", b"e" * 32, suite), RANDOMNESS)
    assert rejected(whole.bob, eve.receive(whole.challenge).response) == Reason.TAMPERED


@pytest.mark.slow
def test_suites_are_not_mixed():
    """A run of one suite takes no message of the other: nobody is talked down to ``paper``."""
    ours, papers = run(VOILE), run(PAPER)
    assert rejected(ours.bob, papers.response) == Reason.SUITE
    assert rejected(ours.alice, papers.completion) == Reason.SUITE
    assert rejected(Sender(ours.bob.pair, RANDOMNESS), papers.challenge) == Reason.SUITE


def test_the_same_randomness_for_two_challenges_repeats_no_nonce():
    """Should a caller use one randomness twice, nonce and material still differ by the run."""
    pair = Pair(b"alice", b"bob", b"k" * 32)
    sender = Sender(pair, RANDOMNESS)
    challenges = [Receiver.begin(pair, RANDOMNESS.within(name)).challenge for name in "xy"]
    one, other = (sender.receive(challenge) for challenge in challenges)
    assert one.nonce != other.nonce
    assert one.material != other.material
    assert one.response[3:15] != other.response[3:15]


def test_secrets_do_not_show():
    """No key stands in what machines print of themselves."""
    whole = run()
    for value in (whole.bob, whole.alice, whole.keys[0]):
        assert "kkkk" not in repr(value)
        assert repr(whole.keys[0].a)[2:-1] not in repr(value)


def test_impossible_pairs_are_refused():
    """Names of wrong sizes, one name for two, and keys of wrong sizes."""
    for sender, receiver, key in (
        (b"", b"bob", b"k" * 32),
        (b"a" * 65, b"bob", b"k" * 32),
        (b"bob", b"bob", b"k" * 32),
        (b"alice", b"bob", b"k" * 31),
    ):
        with pytest.raises(InputError):
            Pair(sender, receiver, key)
