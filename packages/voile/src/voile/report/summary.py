"""What a study or a comparison came to, in a few plain sentences built from its numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from voile.report.figures.frontier import Placed
from voile.report.grid import risk_title
from voile.report.reading import AttackReading, MeasureReading, attacks_of, measures_of
from voile.report.words import (
    NOTHING,
    clipped,
    counted,
    listed,
    number,
    one_in,
    percent,
    spoken,
    times,
    value_text,
)
from voile.schema.persons import units_told
from voile.study.record import Rates, StudyComparison, StudyRecord
from voile_base.randomness import UNFIT

__all__ = ["comparison_summary", "method_text", "study_summary"]


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


def method_text(method: Mapping[str, Any]) -> str:
    """A method with its plain parameters: "ke-anonymity (k = 3, e = 2000)"."""
    settings = [
        f"{key} = {value_text(value)}"
        for key, value in method.items()
        if key not in {"name", "decision"} and isinstance(value, str | int | float)
    ]
    stated = f" ({', '.join(settings)})" if settings else ""
    return f"{method.get('name', 'no method')}{stated}"


def _published(record: StudyRecord) -> str:
    release = record.release
    rows, rows_in = number(release["rows"]), number(record.publication["rows_in"])
    warning = "" if release["publishable"] else _UNFIT
    return (
        f"{rows} of {rows_in} rows{persons_text(record)} were published by "
        f"{method_text(release['method'])}.{warning}"
    )


def persons_text(record: StudyRecord) -> str:
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
        f"{_spoken(name)}, {verb} for {percent(rates.success)} of "
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
    scale = "On the way from untouched (0 %) to useless (100 %)".replace(
        " %", "\N{NO-BREAK SPACE}%"
    )
    if len(placed) == 1:
        yield f"{scale}, the release is at {percent(least)} by {_named(first.title)}."
        return
    yield (
        f"{scale}, the release is at {percent(least)} by the kindest of {len(placed)} measures "
        f"({_named(first.title)}), and at {percent(most)} by the harshest ({_named(last.title)})."
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
    one = len(record.attacks_skipped) + len(record.utility_skipped) == 1
    say = "makes no sense here and was skipped" if one else "make no sense here and were skipped"
    return f"{' and '.join(parts)} {say}."


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
