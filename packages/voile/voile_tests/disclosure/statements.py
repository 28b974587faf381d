"""Any disclosure that a method could state."""

from __future__ import annotations

from decimal import Decimal

from hypothesis import strategies as st

from voile.disclosure.exact import Blanked, Exact, Numbered, Permuted, Withheld
from voile.disclosure.foreign import Altered, Typical
from voile.disclosure.interval import Generalized, Interval
from voile.disclosure.masked import NoiseAdded, Randomized, RankSwapped, Shuffled, Swapped
from voile.disclosure.replaced import (
    Averaged,
    Cluster,
    Moved,
    Noisy,
    PlanarZones,
    Remaining,
    StatedCorrelatedGaussian,
    StatedPlanarLaplace,
    StatedRoadMap,
    TurningLaplace,
)
from voile.disclosure.shown import Disclosure, GroupNumbering

__all__ = ["DISCLOSURES", "SHOWN"]

NUMBERS = st.floats(-1e9, 1e9)
POSITIVE = st.floats(1e-6, 1e9)
CHANCES = st.floats(0, 1)
LEVELS = st.integers(0, 9) | st.just("differs")
DEGREES = st.none() | st.tuples(st.floats(-90, 90), st.floats(-180, 180))


def several(values):
    """One value or more, as a tuple."""
    return st.lists(values, min_size=1, max_size=3).map(tuple)


MAPS = st.builds(
    StatedRoadMap,
    name=st.text(),
    digest=st.text(),
    within=st.integers(1, 99),
    bounds=st.tuples(POSITIVE, POSITIVE),
    cell_metres=POSITIVE,
    cells=st.tuples(st.integers(1, 99), st.integers(1, 99)),
)
ZONES = st.builds(
    PlanarZones,
    levels=several(POSITIVE),
    radii=several(POSITIVE),
    centre=DEGREES,
    by=st.sampled_from(["published", "true"]),
    map=st.none() | MAPS,
    factor=st.floats(0.1, 1),
)
LAWS = (
    st.builds(StatedPlanarLaplace)
    | st.builds(TurningLaplace, deviation=POSITIVE, start=st.sampled_from(["uniform", "zero"]))
    | st.builds(StatedCorrelatedGaussian, tau=POSITIVE)
)
CLUSTERS = st.builds(
    Cluster,
    scale=POSITIVE,
    half_width=POSITIVE,
    share=CHANCES,
    low=st.none() | NUMBERS,
    high=st.none() | NUMBERS,
    own=CHANCES,
    other=CHANCES,
)
SHOWN = (
    st.builds(Exact)
    | st.builds(Altered, share=st.floats(0.001, 1))
    | st.builds(Blanked)
    | st.builds(Averaged, scale=POSITIVE)
    | st.builds(RankSwapped, distance=st.floats(0.001, 1), margin=st.none() | st.just("kept"))
    | st.builds(Shuffled, explained=st.floats(0, 1), margin=st.none() | st.just("kept"))
    | st.builds(Swapped, margin=st.none() | st.just("kept"))
    | st.builds(
        NoiseAdded, law=st.sampled_from(["normal", "laplace", "multiplied"]), deviation=POSITIVE
    )
    | st.builds(Randomized, values=st.just(("f", None)), matrix=st.just(((0.75, 0.25), (0.0, 1.0))))
    | st.builds(Typical, differs=st.floats(0.001, 0.999))
    | st.builds(Permuted, within=st.none() | st.just("file"))
    | st.builds(Numbered)
    | st.builds(Withheld)
    | st.builds(Generalized, level=LEVELS)
    | st.builds(
        Interval, level=LEVELS, ends=st.sampled_from(["columns", "text", "period", "range"])
    )
    | st.builds(
        Noisy,
        step=POSITIVE,
        clusters=several(CLUSTERS),
        clamp=st.none() | st.tuples(NUMBERS, NUMBERS),
        ends=st.sampled_from(["columns", "text"]),
    )
    | st.builds(
        Moved,
        coordinate=st.sampled_from(["latitude", "longitude"]),
        law=LAWS,
        zones=ZONES,
        decimals=st.integers(0, 9),
        destination=DEGREES,
    )
    | st.builds(Remaining, zones=ZONES, destination=DEGREES)
)
GROUPS = st.builds(
    GroupNumbering,
    column=st.just("group"),
    made=st.sampled_from(["alike", "clusters", "blocks"]),
    by=several(st.sampled_from("abc")),
)
DISCLOSURES = st.builds(
    Disclosure,
    columns=st.dictionaries(st.sampled_from("abc"), SHOWN, max_size=3),
    groups=GROUPS,
    sampled=st.none() | st.decimals("0.01", "0.99", places=2).map(Decimal),
)
