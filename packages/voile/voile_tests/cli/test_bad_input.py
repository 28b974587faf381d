"""Bad input: a message that names the place and the remedy, exit 2, and nothing written."""

from __future__ import annotations

import os

import polars as pl
import pytest

from voile_base.operating_system import user

HEADER = "name,age,city,salary\n"
GOOD = "Wilhelmina,52,Xanadu-7,987654321\nAnn,31,York,1000\nBea,44,York,1200\nCid,27,Leeds,1450\n"

BAD_TABLES = {
    "empty file": ("", ["people.csv", "empty", "at least one row"]),
    "blank lines only": ("\n\n", ["people.csv", "empty", "header line"]),
    "header without rows": (HEADER, ["people.csv", "header and no row", "at least one row"]),
    "too few fields": (
        HEADER + GOOD + "Wilhelmina,52,Xanadu-7\n",
        [
            "people.csv",
            "line 6 has 3 fields",
            "complete the line",
            "delete the line where it is a note",
        ],
    ),
    "too many fields": (
        HEADER + "Wilhelmina,52,Xanadu-7,987654321,1\n" + GOOD,
        ["people.csv", "line 2 has 5 fields", "in quotation marks"],
    ),
    "two columns of one name": (
        "name,age,age,salary\n" + GOOD,
        ["people.csv", "columns 2 and 3", "'age'", "a name of its own"],
    ),
    "a column without a name": (
        "name,age,,salary\n" + GOOD,
        ["people.csv", "column 3 of 4 has no name", "give it one"],
    ),
    "a quote that is not closed": (
        HEADER + GOOD + '"Wilhelmina,52,Xanadu-7,987654321\n',
        ["people.csv", "line 6", "quotation mark"],
    ),
    "text in the sensitive column": (
        HEADER + GOOD + "Dov,38,Leeds,987654321 dollars\nEva,61,York,1900\n",
        ["'salary'", "row 5 is not a number", "mend the row"],
    ),
    "no numbers in the sensitive column": (
        HEADER + "Ann,31,York,Wilhelmina\nBea,44,York,Xanadu-7\n",
        ["'salary'", "row 1 is not a number", "another sensitive column"],
    ),
    "a null in the sensitive column": (
        HEADER + GOOD + "Dov,38,Leeds,\n",
        ["'salary'", "in 1 of 5 rows", "first in row 5", 'nulls = "drop"'],
    ),
    "a null in a quasi-identifier": (
        HEADER + "Dov,,Leeds,1500\n" + GOOD,
        ["'age'", "first in row 1", 'nulls = "category"'],
    ),
    "NaN in the sensitive column": (
        HEADER + GOOD + "Dov,38,Leeds,NaN\n",
        ["'salary'", "row 5 is NaN or infinite", "mend the row"],
    ),
    "an infinity in the sensitive column": (
        HEADER + GOOD + "Dov,38,Leeds,-inf\n",
        ["'salary'", "row 5 is NaN or infinite", "mend the row"],
    ),
    "a missing column": (
        HEADER.replace("salary", "salaries") + GOOD,
        ["[roles] sensitive", "'salary'", "did you mean 'salaries'?"],
    ),
}


@pytest.mark.parametrize("case", BAD_TABLES)
def test_tables(desk, case):
    """A table that is not fit to publish is refused with the place and the remedy."""
    content, told = BAD_TABLES[case]
    message = desk.publish_fails(2, desk.file(content))
    for words in told:
        assert words in message
    blamed = "plan.toml: [roles]" if case == "a missing column" else "people.csv: "
    assert f"{desk.folder}/{blamed}" in message


@pytest.mark.parametrize(
    "case", [c for c in BAD_TABLES if "sensitive" not in c and "null" not in c]
)
def test_tables_of_a_series(desk, plan_text, case):
    """A bad table leaves the ledger of its series as it was."""
    plan = desk.plan(plan_text + 'series = "s"\n')
    ledger = desk / "ledger.db"
    desk.publish(desk.csv(name="first.csv"), "--ledger", ledger, plan=plan)
    content, told = BAD_TABLES[case]
    message = desk.publish_fails(2, desk.file(content), "--ledger", ledger, plan=plan)
    assert told[-1] in message


