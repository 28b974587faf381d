"""What goes wrong with a chain, and what to install."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from voile_base.errors import InputError
from voile_share.store.protocols import StoreError

__all__ = ["ChainError", "NotTakenError", "RevertedError", "UnfundedError", "needed"]


class ChainError(StoreError):
    """The chain cannot do this now: the node is away, is behind, or was not in time.

    What was sent may be mined later.  A log keeps it, and sends it again until it is.
    """

    exit_status = 2
    """Of a command that needs the node: it is no fault of Voile."""


class NotTakenError(ChainError):
    """The node answers, and does not take the request or the transaction."""


class UnfundedError(NotTakenError):
    """The account has too little money for the transaction."""


class RevertedError(InputError, StoreError):
    """The contract does not allow it, and nothing was changed.

    One may try again when the truck is registered or the company certified: so to whoever reports
    a position it is a store that cannot take it now.
    """

    def __init__(self, reason: str, whom: str = "") -> None:
        meaning = _MEANING.get(reason, "see its source")
        super().__init__(f"the contract refuses{whom and f' {whom}'}: {reason} ({meaning})")
        self.reason = reason
        """One word of the contract, such as ``unregistered``."""


_MEANING = {
    "unregistered": "no truck is registered with this account: its company registers it",
    "not-certified": "the company is not certified, or no longer: the owner certifies it",
    "foreign-truck": "the truck is another company's",
    "foreign-account": "the account sends for another truck: take a new one",
    "foreign-report": "the report is another truck's than the account's",
    "replayed": "this slot was published, or this number anchored",
    "backward": "slots only move forward",
    "malformed": "it is no report",
    "no-account": "the account is missing",
    "not-owner": "only the contract's owner may do this",
    "not-offered": "the contract was not offered to this account",
}


def needed(module: str, extra: str = "chain") -> Any:
    """A module of an extra; raises ``InputError`` where it is not installed."""
    try:
        return import_module(module)
    except ImportError:
        msg = f"a chain needs {module.partition('.')[0]}: pip install 'voile-share[{extra}]'"
        raise InputError(msg) from None
