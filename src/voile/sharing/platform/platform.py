"""The platform as a whole: what a service, a demonstration and tests of attackers call."""

from __future__ import annotations

import time
from collections.abc import Callable

from voile.randomness import Randomness
from voile.sharing.platform.administration import Administration
from voile.sharing.platform.core import PlatformCore
from voile.sharing.platform.operating import Operating
from voile.sharing.platform.publishing import Publishing
from voile.sharing.platform.reading import Reading
from voile.sharing.platform.registrar import NoRegistrar, Registrar
from voile.sharing.platform.settings import Settings
from voile.sharing.platform.vault import Vault
from voile.sharing.store import (
    Company,
    Directory,
    ReportLog,
    TrackingLink,
    Truck,
)

__all__ = ["Platform"]

_DAY = 86_400


class Platform(Operating, Administration, Publishing, Reading):
    """One face of four parts, which share their core.  Threads may share it."""

    def __init__(  # noqa: PLR0913, PLR0917 - what a platform stands on
        self,
        directory: Directory,
        log: ReportLog,
        vault: Vault,
        settings: Settings | None = None,
        randomness: Randomness | None = None,
        clock: Callable[[], float] = time.time,
        registrar: Registrar | None = None,
        writing_lines: int = 0,
        gather: float = 0.0,
    ) -> None:
        """Stores are closed with the platform.  ``clock``: seconds since 1970 UTC.

        ``registrar`` makes trucks known where the log is, if that must be; ``writing_lines`` are
        worker processes that write reports when there are many (``Writers``); by ``gather`` seconds
        a position waits for others, since what is done together costs less.
        """
        core = PlatformCore(
            directory,
            log,
            vault,
            settings or Settings(),
            randomness or Randomness.secure(),
            clock,
        )
        Reading.__init__(self, core)
        Publishing.__init__(self, core, self.tell, writing_lines, gather)
        registrar = registrar or NoRegistrar()
        Operating.__init__(self, core, self.changed, registrar)
        Administration.__init__(self, core, self.changed, registrar)

    @property
    def settings(self) -> Settings:
        """The terms of the platform."""
        return self._core.settings

    @property
    def clock(self) -> Callable[[], float]:
        """The platform's clock."""
        return self._core.clock

    def company_of(self, token: str) -> Company:
        """The company of a token; raises ``AccessError``."""
        return self._core.company_of(token)

    def truck_of(self, token: str) -> Truck:
        """The truck that publishes by itself with a token; raises ``AccessError``."""
        return self._core.truck_of(token)

    def auditor_of(self, token: str) -> str:
        """The name of the auditor of a token; raises ``AccessError``."""
        return self._core.auditor_of(token)

    def link_of(self, number: str) -> TrackingLink:
        """The link of a number, if it is open; raises ``AccessError``."""
        return self._core.link_of(number)

    def company_behind(self, link: TrackingLink) -> str:
        """The number of the company that has opened a link."""
        truck = self._core.directory.truck(link.truck)
        return "" if truck is None else truck.company

    def settle(self) -> None:
        """Finish what the log could not, such as reports that wait for a chain.

        Call it at start, now and then, and when ``when_behind`` says so.  Raises ``StoreError``.
        """
        self._registrar.settle()

    def when_behind(self, wake: Callable[[], None]) -> None:
        """Call back, in any thread, when there is something to settle."""
        self._registrar.when_behind(wake)

    def proof(self, link: TrackingLink, slot: int) -> bytes | None:
        """Where the report of a link's truck is anchored (``chain.Inclusion``), if it is."""
        return self._registrar.proof(link.truck, slot)

    def tidy(self, keep_days: int = 31, most: int | None = None) -> None:
        """Drop submissions and bodies of reports that are older; their records stay.

        ``most`` is the last slot whose reports may be dropped at all.
        """
        before = int(self.clock()) - keep_days * _DAY
        self._core.directory.drop_mail(before)
        self._core.log.forget(before if most is None else min(before, most + 1))

    def close(self) -> None:
        """Finish what was begun, and close the stores."""
        Publishing.close(self)
        self._core.log.close()
        self._core.directory.close()
