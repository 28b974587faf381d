"""Columns that are harmless and were withheld from tables that no recogniser was written for."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from voile.proposal.proposed import ColumnProposal
from voile.proposal.whole import propose
from voile.table.profile import Inspected


def _proposed(file: Path, name: str) -> ColumnProposal:
    table = Inspected.of_file(file)
    columns = propose([table.details(column) for column in table.columns]).columns
    return next(one for one in columns if one.name == name)


def _proposal(tmp_path: Path, name: str, values: list[object]) -> ColumnProposal:
    """What is proposed for a column beside ages of many persons."""
    rows = 12 * len(values)
    frame = pl.DataFrame({"age": [18 + n % 60 for n in range(rows)], name: values * 12})
    frame.write_csv(tmp_path / "t.csv")
    return _proposed(tmp_path / "t.csv", name)


_ROWS = 400


def _roles(tmp_path: Path, **columns: list[object]) -> dict[str, str]:
    """The roles of columns as they stand, beside ages of many persons."""
    frame = pl.DataFrame({"age": [18 + n % 60 for n in range(_ROWS)], **columns}, strict=False)
    frame.write_csv(tmp_path / "t.csv")
    table = Inspected.of_file(tmp_path / "t.csv")
    found = propose([table.details(column) for column in table.columns]).columns
    return {one.name: one.role for one in found}


def _role(tmp_path: Path, name: str, values: list[object]) -> str:
    return _proposal(tmp_path, name, values).role


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("betyg", ["A", "B", "C", "D", "E", "F"]),
        ("energy_class", ["A", "B", "C", "G"]),
        ("rent_eur", [317 + 13 * n for n in range(60)]),
        ("zz_qv", ["Bayern", "Hessen", "Sachsen", "Saarland"]),
        ("zz_qw", ["DE", "FR", "FI", "ES", "PL"]),
        ("zz_qx", ["unter 1000 EUR", "1000 - 1999 EUR", "3000 EUR und mehr"]),
        ("zz_qy", ["Hypertension", "Arthritis", "Neuralgia", "Depression", "Dizziness"]),
        ("zz_rq", ["NOT RELATED", "POSSIBLY RELATED", "RELATED"]),
        ("zz_qz", ["A++", "A+", "A", "B", "C"]),
        ("firmware", ["1.4.2", "1.4.3", "1.5.0"]),
        ("device_model", ["Charge", "Sense", "Inspire"]),
        ("kwh_used", [917 + 13 * n for n in range(60)]),
        ("Fin contrat", [f"{1 + n % 28:02}/{1 + n % 12:02}/202{n % 6}" for n in range(60)]),
        ("vráceno", [f"{1 + n % 28:02}. {1 + n % 12:02}. 202{n % 6}" for n in range(60)]),
        ("zz_date", [f"{1 + n % 28:02}{1 + n % 12:02}202{n % 6}" for n in range(60)]),
        ("zz_lab", [">90", "<1.5", *(f"{n / 7:.2f}" for n in range(7, 90))]),
        ("Gewicht", [f"{48 + n / 3:.1f}" for n in range(60)]),
        ("DRIVER", ["01", "02", "-1"] * 20),
        ("zz_svc", ["Urgencias", "Consulta", "Traslado"]),
        ("payment_kind_type", ["CRD", "CSH", "DIS"]),
        ("Shirt size", ["S", "M", "L", "XL"]),
        ("Город", ["Томск", "Омск", "Тверь"]),
        ("species", ["Parus major", "Turdus merula", "Pica pica"]),
        ("fin", [f"202{n % 6}-{1 + n % 12:02}-{1 + n % 28:02}" for n in range(60)]),
    ],
)
def test_grades_and_rents_are_proposed(name: str, values: list[object], tmp_path: Path) -> None:
    """Grades, places, bands, nouns by their endings, versions and measures are no names."""
    assert _role(tmp_path, name, values) in {"quasi", "sensitive"}


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("betyg", ["Ek", "Alm", "Lund", "Berg", "Dahl", "Holm"]),
        ("qqq", ["王", "李", "张", "刘", "陈", "杨"]),
        ("rent", ["DE89 3704 0044 0532 0130 00", "DE02 1203 0000 0000 2020 51"] * 3),
        ("zz_qv", ["Hessen", "Korhonen", "Virtanen", "Nieminen", "Laine"]),
        ("zz_rx", ["HK", "QT", "ZX", "WJ", "DE"]),
        ("zz_ref", ["B/0034", "B/0112", "B/0077"]),
        ("phone", ["040 1234567", "050 7654321", "044 9876543"]),
        ("tel", ["01.02.1234567", "02.03.7654321", "04.05.9876543"]),
        ("FIN", [f"WVWZZZ1KZ{n % 10}W{n:06}" for n in range(317, 377)]),
    ],
)
def test_names_and_accounts_below_such_names_are_not(
    name: str, values: list[object], tmp_path: Path
) -> None:
    """The form of values wins over what a column is called, surnames of one sign among them."""
    assert _role(tmp_path, name, values) not in {"quasi", "sensitive"}


@pytest.mark.parametrize(
    "values",
    [
        [7_001 + n * 7 % 100 for n in range(100)],
        sorted(list(range(1, 151)) * 2),
    ],
)
def test_numbers_without_gaps_are_no_amounts(values: list[object], tmp_path: Path) -> None:
    """Numbers of cards in any order, and of households whose rows stand together."""
    pl.DataFrame({"zz_q": [one for one in values for _ in range(2)]}).write_csv(tmp_path / "t.csv")
    assert _proposed(tmp_path / "t.csv", "zz_q").role == "identifier"


@pytest.mark.parametrize(
    ("counts", "kind"),
    [
        ((400, 210, 100, 40, 15, 4), "number"),
        ((90, 110, 100, 95, 120, 105), "nominal"),
    ],
)
def test_few_whole_numbers_are_counts_where_large_ones_are_rare(
    counts: tuple[int, ...], kind: str, tmp_path: Path
) -> None:
    """Children and reminders are; codes of six answers of which each is common are not."""
    values = [value for value, count in enumerate(counts) for _ in range(count)]
    pl.DataFrame({"zz_q": values}).sample(fraction=1, shuffle=True, seed=1).write_csv(
        tmp_path / "t.csv"
    )
    assert _proposed(tmp_path / "t.csv", "zz_q").kind == kind


def test_numbers_that_a_sheet_keeps_as_texts_are_numbers(tmp_path: Path) -> None:
    """A year of building that was typed as text is read as a CSV file of it is."""
    frame = pl.DataFrame({"zz_q": [str(1900 + n % 97) for n in range(300)]})
    frame.write_excel(tmp_path / "t.xlsx")
    found = _proposed(tmp_path / "t.xlsx", "zz_q")
    assert (found.role, found.kind) == ("quasi", "number")


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("P4", ("Mucha", "Bastante", "Regular", "Poca", "Ninguna")),
        ("V7", ("Erittäin hyvä", "Melko hyvä", "Kohtalainen", "Melko huono")),
        ("Bolsa Família", ("Sim", "Não")),
        ("Série", ("6º ano", "7º ano", "8º ano", "9º ano", "1ª série EM")),
        ("wgt", ("104", "151", "165", "188", "196", "119")),
    ],
)
def test_answers_that_many_share_are_published(
    name: str, values: tuple[str, ...], tmp_path: Path
) -> None:
    """Scales of opinions, yes and no, school years and body weights, whatever their names are."""
    found = _proposal(tmp_path, name, [value for value in values for _ in range(60)])
    assert (found.role in {"quasi", "sensitive"}, found.question) == (True, None)


@pytest.mark.parametrize("name", ["hhweight", "wt", "V10 Gewicht", "poids redressement"])
def test_a_weight_of_the_survey_is_no_fact_about_a_person(name: str, tmp_path: Path) -> None:
    """Fine decimals tell it from what a body weighs; it weighs rows, and is left out."""
    values: list[object] = [f"{0.4 + n / 700:.5f}" for n in range(60)]
    found = _proposal(tmp_path, name, values)
    assert (found.role, found.kind) == ("drop", "number")
    assert "weight of the survey" in found.why
    assert found.question is None


def test_amounts_as_texts_that_each_stand_once_are_asked_about(tmp_path: Path) -> None:
    """A release would show each beside its sign, and is refused; numbers are published."""
    values: list[object] = [f"${1_000 + 37 * n:,}.{n % 90 + 10}" for n in range(720)]
    pl.DataFrame({"age": [18 + n % 60 for n in range(720)], "TotalCharges": values}).write_csv(
        tmp_path / "t.csv"
    )
    found = _proposed(tmp_path / "t.csv", "TotalCharges")
    assert found.role == "drop"
    assert "as numbers" in (found.question or "")


def test_a_mark_in_some_rows_tells_something(tmp_path: Path) -> None:
    """One value beside missing ones is an answer, not the same in all rows."""
    frame = pl.DataFrame({"age": [18 + n % 60 for n in range(240)], "DTHFL": ["Y", *[""] * 59] * 4})
    frame.write_csv(tmp_path / "t.csv")
    assert _proposed(tmp_path / "t.csv", "DTHFL").role == "sensitive"


def test_how_long_a_race_took_is_a_text_that_others_may_know(tmp_path: Path) -> None:
    """A clock of hours, minutes and seconds is no day: a text that k people have to share."""
    values: list[object] = [
        f"{n // 3600}:{n // 60 % 60:02}:{n % 60:02}" for n in range(4000, 7600, 60)
    ]
    found = _proposal(tmp_path, "Net time", values)
    assert (found.role, found.kind) == ("quasi", "nominal")
    assert not found.guessed


@pytest.mark.slow
def test_codes_of_staff_and_degrees_of_places_are_no_groups(tmp_path: Path) -> None:
    """An id of few couriers, a doctor's name, and coordinates of a whole country under one stem."""
    names = ["Ana Pop", "Ion Rus", "Dan Ilie", "Ema Stan", "Ilie Dobre"] * 40
    lines = (
        f"D00{i % 4},{names[i]},{50 + i * 0.02591:.5f},{30 + i * 0.10133:.5f},2.14.{i % 3}.{i % 2}"
        for i in range(200)
    )
    path = tmp_path / "t.csv"
    path.write_text("\n".join(["courier_id,medic,place_la,place_lo,grouper_ver", *lines]) + "\n")
    withheld = ("courier_id", "medic", "place_la", "place_lo")
    assert not {_proposed(path, name).role for name in withheld} & {"quasi", "sensitive"}
    assert _proposed(path, "grouper_ver").role == "quasi"


