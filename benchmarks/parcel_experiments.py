"""The seed's experiments: parcels published by each method, packed, and weighed; and its claims."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from time import process_time

import voile
from benchmarks.parcel_claims import claims
from benchmarks.parcel_identification import identifications, identifications_table
from benchmarks.parcel_instances import SETTINGS, instances
from benchmarks.parcel_publishing import Parcels, Publisher, Way, pack, publish
from benchmarks.parcel_results import Results, Run
from benchmarks.record import Measurement, Table, Target
from benchmarks.timing import seconds_text
from voile_base.errors import InfeasibleError
from voile_pack import Stop
from voile_pack.parcels import Use

__all__ = ["SERIES", "Series", "run", "runs_of", "series_table"]

SEED = 2022
REPETITIONS = 10
PACKING = 0.03
"""Processor seconds for the search of each packing."""
LEFT_OUT = Decimal("0.3")
"""What the syntactic methods may leave out: as many as a sample of 70 % does."""
MIDDLE_K, MIDDLE_EPSILON = 3, 1.0
WAYS = {"mean": Way(Use()), "upper": Way(Use.of("upper"))}

Make = Callable[..., Publisher]


def _private(choice: str, k: int, epsilon: float) -> Publisher:
    return voile.DPGeneralization(
        k=k,
        epsilon_choice=epsilon,
        choice=choice,  # type: ignore[arg-type]
        suppressed="carry",
    )


def _syntactic(algorithm: str, k: int) -> Publisher:
    return voile.Generalization(
        k=k,
        algorithm=algorithm,  # type: ignore[arg-type]
        suppression_limit=LEFT_OUT,
    )


def _noisy(
    bounds: str, shares: Sequence[str], epsilon: float, confidence: float = 0.7
) -> Publisher:
    return voile.ClusteredLaplace(
        epsilon=epsilon,
        shares=[Decimal(share) for share in shares],
        confidence=confidence,
        bounds=bounds,  # type: ignore[arg-type]
    )


FIVE, ONE = ("0.05", "0.3", "0.3", "0.3", "0.05"), ("1",)
PRIVATE: Mapping[str, Make] = {
    "dp-generalization": partial(_private, "expected"),
    "dp-generalization, the seed's": partial(_private, "sampled"),
}
SYNTACTIC: Mapping[str, Make] = {
    name: partial(_syntactic, name) for name in ("flash", "ola", "k-optimize")
}
NOISY: Mapping[str, Make] = {
    "clusters from data, the seed's": partial(_noisy, "data", FIVE),
    "one cluster from data": partial(_noisy, "data", ONE),
    "clusters, public bounds": partial(_noisy, "public", FIVE),
}


def _middle_private() -> dict[str, Make]:
    return {name: partial(make, epsilon=MIDDLE_EPSILON) for name, make in PRIVATE.items()}


@dataclass(frozen=True)
class Series:
    """One parameter varied, the others fixed, and the methods that have it."""

    parameter: str
    values: Sequence[float]
    methods: Mapping[str, Make]
    """From the value of the parameter to the publisher."""


SERIES = (
    Series(
        "k",
        (2, 3, 4, 5, 6),
        {**_middle_private(), **SYNTACTIC},
    ),
    Series(
        "epsilon",
        (0.5, 1.0, 2.0, 3.0, 5.0),
        {**{name: partial(make, MIDDLE_K) for name, make in PRIVATE.items()}, **NOISY},
    ),
    Series(
        "confidence",
        (0.0, 0.3, 0.6, 0.9),
        {name: partial(make, MIDDLE_EPSILON) for name, make in NOISY.items()},
    ),
)


def run() -> Measurement:
    """Run the three series in all settings, judge the claims, and show the numbers."""
    started = process_time()
    results = Results([one for series in SERIES for one in runs_of(series, REPETITIONS)])
    found = identifications({"epsilon": NOISY, "k": {**SYNTACTIC, **_middle_private()}}, SEED)
    judged = claims(results, found)
    return Measurement(
        question="Do private parcels pack as the seed says, and which of its claims hold?",
        data="; ".join(f"{name}: {text}" for name, text in SETTINGS.items()),
        seeds=f"instances {SEED}; each release the number of its repetition",
        protocol=f"{REPETITIONS} instances of each setting; public bounds: 0 and the heaviest "
        "parcel that the law allows; hierarchy: intervals of 1/100 of the bounds, 2/100, ... "
        "64/100, then all. "
        f"k varied at epsilon = {MIDDLE_EPSILON:g}, epsilon at k = {MIDDLE_K} and confidence 0.7, "
        f"confidence at epsilon = {MIDDLE_EPSILON:g}. epsilon of dp-generalization is "
        "epsilon_choice, beta = 0.7 (the sample costs 1.204 more); flash, ola and k-optimize may "
        f"leave out {LEFT_OUT:.0%} of the rows. Packed are the published rows, by the mean of "
        "their interval or the noisy value, and by the upper end; o: bins of the published "
        "weights, o_n: bins of the true weights of the same rows; off 1: mean |o/o_n - 1|; "
        "feasible: bins within capacity on true weights. Packings by voile_pack.solve within "
        f"{PACKING} s of processor. Means over settings and instances; time: processor seconds of "
        "publishing, warm",
        answer=" ".join(f"{claim.verdict.capitalize()}: {claim.text}." for claim in judged)
        + f" All runs took {process_time() - started:.0f} s of processor.",
        targets=[_target(results)],
        tables=[
            Table("The seed's claims", ("claim", "verdict", "number"),
                  [[claim.text, claim.verdict, claim.number] for claim in judged]),
            *(series_table(series, results) for series in SERIES),
            *(_settings_table(results, use) for use in WAYS),
            identifications_table(found),
        ],
    )  # fmt: skip


def runs_of(series: Series, repetitions: int) -> Iterator[Run]:
    """Every method and value on every instance; one release of each before is not timed."""
    for method, make in series.methods.items():
        for value in series.values:
            publisher = make(value)
            first = next(instances("I", 1, SEED))
            _run(Run(series.parameter, value, method, "I", 0, 0, {}), publisher, first, 0)
            for setting in SETTINGS:
                blank = Run(series.parameter, value, method, setting, 0, 0, {})
                for number, parcels in enumerate(instances(setting, repetitions, SEED)):
                    yield _run(blank, publisher, parcels, number)


def _run(blank: Run, publisher: Publisher, parcels: Parcels, number: int) -> Run:
    """One run with its numbers filled in; none where there is no release."""
    try:
        published = publish(parcels, publisher, voile.Randomness.seeded(number))
    except InfeasibleError:
        return blank
    stop = Stop(PACKING, process_time)
    packed = {name: pack(published, parcels.capacity, way, stop) for name, way in WAYS.items()}
    place = (blank.parameter, blank.value, blank.method, blank.setting)
    return Run(*place, published.share, published.seconds, packed)


def _target(results: Results) -> Target:
    """Generalized weights lie within their intervals, so that upper ends overload nothing."""
    share = min(results.of(method=method).feasible("upper") for method in (*PRIVATE, *SYNTACTIC))
    what = "feasible bins where generalized weights are packed by upper ends"
    return Target(what, "100%", f"{share:.0%}", share == 1)


def series_table(series: Series, results: Results) -> Table:
    """Means over all settings, by method and value."""
    lines = []
    for method in series.methods:
        for value in series.values:
            some = results.of(parameter=series.parameter, method=method, value=value)
            lines.append([method, f"{value:g}", *_cells(some)])
    return Table(
        f"{series.parameter} varied: means over all settings",
        (
            "method", series.parameter,
            "o/o_n, mean", "off 1, mean", "feasible, mean",
            "o/o_n, upper end", "off 1, upper end", "feasible, upper end",
            "rows published", "time", "runs without a release",
        ),
        lines,
    )  # fmt: skip


def _cells(some: Results) -> list[str]:
    if some.failures == len(some.runs):
        return [*[""] * 6, "0%", "", f"{some.failures} of {len(some.runs)}"]
    packed = [
        (f"{some.ratio(use):.3f}", f"{some.distance(use):.3f}", f"{some.feasible(use):.1%}")
        for use in WAYS
    ]
    return [
        *(cell for cells in packed for cell in cells),
        f"{some.share:.1%}",
        seconds_text(some.seconds),
        f"{some.failures} of {len(some.runs)}",
    ]


def _settings_table(results: Results, use: str) -> Table:
    """Methods by settings, at the middle of k and epsilon."""
    lines = []
    for series, value in zip(SERIES[:2], (MIDDLE_K, MIDDLE_EPSILON), strict=True):
        for method in series.methods:
            if series.parameter == "epsilon" and method in PRIVATE:
                continue  # the same as in the first series
            some = results.of(parameter=series.parameter, method=method, value=value)
            lines.append([method, *(_cell(some.of(setting=s), use) for s in SETTINGS)])
    return Table(
        f"By setting, k = {MIDDLE_K}, epsilon = {MIDDLE_EPSILON:g}: o/o_n and feasible bins, "
        f"packed by the {use}{' end' if use == 'upper' else ''}",
        ("method", *SETTINGS),
        lines,
    )


def _cell(some: Results, use: str) -> str:
    if some.failures == len(some.runs):
        return "no release"
    return f"{some.ratio(use):.2f}, {some.feasible(use):.0%}"
