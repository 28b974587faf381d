"""``voile share demo``: the sharing service on one machine, and trucks that drive."""

from __future__ import annotations

import tempfile
import time
import webbrowser
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from voile_base.errors import InputError
from voile_base.ondemand import on_demand
from voile_base.terminal import as_json as json_option
from voile_base.terminal import print_json, say

if TYPE_CHECKING:
    import numpy

    from voile_share import demo, ingest
    from voile_share import map as share_map
    from voile_share.demo import Demonstration, Spent
else:
    numpy = on_demand("numpy")
    demo = on_demand("voile_share.demo")
    ingest = on_demand("voile_share.ingest")
    share_map = on_demand("voile_share.map")

__all__: list[str] = []

_LOOK_SECONDS = 1.0
_ANY_AGE = 1e10


@click.command("demo", short_help="Drive trucks through a town, and follow their parcels.")
@click.option("--trucks", type=click.IntRange(1, 20), default=3, show_default=True)
@click.option(
    "--trace",
    "traces",
    metavar="FILE",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Drive along a recorded track (GPX) instead of the town's streets; one truck for each.",
)
@click.option(
    "--roads",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The road map under --trace: what `voile share roads` wrote.",
)
@click.option("--slot", type=click.IntRange(1, 3600), default=5, show_default=True, help="Seconds.")
@click.option(
    "--faster",
    type=click.FloatRange(0.1, 100),
    default=4.0,
    show_default=True,
    help="How many times as fast as recorded.",
)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="0: a free one.")
@click.option("--seconds", type=click.FloatRange(min=0), help="End after so long.")
@click.option(
    "--chain",
    metavar="MODE",
    type=click.Choice(["log", "storage", "anchor"]),
    is_flag=False,
    flag_value="log",
    help="Keep reports on a chain in the service's process: log (default), storage or anchor.",
)
@click.option("--open", "opens", is_flag=True, help="Open the first link in a browser.")
@json_option
def _demo_command(  # noqa: PLR0913, PLR0917 - one parameter for each option
    trucks: int,
    traces: tuple[Path, ...],
    roads: Path | None,
    slot: int,
    faster: float,
    port: int,
    seconds: float | None,
    chain: str | None,
    opens: bool,
    as_json: bool,
) -> None:
    """Start the sharing service on this machine, and drive a few trucks.

    Each truck carries a parcel. Printed are the links that its sender and its receiver would open:
    in a browser they show the parcel on a road map, and when to expect it. The last truck perturbs
    and encrypts by itself, so that the service sees ciphertext alone; the others are phones.

    With --chain reports go to a contract on an embedded Ethereum chain; what they cost is said at
    the end. There all trucks are phones, but for --chain anchor.

    Nothing of it is kept. Stop it by Ctrl-C.
    """
    if traces and roads is None:
        msg = "name the road map of the traces by --roads FILE (voile share roads makes one)"
        raise InputError(msg)
    if roads is not None and not traces:
        msg = "a road map goes with tracks: name them by --trace FILE"
        raise InputError(msg)
    town = demo.Town()
    drives = [_drive(path) for path in traces] or town.drives(trucks)
    road_map = share_map.MapFile.read(roads).body if roads else town.streets.compact().encoded
    with tempfile.TemporaryDirectory(prefix="voile-share-") as folder:
        place = Path(folder) / "service"
        pace = demo.Pace(slot, faster)
        with demo.Demonstration(place, drives, road_map, pace, port, chain) as running:
            _tell(running, as_json=as_json)
            if opens:
                webbrowser.open(running.addresses[0].address)
            _watch(running, seconds)
        if running.spent is not None:
            _tell_spent(running.spent)


def _drive(path: Path) -> demo.Drive:
    """The track in a file of GPX; raises ``InputError``."""
    try:
        body = path.read_bytes()
    except OSError as error:
        msg = f"{path}: it cannot be read ({error.strerror or 'input error'})"
        raise InputError(msg) from None
    try:
        rules = replace(ingest.BACKFILL, past=_ANY_AGE)
        track = ingest.Request("application/gpx+xml", body=body)
        fixes = track.decode(ingest.Arrival(time.time(), rules, "truck")).fixes
        times, first = numpy.unique([fix.time for fix in fixes], return_index=True)
        places = numpy.array([(fix.latitude, fix.longitude) for fix in fixes])[first]
        return demo.Drive(times, places[:, 0], places[:, 1])
    except InputError as error:
        msg = f"{path}: {error}"
        raise InputError(msg) from None


def _tell(running: Demonstration, *, as_json: bool) -> None:
    """The links, and what they are."""
    if as_json:
        links = [
            {"truck": one.truck, "party": one.party, "address": one.address}
            for one in running.addresses
        ]
        print_json({"links": links})
        return
    for one in running.addresses:
        click.secho(f"{one.truck}, {one.party} of its parcel", bold=True)
        click.echo(f"  {one.address}")
    say("Open them in a browser. Ctrl-C ends the demonstration.")


def _tell_spent(spent: Spent) -> None:
    """What the chain cost."""
    each = spent.gas // max(spent.reports, 1)
    say(
        f"Contract {spent.contract}: {spent.reports} reports in {spent.transactions} transactions, "
        f"{each:,} gas for each report."
    )


def _watch(running: Demonstration, seconds: float | None) -> None:
    """Until the time is over or somebody interrupts; trucks that arrived are told of once."""
    until = None if seconds is None else time.monotonic() + seconds
    arrived = False
    try:
        while until is None or time.monotonic() < until:
            running.wait(_LOOK_SECONDS)
            while running.troubles:
                say(running.troubles.pop())
            if running.has_arrived and not arrived:
                arrived = True
                say("All trucks have arrived, and their parcels are delivered.")
    except KeyboardInterrupt:
        say("The demonstration has ended.")
