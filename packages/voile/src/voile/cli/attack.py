"""``voile attack``: what an adversary makes of a release, by what the release guarantees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from voile.cli.attack_options import TakesSeveral, knowledge_said, options_of_attacks, used_by
from voile.cli.options import TABLE, engine_option
from voile_base.errors import InputError
from voile_base.ondemand import dataclass, on_demand
from voile_base.terminal import as_json, nodes_option, print_json, progress
from voile_base.values import Document, Json

if TYPE_CHECKING:
    from voile.attack import differencing, earlier_releases, registry
    from voile.attack.protocol import AttackOutcome
    from voile.cli import attack_call, trips
    from voile.cli import table as table_shown
    from voile.release.release import Release
    from voile.study import record as study_record
    from voile.study import single
    from voile.study.record import Skipped
    from voile.tabular import auditing, claims
else:
    differencing = on_demand("voile.attack.differencing")
    registry = on_demand("voile.attack.registry")
    earlier_releases = on_demand("voile.attack.earlier_releases")
    trips = on_demand("voile.cli.trips")
    single = on_demand("voile.study.single")
    table_shown = on_demand("voile.cli.table")
    auditing = on_demand("voile.tabular.auditing")
    claims = on_demand("voile.tabular.claims")
    attack_call = on_demand("voile.cli.attack_call")
    study_record = on_demand("voile.study.record")

__all__: list[str] = []


@click.command(
    "attack", cls=TakesSeveral, several="--previous", short_help="Run the adversaries on a release."
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
@nodes_option
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
def _attack(**options: Any) -> None:
    """Find the people whom the release in NEW gives away.

    If NEW permutes sensitive values within groups, (k,e)-anonymity, the first adversary has the
    published files only, knows people by their quasi-identifiers, and compares the groups of NEW
    with those of every OLD: a person has a value that is in all of his or her groups, and one
    that is not accounted for by others.

    For all other releases he knows the exact values of people in INPUT and looks for their rows in
    NEW. With --against, all other adversaries follow him in a table: linkage by a prosecutor, a
    journalist or a marketer, membership, tracing of rows, and those after sensitive values.
    --attack runs the ones that it names, and no others.

    If NEW holds tables of counts and sums, he works out suppressed cells from published ones.

    If NEW shows trips, --roads lets adversaries follow them on a map.

    NEW stands before --previous. Where it stands nowhere else, the last name behind --previous is
    NEW.
    """
    call = attack_call.AttackCall.of(options)
    with progress() as stage:
        stage("reading")
        if (tables := claims.released_cells(call.release)) is not None:
            reason = "the folder does not hold rows, but tables, which are attacked by themselves"
            call.refuse("previous", "against", "plan", "attack", "roads", "seed", reason=reason)
            stage("working out suppressed cells")
            audits = auditing.audit_released(tables, auditing.AuditRules())
            table_shown.show_audits(audits, as_json=call.as_json, private=False)
            return
        new = call.read(call.release)
        if call.roads:
            trips.follow(call, new, stage)()
            return
        of_maps = ("nodes", "fastest", "movement", "vehicle", "knows", "places", "pictures")
        call.refuse(*of_maps, reason="it is about a map; give that too, with --roads")
        if "latitude" in new.roles and not call.attack:
            msg = "the release shows trips; give a map on which to follow them, with --roads"
            raise InputError(msg)
        first = None
        if not call.attack:
            first = _difference if differencing.permutes_sensitive(new) else _identify
        report = first(call, new, stage) if first else _Report()
        if call.attack or call.against:
            report = _with_others(report, call, new, stage)
    report.show(as_json=call.as_json)


@dataclass(frozen=True)
class _Report:
    """What came of the attacks on a release, the first of them in full."""

    document: Document = field(default_factory=dict)
    """The first attack, for JSON."""
    tell: Callable[[], None] = lambda: None
    """Tells of the first attack."""
    outcomes: tuple[AttackOutcome, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    """Attacks that make no sense for the release."""
    private: bool = True

    def show(self, *, as_json: bool) -> None:
        """Print all of it."""
        mark = {"private": study_record.PRIVATE} if self.private else {}
        if as_json:
            several = {
                "attacks": [outcome.document() for outcome in self.outcomes],
                "skipped": [{"name": one.name, "reason": one.reason} for one in self.skipped],
            }
            only = self.outcomes or self.skipped
            print_json({**mark, **self.document, **(several if only else {})})
            return
        if self.private:
            click.echo(study_record.PRIVATE)
        self.tell()
        if self.document and (self.outcomes or self.skipped):
            click.echo()
        if len(self.outcomes) == 1 and not self.document:
            attack_call.show_outcome(self.outcomes[0])
        else:
            attack_call.show_side_by_side(self.outcomes, self.skipped)


def _difference(
    call: attack_call.AttackCall, new: Release, stage: Callable[[str], None]
) -> _Report:
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
    result = differencing.DifferencingAttack(**told).run(new, call.earlier, names)
    checked = None
    if call.against:
        checked = earlier_releases.VictimCounts.of(result.victims, call.original, result.sensitive)
    verified = {"verification": checked.document()} if checked else {}
    return _Report(
        document={**result.document(), **verified},
        tell=lambda: attack_call.show_exposure(result, checked),
        private=checked is not None,
    )


def _identify(call: attack_call.AttackCall, new: Release, stage: Callable[[str], None]) -> _Report:
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
    adversary = registry.attack_named(_FIRST, **_knowledge(call, _FIRST))
    found = call.evidence(new, stage, strict=True).evidence([adversary])
    if found.attacks_skipped:
        return _Report(skipped=found.attacks_skipped)
    (outcome,) = found.attacks
    return _Report(document=outcome.document(), tell=lambda: attack_call.show_outcome(outcome))


def _with_others(
    report: _Report, call: attack_call.AttackCall, new: Release, stage: Callable[[str], None]
) -> _Report:
    """The report with the attacks that were asked for, or with all that it does not have yet."""
    if call.against is None:
        msg = "attacks are judged by the private original; give it, with --against"
        raise InputError(msg)
    told = "differencing" if differencing.permutes_sensitive(new) else _FIRST
    names = call.attack or tuple(name for name in registry.attack_names() if name != told)
    if call.attack:
        used = frozenset[str]().union(*map(used_by, names))
        call.refuse_all_said(but=used, reason="no attack that is named has a use for it")
    found = call.evidence(new, stage, strict=bool(call.attack)).evidence(
        registry.attack_named(name, **_knowledge(call, name)) for name in dict.fromkeys(names)
    )
    if call.attack and found.attacks_skipped:
        one = found.attacks_skipped[0]
        msg = f"the attack {one.name!r} makes no sense here: {one.reason}"
        raise InputError(msg)
    return replace(
        report,
        outcomes=(*report.outcomes, *found.attacks),
        skipped=(*report.skipped, *found.attacks_skipped),
    )


_FIRST = "identification"
_OF_RELEASES = ("k", "e", "most")
"""What is said of comparing releases, which needs no private file."""


def _knowledge(call: attack_call.AttackCall, name: str) -> Json:
    """What was said of the adversary, as far as this one has a use for it."""
    said = knowledge_said(name, call.said, lambda path: call.people(path, call.told))
    if call.previous and "earlier" in registry.ATTACKS.fields_of(name):
        said["earlier"] = call.earlier
        said["names"] = [str(folder) for folder in (call.release, *call.previous)]
    if call.told and call.told.method and "choice_of" in registry.ATTACKS.fields_of(name):
        said["choice_of"] = single.chooser(call.told, call.engine)
    return said


# Behind the options of all releases, in the order of attacks; --seed and --json stay last.
_attack.params[-2:-2] = options_of_attacks().values()
