"""Protocol 2: the truck takes keys on which sender and receiver agree, and no others."""

from __future__ import annotations

import contextlib
import dataclasses

import pytest

from share_tests.protocol.scenes import (
    BOTH,
    DAY,
    PAPER,
    PARCEL,
    RANDOMNESS,
    RECEIVER_SEED,
    SENDER_SEED,
    TRUCK,
    VOILE,
    pair_keys,
    secret_of,
    submission,
    tracking_keys,
    truck,
)
from voile_base.errors import InputError
from voile_share.protocol import (
    Reason,
    RejectedError,
    Role,
    SealedSubmission,
    Submission,
    TrackingKeys,
    Waybill,
    primitives,
)
from voile_share.protocol.primitives import verifying_key

SUITES = pytest.mark.parametrize("suite", BOTH, ids=lambda suite: suite.name)


def rejected(call, *arguments):
    with pytest.raises(RejectedError) as error:
        call(*arguments)
    return error.value.reason


def signed(seed, **changes):
    """A submission of the sender that says something else, rightly signed by somebody."""
    fields = {"truck": TRUCK, "role": Role.SENDER, "parcel": PARCEL, "day": DAY} | changes
    return Submission.of(VOILE, secret=secret_of(VOILE), **fields).signed(seed).encode()


@SUITES
def test_keys_are_taken_when_both_have_submitted_them(suite):
    """One half is not enough; both in either order are; the same again changes nothing."""
    halves = [submission(role, suite) for role in Role]
    for first, second in (halves, halves[::-1]):
        half = tracking_keys(suite).receive(first, DAY)
        assert half.agreed(DAY) == {}
        whole = half.receive(second, DAY)
        assert whole.agreed(DAY) == {PARCEL: suite.tracking_public(secret_of(suite))}
        assert whole.agreed(DAY + 1) == {}
        assert whole.receive(first, DAY) == whole


@SUITES
def test_keys_that_differ_are_rejected(suite):
    """The truck does not choose between two stories, nor lets one party change its own."""
    half = tracking_keys(suite).receive(submission(Role.SENDER, suite), DAY)
    other = secret_of(suite, 1)
    for role in Role:
        changed = submission(role, suite, other)
        assert rejected(half.receive, changed, DAY) == Reason.DISAGREEMENT
    assert half.agreed(DAY) == {}


def test_a_box_of_submissions_is_read_as_one_after_the_other():
    """Those that are rejected are left out, and all others taken, whatever stands between them."""
    other = submission(Role.RECEIVER, secret=secret_of(VOILE, 1))
    box = [submission(Role.SENDER), other, signed(b"e" * 32), submission(Role.RECEIVER)]
    one_by_one = tracking_keys()
    for message in box:
        with contextlib.suppress(RejectedError):
            one_by_one = one_by_one.receive(message, DAY)
    together = tracking_keys().receive_all(map(Submission.read, box), DAY)
    assert together == one_by_one
    assert together.agreed(DAY) == {PARCEL: VOILE.tracking_public(secret_of(VOILE))}


def test_points_of_a_pair_are_looked_at_once_and_hostile_ones_never_taken(monkeypatch):
    """Both parties submit the same points; those of small order are rejected from either."""
    looked = []
    real = primitives.check_point
    monkeypatch.setattr(
        primitives, "check_point", lambda point: looked.append(point) or real(point)
    )
    whole = tracking_keys().receive_all(map(Submission.read, map(submission, Role)), DAY)
    assert looked.count(whole.agreed(DAY)[PARCEL].address) == 1
    for seed, role in ((SENDER_SEED, Role.SENDER), (RECEIVER_SEED, Role.RECEIVER)):
        good = Submission.read(submission(role))
        for points in ({"tracking": bytes(32)}, {"address": bytes(32)}):
            keys = dataclasses.replace(good.keys, **points)
            hostile = dataclasses.replace(good, keys=keys).signed(seed)
            assert rejected(tracking_keys().receive, hostile.encode(), DAY) == Reason.POINT
            assert rejected(whole.receive, hostile.encode(), DAY) == Reason.POINT
            assert tracking_keys().receive_all([hostile], DAY) == tracking_keys()


