"""Words of column names in many languages: what each language has, and what no word may be."""

from __future__ import annotations

import random
import tomllib
from collections import defaultdict
from importlib.resources import files
from pathlib import Path

import pytest

from voile.proposal.whole import propose
from voile.recognisers.recognition import listed_recognisers
from voile.schema.names import fits, meaning_of, without_accents, words_of, words_of_languages
from voile.table.profile import Inspected
from voile_testing.plugin import some_slow

FILES = ("direct", "staff", "quasi", "sensitive", "harmless")
FOLDER = files("voile.schema").joinpath("languages")
TABLES = [tomllib.loads(FOLDER.joinpath(f"{name}.toml").read_text("utf-8")) for name in FILES]
CONCEPTS = {
    concept: (meant, languages)
    for table in TABLES
    for meant, concepts in table.items()
    for concept, languages in concepts.items()
}
LANGUAGES = sorted({language for _, languages in CONCEPTS.values() for language in languages})
MEANINGS = tomllib.loads(files("voile.schema").joinpath("words.toml").read_text("utf-8"))["meaning"]
ROLES = {one["key"]: one["role"] for one in MEANINGS} | {"staff": "staff", "position": "position"}
CORE = [
    "name",
    "telephone",
    "address",
    "remarks",
    "age",
    "sex",
    "birth",
    "town",
    "occupation",
    "diagnosis",
    "income",
    "debt",
    "verdict",
    "grade",
    "doctor",
    "clerk",
    "price",
    "quantity",
    "treatment",
    "pay",
    "batch",
    "birthplace",
    "clinic",
]
AMBIGUOUS: dict[str, str] = {}
"""Words that may stand under two roles, and why."""


def test_every_language_has_a_word_for_each_core_concept() -> None:
    """Whatever the language, a table that holds a debt or a diagnosis says so in a known word."""
    missing = {
        concept: sorted(set(LANGUAGES) - set(CONCEPTS[concept][1]))
        for concept in CORE
        if set(LANGUAGES) - set(CONCEPTS[concept][1])
    }
    assert missing == {}
    assert len(LANGUAGES) > 85


def test_no_word_means_things_of_different_role() -> None:
    """A word that is a debt in one language and a place in another is in neither list."""
    roles: dict[str, set[str]] = defaultdict(set)
    for meant, languages in CONCEPTS.values():
        for line in languages.values():
            for word in line.split():
                roles[word.replace("*", "")].add(ROLES.get(meant, "identifier"))
    assert {word for word, found in roles.items() if len(found) > 1} == set(AMBIGUOUS)


def test_patterns_are_written_as_names_are_looked_up() -> None:
    """Small and without accents, three Latin letters or more: others would never fit, or too often.

    Words that a name is cut into may be shorter where another of the pattern is not.
    """
    for _, languages in CONCEPTS.values():
        for line in languages.values():
            for pattern in line.split():
                parts = [part.strip("*") for part in pattern.split("+")]
                assert all(without_accents(part).casefold() == part for part in parts), pattern
                assert not pattern.isascii() or max(map(len, parts)) > 2, pattern
                assert sum(map(len, parts)) > 1, pattern


def test_the_files_are_read_as_toml_is() -> None:
    """What the quick reader finds is what TOML says, and each table has a list that it adds to."""
    words: dict[str, list[str]] = defaultdict(list)
    for table in TABLES:
        for meant, concepts in table.items():
            for languages in concepts.values():
                words[meant] += [word for line in languages.values() for word in line.split()]
    assert words_of_languages() == {meant: tuple(found) for meant, found in words.items()}
    keys = {one.key for one in listed_recognisers()} | {one["key"] for one in MEANINGS}
    assert set(words) <= keys | {"staff"}


