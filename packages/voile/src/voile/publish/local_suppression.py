"""Local suppression: single cells blanked, until k share what is left.

Publishes: all rows; of the columns that it is about, a missing value in the place of some; other
columns as they are, in an order that tells nothing.

Source: Hundepool and others, "Statistical Disclosure Control" (2012), section 3.4.2.2, for the task
and the risk (a missing value matches anything, as in sdcMicro); the algorithm is ours.

Guarantee, where a blank matches anything (``missing = "matches"``): each published combination of
the columns is matched by at least k rows, a missing value matching any; and k rows of the table, or
rows of k persons, agree with it in all that it shows.  It holds against somebody who looks for a
person by the values that are shown.  Who knows a value that is blanked may rule out those of the k
who show another one, and be left with one row.  Where a blank is a value of its own (``"value"``)
k rows show exactly the same, blanks included: k-anonymity, against anybody who knows the columns.

Algorithm: the engine counts combinations; a pure decision finds the cheapest set of columns to
blank for each of them.

**A blank matches anything.**  A combination u needs a set S of columns to be blanked so that k rows
of the table agree with it in all others.  Rows of the table are compared by what they hold and not
by what is left of them, so that no combination counts on blanks of others, and the choice of one
does not touch that of another: of all sets of columns, in the order of their cost, each combination
takes the first that does.  So the total is the least there is, without any search, and every
published combination is matched by k rows: those that agree still do, whatever was blanked in them.

(If blanks of others counted, one row that is blank altogether would match every other: k - 1 such
rows would do for any table, and hide nobody.)

With limits per column the choices are tied.  All sets that do, and of which no part does, are then
variables of an integer program of least cost (HiGHS), whose bound is told where its nodes are
spent.

**A blank is a value of its own.**  Groups must agree in their blanks, too, which is NP-hard
(Meyerson and Williams, "On the complexity of optimal k-anonymity", PODS 2004).  For sets of columns
in the order of their cost, combinations that fall short and agree outside of a set are blanked
together where they have k rows; what is left joins the published combination that costs least.  The
cost of the first way is a bound: k rows that show the same agree in what they show.

Cost for g combinations of m columns: O(g) for each set that is tried, until none falls short, at
most ``_MOST_SETS``; the rest are blanked altogether.  With limits, the program.  Besides, a count
of combinations and a look-up a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from heapq import heappop, heappush
from itertools import count
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from voile.disclosure.exact import Blanked, Exact
from voile.disclosure.shown import GroupNumbering
from voile.models.k_anonymity import KAnonymity
from voile.publish.assembled import (
    MicrodataOutcome,
    assembled,
    assumed,
    columns_asked,
    named,
    require_large_strata,
    require_units,
)
from voile.publish.contribution import stated_unit
from voile.publish.publisher import (
    Capabilities,
    MethodCard,
    Parameter,
    SingleRelease,
    refuse_whole_postcodes,
)
from voile.release.check import check_against_counts
from voile.release.claims import Claim, KAnonymityClaim
from voile.release.history import History
from voile.release.method_claims import MatchedRows
from voile.release.release import Guarantee, Pay, Publication, unaccounted
from voile.schema.roles import ColumnName, Roles
from voile.table.decisions import BlankedColumn, Grouping, Treatment
from voile.table.private import PrivateTable
from voile.table.published import GROUP
from voile.table.summaries import CombinationCounts
from voile_base.errors import InfeasibleError, PlanError
from voile_base.ondemand import dataclass, on_demand
from voile_base.randomness import Randomness
from voile_base.values.value import Several, checked

__all__ = [
    "Cells",
    "LocalSuppression",
]

optimize = on_demand("scipy.optimize")
sparse = on_demand("scipy.sparse")

Mask = NDArray[np.bool_]
Labels = NDArray[np.int64]

_MOST_SETS = 4096
"""Sets of columns that are tried."""
_NODES = 20_000
"""Of the integer program."""


@dataclass(frozen=True, eq=False)
class Cells:
    """The counted combinations of a table, and what blanking costs."""

    codes: NDArray[np.int64]
    """Shape (g, m + s): values of the columns, then of the strata."""
    missing: Mask
    """Shape (g, m): cells that hold no value."""
    rows: Labels
    """Shape (g,)."""
    cost: tuple[float, ...]
    """Of a cell of each of the m columns; above 0."""
    held: Callable[[Labels, int], Labels]
    """How many rows, or persons, each of so many groups has."""

    @property
    def columns(self) -> int:
        """How many may be blanked."""
        return int(self.missing.shape[1])

    def groups(self, hidden: Mask) -> Labels:
        """The combinations that agree outside of some columns, numbered; shape (g,)."""
        compared = np.ones(self.codes.shape[1], dtype=np.bool_)
        compared[: self.columns] = ~hidden
        shown = self.codes[:, compared]
        label = np.zeros(len(self.rows), dtype=np.int64)
        for column in shown.T:
            label = label * (int(column.max(initial=0)) + 1) + column
            label = np.unique(label, return_inverse=True)[1]
        return label

    def enough(self, hidden: Mask, k: int) -> Mask:
        """Which combinations have k rows that agree with them outside of some columns."""
        label = self.groups(hidden)
        return np.asarray((self.held(label, int(label.max(initial=-1)) + 1) >= k)[label])

    def sets(self) -> Iterator[tuple[float, Mask]]:
        """Sets of columns with the cost of a row, the cheapest first."""
        order = sorted(range(self.columns), key=lambda c: (self.cost[c], -self.codes[:, c].max()))
        number = count()
        heap: list[tuple[float, int, int, tuple[int, ...]]] = [(0.0, 0, next(number), ())]
        while heap:
            cost, _, _, some = heappop(heap)
            hidden = np.zeros(self.columns, dtype=np.bool_)
            hidden[[order[place] for place in some]] = True
            yield cost, hidden
            for place in range(some[-1] + 1 if some else 0, self.columns):
                more = cost + self.cost[order[place]]
                heappush(heap, (more, len(some) + 1, next(number), (*some, place)))

    def blanked_by_match(self, k: int, limits: Sequence[int | None]) -> _Blanks:
        """The least blanks where a blank matches anything; at most so many cells of each column.

        Raises ``InfeasibleError`` where limits leave none.
        """
        hidden = np.zeros((len(self.rows), self.columns), dtype=np.bool_)
        for own, some in _by_missing(self):
            hidden[some] = _cheapest(self, some, own, k)
        found = _Blanks.of(self, hidden)
        used = found.hidden.T @ self.rows
        if all(limit is None or cell <= limit for cell, limit in zip(used, limits, strict=True)):
            return found
        return _within_limits(self, k, limits, found)

    def blanked_by_value(self, k: int) -> _Blanks:
        """Few blanks where a blank is a value of its own: k rows show the same, blanks included."""
        bound = self.blanked_by_match(k, [None] * self.columns).cost
        hidden = np.zeros((len(self.rows), self.columns), dtype=np.bool_)
        open_ = ~self.enough(hidden[0], k) if len(hidden) else np.zeros(0, dtype=np.bool_)
        for tried, (_, set_) in enumerate(self.sets()):
            if tried >= _MOST_SETS or not open_.any():
                break
            label = np.where(open_, self.groups(set_), -1)
            good = self.held(label, int(label.max()) + 1) >= k
            done = open_ & good[label]
            hidden[done] = set_
            open_ &= ~done
        for place in np.flatnonzero(open_).tolist():
            _join(self, hidden, place, k)
        return _Blanks.of(self, hidden, bound)


@dataclass(frozen=True, eq=False)
class _Blanks:
    """The decision."""

    hidden: Mask
    """Shape (g, m): which cells of each combination are blanked."""
    cost: float
    """Of all rows."""
    bound: float
    """No decision of its kind costs less."""

    @classmethod
    def of(cls, cells: Cells, hidden: Mask, bound: float | None = None) -> _Blanks:
        """With its cost; without a bound it is the least."""
        hidden = hidden & ~cells.missing
        cost = float(cells.rows @ (hidden @ np.array(cells.cost)))
        return cls(hidden, cost, cost if bound is None else min(bound, cost))

    @property
    def least(self) -> bool:
        """Whether no decision of its kind is cheaper."""
        return self.cost <= self.bound * (1 + 1e-9)


def _by_missing(cells: Cells) -> Iterator[tuple[Mask, Labels]]:
    """The combinations that miss the same cells, which match anything and cost nothing."""
    patterns, which = np.unique(cells.missing, axis=0, return_inverse=True)
    for number, own in enumerate(patterns):
        yield own, np.flatnonzero(which.reshape(-1) == number)


def _cheapest(cells: Cells, some: Labels, own: Mask, k: int) -> Mask:
    """For some combinations the cheapest set of columns, shape (some, m)."""
    hidden = np.zeros((len(some), cells.columns), dtype=np.bool_)
    open_ = np.ones(len(some), dtype=np.bool_)
    for tried, (_, set_) in enumerate(cells.sets()):
        if (set_ & own).any():
            continue
        if tried >= _MOST_SETS or not open_.any():
            break
        done = open_ & cells.enough(set_ | own, k)[some]
        hidden[done] = set_
        open_ &= ~done
    hidden[open_] = ~own
    return hidden


def _within_limits(cells: Cells, k: int, limits: Sequence[int | None], free: _Blanks) -> _Blanks:
    """The least blanks that keep to limits, by an integer program over minimal sets."""
    places, sets = _minimal_sets(cells, k)
    weight = cells.rows[places]
    price = weight * (sets @ np.array(cells.cost))
    each = np.unique(places, return_inverse=True)[1]
    ones = np.ones(len(places))
    one_of = sparse.csr_array((ones, (each, np.arange(len(places)))))
    bounded = [c for c, limit in enumerate(limits) if limit is not None]
    used = sparse.csr_array((sets[:, bounded] * weight[:, np.newaxis]).T.astype(np.float64))
    most = [float(limits[c] or 0) for c in bounded]
    found = optimize.milp(
        price,
        constraints=[
            optimize.LinearConstraint(one_of, 1, 1),
            optimize.LinearConstraint(used, -np.inf, most),
        ],
        integrality=np.ones(len(places)),
        bounds=optimize.Bounds(0, 1),
        options={"node_limit": _NODES},
    )
    if found.x is None:
        msg = (
            "no release exists that keeps to [method] limits: every choice of cells that leaves "
            f"k = {k} rows alike blanks more; raise a limit, ask for a smaller k, or take another "
            "column out of limits"
        )
        raise InfeasibleError(msg)
    hidden = np.zeros_like(free.hidden)
    chosen = found.x > 0.5
    hidden[places[chosen]] = sets[chosen]
    return _Blanks.of(cells, hidden, max(free.cost, float(found.mip_dual_bound)))


def _minimal_sets(cells: Cells, k: int) -> tuple[Labels, Mask]:
    """For combinations that fall short, all sets that do and of which no part does."""
    places: list[Labels] = []
    sets: list[Mask] = []
    for own, some in _by_missing(cells):
        done: list[tuple[Mask, Mask]] = []
        for tried, (_, set_) in enumerate(cells.sets()):
            if (set_ & own).any() or tried >= _MOST_SETS:
                continue
            good = cells.enough(set_ | own, k)[some]
            for smaller, those in done:
                if not (smaller & ~set_).any():
                    good &= ~those
            if good.any():
                done.append((set_, good))
                places.append(some[good])
                sets.append(np.tile(set_, (int(good.sum()), 1)))
    return np.concatenate(places), np.concatenate(sets)


def _join(cells: Cells, hidden: Mask, place: int, k: int) -> None:
    """Blank a combination together with the published ones that cost least, in place.

    Both show what they have in common; all that show the same then stay together.
    """
    shown = _shown(cells, hidden)
    label = np.unique(shown, axis=0, return_inverse=True)[1].reshape(-1)
    groups = int(label.max()) + 1
    if cells.held(label, groups)[label[place]] >= k:
        return
    first = np.unique(label, return_index=True)[1]
    width = cells.columns
    same_stratum = (cells.codes[first, width:] == cells.codes[place, width:]).all(axis=1)
    differs = shown[first, :width] != shown[place, :width]
    price = np.array(cells.cost)
    rows = np.bincount(label, cells.rows, groups)
    added = (differs & ~hidden[first]) @ price * rows
    added = added + (differs & ~hidden[place]) @ price * rows[label[place]]
    added[~same_stratum | (first == first[label[place]])] = np.inf
    other = int(added.argmin())
    if not np.isfinite(added[other]):
        return
    together = np.isin(label, [other, label[place]])
    hidden[together] |= differs[other]
    if cells.held(np.where(together, 0, -1), 1)[0] < k:
        _join(cells, hidden, place, k)


def _shown(cells: Cells, hidden: Mask) -> NDArray[np.int64]:
    """What combinations show: a blank is a missing value, which has code -1 here."""
    shown = cells.codes.copy()
    shown[:, : cells.columns][hidden | cells.missing] = -1
    return shown


_NAME = "local-suppression"

Cost = Annotated[float, Field(gt=0)]
Limit = Annotated[int, Field(ge=0)]


@checked(PlanError)
@dataclass(frozen=True)
class LocalSuppression(SingleRelease):
    """Blank the cells that cost least until k rows share what is left; raises ``PlanError``."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        persons=True,
        followed=True,
        no_criteria="it blanks cells by what rows have in common, whatever their sensitive values",
        no_series="its blanks are chosen anew in each release",
        card=MethodCard(
            _NAME,
            "Blank single cells",
            "What a row still shows is shared by k; the cells that cost least are blanked.",
            "Single cells of rare people. Levels of the plan are not used: a cell stays or goes.",
            "others know values that are blanked: take missing = value.",
            (Parameter("k", "k", ("2", "3", "5"), ("3",), "rows that share what is left"),),
        ),
    )

    k: Annotated[int, Field(ge=2)]
    """How many rows, or persons where these have several, share what is left; at least 2."""
    columns: Several[ColumnName] = ()
    """What may be blanked; none: all quasi-identifiers."""
    importance: Mapping[str, Cost] = field(default_factory=dict)
    """What a blanked cell of a column costs; 1 where nothing is said."""
    limits: Mapping[str, Limit] = field(default_factory=dict)
    """How many cells of a column may be blanked at most."""
    strata: Several[ColumnName] = ()
    """Published columns within whose values rows are compared."""
    missing: Literal["matches", "value"] = "matches"
    """What a blank is to whoever compares: anything, or a value of its own."""

    def __post_init__(self) -> None:
        if self.limits and self.missing == "value":
            msg = (
                'limits are kept where missing = "matches"; leave limits out, or raise the '
                "importance of these columns"
            )
            raise PlanError(msg)

    def prepare(
        self,
        table: PrivateTable,
        randomness: Randomness,
        history: History | None = None,
        pay: Pay = unaccounted,
    ) -> Publication:
        """Make a release; raises ``PlanError``, ``TableError`` and ``InfeasibleError``."""
        del history, pay
        columns, strata = self._columns(table.plan.roles)
        refuse_whole_postcodes(table.plan, _NAME)
        require_units(table, self.k, "as many or more that share what is left")
        counts = table.count_combinations([*columns, *strata])
        cells = self._cells(counts, columns)
        self._require_strata(table, cells)
        if self.missing == "matches":
            limits = [self.limits.get(name) for name in columns]
            blanks = cells.blanked_by_match(self.k, limits)
        else:
            blanks = cells.blanked_by_value(self.k)
        each = np.arange(len(counts.rows))
        own = np.where(blanks.hidden, 0, counts.codes[:, : len(columns)] + 1).astype(np.int32)
        treated = [BlankedColumn(name, codes) for name, codes in zip(columns, own.T, strict=True)]
        published, whose = table.apply_counted(
            Treatment(tuple(treated), Grouping.of_counts(counts, each)), randomness
        )
        used = dict(zip(columns, (blanks.hidden.T @ counts.rows).tolist(), strict=True))
        outcome = self._outcome(table.plan.roles, columns, blanks, used)
        publication = assembled(table, published, outcome, randomness)
        check_against_counts(publication.release, (KAnonymity(self.k),), counts, whose)
        return publication

    def _columns(self, roles: Roles) -> tuple[tuple[str, ...], tuple[str, ...]]:
        columns = columns_asked("columns", self.columns, roles) or roles.quasi_identifiers
        strata = columns_asked("strata", self.strata, roles)
        if not columns or set(columns) & set(strata):
            msg = (
                f"[method] columns has no column that strata does not name; {_NAME} blanks cells "
                "of columns that others may know: name them, or quasi-identifiers"
            )
            raise PlanError(msg)
        columns_asked("importance", tuple(self.importance), roles, columns)
        columns_asked("limits", tuple(self.limits), roles, columns)
        return columns, strata

    def _cells(self, counts: CombinationCounts, columns: Sequence[str]) -> Cells:
        codes = counts.codes.astype(np.int64)
        missing = np.stack(
            [(codes[:, i] == 0) & counts.values[i].missing for i in range(len(columns))], axis=1
        )
        units = counts.units

        def held(label: NDArray[np.int64], groups: int) -> NDArray[np.int64]:
            if units is not None:
                return units.count(label, groups)
            inside = label >= 0
            return np.bincount(label[inside], counts.rows[inside], groups).astype(np.int64)

        cost = tuple(float(self.importance.get(name, 1.0)) for name in columns)
        return Cells(codes, missing, counts.rows, cost, held)

    def _require_strata(self, table: PrivateTable, cells: Cells) -> None:
        """Raise ``InfeasibleError`` where a stratum has fewer than k."""
        if not self.strata:
            return
        label = cells.groups(np.ones(cells.columns, dtype=np.bool_))
        number = int(label.max(initial=-1)) + 1
        held = cells.held(label, number)
        require_large_strata(self.strata, held, self.k, table.plan.roles.protected)

    def _outcome(
        self, roles: Roles, columns: Sequence[str], blanks: _Blanks, used: Mapping[str, int]
    ) -> MicrodataOutcome:
        number = sum(used.values())
        if self.missing == "matches":
            how = "the least" if blanks.least else f"the least cost is at least {blanks.bound:.6g}"
        else:
            how = f"of cost {blanks.cost:.6g}, and none of less than {blanks.bound:.6g} exists"
        by = ", ".join(f"{name!r} {cells:,}" for name, cells in used.items() if cells)
        plural = "s" * (number != 1)
        return MicrodataOutcome(
            method={
                "name": _NAME,
                "k": self.k,
                "columns": list(columns),
                "missing": self.missing,
                **({"importance": dict(self.importance)} if self.importance else {}),
                **({"limits": dict(self.limits)} if self.limits else {}),
                **({"strata": list(self.strata)} if self.strata else {}),
                "decision": {"blanked": dict(used)},
            },
            columns={name: Blanked() if used[name] else Exact() for name in columns},
            guarantee=self._guarantee(roles, columns),
            objective=f"{blanks.cost:.12g}",
            summary=f"with {number:,} cell{plural} blanked, {how}" + f" ({by})" * bool(by),
            decision={"cells": number, "cost": blanks.cost, "bound": blanks.bound},
            groups=GroupNumbering(column=GROUP, made="alike", by=tuple(columns)),
        )

    def _guarantee(self, roles: Roles, columns: Sequence[str]) -> Guarantee:
        unit = stated_unit(roles.protected)
        who = "rows" if unit is None else f"{unit}s"
        within = f", within {named(self.strata)}" if self.strata else ""
        if self.missing == "value" and set(roles.quasi_identifiers) <= set(columns):
            some = f"at least {self.k} rows" if unit is None else f"rows of at least {self.k} {who}"
            statement = (
                f"{self.k}-anonymous: {some} show exactly the same in "
                f"{named(columns)}, missing values included{within}"
            )
            claims: tuple[Claim, ...] = (KAnonymityClaim(k=self.k, unit=unit),)
        else:
            statement = (
                f"each published combination of {named(columns)} is matched by at least {self.k} "
                f"{who}, where a missing value matches anything{within}. This is NOT k-anonymity: "
                "who knows a value that is blanked may rule out those who show another one"
            )
            claims = ()
        matched = MatchedRows(
            k=self.k, columns=tuple(columns), within=tuple(self.strata), unit=unit
        )
        return Guarantee((*claims, matched), statement, assumed(roles))
