"""Evidence that was edited, exchanged or chosen passes nowhere: the cheats, under every policy."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from voile.audit.examine import audit
from voile.audit.record import AuditRecord
from voile.policy.stated import template_names
from voile.signing import new_key
from voile.study.documents import json_text, read_record, sealed
from voile_base.errors import RefusedError
from voile_tests.policy.cases import CONTROL, ORIGINAL, audited, policy, studied, tick_all, voile

PASSES = 'kind = "group-size"\nleast = 1'


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which a copy was audited."""
    folder = tmp_path_factory.mktemp("Urteil über Zahlen")
    audited(folder)
    return folder


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which a study was made."""
    folder = tmp_path_factory.mktemp("studied")
    studied(folder)
    return folder


@pytest.fixture
def place(judged: Path, tmp_path: Path) -> Path:
    """A copy of the audit, to be tampered with."""
    shutil.copytree(judged / "judged", tmp_path / "judged")
    return tmp_path / "judged"


def _edit(path: Path, change: Callable[[dict[str, Any]], None], *, seal: bool = False) -> None:
    document = json.loads(path.read_text(encoding="utf-8"))
    change(document)
    path.write_text(json_text(sealed(document) if seal else document), encoding="utf-8")


def _tamed(document: dict[str, Any]) -> None:
    """No risk is found, and no attack succeeds."""
    for risk in document["risks"]:
        risk["found"], risk["excess"] = False, {"value": 0.0, "low": 0.0, "high": 0.0}
        risk["main"] = {"value": 0.0, "low": 0.0, "high": 0.0}
    for attack in document["attacks"]:
        attack["success"] = {"value": 0.0, "low": 0.0, "high": 0.0}


def _edited(place: Path) -> None:
    _edit(place / "audit.json", _tamed)


def _without_seal(place: Path) -> None:
    _edit(place / "audit.json", lambda document: document.pop("seal"))


def _swapped(place: Path) -> None:
    """The audit of a kind file beside another."""
    CONTROL.write_csv(place / "released" / "copy.csv")


def _added(place: Path) -> None:
    (place / "released" / "raw.csv").write_text("name\nBerta\n")


def _removed(place: Path) -> None:
    (place / "released" / "copy.csv").unlink()


def _linked_file(place: Path) -> None:
    (place / "released" / "copy.csv").rename(place.parent / "elsewhere.csv")
    (place / "released" / "copy.csv").symlink_to(place.parent / "elsewhere.csv")


def _linked_folder(place: Path) -> None:
    (place / "released").rename(place.parent / "elsewhere")
    (place / "released").symlink_to(place.parent / "elsewhere")


def _linked_record(place: Path) -> None:
    (place / "audit.json").rename(place.parent / "elsewhere.json")
    (place / "audit.json").symlink_to(place.parent / "elsewhere.json")


CHEATS: dict[str, tuple[Callable[[Path], None], str]] = {
    "edited record": (_edited, "audit.json: this record was edited since it was written"),
    "record without a seal": (_without_seal, "audit.json: this record has no seal"),
    "audit of another file": (_swapped, "this is not the file that"),
    "added file": (_added, "raw.csv: nobody has judged this file"),
    "removed file": (_removed, "copy.csv: the file that was judged is not here"),
    "linked file": (_linked_file, "copy.csv: this is no plain file"),
    "linked folder": (_linked_folder, "released: this is a link"),
    "linked record": (_linked_record, "audit.json: this is a link"),
}


@pytest.mark.parametrize("name", template_names())
@pytest.mark.parametrize("cheat", CHEATS)
def test_every_cheat_fails_under_every_policy(place: Path, cheat: str, name: str) -> None:
    """Exit 4, with the reason; no verdict is written."""
    tamper, why = CHEATS[cheat]
    tamper(place)
    found = voile("check", place, "--policy", name)
    assert found.exit_code == 4, found.output
    assert why in str(found.exception)
    assert not (place / "verdict.json").exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", template_names())
def test_an_audit_with_a_seed_passes_no_policy(judged: Path, tmp_path: Path, name: str) -> None:
    """Somebody may have tried several."""
    call = ["audit", judged / "copy.csv", "--original", judged / "original.csv", "--seed", 3]
    call += ["--targets", 50, "--attacks", "prosecutor", "--out", tmp_path / "seeded"]
    assert voile(*call).exit_code == 0
    found = voile("check", tmp_path / "seeded", "--policy", name, "--json")
    assert found.exit_code == 4
    verdict, _ = json.JSONDecoder().raw_decode(found.stdout)
    (one,) = (one for one in verdict["rulings"] if one["kind"] == "evidence")
    assert not one["passed"]
    assert "drawn with --seed" in one["why"]


@pytest.mark.slow
def test_no_one_chooses_among_draws(judged: Path) -> None:
    """The same files give the same figures; other names of files do not change them."""
    first = AuditRecord.read(judged / "judged" / "audit.json")
    assert first.run is not None
    assert first.run["seed"] is None
    found = voile("check", judged / "judged", "--policy", "gdpr", "--again")
    assert "differ" not in str(found.exception)
    assert "criteria of gdpr are not met" in str(found.exception)


@pytest.mark.slow
def test_a_record_that_was_sealed_again_is_told_by_running_again(judged: Path, place: Path) -> None:
    """Who edits all of it passes the seal, and not the inputs."""
    _edit(place / "audit.json", _tamed, seal=True)
    assert AuditRecord.read(place / "audit.json").risks[0]["found"] is False
    stated = policy(place.parent, PASSES)
    assert voile("check", place, "--policy", stated).exit_code == 0
    found = voile("check", place, "--policy", stated, "--again")
    assert found.exit_code == 4
    assert "the record is not what its inputs give: risks[singling out]" in str(found.exception)
    for name in ("0", "0.0"):
        assert f" {name}," not in str(found.exception)


@pytest.mark.slow
def test_inputs_that_moved_are_named_and_others_are_refused(judged: Path, place: Path) -> None:
    """A control of other people gives other figures, and is no input of this audit."""
    stated = policy(place.parent, PASSES)
    shutil.copy(judged / "original.csv", place.parent / "moved table.csv")
    moved = ("--again", "--original", place.parent / "moved table.csv")
    assert voile("check", place, "--policy", stated, *moved).exit_code == 0
    ORIGINAL[1:].write_csv(place.parent / "moved table.csv")
    found = voile("check", place, "--policy", stated, *moved)
    assert found.exit_code == 4
    assert "moved table.csv: this is not the original that was audited" in str(found.exception)
    found = voile("check", place, "--policy", stated, "--control", judged / "control.csv")
    assert found.exit_code == 2
    assert "give --again, too" in str(found.exception)


def test_an_edited_study_is_no_evidence(study: Path, tmp_path: Path) -> None:
    """Its record, its release with mended hashes, an added file, links."""

    def told(name: str, tamper: Callable[[Path], None], why: str) -> None:
        folder = tmp_path / name
        shutil.copytree(study / "study", folder)
        tamper(folder)
        found = voile("check", folder, "--policy", policy(tmp_path, PASSES))
        assert found.exit_code == 4, found.output
        assert why in str(found.exception)

    def rows(folder: Path) -> None:
        data, path = folder / "release" / "data.csv", folder / "release" / "release.json"
        frame = pl.read_csv(data)
        frame.with_columns(income=frame["income"].reverse()).write_csv(data)
        from voile.release.folder import manifest_of  # noqa: PLC0415

        listed = manifest_of(data.parent, ["data.csv"])
        path.write_text(json.dumps(json.loads(path.read_text()) | {"data": listed}))

    def linked(folder: Path) -> None:
        (folder / "private").rename(folder.parent / "away")
        (folder / "private").symlink_to(folder.parent / "away")

    def edited(folder: Path) -> None:
        _edit(folder / "private" / "record.json", _tamed)

    told("a", edited, "record.json: this record was edited since it was written")
    told("b", rows, "release.json: data is another than when the release was studied")
    told("c", lambda at: (at / "release" / "raw.csv").write_text("a\n"), "nobody has judged this")
    told("d", linked, "private: this is a link")
    read_record(study / "study" / "private" / "record.json", with_seal=True)
    found = voile("check", study / "study", "--policy", policy(tmp_path, PASSES), "--again")
    assert found.exit_code == 2
    assert "audit what it has published" in str(found.exception)


def test_an_edited_verdict_is_not_signed(judged: Path, place: Path, tmp_path: Path) -> None:
    """It is held against what the policy says of what stands there."""
    new_key(tmp_path / "key")
    assert voile("check", place, "--policy", "gdpr").exit_code == 4
    tick_all(place)
    path = place / "verdict.json"
    path.write_text(path.read_text().replace('"passed": false', '"passed": true'))
    found = voile("sign", place, "--key", tmp_path / "key", "--as", "officer")
    assert found.exit_code == 4
    assert "this is not what the policy says" in str(found.exception)


@pytest.fixture
def signed(place: Path, tmp_path: Path) -> Path:
    """A signed audit."""
    new_key(tmp_path / "key")
    assert voile("check", place, "--policy", policy(tmp_path, PASSES)).exit_code == 0
    assert voile("sign", place, "--key", tmp_path / "key", "--as", "officer").exit_code == 0
    assert voile("verify", place).exit_code == 0
    return place


def test_an_audit_taken_away_with_its_verdict_does_not_verify(signed: Path) -> None:
    """What was signed is named; who has the public part alone names that."""
    (signed / "audit.json").unlink()
    found = voile("verify", signed)
    assert found.exit_code == 4
    assert "audit.json, of the private part, is missing" in str(found.exception)
    for path in signed.iterdir():
        if path.is_file():
            path.unlink()
    found = voile("verify", signed)
    assert found.exit_code == 4
    assert "(audit.json, verdict.json" in str(found.exception)
    assert "was taken away" in str(found.exception)
    assert voile("verify", signed / "released").exit_code == 0


@pytest.mark.parametrize("of", ["", "released", "audit.json"])
def test_a_link_does_not_verify(signed: Path, tmp_path: Path, of: str) -> None:
    """The folder, its public part, or a private file: a link may lead elsewhere later."""
    path = signed / of
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    found = voile("verify", signed)
    assert found.exit_code == 4, found.output
    assert "link" in str(found.exception)


def test_a_sealed_record_is_read_as_it_was_written(judged: Path) -> None:
    """The seal is that of the document, whatever made it."""
    path = judged / "judged" / "audit.json"
    document = json.loads(path.read_text(encoding="utf-8"))
    assert AuditRecord.read(path).document() == document
    assert list(document)[-1] == "seal"
    path_to = judged / "again.json"
    path_to.write_text(json.dumps(document, indent=None), encoding="utf-8")
    assert AuditRecord.read(path_to) == AuditRecord.read(path)
    document["notices"] = []
    path_to.write_text(json.dumps(document | {"notices": ["x"]}), encoding="utf-8")
    with pytest.raises(RefusedError, match="was edited since it was written"):
        AuditRecord.read(path_to)


@pytest.mark.slow
def test_other_contents_draw_otherwise(judged: Path, tmp_path: Path) -> None:
    """Draws follow from contents and not from names."""
    shutil.copy(judged / "copy.csv", tmp_path / "renamed copy.csv")
    call = (judged / "original.csv", judged / "control.csv", judged / "plan.toml")
    found = audit(tmp_path / "renamed copy.csv", *call).run
    recorded = AuditRecord.read(judged / "judged" / "audit.json").run
    assert found is not None
    assert recorded is not None
    assert found["inputs"] == recorded["inputs"]
