"""A service in one file, and a folder of it again."""

from __future__ import annotations

import json
import sqlite3
import tarfile
from collections.abc import Iterator
from contextlib import closing
from itertools import count

import pytest

from share_tests.scene import HOME, NOON, Clock, Parties, Scene
from voile_base.errors import InputError, VoileError
from voile_share.arrival import SharedPosition
from voile_share.platform import SlotOutcome, rotation
from voile_share.platform.core import read_keys
from voile_share.service import care as backups
from voile_share.service.care import check, new_recovery_key, restore, write_backup
from voile_share.service.folder import Configuration
from voile_share.store import PostgresStore

NUMBERS = count()


@pytest.fixture
def backed(scene: Scene, tmp_path) -> Scene:
    """A folder with a truck under way, a parcel and a recovery key."""
    company = scene.company("Vervoer Émile")
    truck, scene.token = scene.truck(company)
    scene.parcel(company, truck, b"3SABCD", Parties())
    scene.drive(scene.token, 3)
    _, link = scene.platform.add_link(company, None, 24, label="Émile, 2nd floor")
    scene.store.move_link(link.hash, truck.truck, b"sealed \x00 notice")
    scene.platform.add_parcel(company, truck.truck, b"P2", *Parties().keys, HOME, bytes(range(16)))
    scene.platform.learn(
        company.company, [SharedPosition(scene.clock.now, 900.0)], scene.clock.now + 60
    )
    (tmp_path / "share.toml").write_text('[platform]\nroom = 10 # of "us"\n')
    (tmp_path / "share.toml").chmod(0o600)
    new_recovery_key(tmp_path, tmp_path / "recovery.key")
    return scene


@pytest.fixture
def empty(postgres) -> Iterator[str]:
    """The address of an empty database."""
    return postgres.schema(f"backup_{next(NUMBERS)}")


def made(folder, name: str = "one.backup"):
    write_backup(folder, Configuration.read(folder), folder / name)
    return folder / name


def tables(read) -> dict[str, list]:
    from voile_share.store.schema import TABLES  # noqa: PLC0415

    return {one: sorted(map(repr, map(tuple, read(f"SELECT * FROM {one}")))) for one in TABLES}


def test_a_backup_of_a_running_service_goes_on_from_where_it_was(backed, tmp_path):
    """A truck publishes after its backup and after its restoration; auditors see one chain."""
    file = made(tmp_path)
    assert file.stat().st_mode & 0o077 == 0
    again = tmp_path / "again"
    restore(file, again, tmp_path / "recovery.key")
    found = check(again, Configuration.read(again))
    assert (found.trucks, found.sealed) == (1, 7)
    assert {one.name for one in again.iterdir()} == {
        "share.toml", "vault.key", "share.db", "recovery.pub"
    }  # fmt: skip
    assert all(one.stat().st_mode & 0o077 == 0 for one in again.iterdir())
    assert Configuration.read(again).settings.room == 10
    backed.platform.close()
    other = Scene(again, clock=Clock(backed.clock.now))
    assert other.send(backed.token) is SlotOutcome.PUBLISHED
    other.platform.close()


@pytest.mark.slow
def test_keys_in_a_backup_open_by_the_recovery_key_alone(backed, tmp_path):
    """Neither the vault's key nor share.toml is readable in the file; another key opens nothing."""
    file = made(tmp_path)
    content = file.read_bytes()
    (key,) = read_keys(tmp_path / "vault.key")
    assert key.hex().encode() not in content
    assert b"room = 10" not in content
    from voile_share.platform.core import new_key  # noqa: PLC0415

    new_key(tmp_path / "other.key", "recovery")
    with pytest.raises(InputError, match="another recovery key"):
        restore(file, tmp_path / "again", tmp_path / "other.key")
    assert not (tmp_path / "again").exists()


@pytest.mark.parametrize("part", ["manifest.json", "share.db", "sealed", "end"])
def test_a_damaged_backup_is_refused_and_leaves_nothing(backed, tmp_path, part):
    """One byte of any member changed, or the file cut off."""
    file = made(tmp_path)
    content = bytearray(file.read_bytes())
    if part == "end":
        content = content[: len(content) // 2]
    else:
        with tarfile.open(file) as archive:
            member = archive.getmember(part)
        content[member.offset_data + member.size // 2] ^= 1
    file.write_bytes(content)
    before = {one.name for one in tmp_path.iterdir()}
    with pytest.raises(VoileError, match="backup"):
        restore(file, tmp_path / "again", tmp_path / "recovery.key")
    assert {one.name for one in tmp_path.iterdir()} == before


def test_a_full_disk_leaves_no_backup(backed, tmp_path, monkeypatch):
    """What cannot be written whole does not appear, and is said."""
    import resource  # noqa: PLC0415

    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    before = {one.name for one in tmp_path.iterdir()}
    try:
        with pytest.raises(VoileError):
            made(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert {one.name for one in tmp_path.iterdir()} == before


@pytest.mark.slow
def test_a_rotation_within_a_backup_leaves_it_whole(backed, tmp_path, monkeypatch):
    """The old key is taken away after the store was copied: the backup opens all the same."""
    copy = backups._members

    def rotated(folder, configuration, scratch):
        yield from copy(folder, configuration, scratch)
        path = folder / "vault.key"
        rotation.begin(path)
        backed.vault.look()
        rotation.finish(backed.store, backed.vault, path)

    monkeypatch.setattr(backups, "_members", rotated)
    file = made(tmp_path)
    restore(file, tmp_path / "again", tmp_path / "recovery.key")
    assert check(tmp_path / "again", Configuration.read(tmp_path / "again")).sealed == 7


@pytest.mark.slow
def test_a_store_moves_to_postgresql_and_back(backed, tmp_path, empty):
    """Every row of every table is the same after both ways, and numbers of rows go on."""
    before = tables(backed.store._engine.read)
    restore(made(tmp_path), tmp_path / "pg", tmp_path / "recovery.key", database=empty)
    configuration = Configuration.read(tmp_path / "pg")
    assert configuration.database == empty
    assert '# of "us"' in (tmp_path / "pg" / "share.toml").read_text()
    assert not (tmp_path / "pg" / "share.db").exists()
    check(tmp_path / "pg", configuration)
    with closing(PostgresStore.open(empty)) as store:
        there = tables(store._engine.read)
        number = store.add_mail(store.mail(store.trucks()[0].truck, 0, 1)[0])
        assert number == 1
    assert there == before
    with pytest.raises(InputError, match="there is a store in this database"):
        restore(tmp_path / "one.backup", tmp_path / "x", tmp_path / "recovery.key", empty)
    assert not (tmp_path / "x").exists()
    back = tmp_path / "two.backup"
    write_backup(tmp_path / "pg", configuration, back)
    with tarfile.open(back) as archive:
        archive.extract("share.db", tmp_path / "pg", filter="data")
    with closing(sqlite3.connect(tmp_path / "pg" / "share.db")) as copy:
        assert tables(lambda statement: copy.execute(statement).fetchall()) == before


@pytest.mark.slow
def test_a_backup_says_what_is_in_it(backed, tmp_path):
    """Digests for all members, and nothing of this machine's users."""
    with tarfile.open(made(tmp_path)) as archive:
        members = archive.getmembers()
        document = json.loads(archive.extractfile("manifest.json").read())
    assert set(document["sha256"]) == {one.name for one in members} - {"manifest.json"}
    assert {(one.uname, one.gname, one.uid, one.mode) for one in members} == {("", "", 0, 0o600)}
    assert NOON
