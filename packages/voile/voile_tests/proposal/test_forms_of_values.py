"""Columns told by the form of their values: what no answer to all questions at once publishes."""

from __future__ import annotations

import random
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voile.proposal.proposed import ColumnProposal
from voile.proposal.whole import Proposal, propose
from voile.proposal.writing import plan_text
from voile.recognisers.codes import CHECKS, told_by_form
from voile.recognisers.recognition import _holds_of, _may_hold, listed_recognisers, recognised
from voile.recognisers.values import ColumnLook, share_of
from voile.schema.names import meaning_of
from voile.schema.persons import Occurrences, refuse_repeating
from voile.schema.plan import open_questions, parse_plan
from voile.table.profile import Inspected, is_usual_mark
from voile_base.errors import PlanError

ROWS = 400


def _proposal(folder: Path, columns: dict[str, tuple[str, ...]]) -> Proposal:
    """Of a table in which each column has some values, at random."""
    draw = random.Random(5)
    lines = [";".join(columns)]
    lines += [";".join(draw.choice(values) for values in columns.values()) for _ in range(ROWS)]
    path = folder / "table.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    table = Inspected.of_file(path)
    details = [table.details(name) for name in table.columns]
    return propose(details, lambda names: table.group_sizes(names).tolist())


def _column(folder: Path, name: str, values: tuple[str, ...]) -> ColumnProposal:
    people = {"age": tuple(map(str, range(20, 70))), "sex": ("m", "f")}
    return _proposal(folder, {name: values, **people}).columns[0]


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("Wagen", ("S-MX 4411", "S-AB 12", "M-KL 999")),
        ("plat", ("B 1234 XYZ", "D 77 AB", "F 1234 QQ")),
    ],
)
def test_plates_are_left_out_whatever_the_name_says_of_money(tmp_path, name, values):
    """Codes of which ten thousand could be given tell things apart, though many rows share each."""
    assert _column(tmp_path, name, values).role in {"drop", "identifier"}


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("pay_ref", ("PX-AA1", "PX-BC2", "PX-ZZ9")),
        ("taxi", ("B-TX 100", "B-TX 220", "B-TX 301")),
        ("price_list", ("QX81A", "QX77B", "QX60C")),
    ],
)
def test_money_is_told_by_numbers_and_not_by_a_name_alone(tmp_path, name, values):
    """Codes under a name that holds "wage", "pay" or "price" are never shown as amounts are."""
    assert _column(tmp_path, name, values).role != "sensitive"


@pytest.mark.parametrize("values", [("x" * 2000,), ("x" * 2000, "y", "z")])
def test_long_texts_are_left_out_also_where_all_rows_share_them(tmp_path, values):
    """A text of thousands of letters may hold anything, and is no name of a group."""
    assert _column(tmp_path, "level", values).role == "drop"


@pytest.mark.parametrize(
    "values",
    [
        ("<=50K", ">50K"),
        ("under 10.000 €", "10.000 - 20.000 €", "über 20.000 €"),
        ("low", "medium", "high"),
        ("1 200,50 zł", "980,00 zł", "2 011,10 zł"),
    ],
)
def test_bands_and_ranks_of_money_are_money(tmp_path, values):
    """Ranges, ranks and numbers with a currency stand for amounts, in texts, too."""
    assert _column(tmp_path, "income", values).role == "sensitive"


@pytest.mark.parametrize(
    "name", ["learner", "Wagen", "interval", "costume", "taxon", "charger", "warden", "therapist"]
)
def test_names_mean_something_by_words_and_not_by_parts_of_them(name):
    """Learning is not earning, a warden no ward, a therapist no therapy."""
    meaning = meaning_of(name)
    assert meaning is None or meaning.reason.startswith("a number")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("Tuki €/kk", "money"),
        ("Допомога, грн", "money"),
        ("cash_kes", "money"),
        ("₹ refunded", "money"),
        ("ค่าบริการ (บาท)", "money"),
        ("Na mmol/l", "health"),
        ("X (mg/dL)", "health"),
        ("RR syst mmHg", "health"),
    ],
)
def test_a_unit_tells_what_a_name_does_not(name, reason):
    """A currency is money in any language; concentrations and pressures are of blood."""
    meaning = meaning_of(name)
    assert meaning is not None
    assert meaning.role == "sensitive"
    assert meaning.reason.startswith(reason)


