"""What one column might be: its role, its kind, and why.

Rules, the first that applies:

1. a column without values, or of values that cannot be published, is left out;
2. a name that tells persons or households apart, and values that are many: who is protected;
3. what the recognisers know (``voile.recognisers``): names, addresses, numbers of persons and
   documents are identifiers; positions and what follows from them are left out, with a question;
4. a name that tells things, no places, apart: an identifier where values are many, else a code;
5. dates and times are quasi-identifiers: others were there; in a form that is not read they are
   left out, with a question;
6. long texts are free texts, and left out;
7. values that no two rows share, or that a program made: an identifier, or not understood;
8. what the name means (``words.toml``), where the values can be that: the form of values wins, and
   a name, a number of somebody or a place in a few of them is left out (``recognisers.telling``);
9. else **how the values are spread** decides, in whatever language they are.  A value that many
   persons share points at none of them by itself, and a quasi-identifier is generalized or
   suppressed until k persons share it beside all others: so a column of such values is one,
   without a question (``ColumnLook.is_shared``).  What speaks against it is left out, with a
   question: names of persons, which a list of eighty countries has; numbers of things, of which
   ten thousand and more could be given; addresses, positions, remarks.  Numbers that repeat though
   their range is wide are labels of somebody with several rows (``codes.are_drawn_sparsely``);
10. what is not understood and **few persons share** is left out, with a question, where it is a
   text, a code, or a number that nearly each row has alone or that lies as evenly as numbers of an
   office do; other numbers are quasi-identifiers, which show intervals.  Accepting all questions
   publishes none of what is left out;
11. what is the same in all rows tells no two persons apart, and is a quasi-identifier that costs
   nothing, unless it is a name or a number of somebody.

No column that is not understood is kept, which would show it as it is; ``whole`` takes those that
stand among sensitive columns for such, and asks.  Digits are numbers where the name says so or many
different ones stand; few of them are names of groups, which are never an interval.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal

from voile.proposal.proposed import (
    LABELS,
    PERSONS,
    ColumnProposal,
    is_fine,
    of_recognition,
    unclear,
)
from voile.recognisers.codes import (
    are_accounts,
    are_diagnoses,
    are_drawn_sparsely,
    are_given_once,
    are_listed,
    are_moments,
    are_of_things,
    are_versions,
    have_thin_ends,
    may_single_out,
    run_without_gaps,
    told_by_form,
)
from voile.recognisers.recognition import holds_postcodes, recognised
from voile.recognisers.telling import (
    NUMBERS,
    are_answers,
    are_homes,
    are_initials,
    are_named,
    are_remarks,
    are_users,
    may_be_names,
    of_staff,
    told_within,
)
from voile.recognisers.values import (
    NAMES_OF_BIRTHS,
    ColumnLook,
    are_beside_units,
    has_names,
    hold_pointed_initials,
    holds_initials,
    is_day,
    looks_censored,
    looks_like_addresses,
    looks_like_amounts,
    looks_like_bands,
    looks_like_full_names,
    looks_like_groups,
    looks_like_places,
    share_of,
    words_as_meant,
)
from voile.schema.hierarchy.forms import year_of
from voile.schema.hierarchy.taxonomy import CodeList
from voile.schema.names import (
    Kind,
    Meaning,
    Role,
    fits,
    kind_of_numbered,
    meaning_of,
    named,
    words_of,
    words_told,
)
from voile.schema.persons import ALONE, FEW_PERSONS, TELLING
from voile.table.summaries import ColumnDetails
from voile_base.ondemand import pattern_on_demand

__all__ = ["propose_column"]


_GROUPS = 12
"""Up to that many different whole numbers are taken for names of groups."""
_GROUPED = 4  # whole numbers that tell nobody apart, whatever their name says
_SENTENCE = 4
_REMARK = 1.5
"""Words of a cell on average, from which on texts that most rows lack are remarks."""
_LONG, _STORY, _SAID = 8, 7, 3
_OF_TEXTS = 4
_OF_NUMBERS = 3
"""Letters of a word of a name that means the same in most languages."""
_GIVEN = "whole numbers that are given one by one: numbers of persons or of records"
_CODES = "codes of persons, things or places"
_GRADE = pattern_on_demand(r"([A-F])([+-\u2212]?)")
_LETTERS = 3
_SPAN = pattern_on_demand(r"(?i)\d{1,3} ?[yajlr][a-z]{0,5}\.?,? ?\d{1,2} ?[mhw][a-z]{0,5}\.?")
"""Years and months, or the like, as they are written in many languages."""
_RECORDED = re.compile(r"\d{5,}(?!00)\d\d(?:\.0)?")  # of records, and not of groups
_BEYOND = 100_000  # no count or measure that others may know is so great in every row
_FIRST_YEAR, _LAST_YEAR = 1850, 2100
_TWO = 2  # different texts of several words may be names of persons
_NUMBERED = ("nr", "no", "num", "numero", "nummer", "number", "id", "br", "sz")
_LISTED = 0.3  # of texts with common names of persons, from which on they may be names
_BY_DEFAULT = "treated as a quasi-identifier by default: many share each of its values"
_UNKNOWN = "treated as a quasi-identifier by default: not understood"
_KINDS_OF_TEXTS: frozenset[Kind] = frozenset({"nominal", "ordinal", "code", "geography"})
_LASTED = re.compile(
    r"\d{1,3}(?: ?h ?|:)\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?(?:hs?|hrs|uhr|Uhr))?"
    r"|(?:(?:1[89]|20)\d|[0-3])\d[./-][01]\d\.?"
    r"|\d{1,2}[./]\d{4} ?[-\u2013] ?\d{1,2}[./]\d{4}"
)
_BLOCK = 12  # rows of one whole number, on average, up to which it may be that of a household
_ROWS_OF_A_BLOCK = 1.1
_ROWS_OF_A_YEAR = 3
"""So many rows share a number of four figures on average, if it is a year and no record's."""
_RUNNING = 100
"""So many whole numbers that are counted up are of records, whatever their name says."""
_NEVER = frozenset({"nested", "binary", "duration", "empty"})


