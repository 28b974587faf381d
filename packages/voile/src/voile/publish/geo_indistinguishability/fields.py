"""Noise that stays with places, as a plan asks for it: its parameters, and the secret behind it.

Releases that share a secret share the fields of each vehicle and period.  The secret lies in a file
of its own, 32 bytes in hexadecimal that only its owner may read; where there is none it is made.
Whoever has the file can compute what stays with every place, for every vehicle and all periods, and
take it off all releases made with it.  Deleting the file, and its copies, ends that; what is
published afterwards has new fields.
"""

from __future__ import annotations

import math
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from voile_base.durable import write_text
from voile_base.errors import PlanError
from voile_base.randomness import Randomness
from voile_geo.planar.noise import GaussianField
from voile_geo.planar.zones import Zones

__all__ = ["WAY_HIDDEN", "FieldTerms", "read_secret"]

WAY_HIDDEN = 30.0
"""Seconds between reports, below which they show how far a truck has driven."""
_BYTES = 32


@dataclass(frozen=True)
class FieldTerms:
    """What stays with places; the parameters of ``GaussianField`` as a plan names them."""

    stays: float = 0.8
    length: float = 700.0
    period: float = 28.0
    shared: float = 0.75

    @property
    def fresh_factor(self) -> float:
        """The deviation of the fresh part over that of all noise."""
        return math.sqrt(1 - self.stays)

    def noise(self, zones: Zones, tau: float) -> GaussianField:
        """The mechanism; raises ``PlanError`` for several zones."""
        return GaussianField(zones, self.stays, self.length, self.period, tau, self.shared)

    def notices(self, kept: bool) -> Iterator[str]:
        """What the custodian must know; ``kept`` says whether releases share a secret."""
        yield (
            "gaussian-field shows exactly when a truck stands, and nearly exactly that it is where "
            "it was before; who knows one true position knows most of the noise there for the "
            f"{self.period:g} days of a period"
        )
        if self.shared:
            yield (
                f"{self.shared * self.stays:.2g} of the noise at a place is the same for all "
                "vehicles of a fleet, so that their mean does not find it. Fleets are told apart "
                "by the column of [roles] fleet, and without one all vehicles are of one fleet. "
                "Vehicles of two companies must not be of one fleet, nor two companies have one "
                "name in that column: a driver of the one would tell of the other"
            )
        if not kept:
            yield (
                "this release has fields of its own: published again, or day by day, the same "
                "places get new noise, which averages away; [method] secret names a file by "
                "which releases share them"
            )


def read_secret(path: str) -> Randomness:
    """The secret in a file, which is made where there is none.

    Raises ``PlanError`` where the file holds none, or others than its owner may read it.
    """
    file = Path(path)
    try:
        if not file.exists():
            drawn = Randomness.secure().key("fields").secret
            write_text(file, f"{drawn.hex()}\n", private=True, replacing=False)
        mode = stat.S_IMODE(file.stat().st_mode)
        held = bytes.fromhex(file.read_text("ascii").strip())
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it does not hold a secret"
        msg = f"[method] secret: the file {file.name} cannot be used: {why}"
        raise PlanError(msg) from None
    if len(held) != _BYTES:
        msg = (
            f"[method] secret: the file {file.name} must hold {2 * _BYTES} hexadecimal digits; "
            "give a name that is free, and the file is made"
        )
        raise PlanError(msg)
    if mode & 0o077:
        # Repairing this silently would hide that others may have read the secret.
        msg = (
            f"[method] secret: others than its owner may read or write the file {file.name} (mode "
            f"{mode:04o}), and whoever has it takes noise off; find out who could have copied it, "
            "then run `chmod 600` on it, or delete it for fields that nobody knows"
        )
        raise PlanError(msg)
    return Randomness(held, publishable=True)
