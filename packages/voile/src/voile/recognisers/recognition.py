"""Recognisers as they are asked: each of the list, and those of other packages.

Cost: a few regular expressions on at most ``looks.SAMPLED`` texts of a column.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from typing import Literal, Protocol

from voile.recognisers.codes import CHECKS
from voile.recognisers.values import LOOKS, ColumnLook, has_names, is_day, share_of
from voile.schema.names import (
    fits,
    kind_of_numbered,
    meaning_of,
    words_of,
    words_of_languages,
)
from voile.schema.persons import FEW_PERSONS
from voile_base.ondemand import dataclass, pattern_on_demand
from voile_base.registry import Registry
from voile_base.values import Json
from voile_base.values.toml import words_document

__all__ = [
    "RECOGNISERS",
    "ListedRecogniser",
    "Recogniser",
    "Recognition",
    "listed_recognisers",
    "on_a_grid",
    "recognised",
    "suspected",
]

Group = Literal["identifier", "position", "movement", "regulated"]
By = Literal["name", "values", "within"]
"""What tells it: the name, how values are written, or what stands within some texts."""

_MOSTLY = 0.6
"""The share of whole cells that are written so, from which on a column holds such."""
_CHECKED = 0.8
"""The share of cells with check digits: by chance one in ten has them."""
_WITHIN = 0.05
"""The share of cells that hold something within, such as an e-mail address in a note."""
_ALONE = 0.5
"""The share of the texts in which a format stands, from which on they are nothing else."""
_SPACED = r"[^\W\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]"
"""Letters and digits of scripts that have spaces between words: of Thai, Lao, Burmese, Khmer,
Japanese and Chinese, which have none, a number may follow at once."""
_MANY = 20
"""So few different values are told by the name of the column, and not by how they are written."""
_TELLING = 0.1
_LONG = 6
_YEARS = 1800, 2100
_REPEATED = 0.5
_STATES = 10_000
"""What a receiver counts or measures is less, and metres of a grid are more."""
_SMALL = 1_000
_GRIDS: tuple[tuple[tuple[float, float], tuple[float, float]], ...] = (
    ((2.5e6, 5.7e6), (5.2e6, 6.2e6)),  # Gauss-Krueger, Germany (EPSG 31466 to 31469)
    ((1.6e5, 8.4e5), (1e6, 9.35e6)),  # UTM (EPSG 32601 to 32760, 25828 to 25838)
    ((9e4, 1.26e6), (6.0e6, 7.2e6)),  # Lambert-93, France (EPSG 2154)
    ((1e4, 3.1e5), (2.85e5, 6.4e5)),  # RD New, the Netherlands (EPSG 28992)
    ((2.48e6, 2.85e6), (1.07e6, 1.31e6)),  # LV95, Switzerland (EPSG 2056)
    ((4.8e5, 8.5e5), (7e4, 3.1e5)),  # LV03, Switzerland (EPSG 21781)
    ((5e4, 7e5), (1e4, 1.25e6)),  # British National Grid (EPSG 27700)
    ((-2.6e6, 4.6e6), (4e6, 1.15e7)),  # Web Mercator, Europe (EPSG 3857)
)
"""Areas of use of grids in metres, as the EPSG data set has them: first axis, then the second."""

_SCALES = (1e5, 1e6, 1e7)
"""What degrees are multiplied with to be whole numbers."""
_REGION = 5.0
"""Degrees within which the places of one region lie."""


@dataclass(frozen=True)
class Recognition:
    """What a column was recognised as."""

    key: str
    letter: str
    group: Group
    title: str
    """What it holds, in words: "e-mail addresses"."""
    by: By

    @property
    def reason(self) -> str:
        """A clause, without values."""
        if self.by == "name":
            return f"its name is that of {self.title}"
        if self.by == "within":
            return f"some of its texts hold {self.title}"
        return f"its values are written as {self.title}"


class Recogniser(Protocol):
    """Looks at a column."""

    def recognise(self, look: ColumnLook) -> Recognition | None:
        """What the column holds, if this recogniser knows it."""


RECOGNISERS: Registry[Recogniser] = Registry(
    group="voile.recognisers", what="a recogniser", own={}, offers=("recognise",)
)
"""Those of other packages; Voile's own are the list in ``recognisers.toml``."""


