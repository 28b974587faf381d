"""Broken releases are refused with the reason, though their hashes were mended; good ones pass."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from voile.release.folder import manifest_of
from voile.release.recounting import Recount, read_recounted
from voile.release.release import read_release
from voile_base.errors import RefusedError
from voile_testing.plugin import some_slow
from voile_tests.policy.cases import voile
from voile_tests.release.listing import list_again
from voile_tests.release.makes import METHODS, make, people, trips

Document = dict[str, Any]
Edit = Callable[[pl.DataFrame, Document, pl.DataFrame], pl.DataFrame]


def _cut(frame: pl.DataFrame, document: Document, original: pl.DataFrame) -> pl.DataFrame:
    """Of the first group, two rows stay."""
    del original
    first = frame["group"].min()
    gone = frame.with_row_index("at").filter(pl.col("group") == first)["at"][2:]
    kept = frame.with_row_index("at").filter(~pl.col("at").is_in(gone.implode())).drop("at")
    document["rows"] = kept.height
    if document["method"]["name"] == "ranking":
        document["method"]["decision"]["groups"][0]["rows"] = 2
    return kept


def _alike(column: str) -> Edit:
    """All rows of the first group hold one value."""

    def edit(frame: pl.DataFrame, document: Document, original: pl.DataFrame) -> pl.DataFrame:
        del document, original
        first = pl.col("group") == frame["group"].min()
        return frame.with_columns(
            pl.when(first).then(pl.col(column).first()).otherwise(column).alias(column)
        )

    return edit


def _lone(frame: pl.DataFrame, document: Document, original: pl.DataFrame) -> pl.DataFrame:
    """A row that shows what no other shows."""
    del original
    document["rows"] += 1
    group = frame["group"].max() + 1
    return pl.concat([frame, frame[:1].with_columns(group=pl.lit(group, frame["group"].dtype))])


def _claims(**changes: Any) -> Edit:
    """Another promise of the same rows, wherever ``release.json`` says its numbers."""

    def edit(frame: pl.DataFrame, document: Document, original: pl.DataFrame) -> pl.DataFrame:
        del original
        for key, value in changes.items():
            assert document["guarantee"][key] != value
            document["guarantee"][key] = value
            if key in document["method"]:
                document["method"][key] = value
        return frame

    return edit


def _cheaper(frame: pl.DataFrame, document: Document, original: pl.DataFrame) -> pl.DataFrame:
    """A tenth of epsilon is claimed, and of each budget that it adds up of."""
    del original
    claim = document["guarantee"]
    claim["epsilon"] /= 10
    document["method"]["epsilon"] /= 10
    for spent in (claim.get("budget") or {}).values():
        spent.update({name: value / 10 for name, value in spent.items()})
    return frame


def _true_values(frame: pl.DataFrame, document: Document, original: pl.DataFrame) -> pl.DataFrame:
    """The true ages under the noisy ones' intervals."""
    del document
    true = frame.select("id").join(original, on="id", how="left", maintain_order="left")
    return frame.with_columns(age=true["age"].cast(frame["age"].dtype))


def _true_around(frame: pl.DataFrame, document: Document, original: pl.DataFrame) -> pl.DataFrame:
    """The true ages, with intervals that fit."""
    frame = _true_values(frame, document, original)
    half = document["columns"]["age"]["clusters"][0]["half_width"]
    return frame.with_columns(
        (pl.col("age") - half).clip(0, 99).alias("age.low"),
        (pl.col("age") + half).clip(0, 99).alias("age.high"),
    )


def _unpermuted(frame: pl.DataFrame, document: Document, original: pl.DataFrame) -> pl.DataFrame:
    """Every permuted column as it was in the rows of the original."""
    permuted = [n for n, one in document["columns"].items() if one["kind"] == "permuted"]
    true = frame.select("id").join(original, on="id", how="left", maintain_order="left")
    return frame.with_columns(true[name].cast(frame[name].dtype) for name in permuted)


def _unmoved(frame: pl.DataFrame, document: Document, original: pl.DataFrame) -> pl.DataFrame:
    """Every report where it was."""
    del document
    own = original.select("trip", "time", true=pl.col("latitude"))
    both = frame.join(own, on=["trip", "time"], how="left", maintain_order="left")
    return frame.with_columns(latitude=both["true"])


def _salaries(frame: pl.DataFrame, document: Document, original: pl.DataFrame) -> pl.DataFrame:
    """A value that nobody has, far from the others of its group."""
    del document, original
    return frame.with_columns(
        salary=pl.Series([99_990, *frame["salary"][1:]], dtype=frame["salary"].dtype)
    )


