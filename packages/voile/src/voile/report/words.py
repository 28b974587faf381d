"""Numbers and names in words: percentages, "1 in 50", plurals, names cut to a width.

No percentage is rounded to 0 % or to 100 % that is neither, because a report on privacy must not
call certain what is only likely.  Texts of a record may hold anything; ``printable`` makes of them
what a page and a picture can hold.

What follows from the documents of a record: rates of attacks, places of measures on a scale, and
the one way in which Studio, reports and dossiers tell the re-identification risk.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from voile.schema.persons import figure_told
from voile.study.record import (
    LOSS,
    REHEARSED,
    AttackDocument,
    MeasureDocument,
    Rates,
    RiskDocument,
    StudyRecord,
    as_number,
    known_columns,
    rates_of,
)
from voile.study.verdict import THRESHOLDS, exact_limit, met_thresholds
from voile_base.ondemand import dataclass

if TYPE_CHECKING:
    from voile.audit.record import AuditRecord

__all__ = [
    "NEARLY_LOST",
    "NOTHING",
    "SETS",
    "AttackReading",
    "MeasureReading",
    "Share",
    "as_number",
    "attacks_of",
    "clipped",
    "column_losses",
    "columns_gone",
    "counted",
    "listed",
    "lost_shares",
    "measures_of",
    "number",
    "one_in",
    "pairs_of",
    "percent",
    "printable",
    "reidentified",
    "remainder",
    "risk_told",
    "short_number",
    "shown_as",
    "spoken",
    "times",
    "value_text",
    "width_of",
    "without_objective",
]


NOTHING = "\N{EN DASH}"
"""Stands where there is no value."""
_SPACE = "\N{NO-BREAK SPACE}"
_ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"
_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
_SPACES = re.compile(r"[^\S\xa0]+")
"""All but those that do not break a line."""
_DIRECTION = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that reorder the text around them, beyond the name that holds them."""


_ERROR = 1e-11
"""By how many percent points a sum of floats misses 100 %."""
_NEAREST = 3
"""Places in which 100 % is told from what is nearly so much."""


class Share(float):
    """A share of 1, which tables show in percent."""


def number(value: float | None, digits: int = 4) -> str:
    """A number to so many significant digits, with commas: "12,345", "0.03142"."""
    if value is None:
        return NOTHING
    if math.isinf(value) or math.isnan(value):
        return "unbounded" if math.isinf(value) else NOTHING
    if value == int(value) and abs(value) < 1e15:
        return _signed(f"{int(value):,}")
    if abs(value) >= 10**digits:
        return _signed(f"{value:,.0f}") if abs(value) < 1e15 else _signed(f"{value:.{digits}g}")
    if abs(value) < 1e-4:
        return _signed(f"{value:.{digits - 1}g}")
    text = f"{value:,.{_places(value, digits)}f}"
    return _signed(text.rstrip("0").rstrip(".") if "." in text else text)


def short_number(value: float) -> str:
    """A number for the tick of an axis: "1.5 M" for 1,500,000, "2 bn" for 2,000,000,000."""
    for unit, name in ((1e9, "bn"), (1e6, "M"), (1e5, "k")):
        if abs(value) >= unit:
            scale = min(unit, 1e3) if name == "k" else unit
            return f"{number(value / scale)}{_SPACE}{name}"
    return number(value)


def percent(share: float | None) -> str:
    """A share of 1 in percent, to three digits: "2.13 %", "0.013 %", "99.98 %".

    What is nearly, and not, 100 % is "more than 99.99 %".
    """
    if share is None:
        return NOTHING
    hundred = 100 * share
    if hundred == 0 or not math.isfinite(hundred):
        return f"0{_SPACE}%" if hundred == 0 else NOTHING
    if abs(hundred - 100) <= _ERROR:
        return f"100{_SPACE}%"
    places = _places(hundred, 3)
    while places < _NEAREST and round(hundred, places) == 100:
        places += 1
    if round(hundred, places) == 100 > hundred:
        return "more than 99.99 %".replace(" ", _SPACE)
    if abs(hundred) < 1e-4:
        return f"{_signed(f'{hundred:.1e}')}{_SPACE}%"
    text = f"{hundred:,.{places}f}"
    return f"{_signed(text.rstrip('0').rstrip('.') if '.' in text else text)}{_SPACE}%"


