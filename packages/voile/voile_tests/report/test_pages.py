"""Reports as pages: they parse, ask for nothing, say that they are private, and hide no number."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from functools import cache

import pytest

from voile.policy.criteria.measured import QuestionCriterion
from voile.policy.ruling import Ruling, Tick
from voile.policy.stated import Policy, Signer
from voile.report.html import HistoryLine, render_comparison, render_study
from voile.signing import SignedBy
from voile.study.record import PRIVATE, Distribution, Point, Skipped, StudyComparison, StudyRecord
from voile_base.errors import InputError
from voile_tests.report.pages import Page, drawings
from voile_tests.report.records import attack, audited, grid, judged, measurement, record

mpl = pytest.importorskip("matplotlib", reason="reports are an extra")
pytest.importorskip("jinja2", reason="reports are an extra")

HOSTILE = (
    "<script>alert(1)</script>",
    "a & b \"quoted\" 'twice' <b>",
    "price in $x_1$ and $y^2$",
    "\u05d2\u05d9\u05dc \u202edesrever",
    "emoji \U0001f9d1\u200d\U0001f680 and \u6f22\u5b57",
    "line\nbreak\ttab \x00 null \ud800 half",
    "]]> --> </svg></style></title> {{ 7 * 7 }} {% raw %}",
    'x" id="p123" style="fill: #010101" onload="alert(1)',
    "n" * 5000,
)
TAGS = {
    "html", "head", "meta", "title", "style", "body", "p", "strong", "header", "h1", "h2", "h3",
    "h4", "bdi", "section", "ul", "li", "nav", "a", "main", "dl", "div", "dt", "dd", "details",
    "summary", "blockquote", "figure", "figcaption", "table", "thead", "tbody", "tr", "th", "td",
    "data", "br", "small", "pre", "code", "span",
    "svg", "desc", "defs", "g", "path", "use", "text", "clippath", "rect", "tspan",
}  # fmt: skip


def hostile_record() -> StudyRecord:
    """Every text of a record is one that means something to HTML, SVG, Jinja or matplotlib."""
    names = list(HOSTILE)
    shares = tuple(1 / len(names) for _ in names)
    return record(
        name=names[0],
        plan={name: {name: name} for name in names} | {"x": names},
        release={
            "method": {"name": names[0], "decision": {name: {name: name} for name in names}},
            "guarantee": {"kind": names[1], "statement": names[0], "assumes": names},
            "rows": 3,
            "publishable": True,
            "release_id": names[3],
            "columns": {"quasi_identifiers": names},
        },
        publication={
            **dict.fromkeys(("rows_in", "rows_out", "suppressed", "held", "carried"), 3),
            "summary": names[0], "notices": names, "objective": None,
        },
        attacks=tuple(
            attack(name, 0.1 * place, goal=name, notes=[name], assumptions=[name],
                   worst={"known": {name: name}, "probability": 0.5})
            for place, name in enumerate(names)
        ),
        attacks_skipped=tuple(Skipped(name, name) for name in names),
        utility=tuple(
            measurement(
                name, 0.2, title=name, meaning=name, notes=[name],
                parts={f"{a}, {b}": 0.1 for a in names for b in names if a < b}
                if place == 0 else dict.fromkeys(names, 0.1),
            )
            for place, name in enumerate(names)
        ),
        utility_skipped=tuple(Skipped(name, name) for name in names),
        distributions=tuple(
            Distribution(name, name, "text", tuple(names), None, shares, shares) for name in names
        ),
        evidence={"targets": 3, "held_out": 3, "rehearsed": names},
        versions=dict.fromkeys(names, names[0]),
        seconds=dict.fromkeys(names, 1.5),
    )  # fmt: skip


def hostile_grid() -> StudyComparison:
    points = tuple(
        Point(name, {"method.x": name, "plan": HOSTILE[place - 1]}, "done", "", hostile_record(),
              0.1 * place, 1.0 - 0.1 * place)
        for place, name in enumerate(HOSTILE[:3])
    )  # fmt: skip
    failed = tuple(Point(name, {}, "infeasible", name) for name in HOSTILE)
    return StudyComparison(
        name=HOSTILE[6], plans=({"method": {"x": list(HOSTILE)}},),
        swept={"method.x": HOSTILE, "plan": HOSTILE}, points=(*points, *failed), risk=HOSTILE[0],
        loss=HOSTILE[1], frontier=HOSTILE[:3], notices=HOSTILE,
        versions=dict.fromkeys(HOSTILE, "1"),
    )  # fmt: skip


@cache
def study() -> str:
    return render_study(record())


@cache
def hostile_study() -> str:
    return render_study(hostile_record())


@cache
def comparison() -> str:
    return render_comparison(grid())


@cache
def hostile_comparison() -> str:
    return render_comparison(hostile_grid())


@cache
def dossier() -> str:
    return judged(audited()).render(public=False)


@cache
def hostile_dossier() -> str:
    texts = [name.replace("\ud800", "") for name in HOSTILE]  # files hold no half of a character
    study, risk = hostile_record(), audited().risks[0]
    risks = [{**risk, "risk": name, "of": name, "goal": name, "notes": [name]} for name in texts]
    columns = [{**audited().columns[0], "name": name, "of": [name]} for name in texts]
    utility, attacks = study.utility, study.attacks
    found = judged(audited(risks=risks, columns=columns, utility=utility, attacks=attacks))
    rulings = tuple(
        Ruling(name, name, passed=False, why=name, value=1.0, low=0.5, high=2.0, limit=0.1,
               side="most", notes=(name,))
        for name in HOSTILE
    )  # fmt: skip
    verdict = replace(found.verdict, rulings=rulings, policy=HOSTILE[0])
    criteria = tuple(QuestionCriterion(says=name) for name in texts)
    policy = Policy(
        name=HOSTILE[0],
        source=HOSTILE[1],
        about=HOSTILE[6],
        audience=HOSTILE[2],
        criteria=criteria,
        signers=tuple(Signer(role=name) for name in texts),
    )
    ticks = tuple(Tick(says=name, ticked=True, by=HOSTILE[0]) for name in texts)
    events = tuple(HistoryLine(name, name, name, name, here=True) for name in HOSTILE)
    signed = tuple(SignedBy(name, name, "unknown") for name in HOSTILE)
    return replace(found, name=HOSTILE[0], verdict=verdict, policy=policy, ticks=ticks,
                history=events, signatures=signed).render(public=False,
    )  # fmt: skip


@pytest.fixture(
    params=[study, hostile_study, comparison, hostile_comparison, dossier, hostile_dossier],
    ids=lambda page: page.__name__,
    name="html",
)
def rendered(request: pytest.FixtureRequest) -> str:
    return request.param()


def test_every_tag_is_known_and_closed(html):
    """A page parses strictly, and holds only tags and attributes that a report uses."""
    for element in Page(html).elements()[1:]:
        assert element.tag in TAGS, element.tag
        assert not [name for name in element.attributes if name.startswith("on")]


def test_nothing_is_fetched(html):
    """A page refers to nothing but itself, and its policy forbids the rest."""
    page = Page(html)
    policies = [m.attributes["content"] for m in page.all("meta") if "http-equiv" in m.attributes]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'; img-src data:"]
    for element in page.elements():
        assert not {"src", "srcset", "action", "xlink:href", "xmlns"} & element.attributes.keys()
        assert (element.attributes.get("href") or "#").startswith("#")
        assert "http" not in str(element.attributes.values())
        style = element.attributes.get("style") or ""
        assert not re.search(r"url\((?!#)", style)
    sheet = "".join(element.text for element in page.all("style"))
    assert "@import" not in sheet
    assert "url(" not in sheet


def test_the_first_line_says_that_it_is_private(html):
    """Whoever opens the page, or looks at the head of its file, reads that first."""
    assert Page(html).lines[0] == PRIVATE
    assert PRIVATE in html.splitlines()[0]
    assert html.startswith("<!doctype html>")


def test_references_lead_to_one_place(html):
    """Identifiers are unique in the page, and every reference has its target."""
    page = Page(html)
    found = [one.attributes["id"] for one in page.elements() if "id" in one.attributes]
    assert len(found) == len(set(found))
    wanted = set(re.findall(r'href="#([^"]*)"', html)) | set(re.findall(r"url\(#([^)]*)\)", html))
    assert wanted <= set(found)


def test_every_chart_speaks(html):
    """A chart parses as XML and is an image with a title, a description and a table of numbers."""
    page = Page(html)
    charts = drawings(html)
    figures = page.all("figure")
    assert len(charts) == len(figures) > 2
    for chart in charts:
        assert chart.attrib["role"] == "img"
        title, described = chart[0], chart[1]
        assert (title.tag, described.tag) == ("title", "desc")
        assert title.text
        assert described.text
        ids = f"{title.attrib['id']} {described.attrib['id']}"
        assert chart.attrib["aria-labelledby"] == ids
    for figure in figures:
        key = figure.all("figcaption")[0].text == "Lines of the charts"
        assert key or (figure.all("details") and figure.all("table") and figure.all("data"))


def test_colours_come_from_the_page(html):
    """No chart holds a colour of its own: all follow the light, the dark and the printed page."""
    for chart in re.findall(r"<svg.*?</svg>", html, flags=re.DOTALL):
        drawn = re.sub(r">[^<]*<", "><", chart)
        assert not re.search(r"(fill|stroke): *#", drawn)
        assert set(re.findall(r"(?:fill|stroke): *([a-z]+)", drawn)) <= {"none", "var", "url"}
    used = set(re.findall(r"var\((--[a-z0-9-]+)\)", html))
    declared = set(re.findall(r"(--[a-z0-9-]+):", html))
    assert used <= declared


def test_hostile_names_are_texts():
    """Markup, templates, mathematics and controls in names are shown, and do nothing."""
    html = hostile_study()
    page = Page(html)
    assert "<script" not in html
    assert "49" not in page.all("h1")[0].text
    assert page.all("h1")[0].text == HOSTILE[0]
    assert "\x00" not in html
    assert "\u202e" not in html
    html.encode("utf-8")
    said = " ".join(page.lines)
    for name in (HOSTILE[0], HOSTILE[1], HOSTILE[2], "{{ 7 * 7 }} {% raw %}", HOSTILE[7]):
        assert name in said
    texts = [text.text for chart in drawings(html) for text in chart.iter("text")]
    assert any("$x_1$" in (text or "") for text in texts)
    # What looks like a stand-in for a colour stays as it was written.
    assert "#010101" in said


@pytest.mark.slow
def test_the_same_record_gives_the_same_bytes():
    """Neither time nor chance enters a page."""
    assert render_study(record()) == study()
    assert render_comparison(grid()) == comparison()


@pytest.mark.slow
def test_settings_of_the_user_neither_change_nor_are_changed():
    """A page looks the same whatever matplotlib is set to, and leaves the settings alone."""
    with mpl.rc_context({"font.size": 30, "axes.facecolor": "pink", "svg.hashsalt": "other"}):
        held = dict(mpl.rcParams)
        assert render_study(record()) == study()
        assert dict(mpl.rcParams) == held


@pytest.mark.slow
def test_no_display_is_asked_for():
    """Charts are drawn without matplotlib's state machine, which would look for a screen."""
    code = (
        "import sys; from voile_tests.report.records import record; "
        "from voile.report.html import render_study; render_study(record()); "
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    path = os.pathsep.join(sys.path)
    subprocess.run([sys.executable, "-c", code], check=True, env={**os.environ, "PYTHONPATH": path})


@pytest.mark.parametrize("missing", ["jinja2", "matplotlib"])
def test_without_the_extras(monkeypatch, missing):
    """What is missing is named, with how to get it."""
    for module in list(sys.modules):
        if module.split(".")[0] == missing:
            monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(InputError, match=re.escape("pip install 'voile[report]'")):
        render_study(record())
    with pytest.raises(InputError, match=re.escape("pip install 'voile[report]'")):
        render_comparison(grid())


def _luminance(color: str) -> float:
    parts = [int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(one: str, other: str) -> float:
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _over(color: str, paper: str, alpha: float) -> str:
    pairs = ((int(color[p : p + 2], 16), int(paper[p : p + 2], 16)) for p in (1, 3, 5))
    return "#" + "".join(f"{round(alpha * a + (1 - alpha) * b):02x}" for a, b in pairs)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(scheme):
    """Texts have a contrast of 4.5 and marks of 3 on what is behind them (WCAG 2, level AA)."""
    light, dark = re.findall(r":root \{(.*?)\n *\}", study(), flags=re.DOTALL)[:2]
    colors = dict(
        re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{6})", light if scheme == "light" else dark)
    )
    for text in ("text", "soft", "link", "warn"):
        for behind in ("paper", "panel"):
            assert _contrast(colors[text], colors[behind]) >= 4.5, (text, behind)
    assert _contrast(colors["warn"], colors["warn-panel"]) >= 4.5
    marks = ["before", "after", "guess", *(f"series-{place}" for place in range(1, 9))]
    for mark in marks:
        assert _contrast(colors[mark], colors["paper"]) >= 3, mark
    darkest = _over(colors["heat"], colors["paper"], 0.6)
    assert _contrast(colors["text"], darkest) >= 4.5
