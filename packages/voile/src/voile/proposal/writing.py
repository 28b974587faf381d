"""A proposal as a plan in TOML, with a reason beside each line.

Methods that count over public domains need to know which values each column may
have.  What is publicly known is written, such as the bounds of ages.  The rest is
asked: a domain that was read from the rows would tell about them, so none is proposed.

What could not be told stands as a comment that asks, with the column that it is about in quotes: a
plan with such a line publishes nothing (``schema.plan``).  Public bounds are only written where
everybody knows them; elsewhere a comment names them, because only people can know them.

What a plan may say in the table of a column: its kind, its format, and a hierarchy that fits.

Hierarchies are those of ``schema.hierarchy.suggestion``, from public facts alone; here the kind,
the public bounds and the public list that the column seems to have are handed to it.  What a plan
says already stands, and wins.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from voile.proposal.editing import ASKS_FOR_KNOWN, ASKS_FOR_SENSITIVE
from voile.proposal.layout import ProposedLayout, marked_columns
from voile.proposal.proposed import SHARED_BY_PEOPLE, ColumnProposal
from voile.proposal.tracks import ProposedTrips
from voile.proposal.whole import Proposal
from voile.schema.domain import public_domain
from voile.schema.hierarchy.suggestion import Suggestion
from voile.schema.plan import ASKS, ColumnPlan, parse_plan
from voile_base.errors import PlanError
from voile_base.ondemand import dataclass
from voile_base.values.toml import toml_text

__all__ = ["OF_BUDGET", "MethodProposal", "plan_text", "suggestion_of"]

_OF_FORMS = {
    "postcode": "district and area of a postcode, never a whole one",
    "year": "the year as it stands in a day, then its decade or era",
}


def suggestion_of(column: ColumnProposal, declared: ColumnPlan | None = None) -> Suggestion:
    """The table of a column, together with what a plan says of it already."""
    details = column.details
    said = declared or ColumnPlan()
    if said.kind is None and said.type is None:
        said = replace(said, kind=column.kind)
    if said.kind == "date" and said.format is None:
        said = replace(said, format=column.date_format)
    if said.kind == "number" and said.bounds is None:
        said = replace(said, bounds=column.bounds)
    if said.kind == "text":
        why = "free text cannot be a quasi-identifier: leave it out, or say what its values are"
        return Suggestion(column.name, None, why)
    if column.form is not None and said.hierarchy is None:
        key, value = column.form
        return Suggestion(
            column.name, {"kind": column.kind, "type": "text", key: value}, _OF_FORMS[key]
        )
    return Suggestion.of(column.name, details.profile.type, details.digits, said, column.code_list)


_HEAD = """\
# A plan for {name}, proposed by `voile plan`: each line is a proposal, to be judged and changed.
# It was made from private rows, so keep it to yourself until you have read it. No value of the
# table stands in it but marks such as "?". Lines that begin with "# ?" ask what could not be told:
# nothing is published until each is answered and removed, or accept_questions = true stands here.
"""
_KINDS = {
    "nominal": "names of groups: what lies between two of them means nothing",
    "ordinal": "ranks: they have an order, and no distances",
    "number": "amounts or counts: an interval of them means something",
    "date": "days or times",
    "code": "codes of a system, though they may look like numbers",
    "geography": "places or areas",
    "text": "what people wrote",
}
_BOUNDS = """\
# bounds = [lowest, highest] are left to you: what is publicly possible, not what the table holds.
#   With them, `voile inspect INPUT --plan PLAN --suggest` proposes intervals."""
_ORDER = "# its texts have an order: with order = [...], the lowest first, they are cut in it"
OF_BUDGET = """\
epsilon = 1  # what anybody can learn about one person, whatever else they know; smaller is safer
delta = 1e-6  # far below one in the number of rows; leave it out for a promise without delta
"""
"""What a plan may say of a budget."""
_ASKED_OF_DOMAINS = {
    "number": "what are its lowest and highest possible value? Say bounds = [lowest, highest] and, "
    "unless they are few whole numbers, edges = [...] between them",
    "date": "what are its first and its last possible day? Say edges = [first, last], each as "
    '"2026-01-31", and dates = ["month", "year"]',
}
_VALUES = (
    'which values may it have? Say values = [...], with "other" where any text that is not listed '
    "is to count"
)
_PUBLIC = "by what is publicly known, and not by what the table holds"
_MOVED = f"""\
[method]
name = "geo-indistinguishability"  # positions are moved: docs/methods/geo-indistinguishability.md
{ASKS} noise: how far must it reach? epsilon = 0.005 moves a position by 400 m on average
epsilon = 0.005  # per metre
trips = "numbered"  # numbers take the place of ids
"""
_NOT_MOVED = f"""\
{ASKS} trips: positions and times are reports of trips, and not all of trip, time, latitude and
#   longitude were found. Name them in [roles]. The file of a single device has no column of trips:
#   add one with the same value in each row. docs/methods/geo-indistinguishability.md moves places,
#   and docs/methods/flows.md counts trips. Without a [method] nothing is published."""


