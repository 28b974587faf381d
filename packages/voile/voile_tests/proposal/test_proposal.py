"""Proposed plans: what is told of columns, of whole tables, and in the file that is written."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path

import pytest
from click.testing import CliRunner

from voile.cli.plan import _plan_command
from voile.proposal.proposed import ColumnProposal
from voile.proposal.whole import Proposal, propose
from voile.proposal.writing import plan_text
from voile.publish.registry import METHODS
from voile.schema.names import meaning_of, named
from voile.schema.plan import read_plan
from voile.study.run import make_release
from voile.table.profile import Inspected
from voile_testing.plugin import ROOT

HERE = Path(__file__).parent
DATA = ROOT.parent / "shared" / "data"
TRUTH: Mapping[str, Mapping[str, str]] = tomllib.loads((HERE / "truth.toml").read_text("utf-8"))
NEVER_MISSED = {"identifier", "person", "household"}


def proposal_of(path: Path) -> Proposal:
    """What is proposed for the table of a file."""
    table = Inspected.of_file(path)
    return propose([table.details(column) for column in table.columns])


def _right(column: ColumnProposal, truth: str) -> bool:
    roles, kinds = truth.split(" ")
    return column.role in roles.split("|") and column.kind in kinds.split("|")


@pytest.mark.slow
@pytest.mark.parametrize("name", TRUTH)
def test_columns_of_real_tables_are_told_as_by_hand(name: str) -> None:
    """At least nine of ten columns have the role and kind that were written by hand before.

    No identifier, person or household is missed, whatever the share.
    """
    if not (DATA / name).exists():
        pytest.skip(f"{name} of the shared data is not here")
    proposal, truth = proposal_of(DATA / name), TRUTH[name]
    right = [column for column in proposal.columns if _right(column, truth[column.name])]
    wrong = {
        column.name: (column.role, column.kind, truth[column.name])
        for column in proposal.columns
        if column not in right
    }
    telling = {
        name for name, said in truth.items() if {*said.split(" ")[0].split("|")} <= NEVER_MISSED
    }
    missed = [c.name for c in proposal.columns if c.name in telling and c.role not in NEVER_MISSED]
    assert not missed
    assert 10 * len(right) >= 9 * len(proposal.columns), wrong


STAYS = """\
patient_nbr,stay_id,birth_date,zip,sex,ward,icd,note,income,follow_up,status_code
{rows}
"""


def _stays(folder: Path) -> Path:
    rows = [
        (
            f"{number // 2},{1000 + number},"
            f"{1 + number % 28:02}/{1 + number % 12:02}/{1950 + number % 40},{12345 + number}"
            f",{1 + number % 2},{number % 5},{(250 + number % 3)}.0{number % 10}"
            f",seen by doctor number {number} on the ward,{1000 + 37 * number},"
            f"{'?' if number % 7 == 0 else number % 4},{number % 3}"
        )
        for number in range(80)
    ]
    path = folder / "stays.csv"
    path.write_text(STAYS.format(rows="\n".join(rows)), encoding="utf-8")
    return path


def test_a_small_table_of_stays(tmp_path: Path) -> None:
    """Persons with several rows, an id, dates in another format, codes, free text and marks."""
    proposal = proposal_of(_stays(tmp_path))
    told = {column.name: (column.role, column.kind) for column in proposal.columns}
    assert told == {
        "patient_nbr": ("person", "code"),
        "stay_id": ("identifier", "code"),
        "birth_date": ("quasi", "date"),
        "zip": ("quasi", "geography"),
        "sex": ("quasi", "nominal"),
        "ward": ("quasi", "nominal"),
        "icd": ("sensitive", "code"),
        "note": ("drop", "text"),
        "income": ("sensitive", "number"),
        "follow_up": ("sensitive", "nominal"),
        "status_code": ("sensitive", "nominal"),
    }
    assert proposal.marks == ("?",)
    (birth,) = (column for column in proposal.columns if column.name == "birth_date")
    assert birth.date_format == "%d/%m/%Y"


def test_a_plan_is_read_as_it_was_proposed_and_holds_no_value(tmp_path: Path) -> None:
    """The text is a valid plan, with a reason behind every line and no value of the table."""
    text = plan_text(proposal_of(_stays(tmp_path)), "stays.csv")
    path = tmp_path / "plan.toml"
    path.write_text(text, encoding="utf-8")
    plan = read_plan(path)
    assert plan.roles.person == "patient_nbr"
    assert plan.roles.quasi_identifiers[:3] == ("birth_date", "zip", "sex")
    assert plan.columns["birth_date"].format == "%d/%m/%Y"
    assert plan.columns["sex"].kind == "nominal"
    assert plan.missing == ("?",)
    for line in text.splitlines():
        lone = not line or line.startswith(("#", "[")) or line == "]"
        assert lone or "  # " in line, line
    for private in ("1037", "doctor", "12345", "1950", "250.0"):
        assert private not in text


@pytest.mark.parametrize(
    ("latitude", "longitude", "asked"),
    [("latitude", "lng", True), ("Lat (deg)", "Lon_deg", True), ("lateness", "longest", False)],
)
def test_of_tables_with_places_it_is_asked_whether_they_are_trips(
    tmp_path: Path, latitude: str, longitude: str, asked: bool
) -> None:
    """Positions are left out, the question names methods for trips, and no other is proposed."""
    rows = [f"{48 + row / 997:.5f},{2 + row / 991:.5f},{row % 7}" for row in range(40)]
    file = tmp_path / "reports.csv"
    file.write_text("\n".join([f"{latitude},{longitude},trip", *rows]) + "\n")
    text = plan_text(proposal_of(file), file.name)
    assert ("# ? trips: " in text) is ("docs/methods/flows.md" in text) is asked
    assert ("method" in tomllib.loads(text)) is not asked


def test_names_alone_decide_nothing(tmp_path: Path) -> None:
    """A flag of patients is no person, and an age beyond 120 has no public bounds."""
    path = tmp_path / "odd.csv"
    rows = "\n".join(f"{n % 2},{200 + n},{n}" for n in range(50))
    path.write_text(f"patient,age,size\n{rows}\n", encoding="utf-8")
    patient, age, _ = proposal_of(path).columns
    assert patient.role != "person"
    assert (age.kind, age.bounds) == ("number", None)


def test_public_bounds_are_those_of_the_kind_and_not_of_the_data(tmp_path: Path) -> None:
    """Ages between 30 and 40 get the bounds that everybody knows."""
    path = tmp_path / "ages.csv"
    path.write_text("age\n" + "\n".join(map(str, range(30, 40))) + "\n", encoding="utf-8")
    (age,) = proposal_of(path).columns
    assert age.bounds == (Decimal(0), Decimal(120))


def test_a_mark_that_is_a_value_elsewhere_is_not_proposed(tmp_path: Path) -> None:
    """N among numbers may mean "not applicable", unless another column has it for "no"."""
    path = tmp_path / "marks.csv"
    rows = "\n".join(f"{'N' if n % 5 == 0 else n % 4},{'N' if n % 2 else 'Y'}" for n in range(40))
    path.write_text(f"children,married\n{rows}\n", encoding="utf-8")
    assert proposal_of(path).marks == ()
    path.write_text(path.read_text("utf-8").replace(",N", ",no"), encoding="utf-8")
    assert proposal_of(path).marks == ("N",)


def test_a_digit_that_stands_out_in_one_column_alone_may_be_a_count(tmp_path):
    """The household of nine stays one; in two columns 9 is a code, and the plan names both."""
    path = tmp_path / "t.csv"
    rows = [f"{1 + i % 6 if i % 40 else 9},{1 + i % 5 if i % 30 else 9}" for i in range(240)]
    one = "\n".join(["size,answer", *(f"{row[0]},{1 + i % 5}" for i, row in enumerate(rows))])
    path.write_text(one + "\n")
    assert proposal_of(path).marks == ()
    path.write_text("\n".join(["size,answer", *rows]) + "\n")
    proposal = proposal_of(path)
    assert proposal.marks == ("9",)
    assert '"9" in "size", "answer"' in plan_text(proposal, "t.csv")


@pytest.mark.parametrize(
    ("name", "whom"),
    [
        ("Patientennummer", "person"),
        ("PatientenID", "person"),
        ("Pat_Nr", "person"),
        ("Kundennummer", "person"),
        ("Versicherungsnummer", "person"),
        ("Haushaltsnummer", "household"),
        ("patientid", "person"),
        ("Hausnummer", None),
        ("personal_income", None),
        ("numéro_patient", "person"),
        ("N° d'assuré", "person"),
        ("id_salarié", "person"),
        ("Matricule", "person"),
        ("numero_menage", "household"),
        ("idPaciente", "person"),
        ("idcliente", "person"),
        ("numero_de_alumno", "person"),
        ("DNI", "person"),
        ("id_hogar", "household"),
        ("codice_paziente", "person"),
        ("Codice Assistito", "person"),
        ("codice_famiglia", "household"),
        ("código_do_utente", "person"),
        ("CPF", "person"),
        ("id_agregado", "household"),
        ("klantnummer", "person"),
        ("Persoonsnummer", "person"),
        ("BSN", "person"),
        ("huishoudnummer", "household"),
        ("numer_pacjenta", "person"),
        ("id_użytkownika", "person"),
        ("PESEL", "person"),
        ("nr_gospodarstwa", "household"),
        ("identifiant", "thing"),
        ("num_persons", None),
        ("numero_de_enfants", None),
        ("codigo_postal", None),
        ("code_postal", None),
        ("numero_diagnostics", None),
    ],
)
def test_names_of_ids_are_understood_where_words_grow_together(name, whom):
    """In one word, as German and Dutch write them, and the other way round, as others do."""
    assert named(name) == whom


@pytest.mark.parametrize(
    ("names", "role"),
    [
        (["Alter", "edad", "età", "idade", "leeftijd", "wiek"], "quasi"),
        (["Geschlecht", "sexe", "sexo", "sesso", "geslacht", "płeć"], "quasi"),
        (["Postleitzahl", "code_postal", "código_postal", "kod_pocztowy"], "quasi"),
        (["Gehalt", "salaire", "salario", "reddito", "renda", "inkomen", "dochód"], "sensitive"),
    ],
)
def test_what_everybody_asks_is_understood_in_several_languages(names, role):
    """An age, a sex, where somebody lives: others know them, in whatever language."""
    assert {name: meaning.role if (meaning := meaning_of(name)) else None for name in names} == (
        dict.fromkeys(names, role)
    )


def test_an_empty_text_between_quotes_is_a_missing_value(tmp_path: Path) -> None:
    """Nobody means by ``""`` a value that people share; beside numbers it leaves them numbers."""
    rows = "".join(
        f'{i % 5},"{("", "flu", "gout")[i % 3]}","{("", i % 7)[i % 2]}"\n' for i in range(60)
    )
    (tmp_path / "people.csv").write_text("ward,illness,visits\n" + rows)
    proposal = proposal_of(tmp_path / "people.csv")
    assert proposal.marks == ("",)
    assert [one.details.profile.missing for one in proposal.columns] == [0, 20, 30]
    assert proposal.columns[2].details.profile.type == "integer"


def test_an_order_that_is_not_known_is_no_open_question(tmp_path: Path) -> None:
    """Ranked texts are shown as they are or not at all without it: nobody is waited for."""
    rows = "".join(f"{i % 5},{('0-17', '18-64', '65+')[i % 3]}\n" for i in range(60))
    (tmp_path / "people.csv").write_text("ward,age_group\n" + rows)
    proposal = proposal_of(tmp_path / "people.csv")
    (ages,) = (one for one in proposal.columns if one.kind == "ordinal")
    assert ages.question is None
    assert "with order = [...], the lowest first" in plan_text(proposal, "people.csv")


SURVEY = "age,town,paid,seen\n" + "".join(
    f"{20 + i % 50},{('Yvoire', 'Zug', 'Xanten')[i % 3]},"
    f"{1000 + 37 * i}.5,2024-0{1 + i % 9}-1{i % 9}\n"
    for i in range(300)
)


@pytest.mark.parametrize("method", ["dp-synthesis", "dp-tables"])
def test_public_domains_are_proposed_where_they_are_known_and_asked_for_elsewhere(method, tmp_path):
    """Ages have one; towns, amounts and days are asked about, and none is read off.

    With the answers in place of the questions the plan is one that publishes.
    """
    file = tmp_path / "survey.csv"
    file.write_text(SURVEY, encoding="utf-8")
    proposed = METHODS.class_of(method).capabilities.proposal
    text = plan_text(proposal_of(file), file.name, proposed)
    asked = [line for line in text.splitlines() if "by what is publicly known" in line]
    assert [line.split('"')[1] for line in asked] == ["town", "paid", "seen"]
    for value in ("Yvoire", "Zug", "1037", "12060", "2024-"):
        assert value not in text
    for name, answer in (
        ("town", 'values = ["Zug", "other"]'),
        ("paid", "bounds = [0, 20000]\nedges = [5000, 10000]"),
        ("seen", 'edges = ["2024-01-01", "2024-12-31"]'),
    ):
        (line,) = (line for line in asked if f'"{name}"' in line)
        text = text.replace(line, answer)
    answered = "\n".join(line for line in text.splitlines() if not line.startswith("# ?"))
    plan = tmp_path / "plan.toml"
    plan.write_text(answered, encoding="utf-8")
    made = make_release(file, read_plan(plan), tmp_path / "out", seed=1)
    assert made.release.method["name"] == method


def test_a_proposal_for_other_methods_is_refused(tmp_path):
    """Those that can be proposed are named."""
    file = tmp_path / "survey.csv"
    file.write_text(SURVEY, encoding="utf-8")
    found = CliRunner().invoke(_plan_command, [f"{file}", "--out", "x.toml", "--method", "flows"])
    assert "one of dp-synthesis, dp-tables" in str(found.exception)


def _survey(folder: Path, head: str, line: Callable[[int], str]) -> str:
    """The plan that is proposed for 120 rows of a survey."""
    path = folder / "survey.csv"
    path.write_text("\n".join([head, *(line(number) for number in range(120))]), encoding="utf-8")
    return plan_text(proposal_of(path), path.name)


SURVEYS = {
    "local-suppression": (
        "sex,age,income,sampling_weight",
        lambda n: f"{'fm'[n % 2]},{20 + n % 50},{1000 + 37 * n},{80 + n % 3}",
    ),
    "microaggregation": ("age,height,income", lambda n: f"{20 + n % 50},{150 + n % 40},{37 * n}"),
}


@pytest.mark.parametrize("name", SURVEYS)
def test_a_method_that_fits_a_survey_is_proposed_beside_the_usual_one(
    name: str, tmp_path: Path
) -> None:
    """One commented name, which publishes with the same k where it takes the other's place."""
    text = _survey(tmp_path, *SURVEYS[name])
    (line,) = (line for line in text.splitlines() if line.startswith("# name = "))
    assert line.startswith(f'# name = "{name}"  # instead: ')
    chosen = text.replace(line, "").replace('name = "generalization"', f'name = "{name}"')
    (tmp_path / "plan.toml").write_text(_answered(chosen), encoding="utf-8")
    made = make_release(tmp_path / "survey.csv", read_plan(tmp_path / "plan.toml"), seed=1)
    assert made.release.rows == 120
    assert ("weight = " in text) is (name == "local-suppression")


