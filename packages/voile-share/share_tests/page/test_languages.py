"""All words of the page are there in each of its languages, and shown in the viewer's."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from share_tests.page.conftest import Viewer
from share_tests.page.delivery import Delivery
from share_tests.page.stub import Stub
from voile_share.page import PAGE_PATH, page_files

FILES = page_files()


def messages(text: str) -> dict[str, dict[str, str]]:
    """The table, by language."""
    found: dict[str, dict[str, str]] = {}
    for line in text.splitlines():
        if opening := re.fullmatch(r"  (\w+): \{", line):
            found[opening[1]] = {}
            here = found[opening[1]]
        elif row := re.fullmatch(r'    "?([\w.-]+)"?: "(.*)",', line):
            assert row[1] not in here
            here[row[1]] = row[2]
    return found


TABLE = messages(FILES["/static/messages.js"].body.decode())


def test_each_language_has_every_message_with_every_value() -> None:
    """English, German, French, Spanish and Chinese; lists are as long; none is left in English."""
    assert list(TABLE) == ["en", "de", "fr", "es", "zh"]
    for language, words in TABLE.items():
        assert words.keys() == TABLE["en"].keys()
        for key, message in words.items():
            english = TABLE["en"][key]
            assert message.strip()
            assert sorted(re.findall(r"\{\w+\}", message)) == sorted(
                re.findall(r"\{\w+\}", english)
            ), (language, key)
            if key in {"winds", "sides"}:
                assert message.count(",") == english.count(",")
            if language != "en" and len(english) > 25:
                assert message != english


def test_every_message_that_is_asked_for_is_there_and_every_one_is_used() -> None:
    """Names in scripts and in the document; what nobody says is not kept."""
    known = set(TABLE["en"])
    asked: set[str] = set()
    for path, file in FILES.items():
        if not path.endswith((".js", PAGE_PATH)) or path.endswith("messages.js"):
            continue
        text = file.body.decode()
        asked |= set(re.findall(r'data-say(?:-\w+)?="([\w.-]+)"', text))
        asked |= set(re.findall(r'\b(?:say|sayOf)\(\s*"([\w.-]+)"', text))
    assert asked <= known
    whole = " ".join(
        file.body.decode()
        for path, file in FILES.items()
        if path.endswith((".js", PAGE_PATH)) and not path.endswith("messages.js")
    )
    for key in known:
        stem = key.removesuffix(".text")
        parts = (f'"{key}"', f'"{stem}"', f'"{stem.partition("-")[2]}"')
        assert any(part in whole for part in parts) or stem in whole, key


@pytest.mark.slow
@pytest.mark.parametrize(
    ("locale", "seen", "when"),
    [
        ("de-DE", "Zuletzt gesehen", "Zwischen"),
        pytest.param("fr-CA", "Dernière position", "Entre", marks=pytest.mark.slow),
        pytest.param("es-MX", "Última posición", "Entre las", marks=pytest.mark.slow),
        ("zh-CN", "最近位置", "之间"),
        pytest.param("nl-NL", "Last seen", "Between", marks=pytest.mark.slow),
    ],
)
def test_the_page_speaks_the_viewers_language(
    viewers: Callable[..., Viewer],
    stub: Stub,
    delivery: Delivery,
    locale: str,
    seen: str,
    when: str,
) -> None:
    """By what the browser prefers, else English; nothing is cut off at 390 px."""
    viewer = viewers(viewport={"width": 390, "height": 844}, locale=locale)
    stub.publish(*delivery.report())
    viewer.open(delivery.link().fragment())
    viewer.says("seen", seen)
    viewer.says("arrival-when", when)
    language = locale[:2] if locale[:2] != "nl" else "en"
    assert viewer.page.locator("html").get_attribute("lang") == language
    assert viewer.page.evaluate("() => document.documentElement.scrollWidth") <= 390
    assert "{" not in viewer.text("words")