@pytest.mark.parametrize(
    ("name", "values", "role"),
    [
        ("CEP", [f"{30000 + 7 * r}-{r % 900 + 100}" for r in range(_ROWS)], "quasi"),
        ("우편번호", [f"{4101 + 13 * r:05}" for r in range(_ROWS)], "quasi"),
        ("PAID_MED", [round(90 * 1.01**r + r / 7, 2) for r in range(_ROWS)], "sensitive"),
        ("q8_bolsa_familia", [r % 5 // 4 * 1.0 for r in range(_ROWS)], "sensitive"),
        ("utm_source", ["google", "direct", "instagram", "email"] * (_ROWS // 4), "quasi"),
        ("RACA_COR", ["PARDA", "BRANCA", "PRETA", "AMARELA"] * (_ROWS // 4), "quasi"),
        ("Lainattu", [f"{r % 28 + 1}.4.2024 klo {r % 9 + 9}.{r % 50 + 10}" for r in range(_ROWS)],
         "quasi"),
        ("zq", [2012 + r % 9 for r in range(_ROWS)], "quasi"),
        ("CASE_MGR", ["mwong", "rk01", "TPN", "jsmith2", "KAB"] * (_ROWS // 5), "drop"),
        ("nam_sinh", [1950.0 + r % 60 for r in range(_ROWS)], "quasi"),
        ("q13_lon_kr", [20000 + 300 * (r % 90) for r in range(_ROWS)], "sensitive"),
        ("zz_fine", [2026 + r % 60 for r in range(_ROWS)], "quasi"),
        ("GEB_ORT", ["Wels", "Steyr", "Timi?oara", "Ried im Innkreis"] * (_ROWS // 4), "quasi"),
        ("wpr", ["mwalcza", "jlarysz", "asobcza", "jkozlow"] * (_ROWS // 4), "drop"),
        ("OPERATORE", ["gverdon", "fbarbie", "ggallo", "bferrar"] * (_ROWS // 4), "drop"),
        ("Relationship Mgr", ["CE", "GW", "KA", "CO", "DH"] * (_ROWS // 5), "drop"),
        ("ΓΕΝΟΣ_ΜΗΤΡΟΣ", ["ΑΛΕΞΙΟΥ", "ΠΑΠΑΔΑΚΗΣ", "ΜΑΚΡΗΣ", "ΙΩΑΝΝΙΔΗΣ"] * (_ROWS // 4), "drop"),
        ("zq", ["ΑΛΕΞΙΟΥ", "ΠΑΠΑΔΑΚΗΣ", "ΜΑΚΡΗΣ", "ΙΩΑΝΝΙΔΗΣ"] * (_ROWS // 4), "drop"),
    ],
)  # fmt: skip
def test_what_columns_of_other_countries_hold(name, values, role, tmp_path: Path) -> None:
    """Postcodes, amounts, answers and days are no numbers of persons; codes of clerks are."""
    found = _roles(tmp_path, **{name: values})[name]
    assert found == role or {found, role} <= {"drop", "identifier"}


@pytest.mark.parametrize("number", ["billing_number", "ship_no"])
def test_a_number_beside_the_street_of_an_address_is_that_of_a_house(
    number: str, tmp_path: Path
) -> None:
    """By the word that both names begin with; another number, elsewhere, is a count."""
    street = f"{number.split('_', maxsplit=1)[0]}_street"
    numbers, streets = [1 + r % 40 for r in range(_ROWS)], ["Dobra", "Polna"] * (_ROWS // 2)
    assert _roles(tmp_path, **{street: streets, number: numbers})[number] == "identifier"
    apart = {
        "home_street": streets,
        "group": ["a", "b"] * (_ROWS // 2),
        "sex": ["f", "m"] * (_ROWS // 2),
    }
    assert _roles(tmp_path, **apart, **{number: numbers})[number] != "identifier"
