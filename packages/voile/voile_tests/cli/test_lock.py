"""The lock at the door: open questions, identifiers and positions that a plan would publish."""

from __future__ import annotations

import json

import pytest

from voile.schema.plan import open_questions

GENERALIZED = """
[columns.age]
bounds = [0, 99]
[method]
name = "generalization"
k = 2
"""
AGES = [20 + row % 7 for row in range(84)]


def _table(desk, name, values, *others):
    head = ",".join(["age", name, *others])
    rows = "".join(
        f"{age},{value}{f',{48 + place / 997:.5f}' * len(others)}\n"
        for place, (age, value) in enumerate(zip(AGES, values, strict=True))
    )
    return desk.file(f"{head}\n{rows}")


def _plan(desk, role, name, more="", top=""):
    return desk.plan(
        f'{top}[roles]\nquasi_identifiers = ["age"]\n{role} = ["{name}"]\n{more}{GENERALIZED}'
    )


def test_a_plan_with_an_open_question_publishes_nothing(desk):
    """Neither a release nor a study, with a seed or without; removed or accepted it does."""
    table, illness = _table(desk, "illness", ["flu", "gout"] * 42), "illness"
    asks = '# ? "illness": is it one?\n'
    for command, *seed in (
        ("publish",),
        ("study",),
        ("publish", "--seed", 1),
        ("study", "--seed", 1),
    ):
        plan = _plan(desk, "sensitive", illness, asks)
        outcome = desk.run(command, table, "--plan", plan, "--out", desk / "out", *seed)
        assert outcome.status == 2
        assert '1 question is open, in lines that begin with "# ?"' in outcome.stderr
        assert '"illness": is it one?' in outcome.stderr
        assert not (desk / "out").exists()
    accepted = _plan(desk, "sensitive", illness, asks, "accept_questions = true\n")
    assert desk.run("publish", table, "--plan", accepted, "--out", desk / "one").status == 0
    stated = json.loads((desk / "one" / "release.json").read_text("utf-8"))
    assert (stated["accept_questions"], stated["open_questions"]) == (True, 1)
    answered = _plan(desk, "sensitive", illness)
    assert desk.run("publish", table, "--plan", answered, "--out", desk / "two").status == 0
    assert "accept_questions" not in (desk / "two" / "release.json").read_text("utf-8")


def _of_codes(desk):
    """A table of which nothing is understood, and the plan that is proposed for it."""
    codes = (f"AB{n % 28 * 7919 % 9973:04}C,{n % 7}QX{n % 42 * 31 % 997:03}" for n in range(84))
    rows = "".join(f"{one}\n" for one in codes)
    table, plan = desk.file(f"qq,zz\n{rows}"), desk / "proposed.toml"
    outcome = desk.run("plan", table, "--out", plan)
    assert outcome.status == 0, outcome.stderr
    return table, plan


@pytest.mark.parametrize("accept", ["", "accept_questions = true\n"])
@pytest.mark.parametrize("command", ["publish", "study"])
def test_a_proposal_of_nothing_says_which_question_to_answer(desk, command, accept):
    """File, line, table and column stand in the message, also where accepting gives no method."""
    table, plan = _of_codes(desk)
    text = accept + plan.read_text("utf-8")
    plan.write_text(text, "utf-8")
    assert "[method]" not in text.replace("Without a [method]", "")
    outcome = desk.run(command, table, "--plan", plan, "--out", desk / "out")
    assert outcome.status == 2
    for column in ("qq", "zz"):
        line = next(n for n, one in enumerate(text.splitlines(), 1) if f'# ? "{column}"' in one)
        assert f'line {line}, [roles] "{column}": what does it hold?' in outcome.stderr
    assert f"{plan}: " in outcome.stderr
    assert not accept or "no [method] table" in outcome.stderr


def test_questions_are_quoted_with_the_table_that_they_stand_in():
    """Right above a head: of that table; else of the one above; else of the top of the plan."""
    text = (
        '# ? table: is it one?\n\n[roles]\n# ? "a b": what is it?\n#   Really?\n\n'
        '# ? noise: how far?\n[method]\nname = "x"\n[columns."a b"]\n# ? "a b": kind?\n'
    )
    assert [one.quoted for one in open_questions(text)] == [
        "line 1: table: is it one?",
        'line 4, [roles] "a b": what is it? Really?',
        "line 7, [method]: noise: how far?",
        'line 11, [columns."a b"] "a b": kind?',
    ]


