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
combination a group; the engine recodes the rows.  Where combinations may be about as many as rows,
``flash`` and ``ola`` have rows rolled up before they are counted (``rolled_up``).

- ``auto`` takes the better of ``flash``, within an effort, and ``mondrian`` with sets;
- ``flash`` and ``ola`` find the best level of each column, for all its rows alike;
- ``datafly`` finds some such levels quickly;
- ``k-optimize`` and ``mondrian`` cut the rows into groups, which shows more detail.

Cost: one count and one sort of the n rows; the decision works on the g distinct combinations.

Departure: none of the sources is specific about which rows may be left out; here the share
``suppression_limit`` of the rows is an exact limit, 0 by default.

Which algorithm: ``auto`` takes whichever of the full-domain optimum and Mondrian loses least.

What it does: lets both kinds of generalization decide on the same counted rows, and takes the one
whose stated loss is less; of equals the full domain, whose rows all read alike.

- The full domain: ``flash``, where its lattice has no more than ``MOST_NODES`` nodes, within an
  effort.  Where it has more, or nothing was found within the effort, ``datafly``.
- Partitions: ``mondrian`` with sets, which leaves out no rows.  Its groups lie on no levels, so
  that the objective "precision" is asked of the full domain alone.

Claim: the answer is valid, and None only where neither kind has one that was found.  It depends on
the counted rows alone: effort is counted (``search``), never timed.  ``AlgorithmChoice.bound`` is
at most the loss of every generalization of either kind, and of any other (``least_loss``).

The bound.  ``least_loss`` bounds an objective from below for all divisions of the rows into valid
groups whose cells cover the values of their rows: levels for all rows alike, intervals, nodes of a
tree, sets.  No solution whose published groups have k rows loses less, whichever rows it
suppresses. Where persons have several rows, k counts persons, and sums of those of combinations: a
group has no more.

- ``loss``.  A row whose combination of quasi-identifiers has fewer than k rows shares its group
  with another combination, so some column shows a cell of more than one value; at least two
  columns do unless k rows agree in all columns but one.  Such a cell covers no less than the
  smallest that holds the row's value and another.  That gives a least sum of the columns' losses,
  each between 0 and 1, and the product of 1 + loss is least for a sum if as few columns as
  possible bear it (its logarithm is concave).  A suppressed row loses more than that.
- ``discernibility``: each row costs k at least; ``average-class-size``: groups have k rows.
- ``precision``: nothing is known beyond what the search for the best node tells.

Cost: that of Mondrian, and at most ``EFFORT`` for the search: some seconds of a processor; for the
bound m sorts of the u combinations, and O(d levels) for d values of a column.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from voile.disclosure.shown import Disclosure, GroupNumbering
from voile.models.information_loss import discernibility
from voile.models.k_anonymity import KAnonymity
from voile.publish.assembled import Spans, exactly, recoded, shown_roles
from voile.publish.generalization.lasting import settled
from voile.publish.generalization.lattice import Lattice, ObjectiveName
from voile.publish.generalization.lattice_search import datafly, flash
from voile.publish.generalization.mondrian import mondrian
from voile.publish.generalization.problem import (
    AlgorithmChoice,
    AskedCloseness,
    AskedCriteria,
    AskedDiversity,
    Closeness,
    Demands,
    Diversity,
    LastingTerms,
    Problem,
    RolledUp,
    Solution,
    bound_hierarchies,
    demanded,
)
from voile.publish.generalization.regions import (
    Atoms,
    domain_scale,
    is_ordered,
    least_rows,
    positions,
    shape_of,
)
from voile.publish.generalization.statement import (
    TIMES_K,
    groups_shown,
    guarantee,
    infeasible,
    infeasible_at,
    infeasible_together,
    lasting_guarantee,
    private_record,
    refuse_parameters_of_series,
    refuse_series,
    series_terms,
    told_of_solution,
    too_few_rows,
)
from voile.publish.publisher import (
    Capabilities,
    MethodCard,
    Parameter,
    SingleRelease,
    refuse_ranking,
)
from voile.release.check import check_against_counts, check_departures
from voile.release.history import History, SeriesTerms, Version, now
from voile.release.release import Pay, Publication, Release, SeriesPlace, unaccounted
from voile.schema.hierarchy.generalized import SMALLEST_SHARE, BoundHierarchy
from voile.schema.numbers import json_number
from voile.table.decisions import Grouping, Treatment
from voile.table.private import PrivateTable
from voile.table.published import GROUP
from voile.table.summaries import CombinationCounts
from voile_base.errors import PlanError
from voile_base.ondemand import dataclass, on_demand
from voile_base.randomness import Randomness
from voile_base.values import Document, Json
from voile_base.values.value import Number, Says, checked

