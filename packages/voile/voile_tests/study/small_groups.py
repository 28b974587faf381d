"""A publisher for tests of the corridor: it spends what it is told, and leaves small groups out.

Rows whose quasi-identifiers fewer than ``k`` rows share are left out, or carried over.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar, Self
from unittest import mock

import numpy as np

from voile.dp.accounting import Neighbours, PrivacyEvent
from voile.publish.publisher import Capabilities
from voile.publish.registry import METHODS
from voile.release.history import History
from voile.release.release import Pay, Price, PrivateRecord, Publication, Release, unaccounted
from voile.study import run
from voile.table.decisions import Grouping, RecodedColumn, Treatment
from voile.table.keeping import KeptRows
from voile.table.private import PrivateTable
from voile_base.errors import InfeasibleError
from voile_base.randomness import Randomness
from voile_tests.releases import described, promised


@dataclass(frozen=True)
class SmallGroups:
    """Publish the groups of at least ``k`` rows, at a price."""

    k: int = 1
    epsilon: Decimal | None = None
    neighbours: Neighbours = "add-remove"
    suppressed: str = "drop"
    not_empty: bool = False
    """Whether there is no release where no group is large enough."""
    series: ClassVar[str | None] = None
    record_key: ClassVar[str | None] = None
    ranks: ClassVar[bool] = False
    trip_budget: ClassVar[None] = None
    capabilities: ClassVar[Capabilities] = Capabilities()

    @property
    def carries(self) -> bool:
        """Whether rows that are left out join the next pool."""
        return self.suppressed == "carry"

    def get_ready(self) -> None:
        """There is nothing to load."""

    def following(self, earlier: object) -> Self:
        """What was published before does not matter."""
        del earlier
        return self

    def publish(self, table: PrivateTable, randomness: Randomness | None = None) -> Release:
        """Make a single release."""
        return self.prepare(table, randomness or Randomness.secure(), None).release

    def prepare(
        self,
        table: PrivateTable,
        randomness: Randomness,
        history: History | None,
        pay: Pay = unaccounted,
    ) -> Publication:
        """Make a release; there may be none, as where a draw decides."""
        roles = table.plan.roles
        release_id = randomness.token("release")
        spent = (
            (PrivacyEvent("imaginary", Decimal(self.epsilon), neighbours=self.neighbours),)
            if self.epsilon is not None
            else ()
        )
        pay(Price(release_id, spent))
        counts = table.count_combinations(roles.quasi_identifiers)
        large = counts.rows >= self.k
        if self.not_empty and not large.any():
            raise InfeasibleError("no release was found")
        unchanged = [
            RecodedColumn(name, None, codes)
            for name, codes in zip(counts.columns, counts.codes[large].T, strict=True)
        ]
        groups = np.where(large, np.cumsum(large) - 1, -1)
        grouping = Grouping.of_counts(counts, groups)
        left_out = int(counts.rows[~large].sum())
        carried = left_out if self.suppressed == "carry" else 0
        shown = table.apply(Treatment(tuple(unchanged), grouping), randomness)
        return Publication(
            described(
                table=shown,
                method={"name": "small-groups", "k": self.k},
                guarantee=promised("imaginary", {}, "Nothing is promised"),
                roles={"quasi_identifiers": roles.quasi_identifiers},
                release_id=release_id,
                publishable=randomness.publishable,
            ),
            PrivateRecord(
                rows_in=table.rows,
                rows_out=shown.rows,
                suppressed=left_out - carried,
                held=0,
                objective="0",
                decision={},
                carried=carried,
            ),
            events=spent,
            carried=KeptRows.of(table.left_out(grouping)) if carried else None,
        )


@contextmanager
def known_to_the_corridor() -> Iterator[None]:
    """Let plans name the method "small-groups", whose releases promise nothing to check."""
    with (
        mock.patch.dict(METHODS.own, {"small-groups": f"{__name__}:SmallGroups"}),
        mock.patch.object(run, "check_release"),
    ):
        yield
