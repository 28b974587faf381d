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

From cells to people: whose candidate values are too few or too close together.

A person is known by quasi-identifiers.  The candidates of a person are the values of every cell
in which somebody with these quasi-identifiers can be; who of several people with the same
quasi-identifiers is meant, the adversary cannot know.

What a differencing adversary found: plain values, made from published files alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.attack.inference import Inference, SeenRelease, SeriesEvidence
from voile.attack.protocol import AttackOutcome, Estimate, Target
from voile.release.claims import KEAnonymityClaim
from voile.release.release import Release
from voile.schema.numbers import ExactNumbers, decimals_of, units_of, unscaled
from voile.table.alignment import Codes
from voile_base.errors import InputError
from voile_base.ondemand import dataclass
from voile_base.values import Document, Json

__all__ = ["AttackResult", "DifferencingAttack", "Narrowing", "Victim", "permutes_sensitive"]


@dataclass(frozen=True)
class _VictimPosition:
    """Where a victim stands in one release, as far as the adversary can tell."""

    release: str
    groups: tuple[int, ...]
    """The groups that may hold the victim, ascending; none if the victim is not in the release."""
    absent: bool
    """Whether the victim may be missing from the release."""
    subtracted: tuple[int, ...] = ()
    """For a release without the victim: its groups whose values were accounted for by others."""

    def sentence(self) -> str:
        """The place in words."""
        if not self.groups:
            others = f": {_groups(self.subtracted)} subtracted" if self.subtracted else ""
            return f"not in {self.release}{others}"
        doubt = ", or absent" if self.absent else ""
        return f"in {_groups(self.groups, 'or')} of {self.release}{doubt}"


@dataclass(frozen=True)
class Narrowing:
    """How narrow a set of values is."""

    distinct: int
    spread: Decimal
    """Largest minus smallest value."""

    @classmethod
    def of(cls, values: Sequence[Decimal]) -> Narrowing:
        """How narrow one or more distinct values are, given in ascending order."""
        ends = values[0], values[-1]
        scale = max(map(decimals_of, ends))
        low, high = (units_of(end, scale) for end in ends)  # Decimals subtract to 28 digits only
        return cls(len(values), unscaled(high - low, scale))

    def document(self) -> Json:
        """The narrowing for JSON; the range is text, so that no digit is lost."""
        return {"distinct": self.distinct, "range": format(self.spread, "f")}


@dataclass(frozen=True)
class Victim:
    """A person, known by quasi-identifiers, whose value is narrowed down too far."""

    quasi_identifiers: Document
    people: int
    """How many people have these quasi-identifiers; what follows is true of each of them."""
    values: tuple[Decimal, ...]
    """Every value that the person can have, distinct, ascending."""
    alone: Narrowing
    """What the newest release that shows the person leaves if nothing else is known."""
    places: tuple[_VictimPosition, ...]
    """Where the person stands in each release, newest first: the reason."""

    @property
    def left(self) -> Narrowing:
        """How narrow the values are."""
        return Narrowing.of(self.values)

    @property
    def reason(self) -> str:
        """Which groups were intersected and subtracted, in words."""
        return "; ".join(place.sentence() for place in self.places)

    def target(self) -> Target:
        """The person as a target whose values left are all equally likely."""
        return Target(self.quasi_identifiers, 1 / self.left.distinct)

    def document(self) -> Json:
        """The victim for JSON."""
        return {
            "quasi_identifiers": {name: _plain(v) for name, v in self.quasi_identifiers.items()},
            "people": self.people,
            "values": [format(value, "f") for value in self.values],
            **self.left.document(),
            "alone": self.alone.document(),
            "reason": self.reason,
        }