if TYPE_CHECKING:
    from voile.publish.generalization import exploring as generalization_exploring
    from voile.publish.generalization import grouping as generalization_grouping
    from voile.publish.generalization import k_optimize as generalization_k_optimize
    from voile.publish.generalization import lasting as generalization_lasting
    from voile.publish.generalization import lattice_search as generalization_lattice_search
    from voile.publish.generalization import mondrian as generalization_mondrian
    from voile.publish.generalization import problem as generalization_problem
else:
    generalization_exploring = on_demand("voile.publish.generalization.exploring")
    generalization_grouping = on_demand("voile.publish.generalization.grouping")
    generalization_k_optimize = on_demand("voile.publish.generalization.k_optimize")
    generalization_lasting = on_demand("voile.publish.generalization.lasting")
    generalization_lattice_search = on_demand("voile.publish.generalization.lattice_search")
    generalization_mondrian = on_demand("voile.publish.generalization.mondrian")
    generalization_problem = on_demand("voile.publish.generalization.problem")

__all__ = ["EFFORT", "MOST_NODES", "Algorithm", "Generalization", "auto", "least_loss"]

EFFORT = 100_000_000
"""Entries of tables, and nodes marked, that the search for the best levels may read."""

MOST_NODES = 1_000_000
"""Of a lattice that is searched."""
_MULTIPLIER = 0x9E3779B97F4A7C15
"""Odd; combinations of one key are taken for one, which only lowers the bound."""


def auto(
    problem: Problem, objective: ObjectiveName = "loss", effort: int = EFFORT
) -> Solution | None:
    """The better of both kinds of generalization, with ``Solution.choice``; None for none."""
    candidates = (
        _full_domain(problem, objective, effort),
        ("mondrian", _partition(problem, objective)),
    )
    found = {name: solution for name, solution in candidates if solution is not None}
    if not found:
        return None
    best = min(found, key=lambda name: float(f"{found[name].loss:.12g}"))
    bound = least_loss(problem, objective)
    if "mondrian" not in found and found[best].bound > bound:
        bound = found[best].bound
    losses = {name: solution.loss for name, solution in found.items()}
    return replace(found[best], choice=AlgorithmChoice(best, losses, min(bound, found[best].loss)))


def _full_domain(
    problem: Problem, objective: ObjectiveName, effort: int
) -> tuple[str, Solution | None]:
    """The best levels within the effort, or some."""
    if Lattice.of(problem.hierarchies).size <= MOST_NODES:
        solution = flash(problem, objective, effort)
        if solution is not None:
            return "flash", solution
    return "datafly", datafly(problem, objective)


def _partition(problem: Problem, objective: ObjectiveName) -> Solution | None:
    """Mondrian's groups, and what the objective says of them."""
    if objective == "precision":
        return None
    solution = mondrian(problem, sets=True)
    if solution is None or objective == "loss":
        return solution
    sizes = np.bincount(solution.group, problem.counts.rows).astype(np.int64)
    loss = discernibility(sizes) if objective == "discernibility" else problem.rows / len(sizes)
    return replace(solution, loss=float(loss))


