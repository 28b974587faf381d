"""How an event reaches an address that a company has named: a signed request, or a mail.

Who names an address may not so reach what stands behind the service: names are looked up here, all
of what they stand for must be of the public network, and the connection goes to what was looked at
(not to what a second look-up would give).  Redirects are not followed, and answers not read.

A request carries ``Voile-Signature: t=SECONDS,v1=HEX``, HEX being HMAC-SHA256 over ``SECONDS.BODY``
under the hook's secret.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import smtplib
import socket
import ssl
from email.message import EmailMessage
from hashlib import sha256
from urllib.parse import urlsplit

import httpx2 as httpx

from voile_base.errors import InputError
from voile_share.service.hook_options import ADDRESS, HookOptions
from voile_share.service.public_addresses import is_public

__all__ = ["UnreachedError", "check_target", "mail", "post", "signature"]

_SECONDS = 10.0
_MOST_ADDRESS = 500


class UnreachedError(Exception):
    """It was not taken; holds nothing of the address."""


def signature(secret: str, at: int, body: bytes) -> str:
    """What the header says."""
    signed = hmac.new(secret.encode(), f"{at}.".encode() + body, sha256).hexdigest()
    return f"t={at},v1={signed}"


def check_target(kind: str, target: str, options: HookOptions) -> None:
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
        and not is_public(parts.hostname or "")
    ):
        msg = "addresses of private networks are not called"
        raise InputError(msg)


async def post(
    target: str, secret: str, identity: str, body: bytes, at: int, options: HookOptions
) -> None:
    """Send a signed request; raises ``UnreachedError`` where it was not answered by 2xx."""
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
        "Voile-Signature": signature(secret, at, body),
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
        raise UnreachedError("no answer") from None
    if not 200 <= status < 300:
        raise UnreachedError(f"status {status}")


async def _public(host: str, port: int, options: HookOptions) -> str:
    """An address that a name stands for; raises ``UnreachedError`` where one is private."""
    loop = asyncio.get_running_loop()
    try:
        async with asyncio.timeout(_SECONDS):
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, TimeoutError, UnicodeError):
        raise UnreachedError("the name is not known") from None
    places = [str(one[4][0]) for one in found]
    if not options.private_networks and not all(map(is_public, places)):
        raise UnreachedError("the name stands for an address of a private network")
    return places[0]


def _is_literal(host: str) -> bool:
    """Whether it is an address and no name."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def mail(target: str, subject: str, text: str, options: HookOptions) -> None:
    """Hand a mail to the server; raises ``UnreachedError``."""
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
        raise UnreachedError("the mail server did not take it") from None
