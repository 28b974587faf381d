"""The guarantee of differentially private generalization in words."""

from __future__ import annotations

from decimal import Decimal

from voile.dp.events import PrivacyEvent
from voile.publish.dp_generalization.budget import SplitBudget
from voile.publish.dp_generalization.decision import Choice
from voile.release.claims import SampledGeneralization
from voile.release.release import Guarantee
from voile.schema.numbers import plain_text

__all__ = ["events_of", "guarantee", "nothing_published", "total_delta"]

_ASSUMES = (
    "each person is one row, and no other published data is derived from the same rows",
    "hierarchies, bounds, k, beta and the budget were chosen without looking at the rows",
    "nobody but the custodian learns which rows were sampled, or what a release would have been "
    "that was not published",
)


def total_delta(split: SplitBudget, choice: Choice, nodes: int) -> Decimal:
    """Delta of the whole release.

    A node chosen on the very sample that is published may favour groups of which chance sampled
    too many; the sum over all nodes bounds what that can do.
    """
    return split.delta if choice == "expected" else min(Decimal(1), split.delta * nodes)


def events_of(split: SplitBudget, choice: Choice, nodes: int) -> tuple[PrivacyEvent, ...]:
    """What the release spends."""
    delta = total_delta(split, choice, nodes)
    if choice == "sampled":
        return (PrivacyEvent("sampled-generalization", split.epsilon, delta),)
    return (
        PrivacyEvent("exponential", split.choice),
        PrivacyEvent("sampled-generalization", split.excess, delta),
    )


def guarantee(k: int, beta: Decimal, split: SplitBudget, choice: Choice, nodes: int) -> Guarantee:
    """What a release promises, its node being one of ``nodes``."""
    delta = total_delta(split, choice, nodes)
    how = (
        f"each row is published with probability {plain_text(beta)} at most, generalized by a node "
        f"that was drawn with a budget of {plain_text(split.choice)}, and only where at least {k} "
        "published rows share all their published values"
    )
    epsilon = plain_text(split.epsilon)
    promise = f"({epsilon}, {delta:.3g})-differentially private for one row more or less"
    if choice == "sampled":
        promise += (
            f" (the source claims delta = {split.delta:.3g}; its proof lets the node be chosen "
            f"without the sample, and a sum over {nodes:,} nodes is what holds)"
        )
    claim = SampledGeneralization(
        k=k,
        epsilon=split.epsilon,
        delta=delta,
        beta=beta,
        epsilon_choice=split.choice,
        neighbours="add-remove",
    )
    return Guarantee((claim,), f"{promise}: {how}", _ASSUMES)


def nothing_published(k: int, split: SplitBudget, choice: Choice, nodes: int) -> str:
    """Why there is no release, what would help, and what it has cost to learn that."""
    delta = total_delta(split, choice, nodes)
    return (
        f"no release was found: the node that was drawn leaves no group of {k} sampled rows. "
        "Lower k, raise the budget of the choice, or give the columns hierarchies with a level "
        "at which more rows agree; columns without one (and those with other roles than "
        "quasi-identifier) stay as they are. Whether there is a release tells about the rows: "
        f"this attempt spent epsilon = {plain_text(split.epsilon)} and delta = {delta:.3g}, as a "
        "release does, and each repetition spends as much again"
    )
