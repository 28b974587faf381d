"""``voile plan``: propose a plan for a table, or hold one against it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from voile.cli.options import engine_option
from voile.table.places import LaidOut, Place, laid_out, place_of
from voile_base.durable import new_private_file, replace_private_file
from voile_base.errors import InputError, TableError, VoileError
from voile_base.ondemand import on_demand
from voile_base.terminal import as_json, print_json, progress, say, telling_what_is_done
from voile_base.values import Json

if TYPE_CHECKING:
    from voile.cli import inspect as cli_inspect
    from voile.proposal import editing, layout, whole, writing
    from voile.proposal.proposed import ColumnProposal
    from voile.proposal.whole import Proposal
    from voile.proposal.writing import MethodProposal
    from voile.publish import registry
    from voile.schema import names, persons
    from voile.schema import plan as schema_plan
    from voile.schema.plan import OpenQuestion, Plan
    from voile.table import binding, profile, reading
    from voile.table.binding import PlanDoubt
    from voile.table.profile import Inspected
else:
    cli_inspect = on_demand("voile.cli.inspect")
    editing = on_demand("voile.proposal.editing")
    layout = on_demand("voile.proposal.layout")
    whole = on_demand("voile.proposal.whole")
    writing = on_demand("voile.proposal.writing")
    registry = on_demand("voile.publish.registry")
    names = on_demand("voile.schema.names")
    persons = on_demand("voile.schema.persons")
    schema_plan = on_demand("voile.schema.plan")
    binding = on_demand("voile.table.binding")
    profile = on_demand("voile.table.profile")
    reading = on_demand("voile.table.reading")

__all__: list[str] = []

_REASONS = 3
"""Columns of which it is said why nothing is proposed for them."""


@click.command("plan", short_help="Propose a plan for a table, or hold one against it.")
@click.argument("source", metavar="INPUT", type=click.Path())
@click.option("--out", type=click.Path(path_type=Path), help="Write the proposal to this new file.")
@click.option(
    "--method",
    metavar="NAME",
    help="Propose it for this method: dp-synthesis or dp-tables; without, for generalization.",
)
@click.option(
    "--ask",
    is_flag=True,
    help="Put its questions here, first those on which others depend, and write the answers into "
    "the plan. With an --out that stands already: its open questions.",
)
@click.option("--check", "plan", type=click.Path(), help="Say what of this plan fits badly.")
@click.option(
    "--look",
    nargs=2,
    metavar="VALUES ROWS",
    type=click.IntRange(min=1, max=1000),
    help="With --out and --json: also what voile inspect tells of the table by this plan, with so "
    "many values of a column and so many first rows; the table is read once for both.",
)
@engine_option
@as_json
def _plan_command(
    *,
    source: str,
    out: Path | None,
    method: str | None,
    ask: bool,
    plan: str | None,
    look: tuple[int, int] | None,
    engine: str,
    as_json: bool,
) -> None:
    """Propose a plan for the table INPUT, or hold a plan against it.

    With --out: roles, kinds and hierarchies with a reason each, made from private rows, from the
    names of the columns and how their values are written. No value of the table stands in the plan
    but marks such as "?" for missing ones. What could not be told is asked in a comment. Read it,
    change it, and publish with it. For a method that counts over public domains it also asks which
    values each column may have, where that is not publicly known: it proposes none of the table's.

    With --ask, each question is put here with its possible answers, and each answer written at
    once, so that nothing is lost where the asking ends. Public facts are left to the file.

    With --check: what fits badly between the plan and the table, with the row of the file. Exit
    status 2 where publishing would be refused.
    """
    if (out is None) == (plan is None):
        msg = "say what to do: --out NEW_FILE proposes a plan, --check PLAN holds one against INPUT"
        raise InputError(msg)
    if method is not None and plan is not None:
        msg = "--method is for a proposal, with --out; with --check the plan names its method"
        raise InputError(msg)
    if look is not None and not (out and as_json):
        msg = "--look is for programs, and about a proposal: it needs --out and --json"
        raise InputError(msg)
    if ask:
        _require_terminal(out, as_json=as_json)
    if plan is not None:
        _check(source, Path(plan), engine, as_json=as_json)
        return
    assert out is not None
    if ask and out.is_file():
        _ask(out)
        return
    if out.exists():
        msg = f"{out}: something is here already; name a new file"
        raise InputError(msg)
    _propose(source, out, method, engine, look, as_json=as_json)
    if ask:
        _ask(out)


def _propose(
    source: str,
    out: Path,
    method: str | None,
    engine: str,
    look: tuple[int, int] | None,
    *,
    as_json: bool,
) -> None:
    """Write a proposal to a new file, and say what was assumed."""
    kind = {} if method is None else {"method": _proposed_of(method)}
    with progress() as stage:
        stage("reading")
        place, laid = layout.proposed_layout(place_of(source))
        table = profile.Inspected.of_file(place, engine=engine)
        proposal = _proposal(table, place, stage)
        if laid.layout.header_rows:
            _refuse_data_as_names(proposal, str(place))
        if not proposal.publishes and not any(one.question for one in proposal.columns):
            raise InputError(_nothing_to_propose(proposal, str(place)))
        named = _file_name(place)
        text = writing.plan_text(proposal, named, layout=laid, **kind)
        new_private_file(out, text)
        stage("looking at its columns by the plan")
        looked = {"look": _looked(table, out, place, *look)} if look else {}
    with telling_what_is_done(f"the proposal stands at {out}"):
        for note in (*table.notes, *laid.notes):
            say(f"voile: {note}")
        if as_json:
            print_json({"out": str(out), "rows": table.rows, **_document(proposal), **looked})
        else:
            say(_summary(proposal, text, out))


def _require_terminal(out: Path | None, *, as_json: bool) -> None:
    """Raise ``InputError`` where nobody can be asked."""
    if out is None:
        raise InputError("--ask writes answers into a plan: name it with --out")
    if as_json or not (sys.stdin.isatty() and sys.stderr.isatty()):
        msg = (
            "--ask puts questions at a terminal, and here is none: leave it out, and answer the "
            f'lines of the plan that begin with "{schema_plan.ASKS}", or take voile studio'
        )
        raise InputError(msg)


def _ask(out: Path) -> None:
    """Put the open questions of a plan, and write each answer into it at once."""
    skipped: set[str] = set()
    while True:
        text = out.read_text(encoding="utf-8-sig")
        left = [one for one in editing.questions_in_order(text) if one.quoted_text not in skipped]
        if not left:
            break
        question = left[0]
        say(f"\n{len(left)} left. {question.quoted_text}")
        changed = _answered(text, question)
        if changed is None:
            break
        if changed == text:
            skipped.add(question.quoted_text)
        else:
            replace_private_file(out, changed)
    still = len(schema_plan.open_questions(out.read_text(encoding="utf-8-sig")))
    say(f"{out}: {still} question{'s' * (still != 1)} open." + (_STILL if still else _NONE))


_STILL = " Nothing is published until each is answered: voile plan --ask asks again."
_NONE = " The plan can be published with."


_LATER, _END = "n", "x"
"""Keys that answer nothing; those of answers are others (``_choices``)."""


def _answered(text: str, question: OpenQuestion) -> str | None:
    """The plan with an answer; the same where it is put off, None where the asking ends."""
    choices = _choices(question)
    for key, (words, _) in choices.items():
        say(f"  {key}  {words}")
    say(f"  {_LATER}  not now    {_END}  end the asking")
    while True:
        try:
            said = click.prompt("", prompt_suffix="> ", err=True).strip().casefold()
        except click.Abort:
            return None
        if said == _END:
            return None
        if said == _LATER:
            return text
        if said in choices:
            return choices[said][1](text)
        say(f"answer with one of {', '.join((*choices, _LATER, _END))}")


def _choices(question: OpenQuestion) -> dict[str, tuple[str, Callable[[str], str]]]:
    """What may be answered: a key, in words, and what it makes of the plan."""
    if editing.asks_for_marks(question):
        return {
            "d": ("decimals: 1,234 is about one", lambda text: _with_mark(text, "decimal")),
            "t": (
                "thousands: 1,234 is over a thousand",
                lambda text: _with_mark(text, "thousands"),
            ),
        }
    if editing.asks_for_values(question):
        return {}
    column = question.column
    if editing.asks_for_persons(question) and column is not None:
        return {
            "p": ("yes: all its rows are one person's", _with(column, "person")),
            "r": ("no: each row is another person", editing.with_row_as_person),
        }
    if column is not None and (formats := editing.date_formats_asked(question)):
        return {
            f"{number}": (f"as in {day}", _with_format(column, written))
            for number, (written, day) in enumerate(formats.items(), 1)
        }
    as_proposed = ("as the plan proposes", lambda text: editing.with_answered(text, question))
    if column is None:
        role = editing.role_asked_for(question)
        answers = ((role[:1], _BECOMES.get(role, ""), role), ("l", "is left out", ""))
        several = {
            f"{number}{key}": (f"{name} {becomes}", _with(name, told))
            for number, name in enumerate(editing.columns_not_understood(question), 1)
            for key, becomes, told in answers
        }
        return {**several, "y": as_proposed}
    return {
        "q": ("quasi-identifier: others may know it", _with(column, "quasi_identifiers")),
        "s": ("sensitive attribute: nobody should learn it", _with(column, "sensitive")),
        "i": ("direct identifier: it tells persons or things apart", _with(column, "identifiers")),
        "l": ("leave it out", _with(column, "")),
        "y": as_proposed,
    }


_BECOMES = {"sensitive": "is sensitive", "quasi_identifiers": "is known to others"}
"""What a column is whose role a question of several asks for."""


def _with(column: str, role: str) -> Callable[[str], str]:
    return lambda text: editing.with_role(text, [column], role)


def _with_format(column: str, written: str) -> Callable[[str], str]:
    return lambda text: editing.with_column_key(text, column, "format", written)


def _with_mark(text: str, key: str) -> str:
    return editing.with_input(text, key, ",")


def _file_name(place: Place) -> str:
    """What the plan calls the table."""
    if isinstance(place, LaidOut):
        return place.file.name
    return place.name if isinstance(place, Path) else str(place)


def _proposed_of(method: str) -> MethodProposal:
    """What is proposed of a method."""
    can: dict[str, MethodProposal] = {}
    for name in registry.METHODS.names:
        capabilities = getattr(registry.METHODS.class_of(name), "capabilities", None)
        if capabilities is not None and capabilities.proposal is not None:
            can[name] = capabilities.proposal
    if method not in can:
        msg = f"--method must be one of {', '.join(can)}, not {method!r}; without it the plan is "
        raise InputError(msg + "for generalization")
    return can[method]


def _looked(table: Inspected, out: Path, place: Place, values: int, rows: int) -> Json | None:
    """What ``voile inspect`` tells by the plan in ``out``; None where it cannot be used yet."""
    try:
        plan = registry.read_plan(out)
    except VoileError:
        return None
    if plan.missing:  # what it calls missing is none of the values that were counted
        table = profile.Inspected.of_file(place, plan.missing)
    return cli_inspect.look_document(table, plan, values, rows)


def _proposal(
    table: Inspected, place: Place, stage: Callable[[str], None] = lambda _: None
) -> Proposal:
    details, labels, headed = [], reading.labels_of(place), layout.headed(place)
    for number, column in enumerate(table.columns, 1):
        stage(f"counting: column {number:,} of {len(table.columns):,}")
        label, own = labels.get(column, ""), headed.get(column, "")
        details.append(replace(table.details(column), label=label, headed=own))
    stage("counting groups")
    return whole.propose(details, lambda columns: table.group_sizes(columns).tolist())


def _nothing_to_propose(proposal: Proposal, place: str) -> str:
    """That no column can be published, with the reason of the first ones."""
    why = "; ".join(f"{one.name!r}: {one.why}" for one in proposal.columns[:_REASONS])
    more = len(proposal.columns) - _REASONS
    return (
        f"{place}: no column of the table can be published as a quasi-identifier or a sensitive "
        f"attribute, so there is nothing to propose ({why}{f'; {more:,} more' * (more > 0)}); look "
        "at it with voile inspect"
    )


def _refuse_data_as_names(proposal: Proposal, place: str) -> None:
    """Raise ``TableError`` where the first row of a file looks like data: it holds a person."""
    places = layout.data_as_names([column.details for column in proposal.columns])
    if places:
        msg = (
            f"{place}: the first row looks like data, not like names of columns: in columns "
            f"{', '.join(map(str, places))} the name is a value of the column, a number or a date. "
            f"Put a line with names above it, or say that there is none: {place}#header=none. If "
            "these are names, change one of them"
        )
        raise TableError(msg)


def _check(source: str, path: Path, engine: str, *, as_json: bool) -> None:
    """Tell what fits badly; raises ``InputError`` where publishing would be refused."""
    with progress() as stage:
        plan = registry.read_plan(path)
        stage("reading")
        place = laid_out(place_of(source), plan.input)
        table = profile.Inspected.of_file(place, plan.missing, plan.texts, engine)
        plan.bind(table.columns)
        found = _misfits(
            table,
            plan,
            _proposal(table, place, stage),
            bounds_rows=_bounds_rows(plan),
            exact_quasi_identifiers=_exact_quasi_identifiers(plan),
        )
    if as_json:
        print_json({"plan": str(path), "rows": table.rows, "findings": list(map(asdict, found))})
    else:
        for one in found:
            word = "refused" if one.refused else "doubtful"
            click.echo(f"{word}: {path}: {_where(one)}: {one.told}")
        if not found:
            click.echo(f"{path}: no problems found")
    if refused := sum(one.refused for one in found):
        reasons = "1 reason" if refused == 1 else f"{refused} reasons"
        msg = f"{path}: a release of {source} would be refused, for {reasons}"
        raise InputError(msg)


def _bounds_rows(plan: Plan) -> bool:
    """Whether the plan's method asks how many rows of a person take part."""
    return plan.method is not None and "rows_per_person" in registry.METHODS.fields_of(
        plan.method.name
    )