@pytest.mark.parametrize("name", ["hourly_wage", "incwage", "PEARNVAL", "Stundenlohn", "costs"])
def test_compounds_of_money_are_still_money(name):
    """As surveys and payrolls write them."""
    meaning = meaning_of(name)
    assert meaning is not None
    assert meaning.reason.startswith("money")


LEFT_OUT = {
    "full names": ("Tan Wei Ming", "Lim Soo Chin", "Goh Kah Hui"),
    "capitals": ("TAN WEI MING", "LIM SOO CHIN"),
    "names behind a title": ("Case worker K. Obi", "Case worker L. Mensah", "Case worker P. Adu"),
    "first names": ("Sokha", "Dara", "Bopha", "Sovann"),
    "plots": ("Plot 7 Moi Ave", "Plot 12 Kenyatta Rd", "Plot 9 Uhuru Hwy"),
    "flats": ("Flat 3 Elm Court", "Flat 9 Oak House", "Flat 1 Ash Lodge"),
    "houses": ("Hse 44 Kileleshwa", "Hse 3 Karen", "Hse 19 Lavington"),
    "one street": tuple(f"Am Anger {n}" for n in range(1, 61)),
    "accounts": ("20-00-00 55779911", "20-11-00 12345678", "40-00-01 87654321"),
    "coarse coordinates": ("52.53,13.41", "52.50,13.38", "52.49,13.45"),
    "geohashes": ("u33dbc", "u33dbd", "u33d9z", "u33dc1"),
    "words of a place": ("daring.lion.race", "filled.count.soap", "index.home.raft"),
    "crews": ("Odhiambo/Wekesa", "Kamau/Otieno", "Mutua/Njeri"),
    "remarks": ("my boss Karen", "the bus 12", "nothing", "Dr Patel"),
    "postcodes of few houses": ("12345-6789", "12345-6790", "12346-0001"),
    "plates": ("B 1234 XYZ", "D 77 AB", "F 1234 QQ"),
}


@pytest.mark.parametrize("what", LEFT_OUT)
def test_what_tells_persons_homes_and_places_by_its_form_gets_no_role(tmp_path, what):
    """Three different values in 400 rows are enough: only a role by hand publishes them."""
    column = _column(tmp_path, "zz", LEFT_OUT[what])
    assert column.role in {"drop", "identifier"}
    assert column.role == "identifier" or column.question


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("zz", ("Never Married", "Divorced", "Widowed", "Married")),
        ("zz", ("Rot", "Blau", "Grün", "Gelb")),
        ("zz", ("Ward12", "Ward13", "Ward14")),
        ("zz", ("2019Q1", "2019Q2", "2019Q3")),
        ("zz", ("Lundi", "Mardi", "Jeudi", "Vendredi")),
        ("Dział", ("Kadry", "Logistyka", "Produkcja")),
        ("Stanowisko", ("Spawacz", "Kierownik zmiany", "Magazynier")),
        ("barrio", ("Lavapiés", "Chamberí", "Tetuán", "Retiro")),
        ("CC", ("Chest Pain", "Back Pain", "Fever", "Abdominal Pain")),
    ],
)
def test_groups_are_told_by_their_words_or_by_the_name(tmp_path, name, values):
    """Words of groups in many languages are no names of persons."""
    assert _column(tmp_path, name, values).role in {"quasi", "sensitive"}


@pytest.mark.parametrize("name", ["izen", "izena", "abizen", "deitura"])
def test_basque_names_are_names(name):
    """The first name like the family name, by the name of the column alone."""
    found = recognised(ColumnLook(name, "text", 900, 40, ("Aitor", "Ane")))
    assert found is not None
    assert found.key == "person-name"


def _metres(low: float, high: float, decimals: int = 0) -> tuple[str, ...]:
    draw = random.Random(low)
    return tuple(f"{draw.uniform(low, high):.{decimals}f}" for _ in range(5_000))


