"""Tables that a proposal must not give away: what no proposed plan publishes, and what it asks."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from voile.proposal.whole import Proposal, propose
from voile.proposal.writing import plan_text
from voile.recognisers.recognition import recognised
from voile.recognisers.values import ColumnLook
from voile.schema.plan import open_questions
from voile.table.profile import Inspected

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
    table = Inspected.of_file(path)
    details = [table.details(column) for column in table.columns]
    return propose(details, lambda names: table.group_sizes(names).tolist())


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
        *("담당자", "主治医", "负责人"),
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


GREEK = ("Γεώργιος Παππάς", "Μαρία Βλάχου", "Ελένη Μακρή", "Χρήστος Δήμου", "Σοφία Ιωάννου")


@pytest.mark.parametrize(
    ("name", "values", "why"),
    [
        ("Θεράπων", [GREEK[r % 5] for r in range(260)], "names of persons"),
        ("担当", [f"{'佐鈴高田伊'[r % 5]}藤 {'翔大健拓'[r % 4]}太" for r in range(260)], "names"),
        ("ご意見", [f"駅から遠いですが、店は{r % 24}回目でした" for r in range(260)], "free text"),
        (
            "メモ",
            [("また来ます", "電話は090-1234-5678まで")[r % 2] for r in range(260)],
            "telephone",
        ),
        ("หมายเหตุ", ["โทร 081-234-5678ครับ", "ไม่มี"] * 130, "telephone"),
    ],
)
def test_few_texts_that_tell_of_persons_are_withheld(tmp_path, name, values, why):
    """Five doctors of a script without a list of names; remarks in one without spaces."""
    path = _written(tmp_path, "people.csv", {name: values, **_people(260)})
    proposal = _proposal(path)
    assert name not in _published(plan_text(proposal, "people.csv"))
    assert why in proposal.columns[0].why
    assert proposal.columns[0].role == "drop"


def test_ordinary_columns_are_not_withheld(tmp_path):
    """Wards, towns, grades, wages, marks and codes get roles, whatever their language."""
    columns: dict[str, list[object]] = {
        "station": ["ABCD"[r % 4] for r in range(ROWS)],
        "ville": [("Lyon", "Lille", "Nice")[r % 3] for r in range(ROWS)],
        "Gehalt": [30_000 + 137 * r for r in range(ROWS)],
        "nota_media": [f"{4 + r % 60 / 10:.1f}" for r in range(ROWS)],
        "diagnosi": [("I10", "E11", "J45")[r % 3] for r in range(ROWS)],
        "Beruf": [("Koch", "Lehrer", "Baecker")[r % 3] for r in range(ROWS)],
        "luong": [100_000 * (110 + 7 * r % 60) for r in range(ROWS)],
        "答え": [("とても満足", "満足", "不満", "とても不満")[r % 4] for r in range(ROWS)],
        "mielipide": [
            ("Täysin samaa mieltä", "Melko samaa mieltä", "Melko eri mieltä", "En tiedä")[r % 4]
            for r in range(ROWS)
        ],
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
    assert any(one.text.startswith("trips:") for one in open_questions(text))


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
    assert any(one.text.startswith("table:") for one in open_questions(text))


def test_a_code_of_a_letter_and_a_figure_is_no_mark(tmp_path):
    """Southern Corsica among departments is a place, and “xx” among them is none."""
    path = tmp_path / "survey.csv"
    for odd, marks in (("2A", ()), ("xx", ("xx",))):
        codes = ["01", "13", "31", "59", "75", "92", odd]
        path.write_text("dep,n\n" + "\n".join(f"{code},{n}" for n in range(9) for code in codes))
        assert _proposal(path).marks == marks


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


def _text(tmp_path, **columns):
    return plan_text(_proposal(_written(tmp_path, "people.csv", {**columns, **_people()})), "x")


@pytest.mark.parametrize(
    ("name", "written"), [("Geb.", "{d:02}.{m:02}.{y2}"), ("Data Nasc.", "{d:02}-{m:02}-{y2}")]
)
def test_days_of_an_unknown_century_are_asked_about_and_are_no_identifier(tmp_path, name, written):
    """Each row may have its own, and it still tells no person apart: the plan is not refused."""
    days = [written.format(d=1 + r % 28, m=1 + r % 12, y2=f"{r % 70:02}") for r in range(ROWS)]
    text = _text(tmp_path, **{name: days})
    assert f'"{name}"' not in str(tomllib.loads(text)["roles"])
    assert any(one.column == name and "2001-12-31" in one.text for one in open_questions(text))


@pytest.mark.parametrize(
    ("written", "first_year", "at"),
    [
        ("{d}. Aug. {y}", 1930, "last"),
        ("{d} aprile {y}", 1930, "last"),
        ("{y}. február {d}.", 1930, "first"),
        ("{d} กันยายน {y}", 2500, "last"),  # of the Buddhist era
        ("{y}/02/{late}", 1330, "first"),  # of the Jalali calendar
        ("{d:02}/{m:02}/{y}هـ", 1380, "last"),  # of the Hijri calendar
        ("{y}/{m:02}/{d:02}", 40, "first"),  # of the Republic of China
        ("昭和{y}年{m}月{d}日", 2, "era"),
        ("S{y}.{m}.{d}", 2, "era"),
        ("2023-{m:02}-{d:02} 오전 07:{d:02}", 0, "first"),
        ("2023/{m}/{d} 7:{d:02} p. m.", 0, "first"),
    ],
)
def test_days_of_any_calendar_are_grouped_by_the_year_as_it_is_written(
    tmp_path, written, first_year, at
):
    """They are no identifiers, though each row may have its own, and published with their years."""
    days = [
        written.format(d=1 + r % 28, late=29 + r % 3, m=1 + r % 12, y=first_year + r % 60)
        for r in range(ROWS)
    ]
    text = _text(tmp_path, zz=days)
    assert "zz" in _published(text)
    assert tomllib.loads(text)["columns"]["zz"]["year"] == at


@pytest.mark.parametrize("written", ["{y}.{m:02}.{d:02}.", "{d:02}.{m:02}.{y} r.", "{d}. {m}. {y}"])
def test_national_forms_of_days_are_read(tmp_path, written):
    """Hungarian, Polish and Czech days are quasi-identifiers with their format."""
    days = [written.format(d=1 + r % 28, m=1 + r % 12, y=1930 + r % 70) for r in range(ROWS)]
    plan = tomllib.loads(_text(tmp_path, born=days))
    assert "born" in plan["roles"]["quasi_identifiers"]
    assert plan["columns"]["born"]["format"]


def test_numbers_of_orders_are_no_counts_whatever_their_name_says(tmp_path):
    """A name such as n_encomenda speaks of a number; texts that tell rows apart are none."""
    orders = [f"ENC-2023-{r + 1043:06}" for r in range(ROWS)]
    assert "n_encomenda" not in _published(_text(tmp_path, n_encomenda=orders))
    shared = [f"ENC-2023-{r // 3 + 1043:06}" for r in range(ROWS)]
    assert "n_encomenda" not in _published(_text(tmp_path, n_encomenda=shared))


@pytest.mark.parametrize(
    "values",
    [
        ("WE 0510H", "WI 1099B", "WA 4411C"),
        ("Eva R.", "Luis G.", "Ana P."),
        ("don Aldo Sartori", "don Piero Gallo", "don Ugo Fabbri"),
        ("265001234", "265011234", "265021234"),
        ("AnLi", "BeSv", "MoKa"),
        ("ESu", "JVi", "MRa"),
        ("JFA", "LBE", "MDU", "NRI"),
        ("por. Vlček", "kpt. Hanák", "vel. Šimek", "npor. Zdráhal", "por. Kubíček"),
        ("gagnm07", "royp02", "tremc01"),
        ("1-048211", "1-103377", "1-129054"),
    ],
)
def test_few_codes_and_names_with_initials_are_left_out(tmp_path, values):
    """Plates, call numbers, interviewers and priests are few, and are told by their form."""
    assert "x" not in _published(_text(tmp_path, x=[values[r % len(values)] for r in range(ROWS)]))


def test_a_number_for_missing_values_is_one_beside_texts_and_leaves_no_false_bounds(tmp_path):
    """-9 among notes is no value; where 99 is one elsewhere, bounds of ages do not exclude it."""
    notes = ["-9" if r % 3 else f"call {r} times again later" for r in range(ROWS)]
    ages = [-9 if r % 11 == 0 else 20 + r % 40 for r in range(ROWS)]
    path = _written(tmp_path, "survey.csv", {"V2_Alter": ages, "V11": notes, **_people()})
    assert "-9" in _proposal(path).marks
    ages = [999 if r % 11 == 0 else 20 + r % 40 for r in range(ROWS)]
    path = _written(
        tmp_path, "two.csv", {"V2_Alter": ages, "kWh": [500 + 499 * (r % 3) for r in range(ROWS)]}
    )
    proposal = _proposal(path)
    assert "999" in proposal.marks or proposal.columns[0].bounds is None


def test_answers_of_persons_with_places_are_no_reports_of_trips(tmp_path):
    """A survey tool writes where each answered: its places are left out, and the rest is asked."""
    reports = _reports("latitude", "longitude", "time", "trip")
    places = {name: reports[name][:ROWS] for name in ("latitude", "longitude", "time")}
    text = _text(tmp_path, **places)
    assert tomllib.loads(text)["method"]["name"] == "generalization"
    assert not {"latitude", "longitude"} & _published(text)
    assert any("latitude" in one.quoted for one in open_questions(text))


@pytest.mark.slow
def test_events_with_places_are_no_reports_of_trips(tmp_path):
    """Emptied bins: who, when and where, and facts that no receiver writes; places are left out."""
    reports = _reports("latitude", "longitude", "time", "vehicle_id")
    reports = {name: reports[name] for name in ("vehicle_id", "time", "latitude", "longitude")}
    facts = {
        "waste": [("paper", "rest", "glass")[r % 3] for r in range(len(reports["vehicle_id"]))],
        "size": [("1p", "2p", "3p+")[r // 7 % 3] for r in range(len(reports["vehicle_id"]))],
        "tariff": [(85, 140)[r % 2] for r in range(len(reports["vehicle_id"]))],
        "remission": ["YN"[r % 2] for r in range(len(reports["vehicle_id"]))],
        "altitude": [12.5 + r % 40 for r in range(len(reports["vehicle_id"]))],
    }
    text = _text(tmp_path, **reports, **facts)
    assert tomllib.loads(text)["method"]["name"] == "generalization"
    assert {"waste", "size"} <= _published(text)
    assert not {"latitude", "longitude", "vehicle_id"} & _published(text)
    moving = {"speed": facts.pop("altitude")}
    assert not set(facts) & _published(_text(tmp_path, **reports, **facts, **moving))


def test_what_many_rows_share_and_few_persons_is_no_group(tmp_path):
    """Visits at home: each client's key box and metres stand in many rows, and are the client's."""
    clients = [r % (ROWS // 5) for r in range(ROWS)]
    text = _text(
        tmp_path,
        **{
            "AHV-Nr.": [f"756.{1000 + c}.{4000 + 7 * c}.{10 + c % 90}" for c in clients],
            "zz": [f"{1000 + 37 * c % 9000}*" for c in clients],
            "LV95 E": [f"2'69{c % 9}'{100 + c}" for c in clients],
            "service": [("care", "meals", "cleaning")[r % 3] for r in range(ROWS)],
        },
    )
    assert _published(text) == {"service", "age", "sex"}


_BAPTIZED = ("Parch. J. Elias Hughes", "Parch. T. Rees", "Parch. W. Ambrose")
_INTERVIEWERS = ("Dewi K.", "Nurul", "Agus Prasetyo", "Sri W.", "Bambang S.")
_REMARKS = ("Call his wife Ann", "Owes for 2021", "Back in May")


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("Nota", ["" if r % 3 else _REMARKS[r // 3 % 3] for r in range(ROWS)]),
        ("n_visit", [80_411 + r for r in range(ROWS)]),
        ("LINTANG", [f"{-7 - r % 97 / 983:.5f}" for r in range(ROWS)]),
        ("gan bwy", [_BAPTIZED[r % 3] for r in range(ROWS)]),
        ("PENCACAH", [_INTERVIEWERS[r % 5] for r in range(ROWS)]),
    ],
)
def test_what_its_values_show_is_left_out_in_any_language(tmp_path, name, values):
    """Remarks in few rows, running numbers called counts, fine degrees, names with initials."""
    assert name not in _published(_text(tmp_path, **{name: values}))


def test_grids_are_known_by_their_two_axes(tmp_path):
    """E_x beside N_x are metres of a grid; a lone column of such a name is none."""
    east, north = ([start + r * 37 % 9_000 for r in range(ROWS)] for start in (488_000, 6_780_000))
    assert not {"E_grid", "N_grid"} & _published(_text(tmp_path, E_grid=east, N_grid=north))
    assert "position" not in _text(tmp_path, n_beds=[10_000 + r % 40 for r in range(ROWS)])


def test_moments_in_seconds_are_no_numbers_of_records(tmp_path):
    """A column whose name speaks of time counts from 1970; of another name it stays out."""
    moments = [1_736_151_101 + r * 7_919 % 86_400 for r in range(ROWS)]
    assert "sys_upd_ts" in _published(_text(tmp_path, sys_upd_ts=moments))
    assert "event_ts" in _published(_text(tmp_path, event_ts=[1000 * one + 7 for one in moments]))
    assert "zz" not in _published(_text(tmp_path, zz=moments))


def test_kinds_of_settlements_before_their_names_are_no_initials(tmp_path):
    """A small one is a village, as in "д. Ясенів"; a person has a capital."""
    names = [
        "Броди",
        "Підкамінь",
        "Заболотці",
        "Ясенів",
        "Пониковиця",
        "Суховоля",
        "Лешнів",
        "Рожнів",
    ]
    villages = [f"д. {names[r % 8]}" for r in range(ROWS)]
    assert "zz" in _published(_text(tmp_path, zz=villages))
    persons = [f"Д. {names[r % 8]}" for r in range(ROWS)]
    assert "zz" not in _published(_text(tmp_path, zz=persons))


def test_the_number_of_a_superior_is_an_identifier_as_those_of_everybody_are(tmp_path):
    """A code that is one of another column tells the same person; counts of no such column do."""
    numbers = [100_100 + 3 * r for r in range(ROWS)]
    chiefs = [numbers[r % 9 * 11] for r in range(ROWS)]
    others = [200_100 + r % 9 * 11 for r in range(ROWS)]
    text = _text(tmp_path, staff_id=numbers, zz=chiefs, yy=others)
    assert "zz" in tomllib.loads(text)["roles"]["identifiers"]
    assert 'among those of "staff_id"' in text
    assert "yy" in _published(text)


def test_thousands_of_codes_are_held_against_those_of_another_column(tmp_path):
    """Those of a mother are among those of everybody; pay may be among them by chance."""
    codes = [f"K{100_000 + r}" for r in range(1_500)]
    mothers = [codes[r * (7 if r % 2 else 3) % 1_500] for r in range(1_500)]
    columns = {"staff_id": codes, "zz": mothers}
    found = _proposal(_written(tmp_path, "codes.csv", {**columns, **_people(1_500)})).columns
    assert {one.name: one.role for one in found}["zz"] == "identifier"
    numbers = [10_000 + 2 * r for r in range(3_000)]
    pay = [10_000 + r * 7_919 % 6_000 for r in range(3_000)]
    columns = {"patient_id": numbers, "pay": pay}
    found = _proposal(_written(tmp_path, "pay.csv", {**columns, **_people(3_000)})).columns
    assert all("among those" not in one.why for one in found)


def test_a_number_that_all_rows_share_is_published_where_they_are_of_many(tmp_path):
    """An insurer's number tells nobody apart; that of the device of a lone track would."""
    ids = [f"P{r // 4:05}" for r in range(ROWS)]
    assert "zz" in _published(_text(tmp_path, patient_id=ids, zz=[112_089] * ROWS))
    assert "zz" not in _published(_text(tmp_path, zz=[112_089] * ROWS))


