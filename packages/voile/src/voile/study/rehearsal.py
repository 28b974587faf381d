"""A rehearsal: the same plan published on fewer rows, to count what the release itself cannot show.

What it is for: an adversary who asks whether somebody is in a release is judged by people who are
not, and a program that learns from a release by rows that it has not seen.  Those rows are held out
of the rehearsal; the release under study has all rows.  Where the method publishes other columns as
they are, the rows of the rehearsal carry their numbers, so that it can be counted how often a
guess finds the right row; no release to be published could carry them.

A rehearsal is never written and never charged: it leaves the process as counts alone.

Each row gets 64 bits of a keyed stream, and the rows with the least are held out: every subset of
the right size is as likely as any other.  Two equal words, of which the earlier row counts as
less, happen with a chance below n**2 / 2**65.

Cost: publishing once more, a selection among n words, and one copy of the table.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray

from voile.attack.fitted import Fitted, Standing
from voile.publish.registry import publisher_for, publisher_of
from voile.release.reading import People, PublishedRows
from voile.release.release import Release
from voile.schema.plan import Plan
from voile.schema.roles import Protected
from voile.study.original import Original
from voile.study.plans import of_no_account
from voile.study.run import prepare_release
from voile.table.arrays import Frame, from_native
from voile.table.codes import encode
from voile.table.engines import AUTO
from voile.table.opening import in_full, open_frame
from voile.table.protocol import Engine
from voile.table.published import MANY
from voile.utility.protocol import Comparison
from voile_base.errors import InputError, VoileError
from voile_base.ondemand import dataclass
from voile_base.randomness import Randomness
from voile_base.values import Json

__all__ = [
    "Persons",
    "SplitRows",
    "Staged",
    "can_link",
    "fingerprint",
    "hold_out",
    "hold_rows_out",
    "rehearsed_rows",
    "solutions_document",
]


_AT_ONCE = 1 << 20
"""Rows whose texts are hashed together."""
_LEFT_OUT = "\1left out"
"""Names the rows that are left out among columns that are shown; no file has such a column."""


@dataclass(frozen=True, eq=False)
class SplitRows:
    """The rows of a table, split at random; private."""

    kept: Frame
    held_out: Frame | None
    """A data frame of the same columns; None where no row was held out."""

    def rehearse(
        self,
        plan: Plan,
        randomness: Randomness,
        engine: Engine | str = AUTO,
        like: Release | None = None,
    ) -> Staged:
        """Publish the kept rows as the plan says, charged to nobody.

        Of a series it is the first release, which no ledger learns of.  What the plan leaves to the
        rows, such as the algorithm, is that of the release that it is ``like``.  Raises
        ``VoileError`` as ``make_release`` does: fewer rows may not be enough.
        """
        if like is not None:
            plan = _as_decided(plan, like)
        frame, link, kept = in_full(self.kept), None, plan.roles.keep
        if can_link(plan):
            link = _free_name("row", frame.columns)
            frame = frame.with_row_index(link)
            kept = (*kept, link)
        staged = _keeping(of_no_account(plan), kept)
        with _new_ledger(staged) as ledger:
            made = prepare_release(
                frame, staged, ledger=ledger, randomness=randomness, engine=engine
            )
        return Staged(made.publication.release, staged, frame, self.held_out, link, engine)


@dataclass(frozen=True)
class Persons:
    """Persons or households of a study."""

    protected: Protected
    all_of_them: int
    published: int | None
    """Those who have a published row; None where nobody can tell."""


@dataclass(frozen=True, eq=False)
class Staged:
    """A release, the rows that went in and some that did not; private."""

    release: Release
    plan: Plan
    original: Frame
    """The rows that went in, a data frame."""
    held_out: Frame | None = None
    link: str | None = None
    """The column of row numbers that the release and the original share, if they do."""
    engine: Engine | str = AUTO
    """What holds the rows of the release, and of its rehearsals."""
    of: Staged | None = None
    """The release under study whose rehearsal it is; None of that itself."""

    def comparison(self, randomness: Randomness) -> Comparison:
        """The release beside its original, as measures see it: without row numbers."""
        published, people = self._read
        held_out = None if self.held_out is None else People(self.held_out, people.plan)
        return Comparison(published, people, randomness, held_out)

    @property
    def persons(self) -> Persons | None:
        """How many persons or households there are, in and out; None where each row is one."""
        published, people = self._read
        if people.protected == "row":
            return None
        standing = None
        with suppress(InputError):  # nobody is known by any column
            columns = published.known_columns(people, None, None)
            fitted = Fitted.of(published, people, columns)
            if fitted is not None:
                key = Randomness.secure().key("standing")
                standing = Standing.of(fitted, published, people, columns, key)
        out = None
        if standing is not None and standing.known != "drawn":
            whose, _ = people.units
            out = len(set(whose[standing.place >= 0].tolist()))
        return Persons(people.protected, people.units[1], out)

    @cached_property
    def _read(self) -> tuple[PublishedRows, People]:
        """The same for all measures, which keep what they work out for it."""
        published, plan, original = PublishedRows.of(self.release), self.plan, self.original
        if self.link is not None:
            published = PublishedRows.of(self.release.without(self.link))
            plan = _keeping(plan, (name for name in plan.roles.keep if name != self.link))
            original = original.drop(self.link)
        return published, People.of(published.release, original, plan)


def hold_out(
    frame: object, share: float | Fraction, randomness: Randomness, unit: str | None = None
) -> tuple[Any, Any]:
    """The rows of a data frame that are kept, and those held out, of the frame's own kind.

    Of n rows, ``round(share * n)`` are held out; all such subsets are equally likely.  Rows stay
    in their order in both parts.  With ``unit``, a column that tells persons or households apart,
    n counts these, and all rows of one are in the same part.  Raises ``InputError`` where ``share``
    is not between 0 and 1, both excluded, or one part would have no row; ``TableError`` where the
    object is no data frame.
    """
    rows, to_native = from_native(frame)
    held_out = _held_out(rows, share, randomness, unit)
    return to_native(rows.filter(~held_out)), to_native(rows.filter(held_out))


def _held_out(
    rows: Frame, share: float | Fraction, randomness: Randomness, unit: str | None
) -> NDArray[np.bool_]:
    """Which rows are held out, shape (n,); raises ``InputError`` as ``hold_out`` does."""
    if not 0 < share < 1:
        msg = f"the share of rows to hold out must lie between 0 and 1, both excluded, not {share}"
        raise InputError(msg)
    whose = np.arange(rows.height) if unit is None else encode(rows[unit]).codes
    there = rows.height if unit is None else rows[unit].n_unique()
    held = round(share * there)
    if not 0 < held < there:
        what = "rows" if unit is None else "persons"
        msg = (
            f"a share of {share} of {there} {what} leaves one part empty; give more {what}, or a "
            "share nearer to one half"
        )
        raise InputError(msg)
    words = randomness.key("hold out").stream(there)
    most = np.partition(words, held - 1)[held - 1]
    held_out = words < most
    held_out[np.flatnonzero(words == most)[: held - np.count_nonzero(held_out)]] = True
    found: NDArray[np.bool_] = held_out[whose]
    return found


def rehearsed_rows(frame: Frame, randomness: Randomness, unit: str | None = None) -> Frame:
    """The rows that a rehearsal may be made of: of more than ``MANY`` a sample of half as many.

    Whole persons or households, where ``unit`` tells them apart; about so many rows then.
    """
    if len(frame) <= MANY:
        return frame
    rows, to_native = from_native(frame)
    kept: Frame = to_native(
        rows.filter(~_held_out(rows, 1 - MANY / 2 / len(frame), randomness, unit))
    )
    return kept


def hold_rows_out(
    frame: Frame, share: float, randomness: Randomness, unit: str | None = None
) -> SplitRows:
    """Hold a share of the rows out, from 0 to below 1; all are kept where too few would remain.

    Whole persons or households, where ``unit`` is the column that tells them apart.
    """
    there = len(frame) if unit is None else frame[unit].n_unique()
    held = round(share * there)
    if not 0 < held < there:
        return SplitRows(frame, None)
    return SplitRows(*hold_out(frame, share, randomness, unit))


def fingerprint(release: Release) -> str:
    """Alike for releases that show the same rows, in whatever order; private, as a record is."""
    frame = PublishedRows.of(release).frame
    columns = sorted(frame.columns)
    frame = frame.select(columns)
    rows = np.empty(frame.height, dtype=np.uint64)
    for start in range(0, frame.height, _AT_ONCE):  # texts in full, however they are held
        some = in_full(frame[start : start + _AT_ONCE])
        rows[start : start + some.height] = some.hash_rows().to_numpy()
    rows.sort()
    digest = sha256(repr(columns).encode())
    digest.update(rows.tobytes())
    return digest.hexdigest()


@contextmanager
def _new_ledger(plan: Plan) -> Iterator[Path | None]:
    """A ledger that knows of no release, for a plan with a series; None for others."""
    if publisher_for(plan).series is None:
        yield None
        return
    with TemporaryDirectory(prefix="voile-", ignore_cleanup_errors=True) as folder:
        yield Path(folder) / "ledger.db"


def _as_decided(plan: Plan, release: Release) -> Plan:
    """The plan with what a release of it decided by its rows, where its method can be told."""
    told = getattr(publisher_for(plan), "as_decided", None)
    if told is None or plan.method is None:
        return plan
    parameters = {**plan.method.parameters, **told(release.method)}
    return replace(plan, method=replace(plan.method, parameters=parameters))


def can_link(plan: Plan) -> bool:
    """Whether a rehearsal of the plan can carry the numbers of its rows."""
    return plan.method is not None and publisher_of(plan.method).capabilities.exact_kept


def _keeping(plan: Plan, keep: Iterable[str]) -> Plan:
    """The plan with these columns kept: the release itself has answered for singling out rows."""
    names, roles = tuple(keep), plan.roles
    unique = (*names, *(name for name in roles.keep_unique if name in roles.sensitive))
    return replace(plan, roles=replace(roles, keep=names, keep_unique=unique))


def _free_name(name: str, taken: Collection[str]) -> str:
    while name in taken:
        name += "'"
    return name


def solutions_document(
    source: object,
    plan: Plan,
    rows: int,
    engine: Engine | str = AUTO,
    progress: Callable[[str], None] = lambda stage: None,
) -> Json:
    """The first rows of a table beside what a plan makes of them, and the solutions there are.

    Where the method knows solutions beside the one that it takes, they are told, too
    (``publish.generalization.exploring``); a release of a series keeps the groups of earlier ones,
    so it has none, and what is told is its first.  Where the plan has steps, each is left out once,
    and what the release would then be is told.  Private, as JSON takes it.  Rows are matched by
    numbers that a rehearsal carries; "rows" is None where the method publishes no row as it came.

    Raises ``VoileError`` as ``make_release`` does.
    """
    progress("reading")
    frame = Original.read(source, plan, engine).frame
    publisher = publisher_for(plan)
    explore = getattr(publisher, "explored", None)
    if explore is not None and publisher.series is None:
        progress("looking at solutions")
        found: Json = explore(open_frame(frame, of_no_account(plan), engine=engine), rows)
        return found
    if not can_link(plan):
        return {"rows": None, "steps": []}
    progress("rehearsing")
    made = _Aligned.of(frame, plan, engine)
    steps = []
    for number in range(len(plan.steps)):
        progress(f"{number:,} of {len(plan.steps):,} steps are left out")
        others = plan.steps[:number] + plan.steps[number + 1 :]
        with suppress(VoileError):
            without = _Aligned.of(frame, replace(plan, steps=others), engine)
            steps.append({"step": number, "rows": without.rows, "kept": without.kept})
    return {
        "rows": made.first(rows),
        "rows_in": len(frame),
        "rows_out": made.rows,
        "kept": made.kept,
        "steps": steps,
    }


@dataclass(frozen=True, eq=False)
class _Aligned:
    """A table beside a rehearsal of all its rows, row by row; private."""

    before: Frame
    """A data frame of the published columns, as texts, and the numbers of its rows."""
    after: Frame
    """The same of the rehearsal, of the rows that it publishes; interval ends are joined."""
    link: str

    @classmethod
    def of(cls, frame: Frame, plan: Plan, engine: Engine | str) -> _Aligned:
        """As the plan publishes them with a fixed seed."""
        staged = SplitRows(frame, None).rehearse(plan, Randomness.seeded(1), engine)
        assert staged.link is not None
        published = PublishedRows.of(staged.release).frame
        names = [name for name in plan.roles.published if name in frame.columns]
        return cls(
            _as_texts(staged.original.select([*names, staged.link])),
            _with_joined_ends(published, staged.original, names, staged.link),
            staged.link,
        )

    @property
    def rows(self) -> int:
        """Rows that are published."""
        return len(self.after)

    @property
    def kept(self) -> dict[str, float]:
        """For each published column the share of the table's rows that show it unchanged."""
        both = self.before.join(self.after, on=self.link, suffix="\1", nulls_equal=True)
        there = [name for name in self.before.columns if f"{name}\1" in both.columns]
        same = {name: (both[name].eq_missing(both[f"{name}\1"])).sum() for name in there}
        return {name: int(count) / max(1, len(self.before)) for name, count in same.items()}

    def first(self, rows: int) -> Json:
        """The first rows, before and after, and which of them are left out."""
        before = self.before.head(rows)
        after = before.select(self.link).join(self.after, on=self.link, how="left")
        there = set(self.after[self.link].to_list())
        shown = {name: after[name].to_list() for name in after.columns if name != self.link}
        left_out = [None if one in there else "yes" for one in before[self.link].to_list()]
        return {
            "before": before.drop(self.link).to_dict(as_series=False),
            "chosen": {**shown, _LEFT_OUT: left_out},
        }


def _as_texts(frame: Frame) -> Frame:
    texts = {name: frame[name].cast(str, strict=False) for name in frame.columns}
    return frame.with_columns(**texts)


def _with_joined_ends(published: Frame, original: Frame, names: Iterable[str], link: str) -> Frame:
    """The published columns as texts: an interval's ends in one, or its value where both are it."""
    published, columns = _as_texts(published), {}
    for name in names:
        if name in published.columns:
            texts = published[name]
            found = texts.str.extract_groups(r"^\[(.+), (.+)\]$").struct
            low, high = found.field("1"), found.field("2")
        elif f"{name}.low" in published.columns:
            low, high = (published[f"{name}.{end}"] for end in ("low", "high"))
            texts = low + " to " + high
        else:
            continue
        value = low.cast(original[name].dtype, strict=False).cast(str, strict=False)
        alone = low.eq(high).fill_null(value=False) & value.is_not_null()
        columns[name] = value.zip_with(alone, texts)
    return published.select(link).with_columns(**columns)