@dataclass(frozen=True)
class ListedRecogniser:
    """An entry of ``recognisers.toml``, which says what the fields are."""

    key: str
    letter: str
    group: Group
    title: str
    columns: tuple[str, ...] = ()
    perhaps: tuple[str, ...] = ()
    regulated: tuple[str, ...] = ()
    beside_street: tuple[str, ...] = ()
    beside_positions: tuple[str, ...] = ()
    formats: tuple[str, ...] = ()
    whole: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()
    looks: str = ""

    @cached_property
    def called(self) -> tuple[str, ...]:
        """Patterns of all names that it may know."""
        return (*self.columns, *self.perhaps, *self.beside_street, *self.beside_positions)

    def recognise(self, look: ColumnLook) -> Recognition | None:
        """By the name, where the values can be it; else by how most values are written."""
        if self.group == "regulated" or look.distinct == 0 or look.is_flag():
            return None
        if look.type in {"date", "datetime", "time", "duration"} or look.is_dated:
            return None
        if self._is_named(look):
            return self._recognition("name")
        if holding := self._holding(look):
            alone = share_of(holding, self._is_whole) >= _ALONE
            return self._recognition("values" if alone else "within")
        if self.key in _LOOSE and holds_postcodes(look):
            return None
        return self._recognition("values") if self._is_written(look) else None

    def _recognition(self, by: By) -> Recognition:
        return Recognition(self.key, self.letter, self.group, self.title, by)

    def _is_named(self, look: ColumnLook) -> bool:
        if not self._may_be_named(look):
            return False
        if self.group != "movement":
            return True
        moves = _has_positions((look.name, *look.beside))
        return moves and not holds_postcodes(look)  # "cap" is a course, and a postcode elsewhere

    def _may_be_named(self, look: ColumnLook) -> bool:
        if self.group == "identifier" and look.distinct <= _MANY and _OF_CLASSES & set(look.words):
            return False
        if fits(self.columns, look.words):
            return _may_be(self.key, look) and self._tells(look)
        if self._is_of_a_home(look):
            return True
        if fits(self.beside_positions, look.words) and look.type == "text":
            return _has_positions(look.beside)
        if not fits(self.perhaps, look.words) or _is_one_of_a_series(look):
            return False
        looks = bool(self.looks) and LOOKS[self.looks](look) and not _are_amounts(self.key, look)
        return looks or bool(self._holding(look)) or self._is_written(look, few=True)

    def _is_of_a_home(self, look: ColumnLook) -> bool:
        """Whether it is the number of a house or a flat, by a name that other things have, too."""
        if not self.beside_street:
            return False
        first, rest = look.words[:1], look.words[1:]
        beside = [words for name in look.beside if fits(self.columns, words := words_of(name))]
        if beside and self._numbers_a_home(look.words):
            return True
        same = any(words[:1] == first and len(words) > 1 for words in beside)
        if same and self._numbers_a_home(rest):  # billing_number beside billing_street
            return True
        before = any(fits(self.columns, words_of(name)) for name in look.beside[-2:])
        return before and _may_number_houses(look)

    def _numbers_a_home(self, words: Sequence[str]) -> bool:
        alone = len(words) == 1
        return fits(tuple(each for each in self.beside_street if alone or "+" in each), words)

    def _tells(self, look: ColumnLook) -> bool:
        return self.key not in _CODED or _tells(look)

    def _holding(self, look: ColumnLook) -> list[str]:
        """The texts in which a format stands; none where these are few."""
        if look.type != "text" or not self.formats:
            return []
        found = [text for text in _holding_any(look.filled) if self.finds(text)]
        if not found or len(found) < _WITHIN * len(look.filled):
            return []
        if self.key == "ip-address" and (
            fits(_VERSIONS, words_of(look.name)) or meaning_of(look.name) == meaning_of("firmware")
        ):
            return []  # versions of four numbers
        return found

    def _is_written(self, look: ColumnLook, *, few: bool = False) -> bool:
        texts = look.filled
        if look.type not in {"text", "integer"} or not texts:
            return False
        if look.distinct <= _MANY and not (few or self.key in _TOLD_BY_FEW):
            return self.looks == "names" and has_names(look, 0.5)
        if self._of_cells and _holds_of(texts, self._matches, _MOSTLY):
            return self.key not in _LOOSE or share_of(texts, is_day) <= _CHECKED
        if any(_holds_of(_plain(texts), CHECKS[name], _CHECKED) for name in self.checks):
            return True
        return self.looks == "names" and not few and has_names(look, 0.25)

    @cached_property
    def _patterns(self) -> tuple[re.Pattern[str], ...]:
        return tuple(_apart([one]) for one in self.formats)

    @cached_property
    def _of_cells(self) -> tuple[re.Pattern[str], ...]:
        return tuple(map(re.compile, self.whole))

    def finds(self, text: str) -> bool:
        """Whether a format stands within a text."""
        return any(one.search(text) for one in self._patterns)

    def _matches(self, text: str) -> bool:
        return any(one.fullmatch(text) for one in self._of_cells)

    def _is_whole(self, text: str) -> bool:
        """Whether a text is nothing but what was found in it."""
        return any(one.fullmatch(text) for one in (*self._patterns, *self._of_cells))