def test_missing_table(desk):
    """A table that is not there is named."""
    message = desk.publish_fails(2, desk / "nowhere.csv")
    assert "nowhere.csv: there is no such file" in message
    assert "check the path" in message


@pytest.mark.skipif(user() in {None, 0}, reason="root reads every file")
def test_unreadable_table(desk):
    """A table without leave to read is named."""
    table = desk.csv()
    table.chmod(0o200)
    before = sorted(os.listdir(desk.folder))
    outcome = desk.run("publish", table, "--plan", desk.plan(), "--out", desk / "out")
    assert outcome.status == 2
    assert "check its permissions" in outcome.stderr
    assert sorted(os.listdir(desk.folder)) == sorted([*before, "plan.toml"])


def test_pipe_as_table(desk):
    """A named pipe is refused, not waited for."""
    os.mkfifo(desk / "pipe.csv")
    message = desk.publish_fails(2, desk / "pipe.csv")
    assert "neither a file nor a folder" in message
    assert "save the table first" in message


@pytest.mark.parametrize("name", ["people.parquet", "people.arrow", "people.csv.gz"])
def test_damaged_table(desk, name):
    """A file that breaks off, or never was of its format, is named."""
    desk.file("Wilhelmina 987654321 Xanadu-7\n", name)
    message = desk.publish_fails(2, desk / name)
    assert name in message
    assert "write it again from its source" in message


def test_truncated_parquet(desk):
    """A Parquet file that breaks off is refused without a word of what it holds."""
    whole = desk / "whole.parquet"
    pl.read_csv(desk.csv()).write_parquet(whole)
    desk.file(whole.read_bytes()[:-40], "half.parquet")
    assert "half.parquet" in desk.publish_fails(2, desk / "half.parquet")


def test_folder_without_parquet(desk):
    """A folder that holds no Parquet file is named."""
    (desk / "parts").mkdir()
    assert "the folder holds no Parquet file" in desk.publish_fails(2, desk / "parts")


@pytest.mark.parametrize(
    "values", [[[1], [2], [3]], [b"a", b"b", b"c"], [{"a": 1}, {"a": 2}, {"a": 3}]]
)
def test_columns_that_cannot_be_published(desk, values):
    """A column of lists, bytes or structures is refused by name."""
    pl.DataFrame({"age": values, "city": "York", "salary": [1, 500, 900]}).write_parquet(
        desk / "odd.parquet"
    )
    plan = desk.plan((desk.plan()).read_text().replace('identifiers = ["name"]\n', "", 1))
    message = desk.publish_fails(2, desk / "odd.parquet", plan=plan)
    assert "column 'age' holds values of type" in message
    assert "leave the column out" in message


def test_column_named_group(desk, plan_text):
    """A published column may not have the name of the column that numbers the groups."""
    table = desk.file(HEADER.replace("city", "group") + GOOD)
    message = desk.publish_fails(2, table, plan=desk.plan(plan_text.replace("city", "group")))
    assert "'group'" in message
    assert "rename the column" in message


