"""The screens show what commands found, and forms start the commands that they show."""

from __future__ import annotations

import html
import re
import tomllib
from pathlib import Path

import pytest

pytest.importorskip("fastapi")

from studio_tests.studio import Visitor

NAMES = ("patient_id", "age", "<script>alert(1)</script>", "'; DROP TABLE x; --", "a" * 3000)
EVIL = "<img src=x onerror=alert(1)>"
RIGHT_TO_LEFT = "\N{RIGHT-TO-LEFT OVERRIDE}txet"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a table of 60 rows of 20 persons, whose names and values are hostile."""
    folder = tmp_path_factory.mktemp("office")
    lines = [",".join(f'"{name}"' for name in NAMES)]
    for row in range(60):
        group = (EVIL, RIGHT_TO_LEFT, "ordinary")[row % 3]
        lines.append(f'P{row % 20:06},{20 + row % 7},"{group}","{"x" * 10_000}",{row % 2}')
    (folder / "stays.csv").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture(scope="module")
def visitor(folder: Path) -> Visitor:
    """Somebody who has opened the table; a plan was proposed and the table looked at."""
    found = Visitor(folder)
    found.post("/open", source="stays.csv")
    found.wait("/p/stays/data", "<h2>Columns</h2>")
    return found


def test_who_is_protected_is_said(visitor: Visitor):
    """Persons in rows, by the proposal."""
    assert (
        "<strong>20 persons</strong> in <strong>60 rows</strong>"
        in visitor.get("/p/stays/data").text
    )


def test_identifiers_are_masked(visitor: Visitor):
    """In the first rows, and their values are not counted."""
    page = visitor.get("/p/stays/data").text
    assert "•••" in page
    assert "P00000" not in page


@pytest.mark.slow
def test_cards_of_noise_tell_what_epsilon_means(visitor: Visitor):
    """In odds and in errors of counts, and offer the columns that the plan publishes, by sets."""
    page = visitor.get("/p/stays/try").text
    assert "2.72 to 1: right 73.1 times out of 100" in page
    assert "in a table alone" in page
    assert "in each cell of two columns" in page
    assert 'name="dp-tables.tables.1"' in page
    assert 'name="dp-synthesis.together.4"' in page


@pytest.mark.parametrize("path", ["data", "plan", "plan/column/2", "try", "evidence", "sign"])
def test_names_and_values_are_texts(visitor: Visitor, path: str):
    """Nothing of a file becomes an element, and no page has an inline script."""
    page = visitor.get(f"/p/stays/{path}").text
    assert EVIL not in page
    assert "<script>alert" not in page
    assert "onclick" not in page
    assert len(page) < 500_000


def test_a_proposed_plan_has_its_reasons(visitor: Visitor):
    """And can be used."""
    page = html.unescape(visitor.get("/p/stays/plan").text)
    assert "its name says that it tells persons apart" in page
    assert "Copy as command" in page


@pytest.mark.slow
def test_an_open_question_is_answered_by_its_button(visitor: Visitor, folder: Path):
    """Its lines go, and nothing else of the plan."""
    plan = folder / "stays.voile" / "plan.toml"
    before = plan.read_text("utf-8")
    seen = visitor.digest("/p/stays/plan")
    asking = before.replace("[roles]\n", '[roles]\n# ? "sex": is it a group?\n#   Really?\n', 1)
    visitor.post("/p/stays/plan/text", digest=seen, text=asking)
    page = html.unescape(visitor.get("/p/stays/plan").text)
    assert "is it a group? Really?" in page
    assert "As proposed: leave the plan as it is</button>" in page
    seen = visitor.digest("/p/stays/plan")
    visitor.post("/p/stays/plan/answer/0", digest=seen)
    assert plan.read_text("utf-8") == before
    twice = before.replace("[roles]\n", '[roles]\n# ? "sex": a group?\n# ? "age": a year?\n', 1)
    visitor.post("/p/stays/plan/text", digest=visitor.digest("/p/stays/plan"), text=twice)
    assert "Answer all as proposed</button>" in visitor.get("/p/stays/plan").text
    visitor.post("/p/stays/plan/answers", digest=visitor.digest("/p/stays/plan"))
    kept = plan.read_text("utf-8")
    assert "\n# ? " not in kept
    assert tomllib.loads(kept) == tomllib.loads(before)


@pytest.mark.slow
def test_how_dates_are_written_is_answered_by_a_day(visitor: Visitor, folder: Path):
    """Each format that fits has a button with a day in it, and none of roles stands beside."""
    plan = folder / "stays.voile" / "plan.toml"
    before = plan.read_text("utf-8")
    asked = '# ? "age": the dates fit "%d/%m/%Y" and "%m/%d/%Y": which one is it?\n'
    asking = before.replace("[columns.age]\n", f"[columns.age]\n{asked}", 1)
    visitor.post("/p/stays/plan/text", digest=visitor.digest("/p/stays/plan"), text=asking)
    page = visitor.get("/p/stays/plan").text
    assert "As in 31/12/2001</button>" in page
    assert "Leave it out</button>" not in page
    digest = visitor.digest("/p/stays/plan")
    visitor.post("/p/stays/plan/dates/1", digest=digest, written="%m/%d/%Y")
    assert tomllib.loads(plan.read_text("utf-8"))["columns"]["age"]["format"] == "%m/%d/%Y"
    assert "As in 31/12/2001" not in visitor.get("/p/stays/plan").text
    visitor.post("/p/stays/plan/text", digest=visitor.digest("/p/stays/plan"), text=before)


@pytest.mark.slow
def test_a_step_is_shown_and_taken_away(visitor: Visitor, folder: Path):
    """The button takes one step out of the text, which is then as it was."""
    plan = folder / "stays.voile" / "plan.toml"
    before = plan.read_text("utf-8")
    step = f'{before}\n[[steps]]\nkind = "rounding"\ncolumns = ["{NAMES[1]}"]\nbase = 5\n'
    page = visitor.post("/p/stays/plan/text", digest=visitor.digest("/p/stays/plan"), text=step)
    assert "Take away</button>" in page.text
    visitor.post("/p/stays/plan/step/0", digest=visitor.digest("/p/stays/plan"))
    assert plan.read_text("utf-8").strip() == before.strip()
    visitor.post("/p/stays/plan/text", digest=visitor.digest("/p/stays/plan"), text=before)


def test_a_role_is_changed_in_the_text_and_the_line(visitor: Visitor, folder: Path):
    """Whichever of two tabs comes second is told, and changes nothing."""
    seen = visitor.digest("/p/stays/plan")
    page = visitor.post("/p/stays/plan/column/4", digest=seen, role="keep").text
    plan = folder / "stays.voile" / "plan.toml"
    assert "keep = [" in plan.read_text()
    assert 'value="keep" selected' in page
    late = visitor.post("/p/stays/plan/column/4", digest=seen, role="")
    assert late.status_code == 409
    assert "changed elsewhere" in late.text
    assert "keep = [" in plan.read_text()


def test_a_wrong_text_is_kept_and_its_line_is_told(visitor: Visitor, folder: Path):
    """Nothing can be published by it."""
    plan = folder / "stays.voile" / "plan.toml"
    before = plan.read_text()
    wrong = before + "\n[oops\n"
    page = visitor.post("/p/stays/plan/text", digest=visitor.digest("/p/stays/plan"), text=wrong)
    line = wrong.count("\n")
    assert f"Line {line}" in page.text
    refused = visitor.post("/p/stays/release", digest="x", number="001")
    assert refused.status_code == 400
    assert not (folder / "stays.voile" / "releases").exists()
    visitor.post("/p/stays/plan/text", digest=visitor.digest("/p/stays/plan"), text=before)
    assert plan.read_text() == before


@pytest.mark.slow
def test_levels_are_edited_as_a_tree(visitor: Visitor, folder: Path):
    """Merged, renamed, and taken by the plan."""
    to = "/p/stays/plan/column/2/levels"
    page = "/p/stays/plan/column/2"

    def edit(**fields: object) -> str:
        answer: str = visitor.post(to, digest=visitor.digest(page), **fields).text
        return answer

    edit(deed="begin")
    merged = edit(deed="merge", group=["0:ordinary", f"0:{EVIL}"], called="some <b>")
    assert html.escape("some <b>") in merged
    assert "choose" in edit(deed="rename", called="x")
    assert "different" not in edit(deed="rename", group=["1:some <b>"], called="some")
    named = re.search(
        r"hierarchies/002-\w+\.csv", (folder / "stays.voile" / "plan.toml").read_text()
    )
    assert named is not None
    lines = (folder / "stays.voile" / named[0]).read_text().splitlines()
    assert f"{EVIL};some;*" in lines
    assert len(list((folder / "stays.voile" / "hierarchies").iterdir())) == 3, "each has its file"


def test_ranks_are_put_in_order_without_a_line_of_the_plan(visitor: Visitor, folder: Path):
    """Groups then join neighbours of that order; of numbers there are none to put in order."""
    plan = folder / "stays.voile" / "plan.toml"
    before, page = plan.read_text(), "/p/stays/plan/column/2"
    ranks = f"ordinary\n\n{EVIL}\nother"
    digest = visitor.digest(page)
    refused = visitor.post(f"{page}/levels", digest=digest, deed="order", ranks=ranks)
    assert (refused.status_code, "1 value of the table has no place" in refused.text) == (409, True)
    ranks += "\n\u202etxet"
    visitor.post(f"{page}/levels", digest=digest, deed="order", ranks=ranks)
    said = tomllib.loads(plan.read_text())["columns"]
    (column,) = (one for one in said.values() if "order" in one)
    assert column["order"] == ["ordinary", EVIL, "other", "\u202etxet"]
    assert column["kind"] == "ordinal"
    assert "Preview of the levels" in visitor.get(page).text
    digest = visitor.digest(page)
    refused = visitor.post(f"{page}/levels", digest=digest, deed="order", ranks="x")
    assert (refused.status_code, "line of its own" in refused.text) == (409, True)
    assert 'id="ranks"' not in visitor.get("/p/stays/plan/column/1").text
    visitor.post("/p/stays/plan/text", digest=visitor.digest("/p/stays/plan"), text=before)


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"steps": "5, 10"}, "intervals = {widths = [5, 10]}"),
        ({"steps": "1, 5", "unit": "0.01"}, "intervals = {widths = [1, 5], unit = 0.01}"),
        ({"steps": "5", "unit": "0"}, "intervals = {widths = [5], unit = 0}"),
    ],
)
def test_intervals_say_in_which_step_a_column_is_measured(
    visitor: Visitor, folder: Path, fields: dict[str, str], told: str
):
    """Where it is said; the plan takes both as they were written."""
    plan = folder / "stays.voile" / "plan.toml"
    before, page = plan.read_text(), "/p/stays/plan/column/1"
    digest = visitor.digest(page)
    visitor.post(f"{page}/levels", digest=digest, deed="intervals", **fields)
    assert tomllib.loads(told)["intervals"] in [
        column.get("intervals") for column in tomllib.loads(plan.read_text())["columns"].values()
    ]
    refused = visitor.post(
        f"{page}/levels", digest=visitor.digest(page), deed="intervals", steps="5", unit="1, 2"
    )
    assert (refused.status_code, "is one number" in refused.text) == (409, True)
    visitor.post("/p/stays/plan/text", digest=visitor.digest("/p/stays/plan"), text=before)


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        ("/open", {"source": "../stays.csv"}),
        ("/open", {}),
        ("/p/stays/try", {"method": "no-such-method"}),
        ("/p/stays/try", {"method": "generalization", "generalization.k": "five"}),
        ("/p/stays/try", {"method": "dp-tables", "dp-tables.epsilon": "1"}),
        ("/p/stays/try", {"method": "dp-tables", "dp-tables.tables.1": "no such column"}),
        ("/p/stays/try", {"method": "generalization", "generalization.k": "1e400"}),
        ("/p/stays/try", {"method": "generalization", "generalization.k": ["5", "1"]}),
        ("/p/stays/plan/column/99", {"digest": "x", "role": "keep"}),
        ("/p/stays/plan/column/1", {"digest": "x", "role": "king"}),
        ("/p/stays/plan/column/1", {"digest": "x", "bounds": "a, b"}),
        ("/p/nothing/look", {}),
        ("/p/stays/release", {"seed": "-1", "digest": "x", "number": "001"}),
        ("/p/stays/release", {}),
        ("/p/stays/audit", {"released": "/etc/passwd"}),
        ("/p/stays/try/001/0/use", {}),
    ],
)
def test_a_wrong_form_is_refused_in_words(visitor: Visitor, folder: Path, path: str, fields):
    """Never with a fault of the server, and nothing is tried of it."""
    answer = visitor.post(path, **fields)
    assert not [*folder.glob("stays.voile/tries/*")]
    assert answer.status_code in {400, 404, 409}
    assert "Traceback" not in answer.text


@pytest.mark.parametrize(
    "path",
    ["/p/stays/try/../..", "/static/../server.py", "/static/%2e%2e/server.py", "/p/%00/data",
     "/p/stays/try/abc/0", "/p/stays/releases/001/report", "/p/stays/job/99999", "/docs"],
)  # fmt: skip
def test_an_address_that_leads_nowhere_is_no_fault(visitor: Visitor, path: str):
    """And shows nothing of the machine."""
    answer = visitor.get(path)
    assert answer.status_code in {200, 400, 404}
    assert "voile_studio" not in answer.text


@pytest.mark.slow
def test_another_server_shows_the_same(visitor: Visitor, folder: Path):
    """Nothing is held in memory that a file does not say."""
    again = Visitor(folder)
    for path in ("data", "plan", "try", "sign"):
        assert again.get(f"/p/stays/{path}").text == visitor.get(f"/p/stays/{path}").text


def test_the_project_is_for_its_owner_alone(visitor: Visitor, folder: Path):
    """It holds private figures."""
    visitor.get("/")
    assert (folder / "stays.voile").stat().st_mode & 0o077 == 0


@pytest.mark.slow
def test_texts_that_stand_for_missing_values_are_a_list_that_counts_follow(tmp_path: Path):
    """The list can be changed on Data; the table is looked at again by it, and Undo names it."""
    lines = "".join(f"{20 + n % 30},{'fm'[n % 2]},{'inconnu' if n % 3 == 0 else 'flu'}\n"
                    for n in range(90))  # fmt: skip
    (tmp_path / "ill.csv").write_text(f"age,sex,illness\n{lines}")
    visitor = Visitor(tmp_path)
    visitor.post("/open", source="ill.csv")
    page = visitor.wait("/p/ill/data", "<h2>Columns</h2>")
    assert "Texts that stand for a missing value" in page
    fields = {"digest": visitor.digest("/p/ill/data"), "marks": 'inconnu, "a, b", inconnu'}
    assert visitor.post("/p/ill/plan/missing", **{**fields, "digest": "old"}).status_code == 409
    assert visitor.post("/p/ill/plan/missing", **fields).status_code == 200
    said = tomllib.loads((tmp_path / "ill.voile" / "plan.toml").read_text("utf-8"))
    assert said["missing"] == ["inconnu", "a, b"]
    missing = '<td>sensitive attribute</td><td>text</td><td class="number">30</td>'
    page = visitor.wait("/p/ill/data", missing)
    assert "Undo the last change of the plan: missing marks" in page
    assert "The plan was changed since" not in page
