"""How each column of a released file is shown, found out beside the original; private.

What is told apart, column by column:

    exact        all cells are values of the original, or numbers that were only shifted or scaled
    permuted     the same, and each value as often as in the original, but beside others
    synthetic    the same, in rows that nobody has
    interval     two columns, or texts that write intervals
    set          texts that name several values: labels of a hierarchy, prefixes, lists, ``*``
    averaged     numbers of nobody, nearly each of which stands in several rows, or numbers and
                 texts that stand together in groups of rows: means, medians, modes, medoids
    noisy        numbers of nobody
    withheld     no column shows it

A number beside two columns of an interval, such as noise with its confidence, counts by itself.

Whether rows are those of the original is asked of the columns whose cells are values: a row whose
values nobody has together is of nobody.  In few columns of few values every row is of somebody,
whoever made it; such columns count as shown as they are, which is how an adversary reads them.

A plan overrules what was found (``[columns.X] shown``).  Cost: O(n m) and a sort for m columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import special

from voile.audit.common_rows import (
    BothSides,
    CommonRows,
    are_of_groups,
    distance_by_people,
    distance_by_shape,
)
from voile.audit.spellings import (
    ANYTHING,
    Floats,
    Indices,
    SetReader,
    ends_of,
    rescaled,
    stand_as_often,
)
from voile.disclosure.exact import Exact, Permuted, Withheld
from voile.disclosure.foreign import Altered, Perturbed
from voile.disclosure.interval import ANYTHING as ANY_VALUE
from voile.disclosure.interval import Interval, ValueSet, set_text
from voile.disclosure.shown import Shown
from voile.release.reading import (
    KnownValues,
    People,
    Place,
    Texts,
    finite,
    floats_of,
    narrow_texts_of,
    texts_of,
)
from voile.schema.names import ShownAs
from voile.table.codes import code_type, count_codes, encode, look_up, of_distinct
from voile_base.errors import TableError, nearest
from voile_base.ondemand import dataclass

__all__ = ["Recognised", "as_named", "finer_digits", "named_cells", "recognise", "spelt_anew"]

_PAIRS = ((".low", ".high"), ("_low", "_high"), ("_min", "_max"), ("_from", "_to"), ("_lo", "_hi"))
_VALUES = {"exact", "permuted", "synthetic"}
_RARE = 0.02
"""The share of rows whose cells may be others than the rest, such as mistakes in a file."""
_SHARED = 3
"""Rows that show numbers, where numbers are averages."""
_BY_CHANCE = 0.001
"""The probability from which on as many rows of labels that the original lacks are chance."""
_DICTIONARY = 1 << 16
"""Different texts up to which a column of them holds a number a row, and no texts."""


@dataclass(frozen=True, eq=False)
class Recognised:
    """How one column of the original is shown by a released file; private."""

    name: str
    how: ShownAs
    why: str
    """A sentence."""
    shown: Shown
    """The same for adversaries and measures."""
    columns: tuple[pl.Series, ...]
    """What they read in place of the file's own columns, by the names that ``shown`` states."""
    of: tuple[str, ...] = ()
    """The columns of the file that show it."""
    unread: tuple[str, ...] = ()
    """Labels that nobody explains; they may stand for anything."""
    unread_are_rare: bool = False
    """Whether as few rows show them as of other people show some that the original lacks."""
    stated: bool = False
    """Whether the plan alone says that it is averaged, and the file does not look so."""


def recognise(
    released: pl.DataFrame,
    original: People,
    overruled: Mapping[str, ShownAs] | None = None,
    control: People | None = None,
) -> list[Recognised]:
    """How each column of the original is shown, in the order of the original.

    ``overruled`` says it of some columns; values of people of the ``control`` explain labels, too.
    Raises ``TableError`` where a column cannot be shown as the plan says, where the file shows
    nothing of the original, and where it has no rows.
    """
    if not released.height:
        msg = "the released file has no rows"
        raise TableError(msg)
    said = overruled or {}
    found = [_column(released, original, name, said.get(name)) for name in original.frame.columns]
    if all(one.how == "withheld" for one in found):
        first = original.frame.columns[0]
        msg = (
            "the released file shows no column of the original: none has the name of one"
            f"{nearest(first, released.columns)}"
        )
        raise TableError(msg)
    found = _beside_others(found, original, said)
    if control is not None:
        found = [_explained(one, released, original, control) for one in found]
    if "averaged" not in said.values():
        return found
    looks = {one.name: one.how for one in recognise(released, original)}
    return [
        replace(one, stated=said.get(one.name) == "averaged" and looks[one.name] != "averaged")
        for one in found
    ]