BAD_PLANS = {
    "role naming a missing column": (
        ('"city"', '"citty"'),
        ["[roles] quasi_identifiers", "'citty'", "did you mean 'city'?"],
    ),
    "identifier that is missing": (
        ('"name"', '"nome"'),
        ["[roles] identifiers", "'nome'", "did you mean 'name'?"],
    ),
    "one column in two roles": (
        ('"name"', '"age"'),
        ["[roles]", "'age'", "identifiers and in quasi_identifiers", "one role"],
    ),
    "one column twice in a role": (('"city"', '"age"'), ["[roles]", "'age'", "one role"]),
    "a role that is no list": (('["name"]', '"name"'), ["[roles] identifiers", "list"]),
    "a role of numbers": (('["name"]', "[3]"), ["[roles] identifiers", "column names as texts"]),
    "no sensitive column": (('["salary"]', "[]"), ["[roles]", "sensitive"]),
    "two sensitive columns": (
        ('["age", "city"]\nsensitive = ["salary"]', '["city"]\nsensitive = ["salary", "age"]'),
        ["sensitive"],
    ),
    "unknown key at the top": (
        ("[roles]", 'null = "drop"\n[roles]'),
        ["unknown key 'null'", "did you mean 'nulls'?"],
    ),
    "unknown role": (
        ("sensitive =", "sensitve ="),
        ["[roles]: unknown key 'sensitve'", "did you mean 'sensitive'?"],
    ),
    "unknown table": (
        ("[method]", "[collumns.age]\nbounds = [0, 99]\n[method]"),
        ["unknown key 'collumns'", "did you mean 'columns'?"],
    ),
    "unknown key of a column": (
        ("[method]", "[columns.age]\nbound = [0, 99]\n[method]"),
        ["[columns.age]: unknown key 'bound'", "did you mean 'bounds'?"],
    ),
    "a column that is missing": (
        ("[method]", "[columns.agee]\nbounds = [0, 99]\n[method]"),
        ["[columns.agee]", "did you mean 'age'?"],
    ),
    "unknown parameter": (
        ("k = 2", "k = 2\nrecord_kee = 'name'"),
        ["[method]", "'record_kee'", "did you mean 'record_key'?"],
    ),
    "policy of nulls in the wrong place": (
        ("k = 2", 'k = 2\nnulls = "drop"'),
        ["[method] nulls", "at the top of the plan"],
    ),
    "unknown policy of nulls": (
        ("[roles]", 'nulls = "dropp"\n[roles]'),
        ["nulls must be one of", "did you mean 'drop'?"],
    ),
    "missing is no list": (("[roles]", 'missing = "?"\n[roles]'), ["missing must be a list"]),
    "k is 1": (("k = 2", "k = 1"), ["[method] k", "whole number of at least 2"]),
    "k is negative": (("k = 2", "k = -3"), ["[method] k", "whole number of at least 2"]),
    "k is a fraction": (("k = 2", "k = 2.5"), ["[method] k", "whole number of at least 2"]),
    "k is a text": (("k = 2", 'k = "3"'), ["[method] k", "whole number of at least 2"]),
    "k is a truth value": (("k = 2", "k = true"), ["[method] k", "whole number of at least 2"]),
    "no k": (("k = 2", ""), ["[method]", "needs 'k'"]),
    "e is negative": (("e = 100", "e = -0.5"), ["[method] e", "at least 0"]),
    "e is a text": (("e = 100", 'e = "wide"'), ["[method] e", "number of at least 0"]),
    "e is a truth value": (("e = 100", "e = true"), ["[method] e", "number of at least 0"]),
    "e is not a number": (("e = 100", "e = nan"), ["[method] e", "number of at least 0"]),
    "e is infinite": (("e = 100", "e = inf"), ["[method] e", "number of at least 0"]),
    "no e": (("e = 100", ""), ["[method]", "needs 'e'"]),
    "no name of the method": (('name = "ke-anonymity"', ""), ["[method]: needs 'name'"]),
    "unknown method": (
        ("ke-anonymity", "ke-anonimity"),
        ["no method 'ke-anonimity'", "did you mean 'ke-anonymity'?"],
    ),
    "unknown adversary": (
        ("k = 2", 'k = 2\nadversary = "unions"'),
        ["[method] adversary", "did you mean 'union'?"],
    ),
    "record key without a series": (
        ("k = 2", 'k = 2\nrecord_key = "name"'),
        ["[method] record_key", "name the series"],
    ),
    "record key that is missing": (
        ("k = 2", 'k = 2\nseries = "s"\nrecord_key = "nam"'),
        ["record_key", "'nam'", "did you mean 'name'?"],
    ),
    "bounds the wrong way round": (
        ("[method]", "[columns.age]\nbounds = [90, 17]\n[method]"),
        ["[columns.age] bounds", "wrong way round"],
    ),
    "bounds of one number": (
        ("[method]", "[columns.age]\nbounds = [90]\n[method]"),
        ["[columns.age] bounds", "two numbers"],
    ),
    "bounds of texts": (
        ("[method]", '[columns.age]\nbounds = ["17", "90"]\n[method]'),
        ["[columns.age] bounds", "two numbers"],
    ),
    "values outside the bounds": (
        ("[method]", "[columns.salary]\nbounds = [0, 5000]\n[method]"),
        ["'salary'", "1 values lie outside", "first in row 1", "mend the rows, or the bounds"],
    ),
    "bounds of a column of texts": (
        ("[method]", "[columns.city]\nbounds = [0, 5000]\n[method]"),
        ["'city'", "does not hold numbers"],
    ),
    "a type that the rows do not have": (
        ("[method]", '[columns.city]\ntype = "number"\n[method]'),
        ["'city'", "row 1 is not a number", 'type = "number"'],
    ),
    "no method": (
        ('[method]\nname = "ke-anonymity"\nk = 2\ne = 100\n', ""),
        ["no [method] table", "say how to publish"],
    ),
    "not TOML": (("k = 2", "k = = 2"), ["plan.toml", "not valid TOML", "line"]),
    "a key twice": (("k = 2", "k = 2\nk = 3"), ["plan.toml", "not valid TOML"]),
}


