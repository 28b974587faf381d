"""Row tracing: how often rows that were taken apart are put together again.

What it does: knows of each person all that a release shows unpermuted, the fingerprint; finds the
rows with this fingerprint, picks one, and takes what it shows in the permuted columns for the
person's own values.

Source: the fingerprint of a shuffled row and the attack by it are those of the seed, "Privacy
Preserving in Big Data Sets through Multiple Shuffle" (ACSW 2017), whose measure P_table only counts
arrangements; here rows are counted.  What chance explains is elementary: a uniform permutation
within clusters gives a row of cluster c the value v with probability n_cv / n_c, independently for
each permuted column.

Adversary: knows the fingerprint of the target exactly (by default every column that the release
shows unpermuted, sensitive ones too), the release and which columns were permuted.

Success: the row that is picked shows the target's own values in all permuted columns; of several
rows with the fingerprint one is drawn.  Baseline: a row drawn from the whole release for each
permuted column, which is what a permutation in one cluster leaves.  The best blind guess, the most
common value of every column, is named in the notes: where a value is very common, it beats both.

Claim: every success is counted against the original.  If a permutation is uniform, successes are
expected as often as the notes say that chance explains.

Algorithm: number the distinct fingerprints of original and release, and the distinct whole rows;
count.  Cost: a sort of the n rows of both, twice; O(n m) for m permuted columns.

Departures: none is known; the seed describes no algorithm for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betainc

from voile.attack.adversary import Adversary, Guesses, Scene
from voile.attack.posterior import PAIRS, draw_targets
from voile.attack.protocol import COLUMNS, TARGETS, check_targets, checked_columns
from voile.disclosure.exact import group_counts
from voile.release.reading import People, PublishedRows, texts_of
from voile.release.release import Release
from voile.schema.plan import Plan
from voile.table.alignment import common_places
from voile.table.arrays import frame_of, text_values
from voile_base.errors import InputError
from voile_base.ondemand import dataclass

__all__ = ["RowTracingAttack"]

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]


@dataclass(frozen=True)
class RowTracingAttack(Adversary["_Aim"]):
    """An adversary who puts rows of permuted columns together again by what stayed in them.

    Raises ``InputError`` where no target or no column is asked for.
    """

    columns: Sequence[str] | None = field(default=None, metadata=COLUMNS)
    """The fingerprint; None: all columns of the original that are published unpermuted."""
    targets: int | None = field(default=1000, metadata=TARGETS)
    """At how many people it is aimed, drawn from the original; None: at all."""

    def __post_init__(self) -> None:
        check_targets(self.targets)
        object.__setattr__(self, "columns", checked_columns(self.columns))

    @property
    def name(self) -> str:
        """The name by which a command or a study asks for the attack."""
        return "row-tracing"

    def refusal(self, release: Release, plan: Plan | None = None) -> str | None:
        """Why the attack makes no sense for a release, as a clause; None where it does."""
        disclosure = release.disclosure
        if not disclosure.permuted:
            return "no column of the release is permuted, so that its rows were not taken apart"
        if self.columns is None and disclosure.columns.keys() <= disclosure.permuted:
            return "every column of the release is permuted, so that nothing is left to trace"
        return None

    def aim(self, scene: Scene) -> _Aim:
        """Some people, and all rows by their fingerprints."""
        published, people = scene.published, scene.people
        fingerprint = self._fingerprint(published, people)
        permuted = published.known_columns(people, sorted(published.permuted), None)
        rows = _Rows.of(published, people, fingerprint, permuted)
        known = (*fingerprint, *permuted)
        targets = draw_targets(people, known, self.targets, scene.randomness)
        return _Aim(fingerprint, permuted, rows, targets)

    def guess(self, scene: Scene, aim: _Aim) -> Guesses:
        """Whether a row with their fingerprint shows their own values."""
        rows, targets = aim.rows, aim.targets
        success = rows.success()[targets]
        described = scene.people.frame.select(aim.fingerprint)
        return Guesses(
            goal=f"a row with the target's fingerprint shows the own {_named(aim.permuted)}",
            success=success,
            probability=success,
            baseline=float(rows.share_of_all()[targets].mean()),
            known=lambda i: described.row(int(targets[i]), named=True),
            assumptions=tuple(_assumptions(aim.fingerprint)),
            notes=tuple(_notes(rows, targets)),
        )

    def _fingerprint(self, published: PublishedRows, people: People) -> tuple[str, ...]:
        """The columns by which the adversary knows people."""
        asked = self.columns
        if asked is None:
            columns = people.frame.columns
            asked = [
                name for name in columns if (shown := published.shown(name)) and shown.as_it_is
            ]
        for name in asked:
            if name in published.permuted:
                msg = f"column {name!r} is permuted, and so it is no part of a fingerprint"
                raise InputError(msg)
            if (shown := published.shown(name)) is not None and not shown.as_it_is:
                msg = (
                    f"column {name!r} is not published as it is; a fingerprint is compared exactly"
                )
                raise InputError(msg)
        return published.known_columns(people, asked, None)


@dataclass(frozen=True, eq=False)
class _Rows:
    """The n published rows beside the t rows of the original, numbered alike; private."""

    fingerprint: tuple[Codes, Codes]
    """Of published and of original rows, shapes (n,) and (t,), below ``fingerprints``."""
    whole: tuple[Codes, Codes]
    """The same of fingerprint and permuted values together."""
    group: Codes
    """Of each published row, shape (n,)."""
    permuted: tuple[tuple[Codes, Codes], ...]
    """The same of the values of each permuted column."""

    @classmethod
    def of(
        cls,
        published: PublishedRows,
        people: People,
        fingerprint: Sequence[str],
        permuted: Sequence[str],
    ) -> _Rows:
        """Compare these columns, value by value, as texts."""
        names = (*fingerprint, *permuted)
        shown, own = (
            frame_of({name: text_values(texts_of(column(name))) for name in names})
            for column in (published.frame.get_column, people.column)
        )

        def numbered(columns: Sequence[str]) -> tuple[Codes, Codes]:
            first, second = common_places([shown.select(columns), own.select(columns)])
            return first, second

        return cls(
            fingerprint=numbered(fingerprint),
            whole=numbered(names),
            group=published.groups()[0],
            permuted=tuple(numbered([name]) for name in permuted),
        )

    def success(self) -> Floats:
        """The chance that a row with the fingerprint shows the own values, by original row."""
        return _counts(*self.whole) / np.maximum(_counts(*self.fingerprint), 1)

    def share_of_all(self) -> Floats:
        """The chance that rows drawn for each permuted column show the own values."""
        shares = [_counts(*values) / len(self.group) for values in self.permuted]
        return np.asarray(np.prod(shares, axis=0))

    def explained(self) -> Floats:
        """The chance of success under uniform permutations within groups, for each original row."""
        groups = self.group, int(self.group.max()) + 1
        marked = _sparse(self.fingerprint, groups)
        within = (marked / np.maximum(marked.sum(axis=1), 1)[:, np.newaxis]).tocsr()
        sizes = np.bincount(self.group)
        shares = [(_sparse(values, groups) / sizes).tocsr() for values in self.permuted]
        found = np.empty(len(self.whole[1]))
        step = max(1, PAIRS // len(sizes))
        for start in range(0, len(found), step):
            part = slice(start, start + step)
            chance = within[self.fingerprint[1][part]]
            for share, (_, own) in zip(shares, self.permuted, strict=True):
                chance = chance.multiply(share[own[part]])
            found[part] = chance.sum(axis=1)
        return found

    def kept_whole(self) -> Floats:
        """Whether each original row appears whole, as often as it stands in the original."""
        return (_occurrence(self.whole[1]) <= _counts(*self.whole)).astype(np.float64)

    def explained_whole(self) -> Floats:
        """About how probable that is, as if each row with the fingerprint had its own draw."""
        rows, chance = _counts(*self.fingerprint), np.minimum(self.explained(), 1.0)
        times = _occurrence(self.whole[1])
        enough = rows >= times
        # At least ``times`` of ``rows`` draws succeed: the tail of the binomial distribution.
        tail = betainc(times, np.where(enough, rows - times + 1, 1), chance)
        return np.where(enough, tail, 0.0)

    def most_common(self) -> NDArray[np.bool_]:
        """Whether each original row has the most common value of every permuted column."""
        right = [own == np.bincount(shown).argmax() for shown, own in self.permuted]
        return np.asarray(np.logical_and.reduce(right))


@dataclass(frozen=True, eq=False)
class _Aim:
    """The t people at whom the attack is aimed."""

    fingerprint: tuple[str, ...]
    permuted: tuple[str, ...]
    rows: _Rows
    targets: Codes
    """Shape (t,): their rows in the original."""


def _counts(shown: Codes, own: Codes) -> NDArray[np.int64]:
    """How many published rows have the code of each original row."""
    return np.bincount(shown, minlength=int(own.max()) + 1)[own]


def _sparse(codes: tuple[Codes, Codes], groups: tuple[Codes, int]) -> Any:
    """How many published rows have each code in each group."""
    shown, own = codes
    return group_counts((shown, int(max(shown.max(), own.max())) + 1), groups)


def _occurrence(codes: Codes) -> NDArray[np.int64]:
    """Which of the rows with its code each row is, from 1."""
    order = np.argsort(codes, kind="stable")
    ascending = codes[order]
    first = np.searchsorted(ascending, ascending)
    found = np.empty(len(codes), dtype=np.int64)
    found[order] = np.arange(len(codes)) - first + 1
    return found


def _named(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def _assumptions(fingerprint: Sequence[str]) -> Iterator[str]:
    yield f"the adversary knows {', '.join(fingerprint)} of a target exactly: the fingerprint"
    yield "he knows that the target is in the table that was published"
    yield "he knows the release, and which of its columns were permuted"


def _notes(rows: _Rows, targets: Codes) -> Iterator[str]:
    yield (
        "if the values were permuted uniformly within their groups, chance explains a success of "
        f"{rows.explained()[targets].mean():.4f}"
    )
    yield (
        f"{rows.kept_whole().mean():.2%} of all rows of the original appear whole in the release; "
        f"chance within the groups explains about {rows.explained_whole().mean():.2%}"
    )
    yield (
        "naming the most common value of every permuted column, without any fingerprint, is right "
        f"for {rows.most_common()[targets].mean():.4f} of the targets"
    )
    nowhere = int((_counts(*rows.fingerprint)[targets] == 0).sum())
    if nowhere:
        yield f"no row shows the fingerprint of {nowhere:,} of the targets; every guess fails"
