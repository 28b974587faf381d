"""Webhooks and mail: the calls by which companies choose them, and who delivers what waits.

A message is claimed before it is sent and put down as told afterwards: a service that is killed in
between sends it again, under the same id.  One that is not taken is tried again after half a
minute, and each time four times as long later, to six hours, for a day.

How an event reaches an address that a company has named: a signed request, or a mail.

Who names an address may not so reach what stands behind the service: names are looked up here, all
of what they stand for must be of the public network, and the connection goes to what was looked at
(not to what a second look-up would give).  Redirects are not followed, and answers not read.

A request carries ``Voile-Signature: t=SECONDS,v1=HEX``, HEX being HMAC-SHA256 over ``SECONDS.BODY``
under the hook's secret.

Which addresses are of the public network: only these does a company's hook reach.

Sources: the registries of special-purpose addresses (IANA, RFC 6890) as the standard library has
them, and what they leave to callers: addresses of IPv6 that stand for one of IPv4, which a gateway
of the operator's may translate (RFC 6052 and 8215, NAT64; RFC 4291, mapped and compatible; RFC
3056, 6to4; RFC 4380, Teredo; RFC 5214, ISATAP), site-local ones (RFC 3879) and multicast.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import json
import re
import smtplib
import socket
import ssl
from dataclasses import dataclass, field
from email.message import EmailMessage
from hashlib import sha256
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address
from threading import Lock
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import urlsplit

import httpx2 as httpx
from fastapi import APIRouter, Path, Request, Response

from voile_base.errors import InputError, VoileError
from voile_share.platform.core import AccessError
from voile_share.platform.telling import ARRIVING
from voile_share.service import models
from voile_share.service.company import COMPANY_TOKEN_REASONS, CompanyToken, as_company
from voile_share.service.connections import Meter
from voile_share.service.context import ServiceContext
from voile_share.service.options import ADDRESS, HookOptions, Rate
from voile_share.service.problems import ProblemError, documented

if TYPE_CHECKING:
    from voile_share.platform import Platform
    from voile_share.service.problems import Notices
    from voile_share.store import Company, WaitingMessage

__all__ = ["LetterMeters", "deliver", "post", "router"]


_GLOBAL_6 = IPv6Network("2000::/3")
"""All that is assigned to the public network lies here."""
_TRANSLATED_6 = tuple(
    IPv6Network(one) for one in ("2001::/32", "2002::/16", "64:ff9b:1::/48", "::/96")
)
"""Tunnels and gateways: who is behind them their operator decides."""
_NAT64 = IPv6Network("64:ff9b::/96")
_SPECIAL_6 = tuple(
    IPv6Network(one) for one in ("2001::/23", "2001:db8::/32", "3fff::/20", "fec0::/10")
)
_SPECIAL_4 = (IPv4Network("192.88.99.0/24"), IPv4Network("0.0.0.0/8"), IPv4Network("100.64.0.0/10"))
_ISATAP = (0x00005EFE, 0x02005EFE)


def _is_public(text: str) -> bool:
    """Whether an address, as digits, is one of the public network; False for what is none."""
    try:
        address = ip_address(text)
    except ValueError:
        return False
    return _is_public_4(address) if isinstance(address, IPv4Address) else _is_public_6(address)


def _is_public_4(address: IPv4Address) -> bool:
    special = address.is_multicast or address.is_reserved or not address.is_global
    return not special and not any(address in network for network in _SPECIAL_4)


def _is_public_6(address: IPv6Address) -> bool:
    last = IPv4Address(int(address) & 0xFFFFFFFF)
    if address in _NAT64 or address.ipv4_mapped is not None:
        # Where all of IPv4 is reached so, names of the public network stand for these, too.
        return _is_public_4(last)
    if any(address in network for network in (*_TRANSLATED_6, *_SPECIAL_6)):
        return False
    if int(address) >> 32 & 0xFFFFFFFF in _ISATAP and not _is_public_4(last):
        return False
    return address in _GLOBAL_6 and address.is_global and address.scope_id is None


_SECONDS = 10.0
_MOST_ADDRESS = 500


class _UnreachedError(Exception):
    """It was not taken; holds nothing of the address."""


def _signature(secret: str, at: int, body: bytes) -> str:
    """What the header says."""
    signed = hmac.new(secret.encode(), f"{at}.".encode() + body, sha256).hexdigest()
    return f"t={at},v1={signed}"


def _check_target(kind: str, target: str, options: HookOptions) -> None:
    """Raise ``InputError`` for an address that cannot be one; it is not looked up."""
    if kind == "mail":
        if not options.mail_host:
            msg = "this service sends no mail"
            raise InputError(msg)
        if not ADDRESS.fullmatch(target):
            msg = "that is no address of mail"
            raise InputError(msg)
        return
    try:
        parts = urlsplit(target)
        port = parts.port
    except ValueError:
        parts, port = urlsplit(""), None
    allowed = {"https", "http"} if options.private_networks else {"https"}
    fit = parts.scheme in allowed and parts.hostname and port != 0 and len(target) <= _MOST_ADDRESS
    plain = target.isascii() and target.isprintable() and " " not in target
    if not fit or not plain or "@" in parts.netloc or parts.fragment:
        msg = "the address must be like https://example.org/told, without a user and a fragment"
        raise InputError(msg)
    if (
        not options.private_networks
        and _is_literal(parts.hostname or "")
        and not _is_public(parts.hostname or "")
    ):
        msg = "addresses of private networks are not called"
        raise InputError(msg)


async def post(
    target: str, secret: str, identity: str, body: bytes, at: int, options: HookOptions
) -> None:
    """Send a signed request; raises ``_UnreachedError`` where it was not answered by 2xx."""
    parts = urlsplit(target)
    host = parts.hostname or ""
    port = parts.port or (443 if parts.scheme == "https" else 80)
    place = await _public(host, port, options)
    shown = f"[{place}]" if ":" in place else place
    url = parts._replace(netloc=f"{shown}:{port}").geturl()
    headers = {
        "Host": parts.netloc,
        "Content-Type": "application/json",
        "User-Agent": "voile-share",
        "Voile-Event-Id": identity,
        "Voile-Signature": _signature(secret, at, body),
    }
    try:
        async with (
            asyncio.timeout(_SECONDS),
            httpx.AsyncClient(trust_env=False, follow_redirects=False) as client,
            client.stream(
                "POST", url, content=body, headers=headers, extensions={"sni_hostname": host}
            ) as answer,
        ):
            status = answer.status_code
    except (httpx.HTTPError, httpx.InvalidURL, OSError, TimeoutError, ValueError):
        raise _UnreachedError("no answer") from None
    if not 200 <= status < 300:
        raise _UnreachedError(f"status {status}")


async def _public(host: str, port: int, options: HookOptions) -> str:
    """An address that a name stands for; raises ``_UnreachedError`` where one is private."""
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(_SECONDS):
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, TimeoutError, UnicodeError):
        raise _UnreachedError("the name is not known") from None
    places = [str(one[4][0]) for one in found]
    if not options.private_networks and not all(map(_is_public, places)):
        raise _UnreachedError("the name stands for an address of a private network")
    return places[0]


def _is_literal(host: str) -> bool:
    """Whether it is an address and no name."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _mail(target: str, subject: str, text: str, options: HookOptions) -> None:
    """Hand a mail to the server; raises ``_UnreachedError``."""
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = options.mail_sender, target, subject
    message.set_content(text)
    context = ssl.create_default_context()
    where = (options.mail_host, options.mail_port)
    try:
        server = (
            smtplib.SMTP_SSL(*where, timeout=_SECONDS, context=context)
            if options.mail_tls == "tls"
            else smtplib.SMTP(*where, timeout=_SECONDS)
        )
        with server:
            if options.mail_tls == "starttls":
                server.starttls(context=context)
            if options.mail_user:
                server.login(options.mail_user, options.password() or "")
            server.send_message(message)
    except (smtplib.SMTPException, OSError, ValueError):
        raise _UnreachedError("the mail server did not take it") from None


