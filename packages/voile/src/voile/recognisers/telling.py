"""What single values tell by their form, whatever the name of their column says.

A column called "class" or "diagnosis" mostly holds names of groups.  One in which some values hold
the name of a person, a telephone number, an account or a place does not, however few these are: the
form of values wins over the name.  Forms are those of public systems of numbers and grids; names of
persons are told by titles, by words before them, by initials, by common names and by endings that
family names have in some languages.

Cost: some regular expressions on at most ``values.SAMPLED`` texts of a column.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise

from voile.recognisers.values import (
    common_names,
    group_words,
    listed_names,
    looks_like_bands,
    looks_like_full_names,
    looks_like_groups,
    looks_like_names,
    mentions_names,
    share_of,
)
from voile.schema.names import fits, without_accents, words_of, words_of_languages
from voile.schema.persons import ALONE, FEW_PERSONS
from voile_base.ondemand import pattern_on_demand as pattern
from voile_base.values.toml import words_document

__all__ = [
    "NUMBERS",
    "are_answers",
    "are_given_names",
    "are_homes",
    "are_initials",
    "are_logins",
    "are_named",
    "are_remarks",
    "are_users",
    "may_be_names",
    "of_staff",
    "proper_words",
    "told_within",
]

NUMBERS = "numbers of something"
_SOME = 0.02
"""The share of different values with such a form, from which on a column holds such."""
_MOSTLY, _UNLIKE = 0.8, 0.75
_SINGLE = 2
"""So many single common names, or half of the values, are not by chance names of groups."""

_TELEPHONES = "telephone numbers"
_FORMS: Mapping[str, re.Pattern[str]] = {
    "long texts": pattern(r"(?s:.{1000})"),  # reading on takes as long as their square
    "names of persons": pattern(
        r"(?<!\S)c/o \w"
        r"|^[^\W\d_]{1,3}[*\uff0a\u25cb\u25cf\u2731\u00d7]{1,4}[^\W\d_]{1,3}$"  # masked within
        r"|^[\u3400-\u9fff\uac00-\ud7af][*\uff0a\u25cb\u25cf]{1,3}$"  # "A*" is a grade
    ),
    "addresses of people in networks": pattern(r"@[^\W\d_]|(?<!\w)[a-z]{3,}\.[a-z]{1,2}(?!\S)"),
    _TELEPHONES: pattern(
        r"(?<![\w.,])(?<!\d )(?!\d{1,2}[ -]\d{1,2}[ -]\d{2,4}(?!\d))"  # no thousands, no day
        r"(?:\+\d|0\d)(?:[ ()-]{0,2}\d){6,}(?!\w)"
        r"|(?i:(?<!\w)(?:tel|phone|mob|mobile|call|ring)[.:]? ?\(?\d(?:[ ()-]{0,2}\d){5,}(?!\w))"
    ),
    "positions": pattern(
        r"geo:-?\d{1,3}(?:\.\d+)?[,; ]-?\d{1,3}"  # RFC 5870, at whatever precision
        r"|^[-+]?\d{1,2}\.\d+[,; ]+[-+]?\d{1,3}\.\d+$"  # nothing but two decimals
        r"|[-+]?\d{1,3}[.,]\d{3,}°?\s*[,;/ ]\s*[-+]?\d{1,3}[.,]\d{3,}"  # degrees
        r"|\d{1,3}[°\s-]\d{1,2}[.,]\d{1,4}[\x27\u2032]?.{0,4}\d{1,3}[°\s-]\d{1,2}[.,]\d{1,4}"
        r"|\d{4}[.,]\d+ ?[NS].{0,3}\d{5}[.,]\d+ ?[EW]"  # degrees and minutes, NMEA 0183
        r"|\d{1,3}° ?\d{1,2}(?:[.,]\d+ ?[^\W\d_]?|[\u2032\x27])"
        r"|(?<!\d)\d{6,7} ?[/,;] ?\d{6,7}(?!\d)"  # metres of a grid
        r"|(?<!\w)\d{1,2}[C-HJ-NP-X] ?(?:[A-HJ-NP-Z]{2} ?\d{4,10}|\d{6} \d{7})(?!\w)"  # MGRS, UTM
        r"|(?<!\w)[A-R]{2}\d{2}[A-Xa-x]{2}(?:\d{2})?(?!\w)"  # Maidenhead
        r"|(?i:(?<!\w)(?:km|pk|pr|sta)\.? ?\d+\+\d{3}(?!\d))"  # stakes of roads
        r"|(?<!\S)[a-z]{3,}\.[a-z]{3,}\.[a-z]{3,}(?!\S)"
    ),
    "lines of positions": pattern(r"(?=\S*[a-z])(?=\S*[A-Z])(?=\S*[`~|^\\{}@])[?-~]{6,}"),
    "addresses": pattern(
        r"(?i)^(?:p\.? ?o\.? ?box|p/?bag|private bag|postfach|postboks) \w"
        r"|\w+(?:kuja|katu|strasse|straße|str\.|weg|gasse|gatan|vägen|vej|utca|laan|straat)"
        r" \d{1,4}"
        r"|(?-i:(?:Street|Road|Avenue|Lane) \d{1,4})"
        r"|(?-i:\d{1,4} (?:[^\W\d_]+ )+(?:Street|Road|Avenue|Lane))"
        r"|(?-i:(?:[Rr]ue|Via|Calle|Rua|[Uu]l\.) [^\d,]{3,30},? \d{1,4})"
    ),
}
"""What is written so, anywhere in a value."""
_NUMBER = pattern(r"(?<![\d.,])\d{5,}(?:-\w{3,5})?(?![\d.,])")
_ROUND = pattern(r"\d+000$")
_PLACES_NUMBERED = 7
"""Figures beside the name of a place, from which on they are no postcode."""

_WORD = pattern(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*")
_INITIAL = pattern(r"(?<![\w.])([^\W\d_])\. ?(?:[^\W\d_]\. ?)*([^\W\d_]{2,})")
_BEHIND = pattern(r"(?<!\w)([^\W\d_]{3,}),? ([^\W\d_])\.(?:[ -]?[^\W\d_]\.)*(?!\w)")
_EXPLAINED = pattern(r"(?<=\w) ?\([^()]*\)$")
_SHORTENED = pattern(r"[^\W\d_]{3,}(?:[ -][^\W\d_]{3,})? [^\W\d_]{1,4}\.")
"""A name of a family, and a given name of which the first letters are left: "Rapti Kon."."""
_TITLE = pattern(
    r"(?<!\w)(?:[Dd]r|[Pp]rof|Bro|Sis|Tannie|Oom|др|проф|доц|\u0433-н|\u0433-жа|M(?:rs?|me|lle|wl|ag|zee)|Ms|Miss|[Hh](?:err|r)|Frau|Fr|Fru|Sra|Srta"
    r"|[Dd]ott(?:\.?ssa)?|Dr\.ssa|Sig|Bw|Mama|Baba|Sgt|Cpl|Capt|Lt|Pvt|Ing|Rev|Gebr|[Mm]eester|[Jj]uf|[Mm]aestr[ao]|[Pp]rofe"
    r"|[Tt]r[eé]ner(?:ka)?|[Ss]ensei|[Pp]ani|[Uu]č|pt|Cô|Thầy|Ông|Bà|p(?=\.))\.? "
    r"(?:[^\W\d_]{1,4}\. )*([^\W\d_]{2,})"
)
"""A title, and the name behind it."""
_TITLED = pattern(r"([^\W\d_]{3,5})\. ([^\W\d_]{3,})")
"""An abbreviated title that all share, and one word, which has a capital: "adv. Ilievski"."""
_NO_TITLES = frozenset(
    {"str", "ave", "cad", "sok", "vol", "dept", "abt", "ulica", "mun", "okr", "обл"}
)
_HONOURED = pattern(r"([\u3400-\u9fff]{2,3})(?:様|殿|氏|さん|先生|女士)")
"""A Chinese or Japanese name, if its first letters are those of a family."""
_OF_FAMILY = pattern(
    r"[小老阿]([\u3400-\u9fff])|([\u3400-\u9fff])(?:[姐哥总工叔姨嫂]|医生|醫師|大夫|主任|护士|经理)"
)
"""A Chinese family name, and what friends and colleagues put before or behind it."""
_CALLED = pattern(
    r"(?:ד\"ר|פרופ'|دکتر|دكتور|آقای|خانم|السيد|السيدة) [^\W\d_]{2,}"
    r"|([^\W\d_]{2,}) (?:hoca|bey|han\u0131m|abi|abla|ml\.|sensei|sir|madam)(?!\w)"
    r"|[^\W\d_A-Za-z]{1,4}(?:先生|さん|老师|老師|선생님|쌤)$"
)
"""A name, and the title behind it."""
_AT = pattern(r"^(?:chez|kwa|beim?|hos|\u0443|see|voir|vgl\.?|katso|suivi par) ([^\W\d_]{2,})")
_WITH = pattern(
    r"(?:(?<!\w)(?:[wc]/|with|con|com|avec|mit|by|par|of|see|bei|[Tt]eam|[Ss]r\.?|[Tt]eacher"
    r"|[Cc]oach|[Nn]urse)|[(/\u2013-]) ?([^\W\d_]{2,})"
)
"""Words before somebody, and before other things, too: a common name has to follow."""
_ENDING = pattern(
    r"(?:[^\W\d_]{2,}(?:[oaäö]nen|ová|né|enko|owsk[ia]|wicz|opoulos|sson|sdóttir|escu|shvili|ović"
    r"|ić|ић|ίδης|ιδης|άκης|ακης|όπουλος|οπουλος|овна|евна|ович|евич|енко)|[^\W\d_]{3,}(?:ова|ева|овой|евой))"
)
"""What family names and names after the father end in, in languages where few other words do."""
_OWNS = pattern(r"(?<!\w)([^\W\d_]{2,})[\x27\u2019]s(?!\w)")
_HOME = pattern(r"(?:Hof|Cascina|Finca) [^\W\d_]+|[^\W\d_]{3,}n (?:talo|tila|ryhmä)")
"""Homes that are called after those who live there; groups after those who lead them."""
_FAMILIES = pattern(
    "(?:佐藤|鈴木|高橋|田中|伊藤|渡辺|山本|中村|小林|加藤|吉田|山田|佐々木|山口|松本|井上|木村|清水|山崎"
    "|池田|橋本|阿部|石川|山下|中島).{1,3}"
)
"""The most common Japanese family names."""
_OF_PLACES = "市区町村県駅校店州省县縣镇鎮乡鄉路街"
_LEAD = pattern(r"^\d+\.? ?[^\W\d_]?\.? +")
"""The number of a class, before who teaches it."""
_DEGREES = frozenset({"sc", "ed", "eng", "tech", "com", "phil", "arch", "pharm", "mus", "ing"})
"""What stands behind the letter of a degree: "B. Sc."."""
_UNSPACED = "\u3040"
"""The first letter of scripts that put no spaces between words: kana, Chinese, Korean."""
_DIRECTIONS = frozenset("NSEWOU")
_MOST = 4

_STREET = pattern(r"(?:[^\W\d_A-Za-z]{2,} ){2,}\d{1,4}")
_INITIALS = pattern(r"[^\W\d_]{2,3}|(?:[^\W\d_]\.[ -]{0,2}){1,3}[^\W\d_]\.?")
_CLASS = pattern(r"[IVX]{1,4}\.? ?[A-H]\.?")
"""A class of a school: "II.B"."""
_GIVEN_OF_TWO = 3
"""Letters of a given and of a family name: "AnLi", "ESu", "\u0414\u0418\u043b\u0438"."""
_CODE_OF_STAFF = pattern(
    r"(?:[^\W\d_]{0,5}|№|\d(?=-))[ ./_-]?\d{2,7}"
    r"|[^\W\d_A-Za-z\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{1,4}"  # there two are a name
)
_FEW_OF_STAFF = 4
_BADGE = pattern(r"[^\W\d_]{1,3}-?\d{2,}|(?:\d-)?\d{4,}")
"""A number as no answer is: with its letters, or of four figures and more: "E07"."""
_INFLECTED = 7
"""Letters of a word from which on the last one or two may be its case: "инспектора"."""
_OF_ONE = (
    "id",
    "ids",
    "no",
    "nr",
    "num",
    "number",
    "numero",
    "numer",
    "c",
    "cislo",
    "broj",
    "szam",
)
"""Words of names of columns whose codes are each of one of the staff, however few they are."""
_TOLD_BY = 2
"""Words of a column's name that say no more than who: "changed by", "nurse name"."""
_ANSWERS = frozenset(
    {"yes", "no", "ja", "nein", "oui", "non", "si", "nao", "nee", "tak", "nie", "ano", "igen"}
    | {"nem", "evet", "hayir", "kylla", "ei", "nej", "da", "nu", "да", "не", "нет", "так", "ні"}
)
"""Answers, beside which no names of persons stand: No, Minor, Serious."""
_FEW_ANSWERS = 12
_VOWEL = pattern(
    "[aeiouyæøœ\u0131\u0430\u0435\u0438\u043e\u0443\u044b\u044d\u044e\u044f\u0456\u03b1\u03b5\u03b7\u03b9\u03bf\u03c5\u03c9]"
)
_UNSPOKEN, _SOME_GROUPS = 0.3, 0.3
_ROAD = pattern(
    r"\w{3,}(?:kuja|katu|strasse|straße|gasse|gatan|vägen|vej|utca|laan|straat|weg)$"
    r"|\w (?:Street|Road|Avenue|Lane|Drive|út|ulice|Cad\.|Sokak)$"
    r"|^(?:[Rr]ue|[Vv]ia|[Cc]alle|[Rr]ua|[Uu]l\.|[Uu]lica|[Aa]venida|[Cc]orso|[Ss]tr\.) \w"
    r"|^[\u0423\u0443]\u043b\. \w"
)
"""Names of streets by themselves, in some languages."""
_HOUSE = pattern(r"\d{1,4}(?:/ ?[a-zA-Z0-9]{1,3})?")


