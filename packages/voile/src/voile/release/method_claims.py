"""What single methods promise, and how each claim is measured on the published rows.

ranking                                groups as of k-anonymity, which share ranking attributes
too; precision counts rows that are not published
differential-privacy                   nothing: it is priced from the events that happened
differential-privacy-under-sampling    that all published columns are shared by k rows
differentially-private-flows           the same as of the next
differentially-private-tables          that all cells follow from the measurements, and what
noise of the stated variances costs
differentially-private-synthesis       that all cells of its tables are measured, and what noise
of the stated variances costs
indistinguishability-within-clusters   nothing
permutation-within-clusters            clusters, and the number of arrangements
geo-indistinguishability               that nothing but a single report is promised where angles
were selected or zones are those of true positions
... -within-zones                      the same
microaggregation                       that k rows share what is shown of the columns; of
persons, what rows can show of it
local-suppression                      that k rows match what a row shows
pram                                   that the matrix tells no more than is said, and that
values stand as often as it allows
noise, rank-swapping, record-swapping, shuffling
that their columns are stated to be shown so; how values
were drawn, no output shows
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from voile.disclosure.masked import NoiseAdded, Randomized, RankSwapped, Shuffled, Swapped
from voile.disclosure.shown import ShownColumn
from voile.models.population import matching
from voile.release.claim_checks import Chance, Least, PublicRelease
from voile.release.claims import Budget, Claim, GroupClaim, PrivacyClaim, unseen_unit
from voile_base.ondemand import on_demand
from voile_base.values.value import Exact, Value

if TYPE_CHECKING:
    from voile.release import claim_checks, consistent_cells
else:
    claim_checks = on_demand("voile.release.claim_checks")
    consistent_cells = on_demand("voile.release.consistent_cells")

__all__ = [
    "ClampedSums",
    "Costliest",
    "CostliestVehicle",
    "CountedPrivately",
    "DifferentialPrivacy",
    "GeoIndistinguishabilityClaim",
    "IndistinguishabilityWithinClusters",
    "MatchedRows",
    "MeasuredTable",
    "MicroaggregatedRows",
    "NoiseOfSurvey",
    "PermutationWithinClusters",
    "PrivateFlows",
    "RankingClaim",
    "RedrawnValues",
    "SampledGeneralization",
    "ShuffledValues",
    "SwappedRanks",
    "SwappedRecords",
    "SynthesizedPrivately",
    "WithinZones",
    "ZoneEpsilons",
    "ratio_of_matrices",
]

Columns = Annotated[tuple[str, ...], Field(min_length=1)]


class _OfPersons(Claim):
    """A claim about at least ``k`` rows, or rows of as many persons."""

    k: Least
    unit: Literal["person", "household"] | None = None
    """Who is counted, where they may have several rows; None: each row is another person."""

    @property
    def unseen(self) -> tuple[str, ...]:
        """Of whom the rows are."""
        return unseen_unit(self.unit)


class MicroaggregatedRows(_OfPersons):
    """What is shown of some columns together is shown by at least ``k`` rows."""

    kind: Literal["microaggregation"] = "microaggregation"
    columns: Columns

    def breaches(self, published: PublicRelease) -> Iterator[str]:
        """Combinations of fewer rows."""
        if few := int((published.table.count(self.columns).rows < self.k).sum()):
            names = ", ".join(map(repr, self.columns))
            yield f"{few} combinations of {names} are shown by fewer than {self.k} rows"


class MatchedRows(_OfPersons):
    """What a row shows of some columns is matched by ``k`` rows, a missing value by anything."""

    kind: Literal["local-suppression"] = "local-suppression"
    columns: Columns
    within: tuple[str, ...] = ()
    """Columns whose missing values match nothing but each other."""

    def breaches(self, published: PublicRelease) -> Iterator[str]:
        """Rows that fewer match, counted for each pair of combinations that may."""
        counted = published.table.count([*self.columns, *self.within])
        some = len(self.columns)
        nulls = [values.null_count > 0 for values in counted.values[:some]]
        blank = (counted.codes[:, :some] == 0) & np.array(nulls)
        found = matching(counted.codes, blank, counted.rows.astype(np.float64))
        if few := int(counted.rows[found < self.k].sum()):
            names = ", ".join(map(repr, self.columns))
            yield f"{few} rows show what fewer than {self.k} rows match in {names}"


_RATIO_DIGITS = 1e-6


def ratio_of_matrices(shown: Randomized) -> float | None:
    """The largest logarithm of a ratio in a column of the matrices, rounded up; None: infinite."""
    found = 0.0
    for number in range(len(shown.strata)) if shown.strata else (None,):
        matrix = shown.probabilities(number)
        own = np.array([value is not None for value in shown.values])
        shows = matrix[own][:, own]
        shows = shows[:, shows.max(axis=0) > 0]
        if (shows == 0).any():
            return None
        found = max(found, float(np.log(shows.max(axis=0) / shows.min(axis=0)).max()))
    return math.ceil(found / _RATIO_DIGITS) * _RATIO_DIGITS


class RedrawnValues(Claim):
    """Values were redrawn by published matrices, whatever other rows hold."""

    kind: Literal["pram"] = "pram"
    epsilon: Annotated[Mapping[str, float | None], Field(min_length=1)]
    """By column, the most that a cell changes the logarithm of the odds of two values; None where
    nothing limits it."""
    unit: Literal["person", "household"] | None = None
    """Whose rows with one value show one; None: each row is drawn for by itself."""

    @property
    def unseen(self) -> tuple[str, ...]:
        """How values were drawn."""
        return ("that values were drawn by the matrices: a property of the draws",)

    def breaches(self, published: PublicRelease) -> Iterator[str]:
        """Columns without a matrix, or with one that tells more than is said."""
        for name, stated in self.epsilon.items():
            stated_column = published.disclosure.columns.get(name)
            shown = None if stated_column is None else stated_column.behind
            if not isinstance(shown, Randomized):
                yield f"column {name!r} is said to be redrawn, and no matrix is stated"
                continue
            found = ratio_of_matrices(shown)
            if stated is not None and (found is None or found > stated + _RATIO_DIGITS):
                yield f"the matrix of column {name!r} tells more than epsilon = {stated:g}"


class _Drawn(Claim):
    """A claim about how cells of some columns were drawn, which only the draws keep."""

    columns: Columns

    @property
    def unseen(self) -> tuple[str, ...]:
        """How values were drawn."""
        return ("how values were drawn: a property of the draws",)

    def breaches(self, published: PublicRelease) -> Iterator[str]:
        """Columns that are shown otherwise."""
        for name in self.columns:
            shown = published.disclosure.columns.get(name)
            if shown is None or not self._shows(shown.behind):
                yield f"column {name!r} is not shown as the claim {self.kind} says"

    def _shows(self, shown: ShownColumn) -> bool:
        """Whether a column is shown as it is promised."""
        raise NotImplementedError


class NoiseOfSurvey(_Drawn):
    """Numbers have noise of a stated distribution."""

    kind: Literal["noise"] = "noise"

    def _shows(self, shown: ShownColumn) -> bool:
        return isinstance(shown, NoiseAdded)


class SwappedRanks(_Drawn):
    """Values were exchanged for such of ranks that are at most ``distance`` of all away."""

    kind: Literal["rank-swapping"] = "rank-swapping"
    distance: Annotated[float, Field(gt=0, le=1)]
    within: tuple[str, ...] = ()
    """Columns within whose values ranks were exchanged."""

    def _shows(self, shown: ShownColumn) -> bool:
        if not isinstance(shown, RankSwapped):
            return False
        return (shown.within, shown.distance) == (self.within, self.distance)


class ShuffledValues(_Drawn):
    """Values were dealt out anew, by what the columns ``by`` tell of them."""

    kind: Literal["shuffling"] = "shuffling"
    by: tuple[str, ...] = ()

    def _shows(self, shown: ShownColumn) -> bool:
        return isinstance(shown, Shuffled) and shown.by == self.by


class SwappedRecords(_Drawn):
    """Some rows exchanged these columns with others that agree in the columns ``match``."""

    kind: Literal["record-swapping"] = "record-swapping"
    match: tuple[str, ...] = ()

    def _shows(self, shown: ShownColumn) -> bool:
        return isinstance(shown, Swapped)


class RankingClaim(GroupClaim):
    """Rows share quasi-identifiers and ranking attributes, and boxes hold enough of the best."""

    kind: Literal["ranking"] = "ranking"
    shared: ClassVar[tuple[str, ...]] = ("quasi_identifiers", "ranking")
    precision: Annotated[float, Field(gt=0, le=1)]
    top: Least
    ties: Literal["top", "none"]

    @property
    def unseen(self) -> tuple[str, ...]:
        """The precision, of which rows are counted that are not published."""
        return (*super().unseen, "the precision of boxes, which counts rows not published")

    def contradictions(self, published: PublicRelease) -> Iterator[str]:
        """Boxes that are not those of the rows, or not as precise."""
        return claim_checks.box_breaches(published, self.precision)


class DifferentialPrivacy(PrivacyClaim):
    """By noise alone."""

    kind: Literal["differential-privacy"] = "differential-privacy"


class SampledGeneralization(PrivacyClaim):
    """By sampling rows, which share all they show with at least ``k`` - 1 others."""

    kind: Literal["differential-privacy-under-sampling"] = "differential-privacy-under-sampling"
    k: Least
    delta: Chance
    beta: Annotated[Exact, Field(gt=0, lt=1)]
    """The probability with which a row was sampled."""
    epsilon_choice: Annotated[Exact, Field(ge=0)] | None = None

    def breaches(self, published: PublicRelease) -> Iterator[str]:
        """Groups of fewer rows."""
        groups = published.disclosure.groups
        columns = [c for c in published.table.columns if groups is None or c != groups.column]
        return claim_checks.size_breaches(published, columns, self.k)

    def contradictions(self, published: PublicRelease) -> Iterator[str]:
        """As above, or rows that were sampled otherwise."""
        yield from super().contradictions(published)
        if self.beta != published.disclosure.sampled:
            yield "rows were sampled with another probability than the one that it claims"


class ClampedSums(Value):
    """Numbers that were added up over the cells of a table, clamped to public bounds."""

    column: str
    """Whose they are."""
    low: str
    high: str
    """The bounds, as fractions."""
    parts: Least
    """Each number counts as its distance from the middle of the bounds, in so many parts of half
    of their width: what one row changes a sum by at most."""


class MeasuredTable(Value):
    """A table of counts with noise, or of sums."""

    columns: tuple[str, ...]
    """None of the table of a single cell, that counts all rows."""
    levels: tuple[Annotated[int, Field(ge=0)], ...] | None = None
    """Of each column, above its cells; None: all columns by their cells."""
    cells: Least
    noise: str
    """A fraction: the variance of Gaussian noise, or the scale of Laplace noise."""
    sums: ClampedSums | None = None
    """Of what, in whose parts ``noise`` is; None: rows were counted."""


class PrivateFlows(PrivacyClaim):
    """Counts of trips and passages, with noise that hides a vehicle."""

    kind: Literal["differentially-private-flows"] = "differentially-private-flows"
    trips: Least
    """Of a vehicle, that count."""
    passages: Least | None = None
    """Of roads in an hour, of a trip, that count; None: roads are not counted."""
    cells: Least
    """All of which are published, also those that count nothing."""
    tables: Annotated[tuple[MeasuredTable, ...], Field(min_length=1)]
    """That were measured; cells follow from them."""
    rho: ClassVar[None] = None
    """Noise is Laplace."""

    def breaches(self, published: PublicRelease) -> Iterator[str]:
        """Measurements that are not those of its tables, or cells that do not follow from them."""
        return consistent_cells.flow_breaches(published, self)

    def contradictions(self, published: PublicRelease) -> Iterator[str]:
        """Budgets of another sum."""
        return claim_checks.budget_breaches(self)


class SynthesizedPrivately(PrivacyClaim):
    """Rows that are made up from tables of counts with noise."""

    kind: Literal["differentially-private-synthesis"] = "differentially-private-synthesis"
    rho: str | None = None
    """A fraction: the price in zero-concentrated privacy, of which epsilon is that at delta; None:
    epsilon alone, by Laplace noise."""
    tables: Annotated[tuple[MeasuredTable, ...], Field(min_length=1)]
    searched: tuple[MeasuredTable, ...] = ()
    """By which bounds of numbers were found; their counts are not published."""
    confidence: Annotated[float, Field(gt=0, lt=1)] | None = None
    """Of intervals of answers, where nobody asks for another; None: 0.95."""

    @property
    def unseen(self) -> tuple[str, ...]:
        """What noise was drawn, and that rows are made of nothing else."""
        return (*super().unseen, "that rows are made of the measurements and of nothing else")

    def breaches(self, published: PublicRelease) -> Iterator[str]:
        """Measurements that are not those of its tables, or cost more than it says."""
        return consistent_cells.synthesis_breaches(published, self)


class CountedPrivately(PrivacyClaim):
    """Tables of counts and sums with noise, made consistent with each other."""

    kind: Literal["differentially-private-tables"] = "differentially-private-tables"
    rho: str | None = None
    """As of synthesis."""
    tables: Annotated[tuple[MeasuredTable, ...], Field(min_length=1)]
    """All of which are published."""
    searched: tuple[MeasuredTable, ...] = ()
    """As of synthesis."""

    def breaches(self, published: PublicRelease) -> Iterator[str]:
        """Measurements that are not those of its tables, or cells that do not follow from them."""
        return consistent_cells.table_breaches(published, self)


class IndistinguishabilityWithinClusters(Claim):
    """Values of one cluster are hard to tell apart, for those who know the clusters."""

    kind: Literal["indistinguishability-within-clusters"] = "indistinguishability-within-clusters"
    epsilon: Budget
    within: Literal["clusters"]
    rows_per_person: Least | None = None
    """As above."""

    @property
    def unseen(self) -> tuple[str, ...]:
        """All of it."""
        return ("that noise was drawn from the stated distribution",)

    def breaches(self, published: PublicRelease) -> Iterator[str]:
        """No output shows any."""
        del published
        return iter(())


class PermutationWithinClusters(Claim):
    """Each distinct arrangement of the permuted columns within clusters is equally likely."""

    kind: Literal["permutation-within-clusters"] = "permutation-within-clusters"
    clusters: Least
    permuted: Annotated[tuple[str, ...], Field(min_length=1)]
    log_arrangements: float
    """Natural logarithm of the number of arrangements."""
    sizes: tuple[Least, ...] | None = None
    """Rows of each cluster, in the order of their numbers; None: not stated."""
    unit: Literal["person", "household"] | None = None
    """Of whom each cluster has rows of two or more; None: each row is another person."""

    @property
    def unseen(self) -> tuple[str, ...]:
        """That values were permuted, and of whom the rows are."""
        return (*unseen_unit(self.unit), "that values were permuted at random")

    def breaches(self, published: PublicRelease) -> Iterator[str]:
        """Clusters or arrangements that are others than it says."""
        return claim_checks.permutation_breaches(published, self)


class ZoneEpsilons(Value):
    """The epsilons of several zones."""

    epsilons: tuple[tuple[float, ...], ...]
    """By level and radius, per metre."""
    by: Literal["published", "true"]
    """Whose zone counts: that of the last published position, or that of the true one."""


class Costliest(Value):
    """The published trip that cost most."""

    reports: Least
    epsilon: Annotated[float, Field(ge=0)]


class CostliestVehicle(Costliest):
    """The vehicle whose trips cost most together."""

    days: Least | None = None
    """On end, within which it began them; None: all of the release."""


class _PlanarClaim(Claim):
    """Places near each other are hard to tell apart."""

    mechanism: str
    """In words; the distribution stands in the disclosure of the positions."""
    per: Literal["metre"]
    epsilon: Annotated[float, Field(gt=0)]
    """The largest of all zones."""
    zones: ZoneEpsilons | None = None
    """Where there are several."""
    distance: Annotated[float, Field(gt=0)]
    """Metres between trajectories of which the cost of a trip speaks."""
    tau: float | None = None
    delta: float | None = None
    differences: Literal["any", "shifted"] | None = None
    mu_per_metre: float | None = None
    deviation: float | None = None
    kappa: float | None = None
    trajectory: bool
    """Whether trajectories are protected, and not only single reports."""
    costliest_trip: Costliest | None = None
    costliest_vehicle: CostliestVehicle | None = None
    costliest_fleet: Costliest | None = None
    """All trips of the release, where vehicles of a fleet have noise in common: no fleet costs
    more."""

    @property
    def unseen(self) -> tuple[str, ...]:
        """That positions were moved, and what trips spent."""
        return ("that positions were moved by the stated noise", "what trips and vehicles spent")

    def breaches(self, published: PublicRelease) -> Iterator[str]:
        """A promise for trajectories that cannot hold, or a costliest trip that is not there."""
        return claim_checks.moved_breaches(
            published,
            protects_trajectories=self.trajectory,
            within_zones=isinstance(self, WithinZones),
            reports=self.costliest_trip.reports if self.costliest_trip else None,
        )

    def contradictions(self, published: PublicRelease) -> Iterator[str]:
        """Zones whose noise has a larger epsilon."""
        return claim_checks.zone_breaches(published, self.epsilon)


class GeoIndistinguishabilityClaim(_PlanarClaim):
    """Wherever they are."""

    kind: Literal["geo-indistinguishability"] = "geo-indistinguishability"


class WithinZones(_PlanarClaim):
    """Within one zone alone, and no promise at the borders of zones."""

    kind: Literal["geo-indistinguishability-within-zones"] = "geo-indistinguishability-within-zones"
