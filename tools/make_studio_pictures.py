"""Draw the pictures of docs/studio.md again: Studio in a real browser, on the example table.

    python tools/make_studio_pictures.py

Needs Playwright and a Chromium.  The people in the table never existed.
"""

from __future__ import annotations

import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent.parent / "docs"
ROWS = 1_200
PATIENCE = 300_000
"""Milliseconds."""


def main() -> None:
    """Make docs/studio-data.png and its likes, one for each screen."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - a tool of its own

    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright:
        table = Path(name) / "patients.csv"
        table.write_text(people(), encoding="utf-8")
        command = [sys.executable, "-m", "voile", "studio", str(table), "--no-browser"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as studio:
            assert studio.stderr is not None
            address = re.search(r"http\S+", studio.stderr.readline())
            assert address is not None
            chromium = shutil.which("chromium")
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            draw(browser.new_page(viewport={"width": 1200, "height": 760}), address[0])
            browser.close()
            studio.terminate()


def draw(page: Any, address: str) -> None:
    """Go through the screens and keep what they look like."""
    page.set_default_timeout(PATIENCE)
    page.goto(address)
    page.wait_for_selector("text=Exposure")
    keep(page, "data")
    page.goto(page.url.replace("/data", "/plan"))
    keep(page, "plan")
    page.goto(page.url.replace("/plan", "/try"))
    card = page.locator('form[aria-label="k-anonymity (generalization)"]')
    card.locator("input[name='generalization.k']:not([value])").fill("3, 50")
    card.locator("button").click()
    page.wait_for_selector("svg.picture")
    keep(page, "try")
    page.click('th a:text-is("k = 5")')
    page.click("text=Show such a release")
    page.wait_for_selector("h3:text-is('Rows before and after') ~ div table")
    page.locator("h2:has-text('What became of the table')").scroll_into_view_if_needed()
    page.evaluate("document.querySelectorAll('h2')[2].scrollIntoView()")
    keep(page, "study")
    page.click("text=Use this one")
    page.click("button.deed")
    page.wait_for_selector("text=Release 1")
    keep(page, "sign")
    page.click("text=Its evidence >> nth=0")
    page.wait_for_selector("text=The three risks that")
    page.evaluate("window.scrollTo(0, 0)")
    keep(page, "evidence")


def keep(page: Any, name: str) -> None:
    """Keep what is seen of a page."""
    page.mouse.move(0, 0)
    page.screenshot(path=DOCS / f"studio-{name}.png")


def people() -> str:
    """A table of patients with one or several stays each, as CSV."""
    draw = random.Random(2026)  # noqa: S311 - an example
    lines = ["patient_id,age,sex,postcode,admitted,diagnosis,cost"]
    for number in range(ROWS * 2 // 3):
        age, sex = draw.randrange(18, 96), draw.choice("fm")
        postcode = draw.choice(("10115", "10117", "10119", "12043", "12045", "14050", "14052"))
        for _ in range(draw.choice((1, 1, 2))):
            day = f"2026-{draw.randrange(1, 7):02}-{draw.randrange(1, 29):02}"
            illness = draw.choice(("asthma", "diabetes", "flu", "fracture", "migraine"))
            cost = round(draw.lognormvariate(7.5, 0.7))
            lines.append(f"P{number:05},{age},{sex},{postcode},{day},{illness},{cost}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
