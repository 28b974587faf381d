"""The operator's page over HTTP: who gets in, and who sees what."""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from urllib.parse import parse_qs, urlsplit

import httpx2 as httpx
import pyotp
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from share_tests.scene import Parties
from share_tests.service.server import Company, Service, serving
from voile_base.errors import InputError
from voile_share.protocol.primitives import to_base64url
from voile_share.service import Options, application
from voile_share.service.operator.users import NewCredentials, Users
from voile_share.store import UserRole
from voile_testing.processes import PATIENCE, wait_until


@dataclass
class Person:
    """Somebody with a browser, an app for codes, and a clock that is the service's."""

    service: Service
    admitted: NewCredentials
    http: httpx.Client

    @property
    def code(self) -> str:
        secret = parse_qs(urlsplit(self.admitted.uri).query)["secret"][0]
        return pyotp.TOTP(secret).at(int(self.service.now))

    def enter(self, *, headers=None, **said) -> httpx.Response:
        user = self.admitted
        form = {"name": user.user.name, "password": user.password, "code": self.code, **said}
        return self.http.post("/operator/login", data=form, headers=headers)

    def form_token(self) -> str:
        return re.search(r'name="token" value="(\w+)"', self.http.get("/operator/fleet").text)[1]


@dataclass
class World:
    """Two companies, each with a truck, a parcel, a link and people; and an operator."""

    service: Service
    users: Users
    companies: dict[str, Company]
    trucks: dict[str, str]
    links: dict[str, str]
    """To a truck; and one to a parcel that is on none, as ``NAME parcel``."""
    people: dict[str, Person]

    def secrets_of(self, name: str) -> list[str]:
        """What nobody of another company may see."""
        number, truck = self.companies[name].number, self.trucks[name]
        return [
            number,
            truck,
            truck[:8],
            self.links[name],
            self.links[f"{name} parcel"],
            f"LABEL-{name}",
            f"device-{name}",
            f"PARCEL-{name}",
            name,
        ]


def person(service: Service, users: Users, name: str, role: UserRole, company=None) -> Person:
    return Person(service, users.add(name, role, company, "test"), service.client())


def made(service: Service) -> World:
    platform = service.scene.platform
    users = Users(platform.directory, platform.vault, platform.clock)
    companies, trucks, links, people = {}, {}, {}, {}
    with service.client() as http:
        for name in ("Alpha", "Bravo"):
            company = companies[name] = service.company(http, name)
            trucks[name], token = company.truck(f"device-{name}")
            sender, receiver = map(to_base64url, Parties(name).keys)
            path = f"/trucks/{trucks[name]}/parcels/PARCEL-{name}"
            assert company.call(
                "PUT", path, json={"sender": sender, "receiver": receiver}
            ).is_success
            said = {"hours": 24, "label": f"LABEL-{name} Straße 7"}
            links[name] = company.made(f"/trucks/{trucks[name]}/links", said)["id"]
            links[f"{name} parcel"] = company.made("/links", said)["id"]
            assert service.send(http, token, f"device-{name}").status_code == 200
            for role in (UserRole.VIEWER, UserRole.DISPATCHER):
                who = f"{role}-{company.number[:6]}"
                people[f"{name} {role}"] = person(service, users, who, role, company.number)
    people["operator"] = person(service, users, "root", UserRole.OPERATOR)
    return World(service, users, companies, trucks, links, people)


@pytest.fixture
def world(tmp_path) -> Iterator[World]:
    with serving(tmp_path) as service:
        world = made(service)
        yield world
        for one in world.people.values():
            one.http.close()


@pytest.mark.slow
def test_a_dispatcher_sees_the_fleet_and_closes_a_link(world):
    """A truck with its circle, its parcel and its link, until it is revoked; all is in the log."""
    me = world.people["Alpha dispatcher"]
    assert me.http.get("/operator/fleet").headers["location"] == "/operator/login"
    answer = me.enter()
    assert (answer.status_code, answer.headers["location"]) == (303, "/operator/fleet")
    cookie = answer.headers["set-cookie"].lower()
    assert all(part in cookie for part in ("httponly", "samesite=strict", "path=/"))
    page = me.http.get("/operator/fleet")
    assert "device-Alpha" in page.text
    assert page.text.count('class="truck"') == 1
    assert page.headers["cache-control"] == "no-store"
    assert "unsafe" not in page.headers["content-security-policy"]
    truck = f"/operator/trucks/{world.trucks['Alpha']}"
    assert "PARCEL-Alpha" in me.http.get(truck).text
    link = world.links["Alpha"]
    assert link in me.http.get(truck).text
    path = f"/operator/links/{link}/revoke"
    assert me.http.post(path, data={"token": "x"}).status_code == 403
    other = {"origin": "https://evil.example", "sec-fetch-site": "cross-site"}
    good = {"token": me.form_token(), "truck": world.trucks["Alpha"]}
    assert me.http.post(path, data=good, headers=other).status_code == 403
    assert link in me.http.get(truck).text
    answer = me.http.post(path, data=good)
    assert (answer.status_code, answer.headers["location"]) == (303, truck)
    assert link not in me.http.get(truck).text
    assert me.http.post(path, data=good).status_code == 404
    done = [(one.who, one.what, one.about) for one in world.users.journal.all()]
    assert done[-1] == (me.admitted.user.name, "link revoked", link)
    assert me.http.post("/operator/logout", data=good).status_code == 303
    assert me.http.get("/operator/fleet").status_code == 303


