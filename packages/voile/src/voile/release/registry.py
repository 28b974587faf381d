"""The claims of releases, by the kinds that documents give them.

Another package adds a claim by an entry point of the group ``voile.claims``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from voile.release.claims import Claim, UnknownClaim
from voile_base.errors import TableError
from voile_base.registry import Registry
from voile_base.values.kinds import ByKind
from voile_base.values.value import read

__all__ = ["CLAIMS", "StatedClaim", "claim_of"]

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
        "differentially-private-flows": "voile.release.claims:PrivateFlows",
        "indistinguishability-within-clusters": (
            "voile.release.claims:IndistinguishabilityWithinClusters"
        ),
        "cell-suppression": "voile.tabular.claims:SuppressedCells",
        "permutation-within-clusters": "voile.release.claims:PermutationWithinClusters",
        "geo-indistinguishability": "voile.release.claims:GeoIndistinguishabilityClaim",
        "geo-indistinguishability-within-zones": "voile.release.claims:WithinZones",
    },
    offers=("model_fields", "breaches", "contradictions", "unseen"),
)
StatedClaim = Annotated[Claim, ByKind(CLAIMS)]
"""A claim of one of the kinds of the registry."""


def claim_of(document: Mapping[str, Any], where: str) -> Claim:
    """The claim that a release states; raises ``TableError`` where it cannot be one."""
    kind = document["kind"]
    if kind not in CLAIMS:
        parameters = {name: document[name] for name in document if name != "kind"}
        return UnknownClaim(kind=kind, parameters=parameters)
    claim: Claim = read(StatedClaim, document, where, TableError, public=True)
    return claim
