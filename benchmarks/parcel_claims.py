"""The seed's claims about private parcels, each judged by a number of ours.

The first five are those of its abstract and its conclusions; the others are what its figures show.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from benchmarks.parcel_identification import Identification
from benchmarks.parcel_results import Results
from benchmarks.timing import seconds_text
from voile.dp.sampling import delta_of

__all__ = ["Claim", "claims"]

DP, SEED = "dp-generalization", "dp-generalization, the seed's"
CLUSTERS, ONE, PUBLIC = (
    "clusters from data, the seed's",
    "one cluster from data",
    "clusters, public bounds",
)
SYNTACTIC = ("flash", "ola", "k-optimize")
BETA = Decimal("0.7")
SMALLEST_K, LARGEST_K = 2, 6
ROWS = 50
AS_GOOD = 0.02
"""Differences of o / o_n, and of shares of bins, that count as none."""


@dataclass(frozen=True)
class Claim:
    """What the seed says, and what was found."""

    text: str
    verdict: str
    """Confirmed, refuted, or partly."""
    number: str


def claims(results: Results, found: Sequence[Identification]) -> list[Claim]:
    """Judge all claims."""
    return [
        *_privacy(),
        _efficiency(results),
        _performance(results),
        *_clusters(results),
        *_generalization(results),
        _suppression(results),
        _epsilon(results),
        _confidence(results),
        _identifiability(found),
    ]


def _privacy() -> Iterator[Claim]:
    first, last = (delta_of(k, BETA) for k in (SMALLEST_K, LARGEST_K))
    yield Claim(
        "Algorithm 1 gives better privacy than k-anonymity, at the k of its experiments",
        _verdict(float(first) < 0.01),
        f"with beta = {BETA} delta is {first:.2f} at k = {SMALLEST_K} and {last:.2f} at "
        f"k = {LARGEST_K}: a row may be given away with that probability",
    )
    # At its centre the density of Laplace noise is 1 / (2 scale), and all scales grow tenfold.
    loss = ROWS * math.log(10)
    yield Claim(
        "Algorithm 2 is differentially private",
        _verdict(loss <= 1),
        f"{ROWS} rows, one of which moves their range from 1 to 10: a privacy loss of up to "
        f"{ROWS} ln 10 = {loss:.0f} and more at epsilon = 1",
    )


def _efficiency(results: Results) -> Claim:
    times = {
        method: results.of(method=method, parameter="k").seconds for method in (DP, *SYNTACTIC)
    }
    times |= {method: results.of(method=method, parameter="epsilon").seconds
              for method in (CLUSTERS, ONE)}  # fmt: skip
    private, others = times[DP], min(times[method] for method in SYNTACTIC)
    return Claim(
        "its methods are more efficient than k-anonymity and plain noise",
        _verdict(private < others and times[CLUSTERS] < times[ONE]),
        ", ".join(f"{method} {seconds_text(seconds)}" for method, seconds in times.items()),
    )


def _performance(results: Results) -> Claim:
    """The best of either kind against the seed's two algorithms, by o / o_n."""
    middle = {
        SEED: results.of(parameter="k", value=3, method=SEED),
        CLUSTERS: results.of(parameter="epsilon", value=1.0, method=CLUSTERS),
        ONE: results.of(parameter="epsilon", value=1.0, method=ONE),
        **{name: results.of(parameter="k", value=3, method=name) for name in SYNTACTIC},
    }
    far = {name: some.distance("mean") for name, some in middle.items()}
    own, others = min(far[SEED], far[CLUSTERS]), min(far[name] for name in (ONE, *SYNTACTIC))
    return Claim(
        "its methods pack better than differential privacy or k-anonymity alone",
        _verdict(own < others),
        "mean |o/o_n - 1| at k = 3, epsilon = 1: "
        + ", ".join(f"{name} {distance:.3f}" for name, distance in far.items()),
    )


def _clusters(results: Results) -> Iterator[Claim]:
    yield _compared(
        results, "noise within clusters packs nearer to the true number of bins than plain noise",
        lambda some: -some.distance("mean"), "mean |o/o_n - 1|",
    )  # fmt: skip
    yield _compared(
        results, "noise within clusters overloads fewer bins than plain noise",
        lambda some: some.feasible("mean"), "feasible bins",
    )  # fmt: skip


