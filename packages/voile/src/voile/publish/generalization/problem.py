"""What a generalization algorithm is asked, is given and answers; plain values, both private.

**Terms**: what a generalization satisfies besides k, criteria of its sensitive columns.

``l`` is a whole number (distinct), or a table ``{ value, kind, c }``; ``t`` a number (equal), or a
table ``{ value, distance }``.  They are short spellings of one criterion for every sensitive column
by itself.  ``criteria`` is a list of tables, each with the ``name`` of a criterion, its ``column``
and its parameters; other packages may add some (``models.criteria``).

**The problem and its solution.**

The engine counts distinct combinations of values once; every algorithm works on that small table,
whatever the engine, and answers with a group for each combination.

Rows rolled up to a node of the lattice by the engine, before they are counted.

What it does: where combinations of values may be about as many as rows, none are collected but
those of nodes that a search looks at.  For each column the engine puts one value of each node of
its hierarchy in the place of all of them, and counts what is left; so a rolled-up count reads like
one of a table with fewer distinct values.

It also says at which nodes there is nothing to look for: the floor of a column is the lowest level
at which no more of its values' rows fall short of k than may be left out.

Claim: every feasible node has each column at its floor or above.  Rows that share a generalized
tuple share each of its values; so those whose value fewer than k rows share fall short at every
node with the column at that level or below, whatever the levels of the others.

Cost: a count of each column, and of the combinations where their product is large; for each node
that is asked for one pass over the rows.

The groups that were chosen for a table, and whether others would have got the same.

What it is for: an adversary who knows Voile asks of which tables exactly this release would have
been made (``attack.minimality``).  The tables in question agree in the quasi-identifiers and in how
often each sensitive value stands in each group; the decision is made anew for each.

Claim: the answer is that of the publisher.  What it publishes follows from the groups, from what
they show and from which algorithm made them; all three are compared.  Rolled-up counts are left
out: what the algorithms find does not depend on where they begin.

Cost: one decision for each table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from functools import cached_property
from itertools import filterfalse
from math import prod
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator, Field, Strict

from voile.models.criteria import Criterion, Groups, StatedCriterion
from voile.models.k_anonymity import KAnonymity
from voile.models.l_diversity import Kind, LDiversity
from voile.models.t_closeness import Distance, TCloseness
from voile.models.units import GroupedUnits, counts_alone
from voile.publish.generalization.lattice import Levels
from voile.release import claims
from voile.schema.hierarchy.generalized import BoundHierarchy, DistinctValues
from voile.schema.numbers import exact_decimal, json_number
from voile.schema.plan import Plan
from voile.schema.roles import Protected, Roles
from voile.table.arrays import Frame, frame_of, text_values
from voile.table.decisions import RecodedColumn
from voile.table.private import PrivateTable
from voile.table.summaries import CombinationCounts
from voile_base.errors import InputError, PlanError
from voile_base.ondemand import dataclass
from voile_base.values import Document, Json
from voile_base.values.value import KeptAs, checked

__all__ = [
    "COLLECTED",
    "AlgorithmChoice",
    "AskedCloseness",
    "AskedCriteria",
    "AskedDiversity",
    "ChosenGroups",
    "Closeness",
    "Demands",
    "Diversity",
    "LastingTerms",
    "Problem",
    "RolledUp",
    "Solution",
    "bound_hierarchies",
    "demanded",
]


@checked(PlanError)
@dataclass(frozen=True)
class Diversity:
    """How diverse each sensitive column is within a group; see ``models.l_diversity``."""

    value: int | Decimal | float | str
    kind: Kind = "distinct"
    c: int | Decimal | float | str | None = None
    """Of the recursive kind alone."""

    def __post_init__(self) -> None:
        self.of("any")

    def of(self, column: str) -> LDiversity:
        """The criterion for one sensitive column."""
        return LDiversity(column, self.value, self.kind, self.c)

    def claim(self, columns: Sequence[str]) -> claims.StatedDiversity:
        """The same as a release claims it of these columns."""
        return claims.StatedDiversity(
            value=exact_decimal(self.value),
            kind=self.kind,
            c=None if self.c is None else exact_decimal(self.c),
            columns=tuple(columns),
        )


@checked(PlanError)
@dataclass(frozen=True)
class Closeness:
    """How close each sensitive column within a group is to all rows; see ``models.t_closeness``."""

    value: int | Decimal | float | str
    distance: Distance = "equal"

    def __post_init__(self) -> None:
        self.of("any")

    def of(self, column: str) -> TCloseness:
        """The criterion for one sensitive column."""
        return TCloseness(column, self.value, self.distance)

    def claim(self, columns: Sequence[str]) -> claims.StatedCloseness:
        """The same as a release claims it of these columns."""
        return claims.StatedCloseness(
            value=exact_decimal(self.value), kind=self.distance, columns=tuple(columns)
        )


def _as_table(parameter: object) -> object:
    """A value by itself is a table with a value."""
    whole = isinstance(parameter, Mapping | Diversity | Closeness)
    return parameter if whole else {"value": parameter}


AskedDiversity = Annotated[
    Diversity | Document | int,
    KeptAs(
        Annotated[Diversity, BeforeValidator(_as_table, json_schema_input_type=Diversity | int)]
    ),
]
"""The parameter ``l``: a whole number, or a table."""
AskedCloseness = Annotated[
    Closeness | Document | Decimal | float,
    KeptAs(
        Annotated[Closeness, BeforeValidator(_as_table, json_schema_input_type=Closeness | float)]
    ),
]
"""The parameter ``t``: a number, or a table."""


def _as_criterion(parameter: object) -> object:
    if isinstance(parameter, StatedCriterion):
        return parameter
    if not isinstance(parameter, Mapping):
        msg = (
            'criteria: each is a table, such as { name = "l-diversity", column = "illness", l = 3 }'
        )
        raise PlanError(msg)
    try:
        return StatedCriterion.of(parameter)
    except InputError as error:
        msg = f"criteria: {error}"
        raise PlanError(msg) from None


AskedCriteria = Annotated[
    Sequence[StatedCriterion | Document],
    KeptAs(
        Annotated[
            tuple[
                Annotated[Any, BeforeValidator(_as_criterion, json_schema_input_type=Json)],
                ...,
            ],
            Strict(False),
            Field(),
        ]
    ),
]
"""The parameter ``criteria``: a list of tables."""


@dataclass(frozen=True)
class Demands:
    """All that is asked of the sensitive columns of a table."""

    diversity: Diversity | None
    closeness: Closeness | None
    listed: Sequence[StatedCriterion]
    sensitive: Sequence[str]
    """The sensitive columns, as far as anything is asked of them by a short spelling."""

    @classmethod
    def of(
        cls,
        roles: Roles,
        diversity: Diversity | None,
        closeness: Closeness | None,
        listed: Sequence[StatedCriterion | Document],
    ) -> Demands:
        """What a method's parameters ask of a table with these roles; raises ``PlanError``."""
        short = " and ".join("l" * bool(diversity) + "t" * bool(closeness))
        if short and not roles.sensitive:
            verb = "are" if " " in short else "is"
            msg = f"[roles] sensitive names no column, and {short} {verb} about sensitive values"
            raise PlanError(msg)
        stated = []
        for one in listed:
            assert isinstance(one, StatedCriterion)
            if one.column not in roles.sensitive:
                msg = (
                    f"[method] criteria: {one.name} is asked for column {one.column!r}, which is "
                    "not sensitive; name it in [roles] sensitive"
                )
                raise PlanError(msg)
            stated.append(one)
        return cls(diversity, closeness, tuple(stated), roles.sensitive if short else ())

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of which anything is asked."""
        return tuple(dict.fromkeys([*self.sensitive, *(one.column for one in self.listed)]))

    @property
    def stated(self) -> Iterator[StatedCriterion]:
        """Every criterion, column by column, and then those of the list."""
        for name in self.sensitive:
            if self.diversity:
                yield self.diversity.of(name)
            if self.closeness:
                yield self.closeness.of(name)
        yield from self.listed

    def criteria(self, values: Mapping[str, DistinctValues], plan: Plan) -> list[Criterion]:
        """What groups must satisfy; raises ``PlanError`` where a column lacks what it takes."""
        bound = (one.criterion(values[one.column], plan) for one in self.stated)
        return [criterion for criterion in bound if criterion is not None]

    @property
    def words(self) -> str:
        """What holds within each group, as the end of a sentence; empty where nothing does."""
        said = ""
        short = [it.of("any").words for it in (self.diversity, self.closeness) if it]
        if short:
            columns = " and of ".join(map(repr, self.sensitive))
            said += f"; within each group the values of {columns} {' and '.join(short)}"
        for one in self.listed:
            said += f"; within each group the values of {one.column!r} {one.words}"
        return said

    def words_of(self, protected: Protected) -> str:
        """The same, and how persons or households with several rows count."""
        if protected == "row" or not self.words:
            return self.words
        weighed = f"each {protected} weighs one there, divided evenly among its rows in the group"
        asked = any(isinstance(one, LDiversity) for one in self.stated)
        if not asked:
            return f"{self.words}; {weighed}"
        apart = f"values count as different where as many different {protected}s have them"
        return f"{self.words}; {apart}, and {weighed}"

    def claims(self) -> Json:
        """The same as a release claims it: ``l``, ``t`` and ``criteria``."""
        return {
            "l": self.diversity.claim(self.sensitive) if self.diversity else None,
            "t": self.closeness.claim(self.sensitive) if self.closeness else None,
            "criteria": tuple(one.document() for one in self.listed) or None,
        }


def demanded(
    diversity: object, closeness: object, listed: Sequence[object]
) -> Iterator[tuple[str, object]]:
    """``l``, ``t`` and ``criteria`` as a release lists the parameters of its method.

    A number where it says all, else the table of the plan; nothing of what is not asked.
    """
    if isinstance(diversity, Diversity):
        c = {} if diversity.c is None else {"c": _json(diversity.c)}
        table = {"value": _json(diversity.value), "kind": diversity.kind, **c}
        yield "l", table["value"] if diversity.kind == "distinct" else table
    if isinstance(closeness, Closeness):
        value, distance = _json(closeness.value), closeness.distance
        yield "t", value if distance == "equal" else {"value": value, "distance": distance}
    if listed:
        yield "criteria", [one.document() for one in listed if isinstance(one, StatedCriterion)]


def _json(value: Decimal | float | str) -> int | float:
    return json_number(exact_decimal(value))


@dataclass(frozen=True)
class LastingTerms:
    """What a series asks of its groups."""

    k: int
    group_size: int
    """Rows of a group when it is first published, where there are as many."""
    relaxed: bool
    sets: bool


COLLECTED = 1_000_000
"""Combinations that are collected whatever the rows; of more, at most half as many as rows."""


@dataclass(frozen=True, eq=False)
class RolledUp:
    """A table whose m quasi-identifiers are rolled up before they are counted; private."""

    table: PrivateTable
    hierarchies: tuple[BoundHierarchy, ...]
    """Of the quasi-identifiers."""
    rows: tuple[NDArray[np.int64], ...]
    """Rows by value of each."""
    floor: Levels
    """The level of each column below which no node is feasible."""
    sensitive: tuple[str, ...]
    """Further columns that are counted, as they are."""

    @classmethod
    def of(
        cls, table: PrivateTable, sensitive: Sequence[str], k: int, suppressible: int
    ) -> RolledUp | None:
        """The columns of a table; None where all their combinations may be collected.

        At most ``suppressible`` rows may stand in groups of fewer than ``k``.
        """
        names = table.plan.roles.quasi_identifiers
        alone = [table.count_combinations([name]) for name in (*names, *sensitive)]
        most, few = prod(len(one.rows) for one in alone), max(COLLECTED, table.rows // 2)
        if min(most, table.rows) <= few or table.combinations([*names, *sensitive]) <= few:
            return None
        alone = alone[: len(names)]
        values = {one.columns[0]: one.values[0] for one in alone}
        hierarchies = bound_hierarchies(table.plan, values)
        rows = tuple(
            np.bincount(one.codes[:, 0], one.rows, len(one.values[0])).astype(np.int64)
            for one in alone
        )
        pairs = zip(hierarchies, rows, strict=True)
        floor = tuple(_least_level(*pair, k, suppressible) for pair in pairs)
        return cls(table, hierarchies, rows, floor, tuple(sensitive))

    def at(self, levels: Levels) -> CombinationCounts:
        """Rows by combination at a node, each named by one value of each node of a hierarchy."""
        rolled = {
            hierarchy.column: _first_of_node(hierarchy.codes[level], rows)
            for hierarchy, level, rows in zip(self.hierarchies, levels, self.rows, strict=True)
        }
        return self.table.count_combinations([*rolled, *self.sensitive], rolled=rolled)


def bound_hierarchies(
    plan: Plan, values: Mapping[str, DistinctValues]
) -> tuple[BoundHierarchy, ...]:
    """The hierarchies of the quasi-identifiers, in their order, with the values that they have."""
    return tuple(
        plan.column(name).bind_hierarchy(name, values[name])
        for name in plan.roles.quasi_identifiers
    )


def _least_level(
    hierarchy: BoundHierarchy, rows: NDArray[np.int64], k: int, suppressible: int
) -> int:
    """The lowest level at which few enough rows fall short; the highest where none is."""
    for level, codes in enumerate(hierarchy.codes[:-1]):
        of_node = np.bincount(codes, rows)
        if of_node[of_node < k].sum() <= suppressible:
            return level
    return hierarchy.height


def _first_of_node(codes: NDArray[np.int32], rows: NDArray[np.int64]) -> NDArray[np.int32]:
    """For each value the first one that shares its node and that some row has."""
    present = np.flatnonzero(rows)
    nodes, first = np.unique(codes[present], return_index=True)
    node = np.minimum(np.searchsorted(nodes, codes), len(nodes) - 1)
    return present[first][node].astype(np.int32)


@dataclass(frozen=True, eq=False)
class Problem:
    """Counted rows, how their values generalize, and what each published group must satisfy."""

    counts: CombinationCounts
    """The columns are the m quasi-identifiers, then the sensitive columns that criteria read."""
    hierarchies: tuple[BoundHierarchy, ...]
    """One for each of the m quasi-identifiers, in their order."""
    criteria: tuple[Criterion, ...]
    """A group is published only where all of them hold."""
    suppressible: int
    """Number of rows that may be left out, at least 0."""
    rolled_up: RolledUp | None = None
    """Counts other nodes of the lattice where ``counts`` are those of its top; None: of all."""

    @property
    def rows(self) -> int:
        """Number of counted rows."""
        return int(self.counts.rows.sum())

    def rows_of_values(self, j: int) -> NDArray[np.int64]:
        """Rows of each distinct value of quasi-identifier ``j``, from 0."""
        if self.rolled_up is not None:
            return self.rolled_up.rows[j]
        counts = self.counts
        return np.bincount(counts.codes[:, j], counts.rows, len(counts.values[j])).astype(np.int64)

    @cached_property
    def total(self) -> Mapping[str, NDArray[np.int64]]:
        """How often each value of each sensitive column stands in the table, shape (v,).

        In rows; or in what they weigh where persons or households, with several, weigh one each.
        """
        counts = self.counts
        weight = counts.rows if counts.units is None else counts.units.weight
        return {
            name: np.bincount(codes, weight, len(values)).astype(np.int64)
            for (name, codes), values in zip(
                self.sensitive.items(), counts.values[len(self.hierarchies) :], strict=True
            )
        }

    @property
    def counts_alone(self) -> bool:
        """Whether every group that may be published still may whatever rows join it."""
        return all(map(counts_alone, self.criteria))

    @property
    def monotone(self) -> bool:
        """Whether a union of groups that may be published always may be."""
        apart = self.counts.units is None
        return all(counts_alone(one) or (apart and one.monotone) for one in self.criteria)

    def valid(self, groups: Groups, rows: NDArray[np.int64]) -> tuple[NDArray[np.bool_], int]:
        """Which groups satisfy all criteria (p,), and how many rows no finer division helps.

        ``rows`` (p,) are those of the groups.  What counts alone is asked first: a group that falls
        short of it has no part that does not.  Where more rows stand in such groups than may be
        left out, nothing else is asked.
        """
        valid = np.ones(len(rows), dtype=np.bool_)
        for criterion in filter(counts_alone, self.criteria):
            valid &= criterion.holds(groups)
        short = int(rows[~valid].sum())
        if short <= self.suppressible:
            for criterion in filterfalse(counts_alone, self.criteria):
                valid &= criterion.holds(groups)
        return valid, short

    def units(self, label: NDArray[np.int64], groups: int) -> GroupedUnits | None:
        """The persons or households in groups of combinations; None: each row is another.

        ``label`` (g,) is the group of each combination; -1 is in none.
        """
        if self.counts.units is None:
            return None
        return GroupedUnits(self.counts.units, label, groups, self.sensitive)

    @property
    def sensitive(self) -> Mapping[str, NDArray[np.int32]]:
        """The codes of the sensitive columns that criteria read, shape (g,) each."""
        m = len(self.hierarchies)
        return dict(zip(self.counts.columns[m:], self.counts.codes.T[m:], strict=True))

    @property
    def quasi_identifiers(self) -> NDArray[np.int32]:
        """Codes of the quasi-identifiers, shape (g, m)."""
        return self.counts.codes[:, : len(self.hierarchies)]


@dataclass(frozen=True)
class AlgorithmChoice:
    """Which of several algorithms made a solution, and how good it is."""

    algorithm: str
    losses: Mapping[str, float]
    """Of each algorithm that found a solution."""
    bound: float
    """At most the loss of every generalization, of whatever kind was looked for."""


@dataclass(frozen=True, eq=False)
class Solution:
    """A group for each combination, and what the p groups show."""

    group: NDArray[np.int64]
    """Shape (g,): from 0; -1 leaves the rows of a combination out."""
    columns: tuple[RecodedColumn, ...]
    """One for each quasi-identifier, shape (p,) each."""
    suppressed: int
    """Rows left out."""
    loss: float
    """The objective's value; less is better."""
    levels: Mapping[str, int] | None
    """The level of each quasi-identifier, where all rows of a column share one."""
    examined: int
    """Nodes or cuts that were evaluated."""
    proved: bool = False
    """Whether no solution of its kind has a smaller loss."""
    bound: float = 0.0
    """At most the loss of every solution of its kind."""
    counts: CombinationCounts | None = None
    """Whose combinations have groups, where rows were rolled up; None: the problem's."""
    choice: AlgorithmChoice | None = None
    """Where several algorithms were asked."""


