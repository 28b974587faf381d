"""``voile choose``: risk against loss, and the least change that meets a policy."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from voile.cli.options import engine_option, held_out_option, targets_option
from voile_base.errors import InfeasibleError
from voile_base.ondemand import on_demand
from voile_base.terminal import as_json, print_json, print_table, progress, say
from voile_base.values import Json

if TYPE_CHECKING:
    from voile.policy import checking as policy_checking
    from voile.policy import choosing
    from voile.policy import stated as policy_stated
    from voile.policy import trying as policy_trying
    from voile.policy.choosing import Choice
    from voile.policy.trying import TriedPlan
    from voile.study import record as study_record
    from voile.study import verdict as study_verdict
else:
    choosing = on_demand("voile.policy.choosing")
    policy_checking = on_demand("voile.policy.checking")
    policy_stated = on_demand("voile.policy.stated")
    policy_trying = on_demand("voile.policy.trying")
    study_record = on_demand("voile.study.record")
    study_verdict = on_demand("voile.study.verdict")

__all__ = []


@click.command("choose", short_help="Risk against loss; the least change that meets a policy.")
@click.argument("source", metavar="INPUT", type=click.Path())
@click.option("--plan", required=True, type=click.Path(), help="The plan, in TOML.")
@click.option(
    "--policy",
    required=True,
    metavar="POLICY",
    help="A policy in TOML, or the name of a template.",
)
@click.option(
    "--effort",
    type=click.IntRange(min=1),
    help="At most so many plans are tried [default: 24, and up to 60 while none meets the policy].",
)
@click.option(
    "--weight",
    metavar="COLUMN",
    help="A column of survey weights, for the risk in the population [default: that of the plan].",
)
@click.option(
    "--sample",
    type=click.IntRange(min=0),
    default=20_000,
    show_default=True,
    metavar="ROWS",
    help="Plans are tried on so many rows, drawn once, of a larger table; 0: on all rows.",
)
@click.option("--seed", type=int, help="Repeatable draws: the same command gives the same figures.")
@targets_option
@held_out_option
@engine_option
@as_json
def _choose_command(
    *,
    source: str,
    plan: str,
    policy: str,
    effort: int | None,
    weight: str | None,
    sample: int,
    seed: int | None,
    targets: int,
    held_out: float,
    engine: str,
    as_json: bool,
) -> None:
    """Try plans for the table INPUT, and find the least change that meets a policy.

    Of each plan: the re-identification risk, for the person who is worst off and on average, the
    information loss, and which of the thresholds .33, .2, .09 and .05 it keeps. Tried are other k
    and shares of rows that may be left out, and what an unmet criterion asks for: diversity or
    closeness of sensitive values, a column left out. No release is written and no ledger is
    charged. What is printed is private; the paragraph at its end is for an ethics board.

    Exit status 3 where none of the plans that were tried meets the policy: what stands in the way
    is told, and what would meet it.

    Of a large table, plans are tried on a sample of its rows that is drawn once, and the best of
    them on all rows: only what meets the policy on all rows is found.
    """
    stated = policy_stated.StatedPolicy.read(policy)
    terms = policy_trying.PlanSearch(effort, targets, seed, engine, weight, sample, held_out)
    with progress() as stage:
        choice = choosing.Choice.of_policy(source, Path(plan), stated, terms, stage)
    if asked := choice.stated.plan.questions_open:
        say(
            f"voile: {plan}: {asked}, and nothing is published until each is answered, which may "
            "change what was chosen here."
        )
    if as_json:
        print_json(_document(choice))
    else:
        _show(choice)
    if choice.found is None:
        names = "; ".join(dict.fromkeys(one.asks for one in choice.nearest.unmet))
        why = names or choice.nearest.problem
        msg = f"{plan}: none of {_number(choice)} plans meets {policy}; in the way: {why}"
        raise InfeasibleError(msg)


def _number(choice: Choice) -> int:
    """How many plans were tried, once or on a sample and all rows."""
    return len({one.change.text for one in choice.tried})


_LOSSES = """
information loss: non-uniform entropy of the quasi-identifiers that are published, as studies and
reports tell it. objective: what the method minimises, by which plans are ordered here; a column
that is left out is lost altogether in it."""


def _percent(share: float | None) -> str:
    return "" if share is None else f"{100 * share:.3g}%"


def _show(choice: Choice) -> None:
    click.echo(study_record.PRIVATE)
    headings = [
        "plan",
        "worst risk",
        "average",
        "keeps",
        "information loss",
        "objective",
        "left out",
        "policy",
    ]
    if choice.sample is not None:
        headings.insert(1, "rows")
    population = any(one.population_worst is not None for one in choice.tried)
    if population:
        place = headings.index("keeps")
        headings[place:place] = ["in the population"]
    print_table(headings, [_row(one, choice, population=population) for one in choice.tried])
    click.echo()
    for one in choice.tried:
        if one.problem:
            click.echo(f"No release with {one.change.text}: {one.problem}.")
    for line in _findings(choice):
        click.echo(line)
    click.echo(_LOSSES)
    click.echo("\nThresholds of the worst risk (El Emam and Malin, 2015; EMA/90915/2016):")
    for limit, use in study_verdict.THRESHOLDS.items():
        click.echo(f"  {limit:.2f}  {use}")
    click.echo(f"\n{choosing.paragraph_of(choice)}")


def _row(tried: TriedPlan, choice: Choice, *, population: bool) -> list[object]:
    kept = tried.met_thresholds()
    cells: list[object] = [
        tried.change.text,
        _percent(tried.worst),
        _percent(tried.mean),
        f"{min(kept):.2f}" if kept else "",
        _percent(tried.information_loss),
        _percent(tried.objective),
        _percent(tried.left_out),
        _ruling(tried, choice),
    ]
    if population:
        pair = (tried.population_worst, tried.population_mean)
        cells[3:3] = [" / ".join(map(_percent, pair))]
    if choice.sample is not None:
        cells.insert(1, f"{choice.sample:,} drawn" if tried.sampled else f"all {choice.rows:,}")
    return cells


def _ruling(tried: TriedPlan, choice: Choice) -> str:
    if tried.problem:
        return "no release"
    if tried.meets:
        return "met, least objective" if tried is choice.found else "met"
    if tried.unmet:
        more = "at least " if tried.rulings is None else ""
        return f"{more}{len(tried.unmet)} unmet"
    return "not looked at" if tried.rulings is None else "met"


def _findings(choice: Choice) -> Iterator[str]:
    """What was found, ties, what stands in the way, and how far it was looked."""
    looked = f"{_number(choice)} plans were tried, of at most {choice.effort}."
    if choice.sample is not None:
        whole = sum(not one.sampled for one in choice.tried)
        looked += (
            f" They were tried on a sample of {choice.sample:,} of {choice.rows:,} rows, drawn "
            f"once, where a k costs more than on all rows; {whole} of them on all rows, too. "
            "--sample 0 tries all of them on all rows."
        )
    if choice.found is None:
        yield from _obstacles(choice)
        way = "A greater --effort" if choice.sample is None else "A greater --effort or --sample 0"
        more = f" {way} tries more." if choice.exhausted else ""
        yield f"{looked}{more}"
        return
    yield f"The least change that meets {choice.policy.policy.name}: {choice.found.change.text}."
    if uncounted := choosing.uncounted_text(choice):
        yield f"Warning: {uncounted}."
    roles = choice.roles
    if beyond := choosing.found_by_others(choice.found, roles.quasi_identifiers):
        yield f"It is met for whoever knows the quasi-identifiers alone: {beyond}."
    if not roles.sensitive:
        yield (
            "No column is sensitive, so that nothing was counted of what a group tells of its "
            "persons: if one is a secret, say so in the plan."
        )
    if choice.found.shows_nothing:
        yield "It publishes next to nothing, and no other plan that was tried meets the policy."
    for tie in choice.ties:
        yield f"Tied with it, the same risk and objective: {tie.change.text}."
    yield looked
    yield (
        "Trying them is looking at the rows, so that the assumption of the promise that parameters "
        "were chosen without looking does not hold: accept it in assumptions.toml with "
        f'by = "ROLE, knowing that {_number(choice)} plans were tried".'
    )


_UNDECIDED = (
    "Undecided: each of these limits lies within the interval of its figure. --held-out 0.5, here "
    "and in voile study, asks more people of a small table, which makes the intervals narrower."
)


def _obstacles(choice: Choice) -> Iterator[str]:
    """What stands in the way where no plan was found, and the last remedy."""
    best = choice.nearest
    yield f"None meets {choice.policy.policy.name}. The nearest: {best.change.text}."
    yield "In the way:"
    for one, remedy in choice.in_the_way:
        yield f"  {one.asks} ({one.why}): {remedy}."
    if choice.last_remedy is not None:
        yield _last_remedy(choice.last_remedy)
    if choice.is_undecided:
        yield _UNDECIDED
    if choice.strictest:
        yield f"Even the strictest plan fails: {choice.strictest}. Fewer were tried for it."


def _last_remedy(tried: TriedPlan) -> str:
    return (
        f"Without any sensitive column it is met: {tried.change.text}; objective "
        f"{_percent(tried.objective)}."
    )


def _document(choice: Choice) -> Json:
    """For programs; private, as its first key says."""
    found = choice.found
    return {
        "private": study_record.PRIVATE,
        "policy": choice.policy.policy.name,
        "rows": choice.rows,
        "effort": choice.effort,
        "sample": choice.sample,
        "found": None if found is None else found.change.text,
        "ties": [one.change.text for one in choice.ties],
        "nearest": choice.nearest.change.text,
        "in_the_way": [one.asks for one in choice.nearest.unmet],
        "strictest": choice.strictest or None,
        "last_remedy": choice.last_remedy and choice.last_remedy.change.text,
        "undecided": choice.found is None and choice.is_undecided,
        "warning": choosing.uncounted_text(choice) or None,
        "remedies": [{"asks": one.asks, "remedy": told} for one, told in choice.in_the_way],
        "plans": [_plan_document(one) for one in choice.tried],
        "paragraph": choosing.paragraph_of(choice),
    }


def _plan_document(tried: TriedPlan) -> dict[str, object]:
    return {
        "change": tried.change.text,
        "method": dict(tried.change.parameters),
        "without": list(tried.change.without),
        "grouped": list(tried.change.grouped),
        "problem": tried.problem or None,
        "worst": tried.worst,
        "mean": tried.mean,
        "population_worst": tried.population_worst,
        "population_mean": tried.population_mean,
        "information_loss": tried.information_loss,
        "objective": tried.objective,
        "left_out": tried.left_out,
        "keeps": list(tried.met_thresholds()),
        "meets": tried.meets,
        "judged": tried.rulings is not None,
        "sampled": tried.sampled,
        "unmet": [one.asks for one in tried.unmet],
        "missed": [
            {"asks": one.asks, "found": " ".join(filter(None, (one.figure, one.why)))}
            for one in tried.unmet
        ],
        "narrow": [*policy_checking.narrowly_met(tried.rulings or ())] if tried.meets else [],
    }
