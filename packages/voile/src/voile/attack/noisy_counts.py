"""What noisy counts say of whether somebody was counted, to whoever knows all others.

What it does: scores a person by the likelihood ratio of the measurements of a release, with and
without that person, for an adversary who knows every other row of the table.

Source: the most powerful test (Neyman and Pearson, 1933).  Of Gaussian noise of variance v_t, a row
in cell c_t of each table t is told by the sum of (y_t - n_t) / v_t, n_t counting the others: its
mean is 0 without the row and the sum of 1 / v_t = 2 rho with it, of the same deviation, the root of
2 rho.  So the advantage of every attack is at most erf(sqrt(rho) / 2), which this one reaches; and
erf(sqrt(rho / 2)) where one row takes the place of another (mu = 2 sqrt(rho)).  Of pure noise at
epsilon no advantage exceeds (e^epsilon - 1) / (e^epsilon + 1); the score is the same, next to the
best.

Cost: one pass over the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from math import erf, sqrt, tanh
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.dp.marginals import NoisyTable
from voile.release.claims import CountedPrivately, SynthesizedPrivately
from voile.release.consistent_cells import noisy_marginals
from voile.release.release import Release
from voile.schema.domain import ColumnDomain, public_domain
from voile.schema.plan import Plan
from voile.table.domains import cells_of
from voile_base.errors import PlanError
from voile_base.ondemand import dataclass

__all__ = ["NoisyCounts"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class NoisyCounts:
    """The noisy counts of a release, and the domains that they are over."""

    tables: tuple[NoisyTable, ...]
    domain: tuple[ColumnDomain, ...]
    plan: Plan
    claim: CountedPrivately | SynthesizedPrivately

    @staticmethod
    def claimed(release: Release) -> CountedPrivately | SynthesizedPrivately | None:
        """The promise of a release that is made of noisy counts; None of another."""
        kinds = CountedPrivately | SynthesizedPrivately
        return next((it for it in release.guarantee.claims if isinstance(it, kinds)), None)

    @classmethod
    def refusal(cls, release: Release, plan: Plan | None) -> str | None:
        """Why the counts cannot be read with a plan, as a clause; None where they can."""
        claim = cls.claimed(release)
        if claim is None or release.measurements is None:
            return "it has no noisy counts"
        if claim.rows_per_person is not None:
            return "of each person only some rows take part, and which is not known"
        if claim.searched:
            return "the bounds of some column were found, and the plan does not say them"
        if plan is None:
            return "without the plan nobody knows which cell a row is counted in"
        try:
            public_domain(plan, cls._names(claim))
        except PlanError:
            return "the plan does not state the domains that were counted"
        return None

    @classmethod
    def of(cls, release: Release, plan: Plan) -> NoisyCounts:
        """Those of a release that nothing is refused of."""
        claim = cls.claimed(release)
        assert claim is not None
        assert release.measurements is not None
        marginals = noisy_marginals(release.measurements, claim, release.disclosure)
        return cls(marginals.tables, public_domain(plan, cls._names(claim)), plan, claim)

    @staticmethod
    def _names(claim: CountedPrivately | SynthesizedPrivately) -> list[str]:
        return list(dict.fromkeys(name for one in claim.tables for name in one.columns))

    @property
    def columns(self) -> tuple[str, ...]:
        """Whose cells are counted."""
        return tuple(column.name for column in self.domain)

    @property
    def limit(self) -> str:
        """What no attack can exceed, in words."""
        if self.claim.rho is None:
            bound = tanh(float(self.claim.epsilon) / 2)
            return f"no attack on one row more or less has an advantage above {bound:.3f}"
        rho = float(Fraction(self.claim.rho))
        return (
            f"no attack on one row more or less has an advantage above {erf(sqrt(rho) / 2):.3f}, "
            f"and none on one row in the place of another above {erf(sqrt(rho / 2)):.3f}"
        )

    def scores(self, rows: Any, targets: Sequence[Any], members: Sequence[bool]) -> list[Floats]:
        """The score of each target; ``rows`` are all of the table, ``members`` are among them."""
        counted = cells_of(rows, self.domain, self.plan)
        counted = counted[:, (counted >= 0).all(axis=0)]
        each = [cells_of(of, self.domain, self.plan) for of in targets]
        scores = [np.zeros(cells.shape[1]) for cells in each]
        for table in self.tables:
            true = np.bincount(self._places(table, counted), minlength=table.counts.size)
            told = (table.counts.ravel() - true) / table.variance
            for score, cells, member in zip(scores, each, members, strict=True):
                there = (cells >= 0).all(axis=0)
                own = 1 / table.variance if member else 0.0
                score[there] += told[self._places(table, cells[:, there])] + own
        return scores

    def _places(self, table: NoisyTable, cells: NDArray[np.int32]) -> NDArray[np.int64]:
        """The cell of each row in a table, by its columns and their levels."""
        found = np.zeros(cells.shape[1], dtype=np.int64)
        for name, size in zip(table.columns, table.counts.shape, strict=True):
            place, level = self.columns.index(name), table.level_of[name]
            own = cells[place].astype(np.int64)
            found *= size
            found += self.domain[place].coarser[level - 1].groups[own] if level else own
        return found
