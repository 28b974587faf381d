"""How values look: as names of persons, as degrees or metres, as codes; each a share of a sample.

Names are told by titles ("Dr.", "Frau"), and by lists of common given and family names
(``names.toml``), of which a column of names has many and other texts few.

What a recogniser sees of a column: its name, counts of the whole, some different values.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, cached_property
from importlib.resources import files

from voile.schema.names import fits, meaning_of, without_accents, words_of
from voile.schema.persons import ALONE, FEW_PERSONS
from voile_base.ondemand import dataclass, pattern_on_demand
from voile_base.values import Document
from voile_base.values.toml import words_document

__all__ = [
    "LOOKS",
    "NAMES_OF_BIRTHS",
    "NAMES_OF_TIMES",
    "SAMPLED",
    "ColumnLook",
    "are_subdivisions",
    "common_names",
    "currencies",
    "group_words",
    "has_names",
    "hold_pointed_initials",
    "holds_initials",
    "is_day",
    "listed_names",
    "looks_censored",
    "looks_like_addresses",
    "looks_like_amounts",
    "looks_like_bands",
    "looks_like_full_names",
    "looks_like_groups",
    "looks_like_names",
    "looks_like_places",
    "measures",
    "mentions_names",
    "share_of",
    "words_as_meant",
]


SAMPLED = 2_000
"""Different values that are looked at; how many there are is counted on all rows."""
_WRITTEN_DAY = pattern_on_demand(
    r"(?:(?:1[89]|20)\d\d([./-] ?)(?:0?[1-9]|1[0-2])\1(?:0?[1-9]|[12]\d|3[01])"
    r"|(?:0?[1-9]|[12]\d|3[01])([./-] ?)(?:0?[1-9]|1[0-2])\2(?:1[89]|20)\d\d"
    r"|(?:0?[1-9]|1[0-2])([./-])(?:0?[1-9]|[12]\d|3[01])\3(?:1[89]|20)\d\d)"
    r"(?:[ T]\d{1,2}:\d\d(?::\d\d)?)?"
)
_DAY = r"(?:(?:18|19|20)\d{2}|9999)(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])"
_MONTH = r"(?:18|19|20)\d{2}(?:0[1-9]|1[0-2])"
_LETTERS = 3
"""Letters of a word that says of numbers what they are."""
_ANY_DAY = pattern_on_demand(
    r"(?:1[89]|20)\d{2}(?:[./-](?:0[1-9]|1[0-2])\.?|年 ?\d{1,2}月)"
    r"|(?:0?[1-9]|1[0-2])[./](?:1[89]|20)\d{2}|(?:0[1-9]|[12]\d|3[01])[./](?:0[1-9]|1[0-2])\.?"
    r"|(?=\d{2}|(?:\d+[./-] ?){2}\d{2})\d{1,4}[./-] ?\d{1,2}[./-] ?\d{1,4}\.?"
    r"(?: ?[^\W\d_]{1,3}\.?)?"
    r"|(?:[^\W\d_]+,? )?\d{1,2}\.?(?:[ -](?:de |of )?)[^\W\d_]{3,}\.?,?[ -](?:de )?\d{2,4}"
    r"|\d{1,2} [^\s\dA-Za-z/-]{3,} \d{4}|[A-Z\u0100-\uffff]{1,2}\d{1,2}\.\d{1,2}\.\d{1,2}"
    r"|\d{4}\.? [^\W\d_]{3,}\.? \d{1,2}\.?|[^\W\d_]{3,}\.? \d{1,2},? \d{4}"
    r"|[^\W\d_]{0,2}\d{1,4}[年년] ?\d{1,2}[月월] ?\d{1,2}[日일]?"
)
"""Days as they are written in figures and with names of months, in any language."""
_SPAN = pattern_on_demand(r"(\d{1,2}[./]\d{4}) ?[-\u2013] ?(\d{1,2}[./]\d{4})")
"""Months from and to."""
_CLOCK = pattern_on_demand(
    r"(?:^|[T ,]+)(?:[^\W\d_.]{1,4}\.?(?: ?[^\W\d_]\.)? ?)?\d{1,2}(?: ?h ?|:)\d{2}.{0,12}$"
)
"""A clock, alone or behind a day; "am" and "오전" may stand before it."""
_POINTED = pattern_on_demand(
    r"(?<!\w)(?![IVX]\. ?[A-H]\b)[^\W\d_]\. ?[^\W\d_](?:\.(?: ?[^\W\d_]\.?)?)?(?!\w)"
)
"""Two or three initials, of which the first has a point."""
_BESIDE_UNIT = pattern_on_demand(r"[~\u2248<>]? ?\d{1,3}(?:[.,]\d\d?)? ?([^\W\d_]{0,6})\.?")
_SOME_POINTED, _UNITS = 0.3, 3
_DIGITS = 5
"""Digits of the number of a record, from which on it is one where all have as many."""


_SHARED = 10
"""Persons of a value, on average, from which on it points at none of them."""
_SHARED_BY_FEW = 5
"""The same, of so few values that they tell no persons apart."""
_DAYS = 1_000
_OFFICES_NUMBER = "dni"


def words_as_meant(name: str, extremes: tuple[float, float] | None) -> tuple[str, ...]:
    """The words of a name that its numbers can be.

    "dni" is a number that an office gives in one language, and days in another: numbers below
    1,000 are days.  ``extremes`` are the least and the greatest; None of texts.
    """
    words = words_of(name)
    if extremes is None or extremes[1] >= _DAYS:
        return words
    return tuple(word for word in words if word != _OFFICES_NUMBER)


@dataclass(frozen=True)
class ColumnLook:
    """One column of a private table."""

    name: str
    type: str
    """"text", "integer", "decimal", "date", "datetime", "time", "boolean" or another."""
    rows: int
    """Rows that have a value."""
    distinct: int
    """Different values in all of them."""
    texts: Sequence[str] = ()
    """Some of the different values, as texts; no missing ones."""
    beside: Sequence[str] = ()
    """Names of the other columns, from the next one on: the last are those before this one."""
    extremes: tuple[float, float] | None = None
    """The least and the greatest number; never to be written down."""
    formats: tuple[str, ...] = ()
    """Of dates, which all values fit."""

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The words of its name, without accents."""
        return words_as_meant(self.name, self.extremes)

    @property
    def share(self) -> float:
        """Different values for each row, from 0 to 1."""
        return self.distinct / max(1, self.rows)

    def is_shared(self, persons: int | None = None) -> bool:
        """Whether many persons share a value, on average: by itself it points at none of them.

        ``persons`` is how many the rows are of; None where each row is taken for another's.
        """
        several = _SHARED_BY_FEW if self.distinct <= FEW_PERSONS else _SHARED
        there = self.rows if persons is None else min(self.rows, persons)
        return self.distinct * several <= there

    @property
    def is_dated(self) -> bool:
        """Whether whole numbers or texts are days: 20131128, 28/11/2013, 28NOV2013."""
        if self.formats and (self.type == "text" or self.distinct > FEW_PERSONS):
            return True
        if self.type == "text" and self.filled:
            return all(_WRITTEN_DAY.fullmatch(text) for text in self.filled)
        if self.type != "integer" or self.extremes is None:
            return False
        months = self.distinct > FEW_PERSONS and all(re.fullmatch(_MONTH, t) for t in self.filled)
        return months or all(re.fullmatch(_DAY, text) for text in self.filled)

    @property
    def is_numbered(self) -> bool:
        """Whether whole numbers are those of records: nearly each row has its own.

        They are counted up, or all have as many digits, at least five, as numbers of cases have.
        An amount is none, whatever it looks like, where its name says that it is one.
        """
        if self.type != "integer" or self.extremes is None:
            return False
        if self.distinct <= FEW_PERSONS or self.share <= ALONE or self.is_dated:
            return False
        least, most = self.extremes
        return self.is_counted_up or len(f"{least:.0f}") == len(f"{most:.0f}") >= _DIGITS

    @property
    def is_counted_up(self) -> bool:
        """Whether nearly each row has its own whole number, and they leave few gaps."""
        if self.type != "integer" or self.extremes is None or self.is_dated:
            return False
        least, most = self.extremes
        return self.share > ALONE and most - least < 2 * self.distinct

    @property
    def is_an_amount(self) -> bool:
        """Whether the name says that the column holds amounts or measures.

        A short word such as the n of ``n_order`` is that of a number of a record, too, and says it
        only where values repeat.
        """
        meant = meaning_of(self.name, _LETTERS if self.is_numbered else 1)
        return meant is not None and meant.kind == "number"

    @cached_property
    def filled(self) -> tuple[str, ...]:
        """The values that show something, without the spaces around them."""
        return tuple(text for each in self.texts if (text := each.strip()))

    def is_flag(self) -> bool:
        """Whether a column says yes or no."""
        letters = self.distinct == 2 and all(len(text) == 1 for text in self.filled)
        plain = (text.casefold().removesuffix(".0") for text in self.filled)
        known = self.distinct <= 3 and _flags().issuperset(plain)
        shared = letters and self.type == "text" and self.is_shared()
        return self.type == "boolean" or known or shared


