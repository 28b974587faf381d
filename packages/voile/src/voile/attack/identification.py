"""The parcel identification adversary, who looks for the published row of a known person.

What it does: for people whose values are known exactly, finds the probability of every published
row to be theirs, and reports how often the best guess is right, beside guessing blindly.

Source: "Privacy-Preserving Bin-Packing With Differential Privacy" (IEEE OJ-CS 2022), eqs. 24, 25
and 30.  Eqs. 24 and 25 bound the probability of the right row by 1 / k, and by beta / k where rows
were sampled with probability beta before.  Here it is counted: each of the m rows that cover the
target's values has 1 / m, or beta / m, where m is k at least.

Adversary: knows some attributes of the target exactly (by default all quasi-identifiers), the
release and its method's parameters, and that the target's row was in the table; with a plan,
public hierarchies and bounds as well.  He knows nothing of others beforehand, or, with
``population``, how the values of the targets are distributed.

Claim: rates are counted where a ``link``, a column that stands in the release and in the original,
tells which row is whose; a link makes a rehearsal, not a release to publish.  They are counted,
too, where the release itself tells what each row of the original was published with
(``fitted.Standing``): rows that show the same are equally likely, and which of them is whose
changes no rate.  Elsewhere rates are what the adversary believes.  He is right about generalized
releases whose groups do not overlap.  About noise he is as right as what he supposes of others:
that their values are uniform between bounds, or in clusters whose borders are stated. Where neither
shows, eq. 30 has every value on the line equally likely, and trusts its best guess up to twice as
much as it should (200 uniform values in five clusters, epsilon = 1: 0.034, and right in 0.018).

Algorithm: each column weighs every pair of a target and a published row (``release.reading``);
weights are multiplied, and normalized over the rows (``posterior``).  With ``population`` they
are first divided by their mean over the targets: Bayes' rule for others drawn like the targets.

Cost: that of ``posterior``.

Departures from the source: scales of the noise are known; clusters are recognised by the widths of
intervals; values clamped to public bounds are accounted for (``release.reading.noise``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from voile.attack.adversary import Adversary, Guesses, Scene
from voile.attack.asking import asks
from voile.attack.fitted import Standing, unclear_columns
from voile.attack.joining import unclear_missing
from voile.attack.posterior import (
    PAIRS,
    draw_targets,
    posteriors,
    rows_of_people,
    sampling,
)
from voile.attack.protocol import (
    COLUMNS,
    LINK,
    TARGETS,
    check_targets,
    checked_columns,
    nobody_known,
)
from voile.release.reading import Sightings
from voile.release.release import Release
from voile.schema.plan import Plan
from voile_base.ondemand import dataclass

__all__ = ["IdentificationAttack"]

Floats = NDArray[np.float64]
Indices = NDArray[np.int64]

_PAIRS = PAIRS


@dataclass(frozen=True)
class IdentificationAttack(Adversary["_Aim"]):
    """An adversary who knows a person's values and looks for the row.

    Raises ``InputError`` where no target or no column is asked for.
    """

    counts_by_link = True
    finds_rows = True

    columns: Sequence[str] | None = field(default=None, metadata=COLUMNS)
    """Columns of the original that the adversary knows; None: the quasi-identifiers."""
    targets: int | None = field(default=1000, metadata=TARGETS)
    """At how many people it is aimed, drawn from the original; None: at all."""
    link: str | None = field(default=None, metadata=LINK)
    """A column of the release and the original that tells rows apart; the adversary has it not."""
    population: bool = field(
        default=False,
        metadata=asks("--population"),
    )
    """Whether the adversary knows how the values of all people are distributed."""

    def __post_init__(self) -> None:
        check_targets(self.targets)
        object.__setattr__(self, "columns", checked_columns(self.columns, self.link))

    @property
    def name(self) -> str:
        """The name by which a command or a study asks for the attack."""
        return "identification"

    def refusal(self, release: Release, plan: Plan | None = None) -> str | None:
        """Why the attack makes no sense for a release, as a clause; None where it does."""
        return nobody_known(release, self.columns)

    def aim(self, scene: Scene) -> _Aim:
        """Some people, and what the release shows of them."""
        people, published = scene.people, scene.published
        columns = published.known_columns(people, self.columns, self.link)
        targets = draw_targets(people, columns, self.targets, scene.randomness, self.link)
        truth = None
        if self.link is None and not scene.release.disclosure.made_up:
            key = scene.randomness.key("standing")
            standing = Standing.told(published, people, columns, key)
            truth = None if standing is None else standing[targets]
        sightings = Sightings.of(published, people, columns, targets)
        if self.link is not None:
            rows = rows_of_people(published, people, self.link, targets)
            # The last entry, to which -1 leads, stands for rows that were not published.
            truth = np.append(sightings.place, -1)[rows]
        unclear = unclear_columns(published, people, columns)
        return _Aim(columns, targets, sightings, truth, unclear)

    def guess(self, scene: Scene, aim: _Aim) -> Guesses:
        """How probable each published row is theirs."""
        beliefs = self._beliefs(aim)
        chance = sampling(scene.release)
        beliefs = beliefs.sampled(chance)
        described = scene.people.frame.select(aim.columns)
        return Guesses(
            goal="the best guess among the published rows is the target's own row",
            success=beliefs.success,
            probability=beliefs.given_to_truth,
            baseline=chance / scene.release.rows,
            known=lambda i: described.row(int(aim.targets[i]), named=True),
            assumptions=tuple(self._assumptions(aim.columns, chance, checked=beliefs.checked)),
            notes=(
                *aim.sightings.notes,
                *([unclear_missing(aim.unclear)] if aim.unclear else []),
                *_notes(beliefs, aim.truth),
            ),
            checked=beliefs.checked,
            aimed=beliefs.aimed,
            bounded=not aim.unclear or (beliefs.checked and not self.population),
            upper_bound=bool(aim.unclear),
        )

    def _beliefs(self, aim: _Aim) -> _Beliefs:
        """What he believes, missing cells that have two readings being read as is worse."""
        judged = partial(_beliefs, truth=aim.truth, targets=len(aim.targets))
        if not aim.unclear:
            return judged(aim.sightings, population=self.population)
        read = aim.sightings.read(own=aim.truth)
        beliefs = judged(read, population=self.population)
        if beliefs.checked:
            return beliefs
        return beliefs.or_worse(judged(aim.sightings, population=self.population))

    def _assumptions(
        self, columns: Sequence[str], chance: float, *, checked: bool
    ) -> Iterator[str]:
        named = ", ".join(columns)
        yield f"the adversary knows {named} of a target exactly"
        yield "he knows that the target is in the table that was published"
        yield "he knows the release, and the method with its parameters"
        yield (
            "he knows how the values of the targets are distributed"
            if self.population
            else "he knows nothing beforehand of the values of others"
        )
        if chance < 1:
            yield f"each row was sampled with probability {chance:g}, and he does not know which"
        if not checked:
            yield (
                "nothing tells which row is whose: the rates are what he believes himself, and no "
                "count of right guesses"
            )


@dataclass(frozen=True, eq=False)
class _Aim:
    """The t people at whom the attack is aimed."""

    columns: tuple[str, ...]
    """What the adversary knows of them."""
    targets: Indices
    """Shape (t,): their rows in the original."""
    sightings: Sightings
    truth: Indices | None
    """Shape (t,): the sighting of each target's own row, -1 where it was not published; None where
    nothing tells it."""
    unclear: tuple[str, ...]
    """Columns whose missing cells have two readings; see ``fitted``."""


@dataclass(frozen=True, eq=False)
class _Beliefs:
    """What the adversary believes of t targets: sums over published rows, shape (t,) each."""

    checked: bool
    """Whether the truth is known."""
    best: Floats
    """The largest probability of a row; 0 where no row fits."""
    squares: Floats
    """The sum of squared probabilities: the mean of that of the true row, if they are right."""
    right: Floats
    """The chance that the best guess is the true row; 0 where the truth is not known."""
    true: Floats
    """The probability of the true row; 0 where it is not published or not known."""

    def sampled(self, chance: float) -> _Beliefs:
        """The same where a target was sampled with this probability before it was published."""
        return replace(
            self,
            best=self.best * chance,
            squares=self.squares * chance**2,
            true=self.true * chance,
        )

    def or_worse(self, other: _Beliefs) -> _Beliefs:
        """Of two readings of the release the one that says more of a target, where none is true."""
        best, squares = np.maximum(self.best, other.best), np.maximum(self.squares, other.squares)
        return replace(self, best=best, squares=squares)

    @property
    def success(self) -> Floats:
        """The chance that the best guess is right: counted, or else believed."""
        return self.right if self.checked else self.best

    @property
    def given_to_truth(self) -> Floats:
        """The probability of the true row, or what the adversary expects it to be."""
        return self.true if self.checked else self.squares

    @property
    def aimed(self) -> Floats:
        """By how much a target is given away: the probability of the true row, or of the best."""
        return self.true if self.checked else self.best


def _beliefs(
    sightings: Sightings, truth: Indices | None, targets: int, population: bool
) -> _Beliefs:
    """What the probabilities of all rows come to for each of t targets.

    ``truth`` (t,) is the sighting of each target's own row, -1 where it was not published.
    """
    own = np.full(targets, -1) if truth is None else truth
    chunks = posteriors(sightings, targets, population=population, pairs=_PAIRS)
    judged = [
        _judged(weights, sightings.rows[which], _among(own[chunk], which))
        for chunk, which, weights in chunks
    ]
    sums = (np.concatenate(numbers) for numbers in zip(*judged, strict=True))
    return _Beliefs(truth is not None, *sums)


def _judged(weights: Floats, rows: Indices, own: Indices) -> tuple[Floats, Floats, Floats, Floats]:
    """The sums of ``_Beliefs`` for some of the targets; ``weights`` (targets, g)."""
    top = weights.max(axis=1, initial=0.0)
    if not len(rows):
        return top, np.zeros_like(top), np.zeros_like(top), np.zeros_like(top)
    best = weights == top[:, np.newaxis]
    one = np.arange(len(own))
    published = (top > 0) & (own >= 0)
    return (
        top,
        weights**2 @ rows,
        published * best[one, own] / (best @ rows),
        published * weights[one, own],
    )


def _among(own: Indices, which: Indices) -> Indices:
    """The place of each sighting among some, ascending; -1 for one that is not among them."""
    place = np.searchsorted(which, own)
    there = np.append(which, -1)[place] == own
    return np.where(there & (own >= 0), place, -1)


def _notes(beliefs: _Beliefs, truth: Indices | None) -> Iterator[str]:
    nowhere = int((beliefs.best == 0).sum())
    if nowhere:
        yield f"no published row fits {nowhere:,} of the targets; for them every guess fails"
    if truth is not None and (absent := int((truth < 0).sum())):
        yield f"{absent:,} of the targets were not published; for them every guess fails"
