"""Rules of secure rooms for models and quantiles: what an output states, and what it may show.

**Models** (tables of coefficients).  At least ``units`` observations, and as many residual degrees
of freedom: those that are stated, or observations minus coefficients.  A saturated model gives its
data back: no degree of freedom is left, R-squared is 1, or all standard errors are 0.  A model
whose terms are all values of one column, beside the intercept, is a table of means, whose smallest
group must be stated.

**Quantiles** (minimum, quartiles, percentiles, maximum).  Minimum and maximum are values of single
units.  Below, above and between quantiles that are shown there must be ``units`` of them, so their
number must be stated for each group.

What is not stated is refused, as it cannot be checked: an output carries its observations.
Nothing is computed from coefficients; a model may betray somebody in other ways (a dummy of one
unit, the difference of two models), which needs a person to look.

Source: Bond, Brandt and de Wolf, *Guidelines for the checking of output based on microdata
research* (Data without Boundaries, 2015), the rule of thumb: ten units, ten degrees of freedom;
*The SACRO guide to statistical output checking* (2023, doi 10.5281/zenodo.10054629), part II:
saturated models, end points and percentiles.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from voile.tabular.table_files import TableGrid
from voile_base.errors import InputError
from voile_base.ondemand import dataclass

__all__ = ["StatedFacts", "refused_outputs"]

_UNITS = "units of the smallest group"
_OBSERVATIONS, _FREEDOM, _FIT = "observations", "degrees of freedom", "r-squared"
_LABELS = {
    _OBSERVATIONS: re.compile(
        r"(no\.? (of )?|num\.? ?|number of )?obs(ervations)?\.?|n|nobs|count|num\. ?obs\.", re.I
    ),
    _FREEDOM: re.compile(
        r"df[ _]?res(id(uals?)?)?|resid(ual)?s? (df|degrees of freedom)|degrees of freedom|df", re.I
    ),
    _FIT: re.compile(r"r(-squared|\^?2|²| squared)|multiple r-squared", re.I),
    _UNITS: re.compile(r"units of the smallest group|smallest group", re.I),
}
_COEFFICIENT = re.compile(r"coef(ficient)?s?\.?|estimates?", re.I)
_ERROR = re.compile(
    r"std\.? ?err(or|ors)?\.?|s\.?e\.?|t|z|t[- ]value|z[- ]value|t[- ]stat(istic)?|p|p>\|[tz]\|"
    r"|pr\(>\|[tz]\|\)|p[-. ]values?|\[0?\.025|0?\.975\]|conf\.(low|high)",
    re.I,
)
_STANDARD_ERROR = re.compile(r"std\.? ?err(or|ors)?\.?|s\.?e\.?", re.I)
_INTERCEPT = re.compile(r"\(?(const(ant)?|intercept|_cons)\)?", re.I)
_DUMMY = re.compile(r"(?:C\()?(?P<column>[\w .-]+?)\)?\s*(?:\[T?\.?.+\]|::?.+|=.+)")
_NUMBER = re.compile(r"[-\u2212]?\d[\d,\u2019' ]*(\.\d+)?(e[-+]?\d+)?|[-\u2212]?\.\d+", re.I)
_EXTREME = re.compile(r"min(imum)?\.?|max(imum)?\.?|range|smallest|largest", re.I)
_QUANTILES = {"median": 0.5, "q1": 0.25, "q2": 0.5, "q3": 0.75}
_PERCENT = re.compile(
    r"(?:p|q|pct|perc(?:entile)?)[ _.]?(?P<a>\d{1,2}(?:\.\d+)?)"
    r"|(?P<b>\d{1,2}(?:\.\d+)?) ?%"
    r"|(?P<c>\d{1,2})(?:st|nd|rd|th) (?:percentile|quantile|centile)",
    re.I,
)
_SURE = 1 - 1e-9
_FEW, _SLACK = 2, 1e-9


@dataclass(frozen=True)
class StatedFacts:
    """What the researcher says of an output beside the file."""

    numbers: Mapping[str, float]

    @classmethod
    def of(cls, texts: Sequence[str]) -> StatedFacts:
        """Facts as ``observations = 120``; raises ``InputError`` for what is none."""
        found = {}
        for text in texts:
            name, _, value = text.partition("=")
            fact = next((key for key, it in _LABELS.items() if it.fullmatch(name.strip())), None)
            number = _number_in(value)
            if fact is None or number is None:
                msg = f"{text!r} cannot be read; say one of {', '.join(_LABELS)} = NUMBER"
                raise InputError(msg)
            found[fact] = number
        return cls(found)


def refused_outputs(grid: TableGrid, units: int, stated: StatedFacts) -> tuple[str, ...] | None:
    """Why a model or a table of quantiles may not leave; None where the grid is neither.

    ``units`` is the fewest observations, degrees of freedom, and units beside a quantile.
    """
    if _is_model(grid):
        return tuple(_of_model(grid, units, stated))
    quantiles = _Quantiles.of(grid)
    return None if quantiles is None else tuple(quantiles.refusals(units, stated))


def _number_in(text: str) -> float | None:
    found = _NUMBER.fullmatch(text.strip().rstrip("*†‡ ").strip("()"))
    if found is None:
        return None
    return float(re.sub(r"[,\u2019' ]", "", found.group()).replace("\u2212", "-"))


# -- models ---------------------------------------------------------------------------------------


def _is_model(grid: TableGrid) -> bool:
    """Whether one row has headings of coefficients and errors, or it states the fit of a model."""
    for row in grid.rows:
        named = [text for text in row if text]
        if any(map(_COEFFICIENT.fullmatch, named)) and any(map(_ERROR.fullmatch, named)):
            return True
    labels = {fact for fact, _ in _facts(grid)}
    return _FIT in labels and bool({_OBSERVATIONS, _FREEDOM} & labels)


def _facts(grid: TableGrid) -> Iterator[tuple[str, float]]:
    """What the grid states: a label with numbers behind it, in the same text or to its right."""
    for row in grid.rows:
        for place, text in enumerate(row):
            label, mark, value = (
                re.split(r"([:=])", text, maxsplit=1)
                if re.search(r"[:=]", text)
                else (text, "", "")
            )
            fact = next((key for key, it in _LABELS.items() if it.fullmatch(label.strip())), None)
            if fact is None:
                continue
            if mark and (number := _number_in(value)) is not None:
                yield fact, number
                continue
            for other in row[place + 1 :]:
                number = _number_in(other)
                if number is not None:
                    yield fact, number
                elif other.strip():
                    break


def _of_model(grid: TableGrid, units: int, stated: StatedFacts) -> Iterator[str]:
    facts: dict[str, list[float]] = {}
    for fact, number in _facts(grid):
        facts.setdefault(fact, []).append(number)
    for fact, number in stated.numbers.items():
        facts[fact] = [number]
    terms, errors = _terms(grid)
    observations = min(facts.get(_OBSERVATIONS, ()), default=None)
    freedom = min(facts.get(_FREEDOM, ()), default=None)
    if observations is not None and terms:
        freedom = min(x for x in (freedom, observations - len(terms)) if x is not None)
    if observations is None:
        yield "the number of observations is not stated"
    elif observations < units:
        yield f"the model has {observations:,.0f} observations, fewer than {units:,}"
    if freedom is None:
        yield "neither degrees of freedom nor observations and coefficients are stated"
    elif freedom < units:
        yield f"{max(freedom, 0):,.0f} residual degrees of freedom are left, fewer than {units:,}"
    perfect = max(facts.get(_FIT, ()), default=0.0) >= _SURE
    if perfect or (errors and not any(errors)) or (freedom is not None and freedom <= 0):
        yield "the model is saturated: it gives the values of its data back"
    yield from _means(terms, facts.get(_UNITS, ()), units)


def _means(terms: Sequence[str], smallest: Sequence[float], units: int) -> Iterator[str]:
    """A model of the values of one column is a table of means."""
    read = [_DUMMY.fullmatch(term) for term in terms if not _INTERCEPT.fullmatch(term)]
    columns = {one["column"].strip() for one in read if one is not None}
    if not read or None in read or len(columns) > 1:
        return
    if not smallest:
        yield (
            f"all terms are values of {min(columns)!r}, so that coefficients are means of groups; "
            f"the {_UNITS} are not stated"
        )
    elif min(smallest) < units:
        yield f"coefficients are means of groups, and one of them has fewer than {units:,} units"


def _terms(grid: TableGrid) -> tuple[list[str], list[float]]:
    """The terms of a table of coefficients, and their standard errors."""
    for number, row in enumerate(grid.rows):
        at = next((p for p, text in enumerate(row) if _COEFFICIENT.fullmatch(text)), None)
        if at is None or not any(map(_ERROR.fullmatch, row)):
            continue
        error = next((p for p, text in enumerate(row) if _STANDARD_ERROR.fullmatch(text)), None)
        terms, errors = [], []
        for below in grid.rows[number + 1 :]:
            is_fact = any(it.fullmatch(below[0].strip(" :")) for it in _LABELS.values())
            if is_fact or _number_in(below[at]) is None or not below[0]:
                continue
            terms.append(below[0])
            if error is not None and (value := _number_in(below[error])) is not None:
                errors.append(value)
        return terms, errors
    return [], []


# -- quantiles ------------------------------------------------------------------------------------


def _share(label: str) -> float | None:
    """Which quantile a label names; 0 for an extreme value."""
    text = label.strip(" :").lower()
    if _EXTREME.fullmatch(text):
        return 0.0
    if text in _QUANTILES:
        return _QUANTILES[text]
    found = _PERCENT.fullmatch(text)
    if found is None:
        return None
    return float(next(it for it in found.groups() if it is not None)) / 100


@dataclass(frozen=True)
class _Quantiles:
    """A table of quantiles: a line for each group, with the number of its units."""

    groups: tuple[tuple[str, float | None], ...]
    """What each group is called, and its units as far as they are stated."""
    shares: tuple[tuple[str, float], ...]
    """What each quantile is called, and its share; 0 for an extreme value."""

    @classmethod
    def of(cls, grid: TableGrid) -> _Quantiles | None:
        """Quantiles stand in the first row, or in the first column."""
        for rows in (grid.rows, tuple(zip(*grid.rows, strict=True))):
            shares = [(text, share) for text in rows[0] if (share := _share(text)) is not None]
            named = {text.strip(" :").lower() for text in rows[0]}
            if len(shares) < _FEW or "q4" in named or {"q1", "q2"} <= named:  # of a year
                continue
            counted = next(
                (p for p, text in enumerate(rows[0]) if _LABELS[_OBSERVATIONS].fullmatch(text)),
                None,
            )
            groups = tuple(
                (row[0], None if counted is None else _number_in(row[counted])) for row in rows[1:]
            )
            return cls(groups, tuple(shares))
        return None

    def refusals(self, units: int, stated: StatedFacts) -> Iterator[str]:
        """Why it may not leave, a sentence each."""
        for name, share in self.shares:
            if not share:
                yield f"{name!r} is a value of a single unit; leave it out"
        shares = sorted({share for _, share in self.shares if share})
        gaps = [b - a for a, b in zip([0.0, *shares], [*shares, 1.0], strict=True)]
        for group, counted in self.groups:
            number = counted if counted is not None else stated.numbers.get(_OBSERVATIONS)
            if number is None:
                yield f"the number of units of {group or 'the table'!r} is not stated"
            elif shares and number * min(gaps) < units - _SLACK:
                yield (
                    f"{group!r}: with {number:,.0f} units, fewer than {units:,} lie below, "
                    "above or between its quantiles"
                )