@cache
def _groups_document() -> Document:
    """The words of ``groups.toml``, read once."""
    text = files("voile.recognisers").joinpath("groups.toml").read_text("utf-8")
    return words_document(text)


@cache
def _flags() -> frozenset[str]:
    """Answers yes and no, and has and has not, small."""
    return frozenset(_groups_document()["flags"].split())


_TITLE = pattern_on_demand(
    r"(?i)^(?:dr|prof|mr|mrs|ms|miss|herr|frau|fr|hr|sr|sra|srta|mme|mlle|m|dott|dottssa|sig|dhr|"
    r"mevr|mw|pan|pani|ing|mag|judge|sir|lady|don|padre|pfarrer|"
    r"pastor|rev|abbé|ks)\.? (?:[a-z]+\. )*\w"
)
_INITIAL = pattern_on_demand(
    r"[^\W\d_]{2,}(?:[ -][^\W\d_]{2,})? [^\W\d_]\."
    r"|(?:[^\W\d_]{2,7}\. )?(?:[^\W\d_]\. ?)+[^\W\d_]{2,}.*"
)
"""A name with an initial: "Eva R.", "K. Berg", "Parch. J. Elias Hughes"."""
_WITHIN = pattern_on_demand(r"(?<!\w)[^\W\d_]\. ?[^\W\d_]{2,}|(?<!\w)[^\W\d_]{3,} [^\W\d_]\.(?!\w)")
"""A name with an initial among other words: "Case worker K. Obi"."""
_ONLY_LETTERS = pattern_on_demand(r"[^\W\d_]+")
_DECIMALS = pattern_on_demand(r"^-?\d{1,3}[.,](\d+)$")
_OF_METRES = frozenset({"rw", "hw", "rechts", "hoch"})
"""Axes of grids in metres, whose short names mean other things in small numbers."""
_GRIDS = _OF_METRES | frozenset({"x", "y", "lambert", "xcoord", "ycoord"})
_SPACE = frozenset({"x", "y", "z"})
NAMES_OF_TIMES = (
    *(
        "time*",
        "*time",
        "datetime*",
        "date*",
        "ts",
        "tst",
        "t",
        "utc*",
        "epoch*",
        "unix*",
        "seconds",
    ),
    *("created*", "fixtime", "zeit*", "*zeit", "uhrzeit", "tijd*", "tidspunkt", "tid", "heure"),
    *("horodatage", "temps", "hora", "fecha*", "ora", "data+ora", "czas", "aika", "cas", "ido"),
    "zaman",
)
"""Patterns of names of when a row was, as ``schema.names.fits`` reads them."""
NAMES_OF_BIRTHS = (
    *("birth", "birth*", "yob", "dob", "born", "geburt*", "geb", "gebjahr", "gebdat*"),
    *("naissance", "nacim*", "nasc*", "geboren", "geboorte*", "fodsel*", "fodel*", "urodz*"),
    "syntyma*",
)
"""Patterns of names of when somebody was born."""
_AXES = frozenset({"e", "n", "o", "h", "r", "east", "north", "ost", "nord", "est"})
"""What grids call their axes, beside x and y."""
_COORDINATES = frozenset({"lat", "lon", "lng"})
"""Short names of degrees that mean nothing else."""
_SCALED = 1_000
"""From here on, numbers under such a name are metres, or degrees times a power of ten."""
_FEW = 5
"""So few texts are told to be names by titles alone."""
_MANY = 20
_PROPER = 0.8
"""The share of texts that look like names, from which on a column may hold such."""
_NUMBERED = pattern_on_demand(
    r"(?P<behind>[^\W\d_][^\d]{2,}?(?:\d\d?\. [^\d]+)?),? \d{1,4} ?[a-zA-Z]?(?:, [^\d,]{3,})?"
    r"|\d{1,4}[a-zA-Z]?,? (?P<before>[^\d]{3,})"
)
"""A name of a street before a number, or behind it; a town may follow."""
_STREETS = 3
_PLACED = pattern_on_demand(r"(?<!\d)\d{1,4} ?[a-zA-Z]?(?![\w])")
"""The number of a house, wherever it stands."""
_SIGN = pattern_on_demand(r"[\d\s.,;:%'\u2019/<>=≤≥+()\[\]~\u2013\u2014-]|[^\w\s]")
"""What stands in amounts and bands of them beside words: figures, marks, signs of currencies."""
_BESIDE_WORDS = pattern_on_demand(r"[^\W\d_]{3}|[€$£¥]")
_MOST_WORDS = 5
_SIGNED = pattern_on_demand(r"(?=[^a-z]*$)(?:[^\W\d_]\.? ?){1,3}[^\W\d_]\.?")
"""How persons of an office sign: two to four initials."""
_SHORT = 3
"""Capitals up to which they may be a short name, and no abbreviation."""
_SEVERAL = 3
_NOUN = pattern_on_demand(
    r"[^\W\d_]{3,}(?:a?emia|algia|[^\W\d_]osis|opathy|opathie|pnea|pnoe|ectomy|rrh(?:o?ea|oe)|tion|sion|zione"
    r"|cion|cao|ungen|[bdghklnrtz]ung|heit|keit|schaft|itat|ismus|ismo|isme|ism|[^n]ness|idad|idade"
    r"|ity|graph(?:y|ie)|grafia|olog(?:y|ie|ia|i)|schule|arbeit|zeit|dienst|beruf|raum|acja|osc|stvi|mente"
    r"|ical|ible|bly|(?:at|it|iz|is|ct|rg|rr|ss|nd|ll|ft)ed)s?"
)
"""Endings of words that mean a thing, a state or an act, in twelve languages, without accents; few
family names end so."""
_UNSPACED = "\u3040"
"""The first letter of scripts that put no spaces between words: kana, Chinese, Korean."""
_CODE = 4
"""Capitals of one word up to which they may be an abbreviation."""