@pytest.mark.parametrize("name", ["wt_pop", "wt_final", "pond", "peso_poblacion", "gew_hh"])
def test_a_short_name_of_a_survey_weight_is_told(name: str, tmp_path: Path) -> None:
    """It weighs rows where risk in the population is told, and is not published."""
    text = _survey(
        tmp_path, f"sex,age,{name}", lambda n: f"{'fm'[n % 2]},{20 + n % 50},{80 + n / 7:.2f}"
    )
    assert f'weight = "{name}"' in text
    assert f'"{name}",' not in text


@pytest.mark.parametrize(("low", "high"), [(80, 120), (0.5, 2), (1000, 3000)])
def test_one_word_for_weights_of_bodies_and_of_surveys_is_told_by_its_values(
    low: float, high: float, tmp_path: Path
):
    """A Polish "waga" of 80 kilograms is known to others; one of .5 or 3,000 weighs rows.

    One of .5 does not say how many people a row stands for, which the plan's ``weight`` does.
    """
    step = (high - low) / 60
    text = _survey(
        tmp_path,
        "sex,age,waga",
        lambda n: f"{'fm'[n % 2]},{20 + n % 50},{low + step * (n % 60):.1f}",
    )
    assert ('weight = "waga"' in text) is (low == 1000)
    assert ('"waga",' in text) is (low == 80)


def test_nothing_else_is_proposed_where_nothing_fits(tmp_path: Path) -> None:
    """Texts without weights; the weight of a person is none of a survey."""
    text = _survey(
        tmp_path, "sex,age,weight", lambda n: f"{'fm'[n % 2]},{20 + n % 50},{60 + n % 9}"
    )
    assert "# name = " not in text


def _answered(text: str) -> str:
    """A plan without its questions, each row being another person."""
    lines = (line for line in text.splitlines() if not line.startswith("# ?"))
    text = "\n".join(lines)
    return text if "person =" in text else text.replace("[roles]", '[roles]\nperson = "row"', 1)
