"""Undo and redo, roles for many columns at once, and a button for each answer."""

from __future__ import annotations

import json
import random
import tomllib
from pathlib import Path

import pytest

pytest.importorskip("fastapi")

from studio_tests.browsing import User, studio
from studio_tests.studio import Visitor
from voile_base.errors import InputError
from voile_studio.project import _PlanStates

pytestmark = pytest.mark.slow

MOST_FOR_MANY = 20


def test_undo_leads_through_every_state_and_redo_back(tmp_path: Path) -> None:
    """Against a list of all states: what was undone before a new change is not lost."""
    draw, states = random.Random(3), _PlanStates(tmp_path / "states")
    line, now = ["plan 0"], 0
    states.record("plan 0")
    for number in range(1, 200):
        deed = draw.choice(("change", "undo", "redo"))
        if deed == "change":
            line += ([line[now]] if now < len(line) - 1 else []) + [f"plan {number}"]
            now = len(line) - 1
            states.record(line[-1])
        else:
            to = now + (1 if deed == "redo" else -1)
            if 0 <= to < len(line):
                assert states.step(to - now) == line[to]
                now = to
            else:
                with pytest.raises(InputError, match=f"nothing to {deed}"):
                    states.step(to - now)
        assert (states.back, states.forth) == (now, len(line) - 1 - now)
    again = _PlanStates(tmp_path / "states")
    assert [again.step(-1) for _ in range(now)] == line[:now][::-1]


def test_undo_names_what_was_done(tmp_path: Path) -> None:
    """As it was done, through undo and redo; a line of an earlier version tells none."""
    states = _PlanStates(tmp_path / "states")
    states.record("one")
    states.record("two", "role of age")
    states.record("three", "text of the plan")
    assert (states.deed(-1), states.deed(1)) == ("text of the plan", "")
    states.step(-1)
    assert (states.deed(-1), states.deed(1)) == ("role of age", "text of the plan")
    states.record("four", "levels of age")
    assert (states.deed(-1), states.back) == ("levels of age", 4)
    states.step(-1)
    assert states.deed(-1) == "undo of text of the plan"
    states.step(1)
    path = tmp_path / "states" / "line.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "deeds": None}), "utf-8")
    assert states.back == 0
    said = json.loads(path.read_text())
    del said["deeds"]
    path.write_text(json.dumps(said), "utf-8")
    assert (states.back, states.deed(-1)) == (4, "")


def test_a_state_that_was_altered_is_refused(tmp_path: Path) -> None:
    """A plan of another hash than its own is none that ever stood."""
    states = _PlanStates(tmp_path / "states")
    states.record("one")
    states.record("two")
    for file in (tmp_path / "states").glob("*.toml"):
        file.write_text("three", "utf-8")
    with pytest.raises(InputError, match="was altered"):
        states.step(-1)
    (tmp_path / "states" / "line.json").write_text("{", "utf-8")
    assert (states.back, states.forth) == (0, 0)


