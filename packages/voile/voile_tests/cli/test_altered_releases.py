"""A release of which one byte was changed is believed by no command, whatever it is asked."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from voile.release.recounting import read_recounted
from voile.release.release import read_release
from voile.signing import new_key
from voile_base.errors import RefusedError
from voile_tests.policy.cases import ORIGINAL, policy, studied, voile

PAID = """
[roles]
quasi_identifiers = ["age", "town"]
sensitive = ["income"]
keep = ["hours"]
keep_unique = ["hours"]
[method]
name = "ke-anonymity"
k = 3
e = 10
"""
Call = Callable[[Path], tuple[object, ...]]
OF_RELEASE: dict[str, Call] = {
    "query": lambda at: ("query", at / "paid", "SUM(income)"),
    "attack": lambda at: ("attack", at / "paid", "--against", at / "original.csv"),
    "attack without the original": lambda at: ("attack", at / "paid"),
    "attack --previous": lambda at: ("attack", at / "other", "--previous", at / "paid"),
    "pack": lambda at: ("pack", at / "paid", "--capacity", 9_000_000, "--weight", "income"),
    "check": lambda at: ("check", at / "paid", "--policy", at / "policy.toml"),
    "audit": lambda at: (
        "audit", at / "paid", "--original", at / "original.csv", "--out", at / "judged",
    ),
    "recount": lambda at: ("recount", at / "paid"),
    "recount --against": lambda at: ("recount", at / "paid", "--against", at / "original.csv"),
}  # fmt: skip
OF_STUDY: dict[str, Call] = {
    "check": lambda at: ("check", at / "study", "--policy", at / "policy.toml"),
    "dossier": lambda at: ("dossier", at / "study", "--out", at / "page.html"),
    "verify": lambda at: ("verify", at / "study"),
    "verify the public part": lambda at: ("verify", at / "study" / "release"),
    "sign": lambda at: ("sign", at / "study", "--key", at / "key", "--as", "another"),
}
CHANGES = 50


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release, another one, and a signed study."""
    at = tmp_path_factory.mktemp("Schreibtisch für Löhne")
    studied(at)
    (at / "paid.toml").write_text(PAID)
    for name in ("paid", "other"):
        called = ("publish", at / "original.csv", "--plan", at / "paid.toml", "--out", at / name)
        assert voile(*called).exit_code == 0
    policy(at, 'kind = "group-size"\nleast = 1')
    assert voile("check", at / "study", "--policy", at / "policy.toml").exit_code == 0
    new_key(at / "key")
    assert voile("sign", at / "study", "--key", at / "key", "--as", "officer").exit_code == 0
    return at


def changed(file: Path, dice: random.Random) -> None:
    """Another byte in place of one, so that the length stays."""
    content = bytearray(file.read_bytes())
    content[dice.randrange(len(content))] ^= dice.randint(1, 255)
    file.write_bytes(content)


def _refused(desk: Path, call: Call, file: Path, times: int) -> None:
    whole, dice = file.read_bytes(), random.Random(str(file))
    try:
        for _ in range(times):
            changed(file, dice)
            found = voile(*call(desk))
            assert found.exit_code == 4, found.output
            assert file.name in str(found.exception)
            assert not (desk / "judged").exists()
            assert not (desk / "page.html").exists()
            file.write_bytes(whole)
    finally:
        file.write_bytes(whole)


@pytest.mark.parametrize("name", OF_RELEASE)
def test_every_command_refuses_a_changed_byte_of_a_release(desk: Path, name: str) -> None:
    """Exit 4, the file named; nothing is written."""
    _refused(desk, OF_RELEASE[name], desk / "paid" / "data.csv", 3)


@pytest.mark.parametrize("name", OF_STUDY)
def test_every_command_refuses_a_changed_byte_of_a_study(desk: Path, name: str) -> None:
    """The release in the folder of a study, signed or not."""
    _refused(desk, OF_STUDY[name], desk / "study" / "release" / "data.csv", 3)


def test_fifty_changed_bytes_are_all_refused(desk: Path) -> None:
    """By every reader in Python, at fifty places."""
    file, dice = desk / "paid" / "data.csv", random.Random(50)
    whole = file.read_bytes()
    for number in range(CHANGES):
        changed(file, dice)
        read = (read_release, read_recounted)[number % 2]
        with pytest.raises(RefusedError, match=r"data\.csv: this file was changed since it was"):
            read(file.parent)
        file.write_bytes(whole)
    assert read_recounted(file.parent).rows == ORIGINAL.height


@pytest.mark.slow
@pytest.mark.parametrize("name", [*OF_RELEASE, *(f"study {name}" for name in OF_STUDY)])
def test_every_command_refuses_fifty_changed_bytes(desk: Path, name: str) -> None:
    """The same at fifty places for each."""
    if name.startswith("study "):
        file = desk / "study" / "release" / "data.csv"
        _refused(desk, OF_STUDY[name.removeprefix("study ")], file, CHANGES)
    else:
        _refused(desk, OF_RELEASE[name], desk / "paid" / "data.csv", CHANGES)


@pytest.mark.parametrize("name", ["query", "attack", "check", "audit", "recount"])
def test_a_release_without_hashes_is_refused(desk: Path, tmp_path: Path, name: str) -> None:
    """It says what is missing, and what to do."""
    shutil.copytree(desk / "paid", tmp_path / "paid")
    for file in ("original.csv", "policy.toml"):
        shutil.copy(desk / file, tmp_path / file)
    path = tmp_path / "paid" / "release.json"
    path.write_text(path.read_text().replace('"sha256"', '"digest"'))
    found = voile(*OF_RELEASE[name](tmp_path))
    assert found.exit_code == 4
    assert "it lists no file with its SHA-256" in str(found.exception)
    assert "publish again" in str(found.exception)


@pytest.mark.parametrize("name", ["attack", "check", "audit", "recount"])
def test_edited_claims_are_refused_by_every_judge(desk: Path, tmp_path: Path, name: str) -> None:
    """The rows are as they were, and promise less than is said of them now."""
    shutil.copytree(desk / "paid", tmp_path / "paid")
    for file in ("original.csv", "policy.toml"):
        shutil.copy(desk / file, tmp_path / file)
    path = tmp_path / "paid" / "release.json"
    path.write_text(path.read_text().replace('"k": 3', '"k": 30'))
    found = voile(*OF_RELEASE[name](tmp_path))
    assert found.exit_code == 4
    assert "are not (30, 10)-valid" in str(found.exception)
