"""The guarantee of a generalized release in words, and why there may be none."""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from voile.errors import InfeasibleError
from voile.models.criteria import Groups
from voile.publish.generalization.problem import Problem
from voile.publish.generalization.terms import Demands
from voile.publish.protected import assumed_of_units, known_rows, stated_unit
from voile.release.claims import KAnonymity
from voile.release.release import Guarantee
from voile.schema.persons import units_told
from voile.schema.roles import Protected

if TYPE_CHECKING:
    from voile.publish.generalization.evaluation import Evaluator

__all__ = ["guarantee", "infeasible", "infeasible_together", "too_few_rows"]

_ASSUMES = (
    "what anybody knows of a person beforehand stands in the quasi-identifiers, and in no other "
    "published column",
    "{whose}",
    "hierarchies, k and the other parameters were chosen without looking at the rows",
    "nobody reasons backwards from the choice of the groups: that a finer generalization was not "
    "chosen tells something about the rows that forbade it (minimality attack)",
    "no other published data is derived from the same rows",
)
_SENSITIVE = (
    "k-anonymity says nothing about the sensitive values of the rows that share a group: if they "
    "are all alike, everybody learns them"
)


def guarantee(k: int, demands: Demands, limit: Decimal, protected: Protected) -> Guarantee:
    """What a release promises; ``limit`` is the largest share of the rows that may be left out."""
    hidden = (
        f"at least {k - 1} others, so that nobody who knows them can tell which of {k} or more "
        "rows is a person's"
        if protected == "row"
        else f"rows of at least {k - 1} other {protected}s, so that nobody who knows those of one "
        f"row of a {protected} can tell whose of {k} or more {protected}s the row is"
    )
    statement = (
        f"{k}-anonymous: every published row shares its published quasi-identifiers with {hidden}"
        f"{demands.words_of(protected)}"
    )
    claim = KAnonymity(
        k=k, suppression_limit=limit or None, unit=stated_unit(protected), **demands.claims()
    )
    assumes = tuple(each.replace("{whose}", assumed_of_units(protected)) for each in _ASSUMES)
    if not demands.words:
        assumes = (*assumes, _SENSITIVE)
    if protected != "row":
        assumes = (*assumes, known_rows(protected))
    return Guarantee((claim,), statement, assumes)


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
    top = evaluator.evaluate(evaluator.lattice.top)
    wanted = "this guarantee" if len(problem.criteria) > 1 else f"k = {k:,}"
    lacking = (
        f"no release with {wanted} was found: even with every column at the highest level of its "
        f"hierarchy, {top.suppressed:,} of {problem.rows:,} rows stand in groups that fall short, "
        f"and {problem.suppressible:,} may be left out"
    )
    if top.suppressed < problem.rows:
        share = Decimal(top.suppressed) / problem.rows
        limit = share.quantize(Decimal("0.0001"), ROUND_CEILING).normalize()
        lacking += f". suppression_limit = {limit:f} would do"
    largest = _largest_k(evaluator, problem.suppressible)
    if len(problem.criteria) == 1 and largest >= 2:
        lacking += f"; so would k = {largest:,}"
    if len(problem.criteria) > 1:
        rows, _ = evaluator.sizes(evaluator.lattice.top)
        groups = evaluator.measured(evaluator.lattice.top)
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
    from voile.publish.generalization.reach import out_of_reach  # noqa: PLC0415 - as above

    told = out_of_reach(problem.criteria, groups, rows, problem.suppressible)
    return "".join(f"; {clause}" for clause in told)


def _largest_k(evaluator: Evaluator, suppressible: int) -> int:
    """The largest k at which the top of the lattice leaves out no more rows than it may."""
    rows, persons = evaluator.sizes(evaluator.lattice.top)
    order = np.argsort(persons, kind="stable")
    kept = np.cumsum(rows[order]) > suppressible
    return int(persons[order][np.argmax(kept)])