@dataclass(frozen=True)
class MethodProposal:
    """What is proposed of a method."""

    table: str
    """[method] as TOML, a reason beside each line."""
    over_domains: bool = False
    """Whether it counts over public domains, so that these are asked for."""
    names_tables: bool = False
    """Whether it publishes tables that are to be named."""


_USUAL = MethodProposal(
    """\
[method]
name = "generalization"  # people are made alike: see docs/start/choose.md for the other methods
k = 5  # everybody looks like 4 others at least; a convention for data that leave the house
"""
)
_ALTERNATIVE = '# name = "{name}"  # instead: {why} (docs/methods/{name}.md)'
_NOT_UNDERSTOOD = "not understood"
"""Why a column stands in a question about several."""
_USUAL_LAYOUT = ProposedLayout()
_MANY = 20
"""Columns of which one question is asked of all instead of the same of each."""
_NOTHING = f"""\
{ASKS} table: no column is understood well enough to be published. Answer the questions above by
#   roles in [roles]; docs/start/choose.md has the methods. Without one nothing is published."""


def plan_text(
    proposal: Proposal,
    name: str,
    method: MethodProposal = _USUAL,
    layout: ProposedLayout = _USUAL_LAYOUT,
) -> str:
    """The plan as a text; ``name`` is that of the table, ``layout`` that of its file."""
    shown = toml_text({"x": name}).strip().removeprefix("x = ")
    head = _HEAD.format(name=shown)
    if proposal.trips is not None:
        lines_of = (_input(layout), _of_trips(proposal, proposal.trips))
        return _joined([head, *("\n".join(lines) for lines in lines_of)])
    return _joined(
        [
            head,
            "\n".join(_missing(proposal)),
            "\n".join(_input(layout)),
            "\n".join(_roles(proposal)),
            *(
                "\n".join(_column(column, domain=method.over_domains))
                for column in _described(proposal)
            ),
            "\n".join((*_counts(proposal), *_method(proposal, method))),
        ]
    )


def _joined(parts: Sequence[str]) -> str:
    return "\n".join(f"{part.rstrip()}\n" for part in parts if part)


def _of_trips(proposal: Proposal, trips: ProposedTrips) -> Iterator[str]:
    """A plan that moves positions and publishes nothing else; or none, and why."""
    yield "[roles]"
    roles = trips.roles or {}
    for role, column in roles.items():
        yield _line(role, column.name, _OF_TRIPS[role])
    if trips.trip is not None and roles:
        yield (
            f"{ASKS} {_value(trips.trip.name)}: is each of its values one trip? Where it is a "
            "vehicle or a person, noise of many days adds up"
        )
    kept = trips.beside if roles else ()
    yield from _list("keep", kept, "published as they are: they tell nothing about places")
    published = {one.name for one in (*roles.values(), *kept)}
    left = [one for one in proposal.columns if one.name not in published]
    if left:
        yield "# Left out: what follows from a position gives it away. Speeds, directions,"
        yield "# distances and heights beside times tell the way (Gao et al., UbiComp 2014):"
        yield from (f"#   {_value(column.name)}: {column.why}" for column in left)
    yield ""
    for column in kept:
        if column.details.profile.missing:
            yield toml_text({"columns": {column.name: {}}}).strip()
            yield _line("nulls", "category", "some values are missing: that is a value of its own")
            yield ""
    if roles and trips.time is not None and trips.time.date_format:
        yield toml_text({"columns": {trips.time.name: {}}}).strip()
        yield _line("format", trips.time.date_format, "all values fit it")
        yield ""
    if trips.parted:
        day, clock = (_value(one.name) for one in trips.parted)
        yield f"{ASKS} time: {day} and {clock} tell it together, and a method takes one column."
        yield "#   Write both into one column of the table, such as 2024-05-31 14:02:00"
    yield _MOVED if roles else _NOT_MOVED


_OF_TRIPS = {
    "trip": "reports of one value are protected together",
    "time": "published as it is",
    "latitude": "moved by noise",
    "longitude": "moved by noise",
}