def one_in(share: float | None) -> str:
    """A share as one of so many: "1 in 50"; nothing for 0 and for more than a half."""
    if share is None or not 0 < share <= 0.5:
        return ""
    many = 1 / share
    return f"1 in {number(round(many, 1) if many < 10 else float(f'{round(many):.3g}'))}"


def risk_told(share: float | None) -> str:
    """A risk or a limit of one: "1 in 11 (9.09 %)" where it is that of whole persons, else "9 %".

    All pages tell both by it, so that a limit and the figure that keeps it read alike.
    """
    if share is None or not 0 < share <= 0.5:
        return percent(share)
    persons = round(1 / share)
    whole = math.isclose(share * persons, 1, rel_tol=1e-9)
    return f"1 in {persons:,} ({percent(share)})" if whole else percent(share)


def times(ratio: float | None) -> str:
    """A ratio: "1.1 times", "1,026 times"; a dash where nothing can be compared."""
    if ratio is None or not math.isfinite(ratio):
        return NOTHING
    return f"{number(ratio, 3)} times"


def counted(count: int, noun: str, plural: str = "") -> str:
    """A number of things: "1 attack", "1,200 rows"."""
    return f"{count:,}{_SPACE}{noun if count == 1 else plural or noun + 's'}"


def listed(names: Sequence[str], most: int = 6, comma: str = ", ") -> str:
    """Names in one line: "a, b and c"; "a, b and 4 more" where there are too many."""
    shown = list(names) if len(names) <= most else [*names[:most], f"{len(names) - most:,} more"]
    if len(shown) < 2:
        return "".join(shown)
    return f"{comma.join(shown[:-1])} and {shown[-1]}"


def spoken(name: str) -> str:
    """The name of an attack, a measure, a method or a key as a reader sees it: "Row tracing"."""
    words = printable(name).replace("-", " ").replace("_", " ").strip()
    first, _, rest = words.partition(" ")
    if rest and first in _WRITTEN:
        return f"{_WRITTEN[first]}{rest}"
    return words[:1].upper() + words[1:]


_WRITTEN = {"dp": "DP ", "ke": "(k,e)-", "m": "M-"}
"""What a name begins with in letters, as the field writes it."""


def value_text(value: object) -> str:
    """One value of a plan or a target: numbers as they are, lists in brackets, a dash for none."""
    match value:
        case None:
            return NOTHING
        case bool():
            return "yes" if value else "no"
        case list() | tuple():
            return f"[{', '.join(map(value_text, value))}]"
        case dict():
            return f"{{{', '.join(f'{key}: {value_text(held)}' for key, held in value.items())}}}"
        case _:
            return str(value)


def printable(text: object) -> str:
    """A text on one line that a page and a picture can hold.

    White space becomes single spaces; characters that no page may hold, halves of characters, and
    characters that reorder the text around them become a replacement character.
    """
    line = _SPACES.sub(" ", str(text)).strip(" ")
    return "".join(character if _holds(character) else _REPLACEMENT for character in line)


def width_of(text: str, size: float) -> float:
    """About how wide a text is drawn, in the unit of ``size``; rather too wide than too narrow."""
    return size * sum(map(_advance, text))


def clipped(text: str, width: float, size: float) -> str:
    """A text on one line no wider than ``width``, its end replaced by "…" where it is too long."""
    line = printable(text)
    if width_of(line, size) <= width:
        return line
    room = width - size
    for index, character in enumerate(line):
        room -= size * _advance(character)
        if room < 0:
            return line[:index].rstrip() + _ELLIPSIS
    return line