def _compared(results: Results, text: str, merit: Callable[[Results], float], what: str) -> Claim:
    """Clusters against one cluster, in every cell of setting and epsilon."""
    noisy = results.of(parameter="epsilon")
    cells = sorted({(run.setting, run.value) for run in noisy.runs})
    better = sum(
        merit(noisy.of(setting=setting, value=value, method=CLUSTERS))
        > merit(noisy.of(setting=setting, value=value, method=ONE))
        for setting, value in cells
    )
    whole = [abs(merit(noisy.of(method=method))) for method in (CLUSTERS, ONE)]
    return Claim(
        text,
        _by_share(better / len(cells)),
        f"better in {better} of {len(cells)} cells of setting and epsilon; {what} over all: "
        f"{whole[0]:.3f} against {whole[1]:.3f}",
    )


def _generalization(results: Results) -> Iterator[Claim]:
    private, flash, ola = (
        results.of(parameter="k", method=method) for method in (DP, "flash", "ola")
    )
    distance = [some.distance("mean") for some in (private, flash, ola)]
    feasible = [some.feasible("mean") for some in (private, flash, ola)]
    yield Claim(
        "generalization with a private choice is as useful as Flash and OLA, on what it publishes",
        _verdict(
            distance[0] - min(distance[1:]) <= AS_GOOD
            and max(feasible[1:]) - feasible[0] <= AS_GOOD
        ),
        f"mean |o/o_n - 1| over k: {distance[0]:.3f} against {distance[1]:.3f} and "
        f"{distance[2]:.3f}; feasible bins {feasible[0]:.1%} against {feasible[1]:.1%} and "
        f"{feasible[2]:.1%}",
    )
    yield Claim(
        "it publishes as many parcels as Flash and OLA",
        _verdict(min(flash.share, ola.share) - private.share <= AS_GOOD),
        f"{private.share:.1%} (sampled with probability {BETA:.0%}) against {flash.share:.1%} and "
        f"{ola.share:.1%}",
    )


def _suppression(results: Results) -> Claim:
    shares = {
        method: [
            results.of(parameter="k", value=k, method=method).share for k in (SMALLEST_K, LARGEST_K)
        ]
        for method in (DP, SEED, "flash", "ola")
    }
    grows = sum(last < first for first, last in shares.values())
    return Claim(
        "suppression grows with k",
        _by_share(grows / len(shares)),
        f"published at k = {SMALLEST_K} and {LARGEST_K}: "
        + ", ".join(f"{name} {pair[0]:.1%}, {pair[1]:.1%}" for name, pair in shares.items()),
    )


def _epsilon(results: Results) -> Claim:
    pairs = {
        method: [
            results.of(parameter="epsilon", value=value, method=method).distance("mean")
            for value in (0.5, 5.0)
        ]
        for method in (CLUSTERS, ONE, PUBLIC)
    }
    nearer = sum(last < first for first, last in pairs.values())
    return Claim(
        "a larger epsilon packs nearer to the true number of bins",
        _by_share(nearer / len(pairs)),
        "mean |o/o_n - 1| at epsilon = 0.5 and 5: "
        + ", ".join(f"{name} {pair[0]:.3f}, {pair[1]:.3f}" for name, pair in pairs.items()),
    )


def _confidence(results: Results) -> Claim:
    ends = {
        method: [
            results.of(parameter="confidence", value=value, method=method) for value in (0.0, 0.9)
        ]
        for method in (CLUSTERS, ONE, PUBLIC)
    }
    more = sum(last.feasible("upper") > first.feasible("upper") for first, last in ends.values())
    return Claim(
        "a larger confidence makes more bins feasible, packed by upper ends, and costs bins",
        _by_share(more / len(ends)),
        "feasible bins and o/o_n at c = 0 and 0.9: "
        + ", ".join(
            f"{name} {first.feasible('upper'):.1%} at {first.ratio('upper'):.2f}, "
            f"{last.feasible('upper'):.1%} at {last.ratio('upper'):.2f}"
            for name, (first, last) in ends.items()
        ),
    )


def _identifiability(found: Sequence[Identification]) -> Claim:
    rates = {(one.method, one.value): one.success for one in found if one.parameter == "epsilon"}
    worse = all(rates[CLUSTERS, value] > rates[ONE, value] for value in (1.0, 5.0))
    return Claim(
        "clusters buy this utility with identifiability (not said by the seed)",
        _verdict(worse),
        "best guess right at epsilon = 1 and 5: "
        + ", ".join(
            f"{method} {rates[method, 1.0]:.2%}, {rates[method, 5.0]:.2%}"
            for method in (CLUSTERS, ONE)
        ),
    )


def _verdict(holds: bool) -> str:
    return "confirmed" if holds else "refuted"


def _by_share(share: float) -> str:
    """Of comparisons that come out as the claim says."""
    return "confirmed" if share >= 0.9 else "refuted" if share <= 0.5 else "partly"