@pytest.mark.parametrize(
    ("names", "east", "north"),
    [
        (("RW", "HW"), (3.45e6, 3.46e6), (5.40e6, 5.41e6)),
        (("easting", "northing"), (3e5, 3.1e5), (2e5, 2.1e5)),
        (("X_UTM", "Y_UTM"), (3.8e5, 3.9e5), (5.81e6, 5.82e6)),
        (("x", "y"), (6.5e5, 6.6e5), (6.86e6, 6.87e6)),
        (("RD_X", "RD_Y"), (1.2e5, 1.3e5), (4.8e5, 4.9e5)),
        (("E", "N"), (2.60e6, 2.61e6), (1.20e6, 1.21e6)),
        (("zz", "qq"), (2.60e6, 2.61e6), (1.20e6, 1.21e6)),
        (("m1", "m2"), (1.48e6, 1.49e6), (6.89e6, 6.90e6)),
    ],
)
@pytest.mark.parametrize("decimals", [0, 2])
def test_metres_of_grids_are_positions_and_no_numbers_of_records(
    tmp_path, names, east, north, decimals
):
    """By their names, or as neighbours in the area of one grid: asked about, and no person."""
    first, second = names
    columns = {
        first: _metres(*east, decimals),
        second: _metres(*north, decimals),
        "Typ": ("EFH", "MFH"),
    }
    text = plan_text(_proposal(tmp_path, columns), "houses.csv")
    roles = tomllib.loads(text)["roles"]
    assert not {first, second} & {name for listed in roles.values() for name in listed}
    asked = {one.column for one in open_questions(text) if "somebody was" in one.text}
    assert {first, second} <= asked
    assert "person = " not in text


def test_sentences_of_a_receiver_are_positions_of_trips(tmp_path):
    """They hold places and times themselves: no method is proposed, and the question is asked."""
    draw = random.Random(1)
    said = tuple(
        f"$GPRMC,12{n:04},A,4807.{draw.randint(100, 999)},N,01131.{n:03},E,022.4,084.4,230394,,*6A"
        for n in range(300)
    )
    columns = {"sentence": said, "unit": ("V12", "V13"), "fuel": tuple(map(str, range(50)))}
    text = plan_text(_proposal(tmp_path, columns), "nmea.csv")
    assert "method" not in tomllib.loads(text)
    assert any(one.text.startswith("trips:") for one in open_questions(text))


def test_rows_of_one_vehicle_may_be_a_persons(tmp_path):
    """Plates that repeat are asked about, as numbers of customers are."""
    columns = {"unit": ("V12", "V13", "T-9"), "fuel": ("10", "20", "30")}
    text = plan_text(_proposal(tmp_path, columns), "fuel.csv")
    assert any(one.column == "unit" and "person" in one.text for one in open_questions(text))


@pytest.mark.parametrize(
    ("values", "key"),
    [
        (("1-2345-67890-12-1", "3-1111-22222-33-4", "5-1009-00123-45-6"), "national-id"),
        (("20-00-00 55779911", "20-11-00 12345678", "40-00-01 87654321"), "account"),
        (("4929 1234 5678 9012", "5412 7512 3412 3456", "4929 0000 1111 2222"), "account"),
        (("52.53 13.41", "52.50 13.38", "52.49 13.45"), "position"),
        (("030 1234567", "0341 998877", "040 7654321"), "telephone"),
    ],
)
def test_the_reason_is_what_the_numbers_are(values, key):
    """What is written more strictly comes before telephone numbers, which are written freely."""
    many = tuple(values[n % 3][:-1] + str(n % 10) for n in range(60))
    found = recognised(ColumnLook("zz", "text", 900, 60, many))
    assert found is not None
    assert found.key == key


def test_thai_numbers_have_their_check_digit():
    """One of the ten last digits passes."""
    assert [digit for digit in "0123456789" if CHECKS["thai"](f"123454567878{digit}")] == ["1"]


def test_a_refusal_prints_names_of_any_script_as_they_are():
    """``person = "Клиент"`` can be copied into the plan."""
    plan = parse_plan({"roles": {"identifiers": ["Клиент"], "quasi_identifiers": ["a"]}})
    with pytest.raises(PlanError, match='say person = "Клиент" in'):
        refuse_repeating(plan, "Клиент", Occurrences(10, 5, 2))


def _degrees(start: int) -> tuple[str, ...]:
    return tuple(str(start + 977 * number) for number in range(40))


@pytest.mark.parametrize(
    ("latitude", "longitude"),
    [("lat", "lon"), ("lat7", "lon7"), ("lat_1e7", "lon_1e7"), ("a", "b")],
)
def test_degrees_times_a_power_of_ten_are_positions(tmp_path, latitude, longitude):
    """Whole numbers of degrees are no wages and no counts, with names that say so or without."""
    columns = {
        latitude: _degrees(601_700_113),
        longitude: _degrees(249_400_117),
        "seen": ("2024-05-01T08:00:00", "2024-05-01T08:01:00"),
    }
    proposal = _proposal(tmp_path, columns)
    assert [one.is_position for one in proposal.columns[:2]] == [True, True]
    assert {one.role for one in proposal.columns[:2]} == {"drop"}


