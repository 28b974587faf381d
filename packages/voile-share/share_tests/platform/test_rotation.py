"""Another key for what the store keeps sealed, while the platform works."""

from __future__ import annotations

import pytest

from share_tests.scene import HOME, NOON, Parties, Scene
from voile_base.errors import InputError
from voile_share.arrival import SharedPosition
from voile_share.platform import AccessError, SlotOutcome, Vault, core, rotation
from voile_share.platform.administration import Linking, unsealed_destination, unsealed_secrets
from voile_share.platform.arrivals import Learning
from voile_share.platform.core import PlatformCore, read_keys


@pytest.fixture(autouse=True)
def _looks_at_once(monkeypatch):
    monkeypatch.setattr(core, "LOOK_SECONDS", 0.0)


def driven(scene: Scene) -> str:
    """A truck with a parcel and one report, a label and a past drive; its tracker's token."""
    company = scene.company()
    truck, token = scene.truck(company)
    scene.parcel(company, truck, b"P", Parties())
    scene.drive(token, 1)
    scene.platform.add_link(company, None, 24, label="Émile Vervoer")
    scene.platform.learn(
        company.company, [SharedPosition(scene.clock.now, 900.0)], scene.clock.now + 60
    )
    return token


def test_a_key_is_replaced_while_trucks_drive(scene, tmp_path):
    """Before, within and after a rotation reports are published; in the end one key opens all."""
    token, path = driven(scene), tmp_path / "vault.key"
    (old,) = read_keys(path)
    assert rotation.begin(path)
    new, both = read_keys(path)
    assert both == old != new
    scene.drive(token, 1)  # sealed by the new key, since the vault looks
    fresh = Vault.open(path)
    assert rotation.reseal(scene.store, fresh) == 5  # the state is of the new key already
    assert rotation.reseal(scene.store, fresh) == 0
    scene.drive(token, 1)
    rotation.finish(scene.store, fresh, path)
    assert read_keys(path) == [new]
    scene.drive(token, 1)
    again = scene.reopened()
    assert again.send(token) is SlotOutcome.PUBLISHED
    (truck,) = again.platform.trucks()
    company = again.store.company(truck.company)
    (named,) = again.platform.links_of(company, "émile")
    assert named.label == "Émile Vervoer"
    assert len(again.platform.past_drives(company)) == 1
    (parcel,) = again.store.parcels(truck.truck)
    assert unsealed_destination(PlatformCore(again.store, again.store, Vault(new)), parcel) == HOME
    with pytest.raises(InputError, match="another key"):
        unsealed_secrets(PlatformCore(again.store, again.store, Vault(old)), truck)
    thief = PlatformCore(again.store, again.store, Vault(old), clock=scene.clock)
    with pytest.raises(InputError, match="another key"):
        Linking(thief, lambda link: None).links_of(company)
    with pytest.raises(InputError, match="another key"):
        Learning(thief).past_drives(company)


def test_a_rotation_that_was_killed_goes_on(scene, tmp_path):
    """Half of the values sealed anew, the same command draws no third key and does the rest."""
    driven(scene)
    path = tmp_path / "vault.key"
    assert rotation.begin(path)
    keys, both = read_keys(path), Vault.open(path)
    assert rotation._resealed(scene.store, both, rotation.SEALED[0]) == 1
    assert not rotation.begin(path)
    assert read_keys(path) == keys
    # state, destination, label, the key of past drives and that of the company's noise
    assert rotation.reseal(scene.store, Vault.open(path)) == 5
    rotation.finish(scene.store, Vault.open(path), path)
    with pytest.raises(InputError, match="no rotation was begun"):
        rotation.finish(scene.store, Vault.open(path), path)


def test_a_drive_that_is_learnt_meanwhile_puts_no_old_key_back(scene, tmp_path):
    """Who read the past before its key was sealed anew, and writes after, writes the new one."""
    driven(scene)
    (company,) = (one.company for one in scene.platform.companies())
    path, replace = tmp_path / "vault.key", scene.store.replace_arrival_past
    assert rotation.begin(path)

    def late(past):
        scene.store.replace_arrival_past = replace
        rotation.finish(scene.store, Vault.open(path), path)
        return replace(past)

    scene.store.replace_arrival_past = late
    scene.platform.learn(
        company.company, [SharedPosition(scene.clock.now, 800.0)], scene.clock.now + 60
    )
    after = PlatformCore(scene.store, scene.store, Vault.open(path))
    assert len(Learning(after).past_drives(company)) == 2


def test_what_somebody_changed_meanwhile_is_not_put_back(scene, tmp_path):
    """A value is sealed anew only where it is the one that was read."""
    token = driven(scene)
    sealed = rotation.SEALED[2]
    ((key, before),) = scene.store.sealed(sealed.column)
    scene.drive(token, 1)
    assert scene.store.replace_sealed(sealed.column, [(key, before, b"older")]) == 0
    ((_, after),) = scene.store.sealed(sealed.column)
    assert after not in {before, b"older"}


