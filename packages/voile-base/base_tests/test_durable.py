"""Files and folders that are whole, or not there."""

from __future__ import annotations

import os
import stat

import pytest

from voile_base.durable import new_private_file, new_private_folder, sync, write_text
from voile_base.errors import InputError


def filled(place):
    with new_private_folder(place) as folder:
        (folder / "file").write_text("held")
    return place


def test_a_folder_appears_with_what_was_put_in_it(tmp_path):
    """It is its owner's alone, and comes where nothing or an empty folder was."""
    (tmp_path / "empty").mkdir()
    for place in (tmp_path / "new", tmp_path / "empty"):
        assert (filled(place) / "file").read_text() == "held"
        assert stat.S_IMODE(place.stat().st_mode) == 0o700


def test_a_folder_that_is_not_finished_leaves_nothing(tmp_path):
    """An error inside goes on as it is, one of the disk in words; neither leaves a folder."""
    with pytest.raises(ZeroDivisionError), new_private_folder(tmp_path / "new") as folder:
        (folder / "file").write_text(f"half {1 // 0}")
    with pytest.raises(InputError, match="cannot be made"), new_private_folder(tmp_path / "new"):
        raise OSError(28, os.strerror(28))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("place", ["file", "full", "file/below", "far/off"])
def test_what_stands_there_is_never_replaced(tmp_path, place):
    """Files and filled folders are refused, and stay; parents are not made."""
    (tmp_path / "file").write_text("mine")
    filled(tmp_path / "full")
    with pytest.raises(InputError):
        filled(tmp_path / place)
    assert (tmp_path / "file").read_text() == "mine"
    assert len(list(tmp_path.iterdir())) == 2


def test_a_new_private_file_appears_whole(tmp_path):
    """It has its text, is its owner's alone, and nothing else is left beside it."""
    new_private_file(tmp_path / "file", "söme")
    assert (tmp_path / "file").read_text("utf-8") == "söme"
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]


def test_a_new_private_file_replaces_nothing(tmp_path):
    """Files, folders and links that lead nowhere stay as they are, and no folder is made."""
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    before = set(tmp_path.iterdir())
    for name in ("file", "folder", "link"):
        with pytest.raises(InputError, match="something is here already"):
            new_private_file(tmp_path / name, "x")
    with pytest.raises(InputError, match="cannot be made"):
        new_private_file(tmp_path / "far" / "off", "x")
    assert set(tmp_path.iterdir()) == before
    assert (tmp_path / "file").read_text() == "mine"


def test_a_private_file_that_cannot_be_finished_leaves_nothing(tmp_path, monkeypatch):
    """A disk that fails before the file has its name leaves neither it nor a part of it."""

    def full(*_):
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(InputError, match="cannot be made"):
        new_private_file(tmp_path / "file", "x")
    assert not list(tmp_path.iterdir())


def test_private_files_are_their_owners_alone(tmp_path):
    """A file has its text and nothing of a longer one before it; a private one has mode 0600."""
    write_text(tmp_path / "file", "a longer text")
    write_text(tmp_path / "file", "söme")
    write_text(tmp_path / "private", "x", private=True)
    assert (tmp_path / "file").read_text("utf-8") == "söme"
    assert stat.S_IMODE((tmp_path / "private").stat().st_mode) == 0o600
    sync(tmp_path)
    with pytest.raises(OSError, match="No such file"):
        sync(tmp_path / "absent")