@pytest.mark.parametrize(
    ("name", "values"),
    [("Lon (m)", _degrees(386_358)), ("lon7", _degrees(115_225_913)), ("dx", ("3.1", "-8.7"))],
)
def test_an_axis_alone_is_a_position(tmp_path, name, values):
    """A longitude in metres or without a latitude; a displacement beside its other axis."""
    other = {"dy": ("9.7", "101.2")} if name == "dx" else {"sex": ("m", "f")}
    assert _proposal(tmp_path, {name: values, **other}).columns[0].is_position


@pytest.mark.parametrize(("name", "money"), [("løn", True), ("lön", True), ("lon", False)])
def test_wages_are_told_from_longitudes_by_their_letter(name, money):
    """Only the Danish and the Swedish word with its own vowel is one of money."""
    meaning = meaning_of(name)
    assert (meaning is not None and meaning.reason.startswith("money")) is money


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("Gehaltskto", ("1200 3344 55", "4711 0999 10", "4711 0815 22")),
        ("Lønnr", ("40266", "40259", "40217")),
        ("salary account", ("1200334455", "4711081522")),
        ("salary", ("0451000222333", "0071000123456")),
        ("income", ("97908283041", "28702105489", "41323787202")),
    ],
)
def test_accounts_and_numbers_of_persons_are_no_money(tmp_path, name, values):
    """A word of accounts in the name, or figures that no amount has, however few they are."""
    assert _column(tmp_path, name, values).role in {"drop", "identifier"}


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("salary", ("30137", "45210", "28900")),
        ("account balance", ("1200.50", "-310.00", "15000.25")),
        ("gaji", ("112000000", "115000000", "118000000")),
        ("income", ("1 200 300", "980 000", "2 011 100")),
    ],
)
def test_amounts_stay_amounts(tmp_path, name, values):
    """Of equal length, on accounts, in currencies of small units, with thousands apart."""
    assert _column(tmp_path, name, values).role == "sensitive"


FORM_BEATS_NAME = {
    "members": ("강*민", "김*수", "이*영"),
    "kind": ("王*明", "李**", "张*"),
    "class": ("4a Mäkelä", "Flow w/ Ben Carter", "Ayşe hoca", "4b"),
    "course": ("Piano (T. Niemi)", "Judo - Sensei Watanabe", "Yoga"),
    "curso": ("Violino c/ Ana Reis", "Piano c/ Rui Mendes"),
    "group": ("chez M. Traoré", "kwa Juma", "A", "B"),
    "groep": ("meester Jan", "juf Marieke"),
    "Lớp": ("Cô Hạnh", "Thầy Minh"),
    "csoport": ("Szabó János", "Kis Borbála"),
    "Группа": ("Иванова Л.П.", "Петрова Д.Л."),
    "クラス": ("山本先生", "中村先生"),
    "team": ("Team Öztürk", "Team Meyer", "Team Schulz"),
    "diagnosis": ("flu", "gout", "cold", "asthma, see Korhonen", "call 040 1234567"),
    "dx": ("case 44718", "case 44711"),
    "status": ("JKL-456", "ABC-123", "XYZ-987"),
    "type": ("45-AB-12", "88-XZ-90"),
    "tipo": ("1234-BCD", "9012-JKL"),
    "category": ("sk@paytm", "other"),
    "statut": ("@matti_v", "suivi par Fatou"),
    "occupation": ("farmer at 60.1721,24.9410", "farmer"),
    "village": ("JO89WI12", "Mama Njeri", "Porvoo"),
    "place": ("Mäkelän talo", "Virtasen tila"),
    "tila": ("385012/6672341", "386450/6673555"),
    "luokka": ("38-27.03 23-57.18", "38-26.77 23-58.93"),
    "road type": ("Km12+350", "Km12+780"),
    "nationality": ("Jones, P.", "Smith, A."),
    "education": ("Jones", "Patel"),
    "Colour": ("dog of Mrs Smith", "brown", "black"),
    "teams": ("c/o Brown", "Mr White", "K. Green"),
    "state status": ("on leave (tel 555-0123)", "active"),
    "diagnosis text": ("flu", "broken arm - Tom Baker"),
    "degree": ("BSc", "ask Maria", "MSc"),
    "color": ("red", "Anna's car"),
    "ward": ("bed 12 Johnson", "bed 14 Davies"),
    "rank": ("Sgt. Miller", "Cpl. Jones"),
    "municipality": ("Main Street 12", "Oslo"),
    "subcategory": ("4471123", "4471290", "4471377"),
    "weight": ("6673555", "6672341", "6671007"),
    "team lead": ("liisa", "matti"),
    "dx by": ("okello", "lind"),
}


