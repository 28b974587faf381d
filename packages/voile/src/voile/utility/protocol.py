"""What every measure of utility offers.

What one measure of utility came to: plain values, private as the original behind them.

Measures of utility by their names, each imported when it is asked for.

Another package adds a measure by an entry point of the group ``voile.measures``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, fields
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from voile.release.reading import People, PublishedRows
from voile_base.ondemand import dataclass
from voile_base.randomness import Randomness
from voile_base.registry import Registry
from voile_base.values import Json

__all__ = [
    "EVERY_ROW",
    "MEASURES",
    "MOST_ROWS",
    "Better",
    "Comparison",
    "Measure",
    "Measurement",
    "Sampled",
    "measure_named",
    "measure_names",
    "measures",
    "sample_notes",
    "sampled_rows",
]


Better = Literal["lower", "higher"]


@dataclass(frozen=True)
class Measurement:
    """How much of the original one measure finds in a release; private."""

    measure: str
    """Name, such as "normalized-certainty-penalty"."""
    title: str
    """The name as a reader sees it: "Normalized certainty penalty"."""
    value: float
    better: Better
    """Whether a lower or a higher value means a more useful release."""
    meaning: str
    """What the value says, in one sentence without a full stop."""
    untouched: float | None = None
    """The value of the original published as it is; None where there is no such."""
    useless: float | None = None
    """The value of a release that tells nothing; None where it is not bounded or not known."""
    parts: Mapping[str, float] = field(default_factory=dict)
    """The value of each column ("age"), pair ("age, sex") or task, where the measure has such."""
    notes: tuple[str, ...] = ()

    def document(self) -> Json:
        """All fields for JSON; ``study.record.MeasureDocument`` says what they are there."""
        held = {one.name: getattr(self, one.name) for one in fields(self)}
        return held | {"parts": dict(self.parts), "notes": list(self.notes)}


@dataclass(frozen=True, eq=False)
class Comparison:
    """A release beside its original; private."""

    published: PublishedRows
    original: People
    """The rows that went in, with the plan: hierarchies, bounds, texts for missing values."""
    randomness: Randomness
    """Draws queries, folds and the like."""
    held_out: People | None = None
    """Rows of the same origin that did not go in; None where none were held out."""


MOST_ROWS = 100_000
"""Rows of either side that are looked at one by one; of more, so many are drawn."""
Sampled = tuple[slice | NDArray[np.int64], slice | NDArray[np.int64]]
"""Which rows of the original are looked at, and which of the release."""
EVERY_ROW: Sampled = (slice(None), slice(None))


def sampled_rows(comparison: Comparison) -> Sampled:
    """The rows for measures that need rows and cannot count; the same for all of them.

    All where no side has more than ``MOST_ROWS``.
    """
    heights = comparison.original.frame.height, comparison.published.frame.height
    if max(heights) <= MOST_ROWS:
        return EVERY_ROW
    before, after = (
        np.sort(np.argpartition(words, MOST_ROWS)[:MOST_ROWS]) if rows > MOST_ROWS else slice(None)
        for side, rows in zip(("original", "release"), heights, strict=True)
        for words in [comparison.randomness.key("utility", "sample", side).stream(rows)]
    )
    return before, after


def sample_notes(comparison: Comparison, rows: Sampled) -> tuple[str, ...]:
    """What was drawn of how many, for whoever reads a measure; nothing where all were looked at."""
    if rows is EVERY_ROW:
        return ()
    original, release = comparison.original.frame.height, comparison.published.frame.height
    return (
        f"of a sample that all measures share which need rows: {min(original, MOST_ROWS):,} of "
        f"{original:,} original rows and {min(release, MOST_ROWS):,} of {release:,} published ones",
    )


class Measure(Protocol):
    """A measure of utility; an immutable object whose fields are its parameters."""

    @property
    def name(self) -> str:
        """The name by which a study asks for the measure."""

    def refusal(self, comparison: Comparison) -> str | None:
        """Why the measure makes no sense for a release, as a clause; None where it does."""

    def measure(self, comparison: Comparison) -> Sequence[Measurement]:
        """Measure a release; raises ``VoileError`` where release, original and plan disagree."""


MEASURES: Registry[Measure] = Registry(
    group="voile.measures",
    what="a measure",
    own={
        "precision": "voile.utility.information_loss:Precision",
        "normalized-certainty-penalty": "voile.utility.information_loss:NormalizedCertaintyPenalty",
        "non-uniform-entropy": "voile.utility.information_loss:NonUniformEntropy",
        "discernibility": "voile.utility.information_loss:Discernibility",
        "average-class-size": "voile.utility.information_loss:AverageClassSize",
        "suppressed-rows": "voile.utility.information_loss:SuppressedRows",
        "marginal-divergence": "voile.utility.marginals:MarginalDivergence",
        "pair-divergence": "voile.utility.marginals:PairDivergence",
        "correlation-distance": "voile.utility.divergence:CorrelationDistance",
        "table-divergence": "voile.utility.divergence:TableDivergence",
        "query-error": "voile.utility.aggregate_queries:RelativeQueryError",
        "il1s": "voile.utility.survey:InformationLossIL1s",
        "eigenvalue-ratio": "voile.utility.survey:EigenvalueRatio",
        "hellinger": "voile.utility.survey:HellingerDistance",
        "propensity-score": "voile.utility.survey:PropensityScore",
        "interval-overlap": "voile.utility.survey:IntervalOverlap",
        "weighted-totals": "voile.utility.survey:WeightedTotals",
        "machine-learning": "voile.utility.learning:MachineLearning",
        "trips": "voile.utility.trips:TripErrors",
    },
    offers=("name", "refusal", "measure"),
)
"""Those of cells first, then of columns, tables and tasks, then those of other packages."""


def measures() -> tuple[Measure, ...]:
    """All measures, with their default parameters."""
    return tuple(measure_named(name) for name in measure_names())


def measure_names() -> tuple[str, ...]:
    """The names of all measures."""
    return MEASURES.names


def measure_named(name: str, **parameters: object) -> Measure:
    """A measure with these parameters, and by default what its fields say.

    Raises ``InputError`` for a measure that there is not, for a parameter that it does not have,
    and as the measure itself does.
    """
    return MEASURES.make(name, parameters)