SAMPLE = [
    "sl",
    "mk",
    "bg",
    "uk",
    "be",
    "ro",
    "hu",
    "el",
    "tr",
    "az",
    "kk",
    "ky",
    "uz",
    "tk",
    "tg",
    "fa",
    "ku",
    "ar",
    "he",
    "ur",
    "hi",
    "bn",
    "pa",
    "gu",
    "mr",
    "ne",
    "ta",
    "te",
    "kn",
    "ml",
    "si",
    "my",
    "th",
    "lo",
    "km",
    "id",
    "tl",
    "zh",
    "ja",
    "ko",
    "mn",
    "ka",
    "hy",
    "sq",
    "et",
    "lv",
    "lt",
    "fi",
    "is",
    "fo",
    "ga",
    "cy",
    "eu",
    "ca",
    "sw",
    "ha",
    "am",
    "so",
    "rw",
]
EXPECTED = {
    "telephone": {"identifier", "person"},
    "address": {"identifier"},
    "age": {"quasi"},
    "birth": {"quasi"},
    "town": {"quasi"},
    "diagnosis": {"sensitive"},
    "income": {"sensitive"},
    "debt": {"sensitive"},
    "verdict": {"sensitive"},
    "remarks": {"drop"},
    "doctor": {"drop", "identifier"},
    "treatment": {"sensitive"},
    "pay": {"sensitive"},
    "batch": {"quasi"},
    "birthplace": {"quasi"},
    "clinic": {"quasi"},
}
FORMS = ("{}", "pat_{}", "{}_2", "{}1")


def _values(concept: str) -> list[str]:
    draw = random.Random(7)
    return {
        "telephone": [f"0{draw.randrange(10**8, 10**9)}" for _ in range(60)],
        "address": [f"Zk{n % 7} {n + 1}" for n in range(60)],
        "age": [str(18 + n) for n in range(60)],
        "birth": [str(1940 + n) for n in range(60)],
        "town": ["Alpa", "Beda", "Cuna", "Dora"],
        "diagnosis": ["A10", "B20", "C34", "E11"],
        "income": [str(700 + 37 * n) for n in range(60)],
        "debt": [str(90 + 41 * n) for n in range(60)],
        "verdict": ["a1", "b1", "c1"],
        "remarks": [f"qv zx{n} wk" for n in range(60)],
        "doctor": ["Aref Nuri", "Baka Sel", "Zed Omo", "Ivo Tan", "Uma Rik"],
        "treatment": ["t1", "t2", "t3"],
        "pay": [str(700 + 37 * n) for n in range(60)],
        "batch": [f"FK{1200 + 7 * n}" for n in range(12)],
        "birthplace": ["Alpa", "Beda", "Cuna", "Dora"],
        "clinic": ["Nord", "Mid", "Lake"],
    }[concept]


@pytest.mark.parametrize("language", some_slow(SAMPLE, SAMPLE[12:]))
def test_names_made_of_the_words_get_their_role(language: str, tmp_path: Path) -> None:
    """Alone, behind ``pat_`` and with a number: no sensitive column stays not understood."""
    draw = random.Random(11)
    columns: dict[str, tuple[str, list[str]]] = {"zz_q": ("", ["a", "b"])}
    for number, concept in enumerate(EXPECTED):
        words = CONCEPTS[concept][1][language].split()
        word = next((one for one in words if "+" not in one), words[0].replace("+", "_"))
        name = FORMS[number % len(FORMS)].format(word.replace("*", ""))
        columns[name] = (concept, _values(concept))
    lines = [";".join(columns)]
    lines += [";".join(draw.choice(one) for _, one in columns.values()) for _ in range(400)]
    path = tmp_path / "t.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    table = Inspected.of_file(path)
    found = propose([table.details(name) for name in table.columns]).columns
    wrong = {
        one.name: (columns[one.name][0], one.role, one.why)
        for one in found
        if one.name != "zz_q" and one.role not in EXPECTED[columns[one.name][0]]
    }
    assert wrong == {}