@cache
def common_names() -> tuple[frozenset[str], frozenset[str]]:
    """Common given and family names of persons, small and without accents."""
    text = files("voile.recognisers").joinpath("names.toml").read_text("utf-8")
    document = words_document(text)
    return frozenset(document["given"].split()), frozenset(document["family"].split())


@cache
def listed_names() -> tuple[frozenset[str], frozenset[str]]:
    """Given and family names of some eighty countries, small and without accents.

    So many that a column of which none is listed is hardly one of names.
    """
    text = files("voile.recognisers").joinpath("listed.toml").read_text("utf-8")
    document = words_document(text)
    return frozenset(document["given"].split()), frozenset(document["family"].split())


@cache
def _words_of_groups() -> tuple[frozenset[str], frozenset[str]]:
    """Words of groups, and those that stand beside amounts."""
    document = _groups_document()
    return frozenset(document["words"].split()), frozenset(document["amounts"].split())


@cache
def currencies() -> frozenset[str]:
    """Signs, codes and names that stand beside amounts of money, as they are written."""
    return frozenset(_groups_document()["currencies"].split())


@cache
def measures() -> frozenset[str]:
    """Units that stand behind measures, as they are written."""
    return frozenset(_groups_document()["measures"].split())


@cache
def _places() -> frozenset[str]:
    """Names of countries, their regions and large towns, small and without accents."""
    return frozenset(" ".join(one.split()) for one in _groups_document()["places"].split(","))


