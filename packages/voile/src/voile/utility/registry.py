"""Measures of utility by their names, each imported when it is asked for.

Another package adds a measure by an entry point of the group ``voile.measures``.
"""

from __future__ import annotations

from typing import Any

from voile.utility.protocol import Measure
from voile_base.registry import Registry

__all__ = ["MEASURES", "measure_named", "measure_names", "measures"]

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
        "correlation-distance": "voile.utility.correlation:CorrelationDistance",
        "table-divergence": "voile.utility.table_divergence:TableDivergence",
        "query-error": "voile.utility.aggregate_queries:RelativeQueryError",
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


def measure_named(name: str, **parameters: Any) -> Measure:
    """A measure with these parameters, and by default what its fields say.

    Raises ``InputError`` for a measure that there is not, for a parameter that it does not have,
    and as the measure itself does.
    """
    return MEASURES.make(name, parameters)
