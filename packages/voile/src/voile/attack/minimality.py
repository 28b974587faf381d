"""The adversary who knows Voile: what its rules tell about those on whom they were used.

Of k-anonymous groups that were held to criteria on sensitive values, see ``chosen_groups``.  The
rest is about the rule by which rows of (k,e)-anonymity wait.

What it does: from all releases of a (k,e) series, the plan, and when each row arrived, computes
which sensitive values each person can have in the tables of which Voile would have published
exactly these releases; reports everybody for whom fewer than k values or a range below e are left.

Source: Wong, Fu, Wang and Pei, "Minimality attack in privacy preserving data publishing" (VLDB
2007), whose adversary knows the algorithm, applied to rows that wait.

Claim: the values are exactly those of these tables, where people are told apart by what is
published about them.  Three things decide what Voile publishes:

- The cuts.  They depend on which values stand in which class of rows, and on earlier cuts (see
  ``publish.ke_anonymity.decision``), so knowing how they are made excludes no arrangement of the
  values that one release first showed in one group.
- When rows are looked at.  With a batch that depends on how many wait, and excludes none.
- What a look refuses: rows that are invalid together (fewer than k values or a range below e).
  Those who waited when newcomers came, with the rule "until-valid", and those whom a first look
  refused, with a batch, were.  A second look depends on the values of all alone.

So of the people whom a release first shows, those who were refused have values that are invalid
together.  What remains for each is found without listing tables: by the windows of a range below e,
and by the sets of fewer than k values, from which all refused people can have theirs.

Adversary: has all releases of the series, and knows people by their quasi-identifiers, the plan,
and for whom a column says so, before which release they arrived.  Of whom he does not know it, he
supposes that they did not wait.  Nothing is claimed about people whom no release shows: to them a
rule that Voile has leaves any value, alike for all of them (see ``models.ke_anonymity``).

Cost: O(n log n) for n rows in all releases, and O(d (b + k)) for each group in which refused rows
of d distinct values were shown, with b groups in the same release.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.attack.asking import asks
from voile.attack.chosen_groups import RefusedRows, left_for, outcome_of_groups
from voile.attack.differencing import permutes_sensitive
from voile.attack.inference import SeriesEvidence, gather
from voile.attack.protocol import (
    ARRIVED,
    Attack,
    AttackOutcome,
    Estimate,
    Target,
    check_names,
    require_sense,
)
from voile.attack.worlds import GroupChoice
from voile.models.ke_anonymity import is_valid
from voile.release.claims import KAnonymityClaim, KEAnonymityClaim
from voile.release.release import Release
from voile.schema.numbers import decimals_of, units_of
from voile.schema.plan import Plan
from voile.table.alignment import Codes, common_places
from voile.table.arrays import from_native
from voile_base.errors import InputError
from voile_base.ondemand import dataclass
from voile_base.randomness import Randomness

__all__ = ["MinimalityAttack"]


@dataclass(frozen=True)
class MinimalityAttack(Attack):
    """An adversary who knows by which rules rows wait, and groups are chosen.

    Raises ``InputError`` where there is not one name for each release, or no table is looked at.
    """

    earlier: Sequence[Release] = ()
    """All earlier releases of the series, in any order."""
    names: Sequence[str] | None = None
    """Names of the newest and of the earlier releases, for people; made up if None."""
    arrived: str | None = field(
        default=None,
        metadata=asks("--arrived"),
    )
    """A column of the release, or else of the original: the number of the first release that was
    made after a row arrived, from 1; None: he does not know who waited."""
    arrivals: Any = None
    """A data frame that tells the same in the column ``ARRIVED``, in place of ``arrived``."""
    choice_of: Callable[[Any], GroupChoice] | None = None
    """What gives the groups that Voile chooses for a table, a data frame."""
    tables: int = field(
        default=2_000,
        metadata=asks("--tables"),
    )
    """Of how many tables it is asked, at most, whether the same groups would have been chosen."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "earlier", tuple(self.earlier))
        check_names(self.names, self.earlier)
        if self.tables < 1:
            msg = "tables must be at least 1"
            raise InputError(msg)

    @property
    def name(self) -> str:
        """The name by which a command or a study asks for the attack."""
        return "minimality"

    def refusal(self, release: Release, plan: Plan | None = None) -> str | None:
        """Why the attack makes no sense for a release, as a clause; None where it does."""
        del plan
        if groups := _of_groups(release):
            return self._refusal_of_groups(release, groups)
        claim = _claim(release)
        if claim is None or not permutes_sensitive(release):
            return (
                "it reasons from the rules of (k,e)-anonymity and of generalization, and the "
                "release claims neither"
            )
        return self._refusal_of_waiting(release, claim)

    def _refusal_of_waiting(self, release: Release, claim: KEAnonymityClaim) -> str | None:
        if claim.adversary == "pairwise":
            return 'it reasons from who waited, and with adversary = "pairwise" nobody waits'
        if claim.unit is not None:
            return (
                "it reasons from how values are cut into groups, and here that depends on whose "
                "they are, which the release does not show"
            )
        names = {one.series.name if one.series else None for one in self._all(release)}
        if self.earlier and (len(names) > 1 or None in names):
            return "it reasons about the releases of one series, and these are not"
        versions = sorted(one.series.version for one in self._all(release) if one.series)
        if self._knows_who_waited and versions != [*range(1, len(versions) + 1)]:
            return (
                "it needs all releases of the series, and is given "
                f"{', '.join(map(str, versions)) or 'none of one'}"
            )
        return None

    def run(
        self,
        release: Release,
        original: Any,
        plan: Plan | None = None,
        randomness: Randomness | None = None,
    ) -> AttackOutcome:
        """Attack a release of a table, given as a data frame of any kind; private.

        Everybody whom a release shows is a target, so nothing is drawn.  Raises ``InputError`` or
        ``TableError`` where the releases and the original disagree, or where it makes no sense.
        """
        require_sense(self.name, self.refusal(release, plan))
        if _of_groups(release):
            assert self.choice_of is not None
            choice = self.choice_of(original)
            draws = randomness or Randomness.secure()
            return outcome_of_groups(release, choice, self.tables, draws)
        claim = _claim(release)
        assert claim is not None
        releases = sorted(self._all(release), key=lambda one: -_version(one))
        evidence = gather(releases, self._names(releases, release))
        sightings = _Sightings.of(evidence)
        arrived = self._arrivals(evidence, release, original)
        scale = max(evidence.levels.scale, decimals_of(claim.e))
        values = evidence.levels.rescaled(scale).units
        terms = _Terms(claim.k, units_of(claim.e, scale), _batch(release))
        found = _Found()
        for at in range(len(releases)):
            _reason(sightings, at, arrived, values, terms, found)
        return self._outcome(found, evidence, sightings, claim)

    def _refusal_of_groups(self, release: Release, claim: KAnonymityClaim) -> str | None:
        if claim.l is None and claim.t is None and not claim.criteria:
            return (
                "its groups were chosen by quasi-identifiers alone, which tells nothing of "
                "sensitive values"
            )
        if claim.unit is not None:
            return "it counts rows, and the groups were chosen by persons with several of them"
        if release.series is not None:
            return (
                "the groups of a series are cut by quasi-identifiers alone, which tells nothing of "
                "sensitive values"
            )
        if self.choice_of is None:
            return (
                "it must know how groups were chosen: give the plan of the release, with [method]"
            )
        return None

    @property
    def _knows_who_waited(self) -> bool:
        return self.arrived is not None or self.arrivals is not None

    def _all(self, newest: Release) -> tuple[Release, ...]:
        return (newest, *self.earlier)

    def _names(self, releases: Sequence[Release], newest: Release) -> list[str]:
        given = dict(zip(map(id, self._all(newest)), self.names or (), strict=False))
        return [given.get(id(one), f"release {_version(one)}") for one in releases]

    def _arrivals(
        self, evidence: SeriesEvidence, release: Release, original: object
    ) -> Codes | None:
        """Before which release each known person arrived, 0 where that is not known."""
        if not self._knows_who_waited:
            return None
        if self.arrivals is not None:
            column, frame = ARRIVED, from_native(self.arrivals)[0]
        else:
            column, frame = str(self.arrived), from_native(release.to_native())[0]
            if column not in frame.columns:
                frame = from_native(original)[0]
        known = evidence.persons.columns
        if missing := [name for name in (*known, column) if name not in frame.columns]:
            msg = f"neither the release nor the original has the column {missing[0]!r}"
            raise InputError(msg)
        person, row = common_places([evidence.persons, frame.select(known)])
        told: dict[int, int] = {}
        for code, number in zip(row.tolist(), frame[column].to_list(), strict=True):
            if not isinstance(number, int) or number < 1:
                msg = f"column {column!r} must hold numbers of releases, from 1"
                raise InputError(msg)
            # Of people who look the same, and did not arrive together, it is not known.
            told[code] = number if told.get(code, number) == number else 0
        return np.array([told.get(code, 0) for code in person.tolist()], dtype=np.int64)

    def _outcome(
        self,
        found: _Found,
        evidence: SeriesEvidence,
        sightings: _Sightings,
        claim: KEAnonymityClaim,
    ) -> AttackOutcome:
        people = len(sightings.told_by)
        worst = min(found.exposed.items(), key=lambda one: (one[1], one[0]), default=None)
        sensitive = evidence.sensitive
        notes = [
            f"{found.refused:,} people are known to have been refused together before they were "
            f"shown; of the {found.with_refused:,} people shown with them, they included, "
            f"{len(found.exposed):,} keep too little"
        ]
        if not self._knows_who_waited:
            notes.append(
                "it is not known who waited, so nobody is supposed to have: name a column that "
                "tells when rows arrived"
            )
        return AttackOutcome(
            attack=self.name,
            goal=(
                f"fewer than {claim.k:,} values of {sensitive!r} are possible for a person, or "
                f"they span less than {claim.e:,f}"
            ),
            targets=people,
            checked=False,
            success=Estimate.of_total(len(found.exposed), people),
            probability=Estimate.of_total(found.chance, people),
            baseline=0.0,
            worst=None if worst is None else self._target(worst, evidence, sightings),
            typical=None,
            assumptions=(
                "the adversary knows Voile, the plan, and all releases of the series",
                "people are told apart by what is published about them, and nobody was withdrawn",
            ),
            notes=tuple(notes),
        )

    def _target(
        self, worst: tuple[int, int], evidence: SeriesEvidence, sightings: _Sightings
    ) -> Target:
        person, values = worst
        row = evidence.person[sightings.told_by[person]]
        return Target(evidence.persons.row(int(row), named=True), 1 / max(values, 1))