@pytest.mark.parametrize("role", ["sensitive", "keep"])
@pytest.mark.parametrize(
    ("name", "values", "what"),
    [
        ("Nachname", ["Mueller", "Berg"] * 42, "names of persons"),
        ("contact", [f"a{n % 9}@example.org" for n in range(84)], "e-mail addresses"),
        ("street", ["Elm Street 1", "Oak Road 2"] * 42, "addresses and streets"),
        ("latitude", [round(48 + n % 12 / 997, 5) for n in range(84)], "positions"),
        ("geohash", ["u281z", "u281y"] * 42, "positions"),
    ],
)
def test_an_identifier_is_refused_however_often_it_repeats(desk, role, name, values, what):
    """By any method, unless keep_unique says that it may be; then it is said what that gives."""
    table = _table(desk, name, values)
    message = desk.publish_fails(2, table, plan=_plan(desk, role, name))
    assert f"[roles] {role}: column '{name}' holds {what}" in message
    assert f'keep_unique = ["{name}"]' in message
    rows = _plan(desk, role, name, 'person = "row"\n')
    assert what in desk.publish_fails(2, table, plan=rows)
    opened = _plan(desk, role, name, f'keep_unique = ["{name}"]\n')
    outcome = desk.run("publish", table, "--plan", opened, "--out", desk / "out")
    assert outcome.status == 0, outcome.stderr
    assert f"[roles] keep_unique: column '{name}' holds {what}" in outcome.stderr


def test_a_case_number_is_refused_and_a_salary_is_none(desk):
    """Equally long numbers, a row each, are those of records, unless their name is an amount's."""
    numbers = [31_007 + 113 * n for n in range(84)]
    table = _table(desk, "fall", numbers)
    message = desk.publish_fails(2, table, plan=_plan(desk, "sensitive", "fall"))
    assert "column 'fall' looks like an id" in message
    desk.publish(_table(desk, "salary", numbers), plan=_plan(desk, "sensitive", "salary"))


@pytest.mark.parametrize("name", ["speed", "heading", "odometer", "Kilometerstand", "vitesse"])
def test_what_follows_from_positions_is_refused_beside_them(desk, name):
    """Alone a speed is a number like any other; beside a latitude it tells where somebody was."""
    values = [n % 12 for n in range(84)]
    beside = _table(desk, name, values, "latitude")
    message = desk.publish_fails(2, beside, plan=_plan(desk, "sensitive", name))
    assert "movements that follow from positions" in message
    desk.publish(_table(desk, name, values), plan=_plan(desk, "sensitive", name))


@pytest.mark.parametrize("name", ["speed", "street", "geohash"])
def test_nothing_that_tells_positions_is_kept_beside_moved_ones(desk, name):
    """Not even with keep_unique: it would take the noise away."""
    rows = "".join(
        f"T{n % 3},2024-05-01T08:{n // 3:02}:00Z,{48 + n / 997:.5f},{2 + n / 991:.5f},v{n % 5}\n"
        for n in range(60)
    )
    table = desk.file(f"trip,time,latitude,longitude,{name}\n{rows}")
    plan = desk.plan(f"""
[roles]
keep = ["{name}"]
keep_unique = ["{name}"]
[method]
name = "geo-indistinguishability"
epsilon = 0.005
""")
    message = desk.publish_fails(2, table, plan=plan)
    assert f"column '{name}' holds" in message
    assert "beside positions that the method moves" in message


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("k-anonymity", "generalization"),
        ("K anonymity", "generalization"),
        ("l-diversity", "generalization"),
        ("t-closeness", "generalization"),
        ("differential-privacy", "dp-generalization"),
        ("differential_privacy", "clustered-laplace"),
    ],
)
def test_names_of_the_field_lead_to_the_method(desk, name, method):
    """Not to another method whose name is spelled alike."""
    plan = desk.plan(f'[roles]\nquasi_identifiers = ["age"]\n[method]\nname = "{name}"\nk = 2\n')
    table = _table(desk, "illness", ["flu", "gout"] * 42)
    message = desk.publish_fails(2, table, plan=plan)
    assert f'"{method}"' in message
    assert "did you mean" not in message


def test_row_names_of_r_are_read(desk):
    """A first column without a name is called row, and a note says so."""
    table = desk.file('"","age"\n' + "".join(f'"{n}",{20 + n % 5}\n' for n in range(1, 60)))
    outcome = desk.run("plan", table, "--out", desk / "proposed.toml")
    assert outcome.status == 0, outcome.stderr
    assert "column 1 has no name; it is called 'row'" in outcome.stderr
    assert "identifiers = [" in (desk / "proposed.toml").read_text("utf-8")


