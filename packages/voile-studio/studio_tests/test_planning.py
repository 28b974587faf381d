"""A plan is edited as text with its comments, and an error is shown at its line."""

from __future__ import annotations

import tomllib
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import given

from voile.proposal.editing import (
    with_answer,
    with_column_key,
    with_method,
    with_missing,
    with_role,
    with_row_as_person,
)
from voile.schema.plan import open_questions, parse_plan
from voile_base.errors import InputError
from voile_studio.planning import (
    ROLES,
    change_told,
    column_lines,
    levels_told,
    problem_of,
    steps_of,
    without_step,
)

PLAN = """\
# keep me
nulls = "category"

[roles]
identifiers = ["id"]
quasi_identifiers = [  # others may know
    "age",  # an age
    "sex",
]

[columns.age]
bounds = [0, 120]  # public

[method]
name = "generalization"
k = 5
"""
COLUMNS = ("id", "age", "sex", "pay")


def test_a_role_is_changed_and_comments_stay():
    """In a list of one line and in one of several."""
    text = with_role(with_role(PLAN, ["pay"], "sensitive"), ["age"], "keep")
    lines = {line.name: line for line in column_lines(text, COLUMNS)}
    assert [lines[name].role for name in COLUMNS] == [
        "identifiers",
        "keep",
        "quasi_identifiers",
        "sensitive",
    ]
    assert "# keep me" in text
    assert "# public" in text


@given(st.lists(st.tuples(st.sampled_from(COLUMNS), st.sampled_from(sorted(ROLES))), max_size=8))
def test_after_any_changes_a_column_has_its_last_role(changes: list[tuple[str, str]]):
    """Other columns have theirs; of persons, households and weights there is one column each."""
    text = PLAN
    expected = {"id": "identifiers", "age": "quasi_identifiers", "sex": "quasi_identifiers"}
    for column, role in changes:
        text = with_role(text, [column], role)
        if role in {"person", "household", "weight"}:
            expected = {name: said for name, said in expected.items() if said != role}
        expected[column] = role
    assert {line.name: line.role for line in column_lines(text, COLUMNS)} == {
        name: expected.get(name, "") for name in COLUMNS
    }


def test_one_hierarchy_takes_the_place_of_another():
    """A column has one."""
    text = with_column_key(PLAN, "age", "intervals", {"widths": [5]})
    text = with_column_key(text, "age", "prefix", [1])
    assert column_lines(text, COLUMNS)[1].hierarchy == "prefix [1]"
    assert column_lines(text, COLUMNS)[1].bounds == "0, 120"


def test_a_name_that_toml_must_quote_is_quoted():
    """Dots, spaces, quotes, other scripts."""
    for name in ("a.b", "two words", 'say "x"', "名前", "[x]", "a\nb"):
        text = with_role(
            with_column_key(PLAN, name, "kind", "nominal"), [name], "quasi_identifiers"
        )
        (line,) = column_lines(text, [name])
        assert (line.role, line.kind) == ("quasi_identifiers", "nominal")


def test_the_method_is_replaced_whole():
    """No parameter of the old one stays."""
    import tomllib  # noqa: PLC0415

    document = tomllib.loads(with_method(PLAN, "m-shuffle", {"clusters": [4, 16]}))
    assert document["method"] == {"name": "m-shuffle", "clusters": [4, 16]}
    assert parse_plan(tomllib.loads(with_method(PLAN, "generalization", {"k": 3}))).method


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        ("bounds = [0, 120]", "bounds = [120, 0]", 12),
        ("k = 5", "k = 1", 16),
        ('nulls = "category"', "nulls = ", 2),
        ('"sex",', '"sax",', 6),
        ("k = 5", "kk = 5", 16),
    ],
)
def test_an_error_is_shown_at_its_line(tmp_path: Path, old: str, new: str, line: int):
    """Of the table's head where the key is not told."""
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN.replace(old, new))
    found = problem_of(plan, COLUMNS)
    assert found is not None
    assert found.line in {line, line - 1, line - 2}, found
    assert str(tmp_path) not in found.message


