"""Series of releases through the command line: held rows, refusals, and every search."""

from __future__ import annotations

import json

import polars as pl
import pyarrow.parquet as pq
import pytest

from voile.publish.ke_anonymity import KEAnonymity
from voile.study.run import make_release

FIRST = [(f"p{i}", 20 + i, "York", 100 * i) for i in range(1, 7)]
LATE = ("p7", 35, "Xanadu-7", 350)
COMPANY = ("p8", 36, "Bath", 5000)
BY_KEY = 'series = "pay"\nrecord_key = "name"\n'
BY_ORDER = 'series = "pay"\n'


@pytest.fixture(params=[BY_KEY, BY_ORDER], ids=["record key", "rows appended"])
def terms(request) -> str:
    """Both ways of telling rows again."""
    return request.param


class Series:
    """Publishes versions of a table in one series."""

    def __init__(self, desk, text) -> None:
        self.desk = desk
        self.plan = desk.plan(text)
        self.ledger = desk / "ledger.db"
        self.count = 0

    def publish(self, rows, *options):
        self.count += 1
        table = self.desk.csv(rows)
        out = f"version{self.count}"
        options = ("--ledger", self.ledger, *options)
        folder, done = self.desk.publish(table, *options, plan=self.plan, out=out)
        assert self.desk.run("ledger", "verify", folder, "--ledger", self.ledger).status == 0
        return folder, done

    def fails(self, status, rows, text=None):
        plan = self.desk.plan(text, "other.toml") if text else self.plan
        table = self.desk.csv(rows)
        return self.desk.publish_fails(status, table, "--ledger", self.ledger, plan=plan)


@pytest.fixture
def series(desk, plan_text, terms) -> Series:
    """A series against the union adversary, with k = 2 and e = 100."""
    return Series(desk, plan_text + terms + "batch = 2\n")


def blocks(folder):
    """The sensitive values of each group, ascending."""
    (data,) = folder.glob("data.*")
    rows = (pl.read_csv if data.suffix == ".csv" else pl.read_parquet)(data)
    return [sorted(group["salary"]) for _, group in rows.group_by("group", maintain_order=True)]


def test_first_release(series):
    """The first release of a series is the static optimum, and its ledger is private."""
    folder, done = series.publish(FIRST)
    assert blocks(folder) == [[100, 200], [300, 400], [500, 600]]
    assert done.document["held"] == 0
    assert series.ledger.stat().st_mode & 0o777 == 0o600


@pytest.mark.slow
def test_held_rows(series):
    """A row without company is held, said, kept from every file, and published later on."""
    first, _ = series.publish(FIRST)
    second, done = series.publish([*FIRST, LATE], "--format", "parquet")
    assert (done.document["held"], done.document["rows_in"], done.document["rows_out"]) == (1, 7, 6)
    assert "1 row is held back" in done.stderr
    assert "later release" in done.stderr
    assert blocks(second) == blocks(first)
    cities = pq.read_table(second / "data.parquet", read_dictionary=["city"])["city"]
    assert {city for part in cities.chunks for city in part.dictionary.to_pylist()} == {"York"}
    assert b"Xanadu" not in (second / "data.parquet").read_bytes()
    third, done = series.publish([*FIRST, LATE, COMPANY])
    assert (done.document["held"], done.document["rows_out"]) == (0, 8)
    assert "held" not in done.stderr
    assert blocks(third) == [*blocks(first), [350, 5000]]
    assert json.loads((third / "release.json").read_text())["series"]["version"] == 3


@pytest.mark.slow
def test_rows_in_another_order(series):
    """A later version of the table may hold its rows in any order."""
    series.publish(FIRST)
    series.publish([LATE, *FIRST])
    folder, done = series.publish([COMPANY, *FIRST[::-1], LATE])
    assert done.document["held"] == 0
    assert sum(map(len, blocks(folder))) == 8


@pytest.mark.slow
def test_same_table_again(series):
    """Publishing the same table again keeps the blocks and holds nothing."""
    first, _ = series.publish(FIRST)
    for _ in range(2):
        again, done = series.publish(FIRST)
        assert blocks(again) == blocks(first)
        assert done.document["held"] == 0


@pytest.mark.slow
def test_withdrawn_rows(series):
    """A held row that left the table was never published: its going is accepted, and said."""
    series.publish(FIRST)
    series.publish([*FIRST, LATE])
    folder, done = series.publish([*FIRST, COMPANY, ("p9", 40, "Bath", 5200)])
    assert "1 of the rows held back before left the table" in done.stderr
    assert (done.document["held"], done.document["rows_out"]) == (0, 8)
    assert blocks(folder)[-1] == [5000, 5200]


