"""Rankings through the command line: what is written, what is told, and what is refused."""

from __future__ import annotations

import json

import polars as pl
import pytest

PLAN = """
[roles]
identifiers       = ["name"]
quasi_identifiers = ["city"]
ranking           = ["algebra", "biology", "chemistry"]

[method]
name      = "ranking"
k         = 3
top       = 6
precision = 0.6
batch     = 3
"""
HEADER = "name,city,grade,algebra,biology,chemistry\n"
APPLICANTS = """\
Ann,Lyon,A,99,99,99
Bea,Nice,A,95,98,96
Cid,Lyon,B,92,97,95
Dov,Oslo,B,96,96,90
Eva,Oslo,B,98,89,94
Fay,Nice,C,97,95,88
Gus,Lyon,C,96,95,88
Hal,Oslo,C,98,91,90
Ida,Oslo,C,92,96,90
Wilhelmina,Xanadu-7,C,97,89,90
"""


@pytest.fixture
def applicants(desk):
    """The ten applicants of the thesis."""
    return desk.file(HEADER + APPLICANTS, "applicants.csv")


def plan(desk, *changes, name="plan.toml"):
    """The plan with some of its texts replaced."""
    text = PLAN
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return desk.plan(text, name)


@pytest.mark.slow
def test_a_release_folder(desk, applicants):
    """The groups of the thesis, in rows that show boxes, and a document that explains them."""
    folder, done = desk.publish(applicants, plan=plan(desk))
    assert (folder / "data.csv").read_text().splitlines() == [
        "group,city,algebra.low,algebra.high,biology.low,biology.high,chemistry.low,chemistry.high",
        *["1,*,92,99,97,99,95,99"] * 3,
        *["2,*,96,97,95,96,88,90"] * 3,
    ]
    release = json.loads((folder / "release.json").read_text())
    assert release["method"] == {
        "name": "ranking",
        "k": 3,
        "top": 6,
        "precision": 0.6,
        "by": {"algebra": 1, "biology": 1, "chemistry": 1},
        "search": "auto",
        "ties": "top",
        "decision": {
            "groups": [
                {"group": 1, "rows": 3, "precision": 1.0, "score": [284, 297]},
                {"group": 2, "rows": 3, "precision": 0.666667, "score": [279, 283]},
            ],
            "recall": 0.833333,
        },
    }
    assert release["guarantee"]["kind"] == "ranking"
    assert (release["rows"], release["publishable"]) == (6, True)
    assert "ranking" in release["roles"]
    told = done.document
    assert (told["rows_in"], told["rows_out"], told["suppressed"]) == (10, 6, 4)
    assert told["decision"] == {"groups": 2, "best": 6, "stop": "impossible"}
    assert told["objective"] == pytest.approx(5 / 6)


def test_people_are_told_how_much_of_the_top_is_shown(desk, applicants):
    """One line with rows, groups and recall, then the promise."""
    done = desk.run("publish", applicants, "--plan", plan(desk), "--out", desk / "out")
    assert done.status == 0
    assert "6 of 10 rows in 2 groups, which show 83.3% of the best 6" in done.stderr
    assert "at least 0.6 is among the best 6" in done.stderr


def test_boxes_may_be_shown_as_texts(desk, applicants):
    """Each range in one column."""
    folder, _ = desk.publish(applicants, "--intervals", "text", plan=plan(desk))
    first = (folder / "data.csv").read_text().splitlines()[:2]
    assert first == ["group,city,algebra,biology,chemistry", '1,*,"[92, 99]","[97, 99]","[95, 99]"']