def _counts(proposal: Proposal) -> Iterator[str]:
    """A question, where the table may be one of counts."""
    if proposal.categories:
        names = ", ".join(_value(name) for name in proposal.categories)
        yield f"{ASKS} table: each combination of {names} stands once, as in a table of counts."
        yield "#   Is a row a group of people? Then this method protects nobody: do not use it."


def _method(proposal: Proposal, method: MethodProposal) -> Iterator[str]:
    if not proposal.publishes:
        yield _NOTHING
        return
    yield method.table.rstrip()
    if method is _USUAL:
        yield from _alternatives(proposal)
    if method.names_tables:
        names = [[column.name] for column in _described(proposal)]
        yield _line("tables", names, "each column by itself")
        yield f"{ASKS} tables: which columns are to stand in one table together?"
    if not method.over_domains:
        return
    unit = proposal.household or proposal.person
    if unit is not None:
        yield _line("rows_per_person", 1, f"of each {unit.role}, that take part at most")
        yield (
            f"{ASKS} {_value(unit.name)}: how many rows of one are to count at most, at the price "
            "of as much more noise? The others are left out"
        )


def _alternatives(proposal: Proposal) -> Iterator[str]:
    """Methods that fit as well, as comments: a name in the place of the other, with the same k."""
    known = proposal.of_role("quasi")
    if known and proposal.weight is not None:
        yield _ALTERNATIVE.format(
            name="local-suppression",
            why="single cells are blanked, and all others stay exact, as in survey microdata",
        )
    if known and all(column.kind == "number" for column in known):
        yield _ALTERNATIVE.format(
            name="microaggregation",
            why="each group shows its means: all quasi-identifiers are numbers",
        )


def _domain(column: ColumnProposal, keys: Mapping[str, object]) -> Iterator[str]:
    """A question, where what is proposed does not say which values a column may have."""
    stated = {"roles": {"quasi_identifiers": [column.name]}, "columns": {column.name: keys}}
    try:
        public_domain(parse_plan(stated))
    except PlanError:
        asked = _ASKED_OF_DOMAINS.get(column.kind, _VALUES)
        yield f"{ASKS} {_value(column.name)}: {asked}; {_PUBLIC}"


def _input(proposed: ProposedLayout) -> Iterator[str]:
    """How the file is laid out, and columns whose numbers can be read in two ways."""
    stated, reasons = proposed.layout.stated, dict(proposed.reasons)
    if stated:
        yield "[input]"
        for key, value in stated.items():
            yield _line(key, value, reasons.get(key, "as it was said"))
    for name in proposed.questions:
        yield (
            f"{ASKS} {_value(name)}: does a comma part its decimals or its thousands? Say "
            'decimal = "," or thousands = "," in [input]'
        )


_FEW = 5
"""Columns that a reason names."""


def _missing(proposal: Proposal) -> Iterator[str]:
    if proposal.missing:
        yield _line("nulls", "category", "some values are missing: that is then a value of its own")
    if proposal.marks:
        details = [column.details for column in proposal.columns]
        where = (
            f"{_value(mark)} in {', '.join(map(_value, marked_columns(details, mark)[:_FEW]))}"
            for mark in proposal.marks
        )
        why = f"texts that seem to stand for a missing value: {'; '.join(where)}"
        yield _line("missing", list(proposal.marks), why)


def _roles(proposal: Proposal) -> Iterator[str]:
    yield "[roles]"
    persons, identifiers = _persons(proposal)
    yield from persons
    yield from _list("identifiers", identifiers, "never published")
    yield from _list(
        "quasi_identifiers", proposal.of_role("quasi"), "what others may know about a person"
    )
    yield from _list("sensitive", proposal.of_role("sensitive"), "what nobody should learn")
    yield from _asked_of_guessed(proposal.of_role("quasi"), ASKS_FOR_SENSITIVE)
    yield from _asked_of_guessed(proposal.of_role("sensitive"), ASKS_FOR_KNOWN)
    if proposal.weight is not None:
        yield (
            f"weight = {_value(proposal.weight.name)}  # of the survey: for risk in the "
            "population, and not published; in `keep` as well, recipients can weigh rows"
        )
    yield from _left_out(proposal)


def _asked_of_guessed(columns: Sequence[ColumnProposal], asks: str) -> Iterator[str]:
    """One question of the columns of a role of which neither name nor values say what they are.

    Whoever is found in a group learns what all its rows show, which a quasi-identifier never hides;
    and by what is shown as it is, as sensitive columns are, people may be found.
    """
    guessed = [one for one in columns if one.guessed and not one.question]
    if guessed:
        yield f"{ASKS} {asks} If so, say {asks.partition(':')[0]} = [...], or remove it."
        yield from (f"#   {_value(column.name)}: {_NOT_UNDERSTOOD}" for column in guessed)


