"""What a whole table might be: who its persons are, what it counts, whose trips it reports.

One column tells persons apart: of several that might, the one whose values stand in several rows,
and of those the one with the most values; the others are identifiers.  A repeated id of something
else, such as an order, is no person; whether a person is behind it is a question.

A table is one of counts where each combination of its categories stands once and there are about as
many rows as combinations: then a row is no person but a group, with their number beside it.

People write tables in sections: who somebody is, then what was found.  So a guess that stands
behind a sensitive column, or in the second half with no quasi-identifier after it where some
columns are told, is sensitive, which one question asks about.  Of 540 columns of foreign tables
that nothing explains, 113 of the 128 that are sensitive alone stand so, and 12 of the 90 that are
quasi-identifiers alone.

A text that stands for a missing value is declared for the whole plan.  One that is a value of its
own in another column, such as the N of "no", is not proposed.

Where a plan is there already, ``misfits`` says what fits badly.  Columns are held against what the
plan says of them by the engine (``table.profile``); added is what only the table as a whole tells:
identifiers that repeat, columns that single out rows, digits that the plan leaves to be numbers
though they look like names of groups, persons whom it does not name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import prod
from typing import TYPE_CHECKING

from voile.proposal.columns import propose_column
from voile.proposal.layout import marks_of
from voile.proposal.proposed import LABELS, PERSONS, ColumnProposal, of_recognition, unclear
from voile.proposal.tracks import ProposedTrips, proposed_trips
from voile.recognisers.codes import FINELY_WRITTEN
from voile.recognisers.recognition import on_a_grid
from voile.recognisers.telling import of_staff, proper_words
from voile.recognisers.values import share_of
from voile.schema.names import (
    Role,
    fits,
    meaning_of,
    named,
    names_beside,
    stems_of,
    words_of,
)
from voile.schema.persons import ALONE, FEW_PERSONS
from voile.table.summaries import ColumnDetails
from voile_base.ondemand import dataclass, on_demand

if TYPE_CHECKING:
    from scipy import special
else:
    special = on_demand("scipy.special")

__all__ = ["Proposal", "propose"]


_COUNTS = (
    *("n", "count*", "cnt", "freq*", "number", "num", "cases", "deaths", "population", "total"),
    *("anzahl", "haufigkeit", "faelle", "falle", "effectif*", "nombre", "cas", "casos", "numero"),
    *("conteggio", "casi", "aantal", "liczba", "antal", "antall", "maara", "pocet", "pupils"),
)
"""Names of columns of counts."""
_WEIGHS = "a weight of the survey: not published, since exact weights may tell rows apart"
_BY_PLACE = "treated as sensitive by default: not understood, and it stands where such columns do"
_SECTIONS = 3
"""Columns that are told, from which on the order of a table says something of the others."""
_SHORT = 5
"""Words of a label up to which it may be the name of somebody's data, and is no question."""
_CODE, _TWICE, _BY_CHANCE = 5, 2, 1e-4
"""Characters of a code that may be one of another column, such codes at least, and how often as
many would be by chance."""
_FEWEST = 10
"""Rows from which on it tells something that each combination stands once."""
_THOUSANDTHS = re.compile(r"-?\d{1,3}[.,]\d{3,}")
"""Degrees that tell a place to within some hundred metres."""
_LOOSE = 4
"""Combinations that may stand in no row, as a multiple of the rows."""
_CATEGORIES = 30
"""Different whole numbers up to which a column may hold categories of a table of counts."""
_LATITUDES = 90

GroupSizes = Callable[[Sequence[str]], Sequence[int]]
"""How many rows agree in some columns: the sizes of the groups of rows that do."""
_DEPENDENT = 1.5
"""Combinations of a label and a trait that chance would make, as a multiple of the labels."""
_CROSSING = 2
"""Combinations of traits, as a multiple of those of one: a place's or a product's hang together."""