@cache
def _subdivisions() -> tuple[frozenset[str], ...]:
    """Abbreviations of the states and provinces of a country each."""
    return tuple(frozenset(one.split()) for one in _groups_document()["subdivisions"].split(","))


def are_subdivisions(texts: Sequence[str]) -> bool:
    """Whether all of some texts are abbreviations of the states or provinces of one country."""
    return any(known.issuperset(texts) for known in _subdivisions())


def group_words() -> frozenset[str]:
    """Words by which tables name groups, small and without accents."""
    return _words_of_groups()[0]


def share_of(texts: Sequence[str], holds: Callable[[str], object]) -> float:
    """The share of texts for which something holds; 0 of none."""
    return sum(bool(holds(text)) for text in texts) / len(texts) if texts else 0.0


def _parts(text: str) -> list[str]:
    plain = without_accents(text).casefold()
    return _ONLY_LETTERS.findall(plain)


def _named(text: str, family: bool) -> bool:
    """Whether a text has a common given name, or is a common family name where these count."""
    given, families = common_names()
    parts = _parts(text)
    if not 1 <= len(parts) <= 6 or any(c.isdigit() for c in text):
        return False
    known = given | families if family else given
    return any(part in known for part in parts)


def has_names(look: ColumnLook, least: float) -> bool:
    """Whether at least a share of the texts are names of persons, by their titles or by lists."""
    if look.type != "text" or not look.filled:
        return False
    if share_of(look.filled, _TITLE.match) >= max(least, 0.3):
        return True
    if share_of(look.filled, lambda each: _INITIAL.fullmatch(each) and _holds_initial(each)) >= 0.5:
        return True
    many = look.distinct > _MANY
    return look.distinct >= _FEW and share_of(look.filled, lambda t: _named(t, many)) >= least


