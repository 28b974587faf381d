"""Who learns what from what is stored: the platform, a customer, an old link, a bad company.

Statistical tests: 1,000 games each, half of them for teaching; four distinguishers, each right at
most as often as blind guessing is in all but 1e-4 of cases (0.583).  Mechanisms that leak are
played as well, and are found out.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from nacl import bindings

from share_tests.protocol.browser import Browser
from share_tests.protocol.distinguishers import Game, most_by_chance, success
from share_tests.protocol.scenes import (
    DAY,
    NOON,
    PAPER,
    PARCEL,
    RANDOMNESS,
    SLOT_SECONDS,
    TRUCK,
    VOILE,
    carried,
    content,
    link,
    pair_keys,
    positions,
    publisher,
    report,
    secret_of,
    truck,
)
from voile_share.protocol import (
    Carried,
    Content,
    Reader,
    ReaderLink,
    Reason,
    RejectedError,
    Report,
    ReportPublisher,
    Role,
    Submission,
    TrackingKeys,
    TruckSlot,
    Waybill,
    primitives,
)
from voile_share.protocol.primitives import verifying_key
from voile_share.protocol.suites import ITEM_BYTES, _tag

GAMES = 1000


def coins(purpose):
    return (RANDOMNESS.key("coins", purpose).stream(GAMES) & np.uint64(1)).astype(bool)


def xored(one, other):
    return bytes(first ^ second for first, second in zip(one, other, strict=True))


def pad(suite, public, *messages):
    """Messages, and what remains of their addresses without each public K_b."""
    without = bindings.crypto_core_ed25519_sub if suite is PAPER else xored
    remains = [without(message[32:64], address) for message in messages for address in public]
    first, second = messages
    return xored(first, second) + b"".join(remains)


def receivers_game(suite, address):
    """Two addresses in two slots, for one receiver or for two; all public keys are known."""
    keys = [carried(suite, number).keys for number in range(2)]
    points = [one.address for one in keys]
    truth = coins(f"receivers {suite.name}")
    secrets = RANDOMNESS.key("r").stream(8 * GAMES).tobytes()
    shown = []
    for game, same in enumerate(truth):
        r = [secrets[64 * game :][:32], secrets[64 * game + 32 :][:32]]
        chosen = keys[0], keys[0] if same else keys[1]
        places = TruckSlot(TRUCK, NOON), TruckSlot(TRUCK, NOON + SLOT_SECONDS)
        messages = [address(*one) for one in zip(chosen, r, places, strict=True)]
        shown.append(pad(suite, points, *messages))
    return Game(shown, truth)


@pytest.mark.slow
@pytest.mark.parametrize("suite", [VOILE, PAPER], ids=lambda suite: suite.name)
def test_the_platform_cannot_tell_whether_two_addresses_have_one_receiver(suite):
    """Given everything public, TK and K_b included, it guesses at one half (advantage 0)."""

    def honest(keys, secret, place):
        return suite.ephemeral(secret) + suite.address(keys, secret, place)

    rates = success(receivers_game(suite, honest))
    assert max(rates.values()) < most_by_chance(GAMES), rates


@pytest.mark.slow
def test_the_platform_can_tell_where_r_is_not_fresh():
    """The same distinguishers, on a mechanism that uses one r in the paper's way: always right."""

    def stale(keys, secret, place):
        return PAPER.ephemeral(secret) + PAPER.address(keys, b"r" * 32, place)

    assert max(success(receivers_game(PAPER, stale)).values()) == 1


def items_of(body):
    return [body[at : at + ITEM_BYTES] for at in range(130, len(body), ITEM_BYTES)]


@pytest.mark.slow
def test_the_platform_cannot_tell_real_items_from_dummies():
    """Shown the box and the address of an item, for a parcel or for nobody: the guess is at 1/2."""
    game = items_game(lambda body, item: items_of(body)[item])
    rates = success(game)
    assert max(rates.values()) < most_by_chance(len(game.truth)), rates
    points = np.array([is_point(one[:32]) for one in game.shown])
    assert 1 - most_by_chance(GAMES) < (points == game.truth).mean() < most_by_chance(GAMES)


