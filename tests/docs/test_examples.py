"""Every example of the documentation does what it shows; see ``pages`` for how they are run."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from shutil import copytree

import pytest

from tests.docs.cases import CASES
from tests.docs.pages import LANGUAGES, PAGES, Block, Reader, blocks_of
from voile_base.errors import PlanError
from voile_base.main import main
from voile_testing.plugin import some_slow

SLOW = {
    "auditing", "chain", "clustered-laplace", "dp-generalization", "dp-synthesis", "dp-tables",
    "engineer", "gdpr", "generalization", "geo-indistinguishability", "i-must-show",
    "ke-anonymity", "ledger", "packing", "patients", "policy", "ranking", "researcher", "sdcmicro",
    "second-opinion", "small-cells", "studies", "survey",
}  # fmt: skip
RUN = some_slow([page for page in PAGES if page not in CASES], [p for p in PAGES if p.stem in SLOW])


@pytest.fixture(scope="module")
def demonstrated(tmp_path_factory):
    """What ``voile demo`` leaves in a folder."""
    folder = tmp_path_factory.mktemp("example") / "somewhere"
    said = io.StringIO()
    with (
        contextlib.redirect_stdout(said),
        contextlib.redirect_stderr(said),
        pytest.raises(SystemExit) as leave,
    ):
        main(["demo", "--out", str(folder)])
    assert not leave.value.code, said.getvalue()
    return folder


@pytest.fixture
def desk(demonstrated, tmp_path, monkeypatch):
    """A folder that the demonstration left, with nothing set in the environment, and one core."""
    tmp_path /= "desk"
    copytree(demonstrated, tmp_path)
    for name in ("COLUMNS", "VOILE_LEDGER", "VOILE_TRACEBACK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("voile.study.grid.cores", lambda: 1)  # others start, and load all anew
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("page", RUN, ids=lambda page: page.name)
def test_the_examples_of_a_page_do_what_they_show(page, desk):
    """Python runs, commands print what is shown and exit as is said, plans are valid."""
    Reader().read(page)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_of_a_page_is_of_a_known_language(page):
    """No example escapes by a misspelt language: only sh and text are not run."""
    for block in blocks_of(page):
        assert block.language in LANGUAGES, block.place
        assert block.language != "sh" or "voile" not in block.text.split(), block.place


@pytest.mark.parametrize(
    ("language", "text", "error"),
    [
        ("console", "$ echo one\ntwo\n", "page.md:1: echo one: the output is\none"),
        ("console", "$ printf 'one\\ntwo\\n'\none\n", "the output is\none\ntwo"),
        ("console", "$ echo\n$ false\n", "page.md:2: false: exit status 1"),
        ("console", "$ false\n$ echo $?\n0\n", "the output is\n1"),
        ("console", "$ voile inspect no-such.csv\n", "exit status 2"),
        ("console", "$ voile inspect payroll-january.csv\n...\nno line\n...\n", "160 rows"),
        ("python", "assert 1 + 1 == 3, 'not so'\n", "not so"),
        ("toml", "[role]\n", "unknown key 'role'"),
    ],
)
def test_an_example_that_is_wrong_is_found(language, text, error, desk):
    """Wrong output, a status that is not shown, a false assertion, a bad plan: each is told."""
    with pytest.raises((AssertionError, PlanError), match=re.escape(error)):
        Reader().follow(Block(Path("page.md"), language, 1, text))


@pytest.mark.slow
def test_an_example_that_is_right_passes(desk):
    """Left-out lines and parts of lines fit anything, and a failure may be shown."""
    shown = (
        "$ voile inspect payroll-january.csv --quasi-identifiers \\\n    age,sex\n"
        "payroll-january.csv: ... rows, 7 columns (private)\n...\n"
        "$ voile inspect no-such.csv\nvoile: no-such.csv: ...\n$ echo $?\n2\n"
    )
    Reader().follow(Block(Path("page.md"), "console", 1, shown))
