"""Following the trips of a release on a map, with a picture of each if they are asked for."""

from __future__ import annotations

from collections.abc import Callable

import click

from voile.attack.trajectory.knowing import TripKnowledge, read_movement, read_places
from voile.attack.trajectory.on_release import Limits, TripsOutcome, Watch, counted, follow_trips
from voile.cli.attack_call import AttackCall
from voile.cli.attack_shown import PRIVATE, show_followed
from voile.release.release import Release
from voile.report.html import require_report
from voile_base.durable import new_private_folder
from voile_base.errors import InputError
from voile_base.terminal import print_json
from voile_geo.roads.network import RoadNetwork
from voile_geo.roads.reading import read_roads

__all__ = ["follow"]


def follow(call: AttackCall, new: Release, stage: Callable[[str], None]) -> Callable[[], None]:
    """Follow the trips of a release on a map; how to show what came of it."""
    reason = "with --roads, trips are followed on a map"
    call.refuse("previous", "attack", reason=reason)
    call.refuse_all_said(but=("targets",), reason=reason)
    if call.against is None or call.roads is None:
        msg = "trips are judged by the true ones; give the private original, with --against"
        raise InputError(msg)
    limits = Limits(
        trips=100 if (trips := call.said["targets"]) is None else trips,
        fastest=None if call.fastest is None else call.fastest / 3.6,
        movement=None if call.movement is None else read_movement(call.movement),
    )
    knowledge = TripKnowledge(
        ends=call.knows,
        places=None if call.places is None else read_places(call.places),
        vehicle=call.vehicle,
    )
    original, draws = call.original, call.draws()
    stage("reading the map")
    roads = read_roads(call.roads, call.nodes)
    stage("following")

    def followed(watch: Watch | None) -> tuple[TripsOutcome, ...]:
        return follow_trips(
            new,
            original,
            roads,
            call.told.trajectory if call.told else None,
            limits=limits,
            knowledge=knowledge,
            randomness=draws,
            watch=watch,
        )

    outcomes = followed(None) if call.pictures is None else _drawn(call, roads, followed)
    if call.as_json:
        return lambda: print_json(
            {
                "private": PRIVATE,
                "adversaries": [outcome.document() for outcome in outcomes],
                "notes": list(outcomes[0].notes),
            }
        )

    def show() -> None:
        click.echo(PRIVATE)
        show_followed(outcomes)

    return show


def _drawn(
    call: AttackCall,
    roads: RoadNetwork,
    followed: Callable[[Watch], tuple[TripsOutcome, ...]],
) -> tuple[TripsOutcome, ...]:
    """Follow trips with a picture of each, in a new folder that appears whole."""
    from voile.cli.attack_pictures import Gallery  # noqa: PLC0415 - matplotlib is an extra

    assert call.pictures is not None, "pictures were asked for"
    require_report()
    with new_private_folder(call.pictures) as folder:
        gallery = Gallery(folder, roads)
        outcomes = followed(gallery)
        page = gallery.finish(call.release.resolve().name, outcomes[0].notes)
    maps = counted(len(gallery.trips), "map")
    click.echo(f"{maps} (private): {call.pictures / page}", err=True)
    return outcomes
