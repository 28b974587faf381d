"""The privacy-utility frontier: the studies that no other beats in both risk and loss.

Risks are estimates, unless they were counted in closed form, and two that differ by less than their
intervals allow are **tied**: neither is called the safer one.  They are where the interval of their
difference holds 0; that is the square-and-add interval of two independent shares, which follows
from their own intervals of 95 % (Newcombe, "Interval estimation for the difference between
independent proportions", Statistics in Medicine 17, 1998, method 10).

A study is beaten where another has less loss and no more risk, or no more loss and clearly less
risk.  So studies that are alike in loss and tied in risk stand on the frontier together, or none
does.

Cost: O(n log n) for the n studies, and O(n t) where t of them have one loss.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from math import hypot, inf

from voile.study.record import Better, Point, Rates, StudyComparison, StudyRecord, rates_of
from voile_base.errors import InputError, nearest
from voile_base.ondemand import dataclass

__all__ = [
    "PROSECUTOR",
    "WORST_PERSON",
    "FrontierRisk",
    "by_risk",
    "frontier",
    "known_risks",
    "most_common_loss",
    "risk_of_point",
    "usual_risk",
]

_WORST = "worst"
"""The largest success rate of all attacks."""
_GAIN = "gain"
"""What the best attack finds beyond guessing; see ``_risk_of``."""

PROSECUTOR = "prosecutor"
"""The mean probability that a person who is known to be there is told from the others."""

_JOURNALIST = "journalist"
WORST_PERSON = "worst-person"
"""The largest probability with which the prosecutor or the journalist finds a person: what
thresholds of practice are about (``study.verdict``)."""

_USUAL = ("trip-arrival", "trip-displacement", "pair-total-variation")
"""Which of several measures is taken unless one is asked for, the first first: those of trips for
trips, and of other tables the one that every method changes."""


@dataclass(frozen=True)
class FrontierRisk:
    """A risk between 0 and 1, and an interval of confidence around it."""

    value: float
    low: float
    high: float

    def is_tied_with(self, other: FrontierRisk) -> bool:
        """Whether the difference of both is within its interval of confidence."""
        less, more = sorted((self, other), key=lambda risk: risk.value)
        return more.value - less.value <= hypot(more.value - more.low, less.high - less.value)

    @classmethod
    def exactly(cls, value: float) -> FrontierRisk:
        """A risk that was counted."""
        return cls(value, value, value)


def frontier(places: Mapping[str, tuple[FrontierRisk, float]]) -> tuple[str, ...]:
    """Names of the points that no other beats, by ascending risk; ``places`` are (risk, loss).

    Lower is better in both.
    """
    chosen: list[str] = []
    least = inf
    by_loss = sorted(places.items(), key=lambda item: (item[1][1], item[1][0].value))
    for _, held in groupby(by_loss, key=lambda item: item[1][1]):
        alike = [(name, risk) for name, (risk, _) in held]
        chosen += [
            name
            for name, risk in alike
            if risk.value < least
            and all(risk.value <= r.value or risk.is_tied_with(r) for _, r in alike)
        ]
        least = min(least, *(risk.value for _, risk in alike))
    return tuple(sorted(chosen, key=lambda name: (places[name][0].value, places[name][1])))


def _risk_of(record: StudyRecord, risk: str) -> FrontierRisk | None:
    """A measure of risk of a study with its interval; None where it was not attacked so.

    None, too, where the record lacks a figure of an attack that counts: the largest of the others
    would call the study safer than anybody knows it to be.

    "worst": the largest success rate of all attacks.  "gain": of all attacks, the largest share of
    what guessing leaves open that the attack finds, (success - baseline) / (1 - baseline), which
    puts attacks on truths that are easy to guess and those on others on one scale; at least 0.
    "worst-person": the largest probability of a target of the prosecutor or of the journalist,
    counted on all.
    Otherwise the success rate of the attack of that name.
    """
    if risk == WORST_PERSON:
        return _worst_person(record)
    found = [
        rates_of(attack) for attack in record.attacks if risk in (_GAIN, _WORST, attack["attack"])
    ]
    rates = [one for one in found if one is not None]
    if len(rates) < len(found):
        return None
    if risk == _GAIN:
        found_risks = [_gain(one) for one in rates if one.baseline < 1]
    else:
        found_risks = [FrontierRisk(one.success, one.low, one.high) for one in rates]
    if not found_risks:
        return None
    ends = (max(getattr(one, end) for one in found_risks) for end in ("value", "low", "high"))
    return FrontierRisk(*ends)


def _worst_person(record: StudyRecord) -> FrontierRisk | None:
    """The greater of the prosecutor's and the journalist's, where that is counted on all, too.

    None where the prosecutor tried only some persons: another may be found more surely.
    """
    counted = {
        one["attack"]: rates.worst
        for one in record.attacks
        if one["attack"] in (PROSECUTOR, _JOURNALIST)
        and (rates := rates_of(one)) is not None
        and rates.exact
    }
    if counted.get(PROSECUTOR) is None:
        return None
    return FrontierRisk.exactly(max(one for one in counted.values() if one is not None))


def usual_risk(records: Sequence[StudyRecord]) -> str:
    """What studies are compared by unless it is said.

    The prosecutor's risk of re-identification, which falls as groups grow; or "gain" where a study
    lacks it, or where it is the same in all, as where quasi-identifiers stay as they are.
    """
    found = [_risk_of(record, PROSECUTOR) for record in records]
    different = {risk.value for risk in found if risk is not None}
    tells = None not in found and (len(different) > 1 or len(found) == 1)
    return PROSECUTOR if tells else _GAIN


def risk_of_point(point: Point) -> FrontierRisk | None:
    """The risk at which a point of a comparison stands; None where it has none."""
    if point.risk is None:
        return None
    low = point.risk if point.risk_low is None else point.risk_low
    high = point.risk if point.risk_high is None else point.risk_high
    return FrontierRisk(point.risk, low, high)


def by_risk(comparison: StudyComparison, risk: str) -> StudyComparison:
    """The same studies compared by a measure of risk; see ``_risk_of``."""
    points = tuple(_placed(comparison.points, risk, comparison.loss))
    sign = 1 if comparison.loss_better == "lower" else -1
    places = {
        point.name: (found, sign * point.loss)
        for point in points
        if (found := risk_of_point(point)) is not None and point.loss is not None
    }
    return replace(comparison, points=points, risk=risk, frontier=frontier(places))


def _placed(points: Sequence[Point], risk: str, loss: str) -> Iterator[Point]:
    """The points with risks and losses; of equal releases those of the first stand for all.

    What differs between studies of one release are the draws of the attacks, and nothing else.
    """
    first: dict[str, Point] = {}
    for point in points:
        if point.record is None:
            yield point
            continue
        shown = point.record.fingerprint
        if shown and shown in first:
            alike = first[shown]
            yield replace(
                point,
                risk=alike.risk,
                risk_low=alike.risk_low,
                risk_high=alike.risk_high,
                loss=alike.loss,
                same_as=alike.name,
            )
            continue
        found = _risk_of(point.record, risk)
        first[shown] = replace(
            point,
            risk=None if found is None else found.value,
            risk_low=None if found is None else found.low,
            risk_high=None if found is None else found.high,
            loss=_loss_of(point.record, loss),
        )
        yield first[shown]


def _loss_of(record: StudyRecord, loss: str) -> float | None:
    """The value of a measure of utility in a study; None where it has none."""
    values = (one["value"] for one in record.utility if one["measure"] == loss)
    return next((value for value in values if value is not None), None)


def most_common_loss(
    records: Sequence[StudyRecord], asked: str | None = None
) -> tuple[str, Better]:
    """The measure of utility to compare studies by, and whether "lower" or "higher" is better.

    By default the one that most studies have; of several the error of the time of arrival or the
    displacement of trips, the distance of pairs of columns, or else the first.  Empty where there
    is none.  Raises ``InputError`` for one that is asked for and that no study has.
    """
    better: dict[str, Better] = {}
    counts: dict[str, int] = {}
    for record in records:
        for measured in record.utility:
            name = measured["measure"]
            better.setdefault(name, measured["better"])
            counts[name] = counts.get(name, 0) + (measured["value"] is not None)
    if asked is not None and asked not in better:
        known = ", ".join(better) or "none"
        msg = f"no study has the measure {asked!r}{nearest(asked, better)} (known: {known})"
        raise InputError(msg)
    ranks = {name: -index for index, name in enumerate(_USUAL)}
    usual = max(counts, key=lambda name: (counts[name], ranks.get(name, -len(ranks))), default="")
    chosen = asked or usual
    return chosen, better.get(chosen, "lower")


def known_risks(attacks: Iterable[str]) -> tuple[str, ...]:
    """The measures of risk that there are where these attacks are run."""
    named = tuple(attacks)
    return (_GAIN, _WORST, *([WORST_PERSON] if PROSECUTOR in named else []), *named)


def _gain(rates: Rates) -> FrontierRisk:
    ends = (rates.success, rates.low, rates.high)
    return FrontierRisk(*(max(0.0, (end - rates.baseline) / (1 - rates.baseline)) for end in ends))
