"""The folder of a release: hidden until it is whole, and its files as they were listed."""

from __future__ import annotations

import pytest

from voile.release.folder import HIDDEN, UnseenFolder, changed_files, manifest_of, verified_files
from voile_base.errors import RefusedError


def test_a_release_that_is_being_made_is_hidden_beside_its_place(tmp_path):
    """Its folder is known by the beginning of its name, and is gone where nothing came of it."""
    unseen = UnseenFolder(tmp_path / "out")
    assert unseen.path.parent == tmp_path
    assert HIDDEN.startswith(".")
    assert unseen.path.name.startswith(HIDDEN)
    unseen.remove()
    assert list(tmp_path.iterdir()) == []
    kept = UnseenFolder(tmp_path / "out")
    (kept.path / "data.csv").write_text("x")
    kept.appear()
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


@pytest.fixture
def listed(tmp_path):
    """The document of a release of two files."""
    (tmp_path / "data").mkdir()
    names = ["data/part-00000.parquet", "data/part-00001.parquet"]
    for name in names:
        (tmp_path / name).write_text(f"age\n{len(name)}\n")
    return {"data": manifest_of(tmp_path, names)}


def test_files_that_stayed_as_they_were_are_not_told(tmp_path, listed):
    """They are listed in their order."""
    files = verified_files(listed, tmp_path)
    assert files.names == ("data/part-00000.parquet", "data/part-00001.parquet")
    assert files.whole == tmp_path / "data"
    assert changed_files(listed, tmp_path) == []


@pytest.mark.parametrize("listed_as", [None, [], [{"file": "data.csv"}], "data.csv", [3], {"a": 1}])
def test_a_document_without_hashes_is_refused(tmp_path, listed_as):
    """Nobody could tell altered rows from published ones."""
    with pytest.raises(RefusedError, match="lists no file with its SHA-256"):
        verified_files({"data": listed_as}, tmp_path)
    assert changed_files({"data": listed_as}, tmp_path)


def test_a_release_that_is_replaced_while_it_is_read_is_refused(tmp_path, listed):
    """Also by a file of the same bytes: nobody knows which of the two was read."""
    files = verified_files(listed, tmp_path)
    files.require_unchanged()
    part = tmp_path / files.names[0]
    content = part.read_bytes()
    part.rename(tmp_path / "aside")
    part.write_bytes(content)
    with pytest.raises(RefusedError, match="was replaced while it was read"):
        files.require_unchanged()


def test_a_file_that_was_changed_is_told(tmp_path, listed):
    """By its digest where it is as long as before, by its length otherwise, and by its absence."""
    part = tmp_path / "data" / "part-00001.parquet"
    whole = part.read_text()
    part.write_text(whole[::-1])
    (told,) = changed_files(listed, tmp_path)
    assert told == f"{part}: this file was changed since it was published"
    part.write_text(whole + "1")
    assert "was changed" in changed_files(listed, tmp_path)[0]
    part.unlink()
    assert "is missing" in changed_files(listed, tmp_path)[0]


def test_a_file_that_is_not_listed_is_told(tmp_path, listed):
    """Among the parts of a release nothing else may stand."""
    (tmp_path / "data" / "part-00002.parquet").write_text("age\n1\n")
    with pytest.raises(RefusedError, match=r"part-00002.parquet: the release does not list this"):
        verified_files(listed, tmp_path)


def test_a_second_file_of_rows_beside_the_listed_one_is_told(tmp_path):
    """A reader that knows the usual names must not take the wrong one."""
    (tmp_path / "data.csv").write_text("age\n1\n")
    document = {"data": manifest_of(tmp_path, ["data.csv"])}
    for allowed in ("release.json", "signatures.json", ".DS_Store", "Thumbs.db"):
        (tmp_path / allowed).write_text("{}")
    assert verified_files(document, tmp_path).whole == tmp_path / "data.csv"
    for added in ("data.parquet", "raw.csv", ".raw", "notes.txt", "people/raw.csv"):
        (tmp_path / added).parent.mkdir(exist_ok=True)
        (tmp_path / added).write_text("age\n2\n")
        told = rf"{added.partition('/')[0]}: the release does not list this file"
        with pytest.raises(RefusedError, match=told):
            verified_files(document, tmp_path)
        (tmp_path / added).unlink()
    (tmp_path / "people").rmdir()
    assert verified_files(document, tmp_path).whole == tmp_path / "data.csv"