def _box(frame: pl.DataFrame, document: Document, original: pl.DataFrame) -> pl.DataFrame:
    """A box of which fewer are among the best than is claimed of each."""
    del original
    document["method"]["decision"]["groups"][-1]["precision"] = 0.4
    return frame


def _costliest(frame: pl.DataFrame, document: Document, original: pl.DataFrame) -> pl.DataFrame:
    del original
    document["guarantee"]["costliest_trip"]["reports"] -= 1
    return frame


def _narrow(frame: pl.DataFrame, document: Document, original: pl.DataFrame) -> pl.DataFrame:
    """Intervals of flows that promise more than their noise keeps."""
    del original
    del document
    return frame.with_columns(
        (pl.col("count") - 1).clip(0).alias("count.low"),
        (pl.col("count") + 1).clip(0).alias("count.high"),
    )


def _fewer(frame: pl.DataFrame, document: Document, original: pl.DataFrame) -> pl.DataFrame:
    del original
    document["rows"] -= 1
    return frame[:-1]


def _stated_rows(frame: pl.DataFrame, document: Document, original: pl.DataFrame) -> pl.DataFrame:
    del original
    document["rows"] += 1
    return frame


BROKEN: dict[str, tuple[str, Edit, bool, str]] = {
    "a group cut to 2 of 5": ("generalization", _cut, False, "groups of the release break {'k'"),
    "one value under l = 2": ("generalization", _alike("illness"), False, "break {'l'"),
    "a lone row": ("mondrian", _lone, False, "1 groups of the release break {'k'"),
    "k claimed upwards": ("suppressing", _claims(k=90), False, "break {'k': 90"),
    "a group of one salary": ("ke-anonymity", _alike("salary"), False, "are not (5, 50)-valid"),
    "e claimed upwards": ("ke-anonymity", _claims(e=3_000), False, "(5, 3000)-valid"),
    "a cut group of a series": ("series", _cut, False, "are not (5, 50)-valid"),
    "more arrangements claimed": (
        "m-shuffle", _claims(log_arrangements=9_999.0), False, "another number of arrangements",
    ),
    "clusters claimed upwards": ("m-shuffle", _claims(clusters=4), False, "numbered from 1 to 4"),
    "an unpermuted shuffle": ("m-shuffle", _unpermuted, True, "said to be permuted"),
    "unpermuted salaries": ("ke-anonymity", _unpermuted, True, "said to be permuted"),
    "salaries of nobody": ("ke-anonymity", _salaries, True, "oftener than INPUT"),
    "a box of less precision": ("ranking", _box, False, "1 groups have a precision below the 0.5"),
    "a cut box": ("ranking", _cut, False, "break {'k': 5"),
    "a cut group of a sample": ("dp-generalization", _cut, False, "break {'k': 5"),
    "more sampling claimed": ("dp-generalization", _claims(beta=0.001), False, "sampled with"),
    "true values under noisy intervals": (
        "clustered-laplace", _true_values, False, "intervals other than those of its noise",
    ),
    "no noise": ("laplace", _true_around, True, "said to have noise, and shows the values"),
    "noise of a tenth of its price": ("clustered-laplace", _cheaper, False, "which is too little"),
    "epsilon claimed downwards": (
        "laplace", _claims(epsilon=0.5), False, "the budgets that it states add up to",
    ),
    "positions that were not moved": ("planar-laplace", _unmoved, True, "said to be moved"),
    "epsilon of zones claimed downwards": ("zones", _claims(epsilon=0.001), False, "per metre"),
    "a costliest trip that is not there": ("gaussian", _costliest, False, "no trip has as many"),
    "a missing cell of flows": ("flows", _fewer, False, "publishes each of"),
    "narrow intervals of flows": ("flows", _narrow, False, "are not those that follow"),
    "flows of a tenth of their price": ("flows", _cheaper, False, "its noise costs epsilon"),
    "rows that are not there": ("mondrian", _stated_rows, False, "and it states"),
}  # fmt: skip


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Path]]:
    """A release of each method with k = 5, and the file of its original."""
    folder = tmp_path_factory.mktemp("good")
    found = {}
    for method in METHODS:
        out, frame = make(method, folder, 1, k=5, file_format="parquet")
        own = folder / f"{method}.parquet"
        frame.write_parquet(own)
        found[method] = out, own
    return found


