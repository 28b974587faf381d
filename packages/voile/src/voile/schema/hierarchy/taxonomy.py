"""Hierarchies that list every value: from each value to ever wider groups.

    Federal-gov      Government       *
    Local-gov        Government       *
    Private          Non-Government   *

The values listed are the public domain of the column, so a group covers the share of the listed
values that lie below it (the loss of ARX).  If the last level holds several groups, these are the
widest: no level is added.

Values are compared as texts; numbers that read differently (``37`` and ``37.0``) as exact
numbers, truth values in any case.

Cost: one pass over the list when it is made, one look-up for each distinct value to bind it.

Hierarchies in files, one line for each value: the value, its group, the group of that, ...

The form of ARX: no header, ``;`` between fields, the value first, the widest group last.  Tabs,
commas and bars may stand between fields too; the separator is the first of ``;``, tab, ``,`` and
``|`` that stands in every line.  Fields may be quoted, lines end in any usual way, blank lines are
skipped, and a byte-order mark is no obstacle.

Hierarchies as trees whose branches may end at different depths.

Levels are counted from the root, so that a level is a cut through the tree at one depth.  A branch
that ends above that depth repeats its last node, the value itself:

    Private;*                                    Private         Private       *
    Federal-gov;Government;*      stands for     Federal-gov     Government    *
    Local-gov;Government;*                       Local-gov       Government    *

(Repeating the group in its place would make ``Private`` a ``*`` beside ``Government``, two groups
one of which contains the other.)  A tree is read from a file such as the one above, or stands in
the plan:

    [columns.workclass.tree]
    Government = ["Federal-gov", "Local-gov"]
    Private    = []

Keys are groups, lists hold values, tables hold groups of groups; an empty list makes its key a
value.  The root above it all is ``*``.

Public lists of codes
---------------------
They ship with the package, and everybody has them.

    [columns.diagnosis]
    code_list = "icd-9-cm"                                  # 250.83, 250*, 3 Endocrine, ..., *
    [columns.country]
    code_list = { name = "countries", unlisted = "group" }  # Peru, Latin America, Americas, *

    icd-9-cm   diagnoses: category, chapter           us-states  states: division, region
    icd-10-cm  diagnoses: category, chapter           countries  countries: sub-region, region
    nace-2     economic activities: division, section
    isco-08    occupations: sub-major, major group    nuts       wider regions, country of Europe

A list stands in ``lists/NAME.csv``: its title, source and terms, how a code is recognised, and a
line for each code or range of codes with its groups, the widest last.  Codes are compared without
dots and in capitals, and names without regard to case and hyphens; zeros that a program took from
the front are put back where the list says how many digits a code has.

A value that is not in the list is refused, as a hierarchy file refuses it; ``unlisted = "group"``
makes a group of its own of all such values, which nothing but ``*`` stands above.

Shares.  The listed codes are the public domain; a value finer than a listed code counts as a tenth
of it, a convention.

Cost: a list is read once; one look-up for each distinct value.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from decimal import Decimal, InvalidOperation
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from voile.schema.hierarchy.generalized import (
    EVERYTHING,
    BoundHierarchy,
    DistinctValues,
    GeneralizedValues,
    Level,
    and_others,
)
from voile_base.errors import PlanError
from voile_base.ondemand import dataclass
from voile_base.values import usable_number
from voile_base.values.value import Says, checked

__all__ = [
    "CODE_LISTS",
    "CodeList",
    "CodeListName",
    "Taxonomy",
    "public_list",
    "read_lines",
]


@dataclass(frozen=True)
class Taxonomy:
    """The path of each value: the value, its group, the group of that, and so on.

    Raises ``PlanError`` where there is no value, a value is repeated, paths are not of one length
    of at least two, or a level is no coarsening of the one below it.
    """

    paths: tuple[tuple[str, ...], ...] = field(repr=False)
    source: str = field(default="the hierarchy", compare=False)
    """Where it was read, for messages."""

    _indices: dict[str, int] = field(init=False, repr=False, compare=False)
    _groups: tuple[_Groups, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        lengths = {len(path) for path in self.paths}
        if len(lengths) != 1 or min(lengths) < 2:
            msg = f"{self.source}: every value needs a path of the same length, at least one group"
            raise PlanError(msg)
        leaves = [path[0] for path in self.paths]
        indices = {leaf: index for index, leaf in enumerate(leaves)}
        if len(indices) < len(leaves):
            repeated = next(leaf for index, leaf in enumerate(leaves) if indices[leaf] != index)
            msg = f"{self.source}: the value {repeated!r} is repeated; each has one path"
            raise PlanError(msg)
        levels = list(zip(*self.paths, strict=True))
        for level in range(1, len(levels) - 1):
            self._require_coarsening(level, levels[level], levels[level + 1], leaves)
        object.__setattr__(self, "_indices", indices)
        object.__setattr__(self, "_groups", tuple(map(_group, levels[1:])))

    def bind(
        self, column: str, values: DistinctValues, bounds: tuple[Decimal, Decimal] | None = None
    ) -> BoundHierarchy:
        """The hierarchy of the d distinct values of a column; ``bounds`` are of no use here.

        Raises ``PlanError`` that names the first value which is not listed.
        """
        indices = self._indices_of(column, values)
        leaf_share = 1 / len(self.paths)
        *lower, top = self._groups
        levels = [
            Level.as_they_are(len(indices), leaf_share),
            *(groups.of(indices) for groups in lower),
            top.topping(indices),
        ]
        return BoundHierarchy.of_levels(column, values, levels, leaf_share)

    def missed(self, column: str, values: DistinctValues) -> list[str]:
        """The values of a column that are not listed."""
        texts = values.present()
        found = zip(texts, self._found(column, values), strict=True)
        return [text for text, index in found if index < 0]

    def _require_coarsening(
        self, level: int, lower: Sequence[str], upper: Sequence[str], leaves: Sequence[str]
    ) -> None:
        first: dict[str, int] = {}
        for index, group in enumerate(lower):
            other = first.setdefault(group, index)
            if upper[index] != upper[other]:
                msg = (
                    f"{self.source}: level {level + 1} is no coarsening of level {level}: "
                    f"{group!r} becomes {upper[other]!r} for the value {leaves[other]!r} and "
                    f"{upper[index]!r} for {leaves[index]!r}; let it become one of them, or give "
                    "one of the two groups another name"
                )
                raise PlanError(msg)

    def _indices_of(self, column: str, values: DistinctValues) -> NDArray[np.int64]:
        """For each value that is not missing, which of the listed values it is."""
        texts, indices = values.present(), self._found(column, values)
        if -1 in indices:
            # The one place where a message quotes the table: without the value nobody could
            # complete the hierarchy, and a value alone says nothing about a person.
            missed = [text for text, index in zip(texts, indices, strict=True) if index < 0]
            others = and_others(len(missed) - 1)
            msg = (
                f"column {column!r}: {self.source} misses the value {missed[0]!r}{others}; add a "
                "line for each, or name the text in `missing` if it stands for a missing value"
            )
            raise PlanError(msg)
        return np.array(indices, dtype=np.int64)

    def _found(self, column: str, values: DistinctValues) -> list[int]:
        """For each value that is not missing, which of the listed values it is; -1: none."""
        texts = values.present()
        indices = [self._indices.get(text, -1) for text in texts]
        if -1 in indices and values.kind in _READINGS:
            return self._indices_by_meaning(column, texts, values.kind)
        return indices

    def _indices_by_meaning(self, column: str, texts: Sequence[str], kind: str) -> list[int]:
        reading = _READINGS[kind]
        indices: dict[Any, int] = {}
        for leaf, index in self._indices.items():
            meaning = reading(leaf)
            if meaning is None:
                continue
            other = indices.setdefault(meaning, index)
            if other != index:
                msg = (
                    f"{self.source}: {self.paths[other][0]!r} and {leaf!r} are the same value of "
                    f"column {column!r}; keep one of them"
                )
                raise PlanError(msg)
        return [indices.get(reading(text), -1) for text in texts]

    @staticmethod
    def read(path: Path) -> Taxonomy:
        """Read a file whose lines have equally many fields.

        Raises ``PlanError`` that names the file and the line where it cannot be read, a value is
        repeated, or a line is shorter or longer than the first.
        """
        first, *others = lines = read_lines(path)
        for line in others:
            if len(line.fields) != len(first.fields):
                msg = (
                    f"{path}: line {line.number} has {len(line.fields)} fields where line "
                    f"{first.number} has {len(first.fields)}; complete it, or write `tree` in "
                    "place of `hierarchy` if branches of unequal depth are meant"
                )
                raise PlanError(msg)
        return Taxonomy(tuple(line.fields for line in lines), str(path))

    @staticmethod
    def read_tree(path: Path) -> Taxonomy:
        """Read a file whose lines may have unequally many fields; raises ``PlanError``."""
        return Taxonomy(_filled(line.fields for line in read_lines(path)), str(path))

    @staticmethod
    def of_tree(nested: Mapping[str, object]) -> Taxonomy:
        """The hierarchy of nested tables; raises ``PlanError``."""
        paths = list(_paths(nested, (EVERYTHING,)))
        if not paths:
            msg = "the tree is empty; name the groups and the values in each"
            raise PlanError(msg)
        return Taxonomy(_filled(paths), "the tree")


@dataclass(frozen=True, eq=False)
class _Groups:
    """The groups of one level: which of them each listed value belongs to, names, shares."""

    codes: NDArray[np.int32]
    texts: tuple[str, ...]
    share: NDArray[np.float64]

    def of(self, indices: NDArray[np.int64]) -> Level:
        """The level of some listed values, with those groups that one of them becomes."""
        used, codes = np.unique(self.codes[indices], return_inverse=True)
        texts = tuple(self.texts[index] for index in used)
        return Level(codes, GeneralizedValues(self.share[used], texts))

    def topping(self, indices: NDArray[np.int64]) -> Level:
        """The same of the highest level: a single group stays where all values are missing."""
        if len(self.texts) > 1:
            return self.of(indices)
        return Level(self.codes[indices], GeneralizedValues(self.share, self.texts))


def _group(names: Sequence[str]) -> _Groups:
    indices: dict[str, int] = {}
    codes = np.array([indices.setdefault(name, len(indices)) for name in names], np.int32)
    return _Groups(codes, tuple(indices), np.bincount(codes) / len(codes))


def _number(text: str) -> Decimal | None:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


_READINGS = {"number": _number, "boolean": str.casefold}


_SEPARATORS = (";", "\t", ",", "|")
_ONE_FIELD = (
    "has one field only; a line is a value, its group and so on, with the same separator (; , | or "
    "tab) between them"
)


@dataclass(frozen=True)
class _HierarchyLine:
    """One line of the file: its number, from 1, and its fields, at least two."""

    number: int
    fields: tuple[str, ...]


@dataclass(frozen=True)
class _Reading:
    """The lines as one separator splits them, up to the last that it can split."""

    lines: list[_HierarchyLine]
    last: int
    fault: str | None = None


def read_lines(path: Path) -> list[_HierarchyLine]:
    """The lines of a file, at least one; raises ``PlanError``, also for a repeated value."""
    text = _read_text(path)
    readings = [_split(text, separator) for separator in _SEPARATORS]
    reading = next((reading for reading in readings if not reading.fault), None)
    if reading is None:
        longest = max(readings, key=lambda reading: reading.last)  # the one that was meant
        msg = f"{path}: line {longest.last} {longest.fault}"
        raise PlanError(msg)
    lines = reading.lines
    if not lines:
        msg = f"{path}: the file is empty; write one line for each value, such as Paris;France;*"
        raise PlanError(msg)
    _require_distinct(path, lines)
    return lines


def _read_text(path: Path) -> str:
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        msg = f"{path}: there is no such file"
        raise PlanError(msg) from None
    except (OSError, ValueError) as error:  # a folder, no permission; a NUL in the name
        reason = getattr(error, "strerror", None) or "the name is not one of a file"
        msg = f"{path}: the file cannot be read: {reason}"
        raise PlanError(msg) from None
    try:
        text = content.decode("utf-8-sig")
        fault = content.find(b"\0")  # UTF-16 without a byte-order mark is full of them
    except UnicodeDecodeError as error:
        text, fault = "", error.start
    if fault >= 0:
        line = content[: fault + 1].count(b"\n") + 1
        msg = f"{path}: line {line} is not UTF-8; save the file as UTF-8"
        raise PlanError(msg)
    return text


def _split(text: str, separator: str) -> _Reading:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    lines: list[_HierarchyLine] = []
    try:
        for fields in reader:
            if len(fields) == 1:
                return _Reading(lines, reader.line_num, _ONE_FIELD)
            if fields:
                lines.append(_HierarchyLine(reader.line_num, tuple(fields)))
    except csv.Error as error:
        return _Reading(lines, reader.line_num, f"cannot be split into fields: {error}")
    return _Reading(lines, reader.line_num)


def _require_distinct(path: Path, lines: Sequence[_HierarchyLine]) -> None:
    first: dict[str, int] = {}
    for line in lines:
        value, *groups = line.fields
        if not all(groups):
            msg = f"{path}: line {line.number} has an empty field; give each group a name"
            raise PlanError(msg)
        earlier = first.setdefault(value, line.number)
        if earlier != line.number:
            msg = (
                f"{path}: line {line.number} repeats the value {value!r} of line {earlier}; keep "
                "one of them"
            )
            raise PlanError(msg)


def _paths(nested: Mapping[str, object], above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for name, below in nested.items():
        match below:
            case dict() if below:
                yield from _paths(below, (name, *above))
            case []:
                yield (name, *above)
            case list() | tuple():
                yield from ((_value(name, value), name, *above) for value in below)
            case _:
                msg = (
                    f'{name!r} must hold a list of values, such as ["Paris", "Lyon"], or a table '
                    "of groups"
                )
                raise PlanError(msg)


def _value(group: str, value: object) -> str:
    if isinstance(value, str):
        return value
    exact = usable_number(value)
    if exact is None:
        msg = f"{group!r} must list values as texts or numbers"
        raise PlanError(msg)
    return format(exact, "f")


def _filled(paths: Iterable[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    """Paths of one length: a value repeats itself until its first group."""
    paths = list(paths)
    longest = max(map(len, paths))
    return tuple((path[0],) * (longest - len(path)) + path for path in paths)


CodeListName = Literal[
    "icd-9-cm", "icd-10-cm", "nace-2", "isco-08", "us-states", "countries", "nuts"
]
CODE_LISTS: tuple[CodeListName, ...] = get_args(CodeListName)
"""The lists that ship with the package."""

_UNLISTED = "unlisted"
_FINER = 10


@checked(PlanError)
@dataclass(frozen=True)
class CodeList:
    """A public list, and what becomes of values that it does not have."""

    name: Annotated[
        CodeListName, Says(f"the name of a public list, one of {', '.join(CODE_LISTS)}")
    ]
    unlisted: Literal["refuse", "group"] = "refuse"
    """An error, or a group of their own."""

    def bind(
        self, column: str, values: DistinctValues, bounds: tuple[Decimal, Decimal] | None = None
    ) -> BoundHierarchy:
        """The hierarchy of the d distinct values of a column; ``bounds`` are of no use here.

        Raises ``PlanError`` for values that are not in the list, where these are refused.
        """
        listed, texts = public_list(self.name), values.present()
        keys = [listed.key_of(text) for text in texts]
        missed = [text for text, key in zip(texts, keys, strict=True) if key is None]
        if missed and self.unlisted == "refuse":
            # As of a taxonomy, the first value is quoted: nobody could mend the plan without.
            others = and_others(len(missed) - 1)
            msg = (
                f"column {column!r}: the list {self.name} misses the value {missed[0]!r}{others}; "
                f'write code_list = {{ name = "{self.name}", unlisted = "group" }} to make one '
                "group of them, or name the text in `missing` if it stands for a missing value"
            )
            raise PlanError(msg)
        return listed.bound(column, values, texts, keys)

    def missed(self, column: str, values: DistinctValues) -> list[str]:
        """The values of a column that are not in the list."""
        listed = public_list(self.name)
        return [text for text in values.present() if listed.key_of(text) is None]


@dataclass(frozen=True, eq=False)
class _PublicList:
    """A list as it stands in its file."""

    title: str
    source: str
    terms: str
    groups: dict[str, tuple[str, ...]]
    """The groups of each listed code, the widest last."""
    code: re.Pattern[str] | None
    """How a code is recognised; None: the list names whole values."""
    digits: int
    """Of a code whose zeros in front may have been lost; 0: of none."""
    prefixes: tuple[int, ...]
    """Characters of a code that the levels below the groups keep."""

    def key_of(self, text: str) -> str | None:
        """The listed code that a value belongs to; None where it is not in the list."""
        if self.code is None:
            name = _name(text)
            return name if name in self.groups else None
        found = self.code.fullmatch(text.strip().upper())
        if not found:
            return None
        key = next(group for group in found.groups() if group is not None)
        key = key.zfill(self.digits) if key.isdigit() else key
        return key if key in self.groups else None

    def bound(
        self,
        column: str,
        values: DistinctValues,
        texts: Sequence[str],
        keys: Sequence[str | None],
    ) -> BoundHierarchy:
        """The levels of some values, of which the listed codes are known."""
        whole = 1 / len(self.groups)
        finer = np.array([self._is_finer(*pair) for pair in zip(texts, keys, strict=True)], bool)
        levels = [Level.as_they_are(len(texts), np.where(finer, whole / _FINER, whole))]
        levels += [self._prefixed(texts, keys, kept) for kept in self.prefixes]
        depth = len(next(iter(self.groups.values())))
        levels += [self._grouped(keys, index) for index in range(depth)]
        return BoundHierarchy.of_levels(
            column, values, [*levels, Level.everything(len(texts))], whole / _FINER
        )

    def _is_finer(self, text: str, key: str | None) -> bool:
        return self.code is not None and key is not None and len(_plain(text)) > len(key)

    def _prefixed(self, texts: Sequence[str], keys: Sequence[str | None], kept: int) -> Level:
        labels, shares = [], []
        for text, key in zip(texts, keys, strict=True):
            stem = None if key is None else (key if kept <= len(key) else _plain(text))[:kept]
            labels.append(_UNLISTED if stem is None else f"{stem}{EVERYTHING}")
            inside = len(stem or "") <= len(key or "")
            shares.append(1 / len(self.groups) / (1 if inside else _FINER))
        return Level.labelled(labels, np.array(shares))

    def _grouped(self, keys: Sequence[str | None], index: int) -> Level:
        below = Counter(groups[index] for groups in self.groups.values())
        labels = [_UNLISTED if key is None else self.groups[key][index] for key in keys]
        share = [below.get(label, 1) / len(self.groups) for label in labels]
        return Level.labelled(labels, np.array(share))


@cache
def public_list(name: CodeListName) -> _PublicList:
    """A list that ships with the package."""
    text = files("voile.schema.hierarchy").joinpath(f"lists/{name}.csv").read_text("utf-8")
    said: dict[str, str] = {}
    groups: dict[str, tuple[str, ...]] = {}
    for line in csv.reader(text.splitlines(), delimiter=";"):
        if line[0].startswith("# "):
            key, _, value = ";".join(line)[2:].partition("=")
            said[key.strip()] = value.strip()
            continue
        codes, *above = line
        listed = _expanded(codes) if "code" in said else map(_name, codes.split("|"))
        groups.update(dict.fromkeys(listed, tuple(above)))
    return _PublicList(
        title=said["title"],
        source=said["source"],
        terms=said["terms"],
        groups=groups,
        code=re.compile(said["code"]) if "code" in said else None,
        digits=int(said.get("digits", 0)),
        prefixes=tuple(map(int, said.get("prefix", "").split(","))) if "prefix" in said else (),
    )


def _expanded(codes: str) -> Iterator[str]:
    """The codes from the first to the last, digit by digit behind a letter: ``S00..T99``."""
    first, _, last = codes.partition("..")
    if not last:
        yield first
        return
    head = re.match(r"[A-Z]?", first)
    letters = [""] if not head or not head[0] else map(chr, range(ord(first[0]), ord(last[0]) + 1))
    width = len(first.lstrip("ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
    for letter in letters:
        for number in range(10**width):
            code = f"{letter}{number:0{width}}"
            if first <= code <= last:
                yield code


def _name(text: str) -> str:
    """A name as it is compared; a number, such as that of a state, has two digits at least."""
    name = " ".join(re.sub(r"[-_\s]+", " ", text.casefold().replace("&", " and ")).split())
    return name.zfill(2) if name.isdigit() else name


def _plain(text: str) -> str:
    return text.strip().upper().replace(".", "")
