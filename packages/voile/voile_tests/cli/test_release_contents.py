"""What a release holds, what its custodian is told, and what neither ever shows."""

from __future__ import annotations

import json
import logging
import re

import polars as pl
import pytest

from voile_base.randomness import Randomness

COLUMNS = ["badge", "name", "zip", "age", "city", "note", "salary"]


def planted_rows():
    """Rows whose identifiers, unplanned columns and places in the file would be recognised."""
    return [
        (
            f"badge-{900000 + i}",
            f"person-{i}",
            f"zip-{i}",
            20 + i,
            "York",
            f"unplanned-{i}",
            100 * i,
        )
        for i in range(40)
    ]


def planted_table(desk):
    lines = [tuple(COLUMNS), *planted_rows()]
    return desk.file("".join(",".join(map(str, line)) + "\n" for line in lines))


@pytest.mark.parametrize("file_format", ["csv", "parquet"])
@pytest.mark.parametrize("series", [False, True])
def test_what_never_leaves(desk, plan_text, file_format, series):
    """Identifiers, record keys, unplanned columns and row numbers are in no file of a release."""
    text = plan_text.replace('["name"]', '["badge", "name"]')
    options = ["--format", file_format]
    if series:
        text += 'series = "s"\nrecord_key = "badge"\n'
        options += ["--ledger", desk / "ledger.db"]
    folder, done = desk.publish(planted_table(desk), *options, plan=desk.plan(text))
    read = pl.read_csv if file_format == "csv" else pl.read_parquet
    released = read(folder / f"data.{file_format}")
    assert released.columns == ["group", "age", "city", "salary"]
    everything = b"".join(
        path.read_bytes() for path in folder.iterdir() if path.name != "verify.html"
    )
    everything += repr(released.rows()).encode()  # pages of Parquet are compressed
    for planted in (b"badge", b"person-", b"zip", b"unplanned", b"note"):
        assert planted not in everything
        assert planted.decode() not in done.stderr


def test_order_of_published_rows(desk):
    """Published rows are in the order of their published quasi-identifiers, group by group."""
    folder, _ = desk.publish(planted_table(desk))
    rows = pl.read_csv(folder / "data.csv")
    assert rows.select("group", "age", "city").rows() == sorted(
        rows.select("group", "age", "city").rows()
    )


def test_what_is_published_is_what_came_in(desk):
    """Quasi-identifiers stay row by row, and sensitive values stay as a multiset."""
    table = planted_table(desk)
    before = pl.read_csv(table)
    folder, _ = desk.publish(table)
    after = pl.read_csv(folder / "data.csv")
    assert sorted(after.select("age", "city").rows()) == sorted(before.select("age", "city").rows())
    assert sorted(after["salary"]) == sorted(before["salary"])
    groups = after.group_by("group").agg(
        pl.col("salary").n_unique().alias("distinct"),
        (pl.col("salary").max() - pl.col("salary").min()).alias("range"),
    )
    assert groups["distinct"].min() >= 2
    assert groups["range"].min() >= 100


def test_kept_columns(desk, plan_text):
    """A column to ``keep`` is published as it is."""
    kept = 'keep = ["note"]\nkeep_unique = ["note"]\nsensitive ='
    plan = desk.plan(plan_text.replace("sensitive =", kept))
    folder, _ = desk.publish(planted_table(desk), plan=plan)
    rows = pl.read_csv(folder / "data.csv")
    assert dict(zip(rows["age"], rows["note"], strict=True)) == {
        20 + i: f"unplanned-{i}" for i in range(40)
    }


def test_release_document(desk):
    """``release.json`` has the fields that others rely on."""
    folder, _ = desk.publish(desk.csv())
    document = json.loads((folder / "release.json").read_text("utf-8"))
    groups = pl.read_csv(folder / "data.csv")["group"].n_unique()
    assert document["voile"] == "0.1.0"
    assert document["method"]["name"] == "ke-anonymity"
    assert (document["method"]["k"], document["method"]["e"]) == (2, 100)
    assert document["method"]["decision"] == {"blocks": groups}
    assert document["rows"] == 10
    assert document["publishable"] is True
    guarantee = document["guarantee"]
    assert (guarantee["kind"], guarantee["k"], guarantee["e"]) == ("ke-anonymity", 2, 100)
    assert "(2, 100)-anonymous" in guarantee["statement"]
    assert all(isinstance(sentence, str) for sentence in guarantee["assumes"])
    assert "series" not in document


