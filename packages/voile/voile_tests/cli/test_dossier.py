"""``voile dossier`` draws what was judged, and asks for nothing from anywhere."""

from __future__ import annotations

import hashlib
import shutil
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from voile.cli.dossier import _shown
from voile.study.record import PRIVATE
from voile.table.opening import published_rows
from voile_base.errors import InputError, RefusedError
from voile_tests.policy.cases import audited, policy, studied, tick_all, voile

pytest.importorskip("jinja2", reason="reports are an extra")

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study that has passed, and that somebody has signed."""
    place = tmp_path_factory.mktemp("dossier")
    plan = studied(place, "--ledger", place / "ledger.db")
    asked = 'kind = "group-size"\nleast = 11', 'kind = "question"\nsays = "all is well"'
    stated = policy(place, *asked, more='[[signers]]\nrole = "officer"\n')
    voile("check", plan, "--policy", stated)
    tick_all(plan / "private")
    voile("check", plan, "--policy", stated)
    voile("key", place / "key")
    assert voile("sign", plan, "--key", place / "key", "--as", "officer").exit_code == 0
    return plan


def test_the_value_that_most_rows_show_is_named_by_column(tmp_path: Path) -> None:
    """Of columns with one value in half of the rows or more, as everybody sees in the release."""
    frame = pl.DataFrame(
        {"born": ["*"] * 4, "zip": ["79***"] * 3 + ["78***"], "sex": list("abcd"),
         "age.low": [1, 1, 1, 5], "age.high": [4, 4, 4, 9],
         "pay.low": [None, None, None, 9], "pay.high": [None, None, None, 12]}
    )  # fmt: skip
    columns = {key: {"kind": "set"} for key in ("born", "zip", "sex", "age", "pay", "withheld")}
    assert dict(_shown(published_rows(frame), {"columns": columns})) == {
        "born": "one value, *, in all rows",
        "zip": "one value, 79***, in 75\xa0% of rows",
        "age": "one value, 1 to 4, in 75\xa0% of rows",
        "pay": "no value in 75\xa0% of rows",
    }


@pytest.mark.slow
def test_both_parts_are_drawn_into_files_of_their_own(folder: Path, tmp_path: Path) -> None:
    """The private one for its owner alone, the public one without what is private."""
    found = voile("dossier", folder, "--out", tmp_path / "d.html")
    assert found.exit_code == 0, found.output
    text = (tmp_path / "d.html").read_text()
    assert PRIVATE in text
    assert "unaltered since signed as" in text
    assert (tmp_path / "d.html").stat().st_mode & 0o077 == 0
    assert voile("dossier", folder, "--out", tmp_path / "p.html", "--public").exit_code == 0
    assert PRIVATE not in (tmp_path / "p.html").read_text()
    found = voile("dossier", folder, "--out", tmp_path / "d.html")
    assert "something is here already" in str(found.exception)
    found = voile("dossier", folder, "--out", tmp_path / "p.html", "--public")
    assert "something is here already" in str(found.exception)


def test_what_an_audit_noticed_is_told_to_those_who_decide(tmp_path: Path) -> None:
    """In the private part, which says when it was drawn, and of which verdict."""
    judged = audited(tmp_path)
    stated = policy(tmp_path, 'kind = "group-size"\nleast = 1')
    assert voile("check", judged, "--policy", stated).exit_code == 0
    assert voile("dossier", judged, "--out", tmp_path / "d.html").exit_code == 0
    text = (tmp_path / "d.html").read_text()
    assert "Rows stand in the order of the original" in text
    verdict = next(tmp_path.rglob("verdict.json"))
    digest = hashlib.sha256(verdict.read_bytes()).hexdigest()[:16]
    judged_at = datetime.fromtimestamp(verdict.stat().st_mtime, UTC)
    assert f"of the verdict of {judged_at:%Y-%m-%d %H:%M} UTC (SHA-256 {digest})" in text
    assert "draw the dossier again" in text
    assert voile("dossier", judged, "--out", tmp_path / "p.html", "--public").exit_code == 0
    assert "the order of the original" not in (tmp_path / "p.html").read_text()


def test_a_verdict_of_something_else_is_not_drawn(folder: Path, tmp_path: Path) -> None:
    """Nothing stands at --out where the ticks were changed since, or nothing was checked."""
    copy = tmp_path / "copy"
    shutil.copytree(folder, copy)
    (copy / "release" / "signatures.json").unlink()
    (copy / "private" / "assumptions.toml").unlink()
    found = voile("dossier", copy, "--out", tmp_path / "d.html")
    assert isinstance(found.exception, RefusedError)
    (copy / "private" / "verdict.json").unlink()
    found = voile("dossier", copy, "--out", tmp_path / "d.html")
    assert "run voile check first" in str(found.exception)
    found = voile("dossier", copy / "release", "--out", tmp_path / "d.html")
    assert isinstance(found.exception, InputError)
    assert not (tmp_path / "d.html").exists()


def test_a_browser_asks_for_nothing(folder: Path, tmp_path: Path) -> None:
    """Chromium opens both parts at the width of a screen, and fetches the file alone."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("Chromium is not installed")
    voile("dossier", folder, "--out", tmp_path / "d.html")
    voile("dossier", folder, "--out", tmp_path / "p.html", "--public")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        asked: list[str] = []
        said: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: said.append(message.text))
        for name in ("d.html", "p.html"):
            page.goto((tmp_path / name).as_uri())
            assert page.evaluate("document.documentElement.scrollWidth") <= 1280
        assert asked == [(tmp_path / name).as_uri() for name in ("d.html", "p.html")]
        assert not said
        browser.close()
