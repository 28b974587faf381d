"""What trucks of a company have in common: the keys of their shared noise, of a period each.

Trucks whose noise at a place is their own average: who follows links to ten of them on one route,
or to all that leave one depot, takes the mean.  So of the noise that stays with places a share is
the same for all trucks of a company whose keys the platform holds (``positions.Levels.shared``).

A company's key of a period is drawn when the first of its trucks reports in it, from entropy that
is kept nowhere, and lies in the store, sealed by the vault.  Of processes that draw at once the
first to store it counts.  It is destroyed when the period ends; a report that comes in later, of a
period that is over, has another key, which goes within the next hour.
"""

from __future__ import annotations

from voile_base.randomness import Key
from voile_share.platform.core import PlatformCore
from voile_share.positions import PlaceKey

__all__ = ["FleetKeys", "fleet_context"]


def fleet_context(company: str, ends: float) -> bytes:
    """What the sealed key of a company's shared noise is bound to."""
    return f"shared noise of {company} until {ends!r}".encode()


class FleetKeys:
    """The keys of all companies; threads may share it."""

    def __init__(self, core: PlatformCore) -> None:
        self._core = core
        self._known: dict[tuple[str, float], Key] = {}

    def of(self, company: str, time: float) -> Key | None:
        """The key of a company at a time; None where trucks have nothing in common.

        Raises ``StoreError``.
        """
        levels = self._core.settings.levels
        if not (levels.stays_with_places and levels.shared):
            return None
        ends = PlaceKey.end_of(time, levels.period_days)
        found = self._known.get((company, ends))
        if found is None:
            found = self._known[company, ends] = self._stored(company, ends)
        return found

    def _stored(self, company: str, ends: float) -> Key:
        directory, vault = self._core.directory, self._core.vault
        context = fleet_context(company, ends)
        sealed = directory.fleet_key(company, ends)
        if sealed is None:
            drawn = self._core.fresh("fleet").key("field").secret
            sealed = directory.keep_fleet_key(company, ends, vault.seal(context, drawn))
        return Key(vault.unseal(context, sealed))

    def destroy_ended(self, now: float) -> None:
        """Forget the keys of periods that are over, in memory and in the store."""
        for company, ends in list(self._known):
            if ends <= now:
                self._known.pop((company, ends), None)
        self._core.directory.drop_fleet_keys(now)
