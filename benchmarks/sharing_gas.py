"""Gas for one report of 30 items: the paper's layout, DECOUPLES', and Voile's three modes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256

from benchmarks.record import Measurement, Table, Target
from benchmarks.sharing_gas_layouts import (
    DECOUPLES_FIGURE,
    PAPER_FIGURE,
    decouples_layout,
    paper_layout,
)
from voile_base.randomness import Randomness
from voile_share.chain import (
    ChainSigner,
    ContractAccount,
    Deployment,
    EmbeddedChain,
    deploy,
    signer,
)
from voile_share.chain.anchor_log import leaf_of, root_of
from voile_share.chain.contract import Contract, address_of, transaction
from voile_share.protocol import (
    Carried,
    Content,
    PairKeys,
    Position,
    Report,
    ReportPublisher,
    TruckSecrets,
    TruckSlot,
    suite_named,
)

__all__ = ["run"]

SEED = 2023
ITEMS, TRUCKS = 30, 450
DAY, SLOT_SECONDS = 20_000, 300
FIRST = DAY * 86_400
NEAR = 0.10
MOST_LOG, MOST_ANCHOR = 115_000, 35_000
BLOCK_SECONDS = 12
PAPERS_BLOCK, LARGER_BLOCK = 30_000_000, 60_000_000
TRUCK = b"truck 1 of Delft"
LIMIT = 5_000_000


@dataclass(frozen=True)
class Stage:
    """A chain with the contract, a company and its truck."""

    chain: EmbeddedChain
    deployment: Deployment
    company: ChainSigner
    truck: ChainSigner

    @classmethod
    def set(cls) -> Stage:
        """All accounts have money, and the truck is registered."""
        chain = EmbeddedChain()
        owner, company, truck = (
            signer(sha256(name).digest()) for name in (b"owner", b"company", b"truck")
        )
        for one in (owner, company, truck):
            chain.fund(address_of(one))
        deployment = deploy(chain, owner)
        ContractAccount(chain, deployment, owner).certify(address_of(company))
        ContractAccount(chain, deployment, company).register(TRUCK, address_of(truck), b"card")
        return cls(chain, deployment, company, truck)

    def gas(self, account: ChainSigner, data: bytes) -> int:
        """What a transaction to the contract has used."""
        fields = {"nonce": self.chain.nonce(address_of(account)), "gas": LIMIT}
        fields["chainId"] = self.chain.identity()
        made = transaction(fields, self.deployment.address, data, self.chain.fee())
        sent = self.chain.send(bytes(account.sign_transaction(made).raw_transaction))
        receipt = self.chain.receipt(sent)
        assert receipt is not None
        assert receipt.succeeded
        return receipt.gas


def run() -> Measurement:
    """Publish everything twice, one slot after another; the second time counts."""
    stage, randomness = Stage.set(), Randomness.seeded(SEED)
    reports = _reports(randomness)
    before = iter(range(FIRST - 10 * SLOT_SECONDS, FIRST, SLOT_SECONDS))

    def rebuilt(layout: Callable[[TruckSlot, int, Randomness], bytes]) -> int:
        message = layout(TruckSlot(TRUCK, next(before)), ITEMS, randomness)
        return stage.gas(stage.truck, Contract.store(message))

    decouples = _second(lambda: rebuilt(decouples_layout))
    papers = _second(lambda: rebuilt(paper_layout))
    waiting, size = iter(reports), len(reports[0])
    storage = _second(lambda: stage.gas(stage.truck, Contract.store(next(waiting))))
    log = _second(lambda: stage.gas(stage.truck, Contract.publish(next(waiting))))
    leaves = [leaf_of(Report.decode(message).record().encode()) for message in reports]
    numbers = iter(range(10))

    def anchor(count: int) -> int:
        root = root_of((leaves * TRUCKS)[:count])
        return stage.gas(stage.company, Contract.anchor(next(numbers), FIRST, root))

    first_anchor = anchor(1)
    anchors, batch = anchor(1), anchor(TRUCKS)
    rows = [
        ("the paper's figure", PAPER_FIGURE, None),
        ("the paper's layout, mode storage", papers, None),
        ("DECOUPLES' figure in the paper", DECOUPLES_FIGURE, None),
        ("DECOUPLES' layout, mode storage", decouples, None),
        ("Voile's report, mode storage", storage, size),
        ("Voile's report, mode log", log, size),
        ("Voile's report, mode anchor, alone under its root", anchors, size),
        (f"Voile's report, mode anchor, one of {TRUCKS} under a root", batch / TRUCKS, size),
    ]  # fmt: skip
    fork = stage.chain.fork.capitalize()
    return Measurement(
        question=f"What gas does one report of {ITEMS} items with 512-bit addresses take?",
        data=f"synthetic reports of {ITEMS} items: suite voile, signed ({size:,} bytes); the "
        "paper's and DECOUPLES' layouts in words of 32 bytes, with nominal sizes "
        "(benchmarks/sharing_gas_layouts.py says which are the paper's)",
        seeds=f"{SEED}",
        protocol=f"one contract on one embedded chain with {fork} rules (EIP-7623: 21,000 and 40 "
        "gas for each byte of a transaction that is not zero, 10 for each zero, at least); gas of "
        "the mined transaction, the second of its kind from an account; trucks: 300 s of blocks, "
        f"one each {BLOCK_SECONDS} s, filled with nothing else",
        answer=f"The paper's layout takes {papers:,} gas here, {papers / PAPER_FIGURE - 1:+.1%} "
        f"against its figure; DECOUPLES' {decouples:,} ({decouples / DECOUPLES_FIGURE - 1:+.1%}).  "
        f"Voile's report takes {log:,} as an event, {PAPER_FIGURE / log:.0f} times less than the "
        f"paper's, which is the least that its {size:,} bytes may cost under these rules, "
        f"and {anchors:,} as a root, whose first one takes {first_anchor:,}.",
        targets=[
            Target(
                "the paper's layout, mode storage", f"within {NEAR:.0%} of {PAPER_FIGURE:,.0f}",
                f"{papers:,} ({papers / PAPER_FIGURE - 1:+.1%})",
                abs(papers / PAPER_FIGURE - 1) <= NEAR,
            ),
            Target("mode log", f"below {MOST_LOG:,}", f"{log:,}", log < MOST_LOG),
            Target("mode anchor", f"below {MOST_ANCHOR:,}", f"{anchors:,}", anchors < MOST_ANCHOR),
        ],
        tables=[
            Table(
                "Gas, and trucks that report every five minutes",
                ("report", "bytes", "gas", "trucks at 30 million a block", "at 60 million"),
                [_row(name, gas, size) for name, gas, size in rows],
            ),
        ],
    )  # fmt: skip


def _row(name: str, gas: float, size: int | None) -> tuple[str, ...]:
    blocks = SLOT_SECONDS // BLOCK_SECONDS
    trucks = [f"{blocks * limit // gas:,.0f}" for limit in (PAPERS_BLOCK, LARGER_BLOCK)]
    return name, "" if size is None else f"{size:,}", f"{gas:,.0f}", *trucks


def _second(measure: Callable[[], int]) -> int:
    measure()
    return measure()


def _reports(randomness: Randomness) -> list[bytes]:
    """Signed reports of one truck, in slots one after another."""
    suite = suite_named("voile")
    pair = PairKeys(*(randomness.key(name).secret[:31] + b"\1" for name in "ab"))
    secrets = [suite.tracking_secret(pair, b"parcel %d" % n, DAY) for n in range(ITEMS)]
    carried = [Carried(suite.tracking_public(one), n % 3, 12_000) for n, one in enumerate(secrets)]
    state, written = ReportPublisher.new(TruckSecrets.draw(TRUCK, randomness)), []
    for slot in range(FIRST, FIRST + 20 * SLOT_SECONDS, SLOT_SECONDS):
        positions = tuple(Position(52.0, 4.0, slot, 2.0**-level) for level in (6, 8, 10))
        content = Content(positions, carried, room=ITEMS)
        state, message = state.publish(slot, content, randomness)
        written.append(message)
    return written
