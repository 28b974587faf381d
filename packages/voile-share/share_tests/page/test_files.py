"""The files of the page as a service sends them; no browser is needed."""

from __future__ import annotations

import re

from voile_share.page import CONTENT_SECURITY_POLICY, PAGE_PATH, SECURITY_HEADERS, page_files

FILES = page_files()
WORKER = "/static/service-worker.js"


def test_every_file_has_its_type_and_the_headers_of_security() -> None:
    """A script that is sent as another type, or without the policy, would not do."""
    types = {
        "html": "text/html",
        "css": "text/css",
        "js": "text/javascript",
        "svg": "image/svg+xml",
        "webmanifest": "application/manifest+json",
    }
    for path, file in FILES.items():
        ending = "html" if path == PAGE_PATH else path.rpartition(".")[2]
        assert file.content_type.partition(";")[0] == types[ending]
        assert dict(SECURITY_HEADERS).items() <= dict(file.headers).items()
        assert file.body
    assert FILES[WORKER].headers["Service-Worker-Allowed"] == PAGE_PATH


def test_the_policy_allows_no_inline_code_and_no_other_origin() -> None:
    """Each directive is 'self' or 'none', but for images that stand in the page as data."""
    for directive in CONTENT_SECURITY_POLICY.split("; "):
        name, *sources = directive.split(" ")
        assert set(sources) <= {"'self'", "'none'"} | ({"data:"} if name == "img-src" else set())
    assert "default-src 'none'" in CONTENT_SECURITY_POLICY


def test_the_page_holds_neither_scripts_nor_styles_nor_other_addresses() -> None:
    """Everything that files name is another file of the page, or an interface of the service."""
    page = FILES[PAGE_PATH].body.decode()
    assert not re.search(r"<script(?![^>]* src=)|<style|\son\w+=|\sstyle=", page)
    for path, file in FILES.items():
        text = file.body.decode()
        links = set(re.findall(r"https?://[^\s\"')]+", text)) - {"http://www.w3.org/2000/svg"}
        assert links == set(), path
        named = re.findall(r"[\"'](/(?:static|map|api|t)\b[^\"'?#]*)[\"']", text)
        assert set(named) <= set(FILES) | {"/map/roads.json", "/api/v1/feed"}
        for module in re.findall(r"from \"\./([^\"]+)\"", text):
            assert f"/static/{module}" in FILES


def test_the_worker_knows_all_files_and_its_version() -> None:
    """Every file but itself is kept; the version is no longer that of the source."""
    worker = FILES[WORKER].body.decode()
    kept = re.search(r"const FILES = \[(.*)\]", worker)
    assert kept is not None
    assert set(re.findall(r'"([^"]+)"', kept[1])) == set(FILES) - {WORKER}
    assert re.search(r'const VERSION = "[0-9a-f]{16}"', worker)


def test_files_are_named_by_their_content() -> None:
    """No two files have one entity tag, and each tag is quoted."""
    tags = [file.etag for file in FILES.values()]
    assert len(set(tags)) == len(tags)
    assert all(re.fullmatch(r'"[0-9a-f]{32}"', tag) for tag in tags)
