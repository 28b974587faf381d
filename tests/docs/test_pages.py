"""What the documentation names exists, and what exists is named."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from decimal import Decimal

import click
import pytest

import voile
from tests.docs.pages import PAGES, ROOT, blocks_of
from tools import make_architecture, make_cli_reference
from tools.make_schemas import drifted, plain_schema
from voile.dp.sampling import smallest_k
from voile.publish.registry import parameter_types, publisher_of
from voile.release.folder import release_schema, verification_page
from voile.schema.budget import BudgetPlan
from voile.schema.hierarchy.declared import HIERARCHY_KEYS
from voile.schema.plan import Method, parse_plan
from voile.schema.roles import Roles
from voile.schema.trajectory import TrajectoryColumns
from voile_base.errors import PlanError
from voile_base.main import command
from voile_share.service.folder import create

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


def test_comments_of_settings_name_the_page_that_explains_them(tmp_path):
    """Where share.toml says which page to read of a table, that page speaks of the table."""
    create(tmp_path / "service", "https://share.example.org")
    written = (tmp_path / "service" / "share.toml").read_text(encoding="utf-8")
    found = {}
    for block in written.split("\n\n"):
        above, _, table = block.partition("\n# [")
        if table and (page := re.search(r"docs/[\w-]+\.md", above)):
            found[table.partition("]")[0]] = page[0]
    assert set(found) == {"mqtt", "telemetry", "hooks"}
    for table, page in found.items():
        assert f"[{table}]" in (ROOT / page).read_text(encoding="utf-8"), (page, table)


def test_arguments_that_may_be_left_out_stand_in_brackets():
    """The usage line of every command tells which of its arguments it can do without."""
    seen = 0
    for described in _commands(command):
        for argument in described.params:
            if isinstance(argument, click.Argument) and not argument.required:
                seen += 1
                shown = argument.make_metavar(click.Context(described))
                assert shown.startswith("["), f"{described.name}: {shown}"
    assert seen > 2


def test_the_page_on_studies_names_what_a_study_can_be_asked():
    """Every option of `voile study` but those of all commands stands on docs/studies.md."""
    page = (DOCS / "studies.md").read_text(encoding="utf-8")
    (study,) = (one for one in _commands(command) if one.name == "study")
    options = {one.opts[0] for one in study.params if isinstance(one, click.Option)}
    missing = {name for name in options if not re.search(rf"{name}\b", page)}
    assert missing <= {"--engine", "--master", "--json"}


def _commands(group):
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        yield found
        if isinstance(found, click.Group):
            yield from _commands(found)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_fence_begins_its_line(page):
    """A block in a list would not be run, so there is none."""
    assert not re.search(r"^[ >]+```", page.read_text(encoding="utf-8"), re.MULTILINE)


def test_the_command_line_reference_is_that_of_the_commands():
    """`make docs` would change nothing."""
    written = make_cli_reference.PAGE.read_text(encoding="utf-8")
    assert written == make_cli_reference.reference(), "run `make docs`"


@pytest.mark.slow
def test_the_picture_of_the_rooms_is_that_of_the_imports():
    """`make docs` would draw nothing else, and no room stands on or above one that imports it."""
    assert make_architecture.PICTURE.read_text(encoding="utf-8") == make_architecture.picture(), (
        "run `make docs`"
    )
    found = make_architecture.rooms()
    stacked = make_architecture.floors({name: room.imports for name, room in found.items()})
    floor = {name: number for number, names in enumerate(stacked) for name in names}
    assert all(floor[name] < floor[other] for name in found for other in found[name].imports)


def test_arrows_that_follow_from_others_are_left_out():
    """Of cli -> study -> table and cli -> table, the last is not drawn."""
    arrows = {"cli": {"study", "table"}, "study": {"table"}, "table": set()}
    assert make_architecture.reduced(arrows) == {
        "cli": {"study"},
        "study": {"table"},
        "table": set(),
    }


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
    """Each name of ``voile.__all__`` stands in an example of the pages about Python."""
    pages = (DOCS / "engineer.md", DOCS / "python.md")
    examples = "".join(
        block.text for page in pages for block in blocks_of(page) if block.language == "python"
    )
    missing = [name for name in voile.__all__ if f"voile.{name}" not in examples]
    assert not missing


def keys_in(page):
    """The keys of a plan that the tables of a page explain."""
    text = page.read_text(encoding="utf-8")
    return re.findall(r"^\| `((?:\[[\w.]+\] )?\w+)` \|", text, re.MULTILINE)


def known(parse, *arguments):
    """The names that a refusal of an unknown one lists."""
    with pytest.raises(PlanError) as refusal:
        parse(*arguments)
    listed = re.search(r"\(known: (.*)\)", str(refusal.value))
    assert listed
    return listed[1].split(", ")


def test_every_key_of_a_plan_is_explained():
    """Each key that all methods share stands in the table of docs/plan.md, and no other."""
    columns = known(parse_plan, {"columns": {"X": {"no such key": 1}}})
    assert {"bounds", "outside", "nulls", "type", *HIERARCHY_KEYS} <= set(columns)
    wanted = ["nulls", "missing", "accept_questions", "[method] name"]
    wanted += [f"[roles] {field.name}" for field in fields(Roles)]
    wanted += [f"[roles] {field.name}" for field in fields(TrajectoryColumns)]
    wanted += [f"[columns.X] {key}" for key in columns]
    wanted += [f"[budget] {field.name}" for field in fields(BudgetPlan)]
    assert sorted(keys_in(DOCS / "plan.md")) == sorted(wanted)


METHODS = known(publisher_of, Method("no such method"))


@pytest.mark.parametrize("method", METHODS)
def test_every_parameter_of_a_method_is_explained(method):
    """The page of each method has all of its parameters, and no other."""
    parameters = parameter_types(method)
    wanted = [f"[method] {name}" for name in parameters]
    assert sorted(keys_in(DOCS / "methods" / f"{method}.md")) == sorted(wanted)


def test_every_method_has_a_page_that_the_others_name():
    """There is one page for each method, and README and the page on choosing lead to it."""
    pages = {page.stem for page in (DOCS / "methods").glob("*.md")}
    assert pages == set(METHODS)
    for start, folder in (
        (ROOT / "README.md", "docs/methods"),
        (DOCS / "start" / "choose.md", "../methods"),
    ):
        links = _LINK.findall(start.read_text(encoding="utf-8"))
        assert {f"{folder}/{method}.md" for method in pages} <= set(links), start.name


@pytest.mark.parametrize("method", METHODS)
def test_every_page_of_a_method_says_when_not_to_use_it_and_ends_with_its_keys(method):
    """A plan and a result come first, then when another method is better, and the keys last."""
    text = (DOCS / "methods" / f"{method}.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.+)$", text, re.MULTILINE)
    assert headings[0] == "The plan"
    assert "Publish" in headings[:3]
    assert headings[-1] == "Keys"
    assert "When not to use it" in headings
    assert text.index("[method]") < text.index("$ voile publish") < text.index("\n## Keys")


def test_the_table_of_k_is_that_of_the_rule(usual_limits):
    """Each k that the page of private generalization names is the smallest one for its delta."""
    text = (DOCS / "methods" / "dp-generalization.md").read_text("utf-8")
    (header,) = re.findall(r"^\| β \| costs of ε \|(.*)\|$", text, re.MULTILINE)
    deltas = [Decimal(delta) for delta in re.findall(r"δ = (\S+)", header)]
    lines = re.findall(r"^\| (0\.\d) \| (\d\.\d+) \| (.*) \|$", text, re.MULTILINE)
    assert len(lines) >= 4
    for beta, cost, found in lines:
        least = -(1 - Decimal(beta)).ln()
        assert least <= Decimal(cost) < least + Decimal("0.001")
        excess = least.next_plus()
        wanted = [smallest_k(excess, delta, Decimal(beta)) for delta in deltas]
        assert [int(k) for k in found.split(" | ")] == wanted, beta


def test_every_test_that_a_page_names_exists():
    """The page for researchers points to tests: counterexamples, known answers, departures."""
    tests = (
        path for folder in ("packages", "tests") for path in (ROOT / folder).rglob("test_*.py")
    )
    sources = "".join(path.read_text("utf-8") for path in tests)
    named = re.findall(r"`(test_\w+)`", (DOCS / "researcher.md").read_text("utf-8"))
    assert len(named) >= 20
    assert not [name for name in named if f"def {name}(" not in sources]


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


def test_every_benchmark_is_named():
    """The page for researchers has a line for each benchmark that can be run."""
    page = (DOCS / "researcher.md").read_text(encoding="utf-8")
    named = set(re.findall(r"^python -m benchmarks ([a-z_]+)", page, re.MULTILINE))
    there = {
        path.stem
        for path in (ROOT / "benchmarks").glob("*.py")
        if re.search(r"^def run\(", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    assert named == there


def test_the_first_example_of_the_readme_is_whole():
    """What it prints is compared line by line: none of it is left out, or fits anything."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    first = text.partition("## A first release")[2].partition("\n## ")[0]
    assert "$ voile publish" in first
    assert "$ voile attack" in first
    assert "..." not in first
    assert first.count("\n") < 80  # a screen and a half


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_page_installs_a_package_that_is_on_no_index(page):
    """Voile and its extras come from a checkout until they are published."""
    assert not re.search(r"pip install (--upgrade )?'?voile\b", page.read_text(encoding="utf-8"))


@pytest.mark.slow
def test_published_schemas_are_those_of_the_code():
    """The schemas in the documentation are what `make docs` would write."""
    assert drifted() == {}, "run tools/make_schemas.py"


def test_the_page_of_releases_is_that_of_its_parts():
    """Script, style, the declaration of release.json and its words are those of today."""
    page, parts = verification_page(), ROOT / "packages/voile/src/voile/release/browser"
    for name in ("verify.js", "page.js", "verify.css"):
        assert (parts / name).read_text(encoding="utf-8") in page, name
    (stated,) = re.findall(r'id="schemas">(.*)</script>', page)
    wording = json.loads((parts / "wording.json").read_text(encoding="utf-8"))
    assert json.loads(stated) == {"release": plain_schema(release_schema()), "wording": wording}
