"""The guarantee of a generalized release in words, and why there may be none.

What could be asked of groups that fall short is told as well: for each criterion that some groups
break by itself, finds the hardest parameter of its kind for which the rows of the groups that
break it are few enough to be left out.  That is exact for k and for l of the distinct and
recursive kinds; l of the entropy kind is a multiple of 0.01 and t one of 0.0001, each the best of
its multiples; it is said of each criterion by itself: what several ask together may still be out
of reach.

Algorithm: bisection, since all criteria here are the harder to satisfy the larger k or l, or the
smaller t.  Cost: some ten looks at the groups for each criterion.

What a series of generalizations asks, promises in words, refuses, and tells of rows.

What a custodian is told of a generalization; private.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import ROUND_CEILING, Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from voile.models.criteria import Criterion, Groups
from voile.models.k_anonymity import KAnonymity
from voile.models.l_diversity import (
    DistinctDiversity,
    EntropyDiversity,
    LDiversity,
    RecursiveDiversity,
)
from voile.models.t_closeness import EqualCloseness, HierarchicalCloseness, OrderedCloseness
from voile.publish.contribution import assumed_of_units, known_rows, stated_unit
from voile.publish.generalization.lattice import ObjectiveName
from voile.publish.generalization.problem import (
    AlgorithmChoice,
    Demands,
    Diversity,
    Problem,
    Solution,
)
from voile.release import claims
from voile.release.claims import KAnonymityClaim
from voile.release.history import SeriesTerms
from voile.release.release import Guarantee, LeftOpen, PrivateRecord, Release
from voile.schema.hierarchy.generalized import GeneralizedValues
from voile.schema.persons import others_told, units_told
from voile.schema.plan import Plan
from voile.schema.roles import Protected
from voile.table.private import PrivateTable
from voile.table.summaries import CombinationCounts
from voile_base.errors import InfeasibleError, PlanError
from voile_base.ondemand import on_demand

if TYPE_CHECKING:
    from voile.publish.generalization import evaluation as generalization_evaluation
    from voile.publish.generalization import regions as generalization_regions
    from voile.publish.generalization.evaluation import Evaluator
else:
    generalization_evaluation = on_demand("voile.publish.generalization.evaluation")
    generalization_regions = on_demand("voile.publish.generalization.regions")

__all__ = [
    "TIMES_K",
    "groups_shown",
    "guarantee",
    "infeasible",
    "infeasible_at",
    "infeasible_together",
    "lasting_guarantee",
    "number_of_rows",
    "out_of_reach_together",
    "private_record",
    "refuse_criteria_of_series",
    "refuse_parameters_of_series",
    "refuse_series",
    "series_terms",
    "told_of_solution",
    "told_of_withheld",
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
_SENSITIVE = LeftOpen(
    "k-anonymity says nothing about the sensitive values of the rows that share a group: if they "
    "are all alike, everybody learns them"
)
_DIVERSE = LeftOpen(
    "l counts the sensitive values of a group that are written differently: near values, such as "
    "costs a few cents apart, count as different, and so does a missing value; what the values of "
    "a group have in common, everybody learns"
)
_COMMON = LeftOpen(
    "what the sensitive values of a group have in common, within what is asked of them, everybody "
    "learns"
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
    assumes = _assumptions(demands, protected)
    if protected != "row":
        assumes = (*assumes, known_rows(protected))
    return Guarantee((claim,), statement, assumes)


def _assumptions(demands: Demands, protected: Protected = "row") -> tuple[str, ...]:
    """What a promise of k-anonymous groups takes for granted, whoever is protected.

    With k alone, and a row for each person, groups follow from the quasi-identifiers: whoever knows
    these of everybody could have made them, and nothing more follows from how they were chosen.
    """
    assumes = tuple(each.replace("{whose}", assumed_of_units(protected)) for each in _ASSUMES)
    if demands.words or protected != "row":
        assumes = (*assumes[:-1], _BACKWARDS, assumes[-1])
    if not demands.words:
        return (*assumes, _SENSITIVE)
    diverse = any(isinstance(one, LDiversity) for one in demands.stated)
    return (*assumes, _DIVERSE if diverse else _COMMON)


def too_few_rows(k: int, units: int, protected: Protected) -> InfeasibleError:
    """No group can be large enough."""
    return InfeasibleError(
        f"no release exists: the table has {units_told(protected, units)}, and k = {k:,} asks for "
        f"groups of as many or more. The largest k that it allows is {units:,}"
    )


def infeasible(problem: Problem, k: int) -> InfeasibleError:
    """No generalization of this table was found; says what would do."""
    evaluator = generalization_evaluation.Evaluator(problem)
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


def infeasible_at(problem: Problem, levels: Mapping[str, int]) -> InfeasibleError:
    """The levels that the plan chooses leave out too many rows."""
    evaluator = generalization_evaluation.Evaluator(problem)
    found = evaluator.evaluate(tuple(levels[each.column] for each in problem.hierarchies))
    return InfeasibleError(
        f"at the chosen levels {found.suppressed:,} of {problem.rows:,} rows stand in groups that "
        f"fall short of what is asked, and {problem.suppressible:,} may be left out. Choose a "
        "higher level of some column, or leave [method] levels out, so that levels are searched for"
    )


def infeasible_together(problem: Problem) -> InfeasibleError:
    """Not even all rows as one group would do."""
    return InfeasibleError(
        "no release with this guarantee was found: even all rows together in one group fall short "
        f"of what k and the other criteria ask for{out_of_reach_together(problem)}. Ask for less"
    )


def out_of_reach_together(problem: Problem) -> str:
    """What all rows in one group do not reach, as the end of a sentence; empty for nothing."""
    atoms = generalization_regions.Atoms(problem)
    groups = atoms.groups(np.zeros(len(atoms), dtype=np.int64), 1)
    return _reached(problem, groups, np.array([int(problem.counts.rows.sum())]))


def _reached(problem: Problem, groups: Groups, rows: NDArray[np.int64]) -> str:
    """What cannot be reached there, criterion by criterion, as the end of a sentence."""
    told = _out_of_reach(problem.criteria, groups, rows, problem.suppressible)
    last = len(problem.hierarchies)
    held = zip(problem.sensitive, problem.counts.values[last:], strict=True)
    missing = {name for name, values in held if values.missing}
    kinds = (DistinctDiversity, EntropyDiversity, RecursiveDiversity)
    counted = {one.column for one in problem.criteria if isinstance(one, kinds)} & missing
    more = [f"in column {name!r} a missing value counts as one of l" for name in sorted(counted)]
    return "".join(f"; {clause}" for clause in (*told, *more))


def _largest_k(evaluator: Evaluator, suppressible: int) -> int:
    """The largest k at which the top of the lattice leaves out no more rows than it may."""
    rows, persons = evaluator.sizes(evaluator.lattice.top)
    order = np.argsort(persons, kind="stable")
    kept = np.cumsum(rows[order]) > suppressible
    return int(persons[order][np.argmax(kept)])


def _out_of_reach(
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


_ATTEMPTS = (
    "nobody knows of attempts that ended without a release, because the values of the rows broke "
    "what is asked of them"
)
TIMES_K = 16
"""Of k, the rows of a new group; see benchmarks/RESULTS.md."""


def series_terms(
    series: str,
    record_key: str,
    method: Mapping[str, str],
    table: PrivateTable,
    demands: Demands,
) -> SeriesTerms:
    """What stays the same over all releases of a series whose groups last."""
    roles = table.plan.roles
    words = {"criteria": demands.words} if demands.words else {}
    named = ("ranking", "quasi_identifiers", "sensitive", "keep")
    stated = {name: tuple(sorted(getattr(roles, name))) for name in named}
    if not roles.ranking:
        del stated["ranking"]
    return SeriesTerms(
        name=series,
        method={**method, **words},
        columns=dict(table.kinds(roles.published)),
        roles=stated,
        record_key=record_key,
    )


def lasting_guarantee(k: int, demands: Demands, series: str) -> Guarantee:
    """What a release of a series promises, alone and with all earlier ones."""
    statement = (
        f"{k}-anonymous: every published row shares its published quasi-identifiers with at least "
        f"{k - 1} others{demands.words}. The same holds over all releases of series {series!r}: "
        "whoever intersects and subtracts their groups, and knows when each person joined and "
        f"left, is left with rows of at least {k} people{_of_what_is_left(demands)}, those who "
        "left included"
    )
    claim = KAnonymityClaim(k=k, suppression_limit=Decimal(1), **demands.claims())
    implied = ("no other published data", "nobody reasons backwards")
    unasked = [one for one in _assumptions(demands) if not one.startswith(implied)]
    return Guarantee(
        (claim,),
        statement,
        (
            *unasked,
            *([_ATTEMPTS] if demands.words else []),
            "the record key names the same person in every release, and each person once",
            "no other published data is derived from the same rows than the releases of the series",
        ),
    )


def refuse_parameters_of_series(
    algorithm: str,
    *,
    limited: bool,
    diversity: Diversity | None,
    t: object,
    criteria: Sequence[object],
) -> None:
    """Raise ``PlanError`` for what a series has no use for, or cannot promise."""
    if algorithm not in ("auto", "mondrian"):
        msg = (
            f'series: algorithm = "{algorithm}" finds levels for all rows at once, and a series '
            'keeps the groups that it has published; choose "mondrian", or leave algorithm out'
        )
        raise PlanError(msg)
    if limited:
        msg = (
            "series: leave suppression_limit out; how many rows go depends on who leaves the table"
        )
        raise PlanError(msg)
    refuse_criteria_of_series(diversity, criteria, t)


def refuse_criteria_of_series(
    diversity: Diversity | None, criteria: Sequence[object], t: object = None
) -> None:
    """Raise ``PlanError`` for criteria that a series of groups that last cannot promise."""
    asked = [] if diversity is None else [diversity.of("any")]
    if t is not None or not all(_is_distinct(one) for one in (*asked, *criteria)):
        msg = (
            "series: it keeps k and l different values. Whether other criteria hold of those who "
            "leave together depends on who they are, and t compares with all rows of the table, "
            "which are others in every release; leave them out"
        )
        raise PlanError(msg)


def refuse_series(table: PrivateTable, record_key: str | None) -> None:
    """Raise ``PlanError`` where rows cannot be followed from release to release."""
    if record_key is None:
        msg = (
            "[method] series needs record_key: people come and go, and only a column that tells "
            "rows apart shows who left, who came back and whose row changed"
        )
        raise PlanError(msg)
    if table.plan.roles.unit is not None:
        msg = (
            "[method] series: the plan names persons or households with several rows. These arrive "
            "in different months and stand in different groups, which whoever knows a person could "
            "intersect; make one row of each person, or leave series out"
        )
        raise PlanError(msg)


def told_of_withheld(rows: int, k: int) -> Iterator[str]:
    """The same of rows that are in the table and shown no more."""
    if rows:
        yield (
            f"{number_of_rows(rows)} in the table and not shown, for good: those went with others "
            f"who left their group, so that at least {k} went at once, or have changed since they "
            "were first published, or have left and come back"
        )


def number_of_rows(rows: int) -> str:
    """A number of rows, and the verb."""
    return "1 row is" if rows == 1 else f"{rows:,} rows are"


def _is_distinct(criterion: object) -> bool:
    return isinstance(criterion, LDiversity) and criterion.kind == "distinct"


def _of_what_is_left(demands: Demands) -> str:
    return ", whose sensitive values are as diverse as those of a group" if demands.words else ""


def private_record(
    table: PrivateTable,
    release: Release,
    solution: Solution,
    objective: ObjectiveName,
    notices: Sequence[str],
) -> PrivateRecord:
    """The record of a release that was just made."""
    groups, choice = groups_shown(solution), solution.choice
    return PrivateRecord(
        rows_in=table.rows + table.dropped,
        rows_out=release.rows,
        suppressed=table.dropped + solution.suppressed,
        held=0,
        objective=_figure(solution.loss),
        decision={
            **release.method["decision"],
            "groups": groups,
            "examined": solution.examined,
            **(
                {
                    "losses": {name: _figure(loss) for name, loss in choice.losses.items()},
                    "bound": _figure(choice.bound),
                }
                if choice
                else {}
            ),
        },
        notices=(*notices, *_told_of_edges(table.plan)),
        summary=(
            f"in {groups:,} group{'s' * (groups != 1)}, "
            f"{_objective_text(objective, solution.loss, choice)}"
        ),
    )


def _told_of_edges(plan: Plan) -> tuple[str, ...]:
    """Columns whose edges somebody may have taken for the borders of groups."""
    names = [
        name
        for name in plan.roles.quasi_identifiers
        if (stated := plan.columns.get(name)) and stated.edges and stated.hierarchy is None
    ]
    return tuple(
        f"column {name!r}: edges are the public domain of methods with noise, and groups do not "
        "keep to them; state intervals, dates or a hierarchy for ranges of your own"
        for name in names
    )


def told_of_solution(
    solution: Solution, counts: CombinationCounts, rows: int, algorithm: str
) -> tuple[str, ...]:
    """What is to be known of rows left out, of cells that say nothing, and of a search cut short.

    In time O(g) for the g combinations that were counted.
    """
    notices = []
    if solution.suppressed:
        left_out = "1 row was" if solution.suppressed == 1 else f"{solution.suppressed:,} rows were"
        notices.append(
            f"{left_out} left out of {rows:,}, as suppression_limit allows; who is left out "
            "is unusual, so the release shows unusual people less often than there are"
        )
    if algorithm == "k-optimize" and not solution.proved:
        notices.append("the groups may not be the best ones: the search ended before its proof")
    return (*notices, *_told_of_everything(solution, counts))


def _told_of_everything(solution: Solution, counts: CombinationCounts) -> Iterator[str]:
    kept = solution.group >= 0
    sizes = np.bincount(solution.group[kept], counts.rows[kept]).astype(np.int64)
    found = {
        column.column: int(sizes[_is_everything(values)[column.codes]].sum())
        for column in solution.columns
        if (values := column.values) is not None
    }
    told = [f"{name!r} in {count:,}" for name, count in found.items() if count]
    if told:
        yield (
            f"nothing is said of {', '.join(told)} of {int(sizes.sum()):,} rows: any value is "
            "possible there ('*', the whole range, an empty cell); steps between in their "
            "hierarchies, fewer quasi-identifiers or a smaller k show more"
        )


def _is_everything(values: GeneralizedValues) -> NDArray[np.bool_]:
    """Shape (q,): whether each covers the whole domain; a value that is missing alone does not."""
    covers = np.asarray(values.share >= 1)
    covers[: int(values.alone)] = False
    return covers


def _figure(loss: float) -> str:
    return format(Decimal(repr(loss)), "f")


def _objective_text(objective: ObjectiveName, value: float, choice: AlgorithmChoice | None) -> str:
    """What was minimised, by which algorithm, and how far from the best, for the custodian."""

    def figure(number: float) -> str:
        return f"{100 * number:.3g} %" if objective == "loss" else f"{number:.6g}"

    name = "loss (objective of the method)" if objective == "loss" else objective
    bound = f" ({choice.algorithm}; lower bound {figure(choice.bound)})" if choice else ""
    return f"{name} {figure(value)}{bound}"


def groups_shown(solution: Solution) -> int:
    """How many groups the release shows: those that show the same are one."""
    shown = np.column_stack([c.codes for c in solution.columns])
    return len(np.unique(shown, axis=0, return_counts=True)[0])  # alone it loads masked arrays
