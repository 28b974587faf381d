"""The kinds of showing a column, by the names that documents give them.

Another package adds a kind by an entry point of the group ``voile.shown``.
"""

from __future__ import annotations

from voile.disclosure.shown import ShownColumn
from voile_base.registry import Registry

__all__ = ["SHOWN"]

SHOWN: Registry[ShownColumn] = Registry(
    group="voile.shown",
    what="a kind of showing",
    own={
        "exact": "voile.disclosure.exact:Exact",
        "generalized": "voile.disclosure.generalized:Generalized",
        "interval": "voile.disclosure.interval:Interval",
        "set": "voile.disclosure.value_set:ValueSet",
        "noisy": "voile.disclosure.noisy:Noisy",
        "perturbed": "voile.disclosure.perturbed:Perturbed",
        "permuted": "voile.disclosure.permuted:Permuted",
        "altered": "voile.disclosure.altered:Altered",
        "typical": "voile.disclosure.typical:Typical",
        "moved": "voile.disclosure.moved:Moved",
        "remaining": "voile.disclosure.moved:Remaining",
        "numbered": "voile.disclosure.numbered:Numbered",
        "withheld": "voile.disclosure.withheld:Withheld",
        "label": "voile.disclosure.aggregate:Label",
        "synthetic": "voile.disclosure.synthetic:Synthetic",
        "aggregate": "voile.disclosure.aggregate:Aggregate",
    },
    offers=("model_fields", "published", "evidence", "covered", "breaches"),
)
