"""An adversary who takes the first row that is published for everybody's."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from voile.attack.adversary import Adversary, Guesses, Scene
from voile.attack.asking import asked
from voile.attack.posterior import draw_targets
from voile.attack.protocol import TARGETS, check_targets
from voile.release.release import Release
from voile.schema.plan import Plan


@dataclass(frozen=True)
class FirstRow(Adversary["np.ndarray"]):
    """He knows nothing, and says that a person's age is that of the first row."""

    targets: int | None = field(default=1000, metadata=TARGETS)
    column: str = field(
        default="age", metadata=asked("--guessed", "text", "The column that is guessed.")
    )

    def __post_init__(self) -> None:
        check_targets(self.targets)

    @property
    def name(self) -> str:
        """The name by which a command or a study asks for the attack."""
        return "first-row"

    def refusal(self, release: Release, plan: Plan | None = None) -> str | None:
        """Why the attack makes no sense for a release, as a clause; None where it does."""
        if self.column not in release.table.columns:
            return f"the release has no column {self.column!r}"
        return None

    def aim(self, scene: Scene) -> np.ndarray:
        """Anybody."""
        return draw_targets(scene.people, [self.column], self.targets, scene.randomness)

    def guess(self, scene: Scene, aim: np.ndarray) -> Guesses:
        """The same for everybody."""
        own = scene.people.column(self.column).to_numpy()[aim]
        guess = scene.release.table.to_arrow()[self.column][0].as_py()
        right = (own == guess).astype(np.float64)
        return Guesses(
            goal=f"the first row shows the own {self.column}",
            success=right,
            probability=right,
            baseline=0.0,
            known=lambda place: {},
            assumptions=("he knows the release",),
        )