_TOKEN = COMPANY_TOKEN_REASONS
_LOOK_SECONDS = 2.0
_AT_ONCE = 8
_CLAIMED = 60.0
_FIRST, _LONGEST, _GIVEN_UP = 30.0, 21_600.0, 86_400.0
_KEPT = 31 * 86_400.0
_WORDS = {
    ARRIVING: ("arrives in about 30 minutes", "It is on its way, and arrives in about 30 minutes."),
    "delivered": ("was delivered", "It was delivered."),
}

_USUAL = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,34}")
_CONFIRM = "Your code for news of parcels"
_CONFIRM_TEXT = """\
A customer of this sharing service wants news of parcels to be sent to this address.

If that is you, name this code to POST /api/v1/hooks/HOOK/confirm:

    {code}

If not, do nothing: nothing else will come.
"""
HookPath = Annotated[str, Path(pattern="^[0-9a-f]{32}$", examples=["0" * 32])]


@dataclass
class LetterMeters:
    """How many codes are sent: by a company, and to one address."""

    companies: Meter = field(default_factory=lambda: Meter(Rate(1 / 600, 10)))
    addresses: Meter = field(default_factory=lambda: Meter(Rate(1 / 43_200, 2)))
    lock: Lock = field(default_factory=Lock)


router = APIRouter(prefix="/api/v1", tags=["company"])


