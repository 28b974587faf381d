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

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from math import gcd
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.attack.asking import asks
from voile.attack.chosen_groups import RefusedRows, left_for
from voile.attack.differencing import permutes_sensitive
from voile.attack.inference import SeriesEvidence
from voile.attack.protocol import (
    ARRIVED,
    Attack,
    AttackOutcome,
    Estimate,
    Target,
    check_names,
    require_sense,
)
from voile.attack.worlds import GroupChoice, Worlds, enumerated, walked
from voile.models.criteria import Criterion, Groups, SensitiveCells
from voile.models.ke_anonymity import is_valid
from voile.models.l_diversity import DistinctDiversity
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


_MOST_PEOPLE = 1_000
"""Beyond, no walk that anybody waits for comes by enough."""
_EFFORT = 1_000_000
"""People times steps of a walk."""
_EXACT = 1 << 40
"""Numbers of ways up to this are compared as they are, and larger ones in proportion."""


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
            return _outcome_of_groups(release, choice, self.tables, draws)
        claim = _claim(release)
        assert claim is not None
        releases = sorted(self._all(release), key=lambda one: -_version(one))
        evidence = SeriesEvidence.gather(releases, self._names(releases, release))
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


def _outcome_of_groups(
    release: Release, choice: GroupChoice, tables: int, randomness: Randomness
) -> AttackOutcome:
    """What follows for everybody in a release; ``tables`` are looked at, at most.

    Raises ``InputError`` where the choice is that of another release, or of too many people.
    """
    _refuse_other(release, choice)
    people = choice.table.sum(axis=1)
    worlds = enumerated(choice, tables)
    if worlds is None:
        if (total := int(people.sum())) > _MOST_PEOPLE:
            msg = (
                f"the groups of {total:,} people are chosen anew for every table in question, and "
                f"more than {_MOST_PEOPLE:,} are too many; attack a release of fewer rows"
            )
            raise InputError(msg)
        steps = max(1, min(tables, _EFFORT // total))
        worlds = walked(choice, steps, randomness.key("worlds"))
    exposed = ~_satisfied(choice, worlds.ways)
    share = _shares(worlds.ways)
    own = np.where(choice.table > 0, share, 0.0)
    published = choice.group >= 0
    targets = int(people[published].sum())
    found = int(people[published & exposed].sum())
    given = float((choice.table * share)[published].sum())
    return AttackOutcome(
        attack="minimality",
        goal=_goal(choice.criteria),
        targets=targets,
        checked=False,
        success=_estimate(found, targets, worlds),
        probability=_estimate(given, targets, worlds),
        baseline=0.0,
        worst=_worst(choice, own, published),
        typical=None,
        assumptions=(
            "the adversary knows Voile and the plan, the quasi-identifiers of everybody in the "
            "table, and in which group they stand",
            "every way to give the values of a group to its people is as likely as another before",
            *_of_left_out(people, published),
        ),
        notes=tuple(_notes(choice, worlds, found, share)),
        drawn_from=targets,
        exact=worlds.complete,
    )


def _estimate(total: float, targets: int, worlds: Worlds) -> Estimate:
    if worlds.complete and targets:
        return Estimate.exactly(total / targets)
    return Estimate.of_total(total, targets)


def _refuse_other(release: Release, choice: GroupChoice) -> None:
    """Raise ``InputError`` unless the groups have the values that the release shows in groups."""
    groups, columns = release.disclosure.groups, list(choice.values)
    lacks = groups is None or any(name not in release.table.columns for name in columns)
    if not lacks:
        assert groups is not None
        counted = release.table.count([groups.column, *columns])
        mine = _profile(choice.group[choice.group >= 0], choice.table[choice.group >= 0])
        number = counted.codes[:, 0].astype(np.int64)
        _, value = np.unique(counted.codes[:, 1:], axis=0, return_inverse=True)
        table = np.zeros((len(number), int(value.max(initial=-1)) + 1), dtype=np.int64)
        table[np.arange(len(number)), value.reshape(-1)] = counted.rows
        lacks = mine != _profile(number, table)
    if lacks:
        msg = (
            "the plan makes other groups of the original than the release shows; give the plan and "
            "the table of which it was made"
        )
        raise InputError(msg)


def _profile(group: NDArray[np.int64], table: NDArray[np.int64]) -> list[list[int]]:
    """How often values stand in each group, whatever the groups and values are called."""
    numbers = np.unique(group).tolist()
    rows = (table[group == number].sum(axis=0) for number in numbers)
    return sorted(sorted(each[each > 0].tolist()) for each in rows)


def _satisfied(choice: GroupChoice, ways: NDArray[np.generic]) -> NDArray[np.bool_]:
    """For which kinds what is possible, as likely as it is, satisfies all criteria, shape (a,)."""
    weights = np.stack([_in_proportion(row) for row in ways])
    truth = choice.table.sum(axis=0)
    sensitive = {name: _cells(weights, codes, truth) for name, codes in choice.values.items()}
    groups = Groups(weights.sum(axis=1), sensitive)
    held = [criterion.holds(groups) for criterion in choice.criteria]
    return np.asarray(np.logical_and.reduce(held), dtype=np.bool_)


def _cells(
    weights: NDArray[np.int64], codes: NDArray[np.int64], truth: NDArray[np.int64]
) -> SensitiveCells:
    """How often each kind has each value of one column, and how often all rows have it."""
    of_column = weights @ (codes[:, np.newaxis] == np.arange(int(codes.max()) + 1)).astype(np.int64)
    kind, value = np.nonzero(of_column)
    total = np.bincount(codes, truth).astype(np.int64)
    return SensitiveCells(kind, value, of_column[kind, value], total)


def _in_proportion(ways: NDArray[np.generic]) -> NDArray[np.int64]:
    """Numbers of ways, divided by what they have in common; what is possible stays above 0."""
    numbers = [int(number) for number in ways]
    common = gcd(*numbers)
    numbers = [number // common for number in numbers]
    largest = max(numbers)
    if largest > _EXACT:
        numbers = [-(-number * _EXACT // largest) for number in numbers]
    return np.array(numbers, dtype=np.int64)


def _shares(ways: NDArray[np.generic]) -> NDArray[np.float64]:
    """How probable each value is for a person of each kind, shape (a, v)."""
    return np.array([[int(one) / int(sum(row)) for one in row] for row in ways], dtype=np.float64)


def _worst(
    choice: GroupChoice, own: NDArray[np.float64], published: NDArray[np.bool_]
) -> Target | None:
    """The person to whose own value the largest probability is given."""
    if not published.any():
        return None
    best = np.where(published, own.max(axis=1), -1.0)
    kind = int(np.argmax(best))
    return Target(choice.kinds.row(kind, named=True), float(best[kind]))


def _goal(criteria: Sequence[Criterion]) -> str:
    match criteria:
        case [DistinctDiversity(l=least, column=column)]:
            return f"fewer than {least:,} values of {column!r} are possible for a person"
    columns = " and ".join(dict.fromkeys(repr(one.column) for one in criteria))
    return (
        f"the values of {columns} that are possible for a person, as likely as they are, fall "
        "short of what groups promise"
    )


def _of_left_out(people: NDArray[np.int64], published: NDArray[np.bool_]) -> Iterator[str]:
    if left_out := int(people[~published].sum()):
        yield (
            f"he knows which values the {left_out:,} rows that were left out have together, and "
            "nobody is aimed at whose row was"
        )


def _notes(
    choice: GroupChoice, worlds: Worlds, found: int, share: NDArray[np.float64]
) -> Iterator[str]:
    people = choice.table.sum(axis=1)
    published = choice.group >= 0
    if worlds.complete:
        yield (
            f"of {worlds.tables:,} tables with these groups and values, Voile would have published "
            f"exactly this release of {worlds.same:,}; all were looked at"
        )
    else:
        known = ("at most" if all(isinstance(c, DistinctDiversity) for c in choice.criteria)
                 else "by estimate")  # fmt: skip
        yield (
            f"there are too many tables to look at all of them: a walk of {worlds.tables:,} steps "
            f"came by some, and {known} {found:,} people are exposed. More tables (--tables) find "
            "more that is possible"
        )
        yield (
            "the walk begins with the true table, so that the probabilities of own values are too "
            "high where it is short"
        )
        return
    certain = int(people[published & (share.max(axis=1) == 1)].sum())
    knowing = _mean(choice.table, share, published)
    alone = _mean(choice.table, _shares(_by_group(choice)), published)
    yield (
        f"one value is left for {certain:,} people; the mean probability given to the own value "
        f"is {knowing:.1%}, and {alone:.1%} for those who do not know how groups were chosen"
    )


def _by_group(choice: GroupChoice) -> NDArray[Any]:
    """How often each value stands in the group of each kind."""
    rows = [choice.table[choice.group == number].sum(axis=0) for number in choice.group.tolist()]
    return np.stack(rows)


def _mean(
    table: NDArray[np.int64], share: NDArray[np.float64], published: NDArray[np.bool_]
) -> float:
    total = table[published].sum()
    return float((table * share)[published].sum() / total) if total else 0.0


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
