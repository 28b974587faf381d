"""Who looks for something finds it: every page has its place, every public name its text."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from typing import Any, TypeGuard

import pytest

import voile
from tests.docs.pages import PAGES
from tools import make_site
from tools.sources import SOURCES
from voile_testing.processes import barriers, browser

__all__ = ["browser"]

SOUGHT = (
    "anonymize", "anonymous", "equivalence class", "intruder", "direct identifier",
    "quasi-identifier", "disclosure risk", "re-identification", "Safe Harbor", "HIPAA", "GDPR",
    "EMA", "NIST", "Five Safes", "ethics board", "date of birth", "erasure", "small cells",
    "exit code", "S3", "notebook", "pandas", "Parquet", "SPSS", "Stata", "SAS", "Excel",
    "database", "sdcMicro", "Anonymeter", "OpenDP", "SDV", "glossary", "FAQ", "choose k",
    "privacy budget", "synthetic data", "singling out", "linkability", "inference", "prosecutor",
    "journalist", "marketer", "large file", "household", "missing values", "population",
)  # fmt: skip


def test_what_people_look_for_is_found() -> None:
    """Of 47 words of the field, each stands on a page."""
    texts = " ".join(page.read_text(encoding="utf-8").casefold() for page in PAGES)
    spaced = re.sub(r"\s+", " ", texts)
    assert [word for word in SOUGHT if word.casefold() not in spaced] == []


def test_every_page_has_its_place(tmp_path) -> None:
    """The order of the site names each page once, and one of no section last."""
    make_site.copy_pages(tmp_path)
    (tmp_path / "api.rst").touch()
    make_site.write_front(tmp_path)
    front = (tmp_path / "index.rst").read_text(encoding="utf-8")
    named = re.findall(r"^   ([\w/.-]+)$", front, re.MULTILINE)
    assert len(named) == len(set(named))
    assert {"README", "docs/start/glossary", "docs/coming-from/r"} <= set(named)
    (tmp_path / "docs" / "forgotten.md").touch()
    make_site.write_front(tmp_path)
    front = (tmp_path / "index.rst").read_text(encoding="utf-8")
    assert "docs/forgotten" in front.partition(":caption: More")[2]


def test_links_of_the_site_are_followed(tmp_path) -> None:
    """A link to no page or anchor, and a request elsewhere, are found; good ones are not."""
    (tmp_path / "one.html").write_text(
        '<h1 id="top">x</h1><a href="#top">ok</a><a href="two.html#end">ok</a>'
        '<a href="https://example.org">ok</a>'
    )
    (tmp_path / "two.html").write_text(
        '<p id="end"></p><a href="three.html">no</a><a href="one.html#bottom">no</a>'
        '<script src="https://example.org/x.js"></script>'
    )
    found = list(make_site.faults(tmp_path))
    assert len(found) == 3
    assert all(one.startswith("two.html") for one in found)


FIVE = ("README", "docs/start/choose", "docs/methods/dp-synthesis", "docs/cases/hospital-stays",
        "docs/coming-from/r")  # fmt: skip


@pytest.fixture(scope="module")
def five_pages(tmp_path_factory) -> Path:
    """Five pages with text, tables, pictures, formulas and code, built as the site is."""
    pytest.importorskip("sphinx", reason="Sphinx is not installed")
    source = tmp_path_factory.mktemp("site") / "source"
    make_site.copy_pages(source)
    for page in source.rglob("*.md"):
        if page.relative_to(source).with_suffix("").as_posix() not in FIVE:
            page.unlink()
    make_site.write_front(source)
    built = source.with_name("built")
    make_site.run_sphinx(source, built)
    return built


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_serious_barrier(five_pages: Path, browser: Any, scheme: str) -> None:
    """On the front page and five others, wide and narrow; a picture that says nothing is found."""
    context = browser.new_context(color_scheme=scheme)
    page = context.new_page()
    for name in ("index", *FIVE):
        for width in (1440, 390):
            page.set_viewport_size({"width": width, "height": 900})
            page.goto((five_pages / f"{name}.html").as_uri())
            assert barriers(page) == [], f"{name} at {width}"
    page.set_content(
        '<main><h1>x</h1><img src="data:image/gif;base64,R0lGODlhAQABAAAAACw="></main>'
    )
    assert [one.partition(":")[0] for one in barriers(page)].count("image-alt") == 1
    context.close()


@pytest.mark.parametrize("name", voile.__all__)
def test_every_public_name_is_explained(name) -> None:
    """Each has a text of its own, and so have the methods and properties that it offers."""
    made = getattr(voile, name)
    assert inspect.getdoc(made)
    if inspect.isclass(made):
        for called, member in vars(made).items():
            if not called.startswith("_") and (callable(member) or isinstance(member, property)):
                assert inspect.getdoc(getattr(made, called)), f"{name}.{called}"


@pytest.mark.slow
def test_every_module_class_and_function_is_explained() -> None:
    """All public ones of all distributions: 100 %."""
    missing = []
    for source in SOURCES:
        for path in source.rglob("*.py"):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            explained = [(path.name, tree), *((n.name, n) for n in tree.body if _is_public(n))]
            if tree.body:
                missing += [f"{path.name}: {name}" for name, n in explained if not _told(n)]
    assert missing == []


@pytest.mark.slow
def test_every_method_is_explained() -> None:
    """By a text of its own, or by that of the class from which it is inherited: 100 %."""
    trees = [
        ast.parse(path.read_text(encoding="utf-8")) for one in SOURCES for path in one.rglob("*.py")
    ]
    classes = [n for tree in trees for n in ast.walk(tree) if isinstance(n, ast.ClassDef)]
    told = {c.name: {n.name for n in c.body if _is_method(n) and _told(n)} for c in classes}
    bases = {c.name: {_name(base) for base in c.bases} for c in classes}

    def explains(name: str, method: str) -> bool:
        above = bases.get(name, set()) - {name}
        return method in told.get(name, ()) or any(explains(base, method) for base in above)

    public = [c for c in classes if not c.name.startswith("_")]
    methods = [(c.name, n.name) for c in public for n in c.body if _is_method(n)]
    assert len(methods) > 1000
    assert [one for one in methods if not one[1].startswith("_") and not explains(*one)] == []


def _is_public(node: ast.stmt) -> TypeGuard[ast.ClassDef | ast.FunctionDef]:
    return isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_")


def _is_method(node: ast.stmt) -> TypeGuard[ast.FunctionDef | ast.AsyncFunctionDef]:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)


def _name(base: ast.expr) -> str:
    return ast.unparse(base).partition("[")[0].rpartition(".")[2]


def _told(
    node: ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef,
) -> bool:
    return ast.get_docstring(node) is not None