_TOLD_BY_FEW = frozenset(
    {"address", "account", "position", "track", "national-id", "full-postcode"}
)
"""What is told by how values are written, however few they are: homes of a whole street."""
_LOOSE = frozenset({"telephone"})
"""Written so freely, with digits and marks, that whatever else values may be comes first."""
_POSTCODE = pattern_on_demand(r"\d{4,6}|\d{5}-\d{3}|\d{2}-\d{3}|\d{3} ?\d{2}|\d{5}-\d{4}")


def holds_postcodes(look: ColumnLook) -> bool:
    """Whether a column is called after a place, and its values are written as postcodes are."""
    named = kind_of_numbered(look.name) == "geography"
    return named and share_of(look.filled, _POSTCODE.fullmatch) > _CHECKED


_VERSIONS = ("ver", "vers", "version*", "fw", "firmware", "sw", "software", "build")
"""Words of names of columns of versions, of which some have four numbers as addresses have."""
_CODED = frozenset(
    {"national-id", "telephone", "account", "licence", "medical-record", "beneficiary", "record"}
)
"""Numbers of something, whose names are taken for that where the values are many or long."""


_NUMBERED = pattern_on_demand(r"[^\W\d_]{0,3}[ -]?\d{1,6}[^\W\d_]?")
_FRACTION = pattern_on_demand(r"[.,]\d*[1-9]")
_ROUND = pattern_on_demand(r"^0$|000$|[1-9]\d{0,3}00$")
_GRADES = 6
"""So few texts with a number are those of grades or rooms."""
_DISEASE = pattern_on_demand(r"[A-Z]\d[0-9A-Z](?:\.?[0-9A-Z]{1,4})?[+*!]?")
"""Codes of the international classification of diseases."""
_OF_CLASSES = frozenset(
    {"model", "type", "status", "class", "kind", "category", "make", "brand", "colour", "color"}
    | {"version", "group", "typ", "tipo", "tipus", "modell", "modelo", "modele", "modello", "marke"}
    | {"marca", "merk", "marque", "statut", "stato", "estado", "soort", "rodzaj", "kategorie"}
    | {"categoria", "categorie", "klasse", "clase", "classe", "gruppe", "groupe", "grupo", "gruppo"}
    | {"meslek", "meslegi", "occupation", "profession", "beruf", "profesion", "professione"}
    | {"lib", "libelle", "label", "bezeichnung", "модель"}
    | {"모델", "기종", "型号", "型番", "モデル"}
)
"""What something is like, in names of columns that are no numbers of it: a device model."""


