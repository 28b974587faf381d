"""Packing parcels as they are known: from measures and limits to bins.

One task says what is known of the parcels, what bins hold, which numbers to plan with, and whether
a probability of overload is to be kept; ``pack`` chooses the solver: one measure, several, boxes,
or the robust one.

What ``voile pack`` shows and writes of a packing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from numpy.typing import NDArray

from voile.schema.numbers import json_number
from voile.table.opening import write_columns
from voile_base.errors import InputError
from voile_base.terminal import print_table
from voile_pack.drawing import DrawnMeasure, draw_bins
from voile_pack.geometry import BoxInstance, Turns, solve_boxes
from voile_pack.instance import PackingResult, Progress, Stop, ignore
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
from voile_pack.vector import VectorInstance, solve_vectors

if TYPE_CHECKING:
    from voile_pack.parcels import Planned

__all__ = [
    "PICTURES",
    "Boxes",
    "Origin",
    "Packed",
    "Task",
    "document_of",
    "pack",
    "show_packed",
    "write_packed",
]


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


PICTURES = (".png", ".svg")
_PRIVATE = "PRIVATE: this plan was made from private parcels; do not pass it on"
_SHOWN = 20


@dataclass(frozen=True, eq=False)
class Origin:
    """Where the parcels come from."""

    private: bool
    rows: int
    """Rows of the table."""
    kept: NDArray[np.int64]
    """Indices of the n rows that were packed, from 0."""


def write_packed(file: Path, origin: Origin, packed: Packed) -> None:
    """Write the picture or the table, as the name of the file says."""
    if file.suffix.lower() in PICTURES:
        outcome = packed.outcome
        title = (
            f"{'PRIVATE: ' if origin.private else ''}{len(origin.kept):,} parcels in "
            f"{outcome.bins:,} bins, at least {outcome.lower_bound:,} needed"
        )
        drawn = [_drawn(planned) for planned in packed.planned]
        draw_bins(file, drawn, outcome.packing.bin_of, title)
    else:
        write_columns(file, _assignment(origin, packed))


def _assignment(origin: Origin, packed: Packed) -> dict[str, NDArray[Any]]:
    """For each parcel its row in INPUT, from 1, its bin, from 1, and what was planned."""
    outcome = packed.outcome
    columns: dict[str, NDArray[Any]] = {
        "row": origin.kept + 1,
        "bin": outcome.packing.bin_of + 1,
    }
    for planned in packed.planned:
        columns[f"planned.{planned.name}"] = _floats(planned, planned.units)
    corners, placed = getattr(outcome, "corners", None), getattr(outcome, "placed", None)
    if corners is not None and placed is not None:
        unit = float(packed.side_scale)
        for axis, side in enumerate(("height", "width", "length")):
            columns[f"from.{side}"] = corners[:, axis] * unit
            columns[f"to.{side}"] = (corners + placed)[:, axis] * unit
    return columns


def _floats(planned: Planned, units: NDArray[np.int64]) -> NDArray[np.float64]:
    """Units as the nearest numbers of the column."""
    numerator, denominator = planned.scale.as_integer_ratio()
    return np.asarray(units * float(numerator) / float(denominator))


def _drawn(planned: Planned) -> DrawnMeasure:
    exact = np.array_equal(planned.low, planned.high)
    ends = (
        (None, None) if exact else tuple(_floats(planned, e) for e in (planned.low, planned.high))
    )
    return DrawnMeasure(
        planned.name,
        _floats(planned, planned.units),
        float(planned.number(planned.full)),
        float(planned.number(planned.capacity)),
        *ends,
    )


def document_of(origin: Origin, packed: Packed) -> dict[str, object]:
    """The packing as JSON."""
    outcome = packed.outcome
    document: dict[str, object] = {"private": _PRIVATE} if origin.private else {}
    document |= {
        "parcels": len(origin.kept),
        "left_out": origin.rows - len(origin.kept),
        "bins": outcome.bins,
        "lower_bound": outcome.lower_bound,
        "gap": round(outcome.gap, 6),
        "proved": outcome.proved,
        "found_by": outcome.found_by,
        "bound_by": outcome.bound_by,
        "seconds": round(outcome.seconds, 3),
        "work": round(outcome.work, 6),
        "measures": [
            {
                "name": planned.name,
                "capacity": json_number(planned.number(planned.full)),
                "usable": json_number(planned.number(planned.capacity)),
                "loads": [json_number(planned.number(load)) for load in _loads(packed, planned)],
            }
            for planned in packed.planned
        ],
        "notices": list(packed.notices),
    }
    if packed.overload is not None:
        document["overload"] = [float(f"{chance:.3g}") for chance in packed.overload]
    return document


def _loads(packed: Packed, planned: Planned) -> NDArray[np.int64]:
    return packed.outcome.packing.loads(planned.units)


def show_packed(origin: Origin, packed: Packed) -> None:
    """The packing for people."""
    outcome = packed.outcome
    if origin.private:
        click.echo(_PRIVATE)
    parcels = f"{len(origin.kept):,} parcel{'s' * (len(origin.kept) != 1)}"
    click.echo(f"{parcels} in {outcome.bins:,} bin{'s' * (outcome.bins != 1)}")
    if outcome.proved:
        click.echo(f"No packing has fewer bins (proved: {outcome.bound_by})")
    else:
        click.echo(
            f"Every packing needs at least {outcome.lower_bound:,} bins ({outcome.bound_by}); at "
            f"most {outcome.bins - outcome.lower_bound:,} might be saved ({outcome.gap:.2%})"
        )
    left_out = origin.rows - len(origin.kept)
    if left_out:
        click.echo(f"{left_out:,} rows were left out: a measure is missing")
    if packed.overload is not None:
        click.echo(
            f"Each bin is overloaded with a probability of at most {packed.overload.max():.2g}"
        )
    click.echo(f"Found by {outcome.found_by}, {outcome.seconds:.1f} s\n")
    _print_loads(packed)


def _print_loads(packed: Packed) -> None:
    """The loads of the first bins."""
    bins = packed.outcome.bins
    counts = np.bincount(packed.outcome.packing.bin_of, minlength=bins)
    headings, columns = ["bin", "parcels"], [list(range(1, bins + 1)), counts.tolist()]
    for planned in packed.planned:
        loads = _loads(packed, planned)
        headings += [planned.name, "filled"]
        columns.append([planned.number(load) for load in loads[:_SHOWN]])
        columns.append([f"{load / planned.full:.1%}" for load in loads[:_SHOWN]])
    if packed.overload is not None:
        headings.append("overload at most")
        columns.append([f"{chance:.2g}" for chance in packed.overload[:_SHOWN]])
    rows = list(zip(*(column[:_SHOWN] for column in columns), strict=True))
    print_table(headings, rows)
    if bins > _SHOWN:
        click.echo(f"and {bins - _SHOWN:,} more; --out writes them all")