def test_a_right_plan_has_no_problem(tmp_path: Path):
    """It can be used as it is."""
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN)
    assert problem_of(plan, COLUMNS) is None


def test_a_direct_identifier_that_repeats_is_a_problem_until_persons_are_told(tmp_path: Path):
    """As it was counted in the table, by the rule by which every method refuses the plan."""
    plan = tmp_path / "plan.toml"
    counts = {"missing": 1, "once": 0}
    looked = {"rows": 9, "columns": [{"name": "id", "distinct": 4, **counts}]}
    alone = {"rows": 9, "columns": [{"name": "id", "distinct": 8, **counts}]}
    plan.write_text('[roles]\nidentifiers = ["id"]\nquasi_identifiers = ["age"]\n')
    found = problem_of(plan, COLUMNS, looked=looked)
    assert found is not None
    assert found.repeating == ("id",)
    assert "id: 4 different values in 8 rows" in found.message
    found = problem_of(plan, COLUMNS, looked=alone)
    assert found is not None
    assert found.lacks_method
    plan.write_text(with_row_as_person(plan.read_text()))
    found = problem_of(plan, COLUMNS, looked=looked)
    assert found is not None
    assert found.repeating == ()


def test_a_text_that_is_no_toml_is_not_edited():
    """But may be typed on."""
    with pytest.raises(InputError, match="mended first"):
        with_role("[roles\n", ["age"], "keep")
    assert [line.role for line in column_lines("[roles\n", COLUMNS)] == [""] * 4


ASKING = """\
[roles]
# ? "sex": is it a group?
quasi_identifiers = ["age", "sex"]
# ? "id": are the rows of one value a person's? The values of "id" stand in several rows each.
#   If so, say person = "id". If each row is another
#   person all the same, say person = "row".

[columns.age]
# ? "age": may others know it?
kind = "number"
"""


def test_questions_are_found_with_their_columns_and_all_their_lines():
    """A question ends where a comment does not go on with it."""
    found = open_questions(ASKING)
    assert [one.column for one in found] == ["sex", "id", "age"]
    assert found[1].text.endswith('say person = "row".')
    assert [(one.first, one.last) for one in found] == [(2, 2), (4, 6), (9, 9)]


def test_a_question_is_answered_as_it_stands_or_by_a_choice():
    """By its button, by a role or a kind for its column, by the word that rows are persons."""
    left = [one.column for one in open_questions(with_answer(ASKING, 0))]
    assert left == ["id", "age"]
    assert open_questions(with_answer(ASKING, None)) == ()
    by_role = with_role(ASKING, ["sex"], "sensitive")
    assert [one.column for one in open_questions(by_role)] == ["id", "age"]
    by_kind = with_column_key(ASKING, "age", "kind", "ordinal")
    assert [one.column for one in open_questions(by_kind)] == ["sex", "id"]
    by_rows = with_row_as_person(ASKING)
    assert [one.column for one in open_questions(by_rows)] == ["sex", "age"]
    with pytest.raises(InputError):
        with_answer(ASKING, 3)


CHAIN = """[roles]
quasi_identifiers = ["age"]
[[steps]] # first
kind = "top-coding"
columns = ["age"]
bound = 80
[[steps]]
kind = "rounding"
columns = ["wage", "age"]
base = 5
after = true
[method]
name = "local-suppression"
k = 3
"""


def test_a_step_is_taken_away_and_nothing_else():
    """The text of one step goes; the others, comments and the method stay as they are."""
    assert steps_of(CHAIN) == ["top-coding of age", "rounding of wage, age (after the method)"]
    first = without_step(CHAIN, 0)
    assert steps_of(first) == ["rounding of wage, age (after the method)"]
    step = CHAIN[CHAIN.index("[[steps]] # first") : CHAIN.index("[[steps]]\n")]
    assert first == CHAIN.replace(step, "")
    alone = without_step(first, 0)
    assert "steps" not in alone
    assert alone.endswith('[method]\nname = "local-suppression"\nk = 3\n')
    assert without_step(alone, 0) == alone
    assert steps_of("not = [toml") == []


