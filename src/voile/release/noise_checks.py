"""What the statements of a release on its noise contradict: its cells, its intervals, its budgets.

Noise itself cannot be seen in an output.  These can:

- a noisy value lies on its grid and between its public bounds, and each interval is as wide around
  it as one of the scales makes it;
- an interval is as wide as its confidence asks of noise of its scale (eq. 23 of the source of
  ``publish.clustered_laplace``);
- noise of that scale costs what the claim says: range over scale, times the rows of a person; trips
  over scale, and passages; epsilon by zone as the levels over the radii say;
- the budgets of columns add up to the epsilon that is claimed, and rows were sampled with the
  probability that is.

Cost: a count of each noisy column with its interval.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from math import isclose

import numpy as np
from numpy.typing import NDArray

from voile.disclosure.aggregate import Aggregate
from voile.disclosure.interval import ends_of_texts
from voile.disclosure.moved import Moved, Remaining
from voile.disclosure.noisy import Cluster, Noisy
from voile.dp.accuracy import radius
from voile.release.claims import Claim, PlanarClaim, PrivacyClaim, PrivateFlows
from voile.release.claims import SampledGeneralization as Sampled
from voile.release.published import Published
from voile.release.reading.rows import floats_of, texts_of
from voile.table.arrays import series_of

__all__ = ["noise_breaches", "price_breaches"]

_ROUNDING = 1e-5
"""Relative: releases state some numbers with six digits."""
_PASSAGES = "passages"
"""The kind of cells of flows of which a trip counts for several."""

Floats = NDArray[np.float64]


def noise_breaches(published: Published, confidence: Decimal | None) -> Iterator[str]:
    """What columns with noise contradict; ``confidence`` is that of their intervals, if known."""
    for name, shown in published.disclosure.columns.items():
        if isinstance(shown, Noisy):
            yield from _cell_breaches(published, name, shown)
            if confidence is not None:
                step = Fraction(shown.step)
                scales = [Fraction(c.scale) / step for c in shown.clusters]
                widths = [Fraction(c.half_width) / step for c in shown.clusters]
                yield from _width_breaches(name, scales, widths, confidence)
        elif isinstance(shown, Aggregate):
            kinds = sorted(shown.scales.keys() | shown.half_widths.keys())
            if shown.scales.keys() != shown.half_widths.keys():
                yield f"column {name!r} has other scales of noise than intervals"
                continue
            scales = [Fraction(shown.scales[kind]) for kind in kinds]
            widths = [Fraction(shown.half_widths[kind]) for kind in kinds]
            stated = Decimal(str(shown.confidence))
            yield from _width_breaches(name, scales, widths, stated)


def price_breaches(published: Published, claim: Claim) -> Iterator[str]:
    """What a claim on noise costs by the scales that a release states, where it says another."""
    if isinstance(claim, PrivateFlows):
        yield from _flow_breaches(published, claim)
    elif isinstance(claim, PrivacyClaim):
        yield from _scale_breaches(published, claim)
    if isinstance(claim, PrivacyClaim) and claim.budget is not None:
        spent = sum((e for each in claim.budget.values() for e in each.values()), Decimal(0))
        if not isclose(spent, claim.epsilon, rel_tol=_ROUNDING):
            yield f"the budgets that it states add up to {spent}, and it claims {claim.epsilon}"
    if isinstance(claim, Sampled) and claim.beta != published.disclosure.sampled:
        yield "rows were sampled with another probability than the one that it claims"
    if isinstance(claim, PlanarClaim):
        yield from _zone_breaches(published, claim)


def _cell_breaches(published: Published, name: str, shown: Noisy) -> Iterator[str]:
    """Values off the grid or beyond the bounds, and intervals of no cluster."""
    columns = shown.published(name)
    counted = published.table.count(columns)
    read = [series_of(array) for array in counted.values]
    ends = [floats_of(each) for each in read]
    if shown.ends == "text":
        ends = [ends[0], *ends_of_texts(columns[1], texts_of(read[1]))]
        codes = counted.codes[:, [0, 1, 1]]
    else:
        codes = counted.codes
    value, low, high = (each[codes[:, place]] for place, each in enumerate(ends))
    absent = np.isnan(value)
    if (absent != np.isnan(low)).any() or (absent != np.isnan(high)).any():
        yield f"column {name!r} shows values without intervals, or intervals without values"
    value, low, high = value[~absent], low[~absent], high[~absent]
    slack = shown.step * 1e-3 + np.abs(value) * 1e-7
    off = np.abs(value - np.round(value / shown.step) * shown.step) > slack
    if off.any():
        yield f"column {name!r} has {off.sum():,} values that do not lie on the grid of its noise"
    least, most = shown.clamp or (-np.inf, np.inf)
    if ((value < least - slack) | (value > most + slack)).any():
        yield f"column {name!r} has values beyond its public bounds"
    fits = np.zeros(len(value), dtype=np.bool_)
    for cluster in shown.clusters:
        around = np.maximum(value - cluster.half_width, least), value + cluster.half_width
        near = np.abs(low - around[0]) <= slack
        fits |= near & (np.abs(high - np.minimum(around[1], most)) <= slack)
    if not fits.all():
        yield f"column {name!r} has {(~fits).sum():,} intervals other than those of its noise"


def _width_breaches(
    name: str, scales: list[Fraction], widths: list[Fraction], confidence: Decimal
) -> Iterator[str]:
    """Intervals that are not as wide as their confidence asks, all in steps of the grid."""
    for scale, width in zip(scales, widths, strict=True):
        asked = radius(scale.limit_denominator(10**12), confidence)
        if abs(width - asked) > 1 + asked * _ROUNDING:
            yield (
                f"column {name!r} has intervals that are not of confidence {confidence}, which "
                "it states"
            )


def _scale_breaches(published: Published, claim: PrivacyClaim) -> Iterator[str]:
    """Noise that is less than the epsilon of its column buys."""
    rows = claim.rows_per_person or 1
    for name, shown in published.disclosure.columns.items():
        if not isinstance(shown, Noisy):
            continue
        spent = (claim.budget or {}).get(name, {})
        epsilon = float(spent.get("discrete-laplace", claim.epsilon))
        for cluster in shown.clusters:
            width = _width(cluster, shown)
            if width and cluster.scale * epsilon < rows * width * (1 - _ROUNDING):
                yield (
                    f"column {name!r} has noise of scale {cluster.scale:.6g}, which is too little "
                    f"for the epsilon of {epsilon:g} that is claimed of it"
                )


def _width(cluster: Cluster, shown: Noisy) -> float:
    """The range of the values of a cluster; 0 where the release does not say it."""
    if cluster.low is not None and cluster.high is not None:
        return cluster.high - cluster.low
    whole = shown.clamp if len(shown.clusters) == 1 else None
    return whole[1] - whole[0] if whole else 0.0


def _flow_breaches(published: Published, claim: PrivateFlows) -> Iterator[str]:
    """Noise of counts that is not what a vehicle can change, over its epsilon."""
    budget: Mapping[str, Mapping[str, Decimal]] = claim.budget or {}
    for shown in published.disclosure.columns.values():
        if not isinstance(shown, Aggregate):
            continue
        for kind, scale in shown.scales.items():
            changes = claim.trips * ((claim.passages or 0) if kind == _PASSAGES else 1)
            spent = budget.get(kind, {}).get("discrete-laplace", claim.epsilon)
            if not isclose(scale * float(spent), changes, rel_tol=_ROUNDING):
                yield (
                    f"its counts of {kind} have noise of scale {scale:.6g}, which is not that of "
                    f"{changes} of a vehicle at the epsilon of {spent} that is claimed"
                )


def _zone_breaches(published: Published, claim: PlanarClaim) -> Iterator[str]:
    """Epsilons of positions that are not those of the zones that the release states."""
    for name, shown in published.disclosure.columns.items():
        if not isinstance(shown, Moved | Remaining):
            continue
        largest = max(shown.zones.levels) / min(shown.zones.radii)
        if claim.epsilon < largest * (1 - _ROUNDING):
            yield (
                f"column {name!r} has noise of {largest:.6g} per metre, and an epsilon of "
                f"{claim.epsilon:g} is claimed"
            )