@dataclass(frozen=True)
class _Terms:
    k: int
    e: int
    batch: int | None
    """None: the rule "until-valid"."""


@dataclass
class _Found:
    """What came of it so far."""

    exposed: dict[int, int] = field(default_factory=dict)
    """Exposed people, and how many values each can have."""
    chance: float = 0.0
    """Sum over all people of one over how many values they can have."""
    refused: int = 0
    with_refused: int = 0


@dataclass(frozen=True, eq=False)
class _Sightings:
    """People one by one, and where they stand; releases from the oldest to the newest."""

    told_by: Codes
    """Shape (n,): by what each person is told apart."""
    person: Codes
    """Shape (n,): the known person."""
    group: Codes
    """Shape (r, n): the group in each release, 0 where absent."""
    values: tuple[Mapping[int, Mapping[int, int]], ...]
    """For each release and group how many rows have each value, by its place."""

    @classmethod
    def of(cls, evidence: SeriesEvidence) -> _Sightings:
        """People of all releases; those whom nothing tells apart are taken in order of group."""
        releases = evidence.releases[::-1]
        most = np.max([one.people.totals(evidence.tuples) for one in releases], axis=0)
        first = np.concatenate(([0], np.cumsum(most)))
        group = np.zeros((len(releases), int(first[-1])), dtype=np.int64)
        values = []
        for at, one in enumerate(releases):
            order = np.lexsort((one.people.group, one.people.item))
            item = np.repeat(one.people.item[order], one.people.rows[order])
            start = np.searchsorted(item, item)
            group[at, first[item] + np.arange(len(item)) - start] = np.repeat(
                one.people.group[order], one.people.rows[order]
            )
            by_group: dict[int, dict[int, int]] = {}
            cells = zip(
                one.values.group.tolist(), one.values.item.tolist(), one.values.rows.tolist(),
                strict=True,
            )  # fmt: skip
            for number, item_, rows in cells:
                by_group.setdefault(number, {})[item_] = rows
            values.append(by_group)
        told = np.repeat(np.arange(evidence.tuples), most)
        return cls(told, evidence.person[told], group, tuple(values))


