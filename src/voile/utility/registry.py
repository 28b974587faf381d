"""Measures of utility by their names, each imported when it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from importlib import import_module
from typing import Any

from voile.errors import InputError, nearest
from voile.utility.protocol import Measure

__all__ = ["MEASURES", "measure_named", "measure_names", "measures"]

MEASURES: Mapping[str, str] = {
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
    "query-error": "voile.utility.aggregate_queries:QueryError",
    "machine-learning": "voile.utility.learning:MachineLearning",
    "trips": "voile.utility.trips:TripErrors",
}
"""Where each measure is, as "module:Class": of cells first, then of columns, tables and tasks."""


def measures() -> tuple[Measure, ...]:
    """All measures, with their default parameters."""
    return tuple(measure_named(name) for name in MEASURES)


def measure_names() -> tuple[str, ...]:
    """The names of all measures."""
    return tuple(MEASURES)


def measure_named(name: str, **parameters: Any) -> Measure:
    """A measure with these parameters, and by default what its fields say.

    Raises ``InputError`` for a measure that there is not, for a parameter that it does not have,
    and as the measure itself does.
    """
    if name not in MEASURES:
        msg = (
            f"there is no measure {name!r}{nearest(name, MEASURES)} (known: {', '.join(MEASURES)})"
        )
        raise InputError(msg)
    module, title = MEASURES[name].split(":")
    made = getattr(import_module(module), title)
    known = [field.name for field in fields(made) if field.init]
    for given in parameters:
        if given not in known:
            msg = (
                f"the measure {name!r} has no parameter {given!r}{nearest(given, known)} "
                f"(known: {', '.join(known) or 'none'})"
            )
            raise InputError(msg)
    measure: Measure = made(**parameters)
    return measure