def broken(place: tuple[Path, Path], to: Path, edit: Edit) -> Path:
    """A copy of a release that was edited, with mended hashes."""
    out, own = place
    shutil.copytree(out, to)
    path = to / "release.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    rows = edit(pl.read_parquet(to / "data.parquet"), document, pl.read_parquet(own))
    rows.write_parquet(to / "data.parquet")
    path.write_text(json.dumps(document), encoding="utf-8")
    list_again(to)
    return to


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_release_with_mended_hashes_is_refused(good, tmp_path, name):
    """Exit 4, with what does not hold; and its unbroken original passes the same call."""
    method, edit, with_original, why = BROKEN[name]
    folder = broken(good[method], tmp_path / "broken", edit)
    more = ("--against", good[method][1]) if with_original else ()
    found = voile("recount", folder, *more)
    assert found.exit_code == 4, found.output
    assert why in found.output, found.output
    assert str(folder) in str(found.exception)
    assert "do not rely on this folder" in str(found.exception)
    assert voile("recount", good[method][0], *more).exit_code == 0


@pytest.mark.parametrize("method", METHODS)
def test_what_no_output_shows_is_not_called_passed(good, method):
    """Each claim is said to hold, or what of it nobody can see is named."""
    found = voile("recount", good[method][0], "--json")
    assert found.exit_code == 0, found.output
    document = json.loads(found.stdout)
    assert document["holds"]
    noisy = method in {"dp-generalization", "clustered-laplace", "laplace", "flows"}
    text = voile("recount", good[method][0]).output
    for claim in document["claims"]:
        assert bool(claim["not_visible"]) == ("Not visible in the rows" in text)
        together = "what this release tells beside the others of its series"
        assert (together in claim["not_visible"]) == method.startswith("series")
        if noisy or method in {"m-shuffle", "zones", "ranking", "clusters-of-data", "series"}:
            assert claim["not_visible"], claim
            assert "not contradicted by the rows" in text
    if noisy:
        assert "differential privacy, a property of the draws" in text
    assert "private" not in document


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("seed", some_slow(range(2, 4), {3}))
def test_good_releases_pass_with_their_original(tmp_path, method, seed):
    """Of any method, format, k and table, without a false alarm."""
    _pass(tmp_path, method, seed)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_many_good_releases_pass(tmp_path, method):
    """Twenty more of each method."""
    for seed in range(10, 30):
        _pass(tmp_path, method, seed)


def _pass(folder: Path, method: str, seed: int) -> None:
    file_format = ("csv", "parquet", "jsonl")[(seed + len(method)) % 3]
    intervals = ("columns", "text")[seed % 2]
    made = {"k": 2 + seed % 5, "file_format": file_format, "intervals": intervals}
    out, frame = make(method, folder, seed, **made)
    found = Recount.of(out, frame)
    assert not found.breaches
    assert not found.unknown


@pytest.mark.parametrize("method", ["clustered-laplace", "dp-generalization", "flows"])
def test_the_ledger_knows_what_a_release_has_spent(tmp_path, method):
    """Less is claimed, whatever else was mended: no output shows it, and the account does."""
    unit = "vehicle" if method == "flows" else "replace"
    if method == "dp-generalization":
        unit = "add-remove"
    budget = f'[budget]\ndata_set = "people"\nepsilon = 50\nneighbours = "{unit}"\ndelta = 0.5\n'
    frame = trips(1) if method == "flows" else people(1)
    (tmp_path / "plan.toml").write_text(METHODS[method].replace("{k}", "3") + budget)
    frame.write_parquet(tmp_path / "own.parquet")
    ledger = ("--ledger", tmp_path / "ledger.db")
    call = ("publish", tmp_path / "own.parquet", "--plan", tmp_path / "plan.toml", *ledger)
    found = voile(*call, "--out", tmp_path / "out")
    assert found.exit_code == 0, found.output
    assert voile("ledger", "verify", tmp_path / "out", *ledger).exit_code == 0
    path = tmp_path / "out" / "release.json"
    document = json.loads(path.read_text())
    document["guarantee"]["epsilon"] /= 2
    path.write_text(json.dumps(document))
    found = voile("ledger", "verify", tmp_path / "out", *ledger)
    assert found.exit_code == 4
    assert "and data set 'people' was charged" in str(found.exception)