def _exact_quasi_identifiers(plan: Plan) -> bool:
    """Whether the plan's method publishes quasi-identifiers exactly."""
    if plan.method is None:
        return False
    return registry.METHODS.class_of(plan.method.name).capabilities.exact_quasi_identifiers


def _where(found: PlanDoubt) -> str:
    """The key of the plan."""
    if found.key == "rows_per_person":
        return f"[method] {found.key}"
    if found.key in {
        "person",
        "household",
        "keep",
        "identifiers",
        "sensitive",
        "quasi_identifiers",
    }:
        return f"[roles] {found.key}, column {json.dumps(found.column, ensure_ascii=False)}"
    return f"[columns.{found.column}] {found.key}"


def _document(proposal: Proposal) -> dict[str, object]:
    return {
        "missing": list(proposal.marks),
        "columns": [
            {
                "name": column.name,
                "role": "weight" if column is proposal.weight else column.role,
                "kind": column.kind,
                "why": column.why,
                "question": column.question,
            }
            for column in proposal.columns
        ],
    }


def _summary(proposal: Proposal, text: str, out: Path) -> str:
    asked = len(schema_plan.open_questions(text))
    questions = "1 question" if asked == 1 else f"{asked} questions"
    told = f' and asks {questions}, in lines that begin with "{schema_plan.ASKS}"' if asked else ""
    then = " Nothing is published until each is answered and its line removed." if asked else ""
    return (
        f"{out}: a proposal for {len(proposal.columns)} columns{told}.{then} It was made from "
        "private rows; read it before anybody else does."
    )