@dataclass(frozen=True)
class Proposal:
    """What is proposed for a table."""

    columns: tuple[ColumnProposal, ...]
    marks: tuple[str, ...]
    """Texts that seem to stand for missing values."""
    missing: bool
    """Whether a column that would be published misses values."""
    trips: ProposedTrips | None = None
    """None: the table has no reports of trips."""
    categories: tuple[str, ...] = ()
    """The categories of a table of counts; none where rows may be persons."""

    def of_role(self, role: Role) -> tuple[ColumnProposal, ...]:
        """The columns of a role, in the order of the table."""
        return tuple(column for column in self.columns if column.role == role)

    @property
    def publishes(self) -> bool:
        """Whether a release has something to show: reports of trips, or columns with a role."""
        return bool(self.trips or self.of_role("quasi") or self.of_role("sensitive"))

    @property
    def weight(self) -> ColumnProposal | None:
        """The first survey weights that count people, one a row or more; none where 1 is a mean."""
        of = (one for one in self.columns if one.why == _WEIGHS)
        return next((one for one in of if (one.details.extremes or (0, 0))[0] >= 1), None)

    @property
    def person(self) -> ColumnProposal | None:
        """The column that tells persons apart."""
        return next(iter(self.of_role("person")), None)

    @property
    def household(self) -> ColumnProposal | None:
        """The column that tells households apart."""
        return next(iter(self.of_role("household")), None)


def propose(details: Sequence[ColumnDetails], sizes: GroupSizes | None = None) -> Proposal:
    """A proposal for a table of some columns; a pure function.

    ``sizes`` counts rows that agree; without it no table is taken for one of counts, and no label
    for one of persons by what is constant beside it.
    """
    stems = stems_of([each.profile.name for each in details])
    columns = _as_of_persons([_proposed(each, stems, None) for each in details], stems)
    columns = _with_grids(_with_named(_with_families(columns)))
    columns = _with_a_person(_one_of(_one_of(_without_gaps(columns), "person"), "household"))
    columns = _as_of_persons(columns, stems)
    columns = _with_copies(_with_labels(_with_houses(columns), sizes), sizes)
    columns = _with_weights(_with_references(_with_constants(columns)))
    categories = _categories(columns, sizes)
    columns = [_asked_about(one, categories) for one in columns]
    trips = proposed_trips(columns)
    columns = columns if categories or trips else _with_sections(columns)
    marks = marks_of(details)
    columns = [_without_false_bounds(one, marks) for one in columns]
    published = [column for column in columns if column.role in {"quasi", "sensitive"}]
    missing = any(column.details.profile.missing for column in published)
    return Proposal(tuple(columns), marks, missing, trips, categories)


def _with_families(columns: list[ColumnProposal]) -> list[ColumnProposal]:
    """Guesses mended by columns that have the same few values, such as all drugs of a table.

    Letters as schools write grades are such where several columns hold them.
    """
    known = [one for one in columns if one.role == "sensitive" and len(one.details.few) > 2]
    lettered = [one for one in columns if one.guessed and _are_letters(one.details.sample)]
    graded = {one.name for one in lettered if len(lettered) >= _SUBJECTS}

    def mended(one: ColumnProposal) -> ColumnProposal:
        few = one.details.few
        if one.name in graded:
            return replace(one, role="sensitive", why=_GRADES, question=None, guessed=False)
        like = next((other for other in known if few and few <= other.details.few), None)
        if not one.guessed or like is None:
            return one
        why = f'its values are those of "{like.name}"'
        return replace(one, role="sensitive", why=why, question=None, guessed=False)

    return [mended(one) for one in columns]


def _are_letters(texts: Sequence[str]) -> bool:
    """Whether nearly all are the letters of grades, A to F, and most of these stand."""
    letters = {text.strip() for text in texts} & set("ABCDEF")
    return len(letters) >= _GIVEN and len(letters) >= len(set(texts)) - 2


_GRADES = "letters from A to F, as several columns hold them: grades"
_SUBJECTS = 3
_GIVEN = 4
"""Letters of grades that stand in a column, at least; marks of missing ones may stand beside."""


def _with_named(columns: list[ColumnProposal]) -> list[ColumnProposal]:
    """Groups that are called after persons whom another column names, left out with a question."""
    few = [one for one in columns if one.details.profile.distinct <= FEW_PERSONS]
    told = [
        one
        for one in few
        if PERSONS in one.why or (one.recognition and one.recognition.key == "person-name")
    ]
    named_there = proper_words([text for one in told for text in one.details.sample])

    def mended(one: ColumnProposal) -> ColumnProposal:
        texts = one.details.sample
        published = one.role in {"quasi", "sensitive"} and one.details.profile.type == "text"
        if not published or one.kind == "geography":
            return one
        share = share_of(texts, lambda text: proper_words([text]) & named_there)
        return unclear(one.details, one.kind, PERSONS) if share >= ALONE / 2 else one

    return [mended(one) for one in columns]


