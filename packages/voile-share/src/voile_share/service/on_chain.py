"""A platform whose reports go to a chain: its log, and the accounts of its trucks.

chain.key           the operator's account: it registers trucks, fills their accounts, anchors
chain-reports.db    the mirror of modes ``log`` and ``storage``
chain-roots.db      the journal of mode ``anchor``

The three belong together with the store and the vault; whoever has ``chain.key`` has the money of
the account, and may register trucks as the company.

The chain that reports go to, as ``[chain]`` of share.toml names it.

The account that registers trucks, fills their accounts and anchors has its key in a file of its
own, ``chain.key``, and never here.

Trucks on a chain: their accounts, who registers them, and what they pay with.

Each truck sends from an account of its own, whose key is derived from the vault and stored nowhere.
A truck is registered soon after it was added: until then its reports, and nobody else's, are
refused for now (``RevertedError``, ``unregistered``).  When it is retired, or its company closed,
the contract is told so too: as soon as the node answers, and whoever did it in whichever process.

In modes ``log`` and ``storage`` no truck may hold its keys itself: the contract takes a report from
the truck's account alone, whose key is the platform's.  In mode ``anchor`` the operator's account
vouches for all, and the accounts of trucks never send.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock, get_ident
from time import monotonic
from typing import Annotated, Any, Literal

from pydantic import Field

from voile_base.durable import write_text
from voile_base.errors import InputError, PlanError
from voile_base.values.value import Real, checked
from voile_share.chain import (
    AnchorLog,
    Block,
    Chain,
    ChainLog,
    ChainSigner,
    ContractAccount,
    Deployment,
    EmbeddedChain,
    Mode,
    RevertedError,
    TransactionTerms,
    UnfundedError,
    Web3Chain,
    address_of,
    deploy,
    fill,
    signer,
)
from voile_share.platform import AccessError, Registrar, Vault
from voile_share.platform.core import read_key
from voile_share.store import Directory, StoreError, Truck

__all__ = [
    "EMBEDDED",
    "JOURNAL",
    "KEY",
    "MIRROR",
    "ChainOptions",
    "ChainSide",
    "check_place",
    "ended",
    "open_on_chain",
    "operator_of",
    "write_deployment",
]


EMBEDDED = "embedded"
"""The ``url`` of a chain in the service's process, for trials: it ends with it."""
_WEI = 10**18
_Positive = Annotated[Real, Field(gt=0)]
_HEADER = re.compile(r"^\[chain\][ \t]*(#.*)?$", re.MULTILINE)


@checked(PlanError)
@dataclass(frozen=True)
class ChainOptions:
    """Where the contract is, and what is paid; raises ``PlanError``."""

    url: str = ""
    """The node's, such as http://127.0.0.1:8545; or ``EMBEDDED``."""
    chain: Annotated[int, Field(ge=0)] = 0
    """The number of the chain."""
    contract: str = ""
    """Its address."""
    block: Annotated[int, Field(ge=0)] = 0
    """In which it was made."""
    mode: Literal["log", "storage", "anchor"] = "log"
    """``log``, ``storage`` or ``anchor``."""
    confirmations: Annotated[int, Field(ge=0)] = 1
    """``TransactionTerms.confirmations``: 3 or more on public chains."""
    patience: _Positive = 60.0
    """``TransactionTerms.patience``: seconds that a report waits for the chain, then is refused."""
    poll: _Positive = 1.0
    """``TransactionTerms.poll``: seconds."""
    raise_after: _Positive = 20.0
    """``TransactionTerms.raise_after``: seconds."""
    most_wei_per_gas: Annotated[int, Field(ge=0)] = 0
    """Beyond which nothing is paid; 0: no limit."""
    fill: bool = True
    """Whether accounts of trucks are filled from the operator's."""
    truck_ether: _Positive = 0.05
    """Up to which; it is done when a quarter is left."""

    def __post_init__(self) -> None:
        if self.url != EMBEDDED and not self.url.startswith(("http://", "https://")):
            msg = f'url must be that of a node, or "{EMBEDDED}" for a trial'
            raise PlanError(msg)
        if self.is_embedded and (self.contract or self.block or self.chain):
            msg = "an embedded chain begins anew with the service: leave contract out"
            raise PlanError(msg)
        if self.raise_after >= self.patience:
            msg = "raise_after must be less than patience"
            raise PlanError(msg)
        try:
            self.terms  # noqa: B018 - are checked
            if self.contract:
                address_of(self.contract)
        except InputError as error:
            raise PlanError(str(error)) from None

    @property
    def is_embedded(self) -> bool:
        """Whether it is a trial."""
        return self.url == EMBEDDED

    @property
    def terms(self) -> TransactionTerms:
        """How transactions are sent."""
        return TransactionTerms(
            confirmations=self.confirmations,
            patience=self.patience,
            poll=self.poll,
            raise_after=self.raise_after,
            most_wei_per_gas=self.most_wei_per_gas or None,
            freshness=min(1.0, self.poll),
        )

    @property
    def deployment(self) -> Deployment:
        """Where the contract is; raises ``InputError`` where that is not said."""
        if not (self.contract and self.chain):
            msg = (
                "[chain] of share.toml names no contract: voile share chain deploy makes one; of "
                "one that is there, write down chain, contract and block"
            )
            raise InputError(msg)
        return Deployment(self.chain, address_of(self.contract), self.block)

    @property
    def truck_wei(self) -> int:
        """What a truck's account is filled up to."""
        return int(self.truck_ether * _WEI)


