"""The folder of a release: hidden until it is whole, and its files as they were listed."""

from __future__ import annotations

import pytest

from voile.errors import TableError
from voile.release.folder import HIDDEN, UnseenFolder
from voile.release.manifest import changed_files, listed_files, manifest_of


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
    """They are listed in their order; and a document that lists none has none that changed."""
    assert listed_files(listed, tmp_path) == ["data/part-00000.parquet", "data/part-00001.parquet"]
    assert changed_files(listed, tmp_path) == []
    assert changed_files({}, tmp_path) == []


def test_a_file_that_was_changed_is_told(tmp_path, listed):
    """By its digest where it is as long as before, by its length otherwise, and by its absence."""
    part = tmp_path / "data" / "part-00001.parquet"
    whole = part.read_text()
    part.write_text(whole[::-1])
    (told,) = changed_files(listed, tmp_path)
    assert told == "data/part-00001.parquet was changed since it was published"
    part.write_text(whole + "1")
    assert "was changed" in changed_files(listed, tmp_path)[0]
    part.unlink()
    assert "is missing" in changed_files(listed, tmp_path)[0]


def test_a_file_that_is_not_listed_is_told(tmp_path, listed):
    """Among the parts of a release nothing else may stand."""
    (tmp_path / "data" / "part-00002.parquet").write_text("age\n1\n")
    with pytest.raises(TableError, match="does not list all files"):
        listed_files(listed, tmp_path)