@dataclass(frozen=True)
class AttackResult:
    """Who is exposed by a release and the earlier ones it is compared with."""

    releases: tuple[str, ...]
    """Names of the releases that were used, newest first."""
    sensitive: str
    k: int
    e: Decimal
    people: int
    """People in all used releases together."""
    exposed: int
    """People left with fewer than ``k`` distinct values, or with a range below ``e``."""
    exposed_alone: int
    """People exposed by the newest release if nothing else is known."""
    victims: tuple[Victim, ...]
    """Fewest values first, then the smallest range; as many as were asked for."""
    assumptions: tuple[str, ...]
    """What must be true for the claims to be true."""
    notes: tuple[str, ...] = ()
    """What was found on the way: people or values that left, releases that could not be used."""
    untried: tuple[str, ...] = ()
    """Adversaries who were left out though they may learn more, as clauses."""
    chance: float = 0.0
    """Mean over all people of the chance to guess a value among those left, or somewhat more."""

    @property
    def share(self) -> float:
        """Share of the people who are exposed, between 0 and 1."""
        return self.exposed / self.people if self.people else 0.0

    @property
    def worst(self) -> Victim | None:
        """The person whose value is narrowed down furthest, if anybody is exposed."""
        return self.victims[0] if self.victims else None

    def document(self) -> Json:
        """The result for JSON."""
        return {
            "releases": list(self.releases),
            "sensitive": self.sensitive,
            "k": self.k,
            "e": format(self.e, "f"),
            "people": self.people,
            "exposed": self.exposed,
            "share": self.share,
            "exposed_alone": self.exposed_alone,
            "victims": [victim.document() for victim in self.victims],
            "assumptions": list(self.assumptions),
            "notes": list(self.notes),
            "untried": list(self.untried),
        }

    def outcome(self) -> AttackOutcome:
        """The result beside those of other attacks: its targets are all people of the releases.

        A success is a claim that follows from the published files, if what is assumed is true;
        nothing follows without them, so the baseline is 0.  Made from published files alone.
        """
        alone = f"{self.exposed_alone:,}" if self.exposed_alone else "nobody"
        compared = ", ".join(self.releases[1:]) or "no earlier release"
        return AttackOutcome(
            attack="differencing",
            goal=(
                f"fewer than {self.k:,} values of {self.sensitive!r} are possible for a person, "
                f"or they span less than {self.e:,f}"
            ),
            targets=self.people,
            checked=False,
            success=Estimate.of_total(self.exposed, self.people),
            probability=Estimate.of_total(self.chance * self.people, self.people),
            baseline=0.0,
            worst=self.worst.target() if self.worst else None,
            typical=None,
            assumptions=self.assumptions,
            notes=(
                f"compared with {compared}; the newest release alone exposes {alone}",
                *self.notes,
            ),
            untried=self.untried,
            drawn_from=self.people,
        )


def _groups(numbers: tuple[int, ...], last: str = "and") -> str:
    named = [str(number) for number in numbers]
    if len(named) == 1:
        return f"group {named[0]}"
    if len(named) > 6:
        return f"one of {len(named)} groups" if last == "or" else f"{len(named)} groups"
    return f"groups {', '.join(named[:-1])} {last} {named[-1]}"


def _plain(value: object) -> Any:
    return value if isinstance(value, str | int | float | bool | None) else str(value)


@dataclass(frozen=True, eq=False)
class _Exposure:
    """The exposed persons, worst first."""

    inference: Inference
    persons: Codes
    """Codes of the exposed persons: fewest distinct values first, then the smallest range."""
    people: Codes
    """How many people each of them stands for."""
    everybody: int
    """People in all releases together."""
    chance: float
    """Mean over all people of the chance to guess among the values left, or somewhat more: where a
    person is in one of several groups, the richest of them may stand for all."""
    _cells_of: _Grouped
    _values_of: _Grouped

    @property
    def exposed(self) -> int:
        """Number of exposed people."""
        return int(self.people.sum())

    def victims(self, most: int | None = None) -> tuple[Victim, ...]:
        """The worst victims, at most so many; None for all."""
        chosen = self.persons[:most]
        rows = self.inference.evidence.persons[chosen].to_dicts() if len(chosen) else []
        explain = _Explanation(self.inference)
        return tuple(
            Victim(
                quasi_identifiers=row,
                people=int(people),
                values=tuple(self._levels(self._values(cells)).decimals()),
                alone=explain.alone(cells),
                places=explain.places(cells),
            )
            for row, people, cells in zip(
                rows, self.people, map(self._cells_of.members, chosen), strict=False
            )
        )

    def _values(self, cells: Codes) -> Codes:
        return np.unique(np.concatenate([self._values_of.members(cell) for cell in cells]))

    def _levels(self, codes: Codes) -> ExactNumbers:
        return self.inference.evidence.levels[codes]


def _exposure(inference: Inference, k: int, e: int) -> _Exposure:
    """Find everybody left with fewer than k distinct values or a range below e, in units."""
    evidence, cells = inference.evidence, inference.cells
    persons = len(evidence.persons)
    values_of = _Grouped.of(cells.values.cell, cells.values.item, len(cells.trail))
    shown = cells.trail[cells.people.cell].any(axis=1)  # others are in releases not used
    tuples, cell = cells.people.item[shown], cells.people.cell[shown]
    cells_of = _Grouped.of(evidence.person[tuples], cell, persons)
    people = np.bincount(evidence.person, inference.tuple_rows, persons).astype(np.int64)
    present = np.flatnonzero(cells_of.sizes)
    distinct, spread = _narrowness(cells_of.only(present), values_of, evidence.levels, k)
    poor = np.flatnonzero((distinct < k) | (spread < e).astype(np.bool_))
    worst = poor[np.lexsort((present[poor], spread[poor], distinct[poor]))]
    return _Exposure(
        inference=inference,
        persons=present[worst],
        people=people[present[worst]],
        everybody=int(people.sum()),
        chance=float((people[present] / distinct).sum() / max(people.sum(), 1)),
        _cells_of=cells_of,
        _values_of=values_of,
    )


