"""Where trucks must be known before their reports are taken, other than in the directory.

Such as a contract on a chain, which takes reports of registered accounts alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

__all__ = ["NoRegistrar", "Registrar"]


class Registrar(Protocol):
    """Makes trucks known elsewhere, some time after they were added here."""

    def check(self, *, own_keys: bool) -> None:
        """Raise ``AccessError`` where such a truck could not publish."""

    def changed(self) -> None:
        """A truck was added or retired, or a company closed; returns at once."""

    def settle(self) -> None:
        """Do what is left to be done, reports that wait included; raises ``StoreError``."""

    def when_behind(self, wake: Callable[[], None]) -> None:
        """Call back, in any thread, when there is something to settle."""

    def proof(self, truck: bytes, slot: int) -> bytes | None:
        """What proves to strangers that a report was taken, where that is not the log itself."""


class NoRegistrar(Registrar):
    """Where the log takes the reports of all trucks of the directory."""

    def check(self, *, own_keys: bool) -> None:
        """All trucks can publish."""

    def changed(self) -> None:
        """Nobody needs to know."""

    def settle(self) -> None:
        """Nothing is left."""

    def when_behind(self, wake: Callable[[], None]) -> None:
        """Never."""

    def proof(self, truck: bytes, slot: int) -> bytes | None:
        """There is none."""
        return None
