"""Comparing releases of one table: what several tell of a sensitive value that none tells alone.

What it does: for people whose quasi-identifiers are known exactly, puts together what a release and
earlier ones of the same table show of a sensitive value, whatever the methods.

- Intersection.  A person who is in several of them has a value that rows that fit show in each.  In
  how many rows of each release a value stands that fit a person bounds how many can be of those who
  are in all; the smallest of these numbers is taken, as all rows may be the same in each.
- Differencing.  A newcomer is in no earlier release, so the value is one of those that the release
  shows more often than the newest earlier one, where it shows any more often.
- Averaging.  Where what is known was published with noise, or permuted, it was drawn anew for each
  release, so that likelihoods are multiplied: of noise, that is to average it.  Where what is
  wanted was published with noise, see ``averaging``: people are known by the other columns.

Source: Ganta, Kasiviswanathan and Smith, "Composition attacks and auxiliary information in data
privacy" (KDD 2008), for the intersection; Xiao and Tao, "m-Invariance" (SIGMOD 2007), for those who
come and go.

Adversary: as in ``attribute``; he also has the earlier releases, and knows who was in the table
of the newest of them.  Without a table to tell (``before``), everybody counts as having been there.

Success: the best guess is the person's own value; with noise, no further from it than ``within``.
Baseline: as for ``homogeneity``.  The notes say what the release alone gives away to the same
adversary.

Not tried: unions and differences of single groups, which ``differencing`` takes for groups within
which values are permuted; and reasoning from why a method chose its groups.

Cost: that of ``attribute`` for each release.

Averaging noise: what several releases tell of a number that each shows with noise drawn anew.

What it does: of people who are known by other columns, takes in each release the rows that fit, and
finds how likely they are to show what they do for every number that the person may have.  What the
releases say is multiplied.  Where one row fits in each, that is to average its noise: the error of
n releases is that of one over the square root of n.

Source: Bayes' rule with the distribution of the noise, as ``disclosure.noise`` has it.

Adversary: knows the method with its parameters, and which numbers are possible; before looking he
takes all of these for equally likely.  They are so many, evenly spaced between the public bounds or
between the extremes of the column.  His guess is the median of what he then believes.

Cost: O((t + v) n) for t targets, v possible numbers and n rows of each release.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.attack.adversary import Guesses, Scene
from voile.attack.asking import asks
from voile.attack.attribute import (
    AttributeAttack,
    AttributeTarget,
    Beliefs,
    Judged,
    SensitiveTarget,
    chance_of_best,
    check_distance,
    given_to,
    is_certain,
    share_of,
    with_texts,
)
from voile.attack.differencing import permutes_sensitive
from voile.attack.posterior import PAIRS, plain_weights
from voile.attack.protocol import WITHIN
from voile.disclosure.evidence import CoverEvidence
from voile.release.reading import People, PublishedRows, Sightings, floats_of, texts_of
from voile.release.release import Release
from voile.schema.plan import Plan
from voile.table.arrays import Values, frame_of, from_native
from voile_base.errors import TableError
from voile_base.ondemand import dataclass, on_demand

__all__ = ["ComparisonAttack", "averaged"]


sparse = on_demand("scipy.sparse")

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

_NUMBERS = 1001
"""That are possible."""


@dataclass(frozen=True, eq=False)
class _Averaged:
    """What he guesses of t targets; private."""

    alone: Floats
    """Shape (t,): his guess by the newest release."""
    together: Floats
    """Shape (t,): by all releases."""
    own: Floats
    """Shape (t,): the true numbers."""
    near: Floats
    """Shape (t,): how probable he finds a number that is as near to the own as ``distance``."""
    distance: float
    baseline: float
    """How often the best guess for all alike is as near."""
    fits: NDArray[np.bool_]
    """Shape (t,): of whom a row of the newest release shows anything."""


def _is_noisy(release: Release, column: str) -> bool:
    """Whether a release shows a column with noise."""
    shown = release.disclosure.columns.get(column)
    return shown is not None and shown.noise is not None


def averaged(
    releases: Sequence[Release],
    column: str,
    people: People,
    columns: Sequence[str],
    targets: Codes,
    distance: float | None = None,
) -> _Averaged:
    """Guess a column of some rows of the original, the newest of the releases first.

    ``columns`` are known; ``distance`` is how near a guess must be, by default the half-width of
    the narrowest interval of the newest release.  Raises as reading releases does.
    """
    values = floats_of(people.column(column))
    possible = _possible(people, column, values)
    beliefs = np.zeros((len(targets), len(possible)))
    alone, fits = beliefs, np.zeros(len(targets), np.bool_)
    for i, release in enumerate(releases):
        known = [name for name in columns if name in release.disclosure.columns]
        told = _likelihood(release, column, people, known, targets, possible)
        seen = told.max(axis=1) > 0
        told[~seen] = 1.0
        beliefs = beliefs + np.log(np.maximum(told, np.finfo(float).tiny))
        if i == 0:
            alone, fits = beliefs, seen
    noise = releases[0].disclosure.columns[column].noise
    assert noise is not None
    reach = min((c.half_width for c in noise.clusters if c.half_width > 0), default=0.0)
    near = reach if distance is None else distance
    own = values[targets]
    shares = _shares(beliefs)
    within = np.abs(possible - own[:, np.newaxis]) <= near
    return _Averaged(
        alone=_medians(_shares(alone), possible),
        together=_medians(shares, possible),
        own=own,
        near=(shares * within).sum(axis=1),
        distance=near,
        baseline=_best_for_all(values[np.isfinite(values)], near),
        fits=fits,
    )


def _possible(people: People, column: str, values: Floats) -> Floats:
    """The numbers that a person may have, ascending."""
    bounds = people.described(column).bounds
    there = values[np.isfinite(values)]
    low, high = bounds if bounds is not None else (there.min(), there.max())
    return np.linspace(float(low), float(high), _NUMBERS)


def _likelihood(
    release: Release,
    column: str,
    people: People,
    known: Sequence[str],
    targets: Codes,
    possible: Floats,
) -> Floats:
    """How likely a release is for each number of each target, up to a factor, shape (t, v)."""
    published = with_texts(PublishedRows.of(release), column)
    by_others = Sightings.of(published, people, known, targets)
    asked = People(frame_of({column: possible}), people.plan)
    by_noise = Sightings.of(published, asked, [column], np.arange(len(possible)))
    rows = sparse.coo_array(
        (np.ones(len(by_others.place)), (by_others.place, by_noise.place)),
        shape=(len(by_others.rows), len(by_noise.rows)),
    ).tocsr()
    of_noise = np.concatenate([part for _, part in plain_weights(by_noise, len(possible))])
    found = np.empty((len(targets), len(possible)))
    for chunk, fitting in plain_weights(by_others, len(targets)):
        found[chunk] = (rows.T @ fitting.T).T @ of_noise.T
    return found


def _shares(beliefs: Floats) -> Floats:
    """Logarithms as shares of 1 of each row."""
    shares = np.exp(beliefs - beliefs.max(axis=1, keepdims=True))
    normal: Floats = shares / shares.sum(axis=1, keepdims=True)
    return normal


def _medians(shares: Floats, possible: Floats) -> Floats:
    place = (np.cumsum(shares, axis=1) < 0.5).sum(axis=1)
    median: Floats = possible[np.minimum(place, len(possible) - 1)]
    return median


def _best_for_all(values: Floats, distance: float) -> float:
    """The share of the values that the best interval of this reach to either side holds."""
    ordered = np.sort(values)
    stop = np.searchsorted(ordered, ordered + 2 * distance, side="right")
    return float((stop - np.arange(len(ordered))).max() / len(ordered))


@dataclass(frozen=True)
class ComparisonAttack(AttributeAttack):
    """An adversary who puts together what several releases show of a person.

    Raises ``InputError`` where no target is asked for.
    """

    earlier: Sequence[Release] = ()
    """Newest first."""
    names: Sequence[str] | None = None
    """Names of the release and of the earlier ones, for people."""
    before: Any = field(
        default=None,
        metadata=asks("--before"),
    )
    """A data frame of the table of the newest earlier release; None: everybody was in it."""
    within: float | None = field(default=None, metadata=WITHIN)
    """Of a column with noise: how far from the own number a guess is right; None: as far as the
    narrowest interval of the release reaches."""

    def __post_init__(self) -> None:
        super().__post_init__()
        check_distance(self.within)

    @property
    def name(self) -> str:
        """The name by which a command or a study asks for the attack."""
        return "comparison"

    def refusal(self, release: Release, plan: Plan | None = None) -> str | None:
        """Why the attack makes no sense for a release, as a clause; None where it does."""
        if not self.earlier:
            return "it compares releases, and no earlier one was named"
        if permutes_sensitive(release):
            return "sensitive values are permuted within groups, which differencing compares"
        return super().refusal(release, plan)

    def refusal_of_column(self, release: Release, plan: Plan | None) -> str | None:
        """The same of the one column that is named."""
        wanted = self.sensitive
        if wanted is not None and _is_noisy(release, wanted) and wanted not in (self.columns or ()):
            return self._refusal_to_average(release, wanted)
        for one in (release, *self.earlier):
            if reason := super().refusal_of_column(one, plan):
                return reason
        return None

    def _refusal_to_average(self, release: Release, wanted: str) -> str | None:
        if not all(_is_noisy(one, wanted) for one in self.earlier):
            return f"column {wanted!r} is published with noise, and not by every earlier release"
        owners = map(release.disclosure.owner, release.roles.get("quasi_identifiers", ()))
        if self.columns is None and not {*owners} - {wanted, None}:
            return (
                f"column {wanted!r} is published with noise, and no other quasi-identifier tells "
                "who is who; say by which columns people are known"
            )
        return None

    def _wanted_in(self, release: Release) -> list[str]:
        """The sensitive columns, or where there are none those that are published with noise."""
        noisy = [name for name in release.disclosure.columns if _is_noisy(release, name)]
        return super()._wanted_in(release) or noisy

    def guess(self, scene: Scene, aim: AttributeTarget) -> Guesses:
        """How probable each value is theirs, or how near to it a guess is where it has noise."""
        if _is_noisy(scene.release, aim.wanted.name):
            return self._averaged(scene, aim)
        return super().guess(scene, aim)

    def _averaged(self, scene: Scene, aim: AttributeTarget) -> Guesses:
        people, name = scene.people, aim.wanted.name
        targets = aim.wanted.targets
        targets = targets[np.isfinite(floats_of(people.column(name)))[targets]]
        if not len(targets):
            msg = f"no target has a number in column {name!r}, at which the attack could be aimed"
            raise TableError(msg)
        releases = (scene.release, *self.earlier)
        found = averaged(releases, name, people, aim.columns, targets, self.within)
        off, off_alone = abs(found.together - found.own), abs(found.alone - found.own)
        right, right_alone = off <= found.distance, off_alone <= found.distance
        described = people.frame.select(aim.columns)
        return Guesses(
            goal=f"the guess of {name!r} is no further than {found.distance:g} from the own number",
            success=right.astype(np.float64),
            probability=found.near,
            baseline=found.baseline,
            known=lambda i: described.row(int(targets[i]), named=True),
            assumptions=(
                f"the adversary knows {', '.join(aim.columns)} of a target exactly",
                "he knows that the target is in the tables of all releases, with the same number",
                "he knows the releases, and the method with its parameters",
            ),
            notes=(
                f"the guess of {name!r} is off by {off_alone.mean():,.4g} in the mean with the "
                f"release alone, and by {off.mean():,.4g} with {len(releases):,} releases, whose "
                "noise was drawn anew",
                f"it is right for {right_alone.mean():.1%} of the targets with the release alone, "
                f"and for {right.mean():.1%} with all of them",
            ),
            shown=np.flatnonzero(found.fits),
        )

    def _goal(self, wanted: SensitiveTarget) -> str:
        return wanted.goal

    def _assumptions(self, wanted: SensitiveTarget) -> Iterator[str]:
        yield "he knows who was in the table of the newest earlier release"
        if self.before is None:
            yield "everybody was: no table says who was not"

    def _beliefs(self, aim: AttributeTarget, sightings: Sightings) -> Iterator[Beliefs]:
        wanted = aim.wanted
        alone = list(wanted.beliefs(sightings))
        new = _Shown.of(wanted.published, wanted, sightings)
        old = [
            _Shown.of(with_texts(PublishedRows.of(one), wanted.name), wanted, None, aim)
            for one in self.earlier
        ]
        newcomers = self._newcomers(aim)
        combined = _combined(new, old, newcomers)
        start = 0
        for part in alone:
            chunk = slice(start, start + len(part.posterior))
            posterior, said = combined[chunk], combined[chunk].sum(axis=1) > 0
            posterior = np.where(
                said[:, np.newaxis],
                posterior / np.where(said, posterior.sum(axis=1), 1.0)[:, np.newaxis],
                part.posterior,
            )
            yield _Compared(wanted, posterior, part.prior, part.right, part.fits, part.posterior)
            start = chunk.stop

    def _newcomers(self, aim: AttributeTarget) -> NDArray[np.bool_]:
        """Which of the targets were not in the table before, shape (t,)."""
        targets = aim.wanted.targets
        if self.before is None:
            return np.zeros(len(targets), np.bool_)
        there = People(from_native(self.before)[0], aim.wanted.people.plan)
        columns = [*aim.columns, aim.wanted.name]
        known = set(_rows(there, columns, np.arange(there.frame.height)))
        rows = _rows(aim.wanted.people, columns, targets)
        return np.array([row not in known for row in rows], dtype=np.bool_)

    def _judged(self, beliefs: Beliefs) -> Judged:
        assert isinstance(beliefs, _Compared)
        success = chance_of_best(beliefs.posterior, beliefs.right)
        certain = beliefs.certain.astype(np.float64)
        alone = (beliefs.fits & is_certain(beliefs.alone)).astype(np.float64)
        right = chance_of_best(beliefs.alone, beliefs.right)
        return Judged(
            success=success,
            probability=given_to(beliefs.posterior, beliefs.right),
            baseline=chance_of_best(beliefs.prior[np.newaxis], beliefs.right),
            remarks={
                "certain": certain,
                "certain and right": certain * success,
                "alone": alone * right,
                "right alone": right,
            },
        )

    def _notes(self, judged: Judged, wanted: SensitiveTarget) -> Iterator[str]:
        told = judged.remarks
        several = "the earlier one" if len(self.earlier) == 1 else "the earlier ones"
        yield (
            f"compared with {several}, one value of {wanted.name!r} is left for "
            f"{share_of(told['certain'])}; of these {told['certain and right'].sum():,.0f} have "
            f"that value. The release alone gives away {told['alone'].sum():,.0f}"
        )
        yield (
            f"with the release alone the best guess is right for {told['right alone'].mean():.1%} "
            f"of the targets, with {several} for {judged.success.mean():.1%}"
        )


@dataclass(frozen=True, eq=False)
class _Compared(Beliefs):
    """Beliefs from several releases, and from the newest alone."""

    alone: Floats
    """Shape (t, v)."""


@dataclass(frozen=True, eq=False)
class _Shown:
    """What one release shows of the targets' values; private where targets are."""

    fitting: Floats
    """Shape (t, v): rows of each value that fit a target, or what they weigh; of values of the
    newest release."""
    total: Floats
    """Shape (v,): rows of each value."""
    plain: bool
    """Whether rows either fit or do not."""

    @classmethod
    def of(
        cls,
        published: PublishedRows,
        wanted: SensitiveTarget,
        sightings: Sightings | None,
        aim: AttributeTarget | None = None,
    ) -> _Shown:
        if sightings is None:
            assert aim is not None
            known = [name for name in aim.columns if published.columns_of(name)]
            sightings = Sightings.of(published, wanted.people, known, wanted.targets)
        (column,) = published.columns_of(wanted.name)
        values, shares = published.shares(sightings, column)
        place = _places(values.texts, wanted)
        there = place >= 0
        fitting = np.zeros((len(wanted.targets), len(wanted.shown)))
        total = np.zeros(len(wanted.shown))
        pairs = PAIRS * shares.shape[0] // max(shares.shape)
        for chunk, weights in plain_weights(sightings, len(wanted.targets), pairs=pairs):
            found = (weights * sightings.rows) @ shares
            fitting[chunk, place[there]] = found[:, there]
        total[place[there]] = (sightings.rows @ shares)[there]
        plain = all(isinstance(seen, CoverEvidence) for seen in sightings.evidence)
        return cls(fitting, total, plain)


