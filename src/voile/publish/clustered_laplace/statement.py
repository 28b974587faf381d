"""The guarantee of clustered Laplace noise in words."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from voile.publish.clustered_laplace.decision import NoisyColumn
from voile.release.claims import DifferentialPrivacy, IndistinguishabilityWithinClusters
from voile.release.release import Guarantee
from voile.schema.numbers import plain_text

__all__ = ["formal_guarantee", "guarantee_within_clusters"]

_COMMON = (
    "each person is one row, and no other published data is derived from the same rows",
    "that a person is in the table is not hidden, nor is the number of rows",
    "columns published as they are tell nothing about the perturbed ones",
)


def formal_guarantee(epsilon: Decimal, columns: Sequence[NoisyColumn]) -> Guarantee:
    """With public bounds: differential privacy of each row's perturbed values."""
    budget = plain_text(epsilon)
    statement = (
        f"{budget}-differentially private for {_named(columns)}: replacing the values of one row "
        "by any others within the public bounds changes the probability of every possible release "
        f"by a factor of at most e^{budget}"
    )
    claim = DifferentialPrivacy(
        epsilon=epsilon,
        neighbours="replace",
        budget={
            column.column: {event.mechanism: event.epsilon for event in column.events}
            for column in columns
        },
    )
    assumes = (
        *_COMMON,
        "the bounds in the plan are public facts; values outside them count as the nearest bound",
    )
    return Guarantee((claim,), statement, assumes)


def guarantee_within_clusters(epsilon: Decimal, columns: Sequence[NoisyColumn]) -> Guarantee:
    """With clusters taken from the data, as in the seed: what holds is much less."""
    statement = (
        f"each value of {_named(columns)} is {plain_text(epsilon)}-indistinguishable from every "
        "other value of its own cluster, for an adversary who knows the clusters and who is in "
        "which. This is NOT differential privacy: the borders and ranges of the clusters, and who "
        "is in which, come from the data without protection, so one row can change the noise of "
        "many"
    )
    claim = IndistinguishabilityWithinClusters(epsilon=epsilon, within="clusters")
    assumes = (*_COMMON, "the range of each cluster, and who is in it, are known to everybody")
    return Guarantee((claim,), statement, assumes)


def _named(columns: Sequence[NoisyColumn]) -> str:
    return " and ".join(repr(column.column) for column in columns)