def _with_houses(columns: list[ColumnProposal]) -> list[ColumnProposal]:
    """Numbers that nobody understood right behind streets or postcodes, left out: of houses."""
    mended = list(columns)
    for place, (street, other) in enumerate(pairwise(columns), 1):
        found = street.recognition
        streets = (
            found is not None and found.key in {"address", "full-postcode"}
        ) or "addresses" in street.why
        whole = other.details.profile.type == "integer" or other.details.whole
        short = len(other.name.strip(".")) <= _OF_A_FLAT
        flats = short and other.details.profile.distinct > FEW_PERSONS
        homes = flats or not other.details.look().is_shared()
        if streets and other.guessed and other.role == "quasi" and homes and whole:
            mended[place] = unclear(other.details, other.kind, "numbers of houses")
    return mended


_OF_A_FLAT = 2
"""Letters of the name of a column of flats, whose numbers many share: "m.", "kv"."""


def _with_labels(columns: list[ColumnProposal], sizes: GroupSizes | None) -> list[ColumnProposal]:
    """Guesses that many rows share and few persons, left out with a question.

    Nothing else tells persons apart, and traits that are crossed with each other, as sex and town
    are, are constant within each value: whoever has several rows has them.
    """
    if sizes is None or any(one.role in {"person", "household"} for one in columns):
        return columns
    return [
        unclear(one.details, one.kind, "labels of persons who have several rows")
        if one.guessed and one.role == "quasi" and _are_labels(one, columns, sizes)
        else one
        for one in columns
    ]


def _with_copies(columns: list[ColumnProposal], sizes: GroupSizes | None) -> list[ColumnProposal]:
    """Texts and codes that are one to one with what tells persons or things apart, left out."""
    told = [
        one
        for one in columns
        if one.role in {"person", "household", "identifier"}
        and one.details.profile.distinct > FEW_PERSONS
    ]

    def mended(one: ColumnProposal) -> ColumnProposal:
        likely = one.role in {"quasi", "sensitive"} and one.kind not in {"number", "date"}
        likely = likely and one.form is None
        same = (other for other in told if likely and _agree(one, other, sizes))
        if (other := next(same, None)) is None:
            return one
        why = f'each of its values goes with one of "{other.name}"'
        return replace(one, role="identifier", kind="code", why=why, question=None)

    return [mended(one) for one in columns]


def _with_weights(columns: list[ColumnProposal]) -> list[ColumnProposal]:
    """With weights of a survey left out: they are nothing that others know of a person."""
    return [replace(one, role="drop", why=_WEIGHS) if one.weighs_rows else one for one in columns]


def _with_references(columns: list[ColumnProposal]) -> list[ColumnProposal]:
    """Codes that are those of another column, which tells persons or things apart: a superior's."""
    told = [
        one
        for one in columns
        if one.role in {"person", "identifier"} and one.kind == "code"
        if one.details.profile.distinct > FEW_PERSONS
    ]

    def mended(one: ColumnProposal) -> ColumnProposal:
        likely = one.role in {"quasi", "sensitive"} or one.guessed
        others = (other for other in told if likely and other is not one and _refers(one, other))
        if (other := next(others, None)) is None:
            return one
        why = f'its values are among those of "{other.name}"'
        return replace(one, role="identifier", kind="code", why=why, question=None)

    return [mended(one) for one in columns]


def _refers(one: ColumnProposal, other: ColumnProposal) -> bool:
    """Whether codes are among those of another column, more than by chance.

    Of a sample of these a share is found; of as many codes that lie as densely, as many only once
    in ten thousand times.  Texts of other codes are not found at all.
    """
    texts = [text for text in one.details.sample if len(text) >= _CODE]
    there, ends = set(other.details.sample), other.details.extremes
    found = len(there.intersection(texts))
    if 2 * len(texts) <= len(one.details.sample) or 4 * found < max(len(texts), 4 * _TWICE):
        return False
    dense = len(there) / (ends[1] - ends[0] + 1) if ends is not None else 0.0
    return dense < 1 and float(special.bdtrc(found - 1, len(texts), dense)) < _BY_CHANCE


