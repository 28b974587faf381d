"""An embedded chain, the contract on it, and who plays a part."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from voile_share.chain import (
    AnchorLog,
    ChainLog,
    ChainSigner,
    ContractAccount,
    Deployment,
    EmbeddedChain,
    Mode,
    TransactionTerms,
    deploy,
    signer,
)
from voile_share.chain.contract import Contract, address_of, transaction
from voile_share.store import ReportLog
from voile_testing.processes import PATIENCE

QUICK = TransactionTerms(patience=PATIENCE, poll=0.02, freshness=0)


def account(name: str) -> ChainSigner:
    """The account of a name, the same in every run."""
    return signer(sha256(f"voile test account {name}".encode()).digest())


@dataclass
class Stage:
    """One contract; trucks are registered when they are first asked for."""

    chain: EmbeddedChain
    owner: ChainSigner
    company: ChainSigner
    deployment: Deployment
    known: set[bytes] = field(default_factory=set)

    @classmethod
    def set(cls, chain: EmbeddedChain) -> Stage:
        """A new contract with a certified company."""
        owner, company = account("owner"), account("company")
        for one in (owner, company):
            chain.fund(address_of(one))
        stage = cls(chain, owner, company, deploy(chain, owner, QUICK))
        stage.registry(owner).certify(address_of(company))
        return stage

    @property
    def contract(self) -> Contract:
        return Contract(self.chain, self.deployment)

    def registry(self, who: ChainSigner) -> ContractAccount:
        return ContractAccount(self.chain, self.deployment, who, QUICK)

    def send(self, who: ChainSigner, data: bytes, **payment: object) -> None:
        """Mine a transaction of an account to the contract, or a payment."""
        sender = address_of(who)
        fields = {"nonce": self.chain.nonce(sender), "chainId": self.chain.identity()}
        made = transaction(
            {**fields, "gas": 3_000_000}, self.deployment.address, data, self.chain.fee()
        )
        raw = bytes(who.sign_transaction({**made, **payment}).raw_transaction)
        receipt = self.chain.receipt(self.chain.send(raw))
        assert receipt is not None
        assert receipt.succeeded

    def account_of(self, truck: bytes) -> ChainSigner:
        """The account of a truck, which is registered and has money."""
        sending = account(f"truck {truck.hex()}")
        if truck not in self.known:
            self.chain.fund(address_of(sending), 0.1)
            self.registry(self.company).register(truck, address_of(sending), b"card")
            self.known.add(truck)
        return sending

    def log(self, mode: Mode = Mode.LOG, mirror: Path | None = None, **more) -> ChainLog:
        terms = more.pop("terms", QUICK)
        return ChainLog(
            self.chain, self.deployment, self.account_of, mode, mirror=mirror, terms=terms, **more
        )

    def anchored(self, beside: ReportLog, journal: Path | None = None) -> AnchorLog:
        for truck in self.known:
            self.account_of(truck)
        return AnchorLog(
            self.chain, self.deployment, self.company, beside, journal=journal, terms=QUICK
        )