@pytest.mark.parametrize("name", FORM_BEATS_NAME)
def test_the_form_of_values_wins_over_a_name_that_means_groups(tmp_path, name):
    """Names, numbers, plates, accounts and places under "class" or "type", and be it one value."""
    column = _column(tmp_path, name, FORM_BEATS_NAME[name])
    assert column.role in {"drop", "identifier"}
    assert column.question or column.role == "identifier" or column.recognition


STILL_GROUPS = {
    "level": ("BSc", "MSc", "PhD"),
    "result": ("A*", "A", "B", "C"),
    "solution": ("NaCl", "KCl", "none"),
    "occupation": ("Software Engineer", "Nurse Practitioner", "Sr. Analyst", "Truck Driver"),
    "diagnosis": ("Type 2 Diabetes", "Hepatitis B", "COVID-19", "E. coli infection"),
    "diagnose": ("Schmerz bei Belastung", "Husten", "Fieber"),
    "nationality": ("S. Korea", "U.S.", "New Zealand", "Côte d'Ivoire"),
    "town": ("San Jose", "Santa Maria", "St. Gallen", "Jackson", "L'Aquila"),
    "city": ("10115 Berlin", "80331 München"),
    "education": ("B. Sc.", "PhD", "High School", "Some-college"),
    "course": ("Math 101", "Intro to Biology", "CS50"),
    "class": ("4a", "5.b", "10A"),
    "category": ("Home & Garden", "Toys (Kids)", "Books/Music"),
    "Luokka": ("Ensimmäinen", "Toinen", "Kolmas"),
    "product type": ("F-150", "A320", "T1"),
    "tax_no_children": ("120", "140", "155"),
    "head of household": ("Yes", "No"),
}


@pytest.mark.parametrize("name", STILL_GROUPS)
def test_names_of_groups_are_not_taken_for_those_of_persons(tmp_path, name):
    """Trades, illnesses, towns called after saints, degrees and classes keep their roles."""
    assert _column(tmp_path, name, STILL_GROUPS[name]).role in {"quasi", "sensitive"}


