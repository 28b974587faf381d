"""A new user in a real browser: from a table to a signed release, without typing a plan."""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests import waiting

sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
pytest.importorskip("fastapi")

PATIENCE = 1000 * waiting.PATIENCE
"""Milliseconds."""
MOST_ACTIONS = 25
POLICY = """
name = "office"
source = "decision of the board"
audience = "researchers"

[[criteria]]
kind = "group-size"
least = 5

[[criteria]]
kind = "assumptions"

[[criteria]]
kind = "question"
says = "the recipient has signed the terms of use"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a table of stays, some persons with two, and a policy."""
    draw = random.Random(7)
    lines = ["patient_id,age,sex,diagnosis,cost"]
    for number in range(300):
        age, sex = draw.randrange(18, 90), draw.choice("fm")
        for _ in range(draw.choice((1, 1, 2))):
            illness = draw.choice(("asthma", "flu", "migraine"))
            lines.append(f"P{number:05},{age},{sex},{illness},{round(draw.lognormvariate(7, 1))}")
    (tmp_path / "stays.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "policy.toml").write_text(POLICY)
    return tmp_path


@pytest.fixture
def address(folder: Path) -> Iterator[str]:
    """Where Studio is, once."""
    command = [sys.executable, "-m", "voile", "studio", str(folder / "stays.csv"), "--no-browser"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as studio:
        assert studio.stderr is not None
        found = re.search(r"http\S+", studio.stderr.readline())
        assert found is not None
        yield found[0]
        studio.terminate()


class User:
    """Somebody with a browser, whose actions are counted."""

    def __init__(self, page: Any) -> None:
        self.page, self.actions = page, 0
        self.complaints: list[str] = []
        self.asked: list[str] = []
        page.set_default_timeout(PATIENCE)
        page.on("console", lambda said: self.complaints.append(said.text))
        page.on("request", lambda request: self.asked.append(request.url))

    def click(self, what: str) -> None:
        """A click."""
        self.actions += 1
        self.page.click(what)

    def fill(self, what: str, text: str) -> None:
        """Typing into a field."""
        self.actions += 1
        self.page.fill(what, text)

    def choose(self, what: str, option: str) -> None:
        """A choice from a list."""
        self.actions += 1
        self.page.select_option(what, option)


@pytest.mark.slow
def test_from_a_table_to_a_signed_release(folder: Path, address: str):
    """In at most 25 actions, without TOML, complaints, or requests to anywhere else."""
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("there is no Chromium on this machine")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        user = User(browser.new_page())
        user.page.goto(address)
        user.page.wait_for_selector("text=Exposure")
        walk(user)
        browser.close()
    assert user.actions <= MOST_ACTIONS
    assert user.complaints == []
    home = address.split("/enter", maxsplit=1)[0]
    assert all(url.startswith(home) for url in user.asked)
    release = folder / "stays.voile" / "releases" / "001"
    assert len(json.loads((release / "release" / "signatures.json").read_text())["signatures"]) == 1
    verify = [sys.executable, "-m", "voile", "verify", str(release)]
    assert subprocess.run(verify, check=False).returncode == 0
    with (release / "release" / "data.csv").open("a") as data:
        data.write("\n")
    assert subprocess.run(verify, check=False).returncode == 4


def walk(user: User) -> None:
    """Plan, try, use, publish, hold against the policy, tick, sign."""
    user.click("text=Go on to the plan")
    user.click("text=Go on to try it")
    user.fill('form[aria-label="Make people alike"] input >> nth=0', "5, 10")
    user.click('form[aria-label="Make people alike"] button')
    user.page.wait_for_selector("svg.picture")
    user.click("svg.picture a >> nth=0")
    user.click("text=Use this one")
    user.click("button.deed")
    user.page.wait_for_selector("text=Release 1")
    user.click("text=Its evidence")
    user.choose("select[name=policy]", "policy.toml")
    user.click("text=Hold it against this")
    user.page.wait_for_selector(".assumptions input[type=checkbox]")
    for box in range(user.page.locator(".assumptions input[type=checkbox]").count()):
        user.click(f".assumptions input[type=checkbox] >> nth={box}")
    user.fill("input[name=by]", "data protection officer")
    user.click("text=Keep the ticks")
    user.page.wait_for_selector("text=/criteria are met/")
    user.page.wait_for_function(
        "() => !document.querySelector('.job') && !document.querySelector('.rulings .unmet')"
    )
    user.click("nav >> text=Sign off")
    user.click("text=Make a key")
    user.page.wait_for_selector("input[name=role]")
    user.fill("input[name=role]", "data protection officer")
    user.click('button:text-is("Sign")')
    user.page.wait_for_selector("text=Signed by")