def _wide(folder: Path, columns: int) -> Path:
    """A table of 60 persons with many columns, the half of which are drugs."""
    draw = random.Random(1)
    names = ["age", "sex", *(f"drug{n}" for n in range(columns // 2))]
    names += [f"item{n}" for n in range(columns - len(names))]
    marks = ("no", "yes", "unknown")
    rows = [
        [str(draw.randrange(18, 90)), draw.choice("fm"), *(draw.choice(marks) for _ in names[2:])]
        for _ in range(60)
    ]
    text = "\n".join(",".join(row) for row in [names, *rows]) + "\n"
    (folder / "wide.csv").write_text(text, "utf-8")
    return folder / "wide.csv"


@pytest.fixture
def visitor(tmp_path: Path) -> Visitor:
    """Somebody who opened a table of 20 columns."""
    _wide(tmp_path, 20)
    found = Visitor(tmp_path)
    found.post("/open", source="wide.csv")
    found.wait("/p/wide/data", "<h2>Columns</h2>")
    return found


def test_an_edit_of_many_columns_is_undone_in_one(visitor: Visitor, tmp_path: Path) -> None:
    """All ticked columns get the role, their questions are answered; undo and redo are one form."""
    plan = tmp_path / "wide.voile" / "plan.toml"
    before = plan.read_text("utf-8")
    digest = visitor.digest("/p/wide/plan")
    visitor.post("/p/wide/plan/roles", digest=digest, role="sensitive", column=["2", "3", "4"])
    after = plan.read_text("utf-8")
    assert "role of 3 columns" in visitor.get("/p/wide/plan").text
    assert {"drug0", "drug1", "drug2"} <= set(tomllib.loads(after)["roles"]["sensitive"])
    visitor.post("/p/wide/undo")
    assert plan.read_text("utf-8") == before
    visitor.post("/p/wide/redo")
    assert plan.read_text("utf-8") == after
    assert visitor.post("/p/wide/redo").status_code == 400
    seen = visitor.digest("/p/wide/plan")
    visitor.post("/p/wide/plan/roles", digest=seen, role="out", column=["2", "3"])
    assert "drug0" not in json.dumps(tomllib.loads(plan.read_text("utf-8"))["roles"])
    for wrong in (
        {"role": "sensitive"},
        {"role": "king", "column": "2"},
        {"role": "keep", "column": "99"},
    ):
        fresh = visitor.digest("/p/wide/plan")
        assert visitor.post("/p/wide/plan/roles", digest=fresh, **wrong).status_code == 400
    assert (
        visitor.post("/p/wide/plan/roles", digest="old", role="keep", column="2").status_code == 409
    )


def test_each_question_has_a_button_for_each_answer(visitor: Visitor, tmp_path: Path) -> None:
    """What is left out already is answered by leaving it out, too; no button speaks of TOML."""
    plan = tmp_path / "wide.voile" / "plan.toml"
    plan.write_text('# ? "age": what is it? Say kind = "number" in [columns.age]\n\n[roles]\n'
                    'quasi_identifiers = ["sex"]\n', "utf-8")  # fmt: skip
    page = visitor.get("/p/wide/plan").text
    assert "what is it?" in page.partition("<textarea")[0]
    assert "Say kind" not in page.partition("<textarea")[0]
    assert ">As proposed: leave out</button>" in page
    visitor.post("/p/wide/plan/column/0", digest=visitor.digest("/p/wide/plan"), role="out")
    assert "# ?" not in plan.read_text("utf-8")


@pytest.mark.slow
def test_200_columns_get_their_roles_in_20_actions(tmp_path: Path, user: User) -> None:
    """Search, tick all shown, choose, give: and one click undoes it."""
    plan = tmp_path / "wide.voile" / "plan.toml"
    with studio(_wide(tmp_path, 200)) as address:
        user.enter(address)
        user.click("text=Go on to the plan")
        user.page.wait_for_selector("#find")
        before, texts = user.actions, []
        for words, role in (("drug", "sensitive"), ("item", "identifiers")):
            texts.append(plan.read_text("utf-8"))
            user.fill("#find", words)
            user.click("#all")
            user.choose("#role-of-many", role)
            seen = user.page.input_value("#digest")
            user.click("#give")
            user.page.wait_for_function(
                "seen => document.querySelector('#digest').value !== seen", arg=seen
            )
        assert user.actions - before <= MOST_FOR_MANY
        roles = tomllib.loads(plan.read_text("utf-8"))["roles"]
        assert (len(roles["sensitive"]), len(roles["identifiers"])) == (100, 98)
        user.click("#undo")
        user.page.wait_for_selector("#redo:not([disabled])")
        assert plan.read_text("utf-8") == texts[-1]
    assert user.complaints == []


def test_a_role_that_was_chosen_by_mistake_is_undone_on_the_same_page(
    tmp_path: Path, user: User
) -> None:
    """Undo can be clicked as soon as a column has its new role, and redo after it."""
    plan = tmp_path / "wide.voile" / "plan.toml"
    with studio(_wide(tmp_path, 8)) as address:
        user.enter(address)
        user.click("text=Go on to the plan")
        user.page.wait_for_selector("select[aria-label='Role of sex']")
        before = plan.read_text("utf-8")
        user.choose("select[aria-label='Role of sex']", "identifiers")
        user.page.wait_for_selector("#undo:enabled")
        assert "sex" in user.page.inner_text("dl.facts dd >> nth=0")
        assert plan.read_text("utf-8") != before
        user.click("#undo")
        user.page.wait_for_selector("#redo:enabled")
        assert plan.read_text("utf-8") == before
    assert user.complaints == []