def _left_out(proposal: Proposal) -> Iterator[str]:
    """What no role names: what tells nothing, what repeats among people, what is asked about."""
    shared = [one for one in proposal.of_role("identifier") if _is_shared(one)]
    if shared:
        yield "# Never published either; no role names them, since several rows may share them:"
        yield from (f"#   {_value(column.name)}: {column.why}" for column in shared)
    if left := [one for one in proposal.of_role("drop") if one is not proposal.weight]:
        yield "# Left out, because no role names them (`keep` would publish them as they are):"
        yield from (f"#   {_value(column.name)}: {column.why}" for column in left)
    yield from _asked_of_left_out([column for column in left if column.question])


def _asked_of_left_out(columns: Sequence[ColumnProposal]) -> Iterator[str]:
    """A question for each column, or one for many of which the same is asked."""
    often = Counter(column.question for column in columns)
    for column in columns:
        if often[column.question] <= _MANY:
            yield f"{ASKS} {_value(column.name)}: {column.question}"
    for question, number in often.items():
        if number > _MANY:
            yield f"{ASKS} table: {number:,} columns that are left out above ask the same. Each:"
            yield f"#   {question}. Name in [roles] those that recipients need, and remove this"
            yield "#   question: the others stay unpublished"


def _is_shared(column: ColumnProposal) -> bool:
    """Whether an identifier repeats as names do, which says nothing of whose rows they are."""
    found = column.recognition
    return column.several_rows and found is not None and found.key in SHARED_BY_PEOPLE


def _persons(proposal: Proposal) -> tuple[list[str], tuple[ColumnProposal, ...]]:
    """The lines that say who is protected, and the columns that are identifiers."""
    identifiers = tuple(one for one in proposal.of_role("identifier") if not _is_shared(one))
    told = [column for column in (proposal.person, proposal.household) if column is not None]
    lines = []
    for column in told:
        why = f"{column.why}; all rows of one are protected together"
        lines.append(_line(column.role, column.name, why))
        if column.question:
            lines.append(f"{ASKS} {_value(column.name)}: {column.question}")
    repeating = [column for column in identifiers if column.several_rows]
    if not told and repeating:
        names = ", ".join(_value(column.name) for column in repeating)
        lines += [
            f"{ASKS} {_value(repeating[0].name)}: are the rows of one value a person's? The values "
            f"of {names} stand in several rows each.",
            f"#   If so, say person = {_value(repeating[0].name)}. If each row is another",
            '#   person all the same, say person = "row". Without either the plan is refused.',
        ]
    return lines, identifiers


def _list(key: str, columns: Sequence[ColumnProposal], what: str) -> Iterator[str]:
    if not columns:
        return
    yield f"{key} = [  # {what}"
    for column in columns:
        yield f"    {_value(column.name)},  # {column.why}"
    yield "]"


def _described(proposal: Proposal) -> tuple[ColumnProposal, ...]:
    return tuple(one for one in proposal.columns if one.role in {"quasi", "sensitive"})


def _column(column: ColumnProposal, *, domain: bool) -> Iterator[str]:
    """The table of a column, with a reason behind each key; ``domain``: also what it may hold."""
    suggestion = suggestion_of(column)
    yield toml_text({"columns": {column.name: {}}}).strip()
    if column.question:
        yield f"{ASKS} {_value(column.name)}: {column.question}"
    reasons = {
        "kind": _KINDS[column.kind],
        "format": "all values fit it",
        "bounds": "what is publicly possible, not what the table holds",
    }
    keys: Mapping[str, object] = suggestion.keys or {"kind": column.kind}
    hierarchy = domain or column.role == "quasi"
    for key in (*reasons, *(key for key in keys if key not in reasons and hierarchy)):
        if key in keys:
            yield _line(key, keys[key], reasons.get(key, suggestion.note))
    if domain:
        yield from _domain(column, keys)
    elif hierarchy and keys.keys() <= reasons.keys():
        asked = column.kind in {"number", "ordinal"} and not column.details.bands
        yield _BOUNDS if asked and "bounds" not in keys else f"# {suggestion.note}"
    if not domain and column.kind == "ordinal" and column.details.profile.type == "text":
        yield _ORDER  # no question: without it they are shown as they are or not at all


def _line(key: str, value: object, reason: str) -> str:
    _, line = toml_text({"columns": {"x": {key: value}}}).strip().split("\n", 1)
    return f"{line}  # {reason}"


def _value(value: object) -> str:
    return toml_text({"x": value}).strip().removeprefix("x = ")
