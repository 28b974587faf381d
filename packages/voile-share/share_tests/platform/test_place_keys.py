"""Keys by which noise stays with places: where they are, how long, and what a thief of one has."""

from __future__ import annotations

import json
import math
import threading

import numpy as np
import pytest

from share_tests.scene import DAY, NOON, Parties, Scene
from voile_base.randomness import Key
from voile_geo.geodesy import displaced, metres_between
from voile_geo.planar.field import _field_at
from voile_share import protocol
from voile_share.platform import Settings, SlotOutcome
from voile_share.platform.trucks import _FleetKeys, fleet_context
from voile_share.platform.writers import stream_context
from voile_share.store import Company

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


def kept_of(scene: Scene, company: Company, until: float = UNTIL) -> Key | None:
    """What is stored of a company's noise, unsealed."""
    sealed = scene.store.fleet_key(company.company, until)
    context = fleet_context(company.company, float(until))
    return None if sealed is None else Key(scene.vault.unseal(context, sealed))


def taken_off(state: dict, fleet: Key, place) -> tuple[float, float]:
    """What a thief of both keys takes off a near position at a place: metres east and north."""
    settings = Settings()
    law = (150.0, settings.stays, settings.lengths[0], settings.period_days, settings.tau)
    words = [f"{float(number)!r}" for number in (*law, settings.shared)]
    own, common = (
        _field_at(
            np.array([place[0]]), np.array([place[1]]), 700.0, key.within("level", "0", *words)
        )
        for key in (Key(bytes.fromhex(state["field"]["key"])), fleet)
    )
    drawn = math.sqrt(1 - settings.shared) * own[0] + math.sqrt(settings.shared) * common[0]
    return tuple((SCALE * math.sqrt(settings.stays) * drawn).tolist())


@pytest.mark.slow
def test_a_restart_in_the_midst_of_a_period_keeps_the_field(tmp_path):
    """By the keys that were drawn first: noise after it is what they say, but for its part.

    Who has the truck's and its company's is left with .45 of the noise before and after, and with
    another one of the truck he is left with more: .77.
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
            field = taken_off(state, kept_of(scene, company), place)
            found.append(metres_between(*displaced(*place, *field), *near))
    scene.platform.close()
    assert len({state["field"]["key"] for state in states}) == 1
    # Means of 12 Rayleigh lengths, whose standard error is .15 of them.
    for half in (left[:12], left[12:]):
        assert np.mean(half) < 150 * math.sqrt(0.2) * (1 + 4 * 0.15)
    # The two differ by .32 of 150 m; over 24 places by 3.6 standard errors.
    assert np.mean(guessed) > np.mean(left) + 0.1 * 150


def test_no_key_is_on_disk_unsealed_or_in_what_is_published(scene, caplog, capfd):
    """Neither as bytes nor in hexadecimal: not in the store, its log of changes, or messages."""
    company = scene.company()
    truck, token = scene.truck(company)
    scene.drive(token, 3)
    keys = kept(scene, truck)["field"]["key"], kept_of(scene, company).secret.hex()
    on_disk = files(scene)
    assert scene.store.state(truck.truck) in on_disk
    assert scene.store.fleet_key(company.company, float(UNTIL)) in on_disk
    told = (caplog.text + "".join(capfd.readouterr())).encode()
    for form in (
        form
        for held in keys
        for form in (held.encode(), bytes.fromhex(held), held.upper().encode())
    ):
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
    of_company = [kept_of(scene, company, until) for until in (UNTIL, UNTIL + 28 * 86_400)]
    assert of_company[0].secret != of_company[1].secret


def test_trucks_of_a_company_have_one_key_and_companies_have_their_own(scene):
    """Also two companies of one name; a truck of a company alone has one, too."""
    first, second = scene.company(), scene.company()
    trucks = [scene.truck(company) for company in (first, first, second)]
    for _, token in trucks:
        assert scene.send(token, place=(52.01, 4.36)) is SlotOutcome.PUBLISHED
    assert kept_of(scene, first).secret != kept_of(scene, second).secret
    own = [kept(scene, truck)["field"]["key"] for truck, _ in trucks]
    assert len(set(own)) == 3
    drawn = [scene.platform._trucks._fleets.of(one.company, NOON) for one in (first, second)]
    assert [one.secret for one in drawn] == [kept_of(scene, one).secret for one in (first, second)]


def test_of_processes_that_draw_at_once_the_first_key_counts(scene):
    """Each has that of the store; nobody has one that others do not have."""
    company = scene.company()
    core = scene.platform._trucks._core
    several = [_FleetKeys(core) for _ in range(8)]
    barrier, found = threading.Barrier(len(several)), []

    def draw(keys: _FleetKeys) -> None:
        barrier.wait()
        found.append(keys.of(company.company, NOON).secret)

    threads = [threading.Thread(target=draw, args=(keys,)) for keys in several]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert set(found) == {kept_of(scene, company).secret}


@pytest.mark.parametrize("settings", [{"shared": 0.0}, {"mechanism": "correlated-gaussian"}])
def test_where_trucks_have_nothing_in_common_no_key_is_drawn(tmp_path, settings):
    """Neither with ``shared = 0`` nor under another mechanism."""
    scene = Scene(tmp_path, Settings(**settings))
    company = scene.company()
    _, token = scene.truck(company)
    scene.drive(token, 1)
    assert kept_of(scene, company) is None
    scene.platform.close()


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
    assert kept_of(scene, company) is not None
    if open_again:
        scene = scene.reopened()
    scene.clock.now = float(UNTIL)
    scene.platform.tidy()
    del state["field"]
    assert kept(scene, truck) == state
    assert kept_of(scene, company) is None
    assert not scene.platform._trucks._fleets._known
    under_way = scene.platform._trucks.of(truck.truck).under_way
    assert under_way is None or "field" not in json.loads(under_way.state)
    assert scene.send(token, place=(52.3, 4.36)) is SlotOutcome.PUBLISHED
    assert kept(scene, truck)["field"]["until"] == UNTIL + 28 * 86_400
    if open_again:
        scene.platform.close()


@pytest.mark.slow
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
