"""The page on other packages shows the package that the tests install, and all of it."""

from __future__ import annotations

import re

from tests.docs.pages import ROOT
from tests.installed import OTHERS

PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
SHOWN = ("criterion", "method", "attack", "measure", "risk")


def test_the_sources_are_those_of_the_package():
    """Word for word, in the order of the page."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    sources = [(OTHERS / "plain_others" / f"{name}.py").read_text("utf-8") for name in SHOWN]
    assert blocks == sources


def test_the_package_is_announced_as_shown():
    """The page has the lines of pyproject.toml, the package what is made of them."""
    shown = re.findall(r'entry-points\."([\w.]+)"\]\n([\w-]+) = "([\w.:]+)"', PAGE)
    points = (OTHERS / "plain_others-1.0.dist-info" / "entry_points.txt").read_text("utf-8")
    made = re.findall(r"\[([\w.]+)\]\n([\w-]+) = ([\w.:]+)", points)
    assert sorted(shown) == sorted(made)
    assert len(made) == 6
