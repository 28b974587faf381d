"""What the spread of values alone decides: tables of no language, under names that mean nothing."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from pathlib import Path

import polars as pl
import pytest

from voile.proposal.editing import columns_not_understood, role_asked_for, with_role
from voile.proposal.proposed import ColumnProposal
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


@pytest.mark.slow
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


@pytest.mark.slow
def test_what_many_share_is_a_quasi_identifier_and_all_of_it_is_asked_about_once(tmp_path):
    """A role that generalizes hides whose row it is, and not what a group says of all in it."""
    draw = random.Random(1)
    proposal = _proposal(tmp_path, _harmless(draw))
    assert {one.role for one in proposal.columns} == {"quasi"}
    (question,) = open_questions(plan_text(proposal, "t.csv"))
    assert columns_not_understood(question) == [one.name for one in proposal.columns]


def test_what_stands_where_sensitive_columns_do_is_sensitive_and_asked_about_once(tmp_path):
    """Behind a sensitive column, or last where enough is told; before and between others it is not.

    Whoever answers that others know one of them moves it, and the others stay.
    """
    words = ("flimmer", "storbe", "quant", "plisk")
    columns = {
        "qworp": [words[n % 4] for n in range(ROWS)],
        "age": [20 + n % 50 for n in range(ROWS)],
        "sex": ["mf"[n % 2] for n in range(ROWS)],
        "diagnosis": [("J45", "I10", "E11")[n % 3] for n in range(ROWS)],
        "zwaal": [words[n % 3] for n in range(ROWS)],
        "town": [("Delft", "Gouda", "Leiden")[n % 3] for n in range(ROWS)],
        "plim": [words[n // 4 % 4] for n in range(ROWS)],
        "income": [1000 + 37 * n for n in range(ROWS)],
        "vrop": [words[n // 3 % 4] for n in range(ROWS)],
    }
    proposal = _proposal(tmp_path, columns)
    roles = {one.name: one.role for one in proposal.columns if one.guessed}
    assert [name for name, role in roles.items() if role == "quasi"] == ["qworp"]
    assert {name for name, role in roles.items() if role == "sensitive"} == {
        "zwaal",
        "plim",
        "vrop",
    }
    text = plan_text(proposal, "t.csv")
    asked = {role_asked_for(one): one for one in open_questions(text) if role_asked_for(one)}
    assert columns_not_understood(asked["sensitive"]) == ["qworp"]
    known = asked["quasi_identifiers"]
    assert columns_not_understood(known) == ["zwaal", "plim", "vrop"]
    text = with_role(text, ["zwaal"], "quasi_identifiers")
    (known,) = (one for one in open_questions(text) if role_asked_for(one) == "quasi_identifiers")
    assert columns_not_understood(known) == ["plim", "vrop"]
    few = _proposal(tmp_path, {name: columns[name] for name in ("age", "zwaal")})
    assert _of(few, "zwaal").role == "quasi"


@pytest.mark.parametrize(
    "values",
    [
        ("2204", "1187", "0931"),
        ("204", "402", "311"),
        ("P-21", "P-18"),
        ("PPO1500", "PPO500", "MA-HMO1", "MCD-STD", "HDHP3K"),
        ("41005", "41006", "41007", "41500"),
        ("E11", "I10", "J45"),
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


@pytest.mark.slow
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


def test_places_of_a_town_that_many_share_are_left_out_under_any_name(tmp_path):
    """Pairs of degrees with three decimals; measures beside them are proposed."""
    draw = random.Random(9)
    quarters = [(52.4 + draw.random() / 50, 13.3 + draw.random() / 50) for _ in range(30)]
    homes = [draw.choice(quarters) for _ in range(ROWS)]

    def written(numbers: list[float], places: int) -> list[str]:
        return [f"{number:.{places}f}" for number in numbers]

    columns = {
        "zq": written([north for north, _ in homes], 3),
        "zr": written([east for _, east in homes], 3),
        "age": [draw.randrange(18, 90) for _ in homes],
        "m1": written([draw.uniform(3.5, 5.5) for _ in homes], 1),
        "m2": written([draw.uniform(0.4, 0.9) for _ in homes], 3),
    }
    proposal = _proposal(tmp_path, columns)
    assert {_of(proposal, name).role for name in ("zq", "zr")} <= {"drop", "identifier"}
    assert _of(proposal, "m1").role in {"quasi", "sensitive"}


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


def _alphabet(text: str) -> str:
    """A text in Greek letters, of which no list of titles or abbreviations has one."""
    return text.translate(str.maketrans("ABCDEFGHIKLMNOPRSTXYZ", "ΑΒΨΔΕΦΓΗΙΚΛΜΝΟΠΡΣΤΧΥΖ"))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_initials_of_an_office_are_left_out_in_any_alphabet(tmp_path, seed):
    """With points, or of two or three letters; codes by which many tables name groups stay."""
    draw = random.Random(seed)
    eyes = {"ze": [("BLU", "BRO", "GRN", "HAZ")[n % 4] for n in range(ROWS)]}
    assert _of(_proposal(tmp_path, eyes), "ze").role == "quasi"
    signs = ["".join(draw.sample("BDFGHKLMPRT", n)) for n in (2, 3, 2, 3)]
    dotted = [f"{one[0]}.{one[1]}." for one in signs]
    three = ["".join(draw.sample("BDFGHKLMPRT", 3)) for _ in range(4)]
    columns = {"zx": signs, "zy": dotted, "zz": three}
    for written in (str, _alphabet):
        rows = {
            name: [written(draw.choice(values)) for _ in range(ROWS)]
            for name, values in columns.items()
        }
        proposal = _proposal(tmp_path, rows)
        roles = [_of(proposal, name).role for name in columns]
        assert roles == ["drop", "drop", "drop"]


def test_states_and_provinces_are_no_initials(tmp_path):
    """Two capitals each, all of one country's list."""
    states = ("BA", "MG", "PE", "PR", "RJ", "SP")
    column = _of(_proposal(tmp_path, {"zz": [states[n % 6] for n in range(ROWS)]}), "zz")
    assert (column.role, column.question) == ("quasi", None)


