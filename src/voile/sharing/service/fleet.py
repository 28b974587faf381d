"""Trucks on a chain: their accounts, who registers them, and what they pay with.

Each truck sends from an account of its own, whose key is derived from the vault and stored nowhere.
A truck is registered soon after it was added: until then its reports, and nobody else's, are
refused for now (``RevertedError``, ``unregistered``).

In modes ``log`` and ``storage`` no truck may hold its keys itself: the contract takes a report from
the truck's account alone, whose key is the platform's.  In mode ``anchor`` the operator's account
vouches for all, and the accounts of trucks never send.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Lock
from time import monotonic

from voile.sharing.chain import (
    AnchorLog,
    Chain,
    ChainLog,
    Deployment,
    Mode,
    Registry,
    RevertedError,
    Signer,
    UnfundedError,
    address_of,
    fill,
    signer,
)
from voile.sharing.platform import AccessError, Registrar, Vault
from voile.sharing.service.chain_options import ChainOptions
from voile.sharing.store import Directory, StoreError, Truck

__all__ = ["Fleet", "Side"]

_FILL_SECONDS = 300.0
"""Between two looks at what trucks have."""


@dataclass(frozen=True)
class Side:
    """A chain, the contract on it, and the operator's account."""

    node: Chain
    deployment: Deployment
    operator: Signer
    options: ChainOptions

    @property
    def registry(self) -> Registry:
        """The contract in the operator's hands."""
        return Registry(self.node, self.deployment, self.operator, self.options.terms)


class Fleet(Registrar):
    """The trucks of a directory on a chain; may be shared by threads."""

    def __init__(self, side: Side, directory: Directory, vault: Vault) -> None:
        self._side = side
        self._directory = directory
        self._vault = vault
        self._registry = side.registry
        self._sends = side.options.mode != Mode.ANCHOR
        self._log: ChainLog | AnchorLog | None = None
        self._accounts: dict[bytes, Signer] = {}
        self._registered: set[bytes] = set()
        self._retired: set[bytes] = set()
        self._filled = float("-inf")
        self._settling = Lock()
        self._wake: Callable[[], None] = lambda: None
        self.turn = Lock()
        """Held by whoever sends from the operator's account."""

    def serve(self, log: ChainLog | AnchorLog) -> None:
        """The log that is settled with the fleet."""
        self._log = log

    def address(self, truck: bytes) -> bytes:
        """The account of a truck, public."""
        return address_of(self._derived(truck))

    def account(self, truck: bytes) -> Signer:
        """The account that sends for a truck, for ``ChainLog``.

        Raises ``RevertedError`` where it is not registered yet, ``AccessError`` where the truck
        holds its keys itself, and ``ChainError``.
        """
        if truck not in self._registered:
            held = self._directory.truck(truck)
            if held is not None and held.retired is None:
                self.check(own_keys=held.secrets is None)
            contract = self._registry.contract
            registration = contract.registration(truck)
            own = registration is not None and registration.account == self.address(truck)
            if not own or not contract.is_registered(truck):
                self._wake()
                reason = "unregistered"
                raise RevertedError(reason, f"truck {truck.hex()}")
            self._registered.add(truck)
        return self._derived(truck)

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

        Raises ``ChainError``, and ``RevertedError`` where a truck cannot be registered, after it
        has done what could be done for the others.
        """
        with self._settling:
            try:
                troubles = self._know_all(self._directory.trucks())
            finally:
                if self._log is not None:
                    self._log.settle()
        if troubles:
            raise troubles[0]

    def _know_all(self, trucks: Sequence[Truck]) -> list[StoreError]:
        """Why some trucks could not be made known; raises ``ChainError`` where none could."""
        known = self._registered | self._retired
        is_time = self._sends and monotonic() - self._filled >= _FILL_SECONDS
        troubles: list[StoreError] = []
        for one in trucks:
            try:
                if one.retired is not None and one.truck not in self._retired:
                    self._retire(one.truck)
                elif one.retired is None and one.truck not in known:
                    self._register(one)
                elif one.retired is None and is_time:
                    self._fill(one.truck)
            except RevertedError as error:
                troubles.append(RevertedError(error.reason, f"truck {one.truck.hex()}"))
            except UnfundedError as error:
                troubles.append(error)
        if is_time:
            self._filled = monotonic()
        return troubles

    def _register(self, truck: Truck) -> None:
        if self._sends and truck.secrets is None:
            return  # added before reports went to the chain: each of its reports is told why
        if self._side.options.fill:
            self._fill(truck.truck)
        with self.turn:
            self._registry.register(truck.truck, self.address(truck.truck), truck.card)
        self._registered.add(truck.truck)
        if not self._side.options.fill:
            self._fill(truck.truck)

    def _retire(self, truck: bytes) -> None:
        """Nothing is sent for a truck that was never registered."""
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

    def _derived(self, truck: bytes) -> Signer:
        if truck not in self._accounts:
            drawn = self._vault.randomness("account", truck.hex())
            self._accounts[truck] = signer(drawn.key("account").secret)
        return self._accounts[truck]