def _places(value: float, digits: int) -> int:
    """Digits after the point that make so many significant ones."""
    return max(0, digits - 1 - math.floor(math.log10(abs(value))))


def _signed(text: str) -> str:
    return text.replace("-", "\N{MINUS SIGN}", 1) if text.startswith("-") else text


def _holds(character: str) -> bool:
    code = ord(character)
    never = code & 0xFFFE == 0xFFFE or 0xFDD0 <= code <= 0xFDEF
    return not (never or character in _DIRECTION or unicodedata.category(character) in {"Cc", "Cs"})


def _advance(character: str) -> float:
    if unicodedata.combining(character) or unicodedata.category(character) == "Cf":
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return 1.1
    if character in "ijlI.,:;'|!()[] ":
        return 0.36
    return 0.85 if character in "mwMWQ%@" else 0.62


@dataclass(frozen=True)
class AttackReading:
    """The outcome of one attack, with what follows from it."""

    document: AttackDocument
    rates: Rates | None
    """None where one of them is null: the attack was not measured."""
    rehearsed: bool
    """Whether it looked at a release made like this one of fewer rows."""

    @property
    def name(self) -> str:
        """The name of the attack."""
        return self.document["attack"]


@dataclass(frozen=True)
class MeasureReading:
    """One measure of utility, with what follows from it."""

    document: MeasureDocument
    rehearsed: bool

    @property
    def title(self) -> str:
        """The name as a reader sees it."""
        return self.document["title"] or self.document["measure"]

    @property
    def parts(self) -> Mapping[str, float]:
        """Values by column, pair or task, as far as they are numbers."""
        return {part: one for part, one in self.document["parts"].items() if one is not None}

    @property
    def lost(self) -> float | None:
        """The way from untouched (0) to useless (1).

        None where an end of it is not known, or where useless is no worse than untouched: of a
        value that cannot be predicted from the original either.
        """
        value, untouched = self.document["value"], self.document["untouched"]
        useless = self.document["useless"]
        if value is None or untouched is None or useless is None:
            return None
        scale = useless - untouched
        sensible = scale > 0 if self.document["better"] == "lower" else scale < 0
        return (value - untouched) / scale if sensible else None


def attacks_of(record: StudyRecord) -> tuple[AttackReading, ...]:
    """The attacks of a study, in the order of the record."""
    rehearsed = record.evidence["rehearsed"]
    return tuple(
        AttackReading(one, rates_of(one), one["attack"] in rehearsed) for one in record.attacks
    )


def measures_of(record: StudyRecord) -> tuple[MeasureReading, ...]:
    """The measures of a study, in the order of the record."""
    starts = tuple(f"{name}-" for name in record.evidence["rehearsed"])
    return tuple(
        MeasureReading(one, f"{one['measure']}-".startswith(starts)) for one in record.utility
    )


def pairs_of(
    parts: Mapping[str, float], columns: Sequence[str]
) -> Mapping[tuple[str, str], float] | None:
    """Parts by pairs of known columns, where all of them are named "one, another"; else None.

    Names of columns may hold commas: the split is where both sides are known.
    """
    known = set(columns)
    pairs = {}
    for part, value in parts.items():
        pair = next(((a, b) for a, b in _splits(part) if a in known and b in known), None)
        if pair is None or pair[0] == pair[1]:
            return None
        pairs[pair] = value
    return pairs or None


def _splits(part: str) -> Iterable[tuple[str, str]]:
    pieces = part.split(", ")
    for place in range(1, len(pieces)):
        yield ", ".join(pieces[:place]), ", ".join(pieces[place:])


