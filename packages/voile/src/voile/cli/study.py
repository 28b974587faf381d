"""``voile study``: make one release, put it to the test, and report on both."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from voile.cli.options import (
    TABLE,
    believed_apart,
    engine_option,
    held_out_option,
    known_option,
    ledger_option,
    names_of,
    names_of_skipped,
    renderer,
    show_risks,
    targets_option,
    tell_left_out,
    utility_row,
)
from voile_base.errors import InputError
from voile_base.ondemand import leave_pandas_unloaded, on_demand
from voile_base.operating_system import keep_no_freed_memory
from voile_base.terminal import (
    as_json,
    nodes_option,
    print_json,
    print_table,
    progress,
    say,
    telling_what_is_done,
)

if TYPE_CHECKING:
    from voile.attack import protocol as attack_protocol
    from voile.audit import counting as audit_counting
    from voile.cli import attack_call
    from voile.cli import trips as cli_trips
    from voile.cli.trips import FollowedTrips
    from voile.policy import case as policy_case
    from voile.publish import registry as publish_registry
    from voile.release import folder as release_folder
    from voile.report import html
    from voile.study import documents, evidence, single
    from voile.study import record as study_record
    from voile.study import verdict as study_verdict
    from voile.study.record import AttackDocument, StudyRecord
    from voile.study.single import Study
    from voile.table import opening
    from voile.table.places import Place
    from voile_base import randomness
else:
    attack_protocol = on_demand("voile.attack.protocol")
    policy_case = on_demand("voile.policy.case")
    publish_registry = on_demand("voile.publish.registry")
    release_folder = on_demand("voile.release.folder")
    opening = on_demand("voile.table.opening")
    audit_counting = on_demand("voile.audit.counting")
    cli_trips = on_demand("voile.cli.trips")
    randomness = on_demand("voile_base.randomness")
    html = on_demand("voile.report.html")
    documents = on_demand("voile.study.documents")
    evidence = on_demand("voile.study.evidence")
    study_record = on_demand("voile.study.record")
    study_verdict = on_demand("voile.study.verdict")
    single = on_demand("voile.study.single")
    attack_call = on_demand("voile.cli.attack_call")

__all__: list[str] = []

_LARGE = "duckdb", "spark"
"""Engines that are asked for where memory is short of the table."""


@click.command("study", short_help="Make one release, put it to the test, report on both.")
@click.argument("source", metavar="INPUT", type=click.Path())
@click.option("--plan", required=True, type=click.Path(), help="The plan, in TOML.")
@click.option("--out", required=True, type=click.Path(), help="A folder that does not exist yet.")
@ledger_option
@click.option(
    "--seed",
    type=int,
    help="Repeatable draws, for experiments: the release is marked as unfit for publication.",
)
@targets_option
@held_out_option
@click.option(
    "--attacks",
    metavar="NAMES",
    help="The attacks to run, separated by commas [default: all that make sense].",
)
@click.option(
    "--risks",
    is_flag=True,
    help="Count the three risks of data protection, too: singling out, linkability, inference.",
)
@click.option(
    "--roads",
    metavar="MAP",
    type=click.Path(path_type=Path),
    help="Follow trips on this map, as `voile attack --roads` does, and show maps of the worst in "
    "the report.",
)
@nodes_option
@click.option(
    "--trips",
    type=click.IntRange(min=1),
    default=20,
    show_default=True,
    help="With --roads, follow at most so many trips, drawn at random.",
)
@click.option(
    "--register",
    metavar="FILE",
    type=TABLE,
    help="Everybody in the population, in whom population-map counts [default: as sampling weights "
    "tell].",
)
@known_option
@engine_option
@as_json
def _study_command(
    source: str,
    plan: str,
    out: str,
    ledger: str | None,
    seed: int | None,
    targets: int,
    held_out: float,
    attacks: str | None,
    risks: bool,
    roads: Path | None,
    nodes: Path | None,
    trips: int,
    register: Place | None,
    known: tuple[Path, ...],
    engine: str,
    as_json: bool,
) -> None:
    """Make one release of the table INPUT, attack it, measure it, and report.

    The new folder has two others: `release` is what `voile publish` makes, to be published;
    `private` has the record and the report, which were computed with the private original and must
    not leave. A ledger is charged as by `voile publish`, once, before anything is drawn.

    Some attacks and measures need rows that were not published: they look at a rehearsal, a release
    made like this one of fewer rows, which is neither written nor charged. So do the three risks,
    which are held against the rows that it left out.
    """
    leave_pandas_unloaded()
    if engine.startswith(_LARGE):
        keep_no_freed_memory()
    terms = evidence.EvidenceTerms(names_of(attacks), targets, held_out)
    instruments = evidence.Instruments.standard(terms.attacks)
    if risks:
        instruments = replace(instruments, risks=audit_counting.risks_of_rehearsal)
    if register is not None:
        instruments = _told(instruments, _everybody(register, Path(plan), engine))
    with progress() as stage:
        followed = _on_map(roads, nodes, trips, stage)
        study = single.make_study(
            source,
            Path(plan),
            out,
            ledger=ledger,
            seed=seed,
            terms=terms,
            instruments=instruments,
            render=_report_with(followed),
            beside=followed,
            engine=engine,
            known=known,
            progress=stage,
        )
    with telling_what_is_done(f"the study stands at {out}"):
        _tell(study, out, followed, known)
        if as_json:
            limits = study_verdict.limits_document(study_verdict.limits_of(study.record))
            print_json({**documents.record_document(study.record), "verdict": limits, "out": out})
        else:
            _show(study.record, followed)


def _tell_signed(release: Path, known: Sequence[Path]) -> None:
    """Signed releases, of those that were named as known, with the columns of a release."""
    places = [each for one in known for each in (one, *one.glob("*"), *one.glob("*/release"))]
    for other in policy_case.signed_like(release_folder.release_document(release), sorted(places)):
        say(
            f"voile: {other}: a signed release with the same columns, in no series with this one: "
            "whoever has both compares them. Publish this as a later release of a series, or not "
            "at all."
        )


def _told(instruments: evidence.Instruments, everybody: object) -> evidence.Instruments:
    """The same adversaries, who know everybody in the population."""
    known = attack_protocol.Knowledge(register=everybody)
    return replace(instruments, attacks=tuple(one.told(known) for one in instruments.attacks))


def _everybody(register: Place, plan: Path, engine: str) -> object:
    """The rows of a file of the population, read as the plan says; raises ``TableError``."""
    stated = publish_registry.read_plan(plan)
    rows, _ = opening.rows_in_memory(
        register, missing=stated.missing, texts=stated.texts, engine=engine
    )
    return rows


def _on_map(
    roads: Path | None, nodes: Path | None, trips: int, stage: Callable[[str], None]
) -> cli_trips.FollowedTrips | None:
    """Who follows trips on a map, which is read before anything is charged; None without one."""
    if roads is None:
        if nodes is not None:
            msg = "--nodes belongs to a map of roads: give it with --roads"
            raise InputError(msg)
        return None
    # Maps and inference load what no other study needs.

    stage("reading the map")
    return cli_trips.FollowedTrips.on(roads, nodes, trips)


def _report_with(followed: FollowedTrips | None) -> Callable[[StudyRecord], str]:
    """Draws the report, with what came of following trips; what it needs is loaded when called."""
    if followed is None:
        return renderer("render_study")

    def render(record: StudyRecord) -> str:

        return html.render_study(record, followed.found)

    return render


def _tell(study: Study, out: str, followed: FollowedTrips | None, known: Sequence[Path]) -> None:
    """What became of the release, on standard error."""
    private, release = study.publication.private, study.publication.release
    for notice in private.notices:
        say(f"voile: {notice}.")
    say(f"{out}/release: {private.told}")
    say(f"{release.guarantee.statement}.")
    _tell_signed(Path(out) / "release", known)
    if study.report is not None:
        say(f"{out}/private/report.html: the report, which must stay private.")
    else:
        say(f"{out}/private/record.json: the record, which must stay private.")
    if study.no_report:
        say(f"No report was drawn: {study.no_report}.")
    found = None if followed is None else followed.found
    if found is not None and found.left_out:
        say(f"No trip was followed: {found.left_out}.")
    elif found is not None:
        say(f"{len(found.trips):,} trips were followed on the map: what was found is private, too.")
    elif "latitude" in release.roles:
        say(
            "Adversaries who follow trips need a map: voile study with --roads MAP, or voile "
            f"attack {out}/release --against INPUT --roads MAP"
        )
    if not release.publishable:
        say(f"NOT fit for publication: {randomness.UNFIT}.")


def _show(record: StudyRecord, followed: FollowedTrips | None) -> None:
    """What was found, on standard output."""
    click.echo(study_record.PRIVATE)
    rehearsed = set(record.evidence["rehearsed"])
    if record.attacks:
        print_table(
            ["attack", "succeeds", "believed", "guessing", "of"],
            [_attack_row(attack, rehearsed) for attack in record.attacks],
        )
    if followed is not None and followed.outcomes:
        click.echo()
        attack_call.show_followed(followed.outcomes)
        click.echo()
    show_risks(record.risks)
    for attack in record.attacks:
        for adversary in attack.get("untried", ()):
            click.echo(f"Not tried: {attack['attack']}: {adversary}")
    if record.utility:
        click.echo()
        print_table(
            ["utility", "value", "original", "useless", "better"],
            [utility_row(measured) for measured in record.utility],
        )
    if record.attacks_skipped and _only_trips(record):
        names = names_of_skipped(record.attacks_skipped)
        click.echo(
            f"Left out: all attacks on people ({names}): the release has trips, and no column by "
            "which people could be known or of what is wanted of them"
        )
    else:
        tell_left_out(record.attacks_skipped)
    tell_left_out((*record.utility_skipped, *record.risks_skipped))


def _only_trips(record: StudyRecord) -> bool:
    """Whether a release of trips has no column that attacks on people are about."""
    roles = ("quasi_identifiers", "sensitive", "ranking")
    return bool(record.roles.get("trip")) and not any(record.roles.get(role) for role in roles)


def _attack_row(attack: AttackDocument, rehearsed: set[str]) -> list[object]:
    rates = study_record.rates_of(attack)
    if rates is None:
        return [attack["attack"], "not measured", "", "", ""]
    return [
        attack["attack"],
        *believed_apart(rates.told(_percent(rates.success)), counted=rates.counted),
        _percent(rates.baseline),
        rates.told_targets
        + (", in closed form" * rates.exact)
        + (" of a rehearsal" if attack["attack"] in rehearsed else " of this release"),
    ]


def _percent(share: float) -> str:
    return f"{100 * share:.3g}%"