def _narrowness(
    cells_of: _Grouped, values_of: _Grouped, levels: ExactNumbers, k: int
) -> tuple[Codes, NDArray[np.object_] | Codes]:
    """Distinct values of each person, and their range in units.

    Where the range of a person with several cells is large, and one cell alone has k values, the
    distinct values are those of the richest cell: enough to know that the person is safe.
    """
    low = levels.units[values_of.member[values_of.start[:-1]]]
    high = levels.units[values_of.member[values_of.start[1:] - 1]]
    first, cell = cells_of.start[:-1], cells_of.member
    spread = np.maximum.reduceat(high[cell], first) - np.minimum.reduceat(low[cell], first)
    distinct = np.maximum.reduceat(values_of.sizes[cell], first)
    for person in np.flatnonzero((cells_of.sizes > 1) & (distinct < k)).tolist():
        union = [values_of.members(one) for one in cells_of.members(person)]
        distinct[person] = len(np.unique(np.concatenate(union)))
    return distinct, spread


@dataclass(frozen=True, eq=False)
class _Grouped:
    """Distinct members of each of n owners, ascending; ``start`` is (n + 1,)."""

    member: Codes
    start: Codes

    @classmethod
    def of(cls, owner: Codes, member: Codes, owners: int) -> _Grouped:
        width = int(member.max(initial=0)) + 1
        pairs = np.unique(owner * width + member)
        return cls(pairs % width, np.searchsorted(pairs // width, np.arange(owners + 1)))

    @property
    def sizes(self) -> Codes:
        return np.diff(self.start)

    def members(self, owner: int) -> Codes:
        return self.member[self.start[owner] : self.start[owner + 1]]

    def only(self, owners: Codes) -> _Grouped:
        """Some owners in ascending order, which are all that have members."""
        return _Grouped(self.member, np.append(self.start[owners], len(self.member)))


class _Explanation:
    """Why the candidates of a person are what they are, in groups of releases."""

    def __init__(self, inference: Inference) -> None:
        self._evidence = inference.evidence
        self._trail = inference.cells.trail
        # Cells, and values, by group of each release.
        self._cells_in = [
            _Grouped.of(groups, np.arange(len(groups)), len(release.labels))
            for groups, release in zip(self._trail.T, self._evidence.releases, strict=True)
        ]
        self._values_in = [
            _Grouped.of(release.values.group, release.values.item, len(release.labels))
            for release in self._evidence.releases
        ]

    def alone(self, cells: Codes) -> Narrowing:
        """What the newest release that shows the person leaves by itself."""
        release, groups = self._anchor(cells)
        values_in = self._values_in[release]
        values = np.unique(np.concatenate([values_in.members(group) for group in groups]))
        return Narrowing.of(self._evidence.levels[values].decimals())

    def places(self, cells: Codes) -> tuple[_VictimPosition, ...]:
        """Where the person stands in each release, and what was subtracted from where."""
        anchor, groups = self._anchor(cells)
        related = np.concatenate([self._cells_in[anchor].members(group) for group in groups])
        return tuple(
            _place(release, self._trail[cells, index], self._trail[related, index])
            for index, release in enumerate(self._evidence.releases)
        )

    def _anchor(self, cells: Codes) -> tuple[int, Codes]:
        """The newest release in which the person can be, and the groups there."""
        shown = self._trail[cells].any(axis=0)
        release = int(np.argmax(shown))
        groups = np.unique(self._trail[cells, release])
        return release, groups[groups > 0]


def _place(release: SeenRelease, own: Codes, related: Codes) -> _VictimPosition:
    groups = np.unique(own[own > 0])
    others = np.unique(related[related > 0]) if len(groups) == 0 else groups[:0]
    return _VictimPosition(
        release=release.name,
        groups=tuple(release.labels[groups].tolist()),
        absent=bool((own == 0).any()),
        subtracted=tuple(release.labels[others].tolist()),
    )


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
        evidence = SeriesEvidence.gather([new, *previous], names)
        units = _least_units(e, evidence.levels)
        inference = evidence.infer()
        found = _exposure(inference, k, units)
        alone = _exposure(evidence.only(evidence.releases[:1]).infer(), k, units)
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
