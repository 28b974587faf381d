"""A platform whose reports go to a chain: its log, and the accounts of its trucks.

chain.key           the operator's account: it registers trucks, fills their accounts, anchors
chain-reports.db    the mirror of modes ``log`` and ``storage``
chain-roots.db      the journal of mode ``anchor``

The three belong together with the store and the vault; whoever has ``chain.key`` has the money of
the account, and may register trucks as the company.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from voile_base.errors import InputError
from voile_share.chain import (
    AnchorLog,
    Chain,
    ChainLog,
    ChainSigner,
    EmbeddedChain,
    Mode,
    address_of,
    connect,
    deploy,
    signer,
)
from voile_share.platform import Vault
from voile_share.platform.key_file import read_key
from voile_share.service.chain_options import ChainOptions
from voile_share.service.fleet import ChainFleet, ChainSide, ended

__all__ = ["JOURNAL", "KEY", "MIRROR", "check_place", "open_on_chain", "operator_of", "side_of"]

KEY, MIRROR, JOURNAL = "chain.key", "chain-reports.db", "chain-roots.db"

_TRIAL_ETHER = 1_000.0


def operator_of(folder: Path) -> ChainSigner:
    """The operator's account; raises ``InputError``."""
    path = folder / KEY
    if not path.exists():
        msg = f"{path}: there is no account yet: voile share chain account {folder}"
        raise InputError(msg)
    return signer(read_key(path))


def check_place(folder: Path, options: ChainOptions | None, store: Any) -> None:
    """Raise ``InputError`` where trucks would begin their chains of records again.

    That is so where reports went to another log than the one that is chosen now.
    """
    chained = options is not None and options.mode != Mode.ANCHOR and not options.is_embedded
    mirror = folder / MIRROR
    if mirror.exists() and not chained and not (options and options.is_embedded):
        msg = (
            f"{mirror}: the reports of this service are on a chain, and [chain] of share.toml does "
            'not say so any more; restore it with mode = "log" or "storage", or set up a new folder'
        )
        raise InputError(msg)
    if chained and not mirror.exists():
        trucks = store.trucks()
        under_way = {one.truck for one in trucks} - ended(store, trucks)
        if any(store.last(truck) is not None for truck in under_way):
            msg = (
                "the store holds reports of trucks, whose chains of records cannot move: retire "
                'these trucks and add them anew, or choose mode = "anchor" in [chain]'
            )
            raise InputError(msg)


def side_of(folder: Path, options: ChainOptions) -> ChainSide:
    """The chain and the contract that share.toml names; raises ``InputError``."""
    if options.is_embedded:
        msg = "an embedded chain lives in the process of the service alone, and keeps nothing"
        raise InputError(msg)
    return ChainSide(connect(options.url), options.deployment, operator_of(folder), options)


def open_on_chain(
    folder: Path, options: ChainOptions, store: Any, vault: Vault, node: Chain | None = None
) -> tuple[ChainLog | AnchorLog, ChainFleet]:
    """The log of a platform, and who registers its trucks; ``store`` is its directory.

    ``node`` is the embedded chain, where somebody else looks at it, too.  Raises ``InputError``,
    and ``StoreError``; that the node is away is no reason.
    """
    mirror: Path | None = folder / MIRROR
    journal: Path | None = folder / JOURNAL
    if options.is_embedded:
        side = _trial(node or EmbeddedChain(), vault, options)
        mirror = journal = None
    else:
        side = side_of(folder, options)
    fleet = ChainFleet(side, store, vault)
    log: ChainLog | AnchorLog
    if options.mode == Mode.ANCHOR:
        log = AnchorLog(
            side.node,
            side.deployment,
            side.operator,
            store,
            journal=journal,
            terms=options.terms,
            turn=fleet.turn,
        )
    else:
        log = ChainLog(
            side.node,
            side.deployment,
            fleet.account,
            Mode(options.mode),
            mirror=mirror,
            save_states=store.save_states,
            terms=options.terms,
            unregistered=fleet.lost,
        )
    fleet.serve(log)
    return log, fleet


def _trial(node: Chain, vault: Vault, options: ChainOptions) -> ChainSide:
    """A contract on a chain that has just begun, with the operator as its company."""
    if not isinstance(node, EmbeddedChain):
        msg = "a trial needs an embedded chain"
        raise InputError(msg)
    operator = signer(vault.randomness("operator").key("account").secret)
    node.fund(address_of(operator), _TRIAL_ETHER)
    side = ChainSide(node, deploy(node, operator, options.terms), operator, options)
    side.registry.certify(address_of(operator))
    return side
