"""Texts of a known form: postcodes of a few houses, and days as other calendars write them.

Postcodes: only their first parts are ever published
----------------------------------------------------
    system  a whole one    district      area     sources
    uk      SW1A 1AA       SW1A *        SW *     Royal Mail, Programmers' guide to the PAF
    nl      1017 AB        1017 *        10 *     PostNL: four figures and two letters
    ca      K1A 0B1        K1A *         K *      Canada Post: forward sortation area

A whole postcode has about 15 households in the United Kingdom and 20 in the Netherlands, as fine as
an address.  So the lowest level shows the district, whatever k is, then the area, then ``*``.  A
text that is no such postcode is grouped with all others that are none.

Days that no format reads: the year as it is written, then its decade
---------------------------------------------------------------------
    year     a day                                          year      decade
    first    1369/05/12, 2024.01.02. 07:06, 102/05/22       1369      1360 to 1369
    last     23/05/1390 AH, 31 Enero 1990                   1390      1390 to 1399
    era      R5.5.17, S8.7.16                               R5        R

Whatever the calendar (Hijri, Jalali, Ethiopian, Buddhist, of the Republic, of Japan's eras) and
whatever the language of months, a year is the number at one end of a day.  Years are not counted
from one calendar to another: a column of two calendars has the years of both.  A text in which no
year stands is grouped with all others that have none.

The public domain is not counted, so shares are a convention, as of prefixes: each character that is
kept stands for ten possibilities, and a year for one of a hundred.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import ClassVar, Literal, get_args

import numpy as np

from voile.schema.hierarchy.generalized import (
    EVERYTHING,
    SMALLEST_SHARE,
    BoundHierarchy,
    DistinctValues,
    Level,
)
from voile_base.ondemand import dataclass, pattern_on_demand

__all__ = [
    "PostcodeSystem",
    "Postcodes",
    "WrittenDays",
    "YearAt",
    "system_of",
    "year_of",
]

PostcodeSystem = Literal["uk", "nl", "ca"]
_SYSTEMS: tuple[PostcodeSystem, ...] = get_args(PostcodeSystem)

_FORMS: Mapping[PostcodeSystem, re.Pattern[str]] = {
    "uk": pattern_on_demand(r"(?P<district>(?P<area>[A-Z]{1,2})\d[A-Z\d]?) ?\d[A-Z]{2}"),
    "nl": pattern_on_demand(r"(?P<district>(?P<area>[1-9]\d)\d{2}) ?[A-Z]{2}"),
    "ca": pattern_on_demand(r"(?P<district>(?P<area>[A-CEGHJ-NPR-TVXY])\d[A-Z])[ -]?\d[A-Z]\d"),
}
_NONE = "other"
"""What texts that have no such form show."""

YearAt = Literal["first", "last", "era"]
"""Where the year of a day stands: behind an era, it has one or two figures."""

_YEARS: Mapping[YearAt, re.Pattern[str]] = {
    "first": pattern_on_demand(r"[^\W\d_]*(?P<year>\d{2,4})(?=\D).*"),
    "last": pattern_on_demand(r".*(?<=\D)(?P<year>\d{4})\D*"),
    "era": pattern_on_demand(r"(?P<era>[^\W\d_]+)\W?(?P<year>\d{1,3})(?=\D).*"),
}
_OTHER_END: Mapping[YearAt, re.Pattern[str]] = {
    "first": pattern_on_demand(r"(?:\d{1,2}\D.*(?<=\D))?(?P<year>\d{4})\D*"),
    "last": pattern_on_demand(r"[^\W\d_]*(?P<year>\d{4})(?:(?=\D).*)?"),
}
"""Of a day that is written the other way round than most of its column, or is a year alone."""
_WHOLE_YEAR = 4
_MOST, _MOSTLY, _NEARLY = 0.75, 0.9, 0.95
_YEAR_ALONE = pattern_on_demand(r"\d{4}")
_SHORT = pattern_on_demand(r"\d{1,2}(?P<mark>[-./])\d{1,2}(?P=mark)\d{2}")
_LAST_DAY, _SPAN, _ERAS = 31, 220, 6
_FIGURES = pattern_on_demand(r"\d+")
_OF_A_CLOCK = 60
_OF_A_YEAR, _OF_A_DECADE, _OF_AN_ERA = 0.01, 0.1, 0.25


@dataclass(frozen=True)
class Postcodes:
    """District, area, everything."""

    key: ClassVar = "postcode"
    said: PostcodeSystem
    """Whose postcodes they are."""

    def bind(
        self, column: str, values: DistinctValues, bounds: tuple[Decimal, Decimal] | None = None
    ) -> BoundHierarchy:
        """The hierarchy of the d distinct texts of a column; ``bounds`` are of no use here.

        Raises ``PlanError`` for a column that does not hold texts.
        """
        texts = values.present_texts(column, "postcodes are texts")
        levels = [self._level(texts, part) for part in ("district", "area")]
        return BoundHierarchy.of_levels(
            column, values, [*levels, Level.everything(len(texts))], SMALLEST_SHARE
        )

    def reads(self, text: str) -> bool:
        """Whether a text is a whole postcode of the system."""
        return _FORMS[self.said].fullmatch(text.strip().upper()) is not None

    def _level(self, texts: Sequence[str], part: str) -> Level:
        found = [_FORMS[self.said].fullmatch(text.strip().upper()) for text in texts]
        kept = [one[part] if one else "" for one in found]
        labels = [f"{one} {EVERYTHING}" if one else _NONE for one in kept]
        return Level.labelled(labels, np.power(10.0, [-float(len(one)) for one in kept]))


@dataclass(frozen=True)
class WrittenDays:
    """The day as it is written, its year, its decade or era, everything."""

    key: ClassVar = "year"
    said: YearAt
    """Where the year stands."""

    def bind(
        self, column: str, values: DistinctValues, bounds: tuple[Decimal, Decimal] | None = None
    ) -> BoundHierarchy:
        """The hierarchy of the d distinct texts of a column; ``bounds`` are of no use here.

        Raises ``PlanError`` for a column that does not hold texts.
        """
        texts = values.present_texts(column, "days are read as texts where year is declared")
        found = [self.parts(text) for text in texts]
        labels = [
            (f"{era}{year}", _decade(era, year)) if year else (_NONE,) * 2 for era, year in found
        ]
        wide = _OF_AN_ERA if self.said == "era" else _OF_A_DECADE
        levels = [
            Level.as_they_are(len(texts), SMALLEST_SHARE),
            Level.labelled([one for one, _ in labels], np.full(len(texts), _OF_A_YEAR)),
            Level.labelled([one for _, one in labels], np.full(len(texts), wide)),
            Level.everything(len(texts)),
        ]
        return BoundHierarchy.of_levels(column, values, levels, SMALLEST_SHARE)

    def parts(self, text: str) -> tuple[str, str]:
        """The era and the year in a text, which are empty where it has none.

        A year of four figures that stands at the other end alone is the year: days are written in
        two ways in tables that people keep.
        """
        found = _YEARS[self.said].fullmatch(text.strip())
        if self.said != "era" and (found is None or len(found["year"]) < _WHOLE_YEAR):
            found = _OTHER_END[self.said].fullmatch(text.strip()) or found
        return ("", "") if found is None else (found.groupdict().get("era", ""), found["year"])


def system_of(texts: Sequence[str]) -> PostcodeSystem | None:
    """Whose whole postcodes nearly all texts are; None where that is not known."""
    read = {one: sum(map(Postcodes(one).reads, texts)) for one in _SYSTEMS}
    best = max(_SYSTEMS, key=lambda system: read[system])
    return best if read[best] > _MOSTLY * len(texts) else None


def year_of(texts: Sequence[str]) -> YearAt | None:
    """Where the year stands in nearly all of some days; None where that is not clear.

    In most is enough where the others have two figures for it, which show none: "06/11/05"; or are
    years alone.
    At an end where numbers lie that are no days of a month, within a life of each other and a
    century more; or behind one of a few eras.  What else stands there are days, months and clocks,
    and not the number of a case, as in 2023/12/4567.
    """
    ends: tuple[YearAt, ...] = ("first", "last")
    for at in ends:
        found = [(WrittenDays(at).parts(text)[1], text) for text in texts]
        years = [int(year) for year, text in found if year and _is_day_beside(year, text)]
        own = sum(_ends_so(at, year, text) for year, text in found)
        few = len(years) <= _NEARLY * len(texts) or 2 * own < len(texts)
        if not few and min(years) > _LAST_DAY and max(years) - min(years) <= _SPAN:
            return at
    if _have_whole_years(texts):
        return "last"
    told = [(*WrittenDays("era").parts(text), text) for text in texts]
    eras = [era for era, year, text in told if era and _is_day_beside(year, text)]
    return "era" if len(eras) > _NEARLY * len(texts) and len(set(eras)) <= _ERAS else None


def _have_whole_years(texts: Sequence[str]) -> bool:
    """Whether most days have a year of four figures, and the others one of two, or nothing else."""
    found = [(WrittenDays("last").parts(text)[1], text) for text in texts]
    years = [int(year) for year, text in found if year and _is_day_beside(year, text)]
    alone = [int(text) for text in texts if _YEAR_ALONE.fullmatch(text.strip())]
    short = sum(_SHORT.fullmatch(text.strip()) is not None for text in texts)
    dated = len(years) >= _MOST * len(texts)
    told = len(years) + len(alone) + short > _NEARLY * len(texts)
    years += alone
    return dated and told and max(years) - min(years) <= _SPAN


def _ends_so(at: YearAt, year: str, text: str) -> bool:
    """Whether a year stands at an end of a text itself, and not at the other."""
    found = _YEARS[at].fullmatch(text.strip())
    return found is not None and found["year"] == year


def _is_day_beside(year: str, text: str) -> bool:
    """Whether the other numbers of a text may be a day, a month and a clock, one at least."""
    numbers = _FIGURES.findall(text)
    numbers.remove(year)
    return bool(numbers) and all(int(one) < _OF_A_CLOCK for one in numbers)


def _decade(era: str, year: str) -> str:
    if era:
        return era
    first = int(year) // 10 * 10
    return f"{first} to {first + 9}"
