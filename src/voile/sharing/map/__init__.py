"""The road map that the tracking page draws: one small JSON document for a whole city.

    ranks       how important a class of roads is
    trails      edges joined to long lines
    simplify    bends that nobody sees, dropped
    document    the compact document, made and read
    serving     the document as a service sends it

The page gets the whole map or none: asking for a part of it would tell where one looks.
"""

from voile.sharing.map.document import RoadMap, Streets, compact_map
from voile.sharing.map.ranks import RANKS, rank_of
from voile.sharing.map.serving import MapFile, read_map

__all__ = ["RANKS", "MapFile", "RoadMap", "Streets", "compact_map", "rank_of", "read_map"]
