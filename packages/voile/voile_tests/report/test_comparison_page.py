"""The report of a grid: every point, the frontier, a curve of everything that was measured."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest

from voile.report.grid import placed_points
from voile.report.html import render_comparison
from voile.study.record import PRIVATE
from voile_tests.report.pages import Page, drawings, numbers
from voile_tests.report.records import attacks, grid, measures

pytest.importorskip("matplotlib", reason="reports are an extra")
pytest.importorskip("jinja2", reason="reports are an extra")


SMALL = grid(little=True)


@cache
def page() -> Page:
    return Page(render_comparison(grid()))


@pytest.mark.slow
def test_numbers_of_a_comparison_stand_in_its_page():
    """Risk, loss, every rate and every value of every point are in the page."""
    made = grid()
    shown = numbers(page())
    for point in made.points:
        if point.record is None:
            continue
        assert {point.risk, point.loss} <= shown
        assert {found["success"]["value"] for found in point.record.attacks} <= shown
        assert {found["value"] for found in point.record.utility} <= shown


def test_a_comparison_names_its_points_and_winners():
    """All points are in the table, those without a release with the reason, and who is best."""
    made = grid()
    said = " ".join(page().lines)
    for point in made.points:
        assert point.name in said
    assert "infeasible" in said
    assert "raise suppression_limit to 0.05" in said
    assert "12 studies of one grid: 11 done, 1 infeasible." in said.replace("\xa0", " ")
    assert "Best by each measure" in said
    assert "All studies attacked the same 1,000 people." in said


def said_of(*points):
    """The text of the page of a comparison of these points, (risk, low, high, loss, same as)."""
    made = grid(tuple(range(2, 2 + len(points))), ("flash",), infeasible=0, little=True)
    placed = tuple(
        replace(point, risk=risk, risk_low=low, risk_high=high, loss=loss, same_as=same_as)
        for point, (risk, low, high, loss, same_as) in zip(made.points, points, strict=True)
    )
    best = tuple(point.name for point in placed)
    html = render_comparison(replace(made, points=placed, frontier=best))
    return " ".join(Page(html).lines).replace("\xa0", " ")


@pytest.mark.slow
def test_nobody_is_called_the_safest_out_of_noise():
    """Three identical releases are one point; two that differ within their intervals are tied."""
    first = "k = 2, algorithm = flash"
    same = said_of(
        (0.021, 0.014, 0.032, 0.3, ""),
        (0.021, 0.014, 0.032, 0.3, first),
        (0.021, 0.014, 0.032, 0.3, first),
    )
    assert "The 3 studies made 1 different release" in same
    assert "safest" not in same
    assert "is the only release" in same
    tied = said_of((0.021, 0.014, 0.032, 0.4, ""), (0.024, 0.016, 0.036, 0.3, ""))
    assert "Which is the safest cannot be told" in tied
    assert "The safest of them" not in tied
    apart = said_of((0.021, 0.014, 0.032, 0.4, ""), (0.24, 0.22, 0.27, 0.3, ""))
    assert f"The safest of them, {first}" in apart
    counted = said_of((0.021, 0.021, 0.021, 0.4, ""), (0.024, 0.024, 0.024, 0.3, ""))
    assert f"The safest of them, {first}" in counted


def test_each_attack_and_measure_has_a_curve():
    """One small chart for each, over the parameter with the most numbers."""
    captions = [figure.all("figcaption")[0].text for figure in page().all("figure")]
    for found in (*attacks(), *measures()):
        title = found.get("title") or found["attack"].replace("-", " ").capitalize()
        assert title in captions


@pytest.mark.parametrize(
    "made",
    [
        pytest.param(grid((5,), ("flash",), infeasible=1, little=True), id="all infeasible"),
        pytest.param(grid((5,), ("flash",), infeasible=0, little=True), id="one point"),
        pytest.param(grid(("2", "3.5"), ("flash",), infeasible=0, little=True), id="texts"),
        pytest.param(grid((2, 3), ("a", "b", "c"), infeasible=5, little=True), id="one left"),
        pytest.param(replace(SMALL, swept={}), id="nothing swept"),
        pytest.param(replace(SMALL, frontier=(), loss="", loss_better="higher"), id="none best"),
        pytest.param(replace(SMALL, points=()), id="no points"),
        pytest.param(replace(SMALL, risk="gain"), id="gain"),
    ],
)
def test_small_and_odd_grids(made):
    """Every grid has a whole page."""
    html = render_comparison(made)
    page = Page(html)
    assert page.lines[0] == PRIVATE
    drawings(html)
    for point in made.points:
        assert point.name in " ".join(page.lines)


def test_points_without_the_swept_parameter_are_in_the_table():
    """A plan of another method has no k; its study is compared all the same."""
    made = grid((2, 5), ("flash",), infeasible=0, little=True)
    other = replace(made.points[0], name="noise", parameters={"plan": "noise"}, risk=0.3, loss=0.9)
    said = " ".join(Page(render_comparison(replace(made, points=(*made.points, other)))).lines)
    assert "noise" in said


@pytest.mark.slow
def test_two_hundred_points():
    """A large grid has a page: each point in the table, every frontier point beside its name."""
    made = grid(
        tuple(range(2, 42)), ("flash", "mondrian", "ola", "datafly", "optimal"), little=True
    )
    page = Page(render_comparison(made))
    assert len(made.points) == 200
    rows = next(one for one in page.all("table") if "Status" in one.text).all("tr")
    assert len(rows) == 201


def test_marks_are_called_by_what_differs():
    """A plan and its method are named beside a mark only where other parameters are alike."""
    made = grid((2, 5), ("flash",), infeasible=0, little=True)

    def of(plan, method, k):
        return {"plan": plan, "method.name": method, **({"method.k": k} if k else {})}

    settings = [
        of("old", "generalization", 2),
        of("new", "generalization", 2),
        of("old", "generalization", 5),
        of("new", "m-shuffle", None),
    ]
    points = tuple(
        replace(made.points[0], name=f"study {place}", parameters=parameters)
        for place, parameters in enumerate(settings)
    )
    labels = [placed.label for placed in placed_points(replace(made, points=points)).values()]
    assert labels == [
        "k = 2, generalization, old",
        "k = 2, generalization, new",
        "k = 5",
        "m-shuffle",
    ]


def test_what_a_policy_asks_of_each_study_stands_on_the_page():
    """Where studies were held against one; elsewhere there is no word of it."""
    made = grid()
    assert "Against the policy" not in render_comparison(made)
    first, second, *rest = made.points
    held = (replace(first, unmet=("k is at least 11",)), replace(second, unmet=()))
    said = " ".join(Page(render_comparison(replace(made, points=(*held, *rest)))).lines)
    assert f"{first.name} k is at least 11" in said
    assert f"{second.name} nothing: all that figures decide is met" in said
