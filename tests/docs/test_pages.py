"""What the documentation names exists, and what exists is named."""

from __future__ import annotations

import re
from dataclasses import fields

import pytest

import voile
from tests.docs.pages import PAGES, ROOT, blocks_of
from tools import make_cli_reference
from voile.publish.ke_anonymity import KEAnonymity
from voile.schema.plan import ColumnPlan
from voile.schema.roles import Roles

DOCS = ROOT / "docs"
_LINK = re.compile(r"\[[^\]]+\]\(([^)\s]+)\)")


def anchors(page):
    """The anchors that forges give to the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    """Links inside the repository name a file that exists, and a heading that it has."""
    for link in _LINK.findall(page.read_text(encoding="utf-8")):
        if "://" in link:
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page.name}: {link}"
        assert not anchor or anchor in anchors(target), f"{page.name}: {link}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_fence_begins_its_line(page):
    """A block in a list would not be run, so there is none."""
    assert not re.search(r"^[ >]+```", page.read_text(encoding="utf-8"), re.MULTILINE)


def test_the_command_line_reference_is_that_of_the_commands():
    """`make docs` would change nothing."""
    written = make_cli_reference.PAGE.read_text(encoding="utf-8")
    assert written == make_cli_reference.reference(), "run `make docs`"


def test_the_reference_check_sees_a_drift(tmp_path, monkeypatch, capsys):
    """--check passes on a page that was just written, and fails on one that was edited."""
    page = tmp_path / "reference" / "cli.md"
    monkeypatch.setattr(make_cli_reference, "PAGE", page)
    for before, arguments, status in (
        (None, [], 0),
        (None, ["--check"], 0),
        ("edited", ["--check"], 1),
    ):
        if before:
            page.write_text(before, encoding="utf-8")
        with pytest.raises(SystemExit) as leave:
            make_cli_reference.main(arguments)
        assert leave.value.code == status
    assert "make docs" in capsys.readouterr().err


def test_every_public_name_has_an_example():
    """Each name of ``voile.__all__`` stands in an example of the page for engineers."""
    examples = "".join(b.text for b in blocks_of(DOCS / "engineer.md") if b.language == "python")
    missing = [name for name in voile.__all__ if f"voile.{name}" not in examples]
    assert not missing


def test_every_key_of_a_plan_is_explained():
    """Each key stands in the custodian's table, and the table has no other."""
    explained = re.findall(
        r"^\| `((?:\[[\w.]+\] )?\w+)` \|", (DOCS / "custodian.md").read_text("utf-8"), re.MULTILINE
    )
    wanted = ["nulls", "missing", "[method] name"]
    wanted += [f"[roles] {field.name}" for field in fields(Roles)]
    wanted += [f"[columns.X] {field.name}" for field in fields(ColumnPlan)]
    wanted += [f"[method] {field.name}" for field in fields(KEAnonymity)]
    assert sorted(explained) == sorted(wanted)


def test_every_counterexample_is_named():
    """The tests that the page for researchers names exist, and all that have a history are."""
    source = (ROOT / "tests" / "publish" / "test_ke_counterexamples.py").read_text("utf-8")
    named = re.findall(r"`(test_\w+)` \|$", (DOCS / "researcher.md").read_text("utf-8"), re.M)
    assert len(named) >= 10
    assert not [name for name in named if f"def {name}(" not in source]


def test_every_command_for_a_shell_exists():
    """Targets of the Makefile and names of benchmarks that the pages give are there."""
    text = "".join(b.text for page in PAGES for b in blocks_of(page) if b.language == "sh")
    targets = re.findall(r"^make (\w+)", text, re.MULTILINE)
    benchmarks = re.findall(r"^python -m benchmarks ([a-z_]+)", text, re.MULTILINE)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert targets
    assert benchmarks
    for target in targets:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target
    for name in benchmarks:
        assert (ROOT / "benchmarks" / f"{name}.py").is_file(), name