def _combined(new: _Shown, old: Sequence[_Shown], newcomers: NDArray[np.bool_]) -> Floats:
    """How well each value fits each target, over all releases, shape (t, v); 0 for impossible."""
    found = new.fitting.copy()
    there = ~newcomers
    for one in old:
        fits = one.fitting[there]
        # Whom no row fits was left out of that release, which then tells nothing of him.
        seen = fits.any(axis=1, keepdims=True)
        if one.plain and new.plain:
            both = np.minimum(found[there], fits)
        else:
            share = np.divide(fits, one.total, out=np.zeros_like(fits), where=one.total > 0)
            both = found[there] * share
        found[there] = np.where(seen, both, found[there])
    if newcomers.any():
        more = np.maximum(np.round(new.total - old[0].total), 0)
        fewer = np.minimum(found[newcomers], more)
        found[newcomers] = np.where(fewer.any(axis=1, keepdims=True), fewer, found[newcomers])
    return found


def _places(texts: Sequence[str | None], wanted: SensitiveTarget) -> NDArray[np.int64]:
    """Where the values of another release stand among those wanted; -1 where they do not."""
    places: Mapping[str | None, int] = {
        text: place for place, text in enumerate(texts_of(wanted.shown))
    }
    return np.array([places.get(text, -1) for text in texts], dtype=np.int64)


def _rows(
    people: People, columns: Sequence[str], rows: NDArray[np.int64]
) -> list[tuple[str | None, ...]]:
    """What people have in some columns, as texts."""
    told: list[Values] = [people.column(name).gather(rows) for name in columns]
    return list(zip(*(texts_of(each) for each in told), strict=True))
