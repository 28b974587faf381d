"""How noisy each level is, and who may see which.

The levels are nested: the near position has noise, the next one is the near one with more noise,
the far one has more again.  So all that is published follows from the near position, and nobody
learns more from several levels than from the nearest of them, with whomever he pools them.  Three
independent looks would let colluding parties average the noise away.

Noise is correlated Gaussian (``dp.planar.noise``): sums of such streams with one time constant are
such a stream again, so each level by itself has exactly the distribution that its epsilon says.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from voile.dp.planar.noise import CorrelatedGaussian
from voile.dp.planar.radius import MEAN_RADIUS
from voile.dp.planar.zones import Zones
from voile.errors import PlanError
from voile.sharing.protocol import LEVELS

__all__ = ["Levels"]

_LONGEST_TIME = 30 * 86_400.0


@dataclass(frozen=True)
class Levels:
    """Displacements, and the distances at which they are chosen; raises ``PlanError``."""

    displacements: Sequence[float] = (150.0, 600.0, 2400.0)
    """Metres by which the near, the middle and the far position are off on average; ascending."""
    tau: float = 120.0
    """Seconds in which the correlation of the noise falls to 1 / e."""
    near: Sequence[float] = (2_000.0, 10_000.0)
    """Metres to the destination, below which a party sees the near and the middle position."""

    def __post_init__(self) -> None:
        for name, values, count in (
            ("displacements", self.displacements, LEVELS),
            ("near", self.near, LEVELS - 1),
        ):
            numbers = [value for value in values if _is_length(value)]
            ascending = all(one < next_ for one, next_ in pairwise([0.0, *numbers]))
            if len(values) != count or len(numbers) != count or not ascending:
                msg = f"{name} must be {count} ascending numbers above 0, in metres"
                raise PlanError(msg)
        if not _is_length(self.tau) or not 0 < self.tau <= _LONGEST_TIME:
            msg = "tau must be a number of seconds above 0, of 30 days at most"
            raise PlanError(msg)

    @cached_property
    def epsilons(self) -> tuple[float, ...]:
        """Of each level, per metre: that of planar Laplace noise of the same displacement."""
        return tuple(MEAN_RADIUS / metres for metres in self.displacements)

    def noises(self) -> tuple[CorrelatedGaussian, ...]:
        """What is added to the true position, to the near one, and to the middle one."""
        before = (0.0, *self.displacements)
        added = [math.sqrt(after**2 - here**2) for here, after in pairwise(before)]
        return tuple(
            CorrelatedGaussian(Zones(levels=(MEAN_RADIUS / metres,)), self.tau) for metres in added
        )

    def level(self, metres: float) -> int:
        """What a party sees whose destination is so far away: 0 (near) to 2 (far)."""
        return sum(metres >= limit for limit in self.near)


def _is_length(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