def propose_column(
    details: ColumnDetails,
    called: str | None = None,
    beside: Sequence[str] = (),
    persons: int | None = None,
) -> ColumnProposal:
    """What a column might be, from its name and how its values are written.

    ``called`` is the name without what tells repeated measures apart (``names.stems_of``);
    ``beside`` are the names of the other columns; ``persons`` is how many the rows are of, where
    that is known: else each row is taken for another's.
    """
    profile, called = details.profile, called or details.profile.name
    meaning = _meaning(details, called)
    kind = _kind(details, meaning)
    if profile.type in _NEVER:
        return ColumnProposal(details, "drop", kind, "values of this type cannot be published")
    if profile.distinct == 0:
        return ColumnProposal(details, "quasi", kind, "it holds no value, and tells nothing")
    look = details.look(beside)
    if profile.distinct == 1 and not profile.missing:
        return _constant(details, look, kind)
    found = _unit(details, called) or _recognised(details, look) or _thing(details, called)
    found = found or _date(details, called) or _days_unread(details, meaning)
    found = found or _free_text(details)
    found = found or _alone(details, look, meaning) or _in_blocks(details, meaning)
    found = found or _meant(details, meaning, kind) or _guessed(details, kind, persons)
    return replace(found, code_list=_code_list(found, called))


