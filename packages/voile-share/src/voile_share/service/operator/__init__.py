"""The page of the people who run a service, at ``/operator``: its routes, and who may ask them.

Each route takes a visitor, whom a dependency has let in, and looks at nothing but what is the
visitor's: the company that restricts every question comes from the session and from nowhere else.
``users`` says who may sign in, ``overview`` what is shown, of one company or of all.

A session is 160 random bits in a cookie that scripts cannot read and other sites cannot send; the
store keeps its hash.  It ends after 30 minutes without a request, and after 12 hours.  What changes
something must come from a page of ours: it brings a token that follows from the session, and the
browser says that no other site has made it ask.
"""

from __future__ import annotations

import asyncio
import hmac
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from importlib.resources import files
from typing import TYPE_CHECKING, Annotated

import jinja2
from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Depends, FastAPI, Request, Response
from starlette.responses import HTMLResponse, RedirectResponse

from voile_share.service.context import ServiceContext
from voile_share.service.operator.overview import Overview, picture, shown_parcel
from voile_share.service.operator.users import Users
from voile_share.service.problems import ProblemError
from voile_share.store import User, UserRole

if TYPE_CHECKING:
    from voile_share.service.feed import Feeds
    from voile_share.service.problems import Notices

__all__ = ["HEADERS", "add_operator_pages", "router"]

_IDLE, _LONGEST = 1_800.0, 43_200.0
_OWN_SITE = frozenset({"same-origin", "none"})
_AT_ONCE = 1
"""Passwords that are looked at: each takes 19 MB and a core, and strangers may send them."""
_REFUSED_SECONDS = 0.4
"""From the beginning to the answer of whoever is not let in."""
_MOST_WAITING = 8
_RETRY_SECONDS = 5.0

HEADERS = {
    "Content-Security-Policy": "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "connect-src 'self'",
            "img-src 'self'",
            "base-uri 'none'",
            "form-action 'self'",
            "frame-ancestors 'none'",
        )
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "geolocation=(), camera=(), microphone=(), payment=()",
    "Referrer-Policy": "same-origin",
    "X-Frame-Options": "DENY",
    "X-Robots-Tag": "noindex",
}


@dataclass(frozen=True)
class _Visitor:
    """Somebody who is signed in."""

    user: User
    token: str

    @property
    def form_token(self) -> str:
        """What forms of theirs bring."""
        return sha256(b"voile form" + self.token.encode()).hexdigest()

    @property
    def company(self) -> str | None:
        """What they see; None: all companies."""
        return self.user.company

    @property
    def is_operator(self) -> bool:
        """Whether they see companies, load and the audit log."""
        return self.user.role is UserRole.OPERATOR

    @property
    def may_revoke(self) -> bool:
        """Whether they may close links."""
        return self.user.role is not UserRole.VIEWER


class _Gate:
    """Lets people in and out."""

    def __init__(self, context: ServiceContext, users: Users) -> None:
        self._context = context
        self._users = users
        self._encrypted = context.options.is_encrypted
        self._name = "__Host-voile-operator" if self._encrypted else "voile-operator"
        self._hashing = CapacityLimiter(_AT_ONCE)
        self._entering = 0

    async def visitor(self, request: Request) -> _Visitor | None:
        """Who asks; raises ``ProblemError`` where they ask too often."""
        token = request.cookies.get(self._name, "")
        if not token:
            return None
        self._context.count("company", token)
        user = await self._context.do(lambda: self._users.of_session(token, _IDLE, _LONGEST))
        return None if user is None else _Visitor(user, token)

    async def enter(self, request: Request, name: str, password: str, code: str) -> str | None:
        """The token of a new session; None where something is wrong.

        Raises ``ProblemError`` for another site, where an address was wrong too often, and where
        too many are trying at once.
        """
        self.check_site(request)
        if self._entering >= _AT_ONCE + _MOST_WAITING:
            raise ProblemError("busy", "too many are signing in", retry=_RETRY_SECONDS)
        began = time.monotonic()
        # Counted here: those who come together ask for the limiter only after all were let in.
        self._entering += 1
        try:
            token = await to_thread.run_sync(
                lambda: self._users.enter(name, password, code), limiter=self._hashing
            )
        finally:
            self._entering -= 1
        if token is None:
            # What a wrong password of a known name writes takes time, which would tell the name.
            await asyncio.sleep(max(0.0, began + _REFUSED_SECONDS - time.monotonic()))
            self._context.refused(request, "token-refused")
        return token

    def remember(self, response: Response, token: str) -> None:
        """Give the browser its session."""
        response.set_cookie(
            self._name,
            token,
            max_age=int(_LONGEST),
            path="/",
            secure=self._encrypted,
            httponly=True,
            samesite="strict",
        )

    def forget(self, response: Response) -> None:
        """Take it back."""
        response.delete_cookie(
            self._name, path="/", secure=self._encrypted, httponly=True, samesite="strict"
        )

    async def leave(self, visitor: _Visitor) -> None:
        """End a session."""
        await self._context.do(lambda: self._users.leave(visitor.token, visitor.user))

    def check_form(self, request: Request, visitor: _Visitor, token: str) -> None:
        """Raise ``ProblemError`` for what does not come from a page of theirs."""
        self.check_site(request)
        if not hmac.compare_digest(token.encode(), visitor.form_token.encode()):
            raise ProblemError("foreign-site")

    def check_site(self, request: Request) -> None:
        """Raise ``ProblemError`` for what another site has made a browser ask."""
        site, origin = request.headers.get("sec-fetch-site"), request.headers.get("origin")
        host = request.headers.get("host", "")
        own = {self._context.options.address, f"http://{host}", f"https://{host}"}
        if (site is not None and site not in _OWN_SITE) or (
            origin is not None and origin not in own
        ):
            raise ProblemError("foreign-site")