@pytest.mark.parametrize(
    "values",
    [
        ("B/0034", "B/0112", "B/0077"),
        ("91-9876-5432-1098", "91-1122-3344-5566"),
        ("103", "7/a", "12"),
        ("شارع النخيل ٨", "شارع الملك ١٢"),
        ("38-25.98 23-59.50", "38-27.03 23-57.18"),
        ("2601789", "2600123", "2601543"),
        ("near 35VLG8599071007", "near 35VLG8501272341"),
        ("ravi.k@okaxis", "sk@paytm"),
        ("_p~iF~ps|U", "_mqNvxq`@"),
        ("tom", "ben"),
    ],
)
def test_an_answer_to_all_questions_publishes_no_codes_and_homes(tmp_path, values):
    """Few codes, numbers of rooms, homes and places of an unknown name get no role."""
    assert _column(tmp_path, "zzq", values).role in {"drop", "identifier"}


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("医師名", ("三浦\u3000哲", "大西\u3000真理")),
        ("INVNAM", ("Halvorsen", "Abara", "Iturbe", "Belmonte", "Wrzesień")),
        ("auth_user", ("-", "rosieq63", "jmhollis94", "tomasz.b95", "annaq12", "kbo3")),
        ("Табельный №", tuple(map(str, range(4100, 4236, 17)))),
        ("Путевой лист", tuple(f"ПЛ-{number}" for number in range(2300, 2308))),
        ("अधिकारी", ("सुरेश चौबे", "महेश रावत", "अजय द्विवेदी", "दिनेश राठौर")),
        ("前台", ("A03", "陈姐", "小李", "小王")),
        ("Os_č", tuple(map(str, range(2195, 2995, 20)))),
        ("zq", tuple(str(400_100 + 3 * n // 2) for n in range(40))),
        ("พยาบาล", ("อรอุมา", "วรรณา", "จินตนา")),
        ("কর্মী", ("নাসরিন", "রফিকুল", "সঞ্জয় পাল")),
        ("Χειριστής", ("eleni2", "kostas")),
        ("zq", ("адв. Ангеловски", "адв. Илиевски", "адв. Богдановски", "адв. Трајковски")),
        ("Есепші", ("acc_gulnar", "acc_zhanat")),
        ("Endret av", ("kjhan", "mona", "bergl", "olsto")),
        ("zq", ("ΔΗΜΟΠΟΥΛΟΣ ΑΘ.", "ΓΙΑΝΝΑΚΟΥ ΚΩΝ.", "ΡΑΠΤΗ ΣΟΦ.", "ΛΑΣΚΑΡΙΔΗΣ ΑΘ.")),
        ("zq", ("22.162.225", "21.548.804", "29.543.329", "24.332.042", "23.995.805")),
    ],
)
def test_names_and_numbers_of_staff_are_left_out_however_few(tmp_path, name, values):
    """Each stands in many rows, and tells one person all the same."""
    assert _column(tmp_path, name, values).role in {"drop", "identifier", "person"}


HARMLESS = {
    "MT_RC": ("0,0", "5,42", "10,98", "4,84", "6,57", "12,35", "7,1"),
    "LIB_ACTE": ("Pharmacie 65%", "Consultation généraliste", "Biologie", "Kinésithérapie"),
    "ESITO_BRC": ("NEG", "N.E.", "DUB"),
    "Прошивка": ("03.27.10", "03.27.07"),
    "펌웨어": ("R900XXU1BWB3", "R220XXU0AVE1", "1.20.3.1"),
    "운동종목": ("걷기", "달리기", "자전거", "수영"),
    "शौचालय": ("आहे", "नाही"),
    "区县": ("西湖区", "鄞州区", "武侯区", "浦东新区", "姑苏区", "南山区", "余杭区"),
    "支付方式": ("微信", "支付宝", "银行卡"),
    "kit_lot": ("05CDG031A", "05CDG044B"),
    "curs_eur": tuple(f"4.9{number}" for number in range(325, 365)),
}


@pytest.mark.parametrize("name", HARMLESS)
def test_amounts_versions_lots_and_words_without_capitals_keep_their_roles(tmp_path, name):
    """No number of a person has decimals, no initials stand in scripts without capitals."""
    assert _column(tmp_path, name, HARMLESS[name]).role not in {"drop", "identifier"}


def test_groups_called_after_persons_of_another_column_are_left_out(tmp_path):
    """No list has the name; the column of titles beside it tells that it is one."""
    columns = {"Klasse": ("Frau Stalden", "Herr Zumbrunn"), "Gruppe": ("Stalden", "Zumbrunn")}
    assert {one.role for one in _proposal(tmp_path, columns).columns} <= {"drop", "identifier"}


@pytest.mark.parametrize("least", [0.05, 0.1, 0.5, 0.6, 0.8, 1.0])
@pytest.mark.parametrize("texts", [0, 1, 7, 30])
def test_a_share_is_told_before_all_texts_are_asked(texts: int, least: float) -> None:
    """The answer is that of the whole share, wherever the texts stand of which it holds."""
    draw = random.Random(texts)
    for holding in range(texts + 1):
        held = ["a"] * holding + ["b"] * (texts - holding)
        draw.shuffle(held)
        expected = share_of(held, "a".__eq__) >= least
        assert _holds_of(held, "a".__eq__, least) == expected


@pytest.mark.parametrize("form", [one for each in listed_recognisers() for one in each.formats])
def test_a_text_that_holds_a_format_has_the_signs_that_are_asked_for_first(form):
    """No text is passed over for want of a sign, whatever it holds."""

    @given(st.from_regex(form, fullmatch=True), st.text(max_size=3))
    def has_signs(held, beside):
        assert _may_hold(held)
        assert _may_hold(f"{beside} {held} {beside}")

    has_signs()


def test_words_and_short_codes_have_no_signs_of_a_format():
    words = ("Adm-clerical", "Priv-house-serv", "Zürich West", "", "00023", "ward 12", "12/7")
    assert not any(map(_may_hold, words))


@pytest.mark.parametrize(
    ("values", "listed"),
    [
        (("E01011208", "E01011238", "W01000412", "S12000033"), ("areas", "quasi")),
        (("SBIN0001234", "HDFC0000005", "ICIC0006789", "PUNB0123400"), ("banks", "quasi")),
        (("4006381333931", "96385074", "036000291452", "5901234123457", "9780306406157"),
         ("trade items", "quasi")),
        (("73211009", "38341003", "195967001", "22298006", "44054006"), ("findings", "sensitive")),
        (("4006381333932", "96385074", "036000291452", "5901234123457", "9780306406157"), None),
        (("73211008", "38341003", "195967001", "22298006", "44054006"), None),
        (("E01011208", "E01011238", "W01000412", "PX-881"), None),
    ],
)  # fmt: skip
def test_codes_of_public_lists_tell_nobody(values, listed):
    """By form or check digit; one that does not fit refuses all."""
    found = told_by_form(values)
    assert (found is None) == (listed is None)
    if found and listed:
        assert listed[0] in found[0]
        assert found[1] == listed[1]


def test_a_code_of_an_area_is_published_in_groups(tmp_path):
    """Though it looks like a number of something, as numbers of records do."""
    areas = tuple(f"E0101{n}" for n in range(1200, 1230))
    assert _column(tmp_path, "lsoa_code", areas).role == "quasi"
    numbers = tuple(f"E0101{n}7" for n in range(1200, 1230))
    assert _column(tmp_path, "lsoa_code", numbers).role != "quasi"


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("zz", ("AJ-104", "AJ-117", "AJ-121", "AJ-133")),
        ("zz", ("E201-c", "E202-a", "E203-b", "E207-b")),
        ("zz", tuple(f"T{n}" for n in (1147, 2133, 2822, 3486, 3507, 7604))),
        ("zz", ("ГВас", "ГХри", "ДПоп", "ДИли", "ИМар")),
        ("zz", ("bau", "buc", "gec", "grb", "hum", "meb")),
        ("zz", ("alinc", "antoc", "antor", "carll", "maric", "pauln")),
        ("zz", ("KKO ", "HNO", "HWI", "KKO", "PMA", "PWO")),
        ("halsb. nr", tuple(map(str, range(32671, 38000, 411)))),
        ("navn", ("Bamse", "Bruna", "Frøya", "Gullhorn")),
        ("picker_id", ("P1", "P2", "P3", "P4", "P5")),
        ("zq", ("س.ط", "أ.س", "م.ع", "رائد حمدان")),
        ("zq", ("დ.ფ., ლ.ჩ.", "დ.ფ., ბ.მ.", "გ. ხერგიანი, დ.ფ.")),
        ("Igienista", ("GZ", "Sara", "MP")),
        ("zq", ("GZ", "Sara", "MP", "Sofie")),
        ("zq", ("Katrijn VdB", "Els", "Sofie", "LV")),
        ("zq", ("MP", "SK", "JT", "AnaB", "ZB")),
        ("assignee", ("estanley_hq", "wromero42", "brendanewman", "robyn7442", "jmccoy-dev")),
        ("laivas", ("Neringa II", "Stintos", "Audra", "LINA")),
        ("provider_id", ("3011", "3190", "3027")),
        ("ZEMIS-Nr", tuple(f"1{n:07}.{n % 9}" for n in range(1_000_000, 9_000_000, 99))),
    ],
)
def test_codes_of_few_of_the_staff_are_left_out_whatever_they_are_called(tmp_path, name, values):
    """One office's numbers, beginnings of names and logins point at one person each."""
    assert _column(tmp_path, name, values).role in {"drop", "identifier"}


