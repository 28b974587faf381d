"""Hierarchies that everybody has: public lists of codes, which ship with the package.

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
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import Annotated, Literal, get_args

import numpy as np

from voile.schema.hierarchy.generalized import (
    EVERYTHING,
    BoundHierarchy,
    DistinctValues,
    Level,
    and_others,
    as_they_are,
    bind_levels,
    everything,
    labelled,
    present,
)
from voile_base.errors import PlanError
from voile_base.values.value import Says, checked

__all__ = ["CODE_LISTS", "CodeList", "CodeListName", "public_list"]

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
        listed, texts = public_list(self.name), present(values)
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
        return [text for text in present(values) if listed.key_of(text) is None]


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
        levels = [as_they_are(len(texts), np.where(finer, whole / _FINER, whole))]
        levels += [self._prefixed(texts, keys, kept) for kept in self.prefixes]
        depth = len(next(iter(self.groups.values())))
        levels += [self._grouped(keys, index) for index in range(depth)]
        return bind_levels(column, values, [*levels, everything(len(texts))], whole / _FINER)

    def _is_finer(self, text: str, key: str | None) -> bool:
        return self.code is not None and key is not None and len(_plain(text)) > len(key)

    def _prefixed(self, texts: Sequence[str], keys: Sequence[str | None], kept: int) -> Level:
        labels, shares = [], []
        for text, key in zip(texts, keys, strict=True):
            stem = None if key is None else (key if kept <= len(key) else _plain(text))[:kept]
            labels.append(_UNLISTED if stem is None else f"{stem}{EVERYTHING}")
            inside = len(stem or "") <= len(key or "")
            shares.append(1 / len(self.groups) / (1 if inside else _FINER))
        return labelled(labels, np.array(shares))

    def _grouped(self, keys: Sequence[str | None], index: int) -> Level:
        below = Counter(groups[index] for groups in self.groups.values())
        labels = [_UNLISTED if key is None else self.groups[key][index] for key in keys]
        share = [below.get(label, 1) / len(self.groups) for label in labels]
        return labelled(labels, np.array(share))


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
