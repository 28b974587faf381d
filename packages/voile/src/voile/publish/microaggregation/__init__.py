"""Microaggregation: like rows in groups of k or more, each of which shows its middle.

Publishes: of the columns that it is about, the middle of each group of like rows in the place of
their values: the mean or the median of numbers, the most frequent text, or the row that is nearest
to all; other columns as they are, all rows, in an order that tells nothing.

Sources: those of ``decision``.

Guarantee: each published combination of these columns, or each value of every one of them where
columns are grouped by themselves (``heuristic = "univariate"``), is that of at least k rows, or of
rows of k persons; measured again on the output.  Where all quasi-identifiers are among the columns
the release is k-anonymous.  How far values lie from their middle on average is published, to two
digits: it is computed from all rows and is no promise about any.

Algorithm: the engine counts distinct combinations; ``decision`` groups them; where persons have
several rows, groups of fewer than k persons join the nearest one.

Cost: that of ``decision``, and one count of combinations and one look-up a row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from voile.disclosure.exact import Exact
from voile.disclosure.foreign import Typical
from voile.disclosure.replaced import Averaged
from voile.disclosure.shown import GroupNumbering, Shown
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
from voile.publish.microaggregation.decision import Floats, Labels, Points
from voile.publish.publisher import (
    Capabilities,
    MethodCard,
    Parameter,
    SingleRelease,
    refuse_whole_postcodes,
)
from voile.release.check import check_against_counts, check_units_of_columns
from voile.release.claims import KAnonymityClaim
from voile.release.history import History
from voile.release.method_claims import MicroaggregatedRows
from voile.release.release import Guarantee, Pay, Publication, unaccounted
from voile.schema.roles import ColumnName
from voile.table.decisions import GroupColumn, Grouping, NumberColumn, RecodedColumn, Treatment
from voile.table.private import PrivateTable
from voile.table.published import GROUP
from voile.table.summaries import CombinationCounts
from voile_base.errors import PlanError
from voile_base.ondemand import dataclass
from voile_base.randomness import Randomness
from voile_base.values.value import Several, checked

__all__ = ["Microaggregation"]

_NAME = "microaggregation"
_DIGITS = 4
"""Decimals of a mean beyond those of its column."""
_HEURISTICS = {"mdav": Points.mdav, "v-mdav": Points.v_mdav, "univariate": Points.best_of_column}


@dataclass(frozen=True, eq=False)
class _Counted:
    """What was counted of the columns, as numbers and codes."""

    counts: CombinationCounts
    columns: tuple[str, ...]
    values: Floats
    """Shape (g, m): numbers, or codes of texts."""
    nominal: NDArray[np.bool_]
    decimals: Mapping[str, int]
    stratum: Labels
    """Shape (g,): from 0."""

    @classmethod
    def of(cls, table: PrivateTable, columns: Sequence[str], strata: Sequence[str]) -> _Counted:
        """Raises ``TableError`` where a number is missing, or is none."""
        counts = table.count_combinations([*columns, *strata])
        values = np.empty((len(counts.rows), len(columns)))
        nominal, decimals = np.zeros(len(columns), dtype=np.bool_), {}
        for place, name in enumerate(columns):
            distinct, codes = counts.values[place], counts.codes[:, place]
            kind = table.plan.column(name).kind
            if distinct.numbers is None or kind in {"nominal", "ordinal", "code"}:
                nominal[place], values[:, place] = True, codes
                continue
            if distinct.missing:
                table.count_values(name)  # says in which row, and how to mend it
            decimals[name] = distinct.numbers.scale
            values[:, place] = distinct.numbers.floats(name)[codes]
        beside = counts.codes[:, len(columns) :]
        stratum = np.unique(beside, axis=0, return_inverse=True)[1].reshape(-1)
        return cls(counts, tuple(columns), values, nominal, decimals, stratum)

    def labels(self, k: int, heuristic: Callable[[Points, int], Labels]) -> Labels:
        """The group of each combination, within strata; raises ``InfeasibleError``."""
        label = np.empty(len(self.stratum), dtype=np.int64)
        first = 0
        for stratum in range(int(self.stratum.max(initial=-1)) + 1):
            places = np.flatnonzero(self.stratum == stratum)
            points = self.points(places)
            if heuristic is Points.best_of_column:
                found = _of_column(points, k)
            else:
                found = points.grouped(k, heuristic)
            if self.counts.units is not None:
                found = points.merged(found, partial(self._valid, k, places))
            label[places] = first + found
            first += int(found.max(initial=-1)) + 1
        return label

    def points(self, places: NDArray[np.int64] | slice = slice(None)) -> Points:
        """Combinations to group; those of all rows have the scale of all rows."""
        whole = Points.of(self.values, self.nominal, self.counts.rows)
        return Points(whole.values[places], whole.nominal, whole.rows[places])

    def only(self, column: int) -> _Counted:
        """The same of one column."""
        one = slice(column, column + 1)
        return _Counted(
            self.counts,
            self.columns[one],
            self.values[:, one],
            self.nominal[one],
            self.decimals,
            self.stratum,
        )

    def _valid(
        self, k: int, places: NDArray[np.int64], label: Labels, groups: int
    ) -> NDArray[np.bool_]:
        assert self.counts.units is not None
        whole = np.full(len(self.stratum), -1, dtype=np.int64)
        whole[places] = label
        return self.counts.units.at_least(k, whole, groups)


def _of_column(points: Points, k: int) -> Labels:
    """The best groups of one column of numbers whose values may stand in several combinations."""
    values, place = np.unique(points.values[:, 0], return_inverse=True)
    rows = np.bincount(place, points.rows, len(values)).astype(np.int64)
    column = Points(values[:, np.newaxis], points.nominal, rows)
    return column.best_of_column(k)[place]


@checked(PlanError)
@dataclass(frozen=True)
class Microaggregation(SingleRelease):
    """Show the middle of groups of at least k like rows; raises ``PlanError``."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        persons=True,
        followed=True,
        no_criteria="its groups are of rows that are alike, whatever their sensitive values are",
        no_series="its groups are cut anew in each release",
        card=MethodCard(
            _NAME,
            "Means of like rows",
            "Each row shows the mean of at least k rows that are like it.",
            "Differences within groups.",
            "the columns beside the means tell whose a row is.",
            (Parameter("k", "k", ("3", "5", "10"), ("3", "5"), "rows of a group, at least"),),
        ),
    )

    k: Annotated[int, Field(ge=2)]
    """Least number of rows in a group, or of persons where these have several; at least 2."""
    columns: Several[ColumnName] = ()
    """What is aggregated; none: all quasi-identifiers."""
    heuristic: Literal["mdav", "v-mdav", "univariate"] = "mdav"
    """How groups are found; "univariate" groups each column of numbers by itself, at best."""
    centre: Literal["mean", "median", "medoid"] = "mean"
    """What groups show: of numbers the mean or the median, of texts the most frequent; or the row
    that is nearest to all others."""
    strata: Several[ColumnName] = ()
    """Published columns within whose values groups are made."""

    def prepare(
        self,
        table: PrivateTable,
        randomness: Randomness,
        history: History | None = None,
        pay: Pay = unaccounted,
    ) -> Publication:
        """Make a release; raises ``PlanError``, ``TableError`` and ``InfeasibleError``."""
        del history, pay
        roles = table.plan.roles
        columns = columns_asked("columns", self.columns, roles) or roles.quasi_identifiers
        strata = columns_asked("strata", self.strata, roles)
        if not columns or set(columns) & set(strata):
            msg = (
                f"[method] columns has no column that strata does not name; {_NAME} shows the "
                "middle of columns in the place of their values: name them, or quasi-identifiers"
            )
            raise PlanError(msg)
        refuse_whole_postcodes(table.plan, _NAME)
        counted = _Counted.of(table, columns, strata)
        self._require_rows(table, counted)
        sets = [(counted, columns)]
        if self.heuristic == "univariate":
            sets = self._by_themselves(counted)
        labels = [one.labels(self.k, _HEURISTICS[self.heuristic]) for one, _ in sets]
        together = np.unique(np.stack(labels), axis=1, return_inverse=True)[1].reshape(-1)
        treated: list[GroupColumn] = []
        shown: dict[str, Shown] = {}
        for (one, _), label in zip(sets, labels, strict=True):
            groups = np.empty(int(together.max()) + 1, dtype=np.int64)
            groups[together] = label
            for column, how in self._shown(one, label, groups):
                treated.append(column)
                shown[column.column] = how
        published, whose = table.apply_counted(
            Treatment(tuple(treated), Grouping.of_counts(counted.counts, together)), randomness
        )
        lost = float(
            np.mean([one.points().loss(it) for (one, _), it in zip(sets, labels, strict=True)])
        )
        number = int(together.max()) + 1
        outcome = MicrodataOutcome(
            method=self._method(columns, number),
            columns=shown,
            guarantee=_guarantee(table, self.k, [names for _, names in sets]),
            objective=f"{100 * lost:.12g}",
            summary=f"in {number:,} groups of at least {self.k}, which lose {lost:.4%} of the "
            f"differences in {named(columns)}",
            decision={"groups": number, "loss": lost},
            groups=GroupNumbering(column=GROUP, made="alike", by=tuple(columns)),
        )
        publication = assembled(table, published, outcome, randomness)
        check_against_counts(publication.release, (KAnonymity(self.k),), counted.counts, whose)
        if whose is not None:
            for _, names in sets:
                check_units_of_columns(whose, names, self.k)
        return publication

    def _require_rows(self, table: PrivateTable, counted: _Counted) -> None:
        """Raise ``InfeasibleError`` where the table or a stratum has fewer than k."""
        require_units(table, self.k, "groups of as many or more")
        strata = int(counted.stratum.max(initial=-1)) + 1
        if counted.counts.units is None:
            held = np.bincount(counted.stratum, counted.counts.rows, strata)
        else:
            held = counted.counts.units.count(counted.stratum, strata)
        require_large_strata(self.strata, held, self.k, table.plan.roles.protected)

    def _by_themselves(self, counted: _Counted) -> list[tuple[_Counted, tuple[str, ...]]]:
        if counted.nominal.any():
            name = counted.columns[int(counted.nominal.argmax())]
            msg = (
                f'[method] heuristic = "univariate" is for numbers, and column {name!r} has none; '
                'leave it out of columns, or take heuristic = "mdav"'
            )
            raise PlanError(msg)
        return [(counted.only(i), (name,)) for i, name in enumerate(counted.columns)]

    def _shown(
        self, counted: _Counted, label: Labels, groups: Labels
    ) -> list[tuple[GroupColumn, Shown]]:
        """What the groups show of each column, and how that is stated."""
        number = int(label.max()) + 1
        rows = counted.counts.rows
        found: list[tuple[GroupColumn, Shown]] = []
        medoid = _medoids(counted.points(), label, number) if self.centre == "medoid" else None
        for place, name in enumerate(counted.columns):
            values = counted.values[:, place]
            if medoid is not None:
                centre = values[medoid]
            elif counted.nominal[place]:
                centre = values[_most_frequent(values, rows, label)]
            elif self.centre == "median":
                centre = values[_medians(values, rows, label)]
            else:
                total = np.bincount(label, values * rows, number)
                centre = total / np.bincount(label, rows, number)
                centre = np.round(centre, counted.decimals[name] + _DIGITS)
            apart = np.abs(values - centre[label])
            if counted.nominal[place]:
                codes = centre.astype(np.int32)[groups]
                found.append(
                    (
                        RecodedColumn(name, None, codes),
                        _typical(float(np.average(apart > 0, weights=rows))),
                    )
                )
            else:
                numbers = np.arange(number, dtype=np.int32)[groups]
                scale = float(f"{np.average(apart, weights=rows):.2g}")
                how = Averaged(scale=scale) if scale else Exact()
                found.append((NumberColumn(name, numbers, centre), how))
        return found

    def _method(self, columns: Sequence[str], groups: int) -> Mapping[str, object]:
        return {
            "name": _NAME,
            "k": self.k,
            "columns": list(columns),
            "heuristic": self.heuristic,
            "centre": self.centre,
            **({"strata": list(self.strata)} if self.strata else {}),
            "decision": {"groups": groups},
        }