@pytest.mark.parametrize("case", BAD_PLANS)
def test_plans(desk, plan_text, case):
    """A mistake in the plan is refused with its key and the remedy."""
    (old, new), told = BAD_PLANS[case]
    assert old in plan_text
    plan = desk.plan(plan_text.replace(old, new))
    message = desk.publish_fails(2, desk.csv(), "--ledger", desk / "ledger.db", plan=plan)
    for words in told:
        assert words in message
    # What is said of a value names the table's file, its column and its row.
    blamed = (
        "people.csv: column" if " row " in message or "does not hold" in message else "plan.toml"
    )
    assert f"{desk.folder}/{blamed}" in message


GENERALIZED = """
[roles]
identifiers = ["name"]
quasi_identifiers = ["age", "city"]
sensitive = ["salary"]
{columns}
[method]
name = "generalization"
{method}
"""
LATE = {
    "k that cannot be": (3, "", "k = 50", "plan.toml: [method] no release exists"),
    "l that cannot be": (3, "", "k = 2\nl = 40", "plan.toml: [method] no release"),
    "a tree that misses values": (
        2, '[columns.city]\ntree = {A = ["York"], B = ["Bath"]}', "k = 2",
        "plan.toml: [columns.city]",
    ),
    "a list that misses values": (
        2, '[columns.city]\ncode_list = "countries"', "k = 2", "plan.toml: [columns.city]",
    ),
    "prefixes of numbers": (2, "[columns.age]\nprefix = [1]", "k = 2", "plan.toml: [columns.age]"),
    "widths of texts": (
        2, "[columns.city]\nintervals = {widths = [5]}", "k = 2", "plan.toml: [columns.city]",
    ),
    "an order that misses values": (
        2, '[columns.city]\norder = ["York", "Bath"]', "k = 2", "plan.toml: [columns.city] order",
    ),
    "a criterion of no column": (
        2, "", 'k = 2\ncriteria = [{name = "l-diversity", column = "salry", l = 2}]',
        "plan.toml: [",
    ),
    "a kind that the values are not": (
        2, '[columns.city]\nkind = "number"', "k = 2", "people.csv: column 'city': row 1",
    ),
}  # fmt: skip
"""What only the table shows to be wrong: status, a table of the plan, the method, how it begins."""


@pytest.mark.parametrize("command", ["publish", "study"])
@pytest.mark.parametrize("case", LATE)
def test_what_the_table_shows_names_file_and_key(desk, command, case):
    """Whoever finds it, a message leads with the file in which it is mended, and with the key."""
    status, columns, method, begins = LATE[case]
    plan = desk.plan(GENERALIZED.format(columns=columns, method=method))
    out = desk / "never"
    message = desk.fails(status, command, desk.csv(), "--plan", plan, "--out", out)
    assert f"voile: {desk.folder}/{begins}" in message


@pytest.mark.parametrize("table", ["roles", "method", "columns"])
def test_tables_of_a_plan_that_are_texts(desk, table):
    """A text where the plan should have a table is refused by name."""
    message = desk.publish_fails(2, desk.csv(), plan=desk.plan(f'{table} = "ke-anonymity"\n'))
    assert f"[{table}] must be a table of keys and values" in message


