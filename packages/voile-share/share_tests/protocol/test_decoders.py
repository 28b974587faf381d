"""Decoders take what honest parties write, and refuse everything else by one error."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from share_tests.protocol.scenes import BOTH, every_message, link, report
from voile_share.protocol import (
    Reader,
    ReaderLink,
    Reason,
    Record,
    RejectedError,
    Report,
    SealedNotice,
    SealedSubmission,
    Submission,
    TruckCard,
)
from voile_share.protocol.agreement import _Challenge, _Completion, _Response
from voile_share.protocol.suite import POSITION_BYTES, Position

DECODERS = {
    "challenge": _Challenge,
    "response": _Response,
    "completion": _Completion,
    "submission": Submission,
    "sealed": SealedSubmission,
    "report": Report,
    "record": Record,
    "link": ReaderLink,
    "card": TruckCard,
}
MESSAGES = every_message()


def decoder(name):
    return DECODERS[name.split()[0]]


def outcome(kind, message):
    """What a decoder makes of a message: its encoding again, or the reason."""
    try:
        return kind.decode(message).encode()
    except RejectedError as rejected:
        return Reason(rejected.reason)


@pytest.mark.parametrize("name", MESSAGES)
def test_a_message_decodes_to_what_encodes_to_it(name):
    """Every message survives the way there and back, byte for byte."""
    assert outcome(decoder(name), MESSAGES[name]) == MESSAGES[name]


@pytest.mark.parametrize("name", MESSAGES)
def test_every_truncation_is_rejected(name):
    """A message that ends early is never read, wherever it ends."""
    message = MESSAGES[name]
    cuts = range(len(message)) if len(message) < 600 else range(0, len(message), 7)
    for cut in cuts:
        assert outcome(decoder(name), message[:cut]) == Reason.TRUNCATED, cut


def test_what_is_wrong_is_said_of_a_message_by_a_name():
    """Messages to people say which message it is, in words and not as a program's name of it."""
    for decode, said in ((SealedSubmission.decode, "submission"), (SealedNotice.decode, "notice")):
        with pytest.raises(RejectedError, match=f"^the sealed {said} ends at byte 1"):
            decode(b"\1")


@pytest.mark.parametrize("name", MESSAGES)
def test_what_follows_a_message_is_rejected(name):
    """Nothing can be hung on a message."""
    for tail in (b"\0", MESSAGES[name]):
        assert outcome(decoder(name), MESSAGES[name] + tail) == Reason.TRAILING


@pytest.mark.parametrize("name", MESSAGES)
def test_another_version_kind_or_suite_is_rejected(name):
    """The header says what a message is, and is believed in nothing else."""
    message = bytearray(MESSAGES[name])
    for place, value, reason in (
        (0, 2, Reason.VERSION),
        (1, 0, Reason.KIND),
        (1, message[1] % 9 + 1, Reason.KIND),
        (2, 99, Reason.SUITE),
    ):
        changed = bytes(message[:place]) + bytes([value]) + bytes(message[place + 1 :])
        assert outcome(decoder(name), changed) == reason


@given(st.data())
def test_any_bytes_give_a_message_or_the_error(data):
    """Fuzzing from nothing: a decoder raises its error, or reads what encodes to the same."""
    kind = data.draw(st.sampled_from(list(DECODERS.values())))
    message = data.draw(st.binary(max_size=400))
    got = outcome(kind, message)
    assert got == message or isinstance(got, Reason)


@given(st.data())
def test_mutated_messages_give_a_message_or_the_error(data):
    """Fuzzing from valid messages: bytes changed, cut out, doubled, swapped with other messages."""
    name = data.draw(st.sampled_from(sorted(MESSAGES)))
    message = bytearray(MESSAGES[name])
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(message)))
        end = min(len(message), start + data.draw(st.integers(0, 40)))
        other = MESSAGES[data.draw(st.sampled_from(sorted(MESSAGES)))]
        message[start:end] = data.draw(
            st.one_of(st.binary(max_size=40), st.just(other[start:end]), st.just(b"\xff" * 32))
        )
    kind = data.draw(st.sampled_from([decoder(name), *DECODERS.values()]))
    got = outcome(kind, bytes(message))
    assert got == bytes(message) or isinstance(got, Reason)


@given(st.binary(min_size=POSITION_BYTES, max_size=POSITION_BYTES) | st.binary(max_size=40))
def test_any_position_is_read_or_rejected(encoded):
    """The payload of a location has one encoding, and the error for every other."""
    assert outcome(Position, encoded) in (encoded, Reason.FIELD)


@given(st.text(max_size=60) | st.binary(max_size=60).map(lambda b: base64.b64encode(b).decode()))
def test_any_fragment_is_rejected_by_the_error(text):
    """Whatever stands in the fragment of an address, the reader hears one kind of error."""
    with pytest.raises(RejectedError):
        ReaderLink.from_fragment(text)


@pytest.mark.parametrize("suite", BOTH, ids=lambda suite: suite.name)
def test_a_fragment_is_the_link(suite):
    """A link survives its address, and no other spelling of the fragment does."""
    whole = link(suite, days=3)
    fragment = whole.fragment()
    assert ReaderLink.from_fragment(fragment) == whole
    assert set(fragment) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    for other in (
        fragment + "=",
        fragment + "\n",
        " " + fragment,
        fragment[:9] + "*" + fragment[9:],
    ):
        with pytest.raises(RejectedError):
            ReaderLink.from_fragment(other)


def test_the_items_of_a_report_must_ascend_and_fill_a_bucket():
    """There is one order of the items, so their order says nothing, and no odd number of them."""
    body = Report.decode(report()).body
    head, items = body[:130], [body[at : at + 68] for at in range(130, len(body), 68)]
    swapped = head + b"".join([items[1], items[0], *items[2:]])
    doubled = head + b"".join([items[0], *items[:-1]])
    fewer = head[:128] + (9).to_bytes(2, "big") + b"".join(items[1:])
    for changed in (swapped, doubled, fewer):
        with pytest.raises(RejectedError) as rejected:
            Report.decode(report()[:23] + len(changed).to_bytes(3, "big") + changed + bytes(100))
        assert rejected.value.reason == Reason.FIELD


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (2**255 - 20, None),  # the largest that is canonical
        (2**255 - 19, Reason.POINT),  # 0 again
        (2**255 - 1, Reason.POINT),
        (2**255 + 9, Reason.POINT),  # X25519 drops the highest bit: 9 again
        (2**256 - 1, Reason.POINT),
    ],
    ids=["p - 1", "p", "2^255 - 1", "2^255 + 9", "2^256 - 1"],
)
def test_the_point_of_a_report_has_one_encoding(number, reason):
    """No report can be told from another one only by how its R is written."""
    whole = report()
    changed = whole[:26] + number.to_bytes(32, "little") + whole[58:]
    assert outcome(Report, changed) == (reason or changed)


def test_a_body_that_somebody_vouches_for_has_one_encoding_of_its_point():
    """A store or a chain that knows the sender gets the same refusal, before anything is opened."""
    whole = Report.decode(report())
    written = whole.body[:31] + bytes([whole.body[31] | 128])
    with pytest.raises(RejectedError) as rejected:
        Reader(link()).read_vouched(whole.at, written + whole.body[32:], whole.at.slot)
    assert rejected.value.reason == Reason.POINT
