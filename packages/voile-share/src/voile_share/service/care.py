"""What is done to a folder now and then: upgrade it, rotate keys, look whether it is sound.

How a service stands on its chain, for the operator; looks, and changes nothing on the chain.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from voile_base.errors import InputError
from voile_share.chain import address_of
from voile_share.platform import Vault, rotation
from voile_share.service.folder import KEY, STORE, Configuration, alone, open_store
from voile_share.service.on_chain import ChainSide, check_place, ended, open_on_chain, side_of
from voile_share.service.operator.users import Users
from voile_share.store import PostgresStore, SQLiteStore, StoreError
from voile_share.store.schema import FORMAT, refuse_newer

__all__ = [
    "chain_status",
    "check",
    "finish_rotation",
    "formats",
    "rotate",
    "side_in",
    "upgrade",
    "users_of",
]


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
    with _opened(folder, configuration) as (store, vault):
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
    return side_of(folder, options)


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
