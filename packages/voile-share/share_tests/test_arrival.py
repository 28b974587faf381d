"""Intervals of arrival hold as many arrivals as they say, and are none where nobody can say."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom
from scipy.stats import t as student

from voile_base.errors import InputError
from voile_share.arrival import ArrivalInterval, ArrivalTable, LeftOut, Past, SharedPosition

TRIALS, PARCELS = 400, 8
WANTED = 0.9
SIZE = 1e-4
"""Of a test: how often it fails where the promise holds."""


def tours(
    number: int,
    generator: np.random.Generator,
    between: float = 0.5,
    within: float = 0.2,
    parcels: int = PARCELS,
) -> list[Past]:
    """Tours at speeds of their own, which all parcels of one have in common."""
    made = []
    for name in range(number):
        slow = between * generator.standard_normal()
        for _ in range(parcels):
            metres = generator.uniform(4_800, 5_200, 3)
            late = 1_200 * np.exp(slow + within * generator.standard_normal(3))
            made.append(Past(metres.tolist(), late.tolist(), (), f"{name}"))
    return made


def at(metres: float, **more: float) -> SharedPosition:
    return SharedPosition(0.0, metres, **more)


def held(number: int, *, as_tours: bool = True, next_between: float = 0.5) -> int:
    """Of next tours, each after a past of its own: how many arrivals the interval holds."""
    count = 0
    for trial in range(TRIALS):
        past = tours(number, np.random.default_rng([2023, trial]))
        if not as_tours:
            past = [Past(one.metres, one.seconds) for one in past]
        (after,) = tours(1, np.random.default_rng([2024, trial]), next_between, parcels=1)
        interval = ArrivalTable.fit(past).forecast(at(after.metres[0]))
        assert interval is not None
        count += interval.low <= after.seconds[0] <= interval.high
    return count


@pytest.mark.slow
@pytest.mark.parametrize("number", [3, 5, 12, 30])
def test_the_next_tour_arrives_within_its_interval_as_often_as_is_said(number):
    """After 3, 5, 12 and 30 tours of 8 parcels as many are held as of a coin of 90 %, or more."""
    assert held(number) >= binom.ppf(SIZE, TRIALS, WANTED)


@pytest.mark.slow
def test_parcels_that_are_taken_for_tours_are_found_out_by_the_same_test():
    """With each parcel as a tour of its own, as it was before, five tours hold far fewer."""
    assert held(5, as_tours=False) < binom.ppf(SIZE, TRIALS, WANTED)


@pytest.mark.slow
def test_a_tour_that_is_not_like_the_past_is_found_out_by_the_same_test():
    """The promise rests on later tours that are like past ones: of others fewer are held."""
    assert held(30, next_between=1.5) < binom.ppf(SIZE, TRIALS, WANTED)


def test_the_interval_is_the_students_t_of_the_tours_means():
    """For three tours, by the formula, from the times alone."""
    times = ([600.0, 660.0], [900.0], [1_200.0, 1_500.0, 1_300.0])
    past = [Past([5_000.0] * len(one), one, (), f"{at}") for at, one in enumerate(times)]
    y = [np.log(np.array(one) + 60) for one in times]
    means = np.array([one.mean() for one in y])
    spread = means.var(ddof=1) * (1 + 1 / 3) + np.mean([one.var() for one in y])
    reach = student.ppf(0.95, 2) * math.sqrt(spread)
    found = ArrivalTable.fit(past).forecast(at(5_000.0))
    assert found is not None
    assert found.tours == 3
    assert found.low == pytest.approx(math.exp(means.mean() - reach) - 60)
    assert found.high == pytest.approx(math.exp(means.mean() + reach) - 60)


def test_from_twelve_tours_on_they_weigh_by_their_forecasts():
    """A tour of 30 positions moves the middle more than one of 3; below twelve it does not."""

    def middle(number: int) -> float:
        past = [Past([5_000.0] * 3, [600.0 + at, 700, 650], (), f"{at}") for at in range(number)]
        past.append(Past([5_000.0] * 30, [3_000.0] * 30, (), "slow"))
        found = ArrivalTable.fit(past).forecast(at(5_000.0))
        assert found is not None
        return math.log(found.low + 60) + math.log(found.high + 60)

    ordinary = 2 * math.log(650 + 60)
    slow = 2 * math.log(3_000 + 60)
    assert middle(9) == pytest.approx(ordinary + (slow - ordinary) / 10, abs=0.3)
    assert middle(20) > ordinary + (slow - ordinary) / 5


def test_one_tour_with_nearly_all_forecasts_makes_no_figure_vanish_or_narrow():
    """Its effective number says nothing then, so all tours weigh the same, with 3 degrees."""
    past = [Past([5_000.0], [600.0 + 20 * at], (), f"{at}") for at in range(15)]
    past.append(Past([5_000.0] * 2_000, [700.0] * 2_000, (), "large"))
    found = ArrivalTable.fit(past).forecast(at(5_000.0))
    assert found is not None
    assert math.isfinite(found.high)
    assert found.low < 620
    assert found.high > 860


def test_whether_there_is_a_figure_follows_from_the_number_of_tours_alone():
    """Two tours of a thousand parcels have none; three have one, however wide it is."""

    def past(number: int, spread: float) -> list[Past]:
        return [
            Past([5_000.0], [1_000.0 * spread ** (tour - 1)], (), f"{tour}")
            for tour in range(number)
            for _ in range(1_000)
        ]

    for spread in (1.0, 3.0, 400.0):
        assert ArrivalTable.fit(past(2, spread)).forecast(at(5_000.0)) is None
        found = ArrivalTable.fit(past(3, spread)).forecast(at(5_000.0))
        assert found is not None
        assert 0 <= found.low <= found.high <= 31 * 86_400
        assert found.tours == 3
    assert ArrivalTable.fit([]).forecast(at(5_000.0)) is None
    plenty = ArrivalTable.fit(tours(30, np.random.default_rng(1)))
    assert plenty.forecast(at(500_000.0)) is None
    assert plenty.forecast(at(5_000.0, stands=1_800.0)) is None


def test_a_class_counts_tours_and_not_parcels():
    """25 tours of a part of the day have a figure of their own; 24 of a hundred parcels do not."""

    def past(number: int) -> list[Past]:
        return [
            Past([5_000.0], [600.0], [["part 1"]], f"{tour}")
            for tour in range(number)
            for _ in range(100)
        ]

    assert "part 1" not in ArrivalTable.fit(past(24)).rows
    assert ArrivalTable.fit(past(25)).rows["part 1"]


@pytest.mark.slow
def test_intervals_widen_where_tours_differ_and_where_they_are_few():
    """A wider spread of speeds, and less of a past, make an interval wider."""

    def width(number: int, spread: float) -> float:
        widths = []
        for seed in range(20):
            past = tours(number, np.random.default_rng([7, seed]), spread)
            found = ArrivalTable.fit(past).forecast(at(5_000.0))
            assert found is not None
            widths.append(found.high - found.low)
        return float(np.median(widths))

    assert width(40, 0.2) < width(40, 0.6)
    assert width(40, 0.5) < width(5, 0.5)


@pytest.mark.slow
def test_leaving_each_tour_out_is_what_fitting_to_the_others_says():
    """By brute force: a table without the tour, and its own arrivals held against that."""
    generator = np.random.default_rng(3)
    past = [
        Past(
            generator.uniform(50, 60_000, 4).tolist(),
            generator.uniform(10, 9_000, 4).tolist(),
            [[f"part {tour % 2}"] if tour % 3 else [] for _ in range(4)],
            f"{tour}",
        )
        for tour in range(40)
        for _ in range(2)
    ]
    figures = held = 0
    for tour in {one.tour for one in past}:
        rows = ArrivalTable.fit([one for one in past if one.tour != tour]).rows
        for one in past:
            for metres, seconds, some in zip(one.metres, one.seconds, one.classes, strict=True):
                if one.tour == tour:
                    place = round(math.log(max(metres, 100) / 100) / math.log(1.15))
                    told = [
                        rows[name][place]
                        for name in (*some, "all")
                        if name in rows and place < len(rows[name])
                    ]
                    found = next((each for each in told if each is not None), None)
                    figures += found is not None
                    held += found is not None and found.low <= seconds <= found.high
    tried = LeftOut.of(past)
    assert (tried.tours, tried.forecasts) == (40, 320)
    assert (tried.figures, tried.held) == (figures, held)
    assert 0 < figures < 320
    assert LeftOut.of(past[:6]).coverage is None
    assert LeftOut.of([]).coverage is None


def test_a_table_is_what_its_document_says_and_none_of_an_earlier_voile_is():
    """Written and read again it tells the same; a version that counted parcels is refused."""
    table = ArrivalTable.fit(tours(10, np.random.default_rng(1)), 7.0)
    document = table.document()
    again = ArrivalTable.read(document)
    assert again.document() == document
    found, before = again.forecast(at(5_000.0)), table.forecast(at(5_000.0))
    assert isinstance(found, ArrivalInterval)
    assert found.low <= before.low <= before.high <= found.high
    with pytest.raises(InputError, match="counted parcels"):
        ArrivalTable.read({**document, "version": 1, "drives": 30})


@pytest.mark.parametrize("number", [float("inf"), -1, 10**400, 2**53, 1.5, True, "3", None])
def test_numbers_that_no_reader_would_take_are_refused(number):
    """Of tours, of a time and in intervals, whatever a company puts there."""
    document = ArrivalTable.fit(tours(10, np.random.default_rng(1))).document()
    for changed in (
        {"tours": number}, {"fitted": number}, {"rows": {"all": [[1, 2, number]]}},
        {"rows": {"all": [[1, float("nan"), 3]]}},
    ):  # fmt: skip
        with pytest.raises(InputError, match="no table"):
            ArrivalTable.read({**document, **changed})


def test_what_is_no_distance_is_refused():
    """Neither infinite nor negative numbers are distances, nor is 1 a coverage."""
    some = ArrivalTable.fit(tours(3, np.random.default_rng(1)))
    for metres in (-1.0, float("nan"), float("inf")):
        with pytest.raises(InputError):
            some.forecast(at(metres))
    for coverage in (0.0, 1.0, float("nan")):
        with pytest.raises(InputError):
            ArrivalTable.fit([], coverage=coverage)
    for metres, seconds in (([1.0], []), ([float("inf")], [1.0]), ([1.0], [-1.0])):
        with pytest.raises(InputError):
            Past(metres, seconds)