def _may_be(key: str, look: ColumnLook) -> bool:
    """Whether values may be what a name says.

    "cim" is an address in one language, and a list of diseases in another; and of a receiver of
    positions many share a state, which none is: the satellites that it sees, "weak".
    """
    if _are_amounts(key, look) or (key == "position" and _names_a_campaign(look)):
        return False
    if key == "address":
        return share_of(look.filled, _DISEASE.fullmatch) <= _CHECKED and not _is_of_a_part(look)
    if key != "position" or not any(word.startswith("gps") for word in look.words):
        return True
    rest = [word for word in look.words if not word.startswith("gps")]
    (place,) = (one for one in listed_recognisers() if one.key == key)
    if not rest or fits(place.called, rest):
        return True
    small = look.extremes is not None and max(map(abs, look.extremes)) < _STATES
    if look.type == "text":
        return not look.is_shared() or look.distinct > FEW_PERSONS
    return not small or (look.type == "decimal" and LOOKS["degrees"](look))


def _names_a_campaign(look: ColumnLook) -> bool:
    """Whether a name says which advertisement led to an order: utm_source."""
    campaigns = {"source", "medium", "campaign", "term", "content"}
    return "utm" in look.words and not campaigns.isdisjoint(look.words)


def _may_number_houses(look: ColumnLook) -> bool:
    """Whether values are written so, and the name does not say that they are something else."""
    meaning = meaning_of(look.name)
    if meaning is not None and meaning.kind != "geography":
        return False
    texts = [text.removesuffix(".0") for text in look.filled]
    several = look.distinct > FEW_PERSONS and len(set(map(len, texts))) > 1
    return several and share_of(texts, _HOUSE.fullmatch) > _CHECKED and not holds_postcodes(look)


_HOUSE = pattern_on_demand(r"\d{1,4}(?: ?[a-zA-Z]| ?[/-] ?\d{0,4} ?[a-zA-Z]?)?")
"""The number of a house, and of a flat in it: 12, 7/a, 1105/60."""


def _are_amounts(key: str, look: ColumnLook) -> bool:
    """Whether values are no telephones, plates, places or mail: round sums, volts, weeks, codes."""
    if key == "e-mail" and look.type == "text" and look.share <= _TELLING:
        return not any("@" in text for text in look.filled)
    if look.type == "integer" and key == "telephone":
        return share_of(look.filled, _ROUND.search) > _CHECKED
    if key == "vehicle" and _are_years(look):
        return True  # in which they were built
    if look.type == "decimal" and key == "vehicle":
        return share_of(look.filled, _FRACTION.search) > _CHECKED
    money = len(look.words) > 1 and look.words[-1] in _CURRENCIES  # "lon" is a wage there
    if money and key in {"position", "vehicle"}:
        return True
    return key == "position" and "wkt" in look.words and look.type == "integer"


_CURRENCIES = frozenset(
    {"kr", "sek", "nok", "dkk", "eur", "euro", "usd", "zl", "pln", "chf", "gbp", "czk", "bgn"}
    | {"huf", "ft", "ron", "lei", "hrk", "rsd", "try", "uah"}
)
"""What stands last in names of columns of money, whatever the word before it means."""


def _are_years(look: ColumnLook) -> bool:
    whole = look.type == "integer" or all(text.endswith(".0") for text in look.filled)
    ends = look.extremes if whole else None
    return ends is not None and _YEARS[0] <= ends[0] and ends[1] <= _YEARS[1]