def _with_constants(columns: list[ColumnProposal]) -> list[ColumnProposal]:
    """A number that is the same in all rows tells nobody apart, where the rows are of many."""
    many = any(
        one.role in {"person", "household", "identifier"}
        and one.details.profile.distinct > FEW_PERSONS
        for one in columns
    )
    if not many or any(one.is_position for one in columns):
        return columns
    return [
        replace(one, role="quasi", why=f"{one.why}, and the rows are of many", kind="nominal")
        if one.role == "drop"
        and one.recognition is None
        and one.details.profile.distinct == 1
        and all(map(str.isdigit, one.details.sample))
        else one
        for one in columns
    ]


def _agree(one: ColumnProposal, other: ColumnProposal, sizes: GroupSizes | None) -> bool:
    """Whether each value of a column goes with one of another, and the other way round."""
    profiles = one.details.profile, other.details.profile
    first, second = ((each.distinct, each.missing) for each in profiles)
    return (
        sizes is not None
        and first == second
        and len(sizes([one.name, other.name])) == (first[0] + bool(first[1]))
    )


def _are_labels(
    label: ColumnProposal, columns: Sequence[ColumnProposal], sizes: GroupSizes
) -> bool:
    """Whether traits that are crossed are constant within each value of a column."""
    several, of_type = label.details.profile.distinct, label.details.profile.type
    if several <= FEW_PERSONS or label.details.profile.missing or of_type == "decimal":
        return False
    traits = [
        one.name
        for one in columns
        if one is not label and one.role in {"quasi", "sensitive"}
        if 1 < one.details.profile.distinct <= several / 3
    ]
    constant = [name for name in traits if _depends(name, label, sizes)]
    if len(constant) < 2 or 2 * len(constant) < len(traits):
        return False  # of a school or a quarter few traits are, and of a person most
    return len(sizes(constant)) >= _CROSSING * max(len(sizes([name])) for name in constant)


def _depends(trait: str, label: ColumnProposal, sizes: GroupSizes) -> bool:
    """Whether a trait is constant within each label, which chance would not make it."""
    labels, rows = label.details.profile.distinct, label.details.rows
    shares = [size / rows for size in sizes([trait])]
    by_chance = sum(1 - (1 - share) ** (rows / labels) for share in shares)
    return by_chance >= _DEPENDENT and len(sizes([label.name, trait])) == labels


def _with_grids(columns: list[ColumnProposal]) -> list[ColumnProposal]:
    """Neighbours that nobody understood, as positions where they may be the axes of a grid."""
    mended = list(columns)
    for place, (one, other) in enumerate(pairwise(columns)):
        published = any(each.role in {"quasi", "sensitive"} for each in (one, other))
        if published and (_are_degrees(one.details, other.details) or _are_places(one, other)):
            mended[place : place + 2] = [
                unclear(each.details, each.kind, "positions") for each in (one, other)
            ]
            continue
        if _is_beside_degrees(one, other) or _is_beside_degrees(other, one):
            mended[place : place + 2] = [
                unclear(each.details, each.kind, "positions") if not each.is_position else each
                for each in (one, other)
            ]
            continue
        if not (_is_number_of_nothing(one) and _is_number_of_nothing(other)):
            continue
        found = on_a_grid(one.details.look(), other.details.look())
        if found is not None:
            mended[place : place + 2] = [
                of_recognition(each.details, found) for each in (one, other)
            ]
    return mended


def _is_beside_degrees(place: ColumnProposal, other: ColumnProposal) -> bool:
    """Whether decimals as fine as degrees, that nobody understood, stand beside degrees."""
    ends, found = other.details.extremes, [each.details for each in (place, other)]
    if not (place.is_position and other.guessed and other.role == "quasi") or ends is None:
        return False
    if any(each.profile.type != "decimal" for each in found):
        return False
    fine = min(share_of(each.sample, FINELY_WRITTEN.fullmatch) for each in found)
    return fine > ALONE / 2 and max(map(abs, ends)) <= 2 * _LATITUDES


def _are_degrees(one: ColumnDetails, other: ColumnDetails) -> bool:
    """Whether decimals are latitudes and longitudes of one town, as finely written as these."""
    ends = [each.extremes for each in (one, other) if each.profile.type == "decimal"]
    found = [end for end in ends if end is not None and end[1] - end[0] < 1]
    if len(found) < 2 or one.whole or other.whole:
        return False
    fine = min(share_of(each.sample, _THOUSANDTHS.fullmatch) for each in (one, other))
    low, high = sorted(max(map(abs, end)) for end in found)
    return fine > ALONE / 2 and 1 < low <= _LATITUDES and high <= 2 * _LATITUDES


