"""``voile attack``: what an adversary makes of a release, by what the release guarantees."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from voile.attack.differencing import DifferencingAttack, permutes_sensitive
from voile.attack.outcome import AttackOutcome
from voile.attack.registry import ATTACKS, attack_named, attack_names
from voile.attack.verification import verify
from voile.cli.attack_options import knowledge_said, options_of_attacks, used_by
from voile.cli.attack_shown import (
    PRIVATE,
    show_exposure,
    show_followed,
    show_outcome,
    show_side_by_side,
)
from voile.cli.several import TakesSeveral
from voile.cli.show import as_json, engine_option, print_json, progress
from voile.cli.tables import TABLE
from voile.durable import new_private_folder
from voile.errors import InputError
from voile.publish.registry import read_plan
from voile.randomness import Randomness
from voile.release.release import Release
from voile.release.stored import read_release
from voile.schema.plan import Plan
from voile.table.opening import rows_in_memory
from voile.table.places import Place

if TYPE_CHECKING:
    from voile.attack.trajectory.on_release import TripsOutcome, Watch
    from voile.roads.network import RoadNetwork

__all__ = ["attack"]


@dataclass(frozen=True)
class _Call:
    """What was asked for; an option that was not given is None, empty or False."""

    release: Path
    previous: tuple[Path, ...]
    against: Place | None
    plan: Path | None
    seed: int | None
    attack: tuple[str, ...]
    roads: Path | None
    nodes: Path | None
    fastest: float | None
    movement: Path | None
    vehicle: str | None
    knows: tuple[str, ...]
    places: Path | None
    pictures: Path | None
    engine: str
    as_json: bool
    said: Mapping[str, Any]
    """The options that tell adversaries what they know."""

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> _Call:
        """A call with the values of all options."""
        own = {field.name for field in fields(cls)} - {"said"}
        said = {name: value for name, value in options.items() if name not in own}
        return cls(**{name: options[name] for name in own}, said=said)

    def read(self, release: Path) -> Release:
        """A release, in the engine that was asked for."""
        return read_release(release, engine=self.engine)

    def people(self, path: Place, plan: Plan | None) -> Any:
        """The rows of a private table, read by the engine that was asked for."""
        missing, texts = (plan.missing, plan.texts) if plan else ((), ())
        frame, _ = rows_in_memory(path, missing=missing, texts=texts, engine=self.engine)
        return frame

    @cached_property
    def told(self) -> Plan | None:
        """The plan of the original; None where none was named."""
        return read_plan(self.plan) if self.plan else None

    @cached_property
    def original(self) -> Any:
        """The rows of the private original, read once."""
        assert self.against is not None
        return self.people(self.against, self.told)

    @cached_property
    def earlier(self) -> list[Release]:
        """The earlier releases, read once."""
        return [self.read(folder) for folder in self.previous]

    def refuse(self, *options: str, reason: str) -> None:
        """Raise ``InputError`` where one of these options was given."""
        for option in options:
            value = self.said[option] if option in self.said else getattr(self, option)
            if value is not None and value != () and value is not False:
                msg = f"--{option.replace('_', '-')} is of no use here: {reason}"
                raise InputError(msg)

    def refuse_all_said(self, *, but: Collection[str] = (), reason: str) -> None:
        """Raise ``InputError`` where adversaries were told anything but these."""
        self.refuse(*(option for option in self.said if option not in but), reason=reason)


@click.command(
    cls=TakesSeveral, several="--previous", short_help="Run the adversaries on a release."
)
@click.argument("release", metavar="NEW", type=click.Path(path_type=Path))
@click.option(
    "--previous",
    metavar="OLD...",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Earlier releases of the same table, the newest first: all names up to the next option; "
    "may be repeated.",
)
@click.option(
    "--against",
    metavar="INPUT",
    type=TABLE,
    help="The private original: check which claims are true, or look for its people. The output "
    "is then private.",
)
@click.option(
    "--plan",
    metavar="PLAN",
    type=click.Path(path_type=Path),
    help="The plan of the original: texts that stand for missing values, hierarchies and bounds.",
)
@click.option(
    "--attack",
    metavar="NAME",
    multiple=True,
    help="Run this attack and no others that are not named; may be repeated.",
)
@click.option(
    "--roads",
    metavar="MAP",
    type=click.Path(path_type=Path),
    help="A road map, on which adversaries follow the trips of NEW: OpenStreetMap, GraphML, or a "
    "table of edges.",
)
@click.option(
    "--nodes",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The table of nodes that a table of edges refers to.",
)
@click.option(
    "--fastest",
    metavar="SPEED",
    type=float,
    help="No truck is faster than this, in km/h, for adversaries on a map [default: 101, and more "
    "where the map's signs or the trips of INPUT are faster].",
)
@click.option(
    "--movement",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="How trucks move, as adversaries on a map suppose it: speeds and traffic, in TOML.",
)
@click.option(
    "--vehicle",
    metavar="COLUMN",
    help="A column of INPUT that tells vehicles apart: the informed adversary has all days "
    "of each.",
)
@click.option(
    "--knows",
    type=click.Choice(["start", "destination", "stops"]),
    multiple=True,
    help="The informed adversary on a map knows this of every trip; may be repeated.",
)
@click.option(
    "--places",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Places at which the informed adversary on a map sees trucks, such as depots and doors "
    "of recipients who collude: a table with the columns latitude and longitude.",
)
@click.option(
    "--pictures",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Draw a map of each trip that is followed, and a page of them all; private.",
)
@engine_option
@click.option("--seed", type=int, help="Draw the same people every time; for experiments.")
@as_json
def attack(**options: Any) -> None:
    """Find the people whom the release in NEW gives away.

    If NEW permutes sensitive values within groups, (k,e)-anonymity, the first adversary has the
    published files only, knows people by their quasi-identifiers, and compares the groups of NEW
    with those of every OLD: a person has a value that is in all of his or her groups, and one
    that is not accounted for by others.

    For all other releases he knows the exact values of people in INPUT and looks for their rows in
    NEW. With --against, all other adversaries follow him in a table: linkage by a prosecutor, a
    journalist or a marketer, membership, tracing of rows, and those after sensitive values.
    --attack runs the ones that it names, and no others.

    If NEW shows trips, --roads lets adversaries follow them on a map.

    NEW stands before --previous. Where it stands nowhere else, the last name behind --previous is
    NEW.
    """
    call = _Call.of(options)
    with progress() as stage:
        stage("reading")
        new = call.read(call.release)
        if call.roads:
            _follow(call, new, stage)()
            return
        of_maps = ("nodes", "fastest", "movement", "vehicle", "knows", "places", "pictures")
        call.refuse(*of_maps, reason="it is about a map; give that too, with --roads")
        if "latitude" in new.roles and not call.attack:
            msg = "the release shows trips; give a map on which to follow them, with --roads"
            raise InputError(msg)
        first = None
        if not call.attack:
            first = _difference if permutes_sensitive(new) else _identify
        report = first(call, new, stage) if first else _Report()
        if call.attack or call.against:
            report = _with_others(report, call, new, stage)
    report.show(as_json=call.as_json)


@dataclass(frozen=True)
class _Report:
    """What came of the attacks on a release, the first of them in full."""

    document: Mapping[str, Any] = field(default_factory=dict)
    """The first attack, for JSON."""
    tell: Callable[[], None] = lambda: None
    """Tells of the first attack."""
    outcomes: tuple[AttackOutcome, ...] = ()
    skipped: tuple[tuple[str, str], ...] = ()
    """Names of attacks that make no sense for the release, and why."""
    private: bool = True

    def show(self, *, as_json: bool) -> None:
        """Print all of it."""
        mark = {"private": PRIVATE} if self.private else {}
        if as_json:
            several = {
                "attacks": [outcome.document() for outcome in self.outcomes],
                "skipped": [{"name": name, "reason": why} for name, why in self.skipped],
            }
            only = self.outcomes or self.skipped
            print_json({**mark, **self.document, **(several if only else {})})
            return
        if self.private:
            click.echo(PRIVATE)
        self.tell()
        if self.document and (self.outcomes or self.skipped):
            click.echo()
        if len(self.outcomes) == 1 and not self.document:
            show_outcome(self.outcomes[0])
        else:
            show_side_by_side(self.outcomes, self.skipped)


def _difference(call: _Call, new: Release, stage: Callable[[str], None]) -> _Report:
    """Compare releases."""
    if not call.against:
        reason = "it is about people in the private original; give that too, with --against"
        call.refuse("seed", reason=reason)
        call.refuse_all_said(but=_OF_RELEASES, reason=reason)
    if call.plan and not call.against:
        msg = "--plan describes the private original; give that too, with --against"
        raise InputError(msg)
    stage("comparing")
    names = [str(folder) for folder in (call.release, *call.previous)]
    told = {name: value for name in _OF_RELEASES if (value := call.said[name]) is not None}
    result = DifferencingAttack(**told).run(new, call.earlier, names)
    checked = None
    if call.against:
        checked = verify(result.victims, call.original, result.sensitive)
    verified = {"verification": checked.document()} if checked else {}
    return _Report(
        document={**result.document(), **verified},
        tell=lambda: show_exposure(result, checked),
        private=checked is not None,
    )


def _identify(call: _Call, new: Release, stage: Callable[[str], None]) -> _Report:
    """Look for people's rows."""
    call.refuse(
        *_OF_RELEASES,
        reason="it is about comparing releases whose values are permuted in groups",
    )
    if call.against is None:
        msg = (
            "this adversary knows people's exact values and looks for their rows; give the "
            "private original, with --against"
        )
        raise InputError(msg)
    people = _People.of(call)
    stage("looking for people")
    adversary = attack_named(_FIRST, **_knowledge(call, _FIRST, people))
    if reason := adversary.refusal(new, people.plan):
        return _Report(skipped=((_FIRST, reason),))
    outcome = adversary.run(new, people.original, people.plan, people.draws)
    return _Report(document=outcome.document(), tell=lambda: show_outcome(outcome))


