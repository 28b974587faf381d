"""Studio lets in the browser that it opened, by its own address, from its own pages."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("fastapi")
from starlette.testclient import TestClient

from voile_studio.guard import Guard
from voile_studio.project import Start
from voile_studio.screens import application

HOME = "http://127.0.0.1:8123"


@pytest.fixture
def guard(tmp_path: Path) -> Guard:
    """Studio for a folder with one table."""
    (tmp_path / "people.csv").write_text("age,sex\n30,f\n40,m\n")
    return application(Start(tmp_path), frozenset({"127.0.0.1:8123"}))


@pytest.fixture
def stranger(guard: Guard) -> Iterator[TestClient]:
    """A browser that Studio does not know."""
    with TestClient(guard, base_url=HOME, follow_redirects=False) as client:
        yield client


@pytest.mark.slow
def test_the_address_works_once(guard: Guard, stranger: TestClient):
    """Who comes second with the same address is not let in."""
    entrance = guard.new_entrance()
    assert stranger.get(entrance).status_code == 200
    assert stranger.get("/").status_code == 200
    stranger.cookies.clear()
    assert stranger.get(entrance).status_code == 401
    assert stranger.get("/").status_code == 401


@pytest.mark.slow
def test_scripts_and_other_sites_do_not_get_the_cookie(guard: Guard, stranger: TestClient):
    """It is for HTTP alone, and is sent by our own pages alone."""
    cookie = stranger.get(guard.new_entrance()).headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie


@pytest.mark.slow
def test_two_at_once_know_their_browser(tmp_path: Path):
    """A browser sends the cookies of both to each, because cookies know no port."""
    (tmp_path / "people.csv").write_text("age\n30\n")
    ports = (8123, 8124)
    guards = [application(Start(tmp_path), frozenset({f"127.0.0.1:{port}"})) for port in ports]
    cookies: dict[str, str] = {}
    for port, guard in zip(ports, guards, strict=True):
        with TestClient(guard, base_url=f"http://127.0.0.1:{port}") as client:
            client.get(guard.new_entrance())
            cookies |= dict(client.cookies)
    for port, guard in zip(ports, guards, strict=True):
        with TestClient(guard, base_url=f"http://127.0.0.1:{port}", cookies=cookies) as client:
            assert client.get("/").status_code == 200


@pytest.mark.parametrize("token", ["", "token=", "token=guess", "token=%ff%fe", "other=1"])
def test_a_wrong_token_lets_nobody_in(guard: Guard, stranger: TestClient, token: str):
    """And leaves the right one as it was."""
    entrance = guard.new_entrance()
    assert stranger.get(f"/enter?{token}").status_code == 401
    assert stranger.get(entrance).status_code == 200


@pytest.mark.parametrize("host", ["evil.example:8123", "127.0.0.1:9999", "127.0.0.1", ""])
def test_another_name_of_this_machine_is_refused(guard: Guard, stranger: TestClient, host: str):
    """A page of another site cannot reach Studio by a name that leads here."""
    stranger.get(guard.new_entrance())
    assert stranger.get("/", headers={"host": host}).status_code == 421


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": HOME, "sec-fetch-site": "cross-site"},
        {"origin": "http://127.0.0.1:9999"},
    ],
)
def test_what_changes_something_must_come_from_our_pages(
    guard: Guard, stranger: TestClient, headers: dict[str, str]
):
    """Even with the cookie."""
    stranger.get(guard.new_entrance())
    answer = stranger.post("/open", data={"source": "people.csv"}, headers=headers)
    assert answer.status_code == 403


@pytest.mark.slow
@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_pages_are_not_looked_at_from_elsewhere(guard: Guard, stranger: TestClient, site: str):
    """A server on another port of this machine is of the same site, and is refused as well."""
    stranger.get(guard.new_entrance())
    assert stranger.get("/", headers={"sec-fetch-site": site}).status_code == 403
    for own in ("none", "same-origin"):
        assert stranger.get("/", headers={"sec-fetch-site": own}).status_code == 200


@pytest.mark.slow
def test_every_answer_forbids_keeping_it_and_foreign_scripts(guard: Guard, stranger: TestClient):
    """Pages, files, refusals."""
    stranger.get(guard.new_entrance())
    for path in ("/", "/static/studio.css", "/p/nothing/data", "/enter"):
        headers = stranger.get(path).headers
        assert "script-src 'self'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["x-frame-options"] == "DENY"
        assert path.startswith("/static") or headers["cache-control"] == "no-store"
