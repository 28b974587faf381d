"""What a release says beside its claims and rows follows from them, or is refused."""

from __future__ import annotations

import base64
import json
import shutil
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from voile.publish.registry import METHODS
from voile.release.check import _StatedWords, wording_breaches
from voile.release.recounting import Recount, read_recounted, told_beside
from voile.release.release import Guarantee
from voile_base.errors import RefusedError
from voile_tests.policy.cases import voile
from voile_tests.release.golden import FOLDER, VARIANTS
from voile_tests.release.listing import list_again
from voile_tests.release.makes import make

Edit = Callable[[dict[str, Any]], object]
_LIE = "differentially private with epsilon .1"


def _drop(document: dict[str, Any], place: int) -> None:
    del document["guarantee"]["assumes"][place]


WORDS: dict[str, tuple[Edit, str]] = {
    "another statement": (
        lambda d: d["guarantee"].update(statement=_LIE),
        "its statement says what does not follow from its claims",
    ),
    "a statement with more": (
        lambda d: d["guarantee"].update(statement=f"{d['guarantee']['statement']}; {_LIE}"),
        "its statement says what does not follow from its claims",
    ),
    "another number": (
        lambda d: d["guarantee"].update(
            statement=d["guarantee"]["statement"].replace("3-anonymous", "30-anonymous")
        ),
        "its statement says what does not follow from its claims",
    ),
    "l without a claim": (
        lambda d: d["guarantee"].update(l=None),
        "its statement says what does not follow from its claims",
    ),
    "one more assumption": (
        lambda d: d["guarantee"]["assumes"].append(_LIE),
        "it assumes what does not belong to its claims",
    ),
    "one assumption less": (
        lambda d: _drop(d, 0),
        "it leaves out what its promise assumes or does not cover",
    ),
    "an assumption that nobody confirms": (
        lambda d: d["guarantee"].update(leaves_open=d["guarantee"]["assumes"][:1]),
        "it says of an assumption that nobody has to make sure of it",
    ),
    "an unknown key of the method": (
        lambda d: d["method"].update(notes=base64.b64encode(b"Ada,36,3300" * 40).decode()),
        "its method states 'notes', which is no parameter of 'generalization'",
    ),
    "rows under a parameter": (
        lambda d: d["method"].update(algorithm="x" * 65),
        "its method states more than parameters and what the data show of its decision",
    ),
    "rows in the decision": (
        lambda d: d["method"].update(decision={"levels": {f"{n:0200}": 1 for n in range(90)}}),
        "its method states more than parameters and what the data show of its decision",
    ),
    "a method that nobody knows": (
        lambda d: d["method"].update(name="magic"),
        "its method 'magic' is none that is known here",
    ),
    "a role of no column": (
        lambda d: d["roles"].update(keep=["Ada Lovelace earns 3300"]),
        "it states roles or types of what is no published column",
    ),
}
"""Edits of the document of a release by generalization, and what is said of each."""