def test_amounts_with_cents_get_a_role_though_each_row_has_its_own(tmp_path):
    """No number of a record has two decimals; many whole numbers of no known name stay out."""
    cents = [f"{1_000 + r * 137.13:.2f}" for r in range(ROWS)]
    assert "zz" in _published(_text(tmp_path, zz=cents))
    assert "zz" not in _published(_text(tmp_path, zz=[7 + r * 1_371 for r in range(ROWS)]))


_WELSH = "Rhys Sian Gethin Eleri Huw Nia Emyr Ffion Ioan Carys Dewi Mared Gwilym Lowri Iolo Bethan"
_KOREAN = (
    "민준 서연 도윤 서윤 하준 지우 지호 하은 예준 수아 유진 현우 시우 채원 건우 다은 은우 소율"
)
_MORE = "Aled Nerys Macsen Efa Tomos Heledd Osian Mali Guto Cadi"
_BASQUE = ("Kale Nagusia 4", "Geltoki kalea 12", "Eliza kalea 3", "Plaza Berria 7", "Zubi kalea 1")


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("canwr", f"{_WELSH} {_MORE}".split()),
        ("담당", [f"김{one}" for one in _KOREAN.split()] + [f"이{one}" for one in _KOREAN.split()]),
        (
            "tên",
            [
                f"{a} {b}"
                for a in ("Nguyễn", "Trần", "Lê")
                for b in ("An", "Chi", "Hà", "Hoa", "Lan", "Nga", "Mai")
            ],
        ),
        ("atari", [*_BASQUE, "Iturri kalea 22"]),
    ],
)
def test_what_may_name_persons_or_homes_is_left_out_in_any_language(tmp_path, name, values):
    """No list knows the words; with its question the column is out, accepted or not."""
    rows = "".join(f"{20 + n % 50},{values[n * 11 % len(values)]}\n" for n in range(900))
    path = tmp_path / "table.csv"
    path.write_text(f"age,{name}\n{rows}", encoding="utf-8")
    column = next(one for one in _proposal(path).columns if one.name == name)
    assert column.role in {"drop", "identifier"}
    assert column.role == "identifier" or column.is_withheld


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("mazao", ["mahindi", "mpunga", "mihogo"]),
        ("kelas", ["7A", "7B", "8A", "8B", "9A", "9B"]),
        ("quan", [f"Quan {n}" for n in range(1, 13)]),
        ("pentref", ["Llanrwst", "Bala", "Dolgellau", "Corwen", "Rhuthun"]),
    ],
)
def test_groups_in_any_language_are_not_taken_for_names(tmp_path, name, values):
    """Few values that many rows share, and classes and districts with numbers."""
    rows = "".join(f"{20 + n % 50},{values[n * 11 % len(values)]}\n" for n in range(900))
    path = tmp_path / "table.csv"
    path.write_text(f"age,{name}\n{rows}", encoding="utf-8")
    column = next(one for one in _proposal(path).columns if one.name == name)
    assert column.role == "quasi"


