"""The decisions of generalization on all small tables of persons, against their definitions.

A table is a multiset of rows, each of one of three persons, with one of two quasi-identifier values
and one of three sensitive ones.  Of those that differ by names alone one is looked at; where the
criterion tells values apart by more than their names, as an order or a tree does, one of those that
differ by the names of persons and quasi-identifiers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import pytest

import voile.publish.generalization.publisher as publisher_module
from voile.models.l_diversity import EntropyDiversity, RecursiveDiversity
from voile.models.t_closeness import EqualCloseness, OrderedCloseness
from voile.models.units import GroupedUnits
from voile.publish.generalization import Generalization
from voile.schema.plan import Plan, parse_plan
from voile_base.errors import InfeasibleError
from voile_base.randomness import Randomness
from voile_tests.models.small_persons import (
    Row,
    all_tables,
    different,
    distance,
    entropy_reaches,
    many_tables,
    parts,
    persons,
    recursive,
    renamings,
)
from voile_tests.publish.generalization.small_counts import CountedInMemory, Decided

ALGORITHMS: dict[str, dict[str, Any]] = {
    "auto": {"algorithm": "auto"},
    "flash": {"algorithm": "flash"},
    "ola": {"algorithm": "ola"},
    "datafly": {"algorithm": "datafly"},
    "k-optimize": {"algorithm": "k-optimize"},
    "mondrian": {"algorithm": "mondrian"},
    "relaxed mondrian": {"algorithm": "mondrian", "relaxed": True},
    "mondrian with sets": {"algorithm": "mondrian", "sets": True},
}
ALL = tuple(ALGORITHMS)
SIX, VARIANTS = ALL[:6], ALL[6:]
LEAVE_OUT = ("flash", "ola", "datafly", "k-optimize")
"""Those that may suppress rows."""
EVERY_WAY = bool(os.environ.get("EVERY_WAY"))
"""Whether every algorithm decides where otherwise they take turns: ten minutes of a processor."""

Valid = Callable[[Sequence[Row], Sequence[Row]], bool]
ROLES = {"quasi_identifiers": ["quasi"], "sensitive": ["illness"], "person": "patient"}
PLAIN = parse_plan({"roles": ROLES})
OF_A_TREE = parse_plan(
    {"roles": ROLES, "columns": {"illness": {"tree": {"one": ["x", "y"], "other": ["z"]}}}}
)


@dataclass(frozen=True)
class Asked:
    """What a plan asks of groups, and what that is by its definition."""

    parameters: dict[str, Any]
    valid: Valid = lambda rows, table: True
    least: int = 2
    """Persons of a group, whatever else is asked."""
    plan: Plan = PLAIN
    numbers: bool = False
    """Whether the sensitive values are numbers."""

    def publisher(self, **method: Any) -> Generalization:
        """What publishes so."""
        return Generalization(k=self.least, **self.parameters, **method)

    def counted(self, table: Sequence[Row]) -> CountedInMemory:
        """A table as a publisher meets it."""
        if self.numbers:
            table = [(who, quasi, str("xyz".index(value))) for who, quasi, value in table]
        return CountedInMemory(table, self.plan, self.numbers)

    def wanted(self, table: Sequence[Row], share: float = 0) -> dict[str, int] | None:
        """The group of each value of the finest division; None where there is none.

        -1 is a group that may not be published and has no more than that share of the rows.
        """
        values = sorted({row[1] for row in table})
        held = {q: self._holds([row for row in table if row[1] == q], table) for q in values}
        lost = sum(not held[row[1]] for row in table)
        if any(held.values()) and lost <= share * len(table):
            return {q: values.index(q) if held[q] else -1 for q in values}
        return dict.fromkeys(values, 0) if self._holds(table, table) else None

    def _holds(self, rows: Sequence[Row], table: Sequence[Row]) -> bool:
        return persons(rows) >= self.least and self.valid(rows, table)


def published(publisher: Generalization, private: CountedInMemory) -> dict[str, int] | None:
    """The group of each value, as the publisher decides; None where it refuses."""
    try:
        publisher.prepare(private, SEEDED)  # type: ignore[arg-type]
    except Decided as decided:
        group = decided.treatment.groups.group.tolist()
    except InfeasibleError:
        return None
    (counts,) = private.counts.values()
    of = dict(zip(counts.codes[:, 0].tolist(), group, strict=True))
    assert [of[code] for code in counts.codes[:, 0].tolist()] == group  # equal values together
    return {counts.values[0].texts[code]: number for code, number in of.items()}


def alike(one: dict[str, int] | None, other: dict[str, int] | None) -> bool:
    """Whether two divisions are the same, whatever the numbers of their groups."""
    if one is None or other is None or one.keys() != other.keys():
        return one is other
    pairs = {(one[value], other[value]) for value in one}
    out = {(a < 0, b < 0) for a, b in pairs}
    apart = len({a for a, _ in pairs}) == len(pairs) == len({b for _, b in pairs})
    return apart and out <= {(True, True), (False, False)}


SEEDED = Randomness.seeded(1)


def ordered_distance(rows: Sequence[Row], table: Sequence[Row]) -> Fraction:
    """What must move along the ranks of the values that the table has, from 0 to 1."""
    here, all_ = parts(rows), parts(table)
    values, size, whole = sorted(all_), sum(here.values()), sum(all_.values())
    moved = total = 0
    for value in values[:-1]:
        moved += here.get(value, 0) * whole - all_[value] * size
        total += abs(moved)
    return Fraction(total, size * whole * max(len(values) - 1, 1))


def tree_distance(rows: Sequence[Row], table: Sequence[Row]) -> Fraction:
    """The mean of the distances of values and of branches: "x" and "y" share one, "z" has one."""
    of = dict(zip("xyz", "xxz", strict=True))
    branches = [[(who, quasi, of[value]) for who, quasi, value in some] for some in (rows, table)]
    return (distance(rows, table) + distance(*branches)) / 2


QUARTER = Fraction(1, 4)
OF_PERSONS = {"k = 2": Asked({}), "k = 3": Asked({}, least=3)}
"""These read no sensitive value."""
OF_NAMES = {
    "distinct": Asked({"l": 2}, lambda rows, table: different(rows) >= 2),
    "entropy": Asked(
        {"l": {"value": 2, "kind": "entropy"}}, lambda rows, table: entropy_reaches(rows, 2)
    ),
    "recursive": Asked(
        {"l": {"value": 2, "kind": "recursive", "c": 2}},
        lambda rows, table: recursive(rows, Fraction(2), 2),
    ),
    "t": Asked({"t": 0.25}, lambda rows, table: distance(rows, table) <= QUARTER),
    "three": Asked({"l": 3}, lambda rows, table: different(rows) >= 3),
}
"""Of these, sensitive values count by their names alone."""
OF_PLACES = {
    "ordered": Asked(
        {"t": {"value": 0.25, "distance": "ordered"}},
        lambda rows, table: ordered_distance(rows, table) <= QUARTER,
        numbers=True,
    ),
    "tree": Asked(
        {"t": {"value": 0.25, "distance": "hierarchical"}},
        lambda rows, table: tree_distance(rows, table) <= QUARTER,
        plan=OF_A_TREE,
    ),
}
"""Of these, one of the three values has a place of its own: between the others, or apart."""
ANY = OF_PERSONS | OF_NAMES | OF_PLACES
USUAL = ("distinct", "entropy", "recursive", "t")


@pytest.fixture(autouse=True)
def _asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Algorithms that ask the same criterion of the same groups are answered once.

    So are those that generalize the same values, or have to say what could be reached.
    """

    def remember(owner: Any, name: str, key: Callable[..., Any]) -> None:
        method, answers = getattr(owner, name), {}

        def ask(*arguments: Any) -> Any:
            of, *asked = key(*arguments)
            known = answers.setdefault(id(of), (of, {}))[1]
            if len(answers) > MOST_REMEMBERED:
                answers.clear()
            found = tuple(asked)
            if found not in known:
                known[found] = method(*arguments)
            return known[found]

        monkeypatch.setattr(owner, name, ask)

    remember(GroupedUnits, "different", lambda it, *of: (it.counts, it.label.tobytes(), *of))
    remember(GroupedUnits, "at_least", lambda it, k: (it.counts, it.label.tobytes(), k))
    for criterion in (EntropyDiversity, RecursiveDiversity, EqualCloseness, OrderedCloseness):
        remember(criterion, "holds", lambda it, of: (of.units.counts, of.units.label.tobytes(), it))
    values_of = lambda plan, of: (plan, *((name, each.texts) for name, each in of.items()))  # noqa: E731
    remember(publisher_module, "bound_hierarchies", values_of)
    asked_of = lambda it, *k: (it.counts.units, tuple(map(str, it.criteria)), it.suppressible, *k)  # noqa: E731
    remember(publisher_module, "infeasible", asked_of)
    remember(publisher_module, "infeasible_together", asked_of)