router = APIRouter(prefix="/operator", include_in_schema=False)
_LOGIN = "/operator/login"
_MOST_SEARCH = 64
_STATIC = {"operator.css": "text/css", "operator.js": "text/javascript"}
_WRONG = "Name, password or code are not right, or too many were wrong: try again in a while."


class _OperatorPages:
    """What the routes work with."""

    def __init__(self, context: ServiceContext, feeds: Feeds, notices: Notices) -> None:
        platform = context.platform
        self.context, self.feeds, self.notices = context, feeds, notices
        self.users = Users(platform.directory, platform.vault, platform.clock)
        self.gate = _Gate(context, self.users)
        self.overview = Overview(platform, platform.directory)


def add_operator_pages(app: FastAPI, notices: Notices) -> None:
    """Let an application serve the pages."""
    app.state.operator = _OperatorPages(app.state.context, app.state.feeds, notices)
    app.add_exception_handler(_RefusedError, _refused)


def _pages(request: Request) -> _OperatorPages:
    pages: _OperatorPages = request.app.state.operator
    return pages


@cache
def _templates() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("voile_share.service.operator"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["when"] = lambda at: f"{datetime.fromtimestamp(at, UTC):%Y-%m-%d %H:%M}"
    environment.filters["parcel"] = shown_parcel
    environment.globals["version"] = {name: _file(name)[1][:8] for name in _STATIC}
    return environment


def _page(name: str, visitor: _Visitor | None, status: int = 200, **shown: object) -> Response:
    text = _templates().get_template(name).render(visitor=visitor, here=name, **shown)
    return HTMLResponse(text, status, dict(HEADERS))


def _missing(visitor: _Visitor) -> Response:
    """The same, whether there is no such thing or it is another company's."""
    return _page("missing.html", visitor, 404)


def _to(address: str) -> Response:
    return RedirectResponse(address, 303, dict(HEADERS))


class _RefusedError(Exception):
    """Somebody asks for what is not shown to them; ``answer`` is what they get."""

    def __init__(self, answer: Response) -> None:
        super().__init__()
        self.answer = answer


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, _RefusedError)
    return error.answer


async def _visitor(request: Request) -> _Visitor:
    """Who asks; raises ``_RefusedError`` for who is not signed in."""
    visitor = await _pages(request).gate.visitor(request)
    if visitor is None:
        raise _RefusedError(_to(_LOGIN))
    return visitor


AVisitor = Annotated[_Visitor, Depends(_visitor)]


async def _operator(visitor: AVisitor) -> _Visitor:
    """Who asks, an operator; raises ``_RefusedError`` for others."""
    if not visitor.is_operator:
        raise _RefusedError(_missing(visitor))
    return visitor


AnOperator = Annotated[_Visitor, Depends(_operator)]


@router.get("")
async def _home(request: Request) -> Response:
    """Where people begin."""
    return _to("/operator/fleet")


@router.get("/login")
async def _login(request: Request) -> Response:
    """The form."""
    return _page("login.html", None, wrong="")


@router.post("/login")
async def _enter(request: Request) -> Response:
    """Sign in."""
    gate, form = _pages(request).gate, await request.form()
    name, password, code = (str(form.get(one, "")) for one in ("name", "password", "code"))
    token = await gate.enter(request, name.strip(), password, code)
    if token is None:
        return _page("login.html", None, 401, wrong=_WRONG)
    answer = _to("/operator/fleet")
    gate.remember(answer, token)
    return answer


@router.post("/logout")
async def _leave(request: Request) -> Response:
    """Sign out."""
    gate, answer = _pages(request).gate, _to(_LOGIN)
    visitor = await gate.visitor(request)
    if visitor is not None:
        gate.check_form(request, visitor, str((await request.form()).get("token", "")))
        await gate.leave(visitor)
    gate.forget(answer)
    return answer


