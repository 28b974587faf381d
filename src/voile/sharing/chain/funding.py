"""Money for gas: from one account to others, so that these can send."""

from __future__ import annotations

from dataclasses import replace

from voile.sharing.chain.delivery import Delivery, Look
from voile.sharing.chain.errors import UnfundedError
from voile.sharing.chain.interface import Chain, Signer, Terms

__all__ = ["fill"]

_LOW = 4
"""An account is filled when it has less than this part of what it should have."""


def fill(chain: Chain, payer: Signer, account: bytes, wei: int, terms: Terms | None = None) -> bool:
    """Fill an account up to so many wei if it has less than a quarter of them; whether it had.

    Never more than that stands in it by this.  Returns when the payment is mined; raises
    ``ChainError``, as ``UnfundedError`` where the payer has too little.
    """
    has = chain.balance(account)
    if has >= wei / _LOW:
        return False
    delivery = Delivery(chain, account, terms or Terms())
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