def _with_others(
    report: _Report, call: _Call, new: Release, stage: Callable[[str], None]
) -> _Report:
    """The report with the attacks that were asked for, or with all that it does not have yet."""
    if call.against is None:
        msg = "attacks are judged by the private original; give it, with --against"
        raise InputError(msg)
    people = _People.of(call)
    told = "differencing" if permutes_sensitive(new) else _FIRST
    names = call.attack or tuple(name for name in attack_names() if name != told)
    if call.attack:
        used = frozenset[str]().union(*map(used_by, names))
        call.refuse_all_said(but=used, reason="no attack that is named has a use for it")
    outcomes, skipped = list(report.outcomes), list(report.skipped)
    for name in dict.fromkeys(names):
        stage(name)
        adversary = attack_named(name, **_knowledge(call, name, people))
        reason = adversary.refusal(new, people.plan)
        try:
            if reason is None:
                outcomes.append(adversary.run(new, people.original, people.plan, people.draws))
        except InputError as error:
            if call.attack:
                raise
            reason = str(error).rstrip(".")
        if reason is not None and call.attack:
            msg = f"the attack {name!r} makes no sense here: {reason}"
            raise InputError(msg)
        if reason is not None:
            skipped.append((name, reason))
    return replace(report, outcomes=tuple(outcomes), skipped=tuple(skipped))