def test_release_document_of_a_series(desk, plan_text):
    """A release of a series says which one it is, and nothing of rows held."""
    plan = desk.plan(plan_text + 'series = "pay"\n')
    folder, _ = desk.publish(desk.csv(), "--ledger", desk / "ledger.db", plan=plan)
    document = json.loads((folder / "release.json").read_text("utf-8"))
    assert document["series"] == {"name": "pay", "version": 1}
    assert re.fullmatch("[0-9a-f]{32}", document["release_id"])
    assert "held" not in json.dumps(document["method"])


def test_json_on_standard_output(desk, rows):
    """``--json`` tells the caller the fields that pipelines rely on, and exact numbers in them."""
    folder, done = desk.publish(desk.csv([("Zoe", 52, "York", 1001), *rows[1:]]))
    told = done.document
    assert set(told) == {
        "out", "rows_in", "rows_out", "suppressed", "held", "carried", "objective", "decision",
        "seconds",
    }  # fmt: skip
    released = pl.read_csv(folder / "data.csv").group_by("group").agg(pl.col("salary"))
    ranges = [max(values) - min(values) for values in released["salary"].to_list()]
    assert told["objective"] == sum(ranges)
    assert told["decision"] == {"blocks": len(ranges)}
    assert told["out"] == str(folder)
    assert (told["rows_in"], told["rows_out"], told["suppressed"], told["held"]) == (10, 10, 0, 0)
    assert told["seconds"] >= 0


def test_objective_is_a_number_of_json(desk, plan_text):
    """The objective is exact, and JSON, though it exceed every binary fraction."""
    table = desk.file("age,salary\n31,1e308\n32,-1e308\n33,1.5e308\n")
    plan = plan_text.replace('["name"]', "[]").replace('["age", "city"]', '["age"]')
    _, done = desk.publish(table, plan=desk.plan(plan))
    assert done.document["objective"] == 25 * 10**307
    assert "Infinity" not in done.stdout


def test_without_json(desk):
    """Without ``--json`` standard output stays empty and people are told on standard error."""
    done = desk.run("publish", desk.csv(), "--plan", desk.plan(), "--out", desk / "out")
    assert (done.status, done.stdout) == (0, "")
    assert "10 of 10 rows" in done.stderr
    assert "(2, 100)-anonymous" in done.stderr
    assert "\x1b" not in done.stderr, "no colours where there is no terminal"


def test_seeded_release(desk):
    """A seeded release is marked as unfit for publication, in its document and to its maker."""
    done = desk.run(
        "publish", desk.csv(), "--plan", desk.plan(), "--out", desk / "out", "--seed", "7"
    )
    assert done.status == 0
    assert "NOT fit for publication" in done.stderr
    assert json.loads((desk / "out" / "release.json").read_text())["publishable"] is False


def test_seeded_release_as_json(desk):
    """A caller who asks for JSON is told as well that a seeded release is not to be published."""
    _, done = desk.publish(desk.csv(), "--seed", "7")
    assert "NOT fit for publication" in done.stderr


def test_unseeded_releases_differ(desk):
    """Two releases without a seed have different ids and permutations.

    40 values in 20 pairs: both permutations are alike with probability 2**-20.
    """
    table = planted_table(desk)
    first, _ = desk.publish(table, out="first")
    second, _ = desk.publish(table, out="second")
    assert (first / "data.csv").read_bytes() != (second / "data.csv").read_bytes()
    ids = [json.loads((f / "release.json").read_text())["release_id"] for f in (first, second)]
    assert ids[0] != ids[1]


