"""The screen of tables: the pattern in place, its two marks, and the attacker's intervals."""

from __future__ import annotations

import csv
import random
import re
from pathlib import Path

import pytest

pytest.importorskip("fastapi")

from studio_tests.browsing import User, studio
from studio_tests.studio import Visitor

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a table of people by region and illness, some of which are rare."""
    draw = random.Random(3)
    lines = ["region,illness,cost"]
    for _ in range(200):
        illness = draw.choices(("asthma", "flu", "rare"), (20, 20, 1))[0]
        lines.append(f"{draw.choice(('east', 'north', 'south'))},{illness},{draw.randrange(9, 99)}")
    (tmp_path / "ill.csv").write_text("\n".join(lines) + "\n")
    return tmp_path


def looked_at(folder: Path) -> Visitor:
    """Studio for the table, after it was looked at."""
    visitor = Visitor(folder)
    visitor.post("/open", source="ill.csv")
    visitor.wait("/p/ill/data", "Exposure")
    return visitor


def test_suppressed_cells_stand_in_place_with_mark_and_interval(folder: Path) -> None:
    """As many of each mark as the private list has, each with its interval; values elsewhere."""
    visitor = looked_at(folder)
    sent = visitor.post("/p/ill/tables", dimension=["region", "illness"], minimum="3", zeros="show")
    assert sent.status_code == 200
    page = visitor.wait("/p/ill/tables", "What may leave")
    made = folder / "ill.voile" / "tables" / "001"
    with (made / "cells.csv").open(newline="") as file:
        hidden = list(csv.DictReader(file))
    for mark in ("primary", "secondary"):
        of_mark = [row for row in hidden if row["suppression"] == mark]
        assert of_mark
        assert len(re.findall(f"hidden-cell {mark}", page)) == len(of_mark)
        for row in of_mark:
            low, high = float(row["count.low"]), float(row["count.high"])
            assert f"{low:,.10g} to {high:,.10g}" in page
    with (made / "out" / "tables.csv").open(newline="") as file:
        shown = [row["count"] for row in csv.DictReader(file) if row["count"]]
    assert all(f">{value}<" in page for value in shown)
    assert not any("primary" in file.read_text() for file in (made / "out").iterdir())


def test_rows_are_counted_where_persons_stand_in_several_cells(tmp_path: Path) -> None:
    """Of a plan that names persons: as it is that is refused with the way out, which is offered."""
    rows = [f"P{n // 2:03},{('east', 'north')[n % 2]},{n % 3}" for n in range(240)]
    (tmp_path / "ill.csv").write_text("\n".join(["patient_id,region,illness", *rows]) + "\n")
    visitor = looked_at(tmp_path)
    assert '<option value="row">rows</option>' in visitor.get("/p/ill/tables").text
    visitor.post("/p/ill/tables", dimension=["region"], minimum="3", zeros="show")
    page = visitor.wait("/p/ill/tables", "where rows are what is protected")
    assert "What may leave" not in page
    visitor.post("/p/ill/tables", dimension=["region"], minimum="3", zeros="show", unit="row")
    visitor.wait("/p/ill/tables", "What may leave")


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"minimum": "3"}, "choose between one and 4 columns"),
        ({"dimension": ["region"], "minimum": ""}, "say the fewest units"),
        ({"dimension": ["region"], "minimum": "few"}, "is no number"),
        ({"dimension": ["nowhere"], "minimum": "3"}, "choose between one and 4 columns"),
    ],
)
def test_a_form_that_says_too_little_is_refused(folder: Path, fields, told) -> None:
    """With what to say, and no command begins."""
    visitor = looked_at(folder)
    sent = visitor.post("/p/ill/tables", **fields)
    assert sent.status_code == 400
    assert told in sent.text
    assert not (folder / "ill.voile" / "tables").exists()


@pytest.mark.slow
def test_tables_are_protected_in_a_browser(folder: Path, user: User, tmp_path: Path) -> None:
    """Two columns, one button: marks and intervals stand in the page, without complaints."""
    with studio(folder / "ill.csv") as address:
        user.enter(address)
        user.page.click("text=Tables")
        user.page.check("input[name=dimension][value=region]")
        user.page.check("input[name=dimension][value=illness]")
        user.page.click("text=Protect")
        user.page.wait_for_selector("td.hidden-cell.primary")
        assert user.page.locator("td.hidden-cell.secondary").count() >= 1
        texts = user.page.locator("td.hidden-cell small").all_inner_texts()
        user.page.screenshot(path=str(tmp_path / "tables.png"), full_page=True)
    assert all(re.fullmatch(r"[\d,]+ to [\d,]+", text) for text in texts)
    assert user.complaints == []


def test_columns_that_are_not_published_make_no_cells(folder: Path) -> None:
    """Those that the plan leaves out are neither offered nor taken."""
    visitor = looked_at(folder)
    plan = '[roles]\nquasi_identifiers = ["region"]\nsensitive = ["illness"]\n'
    visitor.post("/p/ill/plan/text", text=plan, digest=visitor.digest("/p/ill/plan"))
    page = visitor.get("/p/ill/tables").text
    assert 'name="dimension" value="region"' in page
    assert 'name="dimension" value="cost"' not in page
    assert 'name="sum" value="cost"' not in page
    refused = visitor.post("/p/ill/tables", dimension=["cost"], minimum="3")
    assert refused.status_code == 400
