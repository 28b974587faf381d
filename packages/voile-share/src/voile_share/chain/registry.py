"""Who may publish: what the contract's owner and certified companies do.

Every method looks first, sends nothing where the contract stands as asked, and returns when it is
mined.  It raises ``RevertedError`` where the contract does not allow it, before anything is paid,
and ``ChainError`` where the node is away or the account has no money.

Money for gas goes from one account to others, so that these can send.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from voile_share.chain.contract import (
    Chain,
    ChainError,
    ChainSigner,
    Contract,
    Deployment,
    Receipt,
    Registration,
    RevertedError,
    TransactionTerms,
    UnfundedError,
    address_of,
    transaction,
)
from voile_share.chain.delivery import Delivery, Look

__all__ = ["ContractAccount", "deploy", "fill"]

_PAUSE = 0.05
_LOW = 4
"""An account is filled when it has less than this part of what it should have."""


def deploy(chain: Chain, owner: ChainSigner, terms: TransactionTerms | None = None) -> Deployment:
    """Make the contract; the account is its owner.

    Returns where it is, which everybody needs to know.  Raises ``ChainError``.
    """
    terms = terms or TransactionTerms()
    sender, creation = address_of(owner), Contract.creation()
    gas = chain.estimate(sender, None, creation)
    fields = {"nonce": chain.nonce(sender), "gas": gas + gas // 4, "chainId": chain.identity()}
    fee = chain.fee().capped(terms.most_wei_per_gas)
    signed = owner.sign_transaction(transaction(fields, None, creation, fee))
    receipt = _mined(chain, chain.send(bytes(signed.raw_transaction)), terms)
    if not receipt.succeeded or receipt.contract is None:
        msg = "the contract could not be made: see whether the chain takes contracts"
        raise ChainError(msg)
    return Deployment(chain.identity(), receipt.contract, receipt.block)


def _mined(chain: Chain, sent: bytes, terms: TransactionTerms) -> Receipt:
    end = time.monotonic() + terms.patience
    while True:
        receipt = chain.receipt(sent)
        if receipt and chain.head().number - receipt.block + 1 >= terms.confirmations:
            return receipt
        if time.monotonic() >= end:
            msg = f"not on the chain after {terms.patience:g} s"
            raise ChainError(msg)
        time.sleep(min(_PAUSE, terms.poll))


class ContractAccount:
    """The contract in the hands of one account: the owner's or a company's."""

    def __init__(
        self,
        chain: Chain,
        deployment: Deployment,
        account: ChainSigner,
        terms: TransactionTerms | None = None,
    ) -> None:
        self.contract = Contract(chain, deployment)
        self._account = account
        self._delivery = Delivery(chain, deployment.address, terms or TransactionTerms())

    # The owner

    def certify(self, company: bytes) -> None:
        """Let a company (its address) register trucks."""
        contract = self.contract
        self._do(Contract.certify(company), lambda: contract.is_certified(company))

    def withdraw(self, company: bytes) -> None:
        """From now on neither the company nor its trucks may do anything."""
        contract = self.contract
        self._do(Contract.withdraw(company), lambda: not contract.is_certified(company))

    def offer(self, owner: bytes) -> None:
        """Offer the contract to another owner, who takes it by ``accept``."""
        self._do(Contract.offer(owner), lambda: self.contract.offered() == owner)

    def accept(self) -> None:
        """Become the owner, where that was offered."""
        own = address_of(self._account)
        self._do(Contract.accept(), lambda: self.contract.owner() == own)

    # Companies

    def register(self, truck: bytes, account: bytes, card: bytes) -> None:
        """Let an account publish for a truck; ``card`` is ``protocol.TruckCard``, encoded.

        Again with another account: the one before is out.
        """
        digest = Registration.digest(card)
        wanted = Registration(address_of(self._account), account, digest)

        def done() -> bool:
            there = self.contract.registration(truck) == wanted
            return there and self.contract.is_registered(truck)

        self._do(Contract.register(truck, wanted), done)

    def retire(self, truck: bytes) -> None:
        """Take a truck's account from it.  Its number stays the company's."""
        own = address_of(self._account)

        def done() -> bool:
            found = self.contract.registration(truck)
            mine = found is not None and found.company == own
            return mine and not self.contract.is_registered(truck)

        self._do(Contract.retire(truck), done)

    def _do(self, data: bytes, done: Callable[[], bool]) -> None:
        if done():
            return
        outgoing = self._delivery.prepare(data, self._account, data)
        chain = self.contract.chain

        def look() -> Look:
            return Look.at([outgoing], {data: chain.head().number} if done() else {})

        delivered = self._delivery.deliver(look, {data})
        if delivered.unfunded:
            msg = f"the account {self._account.address} has no money for gas"
            raise ChainError(msg)
        for reason in delivered.refused.values():
            raise RevertedError(reason)


def fill(
    chain: Chain,
    payer: ChainSigner,
    account: bytes,
    wei: int,
    terms: TransactionTerms | None = None,
) -> bool:
    """Fill an account up to so many wei if it has less than a quarter of them; whether it had.

    Never more than that stands in it by this.  Returns when the payment is mined; raises
    ``ChainError``, as ``UnfundedError`` where the payer has too little.
    """
    has = chain.balance(account)
    if has >= wei / _LOW:
        return False
    delivery = Delivery(chain, account, terms or TransactionTerms())
    payment = replace(delivery.prepare(account, payer, b""), value=wei - has)

    def look() -> Look:
        filled = chain.balance(account) >= wei / _LOW
        return Look.at([payment], {account: chain.head().number} if filled else {})

    delivered = delivery.deliver(look, {account})
    if delivered.unfunded:
        msg = (
            f"the account {payer.address} has too little money: send it some, of which it fills "
            "the accounts of trucks"
        )
        raise UnfundedError(msg)
    return True
