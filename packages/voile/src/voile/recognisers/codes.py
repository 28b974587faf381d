"""Codes: texts of digits and letters that tell persons, things or places apart, and count nothing.

``CHECKS`` says whether a text of digits is a number that an office gives to people.  A column of
random numbers of the right length passes one time in ten or eleven, so that what most values pass
is the office's.  Each rule is public; the name of its office stands beside it.

Where no office gives check digits, the form tells: plates mix letters and digits, accounts stand in
groups of figures or begin with a nought, and numbers of rooms or licences have as many digits each
and are not round, as amounts are.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from voile.recognisers.telling import are_logins
from voile.recognisers.values import (
    NAMES_OF_TIMES,
    ColumnLook,
    are_subdivisions,
    currencies,
    looks_censored,
    share_of,
)
from voile.schema.hierarchy.taxonomy import CodeListName
from voile.schema.names import Role, fits, words_of
from voile.schema.persons import ALONE, FEW_PERSONS
from voile_base.ondemand import pattern_on_demand

__all__ = [
    "CHECKS",
    "FINELY_WRITTEN",
    "are_accounts",
    "are_diagnoses",
    "are_drawn_sparsely",
    "are_given_once",
    "are_listed",
    "are_moments",
    "are_of_things",
    "are_versions",
    "have_thin_ends",
    "may_single_out",
    "run_without_gaps",
    "told_by_form",
]

_CODE = 5
_NUMBERED = 8
_COUNTED = pattern_on_demand(
    r"[^\W\d_]{1,2}\d{1,3}|[^\W\d_]*[a-z][^\W\d_]*\d{1,3}[^\W\d_]?"
    r"|\d{1,4}[^\W\d_]{1,3}|\d{4}[^\W\d_]\d{1,2}"
)
"""Groups with a number, numbers with a unit, quarters: "Ward12", "100km", "2019Q1"."""
FINELY_WRITTEN = pattern_on_demand(r"-?\d{1,9}[.,]\d{4,}")
"""Numbers as finely written as degrees of places are, or minutes behind them."""
_AMOUNT = r"([1-9]\d{0,2}(?:[.,]\d{3})+|[1-9]\d*)"
_BAND = pattern_on_demand(rf"{_AMOUNT} ?[-\u2013] ?{_AMOUNT}")
_MEDICINE = pattern_on_demand(r"[ABCDGHJLMNPRSV]\d{2}(?:[A-Z](?:[A-Z](?:\d{2})?)?)?")
"""Codes of the anatomical therapeutic chemical classification (WHO, ATC)."""
_THREE_BY_THREE = pattern_on_demand(r"\d{1,3}(?:[. ]\d{3}){2,}")
"""Numbers as cards show them: "22.162.225"."""
_VERSION = pattern_on_demand(r"[vV]?\d{1,4}(?:\.\d{1,6}){1,3}[a-z]?")
_AGENT = pattern_on_demand(r"[A-Za-z][\w-]*/\d+\.\d")
"""A product of RFC 9110, section 10.1.5: its name and its version."""
_WHOLE = pattern_on_demand(r"-?\d+(?:\.0+)?")
_BEYOND = 100_000
"""No count is so great."""
_REGION = 5.0
"""Degrees within which the places of one region lie."""
_SIX = 6
_LISTED = 3
"""Numbers with check digits, beyond which it is no chance that all have them."""
_ENDS = 6
"""Numbers from which on it is no chance that their last digits are alike."""
_PADDED = 3
"""Digits from which on noughts in front fill a number to the length that all may have."""
_LONG_NUMBER = pattern_on_demand(r"\d{6,}(?:\.0)?")
_RUNS = pattern_on_demand(r"\d+|[^\W\d_]+")
_OF_ONE_OFFICE = pattern_on_demand(r"([^\W\d_]{1,3})([ -]?)(\d{3,})(?:-[^\W\d_])?")
_ONE_BY_ONE = 4
"""Numbers behind the same letters, from which on they are of records, unless most are hundreds."""
_GIVEN = 4.0
"""Numbers that can be given, as a power of ten, from which on they tell things apart."""
_PLATE = pattern_on_demand(
    r"(?=(?:.*\d){3})\d+[ -][A-Z]{2,3}|[^\W\d_]{1,3}[-/]\d{2,}|[^\W\d_A-Za-z]\d{2,}"
)
"""Letters and digits with a mark between them, which no unit of a number has."""
_ACCOUNTS = (
    *("*konto", "*kto", "account", "acct", "acc", "compte", "cuenta", "conto", "conta", "rekening"),
    *("*tili", "ucet", "szamla*", "iban", "ref", "reference", "*nr", "*nro", "*nummer", "bank"),
)
_LAST = frozenset({"id", "no", "num", "number", "numero", "numer"})
"""Words of numbers of something at the end of a name; before other words they may count."""
_BALANCES = (
    *("balance*", "saldo", "solde", "amount*", "value", "betrag", "*stand", "total*", "sum"),
    *("count", "montant", "importe", "importo", "bedrag", "kwota", "belopp", "income", "of"),
    *("fee*", "cost*", "schuld*", "debt*", "dette*", "deuda*", "divida*", "debito*"),
)
"""What stands on accounts, in names that speak of both."""
_NUMBERED_ACCOUNT = pattern_on_demand(
    r"0\d{3,}|(?!\d{1,3}(?:[ ,.\u2019']\d{3})+$)(?!\d+[.,]\d+$)\d{2,}(?:[ ./-]\d{2,})+"
)
"""Figures with a nought in front, or in groups that are no thousands, as accounts have."""
_ACCOUNT = 9
"""Digits of an account, where all have as many."""
_ALPHABET = "TRWAGMYFPDXBNJZSQVHLCKE"
"""Control letters of the Spanish DNI (Real Decreto 1553/2005, article 11)."""


def _weighted(digits: Sequence[int], weights: Sequence[int]) -> int:
    return sum(digit * weight for digit, weight in zip(digits, weights, strict=True))


def _luhn(text: str) -> bool:
    """ISO/IEC 7812-1, annex B: cards, IMEI, Swedish personnummer."""
    doubled = [int(c) * (1 + place % 2) for place, c in enumerate(reversed(text))]
    return sum(each - 9 * (each > 9) for each in doubled) % 10 == 0


def _card(text: str) -> bool:
    return len(text) in range(13, 20) and text[0] in "23456" and _luhn(text)


def _iban(text: str) -> bool:
    """ISO 13616-1: letters are two digits, the first four characters stand last, 1 modulo 97."""
    if not re.fullmatch(r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}", text):
        return False
    return int("".join(str(int(c, 36)) for c in text[4:] + text[:4])) % 97 == 1


def _nir(text: str) -> bool:
    """France, INSEE: the key is 97 less the number modulo 97; 2A and 2B of Corsica are 19, 18."""
    plain = text.replace("2A", "19").replace("2B", "18")
    return (
        len(plain) == 15 and plain.isdigit() and 97 - int(plain[:13]) % 97 == int(plain[13:])
    ) and plain[0] in "123478"


def _dni(text: str) -> bool:
    """Spain: DNI, and NIE with X, Y, Z for 0, 1, 2."""
    if not re.fullmatch(r"[XYZ0-9]\d{7}[A-Z]", text):
        return False
    number = text[:8].translate(str.maketrans("XYZ", "012"))
    return _ALPHABET[int(number) % 23] == text[8]


def _pesel(text: str) -> bool:
    """Poland, PESEL: weights 1 3 7 9 modulo 10."""
    return _weighted([*map(int, text)], (1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1)) % 10 == 0


def _bsn(text: str) -> bool:
    """The Netherlands, BSN: weights 9 to 2 and -1 modulo 11."""
    return _weighted([*map(int, text)], (9, 8, 7, 6, 5, 4, 3, 2, -1)) % 11 == 0 and int(text) > 0


def _nhs(text: str) -> bool:
    """England, NHS number: weights 10 to 2, 11 less the rest modulo 11."""
    rest = _weighted([*map(int, text[:9])], range(10, 1, -1)) % 11
    return (11 - rest) % 11 == int(text[9])


def _cpf(text: str) -> bool:
    """Brazil, CPF: two check digits modulo 11."""
    digits = [*map(int, text)]
    return all(
        _weighted(digits[:size], range(size + 1, 1, -1)) * 10 % 11 % 10 == digits[size]
        for size in (9, 10)
    )


def _ahv(text: str) -> bool:
    """Switzerland, AHV number: an EAN-13 that begins with 756."""
    return text.startswith("756") and _weighted([*map(int, text)], (1, 3) * 6 + (1,)) % 10 == 0


def _steuer_id(text: str) -> bool:
    """Germany, Steuer-Identifikationsnummer: ISO/IEC 7064, MOD 11, 10."""
    product = 10
    for digit in map(int, text[:10]):
        total = (digit + product) % 10 or 10
        product = 2 * total % 11
    return text[0] != "0" and (11 - product) % 10 == int(text[10])


def _cnp(text: str) -> bool:
    """Romania, CNP: weights 279146358279 modulo 11, ten being one."""
    rest = _weighted([*map(int, text[:12])], [*map(int, "279146358279")]) % 11
    return (1 if rest == 10 else rest) == int(text[12])


def _kimlik(text: str) -> bool:
    """Türkiye, T.C. kimlik no: the tenth and the eleventh digit."""
    digits = [*map(int, text)]
    tenth = (7 * sum(digits[0:9:2]) - sum(digits[1:8:2])) % 10
    return digits[0] > 0 and tenth == digits[9] and sum(digits[:10]) % 10 == digits[10]


def _rrn(text: str) -> bool:
    """Belgium, Rijksregisternummer: 97 less the number modulo 97, with 2 in front since 2000."""
    key = int(text[9:])
    return key in {97 - int(text[:9]) % 97, 97 - int("2" + text[:9]) % 97}


def _thai(text: str) -> bool:
    """Thailand, citizens: weights 13 to 2, 11 less the rest modulo 11, of that the last digit."""
    rest = _weighted([*map(int, text[:12])], range(13, 1, -1)) % 11
    return text[0] != "0" and (11 - rest) % 10 == int(text[12])


def _of_length(length: int, rule: Callable[[str], bool]) -> Callable[[str], bool]:
    return lambda text: len(text) == length and text.isdigit() and rule(text)


CHECKS: Mapping[str, Callable[[str], bool]] = {
    "card": lambda text: text.isdigit() and _card(text),
    "iban": _iban,
    "imei": _of_length(15, _luhn),
    "personnummer": lambda text: text.isdigit() and len(text) in {10, 12} and _luhn(text[-10:]),
    "nir": _nir,
    "dni": _dni,
    "pesel": _of_length(11, _pesel),
    "bsn": _of_length(9, _bsn),
    "nhs": _of_length(10, _nhs),
    "cpf": _of_length(11, _cpf),
    "ahv": _of_length(13, _ahv),
    "steuer-id": _of_length(11, _steuer_id),
    "cnp": _of_length(13, _cnp),
    "kimlik": _of_length(11, _kimlik),
    "rrn": _of_length(11, _rrn),
    "thai": _of_length(13, _thai),
}
"""By name: whether a text, of capitals and digits alone, has the check digits of it."""


def _is_long_code(text: str) -> bool:
    """Whether a text is a code: six letters and digits as plates have, or eight digits.

    Thousands are amounts, of a currency of small units.
    """
    plain = re.sub(r"[ ./-]", "", text)
    if plain.isdigit():
        return len(plain) >= _NUMBERED and plain == text and not plain.endswith("000")
    if _COUNTED.fullmatch(plain):
        return False
    digits = sum(map(str.isdigit, plain))
    return len(plain) > _CODE and plain.isalnum() and 3 <= digits < len(plain)


def _is_mixed_code(text: str) -> bool:
    """Whether a text is a code of letters and digits that counts nothing.

    "u33dbc", "PX-AA1" and "B 1234 XYZ" are; "Ward12", "100 km" and "2019Q1" are not.
    """
    plain = re.sub(r"[\s./-]", "", text)
    mixed = plain.isalnum() and not plain.isalpha() and not plain.isdigit()
    if not mixed or len(plain) < _CODE or _COUNTED.fullmatch(plain) is not None:
        return False
    return plain.isupper() or not re.search(r"\s", text.strip())


def _is_of_a_thing(text: str) -> bool:
    """Whether a text is a code as plates and accounts have, with no word in it."""
    plain = re.sub(r"[\s./-]", "", text)
    if re.search(r"[^\W\d_]{4}", text) or _is_a_band(text):
        return False
    if plain.isdigit() and plain != text:
        return len(plain) >= _NUMBERED or (len(plain) > _SIX and "-" in text)
    return _is_mixed_code(text) or _PLATE.fullmatch(text) is not None


def _are_goods(texts: Sequence[str]) -> bool:
    """Whether nearly all of some numbers have the check digits of goods."""
    return len(texts) > _LISTED and share_of(texts, _is_of_goods) > ALONE


def _is_of_goods(text: str) -> bool:
    """Whether a text has the check digit of a GTIN (GS1 General Specifications, 7.9)."""
    if not text.isdigit() or len(text) not in {8, 12, 13, 14} or _ahv(text.zfill(13)):
        return False
    weights = [3 if place % 2 else 1 for place in range(len(text))]
    return _weighted([*map(int, reversed(text))], weights) % 10 == 0


def _end_alike(texts: Sequence[str]) -> bool:
    """Whether the last two digits of numbers are half as many, or fewer, as chance would make."""
    ends = {text.removesuffix(".0")[-2:] for text in texts}
    by_chance = 100 * -math.expm1(-len(texts) / 100)
    return len(texts) >= _ENDS and 2 * len(ends) <= by_chance


def _are_of_records(texts: Sequence[str]) -> bool:
    """Whether most whole numbers have seven digits or more, or six of which three differ.

    Numbers of groups have fewer; so many are given where there are many records, or licences.
    Goods are none, by their check digits; and numbers given one after another differ in their last
    digits, which codes of a classification repeat: 106100, 109100, 118100.
    """
    if _are_goods(texts) or _end_alike(texts):
        return False
    long = [text for text in texts if _LONG_NUMBER.fullmatch(text) and text[-2:] != "00"]
    if len(long) <= ALONE / 2 * len(texts):
        return False
    width = max(map(len, long))
    places = zip(*(text.rjust(width) for text in long), strict=True)
    differ = sum(len(set(place)) > 1 for place in places)
    return width > _SIX or len(long) == 1 or differ >= _PADDED


def are_of_things(texts: Sequence[str], *, shared: bool, unnamed: bool = False) -> bool:
    """Whether texts are numbers of things: of plates, cards, licences.

    Codes without a word are, where few persons share each.  Where many do (``shared``), groups may
    be numbered so, too; but whoever gives numbers of things can give ten thousand and more, all of
    one form, as the letters and digits that differ from value to value tell, or, where no name says
    what they are of (``unnamed``), the same letters before them.  Names of groups are numbered with
    fewer, or in no fixed form: "ICU-2", "E11", "PPO500", "MA-HMO1".
    """
    if share_of(texts, _MEDICINE.fullmatch) > ALONE or (shared and _are_goods(texts)):
        return False
    if not shared:
        return share_of(texts, _is_of_a_thing) >= ALONE / 2
    if _are_of_records(texts) or are_logins(texts) or (unnamed and _are_of_one_office(texts)):
        return True
    grouped = share_of(texts, _THREE_BY_THREE.fullmatch) > ALONE
    if grouped:
        texts = [re.sub(r"\D", "", text) for text in texts]
    if all(map(str.isdigit, texts)):
        return (grouped or len(texts) > FEW_PERSONS) and 10 * len(texts) < int(max(texts)) - int(
            min(texts)
        )
    things = [_RUNS.findall(text) for text in texts if _is_of_a_thing(text)]
    forms = Counter(tuple(run.isdigit() for run in runs) for runs in things)
    if not forms or 2 * forms.most_common(1)[0][1] < len(texts):
        return False
    form = forms.most_common(1)[0][0]
    alike = [runs for runs in things if tuple(run.isdigit() for run in runs) == form]
    round_ones = share_of([runs[-1] for runs in alike], lambda run: run[-2:] == "00")
    given = sum(map(_could_be_given, zip(*alike, strict=True)))
    return round_ones < 0.5 and given >= _GIVEN


def _are_of_one_office(texts: Sequence[str]) -> bool:
    """Whether all texts are the same letters and as many digits: "AJ-104", "E207-b".

    Groups are numbered with fewer digits, or with hundreds; classes of a list have other letters.
    """
    found = [_OF_ONE_OFFICE.fullmatch(text) for text in texts]
    alike = [(one[1], one[2], len(one[3])) for one in found if one]
    if len(texts) < _ONE_BY_ONE or len(alike) < len(texts) or len({*alike}) > 1:
        return False
    return share_of(texts, lambda text: "00" in text) < 0.5


def _could_be_given(runs: Sequence[str]) -> float:
    """How many runs of letters or digits could stand where these do, as a power of ten."""
    width = max(map(len, runs))
    places = zip(*(run.rjust(width) for run in runs), strict=True)
    padded = runs[0].isdigit() and width >= _PADDED and any(run[0] == "0" for run in runs)
    padded = padded and len(set(runs)) > 1
    differ = width if padded else sum(len({*place} - {" "}) > 1 for place in places)
    return differ * (1.0 if runs[0].isdigit() else math.log10(26))


def may_single_out(look: ColumnLook, *, shared: bool, bands: bool) -> bool:
    """Whether values may tell rows apart, as numbers of records do and amounts do not.

    ``shared`` says that many persons share each value, ``bands`` that they are bands of numbers.
    Then a few of them are numbers of things alone; else nearly each row has its own, or they lie as
    those of an office do, or they are texts.
    """
    is_whole = look.type == "integer" or (
        look.type == "decimal" and share_of(look.filled, _WHOLE.fullmatch) == 1
    )
    if look.distinct <= FEW_PERSONS:
        records = _are_of_records(look.filled) or _are_numbered(look)
        return shared and is_whole and records
    if shared:
        return False
    alone = is_whole and look.share > ALONE and not _counts_from_nought(look)
    return (
        (look.type == "text" and not looks_censored(look.filled))
        or (not bands and share_of(look.filled, _is_long_code) > ALONE)
        or (alone and not _are_skewed(look.filled) and not have_thin_ends(look.filled))
        or (_are_spread_evenly(look) if is_whole else _may_be_degrees(look))
    )


def _are_numbered(look: ColumnLook) -> bool:
    """Whether whole numbers under "no.", of three digits and more, have gaps: dogs, badges."""
    if look.extremes is None or look.distinct < _ONE_BY_ONE or not _NUMBER_OF & set(look.words):
        return False
    least, most = look.extremes
    return least >= _OFFICES and most - least > 10 * look.distinct


_NUMBER_OF = frozenset({"nr", "no", "num", "numero", "nummer", "number", "numer", "cislo", "broj"})
_OFFICES = 100


def _counts_from_nought(look: ColumnLook) -> bool:
    """Whether whole numbers begin at 0, as counts do and numbers of records do not."""
    ends = look.extremes
    return ends is not None and ends[0] == 0 and ends[1] < _BEYOND


def _may_be_degrees(look: ColumnLook) -> bool:
    """Whether decimals are as fine as degrees of a region are, and as far from nought."""
    ends = look.extremes
    if look.type != "decimal" or ends is None:
        return False
    if {word.upper() for word in look.words} & currencies():
        return False  # rates of exchange
    near = ends[1] - ends[0] < _REGION and max(map(abs, ends)) > 1
    return near and share_of(look.filled, FINELY_WRITTEN.fullmatch) > ALONE / 2


def _are_spread_evenly(look: ColumnLook) -> bool:
    """Whether many whole numbers lie as evenly as numbers of parcels do, and measures hardly ever.

    The test of Kolmogorov and Smirnov at 5 % on the different ones (D < 1.36 / sqrt(d)).
    """
    ends = look.extremes
    if ends is None or look.distinct <= _EVEN or ends[0] < 1 or look.is_dated:
        return False
    span, years = ends[1] - ends[0], _YEARS[0] <= ends[0] and ends[1] <= _YEARS[1]
    if span <= _STEPS or years:
        return False
    places = sorted((float(text) - ends[0]) / span for text in look.filled)
    apart = max(abs(place - rank / len(places)) for rank, place in enumerate(places, 1))
    round_ones = share_of(look.filled, lambda text: text.removesuffix(".0")[-1:] in {"0", "5"})
    return apart * math.sqrt(len(places)) < _KOLMOGOROV and round_ones < 0.5


_SIX_DIGITS = 100_000
_FAR = 100
_WEEK = pattern_on_demand(r"(?:19|20)\d{2}(?:0[1-9]|[1-4]\d|5[0-3])(?:\.0)?")
"""A week of a year: 202406."""


def are_drawn_sparsely(look: ColumnLook) -> bool:
    """Whether many whole numbers of one length are labels of persons or things with several rows.

    Measures of so wide a range would seldom meet by chance, as birthdays do not in a long year:
    these repeat at least twice as often, and are neither years, nor round, nor skewed.  Nor do
    measures lie side by side far from nought, as numbers that are counted up do: 400100, 400103.
    """
    ends = look.extremes
    if ends is None or look.distinct <= FEW_PERSONS or look.is_dated or ends[0] < _FOUR_DIGITS:
        return False
    span = ends[1] - ends[0] + 1
    if ends[1] <= _YEARS[1] or len(f"{ends[0]:.0f}") != len(f"{ends[1]:.0f}"):
        return False
    if ends[0] >= max(_SIX_DIGITS, _FAR * span):
        return not all(map(_WEEK.fullmatch, look.filled))
    by_chance = span * -math.expm1(-look.rows / span)
    round_ones = share_of(look.filled, lambda text: text.removesuffix(".0")[-1:] in {"0", "5"})
    return 2 * look.distinct < by_chance and round_ones < 0.5 and not _are_skewed(look.filled)


def are_given_once(look: ColumnLook) -> bool:
    """Whether many whole numbers repeat so seldom that somebody saw to it, as offices do.

    Of ``n`` numbers of a range of ``R``, ``n (n - 1) / 2 R`` pairs are alike by chance, and more
    where they are not spread evenly: ten at least are missed, and one in twenty is found at most.
    Amounts whose repeated values were made different by hand have thin ends, and are none.
    """
    if look.type != "integer" or look.extremes is None or look.is_dated or look.rows <= _MANY_GIVEN:
        return False
    least, most = look.extremes
    alike = look.rows * (look.rows - 1) / 2 / (most - least + 1)
    seldom = 20 * (look.rows - look.distinct) <= min(alike, look.rows)
    return alike >= _MISSED and seldom and not have_thin_ends(look.filled)


_MISSED = 10
_MANY_GIVEN = 100


def are_accounts(name: str, texts: Sequence[str], *, bands: bool) -> bool:
    """Whether a name or values that speak of money are numbers of accounts, and no amounts.

    The name says so, and nothing of what stands on them; or figures begin with a nought, stand in
    groups that are no thousands, or all have as many digits, more than amounts have.
    ``bands`` says that they are bands of numbers.
    """
    words = words_of(name)
    if (fits(_ACCOUNTS, words) or words[-1] in _LAST) and not fits(_BALANCES, words):
        return True
    if not bands and share_of(texts, _NUMBERED_ACCOUNT.fullmatch) > 0:
        return True
    figures = [text for text in texts if text.isdigit()]
    long = len(figures) == len(texts) and len({len(text) for text in figures}) == 1
    unround = share_of(figures, lambda text: len(text) >= _ACCOUNT and text[-2:] != "00")
    return long and unround > ALONE / 2


def are_moments(look: ColumnLook) -> bool:
    """Whether whole numbers count seconds or thousandths from 1970 on, as their name says, too."""
    low, high = look.extremes or (0, 0)
    within = any(_FROM_2001 * unit <= low <= high <= _TO_2036 * unit for unit in (1, 1000))
    return look.type == "integer" and within and fits(NAMES_OF_TIMES, words_of(look.name))


_FROM_2001, _TO_2036 = 1_000_000_000, 2_082_758_400


def run_without_gaps(look: ColumnLook, *, listed: bool) -> bool:
    """Whether many whole numbers leave next to no gap, as those that an office gives do.

    They have four digits or more and are no years; or they stand in the order of a list
    (``listed``) and go from 0 or 1 to beyond 100, as numbers of households do.
    """
    if look.type != "integer" or look.extremes is None or look.distinct <= FEW_PERSONS:
        return False
    least, most = look.extremes
    if look.is_dated or most - least + 1 > _DENSE * look.distinct:
        return False
    years = _YEARS[0] <= least and most <= _YEARS[1]
    return (least >= _FOUR_DIGITS and not years) or (listed and 0 <= least <= 1 and most > _BLOCKS)


_EVEN = 100
"""Different numbers from which on it tells that they lie evenly."""
_STEPS = 600
"""Days of a year, months of fifty and marks out of a hundred lie evenly, too."""
_KOLMOGOROV = 1.36
_DENSE = 1.25
_YEARS = 1800, 2100
_FOUR_DIGITS = 1_000
_BLOCKS = 100


def _are_skewed(texts: Sequence[str]) -> bool:
    """Whether most whole numbers are small and some large, as amounts are.

    Numbers of records are spread evenly between the least and the greatest, stand in blocks with
    gaps between them, or have as many digits each.
    """
    numbers = sorted(float(text) for text in texts if re.fullmatch(r"\d+(?:\.0)?", text))
    if len(numbers) < max(_SKEWED_ROWS, len(texts)) or numbers[-1] < 10 * numbers[0]:
        return False
    spread = numbers[-1] - numbers[0]
    middle = numbers[len(numbers) // 2] - numbers[0]
    gap = max(later - earlier for earlier, later in pairwise(numbers))
    return middle < _SKEWED * spread and gap < spread / 2


def _is_a_band(text: str) -> bool:
    """Whether two numbers ascend, as from and to: "1945-1959", "18.000 - 25.999"."""
    ends = _BAND.fullmatch(text)
    if ends is None:
        return False
    low, high = (int(re.sub(r"\D", "", end)) for end in ends.groups())
    return low < high and len(ends[2]) - len(ends[1]) in (0, 1)


def are_versions(texts: Sequence[str]) -> bool:
    """Whether few texts are versions of something, or of programs: "5.0.2", "Mozilla/5.0 (X11)"."""
    if len(texts) > FEW_PERSONS or share_of(texts, _THREE_BY_THREE.fullmatch) > ALONE:
        return False
    return any(share_of(texts, form) > ALONE for form in (_VERSION.fullmatch, _AGENT.match))


def are_listed(texts: Sequence[str], lists: Mapping[CodeListName, int]) -> bool:
    """Whether several texts are codes of diseases, or of countries, states or regions alone.

    ``lists`` are public lists that have most of them, with how many each misses.
    """
    if len(texts) >= _LISTED_CODES and _have_diseases(texts, lists):
        return True
    if len(texts) < _LISTED_CODES or not all(map(str.isupper, texts)):
        return False
    return any(lists.get(each) == 0 for each in _OF_PLACES) or are_subdivisions(texts)


def _have_diseases(texts: Sequence[str], lists: Mapping[CodeListName, int]) -> bool:
    """Whether most are codes of diseases, and not all numbers of one office behind one letter."""
    numbered = _are_of_one_office(texts) and len(texts[0]) > _OF_A_DISEASE
    return "icd-10-cm" in lists and not numbered


_OF_A_DISEASE = 4
"""Letters and figures of a code of a disease whose last are figures, without its point."""


def are_diagnoses(texts: Sequence[str], lists: Mapping[CodeListName, int]) -> bool:
    """Whether several texts are codes of diseases alone, some of a subcategory: "E11.9"."""
    return are_listed(texts, lists) and any(map(_SUBCATEGORY.fullmatch, texts))


def told_by_form(texts: Sequence[str]) -> tuple[str, Role] | None:
    """What several texts are by their form or check digit, though many have each, and its role.

    Codes of a public list: areas of the statistics offices of the United Kingdom, branches of
    Indian banks, trade items (GS1 General Specifications 7.9), and concepts of SNOMED CT, whose ids
    end in a digit by Verhoeff's scheme.  Or pressures of blood.
    """
    filled = [text for text in texts if text]
    if len(filled) >= _LISTED_CODES and share_of(filled, _is_pressure) >= ALONE:
        return "pressures of blood", "sensitive"
    if what := _list_by_form(filled):
        return what, "sensitive" if what == _CONCEPTS else "quasi"
    return None


def _is_pressure(text: str) -> bool:
    found = _PRESSURE.fullmatch(text)
    return found is not None and int(found[2]) < int(found[1])


_PRESSURE = pattern_on_demand(r"([6-9]\d|1\d\d|2[0-4]\d) ?/ ?([3-9]\d|1[0-4]\d)(?: ?mm ?[Hh][Gg])?")


def _list_by_form(texts: Sequence[str]) -> str | None:
    for what, form in _PUBLIC_FORMS.items():
        if len(texts) >= _LISTED_CODES and all(map(form.fullmatch, texts)):
            return what
    if len(texts) < _CHECKED_CODES or not all(map(str.isdecimal, texts)):
        return None
    return next((what for what, holds in _PUBLIC_CHECKS.items() if all(map(holds, texts))), None)


def _is_trade_item(text: str) -> bool:
    weights = (3, 1) * 7
    return len(text) in {8, 12, 13, 14} and not (
        _weighted([*map(int, text)], weights[-len(text) :]) % 10
    )


def _is_concept(text: str) -> bool:
    """Whether digits are an id of a concept, by its partition and its check digit."""
    if not 6 <= len(text) <= 18 or text[-3:-1] not in {"00", "10"}:
        return False
    check = 0
    for place, digit in enumerate(reversed(text)):
        check = _dihedral(check, _permuted(int(digit), place % 8))
    return check == 0


def _dihedral(a: int, b: int) -> int:
    """The product of two of the ten symmetries of a pentagon, five of which are reflections."""
    if a < 5:
        return (a + b) % 5 if b < 5 else 5 + (a + b) % 5
    return 5 + (a - b) % 5 if b < 5 else (a - b) % 5


def _permuted(digit: int, times: int) -> int:
    for _ in range(times):
        digit = _VERHOEFF[digit]
    return digit


_VERHOEFF = (1, 5, 7, 6, 2, 8, 3, 0, 9, 4)
_CHECKED_CODES = 5
"""Codes from which on it is no chance that all have the right last digit."""
_CONCEPTS = "codes of clinical findings and procedures"
_PUBLIC_FORMS = {
    "codes of areas of statistics": pattern_on_demand(r"[EWNSKJLM]\d{8}"),
    "codes of branches of banks": pattern_on_demand(r"[A-Z]{4}0[A-Z\d]{6}"),
}
_PUBLIC_CHECKS = {_CONCEPTS: _is_concept, "codes of trade items": _is_trade_item}
_SUBCATEGORY = pattern_on_demand(r"[A-Z]\d[\dA-Z]\.[\dA-Z]{1,4}")
_LISTED_CODES = 4
"""Codes of countries from which on it is no chance: two in five pairs of letters are one."""
_OF_PLACES: tuple[CodeListName, ...] = ("countries", "us-states", "nuts")


def have_thin_ends(texts: Sequence[str]) -> bool:
    """Whether few whole numbers are as large as the largest, as of amounts; records fill a range.

    Of the range without the outermost hundredth at each end, the uppermost fifth has less than a
    tenth.
    """
    numbers = sorted(float(text) for text in texts if _WHOLE.fullmatch(text))
    if len(numbers) < max(_SKEWED_ROWS, len(texts)):
        return False
    beyond = 1 + len(numbers) // 100
    numbers = numbers[beyond:-beyond]
    limit = numbers[-1] - (numbers[-1] - numbers[0]) / 5
    return sum(number >= limit for number in numbers) < _THIN * len(numbers)


_THIN = 0.1
_SKEWED = 0.35
"""Where the middle of even numbers lies in the half: of amounts it lies below."""
_SKEWED_ROWS = 30