def told_within(texts: Sequence[str], *, places: bool = False) -> str | None:
    """What some of the texts tell by their form, in words: "names of persons"; None for nothing.

    One of fifty different values is enough, since it is published like every other.  ``places``
    says that the texts may be names of places, many of which are those of persons, too.
    """
    least = max(1.0, _SOME * len(texts))
    if what := _form_of(texts, places, least):
        return what
    amounts = not places and looks_like_bands(texts, 0)
    if not amounts and sum(_holds_a_number(text, places) for text in texts) >= least:
        return NUMBERS
    called = [one[1] or one[2] for one in map(_OF_FAMILY.fullmatch, texts) if one]
    given = not places and len(texts) > 1 and are_given_names(texts)
    if given or sum(name in listed_names()[1] for name in called) >= _SINGLE:
        return "names of persons"
    if not places and any("." in text for text in texts) and are_initials(texts):
        return "initials of persons"
    if sum(_names_somebody(text, places) for text in texts) >= least:
        return "names of persons"
    single = 0 if places else sum(_is_common(text) for text in texts)
    return "names of persons" if single >= min(_SINGLE, max(1.0, len(texts) / 2)) else None


def _form_of(texts: Sequence[str], places: bool, least: float) -> str | None:
    """The first form that enough texts have somewhere."""
    if places and _are_numbers_of_houses(texts):
        return "addresses"
    codes = places and all(map(str.isdecimal, texts)) and len({*map(len, texts)}) == 1
    for what, form in _FORMS.items():
        if codes and what == _TELEPHONES:
            continue  # of districts: "05315000"
        if sum(form.search(text) is not None for text in texts) >= least:
            return what
    return None


