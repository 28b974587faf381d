"""Questions of a plan, put at a terminal, and what the answers make of its text."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from voile.cli.plan import _choices
from voile.proposal.editing import (
    ASKS_FOR_SENSITIVE,
    columns_not_understood,
    date_formats_asked,
    questions_in_order,
    with_answer,
    with_column_key,
    with_input,
    with_role,
)
from voile.schema.plan import open_questions, parse_plan
from voile_base.errors import InputError

ASKING = """\
# a plan
# ? "pay": does a comma part its decimals or its thousands? Say decimal = "," or thousands = ","

[roles]
# ? "id": are the rows of one value a person's? The values of "id" stand in several rows each.
#   If so, say person = "id".
quasi_identifiers = [  # others
    "sex",  # a group
    "town",  # a place
]
# ? "note": what does it hold? Nothing was understood of it: give it a role, or leave it

[columns.sex]
# ? "sex": may others know it of a person?
kind = "nominal"
[method]
name = "generalization"
k = 3
"""


def test_questions_stand_in_the_order_of_what_depends_on_them() -> None:
    """How numbers are written, whose the rows are, published columns, then those left out."""
    assert [one.column for one in questions_in_order(ASKING)] == ["pay", "id", "sex", "note"]


def test_a_role_for_many_columns_answers_their_questions() -> None:
    """Comments of others stay, and one edit is enough for all."""
    text = with_role(ASKING, ["sex", "note", "pay"], "sensitive")
    roles = tomllib.loads(text)["roles"]
    assert roles == {"quasi_identifiers": ["town"], "sensitive": ["sex", "note", "pay"]}
    assert [one.column for one in open_questions(text)] == ["id"]
    assert "# a place" in text
    with pytest.raises(InputError, match="one column alone"):
        with_role(ASKING, ["sex", "town"], "person")
    with pytest.raises(InputError, match="no such role"):
        with_role(ASKING, ["sex"], "king")


def test_how_numbers_are_written_becomes_input() -> None:
    """A new [input] stands before other tables, and the plan can still be read."""
    text = with_input(ASKING, "decimal", ",")
    assert parse_plan(tomllib.loads(text)).input.decimal == ","
    assert text.index("[input]") < text.index("[roles]")
    assert "pay" not in [one.column for one in open_questions(text)]
    assert tomllib.loads(text)["roles"] == tomllib.loads(ASKING)["roles"]


def asked(plan: Path, keys: str) -> tuple[int, str]:
    """What `voile plan --ask` says at a terminal where these lines are typed, and its status."""
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "voile", "plan", "none.csv", "--ask", "--out", str(plan)]
    process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    os.write(master, keys.encode())
    said = b""
    try:
        while block := os.read(master, 1 << 16):
            said += block
    except OSError:  # the other end is closed
        pass
    os.close(master)
    return process.wait(60), said.decode()


@pytest.mark.slow
def test_answers_at_a_terminal_are_written_at_once(tmp_path: Path) -> None:
    """One line an answer; what was put off stays open, and what was answered is kept."""
    plan = tmp_path / "p.toml"
    plan.write_text(ASKING, "utf-8")
    status, said = asked(plan, "d\n?\np\nn\nl\n")
    assert status == 0, said
    assert "answer with one of p, r, n, x" in said
    assert "1 question open" in said
    document = tomllib.loads(plan.read_text("utf-8"))
    assert document["input"] == {"decimal": ","}
    assert document["roles"]["person"] == "id"
    assert [one.column for one in open_questions(plan.read_text("utf-8"))] == ["sex"]
    status, said = asked(plan, "y\n")
    assert "can be published with" in said
    assert not open_questions(plan.read_text("utf-8"))


@pytest.mark.slow
def test_each_key_at_a_terminal_has_one_meaning(tmp_path: Path) -> None:
    """The letters of roles put nothing off and end nothing."""
    plan = tmp_path / "p.toml"
    plan.write_text(ASKING, "utf-8")
    _, said = asked(plan, "d\np\nq\ns\n")
    roles = tomllib.loads(plan.read_text("utf-8"))["roles"]
    assert (roles["quasi_identifiers"], roles["sensitive"]) == (["town", "sex"], ["note"])
    assert "can be published with" in said


GUESSED = f"""[roles]
quasi_identifiers = [
    "grund",  # by default
    "ort: a",  # by default
]
# ? {ASKS_FOR_SENSITIVE} If so, say sensitive = [...], or remove it.
#   "grund": not understood
#   "ort: a": not understood
"""


def test_what_is_not_understood_is_asked_whether_it_is_sensitive() -> None:
    """One question for all; a column that gets a role leaves it, and the last one ends it."""
    (question,) = open_questions(GUESSED)
    assert columns_not_understood(question) == ["grund", "ort: a"]
    text = with_role(GUESSED, ["grund"], "sensitive")
    assert tomllib.loads(text)["roles"]["sensitive"] == ["grund"]
    (question,) = open_questions(text)
    assert columns_not_understood(question) == ["ort: a"]
    assert not open_questions(with_role(text, ["ort: a"], "quasi_identifiers"))
    assert with_answer(text, 0).count("not understood") == 0
    choices = _choices(open_questions(GUESSED)[0])
    assert list(choices) == ["1s", "1l", "2s", "2l", "y"]
    left = tomllib.loads(choices["2l"][1](choices["1s"][1](GUESSED)))["roles"]
    assert left == {"sensitive": ["grund"]}


def test_a_proposal_asks_of_quasi_identifiers_that_it_only_guesses(desk) -> None:
    """Words that nobody knows, and names that say no more than "state"; not ages, nor sexes."""
    words = ("flimmer", "storbe", "quant", "plisk")
    lines = [f"{20 + i % 50},{words[i % 4]},{words[i % 3]},{'mf'[i % 2]}\n" for i in range(600)]
    table = desk.file("age,qworp,Stan,sex\n" + "".join(lines))
    assert desk.run("plan", table, "--out", desk / "p.toml").status == 0
    text = (desk / "p.toml").read_text("utf-8")
    (question,) = (one for one in open_questions(text) if columns_not_understood(one))
    assert columns_not_understood(question) == ["qworp", "Stan"]


def test_without_a_terminal_nobody_is_asked(desk) -> None:
    """The refusal says where the questions are answered instead, and no plan is written."""
    table = desk.file("age,illness\n" + "31,flu\n45,gout\n" * 20)
    outcome = desk.run("plan", table, "--ask", "--out", desk / "p.toml")
    assert outcome.status == 2
    assert "here is none" in outcome.stderr
    assert not (desk / "p.toml").exists()
    assert desk.run("plan", table, "--ask").status == 2


def test_how_dates_are_written_is_answered_by_a_format_and_by_no_role() -> None:
    """But a column that is left out needs no format."""
    asked = '# ? "seen": the dates fit "%d/%m/%Y" and "%m/%d/%Y": which one is it?\n'
    text = (
        f'[roles]\nquasi_identifiers = ["sex", "seen"]\n[columns.seen]\n{asked}kind = "date"\n'
        'format = "%d/%m/%Y"  # all values fit it\n[method]\nname = "generalization"\nk = 3\n'
    )
    (question,) = questions_in_order(text)
    assert date_formats_asked(question) == {"%d/%m/%Y": "31/12/2001", "%m/%d/%Y": "12/31/2001"}
    kept = with_column_key(text, "seen", "format", "%m/%d/%Y")
    assert tomllib.loads(kept)["columns"]["seen"]["format"] == "%m/%d/%Y"
    assert not open_questions(kept)
    assert open_questions(with_role(text, ["seen"], "sensitive"))
    assert not open_questions(with_role(text, ["seen"], ""))
    assert date_formats_asked(questions_in_order(ASKING)[0]) == {}
