"""What is done to a folder now and then: back it up, restore it, upgrade it, rotate keys, check it.

A backup is a service in one file, made while it runs:

    manifest.json   what is here, with the SHA-256 of each other member
    share.db        the store as one file of SQLite, whichever engine it is of
    sealed          share.toml, keys and passwords, sealed for the recovery key
    roads.json      the map, where there is one
    chain-*.db      the mirror or journal of a chain, where there is one

The store is of one instant.  Keys and passwords open by ``recovery.key`` alone (X25519 and
XSalsa20-Poly1305 of libsodium, anonymous sender): the machine that is backed up has only its public
half, ``recovery.pub``, so that whoever takes its backups reads no key.  In the store itself names
of companies, trackers and parcels are readable: a backup is private all the same.

A file appears whole or not at all, and so does a folder.  A backup is written by who runs the
service: its digests find what a disk has done to it, not who made it.

How a service stands on its chain is told to the operator; that looks, and changes nothing there.
"""

from __future__ import annotations

import io
import json
import os
import sqlite3
import tarfile
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from hashlib import file_digest
from pathlib import Path
from typing import Any

import tomlkit
from nacl.exceptions import CryptoError
from nacl.public import PrivateKey, PublicKey, SealedBox

from voile_base.durable import new_private_folder, replace_private_file, sync, write_text
from voile_base.errors import InputError
from voile_base.values import Json
from voile_base.version import VERSION
from voile_share.chain import address_of
from voile_share.platform import Vault, rotation
from voile_share.platform.core import new_key, read_key, read_keys
from voile_share.service.folder import (
    CONFIGURATION,
    KEY,
    ROADS,
    STORE,
    Configuration,
    alone,
    open_store,
)
from voile_share.service.on_chain import (
    JOURNAL,
    MIRROR,
    ChainSide,
    check_place,
    ended,
    open_on_chain,
)
from voile_share.service.on_chain import KEY as CHAIN_KEY
from voile_share.service.operator.users import Users
from voile_share.store import PostgresStore, SQLiteStore, StoreError
from voile_share.store.postgres import file_to_postgres, postgres_to_file
from voile_share.store.schema import FORMAT, refuse_newer

__all__ = [
    "RECOVERY",
    "chain_status",
    "check",
    "finish_rotation",
    "formats",
    "new_recovery_key",
    "restore",
    "rotate",
    "side_in",
    "upgrade",
    "users_of",
    "write_backup",
]

RECOVERY = "recovery.pub"
_MANIFEST, _SEALED = "manifest.json", "sealed"
_FORMAT = "voile-share-backup-1"
_MOST_MANIFEST = 1 << 20
_MOST_SEALED = 1 << 20


@dataclass(frozen=True)
class _Backup:
    """What a backup says of itself."""

    made: float
    """Seconds since 1970."""
    voile: str
    digests: Mapping[str, str]
    """SHA-256 by member."""


def new_recovery_key(folder: Path, path: Path) -> None:
    """Draw a recovery key: its secret to a new file, the public half into the folder.

    Raises ``InputError`` where either is there already.
    """
    public = folder / RECOVERY
    if public.exists():
        msg = f"{public}: there is a recovery key; remove this file to begin with another"
        raise InputError(msg)
    secret = new_key(path, "recovery")
    write_text(public, bytes(PrivateKey(secret).public_key).hex() + "\n", private=True)


def write_backup(folder: Path, configuration: Configuration, path: Path) -> _Backup:
    """Write a backup to a new file, which its owner alone may read.

    Raises ``InputError`` where it cannot be made, and ``StoreError`` where the store or the disk
    fails; nothing stands at ``path`` then.
    """
    box = SealedBox(_recovery(folder))
    if os.path.lexists(path):
        msg = f"{path}: something is here already; name a new file"
        raise InputError(msg)
    made = time.time()
    with _appearing(path) as (scratch, unfinished):
        keys = read_keys(folder / KEY)
        members = dict(_members(folder, configuration, scratch))
        (scratch / _SEALED).write_bytes(box.encrypt(_secrets(folder, configuration, keys)))
        members[_SEALED] = scratch / _SEALED
        backup = _Backup(made, VERSION, {name: _digest(one) for name, one in members.items()})
        document = {"format": _FORMAT, "voile": VERSION, "made": made, "sha256": backup.digests}
        with tarfile.open(unfinished, "w") as archive:
            _add(archive, _MANIFEST, json.dumps(document, indent=1).encode())
            for name, member in members.items():
                archive.add(member, name, recursive=False, filter=_plain)
    return backup


