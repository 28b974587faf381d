"""Kinds: what the values of a column mean, and what no method may make of them."""

from __future__ import annotations

import json
import tomllib
from fnmatch import fnmatchcase
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import voile
from voile.schema.names import UNORDERED, fits, kind_of_numbered, named, type_of, words_of
from voile.schema.plan import ColumnPlan, parse_plan
from voile.table.opening import open_frame
from voile_base.errors import PlanError
from voile_base.values.toml import words_document

PEOPLE = pl.DataFrame(
    {
        "sex": [1, 2] * 6,
        "code": [10, 20, 30] * 4,
        "age": list(range(30, 42)),
        "illness": ["flu", "cold", "gout", "flu"] * 3,
    }
)


def _plan(kind: str | None, algorithm: str = "mondrian") -> voile.Plan:
    said = {"sex": {"kind": kind}, "code": {"kind": kind}} if kind else {}
    return parse_plan(
        {
            "roles": {"quasi_identifiers": ["sex", "code", "age"], "sensitive": ["illness"]},
            "columns": said,
            "method": {"name": "generalization", "k": 4, "algorithm": algorithm},
        }
    )


@pytest.mark.parametrize("kind", sorted(UNORDERED - {"text"}))
def test_digits_of_an_unordered_kind_are_texts(kind: str) -> None:
    """A code that looks like a number is bound as a text."""
    table = open_frame(PEOPLE, _plan(kind))
    (values,) = table.count_combinations(["sex"]).values
    assert values.texts == ("1", "2")
    assert values.numbers is None


def test_ordinal_values_are_read_as_the_file_says() -> None:
    """They may be numbers or texts."""
    assert type_of("ordinal") is None


@pytest.mark.parametrize("algorithm", ["mondrian", "flash"])
def test_a_nominal_code_is_never_published_as_an_interval(algorithm: str) -> None:
    """A column of a nominal kind is one column of the release, of its values and of ``*``."""
    plan = _plan("nominal", algorithm)
    release = voile.Generalization(k=4, algorithm=algorithm).publish(open_frame(PEOPLE, plan))
    published = release.to_native()
    assert {"sex", "code"} <= set(published.columns)
    assert not {"sex.low", "code.low"} & set(published.columns)
    assert set(published["code"].cast(pl.String)) <= {"10", "20", "30", "*"}


def test_free_text_is_no_quasi_identifier() -> None:
    """Free text is refused as a quasi-identifier, with the reason and the key."""
    with pytest.raises(PlanError, match=r'\[columns\.sex\] kind = "text": free text cannot be'):
        _plan("text")


def test_a_kind_that_contradicts_the_rest_is_refused() -> None:
    """A nominal column is no number and has no bounds."""
    with pytest.raises(PlanError, match='kind = "nominal" and type = "number" contradict'):
        ColumnPlan(kind="nominal", type="number")
    with pytest.raises(PlanError, match='no value of kind = "code" is one'):
        ColumnPlan(kind="code", bounds=(0, 5))
    with pytest.raises(PlanError, match=r"\[columns\.sex\] kind must be"):
        _plan("colour")


@given(
    st.lists(st.from_regex(r"[ab]{0,3}[*?]?[ab]{0,2}[*]?", fullmatch=True), max_size=6),
    st.lists(st.from_regex(r"[abc]{1,5}", fullmatch=True), max_size=3),
)
def test_names_fit_patterns_as_file_names_do(patterns: list[str], words: list[str]) -> None:
    """Patterns of one word, with ``*`` and ``?``, mean what they mean among files."""
    assert fits(patterns, words) == any(fnmatchcase(w, p) for w in words for p in patterns)


@given(
    st.lists(st.from_regex(r"[ab*]{1,3}(\+[ab?]{1,2}[*]?){1,2}", fullmatch=True), max_size=6),
    st.lists(st.from_regex(r"[abc]{1,5}", fullmatch=True), max_size=3),
)
def test_names_fit_patterns_of_several_words(patterns: list[str], words: list[str]) -> None:
    """All words of a pattern of several must stand in the name."""
    expected = (all(any(fnmatchcase(w, p) for w in words) for p in o.split("+")) for o in patterns)
    assert fits(patterns, words) == any(expected)


@pytest.mark.parametrize("pattern", ["ab*", "*cd", "*bxxx*", "ab*cd", "cd+*bx*", "*"])
def test_long_words_fit_patterns_too(pattern: str) -> None:
    """A word that has too many parts to look each of them up is held against each pattern."""
    assert fits([pattern], ["ab" + "x" * 100 + "cd", "cd"])
    assert not fits(["ab", "b*", "*c", "*abc*", "cx+ab*"], ["ab" + "x" * 100 + "cd", "cd"])


@pytest.mark.parametrize("name", ["schema/words", "recognisers/recognisers"])
def test_lists_of_words_are_read_whole(name):
    """Every word of the package's own lists is read, as ``tomllib`` reads it."""
    text = Path(voile.__file__).parent.joinpath(f"{name}.toml").read_text("utf-8")
    said, whole = json.dumps(words_document(text)), json.dumps(tomllib.loads(text))
    assert said == whole


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("id_municipio", "geography"),
        ("municipality_id", "geography"),
        ("id_commune", "geography"),
        ("village_id", "geography"),
        ("id_ocupacao", "code"),
        ("occupation_id", "code"),
        ("id_procedimento", "code"),
        ("procedure_id", "code"),
        ("hospital_id", "nominal"),
        ("school_id", "nominal"),
        ("id_paciente", None),
        ("patient_hospital_id", None),
        ("reference_id", None),
        ("order_id", None),
    ],
)
def test_ids_of_places_and_groups_are_none_of_persons(name: str, kind: str | None) -> None:
    """An id beside the word of a place, an occupation or an institution numbers that."""
    assert kind_of_numbered(name) == kind


@pytest.mark.parametrize("name", ["处方号", "住院号", "年金番号", "보험증번호", "案件编号"])
def test_numbers_of_something_are_told_in_chinese_japanese_and_korean(name: str) -> None:
    """A word that ends with a number of something tells things apart, as German compounds do."""
    assert named(name) == "thing"


@pytest.mark.parametrize("name", ["信号", "批号", "疫苗批号", "产品型号", "ロット番号"])
def test_models_and_batches_are_no_numbers_of_something(name: str) -> None:
    """A model, a signal or a batch ends with the same letters and tells no person apart."""
    assert named(name) is None


def test_letters_with_points_are_one_word() -> None:
    """As postcodes are called in Spanish and in Greek; a sentence keeps its words."""
    assert words_of("C.P.") == ("cp",)
    assert words_of("Δ.Γ.") == ("δγ",)
    assert words_of("a. b") == ("a", "b")