@pytest.mark.slow
def test_identical_rows(desk, plan_text):
    """Rows that are alike count one by one: another row like a published one is a new row."""
    twice = [row for row in FIRST for _ in range(2)]
    alike = plan_text.replace('["name"]', '["name"]\nperson = "row"', 1)
    series = Series(desk, alike + BY_ORDER)
    series.publish(twice)
    _, done = series.publish([*twice, FIRST[0]])
    assert done.document["held"] == 1
    message = series.fails(4, twice[1:])
    assert "1 published rows" in message


@pytest.mark.slow
def test_sealed_batches(desk, plan_text, terms):
    """Sealed batches never change a block: fresh rows make blocks of their own, or are held."""
    series = Series(desk, plan_text + terms + 'batch = 2\nsearch = "sealed-batches"\n')
    first, _ = series.publish(FIRST)
    second, done = series.publish([*FIRST, LATE])
    assert (done.document["held"], blocks(second)) == (1, blocks(first))
    third, done = series.publish([*FIRST, LATE, COMPANY])
    assert done.document["held"] == 0
    assert sorted(blocks(third)) == sorted([*blocks(first), [350, 5000]])


@pytest.mark.parametrize("search", ["full-cover", "exact"])
def test_pairwise(desk, plan_text, terms, search):
    """Against the pairwise adversary a late row can join two old blocks; nothing is held."""
    text = plan_text + terms + f'adversary = "pairwise"\nsearch = "{search}"\n'
    series = Series(desk, text)
    series.publish(FIRST)
    folder, done = series.publish([*FIRST, LATE])
    assert (done.document["held"], done.document["rows_out"]) == (0, 7)
    assert done.document["objective"] == 400
    document = json.loads((folder / "release.json").read_text())
    assert document["guarantee"]["adversary"] == "pairwise"
    assert document["method"]["search"] == search


def test_infeasible_next_release(desk, plan_text, terms):
    """Where the pairwise adversary leaves no safe next release, exit 3 says what would help."""
    series = Series(desk, plan_text + terms + 'adversary = "pairwise"\n')
    series.publish(FIRST[:2])
    message = series.fails(3, [*FIRST[:2], LATE])
    assert "Publish later, when more rows have arrived" in message
    assert '"union" holds such rows back' in message


def test_rows_that_disappeared(series):
    """Rows that are gone are counted, and the message says what to do."""
    series.publish(FIRST)
    message = series.fails(4, FIRST[2:])
    assert "2 published rows are missing" in message
    assert "Restore the rows" in message


def test_rows_that_changed(desk, plan_text, terms):
    """Rows with another value, sensitive or not, are counted; a record key tells them apart."""
    series = Series(desk, plan_text + terms)
    series.publish(FIRST)
    changed = [("p1", 21, "York", 987654321), ("p2", 22, "Leeds", 200), *FIRST[2:]]
    message = series.fails(4, changed)
    assert ("0 published rows are missing and 2 have changed" in message) == (terms == BY_KEY)
    assert ("2 published rows are missing or have changed" in message) == (terms == BY_ORDER)
    assert "Restore the rows" in message


def test_identifiers_that_changed(desk, plan_text):
    """Without a record key, columns that are not published may change freely."""
    series = Series(desk, plan_text + BY_ORDER)
    first, _ = series.publish(FIRST)
    folder, done = series.publish([(f"new {name}", *rest) for name, *rest in FIRST])
    assert done.document["held"] == 0
    assert blocks(folder) == blocks(first)


