"""The studies of a grid side by side: what was measured where, and along which parameter.

What a study or a comparison came to, in a few plain sentences built from its numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from voile.report.figures.grids import CurveParameter, Placed
from voile.report.words import (
    NOTHING,
    AttackReading,
    MeasureReading,
    Share,
    as_number,
    attacks_of,
    clipped,
    counted,
    listed,
    measures_of,
    number,
    one_in,
    percent,
    printable,
    spoken,
    times,
    value_text,
)
from voile.schema.persons import units_told
from voile.study.frontier import FrontierRisk, risk_of_point
from voile.study.record import Point, Rates, StudyComparison, StudyRecord
from voile_base.ondemand import dataclass
from voile_base.randomness import UNFIT

__all__ = [
    "GridSeries",
    "Sweep",
    "comparison_summary",
    "findings_of",
    "parameter_name",
    "placed_points",
    "risk_title",
    "study_summary",
    "sweep_of",
]


_COMMON = ("method.name", "plan")
"""Parameters that others mostly imply."""
_RISKS = {
    "prosecutor": "re-identification risk (average person)",
    "worst-person": "re-identification risk (worst person)",
    "worst": "success of the best attack",
    "gain": "what the best attack finds of what guessing leaves open",
}


@dataclass(frozen=True)
class GridSeries:
    """One attack or one measure over the points of a grid."""

    name: str
    title: str
    attack: bool
    lower_is_better: bool
    """Measures of which the record does not say it are no findings."""
    values: Mapping[int, float]
    """By the place of the point in the comparison."""
    baselines: Mapping[int, float]
    """Of an attack: the success of guessing at each of these points."""
    intervals: Mapping[int, tuple[float, float]] = field(default_factory=dict)
    """Of an attack: the interval of confidence of each value."""

    def shown(self, value: float) -> float:
        """The value as tables show it: rates in percent."""
        return Share(value) if self.attack else value

    def best(self) -> tuple[float, tuple[int, ...]]:
        """The best value and the points that have it, or are tied with it; there is a value."""
        value = (min if self.lower_is_better else max)(self.values.values())
        best = self._risk(next(place for place, held in self.values.items() if held == value))
        return value, tuple(
            place
            for place, held in self.values.items()
            if held == value or self._risk(place).is_tied_with(best)
        )

    def _risk(self, place: int) -> FrontierRisk:
        value = self.values[place]
        return FrontierRisk(value, *self.intervals.get(place, (value, value)))


@dataclass(frozen=True)
class Sweep:
    """The parameter along which points are drawn, and the lines that join them."""

    parameter: CurveParameter
    place_of: Mapping[int, int]
    """Which value of the parameter a point has; points without one are left out."""
    line_of: Mapping[int, int]
    """To which line a point belongs."""
    lines: tuple[str, ...]
    """What the lines are called: the settings of the other parameters."""


def findings_of(comparison: StudyComparison) -> tuple[GridSeries, ...]:
    """Everything that at least one study measured: attacks first, in the order they appear."""
    attacks: dict[str, dict[int, Rates]] = {}
    measures: dict[str, dict[int, float]] = {}
    said: dict[str, tuple[str, bool]] = {}
    for place, record in _records(comparison):
        for attack in attacks_of(record):
            if attack.rates is not None:
                attacks.setdefault(attack.name, {})[place] = attack.rates
        for measure in measures_of(record):
            name, value = measure.document["measure"], measure.document["value"]
            if value is not None:
                measures.setdefault(name, {})[place] = value
                said.setdefault(name, (measure.title, measure.document["better"] == "lower"))
    return (
        *(
            GridSeries(
                name,
                spoken(name),
                attack=True,
                lower_is_better=True,
                values={place: rates.success for place, rates in held.items()},
                baselines={place: rates.baseline for place, rates in held.items()},
                intervals={place: (rates.low, rates.high) for place, rates in held.items()},
            )
            for name, held in attacks.items()
        ),
        *(
            GridSeries(name, said[name][0], False, said[name][1], held, {})
            for name, held in measures.items()
        ),
    )


def risk_title(comparison: StudyComparison) -> str:
    """The measure of risk as a reader sees it."""
    return _RISKS.get(comparison.risk) or f"success of {spoken(comparison.risk).lower()}"


def placed_points(comparison: StudyComparison) -> dict[int, Placed]:
    """Points that have both a risk and a loss, by their place in the comparison.

    Points whose releases are the same are one, which has the names of all of them.
    """
    best = set(comparison.frontier)
    labels = _told_apart([_parts(point) for point in comparison.points])
    risks = {point.name: risk_of_point(point) for point in comparison.points}
    alike: dict[str, list[int]] = {}
    for place, point in enumerate(comparison.points):
        if risks[point.name] is not None and point.loss is not None:
            alike.setdefault(point.same_as or point.name, []).append(place)
    placed: dict[int, Placed] = {}
    for first, places in alike.items():
        names = [printable(comparison.points[place].name) for place in places]
        short = [labels[place] or printable(comparison.points[place].name) for place in places]
        risk, loss = risks[first], comparison.points[places[0]].loss
        assert risk is not None
        assert loss is not None
        one = Placed(
            name=listed(names, 3, "; "),
            label=listed(short, 3, "; "),
            risk=risk.value,
            loss=loss,
            best=any(comparison.points[place].name in best for place in places),
            low=risk.low,
            high=risk.high,
        )
        placed |= dict.fromkeys(places, one)
    ties = _ties(one for one in placed.values() if one.best)
    return {place: replace(one, tied_with=ties.get(one.name, ())) for place, one in placed.items()}


def _ties(placed: Iterable[Placed]) -> dict[str, tuple[str, ...]]:
    """Of each release those further on whose risk cannot be told from its own."""
    ascending = sorted({one.name: one for one in placed}.values(), key=lambda one: one.risk)
    return {
        one.name: tuple(
            other.name
            for other in ascending[place + 1 :]
            if one.as_risk.is_tied_with(other.as_risk)
        )
        for place, one in enumerate(ascending)
    }


def _parts(point: Point) -> dict[str, str]:
    """Each parameter in short: numbers with their name, "k = 5", other settings as they are."""
    return {
        name: printable(
            value_text(value) if as_number(value) is None else f"{parameter_name(name)} = {value}"
        )
        for name, value in point.parameters.items()
    }


def _told_apart(settings: Sequence[Mapping[str, str]]) -> list[str]:
    """Short names of settings: what a plan and its method are called only where that is needed."""
    names = [""] * len(settings)
    for used in ((), _COMMON[:1], _COMMON):
        shown = [
            ", ".join(
                [text for name, text in parts.items() if name not in _COMMON]
                + [parts[name] for name in used if name in parts]
            )
            for parts in settings
        ]
        for place, name in enumerate(shown):
            alike = (settings[i] for i, other in enumerate(shown) if other == name)
            unique = all(parts == settings[place] for parts in alike)
            if name and not names[place] and (unique or used == _COMMON):
                names[place] = name
    return names


def sweep_of(comparison: StudyComparison) -> Sweep | None:
    """Along which parameter to draw: the one with the most numbers, else the most settings.

    None where there are fewer than two points to draw.
    """
    places = [place for place, _ in _records(comparison)]
    if len(places) < 2:
        return None
    swept = {name: values for name, values in comparison.swept.items() if len(values) > 1} or None
    if swept is None:
        names = tuple(printable(comparison.points[place].name) for place in places)
        places_of = {place: index for index, place in enumerate(places)}
        return Sweep(
            CurveParameter("release", None, names), places_of, dict.fromkeys(places, 0), ("",)
        )
    chosen = max(swept, key=lambda name: (_numbers(swept[name]) is not None, len(swept[name])))
    numbers = _numbers(swept[chosen])
    order: list[Any]
    if numbers is not None:
        order = sorted(set(numbers))
        labels = tuple(number(value) for value in order)
    else:
        order = list(dict.fromkeys(map(value_text, swept[chosen])))
        labels = tuple(map(printable, order))
    values = None if numbers is None else tuple(order)
    parameter = CurveParameter(parameter_name(chosen), values, labels)
    others = [name for name in swept if name != chosen]
    place_of, line_of, lines = {}, {}, dict[tuple[tuple[str, str], ...], int]()
    for place in places:
        parameters = comparison.points[place].parameters
        if chosen not in parameters:
            continue
        held = parameters[chosen]
        key: Any = as_number(held) if numbers is not None else value_text(held)
        if key in order:
            place_of[place] = order.index(key)
            setting = tuple(_setting(comparison.points[place], others).items())
            line_of[place] = lines.setdefault(setting, len(lines))
    if not place_of:
        return None
    return Sweep(parameter, place_of, line_of, tuple(_told_apart([dict(key) for key in lines])))


def parameter_name(name: str) -> str:
    """A swept parameter as a reader sees it: "k" for "method.k"."""
    return printable(name.removeprefix("method."))


def _records(comparison: StudyComparison) -> Iterator[tuple[int, StudyRecord]]:
    for place, point in enumerate(comparison.points):
        if point.record is not None:
            yield place, point.record


def _numbers(values: Sequence[object]) -> list[float] | None:
    numbers = [as_number(value) for value in values]
    found = [value for value in numbers if value is not None]
    return found if len(found) == len(numbers) else None


def _setting(point: Point, others: Sequence[str]) -> dict[str, str]:
    return {
        name: f"{parameter_name(name)} = {clipped(value_text(point.parameters[name]), 240, 13)}"
        for name in others
        if name in point.parameters
    }


_STATUS = {"wrong": "with a wrong plan or input"}
_UNFIT = f" It must not be published: {UNFIT}."


def study_summary(record: StudyRecord) -> tuple[str, ...]:
    """Sentences on one study: what was published, the best attack, what is left of the data."""
    return tuple(
        sentence
        for sentence in (
            _published(record),
            *_attacked(attacks_of(record)),
            *_useful(measures_of(record)),
            _skipped(record),
        )
        if sentence
    )


def comparison_summary(
    comparison: StudyComparison, loss: str, placed: Mapping[int, Placed]
) -> tuple[str, ...]:
    """Sentences on a grid: how many studies, the ends of the frontier."""
    return tuple(_compared(comparison, loss, placed))


def _method_text(method: Mapping[str, object]) -> str:
    """A method with its plain parameters: "ke-anonymity (k = 3, e = 2000)"."""
    told = {key: value for key, value in method.items() if key not in {"name", "decision"}}
    settings = [
        f"{key} = {value_text(value)}"
        for key, value in told.items()
        if isinstance(value, str | int | float) or key in {"l", "t"}
    ]
    stated = f" ({', '.join(settings)})" if settings else ""
    return f"{method.get('name', 'no method')}{stated}"


def _published(record: StudyRecord) -> str:
    release = record.release
    rows, rows_in = number(release["rows"]), number(record.publication["rows_in"])
    warning = "" if release["publishable"] else _UNFIT
    return (
        f"{rows} of {rows_in} rows{_persons_text(record)} were published by "
        f"{_method_text(release['method'])}.{warning}"
    )


def _persons_text(record: StudyRecord) -> str:
    """Whose the rows are, as part of a sentence on them; empty where each row is another person."""
    said = record.publication
    if "units_in" not in said or "protected" not in said:
        return ""
    there = units_told(said["protected"], said["units_in"])
    if (out := said.get("units_out")) is None:
        return f", of {there},"
    return f", of {number(out)} of {there},"


def _attacked(attacks: tuple[AttackReading, ...]) -> Iterator[str]:
    if not attacks:
        yield "No attack was run on this release, so nothing is known of what it gives away."
        return
    measured = {attack.name: attack.rates for attack in attacks if attack.rates is not None}
    if measured:
        yield from _best_attacks(measured)
    if missing := [_spoken(attack.name) for attack in attacks if attack.rates is None]:
        yield (
            f"How often {listed(missing, 4)} {'succeeds' if len(missing) == 1 else 'succeed'} was "
            "not measured: the record lacks figures."
        )


def _best_attacks(attacks: Mapping[str, Rates]) -> Iterator[str]:
    beating = {name: rates for name, rates in attacks.items() if rates.beats_guessing}
    if not beating:
        does = "The attack does no" if len(attacks) == 1 else f"None of {len(attacks)} attacks does"
        most = max(attacks.values(), key=lambda rates: rates.targets)
        yield f"{does} better than guessing, as far as {most.told_targets} can tell."
        return
    best = max(beating, key=lambda name: beating[name].success)
    yield f"The attack that finds most, {_of(best, beating[best])}."
    ratio = max(beating, key=lambda name: beating[name].times or float("inf"))
    if ratio != best:
        yield f"The attack that gains most over guessing, {_of(ratio, beating[ratio])}."
    if len(beating) < len(attacks):
        names = [_spoken(name) for name in attacks if name not in beating]
        does = "does" if len(names) == 1 else "do"
        yield f"{_sentence(listed(names, 4))} {does} no better than guessing."


def _of(name: str, rates: Rates) -> str:
    often = one_in(rates.success)
    verb = "succeeds" if rates.counted else "by its own reckoning succeeds"
    ratio = times(rates.times)
    told = "" if ratio == NOTHING else f", so it is {ratio} as good"
    return (
        f"{_spoken(name)}, {verb} for {rates.told(percent(rates.success))} of "
        f"{rates.told_targets}{f' ({often})' if often else ''}; guessing "
        f"does for {percent(rates.baseline)}{told}"
    )


def _spoken(name: str) -> str:
    return _named(spoken(name).lower())


def _useful(measures: tuple[MeasureReading, ...]) -> Iterator[str]:
    if not measures:
        yield "Nothing was measured of what the release is still good for."
        return
    placed = sorted(
        ((lost, measure) for measure in measures if (lost := measure.lost) is not None),
        key=lambda pair: pair[0],
    )
    if not placed:
        return
    (least, first), (most, last) = placed[0], placed[-1]
    least, most = max(least, 0.0), max(most, 0.0)  # what predicts better than before loses nothing
    scale = "from untouched (0 %) to useless (100 %)".replace(" %", "\N{NO-BREAK SPACE}%")
    if len(placed) == 1:
        yield f"{_named(first.title)} lost {percent(least)}, {scale}."
        return
    yield (
        f"Of {len(placed)} measures of utility {_named(first.title)} lost least, {percent(least)}, "
        f"and {_named(last.title)} most, {percent(most)}, {scale}."
    )


def _named(name: str) -> str:
    """A name in a sentence, cut where it is longer than a line."""
    return clipped(name, 80, 1.5)


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _skipped(record: StudyRecord) -> str:
    parts = [
        counted(len(skipped), noun)
        for skipped, noun in (
            (record.attacks_skipped, "attack"),
            (record.utility_skipped, "measure"),
        )
        if skipped
    ]
    if not parts:
        return ""
    return f"Not applicable: {', '.join(parts)}."


def _compared(
    comparison: StudyComparison, loss: str, placed: Mapping[int, Placed]
) -> Iterator[str]:
    points = comparison.points
    done = sum(point.record is not None for point in points)
    other: dict[str, int] = {}
    for point in points:
        if point.record is None:
            other[point.status] = other.get(point.status, 0) + 1
    rest = "".join(f", {count:,} {_STATUS.get(name, name)}" for name, count in other.items())
    yield f"{counted(len(points), 'study', 'studies')} of one grid: {done:,} done{rest}."
    for notice in comparison.notices:
        yield f"{_sentence(notice.rstrip('.'))}."
    if not placed:
        yield "No study has both a risk and a loss, so there is no frontier."
        return
    yield (
        f"Risk: {risk_title(comparison)}. Loss: {loss} "
        f"({'higher' if comparison.loss_better == 'higher' else 'lower'} is better)."
    )
    releases = tuple(dict.fromkeys(placed.values()))
    if len(releases) < len(placed):
        yield (
            f"The {len(placed):,} studies made {counted(len(releases), 'different release')}: "
            "those that show the very same rows are one point."
        )
    best = sorted((p for p in releases if p.best), key=lambda p: p.risk)
    if not best:
        return
    safest, useful = best[0], best[-1]
    if len(best) == 1:
        yield (
            f"{_named(safest.name)} {_alone(safest, releases)}, with a risk of "
            f"{percent(safest.risk)} and a loss of {number(safest.loss)}."
        )
        return
    yield (
        f"{len(best):,} of {len(releases):,} releases are on the frontier: no other is both safer "
        f"and more useful. {_safest(safest, loss)}; the most useful, "
        f"{_named(useful.name)}, {percent(useful.risk)} and {number(useful.loss)}."
    )


def _alone(found: Placed, releases: Sequence[Placed]) -> str:
    """What one release that is alone on the frontier has over all others, as far as is known."""
    others = [one for one in releases if one is not found]
    if not others:
        return "is the only release"
    if any(one.as_risk.is_tied_with(found.as_risk) for one in others):
        return "has the best loss, and no other is clearly safer"
    return "beats every other in both"


def _safest(found: Placed, loss: str) -> str:
    """The release of the least risk, unless sampling may have put it before others."""
    figures = f"{percent(found.risk)} and {loss} {number(found.loss)}"
    if not found.tied_with:
        return f"The safest of them, {_named(found.name)}, has a risk of {figures}"
    others = listed([_named(name) for name in found.tied_with], 3, "; ")
    return (
        f"Which is the safest cannot be told: {_named(found.name)}, with a risk of {figures}, is "
        f"tied with {others}, as the risks differ by less than their intervals of confidence"
    )
