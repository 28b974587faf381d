"""Charts: what is drawn where, for those who see them."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile.report.figures.canvas import Chart
from voile.report.figures.evidence import (
    Loss,
    Shares,
    SuccessRate,
    draw_losses,
    draw_pairs,
    draw_parts,
    draw_rates,
    draw_shares,
)
from voile.report.figures.grids import (
    CurveParameter,
    FrontierAxes,
    Line,
    Panel,
    Placed,
    _place_labels,
    draw_curves,
    draw_frontier,
)
from voile.report.words import pairs_of, width_of

pytest.importorskip("matplotlib", reason="charts are an extra")


def texts(chart: Chart) -> list[str]:
    return [text.text or "" for text in ET.fromstring(chart.svg).iter("text")]


def marks(chart: Chart, color: str) -> list[tuple[float, float]]:
    """Where marks of a colour stand, in the order in which they were drawn."""
    return [
        (float(use.attrib["x"]), float(use.attrib["y"]))
        for use in ET.fromstring(chart.svg).iter("use")
        if color in use.attrib["style"]
    ]


def test_a_success_stands_right_of_guessing():
    """On one axis, larger rates are further right; an interval encloses its rate."""
    chart = draw_rates("r", "Rates", [SuccessRate("a", 100, 0.4, 0.3, 0.5, 0.1, counted=True)])
    (guess,) = marks(chart, "var(--guess)")
    low, high, value = marks(chart, "var(--after)")
    assert guess[0] < low[0] < value[0] < high[0]
    assert guess[1] == low[1] == value[1]
    assert "40\xa0%, guessing 10\xa0%" in texts(chart)
    assert "interval 30\xa0% to 50\xa0%" in chart.words.description


def test_believed_rates_are_empty_dots():
    """What is only believed does not look like what was counted."""
    filled, empty = (
        draw_rates("r", "", [SuccessRate("a", 9, 0.4, 0.3, 0.5, 0.1, counted=counted)]).svg
        for counted in (True, False)
    )
    assert empty.count("fill: var(--paper)") == filled.count("fill: var(--paper)") + 1


def test_attacks_that_are_easy_to_guess_have_their_own_axis():
    """A sensitive value guessed in three of four cases does not squash the others."""
    easy = SuccessRate("value", 9, 0.8, 0.7, 0.9, 0.75, counted=True)
    hard = SuccessRate("row", 9, 0.02, 0.01, 0.03, 1e-5, counted=True)
    both, one = draw_rates("r", "", [easy, hard]), draw_rates("r", "", [easy])
    assert (both.svg.count("<clipPath"), one.svg.count("<clipPath")) == (2, 1)
    assert "where guessing is rarely right" in texts(both)
    assert "where guessing is rarely right" not in texts(one)
    assert "logarithmic" in both.words.description
    assert "logarithmic" not in one.words.description


def test_zero_stands_at_the_end_of_a_logarithmic_axis():
    """An attack that never succeeds is drawn, and the end of its axis is called 0."""
    rates = [
        SuccessRate(n, 9, v, 0.0, 0.03, 1e-5, counted=True) for n, v in (("a", 0.02), ("b", 0.0))
    ]
    chart = draw_rates("r", "", rates)
    assert "0" in texts(chart)
    assert marks(chart, "var(--after)")[-1][0] < marks(chart, "var(--guess)")[-1][0]


def test_losses_stand_where_they_belong():
    """Half way is in the middle, whichever end is the larger number; beyond is marked."""
    losses = [
        Loss("ncp", 0.5, 0.0, 1.0),
        Loss("accuracy", 0.8, 0.9, 0.7),
        Loss("worse", 3.0, 0.0, 1.0),
        Loss("better", -3.0, 0.0, 1.0),
    ]
    chart = draw_losses("l", "Losses", losses)
    half, also, worse, better = marks(chart, "var(--after)")
    assert half[0] == pytest.approx(also[0])
    assert better[0] < half[0] < worse[0]
    assert half[0] - better[0] == pytest.approx(worse[0] - half[0])
    assert "worse than useless" in chart.words.description
    assert "better than untouched" in chart.words.description


def test_the_long_tail_is_in_the_table():
    """Ten values are drawn, the others together; the table has all with their full names."""
    labels = tuple(f"a very long name of the value {place}" for place in range(30))
    before = tuple((30 - place) / 465 for place in range(30))
    chart = draw_shares("s", "column", Shares(labels, None, before, before[::-1]))
    assert "20 others" in texts(chart)
    assert [row[0] for row in chart.words.rows] == list(labels)
    assert [row[1] for row in chart.words.rows] == list(before)


def test_moved_rows():
    """The total variation distance is half of what the shares differ by."""
    assert Shares(("a", "b"), None, (0.5, 0.5), (0.2, 0.8)).moved == pytest.approx(0.3)


def test_pairs_are_told_by_known_columns():
    """Names may hold commas: a pair is split where both sides are columns."""
    columns = ["a", "b, c", "a, b", "c"]
    assert pairs_of({"a, b, c": 1.0}, ["a", "b, c"]) == {("a", "b, c"): 1.0}
    assert pairs_of({"a, b, c": 1.0}, ["a, b", "c"]) == {("a, b", "c"): 1.0}
    assert pairs_of({"a, x": 1.0}, columns) is None
    assert pairs_of({"a": 1.0, "a, c": 1.0}, columns) is None
    assert pairs_of({}, columns) is None


def test_the_map_of_pairs_is_darkest_where_the_value_is_largest():
    """Shade is the value over the largest of them."""
    chart = draw_pairs("p", "", ["a", "b", "c"], {("a", "b"): 0.1, ("c", "a"): 0.4, ("b", "c"): 0})
    shades = [float(x) for x in re.findall(r"var\(--heat\); opacity: ([0-9.]+)", chart.svg)]
    assert len(shades) == 3
    assert max(shades) == shades[1] == pytest.approx(0.6)
    assert min(shades) == shades[2]


def test_parts_are_drawn_in_their_order():
    """Each part has its line and its number, the first at the top."""
    chart = draw_parts("p", "", {"age": 0.25, "sex": 0.5})
    age, sex = marks(chart, "var(--after)")
    assert age[0] < sex[0]
    assert age[1] < sex[1]
    assert {"age", "sex", "0.25", "0.5"} <= set(texts(chart))


def test_the_frontier_joins_the_best():
    """Points of the frontier are filled and named first; all are in the table."""
    points = [
        Placed(f"n{p}", f"k = {p}", 0.1 * p, 1 - 0.1 * p, p % 2 == 0, 0.1 * p, 0.1 * p)
        for p in range(1, 9)
    ]
    chart = draw_frontier("f", "", FrontierAxes("risk", "loss", higher_is_better=False), points)
    assert {point.label for point in points if point.best} <= set(texts(chart))
    assert len(chart.words.rows) == 8
    assert "loss (down is more useful)" in texts(chart)
    assert len(marks(chart, "var(--after)")) == 4


def test_a_tie_is_said_and_drawn():
    """Intervals stand as lines through the marks, and releases that are tied are named as such."""
    points = [
        Placed("a", "a", 0.021, 0.5, True, 0.014, 0.032, tied_with=("b",)),
        Placed("b", "b", 0.024, 0.4, True, 0.016, 0.035),
    ]
    chart = draw_frontier("f", "", FrontierAxes("risk", "loss", higher_is_better=False), points)
    assert "The risks of a and of b are tied" in chart.words.description
    assert chart.words.rows[0][2:4] == (0.014, 0.032)


def test_curves_grow_to_the_right():
    """A value at a larger parameter stands further right, a larger value higher."""
    parameter = CurveParameter("k", (2.0, 5.0, 10.0), ("2", "5", "10"))
    lines = (Line("", 0, ((0, 0.1), (1, 0.2), (2, 0.4)), (0.05, 0.05, 0.05)),)
    chart = draw_curves(Panel("c", "Prosecutor", lines, rates=True), parameter, 8)
    places = marks(chart, "var(--series-1)")
    assert places == sorted(places, key=lambda place: (place[0], -place[1]))
    assert "10\xa0% at 2, 20\xa0% at 5, 40\xa0% at 10." in chart.words.description
    assert "Guessing, the dotted line, succeeds for 5\xa0%." in chart.words.description


@given(
    st.lists(st.tuples(st.floats(0, 600), st.floats(0, 400)), min_size=1, max_size=25),
    st.integers(0, 25),
)
def test_names_of_points_never_overlap(points, joined):
    """Names stand within the field, beside every point, and on no other name."""
    names = [f"k = {place}" for place in range(len(points))]
    boxes = []
    for (x, y), name, place in zip(
        points, names, _place_labels(points, names, (600, 400), 11, joined), strict=True
    ):
        if place is None:
            continue
        width = width_of(name, 11)
        left = x + place.right - {"left": 0, "right": width, "center": width / 2}[place.side]
        boxes.append((left, y + place.up - 6, left + width, y + place.up + 6))
    for left, bottom, right, top in boxes:
        assert left >= -1e-9
        assert right <= 600 + 1e-9
        assert not any(left < x < right and bottom < y < top for x, y in points)
    for place, one in enumerate(boxes):
        for other in boxes[place + 1 :]:
            apart = one[0] >= other[2] or other[0] >= one[2] or one[1] >= other[3]
            assert apart or other[1] >= one[3]


def test_of_very_many_parts_the_largest_are_drawn():
    """A chart stays small; the table has every part."""
    parts = {f"part {place}": float(place) for place in range(100)}
    chart = draw_parts("p", "", parts)
    assert "part 99" in texts(chart)
    assert "part 59" not in texts(chart)
    assert len(chart.words.rows) == 100