@pytest.mark.slow
def test_a_truck_has_one_name_on_all_pages(world):
    """The fleet, the links and the parcels call it by its tracker, or its number."""
    me, truck = world.people["Alpha dispatcher"], world.trucks["Alpha"]
    me.enter()
    for tracker, title in (("device-Alpha", "device-Alpha"), (None, truck[:8])):
        if tracker is None:
            world.service.scene.platform.directory.revoke_device(
                bytes.fromhex(truck), "device-Alpha", time.time()
            )
        for page in ("fleet", "links", "parcels"):
            text = me.http.get(f"/operator/{page}").text
            assert f'<a href="/operator/trucks/{truck}">{title}</a>' in text, page


@pytest.mark.slow
def test_a_viewer_changes_nothing(world):
    """The button is not there, and what it would send is refused."""
    me = world.people["Alpha viewer"]
    me.enter()
    truck = f"/operator/trucks/{world.trucks['Alpha']}"
    for page in (truck, "/operator/links"):
        assert world.links["Alpha"] in me.http.get(page).text
        assert "/revoke" not in me.http.get(page).text
    path = f"/operator/links/{world.links['Alpha']}/revoke"
    assert me.http.post(path, data={"token": me.form_token()}).status_code == 404
    assert world.links["Alpha"] in me.http.get(truck).text


@pytest.mark.slow
def test_links_are_found_by_their_labels_and_closed(world):
    """To trucks and to parcels that are on none; who follows by one hears of it at once."""
    me, links = world.people["Alpha dispatcher"], world.links
    me.enter()

    def shown(**query) -> set[str]:
        text = me.http.get("/operator/links", params=query).text
        return {name for name, link in links.items() if link in text}

    mine = {"Alpha", "Alpha parcel"}
    assert shown() == mine
    assert shown(search="strasse") == mine
    assert shown(search="LABEL-Bravo") == set()
    page = me.http.get("/operator/links", params={"search": "<b>"}).text
    assert "whose label holds these words" in page
    assert "<b>" not in page
    woken = []
    platform, link = world.service.scene.platform, links["Alpha parcel"]
    (held,) = platform.directory.links_beginning(bytes.fromhex(link))
    platform.subscribe(held.hash, woken.append)
    good = {"token": me.form_token()}
    for odd in ("0" * 16, link[:-1], link[:4], f"{link}00", link.upper() + "Z", "%20"):
        assert me.http.post(f"/operator/links/{odd}/revoke", data=good).status_code == 404
    answer = me.http.post(f"/operator/links/{link}/revoke", data=good)
    assert (answer.status_code, answer.headers["location"]) == (303, "/operator/links")
    assert shown() == {"Alpha"}
    assert woken == [None]
    (done,) = (one for one in world.users.journal.all() if one.what == "link revoked")
    assert (done.about, done.company) == (link, world.companies["Alpha"].number)
    root = world.people["operator"]
    root.enter()
    text = root.http.get("/operator/links?search=label").text
    assert [name for name in links if links[name] in text] == ["Alpha", "Bravo", "Bravo parcel"]


def routes(service: Service) -> list[tuple[str, str]]:
    """All routes below /operator that the application has."""
    from voile_share.service.operator import router  # noqa: PLC0415

    return [(method, one.path) for one in router.routes for method in one.methods]


@pytest.fixture(scope="module")
def two(tmp_path_factory) -> Iterator[tuple[World, Person]]:
    with serving(tmp_path_factory.mktemp("two")) as service:
        world = made(service)
        me = world.people["Alpha dispatcher"]
        assert me.enter().status_code == 303
        yield world, me
        for one in world.people.values():
            one.http.close()