@dataclass(frozen=True)
class ReidentificationRisk:
    """How surely an intruder finds a person's row, on average and at worst."""

    worst: float
    """Of the person who is worst off, for an intruder who knows the quasi-identifiers alone."""
    mean: float
    is_counted: bool
    """Whether it was counted what other columns than the quasi-identifiers add."""
    beyond: RiskDocument | None
    """The fewest other columns by which a person is found more surely; None where none does."""
    beyond_mean: RiskDocument | None
    """The other columns by which persons are found more surely on average; None likewise."""
    where: str
    """On what that was counted."""
    in_series: bool = False
    """Whether that intruder has the releases of a series until this one."""
    upper_bound: bool = False
    """Whether ``mean`` is a bound, which no intruder may reach."""
    from_row: float | None = None
    """Of the published row that is worst off, for an intruder with a list of everybody in the table
    who looks for whose it is; None where he finds nobody more surely."""

    @property
    def persons(self) -> int:
        """How many rows fit each person at least; 0 where nobody is found."""
        return int(1 / self.worst + 1e-9) if self.worst else 0

    @property
    def sentences(self) -> tuple[tuple[str, str], ...]:
        """A heading with what is to be said below it: of the worst-off, and on average."""
        odds = f" (one in {self.persons})" if self.persons > 1 else ""
        worst = f"at most {percent(self.worst)}{odds} for an intruder who knows the "
        worst += "quasi-identifiers alone"
        worst += " and has the releases of the series until this one" if self.in_series else ""
        if self.from_row:
            worst += (
                f"; {percent(self.from_row)} for one who has a list of everybody in the table, "
                "too, and looks for whose a published row is"
            )
        mean = (
            f"{figure_told(percent(self.mean), upper_bound=self.upper_bound)}, the chance over all "
            "persons of choosing theirs among the rows "
        )
        mean += "that fit, for the quasi-identifiers alone"
        if self.beyond:
            known = listed([printable(one) for one in known_columns(self.beyond)])
            worst += f"; {percent(self.beyond.get('worst'))} for one who knows {known}"
            worst += f" ({self.where})"
        if self.beyond_mean:
            known = listed([printable(one) for one in known_columns(self.beyond_mean)])
            share = percent(self.beyond_mean["main"]["value"])
            mean += f"; {share} for one who knows {known} ({self.where})"
        untold = "" if self.is_counted else " What other published columns add was not counted."
        return (
            ("Re-identification risk of the person who is worst off", f"{worst}.{untold}"),
            ("Average re-identification risk", f"{mean}."),
        )

    @property
    def limits(self) -> str:
        """The limits of practice that it keeps, a sentence."""
        met = met_thresholds(max(self.worst, self.from_row or 0.0))
        kept, missed = (
            listed(
                [f"one in {1 / exact_limit(one):.0f}" for one in THRESHOLDS if (one in met) is ok]
            )
            for ok in (True, False)
        )
        held = f"it keeps the limits of {kept}" if kept else "it keeps none of the limits"
        but = f"{', and not of' if kept else ':'} {missed}" if missed else ""
        return f"For quasi-identifiers alone, {held}{but}. EMA policy 0070 asks for one in 11."


def reidentified(record: StudyRecord | AuditRecord) -> ReidentificationRisk | None:
    """The re-identification risk that a record tells.

    None where the prosecutor was not counted, or may succeed more often than was counted.
    """
    rates = next((rates_of(one) for one in record.attacks if one["attack"] == "prosecutor"), None)
    if rates is None or rates.worst is None or not rates.bounded:
        return None
    all_counted = [one for one in record.risks if one["risk"] == "re-identification"]
    quasi, in_series = set[str](), False
    if isinstance(record, StudyRecord):
        quasi = set(record.plan.get("roles", {}).get("quasi_identifiers", ()))
        in_series = "classes" in (record.release["method"].get("decision") or {})
    # Who knows some quasi-identifiers finds nobody more surely than he who knows all of them.
    counted = [one for one in all_counted if not quasi or set(known_columns(one)) - quasi]
    rehearsed = any(REHEARSED in one["notes"] for one in all_counted)
    file = "a rehearsal" if rehearsed else "the file"
    where = f"the most of all sets of columns that were looked at, counted on {file}"
    return ReidentificationRisk(
        worst=rates.worst,
        mean=rates.success,
        is_counted=bool(all_counted),
        beyond=_most(counted, lambda one: one.get("worst") or 0.0, rates.worst),
        beyond_mean=_most(counted, lambda one: one["main"]["value"] or 0.0, rates.success),
        where=where,
        in_series=in_series,
        upper_bound=rates.upper_bound,
        from_row=_from_row(record, rates.worst),
    )


