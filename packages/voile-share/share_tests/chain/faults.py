"""What stands between a log and its chain, and breaks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from voile_share.chain import Chain
from voile_share.chain.contract import ChainError

ASKED = ("identity", "head", "block", "nonce", "fee", "estimate", "call", "send", "knows")
ASKED += ("receipt", "events", "has_code")


class CrashError(BaseException):
    """The process ends here: nothing catches it."""


class Between:
    """A chain whose every question goes through ``ask(name, question)``."""

    def __init__(self, chain: Chain, ask: Callable[[str, Callable[[], Any]], Any]) -> None:
        self._chain = chain
        self._ask = ask

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._chain, name)
        if name not in ASKED:
            return method
        return lambda *values: self._ask(name, lambda: method(*values))


def dying(chain: Chain, answers: int, *, after: bool) -> Between:
    """The process dies at a question: after it was answered, or before."""
    left = iter(range(answers))

    def ask(name: str, question: Callable[[], Any]) -> Any:
        alive = next(left, None) is not None
        if alive or after:
            answer = question()
        if not alive:
            raise CrashError
        return answer

    return Between(chain, ask)


def away(chain: Chain) -> Between:
    """The node does not answer."""

    def ask(name: str, question: Callable[[], Any]) -> Any:
        raise ChainError("the node of the chain does not answer")

    return Between(chain, ask)


def losing(chain: Chain, sends: int) -> Between:
    """The node takes some transactions and forgets them."""
    left = iter(range(sends))

    def ask(name: str, question: Callable[[], Any]) -> Any:
        if name == "send" and next(left, None) is not None:
            return b"h" * 32
        return question()

    return Between(chain, ask)