def restore(path: Path, folder: Path, key: Path, database: str | None = None) -> _Backup:
    """Make a folder of a backup, and fill ``database``, where the store was in PostgreSQL.

    ``database`` takes the place of the address in share.toml.  The caller looks whether it is
    sound (``check``), before anything else is done with it.  Raises ``InputError`` where the
    backup is damaged, the key does not open it, the folder is not new, or the database is not
    empty; ``StoreError`` where a disk or a server fails.
    """
    with _explained(path), tarfile.open(path, "r:") as archive:
        backup = _manifest(path, archive)
        with new_private_folder(folder) as unfinished:
            # The database is filled last but for the name of the folder, in one step.
            for name, digest in backup.digests.items():
                _take(path, archive, name, digest, unfinished)
            for name, text in _opened(unfinished / _SEALED, key).items():
                write_text(unfinished / name, text, private=True)
            (unfinished / _SEALED).unlink()
            if database is not None:
                _name_database(unfinished / CONFIGURATION, database)
            if url := Configuration.read(unfinished).database:
                file_to_postgres(unfinished / STORE, url)
                (unfinished / STORE).unlink()
            else:
                _check_file(unfinished / STORE)
    return backup


def _name_database(path: Path, url: str) -> None:
    """Let share.toml name another database."""
    document = tomlkit.parse(path.read_text("utf-8-sig"))
    document.setdefault("store", tomlkit.table())["url"] = url
    replace_private_file(path, tomlkit.dumps(document))


def _recovery(folder: Path) -> PublicKey:
    try:
        return PublicKey(bytes.fromhex((folder / RECOVERY).read_text("ascii").strip()))
    except FileNotFoundError:
        msg = (
            f"{folder}: there is no recovery key yet: voile share backup {folder} --new-key "
            "recovery.key"
        )
        raise InputError(msg) from None
    except (OSError, ValueError, CryptoError):
        msg = f"{folder / RECOVERY}: this is no recovery key; remove it and make a new one"
        raise InputError(msg) from None


def _members(
    folder: Path, configuration: Configuration, scratch: Path
) -> Iterator[tuple[str, Path]]:
    """Names and files of what is not sealed."""
    copy = scratch / STORE
    if configuration.database is None:
        with closing(SQLiteStore.open(folder / STORE)) as store:
            store.copy_to(copy)
    else:
        postgres_to_file(configuration.database, copy)
    yield STORE, copy
    for name in (MIRROR, JOURNAL):
        if (folder / name).exists():
            _copy_of(folder / name, scratch / name)
            yield name, scratch / name
    if (folder / ROADS).exists():
        yield ROADS, folder / ROADS


def _copy_of(path: Path, copy: Path) -> None:
    try:
        with (
            closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as source,
            closing(sqlite3.connect(copy)) as target,
        ):
            source.backup(target)
    except sqlite3.Error as error:
        msg = f"{path}: it cannot be copied ({getattr(error, 'sqlite_errorname', 'no code')})"
        raise StoreError(msg) from None


def _secrets(folder: Path, configuration: Configuration, keys: Sequence[bytes]) -> bytes:
    """What is private, by name; with the ``keys`` of the vault before the store was copied.

    A rotation may have begun, or ended, while it was.
    """
    names = [CONFIGURATION, CHAIN_KEY, RECOVERY, *configuration.private_files(folder)]
    found = {name: (folder / name).read_text("utf-8") for name in names if (folder / name).exists()}
    both = dict.fromkeys([*read_keys(folder / KEY), *keys])
    found[KEY] = "".join(f"{key.hex()}\n" for key in both)
    return json.dumps(found).encode()


def _opened(sealed: Path, key: Path) -> Mapping[str, str]:
    secret = PrivateKey(read_key(key))
    if sealed.stat().st_size > _MOST_SEALED:
        msg = "the sealed part of the backup is too large to be one"
        raise InputError(msg)
    try:
        found: dict[str, str] = json.loads(SealedBox(secret).decrypt(sealed.read_bytes()))
    except (CryptoError, ValueError):
        msg = f"{key} does not open this backup: it was made for another recovery key"
        raise InputError(msg) from None
    for name in found:
        if Path(name).name != name or name.startswith("."):
            msg = "the backup names a file outside its folder"
            raise InputError(msg)
    return found


