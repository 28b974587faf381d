"""A call of ``voile attack``: what was asked for, and what is printed.

What was asked of ``voile attack``, and the private files it names, each read once.

What ``voile attack`` prints: outcomes of attacks, one by one or side by side, and victims.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import fields
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from voile.attack.differencing import AttackResult, Narrowing, Victim
from voile.attack.earlier_releases import VictimCounts
from voile.attack.protocol import AttackOutcome, Estimate
from voile.cli.options import believed_apart
from voile.publish.registry import read_plan
from voile.release.recounting import read_recounted
from voile.release.release import Release
from voile.schema.persons import figure_told
from voile.schema.plan import Plan
from voile.study.evidence import EvidenceRun, ReleaseUnderTest
from voile.study.record import Skipped
from voile.table.opening import rows_in_memory
from voile.table.places import Place, laid_out
from voile.table.remote import brought_release
from voile_base.errors import InputError
from voile_base.ondemand import dataclass
from voile_base.randomness import Randomness
from voile_base.terminal import print_table
from voile_base.values import Document

if TYPE_CHECKING:  # maps and inference are loaded where trips are followed only
    from voile.attack.trajectory.on_release import TripsOutcome


__all__ = ["AttackCall", "show_exposure", "show_followed", "show_outcome", "show_side_by_side"]


@dataclass(frozen=True)
class AttackCall:
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
    said: Document
    """The options that tell adversaries what they know."""

    @classmethod
    def of(cls, options: Document) -> AttackCall:
        """A call with the values of all options; releases in stores are brought here."""
        own = {field.name for field in fields(cls)} - {"said"}
        said = {name: value for name, value in options.items() if name not in own}
        given = {name: options[name] for name in own}
        given["release"] = brought_release(given["release"])
        given["previous"] = tuple(map(brought_release, given["previous"]))
        return cls(**given, said=said)

    def read(self, release: Path) -> Release:
        """A release, recounted, in the engine that was asked for."""
        return read_recounted(release, engine=self.engine)

    def people(self, path: Place, plan: Plan | None) -> Any:
        """The rows of a private table, read by the engine that was asked for."""
        missing, texts = (plan.missing, plan.texts) if plan else ((), ())
        path = laid_out(path, plan.input) if plan else path
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

    def evidence(
        self, new: Release, stage: Callable[[str], None], *, strict: bool = False
    ) -> EvidenceRun:
        """A run of evidence on a release, beside the private original."""
        subject = ReleaseUnderTest(new, self.original, self.told, self.draws())
        return EvidenceRun(subject, stage, strict=strict)

    def draws(self) -> Randomness | None:
        """What draws people and trips, anew from the seed each time; None without one."""
        return None if self.seed is None else Randomness.seeded(self.seed)

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


_LISTED = 8


def show_outcome(outcome: AttackOutcome) -> None:
    """One attack, in words."""
    people = outcome.told_targets
    success, own = (
        figure_told(_percent(one), upper_bound=outcome.upper_bound)
        for one in (outcome.success, outcome.probability)
    )
    if outcome.checked:
        click.echo(f"Of {people}, {success} were found: {outcome.goal}")
        click.echo(f"A target's own row gets probability {own}")
    else:
        click.echo(f"Of {people}, the adversary believes to have found {success}: {outcome.goal}")
        click.echo(f"He expects a target's own row to get probability {own}")
    click.echo(
        f"Guessing without looking finds {_share_of(outcome.baseline)}; "
        f"this is {outcome.advantage:.3g} times as good"
    )
    described = [("worst", outcome.worst), ("typical", outcome.typical)]
    found = [(which, target) for which, target in described if target]
    if found:
        known = list(found[0][1].known)
        print_table(
            ["target", *known, "probability"],
            [
                [
                    which,
                    *(str(target.known[n]) for n in known),
                    _told(outcome, target.probability),
                ]
                for which, target in found
            ],
        )
    _print_remarks(outcome)


def show_side_by_side(outcomes: Sequence[AttackOutcome], skipped: Sequence[Skipped]) -> None:
    """Several attacks in a table, and which make no sense for the release."""
    if outcomes:
        print_table(
            [
                "attack",
                "succeeds",
                "believed",
                "at least",
                "at most",
                "worst",
                "guessing",
                "targets",
            ],
            [
                [
                    outcome.attack,
                    *believed_apart(_told(outcome, outcome.success.value), counted=outcome.checked),
                    *("" if outcome.success.is_exact else _share_of(end) for end in _ends(outcome)),
                    _told(outcome, outcome.worst.probability) if outcome.worst else "",
                    _share_of(outcome.baseline),
                    outcome.told_targets + (", in closed form" * outcome.exact),
                ]
                for outcome in outcomes
            ],
        )
    for outcome in outcomes:
        _print_untried(outcome, f"{outcome.attack}: ")
    for one in skipped:
        click.echo(f"Not run: {one.name}: {one.reason}")


def show_followed(outcomes: Sequence[TripsOutcome]) -> None:
    """What adversaries on a road map make of trips; private."""
    first = outcomes[0]
    trips = "1 trip" if first.trips == 1 else f"{first.trips:,} trips"
    click.echo(f"{trips} of {first.reports:,} reports in all; 95% intervals over trips")
    print_table(
        ["adversary", "metres off", "between", "right road", "between", "lost", "seconds a trip"],
        [
            [
                outcome.adversary,
                _bounded(outcome, f"{outcome.error.value:.0f}", "at most"),
                _between(outcome, f"{outcome.error.low:.0f}", f"{outcome.error.high:.0f}"),
                _bounded(outcome, _share_of(outcome.right.value), "at least"),
                _between(outcome, _share_of(outcome.right.low), _share_of(outcome.right.high)),
                outcome.lost,
                f"{outcome.seconds:.2g}",
            ]
            for outcome in outcomes
        ],
    )
    _print_notes(first.notes)


def _bounded(outcome: TripsOutcome, figure: str, bound: str) -> str:
    """A figure, marked where a better adversary finds more."""
    return f"{bound} {figure}" if outcome.lower_bound else figure


def _between(outcome: TripsOutcome, low: str, high: str) -> str:
    """An interval over trips, where there are several."""
    return f"{low} and {high}" if outcome.trips > 1 else "too few trips to say"


def _ends(outcome: AttackOutcome) -> tuple[float, float]:
    return outcome.success.low, outcome.success.high


def _percent(estimate: Estimate) -> str:
    if estimate.is_exact:
        return f"{_share_of(estimate.value)} (counted on all, none being drawn)"
    low, high = _share_of(estimate.low), _share_of(estimate.high)
    return f"{_share_of(estimate.value)} (between {low} and {high} with 95% confidence)"


def _share_of(number: float) -> str:
    return f"{100 * number:.3g}%"


def _told(outcome: AttackOutcome, share: float) -> str:
    """A figure of an outcome, marked where it is a bound."""
    return figure_told(_share_of(share), upper_bound=outcome.upper_bound)


def _print_remarks(found: AttackResult | AttackOutcome) -> None:
    _print_notes(found.notes)
    for assumption in found.assumptions:
        click.echo(f"Assumed: {assumption}")
    _print_untried(found)


def _print_untried(found: AttackResult | AttackOutcome, whose: str = "") -> None:
    for adversary in found.untried:
        click.echo(f"Not tried: {whose}{adversary}")


def _print_notes(notes: Sequence[str]) -> None:
    for note in notes:
        click.echo(f"Note: {note}")


def show_exposure(result: AttackResult, checked: VictimCounts | None) -> None:
    """Who is exposed when releases are compared."""
    verb = "is" if result.exposed == 1 else "are"
    click.echo(f"{result.exposed:,} of {result.people:,} people {verb} exposed{_share(result)}")
    click.echo(
        f"Exposed: fewer than {result.k} values of {result.sensitive} are possible for a person, "
        f"or they span less than {result.e:,f}"
    )
    if len(result.releases) > 1:
        alone = f"{result.exposed_alone:,}" if result.exposed_alone else "nobody"
        click.echo(f"{result.releases[0]} alone exposes {alone}")
        click.echo(f"It was compared with {', '.join(result.releases[1:])}")
    if result.victims:
        _print_victims(result)
    if checked and result.victims:
        click.echo(
            f"True for {checked.right:,} of the {checked.victims:,} victims shown"
            + (f"; {checked.unknown:,} are not in the original" if checked.unknown else "")
        )
    _print_remarks(result)


def _share(result: AttackResult) -> str:
    return f" ({result.share:.1%})" if result.exposed else ""


def _print_victims(result: AttackResult) -> None:
    known = list(result.victims[0].quasi_identifiers)
    several = any(victim.people > 1 for victim in result.victims)
    headings = [*known, *(["people"] if several else []), result.sensitive, "left", "alone", "how"]
    rows: list[list[object]] = []
    for victim in result.victims:
        cells: list[object] = [str(victim.quasi_identifiers[name]) for name in known]
        cells += [victim.people] if several else []
        rows.append(
            [*cells, _values(victim), _narrow(victim.left), _narrow(victim.alone), victim.reason]
        )
    print_table(headings, rows)
    described = sum(victim.people for victim in result.victims)
    if described < result.exposed:
        click.echo(f"and {result.exposed - described:,} more; --most shows more of them")


def _values(victim: Victim) -> str:
    texts = [f"{value:,f}" for value in victim.values]
    if len(texts) <= _LISTED:
        return "; ".join(texts)
    return f"{texts[0]} to {texts[-1]}"


def _narrow(narrowing: Narrowing) -> str:
    if narrowing.distinct == 1:
        return "1 value"
    return f"{narrowing.distinct:,} values, range {narrowing.spread:,f}"
