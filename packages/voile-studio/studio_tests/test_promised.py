"""The ledger as a page: what was promised, spent and held back, and what publishing will cost."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest

pytest.importorskip("fastapi")

from studio_tests.studio import Visitor
from studio_tests.test_repeated import table
from voile import make_release
from voile.study.transaction import ReleaseTransaction
from voile_studio.planning import plan_of
from voile_studio.project import Project, Start

BUDGET = """
[roles]
quasi_identifiers = ["age"]
sensitive = ["diagnosis"]

[columns.age]
bounds = [0, 120]

[budget]
data_set = "people"
epsilon = 3
neighbours = "replace"

[method]
name = "clustered-laplace"
epsilon = 2
"""
SERIES = """
[roles]
quasi_identifiers = ["sex"]
sensitive = ["age"]

[method]
name = "ke-anonymity"
k = 3
e = 2
series = "monthly"
"""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """Of a table of 60 persons."""
    table(tmp_path, rows=60)
    return Start(tmp_path).project("people.csv")


def publish(project: Project, plan: str, name: str) -> None:
    """By this plan, charged to the project's ledger."""
    project.keep_plan(plan)
    (project.folder / "releases").mkdir(exist_ok=True)
    out = project.folder / "releases" / name
    make_release(project.source, project.plan, out, ledger=project.ledger)


def told(project: Project) -> str:
    """What the page of the button says of the ledger."""
    plan = plan_of(project.plan)
    assert plan is not None
    return project.charge_summary(plan)


@pytest.mark.slow
def test_a_charge_is_told_before_it_is_spent(project: Project):
    """With what is spent so far, and that more than is left will be refused."""
    project.keep_plan(BUDGET)
    assert told(project).startswith("is charged epsilon = 2 for the data set 'people'")
    assert "so far 0 of epsilon = 3 is spent" in told(project)
    publish(project, BUDGET, "x")
    assert "so far 2 of epsilon = 3 is spent, and 1 is left: publishing will be" in told(project)
    assert told(project) in html.unescape(Visitor(project.start.folder).get("/p/people/sign").text)


@pytest.mark.parametrize(
    ("plan", "said"),
    [
        (BUDGET.replace('[budget]\ndata_set = "people"\nepsilon = 3\n', "[x]\n"), "not counted"),
        (SERIES, "into the series 'monthly', as its first"),
        (SERIES.replace('series = "monthly"\n', ""), "spends no budget"),
    ],
)
def test_what_is_not_charged_is_told(project: Project, plan: str, said: str):
    """A method that spends and is not counted, a series, neither of them."""
    project.keep_plan(plan.replace('[x]\nneighbours = "replace"\n', ""))
    assert said in told(project)


@pytest.mark.slow
def test_an_account_can_be_read(project: Project):
    """The limit, what is spent by which mechanism, and what is left; no raw document."""
    publish(project, BUDGET, "x")
    page = Visitor(project.start.folder).wait("/p/people/ledger", "Data set")
    assert "<strong>2</strong> of epsilon = 3 is spent" in page
    assert "<strong>1</strong> is left" in page
    assert re.search(r"<td>[a-z-]+: epsilon ", page)
    assert "<pre>" not in page
    assert "never appeared" not in page


@pytest.mark.slow
def test_a_release_that_never_appeared_is_settled_once(
    project: Project, monkeypatch: pytest.MonkeyPatch
):
    """Of the newest alone, and not by a page that shows an older state."""
    with monkeypatch.context() as patch:
        patch.setattr(ReleaseTransaction, "settle", lambda self, publication: publication)
        publish(project, SERIES, "y")
    visitor = Visitor(project.start.folder)
    page = visitor.wait("/p/people/ledger", "Series")
    assert "is not known to stand" in page
    assert "the newest of which is not settled yet" in told(project)
    found = re.search(r'name="release" value="(\w+)"', page)
    assert found is not None
    wrong = visitor.post("/p/people/ledger/settle", lost="monthly", release="0" * 32)
    assert wrong.status_code == 409
    settled = {"lost": "monthly", "release": found[1]}
    assert visitor.post("/p/people/ledger/settle", **settled).status_code == 200
    visitor.wait("/p/people/ledger", "never appeared; settled on")
    late = visitor.post("/p/people/ledger/settle", **settled)
    assert (late.status_code, "settled meanwhile" in late.text) == (409, True)