def is_point(address):
    return bindings.crypto_core_ed25519_is_valid_point(address)


def test_addresses_that_are_points_would_be_told_from_such_dummies():
    """An address of the former form is a point of the group, as few uniform bytes are."""
    game = items_game(lambda body, item: items_of(body)[item])
    point = primitives.multiple_of_base(b"\7" + bytes(31))
    shown = [point if real else one[:32] for one, real in zip(game.shown, game.truth, strict=True)]
    guessed = np.array([is_point(one) for one in shown])
    assert (guessed == game.truth).mean() > 0.9


def items_game(show):
    """Reports of five parcels and five dummies; from each one of either, by a coin."""
    place, truth, shown = TruckSlot(TRUCK, NOON), [], []
    keys = [secret_of(VOILE, number) for number in range(5)]
    parcels = [Carried(VOILE.tracking_public(secret), 1, 500) for secret in keys]
    for game in range(GAMES // 10):
        written = Content(positions(), parcels)
        body = VOILE.compose(place, written, RANDOMNESS.within("items", f"{game}"))
        real = {VOILE.recognise(secret, place, body) for secret in keys}
        for item in range(10):
            truth.append(item in real)
            shown.append(show(body, item))
    return Game(shown, np.array(truth))


def test_the_place_of_an_item_tells_nothing():
    """Items ascend by address: the first is a parcel's as often as it is a dummy."""
    game = items_game(lambda _, item: bytes([item]) * 4)
    rates = success(game)
    assert max(rates.values()) < most_by_chance(len(game.truth)), rates


def levels_game(suite, width, start):
    """Reports of two parcels, which open one ciphertext or two; items are shown xored."""
    place, truth, shown = TruckSlot(TRUCK, NOON), coins(f"levels {suite.name}"), []
    own, other = (carried(suite, number) for number in range(2))
    secrets = [secret_of(suite, number) for number in range(2)]
    for game, same in enumerate(truth):
        second = dataclasses.replace(other, level=own.level if same else own.level + 1)
        randomness = RANDOMNESS.within("levels", f"{game}")
        body = suite.compose(place, Content(positions(), [own, second]), randomness)
        items = [
            body[start + width * suite.recognise(secret, place, body) :][:width]
            for secret in secrets
        ]
        both = bytes(one ^ two for one, two in zip(*items, strict=True))
        shown.append(both)
    return Game(shown, truth)


@pytest.mark.slow
def test_the_platform_links_parcels_that_share_a_ciphertext_in_the_paper_suite_alone():
    """The paper's items name their ciphertext, and with it each other; ours do not."""
    papers = success(levels_game(PAPER, 161, 3 + 3 * 48))
    ours = success(levels_game(VOILE, ITEM_BYTES, 130))
    assert papers["bits"] == 1
    assert max(ours.values()) < most_by_chance(GAMES), ours


def test_the_platform_learns_the_bucket_and_not_the_number():
    """One to ten parcels: the paper's sizes tell which, ours are one."""
    papers, ours = (
        {len(report(suite, parcels=parcels)) for parcels in range(1, 11)}
        for suite in (PAPER, VOILE)
    )
    assert len(papers) == 10
    assert len(ours) == 1


def test_another_customer_opens_one_item_and_no_other():
    """Ten customers on a truck: each opens exactly the one item that is theirs, and all differ."""
    body = Report.decode(report(parcels=10)).body
    place = TRUCK + NOON.to_bytes(4, "big")
    opened = [
        tuple(Browser.of(link(number=number).fragment()).items(body, place)) for number in range(10)
    ]
    assert all(len(items) == 1 for items in opened)
    assert len(set(opened)) == 10


def test_another_parcel_of_the_same_pair_is_another_customers():
    """Keys of one parcel recognise and open nothing of the next one of the same two parties."""
    pair = pair_keys()
    mine, next_one = (VOILE.tracking_secret(pair, parcel, DAY) for parcel in (b"one", b"two"))
    parcel = Carried(VOILE.tracking_public(next_one), 0)
    message = publisher().publish(NOON, Content(positions(), [parcel]), RANDOMNESS)[1]
    reading = ReaderLink.to(VOILE, truck().card(), DAY, [mine])
    assert Reader(reading).read(message, NOON)[1] is None
    assert Browser.of(reading.fragment()).read(message) is None


def test_a_stolen_link_of_yesterday_opens_nothing_of_today():
    """Expiry is not a promise of the server: the keys of yesterday fit nothing of today."""
    today = secret_of(VOILE)
    message = report()
    stolen = ReaderLink.to(VOILE, truck().card(), DAY - 1, [secret_of(VOILE, day=DAY - 1)])
    with pytest.raises(RejectedError) as error:
        Reader(stolen).read(message, NOON)
    assert error.value.reason == Reason.EXPIRED
    # Nor does a program that ignores the date, and tries every item.
    assert Browser.of(stolen.fragment()).read(message) is None
    redated = dataclasses.replace(stolen, first_day=DAY)
    assert Reader(redated).read(message, NOON)[1] is None
    assert Browser.of(redated.fragment()).items(Report.decode(message).body, message[3:23]) == {}
    assert (
        Reader(ReaderLink.to(VOILE, truck().card(), DAY, [today])).read(message, NOON)[1]
        is not None
    )


def test_a_malicious_company_that_carries_the_parcel_cannot_speak_for_another_truck():
    """It holds TK and K_b, so its report is recognised, and is rejected by its signature."""
    company = dataclasses.replace(truck(b"another truck 99"), truck=TRUCK)
    forged = ReportPublisher.new(company).publish(NOON, content(VOILE), RANDOMNESS)[1]
    found = Report.decode(forged)
    assert VOILE.recognise(secret_of(VOILE), found.at, found.body) is not None
    with pytest.raises(RejectedError) as error:
        Reader(link()).read(forged, NOON)
    assert error.value.reason == Reason.SIGNATURE


def test_the_truck_cannot_recognise_what_another_truck_publishes():
    """TK and K_b make addresses; used as if they were secrets they recognise and open nothing."""
    public = carried(VOILE).keys
    body = Report.decode(report()).body
    place = TruckSlot(TRUCK, NOON)
    for guess in (public.tracking, public.address):
        pretended = dataclasses.replace(secret_of(VOILE), tracking=guess)
        assert VOILE.recognise(pretended, place, body) is None
    # Tags under whatever public value in the place of S are others.
    tags = {
        _tag(guess, public.address, body[:32], place)
        for guess in (public.tracking, public.address, body[:32], bytes(32))
    }
    assert not tags & {item[:32] for item in items_of(body)}


def test_a_malicious_company_cannot_set_the_keys_of_a_parcel():
    """Both halves by one party, or by a stranger, are no agreement; in ``paper`` they are."""
    evil = secret_of(VOILE, 66)
    waybill = Waybill(PARCEL, verifying_key(b"s" * 32), verifying_key(b"r" * 32))
    for seeds in ((b"e" * 32, b"e" * 32), (b"s" * 32, b"s" * 32)):
        machine = TrackingKeys(TRUCK).carrying(waybill)
        rejected = []
        for role, seed in zip(Role, seeds, strict=True):
            half = Submission.of(VOILE, TRUCK, role, PARCEL, DAY, evil).signed(seed)
            try:
                machine = machine.receive(half.encode(), DAY)
            except RejectedError as error:
                rejected.append(error.reason)
        assert Reason.SIGNATURE in rejected
        assert machine.agreed(DAY) == {}
    machine = TrackingKeys(TRUCK, PAPER).carrying(waybill)
    for role in Role:
        half = Submission.of(PAPER, TRUCK, role, PARCEL, DAY, secret_of(PAPER, 66))
        machine = machine.receive(half.encode(), DAY)
    assert PARCEL in machine.agreed(DAY)


def test_messages_hold_no_secret_and_no_place_in_the_clear():
    """What is published contains neither a position, nor a parcel's number, nor a key."""
    message = report()
    secret = secret_of(VOILE)
    plain = [position.encode()[:8] for position in positions()]
    public = VOILE.tracking_public(secret)
    for text in (*plain, PARCEL, secret.tracking, secret.address, public.tracking):
        assert text not in message