@pytest.mark.parametrize("title", ["Hon. {}", "Gz. {}", "{}-san", "Xu {}"])
def test_a_title_that_all_share_hides_no_names(tmp_path, title):
    """Whatever the title is: behind it, or before it, stand listed family names."""
    judges = ("Garcia", "Jones", "Kowalski", "Rossi", "Dubois", "Novak")
    rows = [title.format(judges[n % 6]) for n in range(ROWS)]
    assert _of(_proposal(tmp_path, {"zz": rows}), "zz").role == "drop"


def test_logins_with_marks_are_names(tmp_path):
    """A listed name in small letters, beside a department, initials or figures."""
    logins = ("kc_garcia2", "kc_kowalskisv", "web.novak", "jdubois")
    column = _of(_proposal(tmp_path, {"zz": [logins[n % 4] for n in range(ROWS)]}), "zz")
    assert column.role == "drop"
    words = ("web_shop", "call_center", "kiosk", "mobile.app")
    column = _of(_proposal(tmp_path, {"zz": [words[n % 4] for n in range(ROWS)]}), "zz")
    assert column.role == "quasi"


@pytest.mark.parametrize("form", ["%d%b%Y", "%d-%b-%Y", "%d%b%Y:%H:%M:%S"])
@pytest.mark.parametrize("name", ["zz", "passport_exp"])
def test_days_with_names_of_months_are_no_positions_and_no_numbers(tmp_path, form, name):
    """01FEB2022 is a square of a grid in one system, and a day of SAS and Stata in others."""
    days = [date(2021, 1, 1) + timedelta(days=3 * n % 700) for n in range(ROWS)]
    rows = [f"{datetime.combine(day, time()):{form}}".upper() for day in days]
    column = _of(_proposal(tmp_path, {name: rows}), name)
    assert (column.role, column.kind) == ("quasi", "date")


def test_months_of_six_figures_are_no_labels(tmp_path):
    """Years and months of birth repeat over a wide range, as labels of persons do."""
    draw = random.Random(12)
    rows = [100 * draw.randint(1930, 2004) + draw.randint(1, 12) for _ in range(4 * ROWS)]
    assert _of(_proposal(tmp_path, {"zz": rows}), "zz").role == "quasi"


@pytest.mark.parametrize("members", [1, 4])
def test_numbers_of_households_that_begin_anew_in_each_village_are_of_records(tmp_path, members):
    """They ascend by uneven steps, or stand together without order; scores do neither."""
    draw = random.Random(13)
    known = [
        sorted(draw.sample(range(1, 140), 30)) if members == 1 else draw.sample(range(1, 140), 30)
        for _ in range(60)
    ]
    numbers = [number for village in known for number in village for _ in range(members)]
    scores = [draw.randint(1, 139) for _ in numbers]
    proposal = _proposal(tmp_path, {"zz": numbers, "zy": scores})
    assert (_of(proposal, "zz").role, _of(proposal, "zy").role) == ("identifier", "quasi")


