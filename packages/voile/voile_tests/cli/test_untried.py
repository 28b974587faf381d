"""Eva, Fay and Gus: what a series assumes of who reasons from held rows, and that nobody tried."""

from __future__ import annotations

import json

import pytest

PEOPLE = [
    ("Ann", 31, "York", 1000),
    ("Bea", 44, "York", 2000),
    ("Cid", 27, "Leeds", 3000),
    ("Dov", 38, "Leeds", 5000),
    ("Hal", 47, "York", 6000),
    ("Ida", 58, "Leeds", 7500),
]
FEBRUARY = [*PEOPLE, ("Eva", 61, "York", 3300), ("Fay", 29, "Bath", 3500)]
MARCH = [*FEBRUARY, ("Gus", 33, "Bath", 9000)]
SERIES = 'series = "pay"\nbatch = "until-valid"\n'
UNTRIED = "an adversary who reasons from which rows were held back"


@pytest.fixture
def months(desk, plan_text):
    """The folders of three months of a series with k = 2 and e = 1000."""
    plan = desk.plan(plan_text.replace("e = 100", "e = 1000") + SERIES)
    ledger = ("--ledger", desk / "ledger.db")
    made = [
        desk.publish(desk.csv(rows), *ledger, plan=plan, out=out)
        for out, rows in (("january", PEOPLE), ("february", FEBRUARY), ("march", MARCH))
    ]
    assert [done.document["held"] for _, done in made] == [0, 2, 0]
    return [folder for folder, _ in made]


def assumed(folder):
    return json.loads((folder / "release.json").read_text())["guarantee"]["assumes"]


def test_the_series_states_what_it_assumes_of_held_rows(months):
    """Beside the other assumptions, with the example: from the second release on."""
    january, february, march = map(assumed, months)
    assert not any("held back" in text for text in january)
    for assumes in (february, march):
        (text,) = [text for text in assumes if "held back" in text]
        assert text.startswith("the adversary does not reason from which rows were held back")
        for word in ("k = 2 and e = 1000", "Eva (3300)", "Fay (3500)", "Gus has 9000"):
            assert word in text


@pytest.mark.slow
def test_the_attack_says_whom_it_has_not_tried(desk, months):
    """In words and in JSON: nobody is exposed to this adversary, and another one was not tried."""
    *earlier, march = months
    previous = [word for folder in earlier for word in ("--previous", folder)]
    shown = desk.run("attack", march, *previous)
    assert "0 of 9 people are exposed" in shown.stdout
    (line,) = [line for line in shown.stdout.splitlines() if line.startswith("Not tried: ")]
    assert line.startswith(f"Not tried: {UNTRIED}")
    (told,) = desk.run("attack", march, *previous, "--json").document["untried"]
    assert told.startswith(UNTRIED)


def test_among_other_attacks_it_says_so_too(desk, months):
    """In the table of several attacks, whose assumptions are not shown."""
    against = ("--against", desk / "people.csv")
    named = ("--attack", "differencing", "--attack", "homogeneity")
    shown = desk.run("attack", months[2], "--previous", months[1], *against, *named)
    assert f"Not tried: differencing: {UNTRIED}" in shown.stdout
    made = desk.run("attack", months[2], "--previous", months[1], *against, *named, "--json")
    untried = {attack["attack"]: attack["untried"] for attack in made.document["attacks"]}
    assert untried["differencing"][0].startswith(UNTRIED)
    assert untried["homogeneity"] == []


@pytest.mark.slow
def test_the_report_of_a_study_says_so_too(desk, months):
    """Where the attack is shown: on the page, in the record and in the table of the command."""
    pytest.importorskip("jinja2")
    done = desk.run(
        *("study", desk / "people.csv", "--plan", desk / "plan.toml", "--out", desk / "april"),
        *("--ledger", desk / "ledger.db", "--attacks", "differencing"),
    )
    assert done.status == 0, done.stderr
    assert f"Not tried: differencing: {UNTRIED}" in done.stdout
    private = desk / "april" / "private"
    (attack,) = json.loads((private / "record.json").read_text())["attacks"]
    assert attack["untried"][0].startswith(UNTRIED)
    page = (private / "report.html").read_text()
    assert f"<p>Not tried by differencing: {UNTRIED}" in page.replace(
        "Differencing", "differencing"
    )


@pytest.mark.parametrize("more", ["", 'series = "pay"\nadversary = "pairwise"\n'])
def test_where_nobody_waits_nobody_was_left_out(desk, plan_text, more):
    """A single release holds no rows back, nor does a series against the pairwise adversary."""
    ledger = ("--ledger", desk / "ledger.db") if more else ()
    folder, _ = desk.publish(desk.csv(), *ledger, plan=desk.plan(plan_text + more))
    done = desk.run("attack", folder, "--json")
    assert done.document["untried"] == []
    assert not any("held back" in text for text in assumed(folder))


@pytest.mark.slow
def test_the_adversary_who_knows_voile_finds_gus(desk, months):
    """Told when people arrived, by a column of the original, he has the value of one exactly."""
    *earlier, march = months
    previous = [word for folder in earlier for word in ("--previous", folder)]
    lines = [
        ("name", "age", "city", "salary", "month"),
        *((*row, 1 if row in PEOPLE else 2 if row in FEBRUARY else 3) for row in MARCH),
    ]
    original = desk.file("".join(",".join(map(str, line)) + "\n" for line in lines), "all.csv")
    asked = ("--against", original, "--attack", "minimality", "--arrived", "month", "--json")
    (found,) = desk.run("attack", march, *previous, *asked).document["attacks"]
    assert (found["attack"], found["targets"]) == ("minimality", 9)
    assert found["worst"] == {"known": {"age": 33, "city": "Bath"}, "probability": 1.0}
    told = desk.run("attack", march, *previous, *asked[:-1]).stdout
    assert "of the 3 people shown with them, they included, 3 keep too little" in told
