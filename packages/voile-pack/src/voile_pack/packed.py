"""What ``voile pack`` shows and writes of a packing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from numpy.typing import NDArray

from voile.schema.numbers import json_number
from voile.table.columns import write_columns
from voile_base.terminal import print_table
from voile_pack.drawing import DrawnMeasure, draw_bins

if TYPE_CHECKING:
    from voile_pack.packer import Packed
    from voile_pack.parcels import Planned

__all__ = ["PICTURES", "Origin", "document_of", "show_packed", "write_packed"]

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


def document_of(origin: Origin, packed: Packed) -> dict[str, Any]:
    """The packing as JSON."""
    outcome = packed.outcome
    document: dict[str, Any] = {"private": _PRIVATE} if origin.private else {}
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