def proper_words(texts: Sequence[str]) -> frozenset[str]:
    """The words with a capital in some texts that are none of groups: of names, who is named.

    The first word of a sentence, which small words follow, has its capital from that.
    """
    found = [_WORD.findall(text) for text in texts]
    told = (words[any(map(str.islower, words)) :] for words in found)
    return frozenset(word for words in told for word in words if len(word) > 2 and _is_proper(word))


def _holds_a_number(text: str, places: bool) -> bool:
    """Whether a number of a record stands among words: "case 44718"."""
    if not _WORD.search(text):
        return False
    found = [one for one in _NUMBER.findall(text) if not _ROUND.match(one)]
    return any(len(one) >= _PLACES_NUMBERED or not places for one in found)


def _plain(word: str) -> str:
    return without_accents(word).casefold()


def _is_proper(word: str) -> bool:
    """Whether a word has a capital and is none by which tables name groups."""
    plain = _plain(word)
    known = group_words().union(_staff_document()["titles"].split())
    return word[:1].isupper() and plain not in known and plain[:-1] not in known


def _is_listed(word: str) -> bool:
    given, families = common_names()
    return _is_proper(word) and _plain(word) in given | families


def _names_somebody(text: str, places: bool) -> bool:
    """Whether a text holds the name of a person, by what stands around it or by common names."""
    behind = [(one[2], one[1]) for one in _INITIAL.finditer(text)]
    behind += [(one[1], one[2]) for one in _BEHIND.finditer(text)]
    told = (
        any(_is_behind_an_initial(*one, places) for one in behind),
        any(_may_be_called(one[1]) for form in (_TITLE, _AT) for one in form.finditer(text)),
        any(_is_listed_name(one[1]) for one in _HONOURED.finditer(text)),
        any(not one[1] or _is_proper(one[1]) for one in _CALLED.finditer(text)),
        not places and any(_is_listed(one[1]) for one in _WITH.finditer(text)),
        _HOME.fullmatch(text) and _plain(text.split(maxsplit=1)[0]) not in group_words(),
        not places and _names_among(text),
    )
    return any(told) or _is_full_name(text, places) or _is_of_a_family(text, places)