def _is_one_of_a_series(look: ColumnLook) -> bool:
    """Whether numbers alone tell the name from several others: x09 beside x01, x02 and so on."""
    stem = look.name.rstrip(_DIGITS)
    if stem == look.name:
        return False
    alike = sum(name != stem and name.rstrip(_DIGITS) == stem for name in look.beside)
    return alike >= _SERIES


_DIGITS = "0123456789"
_SERIES = 4
"""Names beside one, from which on their letter is that of no axis."""


def _is_of_a_part(look: ColumnLook) -> bool:
    """Whether other names begin as this one does, and what follows means a place: address_city."""
    first, *rest = look.words
    alike = rest and any(words_of(name)[:1] == (first,) for name in look.beside)
    meant = meaning_of(" ".join(rest)) if alike else None
    return meant is not None and meant.kind == "geography"


def _tells(look: ColumnLook) -> bool:
    if look.type == "decimal" and share_of(look.filled, _FRACTION.search) > _CHECKED:
        return False  # amounts and measures
    words = look.type == "text" and not any(map(str.isdigit, "".join(look.filled)))
    if words or _are_years(look):
        return False  # "nam" is a number of insured persons in one language, a year in another
    small = look.type == "integer" and look.extremes and look.extremes[1] < _SMALL
    if small and look.share < _REPEATED:
        return False  # small numbers that repeat count something, whatever the name means
    if look.distinct > _MANY or look.share > _TELLING:
        return True
    if look.type == "text" and share_of(look.filled, _NUMBERED.fullmatch) > _CHECKED:
        return look.distinct > _GRADES  # numbers of leaves or of acts, which other books have too
    return share_of(look.filled, lambda text: len(text) >= _LONG) > 0.8


@cache
def listed_recognisers() -> tuple[ListedRecogniser, ...]:
    """All entries of the list, in its order."""
    text = files("voile.recognisers").joinpath("recognisers.toml").read_text("utf-8")
    return tuple(ListedRecogniser(**_entry(said)) for said in words_document(text)["recogniser"])


def _entry(said: Json) -> Json:
    found = {key: tuple(each) if isinstance(each, list) else each for key, each in said.items()}
    words = words_of_languages().get(str(said["key"]), ())
    return {**found, "columns": (*said.get("columns", ()), *words)}


def _apart(formats: Iterable[str]) -> re.Pattern[str]:
    """Where one of some formats stands without a letter, a digit or a joining mark at its sides."""
    before, behind = rf"(?<!{_SPACED})(?<![@.-])", rf"(?!{_SPACED}|[@-])"
    return re.compile(f"{before}(?:{'|'.join(formats)}){behind}")


@cache
def _any_format() -> re.Pattern[str]:
    """All formats at once, which costs a tenth of compiling each; few columns hold one."""
    return _apart(form for each in listed_recognisers() for form in each.formats)


def _holds_of(texts: Sequence[str], holds: Callable[[str], object], least: float) -> bool:
    """Whether ``share_of`` is at least ``least``, above 0; it is asked until that is certain."""
    found, every = 0, len(texts)
    for asked, text in enumerate(texts, 1):
        found += bool(holds(text))
        if found / every >= least:
            return True
        if (found + every - asked) / every < least:
            return False
    return False


@lru_cache(maxsize=1)
def _plain(texts: tuple[str, ...]) -> tuple[str, ...]:
    """The texts of one column without marks, in capital letters."""
    return tuple(re.sub(r"[ ./-]", "", text).upper() for text in texts)


@lru_cache(maxsize=1)
def _holding_any(texts: tuple[str, ...]) -> tuple[str, ...]:
    """Of the texts of one column, which all recognisers ask about, those that hold any format."""
    likely = [text for text in texts if _may_hold(text)]
    return tuple(filter(_any_format().search, likely)) if likely else ()


def _may_hold(text: str) -> bool:
    """Whether a text has the signs that every format needs; most columns of words have none.

    To compile all formats is a fortieth of a small release.
    """
    if not _MARKS.isdisjoint(text) or text.count("-") >= _JOINING_MARKS:
        return True
    digits = sum(map(str.isdecimal, text))
    return 0 < digits < len(text) and (digits >= _FEWEST_DIGITS or len(text) >= _ACCOUNT)


