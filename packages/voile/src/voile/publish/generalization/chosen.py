"""The groups that were chosen for a table, and whether others would have got the same.

What it is for: an adversary who knows Voile asks of which tables exactly this release would have
been made (``attack.minimality``).  The tables in question agree in the quasi-identifiers and in how
often each sensitive value stands in each group; the decision is made anew for each.

Claim: the answer is that of the publisher.  What it publishes follows from the groups, from what
they show and from which algorithm made them; all three are compared.  Rolled-up counts are left
out: what the algorithms find does not depend on where they begin.

Cost: one decision for each table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.models.criteria import Criterion
from voile.models.k_anonymity import KAnonymity
from voile.publish.generalization.problem import Problem, Solution
from voile.table.arrays import Frame, frame_of, text_values

__all__ = ["ChosenGroups"]

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
    def _as_shown(self) -> tuple[Any, ...]:
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