def _reason(
    seen: _Sightings,
    at: int,
    arrived: Codes | None,
    values: Codes,
    terms: _Terms,
    found: _Found,
) -> None:
    """What follows for the people whom one release is the first to show."""
    before = seen.group[:at].any(axis=0)
    fresh = np.flatnonzero((seen.group[at] > 0) & ~before)
    if not len(fresh):
        return
    waited = _refused(arrived, seen.person[fresh], at + 1, terms)
    groups = [
        RefusedRows(number, fresh[seen.group[at, fresh] == number], _new_values(seen, at, number))
        for number in np.unique(seen.group[at, fresh]).tolist()
    ]
    refused = {int(person) for person, one in zip(fresh, waited, strict=True) if one}
    found.refused += len(refused)
    found.with_refused += len(fresh) if refused else 0
    for people, left in left_for(groups, refused, values, terms.k, terms.e):
        found.chance += len(people) / max(len(left), 1)
        if not is_valid(values[left], terms.k, terms.e):
            found.exposed |= dict.fromkeys(people, len(left))


def _refused(
    arrived: Codes | None, person: Codes, version: int, terms: _Terms
) -> NDArray[np.bool_]:
    """Of people whom a version is the first to show, those whom a look refused before."""
    if arrived is None:
        return np.zeros(len(person), dtype=np.bool_)
    of_each = np.where(arrived[person] > 0, arrived[person], version)
    last = version - 1
    if terms.batch is not None:
        looks = (n for n in range(1, version) if int((of_each <= n).sum()) >= terms.batch)
        last = next(looks, 0)
    refused: NDArray[np.bool_] = of_each <= last
    return refused