def _is_behind_an_initial(name: str, letter: str, places: bool) -> bool:
    if places and letter in _DIRECTIONS:
        return False
    return _may_be_called(name) and letter.isupper() and _plain(name) not in _DEGREES


def _may_be_called(word: str) -> bool:
    """Whether somebody with a title may be called so: Brown is a colour, and Mr Brown is not."""
    return _is_proper(word) or (word[:1].isupper() and _plain(word) in common_names()[1])


def _names_among(text: str) -> bool:
    """Whether a common name stands among small words or behind a number: "ask Maria"."""
    given, families = common_names()
    if any(_is_proper(one[1]) and _plain(one[1]) in given for one in _OWNS.finditer(text)):
        return True
    words = text.replace(",", " ").split()
    for before, word in pairwise(words):
        if not _WORD.fullmatch(word) or not _is_proper(word):
            continue
        small = before.islower() or before.isdigit()
        pair = bool(_WORD.fullmatch(before)) and _is_proper(before)
        if small and (_plain(word) in given or (before.isdigit() and _plain(word) in families)):
            return True
        if pair and len(words) > 2 and ({_plain(before), _plain(word)} & given):
            return True
    return False


def are_given_names(texts: Sequence[str]) -> bool:
    """Whether nearly all texts are listed given names alone, in small letters, too."""
    given = (common_names()[0] | listed_names()[0]) - group_words()
    found = [text for text in texts if _plain(text) in given]
    return len(found) >= _MOSTLY * len(texts)


