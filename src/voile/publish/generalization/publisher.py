"""The publisher of k-anonymous generalizations.

Publishes every row's quasi-identifiers generalized until it shares them with at least k - 1
others, its other columns as they are, and the number of its group; rows that would need too much
may be left out.

Source: Sweeney, "Achieving k-anonymity privacy protection using generalization and suppression"
(2002); the algorithms' own sources stand in their modules.

Guarantee: every published row shares its published quasi-identifiers with at least k - 1 others,
or, where the plan names persons or households, with rows of at least k - 1 other ones of them;
with ``l`` or ``t``, the sensitive values of each group are l-diverse or t-close.  The guarantee is
about those who know quasi-identifiers and nothing else: k-anonymity alone does not hide a
sensitive value that a whole group shares, and none of the models bounds what the choice of the
groups itself tells ("minimality attacks").  ``dp-generalization`` does.  Of persons with several
rows it holds against those who know one row of a person; ``schema.persons`` has what counts how.

Algorithm: the engine counts rows by distinct combination of values; an algorithm gives each
combination a group; the engine recodes the rows.

- ``auto`` takes the better of ``flash``, within an effort, and ``mondrian`` with sets;
- ``flash`` and ``ola`` find the best level of each column, for all its rows alike;
- ``datafly`` finds some such levels quickly;
- ``k-optimize`` and ``mondrian`` cut the rows into groups, which shows more detail.

Cost: one count and one sort of the n rows; the decision works on the g distinct combinations.

Departure: none of the sources is specific about which rows may be left out; here the share
``suppression_limit`` of the rows is an exact limit, 0 by default.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from voile.disclosure.disclosure import Disclosure, Groups
from voile.errors import PlanError
from voile.models.k_anonymity import KAnonymity
from voile.publish.generalization.objective import ObjectiveName
from voile.publish.generalization.problem import Choice, Problem, Solution
from voile.publish.generalization.regions import shape_of
from voile.publish.generalization.statement import (
    guarantee,
    infeasible,
    infeasible_together,
    too_few_rows,
)
from voile.publish.generalization.terms import (
    AskedCloseness,
    AskedCriteria,
    AskedDiversity,
    Closeness,
    Demands,
    Diversity,
)
from voile.publish.publisher import SingleRelease, refuse_ranking
from voile.publish.shown import Spans, exactly, recoded, shown_roles
from voile.randomness import Randomness
from voile.release.check import check_against_counts
from voile.release.history import History
from voile.release.payment import Pay, unaccounted
from voile.release.release import PrivateRecord, Publication, Release
from voile.schema.numbers import json_number
from voile.schema.plan import ColumnPlan
from voile.table.decisions import Grouping, Treatment
from voile.table.private import PrivateTable
from voile.table.published import GROUP
from voile.table.summaries import CombinationCounts
from voile.values.value import Number, Says, checked

__all__ = ["Algorithm", "Generalization"]

_NAME = "generalization"

Algorithm = Literal["auto", "flash", "ola", "datafly", "k-optimize", "mondrian"]
_FULL_DOMAIN = ("auto", "flash", "ola", "datafly")


@checked(PlanError)
@dataclass(frozen=True)
class Generalization(SingleRelease):
    """Publish rows that share their quasi-identifiers with at least k - 1 others.

    Raises ``PlanError`` for parameters that cannot be.
    """

    k: Annotated[int, Field(ge=2)]
    """Least number of rows in a group, or of persons where these have several; at least 2."""
    algorithm: Algorithm = "auto"
    """How groups are found; see the module."""
    suppression_limit: Annotated[
        Number, Field(ge=0, le=1), Says("a number between 0 and 1: a share of the rows")
    ] = 0
    """Largest share of the rows that may be left out, between 0 and 1."""
    l: AskedDiversity | None = None  # noqa: E741 - the name that all know
    """Diversity of the sensitive values of a group; see ``terms``."""
    t: AskedCloseness | None = None
    """Closeness of the sensitive values of a group to those of all rows; see ``terms``."""
    criteria: AskedCriteria = ()
    """Further criteria, each of one sensitive column; see ``terms``."""
    objective: ObjectiveName = "loss"
    """What to lose least of; see ``objective``."""
    relaxed: bool = False
    """Of ``mondrian``: whether the regions of groups may overlap."""
    sets: bool = False
    """Of ``mondrian``: whether nominal columns without a tree are cut into sets of values, numbers
    that have a tree are codes, and small branches of trees stay together."""

    def __post_init__(self) -> None:
        self._refuse_idle_parameters()

    @property
    def counts_persons(self) -> bool:
        """Groups are groups of persons, where these have several rows."""
        return True

    @property
    def shows_kept(self) -> bool:
        """Columns to keep stay as they are."""
        return True

    def get_ready(self) -> None:
        """Load the compiled decisions, half a second that can pass while a table is read."""
        from voile.publish.generalization.grouping import get_ready  # noqa: PLC0415

        self._decide()
        get_ready()

    def prepare(
        self,
        table: PrivateTable,
        randomness: Randomness,
        history: History | None = None,
        pay: Pay = unaccounted,
    ) -> Publication:
        """Make a release, and with it what must stay private.

        Raises ``InfeasibleError`` where no release was found, ``PlanError`` where the lattice is
        too large or a column lacks what a parameter asks for, ``TableError`` for bad input.
        """
        refuse_ranking(table, _NAME)
        roles = table.plan.roles
        if not roles.quasi_identifiers:
            msg = "[roles] quasi_identifiers names no column; name those that others may know"
            raise PlanError(msg)
        protected = roles.protected
        if self.k > table.units:
            raise too_few_rows(self.k, table.units, protected)
        demands = self._demands(table)
        counts = table.count_combinations([*roles.quasi_identifiers, *demands.columns])
        problem = self._problem(table, counts, demands)
        solution = self._decide()(problem)
        if solution is None:
            full_domain = self.algorithm in _FULL_DOMAIN
            raise infeasible(problem, self.k) if full_domain else infeasible_together(problem)
        shown, whose = table.apply_counted(
            Treatment(solution.columns, Grouping.of_counts(counts, solution.group)), randomness
        )
        release = Release(
            table=shown,
            method=self._method(solution),
            disclosure=_disclosure(table, problem, solution, self._shows_sets),
            guarantee=guarantee(self.k, demands, self._limit, protected),
            roles=shown_roles(roles, shown.columns),
            release_id=randomness.token("release"),
            publishable=randomness.publishable,
        )
        check_against_counts(release, problem.criteria, counts, whose)
        return Publication(release, self._record(table, release, solution))

    @property
    def _shows_sets(self) -> bool:
        """Whether groups that differ in detail show sets of nominal values."""
        return self.sets or self.algorithm == "auto"

    @property
    def _limit(self) -> Decimal:
        assert isinstance(self.suppression_limit, Decimal)
        return self.suppression_limit

    def _refuse_idle_parameters(self) -> None:
        """Refuse parameters that the algorithm would not heed; raises ``PlanError``."""
        for name in ("relaxed", "sets"):
            if getattr(self, name) and self.algorithm != "mondrian":
                msg = f'{name} is a parameter of algorithm = "mondrian", not of {self.algorithm!r}'
                raise PlanError(msg)
        if self.algorithm == "mondrian" and self.objective != "loss":
            msg = 'algorithm = "mondrian" makes groups as small as it can; leave objective out'
            raise PlanError(msg)
        if self.algorithm == "mondrian" and self._limit:
            msg = (
                'algorithm = "mondrian" leaves out no rows; leave suppression_limit out, or choose '
                "another algorithm"
            )
            raise PlanError(msg)

    def _decide(self) -> Callable[[Problem], Solution | None]:
        """The algorithm, loaded when it is asked for: compiled code costs half a second."""
        match self.algorithm:
            case "auto":
                from voile.publish.generalization.auto import auto  # noqa: PLC0415

                return partial(auto, objective=self.objective)
            case "flash":
                from voile.publish.generalization.flash import flash  # noqa: PLC0415

                return partial(flash, objective=self.objective)
            case "ola":
                from voile.publish.generalization.ola import ola  # noqa: PLC0415

                return partial(ola, objective=self.objective)
            case "datafly":
                from voile.publish.generalization.datafly import datafly  # noqa: PLC0415

                return partial(datafly, objective=self.objective)
            case "k-optimize":
                from voile.publish.generalization.k_optimize import k_optimize  # noqa: PLC0415

                return partial(k_optimize, objective=self.objective)
            case "mondrian":
                from voile.publish.generalization.mondrian import mondrian  # noqa: PLC0415

                return partial(mondrian, relaxed=self.relaxed, sets=self.sets)

    def _demands(self, table: PrivateTable) -> Demands:
        """What is asked of the sensitive columns."""
        assert self.l is None or isinstance(self.l, Diversity)
        assert self.t is None or isinstance(self.t, Closeness)
        return Demands.of(table.plan.roles, self.l, self.t, self.criteria)

    def _problem(self, table: PrivateTable, counts: CombinationCounts, demands: Demands) -> Problem:
        plan = table.plan
        columns = dict(zip(counts.columns, counts.values, strict=True))
        return Problem(
            counts=counts,
            hierarchies=tuple(
                plan.columns.get(name, ColumnPlan()).bind_hierarchy(name, columns[name])
                for name in plan.roles.quasi_identifiers
            ),
            criteria=(KAnonymity(self.k), *demands.criteria(columns, plan)),
            suppressible=int(Fraction(self._limit) * table.rows),
        )

    def _method(self, solution: Solution) -> Mapping[str, Any]:
        return {
            "name": _NAME,
            "k": self.k,
            "algorithm": self.algorithm,
            "suppression_limit": json_number(self._limit),
            "objective": self.objective,
            **({"relaxed": True} if self.relaxed else {}),
            **({"sets": True} if self.sets else {}),
            "decision": {
                **({"algorithm": solution.choice.algorithm} if solution.choice else {}),
                **(
                    {"groups": _groups(solution)}
                    if solution.levels is None
                    else {"levels": dict(solution.levels)}
                ),
            },
        }

    def _record(self, table: PrivateTable, release: Release, solution: Solution) -> PrivateRecord:
        groups = _groups(solution)
        choice = solution.choice
        notices = list(table.notes)
        if solution.suppressed:
            rows = "1 row was" if solution.suppressed == 1 else f"{solution.suppressed:,} rows were"
            notices.append(
                f"{rows} left out of {table.rows:,}, as suppression_limit allows; who is left out "
                "is unusual, so the release shows unusual people less often than there are"
            )
        if self.algorithm == "k-optimize" and not solution.proved:
            notices.append("the groups may not be the best ones: the search ended before its proof")
        return PrivateRecord(
            rows_in=table.rows + table.dropped,
            rows_out=release.rows,
            suppressed=table.dropped + solution.suppressed,
            held=0,
            objective=_told(solution.loss),
            decision={
                **release.method["decision"],
                "groups": groups,
                "examined": solution.examined,
                **(
                    {
                        "losses": {name: _told(loss) for name, loss in choice.losses.items()},
                        "bound": _told(choice.bound),
                    }
                    if choice
                    else {}
                ),
            },
            notices=tuple(notices),
            summary=(
                f"in {groups:,} group{'s' * (groups != 1)}, {self.objective} {solution.loss:.6g}"
                f"{_chosen(choice)}"
            ),
        )


def _told(loss: float) -> str:
    return format(Decimal(repr(loss)), "f")


def _chosen(choice: Choice | None) -> str:
    """Which algorithm was taken, and how far it is from the best, for the custodian."""
    if choice is None:
        return ""
    return f" by {choice.algorithm}; no generalization is below {choice.bound:.6g}"


def _disclosure(
    table: PrivateTable, problem: Problem, solution: Solution, sets: bool
) -> Disclosure:
    """Quasi-identifiers as the groups show them, and all other columns as they are."""
    roles = table.plan.roles
    spans: dict[str, Spans] = {}
    for hierarchy, values in zip(problem.hierarchies, problem.counts.values, strict=False):
        match shape_of(hierarchy, values, sets):
            case "ordered":
                spans[hierarchy.column] = "period"
            case "set":
                spans[hierarchy.column] = "set"
    return Disclosure(
        columns=exactly(roles.published) | recoded(solution.columns, solution.levels, spans),
        groups=Groups(column=GROUP, made="alike", by=roles.quasi_identifiers),
    )


def _groups(solution: Solution) -> int:
    """How many groups the release shows: those that show the same are one."""
    return len(np.unique(np.column_stack([c.codes for c in solution.columns]), axis=0))