@contextmanager
def _appearing(path: Path) -> Iterator[tuple[Path, Path]]:
    """A folder to work in and a file, beside a path where the file appears at the end."""
    parent = path.absolute().parent
    try:
        with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=parent) as scratch:
            unfinished = Path(scratch) / "backup"
            yield Path(scratch), unfinished
            unfinished.chmod(0o600)
            sync(unfinished)
            os.link(unfinished, path)
            sync(parent)
    except FileExistsError:
        msg = f"{path}: something is here already; name a new file"
        raise InputError(msg) from None
    except OSError as error:
        msg = f"{path}: the backup cannot be written ({error.strerror or 'the disk failed'})"
        raise InputError(msg) from None


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except (tarfile.TarError, EOFError):
        msg = f"{path}: this is no backup of a service, or it was cut off"
        raise InputError(msg) from None
    except OSError as error:
        msg = f"{path}: it cannot be read or written ({error.strerror or 'the disk failed'})"
        raise InputError(msg) from None


def _manifest(path: Path, archive: tarfile.TarFile) -> _Backup:
    problem = f"{path}: this is no backup of a service"
    first = archive.next()
    if first is None or first.name != _MANIFEST or first.size > _MOST_MANIFEST:
        raise InputError(problem)
    try:
        document: Json = json.loads(_content(archive, first).read())
        known = document["format"] == _FORMAT
        made, digests = float(document["made"]), dict(document["sha256"])
        voile = str(document["voile"])
    except (ValueError, KeyError, TypeError):
        raise InputError(problem) from None
    allowed = {STORE, MIRROR, JOURNAL, ROADS, _SEALED}
    if not known or not {STORE, _SEALED} <= digests.keys() <= allowed:
        msg = f"{path}: the backup is of a form that this Voile does not know; update Voile"
        raise InputError(msg)
    return _Backup(made, voile, digests)


def _take(path: Path, archive: tarfile.TarFile, name: str, digest: str, folder: Path) -> None:
    """Write a member to a folder; raises ``InputError`` where it is not what was backed up."""
    try:
        member = archive.getmember(name)
    except KeyError:
        msg = f"{path}: {name} is missing from the backup"
        raise InputError(msg) from None
    target = folder / name
    with target.open("xb") as file:
        target.chmod(0o600)
        source = _content(archive, member)
        while some := source.read(1 << 20):
            file.write(some)
    sync(target)
    if _digest(target) != digest:
        msg = f"{path}: {name} is not what was backed up: the file is damaged; take another backup"
        raise InputError(msg)


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> Any:
    found = archive.extractfile(member)
    if found is None:
        msg = f"{member.name} of the backup is no file"
        raise InputError(msg)
    return found