def may_be_names(texts: Sequence[str], *, shared: bool) -> bool:
    """Whether texts that no list of groups has may be names of persons.

    By their make alone where few persons share each, or where many different ones are several words
    with capitals each.  Else names of groups look the same, and a list of names of eighty countries
    decides: of names it has most, whatever the language.
    """
    texts = [_EXPLAINED.sub("", text) for text in texts]
    full = looks_like_full_names(texts)
    shortened = share_of(texts, _SHORTENED.fullmatch) >= ALONE
    if len(texts) > _SINGLE and (shortened or _share_a_title(texts)):
        return True
    titles = all(_plain(text).strip(".") in _staff_document()["titles"].split() for text in texts)
    if not titles and (share_of(texts, _is_login) >= _LISTED_ALONE or are_users(texts)):
        return True
    if titles or not (full or looks_like_names(texts)):
        return False
    if not shared or (full and len(texts) > FEW_PERSONS):
        return True
    return any(map(are_named, (texts, _without_title(texts)))) or (
        full and share_of(texts, lambda text: _script(text) in _listed_scripts()) < ALONE / 2
    )


def _share_a_title(texts: Sequence[str]) -> bool:
    """Whether nearly all texts are one abbreviated title, and one word with a capital each.

    Or most are such, of several titles, and each word stands once: "por. Vlcek", "kpt. Hanak".
    """
    told = [found for text in texts if (found := _TITLED.fullmatch(text)) and found[2][0].isupper()]
    titles = {found[1].casefold() for found in told}
    if titles & _NO_TITLES:
        return False
    if len(titles) == 1:
        return len(told) >= ALONE * len(texts)
    each_once = len({found[2] for found in told}) == len(told) > _MOST
    return each_once and len(told) >= _MOSTLY * len(texts)


def _without_title(texts: Sequence[str]) -> list[str]:
    """The texts without the short first word, or the last, that at least half of them share.

    It is the title of whoever is named, in whatever language: "Hon. Avila", "Avila-san".
    """
    words = [text.replace("-", " ").split() for text in texts]
    parted = [each for each in words if len(each) > 1]
    if 2 * len(parted) <= max(_SINGLE, len(texts)):
        return []
    for ends in (0, -1):
        title, count = Counter(each[ends] for each in parted).most_common(1)[0]
        if 2 * count >= max(_SINGLE + 1, len(texts)) and len(title.strip(".")) <= _MOST:
            return [" ".join(each[1:] if ends == 0 else each[:-1]) for each in parted]
    return []


def are_named(texts: Sequence[str]) -> bool:
    """Whether many texts of several words, or most of one, are listed names of persons."""
    several = [text for text in texts if len(_WORD.findall(text)) > 1]
    least = _LISTED_FULL if 2 * len(several) > len(texts) else _LISTED_ALONE
    named = share_of(texts, _is_listed_name)
    if named < least:
        return False
    uncased = all(text == text.swapcase() for text in texts)
    return bool(several) or not uncased or named * len(texts) >= _BY_CHANCE


_BY_CHANCE = 3
"""So many words of scripts without capitals begin as a name of one letter does."""
_LISTED_FULL, _LISTED_ALONE = 0.3, 0.6
"""The share of texts that are listed names, from which on a column may be one of names."""


