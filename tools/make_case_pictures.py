"""Draw the pictures of docs/cases again: what their commands write, in a real browser.

    python tools/make_case_pictures.py ../shared/data

Each page is followed from its top, in a folder with the tables that it names; then parts of the
report and of the dossier that it has written become pictures.  Needs Playwright and a Chromium.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.docs.cases import CASES, lay_tables
from tests.docs.pages import Reader

PICTURES = {
    "census-excerpt": {
        "risks": ("dossier.html", "#risks figure svg"),
        "dossier": ("dossier.html", "body"),
    },
    "hospital-stays": {
        "attacks": ("stays/private/report.html", "#attacks-found figure svg"),
        "age": ("stays/private/report.html", "figure:has(figcaption:text-is('age')) svg"),
        "dossier": ("dossier.html", "body"),
    },
    "household-survey": {
        "utility": ("survey/private/report.html", "#utility figure svg"),
        "relat": ("survey/private/report.html", "figure:has(figcaption:text-is('relat')) svg"),
        "dossier": ("dossier.html", "body"),
    },
    "shop-payments": {
        "state": ("november/private/report.html", "figure:has(figcaption:text-is('state')) svg"),
        "dossier": ("dossier.html", "body"),
    },
}
"""For each page the file and the part of it that a picture shows."""
_PAGE = {"width": 840, "height": 1080}


def draw(browser: Any, data: Path, case: Path, folder: Path) -> None:
    """Follow a page in a folder, and keep its pictures beside it."""
    lay_tables(case, data, folder)
    os.chdir(folder)
    Reader().read(case)
    for name, (file, part) in PICTURES[case.stem].items():
        page = browser.new_page(viewport=_PAGE)
        page.goto((folder / file).as_uri())
        target = case.with_name(f"{case.stem}-{name}.png")
        if part == "body":
            page.screenshot(path=target)
        else:
            page.locator(part).first.screenshot(path=target)
        page.close()


def main() -> None:
    """Draw all pictures, or those of the pages that are named after the folder of tables."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - a tool of its own

    data, wanted = Path(sys.argv[1]).resolve(), set(sys.argv[2:])
    with sync_playwright() as playwright:
        chromium = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for case in CASES:
            if not wanted or case.stem in wanted:
                with tempfile.TemporaryDirectory() as name:
                    draw(browser, data, case, Path(name))
        browser.close()


if __name__ == "__main__":
    main()