@pytest.mark.slow
@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(drawn=st.data())
def test_no_route_shows_or_changes_what_is_anothers(two, drawn):
    """Every route, with every number of the other company in every place, says nothing of it."""
    world, me = two
    theirs = world.secrets_of("Bravo")
    method, path = drawn.draw(st.sampled_from(routes(world.service)))
    if (method, path) == ("POST", "/operator/logout"):
        return
    odd = st.sampled_from([*theirs, world.trucks["Alpha"], "", "0", "-1", "%00", "é", "99999999"])
    filled = re.sub(r"\{\w+\}", lambda _: drawn.draw(odd).replace("/", ""), path)
    names = ("search", "after", "before", "company", "truck")
    query = drawn.draw(st.dictionaries(st.sampled_from(names), odd, max_size=3))
    form = {"token": me.form_token()} if method == "POST" else None
    answer = me.http.request(method, filled, params=query, data=form)
    assert answer.status_code < 500
    said = [*query.values(), filled]
    for secret in theirs:
        if not any(secret in one for one in said):  # what was typed is in the search field again
            assert secret not in answer.text, (method, filled, query)
    links = world.service.scene.store.links_of(world.companies["Bravo"].number)
    assert [one.revoked for one in links] == [None, None]


def test_the_pages_of_operators_are_not_a_companys(two):
    """Companies, load and the audit log are not there for anybody else."""
    world, me = two
    for page in ("companies", "load", "audit"):
        assert me.http.get(f"/operator/{page}").status_code == 404
    root = world.people["operator"]
    root.enter()
    for page in ("companies", "load", "audit", "fleet", "parcels", "links"):
        answer = root.http.get(f"/operator/{page}")
        assert answer.status_code == 200
    text = root.http.get("/operator/fleet").text
    assert "device-Alpha" in text
    assert "device-Bravo" in text
    assert root.http.get("/operator/parcels?search=PARCEL-B").text.count("PARCEL-") == 2


@pytest.mark.slow
@pytest.mark.parametrize("wrong", [{"password": "x"}, {"code": "000000"}, {"name": "nobody"}])
def test_a_wrong_thing_opens_nothing_and_is_not_named(world, wrong):
    """Password, code or name: the same answer; and a code opens once."""
    me = world.people["Alpha viewer"]
    refused = me.enter(**wrong)
    assert refused.status_code == 401
    assert "Name, password or code are not right" in refused.text
    assert "set-cookie" not in refused.headers
    code = me.code
    assert me.enter().status_code == 303
    assert me.enter(code=code).status_code == 401
    world.service.scene.clock.now += 30
    assert me.enter().status_code == 303


@pytest.mark.slow
def test_strangers_who_sign_in_together_take_one_core(world, monkeypatch):
    """One password is looked at at a time, eight wait, the others are told to come again."""
    here, most, lock, go_on = 0, 0, threading.Lock(), threading.Event()
    look = Users.enter

    def slow(self, *given):
        nonlocal here, most
        with lock:
            here, most = here + 1, max(most, here + 1)
        go_on.wait(PATIENCE)
        try:
            return look(self, *given)
        finally:
            with lock:
                here -= 1

    monkeypatch.setattr(Users, "enter", slow)

    def tried(_: int) -> httpx.Response:
        with world.service.client() as http:
            form = {"name": "nobody", "password": "x", "code": "1"}
            return http.post("/operator/login", data=form)

    with ThreadPoolExecutor(14) as pool:
        answers = [pool.submit(tried, one) for one in range(14)]
        wait_until(lambda: sum(one.done() for one in answers) == 5, "nobody was refused")
        with world.service.client() as http:
            assert http.get("/healthz").status_code == 200
        go_on.set()
        statuses = Counter(one.result().status_code for one in answers)
    assert statuses == {503: 5, 401: 9}
    assert most == 1
    busy = [one.result() for one in answers if one.result().status_code == 503]
    assert all(one.headers["retry-after"] == "5" for one in busy)


def test_those_who_come_in_one_turn_of_the_loop_are_all_counted(scene, monkeypatch):
    """Of 14 who are looked at before one of them waits for the other, nine are let in."""
    monkeypatch.setattr(Users, "enter", lambda *given: None)
    transport = httpx.ASGITransport(application(scene.platform, Options()))
    form = {"name": "nobody", "password": "x", "code": "1"}

    async def statuses() -> list[int]:
        async with httpx.AsyncClient(transport=transport, base_url="http://voile") as http:
            tried = (http.post("/operator/login", data=form) for _ in range(14))
            return [one.status_code for one in await asyncio.gather(*tried)]

    assert Counter(asyncio.run(statuses())) == {503: 5, 401: 9}


@pytest.mark.slow
def test_failures_lock_a_name_for_longer_each_time(world):
    """After five, half a minute, a minute, two; right ones within it open nothing, and it ends."""
    me, clock = world.people["Alpha viewer"], world.service.scene.clock
    for _ in range(5):
        assert me.enter(password="x").status_code == 401
    assert me.enter().status_code == 401
    clock.now += 31
    assert me.enter(password="x").status_code == 401
    clock.now += 31
    assert me.enter().status_code == 401
    clock.now += 30
    assert me.enter().status_code == 303


