"""Public facts about rows: combinations of values that no row has.

    zeros = ["age < 15 AND msp <> 'N'", "sex = 1 AND births IS NOT NULL"]

A fact is one or several conditions joined by AND, each about one column: ``=``, ``<>``, ``<``,
``<=``, ``>``, ``>=`` with a number, a day or a text in single quotes; ``IN (...)``; ``IS NULL`` and
``IS NOT NULL``.  As in SQL, a missing value meets no condition but ``IS NULL``.

A text that the domain of its column does not list is an error, and so are facts that leave nothing.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import product

import numpy as np
from numpy.typing import NDArray

from voile.schema.domain import ColumnDomain
from voile_base.errors import PlanError, nearest
from voile_base.values.value import usable_number

__all__ = ["PublicFacts"]

_MOST_LEAVES, _MOST_KINDS = 1_000_000, 1_000_000
_CONDITION = re.compile(
    r"""\s*(?:"(?P<quoted>[^"]+)"|(?P<name>[^\s<>=!"'(),]+))\s*
    (?:(?P<null>IS\s+(?:NOT\s+)?NULL)|IN\s*\((?P<list>[^()]*)\)|
    (?P<compare><=|>=|<>|!=|=|<|>)\s*(?P<one>'(?:[^']|'')*'|[^\s']+))\s*""",
    re.VERBOSE | re.IGNORECASE,
)
_AND = re.compile(r"AND\b", re.IGNORECASE)
_VALUE = re.compile(r"\s*('(?:[^']|'')*'|[^\s',]+)\s*(,|$)")
_COMPARE: Mapping[str, Callable[[NDArray[np.float64], float], NDArray[np.bool_]]] = {
    "=": operator.eq, "<>": operator.ne, "!=": operator.ne,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
Flags = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class PublicFacts:
    """For each fact and each column in it: which leaves meet its conditions, a missing one last."""

    facts: tuple[Mapping[int, Flags], ...] = ()
    possible: tuple[tuple[int, int], ...] = ()
    """A leaf of each column in them, as (place, leaf), which together break no fact."""

    @classmethod
    def of(cls, stated: Sequence[str], domain: Sequence[ColumnDomain]) -> PublicFacts:
        """The facts that a plan states; raises ``PlanError``."""
        facts = tuple(_read(text, domain) for text in stated)
        return cls(facts, _possible(facts, [it.leaves + it.missing for it in domain]))

    def broken(self, leaves: NDArray[np.int64]) -> Flags:
        """Which rows meet all conditions of some fact; shape (rows,)."""
        broken = np.zeros(len(leaves), dtype=np.bool_)
        for fact in self.facts:
            met = [flags[leaves[:, place]] for place, flags in fact.items()]
            broken |= np.logical_and.reduce(met)
        return broken

    def impossible(self, domain: Sequence[ColumnDomain]) -> Mapping[tuple[int, ...], Flags]:
        """The cells of pairs that facts about two columns empty, by the places of the columns."""
        found: dict[tuple[int, ...], Flags] = {}
        for fact in self.facts:
            if len(fact) == 2:
                pair = tuple(sorted(fact))
                whole = [_whole_cells(domain[place], fact[place]) for place in pair]
                empty = np.logical_and.outer(*whole)
                found[pair] = found.get(pair, np.zeros_like(empty)) | empty
        return found


def _possible(
    facts: Sequence[Mapping[int, Flags]], leaves_of: Sequence[int]
) -> tuple[tuple[int, int], ...]:
    """Leaves that break no fact; raises ``PlanError`` where every row breaks one.

    Leaves of a column that meet the same conditions are of one kind; all combinations of kinds
    are gone through.
    """
    columns = sorted({place for fact in facts for place in fact})
    kinds = []
    for place in columns:
        flags = [fact[place][: leaves_of[place]] for fact in facts if place in fact]
        kinds.append(np.unique(np.stack(flags), axis=1, return_index=True)[1].tolist())
    if np.prod([len(one) for one in kinds], dtype=float) > _MOST_KINDS:
        msg = "zeros has too many conditions to tell what they leave; state fewer facts"
        raise PlanError(msg)
    for leaves in product(*kinds):
        of = dict(zip(columns, leaves, strict=True))
        if not any(all(f[of[place]] for place, f in fact.items()) for fact in facts):
            return tuple(of.items())
    msg = (
        "zeros leaves no row that could be: every combination of values is excluded; take a "
        "fact away, or narrow one by a further condition"
    )
    raise PlanError(msg)


def _whole_cells(column: ColumnDomain, leaves: Flags) -> Flags:
    """The cells all of whose leaves are flagged."""
    present = leaves[:-1]
    starts = column.first[: column.present]
    cells = np.logical_and.reduceat(present, starts)
    return np.append(cells, leaves[-1]) if column.missing else cells


def _read(text: str, domain: Sequence[ColumnDomain]) -> Mapping[int, Flags]:
    """One fact."""
    found: dict[int, Flags] = {}
    for condition in _conditions(text):
        name = condition["quoted"] or condition["name"]
        names = [column.name for column in domain]
        if name not in names:
            alike = [one for one in names if one.casefold() == name.casefold()]
            if len(alike) != 1:
                hint = nearest(name, names)
                msg = f"zeros: {text!r} names the column {name!r}, which is not published{hint}"
                raise PlanError(msg)
            name = alike[0]
        place = names.index(name)
        flags = _met(condition, domain[place], text)
        found[place] = flags & found.get(place, np.ones_like(flags))
    return found


def _conditions(text: str) -> Iterator[re.Match[str]]:
    at = 0
    while True:
        condition = _CONDITION.match(text, at)
        joined = None if condition is None else _AND.match(text, condition.end())
        if condition is None or (joined is None and condition.end() != len(text)):
            msg = (
                f"zeros: {text!r} is no fact: write conditions on columns joined by AND, such as "
                "\"age < 15 AND married = 'yes'\"; write two facts in place of an OR"
            )
            raise PlanError(msg)
        yield condition
        if joined is None:
            return
        at = joined.end()


def _met(condition: re.Match[str], column: ColumnDomain, text: str) -> Flags:
    """Which leaves meet a condition; the missing value last."""
    if column.leaves > _MOST_LEAVES:
        msg = (
            f"zeros: column {column.name!r} has more than {_MOST_LEAVES:,} values; let edges or "
            "intervals have fewer digits"
        )
        raise PlanError(msg)
    met = np.zeros(column.leaves + 1, dtype=np.bool_)
    if condition["null"]:
        negative = "not" in condition["null"].casefold()
        met[:-1], met[-1] = negative, not negative
        return met
    compare = condition["compare"] or "="
    for value in [condition["one"]] if condition["one"] else _values(condition["list"], text):
        met[:-1] |= _compared(column, compare, value, text)
    return met


def _values(listed: str, text: str) -> list[str]:
    found, at = [], 0
    while at < len(listed) and (value := _VALUE.match(listed, at)):
        found.append(value[1])
        at = value.end()
    if not found or at < len(listed):
        msg = f"zeros: {text!r} has a list that cannot be read; write IN ('a', 'b') or IN (1, 2)"
        raise PlanError(msg)
    return found


def _compared(column: ColumnDomain, compare: str, value: str, text: str) -> Flags:
    plain = value[1:-1].replace("''", "'") if value.startswith("'") else value
    equal = compare in {"=", "<>", "!="}
    if column.kind == "text":
        if not equal:
            why = (
                f"are texts and have no order, so {compare} says nothing; write = or <>, or list "
                "the values: IN ('a', 'b')"
            )
            raise _fault(text, f"the values of column {column.name!r} {why}")
        listed = list(column.listed or ())
        if plain not in listed:
            raise _unlisted(text, column, repr(plain), nearest(plain, listed))
        same = np.array([leaf == plain for leaf in listed], dtype=np.bool_)
        return same if compare == "=" else ~same
    number = _number(column, plain)
    if number is None:
        what = "a day such as '2026-01-31'" if column.kind == "date" else "a number"
        raise _fault(text, f"column {column.name!r} is compared with {what}, not {plain!r}")
    if column.listed is not None and equal and number not in column.numbers:
        raise _unlisted(text, column, plain, "")
    return np.asarray(_COMPARE[compare](column.numbers, number))


def _fault(text: str, what: str) -> PlanError:
    return PlanError(f"zeros: {text!r}: {what}")


def _unlisted(text: str, column: ColumnDomain, value: str, hint: str) -> PlanError:
    return _fault(
        text,
        f"{value} is not among the values of column {column.name!r}{hint}; write one of the values "
        f"that [columns.{column.name}] lists, or add it there",
    )


def _number(column: ColumnDomain, plain: str) -> float | None:
    if column.kind == "date":
        try:
            return float((date.fromisoformat(plain) - date(1970, 1, 1)).days)
        except ValueError:
            return None
    found = usable_number(plain, texts=True)
    return None if found is None else float(found)