@router.get("/fleet")
async def _fleet(request: Request, visitor: AVisitor, after: int = 0) -> Response:
    """Trucks on the map and in a table."""
    pages = _pages(request)
    after = min(max(after, 0), 2**53)
    found = await pages.context.do(lambda: pages.overview.fleet(visitor.company, after))
    seen = [row.seen for row in found.rows if row.seen is not None]
    roads = request.app.state.roads
    drawn = await pages.context.do(lambda: picture(seen, None if roads is None else roads.body))
    settings = pages.context.platform.settings
    return _page("fleet.html", visitor, fleet=found, picture=drawn, settings=settings)


@router.get("/trucks/{truck}")
async def truck(request: Request, visitor: AVisitor, truck: str) -> Response:
    """One truck with its parcels and links."""
    pages = _pages(request)
    number = _number(truck)
    row = await pages.context.do(lambda: pages.overview.truck(visitor.company, number))
    if row is None:
        return _missing(visitor)
    parcels = await pages.context.do(lambda: pages.overview.parcels_on(number))
    links = await pages.context.do(lambda: pages.overview.links_to(number))
    settings = pages.context.platform.settings
    return _page("truck.html", visitor, row=row, parcels=parcels, links=links, settings=settings)


@router.get("/links")
async def links(request: Request, visitor: AVisitor, search: str = "") -> Response:
    """Open links, by words of their label."""
    pages = _pages(request)
    words = search[:_MOST_SEARCH]
    found, more = await pages.context.do(lambda: pages.overview.links(visitor.company, words))
    trucks = [one.link.truck for one in found]
    titles = await pages.context.do(lambda: pages.overview.titles(trucks))
    return _page("links.html", visitor, links=found, more=more, search=words, titles=titles)


@router.post("/links/{link}/revoke")
async def _revoke(request: Request, visitor: AVisitor, link: str) -> Response:
    """Close a link; back to the truck that the form names, or to the links."""
    pages = _pages(request)
    form = await request.form()
    pages.gate.check_form(request, visitor, str(form.get("token", "")))
    if not visitor.may_revoke:
        return _missing(visitor)
    owner = await pages.context.do(lambda: pages.overview.revoke(visitor.company, link))
    if owner is None:
        return _missing(visitor)
    journal, truck = pages.users.journal, _number(str(form.get("truck", "")))
    await pages.context.do(lambda: journal.write(visitor.user.name, "link revoked", link, owner))
    return _to(f"/operator/trucks/{truck.hex()}" if truck else "/operator/links")


@router.get("/parcels")
async def parcels(request: Request, visitor: AVisitor, search: str = "") -> Response:
    """Parcels that are under way, by the beginning of their number."""
    pages = _pages(request)
    found = await pages.context.do(
        lambda: pages.overview.parcels(visitor.company, search[:_MOST_SEARCH])
    )
    trucks = [one.truck for one in found]
    titles = await pages.context.do(lambda: pages.overview.titles(trucks))
    words = search[:_MOST_SEARCH]
    return _page("parcels.html", visitor, parcels=found, search=words, titles=titles)


@router.get("/companies")
async def _companies(request: Request, visitor: AnOperator) -> Response:
    """Companies and people, for operators."""
    pages = _pages(request)
    platform = pages.context.platform
    known = await pages.context.do(platform.companies)
    days = {one: n for one, _, n in await pages.context.do(platform.retentions)}
    people = await pages.context.do(pages.users.all)
    return _page("companies.html", visitor, companies=known, days=days, people=people)


@router.get("/load")
async def _load(request: Request, visitor: AnOperator) -> Response:
    """What waits, and what went wrong, for operators."""
    pages = _pages(request)
    context = pages.context
    return _page(
        "load.html",
        visitor,
        waited=context.platform.waited(),
        feeds=pages.feeds.count,
        options=context.options,
        outcomes=sorted(context.outcomes.items()),
        notices=pages.notices.recent(),
    )


@router.get("/audit")
async def _audit(request: Request, visitor: AnOperator, before: int = 2**53) -> Response:
    """Who did what, for operators."""
    pages = _pages(request)
    before = min(max(before, 1), 2**53)
    done = await pages.context.do(lambda: pages.users.journal.last(100, before))
    return _page("audit.html", visitor, done=done)


@router.get("/static/{name}")
async def _static(request: Request, name: str) -> Response:
    """The style and the script."""
    if name not in _STATIC:
        raise ProblemError("not-found")
    body, digest = _file(name)
    headers = {**HEADERS, "Cache-Control": "no-cache", "ETag": f'"{digest}"'}
    if request.headers.get("if-none-match") == headers["ETag"]:
        return Response(status_code=304, headers=headers)
    return Response(body, media_type=_STATIC[name], headers=headers)


@cache
def _file(name: str) -> tuple[bytes, str]:
    body = (files("voile_share.service.operator") / "static" / name).read_bytes()
    return body, sha256(body).hexdigest()[:32]


def _number(truck: str) -> bytes:
    try:
        return bytes.fromhex(truck)[:16]
    except ValueError:
        return b""
