"""What puts a release to the test: the adversaries and the measures that a study asks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Self

from voile.attack.protocol import Attack
from voile.study.record import RiskDocument, Skipped
from voile.study.rehearsal import Staged
from voile.utility.protocol import Comparison, Measure
from voile_base.randomness import Randomness

__all__ = ["CountRisks", "Instruments"]

CountRisks = Callable[
    [Staged, int, Randomness, Callable[[str], None]], Sequence[RiskDocument | Skipped]
]
"""Counts risks on a rehearsal with rows held out: at so many targets, telling its progress."""


@dataclass(frozen=True, eq=False)
class Instruments:
    """Adversaries and measures with their default knowledge and parameters."""

    attacks: tuple[Attack, ...]
    measures: tuple[Measure, ...]
    distributions: Callable[[Comparison], Sequence[Any]]
    """Before and after of each published column: objects with the fields of ``Distribution``."""
    risks: CountRisks | None = None
    """The three risks, where they are asked for."""

    @classmethod
    def standard(cls, attacks: Sequence[str] | None = None) -> Self:
        """All measures, and the adversaries of these names; None: all of them.

        Raises ``InputError`` for a name that no adversary has.
        """
        # They load what no other command needs.
        from voile.attack.registry import attack_named, attack_names  # noqa: PLC0415
        from voile.utility.marginals import distributions  # noqa: PLC0415
        from voile.utility.registry import measures  # noqa: PLC0415

        names = attack_names() if attacks is None else tuple(dict.fromkeys(attacks))
        return cls(tuple(attack_named(name) for name in names), measures(), distributions)