Codes = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ChosenGroups:
    """What an algorithm decided about a problem, and decides about others like it; private.

    A kind are the people of one combination of quasi-identifiers, and a value is a combination of
    those of the sensitive columns that criteria read.
    """

    problem: Problem
    decide: Callable[[Problem], Solution | None]
    solution: Solution

    @cached_property
    def kinds(self) -> Frame:
        """The quasi-identifiers of each kind, a rows, as texts."""
        names = [hierarchy.column for hierarchy in self.problem.hierarchies]
        read = zip(names, self.problem.counts.values, self._kinds[0].T, strict=False)
        return frame_of(
            {
                name: text_values(values.texts[code] for code in codes.tolist())
                for name, values, codes in read
            }
        )

    @cached_property
    def group(self) -> Codes:
        """Shape (a,): the group of each kind, from 0; -1 where its rows were left out."""
        return _of_kinds(self.solution, self._kinds[1])

    @cached_property
    def table(self) -> Codes:
        """Shape (a, v): how many people of each kind have each value."""
        codes, value = self._values
        kind = self._kinds[1]
        table = np.zeros((int(kind[-1]) + 1, len(codes)), dtype=np.int64)
        table[kind, value] = self.problem.counts.rows
        return table

    @property
    def values(self) -> Mapping[str, Codes]:
        """Shape (v,): what each value is in each sensitive column that criteria read."""
        columns = self.problem.counts.columns[len(self.problem.hierarchies) :]
        return dict(zip(columns, self._values[0].T.astype(np.int64), strict=True))

    @property
    def criteria(self) -> Sequence[Criterion]:
        """What is asked of these columns in every group."""
        return [one for one in self.problem.criteria if not isinstance(one, KAnonymity)]

    def same(self, table: Codes) -> bool:
        """Whether exactly the same would be published of a table (a, v) with the same sums."""
        kind, value = np.nonzero(table)
        counts = replace(
            self.problem.counts,
            codes=np.column_stack([self._kinds[0][kind], self._values[0][value]]),
            rows=table[kind, value],
            of=None,
        )
        found = self.decide(replace(self.problem, counts=counts))
        return found is not None and _shown(found, kind) == self._as_shown

    @cached_property
    def _as_shown(self) -> tuple[object, ...]:
        return _shown(self.solution, self._kinds[1])

    @cached_property
    def _kinds(self) -> tuple[NDArray[np.int32], Codes]:
        """The codes of each kind, (a, m), and the kind of each combination, (g,)."""
        return _distinct(self.problem.quasi_identifiers)

    @cached_property
    def _values(self) -> tuple[NDArray[np.int32], Codes]:
        """The codes of each value, (v, s), and the value of each combination, (g,)."""
        return _distinct(self.problem.counts.codes[:, len(self.problem.hierarchies) :])


def _distinct(codes: NDArray[np.int32]) -> tuple[NDArray[np.int32], Codes]:
    found, number = np.unique(codes, axis=0, return_inverse=True)
    return found, number.reshape(-1).astype(np.int64)


def _of_kinds(solution: Solution, kind: Codes) -> Codes:
    """The group of each kind, where combinations ascend by kind."""
    return solution.group[np.searchsorted(kind, np.arange(int(kind[-1]) + 1))]


def _shown(solution: Solution, kind: Codes) -> tuple[Any, ...]:
    """All that a release shows of a decision, but for the sensitive values in its groups."""
    columns = []
    for column in solution.columns:
        told = column.values
        ends = (told.low, told.high) if told is not None else (None, None)
        texts = told.texts if told is not None else None
        each = tuple(None if end is None else tuple(end.texts()) for end in ends)
        columns.append((texts, each, column.codes.tolist()))
    return (
        _of_kinds(solution, kind).tolist(),
        columns,
        solution.levels,
        solution.choice.algorithm if solution.choice else None,
    )
