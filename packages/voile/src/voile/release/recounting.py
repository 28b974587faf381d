"""A release recounted from its folder alone: its files by their hashes, and each of its claims.

What a publisher measured before the release appeared (``check``) is measured again on what stands
in the folder, by whoever received it; and what ``release.json`` says in one place is held against
what it says in another.  A claim, or a part of one, that no output can show is told as such; what
stands in words beside the claims is derived from them anew, and what nobody understands is refused.

With the private original, more can be seen (``original_checks``): values that it does not hold,
permutations that are none, noise that is none.

Whoever mends all statements of a release alike, and the rows to fit, states a smaller promise that
holds.  Which promise was published, signatures and the ledger tell.

Cost: that of reading a release, and of ``check`` on every column.

What the private original shows of a release that its rows alone do not; private.

- Columns shown as they are, or permuted, hold no value oftener than the original does.
- Values that are said to be permuted within groups: were they left in their rows, more published
  rows would have a row of the original than after a permutation.  Under the claim the rows are
  exchangeable with those of any further permutation, so they are held against ``_TRIES`` of these.
- Values that are said to have noise: were they the true ones, more of them would be values of the
  original than with the stated noise, drawn ``_TRIES`` times from the original.
- Positions that are said to be moved are not where they were.

A test refuses what lies above all tries and above ``_FAR`` standard deviations over their mean, by
a twentieth of the rows: a good release is refused with a probability below 1 in 10^9 where tries
are nearly normal.  Where no release could lie there, the test cannot tell, and says so.

Cost: a sort of the rows for each try.

Reports of trips beside the true ones: the same trip at the same time
---------------------------------------------------------------------
Trips are told apart by their ids, which a release shows unless it numbers them anew.  Of several
reports of a trip at one time only the first of each side counts.

Cost: a join of n reports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from voile.disclosure.noise import StatedNoise
from voile.disclosure.shown import SHOWN, ComparedColumn
from voile.dp.discrete_noise import DiscreteLaplace
from voile.release.check import column_breaches, wording_breaches
from voile.release.claims import Claim, UnknownClaim
from voile.release.folder import (
    DOCUMENT,
    ReleaseDocument,
    release_document,
    require_hashes,
    verified_files,
    whole_of,
)
from voile.release.reading import PublishedRows, floats_of
from voile.release.release import Guarantee, Release, read_release
from voile.schema.trajectory import TrajectoryColumns
from voile.table.alignment import common_places
from voile.table.arrays import Frame, from_native
from voile.table.engines import AUTO
from voile.table.protocol import Engine
from voile.table.published import metadata_breaches
from voile.table.remote import brought_release
from voile_base.errors import InputError, RefusedError, TableError, nearest
from voile_base.ondemand import dataclass
from voile_base.randomness import Randomness
from voile_base.registry import Registry
from voile_base.values import Document, exact_decimal

__all__ = [
    "FORMS",
    "Recount",
    "RecountedClaim",
    "columns_of",
    "paired_reports",
    "read_recounted",
    "told_beside",
    "told_breaches",
]


_TRIES, _FAR = 40, 8.0
_MORE = 0.05
"""The share of rows beyond chance that is no accident of a draw that never came up."""
_FEWEST = 20
"""Rows, below which chance is not told from a fault."""
_STILL = 0.5
"""The share of reports that no noise leaves where they were."""

Codes = NDArray[np.int64]


@dataclass(frozen=True)
class _Compared:
    """What the original showed; private."""

    breaches: tuple[str, ...]
    """What contradicts the release, a sentence each."""
    held: tuple[str, ...]
    """What was looked at and may hold, a clause each."""
    unseen: tuple[str, ...]
    """What could not be looked at, a clause each."""


def _compared(release: Release, original: Frame) -> _Compared:
    """Hold a release against the private table that it was made of."""
    sides = _Sides(PublishedRows.of(release), original, Randomness.secure())
    breaches, held, unseen = list[str](), list[str](), list[str]()
    for name, shown in release.disclosure.columns.items():
        try:
            found = shown.against(name, sides)
        except InputError as error:
            found = sides.not_compared(name, str(error).rstrip("."))
        if found is not None:
            {True: held, False: breaches, None: unseen}[found.holds].append(found.what)
    return _Compared(tuple(breaches), tuple(held), tuple(unseen))


@dataclass(frozen=True, eq=False)
class _Sides:
    """The rows of a release beside those of the original."""

    published: PublishedRows
    original: Frame
    randomness: Randomness

    def values(self, name: str) -> ComparedColumn:
        """Whether the original holds each value at least as often."""
        if absent := self._absent(name):
            return absent
        if surplus := self._surplus(name):
            what = (
                f"column {name!r} shows {surplus:,} values oftener than INPUT holds them (where a "
                "plan clamps values to bounds, name it: --plan)"
            )
            return ComparedColumn(False, what)
        return ComparedColumn(True, f"column {name!r}: INPUT holds all of its values")

    def not_compared(self, name: str, why: str) -> ComparedColumn:
        """That nothing was compared."""
        return ComparedColumn(None, f"column {name!r}: {why}")

    def _absent(self, name: str) -> ComparedColumn | None:
        """That the original lacks a column, if it does."""
        lacks = name not in self.original.columns
        return self.not_compared(name, "INPUT has no such column") if lacks else None

    def _places(self, names: Sequence[str]) -> tuple[Codes, Codes]:
        """The rows of both sides by what they show in some columns."""
        shown, own = common_places(
            [self.published.frame.select(names), self.original.select(names)]
        )
        return shown, own

    def _surplus(self, name: str) -> int:
        """How many values the release shows oftener than the original; missing ones are none."""
        shown, own = self._places([name])
        present = self.published.frame[name].is_not_null().to_numpy()
        size = int(max(shown.max(initial=0), own.max(initial=0))) + 1
        counted = np.bincount(shown[present], minlength=size)
        return int((counted > np.bincount(own, minlength=size)).sum())

    def permuted(self, name: str) -> ComparedColumn:
        """Whether values are where they were, by the columns that are shown as they are."""
        if not (counted := self.values(name)).holds:
            return counted
        columns = self.published.disclosure.columns
        exact = [n for n, one in columns.items() if one.as_it_is]
        exact = [n for n in exact if n in self.original.columns]
        if not exact:
            return ComparedColumn(None, f"column {name!r}: nothing ties rows to those of INPUT")
        (rows, own_rows), (value, own) = self._places(exact), self._places([name])
        wide = int(max(value.max(initial=0), own.max(initial=0))) + 1
        group, _ = self.published.groups()
        order = np.argsort(group, kind="stable")
        pairs = own_rows * wide + own

        def anew(number: int) -> int:
            draws = self.randomness.key("permuted", name, str(number)).stream(len(group))
            drawn = np.empty_like(value)
            drawn[order] = value[np.lexsort((draws, group))]
            return _common(rows * wide + drawn, pairs)

        return self._held_against(
            f"column {name!r} is permuted at random",
            f"column {name!r} is said to be permuted, and its values stand in the rows of INPUT",
            _common(rows * wide + value, pairs),
            anew,
        )

    def noisy(self, name: str, shown: StatedNoise) -> ComparedColumn:
        """Whether values are those of the original."""
        if absent := self._absent(name):
            return absent
        values, own = floats_of(self.published.frame[name]), floats_of(self.original[name])
        if shown.clamp is not None:
            own = np.clip(own, *shown.clamp)
        steps, own_steps = (
            np.round(each[np.isfinite(each)] / shown.step).astype(np.int64)
            for each in (values, own)
        )
        least = Fraction(min(cluster.scale for cluster in shown.clusters)) / Fraction(shown.step)
        noise = DiscreteLaplace((least,))
        words = np.arange(len(own_steps), dtype=np.uint64)
        place = np.zeros(len(own_steps), dtype=np.int64)

        def anew(number: int) -> int:
            key = self.randomness.key("noise", name, str(number))
            return _common(own_steps + noise.draw(place, words, key), own_steps)

        return self._held_against(
            f"column {name!r} has noise",
            f"column {name!r} is said to have noise, and shows the values of INPUT",
            _common(steps, own_steps),
            anew,
        )

    def moved(self, name: str, coordinate: str, decimals: int) -> ComparedColumn:
        """Whether positions are where they were."""
        release = self.published.release
        pairs = paired_reports(release, self.original, columns_of(release))
        one, other = (floats_of(pairs[f"{side}_{coordinate}"]) for side in ("shown", "true"))
        still = np.abs(one - other) <= 10.0**-decimals
        if len(still) < _FEWEST:
            return ComparedColumn(None, f"column {name!r}: too few reports are those of INPUT")
        if still.mean() > _STILL:
            return ComparedColumn(
                False, f"column {name!r} is said to be moved, and shows where INPUT is"
            )
        return ComparedColumn(True, f"column {name!r} is moved")

    def _held_against(
        self, holds: str, broken: str, found: int, anew: Callable[[int], int]
    ) -> ComparedColumn:
        """A count against those of further draws of the same make."""
        tries = np.array([anew(number) for number in range(_TRIES)], dtype=np.float64)
        most = min(self.published.frame.height, self.original.height)
        usual = max(tries.mean() + _FAR * tries.std(), tries.max()) + _MORE * most
        if found > usual:
            return ComparedColumn(False, broken)
        if usual >= most or most < _FEWEST:
            return ComparedColumn(None, f"whether {holds}: chance alone would show as much")
        return ComparedColumn(True, holds)


def _common(some: Codes, others: Codes) -> int:
    """How many elements two multisets have in common."""
    value, count = np.unique(some, return_counts=True)
    other, times = np.unique(others, return_counts=True)
    _, one, two = np.intersect1d(value, other, assume_unique=True, return_indices=True)
    return int(np.minimum(count[one], times[two]).sum())


_REMEDY = "do not rely on this folder; take the release as it was published"
_TOGETHER = "what this release tells beside the others of its series"
_SAME = ("k", "e", "precision", "top", "beta", "clusters")
"""Parameters of a method that its claim repeats."""


class _ReleaseForm(Protocol):
    """What a folder holds that is no release of rows: ``form`` of its ``release.json``."""

    def recount(
        self, folder: Path, document: Mapping[str, object], engine: Engine | str
    ) -> Recount:
        """What the folder shows; raises as the function of this name."""


FORMS: Registry[_ReleaseForm] = Registry(
    group="voile.forms",
    what="a form of release",
    own={"tables": "voile.tabular.claims:TablesForm"},
    offers=("recount",),
    error=TableError,
)


@dataclass(frozen=True)
class RecountedClaim:
    """One claim, and what the rows show of it."""

    claim: Claim
    breaches: tuple[str, ...]
    """What contradicts it, a sentence each."""
    in_series: bool = False
    """Whether it is of a series, of whose other releases the folder shows nothing."""

    @property
    def unseen(self) -> tuple[str, ...]:
        """What no output shows of it, a clause each."""
        return (*self.claim.unseen, *([_TOGETHER] if self.in_series else []))


@dataclass(frozen=True)
class Recount:
    """What a folder shows of its release."""

    folder: Path
    files: tuple[str, ...]
    """All of which have the hashes that are listed."""
    rows: int
    claims: tuple[RecountedClaim, ...]
    others: tuple[str, ...] = ()
    """What contradicts the release otherwise, a sentence each."""
    beside: tuple[str, ...] = ()
    """What it says beside its claims and rows that does not follow from these, told last."""
    compared: _Compared | None = None
    """What the private original shows, where it was given; private."""

    @property
    def whole(self) -> Path:
        """What is read as one table: the file, or the folder of the parts."""
        return whole_of(self.folder, self.files)

    @property
    def breaches(self) -> tuple[str, ...]:
        """All that contradicts the release."""
        found = [*self.others, *(what for one in self.claims for what in one.breaches)]
        return (*found, *self.beside, *(self.compared.breaches if self.compared else ()))

    @property
    def unknown(self) -> tuple[str, ...]:
        """The kinds of claims that nobody here can measure."""
        return tuple(one.claim.kind for one in self.claims if isinstance(one.claim, UnknownClaim))

    def refusal(self) -> RefusedError | None:
        """Why the release is refused; None where nothing contradicts it."""
        if not self.breaches:
            return None
        more = len(self.breaches) - 1
        further = f" (and {more} more: voile recount tells)" if more else ""
        msg = f"{self.folder}: the release is not what it claims: {self.breaches[0]}{further}"
        return RefusedError(f"{msg}; {_REMEDY}")

    @staticmethod
    def of(folder: str | Path, original: Any = None, *, engine: Engine | str = AUTO) -> Recount:
        """Recount a release from its folder; ``original`` is a frame of the private table, if any.

        ``engine`` holds the rows, or is its name.  Raises ``TableError`` where the folder is no
        release, and ``RefusedError`` where its files are not those that it lists, or where no
        package that is installed knows how it shows a column.
        """
        place = brought_release(folder)
        document = release_document(place)
        if isinstance(form := document.get("form"), str):
            if original is not None:
                msg = f"{place}: it holds {form} and no rows to be compared with the original"
                raise InputError(msg)
            return FORMS.make(form, {}).recount(place, document, engine)
        _refuse_unknown_showing(place, document)
        if document.get("rows") == 0:
            return _of_no_row(place, document)
        release = read_release(place, engine=engine)
        found = _recounted(place, document, release)
        return found if original is None else replace(found, compared=_compared(release, original))


def read_recounted(folder: str | Path, *, engine: Engine | str = AUTO) -> Release:
    """Read a release whose claims hold as far as its rows show.

    Raises ``RefusedError`` where one does not, and otherwise as ``Recount.of``.
    """
    place = brought_release(folder)
    _refuse_unknown_showing(place, release_document(place))
    release = read_release(place, engine=engine)
    if refusal := _recounted(place, release_document(place), release).refusal():
        raise refusal
    return release


def _refuse_unknown_showing(place: Path, document: Mapping[str, object]) -> None:
    """Raise ``RefusedError`` for a column that is shown in a kind that nothing installed adds."""
    columns = document.get("columns")
    for name, shown in columns.items() if isinstance(columns, dict) else ():
        kind = shown.get("kind") if isinstance(shown, dict) else None
        if isinstance(kind, str) and kind not in SHOWN:
            msg = (
                f"{place / DOCUMENT}: columns.{name}: unknown kind {kind!r}"
                f"{nearest(kind, SHOWN.names)}: nothing that is installed can measure it; where "
                "another package adds a kind of showing of this name, install it"
            )
            raise RefusedError(msg)


def _of_no_row(place: Path, document: Document) -> Recount:
    """A release that shows nobody: its files are compared, and its claims hold of nothing."""
    require_hashes(document, place)
    ReleaseDocument.stated_in(document, place)
    files = verified_files(document, place).names
    claims = Guarantee.of_document(document["guarantee"], f"{place / DOCUMENT}: guarantee").claims
    held = tuple(RecountedClaim(one, (), bool(document.get("series"))) for one in claims)
    beside = told_beside(document, place, files, claims)
    return Recount(place, files, 0, held, beside=beside)


def told_beside(
    document: Document, place: Path, files: Sequence[str], claims: Sequence[Claim]
) -> tuple[str, ...]:
    """What a release says beside its claims and its rows that does not follow from these."""
    beside = [part["file"] for part in document.get("measurements") or ()]
    paths = [place / name for name in (*files, *beside)]
    return (
        *told_breaches(wording_breaches(document, claims)),
        *told_breaches(metadata_breaches(paths)),
    )


def _recounted(place: Path, document: Document, release: Release) -> Recount:
    asked = _number(release.method.get("confidence"))
    claims = release.guarantee.claims
    files = tuple(part["file"] for part in document["data"])
    return Recount(
        folder=place,
        files=files,
        rows=release.rows,
        claims=tuple(
            RecountedClaim(one, told_breaches(_claim_breaches(release, one)), bool(release.series))
            for one in claims
        ),
        others=(
            *told_breaches(_document_breaches(document, release)),
            *told_breaches(column_breaches(release, asked)),
        ),
        beside=told_beside(document, place, files, claims),
    )


def told_breaches(found: Iterator[str]) -> tuple[str, ...]:
    """All that is found; what cannot be measured contradicts what is stated of it."""
    try:
        return tuple(found)
    except (
        InputError,
        LookupError,
        TypeError,
        ValueError,
        ArithmeticError,
        AttributeError,
    ) as error:
        what = str(error).rstrip(".") if isinstance(error, InputError) else "it cannot be measured"
        return (f"a statement of release.json does not fit the rows: {what}",)


def _claim_breaches(release: Release, claim: Claim) -> Iterator[str]:
    if isinstance(claim, UnknownClaim):
        return
    yield from claim.breaches(release)
    yield from claim.contradictions(release)
    if claim is release.guarantee.claims[0]:
        stated = claim.document()
        for name in _SAME:
            asked, claimed = release.method.get(name), stated.get(name)
            if _number(asked) is not None and _number(claimed) not in {None, _number(asked)}:
                yield f"it claims {name} = {claimed}, and its method was asked for {asked}"


def _number(value: object) -> Decimal | None:
    is_number = isinstance(value, int | float | Decimal) and not isinstance(value, bool)
    return exact_decimal(value) if is_number else None  # type: ignore[arg-type]


def _document_breaches(document: Mapping[str, object], release: Release) -> Iterator[str]:
    if document.get("rows") != release.rows:
        yield f"its files have {release.rows:,} rows, and it states {document.get('rows')}"


_MILLISECONDS = 1e11
"""Larger numbers are milliseconds since 1970."""
_PLACES = ("latitude", "longitude")


def columns_of(release: Release) -> TrajectoryColumns:
    """The columns of trips as a release names them, which are those of its original."""
    trip, time, latitude, longitude = (
        release.roles.get(role, (role,))[0] for role in ("trip", "time", *_PLACES)
    )
    return TrajectoryColumns(trip, time, latitude, longitude)


def paired_reports(release: Release, original: object, named: TrajectoryColumns) -> pl.DataFrame:
    """Published and true reports side by side, by trip and time; private.

    Columns: ``trip`` (texts), ``time`` (seconds), ``shown_`` and ``true_`` ``latitude`` and
    ``longitude`` in degrees, or ``shown_remaining`` in metres in place of what is shown of
    positions, and where ``named`` has a destination, ``to_latitude`` and ``to_longitude``.

    ``original`` is the private table, a data frame of any kind.  Raises ``InputError`` where it
    lacks a column, or no report of the release is one of its own.
    """
    private, _ = from_native(original)
    for name in named.names:
        if name not in private.columns:
            msg = (
                f"the private original has no column {name!r}; name its columns in a plan ([roles])"
            )
            raise InputError(msg)
    true = {f"true_{role}": getattr(named, role) for role in _PLACES}
    true |= dict(zip(("to_latitude", "to_longitude"), named.destination or (), strict=False))
    shown = {
        f"shown_{role}": release.roles[role][0]
        for role in (*_PLACES, "remaining")
        if role in release.roles
    }
    public = pl.DataFrame(release.table.to_arrow())
    trip, time = (release.roles[role][0] for role in ("trip", "time"))
    pairs = (
        _reports(public, (trip, time), shown)
        .join(_reports(private, (named.trip, named.time), true), on=["trip", "time"])
        .sort("trip", "time")
    )
    if pairs.is_empty():
        msg = (
            "no report of the release is one of the original: their trips are numbered anew, or "
            "these are other trips"
        )
        raise InputError(msg)
    return pairs


def _reports(frame: pl.DataFrame, keys: tuple[str, str], numbers: dict[str, str]) -> pl.DataFrame:
    """The reports of one side, its columns by what they are."""
    return frame.select(
        pl.col(keys[0]).cast(pl.String).alias("trip"),
        _seconds(frame[keys[1]]).alias("time"),
        *(pl.col(column).cast(pl.Float64).alias(name) for name, column in numbers.items()),
    ).unique(["trip", "time"], keep="first", maintain_order=True)


def _seconds(values: pl.Series) -> pl.Series:
    """Times in seconds since 1970."""
    if values.dtype == pl.String:
        values = values.str.to_datetime(strict=False)
    if values.dtype.is_temporal():
        return values.dt.epoch("ms").cast(pl.Float64) / 1000
    numbers = values.cast(pl.Float64)
    return numbers / 1000 if np.any(np.abs(numbers.to_numpy()) > _MILLISECONDS) else numbers
