"""The tracking page: static files, and the headers they must be sent with.

A service sends ``page_files()`` at their paths, each with its headers, and the road map
(``voile_share.map.MapFile.read``) at ``MAP_PATH`` of ``map.document`` with ``SECURITY_HEADERS``.
There is nothing to build: the modules in ``static`` are what browsers run.  The service worker is
the one file that is not sent as it stands: the version, a digest of all files, and the list of
their paths are written into it, so that browsers notice every change.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from importlib.resources import files
from types import MappingProxyType

__all__ = ["CONTENT_SECURITY_POLICY", "PAGE_PATH", "SECURITY_HEADERS", "PageFile", "page_files"]

PAGE_PATH = "/t"
"""Where the page is; links follow it by ``#``."""
_STATIC = "/static/"
_WORKER = "service-worker.js"
_TYPES = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
    "webmanifest": "application/manifest+json",
}

CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "img-src 'self' data:",
        "worker-src 'self'",
        "manifest-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)

SECURITY_HEADERS: Mapping[str, str] = MappingProxyType(
    {
        "Content-Security-Policy": CONTENT_SECURITY_POLICY,
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Permissions-Policy": "geolocation=(), camera=(), microphone=(), payment=()",
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "X-Robots-Tag": "noindex",
    }
)
"""For everything that a browser gets from the service, the map too."""


@dataclass(frozen=True)
class PageFile:
    """One file as it is sent."""

    path: str
    content_type: str
    body: bytes = field(repr=False)
    headers: Mapping[str, str] = field(repr=False)
    """All but Content-Type and Content-Length; ``ETag`` among them."""

    @property
    def etag(self) -> str:
        """A strong one, with its quotes."""
        return self.headers["ETag"]


@cache
def page_files() -> Mapping[str, PageFile]:
    """All files by their paths; read once."""
    bodies = dict(_bodies())
    paths = [PAGE_PATH if name == "index.html" else _STATIC + name for name in bodies]
    worker = bodies[_WORKER]
    digest = sha256(b"".join(sha256(body).digest() for body in bodies.values())).hexdigest()[:16]
    worker = _filled(worker, b'"development"', json.dumps(digest))
    kept = [path for path in paths if path != _STATIC + _WORKER]
    bodies[_WORKER] = _filled(worker, b'["/t"]', json.dumps(kept))
    return MappingProxyType(
        {
            path: _file(path, name, body)
            for path, (name, body) in zip(paths, bodies.items(), strict=True)
        }
    )


def _bodies() -> Iterator[tuple[str, bytes]]:
    folder = files("voile_share.page") / "static"
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.name.rpartition(".")[2] in _TYPES:
            yield entry.name, entry.read_bytes()


def _filled(template: bytes, place: bytes, value: str) -> bytes:
    assert template.count(place) == 1, "the service worker has one place for each"
    return template.replace(place, value.encode())


def _file(path: str, name: str, body: bytes) -> PageFile:
    # ``no-cache`` lets browsers keep files and ask whether they are still right.
    caching = {"Cache-Control": "no-cache", "ETag": f'"{sha256(body).hexdigest()[:32]}"'}
    # A worker may otherwise control no more than the folder that it is in.
    scope = {"Service-Worker-Allowed": PAGE_PATH} if name == _WORKER else {}
    content_type = _TYPES[name.rpartition(".")[2]]
    return PageFile(path, content_type, body, {**SECURITY_HEADERS, **caching, **scope})