def least_loss(problem: Problem, objective: ObjectiveName) -> float:
    """At most the objective's value of every solution; see the module."""
    k, rows = least_rows(problem), problem.rows
    if not rows:
        return 0.0
    match objective:
        case "loss":
            return _least_product(problem, k)
        case "discernibility":
            return float(rows) * min(k, rows)
        case "average-class-size":
            return rows / (rows // k + (problem.suppressible > 0)) if rows >= k else float(rows)
        case "precision":
            return 0.0


def _least_product(problem: Problem, k: int) -> float:
    atoms = Atoms(problem)
    m = atoms.codes.shape[1]
    further = np.empty((len(atoms), m))
    enough = np.empty((len(atoms), m), dtype=np.bool_)
    keys = _keys(atoms.codes)
    whole = keys.sum(axis=1)
    for j in range(m):
        least = _smallest_cells(problem, j)
        own = problem.hierarchies[j].values[0].share[problem.hierarchies[j].codes[0]]
        room = problem.rows - float(atoms.rows @ own[atoms.codes[:, j]])
        lost = np.maximum(least - own, 0.0) / room if room > 0 else np.zeros(len(own))
        further[:, j] = lost[atoms.codes[:, j]]
        enough[:, j] = _reach(whole - keys[:, j], atoms.persons, k)
    alone = np.where(enough, further, np.inf).min(axis=1)
    together = np.sort(further, axis=1)[:, :2].sum(axis=1)
    of_row = np.where(atoms.persons < k, np.minimum(alone, together), 0.0)
    total = min(float(of_row @ atoms.rows), float(m))
    product = 2.0 ** int(total) * (1 + total - int(total))
    return float(product ** (1 / m) - 1)


def _reach(keys: NDArray[np.uint64], persons: NDArray[np.int64], k: int) -> NDArray[np.bool_]:
    """Whether those who share a key are at least k persons, shape (u,).

    Keys are sorted of those alone who are enough together with all whose keys begin with the same
    bits, which are few where groups are small.
    """
    bits = min(22, 3 + len(keys).bit_length())
    bucket = (keys >> np.uint64(64 - bits)).astype(np.int64)
    reach = np.bincount(bucket, persons)[bucket] >= k
    some = np.flatnonzero(reach)
    _, member = np.unique(keys[some], return_inverse=True)
    reach[some] = np.bincount(member, persons[some])[member] >= k
    return reach


def _keys(codes: NDArray[np.int32]) -> NDArray[np.uint64]:
    """What each column adds to the key of a combination, shape (u, m)."""
    multipliers = [pow(_MULTIPLIER, j + 1, 2**64) for j in range(codes.shape[1])]
    return codes.astype(np.uint64) * np.array(multipliers, dtype=np.uint64)


def _smallest_cells(problem: Problem, column: int) -> NDArray[np.float64]:
    """For each value of a column, what the smallest cell covers that holds it and another."""
    hierarchy, values = problem.hierarchies[column], problem.counts.values[column]
    d = len(values)
    own = hierarchy.values[0].share[hierarchy.codes[0]]
    least = np.ones(d)
    for level in range(hierarchy.height, -1, -1):
        codes = hierarchy.codes[level]
        shared = np.bincount(codes)[codes] > 1
        least[shared] = np.minimum(least, hierarchy.values[level].share[codes])[shared]
    first = int(values.missing)
    if is_ordered(hierarchy, values) and d - first > 1:
        gaps = np.diff(positions(values)[first:] * domain_scale(hierarchy, values))
        nearest = np.minimum(np.append(np.inf, gaps), np.append(gaps, np.inf))
        ends = own[first:] + (1 - own[first:]) * nearest
        least[first:] = np.minimum(least[first:], ends)
    elif shape_of(hierarchy, values, sets=True) == "set" and d > 1:
        least = np.minimum(least, own + _pair_share(hierarchy, d))
    return least


def _pair_share(hierarchy: BoundHierarchy, values: int) -> float:
    """What a set of several values covers more than one alone, at least, for each further one."""
    own = hierarchy.values[0].share[hierarchy.codes[0]]
    return float(own.min()) + (1 / max(values - 1, 1) if own.max() <= SMALLEST_SHARE else 0.0)


_NAME = "generalization"

Algorithm = Literal["auto", "flash", "ola", "datafly", "k-optimize", "mondrian"]
_FULL_DOMAIN = ("auto", "flash", "ola", "datafly")
_OPTIMAL = ("flash", "ola")
"""What they find depends on the feasible nodes alone, and not on where they begin."""


@checked(PlanError)
@dataclass(frozen=True)
class Generalization(SingleRelease):
    """Publish rows that share their quasi-identifiers with at least k - 1 others.

    Raises ``PlanError`` for parameters that cannot be.
    """

    capabilities: ClassVar[Capabilities] = Capabilities(
        persons=True,
        followed=True,
        exact_kept=True,
        rows_in_series=True,
        one_level={"algorithm": "flash"},
        leave_at_once="k",
        card=MethodCard(
            "generalization",
            "k-anonymity (generalization)",
            "Each record has the same quasi-identifiers as those of at least k - 1 other persons; "
            "on request, their sensitive values differ.",
            "Detail in the quasi-identifiers. All other columns stay as they are.",
            "an intruder may know more than the quasi-identifiers, or new releases follow without "
            "a series.",
            (
                Parameter(
                    "k",
                    "k",
                    ("2", "3", "5", "11", "20", "50", "100"),
                    ("5", "11", "20"),
                    "least number of persons in a group; the limits of practice, .33, .2, .09 and "
                    ".05 for the worst person, are groups of 3, 5, 11 and 20",
                ),
                Parameter(
                    "l",
                    "l",
                    ("2", "3", "4", "5"),
                    (),
                    "least number of different sensitive values in a group",
                    needed=False,
                ),
                Parameter(
                    "t",
                    "t",
                    ("0.1", "0.15", "0.2", "0.3", "0.5"),
                    (),
                    "how far sensitive values in a group may be from those of all, 0 to 1",
                    needed=False,
                    in_series=False,
                ),
            ),
        ),
    )

    k: Annotated[int, Field(ge=2)]
    """Least number of rows in a group, or of persons where these have several; at least 2."""
    algorithm: Algorithm = "auto"
    """How groups are found; see the module."""
    suppression_limit: Annotated[
        Number, Field(ge=0, le=1), Says("a number between 0 and 1: a share of the rows")
    ] = 0
    """Largest share of the rows that may be left out, between 0 and 1."""
    l: AskedDiversity | None = None
    """Diversity of the sensitive values of a group; see ``problem``."""
    t: AskedCloseness | None = None
    """Closeness of the sensitive values of a group to those of all rows; see ``problem``."""
    criteria: AskedCriteria = ()
    """Further criteria, each of one sensitive column; see ``problem``."""
    objective: ObjectiveName = "loss"
    """What to lose least of; see ``objective``."""
    relaxed: bool = False
    """Of ``mondrian``: whether the regions of groups may overlap."""
    levels: Mapping[str, Annotated[int, Field(ge=0)]] | None = None
    """The level of each quasi-identifier, where the custodian has chosen it; None: it is searched
    for."""
    sets: bool = False
    """Of ``mondrian``: whether nominal columns without a tree are cut into sets of values, numbers
    that have a tree are codes, and small branches of trees stay together."""
    series: Annotated[str, Field(min_length=1)] | None = None
    """Name that ties the releases of one table together whose people come and go; see
    ``lasting``."""
    record_key: Annotated[str, Field(min_length=1)] | None = None
    """Of a series: the column that tells its rows apart, in every release."""
    group_size: Annotated[int, Field(ge=2)] | None = None
    """Of a series: least number of rows of a group when it is first published, where there are as
    many; None: 16 times k.  Larger groups last longer."""

    def __post_init__(self) -> None:
        self._refuse_idle_parameters()

    def get_ready(self) -> None:
        """Load the compiled decisions, half a second that can pass while a table is read."""
        self._decide()
        generalization_grouping.get_ready()

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
        if self.series:
            refuse_series(table, self.record_key)
        if not roles.quasi_identifiers:
            msg = "[roles] quasi_identifiers names no column; name those that others may know"
            raise PlanError(msg)
        protected = roles.protected
        if self.k > table.units:
            raise too_few_rows(self.k, table.units, protected)
        demands = self._demands(table)
        if self.series:
            return self._next_of_series(table, demands, randomness, history)
        problem = self._problem_of_all_rows(table, demands)
        solution = self._decide()(problem)
        if solution is None and self.levels is not None:
            raise infeasible_at(problem, self.levels)
        if solution is None:
            full_domain = self.algorithm in _FULL_DOMAIN
            raise infeasible(problem, self.k) if full_domain else infeasible_together(problem)
        counts = solution.counts or problem.counts
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
        notices = table.notes + told_of_solution(solution, counts, table.rows, self.algorithm)
        return Publication(
            release, private_record(table, release, solution, self.objective, notices)
        )

    def chosen_groups(self, table: PrivateTable) -> generalization_problem.ChosenGroups:
        """The groups of a single release, and whether other tables would have got the same.

        Raises as ``prepare`` does.
        """
        demands, decide = self._demands(table), self._decide()
        names = [*table.plan.roles.quasi_identifiers, *demands.columns]
        problem = self._problem(table, table.count_combinations(names), demands)
        solution = decide(problem)
        if solution is None:
            raise infeasible_together(problem)
        return generalization_problem.ChosenGroups(problem, decide, solution)

    def explored(self, table: PrivateTable, rows: int) -> Json:
        """The solutions beside the chosen one, with so many rows; private, see ``exploring``.

        Raises as ``prepare`` does, but not where no solution was found.
        """
        demands = self._demands(table)
        names = [*table.plan.roles.quasi_identifiers, *demands.columns]
        problem = self._problem(table, table.count_combinations(names), demands)
        texts = table.row_texts(problem.counts)
        return generalization_exploring.explored(problem, self._decide(), texts, rows)

    def _next_of_series(
        self,
        table: PrivateTable,
        demands: Demands,
        randomness: Randomness,
        history: History | None,
    ) -> Publication:
        """Make the next release of a series; see ``lasting``."""
        assert self.series is not None
        assert self.record_key is not None
        agreed = self._series_terms(table)
        history = history or History(agreed, randomness.key("series", self.series).secret)
        history.terms.refuse_difference(agreed)
        history.refuse_earlier_clock(now())
        roles, latest = table.plan.roles, history.latest
        members = table.match_members(history.known, history.key, self.record_key, demands.columns)
        columns = [*roles.quasi_identifiers, *demands.columns]
        problem = self._problem(table, table.count_members(members, columns)[0], demands)
        draw = randomness.key("departures", self.series, str(history.next_number))
        members = settled(members, problem.criteria, self.k, draw)
        counts, number = table.count_members(members, columns)
        problem = replace(problem, counts=counts)
        made = generalization_lasting.LastingGroups.find(members, problem, number, self._lasting)
        check_departures(latest.blocks if latest else None, made.blocks, self.k)
        solution = made.solution
        release_id = randomness.token("release", self.series, str(history.next_number))
        shown = table.apply(
            Treatment(solution.columns, Grouping.of_counts(counts, solution.group)), randomness
        )
        release = Release(
            table=shown,
            method=self._method(solution, made.classes),
            disclosure=_disclosure(table, problem, solution, self._shows_sets),
            guarantee=lasting_guarantee(self.k, demands, self.series),
            roles=shown_roles(roles, shown.columns),
            release_id=release_id,
            publishable=randomness.publishable,
            series=SeriesPlace(name=self.series, version=history.next_number),
        )
        check_against_counts(release, problem.criteria, counts)
        version = Version(
            history.next_number, release_id, now(), made.blocks, made.published, made.retired
        )
        notices = (*table.notes, *made.told(self.k))
        record = private_record(table, release, solution, self.objective, notices)
        private = replace(record, held=made.waiting, suppressed=record.suppressed - made.waiting)
        return Publication(release, private, history.appended(version))

    @property
    def _lasting(self) -> LastingTerms:
        size = max(self.k, self.group_size or TIMES_K * self.k)
        return LastingTerms(self.k, size, self.relaxed, self._shows_sets)

    def _series_terms(self, table: PrivateTable) -> SeriesTerms:
        assert self.series is not None
        assert self.record_key is not None
        parameters = {
            "name": _NAME,
            "k": str(self.k),
            "group_size": str(self._lasting.group_size),
            "algorithm": self.algorithm,
            "relaxed": str(self.relaxed),
            "sets": str(self._shows_sets),
        }
        return series_terms(self.series, self.record_key, parameters, table, self._demands(table))

    @property
    def _shows_sets(self) -> bool:
        """Whether groups that differ in detail show sets of nominal values."""
        return self.sets or (self.algorithm == "auto" and self.levels is None)

    @property
    def _limit(self) -> Decimal:
        assert isinstance(self.suppression_limit, Decimal)
        return self.suppression_limit

    def _refuse_idle_parameters(self) -> None:
        """Refuse parameters that the algorithm would not heed; raises ``PlanError``."""
        self._refuse_of_series()
        if self.levels is not None and (self.algorithm != "auto" or self.series):
            msg = (
                "levels says which level each column gets, and an algorithm or a series would "
                "choose groups itself; leave algorithm and series out, or levels"
            )
            raise PlanError(msg)
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

    def _refuse_of_series(self) -> None:
        """Refuse what a series has no use for, or cannot promise; raises ``PlanError``."""
        if not self.series:
            for name in ("record_key", "group_size"):
                if getattr(self, name) is not None:
                    msg = f"{name} is of use in a series only; name the series too, or leave it out"
                    raise PlanError(msg)
            return
        assert self.l is None or isinstance(self.l, Diversity)
        refuse_parameters_of_series(
            self.algorithm,
            limited=bool(self._limit),
            diversity=self.l,
            t=self.t,
            criteria=self.criteria,
        )

    def _decide(self) -> Callable[[Problem], Solution | None]:
        """The algorithm, loaded when it is asked for: compiled code costs half a second."""
        searching = generalization_lattice_search
        search: Callable[..., Solution | None]
        if self.levels is not None:
            return partial(searching.at_levels, levels=self.levels, objective=self.objective)
        match self.algorithm:
            case "auto":
                search = auto
            case "flash":
                search = searching.flash
            case "ola":
                search = searching.ola
            case "datafly":
                search = searching.datafly
            case "k-optimize":
                search = generalization_k_optimize.k_optimize
            case "mondrian":
                mondrian_cuts = generalization_mondrian.mondrian
                return partial(mondrian_cuts, relaxed=self.relaxed, sets=self.sets)
        return partial(search, objective=self.objective)

    def as_decided(self, method: Document) -> Document:
        """The parameters that make what this method made of rows, and nothing else of others."""
        chosen = method["decision"].get("algorithm")
        if chosen is None:
            return {}
        if chosen == "mondrian":  # which ``auto`` asks without regard to these
            own = {"sets": True, "objective": "loss", "suppression_limit": 0}
            return {"algorithm": chosen, **own}
        return {"algorithm": chosen}

    def _demands(self, table: PrivateTable) -> Demands:
        """What is asked of the sensitive columns."""
        assert self.l is None or isinstance(self.l, Diversity)
        assert self.t is None or isinstance(self.t, Closeness)
        return Demands.of(table.plan.roles, self.l, self.t, self.criteria)

    def _problem_of_all_rows(self, table: PrivateTable, demands: Demands) -> Problem:
        """All rows, rolled up where one level for all of them allows it, and what is asked."""
        rolled_up = None
        if self.algorithm in _OPTIMAL and table.plan.roles.unit is None:
            rolled_up = RolledUp.of(table, demands.columns, self.k, self._suppressible(table))
        if rolled_up is not None:
            counts = rolled_up.at(tuple(each.height for each in rolled_up.hierarchies))
        else:
            names = table.plan.roles.quasi_identifiers
            counts = table.count_combinations([*names, *demands.columns])
        return replace(self._problem(table, counts, demands), rolled_up=rolled_up)

    def _problem(self, table: PrivateTable, counts: CombinationCounts, demands: Demands) -> Problem:
        columns = dict(zip(counts.columns, counts.values, strict=True))
        return Problem(
            counts=counts,
            hierarchies=bound_hierarchies(table.plan, columns),
            criteria=(KAnonymity(self.k), *demands.criteria(columns, table.plan)),
            suppressible=self._suppressible(table),
        )

    def _suppressible(self, table: PrivateTable) -> int:
        """How many rows may be left out."""
        return int(Fraction(self._limit) * table.rows)

    def _method(self, solution: Solution, classes: Document | None = None) -> Mapping[str, object]:
        return {
            "name": _NAME,
            "k": self.k,
            **dict(demanded(self.l, self.t, self.criteria)),
            "algorithm": self.algorithm,
            "suppression_limit": json_number(self._limit),
            "objective": self.objective,
            **({"relaxed": True} if self.relaxed else {}),
            **({"sets": True} if self.sets else {}),
            **({"levels": dict(self.levels)} if self.levels is not None else {}),
            **({"group_size": self._lasting.group_size} if self.series else {}),
            "decision": {
                **({"algorithm": solution.choice.algorithm} if solution.choice else {}),
                **(
                    {"groups": groups_shown(solution)}
                    if solution.levels is None
                    else {"levels": dict(solution.levels)}
                ),
                **(classes or {}),
            },
        }


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
        groups=GroupNumbering(column=GROUP, made="alike", by=roles.quasi_identifiers),
    )
