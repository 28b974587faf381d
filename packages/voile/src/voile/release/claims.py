"""What releases promise: typed claims, each of which knows how it is measured on an output.

    ke-anonymity    everything, by counting pairs of group and value
    k-anonymity     k and l in full; t where all rows are published

Those that one method alone makes stand in ``method_claims``: other methods do not load them.

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
    "Budget",
    "Claim",
    "GroupClaim",
    "KAnonymityClaim",
    "KEAnonymityClaim",
    "PrivacyClaim",
    "StatedClaim",
    "StatedCloseness",
    "StatedDiversity",
    "UnknownClaim",
    "unseen_unit",
]


if TYPE_CHECKING:  # publishers need none of what reads rows
    from voile.release import claim_checks
else:
    claim_checks = on_demand("voile.release.claim_checks")


Budget = Annotated[Exact, Field(gt=0)]
"""An epsilon."""


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
        return tuple(unseen_unit(self.unit))

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
        found = [*unseen_unit(self.unit)]
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


def unseen_unit(unit: str | None) -> tuple[str, ...]:
    """What no output shows of a claim that counts rows of persons, or of households."""
    return () if unit is None else (f"of which {unit} a row is: rows were counted",)


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
        "ranking": "voile.release.method_claims:RankingClaim",
        "differential-privacy": "voile.release.method_claims:DifferentialPrivacy",
        "differential-privacy-under-sampling": "voile.release.method_claims:SampledGeneralization",
        "differentially-private-synthesis": "voile.release.method_claims:SynthesizedPrivately",
        "differentially-private-tables": "voile.release.method_claims:CountedPrivately",
        "differentially-private-flows": "voile.release.method_claims:PrivateFlows",
        "indistinguishability-within-clusters": (
            "voile.release.method_claims:IndistinguishabilityWithinClusters"
        ),
        "cell-suppression": "voile.tabular.claims:SuppressedCells",
        "cell-key": "voile.tabular.claims:PerturbedCounts",
        "controlled-rounding": "voile.tabular.claims:ControlledRounding",
        "controlled-adjustment": "voile.tabular.claims:ControlledAdjustment",
        "permutation-within-clusters": "voile.release.method_claims:PermutationWithinClusters",
        "local-suppression": "voile.release.method_claims:MatchedRows",
        "noise": "voile.release.method_claims:NoiseOfSurvey",
        "pram": "voile.release.method_claims:RedrawnValues",
        "rank-swapping": "voile.release.method_claims:SwappedRanks",
        "record-swapping": "voile.release.method_claims:SwappedRecords",
        "shuffling": "voile.release.method_claims:ShuffledValues",
        "microaggregation": "voile.release.method_claims:MicroaggregatedRows",
        "geo-indistinguishability": "voile.release.method_claims:GeoIndistinguishabilityClaim",
        "geo-indistinguishability-within-zones": "voile.release.method_claims:WithinZones",
    },
    offers=("model_fields", "breaches", "contradictions", "unseen"),
)
StatedClaim = Annotated[Claim, ByKind(CLAIMS)]
"""A claim of one of the kinds of the registry."""
