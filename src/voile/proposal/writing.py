"""A proposal as a plan in TOML, with a reason beside each line.

What could not be told stands as a comment that asks.  Public bounds are only written where
everybody knows them; elsewhere a comment asks for them, because only people can know them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from voile.proposal.columns import ColumnProposal
from voile.proposal.hierarchies import suggestion_of
from voile.proposal.whole import Proposal
from voile.values.toml import toml_text

__all__ = ["ASKS", "plan_text"]

ASKS = "# ?"
"""How lines begin that ask."""

_HEAD = """\
# A plan for {name}, proposed by `voile plan`: each line is a proposal, to be judged and changed.
# It was made from private rows, so keep it to yourself until you have read it. No value of the
# table stands in it but marks such as "?". Lines that begin with "# ?" ask what could not be told.
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
# ? bounds = [lowest, highest] are left to you: what is publicly possible, not what the table holds.
#   With them, `voile inspect INPUT --plan PLAN --suggest` proposes intervals."""
_METHOD = """\
[method]
name = "generalization"  # people are made alike: see docs/custodian.md for the other methods
k = 5  # everybody looks like 4 others at least; a convention for data that leave the house
"""

_TRIPS = f"""\
{ASKS} Columns {{names}} seem to be places. Are rows reports of trips, a place at a time? Then
#   other methods fit: docs/methods/geo-indistinguishability.md moves places, and
#   docs/methods/flows.md counts trips."""
_LATITUDE = re.compile(r"lat(itude)?(?![a-z])", re.IGNORECASE)
_LONGITUDE = re.compile(r"(lng|lon(g(itude)?)?)(?![a-z])", re.IGNORECASE)


def plan_text(proposal: Proposal, name: str) -> str:
    """The plan as a text; ``name`` is that of the table."""
    shown = toml_text({"x": name}).strip().removeprefix("x = ")
    parts = [
        _HEAD.format(name=shown),
        "\n".join(_missing(proposal)),
        "\n".join(_roles(proposal)),
        *("\n".join(_column(column)) for column in _described(proposal)),
        "\n".join((*_places(proposal), _METHOD)),
    ]
    return "\n".join(f"{part.rstrip()}\n" for part in parts if part)


def _places(proposal: Proposal) -> Iterator[str]:
    """A question, where names of columns are those of a position in degrees."""
    numbers = [column.name for column in proposal.columns if column.kind == "number"]
    pair = [next(filter(word.match, numbers), None) for word in (_LATITUDE, _LONGITUDE)]
    if None not in pair:
        yield _TRIPS.format(names=" and ".join(repr(name) for name in pair))


def _missing(proposal: Proposal) -> Iterator[str]:
    if proposal.missing:
        yield _line("nulls", "category", "some values are missing: that is then a value of its own")
    if proposal.marks:
        why = "texts that seem to stand for a missing value"
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
    if left := proposal.of_role("drop"):
        yield "# Left out, because no role names them (`keep` would publish them as they are):"
        yield from (f"#   {_value(column.name)}: {column.why}" for column in left)


def _persons(proposal: Proposal) -> tuple[list[str], tuple[ColumnProposal, ...]]:
    """The lines that say who is protected, and the columns that are identifiers."""
    identifiers = proposal.of_role("identifier")
    told = [column for column in (proposal.person, proposal.household) if column is not None]
    lines = []
    for column in told:
        why = f"{column.why}; all rows of one are protected together"
        lines.append(_line(column.role, column.name, why))
    repeating = [column for column in identifiers if column.several_rows]
    if not told and repeating:
        names = ", ".join(_value(column.name) for column in repeating)
        lines += [
            f"# ? The values of {names} stand in several rows each. Are the rows of one value a",
            f"#   person's? Then say person = {_value(repeating[0].name)}. If each row is another",
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


def _column(column: ColumnProposal) -> Iterator[str]:
    """The table of a column, with a reason behind each key."""
    suggestion = suggestion_of(column)
    yield toml_text({"columns": {column.name: {}}}).strip()
    if column.question:
        yield f"# ? {column.question}"
    reasons = {
        "kind": _KINDS[column.kind],
        "format": "all values fit it",
        "bounds": "what is publicly possible, not what the table holds",
    }
    keys: Mapping[str, Any] = suggestion.keys or {"kind": column.kind}
    hierarchy = column.role == "quasi"
    for key in (*reasons, *(key for key in keys if key not in reasons and hierarchy)):
        if key in keys:
            yield _line(key, keys[key], reasons.get(key, suggestion.note))
    if hierarchy and keys.keys() <= reasons.keys():
        asked = column.kind in {"number", "ordinal"} and not column.details.bands
        yield _BOUNDS if asked and "bounds" not in keys else f"# {suggestion.note}"


def _line(key: str, value: Any, reason: str) -> str:
    _, line = toml_text({"columns": {"x": {key: value}}}).strip().split("\n", 1)
    return f"{line}  # {reason}"


def _value(value: Any) -> str:
    return toml_text({"x": value}).strip().removeprefix("x = ")
