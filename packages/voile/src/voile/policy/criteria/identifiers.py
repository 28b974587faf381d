"""Categories that must be absent: HIPAA's eighteen, as a checklist of columns and formats.

Source: 45 CFR 164.514(b)(2)(i), (A) to (R); for zip codes and ages the guidance of the Office for
Civil Rights on it (26 November 2012), with the seventeen prefixes of fewer than 20,000 people by
the census of 2000.  What is looked for in each category, by the names of columns and in their
cells, is what the recognisers know of its letter (``voile.recognisers``), the same that plans and
publishers ask; ``identifiers.toml`` says what a machine cannot look for.  Besides:

    zip      codes of more than three digits under the name of a zip code, or restricted prefixes
    dates    cells that are days, months or times; more than one value of an age above 89, or of a
             year of birth that makes somebody older than that in the year of the look
    unique   names of ids (``schema.names.named``); whole numbers or texts of which each row shows
             another, unless they are amounts by name and size; texts, and numbers that are
             counted up, of which nearly each row does

What is found is told by category and column, and no cell is quoted.

Roles: which columns outsiders know is what a plan says, and groups, attacks and risks follow it.  A
column that outsiders commonly know, by its name or its cells, and that is published as anything but
a quasi-identifier, is not assessed by any of them, so that the criterion is not met unless a person
waives it by name and reason.  Rows made up of noisy counts, and those counts, are as safe whatever
columns are called.

Cost: a look at each distinct cell of a column and format.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from datetime import UTC, datetime
from functools import cache, cached_property
from importlib.resources import files
from itertools import filterfalse
from typing import Literal, get_args

from voile.audit.record import RE_IDENTIFICATION, AuditRecord
from voile.audit.scenarios import holds_fact, who_may_know
from voile.audit.spellings import ANYTHING, ends_of
from voile.policy.case import Case
from voile.policy.criteria import PolicyCriterion
from voile.policy.ruling import MeasuredFigure, Ruling, Tick
from voile.recognisers.recognition import ListedRecogniser, listed_recognisers
from voile.recognisers.values import (
    NAMES_OF_BIRTHS,
    NAMES_OF_TIMES,
    SAMPLED,
    ColumnLook,
    is_day,
    words_as_meant,
)
from voile.release.claims import PrivacyClaim
from voile.release.method_claims import DifferentialPrivacy
from voile.schema.hierarchy.forms import year_of
from voile.schema.names import fits, meaning_of, named
from voile.schema.persons import TELLING
from voile.table.published import GROUP, PublishedTable
from voile_base.errors import TableError
from voile_base.ondemand import dataclass, pattern_on_demand

__all__ = ["DeclaredRoles", "Identifiers", "Letter", "categories", "doubt_of_roles"]

Letter = Literal[
    "A", "B", "C", "D", "E", "F", "G", "H", "I", "J", "K", "L", "M", "N", "O", "P", "Q", "R"
]

_RESTRICTED = frozenset(
    {"036", "059", "063", "102", "203", "556", "692", "790", "821"}
    | {"823", "830", "831", "878", "879", "884", "890", "893"}
)
_ZIP = ("zip*", "postal", "postcode", "plz")
_AGE = ("age", "agep", "ages", "alter")
_OLDEST = 89
_CALENDAR_BEGINS = 1800
"""The year after which a number is taken for one of a birth."""
_CALENDAR = frozenset({"date", "datetime", "time"})
_YEARS_SHOWN = pattern_on_demand(r"other|\D{0,6}\d{1,4}(?: to \d{1,4})?\D{0,3}|[^\W\d_]{1,4}")
"""What a hierarchy of written days shows above them."""
_FEWEST = 20
"""Rows from which on it tells something that each shows another value."""
_NEARLY = 0.9
"""The share of rows with another value, from which on texts and codes are nearly unique."""
_SECONDS = ((5e8, 4e9), (5e11, 4e12))
"""Since 1970: from 1985 to 2096, in seconds and in milliseconds."""
_NAMES = 20
"""Names of columns that are told beside a verdict."""
_LETTERS = 3
"""Letters of a word that says of numbers what they are."""
_WORDY = 6
"""Words of a cell, on average, from which on a column holds free text."""


@dataclass(frozen=True)
class _Category:
    """One of the eighteen, and how it is looked for."""

    letter: Letter
    name: str
    beyond: str
    special: str = ""

    @property
    def looked_for(self) -> tuple[ListedRecogniser, ...]:
        """The recognisers of its letter, without those that depend on other columns."""
        found = (one for one in listed_recognisers() if one.letter == self.letter)
        return tuple(one for one in found if one.group != "movement")

    def has_name(self, words: Sequence[str]) -> bool:
        """Whether the name of a column is that of it, whatever the column shows.

        The name of a site, of a school or of a town is no person's: its cells tell.
        """
        if any(fits(one.columns, words) for one in self.looked_for):
            return True
        of_a_thing = self.letter == "A" and _names_a_thing(words)
        return not of_a_thing and any(fits(one.regulated, words) for one in self.looked_for)


@cache
def categories() -> tuple[_Category, ...]:
    """All eighteen."""
    text = files("voile.policy.criteria").joinpath("identifiers.toml").read_text("utf-8")
    return tuple(
        _Category(
            said["letter"],
            said["name"],
            said["beyond"],
            said.get("special", ""),
        )
        for said in tomllib.loads(text)["category"]
    )


def _names_a_thing(words: Sequence[str]) -> bool:
    """Whether a name is that of a place or of a group, and of nobody in it."""
    rest = tuple(word for word in words if word != "name")
    if not rest or fits(_perhaps_of_persons(), rest) or named(" ".join((*rest, "name"))):
        return False
    meaning = meaning_of(" ".join(rest), kinds=frozenset({"nominal", "geography"}))
    return meaning is not None and meaning.role == "quasi"


@cache
def _perhaps_of_persons() -> tuple[str, ...]:
    """Words under which persons may stand: an owner, a teacher."""
    return tuple(word for one in listed_recognisers() if one.letter == "A" for word in one.perhaps)


class Identifiers(PolicyCriterion):
    """None of these categories is found in what is published."""

    kind: Literal["identifiers"] = "identifiers"
    absent: tuple[Letter, ...] = get_args(Letter)
    """Letters of 45 CFR 164.514(b)(2)(i); by default all eighteen."""

    def rulings(self, case: Case, ticks: tuple[Tick, ...]) -> Iterator[Ruling]:
        """One for each category."""
        del ticks
        cells = [_Cells.of(case.rows.table, name) for name in case.rows.table.columns]
        anew = [one.name for one in cells if one.name in case.rows.numbered and one.runs_from_one]
        columns = [one for one in cells if one.name not in anew]
        wordy = [column.name for column in columns if column.is_wordy]
        for category in categories():
            if category.letter not in self.absent:
                continue
            asks = f"({category.letter}) no {category.name}"
            found = {column.stem: why for column in columns for why in _found(category, column)}
            notes = [f"looked for: {_looked_for(category)}"]
            notes += [f"not looked for: {category.beyond}"] * bool(category.beyond)
            if category.special == "unique" and anew:
                of = "numbers that the release counts itself, as 164.514(c) allows"
                notes.append(f"{of}: {', '.join(anew)}")
            if category.special == "unique" and (amounts := _distinct_amounts(columns)):
                notes.append(amounts)
            if wordy and category.letter in "ABC":
                notes.append(f"free text, to be read by a human: {', '.join(wordy)}")
            why = "; ".join(found.values()) or f"not found in {len(columns)} columns"
            finding = MeasuredFigure.exactly(len(found), why, *notes, columns=tuple(found))
            yield Ruling.at_most(self.kind, asks, finding, 0)


Fact = Literal["age", "sex", "place", "dates", "occupation"]
_FACTS: Mapping[str, str] = {
    "age": "an age or a birth",
    "sex": "the sex",
    "place": "a place",
    "dates": "dates",
    "occupation": "an occupation",
}
_PLACES = "B"
"""The letter of the rule under which recognisers look for places."""
_CALLED = {"sensitive": "sensitive", "keep": "kept as it is"}


class DeclaredRoles(PolicyCriterion):
    """What outsiders commonly know is published as quasi-identifiers, and as nothing else."""

    kind: Literal["roles"] = "roles"
    known: tuple[Fact, ...] = get_args(Fact)
    """What they know; by default all of these."""

    def rulings(self, case: Case, ticks: tuple[Tick, ...]) -> Iterator[Ruling]:
        """One for each column that is published as something else; one that there is none."""
        del ticks
        shown = {} if _whatever_roles(case) else _columns_shown(case)
        found = {name: fact for name, of in shown.items() if (fact := self._fact(case, name, of))}
        for name, fact in found.items():
            yield Ruling(
                self.kind,
                f"column {name!r}, which holds {fact}, is a quasi-identifier",
                passed=False,
                why=f"the plan calls it {_called(case, shown[name])}, so that nothing assesses "
                "what those learn who know it",
                limit=0,
                side="most",
                of_original=False,
                columns=(name,),
            )
        if not found:
            asks = "columns that outsiders commonly know are quasi-identifiers"
            facts = ", ".join(_FACTS[one] for one in self.known)
            why = f"by its name or its cells none of {len(shown)} other columns holds {facts}"
            if doubt := doubt_of_roles(case):
                why += f"; {doubt}"
            yield Ruling(self.kind, asks, passed=True, why=why, of_original=False)

    def _fact(self, case: Case, name: str, of: Sequence[str]) -> str | None:
        """What a column holds that outsiders know; None where that is nothing."""
        for fact in self.known:
            if holds_fact(name, fact):
                return _FACTS[fact]
        cells = [_Cells.of(case.rows.table, each) for each in of if each in case.rows.table.columns]
        if "dates" in self.known and any(one.is_time for one in cells):
            return _FACTS["dates"]
        places = [one for one in listed_recognisers() if one.letter == _PLACES]
        known = any(place.recognise(one.look) for one in cells for place in places)
        return _FACTS["place"] if "place" in self.known and known else None


def doubt_of_roles(case: Case) -> str:
    """What speaks against it that all that others know is in quasi-identifiers; empty: nothing."""
    who = "" if _whatever_roles(case) else who_may_know([*_columns_shown(case)])
    if not who or case.record is None:
        return who
    rates = [
        one["main"]["value"] or 0.0
        for one in case.risks
        if one["risk"] == RE_IDENTIFICATION and not one["of"].startswith("whoever ")
    ]
    found = (
        f"of those the best picks a person's row with a probability of {max(rates):.1%} on average"
        if rates
        else "voile study --risks counts how surely they find a person's row"
    )
    return f"{who}: {found}"


def _whatever_roles(case: Case) -> bool:
    """Whether all that is published is differentially private, whatever roles columns have."""
    private = [one for one in case.claims if isinstance(one, PrivacyClaim)]
    return any(not isinstance(one, DifferentialPrivacy) for one in private)


def _columns_shown(case: Case) -> Mapping[str, Sequence[str]]:
    """The columns that are published and no quasi-identifiers, with what shows each."""
    if isinstance(case.record, AuditRecord):
        every = {one["name"]: tuple(one["of"]) for one in case.record.columns}
    elif case.release is not None:
        disclosure = case.release.disclosure
        every = {name: disclosure.columns_of(name) for name in disclosure.columns}
    else:
        every = {}
    roles = case.rows.roles
    open_ = {name for role, names in roles.items() if role not in _CALLED for name in names}
    return {name: of for name, of in every.items() if of and not open_ & set(of)}


def _called(case: Case, of: Sequence[str]) -> str:
    """What the plan calls a column."""
    roles = case.rows.roles
    found = (said for role, said in _CALLED.items() if set(of) & set(roles.get(role, ())))
    return next(found, "nothing")


def _looked_for(category: _Category) -> str:
    found = category.looked_for
    names = [name for one in found for name in (*one.columns, *one.regulated)]
    formats = sum(len(one.formats) for one in found)
    told = ", ".join(names[:_NAMES]) + f" and {len(names) - _NAMES} more" * (len(names) > _NAMES)
    parts = [f"columns named {told}"] * bool(names)
    parts += [f"{formats} formats within cells"] * bool(formats)
    parts += [_SPECIAL[category.special]] if category.special else []
    return "; ".join(parts)


_SPECIAL = {
    "zip": "zip codes of more than three digits, or of areas of few people",
    "dates": "columns of dates and times, ages above 89, years of birth that tell them",
    "unique": "columns named as ids, and codes of which nearly each row shows another",
}


def _ends_of(texts: Sequence[str]) -> tuple[float, float] | None:
    """The least and the greatest of some numbers; None where one is none."""
    try:
        numbers = [float(text) for text in texts]
    except ValueError:
        return None
    return min(numbers), max(numbers)


@dataclass(frozen=True)
class _Cells:
    """The distinct cells of a published column."""

    name: str
    kind: str
    texts: Sequence[str]
    """Without those that stand for anything."""
    rows: int = 0
    distinct: int = 0
    words: tuple[str, ...] = field(default=())

    @classmethod
    def of(cls, table: PublishedTable, name: str) -> _Cells:
        kind = table.kinds()[name]
        try:
            shown = table.cells([], name) if table.rows else None
        except TableError:
            shown = None  # NaN or an infinity: numbers, and none of the eighteen by its cells
        texts = [] if shown is None else [text for text in shown.values.texts if text is not None]
        told = [text for text in texts if text.strip().lower() not in ANYTHING]
        stem = _stem(name)
        ends = None if kind == "text" or not told else _ends_of(told)
        return cls(name, kind, told, table.rows, len(texts), words_as_meant(stem, ends))

    @property
    def stem(self) -> str:
        """The column of the table that it shows."""
        return _stem(self.name)

    @cached_property
    def look(self) -> ColumnLook:
        """What recognisers see of it."""
        texts = self.members
        return ColumnLook(
            self.name, self.kind, self.rows, len(texts), texts[:: 1 + len(texts) // SAMPLED]
        )

    @cached_property
    def members(self) -> Sequence[str]:
        """The cells, and of those that show a set of values its members."""
        if self.kind != "text" or not any("|" in text for text in self.texts):
            return self.texts
        return tuple(dict.fromkeys(one for text in self.texts for one in text.split("|") if one))

    @cached_property
    def counts_seconds(self) -> bool:
        """Whether whole numbers are seconds or milliseconds of this age, which are times."""
        if self.kind != "integer" or not fits(NAMES_OF_TIMES, self.words):
            return False
        numbers = [int(text) for text in self.texts]
        return any(least <= min(numbers) and max(numbers) < most for least, most in _SECONDS)

    @property
    def is_time(self) -> bool:
        """Whether it holds days or times, in whatever calendar or language they are written."""
        return self.kind in _CALENDAR or self.counts_seconds or self.has_written_days

    @cached_property
    def has_written_days(self) -> bool:
        """Whether texts are days, or days among years and decades."""
        if self.kind != "text":
            return False
        days = list(filter(is_day, self.members))
        others = filterfalse(is_day, self.members)
        mostly = 2 * len(days) > len(self.members)
        return year_of(days) is not None and (mostly or all(map(_YEARS_SHOWN.fullmatch, others)))

    @cached_property
    def is_wordy(self) -> bool:
        """Whether it holds free text."""
        counts = [len(text.split()) for text in self.texts]
        return self.kind == "text" and bool(counts) and sum(counts) >= _WORDY * len(counts)

    @cached_property
    def is_amount(self) -> bool:
        """Whether whole numbers are amounts or measures, and no numbers of records.

        Their name says so, they are of several lengths, and they are not counted up.
        """
        if self.kind != "integer" or not self.texts or self.is_counted_up:
            return False
        meant = meaning_of(" ".join(self.words), _LETTERS)
        numbers = [int(text) for text in self.texts]
        lengths = {len(str(abs(end))) for end in (min(numbers), max(numbers))}
        return meant is not None and meant.kind == "number" and len(lengths) > 1

    @cached_property
    def runs_from_one(self) -> bool:
        """Whether whole numbers are all from 1 to as many as they are."""
        if self.kind != "integer" or not self.texts:
            return False
        return {int(text) for text in self.texts} == set(range(1, len(self.texts) + 1))

    @property
    def is_counted_up(self) -> bool:
        """Whether whole numbers leave few out between the least and the largest, as codes do."""
        numbers = [int(text) for text in self.texts]
        return max(numbers) - min(numbers) < 2 * len(numbers)


def _stem(name: str) -> str:
    return name.removesuffix(".low").removesuffix(".high").removesuffix(".interval")


def _distinct_amounts(columns: Sequence[_Cells]) -> str | None:
    """A note that names amounts of which nearly each row shows its own."""
    names = [
        one.name
        for one in columns
        if one.rows >= _FEWEST and one.distinct >= _NEARLY * one.rows and one.is_amount
    ]
    if not names:
        return None
    return f"amounts by name and size, and no numbers of records: {', '.join(names)}"


def _found(category: _Category, column: _Cells) -> Iterator[str]:
    """What of a category a column shows, a clause each; one at most."""
    if column.name == GROUP or not column.texts:
        return
    if category.letter == "A" and column.look.is_flag():
        return  # "Bolsa Família": yes, no
    if category.has_name(column.words):
        yield f"column {column.name!r} has the name of it"
        return
    if any(one.recognise(column.look) for one in category.looked_for):
        yield f"column {column.name!r} looks like it by its cells"
        return
    looks = {"zip": _zips, "dates": _dates, "unique": _unique}
    if category.special and (why := looks[category.special](column)):
        yield f"column {column.name!r} {why}"
        return
    if column.kind == "text":
        found = category.looked_for
        matches = sum(any(one.finds(text) for one in found) for text in column.texts)
        if matches:
            yield f"column {column.name!r} has the format of it in {matches:,} different cells"


def _zips(column: _Cells) -> str | None:
    if not fits(_ZIP, column.words):
        return None
    digits = [re.match(r"\d*", text.strip())[0] for text in column.texts]  # type: ignore[index]
    if any(len(one) > 3 for one in digits):
        return "shows more than the first three digits of zip codes"
    if any(one in _RESTRICTED for one in digits):
        return "shows the first three digits of zip codes of areas with fewer than 20,000 people"
    return None


def _dates(column: _Cells) -> str | None:
    if column.is_time:
        return "holds dates or times, of which the year alone may be shown"
    read = (ends_of(text, whole=True) for text in column.texts)
    spans = {ends for ends in read if ends is not None}
    if fits(_AGE, column.words) and sum(ends.high > _OLDEST for ends in spans) > 1:
        return "tells ages above 89 apart"
    if fits(NAMES_OF_BIRTHS, column.words):
        youngest = datetime.now(UTC).year - _OLDEST - 1
        if sum(_CALENDAR_BEGINS < ends.high <= youngest for ends in spans) > 1:
            return f"tells years of birth before {youngest + 1} apart, which are of ages above 89"
    return None


def _unique(column: _Cells) -> str | None:
    who = named(" ".join(column.words))
    if who in {"person", "household"}:
        return f"has the name of an id of {who}s"
    if who and column.words != ("name",) and len(column.members) > TELLING * column.rows:
        return "has the name of an id, and shows few rows the same"
    if column.rows < _FEWEST or column.kind not in {"text", "integer"} or column.counts_seconds:
        return None
    if column.distinct == column.rows and not column.is_amount:
        return "shows another value in each row"
    nearly = column.distinct >= _NEARLY * column.rows
    if nearly and (column.kind == "text" or column.is_counted_up):
        return "shows another value in nearly each row"
    return None
