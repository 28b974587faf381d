"""Whatever changes in a signed folder is seen by ``voile verify`` and by ``voile check``."""

from __future__ import annotations

import random
import shutil
from pathlib import Path

import pytest

from voile.signing import new_key, verify
from voile_tests.policy.cases import audited, policy, studied, voile

CHANGES, SEED = 200, 2026
CHECKED = 20
"""Of the changes, which ones the command is asked about, too."""


@pytest.fixture(scope="module", params=["study", "audit"])
def signed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study, and an audit of a file, that somebody has signed."""
    at = tmp_path_factory.mktemp("signed")
    folder = (studied if request.param == "study" else audited)(at)
    policy(at, 'kind = "group-size"\nleast = 1', more='[[signers]]\nrole = "officer"\n')
    voile("check", folder, "--policy", at / "policy.toml")
    new_key(at / "key")
    assert voile("sign", folder, "--key", at / "key", "--as", "officer").exit_code == 0
    found = verify(folder)
    assert (found.changes, found.unsigned) == ((), ())
    return folder


def _files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.rglob("*") if file.is_file())


@pytest.mark.slow
def test_two_hundred_changed_bytes_are_all_seen(signed: Path) -> None:
    """One byte of any file, public or private, signatures and salts included; also by commands."""
    files, dice = _files(signed), random.Random(SEED)
    told = {False: "verify", True: "check"}
    for number in range(CHANGES):
        file = files[number] if number < len(files) else dice.choice(files)
        whole = file.read_bytes()
        content = bytearray(whole)
        content[dice.randrange(len(content))] ^= dice.randint(1, 255)
        file.write_bytes(content)
        assert verify(signed).changes, (number, file.name)
        if number < CHECKED:
            called = [told[number % 2 == 1], signed]
            called += ["--policy", signed.parent / "policy.toml"] * (number % 2)
            assert voile(*called).exit_code in {2, 4}, (number, file.name)
        file.write_bytes(whole)
    assert not verify(signed).changes


@pytest.mark.slow
def test_removed_files_and_links_are_seen(signed: Path, tmp_path: Path) -> None:
    """Also a link to a file of the same content, which may be another tomorrow."""
    elsewhere = tmp_path / "elsewhere"
    for file in _files(signed):
        shutil.move(file, elsewhere)
        removed = voile("verify", signed)
        assert removed.exit_code == 4 or "not here" in removed.output, file.name
        file.symlink_to(elsewhere)
        assert voile("verify", signed).exit_code == 4, file.name
        file.unlink()
        shutil.move(elsewhere, file)
    assert not verify(signed).changes


@pytest.mark.slow
def test_added_files_and_folders_are_seen(signed: Path) -> None:
    """In the public part they are a change; elsewhere it is said that nobody has signed them."""
    for folder in sorted({signed, *(file.parent for file in _files(signed))}):
        for added in (folder / "added.txt", folder / "added" / "more.txt"):
            added.parent.mkdir(exist_ok=True)
            added.write_text("more")
            found = verify(signed)
            assert any("added" in one for one in (*found.changes, *found.unsigned)), added
            added.unlink()
            if added.parent != folder:
                added.parent.rmdir()
    assert not verify(signed).changes