def _constant(details: ColumnDetails, look: ColumnLook, kind: Kind) -> ColumnProposal:
    """A column that is the same in all rows: it tells no two persons apart, and may name one."""
    found, texts = recognised(look), details.sample
    chance = found is not None and found.by == "values" and details.profile.type == "integer"
    if found is not None and found.group != "movement" and not chance:
        return of_recognition(details, found)
    dated = details.profile.type not in {"text", "integer", "decimal"} or look.is_dated
    named = kind != "geography" and looks_like_full_names(texts) and are_named(texts)
    if chance or (not dated and (named or told_within(texts) or are_of_things(texts, shared=True))):
        return ColumnProposal(details, "drop", kind, "one name or number of something in all rows")
    if not look.is_shared():
        return ColumnProposal(details, "drop", kind, "so few rows that they do not share it")
    why = "the same in all rows, so that it tells no two apart"
    first = (*details.date_formats, None)[0]
    return ColumnProposal(details, "quasi", kind, why, date_format=first)


def _meaning(details: ColumnDetails, called: str) -> Meaning | None:
    """What a name means; many texts are no groups, and numbers of records none, by short words."""
    profile, meaning = details.profile, meaning_of(called)
    if meaning is not None and _weighs_rows(details, called):
        return meaning_of("survey weight")
    if meaning is not None and meaning.kind == "number" and _differs_in_kind(details, meaning):
        meaning = meaning_of(called, kinds=_KINDS_OF_TEXTS) or meaning  # what kind of payment
    texts = profile.type == "text" and profile.distinct > FEW_PERSONS
    if texts and meaning is not None and meaning.kind == "nominal":
        return meaning_of(called, _OF_TEXTS)
    return meaning_of(called, _OF_NUMBERS) if details.look().is_numbered else meaning


def _weighs_rows(details: ColumnDetails, called: str) -> bool:
    """Whether a weight is one of a survey, which is finer than that of a body, by its decimals.

    Beside the number of a question, too: ``V10 Gewicht``.
    """
    words = {word for word in words_of(called) if len(word) > 1}
    if not words or words - set(words_told("weight")):
        return False
    return is_fine(details)


def _unit(details: ColumnDetails, called: str) -> ColumnProposal | None:
    """A column whose name says that it tells persons or households apart."""
    profile, who = details.profile, named(" ".join(words_as_meant(called, details.extremes)))
    share = profile.distinct / max(1, details.rows - profile.missing)
    if who not in {"person", "household"} or (profile.type == "decimal" and not details.whole):
        return None
    figures = all(text.lstrip("-").isdigit() for text in details.sample)
    words = details.look().is_shared() and not any(map(str.isdigit, "".join(details.sample)))
    answers = figures and profile.distinct <= _GROUPED and share * FEW_PERSONS < 1
    if answers or (who == "household" and words):
        return None  # whether somebody is one, or what people live in
    role: Role = "person" if who == "person" else "household"
    if profile.distinct >= FEW_PERSONS or share > ALONE:
        why = f"its name says that it tells {role}s apart"
        if has_names(details.look(), _LISTED):
            why = f"{why}; people of one name count as one"
        return ColumnProposal(details, role, "code", why)
    if _flag(details) or details.look().is_flag():
        return None
    why = f"its name says that it tells {role}s apart, and its values are few"
    question = f"does it tell {role}s apart? Then name it in {role}; if a group, give it a role"
    return ColumnProposal(details, "drop", "code", why, question=question)


def _recognised(details: ColumnDetails, look: ColumnLook) -> ColumnProposal | None:
    """A column that the recognisers know; what its form tells stands in no name of a person."""
    if found := recognised(look):
        return of_recognition(details, found)
    if _are_grades(details.sample):
        return ColumnProposal(details, "sensitive", "ordinal", "grades, by their letters")
    told = told_by_form(details.sample)
    return ColumnProposal(details, told[1], "code", f"{told[0]}, by form") if told else None


def _are_grades(texts: Sequence[str]) -> bool:
    """Whether nearly all are grades of schools: at least three letters, and some with a sign.

    Groups of blood have an O; classes of devices have pluses alone.
    """
    given = [found for text in texts if (found := _GRADE.fullmatch(text.strip()))]
    signs, letters = {one[2] for one in given}, {one[1] for one in given}
    return len(letters) >= _LETTERS and {"+", "-"} <= signs and len(given) >= ALONE * len(texts)