def _follow(call: _Call, new: Release, stage: Callable[[str], None]) -> Callable[[], None]:
    """Follow the trips of a release on a map; how to show what came of it."""
    # Maps and inference load what no other attack needs.
    from voile.attack.trajectory.knowing import TripKnowledge, read_places  # noqa: PLC0415
    from voile.attack.trajectory.movements import read_movement  # noqa: PLC0415
    from voile.attack.trajectory.on_release import Limits, follow_trips  # noqa: PLC0415
    from voile.roads.reading import read_roads  # noqa: PLC0415

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
    people = _People.of(call)
    stage("reading the map")
    roads = read_roads(call.roads, call.nodes)
    stage("following")

    def followed(watch: Watch | None) -> tuple[TripsOutcome, ...]:
        return follow_trips(
            new,
            people.original,
            roads,
            people.plan.trajectory if people.plan else None,
            limits=limits,
            knowledge=knowledge,
            randomness=people.draws,
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
    return lambda: show_followed(outcomes)


def _drawn(
    call: _Call,
    roads: RoadNetwork,
    followed: Callable[[Watch], tuple[TripsOutcome, ...]],
) -> tuple[TripsOutcome, ...]:
    """Follow trips with a picture of each, in a new folder that appears whole."""
    from voile.attack.trajectory.selection import counted  # noqa: PLC0415
    from voile.cli.attack_pictures import Gallery  # noqa: PLC0415 - matplotlib is an extra
    from voile.report.html import require_report  # noqa: PLC0415

    assert call.pictures is not None, "pictures were asked for"
    require_report()
    with new_private_folder(call.pictures) as folder:
        gallery = Gallery(folder, roads)
        outcomes = followed(gallery)
        page = gallery.finish(call.release.resolve().name, outcomes[0].notes)
    maps = counted(len(gallery.trips), "map")
    click.echo(f"{maps} (private): {call.pictures / page}", err=True)
    return outcomes


_FIRST = "identification"
_OF_RELEASES = ("k", "e", "most")
"""What is said of comparing releases, which needs no private file."""


@dataclass(frozen=True, eq=False)
class _People:
    """What the private files say of people."""

    original: Any
    plan: Plan | None
    draws: Randomness | None

    @classmethod
    def of(cls, call: _Call) -> _People:
        """Read the files that were named."""
        return cls(
            original=call.original,
            plan=call.told,
            draws=None if call.seed is None else Randomness.seeded(call.seed),
        )


def _knowledge(call: _Call, name: str, people: _People) -> dict[str, Any]:
    """What was said of the adversary, as far as this one has a use for it."""
    said = knowledge_said(name, call.said, lambda path: call.people(path, people.plan))
    if call.previous and "earlier" in ATTACKS.fields_of(name):
        said["earlier"] = call.earlier
        said["names"] = [str(folder) for folder in (call.release, *call.previous)]
    if people.plan and people.plan.method and "choice_of" in ATTACKS.fields_of(name):
        from voile.study.choosing import chooser  # noqa: PLC0415 - publishers load more

        said["choice_of"] = chooser(people.plan, call.engine)
    return said


# Behind the options of all releases, in the order of attacks; --seed and --json stay last.
attack.params[-2:-2] = options_of_attacks().values()