def _new_values(seen: _Sightings, at: int, number: int) -> dict[int, int]:
    """How often each value stands in a group, without those of people shown there before."""
    left = dict(seen.values[at][number])
    if at == 0:
        return left
    members = seen.group[at] == number
    for old in np.unique(seen.group[at - 1, members]).tolist():
        if old == 0:
            continue
        if not members[seen.group[at - 1] == old].all():
            msg = "a release splits a group of the one before it, which it does not reason about"
            raise InputError(msg)
        for value, rows in seen.values[at - 1][old].items():
            left[value] = left.get(value, 0) - rows
    return {value: rows for value, rows in left.items() if rows > 0}


def _of_groups(release: Release) -> KAnonymityClaim | None:
    """The claim about groups that show one value of each quasi-identifier, if there is one."""
    return next((c for c in release.guarantee.claims if isinstance(c, KAnonymityClaim)), None)


def _claim(release: Release) -> KEAnonymityClaim | None:
    return next((c for c in release.guarantee.claims if isinstance(c, KEAnonymityClaim)), None)


def _batch(release: Release) -> int | None:
    """The batch of the series; None for the rule "until-valid", which others do not name."""
    batch = release.method.get("batch")
    return batch if isinstance(batch, int) else None


def _version(release: Release) -> int:
    return release.series.version if release.series else 0