def test_missing_plan(desk):
    """A plan that is not there, or is a folder, is named."""
    table = desk.csv()
    message = desk.publish_fails(2, table, plan=desk / "nowhere.toml")
    assert "nowhere.toml: there is no such plan" in message
    assert str(desk.folder) in desk.publish_fails(2, table, plan=desk.folder)


def test_plan_that_is_no_text(desk):
    """A plan that is no UTF-8 text is named."""
    plan = desk.file(b"\xff\xfe\x00plan", "plan.toml")
    assert "cannot be read as a UTF-8 text" in desk.publish_fails(2, desk.csv(), plan=plan)


def test_series_without_ledger(desk, plan_text):
    """A series needs a ledger, and the message says how to name one."""
    plan = desk.plan(plan_text + 'series = "s"\n')
    message = desk.publish_fails(2, desk.csv(), plan=plan)
    assert "series 's'" in message
    assert "--ledger FILE" in message


@pytest.mark.parametrize(
    "content", [b"Dear ledger,\nall is well.\n", b"", b"SQLite format 3\0" * 9]
)
def test_file_that_is_no_ledger(desk, plan_text, content):
    """What is not a ledger is never taken for one, nor written to: it cannot vouch for anything."""
    plan = desk.plan(plan_text + 'series = "s"\n')
    ledger = desk.file(content, "ledger.db")
    ledger.chmod(0o600)
    message = desk.publish_fails(4, desk.csv(), "--ledger", ledger, plan=plan)
    assert "ledger.db" in message
    assert "backup" in message


def test_folder_as_ledger(desk, plan_text):
    """A folder is no ledger."""
    plan = desk.plan(plan_text + 'series = "s"\n')
    assert "ledger" in desk.publish_fails(2, desk.csv(), "--ledger", desk.folder, plan=plan)


def test_ledger_in_a_folder_that_is_not_there(desk, plan_text):
    """A ledger that cannot be created ends the run before anything appears."""
    plan = desk.plan(plan_text + 'series = "s"\n')
    message = desk.publish_fails(4, desk.csv(), "--ledger", desk / "no" / "ledger.db", plan=plan)
    assert "name a file in an existing folder" in message


def test_ledger_at_the_place_of_the_release(desk, plan_text):
    """The release and the ledger cannot share a place, however it is spelled."""
    plan = desk.plan(plan_text + 'series = "s"\n')
    (desk / "sub").mkdir()
    ledger = desk.folder / "sub" / ".." / "same"
    message = desk.publish_fails(2, desk.csv(), "--ledger", ledger, plan=plan, out="same")
    assert "--out and --ledger name the same place" in message


@pytest.mark.parametrize("kind", ["file", "folder", "release", "dangling link"])
def test_output_that_exists(desk, kind):
    """Whatever stands at --out is left as it is."""
    table, place = desk.csv(), desk / "taken"
    match kind:
        case "file":
            place.write_text("mine")
        case "folder":
            place.mkdir()
        case "release":
            desk.publish(table, out="taken")
        case _:
            place.symlink_to(desk / "nowhere")
    message = desk.publish_fails(2, table, out="taken")
    assert "taken: something stands there already" in message
    assert "name a folder that does not exist yet" in message


@pytest.mark.parametrize("out", ["no/such/folder", "people.csv/out", "x" * 300])
def test_output_that_cannot_be(desk, out):
    """A place at which no folder can appear is refused before the table is read."""
    message = desk.publish_fails(2, desk.csv(), out=out)
    assert out in message
    assert "make it first" in message or "choose another path" in message


def test_longest_name_of_a_release(desk):
    """A release may have any name that the file system allows."""
    folder, _ = desk.publish(desk.csv(), out="x" * 255)
    assert (folder / "release.json").is_file()


@pytest.mark.parametrize(
    "options",
    [
        ("--seed", "-1"),
        ("--seed", "one"),
        ("--format", "docx"),
        ("--engine", "abacus"),
        ("--frobnicate",),
    ],
)
def test_options(desk, options):
    """A wrong option is named."""
    assert options[0].lstrip("-") in desk.publish_fails(2, desk.csv(), *options)


