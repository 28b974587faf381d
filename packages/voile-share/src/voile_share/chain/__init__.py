"""The decentralized platform: logs of reports on Ethereum, read without trust in a platform.

A contract (``reports.vy``) knows who may publish: its owner certifies companies, companies register
trucks by the account that sends for them, trucks publish.  Three modes, by what is on the chain:

    storage   ``ChainLog``    every report, in the contract's storage: what the paper counts
    log       ``ChainLog``    every report, as one event: the default
    anchor    ``AnchorLog``   the root of a tree of reports; they are in another log, off the chain

Both classes are a ``store.ReportLog``.  They work on any ``Chain``: the embedded one for tests and
demonstrations (``EmbeddedChain``), or a node over JSON-RPC (``Web3Chain.connect``).

    contract       what is asked of a chain, and the contract that the package brings to it
    web3_chain     both back ends
    delivery       transactions until they are mined; events, through reorganisations
    chain_log      the log of the modes ``storage`` and ``log``
    anchor_log     that of the mode ``anchor``, with proofs of inclusion
    readers        reports and records straight from a chain, for readers and auditors
    registry       for the owner and for companies

It needs web3 (``pip install 'voile-share[chain]'``; ``voile-share[embedded-chain]`` for the
embedded one), and no compiler.
"""

from voile_share.chain.anchor_log import AnchorLog, Inclusion, verify_inclusion
from voile_share.chain.chain_log import ChainLog, Mode
from voile_share.chain.contract import (
    Anchored,
    Block,
    Chain,
    ChainError,
    ChainSigner,
    Contract,
    Deployment,
    Event,
    Fee,
    Receipt,
    Registration,
    RevertedError,
    TransactionTerms,
    UnfundedError,
    address_of,
)
from voile_share.chain.registry import (
    Audited,
    ChainReadings,
    ContractAccount,
    NotAnchoredError,
    ReportOnChain,
    audit,
    check_anchored,
    deploy,
    fill,
    published,
)
from voile_share.chain.web3_chain import EmbeddedChain, Mined, Web3Chain, signer

__all__ = [
    "AnchorLog",
    "Anchored",
    "Audited",
    "Block",
    "Chain",
    "ChainError",
    "ChainLog",
    "ChainReadings",
    "ChainSigner",
    "Contract",
    "ContractAccount",
    "Deployment",
    "EmbeddedChain",
    "Event",
    "Fee",
    "Inclusion",
    "Mined",
    "Mode",
    "NotAnchoredError",
    "Receipt",
    "Registration",
    "ReportOnChain",
    "RevertedError",
    "TransactionTerms",
    "UnfundedError",
    "Web3Chain",
    "address_of",
    "audit",
    "check_anchored",
    "deploy",
    "fill",
    "published",
    "signer",
    "verify_inclusion",
]
