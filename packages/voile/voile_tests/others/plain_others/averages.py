"""A microaggregation of somebody else: means of k neighbours, shown and promised in its own words.

What it publishes: for one column of numbers, the mean of each group of at least k rows whose values
are neighbours, in the place of their values.  A mean is seldom a value of the column.

Source: Domingo-Ferrer and Mateo-Sanz, "Practical data-oriented microaggregation" (IEEE TKDE 2002),
with groups of a fixed size in the order of the values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal

import numpy as np
import pyarrow as pa
from pydantic import Field

from voile.disclosure.covering import Covered, labels_covered, near_covered
from voile.disclosure.evidence import CheckedCells, DistinctCells, Domain, Known
from voile.disclosure.exact import AsItReads, Exact
from voile.disclosure.foreign import NearEvidence
from voile.disclosure.shown import Disclosure, GroupNumbering
from voile.publish.publisher import Capabilities, MethodCard, Parameter, SingleRelease
from voile.release.claim_checks import PublicRelease
from voile.release.claims import Claim
from voile.release.history import History
from voile.release.release import Guarantee, Pay, PrivateRecord, Publication, Release, unaccounted
from voile.table.decisions import GroupColumn, Grouping, Treatment
from voile.table.private import PrivateTable
from voile_base.randomness import Randomness
from voile_base.values import Document


class Averages(AsItReads):
    """Each row shows the mean of its group, which is ``spread`` wide at most."""

    kind: Literal["averages"] = "averages"
    spread: Annotated[float, Field(gt=0)]
    """The widest range of the values of a group."""
    low: float
    """The least mean."""

    @property
    def graded(self) -> bool:
        """A mean fits a number the better the nearer it is."""
        return True

    @property
    def set_refusal(self) -> str:
        """A mean is of all values of a group."""
        return "means stand for no set of values"

    @property
    def size_basis(self) -> str:
        """See ``covered``."""
        return "the widest range of a group"

    def evidence(self, known: Known, cells: DistinctCells) -> NearEvidence:
        """A number is about a quarter of the widest range from its mean."""
        return NearEvidence(known.numbers, cells.numbers(cells.name), self.spread / 4)

    def covered(self, domain: Domain, cells: DistinctCells) -> Covered:
        """A mean stands for the nearest value, and is as wide as the widest group."""
        covered = labels_covered(domain, cells, super().evidence(domain.known, cells), level=0)
        return near_covered(domain, covered, cells.numbers(cells.name), self.spread)

    def breaches(self, cells: CheckedCells, confidence: object = None) -> Iterator[str]:
        """Means below the least one that is stated."""
        del confidence
        if (cells.numbers(cells.name) < self.low).any():
            yield f"column {cells.name!r} shows means below the least that it states"


class AveragedRows(Claim):
    """Each published mean is of at least ``k`` rows."""

    kind: Literal["averaged-rows"] = "averaged-rows"
    wording: ClassVar[Document | None] = {
        "claims": ["averaged-rows"],
        "says": ["each mean is of {k} rows or more"],
        "methods": {"neighbour-means": ["k"]},
    }
    k: Annotated[int, Field(ge=2)]
    column: str

    def breaches(self, published: PublicRelease) -> Iterator[str]:
        """Means that fewer rows show."""
        if few := int((published.table.count([self.column]).rows < self.k).sum()):
            yield f"{few} means of column {self.column!r} are of fewer than {self.k} rows"


@dataclass(frozen=True, eq=False)
class MeansOfGroups(GroupColumn):
    """A treatment of its own: each group shows its mean."""

    column: str
    codes: np.ndarray
    means: np.ndarray

    def cells(self, own: Callable[[], pa.Array]) -> Mapping[str, pa.Array]:
        """The means, as numbers."""
        del own
        return {self.column: pa.array(self.means)}


@dataclass(frozen=True)
class NeighbourMeans(SingleRelease):
    """Publish means of at least k rows in the place of a column's numbers."""

    capabilities: ClassVar[Capabilities] = Capabilities(
        no_series="its groups are cut anew in each release",
        card=MethodCard(
            "neighbour-means",
            "Means of neighbours",
            "Each number is the mean of those of at least k rows.",
            "Differences within groups.",
            "other columns tell whose a row is.",
            (Parameter("k", "k", ("3", "5", "10"), ("5",), "rows of a group, at least"),),
        ),
    )

    k: Annotated[int, Field(ge=2)]

    def prepare(
        self,
        table: PrivateTable,
        randomness: Randomness,
        history: History | None = None,
        pay: Pay = unaccounted,
    ) -> Publication:
        """Make a release of one sensitive column."""
        del history, pay
        roles = table.plan.roles
        (column,) = roles.sensitive
        counts = table.count_combinations([column])
        numbers = np.array([float(text) for text in counts.values[0].texts])[counts.codes[:, 0]]
        group = _neighbours(counts.rows, self.k)
        total = np.bincount(group, numbers * counts.rows)
        means = np.round(total / np.bincount(group, counts.rows), 3)
        first = np.flatnonzero(np.diff(group, prepend=-1))
        spread = float((np.maximum.reduceat(numbers, first) - numbers[first]).max())
        codes = np.arange(len(means), dtype=np.int32)
        treatment = Treatment(
            (MeansOfGroups(column, codes, means),), Grouping.of_counts(counts, group)
        )
        shown = table.apply(treatment, randomness)
        kept = {name: Exact() for name in roles.published}
        averages = Averages(spread=max(spread, 0.001), low=float(means.min()))
        release = Release(
            table=shown,
            method={"name": "neighbour-means", "k": self.k},
            disclosure=Disclosure(
                columns={**kept, column: averages},
                groups=GroupNumbering(column="group", made="clusters", by=(column,)),
            ),
            guarantee=Guarantee(
                (AveragedRows(k=self.k, column=column),), f"each mean is of {self.k} rows or more"
            ),
            roles=dict(roles.by_role.items()),
            release_id=randomness.token("release"),
            publishable=randomness.publishable,
        )
        private = PrivateRecord(
            table.rows, shown.rows, suppressed=0, held=0, objective=str(spread), decision={}
        )
        return Publication(release, private)


def _neighbours(rows: np.ndarray, k: int) -> np.ndarray:
    """The group of each distinct number, ascending: of k rows or more, the last of what is left."""
    group, number, held = np.zeros(len(rows), dtype=np.int64), 0, 0
    left = int(rows.sum())
    for place, count in enumerate(rows.tolist()):
        if held >= k and left >= k:
            number, held = number + 1, 0
        group[place] = number
        held, left = held + count, left - count
    return group