def test_goods_and_codes_of_a_classification_are_no_numbers_of_somebody(tmp_path):
    """Goods have check digits; codes of offices repeat their last digits, and licences do not."""
    draw = random.Random(14)
    goods = []
    for _ in range(12):
        body = "40" + "".join(draw.choice("0123456789") for _ in range(10))
        total = sum((1, 3)[place % 2] * int(digit) for place, digit in enumerate(body))
        goods.append(f"{body}{-total % 10}")
    codes = [f"{draw.randint(101, 999)}{end}" for end in ("100", "109", "101") * 4]
    licences = [f"{number}" for number in draw.sample(range(100_000, 999_999), 12)]
    columns = {"zx": goods, "zy": codes, "zz": licences}
    rows = {name: [values[n % 12] for n in range(ROWS)] for name, values in columns.items()}
    proposal = _proposal(tmp_path, rows)
    assert [_of(proposal, name).role for name in columns] == ["quasi", "quasi", "drop"]


@pytest.mark.parametrize("name", ["c1", "patient_id"])
def test_a_copy_of_an_identifier_is_one(tmp_path, name):
    """Labels of another alphabet, each of which goes with one person, in any order of rows."""
    draw = random.Random(15)
    known = draw.sample(range(100_000, 999_999), 40)
    labels = {number: _alphabet(_label(draw).upper()) for number in known}
    persons = [draw.choice(known) for _ in range(2 * ROWS)]
    columns = {
        name: persons,
        "zz": [labels[number] for number in persons],
        "zy": [draw.choice("ab") for _ in persons],
    }
    proposal = _proposal(tmp_path, columns)
    assert _of(proposal, "zz").role not in PUBLISHED
    assert _of(proposal, "zy").role == "quasi"


def test_few_codes_of_cards_are_no_groups_because_they_are_called_ids(tmp_path):
    """Nine cards of hundreds of rows each; three tariffs under the same name are groups."""
    draw = random.Random(16)
    cards = [f"E0040{draw.randrange(10**9):09}A" for _ in range(9)]
    for values, role in ((cards, "identifier"), (("A1", "A2", "B1"), "quasi")):
        column = _proposal(tmp_path, {"id_zz": [draw.choice(values) for _ in range(ROWS)]})
        assert _of(column, "id_zz").role == role


def test_remarks_name_those_whom_small_words_follow_and_not_their_first_words(tmp_path):
    """A child is called so in a remark; the relation "Child" is no name for that."""
    draw = random.Random(17)
    remarks = [f"Kinado wa {name} sila" for name in ("Anna", "Maria", "Peter", "Juma")]
    columns = {
        "zz": [draw.choice(remarks) for _ in range(ROWS)],
        "zy": [draw.choice(("Kinado", "Mofela", "Rutami")) for _ in range(ROWS)],
    }
    proposal = _proposal(tmp_path, columns)
    assert (_of(proposal, "zz").role, _of(proposal, "zy").role) == ("drop", "quasi")


def test_a_column_without_values_costs_nothing(tmp_path):
    """It is no column that is withheld, and is published as it is: empty."""
    proposal = _proposal(tmp_path, {"zz": [None] * ROWS, "zy": ["ab"[n % 2] for n in range(ROWS)]})
    assert _of(proposal, "zz").role == "quasi"
    assert proposal.missing


def test_what_a_receiver_counts_is_no_position(tmp_path):
    """Pings and grades of a signal under a name of positions; coordinates under it are withheld."""
    draw = random.Random(18)
    columns = {
        "gps_pings": [int(draw.gauss(500, 90)) for _ in range(10 * ROWS)],
        "gps_zz": [draw.choice(("good", "fair", "weak")) for _ in range(10 * ROWS)],
        "gps_x": [f"{9 + draw.random():.5f}" for _ in range(10 * ROWS)],
        "gps": [draw.randint(100, 900) for _ in range(10 * ROWS)],
    }
    proposal = _proposal(tmp_path, columns)
    assert [_of(proposal, name).role for name in columns] == ["quasi", "quasi", "drop", "drop"]