_MARKS = frozenset("@:.$")
_JOINING_MARKS = 4
"""So many as hexadecimal numbers without a digit have: aa-bb-cc-dd-ee-ff."""
_FEWEST_DIGITS = 4
"""Digits of the shortest day, 1/1/20."""
_ACCOUNT = 16
"""Letters and digits of the shortest number of an account, most of which may be letters."""


@cache
def _all() -> tuple[Recogniser, ...]:
    others = (RECOGNISERS.make(name, {}) for name in RECOGNISERS.names)
    return (*listed_recognisers(), *others)


_PAIRS = (
    *(("lat", "lon"), ("lat", "lng"), ("lat", "long")),
    *(("breite", "lange"), ("breite", "laenge"), ("dx", "dy")),
)
"""Names that are those of positions where both stand in a table."""


def recognised(look: ColumnLook) -> Recognition | None:
    """The first thing that a column is recognised as; by its name before by its values."""
    found = [one for each in _all() if (one := each.recognise(look)) is not None]
    strict = [one for one in found if one.key not in _LOOSE] or found
    return next((one for one in found if one.by == "name"), strict[0] if strict else None)


def suspected(look: ColumnLook) -> bool:
    """Whether the name alone may be that of anything that is recognised, whatever the values."""
    words = look.words
    return bool(RECOGNISERS.names) or any(
        fits(one.called, words) for one in listed_recognisers() if one.group != "regulated"
    )


def on_a_grid(one: ColumnLook, other: ColumnLook) -> Recognition | None:
    """That two columns of numbers may be the axes of a grid, by their values alone.

    Both are degrees times a power of ten, of one region; or each has different values in more than
    half of its rows, and both lie in the area of one grid in metres.
    """
    ends = [look.extremes for look in (one, other)]
    if any(look.type not in {"integer", "decimal"} for look in (one, other)) or None in ends:
        return None
    if any(_are_scaled(one, other, scale) for scale in _SCALES):
        return _position("values")
    if min(one.share, other.share) <= _REPEATED or min(one.distinct, other.distinct) <= _MANY:
        return None
    for axes in _GRIDS:
        for pair in (ends, ends[::-1]):
            if all(
                end is not None and low <= end[0] and end[1] <= high
                for end, (low, high) in zip(pair, axes, strict=True)
            ):
                return _position("values")
    return None


def _are_scaled(one: ColumnLook, other: ColumnLook, scale: float) -> bool:
    """Whether whole numbers are latitudes and longitudes of a region, times a power of ten."""
    ends = [look.extremes for look in (one, other) if look.type == "integer" and look.extremes]
    if len(ends) < 2 or any(most - least > _REGION * scale for least, most in ends):
        return False
    sizes = sorted(max(map(abs, end)) / scale for end in ends)
    return 1 < sizes[0] <= 90 and sizes[1] <= 180 and min(abs(end[0]) for end in ends) >= 1e6


def _position(by: By) -> Recognition:
    (position,) = (one for one in listed_recognisers() if one.key == "position")
    return Recognition(position.key, position.letter, position.group, position.title, by)


def _has_positions(names: Iterable[str]) -> bool:
    """Whether some columns are positions by their names: one that says so, or a pair that may."""
    words = [_words(name) for name in names]
    return any(map(_is_position, words)) or any(
        any(first in each for each in words) and any(second in each for each in words)
        for first, second in _PAIRS
    )


@lru_cache(maxsize=1 << 16)
def _words(name: str) -> frozenset[str]:
    return frozenset(words_of(name))


@lru_cache(maxsize=1 << 16)
def _is_position(words: frozenset[str]) -> bool:
    (position,) = (one for one in listed_recognisers() if one.key == "position")
    return fits(position.columns, sorted(words))