@pytest.mark.parametrize("seed", [None, 918273645546372819])
def test_nothing_secret_is_logged(desk, plan_text, caplog, monkeypatch, seed):
    """No seed, key or private value is printed, logged at any level, or written to a release."""
    caplog.set_level(logging.DEBUG)
    secrets: list[bytes] = []
    derive = Randomness.key

    def recorded(self, *purpose):
        key = derive(self, *purpose)
        # The name of a release is the one thing derived from the secret that is public.
        secrets.extend([self._secret] if purpose[0] == "token" else [self._secret, key.secret])
        return key

    monkeypatch.setattr(Randomness, "key", recorded)
    plan = desk.plan(plan_text + 'series = "s"\nrecord_key = "name"\n')
    options = ["--ledger", desk / "ledger.db", *(["--seed", seed] if seed else [])]
    folder, done = desk.publish(desk.csv(), *options, plan=plan)
    files = b"".join(path.read_bytes() for path in folder.iterdir() if path.name != "verify.html")
    said = (done.stdout + done.stderr + caplog.text).encode()
    assert secrets
    for secret in secrets:
        for shape in (secret, secret.hex().encode(), repr(secret).encode()):
            assert shape not in said + files
    assert str(seed).encode() not in said + files
    for value in desk.secrets:
        assert value.encode() not in said
    assert b"Wilhelmina" not in files


NULLS = "name,age,city,salary\nAnn,31,York,1000\nBea,,York,1200\nCid,27,?,1450\nDov,38,Bath,1500\n"


@pytest.mark.parametrize(
    ("policy", "suppressed", "ages", "cities"),
    [
        ('nulls = "category"', 0, [27, 31, 38, None], ["?", "Bath", "York", "York"]),
        ('nulls = "drop"', 1, [27, 31, 38], ["?", "Bath", "York"]),
        ('nulls = "drop"\nmissing = ["?"]', 2, [31, 38], ["Bath", "York"]),
        (
            'nulls = "category"\nmissing = ["?"]',
            0,
            [27, 31, 38, None],
            ["Bath", "York", "York", None],
        ),
    ],
)
def test_nulls(desk, plan_text, policy, suppressed, ages, cities):
    """Missing values become a category, or their rows are left out and counted, as declared."""
    plan = desk.plan(f"{policy}\n{plan_text}")
    folder, done = desk.publish(desk.file(NULLS), plan=plan)
    rows = pl.read_csv(folder / "data.csv")
    assert sorted(rows["age"], key=str) == ages
    assert sorted(rows["city"], key=lambda city: (city is None, city)) == cities
    assert done.document["suppressed"] == suppressed
    assert done.document["rows_in"] == 4
    assert done.document["rows_out"] == 4 - suppressed


def test_dropped_rows_are_told(desk, plan_text):
    """People are told how many rows a policy left out."""
    plan = desk.plan(f'nulls = "drop"\nmissing = ["?"]\n{plan_text}')
    done = desk.run("publish", desk.file(NULLS), "--plan", plan, "--out", desk / "out")
    assert "2 rows were left out" in done.stderr


def test_nulls_per_column(desk, plan_text):
    """A column's own policy overrides that of the plan."""
    text = f'missing = ["?"]\n{plan_text}[columns.age]\nnulls = "drop"\n'
    message = desk.publish_fails(2, desk.file(NULLS), plan=desk.plan(text))
    assert "'city'" in message
    assert "first in row 3" in message
    plan = desk.plan(text + '[columns.city]\nnulls = "category"\n')
    _, done = desk.publish(desk.file(NULLS), plan=plan)
    assert done.document["suppressed"] == 1


def test_nulls_of_the_sensitive_column(desk, plan_text):
    """A missing number can be dropped, and can be no category."""
    table = desk.file(NULLS.replace("1450", ""))
    message = desk.publish_fails(2, table, plan=desk.plan(f'nulls = "category"\n{plan_text}'))
    assert "row 3" in message
    assert 'nulls = "drop"' in message
    override = f'nulls = "category"\n{plan_text}[columns.salary]\nnulls = "drop"\n'
    _, done = desk.publish(table, plan=desk.plan(override))
    assert done.document["suppressed"] == 1


def test_nulls_in_columns_that_are_not_published(desk, plan_text):
    """Missing values in identifiers and unplanned columns concern nobody."""
    _, done = desk.publish(desk.file(NULLS.replace("Bea,,", ",33,")), plan=desk.plan(plan_text))
    assert done.document["rows_out"] == 4


def test_drop_that_leaves_nothing(desk, plan_text):
    """A table of which every row is dropped is refused."""
    table = desk.file("name,age,city,salary\nWilhelmina,,York,987654321\nAnn,31,,1000\n")
    message = desk.publish_fails(2, table, plan=desk.plan(f'nulls = "drop"\n{plan_text}'))
    assert "leaves no row" in message