def _typical(differs: float) -> Shown:
    share = float(f"{differs:.2g}")
    return Typical(differs=min(share, 0.99)) if share else Exact()


def _most_frequent(values: Floats, rows: NDArray[np.int64], label: Labels) -> Labels:
    """For each group a combination with its most frequent value, the least of several."""
    pairs, place = np.unique(np.stack([label, values]), axis=1, return_inverse=True)
    often = np.bincount(place.reshape(-1), rows)
    order = np.lexsort((pairs[1], -often, pairs[0]))
    best = order[np.flatnonzero(np.diff(pairs[0][order], prepend=-1))]
    first = np.unique(place.reshape(-1), return_index=True)[1]
    return np.asarray(first[best])


def _medians(values: Floats, rows: NDArray[np.int64], label: Labels) -> Labels:
    """For each group a combination with its lower median."""
    order = np.lexsort((values, label))
    held = np.cumsum(rows[order])
    total = np.bincount(label, rows)
    before = np.cumsum(total) - total
    return np.asarray(order[np.searchsorted(held, before + (total + 1) // 2)])


def _medoids(points: Points, label: Labels, groups: int) -> Labels:
    """For each group the combination with the least sum of distances to its rows."""
    order = np.argsort(label, kind="stable")
    bounds = np.searchsorted(label[order], np.arange(groups + 1))
    found = np.empty(groups, dtype=np.int64)
    for group in range(groups):
        members = order[bounds[group] : bounds[group + 1]]
        values, rows = points.values[members], points.rows[members]
        gaps = values[:, np.newaxis, :] - values[np.newaxis, :, :]
        if points.nominal.any():
            each = np.where(points.nominal, gaps != 0, np.abs(gaps)).sum(axis=2)
        else:
            each = (gaps**2).sum(axis=2)
        found[group] = members[int((each @ rows).argmin())]
    return found


def _guarantee(table: PrivateTable, k: int, sets: Sequence[Sequence[str]]) -> Guarantee:
    roles = table.plan.roles
    unit = stated_unit(roles.protected)
    claims: list[MicroaggregatedRows | KAnonymityClaim] = [
        MicroaggregatedRows(k=k, columns=tuple(names), unit=unit) for names in sets
    ]
    who = "rows" if unit is None else f"{unit}s"
    of = "; ".join(named(names) for names in sets)
    each = "combination" if any(len(names) > 1 for names in sets) else "value"
    statement = f"each published {each} of {of} is the middle of at least {k} {who} that are alike"
    if len(sets) == 1 and set(roles.quasi_identifiers) <= set(sets[0]) and roles.quasi_identifiers:
        claims = [KAnonymityClaim(k=k, unit=unit), *claims]
        statement += f"; since these are all quasi-identifiers, the release is {k}-anonymous"
    else:
        statement += ". This is NOT k-anonymity: other columns beside them may tell whose a row is"
    return Guarantee(tuple(claims), statement, assumed(roles))
