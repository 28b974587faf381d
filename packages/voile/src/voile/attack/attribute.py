"""What all adversaries share who are after a sensitive value of a person they know.

What it does: for t people whose values in some columns are known exactly, finds the probability of
each value of a sensitive column: that of each published row to be the person's own
(``posterior``), times what the row, or its group where values are permuted, shows of the column.

Source: Machanavajjhala, Kifer, Gehrke and Venkitasubramaniam, "l-diversity: privacy beyond
k-anonymity" (TKDD 2007), section 3.2, Theorem 3.1 with no knowledge beforehand: the belief in a
value is its share among the rows that fit.

Adversary: knows the release, the method with its parameters, public facts of the plan, and some
columns of the target exactly (by default all quasi-identifiers); that the target is in the table;
and the shares of the sensitive values in all published rows.  A target whom no published row fits
was left out; of that one he believes these shares.  If rows were left out or sampled he supposes
that the target's was not, or is like those that fit.

Truth: the original holds the own value, so every success is counted.  Where the column itself was
generalized, a guess is right if it covers the own value.

Claim: for groups that do not overlap, and all people as targets, what he believes is what happens,
group by group.  With noise he is as right as ``release.reading.noise``.

Cost: O(t (g m + c)) for t targets, g different published rows of m known columns and c different
pairs of these and sensitive values; memory for a few million pairs.

The column that an adversary wants to know: the values a release shows, and which are right.

A value that is published as it is must be the person's own, or within a distance of it where that
is enough; one that was generalized must cover the own value.

Cost: one look-up a value, of t targets and v shown values; O(t v) for the comparison.

What an adversary believes of a sensitive value, and how good his best guess is.

Arrays over t targets and the v different values that a release shows of the column.  Cost: O(t v).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from voile.attack.adversary import Adversary, Guesses, Scene
from voile.attack.asking import asks
from voile.attack.posterior import PAIRS, draw_targets, posteriors, sampling
from voile.attack.protocol import (
    COLUMNS,
    TARGETS,
    AttackOutcome,
    check_targets,
    checked_columns,
    nobody_known,
    require_sense,
)
from voile.disclosure.evidence import Evidence
from voile.disclosure.exact import Exact
from voile.release.reading import ColumnView, People, PublishedRows, Sightings, floats_of
from voile.release.release import Release
from voile.schema.plan import Plan
from voile.table.arrays import Values, from_native
from voile.table.binding import distinct_values
from voile_base.errors import InputError, TableError, nearest
from voile_base.ondemand import dataclass
from voile_base.randomness import Randomness

__all__ = [
    "ROUNDING",
    "AttributeAttack",
    "AttributeTarget",
    "Beliefs",
    "Judged",
    "SensitiveTarget",
    "chance_of_best",
    "check_distance",
    "given_to",
    "is_certain",
    "share_of",
    "with_texts",
]


Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

_ROUNDING = 1e-12
"""Relative error of a difference of two decimals in double precision, generously."""


@dataclass(frozen=True, eq=False)
class SensitiveTarget:
    """The sensitive column, as a release shows it, and t people of whom it is wanted; private.

    Raises ``InputError`` where a distance is asked for in a column without numbers, and
    ``TableError`` where the original lacks the column.
    """

    published: PublishedRows
    """With intervals as texts."""
    people: People
    name: str
    targets: NDArray[np.int64]
    distance: float | None = None
    """How far from a number a guess is right; None: it must be, or cover, the own value."""

    def __post_init__(self) -> None:
        if self.name not in self.people.frame.columns:
            msg = (
                f"the private original has no column {self.name!r}, whose values are wanted"
                f"{nearest(self.name, self.people.frame.columns)}"
            )
            raise TableError(msg)
        if self.distance is not None and not self.is_numeric:
            msg = f"column {self.name!r} is not published as numbers; leave out within"
            raise InputError(msg)

    @cached_property
    def shown(self) -> Values:
        """The v different values, ascending; a missing one comes first."""
        return _shown_values(self.published, self.name)

    @property
    def column(self) -> str:
        """The published column."""
        return self.published.columns_of(self.name)[0]

    @property
    def is_numeric(self) -> bool:
        """Whether the values are numbers."""
        return self.shown.dtype.is_numeric()

    @property
    def goal(self) -> str:
        """What counts as a right guess, as a clause."""
        if self.distance is not None:
            return (
                f"the best guess of {self.name!r} is within {self.distance:g} of the target's own "
                "value"
            )
        if self._is_generalized:
            return f"the best guess of {self.name!r}, as published, covers the target's own value"
        return f"the best guess of {self.name!r} is the target's own value"

    def right(self, chunk: slice) -> Mask:
        """For some of the targets, whether naming each value is right, shape (targets, v)."""
        if self.distance is None:
            return np.isfinite(self._evidence.log_weights(chunk))
        first, last = self._window(self.people.numbers(self.name)[self.targets[chunk]])
        place = np.arange(len(self.shown))
        return (first[:, np.newaxis] <= place) & (place < last[:, np.newaxis])

    def nearby(self, belief: Floats) -> Floats:
        """From beliefs (t, v) in values, the belief that naming each of them is right."""
        if self.distance is None:
            return belief
        first, last = self._window(floats_of(self.shown))
        summed = np.cumsum(belief, axis=1)
        summed = np.concatenate([np.zeros((len(belief), 1)), summed], axis=1)
        near: Floats = summed[:, last] - summed[:, first]
        return near

    @cached_property
    def tree(self) -> NDArray[np.int64] | None:
        """The nodes above each value below the root, (h, v), leaves first; None without hierarchy.

        Raises ``PlanError`` or ``TableError`` where the hierarchy of the plan does not fit.
        """
        declared = self.people.described(self.name)
        if declared.hierarchy is None or self._is_generalized:
            return None
        codes = declared.bind_hierarchy(self.name, distinct_values(self.shown)).codes
        below = codes[:-1] if len(np.unique(codes[-1])) == 1 else codes
        return np.array(below, dtype=np.int64).reshape(len(below), len(self.shown))

    @cached_property
    def _evidence(self) -> Evidence:
        """Which of the v values each target's own may have become; where any may: which it is."""
        frame = self.shown.to_frame()
        cells = frame, np.ones(len(frame), dtype=np.int64)
        view = ColumnView.of(self.published, cells, self.people, self.name, self.targets)
        if view.shown.graded and not view.shown.coarse:
            return Exact().evidence(view.known, view.cells)
        return view.evidence()

    @property
    def _is_generalized(self) -> bool:
        return self.published.disclosure.columns[self.name].coarse

    def _window(self, numbers: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The first of the v values near each number, and the first behind them."""
        assert self.distance is not None
        values, around = (_missing_first(array) for array in (floats_of(self.shown), numbers))
        reach = self.distance + _ROUNDING * (self.distance + np.abs(around))
        reach = np.where(np.isfinite(around), reach, 0.0)  # missing values are near each other
        return (
            np.searchsorted(values, around - reach, side="left"),
            np.searchsorted(values, around + reach, side="right"),
        )

    def beliefs(self, sightings: Sightings) -> Iterator[Beliefs]:
        """What the adversary believes of the targets, some at a time."""
        _, shares = self.published.shares(sightings, self.column)
        prior = (sightings.rows @ shares) / sightings.rows.sum()
        chunks = posteriors(sightings, len(self.targets), pairs=PAIRS, width=shares.shape[1])
        for chunk, which, weights in chunks:
            fits = weights.max(axis=1, initial=0.0) > 0
            np.multiply(weights, sightings.rows[which], out=weights)
            posterior = weights @ shares[which]
            posterior[~fits] = prior
            yield Beliefs(self, posterior, prior, self.right(chunk), fits)


def _refusal_to_show(release: Release, name: str, plan: Plan | None) -> str | None:
    """Why nobody can guess values of a column from a release, as a clause; None where one can."""
    disclosure = release.disclosure
    if not list(disclosure.columns_of(name)):
        return f"the release has no column {name!r}{nearest(name, release.table.columns)}"
    shown = disclosure.columns.get(name)
    if shown is not None and shown.noise:
        return f"column {name!r} is published with noise, and no value of it is anybody's own"
    if plan is None and shown is not None and shown.coarse and shown.needs_hierarchy:
        return (
            f"column {name!r} was generalized, and only the plan of the original tells what its "
            "texts stand for"
        )
    return None


def with_texts(published: PublishedRows, name: str) -> PublishedRows:
    """The rows of a release, every value of a column in one published column."""
    if len(published.columns_of(name)) > 1:
        return PublishedRows.of(published.release.with_intervals_as_text())
    return published


def _shown_values(published: PublishedRows, name: str) -> Values:
    """The different values of a column in rows ``with_texts``, ascending; a missing one first."""
    (column,) = published.columns_of(name)
    return published.coded_finite(column).values.alias(column)


def check_distance(distance: float | None) -> None:
    """Raise ``InputError`` unless a distance is a finite number of at least 0."""
    if distance is not None and not (math.isfinite(distance) and distance >= 0):
        msg = "within must be a number of at least 0: how far from the own value a guess is right"
        raise InputError(msg)


def _missing_first(numbers: Floats) -> Floats:
    return np.where(np.isnan(numbers), -np.inf, numbers)


ROUNDING = 1e-9
"""Relative difference up to which two probabilities count as equal: sums differ by rounding."""


@dataclass(frozen=True, eq=False)
class Beliefs:
    """What the adversary believes of some targets, and what is true of them; private."""

    wanted: SensitiveTarget
    """The column whose values they are about."""
    posterior: Floats
    """Shape (t, v): the probability of each value with the release; rows add up to 1."""
    prior: Floats
    """Shape (v,): the share of each value in all published rows."""
    right: Mask
    """Shape (t, v): whether naming the value is right about the target."""
    fits: Mask
    """Shape (t,): whether any published row fits; of others he believes what he did before."""

    @property
    def certain(self) -> Mask:
        """Shape (t,): of whom all rows that fit show one value."""
        return self.fits & is_certain(self.posterior)


@dataclass(frozen=True, eq=False)
class Judged:
    """What an attack came to for t targets, shape (t,) each; private."""

    success: Floats
    """The chance that it succeeds."""
    probability: Floats
    """What the adversary gives to the truth."""
    baseline: Floats
    """The chance that guessing without the release succeeds."""
    remarks: Mapping[str, Floats]
    """Whatever the notes of the attack are about, by name."""

    @classmethod
    def joined(cls, parts: Sequence[Judged]) -> Judged:
        """The targets of all parts."""
        return cls(
            success=np.concatenate([part.success for part in parts]),
            probability=np.concatenate([part.probability for part in parts]),
            baseline=np.concatenate([part.baseline for part in parts]),
            remarks={
                name: np.concatenate([part.remarks[name] for part in parts])
                for name in parts[0].remarks
            },
        )


def chance_of_best(scores: Floats, right: Mask) -> Floats:
    """The chance that the best-scored value is right, shape (t,); of equals one is drawn.

    ``scores`` is (t, v), or (v,) for the same scores of everybody.
    """
    top = scores.max(axis=-1, keepdims=True)
    best = np.broadcast_to(scores >= top * (1 - ROUNDING), right.shape)
    chance: Floats = (best & right).sum(axis=1) / best.sum(axis=1)
    return chance


def given_to(belief: Floats, right: Mask) -> Floats:
    """The probability that beliefs, (t, v) or (v,), give to what is right, shape (t,)."""
    given: Floats = np.minimum(np.where(right, belief, 0.0).sum(axis=1), 1.0)  # of many parts
    return given


def is_certain(belief: Floats) -> Mask:
    """Whether only one value is believed, shape (t,)."""
    certain: Mask = belief.max(axis=1) >= 1 - ROUNDING
    return certain


def share_of(marked: Floats) -> str:
    """How many targets a mark (t,) singles out, in words."""
    count = int(np.count_nonzero(marked))
    return f"{count:,} of {len(marked):,} targets ({count / len(marked):.1%})"


@dataclass(frozen=True)
class AttributeAttack(Adversary["AttributeTarget"]):
    """An adversary who is after a sensitive value of people he knows."""

    columns: Sequence[str] | None = field(default=None, metadata=COLUMNS)
    """Columns of the original that the adversary knows; None: the quasi-identifiers."""
    sensitive: str | None = field(
        default=None,
        metadata=asks("--sensitive"),
    )
    """The column that he wants to know; None: each sensitive one of the release, and what is told
    is the one of which he gains most over guessing."""
    targets: int | None = field(default=1000, metadata=TARGETS)
    """At how many people it is aimed, drawn from the original; None: at all."""

    def __post_init__(self) -> None:
        check_targets(self.targets)
        object.__setattr__(self, "columns", checked_columns(self.columns))

    @property
    @abstractmethod
    def name(self) -> str:
        """The name by which a command or a study asks for the attack."""

    @property
    def distance(self) -> float | None:
        """How far from a number a guess is right; None where it must be the value."""
        return None

    def refusal(self, release: Release, plan: Plan | None = None) -> str | None:
        """Why the attack makes no sense for a release, as a clause; None where it does."""
        reasons = [one.refusal_of_column(release, plan) for one in self._one_by_one(release)]
        if None in reasons:
            return None
        return reasons[0] if reasons else "the release has no sensitive column"

    def refusal_of_column(self, release: Release, plan: Plan | None) -> str | None:
        """The same of the one sensitive column that is named."""
        wanted = self.sensitive
        assert wanted is not None, "each column is attacked by itself"
        if wanted in (self.columns or ()):
            return f"column {wanted!r} is known, so that nobody wants to know it"
        if reason := _refusal_to_show(release, wanted, plan):
            return reason
        return nobody_known(release, self.columns)

    def run(
        self,
        release: Release,
        original: Any,
        plan: Plan | None = None,
        randomness: Randomness | None = None,
    ) -> AttackOutcome:
        """Attack a release, as any adversary does; private.

        Where no column is named he is after each in turn: the outcome is that of the column of
        which he gains most over guessing, and a note tells of all.
        """
        if self.sensitive is not None:
            return super().run(release, original, plan, randomness)
        require_sense(self.name, self.refusal(release, plan))
        people = People.of(release, from_native(original)[0], plan)
        scene = Scene(release, people, randomness or Randomness.secure())
        found = {
            str(one.sensitive): one.outcome(scene)
            for one in self._one_by_one(release)
            if one.refusal_of_column(release, plan) is None
        }
        most = max(found, key=lambda name: found[name].gain)
        if len(found) == 1:
            return found[most]
        told = "; ".join(
            f"{name!r} {one.success.value:.1%}, guessing {one.baseline:.1%}"
            for name, one in found.items()
        )
        note = f"of {len(found)} sensitive columns {most!r} is given away most: {told}"
        return replace(found[most], notes=(note, *found[most].notes))

    def _one_by_one(self, release: Release) -> list[Self]:
        """The same adversary after the column that is named, or after each that he wants."""
        names = self._wanted_in(release) if self.sensitive is None else [self.sensitive]
        return [replace(self, sensitive=name) for name in names]

    def _wanted_in(self, release: Release) -> list[str]:
        """The columns that he wants where none is named: the sensitive ones that are shown."""
        owners = map(release.disclosure.owner, release.roles.get("sensitive", ()))
        return list(dict.fromkeys(name for name in owners if name is not None))

    def aim(self, scene: Scene) -> AttributeTarget:
        """What is wanted of which people, and by which columns they are known."""
        people = scene.people
        if not people.frame.height:
            msg = "the private original has no rows at which the attack could be aimed"
            raise TableError(msg)
        name = self.sensitive
        assert name is not None, "each column is attacked by itself"
        published = with_texts(scene.published, name)
        columns = published.known_columns(people, self.columns, name)
        targets = self._targets(scene, columns, name)
        return AttributeTarget(
            SensitiveTarget(published, people, name, targets, self.distance), columns
        )

    def guess(self, scene: Scene, aim: AttributeTarget) -> Guesses:
        """How probable each value is theirs."""
        wanted, people = aim.wanted, scene.people
        sightings = scene.sightings(wanted.published, aim.columns, wanted.targets)
        parts = [(self._judged(b), b.fits) for b in self._beliefs(aim, sightings)]
        judged = Judged.joined([judged for judged, _ in parts])
        nowhere = len(wanted.targets) - sum(int(fits.sum()) for _, fits in parts)
        described = people.frame.select(aim.columns)
        return Guesses(
            goal=self._goal(wanted),
            success=judged.success,
            probability=judged.probability,
            baseline=float(judged.baseline.mean()),
            known=lambda i: described.row(int(wanted.targets[i]), named=True),
            assumptions=(
                *_assumed(aim.columns, wanted, scene.release),
                *self._assumptions(wanted),
            ),
            notes=(
                *_notes(nowhere),
                *self._notes(judged, wanted),
                *sightings.notes,
            ),
            drawn_from=aim.drawn_from,
        )

    def _beliefs(self, aim: AttributeTarget, sightings: Sightings) -> Iterator[Beliefs]:
        """What he believes of the targets, some at a time; ``sightings`` are of the release."""
        return aim.wanted.beliefs(sightings)

    def _targets(self, scene: Scene, columns: Sequence[str], wanted: str) -> NDArray[np.int64]:
        """At which rows of the original it is aimed."""
        # Two who are known alike may differ in what is wanted: that tells them apart here.  All
        # that anybody wants does, so that it is the same people whichever column is asked for.
        there = scene.people.frame.columns
        names = {*columns, wanted, *(n for n in self._wanted_in(scene.release) if n in there)}
        return draw_targets(scene.people, tuple(names), self.targets, scene.randomness)

    @abstractmethod
    def _goal(self, wanted: SensitiveTarget) -> str:
        """What counts as a success, as a clause."""

    @abstractmethod
    def _judged(self, beliefs: Beliefs) -> Judged:
        """What the attack comes to for some of the targets."""

    def _assumptions(self, wanted: SensitiveTarget) -> Iterator[str]:
        """What the adversary knows beyond what all such adversaries do."""
        return iter(())

    @abstractmethod
    def _notes(self, judged: Judged, wanted: SensitiveTarget) -> Iterator[str]:
        """What the attack found on the way."""


@dataclass(frozen=True, eq=False)
class AttributeTarget:
    """Somebody's value in a column, and what is known of that person."""

    wanted: SensitiveTarget
    columns: tuple[str, ...]
    """What the adversary knows."""
    drawn_from: int | None = None
    """Of how many the targets were drawn; None: all who are protected."""


def _assumed(columns: Sequence[str], wanted: SensitiveTarget, release: Release) -> Iterator[str]:
    yield f"the adversary knows {', '.join(columns)} of a target exactly"
    yield "he knows that the target is in the table that was published"
    yield "he knows the release, and the method with its parameters"
    yield f"he knows how the published values of {wanted.name!r} are distributed"
    if (chance := sampling(release)) < 1:
        yield f"each row was sampled with probability {chance:g}, and he does not know which"
    if release.rows < wanted.people.frame.height:
        yield "he takes people whose rows were left out to be like those who fit, if any do"


def _notes(nowhere: int) -> Iterator[str]:
    if nowhere:
        yield (
            f"no published row fits {nowhere:,} of the targets; of them the adversary believes "
            "what he did before"
        )