@pytest.mark.parametrize("kind", ["parquet", "folder", "arrow", "shuffled"])
def test_the_file_of_a_table_changes_nothing(desk, applicants, kind):
    """The same rows in another format, in parts, or in another order give the same groups."""
    frame = pl.read_csv(applicants)
    if kind == "folder":
        (desk / "parts").mkdir()
        for number in range(3):
            frame[number::3].write_parquet(desk / "parts" / f"{number}.parquet")
        table = desk / "parts"
    elif kind == "shuffled":
        table = desk / "shuffled.csv"
        frame.sample(fraction=1, shuffle=True, seed=3).write_csv(table)
    else:
        table = desk / f"applicants.{kind}"
        (frame.write_parquet if kind == "parquet" else frame.write_ipc)(table)
    expected, _ = desk.publish(applicants, "--format", "csv", plan=plan(desk), out="expected")
    folder, _ = desk.publish(table, "--format", "csv", plan=plan(desk))
    assert (folder / "data.csv").read_bytes() == (expected / "data.csv").read_bytes()
    methods = [json.loads((f / "release.json").read_text())["method"] for f in (folder, expected)]
    assert methods[0] == methods[1]


def test_an_expression_and_an_order_stand_in_the_release(desk, applicants):
    """Whoever reads a score can compute it."""
    changes = (
        ('ranking           = ["algebra",', 'ranking           = ["grade", "algebra",'),
        ("batch     = 3", "by = '10 * grade + algebra / 2 + sqrt(biology) + `chemistry`'"),
        ("[method]", '[columns.grade]\norder = ["C", "B", "A"]\n\n[method]'),
    )
    folder, _ = desk.publish(applicants, plan=plan(desk, *changes))
    method = json.loads((folder / "release.json").read_text())["method"]
    assert method["by"] == "10 * grade + algebra / 2 + sqrt(biology) + `chemistry`"
    assert method["orders"] == {"grade": ["C", "B", "A"]}
    highest = max(group["score"][1] for group in method["decision"]["groups"])
    assert highest == pytest.approx(30 + 49.5 + 99**0.5 + 99)
    assert ",C to A," in (folder / "data.csv").read_text()


def test_weights_stand_in_a_table(desk, applicants):
    """Lower is better where the plan says so, and a weight of the release shows it."""
    changes = (
        ("batch     = 3", "by = { algebra = 2, biology = 0.5, chemistry = 1 }"),
        ("[method]", '[columns.biology]\nbetter = "lower"\n\n[method]'),
    )
    folder, _ = desk.publish(applicants, plan=plan(desk, *changes))
    method = json.loads((folder / "release.json").read_text())["method"]
    assert method["by"] == {"algebra": 2, "biology": -0.5, "chemistry": 1}