def test_every_sealed_column_is_sealed_anew(scene):
    """What bytes are in the store and look like none of the known columns, nobody has sealed."""
    known = {(one.column.table, one.column.name) for one in rotation.SEALED}
    plain = {
        *(("trucks", "truck"), ("trucks", "card"), ("tokens", "hash"), ("devices", "hash")),
        *(("devices", "truck"), ("parcels", "truck"), ("parcels", "parcel"), ("parcels", "sender")),
        *(("parcels", "receiver"), ("mail", "truck"), ("mail", "digest"), ("mail", "message")),
        *(("links", "hash"), ("links", "truck"), ("states", "truck"), ("heads", "truck")),
        *(("links", "notice"), ("parcels", "carrier")),  # sealed for readers; a number
        *(("arrivals", "past"), ("arrivals", "fitted")),  # sealed by the key that is sealed
        *(("heads", "digest"), ("records", "truck"), ("records", "record"), ("reports", "truck")),
        *(("reports", "message"), ("sessions", "hash"), ("audit", "digest"), ("outbox", "subject")),
        ("outbox", "body"),
    }
    tables = scene.store._engine.read("SELECT name FROM sqlite_master WHERE type = 'table'")
    found = {
        (table, column[1])
        for (table,) in tables
        for column in scene.store._engine.read(f"PRAGMA table_info({table})")
        if column[2] == "BLOB"
    }
    assert found == known | plain


def test_old_tokens_of_a_company_open_while_they_overlap(scene):
    """A new token with an overlap leaves the old one open for so long; one without ends both."""
    company, first = scene.platform.open_company("Post of Delft")
    _, second = scene.platform.renew_company(company.company, overlap=2.0)
    for token in (first, second):
        assert scene.platform.company_of(token) == company
    scene.clock.now += 2 * 3_600
    with pytest.raises(AccessError):
        scene.platform.company_of(first)
    assert scene.platform.company_of(second) == company
    _, third = scene.platform.renew_company(company.company, overlap=2.0)
    scene.platform.renew_company(company.company)
    for token in (second, third):
        with pytest.raises(AccessError):
            scene.platform.company_of(token)


@pytest.mark.slow
def test_each_company_keeps_for_its_own_time(scene):
    """What is older goes when it is tidied, of that company; records and last reports stay.

    What has ended, and what was learnt, goes of those that named a number of days alone.
    """
    companies = [scene.company(name) for name in ("short", "default", "long")]
    days = {"short": 2, "long": 60}
    trucks = []
    for company in companies:
        truck, token = scene.truck(company, device=company.name)
        scene.parcel(company, truck, b"P", Parties())
        scene.clock.now = float(NOON)
        scene.drive(token, 2, device=company.name)
        scene.platform.end_parcel(company, truck.truck, b"P")
        scene.platform.add_link(company, None, 24, label="on no truck")
        scene.platform.learn(company.company, [SharedPosition(float(NOON), 900.0)], NOON + 60.0)
        trucks.append((truck.truck, company.company))
        if company.name in days:
            scene.platform.set_retention(company.company, days[company.name])

    def left() -> list[tuple[int, ...]]:
        scene.platform.tidy()
        read = scene.store._engine.read
        return [
            (
                *(
                    read(f"SELECT COUNT(*) FROM {table} WHERE truck = ?", (truck,))[0][0]
                    for table in ("reports", "records", "mail", "parcels")
                ),
                read("SELECT COUNT(*) FROM links WHERE company = ?", (company,))[0][0],
                len(Learning(scene.platform._core).past_drives(scene.store.company(company))),
            )
            for truck, company in trucks
        ]

    full, emptied, quiet = (2, 2, 2, 1, 2, 1), (1, 2, 0, 0, 0, 0), (1, 2, 0, 1, 2, 1)
    assert left() == [full, full, full]
    scene.clock.now = NOON + 4 * 86_400.0
    assert left() == [emptied, full, full]
    scene.clock.now = NOON + 33 * 86_400.0
    assert left() == [emptied, quiet, full]
    scene.clock.now = NOON + 62 * 86_400.0
    assert left() == [emptied, quiet, emptied]


def test_a_past_that_does_not_open_keeps_nothing_else(scene):
    """It is said, after the past of the others and all that is older was forgotten."""
    companies = [scene.company(name) for name in ("broken", "whole")]
    for company in companies:
        scene.platform.learn(company.company, [SharedPosition(float(NOON), 900.0)], NOON + 60.0)
        scene.platform.set_retention(company.company, 2)
    scene.store._engine.write(
        lambda one: one.change(
            "UPDATE arrivals SET past = ? WHERE company = ?", (bytes(40), companies[0].company)
        )
    )
    scene.clock.now = NOON + 4 * 86_400.0
    with pytest.raises(InputError, match=f"company {companies[0].company} in the store"):
        scene.platform.tidy()
    assert scene.platform.past_drives(companies[1]) == []
    assert scene.platform.forget_arrivals(companies[0]) is True
    scene.platform.tidy()