def _from_row(record: StudyRecord | AuditRecord, least: float) -> float | None:
    """How surely the journalist finds whose a published row is; None for no more than ``least``.

    Groups that overlap have a person fit the rows of several, and a row fewer persons.
    """
    found = (rates_of(one) for one in record.attacks if one["attack"] == "journalist")
    worst = next((rates.worst for rates in found if rates and rates.bounded), None)
    return worst if worst is not None and worst > least * (1 + 1e-9) else None


def _most(
    risks: Iterable[RiskDocument], figure: Callable[[RiskDocument], float], least: float
) -> RiskDocument | None:
    """The risk of the greatest figure beyond the least, of the fewest columns; None for none."""
    beyond = (one for one in risks if figure(one) > least)
    return min(beyond, key=lambda one: (-figure(one), len(known_columns(one))), default=None)


_SHOWN = {
    "exact": "as it is",
    "generalized": "as groups of values",
    "interval": "as intervals",
    "set": "as sets of values",
    "value-set": "as sets of values",
    "noisy": "with noise",
    "perturbed": "as other numbers near them",
    "averaged": "as averages",
    "permuted": "shuffled among rows",
    "synthetic": "as rows of nobody",
    "withheld": "not at all",
    "moved": "moved by noise",
    "numbered": "as numbers of groups",
}


SETS = (
    "A set of values is written with | between them. Where nothing stands before, between or after "
    "|, a missing value is among them."
)
"""What tells a reader how cells that are sets are written."""


def shown_as(kind: str) -> str:
    """How a column is shown, by the kind of its disclosure: "as intervals"."""
    return _SHOWN.get(kind, spoken(kind).lower())


_WHOLLY = 1 - 1e-9
NEARLY_LOST = 0.95
"""The share of the information of a column from which on almost nothing is left of it."""


def column_losses(record: StudyRecord) -> Mapping[str, str]:
    """By column, the share of its information that is lost, in words; of measured columns."""
    return {name: _loss_told(share) for name, share in lost_shares(record).items()}


def _loss_told(share: float) -> str:
    lost, left = f"{percent(share)} of its information is lost", remainder(share)
    if left == "nothing":
        return "nothing of it is left: every cell stands for all values"
    return f"{left} of it is left: {lost}" if left else lost


def remainder(share: float) -> str:
    """What is left of a column that has lost such a share of its information.

    "nothing", or "almost nothing" from ``NEARLY_LOST`` on; empty where more is left.
    """
    return "nothing" if share >= _WHOLLY else "almost nothing" if share >= NEARLY_LOST else ""


def without_objective(summary: str) -> str:
    """What came of a publication without the loss that its method minimised.

    That is another figure than the information loss, which stands beside it.
    """
    return summary.partition(", loss (objective of the method)")[0]


def columns_gone(record: StudyRecord) -> Mapping[str, str]:
    """The columns of which nothing, or almost nothing, is left, and which of the two."""
    return {n: left for n, share in lost_shares(record).items() if (left := remainder(share))}


def lost_shares(record: StudyRecord) -> Mapping[str, float]:
    """By column, the share of its information that is lost; of measured columns."""
    parts = next((one["parts"] for one in record.utility if one["measure"] == LOSS), {})
    return {name: share for name, share in parts.items() if share is not None}
