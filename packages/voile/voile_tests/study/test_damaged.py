"""Fifty damaged ``release.json`` and records: each is refused by its file and the place in it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from voile.release.claims import UnknownClaim
from voile.release.folder import ReleaseDocument, release_schema
from voile.release.recounting import Recount
from voile.release.release import Guarantee, read_release
from voile.schema.plan import parse_plan
from voile.study.documents import read_record, record_schema
from voile.study.single import make_study
from voile.tabular.claims import released_cells
from voile.tabular.published import tables_schema
from voile.tabular.publishing import make_tables
from voile_base.errors import InputError, TableError, VoileError
from voile_testing.plugin import examples
from voile_tests.release.golden import FOLDER, VARIANTS
from voile_tests.study.instruments import Crowd, instruments

GONE = object()
RELEASES: tuple[tuple[str, str, Any, str], ...] = (
    # release, what is damaged, what stands there, the place that is told
    ("mondrian", "format", GONE, "needs 'format'"),
    ("mondrian", "format", 2, "format"),
    ("mondrian", "voile", 1, "voile"),
    ("mondrian", "method", "generalization", "method"),
    ("mondrian", "method.name", GONE, "method"),
    ("mondrian", "guarantee", "none", "guarantee"),
    ("mondrian", "guarantee.kind", GONE, "guarantee: needs 'kind'"),
    ("mondrian", "guarantee.statement", None, "guarantee.statement"),
    ("mondrian", "guarantee.assumes", "nothing", "guarantee.assumes"),
    ("mondrian", "guarantee.k", 0, "guarantee: k"),
    ("mondrian", "guarantee.k", "3", "guarantee: k"),
    ("mondrian", "guarantee.l.kind", "loud", "guarantee: l.kind"),
    ("mondrian", "guarantee.lk", 3, "guarantee: unknown key 'lk'"),
    ("mondrian", "guarantee.further", [3], "guarantee.further[1]"),
    ("mondrian", "rows", -1, "rows"),
    ("mondrian", "rows", "72", "rows"),
    ("mondrian", "publishable", "yes", "publishable"),
    ("mondrian", "release_id", 7, "release_id"),
    ("mondrian", "columns", [], "columns"),
    ("mondrian", "columns.age", "interval", "columns.age"),
    ("mondrian", "columns.age.kind", GONE, "columns.age"),
    ("mondrian", "columns.age.level", "high", "columns.age.level"),
    ("mondrian", "columns.age.ends", "both", "columns.age.ends"),
    ("mondrian", "columns.age.width", 5, "columns.age"),
    ("mondrian", "groups.made", "somehow", "groups.made"),
    ("mondrian", "groups.by", [], "groups.by"),
    ("mondrian", "sampled", 1.5, "sampled"),
    ("mondrian", "roles", {"sensitive": "salary"}, "roles.sensitive"),
    ("mondrian", "types.salary", "money", "types.salary"),
    ("mondrian", "data.0.file", "../data.csv", "data[1].file"),
    ("mondrian", "data.0.bytes", "many", "data[1].bytes"),
    ("mondrian", "data.0.sha256", "0" * 63, "data[1].sha256"),
    ("mondrian", "colour", "blue", "unknown key 'colour'"),
    ("ke-series-1", "series", "pay", "series"),
    ("ke-series-1", "series.version", 0, "series.version"),
    ("ke-series-1", "groups", GONE, "columns are permuted within groups"),
    ("clustered-laplace", "columns.age.step", "fine", "columns.age.step"),
    ("trips-zones", "columns.latitude.zones.levels", [], "columns.latitude.zones"),
)
TABLES: tuple[tuple[str, Any, str], ...] = (
    ("format", 2, "format"),
    ("voile", GONE, "needs 'voile'"),
    ("method", "suppression", "method"),
    ("guarantee", "none", "guarantee"),
    ("guarantee.cells", "nine", "guarantee: cells"),
    ("guarantee.zeros", "some", "guarantee: zeros"),
    ("rows", "9", "rows"),
    ("types.a", "money", "types.a"),
    ("tables", GONE, "needs 'tables'"),
    ("tables", [], "tables"),
    ("tables.0.name", GONE, "tables[1]"),
    ("tables.1.name", "table 1", "tables: two tables are called 'table 1'"),
    ("tables.0.measures", ["pay"], "tables[1].measures: 'measures' does not have 'pay'"),
    ("tables.0.dimensions.0.column", "b", "tables[1].dimensions[1]: column 'b'"),
    ("tables.0.dimensions.0.levels", [], "tables[1].dimensions[1].levels"),
    ("tables.0.dimensions.0.levels.0.above", [0, 0], "tables[1].dimensions[1].levels: level 'a'"),
    ("tables.0.dimensions.0.levels.0.values", "xy", "tables[1].dimensions[1].levels[1].values"),
    ("tables.0.dimensions.0.levels.0.values.1", 3, "tables[1].dimensions[1].levels[1].values[2]"),
    ("tables.0.dimensions.0.levels.0.values.1", "x", "tables: level 'a' has a value twice"),
    ("tables.0.dimensions.1.levels.0.values.0", "P", "tables: level 'wide' has other values"),
    ("tables.0.dimensions.1.levels.1.above", GONE, "tables[1].dimensions[2].levels: level 'b'"),
    ("tables.0.dimensions.1.levels.1.above", [0], "tables[1].dimensions[2].levels: level 'b'"),
    ("tables.0.dimensions.1.levels.1.above.0", 7, "tables[1].dimensions[2].levels: level 'b'"),
    ("tables.0.dimensions.1.levels.1.above.0", -1, "tables[1].dimensions[2].levels[2].above[1]"),
    ("measures.count.kind", "mean", "measures.count.kind"),
    ("measures.count.decimals", -1, "measures.count.decimals"),
    ("measures", {}, "tables[1].measures: 'measures' does not have 'count'"),
    ("data.0.file", "../tables.csv", "data[1].file"),
    ("data.0.bytes", "many", "data[1].bytes"),
    ("colour", "blue", "unknown key 'colour'"),
)
RECORDS: tuple[tuple[str, Any, str], ...] = (
    ("name", 3, "name"),
    ("seed", "1", "seed"),
    ("plan", GONE, "needs 'plan'"),
    ("release", "a folder", "release"),
    ("attacks", "none", "attacks"),
    ("attacks.0.attack", 3, "attacks[1].attack"),
    ("attacks.0.targets", -1, "attacks[1].targets"),
    ("attacks.0.success", "often", "attacks[1].success"),
    ("utility", {}, "utility"),
    ("publication", [], "publication"),
    ("versions", 3, "versions"),
    ("seconds", "long", "seconds"),
    ("more", 1, "unknown key 'more'"),
)


def damaged(document: dict[str, Any], place: str, value: Any) -> str:
    """The text of a document with another value at a place, such as data.0.file."""
    return hurt(document, [int(p) if p.isdigit() else p for p in place.split(".")], value)


def hurt(document: dict[str, Any], steps: Sequence[int | str], value: Any) -> str:
    """The same, by the keys and numbers on the way to the place."""
    *way, last = steps
    inner: Any = document
    for part in way:
        inner = inner[part]
    if value is GONE:
        del inner[last]
    else:
        inner[last] = value
    return json.dumps(document)


@pytest.mark.parametrize(("name", "place", "value", "told"), RELEASES)
def test_a_damaged_release_is_told_by_file_and_place(tmp_path, name, place, value, told):
    """Whoever reads or recounts it: no traceback, and no figure of half a release."""
    folder = tmp_path / "release"
    shutil.copytree(FOLDER / name, folder)
    path = folder / "release.json"
    path.write_text(damaged(json.loads(path.read_text()), place, value))
    for ask in (read_release, Recount.of):
        with pytest.raises(TableError) as caught:
            ask(folder)
        assert str(caught.value).startswith(f"{path}: {told}")


def test_what_is_no_json_is_told_by_line_and_column(tmp_path):
    """As where an editor was interrupted."""
    shutil.copytree(FOLDER / "mondrian", tmp_path / "release")
    path = tmp_path / "release" / "release.json"
    path.write_text(path.read_text()[:40])
    with pytest.raises(TableError, match=r"release\.json: line 4, column \d+: this is not JSON"):
        read_release(path.parent)


@pytest.mark.slow
@pytest.mark.parametrize("name", VARIANTS)
def test_the_schema_fits_releases(name):
    """Those that are read; and none with a key too many."""
    document = json.loads((FOLDER / name / "release.json").read_text())
    jsonschema.validate(document, release_schema())
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**document, "colour": "blue"}, release_schema())


OTHERS = ("text", 3, -1, 1.5, True, None, [], ["x"], {}, {"x": 1}, 10**400, GONE)
"""What a hand, a disk or another program leaves where something else belongs."""


def places(document: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """All places of a document, by keys and numbers."""
    steps = document.items() if isinstance(document, dict) else enumerate(document)
    found = []
    for step, held in steps:
        found.append((*way, step))
        if isinstance(held, dict | list):
            found += places(held, (*way, step))
    return found


@pytest.mark.slow
@settings(max_examples=examples(400), deadline=None)
@given(draws=st.data())
def test_any_damage_is_refused_by_file_and_place_where_the_schema_refuses_it(draws):
    """Wherever it is drawn; the message names the key at which it is, or one around it."""
    document, schema = documents()[draws.draw(st.sampled_from(VARIANTS))], validator()
    way = draws.draw(st.sampled_from(places(document)))
    other = draws.draw(st.sampled_from(OTHERS))
    stated = json.loads(hurt(json.loads(json.dumps(document)), way, other))
    try:
        guarantee = read_both(stated)
    except TableError as error:
        said = str(error)
        assert said.startswith("release/release.json: ")
        named = [f"[{step + 1}]" if isinstance(step, int) else str(step) for step in way]
        assert any(step in said for step in named)
    else:
        # What another package claims is no fault, and its own schema says what it holds.
        if not any(isinstance(claim, UnknownClaim) for claim in guarantee.claims):
            schema.validate(stated)


def read_both(document: dict[str, Any]) -> Guarantee:
    """Read what a document states, and what it claims."""
    ReleaseDocument.stated_in(document, Path("release"))
    return Guarantee.of_document(document["guarantee"], "release/release.json: guarantee")


@cache
def documents() -> dict[str, Any]:
    """What the golden releases state."""
    return {name: json.loads((FOLDER / name / "release.json").read_text()) for name in VARIANTS}


@cache
def validator() -> jsonschema.protocols.Validator:
    """Of releases."""
    return jsonschema.validators.validator_for(release_schema())(release_schema())


@pytest.fixture(scope="module")
def tabulated(tmp_path_factory) -> Path:
    """A folder of two tables, one of which has a column of two levels."""
    desk: Path = tmp_path_factory.mktemp("tables")
    wide = {"p1": "p", "p2": "p", "q1": "q"}
    rows = [{"a": "xy"[i % 2], "b": ("p1", "p2", "q1")[i % 3]} for i in range(60)]
    frame = pl.DataFrame([{**row, "wide": wide[row["b"]]} for row in rows])
    nested = ["wide", "b"]
    tables = [{"dimensions": ["a", nested]}, {"dimensions": [nested]}]
    plan = {"roles": {"person": "row"}, "tables": tables, "protection": {"minimum": 3}}
    make_tables(frame, parse_plan(plan), desk / "out")
    return desk / "out"


@pytest.mark.parametrize(("place", "value", "told"), TABLES)
def test_damaged_tables_are_told_by_file_and_place(tmp_path, tabulated, place, value, told):
    """The same of tables, whoever reads or recounts them."""
    shutil.copytree(tabulated, tmp_path / "out")
    path = tmp_path / "out" / "release.json"
    path.write_text(damaged(json.loads(path.read_text()), place, value))
    for ask in (Recount.of, released_cells):
        if ask is released_cells and told.startswith("guarantee: "):
            continue  # cells are read without what is claimed of them
        with pytest.raises(TableError) as caught:
            ask(path.parent)
        assert str(caught.value).startswith(f"{path}: {told}")


@pytest.mark.slow
@settings(max_examples=examples(50), deadline=None)
@given(draws=st.data())
def test_any_damage_to_tables_is_refused_by_file_and_place(tmp_path_factory, tabulated, draws):
    """Wherever it is drawn: what the schema refuses, the reader refuses."""
    stated = json.loads((tabulated / "release.json").read_text())
    jsonschema.validate(stated, tables_schema())
    way = draws.draw(st.sampled_from([way for way in places(stated) if way != ("form",)]))
    text = hurt(stated, way, draws.draw(st.sampled_from(OTHERS)))
    folder = tmp_path_factory.mktemp("damaged") / "out"
    shutil.copytree(tabulated, folder)
    (folder / "release.json").write_text(text)
    try:
        found = Recount.of(folder)
    except VoileError as error:
        said = str(error)
        assert said.startswith(f"{folder}")
        listed = way[0] == "data"  # which hashes there are is told of the file of rows, too
        named = [f"[{step + 1}]" if isinstance(step, int) else str(step) for step in way]
        assert listed or any(step in said.removeprefix(str(folder)) for step in named)
    else:
        if not found.unknown and not found.breaches:
            jsonschema.validate(json.loads(text), tables_schema())


@pytest.fixture(scope="module")
def recorded(tmp_path_factory) -> dict[str, Any]:
    """The record of a study."""
    desk: Path = tmp_path_factory.mktemp("desk")
    ages = pl.DataFrame({"age": [20 + i % 5 for i in range(40)], "pay": range(40)})
    ages.write_csv(desk / "people.csv")
    plan = '[roles]\nperson = "row"\nquasi_identifiers = ["age"]\nsensitive = ["pay"]\n'
    (desk / "plan.toml").write_text(plan + '[method]\nname = "generalization"\nk = 4\n')
    tools = instruments(Crowd())
    out = desk / "out"
    make_study(desk / "people.csv", desk / "plan.toml", out, instruments=tools, seed=1)
    document: dict[str, Any] = json.loads((out / "private" / "record.json").read_text())
    return document


@pytest.mark.parametrize(("place", "value", "told"), RECORDS)
def test_a_damaged_record_is_told_by_file_and_place(tmp_path, recorded, place, value, told):
    """The same of the record of a study."""
    path = tmp_path / "record.json"
    path.write_text(damaged(json.loads(json.dumps(recorded)), place, value))
    with pytest.raises(InputError) as caught:
        read_record(path)
    assert str(caught.value).startswith(f"{path}: {told}")


@pytest.mark.slow
@settings(max_examples=examples(150), deadline=None)
@given(draws=st.data())
def test_any_damage_to_a_record_is_refused_by_file_and_place(tmp_path_factory, recorded, draws):
    """Wherever it is drawn below its heading: what the schema refuses, the reader refuses."""
    stated = {key: held for key, held in recorded.items() if key not in {"private", "seal"}}
    way = draws.draw(st.sampled_from(places(stated)))
    text = hurt(json.loads(json.dumps(recorded)), way, draws.draw(st.sampled_from(OTHERS)))
    path = tmp_path_factory.getbasetemp() / "record.json"
    path.write_text(text)
    try:
        read_record(path)
    except InputError as error:
        said = str(error)
        assert said.startswith(f"{path}: ")
        named = [f"[{step + 1}]" if isinstance(step, int) else str(step) for step in way]
        assert any(step in said.removeprefix(str(path)) for step in named)
    else:
        jsonschema.validate(json.loads(text), record_schema())