@pytest.mark.parametrize("name", ["이름", "姓名", "Фамилия", "họ tên", "enw", "الاسم", "Όνομα"])
def test_columns_of_names_are_told_in_more_languages(name):
    """By their names alone, in scripts of their own, too."""
    found = recognised(ColumnLook(name, "text", 900, 40, ("Abc", "Def")))
    assert found is not None
    assert found.key == "person-name"


def test_numbers_that_each_row_has_alone_are_no_counts(tmp_path):
    """``n_order`` is a number of a record where values do not repeat, and a count where they do."""
    rows = "".join(f"{50_210 + 7 * (n * 37 % 900)},{n % 9}\n" for n in range(900))
    path = tmp_path / "table.csv"
    path.write_text(f"n_order,n_visits\n{rows}", encoding="utf-8")
    order, visits = _proposal(path).columns
    assert (order.role, visits.role) == ("identifier", "quasi")


def test_the_id_of_a_tracker_is_a_device_beside_positions_alone():
    """Two letters in the files of OwnTracks; elsewhere a word of another language."""
    letters = ("AB", "CK", "DZ")
    beside = ColumnLook("tid", "text", 90, 3, letters, ("lat", "lon", "tst"))
    found = recognised(beside)
    assert found is not None
    assert found.key == "device"
    assert recognised(ColumnLook("tid", "text", 90, 3, letters, ("age", "sex"))) is None