@pytest.mark.parametrize(
    "values",
    [
        ("AA", "BA", "BB", "CB", "CC", "DD", "FF"),
        ("T100", "T200", "T300", "T400"),
        ("single", "shared", "double", "vacant", "family", "closed"),
        ("L19", "M20", "Z44"),
    ],
)
def test_marks_tariffs_and_words_of_groups_are_no_codes_of_persons(tmp_path, values):
    """Letters of marks, hundreds behind a letter, and words of one length that are known."""
    assert _column(tmp_path, "zz", values).role in {"quasi", "sensitive"}


@pytest.mark.parametrize("unit", ["{}", "{} ans", "~{}"])
def test_ages_beside_a_unit_are_ages(tmp_path, unit):
    """Some of them are written with it, and some without."""
    values = tuple((unit if n % 2 else "{}").format(n) for n in range(18, 90))
    found = _column(tmp_path, "Age", values)
    assert (found.role, found.why) == ("quasi", "an age, which others know")


def test_a_constant_number_is_nobodys(tmp_path):
    """A check digit of one number is right by chance; no person is told by what all rows share."""
    assert _column(tmp_path, "zq", ("1701421800",)).role not in {"person", "identifier"}


def test_codes_of_missing_values_are_told_among_decimals(tmp_path):
    """A weight of 999 among decimals is none, as one among whole numbers; -5 may be a measure."""
    weights = tuple(f"{n}.5" for n in range(45, 120))
    assert "999" in _proposal(tmp_path, {"weight": (*weights, "999")}).marks
    assert not _proposal(tmp_path, {"degrees": (*weights, "-9.0", "-8.0")}).marks