@router.post(
    "/hooks",
    status_code=201,
    summary="Be told when parcels arrive and are delivered",
    responses=documented(*_TOKEN, "hook-unfit"),
)
async def _add_hook(request: Request, token: CompanyToken, wanted: models.NewHook) -> models.Hook:
    """By a signed request, or by mail; ten at most. The secret is shown this once.

    An address of mail is sent a code, and told of nothing until the company names it.
    """
    options: HookOptions = request.app.state.hook_options

    def work(platform: Platform, company: Company) -> tuple[str, str]:
        try:
            _check_target(wanted.kind, wanted.address, options)
            if wanted.kind == "mail":
                _count_letter(request, company.company, wanted.address)
            hook = platform.telling.add_hook(company, wanted.kind, wanted.address)
        except InputError as error:
            raise AccessError("hook-unfit", str(error)) from None
        if wanted.kind == "mail":
            try:
                _mail(wanted.address, _CONFIRM, _CONFIRM_TEXT.format(code=hook[1]), options)
            except _UnreachedError:
                platform.telling.end_hook(company, hook[0])
                raise AccessError("hook-unfit", "the mail server did not take the code") from None
        return hook

    identity, secret = await as_company(request, token, work)
    return models.Hook(hook=identity, secret=None if wanted.kind == "mail" else secret)


def _count_letter(request: Request, company: str, address: str) -> None:
    """Raise ``ProblemError`` where a company, or an address, has had enough codes."""
    meters: LetterMeters = request.app.state.letter_meters
    with meters.lock:
        wait = meters.companies.wait(company.encode()) or meters.addresses.wait(
            sha256(address.lower().encode()).digest()
        )
    if wait > 0:
        raise ProblemError("too-many-requests", "too many codes were sent", retry=wait)


@router.post(
    "/hooks/{hook}/confirm",
    status_code=204,
    response_class=Response,
    summary="Name the code that an address of mail was sent",
    responses=documented(*_TOKEN, "hook-unknown"),
)
async def _confirm_hook(
    request: Request, token: CompanyToken, hook: HookPath, given: models.HookCode
) -> None:
    """From then on the address is told. A wrong code is answered like an unknown hook."""

    def work(platform: Platform, company: Company) -> None:
        if not platform.telling.confirm_hook(company, hook, given.code):
            raise AccessError("hook-unknown")

    await as_company(request, token, work)