def looks_like_names(texts: Sequence[str]) -> bool:
    """Whether texts may be names of persons by their make alone, in any language.

    Nearly all are one to five words of letters, and each begins with a capital, or is written in a
    script that has none.  So are names of places and of trades: this says "perhaps", and no list of
    names has to know the language.  Single Latin letters, as in "A++", are grades or blocks;
    one small word among five others tells that these are words of a language.
    """
    if all(len(text.rstrip("+-*")) == 1 and text.isascii() for text in texts):
        return False
    share = share_of(texts, _is_proper)
    return share > _PROPER if len(texts) <= _MANY else share >= _PROPER


def looks_like_full_names(texts: Sequence[str]) -> bool:
    """Whether texts may be given and family names: nearly all are several words with capitals.

    Groups are told by one word, or by words of which the first alone has a capital; so fewer of
    these are enough.
    """
    return share_of(texts, _is_full_name) >= _PROPER


def _is_full_name(text: str) -> bool:
    words = text.split()
    ends = (words[0], words[-1]) if len(words) > 1 else ()
    if not ends or not all(len(end) > 1 and end[:1] == end[:1].upper() for end in ends):
        return False
    return _is_proper(text)


def holds_initials(texts: Sequence[str]) -> bool:
    """Whether most texts hold a name with an initial, alone or among other words."""
    return share_of(texts, _holds_initial) > 0.5


