"""The guarantee of a generalized release in words, and why there may be none.

What could be asked of groups that fall short is told as well: for each criterion that some groups
break by itself, finds the hardest parameter of its kind for which the rows of the groups that
break it are few enough to be left out.  That is exact for k and for l of the distinct and
recursive kinds; l of the entropy kind is a multiple of 0.01 and t one of 0.0001, each the best of
its multiples; it is said of each criterion by itself: what several ask together may still be out
of reach.

Algorithm: bisection, since all criteria here are the harder to satisfy the larger k or l, or the
smaller t.  Cost: some ten looks at the groups for each criterion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from decimal import ROUND_CEILING, Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from voile.models.criteria import Criterion, Groups
from voile.models.k_anonymity import KAnonymity
from voile.models.l_diversity import DistinctDiversity, EntropyDiversity, RecursiveDiversity
from voile.models.t_closeness import EqualCloseness, HierarchicalCloseness, OrderedCloseness
from voile.publish.generalization.problem import Problem
from voile.publish.generalization.terms import Demands
from voile.publish.protected import assumed_of_units, known_rows, stated_unit
from voile.release import claims
from voile.release.release import Guarantee
from voile.schema.persons import others_told, units_told
from voile.schema.roles import Protected
from voile_base.errors import InfeasibleError

if TYPE_CHECKING:
    from voile.publish.generalization.evaluation import Evaluator

__all__ = [
    "assumptions",
    "guarantee",
    "infeasible",
    "infeasible_together",
    "out_of_reach",
    "too_few_rows",
]

_ASSUMES = (
    "what anybody knows of a person beforehand stands in the quasi-identifiers, and in no other "
    "published column",
    "{whose}",
    "hierarchies, k and the other parameters were chosen without looking at the rows",
    "no other published data is derived from the same rows",
)
_BACKWARDS = (
    "nobody reasons backwards from the choice of the groups: that a finer generalization was not "
    "chosen tells something about the rows that forbade it (minimality attack)"
)
_SENSITIVE = (
    "k-anonymity says nothing about the sensitive values of the rows that share a group: if they "
    "are all alike, everybody learns them"
)
_CENT, _FINE = Decimal("0.01"), Decimal("0.0001")


def guarantee(k: int, demands: Demands, limit: Decimal, protected: Protected) -> Guarantee:
    """What a release promises; ``limit`` is the largest share of the rows that may be left out."""
    hidden = (
        f"at least {others_told('row', k - 1)}, so that nobody who knows them can tell which of "
        f"{k} or more rows is a person's"
        if protected == "row"
        else f"rows of at least {others_told(protected, k - 1)}, so that nobody who knows those "
        f"of one row of a {protected} can tell whose of {k} or more {protected}s the row is"
    )
    statement = (
        f"{k}-anonymous: every published row shares its published quasi-identifiers with {hidden}"
        f"{demands.words_of(protected)}"
    )
    claim = claims.KAnonymityClaim(
        k=k, suppression_limit=limit or None, unit=stated_unit(protected), **demands.claims()
    )
    assumes = assumptions(demands, protected)
    if protected != "row":
        assumes = (*assumes, known_rows(protected))
    return Guarantee((claim,), statement, assumes)


def assumptions(demands: Demands, protected: Protected = "row") -> tuple[str, ...]:
    """What a promise of k-anonymous groups takes for granted, whoever is protected.

    With k alone, and a row for each person, groups follow from the quasi-identifiers: whoever knows
    these of everybody could have made them, and nothing more follows from how they were chosen.
    """
    assumes = tuple(each.replace("{whose}", assumed_of_units(protected)) for each in _ASSUMES)
    if demands.words or protected != "row":
        assumes = (*assumes[:-1], _BACKWARDS, assumes[-1])
    return assumes if demands.words else (*assumes, _SENSITIVE)


def too_few_rows(k: int, units: int, protected: Protected) -> InfeasibleError:
    """No group can be large enough."""
    return InfeasibleError(
        f"no release exists: the table has {units_told(protected, units)}, and k = {k:,} asks for "
        f"groups of as many or more. The largest k that it allows is {units:,}"
    )


def infeasible(problem: Problem, k: int) -> InfeasibleError:
    """No generalization of this table was found; says what would do."""
    from voile.publish.generalization.evaluation import Evaluator  # noqa: PLC0415 - compiled code

    evaluator = Evaluator(problem)
    rows, _ = evaluator.sizes(evaluator.lattice.top)
    groups = evaluator.measured(evaluator.lattice.top)
    valid = np.logical_and.reduce([one.holds(groups) for one in problem.criteria])
    suppressed = int(rows[~valid].sum())
    wanted = "this guarantee" if len(problem.criteria) > 1 else f"k = {k:,}"
    lacking = (
        f"no release with {wanted} was found: even with every column at the highest level of its "
        f"hierarchy, {suppressed:,} of {problem.rows:,} rows stand in groups that fall short, "
        f"and {problem.suppressible:,} may be left out"
    )
    if suppressed < problem.rows:
        share = Decimal(suppressed) / problem.rows
        limit = share.quantize(Decimal("0.0001"), ROUND_CEILING).normalize()
        lacking += f". suppression_limit = {limit:f} would do"
    largest = _largest_k(evaluator, problem.suppressible)
    if len(problem.criteria) == 1 and largest >= 2:
        lacking += f"; so would k = {largest:,}"
    if len(problem.criteria) > 1:
        lacking += _reached(problem, groups, rows)
    return InfeasibleError(
        f"{lacking}. Otherwise give the hierarchies a level at which more rows agree, or ask for "
        "less"
    )


def infeasible_together(problem: Problem) -> InfeasibleError:
    """Not even all rows as one group would do."""
    from voile.publish.generalization.atoms import Atoms  # noqa: PLC0415 - as above

    atoms = Atoms(problem)
    groups = atoms.groups(np.zeros(len(atoms), dtype=np.int64), 1)
    reached = _reached(problem, groups, np.array([problem.rows]))
    return InfeasibleError(
        "no release with this guarantee was found: even all rows together in one group fall short "
        f"of what k and the other criteria ask for{reached}. Ask for less"
    )


def _reached(problem: Problem, groups: Groups, rows: NDArray[np.int64]) -> str:
    """What cannot be reached there, criterion by criterion, as the end of a sentence."""
    told = out_of_reach(problem.criteria, groups, rows, problem.suppressible)
    return "".join(f"; {clause}" for clause in told)


def _largest_k(evaluator: Evaluator, suppressible: int) -> int:
    """The largest k at which the top of the lattice leaves out no more rows than it may."""
    rows, persons = evaluator.sizes(evaluator.lattice.top)
    order = np.argsort(persons, kind="stable")
    kept = np.cumsum(rows[order]) > suppressible
    return int(persons[order][np.argmax(kept)])


def out_of_reach(
    criteria: Sequence[Criterion], groups: Groups, rows: NDArray[np.int64], suppressible: int
) -> Iterator[str]:
    """A clause for each criterion that cannot be had, with the best that can; empty for none.

    ``rows`` (p,) are those of the groups, of which so many may be left out.
    """

    def does(criterion: Criterion) -> bool:
        broken = int(rows[~criterion.holds(groups)].sum())
        return broken <= suppressible and broken < int(rows.sum())

    for criterion in criteria:
        if not does(criterion):
            yield _told(criterion, does)


def _told(criterion: Criterion, does: Callable[[Criterion], bool]) -> str:
    match criterion:
        case KAnonymity(k=k):
            return _clause(f"k = {k:,}", _largest(criterion, "k", 2, k, does), "k")
        case DistinctDiversity(l=most, column=column) | RecursiveDiversity(l=most, column=column):
            found = _largest(criterion, "l", 2, most, does)
            return f"column {column!r}: {_clause(f'l = {most}', found, 'l')}"
        case EntropyDiversity(l=most, column=column):
            found = _largest(criterion, "l", 101, int(Decimal(most) / _CENT) + 1, does, _CENT)
            return f"column {column!r}: {_clause(f'l = {most}', found, 'l')}"
        case EqualCloseness() | OrderedCloseness() | HierarchicalCloseness():
            least = -int(Decimal(criterion.t) / _FINE)
            found = _largest(criterion, "t", -(10**4), least, does, -_FINE)
            told = _clause(f"t = {criterion.t}", found, "t")
            return f"column {criterion.column!r}: {told}"
        case _:
            return f"column {criterion.column!r}: {dict(criterion.document())} cannot be reached"


def _clause(asked: str, found: Decimal | None, name: str) -> str:
    best = f"the best is {name} = {found:,f}" if found is not None else "nor can any less"
    return f"{asked} cannot be reached, {best}"


def _largest(
    criterion: Any,
    name: str,
    low: int,
    high: int,
    does: Callable[[Criterion], bool],
    unit: Decimal | None = None,
) -> Decimal | None:
    """The largest multiple of a unit in [low, high) that can be had; None where there is none."""

    def having(number: int) -> bool:
        value = number if unit is None else number * unit
        return does(replace(criterion, **{name: value}))

    if low >= high or not having(low):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if having(middle) else (low, middle)
    return Decimal(low) if unit is None else (low * unit).normalize()