@router.get("/hooks", summary="List hooks", responses=documented(*_TOKEN))
async def _hooks(request: Request, token: CompanyToken) -> models.HookList:
    """Without addresses and secrets."""

    def read(platform: Platform, company: Company) -> list[models.KnownHook]:
        telling = platform.telling
        return [
            models.KnownHook(
                hook=one.hook,
                kind=one.kind,
                created=one.created,
                confirmed=telling.is_confirmed(one),
            )
            for one in telling.hooks(company)
        ]

    return models.HookList(hooks=await as_company(request, token, read))


@router.delete(
    "/hooks/{hook}",
    status_code=204,
    response_class=Response,
    summary="Be told no more",
    responses=documented(*_TOKEN, "hook-unknown"),
)
async def _end_hook(
    request: Request,
    token: CompanyToken,
    hook: HookPath,
) -> None:
    """What waits for it is dropped."""

    def work(platform: Platform, company: Company) -> None:
        if not platform.telling.end_hook(company, hook):
            raise AccessError("hook-unknown")

    await as_company(request, token, work)


async def deliver(context: ServiceContext, notices: Notices, options: HookOptions) -> None:
    """Deliver what waits, until it is cancelled; troubles are told, without addresses."""
    store: Any = context.platform.directory
    while True:
        try:
            now = context.platform.clock()
            due = await context.do(lambda now=now: store.due(now, _AT_ONCE))  # type: ignore[misc]
            await asyncio.gather(*(_deliver(context, notices, options, one) for one in due))
        except VoileError as error:
            due = ()
            notices.say(str(error))
        if len(due) < _AT_ONCE:
            await asyncio.sleep(_LOOK_SECONDS)


async def _deliver(
    context: ServiceContext, notices: Notices, options: HookOptions, waiting: WaitingMessage
) -> None:
    platform, now = context.platform, context.platform.clock()
    store: Any = platform.directory
    if not await context.do(lambda: store.claim(waiting.number, waiting.tries, now + _CLAIMED)):
        return
    trouble = await _trouble(context, notices, options, waiting)
    if trouble is not None:
        pause = min(_FIRST * 4.0**waiting.tries, _LONGEST)
        if now + pause - waiting.created < _GIVEN_UP:
            await context.do(lambda: store.put_off(waiting.number, now + pause))
            return
        notices.say(
            f"a hook of a company was not reached for a day ({trouble}): hook {waiting.hook}"
        )
    await context.do(lambda: store.told(waiting.number, now))
    await context.do(lambda: store.drop_told(now - _KEPT))


async def _trouble(
    context: ServiceContext, notices: Notices, options: HookOptions, waiting: WaitingMessage
) -> str | None:
    """Tell it; why that did not succeed, or None."""
    try:
        await _reach(context, options, waiting)
    except (_UnreachedError, InputError) as error:
        return str(error)
    except VoileError:
        raise
    except Exception as error:
        # What one company has named must not keep others from being told.
        notices.fault(error)
        return "a fault of Voile"
    return None


async def _reach(context: ServiceContext, options: HookOptions, waiting: WaitingMessage) -> None:
    store: Any = context.platform.directory
    hook = await context.do(lambda: store.hook(waiting.hook))
    if hook is None or hook.target is None:
        return
    telling = context.platform.telling
    target = await context.do(lambda: telling.opened(hook, hook.target))
    said = json.loads(waiting.body)
    if hook.kind == "mail":
        if not await context.do(lambda: telling.is_confirmed(hook)):
            return  # nobody there has said that it is wanted
        short, long = _WORDS[said["event"]]
        # A company chooses the number: what is none of a usual form is not the operator's to send.
        name = f"Parcel {said['parcel']}" if _USUAL.fullmatch(said["parcel"]) else "A parcel"
        await context.do(lambda: _mail(target, f"{name} {short}", f"{long}\n", options))
        return
    secret = telling.opened(hook, hook.secret or b"")
    at = int(context.platform.clock())
    await post(target, secret, said["id"], waiting.body, at, options)
