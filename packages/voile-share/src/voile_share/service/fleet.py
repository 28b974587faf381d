"""Trucks on a chain: their accounts, who registers them, and what they pay with.

Each truck sends from an account of its own, whose key is derived from the vault and stored nowhere.
A truck is registered soon after it was added: until then its reports, and nobody else's, are
refused for now (``RevertedError``, ``unregistered``).  When it is retired, or its company closed,
the contract is told so too: as soon as the node answers, and whoever did it in whichever process.

In modes ``log`` and ``storage`` no truck may hold its keys itself: the contract takes a report from
the truck's account alone, whose key is the platform's.  In mode ``anchor`` the operator's account
vouches for all, and the accounts of trucks never send.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock, get_ident
from time import monotonic

from voile_share.chain import (
    AnchorLog,
    Block,
    Chain,
    ChainLog,
    ChainSigner,
    ContractAccount,
    Deployment,
    Mode,
    RevertedError,
    UnfundedError,
    address_of,
    fill,
    signer,
)
from voile_share.platform import AccessError, Registrar, Vault
from voile_share.service.chain_options import ChainOptions
from voile_share.store import Directory, StoreError, Truck

__all__ = ["ChainFleet", "ChainSide", "ended"]

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


def ended(directory: Directory, trucks: Sequence[Truck]) -> frozenset[bytes]:
    """Numbers of those trucks that are retired, or whose company is closed."""
    closed = {one.company for one in directory.companies() if one.closed is not None}
    return frozenset(
        one.truck for one in trucks if one.retired is not None or one.company in closed
    )


class ChainFleet(Registrar):
    """The trucks of a directory on a chain; may be shared by threads."""

    def __init__(self, side: ChainSide, directory: Directory, vault: Vault) -> None:
        self._side = side
        self._directory = directory
        self._vault = vault
        self._registry = side.registry
        self._sends = side.options.mode != Mode.ANCHOR
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
