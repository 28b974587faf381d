"""Tables that a proposal must not give away: what no proposed plan publishes, and what it asks."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from voile.proposal.whole import Proposal, propose
from voile.proposal.writing import plan_text
from voile.schema.plan import open_questions
from voile.table.profile import inspect_file

GIVEN = ("Anna", "Peter", "Maria", "Lukas", "Giulia", "Piotr", "Carmen", "Jean", "Sanne", "Erik")
FAMILY = ("Mueller", "Rossi", "Kowalski", "Garcia", "Dubois", "Jansen", "Silva", "Berg", "Novak")
ROWS = 120


def _written(folder: Path, name: str, columns: dict[str, list[object]]) -> Path:
    path = folder / name
    lines = [";".join(columns)]
    lines += [";".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def _proposal(path: Path) -> Proposal:
    table = inspect_file(path)
    details = [table.details(column) for column in table.columns]
    return propose(details, lambda names: int(table.group_sizes(names).max()))


def _published(text: str) -> set[str]:
    roles = tomllib.loads(text)["roles"]
    return {
        name
        for role in ("quasi_identifiers", "sensitive", "keep", "ranking")
        for name in roles.get(role, [])
    }


def _people(n: int = ROWS) -> dict[str, list[object]]:
    return {
        "age": [20 + row % 50 for row in range(n)],
        "sex": ["fm"[row % 2] for row in range(n)],
    }


@pytest.mark.parametrize(
    "name",
    [
        *("Nachname", "first_name", "maiden_name", "prénom", "Apellidos", "cognome", "achternaam"),
        *("nazwisko", "Förnamn", "etunimi", "příjmení", "Name", "medico", "Hausarzt"),
    ],
)
def test_names_of_persons_are_never_published(tmp_path, name):
    """In several languages, in few values or many; names of doctors are names, too."""
    names = [f"{GIVEN[r % 10]} {FAMILY[r % 9]}" for r in range(ROWS)]
    path = _written(tmp_path, "people.csv", {name: names, **_people()})
    proposal = _proposal(path)
    assert name not in _published(plan_text(proposal, "people.csv"))
    assert proposal.columns[0].role == "identifier"


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("x", [f"Dr. {GIVEN[r % 5]} {FAMILY[r % 5]}" for r in range(ROWS)]),
        ("x", [f"p{r}@example.org" for r in range(ROWS)]),
        ("x", [f"+49 341 {100000 + 7 * r}" for r in range(ROWS)]),
        ("x", [f"Lindenstraße {r}" for r in range(ROWS)]),
        ("Straße", [f"Lindenstraße {r % 9}" for r in range(ROWS)]),
        ("x", [f"L-AB {1000 + r % 40}" for r in range(ROWS)]),
        ("x", [f"II K {r}/23" for r in range(ROWS)]),
        ("fall", [31_000 + 2 * r for r in range(ROWS)]),
        ("x", [f"10.0.{r}.7" for r in range(ROWS)]),
        ("x", [f"POINT({2 + r / 997:.5f} {48 + r / 991:.5f})" for r in range(ROWS)]),
        ("x", [f"{529982 + 131 * r}.{r % 10}{(3 * r) % 10}7" for r in range(ROWS)]),
    ],
)
def test_what_tells_people_apart_is_known_by_its_values(tmp_path, name, values):
    """Doctors, mail, phones, streets, plates, case numbers, addresses of machines, places."""
    path = _written(tmp_path, "people.csv", {name: values, **_people()})
    assert name not in _published(plan_text(_proposal(path), "people.csv"))


def test_ordinary_columns_are_not_withheld(tmp_path):
    """Wards, towns, grades, wages, marks and codes get roles, whatever their language."""
    columns: dict[str, list[object]] = {
        "station": ["ABCD"[r % 4] for r in range(ROWS)],
        "ville": [("Lyon", "Lille", "Nice")[r % 3] for r in range(ROWS)],
        "Gehalt": [30_000 + 137 * r for r in range(ROWS)],
        "nota_media": [f"{4 + r % 60 / 10:.1f}" for r in range(ROWS)],
        "diagnosi": [("I10", "E11", "J45")[r % 3] for r in range(ROWS)],
        "Beruf": [("Koch", "Lehrer", "Baecker")[r % 3] for r in range(ROWS)],
        **_people(),
    }
    path = _written(tmp_path, "people.csv", columns)
    assert _published(plan_text(_proposal(path), "people.csv")) == set(columns)


def _reports(latitude: str, longitude: str, time: str, trip: str) -> dict[str, list[object]]:
    return {
        trip: [17 + r % 4 for r in range(ROWS)],
        time: [f"2024-03-01 06:{r // 4:02}:00" for r in range(ROWS)],
        latitude: [f"{51 + r / 997:.6f}" for r in range(ROWS)],
        longitude: [f"{12 + r / 991:.6f}" for r in range(ROWS)],
        "speed": [f"{r * 7 % 90}.5" for r in range(ROWS)],
        "course": [r * 11 % 360 for r in range(ROWS)],
    }


@pytest.mark.parametrize(
    "names",
    [
        ("latitude", "longitude", "time", "trip"),
        ("latitude", "longitude", "fixtime", "deviceid"),
        ("lat", "lon", "timestamp", "tracker_id"),
        ("Breite", "Länge", "Zeitstempel", "Fahrt"),
    ],
)
def test_positions_are_moved_or_not_published(tmp_path, names):
    """Reports of trips get the four roles and a method for positions; nothing beside is shown."""
    path = _written(tmp_path, "reports.csv", _reports(*names))
    text = plan_text(_proposal(path), "reports.csv")
    plan = tomllib.loads(text)
    latitude, longitude, time, trip = names
    roles = {"trip": trip, "time": time, "latitude": latitude, "longitude": longitude}
    assert plan["roles"] == roles
    assert plan["method"]["name"] == "geo-indistinguishability"
    assert open_questions(text)


def test_positions_without_a_trip_get_no_method(tmp_path):
    """Where the roles of trips are not all found, there is nothing to publish with."""
    columns = _reports("latitude", "longitude", "time", "trip")
    del columns["trip"]
    text = plan_text(_proposal(_written(tmp_path, "track.csv", columns)), "track.csv")
    assert "method" not in tomllib.loads(text)
    assert any(one.startswith("trips:") for one in open_questions(text))


def test_a_table_of_counts_is_asked_about(tmp_path):
    """Each combination stands once, beside a number: a row may be no person."""
    cells = [(a, b, c) for a in "NSEW" for b in ("flu", "hiv", "tb") for c in range(2015, 2025)]
    columns: dict[str, list[object]] = {
        "region": [one[0] for one in cells],
        "disease": [one[1] for one in cells],
        "year": [one[2] for one in cells],
        "n": [place * 13 % 47 for place, _ in enumerate(cells)],
    }
    text = plan_text(_proposal(_written(tmp_path, "counts.csv", columns)), "counts.csv")
    assert "n" not in _published(text)
    assert any(one.startswith("table:") for one in open_questions(text))


def test_codes_as_floats_and_marks_that_stand_out(tmp_path):
    """1.0 and 2.0 are codes; k.A., n.a., -9 and 99 stand for missing values."""
    columns: dict[str, list[object]] = {
        "region": [f"{1 + r % 9}.0" for r in range(ROWS)],
        "children": [-9 if r % 11 == 0 else r % 5 for r in range(ROWS)],
        "qual": [99 if r % 13 == 0 else 1 + r % 4 for r in range(ROWS)],
        "sex": [("m", "w", "k.A.")[r % 3] for r in range(ROWS)],
        "smoker": [("Y", "N", "n.a.")[r % 3] for r in range(ROWS)],
    }
    proposal = _proposal(_written(tmp_path, "survey.csv", columns))
    assert proposal.marks == ("-9", "99", "k.A.", "n.a.")
    assert {c.name: c.kind for c in proposal.columns}["region"] in {"nominal", "geography"}
