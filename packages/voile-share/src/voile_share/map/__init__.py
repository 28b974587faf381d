"""The road map that the tracking page draws: one small JSON document for a whole city.

    ranks       how important a class of roads is
    trails      edges joined to long lines
    labels      names of streets and places
    document    the compact document, made and read

The page gets the whole map or none: asking for a part of it would tell where one looks.
"""

from voile_share.map.document import (
    RANKS,
    MapFile,
    MapLabel,
    RoadMap,
    Streets,
    compact_map,
    rank_of,
    read_map,
)

__all__ = [
    "RANKS",
    "MapFile",
    "MapLabel",
    "RoadMap",
    "Streets",
    "compact_map",
    "rank_of",
    "read_map",
]