def _holds_initial(text: str) -> bool:
    """Whether a name with an initial stands in a text: a small one before a capital is none.

    So are kinds of settlements abbreviated: "с. Ясенів", "d. Brno".
    """
    return any(
        not (found[0][0].islower() and found[0][-1] != "." and found[0] != found[0].lower())
        for found in _WITHIN.finditer(text)
    )


def hold_pointed_initials(texts: Sequence[str]) -> bool:
    """Whether some texts are or hold initials with points: "R.K.S.", "س.ط", beside other names."""
    capital = (any(one[0] == one[0].title() for one in _POINTED.finditer(each)) for each in texts)
    return sum(capital) > _SOME_POINTED * len(texts)


def are_beside_units(texts: Sequence[str]) -> bool:
    """Whether all are short numbers, some beside one of a few words or signs: "18", "18 ans"."""
    found = [_BESIDE_UNIT.fullmatch(text) for text in texts]
    return all(found) and len({one[1] for one in found if one}) <= _UNITS


def mentions_names(texts: Sequence[str]) -> bool:
    """Whether some texts of several words have a word with a capital within: "my boss Karen"."""
    return share_of(texts, _CAPITAL_WITHIN.search) > _SOME


_CAPITAL_WITHIN = pattern_on_demand(
    r"^(?=(?:.* )?[^\W\d_A-ZÀ-ÞΑ-ΩА-Я])\w\S* (?:\S+ )*[^\W\d_](?<=[A-ZÀ-ÞΑ-ΩА-Я])[^\W\d_]"
)
"""A capital after the first word, where some word is small: not "NOT RELATED", "Mug - Blue"."""
_SOME = 0.25
"""The share of texts with a name in them, above which a column may hold remarks about people."""


def looks_like_groups(texts: Sequence[str]) -> bool:
    """Whether at least half of the texts are made of words by which tables name groups.

    Or all are sizes of clothes.
    """
    sizes = len(texts) >= _SEVERAL and all(map(_SIZE.fullmatch, texts))
    return sizes or share_of(texts, _is_group) >= 0.5


_SIZE = pattern_on_demand(r"(?:[2-6]X|X{0,3})[SL]|M|One Size", re.IGNORECASE)


def looks_like_places(texts: Sequence[str]) -> bool:
    """Whether nearly all of three texts or more are names of countries, regions and large towns."""
    named = _places()
    several = len({text.casefold() for text in texts}) >= _SEVERAL
    return several and share_of(texts, lambda text: _plain(text) in named) >= _PROPER


