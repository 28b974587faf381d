"""What attackers of a platform learn, in numbers: its operator, customers, thieves, companies.

The protocol's own attackers, who have everything that is published, are in
``packages/voile-share/share_tests/protocol/test_attackers.py``.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict

import numpy as np
import pytest

from share_tests.scene import DAY, HOME, NOON, Parties, Scene
from voile_base.errors import InputError
from voile_base.randomness import Key, Randomness
from voile_geo.geodesy import displaced, metres_between
from voile_geo.planar.steps import gaussian_scale
from voile_share import protocol
from voile_share.platform import AccessError, Settings, Vault
from voile_share.platform.administration import unsealed_destination, unsealed_secrets
from voile_share.platform.core import PlatformCore
from voile_share.platform.writers import Writer, stream_context
from voile_share.positions import Levels, PositionStream
from voile_testing.processes import PATIENCE


def test_an_operator_without_the_key_opens_nothing_that_is_sealed(scene):
    """Whoever has the store without its key gets neither secrets of trucks nor destinations."""
    company = scene.company()
    truck, token = scene.truck(company)
    scene.parcel(company, truck, b"P1", Parties())
    scene.drive(token, 1)
    thief = PlatformCore(scene.store, scene.store, Vault(b"guessed key of 32 bytes, no luck"))
    with pytest.raises(InputError, match="another key"):
        unsealed_secrets(thief, truck)
    with pytest.raises(InputError, match="another key"):
        unsealed_destination(thief, scene.store.parcels(truck.truck)[0])
    with pytest.raises(InputError, match="another key"):
        thief.vault.unseal(b"stream of a truck" + truck.truck, scene.store.state(truck.truck))


def last_noise(state: bytes) -> tuple[float, float]:
    """Metres east and north by which the last near position of a state is off."""
    east, north = json.loads(state)["levels"][0]["memory"]
    scale = gaussian_scale(Levels().epsilons[0])
    return scale * east, scale * north


def drawn_noise(key: Key, slot: int) -> tuple[float, float]:
    """That of a first report by a key; it does not depend on where the truck is."""
    stream = PositionStream(Levels(mechanism="correlated-gaussian"), key)
    stream.report(0.0, 0.0, float(slot), slot)
    return last_noise(stream.state)


@pytest.fixture
def anew(tmp_path):
    """A platform whose noise is all new within minutes."""
    made = Scene(tmp_path, Settings(mechanism="correlated-gaussian"))
    yield made
    made.platform.close()


def test_a_thief_of_store_and_key_finds_no_position(anew, monkeypatch):
    """With the store, its log of changes, the key and a link no true position is found.

    Whoever looks into the memory of the process finds the last one, and whoever has the entropy of
    the first report that one: so does the test, which shows that it looks in the right way.  Draws
    are seeded, but for the vault's key; of 22 guesses one in 1,000 runs would come so near.
    """
    scene, place = anew, (52.01, 4.36)
    company = scene.company()
    truck, token = scene.truck(company)
    link = scene.parcel(company, truck, b"P1", Parties())
    drafts, made = [], []
    write = Writer.write

    def written(writer, draft):
        drafts.append(draft)
        made.append(write(writer, draft))
        return made[-1]

    monkeypatch.setattr(Writer, "write", written)
    reader, shown = protocol.Reader(link), []
    for _ in range(12):
        scene.drive(token, 1)
        message = scene.store.last(truck.truck).message
        reader, sighting = reader.read(message, int(scene.clock.now))
        shown.append((sighting.position.latitude, sighting.position.longitude))
    slots = [NOON + 300 * number for number in range(12)]

    def off(number: int, noise: tuple[float, float]) -> float:
        """Metres between the truck and where it must have been for this noise."""
        return metres_between(*place, *displaced(*shown[number], -noise[0], -noise[1]))

    assert all(off(number, last_noise(one.state)) < 1 for number, one in enumerate(made))
    of_first = drafts[0].randomness.within(str(NOON)).key("positions")
    assert off(0, drawn_noise(of_first, NOON)) < 1
    on_disk = b"".join(path.read_bytes() for path in scene.folder.glob("share.db*"))
    sealed = [state for one in made for _, _, state in one.reports]
    assert sum(state in on_disk for state in sealed) > 6  # the log of changes holds old ones
    for state in sealed:
        kept = json.loads(scene.vault.unseal(stream_context(truck.truck), state))
        assert set(kept) == {"time", "day", "spent"}
    of_the_vault = scene.vault.randomness("truck", truck.truck.hex())
    for key in (of_the_vault.key("positions"), of_first):
        guesses = [off(number, drawn_noise(key, slots[number])) for number in range(1, 12)]
        assert min(guesses) > 1


def same_receiver(rows) -> bool:
    """The operator's guess from all that is stored of two parcels: a field of both is the same."""
    one, other = (asdict(row) for row in rows)
    fields = ("sender", "receiver", "destination")
    return any(one[name] == other[name] for name in fields)


