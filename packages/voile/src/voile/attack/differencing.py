"""The differencing adversary: who is exposed when releases of one table are compared.

What it does: from the published files of a release and of any number of earlier ones, infers
which sensitive values each person can have, and reports everybody for whom fewer than k distinct
values or a range below e are left.

Source: Definition 5 of "An incremental privacy-preservation algorithm for the (k, e)-Anonymous
model" (2015) compares one block of an old release with one of the new; this adversary also
subtracts several blocks at once, over any number of releases.

Claim: the values named for a person include the true one, provided that the stated assumption
about what happened between the releases holds; see ``inference``.  The strongest assumption that
the files do not contradict is taken, and named in the result.  If each value stands in one group
of each release (groups that are ranges) and everybody's quasi-identifiers are unique, the values
named are exactly those of the tables consistent with the files; elsewhere there may be fewer than
named.

Adversary: has the published files and the parameters k and e, and knows people by their
quasi-identifiers.  He does not reason from the method's choice of groups, nor from the order of
the rows, nor from who had to wait in a series, which ``minimality`` does; where that tells
something, the result says that it was not tried.

Algorithm: see ``cells``.  Cost: O(R n log n) for R releases of n rows whose people are mostly
told apart by what is published about them.

Departure from the source: unions of blocks, more than two releases, people who left.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from voile.attack.evidence import gather
from voile.attack.exposure import exposure
from voile.attack.inference import infer
from voile.attack.result import AttackResult
from voile.release.claims import KEAnonymityClaim
from voile.release.release import Release
from voile.schema.numbers import ExactNumbers, decimals_of, units_of
from voile_base.errors import InputError

__all__ = ["DifferencingAttack", "permutes_sensitive"]

_WAITING = (
    "an adversary who reasons from which rows were held back: they wait as long as they have, "
    "together, fewer than k values or a range below e, so whoever finds out who waited, and until "
    "when, may narrow values down further than this"
)
_ALWAYS_ASSUMED = "values are permuted only within the groups of a release"


@dataclass(frozen=True)
class DifferencingAttack:
    """An adversary who compares releases.

    Raises ``InputError`` for a ``k`` below 1, an ``e`` that is negative or no finite number, or a
    negative ``most``.
    """

    k: int | None = None
    """Fewer distinct values than this expose; None: what the newest release guarantees."""
    e: Decimal | None = None
    """A range below this exposes; None: what the newest release guarantees."""
    most: int | None = 10
    """How many victims to describe, the worst first; None for all."""

    def __post_init__(self) -> None:
        if self.k is not None and self.k < 1:
            msg = "k must be at least 1: it is how many distinct values must be left"
            raise InputError(msg)
        if self.e is not None and not (self.e.is_finite() and self.e >= 0):
            msg = "e must be a number of at least 0: it is the range that must be left"
            raise InputError(msg)
        if self.most is not None and self.most < 0:
            msg = "the number of victims to describe must not be negative"
            raise InputError(msg)

    def run(
        self,
        new: Release,
        previous: Sequence[Release] = (),
        names: Sequence[str] | None = None,
    ) -> AttackResult:
        """Attack a release, given earlier ones in any order.

        ``names`` are those of the new and of the previous releases, for people; made up if None.
        Raises ``TableError`` where a release has no groups, or not the same columns.
        """
        names = names or _names(new, previous)
        k, e = self._terms(new, names[0])
        evidence = gather([new, *previous], names)
        units = _least_units(e, evidence.levels)
        inference = infer(evidence)
        found = exposure(inference, k, units)
        alone = exposure(infer(evidence.only(evidence.releases[:1])), k, units)
        return AttackResult(
            releases=tuple(release.name for release in inference.evidence.releases),
            sensitive=evidence.sensitive,
            k=k,
            e=e,
            people=found.everybody,
            exposed=found.exposed,
            exposed_alone=alone.exposed,
            victims=found.victims(self.most),
            assumptions=(_ALWAYS_ASSUMED, *inference.assumptions),
            notes=inference.notes,
            untried=(_WAITING,) if _holds_rows_back(new) else (),
            chance=found.chance,
        )

    def _terms(self, new: Release, name: str) -> tuple[int, Decimal]:
        """The k and e that were asked for, or else those of the release's guarantee."""
        promised = next((c for c in new.guarantee.claims if isinstance(c, KEAnonymityClaim)), None)
        k = promised.k if self.k is None and promised else self.k
        e = promised.e if self.e is None and promised else self.e
        if k is None or e is None:
            msg = f"{name}: its guarantee names no k and e; say which to hold it to, with k and e"
            raise InputError(msg)
        return k, e


def permutes_sensitive(release: Release) -> bool:
    """Whether a release permutes its sensitive columns within groups, which can be compared."""
    owners = map(release.disclosure.owner, release.roles.get("sensitive", ()))
    shown = [release.disclosure.columns[name] for name in owners if name is not None]
    return bool(shown) and all(one.permuted for one in shown)


def _holds_rows_back(release: Release) -> bool:
    """Whether it is of a series in which rows wait until they are valid, which tells about them."""
    waits = release.guarantee.parameters.get("adversary") == "union"
    batch = release.method.get("batch", "until-valid")
    return release.series is not None and waits and batch == "until-valid"


def _names(new: Release, previous: Sequence[Release]) -> list[str]:
    def named(release: Release, otherwise: str) -> str:
        place = release.series
        return f"{place.name} {place.version}" if place else otherwise

    earlier = [named(release, f"previous {i}") for i, release in enumerate(previous, 1)]
    return [named(new, "new"), *earlier]


def _least_units(e: Decimal, levels: ExactNumbers) -> int:
    """The smallest range in the units of the values that is not below e."""
    scale = max(levels.scale, decimals_of(e))
    factor: int = 10 ** (scale - levels.scale)
    return -(-units_of(e, scale) // factor)
