"""From published or private numbers of parcels to bins: what is packed, how, and what it costs.

One task says what is known of the parcels, what bins hold, which numbers to plan with, and whether
a probability of overload is to be kept; ``pack`` chooses the solver: one measure, several, boxes,
or the robust one.  The result is what ``voile pack`` shows and writes of a packing.

What it gives: whole numbers to plan with, from a value, an interval, or a value with noise; and
the distribution of the true number, for the robust mode.

Source: the seed's optimizer module, "Privacy-Preserving Bin-Packing With Differential Privacy"
(IEEE OJ-CS 2022): the mean or the upper end of each interval, and a safety margin.  Departure:
where the noise of a published value is known, the mean is that of the true number given what is
published, not the published value: that is often clamped to 0, and a truck full of "weightless"
parcels is overloaded many times over.

What holds: exact numbers are packed exactly, however many decimals they have, as long as sums
stay below 2**60 units.  Published numbers are rounded upwards to a ten-millionth of the capacity,
and a capacity is rounded downwards, so no bin is overfull by a rounding.  A published number may
be negative or above the capacity, which true ones are not: it is moved to the nearest possible
one, and a parcel that then fills a bin has it for itself.

Cost: linear in n; Python integers only where 64 bits are too few.

Measures of a packing of published parcels on the true ones, which are private: the seed's objective
ratio o / o_n, with o the bins (or cost) of the packing of published values and o_n that of the true
ones; feasibility, the share of bins within capacity on the true values; and how heavy the heaviest
overload is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from voile.schema.numbers import ExactNumbers, decimals_of, json_number, unscaled
from voile.table.opening import write_columns
from voile_base.errors import InputError
from voile_base.ondemand import dataclass
from voile_base.terminal import print_table
from voile_pack.distributions import Distributions, NoisyValues, PublishedNoise
from voile_pack.drawing import DrawnMeasure, draw_bins
from voile_pack.geometry import BoxInstance, Turns, fitting_turns
from voile_pack.instance import PackingResult, Progress, Stop, ignore
from voile_pack.robust import RobustOutcome, require_probability
from voile_pack.solve import Solver
from voile_pack.vector import VectorInstance

__all__ = [
    "PICTURES",
    "Boxes",
    "Limit",
    "Origin",
    "Packed",
    "ParcelMeasure",
    "PlannedMeasure",
    "Task",
    "Use",
    "bin_loads",
    "feasibility",
    "heaviest_overload",
    "objective_ratio",
    "write_packed",
]

_EXACT_TOTAL = 2**60
_FINEST_DECIMALS = 30
_FINEST = 10**7
"""Units of a capacity in which published numbers are packed."""


@dataclass(frozen=True)
class Use:
    """Which number to plan with where only an interval is known: how much of it to count on.

    None is the mean; 1 the upper end; else the share of cases in which the true number is below.
    """

    quantile: Decimal | None = None

    @classmethod
    def of(cls, text: str) -> Use:
        """Read mean, upper or quantile:0.9; raises ``InputError``."""
        if text in {"mean", "upper"}:
            return cls(None if text == "mean" else Decimal(1))
        name, _, number = text.partition(":")
        try:
            share = Decimal(number)
        except ArithmeticError:
            share = Decimal(0)
        if name != "quantile" or not 0 < share < 1:
            raise InputError(
                f"{text!r} is no way to plan: give mean, upper, or quantile:Q with Q between 0 and "
                "1, such as quantile:0.9"
            )
        return cls(share)


@dataclass(frozen=True, eq=False)
class ParcelMeasure:
    """One measure of n parcels, such as their weight, as far as it is known.

    Either ``value`` alone, which is then exact; or ``low`` and ``high``, the ends of intervals;
    or all three, where a value was published with noise and an interval around it.
    """

    name: str
    value: ExactNumbers | None
    low: ExactNumbers | None = None
    high: ExactNumbers | None = None
    noise: PublishedNoise | None = None
    rows: NDArray[np.int64] | None = None
    """Shape (n,): the row of each parcel in its table, for messages; 1 to n by default."""

    @property
    def exact(self) -> bool:
        """Whether the numbers are the true ones."""
        return self.low is None

    def row(self, index: int) -> int:
        """The row in the table, from 1, of the parcel at an index, from 0."""
        return index + 1 if self.rows is None else int(self.rows[index])

    def plan(self, limit: Limit, use: Use) -> PlannedMeasure:
        """Whole numbers to plan with; a notice for whatever had to be moved.

        Raises ``InputError``, with row numbers and counts only, where a parcel is certainly
        negative or heavier than a bin.
        """
        usable = limit.usable
        scale = _unit(self, limit)
        capacity = int(usable / scale)
        if capacity < 1:
            raise InputError(f"{self.name}: the capacity is below the smallest unit of the column")
        full = int(Fraction(limit.capacity) / scale)
        surely = self.value if self.low is None else self.low
        assert surely is not None
        certain = _ceilings(surely, scale)
        chosen = _ceilings(_chosen(self, limit, use), scale)
        if self.exact or (self.noise is None and self.value is None):
            _refuse_impossible(self, certain, full)
        notices = _moved(self, chosen, capacity)
        high = chosen if self.high is None else _ceilings(self.high, scale)
        low = chosen if self.low is None else certain
        return PlannedMeasure(
            name=self.name,
            units=np.clip(chosen, 0, capacity).astype(np.int64),
            capacity=capacity,
            full=full,
            low=np.clip(low, 0, full).astype(np.int64),
            high=np.clip(high, 0, full).astype(np.int64),
            scale=scale,
            notices=notices,
        )

    def distributions(self, limit: Limit) -> Distributions:
        """The distributions of the true numbers given what is known, in units of the column.

        A true number is at least 0 and fits into a bin.  Raises ``InputError`` where the noise of a
        published value is not known.
        """
        capacity = float(limit.capacity)
        if self.low is None or self.high is None:
            assert self.value is not None
            return Distributions.exact(_floats(self.value))
        low, high = _floats(self.low), _floats(self.high)
        if self.value is None:
            return Distributions.uniform(np.clip(low, 0, capacity), np.clip(high, 0, capacity))
        if self.noise is None:
            raise InputError(
                f"{self.name}: these values have noise, and how much is not known; give the "
                "release folder, whose release.json tells it"
            )
        values = NoisyValues(_floats(self.value), low, high)
        return values.distributions(self.noise, capacity)


@dataclass(frozen=True)
class Limit:
    """What a bin holds of one measure, and the share of it that is kept free."""

    capacity: Decimal
    margin: Decimal = Decimal(0)
    """At least 0 and below 1."""

    def __post_init__(self) -> None:
        if not (self.capacity.is_finite() and self.capacity > 0):
            raise InputError(f"the capacity must be a positive number, not {self.capacity}")
        if not 0 <= self.margin < 1:
            raise InputError("the margin must be at least 0 and below 100 %")

    @property
    def usable(self) -> Fraction:
        """What may be planned to be in a bin."""
        return Fraction(self.capacity) * (1 - Fraction(self.margin))


@dataclass(frozen=True, eq=False)
class PlannedMeasure:
    """One measure in whole units: what to plan with, and what is known of it.

    All arrays have shape (n,).
    """

    name: str
    units: NDArray[np.int64]
    """What is planned, within 0 and ``capacity``."""
    capacity: int
    """What may be planned in a bin: the margin is taken off."""
    full: int
    """What a bin holds."""
    low: NDArray[np.int64]
    high: NDArray[np.int64]
    """Ends of the intervals; what is planned, where the numbers are exact."""
    scale: Fraction
    """What a unit is, in units of the column."""
    notices: tuple[str, ...] = ()

    def expecting(self, numbers: NDArray[np.float64]) -> PlannedMeasure:
        """The same measure with expected numbers of the column, (n,), as what is planned."""
        units = np.rint(numbers / float(self.scale)).astype(np.int64)
        return replace(self, units=units, notices=())

    def number(self, units: int) -> Decimal:
        """Units as a number of the column."""
        exact = Fraction(int(units)) * self.scale
        ten = Decimal(10) ** 12
        whole = round(exact * int(ten))
        return unscaled(whole, 12)


def _plan_sides(
    sides: Sequence[ParcelMeasure], box: Sequence[Decimal], turns: Turns, use: Use
) -> tuple[NDArray[np.int64], NDArray[np.int64], Fraction]:
    """Sides of boxes (n, 3) and of a bin (3,) in whole units, and what a unit is.

    Raises ``InputError``, with row numbers and counts only, where a side is not positive or a box
    does not fit into a bin in any turn that is allowed.
    """
    longest = Limit(max(box))
    scale = min(_unit(side, longest) for side in sides)
    whole = np.array([int(Fraction(side) / scale) for side in box])
    if (whole < 1).any():
        raise InputError("the sides of a bin must be positive")
    columns = []
    for side in sides:
        units = _ceilings(_chosen(side, longest, use), scale)
        if side.exact:
            _refuse(side, units <= 0, "not positive", "mend the rows or leave them out")
        units = np.clip(units, 1, whole.max() + 1)
        columns.append(units.astype(np.int64))
    sizes = np.column_stack(columns)
    allowed = fitting_turns(sizes, whole, turns).any(axis=1)
    _refuse(sides[0], ~allowed, "too large for a bin in every turn", "give larger bins")
    return sizes, whole, scale


def _unit(measure: ParcelMeasure, limit: Limit) -> Fraction:
    """The unit: a power of ten as fine as exact numbers are or sums allow; see the module."""
    columns = [c for c in (measure.value, measure.low, measure.high) if c is not None]
    rows = max(len(column) for column in columns)
    decimals, most = _FINEST_DECIMALS, _FINEST
    if measure.exact:
        usable = decimals_of(limit.capacity) + decimals_of(limit.margin)
        decimals = max(usable, *(column.scale for column in columns))
        most = _EXACT_TOTAL // (rows + 1)
    while decimals > -_FINEST_DECIMALS and limit.capacity.scaleb(decimals) > most:
        decimals -= 1
    return Fraction(10) ** -decimals


def _ceilings(numbers: ExactNumbers, scale: Fraction) -> NDArray[Any]:
    """Numbers in whole units, rounded upwards; Python integers where 64 bits are too few."""
    factor = Fraction(1, 10**numbers.scale) / scale
    up, down = factor.numerator, factor.denominator
    units = numbers.units
    largest = int(np.abs(units).max(initial=0))
    if units.dtype == object or largest * up >= _EXACT_TOTAL:
        units = units.astype(object)
    return np.asarray(-((-units * up) // down))


def _chosen(measure: ParcelMeasure, limit: Limit, use: Use) -> ExactNumbers:
    """The numbers to plan with."""
    value, low, high = measure.value, measure.low, measure.high
    if low is None or high is None:
        assert value is not None
        return value
    if use.quantile == 1:
        return high
    if use.quantile is not None:
        if value is None:
            spread = Distributions.uniform(_floats(low), _floats(high))
            return _rounded(spread.quantile(float(use.quantile)))
        return _rounded(measure.distributions(limit).quantile(float(use.quantile)))
    if value is not None:
        return value if measure.noise is None else _rounded(measure.distributions(limit).mean)
    scale = max(low.scale, high.scale)
    return ExactNumbers(_sum(low.rescaled(scale), high.rescaled(scale)) * 5, scale + 1)


def _rounded(numbers: NDArray[np.float64]) -> ExactNumbers:
    """Numbers that are estimates anyway, to six decimals: exact ones of 17 digits are slow."""
    return ExactNumbers.of(np.round(numbers, 6))


def _sum(first: ExactNumbers, second: ExactNumbers) -> NDArray[Any]:
    return np.asarray(first.units.astype(object) + second.units.astype(object))


def _floats(numbers: ExactNumbers) -> NDArray[np.float64]:
    if numbers.units.dtype == object or numbers.scale > 22:
        return np.array([float(number) for number in numbers.decimals()], np.float64)
    return np.asarray(numbers.units / 10.0**numbers.scale)


def _refuse_impossible(measure: ParcelMeasure, certain: NDArray[Any], full: int) -> None:
    _refuse(measure, certain < 0, "negative", "mend the rows or leave them out")
    cure = "give a larger capacity or leave them out"
    _refuse(measure, certain > full, "beyond the capacity of a bin", cure)


def _refuse(measure: ParcelMeasure, wrong: Any, what: str, cure: str) -> None:
    indices = np.flatnonzero(wrong)
    if len(indices):
        are = "1 parcel is" if len(indices) == 1 else f"{len(indices):,} parcels are"
        first = measure.row(int(indices[0]))
        raise InputError(f"{measure.name}: {are} {what} (the first in row {first:,}); {cure}")


def _moved(measure: ParcelMeasure, chosen: NDArray[Any], capacity: int) -> tuple[str, ...]:
    alone, negative = int((chosen > capacity).sum()), int((chosen < 0).sum())
    notices = []
    if alone:
        what = "parcels are" if alone > 1 else "parcel is"
        notices.append(
            f"{measure.name}: {alone:,} {what} planned beyond what a bin may hold; each gets a bin "
            "of its own"
        )
    if negative:
        what = "values are" if negative > 1 else "value is"
        notices.append(f"{measure.name}: {negative:,} published {what} below zero; planned as zero")
    return tuple(notices)


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

    def pack(
        self,
        stop: Stop | None = None,
        progress: Progress = ignore,
        solver: Solver = "auto",
    ) -> Packed:
        """Pack the parcels of a task; raises ``InputError`` where one cannot be packed."""
        if self.boxes:
            return _pack_boxes(self, self.boxes, stop, progress)
        pairs = list(zip(self.measures, self.limits, strict=True))
        planned = tuple(measure.plan(limit, self.use) for measure, limit in pairs)
        notices = tuple(notice for one in planned for notice in one.notices)
        if self.robust is not None and not all(measure.exact for measure in self.measures):
            distributions = [measure.distributions(limit) for measure, limit in pairs]
            usable = [float(limit.usable) for limit in self.limits]
            outcome: PackingResult = RobustOutcome.solve(
                distributions, usable, self.robust, stop, progress
            )
            expected = zip(planned, distributions, strict=True)
            return Packed(
                outcome, tuple(one.expecting(distribution.mean) for one, distribution in expected)
            )
        instance = VectorInstance(
            np.column_stack([one.units for one in planned]),
            np.array([one.capacity for one in planned]),
            tuple(one.name for one in planned),
        )
        return Packed(instance.solve(stop, progress, solver), planned, notices)


@dataclass(frozen=True, eq=False)
class Packed:
    """A packing, and what was planned in it."""

    outcome: PackingResult
    planned: tuple[PlannedMeasure, ...]
    notices: tuple[str, ...] = ()
    side_scale: Fraction = Fraction(1)
    """Of boxes: what a unit of their sides is, in units of the columns."""

    @property
    def overload(self) -> NDArray[np.float64] | None:
        """For the robust mode, a bound on the probability of overload of each bin, (bins,)."""
        return self.outcome.overload if isinstance(self.outcome, RobustOutcome) else None


def _pack_boxes(task: Task, boxes: Boxes, stop: Stop | None, progress: Progress) -> Packed:
    sizes, box, scale = _plan_sides(boxes.sides, boxes.box, boxes.turns, task.use)
    weights = [m.plan(c, task.use) for m, c in zip(task.measures, task.limits, strict=True)]
    instance = BoxInstance(
        sizes=sizes,
        box=box,
        weights=weights[0].units if weights else np.zeros(len(sizes), np.int64),
        capacity=weights[0].capacity if weights else 1,
        turns=boxes.turns,
    )
    volume = int(box.prod())
    volumes = PlannedMeasure(
        name="volume",
        units=instance.volumes,
        capacity=volume,
        full=volume,
        low=instance.volumes,
        high=instance.volumes,
        scale=scale**3,
    )
    outcome = instance.solve(stop, progress)
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

    def document(self, packed: Packed) -> dict[str, object]:
        """The packing as JSON."""
        outcome = packed.outcome
        document: dict[str, object] = {"private": _PRIVATE} if self.private else {}
        document |= {
            "parcels": len(self.kept),
            "left_out": self.rows - len(self.kept),
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
                    "loads": [
                        json_number(planned.number(load)) for load in _loads(packed, planned)
                    ],
                }
                for planned in packed.planned
            ],
            "notices": list(packed.notices),
        }
        if packed.overload is not None:
            document["overload"] = [float(f"{chance:.3g}") for chance in packed.overload]
        return document

    def show(self, packed: Packed) -> None:
        """The packing for people."""
        outcome = packed.outcome
        if self.private:
            click.echo(_PRIVATE)
        parcels = f"{len(self.kept):,} parcel{'s' * (len(self.kept) != 1)}"
        click.echo(f"{parcels} in {outcome.bins:,} bin{'s' * (outcome.bins != 1)}")
        if outcome.proved:
            click.echo(f"No packing has fewer bins (proved: {outcome.bound_by})")
        else:
            click.echo(
                f"Every packing needs at least {outcome.lower_bound:,} bins ({outcome.bound_by}); "
                f"at most {outcome.bins - outcome.lower_bound:,} might be saved ({outcome.gap:.2%})"
            )
        left_out = self.rows - len(self.kept)
        if left_out:
            click.echo(f"{left_out:,} rows were left out: a measure is missing")
        if packed.overload is not None:
            click.echo(
                f"Each bin is overloaded with a probability of at most {packed.overload.max():.2g}"
            )
        click.echo(f"Found by {outcome.found_by}, {outcome.seconds:.1f} s\n")
        _print_loads(packed)


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


def _assignment(origin: Origin, packed: Packed) -> dict[str, NDArray[np.generic]]:
    """For each parcel its row in INPUT, from 1, its bin, from 1, and what was planned."""
    outcome = packed.outcome
    columns: dict[str, NDArray[np.generic]] = {
        "row": origin.kept + 1,
        "bin": outcome.packing.bin_of + 1,
    }
    for planned in packed.planned:
        columns[f"planned.{planned.name}"] = _in_measure(planned, planned.units)
    corners, placed = getattr(outcome, "corners", None), getattr(outcome, "placed", None)
    if corners is not None and placed is not None:
        unit = float(packed.side_scale)
        for axis, side in enumerate(("height", "width", "length")):
            columns[f"from.{side}"] = corners[:, axis] * unit
            columns[f"to.{side}"] = (corners + placed)[:, axis] * unit
    return columns


def _in_measure(planned: PlannedMeasure, units: NDArray[np.int64]) -> NDArray[np.float64]:
    """Units as the nearest numbers of the column."""
    numerator, denominator = planned.scale.as_integer_ratio()
    return np.asarray(units * float(numerator) / float(denominator))


def _drawn(planned: PlannedMeasure) -> DrawnMeasure:
    exact = np.array_equal(planned.low, planned.high)
    ends = (
        (None, None)
        if exact
        else tuple(_in_measure(planned, e) for e in (planned.low, planned.high))
    )
    return DrawnMeasure(
        planned.name,
        _in_measure(planned, planned.units),
        float(planned.number(planned.full)),
        float(planned.number(planned.capacity)),
        *ends,
    )


def _loads(packed: Packed, planned: PlannedMeasure) -> NDArray[np.int64]:
    return packed.outcome.packing.loads(planned.units)


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


def objective_ratio(published: float, true: float) -> float:
    """Bins or cost of packing the published values over those of the true ones, both positive.

    Above 1 the published values cost bins; below 1 bins are overloaded.
    """
    return published / true


def bin_loads(values: NDArray[np.int64], bin_of: NDArray[np.int64]) -> NDArray[np.int64]:
    """What each bin carries, (bins,) or (bins, d), of true values (n,) or (n, d)."""
    bins = int(bin_of.max(initial=-1)) + 1
    loads = np.zeros((bins, *values.shape[1:]), values.dtype)
    np.add.at(loads, bin_of, values)
    return loads


def feasibility(loads: NDArray[np.int64], capacity: int | NDArray[np.int64]) -> float:
    """Share of the bins that stay within capacity, in every dimension; 1 for no bins."""
    if not len(loads):
        return 1.0
    within = np.asarray(loads <= capacity).reshape(len(loads), -1).all(axis=1)
    return float(within.mean())


def heaviest_overload(loads: NDArray[np.int64], capacity: int | NDArray[np.int64]) -> float:
    """The largest excess of a bin as a share of the capacity, in any dimension; 0 for none."""
    return float(np.max(loads / capacity - 1.0, initial=0.0))
