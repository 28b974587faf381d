"""How a service stands on its chain, for the operator; looks, and changes nothing on the chain."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from voile_base.errors import InputError
from voile_share.chain import address_of
from voile_share.platform import Vault
from voile_share.service.fleet import ChainSide, ended
from voile_share.service.folder import KEY, Configuration, open_store
from voile_share.service.on_chain import check_place, open_on_chain, side_of

__all__ = ["ChainStatus", "TruckStatus", "chain_status", "side_in"]

_WEI = 10**18


@dataclass(frozen=True)
class TruckStatus:
    """A truck; numbers and addresses in hexadecimal."""

    truck: str
    account: str
    registered: bool
    retired: bool
    """In the directory: it, or with its company."""
    ether: float


@dataclass(frozen=True)
class ChainStatus:
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
    trucks: tuple[TruckStatus, ...]


def side_in(folder: Path) -> ChainSide:
    """Chain, contract and account of a folder; raises ``InputError``."""
    options = Configuration.read(folder).chain
    if options is None:
        msg = f"{folder}: share.toml has no table [chain]: voile share chain deploy makes it"
        raise InputError(msg)
    return side_of(folder, options)


def chain_status(folder: Path) -> ChainStatus:
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
                TruckStatus(
                    one.truck.hex(),
                    f"0x{fleet.address(one.truck).hex()}",
                    contract.is_registered(one.truck),
                    one.truck in over,
                    node.balance(fleet.address(one.truck)) / _WEI,
                )
                for one in known
            )
            seen = log.seen()
            return ChainStatus(
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