def _are_spans(texts: Sequence[str]) -> bool:
    """Whether nearly all are lengths of time in two units, as sentences are: "4Y 06M"."""
    return share_of(texts, _SPAN.fullmatch) >= ALONE


def _thing(details: ColumnDetails, called: str) -> ColumnProposal | None:
    """A column whose name says that it tells things apart."""
    profile, group = details.profile, kind_of_numbered(called)
    if named(called) != "thing" or (profile.type == "decimal" and not details.whole):
        return None
    share = profile.distinct / max(1, details.rows - profile.missing)
    things = not group and are_of_things(details.sample, shared=details.look().is_shared())
    most = ALONE if group in {"geography", "code"} else TELLING
    many = share > most and not holds_postcodes(details.look())
    if many or details.machine_made or things:
        why = "its name and its many values say that it tells apart"
        return ColumnProposal(details, "identifier", "code", why)
    may_be = of_staff(details.profile.name, details.sample)
    if may_be or are_users(details.sample):
        return unclear(details, "code", may_be or PERSONS)
    return ColumnProposal(details, "quasi", group or "nominal", "few codes, though named as an id")


def _date(details: ColumnDetails, called: str) -> ColumnProposal | None:
    born = fits(NAMES_OF_BIRTHS, words_of(called))
    why = "a date of birth, which others know" if born else "dates: others were there"
    if details.profile.type in {"date", "datetime", "time"}:
        return ColumnProposal(details, "quasi", "date", why)
    if are_moments(details.look()):
        return ColumnProposal(details, "quasi", "number", "moments, counted from 1970 on")
    if not details.date_formats:
        return None
    first, *others = details.date_formats
    short = _century_asked(details, first, called)
    if short is not None and (short.role == "drop" or not others):
        return short
    told = " and ".join(f'"{each}"' for each in details.date_formats)
    question = f"the dates fit {told}: which one is it?" if others else None
    return ColumnProposal(details, "quasi", "date", why, date_format=first, question=question)


def _century_asked(details: ColumnDetails, date_format: str, called: str) -> ColumnProposal | None:
    """Left out where years of two digits lie in the future; a question where people are born."""
    if "%y" not in date_format:
        return None
    years = [datetime.strptime(one.strip(), date_format).year for one in details.sample]
    how = "its years have two digits and are read as 1969 to 2068"
    if max(years) > datetime.now(UTC).year:
        asked = f"{how}, and some lie in the future. Write them in the table as 2001-12-31"
        why = "days of an unknown century"
        return ColumnProposal(details, "drop", "date", why, question=asked)
    born = fits(NAMES_OF_BIRTHS, words_of(called))
    question = f"{how}: is anybody born before? Then write them as 2001-12-31" if born else None
    why = "dates with years of two digits: others were there"
    return ColumnProposal(details, "quasi", "date", why, date_format=date_format, question=question)


def _days_unread(details: ColumnDetails, meaning: Meaning | None) -> ColumnProposal | None:
    """A column of days that no format reads: no identifier, though each row has its own."""
    versions = meaning is not None and meaning == meaning_of("firmware")  # as 03.27.10 is one
    if versions or details.profile.type != "text" or share_of(details.sample, is_day) <= ALONE:
        return None
    if share_of(details.sample, _LASTED.fullmatch) > ALONE:
        why = "months, times of a day, or how long something took, which others may know"
        return ColumnProposal(details, "quasi", "nominal", why)
    if at := year_of(details.sample):
        why = "days in forms that are not read, shown by their year where it is told"
        return ColumnProposal(details, "quasi", "nominal", why, form=("year", at))
    why = "days in a form that is not read"
    question = "which days are they? Write them in the table as 2001-12-31, with the whole year"
    return ColumnProposal(details, "drop", "date", why, question=question)


