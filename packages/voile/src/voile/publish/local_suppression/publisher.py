"""The publisher of tables with blanked cells; see the package's docstring."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
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
from voile.publish.local_suppression.decision import (
    Blanks,
    Cells,
    blanked_by_match,
    blanked_by_value,
)
from voile.publish.publisher import Capabilities, MethodCard, Parameter, SingleRelease
from voile.release.check import check_against_counts
from voile.release.claims import Claim, KAnonymityClaim
from voile.release.history import History
from voile.release.microdata_claims import MatchedRows
from voile.release.release import Guarantee, Pay, Publication, unaccounted
from voile.schema.roles import ColumnName, Roles
from voile.table.decisions import BlankedColumn, Grouping, Treatment
from voile.table.private import PrivateTable
from voile.table.published import GROUP
from voile.table.summaries import CombinationCounts
from voile_base.errors import PlanError
from voile_base.randomness import Randomness
from voile_base.values.value import Several, checked

__all__ = ["LocalSuppression"]

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
            "Single cells of rare people.",
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
        require_units(table, self.k, "as many or more that share what is left")
        counts = table.count_combinations([*columns, *strata])
        cells = self._cells(counts, columns)
        self._require_strata(table, cells)
        if self.missing == "matches":
            limits = [self.limits.get(name) for name in columns]
            blanks = blanked_by_match(cells, self.k, limits)
        else:
            blanks = blanked_by_value(cells, self.k)
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
        self, roles: Roles, columns: Sequence[str], blanks: Blanks, used: Mapping[str, int]
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
