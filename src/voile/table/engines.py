"""Engines by the names that ``--engine`` gives them, each imported when it is asked for.

Another package adds an engine by an entry point of the group ``voile.engines``: a class whose
constructor takes nothing, and that has the verbs of ``protocol.Engine``.
"""

from __future__ import annotations

from voile.registry import Registry
from voile.table.protocol import Engine

__all__ = ["AUTO", "ENGINES", "engine_of"]

ENGINES: Registry[Engine] = Registry(
    group="voile.engines",
    what="an engine",
    own={"polars": "voile.table.polars_engine:PolarsEngine"},
    offers=("scan", "of_native", "of_arrow"),
)

AUTO = "auto"
"""The engine that Voile chooses: the one on this machine."""


def engine_of(asked: Engine | str) -> Engine:
    """An engine, or the one of a name; raises ``InputError`` where there is none."""
    if not isinstance(asked, str):
        return asked
    return ENGINES.make("polars" if asked == AUTO else asked, {})