def _explained(
    one: Recognised, released: pl.DataFrame, original: People, control: People
) -> Recognised:
    """The same, where labels that other people have are explained, and others may be as rare.

    Rows of labels that the control has, or both lack, must be as few as its own of new ones.
    """
    if not one.unread or len(one.of) != 1 or one.name not in control.frame.columns:
        return one
    shown = _rows_of(*narrow_texts_of(released[one.of[0]]))
    others = _rows_of(*control.distinct_texts(one.name))
    for text in _rows_of(*original.distinct_texts(one.name)):
        others.pop(text, None)
    sizes = released.height, control.frame.height
    new = tuple(text for text in one.unread if text not in others)
    few = [
        _as_few(sum(shown[text] for text in some), sum(others.values()), sizes)
        for some in (set(one.unread) - set(new), new)
    ]
    left = new if few[0] else one.unread
    why = one.why if left else f"{one.why.split(';')[0]}, or of people of the control."
    return replace(one, unread=left, unread_are_rare=all(few), why=why)


def _rows_of(texts: pl.Series, place: Place) -> dict[str, int]:
    """How many rows show each text, of distinct ones and which of them each row has."""
    rows = zip(texts, count_codes(place, len(texts)).tolist(), strict=True)
    return {text: count for text, count in rows if text is not None}


def _as_few(shown: int, others: int, rows: tuple[int, int]) -> bool:
    """Whether a file shows labels in no more rows than as many others would, but for chance."""
    chance = special.bdtrc(shown - 1, shown + others, rows[0] / sum(rows)) if shown else 1.0
    return float(chance) >= _BY_CHANCE


