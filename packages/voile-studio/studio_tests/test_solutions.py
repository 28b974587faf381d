"""The explorer of solutions: nodes, groups, rows before and after, and the way back to the plan."""

from __future__ import annotations

import random
import re
import tomllib
from pathlib import Path

import pytest

pytest.importorskip("fastapi")

from studio_tests.studio import Visitor

pytestmark = pytest.mark.slow

PLAN = """
[roles]
identifiers       = ["name"]
person            = "row"
quasi_identifiers = ["age", "town"]
sensitive         = ["illness", "cost"]

[columns.age]
bounds    = [0, 110]
intervals = { widths = [10, 20, 40] }

[columns.town]
kind = "nominal"
"""
GENERALIZATION = '\n[method]\nname = "generalization"\nk = 3\n'
CHAIN = """
[[steps]]
kind    = "rounding"
columns = ["cost"]
base    = 1000

[[steps]]
kind    = "top-coding"
columns = ["age"]
bound   = 100

[method]
name    = "pram"
columns = ["town"]
"""


@pytest.fixture
def visitor(tmp_path: Path) -> Visitor:
    """Somebody who has opened a table of sixty rows."""
    draw = random.Random(3)
    lines = ["name,age,town,illness,cost"]
    for number in range(60):
        town, illness = draw.choice(("Lyon", "Nice")), draw.choice(("flu", "gout"))
        lines.append(f"person {number},{draw.randrange(20, 60)},{town},{illness},{number * 37}")
    (tmp_path / "stays.csv").write_text("\n".join(lines) + "\n")
    found = Visitor(tmp_path)
    found.post("/open", source="stays.csv")
    found.wait("/p/stays/data", "<h2>Columns</h2>")
    return found


def plan(visitor: Visitor, method: str) -> None:
    """Put this plan in the place of the proposed one."""
    visitor.post("/p/stays/plan/text", text=PLAN + method, digest=visitor.digest("/p/stays/plan"))


def test_a_node_is_taken_as_the_plan_and_given_back(visitor: Visitor, tmp_path: Path):
    """Its levels stand in the plan, it is then the plan's own solution, and undo goes back."""
    plan(visitor, GENERALIZATION)
    visitor.post("/p/stays/solutions")
    page = visitor.wait("/p/stays/solutions", 'class="lattice"')
    assert "All 10 ways to choose a level for each column" in page
    assert "it is none of the points in the picture" in page
    best = re.search(r'href="([^"]*)">See the best with one level', page)
    assert best is not None
    seen = visitor.get(best[1]).text
    for words in ("Re-identification risk (worst person)", "Coarseness", "(changed)"):
        assert words in seen
    assert "person 1" not in seen
    node = best[1].partition("node=")[2]
    visitor.post("/p/stays/solutions/use", node=node)
    visitor.wait("/p/stays/solutions", "The plan as it stands publishes this one.")
    kept = tmp_path / "stays.voile" / "plan.toml"
    levels = tomllib.loads(kept.read_text())["method"]["levels"]
    assert ",".join(map(str, levels.values())) == node
    visitor.post("/p/stays/undo")
    assert "levels" not in tomllib.loads(kept.read_text())["method"]


def test_a_node_that_falls_short_says_by_how_much(visitor: Visitor):
    """And cannot be taken; another that was never looked at can be looked at."""
    plan(visitor, GENERALIZATION)
    visitor.post("/p/stays/solutions")
    visitor.wait("/p/stays/solutions", 'class="lattice"')
    page = visitor.get("/p/stays/solutions?node=0,0").text
    assert "It leaves out" in page
    assert "Take it as the plan" not in page
    assert "Look at it and its neighbours" in visitor.get("/p/stays/solutions?node=9,9").text
    assert visitor.get("/p/stays/solutions?node=../..").status_code == 400


def test_groups_show_who_is_most_at_risk(visitor: Visitor):
    """The smallest first, and the rows of each before and after."""
    plan(visitor, GENERALIZATION)
    visitor.post("/p/stays/solutions")
    visitor.wait("/p/stays/solutions", "smallest groups of the plan's own solution")
    page = visitor.get("/p/stays/solutions?group=0").text
    assert "A group of 3" in page
    assert "<strong>33.3 %</strong>" in page


def test_rows_and_steps_of_a_method_without_a_lattice(visitor: Visitor):
    """Rows are matched one by one, and each step says what would stay without it."""
    plan(visitor, CHAIN)
    visitor.post("/p/stays/solutions")
    page = visitor.wait("/p/stays/solutions", "What each step costs")
    assert "rounding of cost" in page
    assert re.search(r"<bdi>cost</bdi> unchanged in \S+ % more of the rows", page)
    assert "the same cells are shown" in page, "nobody is above 100"
    assert "This method has no lattice of solutions" in page
    assert "(changed)" in page


def test_solutions_of_an_older_plan_are_not_shown(visitor: Visitor):
    """Figures beside a plan that they are not of would be believed."""
    plan(visitor, GENERALIZATION)
    visitor.post("/p/stays/solutions")
    visitor.wait("/p/stays/solutions", 'class="lattice"')
    plan(visitor, GENERALIZATION.replace("3", "4"))
    assert 'class="lattice"' not in visitor.get("/p/stays/solutions").text