def _is_no_amount(details: ColumnDetails, meaning: Meaning) -> bool:
    """Whether many texts stand where the name speaks of numbers: ids of orders, not amounts."""
    profile, share = details.profile, details.look().share
    many = profile.distinct > FEW_PERSONS and share > TELLING and not _are_bands(details)
    many = many and not are_beside_units(details.sample)
    return meaning.kind == "number" and profile.type == "text" and many


def _meant(details: ColumnDetails, meaning: Meaning | None, kind: Kind) -> ColumnProposal | None:
    """What the name means, where the values can be that."""
    if meaning is None or _is_no_amount(details, meaning) or _differs_in_kind(details, meaning):
        return None
    profile = details.profile
    if meaning.kind == "text" and profile.distinct <= FEW_PERSONS:
        shared = not (profile.once or profile.missing)  # a remark is missing in some rows
        shared = shared and details.look().is_shared(details.rows // 2)
        shared = shared or looks_like_groups(details.sample)
        return None if shared else unclear(details, kind, "remarks")
    alone = profile.distinct > FEW_PERSONS and details.look().share >= ALONE
    if meaning.kind == "number" and profile.type == "text" and alone:
        why = f"{meaning.reason}; its amounts stand beside signs or words, and are no numbers"
        asked = "may it be published? Write its amounts in the table as numbers, and give it a role"
        return ColumnProposal(details, "drop", "number", why, question=asked)
    if meaning.kind == "number" and meaning.role == "sensitive" and _are_years(details):
        return ColumnProposal(details, "quasi", "number", "years, which others may know")
    if meaning.role != "drop" and (may_be := _tells_though_named(details, meaning)):
        return unclear(details, kind, may_be)
    bounds, look = _bounds_of(details, meaning), details.look()
    role, why = meaning.role, meaning.reason
    if role == "sensitive" and look.is_numbered and not have_thin_ends(look.filled):
        role, why = "quasi", f"{why}, by its name; its numbers lie as those of records do"
    return ColumnProposal(details, role, kind, why, bounds=bounds, guessed=meaning.vague)


def _differs_in_kind(details: ColumnDetails, meaning: Meaning) -> bool:
    """Whether the values can be no texts, or no amounts, where the name says that they are."""
    if meaning.kind == "text":
        return details.profile.type != "text" or share_of(details.sample, str.isdecimal) > ALONE / 2
    return meaning.kind == "number" and not _are_amounts(details)


def _are_amounts(details: ColumnDetails) -> bool:
    """Whether values can be amounts, as a name says: numbers, bands of them, ranks, yes or no."""
    if details.profile.type != "text" or details.bands or details.look().is_flag():
        return True
    noughts = any(text.isdigit() and text[0] == "0" < text for text in details.sample)
    amounts = looks_like_amounts(details.sample) or are_beside_units(details.sample)
    return bool(details.date_formats) or (amounts and not noughts)


def _are_years(details: ColumnDetails) -> bool:
    """Whether whole numbers are months, days or years, as those of no column of money are."""
    if details.profile.type == "integer" and details.look().is_dated:
        return True
    ends, whole = details.extremes, details.profile.type == "integer" or details.whole
    return whole and ends is not None and _FIRST_YEAR <= ends[0] < ends[1] <= _LAST_YEAR


def _tells_though_named(details: ColumnDetails, meaning: Meaning) -> str | None:
    """What values are by their make, under a name that means groups or money.

    The form of a few values wins over the name: a class called after its teacher is hers.
    """
    if (
        meaning.kind == "number"
        and meaning.role == "sensitive"
        and are_accounts(details.profile.name, details.sample, bands=bool(details.bands))
    ):
        return "numbers of accounts or of persons"
    if details.profile.type in {"integer", "text"} and _cannot_be(details, meaning):
        return _CODES
    if details.profile.type != "text" or details.bands or details.look().is_flag():
        return None
    texts, places = details.sample, meaning.kind == "geography"
    named_after = fits(words_told("one_of_a_group"), words_of(details.profile.name)) or (
        (looks_like_full_names(texts) or are_named(texts) or _may_log_in(texts))
        and of_staff(details.profile.name, texts)
    )
    if named_after and not looks_like_groups(texts):
        return PERSONS
    told = told_within(texts, places=places)
    if meaning.kind == "code" and meaning.role == "quasi" and told == NUMBERS:
        return None  # the name says that they are of goods
    if told is None and not places and meaning.kind != "code" and not _are_spans(texts):
        shared = meaning.role == "quasi" and details.look().is_shared()
        told = _CODES if are_of_things(texts, shared=shared) else None
    return told or (None if looks_like_groups(texts) else _tell_together(details, places))


def _may_log_in(texts: Sequence[str]) -> bool:
    """Whether texts are initials or users, or words in small letters as some logins are."""
    small = all(one.isalpha() and one.isascii() and one.islower() for one in texts)
    return len(texts) > _TWO and (small or are_initials(texts) or are_users(texts))


def _cannot_be(details: ColumnDetails, meaning: Meaning) -> bool:
    """Whether whole numbers lie beyond what is possible, or are longer than numbers of groups."""
    least = details.extremes[0] if details.extremes else 0
    if meaning.kind == "number":
        staff = least > _LAST_YEAR and of_staff(details.profile.name, details.sample)
        return (least >= _BEYOND or bool(staff)) and meaning.role == "quasi"
    figures = share_of(details.sample, _RECORDED.fullmatch)
    alone = meaning.kind == "geography" and details.look().share > TELLING
    return (meaning.kind == "nominal" or alone) and figures > ALONE / 2


def _tell_together(details: ColumnDetails, places: bool) -> str | None:
    """What most texts of a column are by their make, where these are no words of groups."""
    texts = details.sample
    if looks_like_addresses(texts) and not details.look().is_shared():
        return "addresses"  # a model of a device, which many share, has a word and a number, too
    listed = looks_like_full_names(texts) and has_names(details.look(), _LISTED)
    return PERSONS if not places and (holds_initials(texts) or listed) else None


def _free_text(details: ColumnDetails) -> ColumnProposal | None:
    profile = details.profile
    if profile.type == "text" and _are_sentences(details):
        return ColumnProposal(details, "drop", "text", "free text, which may name anybody")
    few, shared = 2 * profile.missing > details.rows, details.look().is_shared()
    filled = details.rows - profile.missing
    few = few and not (shared and profile.distinct * FEW_PERSONS <= filled)  # answers of a list
    remarks = few and details.words >= (_SAID if shared else _REMARK)
    remarks = remarks or (details.words >= _STORY and profile.missing > 0)
    if profile.type == "text" and remarks and not details.date_formats:
        why = "several words in few of the rows, as remarks are"
        question = "may its remarks tell of anybody? If they are names of groups, give it a role"
        return ColumnProposal(details, "drop", "text", why, question=question)
    structured = share_of(details.sample, lambda text: text[:1] in "{[<" and len(text) > _LONG)
    if profile.type != "text" or structured <= ALONE:
        return None
    return ColumnProposal(details, "drop", "text", "documents in cells: they may hold anything")


def _are_sentences(details: ColumnDetails) -> bool:
    """Whether texts of several words are many, and not labels that twenty rows and more share."""
    written = details.words >= _SENTENCE and details.profile.distinct > FEW_PERSONS
    return written and not details.look().is_shared(details.rows // 2)


def _alone(
    details: ColumnDetails, look: ColumnLook, meaning: Meaning | None
) -> ColumnProposal | None:
    """A column of which nearly each row has its own value, or that a program made."""
    profile, many = details.profile, details.profile.distinct > FEW_PERSONS
    if details.machine_made:
        why = "a program made its values, to tell something apart"
        return ColumnProposal(details, "identifier", "code", why)
    counted = look.is_counted_up and many and profile.distinct > _RUNNING
    years = _are_years(details) and details.rows > _ROWS_OF_A_YEAR * profile.distinct
    if (counted or are_given_once(look)) and not years:
        return ColumnProposal(details, "identifier", "code", _GIVEN)
    one_each = many and look.share > ALONE
    things = one_each and are_of_things(details.sample, shared=False)
    vague = {"nominal", "ordinal"} | ({"code"} if things else set())
    measured = profile.type == "decimal" and not details.whole
    told = meaning is not None and (
        meaning.kind not in vague or (measured and meaning.role == "sensitive")
    )
    told = told and meaning != meaning_of("firmware")  # a state of a device that repeats
    if meaning is not None and told and not _is_no_amount(details, meaning):
        return None
    grouped = profile.type == "decimal" and meaning is not None and meaning.kind in vague
    grouped = grouped or (profile.type == "decimal" and fits(_NUMBERED, words_of(look.name)[-1:]))
    grouped = grouped and not _are_measured(look)
    if (profile.type == "text" or grouped) and one_each and not _are_bands(details):
        return ColumnProposal(details, "identifier", "text", "nearly every row has its own")
    numbered = look.is_numbered and (look.is_counted_up or not have_thin_ends(look.filled))
    numbered = numbered or run_without_gaps(look, listed=details.listed)
    numbered = numbered and not years
    return ColumnProposal(details, "identifier", "code", _GIVEN) if numbered else None


def _are_measured(look: ColumnLook) -> bool:
    """Whether decimals are amounts or measures: few are whole, and they thin out at their ends."""
    parted = share_of(look.filled, lambda text: not text.endswith((".0", ".00")))
    return parted > ALONE and have_thin_ends([text.split(".")[0] for text in look.filled])


def _in_blocks(details: ColumnDetails, meaning: Meaning | None) -> ColumnProposal | None:
    """A column of whole numbers that tell households apart by how their rows stand."""
    if meaning is not None or not _stand_in_blocks(details) or are_drawn_sparsely(details.look()):
        return None
    why = "equal whole numbers stand together, as those of households do"
    asked = "does it tell households apart? Then name it in household; else give it a role"
    return ColumnProposal(details, "drop", "code", why, question=asked)


def _stand_in_blocks(details: ColumnDetails) -> bool:
    """Whether the rows of many whole numbers stand together, each few, as in no measure."""
    profile = details.profile
    several = profile.distinct > _RUNNING
    few = profile.distinct * _ROWS_OF_A_BLOCK <= details.rows <= _BLOCK * profile.distinct
    return details.in_blocks and several and few and not details.look().is_dated


def _guessed(details: ColumnDetails, kind: Kind, persons: int | None) -> ColumnProposal:
    """A column that neither its name nor its values tell: how its values are spread decides."""
    look = details.look()
    if are_diagnoses(details.sample, details.lists):
        return ColumnProposal(details, "sensitive", "code", "codes of diseases, by their values")
    shared, bands = look.is_shared(persons), _are_bands(details)
    if (details.profile.type == "integer" or details.whole) and are_drawn_sparsely(look):
        return ColumnProposal(details, "identifier", "code", LABELS, guessed=True)
    if may_single_out(look, shared=shared, bands=bands):
        why = "not understood, and its values may tell rows apart"
        asked = "what does it hold? Nothing was understood of it: give it a role, or leave it"
        return ColumnProposal(details, "drop", kind, why, question=asked, guessed=True)
    if may_be := of_staff(details.profile.name, details.sample) or _may_tell(
        details, shared=shared
    ):
        return unclear(details, kind, may_be)
    if shared:
        years = _are_years(details)
        why = "years, which others may know" if years else _BY_DEFAULT
        return ColumnProposal(details, "quasi", kind, why, guessed=not years)
    asked = "may others know it of a person? If nobody should learn it, it is sensitive"
    return ColumnProposal(details, "quasi", kind, _UNKNOWN, question=asked, guessed=True)


def _may_tell(details: ColumnDetails, *, shared: bool) -> str | None:
    """What texts may be by their make; None where they look like nothing that tells persons.

    Texts that many persons share are names of groups unless something speaks for persons.
    """
    texts, distinct = details.sample, details.profile.distinct
    several = details.profile.type == "text" and distinct >= _TWO and not details.bands
    if not several or are_versions(texts) or _are_spans(texts):
        return None
    if told := told_within(texts):
        return told
    listed = are_listed(texts, details.lists)
    if not (listed or _are_bands(details)) and are_of_things(texts, shared=shared, unnamed=True):
        return _CODES
    if are_homes(texts):
        return "addresses"
    known = are_answers(texts) or listed or looks_like_places(texts) or looks_like_amounts(texts)
    if known and not holds_initials(texts):
        return None
    may_be = {
        PERSONS: holds_initials(texts) or may_be_names(texts, shared=shared),
        "initials of persons": are_initials(texts) or hold_pointed_initials(texts),
        "addresses": looks_like_addresses(texts),
        "remarks about persons": are_remarks(texts, shared=shared),
    }
    return next((what for what, holds in may_be.items() if holds), None)


def _are_bands(details: ColumnDetails) -> bool:
    """Whether texts are amounts or bands of them beside words: "unter 1000 EUR"."""
    if details.profile.type != "text":
        return False
    return looks_like_bands(details.sample, ALONE / 2) or looks_censored(details.sample)


def _kind(details: ColumnDetails, meaning: Meaning | None) -> Kind:
    meant = meaning.kind if meaning else None
    if details.profile.type in {"date", "datetime", "time"} or details.date_formats:
        return "date"
    if details.profile.type == "integer" or details.whole:
        health = meaning is not None and meaning.reason.startswith("health")
        counted = health and details.profile.distinct > _GROUPS
        return _kind_of_digits(details, "number" if counted else meant)
    if details.profile.type == "decimal":  # 250.83 may be a code whose dot looks like a fraction's
        return "code" if meant == "code" else "number"
    return _kind_of_texts(details, meant)


def _kind_of_digits(details: ColumnDetails, meant: Kind | None) -> Kind:
    if _flag(details):
        return "nominal"
    if meant not in {None, "text"}:
        return meant
    many = details.profile.distinct > _GROUPS or details.falling or _are_years(details)
    return "number" if many else "nominal"


def _kind_of_texts(details: ColumnDetails, meant: Kind | None) -> Kind:
    if details.bands:
        return "ordinal"
    if _are_sentences(details):
        return "text"
    return meant if meant in {"code", "geography"} else "nominal"


def _flag(details: ColumnDetails) -> bool:
    """Whether a column of whole numbers says yes or no."""
    return details.profile.distinct <= 2 and details.extremes in {(0, 1), (1, 2)}


def _bounds_of(details: ColumnDetails, meaning: Meaning) -> tuple[Decimal, Decimal] | None:
    """What is publicly possible, where no value says otherwise."""
    if meaning.bounds is None or details.extremes is None or meaning.kind != "number":
        return None
    (low, high), (least, most) = meaning.bounds, details.extremes
    return meaning.bounds if float(low) <= least and most <= float(high) else None


def _code_list(found: ColumnProposal, called: str) -> CodeList | None:
    """The public list that a column's values are from: the one that misses the fewest."""
    details = found.details
    if found.role != "quasi" and found.kind != "code":
        return None
    words = set(words_of(called))
    likely = {
        name: missed
        for name, missed in details.lists.items()
        if words & set(words_told(name))
        or (name == "nuts" and not missed and details.profile.distinct > 4)
    }
    if not likely or found.kind not in {"code", "geography", "nominal"}:
        return None
    name = min(likely, key=lambda each: likely[each])
    return CodeList(name, "group" if likely[name] else "refuse")
