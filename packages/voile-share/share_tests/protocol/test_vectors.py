"""The wire format: frozen vectors, and a second reader that shares no code with the first."""

from __future__ import annotations

import json
from hashlib import sha256
from pathlib import Path

import pytest
from cryptography.exceptions import InvalidSignature

from share_tests.protocol.browser import Browser, position_at
from share_tests.protocol.scenes import (
    BOTH,
    NOON,
    RANDOMNESS,
    TRUCK,
    VOILE,
    content,
    every_message,
    link,
    publisher,
    report,
    run,
)
from voile_share.protocol import LEVELS, Reader, ReaderLink, Report, TruckSlot

VECTORS = json.loads((Path(__file__).parent / "vectors.json").read_text(encoding="utf-8"))
PLACE = TRUCK + NOON.to_bytes(4, "big")


def digests():
    """Digests of messages made from known randomness."""
    messages = every_message()
    for suite in BOTH:
        whole = run(suite)
        sent = whole.challenge + whole.response + whole.completion
        messages[f"run {suite.name}"] = sent + whole.keys[0].a + whole.keys[0].b
    return {name: sha256(message).hexdigest() for name, message in sorted(messages.items())}


@pytest.mark.slow
def test_messages_are_those_of_version_1():
    """What version 1 writes does not change: own vectors.

    Of reports it changed once, when tags took the place of addresses that are points.
    """
    assert digests() == VECTORS["digests"]


def test_the_frozen_report_is_read_by_both_readers():
    """The report and the link of the vectors give the sighting of the vectors.

    The report is one of before there were tags: its address is a point of the group.
    """
    message, fragment = bytes.fromhex(VECTORS["report"]), VECTORS["fragment"]
    expected = VECTORS["sighting"]
    _, seen = Reader(ReaderLink.from_fragment(fragment)).read(message, NOON)
    at = seen.position
    ours = [seen.level, at.latitude, at.longitude, at.time, at.epsilon, seen.remaining]
    assert ours == expected
    assert list(Browser.of(fragment).read(message)) == expected


def test_webcrypto_operations_alone_read_a_report():
    """X25519, HKDF and AES-GCM try the items until one opens: no addition of points is needed."""
    message = report(parcels=5)
    body = Report.decode(message).body
    for number in range(5):
        browser = Browser.of(link(number=number).fragment())
        (item,) = browser.items(body, PLACE)
        assert item == VOILE.recognise(link(number=number).days[0], TruckSlot(TRUCK, NOON), body)
    assert Browser.of(link(number=5).fragment()).read(message) is None
    with pytest.raises(InvalidSignature):
        Browser.of(link().fragment()).read(message[:-1] + bytes([message[-1] ^ 1]))


def test_a_parcel_opens_exactly_its_level():
    """The seed that an item holds opens its level's position, and neither of the other two."""
    browser = Browser.of(link().fragment())
    for level in range(LEVELS):
        message = publisher().publish(NOON, content(VOILE, level=level), RANDOMNESS)[1]
        body = Report.decode(message).body
        (item,) = browser.items(body, PLACE).values()
        opened = [shown for shown in range(LEVELS) if position_at(body, PLACE, shown, item[4:])]
        assert item[0] == level
        assert opened == [level]
        # Neither does it open another level's ciphertext in the place of its own.
        for other in {0, 1, 2} - {level}:
            boxes = [body[32 + 32 * at :][:32] for at in range(LEVELS)]
            boxes[level] = boxes[other]
            moved = body[:32] + b"".join(boxes) + body[128:]
            assert position_at(moved, PLACE, level, item[4:]) is None