MOST_REMEMBERED = 100
"""Tables at a time."""


def without_values(tables: Sequence[Sequence[Row]]) -> list[list[Row]]:
    """What criteria see that read no sensitive value."""
    seen = {tuple(sorted((who, quasi, "x") for who, quasi, _ in table)) for table in tables}
    return [list(table) for table in sorted(seen)]


def placed(tables: Sequence[Sequence[Row]]) -> Iterator[list[Row]]:
    """Tables with each of the values in the place of "y", and in that of "z".

    Those of seven rows with one of them in turn, unless every way is asked for.
    """
    for number, table in enumerate(tables):
        places = ("xyz", "yzx", "zxy")
        for turned in places if len(table) < 7 or EVERY_WAY else places[number % 3 :][:1]:
            place = dict(zip("xyz", turned, strict=True))
            yield [(who, quasi, place[value]) for who, quasi, value in table]


def assert_decided(
    asked: Asked,
    tables: Iterable[Sequence[Row]],
    ways: Sequence[str] = ALL,
    share: float = 0,
    in_turn: bool = False,
) -> int:
    """Ways divide tables as finely as the definition allows; how many tables they publish.

    All ways each table; or, unless all are asked for, one, ``in_turn``.
    """
    limit = {"suppression_limit": share} if share else {}
    publishers = [asked.publisher(**ALGORITHMS[way], **limit) for way in ways]
    count = 0
    for number, table in enumerate(tables):
        wanted, private = asked.wanted(table, share), asked.counted(table)
        one = publishers[number % len(ways) :][:1]
        for publisher in one if in_turn and not EVERY_WAY else publishers:
            found = published(publisher, private)
            assert alike(found, wanted), f"{table}: {publisher} decides {found}, not {wanted}"
        count += wanted is not None
    return count


