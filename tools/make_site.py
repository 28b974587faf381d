"""Builds the site: ``python tools/make_site.py --out build/site``; needs Sphinx, MyST and Furo.

The pages are those of the repository, in a copy that has its shape, so that links lead where they
lead there; what is built besides is the front page, an entry for each public name of ``voile``, and
the order of pages.  Warnings are errors.  Then every link of every page is followed, to its anchor,
without a network, and a page that would load anything from elsewhere is refused.  At the end the
whole stands in one zip beside the folder, to be read offline.  ``--pdf FILE`` prints all pages as
one PDF instead, which needs Playwright and a Chromium, too.

Cost: a minute or two.  Ends with 1 where anything is wrong.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import voile

ROOT = Path(__file__).resolve().parent.parent
_PAGES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md")
_FOLDERS = ("docs", "benchmarks")
_COPIED = {".md", ".png", ".svg", ".json"}
_LINK = re.compile(r"(?<!!)\[([^\]\n]+)\]\(([^)\s]+)\)")
_MOST_BYTES = 300_000
"""Of a page, with neither pictures nor what all pages share."""

SECTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Start", ("README", "docs/studio", "docs/python", "docs/custodian")),
    (
        "I have",
        (
            "docs/start/i-have",
            "docs/tables",
            "docs/ledger",
            "docs/auditing",
            "docs/trucks",
            "docs/packing",
        ),
    ),
    (
        "I must show",
        ("docs/start/i-must-show", "docs/policy", "docs/studies", "docs/population-risk"),
    ),
    ("Choose", ("docs/start/choose", "docs/choosing")),
    ("Methods", ("docs/methods/*",)),
    ("Examples", ("docs/examples/README", "docs/examples/*")),
    ("Case studies", ("docs/cases/README", "docs/cases/*")),
    ("Coming from", ("docs/coming-from/*",)),
    (
        "Evidence",
        ("docs/attacks", "docs/utility", "benchmarks/RESULTS", "docs/researcher", "docs/papers/*"),
    ),
    (
        "Security and limits",
        ("docs/start/limits", "docs/start/recipients", "docs/start/lost-and-asked", "SECURITY"),
    ),
    (
        "Reference",
        ("docs/plan", "docs/hierarchies", "docs/input", "docs/reference/cli",
         "docs/reference/exit-statuses", "api", "docs/start/glossary", "docs/start/questions",
         "CHANGELOG"),
    ),
    (
        "Location sharing",
        ("docs/sharing-service", "docs/sharing-protocol", "docs/operations", "docs/trackers",
         "docs/chain"),
    ),
    (
        "Work on Voile",
        ("CONTRIBUTING", "docs/engineer", "docs/extending", "docs/architecture", "docs/engines",
         "CODE_OF_CONDUCT"),
    ),
)  # fmt: skip

_REACHABLE = {
    "<pre>": '<pre tabindex="0">',
    '<div class="table-wrapper': '<div tabindex="0" class="table-wrapper',
    'class="caption" role="heading"': 'class="caption" role="heading" aria-level="2"',
}
"""What the theme renders, and what keyboards can scroll and screen readers can order instead."""

_FOOTER = (
    '<div style="width: 100%; font-size: 8px; text-align: center">'
    '<span class="pageNumber"></span> / <span class="totalPages"></span></div>'
)

_ON_PAPER = """
html { font-size: 75% }
.skip-to-content, .headerlink { display: none }
* { box-shadow: none !important }
pre { white-space: pre-wrap; overflow-wrap: anywhere }
.table-wrapper { overflow: visible }
td, th, td code { overflow-wrap: anywhere; white-space: normal }
"""
"""Nothing scrolls there, so that lines and tables that are too wide are broken."""


class SiteError(Exception):
    """What is wrong with the site."""


def copy_pages(source: Path) -> None:
    """Copy the pages of the repository, with their pictures, into a folder of the same shape."""
    files = [ROOT / name for name in _PAGES]
    for folder in _FOLDERS:
        files += [one for one in (ROOT / folder).rglob("*") if one.suffix in _COPIED]
    for file in files:
        place = source / file.relative_to(ROOT)
        place.parent.mkdir(parents=True, exist_ok=True)
        if file.suffix == ".md":
            place.write_text(_within_site(file, set(files)), encoding="utf-8")
        else:
            shutil.copyfile(file, place)


def _within_site(page: Path, files: set[Path]) -> str:
    """The text of a page, in which links to what the site does not have are their text alone."""

    def kept(link: re.Match[str]) -> str:
        path = link[2].partition("#")[0]
        inside = not path or "://" in path or (page.parent / path).resolve() in files
        return link[0] if inside else link[1]

    return _LINK.sub(kept, page.read_text(encoding="utf-8"))


def pages_of(source: Path, patterns: tuple[str, ...]) -> list[str]:
    """The pages of a section, without their ending, in order; those that are absent left out."""
    found: dict[str, None] = {}
    for pattern in patterns:
        for file in sorted(source.glob(f"{pattern}.*")):
            if file.suffix in {".md", ".rst"}:
                found[file.relative_to(source).with_suffix("").as_posix()] = None
    return list(found)


def write_front(source: Path) -> None:
    """Write the front page and the order of all pages; those of no section stand last."""
    lines = [
        "Voile",
        "=====",
        "",
        "Voile anonymizes tables of people, tries attacks on the result, and keeps the evidence.",
        "Begin with `the ten minutes <README.html>`_, or with what you `have",
        "<docs/start/i-have.html>`_ or `must show <docs/start/i-must-show.html>`_.",
        "",
    ]
    named: set[str] = set()
    for title, patterns in SECTIONS:
        pages = [one for one in pages_of(source, patterns) if one not in named]
        named.update(pages)
        lines += [".. toctree::", f"   :caption: {title}", "   :maxdepth: 1", ""]
        lines += [*(f"   {page}" for page in pages), ""]
    every = {one.relative_to(source).with_suffix("").as_posix() for one in source.rglob("*.md")}
    if left := sorted(every - named):
        lines += [".. toctree::", "   :caption: More", "   :maxdepth: 1", ""]
        lines += [*(f"   {page}" for page in left), ""]
    (source / "index.rst").write_text("\n".join(lines), encoding="utf-8")


def write_api(source: Path) -> None:
    """Write a page for each public name of ``voile``, whose text its docstring is, and a list."""
    (source / "api").mkdir()
    lines = ["Python reference", "=" * 16, "", "One call for each method: :doc:`docs/python`.", ""]
    lines += [".. toctree::", "   :maxdepth: 1", ""]
    for name in voile.__all__:
        made = getattr(voile, name)
        is_class = isinstance(made, type)
        page = [f"voile.{name}", "=" * (6 + len(name)), ""]
        page += [f".. auto{'class' if is_class else 'function'}:: {made.__module__}.{name}"]
        page += ["   :members:"] * is_class
        (source / f"api/{name}.rst").write_text("\n".join([*page, ""]), encoding="utf-8")
        lines.append(f"   api/{name}")
    (source / "api.rst").write_text("\n".join([*lines, ""]), encoding="utf-8")


class _Links(HTMLParser):
    """The links and anchors of a page, and what it loads."""

    def __init__(self) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take note of a tag."""
        given = {name: value or "" for name, value in attrs}
        if "id" in given:
            self.anchors.add(given["id"])
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        loads = given.get("src") or (given.get("href") if tag == "link" else None)
        if loads:
            self.loads.append(loads)