def test_a_release_in_parts_is_recounted(good, tmp_path):
    """Each part is compared, and their rows are counted together."""
    folder = tmp_path / "Größe 5, in Teilen"
    shutil.copytree(good["generalization"][0], folder)
    rows = pl.read_parquet(folder / "data.parquet")
    (folder / "data.parquet").unlink()
    (folder / "data").mkdir()
    names = [f"data/part-{number}.parquet" for number in range(3)]
    for name, part in zip(names, rows.iter_slices(rows.height // 3 + 1), strict=True):
        part.write_parquet(folder / name)
    path = folder / "release.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps({**document, "data": manifest_of(folder, names)}), encoding="utf-8")
    assert Recount.of(folder).files == tuple(names)
    assert not Recount.of(folder).breaches
    pl.read_parquet(folder / names[1])[:-1].write_parquet(folder / names[1])
    list_again(folder)
    assert any("and it states" in what for what in Recount.of(folder).breaches)


def test_an_empty_release_is_recounted(good, tmp_path):
    """Its file is compared; its claims hold of nobody."""
    folder = tmp_path / "empty"
    shutil.copytree(good["generalization"][0], folder)
    pl.read_parquet(folder / "data.parquet")[:0].write_parquet(folder / "data.parquet")
    path = folder / "release.json"
    document = json.loads(path.read_text(encoding="utf-8")) | {"rows": 0}
    path.write_text(json.dumps(document), encoding="utf-8")
    list_again(folder)
    assert Recount.of(folder).rows == 0
    (folder / "data.parquet").write_bytes(b"")
    with pytest.raises(RefusedError, match="was changed since it was published"):
        Recount.of(folder)


def test_a_claim_that_nobody_knows_is_refused_by_its_name(good, tmp_path):
    """Fail closed: a kind without a check is not waved through."""
    folder = tmp_path / "other"
    shutil.copytree(good["generalization"][0], folder)
    path = folder / "release.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    document["guarantee"] = {"kind": "perfect", "statement": "all is well", "assumes": []}
    path.write_text(json.dumps(document), encoding="utf-8")
    found = voile("recount", folder)
    assert found.exit_code == 4
    assert "no check for guarantees of kind 'perfect'" in str(found.exception)


@pytest.mark.parametrize("value", [None, "x", -1, 1e300, [], {}, True])
@pytest.mark.parametrize("key", ["method", "guarantee", "roles", "columns", "groups"])
def test_a_document_of_nonsense_is_told(good, tmp_path, key, value):
    """By a sentence and an exit status, never by a traceback."""
    folder = tmp_path / "odd"
    shutil.copytree(good["ranking"][0], folder)
    path = folder / "release.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(document | {key: value}), encoding="utf-8")
    found = voile("recount", folder)
    assert found.exit_code in {2, 4}, found.output
    assert str(folder) in str(found.exception)


def test_a_read_only_folder_is_recounted(good, tmp_path):
    """Nothing is written beside a release."""
    folder = tmp_path / "fixed"
    shutil.copytree(good["ke-anonymity"][0], folder)
    before = sorted(folder.iterdir())
    os.chmod(folder, 0o555)
    try:
        assert voile("recount", folder).exit_code == 0
    finally:
        os.chmod(folder, 0o755)
    assert sorted(folder.iterdir()) == before


def test_a_reader_gets_no_release_that_is_broken(good, tmp_path):
    """Before any figure is made of it; ``read_release`` alone compares hashes only."""
    folder = broken(good["generalization"], tmp_path / "broken", _cut)
    assert read_release(folder).rows
    with pytest.raises(RefusedError, match="the release is not what it claims"):
        read_recounted(folder)


def test_a_release_of_clamped_values_is_held_against_its_original_within_its_bounds(tmp_path):
    """With the plan it passes; without it the message says to name one."""
    frame = pl.DataFrame({"age": [20, 21, 22, 23], "pay": [1, 2, 90, 99]})
    frame.write_csv(tmp_path / "own.csv")
    plan = tmp_path / "plan.toml"
    plan.write_text(
        '[roles]\nquasi_identifiers = ["age"]\nsensitive = ["pay"]\n'
        '[columns.pay]\nbounds = [0, 50]\noutside = "clamp"\n'
        '[method]\nname = "generalization"\nk = 2\n'
    )
    made = voile("publish", tmp_path / "own.csv", "--plan", plan, "--out", tmp_path / "out")
    assert made.exit_code == 0, made.output
    beside = ("recount", tmp_path / "out", "--against", tmp_path / "own.csv")
    assert voile(*beside, "--plan", plan).exit_code == 0
    untold = voile(*beside)
    assert untold.exit_code == 4
    assert "clamps values to bounds, name it: --plan" in str(untold.exception)
