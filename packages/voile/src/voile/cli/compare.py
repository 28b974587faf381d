"""``voile compare``: study a grid of plans side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from voile.cli.options import (
    engine_option,
    held_out_option,
    ledger_option,
    names_of,
    renderer,
    targets_option,
)
from voile_base.ondemand import on_demand
from voile_base.terminal import (
    as_json,
    print_json,
    print_table,
    progress,
    say,
    telling_what_is_done,
)

if TYPE_CHECKING:
    from voile.audit import counting as audit_counting
    from voile.audit import record as audit_record
    from voile.policy import checking, stated
    from voile.policy.checking import PolicyJudge
    from voile.study import documents, evidence, frontier, grid, record
    from voile.study.evidence import Instruments
    from voile.study.grid import MadeComparison
    from voile.study.record import Point, StudyComparison
else:
    audit_counting = on_demand("voile.audit.counting")
    audit_record = on_demand("voile.audit.record")
    checking = on_demand("voile.policy.checking")
    documents = on_demand("voile.study.documents")
    evidence = on_demand("voile.study.evidence")
    frontier = on_demand("voile.study.frontier")
    grid = on_demand("voile.study.grid")
    record = on_demand("voile.study.record")
    stated = on_demand("voile.policy.stated")

__all__: list[str] = []


@click.command("compare", short_help="Study a grid of plans side by side.")
@click.argument("source", metavar="INPUT", type=click.Path())
@click.argument("plans", metavar="PLAN...", type=click.Path(), nargs=-1, required=True)
@click.option("--out", required=True, type=click.Path(), help="A folder that does not exist yet.")
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    help="How many studies are made at a time [default: one for each core].",
)
@click.option(
    "--risk",
    metavar="NAME",
    help=(
        "What studies are compared by: the success of the attack of that name, gain (what the best "
        "attack finds beyond guessing), worst (the best attack's success), or worst-person (the "
        "largest re-identification risk) [default: prosecutor, where it differs between studies, "
        "or gain]."
    ),
)
@click.option(
    "--loss",
    metavar="NAME",
    help="The measure of utility they are compared by [default: the one that most studies have].",
)
@click.option("--seed", type=int, help="Repeatable draws: the same command gives the same numbers.")
@targets_option
@held_out_option
@click.option(
    "--attacks",
    metavar="NAMES",
    help="The attacks to run, separated by commas [default: all that make sense].",
)
@engine_option
@ledger_option
@click.option(
    "--rehearsal",
    is_flag=True,
    help="INPUT is public or synthetic: nothing is charged to the budgets of the plans.",
)
@click.option(
    "--other-columns",
    is_flag=True,
    help="Count how surely persons are found by columns that are no quasi-identifiers, too.",
)
@click.option(
    "--policy",
    metavar="NAME|FILE",
    help="Tell which criteria of this policy each study does not meet, of those that figures "
    "decide: a policy of Voile's, or a file.",
)
@as_json
def _compare_command(
    source: str,
    plans: tuple[str, ...],
    out: str,
    jobs: int | None,
    risk: str | None,
    loss: str | None,
    seed: int | None,
    targets: int,
    held_out: float,
    attacks: str | None,
    engine: str,
    ledger: str | None,
    rehearsal: bool,
    other_columns: bool,
    policy: str | None,
    as_json: bool,
) -> None:
    """Study the table INPUT under every PLAN, and compare what each protects and loses.

    A list in the place of a parameter of [method], such as `k = [2, 3, 5, 10]`, tries each value;
    several lists try every combination. No release is written, and the new folder is private. A
    plan with a series is studied as its next release where --ledger names its ledger, which does
    not learn of it, and else outside it. Each study of a plan with a [budget] is charged to the
    ledger, for the choice among them tells about the rows; with --rehearsal, nothing is.

    Studies that are done are kept in `OUT.partial` until all are: after an interruption the same
    command goes on from there.
    """
    judge = None if policy is None else checking.PolicyJudge(stated.StatedPolicy.read(policy))
    terms = grid.PointTerms(
        seed,
        evidence.EvidenceTerms(names_of(attacks), targets, held_out),
        partial(_with_risks, risks=_risks_of(judge, other_columns=other_columns)),
        engine=engine,
        ledger=None if rehearsal else ledger,
        rehearsal=rehearsal,
        judge=judge,
    )
    try:
        with progress() as stage:
            made = grid.make_comparison(
                source,
                [*map(Path, plans)],
                out,
                terms,
                grid.Axes(risk, loss),
                jobs=grid.cores() if jobs is None else jobs,
                render=renderer("render_comparison"),
                progress=stage,
            )
    except BaseException:
        _tell_what_is_kept(grid.partial_folder(out))
        raise
    with telling_what_is_done(f"the comparison stands at {out}"):
        _tell(made, out)
        if as_json:
            print_json({**documents.comparison_document(made.comparison, made.files), "out": out})
        else:
            _show(made.comparison)


def _risks_of(judge: PolicyJudge | None, *, other_columns: bool) -> tuple[str, ...]:
    """The risks of a rehearsal that are counted for each study."""
    asked = judge.risks if judge else frozenset[str]()
    return tuple(sorted(asked | ({audit_record.RE_IDENTIFICATION} if other_columns else set())))


def _with_risks(names: Sequence[str] | None, risks: Sequence[str]) -> Instruments:
    """The instruments of these names, and what counts risks on a rehearsal."""
    count = partial(audit_counting.risks_of_rehearsal, only=risks) if risks else None
    return replace(evidence.Instruments.standard(names), risks=count)


def _risk_told(risk: float, low: float | None, high: float | None) -> str:
    told = f"{100 * risk:.3g}%"
    if low is None or high is None or low == high:
        return told
    return f"{told} ({100 * low:.3g} to {100 * high:.3g}%)"


def _tell_what_is_kept(folder: Path) -> None:
    if kept := grid.kept_points(folder):
        say(
            f"voile: {kept:,} finished {'study is' if kept == 1 else 'studies are'} kept in "
            f"{folder} (private); the same command goes on from there."
        )


def _tell(made: MadeComparison, out: str) -> None:
    comparison = made.comparison
    for notice in comparison.notices:
        say(f"voile: {notice}.")
    counts = Counter(point.status for point in comparison.points)
    told = ", ".join(f"{count:,} {status}" for status, count in counts.items())
    say(f"{out}: {told}; all of it must stay private.")
    if made.no_report:
        say(f"No report was drawn: {made.no_report}.")


def _show(comparison: StudyComparison) -> None:
    click.echo(record.PRIVATE)
    loss = f"loss: {comparison.loss}" if comparison.loss else "loss"
    print_table(
        ["study", f"risk: {comparison.risk}", loss, "frontier", "status"],
        [_row(point, comparison) for point in comparison.points],
    )
    for point in comparison.points:
        if point.unmet is not None:
            told = "; ".join(point.unmet) or "all that figures decide is met"
            click.echo(f"{point.name}: policy: {'not met: ' if point.unmet else ''}{told}")
            for narrow in point.narrow:
                click.echo(f"{point.name}: policy: {narrow}; a release may miss it")
    for tie in _ties(comparison):
        click.echo(tie)
    for message in dict.fromkeys(point.message for point in comparison.points if point.message):
        first, *others = (p.name for p in comparison.points if p.message == message)
        more = f" and {len(others):,} more" if others else ""
        click.echo(f"{first}{more}: {message}")


def _ties(comparison: StudyComparison) -> Iterator[str]:
    """Which points are one release, and which risks on the frontier cannot be told apart."""
    for point in comparison.points:
        if point.same_as:
            yield f"{point.name}: the very same release as {point.same_as}"
    points = {point.name: point for point in comparison.points}
    best = [(name, frontier.risk_of_point(points[name])) for name in comparison.frontier]
    different = [(name, risk) for name, risk in best if risk and not points[name].same_as]
    for place, (name, risk) in enumerate(different):
        tied = [other for other, one in different[place + 1 :] if risk.is_tied_with(one)]
        if tied:
            yield (
                f"Tied in risk: {name} and {', '.join(tied)}: the difference is within the "
                "interval of confidence"
            )


def _row(point: Point, comparison: StudyComparison) -> list[object]:
    risk = "" if point.risk is None else _risk_told(point.risk, point.risk_low, point.risk_high)
    loss = "" if point.loss is None else f"{point.loss:.4g}"
    on_frontier = "yes" if point.name in comparison.frontier else ""
    return [point.name, risk, loss, on_frontier, point.status]
