"""A strict reader of reports: every tag closed, nothing from elsewhere, charts with their words."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser
from xml.etree import ElementTree as ET

VOID = {"meta", "br", "link", "img", "input", "hr"}


@dataclass
class Element:
    """An element of a page."""

    tag: str
    attributes: dict[str, str | None]
    inside: list[Element] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """All that is said within, on one line."""
        return " ".join(" ".join([*self.texts, *(one.text for one in self.inside)]).split())

    def all(self, tag: str) -> list[Element]:
        """Elements of a kind within, in the order of the page."""
        found = []
        for one in self.inside:
            found += ([one] if one.tag == tag else []) + one.all(tag)
        return found

    def everything(self) -> list[Element]:
        return [self, *(deep for one in self.inside for deep in one.everything())]


class Page(HTMLParser):
    """A page whose tags are all closed in the order in which they were opened."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("page", {})
        self.open = [self.root]
        self.lines: list[str] = []
        """What is said in the body, in the order of the page."""
        self.feed(html)
        self.close()
        assert len(self.open) == 1, f"never closed: {[one.tag for one in self.open[1:]]}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"an attribute of {tag} is given twice"
        element = Element(tag, dict(attrs))
        self.open[-1].inside.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open[-1].inside.append(Element(tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].texts.append(data)
        if data.strip() and any(one.tag == "body" for one in self.open):
            self.lines.append(" ".join(data.split()))

    def elements(self) -> list[Element]:
        return self.root.everything()

    def all(self, tag: str) -> list[Element]:
        return self.root.all(tag)


def drawings(html: str) -> list[ET.Element]:
    """The charts of a page, each parsed as XML."""
    return [
        ET.fromstring(f"<svg{part.split('</svg>')[0]}</svg>") for part in html.split("<svg")[1:]
    ]


def numbers(page: Page) -> set[float]:
    """All exact numbers that stand beside rounded ones."""
    return {float(one.attributes["value"] or "nan") for one in page.all("data")}
