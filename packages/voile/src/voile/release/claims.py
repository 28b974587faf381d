"""What releases promise: typed claims, each of which knows how it is measured on an output.

    ke-anonymity                           everything, by counting pairs of group and value
    k-anonymity                            k and l in full; t where all rows are published
    ranking                                the same, of groups that share ranking attributes too;
                                           precision counts rows that are not published
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

A claim whose numbers cannot be true cannot be made.  Another package's claim is a subclass of
``Claim`` that it announces by an entry point of the group ``voile.claims``: it is read back and
measured again where the package is installed.  Elsewhere it is an ``UnknownClaim``, which is
recounted by nobody and passes no check.

The claims of releases, by the kinds that documents give them.

Another package adds a claim by an entry point of the group ``voile.claims``.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

from pydantic import Field

from voile.dp.accounting import Neighbours
from voile.release.claim_checks import (
    Chance,
    GroupTerms,
    Least,
    PublicRelease,
    StatedCloseness,
    StatedDiversity,
)
from voile_base.errors import TableError
from voile_base.ondemand import on_demand
from voile_base.registry import Registry
from voile_base.values import Document, Json
from voile_base.values.value import ByKind, Exact, Value, read

__all__ = [
    "CLAIMS",
    "Claim",
    "ClampedSums",
    "Costliest",
    "CountedPrivately",
    "DifferentialPrivacy",
    "GeoIndistinguishabilityClaim",
    "GroupClaim",
    "IndistinguishabilityWithinClusters",
    "KAnonymityClaim",
    "KEAnonymityClaim",
    "MeasuredTable",
    "PermutationWithinClusters",
    "PrivacyClaim",
    "PrivateFlows",
    "RankingClaim",
    "SampledGeneralization",
    "StatedClaim",
    "StatedCloseness",
    "StatedDiversity",
    "SynthesizedPrivately",
    "UnknownClaim",
    "WithinZones",
    "ZoneEpsilons",
]


if TYPE_CHECKING:  # publishers need none of what reads rows
    from voile.release import claim_checks, consistent_cells
else:
    claim_checks = on_demand("voile.release.claim_checks")
    consistent_cells = on_demand("voile.release.consistent_cells")


Budget = Annotated[Exact, Field(gt=0)]


class Claim(Value):
    """A promise about everybody in a release."""

    kind: str
    """The model, such as "ke-anonymity", by which a claim is registered."""
    wording: ClassVar[Document | None] = None
    """The sentences that releases with a claim of another package state, and what they assume: an
    entry of ``promises`` as ``browser/wording.json`` has them."""

    @abstractmethod
    def breaches(self, published: PublicRelease) -> Iterator[str]:
        """What an output shows that the claim does not hold, in sentences; nothing where it may."""

    def contradictions(self, published: PublicRelease) -> Iterator[str]:
        """What else of a release speaks against the claim: prices, and what its method states.

        Asked when a release is recounted, after ``breaches``.
        """
        del published
        return iter(())

    @property
    def unseen(self) -> tuple[str, ...]:
        """What of the claim no output shows, a clause each; empty where all of it is recounted."""
        return ()

    @staticmethod
    def of(document: Document, where: str) -> Claim:
        """The claim that a release states; raises ``TableError`` where it cannot be one."""
        kind = document["kind"]
        if kind not in CLAIMS:
            parameters = {name: document[name] for name in document if name != "kind"}
            return UnknownClaim(kind=kind, parameters=parameters)
        claim: Claim = read(StatedClaim, document, where, TableError, public=True)
        return claim


class KEAnonymityClaim(Claim):
    """At least ``k`` distinct sensitive values in each group, and a range of at least ``e``."""

    kind: Literal["ke-anonymity"] = "ke-anonymity"
    k: Least
    e: Annotated[Exact, Field(ge=0)]
    adversary: Literal["union", "pairwise"] | None = None
    """Of a series: who compares its releases."""
    unit: Literal["person", "household"] | None = None
    """Whose values are different, where they may have several rows; None: those of rows."""

    @property
    def unseen(self) -> tuple[str, ...]:
        """Whose the values are."""
        return tuple(_of_unit(self.unit))

    def breaches(self, published: PublicRelease) -> Iterator[str]:
        """Groups that fall short."""
        return claim_checks.ke_breaches(published, self.k, self.e)


class GroupClaim(GroupTerms, Claim):
    """Rows share what they show with at least ``k`` - 1 others, or rows of as many persons."""

    def breaches(self, published: PublicRelease) -> Iterator[str]:
        """Groups that break k, l, t or a further criterion; of persons, what rows can show of it.

        Those that compare groups with all rows of the table only where all rows are published.
        """
        return claim_checks.group_breaches(published, self)

    @property
    def unseen(self) -> tuple[str, ...]:
        """Of whom the rows are, and what is compared with rows that are not published."""
        found = [*_of_unit(self.unit)]
        if self.suppression_limit:
            found.append("how many rows were left out")
        hidden = self.suppression_limit or self.unit or (self.t and self.t.kind == "hierarchical")
        if self.t is not None and hidden:
            found.append("t-closeness, which compares with rows or a hierarchy not published")
        if self.unit is not None and self.criteria:
            found.append("further criteria, which count persons")
        return tuple(found)


class KAnonymityClaim(GroupClaim):
    """Rows share their quasi-identifiers."""

    kind: Literal["k-anonymity"] = "k-anonymity"


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


class PrivacyClaim(Claim):
    """Neighbouring tables give every release with nearly the same probability."""

    epsilon: Budget
    delta: Chance | None = None
    neighbours: Neighbours
    rows_per_person: Least | None = None
    """Of a person, or of a household, that take part at most; None: each person is one row."""
    budget: Mapping[str, Mapping[str, Exact]] | None = None
    """What each mechanism spends on each column."""

    @property
    def unseen(self) -> tuple[str, ...]:
        """That noise and samples were drawn as stated."""
        return ("differential privacy, a property of the draws: its ledger has what was spent",)

    def breaches(self, published: PublicRelease) -> Iterator[str]:
        """No output shows any."""
        del published
        return iter(())

    def contradictions(self, published: PublicRelease) -> Iterator[str]:
        """Noise that is too little for epsilon, or budgets of another sum."""
        yield from claim_checks.scale_breaches(published, self)
        yield from claim_checks.budget_breaches(self)


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
        return (*_of_unit(self.unit), "that values were permuted at random")

    def breaches(self, published: PublicRelease) -> Iterator[str]:
        """Clusters or arrangements that are others than it says."""
        return claim_checks.permutation_breaches(published, self)


def _of_unit(unit: str | None) -> tuple[str, ...]:
    return () if unit is None else (f"of which {unit} a row is: rows were counted",)


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


class UnknownClaim(Claim):
    """A claim of a kind that nothing installed adds: stated, and never measured."""

    parameters: Document

    def document(self) -> Json:
        """The claim as it was read."""
        return {"kind": self.kind, **self.parameters}

    def breaches(self, published: PublicRelease) -> Iterator[str]:
        """Nothing is waved through."""
        del published
        yield f"there is no check for guarantees of kind {self.kind!r}"

    @property
    def unseen(self) -> tuple[str, ...]:
        """All of it."""
        return ("all of it: nothing that is installed knows such a claim",)


CLAIMS: Registry[Claim] = Registry(
    group="voile.claims",
    what="a claim",
    own={
        "ke-anonymity": "voile.release.claims:KEAnonymityClaim",
        "k-anonymity": "voile.release.claims:KAnonymityClaim",
        "ranking": "voile.release.claims:RankingClaim",
        "differential-privacy": "voile.release.claims:DifferentialPrivacy",
        "differential-privacy-under-sampling": "voile.release.claims:SampledGeneralization",
        "differentially-private-synthesis": "voile.release.claims:SynthesizedPrivately",
        "differentially-private-tables": "voile.release.claims:CountedPrivately",
        "differentially-private-flows": "voile.release.claims:PrivateFlows",
        "indistinguishability-within-clusters": (
            "voile.release.claims:IndistinguishabilityWithinClusters"
        ),
        "cell-suppression": "voile.tabular.claims:SuppressedCells",
        "cell-key": "voile.tabular.claims:PerturbedCounts",
        "controlled-rounding": "voile.tabular.claims:ControlledRounding",
        "controlled-adjustment": "voile.tabular.claims:ControlledAdjustment",
        "permutation-within-clusters": "voile.release.claims:PermutationWithinClusters",
        "local-suppression": "voile.release.microdata_claims:MatchedRows",
        "noise": "voile.release.microdata_claims:NoiseOfSurvey",
        "pram": "voile.release.microdata_claims:RedrawnValues",
        "rank-swapping": "voile.release.microdata_claims:SwappedRanks",
        "record-swapping": "voile.release.microdata_claims:SwappedRecords",
        "shuffling": "voile.release.microdata_claims:ShuffledValues",
        "microaggregation": "voile.release.microdata_claims:MicroaggregatedRows",
        "geo-indistinguishability": "voile.release.claims:GeoIndistinguishabilityClaim",
        "geo-indistinguishability-within-zones": "voile.release.claims:WithinZones",
    },
    offers=("model_fields", "breaches", "contradictions", "unseen"),
)
StatedClaim = Annotated[Claim, ByKind(CLAIMS)]
"""A claim of one of the kinds of the registry."""
