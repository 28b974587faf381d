"""What the name of a column tells: its words, whether it names somebody or something, its meaning.

The meanings are data (``words.toml``), so that others may read and add to them.  A name alone never
decides: ``columns`` holds it against how the values are written.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import Any, Literal

from voile.schema.kinds import Kind

__all__ = ["Meaning", "Role", "meaning_of", "named", "words_of"]

Role = Literal["identifier", "person", "household", "quasi", "sensitive", "drop"]
"""What is proposed for a column; "drop": no role, so that it is not published."""

_BETWEEN = frozenset({"unique", "national", "original", "ori", "internal"})


@dataclass(frozen=True)
class Meaning:
    """What columns of such names mostly are."""

    words: tuple[str, ...]
    role: Role
    kind: Kind
    reason: str
    bounds: tuple[Decimal, Decimal] | None = None

    def fits(self, words: tuple[str, ...]) -> bool:
        """Whether a name of these words has the meaning."""
        return any(
            all(any(fnmatchcase(word, part) for word in words) for part in pattern.split("+"))
            for pattern in self.words
        )


def words_of(name: str) -> tuple[str, ...]:
    """The words of a name, small, without numbers at their ends."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name)
    parts = re.findall(r"[^\W_]+", parted)
    return tuple(part.casefold().rstrip("0123456789") or part for part in parts)


def meaning_of(name: str) -> Meaning | None:
    """The first meaning that fits a name."""
    whole = tuple(part.casefold() for part in re.findall(r"[^\W_]+", name))
    words = (*words_of(name), *whole)
    return next((meaning for meaning in _meanings() if meaning.fits(words)), None)


def named(name: str) -> Literal["person", "household", "thing"] | None:
    """Whom or what a name says that the column tells apart; None where it says nothing of it.

    ``patient_nbr``, ``id_patient`` and ``player`` are persons; ``customer_zip_code`` is none.
    """
    words = [word for word in words_of(name) if word not in _BETWEEN]
    for who in ("person", "household"):
        known = _lexicon()[who]
        ids, plain = _lexicon()["id"], _lexicon()["plain_id"]
        before = any(one in plain and other in known for one, other in pairwise(words))
        behind = words[-2:-1] != [] and words[-2] in known and words[-1] in ids
        if before or behind or (len(words) == 1 and words[0] in known):
            return "person" if who == "person" else "household"
        if any(word in _lexicon()[f"{who}_id"] for word in words):
            return "person" if who == "person" else "household"
    ends = {*words[:1], *words[-1:]}
    return "thing" if ends & _lexicon()["plain_id"] or words == ["name"] else None


@cache
def _document() -> Mapping[str, Any]:
    return tomllib.loads(files("voile.proposal").joinpath("words.toml").read_text("utf-8"))


@cache
def _lexicon() -> Mapping[str, frozenset[str]]:
    return {key: frozenset(words) for key, words in _document()["words"].items()}


@cache
def _meanings() -> tuple[Meaning, ...]:
    return tuple(
        Meaning(
            words=tuple(said["words"]),
            role=said["role"],
            kind=said["kind"],
            reason=said["reason"],
            bounds=_bounds(said.get("bounds")),
        )
        for said in _document()["meaning"]
    )


def _bounds(said: list[int] | None) -> tuple[Decimal, Decimal] | None:
    return None if said is None else (Decimal(said[0]), Decimal(said[1]))