@pytest.mark.parametrize("gap", ["", None])
def test_numbers_that_some_rows_lack_are_those_of_no_person_with_several_rows(tmp_path, gap):
    """Each stands once; that blanks repeat says nothing of whose rows they are."""
    draw = random.Random(19)
    numbers = draw.sample(range(100_000_000, 999_999_999), ROWS)
    columns: dict[str, list[object]] = {
        "ssn": [gap if n % 5 == 0 else f"0{number}" for n, number in enumerate(numbers)],
        "zy": ["ab"[n % 2] for n in range(ROWS)],
    }
    assert _of(_proposal(tmp_path, columns), "ssn").role == "identifier"


def test_words_of_scripts_with_signs_of_vowels_are_whole(tmp_path):
    """An age is no income because their consonants are the same; sexes are no names."""
    assert words_of("मकान सं.") == ("मकान", "सं")
    assert words_of("ชื่อ") == ("ชือ",)
    columns = {
        "आयु": [18 + n * 7 % 60 for n in range(ROWS)],
        "ग": [("पुरुष", "महिला")[n % 2] for n in range(ROWS)],
        "नाम": [("राम यादव", "सीता यादव", "अनिल शर्मा")[n % 3] for n in range(ROWS)],
    }
    proposal = _proposal(tmp_path, columns)
    assert [_of(proposal, name).role in PUBLISHED for name in columns] == [True, True, False]
    assert _of(proposal, "आयु").role == "quasi"


def test_medicines_are_told_by_their_classification(tmp_path):
    """Seven signs of a system that the world shares, whatever the column is called."""
    codes = ("A10BA02", "C10AA05", "N06AB04")
    plates = ("A10BA02", "C17AX35", "B26XB74", "HH4KL21")
    assert (
        _of(_proposal(tmp_path, {"zz": [codes[n % 3] for n in range(ROWS)]}), "zz").role == "quasi"
    )
    rows = [plates[n % 4] + f"{n % 9}" for n in range(ROWS)]
    assert _of(_proposal(tmp_path, {"zz": rows}), "zz").role == "drop"


@pytest.mark.parametrize("gaps", [0, 4])
def test_stories_that_some_rows_lack_are_remarks(tmp_path, gaps):
    """However often each stands: labels are told in few words, or in every row."""
    draw = random.Random(20)
    stories = [" ".join(_label(draw).lower() for _ in range(9)) for _ in range(6)]
    rows = [None if gaps and n % gaps == 0 else stories[n % 6] for n in range(ROWS)]
    role = _of(_proposal(tmp_path, {"zz": rows}), "zz").role
    assert role == ("drop" if gaps else "quasi")


def test_days_without_work_are_no_numbers_of_a_list(tmp_path):
    """Most have none, so that equal numbers stand together by chance alone."""
    draw = random.Random(21)
    rows = [0 if draw.random() < 0.8 else int(draw.expovariate(1 / 80)) for _ in range(6 * ROWS)]
    assert _of(_proposal(tmp_path, {"zz": rows}), "zz").role == "quasi"


def test_months_are_no_money_because_a_name_says_so(tmp_path):
    """Sensitive columns are shown as they are, and a month of birth is no amount."""
    draw = random.Random(22)
    rows = [100 * draw.randint(1930, 2004) + draw.randint(1, 12) for _ in range(4 * ROWS)]
    assert _of(_proposal(tmp_path, {"salary": rows}), "salary").role == "quasi"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["zz", "Vers.-Nr."])
