"""What the spread of values alone decides: tables of no language, under names that mean nothing."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import polars as pl
import pytest

from voile.proposal.columns import ColumnProposal
from voile.proposal.whole import Proposal, propose
from voile.proposal.writing import plan_text
from voile.recognisers.values import group_words, listed_names
from voile.schema.names import fits, words_of
from voile.schema.plan import open_questions
from voile.table.profile import Inspected

ROWS = 600
GIVEN = ("Anna", "Peter", "Maria", "Lukas", "Giulia", "Piotr", "Carmen", "Jean", "Sanne", "Erik")
FAMILY = ("Mueller", "Rossi", "Kowalski", "Garcia", "Dubois", "Jansen", "Silva", "Berg", "Novak")
GROUPS = (3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16, 18)
"""Different labels of each harmless column."""
PUBLISHED = frozenset({"quasi", "sensitive"})
WITHHELD_AT_MOST = 0.05
"""The share of columns of shared nonsense that may be left out."""


def _proposal(folder: Path, columns: dict[str, Sequence[object]]) -> Proposal:
    pl.DataFrame(columns, strict=False).write_csv(folder / "t.csv")
    table = Inspected.of_file(folder / "t.csv")
    details = [table.details(name) for name in table.columns]
    return propose(details, lambda names: table.group_sizes(names).tolist())


def _of(proposal: Proposal, name: str) -> ColumnProposal:
    return next(one for one in proposal.columns if one.name == name)


def _direct(draw: random.Random) -> dict[str, list[object]]:
    """What points at persons, homes, things and places."""
    whole = draw.sample(range(100_000, 999_999), ROWS)
    patients = draw.sample(range(100_000, 999_999), ROWS // 6)
    return {
        "names": [f"{draw.choice(GIVEN)} {draw.choice(FAMILY)}" for _ in range(ROWS)],
        "doctors": [f"Dr. {GIVEN[n % 5]} {FAMILY[n % 5]}" for n in range(ROWS)],
        "teachers": [FAMILY[n % 6] for n in range(ROWS)],
        "phones": [f"+49 341 {number}" for number in whole],
        "mails": [f"p{number}@example.org" for number in whole],
        "cases": list(whole),
        "vans": [
            f"L-{'ABCDEF'[n % 6]}{'KLMNOP'[n % 6]} {4711 + 137 * (n % 6)}" for n in range(ROWS)
        ],
        "licences": [(8_301_274, 8_455_919, 8_127_733)[n % 3] for n in range(ROWS)],
        "patients": [draw.choice(patients) for _ in range(ROWS)],
        "streets": [f"Lindenstraße {n % 90}" for n in range(ROWS)],
        "roads": [
            ("Rosenweg", "Am Anger", "Lindenstraße", "Birkengasse")[n % 4] for n in range(ROWS)
        ],
        "strangers": [f"{_label(draw)} {_label(draw)}" for _ in range(30)] * (ROWS // 30),
        "points": [f"{51 + draw.random():.5f}, {12 + draw.random():.5f}" for _ in range(ROWS)],
        "coarse": [("geo:48.1 11.5", "geo:48.2,11.6", "geo:48 11")[n % 3] for n in range(ROWS)],
    }


def _label(draw: random.Random) -> str:
    """A word of no language, which no list of words or of names has."""
    while True:
        word = "".join(draw.choice("bdfgklmnprstvz") + draw.choice("aeiou") for _ in range(4))
        if word not in group_words() and not any(word in names for names in listed_names()):
            return word.capitalize()


def _harmless(draw: random.Random) -> dict[str, list[object]]:
    """Groups in words of nonsense, each of which many rows share; the first are frequent."""
    found: dict[str, list[object]] = {}
    for place, number in enumerate(GROUPS):
        labels = [_label(draw) for _ in range(number)]
        found[f"group {place}"] = [
            labels[draw.randrange(1 + draw.randrange(number))] for _ in range(ROWS)
        ]
    return found


@pytest.mark.parametrize("seed", range(4))
def test_neither_names_nor_words_nor_order_make_an_identifier_published(tmp_path, seed):
    """Columns called c1 to cn, labels of nonsense, rows in any order: none that points is shown."""
    draw = random.Random(seed)
    columns = _direct(draw) | _harmless(draw)
    order = draw.sample(range(ROWS), ROWS)
    names = {name: f"c{place}" for place, name in enumerate(columns, 1)}
    proposal = _proposal(
        tmp_path, {names[name]: [values[n] for n in order] for name, values in columns.items()}
    )
    shown = {one.name for one in proposal.columns if one.role in PUBLISHED}
    assert not shown & {names[name] for name in _direct(draw)}
    groups = [names[name] for name in columns if name.startswith("group")]
    assert sum(name not in shown for name in groups) <= WITHHELD_AT_MOST * len(groups)


def test_what_many_share_is_a_quasi_identifier_and_asks_nothing(tmp_path):
    """A role that generalizes is safe whatever a column means, so that its plan can be used."""
    draw = random.Random(1)
    proposal = _proposal(tmp_path, _harmless(draw))
    assert {one.role for one in proposal.columns} == {"quasi"}
    assert not open_questions(plan_text(proposal, "t.csv"))


@pytest.mark.parametrize(
    "values",
    [
        ("2204", "1187", "0931"),
        ("204", "402", "311"),
        ("P-21", "P-18"),
        ("PPO1500", "PPO500", "MA-HMO1", "MCD-STD", "HDHP3K"),
        ("41005", "41006", "41007", "41500"),
        ("E11", "I10", "J45"),
        ("E11.9", "F11.20", "F41.1", "I10", "J06.9"),
        ("030511", "030512", "030513", "030514"),
        ("B01.023.001", "B01.029.001", "B01.047.001"),
        ("1945-1959", "1960-1969", "2000-2009"),
        ("18.000-25.999", "26.000-37.999", "38.000-54.999"),
    ],
)
def test_few_codes_that_many_share_are_those_of_groups(tmp_path, values):
    """Rooms, tariffs, districts, diagnoses and bands: few could be given, or in no form."""
    rows = [values[n % len(values)] for n in range(ROWS)]
    column = _of(_proposal(tmp_path, {"zz": rows}), "zz")
    assert (column.role, column.question) == ("quasi", None)


def test_numbers_that_repeat_over_a_wide_range_are_of_somebody(tmp_path):
    """Nobody named the column; its rows of one value are protected together, with a question."""
    draw = random.Random(2)
    known = draw.sample(range(100_000, 999_999), 90)
    columns = {
        "zz": [draw.choice(known) for _ in range(ROWS)],
        "zy": ["ab"[n % 2] for n in range(ROWS)],
    }
    column = _of(_proposal(tmp_path, columns), "zz")
    assert column.role == "person"
    assert column.question


@pytest.mark.parametrize("name", ["expend", "salary"])
def test_a_name_alone_shows_no_numbers_unchanged(tmp_path, name):
    """Sensitive columns are shown as they are: numbers that lie as those of records do are not."""
    draw = random.Random(10)
    records = draw.sample(range(20_000, 99_999), ROWS)
    amounts = [int(20_000 + draw.lognormvariate(9.2, 0.6)) for _ in range(ROWS)]
    assert _of(_proposal(tmp_path, {name: records}), name).role != "sensitive"
    assert _of(_proposal(tmp_path, {name: amounts}), name).role == "sensitive"


def test_numbers_of_a_register_are_no_diagnoses(tmp_path):
    """Most numbers of four digits are codes of an old list of diseases; forty are of members."""
    draw = random.Random(9)
    members = [f"{number:04}" for number in (129, *draw.sample(range(200, 9_990), 39))]
    column = _of(_proposal(tmp_path, {"zz": [members[n % 40] for n in range(ROWS)]}), "zz")
    assert column.role == "drop"


def test_logins_of_an_office_are_names(tmp_path):
    """An initial before a family name, in small letters and shared by hundreds of rows."""
    logins = ("kmueller", "jkowalski", "agarcia", "sdubois2")
    column = _of(_proposal(tmp_path, {"zz": [logins[n % 4] for n in range(ROWS)]}), "zz")
    assert column.role == "drop"


def test_wages_of_five_digits_each_are_amounts_and_no_numbers_of_records(tmp_path):
    """Few earn most; numbers of records fill their range to its end."""
    draw = random.Random(7)
    columns = {
        "zz": [int(20_000 + draw.lognormvariate(9.2, 0.6)) for _ in range(ROWS)],
        "zy": draw.sample(range(20_000, 99_999), ROWS),
    }
    proposal = _proposal(tmp_path, columns)
    assert (_of(proposal, "zz").role, _of(proposal, "zz").kind) == ("quasi", "number")
    assert _of(proposal, "zy").role == "identifier"


def test_sentences_that_many_share_are_labels(tmp_path):
    """Nobody writes the same remark as twenty-four others; descriptions of codes are the same."""
    draw = random.Random(8)
    labels = [" ".join(_label(draw).lower() for _ in range(5)) for _ in range(25)]
    columns = {
        "zz": [labels[n % 25] for n in range(ROWS)],
        "zy": [labels[n % 25] + f" {n // 7}" for n in range(ROWS)],
    }
    proposal = _proposal(tmp_path, columns)
    assert (_of(proposal, "zz").role, _of(proposal, "zy").role) == ("quasi", "drop")


def test_numbers_of_parcels_lie_evenly_and_lengths_do_not(tmp_path):
    """Both differ in most rows; the ones are left out, the others are shown in intervals."""
    draw = random.Random(3)
    columns = {
        "zz": [draw.randint(100, 1_900) for _ in range(ROWS)],
        "zy": [int(draw.gauss(900, 150)) for _ in range(ROWS)],
    }
    proposal = _proposal(tmp_path, columns)
    assert _of(proposal, "zz").role == "drop"
    assert (_of(proposal, "zy").role, _of(proposal, "zy").kind) == ("quasi", "number")


@pytest.mark.parametrize(
    ("value", "role"),
    [
        ("kWh", "quasi"),
        ("2024-03-01", "quasi"),
        ("2024年03月01日 07:34", "quasi"),
        ("Jan Kowalski", "drop"),
        ("geo:48.1 11.5", "drop"),
        ("41009123", "drop"),
    ],
)
def test_what_is_the_same_in_all_rows_is_published_unless_it_names_somebody(tmp_path, value, role):
    """A unit or a year costs nothing; the name of the one doctor is no less a name."""
    columns = {"zz": [value] * ROWS, "zy": ["ab"[n % 2] for n in range(ROWS)]}
    found = _of(_proposal(tmp_path, columns), "zz").role
    assert found == role or (role == "drop" and found == "identifier")


def test_persons_count_and_not_rows(tmp_path):
    """A label of each of sixty persons is shared by ten rows, and by no second person."""
    draw = random.Random(4)
    labels = [_label(draw) for _ in range(60)]
    rows = [n // 10 for n in range(ROWS)]
    columns = {"patient_id": rows, "zz": [labels[n] for n in rows]}
    assert _of(_proposal(tmp_path, columns), "zz").role == "drop"


def test_an_event_of_two_places_is_no_report_of_a_way(tmp_path):
    """Of rides from one place to another the places are left out, and the rest is published."""
    draw = random.Random(5)
    columns: dict[str, list[object]] = {
        f"{end}_{axis}": [f"{base + draw.random() / 9:.5f}" for _ in range(ROWS)]
        for end in ("pickup", "dropoff")
        for axis, base in (("lat", 41.8), ("lon", -87.6))
    }
    columns["pickup_time"] = [
        f"2024-03-{1 + n % 28:02} {n % 24:02}:{n % 60:02}:00" for n in range(ROWS)
    ]
    columns["product"] = [("pool", "black", "van")[n % 3] for n in range(ROWS)]
    proposal = _proposal(tmp_path, columns)
    shown = {one.name for one in proposal.columns if one.role in PUBLISHED}
    assert proposal.trips is None
    assert shown == {"pickup_time", "product"}


def test_ages_beside_points_count_no_persons(tmp_path):
    """Each point stands once in a file of points, which makes no table of counts of it."""
    columns = {
        "lat": [f"{48 + n % 20 / 100:.4f}" for n in range(400)],
        "lon": [f"{11 + n // 20 / 100:.4f}" for n in range(400)],
        "age": [20 + n * 7 % 60 for n in range(400)],
    }
    proposal = _proposal(tmp_path, columns)
    assert not proposal.categories
    assert _of(proposal, "age").role == "quasi"


def test_traits_that_are_constant_within_a_label_tell_that_it_is_a_persons(tmp_path):
    """Labels of forty persons with twenty rows each are left out; towns within regions are not."""
    draw = random.Random(6)
    labels = [_label(draw) for _ in range(40)]
    traits = [(draw.choice("fm"), draw.choice(("Rot", "Blau", "Gelb"))) for _ in range(40)]
    rows = [draw.randrange(40) for _ in range(800)]
    visits: dict[str, list[object]] = {"m": [draw.choice("xyz") for _ in rows]}
    people: dict[str, list[object]] = {
        "t": [traits[n][0] for n in rows],
        "u": [traits[n][1] for n in rows],
    }
    towns: dict[str, list[object]] = {
        "t": ["ab"[n % 2] for n in rows],
        "u": ["abcd"[n % 4] for n in rows],
    }
    named = [labels[n] for n in rows]
    assert _of(_proposal(tmp_path, {"zz": named, **visits, **people}), "zz").role == "drop"
    assert _of(_proposal(tmp_path, {"zz": named, **visits, **towns}), "zz").role == "quasi"


def test_the_state_of_a_receiver_makes_no_reports_of_a_way(tmp_path):
    """Journeys with a grade of the signal are events of persons, and are proposed as such."""
    draw = random.Random(8)
    columns = {
        "driver": [f"D{draw.randrange(90):04}" for _ in range(ROWS)],
        "gps signal": [draw.choice(("good", "fair", "weak")) for _ in range(ROWS)],
        "departure": [f"2024-05-{1 + n % 28:02} 08:{n % 60:02}:00" for n in range(ROWS)],
        "fuel": [draw.choice(("diesel", "petrol")) for _ in range(ROWS)],
    }
    proposal = _proposal(tmp_path, columns)
    assert proposal.trips is None
    assert _of(proposal, "fuel").role == "quasi"


def test_words_of_names_are_told_across_alphabets_and_separators():
    """Latin letters beside Chinese ones are a word; parts of a compound are the compound."""
    assert words_of("设备IMEI") == ("设备", "imei")
    assert fits(("hausnr",), words_of("Haus_Nr"))
    assert not fits(("hausnr",), words_of("Nr_Haus"))
