"""What is done to a folder now and then: upgrade it, rotate keys, look whether it is sound."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from voile_base.errors import InputError
from voile_share.platform import Vault, rotation
from voile_share.service.folder import KEY, STORE, Configuration, alone, open_store
from voile_share.service.operator.users import Users
from voile_share.store import PostgresStore, SQLiteStore, StoreError
from voile_share.store.schema import FORMAT, refuse_newer

__all__ = ["Sound", "check", "finish_rotation", "formats", "rotate", "upgrade", "users_of"]


@dataclass(frozen=True)
class Sound:
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


def check(folder: Path, configuration: Configuration) -> Sound:
    """What is sound; ``InputError`` where a sealed value does not open or a chain is not whole."""
    with _opened(folder, configuration) as (store, vault):
        if broken := store.unchained():
            msg = f"{folder}: the records of {broken} trucks are not whole; take another backup"
            raise InputError(msg)
        sealed = 0
        for one in rotation.SEALED:
            for key, value in store.sealed(one.column):
                vault.unseal(one.context(*key), value)
                sealed += 1
        return Sound(sealed, len(store.trucks()))


def rotate(folder: Path, configuration: Configuration) -> int:
    """Begin, or go on with, a rotation; how many values were sealed anew.  ``InputError``."""
    _refuse_chain(folder, configuration)
    with _opened(folder, configuration) as (store, vault):
        rotation.begin(folder / KEY)
        vault.look()
        return rotation.reseal(store, vault)


def finish_rotation(folder: Path, configuration: Configuration) -> int:
    """Take the old key away; how many values were sealed anew before.  Raises ``InputError``."""
    with _opened(folder, configuration) as (store, vault):
        return rotation.finish(store, vault, folder / KEY)


@contextmanager
def users_of(folder: Path, configuration: Configuration) -> Iterator[Users]:
    """Who may sign in, of a folder whose service may run; raises ``InputError``."""
    with _opened(folder, configuration) as (store, vault):
        yield Users(store, vault, time.time)


def _refuse_chain(folder: Path, configuration: Configuration) -> None:
    if configuration.chain is not None:
        msg = (
            f"{folder}: accounts of trucks on the chain follow from vault.key, so it cannot be "
            "replaced while reports go to a chain"
        )
        raise InputError(msg)


@contextmanager
def _opened(folder: Path, configuration: Configuration) -> Iterator[tuple[Any, Vault]]:
    vault = Vault.open(folder / KEY)
    store = open_store(folder, configuration)
    try:
        yield store, vault
    except StoreError as error:
        raise InputError(str(error)) from None
    finally:
        store.close()