def _is_listed_name(text: str) -> bool:
    """Whether a text is one listed name, or a given name beside another listed name."""
    given, families = listed_names()
    spoken = without_accents(text)
    plain = "".join(letter for letter in spoken if unicodedata.category(letter)[0] != "M")
    found = _WORD.findall(plain)  # as the list has them, without signs of vowels
    words = [word.casefold() for word in found if len(word) > 1 or word >= _UNSPACED]
    if len(words) > 1:
        known = [word for word in words if word in given or word in families]
        least = 1 if text.upper() == text.lower() else 2  # no capitals tell that the other is one
        return len(known) >= least and any(word in given for word in known)
    if not words:
        return False
    word = words[0]
    if word[0] >= _UNSPACED and 1 < len(word) <= _MOST:
        named = word[0] in families or word[:2] in families
        return named and not (len(word) > _SINGLE and word[-1] in _OF_PLACES)
    if len(word) <= _SINGLE and plain != spoken:
        return False  # too little is left without signs of vowels
    return word in given or word in families


def _is_login(text: str, least: int = 5) -> bool:
    """Whether a text has a listed name in small letters, with letters or marks beside it."""
    if not text.islower() or " " in text:
        return False
    given, families = listed_names()
    words = [word for word in re.split(r"[^a-z]+", text) if len(word) >= least]
    parts = {word[at:end] for word in words for at, end in ((1, None), (2, None), (0, -1), (0, -2))}
    whole = {word for word in words if word != text}
    return any(len(part) >= least and part in families for part in parts | whole) or any(
        word in given for word in whole
    )


def are_users(texts: Sequence[str]) -> bool:
    """Whether few words stand for single persons in several ways, as names of groups do not.

    "annlin03", "KMets", "Tiiu", "A.P.".  None is a word of groups, and one is a login, initials
    with points, an initial with a name, or a machine: "SYS".  Of one make, all are as "jsala".
    """
    if not _SINGLE < len(texts) <= _FEW_ANSWERS or not all(map(_USER.fullmatch, texts)):
        return False
    letters = [re.sub(r"[\W\d_]", "", text) for text in texts]
    made = {(text.isalpha(), text[-1].isdigit(), text.islower(), text.isupper()) for text in texts}
    pointed = len(made) > 1 and any(map(_POINTED.fullmatch, texts))
    grouped = share_of([*texts, *letters], _is_of_groups)
    if grouped >= _SOME_GROUPS or (grouped and not pointed):
        return False  # "DOS" beside "A.H." is by chance a word of groups
    if len(made) <= 1:
        return all(_is_login(text, _MOST) for text in texts)
    if any(not _MACHINES.isdisjoint(re.split(r"[\W\d_]+", text.casefold())) for text in texts):
        return True
    called = any(text.istitle() and _is_listed_name(text.split()[0]) for text in texts)
    beside = called and any(text.isupper() and len(text) <= _MOST for text in texts)  # "Jo", "GZ"
    return beside or any(map(_is_login, texts)) or any(map(_OF_A_PERSON.fullmatch, texts))


_MACHINES = {"sys", "sysadm", "sysadmin", "batch", "bot", "cron", "etl", "root", "dba", "migr"}
"""Users that machines are; no words that channels are called after, as "system" and "auto"."""
_POINTED = pattern(r"(?:[A-Z]\.){2,3}")
_USER = pattern(r"(?:[^\W\d_]+(?:[._-]|\.[ -]| (?=[A-Z]\S{0,3}$)))*[^\W\d_]+\.?\d{0,3}")
_OF_A_PERSON = pattern(
    r"(?:[^\W\d_]\.){2,3}|[A-Z]\.[ -].+|[A-Z]{2}[a-z]{2,}|[A-Za-z][a-z]{2,}[A-Z]"
    r"|[a-z]\.[a-z]{3,}|[a-z]{3,8}\d{1,2}"
)


@cache
def _listed_scripts() -> frozenset[str]:
    given, families = listed_names()
    return frozenset(_script(name) for name in given | families)


def _script(text: str) -> str:
    return unicodedata.name(text.strip()[0], "").split(" ", 1)[0]


def _is_full_name(text: str, places: bool) -> bool:
    """Whether a text is two to four words with capitals of which one is a common given name."""
    words = _LEAD.sub("", text).replace(",", " ").split()
    if not 2 <= len(words) <= _MOST or not all(map(_WORD.fullmatch, words)):
        return False
    if not all(map(_is_proper, words)):
        return False
    given, families = common_names()
    plain = [_plain(word) for word in words]
    if places:
        return plain[0] in given and plain[-1] in families - given
    return any(word in given for word in plain) or sum(word in families for word in plain) > 1