def test_numbers_of_policies_are_no_versions_and_degrees_are_places(tmp_path, name):
    """Each row has its own number; minutes of a degree have decimals, in any language."""
    draw = random.Random(23)
    columns = {
        name: [f"U00-{number}" for number in draw.sample(range(1_000, 9_999), ROWS)],
        "zy": [f"{60 + n % 3}°{draw.randint(10, 59)},{n % 90 + 10}N" for n in range(ROWS)],
        "Start lengde": [
            f"00{4 + n % 3}°{draw.randint(10, 59)},{n % 90 + 10}Ø" for n in range(ROWS)
        ],
    }
    proposal = _proposal(tmp_path, columns)
    assert not {_of(proposal, one).role for one in columns} & PUBLISHED


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("zz", ("mk", "wj", "tn", "bs", "ae", "gkl")),
        ("kurier", [f"KUR{n:03}" for n in range(20, 60)]),
        ("operario", [f"OP-{n}" for n in range(21, 75)]),
        ("前台", ("陈", "林", "黄", "吴", "周")),
        ("N_MEC_ENF", range(40_100, 40_160)),
        ("zz", ("AH", "EK", "JK", "mv", "ps", "hh")),
        ("担当", ("田", "佐", "高", "伊", "渡", "山")),
        ("zz", ["ر.ق", "س.ع", "م.ح"]),
        ("zz", ("tacar9", "tcelik7", "tcelik9", "myilmaz1", "akaya3")),
        ("zz", ("kjo112", "mariae", "perhol", "ssk_jw", "annlin03")),
        ("zz", ("Tiiu", "KMets", "ASaar", "automaat")),
        ("zz", ("jro", "nfa", "SYS", "MPI", "cdb")),
        ("wijz_door", ("maesluc", "vdbkat", "CLAESJ", "batch_nacht")),
        ("nurseId", ("NS204", "nr.anjali", "nr.lizy", "tele_bot")),
        ("zz", ("jsala", "mfont", "npuig")),
        ("Operatore", ("p.fabbri", "mrossi", "lgalli")),
        ("zz", ("A.H.", "tf", "NMcC", "DOS")),
        ("zz", ("MRoca", "A.P.", "Núria")),
        ("zz", ("M.-Cl. H.", "CDU", "SVR", "Youssef")),
        ("zz", ("MM", "D.T.", "as. Popa", "Ileana")),
        ("contractnr", [f"{2000 + n % 24}.{n:05}" for n in range(600)]),
        ("zz", ("apia.idobre", "apia.d.rusu2", "apia.mpop")),
        ("zz", ("王医生", "Li Jun", "陈主任", "008")),
        ("zz", ("Dr.ssa Furlan", "dott. Tomasi", "GB")),
        ("enq", ("E07", "E12", "E31")),
        ("rn_badge", (41003, 40188, 40122, 41970)),
        ("имеОца", ("Живорад", "Раде", "Слободан", "Душан")),
        ("zz", ["გ.ბ", "ნ.ქ", "ა.კ", "დ.ლ"]),
    ],
)
def test_codes_and_initials_of_single_persons_of_the_staff_are_left_out(tmp_path, name, values):
    """In small letters and in scripts without capitals, too; a number of them counts nothing."""
    rows = [values[n % len(values)] for n in range(ROWS)]
    column = _of(_proposal(tmp_path, {name: rows}), name)
    assert column.role not in PUBLISHED


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("zz", ("kg", "ml", "g", "l", "mg", "cm")),
        ("nurse visits", range(12)),
        ("zz", ("web", "app", "api", "CSV")),
        ("zz", ("single", "farmer", "black")),
        ("operator", ("Nordnet", "Telia", "Telenor", "Tre", "Comviq")),
        ("zz", ("low2", "low3", "high1", "high2")),
        ("zz", ("CC", "CT", "TT")),
        ("zz", ("I.A", "I.B", "II.A", "III.C")),
        ("felelős", ("I", "N", "M")),
        ("vehYear", range(1998, 2024)),
        ("logement", ("indiv.", "famille", "foyer")),
    ],
)
def test_units_counts_and_firms_are_none_of_the_staff(tmp_path, name, values):
    """Though they are short, or stand under a word of somebody."""
    rows = [values[n % len(values)] for n in range(ROWS)]
    assert _of(_proposal(tmp_path, {name: rows}), name).role in PUBLISHED


def test_codes_of_diseases_are_sensitive_whatever_their_column_is_called(tmp_path):
    """By their values, of which some are subcategories."""
    values = ("E11.9", "F11.20", "F41.1", "I10", "J06.9")
    column = _of(_proposal(tmp_path, {"zz": [values[n % 5] for n in range(ROWS)]}), "zz")
    assert (column.role, column.kind, column.question) == ("sensitive", "code", None)


def test_decimals_as_fine_as_the_degrees_beside_them_are_positions(tmp_path):
    """Also where one axis spans more than a region; weights under a short name are none."""
    draw = random.Random(4)
    columns = {
        "lat": [round(draw.uniform(49, 54), 6) for _ in range(ROWS)],
        "zz": [round(draw.uniform(14, 24), 6) for _ in range(ROWS)],
        **{f"rw{n:03}": [round(draw.uniform(0, 3), 4) for _ in range(ROWS)] for n in (1, 2)},
        **{f"x{n:02}": [round(draw.gauss(0, 2), 5) for _ in range(ROWS)] for n in range(5)},
    }
    found = _proposal(tmp_path, columns)
    assert _of(found, "zz").role not in PUBLISHED
    assert not any(_of(found, name).is_position for name in ("rw001", "rw002", "x01", "x04"))