BAD_PLANS = {
    "top above the number of rows": (
        [("top       = 6", "top = 11")],
        ["top = 11 is above the number of rows, 10", "lower it"],
    ),
    "k above top": (
        [("k         = 3", "k = 7")],
        ["[method] k = 7 is above top = 6", "lower k, or raise top"],
    ),
    "k is 1": ([("k         = 3", "k = 1")], ["[method] k", "whole number of at least 2"]),
    "precision is 0": (
        [("precision = 0.6", "precision = 0")],
        ["[method] precision must be above 0 and at most 1"],
    ),
    "precision above 1": (
        [("precision = 0.6", "precision = 1.5")],
        ["[method] precision must be above 0 and at most 1"],
    ),
    "precision is a text": (
        [("precision = 0.6", 'precision = "high"')],
        ["[method] precision must be a number"],
    ),
    "no top": ([("top       = 6\n", "")], ["[method] needs 'top'"]),
    "unknown search": (
        [("batch     = 3", 'search = "theta-fast"')],
        ["[method] search must be one of", "did you mean 'theta"],
    ),
    "unknown parameter": (
        [("batch     = 3", "thetta = 0.1")],
        ["[method] unknown key 'thetta'", "did you mean 'theta'?"],
    ),
    "a ranking column that is not ordered": (
        [('["algebra", "biology", "chemistry"]', '["algebra", "grade"]')],
        [
            "'grade' holds values of kind text",
            "no order to rank by",
            "declare in [columns.grade] order =",
        ],
    ),
    "an order that misses a value": (
        [
            ('["algebra", "biology", "chemistry"]', '["algebra", "city"]'),
            ('quasi_identifiers = ["city"]', ""),
            ("[method]", '[columns.city]\norder = ["Oslo", "Nice", "Lyon"]\n\n[method]'),
        ],
        ["[columns.city] order", "do not stand in it", "name every value"],
    ),
    "no ranking column": (
        [('ranking           = ["algebra", "biology", "chemistry"]', 'keep = ["algebra"]')],
        ["[roles] ranking names no column"],
    ),
    "a ranking column that the table lacks": (
        [('"algebra"', '"algebras"')],
        ["[roles] ranking names the column 'algebras'", "did you mean 'algebra'?"],
    ),
    "a weight for an unknown column": (
        [("batch     = 3", "by = { algebra = 1, biology = 1, chemistri = 1 }")],
        ["by: 'chemistri' is no ranking column of [roles]", "did you mean 'chemistry'?"],
    ),
    "no weight for a ranking column": (
        [("batch     = 3", "by = { algebra = 1, biology = 1 }")],
        ["by gives no weight to the ranking column 'chemistry'"],
    ),
    "a weight that is not above 0": (
        [("batch     = 3", "by = { algebra = 1, biology = 1, chemistry = 0 }")],
        ["[method] by.chemistry must be a number above 0"],
    ),
    "an expression that multiplies columns": (
        [("batch     = 3", 'by = "algebra * biology + chemistry"')],
        ["[method] by is no expression to rank by", "multiplied or divided", "Allowed: a score"],
    ),
    "an expression of an unknown column": (
        [("batch     = 3", 'by = "algebra + biology + chemistri"')],
        ["by: 'chemistri' is no ranking column of [roles]", "did you mean 'chemistry'?"],
    ),
    "l without sensitive columns": (
        [("batch     = 3", "l = 2")],
        ["[roles] sensitive names no column"],
    ),
    "a logarithm of a grade that is no number": (
        [
            ('["algebra", "biology", "chemistry"]', '["algebra", "grade"]'),
            ("batch     = 3", 'by = "algebra + ln(grade)"'),
        ],
        ["'grade' holds values of kind text"],
    ),
    "a missing parameter name": (
        [('name      = "ranking"', "")],
        ["[method]: needs 'name', the name of a method"],
    ),
}


@pytest.mark.parametrize("case", BAD_PLANS)
def test_bad_plans(desk, applicants, case):
    """Exit 2, the key and the remedy, no private value, and nothing written."""
    changes, told = BAD_PLANS[case]
    message = desk.publish_fails(2, applicants, plan=plan(desk, *changes))
    for words in told:
        assert words in message


def named(rows):
    """The rows with a name each; the second is Wilhelmina, whom nothing may name."""
    names = ["a", "Wilhelmina", *(f"b{i}" for i in range(2, len(rows)))]
    return [f"{name},{row}" for name, row in zip(names, rows, strict=True)]


BAD_ROWS = {
    "all scores equal": (
        [f"{name},Oslo,A,{score},{10 - score},7" for score, name in enumerate("abcdefgh")],
        ["all rows have the same score", "none is better than another"],
    ),
    "all rows equal": (named(["Oslo,A,1,2,3"] * 8), ["all rows have the same score"]),
    "a score is missing": (
        named(["Oslo,A,1,2,3", "Xanadu-7,A,1,,3", *["Oslo,A,4,5,6"] * 6]),
        ["'biology' misses its value in 1 of 8 rows", "first in row 2", 'nulls = "drop"'],
    ),
    "a score is not a number": (
        named(["Oslo,A,1,2,3", "Xanadu-7,A,1,987654321?,3", *["Oslo,A,4,5,6"] * 6]),
        ["'biology' holds values of kind text", 'type = "number" if it should hold numbers'],
    ),
    "a score is NaN": (
        named(["Oslo,A,1,2,3", "Oslo,A,1,NaN,3", *["Oslo,A,4,5.5,6"] * 6]),
        ["'biology'", "row 2 is NaN or infinite"],
    ),
    "a score is infinite": (
        named(["Oslo,A,1,2,3", *["Oslo,A,4,5.5,6"] * 6, "Oslo,A,1,-inf,3"]),
        ["'biology'", "row 8 is NaN or infinite"],
    ),
}