@pytest.mark.slow
def test_every_flipped_bit_is_rejected():
    """No bit of a signed submission can be changed, whichever field it is in."""
    message, machine = submission(Role.SENDER), tracking_keys()
    for bit in range(8 * len(message)):
        changed = bytearray(message)
        changed[bit // 8] ^= 1 << bit % 8
        assert isinstance(rejected(machine.receive, bytes(changed), DAY), Reason)


def test_others_cannot_submit():
    """A stranger, and one party in the place of the other, are known by their signatures."""
    machine = tracking_keys()
    assert rejected(machine.receive, signed(b"e" * 32), DAY) == Reason.SIGNATURE
    assert rejected(machine.receive, signed(RECEIVER_SEED), DAY) == Reason.SIGNATURE
    alone = signed(SENDER_SEED, role=Role.RECEIVER)
    assert rejected(machine.receive, alone, DAY) == Reason.SIGNATURE


def test_submissions_for_elsewhere_are_rejected():
    """Another truck's, another parcel's, a past day's and another suite's."""
    machine = tracking_keys()
    for message, reason in (
        (signed(SENDER_SEED, truck=b"t" * 16), Reason.FOREIGN),
        (signed(SENDER_SEED, parcel=b"unknown"), Reason.UNEXPECTED),
        (signed(SENDER_SEED, day=DAY - 1), Reason.EXPIRED),
        (submission(Role.SENDER, PAPER), Reason.SUITE),
    ):
        assert rejected(machine.receive, message, DAY) == reason


def test_delivery_deletes_and_nothing_comes_back():
    """After delivery the truck holds no key of the parcel, and old submissions are unexpected."""
    machine = tracking_keys()
    for role in Role:
        machine = machine.receive(submission(role), DAY)
    empty = machine.delivered(PARCEL)
    assert empty.agreed(DAY) == {}
    assert empty == TrackingKeys(TRUCK)
    assert rejected(empty.receive, submission(Role.SENDER), DAY) == Reason.UNEXPECTED


def test_keys_of_past_days_are_forgotten():
    """A truck keeps no key longer than its day."""
    machine = tracking_keys()
    for role in Role:
        machine = machine.receive(submission(role), DAY)
    assert machine.from_day(DAY) == machine
    assert not machine.from_day(DAY + 1).submitted


def test_a_parcel_has_one_waybill_with_two_parties():
    """A waybill names two keys, and is not replaced while the parcel is on the truck."""
    one = verifying_key(SENDER_SEED)
    with pytest.raises(InputError, match="two keys"):
        Waybill(PARCEL, one, one)
    other = Waybill(PARCEL, one, verifying_key(b"e" * 32))
    with pytest.raises(InputError, match="other parties"):
        tracking_keys().carrying(other)


def test_an_unsigned_submission_is_not_sent():
    """Forgetting to sign is noticed before the truck notices."""
    unsigned = Submission.of(VOILE, TRUCK, Role.SENDER, PARCEL, DAY, secret_of(VOILE))
    with pytest.raises(InputError, match="sign"):
        unsigned.encode()


def test_each_parcel_and_day_has_keys_of_its_own():
    """TK and K_b differ by parcel and by day, in ``paper`` by neither or by parcel alone."""
    pair = pair_keys()
    ours, papers = (
        [
            suite.tracking_public(suite.tracking_secret(pair, parcel, day))
            for parcel, day in ((b"p", 1), (b"q", 1), (b"p", 2))
        ]
        for suite in (VOILE, PAPER)
    )
    assert len({keys.tracking for keys in ours}) == 3
    assert len({keys.address for keys in ours}) == 3
    assert papers[0] == papers[2]
    assert papers[0].tracking != papers[1].tracking
    assert len({keys.address for keys in papers}) == 1


@SUITES
def test_a_sealed_submission_opens_for_its_truck_alone(suite):
    """The truck reads what was sealed; another truck with the same number does not."""
    plain = submission(Role.SENDER, suite)
    sealed = SealedSubmission.seal(plain, truck().card(), RANDOMNESS)
    assert sealed.open(truck()) == plain
    assert rejected(sealed.open, truck(b"another truck 99")) == Reason.FOREIGN
    pretender = dataclasses.replace(truck(b"another truck 99"), truck=TRUCK)
    assert rejected(sealed.open, pretender) == Reason.TAMPERED
    with pytest.raises(InputError, match="another truck"):
        SealedSubmission.seal(plain, truck(b"another truck 99").card(), RANDOMNESS)


@pytest.mark.slow
def test_every_flipped_bit_of_a_seal_is_rejected():
    """Header, truck, ephemeral key and ciphertext are all authenticated."""
    message = SealedSubmission.seal(submission(Role.SENDER), truck().card(), RANDOMNESS).encode()

    def read(changed):
        return SealedSubmission.decode(changed).open(truck())

    for bit in range(8 * len(message)):
        changed = bytearray(message)
        changed[bit // 8] ^= 1 << bit % 8
        assert isinstance(rejected(read, bytes(changed)), Reason)


def test_sealed_submissions_of_one_content_look_unlike():
    """Sender and receiver submit the same keys, and nothing they send is the same."""
    sealed = [SealedSubmission.seal(submission(role), truck().card(), RANDOMNESS) for role in Role]
    assert len({one.ephemeral for one in sealed}) == 2
    assert len({one.box for one in sealed}) == 2
    assert len({len(one.encode()) for one in sealed}) == 1