def test_a_few_words_that_many_rows_have_among_numbers_are_none(tmp_path):
    """Several of them, beside usual marks and limits of what was measured, of many numbers."""
    words = ("none", "refused", "haemolysed")
    numbers = [f"{n * 37 % 990 / 10}" for n in range(ROWS)]
    mixed = [one if n % 4 else words[n // 4 % 3] for n, one in enumerate(numbers)]
    limited = [one if n % 9 else "<0.5" for n, one in enumerate(mixed)]
    blank = [one if n % 7 else "" for n, one in enumerate(mixed)]
    grades = [("1", "2", "3", *words)[n % 6] for n in range(ROWS)]
    found = _proposal(tmp_path, {"za": mixed, "zb": limited, "zc": blank})
    assert set(found.marks) == {"", *words}
    assert {_of(found, name).role for name in ("za", "zb", "zc")} <= PUBLISHED
    assert _of(found, "za").kind == "number"
    assert _proposal(tmp_path, {"za": grades}).marks == ()
    classes = [("NO", "<30", ">30", "NO")[n % 4] for n in range(ROWS)]
    assert _proposal(tmp_path, {"readmitted": classes}).marks == ()


def test_errors_of_a_spreadsheet_are_marks_in_any_language(tmp_path):
    """Hashes before words of groups are none."""
    errors = ("#NV", "#SAKNAS!", "#DIV/0!", "#N/D", "#ADI?")
    numbers = [f"{n % 90}" if n % 6 else errors[n // 6 % 5] for n in range(ROWS)]
    tags = [("#red", "#A1", "#GOLD")[n % 3] for n in range(ROWS)]
    assert set(_proposal(tmp_path, {"zz": numbers, "zy": tags}).marks) == set(errors)


def test_houses_flats_and_boxes_are_addresses_and_pressures_are_health(tmp_path):
    """By their form, under the name of a place and under none; numbers of accounts, too."""
    draw = random.Random(8)
    columns = {
        "CP_CO": [f"{draw.randint(1, 2000)}/{draw.randint(1, 60)}" for _ in range(ROWS)],
        "postal": [f"P/Bag X{draw.randint(1, 99)}" for _ in range(ROWS)],
        "so_tk": [draw.randint(10**9, 2 * 10**9) for _ in range(ROWS)],
        "zz": [f"{draw.randint(100, 180)}/{draw.randint(55, 98)}" for _ in range(ROWS)],
        "AGS": [("05315000", "05314000", "05316000", "05334002")[n % 4] for n in range(ROWS)],
        "od-do": [f"0{draw.randint(1, 6)}/2023-1{draw.randint(0, 2)}/2023" for _ in range(ROWS)],
    }
    found = _proposal(tmp_path, columns)
    assert not {_of(found, name).role for name in ("CP_CO", "postal", "so_tk")} & PUBLISHED
    assert _of(found, "zz").role == "sensitive"
    assert (_of(found, "AGS").role, _of(found, "od-do").role) == ("quasi", "quasi")


def test_numbers_behind_a_street_are_those_of_houses_whatever_their_name(tmp_path):
    """One or two columns of them, but no few districts, postcodes or known measures."""
    draw = random.Random(28)
    streets = ("Polní", "Školní", "Nádražní", "Husova", "Lipová", "Zahradní")
    columns = {
        "ULICE": [draw.choice(streets) for _ in range(ROWS)],
        "zq": [draw.randint(1, 1900) for _ in range(ROWS)],
        "zw": [f"{draw.randint(1, 130)}{draw.choice(('', '', 'a'))}" for _ in range(ROWS)],
        "ulice": [draw.choice(streets) for _ in range(ROWS)],
        "okrsek": [draw.randint(1, 12) for _ in range(ROWS)],
        "PSC": [f"{draw.randint(100, 799)} 0{draw.randint(0, 9)}" for _ in range(ROWS)],
        "carrer": [draw.choice(streets) for _ in range(ROWS)],
        "num_portal": [draw.randint(1, 140) for _ in range(ROWS)],
        "NM_LOGRADO": [draw.choice(streets) for _ in range(ROWS)],
        "NU_NUMERO": [draw.choice(("S/N", *map(str, range(1, 140)))) for _ in range(ROWS)],
        "bus": [draw.choice(("1", "2", "0203", "0101")) for _ in range(ROWS)],
        "calle": [draw.choice(streets) for _ in range(ROWS)],
        "area_m2": [draw.randint(30, 180) for _ in range(ROWS)],
    }
    found = _proposal(tmp_path, columns)
    houses = ("zq", "zw", "num_portal", "NU_NUMERO", "bus")
    assert not {_of(found, name).role for name in houses} & PUBLISHED
    assert {_of(found, name).role for name in ("okrsek", "PSC", "area_m2")} <= PUBLISHED


def test_a_word_that_many_rows_have_among_numbers_stands_for_a_missing_one(tmp_path):
    """However long it is; a word in one row is no mark, and may be a name."""
    numbers = [round(n * 1.37 % 90, 1) for n in range(ROWS)]
    often = [number if n % 5 else "not studied" for n, number in enumerate(numbers)]
    once = [number if n else "Kowalski" for n, number in enumerate(numbers)]
    found = _proposal(tmp_path, {"often": often, "once": once})
    assert found.marks == ("not studied",)
    assert _of(found, "often").role in PUBLISHED


def test_full_names_in_a_script_without_capitals_are_names(tmp_path):
    """Also where the list has one part of each alone; letters for the sexes are none."""
    names = (
        "अजय द्विवेदी",
        "अनिल बंसल",
        "दिनेश राठौर",
        "महेश रावत",
        "मुकेश वैश्य",
        "मोहन पाण्डेय",
        "रमेश जोशी",
    )
    columns = {
        "zz": [names[n % len(names)] for n in range(ROWS)],
        "yy": [("पु", "म")[n % 2] for n in range(ROWS)],
    }
    found = _proposal(tmp_path, columns)
    assert _of(found, "zz").role not in PUBLISHED
    assert _of(found, "yy").role in PUBLISHED


def _once(low: int, high: int, rows: int = ROWS) -> list[int]:
    return random.Random(4).sample(range(low, high), rows)


@pytest.mark.parametrize("name", ["szám", "income", "zz"])
def test_numbers_that_repeat_less_than_chance_lets_them_are_of_records(tmp_path, name):
    """Whatever their name says: an office saw to it that no two are alike."""
    given = _proposal(
        tmp_path, {name: _once(1_000, 1_000 + 4 * ROWS), "sex": ["m", "f"] * (ROWS // 2)}
    )
    assert _of(given, name).role in {"identifier", "drop"}


@pytest.mark.slow
def test_numbers_drawn_at_random_are_seldom_taken_for_such_of_records(tmp_path):
    """Of 60 columns of amounts of the same range none is, though most of each are different."""
    draw = random.Random(9)
    columns = {
        f"income {n}": [int(1_000 + draw.random() * 4 * ROWS) for _ in range(ROWS)]
        for n in range(60)
    }
    proposal = _proposal(tmp_path, columns)
    assert {one.role for one in proposal.columns} <= {"sensitive", "quasi"}


def test_sentences_of_a_list_that_name_somebody_are_remarks(tmp_path):
    """Others write the same of other people; labels without a name are none."""
    said = ("asked for Mikon's aunt", "call with Äiti at noon", "met at the school of Anja")
    lines = [f"{said[n % 3]} and the client left {'abcdefghijklmno'[n % 15]}" for n in range(ROWS)]
    assert _of(_proposal(tmp_path, {"zz": lines}), "zz").role == "drop"


def test_letters_that_several_columns_hold_are_grades(tmp_path) -> None:
    """Subjects of a school by two letters; a single column of letters may be a group."""
    file = tmp_path / "grades.csv"
    head = "age;wing;MA;EN;SO"
    rows = [
        ";".join(
            map(str, (14 + r % 3, "AB"[r % 2], "ABCDEF"[r % 6], "ABCDE"[r % 5], "FEDCB"[r % 5]))
        )
        for r in range(300)
    ]
    file.write_text("\n".join((head, *rows)) + "\n")
    table = Inspected.of_file(file)
    details = [table.details(name) for name in table.columns]
    found = {one.name: one for one in propose(details).columns}
    assert {found[name].role for name in ("MA", "EN", "SO")} == {"sensitive"}
    assert found["MA"].why.endswith("grades")
    assert found["wing"].role == "quasi"