def test_a_change_of_the_plan_is_told_in_a_few_words():
    """As the buttons Undo and Redo name it."""
    before = (
        '[roles]\nquasi_identifiers = ["age", "sex"]\n\n[method]\nname = "generalization"\nk = 5\n'
    )
    assert change_told(before, before) == ""
    kept = before.replace('"age", "sex"', '"age"').replace("[method]", 'keep = ["sex"]\n\n[method]')
    assert change_told(before, kept) == "role of sex"
    assert change_told(before, before.replace("k = 5", "k = 11")) == "method"
    assert change_told(before, f'{before}\n[columns.age]\nkind = "number"\n') == "column age"
    assert change_told(before, "[oops") == "text of the plan"


@pytest.mark.parametrize(
    ("hierarchy", "told"),
    [
        ('dates ["month", "year"]', "month, year"),
        ("prefix [3, 2, 1]", "first 3, 2, 1 characters"),
        ('intervals {"widths": [5, 10]}', "intervals of 5, 10"),
        ("hierarchy levels.csv", "groups of values"),
        ('order ["none", "primary"]', "ranks in order"),
    ],
)
def test_levels_are_told_in_words(hierarchy: str, told: str):
    """And not as the text of the plan has them."""
    assert levels_told(hierarchy) == told


def test_remarks_that_a_role_makes_false_go_with_it():
    """Of columns that were left out; others, and the heading while one is left, stay."""
    left = (
        "# Left out, because no role names them (`keep` would publish them as they are):\n"
        '#   "weight": a weight of the survey\n'
        '#   "remark": free text\n'
        '#   weight = "weight" tells risk in the population\n'
    )
    text = f'[roles]\nquasi_identifiers = ["age"]\n{left}\n[columns.age]\nkind = "number"\n'
    kept = with_role(text, ["weight"], "keep")
    assert '"weight"' not in kept.replace('keep = ["weight"]', "")
    assert '#   "remark": free text' in kept
    assert "# Left out" in kept
    both = with_role(kept, ["remark"], "sensitive")
    assert "#" not in both
    assert tomllib.loads(both)["roles"]["sensitive"] == ["remark"]


def test_marks_of_missing_values_are_a_list_at_the_top():
    """They are a value of their own where the plan says nothing else, and can go again."""
    text = '[roles]\nquasi_identifiers = ["age"]\n'
    said = tomllib.loads(with_missing(text, ["n.d.", "inconnu"]))
    assert (said["missing"], said["nulls"]) == (["n.d.", "inconnu"], "category")
    kept = with_missing(f'nulls = "drop"\nmissing = ["?"]  # marks\n{text}', ["-"])
    assert tomllib.loads(kept)["nulls"] == "drop"
    assert "# marks" in kept
    assert "missing" not in tomllib.loads(with_missing(kept, []))


def test_a_survey_weight_is_a_role_that_a_published_column_may_have_too():
    """One column has it; published unchanged it stays the weight, and left out it does not."""
    text = '[roles]\nquasi_identifiers = ["age"]\nkeep = ["w"]\n'
    weighs = with_role(text, ["w"], "weight")
    assert tomllib.loads(weighs)["roles"] == {"quasi_identifiers": ["age"], "weight": "w"}
    assert [one.role for one in column_lines(weighs, ["age", "w"])] == [
        "quasi_identifiers",
        "weight",
    ]
    both = with_role(weighs, ["w"], "keep")
    assert tomllib.loads(both)["roles"]["weight"] == "w"
    assert [one.role for one in column_lines(both, ["w"])] == ["keep"]
    assert change_told(weighs, both) == "role of w"
    assert set(tomllib.loads(with_role(both, ["w"], ""))["roles"]) == {"quasi_identifiers"}