def _are_places(one: ColumnProposal, other: ColumnProposal) -> bool:
    """Whether names that begin alike, one of a place, have numbers as fine as degrees are."""
    (first, *_), (second, *_) = (words_of(each.name) or [""] for each in (one, other))
    meanings = [meaning_of(each.name) for each in (one, other)]
    if first != second or not any(each and each.kind == "geography" for each in meanings):
        return False
    found = [each.details for each in (one, other)]
    ends = [each.extremes for each in found if each.profile.type == "decimal" and not each.whole]
    fine = min(share_of(each.sample, FINELY_WRITTEN.fullmatch) for each in found)
    within = [max(map(abs, end)) <= 2 * _LATITUDES for end in ends if end is not None]
    return len(within) > 1 and all(within) and fine > ALONE / 2


def _is_number_of_nothing(column: ColumnProposal) -> bool:
    """Whether numbers were guessed at, or taken for those of records by their values alone."""
    unnamed = column.role == "identifier" and column.recognition is None
    return column.guessed or (unnamed and named(column.name) is None)


def _as_of_persons(columns: list[ColumnProposal], stems: Mapping[str, str]) -> list[ColumnProposal]:
    """With guesses made again where it is told how many persons or households the rows are of."""
    units = [one.details.profile.distinct for one in columns if one.role in {"person", "household"}]
    if not units:
        return columns
    return [
        _proposed(one.details, stems, max(units)) if one.guessed and one.role == "quasi" else one
        for one in columns
    ]


def _proposed(each: ColumnDetails, stems: Mapping[str, str], persons: int | None) -> ColumnProposal:
    """What a column might be; a guess knows how many persons the rows are of, if told."""
    name = each.profile.name
    beside = names_beside(name, tuple(stems))
    if name.casefold() == "by" and any("post" in one.casefold() for one in beside):
        return _as_called(each, "town", beside, persons)  # in Danish and Norwegian
    by_name = propose_column(each, stems[name], beside, persons)
    if each.headed:
        below = _as_called(each, each.headed, beside, persons)
        harmless = below.role == "quasi" and below.question is None
        of_heading = harmless and by_name.role not in {"quasi", "sensitive"}
        return below if of_heading or not below.guessed else by_name
    if not each.label:
        return by_name
    if may_be := of_staff(each.label, each.sample):
        return unclear(each, by_name.kind, may_be)
    by_label = _as_called(each, each.label, beside, persons)
    told = by_label.recognition is not None and len(words_of(each.label)) <= _SHORT
    by_values = by_name.recognition is None and by_name.role == "identifier"
    blind = by_name.guessed or (by_values and meaning_of(name) is None)
    unsure = blind and not by_label.guessed and by_label.role != "drop"
    return replace(by_label, why=f"{by_label.why}, by its label") if told or unsure else by_name


def _as_called(
    each: ColumnDetails, name: str, beside: Sequence[str], persons: int | None
) -> ColumnProposal:
    """What a column might be if that were its name."""
    called = replace(each, profile=replace(each.profile, name=name))
    return replace(propose_column(called, None, beside, persons), details=each)


def _with_sections(columns: list[ColumnProposal]) -> list[ColumnProposal]:
    """With guesses as sensitive that stand where the sensitive columns of a table do."""
    told: list[tuple[int, Role]] = [
        (place, one.role)
        for place, one in enumerate(columns)
        if one.role in {"quasi", "sensitive"} and not one.guessed
    ]

    def stands_so(place: int) -> bool:
        before = next((role for at, role in reversed(told) if at < place), None)
        after = next((role for at, role in told if at > place), "sensitive")
        late = 2 * place >= len(columns) and len(told) >= _SECTIONS
        return before == "sensitive" or (late and after == "sensitive")

    return [
        replace(one, role="sensitive", why=_BY_PLACE, question=None)
        if one.guessed
        and one.role == "quasi"
        and one.kind not in {"date", "geography"}
        and stands_so(place)
        else one
        for place, one in enumerate(columns)
    ]


def _categories(columns: Sequence[ColumnProposal], sizes: GroupSizes | None) -> tuple[str, ...]:
    """The columns whose combinations stand once each, where rows are about all of them."""
    rows = columns[0].details.rows if columns else 0
    dimensions = [one.details.profile for one in columns if _may_be_category(one)]
    counts = [one for one in columns if one.details.profile.type == "integer"]
    if any(one.is_position for one in columns):
        return ()  # points, of which each stands once
    if sizes is None or rows < _FEWEST or len(dimensions) == len(columns) or not counts:
        return ()
    combinations = prod(profile.distinct for profile in dimensions)
    names = tuple(profile.name for profile in dimensions)
    if len(names) < 2 or not rows <= combinations <= _LOOSE * rows:
        return ()
    return names if max(sizes(names)) == 1 else ()