@pytest.mark.slow
@pytest.mark.parametrize(("fresh", "advantage"), [(True, 0.0), (False, 1.0)])
def test_an_operator_does_not_learn_who_ships_with_whom(scene, fresh, advantage):
    """The store does not tell whether two parcels have one receiver, where keys are fresh.

    Parties that sign several parcels by the same keys are told apart always (40 games each).
    """
    company = scene.company()
    truck, _ = scene.truck(company)
    right = 0
    for game in range(40):
        same = game % 2 == 0
        names = (f"{game}", f"{game}" if same else f"{game} other")
        for place, name in enumerate(names):
            parties = Parties(f"{name} {place}" if fresh else name)
            parcel = f"parcel {game} {place}".encode()
            scene.platform.add_parcel(company, truck.truck, parcel, *parties.keys, HOME)
        rows = scene.store.parcels(truck.truck)[-2:]
        right += same_receiver(rows) == same
    assert 2 * right / 40 - 1 == advantage


@pytest.mark.slow
def test_sizes_do_not_tell_how_many_parcels_a_truck_carries(scene):
    """Reports of trucks with no parcel, with three and with thirty have one size."""
    company, sizes = scene.company(), set()
    for parcels in (0, 3, 30):
        truck, token = scene.truck(company)
        for number in range(parcels):
            scene.parcel(company, truck, f"P{number}".encode(), Parties(f"{parcels} {number}"))
        scene.drive(token, 1)
        sizes.add(len(scene.store.last(truck.truck).message))
    assert sizes == {2_296}


@pytest.mark.slow
def test_parties_who_pool_their_levels_learn_no_more_than_the_nearest(tmp_path):
    """The middle position errs as the near one does and then more, so it adds nothing to it.

    The covariance of both over the variance of the near one is 1, within 4.5 standard errors; for
    two independent looks it would be 0.
    """
    scene = Scene(tmp_path, Settings(slot_seconds=150, mechanism="correlated-gaussian"))
    company = scene.company()
    truck, token = scene.truck(company)
    homes = {0: (52.01, 4.36), 1: (52.06, 4.36), 2: (52.4, 4.36)}
    links = {
        level: scene.parcel(company, truck, f"P{level}".encode(), Parties(f"{level}"), home)
        for level, home in homes.items()
    }
    readers = {level: protocol.Reader(link) for level, link in links.items()}
    seen = []
    for _ in range(287):
        scene.drive(token, 1)
        message = scene.store.last(truck.truck).message
        places = []
        for level, reader in readers.items():
            readers[level], sighting = reader.read(message, int(scene.clock.now))
            if sighting.level == level:
                places.append((sighting.position.latitude, sighting.position.longitude))
        if len(places) == 3:
            seen.append(places)
    assert len(seen) > 250
    shown = (np.array(seen) - (52.01, 4.36)) * (111_250, 111_320 * math.cos(math.radians(52.01)))
    covariance = np.mean([shown[:, :, axis].T @ shown[:, :, axis] for axis in (0, 1)], axis=0)
    # 1.2 times fewer independent reports: 150 s apart, noise still remembers.
    error = 4.5 * (600 / 150) / math.sqrt(2 * len(seen) / 1.2)
    assert error < 1
    assert covariance[0, 1] / covariance[0, 0] == pytest.approx(1, abs=error)
    scene.platform.close()