OTHER_TERMS = {
    "k": (("k = 2", "k = 3"), ["k: 2 before, 3 now"]),
    "e": (("e = 100", "e = 90.5"), ["e: 100 before, 90.5 now"]),
    "adversary": (("k = 2", 'k = 2\nadversary = "pairwise"'), ["adversary: union before"]),
    "search": (("k = 2", 'k = 2\nsearch = "sealed-batches"'), ["search: narrow-batches before"]),
    "a column less": (('["age", "city"]', '["age"]'), ["columns or their types", "city"]),
    "a column more": (
        ('identifiers = ["name"]\nquasi_identifiers = ["age", "city"]',
         'quasi_identifiers = ["age", "city", "name"]'),
        ["columns or their types", "name: absent before, text now"],
    ),
    "another role": (
        ('["age", "city"]', '["age"]\nkeep = ["city"]'),
        ["roles of the columns"],
    ),
    "another type": (
        ("[method]", '[columns.age]\ntype = "text"\n[method]'),
        ["columns or their types", "age: number before, text now"],
    ),
    "another sensitive column": (
        ('["age", "city"]\nsensitive = ["salary"]', '["salary", "city"]\nsensitive = ["age"]'),
        ["roles of the columns"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", OTHER_TERMS)
def test_other_terms(desk, plan_text, case):
    """Other terms in the same series are refused, and the message says what differs."""
    (old, new), told = OTHER_TERMS[case]
    assert old in plan_text
    series = Series(desk, plan_text + BY_ORDER)
    series.publish(FIRST)
    message = series.fails(4, FIRST, plan_text.replace(old, new) + BY_ORDER)
    assert "series 'pay'" in message
    for words in told:
        assert words in message


@pytest.mark.parametrize(("before", "now"), [(BY_KEY, BY_ORDER), (BY_ORDER, BY_KEY)])
def test_other_record_key(desk, plan_text, before, now):
    """A series cannot begin or cease to have a record key."""
    series = Series(desk, plan_text + before)
    series.publish(FIRST)
    assert "the record key" in series.fails(4, FIRST, plan_text + now)


@pytest.mark.slow
def test_same_terms_in_other_words(desk, plan_text):
    """Terms count by their value: e = 100.0 is e = 100, and integers may become decimals."""
    series = Series(desk, plan_text + BY_ORDER)
    first, _ = series.publish(FIRST)
    series.plan = desk.plan(plan_text.replace("e = 100", "e = 100.00") + BY_ORDER)
    rows = [(name, float(age), city, float(salary)) for name, age, city, salary in FIRST]
    folder, _ = series.publish(rows)
    assert blocks(folder) == blocks(first)


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([*FIRST, ("p1", 50, "Bath", 900)], "row 1 shares its record key"),
        ([*FIRST, ("", 50, "Bath", 900)], "first in row 7"),
    ],
)
def test_bad_record_keys(desk, plan_text, rows, told):
    """A record key that is missing, or that two rows share, is refused with its row."""
    series = Series(desk, plan_text + BY_KEY)
    message = series.fails(2, rows)
    assert "'name'" in message
    assert told in message


def test_ledger_of_the_environment(desk, plan_text, monkeypatch):
    """VOILE_LEDGER names the ledger where --ledger does not."""
    monkeypatch.setenv("VOILE_LEDGER", str(desk / "ledger.db"))
    desk.publish(desk.csv(FIRST), plan=desk.plan(plan_text + BY_ORDER))
    assert "1 versions" in desk.run("ledger", "verify", desk / "out").stderr


@pytest.mark.slow
def test_series_are_apart(desk, plan_text):
    """Two series in one ledger know nothing of each other."""
    pay = Series(desk, plan_text + BY_ORDER)
    pay.publish(FIRST)
    pay.plan = desk.plan(plan_text.replace("k = 2", "k = 3") + 'series = "other"\nbatch = 5\n')
    _, done = pay.publish(FIRST[1:])
    assert done.document["rows_out"] == 5


@pytest.mark.slow
def test_dictionary_columns_of_a_series(desk, plan_text, terms):
    """Texts in a dictionary are told again by what they say, not by their number in it."""
    series = Series(desk, plan_text + terms)
    cities = ["York", "Bath", "Leeds", "York", "Bath", "Leeds"]
    names = {"york first": ["York", "Bath", "Leeds"], "york last": ["Leeds", "Bath", "York"]}
    for name, order in names.items():
        frame = pl.DataFrame(FIRST, schema=["name", "age", "city", "salary"], orient="row")
        frame = frame.with_columns(pl.Series("city", cities, dtype=pl.Enum(order)))
        frame.write_parquet(desk / f"{name}.parquet")
        desk.publish(
            desk / f"{name}.parquet", "--ledger", series.ledger, plan=series.plan, out=name
        )
    swapped = frame.with_columns(
        pl.Series("city", cities[::-1], dtype=pl.Enum(names["york first"]))
    )
    swapped.write_parquet(desk / "swapped.parquet")
    message = desk.publish_fails(
        4, desk / "swapped.parquet", "--ledger", series.ledger, plan=series.plan
    )
    assert "have changed" in message


@pytest.mark.slow
def test_publisher_in_between(desk, plan_text, terms, monkeypatch):
    """When another publisher commits first, the slower one exits 4 and leaves nothing."""
    series = Series(desk, plan_text + terms)
    series.publish(FIRST)
    prepare = KEAnonymity.prepare
    table = desk.csv(FIRST)
    other = desk / "other"

    def overtaken(self, *arguments):
        publication = prepare(self, *arguments)
        if not other.exists():
            monkeypatch.setattr(KEAnonymity, "prepare", prepare)
            make_release(table, series.plan, other, ledger=series.ledger)
        return publication

    monkeypatch.setattr(KEAnonymity, "prepare", overtaken)
    outcome = desk.run(
        "publish", table, "--plan", series.plan, "--out", desk / "out", "--ledger", series.ledger
    )
    assert outcome.status == 4
    assert "committed meanwhile" in outcome.stderr
    assert "run again" in outcome.stderr
    assert other.is_dir()
    assert not (desk / "out").exists()
    assert not list(desk.folder.glob(".*"))
    verified = desk.run("ledger", "verify", other, "--ledger", series.ledger)
    assert "2 versions" in verified.stderr