def _is_of_a_family(text: str, places: bool) -> bool:
    """Whether a text, or what follows the number of a class, ends as family names do."""
    if _FAMILIES.fullmatch(text):
        return text[-1] not in _OF_PLACES
    if places:
        return False
    words = _WORD.findall(text)
    if any(_is_proper(word) and _ends_as_families(word) for word in words):
        return True
    return _LEAD.match(text) is not None and any(map(_is_listed, words))


def _ends_as_families(word: str) -> bool:
    """In capitals throughout, too, but for endings that are those of adjectives as well."""
    if not word.isupper():
        return _ENDING.fullmatch(word) is not None
    small = word.lower()
    return _ENDING.fullmatch(small) is not None and not small.endswith(_OF_ADJECTIVES)


_OF_ADJECTIVES = ("ова", "ева", "овой", "евой")


def _is_common(text: str) -> bool:
    """Whether a text is nothing but one common name of a person."""
    abbreviated = text.isupper() and len(text) <= _MOST
    return not abbreviated and _WORD.fullmatch(text) is not None and _is_listed(text)


def are_initials(texts: Sequence[str]) -> bool:
    """Whether texts are initials of persons: two or three capitals each, or with points.

    Or the beginnings of two names.

    Codes of groups that are known have as many capitals, too.  Two texts may be any.  In small
    letters many have no vowel, as short words and their abbreviations have, or all are equally
    long, as words are not; of many texts, four capitals are those of a login.
    """
    two_names = len(texts) > _SINGLE and share_of(texts, _is_of_two_names) > ALONE
    if two_names or _are_equally_long(texts):
        return share_of(texts, _is_of_groups) < _SOME_GROUPS
    if share_of(texts, _INITIALS.fullmatch) <= ALONE or all(map(_CLASS.fullmatch, texts)):
        return False
    pointed = share_of(texts, lambda text: "." in text) >= ALONE / 2
    if pointed and not all(text.isascii() and text.islower() for text in texts):
        return True  # small letters of Latin with points are "a.m." and "e.g."
    cased = all(text != text.swapcase() and text in {text.lower(), text.upper()} for text in texts)
    if len(texts) > _SINGLE and cased and any(map(str.islower, texts)):
        unspoken = share_of(texts, lambda text: not _VOWEL.search(_plain(text)))
        return unspoken >= _UNSPOKEN and share_of(texts, _is_of_groups) < _SOME_GROUPS
    capitals = all(text == text.upper() for text in texts)
    grouped = share_of(texts, _is_of_groups) >= ALONE / 2
    letters = set("".join(texts))
    marks = len(texts) <= _FEW_ANSWERS and any(letters <= each for each in _MARKS_OF_TESTS)
    if grouped or marks or not capitals or all(text == text.swapcase() for text in texts):
        return False  # in scripts without capitals so many letters are a word, or a whole name
    return len(texts) > _SINGLE and {len(text) for text in texts} in ({2}, {3}, {2, 3})


def are_logins(texts: Sequence[str]) -> bool:
    """Whether most texts are how persons log in: "gagnm07", "m.ionescu".

    Few are alike but for their numbers, as rooms and wards are.
    """
    found = [one[1] or one[2] for one in map(_LOGGED_IN.fullmatch, texts) if one]
    if len(found) < _SINGLE or 2 * len(found) <= len(texts):
        return False
    return len({*found}) >= _UNLIKE * len(found) and share_of(found, _is_of_groups) < _SOME_GROUPS


_LOGGED_IN = pattern(r"([a-z]{4,8})\d{1,2}|(?:[a-z]{1,5}\.){1,2}([a-z]{3,})\d{0,2}")


def _are_equally_long(texts: Sequence[str]) -> bool:
    """Whether several texts are small letters, or many four capitals, and all equally long."""
    if len({*map(len, texts)}) != 1 or not all(map(str.isalpha, texts)):
        return False
    capitals = len(texts[0]) == _CAPITALS and len(texts) > _FEW_ANSWERS
    small = len(texts) >= _LOGINS and all(map(str.islower, texts))
    return small or (capitals and all(map(str.isupper, texts)))


_MARKS_OF_TESTS = (frozenset("ABCDEF"), frozenset("ACGT"))
"""Letters of marks, and of genes: AA, BA, BB; CC, CT."""
_LOGINS = 6
"""Words of small letters, from which on it is no chance that all are equally long."""
_CAPITALS = 4


def _is_of_two_names(text: str) -> bool:
    """Whether a text is the beginnings of a given and of a family name."""
    found = [place for place, letter in enumerate(text) if letter.isupper()]
    short = len(found) == 2 and found[0] == 0 and found[1] <= _GIVEN_OF_TWO
    return short and text.isalpha() and 0 < len(text) - found[1] - 1 <= _GIVEN_OF_TWO