@pytest.mark.parametrize(
    "name",
    [
        *("created_at", "primary_key", "trigger_type", "warranty", "spouse_age", "biological_sex"),
        *("operator", "condominium", "moradia", "primaria", "language", "alat_analisis"),
        *("долгота", "rukovoditel", "اسم_الاب", "疫苗批号", "typ_zrazka", "laste_arv"),
        *("asilo_nido", "pleasure", "zaporedna_st", "pripomoček", "benämning"),
        *(
            "전체포함",
            "도서명",
            "수용인원",
            "収容人数",
            "مراجعة",
            "подписка",
            "uai_ecole",
            "palata_nr",
        ),
    ],
)
def test_words_that_look_like_sensitive_ones_stay_what_they_are(name: str) -> None:
    """What begins as a word of health, crime or money does, and is none, is not sensitive."""
    found = meaning_of(name)
    assert found is None or found.role != "sensitive"


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("digitado_por", "staff"),
        ("saisie_par", "staff"),
        ("arresting_officer", "staff"),
        ("dpjp", "staff"),
        ("录入员", "staff"),
        ("調査員", "staff"),
        ("rejestrował_inicjały", "staff"),
        ("registreret_af", "staff"),
        ("badge_no", "staff"),
        ("经手人2", "staff"),
        ("شماره_نشان", "staff"),
        ("numero_expediente", "record"),
        ("urkundenrolle", "record"),
        ("шифр_номер_дела", "record"),
        ("dosya_no", "record"),
        ("病历号", "record"),
    ],
)
def test_staff_and_numbers_of_records_are_told(name: str, key: str) -> None:
    """Who entered, examined or arrested, and what a deed or a case is numbered by."""
    assert fits(words_of_languages()[key], words_of(name))


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("pat_დიაგნოზი", "diagnosis"),
        ("患者诊断", "diagnosis"),
        ("月の収入", "money"),
        ("qarzSummasi", "money"),
        ("ລາຍໄດ້", "money"),
        ("ជំងឺ_1", "health"),
        ("daromad_uzs", "money"),
        ("රෝගය", "health"),
        ("presuda2", "belief"),
        ("дней_просрочки", "money"),
        ("要介護度区分", "health"),
        ("gradoDiscapacidad", "health"),
        ("smurtas_1", "belief"),
        ("godziny_nieusprawiedliwione", "result"),
        ("pressao_sistolica", "health"),
        ("kan_sekeri", "health"),
        ("лейкоциты", "health"),
        ("خضاب", "health"),
        ("শ্বাসকষ্ট_কাশি", "health"),
        ("出院方式", "health"),
        ("custody_level", "belief"),
        ("ceza_puani", "belief"),
        ("刑期", "belief"),
        ("fizyka", "result"),
        ("合計点", "result"),
        ("absences", "result"),
        ("भत्ता", "money"),
        ("days_past_due", "money"),
        ("motivo_rechazo", "reason"),
        ("alasan_cuti", "reason"),
        ("skł_emer", "money"),
        ("reste_a_charge", "money"),
        ("본인부담액", "money"),
        ("bodebelob", "money"),
        ("Audiometria_kHz", "health"),
        ("kuulokynnys", "health"),
        ("aesh_heures", "health"),
        ("phq9_total", "health"),
        ("rmssd_ms", "health"),
        ("睡眠段階", "health"),
        ("klassenrang", "result"),
        ("hegdunareinkunn", "result"),
        ("कक्षा_स्थान", "result"),
        ("type_oqtf", "belief"),
        ("在留資格", "belief"),
        ("stupeň_trestu_mesiace", "belief"),
        ("जेल_कारावास", "belief"),
        ("bettnr", "institution"),
        ("호실", "institution"),
        ("seniūnija", "place"),
        ("anrede", "category"),
    ],
)
def test_longer_names_are_understood(name: str, key: str) -> None:
    """Words of scripts without spaces are found within names, others between marks and capitals."""
    (meant,) = (one for one in MEANINGS if one["key"] == key)
    found = meaning_of(name)
    assert found is not None
    assert (found.role, found.reason) == (meant["role"], meant["reason"])