def finer_digits(recognised: Iterable[Recognised], original: People) -> Iterator[str]:
    """Columns of numbers with more digits than noise or averages of the original's need, each.

    Digits that mean nothing may be anything, such as the other columns of a person in a row.
    """
    for one in recognised:
        if one.how == "interval" or len(one.columns) != 1:
            continue
        own, cells = original.column(one.name), one.columns[0]
        if not (own.dtype.is_numeric() and cells.dtype.is_numeric()):
            continue
        digits = next((k for k in range(_FINEST) if not _finer(floats_of(own), k).any()), None)
        if digits is None or cells.dtype.is_integer():
            continue
        needed = digits + _SPARE
        if int(_finer(floats_of(cells), needed).sum()) > max(1, len(cells) // 1000):
            yield f"digits of column {one.name!r} beyond the first {needed} behind the point"


_FINEST, _SPARE = 7, 2
"""Decimals from which on numbers have all that there are; how many more noise and averages need."""


def _finer(numbers: Floats, decimals: int) -> NDArray[np.bool_]:
    """Whether numbers have more decimals than so many."""
    scaled = np.abs(numbers[np.isfinite(numbers)]) * 10.0**decimals
    rest: NDArray[np.bool_] = np.abs(scaled - np.round(scaled)) > 1e-6 + 4e-16 * scaled
    return rest


def spelt_anew(cells: pl.Series, original: People, name: str, control: People | None = None) -> int:
    """How many values of a column are written in several ways, of which the original lacks one.

    Ways that differ in case, spaces, invisible signs or forms of letters.  None where as many rows
    of other people have such ways, as those of the control and single rows of the original tell.
    """
    own = _ways(_rows_of(*original.distinct_texts(name)))
    shown = _ways(_rows_of(*narrow_texts_of(cells)))
    several = pl.col("plain").is_in(own["plain"].implode()) & (pl.len().over("plain") > 1)
    new = shown.filter(several & ~pl.col("text").is_in(own["text"].implode()))
    usual, people = own.filter(several & (pl.col("rows") == 1)).height, original.frame.height
    if control is not None and name in control.frame.columns:
        theirs = _ways(_rows_of(*control.distinct_texts(name))).join(own, on="text", how="anti")
        usual += int(theirs.join(own, on="plain", how="semi")["rows"].sum())
        people += control.frame.height
    few = _as_few(int(new["rows"].sum()), usual, (len(cells), people))
    return 0 if few else new["plain"].n_unique()


def _ways(rows: Mapping[str, int]) -> pl.DataFrame:
    found = pl.DataFrame([list(rows), list(rows.values())], {"text": pl.String, "rows": pl.Int64})
    return found.with_columns(_plain(found["text"]).alias("plain"))


def _plain(texts: pl.Series) -> pl.Series:
    """Texts without what no reader sees, in small letters."""
    return texts.str.normalize("NFKC").str.to_lowercase().str.replace_all(r"[\s\p{Cf}\p{Cc}]", "")


def named_cells(released: pl.DataFrame, original: People) -> dict[str, pl.Series]:
    """The columns of a file that have the name of one of the original, numbers as numbers."""
    names = [name for name in original.frame.columns if name in released.columns]
    return {name: _as_numbers(released[name], original.dtype(name)) for name in names}


def as_named(released: pl.DataFrame, one: Recognised, original: People) -> pl.Series | None:
    """The cells of a column by the values that they name; None where nobody can compare them.

    A label that a plan says to name several values counts as it is: who makes a file may say in its
    plan that each names everything.
    """
    if one.how in _VALUES and len(one.columns) == 1:
        return one.columns[0]
    if one.how != "set" or (one.unread and not one.unread_are_rare) or len(one.of) != 1:
        return None
    read, shown = map(encode, (one.columns[0], released[one.of[0]]))
    texts = [side.values.cast(pl.String).alias(one.name) for side in (read, shown)]
    known = texts[0].is_in(original.distinct_texts(one.name)[0].implode())
    names = known.fill_null(value=False).to_numpy()
    place = np.add(shown.codes, len(names), dtype=code_type(sum(map(len, texts))))
    np.copyto(place, read.codes, where=look_up(names, read.codes), casting="unsafe")
    return of_distinct(pl.concat(texts), place)


def _column(
    released: pl.DataFrame, original: People, name: str, said: ShownAs | None
) -> Recognised:
    """How one column is shown, by itself."""
    if said == "withheld":
        return Recognised(name, "withheld", "the plan says so.", Withheld(), ())
    ends = [
        (low, high)
        for low, high in _PAIRS
        if f"{name}{low}" in released.columns and f"{name}{high}" in released.columns
    ]
    if ends and name not in released.columns:
        return _two_columns(released, name, ends[0])
    shown = name if name in released.columns else f"{name}.interval"
    if shown not in released.columns:
        return Recognised(name, "withheld", "no column of the file has its name.", Withheld(), ())
    own = original.column(name)
    if not _is_empty(own) and (_is_empty(released[shown]) or _shows_nothing(released[shown], own)):
        why = "all its cells are empty, or stand for any value."
        return Recognised(name, "withheld", why, Withheld(), (), (shown,))
    column = _Column.of(name, released[shown], original, own)
    found = column.said(said) if said else column.found()
    return replace(found, of=(shown, *(f"{name}{end}" for pair in ends for end in pair)))


def _two_columns(released: pl.DataFrame, name: str, ends: tuple[str, str]) -> Recognised:
    of = tuple(f"{name}{end}" for end in ends)
    if all(_is_empty(released[one]) for one in of):
        return Recognised(name, "withheld", "both its ends are empty.", Withheld(), (), of)
    numbers = [floats_of(released[one]) for one in of]
    if any(np.isnan(side).all() for side in numbers):
        msg = f"column {of[0]!r} of the released file and {of[1]!r} should be the ends of intervals"
        raise TableError(f"{msg}, and one of them holds no numbers")
    sides = (pl.Series(f"{name}{e}", s) for e, s in zip((".low", ".high"), numbers, strict=True))
    why = f"two columns show its ends: {of[0]} and {of[1]}."
    columns = tuple(side.fill_nan(None) for side in sides)
    return Recognised(name, "interval", why, Interval(level="differs"), columns, of)


@dataclass(frozen=True, eq=False)
class _Column:
    """One column of a released file beside that of the original; by distinct cells."""

    name: str
    cells: pl.Series
    """The e different cells as texts."""
    points: np.ndarray | None
    """Shape (e,): the same as numbers, NaN for a missing one; None where they are texts."""
    rows: np.ndarray
    """Shape (e,): how many rows show each."""
    place: np.ndarray
    """Shape (n,): the cell of each row."""
    values: pl.Series
    """All values of the original as texts."""
    numbers: np.ndarray | None
    """Those of all rows of the original; None where it holds texts, or nothing."""
    suppressed: bool
    """Whether more cells are missing than of the original: they may stand for anything."""
    nodes: dict[str, frozenset[str]]
    """Labels of the hierarchy of the plan, and the values below each."""
    dtype: pl.DataType
    """Of the original's column."""

    @classmethod
    def of(cls, name: str, released: pl.Series, original: People, own: pl.Series) -> _Column:
        """From the rows of both sides."""
        released = _as_numbers(released, own.dtype)
        cells, place = narrow_texts_of(released)
        values = narrow_texts_of(own.unique())[0].drop_nulls().unique()
        points = None
        if released.dtype.is_numeric():
            points = floats_of(encode(finite(released)).values)
        return cls(
            name,
            cells,
            points,
            np.bincount(place, minlength=len(cells)),
            place.astype(np.int64),
            values,
            floats_of(own) if own.dtype.is_numeric() and len(values) else None,
            _is_suppressed(released, own),
            _nodes(original, name),
            own.dtype,
        )

    def found(self) -> Recognised:
        """How it is shown, as its cells look."""
        own = (self.cells.is_in(self.values.implode()) | self.cells.is_null()).to_numpy()
        ends = None if self.numbers is None else self._ends()
        if ends is not None and (found := self._rescaled(ends)) is not None:
            return found
        if own.all():
            if not self.suppressed:
                return self._exact("all its cells are values of the original.")
            return self._sets() if ends is None else self._intervals(ends)
        if ends is not None:
            if _are_wide(ends):
                return self._intervals(ends)
            return self._numbers(ends, float(self.rows[own].sum() / self.rows.sum()))
        return self._sets()

    def said(self, how: ShownAs) -> Recognised:
        """How the plan says that it is shown; raises ``TableError`` where it cannot be."""
        if how in {"exact", "permuted", "synthetic"}:
            kinds: dict[str, Shown] = {"permuted": Permuted(), "synthetic": Altered(share=1.0)}
            shown = kinds.get(how, Exact())
            return replace(self._exact("the plan says so."), how=how, shown=shown)
        if how == "set":
            return self._sets()
        ends = self._ends() if self.numbers is not None else None
        if ends is None:
            what = "intervals of numbers" if how == "interval" else "numbers"
            msg = (
                f"column {self.name!r} of the released file does not hold {what}, as the plan says"
            )
            raise TableError(msg)
        if how == "interval":
            return self._intervals(ends)
        return replace(self._numbers(ends, 0.0), how=how)

    def _exact(self, why: str) -> Recognised:
        if self.points is not None and len(self.points) > _DICTIONARY:
            column = pl.Series(self.name, self.points).fill_nan(None)
            return Recognised(self.name, "exact", why, Exact(), (column.gather(self.place),))
        return Recognised(self.name, "exact", why, Exact(), (self._texts(self.cells),))

    def _rescaled(self, ends: Floats) -> Recognised | None:
        """Numbers that were shifted or scaled, read back; None where they were not."""
        if self.numbers is None or _are_wide(ends):
            return None
        line = rescaled(self.numbers, ends[0], self.place, _last_digit(self.cells))
        if line is None:
            return self._curved(ends[0])
        if line.changes_nothing:
            return None
        why = f"its numbers are those of the original times {line.factor:.6g}"
        why += f" {'-' if line.shift < 0 else '+'} {abs(line.shift):.6g}"
        if not line.is_exact:
            read = np.stack((line.low, line.high))
            return replace(self._intervals(read), why=f"{why}, rounded, and were read back.")
        numbers = pl.Series(line.low).fill_nan(None).cast(self.dtype)
        column = self._texts(pl.Series(texts_of(numbers), dtype=pl.String))
        return Recognised(self.name, "exact", f"{why}, and were read back.", Exact(), (column,))

    def _curved(self, cells: Floats) -> Recognised | None:
        """Numbers behind a curve, read back by rank; None where they are behind none."""
        assert self.numbers is not None
        if self.cells.is_in(self.values.implode()).all():
            return None
        read = _behind_a_curve(self.numbers, cells, self.rows)
        if read is None:
            return None
        numbers = pl.Series(read).fill_nan(None).cast(self.dtype)
        column = self._texts(pl.Series(texts_of(numbers), dtype=pl.String))
        why = "its numbers are the original's behind a curve: in their order, each as often"
        return Recognised(self.name, "exact", f"{why}; they were read back.", Exact(), (column,))

    def _ends(self) -> Floats | None:
        """The interval of each cell, shape (2, e), NaN for anything; None where a cell is neither.

        A number is an interval of one point.
        """
        assert self.numbers is not None
        if self.points is not None:
            return np.stack((self.points, self.points))
        known = self.numbers[np.isfinite(self.numbers)]
        whole = bool((known == np.round(known)).all())
        read = np.full((2, len(self.cells)), np.nan)
        for place, text in enumerate(self.cells):
            if text is None or text.strip().lower() in ANYTHING:
                continue
            ends = ends_of(text, whole=whole)
            if ends is None:
                return None
            read[:, place] = ends.low, ends.high
        return read

    def _intervals(self, ends: Floats) -> Recognised:
        assert self.numbers is not None
        open_ends = np.nanmin(self.numbers), np.nanmax(self.numbers)
        sides = []
        for numbers, most, suffix in zip(ends, open_ends, (".low", ".high"), strict=True):
            within = np.where(np.isinf(numbers), most, numbers)
            column = pl.Series(f"{self.name}{suffix}", within).fill_nan(None)
            sides.append(column.gather(self.place))
        hidden = int(self.rows[np.isnan(ends[0])].sum())
        what = "write intervals" if _are_wide(ends) else "are numbers"
        why = f"its cells {what}{f'; {hidden:,} rows show none' if hidden else ''}."
        return Recognised(self.name, "interval", why, Interval(level="differs"), tuple(sides))

    def _numbers(self, ends: Floats, known: float) -> Recognised:
        """Numbers of no row, in whatever digits: averages, or noise."""
        shared = float(self.rows[self.rows >= _SHARED].sum() / self.rows.sum())
        points = pl.Series(self.name, np.where(ends[0] == ends[1], ends[0], np.nan))
        column = self.cells.alias(self.name).cast(pl.Float64, strict=False)
        shown = column.fill_null(points.fill_nan(None)).gather(self.place)
        assert self.numbers is not None
        near = distance_by_shape(self.numbers, floats_of(shown))
        repeated = shared >= 1 - _RARE or are_of_groups(self.rows)
        repeated &= not self._repeat_by_themselves(floats_of(shown))
        averaged = repeated and known < 1 - _RARE
        how: ShownAs = "averaged" if averaged else "noisy"
        among = f"{1 - known:.1%} of its numbers are of nobody"
        why = f"{among}, and nearly all stand in several rows." if averaged else f"{among}."
        return Recognised(self.name, how, why, near, (shown,))

    def _repeat_by_themselves(self, shown: np.ndarray) -> bool:
        """Whether whole numbers repeat as those of the original do: noise leaves them whole."""
        assert self.numbers is not None
        own = self.numbers[np.isfinite(self.numbers)]
        seen = shown[np.isfinite(shown)]
        if not len(own) or (own % 1).any() or (seen % 1).any():
            return False
        rows = np.unique(own, return_counts=True)[1]
        return bool(rows[rows >= _SHARED].sum() >= (1 - _RARE) * rows.sum())

    def _sets(self) -> Recognised:
        """Texts that stand for several values, as far as anybody can read them."""
        reader = SetReader(set(self.values), self.nodes)
        own = all(text is None or text in reader.values for text in self.cells)
        texts: Texts = []
        unread = []
        for text in self.cells:
            named = None if text is None else reader.read(text)
            if text is None:
                texts.append(ANY_VALUE if self.suppressed else None)
            elif named is None or len(named) == len(self.values):
                texts.append(ANY_VALUE)
                unread += [text] * (named is None)
            else:
                texts.append(set_text(sorted(named)))
        column = self._texts(pl.Series(texts, dtype=pl.String))
        hidden = int(self.rows[self.cells.is_null().to_numpy()].sum())
        labels = len(unread)
        told = f"; {labels:,} of its labels are explained by nobody and may stand for anything: "
        told += "name their hierarchy in a plan"
        shown = "are values of the original" if own else "name several values"
        missing = f"; {hidden:,} rows show none" if self.suppressed else ""
        why = f"its cells {shown}{missing}{told if labels else ''}."
        return Recognised(self.name, "set", why, ValueSet(), (column,), unread=tuple(unread))

    def _texts(self, each: pl.Series) -> pl.Series:
        """A text for each cell as a column of the rows, in a dictionary."""
        if len(each) <= _DICTIONARY:
            each = each.cast(pl.Enum(each.drop_nulls().unique().sort()))
        return each.gather(self.place).alias(self.name)


def _are_wide(ends: Floats) -> bool:
    """Whether some cell is an interval of more than one number; shape (2, e)."""
    return bool((ends[0] < ends[1]).any())


def _is_empty(column: pl.Series) -> bool:
    return finite(column).null_count() == len(column)


def _shows_nothing(column: pl.Series, own: pl.Series) -> bool:
    """Whether all cells are missing, or texts that stand for any value and are none."""
    if column.dtype.is_numeric():
        return False
    cells = {(text or "").strip().lower() for text in narrow_texts_of(column)[0]}
    if not cells <= ANYTHING:
        return False
    values = {(text or "").strip().lower() for text in narrow_texts_of(own)[0]}
    return not (cells & values)


def _as_numbers(released: pl.Series, own: pl.DataType) -> pl.Series:
    """Numbers among which some cells say that they show none, such as ``NA``, as numbers."""
    if released.dtype.is_numeric() or not own.is_numeric():
        return released
    cells = released.unique().cast(pl.String).str.strip_chars()
    hidden = cells.str.to_lowercase().is_in(list(ANYTHING))
    if cells.filter(~hidden).cast(pl.Float64, strict=False).null_count():
        return released
    return released.cast(pl.String).str.strip_chars().cast(pl.Float64, strict=False)


def _is_suppressed(released: pl.Series, own: pl.Series) -> bool:
    """Whether cells are missing that were not missing in the original, beyond chance."""
    share = finite(own).null_count() / max(len(own), 1)
    expected = share * len(released)
    most = expected + 4 * float(np.sqrt(expected * (1 - share)))
    return finite(released).null_count() > most


def _nodes(original: People, name: str) -> dict[str, frozenset[str]]:
    """The labels of the hierarchy that the plan declares, and the values below each."""
    if original.described(name).hierarchy is None:
        return {}
    values = KnownValues(original, name, np.arange(original.frame.height))
    below: dict[str, set[str]] = {}
    for level in values.generalized(None) or ():
        for label, value in zip(level, values.texts, strict=True):
            if label is not None and value is not None:
                below.setdefault(label, set()).add(value)
    return {label: frozenset(found) for label, found in below.items()}


def _beside_others(
    found: list[Recognised], original: People, said: Mapping[str, ShownAs]
) -> list[Recognised]:
    """What columns are beside each other: of groups, of one row, permuted, synthetic."""
    found, read = _grouped(found, original, said)
    open_ = [one for one in found if one.how == "exact" and one.name not in said]
    names = [one.name for one in open_]
    if not open_:
        return found
    rows = CommonRows.of({one.name: one.columns[0] for one in open_}, original, read)
    if len(open_) < 2 or rows.are_of_somebody(names) or rows.are_repeated(names):
        altered = _altered(open_, rows, names)
        return _with_distances([altered.get(one.name, one) for one in found], rows, original)
    permuted = rows.permuted(names)
    of = {one.name: one for one in found}
    share = 1 - rows.found(names)
    for one in open_:
        if permuted is None:
            why = f"its cells are values of the original; {rows.of_nobody(names)} has."
            of[one.name] = replace(one, how="synthetic", why=why, shown=Altered(share=share))
        elif one.name in permuted:
            why = "it has the values of the original, each as often, but beside those of others."
            of[one.name] = replace(one, how="permuted", why=why, shown=Permuted())
    if permuted is None:
        return list(of.values())
    stays = {name: of[name].columns[0] for name in names if name not in permuted}
    left = CommonRows.of(stays, original, rows)
    return _with_distances(list(of.values()), left, original)


def _grouped(
    found: list[Recognised], original: People, said: Mapping[str, ShownAs]
) -> tuple[list[Recognised], CommonRows | None]:
    """The same with the columns in which rows stand for groups, as ``grouping`` tells them.

    Besides, what was read of columns whose cells are values; None where there are none.
    """
    values = [one for one in found if one.how == "exact" and one.name not in said]
    others = [one for one in found if one.how in {"averaged", "noisy"} and one.name not in said]
    names = [one.name for one in values]
    of_somebody, exact = True, None
    if values:
        exact = CommonRows.of({one.name: one.columns[0] for one in values}, original)
        of_somebody = exact.are_of_somebody(names)
    if of_somebody:
        values = [one for one in values if not original.dtype(one.name).is_numeric()]
    if of_somebody and not others:
        return found, exact
    cells = {
        one.name: _in_type(one.columns[0], original.dtype(one.name)) for one in (*values, *others)
    }
    rows = CommonRows.of(cells, original, exact)
    both = {name: BothSides(original, name, shown) for name, shown in cells.items()}
    groups = rows.row_groups(both, of_somebody=of_somebody)
    if groups is None:
        return found, exact
    why = f"it stands in groups of {groups.least} rows or more, and most people do not."
    told = [
        replace(
            one, how="averaged", why=why, shown=groups.shown[one.name], columns=(cells[one.name],)
        )
        if one.name in groups.shown
        else one
        for one in found
    ]
    return told, exact


def _in_type(cells: pl.Series, own: pl.DataType) -> pl.Series:
    """Numbers that were read as texts as numbers."""
    if own.is_numeric() and not cells.dtype.is_numeric():
        return cells.cast(pl.String).cast(pl.Float64, strict=False)
    return cells


def _altered(
    open_: Sequence[Recognised], rows: CommonRows, names: Sequence[str]
) -> dict[str, Recognised]:
    """Columns of rows that are of somebody, but for a few that are of nobody."""
    share = rows.strangers(names)
    if not share:
        return {}
    why = f"its cells are values of the original, but {share:.1%} of the rows are nobody's."
    return {one.name: replace(one, why=why, shown=Altered(share=share)) for one in open_}


def _with_distances(
    found: list[Recognised], rows: CommonRows, original: People
) -> list[Recognised]:
    """The same with distances of numbers from the true ones as people tell them."""
    near = {one.name: one.shown for one in found if isinstance(one.shown, Perturbed)}
    if not near:
        return found
    shown = {one.name: floats_of(one.columns[0]) for one in found if one.name in near}
    told = distance_by_people(near, rows, (original, shown))
    return [replace(one, shown=told.get(one.name, one.shown)) for one in found]


_DIGITS = 9
"""Behind the point, beyond which numbers are as fine as a machine has them."""


def _last_digit(cells: Iterable[str | None]) -> float:
    """The unit of the last digit that texts of numbers have; 0 where they are not rounded."""
    digits = 0
    for text in cells:
        if text is not None:
            _, point, behind = text.strip().partition(".")
            digits = max(digits, len(behind) if point else 0)
            if digits > _DIGITS or "e" in text.lower():
                return 0.0
    return float(10.0**-digits)


_CURVE = 5
"""Different numbers of several rows from which on a curve through all is no accident."""


def _behind_a_curve(own: Floats, cells: Floats, rows: Indices) -> Floats | None:
    """The value of the original behind each of e different numbers; None: they are of no curve.

    ``own`` are those of all n people, and ``rows`` (e,) says how many rows show each number.  It is
    taken for a curve, up or down, where there are as many different numbers on both sides, and each
    stands in as many rows as that of its rank; where nearly all values differ nothing tells that.
    """
    values, count = np.unique(own[np.isfinite(own)], return_counts=True)
    there = np.flatnonzero(np.isfinite(cells) & (rows > 0))
    if len(there) != len(values) or (count > 1).sum() < _CURVE:
        return None
    up = there[np.argsort(cells[there], kind="stable")]
    for order in (up, up[::-1]):
        if stand_as_often(rows[order], count):
            read = np.full(len(cells), np.nan)
            read[order] = values
            return read
    return None