def edited(good: Path, to: Path, edit: Edit) -> Path:
    """A copy of a release with an edited document, whose hashes fit."""
    shutil.copytree(good, to)
    document = json.loads((to / "release.json").read_text(encoding="utf-8"))
    edit(document)
    (to / "release.json").write_text(json.dumps(document), encoding="utf-8")
    list_again(to)
    return to


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release by generalization, in Parquet."""
    return make("generalization", tmp_path_factory.mktemp("words"))[0]


@pytest.mark.parametrize("name", WORDS)
def test_words_that_do_not_follow_from_the_claims_are_refused(good, tmp_path, name):
    """A recount tells each sentence, parameter and name that nobody checks, and readers refuse."""
    edit, told = WORDS[name]
    folder = edited(good, tmp_path / "edited", edit)
    assert told in Recount.of(folder).breaches
    with pytest.raises(RefusedError, match="the release is not what it claims"):
        read_recounted(folder)


@pytest.mark.parametrize("call", [["recount"], ["query"], ["attack"]], ids=lambda call: call[0])
def test_commands_refuse_what_a_statement_makes_up(good, tmp_path, call):
    """Every command that reads a release refuses one whose statement its claims do not carry."""
    folder = edited(good, tmp_path / "edited", WORDS["another statement"][0])
    (tmp_path / "original.csv").write_text("age\n1\n")
    more = {"query": ["COUNT(*)"], "attack": ["--against", tmp_path / "original.csv"]}
    found = voile(*call, folder, *more.get(call[0], []))
    assert found.exit_code == 4, found.output


def test_a_release_that_does_not_show_a_row_says_no_more(good, tmp_path):
    """Words are held against the claims of an empty release, too."""

    def empty(document: dict[str, Any]) -> None:
        document["rows"] = 0
        document["guarantee"]["statement"] = _LIE

    folder = edited(good, tmp_path / "edited", empty)
    assert "its statement says what does not follow from its claims" in Recount.of(folder).breaches


@pytest.mark.parametrize(
    ("metadata", "told"),
    [
        ({"originals": "Ada,36,3300"}, "it carries metadata 'originals' that nobody checks"),
        (
            {"pandas": json.dumps({"columns": [], "attributes": {"rows": "Ada"}})},
            "it carries metadata 'pandas' that nobody checks",
        ),
    ],
)
def test_metadata_of_a_parquet_file_are_told(good, tmp_path, metadata, told):
    """What a Parquet file carries beside rows and types is no part of what was checked."""
    folder = tmp_path / "edited"
    shutil.copytree(good, folder)
    table = pq.read_table(folder / "data.parquet")
    pq.write_table(table.replace_schema_metadata(metadata), folder / "data.parquet")
    list_again(folder)
    assert any(told in one for one in Recount.of(folder).breaches)


def test_what_pandas_writes_of_types_is_understood(good, tmp_path):
    """A file that pandas wrote again is no other release for that."""
    folder = tmp_path / "again"
    shutil.copytree(good, folder)
    frame = pq.read_table(folder / "data.parquet").to_pandas(types_mapper=None)
    frame["group"] = frame["group"].astype("uint32")
    frame.to_parquet(folder / "data.parquet", index=False)
    list_again(folder)
    assert not any("metadata" in one for one in Recount.of(folder).breaches)


@pytest.mark.parametrize("name", VARIANTS)
def test_releases_of_earlier_versions_hold(name):
    """The words of releases that earlier versions wrote are still those of their claims."""
    document = json.loads((FOLDER / name / "release.json").read_text(encoding="utf-8"))
    rows = [one["file"] for one in document["data"]]
    claims = Guarantee.of_document(document["guarantee"]).claims
    assert told_beside(document, FOLDER / name, rows, claims) == ()


def test_parameters_of_every_method_are_known():
    """No parameter that a plan may state is refused where a release repeats it."""
    wording = json.loads((files("voile.release") / "browser" / "wording.json").read_text("utf-8"))
    for name in METHODS.names:
        if name in wording["methods"]:
            assert set(METHODS.fields_of(name)) <= set(wording["methods"][name])
    assert {"generalization", "ke-anonymity", "flows"} <= wording["methods"].keys()


def test_a_statement_without_additions_is_held_against_none(good, monkeypatch):
    """What a promise may add is read only where a statement is more than the promise's own."""
    document = json.loads((good / "release.json").read_text(encoding="utf-8"))
    claims = Guarantee.of_document(document["guarantee"], "guarantee").claims
    stated = document["guarantee"]["statement"].partition("; within each group")[0]
    document["guarantee"]["statement"] = stated
    pieces: list[str] = []
    pattern = _StatedWords._pattern
    monkeypatch.setattr(
        _StatedWords,
        "_pattern",
        lambda self, piece, said: pieces.append(piece) or pattern(self, piece, said),
    )
    assert not list(wording_breaches(document, claims))
    assert pieces
    assert "{DEMANDS}" not in pieces
