"""``voile attack``: who is exposed by a release and the earlier ones it is compared with."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from pathlib import Path

import click

from voile.attack.differencing import DifferencingAttack
from voile.attack.result import AttackResult, Narrowing, Victim
from voile.attack.verification import Verification, verify
from voile.cli.show import as_json, print_json, print_table, progress
from voile.errors import InputError
from voile.release.folder import read_release
from voile.schema.plan import read_plan
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


@click.command(short_help="Run the adversaries on a release.")
@click.argument("release", metavar="NEW", type=click.Path(path_type=Path))
@click.option(
    "--previous",
    metavar="OLD",
    multiple=True,
    type=click.Path(path_type=Path),
    help="An earlier release of the same table; may be repeated.",
)
@click.option(
    "--against",
    metavar="INPUT",
    type=click.Path(path_type=Path),
    help="The private original: check which claims are true. The output is then private.",
)
@click.option(
    "--plan",
    metavar="PLAN",
    type=click.Path(path_type=Path),
    help="The plan of the original, for the texts that stand for missing values in it.",
)
@click.option("--k", type=int, help="Distinct values to be left [default: as NEW guarantees].")
@click.option(
    "--e", metavar="NUMBER", callback=_number, help="Range to be left [default: as NEW guarantees]."
)
@click.option("--most", default=10, show_default=True, help="How many victims to show.")
@as_json
def attack(  # noqa: PLR0913 - one parameter for each option
    *,
    release: Path,
    previous: tuple[Path, ...],
    against: Path | None,
    plan: Path | None,
    k: int | None,
    e: Decimal | None,
    most: int,
    as_json: bool,
) -> None:
    """Find the people whose sensitive value the release in NEW gives away.

    The adversary has the published files only, knows people by their quasi-identifiers, and
    compares the groups of NEW with those of every OLD: a person has a value that is in all of
    his or her groups, and one that is not accounted for by others.
    """
    if plan and not against:
        msg = "--plan describes the private original; give that too, with --against"
        raise InputError(msg)
    with progress() as stage:
        stage("reading")
        new, *earlier = (read_release(folder) for folder in (release, *previous))
        stage("comparing")
        names = [str(folder) for folder in (release, *previous)]
        result = DifferencingAttack(k=k, e=e, most=most).run(new, earlier, names)
        checked = _checked(result, against, plan) if against else None
    if as_json:
        mark = {"private": _PRIVATE} if checked else {}
        found = {"verification": checked.document()} if checked else {}
        print_json({**mark, **result.document(), **found})
    else:
        _show(result, checked)


def _checked(result: AttackResult, against: Path, plan: Path | None) -> Verification:
    missing = read_plan(plan).missing if plan else ()
    original = read_frame(against, missing=missing).frame
    return verify(result.victims, original, result.sensitive)


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
    for note in result.notes:
        click.echo(f"Note: {note}")
    for assumption in result.assumptions:
        click.echo(f"Assumed: {assumption}")


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
