"""Only files in the start folder are opened."""

from __future__ import annotations

from pathlib import Path

import pytest

from voile_base.errors import InputError
from voile_studio.project import Start


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """A folder with two tables, a link out of it, and a table outside."""
    (tmp_path / "outside.csv").write_text("a\n1\n")
    folder = tmp_path / "data"
    (folder / "more").mkdir(parents=True)
    (folder / "people.csv").write_text("a\n1\n")
    (folder / "more" / "<b>.csv").write_text("a\n1\n")
    (folder / "notes.pdf").write_text("no table")
    (folder / "link.csv").symlink_to(tmp_path / "outside.csv")
    (folder / "up").symlink_to(tmp_path)
    return Start(folder)


def test_tables_below_are_found(start: Start):
    """And nothing else: no links, no other files."""
    assert [file.name for file in start.files()] == ["people.csv", "more/<b>.csv"]


@pytest.mark.parametrize(
    "name",
    [
        "../outside.csv",
        "more/../../outside.csv",
        "link.csv",
        "up/outside.csv",
        "/etc/passwd",
        "nothing.csv",
        "",
        "people.csv\0.parquet",
        "more/../people.csv",
        "x" * 5000,
    ],
)
def test_what_leads_out_is_refused(start: Start, name: str):
    """In words, without saying what is there."""
    if name == "":
        assert start.inside(name) == start.folder.resolve()  # which is no file
        return
    with pytest.raises(InputError, match=r"in the folder that Studio was started in"):
        start.inside(name)


def test_a_file_inside_is_named_as_commands_name_it(start: Start):
    """Relative to the folder that commands run in."""
    path = start.inside("more/<b>.csv")
    assert start.relative(path) == "more/<b>.csv"
