"""The benchmarks of the papers compare as they say, and are found by their names."""

import pytest

from benchmarks import __main__ as command
from benchmarks.papers.chart import PaperChart, PaperCurve, draw
from benchmarks.papers.item import PaperItem, beside_paper, departures

ITEMS = [
    PaperItem("Figure 1", "a curve", "rises", "rises", "agrees"),
    PaperItem("Table 2", "a mean", "3.2", "2.0", "departs", "the unit is another"),
    PaperItem("Figure 3", "a picture", "", "", "lost"),
]


def test_a_folder_of_benchmarks_is_run_by_its_name(monkeypatch):
    """A folder stands for all benchmarks in it, and a part of a name for none."""
    monkeypatch.setattr(command, "NAMES", ("noise", "papers.one", "papers.two", "papers_alike"))
    assert command._chosen("papers") == ["papers.one", "papers.two"]
    assert command._chosen("papers.two") == ["papers.two"]
    assert command._chosen("noise") == ["noise"]
    assert command._chosen("noi") == []


def test_a_departure_without_a_cause_misses_the_target():
    """Every item stands in the table in its order, and a bare departure is named."""
    assert [row[0] for row in beside_paper(ITEMS).rows] == ["Figure 1", "Table 2", "Figure 3"]
    assert departures(ITEMS).reached
    bare = PaperItem("Theorem 1", "a bound", "1", "2", "departs")
    target = departures([*ITEMS, bare])
    assert not target.reached
    assert "Theorem 1" in target.got


@pytest.mark.slow
def test_a_chart_is_drawn_alike_twice(tmp_path):
    """The same chart gives the same bytes, with the curve of the paper in it."""
    curves = [
        PaperCurve("here", [1, 2, 3], [1, 4, 9]),
        PaperCurve("the paper", [1, 3], [1, 8], printed=True),
    ]
    charts = [PaperChart("Figure 1", "squares", "x", "y", curves)] * 4
    files = [tmp_path / "one" / "a.svg", tmp_path / "a.svg"]
    for file in files:
        draw(charts, file)
    assert files[0].read_bytes() == files[1].read_bytes()
    assert b"the paper" in files[0].read_bytes()