def faults(site: Path) -> Iterator[str]:
    """What is wrong with the pages of a built site: links to nothing, requests, weight."""
    read: dict[Path, _Links] = {}
    for page in sorted(site.rglob("*.html")):
        found = _Links()
        found.feed(page.read_text(encoding="utf-8"))
        read[page] = found
    for page, found in read.items():
        name = page.relative_to(site)
        if page.stat().st_size > _MOST_BYTES:
            yield f"{name}: {page.stat().st_size:,} bytes, more than {_MOST_BYTES:,}"
        yield from (f"{name}: it loads {one}" for one in found.loads if urlsplit(one).netloc)
        for address in (*found.links, *found.loads):
            if not _leads(page, address, read):
                yield f"{name}: {address} leads nowhere"


def _leads(page: Path, address: str, read: Mapping[Path, _Links]) -> bool:
    """Whether a link of a page leads to a file of the site, and to an anchor that it has."""
    parts = urlsplit(address)
    if parts.scheme or parts.netloc:
        return True
    target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
    if target not in read or not parts.fragment:
        return target.exists()
    return unquote(parts.fragment) in read[target].anchors


def run_sphinx(source: Path, out: Path, *options: str) -> None:
    """Render the pages of a folder with the configuration of the site; raises ``SiteError``."""
    sphinx = [sys.executable, "-m", "sphinx", "-q", "-j", "auto", *options]
    done = subprocess.run(
        [*sphinx, "-c", ROOT / "tools/site", "-d", source.with_name("seen"), source, out],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SiteError(done.stderr.replace(f"{source}/", "") or done.stdout)
    for page in out.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        for rendered, reachable in _REACHABLE.items():
            text = text.replace(rendered, reachable)
        page.write_text(text, encoding="utf-8")


def build(out: Path, *options: str) -> None:
    """Build all pages at a folder that does not exist yet; raises ``SiteError``."""
    if out.exists():
        shutil.rmtree(out)
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch) / "source"
        copy_pages(source)
        write_api(source)
        write_front(source)
        run_sphinx(source, out, "-W", "--keep-going", *options)


def build_site(out: Path) -> None:
    """Build the site and its zip; raises ``SiteError``."""
    build(out)
    if wrong := list(faults(out)):
        raise SiteError("\n".join(wrong))
    shutil.make_archive(str(out), "zip", out.parent, out.name)


def print_pages(file: Path) -> None:
    """Print all pages as one PDF on A4 with an outline, by Chromium; raises ``SiteError``."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - the site needs no browser

    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        raise SiteError("there is no Chromium to print with: install one")
    with tempfile.TemporaryDirectory() as scratch:
        single = Path(scratch) / "single"
        build(single, "-b", "singlehtml")
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            page = browser.new_page(color_scheme="light")
            page.goto((single / "index.html").as_uri())
            page.add_style_tag(content=_ON_PAPER)
            page.pdf(
                path=file,
                format="A4",
                margin={"top": "18mm", "bottom": "18mm", "left": "15mm", "right": "15mm"},
                display_header_footer=True,
                header_template="<span></span>",
                footer_template=_FOOTER,
                outline=True,
                tagged=True,
            )
            browser.close()


def main() -> int:
    """Parse the command line, and give the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "build/site")
    parser.add_argument("--pdf", type=Path, help="print all pages to this file instead")
    asked = parser.parse_args()
    try:
        if asked.pdf:
            asked.pdf.parent.mkdir(parents=True, exist_ok=True)
            print_pages(asked.pdf)
            print(f"{asked.pdf}: {asked.pdf.stat().st_size:,} bytes")
            return 0
        build_site(asked.out.resolve())
    except SiteError as error:
        print(f"site: {error}", file=sys.stderr)
        return 1
    print(f"{asked.out}: {len(list(asked.out.rglob('*.html')))} pages, and the same as a zip")
    return 0


if __name__ == "__main__":
    sys.exit(main())
