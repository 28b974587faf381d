"""The studies of a grid side by side: what was measured where, and along which parameter."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from voile.report.figures.curves import CurveParameter, Line, Panel
from voile.report.figures.frontier import Placed
from voile.report.reading import attacks_of, measures_of
from voile.report.words import (
    Share,
    as_number,
    clipped,
    listed,
    number,
    printable,
    spoken,
    value_text,
)
from voile.study.frontier import FrontierRisk, risk_of_point
from voile.study.record import Point, Rates, StudyComparison, StudyRecord

__all__ = [
    "GridSeries",
    "Sweep",
    "findings_of",
    "loss_title",
    "panels_of",
    "parameter_name",
    "placed_points",
    "risk_title",
    "sweep_of",
]

_COMMON = ("method.name", "plan")
"""Parameters that others mostly imply."""
_RISKS = {
    "prosecutor": "re-identification (prosecutor), mean over all",
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


def loss_title(comparison: StudyComparison, findings: Sequence[GridSeries]) -> str:
    """The measure of loss as a reader sees it."""
    titles = (f.title for f in findings if not f.attack and f.name == comparison.loss)
    return next(titles, spoken(comparison.loss) or "none")


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


def panels_of(findings: Sequence[GridSeries], sweep: Sweep) -> Iterator[tuple[GridSeries, Panel]]:
    """What each attack and each measure came to along the sweep."""
    for index, finding in enumerate(findings):
        held: dict[int, list[int]] = {}
        for place in sorted(finding.values, key=lambda place: sweep.place_of.get(place, -1)):
            if place in sweep.place_of:
                held.setdefault(sweep.line_of[place], []).append(place)
        lines = tuple(
            Line(
                sweep.lines[line],
                line,
                tuple((sweep.place_of[place], finding.values[place]) for place in places),
                tuple(finding.baselines[place] for place in places if finding.attack),
            )
            for line, places in sorted(held.items())
        )
        if lines:
            yield finding, Panel(f"curve-{index}", finding.title, lines, finding.attack)


def parameter_name(name: str) -> str:
    """A swept parameter as a reader sees it: "k" for "method.k"."""
    return printable(name.removeprefix("method."))


def _records(comparison: StudyComparison) -> Iterator[tuple[int, StudyRecord]]:
    for place, point in enumerate(comparison.points):
        if point.record is not None:
            yield place, point.record


def _numbers(values: Sequence[Any]) -> list[float] | None:
    numbers = [as_number(value) for value in values]
    found = [value for value in numbers if value is not None]
    return found if len(found) == len(numbers) else None


def _setting(point: Point, others: Sequence[str]) -> dict[str, str]:
    return {
        name: f"{parameter_name(name)} = {clipped(value_text(point.parameters[name]), 240, 13)}"
        for name in others
        if name in point.parameters
    }