def write_deployment(path: Path, url: str, made: Deployment) -> None:
    """Write into the table ``[chain]`` of share.toml where the contract is.

    The table is added where there is none.  Raises ``InputError`` where the file cannot be written.
    """
    lines = f'chain = {made.chain}\ncontract = "0x{made.address.hex()}"\nblock = {made.block}\n'
    try:
        text = path.read_text(encoding="utf-8-sig")
        if header := _HEADER.search(text):
            text = f"{text[: header.end()]}\n{lines}{text[header.end() + 1 :]}"
        else:
            text = f'{text.rstrip()}\n\n[chain]\nurl = "{url}"\n{lines}'
        tomllib.loads(text)
        unfinished = path.with_name(f".{path.name}.new")
        write_text(unfinished, text, private=True)
        unfinished.replace(path)
    except (OSError, tomllib.TOMLDecodeError):
        msg = f"{path} could not be written; add to its table [chain] yourself:\n{lines}"
        raise InputError(msg) from None


_FILL_SECONDS = 300.0
"""Between two looks at what trucks have."""


@dataclass(frozen=True)
class ChainSide:
    """A chain, the contract on it, and the operator's account."""

    node: Chain
    deployment: Deployment
    operator: ChainSigner
    options: ChainOptions

    @property
    def registry(self) -> ContractAccount:
        """The contract in the operator's hands."""
        return ContractAccount(self.node, self.deployment, self.operator, self.options.terms)

    @staticmethod
    def of(folder: Path, options: ChainOptions) -> ChainSide:
        """The chain and the contract that share.toml names; raises ``InputError``."""
        if options.is_embedded:
            msg = "an embedded chain lives in the process of the service alone, and keeps nothing"
            raise InputError(msg)
        return ChainSide(
            Web3Chain.connect(options.url), options.deployment, operator_of(folder), options
        )


def ended(directory: Directory, trucks: Sequence[Truck]) -> frozenset[bytes]:
    """Numbers of those trucks that are retired, or whose company is closed."""
    closed = {one.company for one in directory.companies() if one.closed is not None}
    return frozenset(
        one.truck for one in trucks if one.retired is not None or one.company in closed
    )