def _is_of_groups(text: str) -> bool:
    return _plain(text).strip(".") in group_words()


def are_answers(texts: Sequence[str]) -> bool:
    """Whether a few texts are answers, some of them yes or no."""
    return len(texts) <= _FEW_ANSWERS and any(_plain(text) in _ANSWERS for text in texts)


_BY = frozenset({"by", "von", "durch", "door", "par", "por", "av", "af", "od", "przez", "da", "de"})
"""Words behind what somebody has done: coded by, modifié par."""
_LOGIN = pattern(r"[^\W\d_]{2,6}\d{1,3}|[^\W\d_]{2,3}")


def of_staff(name: str, texts: Sequence[str]) -> str | None:
    """What values are whose column is called after one of the staff: theirs, and of no group.

    Where the name says nothing but who, words that are none of groups are names, however few; and
    where it is "name" alone, too.
    """
    words = words_of(name)
    if (
        len(words) == 1
        and words[0] in _staff_document()["named"].split()
        and not looks_like_groups(texts)
    ):
        return "names of persons"
    logins = share_of(texts, _LOGIN.fullmatch) >= ALONE / 2
    by = len(words) > 1 and words[-1] in _BY and share_of(texts, _is_of_groups) < _SOME_GROUPS
    if by and logins:
        return "codes of single persons of the staff"
    inflected = [word[:end] for word in words if len(word) >= _INFLECTED for end in (-1, -2)]
    return _who(words, texts) if fits(_staff_words(), [*words, *inflected]) else None


def _who(words: Sequence[str], texts: Sequence[str]) -> str | None:
    """What values are under words that mean one of the staff."""
    if looks_like_full_names(texts) and not looks_like_groups(texts):
        return "names of persons"
    texts = [text.removesuffix(".0") for text in texts]
    if share_of(texts, _CODE_OF_STAFF.fullmatch) > ALONE:
        single = len(texts) > _FEW_OF_STAFF or fits(_OF_ONE, words)
        single = single or all(map(_BADGE.fullmatch, texts))
        return "codes of single persons of the staff" if single else None
    of_groups = sum(bool(group_words() & set(_plain(text).split())) for text in texts)
    grouped = of_groups > max(1.0, _SOME_GROUPS * len(texts))
    if len(words) > _TOLD_BY or grouped or are_answers(texts):
        return None
    letters = all(len(text) == 1 and text.isascii() for text in texts)  # are answers
    return "names of persons" if not letters and share_of(texts, _may_call) >= ALONE else None


def are_remarks(texts: Sequence[str], *, shared: bool) -> bool:
    """Whether texts may be remarks about persons: names in some, or words with a capital.

    Where many share each, these tell most by lists, or stand in many sentences: who writes from a
    list of sentences names a few persons many times.
    """
    if not mentions_names(texts):
        return False
    told = share_of(texts, lambda text: len(_WORD.findall(text)) >= _SAID) > ALONE / 2
    return not shared or are_named(texts) or (told and len(texts) > _FEW_ANSWERS)


_SAID = 3


@cache
def _staff_document() -> Mapping[str, str]:
    return words_document(files("voile.recognisers").joinpath("staff.toml").read_text("utf-8"))


@cache
def _staff_words() -> tuple[str, ...]:
    """Words of column names for one of the staff, as ``fits`` takes them."""
    return (*_plain(_staff_document()["words"]).split(), *words_of_languages()["staff"])


def _may_call(text: str) -> bool:
    """Whether a text may be what somebody is called, or a login: some words, few figures."""
    figures, letters = sum(map(str.isdigit, text)), sum(map(str.isalpha, text))
    few = figures <= _SINGLE or figures <= min(letters - 1, 2 * _SINGLE)
    return letters > 0 and few and len(text.split()) <= _MOST


def are_homes(texts: Sequence[str]) -> bool:
    """Whether texts are streets, addresses beside Latin, or numbers of houses: "103", "7/a"."""
    if share_of(texts, _STREET.fullmatch) >= ALONE / 2 or share_of(texts, _ROAD.search) >= 0.5:
        return True
    houses = share_of(texts, _HOUSE.fullmatch) >= ALONE
    return houses and any("/" in text and not text[-1].isdigit() for text in texts)


def _are_numbers_of_houses(texts: Sequence[str]) -> bool:
    """Whether most texts are two numbers of one house, as some countries have: "1004/32"."""
    return (
        share_of(texts, _HOUSE.fullmatch) >= ALONE
        and share_of(texts, lambda text: "/" in text) >= 0.5
    )
