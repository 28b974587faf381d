"""The privacy-utility frontier: the studies that no other beats in both risk and loss.

A study is beaten where another has no more risk and no more loss, and less of one of them.  Studies
that are alike in both stand on the frontier together, or none does.

Cost: a sort of the n studies.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import inf

from voile.errors import InputError, nearest
from voile.study.rates import Rates, rates_of
from voile.study.record import Better, StudyRecord

__all__ = ["GAIN", "WORST", "frontier", "known_risks", "loss_of", "most_common_loss", "risk_of"]

WORST = "worst"
"""The largest success rate of all attacks."""
GAIN = "gain"
"""What the best attack finds beyond guessing; see ``risk_of``."""

_USUAL = ("trip-arrival", "trip-displacement", "pair-total-variation")
"""Which of several measures is taken unless one is asked for, the first first: those of trips for
trips, and of other tables the one that every method changes."""


def frontier(places: Mapping[str, tuple[float, float]]) -> tuple[str, ...]:
    """Names of the points that no other beats, by ascending risk; ``places`` are (risk, loss).

    Lower is better in both.
    """
    chosen: list[str] = []
    least = inf
    best: tuple[float, float] | None = None
    for name, place in sorted(places.items(), key=lambda item: item[1]):
        if place == best or place[1] < least:
            chosen.append(name)
            best, least = place, place[1]
    return tuple(chosen)


def risk_of(record: StudyRecord, risk: str) -> float | None:
    """A measure of risk of a study, from 0 to 1; None where it was not attacked so.

    None, too, where the record lacks a figure of an attack that counts: the largest of the others
    would call the study safer than anybody knows it to be.

    "worst": the largest success rate of all attacks.  "gain": of all attacks, the largest share of
    what guessing leaves open that the attack finds, (success - baseline) / (1 - baseline), which
    puts attacks on truths that are easy to guess and those on others on one scale; at least 0.
    Otherwise the success rate of the attack of that name.
    """
    found = [
        rates_of(attack) for attack in record.attacks if risk in (GAIN, WORST, attack["attack"])
    ]
    rates = [one for one in found if one is not None]
    if len(rates) < len(found):
        return None
    if risk == GAIN:
        return max((_gain(one) for one in rates if one.baseline < 1), default=None)
    return max((one.success for one in rates), default=None)


def loss_of(record: StudyRecord, loss: str) -> float | None:
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
    return (GAIN, WORST, *attacks)


def _gain(rates: Rates) -> float:
    return max(0.0, (rates.success - rates.baseline) / (1 - rates.baseline))
