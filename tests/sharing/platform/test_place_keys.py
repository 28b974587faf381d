"""Keys by which noise stays with places: where they are, how long, and what a thief of one has."""

from __future__ import annotations

import json
import math
import threading

import numpy as np
import pytest

from tests.sharing.scene import DAY, NOON, Parties, Scene
from voile.dp.planar.field import field_at
from voile.geodesy import displaced, metres_between
from voile.randomness import Key
from voile.sharing import protocol
from voile.sharing.platform import Outcome, Settings
from voile.sharing.platform.writing import stream_context

UNTIL = (DAY // 28 + 1) * 28 * 86_400
SCALE = 150 / math.sqrt(math.pi / 2)


def kept(scene: Scene, truck) -> dict:
    """What is stored of a truck's stream, unsealed."""
    sealed = scene.store.state(truck.truck)
    return json.loads(scene.vault.unseal(stream_context(truck.truck), sealed))


def files(scene: Scene) -> bytes:
    return b"".join(path.read_bytes() for path in scene.folder.iterdir() if path.is_file())


def places(count: int) -> list[tuple[float, float]]:
    """Some kilometres apart."""
    return [(52.0 + 0.05 * i, 4.36) for i in range(count)]


def taken_off(state: dict, place) -> tuple[float, float]:
    """What a thief of the key takes off a near position at a place: metres east and north."""
    settings = Settings()
    law = (150.0, settings.stays, settings.lengths[0], settings.period_days, settings.tau)
    key = Key(bytes.fromhex(state["field"]["key"])).within(
        "level", "0", *(f"{float(number)!r}" for number in law)
    )
    drawn = field_at(np.array([place[0]]), np.array([place[1]]), 700.0, key)[0]
    return tuple((SCALE * math.sqrt(settings.stays) * drawn).tolist())


def test_a_restart_in_the_midst_of_a_period_keeps_the_field(tmp_path):
    """By the key that was drawn first: noise after the restart is what it says, but for its part.

    Who has the key is left with .45 of the noise before and after, and with another key he is not.
    """
    scene = Scene(tmp_path, Settings(near=(1e6, 2e6)))
    company = scene.company()
    truck, token = scene.truck(company)
    link = scene.parcel(company, truck, b"P1", Parties())
    reader, left, guessed = protocol.Reader(link), [], []
    states = []
    for number, place in enumerate(places(24)):
        if number == 12:
            before, scene = scene, scene.reopened()
            assert before.clock is scene.clock
        scene.drive(token, 1, place=place)
        states.append(kept(scene, truck))
        message = scene.store.last(truck.truck).message
        reader, sighting = reader.read(message, int(scene.clock.now))
        near = sighting.position.latitude, sighting.position.longitude
        wrong = {"field": {"key": "07" * 32}}
        for state, found in ((states[-1], left), (wrong, guessed)):
            field = taken_off(state, place)
            found.append(metres_between(*displaced(*place, *field), *near))
    scene.platform.close()
    assert len({state["field"]["key"] for state in states}) == 1
    # Means of 12 Rayleigh lengths, whose standard error is .15 of them.
    for half in (left[:12], left[12:]):
        assert np.mean(half) < 150 * math.sqrt(0.2) * (1 + 4 * 0.15)
    assert np.mean(guessed) > 150 * (1 - 3.5 * 0.11)


def test_no_key_is_on_disk_unsealed_or_in_what_is_published(scene, caplog, capfd):
    """Neither as bytes nor in hexadecimal: not in the store, its log of changes, or messages."""
    company = scene.company()
    truck, token = scene.truck(company)
    scene.drive(token, 3)
    held = kept(scene, truck)["field"]["key"]
    sealed = scene.store.state(truck.truck)
    on_disk = files(scene)
    assert sealed in on_disk
    told = (caplog.text + "".join(capfd.readouterr())).encode()
    for form in (held.encode(), bytes.fromhex(held), held.upper().encode()):
        assert form not in on_disk
        assert form not in told
        assert form not in scene.store.last(truck.truck).message


def test_the_next_period_has_another_key(scene):
    """Drawn at its first report; the one before is in no state any more."""
    company = scene.company()
    truck, token = scene.truck(company)
    scene.drive(token, 1)
    first = kept(scene, truck)["field"]
    assert first["until"] == UNTIL
    scene.clock.now = float(UNTIL)
    scene.drive(token, 1, place=(52.2, 4.36))
    second = kept(scene, truck)["field"]
    assert second["until"] == UNTIL + 28 * 86_400
    assert second["key"] != first["key"]


@pytest.mark.parametrize("open_again", [False, True])
def test_keys_of_trucks_that_are_silent_are_destroyed_at_the_end(scene, open_again):
    """By tidying, in the store and in memory; before the end nothing goes, and accounts stay."""
    company = scene.company()
    truck, token = scene.truck(company)
    scene.drive(token, 2)
    state = kept(scene, truck)
    scene.clock.now = UNTIL - 1.0
    scene.platform.tidy()
    assert kept(scene, truck) == state
    if open_again:
        scene = scene.reopened()
    scene.clock.now = float(UNTIL)
    scene.platform.tidy()
    del state["field"]
    assert kept(scene, truck) == state
    under_way = scene.platform._trucks.of(truck.truck).under_way
    assert under_way is None or "field" not in json.loads(under_way.state)
    assert scene.send(token, place=(52.3, 4.36)) is Outcome.PUBLISHED
    assert kept(scene, truck)["field"]["until"] == UNTIL + 28 * 86_400
    if open_again:
        scene.platform.close()


def test_tidying_takes_back_no_report(scene):
    """A state that changes meanwhile is left as it is: times and accounts are the later ones."""
    company = scene.company()
    truck, token = scene.truck(company)
    scene.drive(token, 1)
    sealed = scene.store.state(truck.truck)
    scene.drive(token, 1, place=(52.1, 4.36))
    assert not scene.store.replace_state(truck.truck, sealed, b"late")
    assert kept(scene, truck)["time"] == NOON + 300
    scene.clock.now = UNTIL - 3_000.0
    done = threading.Event()

    def tidy() -> None:
        while not done.is_set():
            scene.platform.tidy()

    tidying = threading.Thread(target=tidy)
    tidying.start()
    try:
        for number in range(20):
            scene.drive(token, 1, place=(52.1 + 0.01 * number, 4.36))
            assert kept(scene, truck)["time"] == int(scene.clock.now) - 300
    finally:
        done.set()
        tidying.join()