def test_a_first_row_that_looks_like_data_names_no_column(desk):
    """Columns are called by their place, which is asked about; nothing shows the first person."""
    rows = "".join(f"P{n:03},{'FM'[n % 2]},{20 + n % 40},flu\n" for n in range(60))
    outcome = desk.run("plan", desk.file(rows), "--out", desk / "proposed.toml")
    assert outcome.status == 0, outcome.stderr
    assert "[input] header = 'none'" in outcome.stderr
    proposed = (desk / "proposed.toml").read_text(encoding="utf-8")
    assert "P000" not in outcome.stderr + outcome.stdout + proposed
    assert "# ?" in proposed


def test_a_new_ledger_of_a_series_is_no_silent_beginning(desk):
    """It is said that nothing was compared; a release beside the plan is found, and refused."""
    table = _table(desk, "salary", [1000 + 37 * n for n in range(84)])
    plan = desk.plan("""
[roles]
quasi_identifiers = ["age"]
sensitive = ["salary"]
[method]
name = "ke-anonymity"
k = 3
e = 100
series = "pay"
""")
    (desk / "far").mkdir()
    first = desk.run(
        *("publish", table, "--plan", plan, "--out", desk / "far" / "one"),
        *("--ledger", desk / "far" / "a.db"),
    )
    assert first.status == 0, first.stderr
    assert "knew no release of series 'pay': this is its first" in first.stderr
    near = ("publish", table, "--plan", plan, "--out", desk / "two", "--ledger", desk / "b.db")
    assert desk.run(*near).status == 0
    again = ("publish", table, "--plan", plan, "--out", desk / "far" / "three")
    outcome = desk.run(*again, "--ledger", desk / "c.db")
    assert outcome.status == 4


_EXACTLY = ('name = "ke-anonymity"\nk = 2\ne = 1', 'name = "m-shuffle"\nclusters = 3')
"""Methods that show quasi-identifiers exactly."""


def _plan_of_exact(desk, name, method, more=""):
    return desk.plan(
        f'[roles]\nquasi_identifiers = ["{name}"]\nsensitive = ["age"]\n{more}[method]\n{method}\n'
    )


@pytest.mark.parametrize("method", _EXACTLY)
def test_names_are_no_quasi_identifiers_of_a_method_that_shows_these_exactly(desk, method):
    """They would be published as they are beside the sensitive column; towns may be."""
    table = _table(desk, "Nachname", ["Mueller", "Berg"] * 42)
    plan = _plan_of_exact(desk, "Nachname", method)
    outcome = desk.run("publish", table, "--plan", plan, "--out", desk / "out")
    assert outcome.status == 2
    assert "quasi_identifiers: column 'Nachname' holds names of persons" in outcome.stderr
    checked = desk.run("plan", "--check", plan, table)
    assert checked.status == 2
    assert '[roles] quasi_identifiers, column "Nachname": column' in checked.stdout


@pytest.mark.parametrize("method", _EXACTLY)
@pytest.mark.parametrize(
    "values",
    [
        [7_001 + n for n in range(84)],
        [f"row-{n * 37 % 97}" for n in range(84)],
        [f"{n * 0x9E3779B97F4A7C15 % 2**64:016x}" for n in range(84)],
    ],
)
def test_what_looks_like_an_id_is_no_quasi_identifier_of_such_a_method(desk, method, values):
    """Running numbers, texts of a row each and ids of a program are refused, by --check as well."""
    table = _table(desk, "mark", values)
    plan = _plan_of_exact(desk, "mark", method)
    message = desk.publish_fails(2, table, plan=plan)
    assert "[roles] quasi_identifiers: column 'mark'" in message
    assert 'keep_unique = ["mark"]' in message
    checked = desk.run("plan", "--check", plan, table)
    assert checked.status == 2
    assert '[roles] quasi_identifiers, column "mark": column' in checked.stdout
    opened = _plan_of_exact(desk, "mark", method, 'keep_unique = ["mark"]\n')
    desk.publish(table, plan=opened)


@pytest.mark.parametrize("method", _EXACTLY)
@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("height", [151 + n for n in range(84)]),
        ("born", [f"19{40 + n % 50}-0{1 + n % 9}-{10 + n % 19}" for n in range(84)]),
        ("mark", [7_001 + n % 40 for n in range(84)]),
    ],
)
def test_amounts_days_and_numbers_that_repeat_are_quasi_identifiers_of_it(
    desk, method, name, values
):
    """They are what such a method shows; that a height stands once is no id."""
    table = _table(desk, name, values)
    desk.publish(table, plan=_plan_of_exact(desk, name, method))
