"""The chain that reports go to, as ``[chain]`` of share.toml names it.

The account that registers trucks, fills their accounts and anchors has its key in a file of its
own, ``chain.key``, and never here.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

from voile_base.durable import write_text
from voile_base.errors import InputError, PlanError
from voile_share.chain import Deployment, Mode, TransactionTerms, address_of
from voile_share.service.options import check_known, like

__all__ = ["EMBEDDED", "ChainOptions", "write_deployment"]

EMBEDDED = "embedded"
"""The ``url`` of a chain in the service's process, for trials: it ends with it."""
_WEI = 10**18
_HEADER = re.compile(r"^\[chain\][ \t]*(#.*)?$", re.MULTILINE)


@dataclass(frozen=True)
class ChainOptions:
    """Where the contract is, and what is paid; raises ``PlanError``."""

    url: str = ""
    """The node's, such as http://127.0.0.1:8545; or ``EMBEDDED``."""
    chain: int = 0
    """The number of the chain."""
    contract: str = ""
    """Its address."""
    block: int = 0
    """In which it was made."""
    mode: str = "log"
    """``log``, ``storage`` or ``anchor``."""
    confirmations: int = 1
    """``TransactionTerms.confirmations``: 3 or more on public chains."""
    patience: float = 60.0
    """``TransactionTerms.patience``: seconds that a report waits for the chain, then is refused."""
    poll: float = 1.0
    """``TransactionTerms.poll``: seconds."""
    raise_after: float = 20.0
    """``TransactionTerms.raise_after``: seconds."""
    most_wei_per_gas: int = 0
    """Beyond which nothing is paid; 0: no limit."""
    fill: bool = True
    """Whether accounts of trucks are filled from the operator's."""
    truck_ether: float = 0.05
    """Up to which; it is done when a quarter is left."""

    def __post_init__(self) -> None:
        if self.mode not in list(Mode):
            msg = f'mode of chain must be "log", "storage" or "anchor", and not {self.mode!r}'
            raise PlanError(msg)
        if self.url != EMBEDDED and not self.url.startswith(("http://", "https://")):
            msg = f'url of chain must be that of a node, or "{EMBEDDED}" for a trial'
            raise PlanError(msg)
        if self.is_embedded and (self.contract or self.block or self.chain):
            msg = "an embedded chain begins anew with the service: leave contract out"
            raise PlanError(msg)
        if self.raise_after >= self.patience:
            msg = "raise_after of chain must be less than patience"
            raise PlanError(msg)
        try:
            self.terms  # noqa: B018 - are checked
            if self.contract:
                address_of(self.contract)
        except InputError as error:
            msg = f"chain: {error}"
            raise PlanError(msg) from None

    @classmethod
    def from_document(cls, table: Mapping[str, Any]) -> Self:
        """The options of the table ``[chain]``; raises ``PlanError``."""
        known = [one.name for one in fields(cls)]
        chosen: dict[str, Any] = {}
        for name, value in table.items():
            if "key" in name:
                msg = "chain takes no key here: it stands in chain.key (voile share chain account)"
                raise PlanError(msg)
            check_known(name, known, "setting of chain")
            chosen[name] = like(name, value, getattr(cls, name))
        return cls(**chosen)

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
