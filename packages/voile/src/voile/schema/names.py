"""What the name of a column tells: its words, whether it names somebody or something, its meaning.

The meanings are data (``words.toml``, and ``languages`` with a line per language), so that others
may read and add to them.  A name alone never
decides: ``columns`` holds it against how the values are written.

Kinds of columns: what the values of a column mean, beside how they are written.

    kind        values are                                   bound as          an interval of them
    nominal     names without an order: 1 = male, "red"      texts             never
    ordinal     ranks: numbers, or texts with an ``order``   as in the file    of neighbours
    number      amounts and counts                           numbers           yes
    date        days or times, in a declared ``format``      dates, times      yes
    code        codes of a system: ICD, NACE, an article     texts             never
    geography   places and areas: a zip code, a state        texts             never
    text        what people wrote freely                     texts             never

A file cannot tell a code from a number: both are digits.  A plan can, and then the digits are texts
from the moment the plan is bound, for every method: what is never a number is never an interval, a
sum or a mean.  Without a kind, the file decides.

Free text is no quasi-identifier.  Two people rarely write the same, so that making rows alike would
leave nothing of it; and what somebody wrote may name anybody.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fnmatch import translate
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import Literal, NamedTuple, Self

from voile_base.ondemand import dataclass, pattern_on_demand
from voile_base.values import Document
from voile_base.values.toml import words_document

__all__ = [
    "DEVICE_STATE",
    "UNORDERED",
    "ColumnType",
    "Kind",
    "Meaning",
    "Role",
    "ShownAs",
    "fits",
    "kind_of_numbered",
    "meaning_of",
    "named",
    "names_beside",
    "stems_of",
    "type_of",
    "without_accents",
    "words_of",
    "words_of_languages",
    "words_told",
]


Kind = Literal["nominal", "ordinal", "number", "date", "code", "geography", "text"]
"""What the values of a column mean."""

ColumnType = Literal["text", "number"]
"""How values are read, whatever the file says."""

ShownAs = Literal[
    "exact", "permuted", "synthetic", "interval", "set", "averaged", "noisy", "withheld"
]
"""How a released file of another make shows a column; see ``audit.recognition``."""

UNORDERED: frozenset[Kind] = frozenset({"nominal", "code", "geography", "text"})
"""Kinds whose values lie on no axis: what is between two of them means nothing."""


def type_of(kind: Kind | None) -> ColumnType | None:
    """How the values of a kind are read; None: as the file says."""
    if kind in UNORDERED:
        return "text"
    return "number" if kind == "number" else None


Role = Literal["identifier", "person", "household", "quasi", "sensitive", "drop"]
"""What is proposed for a column; "drop": no role, so that it is not published."""

_NUMBER_OF = pattern_on_demand(
    r"(?!ha?us|huis)[^\W\d_]{3,}(?:nummer|numero|numeroa|nro|numara|szam)"
    r"|(?!ロット|로트|.*[批型])[^\W\d_]{2,}(?:番号|编号|編號|号码|號碼|번호|(?<![信符年称])[号號])"
)
"""A word of a language that writes compounds in one: the number of something, not of a model or
a batch."""
_ENDS = ("id", "nummer", "nr", "kennung", "numer")
_POINTED = pattern_on_demand(r"(?<!\w)(?:[^\W\d_]\.){2,}(?!\w)")
_WHOLE = frozenset({"valid", "invalid", "solid", "plaid", "covid", "paid", "fluid", "acid"})
"""Words that end like an id, and are none."""
_JOINTS = ("en", "n", "s")
"""What German puts between the parts of a word."""
_PLAIN_LETTERS = str.maketrans(
    {
        "ł": "l",
        "Ł": "L",
        "ß": "ss",
        "ø": "o",
        "Ø": "O",
        "æ": "ae",
        "\u0131": "i",
        "đ": "d",
        "Đ": "D",
    }
)


_SIGNS = [
    sign
    for sign in map(chr, (*range(0x900, 0x1100), *range(0x1780, 0x1800)))
    if unicodedata.category(sign)[0] == "M"
]
"""Signs of vowels and tones in scripts of South and Southeast Asia, which are no letters."""
_TONES = {ord(sign): None for sign in _SIGNS if unicodedata.combining(sign)}
"""Those of them that are accents, too, and are taken off."""
_WORD = pattern_on_demand(rf"(?:[^\W_]|[{''.join(_SIGNS)}])+|[$\u00a2-\u00a5\u0e3f\u20a0-\u20c0]")
"""Letters and figures, or a sign of a currency."""


_PLAIN_WORD = pattern_on_demand(r"[^\W_]+|\$")
"""The same of a name in ASCII, which has none of those signs: to compile them takes long."""


def _words_in(name: str) -> list[str]:
    """The words of a name as they stand there."""
    return (_PLAIN_WORD if name.isascii() else _WORD).findall(name)


DEVICE_STATE = "the state of a device or of a room, which tells nothing of a person by itself"
"""The reason of the meaning of such names in ``words.toml``."""


@dataclass(frozen=True)
class Meaning:
    """What columns of such names mostly are."""

    words: tuple[str, ...]
    role: Role
    kind: Kind
    reason: str
    bounds: tuple[Decimal, Decimal] | None = None
    vague: bool = False
    """Whether such names say no more than that the values are kinds, reasons or results."""

    @cached_property
    def _forms(self) -> tuple[_Forms, _Together]:
        return _forms_of(self.words)

    def fits(self, words: tuple[str, ...]) -> bool:
        """Whether a name of these words has the meaning."""
        return _fits(self._forms, words)


def fits(patterns: Sequence[str], words: Sequence[str]) -> bool:
    """Whether a name of these words fits one of some patterns, as ``words.toml`` writes them.

    Parts of a compound that stand apart are that compound: ``Haus_Nr`` is ``hausnr``.
    """
    return _fits(_forms_of(tuple(patterns)), words)


def _fits(forms: tuple[_Forms, _Together], words: Sequence[str]) -> bool:
    alone, together = forms
    if any(map(alone.fits, words)):
        return True
    if any(one + other in alone.every for one, other in pairwise(words) if len(one) > 2):
        return True
    likely = (one for word in words for one in together.of(word)) if together.every else ()
    return any(all(any(map(part.fits, words)) for part in _parts_of(one)) for one in likely)


class _Forms(NamedTuple):
    """Patterns of one word, and those of them that only an expression can hold against a word.

    Most are looked up: a word fits few patterns, a table has few names, and there are tens of
    thousands of patterns, which would take longer to part by their kind than a small release does.
    """

    every: frozenset[str]
    others: re.Pattern[str] | None

    @classmethod
    def of(cls, patterns: Sequence[str]) -> Self:
        """Of patterns with ``*`` and ``?``, as file names have them."""
        others = _others(patterns)
        expression = re.compile("|".join(map(translate, others))) if others else None
        return cls(frozenset(patterns), expression)

    def fits(self, word: str) -> bool:
        if len(word) > _LONG:
            looked_up = any(_is_fitted(one, word) for one in self.every)
        else:
            looked_up = not self.every.isdisjoint(_patterns_of(word))
        return looked_up or (self.others is not None and self.others.fullmatch(word) is not None)


class _Together(NamedTuple):
    """Patterns of several words, by the first of them; those that are not looked up under ""."""

    every: Mapping[str, Sequence[str]]

    @classmethod
    def of_patterns(cls, patterns: Sequence[str]) -> Self:
        found: dict[str, list[str]] = {}
        first = [one.partition("+")[0] for one in patterns]
        others = frozenset(_others(first))
        for pattern, word in zip(patterns, first, strict=True):
            found.setdefault("" if word in others else word, []).append(pattern)
        return cls(found)

    def of(self, word: str) -> list[str]:
        """Those whose first word a word may be."""
        keys = self.every if len(word) > _LONG else ("", *_patterns_of(word))
        return [one for key in keys for one in self.every.get(key, ())]


def _others(patterns: Sequence[str]) -> list[str]:
    """Patterns that ask for more than a whole word, its beginning, its end or a part of it."""
    lines = "\n".join(("", *patterns, ""))
    at_ends = lines.count("\n*") + lines.count("*\n")
    if lines.count("*") == at_ends and not any(sign in lines for sign in _OTHER_SIGNS):
        return []
    parts = ((one, one.removeprefix("*").removesuffix("*")) for one in patterns)
    return [one for one, part in parts if not part or any(sign in part for sign in "*?[")]


_OTHER_SIGNS = ("?", "[", "**", "\n*\n")
_LONG = 64
"""Letters of a word that has too many parts to look each of them up."""


@lru_cache(maxsize=1 << 10)
def _patterns_of(word: str) -> frozenset[str]:
    """The word, and the patterns of its beginnings, its ends and its parts."""
    ends = range(1, len(word) + 1)
    begins = (f"{word[:end]}*" for end in ends)
    behind = (f"*{word[-end:]}" for end in ends)
    within = (f"*{word[start:end]}*" for end in ends for start in range(end))
    return frozenset((word, *begins, *behind, *within))


def _is_fitted(pattern: str, word: str) -> bool:
    """Whether a word has the beginning, the end or the part that a pattern asks for, or is it."""
    part = pattern.strip("*")
    before, after = pattern.startswith("*"), pattern.endswith("*")
    if before and after:
        return part in word
    return word.endswith(part) if before else word.startswith(part) if after else word == part


@lru_cache(maxsize=1 << 12)
def _forms_of(patterns: tuple[str, ...]) -> tuple[_Forms, _Together]:
    """Patterns of one word, and those of several."""
    several = [one for one in patterns if "+" in one]
    alone = [one for one in patterns if "+" not in one] if several else patterns
    return _Forms.of(alone), _Together.of_patterns(several)


@lru_cache(maxsize=1 << 12)
def _parts_of(pattern: str) -> tuple[_Forms, ...]:
    """The words of a pattern of several."""
    return tuple(_Forms.of([part]) for part in pattern.split("+"))


_PLAIN_BORDER = pattern_on_demand(r"(?<=[a-z0-9])(?=[A-Z])")
_EASTERN = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_BORDER = pattern_on_demand(
    rf"(?<=[a-z0-9])(?=[A-Z])|(?<=[{_EASTERN}])(?=[A-Za-z])|(?<=[A-Za-z])(?=[{_EASTERN}])"
    "|(?<=[\u0430-\u045f\u0491])(?=[\u0400-\u042f\u0490])|(?<=[\u03b1-\u03c9])(?=[\u0391-\u03a9])"
)


@lru_cache(maxsize=1 << 16)
def words_of(name: str) -> tuple[str, ...]:
    """The words of a name, small, without numbers at their ends: ``schoolid1`` is school, id.

    Letters with a point each are one word: ``C.P.`` is cp.  Letters of Latin
    beside those of Chinese, Japanese and Korean are words of their own.
    """
    if "." in name:
        name = _POINTED.sub(lambda found: found[0].replace(".", ""), name)
    border = _PLAIN_BORDER if name.isascii() else _BORDER
    parted = border.sub(" ", without_accents(name))
    parts = _words_in(parted)
    words = (part.casefold().rstrip("0123456789") or part for part in parts)
    return tuple(piece for word in words for piece in _without_id(word))


def names_beside(name: str, names: Sequence[str]) -> tuple[str, ...]:
    """The other names of a table, from the next one on: the last are those before this one."""
    at = names.index(name)
    return (*names[at + 1 :], *names[:at])


def stems_of(names: Sequence[str]) -> Mapping[str, str]:
    """Names without the letter that tells one of several measures of a thing from the others.

    ``schoolk`` beside ``school1`` and ``school2`` is a school; other names stay as they are.
    """
    numbered = Counter(
        stem.casefold() for name in names if (stem := name.rstrip("0123456789")) != name
    )
    return {
        name: name[:-1] if name[-1:].isalpha() and numbered[name[:-1].casefold()] > 1 else name
        for name in names
    }


@lru_cache(maxsize=1 << 14)
def meaning_of(
    name: str, shortest: int = 1, kinds: frozenset[Kind] | None = None
) -> Meaning | None:
    """The first meaning that fits a name, by words of so many letters or more.

    ``kinds`` are those that the values can be, where not all are.

    Words of three letters mean something else in another language: ``ten`` is the tenure of a home
    in one, and the name of a person in another.  Words are held against as they are written, too:
    ``løn`` is a wage, and ``lon`` a longitude.
    """
    written = unicodedata.normalize("NFC", name.translate(_TONES))
    whole = tuple(
        part.casefold() for text in (without_accents(name), written) for part in _words_in(text)
    )
    words = tuple(word for word in (*words_of(name), *whole) if len(word) >= shortest)
    likely = (one for one in _meanings() if kinds is None or one.kind in kinds)
    return next((meaning for meaning in likely if meaning.fits(words)), None)


def named(name: str) -> Literal["person", "household", "thing"] | None:
    """Whom or what a name says that the column tells apart; None where it says nothing of it.

    ``patient_nbr``, ``id_patient`` and ``player`` are persons; ``customer_zip_code`` is none.
    """
    words = [word for word in words_of(name) if word not in _lexicon()["between"]]
    for who in ("person", "household"):
        known = _lexicon()[who]
        ids, plain = _lexicon()["id"], _lexicon()["plain_id"] | _lexicon()["before"]
        before = any(one in plain and other in known for one, other in pairwise(words))
        behind = words[-2:-1] != [] and words[-2] in known and words[-1] in ids
        if before or behind or (len(words) == 1 and words[0] in known):
            return "person" if who == "person" else "household"
        if any(word in _lexicon()[f"{who}_id"] for word in words):
            return "person" if who == "person" else "household"
    ends = {*words[:1], *words[-1:]}
    told = ends & _lexicon()["plain_id"] or words == ["name"]
    return "thing" if told or (words and _NUMBER_OF.fullmatch(words[-1])) else None


def kind_of_numbered(name: str) -> Literal["geography", "code", "nominal"] | None:
    """What an id in a name is of, where that is no person.

    ``id_municipio`` numbers places, ``occupation_id`` has codes of a system, and ``hospital_id``
    numbers institutions; ``reference_id`` may number anything.
    """
    lexicon = _lexicon()
    no_more = lexicon["id"] | lexicon["before"] | lexicon["between"]
    words = [word for word in words_of(name) if word not in no_more]
    meaning = meaning_of(" ".join(words), 3)
    if meaning is not None and meaning.kind == "geography":
        return "geography"
    if not lexicon["person"].isdisjoint(words):
        return None
    if fits(sorted(lexicon["shared"]), words):
        return "code"
    return "nominal" if meaning is not None and meaning == meaning_of("school") else None


def without_accents(name: str) -> str:
    """A name in plain letters: ``numéro_élève`` is numero_eleve."""
    if name.isascii():
        return name
    name = re.sub(r"\b[Nn]r?[°º]", "nro ", name)
    apart = unicodedata.normalize("NFKD", name.translate(_PLAIN_LETTERS))
    plain = "".join(letter for letter in apart if not unicodedata.combining(letter))
    return unicodedata.normalize("NFC", plain)  # Korean syllables are whole again


def _without_id(word: str) -> tuple[str, ...]:
    """A word that ends like an id behind a word that is known, as the two words that it is.

    ``schoolid`` is school, id; ``patientennummer`` is patient, nummer; ``idpaciente`` id, paciente.
    """
    beside = word.removeprefix("id")
    if beside != word and beside in _lexicon()["person"] | _lexicon()["household"]:
        return "id", beside
    for end in _ENDS if word not in _WHOLE else ():
        stem = word.removesuffix(end)
        for known in (stem, *(stem.removesuffix(joint) for joint in _JOINTS)):
            if stem != word and known in _known_words():
                return known, end
    return (word,)


@cache
def _known_words() -> frozenset[str]:
    """The words of persons, households and meanings that are written out."""
    patterns = " ".join(one for meaning in _meanings() for one in meaning.words)
    plain = (one for one in patterns.replace("+", " ").split() if one.isalpha() and len(one) > 2)
    return frozenset(plain) | _lexicon()["person"] | _lexicon()["household"]


@cache
def words_of_languages() -> Mapping[str, tuple[str, ...]]:
    """Patterns of the files in ``languages`` by what they mean: ``staff``, ``telephone``, a key.

    A table is called by that and by a concept, ``[health.disease]``, and has a line per language.
    ``tomllib`` would take twenty times as long for so many lines.
    """
    found: dict[str, list[str]] = {}
    folder = files("voile.schema").joinpath("languages")
    for name in _LANGUAGES:
        for table in folder.joinpath(f"{name}.toml").read_text("utf-8").split("\n[")[1:]:
            meant = table[: table.index(".")]
            found.setdefault(meant, []).extend(table.split('"')[1::2])
    return {meant: tuple(" ".join(lines).split()) for meant, lines in found.items()}


_LANGUAGES = ("direct", "staff", "quasi", "sensitive", "harmless")
"""Files of words of many languages; ``words.toml`` says how patterns are written."""


@cache
def _document() -> Document:
    return words_document(files("voile.schema").joinpath("words.toml").read_text("utf-8"))


def words_told(of: str) -> tuple[str, ...]:
    """The words of ``words.toml`` for something that columns hold, such as "latitude"."""
    return tuple(_document()["words"][of])


@cache
def _lexicon() -> Mapping[str, frozenset[str]]:
    return {key: frozenset(words) for key, words in _document()["words"].items()}


@cache
def _meanings() -> tuple[Meaning, ...]:
    return tuple(
        Meaning(
            words=(*said["words"], *words_of_languages().get(said["key"], ())),
            role=said["role"],
            kind=said["kind"],
            reason=said["reason"],
            bounds=_bounds(said.get("bounds")),
            vague=said["key"] == "vague",
        )
        for said in _document()["meaning"]
    )


def _bounds(said: list[int] | None) -> tuple[Decimal, Decimal] | None:
    return None if said is None else (Decimal(said[0]), Decimal(said[1]))
