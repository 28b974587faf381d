"""Packing parcels as they are known: from measures and limits to bins.

One task says what is known of the parcels, what bins hold, which numbers to plan with, and whether
a probability of overload is to be kept; ``pack`` chooses the solver: one measure, several, boxes,
or the robust one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from voile_base.errors import InputError
from voile_pack.geometry import BoxInstance, Turns, solve_boxes
from voile_pack.instance import PackingResult, Progress, ignore
from voile_pack.parcels import (
    Limit,
    ParcelMeasure,
    Planned,
    Use,
    distributions_of,
    plan,
    plan_sides,
)
from voile_pack.robust import RobustOutcome, require_probability, solve_robust
from voile_pack.solve import Solver
from voile_pack.stop import Stop
from voile_pack.vector import VectorInstance, solve_vectors

__all__ = ["Boxes", "Packed", "Task", "pack"]


@dataclass(frozen=True, eq=False)
class Boxes:
    """The sides of the parcels and of a bin: height, width and length."""

    sides: tuple[ParcelMeasure, ParcelMeasure, ParcelMeasure]
    box: tuple[Decimal, Decimal, Decimal]
    turns: Turns = "any"


@dataclass(frozen=True, eq=False)
class Task:
    """n parcels and what their bins hold.

    Raises ``InputError`` where nothing limits a bin, or the parts do not go together.
    """

    measures: tuple[ParcelMeasure, ...]
    limits: tuple[Limit, ...]
    """One for each measure."""
    use: Use = field(default_factory=Use)
    robust: float | None = None
    """The probability of overload that each bin may have; None: no promise."""
    boxes: Boxes | None = None
    """Where geometry counts; then at most one measure, the weight."""

    def __post_init__(self) -> None:
        if not self.measures and self.boxes is None:
            raise InputError("nothing limits a bin: give a capacity")
        if self.robust is not None:
            require_probability(self.robust)
        if self.boxes and (len(self.measures) > 1 or self.robust is not None):
            raise InputError(
                "boxes can be packed with one more measure, their weight, and not in robust mode"
            )


@dataclass(frozen=True, eq=False)
class Packed:
    """A packing, and what was planned in it."""

    outcome: PackingResult
    planned: tuple[Planned, ...]
    notices: tuple[str, ...] = ()
    side_scale: Fraction = Fraction(1)
    """Of boxes: what a unit of their sides is, in units of the columns."""

    @property
    def overload(self) -> NDArray[np.float64] | None:
        """For the robust mode, a bound on the probability of overload of each bin, (bins,)."""
        return self.outcome.overload if isinstance(self.outcome, RobustOutcome) else None


def pack(
    task: Task,
    stop: Stop | None = None,
    progress: Progress = ignore,
    solver: Solver = "auto",
) -> Packed:
    """Pack the parcels of a task; raises ``InputError`` where one cannot be packed."""
    if task.boxes:
        return _pack_boxes(task, task.boxes, stop, progress)
    pairs = list(zip(task.measures, task.limits, strict=True))
    planned = tuple(plan(measure, limit, task.use) for measure, limit in pairs)
    notices = tuple(notice for one in planned for notice in one.notices)
    if task.robust is not None and not all(measure.exact for measure in task.measures):
        distributions = [distributions_of(measure, limit) for measure, limit in pairs]
        usable = [float(limit.usable) for limit in task.limits]
        outcome: PackingResult = solve_robust(distributions, usable, task.robust, stop, progress)
        expected = zip(planned, distributions, strict=True)
        return Packed(
            outcome, tuple(one.expecting(distribution.mean) for one, distribution in expected)
        )
    instance = VectorInstance(
        np.column_stack([one.units for one in planned]),
        np.array([one.capacity for one in planned]),
        tuple(one.name for one in planned),
    )
    return Packed(solve_vectors(instance, stop, progress, solver), planned, notices)


def _pack_boxes(task: Task, boxes: Boxes, stop: Stop | None, progress: Progress) -> Packed:
    sizes, box, scale = plan_sides(boxes.sides, boxes.box, boxes.turns, task.use)
    weights = [plan(m, c, task.use) for m, c in zip(task.measures, task.limits, strict=True)]
    instance = BoxInstance(
        sizes=sizes,
        box=box,
        weights=weights[0].units if weights else np.zeros(len(sizes), np.int64),
        capacity=weights[0].capacity if weights else 1,
        turns=boxes.turns,
    )
    volume = int(box.prod())
    volumes = Planned(
        name="volume",
        units=instance.volumes,
        capacity=volume,
        full=volume,
        low=instance.volumes,
        high=instance.volumes,
        scale=scale**3,
    )
    outcome = solve_boxes(instance, stop, progress)
    notices = tuple(notice for one in weights for notice in one.notices)
    return Packed(outcome, (*weights, volumes), notices, scale)