@pytest.mark.parametrize("name", ["lok", "nr_lok", "דירה", "num_int"])
def test_numbers_of_flats_are_addresses_beside_a_street_alone(tmp_path, name):
    """The same name without a street beside it may be anything."""
    flats, streets = tuple(map(str, range(1, 31))), ("Dobra 1", "Polna 7", "Lipowa 3")
    beside = _proposal(tmp_path, {name: flats, "street": streets}).columns[0]
    assert beside.role == "identifier"
    assert _column(tmp_path, name, flats).role != "identifier"


def test_not_stated_in_the_language_of_the_file_is_a_missing_value(tmp_path):
    """Marks are "bd." and "не указано" wherever they stand; "brak", none, is an answer."""
    places = ("Lublin", "Opole", "Sopot")
    columns = {"miasto": (*places, "bd."), "город": (*places, "не указано")}
    proposal = _proposal(tmp_path, {**columns, "nauka": ("brak", "studia", "liceum")})
    missing = {one.name: one.details.profile.missing > 0 for one in proposal.columns}
    assert missing == {"miasto": True, "город": True, "nauka": False}


@pytest.mark.parametrize("text", ["#NV", "#DIV/0!", "нет данных", " NA "])
def test_errors_of_a_spreadsheet_are_usual_marks_as_words_are(text):
    """Who asks for one text is told the same as who looks at a column."""
    assert is_usual_mark(text)
    assert not is_usual_mark("#1")


def test_grades_are_sensitive_and_groups_of_blood_no_grades(tmp_path) -> None:
    """Whatever the column is called, letters with signs of both kinds are results of schools."""
    grades = ("A", "A-", "B+", "B", "B-", "C+", "C", "D", "E")
    told = _column(tmp_path, "KIS", grades)
    assert (told.role, told.why) == ("sensitive", "grades, by their letters")
    assert "grades" not in _column(tmp_path, "zz", ("A+", "A-", "B+", "B-", "O+", "AB-")).why
    assert "grades" not in _column(tmp_path, "zz", ("A+", "A", "B", "C", "D")).why


def test_lengths_of_sentences_are_published(tmp_path) -> None:
    """Years and months are no codes of things, as those of plates and cards are."""
    spans = tuple(f"{years}Y {months:02}M" for years in range(1, 40) for months in (0, 6))
    assert _column(tmp_path, "sentence", spans).role == "sensitive"
    plates = tuple(f"{number}B {number % 9}X" for number in range(10, 90))
    assert _column(tmp_path, "sentence", plates).role in {"drop", "identifier"}


def test_streets_and_villages_with_numbers_are_addresses(tmp_path) -> None:
    """A town behind the number, days in names of streets, and villages without streets."""
    homes = [f"Hollého {number}, Sabinov" for number in range(1, 150)]
    homes += [f"Ul. 9. mája {number}, Sabinov" for number in range(1, 150)]
    homes += [f"Ražňany {number}" for number in range(1, 150)]
    assert _column(tmp_path, "Trvalé bydlisko", tuple(homes)).role in {"drop", "identifier"}


def test_by_is_a_town_beside_a_postcode_only(tmp_path) -> None:
    """In Danish; elsewhere it says who did something."""
    towns = ("Horsens", "Hedensted", "Gedved", "Skanderborg", "Juelsminde")
    posted = _proposal(tmp_path, {"Postnr": ("8700", "7130", "8722"), "By": towns})
    assert (posted.columns[1].role, posted.columns[1].kind) == ("quasi", "geography")
    assert _column(tmp_path, "By", towns).role == "drop"