def _may_be_category(column: ColumnProposal) -> bool:
    profile = column.details.profile
    if fits(_COUNTS, words_of(profile.name)) or profile.type == "decimal":
        return False
    return 1 < profile.distinct <= _CATEGORIES or (
        profile.type != "integer" and profile.distinct > 1
    )


def _asked_about(column: ColumnProposal, categories: Sequence[str]) -> ColumnProposal:
    """A column of numbers beside the categories of a table of counts, left out with a question."""
    profile = column.details.profile
    if (
        not categories
        or column.is_position
        or _is_of_each_person(column)
        or profile.name in categories
        or profile.type not in {"integer", "decimal"}
    ):
        return column
    why = "it may count the persons of a row, or sum what they have"
    question = "does it count persons? Then a row is no person, and no method here protects them"
    return replace(column, role="drop", why=why, question=question)


_OF_EACH_PERSON = ("an age", "hours of a week", "a measure of a body")
"""How reasons begin, of what each person has and no group of persons."""


def _is_of_each_person(column: ColumnProposal) -> bool:
    return column.why.startswith(_OF_EACH_PERSON)


def _without_gaps(columns: list[ColumnProposal]) -> list[ColumnProposal]:
    """What tells persons apart in some rows alone, each its own, is an identifier and no person."""
    return [
        replace(one, role="identifier")
        if one.role in {"person", "household"}
        and (one.details.profile.missing or one.details.has_blanks)
        and not one.several_rows
        else one
        for one in columns
    ]


def _one_of(columns: list[ColumnProposal], role: Role) -> list[ColumnProposal]:
    """The columns with one of that role, the others of it being identifiers."""
    said = [column for column in columns if column.role == role]
    if len(said) < 2:
        return columns
    best = max(said, key=lambda one: (one.several_rows, one.details.profile.distinct))
    why = f'an id; "{best.name}" tells {role}s apart'
    return [
        replace(one, role="identifier", why=why) if one in said and one is not best else one
        for one in columns
    ]


_OF_PERSONS = (
    *("national-id", "medical-record", "beneficiary", "record", "e-mail", "telephone"),
    LABELS,
)
"""Recognisers of what one person alone has, the surest first; last, labels that nobody named."""
_RECORDS_OF_PERSONS = (
    *("subj*", "usubj*", "patient*", "person*", "matric*", "mitarbeiter*", "employee*", "staff*"),
    *("payroll*", "kunden*", "klant*", "lid*", "mitglied*", "member*", "customer*", "client*"),
)


def _with_a_person(columns: list[ColumnProposal]) -> list[ColumnProposal]:
    """With the surest identifier of persons that repeats as the person, where no column is one.

    Rows of one value are then protected together, which is the careful choice, and a question.
    """
    repeating = [
        one
        for one in columns
        if one.role == "identifier" and one.several_rows
        if not (one.details.profile.missing or one.details.has_blanks)
    ]
    likely = [one for one in repeating if _is_of_one_person(one)]
    if not likely or any(one.role in {"person", "household"} for one in columns):
        return columns
    keys = [one.recognition.key if one.recognition else LABELS for one in likely]
    best = min(
        zip(keys, likely, strict=True),
        key=lambda pair: (_OF_PERSONS.index(pair[0]), -pair[1].details.profile.distinct),
    )[1]
    question = 'are the rows of one value a person\'s? If each row is another, say person = "row"'
    return [
        replace(one, role="person", question=question) if one is best else one for one in columns
    ]


def _is_of_one_person(column: ColumnProposal) -> bool:
    found = column.recognition
    if found is None or found.key not in _OF_PERSONS:
        return column.why == LABELS
    return found.key != "record" or fits(_RECORDS_OF_PERSONS, words_of(column.name))


def _without_false_bounds(column: ColumnProposal, marks: Sequence[str]) -> ColumnProposal:
    """Without public bounds where a number outside them is not declared as missing."""
    undeclared = set(column.details.sentinels) - set(marks)
    return replace(column, bounds=None) if undeclared else column