class _ChainFleet(Registrar):
    """The trucks of a directory on a chain; may be shared by threads."""

    def __init__(self, side: ChainSide, directory: Directory, vault: Vault) -> None:
        self._side = side
        self._directory = directory
        self._vault = vault
        self._registry = side.registry
        self._sends = side.options.mode != "anchor"
        self._log: ChainLog | AnchorLog | None = None
        self._accounts: dict[bytes, ChainSigner] = {}
        self._registered: set[bytes] = set()
        self._retired: set[bytes] = set()
        self._told: set[tuple[bytes, int, str]] = set()
        self._filled = float("-inf")
        self._settled_at: Block | None = None
        self._settling = Lock()
        self._settler: int | None = None
        self._wake: Callable[[], None] = lambda: None
        self.turn = Lock()
        """Held by whoever sends from the operator's account."""

    def serve(self, log: ChainLog | AnchorLog) -> None:
        """The log that is settled with the fleet."""
        self._log = log

    def address(self, truck: bytes) -> bytes:
        """The account of a truck, public."""
        return address_of(self._derived(truck))

    def account(self, truck: bytes) -> ChainSigner:
        """The account that sends for a truck, for ``ChainLog``.

        Raises ``RevertedError`` where it is not registered yet, ``AccessError`` where the truck
        holds its keys itself, and ``ChainError``.
        """
        if truck not in self._registered:
            held = self._directory.truck(truck)
            if held is not None and not ended(self._directory, [held]):
                self.check(own_keys=held.own_keys)
            contract = self._registry.contract
            registration = contract.registration(truck)
            own = registration is not None and registration.account == self.address(truck)
            if not own or not contract.is_registered(truck):
                self._ask_to_settle()
                reason = "unregistered"
                raise RevertedError(reason, f"truck {truck.hex()}")
            self._registered.add(truck)
        return self._derived(truck)

    def lost(self, truck: bytes) -> None:
        """The contract does not know the account of a truck, for ``ChainLog``."""
        if truck in self._registered:
            self._registered.discard(truck)
            self._ask_to_settle()

    def _ask_to_settle(self) -> None:
        """Where that is what is being done it cannot help; the next turn comes by itself."""
        if get_ident() != self._settler:
            self._wake()

    # As a registrar

    def check(self, *, own_keys: bool) -> None:
        """See ``Registrar``."""
        if own_keys and self._sends:
            raise AccessError(
                "own-keys",
                "here reports go to a chain from accounts that the platform holds, so it must hold "
                'the keys of trucks, too; with mode = "anchor" in [chain] they may hold their own',
            )

    def changed(self) -> None:
        """See ``Registrar``."""
        self._wake()

    def when_behind(self, wake: Callable[[], None]) -> None:
        """See ``Registrar``."""
        self._wake = wake

    def proof(self, truck: bytes, slot: int) -> bytes | None:
        """See ``Registrar``: in mode ``anchor``."""
        if not isinstance(self._log, AnchorLog):
            return None
        found = self._log.inclusion(truck, slot)
        return None if found is None else found.encode()

    def settle(self) -> None:
        """Register and retire trucks, fill their accounts, send what waits.

        Raises ``ChainError``, ``RevertedError`` where a truck cannot be registered, and
        ``StoreError`` where the contract has refused what was taken, after it has done what could
        be done for the others.
        """
        with self._settling:
            self._settler = get_ident()
            try:
                self._look_back()
                troubles = self._know_all(self._directory.trucks())
                self._settled_at = self._confirmed()
            finally:
                try:
                    if self._log is not None:
                        self._log.settle()
                finally:
                    self._settler = None
        troubles += self._overtaken()
        if troubles:
            raise troubles[0]

    def _overtaken(self) -> list[StoreError]:
        """Reports that were taken and will never be on the chain, each told once."""
        refused = self._log.refused() if isinstance(self._log, ChainLog) else ()
        new = [one for one in refused if one not in self._told]
        self._told.update(new)
        if not new:
            return []
        truck, slot, reason = new[0]
        more = f", and {len(new) - 1} more" if len(new) > 1 else ""
        msg = (
            f"the contract has refused a report that was taken, of truck {truck.hex()} in slot "
            f"{slot} ({reason}){more}: does another process publish for the same trucks?"
        )
        return [StoreError(msg)]

    def _look_back(self) -> None:
        """Ask for all trucks again where the chain has lost blocks in which they became known."""
        at = self._settled_at
        if at is not None and self._side.node.block(at.number) != at:
            self._registered.clear()
            self._retired.clear()
            self._filled = float("-inf")

    def _confirmed(self) -> Block | None:
        """The newest block in which what was waited for can be."""
        newest = self._side.node.head().number
        return self._side.node.block(max(newest - self._side.options.confirmations + 1, 0))

    def _know_all(self, trucks: Sequence[Truck]) -> list[StoreError]:
        """Why some trucks could not be made known; raises ``ChainError`` where none could."""
        over = ended(self._directory, trucks)
        known = self._registered | self._retired
        is_time = self._sends and monotonic() - self._filled >= _FILL_SECONDS
        troubles: list[StoreError] = []
        for one in trucks:
            try:
                if one.truck in over:
                    self._retire(one.truck)
                elif one.truck not in known:
                    self._register(one)
                elif is_time:
                    self._fill(one.truck)
            except RevertedError as error:
                troubles.append(RevertedError(error.reason, f"truck {one.truck.hex()}"))
            except UnfundedError as error:
                troubles.append(error)
        if is_time:
            self._filled = monotonic()
        return troubles

    def _register(self, truck: Truck) -> None:
        if self._sends and truck.own_keys:
            return  # added before reports went to the chain: each of its reports is told why
        if self._side.options.fill:
            self._fill(truck.truck)
        with self.turn:
            self._registry.register(truck.truck, self.address(truck.truck), truck.card)
        self._registered.add(truck.truck)
        if not self._side.options.fill:
            self._fill(truck.truck)

    def _retire(self, truck: bytes) -> None:
        """Once; nothing is sent for a truck that was never registered."""
        if truck in self._retired:
            return
        if self._registry.contract.registration(truck) is not None:
            with self.turn:
                self._registry.retire(truck)
        self._registered.discard(truck)
        self._retired.add(truck)

    def _fill(self, truck: bytes) -> None:
        """Fill an account, or look whether somebody else does; raises ``ChainError``."""
        options, account = self._side.options, self.address(truck)
        if not self._sends:
            return
        if options.fill:
            with self.turn:
                fill(
                    self._side.node, self._side.operator, account, options.truck_wei, options.terms
                )
        elif not self._side.node.balance(account):
            msg = (
                f"the account 0x{account.hex()} of truck {truck.hex()} has no money: send it some, "
                "or let it be filled by fill = true in [chain]"
            )
            raise UnfundedError(msg)

    def _derived(self, truck: bytes) -> ChainSigner:
        if truck not in self._accounts:
            drawn = self._vault.randomness("account", truck.hex())
            self._accounts[truck] = signer(drawn.key("account").secret)
        return self._accounts[truck]


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
    chained = options is not None and options.mode != "anchor" and not options.is_embedded
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


def open_on_chain(
    folder: Path, options: ChainOptions, store: Any, vault: Vault, node: Chain | None = None
) -> tuple[ChainLog | AnchorLog, _ChainFleet]:
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
        side = ChainSide.of(folder, options)
    fleet = _ChainFleet(side, store, vault)
    log: ChainLog | AnchorLog
    if options.mode == "anchor":
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
