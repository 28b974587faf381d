"""The case studies do what they show, on the very tables that they name, and stay short."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.cases import CASES, lay_tables
from tests.docs.pages import Reader
from tools.make_case_pictures import PICTURES

_PICTURE = re.compile(r"!\[[^\]]+\]\(([^)]+)\)")


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_a_case_study_does_what_it_shows(
    case: Path, shared_data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the fetched file to the dossier; every figure in a block is compared."""
    lay_tables(case, shared_data, tmp_path)
    for name in ("COLUMNS", "VOILE_LEDGER", "VOILE_TRACEBACK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("voile.study.grid.cores", lambda: 1)
    monkeypatch.chdir(tmp_path)
    Reader().read(case)
    assert (tmp_path / "dossier.html").is_file()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
def test_a_case_study_is_read_in_ten_minutes(case: Path) -> None:
    """At most 1,500 words and six pictures, all of which the script draws."""
    text = case.read_text(encoding="utf-8")
    assert len(text.split()) <= 1_500
    shown = _PICTURE.findall(text)
    assert 1 <= len(shown) <= 6
    assert set(shown) == {f"{case.stem}-{name}.png" for name in PICTURES[case.stem]}
    assert all(case.with_name(name).is_file() for name in shown)


def test_a_table_of_another_content_is_refused(tmp_path: Path) -> None:
    """Figures hold of the file whose hash stands on the page, and of no other."""
    page, data, folder = tmp_path / "page.md", tmp_path / "data", tmp_path / "folder"
    data.mkdir()
    folder.mkdir()
    (data / "table.csv").write_text("a\n1\n")
    page.write_text(f"| `table.csv` | `{'0' * 64}` |\n")
    with pytest.raises(AssertionError, match=r"table\.csv"):
        lay_tables(page, data, folder)
