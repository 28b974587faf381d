"""What anybody gets: the page and its files, the road map, meanings of reasons."""

from __future__ import annotations

import asyncio
import gzip
import time

import pytest

from share_tests.service.server import serving
from voile_share.map import MapFile
from voile_share.page import CONTENT_SECURITY_POLICY, PAGE_PATH, page_files
from voile_share.service.problems import TITLES, status_of
from voile_share.service.public import Writing
from voile_share.store import StoreError

ROADS = MapFile(b'{"roads": []}', gzip.compress(b'{"roads": []}', mtime=0), '"abc"')


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    with serving(tmp_path_factory.mktemp("public"), roads=ROADS) as running:
        yield running


@pytest.mark.parametrize("path", sorted(page_files()))
def test_every_file_of_the_page_is_sent_with_its_headers(http, path):
    """Each file comes as it is, under the strict policy, packed where that is taken."""
    file = page_files()[path]
    plain = http.get(path, headers={"accept-encoding": "identity"})
    packed = http.get(path, headers={"accept-encoding": "br, gzip"})
    assert (plain.status_code, plain.content, packed.content) == (200, file.body, file.body)
    assert "content-encoding" not in plain.headers
    assert packed.headers["content-encoding"] == "gzip"
    for answer in (plain, packed):
        assert answer.headers["content-type"] == file.content_type
        assert answer.headers["content-security-policy"] == CONTENT_SECURITY_POLICY
        assert answer.headers["vary"] == "Accept-Encoding"
        for name, value in file.headers.items():
            assert answer.headers[name] == value
    head = http.head(path, headers={"accept-encoding": "identity"})
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == str(len(file.body))


@pytest.mark.parametrize("path", [PAGE_PATH, "/map/roads.json", "/static/main.js"])
def test_what_has_not_changed_is_not_sent_again(http, path):
    """An ETag that was given, alone or among others, strong or weak, gets 304."""
    etag = http.get(path).headers["etag"]
    for condition in (etag, f'"other", W/{etag}', "*"):
        answer = http.get(path, headers={"if-none-match": condition})
        assert (answer.status_code, answer.content) == (304, b"")
        assert answer.headers["etag"] == etag
    assert http.get(path, headers={"if-none-match": '"other"'}).status_code == 200


def test_the_service_worker_may_control_the_page(http):
    """Its scope covers the page, although it is in another folder."""
    answer = http.get("/static/service-worker.js")
    assert answer.headers["service-worker-allowed"] == PAGE_PATH
    assert answer.headers["content-type"].startswith("text/javascript")


def test_the_map_is_sent_whole(http):
    """The map comes packed or not, whatever is asked of it."""
    for asked, params in (("gzip", {}), ("identity", {"tile": "1"}), ("gzip;q=0", {})):
        headers = {"accept-encoding": asked, "range": "bytes=0-3"}
        answer = http.get("/map/roads.json", params=params, headers=headers)
        assert (answer.status_code, answer.content) == (200, ROADS.body)
        assert ("content-encoding" in answer.headers) == (asked == "gzip")


def test_without_roads_there_is_no_map(tmp_path):
    """An operator who has loaded no roads has no map, and the answer says so."""
    with serving(tmp_path) as service, service.client() as http:
        answer = http.get("/map/roads.json")
    assert (answer.status_code, answer.json()["reason"]) == (404, "not-found")
    assert "voile share roads" in answer.json()["detail"]


def test_who_asks_while_the_store_fails_shares_one_trial():
    """A hundred who ask at once, of a store that fails slowly, make it try twice and not more."""
    tries = []

    class Failing:
        has_failed = True

        def check_writing(self):
            tries.append(time.sleep(0.01))
            raise StoreError("the disk is full")

    async def ask():
        writing = Writing(Failing(), lambda _: None)
        found = await asyncio.gather(*(writing.works() for _ in range(100)))
        once_more = len(tries)
        assert await writing.works() is False
        return found, once_more

    found, once_more = asyncio.run(ask())
    assert found == [False] * 100
    assert once_more <= 2
    assert len(tries) == once_more + 1


def test_types_of_problems_say_what_they_mean(http):
    """The type of each problem is an address at which its meaning is."""
    for reason, title in TITLES.items():
        answer = http.get(f"/problems/{reason}")
        assert answer.json() == {"reason": reason, "title": title, "status": status_of(reason)}
    assert http.get("/problems/never").status_code == 404


def test_files_outside_of_the_page_are_not_there(http):
    """No path leads out of the page's files."""
    for path in ("/static/", "/static/../vault.key", "/static/%2e%2e/vault.key", "/share.toml"):
        assert http.get(path).status_code == 404