def _misfits(
    table: Inspected,
    plan: Plan,
    proposal: Proposal,
    *,
    bounds_rows: bool = False,
    exact_quasi_identifiers: bool = False,
) -> list[PlanDoubt]:
    """Everything that fits badly, refusals first, then by column.

    Of the plan's method ``bounds_rows`` says that it takes ``rows_per_person``, and
    ``exact_quasi_identifiers`` that it publishes these exactly.
    """
    order = {name: place for place, name in enumerate(table.columns)}
    found = [
        *table.findings(plan),
        *_telling_apart(table, plan),
        *(table.published_as_ids(plan, ("quasi_identifiers",)) if exact_quasi_identifiers else ()),
        *table.doubts_of_units(plan),
        *_rows_per_person(table, plan, bounds_rows=bounds_rows),
        *(one for column in proposal.columns for one in _looks(column, plan)),
    ]
    return sorted(found, key=lambda one: (not one.refused, order.get(one.column, -1)))


def _telling_apart(table: Inspected, plan: Plan) -> Iterator[PlanDoubt]:
    if plan.roles.person is None and plan.roles.unit is None:
        for name, counts in table.identifiers_that_repeat(plan).items():
            yield binding.PlanDoubt(name, "person", counts.told_of_identifier(name), refused=True)
    yield from table.published_as_ids(plan)
    for name, counts in table.kept_that_single_out(plan).items():
        told = counts.told_of_kept(name)
        yield binding.PlanDoubt(name, "keep", told, refused=name not in plan.roles.keep_unique)