@pytest.mark.parametrize("beside", ["timestamp", "Zeit", "czas"])
def test_metres_from_any_origin_are_positions_beside_a_time(tmp_path, beside):
    """A way around a depot: one place that is known tells all others, so no row is published."""
    table = {
        "chunk": [row // 40 for row in range(ROWS)],
        beside: [f"2024-05-{1 + row // 40:02} 08:{row % 40:02}:00" for row in range(ROWS)],
        "x": [round(-80 + 3.37 * row + (row * row) % 7 / 3, 2) for row in range(ROWS)],
        "y": [round(90 - 2.71 * row + (row * row) % 5 / 3, 2) for row in range(ROWS)],
        "activity": [("driving", "walking")[row % 2] for row in range(ROWS)],
    }
    assert (
        _published(plan_text(_proposal(_written(tmp_path, "way.csv", table)), "way.csv")) == set()
    )


def test_two_measures_called_x_and_y_are_none_without_a_time(tmp_path):
    """As in the tables of a course on statistics."""
    table = {
        **_people(),
        "x": [round(1.37 * row % 11, 2) for row in range(ROWS)],
        "y": [round(2.71 * row % 13, 2) for row in range(ROWS)],
    }
    assert {"x", "y"} <= _published(
        plan_text(_proposal(_written(tmp_path, "t.csv", table)), "t.csv")
    )


def test_numbers_say_what_a_name_does_not_mean(tmp_path):
    """Round sums are no telephones, volts no plates, weeks no places, "has not" is no name."""
    text = _text(
        tmp_path,
        **{"No HP": [100_000 * (r % 28) for r in range(ROWS)]},
        **{"V bat": [f"{11 + r % 30 / 10:.1f}" for r in range(ROWS)]},
        **{"Jk Wkt": [(10, 12, 18, 24)[r % 4] for r in range(ROWS)]},
        **{"سابقه خانوادگی": [("دارد", "ندارد")[r % 2] for r in range(ROWS)]},
    )
    assert {"No HP", "V bat", "Jk Wkt", "سابقه خانوادگی"} <= {*_published(text)}


@pytest.mark.parametrize("name", ["mutatie_door", "kod. von", "modified by"])
def test_what_somebody_has_done_names_one_of_the_staff(tmp_path, name):
    """By logins and initials, however few."""
    text = _text(tmp_path, **{name: [("hs02", "mk01", "rko")[r % 3] for r in range(ROWS)]})
    assert name not in _published(text)


@pytest.mark.parametrize("values", [("cash", "card", "bank"), ("gas", "oil", "wood")])
def test_by_what_something_is_done_is_none_of_the_staff(tmp_path, values):
    """How it was paid, and what heats."""
    text = _text(tmp_path, **{"done by": [values[r % 3] for r in range(ROWS)]})
    assert "done by" in _published(text)


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("産業医", ("大野", "森下")),
        ("Nama Ibu Kandung", ("Kartini", "Painem", "Rukiyah")),
        ("ΠΑΤΡ.", ("Κων.", "Γεωρ.", "Δημ.")),
    ],
)
def test_few_names_of_others_are_left_out(tmp_path, name, values):
    """Of the doctor of a firm, of mothers and of fathers."""
    text = _text(tmp_path, **{name: [values[r % len(values)] for r in range(ROWS)]})
    assert name not in _published(text)