def test_options_that_are_missing(desk):
    """A call without a plan or a place says which option is missing."""
    assert "--plan" in desk.fails(2, "publish", desk.csv(), "--out", desk / "out")
    assert "--out" in desk.fails(2, "publish", desk.csv(), "--plan", desk.plan())


def test_unknown_command(desk):
    """A command that is not there is named."""
    assert "publsh" in desk.fails(2, "publsh")


@pytest.mark.parametrize(
    ("terms", "told"),
    [
        ("k = 11\ne = 100", ["(11, 100)", "largest k", "is 10"]),
        ("k = 2\ne = 3000.5", ["(2, 3000.5)", "largest e is 1800"]),
    ],
)
def test_infeasible(desk, plan_text, rows, terms, told):
    """Infeasible terms exit with 3 and name the largest k and e that would do."""
    modest = [("Zoe", 52, "York", 1001), *rows[1:]]
    table = desk.csv(modest)
    message = desk.publish_fails(
        3, table, plan=desk.plan(plan_text.replace("k = 2\ne = 100", terms))
    )
    for words in told:
        assert words in message
    for enough in ("k = 10\ne = 100", "k = 2\ne = 1800"):
        out = enough.replace("\n", "")
        desk.publish(table, plan=desk.plan(plan_text.replace("k = 2\ne = 100", enough)), out=out)


@pytest.mark.parametrize("term", ["k = 99999999999999999999", "e = 1e400", "e = 1e5000"])
def test_absurd_terms(desk, plan_text, rows, term):
    """Terms beyond all measure are infeasible or wrong, and no fault of Voile."""
    table = desk.csv([("Zoe", 52, "York", 1001), *rows[1:]])
    old = "k = 2" if term[0] == "k" else "e = 100"
    plan = desk.plan(plan_text.replace(old, term))
    outcome = desk.run("publish", table, "--plan", plan, "--out", desk / "out")
    assert outcome.status in (2, 3), outcome.stderr
    assert not (desk / "out").exists()


def test_infeasible_for_a_constant_column(desk):
    """A column of one value has no release at all, and the message says so."""
    people = (("Wilhelmina", 20), ("Ann", 30), ("Bea", 40))
    table = desk.csv([(name, age, "Xanadu-7", 987654321) for name, age in people])
    message = desk.publish_fails(3, table)
    assert "all rows hold the same value of 'salary'" in message


PLANS_OF_TABLES = {
    "a dimension that is not there": (
        'kind = "suppression"\nminimum = 3\n',
        ["[[tables]] dimensions of table 1", "'cities'", "did you mean 'city'?"],
    ),
    "no file of a secret": (
        'kind = "cell-key"\nsecret = ""\n',
        ["[protection] secret must be the name of a file"],
    ),
}


@pytest.mark.parametrize("case", PLANS_OF_TABLES)
def test_plans_of_tables(desk, case):
    """What the plan itself says is blamed, by its own key, and no role that it does not name."""
    protection, told = PLANS_OF_TABLES[case]
    plan = desk.folder / "tables.toml"
    plan.write_text(f'[[tables]]\ndimensions = ["cities"]\n\n[protection]\n{protection}')
    table = desk.file(HEADER + GOOD)
    message = desk.fails(2, "table", table, "--plan", plan, "--out", desk.folder / "never")
    for words in told:
        assert words in message
    assert "quasi_identifiers" not in message
    assert not (desk.folder / "never").exists()


def test_many_columns_of_which_the_same_is_asked_make_one_question(desk, tmp_path):
    """A table of many columns that nobody understands asks once, and publishes none of them."""
    names = [f"c{number}" for number in range(30)]
    rows = [[(7919 * (row + 3) * (at + 1)) % 99_991 for at in range(30)] for row in range(40)]
    lines = [",".join(names), *(",".join(map(str, row)) for row in rows)]
    (tmp_path / "wide.csv").write_text("\n".join(lines) + "\n")
    out = tmp_path / "wide.toml"
    desk.run("plan", tmp_path / "wide.csv", "--out", out)
    asked = [line for line in out.read_text().splitlines() if line.startswith("# ?")]
    assert len(asked) < 10
    assert any("columns that are left out above ask the same" in line for line in asked)