def test_a_customer_opens_no_other_parcel_of_the_truck(scene):
    """Ten parcels on a truck: the link of one opens its own item in each report, and no other's."""
    company = scene.company()
    truck, token = scene.truck(company)
    links = [
        scene.parcel(company, truck, f"P{number}".encode(), Parties(f"{number}"))
        for number in range(10)
    ]
    scene.drive(token, 1)
    message = scene.store.last(truck.truck).message
    report = protocol.Report.decode(message)
    opened = 0
    for link in links:
        secret = link.key(NOON)
        own = report.suite.recognise(secret, report.at, report.body)
        for item in range(30):
            try:
                report.suite.open(secret, report.at, report.body, item)
                opened += 1
                assert item == own
            except protocol.RejectedError:
                pass
    assert opened == 10


def test_a_stolen_link_ends_when_it_ends(scene):
    """After its hours a link reads nothing; its keys read nothing of the next day, anywhere."""
    company = scene.company()
    truck, token = scene.truck(company)
    parties = Parties()
    link = scene.parcel(company, truck, b"P1", parties)
    number, _ = scene.platform.add_link(company, truck.truck, hours=1)
    card = scene.card(truck)
    for sealed in parties.submissions(card, b"P1", DAY + 1):
        scene.platform.submit(scene.platform.link_of(number), sealed)
    scene.drive(token, 1)
    scene.clock.now = NOON + 3_600
    with pytest.raises(AccessError) as refused:
        scene.platform.link_of(number)
    assert refused.value.reason == "link-expired"
    scene.clock.now = NOON + 86_400
    scene.drive(token, 1)
    message = scene.store.last(truck.truck).message
    with pytest.raises(protocol.RejectedError) as rejected:
        protocol.Reader(link).read(message, int(scene.clock.now))
    assert rejected.value.reason == "expired"
    report = protocol.Report.decode(message)
    assert report.suite.recognise(link.key(NOON), report.at, report.body) is None
    tomorrow = protocol.ReaderLink.to(
        protocol.suite_named(), card, DAY + 1, [parties.secret(b"P1", DAY + 1)]
    )
    assert protocol.Reader(tomorrow).read(message, int(scene.clock.now))[1] is not None


def test_a_malicious_company_cannot_take_over_a_truck(scene):
    """It registers another's card in vain, and publishes for another's truck in vain."""
    good, bad = scene.company("Good"), scene.company("Bad")
    secrets = protocol.TruckSecrets.draw(bytes(range(16)), Randomness.seeded(1))
    truck, _ = scene.platform.add_truck(good, secrets.card().encode())
    forged = protocol.TruckSecrets.draw(secrets.truck, Randomness.seeded(2))
    for card in (secrets.card(), forged.card()):
        with pytest.raises(AccessError) as refused:
            scene.platform.add_truck(bad, card.encode())
        assert refused.value.reason == "card-taken"
    place = protocol.Position(*HOME, NOON, 2.0**-6)
    content = protocol.Content((place, place, place), [], room=10)
    _, report = protocol.ReportPublisher.new(forged).publish(NOON, content, Randomness.seeded(3))
    with pytest.raises(protocol.RejectedError) as rejected:
        scene.platform.publish(truck, report).result(PATIENCE)
    assert rejected.value.reason == "signature"


def test_positions_that_parties_see_are_off_by_their_level(anew):
    """A party far away sees a position that is off by 2,400 m on average, and not by less.

    60 reports, 4.5 standard errors.
    """
    scene, company = anew, anew.company()
    truck, token = scene.truck(company)
    link = scene.parcel(company, truck, b"P1", Parties(), home=(53.0, 4.36))
    reader, off = protocol.Reader(link), []
    for _ in range(60):
        scene.drive(token, 1)
        message = scene.store.last(truck.truck).message
        reader, sighting = reader.read(message, int(scene.clock.now))
        assert sighting.level == 2
        place = sighting.position
        off.append(metres_between(52.01, 4.36, place.latitude, place.longitude))
    # The mean of a Rayleigh law, whose standard deviation is .523 times as large.
    assert np.mean(off) == pytest.approx(2_400, abs=4.5 * 0.523 * 2_400 / math.sqrt(60))
