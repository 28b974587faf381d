"""``voile attack``: what an adversary makes of a release, by what the release guarantees."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

import click

from voile.attack.differencing import DifferencingAttack
from voile.attack.outcome import AttackOutcome, Estimate
from voile.attack.result import AttackResult, Narrowing, Victim
from voile.attack.verification import Verification, verify
from voile.cli.show import as_json, print_json, print_table, progress
from voile.errors import InputError
from voile.randomness import Randomness
from voile.release.folder import read_release
from voile.release.release import Release
from voile.schema.plan import Plan, read_plan
from voile.table.reading import read_frame

__all__ = ["attack"]

_LISTED = 8

_PRIVATE = "PRIVATE: this output was computed with the private original; do not pass it on"


def _number(context: click.Context, parameter: click.Parameter, text: str | None) -> Decimal | None:
    try:
        return None if text is None else Decimal(text)
    except InvalidOperation:
        msg = f"{text!r} is not a number"
        raise click.BadParameter(msg, context, parameter) from None


@dataclass(frozen=True)
class _Call:
    """What was asked for; an option that was not given is None, empty or False."""

    release: Path
    previous: tuple[Path, ...]
    against: Path | None
    plan: Path | None
    k: int | None
    e: Decimal | None
    most: int | None
    link: str | None
    columns: str | None
    population: bool
    targets: int | None
    seed: int | None
    as_json: bool

    def refuse(self, *options: str, reason: str) -> None:
        """Raise ``InputError`` where one of these options was given."""
        for option in options:
            value = getattr(self, option)
            if value is not None and value != () and value is not False:
                msg = f"--{option} is of no use here: {reason}"
                raise InputError(msg)


@click.command(short_help="Run the adversaries on a release.")
@click.argument("release", metavar="NEW", type=click.Path(path_type=Path))
@click.option(
    "--previous",
    metavar="OLD",
    multiple=True,
    type=click.Path(path_type=Path),
    help="An earlier release of the same table; may be repeated. (k,e) only.",
)
@click.option(
    "--against",
    metavar="INPUT",
    type=click.Path(path_type=Path),
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
    "--k", type=int, help="Distinct values to be left [default: as NEW guarantees]. (k,e) only."
)
@click.option(
    "--e",
    metavar="NUMBER",
    callback=_number,
    help="Range to be left [default: as NEW guarantees]. (k,e) only.",
)
@click.option("--most", type=int, help="How many victims to show [default: 10]. (k,e) only.")
@click.option(
    "--link",
    metavar="COLUMN",
    help="A column of NEW and INPUT that tells whose row is whose, to count right guesses.",
)
@click.option(
    "--columns",
    metavar="NAMES",
    help="What the adversary knows of people, separated by commas [default: quasi-identifiers].",
)
@click.option(
    "--population",
    is_flag=True,
    help="The adversary also knows how the values of all people are distributed.",
)
@click.option("--targets", type=int, help="How many people to look for [default: 1000].")
@click.option("--seed", type=int, help="Draw the same people every time; for experiments.")
@as_json
def attack(**options: Any) -> None:
    """Find the people whom the release in NEW gives away.

    If NEW permutes sensitive values within groups, (k,e)-anonymity, the adversary has the
    published files only, knows people by their quasi-identifiers, and compares the groups of NEW
    with those of every OLD: a person has a value that is in all of his or her groups, and one
    that is not accounted for by others.

    If NEW generalizes values or adds noise to them, the adversary knows the exact values of
    people in INPUT and looks for their rows in NEW.
    """
    call = _Call(**options)
    with progress() as stage:
        stage("reading")
        new = read_release(call.release)
        adversary = _ADVERSARIES.get(new.guarantee.kind, _difference)
        show = adversary(call, new, stage)
    show()


def _difference(call: _Call, new: Release, stage: Callable[[str], None]) -> Callable[[], None]:
    """Compare releases; how to show what came of it."""
    call.refuse(
        *("link", "columns", "population", "targets", "seed"),
        reason="it is about looking for rows, which this release does not hide",
    )
    if call.plan and not call.against:
        msg = "--plan describes the private original; give that too, with --against"
        raise InputError(msg)
    earlier = [read_release(folder) for folder in call.previous]
    stage("comparing")
    names = [str(folder) for folder in (call.release, *call.previous)]
    most = 10 if call.most is None else call.most
    result = DifferencingAttack(k=call.k, e=call.e, most=most).run(new, earlier, names)
    checked = _checked(result, call.against, call.plan) if call.against else None

    def show() -> None:
        if not call.as_json:
            _show(result, checked)
            return
        mark = {"private": _PRIVATE} if checked else {}
        found = {"verification": checked.document()} if checked else {}
        print_json({**mark, **result.document(), **found})

    return show


def _identify(call: _Call, new: Release, stage: Callable[[str], None]) -> Callable[[], None]:
    """Look for people's rows; how to show what came of it."""
    # It loads what a comparison of releases does not need.
    from voile.attack.identification import IdentificationAttack  # noqa: PLC0415

    call.refuse(
        *("previous", "k", "e", "most"),
        reason="it is about comparing releases whose values are permuted in groups",
    )
    if call.against is None:
        msg = (
            "this adversary knows people's exact values and looks for their rows; give the "
            "private original, with --against"
        )
        raise InputError(msg)
    adversary = IdentificationAttack(
        columns=None if call.columns is None else _names(call.columns),
        targets=1000 if call.targets is None else call.targets,
        link=call.link,
        population=call.population,
    )
    plan = read_plan(call.plan) if call.plan else None
    original = read_frame(
        call.against, missing=plan.missing if plan else (), texts=_text_columns(plan)
    )
    stage("looking for people")
    randomness = None if call.seed is None else Randomness.seeded(call.seed)
    outcome = adversary.run(new, original.frame, plan, randomness)

    def show() -> None:
        if call.as_json:
            print_json({"private": _PRIVATE, **outcome.document()})
        else:
            _show_outcome(outcome)

    return show