def _check_file(path: Path) -> None:
    """Raise ``InputError`` where a file of SQLite is damaged."""
    with closing(sqlite3.connect(path)) as connection:
        (said,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
        connection.execute("PRAGMA journal_mode = WAL")
    if said != "ok":
        msg = f"{path}: the store in the backup is damaged; take another backup"
        raise InputError(msg)


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _plain(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Without names of this machine's users."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    member.mode = 0o600
    return member


def _add(archive: tarfile.TarFile, name: str, content: bytes) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mtime = len(content), int(time.time())
    archive.addfile(_plain(member), io.BytesIO(content))


@dataclass(frozen=True)
class _Sound:
    """What was looked at."""

    sealed: int
    """Sealed values, all of which open."""
    trucks: int


def formats(folder: Path, configuration: Configuration) -> tuple[int, int]:
    """The format of the store, and the one that this Voile writes; raises ``InputError``."""
    try:
        if configuration.database is not None:
            found = PostgresStore.format_of(configuration.database)
        else:
            found = SQLiteStore.format_of(folder / STORE)
    except StoreError as error:
        raise InputError(str(error)) from None
    refuse_newer(str(folder), found)
    return found, FORMAT


def upgrade(folder: Path, configuration: Configuration) -> None:
    """Lead the store to the present format; raises ``InputError``, also while a service runs."""
    with alone(folder, configuration):
        open_store(folder, configuration).close()


def check(folder: Path, configuration: Configuration) -> _Sound:
    """What is sound; ``InputError`` where a sealed value does not open or a chain is not whole."""
    with _store_and_vault(folder, configuration) as (store, vault):
        if broken := store.unchained():
            msg = f"{folder}: the records of {broken} trucks are not whole; take another backup"
            raise InputError(msg)
        sealed = 0
        for one in rotation.SEALED:
            for key, value in store.sealed(one.column):
                vault.unseal(one.context(*key), value)
                sealed += 1
        return _Sound(sealed, len(store.trucks()))


def rotate(folder: Path, configuration: Configuration) -> int:
    """Begin, or go on with, a rotation; how many values were sealed anew.  ``InputError``."""
    _refuse_chain(folder, configuration)
    with _store_and_vault(folder, configuration) as (store, vault):
        rotation.begin(folder / KEY)
        vault.look()
        return rotation.reseal(store, vault)


def finish_rotation(folder: Path, configuration: Configuration) -> int:
    """Take the old key away; how many values were sealed anew before.  Raises ``InputError``."""
    with _store_and_vault(folder, configuration) as (store, vault):
        return rotation.finish(store, vault, folder / KEY)


@contextmanager
def users_of(folder: Path, configuration: Configuration) -> Iterator[Users]:
    """Who may sign in, of a folder whose service may run; raises ``InputError``."""
    with _store_and_vault(folder, configuration) as (store, vault):
        yield Users(store, vault, time.time)


def _refuse_chain(folder: Path, configuration: Configuration) -> None:
    if configuration.chain is not None:
        msg = (
            f"{folder}: accounts of trucks on the chain follow from vault.key, so it cannot be "
            "replaced while reports go to a chain"
        )
        raise InputError(msg)


@contextmanager
def _store_and_vault(folder: Path, configuration: Configuration) -> Iterator[tuple[Any, Vault]]:
    vault = Vault.open(folder / KEY)
    store = open_store(folder, configuration)
    try:
        yield store, vault
    except StoreError as error:
        raise InputError(str(error)) from None
    finally:
        store.close()


_WEI = 10**18


@dataclass(frozen=True)
class _TruckStatus:
    """A truck; numbers and addresses in hexadecimal."""

    truck: str
    account: str
    registered: bool
    retired: bool
    """In the directory: it, or with its company."""
    ether: float


@dataclass(frozen=True)
class _ChainStatus:
    """A contract, the operator's account, and what is under way."""

    chain: int
    contract: str
    mode: str
    owner: str
    account: str
    certified: bool
    ether: float
    newest_block: int
    last_block_read: int | None
    waiting: int
    """Reports, or roots, that are not on the chain yet."""
    trucks: tuple[_TruckStatus, ...]


def side_in(folder: Path) -> ChainSide:
    """Chain, contract and account of a folder; raises ``InputError``."""
    options = Configuration.read(folder).chain
    if options is None:
        msg = f"{folder}: share.toml has no table [chain]: voile share chain deploy makes it"
        raise InputError(msg)
    return ChainSide.of(folder, options)


def chain_status(folder: Path) -> _ChainStatus:
    """How it stands; a service may run on the folder.  Raises ``InputError``, ``StoreError``."""
    configuration, side = Configuration.read(folder), side_in(folder)
    node, contract, operator = side.node, side.registry.contract, address_of(side.operator)
    with closing(open_store(folder, configuration)) as store:
        check_place(folder, side.options, store)
        log, fleet = open_on_chain(folder, side.options, store, Vault.open(folder / KEY))
        with closing(log):
            known = store.trucks()
            over = ended(store, known)
            trucks = tuple(
                _TruckStatus(
                    one.truck.hex(),
                    f"0x{fleet.address(one.truck).hex()}",
                    contract.is_registered(one.truck),
                    one.truck in over,
                    node.balance(fleet.address(one.truck)) / _WEI,
                )
                for one in known
            )
            seen = log.seen()
            return _ChainStatus(
                node.identity(),
                f"0x{side.deployment.address.hex()}",
                side.options.mode,
                f"0x{contract.owner().hex()}",
                f"0x{operator.hex()}",
                contract.is_certified(operator),
                node.balance(operator) / _WEI,
                node.head().number,
                None if seen is None else seen.number,
                log.waiting(),
                trucks,
            )