@pytest.mark.slow
def test_a_table_of_each_kind_is_looked_at() -> None:
    """As many tables as there are multisets of rows up to names, by counting those names fix."""
    assert len(all_tables(7)) == sum(up_to_names(rows) for rows in range(1, 8))


def up_to_names(rows: int) -> int:
    """The mean over all renamings of how many multisets of rows each leaves as they are."""
    fixed = [multisets(cycles(renaming), rows) for renaming in renamings()]
    assert sum(fixed) % len(fixed) == 0
    return sum(fixed) // len(fixed)


def cycles(renaming: Sequence[int]) -> list[int]:
    """The lengths of the cycles of a renaming."""
    left, lengths = set(range(len(renaming))), []
    while left:
        place, length = left.pop(), 1
        while (place := renaming[place]) in left:
            left.remove(place)
            length += 1
        lengths.append(length)
    return lengths


def multisets(lengths: Sequence[int], rows: int) -> int:
    """Ways to write a number as a sum of multiples of each of these lengths."""
    ways = [1] + [0] * rows
    for length in lengths:
        for total in range(length, rows + 1):
            ways[total] += ways[total - length]
    return ways[rows]


@pytest.mark.parametrize("name", ANY)
def test_small_tables(name: str) -> None:
    """A sample of those of up to four rows, by every algorithm."""
    assert assert_decided(ANY[name], all_tables(4)[::9]) or name == "three"


@pytest.mark.slow
@pytest.mark.parametrize("name", OF_PERSONS)
def test_persons_of_all_tables(name: str) -> None:
    """Every table of up to seven rows, by every algorithm; sensitive values do not count."""
    tables = without_values(all_tables(7))
    assert assert_decided(OF_PERSONS[name], tables) > 50
    assert assert_decided(OF_PERSONS[name], tables, LEAVE_OUT, share=0.5) > 50


