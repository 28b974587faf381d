"""What releases promise: typed claims, each of which knows how it is measured on an output.

    ke-anonymity                           everything, by counting pairs of group and value
    k-anonymity                            k and l in full; t where all rows are published
    ranking                                the same, of groups that share ranking attributes too;
                                           precision counts rows that are not published
    differential-privacy                   nothing: it is priced from the events that happened
    differential-privacy-under-sampling    that all published columns are shared by k rows
    differentially-private-flows           that all cells are there once, with the stated intervals
    indistinguishability-within-clusters   nothing
    permutation-within-clusters            clusters, and the number of arrangements
    geo-indistinguishability               that nothing but a single report is promised where angles
                                           were selected or zones are those of true positions
    ... -within-zones                      the same

A claim whose numbers cannot be true cannot be made.  Another package's claim is a subclass of
``Claim``; read back from a release it is ``Stated``, which nobody here can measure.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, ClassVar, Literal, Union, get_args

from pydantic import Field

from voile.dp.events import Neighbours
from voile.errors import TableError
from voile.release.group_terms import Chance, Closeness, Diversity, GroupTerms, Least
from voile.release.published import Published
from voile.values.value import Exact, Value, read

__all__ = [
    "Claim",
    "Closeness",
    "Costliest",
    "DifferentialPrivacy",
    "Diversity",
    "GeoIndistinguishability",
    "GroupClaim",
    "IndistinguishabilityWithinClusters",
    "KAnonymity",
    "KEAnonymity",
    "PermutationWithinClusters",
    "PlanarClaim",
    "PrivacyClaim",
    "PrivateFlows",
    "Ranking",
    "SampledGeneralization",
    "Stated",
    "WithinZones",
    "ZoneEpsilons",
    "claim_kinds",
    "claim_of",
]

Budget = Annotated[Exact, Field(gt=0)]


class Claim(Value):
    """A promise about everybody in a release."""

    kind: str
    """The model, such as "ke-anonymity"."""

    @abstractmethod
    def breaches(self, published: Published) -> Iterator[str]:
        """What an output shows that the claim does not hold, in sentences; nothing where it may."""

    @property
    def unseen(self) -> tuple[str, ...]:
        """What of the claim no output shows, a clause each; empty where all of it is recounted."""
        return ()


class KEAnonymity(Claim):
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
        """Whose the values are, and what the releases of a series tell together."""
        together = "what this release tells beside earlier ones of its series"
        return (*_of_unit(self.unit), *([together] if self.adversary else []))

    def breaches(self, published: Published) -> Iterator[str]:
        """Groups that fall short."""
        from voile.release.group_checks import ke_breaches  # noqa: PLC0415 - publishers need none

        return ke_breaches(published, self.k, self.e)


class GroupClaim(GroupTerms, Claim):
    """Rows share what they show with at least ``k`` - 1 others, or rows of as many persons."""

    def breaches(self, published: Published) -> Iterator[str]:
        """Groups that break k, l, t or a further criterion; of persons, what rows can show of it.

        Those that compare groups with all rows of the table only where all rows are published.
        """
        from voile.release.group_checks import group_breaches  # noqa: PLC0415 - publishers need none

        return group_breaches(published, self)

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


class KAnonymity(GroupClaim):
    """Rows share their quasi-identifiers."""

    kind: Literal["k-anonymity"] = "k-anonymity"


class Ranking(GroupClaim):
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

    def breaches(self, published: Published) -> Iterator[str]:
        """No output shows any."""
        del published
        return iter(())


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

    def breaches(self, published: Published) -> Iterator[str]:
        """Groups of fewer rows."""
        from voile.release.group_checks import size_breaches  # noqa: PLC0415 - publishers need none

        groups = published.disclosure.groups
        columns = [c for c in published.table.columns if groups is None or c != groups.column]
        return size_breaches(published, columns, self.k)


class PrivateFlows(PrivacyClaim):
    """Counts of trips and passages, with noise that hides a vehicle."""

    kind: Literal["differentially-private-flows"] = "differentially-private-flows"
    trips: Least
    """Of a vehicle, that count."""
    passages: Least | None = None
    """Of roads in an hour, of a trip, that count; None: roads are not counted."""
    cells: Least
    """All of which are published, also those that count nothing."""

    def breaches(self, published: Published) -> Iterator[str]:
        """Cells that are missing or twice there, and intervals that are not those of the noise."""
        from voile.release.claim_checks import flow_breaches  # noqa: PLC0415 - publishers need none

        return flow_breaches(published, self.cells)


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

    def breaches(self, published: Published) -> Iterator[str]:
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

    def breaches(self, published: Published) -> Iterator[str]:
        """Clusters or arrangements that are others than it says."""
        from voile.release.claim_checks import permutation_breaches  # noqa: PLC0415 - as above

        return permutation_breaches(published, self)


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


class PlanarClaim(Claim):
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

    def breaches(self, published: Published) -> Iterator[str]:
        """A promise for trajectories that cannot hold, or a costliest trip that is not there."""
        from voile.release.claim_checks import moved_breaches  # noqa: PLC0415 - as above

        return moved_breaches(
            published,
            protects_trajectories=self.trajectory,
            within_zones=isinstance(self, WithinZones),
            reports=self.costliest_trip.reports if self.costliest_trip else None,
        )


class GeoIndistinguishability(PlanarClaim):
    """Wherever they are."""

    kind: Literal["geo-indistinguishability"] = "geo-indistinguishability"


class WithinZones(PlanarClaim):
    """Within one zone alone, and no promise at the borders of zones."""

    kind: Literal["geo-indistinguishability-within-zones"] = "geo-indistinguishability-within-zones"


class Stated(Claim):
    """A claim in words that nobody here can measure."""

    parameters: Mapping[str, Any]

    def document(self) -> dict[str, Any]:
        """The claim as it was read."""
        return {"kind": self.kind, **self.parameters}

    def breaches(self, published: Published) -> Iterator[str]:
        """Nothing is waved through."""
        del published
        yield f"there is no check for guarantees of kind {self.kind!r}"


_Known = Annotated[
    Union[  # noqa: UP007 - read with one more member a line
        KEAnonymity,
        KAnonymity,
        Ranking,
        DifferentialPrivacy,
        SampledGeneralization,
        PrivateFlows,
        IndistinguishabilityWithinClusters,
        PermutationWithinClusters,
        GeoIndistinguishability,
        WithinZones,
    ],
    Field(discriminator="kind"),
]
_KINDS = {member.model_fields["kind"].default for member in get_args(get_args(_Known)[0])}


def claim_kinds() -> tuple[str, ...]:
    """The kinds of claims that this version can measure."""
    return tuple(sorted(_KINDS))


def claim_of(document: Mapping[str, Any], where: str) -> Claim:
    """The claim that a release states; raises ``TableError`` where it cannot be one."""
    kind = document["kind"]
    if kind not in _KINDS:
        return Stated(
            kind=kind, parameters={name: document[name] for name in document if name != "kind"}
        )
    claim: Claim = read(_Known, document, where, TableError, public=True)
    return claim