def _plain(text: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", without_accents(text).casefold()))


def _is_noun(word: str) -> bool:
    """Whether a word ends as words that mean a thing, a state or an act do, and no common name."""
    given, families = common_names()
    return _NOUN.fullmatch(word) is not None and word not in given | families


def _is_group(text: str) -> bool:
    known, named = group_words(), common_names()
    words = re.findall(r"[^\W\d_]+", without_accents(text).casefold())
    if any(letter >= _UNSPACED for letter in text):
        return any(word in text for word in known if word >= _UNSPACED)
    told = [word in known or word[:-1] in known or _is_noun(word) for word in words]
    if len(words) > 1 and any(w in named[0] and not t for w, t in zip(words, told, strict=True)):
        return False
    return bool(told) and 2 * sum(told) >= len(told)


def looks_like_amounts(texts: Sequence[str]) -> bool:
    """Whether most texts are amounts, bands of them, or ranks: "1.200 €", "<=50K", "high".

    Each has a figure beside no words but those of currencies and of bands, or is a word of a group.
    """
    return looks_like_bands(texts, 0) or looks_like_groups(texts)


def looks_like_bands(texts: Sequence[str], lettered: float) -> bool:
    """Whether most texts are amounts or bands of them, and at least a share beside words."""
    return (
        share_of(texts, _BESIDE_WORDS.search) >= lettered and share_of(texts, _is_amount) > _PROPER
    )


def _is_amount(text: str) -> bool:
    words = _SIGN.sub(" ", without_accents(text).casefold()).split()
    return any(map(str.isdigit, text)) and all(word in _words_of_groups()[1] for word in words)


def looks_censored(texts: Sequence[str]) -> bool:
    """Whether all texts are numbers, some with a limit of what was measured: "<0.5", ">90"."""
    limited = share_of(texts, lambda text: text[:1] in "<>≤≥")
    return 0 < limited < 1 and all(map(_CENSORED.fullmatch, texts))


def looks_like_addresses(texts: Sequence[str]) -> bool:
    """Whether texts may be addresses by their make alone.

    They are names of several streets with a number before or behind; or a number stands among two
    words with capitals or more: "Plot 7 Moi Ave", "Flat 3 Elm Court".
    """
    found = [match for text in texts if (match := _NUMBERED.fullmatch(text.strip()))]
    streets = {(one["behind"] or one["before"]).casefold() for one in found}
    if len(found) >= _PROPER * len(texts) and len(streets) >= _STREETS:
        return True
    homes = [_PLACED.sub(" ", text).split() for text in texts if _PLACED.search(text)]
    homes = [words for words in homes if sum(_is_capital(word) for word in words) >= _WORDS]
    places = {" ".join(words).casefold() for words in homes}
    return len(homes) >= _PROPER * len(texts) and 2 * len(places) > len(homes)


_CENSORED = pattern_on_demand(r"[<>≤≥]?=? ?-?\d+(?:[.,]\d+)?")
_WORDS = 2
"""Words with capitals beside the number of a house in the middle."""


def _is_capital(word: str) -> bool:
    plain = word.strip(".,;()")
    return len(plain) > 1 and plain[0].isupper() and plain.isalpha()


def _is_proper(text: str) -> bool:
    words = re.split(r"[\s.,/&+·'\u2019-]+", text.strip(" .,"))
    if not 1 <= len(words) <= _MOST_WORDS or not all(_is_word(word) for word in words if word):
        return False
    longest = max(words, key=len)
    shouted = longest.isupper() and longest.lower() != longest
    abbreviated = shouted and len(longest) > _SHORT and (len(words) == 1 and len(longest) <= _CODE)
    return longest[:1] == longest[:1].upper() and not abbreviated


def _is_word(word: str) -> bool:
    """Whether a word has letters and the marks on them alone."""
    return all(unicodedata.category(letter)[0] in "LM" for letter in word)


def _names(look: ColumnLook) -> bool:
    """Of a column that may be called after persons: texts of words with capitals, or initials."""
    if look.type != "text":
        return False
    meant = meaning_of(look.name)
    if (meant is None or look.words[-1:] == ("by",)) and _are_signed(look):
        return True
    capital = share_of(look.filled, lambda t: t[:1].isupper() and not any(map(str.isdigit, t)))
    if capital < 0.8:
        return has_names(look, 0.3)
    if meant is not None and meant.role == "quasi":
        return has_names(look, 0.3)
    return look.distinct > _MANY or has_names(look, 0.1)


def _are_signed(look: ColumnLook) -> bool:
    """Whether texts are initials, as persons of an office sign, and no states or provinces."""
    several = look.distinct > 1 and not are_subdivisions(look.filled)
    return several and share_of(look.filled, _SIGNED.fullmatch) > ALONE


def _numbers(texts: Iterable[str]) -> list[float]:
    found = []
    for text in texts:
        try:
            found.append(float(text.replace(",", ".")))
        except ValueError:
            return []
    return found


def _degrees(look: ColumnLook) -> bool:
    """Whether numbers are degrees with three decimals or more, or metres of a national grid.

    Under a name that says degrees, whole numbers are metres or degrees times a power of ten.
    """
    numbers = _numbers(look.filled)
    if numbers and (_COORDINATES & set(look.words) or _is_displacement(look)):
        scaled = 2 * sum(abs(number) >= _SCALED for number in numbers) > len(numbers)
        return scaled or look.type == "decimal"
    if not numbers or look.distinct <= 2:
        return False
    return _is_of_a_plane(look) or _are_degrees_or_metres(look, numbers)


def _are_degrees_or_metres(look: ColumnLook, numbers: Sequence[float]) -> bool:
    """Whether numbers are as fine as degrees, or lie in the area of a national grid."""
    if all(abs(number) <= 180 for number in numbers):
        if _is_of_three_axes(look) or _OF_METRES & set(look.words):
            return False
        fine = share_of(look.filled, lambda t: (m := _DECIMALS.match(t)) and len(m[1]) >= 3)
        return fine >= 0.5
    if not _GRIDS & set(look.words) and not _has_other_axis(look):
        return False
    return sum(1_000 <= abs(number) < 20_050_000 for number in numbers) > 0.9 * len(numbers)


def _is_displacement(look: ColumnLook) -> bool:
    """Whether ``dx`` stands beside ``dy``, as metres from some point do."""
    if not {"dx", "dy"} & set(look.words):
        return False
    others = {word for name in look.beside for word in words_of(name)}
    return any(one in look.words and other in others for one, other in (("dx", "dy"), ("dy", "dx")))


def _is_of_a_plane(look: ColumnLook) -> bool:
    """Whether decimals are one of the axes x and y beside a time: metres from any origin.

    Whoever knows one place of the way finds all others.
    """
    if look.type != "decimal" or look.distinct <= _MANY or not _SPACE & set(look.words):
        return False
    others = [set(words_of(name)) for name in look.beside]
    rest = set(look.words) - _SPACE
    axes = {axis for words in others if words - _SPACE == rest for axis in words & _SPACE}
    both = axes | (_SPACE & set(look.words)) == {"x", "y"}
    return both and any(fits(NAMES_OF_TIMES, tuple(words)) for words in others)


def _is_of_three_axes(look: ColumnLook) -> bool:
    """Whether columns called the same stand beside for x, y and z: what a device feels."""
    rest = set(look.words) - _SPACE
    others = [set(words_of(name)) for name in look.beside]
    axes = {axis for words in others if words - _SPACE == rest for axis in words & _SPACE}
    return bool(rest) and axes | (set(look.words) & _SPACE) == _SPACE


def _has_other_axis(look: ColumnLook) -> bool:
    """Whether another column is called the same but for the axis: E_sweref and N_sweref."""
    axis = _AXES & set(look.words)
    rest = set(look.words) - _AXES
    if not axis:
        return False
    others = [set(words_of(name)) for name in look.beside]
    return any(one - _AXES == rest and one & _AXES - axis for one in others)


def _codes(look: ColumnLook) -> bool:
    """Whether texts are codes of letters and digits, or long numbers, and no ranks: "6º ano"."""
    if look.type == "integer":
        return share_of(look.filled, lambda text: len(text) >= 6) > 0.8
    texts = [text for text in look.filled if text[1:3] not in {"º ", "ª ", ". ", "° "}]
    coded = sum(any(map(str.isdigit, text)) for text in texts)
    return look.type == "text" and coded > 0.8 * len(look.filled)


LOOKS: Mapping[str, Callable[[ColumnLook], bool]] = {
    "names": _names,
    "degrees": _degrees,
    "codes": _codes,
}


def is_day(text: str) -> bool:
    """Whether a text is a day, a time of one, or both."""
    ends = _SPAN.fullmatch(text)
    if ends is not None:
        return all(map(is_day, ends.groups()))
    day = _CLOCK.sub("", text.strip())
    return day != text.strip() if not day else _ANY_DAY.fullmatch(day) is not None
