"""The page on other packages shows the package that the tests install, and all of it."""

from __future__ import annotations

import re

from tests.docs.pages import ROOT
from voile_tests.installed import OTHERS

PAGE = (ROOT / "docs" / "extending.md").read_text(encoding="utf-8")
SHOWN = (
    "criterion",
    "method",
    "averages",
    "treatment",
    "attack",
    "measure",
    "risk",
    "bars",
    "command",
    "recogniser",
    "form",
)


def test_the_sources_are_those_of_the_package():
    """Word for word, in the order of the page."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    sources = [(OTHERS / "plain_others" / f"{name}.py").read_text("utf-8") for name in SHOWN]
    assert blocks == sources


def test_the_package_is_announced_as_shown():
    """The page has the lines of pyproject.toml, the package what is made of them."""
    shown = _announced(r'\[project\.entry-points\."([\w.]+)"\]', r'([\w-]+) = "([\w.:]+)"', PAGE)
    points = (OTHERS / "plain_others-1.0.dist-info" / "entry_points.txt").read_text("utf-8")
    made = _announced(r"\[(voile\.\w+)\]", r"([\w-]+) = ([\w.:]+)", points)
    assert sorted(shown) == sorted(made)
    assert len(made) == 16


def test_each_registry_of_voile_is_on_the_page():
    """Whatever another package may add has its section, with an example that the tests install."""
    sources = [path.read_text("utf-8") for path in ROOT.glob("packages/*/src/**/*.py")]
    groups = {one for text in sources for one in re.findall(r'group="(voile\.\w+)"', text)}
    shown = _announced(r'\[project\.entry-points\."([\w.]+)"\]', r'([\w-]+) = "([\w.:]+)"', PAGE)
    assert groups <= {group for group, *_ in shown}
    assert len(groups) >= 12


def _announced(head: str, line: str, text: str) -> list[tuple[str, ...]]:
    """Group, name and place of each line below a head."""
    found, group = [], None
    for each in text.splitlines():
        if (begins := re.fullmatch(head, each)) is not None:
            group = begins[1]
        elif group is not None and (point := re.fullmatch(line, each)) is not None:
            found.append((group, *point.groups()))
        elif each:
            group = None
    return found