_ADVERSARIES = {
    "ke-anonymity": _difference,
    "k-anonymity": _identify,
    "differential-privacy-under-sampling": _identify,
    "differential-privacy": _identify,
    "indistinguishability-within-clusters": _identify,
}
"""Who attacks a release, by the kind of its guarantee."""


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _text_columns(plan: Plan | None) -> tuple[str, ...]:
    if plan is None:
        return ()
    return tuple(name for name, column in plan.columns.items() if column.type == "text")


def _checked(result: AttackResult, against: Path, plan: Path | None) -> Verification:
    missing = read_plan(plan).missing if plan else ()
    original = read_frame(against, missing=missing).frame
    return verify(result.victims, original, result.sensitive)


def _show_outcome(outcome: AttackOutcome) -> None:
    click.echo(_PRIVATE)
    people = "1 target" if outcome.targets == 1 else f"{outcome.targets:,} targets"
    success = _percent(outcome.success)
    if outcome.checked:
        click.echo(f"Of {people}, {success} were found: {outcome.goal}")
        click.echo(f"A target's own row gets probability {_percent(outcome.probability)}")
    else:
        click.echo(f"Of {people}, the adversary believes to have found {success}: {outcome.goal}")
        click.echo(
            f"He expects a target's own row to get probability {_percent(outcome.probability)}"
        )
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
                [which, *(str(target.known[n]) for n in known), _share_of(target.probability)]
                for which, target in found
            ],
        )
    _print_remarks(outcome)


def _percent(estimate: Estimate) -> str:
    low, high = _share_of(estimate.low), _share_of(estimate.high)
    return f"{_share_of(estimate.value)} (between {low} and {high} with 95% confidence)"


def _share_of(number: float) -> str:
    return f"{100 * number:.3g}%"


def _print_remarks(found: AttackResult | AttackOutcome) -> None:
    for note in found.notes:
        click.echo(f"Note: {note}")
    for assumption in found.assumptions:
        click.echo(f"Assumed: {assumption}")


def _show(result: AttackResult, checked: Verification | None) -> None:
    if checked:
        click.echo(_PRIVATE)
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