@pytest.mark.parametrize("case", BAD_ROWS)
def test_bad_tables(desk, case):
    """Exit 2 with the column and the row, and nothing written."""
    rows, told = BAD_ROWS[case]
    message = desk.publish_fails(2, desk.file(HEADER + "\n".join(rows) + "\n"), plan=plan(desk))
    for words in told:
        assert words in message


@pytest.mark.parametrize("search", ["auto", "exact"])
def test_a_ranking_that_cannot_be(desk, search):
    """Exit 3 with a proof where there is one: best rows at two corners, others between."""
    rows = [f"Oslo,A,{x},{y},0" for x, y in ((0, 20), (1, 19), (20, 0), (19, 1))]
    rows += [f"Oslo,B,{x},{18 - x},0" for x in range(19)]
    table = desk.file(HEADER + "\n".join(named(rows)) + "\n")
    changes = (
        ("top       = 6", "top = 4"),
        ("precision = 0.6", "precision = 1"),
        ("batch     = 3", f'search = "{search}"'),
    )
    message = desk.publish_fails(3, table, plan=plan(desk, *changes))
    assert "no ranking exists" in message
    assert "(proved); lower k or precision" in message


@pytest.mark.slow
def test_a_ranking_that_was_not_found(desk):
    """Exit 3 says that another search can tell."""
    rows = [f"Oslo,A,{x},{y},0" for x, y in ((0, 20), (1, 19), (20, 0), (19, 1))]
    rows += [f"Oslo,B,{x},{18 - x},0" for x in range(19)]
    changes = (
        ("top       = 6", "top = 4"),
        ("precision = 0.6", "precision = 1"),
        ("batch     = 3", 'search = "theta"'),
    )
    table = desk.file(HEADER + "\n".join(named(rows)) + "\n")
    message = desk.publish_fails(3, table, plan=plan(desk, *changes))
    assert 'no ranking was found with search = "theta", and one may exist' in message


def test_ties_that_leave_nobody(desk):
    """Exit 3: more rows share the best score than are asked for, and none counts."""
    rows = named(["Oslo,A,9,9,9"] * 7 + ["Oslo,A,1,1,1"])
    table = desk.file(HEADER + "\n".join(rows) + "\n")
    changes = (("batch     = 3", 'ties = "none"'),)
    message = desk.publish_fails(3, table, plan=plan(desk, *changes))
    assert "more than top = 6 rows share the best score" in message
    assert 'use ties = "top"' in message


def test_rows_without_a_score_are_dropped_where_the_plan_says_so(desk, applicants):
    """They are counted among those left out."""
    table = desk.file(HEADER + APPLICANTS + "Zoe,Xanadu-7,C,,1,1\n")
    dropping = desk.plan('nulls = "drop"\n' + PLAN, "dropping.toml")
    _, done = desk.publish(table, plan=dropping)
    assert (done.document["rows_in"], done.document["rows_out"]) == (11, 6)


@pytest.mark.slow
def test_a_seeded_ranking_is_unfit_for_publication(desk, applicants):
    """GRASP draws; with a seed anybody could draw the same."""
    changes = (("batch     = 3", 'search = "grasp"'),)
    folder, done = desk.publish(applicants, "--seed", "7", plan=plan(desk, *changes))
    assert json.loads((folder / "release.json").read_text())["publishable"] is False
    assert "NOT fit for publication" in done.stderr


def test_nothing_of_those_left_out_is_written(desk, applicants):
    """Neither names nor the values of somebody who is in no group."""
    folder, done = desk.publish(applicants, plan=plan(desk))
    written = b"".join(path.read_bytes() for path in folder.iterdir()) + done.stdout.encode()
    for secret in (*desk.secrets, "Ann", "Hal"):
        assert secret.encode() not in written