@pytest.mark.slow
def test_every_refusal_is_as_much_work(world, monkeypatch):
    """Of an unknown, a locked and a disabled name, and a wrong password: one password each."""
    looked = []
    monkeypatch.setattr(
        "voile_share.service.operator.users._matches",
        lambda hashed, password: bool(looked.append(hashed)),
    )
    users = Users(world.service.scene.store, world.service.scene.vault, world.service.scene.clock)
    name, work = world.people["Alpha viewer"].admitted.user.name, []
    for who in ("nobody", *[name] * 7):
        looked.clear()
        assert users.enter(who, "x", "0") is None
        work.append(len(looked))
    users.disable(name, "test")
    looked.clear()
    assert users.enter(name, "x", "0") is None
    assert [*work, len(looked)] == [1] * 9


@pytest.mark.slow
def test_sessions_end(world):
    """After half an hour without a request, after twelve hours with them, and by a reset."""
    me, clock = world.people["Alpha viewer"], world.service.scene.clock

    def is_in() -> bool:
        return me.http.get("/operator/fleet").status_code == 200

    me.enter()
    clock.now += 1_790
    assert is_in()
    clock.now += 1_790
    assert is_in()
    clock.now += 1_900
    assert not is_in()
    me.enter()
    for _ in range(25):
        clock.now += 1_700
        assert is_in()
    clock.now += 1_700
    assert not is_in()
    me.enter()
    assert is_in()
    world.users.disable(me.admitted.user.name, "test")
    assert not is_in()
    clock.now += 60
    assert me.enter().status_code == 401
    old = me.admitted.password
    me.admitted = world.users.reset(me.admitted.user.name, "test")
    assert me.enter(password=old).status_code == 401
    assert me.enter().status_code == 303
    world.service.scene.platform.close_company(world.companies["Alpha"].number)
    assert not is_in()


@pytest.mark.slow
def test_the_audit_log_shows_what_was_changed(world):
    """Every entry follows the one before; one that is changed or taken out is found."""
    me = world.people["Alpha dispatcher"]
    me.enter()
    me.enter(password="marker-password")
    entries = list(world.users.journal.all())
    assert [one.what for one in entries[-2:]] == ["signed in", "was refused"]
    text = "".join(repr(one) for one in entries)
    assert "marker" not in text
    assert me.admitted.password not in text
    engine = world.service.scene.store._engine
    change = "UPDATE audit SET entry = replace(entry, 'refused', 'fooled') WHERE number = ?"
    engine.write(lambda connection: connection.change(change, (entries[-1].number,)))
    with pytest.raises(InputError, match=f"entry {entries[-1].number} of the audit log"):
        list(world.users.journal.all())
    number = entries[2].number
    engine.write(lambda one: one.change("DELETE FROM audit WHERE number = ?", (number,)))
    with pytest.raises(InputError, match=f"entry {number} of the audit log"):
        list(world.users.journal.all())


@pytest.mark.slow
def test_the_map_shows_published_positions_at_the_level_that_was_chosen(tmp_path):
    """What is drawn is a position that parties see too, far by default, or nothing."""
    from share_tests.scene import Scene  # noqa: PLC0415
    from voile_share.platform import Settings  # noqa: PLC0415

    for sees, count in (("far", 1), ("nothing", 0)):
        folder = tmp_path / sees
        folder.mkdir()
        scene = Scene(folder, Settings(operator_sees=sees))
        with serving(folder, scene=scene) as service:
            world = made(service)
            root = world.people["Alpha viewer"]
            root.enter()
            assert root.http.get("/operator/fleet").text.count('class="truck"') == count
            truck = bytes.fromhex(world.trucks["Alpha"])
            shown = scene.platform.shown(truck)
            if shown is not None:
                assert (shown.latitude, shown.longitude) != (52.01, 4.36)
                assert shown.epsilon == pytest.approx(scene.settings.levels.epsilons[2])
            for one in world.people.values():
                one.http.close()


@pytest.mark.slow
def test_users_who_cannot_be_are_refused(world):
    """A name twice or unfit, an operator of a company, a viewer of none or of an unknown one."""
    number = world.companies["Alpha"].number
    for name, role, company, why in (
        ("root", UserRole.OPERATOR, None, "there is a user of this name"),
        ("a\nb", UserRole.OPERATOR, None, "name"),
        ("x", UserRole.OPERATOR, number, "sees all companies"),
        ("x", UserRole.VIEWER, None, "name it"),
        ("x", UserRole.VIEWER, "0" * 32, "no open company"),
    ):
        with pytest.raises(InputError, match=why):
            world.users.add(name, role, company, "test")