def _rows_per_person(table: Inspected, plan: Plan, *, bounds_rows: bool) -> Iterator[PlanDoubt]:
    """That a differentially private method does not know how many rows of a person take part."""
    assert plan.method is not None or not bounds_rows
    if not bounds_rows or plan.method is None or "rows_per_person" in plan.method.parameters:
        return
    units = table.units(plan)
    if units is not None and units.most_rows > 1:
        told = (
            f"it is missing, and {units.protected}s of column {units.column!r} have up to "
            f"{units.most_rows:,} rows: say how many rows of each may take part"
        )
        yield binding.PlanDoubt(units.column, "rows_per_person", told, refused=True)


def _looks(column: ColumnProposal, plan: Plan) -> Iterator[PlanDoubt]:
    """What a column looks like, where the plan says something else or nothing."""
    name, declared = column.name, plan.column(column.name)
    roles, held = plan.roles, column.details.profile
    silent = roles.person is None and roles.unit is None
    if name in roles.quasi_identifiers:
        counts = persons.Occurrences(column.details.rows, held.distinct, held.once)
        if counts.single_out and declared.hierarchy is None and column.kind in names.UNORDERED:
            told = f"{counts.told_of_kept(name)}, and without a hierarchy little of it will be left"
            yield binding.PlanDoubt(name, "hierarchy", told, refused=False)
        bare = declared.kind is None and declared.type is None and declared.hierarchy is None
        if bare and held.type == "integer" and column.kind in names.UNORDERED:
            told = f'its digits look like names; if they are, say kind = "{column.kind}"'
            yield binding.PlanDoubt(name, "kind", told, refused=False)
    elif column.role == "person" and column.several_rows and silent:
        told = "it seems to tell persons apart, who have several rows each, and person does not say"
        yield binding.PlanDoubt(name, "person", told, refused=False)
    elif column.role == "identifier" and name in roles.published:
        told = f"it is to be published, and may be an identifier: {column.why}"
        yield binding.PlanDoubt(name, "identifiers", told, refused=False)