@pytest.mark.slow
@pytest.mark.parametrize("name", USUAL)
def test_all_tables(name: str) -> None:
    """Tables of up to seven rows, by every algorithm; by Mondrian's variants in turn."""
    assert assert_decided(OF_NAMES[name], many_tables(7), SIX) > 500
    assert_decided(OF_NAMES[name], many_tables(7), VARIANTS, in_turn=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["three", *OF_PLACES])
def test_all_tables_in_turn(name: str) -> None:
    """Tables of up to seven rows, with places of their values, by one algorithm in turn."""
    tables = placed(many_tables(5)) if name in OF_PLACES else many_tables(5)
    assert assert_decided(ANY[name], tables, in_turn=True) > 100


@pytest.mark.slow
@pytest.mark.parametrize("name", OF_NAMES)
def test_rows_left_out_of_all_tables(name: str) -> None:
    """Tables of up to seven rows of which half may be left out, by one algorithm in turn."""
    tables = many_tables(5)
    assert assert_decided(OF_NAMES[name], tables, LEAVE_OUT, share=0.5, in_turn=True) > 100


TWO_COLUMNS = parse_plan(
    {"roles": {"quasi_identifiers": ["quasi", "illness"], "person": "patient"}}
)
"""Of small tables whose third column is known, too, and sensitive no more."""


def tables_of_two_columns() -> list[tuple[Row, ...]]:
    """Those whose third column has no more than two values."""
    return [table for table in many_tables(2) if len({row[2] for row in table}) <= 2]


@pytest.mark.slow
@pytest.mark.parametrize("way", ALL)
def test_all_tables_of_two_columns(way: str) -> None:
    """Tables of up to seven rows with two values in two columns that are known.

    Here a group is made of several combinations, whose persons do not add up.
    """
    published = 0
    for number, table in enumerate(tables_of_two_columns()):
        for k in (2, 3) if EVERY_WAY else (2 + number % 2,):
            found = shown(Generalization(k=k, **ALGORITHMS[way]), table)
            if found is None:
                assert persons(table) < k
                continue
            divided = [[row for row in table if found[row[1:]] == n] for n in set(found.values())]
            assert all(persons(group) >= k for group in divided), f"{table}: {divided}"
            assert way not in EXHAUSTIVE or not finer(way, table, divided, k), f"{table}: {divided}"
            published += 1
    assert published > 500


EXHAUSTIVE = ("flash", "ola", "mondrian")
"""Those that leave no finer division of their kind."""


def shown(publisher: Generalization, table: Sequence[Row]) -> dict[tuple[str, ...], int] | None:
    """The group of each combination of two values; None where the publisher refuses."""
    private = CountedInMemory(table, TWO_COLUMNS)
    try:
        publisher.prepare(private, SEEDED)  # type: ignore[arg-type]
    except Decided as decided:
        group = decided.treatment.groups.group.tolist()
    except InfeasibleError:
        return None
    (counts,) = private.counts.values()
    values = [each.texts for each in counts.values]
    cells = [tuple(v[c] for v, c in zip(values, row, strict=True)) for row in counts.codes.tolist()]
    return dict(zip(cells, group, strict=True))


def finer(way: str, table: Sequence[Row], divided: Sequence[Sequence[Row]], k: int) -> bool:
    """Whether a finer division exists: of all rows by some columns, or of one group by one."""
    if way == "mondrian":
        parts = [by(group, (column,)) for group in divided for column in (1, 2)]
        return any(len(part) > 1 and all(persons(p) >= k for p in part) for part in parts)
    nodes = [by(table, columns) for columns in ((), (1,), (2,), (1, 2))]
    valid = [node for node in nodes if all(persons(group) >= k for group in node)]
    own = {frozenset(row[1:] for row in group) for group in divided}
    return any(
        len(node) > len(own)
        and all(any(frozenset(row[1:] for row in group) <= one for one in own) for group in node)
        for node in valid
    )


def by(rows: Sequence[Row], columns: Sequence[int]) -> list[list[Row]]:
    """Rows by what they hold in some columns."""
    found: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row[column] for column in columns), []).append(row)
    return list(found.values())
