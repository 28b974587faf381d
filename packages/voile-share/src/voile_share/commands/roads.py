"""``voile share roads``: the road map that the tracking page draws, from a map in a file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
import numpy as np

from voile_base.durable import appearing, check_new_file
from voile_base.errors import InputError, nearest
from voile_base.ondemand import on_demand
from voile_base.terminal import as_json as json_option
from voile_base.terminal import nodes_option, print_json, progress, say, telling_what_is_done

if TYPE_CHECKING:
    from voile_geo.roads import drawing as roads_drawing
    from voile_geo.roads import reading as roads_reading
    from voile_geo.roads.network import RoadNetwork
    from voile_share import map as share_map
    from voile_share.map import RoadMap, Streets
else:
    roads_drawing = on_demand("voile_geo.roads.drawing")
    roads_reading = on_demand("voile_geo.roads.reading")
    share_map = on_demand("voile_share.map")

__all__: list[str] = []

_LARGE = 1_500_000
"""Bytes, packed: some 10 s over a slow mobile network."""


@click.command("roads", short_help="Make the road map that the tracking page draws.")
@click.argument("source", metavar="FILE", type=click.Path(path_type=Path))
@click.option(
    "--out",
    required=True,
    type=click.Path(path_type=Path),
    help="The map to be written: a file that does not exist yet, such as roads.json.",
)
@nodes_option
@click.option(
    "--tolerance",
    metavar="METRES",
    type=click.FloatRange(0, 1000),
    default=3.0,
    show_default=True,
    help="How far a road of the map may be off; more makes the map smaller.",
)
@click.option(
    "--smallest",
    metavar="RANK",
    default="service",
    show_default=True,
    help="Leave out what is less than this: motorway, primary, secondary, tertiary, street or "
    "service.",
)
@click.option(
    "--attribution",
    metavar="TEXT",
    help="Whose map it is, as the page says it [default: OpenStreetMap's contributors].",
)
@json_option
def _roads_command(
    source: Path,
    out: Path,
    nodes: Path | None,
    tolerance: float,
    smallest: str,
    attribution: str | None,
    as_json: bool,
) -> None:
    """Make the road map that the tracking page draws from the map in FILE.

    FILE is a map of OpenStreetMap (.osm, .osm.gz, .osm.bz2, .osm.pbf), GraphML, GeoJSON with lines,
    or a table of edges. Only roads for cars are drawn, with their names where FILE has them. Names
    of towns are in maps of OpenStreetMap and, as points, in GeoJSON.

    Browsers get the whole map, since asking for parts of it would tell where they look. So let FILE
    hold what trucks drive through, and no more.
    """
    # Maps and their libraries load slowly.

    check_new_file(out, [".json"])
    with progress() as stage:
        stage("reading the map")
        streets = _with_places(_streets(roads_reading.read_roads(source, nodes), smallest), source)
        stage("making it small")
        said = roads_drawing.ATTRIBUTION if attribution is None else attribution
        made = streets.compact(tolerance, said)
        with appearing([out]) as (hidden,):
            hidden.write_bytes(made.encoded)
    with telling_what_is_done(f"the map stands at {out}"):
        _tell(made, out, as_json=as_json)


def _streets(network: RoadNetwork, smallest: str) -> share_map.Streets:
    """The roads as plain arrays, without those of lesser ranks."""
    if smallest not in share_map.RANKS:
        known = ", ".join(share_map.RANKS)
        msg = f"there is no rank {smallest!r}{nearest(smallest, share_map.RANKS)} (known: {known})"
        raise InputError(msg)
    rank = np.full(network.edges, share_map.rank_of(None))
    if network.class_of is not None:
        rank = np.array([share_map.rank_of(name) for name in network.classes])[network.class_of]
    shown = rank <= share_map.RANKS.index(smallest)
    if not shown.any():
        msg = f"the map has no road of rank {smallest} or above; name a lesser one by --smallest"
        raise InputError(msg)
    ends = network.source[shown], network.target[shown]
    name_of = None if network.name_of is None else network.name_of[shown]
    return share_map.Streets(
        network.latitude, network.longitude, *ends, rank[shown], network.names, name_of
    )


def _with_places(streets: Streets, source: Path) -> Streets:
    """With the named places of the map."""
    places = (
        share_map.MapLabel(one.name, one.kind, one.latitude, one.longitude)
        for one in roads_reading.read_places(source)
    )
    return replace(streets, places=tuple(places))


def _tell(made: RoadMap, out: Path, *, as_json: bool) -> None:
    sizes = {"bytes": len(made.encoded), "gzipped": len(made.gzipped)}
    if len(made.gzipped) > _LARGE:
        say(
            f"voile: every browser loads {len(made.gzipped) / 1e6:.1f} MB for this map; less would "
            "do with a smaller area, --tolerance 10, or --smallest tertiary."
        )
    if as_json:
        counts = {"lines": made.lines, "points": made.points, "names": made.names}
        print_json({"out": str(out), **counts, **sizes})
        return
    click.echo(
        f"{out}: {made.lines:,} lines of {made.points:,} points and {made.names:,} names, "
        f"{sizes['bytes'] / 1e6:.2f} MB "
        f"({sizes['gzipped'] / 1e6:.2f} MB packed by gzip)"
    )
    said = made.document["attribution"]
    click.echo(f"The page says whose map it is: {said}" if said else "The page names no source.")
