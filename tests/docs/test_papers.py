"""The pages of the papers: each numbered thing has an entry, a file, and what shows it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.paper_items import PAPERS
from voile_testing.plugin import ROOT

PAGES = ROOT / "docs/papers"
_LINES = (ROOT / "benchmarks/results.jsonl").read_text(encoding="utf-8").splitlines()
RECORDS = {json.loads(line)["name"] for line in _LINES}
_FILE = re.compile(r"`((?:\w+/)*\w+\.py)`")
_TEST = re.compile(r"`((?:packages|tests)/[\w/-]+\.py)::(\w+)`")
_RECORD = re.compile(r"\[([\w.]+)\]\(\.\./\.\./benchmarks/RESULTS\.md#([\w-]+)\)")
_CELLS = re.compile(r"(?<!\\)\|")


def entries(page: Path) -> Iterator[list[str]]:
    """The rows of all tables of a page, by their cells."""
    for line in page.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in _CELLS.split(line)[1:-1]]
        if cells and cells[0] not in ("item", "---"):
            yield cells


@pytest.mark.parametrize("paper", PAPERS)
def test_every_numbered_thing_has_one_entry(paper: str) -> None:
    """The page has the items of the paper, each once, and no other."""
    found = [cells[0] for cells in entries(PAGES / f"{paper}.md")]
    assert sorted(found) == sorted(PAPERS[paper])


@pytest.mark.parametrize("paper", PAPERS)
def test_every_entry_names_a_file_and_what_shows_it(paper: str) -> None:
    """Files, tests and records that an entry names exist; it names one of each kind at least."""
    for label, about, where, shown, departs in entries(PAGES / f"{paper}.md"):
        assert about, label
        files = _FILE.findall(where)
        assert files, label
        for file in files:
            assert any(ROOT.glob(f"packages/*/src/{file}")) or (ROOT / file).exists(), (label, file)
        tests = _TEST.findall(f"{shown} {departs}")
        records = _RECORD.findall(f"{shown} {departs}")
        assert _TEST.search(shown) or _RECORD.search(shown), label
        for file, name in tests:
            assert f"\ndef {name}(" in (ROOT / file).read_text(encoding="utf-8"), (label, name)
        for name, anchor in records:
            assert name in RECORDS, (label, name)
            assert anchor == name.replace(".", ""), (label, anchor)


def test_what_the_pages_call_lost_is_lost_and_nothing_else_is() -> None:
    """No page says that something was not at hand, which the papers print."""
    for page in (*PAGES.glob("*.md"), ROOT / "docs/researcher.md"):
        text = page.read_text(encoding="utf-8").lower()
        assert not re.search(r"in our copy|reconstructed|not at hand", text), page.name


def test_the_page_of_printed_versions_lists_each_paper() -> None:
    """Each paper has versions there, and each page leads to it."""
    printed = (PAGES / "as-printed.md").read_text(encoding="utf-8")
    for paper in PAPERS:
        assert f"({paper}.md)" in printed
        assert "(as-printed.md)" in (PAGES / f"{paper}.md").read_text(encoding="utf-8")
